"""Sums of rows of the same groups are joined by their means, wherever they were made."""

import numpy as np
import pytest

from fast_share import every_seed
from preflearn.inference.scattered import Census, Scatter, ScatteredSums
from preflearn.operators import Groups, scatter


@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("by_level", [False, True])
@every_seed(10, 100)
def test_parts_joined_are_the_whole(seed, by_level, by_group):
    rng = np.random.default_rng(seed)
    n, n_groups = 80, 7
    group = rng.integers(0, n_groups, n)
    Z = rng.normal(size=(n, 3)) + 1e4 * rng.normal(size=(n_groups, 1))[group]
    y, w = rng.integers(0, 4, n).astype(float), rng.random(n)
    part = rng.integers(0, 4, n)
    parts = [np.flatnonzero(part == k) for k in np.unique(part)]
    census = Census(by_level)
    for rows in parts:
        one = Census(by_level)
        one.add(group[rows], y[rows], w[rows])
        census = census.merged(one)
    found = []
    for rows in parts:
        numbers, code = np.unique(group[rows], return_inverse=True)
        sums = ScatteredSums(census.part(numbers), 3, by_group=by_group)
        for some in np.array_split(np.arange(len(rows)), 2):
            sums.add(Z[rows[some]], y[rows[some]], code[some], w[rows[some]])
        found.append(sums.scatter(numbers))
    M, b = Scatter.of_all(found).system()
    ties, weighting = "exclude" if by_level else "include", "groups" if by_group else "pairs"
    operator = Groups.build(y, np.unique(group, return_inverse=True)[1], w, ties=ties, weighting=weighting)
    wanted = scatter(operator, lambda rows: Z[rows], 3)
    np.testing.assert_allclose(M, wanted[0], rtol=1e-9, atol=1e-9 * np.abs(wanted[0]).max())
    np.testing.assert_allclose(b, wanted[1], rtol=1e-9, atol=1e-9 * np.abs(wanted[1]).max())
