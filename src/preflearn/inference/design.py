"""What comparisons see of the latents, z = A f, prepared for the sums that inference asks for again and again."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.operators import FloatArray, IntArray

__all__ = ["Design", "PairDesign", "pair_operator", "products_of_rows"]

WIDE = 16  # possible places for each one that is taken, up to which a table of all beats sorting
DENSE_SHARE = 0.03  # above this share of non-zeros a dense product is quicker than a sparse one


class Design:
    """The sparse operator A (m, n) with what is needed for A'diag(τ)A and diag(ACA') in O(m).

    Every row of A has few entries (two for a comparison of items), so both are sums over the few products of two
    entries of one row; where these land is worked out once.
    """

    inner_steps = 12  # conjugate gradients before a new factorisation is the better buy

    def __init__(self, A: Any) -> None:
        self.A = sp.csr_array(A)
        self.AT = sp.csr_array(self.A.T)
        self.shape: tuple[int, int] = self.A.shape
        self._row, self._left, self._right, self._value = products_of_rows(self.A)
        n = self.shape[1]
        key: IntArray = np.asarray(self._left.astype(np.intp) * n + self._right)
        distinct, where = _distinct(key, n * n)
        self.dense = distinct.shape[0] > DENSE_SHARE * n * n
        self._place: IntArray = key if self.dense else where
        self._indices = (distinct % n).astype(np.int32)
        self._indptr = np.searchsorted(distinct, np.arange(n + 1, dtype=np.int64) * n).astype(np.int32)

    @classmethod
    def of(cls, A: Any) -> Any:
        """Return A itself if it is prepared already (also in another way: `preflearn.inference.features`)."""
        return A if hasattr(A, "laplacian") else cls(A)

    @property
    def size(self) -> int:
        """Order of the matrix that is factored."""
        return self.shape[1]

    def laplacian(self, tau: FloatArray) -> Any:
        """Return Λ = A'diag(τ)A, (n, n): an array, or a sparse array where most of it is zero."""
        n = self.shape[1]
        products = self._value * tau[self._row]
        if self.dense:
            return np.bincount(self._place, products, minlength=n * n).reshape(n, n)
        data = np.bincount(self._place, products, minlength=self._indices.shape[0])
        return sp.csr_array((data, self._indices, self._indptr), shape=(n, n))

    def square_sums(self, tau: FloatArray) -> FloatArray:
        """Return the diagonal of Λ."""
        return np.asarray(self._squares @ tau)

    @cached_property
    def _squares(self) -> Any:
        return self.AT.multiply(self.AT).tocsr()

    def sizes(self, v: FloatArray) -> FloatArray:
        """Return |A| v."""
        return np.asarray(self._absolute @ v)

    @cached_property
    def _absolute(self) -> Any:
        return abs(self.A)

    def spread(self, C: FloatArray) -> FloatArray:
        """Return diag(ACA') from the few entries of C that the rows of A touch."""
        products = self._value * C[self._left, self._right]
        return np.asarray(np.bincount(self._row, products, minlength=self.shape[0]), dtype=np.float64)


class PairDesign(Design):
    """The same where each row sees two latents, one as +1 and the other as -1; of Λ the upper triangle is formed."""

    dense = True

    def __init__(self, A: Any) -> None:
        self.A = sp.csr_array(A)
        self.A.sort_indices()
        self.AT = sp.csr_array(self.A.T)
        self.shape = self.A.shape
        ends = self.A.indices.reshape(-1, 2).astype(np.intp)
        self._low, self._high = np.ascontiguousarray(ends.T)
        self._key = self._low * self.shape[1] + self._high

    @staticmethod
    def fits(A: Any) -> bool:
        """Return whether rows of a sparse array are such."""
        two = bool((np.diff(A.indptr) == 2).all())
        return two and bool((A.data[::2] * A.data[1::2] == -1.0).all()) and bool((np.abs(A.data) == 1.0).all())

    def laplacian(self, tau: FloatArray) -> FloatArray:
        """Return the upper triangle of Λ."""
        n = self.shape[1]
        Lam: FloatArray = np.asarray(np.bincount(self._key, -tau, minlength=n * n), dtype=np.float64).reshape(n, n)
        Lam.flat[:: n + 1] = self.square_sums(tau)
        return Lam

    def square_sums(self, tau: FloatArray) -> FloatArray:
        """Return the diagonal of Λ."""
        n = self.shape[1]
        ends = np.bincount(self._low, tau, minlength=n) + np.bincount(self._high, tau, minlength=n)
        return np.asarray(ends, dtype=np.float64)

    def spread(self, C: FloatArray) -> FloatArray:
        """Return diag(ACA') from the few entries of C that the rows of A touch; its lower triangle counts."""
        v = C.diagonal()
        return np.asarray(v[self._low] + v[self._high] - 2.0 * C[self._high, self._low])

    def sizes(self, v: FloatArray) -> FloatArray:
        """Return |A| v."""
        return np.asarray(v[self._low] + v[self._high])


def _distinct(key: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return the distinct keys below a size, in ascending order, and the place of each key among them."""
    if size > WIDE * key.shape[0]:
        distinct, where = np.unique(key, return_inverse=True)
        return distinct, where.ravel()
    there = np.zeros(size, dtype=bool)
    there[key] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[key]


def products_of_rows(A: Any) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return row, both columns and value of all products of two entries of one row of a sparse array."""
    size = np.diff(A.indptr)
    parts = []
    for width in np.unique(size):  # rows with equally many entries at once
        rows = np.flatnonzero(size == width)
        place = A.indptr[rows, None] + np.arange(width)
        column, value = A.indices[place], A.data[place]
        left, right = np.repeat(np.arange(width), width), np.tile(np.arange(width), width)
        products = value[:, left] * value[:, right]
        parts.append((np.repeat(rows, width**2), column[:, left], column[:, right], products))
    row, first, second, product = (np.concatenate([np.ravel(part[k]) for part in parts]) for k in range(4))
    return row, first, second, product


def pair_operator(first: IntArray, second: IntArray, n_items: int) -> Any:
    """Return the sparse operator A (m, n) with rows e_first - e_second."""
    m = first.shape[0]
    row = np.tile(np.arange(m), 2)
    return sp.csr_array((np.repeat([1.0, -1.0], m), (row, np.concatenate([first, second]))), shape=(m, n_items))
