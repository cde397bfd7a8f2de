"""LabelPreferences: which labels suit each item better, as a preference graph over labels for every item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import (
    OneRowEach,
    as_column,
    as_list,
    check_labels,
    check_names,
    check_weight,
    is_missing,
    look_up,
    object_array,
    repeated,
    row_selector,
    rows_text,
)
from preflearn.data.sides import check_outcome, check_rows
from preflearn.data.tables import ItemTable, check_items
from preflearn.exceptions import DataError, first_few

if TYPE_CHECKING:
    from preflearn.data.tables import ItemArray


class LabelPreferences(OneRowEach):
    """Preferences between labels, item by item: for this item, label ``first`` suits better than label ``second``.

    Parameters
    ----------
    items : array, sparse matrix, data frame or Bags of shape (n_items, n_features)
        One row of features per item (the paper's instances). Of a data frame (pandas, polars, pyarrow, ...) a column
        called ``item``, ``name`` or ``id``, or a pandas index of strings, becomes the names and the other columns must
        be numbers. An array is copied unless it is read-only float64 already. `Bags` are samples of vectors.
    item : sequence of shape (n_edges,)
        The item that each edge is about: row numbers, or names.
    first, second : sequences of shape (n_edges,)
        The two labels of each edge, by their names: strings, integers or tuples.
    outcome : float or sequence of shape (n_edges,), default=1
        Positive: ``first`` is preferred; negative: ``second``; 0: a tie. Any real number is a margin.
    weight : sequence of shape (n_edges,), default=None
        How much each edge counts, at least 0; weight 2 is the same as listing it twice.
    labels : sequence of shape (n_labels,), default=None
        All labels there are, distinct, in the order in which utilities will be reported; also labels that no edge
        mentions. None takes those that occur, sorted where they are all numbers or all strings.
    names : sequence of shape (n_items,), default=None
        Distinct names of the items.

    Attributes
    ----------
    items, item, first, second, outcome, weight, labels, names
        As given, checked and read-only: numbers as float64, ``item`` as row numbers, ``first`` and ``second`` as places
        in ``labels``, labels and names as objects.
    feature_names : tuple of str or None
        Column names of a data frame.
    n_items, n_features, n_labels, n_edges : int
        Counts.
    shape : tuple
        (n_items, n_features).

    Notes
    -----
    It is scikit-learn's ``X`` with one row per item: indexing selects items together with their edges (then listed
    item by item), so cross-validation, grid search and ``train_test_split`` work unchanged. Items may have no edge:
    they change nothing. Builders for common graphs: `from_class_labels`, `from_ordinal_labels`, `from_label_hierarchy`,
    `from_label_rankings`, `from_label_ranks`. Building costs O(n d + m log m) for m edges, indexing O(m log m).

    Examples
    --------
    >>> from preflearn.data import LabelPreferences
    >>> X = [[0.1, 2.0], [0.7, 1.0]]
    >>> news = LabelPreferences(X, [0, 0, 1], ["sports", "sports", "weather"], ["politics", "weather", "sports"])
    >>> news
    LabelPreferences(3 edges between 3 labels for 2 items with 2 features)
    >>> news.labels
    array(['politics', 'sports', 'weather'], dtype=object)
    >>> news[1].labels[news[1].first]
    array(['weather'], dtype=object)
    """

    _ROW_FIELDS: ClassVar = ("item", "first", "second", "outcome", "weight")

    items: ItemArray
    item: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    outcome: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    labels: NDArray[Any]
    names: NDArray[Any] | None
    feature_names: tuple[str, ...] | None

    def __init__(
        self,
        items: Any,
        item: Any,
        first: Any,
        second: Any,
        outcome: Any = 1,
        *,
        weight: Any = None,
        labels: Any = None,
        names: Any = None,
    ) -> None:
        owner = type(self).__name__
        table = feature_table(items, names, owner)
        item = as_column(item, "item", owner)
        n_edges = len(item)
        if not n_edges:
            raise DataError(code="no-label-edges", owner=owner).says("there are no edges", "Give at least one")
        first = check_labels(first, n_edges, "first", owner, "edge")
        second = check_labels(second, n_edges, "second", owner, "edge")
        known = label_set(labels, [*first.tolist(), *second.tolist()], owner)
        left, right = label_codes(first, known, "first", owner), label_codes(second, known, "second", owner)
        same = np.flatnonzero(left == right)
        if len(same):
            raise DataError(code="label-against-itself", owner=owner).says(
                f"{len(same)} of {n_edges} edges compare a label with itself ({rows_text(same)}; labels "
                f"{first_few(known[left[same]])})",
                "Drop them: they change nothing",
            )
        self._fill(
            items=table.values,
            item=check_rows(item, table, "item", owner),
            first=left,
            second=right,
            outcome=check_outcome(outcome, n_edges, owner),
            weight=check_weight(weight, n_edges, owner, "edge"),
            labels=known,
            names=table.names,
            feature_names=table.feature_names,
        )

    @classmethod
    def _build(
        cls,
        table: ItemTable,
        item: NDArray[np.intp],
        first: NDArray[np.intp],
        second: NDArray[np.intp],
        labels: NDArray[Any],
        outcome: NDArray[np.float64] | None = None,
        weight: NDArray[np.float64] | None = None,
    ) -> Self:
        """Build from edges that are known to be right; ``weight`` is one per item."""
        return cls._from_fields(
            items=table.values,
            item=item,
            first=first,
            second=second,
            outcome=np.ones(len(item)) if outcome is None else outcome,
            weight=None if weight is None else weight[item],
            labels=labels,
            names=table.names,
            feature_names=table.feature_names,
        )

    def _select(self, key: Any) -> Self:
        """Return the chosen items with their edges."""
        rows = np.arange(len(self))[row_selector(key, len(self))]
        by_item = np.argsort(self.item, kind="stable")
        start = np.searchsorted(self.item[by_item], np.arange(len(self) + 1))
        size = start[rows + 1] - start[rows]
        place = np.repeat(start[rows] - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))
        return self._take(
            by_item[place],
            item=np.repeat(np.arange(len(rows)), size),
            items=self.items[rows],
            names=None if self.names is None else self.names[rows],
        )

    @property
    def n_edges(self) -> int:
        """Number of edges, over all items."""
        return len(self.item)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.labels)

    def __repr__(self) -> str:
        return (
            f"LabelPreferences({self.n_edges} edges between {self.n_labels} labels for {len(self)} items with "
            f"{self.n_features} features{'; weight' if self.weight is not None else ''})"
        )

    def swapped(self, mask: Any = None) -> Self:
        """Return the same statements with sides exchanged and outcomes negated (where ``mask`` is true)."""
        return self._take(slice(None), **self._exchanged(mask)[1])

    def with_items(self, items: Any) -> Self:
        """Return the same preferences over another item table with the same number of rows."""
        table = check_items(items, "with_items", self.names)
        if table.values is None or table.n_items != len(self):
            raise DataError(code="label-item-count-changed", owner="with_items").says(
                f"the new table has {table.n_items} rows; these preferences are for {len(self)} items",
                "Give one row of features per item, in the same order",
            )
        return self._take(slice(None), items=table.values, feature_names=table.feature_names)


def feature_table(items: Any, names: Any, owner: str) -> ItemTable:
    """Return a checked table of features with the names of its rows."""
    if items is None or isinstance(items, int | np.integer):
        raise TypeError(f"{owner}: items must be a table of features, one row per item; got {items!r}.")
    table = check_items(items, owner, names)
    given = table.names if names is None else names
    return table._replace(names=None if given is None else check_names(given, table.n_items, owner))


def label_set(labels: Any, seen: list[Any], owner: str) -> NDArray[Any]:
    """Return all labels as objects: those given, else those seen; at least two and each once."""
    if labels is None:
        distinct = _of_one_kind(list(dict.fromkeys(seen)))
        alike = any(all(isinstance(label, kind) for label in distinct) for kind in (int | float, str))
        known = object_array(sorted(distinct) if alike else distinct)
        if len(known) < 2:
            raise DataError(code="one-label-seen", owner=owner).says(
                f"there is only one label ({first_few(known)}), and a preference needs two",
                "Check that the labels are in the right column, or give labels=[...] with all of them",
            )
        return known
    listed = as_list(labels, "labels", owner)
    missing = [place for place, label in enumerate(listed) if is_missing(label)]
    if missing:
        raise DataError(code="label-name-missing", owner=owner).says(
            f"labels has missing values (places {first_few(missing)})", "Name every label"
        )
    known = object_array(_of_one_kind(check_labels(listed, len(listed), "labels", owner, "label").tolist()))
    if len(set(known)) < len(known):
        raise DataError(code="label-listed-twice", owner=owner).says(
            f"labels lists {first_few(repeated(known))} more than once", "List every label once"
        )
    if len(known) < 2:
        raise DataError(code="one-label-listed", owner=owner).says(
            f"labels has {len(known)} label(s), and a preference needs two", "List them all"
        )
    return known


def _of_one_kind(labels: list[Any]) -> list[Any]:
    """Return integers among floats as floats, as NumPy has them."""
    return [float(label) for label in labels] if {type(label) for label in labels} == {int, float} else labels


def label_codes(values: NDArray[Any], labels: NDArray[Any], what: str, owner: str) -> NDArray[np.intp]:
    """Return the place of each label among all labels; unknown ones raise with the nearest known ones."""
    known = {label: number for number, label in enumerate(labels)}
    cure = f"Correct them, or add them to labels (which are {first_few(labels, 8)})"
    return look_up(values.tolist(), known, what, "labels", cure, code="unknown-label", owner=owner)
