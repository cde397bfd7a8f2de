"""Listed pairs, and the square root of their Laplacian where there are more pairs than items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from preflearn.operators._contract import BLOCK, FloatArray, IntArray
from preflearn.operators.groups import like

__all__ = ["Edges", "Root"]


@dataclass(frozen=True)
class Edges:
    """Listed pairs, each distinct pair once: C = B' diag(sqrt(v)) with margins t, so L = B' diag(v) B.

    Repeats of a pair merge exactly: Σ v (t - z)² = (Σv) (t̄ - z)² + const.
    """

    target: FloatArray  # sqrt(v) t
    n_items: int
    first: IntArray
    second: IntArray
    root_weight: FloatArray  # sqrt(v)
    pair: IntArray  # the distinct pair of each comparison as given
    sign: FloatArray  # +1 where a comparison has the sides of its distinct pair, -1 where swapped

    @classmethod
    def build(
        cls,
        n_items: int,
        first: IntArray,
        second: IntArray,
        margin: FloatArray,
        weight: FloatArray | None = None,
        code: IntArray | None = None,
    ) -> Edges:
        """Return the operator for comparisons (m,) with margins t: wanted is f[first] - f[second] = t.

        With ``code`` (m,), groups that are left out together, repeats merge inside a group only.
        """
        low, high = np.minimum(first, second), np.maximum(first, second)
        sign = np.where(first == low, 1.0, -1.0)
        key = low * np.intp(n_items) + high
        if code is None:
            key, pair = np.unique(key, return_inverse=True)
        else:
            table, pair = np.unique(np.column_stack([code, key]), axis=0, return_inverse=True)
            key, pair = table[:, 1], pair.ravel()
        v = np.ones_like(margin) if weight is None else weight
        total = np.bincount(pair, weights=v, minlength=key.shape[0])
        mean = np.bincount(pair, weights=v * sign * margin, minlength=key.shape[0]) / total
        h = np.sqrt(total)
        return cls(h * mean, n_items, key // n_items, key % n_items, h, pair, sign)

    def apply(self, F: FloatArray) -> FloatArray:
        """Return the weighted differences sqrt(v) (F[first] - F[second])."""
        out = F[self.first] - F[self.second]
        out *= like(self.root_weight, out)
        return out

    def adjoint(self, U: FloatArray) -> FloatArray:
        """Return B' diag(sqrt(v)) U."""
        return np.asarray(self.incidence.T @ U)

    @cached_property
    def incidence(self) -> Any:
        """Return diag(sqrt(v)) B, sparse (m, n_items)."""
        m = self.first.shape[0]
        row = np.tile(np.arange(m), 2)
        column = np.concatenate([self.first, self.second])
        return sp.csr_matrix(
            (np.concatenate([self.root_weight, -self.root_weight]), (row, column)), shape=(m, self.n_items)
        )

    def quadratic(self, Z: Any) -> FloatArray:
        """Return Z'LZ; L Z is summed from exact differences, so large offsets of the features cancel."""
        B = self.incidence
        if sp.issparse(Z):
            D = B @ Z
            return np.asarray((D.T @ D).toarray())
        LZ = np.empty_like(Z)
        step = max(1, BLOCK // max(1, self.first.shape[0]))
        for j in range(0, Z.shape[1], step):
            LZ[:, j : j + step] = B.T @ self.apply(np.ascontiguousarray(Z[:, j : j + step]))
        # 1'L = 0, so Z may be shifted freely before the product; by blocks of rows, without a copy of Z.
        M = np.zeros((Z.shape[1], Z.shape[1]))
        mean = Z.mean(axis=0)
        step = max(64, BLOCK // max(1, Z.shape[1]))
        for i in range(0, Z.shape[0], step):
            M += (Z[i : i + step] - mean).T @ LZ[i : i + step]
        return np.asarray((M + M.T) / 2)

    @cached_property
    def root(self) -> Root:
        """Return the same Laplacian through an n x n root, for m > n."""
        return Root.build(self)


@dataclass(frozen=True)
class Root:
    """An n x r root of a listed graph's Laplacian, r < n: for more distinct pairs than items.

    Ground one item per connected part. The remaining Laplacian L_r is positive definite, L_r = G G', and because the
    rows of L sum to zero, L = E L_r E' with E' f = f[kept] - f[its ground]. So C = E G.
    """

    target: FloatArray
    n_items: int
    G: FloatArray
    kept: IntArray
    ground: IntArray  # the grounded item of each kept one

    @classmethod
    def build(cls, edges: Edges) -> Root:
        """Return the root of the Laplacian of listed pairs; one Cholesky, (n - parts)³ / 3."""
        B = edges.incidence
        L = (B.T @ B).tocsr()
        _, part = sp.csgraph.connected_components(L, directed=False)
        _, ground_of_part = np.unique(part, return_index=True)
        kept = np.setdiff1d(np.arange(edges.n_items), ground_of_part)
        G = scipy.linalg.cholesky(L[kept][:, kept].toarray(), lower=True, overwrite_a=True)
        b = edges.adjoint(edges.target)
        target = scipy.linalg.solve_triangular(G, b[kept], lower=True)
        return cls(target, edges.n_items, G, kept, ground_of_part[part[kept]])

    def apply(self, F: FloatArray) -> FloatArray:
        """Return G'E'F."""
        return np.asarray(self.G.T @ (F[self.kept] - F[self.ground]))

    def adjoint(self, U: FloatArray) -> FloatArray:
        """Return E G U."""
        GU = self.G @ U
        out = np.zeros((self.n_items, *GU.shape[1:]))
        out[self.kept] = GU
        np.subtract.at(out, self.ground, GU)
        return out

    def coordinates(self, V: FloatArray) -> FloatArray:
        """Return T (n_items, k) such that V'C⁺(e_i - e_j) = T[i] - T[j] for items of one part."""
        T = np.zeros((self.n_items, V.shape[1]))
        T[self.kept] = scipy.linalg.solve_triangular(self.G, V, lower=True, trans="T")
        return T
