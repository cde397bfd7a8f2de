"""Preference graphs over labels: from the right label of each item, and from label rankings, full or partial.

The graphs of Fig. 1 of Chu and Ghahramani (2005), for five labels of which 3 is right:

    class labels        3 > 1, 3 > 2, 3 > 4, 3 > 5                       a star from the right label
    ordinal scale       3 > 2 > 1 and 3 > 4 > 5                          chains outward from the right label
    hierarchy           each label of a level > each label of the next   levels by closeness to the right label
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import as_list, check_choice, check_labels, check_weight, is_missing, rows_text, unmask
from preflearn.data.label_preferences import LabelPreferences, feature_table, label_codes, label_set
from preflearn.data.orders import _rank, _sequences, check_compared
from preflearn.exceptions import DataError, first_few

IntArray = NDArray[np.intp]
Edges = tuple[IntArray, IntArray]  # better and worse labels
Pairs = Literal["all", "adjacent"]
Ties = Literal["exclude", "include"]


def from_class_labels(
    items: Any, y: Any, *, labels: Any = None, weight: Any = None, names: Any = None
) -> LabelPreferences:
    """Return label preferences from class labels: the right label is preferred to every other one.

    Parameters
    ----------
    items : table of shape (n_items, n_features)
        One row per item, as in `LabelPreferences`.
    y : sequence of shape (n_items,)
        The right label of each item.
    labels : sequence of shape (n_labels,), default=None
        All labels; None takes those that occur.
    weight : sequence of shape (n_items,), default=None
        Weights of items; each edge of an item gets its weight.
    names : sequence of shape (n_items,), default=None
        Distinct names of the items.

    Returns
    -------
    LabelPreferences
        n_labels - 1 edges per item, Fig. 1(a) of the paper.

    Examples
    --------
    >>> from preflearn.data import from_class_labels
    >>> flowers = from_class_labels([[5.1], [7.0], [6.3]], ["setosa", "versicolor", "virginica"])
    >>> flowers.first
    array([0, 0, 1, 1, 2, 2])
    >>> flowers.second
    array([1, 2, 0, 2, 0, 1])
    """

    def star(right: int, n_labels: int) -> Edges:
        return np.full(n_labels - 1, right), np.delete(np.arange(n_labels), right)

    return _by_class("from_class_labels", items, y, labels, star, weight, names)


def from_ordinal_labels(
    items: Any, y: Any, *, labels: Any = None, weight: Any = None, names: Any = None
) -> LabelPreferences:
    """Return label preferences from labels on a scale: the nearer to the right label, the better, on either side.

    Parameters
    ----------
    items, weight, names
        As in `from_class_labels`.
    y : sequence of shape (n_items,)
        The right label of each item.
    labels : sequence of shape (n_labels,), default=None
        The scale from one end to the other; None takes the numbers that occur, in order. Labels that are not numbers
        need it.

    Returns
    -------
    LabelPreferences
        n_labels - 1 edges per item, between neighbours on the scale: Fig. 1(b) of the paper.

    Examples
    --------
    >>> from preflearn.data import from_ordinal_labels
    >>> stars = from_ordinal_labels([[0.2], [0.9]], [3, 1], labels=[1, 2, 3, 4, 5])
    >>> [(int(a) + 1, int(b) + 1) for a, b in zip(stars[0].first, stars[0].second)]
    [(2, 1), (3, 2), (3, 4), (4, 5)]
    """
    owner = "from_ordinal_labels"
    seen = as_list(y, "y", owner) if labels is None else []
    if not all(isinstance(label, int | float) for label in seen):
        raise DataError(code="label-order-unknown", owner=owner).says(
            f"the labels are not numbers ({first_few(dict.fromkeys(seen))}), so their order on the scale is not known",
            "Give labels=[...] from one end of the scale to the other",
        )

    def chains(right: int, n_labels: int) -> Edges:
        low = np.arange(n_labels - 1)  # of the neighbours k, k + 1 the one on the side of the right label is preferred
        return np.where(low >= right, low, low + 1), np.where(low >= right, low + 1, low)

    return _by_class(owner, items, y, labels, chains, weight, names)


def from_label_hierarchy(
    items: Any, y: Any, paths: Mapping[Any, Any], *, weight: Any = None, names: Any = None
) -> LabelPreferences:
    """Return label preferences from class labels in a hierarchy: the right label, then its family, then the rest.

    Parameters
    ----------
    items, weight, names
        As in `from_class_labels`.
    y : sequence of shape (n_items,)
        The right label of each item.
    paths : mapping from label to group, or to a sequence of groups
        Where each label hangs: its group, or the groups from the root down. All labels must be in it; their order is
        the order of ``labels``.

    Returns
    -------
    LabelPreferences
        Labels are in levels by how much of their path they share with the right label, which is a level of its own.
        Every label of a level is preferred to every label of the next: Fig. 1(c) of the paper, whose three levels are
        those of a hierarchy with one layer of groups. Levels further apart follow and are not listed.

    Examples
    --------
    >>> from preflearn.data import from_label_hierarchy
    >>> groups = {"tennis": "sports", "golf": "sports", "rain": "weather", "snow": "weather"}
    >>> news = from_label_hierarchy([[0.3], [0.5]], ["golf", "snow"], groups)
    >>> [(str(news.labels[a]), str(news.labels[b])) for a, b in zip(news[0].first, news[0].second)]
    [('golf', 'tennis'), ('tennis', 'rain'), ('tennis', 'snow')]
    """
    owner = "from_label_hierarchy"
    if not isinstance(paths, Mapping):
        raise TypeError(
            f"{owner}: paths must map every label to its group, or to its groups from the root down; got "
            f"{type(paths).__name__}."
        )
    route = [tuple(path) if isinstance(path, list | tuple) else (path,) for path in paths.values()]

    def levels(right: int, n_labels: int) -> Edges:
        return _between_levels(-_closeness(route, right)[None, :], "adjacent")[1:3]

    return _by_class(owner, items, y, list(paths), levels, weight, names)


def _closeness(routes: list[tuple[Any, ...]], right: int) -> NDArray[np.float64]:
    """Return how many groups each label shares with the right one, counted from the root; the right one most."""
    own = routes[right]
    shared = np.zeros(len(routes))
    for place, route in enumerate(routes):
        for one, other in zip(route, own, strict=False):
            if one != other:
                break
            shared[place] += 1
    shared[right] = max(map(len, routes)) + 1
    return shared


def _by_class(
    owner: str, items: Any, y: Any, labels: Any, graph: Callable[[int, int], Edges], weight: Any, names: Any
) -> LabelPreferences:
    """Give every item the graph of its right label, which ``graph`` returns for one of so many labels."""
    table = feature_table(items, names, owner)
    right = check_labels(y, table.n_items, "y", owner, "item")
    known = label_set(labels, right.tolist(), owner)
    code = label_codes(right, known, "y", owner).tolist()
    graphs = [graph(c, len(known)) for c in range(len(known))]
    first, second = (np.concatenate([graphs[c][side] for c in code]) for side in (0, 1))
    item = np.repeat(np.arange(len(code)), [len(graphs[c][0]) for c in code])
    per_item = check_weight(weight, table.n_items, owner, "item")
    return LabelPreferences._build(table, item, first, second, known, weight=per_item)


def from_label_rankings(
    items: Any,
    rankings: Any,
    *,
    pairs: Pairs = "all",
    ties: Ties = "exclude",
    labels: Any = None,
    weight: Any = None,
    names: Any = None,
) -> LabelPreferences:
    """Return label preferences from full or partial orders of labels, best first.

    Parameters
    ----------
    items, weight, names
        As in `from_class_labels`.
    rankings : sequence of n_items sequences, or data frame
        Each lists labels from best to worst; a list, tuple or set inside it is a level of equal labels. Labels left out
        are not compared.
    pairs : {"all", "adjacent"}, default="all"
        All pairs of labels in different levels, n_labels (n_labels - 1) / 2 for a full order, as in the paper's
        experiment on label ranking; or those of neighbouring levels, which imply the others but say less about noise.
    ties : {"exclude", "include"}, default="exclude"
        Whether labels of one level give edges with outcome 0 (for a likelihood with ties).
    labels : sequence of shape (n_labels,), default=None
        All labels; None takes those that occur.

    Returns
    -------
    LabelPreferences
        ``first`` is the better label.

    Examples
    --------
    >>> from preflearn.data import from_label_rankings
    >>> votes = from_label_rankings([[0.1], [0.9]], [["tea", "milk", "juice"], ["juice", "tea"]])
    >>> votes.n_edges
    4
    >>> [(str(votes.labels[a]), str(votes.labels[b])) for a, b in zip(votes[1].first, votes[1].second)]
    [('juice', 'tea')]
    """
    owner = "from_label_rankings"
    table = feature_table(items, names, owner)
    orders = [[_rank(entry) for entry in ranking] for ranking in _sequences(rankings, "ranking", owner)]
    if len(orders) != table.n_items:
        raise DataError(code="label-ranking-count", owner=owner).says(
            f"{len(orders)} rankings for {table.n_items} items", "Give one ranking per item"
        )
    seen = [label for order in orders for level in order for label in level]
    row = np.repeat(np.arange(len(orders)), [sum(map(len, order)) for order in orders])
    missing = np.flatnonzero([is_missing(label) for label in seen])
    if len(missing):
        raise DataError(code="ranked-label-missing", owner=owner).says(
            f"{len(missing)} labels are missing (ranking {row[missing[0]]} first)",
            "Leave out labels that were not ranked",
        )
    values = check_labels(seen, len(seen), "rankings", owner, "label")
    known = label_set(labels, seen, owner)
    code = label_codes(values, known, "rankings", owner)
    cells, count = np.unique(row * len(known) + code, return_counts=True)
    if len(cells) < len(code):
        number, label = divmod(int(cells[np.argmax(count > 1)]), len(known))
        raise DataError(code="label-ranked-twice", owner=owner).says(
            f"ranking {number} lists {first_few([known[label]])} more than once", "List every label once"
        )
    rank = np.full((len(orders), len(known)), np.nan)
    rank[row, code] = [place for order in orders for place, level in enumerate(order) for _ in level]
    return _by_rank(table, rank, known, pairs, ties, weight, owner)


def from_label_ranks(
    items: Any,
    ranks: Any,
    *,
    labels: Any = None,
    pairs: Pairs = "all",
    ties: Ties = "exclude",
    weight: Any = None,
    names: Any = None,
) -> LabelPreferences:
    """Return label preferences from a table of ranks, one column per label.

    Parameters
    ----------
    items, weight, names
        As in `from_class_labels`.
    ranks : array or data frame of shape (n_items, n_labels)
        Rank of each label, 1 (or the lowest number) is best; equal ranks are ties; NaN: not ranked.
    labels : sequence of shape (n_labels,), default=None
        Labels of the columns; None takes the names of a data frame's columns, else 0, 1, ...
    pairs, ties
        As in `from_label_rankings`.

    Returns
    -------
    LabelPreferences
        ``first`` is the better label.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn.data import from_label_ranks
    >>> votes = from_label_ranks([[0.1], [0.9]], [[1, 2, 3], [2, np.nan, 1]], labels=["tea", "milk", "juice"])
    >>> [(str(votes.labels[a]), str(votes.labels[b])) for a, b in zip(votes.first, votes.second)]
    [('tea', 'milk'), ('tea', 'juice'), ('milk', 'juice'), ('juice', 'tea')]
    """
    owner = "from_label_ranks"
    table = feature_table(items, names, owner)
    if labels is None and hasattr(ranks, "columns"):
        labels = [str(column) for column in ranks.columns]
    try:
        rank = np.array(unmask(np.asarray(ranks) if hasattr(ranks, "columns") else ranks), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{owner}: ranks must be numbers, NaN where a label was not ranked ({error}).") from None
    if rank.ndim != 2 or rank.shape[0] != table.n_items:
        raise DataError(code="label-ranks-shape", owner=owner).says(
            f"ranks has shape {rank.shape} for {table.n_items} items", "Give one row per item and one column per label"
        )
    known = label_set(range(rank.shape[1]) if labels is None else labels, [], owner)
    if len(known) != rank.shape[1]:
        raise DataError(code="label-ranks-columns", owner=owner).says(
            f"{len(known)} labels for {rank.shape[1]} columns of ranks", "Give one label a column"
        )
    bad = np.flatnonzero(np.isinf(rank).any(axis=1))
    if len(bad):
        raise DataError(code="label-ranks-infinite", owner=owner).says(
            f"ranks are infinite in {len(bad)} rows ({rows_text(bad)})", "Use NaN for not ranked"
        )
    return _by_rank(table, rank, known, pairs, ties, weight, owner)


def _by_rank(
    table: Any, rank: NDArray[np.float64], labels: NDArray[Any], pairs: str, ties: str, weight: Any, owner: str
) -> LabelPreferences:
    check_choice(pairs, ("all", "adjacent"), "pairs", owner)
    check_choice(ties, ("exclude", "include"), "ties", owner)
    item, first, second, outcome = _between_levels(rank, pairs, ties=ties == "include")
    check_compared(np.bincount(item, minlength=table.n_items), "ranking", owner, "labels")
    per_item = check_weight(weight, table.n_items, owner, "item")
    return LabelPreferences._build(table, item, first, second, labels, outcome, per_item)


def _between_levels(
    rank: NDArray[np.float64], pairs: str, *, ties: bool = False
) -> tuple[IntArray, IntArray, IntArray, NDArray[np.float64]]:
    """Return the edges (item, better, worse, outcome) of a table of ranks with NaN for absent labels."""
    order = np.argsort(rank, axis=1, kind="stable")
    sorted_rank = np.take_along_axis(rank, order, axis=1)
    steps = np.cumsum(np.diff(sorted_rank, axis=1, prepend=sorted_rank[:, :1]) != 0, axis=1)
    level = np.empty_like(steps)
    np.put_along_axis(level, order, steps, axis=1)  # ranks 1, 4, 4, 9 become levels 0, 1, 1, 2
    left, right = np.triu_indices(rank.shape[1], 1)
    gap = level[:, right] - level[:, left]
    keep = ~np.isnan(rank[:, left]) & ~np.isnan(rank[:, right])
    if not ties:
        keep &= gap != 0
    if pairs == "adjacent":
        keep &= np.abs(gap) <= 1
    item, pair = np.nonzero(keep)
    signed = gap[item, pair]
    first = np.where(signed >= 0, left[pair], right[pair])
    second = np.where(signed >= 0, right[pair], left[pair])
    return item, first, second, (signed != 0).astype(np.float64)
