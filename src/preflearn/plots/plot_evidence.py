"""The evidence over one or two hyperparameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.data.fields import check_count
from preflearn.plots.fitted import FloatArray, column_of, parameter_names, require
from preflearn.plots.marks import GREY, LINE, MARK, Axes, axes_for, figure_class

# Nats below the maximum.
_LEVELS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


def plot_evidence(
    model: Any,
    x: int | str = 0,
    y: int | str | None = 1,
    *,
    limits: Any = None,
    n_points: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the log evidence, relative to its maximum, over one or two hyperparameters.

    How sharply do the data determine the hyperparameters, and did the search find the highest maximum?

    Parameters
    ----------
    model : PreferenceGP
        Fitted, with at least one free hyperparameter.
    x, y : int or str, default=0 and 1
        Hyperparameters of the axes, by number in ``theta_`` or by name (``"variance"``, ``"length scale"``, ..., or
        those of ``theta_names_``).
        ``y=None``, or a model with only one, gives a curve.
    limits : sequence of (low, high), default=None
        Range of each axis, of the parameters themselves (not their logarithms). None is a factor of 12 to either side
        of the best, more where another optimum lies further off, within the bounds of the search.
    n_points : int, default=None
        Points along each axis; None is 60 for a curve and 24 for a surface.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With contours at 1, 3, 10, 30, ... nats below the maximum (or the curve) and a mark for every optimum found.

    Notes
    -----
    Other hyperparameters stay at their chosen values, so an optimum that differs in them is marked where it lies, on a
    curve at its own evidence (if within 30 nats), but is not a maximum of this picture. Each point costs one inference
    with gradient, n_points² of them for a surface.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from preflearn import Comparisons, PreferenceGP
    >>> from preflearn.plots import plot_evidence
    >>> matches = Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "cy"])
    >>> ax = plot_evidence(PreferenceGP(n_restarts=0).fit(matches), n_points=9, ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('variance', 'log evidence minus its maximum')
    """
    caller = "plot_evidence"
    figure_class(caller)
    require(model, caller, "log_evidence")
    names = parameter_names(model)
    if not names:
        raise ValueError(f"{caller}: the model has no free hyperparameters, so its evidence is one number.")
    shown = [_number_of(x, names, model, caller, "x")]
    if y is not None and not (len(names) == 1 and y == 1):
        shown.append(_number_of(y, names, model, caller, "y"))
    if len(set(shown)) < len(shown):
        raise ValueError(f"{caller}: x and y are both {names[shown[0]]!r}. Choose two, or y=None for a curve.")
    n_points = (60 if len(shown) == 1 else 24) if n_points is None else n_points
    check_count(n_points, "n_points", caller, low=2)

    ends = np.array([optimum.theta for optimum in model.optima_] or [model.theta_])[:, shown]
    best = np.asarray(model.theta_)[shown]
    ranges = _ranges(limits, best, ends, np.asarray(model.bounds_)[shown], caller)
    grid = [_points(low, high, at, int(n_points)) for (low, high), at in zip(ranges, best, strict=True)]
    surface = _evaluate(model, shown, grid)
    top = max(float(model.log_evidence_), float(np.nanmax(surface, initial=-np.inf)))

    ax = axes_for(ax, caller)
    if len(shown) == 1:
        # an optimum that differs in other parameters lies off the curve, at a height of its own
        # (optima of a search with a prior of the parameters count its density too)
        prior = getattr(model, "hyperprior_", None) is not None
        heights = [model.log_evidence(one.theta, gradient=False) if prior else one.evidence for one in model.optima_]
        height = np.array(heights or [model.log_evidence_]) - top
        at_best = np.append(best, float(model.log_evidence_) - top)
        _curve(ax, grid[0], surface - top, at_best, _apart(np.column_stack([ends, height]), at_best))
        ax.set_ylabel("log evidence minus its maximum")
    else:
        _contours(ax, grid, surface - top, best, _apart(ends, best))
        ax.set_yscale("log")
        ax.set_ylabel(names[shown[1]])
    ax.set_xscale("log")
    ax.set_xlabel(names[shown[0]])
    ax.set_title(f"nats below the maximum of {_number(top, 1)}", fontsize="small", color=GREY, loc="right")
    # above the picture, where it hides nothing
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.2, handletextpad=0.1)
    return ax


def _number_of(which: Any, names: list[str], model: Any, caller: str, argument: str) -> int:
    """Return the number of a hyperparameter, by number, by the name drawn or by that of ``theta_names_``."""
    own = list(model.theta_names_)
    if isinstance(which, str) and which not in names and own.count(which) == 1:
        return own.index(which)
    return column_of(which, names, caller, argument)


