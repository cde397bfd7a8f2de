"""Whatever holds a table becomes a `Table`: files, data frames, dicts of columns, lists of rows or pairs, arrays.

This is the only place that asks which of these something is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from preflearn.data.item_table import frame_of
from preflearn.exceptions import DataError, FileFormatError, Place, first_few
from preflearn.io.bytes import STANDARD_INPUT, decode, is_path, kind_of, path_text, read_bytes
from preflearn.io.delimited import parse_csv
from preflearn.io.table import Table

__all__ = ["Content", "open_bytes", "open_source", "open_table", "read_table"]

PAIR = ("winner", "loser")
_CURE = (
    "Give pairs (winner, loser), or rows with names of columns such as {'left': 'ann', 'right': 'bob', 'winner': 'tie'}"
)
_NO_TABLES = ("preflib", "svmlight")
_ENDS = re.compile(r"\r\n|\r|\n")


class Content(NamedTuple):
    """A file that is no table: its bytes, its path, its name in messages, and "preflib" or "svmlight"."""

    data: bytes
    path: str
    source: str
    kind: str
    is_file: bool = True


def open_source(value: Any, owner: str, form: str | None = None) -> Table | Content:
    """Return preferences in a file or any object that holds a table; ``form`` is what the person says a file holds.

    Pairs without names of columns are (winner, loser).
    """
    if isinstance(value, Table | Content):
        return value
    if is_path(value):
        path = path_text(value, owner)
        return open_bytes(read_bytes(path), path, form)
    table = _of_object(value, owner)
    if table is None:
        raise TypeError(
            f"{owner}: source must be a path, -, a data frame, a list of pairs (winner, loser) or of rows, a dict of "
            f"columns or an array of names; got {type(value).__name__}."
        )
    if form in _NO_TABLES:
        raise DataError(
            f"{table.source} cannot be a {form} file",
            "Leave out form, or give a path",
            code="form-of-no-file",
            owner=owner,
        )
    return table


def open_bytes(data: bytes, path: str, form: str | None = None) -> Table | Content:
    """Return what the content of a file holds; its ending says what it is where its first bytes do not."""
    source = STANDARD_INPUT if path == "-" else path
    kind = kind_of(data[: 1 << 16], path)
    if form in _NO_TABLES or (form is None and kind in _NO_TABLES):
        return Content(data, path, source, form or kind)
    if kind == "parquet":
        return _parse_parquet(data, source)
    text = decode(data, source)
    return _parse_json(text, source) if kind == "json" else parse_csv(text, source)


def open_table(value: Any, owner: str) -> Table | None:
    """Return a table of items in a file, a data frame, a dict of columns or a list of rows; None for anything else."""
    if isinstance(value, Table):
        return value
    if not is_path(value):
        return _of_object(value, owner, "the table of items")
    return read_table(path_text(value, owner))


def read_table(path: str) -> Table:
    """Return the table in a file (CSV, JSON lines or Parquet), whatever else its name or first lines may say."""
    found = open_bytes(read_bytes(path), path, form="table")
    assert isinstance(found, Table)
    return found


def _of_object(value: Any, owner: str, items: str | None = None) -> Table | None:
    """Return a data frame, or rows or columns of Python or NumPy, as a table; None for anything else.

    ``items`` is the name of a table of items in messages: for these, pairs and arrays are left alone.
    """
    if isinstance(value, Mapping):
        return _of_columns(value, items or "the dict of columns")
    if isinstance(value, Iterator) and items is None:
        value = list(value)
    if isinstance(value, list | tuple) and value and all(isinstance(row, Mapping) for row in value):
        return _of_rows(value, items or "the list of rows")
    if items is None:
        if isinstance(value, np.ndarray):
            return _of_array(value)
        if isinstance(value, list | tuple):
            return _of_pairs(value)
        if isinstance(value, set | frozenset):
            raise TypeError(f"{owner}: a set keeps neither order nor repeats of its pairs. Give a list.")
    return _of_frame(value, owner, items or "data frame")


def _of_frame(value: Any, owner: str, source: str) -> Table | None:
    """Return a data frame of any library as a table; an index of strings (pandas) is a first column without a name."""
    frame = frame_of(value, owner)
    if frame is None:
        return None
    index = getattr(value, "index", None)
    labels = list(index) if index is not None and not callable(index) else []
    labelled = bool(labels) and all(isinstance(label, str) for label in labels) and "" not in frame.columns
    columns = (*([""] if labelled else []), *frame.columns)
    if not len(frame) or not columns:
        raise DataError(
            f"the data frame has no {'rows' if columns else 'columns'}",
            "Give at least one",
            code="frame-empty",
            where=Place(source),
        )

    def values(name: str) -> list[Any]:
        return labels if labelled and name == "" else frame[name].to_list()

    return Table(source, columns, values, range(len(frame)), is_file=False)


def _of_lists(source: str, columns: Mapping[str, list[Any]]) -> Table:
    names, rows = tuple(columns), len(next(iter(columns.values()), []))
    if not rows:
        raise DataError(f"{source} has no {'rows' if names else 'columns'}", "Give at least one", code="columns-empty")
    return Table(source, names, columns.__getitem__, range(rows), is_file=False)


def _of_columns(value: Mapping[Any, Any], source: str) -> Table:
    columns: dict[str, list[Any]] = {}
    for key, cells in value.items():
        name = str(key).strip()
        if isinstance(cells, str | bytes | Mapping) or not hasattr(cells, "__len__") or getattr(cells, "ndim", 1) == 0:
            raise DataError(
                f"{first_few([key])} is {first_few([cells])}, not a list of values, one for each row",
                'Give a list for each column: {"winner": [...], "loser": [...]}',
                code="column-not-a-list",
                where=Place(source),
            )
        if name in columns:
            raise DataError(
                f"two columns are called {name!r}",
                "Rename one of them",
                code="column-called-alike",
                where=Place(source),
            )
        columns[name] = cells.tolist() if hasattr(cells, "tolist") else list(cells)
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in list(lengths.items())[:6])
        raise DataError(
            f"its columns differ in length ({counts})",
            "Give one value for each row",
            code="columns-differ-in-length",
            where=Place(source),
        )
    return _of_lists(source, columns)


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
                f"{len(row)} values without names of columns ({first_few(list(row))})",
                f"{_CURE}; for rankings, best first, use preflearn.data.from_rankings",
                code="row-without-names",
                where=Place(source, number, "row"),
            )
        raise DataError(
            f"{first_few([row])} is not a pair", _CURE, code="row-not-a-pair", where=Place(source, number, "row")
        )
    first, second = ([row[side] for row in rows] for side in range(2))
    return _of_lists(source, {PAIR[0]: first, PAIR[1]: second})


def _of_array(value: Any) -> Table:
    source = "the array"
    if value.dtype.names is not None:
        flat = value.ravel()
        return _of_columns({name: _cells(flat[name], source) for name in value.dtype.names}, source)
    if value.dtype == object and value.ndim == 1:
        return _of_pairs(list(value))
    if value.ndim != len(PAIR) or value.shape[1] != len(PAIR) or value.dtype.kind == "c":
        raise DataError(
            f"{source} has shape {value.shape} and type {value.dtype}; an array of names needs two columns, "
            "winner and loser",
            "For features of items and their scores use Ratings or Comparisons",
            code="array-not-of-pairs",
        )
    cells = _cells(value, source)
    return _of_lists(source, {PAIR[0]: [row[0] for row in cells], PAIR[1]: [row[1] for row in cells]})


def _cells(value: Any, source: str) -> list[Any]:
    if value.dtype.kind == "S":
        try:
            value = np.char.decode(value, "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{source} holds bytes that are not UTF-8 ({error.reason})", "Give text", code="bytes-not-utf8"
            ) from None
    cells: list[Any] = value.tolist()
    return cells


def _parse_json(text: str, name: str) -> Table:
    if text.lstrip().startswith("["):
        try:
            records: list[tuple[int, Any]] = list(enumerate(json.loads(text), start=1))
        except (ValueError, RecursionError) as error:
            raise FileFormatError(
                f"this is not JSON ({error})", "Check the file", code="json-broken", where=Place(name)
            ) from None
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
                    f"this is not a JSON object ({error})",
                    'Write one object per line, such as {"winner": "ann", "loser": "bob"}',
                    code="json-line-broken",
                    where=Place(name, number),
                ) from None
    columns: dict[str, None] = {}
    for number, record in records:
        if not isinstance(record, dict) or not record:
            raise FileFormatError(
                f"{name}, {word} {number}: {str(record)[:40]!r} is not an object with names and values",
                'Write one object per line, such as {"winner": "ann", "loser": "bob"}',
                code="json-not-an-object",
            )
        columns.update(dict.fromkeys(record))
    if not records:
        raise FileFormatError("the list is empty", "Give at least one object", code="json-empty", where=Place(name))
    inside = [
        key for key, value in records[0][1].items() if isinstance(value, list) and value and isinstance(value[0], dict)
    ]
    if len(records) == 1 and inside:
        raise FileFormatError(
            f'the rows are inside "{inside[0]}"',
            "Write one object per line, without it",
            code="json-rows-inside",
            where=Place(name),
        )
    values = {column.strip(): [record.get(column) for _, record in records] for column in reversed(columns)}
    return Table(name, tuple(column.strip() for column in columns), values.__getitem__, [n for n, _ in records], word)


def _parse_parquet(data: bytes, name: str) -> Table:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise FileFormatError(
            'Parquet files need the optional package pyarrow: pip install "preflearn[io]".',
            code="parquet-needs-pyarrow",
            where=Place(name),
        ) from None
    try:
        table = parquet.read_table(pyarrow.BufferReader(data))
        columns = [table.column(position).to_pylist() for position in range(table.num_columns)]
        titles = [str(title) for title in table.column_names]
    except Exception as error:  # pyarrow raises a different class for each kind of damage
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FileFormatError(
            f"not a readable Parquet file ({reason})", "Write it again", code="parquet-broken", where=Place(name)
        ) from None
    if not table.num_rows or not titles:
        raise FileFormatError("the table has no rows", "Give at least one", code="parquet-empty", where=Place(name))
    if len(set(titles)) < len(titles):
        raise FileFormatError(
            f"{len(titles) - len(set(titles))} column names occur twice",
            "Rename them",
            code="parquet-columns-repeated",
            where=Place(name),
        )
    return Table(name, tuple(titles), dict(zip(titles, columns, strict=True)).__getitem__, range(1, table.num_rows + 1))
