"""Tables from what Python has at hand: lists of pairs and of rows, dicts of columns, arrays of names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from preflearn.exceptions import DataError, first_few
from preflearn.io.table import Table, frame_cell, table_of_frame

__all__ = ["table_of"]

PAIR = ("winner", "loser")
_CURE = (
    "Give pairs (winner, loser), or rows with names of columns such as {'left': 'ann', 'right': 'bob', 'winner': 'tie'}"
)


def table_of(value: Any, owner: str, source: str, *, pairs: bool = True) -> Table | None:
    """Return a data frame, or rows or columns of Python or NumPy, as a table; None for anything else.

    Pairs without names of columns are (winner, loser); ``pairs=False``, for tables of items, leaves them and arrays
    alone. ``source`` is the name of a data frame, or of any table of items, in messages.
    """
    if isinstance(value, Mapping):
        return _of_columns(value, "the dict of columns" if pairs else source)
    if isinstance(value, np.ndarray) and pairs:
        return _of_array(value)
    if isinstance(value, Iterator) and pairs:
        value = list(value)
    if isinstance(value, list | tuple):
        if value and all(isinstance(row, Mapping) for row in value):
            return _of_rows(value, "the list of rows" if pairs else source)
        if pairs:
            return _of_pairs(value)
    if isinstance(value, set | frozenset) and pairs:
        raise TypeError(f"{owner}: a set keeps neither order nor repeats of its pairs. Give a list.")
    return table_of_frame(value, owner, source)


def _table(source: str, columns: Mapping[str, list[Any]]) -> Table:
    names, rows = tuple(columns), len(next(iter(columns.values()), []))
    if not rows:
        raise DataError(f"{source} has no {'rows' if names else 'columns'}. Give at least one.")

    def load(name: str) -> list[str]:
        return [frame_cell(value) for value in columns[name]]

    return Table(source, names, range(rows), "row", load, columns.__getitem__, delimiter="")


def _of_columns(value: Mapping[Any, Any], source: str) -> Table:
    columns: dict[str, list[Any]] = {}
    for key, cells in value.items():
        name = str(key).strip()
        if isinstance(cells, str | bytes | Mapping) or not hasattr(cells, "__len__") or getattr(cells, "ndim", 1) == 0:
            raise DataError(
                f"{source}: {first_few([key])} is {first_few([cells])}, not a list of values, one for each row. Give a "
                'list for each column: {"winner": [...], "loser": [...]}.'
            )
        if name in columns:
            raise DataError(f"{source}: two columns are called {name!r}. Rename one of them.")
        columns[name] = cells.tolist() if hasattr(cells, "tolist") else list(cells)
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {count}" for name, count in list(lengths.items())[:6])
        raise DataError(f"{source}: its columns differ in length ({told}). Give one value for each row.")
    return _table(source, columns)


def _of_rows(rows: Sequence[Mapping[Any, Any]], source: str) -> Table:
    keys = dict.fromkeys(key for row in rows for key in row)
    return _of_columns({key: [row.get(key) for row in rows] for key in keys}, source)


def _of_pairs(rows: Sequence[Any]) -> Table:
    source = "the list of pairs"
    fields = getattr(rows[0], "_fields", None) if rows else None  # of a named tuple
    if fields is not None and all(getattr(row, "_fields", None) == fields for row in rows):
        return _of_rows([row._asdict() for row in rows], "the list of rows")
    for number, row in enumerate(rows):
        listed = isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1)
        if listed and len(row) == len(PAIR) and not any(isinstance(name, list | tuple | Mapping) for name in row):
            continue
        if listed and len(row) > len(PAIR):
            raise DataError(
                f"{source}, row {number}: {len(row)} values without names of columns ({first_few(list(row))}). "
                f"{_CURE}; for rankings, best first, use preflearn.data.from_rankings."
            )
        raise DataError(f"{source}, row {number}: {first_few([row])} is not a pair. {_CURE}.")
    first, second = ([row[side] for row in rows] for side in range(2))
    return _table(source, {PAIR[0]: first, PAIR[1]: second})


def _of_array(value: Any) -> Table:
    source = "the array"
    if value.dtype.names is not None:
        flat = value.ravel()
        return _of_columns({name: _cells(flat[name], source) for name in value.dtype.names}, source)
    if value.dtype == object and value.ndim == 1:
        return _of_pairs(list(value))
    if value.ndim != len(PAIR) or value.shape[1] != len(PAIR) or value.dtype.kind == "c":
        raise DataError(
            f"{source} has shape {value.shape} and type {value.dtype}; an array of names needs two columns, winner and "
            "loser. For features of items and their scores use Ratings or Comparisons."
        )
    cells = _cells(value, source)
    return _table(source, {PAIR[0]: [row[0] for row in cells], PAIR[1]: [row[1] for row in cells]})


def _cells(value: Any, source: str) -> list[Any]:
    if value.dtype.kind == "S":
        try:
            value = np.char.decode(value, "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{source} holds bytes that are not UTF-8 ({error.reason}). Give text.") from None
    cells: list[Any] = value.tolist()
    return cells
