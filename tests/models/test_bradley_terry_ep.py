"""Bradley-Terry by expectation propagation."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel

from fast_share import slow_except, thorough
from preflearn import BradleyTerry, Comparisons, PreferenceGP
from preflearn.exceptions import DataError


def games(seed=0, n=7, m=25, ties=False, weight=False):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=n)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    z = u[first] - u[second] + rng.logistic(size=m)
    outcome = np.where(np.abs(z) < 0.5, 0.0, np.sign(z)) if ties else np.sign(z)
    return Comparisons(n, first, second, outcome, weight=rng.uniform(0.2, 3.0, m) if weight else None)


@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("kind", slow_except(["plain", "ties", "weight"], "plain"))
def test_it_is_a_gaussian_process_without_features(link, kind):
    data = games(3, **({} if kind == "plain" else {kind: True}))
    model = BradleyTerry(link, "evidence", inference="ep", ties=kind == "ties").fit(data)
    same = {"likelihood": link, "inference": "ep", "ties": kind == "ties", "random_state": 0}
    gp = PreferenceGP(ConstantKernel(1.0), **same).fit(data)
    np.testing.assert_allclose(model.theta_, gp.theta_, atol=2e-4)
    assert model.log_evidence_ == pytest.approx(gp.log_evidence_, abs=1e-6)
    given = PreferenceGP(ConstantKernel(model.prior_variance_, "fixed"), **same).fit(data)
    np.testing.assert_allclose(model.utility_, given.predict_utility(), atol=1e-4 if kind == "ties" else 1e-8)
    np.testing.assert_allclose(model.std_, given.predict_utility(return_std=True)[1], atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(data), given.predict_proba(data), atol=1e-5)


@pytest.mark.parametrize("ties", [False, True])
def test_the_gradient_is_that_of_differences(ties):
    model = BradleyTerry(inference="ep", ties=ties).fit(games(4, ties=ties))
    theta = model.theta_ + 0.3
    slope = model.log_evidence(theta)[1]
    for k, step in enumerate(1e-4 * np.eye(len(theta))):
        up, down = (model.log_evidence(theta + sign * step, gradient=False) for sign in (1, -1))
        assert slope[k] == pytest.approx((up - down) / 2e-4, abs=1e-5)


def test_two_items_are_as_by_summing_over_all_differences():
    # with two items and one statement a single site is matched: mean, variance and evidence are exact
    z = np.linspace(-200, 200, 400_001)
    density = np.exp(-0.25 * z**2 / 9.0 - np.logaddexp(0, -z)) / np.sqrt(4 * np.pi * 9.0)
    evidence = density.sum() * 1e-3
    mean = (z * density).sum() * 1e-3 / evidence
    variance = (np.square(z - mean) * density).sum() * 1e-3 / evidence
    one_game = Comparisons(None, ["ann"], ["bob"])
    model = BradleyTerry(prior=9.0, inference="ep").fit(one_game)
    assert model.utility_[0] - model.utility_[1] == pytest.approx(mean, abs=1e-9)
    _, covariance = model.predict_utility(return_cov=True)
    assert covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1] == pytest.approx(variance, abs=1e-8)
    assert model.log_evidence_ == pytest.approx(np.log(evidence), abs=1e-10)
    by_laplace = BradleyTerry(prior=9.0).fit(one_game)
    assert by_laplace.utility_[0] - by_laplace.utility_[1] < 0.7 * mean


@pytest.mark.slow
def test_sides_and_the_order_of_items_do_not_matter():
    data = games(5)
    model = BradleyTerry(inference="ep", hyperparameters="average").fit(data)
    turned = Comparisons(7, data.second, data.first, -data.outcome)
    np.testing.assert_allclose(clone(model).fit(turned).utility_, model.utility_, atol=1e-9)
    order = np.array([3, 1, 6, 0, 2, 5, 4])
    moved = Comparisons(7, order[data.first], order[data.second], data.outcome)
    np.testing.assert_allclose(clone(model).fit(moved).utility_[order], model.utility_, atol=1e-7)
    p = model.predict_proba(data)
    np.testing.assert_array_equal(p[:, 0] + p[:, 1], 1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
def test_the_average_is_that_of_a_gaussian_process():
    data = games(6)
    model = BradleyTerry(inference="ep", hyperparameters="average").fit(data)
    gp = PreferenceGP(
        ConstantKernel(1.0), "logit", "ep", hyperparameters="average", hyperprior=1.5, n_points=32, n_restarts=0
    ).fit(data)
    np.testing.assert_allclose(model.utility_, gp.predict_utility(), atol=1e-3)
    np.testing.assert_allclose(model.std_, gp.predict_utility(return_std=True)[1], rtol=2e-3)


def test_it_says_what_it_cannot_do(monkeypatch):
    with pytest.raises(ValueError, match='inference="ep" needs a prior'):
        BradleyTerry(prior=None, inference="ep").fit(games())
    monkeypatch.setattr(BradleyTerry, "_dense", 6)
    with pytest.raises(DataError, match="7 items are more than 6"):
        BradleyTerry(inference="ep").fit(games())


@thorough
@pytest.mark.slow
def test_intervals_hold_the_truth_where_items_met_twice():
    held = {"ep": [], "laplace": []}
    for seed in range(20):
        data = games(seed, n=30, m=60)
        u = np.random.default_rng(seed).normal(size=30)
        for inference, shares in held.items():
            model = BradleyTerry(inference=inference, hyperparameters="average").fit(data)
            found = model.rank()
            truth = u[found.row] - u.mean()
            shares.append(np.mean((found.low <= truth) & (truth <= found.high)))
    assert 0.87 < np.mean(held["ep"]) < 0.95
    assert np.mean(held["ep"]) > np.mean(held["laplace"]) + 0.02


def test_the_likelihood_is_that_of_the_comparisons_at_the_means():
    data = games(7, weight=True)
    model = BradleyTerry(inference="ep").fit(data)
    z = data.outcome * (model.utility_[data.first] - model.utility_[data.second])
    assert model.log_likelihood_ == pytest.approx(-(data.weight @ np.logaddexp(0, -z)))


def test_sites_that_do_not_belong_to_the_posterior_are_refused():
    model = BradleyTerry(inference="ep").fit(games())
    evidence, kept = model._learned.evidence, model._solution.kept()
    again = evidence.again(model.theta_, kept)
    assert again.info.converged
    np.testing.assert_allclose(again.posterior.x, model._solution.posterior.x, atol=1e-12)
    for wrong in (
        {"tau": 2 * kept["tau"]},
        {"tau": -kept["tau"]},
        {"nu": kept["nu"][1:]},
        {"tau": kept["tau"] * np.nan},
        {"g": kept["g"][1:]},
    ):
        with pytest.raises(DataError):
            evidence.again(model.theta_, kept | wrong)


@pytest.mark.slow
def test_intervals_do_not_depend_on_the_draws():
    data = games(8)
    for how in ("maximise", "average"):
        model = BradleyTerry(inference="ep", hyperparameters=how).fit(data)
        one, other = (model.rank(random_state=seed) for seed in (0, 1))
        np.testing.assert_array_equal(one.low, other.low)
        np.testing.assert_array_equal(one.high, other.high)
        np.testing.assert_array_equal(one.std, other.std)
        draws = model.sample_utilities(n_samples=200_000, random_state=2)
        low, high = np.quantile(draws - draws.mean(axis=1, keepdims=True), [0.05, 0.95], axis=0)
        np.testing.assert_allclose(one.low, low[one.row], atol=0.06)
        np.testing.assert_allclose(one.high, high[one.row], atol=0.06)
