"""Flipped outcomes: against sums and differences, the limit of no flips, and EP with negative precisions."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from inference_by_hand import ep
from likelihood_table import moments
from preflearn import Comparisons, PreferenceGP
from preflearn.inference.contract import Observed
from preflearn.inference.dense import DenseSystem
from preflearn.likelihoods import Davidson, Flipped, Gaussian, Likelihood, Logit, Probit
from preflearn.terms import pair_operator

pytestmark = pytest.mark.slow

MEAN, VARIANCE = (a.ravel() for a in np.meshgrid([-7.0, -1.0, 0.0, 0.4, 5.0], [1e-4, 0.1, 2.0, 50.0, 1e4]))
POWERS = [None, np.resize([0.01, 0.5, 1.0], len(MEAN))]
CASES = [
    Flipped(),
    Flipped(rate=0.2),
    Flipped(Probit(scale=1.0), 1e-3),
    Flipped(Logit(), 0.1),
    Flipped(Logit(scale=3.0, tie=5.0), 0.1),
    Flipped(Probit(tie=0.5)),
    Flipped(Davidson(scale=0.5, tie=200.0), 0.1),
]


def density(likelihood, y, z, power=1.0):
    right, wrong = (likelihood.base.log_density(np.full(z.shape, side), z).value for side in (y, -y))
    return np.exp(power * np.logaddexp(np.log(1 - likelihood.rate) + right, np.log(likelihood.rate) + wrong))


@pytest.mark.parametrize("likelihood", CASES)
@pytest.mark.parametrize("power", POWERS)
def test_tilted_moments_are_those_of_a_fine_sum(likelihood, power):
    for y in likelihood.outcomes:
        tilted = moments(likelihood, np.full(len(MEAN), y), MEAN, VARIANCE, power)
        for k, (m, v) in enumerate(zip(MEAN, VARIANCE, strict=True)):
            z = m + np.sqrt(v) * np.linspace(-12, 12, 8_001)
            weight = density(likelihood, y, z, 1.0 if power is None else power[k])
            weight *= norm.pdf(z, m, np.sqrt(v)) * (z[1] - z[0])
            Z, mean = weight.sum(), weight @ z / weight.sum()
            assert tilted.log_z[k] == pytest.approx(np.log(Z), abs=1e-8)
            assert tilted.mean[k] == pytest.approx(mean, abs=1e-8 * np.sqrt(1 + v))
            assert tilted.variance[k] == pytest.approx(weight @ (z - mean) ** 2 / Z, rel=1e-6)


@pytest.mark.parametrize("likelihood", CASES)
@pytest.mark.parametrize("power", POWERS)
def test_derivatives_are_central_differences(likelihood, power):
    h = 1e-4
    for y in likelihood.outcomes:
        y = np.full(len(MEAN), y)
        at = likelihood.smoothed(y, MEAN, VARIANCE, power)
        up, down = (likelihood.smoothed(y, MEAN + step, VARIANCE, power) for step in (h, -h))
        np.testing.assert_allclose(at.first, (up.log_z - down.log_z) / (2 * h), atol=1e-6)
        np.testing.assert_allclose(at.second, (up.first - down.first) / (2 * h), atol=1e-6)
        np.testing.assert_allclose(at.rest, 1 + VARIANCE * at.second, rtol=1e-6, atol=1e-8)
        slopes = likelihood.tilted_theta(y, MEAN, VARIANCE, power)
        assert slopes.shape == (len(MEAN), len(likelihood.theta))
        for k, step in enumerate(h * np.eye(len(likelihood.theta))):
            up, down = (likelihood.with_theta(likelihood.theta + side * step) for side in (1, -1))
            up, down = (one.smoothed(y, MEAN, VARIANCE, power).log_z for one in (up, down))
            np.testing.assert_allclose(slopes[:, k], (up - down) / (2 * h), atol=1e-6)


@pytest.mark.parametrize("likelihood", CASES)
def test_density_derivatives_are_central_differences(likelihood):
    z, h = np.linspace(-9, 9, 19), 1e-4
    for y in likelihood.outcomes:
        y = np.full(len(z), y)
        at, up, down = (likelihood.log_density(y, z + step) for step in (0.0, h, -h))
        np.testing.assert_allclose(np.exp(at.value), density(likelihood, y[0], z), rtol=1e-12)
        for k in range(3):
            np.testing.assert_allclose(at[k + 1], (up[k] - down[k]) / (2 * h), atol=1e-6)


@pytest.mark.parametrize("likelihood", CASES)
def test_swapping_sides_swaps_probabilities_exactly(likelihood):
    assert isinstance(likelihood, Likelihood)
    p = likelihood.probability(MEAN, VARIANCE)
    np.testing.assert_array_equal(likelihood.probability(-MEAN, VARIANCE), p[:, ::-1])
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-15)
    z = likelihood.smoothed(np.ones(len(MEAN)), MEAN, VARIANCE).log_z
    np.testing.assert_allclose(np.exp(z), p[:, 0], rtol=1e-9)
    assert likelihood.names[-1] == "flip rate"
    assert len(likelihood.names) == len(likelihood.theta) == len(likelihood.bounds)


def latents(likelihood, y):
    K = np.array([[3.0, 1.0, 0.2], [1.0, 4.0, 0.5], [0.2, 0.5, 2.0]])
    A = pair_operator(np.array([0, 1]), np.array([1, 2]), 3).toarray()
    return A @ K @ A.T, ep(DenseSystem.of(A, K), Observed(y, np.ones(2)), likelihood)


@pytest.mark.parametrize("rate", [0.02, 0.2])
@pytest.mark.parametrize("y", [np.array([1.0, 1.0]), np.array([1.0, -1.0])])
def test_evidence_is_close_to_a_fine_sum_over_two_differences(rate, y):
    likelihood = Flipped(rate=rate)
    S, (posterior, info, _) = latents(likelihood, y)
    a, b = np.meshgrid(np.linspace(-16, 16, 401), np.linspace(-16, 16, 401))
    prior = multivariate_normal(cov=S).pdf(np.stack([a, b], axis=-1))
    exact = (density(likelihood, y[0], a) * density(likelihood, y[1], b) * prior).sum() * (32 / 400) ** 2
    assert info.converged
    assert posterior.log_evidence == pytest.approx(np.log(exact), abs=2e-3)


@pytest.mark.parametrize("base", [Probit, "probit", Gaussian(), Flipped()], ids=repr)
def test_only_outcomes_that_can_be_reversed_once_are_flipped(base):
    with pytest.raises(TypeError, match="Flipped: base is"):
        Flipped(base)


def test_without_flips_it_is_the_base():
    y = np.array([1.0, -1.0])
    _, (flipped, *_) = latents(Flipped(rate=1e-12, rate_fixed=True), y)
    _, (plain, *_) = latents(Probit(), y)
    assert flipped.log_evidence == pytest.approx(plain.log_evidence, abs=1e-9)
    np.testing.assert_allclose(flipped.u, plain.u, atol=1e-6)


def test_equal_comparisons_are_one_with_their_weight():
    K, A = np.diag([2.0, 3.0, 1.0]), pair_operator(np.array([0, 1, 0]), np.array([1, 2, 2]), 3)
    y = np.array([1.0, 1.0, -1.0])
    one, info, _ = ep(DenseSystem.of(A, K), Observed(y, np.array([2.0, 1.0, 3.0])), Flipped())
    rows = np.repeat(np.arange(3), [2, 1, 3])
    many, *_ = ep(DenseSystem.of(A[rows], K), Observed(y[rows], np.ones(6)), Flipped())
    assert info.converged
    assert one.log_evidence == pytest.approx(many.log_evidence, abs=1e-8)
    np.testing.assert_allclose(one.u, many.u, atol=1e-7)


@pytest.fixture(scope="module")
def matches():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(40, 1))
    first, second = np.triu_indices(40, 1)
    chosen = rng.choice(len(first), 300, replace=False)
    first, second = first[chosen], second[chosen]
    f = 4 * np.sin(2 * X[:, 0])
    outcome = np.where(f[first] - f[second] + np.sqrt(2) * rng.normal(size=300) > 0, 1.0, -1.0)
    outcome[:30] *= -1
    return Comparisons(X, first, second, outcome)


def test_the_rate_is_learned_and_the_evidence_prefers_it(matches):
    plain = PreferenceGP(inference="ep", n_restarts=0).fit(matches)
    model = PreferenceGP(likelihood=Flipped(), inference="ep", n_restarts=0).fit(matches)
    assert model.log_evidence_ > plain.log_evidence_ + 5
    assert 0.05 < model.likelihood_.rate < 0.2
    assert model.info_.converged
    assert (model._solution.tau < 0).any()
    # away from the optimum, where a gradient is not zero
    theta = model.theta_ + 0.1
    gradient = model.log_evidence(theta)[1]
    for k, step in enumerate(1e-4 * np.eye(3)):
        slope = (model.log_evidence(theta + step)[0] - model.log_evidence(theta - step)[0]) / 2e-4
        assert gradient[k] == pytest.approx(slope, abs=1e-5)
    truth = np.sin(2 * matches.items[:, 0])
    assert np.corrcoef(model.predict_utility(), truth)[0, 1] > 0.98
    np.testing.assert_array_equal(model.predict_proba(matches.swapped())[:, 0], model.predict_proba(matches)[:, 1])


def test_a_fixed_rate_and_ties_are_the_likelihoods_own_business(matches):
    outcome = np.array(matches.outcome)
    outcome[::7] = 0.0
    data = Comparisons(matches.items, matches.first, matches.second, outcome)
    kernel = 4.0 * RBF(0.8)
    model = clone(PreferenceGP(kernel, Flipped(Probit(), 0.1, rate_fixed=True), inference="ep", ties=True)).fit(data)
    assert model.theta_names_[-1] == "tie"
    assert model.likelihood_.rate == 0.1
    p = model.predict_outcome_proba(data)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-14)
    np.testing.assert_array_equal(model.predict_outcome_proba(data.swapped()), p[:, ::-1])


@pytest.mark.parametrize("seed", range(20))
def test_hostile_problems_end_in_a_proper_posterior_or_say_so(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 30)), int(rng.integers(1, 60))
    K = 10.0 ** rng.uniform(-8, 8) * RBF(10.0 ** rng.uniform(-2, 2))(rng.normal(size=(n, 1)))
    first = rng.integers(n, size=m)
    system = DenseSystem.of(pair_operator(first, (first + rng.integers(1, n, size=m)) % n, n), K)
    weight = 10.0 ** rng.uniform(-3, 3, m) if seed % 2 else np.ones(m)
    likelihood = Flipped(rate=10.0 ** rng.uniform(-4, -0.4))
    posterior, info, (tau, nu) = ep(system, Observed(rng.choice([-1.0, 1.0], m), weight), likelihood)
    assert np.isfinite(posterior.log_evidence)
    for part in (posterior.u, tau, nu, posterior.curve.inner.LB):
        assert np.isfinite(part).all()
    assert info.converged or info.residual > 1e-7


def test_mistakes_are_explained(matches):
    with pytest.raises(ValueError, match="between 0 and 1/2"):
        Flipped(rate=0.5)
    with pytest.raises(TypeError, match="pass Probit"):
        Flipped(base="probit")
    with pytest.raises(ValueError, match="theta has shape"):
        Flipped().with_theta([0.0, 1.0])
    with pytest.raises(ValueError, match='Use inference="ep"'):
        PreferenceGP(likelihood=Flipped()).fit(matches)
