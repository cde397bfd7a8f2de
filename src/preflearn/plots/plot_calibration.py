"""Calibration curve: predicted probabilities beside what happened."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv

from preflearn.data import Comparisons
from preflearn.data.pair_table import warn_zero_one
from preflearn.exceptions import DataError
from preflearn.metrics import Calibration
from preflearn.metrics.probabilities import calibration_error, check_probabilities, curve_of
from preflearn.plots.fitted import check_level, require
from preflearn.plots.marks import GREY, LINE, Axes, axes_for, figure_class


def plot_calibration(
    model_or_probabilities: Any,
    comparisons: Any,
    n_bins: int = 10,
    *,
    level: float = 0.95,
    label: str | None = None,
    color: str | None = None,
    marker: str = "o",
    ax: Axes | None = None,
) -> Axes:
    """Draw how often the predicted winner won, beside its predicted probability.

    Does 80 % mean 80 times in a hundred? Judge comparisons that were not used for training.

    Parameters
    ----------
    model_or_probabilities : fitted model with ``predict_proba``, or array of shape (m,) or (m, 2)
        Or the probability that the first item is preferred, or both as ``predict_proba`` has them (second, first).
    comparisons : Comparisons, or array-like of shape (m,) of outcomes
        What happened. Weights count.
    n_bins : int, default=10
        Number of equally wide bins between 0 and 1; half of them lie above 1/2 and are drawn.
    level : float in (0, 1), default=0.95
        Probability of the binomial intervals of the shares.
    label : str, default=None
        Name of the curve in the legend, which adds the expected calibration error.
    color : str, default=None
        Colour of the curve.
    marker : str, default="o"
        Marker of the bins; use another one for a second curve in the same axes.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure. Called again with it, a second curve comes beside the first.

    Returns
    -------
    matplotlib Axes
        With the diagonal, a marker per bin with its interval, and the number of comparisons in it.

    Warns
    -----
    DataWarning
        If outcomes given as an array are only 0 and 1 (0 is a tie, not a loss).

    Notes
    -----
    The upper half of `preflearn.metrics.calibration_curve`, which looks at every comparison from both sides and so does
    not depend on which is written first: above 1/2 every comparison is seen from the side that is predicted to win. A
    bin around 1/2 (odd ``n_bins``) says nothing and is left out. Intervals are the exact ones of Clopper and Pearson; a
    comparison of weight 2 counts as two.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from preflearn.plots import plot_calibration
    >>> ax = plot_calibration([0.9, 0.7, 0.3, 0.6], [1, 1, -1, -1], label="by hand", ax=Figure().subplots())
    >>> ax.get_legend().get_texts()[-1].get_text()
    'by hand (calibration error 0.325)'
    """
    caller = "plot_calibration"
    figure_class(caller)
    check_level(level, caller)
    probability = model_or_probabilities
    if hasattr(probability, "predict_proba") or hasattr(probability, "fit"):
        require(probability, caller, "predict_proba")
        if not isinstance(comparisons, Comparisons):
            raise TypeError(
                f"{caller}: a model predicts Comparisons; got {type(comparisons).__name__}. "
                "Pass Comparisons, or probabilities with their outcomes."
            )
        probability = probability.predict_proba(comparisons)
    outcome, weight = comparisons, None
    if isinstance(comparisons, Comparisons):
        outcome, weight = comparisons.outcome, comparisons.weight
    rows = check_probabilities(caller, outcome, _first(probability, caller), weight)
    if not isinstance(comparisons, Comparisons):
        warn_zero_one(rows.truth, caller)
    curve = curve_of(caller, rows, n_bins)
    error = calibration_error(curve)
    predicted, observed, count = winner_curve(curve, float(len(rows.truth) if weight is None else np.sum(weight)))
    low, high = share_interval(observed * count, count, level)

    ax = axes_for(ax, caller, (5.0, 4.6))
    if not any(line.get_gid() == "calibrated" for line in ax.lines):
        ax.plot([0.5, 1.0], [0.5, 1.0], "--", color=GREY, linewidth=1, label="calibrated", gid="calibrated")
    text = f"calibration error {error:.3f}"
    shade = color or LINE
    ax.errorbar(
        predicted,
        observed,
        yerr=np.maximum([observed - low, high - observed], 0.0),
        fmt=f"{marker}-",
        color=shade,
        linewidth=1.4,
        elinewidth=1.0,
        capsize=3,
        markersize=5,
        label=f"{label} ({text})" if label else text,
    )
    n_before = sum(text.get_gid() == "count" for text in ax.texts)
    previous = {text.get_color() for text in ax.texts if text.get_gid() == "count"}
    for x, number in zip(predicted, count, strict=True):
        ax.annotate(
            f"{number:g}",
            (x, 0.01 + 0.05 * len(previous)),
            xycoords=ax.get_xaxis_transform(),
            ha="center",
            fontsize=7,
            color=shade,
            gid="count",
        )
    if not n_before:
        ax.set_xlabel("predicted winner's probability (small numbers: comparisons)")
        ax.set_ylabel(f"share it won, with {100 * level:g} % interval")
        ax.set_xlim(0.48, 1.02)
    bottom = min(0.42, float(low.min()) - 0.08)
    if n_before:  # room for another row of numbers
        bottom = min(bottom, ax.get_ylim()[0]) - 0.06
    ax.set_ylim(bottom, 1.03)
    # above the picture, where it hides nothing
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2)
    return ax


def _first(probability: Any, caller: str) -> Any:
    """Return P(first preferred) of one column, or of the two of predict_proba."""
    given = np.asarray(probability)
    if given.ndim != 2:
        return given
    if given.shape[1] != 2 or not np.allclose(given.sum(axis=1), 1):
        raise DataError(code="probabilities-shape", owner=caller).says(
            f"probabilities have shape {given.shape} and must sum to 1 in every row",
            "Pass what predict_proba returns, or one column with P(first preferred)",
        )
    return given[:, 1]


def winner_curve(curve: Calibration, total: float) -> tuple[Any, Any, Any]:
    """Return the curve above 1/2: probability, share, and number of comparisons out of ``total``."""
    n_filled = len(curve.predicted)
    upper = slice(n_filled - max(n_filled // 2, 1), None)
    # above 1/2 lies one of the two views of each comparison
    count = curve.weight[upper] * total * (2 if n_filled > 1 else 1)
    return curve.predicted[upper], curve.observed[upper], count


def share_interval(wins: Any, count: Any, level: float) -> tuple[Any, Any]:
    """Return Clopper and Pearson's interval of the share of wins."""
    tail, losses = (1 - level) / 2, np.maximum(count - wins, 0.0)
    low = np.where(wins > 0, betaincinv(np.maximum(wins, 1e-300), losses + 1, tail), 0.0)
    high = np.where(losses > 0, betaincinv(wins + 1, np.maximum(losses, 1e-300), 1 - tail), 1.0)
    return low, high
