"""Latents in blocks of equal length, f = (f₁, ..., f_P), independent a priori and seen together one item at a time.

Block c holds one function at the n items, with covariance K_c = R_c R_c'. Every comparison is about one item, so all
blocks of Λ are diagonal, and

    R'ΛR has blocks R_c' diag(Λ_cd) R_d,        zero where functions c and d were never seen together;
    diag(ACA') needs C between functions at the same item only, P x P numbers for each item;
    the derivative by K_c needs the c-th diagonal block of ΛCΛ only, n x n.

B itself couples all functions: P r x P r for blocks of rank r. With one covariance for all blocks (one part) the memory
of the kernel is one n x n matrix, whatever P.

Comparisons are of labels, whose functions are combinations of the blocks: f_label = Σ_c basis[label, c] f_c.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dtrmm, dtrsm

from preflearn.inference.dense import Design, Factor
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import pair_operator

__all__ = ["BlockCovariance", "BlockDesign", "BlockFactor", "BlockLaplacian", "between", "square_norms"]

BLOCK = 2**20  # numbers held at a time for combinations of rows


@dataclass(frozen=True)
class BlockLaplacian:
    """Λ with diagonal blocks: Λ_cd = diag(values[c, d])."""

    values: FloatArray  # (P, P, n), symmetric in the first two

    def __matmul__(self, f: FloatArray) -> FloatArray:
        """Return Λf for f (P n,)."""
        n_blocks, _, n = self.values.shape
        return np.asarray(np.einsum("cdi,di->ci", self.values, f.reshape(n_blocks, n)).ravel())


class BlockDesign(Design):
    """z = f_first(item) - f_second(item) for labels that are combinations of the blocks.

    Parameters
    ----------
    item, first, second : arrays of shape (m,)
        What each comparison is about: an item and two labels.
    basis : array of shape (n_labels, P)
        Labels in terms of blocks.
    n_items : int
        Length of a block.
    """

    def __init__(self, item: IntArray, first: IntArray, second: IntArray, basis: FloatArray, n_items: int) -> None:
        n_labels, n_blocks = basis.shape
        pairs = pair_operator(first * n_items + item, second * n_items + item, n_labels * n_items)
        self.A = sp.csr_array(pairs @ sp.kron(sp.csr_array(basis), sp.eye_array(n_items), format="csr"))
        self.AT = sp.csr_array(self.A.T)
        self.shape = (item.shape[0], n_blocks * n_items)
        self.dense = False
        self.basis = basis
        self._of = item, first, second
        self._cell = (first * n_labels + second) * n_items + item
        self._cells = (n_labels, n_labels, n_items)

    def laplacian(self, tau: FloatArray) -> BlockLaplacian:
        """Return Λ = A'diag(τ)A: a sum over edges for every item, O(m + n L² P) for L labels."""
        sums = np.bincount(self._cell, tau, minlength=int(np.prod(self._cells))).reshape(self._cells)
        off = np.asarray(sums + sums.transpose(1, 0, 2), dtype=np.float64)
        W = -off
        diagonal = np.arange(self._cells[0])
        W[diagonal, diagonal] += off.sum(axis=1)
        return BlockLaplacian(between(self.basis.T, W))

    def spread(self, C: FloatArray) -> FloatArray:
        """Return diag(ACA') from the covariances (P, P, n) of the functions at each item."""
        item, first, second = self._of
        V = between(self.basis, C)
        return np.asarray(V[first, first, item] + V[second, second, item] - 2 * V[first, second, item])


def between(H: FloatArray, C: FloatArray) -> FloatArray:
    """Return H C_i H' for every item i, with C (P, P, n)."""
    half = np.tensordot(H, C, axes=(1, 0))
    return np.ascontiguousarray(np.tensordot(half, H, axes=(1, 1)).transpose(0, 2, 1))


