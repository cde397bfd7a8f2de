"""Systems whose latents are factored together: z = A R u, K = R R', B = I + R'ΛR with Λ = A'TA.

Only B is factored, whose eigenvalues are at least 1, and R is pivoted where K is singular (`Factor`), so neither a
singular kernel nor a saturated likelihood needs jitter. Others may take the place of `Design` (A) and `Factor` (R): see
`preflearn.inference.label_blocks`. A factor answers `forward`, `back`, `whiten`, and `curvature`, B factored, of which
`solve`, `log_det`, `spread` and `sensitivity` are asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from scipy.linalg.blas import dgemm, dtrmm, dtrsm, dtrsv
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from preflearn.inference.contract import Curve, Query, System, Touched
from preflearn.linalg import (
    EPS,
    SMALL,
    cholesky_one_plus,
    cholesky_pivoted,
    distinct_numbers,
    square_norms,
    weighted_square,
)
from preflearn.operators import FloatArray, IntArray

DENSE_SHARE = 0.03  # above this share of non-zeros a dense product is quicker than a sparse one
FEW_COLUMNS = 4  # of D, whose part of Λ costs next to nothing
MANY_PRODUCTS = 8  # of two entries of one row, for each entry
BLOCK = 2**20  # numbers held at a time for combinations of rows


class Design:
    """x = A f + D w: a sparse A (m, n) with few entries in each row, and an array D (m, q) that all rows see.

    Λ = [A D]'diag(τ)[A D] and diag([A D]C[A D]') are, but for D, sums over the few products of two entries of one row;
    where these land is worked out once.
    """

    def __init__(self, A: Any, D: FloatArray | None = None) -> None:
        self.A = sp.csr_array(A)
        m, self.n = self.A.shape
        self.D = np.zeros((m, 0)) if D is None else np.ascontiguousarray(D)
        self.shape: tuple[int, int] = m, self.n + self.D.shape[1]

    @cached_property
    def AT(self) -> Any:
        """A'."""
        return sp.csr_array(self.A.T)

    def forward(self, f: FloatArray) -> FloatArray:
        """Return A f + D w of all latents, (n + q,) or columns of them."""
        x = self.A @ f[: self.n]
        return np.asarray(x + self.D @ f[self.n :]) if self.D.shape[1] else np.asarray(x)

    def back(self, g: FloatArray) -> FloatArray:
        """Return [A D]'g."""
        return np.concatenate([self.AT @ g, self.D.T @ g]) if self.D.shape[1] else np.asarray(self.AT @ g)

    def rows(self, cells: Any) -> Any:
        """Return some rows of [A D], sparse."""
        return sp.csr_array(sp.hstack([self.A[cells], sp.csr_array(self.D[cells])])) if self.D.size else self.A[cells]

    @cached_property
    def products(self) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """Products of two entries of one row of A, see `products_of_rows`."""
        return products_of_rows(self.A)

    @cached_property
    def _pattern(self) -> tuple[IntArray, IntArray, IntArray]:
        """Places in the lower triangle of A'A of the diagonal and all that is not zero, ascending; the same mirrored.

        And which of them each product belongs to.
        """
        (_, left, right, _), n = self.products, self.n
        place, where = distinct_numbers(np.concatenate([left * n + right, np.arange(n) * (n + 1)]), n * n)
        return place, place % n * n + place // n, where[: len(left)]

    @cached_property
    def _sparse_pattern(self) -> tuple[IntArray, Any, Any]:
        """Which of these places each entry of a sparse A'A has, its column, and where rows start."""
        place, mirrored, _ = self._pattern
        off, n = np.flatnonzero(place != mirrored), self.n
        both = np.concatenate([place, mirrored[off]])
        order = np.argsort(both, kind="stable")
        starts = np.searchsorted(both[order], np.arange(n + 1) * n)
        source = np.concatenate([np.arange(len(place)), off])[order]
        return source, (both[order] % n).astype(np.int32), starts.astype(np.int32)

    def local_laplacian(self, tau: FloatArray, *, sparse: bool) -> Any:
        """Return A'diag(τ)A."""
        (row, _, _, value), (place, mirrored, where), n = self.products, self._pattern, self.n
        data = np.bincount(where, value * tau[row], minlength=len(place))
        data = np.where(place == mirrored, data, 0.5 * data)
        if sparse:
            source, indices, indptr = self._sparse_pattern
            return sp.csr_array((data[source], indices, indptr), shape=(n, n))
        flat = np.zeros(n * n)
        flat[place] = flat[mirrored] = data
        return flat.reshape(n, n)

    def laplacian(self, tau: FloatArray) -> Any:
        """Return Λ: an array, or a sparse array where most of it is zero; m + m q²."""
        n, D = self.n, self.D
        if not D.shape[1]:
            return self.local_laplacian(tau, sparse=2 * len(self._pattern[0]) <= DENSE_SHARE * n * n)
        Lam = np.empty((self.shape[1], self.shape[1]))
        Lam[:n, :n], Lam[n:, n:] = self.local_laplacian(tau, sparse=False), weighted_square(D, tau)
        Lam[n:, :n] = (self.AT @ (tau[:, None] * D)).T
        Lam[:n, n:] = Lam[n:, :n].T
        return Lam

    def laplacian_times(self, tau: FloatArray, R: FloatArray) -> FloatArray:
        """Return ΛR, R (n + q, r), without an array of Λ."""
        n, D = self.n, self.D
        found = np.asarray(self.local_laplacian(tau, sparse=True) @ R[:n])
        if not D.shape[1]:
            return found
        across = self.AT @ (tau[:, None] * D)
        return np.vstack([found + across @ R[n:], across.T @ R[:n] + weighted_square(D, tau) @ R[n:]])

    @cached_property
    def _graph(self) -> Any:
        _, indices, starts = self._sparse_pattern
        return sp.csr_array((np.ones(len(indices)), indices, starts), shape=(self.n, self.n))

    @cached_property
    def parts(self) -> tuple[IntArray, FloatArray]:
        """Connected part of each latent that rows compare, and the number of latents in that part."""
        part = np.asarray(connected_components(self._graph, directed=False)[1], dtype=np.intp)
        return part, np.bincount(part)[part].astype(np.float64)

    def without_level(self, x: FloatArray) -> FloatArray:
        """Return x, (n,) or (n, k), less its mean over each connected part."""
        return np.asarray(x - np.asarray(self._to_part @ x)[self.parts[0]])

    @cached_property
    def _to_part(self) -> Any:
        part, size = self.parts
        return sp.csr_array((1.0 / size, (part, np.arange(self.n))))

    @cached_property
    def narrow_order(self) -> tuple[IntArray, int]:
        """Order of latents that keeps compared ones close together, and a bound on the entries of a factor in it."""
        order = np.asarray(reverse_cuthill_mckee(self._graph, symmetric_mode=True), dtype=np.intp)
        place = np.empty_like(order)
        place[order] = np.arange(self.n)
        least = np.arange(self.n)
        entries = self._graph.tocoo()
        np.minimum.at(least, place[entries.row], place[entries.col])
        return order, int((np.arange(self.n) - least).sum())

    def spread(self, C: FloatArray) -> FloatArray:
        """Return diag([A D]C[A D]') from the few entries of C that the rows of A touch, and m q of them for D."""
        (row, left, right, value), n = self.products, self.n
        total = np.bincount(row, value * C[left, right], minlength=self.shape[0])
        if self.D.shape[1]:
            total = total + np.einsum("ij,ij->i", 2 * (self.A @ C[:n, n:]) + self.D @ C[n:, n:], self.D)
        return np.asarray(total, dtype=np.float64)

    def square_norms(self, root: FloatArray) -> FloatArray:
        """Return the squared norms of the rows of [A D] root, for a root (n + q, r), in parts of bounded size."""
        norms = np.empty(self.shape[0])
        step = max(1, BLOCK // max(1, root.shape[1]))
        for start in range(0, self.shape[0], step):
            part = slice(start, start + step)
            rows = self.A[part] @ root[: self.n]
            if self.D.shape[1]:
                rows += self.D[part] @ root[self.n :]
            norms[part] = square_norms(rows)
        return norms


def _rows_by_width(A: Any) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Yield rows with equally many entries, and their columns (ascending) and values."""
    A.sort_indices()
    size = np.diff(A.indptr)
    widths = np.flatnonzero(np.bincount(size))
    if len(widths) == 1:
        yield np.arange(A.shape[0]), A.indices.reshape(A.shape[0], -1).astype(np.intp), A.data.reshape(A.shape[0], -1)
        return
    for width in widths:
        rows = np.flatnonzero(size == width)
        place = A.indptr[rows, None] + np.arange(width)
        yield rows, A.indices[place].astype(np.intp), A.data[place]


def products_of_rows(A: Any) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return row, columns (larger, smaller) and value of all products of two entries of one row of a sparse array.

    Of two different columns the value counts twice: r'Cr = Σ value C[larger, smaller] for a symmetric C.
    """
    parts = []
    for rows, column, value in _rows_by_width(A):
        left, right = np.tril_indices(column.shape[1])
        products = np.where(left == right, 1.0, 2.0) * value[:, left] * value[:, right]
        parts.append((np.repeat(rows, len(left)), column[:, left], column[:, right], products))
    row, first, second, product = (np.concatenate([np.ravel(part[k]) for part in parts]) for k in range(4))
    return row, first, second, product


def forms_of_rows(A: Any, C: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return r'Cr of every row of a sparse array, from the lower triangle of C, and the same of C's diagonal alone."""
    found, own = np.zeros((2, A.shape[0]))
    diagonal = np.ascontiguousarray(C.diagonal())
    for rows, column, value in _rows_by_width(A):
        own[rows] = np.einsum("ij,ij,ij->i", value, value, diagonal[column])
        columns, values = np.ascontiguousarray(column.T), np.ascontiguousarray(value.T)
        cross = np.zeros(len(rows))
        for left, right in zip(*np.tril_indices(len(columns), -1), strict=True):
            cross += values[left] * values[right] * C[columns[left], columns[right]]
        found[rows] = own[rows] + 2.0 * cross
    return found, own


@dataclass(frozen=True)
class Factor:
    """Dense K = R R': a triangular R if K is safely positive definite, else pivoted to its numerical rank."""

    L: FloatArray  # rows in pivoted order, the leading r x r block lower triangular
    order: IntArray | None  # None: not permuted

    @classmethod
    def build(cls, K: FloatArray) -> Factor:
        """Factor a kernel matrix; n r² for rank r."""
        largest = float(K.diagonal().max(initial=0.0))
        if largest > 0.0:
            # Cholesky of the transpose in C order: the upper factor is the lower one row by row
            U, failed = scipy.linalg.lapack.dpotrf(K.T, lower=0, clean=1)
            if failed == 0 and float(U.diagonal().min()) ** 2 > 1e2 * K.shape[0] * EPS * largest:
                return cls(np.ascontiguousarray(U.T), None)
        return cls(*cholesky_pivoted(K))

    @property
    def rank(self) -> int:
        """Number of columns of R."""
        return int(self.L.shape[1])

    @cached_property
    def R(self) -> FloatArray:
        """R in the order of the items."""
        if self.order is None:
            return self.L
        R = np.empty_like(self.L)
        R[self.order] = self.L
        return R

    def forward(self, u: FloatArray) -> FloatArray:
        """Return R u."""
        return np.asarray(self.R @ u)

    def back(self, f: FloatArray) -> FloatArray:
        """Return R'f."""
        return np.asarray(self.R.T @ f)

    def means(self, Q: FloatArray, a: FloatArray) -> FloatArray:
        """Return Q a, for cross-covariances Q (p, n) of new latents with f."""
        return np.asarray(Q @ a)

    def congruence(self, Lam: Any) -> FloatArray:
        """Return R'ΛR; n r² for the triangular part, and a third of that where each latent is seen on its own."""
        r = self.rank
        if self.order is None and (tau := _diagonal(Lam)) is not None:
            # L'L of the lower triangle L = √Λ R
            root = np.multiply(np.sqrt(tau)[:, None], self.L, order="F")
            return np.asarray(scipy.linalg.lapack.dlauum(root, lower=1, overwrite_c=1)[0])
        Y = _times(self.R.T, Lam).T
        if self.order is not None:
            Y = Y[self.order]
        if r == 0:
            return np.zeros((0, 0))
        # (Y'L)' with BLAS reading the rows of C arrays as columns
        B = dtrmm(1.0, self.L[:r].T, Y[:r].T, side=1, lower=0, trans_a=1)
        if r < self.L.shape[0]:
            B += Y[r:].T @ self.L[r:]
        return np.asarray(B)

    def curvature(self, Lam: Any, *, semidefinite: bool = True) -> Curvature:
        """Factor B = I + R'ΛR; n r² + r³/3 beyond the product ΛR. See `System.curve` for ``semidefinite``."""
        return Curvature(self, Lam, cholesky_one_plus(self.congruence(Lam), semidefinite=semidefinite))

    def whiten(self, Q: FloatArray) -> FloatArray:
        """Return W (r, p) with cov(f_new, u) = W' for the cross-covariance Q (p, n) of new latents with f."""
        r = self.rank
        if self.order is not None:
            Q = Q[:, self.order[:r]]
        if r == 0 or Q.shape[0] == 0:
            return np.zeros((r, Q.shape[0]))
        return np.asarray(dtrsm(1.0, self.L[:r].T, np.ascontiguousarray(Q).T, lower=0, trans_a=1))

    def unwhitened(self, X: FloatArray) -> FloatArray:
        """Return M (n, n) with R'MR = X."""
        if self.order is not None:
            back = np.linalg.pinv(self.R)
            return np.asarray(back.T @ X @ back)
        half = scipy.linalg.solve_triangular(self.L, X, lower=True, trans="T")
        return np.asarray(scipy.linalg.solve_triangular(self.L, half.T, lower=True, trans="T").T)


def lower(L: FloatArray, b: FloatArray, *, transposed: bool = False) -> FloatArray:
    """Return L⁻¹ b, or L'⁻¹ b, for one vector or for columns."""
    if not b.size:
        return np.zeros(b.shape)
    if b.ndim == 1:
        return np.asarray(dtrsv(L, b, lower=1, trans=int(transposed)))
    return np.asarray(dtrsm(1.0, L, b, lower=1, trans_a=int(transposed)))


def _diagonal(Lam: Any) -> FloatArray | None:
    # the diagonal of a sparse Λ >= 0 that is nothing else
    if isinstance(Lam, np.ndarray) or Lam.shape[0] < SMALL or Lam.nnz != Lam.shape[0]:
        return None
    tau: FloatArray = Lam.diagonal()
    return tau if np.count_nonzero(tau) == Lam.nnz and tau.min(initial=0.0) >= 0.0 else None


def _times(V: FloatArray, Lam: Any) -> FloatArray:
    # V Λ in Fortran order for V in Fortran order and a symmetric Λ in C order
    if not isinstance(Lam, np.ndarray):
        return np.asarray((Lam @ V.T).T)
    return np.asarray(dgemm(1.0, V, Lam.T)) if V.size else np.zeros(V.shape)


MANY = 3  # new latents per training latent from which one product for each is worth a factor of its own
COMBINED = 512  # rows that are combinations of others, at a time
SURE = 1e-7  # bound on the relative error up to which a variance by that product is kept


@dataclass(frozen=True)
class Curvature:
    """B = I + R'ΛR, factored, and C = R B⁻¹ R' = T'T, the posterior covariance of the latents."""

    factor: Factor
    Lam: Any  # (n, n), sparse or dense
    LB: FloatArray  # lower Cholesky factor of B

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b."""
        return np.asarray(scipy.linalg.lapack.dpotrs(self.LB, b, lower=1)[0]) if b.size else b

    def whiten(self, W: FloatArray) -> FloatArray:
        """Return LB⁻¹ W."""
        return lower(self.LB, W)

    @property
    def log_det(self) -> float:
        """Return log |B| = log |I + KΛ|."""
        return 2.0 * float(np.log(self.LB.diagonal()).sum())

    @cached_property
    def T(self) -> FloatArray:
        """LB⁻¹ R', (r, n)."""
        return self.whiten(self.factor.R.T)

    @cached_property
    def C(self) -> FloatArray:
        """The covariance itself; n² r."""
        return np.asarray(self.T.T @ self.T)

    def among(self, local: IntArray) -> FloatArray:
        """Return C (G, l, l) among sets of latents (G, l)."""
        return self.C[local[:, :, None], local[:, None, :]]

    def spread(self, design: Design) -> FloatArray:
        """Return diag(A C A'); m r from T, of which differences of rows lose half the digits that those of C lose."""
        size, n = np.diff(design.A.indptr), design.shape[1]
        if 2 * size.sum() > n * n and np.square(size).sum() <= MANY_PRODUCTS * size.sum():
            return design.spread(self.C)
        return design.square_norms(np.ascontiguousarray(self.T.T))

    def sensitivity(self, plus: FloatArray, minus: FloatArray) -> FloatArray:
        """Return ½ (ΛCΛ - Λ + pp' - qq'), (n, n)."""
        seen = _times(self.T, self.Lam)
        M = seen.T @ seen
        M -= self.Lam if isinstance(self.Lam, np.ndarray) else self.Lam.toarray()
        M += np.outer(plus, plus)
        M -= np.outer(minus, minus)
        M *= 0.5
        return np.asarray(M)


class DenseSystem(System):
    """S = A R for a design and a factor of the prior covariance."""

    def __init__(self, design: Any, factor: Any) -> None:
        self.design, self.factor = design, factor
        self.size, self.order = int(factor.rank), int(design.shape[1])
        self.smooth = factor.order is None  # pivoted factors jump with the parameters
        self.inner_steps = 40 if design.D.shape[1] > FEW_COLUMNS else 12  # products cost little beside forming Λ

    @classmethod
    def of(cls, A: Any, K: FloatArray) -> DenseSystem:
        """Return the system of an operator and a covariance matrix."""
        return cls(A if isinstance(A, Design) else Design(A), Factor.build(K))

    def forward(self, u: FloatArray) -> FloatArray:
        """Return S u."""
        return np.asarray(self.design.forward(self.factor.forward(u)))

    def back(self, g: FloatArray) -> FloatArray:
        """Return S'g."""
        return np.asarray(self.factor.back(self.design.back(g)))

    def curve(self, tau: FloatArray, *, semidefinite: bool = True, near: Curve | None = None) -> DenseCurve:
        """Factor B; see `System.curve`."""
        return DenseCurve(self, self.factor.curvature(self.design.laplacian(tau), semidefinite=semidefinite))


@dataclass(frozen=True)
class DenseCurve(Curve):
    """B factored as one matrix, or in the shape that the factor of the prior knows."""

    system: DenseSystem
    inner: Any

    @property
    def log_det(self) -> float:
        """Return log |B|."""
        return float(self.inner.log_det)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b."""
        return np.asarray(self.inner.solve(b))

    @cached_property
    def variances(self) -> FloatArray:
        """Posterior variances of x at the cells."""
        return np.asarray(self.inner.spread(self.system.design))

    def sensitivity(self, plus: FloatArray, minus: FloatArray) -> Any:
        """Return the derivative of the evidence by K; see `Curve.sensitivity`."""
        return self.inner.sensitivity(*map(self.system.design.back, (plus, minus)))

    def touched(self, u: FloatArray, cells: IntArray) -> Touched:
        """Return what some cells see."""
        rows: Any = self.system.design.rows(cells)
        few = np.unique(rows.nonzero()[1])
        return Touched(rows[:, few], self.system.factor.forward(u)[few], self.inner.C[np.ix_(few, few)])

    def answer(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, list[Any], list[Any]]:
        """Return means, and rows W', V' with cov(f, u) = W' and V = LB⁻¹ W; see `Curve.answer`."""
        W = self.system.factor.whiten(query.shared)
        found = W.T @ u, W.T, self.inner.whiten(W).T
        mean, seen, left = found if query.operator is None else (query.operator @ part for part in found)
        return mean, [seen], [left]

    def moments(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and variances of a query."""
        if query.operator is not None and query.operator.shape[0] < query.shared.shape[0]:
            query = query.combined()  # fewer combinations than latents: combine first
        if query.operator is None and max(query.total, query.shared.shape[0]) > MANY * query.shared.shape[1]:
            return self._moments_of_many(u, g, query)
        if query.operator is None:
            return super().moments(u, g, query)
        # combined a few rows at a time, which stay in the cache
        mean, (seen,), (left,) = self.answer(u, g, replace(query, operator=None))
        variance = np.array(query.prior)
        for start in range(0, len(variance), COMBINED):
            rows = slice(start, start + COMBINED)
            some = query.operator[rows]
            variance[rows] = np.maximum(variance[rows] - square_norms(some @ seen), 0.0) + square_norms(some @ left)
        return np.asarray(query.operator @ mean), variance

    def _moments_of_many(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return moments by one triangular product instead of two triangular solves for each latent.

        Where little is left of the prior's variance it loses digits: those latents are done again by the solves.
        """
        Q = query.shared
        explained, error = self._explained(Q)
        mean, spread = np.asarray(Q @ self.system.design.back(g)), query.prior - explained
        unsure = np.flatnonzero(~(error + 4 * EPS * query.prior <= SURE * spread))
        if unsure.shape[0]:
            mean[unsure], spread[unsure] = super().moments(u, g, Query(Q[unsure], query.prior[unsure]))
        return mean, spread

    def _explained(self, Q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the prior's variance that comparisons explain, q'Pq with P = Λ - ΛCΛ, and bounds on its error."""
        (L, shift, error), norms = self._explaining, square_norms(Q)
        if not np.isfinite(error):
            return norms, np.full(Q.shape[0], np.inf)
        V = dtrmm(1.0, L, np.ascontiguousarray(Q).T, lower=1, trans_a=1)
        return square_norms(V.T) - shift * norms, error * norms

    @cached_property
    def _explaining(self) -> tuple[FloatArray, float, float]:
        """The lower triangular factor of P + shift I, the shift, and how wrong it is at most in the norm of P; some n³.

        Where Λ is not semi-definite P need not be either, and the error is infinite.
        """
        Lam = self.inner.Lam
        P = -2.0 * self.inner.sensitivity(*np.zeros((2, Lam.shape[0])))
        n = P.shape[0]
        size = float(np.linalg.norm(Lam) if isinstance(Lam, np.ndarray) else scipy.sparse.linalg.norm(Lam))
        shift = n * EPS * float(P.diagonal().max(initial=0.0))
        P.flat[:: n + 1] += shift
        L, failed = scipy.linalg.lapack.dpotrf(P, lower=1, overwrite_a=1)
        grown = np.sqrt(n) + self.inner.LB.diagonal().max(initial=1.0)  # rounding on the way to ΛCΛ and to its factor
        return L, shift, np.inf if failed else EPS * grown * size
