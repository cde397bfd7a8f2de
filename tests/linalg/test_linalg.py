"""Laws of the dense linear algebra: factors give the matrix back, the quick eigen solver is the slow one."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg
from threadpoolctl import threadpool_info

from preflearn import linalg
from preflearn.linalg import (
    cholesky_psd,
    eigh_full,
    eigh_leading,
    in_threads,
    numerical_rank,
    weighted_square,
)


def smooth_gram(n: int, length: float = 1.0, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).standard_normal((n, 3))
    D = np.square(X[:, None] - X[None]).sum(-1)
    return np.exp(-D / (2 * length**2))


@pytest.fixture
def no_dense(monkeypatch):
    """Make the dense solver fail, so that a test knows that Lanczos gave the answer."""

    def refuse(*args, **kwargs):
        raise AssertionError("the dense solver was used")

    monkeypatch.setattr(linalg, "_lapack", refuse)


def test_cholesky_gives_the_matrix_back_without_jitter_and_leaves_it_alone():
    A = np.random.default_rng(0).standard_normal((30, 30))
    K = A @ A.T + np.eye(30)
    before = K.copy()
    R, jitter = cholesky_psd(K)
    assert jitter == 0.0
    np.testing.assert_allclose(R @ R.T, K, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(np.triu(R, 1), 0.0)
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_jitter_is_relative_and_is_exactly_what_was_added(scale):
    K = scale * smooth_gram(80, length=20.0)
    R, jitter = cholesky_psd(K)
    assert 0.0 < jitter <= 1e-8 * scale
    np.testing.assert_allclose(R @ R.T, K + jitter * np.eye(80), atol=1e-14 * scale * 80)
    _, unit = cholesky_psd(smooth_gram(80, length=20.0))
    assert jitter == pytest.approx(scale * unit, rel=1e-6)


@pytest.mark.parametrize("deficit", [3e-12, 3e-11, 3e-10])
def test_jitter_is_no_larger_than_it_takes(deficit):
    """Ten times less would have failed."""
    _, jitter = cholesky_psd(np.ones((40, 40)) - deficit * np.eye(40))
    assert deficit < jitter < 10 * deficit


def test_zero_matrix_has_factor_zero():
    R, jitter = cholesky_psd(np.zeros((3, 3)))
    assert jitter == 0.0
    np.testing.assert_array_equal(R, np.zeros((3, 3)))


def test_indefinite_matrix_is_refused_with_its_eigenvalue():
    with pytest.raises(np.linalg.LinAlgError, match=r"smallest eigenvalue is -1 \(largest 3\)"):
        cholesky_psd(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("K", [-np.eye(3), np.array([[0.0, 1.0], [1.0, 0.0]])])
def test_matrix_without_positive_diagonal_is_refused(K):
    with pytest.raises(np.linalg.LinAlgError, match="not positive semi-definite"):
        cholesky_psd(K)


def test_missing_entries_are_counted():
    K = np.eye(3)
    K[0, 1] = K[2, 2] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match="2 of 9 entries"):
        cholesky_psd(K)


def test_full_decomposition_gives_the_matrix_back():
    K = smooth_gram(60, length=20.0)
    before = K.copy()
    s, V = eigh_full(K)
    np.testing.assert_array_equal(K, before)
    assert (np.diff(s) <= 0).all()
    assert s.min() >= 0.0
    assert np.linalg.eigvalsh(K).min() < 0.0, "the problem should have negative rounding errors to clip"
    np.testing.assert_allclose((V * s) @ V.T, K, atol=1e-13)
    np.testing.assert_allclose(V.T @ V, np.eye(60), atol=1e-13)
    s2, V2 = eigh_full(K.copy(order="F"), overwrite=True)
    np.testing.assert_allclose(s2, s, atol=1e-13)
    assert V2[np.abs(V2).argmax(axis=0), np.arange(60)].min() > 0.0


@pytest.mark.parametrize(("n", "k"), [(50, 3), (50, 30), (50, 50), (50, 80), (300, 10)])
def test_leading_pairs_are_those_of_the_full_decomposition(n, k):
    K = smooth_gram(n, length=0.3)
    values, vectors = eigh_leading(K, k)
    s, V = eigh_full(K)
    k = min(k, n)
    assert values.shape == (k,)
    assert vectors.shape == (n, k)
    np.testing.assert_allclose(values, s[:k], atol=1e-12)
    np.testing.assert_allclose(vectors, V[:, :k], atol=1e-8)


def test_signs_make_the_largest_entry_positive():
    _, vectors = eigh_leading(smooth_gram(50), 10)
    assert vectors[np.abs(vectors).argmax(axis=0), np.arange(10)].min() > 0.0


@pytest.mark.parametrize("n", [50, 1200])
def test_rank_limits_the_answer(n):
    Z = np.random.default_rng(1).standard_normal((n, 4))
    values, vectors = eigh_leading(Z @ Z.T, 12)
    assert values.shape == (4,)
    np.testing.assert_allclose((vectors * values) @ vectors.T, Z @ Z.T, atol=1e-11 * n)


@pytest.mark.parametrize("n", [3, 1200])
def test_zero_matrix_has_no_components(n):
    values, vectors = eigh_leading(np.zeros((n, n)), 2)
    assert values.shape == (0,)
    assert vectors.shape == (n, 0)


def test_lanczos_is_lapack(no_dense):
    """n = 1,200 takes the Lanczos route, also if the constant vector is in the null space."""
    n, k = 1200, 8
    K = smooth_gram(n)
    K -= K.mean(0)
    K -= K.mean(1)[:, None]
    K = (K + K.T) / 2
    values, vectors = eigh_leading(K, k)
    s, V = scipy.linalg.eigh(K, subset_by_index=(n - k, n - 1))
    np.testing.assert_allclose(values, s[::-1], rtol=1e-11)
    residual = np.linalg.norm(K @ vectors - vectors * values, axis=0)
    assert residual.max() <= 1e-10 * values[0]
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(vectors * V[:, ::-1], axis=0)), 1.0, atol=1e-8)
    assert vectors[np.abs(vectors).argmax(axis=0), np.arange(k)].min() > 0.0
    again = eigh_leading(K, k)
    np.testing.assert_array_equal(values, again[0])
    np.testing.assert_array_equal(vectors, again[1])


def test_small_matrices_and_many_components_are_left_to_lapack(monkeypatch):
    def refuse(*args):
        raise AssertionError("Lanczos was used")

    monkeypatch.setattr(linalg, "_lanczos", refuse)
    K = smooth_gram(1001)
    assert eigh_leading(K[:100, :100], 3)[0].shape == (3,)
    assert eigh_leading(K, 201)[0].shape == (201,)
    with pytest.raises(AssertionError, match="Lanczos"):
        eigh_leading(K, 200)


def test_repeated_eigenvalues_are_all_found():
    """Lanczos from one vector sees one copy of each; two equal blocks double every eigenvalue."""
    block = smooth_gram(600)
    K = np.kron(np.eye(2), block)
    values, vectors = eigh_leading(K, 6)
    np.testing.assert_allclose(values, np.repeat(eigh_leading(block, 3)[0], 2), rtol=1e-10)
    np.testing.assert_allclose(K @ vectors, vectors * values, atol=1e-9 * values[0])


@pytest.mark.parametrize("failure", ["wrong vector", "missed value", "no convergence"])
def test_a_bad_lanczos_answer_is_replaced_by_the_dense_one(monkeypatch, failure):
    n = 1100
    K = np.diag(np.linspace(1.0, 2.0, n))
    honest = scipy.sparse.linalg.eigsh

    def broken(A, k, **options):
        if not isinstance(A, np.ndarray):
            return honest(A, k, **options)  # the check of what is left
        if failure == "no convergence":
            raise scipy.sparse.linalg.ArpackNoConvergence("stopped", np.empty(0), np.empty((n, 0)))
        if failure == "missed value":
            return np.diagonal(K)[-k - 1 : -1], np.eye(n)[:, -k - 1 : -1]
        return np.diagonal(K)[-k:], np.eye(n)[:, -k:] + 1e-5 * np.eye(n)[:, :k]

    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", broken)
    values, vectors = eigh_leading(K, 3)
    np.testing.assert_allclose(values, np.diagonal(K)[-1:-4:-1], rtol=1e-12)
    np.testing.assert_allclose(vectors, np.eye(n)[:, -1:-4:-1], atol=1e-6)


def test_numerical_rank_counts_relative_to_the_largest():
    assert numerical_rank(np.array([1e-20, 1e-21, 1e-40]), 3) == 2
    assert numerical_rank(np.array([0.0, 0.0]), 2) == 0
    assert numerical_rank(np.array([]), 0) == 0


def test_a_weighted_square_takes_off_what_weighs_less_than_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    V = rng.normal(size=(40, 5))
    for weight in (rng.normal(size=40), np.abs(rng.normal(size=40)), -np.ones(40), np.zeros(40)):
        for block in (2**21, 15):
            monkeypatch.setattr("preflearn.linalg.WEIGHTED", block)
            np.testing.assert_allclose(weighted_square(V, weight), V.T @ np.diag(weight) @ V, atol=1e-12)
    assert weighted_square(np.zeros((3, 0)), np.ones(3)).shape == (0, 0)


def test_pieces_come_in_order_from_threads_of_one_blas_thread_each():
    names, inside = set(), []

    def work(n):
        names.add(threading.current_thread().name)
        inside.append(max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"))
        time.sleep(0.002 * (n % 3))
        return n

    assert list(in_threads(work, range(40), 50, threads=3)) == list(range(40))
    assert 1 < len(names) <= 3
    assert set(inside) == {1}
    assert (
        list(in_threads(lambda n: threading.current_thread(), range(3), 50, threads=1))
        == [threading.current_thread()] * 3
    )
    assert set(in_threads(lambda n: threading.current_thread(), range(9), 5_000, threads=3)) == {
        threading.current_thread()
    }


def test_an_error_in_a_piece_is_raised_and_no_further_piece_begins():
    begun = []

    def work(n):
        begun.append(n)
        if n == 3:
            raise ValueError("the fourth")
        return n

    before = threadpool_info()
    with pytest.raises(ValueError, match="the fourth"):
        list(in_threads(work, range(1_000), 50, threads=2))
    assert len(begun) < 20
    assert threadpool_info() == before