@dataclass(frozen=True)
class BlockFactor:
    """K = blockdiag(R_c R_c'); a single part serves all blocks."""

    parts: tuple[Factor, ...]
    n_blocks: int

    @classmethod
    def build(cls, grams: list[FloatArray], n_blocks: int) -> BlockFactor:
        """Factor the covariances of the parts."""
        return cls(tuple(Factor.build(K) for K in grams), n_blocks)

    def part(self, block: int) -> Factor:
        """Return the factor of one block."""
        return self.parts[block if len(self.parts) > 1 else 0]

    @property
    def order(self) -> IntArray | None:
        """None if no part is pivoted, so that the factor changes smoothly with the parameters."""
        return next((part.order for part in self.parts if part.order is not None), None)

    @property
    def shared(self) -> bool:
        """Whether one covariance serves all blocks."""
        return len(self.parts) == 1

    @property
    def n_items(self) -> int:
        """Length of a block."""
        return int(self.parts[0].L.shape[0])

    @cached_property
    def offsets(self) -> IntArray:
        """Where the columns of each block start, (P + 1,)."""
        return np.concatenate([[0], np.cumsum([self.part(c).rank for c in range(self.n_blocks)])]).astype(np.intp)

    @property
    def rank(self) -> int:
        """Number of columns of R."""
        return int(self.offsets[-1])

    def columns(self, block: int) -> slice:
        """Return the columns of one block."""
        return slice(int(self.offsets[block]), int(self.offsets[block + 1]))

    def forward(self, u: FloatArray) -> FloatArray:
        """Return R u."""
        if self.shared:
            return np.asarray((u.reshape(self.n_blocks, -1) @ self.parts[0].R.T).ravel())
        return np.concatenate([self.part(c).forward(u[self.columns(c)]) for c in range(self.n_blocks)])

    def back(self, f: FloatArray) -> FloatArray:
        """Return R'f."""
        rows = f.reshape(self.n_blocks, -1)
        if self.shared:
            return np.asarray((rows @ self.parts[0].R).ravel())
        return np.concatenate([self.part(c).back(rows[c]) for c in range(self.n_blocks)])

    def congruence(self, Lam: BlockLaplacian) -> FloatArray:
        """Return R'ΛR, block by block where Λ has any; n r² for each."""
        B = np.zeros((self.rank, self.rank), order="F")
        for c in range(self.n_blocks):
            seen = [d for d in range(c + 1) if Lam.values[c, d].any()]
            if not seen or self.part(c).rank == 0:
                continue
            width = [self.part(d).rank for d in seen]
            Y = np.empty((self.n_items, sum(width)), order="F")
            start = 0
            for d, size in zip(seen, width, strict=True):
                np.multiply(Lam.values[c, d][:, None], self.part(d).R, out=Y[:, start : start + size])
                start += size
            G = _back(self.part(c), Y)
            start = 0
            for d, size in zip(seen, width, strict=True):
                block = G[:, start : start + size]
                B[self.columns(c), self.columns(d)] = block
                if d < c:
                    B[self.columns(d), self.columns(c)] = block.T
                start += size
        return B

    def covariance(self, LB: FloatArray) -> BlockCovariance:
        """Return C = R B⁻¹ R'; P³ r² n / 3."""
        T = np.zeros((self.n_blocks, self.n_items, self.rank))
        for c in range(self.n_blocks):
            T[c, :, self.offsets[c] :] = self.solve(LB, c, self.part(c).R)
        return BlockCovariance(self, T)

    def solve(self, LB: FloatArray, block: int, V: FloatArray) -> FloatArray:
        """Return the rows of (LB⁻¹ v)' from the block's own columns on, for rows v' that are zero outside the block."""
        start = int(self.offsets[block])
        wide = np.zeros((V.shape[0], self.rank - start))
        wide[:, : V.shape[1]] = V
        return np.asarray(dtrsm(1.0, LB[start:, start:], wide.T, lower=1).T) if wide.size else wide

    def whiten(self, Q: Any) -> FloatArray:
        """Return W (r, P p), block diagonal, for cross-covariances Q (one (p, n) array for each part)."""
        W = [self.part(c).whiten(Q[c if not self.shared else 0]) for c in range(self.n_blocks)]
        p = W[0].shape[1]
        wide = np.zeros((self.rank, self.n_blocks * p))
        for c, block in enumerate(W):
            wide[self.columns(c), c * p : (c + 1) * p] = block
        return wide

    def variances(self, LB: FloatArray, Q: Any, prior_variance: Any) -> FloatArray:
        """Return the posterior covariances (P, P, p) of the functions at new items.

        ``Q`` and ``prior_variance`` hold (p, n) covariances with the training items and (p,) prior variances, one of
        each for each part.
        """
        p = Q[0].shape[0]
        C = np.empty((self.n_blocks, self.n_blocks, p))
        rows = []
        for c in range(self.n_blocks):
            W = self.part(c).whiten(Q[c if not self.shared else 0])
            rows.append(self.solve(LB, c, W.T))
            unseen = prior_variance[c if not self.shared else 0] - np.einsum("ri,ri->i", W, W)
            for d in range(c + 1):
                C[c, d] = C[d, c] = _rowwise(rows[c], rows[d][:, self.offsets[c] - self.offsets[d] :])
            C[c, c] += np.maximum(unseen, 0.0)
        return C


