"""Judges and clusters that cross: solutions are exact, and what is estimated is close to what it estimates."""

import warnings

import numpy as np
import pytest

from preflearn import Comparisons, PreferenceGP
from preflearn.inference import crossed
from preflearn.inference.crossed import CrossedCurve

pytestmark = pytest.mark.filterwarnings("ignore:.*repeat an earlier one exactly:preflearn.exceptions.DataWarning")


def problem(seed=0, n=7, n_clusters=50, n_judges=20, m=400):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    cluster, judge = rng.integers(0, n_clusters, m), rng.integers(0, n_judges, m)
    f, h, t = rng.normal(size=n), rng.normal(size=(n_clusters, n)), rng.normal(0, 0.5, (n_judges, n))
    z = f[first] - f[second] + h[cluster, first] - h[cluster, second] + t[judge, first] - t[judge, second] + 0.3
    outcome = np.where(rng.logistic(size=m) < z, 1.0, -1.0)
    return Comparisons(n, first, second, outcome, cluster=cluster, judge=judge)


def fitted(data, **more):
    model = PreferenceGP(likelihood="logit", cluster=True, judge_kernel="identity", side=True, hyperparameters="fixed")
    return model.set_params(**{"inference": "laplace", **more}).fit(data)


@pytest.fixture
def both(monkeypatch):
    """The same model with the judges among the shared latents, and with families that cross."""
    data = problem()
    exact = fitted(data)
    monkeypatch.setattr("preflearn.inference.problem.MOST_SHARED", 0)
    apart = fitted(data)
    assert isinstance(apart._solution.posterior.curve, CrossedCurve)
    assert not isinstance(exact._solution.posterior.curve, CrossedCurve)
    return data, exact, apart


def test_answers_are_exact(both):
    data, exact, apart = both
    for one, other in zip(*(m.predict_utility(return_cov=True) for m in (exact, apart)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
    for judge in (None, 3):
        one, other = (m.predict_utility(return_std=True, judge=judge) for m in (exact, apart))
        np.testing.assert_allclose(one, other, atol=1e-8)
    one, other = (m.preference_matrix() for m in (exact, apart))
    np.testing.assert_allclose(one.std, other.std, atol=1e-8)
    asked = data[:7]
    for side in (False, True):
        one, other = (m.predict_difference(asked, return_std=True, side=side) for m in (exact, apart))
        np.testing.assert_allclose(one, other, atol=1e-8)
    np.testing.assert_allclose(apart.side_effect_[1:], exact.side_effect_[1:], atol=1e-8)


def test_moments_are_close(monkeypatch):
    # Variances of rows are estimated from 32 draws, and sites follow them.
    exact = fitted(problem(), inference="ep")
    monkeypatch.setattr("preflearn.inference.problem.MOST_SHARED", 0)
    apart = fitted(problem(), inference="ep")
    assert isinstance(apart._solution.posterior.curve, CrossedCurve)
    (mean, std), (about, deviation) = (m.predict_utility(return_std=True) for m in (exact, apart))
    assert np.abs(about - mean).max() < 0.05 * std.min()
    np.testing.assert_allclose(deviation, std, rtol=0.02)


@pytest.mark.slow
def test_estimates_are_close_and_the_closer_the_more_draws(both, monkeypatch):
    _, exact, apart = both
    wanted, slope = exact.log_evidence()
    found, rough = apart.log_evidence()
    assert found == pytest.approx(wanted, abs=1.0)
    monkeypatch.setattr(crossed, "DRAWS", 3_000)
    monkeypatch.setattr(crossed, "PROBES", 400)
    closer, fine = apart.log_evidence()
    assert closer == pytest.approx(wanted, abs=0.15)
    np.testing.assert_allclose(fine, slope, atol=0.4)
    assert np.abs(fine - slope).max() < np.abs(rough - slope).max()
    theta = exact.theta_
    again = apart._learned.evidence.solve(theta + 1e-9).posterior.curve
    there = exact._solution.posterior.curve
    np.testing.assert_allclose(again.variances, there.variances, rtol=0.12)


@pytest.mark.slow
def test_estimates_have_fixed_seeds(both):
    data, _, apart = both
    value, slope = apart.log_evidence()
    again, same = fitted(data).log_evidence()
    assert again == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(same, slope, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_a_search_ends_near_the_exact_one(inference, monkeypatch):
    data = problem(seed=1, m=1_500, n_clusters=150)
    model = PreferenceGP(likelihood="probit", inference=inference, cluster=True, judge_kernel="identity", n_restarts=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = model.fit(data).theta_
        monkeypatch.setattr("preflearn.inference.problem.MOST_SHARED", 0)
        apart = model.fit(data).theta_
    np.testing.assert_allclose(apart, exact, atol=0.5)
