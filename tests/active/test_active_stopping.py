"""The stopping rule: exact where margins are Gaussian, against a slow filter elsewhere, and its laws."""

import numpy as np
import pytest
from problems_active import by_name, probabilities, with_features
from scipy.special import ndtr
from sklearn.base import clone

from likelihood_table import moments
from preflearn import Comparisons
from preflearn.active import information_gain, remaining_value
from preflearn.active._criteria import draw_utilities
from preflearn.active.stopping import _agreement, _reordered, draw_outcomes, future_means
from preflearn.likelihoods import Gaussian, Logit, Probit

pytestmark = pytest.mark.slow

LIKELIHOODS = [Probit(), Logit(), Probit(tie=0.6, tie_fixed=True), Gaussian(2.0, fixed=True)]


def posterior(likelihood):
    model, _, X = with_features(8, 12, likelihood)
    return model.likelihood_, *model.predict_utility(X, return_cov=True)


def test_futures_of_margins_have_the_exact_distribution():
    likelihood, mean, covariance = posterior(Gaussian(2.0, fixed=True))
    pairs = np.array([0, 2, 2, 0]), np.array([1, 3, 1, 1])
    A = np.zeros((4, 8))
    A[np.arange(4), pairs[0]], A[np.arange(4), pairs[1]] = 1, -1
    E = covariance @ A.T
    exact = E @ np.linalg.inv(A @ E + np.eye(4) / 2.0) @ E.T
    rng = np.random.default_rng(0)
    truth = draw_utilities(mean, covariance, 40_000, rng)
    future = future_means(likelihood, mean, covariance, *pairs, draw_outcomes(likelihood, truth, *pairs, rng))
    np.testing.assert_allclose(future.mean(axis=0), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(future.T), exact, atol=0.03)
    # the error of a posterior mean is uncorrelated with it
    np.testing.assert_allclose((truth - future).T @ (future - mean) / 40_000, 0, atol=0.03)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
def test_futures_are_filtered_one_outcome_after_another(likelihood):
    """The same with the whole covariance of the items, one future at a time."""
    likelihood, mean, covariance = posterior(likelihood)
    pairs = np.array([0, 2, 2, 0, 0]), np.array([1, 3, 1, 1, 1])
    rng = np.random.default_rng(3)
    y = draw_outcomes(likelihood, draw_utilities(mean, covariance, 7, rng), *pairs, rng)
    future = future_means(likelihood, mean, covariance, *pairs, y)
    for row in range(7):
        m, C = mean.copy(), covariance.copy()
        for outcome, i, j in zip(y[row], *pairs, strict=True):
            a = np.zeros(8)
            a[i], a[j] = 1, -1
            d, v = np.array([a @ m]), np.array([a @ C @ a])
            tilted = moments(likelihood, np.array([outcome]), d, v)
            gain = C @ a / v
            m = m + gain * (tilted.mean - d)
            C = C + np.outer(gain, gain) * (tilted.variance - v)
        np.testing.assert_allclose(future[row], m, atol=1e-9)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
def test_outcomes_come_from_the_likelihood_and_means_stay_on_average(likelihood):
    likelihood, mean, covariance = posterior(likelihood)
    pairs = np.array([0, 2, 4, 6, 0, 2]), np.array([1, 3, 5, 7, 3, 1])
    rng = np.random.default_rng(0)
    truth = draw_utilities(mean, covariance, 40_000, rng)
    y = draw_outcomes(likelihood, truth, *pairs, rng)
    z = truth[:, pairs[0]] - truth[:, pairs[1]]
    if not isinstance(likelihood, Gaussian):
        expected = probabilities(likelihood, z).mean(axis=0)
        shares = np.stack([(y == kind).mean(axis=0) for kind in (1, 0, -1)], axis=1)
        np.testing.assert_allclose(shares, expected, atol=0.01)
    future = future_means(likelihood, mean, covariance, *pairs, y)
    np.testing.assert_allclose(future.mean(axis=0), mean, atol=0.03)
    again = draw_outcomes(likelihood, truth, pairs[0][:3], pairs[1][:3], np.random.default_rng(4))
    longer = draw_outcomes(likelihood, truth, *pairs, np.random.default_rng(4))
    np.testing.assert_array_equal(longer[:, :3], again)


