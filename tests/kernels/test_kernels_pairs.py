"""Kernels between pairs: four ways to the skew kernel, pullbacks against differences, signs."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from preflearn.kernels import pair_kernels as module
from preflearn.kernels.pair_kernels import (
    difference_gram,
    difference_pullback,
    skew_diag,
    skew_features,
    skew_gram,
    skew_pullback,
)


@pytest.fixture(params=[1 << 21, 16], ids=["one block", "many blocks"], autouse=True)
def block(request, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", request.param)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw(rng, n, m):
    first = rng.integers(n, size=m)
    return first, (first + rng.integers(1, n, size=m)) % n


def slow(K, pairs, others):
    skew, difference = np.empty((2, len(pairs[0]), len(others[0])))
    for p, (i, j) in enumerate(zip(*pairs, strict=True)):
        for q, (k, l) in enumerate(zip(*others, strict=True)):
            skew[p, q] = K[i, k] * K[j, l] - K[i, l] * K[j, k]
            difference[p, q] = K[i, k] + K[j, l] - K[i, l] - K[j, k]
    return skew, difference


def test_dense_product_and_features_are_the_definition(rng):
    for _ in range(20):
        n, m, p = rng.integers(2, 9), rng.integers(1, 15), rng.integers(1, 9)
        U = rng.normal(size=(n, rng.integers(1, 6)))
        K, pairs, others = U @ U.T, draw(rng, n, m), draw(rng, n, p)
        skew, difference = slow(K, pairs, others)
        np.testing.assert_allclose(skew_gram(K, pairs, others), skew, atol=1e-12)
        np.testing.assert_allclose(difference_gram(K, pairs, others), difference, atol=1e-12)
        np.testing.assert_allclose(skew_features(U, pairs) @ skew_features(U, others).T, skew, atol=1e-10)
        own = skew_diag((K[pairs[0], pairs[0]], K[pairs[1], pairs[1]]), K[pairs])
        np.testing.assert_allclose(own, slow(K, pairs, pairs)[0].diagonal(), atol=1e-10)


def test_turning_a_pair_changes_the_sign(rng):
    K = RBF()(rng.normal(size=(5, 2)))
    pairs, others = draw(rng, 5, 7), draw(rng, 5, 6)
    for kernel in (skew_gram, difference_gram):
        np.testing.assert_array_equal(kernel(K, pairs[::-1], others), -kernel(K, pairs, others))
        np.testing.assert_allclose(kernel(K, pairs, others[::-1]), -kernel(K, pairs, others), atol=1e-15)


def test_pullbacks_are_directional_derivatives(rng):
    for _ in range(10):
        n, m = int(rng.integers(2, 8)), int(rng.integers(1, 12))
        K, D = (a @ a.T for a in rng.normal(size=(2, n, n)))
        N = rng.normal(size=(m, m))
        N, pairs, h = N + N.T, draw(rng, n, m), 1e-5
        slope = np.sum(N * (skew_gram(K + h * D, pairs, pairs) - skew_gram(K - h * D, pairs, pairs))) / (2 * h)
        P = skew_pullback(N, K, pairs)
        np.testing.assert_array_equal(P, P.T)
        assert np.sum(P * D) == pytest.approx(slope, rel=1e-7)
        assert np.sum(difference_pullback(N, pairs, n) * D) == pytest.approx(
            np.sum(N * difference_gram(D, pairs, pairs)), rel=1e-9
        )
