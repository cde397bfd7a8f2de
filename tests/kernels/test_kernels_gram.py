"""The quick Gram matrix is scikit-learn's, to rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernel_problems import LEAVES, composition, leaf, rows
from scipy import sparse
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

from fast_share import every_seed
from preflearn.exceptions import DataError
from preflearn.kernels import distances as distances_module
from preflearn.kernels import gram, gram_and_pullback, gram_diag
from preflearn.kernels.distances import bessel_matern, contract_squared_differences, squared_distances


def assert_same(actual, expected, tolerance=1e-10):
    assert actual.shape == expected.shape
    scale = max(np.abs(expected).max(), 1e-300)
    assert np.abs(actual - expected).max() <= tolerance * scale


@every_seed(60, 150)
def test_gram_is_the_kernel_call(seed):
    rng = np.random.default_rng(seed)
    X = rows(rng)
    d = X.shape[1]
    Y = np.vstack([rng.standard_normal((5, d)), X[:2]])
    names = list(LEAVES)
    kernel = LEAVES[names[seed]](rng, d) if seed < len(names) else composition(rng, d)
    K = gram(kernel, X)
    assert_same(K, kernel(X))
    np.testing.assert_array_equal(K, K.T)
    assert_same(gram(kernel, X, Y), kernel(X, Y))
    assert_same(gram(kernel, X, X), kernel(X, X))  # noise only where Y is None
    assert_same(gram_diag(kernel, X), kernel.diag(X))
    assert_same(gram_diag(kernel, X), np.diagonal(K))
    assert_same(gram_and_pullback(kernel, X)[0], K, 1e-14)


@every_seed(20, 40)
def test_sparse_rows_give_the_dense_answer(seed):
    rng = np.random.default_rng(seed)
    X = rows(rng, n=12, d=9) * (rng.random((12, 9)) < 0.4)
    X[3] = 0.0
    Y = rng.standard_normal((5, 9)) * (rng.random((5, 9)) < 0.4)
    kernel = composition(rng, 9)
    make = [sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_matrix][seed % 4]
    K = gram(kernel, make(X))
    assert_same(K, gram(kernel, X))
    np.testing.assert_array_equal(K, K.T)
    assert_same(gram(kernel, make(X), make(Y)), gram(kernel, X, Y))
    assert_same(gram(kernel, make(X), Y), gram(kernel, X, Y))
    assert_same(gram(kernel, X, make(Y)), gram(kernel, X, Y))
    assert_same(gram_diag(kernel, make(X)), gram_diag(kernel, X))


def test_sparse_rows_are_never_filled_in(monkeypatch):
    """A million features would be 80 MB dense; the rows themselves are never asked to fill in."""
    X = sparse.random_array((10, 1_000_000), density=1e-5, random_state=0, format="csr")
    asked = []
    fill = type(X).toarray
    monkeypatch.setattr(type(X), "toarray", lambda self, *a, **k: (asked.append(self.shape), fill(self, *a, **k))[1])
    for kernel in (RBF(3.0), 2.0 * Matern(3.0) + DotProduct(), RationalQuadratic() ** 2):
        gram(kernel, X)
    assert set(asked) == {(10, 10)}


def test_sparse_rows_with_unsorted_or_repeated_entries():
    data, columns, starts = [1.0, 2.0, 3.0, 0.5], [2, 0, 1, 1], [0, 2, 4]
    X = sparse.csr_array((data, columns, starts), shape=(2, 6))
    K = gram(RBF(2.0), X)
    assert_same(K, RBF(2.0)(X.toarray()))
    assert X.nnz == 4, "the caller's matrix must not be changed"


@pytest.mark.parametrize("d", [3, 6, 40])
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, np.inf, 0.7])
def test_features_with_an_offset_of_a_million_spreads(d, nu):
    """Subtracting the offset is exact here, so the kernel of the shifted rows is the truth: 1e-10 holds.

    The kernel call on the rows as they are rounds each coordinate / length to 1e6 eps = 2e-10, and so may only be
    compared to about 1e6 * eps * sqrt(d).
    """
    rng = np.random.default_rng(d)
    offset = 1e6 * rng.choice([-1.0, 1.0], d)
    X, Y = offset + rng.standard_normal((40, d)), offset + rng.standard_normal((15, d))
    X[5] = X[6]
    X[7] = X[8] + 1e-6
    kernel = 3.0 * Matern(rng.uniform(1.0, 2.0, d), nu=nu)
    assert_same(gram(kernel, X), kernel(X - offset))
    assert_same(gram(kernel, X, Y), kernel(X - offset, Y - offset))
    assert_same(gram(kernel, X), kernel(X), 1e6 * np.finfo(float).eps * np.sqrt(d) * 4)


@pytest.mark.parametrize("d", [2, 8])
def test_an_outlier_costs_no_digits(d):
    """It draws the mean away from all others; close pairs are then computed from differences."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, d))
    X[0] = 1e9
    for kernel in (RBF(2.0), Matern(2.0, nu=0.5)):
        # Rows minus a mean of 3e7 are rounded to 4e-9.
        assert_same(gram(kernel, X)[1:, 1:], kernel(X[1:]), 1e-7)


