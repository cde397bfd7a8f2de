"""Tables out, in the format that the ending of a file's name says, for programs, spreadsheets and papers."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from preflearn._disk import atomic_file, is_pipe, open_stream
from preflearn.exceptions import DataError, Place
from preflearn.table_format import Column, TextTable, decimal, visible

Columns = Mapping[str, Any]  # sequences or arrays, all of one length
_MOST_ROWS, _LONGEST_CELL = 1_048_575, 32_767  # of an Excel sheet, below its header


def write_table(
    columns: Columns,
    path: str | os.PathLike[str],
    *,
    shown: TextTable | None = None,
    overwrite: bool = True,
    bom: bool = False,
) -> None:
    """Write columns to a file, whole or not at all, in the format of its ending.

    Parameters
    ----------
    columns : mapping of str to sequence or array
        The columns by name, all of one length.
    path : path
        .csv, .tsv, .md (Markdown), .tex (LaTeX), .json, .jsonl, .parquet (needs pyarrow) or .xlsx (needs XlsxWriter).
        Pipes and devices get CSV.
    shown : TextTable, default=None
        The table for people, in Markdown and LaTeX (by default all columns, rounded).
    overwrite : bool, default=True
        Whether an existing file is replaced; else it is a DataError.
    bom : bool, default=False
        Start a .csv or .tsv with a byte-order mark, by which some spreadsheets know UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> from preflearn.io.export import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table({"item": ["ann", "bob"], "wins": [2, 0]}, Path(folder, "wins.md"))
    ...     print(Path(folder, "wins.md").read_text())
    | item | wins |
    | :-- | --: |
    | ann | 2 |
    | bob | 0 |
    <BLANKLINE>
    """
    path = Path(path)
    content = table_bytes(columns, check_ending(path, bom=bom), path, shown=shown, bom=bom)
    with atomic_file(path, overwrite=overwrite) as stream:
        stream.write(content)


def check_ending(path: Path, *, bom: bool = False) -> str:
    """Return the ending of a file for a table, or raise DataError if no table can be written there."""
    if open_stream(path) is not None or is_pipe(path):
        return ".csv"
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        named = f'the ending "{ending}" is not a known format of tables' if ending else "the name has no ending"
        raise DataError(code="unknown-table-ending", where=Place(str(path))).says(
            named, f"Use {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        )
    if bom and ending not in (".csv", ".tsv"):
        raise DataError(code="byte-order-mark-not-text", where=Place(str(path))).says(
            f"a byte-order mark is for .csv and .tsv files, not for {ending}", "Leave it out"
        )
    kind, package = _PACKAGES.get(ending, ("", ""))
    if package and importlib.util.find_spec(package.lower()) is None:
        raise DataError(code="table-package-missing", where=Place(str(path))).says(
            f'{kind} files need the optional package {package}: pip install "preflearn[io]".'
        )
    return ending


def table_bytes(
    columns: Columns, ending: str, path: Path, *, shown: TextTable | None = None, bom: bool = False
) -> bytes:
    """Return a table as the bytes of a file; what is missing or not a number becomes an empty cell."""
    typed = {name: one_kind(values) for name, values in columns.items()}
    if ending in _FOR_PEOPLE:
        return f"{_FOR_PEOPLE[ending](shown or _as_shown(typed))}\n".encode("utf-8", "replace")
    if ending in _TEXTS:
        return (b"\xef\xbb\xbf" if bom else b"") + _TEXTS[ending](typed).encode("utf-8", "surrogatepass")
    return _parquet(typed) if ending == ".parquet" else _xlsx(typed, path)


def one_kind(values: Any) -> list[Any]:
    """Return a column as typed tables want it: None where a number is missing, text where kinds differ."""
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    found = [None if isinstance(value, float) and not math.isfinite(value) else value for value in listed]
    kinds = {type(value) for value in found if value is not None}
    if len(kinds) > 1 and not kinds <= {int, float}:
        return [None if value is None else str(value) for value in found]
    return found


def csv_text(columns: Columns, *, delimiter: str = ",", shown: bool = False) -> str:
    """Return a table as CSV that a spreadsheet does not run; ``shown`` on a terminal, with controls written out."""
    typed = {name: one_kind(values) for name, values in columns.items()}
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    rows = ([safe_cell(value) for value in row] for row in (list(typed), *zip(*typed.values(), strict=True)))
    writer.writerows([visible("" if cell is None else str(cell)) for cell in row] if shown else row for row in rows)
    return text.getvalue()


def safe_cell(value: Any) -> Any:
    """Return a cell that a spreadsheet does not run: a quote before ``=HYPERLINK(...)``, or before such a quote."""
    if isinstance(value, str) and value.lstrip("'")[:1] in ("=", "+", "-", "@", "\t", "\r"):
        try:
            float(value)
        except ValueError:
            return f"'{value}"
    return value


def _records(columns: Columns, between: str) -> str:
    """Return the rows as objects of JSON."""
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return between.join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)


def _as_shown(columns: Mapping[str, list[Any]]) -> TextTable:
    """Return columns for people: numbers are rounded."""
    shown = {}
    for name, values in columns.items():
        numbers = [value for value in values if isinstance(value, float)]
        digits = 0 if all(map(float.is_integer, numbers)) else 3 if max(map(abs, numbers)) < 10 else 1
        numeric = all(value is None or isinstance(value, int | float) for value in values)
        cells = [decimal(value, digits) if isinstance(value, float) else value for value in values]
        shown[name] = Column(name, cells, str, kind="number" if numeric else "name")
    return TextTable(shown)


def _parquet(columns: Columns) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    content = io.BytesIO()
    parquet.write_table(
        pa.table({_sound(name): list(map(_sound, values)) for name, values in columns.items()}), content
    )
    return content.getvalue()


def _sound(value: Any) -> Any:
    """Return text with a question mark for each half of a character, which these formats cannot hold."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _xlsx(columns: Columns, path: Path) -> bytes:
    import xlsxwriter

    n_rows = max(map(len, columns.values()))
    longest = max((len(cell) for values in columns.values() for cell in values if isinstance(cell, str)), default=0)
    if n_rows > _MOST_ROWS or longest > _LONGEST_CELL:
        held = f"{_MOST_ROWS:,} rows" if n_rows > _MOST_ROWS else f"{_LONGEST_CELL:,} letters in a cell"
        raise DataError(code="sheet-too-small", where=Place(str(path))).says(
            f"Excel sheets hold at most {held}", "Write .csv"
        )
    content = io.BytesIO()
    with xlsxwriter.Workbook(content, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        bold = book.add_format({"bold": True})
        for k, (name, values) in enumerate(columns.items()):
            sheet.write_string(0, k, _sound(name), bold)
            for place, value in enumerate(values, start=1):
                if isinstance(value, str):
                    sheet.write_string(place, k, _sound(value))  # never a formula or a link
                elif value is not None:
                    sheet.write_number(place, k, value)
        sheet.freeze_panes(1, 0)
        sheet.autofit()
    return content.getvalue()


_FOR_PEOPLE = {".md": TextTable.markdown, ".tex": TextTable.latex}
_TEXTS: dict[str, Callable[[Columns], str]] = {
    ".csv": csv_text,
    ".tsv": lambda columns: csv_text(columns, delimiter="\t"),
    ".json": lambda columns: "[\n" + _records(columns, ",\n") + "\n]\n",
    ".jsonl": lambda columns: _records(columns, "\n") + "\n",
}
_PACKAGES = {".parquet": ("Parquet", "pyarrow"), ".xlsx": ("Excel", "XlsxWriter")}
ENDINGS = (".csv", ".tsv", *_FOR_PEOPLE, ".json", ".jsonl", *_PACKAGES)
