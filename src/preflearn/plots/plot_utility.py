"""Utility along one feature, with its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri

from preflearn.data.fields import check_count
from preflearn.plots.fitted import (
    FloatArray,
    check_level,
    column_of,
    feature_names,
    require,
    training_items,
)
from preflearn.plots.marks import LINE, Axes, axes_for, figure_class


def plot_utility(
    model: Any,
    feature: int | str = 0,
    *,
    at: Any = None,
    items: Any = None,
    reference: float | str = "mean",
    n_points: int = 200,
    level: float = 0.95,
    label: str | None = None,
    color: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the utility along one feature with a band of uncertainty; the other features do not change.

    How does preference change with this feature, and where do the data say nothing about it?

    Parameters
    ----------
    model : PreferenceGP
        Fitted, on items with features.
    feature : int or str, default=0
        Number or name of the feature on the horizontal axis.
    at : array-like of shape (n_features,), mapping or None, default=None
        Where the other features are held: values of all, or of some by number or name; the rest (None: all) are held
        at the median of the items.
    items : array-like of shape (n_items, n_features), Comparisons or None, default=None
        Items that give range and medians and are marked at the bottom; None is the training items.
    reference : float or "mean", default="mean"
        What utility is measured from, as only differences are known: the mean of the curve, or the point of the curve
        at this value of the feature.
    n_points : int, default=200
        Points of the curve.
    level : float in (0, 1), default=0.95
        Posterior probability of the band, at each point.
    label : str, default=None
        Name of the curve in the legend.
    color : str, default=None
        Colour of the curve and its band.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the curve, the band and the marks of the items.

    Notes
    -----
    The band is that of the difference from the reference, from the joint posterior of the curve: at the reference it
    has no width, and what is uncertain about all utilities alike is not in it. Cost of one prediction with covariance
    at ``n_points`` items. Items are marked by this feature alone: their other features may be far from ``at``.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from preflearn import Comparisons, PreferenceGP
    >>> from preflearn.plots import plot_utility
    >>> x = np.linspace(0, 1, 6)[:, None]
    >>> model = PreferenceGP(n_restarts=0).fit(Comparisons(x, [1, 2, 3, 3, 4], [0, 1, 2, 4, 5]))
    >>> ax = plot_utility(model, reference=0.0, ax=Figure().subplots())
    >>> ax.get_ylabel()
    'utility minus that at feature 0 = 0'
    """
    caller = "plot_utility"
    figure_class(caller)
    require(model, caller, "predict_utility", "predict_difference")
    check_level(level, caller)
    check_count(n_points, "n_points", caller, low=2)
    table = training_items(model, items, caller)
    names = feature_names(model, table.shape[1])
    column = column_of(feature, names, caller, "feature")
    rest = _held(at, table, names, caller)
    x = np.linspace(table[:, column].min(), table[:, column].max(), n_points)
    fixed = _reference(reference, caller)
    points = x if fixed is None else np.append(x, fixed)
    curve = np.tile(rest, (len(points), 1))
    curve[:, column] = points
    mean, std = _relative(*model.predict_utility(curve, return_cov=True), at_last=fixed is not None)

    ax = axes_for(ax, caller)
    width = float(ndtri((1 + level) / 2)) * std
    (line,) = ax.plot(x, mean, color=color or LINE, linewidth=1.8, label=label or "posterior mean")
    name = f"{100 * level:g} % interval"
    ax.fill_between(
        x, mean - width, mean + width, color=line.get_color(), alpha=0.22, linewidth=0, label=None if label else name
    )
    if fixed is None:
        ax.set_ylabel("utility minus its mean along the curve")
    else:
        ax.set_ylabel(f"utility minus that at {names[column]} = {fixed:g}")
    if not any(line.get_gid() == "items" for line in ax.lines):
        ax.plot(
            table[:, column],
            np.full(len(table), 0.015),
            "|",
            color="black",
            alpha=min(0.6, max(0.1, 60 / len(table))),  # many marks side by side are dark enough
            markersize=7,
            transform=ax.get_xaxis_transform(),
            label="training items" if items is None else "items",
            gid="items",
        )
    ax.set_xlabel(names[column])
    # above the picture, where it hides nothing
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, borderaxespad=0.2)
    return ax


def _relative(mean: FloatArray, covariance: FloatArray, *, at_last: bool) -> tuple[FloatArray, FloatArray]:
    """Return mean and deviation of the differences from the last point (left out), or from the mean of all."""
    variance = covariance.diagonal()
    if at_last:
        mean, spread = mean[:-1] - mean[-1], variance[:-1] + variance[-1] - 2 * covariance[:-1, -1]
    else:
        # var(f_i - mean f) = C_ii - 2 (C 1)_i / p + 1'C1 / p²
        row = covariance.mean(axis=1)
        mean, spread = mean - mean.mean(), variance - 2 * row + row.mean()
    return mean, np.sqrt(np.maximum(spread, 0.0))


def _reference(reference: float | str, caller: str) -> float | None:
    if isinstance(reference, str):
        if reference == "mean":
            return None
        raise ValueError(f'{caller}: reference="{reference}"; use "mean" or a value of the feature.')
    value = float(reference)
    if not np.isfinite(value):
        raise ValueError(f"{caller}: reference is {value}; it must be finite.")
    return value


def _held(at: Any, table: FloatArray, names: list[str], caller: str) -> FloatArray:
    """Return the values at which features are held."""
    rest = np.median(table, axis=0)
    if at is None:
        return rest
    if isinstance(at, Mapping):
        for which, value in at.items():
            rest[column_of(which, names, caller, "at")] = float(value)
    else:
        given = np.asarray(at, dtype=np.float64)
        if given.shape != rest.shape:
            raise ValueError(
                f"{caller}: at has shape {given.shape}, but there are {len(rest)} features. "
                "Give one value per feature, or a mapping from some of them."
            )
        rest = given.copy()
    if not np.isfinite(rest).all():
        raise ValueError(f"{caller}: at holds values that are not finite.")
    return rest
