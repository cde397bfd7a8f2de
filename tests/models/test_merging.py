"""Equal statements become one with a weight."""

import numpy as np
import pytest
from preflearn.models._gp_merge import merge

from preflearn import Comparisons


def by_hand(X, judge, exact):
    weight = np.ones(len(X)) if X.weight is None else X.weight
    found = {}
    for k in np.flatnonzero(weight):
        outcome = X.outcome[k] if exact else np.sign(X.outcome[k])
        low, high = sorted((X.first[k], X.second[k]))
        said = (low, high, 0 if judge is None else judge[k], outcome if X.first[k] == low else -outcome)
        found.setdefault(said, []).append(k)
    return {said: (weight[rows].sum(), rows) for said, rows in sorted(found.items())}


@pytest.mark.parametrize("seed", range(12))
def test_statements_are_merged_as_by_hand(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 9)), int(rng.integers(1, 50))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    weight = np.append(rng.choice([0.0, 1.0, 2.5], m - 1), 1.0) if seed % 2 else None
    X = Comparisons(n, first, second, rng.choice([-2, -1, -0.5, 0, 0.5, 1.5], m), weight=weight)
    judge = rng.integers(0, 4, m) if seed % 3 else None
    for exact in (False, True):
        found, wanted = merge(X, judge, exact=exact), by_hand(X, judge, exact)
        assert list(zip(found.first, found.second, found.judge, found.outcome, strict=True)) == list(wanted)
        np.testing.assert_allclose(found.weight, [total for total, _ in wanted.values()])
        for place, (_, rows) in enumerate(wanted.values()):
            np.testing.assert_array_equal(found.row[rows], place)
        assert not np.signbit(found.outcome[found.outcome == 0]).any()
