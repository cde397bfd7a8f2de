"""Kernels between bags: the mean over all pairs of points, whatever the blocks it is computed in."""

import numpy as np
import pytest
from kernel_problems import composition, has_bessel, pullback
from sklearn.gaussian_process.kernels import RBF, DotProduct, ExpSineSquared, Matern, WhiteKernel

import preflearn.kernels.bag_means as bags_module
from fast_share import every_seed
from preflearn import Bags, Nystroem, RandomFourier
from preflearn.exceptions import DataError
from preflearn.kernels import (
    gram,
    gram_and_pullback,
    gram_diag,
    gram_listed,
    linear_map,
    resolve_kernel,
)
from preflearn.kernels.distances import contract_squared_differences, squared_distances

BLOCKS = [3, 7, 512]  # points: less than a bag, about two bags, all


def random_bags(rng, n=None, d=None):
    n = int(rng.integers(1, 9)) if n is None else n
    d = int(rng.choice([1, 2, 5, 7])) if d is None else d
    return Bags([rng.standard_normal((int(rng.integers(1, 6)), d)) for _ in range(n)])


def averaged(k, X, Y):
    """The naive double loop over bags, k the kernel matrix of their points."""
    K = np.empty((len(X), len(Y)))
    for i in range(len(X)):
        for j in range(len(Y)):
            K[i, j] = k[X.offsets[i] : X.offsets[i + 1], Y.offsets[j] : Y.offsets[j + 1]].mean()
    return K


@pytest.fixture(params=BLOCKS)
def block(request, monkeypatch):
    monkeypatch.setattr(bags_module, "BLOCK", request.param)
    monkeypatch.setattr(bags_module, "RUN", request.param)
    return request.param


@every_seed(10, 40)
def test_a_kernel_of_bags_is_the_mean_over_pairs_of_points(seed, block):
    rng = np.random.default_rng(seed)
    X = random_bags(rng)
    Y = random_bags(rng, d=X.shape[1])
    kernel = composition(rng, X.shape[1])
    wanted, cross = averaged(kernel(X.points), X, X), averaged(kernel(X.points, Y.points), X, Y)
    tolerance = {"rtol": 1e-9 if has_bessel(kernel) else 1e-11, "atol": 1e-11 * np.abs(wanted).max()}
    K = gram(kernel, X)
    np.testing.assert_allclose(K, wanted, **tolerance)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(gram(kernel, X, Y), cross, **tolerance)
    np.testing.assert_allclose(gram_diag(kernel, X), wanted.diagonal(), **tolerance)
    n = min(len(X), len(Y))
    np.testing.assert_allclose(gram_diag(kernel, X[:n], Y[:n]), cross[:n, :n].diagonal(), **tolerance)
    first, second = rng.integers(len(X), size=(2, 4))
    expected = averaged(kernel(X.points, X.points), X, X)[first, second]
    np.testing.assert_allclose(gram_listed(kernel, X, first, second), expected, **tolerance)
    np.testing.assert_allclose(gram_listed(kernel, X, first[:1], second[:1]), expected[:1], **tolerance)


@every_seed(10, 40)
def test_the_pullback_is_that_of_the_points(seed, block):
    rng = np.random.default_rng(seed)
    X = random_bags(rng)
    kernel = composition(rng, X.shape[1])
    M = rng.standard_normal((len(X), len(X)))
    S = np.repeat(np.eye(len(X)) / X.sizes, X.sizes, axis=0)  # points x bags
    wanted = pullback(kernel, X.points, S @ M @ S.T)  # which other tests compare with scikit-learn's
    atol = 1e-10 * np.abs(pullback(kernel, X.points, np.abs(S @ M @ S.T))).max(initial=1e-2)
    K, pull = gram_and_pullback(kernel, X)
    np.testing.assert_allclose(pull(M), wanted, rtol=0, atol=atol)
    np.testing.assert_allclose(pullback(kernel, X, M), wanted, rtol=0, atol=atol)
    np.testing.assert_allclose(K, averaged(kernel(X.points), X, X), rtol=1e-9)


