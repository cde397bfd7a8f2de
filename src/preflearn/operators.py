"""How latent utilities are seen by least squares: roots of preference-graph Laplacians.

Every least-squares model of the library minimises, over utilities f of n items,

    (c - C'f)'(c - C'f) + λ‖f‖²,        L = C C',

where L is the Laplacian of the preference graph. The n x r matrix C is a *root* of L,
never formed where a rule will do:

=========  ==================================  ==============================  ============
operator   sees                                C'f                             cost of C'F
=========  ==================================  ==============================  ============
`Rows`     each item's own score (regression)  sqrt(w_i) f_i                   n k
`Groups`   all pairs inside groups, implied    scaled group-centred f          n k
`Edges`    listed pairs, distinct              sqrt(w_ij) (f_i - f_j)          m k
`Root`     the same pairs, m > n of them       Cholesky of grounded Laplacian  n² k
=========  ==================================  ==============================  ============

(F has k columns.) The contract is `Operator`: ``apply`` (C'F), ``adjoint`` (C U), ``target`` (c). Several outputs are
several columns of c for one C.
Weights are strictly positive here: callers drop rows of weight zero first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from preflearn.linalg import in_threads

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
RowIndex = slice | IntArray
Features = Callable[[RowIndex], Any]

# Elements of one streamed block of feature rows: 4 MiB of float64 stays in cache while it is centred and multiplied.
BLOCK = 1 << 19
MIN_ROWS = 64  # fewest rows of a block, however many features


class Operator(Protocol):
    """A root C of a Laplacian with its targets c; the module docstring has the identities."""

    @property
    def n_items(self) -> int:
        """Number of latents."""

    @property
    def target(self) -> FloatArray:
        """Targets c, (r,), or (r, q) for q outputs."""

    def apply(self, F: FloatArray) -> FloatArray:
        """Return C'F, (r, k) for F (n_items, k)."""

    def adjoint(self, U: FloatArray) -> FloatArray:
        """Return C U, (n_items, k) for U (r, k)."""


