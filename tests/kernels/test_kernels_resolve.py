"""Kernels by name."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, PairwiseKernel
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from preflearn.exceptions import DataError
from preflearn.kernels import KERNEL_NAMES, gram, gram_diag, resolve_kernel


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((20, 3)) * [1.0, 5.0, 0.1] + 2.0


def test_names_are_the_kernels_they_say(X):
    gamma = 1.0 / (3 * X.var())
    length = np.sqrt(1 / (2 * gamma))
    r = np.linalg.norm(X[:, None] - X[None], axis=2) / length
    expected = {
        "linear": linear_kernel(X),
        "poly2": polynomial_kernel(X, degree=2, gamma=1.0, coef0=1.0),
        "poly3": polynomial_kernel(X, degree=3, gamma=1.0, coef0=1.0),
        "rbf": rbf_kernel(X, gamma=gamma),
        "laplacian": np.exp(-r),
        "matern": (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
        "matern32": (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
        "matern52": (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
        "rational_quadratic": 1 / (1 + r**2 / 2),
    }
    assert set(expected) == set(KERNEL_NAMES)
    for name, K in expected.items():
        np.testing.assert_allclose(gram(resolve_kernel(name, X), X), K, rtol=1e-11)
        np.testing.assert_allclose(gram_diag(resolve_kernel(name, X), X), np.diagonal(K), rtol=1e-11)


def test_length_scale_is_the_one_of_svc(X):
    gamma = SVC(gamma="scale").fit(X, np.arange(20) % 2)._gamma
    assert 1 / (2 * resolve_kernel("rbf", X).length_scale ** 2) == pytest.approx(gamma, rel=1e-12)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_variance_includes_the_zeros(make, X):
    X = X * (np.random.default_rng(1).random(X.shape) < 0.3)
    dense = resolve_kernel("matern32", X).length_scale
    assert resolve_kernel("matern32", make(X)).length_scale == pytest.approx(dense, rel=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_whole_weights_are_repeated_rows(make, X):
    X = X * (np.random.default_rng(1).random(X.shape) < 0.5)
    weight = np.random.default_rng(2).integers(0, 4, 20)
    repeated = resolve_kernel("rbf", make(np.repeat(X, weight, axis=0))).length_scale
    assert resolve_kernel("rbf", make(X), weight).length_scale == pytest.approx(repeated, rel=1e-13)
    assert resolve_kernel("rbf", make(X)).length_scale != pytest.approx(repeated, rel=1e-3)
    with pytest.raises(DataError, match="all 20 weights are zero"):
        resolve_kernel("rbf", make(X), np.zeros(20))


def test_small_spread_on_a_large_offset_is_a_spread(X):
    large = np.round(X[:, :1], 3) + 1e9
    expected = np.sqrt((large - 1e9).var() / 2)
    assert resolve_kernel("rbf", large).length_scale == pytest.approx(expected, rel=1e-6)


def test_sparse_variance_adds_repeated_entries():
    X = sparse.csr_array(([1.0, 2.0, 3.0], [1, 1, 0], [0, 2, 3]), shape=(2, 3))
    dense = np.array([[0.0, 3.0, 0.0], [3.0, 0.0, 0.0]])
    assert resolve_kernel("rbf", X).length_scale == pytest.approx(resolve_kernel("rbf", dense).length_scale)
    assert X.nnz == 3, "the caller's matrix must not be changed"


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 / 3])
def test_rows_that_do_not_vary_get_gamma_one(value):
    for X in (np.full((7, 3), value), sparse.csr_array(np.full((7, 3), value))):
        assert 1 / (2 * resolve_kernel("rbf", X).length_scale ** 2) == pytest.approx(1.0, rel=1e-12)
        weight = [1, 2, 3, 4, 5, 6, 0]
        assert 1 / (2 * resolve_kernel("rbf", X, weight).length_scale ** 2) == pytest.approx(1.0, rel=1e-12)


def test_hyperparameters_can_be_searched_from_where_they_are(X):
    """theta is finite and within its bounds, also for features on a large scale."""
    for name in KERNEL_NAMES:
        kernel = resolve_kernel(name, X * 1e9)
        assert np.isfinite(kernel.theta).all()
        if kernel.theta.size:
            assert (kernel.bounds[:, 0] < kernel.theta).all()
            assert (kernel.theta < kernel.bounds[:, 1]).all()
    assert resolve_kernel("linear", X).theta.size == 0


def test_a_kernel_object_is_cloned(X):
    kernel = 2.0 * RBF([1.0, 2.0, 3.0])
    resolved = resolve_kernel(kernel, X)
    assert resolved == kernel
    assert resolved is not kernel
    resolved.theta = resolved.theta + 1.0
    assert kernel.k1.constant_value == 2.0


def test_messages(X):
    with pytest.raises(DataError, match=r'kernel "matern3" is unknown \(nearest names: "matern32".*"poly2"'):
        resolve_kernel("matern3", X)
    with pytest.raises(DataError, match=r'kernel "zzz" is unknown\. '):
        resolve_kernel("zzz", X)
    with pytest.raises(TypeError, match=r"PairwiseKernel\(metric=function\)"):
        resolve_kernel(lambda x, y: 1.0, X)
    with pytest.raises(TypeError, match=r"class RBF; pass an object, RBF\(\)"):
        resolve_kernel(RBF, X)
    with pytest.raises(TypeError, match="kernel is a int"):
        resolve_kernel(3, X)
    with pytest.raises(TypeError, match="kernel is a NoneType"):
        resolve_kernel(None, X)


def test_the_advice_for_functions_works(X):
    kernel = resolve_kernel(PairwiseKernel(metric=lambda x, y, gamma: float(x @ y)), X)
    np.testing.assert_allclose(gram(kernel, X), X @ X.T)
