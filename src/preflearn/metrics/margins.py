"""Errors of differences: how far predicted margins are from given ones, where direction alone says too little."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from preflearn.metrics._inputs import Floats, average_groups, check_option, check_rows, divide

__all__ = ["squared_difference_error", "squared_margin_error"]


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
    y_true, y_score : array-like of shape (n,)
        True and predicted scores.
    qid : array-like of shape (n,), default=None
        Group of each row; None is one group.
    sample_weight : array-like of shape (n,), default=None
        Weights of rows; a pair weighs the product.
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
    check_option(caller, "average", average, ("groups", "pairs", None))
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
    margin : array-like of shape (m,)
        Predicted utility of the first item less that of the second.
    sample_weight : array-like of shape (m,), default=None
        Weights of the comparisons.
    group : array-like of shape (m,), default=None
        Group of each comparison; only used by the averages over groups.
    average : {"pairs", "groups", None}, default="pairs"
        Over all comparisons, over groups, or one value per group.

    Returns
    -------
    float or ndarray of shape (n_groups,)
        The error, at least 0.

    Notes
    -----
    Cost O(m), and O(m log m) to number groups.

    Examples
    --------
    >>> from preflearn.metrics import squared_margin_error
    >>> squared_margin_error([1.0, -1.0], [0.5, -1.0])
    0.125
    """
    caller = "squared_margin_error"
    check_option(caller, "average", average, ("pairs", "groups", None))
    rows = check_rows(caller, outcome, margin, group, sample_weight, ("outcome", "margin", "group"))
    weight = np.ones(len(rows.truth)) if rows.weight is None else rows.weight
    codes, n_groups = (np.zeros_like(rows.group), 1) if average == "pairs" else (rows.group, rows.n_groups)
    loss = np.bincount(codes, weight * (rows.truth - rows.score.astype(np.float64)) ** 2, minlength=n_groups)
    values = divide(loss, np.bincount(codes, weight, minlength=n_groups))
    return average_groups(caller, values, average, "no comparison has a positive weight", "Raise some weights")
