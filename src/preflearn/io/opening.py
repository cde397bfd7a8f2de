"""Whatever holds a table is opened: files (bytes, then text), data frames, dicts, lists and arrays become a `Table`.

This is the only place that asks which of these something is. Every problem names the file, the line where there is one,
and a cure.
"""

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

from preflearn._disk import bounded, content, is_pipe
from preflearn.data.fields import repeated
from preflearn.data.tables import frame_of
from preflearn.exceptions import DataError, FileFormatError, Place, first_few, nearest_names
from preflearn.io.table import Table, parse_csv

Kind = Literal["table", "json", "parquet", "preflib", "svmlight"]

STANDARD_INPUT = "standard input"
_PRINT = "Save the data as CSV text."
# How files that are not ours start, what they are, and the cure.
_MAGIC = (
    (b"BZh", "compressed by bzip2", "Unpack it first (gzip is read as it is)."),
    (b"\xfd7zXZ", "compressed by xz", "Unpack it first (gzip is read as it is)."),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "Unpack it first (gzip is read as it is)."),
    (b"7z\xbc\xaf", "a 7-zip archive", "Unpack it first (gzip is read as it is)."),
    (b"Rar!", "a RAR archive", "Unpack it first (gzip is read as it is)."),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls)", "Save the sheet as CSV."),
    (b"%PDF", "a PDF document", _PRINT),
    (b"{\\rtf", "a rich-text document", _PRINT),
    (b"\x89PNG", "a picture (PNG)", _PRINT),
    (b"\xff\xd8\xff", "a picture (JPEG)", _PRINT),
    (b"\x93NUMPY", "a NumPy array", "Load it in Python, and save it as CSV."),
    (b"SQLite format 3", "an SQLite database", "Export the table as CSV."),
    (b"RDX", "an R workspace", "Use write.csv in R."),
    (b"X\n\0\0", "an R object", "Use write.csv in R."),
    (b"ARROW1", "an Arrow (Feather) file", "Save it as Parquet or CSV."),
    (b"\x80\x03", "a Python pickle", "Save the data as CSV or Parquet."),
    (b"\x80\x04", "a Python pickle", "Save the data as CSV or Parquet."),
    (b"\x80\x05", "a Python pickle", "Save the data as CSV or Parquet."),
)
_WIDE = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_WEB_PAGE = re.compile(rb"\s*<(!doctype|html|\?xml|head|body|script)", re.IGNORECASE)
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


def read_start(path: str, size: int) -> bytes:
    """Return the first bytes of a file as they are."""
    if path == "-" or is_pipe(path):
        return content(path)[:size]
    with Path(path).open("rb") as stream:
        return stream.read(size)


def read_bytes(path: str) -> bytes:
    """Return the content of a file, unpacked if its first bytes are those of gzip.

    ``-`` is standard input. Files of other programs raise with what they are.
    """
    try:
        data = content(path)
    except FileNotFoundError:
        if "://" in path:
            raise FileFormatError(code="address-not-a-file", where=Place(str(path))).says(
                "this is a web address, not a file", "Download the file first"
            ) from None
        nearest = _nearest_files(path)
        raise FileFormatError(code="no-such-file", where=Place(str(path))).says(
            f"there is no such file{' (' + nearest + ')' if nearest else ''}", "Check the path"
        ) from None
    except IsADirectoryError:
        raise FileFormatError(code="directory-not-a-file", where=Place(str(path))).says(
            "this is a directory", "Give the path of one file"
        ) from None
    except DataError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileFormatError(code="file-unreadable", where=Place(str(path))).says(
            f"the file cannot be read ({reason})", "Check the path"
        ) from None
    name = STANDARD_INPUT if path == "-" else path
    if data[:2] == b"\x1f\x8b":
        try:
            data = bounded(gzip.GzipFile(fileobj=io.BytesIO(data)), name)
        except (OSError, EOFError, zlib.error) as error:
            raise FileFormatError(code="gzip-damaged", where=Place(name)).says(
                f"the gzip data are damaged or cut off ({error})", "Download or copy it again"
            ) from None
    _refuse_foreign(data, name)
    if not data.strip():
        raise FileFormatError(code="file-empty", where=Place(name)).says("the file is empty", "Give a file with data")
    return data.removeprefix(b"\xef\xbb\xbf")