def project(operator: Operator, K: FloatArray) -> FloatArray:
    """Return C'KC for a symmetric K, overwriting K where the operator is square."""
    n = operator.n_items
    if operator.target.shape[0] != n:
        return operator.apply(np.ascontiguousarray(operator.apply(K).T))
    # C' from the left block by block, then again on the transpose: no second n x n array.
    step = max(1, BLOCK // max(n, 1))
    for side in (K, K.T):
        for j in range(0, n, step):
            side[:, j : j + step] = operator.apply(side[:, j : j + step])
    return K


@dataclass(frozen=True)
class Rows:
    """Each item is seen by itself: C = diag(sqrt(w)), ordinary least squares."""

    target: FloatArray
    root_weight: FloatArray
    n_items: int
    code: IntArray | None = None  # rows of one number are left out together; None: each by itself

    @classmethod
    def build(cls, y: FloatArray, weight: FloatArray | None = None) -> Rows:
        """Return the operator for scores y (n,) or (n, q) with weights (n,)."""
        h = np.ones(y.shape[0]) if weight is None else np.sqrt(weight)
        return cls(like(h, y) * y, h, y.shape[0])

    def centred(self) -> tuple[Rows, Any]:
        """Return the same for scores minus their weighted means, and the means."""
        h = self.root_weight
        mean = np.asarray(h @ self.target / (h @ h))
        return replace(self, target=self.target - like(h, self.target) * mean), mean if mean.ndim else float(mean)

    def apply(self, F: FloatArray) -> FloatArray:
        """Return diag(sqrt(w)) F."""
        return like(self.root_weight, F) * F

    def adjoint(self, U: FloatArray) -> FloatArray:
        """Return diag(sqrt(w)) U."""
        return self.apply(U)

    def recover(self, T: FloatArray, fitted: FloatArray) -> FloatArray:
        """Return f from T = C'f; every row is seen, so nothing is taken from ``fitted``."""
        return T / like(self.root_weight, T)

    def recovered_noise(self, noise: FloatArray) -> FloatArray:
        """Return the rounding error of `recover` from that of its input, one value per row and column."""
        return noise / like(self.root_weight, noise)

    @property
    def sizes(self) -> IntArray:
        """Number of rows left out together, for each such block."""
        return np.ones(self.n_items, dtype=np.intp) if self.code is None else np.bincount(self.code)

    @property
    def blind(self) -> npt.NDArray[np.bool_]:
        """Rows that the operator does not see: none."""
        return np.zeros(self.n_items, dtype=bool)

    def chunks(self, max_rows: int) -> Iterator[tuple[RowIndex, Rows]]:
        """Yield (rows, operator on these rows) over rows that are left out together, packed to about ``max_rows``."""
        code = np.arange(self.n_items) if self.code is None else self.code
        for rows, first, _ in _whole_groups(code, max_rows):
            part = code[rows] - first
            yield rows, Rows(self.target[rows], self.root_weight[rows], part.shape[0], part)


@dataclass(frozen=True)
class Groups:
    """All pairs inside groups, implied: C is a scaled centring per group (docs/maths.md, sections 1 and 2).

    A pair weighs w_i w_j. With h = sqrt(w), W the weight of a group and W_a that of its a-th level of equal scores,

        ties included:  C' = sqrt(v W) Q diag(h),                                   Q   = I - hh'/W      per group
        ties excluded:  C' = (sqrt(v (W - W_a)) Q_a + sqrt(v W) (Q - Q_a)) diag(h),  Q_a = I - hh'/W_a    per level

    because f'Lf = v Σ_a (W - W_a) within_a(f) + v W between(f), and within and between are orthogonal.
    v = 1 gives every pair equal weight, v = 1/W every group (L is then the centring matrix of the group).
    """

    target: FloatArray
    n_items: int
    root_weight: FloatArray  # h, (n,)
    code: IntArray  # group of each row, 0..q-1
    total: FloatArray  # W per group
    outer: FloatArray  # sqrt(v W) per group
    level: IntArray | None  # level of each row, numbered through all groups; None where no pair is left out
    level_total: FloatArray
    inner: FloatArray  # sqrt(v (W - W_a)) per level

    @classmethod
    def build(
        cls,
        y: FloatArray,
        code: IntArray | None = None,
        weight: FloatArray | None = None,
        *,
        ties: Literal["include", "exclude"] = "include",
        weighting: Literal["pairs", "groups"] = "pairs",
    ) -> Groups:
        """Return the operator for scores y (n,) or (n, q) in groups ``code`` (n,), numbered from 0.

        Without ties it belongs to one column of scores: pairs that are tied in one need not be in another.
        """
        n = y.shape[0]
        code = np.zeros(n, dtype=np.intp) if code is None else code
        w = np.ones(n) if weight is None else weight
        total = np.asarray(np.bincount(code, weights=w), dtype=np.float64)
        share = np.ones_like(total) if weighting == "pairs" else 1.0 / total
        level: IntArray | None = None
        level_total: FloatArray = np.empty(0)
        inner: FloatArray = np.empty(0)
        if ties == "exclude":
            scores = y.reshape(n)
            order = np.lexsort((scores, code))
            new = np.empty(n, dtype=bool)
            new[:1] = True
            new[1:] = (np.diff(code[order]) != 0) | (np.diff(scores[order]) != 0)
            if not new.all():
                level = np.empty(n, dtype=np.intp)
                level[order] = np.cumsum(new) - 1
                level_total = np.asarray(np.bincount(level, weights=w), dtype=np.float64)
                group_of_level = code[order][new]
                # a level that is its whole group sums the same weights in the same order: exactly zero is left
                rest = total[group_of_level] - level_total
                inner = np.sqrt(share[group_of_level] * np.maximum(rest, 0.0))
        blank = cls(np.empty(0), n, np.sqrt(w), code, total, np.sqrt(share * total), level, level_total, inner)
        return replace(blank, target=blank.apply(y))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.total.shape[0])

    @property
    def sizes(self) -> IntArray:
        """Number of rows of each group."""
        return np.bincount(self.code, minlength=self.n_groups)

    def _weighted(self, label: IntArray, scale: FloatArray) -> Any:
        # The sparse matrix that sums rows by label; labels 0..k-1 all occur, so each has its stretch of sorted rows.
        size = np.bincount(label)
        index: Any = (
            np.int32 if self.n_items < 2**31 else np.int64
        )  # as SciPy would choose, after looking at all of them
        start = np.zeros(size.shape[0] + 1, dtype=index)
        np.cumsum(size, out=start[1:])
        rows = np.arange(self.n_items, dtype=index)
        if not (label[1:] >= label[:-1]).all():
            rows = np.argsort(label, kind="stable").astype(index)
            scale = scale[rows]
        return sp.csr_matrix((scale, rows, start), shape=(size.shape[0], self.n_items))

    def means(self, F: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return the weighted means of F per group (q, k) and per level, or None."""
        group, level = self._averages
        return group @ F, None if level is None else level @ F

    @cached_property
    def _averages(self) -> tuple[Any, Any]:
        # The sparse matrices that average rows by group and by level.
        w = self.root_weight**2
        group = self._weighted(self.code, w / self.total[self.code])
        return group, None if self.level is None else self._weighted(self.level, w / self.level_total[self.level])

    def centre(self, F: FloatArray, group: FloatArray, level: FloatArray | None) -> FloatArray:
        """Return C'F given the means of F."""
        h, outer = like(self.root_weight, F), like(self.outer[self.code], F)
        if self.level is None or level is None:
            out = np.take(group, self.code, axis=0)
            np.subtract(F, out, out=out)
            out *= h * outer
            return out
        here = level[self.level]
        out = F - here
        out *= like(self.inner[self.level], F)
        here -= group[self.code]
        here *= outer
        out += here
        out *= h
        return out

    def apply(self, F: FloatArray) -> FloatArray:
        """Return C'F, centred per group and scaled."""
        return self.centre(F, *self.means(F))

    def adjoint(self, U: FloatArray) -> FloatArray:
        """Return C U; C' = G diag(h) with G symmetric, so C = diag(h) G."""
        h = like(self.root_weight, U)
        return h * self.apply(U / h)

    def recover(self, T: FloatArray, fitted: FloatArray) -> FloatArray:
        """Return f up to a constant per group, from T = C'f.

        Where a group has no pair (C' = 0 there) nothing is known from T, and ``fitted`` (n, k) is returned instead:
        a group without pairs does not influence the fit, so its fitted values are its held-out values.
        """
        u = T / like(self.root_weight, T)
        outer = like(self.outer[self.code], T)
        if self.level is None:
            f = u / outer
        else:
            _, level = self.means(u)
            assert level is not None
            between = level[self.level]
            inner = like(self.inner[self.level], T)
            f = (u - between) / np.where(inner == 0, 1.0, inner) + between / outer
        f[self.blind] = fitted[self.blind]
        return f

    @cached_property
    def blind(self) -> npt.NDArray[np.bool_]:
        """Rows whose group holds no pair: alone, or all of one level where ties do not count."""
        alone = np.bincount(self.code, minlength=self.n_groups)[self.code] == 1
        return np.asarray(alone if self.level is None else alone | (self.inner[self.level] == 0))

    def recovered_noise(self, noise: FloatArray) -> FloatArray:
        """Return the rounding error of `recover` from that of its input, one value per group and column."""
        factor = self.outer[self.code].copy()
        if self.level is not None:
            factor = np.minimum(factor, np.where(self.inner == 0, np.inf, self.inner)[self.level])
        rough = noise / like(factor * self.root_weight, noise)
        worst = np.zeros((self.n_groups, noise.shape[1]))
        np.maximum.at(worst, self.code, rough)
        return np.asarray(worst[self.code])

    def chunks(self, max_rows: int) -> Iterator[tuple[RowIndex, Groups]]:
        """Yield (rows, operator on these rows) over whole groups, packed to about ``max_rows`` rows."""
        for rows, first, last in _whole_groups(self.code, max_rows):
            yield rows, self._restrict(rows, first, last)

    def _restrict(self, rows: RowIndex, first: int, last: int) -> Groups:
        code = self.code[rows] - first
        level, level_total, inner = None, self.level_total, self.inner
        if self.level is not None:
            level = self.level[rows]
            low, high = int(level.min()), int(level.max()) + 1
            level, level_total, inner = level - low, level_total[low:high], inner[low:high]
        return Groups(
            self.target[rows],
            code.shape[0],
            self.root_weight[rows],
            code,
            self.total[first:last],
            self.outer[first:last],
            level,
            level_total,
            inner,
        )

    def quadratic(self, Z: Any) -> FloatArray:
        """Return Z'LZ for sparse Z without centring it: L = diag(δ) - P_g'P_g + P_a'P_a."""
        w = self.root_weight**2
        v = self.outer**2 / self.total  # 1 or 1/W
        scale = np.sqrt(v)[self.code]
        delta = self.outer[self.code] ** 2 * w
        if self.level is not None:
            delta = self.inner[self.level] ** 2 * w
            levels = self._weighted(self.level, w * scale) @ Z
        M = (Z.T @ Z.multiply(delta[:, None])).toarray()
        groups = self._weighted(self.code, w * scale) @ Z
        M -= (groups.T @ groups).toarray()
        if self.level is not None:
            M += (levels.T @ levels).toarray()
        return np.asarray(M)


def _whole_groups(code: IntArray, max_rows: int) -> Iterator[tuple[RowIndex, int, int]]:
    """Yield rows of whole groups, about ``max_rows`` at a time, with the first of these and the one after the last.

    Rows are sorted by group (stable), a slice where they already are.
    """
    order = None if np.all(code[1:] >= code[:-1]) else np.argsort(code, kind="stable")
    size = np.bincount(code)
    end = np.cumsum(size)
    first = 0
    while first < size.shape[0]:
        start = int(end[first] - size[first])
        last = max(first + 1, int(np.searchsorted(end, start + max_rows, side="right")))
        stop = int(end[last - 1])
        yield slice(start, stop) if order is None else order[start:stop], first, last
        first = last


def like(v: FloatArray, F: FloatArray) -> FloatArray:
    """Return v shaped to scale the rows of F."""
    return v[:, None] if F.ndim == 2 else v


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
        """Return the operator for comparisons (m,) with margins t (m,) or (m, q): wanted is f[first] - f[second] = t.

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
        v = np.ones(margin.shape[0]) if weight is None else weight
        total = np.bincount(pair, weights=v, minlength=key.shape[0])
        signed = (like(v * sign, margin) * margin).reshape(margin.shape[0], -1)
        sums = [np.bincount(pair, weights=column, minlength=key.shape[0]) for column in signed.T]
        h = np.sqrt(total)
        target = np.column_stack(sums).reshape(key.shape[0], *margin.shape[1:]) / like(h, margin)
        return cls(target, n_items, key // n_items, key % n_items, h, pair, sign)

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


def scatter(operator: Rows | Groups | Edges, features: Features, n_features: int) -> tuple[FloatArray, FloatArray]:
    """Return M = Z'LZ and b = Z'Cc, streaming over blocks of feature rows.

    ``features(rows)`` returns the dense or sparse feature rows Z[rows]. Z is never held whole for rows and groups, so
    features may be made on the fly (Nystroem, random features) and X is not copied. Cost n d² (m d + n d² for listed
    pairs). Groups are centred before they are multiplied: features may have means far larger than their spread.
    """
    everything = slice(0, operator.n_items)
    if isinstance(operator, Edges):
        Z = features(everything)
        return operator.quadratic(Z), np.asarray(Z.T @ operator.adjoint(operator.target))
    M, b = np.zeros((n_features, n_features)), np.zeros((n_features, *operator.target.shape[1:]))
    step, sparse = max(MIN_ROWS, BLOCK // max(1, n_features)), sp.issparse(features(slice(0, 1)))

    def of_groups(chunk: tuple[RowIndex, Groups]) -> tuple[FloatArray, FloatArray]:
        rows, part = chunk
        if sparse:
            Z = features(rows)
            return part.quadratic(Z), Z.T @ part.adjoint(part.target)
        if part.n_items <= 4 * step:
            return _products(part.apply(features(rows)), part.target)
        return _scatter_large_group(part, rows, features, step)

    if isinstance(operator, Rows):

        def of_rows(i: int) -> tuple[FloatArray, FloatArray]:
            block = slice(i, i + step)
            Z, h = features(block), operator.root_weight[block, None]
            return _products(Z.multiply(h).tocsr() if sparse else Z * h, operator.target[block])

        found = in_threads(of_rows, range(0, operator.n_items, step), n_features)
    else:
        found = in_threads(of_groups, operator.chunks(step), n_features)
    for G, g in found:
        M += G
        b += g
    return M, b


def _scatter_large_group(part: Groups, rows: RowIndex, features: Features, step: int) -> tuple[FloatArray, FloatArray]:
    # A group too large for one block: means first, then centred pieces; two passes over its features.
    index = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
    pieces = [slice(i, min(i + step, part.n_items)) for i in range(0, part.n_items, step)]

    def take(piece: slice) -> Any:
        here = index[piece]
        return features(slice(int(here[0]), int(here[-1]) + 1) if isinstance(rows, slice) else here)

    w = part.root_weight**2
    n_features = take(pieces[0]).shape[1]
    group = np.zeros((1, n_features))
    level = None if part.level is None else np.zeros((part.level_total.shape[0], n_features))
    for piece in pieces:
        Z = take(piece)
        group += (w[piece] / part.total[0]) @ Z
        if part.level is not None and level is not None:
            here = part.level[piece]
            place = here - here.min(), np.arange(here.shape[0])
            mean = sp.csr_array((w[piece] / part.level_total[here], place)) @ Z
            level[here.min() : here.min() + len(mean)] += mean
    M, b = np.zeros((n_features, n_features)), np.zeros((n_features, *part.target.shape[1:]))
    for piece in pieces:
        small = replace(
            part,
            n_items=piece.stop - piece.start,
            target=part.target[piece],
            root_weight=part.root_weight[piece],
            code=part.code[piece],
            level=None if part.level is None else part.level[piece],
        )
        G, g = _products(small.centre(take(piece), group, level), small.target)
        M += G
        b += g
    return M, b


def _products(T: Any, target: FloatArray) -> tuple[FloatArray, FloatArray]:
    with np.errstate(over="ignore", invalid="ignore"):  # the solver refuses a system that is not finite
        G = T.T @ T  # NumPy turns this into a symmetric rank-k update
    return np.asarray(G.toarray() if sp.issparse(T) else G), T.T @ target
