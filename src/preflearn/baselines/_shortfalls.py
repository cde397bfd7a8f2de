"""Sums over pairs whose winner does not lead by a margin: of rows in groups, of which none is listed, or of a list.

A pair (i, j) of weight v, i preferred, is short of a margin t by m = max(0, t - f_i + f_j). All that a support vector
machine needs are sums over pairs with m > 0:

    count     Σ v
    total     Σ v m  = t count + p'f,       p = Σ v (e_j - e_i)
    slope     half the derivative of Σ v m² in f = t p + L f
    squares   Σ v m² = t total + slope'f

with L the Laplacian of these pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from preflearn.linalg.blocks import block_starts, dense_rank, sum_before
from preflearn.models.training_data import PairData, RowData
from preflearn.operators import FloatArray, IntArray

Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Shortfalls:
    """The pairs that are short of a margin; the module docstring has the sums."""

    margin: float
    f: FloatArray
    count: float
    p: FloatArray
    laplacian: Callable[[FloatArray], FloatArray]  # d -> L d

    @property
    def total(self) -> float:
        """Sum of shortfalls."""
        return float(self.margin * self.count + self.p @ self.f)

    @cached_property
    def slope(self) -> FloatArray:
        """Half the derivative of the sum of squares in f."""
        return self.margin * self.p + self.laplacian(self.f)

    @property
    def squares(self) -> float:
        """Sum of squared shortfalls."""
        return float(self.margin * self.total + self.slope @ self.f)


class Pairs(Protocol):
    """Weighted pairs of a winner and a loser."""

    def short_of(self, margin: float, f: FloatArray) -> Shortfalls:
        """Return the pairs whose winner leads by less than a margin."""
        ...


def pairs_of(data: RowData | PairData) -> Pairs:
    """Return the pairs that data prefer; ties are none."""
    if isinstance(data, RowData):
        return Implied.build(data)
    return Listed(*data.preferences())


@dataclass(frozen=True)
class Listed:
    """Pairs that are listed, m of them; every sum costs O(m)."""

    winner: IntArray
    loser: IntArray
    weight: FloatArray

    def short_of(self, margin: float, f: FloatArray) -> Shortfalls:
        """Return the pairs whose winner leads by less than a margin."""
        short = np.flatnonzero(f[self.winner] - f[self.loser] < margin)
        i, j, v = self.winner[short], self.loser[short], self.weight[short]

        def spread(beta: FloatArray) -> FloatArray:
            return np.asarray(np.bincount(i, beta, f.shape[0]) - np.bincount(j, beta, f.shape[0]), np.float64)

        return Shortfalls(margin, f, float(v.sum()), -spread(v), lambda d: spread(v * (d[i] - d[j])))


@dataclass(frozen=True)
class Implied:
    """All pairs of rows with different scores inside groups, none of them listed.

    Number the distinct scores of a group from 0. The numbers of two rows first differ at one bit, counted from the top;
    of the rows that agree above that bit, one *block*, those with bit 1 are preferred to those with bit 0. So each bit
    is a `Cut`, and each pair is in one of them: with k different scores in a group there are log2 k cuts.
    """

    code: IntArray
    size: IntArray  # rows of each group
    cuts: list[Cut]

    @classmethod
    def build(cls, data: RowData) -> Implied:
        """Return the pairs of scored rows; those of i and j weigh w_i w_j, or that over the weight of their group."""
        n, code, weight = data.n_items, data.code, data.pair_weight
        order = np.lexsort((data.y, code))
        group = code[order]
        rank = dense_rank(block_starts(group, data.y[order]), block_starts(group), n)
        bits = range(int(rank.max(initial=0)).bit_length())
        cuts = [Cut.build(order, group, rank, bit, weight) for bit in bits]
        return cls(code, np.bincount(code), [cut for cut in cuts if cut.rows.shape[0]])

    def short_of(self, margin: float, f: FloatArray) -> Shortfalls:
        """Return the pairs whose winner leads by less than a margin; O(n log n) for each cut."""
        f = f - (np.bincount(self.code, f) / self.size)[self.code]  # only differences inside groups are seen
        parts = [cut.short_of(margin, f) for cut in self.cuts]
        p = np.zeros(f.shape[0])
        for part in parts:
            p[part.rows] += np.where(part.winner, -part.degree, part.degree)

        def laplacian(d: FloatArray) -> FloatArray:
            out = np.zeros(d.shape[0])
            for part in parts:
                out[part.rows] += part.laplacian(d[part.rows])
            return out

        return Shortfalls(margin, f, sum(float(part.degree[part.winner].sum()) for part in parts), p, laplacian)


@dataclass(frozen=True)
class Cut:
    """Rows in blocks, those of a block in two halves: every winner is preferred to every loser of its block."""

    rows: IntArray
    block: IntArray  # of each row, sorted
    starts: IntArray
    winner: Booleans
    weight: FloatArray

    @classmethod
    def build(cls, order: IntArray, group: IntArray, rank: IntArray, bit: int, weight: FloatArray) -> Cut:
        """Return the cut at a bit of the ranks; ``order`` sorts rows by group and rank."""
        winner = (rank >> bit) & 1 == 1
        starts = block_starts(group, rank >> (bit + 1))
        size = np.diff(starts, append=order.shape[0])
        winners = np.add.reduceat(winner.astype(np.intp), starts)
        kept = np.repeat((winners > 0) & (winners < size), size)  # blocks with both halves
        block = np.repeat(np.arange(size.shape[0]), size)[kept]
        rows = order[kept]
        return cls(rows, block, block_starts(block), winner[kept], weight[rows])

    def short_of(self, margin: float, f: FloatArray) -> ShortPart:
        """Sort each block by utility, that of winners less the margin: a loser behind a winner is then too close."""
        value = f[self.rows] - margin * self.winner
        n = value.shape[0]
        rank = np.empty(n, dtype=np.int64)
        rank[np.argsort(value)] = np.arange(n)
        order = np.argsort(self.block * np.int64(n) + rank)  # quicker than to sort by two keys at once
        return ShortPart.build(self.rows[order], self.starts, self.winner[order], self.weight[order])


@dataclass(frozen=True)
class ShortPart:
    """Rows of a cut, sorted inside blocks so that a pair is short if its winner stands before its loser."""

    rows: IntArray
    starts: IntArray
    size: IntArray
    winner: Booleans
    of_winners: FloatArray  # weights, 0 for losers
    of_losers: FloatArray
    degree: FloatArray  # diagonal of L

    @classmethod
    def build(cls, rows: IntArray, starts: IntArray, winner: Booleans, weight: FloatArray) -> ShortPart:
        """Return the part, with the weight of the pairs of each row."""
        size = np.diff(starts, append=rows.shape[0])
        part = cls(rows, starts, size, winner, weight * winner, weight * ~winner, np.empty(0))
        return replace(part, degree=part._partners(np.ones(rows.shape[0])))

    def laplacian(self, d: FloatArray) -> FloatArray:
        """Return L d for rows in the order of the part."""
        return self.degree * d - self._partners(d)

    def _partners(self, d: FloatArray) -> FloatArray:
        """Return for each row i the sum of v_ij d_j over its pairs."""
        winners, losers = self.of_winners * d, self.of_losers * d
        behind = np.repeat(np.add.reduceat(losers, self.starts), self.size) - sum_before(losers, self.starts)
        return np.where(self.winner, self.of_winners * behind, self.of_losers * sum_before(winners, self.starts))