@dataclass(frozen=True)
class BlockCovariance:
    """C = R B⁻¹ R' between all blocks, as T_c' T_d; ``T`` (P, n, r) holds the transposes, zero before its own block."""

    factor: BlockFactor
    T: FloatArray

    def spread(self, design: Design) -> FloatArray:
        """Return diag(ACA'); P² n r, or from combined rows of T, which keep more digits, where that is no dearer."""
        n_blocks, n, rank = self.T.shape
        if design.A.nnz <= 2 * n_blocks**2 * n:
            return square_norms(design.A, self.T.reshape(n_blocks * n, rank))
        C = np.empty((n_blocks, n_blocks, n))
        for c in range(n_blocks):
            start = self.factor.offsets[c]
            for d in range(c + 1):
                C[c, d] = C[d, c] = _rowwise(self.T[c, :, start:], self.T[d, :, start:])
        return design.spread(C)

    def sensitivity(self, Lam: BlockLaplacian, plus: FloatArray, minus: FloatArray | None = None) -> list[FloatArray]:
        """Return the diagonal blocks of ½ (ΛCΛ - Λ + pp' - qq') for each part, summed where parts are shared.

        P² n² r for all of them.
        """
        n_blocks, n, _ = self.T.shape
        sums = [np.zeros((n, n)) for _ in self.factor.parts]
        for c in range(n_blocks):
            M = sums[c if not self.factor.shared else 0]
            V = np.zeros(self.T.shape[1:])
            for d in np.flatnonzero(Lam.values[:, c].any(axis=1)):
                start = self.factor.offsets[d]
                V[:, start:] += Lam.values[d, c][:, None] * self.T[d, :, start:]
            M += V @ V.T
            M.flat[:: n + 1] -= Lam.values[c, c]
            M += np.outer(plus[c * n : (c + 1) * n], plus[c * n : (c + 1) * n])
            if minus is not None:
                M -= np.outer(minus[c * n : (c + 1) * n], minus[c * n : (c + 1) * n])
        for M in sums:
            M *= 0.5
        return sums


def square_norms(A: Any, rows: FloatArray) -> FloatArray:
    """Return the squared norms of combinations A of rows, in parts of bounded size."""
    norms = np.empty(A.shape[0])
    step = max(1, BLOCK // max(1, rows.shape[1]))
    for start in range(0, A.shape[0], step):
        D = A[start : start + step] @ rows
        norms[start : start + step] = np.einsum("ij,ij->i", D, D)
    return norms


def _back(factor: Factor, Y: FloatArray) -> FloatArray:
    """Return R'Y with the triangle of R used as one; Y (n, k) in Fortran order is overwritten."""
    if factor.order is not None:
        Y = np.asfortranarray(Y[factor.order])
    r = factor.rank
    top = dtrmm(1.0, factor.L[:r].T, np.asfortranarray(Y[:r]), lower=0, overwrite_b=1)
    if r < factor.L.shape[0]:
        top += factor.L[r:].T @ Y[r:]
    return np.asarray(top)


def _rowwise(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", one, other))
