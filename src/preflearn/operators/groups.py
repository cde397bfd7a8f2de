"""Rows by themselves and all pairs inside groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from preflearn.operators._contract import FloatArray, IntArray, RowIndex

__all__ = ["Groups", "Rows", "like"]


@dataclass(frozen=True)
class Rows:
    """Each item is seen by itself: C = diag(sqrt(w)), ordinary least squares."""

    target: FloatArray
    root_weight: FloatArray
    n_items: int

    @classmethod
    def build(cls, y: FloatArray, weight: FloatArray | None = None) -> Rows:
        """Return the operator for scores y (n,) with weights (n,)."""
        h = np.ones_like(y) if weight is None else np.sqrt(weight)
        return cls(h * y, h, y.shape[0])

    def apply(self, F: FloatArray) -> FloatArray:
        """Return diag(sqrt(w)) F."""
        return self.root_weight[:, None] * F if F.ndim == 2 else self.root_weight * F

    def adjoint(self, U: FloatArray) -> FloatArray:
        """Return diag(sqrt(w)) U."""
        return self.apply(U)


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
        """Return the operator for scores y (n,) in groups ``code`` (n,), numbered from 0."""
        n = y.shape[0]
        code = np.zeros(n, dtype=np.intp) if code is None else code
        w = np.ones(n) if weight is None else weight
        total = np.asarray(np.bincount(code, weights=w), dtype=np.float64)
        share = np.ones_like(total) if weighting == "pairs" else 1.0 / total
        level: IntArray | None = None
        level_total: FloatArray = np.empty(0)
        inner: FloatArray = np.empty(0)
        if ties == "exclude":
            order = np.lexsort((y, code))
            new = np.empty(n, dtype=bool)
            new[:1] = True
            new[1:] = (np.diff(code[order]) != 0) | (np.diff(y[order]) != 0)
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

    def _weighted(self, label: IntArray, scale: FloatArray) -> Any:
        # The sparse matrix that sums rows by label; labels 0..k-1 all occur, so each has its stretch of sorted rows.
        size = np.bincount(label)
        start = np.concatenate([[0], np.cumsum(size)])
        rows = np.arange(self.n_items)
        if not (label[1:] >= label[:-1]).all():
            rows = np.argsort(label, kind="stable")
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
    def blind(self) -> NDArray[np.bool_]:
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

    def order(self) -> RowIndex:
        """Return rows sorted by group (stable), as a slice where they already are."""
        if np.all(self.code[1:] >= self.code[:-1]):
            return slice(0, self.n_items)
        return np.argsort(self.code, kind="stable")

    def chunks(self, max_rows: int) -> Iterator[tuple[RowIndex, Groups]]:
        """Yield (rows, operator on these rows) over whole groups, packed to about ``max_rows`` rows."""
        order = self.order()
        size = np.bincount(self.code, minlength=self.n_groups)
        end = np.cumsum(size)
        first = 0
        while first < self.n_groups:
            start = int(end[first] - size[first])
            last = max(first + 1, int(np.searchsorted(end, start + max_rows, side="right")))
            stop = int(end[last - 1])
            rows = slice(start, stop) if isinstance(order, slice) else order[start:stop]
            yield rows, self._restrict(rows, first, last, stop - start)
            first = last

    def _restrict(self, rows: RowIndex, first: int, last: int, n: int) -> Groups:
        level, level_total, inner = None, self.level_total, self.inner
        if self.level is not None:
            level = self.level[rows]
            low, high = int(level.min()), int(level.max()) + 1
            level, level_total, inner = level - low, level_total[low:high], inner[low:high]
        return Groups(
            self.target[rows],
            n,
            self.root_weight[rows],
            self.code[rows] - first,
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


def like(v: FloatArray, F: FloatArray) -> FloatArray:
    """Return v shaped to scale the rows of F."""
    return v[:, None] if F.ndim == 2 else v
