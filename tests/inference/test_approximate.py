"""Laplace's method and EP against peers' figures, differences, exact Gaussian integrals and each other (MATHS 9)."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic

from fast_share import cases
from inference_by_hand import ep, ep_gradient, laplace, laplace_gradient
from likelihood_table import LOG_CONCAVE, drawn_outcomes
from preflearn.inference.contract import Observed, Query
from preflearn.inference.dense import DenseSystem, Design, Factor
from preflearn.inference.independent import IndependentSystem
from preflearn.inference.search import maximise, starts
from preflearn.kernels import gram, gram_and_pullback, gram_diag
from preflearn.likelihoods import Gaussian, Logit, Probit
from preflearn.linalg import cholesky_pivoted
from preflearn.terms import pair_operator

CASES = Path(__file__).resolve().parents[1] / "cases"
BOTORCH = json.loads((CASES / "botorch_preference_gp.json").read_text())
CHOIX = json.loads((CASES / "choix_bradley_terry_ep.json").read_text())
KERNELS = [
    ConstantKernel(1.5) * RBF(0.8),
    ConstantKernel(0.5) * RBF([0.7, 1.3]),
    ConstantKernel(2.0) * Matern(1.1, nu=2.5),
    ConstantKernel(1.0) * RationalQuadratic(0.9, 1.5) + ConstantKernel(0.3) * DotProduct(0.5),
]


def problem(seed, likelihood, n=7, m=12):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    y = drawn_outcomes(rng, likelihood, m)
    weight = rng.uniform(1.0, 3.0, m) if seed % 2 else np.ones(m)
    return X, pair_operator(first, second, n), y, weight


@pytest.mark.parametrize("case", BOTORCH["cases"], ids=lambda c: c["likelihood"][:6] + str(c["variance"]))
def test_mode_evidence_and_predictions_of_botorch(case):
    X, X_new = np.array(BOTORCH["X"]), np.array(BOTORCH["X_new"])
    A = pair_operator(np.array(BOTORCH["winner"]), np.array(BOTORCH["loser"]), len(X))
    ones = np.ones(A.shape[0])
    kernel = ConstantKernel(case["variance"]) * RBF(case["length_scale"])
    likelihood = Probit() if case["likelihood"].startswith("probit") else Logit()
    posterior, info = laplace(DenseSystem.of(A, gram(kernel, X)), Observed(ones, ones), likelihood)
    assert info.converged
    np.testing.assert_allclose(posterior.system.factor.R @ posterior.u, case["mode"], atol=1e-6)
    assert posterior.log_evidence == pytest.approx(case["log_evidence_as_reported"], abs=1e-6)
    mean, covariance = posterior.joint(Query(gram(kernel, X_new, X), gram(kernel, X_new)))
    np.testing.assert_allclose(mean, case["mean_new"], atol=1e-6)
    np.testing.assert_allclose(covariance, case["cov_new"], atol=1e-6)
    first, second = np.array([0, 1, 2]), np.array([1, 2, 3])
    prior = 2 * case["variance"] - 2 * gram_diag(kernel, X_new[first], X_new[second])
    D = pair_operator(first, second, 4)
    difference, variance = posterior.moments(Query(gram(kernel, X_new, X), prior, operator=D))
    D = D.toarray()
    np.testing.assert_allclose(difference, D @ mean, atol=1e-10)
    np.testing.assert_allclose(variance, np.diag(D @ covariance @ D.T), atol=1e-9)


def test_ep_of_choix():
    n = CHOIX["n_items"]
    A = pair_operator(np.array(CHOIX["winner"]), np.array(CHOIX["loser"]), n)
    ones = np.ones(A.shape[0])
    posterior, info, _ = ep(DenseSystem.of(A, np.eye(n)), Observed(ones, ones), Probit(1.0))
    assert info.converged
    mean = posterior.system.factor.R @ posterior.u
    np.testing.assert_allclose(mean, CHOIX["ep_probit_prior_variance_1_mean"], atol=1e-6)
    covariance = posterior.curve.inner.C
    np.testing.assert_allclose(covariance, CHOIX["ep_probit_prior_variance_1_cov"], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["laplace", "ep"])
@pytest.mark.parametrize("likelihood", LOG_CONCAVE, ids=repr)
def test_gradients_of_the_evidence(method, likelihood):
    worst = 0.0
    for seed in range(cases(4, 12)):
        kernel = KERNELS[seed % len(KERNELS)]
        X, A, y, weight = problem(seed, likelihood)
        n_kernel = kernel.theta.shape[0]

        def solve(theta, kernel=kernel, X=X, A=A, y=y, weight=weight, n_kernel=n_kernel):
            k, l = kernel.clone_with_theta(theta[:n_kernel]), likelihood.with_theta(theta[n_kernel:])
            system, seen = DenseSystem.of(A, gram(k, X)), Observed(y, weight)
            if method == "laplace":
                posterior, _ = laplace(system, seen, l, tol=1e-12)
                slopes = laplace_gradient(posterior, seen, l)
            else:
                posterior, _, sites = ep(system, seen, l, tol=1e-12)
                slopes = ep_gradient(posterior, seen, l, sites)
            return posterior.log_evidence, np.concatenate([gram_and_pullback(k, X)[1](slopes.prior), slopes.likelihood])

        theta = np.concatenate([kernel.theta, likelihood.theta])
        _, gradient = solve(theta)
        h = 1e-3
        for i in range(theta.shape[0]):
            e = np.eye(theta.shape[0])[i] * h
            values = [solve(theta + k * e)[0] for k in (2, 1, -1, -2)]
            difference = (-values[0] + 8 * values[1] - 8 * values[2] + values[3]) / (12 * h)
            worst = max(worst, abs(difference - gradient[i]) / max(1.0, abs(gradient[i])))
    assert worst < 2e-8


@pytest.mark.parametrize("seed", range(10))
def test_ep_against_gaussian_orthant_probabilities(seed):
    # probit evidence is P(all differences plus unit noise point the right way)
    rng = np.random.default_rng(seed)
    m = 1 if seed < 3 else int(rng.integers(2, 6))
    X, A, y, _ = problem(seed, Probit(), n=5, m=m)
    K = gram(ConstantKernel(2.0) * RBF(0.7), X)
    posterior, info, _ = ep(DenseSystem.of(A, K), Observed(y, np.ones(m)), Probit(1.0))
    assert info.converged
    D = y[:, None] * A.toarray()
    exact = multivariate_normal.cdf(np.zeros(m), np.zeros(m), D @ K @ D.T + np.eye(m), maxpts=200_000, abseps=1e-9)
    tolerance = 1e-12 if m == 1 else 2e-2
    assert posterior.log_evidence == pytest.approx(np.log(exact), abs=tolerance)


@pytest.mark.parametrize("seed", range(10))
def test_gaussian_margins_are_exact_in_both(seed):
    likelihood = Gaussian(2.0)
    X, A, y, weight = problem(seed, likelihood)
    K = gram(KERNELS[0], X)
    D = A.toarray()
    covariance = D @ K @ D.T + np.diag(1 / (2.0 * weight))
    # a weight w is w copies of a margin: the copies' own spread is not in the density of their mean
    exact = multivariate_normal(np.zeros(len(y)), covariance).logpdf(y)
    exact += np.sum(0.5 * (weight - 1) * np.log(2.0 / (2 * np.pi)) - 0.5 * np.log(weight))
    for infer in (laplace, ep):
        posterior = infer(DenseSystem.of(A, K), Observed(y, weight), likelihood)[0]
        assert posterior.log_evidence == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("likelihood", LOG_CONCAVE, ids=repr)
def test_whole_weights_are_repeats(likelihood):
    X, A, y, _ = problem(3, likelihood)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    K = gram(KERNELS[0], X)
    for infer in (laplace, ep):
        weighted = infer(DenseSystem.of(A, K), Observed(y, weight), likelihood)[0]
        listed = infer(DenseSystem.of(A[rows], K), Observed(y[rows], np.ones(len(rows))), likelihood)[0]
        assert weighted.log_evidence == pytest.approx(listed.log_evidence, abs=1e-7)
        np.testing.assert_allclose(weighted.u, listed.u, atol=1e-7)


def test_hostile_problems_end_in_finite_answers():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, A, y, _ = problem(seed, Probit())
        X = X[:1].repeat(7, axis=0) if seed % 5 == 0 else X * 10.0 ** rng.integers(-8, 9)
        weight = 10.0 ** rng.uniform(-6, 6, len(y))
        K = 10.0 ** float(rng.integers(-8, 9)) * gram(RBF(1.0), X)
        posterior, info = laplace(DenseSystem.of(A, K), Observed(y, weight), Probit())
        assert info.converged, (seed, info)
        assert np.isfinite(posterior.log_evidence)
        _, variance = posterior.moments(Query(K, K.diagonal()))
        assert np.isfinite(variance).all()
        assert (variance >= 0).all()


def test_pivoted_cholesky_finds_the_rank():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(12, 4))
    L, order = cholesky_pivoted(F @ F.T)
    assert L.shape == (12, 4)
    np.testing.assert_allclose(L @ L.T, (F @ F.T)[np.ix_(order, order)], atol=1e-12)
    assert cholesky_pivoted(np.zeros((3, 3)))[0].shape == (3, 0)


@pytest.mark.parametrize("kernel", [*KERNELS, KERNELS[0] ** 2, DotProduct(1.0) + RBF(2.0)], ids=repr)
def test_paired_kernel_values_are_the_diagonal_of_the_gram_matrix(kernel):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 9, 2))
    np.testing.assert_allclose(gram_diag(kernel, X, Y), gram(kernel, X, Y).diagonal(), atol=1e-12)


def test_every_start_is_kept_and_the_highest_comes_first():
    def two_objectives(theta):
        value = -((theta[0] ** 2 - 1) ** 2) + 0.1 * theta[0]
        return float(value), np.array([-4 * theta[0] * (theta[0] ** 2 - 1) + 0.1])

    bounds = np.array([[-2.0, 2.0]])
    optima = maximise(two_objectives, [np.array([-1.5]), np.array([1.5])], bounds)
    assert optima[0].theta[0] == pytest.approx(1.0124, abs=1e-3)
    assert optima[1].theta[0] == pytest.approx(-0.987, abs=1e-3)
    assert optima[0].evidence > optima[1].evidence
    drawn = starts(np.array([5.0]), bounds, 3, np.random.default_rng(0))
    assert len(drawn) == 4
    assert drawn[0][0] == 2.0


def test_an_evaluation_that_fails_is_stepped_back_from_and_one_at_the_start_is_said():
    def objective_beside_a_cliff(theta):
        if theta[0] > 1.05:
            return np.nan, np.array([np.nan])
        return -float((theta[0] - 1.0) ** 2), -2 * (theta - 1.0)

    bounds = np.array([[-9.0, 9.0]])
    found, lost = maximise(objective_beside_a_cliff, [np.array([-8.0]), np.array([3.0])], bounds)
    assert found.converged
    assert found.theta[0] == pytest.approx(1.0, abs=1e-4)
    assert not lost.converged
    assert "not finite" in lost.message


def test_a_start_that_leads_to_a_lower_objective_is_given_up_and_one_to_a_higher_objective_is_not():
    def objectives(theta):  # flat at the top, so that the last steps gain next to nothing
        height, centre = (1.0, -4.0) if theta[0] < 0 else (2.0, 4.0)
        gap, steep = theta - np.array([centre, 0.0]), np.array([1.0, 1e-3])
        return height - float(steep @ gap**4), -4 * steep * gap**3

    bounds = np.array([[-9.0, 9.0], [-9.0, 9.0]])
    low, high = np.array([-6.0, 8.0]), np.array([6.0, 8.0])
    alone = maximise(objectives, [low], bounds)[0]
    first, given_up = maximise(objectives, [high, low], bounds)
    assert first.evidence == pytest.approx(2.0, abs=1e-3)
    assert given_up.message == "no higher than another start"
    assert given_up.converged
    assert given_up.evaluations < alone.evaluations
    assert given_up.evidence == pytest.approx(alone.evidence, abs=0.01)
    first, second = maximise(objectives, [low, high], bounds)
    assert first.evidence == pytest.approx(2.0, abs=1e-3)
    assert second.message == alone.message != "no higher than another start"


def test_the_first_step_is_not_to_the_bounds():
    seen = []

    def steep(theta):
        seen.append(theta.copy())
        return -1e3 * float(np.sum((theta - 0.5) ** 2)), -2e3 * (theta - 0.5)

    found = maximise(steep, [np.zeros(2)], np.array([[-9.0, 9.0]] * 2))[0]
    assert np.abs(seen).max() <= 1.0
    np.testing.assert_allclose(found.theta, 0.5, atol=1e-6)
    np.testing.assert_allclose(found.gradient, 0.0, atol=1e-3)
    assert found.evidence == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("border", [[], [0.4, 7.0]])
def test_independent_latents_have_a_posterior_like_others(border):
    rng = np.random.default_rng(0)
    k = np.concatenate([np.full(6, 2.5), border])
    A = pair_operator(np.array([0, 1, 2, 0]), np.array([3, 4, 5, 5]), 6)
    D = rng.normal(size=(4, len(border)))
    seen = Observed(np.array([1.0, -1.0, 1.0, 1.0]), np.array([1.0, 2.0, 0.5, 1.0]))
    E = sp.csr_array(np.round(rng.normal(size=(3, len(k)))))
    system = IndependentSystem(Design(A, D), 2.5, k[6:])
    posterior, _, sites = ep(system, seen, Logit())
    wanted, _, others = ep(DenseSystem(Design(A, D), Factor.build(np.diag(k))), seen, Logit())
    assert posterior.log_evidence == pytest.approx(wanted.log_evidence, abs=1e-10)
    direct = Query(E, np.zeros(3), rest=sp.csr_array((3, 0)))
    about = Query(E.toarray() * k, np.asarray(np.square(E.toarray()) @ k))
    for answers in zip(posterior.moments(direct), wanted.moments(about), strict=True):
        np.testing.assert_allclose(*answers, atol=1e-9)
    M, N = (ep_gradient(p, seen, Logit(), s).prior for p, s in ((posterior, sites), (wanted, others)))
    np.testing.assert_allclose(M, N.diagonal(), atol=1e-8)


def test_a_search_begins_with_a_short_step_and_ends_on_one_that_gains_little():
    seen = []

    def objective(theta):
        seen.append(theta.copy())
        return -float(np.sum(np.cosh(theta - 3.0))), -np.sinh(theta - 3.0)

    counts = []
    for gain in (0.0, 0.5):
        seen.clear()
        maximise(objective, [np.zeros(1)], np.array([[-9.0, 9.0]]), gain=gain)
        assert abs(seen[1][0]) == pytest.approx(1.0)
        counts.append(len(seen))
    assert counts[1] < counts[0]


def test_latents_that_are_seen_one_by_one_have_the_same_precision_matrix(monkeypatch):
    rng = np.random.default_rng(0)
    K = gram(KERNELS[0], rng.normal(size=(7, 2))) + 0.1 * np.eye(7)
    factor, tau = Factor.build(K), rng.exponential(size=7)
    Lam = sp.csr_array(np.diag(tau))
    wanted = factor.R.T @ np.diag(tau) @ factor.R
    called = []
    fast = scipy.linalg.lapack.dlauum
    monkeypatch.setattr(scipy.linalg.lapack, "dlauum", lambda *a, **k: called.append(1) or fast(*a, **k))
    for small in (512, 0):
        monkeypatch.setattr("preflearn.inference.dense.SMALL", small)
        np.testing.assert_allclose(np.tril(factor.congruence(Lam)), np.tril(wanted), atol=1e-12)
        assert np.log(np.linalg.det(np.eye(7) + wanted)) == pytest.approx(factor.curvature(Lam).log_det)
        negative = sp.csr_array(np.diag(tau - 1.0))  # as of likelihoods that are not log-concave
        np.testing.assert_allclose(
            np.tril(factor.congruence(negative)), np.tril(factor.R.T @ np.diag(tau - 1.0) @ factor.R), atol=1e-12
        )
    assert called == [1, 1]


def test_negative_precisions_that_leave_no_posterior_are_refused_whatever_the_prior():
    A = pair_operator(np.array([0]), np.array([1]), 2)
    for system in (IndependentSystem(Design(A, np.zeros((1, 0))), 1.0, np.zeros(0)), DenseSystem.of(A, np.eye(2))):
        with pytest.raises(np.linalg.LinAlgError):
            system.curve(np.array([-2.0]), semidefinite=False)
