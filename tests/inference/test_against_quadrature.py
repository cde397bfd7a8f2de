"""Laplace's method and EP against integrals: grids over one to three latents, and Gaussian orthant probabilities."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from fast_share import mostly_slow
from inference_by_hand import ep, laplace
from likelihood_table import LOG_CONCAVE, moments
from preflearn.inference.contract import Observed
from preflearn.inference.dense import DenseSystem
from preflearn.kernels import gram
from preflearn.likelihoods import Probit
from preflearn.terms import pair_operator


def outcomes_of(rng, likelihood, m):
    return rng.choice(sorted(likelihood.outcomes), m) if likelihood.outcomes else rng.normal(size=m)


def by_grid(system, seen, likelihood):
    """Log evidence, and mean and covariance of A f, by the trapezoidal rule over u in [-8, 8]^r."""
    r = system.size
    axis = np.linspace(-8.0, 8.0, {1: 801, 2: 161, 3: 49}[r])
    u = np.stack([x.ravel() for x in np.meshgrid(*[axis] * r, indexing="ij")], axis=1)
    z = u @ (system.design.A @ system.factor.R).T
    exponent = -0.5 * np.sum(u**2, axis=1) - 0.5 * r * np.log(2 * np.pi)
    for y, weight, column in zip(seen.y, seen.weight, z.T, strict=True):
        exponent += weight * likelihood.log_density(np.full(len(u), y), column).value
    p = np.exp(exponent - exponent.max())
    evidence = exponent.max() + np.log(p.sum()) + r * np.log(axis[1] - axis[0])
    p /= p.sum()
    mean = p @ z
    return evidence, mean, (z - mean).T @ ((z - mean) * p[:, None])


def errors(posterior, exact):
    evidence, mean, covariance = exact
    few = posterior.curve.touched(posterior.u, np.arange(len(mean)))
    C = few.A @ (few.A @ few.covariance).T
    deviation = np.sqrt(covariance.diagonal())
    return (
        abs(posterior.log_evidence - evidence),
        np.max(np.abs(posterior.x - mean) / deviation),
        np.max(np.abs(C - covariance) / np.outer(deviation, deviation)),
    )


def problems(likelihood, weights):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        r = 1 + seed % 3
        m = int(rng.integers(1, 4)) if r == 1 else int(rng.integers(2, 6))
        A = pair_operator(*_pairs(rng, r + 1, m), r + 1)
        F = rng.normal(size=(r + 1, r)) * rng.uniform(0.3, 1.2)
        weight = np.ones(m) if weights == "unit" else rng.uniform(0.1, 3.0, m)
        yield DenseSystem.of(A, F @ F.T), Observed(outcomes_of(rng, likelihood, m), weight)


def _pairs(rng, n, m):
    first = rng.integers(0, n, m)
    return first, (first + rng.integers(1, n, m)) % n


@pytest.mark.parametrize("weights", mostly_slow(["uneven", "unit"], 2))
@pytest.mark.parametrize("likelihood", [x for x in LOG_CONCAVE if x.outcomes], ids=repr)
def test_one_to_three_latents(likelihood, weights):
    found = []
    for system, seen in problems(likelihood, weights):
        assert system.size <= 3
        exact = by_grid(system, seen, likelihood)
        mode, info = laplace(system, seen, likelihood)
        matched, info, _ = ep(system, seen, likelihood)
        assert info.converged
        assert info.converged
        found.append([errors(mode, exact), errors(matched, exact)])
    by_laplace, by_ep = np.swapaxes(found, 0, 1)  # (problems, 3): nats, deviations of the mean, share of the covariance
    assert np.all(np.median(by_ep, axis=0) < [2e-3, 2e-3, 0.01])
    assert np.all(by_ep.max(axis=0) < [0.03, 0.02, 0.1])
    assert np.all(np.median(by_laplace, axis=0) < [0.06, 0.1, 0.15])
    assert np.all(by_laplace.max(axis=0) < [0.2, 0.4, 0.3])
    assert np.all(np.median(by_ep, axis=0) < np.median(by_laplace, axis=0) / 3)


@pytest.mark.parametrize("weight", [1e-6, 0.2, 0.999, 1.0])
@pytest.mark.parametrize("likelihood", LOG_CONCAVE, ids=repr)
def test_ep_of_one_comparison_is_exact_whatever_its_weight_up_to_one(likelihood, weight):
    rng = np.random.default_rng(0)
    for scale in (0.1, 1.0, 3.0):
        system = DenseSystem.of(pair_operator(np.array([0]), np.array([1]), 2), scale**2 * np.eye(2))
        y, w = outcomes_of(rng, likelihood, 1), np.array([weight])
        tilted = moments(likelihood, y, [0.0], [2 * scale**2], w)
        posterior, info, _ = ep(system, Observed(y, w), likelihood)
        assert info.converged
        assert posterior.log_evidence == pytest.approx(tilted.log_z[0], rel=1e-12, abs=1e-12)
        off = np.abs(posterior.x - tilted.mean)
        assert np.all(off <= 1e-9 * np.sqrt(tilted.variance))
        np.testing.assert_allclose(posterior.curve.variances, tilted.variance, rtol=1e-9)


def orthant(seed, m):
    """Log evidence by EP, and exactly: P(all differences plus noise point the right way), outcomes from the model."""
    rng = np.random.default_rng([seed, m])
    n, likelihood = int(rng.integers(4, 9)), Probit()
    K = gram(ConstantKernel(1.0) * RBF(0.7), rng.uniform(-1, 1, size=(n, 2)))
    pairs = np.array(list(combinations(range(n), 2)))
    first, second = pairs[rng.choice(len(pairs), m, replace=False)].T
    A = pair_operator(first, second, n)
    noise = likelihood.scale**2 * np.eye(m)
    y = np.sign(rng.multivariate_normal(np.zeros(m), A @ (A @ K).T + noise))
    posterior, info, _ = ep(DenseSystem.of(A, K), Observed(y, np.ones(m)), likelihood)
    assert info.converged
    D = y[:, None] * A.toarray()
    exact = multivariate_normal.cdf(
        np.zeros(m), np.zeros(m), D @ K @ D.T + noise, maxpts=100_000, abseps=1e-8, rng=np.random.default_rng(0)
    )
    return posterior.log_evidence, np.log(exact)


def test_ep_of_one_pair_is_an_orthant_probability():
    for seed in range(50):
        got, exact = orthant(seed, 1)
        assert got == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("m", [2, 3, *(pytest.param(m, marks=pytest.mark.slow) for m in range(4, 7))])
def test_ep_of_a_few_pairs_is_near_the_orthant_probability(m):
    gap = [abs(np.subtract(*orthant(seed, m))) for seed in range(20)]
    assert np.median(gap) < 1e-3
    assert np.max(gap) < 1e-2
