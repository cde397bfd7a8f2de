"""Weights of pairs under boosting: of scored rows in groups, where they factorise and no pair is listed, or of a list.

With utilities f after some rounds, a pair (i, j) with i preferred weighs D_ij = v_ij exp(f_j - f_i). Inside a group
v_ij = w_i w_j, so that D_ij = a_i b_j with a = w exp(-f) and b = w exp(f), and sums over all pairs are sums over rows
and over the levels of equal scores. The bipartite case has two levels. Factors and sums are kept as logarithms: where
utilities are far apart, a and b are beyond what a number can hold, and D_ij is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from preflearn.linalg.blocks import block_starts, log_sum_before
from preflearn.models.training_data import PairData, RowData
from preflearn.operators import FloatArray, IntArray

Booleans = NDArray[np.bool_]


class Weighed(Protocol):
    """The weights at some utilities, up to a common factor."""

    @property
    def total(self) -> float:
        """Sum of all weights."""
        ...

    @property
    def pull(self) -> FloatArray:
        """Of each row, the weight of the pairs that it should win less that of those that it should lose."""
        ...

    def split(self, above: Booleans) -> tuple[float, float]:
        """Return the weights of the pairs with only the winner, and with only the loser, among some rows."""
        ...


class PairWeights(Protocol):
    """Pairs to be weighed."""

    def at(self, f: FloatArray) -> Weighed:
        """Return the weights at utilities f."""
        ...


def weights_of(data: RowData | PairData) -> PairWeights:
    """Return the pairs that data prefer; ties are none."""
    if isinstance(data, RowData):
        return Graded.build(data)
    return Listed(*data.preferences())


@dataclass(frozen=True)
class Listed:
    """Pairs that are listed, m of them: O(m) a round."""

    winner: IntArray
    loser: IntArray
    weight: FloatArray

    def at(self, f: FloatArray) -> ListedWeights:
        """Return the weights at utilities f."""
        behind = f[self.loser] - f[self.winner]
        D = self.weight * np.exp(behind - behind.max(initial=-np.inf))
        return ListedWeights(self, D, f.shape[0])


@dataclass(frozen=True)
class ListedWeights:
    """One weight for each pair."""

    pairs: Listed
    D: FloatArray
    n_items: int

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return float(self.D.sum())

    @property
    def pull(self) -> FloatArray:
        """Of each row, the weight of the pairs that it should win less that of those that it should lose."""
        wins, losses = (np.bincount(side, self.D, self.n_items) for side in (self.pairs.winner, self.pairs.loser))
        return np.asarray(wins - losses, dtype=np.float64)

    def split(self, above: Booleans) -> tuple[float, float]:
        """Return the weights of the pairs with only the winner, and with only the loser, among some rows."""
        winner, loser = above[self.pairs.winner], above[self.pairs.loser]
        return float(self.D[winner & ~loser].sum()), float(self.D[loser & ~winner].sum())


@dataclass(frozen=True)
class Graded:
    """All pairs of rows with different scores inside groups: O(n) a round."""

    rows: IntArray  # sorted by group and score
    log_weight: FloatArray
    levels: IntArray  # where levels start among the sorted rows
    level_groups: IntArray  # where groups start among the levels

    @classmethod
    def build(cls, data: RowData) -> Graded:
        """Return the pairs of scored rows; those of i and j weigh w_i w_j, or that over the weight of their group."""
        rows = np.lexsort((data.y, data.code))
        code = data.code[rows]
        groups, levels = block_starts(code), block_starts(code, data.y[rows])
        with np.errstate(divide="ignore"):
            log_weight = np.log(data.pair_weight[rows])
        return cls(rows, log_weight, levels, np.searchsorted(levels, groups))

    def at(self, f: FloatArray) -> GradedWeights:
        """Return the weights at utilities f; those of the row that wins most weigh 1."""
        f = f[self.rows]
        log_a, log_b = self.log_weight - f, self.log_weight + f
        largest = (log_a + self.lower(log_b)).max()
        return GradedWeights(self, log_a - largest if np.isfinite(largest) else log_a, log_b)

    def lower(self, x: FloatArray) -> FloatArray:
        """Return for each sorted row log Σ exp(x) over the rows of its group with lower scores."""
        return self._spread(log_sum_before(np.logaddexp.reduceat(x, self.levels), self.level_groups))

    def higher(self, x: FloatArray) -> FloatArray:
        """Return for each sorted row log Σ exp(x) over the rows of its group with higher scores."""
        sums = np.logaddexp.reduceat(x, self.levels)[::-1]
        turned = sums.shape[0] - np.append(self.level_groups[1:], sums.shape[0])[::-1]
        return self._spread(log_sum_before(sums, turned)[::-1])

    def _spread(self, x: FloatArray) -> FloatArray:
        return np.repeat(x, np.diff(self.levels, append=self.rows.shape[0]))


@dataclass(frozen=True)
class GradedWeights:
    """Weights a_i b_j of the winners and losers of all pairs."""

    pairs: Graded
    log_a: FloatArray
    log_b: FloatArray

    @cached_property
    def won(self) -> FloatArray:
        """Of each sorted row, the weight of the pairs that it should win."""
        return np.asarray(np.exp(self.log_a + self.pairs.lower(self.log_b)))

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return float(self.won.sum())

    @property
    def pull(self) -> FloatArray:
        """Of each row, the weight of the pairs that it should win less that of those that it should lose."""
        pull = np.empty(self.won.shape[0])
        pull[self.pairs.rows] = self.won - np.exp(self.log_b + self.pairs.higher(self.log_a))
        return pull

    def split(self, above: Booleans) -> tuple[float, float]:
        """Return the weights of the pairs with only the winner, and with only the loser, among some rows."""
        above = above[self.pairs.rows]
        return self._across(above), self._across(~above)

    def _across(self, won: Booleans) -> float:
        """Return the weight of the pairs with the winner, but not the loser, among some sorted rows."""
        log_lost = self.pairs.lower(np.where(won, -np.inf, self.log_b))
        return float(np.exp(self.log_a + log_lost)[won].sum())
