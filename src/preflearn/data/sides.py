"""The sides and the outcome of comparisons: names become row numbers, numbers and words outcomes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import (
    as_list,
    check_labels,
    check_names,
    check_real,
    is_missing,
    look_up,
    object_array,
    rows_text,
)
from preflearn.data.tables import ItemTable, check_items
from preflearn.exceptions import DataError, first_few


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


def check_rows(given: list[Any] | NDArray[Any], table: ItemTable, what: str, owner: str) -> NDArray[np.intp]:
    """Return the row number of each item; integers are row numbers unless the names are integers themselves."""
    integers, n_items = isinstance(given, np.ndarray) or all(type(value) is int for value in given), table.n_items
    if table.names is not None and (not integers or any(type(name) is int for name in table.names)):
        place = {name: row for row, name in enumerate(table.names)}
        cure = "Correct the names, add the items, or drop those comparisons"
        return look_up(as_list(given, what, owner), place, what, "items", cure, code="unknown-item", owner=owner)
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
        raise DataError(code="row-number-out-of-range", owner=owner).says(
            f"{len(bad)} of {len(given)} row numbers in {what} are outside 0..{n_items - 1} "
            f"({rows_text(bad)}; values {first_few(rows[bad].tolist())})",
            hint,
        )
    return rows.astype(np.intp)


_TIES = frozenset(
    (
        *("tie", "ties", "tied", "draw", "drawn", "equal", "same", "both", "neither", "even", "half"),
        *("bothbad", "bothgood", "tiebothbad", "tiebothgood", "nopreference", "nopref", "stalemate"),
        *("bothequal", "equallygood", "equallybad", "aboutthesame", "bothareequal", "tiegame"),
    )
)
_TIE_MARKS = frozenset(("=", "1/2", "½", "0.5", "1/2-1/2", "½-½", "0.5-0.5", ".5"))
_FIRST = ("first", "left", "firstitem", "leftitem", "item1", "option1", "side1", "firstwins", "leftwins")
_SECOND = ("second", "right", "seconditem", "rightitem", "item2", "option2", "side2", "secondwins", "rightwins")
# Letters and numbers mean a side only beside columns that are called so.
_SHORT = {
    ("home", "away"): {"h": 1.0, "a": -1.0, "w": 1.0, "l": -1.0, "d": 0.0, "x": 0.0, "homewin": 1.0, "awaywin": -1.0},
    ("home", "visitor"): {"h": 1.0, "v": -1.0, "w": 1.0, "l": -1.0, "d": 0.0, "x": 0.0},
    ("white", "black"): {"w": 1.0, "b": -1.0, "d": 0.0},
    ("left", "right"): {"l": 1.0, "r": -1.0, "a": 1.0, "b": -1.0},
}
_LETTERS = {"a": 1.0, "b": -1.0, "w": 1.0, "l": -1.0, "d": 0.0}
# What happened to the first side.
RESULTS = {"win": 1.0, "won": 1.0, "wins": 1.0, "loss": -1.0, "lost": -1.0, "lose": -1.0, "defeat": -1.0}
_SIGNS = re.compile(r"\W*([ab])\s*(>+|<+|=+)\s*([ab])\W*")  # A>B, A>>B, A=B
_RESULT = re.compile(r"(\d{1,6})\s*[-:\u2013]\s*(\d{1,6})")


def normal(name: str) -> str:
    """Return a name without case, blanks, underscores, dots and other marks."""
    return re.sub(r"[\W_]+", "", name.casefold())


def word_value(text: str, words: Mapping[str, float]) -> float | None:
    """Return what a word says: 1 first, -1 second, 0 tie; None if nothing."""
    if text in _TIE_MARKS:
        return 0.0
    plain = normal(text)
    if plain in words:
        return words[plain]
    if plain in _TIES:
        return 0.0
    by_sign = sign_value(text)
    if by_sign is not None:
        return float(np.sign(by_sign))
    result = _RESULT.fullmatch(text.strip())
    return float(np.sign(int(result[1]) - int(result[2]))) if result else None


def sign_value(text: str) -> float | None:
    """Return what A>B, A>>B or A=B says: 1, 2, 0, and negative where B is better; None if it is none of these."""
    signs = _SIGNS.fullmatch(text.casefold())
    if signs is None or signs[1] == signs[3]:
        return None
    strength = 0 if signs[2][0] == "=" else len(signs[2])
    return float(strength if (signs[2][0] == ">") == (signs[1] == "a") else -strength)


def side_words(first: str = "first", second: str = "second", sides: tuple[str, str] | None = None) -> dict[str, float]:
    """Return the words for the sides of two columns, whose own names count too."""
    words = dict.fromkeys(_FIRST, 1.0) | dict.fromkeys(_SECOND, -1.0) | RESULTS
    words |= _SHORT.get(sides or ("", ""), _LETTERS)
    if sides is not None:
        words |= {sides[0]: 1.0, sides[1]: -1.0}
    return words | {normal(first): 1.0, normal(second): -1.0}
