"""Judge probabilities: right on average (calibration), and sharp (log loss)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from preflearn.data.fields import check_count, rows_text
from preflearn.data.pair_table import warn_zero_one
from preflearn.exceptions import DataError
from preflearn.metrics._rows import Floats, Rows, check_rows


class Calibration(NamedTuple):
    """A calibration curve; bins without a prediction are left out.

    Examples
    --------
    >>> from preflearn.metrics import calibration_curve
    >>> curve = calibration_curve([1, 1, -1, 1], [0.9, 0.8, 0.4, 0.6], n_bins=2)
    >>> curve.predicted.round(2).tolist(), curve.observed.round(2).tolist()
    ([0.28, 0.73], [0.0, 1.0])
    """

    predicted: Floats  # mean predicted probability of each bin
    observed: Floats  # share of wins of each bin, ties counting one half
    weight: Floats  # weight of each bin, summing to 1
    n_seen: Floats  # number of predictions in each bin; every comparison is two of them


def comparison_log_loss(outcome: ArrayLike, probability: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean negative log of the probability that was predicted for the outcome.

    How surprised was the model, on average? Guessing 1/2 costs 0.693.

    Parameters
    ----------
    outcome : array-like of shape (m,)
        Positive where the first item was preferred, negative where the second was, 0 for a tie, which counts as half
        a win for either side.
    probability : array-like of shape (m,)
        Predicted probability that the first item is preferred (the second column of ``predict_proba``).
    sample_weight : array-like of shape (m,), default=None
        Weights of the comparisons.

    Returns
    -------
    float
        In nats; infinite if something happened that was called impossible.

    Warns
    -----
    DataWarning
        If outcomes are only 0 and 1 (0 is a tie, not a loss).

    Examples
    --------
    >>> from preflearn.metrics import comparison_log_loss
    >>> round(comparison_log_loss([1, -1, 1], [0.8, 0.4, 0.5]), 4)
    0.4757
    """
    rows = check_probabilities("comparison_log_loss", outcome, probability, sample_weight)
    warn_zero_one(rows.truth, "comparison_log_loss")
    return log_loss(rows)


def log_loss(rows: Rows) -> float:
    """Return the log loss of checked rows, in which 0 is known to be a tie."""
    won = (1 + np.sign(rows.truth)) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = np.where(won > 0, -won * np.log(rows.score), 0.0)
        surprise += np.where(won < 1, -(1 - won) * np.log1p(-rows.score), 0.0)
    return float(np.average(surprise, weights=rows.weight))


def calibration_curve(
    outcome: ArrayLike, probability: ArrayLike, *, n_bins: int = 10, sample_weight: ArrayLike | None = None
) -> Calibration:
    """Predicted probabilities in bins of equal width, and how often the predicted side won in each bin.

    Parameters
    ----------
    outcome, probability, sample_weight
        As for `comparison_log_loss`.
    n_bins : int, default=10
        Bins between 0 and 1.

    Returns
    -------
    Calibration
        ``predicted``, ``observed``, ``weight`` and ``n_seen`` of the bins that have predictions.

    Warns
    -----
    DataWarning
        If outcomes are only 0 and 1 (0 is a tie, not a loss).

    Notes
    -----
    Which item is called first is arbitrary, so every comparison counts from both sides: (p, won) and
    (1 - p, lost). The curve is then symmetric and does not change when sides are swapped. Cost O(m).

    Examples
    --------
    >>> from preflearn.metrics import calibration_curve
    >>> curve = calibration_curve([1, 1, -1, 1], [0.9, 0.9, 0.9, 0.9])
    >>> curve.predicted.round(3).tolist(), curve.observed.tolist()
    ([0.1, 0.9], [0.25, 0.75])
    """
    rows = check_probabilities("calibration_curve", outcome, probability, sample_weight)
    warn_zero_one(rows.truth, "calibration_curve")
    return curve_of("calibration_curve", rows, n_bins)


def curve_of(caller: str, rows: Rows, n_bins: int) -> Calibration:
    """Return the calibration curve of checked rows, in which 0 is known to be a tie."""
    n_bins = check_count(n_bins, "n_bins", caller)
    weight = np.ones(len(rows.score)) if rows.weight is None else rows.weight
    # bins of the distance from 1/2, so that both sides fall into mirrored bins exactly
    sure = np.abs(rows.score - 0.5)
    favoured = np.where(rows.score >= 0.5, 1.0, -1.0)
    right = (1 + favoured * np.sign(rows.truth)) / 2
    right = np.where(rows.score == 0.5, 0.5, right)
    upper = np.clip(np.floor((0.5 + sure) * n_bins), 0, n_bins - 1).astype(np.intp)
    lower = n_bins - 1 - upper
    place = np.concatenate([upper, lower])
    both = np.concatenate([weight, weight]) / 2

    def total(values: Floats) -> Floats:
        return np.asarray(np.bincount(place, values, minlength=n_bins), dtype=np.float64)

    size = total(both)
    there = size > 0
    predicted = total(both * np.concatenate([0.5 + sure, 0.5 - sure]))[there] / size[there]
    observed = total(both * np.concatenate([right, 1 - right]))[there] / size[there]
    return Calibration(predicted, observed, size[there] / size.sum(), total(np.ones(len(place)))[there])


def expected_calibration_error(
    outcome: ArrayLike, probability: ArrayLike, *, n_bins: int = 10, sample_weight: ArrayLike | None = None
) -> float:
    """Mean distance between predicted probabilities and observed frequencies.

    When the model says 70 %, does it happen in 70 % of the cases?

    Parameters
    ----------
    outcome, probability, sample_weight
        As for `comparison_log_loss`.
    n_bins : int, default=10
        Bins of equal width between 0 and 1.

    Returns
    -------
    float
        Between 0 (calibrated) and 1. With m comparisons, chance alone gives about ``0.4 * sqrt(n_bins / m)``.

    Warns
    -----
    DataWarning
        If outcomes are only 0 and 1 (0 is a tie, not a loss).

    Examples
    --------
    >>> from preflearn.metrics import expected_calibration_error
    >>> round(expected_calibration_error([1, 1, -1, 1], [0.9, 0.9, 0.9, 0.9]), 3)
    0.15
    """
    caller = "expected_calibration_error"
    rows = check_probabilities(caller, outcome, probability, sample_weight)
    warn_zero_one(rows.truth, caller)
    return calibration_error(curve_of(caller, rows, n_bins))


def calibration_error(curve: Calibration) -> float:
    """Return the mean distance of a curve from the diagonal."""
    return float(curve.weight @ np.abs(curve.predicted - curve.observed))


def check_probabilities(caller: str, outcome: ArrayLike, probability: ArrayLike, weight: ArrayLike | None) -> Rows:
    """Check outcomes with the probabilities that first is preferred."""
    rows = check_rows(caller, outcome, probability, None, weight, ("outcome", "probability", "group"))
    bad = np.flatnonzero((rows.score < 0) | (rows.score > 1))
    if len(bad):
        raise DataError(code="probability-outside-0-1", owner=caller).says(
            f"{len(bad)} of {len(rows.score)} values of probability are not between 0 and 1 ({rows_text(bad)})",
            "Pass the second column of predict_proba",
        )
    return rows
