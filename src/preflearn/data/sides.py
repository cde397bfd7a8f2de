"""The sides and the outcome of comparisons: names become row numbers, outcomes become real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import as_list, check_labels, check_names, check_real, is_missing, object_array, rows_text
from preflearn.data.item_table import ItemTable, check_items
from preflearn.exceptions import DataError, first_few, nearest_names

__all__ = ["check_outcome", "check_rows", "named_items"]


def named_items(items: Any, first: Any, second: Any, names: Any, owner: str) -> ItemTable:
    """Return the item table with its names, from the arguments or from the names that occur."""
    if items is None:
        if names is None:
            first, second = as_list(first, "first", owner), as_list(second, "second", owner)
            for side, what in ((first, "first"), (second, "second")):
                check_labels(side, len(first), what, owner, "comparison")
            pairs = (name for pair in zip(first, second, strict=True) for name in pair)
            names = list(dict.fromkeys(pairs))
        names = as_list(names, "names", owner)
        return ItemTable(None, check_names(names, len(names), owner), None, len(names))
    given = None if names is None else object_array(as_list(names, "names", owner))
    table = check_items(items, owner, given)
    known = table.names if given is None else given
    return table if known is None else table._replace(names=check_names(known, table.n_items, owner))


def check_outcome(outcome: Any, n_rows: int, owner: str) -> NDArray[np.float64]:
    """Return outcomes, one real number per comparison; booleans raise because False would be a tie."""
    if np.ndim(outcome) == 0 and not hasattr(outcome, "__len__"):
        outcome = [outcome] * n_rows
    if np.asarray(outcome).dtype == bool:
        raise TypeError(
            f"{owner}: outcome holds booleans, and False would read as a tie. Pass numpy.where(outcome, 1, -1) if True "
            "means that first was preferred."
        )
    return check_real(outcome, n_rows, "outcome", owner, "comparison")


def check_rows(
    given: list[Any] | NDArray[Any], n_items: int, lookup: dict[Any, int] | None, what: str, owner: str
) -> NDArray[np.intp]:
    """Return the row number of the item at one side of every comparison.

    Integers are row numbers unless the names are integers themselves; anything else is looked up in the names.
    """
    integers = isinstance(given, np.ndarray) or all(type(value) is int for value in given)
    if lookup is not None and (not integers or any(type(name) is int for name in lookup)):
        return _find_names(as_list(given, what, owner), lookup, what, owner)
    if not integers:
        row = next(row for row, value in enumerate(given) if type(value) is not int)
        missing = is_missing(given[row])
        cure = "Drop those comparisons." if missing else "Pass integers, or give names=[...] and pass names."
        raise TypeError(
            f"{owner}: {what} must hold row numbers of items; row {row} holds {first_few([given[row]])} "
            f"({type(given[row]).__name__}) and the items have no names. {cure}"
        )
    rows = np.asarray(given) if isinstance(given, np.ndarray) else np.array(given, dtype=object)
    bad = np.flatnonzero((rows < 0) | (rows >= n_items))
    if len(bad):
        one_based = rows.max() == n_items and rows.min() > 0
        hint = (
            f"The largest is {n_items} and none is 0: subtract 1 if the numbering starts at 1."
            if one_based
            else "Correct them, drop those comparisons, or add the missing items."
        )
        raise DataError(
            f"{len(bad)} of {len(given)} row numbers in {what} are outside 0..{n_items - 1} "
            f"({rows_text(bad)}; values {first_few(rows[bad].tolist())})",
            hint,
            code="row-number-out-of-range",
            owner=owner,
        )
    return rows.astype(np.intp)


def _find_names(given: list[Any], lookup: dict[Any, int], what: str, owner: str) -> NDArray[np.intp]:
    """Return the row number of each name; unknown names raise with the nearest known ones."""
    try:
        rows = np.fromiter((lookup.get(value, -1) for value in given), dtype=np.intp, count=len(given))
    except TypeError as error:
        raise TypeError(f"{owner}: {what} must hold item names or row numbers ({error}).") from None
    bad = np.flatnonzero(rows < 0)
    if len(bad):
        unknown = list(dict.fromkeys(given[i] for i in bad))
        nearest = nearest_names(str(unknown[0]), (str(name) for name in lookup))
        raise DataError(
            f"{len(bad)} of {len(given)} names in {what} are not among the {len(lookup)} items "
            f"({rows_text(bad)}; names {first_few(unknown)}{'; ' + nearest if nearest else ''})",
            "Correct the names, add the items, or drop those comparisons",
            code="unknown-item",
            owner=owner,
        )
    return rows
