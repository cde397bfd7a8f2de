"""Top-heavy metrics: how good the rows are which would be looked at first.

Rows are ranked inside their group by decreasing score. Equal scores leave the ranking open, and the choice moves
the numbers, so every metric names it: ``ties="average"`` is the expectation over random orders of tied rows, in
closed form; "worst" and "best" put the less, or the more, relevant rows first; "order" keeps the order of the input
rows, as LETOR's scripts do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from preflearn.data.fields import check_choice, check_count
from preflearn.exceptions import DataError, first_few
from preflearn.linalg.blocks import Indices, block_starts
from preflearn.metrics._rows import Floats, Rows, average_groups, check_rows, divide

_TIES = ("average", "worst", "best", "order")
_LARGEST_EXPONENT = 1000  # sums of 2**label stay below the largest float


class _Ranking(NamedTuple):
    """Rows in ranked order: labels, ranks from 1 inside the group, and where groups and blocks of tied rows start."""

    label: NDArray[Any]
    rank: Indices
    groups: Indices
    blocks: Indices


def mean_average_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    relevant: float = 1,
    ties: str = "average",
    undefined: str = "zero",
    average: str | None = "groups",
) -> float | Floats:
    """Average precision of each group, averaged over groups (MAP).

    Reading down the ranking, how pure is what I have read whenever I meet a relevant row?

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Relevance labels.
    y_score : array-like of shape (n,)
        Predicted scores; the highest is ranked first.
    qid : array-like of shape (n,), default=None
        Group of each row: numbers, strings or other hashable labels, in any order. None makes one group.
    relevant : float, default=1
        Labels of at least this value are relevant.
    ties : {"average", "worst", "best", "order"}, default="average"
        What equal predicted scores count as: the mean over their orders, the worst or the best order, or input
        order.
    undefined : {"zero", "skip"}, default="zero"
        Groups without a relevant row count 0 (LETOR's convention) or are left out (NaN for ``average=None``).
    average : {"groups", None}, default="groups"
        The mean over groups, or one value per group in sorted order of the labels.

    Returns
    -------
    float or ndarray of shape (n_groups,)
        Average precision, between 0 and 1.

    Notes
    -----
    AP is the mean over relevant rows of (relevant rows down to this one) / (its rank). In a block of s tied rows, R
    of them relevant, after t rows with R0 relevant ones, rank t + i holds a relevant row with probability R/s, and
    then there are R0 + 1 + (i-1)(R-1)/(s-1) relevant rows down to it on average. Cost O(n log n) time, O(n) memory.

    Examples
    --------
    >>> from preflearn.metrics import mean_average_precision
    >>> mean_average_precision([1, 0, 2, 0], [0.9, 0.8, 0.7, 0.1])
    0.8333333333333333
    >>> mean_average_precision([1, 0], [0.5, 0.5]), mean_average_precision([1, 0], [0.5, 0.5], ties="worst")
    (0.75, 0.5)
    """
    caller = "mean_average_precision"
    check_choice(undefined, ("zero", "skip"), "undefined", caller)
    rows = _check(caller, y_true, y_score, qid, ties, average)
    ranking = _rank_rows(rows, ties)
    hit = (ranking.label >= relevant).astype(np.float64)
    sizes = np.diff(ranking.blocks, append=len(hit))
    in_block = np.add.reduceat(hit, ranking.blocks)
    block_groups = np.searchsorted(ranking.blocks, ranking.groups)
    in_group = np.add.reduceat(hit, ranking.groups)
    # counts of 0 and 1 are exact in floats, so the global running sum loses nothing
    earlier_groups = np.repeat(np.cumsum(in_group) - in_group, np.diff(block_groups, append=len(sizes)))
    before = np.cumsum(in_block) - in_block - earlier_groups
    slope = divide(in_block - 1, sizes - 1)
    slope[sizes == 1] = 0
    place = np.arange(len(hit)) - np.repeat(ranking.blocks, sizes)  # i - 1
    hits_down_to = np.repeat(before + 1, sizes) + place * np.repeat(slope, sizes)
    gained = np.repeat(in_block / sizes, sizes) * hits_down_to / ranking.rank
    values = divide(np.add.reduceat(gained, ranking.groups), in_group)
    return _finish(caller, values, undefined, average, f"no label reaches relevant={relevant}")


def ndcg(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int | None = None,
    qid: ArrayLike | None = None,
    gain: str = "exponential",
    discount: str = "log2",
    ties: str = "average",
    undefined: str = "zero",
    average: str | None = "groups",
) -> float | Floats:
    """Discounted cumulative gain of each group as a share of the best possible (NDCG).

    How much of the attainable value lies near the top, when lower ranks are seen less often?

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Relevance labels, 0 or more.
    y_score, qid, average
        As for `mean_average_precision`.
    k : int, default=None
        Only the first k ranks count; None counts all.
    gain : {"exponential", "linear"}, default="exponential"
        Value of a row: 2**label - 1, or the label.
    discount : {"log2", "letor"}, default="log2"
        "log2" is 1 / log2(1 + rank); "letor" leaves ranks 1 and 2 undiscounted, then 1 / log2(rank).
    ties : {"average", "worst", "best", "order"}, default="average"
        What equal predicted scores count as; with the default, `sklearn.metrics.ndcg_score` with linear gain is the
        same.
    undefined : {"zero", "skip", "one"}, default="zero"
        Groups whose labels are all 0 count 0 (LETOR's convention), are left out, or count 1.

    Returns
    -------
    float or ndarray of shape (n_groups,)
        NDCG, between 0 and 1.

    Notes
    -----
    DCG = sum over ranks of gain x discount; tied rows share the mean of their gains. Cost O(n log n) time, O(n)
    memory.

    Examples
    --------
    >>> from preflearn.metrics import ndcg
    >>> round(ndcg([2, 0, 1], [0.9, 0.8, 0.1]), 4)
    0.9639
    >>> round(ndcg([2, 0, 1], [0.9, 0.8, 0.1], k=2, gain="linear", discount="letor"), 4)
    0.6667
    """
    caller = "ndcg"
    check_choice(gain, ("exponential", "linear"), "gain", caller)
    check_choice(discount, ("log2", "letor"), "discount", caller)
    check_choice(undefined, ("zero", "skip", "one"), "undefined", caller)
    rows = _check(caller, y_true, y_score, qid, ties, average)
    depth = len(rows.truth) if k is None else check_count(k, "k", caller)
    _check_labels(caller, rows.truth, gain)
    ranking, ideal = _rank_rows(rows, ties), _rank_rows(rows._replace(score=rows.truth), "order")

    def gained(order: _Ranking) -> Floats:
        label = order.label.astype(np.float64)
        value = np.exp2(label) - 1 if gain == "exponential" else label
        shown = 1 / np.log2(1 + order.rank) if discount == "log2" else 1 / np.log2(np.maximum(order.rank, 2))
        return _expected_sum(order, value, np.where(order.rank <= depth, shown, 0.0))

    values = divide(gained(ranking), gained(ideal))
    return _finish(caller, values, undefined, average, "all labels are 0")


def precision_at_k(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int,
    qid: ArrayLike | None = None,
    relevant: float = 1,
    ties: str = "average",
    average: str | None = "groups",
) -> float | Floats:
    """Share of the first k ranks of each group which hold a relevant row.

    If I look at k rows of each group, how many of them are worth it?

    Parameters
    ----------
    y_true, y_score, qid, relevant, ties, average
        As for `mean_average_precision`.
    k : int
        Number of ranks looked at. The sum is divided by k also where a group has fewer rows (LETOR's convention): a
        group of three relevant rows has precision 0.6 at 5.

    Returns
    -------
    float or ndarray of shape (n_groups,)
        Precision, between 0 and 1; groups without a relevant row count 0.

    Notes
    -----
    Cost O(n log n) time, O(n) memory.

    Examples
    --------
    >>> from preflearn.metrics import precision_at_k
    >>> precision_at_k([1, 0, 2, 0], [0.9, 0.8, 0.7, 0.1], k=2)
    0.5
    >>> precision_at_k([1, 0, 0], [0.5, 0.5, 0.1], k=1, ties="best")
    1.0
    """
    caller = "precision_at_k"
    rows = _check(caller, y_true, y_score, qid, ties, average)
    depth = check_count(k, "k", caller)
    ranking = _rank_rows(rows, ties)
    hit = (ranking.label >= relevant).astype(np.float64)
    values = _expected_sum(ranking, hit, (ranking.rank <= depth).astype(np.float64)) / depth
    return _finish(caller, values, "zero", average, "")


def _check(
    caller: str, y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None, ties: str, average: str | None
) -> Rows:
    check_choice(ties, _TIES, "ties", caller)
    check_choice(average, ("groups", None), "average", caller)
    return check_rows(caller, y_true, y_score, qid)


def _check_labels(caller: str, label: NDArray[Any], gain: str) -> None:
    if label.min() < 0:
        bad = np.flatnonzero(label < 0)
        raise DataError(code="gain-of-negative-label", owner=caller).says(
            f"{len(bad)} of {len(label)} labels are negative (rows {first_few(bad)})",
            "Labels must be 0 or more: shift them, for example by y_true - min(y_true)",
        )
    if gain == "exponential" and label.max() > _LARGEST_EXPONENT:
        raise DataError(code="gain-overflows", owner=caller).says(
            f"the largest label is {label.max()}, and the exponential gain 2**label of it overflows",
            "Pass gain='linear', or labels on a short scale such as 0 to 4",
        )


def _rank_rows(rows: Rows, ties: str) -> _Ranking:
    """Sort the rows by group and decreasing score; a block is a set of rows whose order is open."""
    score = -np.unique(rows.score, return_inverse=True)[1]  # ranks, as unsigned scores cannot be negated
    keys = [score, rows.group]
    if ties in ("worst", "best"):
        level = np.unique(rows.truth, return_inverse=True)[1]
        keys.insert(0, level if ties == "worst" else -level)
    order = np.lexsort(keys)
    group = rows.group[order]
    groups = block_starts(group)
    row = np.arange(len(order))
    rank = row - np.repeat(groups, np.diff(groups, append=len(order))) + 1
    blocks = block_starts(group, score[order]) if ties == "average" else row
    return _Ranking(rows.truth[order], rank, groups, blocks)


def _expected_sum(ranking: _Ranking, value: Floats, shown: Floats) -> Floats:
    """Sum value x shown over each group, tied rows sharing the mean of their values."""
    sizes = np.diff(ranking.blocks, append=len(value))
    mean = np.add.reduceat(value, ranking.blocks) / sizes
    per_block = mean * np.add.reduceat(shown, ranking.blocks)
    return np.add.reduceat(per_block, np.searchsorted(ranking.blocks, ranking.groups))


def _finish(caller: str, values: Floats, undefined: str, average: str | None, why: str) -> float | Floats:
    if undefined != "skip":
        values = np.where(np.isnan(values), 1.0 if undefined == "one" else 0.0, values)
    cure = "Pass groups with a relevant row, or undefined='zero'"
    return average_groups(caller, values, average, why, cure)