def test_kernels_without_a_rule_are_asked_for_values_and_gradients(block):
    rng = np.random.default_rng(0)
    X = random_bags(rng, n=6, d=3)
    kernel = 2.0 * ExpSineSquared(1.3, 2.0) + RBF(0.7)
    S = np.repeat(np.eye(6) / X.sizes, X.sizes, axis=0)
    k, derivative = kernel(X.points, eval_gradient=True)
    M = rng.standard_normal((6, 6))
    K, pull = gram_and_pullback(kernel, X)
    np.testing.assert_allclose(K, S.T @ k @ S, rtol=1e-10)
    np.testing.assert_allclose(pull(M), np.einsum("ij,ijk->k", S @ M @ S.T, derivative), rtol=1e-9)


def test_offsets_of_features_cost_no_digits():
    rng = np.random.default_rng(1)
    X = random_bags(rng, n=5, d=6)
    far = Bags([array + 1e6 for array in X.to_list()])
    np.testing.assert_allclose(gram(RBF(2.0), far), gram(RBF(2.0), X), rtol=1e-8)


def test_the_noise_of_a_point_is_its_own():
    X = random_bags(np.random.default_rng(2), n=4, d=2)
    np.testing.assert_allclose(gram(WhiteKernel(3.0), X), np.diag(3.0 / X.sizes))
    np.testing.assert_allclose(gram(WhiteKernel(3.0), X, X), 0.0)


def test_a_contraction_between_two_tables_is_the_sum():
    rng = np.random.default_rng(3)
    U, V, P = rng.standard_normal((9, 6)), rng.standard_normal((5, 6)), rng.standard_normal((9, 5))
    V[2] = U[4] + 1e-9
    wanted = np.einsum("ij,ijk->k", P, np.square(U[:, None] - V[None]))
    np.testing.assert_allclose(contract_squared_differences(P, U, squared_distances(U, V), V), wanted, rtol=1e-11)


def test_the_features_of_a_linear_kernel_are_those_of_means():
    X = random_bags(np.random.default_rng(4), n=5, d=3)
    kernel = 2.0 * DotProduct(0.7)
    Z = linear_map(kernel).transform(X)
    np.testing.assert_allclose(Z @ Z.T, gram(kernel, X), rtol=1e-12)
    np.testing.assert_allclose(gram(kernel, X), gram(kernel, X.means()), rtol=1e-12)


@pytest.mark.parametrize("method", ["random", "kmeans++"])
def test_nystroem_with_all_bags_is_exact(method):
    X = random_bags(np.random.default_rng(5), n=6, d=2)
    Z = Nystroem(6, method=method, random_state=0).fit_map(RBF(), X).transform(X)
    np.testing.assert_allclose(Z @ Z.T, gram(RBF(), X), atol=1e-9)


def test_random_features_of_bags_are_means_over_points():
    X = random_bags(np.random.default_rng(6), n=6, d=2)
    mapped = RandomFourier(20_000, random_state=0).fit_map(1.5 * Matern(2.0, nu=1.5), X)
    Z = mapped.transform(X)
    np.testing.assert_allclose(Z[2], mapped.transform(X.to_list()[2]).mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(Z @ Z.T, gram(1.5 * Matern(2.0, nu=1.5), X), atol=0.05)


def test_named_length_scales_weigh_bags_and_not_points():
    rng = np.random.default_rng(7)
    X = random_bags(rng, n=6, d=3)
    arrays = X.to_list()
    twice = Bags([np.repeat(arrays[0], 3, axis=0), *arrays[1:]])
    assert resolve_kernel("rbf", twice).length_scale == pytest.approx(resolve_kernel("rbf", X).length_scale)
    table = rng.standard_normal((6, 3))
    single = Bags(table[:, None])
    for weight in (None, np.arange(6.0)):
        wanted = resolve_kernel("rbf", table, weight).length_scale
        assert resolve_kernel("rbf", single, weight).length_scale == pytest.approx(wanted, rel=1e-13)


def test_bags_are_not_compared_with_rows():
    X = random_bags(np.random.default_rng(8), d=2)
    for one, other in ((X, np.ones((2, 2))), (np.ones((2, 2)), X)):
        with pytest.raises(DataError, match=r"table\[:, None, :\]"):
            gram(RBF(), one, other)
    with pytest.raises(DataError, match="2 features and Y has 3"):
        gram(RBF(), X, random_bags(np.random.default_rng(8), d=3))
    with pytest.raises(DataError, match="M has shape"):
        pullback(RBF(), X, np.ones((1, 3)))
