"""Blocks of latents that meet at few functions of each item: a Cholesky factor of B with the shape of an arrow.

Where an item's edges all touch a few labels (one in classification: every edge of an item starts at its right label),
most functions are never compared with each other. Take a cover: for each item some labels such that every edge of the
item has an end among them. Turn the root of each block, K_c = R_c R_c', so that its rows at the items that c covers are
lower triangular and zero beyond as many columns. The columns v_c up to there give c where it covers, the others, w_c,
do not; and as functions meet only where one of them covers,

    B = I + R'ΛR  has no entries between w_c and w_d:  eliminate w_1, ..., w_P one by one, then all v together.

For classification v has n columns in all and each w_c about n (1 - 1/L): L n³ operations in place of (L - 1)³ n³ / 3,
and memory L n² in place of L² n². Nothing is approximated, and what is factored is B, whose eigenvalues are at least 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg.lapack import dormqr

from preflearn.inference.arrow import Arrow, lower, one_plus
from preflearn.inference.blocks import BlockLaplacian, square_norms
from preflearn.inference.dense import Design, Factor
from preflearn.operators import FloatArray, IntArray

__all__ = ["CoverCovariance", "CoverFactor", "cover_cost", "vertex_cover"]

BoolArray = NDArray[np.bool_]


def vertex_cover(item: IntArray, first: IntArray, second: IntArray, n_labels: int, n_items: int) -> BoolArray:
    """Return a small cover (n_labels, n_items): the label with most uncovered edges joins until all are covered.

    Examples
    --------
    >>> import numpy as np
    >>> vertex_cover(np.array([0, 0]), np.array([0, 2]), np.array([1, 1]), 3, 1).T
    array([[False,  True, False]])
    """
    left = np.zeros((n_items, n_labels, n_labels), dtype=bool)
    left[item, first, second] = left[item, second, first] = True
    cover = np.zeros((n_labels, n_items), dtype=bool)
    rows = np.arange(n_items)
    while left.any():
        degree = left.sum(axis=2)
        centre = degree.argmax(axis=1)
        cover[centre, rows] |= degree[rows, centre] > 0
        left[rows, centre] = False
        left[rows, :, centre] = False
    return cover


def cover_cost(cover: BoolArray) -> float:
    """Return the operations that factoring B takes, for kernels of full rank."""
    own = cover.sum(axis=1).astype(np.float64)
    rest, total = cover.shape[1] - own, own.sum()
    return float((rest**3 / 3 + total * rest**2 + total**2 * rest).sum() + total**3 / 3)


@dataclass(frozen=True)
class CoverFactor:
    """K = blockdiag(R_c R_c') with roots turned for a cover; a single part serves all blocks."""

    parts: tuple[Factor, ...]
    cover: BoolArray  # (P, n)

    @classmethod
    def build(cls, grams: list[FloatArray], cover: BoolArray) -> CoverFactor:
        """Factor the covariances of the parts."""
        return cls(tuple(Factor.build(K) for K in grams), cover)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.cover.shape[0])

    @property
    def order(self) -> IntArray | None:
        """None if no part is pivoted, so that the factor changes smoothly with the parameters."""
        return next((part.order for part in self.parts if part.order is not None), None)

    @property
    def shared(self) -> bool:
        """Whether one covariance serves all blocks."""
        return len(self.parts) == 1

    def part(self, block: int) -> Factor:
        """Return the factor of one block, not turned."""
        return self.parts[0 if self.shared else block]

    @cached_property
    def _turned(self) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        # reflections that make the covered rows triangular, and the turned root; 4 n r times the number of these rows
        turned = []
        for c in range(self.n_blocks):
            R, own = self.part(c).R, np.flatnonzero(self.cover[c])
            reflections, scales = np.zeros((R.shape[1], 0)), np.zeros(0)
            if own.shape[0]:
                packed: Any = scipy.linalg.qr(R[own].T, mode="raw", check_finite=False)
                reflections, scales = packed[0][0][:, : R.shape[1]], packed[0][1]
            root = _turn(reflections, scales, np.asfortranarray(R), side="R")
            root[own, min(own.shape[0], R.shape[1]) :] = 0.0
            turned.append((reflections, scales, np.ascontiguousarray(root)))
        return turned

    def root(self, block: int) -> FloatArray:
        """Return the turned root R_c: columns v_c, then w_c."""
        return self._turned[block][2]

    @cached_property
    def offsets(self) -> IntArray:
        """Where the columns of each block start, (P + 1,)."""
        return np.concatenate([[0], np.cumsum([self.part(c).rank for c in range(self.n_blocks)])]).astype(np.intp)

    @cached_property
    def n_own(self) -> list[int]:
        """Number of columns v_c of each block."""
        return [min(int(own.sum()), self.part(c).rank) for c, own in enumerate(self.cover)]

    @property
    def rank(self) -> int:
        """Number of columns of R."""
        return int(self.offsets[-1])

    def forward(self, u: FloatArray) -> FloatArray:
        """Return R u."""
        return np.concatenate([self.root(c) @ u[self.offsets[c] : self.offsets[c + 1]] for c in range(self.n_blocks)])

    def back(self, f: FloatArray) -> FloatArray:
        """Return R'f."""
        rows = f.reshape(self.n_blocks, -1)
        return np.concatenate([self.root(c).T @ rows[c] for c in range(self.n_blocks)])

    def congruence(self, Lam: BlockLaplacian) -> FloatArray:
        """Return R'ΛR as one matrix."""
        B = np.zeros((self.rank, self.rank), order="F")
        cuts = [slice(int(a), int(b)) for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]
        for c, rows in enumerate(cuts):
            for d, columns in enumerate(cuts):
                B[rows, columns] = _meet(self.root(c), Lam.values[c, d], self.root(d))
        return B

    def curvature(self, Lam: BlockLaplacian) -> Arrow:
        """Factor B, see the module; for log-concave likelihoods only."""
        k = self.n_own
        own = tuple(slice(int(start), int(start) + k[c]) for c, start in enumerate(self.offsets[:-1]))
        rest = tuple(slice(int(start) + k[c], int(self.offsets[c + 1])) for c, start in enumerate(self.offsets[:-1]))
        v = [self.root(c)[:, : k[c]] for c in range(self.n_blocks)]
        start = np.concatenate([[0], np.cumsum(k)])
        S = np.zeros((int(start[-1]), int(start[-1])), order="F")
        for c in range(self.n_blocks):
            for d in range(c + 1):
                block = _meet(v[c], Lam.values[c, d], v[d])
                S[start[c] : start[c + 1], start[d] : start[d + 1]] = block
                S[start[d] : start[d + 1], start[c] : start[c + 1]] = block.T
        corners, edges = [], []
        for c in range(self.n_blocks):
            w = self.root(c)[:, k[c] :]
            scaled = np.sqrt(Lam.values[c, c])[:, None] * w
            corner = one_plus(np.asfortranarray(scaled.T @ scaled))
            edge = np.zeros((w.shape[1], S.shape[0]))
            for d in range(self.n_blocks):
                edge[:, start[d] : start[d + 1]] = _meet(w, np.where(self.cover[c], 0.0, Lam.values[c, d]), v[d])
            X = lower(corner, edge).T
            S -= X @ X.T
            corners.append(corner)
            edges.append(X)
        return Arrow(Lam, own, rest, tuple(corners), tuple(edges), one_plus(S))

    def covariance(self, LB: Arrow) -> CoverCovariance:
        """Return C = R B⁻¹ R'."""
        k = self.n_own
        halves = [LB.half(c, self.root(c)[:, : k[c]].T, self.root(c)[:, k[c] :].T) for c in range(self.n_blocks)]
        return CoverCovariance(
            self,
            [np.ascontiguousarray(w.T) for w, _ in halves],
            np.stack([np.ascontiguousarray(v.T) for _, v in halves]),
        )

    def whiten(self, Q: Any) -> FloatArray:
        """Return W (r, P p), block diagonal, for cross-covariances Q (one (p, n) array for each part)."""
        W = self._whitened(Q)
        p = W[0].shape[1]
        wide = np.zeros((self.rank, self.n_blocks * p))
        for c, block in enumerate(W):
            wide[self.offsets[c] : self.offsets[c + 1], c * p : (c + 1) * p] = block
        return wide

    def _whitened(self, Q: Any) -> list[FloatArray]:
        flat = [part.whiten(q) for part, q in zip(self.parts, Q, strict=True)]
        return [
            _turn(reflections, scales, np.asfortranarray(flat[0 if self.shared else c]), side="L")
            for c, (reflections, scales, _) in enumerate(self._turned)
        ]

    def variances(self, LB: Arrow, Q: Any, prior_variance: Any) -> FloatArray:
        """Return the posterior covariances (P, P, p) of the functions at new items; see `BlockFactor.variances`."""
        k = self.n_own
        W = self._whitened(Q)
        halves = [LB.half(c, block[: k[c]], block[k[c] :]) for c, block in enumerate(W)]
        C = np.einsum("cvi,dvi->cdi", *[np.stack([v for _, v in halves])] * 2, optimize=True)
        for c, (w, _) in enumerate(halves):
            unseen = prior_variance[0 if self.shared else c] - np.einsum("ri,ri->i", W[c], W[c])
            C[c, c] += np.einsum("ri,ri->i", w, w) + np.maximum(unseen, 0.0)
        return np.asarray(C)


