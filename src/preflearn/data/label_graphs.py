"""Preference graphs over labels from the right label of each item: class labels, ordinal scales, hierarchies.

They are the graphs of Fig. 1 of Chu and Ghahramani (2005). For five labels of which 3 is right:

    class labels        3 > 1, 3 > 2, 3 > 4, 3 > 5                       a star from the right label
    ordinal scale       3 > 2 > 1 and 3 > 4 > 5                          chains outward from the right label
    hierarchy           each label of a level > each label of the next   levels by closeness to the right label
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import check_labels, check_weight
from preflearn.data.label_orders import between_levels
from preflearn.data.label_preferences import LabelPreferences, feature_table, label_codes, label_set
from preflearn.exceptions import DataError, first_few

IntArray = NDArray[np.intp]


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
    owner = "from_class_labels"
    table = feature_table(items, names, owner)
    right = check_labels(y, table.n_items, "y", owner, "item")
    known = label_set(labels, right.tolist(), owner)
    code = label_codes(right, known, "y", owner)
    n_labels = len(known)
    graphs = [(np.full(n_labels - 1, c), np.delete(np.arange(n_labels), c)) for c in range(n_labels)]
    return _by_class(table, code, graphs, known, check_weight(weight, table.n_items, owner, "item"))


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
    table = feature_table(items, names, owner)
    right = check_labels(y, table.n_items, "y", owner, "item")
    if labels is None and not all(isinstance(label, int | float) for label in right.tolist()):
        raise DataError(code="label-order-unknown", owner=owner).says(
            f"the labels are not numbers ({first_few(dict.fromkeys(right.tolist()))}), so their order on the "
            "scale is not known",
            "Give labels=[...] from one end of the scale to the other",
        )
    seen = sorted(right.tolist()) if labels is None else right.tolist()
    known = label_set(labels, seen, owner)
    code = label_codes(right, known, "y", owner)
    low = np.arange(len(known) - 1)
    # of the neighbours k, k + 1 the one on the side of the right label is preferred
    graphs = [(np.where(low >= c, low, low + 1), np.where(low >= c, low + 1, low)) for c in range(len(known))]
    return _by_class(table, code, graphs, known, check_weight(weight, table.n_items, owner, "item"))


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
    table = feature_table(items, names, owner)
    if not isinstance(paths, Mapping):
        raise TypeError(
            f"{owner}: paths must map every label to its group, or to its groups from the root down; got "
            f"{type(paths).__name__}."
        )
    right = check_labels(y, table.n_items, "y", owner, "item")
    known = label_set(list(paths), [], owner)
    code = label_codes(right, known, "y", owner)
    route = [tuple(path) if isinstance(path, list | tuple) else (path,) for path in paths.values()]
    graphs = [between_levels(-_closeness(route, c)[None, :], "adjacent")[1:3] for c in range(len(known))]
    return _by_class(table, code, graphs, known, check_weight(weight, table.n_items, owner, "item"))


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
    table: Any,
    code: IntArray,
    graphs: list[tuple[Any, Any]],
    labels: NDArray[Any],
    weight: NDArray[np.float64] | None,
) -> LabelPreferences:
    """Give every item the graph of its right label."""
    size = np.array([len(graph[0]) for graph in graphs])
    start = np.cumsum(size) - size
    first, second = (np.concatenate([graph[side] for graph in graphs]) for side in (0, 1))
    item = np.repeat(np.arange(len(code)), size[code])
    own = size[code]
    place = np.repeat(start[code] - (np.cumsum(own) - own), own) + np.arange(int(own.sum()))
    return LabelPreferences._build(table, item, first[place], second[place], labels, weight=weight)