def test_duplicates_are_at_distance_zero_and_near_ones_keep_their_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 30)) + 5.0
    X[1] = X[0]
    X[2] = X[0] + 1e-8
    kernel = Matern(1.0, nu=0.5)
    K = gram(kernel, X)
    assert K[0, 1] == 1.0
    np.testing.assert_array_equal(np.diagonal(K), 1.0)
    distance = np.linalg.norm(X[2] - X[0])
    assert 1.0 - K[0, 2] == pytest.approx(distance, rel=1e-6)
    assert gram(kernel, X[:1], X[1:2])[0, 0] == 1.0


def test_squared_distances_are_symmetric_and_relatively_exact(monkeypatch):
    """Near pairs included, and with blocks much smaller than the matrix."""
    monkeypatch.setattr(distances_module, "BLOCK", 64)
    monkeypatch.setattr(distances_module, "PAIR_BLOCK", 20)
    rng = np.random.default_rng(3)
    U = rng.standard_normal((60, 7)) + np.repeat(rng.standard_normal((20, 7)) * 3, 3, axis=0)
    U[1::3] = U[::3] + 10.0 ** -rng.integers(1, 9, (20, 1)) * rng.standard_normal((20, 7))
    exact = np.square(U[:, None].astype(np.longdouble) - U[None]).sum(-1)
    for rows_ in (U, sparse.csr_array(U)):
        D = squared_distances(rows_)
        np.testing.assert_array_equal(D, D.T)
        np.testing.assert_allclose(D, exact.astype(float), rtol=2e-11)
        P = rng.standard_normal((60, 60))
        expected = np.einsum("ij,ijk->k", P, np.square(U[:, None] - U[None]))
        np.testing.assert_allclose(contract_squared_differences(P.copy(), rows_, D), expected, rtol=1e-11)


def test_what_a_new_row_gets_does_not_depend_on_the_others():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 8)), rng.standard_normal((20, 8))
    X[0] += 1e9  # would draw the mean of X away
    K = gram(RBF(2.0), X, Y)
    for i in (0, 7):
        np.testing.assert_allclose(gram(RBF(2.0), X[i : i + 1], Y)[0], K[i], rtol=1e-12)
    assert_same(K[1:], RBF(2.0)(X[1:], Y), 1e-12)


def test_blocks_do_not_show(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6))
    kernels = [leaf(rng, 6) ** 3 + leaf(rng, 6) for _ in range(10)] + [Matern(nu=0.8)]
    whole = [gram(kernel, X) for kernel in kernels]
    monkeypatch.setattr(distances_module, "BLOCK", 128)
    for kernel, K in zip(kernels, whole, strict=True):
        np.testing.assert_array_equal(gram(kernel, X), K)


def test_inputs_are_not_changed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 6))
    before = X.copy()
    kernel = (2.0 * RBF() + WhiteKernel()) * DotProduct() ** 2
    text = repr(kernel)
    gram(kernel, X)
    gram(kernel, X, X)
    np.testing.assert_array_equal(X, before)
    assert repr(kernel) == text


@pytest.mark.parametrize("nu", [0.3, 1.0, 1.7, 20.0, 60.0, 170.0, 400.0])
def test_bessel_form_against_its_integral(nu):
    """2^(1-nu)/Gamma(nu) t^nu K_nu(t) = 1/Gamma(nu) int u^(nu-1) exp(-u - t^2/4u) du, also where K_nu overflows."""
    t = np.array([1e-4, 0.01, 0.3, 1.0, 5.0, 30.0])
    v = np.linspace(-120.0, 12.0, 40_001)  # u = exp(v): the trapezoid rule is exact to rounding
    log_integrand = nu * v - np.exp(v) - np.square(t)[:, None] / 4 * np.exp(-v) - math.lgamma(nu)
    expected = np.exp(log_integrand).sum(axis=1) * (v[1] - v[0])
    np.testing.assert_allclose(bessel_matern(nu, t), expected, rtol=1e-11)


