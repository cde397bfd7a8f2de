"""Tables of cells from CSV, JSON lines, Parquet and data frames; each knows where its rows came from."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.data._checks import is_missing
from preflearn.data._files import STANDARD_INPUT, decode, kind_of, read_bytes
from preflearn.data._items import frame_of
from preflearn.exceptions import DataError, FileFormatError, first_few, nearest_names

__all__ = ["Table", "normal", "numbers_of", "parse_table", "read_table", "table_of_frame", "tidy_number"]

_DELIMITERS = (",", ";", "\t", "|")
_NAMES = {"\t": "tab"}
_ENDS = re.compile(r"\r\n|\r|\n")
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
            raise self.fail(
                cells.index(""),
                f"{what} is empty ({cells.count('')} of {len(cells)} rows). Fill the cell or delete the row.",
            )
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
        cure = "Fill the cell or delete the row." if missing else "Correct it, or leave the column out."
        raise self.fail(row, f'{what} holds "{cells[row][:60]}", which is not a finite number. {cure}')


def normal(name: str) -> str:
    """Return a name without case, blanks, underscores, dots and other marks."""
    return re.sub(r"[\W_]+", "", name.casefold())


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
    found = re.search(r"[^\r\n]*\S[^\r\n]*", text)
    head = found[0] if found else ""
    excel = re.fullmatch(r"sep=([,;|\t])", head)
    bare = re.sub(r'"[^"]*"', "", head)
    delimiter = excel[1] if excel else max(_DELIMITERS, key=bare.count)
    plain = None if excel else _plain_columns(text, delimiter)
    header: list[str]
    columns: list[list[str]]
    line: Sequence[int]
    if plain is not None:
        header, columns, line = plain[0], plain[1], range(2, len(plain[1][0]) + 2)
    else:
        header, rows, line = _rows_with_lines(text, name, delimiter, bool(excel))
        columns = [list(column) for column in zip(*rows, strict=True)]
    header = [cell.strip() for cell in header]
    if not columns:
        raise FileFormatError(f"{name}: there is a header but no rows below it. Check that the file is complete.")
    repeated = [title for title in dict.fromkeys(header) if title and header.count(title) > 1]
    if repeated:
        raise FileFormatError(f"{name}, line 1: columns {first_few(repeated)} occur more than once. Rename them.")
    stripped = [[cell.strip() for cell in column] for column in columns]
    table = _from_lists(name, header, stripped, line, "line")
    table.delimiter = delimiter
    return table


def _plain_columns(text: str, delimiter: str) -> tuple[list[str], list[list[str]]] | None:
    """Return header and columns of the usual file: no quotes or blank lines, as many cells on every line; else None."""
    if '"' in text:
        return None
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    width = lines[0].count(delimiter) + 1
    blank = delimiter * (width - 1)
    if len(lines) < 2 or any("\r" in line or line.strip() in ("", blank) for line in lines):
        return None
    if any(line.count(delimiter) != width - 1 for line in lines):
        return None
    cells = delimiter.join(lines[1:]).split(delimiter)
    return lines[0].split(delimiter), [cells[place::width] for place in range(width)]


def _rows_with_lines(text: str, name: str, delimiter: str, skip: bool) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the header, the rows and the line where each starts; the first odd row raises."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    rows: list[list[str]] = []
    line: list[int] = []
    here = start = 1
    try:
        for row in reader:
            here, start = start, reader.line_num + 1
            if not any(cell.strip() for cell in row):
                continue
            if skip:
                skip = False
            elif header is None:
                header = row
            elif len(row) != len(header):
                raise _ragged(name, here, row, header, delimiter)
            else:
                rows.append(row)
                line.append(here)
    except csv.Error as error:
        cause = "a quote is opened and not closed" if "end of data" in str(error) else str(error)
        raise FileFormatError(f"{name}, line {start}: {cause}. Check the quotes.") from None
    if header is None:
        raise FileFormatError(f"{name}: there are no columns. Give a table with a header.")
    return header, rows, line


def _ragged(name: str, here: int, row: list[str], header: list[str], delimiter: str) -> FileFormatError:
    values = numbers_of([cell.strip() for cell in header])
    if values is not None and np.isfinite(values).all():
        return FileFormatError(
            f"{name}, line 1: there are only numbers, so the header is missing, and line {here} has {len(row)} cells "
            f"instead of {len(header)}. Add a first line that names the columns, such as first,second,outcome, and "
            "give every line as many cells."
        )
    by = _NAMES.get(delimiter, delimiter)
    return FileFormatError(
        f"{name}, line {here}: {len(row)} cells, but the header has {len(header)} columns ({first_few(header, 6)}; "
        f"separated by {by!r}). Put cells that contain {by!r} in quotes, or complete the line."
    )


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
        return [value.strip() if type(value) is str else _json_cell(value) for value in values(name)]

    return Table(source, columns, range(len(frame)), "row", load, values, delimiter="")
