"""Readers of CSV and Parquet: item tables and comparisons."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from preflearn.data._checks import lock, object_array
from preflearn.data._files import TextTable, path_text, read_table
from preflearn.data._items import ItemTable, check_items
from preflearn.data._sides import winner_value
from preflearn.data.comparisons import Comparisons
from preflearn.exceptions import DataError, FileFormatError, first_few, nearest_names

__all__ = ["read_comparisons", "read_items"]

_NAME_WORDS = ("item", "name", "id", "item_id", "item_name")
_LAYOUTS = "winner,loser / first,second,outcome / first,second,winner / left,right,winner"


def read_items(path: Any, *, name: str | None = None, features: Sequence[str] | None = None) -> ItemTable:
    r"""Read a table of items: one row per item, a column of names, numeric features.

    Parameters
    ----------
    path : str or path
        CSV (delimiter ``,`` ``;`` tab or ``|``, UTF-8, with a header, gzip allowed) or ``.parquet``.
    name : str, default=None
        Column of the names. By default a text column called item, name or id; else a first column without a header
        that holds text; else a column of numbers called item, name or id; else the first text column.
    features : sequence of str, default=None
        Columns to use as features; by default all others, which must then be numbers.

    Returns
    -------
    ItemTable
        With ``values``, ``names``, ``feature_names`` and ``n_items``; `Comparisons` takes it as ``items``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from preflearn.data import read_items
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "items.csv")
    ...     _ = path.write_text("item,height,weight\nann,1.6,55\nbob,1.8,80\n")
    ...     read_items(path).feature_names
    ('height', 'weight')
    """
    table = read_table(path_text(path, "read_items"))
    chosen = list(table.columns) if features is None else list(features)
    column = _name_column(table) if name is None else name
    names = None
    if column is not None:
        names = object_array(table.column(column, "name"))
        _check_distinct(table, names)
    # A first column without a header is a row number, never a feature.
    chosen = [feature for feature in chosen if feature not in (column, "") or features is not None]
    if not chosen:
        return ItemTable(None, lock(names), None, len(table.line))
    values = np.column_stack([_numbers(table, feature) for feature in chosen])
    return ItemTable(lock(values), lock(names), tuple(chosen), len(table.line))


def _name_column(table: TextTable) -> str | None:
    by_word = {column.lower(): column for column in table.columns}
    called = [by_word[word] for word in _NAME_WORDS if word in by_word]
    text = [column for column in table.columns if not _all_numbers(table.cells[column])]
    unnamed = [table.columns[0]] if table.columns[0] == "" else []
    ordered = [c for c in called if c in text] + [c for c in unnamed if c in text] + called + text
    return ordered[0] if ordered else None


def _all_numbers(cells: list[str]) -> bool:
    try:
        np.array([cell or "nan" for cell in cells]).astype(np.float64)
    except ValueError:
        return any(cell.lower() in ("na", "n/a", "null", "none", "?") for cell in cells) and _all_numbers(
            [cell for cell in cells if cell.lower() not in ("na", "n/a", "null", "none", "?")]
        )
    return True


def _check_distinct(table: TextTable, names: NDArray[Any]) -> None:
    seen: dict[str, int] = {}
    for row, name in enumerate(names):
        if seen.setdefault(name, row) != row:
            raise table.fail(
                row,
                f'item "{name}" was listed already ({table.word} {table.line[seen[name]]}). List every item once.',
            )


def _numbers(table: TextTable, column: str, role: str | None = None) -> NDArray[np.float64]:
    """Return a column as finite numbers; the first cell that is not one raises with its line."""
    cells = table.column(column, role)
    what = f'column "{column}"' if role is None else role
    try:
        values = np.array(cells).astype(np.float64)
    except ValueError:
        values = np.full(len(cells), np.nan)
    if np.isfinite(values).all():
        return values
    for row, cell in enumerate(cells):
        try:
            finite = bool(np.isfinite(float(cell)))
        except ValueError:
            finite = False
        if not finite:
            missing = cell.lower() in ("na", "n/a", "nan", "null", "none", "?")
            cure = "Fill the cell or delete the row." if missing else "Correct it, or leave the column out."
            raise table.fail(row, f'{what} holds "{cell}", which is not a finite number. {cure}')
    return np.array([float(cell) for cell in cells])


def read_comparisons(
    path: Any,
    items: Any = None,
    *,
    first: str | None = None,
    second: str | None = None,
    outcome: str | None = None,
    winner: str | None = None,
    loser: str | None = None,
    weight: str | None = None,
    group: str | None = None,
    judge: str | None = None,
    self_comparisons: Literal["error", "drop"] = "error",
) -> Comparisons:
    r"""Read comparisons, one per row.

    Parameters
    ----------
    path : str or path
        CSV (delimiter ``,`` ``;`` tab or ``|``, UTF-8, with a header, gzip allowed) or ``.parquet``.
    items : str, path, item table or None, default=None
        The items: a file for `read_items`, its result, or any table `Comparisons` takes. None: the names that occur.
    first, second, outcome, winner, loser, weight, group, judge : str, default=None
        Columns. By default those called so, or left and right for the sides. With winner and loser the winner comes
        first; with first and second either outcome (a number) or winner (a name, first/left, second/right, tie/draw).
    self_comparisons : {"error", "drop"}, default="error"
        What to do with comparisons of an item with itself.

    Returns
    -------
    Comparisons
        In the order of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from preflearn.data import read_comparisons
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "matches.csv")
    ...     _ = path.write_text("winner;loser\nann;bob\ncy;ann\n")
    ...     read_comparisons(path)
    Comparisons(2 comparisons of 3 items without features)
    """
    owner = "read_comparisons"
    table = read_table(path_text(path, owner))
    source = "the items"
    if isinstance(items, str | os.PathLike):
        source = path_text(items, owner)
        items = read_items(items)
    given = {"first": first, "second": second, "outcome": outcome, "winner": winner, "loser": loser}
    columns = _layout(table, given)
    known = None if items is None else check_items(items, owner)
    one, other = (
        _sides(table, columns[role], role, known, source)
        for role in (("winner", "loser") if "loser" in columns else ("first", "second"))
    )
    if self_comparisons == "error":
        _check_sides_differ(table, one, other)
    value = np.ones(len(one))
    if "loser" not in columns:
        value = _outcome(table, columns, one, other)
    options: dict[str, Any] = {"weight": weight, "group": group, "judge": judge}
    for role, column in options.items():
        found = column if column is not None else _called(table, role)
        if found is not None:
            options[role] = _numbers(table, found, role) if role == "weight" else table.column(found, role)
    try:
        build = Comparisons if "outcome" in columns else Comparisons._build
        return build(known, one, other, value, self_comparisons=self_comparisons, **options)
    except DataError as error:
        raise FileFormatError(f"{table.path}: {error}") from None


def _called(table: TextTable, *words: str) -> str | None:
    by_word = {column.lower(): column for column in table.columns}
    return next((by_word[word] for word in words if word in by_word), None)


def _layout(table: TextTable, given: dict[str, str | None]) -> dict[str, str]:
    """Return the column of each role, in one of the layouts; what was asked for comes before what is found."""
    words = {"first": ("first", "left"), "second": ("second", "right")}
    found = {role: column or _called(table, *words.get(role, (role,))) for role, column in given.items()}
    for roles in (("winner", "loser"), ("first", "second", "outcome"), ("first", "second", "winner")):
        asked_elsewhere = any(column is not None and role not in roles for role, column in given.items())
        chosen = {role: column for role in roles if (column := found[role]) is not None}
        if len(chosen) == len(roles) and not asked_elsewhere:
            return chosen
    raise FileFormatError(
        f"{table.path}: the columns {first_few(table.columns, 12)} do not say who was preferred. "
        f"Needed: {_LAYOUTS}; or name the columns, as in winner=..., loser=...."
    )


def _sides(table: TextTable, column: str, role: str, known: ItemTable | None, source: str) -> list[Any]:
    """Return the items of one side: names, or row numbers where the items have no names."""
    cells = table.column(column, role)
    if known is None:
        return cells
    if known.names is None:
        rows = _numbers(table, column, role)
        bad = np.flatnonzero((rows != np.floor(rows)) | (rows < 0) | (rows >= known.n_items))
        if len(bad):
            raise table.fail(
                int(bad[0]),
                f'{role} "{cells[bad[0]]}" is not a row number 0..{known.n_items - 1} of {source}, which have no names '
                f"({len(bad)} such rows).",
            )
        return list(rows.astype(int).tolist())
    names = {str(name): name for name in known.names}
    unknown = [row for row, cell in enumerate(cells) if cell not in names]
    if unknown:
        nearest = nearest_names(cells[unknown[0]], names)
        more = f"; {len(unknown) - 1} more such rows" if len(unknown) > 1 else ""
        raise table.fail(
            unknown[0],
            f'{role} "{cells[unknown[0]]}" is not in {source} ({known.n_items} items'
            f"{'; ' + nearest if nearest else ''}{more}). Correct the name, or add the item.",
        )
    return [names[cell] for cell in cells]


def _check_sides_differ(table: TextTable, one: list[Any], other: list[Any]) -> None:
    same = [row for row, pair in enumerate(zip(one, other, strict=True)) if pair[0] == pair[1]]
    if same:
        raise table.fail(
            same[0],
            f"{first_few([one[same[0]]])} is set against itself ({len(same)} of {len(one)} rows). Delete the rows, or "
            'read with self_comparisons="drop".',
        )


def _outcome(table: TextTable, columns: dict[str, str], one: list[Any], other: list[Any]) -> NDArray[np.float64]:
    if "outcome" in columns:
        return _numbers(table, columns["outcome"], "outcome")
    cells = table.column(columns["winner"], "winner")
    values = [winner_value(str(a), str(b), cell) for a, b, cell in zip(one, other, cells, strict=True)]
    if None in values:
        row = values.index(None)
        raise table.fail(
            row,
            f'winner "{cells[row]}" is neither {first_few([one[row]])} nor {first_few([other[row]])} '
            f"({values.count(None)} such rows). Write the winner's name, or first/left, second/right, tie.",
        )
    return np.array(values, dtype=np.float64)
