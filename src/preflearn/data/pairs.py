"""The distinct pairs of items that were compared, and how often each item of a pair won."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.data._checks import lock

__all__ = ["PairTable"]

IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairTable:
    """Distinct unordered pairs of items with counts of wins, losses and ties, as `Comparisons.pairs` returns them.

    How often did these two meet, and who won? A million votes on 200 items are at most 19,900 pairs.

    Parameters
    ----------
    low, high : array of shape (n_pairs,)
        Row numbers of the two items, ``low < high``; pairs are sorted by ``low``, then by ``high``.
    row : array of shape (n_comparisons,)
        Number of the pair that each comparison belongs to.
    sign : array of shape (n_comparisons,)
        1.0 where the first side is the lower item, else -1.0: ``sign * outcome`` is the outcome seen from the lower
        item.
    wins, losses, ties : array of shape (n_pairs,)
        Sums of the weights of comparisons (1 each without weights) that the lower item won, lost and tied.
    n_items : int
        Number of items, compared or not.

    Notes
    -----
    Building sorts the m comparisons once, O(m log m); `Comparisons` keeps the table, so asking again costs nothing.
    All arrays are read-only. Comparisons of weight 0 belong to a pair as others do and add nothing to its counts.

    Examples
    --------
    >>> from preflearn.data import Comparisons
    >>> pairs = Comparisons(3, [0, 1, 0, 2], [1, 0, 1, 0], [1, 1, -1, 0]).pairs
    >>> pairs
    PairTable(2 pairs of 3 items)
    >>> pairs.low, pairs.high
    (array([0, 0]), array([1, 2]))
    >>> pairs.wins, pairs.losses, pairs.ties
    (array([1., 0.]), array([2., 0.]), array([0., 1.]))
    >>> pairs.row, pairs.sign
    (array([0, 0, 0, 1]), array([ 1., -1.,  1., -1.]))
    """

    low: IntArray
    high: IntArray
    row: IntArray
    sign: FloatArray
    wins: FloatArray
    losses: FloatArray
    ties: FloatArray
    n_items: int

    @classmethod
    def build(
        cls, first: IntArray, second: IntArray, outcome: FloatArray, weight: FloatArray | None, n_items: int
    ) -> PairTable:
        """Return the pairs of comparisons given as checked columns."""
        code = np.minimum(first, second).astype(np.int64) * n_items + np.maximum(first, second)
        distinct, row = np.unique(code, return_inverse=True)
        row = row.astype(np.intp, copy=False)
        sign = np.where(first < second, 1.0, -1.0)
        given = np.ones(len(row)) if weight is None else weight
        won = np.sign(sign * outcome)
        wins, losses, ties = (_sums(row, given * (won == way), len(distinct)) for way in (1, -1, 0))
        low, high = (distinct // n_items).astype(np.intp), (distinct % n_items).astype(np.intp)
        for column in (low, high, row, sign, wins, losses, ties):
            lock(column)
        return cls(low, high, row, sign, wins, losses, ties, n_items)

    def __len__(self) -> int:
        return len(self.low)

    def __repr__(self) -> str:
        return f"PairTable({len(self)} pairs of {self.n_items} items)"

    @property
    def count(self) -> FloatArray:
        """How often each pair was compared: wins, losses and ties together, of shape (n_pairs,)."""
        return self.wins + self.losses + self.ties

    def sums(self, x: Any) -> FloatArray:
        """Return the sum of one number per comparison over the comparisons of each pair, of shape (n_pairs,).

        Examples
        --------
        >>> from preflearn.data import Comparisons
        >>> margins = Comparisons(3, [0, 1, 2], [1, 0, 0], [3, 1, 5])
        >>> margins.pairs.sums(margins.pairs.sign * margins.outcome)
        array([ 2., -5.])
        """
        return _sums(self.row, x, len(self))


def _sums(row: IntArray, x: Any, n_pairs: int) -> FloatArray:
    return np.bincount(row, x, n_pairs).astype(np.float64, copy=False)
