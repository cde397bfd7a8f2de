"""Kernels between pairs of items, from a kernel matrix between items.

For pairs p = (i, j) and q = (k, l) of items with kernel matrix K:

    difference   K_ik + K_jl - K_il - K_jk     f_i - f_j for a utility f with covariance K        ("rankable")
    skew         K_ik K_jl - K_il K_jk         any g with g(i, j) = -g(j, i)                      ("cyclic")

Both change their sign with the order of a pair. The second is the one of Pahikkala et al. and of Chau et al. (equation
4). None of the functions here lists pairs on its own; m is the number of pairs given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.linalg import FloatArray, IntArray

Pairs = tuple[IntArray, IntArray]

_BLOCK = 1 << 21  # numbers of a temporary array


def difference_gram(K: FloatArray, pairs: Pairs, others: Pairs) -> FloatArray:
    """Return the difference kernel (m, p) between pairs; ``K`` (rows of pairs, rows of others)."""
    half = K[:, others[0]] - K[:, others[1]]
    out = half[pairs[0]]
    out -= half[pairs[1]]
    return np.asarray(out)


def difference_pullback(N: FloatArray, pairs: Pairs, n_items: int) -> FloatArray:
    """Return P (n, n) with <N, d difference> = <P, dK> for a symmetric N (m, m)."""
    A = _indicator(pairs[0], n_items) - _indicator(pairs[1], n_items)
    return np.asarray(A.T @ (A.T @ N).T)


def skew_gram(K: FloatArray, pairs: Pairs, others: Pairs) -> FloatArray:
    """Return the skew kernel (m, p) between pairs; ``K`` (rows of pairs, rows of others)."""
    (i, j), (k, l) = pairs, others
    out = np.empty((i.shape[0], k.shape[0]))
    for rows in _blocks(i.shape[0], k.shape[0]):
        first, second = K[i[rows]], K[j[rows]]
        np.multiply(first[:, k], second[:, l], out=out[rows])
        out[rows] -= first[:, l] * second[:, k]
    return out


def skew_diag(variance: tuple[FloatArray, FloatArray], shared: FloatArray) -> FloatArray:
    """Return the skew kernel of pairs with themselves, K_ii K_jj - K_ij², at least 0."""
    return np.asarray(np.maximum(variance[0] * variance[1] - np.square(shared), 0.0))


def skew_pullback(N: FloatArray, K: FloatArray, pairs: Pairs) -> FloatArray:
    """Return P (n, n), symmetric, with <N, d skew> = <P, dK> for a symmetric N (m, m); about 4 m² operations."""
    i, j = pairs
    n = K.shape[0]
    E, F = _indicator(i, n), _indicator(j, n)
    P = np.zeros((n, n))
    for rows in _blocks(i.shape[0], i.shape[0]):
        first, second, part = K[i[rows]], K[j[rows]], N[rows]
        P += E[rows].T @ (E.T @ (part * second[:, j]).T).T
        P += F[rows].T @ (F.T @ (part * first[:, i]).T).T
        cross = E[rows].T @ (F.T @ (part * second[:, i]).T).T
        P -= cross + cross.T
    return (P + P.T) / 2


def skew_features(U: FloatArray, pairs: Pairs, kept: Pairs | None = None) -> FloatArray:
    """Return features (m, r (r-1) / 2), or of ``kept`` columns, whose products are the skew kernel of K = U U'."""
    a, b = np.triu_indices(U.shape[1], 1) if kept is None else kept
    (i, j), m = pairs, pairs[0].shape[0]
    if U.shape[0] > 2 * m:
        U, i, j = np.concatenate([U[i], U[j]]), np.arange(m), np.arange(m, 2 * m)
    # columns are gathered once for each item: whole rows are gathered much faster
    Ua, Ub = U[:, a], U[:, b]
    out = np.empty((m, a.shape[0]))
    for rows in _blocks(m, 8 * a.shape[0]):  # that stay in the cache
        np.multiply(Ua[i[rows]], Ub[j[rows]], out=out[rows])
        out[rows] -= Ub[i[rows]] * Ua[j[rows]]
    return out


def _indicator(index: IntArray, n: int) -> Any:
    m = index.shape[0]
    return sp.csr_array((np.ones(m), index, np.arange(m + 1)), shape=(m, n))


def _blocks(n_rows: int, width: int) -> list[slice]:
    step = max(1, _BLOCK // max(1, width))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
