"""Tables of cells from CSV, JSON lines, Parquet and data frames; each knows where its rows came from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.data.checks import is_missing
from preflearn.data.item_table import frame_of
from preflearn.data.words import normal
from preflearn.exceptions import DataError, FileFormatError, first_few, nearest_names
from preflearn.io.bytes import STANDARD_INPUT, decode, kind_of, read_bytes
from preflearn.io.delimited import parse_csv

__all__ = [
    "LEAVE_OUT",
    "Table",
    "frame_cell",
    "is_absent",
    "numbers_of",
    "parse_table",
    "read_table",
    "such",
    "table_of_frame",
    "tidy_number",
]

_ENDS = re.compile(r"\r\n|\r|\n")
# Roles without which a row is no comparison, how messages say that such rows can be left out, and words for no value.
NEEDED = ("winner", "loser", "first", "second", "outcome", "score", "wins_first", "wins_second", "ties")
LEAVE_OUT = ', or leave out all such rows with missing="drop"'
_NAMES = ("winner", "loser", "first", "second")  # could be the name of an item
_ABSENT = frozenset(("na", "n/a", "nan", "null", "#n/a", "<na>"))
_NO_NUMBER = frozenset(("na", "n/a", "nan", "null", "none", "?", "-", ".", "#n/a", "<na>"))
_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")


@dataclass(eq=False)
class Table:
    """A table of text cells; ``line`` is where each row starts, ``word`` is "line" or "row".

    Cells are stripped and "" is missing. ``values`` are the values of a data frame: its names need not be text.
    """

    source: str
    columns: tuple[str, ...]
    line: Sequence[int]
    word: str
    load: Callable[[str], list[str]]
    values: Callable[[str], list[Any]] | None = None
    delimiter: str = ","
    top: int = 1  # line of the header
    commas: list[str] = field(default_factory=list)  # columns with decimal commas that were read
    _cells: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.line)

    @property
    def error(self) -> type[DataError]:
        """The class of errors: a frame is no file."""
        return DataError if self.values is not None else FileFormatError

    def fail(self, row: int, message: str) -> DataError:
        """Return the error about one row."""
        return self.error(f"{self.source}, {self.word} {self.line[row]}: {message}")

    def refuse(self, message: str) -> DataError:
        """Return the error about the table as a whole."""
        return self.error(f"{self.source}: {message}")

    def cells(self, name: str) -> list[str]:
        """Return a column as text; "" where a cell is empty."""
        if name not in self._cells:
            self._cells[name] = self.load(name)
        return self._cells[name]

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
            f"there is no column {name!r}{purpose} (columns: {first_few(self.columns, 12)}"
            f"{'; ' + nearest if nearest else ''}). Name one of these columns."
        )

    def take(self, rows: Sequence[int]) -> Table:
        """Return the table of some rows."""

        def load(name: str) -> list[str]:
            cells = self.cells(name)
            return [cells[row] for row in rows]

        def values(name: str) -> list[Any]:
            assert self.values is not None
            given = self.values(name)
            return [given[row] for row in rows]

        lines = [self.line[row] for row in rows]
        given = None if self.values is None else values
        return Table(self.source, self.columns, lines, self.word, load, given, self.delimiter)

    def column(self, name: str, role: str | None = None) -> list[str]:
        """Return a column without empty cells; ``role`` says what it is for, where that is not its name."""
        name = self.find(name, role)
        cells = self.cells(name)
        if "" in cells:
            what = f'column "{name}"' if role is None else f'{role} (column "{name}")'
            raise self.fail(cells.index(""), f"{what} is empty ({cells.count('')} of {len(cells)} rows). {_fill(role)}")
        nested = None if self.delimiter else next((row for row, cell in enumerate(cells) if cell[:2] == '{"'), None)
        if nested is not None:
            raise self.fail(nested, f'column "{name}" holds an object, {cells[nested][:60]}. Write a name or a number.')
        return cells

    def names(self, name: str) -> dict[str, Any]:
        """Return what each text of a column stands for: itself, or the value of a data frame."""
        cells = self.cells(name)
        if self.values is None:
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
        cure = _fill(role) if missing else "Correct it, or leave the column out."
        raise self.fail(row, f'{what} holds "{cells[row][:60]}", which is not a finite number. {cure}')


def _fill(role: str | None) -> str:
    """Return the cure for a missing cell; where it makes a comparison useless, such rows can be left out."""
    return f"Fill the cell, delete the row{LEAVE_OUT}." if role in NEEDED else "Fill the cell or delete the row."


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


def read_table(path: str, data: bytes | None = None) -> Table:
    """Read a file of any kind that is a table: CSV (delimiter , ; tab or |), JSON lines or Parquet."""
    data = read_bytes(path) if data is None else data
    return parse_table(data, STANDARD_INPUT if path == "-" else path, kind_of(data[: 1 << 16], path))


def parse_table(data: bytes, name: str, kind: str) -> Table:
    """Return the table in the bytes of a file."""
    if kind == "parquet":
        return _parse_parquet(data, name)
    text = decode(data, name)
    return _parse_json(text, name) if kind == "json" else _parse_csv(text, name)


def _from_lists(name: str, columns: Sequence[str], cells: Sequence[list[str]], line: Sequence[int], word: str) -> Table:
    by_name = dict(zip(columns[::-1], cells[::-1], strict=True))  # of unnamed columns the first
    return Table(name, tuple(columns), line, word, by_name.__getitem__, delimiter="")


def _parse_csv(text: str, name: str) -> Table:
    cells = parse_csv(text, name)
    table = _from_lists(name, cells.header, cells.columns, cells.line, "line")
    table.delimiter, table.top = cells.delimiter, cells.top
    return table


def _parse_json(text: str, name: str) -> Table:
    if text.lstrip().startswith("["):
        try:
            records: list[tuple[int, Any]] = list(enumerate(json.loads(text), start=1))
        except (ValueError, RecursionError) as error:
            raise FileFormatError(f"{name}: this is not JSON ({error}). Check the file.") from None
        word = "entry"
    else:
        records, word = [], "line"
        for number, row in enumerate(_ENDS.split(text), start=1):
            if not row.strip():
                continue
            try:
                records.append((number, json.loads(row)))
            except (ValueError, RecursionError) as error:
                raise FileFormatError(
                    f"{name}, line {number}: this is not a JSON object ({error}). Write one object per line, such as "
                    '{"winner": "ann", "loser": "bob"}.'
                ) from None
    columns: dict[str, None] = {}
    for number, record in records:
        if not isinstance(record, dict) or not record:
            raise FileFormatError(
                f"{name}, {word} {number}: {str(record)[:40]!r} is not an object with names and values. Write one "
                'object per line, such as {"winner": "ann", "loser": "bob"}.'
            )
        columns.update(dict.fromkeys(record))
    if not records:
        raise FileFormatError(f"{name}: the list is empty. Give at least one object.")
    inside = [
        key for key, value in records[0][1].items() if isinstance(value, list) and value and isinstance(value[0], dict)
    ]
    if len(records) == 1 and inside:
        raise FileFormatError(f'{name}: the rows are inside "{inside[0]}". Write one object per line, without it.')
    cells = [[_json_cell(record.get(column)) for _, record in records] for column in columns]
    return _from_lists(name, [column.strip() for column in columns], cells, [number for number, _ in records], word)


def _json_cell(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(entry, str | int | float) for entry in value):
        return " > ".join(_cell(entry) for entry in value)  # a ranking, best first
    return json.dumps(value) if isinstance(value, list | dict) else _cell(value)


def _parse_parquet(data: bytes, name: str) -> Table:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise FileFormatError(
            f'{name}: Parquet files need the optional package pyarrow: pip install "preflearn[io]".'
        ) from None
    try:
        table = parquet.read_table(pyarrow.BufferReader(data))
        columns = [table.column(position).to_pylist() for position in range(table.num_columns)]
        titles = [str(title) for title in table.column_names]
    except Exception as error:  # pyarrow raises a different class for each kind of damage
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FileFormatError(f"{name}: not a readable Parquet file ({reason}). Write it again.") from None
    if not table.num_rows or not titles:
        raise FileFormatError(f"{name}: the table has no rows. Give at least one.")
    if len(set(titles)) < len(titles):
        raise FileFormatError(f"{name}: {len(titles) - len(set(titles))} column names occur twice. Rename them.")
    cells = [[_json_cell(value) for value in column] for column in columns]
    return _from_lists(name, titles, cells, range(1, table.num_rows + 1), "row")


def _cell(value: Any) -> str:
    if type(value) is str:
        return value.strip()
    if is_missing(value):
        return ""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value).strip()


def frame_cell(value: Any) -> str:
    """Return a value of Python as the text of a cell."""
    return value.strip() if type(value) is str else _json_cell(value)


def table_of_frame(value: Any, owner: str, source: str) -> Table | None:
    """Return a data frame of any library as a table, or None for anything else; rows count from 0.

    An index of strings (pandas) becomes a first column without a name.
    """
    frame = frame_of(value, owner)
    if frame is None:
        return None
    index = getattr(value, "index", None)
    labels = list(index) if index is not None and not callable(index) else []
    labelled = bool(labels) and all(isinstance(label, str) for label in labels) and "" not in frame.columns
    columns = (*([""] if labelled else []), *frame.columns)
    if not len(frame) or not columns:
        raise DataError(f"{source}: the data frame has no {'rows' if columns else 'columns'}. Give at least one.")

    def values(name: str) -> list[Any]:
        return labels if labelled and name == "" else frame[name].to_list()

    def load(name: str) -> list[str]:
        if name in frame.columns and frame.schema[name].is_integer():
            return [str(value) if type(value) is int else _cell(value) for value in values(name)]
        return [frame_cell(value) for value in values(name)]

    return Table(source, columns, range(len(frame)), "row", load, values, delimiter="")
