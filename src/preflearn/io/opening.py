"""Whatever holds a table is opened: files (bytes, then text), data frames, dicts, lists and arrays become a `Table`."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from preflearn._disk import bounded, content, explained, is_pipe
from preflearn.data.fields import repeated
from preflearn.data.tables import frame_of
from preflearn.exceptions import DataError, FileFormatError, Place, first_few
from preflearn.io.columns import Cells
from preflearn.io.table import Table, parse_csv

Kind = Literal["table", "json", "parquet", "preflib", "svmlight"]

STANDARD_INPUT = "standard input"
_SHEET, _TEXT, _UNPACK = "Save the sheet as CSV", "Save the data as CSV text", "Unpack it first (gzip is read as it is)"
# How files that are not ours start, what they are, and the cure.
_MAGIC = (
    (b"BZh", "compressed by bzip2", _UNPACK),
    (b"\xfd7zXZ", "compressed by xz", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", _UNPACK),
    (b"7z\xbc\xaf", "a 7-zip archive", _UNPACK),
    (b"Rar!", "a RAR archive", _UNPACK),
    (b"PK\x03\x04", "a zip archive (or a spreadsheet)", _UNPACK),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls)", _SHEET),
    (b"%PDF", "a PDF document", _TEXT),
    (b"{\\rtf", "a rich-text document", _TEXT),
    (b"\x89PNG", "a picture (PNG)", _TEXT),
    (b"\xff\xd8\xff", "a picture (JPEG)", _TEXT),
    (b"\x93NUMPY", "a NumPy array", "Load it in Python, and save it as CSV"),
    (b"SQLite format 3", "an SQLite database", "Export the table as CSV"),
    (b"RDX", "an R workspace", "Use write.csv in R"),
    (b"X\n\0\0", "an R object", "Use write.csv in R"),
    (b"ARROW1", "an Arrow (Feather) file", "Save it as Parquet or CSV"),
    ((b"\x80\x03", b"\x80\x04", b"\x80\x05"), "a Python pickle", "Save the data as CSV or Parquet"),
)
_WIDE = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_WEB_PAGE = re.compile(rb"\s*<(!doctype|html|\?xml|head|body|script)", re.IGNORECASE)
LARGE = 1 << 24  # bytes of a file from which its rows are rather counted than held
_SVMLIGHT_NAMES = (".svm", ".svmlight", ".libsvm", ".letor")
_PREFLIB_NAMES = (".soc", ".soi", ".toc", ".toi")
# A label, then qid:Q or index:value.
_SVMLIGHT_ROW = re.compile(rb"\s*[^\s,;:|]+\s+(qid|\d+):")
_PREFLIB_HEAD = re.compile(rb"#\s*(FILE NAME|ALTERNATIVE NAME|NUMBER ALTERNATIVES|DATA TYPE)\b")


def is_path(value: Any) -> bool:
    """Return whether something is the path of a file, and not what is in it."""
    return isinstance(value, str | os.PathLike)


def path_text(path: Any, owner: str) -> str:
    """Return a path as text; other kinds raise TypeError."""
    if not is_path(path):
        raise TypeError(f"{owner}: path must be a string or a path; got {type(path).__name__}.")
    text = os.fspath(path)
    return os.fsdecode(text)


def are_several(path: str) -> bool:
    """Return whether a path is a directory, or a pattern of the names of files."""
    if path == "-":
        return False
    try:
        return Path(path).is_dir() or (any(mark in path for mark in "*?[") and not os.path.lexists(path))
    except (OSError, ValueError):
        return False


def is_large(path: str) -> bool:
    """Return whether a path is that of a file whose rows are rather counted than held."""
    try:
        return path != "-" and not is_pipe(path) and Path(path).is_file() and Path(path).stat().st_size >= LARGE
    except (OSError, ValueError):
        return False


def read_start(path: str, size: int) -> bytes:
    """Return the first bytes of a file as they are."""
    if path == "-" or is_pipe(path):
        return content(path)[:size]
    with Path(path).open("rb") as stream:
        return stream.read(size)


def read_bytes(path: str) -> bytes:
    """Return the content of a file (``-`` is standard input), unpacked if its first bytes are those of gzip."""
    with explained(path):
        data = content(path)
    name = STANDARD_INPUT if path == "-" else path
    if data[:2] == b"\x1f\x8b":
        try:
            data = bounded(gzip.GzipFile(fileobj=io.BytesIO(data)), name)
        except (OSError, EOFError, zlib.error) as error:
            raise gzip_damaged(name, error) from None
    refuse_foreign(data, name)
    check_not_empty(data, name)
    return data.removeprefix(b"\xef\xbb\xbf")


def gzip_damaged(name: str, error: Exception) -> FileFormatError:
    """Return the error about a gzip file that cannot be unpacked."""
    return FileFormatError(code="gzip-damaged", where=Place(name)).says(
        f"the gzip data are damaged or cut off ({error})", "Download or copy it again"
    )


def refuse_foreign(data: bytes, name: str) -> None:
    """Raise FileFormatError for the start of a file of another program."""
    where = Place(name)
    found = next(((kind, cure) for magic, kind, cure in _MAGIC if data.startswith(magic)), None)
    inside = _archive_names(io.BytesIO(data)) if data.startswith(b"PK") else []
    if "header.json" in inside:
        raise FileFormatError(code="model-not-data", where=where).says(
            "this is a model file of preflearn, not data", "Give a data file"
        )
    if any(entry.startswith("xl/") or entry == "content.xml" for entry in inside):
        found = "a spreadsheet", _SHEET
    if found is not None:
        raise FileFormatError(code="file-of-another-program", where=where).says(
            f"this file is {found[0]}, not plain text", found[1]
        )
    if _WEB_PAGE.match(data[:200]):
        raise FileFormatError(code="web-page", where=where).says(
            "this is a web page or XML, not a table", "Download the data file itself"
        )


def _archive_names(stream: Any) -> list[str]:
    try:
        with zipfile.ZipFile(stream) as archive:
            return archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return []


def is_model(path: Path) -> bool:
    """Return whether a file is a saved model."""
    try:
        source: Any = io.BytesIO(content(path)) if is_pipe(path) else path
        return zipfile.is_zipfile(source) and "header.json" in _archive_names(source)
    except DataError:
        raise
    except (OSError, ValueError):  # a name that no file can have
        return False


def check_text(data: bytes, name: str, *, byte: int = 0, line: int = 1) -> None:
    """Raise FileFormatError if the bytes cannot be text; the first of them is that ``byte`` in that ``line``."""
    nul = data.find(b"\0")
    if nul >= 0:
        line += data.count(b"\n", 0, nul)
        start = data[: min(len(data), 200) // 2 * 2]
        if min(start[::2].count(0), start[1::2].count(0)) == 0 and start.count(0) > len(start) // 4:
            raise FileFormatError(code="utf16-without-mark", where=Place(name)).says(
                "this seems to be UTF-16 text without a mark", "Save the file as UTF-8"
            )
        raise FileFormatError(code="binary-file", where=Place(name, line)).says(
            f"byte {byte + nul} is zero, so this is a binary file", "Give a text file"
        )


def wide_encoding(data: bytes) -> str | None:
    """Return UTF-16 or UTF-32 where bytes start with the mark of one of these."""
    return next((wide for mark, wide in _WIDE.items() if data.startswith(mark)), None)


def decode(data: bytes, name: str) -> str:
    """Return bytes as text: UTF-8, or UTF-16 and UTF-32 that start with their mark; else raise with line and byte."""
    text = _as_text(data, name, wide_encoding(data) or "utf-8")
    check_not_empty(text, name)
    return text


def check_utf8(data: bytes, name: str, *, byte: int, line: int) -> None:
    """Raise FileFormatError unless a part of a file is UTF-8; its first byte is that ``byte`` in that ``line``."""
    _as_text(data, name, "utf-8", byte=byte, line=line)


def _as_text(data: bytes, name: str, encoding: str, *, byte: int = 0, line: int = 1) -> str:
    if encoding == "utf-8":
        check_text(data, name, byte=byte, line=line)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        there = data.count(b"\n", 0, error.start) + line if encoding == "utf-8" else None
        raise FileFormatError(code="encoding-broken", where=Place(name, there)).says(
            f"byte {byte + error.start} (0x{data[error.start]:02x}) is not {encoding.upper()}",
            'Save the file as UTF-8 (in a spreadsheet: "CSV UTF-8")',
        ) from None
    if "\0" in text:
        raise FileFormatError(code="zero-character", where=Place(name, text.count("\n", 0, text.index("\0")) + 1)).says(
            "there is a zero character", "Save the file as UTF-8 text"
        )
    return text


def check_not_empty(content: str | bytes, name: str) -> None:
    """Raise FileFormatError if there is nothing but blanks."""
    if not content.strip():
        raise FileFormatError(code="file-empty", where=Place(name)).says("the file is empty", "Give a file with data")


def kind_of(start: bytes, name: str) -> Kind:
    """Return how to read a file, by its first bytes and then by its name."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if suffix == ".parquet" or start.startswith(b"PAR1"):
        return "parquet"
    if suffix in _PREFLIB_NAMES:
        return "preflib"
    for mark, encoding in _WIDE.items():
        if start.startswith(mark):
            start = start[: len(start) // 4 * 4].decode(encoding, "replace").encode()
            break
    lines = [line for line in start.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    first = next((line for line in lines if not line.lstrip().startswith(b"#")), b"")
    if lines and _PREFLIB_HEAD.match(lines[0]):
        return "preflib"
    if _SVMLIGHT_ROW.match(first) or suffix in _SVMLIGHT_NAMES or (lines and not first):
        return "svmlight"  # its reader can name a file of comments
    if suffix in (".jsonl", ".ndjson", ".json") or first.lstrip()[:1] == b"{" or first.lstrip()[:2] == b"[{":
        return "json"
    return "table"


PAIR = ("winner", "loser")
_CURE = (
    "Give pairs (winner, loser), or rows with names of columns such as {'left': 'ann', 'right': 'bob', 'winner': 'tie'}"
)
_NO_TABLES = ("preflib", "svmlight")
_ONE_OBJECT = 'Write one object per line, such as {"winner": "ann", "loser": "bob"}'
_ENDS = re.compile(r"\r\n|\r|\n")


class Content(NamedTuple):
    """A file that is no table: its bytes, its path, its name in messages, and "preflib" or "svmlight"."""

    data: bytes
    path: str
    source: str
    kind: str
    is_file: bool = True


def open_source(value: Any, owner: str, form: str | None = None) -> Table | Content:
    """Return preferences in a file or any object that holds a table; pairs without names are (winner, loser)."""
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
        raise DataError(code="form-of-no-file", owner=owner).says(
            f"{table.source} cannot be a {form} file", "Leave out form, or give a path"
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
    """Return a data frame, rows or columns as a table, None for anything else; ``items`` names a table of items."""
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

    def values(name: str) -> list[Any]:
        return labels if labelled and name == "" else frame[name].to_list()

    return _checked(Table(source, columns, values, range(len(frame)), is_file=False))


def _checked(table: Table) -> Table:
    """Return a table that has rows and distinct columns."""
    if not len(table) or not table.columns:
        raise table.refuse(code="table-empty").says(
            f"there are no {'columns' if len(table) else 'rows'}", "Give at least one"
        )
    twice = repeated(table.columns)
    if twice:
        raise table.refuse(code="columns-called-alike").says(
            f"several columns are called {first_few(twice)}", "Rename them"
        )
    return table


def _of_lists(source: str, titles: Sequence[str], columns: Sequence[list[Any]]) -> Table:
    values = dict(zip(titles, columns, strict=True))
    rows = range(len(columns[0]) if columns else 0)
    return _checked(Table(source, tuple(titles), values.__getitem__, rows, is_file=False))


def _of_columns(value: Mapping[Any, Any], source: str) -> Table:
    titles = [str(key).strip() for key in value]
    columns: list[list[Any]] = []
    for key, cells in value.items():
        if isinstance(cells, str | bytes | Mapping) or not hasattr(cells, "__len__") or getattr(cells, "ndim", 1) == 0:
            raise DataError(code="column-not-a-list", where=Place(source)).says(
                f"{first_few([key])} is {first_few([cells])}, not a list of values, one for each row",
                'Give a list for each column: {"winner": [...], "loser": [...]}',
            )
        columns.append(cells.tolist() if hasattr(cells, "tolist") else list(cells))
    if len(set(map(len, columns))) > 1:
        counts = ", ".join(f"{name} {len(cells)}" for name, cells in list(zip(titles, columns, strict=True))[:6])
        raise DataError(code="columns-differ-in-length", where=Place(source)).says(
            f"its columns differ in length ({counts})", "Give one value for each row"
        )
    return _of_lists(source, titles, columns)


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
            raise DataError(code="row-without-names", where=Place(source, number, "row")).says(
                f"{len(row)} values without names of columns ({first_few(list(row))})",
                f"{_CURE}; for rankings, best first, use preflearn.data.from_rankings",
            )
        raise DataError(code="row-not-a-pair", where=Place(source, number, "row")).says(
            f"{first_few([row])} is not a pair", _CURE
        )
    return _of_lists(source, PAIR, [[row[side] for row in rows] for side in range(2)])


def _of_array(value: Any) -> Table:
    source = "the array"
    if value.dtype.names is not None:
        flat = value.ravel()
        return _of_columns({name: _cells(flat[name], source) for name in value.dtype.names}, source)
    if value.dtype == object and value.ndim == 1:
        return _of_pairs(list(value))
    if value.ndim != len(PAIR) or value.shape[1] != len(PAIR) or value.dtype.kind == "c":
        raise DataError(code="array-not-of-pairs").says(
            f"{source} has shape {value.shape} and type {value.dtype}; an array of names needs two columns, "
            "winner and loser",
            "For features of items and their scores use Ratings or Comparisons",
        )
    cells = _cells(value, source)
    return _of_lists(source, PAIR, [[row[side] for row in cells] for side in range(2)])


def _cells(value: Any, source: str) -> list[Any]:
    if value.dtype.kind == "S":
        try:
            value = np.char.decode(value, "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(code="bytes-not-utf8").says(
                f"{source} holds bytes that are not UTF-8 ({error.reason})", "Give text"
            ) from None
    cells: list[Any] = value.tolist()
    return cells


def _parse_json(text: str, name: str) -> Table:
    records: list[tuple[int, Any]] = []
    number, word, cure = None, "entry", "Check the file"
    try:
        if text.lstrip().startswith("["):
            records = list(enumerate(json.loads(text), start=1))
        else:
            word, cure = "line", _ONE_OBJECT
            for number, row in enumerate(_ENDS.split(text), start=1):
                if row.strip():
                    records.append((number, json.loads(row)))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(code="json-broken", where=Place(name, number)).says(
            f"this is not JSON ({error})", cure
        ) from None
    for place, record in records:
        if not isinstance(record, dict) or not record:
            raise FileFormatError(code="json-not-an-object", where=Place(name, place, word)).says(
                f"{str(record)[:40]!r} is not an object with names and values", _ONE_OBJECT
            )
        for key, value in record.items() if len(records) == 1 else ():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                raise FileFormatError(code="json-rows-inside", where=Place(name)).says(
                    f'the rows are inside "{key}"', "Write one object per line, without it"
                )
    columns = dict.fromkeys(key for _, record in records for key in record)
    values = {column.strip(): [record.get(column) for _, record in records] for column in reversed(columns)}
    titles = tuple(column.strip() for column in columns)
    return _checked(Table(name, titles, values.__getitem__, [number for number, _ in records], word))


def column_of(column: Any) -> Sequence[Any]:
    """Return a column of pyarrow; of text each different cell once."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if not (types.is_string(kind) or types.is_large_string(kind)) or not len(column):
        values: list[Any] = column.to_pylist()
        return values
    coded = (column if types.is_dictionary(column.type) else column.dictionary_encode()).combine_chunks()
    distinct = coded.dictionary.to_pylist()
    code = coded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    return Cells.of([*distinct, ""]).take(np.arange(len(distinct) + 1)[code])


def needs_pyarrow(name: str) -> FileFormatError:
    """Return the error about Parquet files without pyarrow."""
    return FileFormatError(code="parquet-needs-pyarrow", where=Place(name)).says(
        'Parquet files need the optional package pyarrow: pip install "preflearn[io]".'
    )


def parquet_broken(name: str, error: Exception) -> FileFormatError:
    """Return the error about a Parquet file that cannot be read; pyarrow raises a class for each kind of damage."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return FileFormatError(code="parquet-broken", where=Place(name)).says(
        f"not a readable Parquet file ({reason})", "Write it again"
    )


def _parse_parquet(data: bytes, name: str) -> Table:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise needs_pyarrow(name) from None
    try:
        table = parquet.read_table(pyarrow.BufferReader(data))
        columns = [column_of(table.column(position)) for position in range(table.num_columns)]
        titles = [str(title) for title in table.column_names]
    except Exception as error:
        raise parquet_broken(name, error) from None
    return parquet_table(titles, columns, table.num_rows, name)


def parquet_table(titles: Sequence[str], columns: Sequence[Sequence[Any]], n_rows: int, name: str) -> Table:
    """Return the first rows of a Parquet file, or all of them, as a table."""
    values = dict(zip(titles, columns, strict=True))
    return _checked(Table(name, tuple(titles), values.__getitem__, range(1, n_rows + 1)))
