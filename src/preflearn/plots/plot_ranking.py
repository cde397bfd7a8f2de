"""Utilities of items with their intervals, the best at the top."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from preflearn.data.fields import check_count
from preflearn.exceptions import first_few
from preflearn.plots.marks import BAND, GREY, LINE, Axes, axes_for, figure_class


def plot_ranking(ranking: Any, *, top: int | None = None, level: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw the utilities of items with their intervals, the best at the top.

    Who is ahead, and which neighbours cannot be told apart?

    Parameters
    ----------
    ranking : Ranking or mapping
        What ``PreferenceGP.rank`` returns, or anything with ``names`` (or None), ``utility``, ``low`` and ``high``,
        each of shape (n_items,), in any order.
    top : int, default=None
        How many items to show, the best ones; None is all.
    level : float, default=None
        Probability of the intervals, for the label of the axis; None takes ``level`` of the ranking if it has one.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure, as tall as the items need.

    Returns
    -------
    matplotlib Axes
        With a marker and a line per item, and a thin line between tiers, where the ranking has these.

    Notes
    -----
    Only differences of utilities mean anything. Intervals of single items overlap sooner than pairs become doubtful:
    utilities are correlated, and ``predict_proba`` of the pair says more.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from preflearn.plots import plot_ranking
    >>> ranking = {"names": ["ann", "bob"], "utility": [0.1, 0.9], "low": [-0.3, 0.4], "high": [0.5, 1.4]}
    >>> ax = plot_ranking(ranking, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['bob', 'ann']
    """
    caller = "plot_ranking"
    figure_class(caller)
    utility, low, high = (_column(ranking, name, caller) for name in ("utility", "low", "high"))
    sizes = {"utility": len(utility), "low": len(low), "high": len(high)}
    given = _get(ranking, "names")
    names = [f"item {k}" for k in range(len(utility))] if given is None else [str(name) for name in given]
    sizes["names"] = len(names)
    if len(set(sizes.values())) > 1:
        raise ValueError(f"{caller}: {sizes} values; each item needs one of each.")
    wrong = np.flatnonzero((low > utility) | (utility > high))
    if len(wrong):
        raise ValueError(
            f"{caller}: {len(wrong)} of {len(utility)} intervals do not hold their utility "
            f"({first_few([names[k] for k in wrong])}). Give ends with low <= utility <= high, not half-widths."
        )
    if top is not None:
        check_count(top, "top", caller)
    level = _get(ranking, "level") if level is None else level
    order = np.argsort(-utility, kind="stable")[:top]

    ax = axes_for(ax, caller, (6.0, 1.2 + 0.26 * len(order)))
    rows = np.arange(len(order))
    ax.hlines(rows, low[order], high[order], color=BAND, linewidth=4)
    ax.plot(utility[order], rows, "o", color=LINE, markersize=5)
    ax.set_yticks(rows, [names[k] for k in order])
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color=GREY, alpha=0.15, linewidth=0.6)
    ax.set_axisbelow(True)
    tier = _get(ranking, "tier")
    if tier is not None:  # a line between tiers
        ax.hlines(np.flatnonzero(np.diff(np.asarray(tier)[order])) + 0.5, *ax.get_xlim(), color=GREY, linewidth=0.6)
    interval = "interval" if level is None else f"{100 * float(level):g} % interval"
    ax.set_xlabel(f"utility, with {interval} (only differences mean anything)")
    if len(order) < len(utility):
        ax.set_title(f"the best {len(order)} of {len(utility)} items", fontsize="medium", color=GREY, loc="left")
    return ax


def _get(ranking: Any, name: str) -> Any:
    return ranking.get(name) if isinstance(ranking, Mapping) else getattr(ranking, name, None)


def _column(ranking: Any, name: str, caller: str) -> Any:
    values = _get(ranking, name)
    if values is None:
        raise TypeError(
            f"{caller}: ranking ({type(ranking).__name__}) has no {name}. "
            "Pass what rank() returns, or a mapping with names, utility, low and high."
        )
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not len(column) or not np.isfinite(column).all():
        raise ValueError(f"{caller}: {name} must be finite numbers, one per item; got shape {column.shape}.")
    return column