@dataclass(frozen=True)
class CoverCovariance:
    """C = R B⁻¹ R' between all blocks: w_c w_c' for a block with itself, plus v_c v_d'."""

    factor: CoverFactor
    w: list[FloatArray]  # (n, columns of w_c) each
    v: FloatArray  # (P, n, columns of all v)

    def spread(self, design: Design) -> FloatArray:
        """Return diag(ACA') from combined rows, O(m n); the w of different blocks are independent."""
        n_blocks, n, size = self.v.shape
        alone = np.concatenate([np.einsum("iw,iw->i", w, w) for w in self.w])
        return np.asarray(square_norms(design.A, self.v.reshape(n_blocks * n, size)) + design.A.power(2) @ alone)

    def sensitivity(self, Lam: BlockLaplacian, plus: FloatArray, minus: FloatArray | None = None) -> list[FloatArray]:
        """Return the diagonal blocks of ½ (ΛCΛ - Λ + pp' - qq') for each part, summed where parts are shared."""
        n_blocks, n, _ = self.v.shape
        sums = [np.zeros((n, n)) for _ in self.factor.parts]
        p, q = plus.reshape(n_blocks, n), None if minus is None else minus.reshape(n_blocks, n)
        for a in range(n_blocks):
            inner = self.w[a] @ self.w[a].T
            if self.factor.shared:  # the same inner matrix for all blocks that a meets
                sums[0] += inner * (Lam.values[a].T @ Lam.values[a])
                continue
            for met in np.flatnonzero(Lam.values[a].any(axis=1)):
                sums[met] += inner * np.outer(Lam.values[a, met], Lam.values[a, met])
        for c in range(n_blocks):
            M = sums[0 if self.factor.shared else c]
            V = np.zeros(self.v.shape[1:])
            for a in range(n_blocks):
                rows = np.flatnonzero(Lam.values[a, c])
                V[rows] += Lam.values[a, c, rows][:, None] * self.v[a, rows]
            M += V @ V.T
            M.flat[:: n + 1] -= Lam.values[c, c]
            M += np.outer(p[c], p[c])
            if q is not None:
                M -= np.outer(q[c], q[c])
        for M in sums:
            M *= 0.5
        return sums


def _meet(left: FloatArray, weight: FloatArray, right: FloatArray) -> FloatArray:
    """Return left' diag(weight) right over the items with a weight."""
    rows = np.flatnonzero(weight)
    if rows.shape[0] == weight.shape[0]:
        return np.asarray(left.T @ (weight[:, None] * right))
    return np.asarray(left[rows].T @ (weight[rows][:, None] * right[rows]))


def _turn(reflections: FloatArray, scales: FloatArray, M: FloatArray, *, side: str) -> FloatArray:
    """Return M Q (side R) or Q'M (side L) for the orthogonal Q of a factorisation."""
    if not scales.size or not M.size:
        return M
    trans = "N" if side == "R" else "T"
    size = dormqr(side, trans, reflections, scales, M, -1)[1][0]
    return np.asarray(dormqr(side, trans, reflections, scales, M, int(size))[0])
