"""Factors give the kernel back: exactly (linear, Cholesky, all rows) or in the limit (subsets, random features)."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from preflearn.exceptions import DataError
from preflearn.kernels import (
    FeatureMap,
    LinearMap,
    Nystroem,
    RandomFourier,
    centre_gram,
    gram,
    linear_map,
)
from preflearn.linalg import cholesky_psd, eigh_leading


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((40, 6))


LINEAR = [
    DotProduct(0.0),
    DotProduct(1.5),
    4.0 * DotProduct(0.0),
    4.0 * DotProduct(2.0),
    DotProduct(2.0) * 3.0,
    DotProduct(0.0) + 2.0,
    3.0 * (DotProduct(1.0) + 2.0) + 0.5 * DotProduct(0.0),
    ConstantKernel(2.0) * ConstantKernel(3.0) * DotProduct(1.0),
    ConstantKernel(2.0) ** 2 * DotProduct(0.5) ** 1,
]


@pytest.mark.parametrize("kernel", LINEAR, ids=repr)
def test_linear_kernels_are_recognised(kernel, X):
    feature_map = linear_map(kernel)
    Z = feature_map.transform(X)
    np.testing.assert_allclose(Z @ Z.T, gram(kernel, X), rtol=1e-12, atol=1e-12)
    assert Z.shape[1] == feature_map.n_features_out(6)
    sparse_rows = feature_map.transform(sparse.csr_array(X))
    assert sparse.issparse(sparse_rows)
    np.testing.assert_allclose(sparse_rows.toarray(), Z, rtol=1e-14)
    assert isinstance(feature_map, FeatureMap)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(),
        ConstantKernel(2.0),
        DotProduct() * DotProduct(),
        DotProduct() ** 2,
        DotProduct() + WhiteKernel(),
        DotProduct() * RBF(),
        RBF() ** 1,
    ],
    ids=repr,
)
def test_other_kernels_are_not_taken_for_linear(kernel):
    assert linear_map(kernel) is None


def test_plain_linear_map_does_not_copy(X):
    assert linear_map(DotProduct(0.0)).transform(X) is X
    rows = sparse.csr_array(X)
    assert linear_map(DotProduct(0.0)).transform(rows) is rows


def test_cholesky_factor_and_its_jitter(X):
    R, jitter = cholesky_psd(gram(2.0 * RBF(2.0) + WhiteKernel(0.1), X))
    assert jitter == 0.0
    np.testing.assert_allclose(R @ R.T, gram(2.0 * RBF(2.0) + WhiteKernel(0.1), X), atol=1e-13)
    R, jitter = cholesky_psd(gram(DotProduct(0.0), X))  # rank 6 of 40
    assert jitter > 0.0
    np.testing.assert_allclose(R @ R.T, X @ X.T + jitter * np.eye(40), atol=1e-12)


def test_leading_components_of_a_linear_kernel_are_principal_components(X):
    K, *_ = centre_gram(gram(DotProduct(), X))
    values, vectors = eigh_leading(K, 10)
    singular = np.linalg.svd(X - X.mean(0), compute_uv=False)
    np.testing.assert_allclose(values, singular**2, rtol=1e-11)
    np.testing.assert_allclose((vectors * values) @ vectors.T, K, atol=1e-11)


KERNELS = [
    RBF(1.5),
    2.0 * Matern(np.array([1.0, 2.0, 1.0, 0.5, 3.0, 1.0]), nu=1.5),
    DotProduct() ** 2,
    RationalQuadratic() + 1.0,
    RBF(30.0),
]


@pytest.mark.parametrize("method", ["random", "kmeans++"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_nystroem_with_all_rows_is_the_kernel(kernel, method, X):
    X_new = X[:5] + 0.3
    feature_map = Nystroem(40, method=method, random_state=0).fit_map(kernel, X)
    Z, Z_new = feature_map.transform(X), feature_map.transform(X_new)
    scale = gram(kernel, X).max()
    np.testing.assert_allclose(Z @ Z.T, gram(kernel, X), atol=1e-8 * scale)
    np.testing.assert_allclose(Z_new @ Z.T, gram(kernel, X_new, X), atol=1e-8 * scale)


def test_nystroem_is_the_projection_onto_the_basis(X):
    kernel = RBF(1.5)
    feature_map = Nystroem(12, random_state=3).fit_map(kernel, X)
    Z, B = feature_map.transform(X), feature_map.basis
    assert B.shape == (12, 6)
    assert all((row == X).all(axis=1).any() for row in B), "basis rows are data rows"
    expected = kernel(X, B) @ np.linalg.solve(kernel(B), kernel(B, X))
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-9)


def test_nystroem_error_goes_down_and_the_rest_is_positive(X):
    """K - Z Z' is positive semi-definite, and bases that grow can only lower its trace."""
    kernel = RBF(1.5)
    K = gram(kernel, X)
    left = []
    for r in (5, 10, 20, 40):
        Z = Nystroem(r, random_state=0).fit_map(kernel, X).transform(X)
        assert np.linalg.eigvalsh(K - Z @ Z.T).min() > -1e-10
        left.append(np.trace(K - Z @ Z.T))
    assert left[0] > 2 * left[2] > 100 * abs(left[3])
    assert (np.diff(left) < 0).all()


