"""<M, dK/dtheta> against scikit-learn's gradient tensor and against differences of the Gram matrix."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_problems import LEAVES, composition, has_bessel, pullback, rows
from scipy import sparse
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from fast_share import cases, each, every_seed
from preflearn.exceptions import DataError
from preflearn.kernels import gram_and_pullback
from preflearn.kernels import rules as rules_module
from preflearn.kernels.precomputed import Precomputed
from preflearn.kernels.rules import RULES

# Every rule alone several times, then random expressions.
SEEDS = [*range(35), *range(1035, 1000 + cases(80, 260))]


def problem(seed, without=()):
    rng = np.random.default_rng(seed)
    X = rows(rng)
    names = [name for name in LEAVES if name not in without]
    d = X.shape[1]
    # Every rule alone several times, then random expressions.
    kernel = LEAVES[names[seed % len(names)]](rng, d) if seed < 5 * len(names) else composition(rng, d, without=without)
    M = rng.standard_normal((len(X), len(X)))
    return kernel, X, M + M.T if seed % 2 else M


def differences(kernel, X, h=1e-3):
    """dK/dtheta by central differences with two Richardson steps: error about h^6 + eps / h."""
    out = []
    for k in range(len(kernel.theta)):
        step = np.zeros(len(kernel.theta))
        estimates = []
        for size in (4 * h, 2 * h, h):
            step[k] = size
            up = kernel.clone_with_theta(kernel.theta + step)(X)
            down = kernel.clone_with_theta(kernel.theta - step)(X)
            estimates.append((up - down) / (2 * size))
        a, b, c = estimates
        ab, bc = b + (b - a) / 3, c + (c - b) / 3
        out.append(bc + (bc - ab) / 15)
    return out


@every_seed(100, 260)
def test_against_the_gradient_tensor(seed):
    """To 1e-10 of the sum of absolute terms, for all kernels whose gradient scikit-learn knows exactly.

    Its RationalQuadratic rounds 1 + D for rows 1e-7 apart, hence the rounding errors of K beside it.
    """
    kernel, X, M = problem(seed, without=("bessel",))
    K, gradient = kernel(X, eval_gradient=True)
    expected = np.einsum("ij,ijk->k", M, gradient)
    scale = np.einsum("ij,ijk->k", np.abs(M), np.abs(gradient))
    rounding = 1e-15 * np.vdot(np.abs(M), np.abs(K))
    actual = pullback(kernel, X, M)
    assert actual.shape == kernel.theta.shape
    assert (np.abs(actual - expected) <= 1e-10 * scale + rounding).all()


@each("seed", SEEDS)
def test_against_central_differences(seed):
    kernel, X, M = problem(seed)
    scale = np.abs(kernel(X)).max() * np.abs(M).sum()
    expected = np.array([np.vdot(M, G) for G in differences(kernel, X)])
    actual = pullback(kernel, X, M)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, atol=1e-9 * scale, rtol=1e-7)


def test_the_problems_cover_what_they_claim():
    kernels = [problem(seed)[0] for seed in SEEDS]
    assert sum(has_bessel(kernel) for kernel in kernels) > len(SEEDS) / 6
    texts = " ".join(map(repr, kernels))
    assert all(symbol in texts for symbol in (" ** 2", " ** 3", " * ", " + ", "length_scale=["))
    assert sum(len(k.theta) < sum(h.n_elements for h in k.hyperparameters) for k in kernels) > len(SEEDS) / 6, (
        "fixed ones"
    )
    assert {type(k) for k in kernels} == set(RULES) - {Precomputed}  # which has no features


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, np.inf])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_ard_with_near_duplicates_and_offsets(nu, offset):
    """Where the one-product formula cancels: the slope of Matern 1/2 is 1e9 for rows 1e-9 apart."""
    rng = np.random.default_rng(5)
    d = 6
    X = rng.standard_normal((40, d)).round(3)
    X[20:30] = X[:10] + (1e-9 if offset == 0.0 else 2.0**-20) * rng.integers(-3, 4, (10, d))
    X[30:] = X[10:20]
    kernel = Matern(rng.uniform(0.5, 2.0, d), nu=nu)
    M = np.zeros((40, 40))
    M[:10, 20:30] = rng.standard_normal((10, 10))
    M += M.T
    shifted = X + offset
    gradient = kernel(shifted - offset, eval_gradient=True)[1]
    expected = np.einsum("ij,ijk->k", M, gradient)
    scale = np.einsum("ij,ijk->k", np.abs(M), np.abs(gradient))
    assert (np.abs(pullback(kernel, shifted, M) - expected) <= 1e-10 * scale).all()
    # Near pairs alone: all of the sum is what a product would lose.
    near = np.zeros((40, 40))
    near[np.arange(10), np.arange(20, 30)] = 1.0
    expected = np.einsum("ij,ijk->k", near, gradient)
    np.testing.assert_allclose(pullback(kernel, shifted, near), expected, rtol=1e-6)


@pytest.mark.parametrize("nu", [170.0, 1000.0])
def test_large_nu_goes_to_rbf(nu):
    """Also where the Bessel functions overflow."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    X[1] = X[0]
    M = np.abs(rng.standard_normal((20, 20)))
    length = [0.8, 1.0, 2.0]
    np.testing.assert_allclose(pullback(Matern(length, nu=nu), X, M), pullback(RBF(length), X, M), rtol=3.0 / nu)


