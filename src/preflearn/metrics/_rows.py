"""Rows of a metric: checked once, trusted below; and sums over all pairs of rows inside groups, listing none.

A pair weighs ``w_i w_j``. Sums over pairs are made by sorting and running sums.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from preflearn.data.fields import check_labels, check_real, check_weight, codes
from preflearn.exceptions import DataError
from preflearn.linalg.blocks import Indices, Sums, block_starts, dense_rank, sum_before

Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """Checked rows: true and predicted values, group codes without gaps, and weights or None."""

    truth: NDArray[Any]
    score: NDArray[Any]
    group: Indices
    n_groups: int
    weight: Floats | None


def check_rows(
    caller: str,
    truth: ArrayLike,
    score: ArrayLike,
    group: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    names: tuple[str, str, str] = ("y_true", "y_score", "qid"),
) -> Rows:
    """Check the rows of a metric and number its groups; ``names`` are the words of the caller's signature."""
    true_values = check_real(truth, None, names[0], caller, "row", exact=True)
    n_rows = len(true_values)
    scores = check_real(score, n_rows, names[1], caller, "row", exact=True)
    if n_rows == 0:
        raise DataError(code="no-rows-to-judge", owner=caller).says(
            "there are no rows to judge", "Pass at least two rows of one group"
        )
    weights = check_weight(weight, n_rows, caller, "row", "sample_weight")
    if weights is not None:
        # Every metric is a ratio, so the scale is free; a power of two changes no digit and rules out overflow.
        weights = np.ldexp(weights, -int(np.frexp(weights.max())[1]))
    number = codes(None if group is None else check_labels(group, n_rows, names[2], caller, "row"), n_rows)
    return Rows(true_values, scores, number, int(number.max()) + 1, weights)


def divide(numerator: NDArray[Any], denominator: NDArray[Any]) -> Floats:
    """Return the ratio, NaN where the denominator is 0."""
    ratio = np.full(len(denominator), np.nan)
    np.divide(numerator, denominator, out=ratio, where=denominator > 0)
    return ratio


def average_groups(caller: str, values: Floats, average: str | None, why: str, cure: str) -> float | Floats:
    """Return one value per group for ``average=None``, else the mean of the groups which have one (not NaN)."""
    if average is None:
        return values
    defined = ~np.isnan(values)
    if not defined.any():
        n_groups = len(values)
        where = "the only group" if n_groups == 1 else f"all {n_groups} groups"
        raise DataError(code="metric-undefined", owner=caller).says(f"undefined in {where}: {why}", cure)
    return float(np.mean(values[defined]))


# --- sums over pairs ------------------------------------------------------------------------------------------------


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
    """Sum the pair weights of each group by kind of pair; O(n log n), memory O(n)."""
    by_score = np.lexsort((rows.truth, rows.score, rows.group))
    group, score, truth = rows.group[by_score], rows.score[by_score], rows.truth[by_score]
    weight: Sums = np.ones(len(group), dtype=np.int64) if rows.weight is None else rows.weight[by_score]
    groups = block_starts(group)
    score_levels = block_starts(group, score)
    both_levels = block_starts(group, score, truth)
    score_differs = _pairs_across(weight, score_levels, groups, groups)
    truth_only = _pairs_across(weight, both_levels, score_levels, groups)
    rank = dense_rank(score_levels, groups, len(group))

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


def _pairs_across(weight: Sums, inner: Indices, outer: Indices, groups: Indices) -> Sums:
    """Sum w_i w_j over pairs in one outer block but different inner blocks; one sum per group."""
    # sum over inner blocks of (weight of the block) x (weight of the blocks before it in the same outer block)
    sums = np.add.reduceat(weight, inner)
    before = sum_before(sums, np.searchsorted(inner, outer))
    return np.add.reduceat(sums * before, np.searchsorted(inner, groups))


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
        ones_before = sum_before(one, starts)
        if weight is None:
            inverted = np.where(one, 0, ones_before)
        else:
            inverted = np.where(one, 0, weight * sum_before(one * weight, starts))
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
