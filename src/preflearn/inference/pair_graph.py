"""Comparisons of items as a graph: distinct pairs with the statements about each, and sums over them in O(m)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from preflearn.operators import FloatArray, IntArray

__all__ = ["PairGraph"]


@dataclass(frozen=True)
class PairGraph:
    """Statements about pairs of items, sorted by pair: z = A f with z = f_low - f_high, and Λ = A'diag(τ)A.

    ``row`` is the pair of each statement, in ascending order; every pair has at least one.
    """

    low: IntArray
    high: IntArray
    row: IntArray
    n_items: int

    def differences(self, f: FloatArray) -> FloatArray:
        """Return A f, one number for each statement."""
        return np.asarray((f[self.low] - f[self.high])[self.row])

    def adjoint(self, x: FloatArray) -> FloatArray:
        """Return A'x, one number for each item."""
        pairs, n = self.pair_sums(x), self.n_items
        return np.asarray(np.bincount(self.low, pairs, n) - np.bincount(self.high, pairs, n))

    def pair_sums(self, x: FloatArray) -> FloatArray:
        """Return the sum of x over the statements about each pair."""
        return np.asarray(np.add.reduceat(x, self._starts), dtype=np.float64)

    @cached_property
    def _starts(self) -> IntArray:
        return np.flatnonzero(np.diff(self.row, prepend=-1))

    def degrees(self, pairs: FloatArray) -> FloatArray:
        """Return the diagonal of the Laplacian with one weight for each pair."""
        n = self.n_items
        return np.asarray(np.bincount(self.low, pairs, n) + np.bincount(self.high, pairs, n), dtype=np.float64)

    def dense(self, pairs: FloatArray, diagonal: FloatArray) -> FloatArray:
        """Return the lower triangle of a matrix with -``pairs`` beside ``diagonal``, in Fortran order."""
        n = self.n_items
        M: FloatArray = np.asarray(np.bincount(self.keys, -pairs, n * n), dtype=np.float64).reshape(n, n)
        M.flat[:: n + 1] = diagonal
        return M.T

    @cached_property
    def keys(self) -> IntArray:
        """One number for each pair, in ascending order."""
        return np.asarray(self.low * self.n_items + self.high)

    def sparse(self, pairs: FloatArray, diagonal: FloatArray) -> Any:
        """Return the same matrix, both triangles, as a sparse array."""
        indptr, indices, source = self._pattern
        values = np.concatenate([-pairs, diagonal])[source]
        return sp.csr_array((values, indices, indptr), shape=(self.n_items, self.n_items))

    @cached_property
    def _pattern(self) -> tuple[Any, Any, IntArray]:
        n, p = self.n_items, self.low.shape[0]
        rows = np.concatenate([self.low, self.high, np.arange(n)])
        columns = np.concatenate([self.high, self.low, np.arange(n)])
        source = np.concatenate([np.tile(np.arange(p), 2), p + np.arange(n)])
        order = np.argsort(rows * n + columns, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int32)
        return indptr, columns[order].astype(np.int32), np.asarray(source[order])

    @cached_property
    def parts(self) -> tuple[IntArray, FloatArray]:
        """Connected part of each item, and the number of items in that part."""
        graph = self.sparse(np.ones(self.low.shape[0]), np.ones(self.n_items))
        part = np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)
        return part, np.bincount(part)[part].astype(np.float64)

    def without_level(self, x: FloatArray) -> FloatArray:
        """Return x, (n,) or (n, k), less its mean over each connected part."""
        part, size = self.parts
        to_part = sp.csr_array((1.0 / size, (part, np.arange(self.n_items))))
        return np.asarray(x - np.asarray(to_part @ x)[part])

    @cached_property
    def narrow_order(self) -> tuple[IntArray, int]:
        """Order of items that keeps compared ones close together, and a bound on the entries of a factor in it."""
        pattern = self.sparse(np.ones(self.low.shape[0]), np.ones(self.n_items))
        order = np.asarray(reverse_cuthill_mckee(pattern, symmetric_mode=True), dtype=np.intp)
        place = np.empty_like(order)
        place[order] = np.arange(self.n_items)
        least = np.arange(self.n_items)
        a, b = place[self.low], place[self.high]
        np.minimum.at(least, np.maximum(a, b), np.minimum(a, b))
        return order, int((np.arange(self.n_items) - least).sum())
