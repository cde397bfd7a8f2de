"""Equal statements become one with a weight, and statements that see the same of every term share a cell."""

import numpy as np
import pytest

from preflearn import Comparisons
from preflearn.models._observations import statements_of


def by_hand(X, judge, exact):
    weight = np.ones(len(X)) if X.weight is None else X.weight
    found = {}
    for k in np.flatnonzero(weight):
        outcome = X.outcome[k] if exact else np.sign(X.outcome[k])
        low, high = sorted((X.first[k], X.second[k]))
        said = (low, high, 0 if judge is None else judge[k], outcome if X.first[k] == low else -outcome)
        found.setdefault(said, []).append(k)
    return {said: (weight[rows].sum(), rows) for said, rows in sorted(found.items())}


def comparisons(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 9)), int(rng.integers(1, 50))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    weight = np.append(rng.choice([0.0, 1.0, 2.5], m - 1), 1.0) if seed % 2 else None
    return rng, n, (first, second, rng.choice([-2, -1, -0.5, 0, 0.5, 1.5], m)), weight


@pytest.mark.parametrize("seed", range(12))
def test_statements_are_merged_as_by_hand(seed):
    rng, n, said, weight = comparisons(seed)
    X = Comparisons(n, *said, weight=weight)
    judge = rng.integers(0, 4, len(X)) if seed % 3 else None
    for exact, apart in ((False, True), (True, True), (True, False)):
        found, wanted = statements_of(X, exact=exact, judge=judge, judges_apart=apart), by_hand(X, judge, exact)
        rows, seen = found.rows, found.seen
        low, high = found.used[rows.low[seen.cell]], found.used[rows.high[seen.cell]]
        whose = np.zeros(len(low), dtype=int) if judge is None else found.judge
        assert list(zip(low, high, whose, seen.y, strict=True)) == list(wanted)
        np.testing.assert_allclose(seen.weight, [total for total, _ in wanted.values()])
        for place, (_, merged) in enumerate(wanted.values()):
            np.testing.assert_array_equal(found.row[merged], place)
        assert not np.signbit(seen.y[seen.y == 0]).any()
        # cells: a pair, and whose it is where that makes a difference to what is seen
        cells = sorted({key[: 3 if apart else 2] for key in wanted})
        assert (rows.who is None) == (judge is None or not apart)
        sides = [found.used[rows.low], found.used[rows.high]]
        sides += [] if not apart else [np.zeros(len(rows), dtype=int) if judge is None else rows.who.number]
        assert list(zip(*sides, strict=True)) == cells
        assert seen.n_cells == len(rows) == len(cells)
        np.testing.assert_array_equal(np.unique(seen.cell), np.arange(len(cells)))
        pairs = sorted({key[:2] for key in wanted})
        assert list(zip(*(found.used[side] for side in found.pairs), strict=True)) == pairs


@pytest.mark.parametrize("seed", range(12))
def test_every_comparison_has_a_cell_that_sees_what_it_sees(seed):
    rng, n, said, weight = comparisons(seed)
    m = len(said[0])
    judge, cluster = rng.integers(0, 3, m), rng.integers(0, 2, m)
    covariates = rng.choice([-1.0, 0.0, 2.0], size=(m, 2))
    X = Comparisons(n, *said, weight=weight, covariates=covariates)
    found = statements_of(X, exact=True, judge=judge, cluster=cluster, side=True, covariates=True)
    counted = np.arange(m) if weight is None else np.flatnonzero(weight)
    rows, cell = found.rows, found.cell[counted]
    first, second, outcome = (x[counted] for x in said)
    sign = np.where(first < second, 1.0, -1.0)
    np.testing.assert_array_equal(found.used[rows.low[cell]], np.minimum(first, second))
    np.testing.assert_array_equal(found.used[rows.high[cell]], np.maximum(first, second))
    np.testing.assert_array_equal(rows.side[cell], sign)
    np.testing.assert_array_equal(rows.who.number[cell], judge[counted])
    np.testing.assert_array_equal(rows.cluster[cell], cluster[counted])
    np.testing.assert_array_equal(rows.covariates[cell], sign[:, None] * covariates[counted])
    np.testing.assert_array_equal(found.seen.y[found.row[counted]], sign * outcome)
    different = np.column_stack([rows.low, rows.high, rows.side, rows.who.number, rows.cluster, rows.covariates])
    assert len(np.unique(different, axis=0)) == len(rows)
    total = np.bincount(found.row[counted], np.ones(len(counted)) if weight is None else weight[counted])
    np.testing.assert_allclose(found.seen.weight, total)
