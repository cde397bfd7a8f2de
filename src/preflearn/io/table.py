"""The one table that all readers use: columns of values with the place where each row stands in its source.

Files, data frames and lists of Python become a `Table` in `preflearn.io.opening`. Everything else asks it for cells
(text), for numbers, or for an error that names the place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import is_missing
from preflearn.data.outcome_words import normal
from preflearn.exceptions import DataError, FileFormatError, Place, Setting, Text, first_few, nearest_names

__all__ = ["LEAVE_OUT", "Table", "is_absent", "numbers_of", "such", "tidy_number"]

# Roles without which a row is no comparison, how messages say that such rows can be left out, and words for no value.
NEEDED = ("winner", "loser", "first", "second", "outcome", "score", "wins_first", "wins_second", "ties")
LEAVE_OUT = "leave out all such rows with " + Setting("missing", "drop")
_NAMES = ("winner", "loser", "first", "second")  # could be the name of an item
_ABSENT = frozenset(("na", "n/a", "nan", "null", "#n/a", "<na>"))
_NO_NUMBER = frozenset(("na", "n/a", "nan", "null", "none", "?", "-", ".", "#n/a", "<na>"))
_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")


@dataclass(eq=False)
class Table:
    """Columns of values, as text or as they are.

    Parameters
    ----------
    source : str
        Name of the file or object in messages.
    columns : tuple of str
        Names of the columns.
    values : function of a name
        The values of a column, as they are in the source.
    line : sequence of int
        Where each row stands.
    word : str
        What ``line`` counts: "line", "row" or "entry".
    is_file : bool
        Whether names of items are the text of their cells, as in a file, or the values themselves.
    delimiter : str
        What separates cells of text, "" elsewhere.
    top : int
        Line of the header.
    """

    source: str
    columns: tuple[str, ...]
    values: Callable[[str], Sequence[Any]]
    line: Sequence[int]
    word: str = "row"
    is_file: bool = True
    delimiter: str = ""
    top: int = 1
    commas: list[str] = field(default_factory=list)  # columns with decimal commas that were read
    text: dict[str, list[str]] = field(default_factory=dict)  # stripped cells of the columns asked for so far

    def __len__(self) -> int:
        return len(self.line)

    @property
    def error(self) -> type[DataError]:
        """The class of errors: a frame is no file."""
        return FileFormatError if self.is_file else DataError

    def fail(self, row: int, what: Text, *cures: Text, code: str) -> DataError:
        """Return the error about one row."""
        return self.error(what, *cures, code=code, where=Place(self.source, self.line[row], self.word))

    def refuse(self, what: Text, *cures: Text, code: str) -> DataError:
        """Return the error about the table as a whole."""
        return self.error(what, *cures, code=code, where=Place(self.source))

    def cells(self, name: str) -> list[str]:
        """Return a column as stripped text; "" where a cell is empty."""
        if name not in self.text:
            self.text[name] = [_cell(value) for value in self.values(name)]
        return self.text[name]

    def find(self, name: str, role: str | None = None) -> str:
        """Return the column of that name: exactly, else without regard to case, blanks and punctuation."""
        if name in self.columns:
            return name
        alike = [column for column in self.columns if normal(column) == normal(name) and normal(name)]
        if len(alike) == 1:
            return alike[0]
        nearest = nearest_names(name, self.columns)
        purpose = "" if role is None else f" for {role}"
        raise self.refuse(
            f"there is no column {name!r}{purpose} (columns: "
            f"{first_few(self.columns, 12)}{'; ' + nearest if nearest else ''})",
            "Name one of these columns",
            code="no-such-column",
        )

    def take(self, rows: Sequence[int]) -> Table:
        """Return the table of some rows."""

        def values(name: str) -> list[Any]:
            given = self.values(name)
            return [given[row] for row in rows]

        cells = {name: [known[row] for row in rows] for name, known in self.text.items()}
        lines = [self.line[row] for row in rows]
        return replace(self, values=values, line=lines, commas=[], text=cells)

    def with_column(self, name: str, cells: list[str]) -> Table:
        """Return the table with a column of other text, or one more."""
        columns = self.columns if name in self.columns else (*self.columns, name)

        def values(wanted: str) -> Sequence[Any]:
            return cells if wanted == name else self.values(wanted)

        return replace(self, columns=columns, values=values, text=self.text | {name: cells})

    def column(self, name: str, role: str | None = None) -> list[str]:
        """Return a column without empty cells; ``role`` says what it is for, where that is not its name."""
        name = self.find(name, role)
        cells = self.cells(name)
        if "" in cells:
            what = f'column "{name}"' if role is None else f'{role} (column "{name}")'
            raise self.fail(
                cells.index(""),
                f"{what} is empty ({cells.count('')} of {len(cells)} rows)",
                *_fill(role),
                code="empty-cell",
            )
        nested = None if self.delimiter else next((row for row, cell in enumerate(cells) if cell[:2] == '{"'), None)
        if nested is not None:
            raise self.fail(
                nested,
                f'column "{name}" holds an object, {cells[nested][:60]}',
                "Write a name or a number",
                code="nested-cell",
            )
        return cells

    def names(self, name: str) -> dict[str, Any]:
        """Return what each text of a column stands for: itself, or the value of a data frame."""
        cells = self.cells(name)
        if self.is_file:
            return {cell: cell for cell in cells}
        meaning = dict(zip(cells, self.values(name), strict=True))
        meaning.pop("", None)
        plain = {cell: value.item() if isinstance(value, np.generic) else value for cell, value in meaning.items()}
        whole = all(isinstance(value, float) and value.is_integer() for value in plain.values())
        return {
            cell: int(value) if whole else cell if isinstance(value, str | list | dict) else value
            for cell, value in plain.items()
        }

    def as_numbers(self, name: str, cells: list[str]) -> NDArray[np.float64] | None:
        """Return the cells of a column as numbers, NaN where missing, or None; decimal commas are noted."""
        values = numbers_of(cells, self.delimiter)
        if values is not None and name not in self.commas and any("," in cell for cell in cells):
            self.commas.append(name)
        return values

    def numbers(self, name: str, role: str | None = None) -> NDArray[np.float64]:
        """Return a column as finite numbers; the first cell that is none raises with its line."""
        cells = self.column(name, role)
        what = f'column "{name}"' if role is None else role
        values = self.as_numbers(name, cells)
        if values is not None and np.isfinite(values).all():
            return values
        row = next(row for row, cell in enumerate(cells) if not _is_finite(cell, self.delimiter))
        missing = cells[row].lower() in _NO_NUMBER
        cures = _fill(role) if missing else ("Correct it", "leave the column out")
        raise self.fail(
            row, f'{what} holds "{cells[row][:60]}", which is not a finite number', *cures, code="cell-not-a-number"
        )


def _cell(value: Any) -> str:
    """Return a value as the text of a cell; a list of names is a ranking, best first."""
    if type(value) is str:
        return value.strip()
    if type(value) is int:
        return str(value)
    if isinstance(value, list | dict):
        if isinstance(value, list) and all(isinstance(entry, str | int | float) for entry in value):
            return " > ".join(_cell(entry) for entry in value)
        return json.dumps(value)
    if is_missing(value):
        return ""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value).strip()


def _fill(role: str | None) -> tuple[Text, ...]:
    """Return the cures for a missing cell; where it makes a comparison useless, such rows can be left out."""
    return ("Fill the cell", "delete the row", *([LEAVE_OUT] if role in NEEDED else []))


def is_absent(cell: str, role: str) -> bool:
    """Return whether a cell that a comparison needs is missing: empty or, where a number belongs, a word for that."""
    return not cell or (role not in _NAMES and cell.lower() in _ABSENT)


def such(count: int, what: str) -> str:
    """Return ``1 such row`` or ``7 such rows``."""
    return f"{count} such {what}{'s' if count != 1 else ''}"


def numbers_of(cells: Sequence[str], delimiter: str = ",") -> NDArray[np.float64] | None:
    """Return cells as numbers, missing ones as NaN, or None if a cell is neither.

    A decimal comma is read where commas do not separate cells and no cell has a decimal point.
    """
    try:
        values = np.array(cells, dtype=np.str_).astype(np.float64)
    except ValueError:
        present = [cell if cell and cell.lower() not in _NO_NUMBER else "nan" for cell in cells]
        if delimiter != "," and any("," in cell for cell in present) and not any("." in cell for cell in present):
            present = [cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell for cell in present]
        try:
            values = np.array(present, dtype=np.str_).astype(np.float64)
        except ValueError:
            return None
    return None if any("_" in cell for cell in set(cells)) else values


def _is_finite(cell: str, delimiter: str) -> bool:
    value = numbers_of([cell], delimiter)
    return value is not None and bool(np.isfinite(value[0]))


def tidy_number(text: str) -> str:
    """Return 3.0, 03 and 3 as the same text, for names that are numbers; other text as it is."""
    try:
        value = float(text)
    except ValueError:
        return text
    return str(int(value)) if value.is_integer() and "_" not in text else text
