"""Errors of differences against listing every pair."""

import numpy as np
import pytest

from fast_share import every_seed
from preflearn.data import Comparisons
from preflearn.exceptions import DataError
from preflearn.metrics import get_scorer, make_ranking_scorer, squared_difference_error, squared_margin_error


def listed(y, f, qid, w):
    """Per group: weighted mean of squared errors of differences, by listing pairs."""
    values, loss, total = [], 0.0, 0.0
    for g in np.unique(qid):
        rows = np.flatnonzero(qid == g)
        num = den = 0.0
        for a, i in enumerate(rows):
            for j in rows[a + 1 :]:
                num += w[i] * w[j] * ((y[i] - y[j]) - (f[i] - f[j])) ** 2
                den += w[i] * w[j]
        values.append(num / den if den else np.nan)
        loss, total = loss + num, total + den
    return np.array(values), loss / total


@every_seed(60, 200)
def test_equals_listing_every_pair(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 20))
    y, f, qid = rng.normal(size=n), rng.normal(size=n) + 100, rng.integers(0, 4, n)
    qid[:2] = 0
    w = rng.integers(0, 4, n).astype(float) if seed % 2 else np.ones(n)
    w[:2] = 1
    values, pooled = listed(y, f, qid, w)
    options = {"qid": qid, "sample_weight": w}
    np.testing.assert_allclose(squared_difference_error(y, f, average=None, **options), values, atol=1e-9)
    assert squared_difference_error(y, f, **options) == pytest.approx(np.nanmean(values), abs=1e-9)
    assert squared_difference_error(y, f, average="pairs", **options) == pytest.approx(pooled, abs=1e-9)


def test_listed_margins():
    outcome, margin, w = np.array([1.0, -2.0, 0.0]), np.array([0.5, -2.0, 1.0]), np.array([1.0, 2.0, 1.0])
    assert squared_margin_error(outcome, margin, sample_weight=w) == pytest.approx((0.25 + 1.0) / 4)
    per_group = squared_margin_error(outcome, margin, group=["b", "a", "b"], average=None)
    np.testing.assert_allclose(per_group, [0.0, 0.625])


def test_no_pair_is_an_error():
    with pytest.raises(DataError, match="no two rows share a group"):
        squared_difference_error([1.0, 2.0], [1.0, 2.0], qid=[0, 1])


def test_the_scorer_is_negated_and_finds_its_twin_for_comparisons():
    scorer = get_scorer("squared_error")
    assert scorer.evaluate([0.0, 1.0], [0.0, 3.0]) == -4.0
    assert scorer.for_comparisons().evaluate([1.0], [3.0]) == -4.0


def test_margins_of_comparisons_are_scored_with_the_options_that_were_given():
    class Difference:
        def predict(self, X):
            return X.items[X.first, 0] - X.items[X.second, 0]

    X = Comparisons([[0.0], [1.0], [3.0]], [0, 1, 2], [1, 2, 0], [1.0, 2.0, -1.0], group=["a", "a", "b"])
    assert Difference().predict(X).tolist() == [-1.0, -2.0, 3.0]  # off by 2, 4 and 4
    pooled = make_ranking_scorer(squared_margin_error, greater_is_better=False)
    by_group = make_ranking_scorer(squared_difference_error, greater_is_better=False, average="groups")
    assert pooled(Difference(), X) == -12.0
    assert by_group(Difference(), X) == -13.0
