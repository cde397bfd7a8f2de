"""Centring a Gram matrix is subtracting the mean in feature space."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import KernelCenterer

from preflearn.exceptions import DataError
from preflearn.kernels import centre_cross, centre_gram


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    Z, Z_new = rng.standard_normal((25, 40)) + 2.0, rng.standard_normal((9, 40)) + 2.0
    return Z @ Z.T, Z_new @ Z.T, rng.integers(0, 4, 25).astype(float), Z, Z_new


def test_the_formulas_of_the_paper(problem):
    """Section 6.1, with explicit matrices, and scikit-learn's KernelCenterer."""
    K, K_new, *_ = problem
    n, n_new = 25, 9
    one, one_new = np.ones((n, 1)), np.ones((n_new, 1))
    centring = np.eye(n) - one @ one.T / n
    K_centred, means, grand = centre_gram(K)
    np.testing.assert_allclose(K_centred, centring @ K @ centring, atol=1e-11)
    np.testing.assert_array_equal(K_centred, K_centred.T)
    expected = (K_new - one_new @ one.T @ K / n) @ centring
    actual = centre_cross(K_new, means, grand)
    np.testing.assert_allclose(actual, expected, atol=1e-11)
    reference = KernelCenterer().fit(K)
    np.testing.assert_allclose(K_centred, reference.transform(K), atol=1e-11)
    np.testing.assert_allclose(actual, reference.transform(K_new), atol=1e-11)


def test_weighted_centring_subtracts_the_weighted_mean(problem):
    K, K_new, weight, Z, Z_new = problem
    mean = np.average(Z, axis=0, weights=weight)
    K_centred, means, grand = centre_gram(K, weight)
    np.testing.assert_allclose(K_centred, (Z - mean) @ (Z - mean).T, atol=1e-10)
    np.testing.assert_allclose(centre_cross(K_new, means, grand, weight), (Z_new - mean) @ (Z - mean).T, atol=1e-10)
    p = weight / weight.sum()
    projector = np.eye(25) - np.outer(np.ones(25), p)
    np.testing.assert_allclose(K_centred, projector @ K @ projector.T, atol=1e-10)


def test_whole_weights_are_repeated_rows(problem):
    K, K_new, weight, *_ = problem
    index = np.repeat(np.arange(25), weight.astype(int))
    K_centred, means, grand = centre_gram(K, weight)
    K_repeated, means_repeated, grand_repeated = centre_gram(K[np.ix_(index, index)])
    np.testing.assert_allclose(K_centred[np.ix_(index, index)], K_repeated, atol=1e-11)
    np.testing.assert_allclose(means[index], means_repeated, atol=1e-12)
    assert grand == pytest.approx(grand_repeated, rel=1e-12)
    np.testing.assert_allclose(
        centre_cross(K_new, means, grand, weight)[:, index],
        centre_cross(K_new[:, index], means_repeated, grand_repeated),
        atol=1e-11,
    )


def test_cross_of_the_same_items_is_the_centred_gram(problem):
    K, _, weight, *_ = problem
    K_centred, means, grand = centre_gram(K, weight)
    np.testing.assert_allclose(centre_cross(K, means, grand, weight), K_centred, atol=1e-11)
    for part in (slice(0, 3), slice(3, 25)):
        np.testing.assert_allclose(centre_cross(K[part], means, grand, weight), K_centred[part], atol=1e-11)


def test_overwrite_works_in_place_and_its_absence_does_not(problem):
    K, K_new, weight, *_ = problem
    before, before_new = K.copy(), K_new.copy()
    K_centred, means, grand = centre_gram(K, weight)
    centre_cross(K_new, means, grand, weight)
    np.testing.assert_array_equal(K, before)
    np.testing.assert_array_equal(K_new, before_new)
    assert centre_gram(K, weight, overwrite=True)[0] is K
    np.testing.assert_array_equal(K, K_centred)


def test_messages(problem):
    K, K_new, *_ = problem
    _, means, grand = centre_gram(K)
    with pytest.raises(DataError, match=r"shape \(9, 25\)"):
        centre_gram(K_new)
    with pytest.raises(DataError, match=r"fit saw 25 items"):
        centre_cross(K_new.T, means, grand)
    with pytest.raises(DataError, match="one weight for each of 25 items"):
        centre_gram(K, np.ones(3))
    with pytest.raises(DataError, match=r"1 of 25 weights are negative.*item 3, -1"):
        centre_gram(K, np.where(np.arange(25) == 3, -1.0, 1.0))
    with pytest.raises(DataError, match="all 25 weights are zero"):
        centre_gram(K, np.zeros(25))
