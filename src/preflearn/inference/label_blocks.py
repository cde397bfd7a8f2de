"""Latents in blocks of equal length, f = (f₁, ..., f_P), independent a priori and seen together one item at a time.

Block c holds one function at the n items, with covariance K_c = R_c R_c'. Every comparison is about one item and two
labels, whose functions are combinations of the blocks, f_label = Σ_c basis[label, c] f_c. So all blocks of Λ are
diagonal, and

    R'ΛR has blocks R_c' diag(Λ_cd) R_d,        zero where functions c and d were never seen together;
    diag(ACA') needs C between functions at the same item only, P x P numbers for each item;
    the derivative by K_c needs the c-th diagonal block of ΛCΛ only, n x n.

With one covariance for all blocks (one part) the memory of the kernel is one n x n matrix, whatever P. B itself couples
all functions. Where an item's edges all touch a few labels (one in classification: every edge of an item starts at its
right label), most functions are never compared with each other. Take a vertex cover: for each item some labels such
that every edge of the item has an end among them. Turn the root of each block so that its rows at the items that c
covers are lower triangular and zero beyond as many columns. The columns v_c up to there give c where it covers, the
others, w_c, do not; and as functions meet only where one of them covers,

    B = I + R'ΛR  has no entries between w_c and w_d:  eliminate w_1, ..., w_P one by one, then all v together.

For classification v has n columns in all and each w_c about n (1 - 1/L): L n³ operations in place of (L - 1)³ n³ / 3,
and memory L n² in place of L² n². Nothing is approximated, and what is factored is B, whose eigenvalues are at least 1.
A cover of everything leaves no w, and B is one matrix, P r x P r for blocks of rank r.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dormqr

from preflearn.inference.dense import Design, Factor, lower
from preflearn.linalg import cholesky_one_plus
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import pair_operator

BoolArray = NDArray[np.bool_]


class BlockDesign(Design):
    """z = f_first(item) - f_second(item) for labels that combine blocks, ``basis`` (n_labels, P)."""

    def __init__(self, item: IntArray, first: IntArray, second: IntArray, basis: FloatArray, n_items: int) -> None:
        n_labels = basis.shape[0]
        pairs = pair_operator(first * n_items + item, second * n_items + item, n_labels * n_items)
        super().__init__(pairs @ sp.kron(sp.csr_array(basis), sp.eye_array(n_items), format="csr"))
        self.basis = basis
        self._of = item, first, second
        self._cell = (first * n_labels + second) * n_items + item
        self._cells = (n_labels, n_labels, n_items)

    def laplacian(self, tau: FloatArray) -> FloatArray:
        """Return the diagonals (P, P, n) of the blocks of Λ: a sum over edges for every item, O(m + n L² P)."""
        sums = np.bincount(self._cell, tau, minlength=int(np.prod(self._cells))).reshape(self._cells)
        off = np.asarray(sums + sums.transpose(1, 0, 2), dtype=np.float64)
        W = -off
        diagonal = np.arange(self._cells[0])
        W[diagonal, diagonal] += off.sum(axis=1)
        return between(self.basis.T, W)

    def spread(self, C: FloatArray) -> FloatArray:
        """Return diag(ACA') from the covariances (P, P, n) of the functions at each item."""
        item, first, second = self._of
        V = between(self.basis, C)
        return np.asarray(V[first, first, item] + V[second, second, item] - 2 * V[first, second, item])


def between(H: FloatArray, C: FloatArray) -> FloatArray:
    """Return H C_i H' for every item i, with C (P, P, n)."""
    half = np.tensordot(H, C, axes=(1, 0))
    return np.ascontiguousarray(np.tensordot(half, H, axes=(1, 1)).transpose(0, 2, 1))


def vertex_cover(item: IntArray, first: IntArray, second: IntArray, n_labels: int, n_items: int) -> BoolArray:
    """Return a small cover (n_labels, n_items): the label with most uncovered edges joins until all are covered."""
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


class BlockFactor:
    """K = blockdiag(R_c R_c') with roots turned for a cover (P, n); a single part serves all blocks."""

    def __init__(self, grams: list[FloatArray], cover: BoolArray) -> None:
        self.parts, self.cover, self.n_blocks = [Factor.build(K) for K in grams], cover, len(cover)
        # None if no part is pivoted, so that the factor changes smoothly with the parameters
        self.order = next((part.order for part in self.parts if part.order is not None), None)
        ranks = [self.part(c).rank for c in range(self.n_blocks)]
        self.n_own = [min(int(own.sum()), rank) for own, rank in zip(cover, ranks, strict=True)]  # columns v_c
        self.offsets = np.concatenate([[0], np.cumsum(ranks)]).astype(np.intp)  # where the columns of a block start
        self.starts = np.concatenate([[0], np.cumsum(self.n_own)]).astype(np.intp)  # and its v_c among all v
        self.rank = int(self.offsets[-1])
        # places of v_c and of w_c among the columns of R
        ends = zip(self.offsets[:-1], self.n_own, self.offsets[1:], strict=True)
        self.columns = [(slice(start, start + k), slice(start + k, end)) for start, k, end in ends]

    def of_part(self, block: int) -> int:
        """Return which part a block belongs to."""
        return block if len(self.parts) > 1 else 0

    def part(self, block: int) -> Factor:
        """Return the factor of one block, not turned."""
        return self.parts[self.of_part(block)]

    @cached_property
    def _turned(self) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        # reflections that make the covered rows triangular, and the turned root; 4 n r times the number of these rows
        turned = []
        for c in range(self.n_blocks):
            R, own = self.part(c).R, np.flatnonzero(self.cover[c])
            reflections, scales = np.zeros((R.shape[1], 0)), np.zeros(0)
            if 0 < own.shape[0] < R.shape[0]:
                packed: Any = scipy.linalg.qr(R[own].T, mode="raw", check_finite=False)
                reflections, scales = packed[0][0][:, : R.shape[1]], packed[0][1]
                R = np.ascontiguousarray(_turn(reflections, scales, np.asfortranarray(R), side="R"))
                R[own, min(own.shape[0], R.shape[1]) :] = 0.0
            turned.append((reflections, scales, R))
        return turned

    def root(self, block: int) -> FloatArray:
        """Return the turned root R_c: columns v_c, then w_c."""
        return self._turned[block][2]

    def forward(self, u: FloatArray) -> FloatArray:
        """Return R u."""
        return np.concatenate([self.root(c) @ u[self.offsets[c] : self.offsets[c + 1]] for c in range(self.n_blocks)])

    def back(self, f: FloatArray) -> FloatArray:
        """Return R'f."""
        rows = f.reshape(self.n_blocks, -1)
        return np.concatenate([self.root(c).T @ rows[c] for c in range(self.n_blocks)])

    def curvature(self, Lam: FloatArray, *, semidefinite: bool = True) -> BlockArrow:
        """Factor B, see the module; for log-concave likelihoods only."""
        k, start = self.n_own, self.starts
        v = [self.root(c)[:, : k[c]] for c in range(self.n_blocks)]
        triangles = self.order is None and bool(self.cover.all())
        S = np.zeros((int(start[-1]), int(start[-1])), order="F")
        for c in range(self.n_blocks):
            for d in range(c + 1):  # of S the lower triangle counts
                place = slice(start[c], start[c + 1]), slice(start[d], start[d + 1])
                if triangles:
                    scaled = np.multiply(Lam[c, d][:, None], v[d], order="F")
                    S[place] = dtrmm(1.0, v[c].T, scaled, lower=0, overwrite_b=1)
                else:
                    S[place] = _meet(v[c], Lam[c, d], v[d])
        corners, edges = [], []
        for c in range(self.n_blocks):
            w = self.root(c)[:, k[c] :]
            scaled = np.sqrt(np.maximum(Lam[c, c], 0.0))[:, None] * w
            corner = cholesky_one_plus(np.asfortranarray(scaled.T @ scaled))
            edge = np.zeros((w.shape[1], S.shape[0]))
            for d in range(self.n_blocks if w.size else 0):
                weight = np.where(self.cover[c], 0.0, Lam[c, d])
                edge[:, start[d] : start[d + 1]] = _meet(w, weight, v[d])
            X = lower(corner, edge).T
            if X.size:
                S -= X @ X.T
            corners.append(corner)
            edges.append(X)
        return BlockArrow(self, Lam, corners, edges, cholesky_one_plus(S))

    def variances(self, B: BlockArrow, Q: Any, prior_variance: Any) -> FloatArray:
        """Return the posterior covariances (P, P, p) of the functions at new items.

        ``Q`` and ``prior_variance`` hold covariances (p, n) with the training items and variances (p,) for each part.
        """
        W, halves = self._asked(B, Q)
        C = np.einsum("cvi,dvi->cdi", *[np.stack([v for _, v in halves])] * 2, optimize=True)
        for c, (w, _) in enumerate(halves):
            unseen = prior_variance[self.of_part(c)] - np.einsum("ri,ri->i", W[c], W[c])
            C[c, c] += np.einsum("ri,ri->i", w, w) + np.maximum(unseen, 0.0)
        return np.asarray(C)

    def joint(self, B: BlockArrow, Q: Any, prior: Any) -> FloatArray:
        """Return the posterior covariance (P p, P p) of the functions at new items together, function by function.

        ``prior`` holds the covariance (p, p) of new items for each part.
        """
        W, halves = self._asked(B, Q)
        v = np.concatenate([v.T for _, v in halves])
        C = v @ v.T
        p = W[0].shape[1]
        for c, (w, _) in enumerate(halves):
            here = slice(c * p, (c + 1) * p)
            C[here, here] += w.T @ w + prior[self.of_part(c)] - W[c].T @ W[c]
        return np.asarray(C)

    def _asked(self, B: BlockArrow, Q: Any) -> tuple[list[FloatArray], list[tuple[FloatArray, FloatArray]]]:
        """Return whitened covariances with new items for each function, and LB⁻¹ times these."""
        k = self.n_own
        flat = [part.whiten(q) for part, q in zip(self.parts, Q, strict=True)]
        W = [
            _turn(reflections, scales, np.asfortranarray(flat[self.of_part(c)]), side="L")
            for c, (reflections, scales, _) in enumerate(self._turned)
        ]
        return W, [B.half(c, block[: k[c]], block[k[c] :]) for c, block in enumerate(W)]


@dataclass(frozen=True)
class BlockArrow:
    """B = I + R'ΛR as a product of factors with the shape of an arrow; in place of a `Curvature`.

    C = R B⁻¹ R' is w_c w_c' for a block with itself, plus v_c v_d' between any two.
    """

    factor: BlockFactor
    Lam: Any
    corners: list[FloatArray]  # lower Cholesky factor of B between w_c and itself
    edges: list[FloatArray]  # B between all v and w_c, times the inverse transpose of the corner
    point: FloatArray  # lower Cholesky factor of what is left between all v

    @property
    def log_det(self) -> float:
        """Return log |B|."""
        return 2.0 * float(sum(np.log(L.diagonal()).sum() for L in (*self.corners, self.point)))

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b for one vector."""
        x, columns = np.empty_like(b), self.factor.columns
        v = np.concatenate([b[own] for own, _ in columns])
        halves = [lower(L, b[w]) for L, (_, w) in zip(self.corners, columns, strict=True)]
        for X, half in zip(self.edges, halves, strict=True):
            v -= X @ half
        v = lower(self.point, lower(self.point, v), transposed=True)
        for c, (own, w) in enumerate(columns):
            x[own] = v[self.factor.starts[c] : self.factor.starts[c + 1]]
            x[w] = lower(self.corners[c], halves[c] - self.edges[c].T @ v, transposed=True)
        return x

    def half(self, block: int, own: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return LB⁻¹, of w_c and of all v, for columns that are zero outside v_c (``own``) and w_c (``rest``)."""
        first = lower(self.corners[block], rest)
        second = -(self.edges[block] @ first)
        start = self.factor.starts[block]
        second[start : start + own.shape[0]] += own
        zero = 0 if first.size else start  # rows of blocks before, if nothing leads there
        second[zero:] = lower(self.point[zero:, zero:], second[zero:])
        return first, second

    @cached_property
    def _halves(self) -> tuple[list[FloatArray], FloatArray]:
        k, n = self.factor.n_own, self.factor.n_blocks
        halves = [self.half(c, self.factor.root(c)[:, : k[c]].T, self.factor.root(c)[:, k[c] :].T) for c in range(n)]
        w, v = zip(*halves, strict=True)
        return [np.ascontiguousarray(one.T) for one in w], np.stack([np.ascontiguousarray(one.T) for one in v])

    @property
    def w(self) -> list[FloatArray]:
        """Rows (n, columns of w_c) of each block."""
        return self._halves[0]

    @property
    def v(self) -> FloatArray:
        """Rows (P, n, columns of all v)."""
        return self._halves[1]

    def spread(self, design: Any) -> FloatArray:
        """Return diag(ACA'); P² n r, or from combined rows, which keep more digits, where that is no dearer."""
        n_blocks, n, size = self.v.shape
        alone = [np.einsum("iw,iw->i", w, w) for w in self.w]
        if design.A.nnz <= 2 * n_blocks**2 * n:
            rows = design.square_norms(self.v.reshape(n_blocks * n, size))
            return np.asarray(rows + design.A.power(2) @ np.concatenate(alone))
        C = np.empty((n_blocks, n_blocks, n))
        for c in range(n_blocks):
            for d in range(c + 1):
                C[c, d] = C[d, c] = np.einsum("ij,ij->i", self.v[c], self.v[d])
            C[c, c] += alone[c]
        return np.asarray(design.spread(C))

    def sensitivity(self, plus: FloatArray, minus: FloatArray) -> list[FloatArray]:
        """Return the diagonal blocks of ½ (ΛCΛ - Λ + pp' - qq') for each part, summed where parts are shared."""
        (n_blocks, n, _), Lam = self.v.shape, self.Lam
        sums = [np.zeros((n, n)) for _ in self.factor.parts]
        for a in range(n_blocks):
            if not self.w[a].size:
                continue
            inner = self.w[a] @ self.w[a].T
            if len(sums) == 1:  # the same inner matrix for all blocks that a meets
                sums[0] += inner * (Lam[a].T @ Lam[a])
                continue
            for met in np.flatnonzero(Lam[a].any(axis=1)):
                sums[met] += inner * np.outer(Lam[a, met], Lam[a, met])
        for c in range(n_blocks):
            M, here = sums[self.factor.of_part(c)], slice(c * n, (c + 1) * n)
            V = np.zeros(self.v.shape[1:])
            for a in range(n_blocks):
                rows = np.flatnonzero(Lam[a, c])
                V[rows] += Lam[a, c, rows][:, None] * self.v[a, rows]
            M += V @ V.T
            M.flat[:: n + 1] -= Lam[c, c]
            M += np.outer(plus[here], plus[here])
            M -= np.outer(minus[here], minus[here])
        return [0.5 * M for M in sums]


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
