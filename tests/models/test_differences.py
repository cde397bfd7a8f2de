"""Least squares on differences: the pseudo-inverse, whatever the graph of comparisons."""

import numpy as np
import pytest
import scipy.sparse as sp

from preflearn.models.bradley_terry import utilities_by_least_squares


@pytest.mark.parametrize("n_parts", [1, 2, 5])
@pytest.mark.parametrize("n_alone", [0, 3])
def test_it_is_the_pseudo_inverse_with_parts_that_never_met_and_items_alone(n_parts, n_alone):
    rng = np.random.default_rng(n_parts)
    n = 12 * n_parts + n_alone
    low = rng.integers(0, 12, 60 * n_parts)
    high = (low + rng.integers(1, 12, low.size)) % 12
    part = np.repeat(np.arange(n_parts), 60) * 12
    rows = np.arange(low.size)
    A = sp.csr_array((np.ones(low.size), (rows, low + part)), (low.size, n)) - sp.csr_array(
        (np.ones(low.size), (rows, high + part)), (low.size, n)
    )
    weight = rng.exponential(size=low.size)
    b = rng.standard_normal((low.size, 2)) + 1e6  # rounding of sums must not reach items that nobody compared
    dense = A.toarray()
    expected = np.linalg.pinv(dense.T @ (weight[:, None] * dense)) @ dense.T @ b
    found = utilities_by_least_squares(A.tocsr(), weight)(b)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    assert (found[n - n_alone :] == 0.0).all()