def test_nystroem_drops_null_directions(X):
    doubled = np.vstack([X, X])
    feature_map = Nystroem(80, random_state=0).fit_map(DotProduct(0.0), doubled)
    assert feature_map.n_features_out(6) == 6
    Z = feature_map.transform(doubled)
    np.testing.assert_allclose(Z @ Z.T, doubled @ doubled.T, atol=1e-10)


def test_nystroem_leaves_the_noise_out(X):
    with_noise = Nystroem(40).fit_map(RBF(1.5) + WhiteKernel(0.5), X).transform(X)
    np.testing.assert_allclose(with_noise @ with_noise.T, gram(RBF(1.5), X), atol=1e-8)


@pytest.mark.parametrize("approximation", [Nystroem(15, random_state=0), RandomFourier(15, random_state=0)])
def test_maps_are_values(approximation, X):
    """Deterministic, picklable, row by row, sparse = dense, parameters untouched."""
    assert clone(approximation).get_params() == approximation.get_params()
    kernel = 2.0 * RBF(1.5)
    feature_map = approximation.fit_map(kernel, X)
    Z = feature_map.transform(X)
    assert isinstance(feature_map, FeatureMap)
    assert Z.dtype == np.float64
    assert Z.shape == (40, feature_map.n_features_out(6))
    again = pickle.loads(pickle.dumps(clone(approximation).fit_map(kernel, X)))
    np.testing.assert_array_equal(again.transform(X), Z)
    other = clone(approximation).set_params(random_state=1).fit_map(kernel, X).transform(X)
    assert np.abs(other - Z).max() > 1e-3
    chunks = np.vstack([feature_map.transform(X[:1]), feature_map.transform(X[1:13]), feature_map.transform(X[13:])])
    np.testing.assert_allclose(chunks, Z, atol=1e-9)
    np.testing.assert_allclose(feature_map.transform(sparse.csr_array(X)), Z, atol=1e-9)
    fitted_sparse = approximation.fit_map(kernel, sparse.csr_array(X))
    Z_sparse = fitted_sparse.transform(sparse.csr_array(X))
    np.testing.assert_allclose(Z_sparse @ Z_sparse.T, Z @ Z.T, atol=1e-9)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(2.0),
        3.0 * RBF([1.0, 2.0, 1.0, 4.0, 3.0, 1.0]),
        Matern(2.0, nu=0.5),
        Matern(2.0, nu=1.5) * 2.0,
        Matern([1.0, 2.0, 1.0, 4.0, 3.0, 1.0], nu=2.5),
        Matern(2.0, nu=np.inf),
        Matern(2.0, nu=0.8),
        0.5 * RationalQuadratic(2.0, 0.7) * 4.0,
    ],
    ids=repr,
)
def test_random_features_converge_to_their_kernel(kernel, X):
    """Entries have standard deviation below c / sqrt(r); over 780 entries 5 of them are not exceeded."""
    K = gram(kernel, X)
    c = K[0, 0]
    for r in (100, 40_000):
        Z = RandomFourier(r, random_state=0).fit_map(kernel, X).transform(X)
        np.testing.assert_allclose(np.sum(Z**2, axis=1), c, rtol=1e-12)
        error = Z @ Z.T - K
        assert np.abs(error).max() < 5 * c / np.sqrt(r)
    assert np.abs(error).max() > 0.05 * c / np.sqrt(r), "random, not exact"


def test_random_features_stand_an_offset(X):
    kernel = RBF(2.0)
    shifted = np.round(X, 3) + 2.0**20
    Z = RandomFourier(4000, random_state=0).fit_map(kernel, shifted).transform(shifted)
    plain = RandomFourier(4000, random_state=0).fit_map(kernel, shifted - 2.0**20).transform(shifted - 2.0**20)
    np.testing.assert_allclose(Z @ Z.T, plain @ plain.T, atol=1e-9)


def test_odd_numbers_of_random_features_are_rounded_up(X):
    assert RandomFourier(7).fit_map("rbf", X).transform(X).shape == (40, 8)


@pytest.mark.parametrize("approximation", [Nystroem(10, random_state=0), RandomFourier(10, random_state=0)])
def test_kernels_may_be_named(approximation, X):
    from preflearn.kernels import resolve_kernel

    by_name = approximation.fit_map("matern32", X).transform(X)
    np.testing.assert_array_equal(by_name, approximation.fit_map(resolve_kernel("matern32", X), X).transform(X))


def test_messages(X):
    with pytest.raises(DataError, match=r"no spectral density is known for DotProduct.*RBF, Matern or Rational"):
        RandomFourier().fit_map(DotProduct(), X)
    for kernel in (RBF() + RBF(), RBF() * RBF(), RBF() + WhiteKernel(), ConstantKernel()):
        with pytest.raises(DataError, match="no spectral density"):
            RandomFourier().fit_map(kernel, X)
    with pytest.raises(DataError, match="X has 2 features; the map was fitted on 6"):
        RandomFourier().fit_map(RBF(), X).transform(X[:, :2])
    with pytest.raises(ValueError, match="'kmedians'; it must be"):
        Nystroem(method="kmedians").fit_map(RBF(), X)
    for bad in (0, 2.5, True):
        with pytest.raises(ValueError, match="whole number"):
            Nystroem(bad).fit_map(RBF(), X)
        with pytest.raises(ValueError, match="whole number"):
            RandomFourier(bad).fit_map(RBF(), X)


def test_linear_map_is_a_value():
    assert pickle.loads(pickle.dumps(LinearMap(2.0, 1.0))) == LinearMap(2.0, 1.0)
