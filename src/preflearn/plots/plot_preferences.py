"""All preferences between some items: the matrix, its spectrum, the graph of comparisons, and what explains them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from preflearn.data import Comparisons
from preflearn.plots.marks import BAND, GREY, LINE, MARK, Axes, axes_for, figure_class, preference_colours

FloatArray = NDArray[np.float64]
_NAMED = 40  # items whose names are written at the sides


def plot_preferences(model: Any, items: Any = None, *, clusters: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the probabilities of all preferences between some items, in an order that shows structure.

    Is there one order, are there several groups, or do preferences run in circles?

    Parameters
    ----------
    model : PreferenceGP or PreferenceMatrix
        A fitted model, or what its ``preference_matrix`` returns.
    items : table, names or row numbers, default=None
        Items to show, for a model; None is those of training.
    clusters : ComparableClusters, default=None
        Fitted on the same items: they are then ordered by cluster and by rank within it, with lines between clusters.
        Otherwise by the number of items that each is preferred to.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With P(row is preferred to column): a ranking is dark above the diagonal and light below, a circle is not.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from preflearn import Comparisons, PreferenceGP
    >>> from preflearn.plots import plot_preferences
    >>> model = PreferenceGP(hyperparameters="fixed").fit(Comparisons(None, ["ann", "bob"], ["bob", "cy"]))
    >>> ax = plot_preferences(model, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['ann', 'bob', 'cy']
    """
    caller = "plot_preferences"
    figure_class(caller)
    if hasattr(model, "preference_matrix"):
        model = model.preference_matrix(items)
    elif items is not None:
        raise TypeError(f"{caller}: items are chosen with a model; a PreferenceMatrix has them already.")
    if not (hasattr(model, "probability") and hasattr(model, "names")):
        raise TypeError(f"{caller}: give a fitted PreferenceGP or its preference_matrix(); got {type(model).__name__}.")
    P, names = np.asarray(model.probability), np.asarray(model.names)
    n = P.shape[0]
    if clusters is None:
        order, ends = np.argsort(-P.sum(axis=1), kind="stable"), []
    else:
        _check_clusters(clusters, caller, "labels_")
        labels = np.asarray(clusters.labels_)
        if labels.shape[0] != n:
            raise ValueError(f"{caller}: clusters are of {labels.shape[0]} items, and {n} are to be drawn.")
        order = np.lexsort([clusters.ranks_, labels])
        ends = (np.flatnonzero(np.diff(labels[order])) + 0.5).tolist()

    ax = axes_for(ax, caller, (5.6, 4.8))
    image = ax.imshow(P[np.ix_(order, order)], cmap=preference_colours(), vmin=0, vmax=1, interpolation="nearest")
    for end in ends:
        ax.axhline(end, color="black", linewidth=1)
        ax.axvline(end, color="black", linewidth=1)
    if n <= _NAMED:
        ax.set_yticks(range(n), [str(names[k]) for k in order], fontsize=8)
        ax.set_xticks(range(n), [str(names[k]) for k in order], fontsize=8, rotation=90)
    else:
        ax.set_xlabel(f"{n} items")
        ax.set_yticks([])
        ax.set_xticks([])
    ax.figure.colorbar(image, ax=ax, label="P(row is preferred to column)")
    return ax


def _check_clusters(clusters: Any, caller: str, wanted: str) -> None:
    if isinstance(clusters, type) or not hasattr(clusters, "n_clusters") or not hasattr(clusters, "assign"):
        raise TypeError(f"{caller}: give fitted ComparableClusters; got {type(clusters).__name__}.")
    if not hasattr(clusters, wanted):
        raise NotFittedError(f"{caller}: these ComparableClusters are not fitted. Call fit(comparisons) first.")


def plot_spectrum(clusters: Any, *, n_values: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the singular values of the preference matrix of ComparableClusters, in their pairs.

    How many clusters do the preferences suggest: where is the gap?

    Parameters
    ----------
    clusters : ComparableClusters
        Fitted.
    n_values : int, default=20
        How many values to show.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With a marker for each value, those of the clusters filled.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from preflearn import Comparisons
    >>> from preflearn.plots import plot_spectrum
    >>> from preflearn.structure import ComparableClusters
    >>> first, second = np.triu_indices(6, 1)
    >>> groups = ComparableClusters(1, "svd", random_state=0).fit(Comparisons(6, first, second))
    >>> plot_spectrum(groups, ax=Figure().subplots()).get_ylabel()
    'size'
    """
    caller = "plot_spectrum"
    figure_class(caller)
    _check_clusters(clusters, caller, "singular_values_")
    s = np.asarray(clusters.singular_values_)[:n_values]
    used = min(2 * clusters.n_clusters_, len(s))
    ax = axes_for(ax, caller, (5.4, 3.6))
    x = np.arange(1, len(s) + 1)
    ax.plot(x, s, color=GREY, linewidth=0.8)
    ax.plot(x[:used], s[:used], "o", color=LINE, label=f"of {clusters.n_clusters_} clusters")
    ax.plot(x[used:], s[used:], "o", color=LINE, markerfacecolor="white", label="others")
    ax.set_xticks(x[1::2])
    ax.set_xlabel("singular value, two for each cluster")
    ax.set_ylabel("size")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return ax


def plot_shares(found: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how much a ranking and circles explain of the learned and of the observed preferences.

    Parameters
    ----------
    found : Rankability
        What `preflearn.structure.rankability` returns.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With two bars of shares.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from preflearn import Comparisons
    >>> from preflearn.plots import plot_shares
    >>> from preflearn.structure import rankability
    >>> throws = Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"], weight=[9, 9, 9])
    >>> ax = plot_shares(rankability(throws), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['learned', 'observed']
    """
    caller = "plot_shares"
    figure_class(caller)
    if not (hasattr(found, "hodge") and hasattr(found, "ranking_share")):
        raise TypeError(f"{caller}: give the result of rankability(); got {type(found).__name__}.")
    rows = {
        "learned": (found.ranking_share, found.cyclic_share, 0.0),
        "observed": (found.hodge.gradient, found.hodge.curl, found.hodge.harmonic),
    }
    kinds = (("ranking", LINE), ("circles (observed: of three)", MARK), ("longer circles", BAND))
    ax = axes_for(ax, caller, (6.4, 2.2))
    for row, (name, shares) in enumerate(rows.items()):
        left = 0.0
        for (kind, color), share in zip(kinds, shares, strict=True):
            ax.barh(row, share, left=left, color=color, height=0.6, label=kind if name == "observed" else None)
            if share > 0.06:
                ax.text(left + share / 2, row, f"{share:.0%}", ha="center", va="center", color="white", fontsize=9)
            left += share
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of the squared preferences")
    ax.legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), fontsize=8)
    return ax


