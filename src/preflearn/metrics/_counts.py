"""Sums over all pairs of rows inside groups, without listing a pair.

A pair of rows weighs ``w_i w_j``. Pairs are told apart by sorting and by running sums which restart at every block;
every sum has only non-negative terms, so a sum which should be 0 is exactly 0, and without weights all are exact
integers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflearn.metrics._inputs import Indices, Rows

Sums = NDArray[Any]  # int64 without weights, float64 with them


class PairSums(NamedTuple):
    """Weight of the pairs of each kind, one value per group."""

    total: Sums
    truth_differs: Sums
    score_differs: Sums
    truth_only: Sums
    """Different true values, equal scores."""
    score_only: Sums
    """Equal true values, different scores."""
    discordant: Sums

    @property
    def concordant(self) -> Sums:
        """Weight of the pairs in the right order."""
        right: Sums = np.maximum(self.truth_differs - self.truth_only - self.discordant, 0)
        return right


def pair_sums(rows: Rows) -> PairSums:
    """Sum the pair weights of each group by kind of pair.

    Cost O(n log n) for the two sorts and O(n log r) for the inversions, r the largest number of different scores in
    a group; memory O(n). No loop over rows, pairs or groups.
    """
    by_score = np.lexsort((rows.truth, rows.score, rows.group))
    group, score, truth = rows.group[by_score], rows.score[by_score], rows.truth[by_score]
    weight: Sums = np.ones(len(group), dtype=np.int64) if rows.weight is None else rows.weight[by_score]
    groups = block_starts(group)
    score_levels = block_starts(group, score)
    both_levels = block_starts(group, score, truth)
    score_differs = _pairs_across(weight, score_levels, groups, groups)
    truth_only = _pairs_across(weight, both_levels, score_levels, groups)
    rank = _dense_rank(score_levels, groups, len(group))

    by_truth = np.lexsort((truth, group))  # stable: equal truths stay in order of score, so they hold no inversion
    truth, weight, rank = truth[by_truth], weight[by_truth], rank[by_truth]
    truth_levels = block_starts(group, truth)  # the column of groups is the same in both orders
    both_levels = block_starts(group, truth, rank)
    return PairSums(
        total=_pairs_across(weight, np.arange(len(group)), groups, groups),
        truth_differs=_pairs_across(weight, truth_levels, groups, groups),
        score_differs=score_differs,
        truth_only=truth_only,
        score_only=_pairs_across(weight, both_levels, truth_levels, groups),
        discordant=_inversions(rank, None if rows.weight is None else weight, groups),
    )


def block_starts(*columns: NDArray[Any]) -> Indices:
    """Return the rows at which any column changes, with row 0; the rows are sorted by these columns."""
    changes = columns[0][1:] != columns[0][:-1]
    for column in columns[1:]:
        changes |= column[1:] != column[:-1]
    return np.concatenate(([0], np.flatnonzero(changes) + 1))


def average_ranks(values: NDArray[Any], group: Indices) -> NDArray[np.float64]:
    """Rank the rows inside their group from 1, equal values sharing the mean of their ranks, in O(n log n)."""
    order = np.lexsort((values, group))
    sorted_group = group[order]
    levels, groups = block_starts(sorted_group, values[order]), block_starts(sorted_group)
    sizes = np.diff(levels, append=len(order))
    offsets = groups[np.searchsorted(groups, levels, side="right") - 1]
    ranks = np.empty(len(order))
    ranks[order] = np.repeat(levels - offsets + (sizes + 1) / 2, sizes)
    return ranks


def _dense_rank(levels: Indices, groups: Indices, n_rows: int) -> Indices:
    """Return numbers of the levels inside each group from 0, one number per row."""
    first = np.searchsorted(levels, groups)
    number = np.arange(len(levels)) - np.repeat(first, np.diff(first, append=len(levels)))
    return np.repeat(number, np.diff(levels, append=n_rows))


def _pairs_across(weight: Sums, inner: Indices, outer: Indices, groups: Indices) -> Sums:
    """Sum w_i w_j over pairs in one outer block but different inner blocks; one sum per group."""
    # sum over inner blocks of (weight of the block) x (weight of the blocks before it in the same outer block)
    sums = np.add.reduceat(weight, inner)
    before = _sum_before(sums, np.searchsorted(inner, outer))
    return np.add.reduceat(sums * before, np.searchsorted(inner, groups))


def _sum_before(values: Sums, starts: Indices) -> Sums:
    """Sum the values before each row, inside its block.

    A cumulative sum over all rows would lose the digits of small blocks behind large ones. Here each block first
    takes away the sum of the block before it, and what rounding leaves over is taken away again from all rows of
    the block.
    """
    steps = values.copy()
    steps[starts[1:]] -= np.add.reduceat(values, starts)[:-1]
    running = np.cumsum(steps)
    sizes = np.diff(starts, append=len(values))
    inclusive: Sums = running - np.repeat(running[starts], sizes)
    inclusive += np.repeat(values[starts], sizes)
    before: Sums = np.empty_like(inclusive)
    before[1:] = inclusive[:-1]
    before[starts] = 0
    return before


def _inversions(rank: Indices, weight: Sums | None, groups: Indices) -> Sums:
    """Sum w_i w_j over i before j with rank_i > rank_j, inside each group.

    The two ranks of a pair first differ at one bit, counted from the top. Rows are kept in blocks which agree in
    the bits seen so far; inside a block, a row whose next bit is 0 is inverted with the rows before it whose next
    bit is 1. A stable partition by that bit then makes the blocks of the next pass, of which there are log2 of the
    largest rank.
    """
    row = np.arange(len(rank))
    starts = groups
    total = np.zeros(len(groups), dtype=np.int64 if weight is None else np.float64)
    for bit in reversed(range(int(rank.max()).bit_length())):
        one = (rank >> bit) & 1
        ones_before = _sum_before(one, starts)
        if weight is None:
            inverted = np.where(one, 0, ones_before)
        else:
            inverted = np.where(one, 0, weight * _sum_before(one * weight, starts))
        total += np.add.reduceat(inverted, groups)
        if bit == 0:
            break
        sizes = np.diff(starts, append=len(rank))
        middle = starts + sizes - np.add.reduceat(one, starts)  # where the ones of each block will begin
        target = np.where(one, np.repeat(middle, sizes) + ones_before, row - ones_before)
        rank = _scatter(rank, target)
        weight = None if weight is None else _scatter(weight, target)
        split = (middle > starts) & (middle < starts + sizes)
        starts = np.sort(np.concatenate((starts, middle[split])))
    return total


def _scatter(values: Sums, target: Indices) -> Sums:
    moved = np.empty_like(values)
    moved[target] = values
    return moved