def _curve(ax: Any, theta: FloatArray, drop: FloatArray, best: FloatArray, others: FloatArray) -> None:
    """Draw a curve and its optima, each as (theta, drop)."""
    ax.plot(np.exp(theta), drop, color=LINE, linewidth=1.8)
    _mark(ax, np.exp(best[:1]), best[1:], chosen=True)
    inside = others[others[:, 1] > -30]
    _mark(ax, np.exp(inside[:, 0]), inside[:, 1], chosen=False)
    # small drops have their exponent at each tick: matplotlib would write it once, where the legend is
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}"))
    finite = drop[np.isfinite(drop)]
    if finite.size and finite.min() < -30:
        # what is e^-30 as likely need not fill the picture
        ax.set_ylim(max(finite.min(), -30) - 1, 1.5)


def _contours(ax: Any, grid: list[FloatArray], drop: FloatArray, best: FloatArray, others: FloatArray) -> None:
    x, y = (np.exp(theta) for theta in grid)
    values = np.ma.masked_invalid(drop.T)
    levels = [-level for level in _LEVELS[::-1] if -level > values.min()] or [float(values.min()) - 1]
    shades = ax.contourf(x, y, values, levels=[min(float(values.min()), levels[0]) - 1, *levels, 0.0], cmap="Greys_r")
    shades.set_alpha(0.35)
    lines = ax.contour(x, y, values, levels=levels, colors="black", linewidths=0.8, linestyles="solid")
    ax.clabel(lines, fmt=lambda value: _number(value, 0), fontsize=7, inline_spacing=2)
    _mark(ax, *np.exp(best)[:, None], chosen=True)
    _mark(ax, *np.exp(others).T, chosen=False)


def _mark(ax: Any, x: FloatArray, y: FloatArray, *, chosen: bool) -> None:
    # optima may lie on the bounds: their marks are not cut by the frame
    style = {"marker": "o", "color": MARK} if chosen else {"marker": "D", "color": "white"}
    if len(x):
        label = "chosen" if chosen else "other optima"
        ax.plot(x, y, linestyle="none", markeredgecolor="black", label=label, clip_on=False, zorder=5, **style)


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _points(low: float, high: float, centre: float, n: int) -> FloatArray:
    """Return points from low to high, close together near the centre and wider apart further off."""
    points = centre + np.sinh(np.linspace(np.arcsinh(low - centre), np.arcsinh(high - centre), n))
    points[[0, -1]] = low, high
    return np.asarray(points)


def _evaluate(model: Any, shown: list[int], grid: list[FloatArray]) -> FloatArray:
    """Return the log evidence on the grid, every other row walked backwards: neighbours are good starts."""
    surface = np.full([len(values) for values in grid], np.nan)
    theta = np.array(model.theta_, dtype=np.float64)
    for row in np.ndindex(surface.shape[:-1]):
        columns = range(surface.shape[-1])
        for column in columns if not row or row[0] % 2 == 0 else reversed(columns):
            theta[shown] = [values[k] for values, k in zip(grid, (*row, column), strict=True)]
            answer = model.log_evidence(theta)
            surface[(*row, column)] = answer[0] if isinstance(answer, tuple) else answer
    surface[~np.isfinite(surface)] = np.nan
    return surface


def _ranges(limits: Any, best: FloatArray, ends: FloatArray, bounds: FloatArray, caller: str) -> FloatArray:
    """Return (low, high) of the logarithm of every shown parameter."""
    if limits is None:
        low = np.minimum(best - 2.5, ends.min(axis=0) - 0.5)
        high = np.maximum(best + 2.5, ends.max(axis=0) + 0.5)
        return np.column_stack([np.maximum(low, bounds[:, 0]), np.minimum(high, bounds[:, 1])])
    given = np.asarray(limits, dtype=np.float64)
    given = given[None] if given.shape == (2,) else given
    if given.shape != (len(best), 2) or not (given > 0).all() or not (given[:, 0] < given[:, 1]).all():
        raise ValueError(f"{caller}: limits must be {len(best)} pairs 0 < low < high, one per axis; got {limits!r}.")
    return np.log(given)


def _apart(ends: FloatArray, best: FloatArray) -> FloatArray:
    """Return the ends of the search that are not the chosen one, each once."""
    kept: list[FloatArray] = []
    for end in ends:
        if all(np.abs(end - other).max() > 0.05 for other in [best, *kept]):
            kept.append(end)
    return np.array(kept).reshape(-1, len(best))