def plot_comparison_graph(comparisons: Comparisons, *, cycles: Any = None, ax: Axes | None = None) -> Axes:
    """Draw who beat whom as arrows between items on a circle, with cycles marked.

    Parameters
    ----------
    comparisons : Comparisons
        What was compared; an arrow leads from the item that won more often to the other.
    cycles : list, default=None
        Cycles to mark, as lists of names (or row numbers), or as in ``Rankability.cycles``.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With a dot for every item that was compared, ordered by its share of wins, clockwise from the top.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from preflearn import Comparisons
    >>> from preflearn.plots import plot_comparison_graph
    >>> games = Comparisons(None, ["ann", "bob", "cy"], ["bob", "cy", "ann"])
    >>> ax = plot_comparison_graph(games, ax=Figure().subplots())
    >>> sorted(text.get_text() for text in ax.texts if text.get_text())
    ['ann', 'bob', 'cy']
    """
    caller = "plot_comparison_graph"
    figure_class(caller)
    if not isinstance(comparisons, Comparisons):
        raise TypeError(f"{caller}: give Comparisons; got {type(comparisons).__name__}.")
    n = comparisons.n_items
    pairs = comparisons.pairs
    net = pairs.wins - pairs.losses
    total = np.bincount(pairs.low, net, n) - np.bincount(pairs.high, net, n)
    used = comparisons.used_items()
    order = used[np.argsort(-total[used], kind="stable")]
    names = np.arange(n) if comparisons.names is None else np.asarray(comparisons.names)
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / len(order)
    where = {int(item): (np.cos(a), np.sin(a)) for item, a in zip(order, angle, strict=True)}
    marked = _edges(cycles, names, n, caller)

    ax = axes_for(ax, caller, (5.4, 5.4))
    for low, high, ahead in zip(pairs.low.tolist(), pairs.high.tolist(), net.tolist(), strict=True):
        if not ahead:
            continue
        winner, loser = (low, high) if ahead > 0 else (high, low)
        on = (winner, loser) in marked
        _arrow(ax, where[winner], where[loser], MARK if on else GREY, 1.8 if on else 0.5, 1.0 if on else 0.35)
    x, y = np.array([where[int(item)] for item in order]).T
    ax.plot(x, y, "o", color=LINE, markersize=6)
    if len(order) <= _NAMED:
        for item in order:
            a, b = where[int(item)]
            ax.text(1.1 * a, 1.1 * b, str(names[item]), ha=_side(a), va="center", fontsize=8)
    ax.set_aspect("equal")
    ax.set_xlim(-1.5, 1.5)
    ax.set_ylim(-1.3, 1.3)
    ax.set_axis_off()
    return ax


def _side(x: float) -> str:
    return "center" if abs(x) < 0.2 else "left" if x > 0 else "right"


def _arrow(ax: Axes, start: Any, end: Any, color: str, width: float, alpha: float) -> None:
    style = {"arrowstyle": "-|>", "color": color, "linewidth": width, "alpha": alpha, "shrinkA": 5, "shrinkB": 5}
    ax.annotate("", xy=end, xytext=start, arrowprops=style, zorder=3 if width > 1 else 1)


def _edges(cycles: Any, names: Any, n: int, caller: str) -> set[tuple[int, int]]:
    """Return the edges of cycles as pairs of row numbers."""
    place = {name: row for row, name in enumerate(names)}
    edges = set()
    if isinstance(cycles, str) or not isinstance(cycles, Iterable | None):
        raise TypeError(f"{caller}: cycles must be a list of cycles, each a list of items; got {cycles!r}.")
    for cycle in [] if cycles is None else cycles:
        if isinstance(cycle, str) or not isinstance(cycle, Iterable):
            raise TypeError(f"{caller}: a cycle must be a list of items; got {cycle!r}. Give [[a, b, c], ...].")
        members = cycle[1] if isinstance(cycle, tuple) and len(cycle) == 2 and isinstance(cycle[1], list) else cycle
        unknown = [name for name in members if name not in place]
        if unknown:
            raise ValueError(f"{caller}: {unknown[0]!r} of a cycle is not among the {n} items.")
        rows = [place[name] for name in members]
        edges |= set(zip(rows, [*rows[1:], rows[0]], strict=True))
    return edges
