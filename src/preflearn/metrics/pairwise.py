"""Metrics of pairs: the share of them ordered wrongly, and how far predicted differences are from given ones.

Pairs are formed inside groups (``qid``) and never listed: every metric costs O(n log n) time and O(n) memory for n
rows, however large the groups. Ties are where such metrics differ, so each one says what it does with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from preflearn.data import Comparisons
from preflearn.data.fields import check_choice
from preflearn.linalg.blocks import block_starts
from preflearn.metrics._rows import Floats, Rows, average_groups, average_ranks, check_rows, divide, pair_sums

_NO_PAIR = "no two rows of a group (with positive weight) have different true values"
_NO_PAIR_CURE = "Pass rows with different true values in one group, and check that qid is not unique to each row"


def disagreement_error(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ties: str = "exclude",
    average: str | None = "groups",
) -> float | Floats:
    """Share of the pairs of a group that are ordered wrongly.

    How often would I be misled if I compared two rows by their predicted scores? 0 is perfect, 1/2 is chance.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True scores; only their order inside a group matters.
    y_score : array-like of shape (n,)
        Predicted scores.
    qid : array-like of shape (n,), default=None
        Group of each row: numbers, strings or other hashable labels, in any order. None makes one group.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows; a pair weighs w_i w_j.
    ties : {"exclude", "include"}, default="exclude"
        Whether pairs with equal true scores are left out or counted; see Notes.
    average : {"groups", "pairs", None}, default="groups"
        "groups" is the mean over the groups which have a counted pair (the papers' error per query or sentence),
        "pairs" pools the pairs of all groups, None gives one value per group in sorted order of the labels, NaN
        where undefined.

    Returns
    -------
    float or ndarray of shape (n_groups,)
        The error, between 0 and 1.

    Notes
    -----
    A pair with different true scores costs 1 if it is reversed and 1/2 if its predicted scores are equal. With
    ``ties="include"`` a pair with equal true scores costs 1/2 if its predicted scores differ, else 0. That is (3)
    of RankRLS (2007), where sign(0) = 0, and (4) of KPCRank (2008), where sign(0) = -1, each divided by its value
    when all pairs are reversed: KPCRank's sum runs over both orders of a pair, and its one-sided sign charges a tie
    in one of the two.

    Cost O(n log n) time and O(n) memory. *Differences from the papers*: their sums are divided by the (weighted)
    number of pairs; pairs with equal true scores are left out by default.

    Examples
    --------
    >>> from preflearn.metrics import disagreement_error
    >>> disagreement_error([1, 2, 3], [0.1, 0.3, 0.2])  # one of three pairs is reversed
    0.3333333333333333
    >>> disagreement_error([1, 2, 2, 5], [1, 1, 3, 4], qid=["a", "a", "b", "b"], average=None)
    array([0.5, 0. ])
    >>> disagreement_error([1, 1, 2], [1, 2, 3], ties="include")
    0.16666666666666666
    """
    caller = "disagreement_error"
    check_choice(ties, ("exclude", "include"), "ties", caller)
    check_choice(average, ("groups", "pairs", None), "average", caller)
    sums = pair_sums(check_rows(caller, y_true, y_score, qid, sample_weight))
    why, cure = _NO_PAIR, _NO_PAIR_CURE
    if ties == "exclude":
        cost, counted = sums.discordant + sums.truth_only / 2, sums.truth_differs
    else:
        cost, counted = sums.discordant + (sums.truth_only + sums.score_only) / 2, sums.total
        why, cure = "no group has two rows (with positive weight)", "Check that qid is not unique to each row"
    if average == "pairs":
        cost, counted = cost.sum(keepdims=True), counted.sum(keepdims=True)
    return average_groups(caller, divide(cost, counted), average, why, cure)


def concordance_index(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Share of the pairs with different true scores that are ordered correctly, over all groups.

    If I draw a pair of rows that can be told apart, how likely is it that the prediction orders them correctly?
    1 is perfect, 1/2 is chance; for two true values in one group it is the area under the ROC curve.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight
        As for `disagreement_error`.

    Returns
    -------
    float
        (concordant + tied in score / 2) / comparable, pooled over groups.

    Notes
    -----
    Equals ``1 - disagreement_error(..., ties="exclude", average="pairs")``. Cost O(n log n) time, O(n) memory.

    Examples
    --------
    >>> from preflearn.metrics import concordance_index
    >>> concordance_index([1, 2, 3, 3], [0.1, 0.3, 0.2, 0.3])  # of five pairs one is reversed and one tied
    0.7
    """
    caller = "concordance_index"
    sums = pair_sums(check_rows(caller, y_true, y_score, qid, sample_weight))
    right = np.atleast_1d((sums.concordant + sums.truth_only / 2).sum())
    share = divide(right, np.atleast_1d(sums.truth_differs.sum()))
    return float(average_groups(caller, share, "groups", _NO_PAIR, _NO_PAIR_CURE))


def kendall_tau_b(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    average: str | None = "groups",
) -> float | Floats:
    """Kendall's rank correlation tau_b of each group.

    How strongly do the two orders agree, when ties on either side are discounted? 1 is the same order, -1 the
    reverse.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight
        As for `disagreement_error`.
    average : {"groups", None}, default="groups"
        The mean over the groups in which neither side is constant, or one value per group.

    Returns
    -------
    float or ndarray of shape (n_groups,)
        tau_b = (concordant - discordant) / sqrt(pairs which differ in truth x pairs which differ in score).

    Notes
    -----
    Without weights each group's value is `scipy.stats.kendalltau` of the group. Cost O(n log n) time, O(n) memory.

    Examples
    --------
    >>> from preflearn.metrics import kendall_tau_b
    >>> kendall_tau_b([1, 2, 3, 1, 2], [1, 3, 2, 9, 5], qid=[0, 0, 0, 1, 1], average=None).round(4)
    array([ 0.3333, -1.    ])
    """
    caller = "kendall_tau_b"
    check_choice(average, ("groups", None), "average", caller)
    sums = pair_sums(check_rows(caller, y_true, y_score, qid, sample_weight))
    scale = np.sqrt(sums.truth_differs.astype(np.float64) * sums.score_differs)
    tau = np.clip(divide(sums.concordant - sums.discordant, scale), -1, 1)
    why = "in every group the true values or the scores are constant"
    return average_groups(caller, tau, average, why, "Pass groups in which both differ between rows")


def spearman(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    ties: str = "average",
    average: str | None = "groups",
) -> float | Floats:
    """Spearman's rank correlation of each group.

    How close are the predicted ranks to the true ones, large displacements counting most?

    Parameters
    ----------
    y_true, y_score, qid
        As for `disagreement_error`.
    ties : {"average", "formula"}, default="average"
        Equal values share the mean of their ranks. "average" is then the correlation of the ranks (as
        `scipy.stats.spearmanr`), undefined where either side is constant; "formula" puts them into the formula of
        the paper as they are. The two agree where there are no ties.
    average : {"groups", None}, default="groups"
        The mean over the groups where it is defined, or one value per group.

    Returns
    -------
    float or ndarray of shape (n_groups,)
        The correlation, between -1 and 1.

    Notes
    -----
    Chu and Ghahramani (2005): ``1 - 6 sum_a (l_a - l~_a)^2 / (L (L^2 - 1))`` for L rows with ranks l and l~. Cost
    O(n log n) time, O(n) memory. *Differences from the paper*: none with ``ties="formula"``; the paper does not
    speak of ties.

    Examples
    --------
    >>> from preflearn.metrics import spearman
    >>> spearman([1, 2, 3, 4], [10, 30, 20, 40])
    0.8
    >>> spearman([1, 1, 2], [5, 6, 7]), spearman([1, 1, 2], [5, 6, 7], ties="formula")
    (0.8660254037844387, 0.875)
    """
    caller = "spearman"
    check_choice(ties, ("average", "formula"), "ties", caller)
    check_choice(average, ("groups", None), "average", caller)
    rows = check_rows(caller, y_true, y_score, qid)
    order = np.argsort(rows.group, kind="stable")
    groups = block_starts(rows.group[order])
    sizes = np.diff(groups, append=len(order)).astype(np.float64)
    true_rank = average_ranks(rows.truth, rows.group)[order]
    rank = average_ranks(rows.score, rows.group)[order]
    if ties == "formula":
        distance = np.add.reduceat((true_rank - rank) ** 2, groups)
        values = 1 - divide(6 * distance, sizes * (sizes**2 - 1))
        why, cure = "no group has two rows", "Check that qid is not unique to each row"
    else:
        middle = np.repeat((sizes + 1) / 2, sizes.astype(np.intp))
        true_rank, rank = true_rank - middle, rank - middle
        spread = np.sqrt(np.add.reduceat(true_rank**2, groups) * np.add.reduceat(rank**2, groups))
        values = np.clip(divide(np.add.reduceat(true_rank * rank, groups), spread), -1, 1)
        why = "in every group the true values or the scores are constant"
        cure = "Pass groups in which both differ between rows"
    return average_groups(caller, values, average, why, cure)


def pairwise_accuracy(
    outcome: ArrayLike,
    margin: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    group: ArrayLike | None = None,
    average: str | None = "pairs",
) -> float | Floats:
    """Share of the listed comparisons whose winner is predicted.

    How often does the predicted winner win?

    Parameters
    ----------
    outcome : array-like of shape (m,)
        Positive where the first item was preferred, negative where the second was, 0 for a tie (left out).
    margin : array-like of shape (m,)
        Predicted utility of the first item less that of the second; 0 counts 1/2.
    sample_weight : array-like of shape (m,), default=None
        Weights of the comparisons.
    group : array-like of shape (m,), default=None
        Group of each comparison, such as its judge; only used by the averages over groups.
    average : {"pairs", "groups", None}, default="pairs"
        Over all comparisons, the mean over the groups which have one that counts, or one value per group.

    Returns
    -------
    float or ndarray of shape (n_groups,)
        The accuracy, between 0 and 1.

    Notes
    -----
    Cost O(m), and O(m log m) to number groups.

    Examples
    --------
    >>> from preflearn.metrics import pairwise_accuracy
    >>> pairwise_accuracy([1, -1, 1, 0], [0.4, -2.0, 0.0, 3.0])
    0.8333333333333334
    """
    caller = "pairwise_accuracy"
    check_choice(average, ("pairs", "groups", None), "average", caller)
    rows = check_rows(caller, outcome, margin, group, sample_weight, ("outcome", "margin", "group"))
    values = _listed_means(rows, (1 + np.sign(rows.truth) * np.sign(rows.score)) / 2, rows.truth != 0, average)
    why = "every comparison (with positive weight) is a tie"
    return average_groups(caller, values, average, why, "Pass comparisons with an outcome other than 0")


def score_of_margins(X: Comparisons, margin: ArrayLike) -> float:
    """Return the ``score`` of an estimator that predicts these margins: `pairwise_accuracy`, averaged over groups."""
    average = "pairs" if X.group is None else "groups"
    return float(pairwise_accuracy(X.outcome, margin, sample_weight=X.weight, group=X.group, average=average))


def squared_difference_error(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    average: str | None = "groups",
) -> float | Floats:
    """Mean squared error of the score differences of all pairs inside groups.

    How far are predicted differences from true ones? This is what RankRLS and KPCRank minimise; constants per group do
    not matter.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight
        As for `disagreement_error`, but the sizes of the scores matter.
    average : {"groups", "pairs", None}, default="groups"
        Mean over groups with at least two rows, over all pairs, or one value per group (NaN where undefined).

    Returns
    -------
    float or ndarray of shape (n_groups,)
        The error, at least 0.

    Notes
    -----
    With residuals r, Σ_{i<j} w_i w_j (r_i - r_j)² = W Σ w_i (r_i - r̄)²; cost O(n), pairs are never listed.

    Examples
    --------
    >>> from preflearn.metrics import squared_difference_error
    >>> squared_difference_error([1.0, 2.0, 4.0], [11.0, 12.0, 15.0])
    0.6666666666666666
    """
    caller = "squared_difference_error"
    check_choice(average, ("groups", "pairs", None), "average", caller)
    rows = check_rows(caller, y_true, y_score, qid, sample_weight)
    weight = np.ones(len(rows.truth)) if rows.weight is None else rows.weight
    residual = rows.truth - rows.score.astype(np.float64)
    total = np.bincount(rows.group, weight, minlength=rows.n_groups)
    sums = np.bincount(rows.group, weight * residual, minlength=rows.n_groups)
    mean = sums / np.where(total > 0, total, 1.0)
    scatter = total * np.bincount(rows.group, weight * (residual - mean[rows.group]) ** 2, minlength=rows.n_groups)
    pairs = (total**2 - np.bincount(rows.group, weight**2, minlength=rows.n_groups)) / 2
    pairs[np.bincount(rows.group, weight > 0, minlength=rows.n_groups) < 2] = 0.0
    if average == "pairs":
        scatter, pairs = scatter.sum(keepdims=True), pairs.sum(keepdims=True)
    values = divide(scatter, pairs)
    return average_groups(caller, values, average, "no two rows share a group", "Check qid: it names groups, not rows")


def squared_margin_error(
    outcome: ArrayLike,
    margin: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    group: ArrayLike | None = None,
    average: str | None = "pairs",
) -> float | Floats:
    """Mean squared error of the margins of listed comparisons.

    How far are predicted margins from the given ones?

    Parameters
    ----------
    outcome : array-like of shape (m,)
        Given margins, 0 for a tie.
    margin, sample_weight, group, average
        As for `pairwise_accuracy`.

    Returns
    -------
    float or ndarray of shape (n_groups,)
        The error, at least 0.

    Examples
    --------
    >>> from preflearn.metrics import squared_margin_error
    >>> squared_margin_error([1.0, -1.0], [0.5, -1.0])
    0.125
    """
    caller = "squared_margin_error"
    check_choice(average, ("pairs", "groups", None), "average", caller)
    rows = check_rows(caller, outcome, margin, group, sample_weight, ("outcome", "margin", "group"))
    loss = (rows.truth - rows.score.astype(np.float64)) ** 2
    values = _listed_means(rows, loss, np.ones(len(loss)), average)
    return average_groups(caller, values, average, "no comparison has a positive weight", "Raise some weights")


def _listed_means(rows: Rows, value: Floats, counted: Any, average: str | None) -> Floats:
    """Return the weighted means of the values that count, one for each group or, for "pairs", a single one."""
    weight = np.where(counted, 1.0 if rows.weight is None else rows.weight, 0.0)
    group, n_groups = (np.zeros_like(rows.group), 1) if average == "pairs" else (rows.group, rows.n_groups)
    sums = np.bincount(group, weight * value, minlength=n_groups)
    return divide(sums, np.bincount(group, weight, minlength=n_groups))