def test_rough_matern_of_equal_rows_is_one():
    """scikit-learn moves equal rows eps apart, which for nu = 0.3 costs 4e-10."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 2))
    kernel = Matern(nu=0.3)
    assert_same(gram(kernel, X), kernel(X))
    assert gram(kernel, X, X[:1])[0, 0] == 1.0


@pytest.mark.parametrize("nu", [100.0, 170.0, 1000.0])
def test_large_nu_goes_to_rbf_and_stays_finite(nu):
    X = np.linspace(0, 3, 30)[:, None]
    np.testing.assert_allclose(gram(Matern(nu=nu), X), gram(RBF(), X), atol=1.0 / nu)


@pytest.mark.parametrize("nu", [4.5, 20.5])
def test_bessel_form_is_the_half_integer_polynomial(nu):
    """For nu = p + 1/2: exp(-t) p!/(2p)! sum_i (p+i)!/(i!(p-i)!) (2t)^(p-i)."""
    p = int(nu - 0.5)
    t = np.array([1e-6, 1e-3, 0.2, 1.0, 4.0, 25.0])
    terms = [
        math.factorial(p + i) / (math.factorial(i) * math.factorial(p - i)) * (2 * t) ** (p - i) for i in range(p + 1)
    ]
    expected = np.exp(-t) * math.factorial(p) / math.factorial(2 * p) * sum(terms)
    np.testing.assert_allclose(bessel_matern(nu, t), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", [ExpSineSquared(1.3, 2.0), PairwiseKernel(metric="laplacian")])
def test_kernels_without_a_rule_are_asked(kernel):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((8, 3)), rng.standard_normal((4, 3))
    mixed = 2.0 * kernel + RBF()
    assert_same(gram(mixed, X), mixed(X))
    assert_same(gram(mixed, X, Y), mixed(X, Y))
    assert_same(gram_diag(mixed, X), mixed.diag(X))
    with pytest.raises(TypeError, match=f"{type(kernel).__name__} has no rule for sparse rows"):
        gram(mixed, sparse.csr_array(X))
    with pytest.raises(TypeError, match="no rule for sparse rows"):
        gram_diag(mixed, sparse.csr_array(X))


def test_a_subclass_does_not_inherit_the_rule():
    class Halved(RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            return 0.5 * super().__call__(X, Y)

    X = np.array([[0.0], [1.0]])
    assert_same(gram(Halved(), X), 0.5 * RBF()(X))


def test_the_array_of_an_unknown_kernel_is_not_overwritten():
    stored = np.array([[1.0, 0.5], [0.5, 1.0]])

    class Stored(ExpSineSquared):
        def __call__(self, X, Y=None, eval_gradient=False):
            return stored

    gram(3.0 * Stored() + ConstantKernel(1.0), np.zeros((2, 1)))
    assert stored[0, 1] == 0.5


def test_kernels_on_texts_work():
    from sklearn.gaussian_process.kernels import GenericKernelMixin, Kernel

    class SameLetters(GenericKernelMixin, Kernel):
        def __call__(self, X, Y=None, eval_gradient=False):
            return np.array([[float(len(set(a) & set(b))) for b in (X if Y is None else Y)] for a in X])

        def diag(self, X):
            return np.array([float(len(set(a))) for a in X])

        def is_stationary(self):
            return False

    words = ["abc", "bcd", "x"]
    K = gram(2.0 * SameLetters() + WhiteKernel(0.5), words)
    np.testing.assert_array_equal(K, [[6.5, 4.0, 0.0], [4.0, 6.5, 0.0], [0.0, 0.0, 2.5]])
    np.testing.assert_array_equal(gram_diag(2.0 * SameLetters() + WhiteKernel(0.5), words), np.diagonal(K))


def test_messages():
    X = np.zeros((3, 2))
    with pytest.raises(DataError, match="3 length scales and X has 2 features"):
        gram(RBF([1.0, 2.0, 3.0]), X)
    with pytest.raises(DataError, match="X has 2 features and Y has 4"):
        gram(RBF(), X, np.zeros((3, 4)))
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        gram(RBF(), np.zeros(3))
    with pytest.raises(TypeError, match="CompoundKernel"):
        gram(CompoundKernel([RBF(), RBF()]), X)
