"""Cells of the data sets: as numbers, or as names that another table lists; an odd one is an error with its line."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from preflearn.exceptions import DataError, FileFormatError, Place, nearest_names
from preflearn.io.opening import open_source
from preflearn.io.table import Table, numbers_of

AGAIN = "Get the file again, as it was published"
GAPS = ("", "NA")


def read_table(path: Path, columns: Iterable[str] = ()) -> Table:
    """Return the table in a CSV file; one without these columns raises."""
    found = open_source(path, "reproduce")
    if not isinstance(found, Table):
        raise FileFormatError(code="reproduce-no-table", where=Place(str(path))).says(
            f"this is a file of the kind {found.kind}, and a table was expected", AGAIN
        )
    absent = [name for name in columns if name not in found.columns]
    if absent:
        raise found.refuse(code="reproduce-no-column").says(f'there is no column "{absent[0]}"', AGAIN)
    return found


def numbers(table: Table, columns: Sequence[str], *, gaps: bool = False) -> Any:
    """Return columns as an array of numbers, (n_rows, n_columns); gaps are NaN where they may be."""
    values = np.empty((len(table), len(columns)))
    for place, name in enumerate(columns):
        cells = table.cells(name)
        able = np.array([_number(cell, gaps) for cell in cells.distinct])
        values[:, place] = able[cells.code]
        odd = next((cell for cell, one in zip(cells.distinct, able, strict=True) if np.isinf(one)), None)
        if odd is not None:
            raise unexpected(table, name, odd, "is not a number")
    return values


def _number(cell: str, gaps: bool) -> float:
    """Return the number in a cell; infinity where there is none."""
    if cell in GAPS:
        return np.nan if gaps else np.inf
    found = numbers_of([cell])
    return np.inf if found is None or not np.isfinite(found[0]) else float(found[0])


def places(table: Table, column: str, names: Iterable[str]) -> Any:
    """Return for each row the number of its name among those that another table lists."""
    place = {name: number for number, name in enumerate(names)}
    cells = table.cells(column)
    unknown = next((cell for cell in cells.distinct if cell not in place), None)
    if unknown is not None:
        near = nearest_names(unknown, place)
        raise unexpected(table, column, unknown, "is not one of those listed" + (f" ({near})" if near else ""))
    return np.array([place[cell] for cell in cells.distinct], dtype=np.intp)[cells.code]


def read_cars(folder: Path) -> tuple[Any, Any, Any]:
    """Return the numbers of the set of preferences between cars: answers, cars and users."""
    answers, items, users = (read_table(folder / f"{name}1.csv") for name in ("prefs", "items", "users"))
    for column, listed in zip(answers.columns, (users, items, items), strict=False):
        places(answers, column, listed.cells(listed.columns[0]))
    answers, items, users = (numbers(table, table.columns) for table in (answers, items, users))
    return answers, items, users


def unexpected(table: Table, column: str, cell: str, what: str) -> DataError:
    """Return the error about a cell, where it first occurs."""
    row = table.cells(column).index(cell)
    return table.fail(row, code="reproduce-odd-cell").says(
        f'column "{column}" holds "{cell[:60]}", which {what}', AGAIN
    )


def bare_numbers(path: Path) -> Any:
    """Return the numbers of a gzipped file without a header, separated by commas; it may be large."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            found = np.loadtxt(stream, delimiter=",", ndmin=2)
        if not np.isfinite(found).all():
            raise ValueError("some are not finite")
        return found
    except (ValueError, OSError, EOFError) as error:
        raise FileFormatError(code="reproduce-odd-line", where=Place(str(path), _odd_line(path))).says(
            f"not the numbers that were expected ({error})", AGAIN
        ) from None


def _odd_line(path: Path) -> int | None:
    """Return the first line that has no numbers, or not as many as the first; None where the file cannot be read."""
    width = None
    try:
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as stream:
            for number, line in enumerate(stream, 1):
                cells = line.split(",")
                width = width or len(cells)
                if len(cells) != width or any(not np.isfinite(_number(cell.strip(), False)) for cell in cells):
                    return number
    except (OSError, EOFError):
        pass
    return None