def test_short_length_scales_keep_their_digits():
    """All weight is on near rows while the diagonal of M o K dominates the product."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 8)) * 10.0
    X[25:] = X[:25] + rng.standard_normal((25, 8)) * 0.05
    kernel = RBF(np.full(8, 0.05))
    M = np.ones((50, 50)) + 100.0 * np.eye(50)
    gradient = kernel(X, eval_gradient=True)[1]
    np.testing.assert_allclose(pullback(kernel, X, M), np.einsum("ij,ijk->k", M, gradient), rtol=1e-10)


@every_seed(40)
def test_sparse_rows_give_the_dense_answer(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((10, 8)) * (rng.random((10, 8)) < 0.5)
    kernel = composition(rng, 8)
    M = rng.standard_normal((10, 10))
    dense = pullback(kernel, X, M)
    scale = np.abs(M).sum() * max(np.abs(kernel(X)).max(), 1.0) * 10
    np.testing.assert_allclose(pullback(kernel, sparse.csr_array(X), M), dense, atol=1e-12 * scale, rtol=1e-10)


def test_only_the_symmetric_part_counts_and_m_is_left_alone():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((12, 6))
    M = rng.standard_normal((12, 12))
    before = M.copy()
    kernel = 2.0 * RBF(np.full(6, 1.5)) * RationalQuadratic() + WhiteKernel() + DotProduct() ** 2
    g = pullback(kernel, X, M)
    np.testing.assert_array_equal(M, before)
    np.testing.assert_allclose(pullback(kernel, X, (M + M.T) / 2), g, rtol=1e-11)
    np.testing.assert_allclose(pullback(kernel, X, M.T), g, rtol=1e-11)


def test_pull_can_be_used_again_and_is_linear():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((15, 6))
    kernel = (ConstantKernel(2.0) + RBF(np.full(6, 1.5))) ** 2 * Matern(nu=1.5) + WhiteKernel()
    A, B = rng.standard_normal((2, 15, 15))
    K, pull = gram_and_pullback(kernel, X)
    first = pull(A)
    K[:] = np.nan  # the caller's to keep
    np.testing.assert_array_equal(pull(A), first)
    np.testing.assert_allclose(pull(2 * A - 3 * B), 2 * first - 3 * pull(B), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(first, pullback(kernel, X, A), rtol=1e-14)


def test_all_fixed_gives_an_empty_gradient():
    kernel = ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed") + ExpSineSquared(1.0, 1.0, "fixed", "fixed")
    assert pullback(kernel, np.zeros((3, 2)), np.ones((3, 3))).shape == (0,)


def test_bias_of_zero_needs_no_logarithm():
    np.testing.assert_array_equal(pullback(3.0 * DotProduct(0.0), np.eye(2), np.ones((2, 2))), [6.0, 0.0])


def test_kernels_without_a_rule_use_their_gradient():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 3))
    M = rng.standard_normal((9, 9))
    kernel = 2.0 * ExpSineSquared(1.3, 2.0) * RBF([1.0, 2.0, 3.0]) + WhiteKernel()
    expected = np.einsum("ij,ijk->k", M, kernel(X, eval_gradient=True)[1])
    np.testing.assert_allclose(pullback(kernel, X, M), expected, rtol=1e-10)


def test_memory_guard_names_the_sizes(monkeypatch):
    kernel, X, M = RBF() + ExpSineSquared(), np.linspace(0, 1, 20)[:, None], np.ones((20, 20))
    monkeypatch.setattr(rules_module, "GRADIENT_LIMIT", 20 * 20 * 2 * 8)
    assert pullback(kernel, X, M).shape == (3,)
    monkeypatch.setattr(rules_module, "GRADIENT_LIMIT", 20 * 20 * 2 * 8 - 1)
    with pytest.raises(MemoryError, match="ExpSineSquared has no rule, and its gradient for 20 items and 2 hyperp"):
        pullback(kernel, X, M)


def test_no_array_grows_with_the_number_of_length_scales():
    """n = 300, d = 100: the gradient tensor would take 72 MB."""
    import tracemalloc

    rng = np.random.default_rng(0)
    X, M = rng.standard_normal((300, 100)), np.ones((300, 300))
    kernel = 2.0 * RBF(np.full(100, 10.0)) + WhiteKernel()
    tracemalloc.start()
    pullback(kernel, X, M)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 300 * 300 * 8


def test_shape_of_m_is_checked():
    with pytest.raises(DataError, match=r"\(3, 2\); \(3, 3\) is needed"):
        pullback(RBF(), np.zeros((3, 1)), np.ones((3, 2)))