def _refuse_foreign(data: bytes, name: str) -> None:
    if data.startswith(b"PK\x03\x04"):
        inside = _archive_names(io.BytesIO(data))
        if "header.json" in inside:
            raise FileFormatError(code="model-not-data", where=Place(name)).says(
                "this is a model file of preflearn, not data", "Give a data file"
            )
        sheet = any(entry.startswith("xl/") or entry == "content.xml" for entry in inside)
        what = "a spreadsheet" if sheet else "a zip archive (or a spreadsheet)"
        cure = "Save the sheet as CSV." if sheet else "Unpack it first (gzip is read as it is)."
        raise FileFormatError(code="file-of-another-program", where=Place(name)).says(
            f"this file is {what}, not plain text", cure
        )
    for magic, kind, cure in _MAGIC:
        if data.startswith(magic):
            raise FileFormatError(code="file-of-another-program", where=Place(name)).says(
                f"this file is {kind}, not plain text", cure
            )
    if _WEB_PAGE.match(data[:200]):
        raise FileFormatError(code="web-page", where=Place(name)).says(
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


def check_text(data: bytes, name: str) -> None:
    """Raise FileFormatError if the bytes cannot be text."""
    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        start = data[: min(len(data), 200) // 2 * 2]
        if min(start[::2].count(0), start[1::2].count(0)) == 0 and start.count(0) > len(start) // 4:
            raise FileFormatError(code="utf16-without-mark", where=Place(name)).says(
                "this seems to be UTF-16 text without a mark", "Save the file as UTF-8"
            )
        raise FileFormatError(code="binary-file", where=Place(name, line)).says(
            f"byte {nul} is zero, so this is a binary file", "Give a text file"
        )


def decode(data: bytes, name: str) -> str:
    """Return bytes as text: UTF-8, or UTF-16 and UTF-32 that start with their mark; else raise with line and byte."""
    for mark, encoding in _WIDE.items():
        if data.startswith(mark):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                raise FileFormatError(code="encoding-broken", where=Place(name)).says(
                    f"the file starts as {encoding.upper()} text, but byte {error.start} does not fit",
                    "Save the file as UTF-8",
                ) from None
            if "\0" in text:
                line = text.count("\n", 0, text.index("\0")) + 1
                raise FileFormatError(code="zero-character", where=Place(name, line)).says(
                    "there is a zero character", "Save the file as UTF-8 text"
                )
            if not text.strip():
                raise FileFormatError(code="file-empty", where=Place(name)).says(
                    "the file is empty", "Give a file with data"
                )
            return text
    check_text(data, name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(code="not-utf8", where=Place(name, line)).says(
            f"byte {error.start} (0x{data[error.start]:02x}) is not UTF-8",
            'Save the file as UTF-8 (in a spreadsheet: "CSV UTF-8")',
        ) from None


def _nearest_files(path: str) -> str:
    try:
        return nearest_names(Path(path).name, os.listdir(Path(path).parent))  # noqa: PTH208 - names only
    except (OSError, ValueError):
        return ""


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
_ENDS = re.compile(r"\r\n|\r|\n")


class Content(NamedTuple):
    """A file that is no table: its bytes, its path, its name in messages, and "preflib" or "svmlight"."""

    data: bytes
    path: str
    source: str
    kind: str
    is_file: bool = True


def open_source(value: Any, owner: str, form: str | None = None) -> Table | Content:
    """Return preferences in a file or any object that holds a table; ``form`` is what a file holds, if named.

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
    if text.lstrip().startswith("["):
        try:
            records: list[tuple[int, Any]] = list(enumerate(json.loads(text), start=1))
        except (ValueError, RecursionError) as error:
            raise FileFormatError(code="json-broken", where=Place(name)).says(
                f"this is not JSON ({error})", "Check the file"
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
                raise FileFormatError(code="json-line-broken", where=Place(name, number)).says(
                    f"this is not a JSON object ({error})",
                    'Write one object per line, such as {"winner": "ann", "loser": "bob"}',
                ) from None
    columns: dict[str, None] = {}
    for number, record in records:
        if not isinstance(record, dict) or not record:
            raise FileFormatError(code="json-not-an-object").says(
                f"{name}, {word} {number}: {str(record)[:40]!r} is not an object with names and values",
                'Write one object per line, such as {"winner": "ann", "loser": "bob"}',
            )
        columns.update(dict.fromkeys(record))
    inside = [
        key
        for _, record in records[:1]
        for key, value in record.items()
        if isinstance(value, list) and value and isinstance(value[0], dict)
    ]
    if len(records) == 1 and inside:
        raise FileFormatError(code="json-rows-inside", where=Place(name)).says(
            f'the rows are inside "{inside[0]}"', "Write one object per line, without it"
        )
    values = {column.strip(): [record.get(column) for _, record in records] for column in reversed(columns)}
    titles = tuple(column.strip() for column in columns)
    return _checked(Table(name, titles, values.__getitem__, [number for number, _ in records], word))


def _parse_parquet(data: bytes, name: str) -> Table:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise FileFormatError(code="parquet-needs-pyarrow", where=Place(name)).says(
            'Parquet files need the optional package pyarrow: pip install "preflearn[io]".'
        ) from None
    try:
        table = parquet.read_table(pyarrow.BufferReader(data))
        columns = [table.column(position).to_pylist() for position in range(table.num_columns)]
        titles = [str(title) for title in table.column_names]
    except Exception as error:  # pyarrow raises a different class for each kind of damage
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FileFormatError(code="parquet-broken", where=Place(name)).says(
            f"not a readable Parquet file ({reason})", "Write it again"
        ) from None
    values = dict(zip(titles, columns, strict=True))
    return _checked(Table(name, tuple(titles), values.__getitem__, range(1, table.num_rows + 1)))
