"""Starts that lead to an optimum that is known end there, and those of large models begin with a rough search."""

import numpy as np
import pytest

from preflearn import Comparisons, PreferenceGP
from preflearn.inference.search import maximise
from preflearn.models import _sum_of_terms

BOUNDS = np.array([[-9.0, 9.0], [-9.0, 9.0]])


def counted(evidence):
    """Return the evidence, and the list that its points go to."""
    points = []

    def one(theta):
        points.append(theta.copy())
        return evidence(theta)

    return one, points


def hill(theta):  # curved, not a parabola
    gap, bend = theta - np.array([1.0, -2.0]), np.array([30.0, 4.0])
    return -float(bend @ (np.cosh(gap) - 1)), -bend * np.sinh(gap)


def test_a_start_that_leads_to_a_known_optimum_ends_there_sooner():
    evidence, points = counted(hill)
    first, far = np.array([4.0, 4.0]), np.array([-3.0, 5.0])
    alone = maximise(hill, [far], BOUNDS)[0]
    known, met = maximise(evidence, [first, far], BOUNDS)
    assert known.evaluations + met.evaluations == len(points)
    assert met.evaluations < alone.evaluations
    assert met.message == "leads to the optimum of an earlier start"
    np.testing.assert_array_equal(met.theta, known.theta)
    assert met.evidence == known.evidence
    np.testing.assert_allclose(met.theta, alone.theta, atol=1e-4)
    # and where it starts close by, one evaluation says so
    assert maximise(evidence, [first, known.theta + 0.05], BOUNDS)[1].evaluations == 1


def test_a_start_close_to_a_known_optimum_still_finds_a_hill_of_its_own():
    def ridge(theta):  # hills at -1 and 1, the second 0.15 higher, with a valley 0.25 deep between them
        x, y = theta
        value = -0.25 * (x**2 - 1) ** 2 + 0.075 * x - y**2
        return float(value), np.array([-(x**3 - x) + 0.075, -2 * y])

    low, high = maximise(ridge, [np.array([-1.2, 0.3])], BOUNDS)[0], maximise(ridge, [np.array([1.2, 0.3])], BOUNDS)[0]
    assert high.evidence - low.evidence > 0.1
    for start in (np.array([0.5, 0.1]), np.array([2.0, -0.5]), np.array([0.9, 0.0])):
        best, other = maximise(ridge, [np.array([-1.2, 0.3]), start], BOUNDS)
        assert best.evidence == pytest.approx(high.evidence, abs=1e-6)
        assert other.evidence == pytest.approx(low.evidence, abs=1e-6)


def test_an_optimum_that_was_not_reached_is_none_to_end_at():
    known = maximise(hill, [np.array([4.0, 4.0])], BOUNDS, max_evaluations=2)
    assert not known[0].converged
    both = maximise(hill, [np.array([4.0, 4.0]), np.array([3.9, 4.0])], BOUNDS, max_evaluations=2)
    assert [one.message == "leads to the optimum of an earlier start" for one in both] == [False, False]


@pytest.fixture
def matches():
    rng = np.random.default_rng(1)
    n, m = 60, 500
    X = rng.normal(size=(n, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    outcome = np.where(f[first] + 0.5 * rng.normal(size=m) > f[second], 1, -1)
    return Comparisons(X, first, second, outcome, covariates=rng.normal(size=m))


@pytest.fixture
def roughly(monkeypatch):
    monkeypatch.setattr(_sum_of_terms, "LANDMARKS_FROM", 20)
    monkeypatch.setattr(_sum_of_terms, "FEW_LANDMARKS", 25)


def fitted(data, **options):
    return PreferenceGP("ard", side=True, random_state=0, **options).fit(data)


def test_restarts_after_a_rough_search_find_what_they_found_before(matches, roughly, monkeypatch):
    fast = fitted(matches)
    monkeypatch.setattr(_sum_of_terms, "LANDMARKS_FROM", 1_000)
    slow = fitted(matches)
    assert fast.log_evidence_ == pytest.approx(slow.log_evidence_, abs=1e-3)
    np.testing.assert_allclose(fast.theta_, slow.theta_, atol=0.05)
    assert sum(one.evaluations for one in fast.optima_) < sum(one.evaluations for one in slow.optima_)


def test_a_rough_search_moves_the_random_starts_alone(matches, roughly):
    alone, several = fitted(matches, n_restarts=0), fitted(matches)
    assert several.log_evidence_ >= alone.log_evidence_
    assert any(np.array_equal(one.theta, alone.optima_[0].theta) for one in several.optima_)


def test_landmarks_of_a_rough_search_do_not_depend_on_the_order_of_items(matches, roughly):
    def landmarks(data):
        model = PreferenceGP("rbf", n_restarts=0).fit(data)
        evidence = model._learned.evidence
        found = evidence.about.roughly(model._statements)
        return {row.tobytes() for row in found.weighted.basis}

    order = np.random.default_rng(0).permutation(matches.n_items)
    place = np.argsort(order)
    moved = Comparisons(matches.items[order], place[matches.first], place[matches.second], matches.outcome)
    assert landmarks(matches) == landmarks(moved)


@pytest.mark.parametrize("beside", [{"own_effect": True}, {"kernel": None}, {"cyclic_kernel": "rbf"}], ids=str)
def test_models_of_more_than_functions_of_features_search_as_ever(matches, roughly, beside):
    model = PreferenceGP(**{"kernel": "rbf", **beside}, n_restarts=1, random_state=0)
    assert np.isfinite(model.fit(matches[:80]).log_evidence_)