def test_two_items_with_margins_are_a_normal_distribution():
    model = by_name((("ann", "bob"),), Gaussian(0.5, fixed=True))
    mean, covariance = model.predict_utility(["ann", "bob"], return_cov=True)
    gap, v = mean[0] - mean[1], covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    for n in (1, 4):
        spread = np.sqrt(v - 1 / (1 / v + 0.5 * n))
        left = remaining_value(model, n, k=1, n_fantasies=40_000, random_state=0)
        change = ndtr(-gap / spread)
        assert left.best_changes == pytest.approx(change, abs=0.01)
        assert left.top_k_changes == left.best_changes
        assert left.reordered == pytest.approx(left.best_changes)
        assert left.best_right_now == pytest.approx(ndtr(gap / np.sqrt(v)), abs=0.01)
        # E[Φ(|M| / s)], M the new mean and s² what is left of v
        new = gap + spread * np.linspace(-9, 9, 4001)
        weight = np.exp(-0.5 * np.linspace(-9, 9, 4001) ** 2)
        right = weight @ ndtr(np.abs(new) / np.sqrt(v - spread**2)) / weight.sum()
        assert left.best_right == pytest.approx(right, abs=0.01)
        assert left.pairs_right == pytest.approx(left.best_right)
        # E max(a, b) with a - b ~ N(gap, spread²), less the better mean; their average stays
        rise = spread * np.exp(-0.5 * (gap / spread) ** 2) / np.sqrt(2 * np.pi) - gap * change
        assert left.value == pytest.approx(rise, rel=0.05)
        assert left.information == pytest.approx(0.5 * np.log1p(0.5 * n * v))
        assert left.information_bound == pytest.approx(0.5 * n * np.log1p(0.5 * v))


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
def test_more_comparisons_make_more_right_and_never_tell_beyond_the_bound(likelihood):
    model, _, X = with_features(12, 20, likelihood)
    steps = [remaining_value(model, n, X, k=3, n_fantasies=4000, random_state=0) for n in (1, 5, 20, 60)]
    for name in ("information", "information_bound", "pairs_right", "best_right", "top_k_right", "value"):
        values = np.array([getattr(step, name) for step in steps])
        assert (np.diff(values) > 0).all(), name
    for step in steps:
        assert step.information <= step.information_bound
        assert step.best_right_now == steps[0].best_right_now
        assert step.value < step.value_limit
        assert step.rise == step.top_k_right - step.top_k_right_now
    assert steps[0].information == pytest.approx(steps[0].information_bound)
    pairs = [(i, j) for i in range(12) for j in range(i)]
    assert steps[0].information == pytest.approx(information_gain(model, pairs, X).max(), rel=1e-8)


def test_nothing_is_left_when_all_is_known():
    before = None
    for weight in (1.0, 10.0, 100.0, 10_000.0):
        data = Comparisons(
            None,
            ["ann", "bob", "ann", "bob", "cy", "cy"],
            ["bob", "cy", "cy", "ann", "bob", "ann"],
            weight=np.array([3.0, 3.0, 6.0, 1.0, 1.0, 1.0]) * weight,
        )
        model = clone(by_name(variance=4.0)).fit(data)
        left = remaining_value(model, 5, k=1, n_fantasies=10_000, random_state=0)
        figures = np.array([left.information_bound, left.information, left.rise, left.reordered, left.value_limit])
        if before is not None:
            assert (figures <= before + 0.002).all()
        before = figures
    assert figures[:2].max() < 2e-3
    assert figures[2] == figures[3] == 0
    assert left.best_right_now == left.pairs_right_now == 1
    assert not left.worth_it
    assert "not worth it" in left.sentence


def test_items_without_an_order_yet_have_half_of_one_to_lose():
    data = Comparisons(None, ["ann", "cy", "dee"], ["bob", "dee", "ann"], names=["ann", "bob", "cy", "dee"])[:1]
    model = clone(by_name()).fit(data)
    left = remaining_value(model, 40, candidates=[("cy", "dee")], random_state=0)
    assert left.reordered > 0.5 / 6
    assert _reordered(np.array([[1.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 0.0]])) == 0
    assert _reordered(np.array([[1.0, 0.0, 0.0]]), np.array([[1.0, 2.0, 0.0]])) == pytest.approx(1.5 / 3)
    assert _agreement(np.array([[1.0, 0.0, 0.0]]), np.array([[1.0, 2.0, 0.0]])) == pytest.approx(1.5 / 3)


def test_the_verdict_follows_the_question():
    model, _, X = with_features(12, 20)
    order = remaining_value(model, 10, X, random_state=0)
    best = remaining_value(model, 10, X, k=1, random_state=0)
    assert order.top_k_changes is None
    assert "pairs of 12 items" in str(order)
    assert "the probability that the best item of 12 items is known" in str(best)
    assert "the 3 best of 12 items are known" in str(remaining_value(model, 10, X, k=3, random_state=0))
    assert order.worth_it == (order.pairs_right - order.pairs_right_now >= 0.01)
    strict = remaining_value(model, 10, X, k=1, threshold=1.0, random_state=0)
    assert not strict.worth_it
    assert strict.to_dict()["worth_it"] is False
    assert best.to_dict()["best_changes"] == best.best_changes
    assert remaining_value(model, 10, X, k=1, random_state=0) == best


def test_comparisons_for_the_top_k_get_it_right_sooner():
    model, _, X = with_features(30, 60)
    plain = remaining_value(model, 10, X, k=5, n_fantasies=4000, random_state=0)
    aimed = remaining_value(model, 10, X, k=5, criterion="top_k", n_fantasies=4000, random_state=0)
    assert aimed.top_k_right > plain.top_k_right + 0.01
    assert aimed.information <= plain.information


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be .*got 0"),
        ({"n": 2, "threshold": 2}, "between 0 and 1"),
        ({"n": 2, "k": 9}, "the pool has 4 items"),
        ({"n": 2, "criterion": "top_k"}, "needs k"),
        ({"n": 2, "n_fantasies": 1}, "n_fantasies must be .*got 1"),
    ],
)
def test_mistakes_are_explained(options, message):
    with pytest.raises(ValueError, match=message):
        remaining_value(by_name(), **options)
