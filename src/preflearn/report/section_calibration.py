"""Whether 80 % means 80 times in a hundred: predictions of comparisons that were held out, beside what happened."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2
from sklearn.base import clone

from preflearn.analysis.limits import LIMITS, Limits
from preflearn.analysis.suggestions import runs_in_circles
from preflearn.operators import FloatArray, IntArray
from preflearn.plots.plot_calibration import share_interval, winner_curve
from preflearn.report.context import Shown
from preflearn.report.markup import number, paragraph, percent, share, table
from preflearn.report.svg import Drawing
from preflearn.selection.held_out import HeldOut, held_out
from preflearn.table_format import p_value, plural

FOLDS = 5
BINS = 10  # between 0 and 1; half of them lie above 1/2
LEAST = 10  # comparisons
MOST = 200_000  # comparisons up to which a model without leave_one_out is trained again
LEVEL = 0.95


def calibration(shown: Shown) -> str:
    """Return how good predictions of held-out comparisons are, and how far their probabilities can be trusted."""
    data = shown.result.data
    if data.n_listed < LEAST:
        return paragraph(
            f"Not examined: {plural(data.n_listed, 'comparison')}, and probabilities are judged from {LEAST} on."
        )
    if not hasattr(shown.result.model, "leave_one_out") and len(data) > MOST:
        return paragraph(f"Not examined: the model would be trained {FOLDS} times on {data.n_listed:,} comparisons.")
    found, how = held_out_predictions(shown)
    accuracy = percent(found.accuracy) if found.outcome.any() else "none"
    predicted, observed, count = winner_curve(found.calibration, float(found.weight.sum()))
    sign = np.where(found.probability >= 0.5, 1.0, -1.0)  # of the winner that is predicted
    pair = data.pairs.row if runs_in_circles(shown.result.model) and data.items is None else None
    surer, won = np.maximum(found.probability, 1 - found.probability), (1 + sign * np.sign(found.outcome)) / 2
    trusted = _trusted(surer, won, found.weight, pair, shown.result.analysis.limits)
    error = found.calibration_error
    words = paragraph(
        f"{how} The winner was predicted in <strong>{accuracy}</strong> of the comparisons that had one; the log loss "
        f"is {number(found.log_loss, 3)} (guessing: 0.693) and the calibration error {percent(error, 1)}. {trusted}"
    )
    low, high = share_interval(observed * count, count, LEVEL)
    return (
        words
        + f'<div class="beside">{_figure(predicted, observed, count, low, high, error)}'
        + (f"<div>{_table(predicted, observed, count, low, high)}</div></div>")
    )


def _trusted(
    predicted: FloatArray, won: FloatArray, weight: FloatArray, pair: IntArray | None, limits: Limits = LIMITS
) -> str:
    """Return whether the probabilities of predicted winners hold, by a chi-square test over bins.

    Where pairs have effects of their own, answers about one pair, each predicted from the others, are wrong together:
    the variance of a bin's errors is that of their sums over pairs, where it is the larger one.
    """
    place = np.minimum((BINS * predicted).astype(np.intp), BINS - 1)
    error = weight * (won - predicted)
    sums = np.bincount(place, error, BINS)
    variance = np.maximum(np.bincount(place, weight * predicted * (1 - predicted), BINS), 1e-9)
    if pair is not None:
        clumps, clump = np.unique(pair * BINS + place, return_inverse=True)
        together = np.bincount(clumps % BINS, np.bincount(clump.ravel(), error) ** 2, BINS)
        variance = np.maximum(variance, together)
    p = float(chi2.sf(float(np.sum(sums**2 / variance)), len(np.unique(place))))
    if p >= limits.off_calibration:
        return "As far as these comparisons can tell, the probabilities can be taken at their word."
    too = "cautious" if float(sums.sum()) > 0 else "bold"
    return f"The probabilities are off by more than chance explains ({p_value(p)}); on average they are too {too}."


def held_out_predictions(shown: Shown) -> tuple[HeldOut, str]:
    """Return what is predicted of every comparison without having learned from it, and how that was done."""
    model, data = shown.result.model, shown.result.data
    if hasattr(model, "leave_one_out"):
        weight = np.ones(len(data)) if data.weight is None else data.weight
        row, p = np.arange(len(data)), np.asarray(model.leave_one_out())[:, 1]
        whole = HeldOut(row, p, data.outcome, weight, row, "comparison", len(data))
        return whole, "Every comparison was predicted from all the others."
    found = held_out(lambda: clone(model), data, n_folds=FOLDS, random_state=shown.random_state)
    return found, (
        f"The comparisons were dealt into {found.n_folds} parts, all of the same two items into one, and each part "
        "was predicted by a model trained on the others."
    )


def _figure(predicted: Any, observed: Any, count: Any, low: Any, high: Any, error: float) -> str:
    left, right, top, bottom = 46.0, 426.0, 12.0, 262.0
    floor = min(0.4, float(np.min(low)) - 0.03) if len(low) else 0.4

    def x(value: float) -> float:
        return left + (right - left) * (value - 0.48) / 0.54

    def y(value: float) -> float:
        return bottom - (bottom - top) * (value - floor) / (1.02 - floor)

    drawing = Drawing(440, 312)
    for tick in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        drawing.text(x(tick), bottom + 15, f"{100 * tick:.0f}", "small soft", anchor="middle")
    for tick in np.arange(0, 1.01, 0.1 if floor >= 0.3 else 0.2):
        if tick >= floor - 1e-9:
            drawing.line(left, y(tick), right, y(tick), "grid")
            drawing.text(left - 6, y(tick) + 3.5, f"{100 * tick:.0f}", "small soft", anchor="end")
    drawing.line(x(0.5), y(0.5), x(1.0), y(1.0), "even")
    middle = (left + right) / 2
    drawing.text(middle, bottom + 44, "predicted winner: probability in %", "small soft", anchor="middle")
    drawing.text(12, (top + bottom) / 2, "won, in %", "small soft", anchor="middle", turned=-90)
    for p, o, c, a, b in zip(predicted, observed, count, low, high, strict=True):
        drawing.line(x(p), y(a), x(p), y(b), "thin")
        drawing.dot(x(p), y(o), 4.2, "dot")
        drawing.text(x(p), bottom + 29, f"n={c:,.0f}", "tiny soft", anchor="middle")
    worst = int(np.argmax(np.abs(predicted - observed)))
    description = (
        f"Points on the diagonal are right on average; the mean distance from it is {share(error, 1)}. Farthest from "
        f"it are predictions of about {share(predicted[worst])}, which came true in {share(observed[worst])} of "
        f"{plural(round(float(count[worst])), 'case')}. The table holds all points."
    )
    caption = f"How often the predicted winner won, by its probability, with {100 * LEVEL:.0f} % intervals."
    return drawing.html("calibration", "Calibration of the probabilities", description, caption)


def _table(predicted: Any, observed: Any, count: Any, low: Any, high: Any) -> str:
    rows = [
        [percent(p), percent(o), f"{percent(a)} to {percent(b)}", f"{c:,.0f}"]
        for p, o, c, a, b in zip(predicted, observed, count, low, high, strict=True)
    ]
    header = ["predicted", "came true", f"{100 * LEVEL:.0f} % interval", "number"]
    return table("Predictions by probability of the winner", header, rows, left=())
