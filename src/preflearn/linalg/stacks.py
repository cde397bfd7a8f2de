"""Stacks of small matrices, (count, k, k): products, roots and inverses of Cholesky factors, all at once."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtrtri

from preflearn.linalg import EPS, FloatArray, cholesky_at_least_one

__all__ = ["cholesky_blocks", "inverse_cholesky", "squares", "symmetric_roots", "times", "turned"]

SMALL = 8  # order up to which matrices are inverted together, by a method that is slower for large ones


def turned(M: FloatArray) -> FloatArray:
    """Return the transposes of a stack of matrices."""
    return M.transpose(0, 2, 1)


def squares(P: FloatArray) -> FloatArray:
    """Return P P' for a stack of matrices."""
    if P.shape[1] > 1:
        return P @ turned(P)
    return np.asarray(np.einsum("gr,gr->g", P[:, 0], P[:, 0]))[:, None, None]


def times(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return A B for stacks of matrices; one number (1, 1, 1) stands for its multiple of the identity."""
    inner = A.shape[2]
    if A.shape == (1, 1, 1) or B.shape == (1, 1, 1) or inner == 1:
        return np.asarray(A * B)
    if inner == 2:  # so small that a loop over them is quicker than one over the stack
        return np.asarray(A[:, :, :1] * B[:, :1] + A[:, :, 1:] * B[:, 1:])
    return A @ B


def inverse_cholesky(G: FloatArray, *, semidefinite: bool) -> FloatArray:
    """Return the inverses of the lower Cholesky factors of I + G, (groups, k, k)."""
    k = G.shape[1]
    eye = np.eye(k)
    if k == 1:
        gain = 1.0 + G
        if not gain.min(initial=1.0) > 0.0:
            if not semidefinite:
                raise np.linalg.LinAlgError("B is not positive definite")
            gain = np.maximum(gain, 1.0)
        return np.asarray(1.0 / np.sqrt(gain))
    try:
        L = np.linalg.cholesky(G + eye)
    except np.linalg.LinAlgError:
        if not semidefinite:
            raise
        L = np.stack([cholesky_at_least_one(one) for one in G])
    if k <= SMALL:
        return np.asarray(np.linalg.solve(L, np.broadcast_to(eye, L.shape)))
    # the rows of a lower triangle are, to LAPACK, the columns of an upper one
    return np.stack([dtrtri(one.T, lower=0)[0].T for one in L])


def cholesky_blocks(K: FloatArray) -> FloatArray:
    """Return lower Cholesky factors; one number (1, 1, 1) for multiples of the identity that are all the same."""
    first = K[:1, :1, :1]
    if K.shape[0] and (first * np.eye(K.shape[1]) == K).all():
        return np.sqrt(first)
    return np.sqrt(K) if K.shape[1] == 1 else np.asarray(np.linalg.cholesky(K))


def symmetric_roots(K: FloatArray) -> FloatArray:
    """Return the roots of positive semi-definite matrices, (sets, k, k)."""
    values, V = np.linalg.eigh(K)
    root = np.sqrt(np.where(values > K.shape[1] * EPS * values[:, -1:], values, 0.0))
    return np.asarray((V * root[:, None, :]) @ turned(V))
