"""Bytes and text from files; every problem names the file, the line where there is one, and a cure."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any, Literal

from preflearn._files import content, is_pipe
from preflearn.exceptions import FileFormatError, Place, nearest_names

__all__ = ["check_text", "decode", "is_model", "is_path", "kind_of", "path_text", "read_bytes", "read_start"]

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
    if is_pipe(path):
        return content(path)[:size]
    with Path(path).open("rb") as stream:
        return stream.read(size)


def read_bytes(path: str) -> bytes:
    """Return the content of a file, unpacked if it is gzip (told by its first bytes, not by its name).

    ``-`` is standard input. Files of other programs raise with what they are.
    """
    try:
        data = sys.stdin.buffer.read() if path == "-" else content(path)
    except FileNotFoundError:
        if "://" in path:
            raise FileFormatError(
                "this is an address, and a file is wanted",
                "Download it first",
                code="address-not-a-file",
                where=Place(str(path)),
            ) from None
        nearest = _nearest_files(path)
        raise FileFormatError(
            f"there is no such file{' (' + nearest + ')' if nearest else ''}",
            "Check the path",
            code="no-such-file",
            where=Place(str(path)),
        ) from None
    except IsADirectoryError:
        raise FileFormatError(
            "this is a directory", "Give the path of one file", code="directory-not-a-file", where=Place(str(path))
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileFormatError(
            f"the file cannot be read ({reason})", "Check the path", code="file-unreadable", where=Place(str(path))
        ) from None
    name = STANDARD_INPUT if path == "-" else path
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise FileFormatError(
                f"the gzip data are damaged or cut off ({error})",
                "Fetch it again",
                code="gzip-damaged",
                where=Place(name),
            ) from None
    _refuse_foreign(data, name)
    if not data.strip():
        raise FileFormatError("the file is empty", "Give a file with data", code="file-empty", where=Place(name))
    return data.removeprefix(b"\xef\xbb\xbf")


def _refuse_foreign(data: bytes, name: str) -> None:
    if data.startswith(b"PK\x03\x04"):
        inside = _archive_names(io.BytesIO(data))
        if "header.json" in inside:
            raise FileFormatError(
                "this is a model file of preflearn, not data",
                "Give a data file",
                code="model-not-data",
                where=Place(name),
            )
        sheet = any(entry.startswith("xl/") or entry == "content.xml" for entry in inside)
        what = "a spreadsheet" if sheet else "a zip archive (or a spreadsheet)"
        cure = "Save the sheet as CSV." if sheet else "Unpack it first (gzip is read as it is)."
        raise FileFormatError(
            f"this file is {what}, not plain text", cure, code="file-of-another-program", where=Place(name)
        )
    for magic, kind, cure in _MAGIC:
        if data.startswith(magic):
            raise FileFormatError(
                f"this file is {kind}, not plain text", cure, code="file-of-another-program", where=Place(name)
            )
    if _WEB_PAGE.match(data[:200]):
        raise FileFormatError(
            "this is a web page or XML, not a table",
            "Download the data file itself",
            code="web-page",
            where=Place(name),
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
    except (OSError, ValueError):  # a name that no file can have
        return False


def check_text(data: bytes, name: str) -> None:
    """Raise FileFormatError if the bytes cannot be text."""
    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        start = data[: min(len(data), 200) // 2 * 2]
        if min(start[::2].count(0), start[1::2].count(0)) == 0 and start.count(0) > len(start) // 4:
            raise FileFormatError(
                "this seems to be UTF-16 text without a mark",
                "Save the file as UTF-8",
                code="utf16-without-mark",
                where=Place(name),
            )
        raise FileFormatError(
            f"byte {nul} is zero, so this is a binary file",
            "Give a text file",
            code="binary-file",
            where=Place(name, line),
        )


def decode(data: bytes, name: str) -> str:
    """Return bytes as text: UTF-8, or UTF-16 and UTF-32 that start with their mark; else raise with line and byte."""
    for mark, encoding in _WIDE.items():
        if data.startswith(mark):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                raise FileFormatError(
                    f"the file starts as {encoding.upper()} text, but byte {error.start} does not fit",
                    "Save the file as UTF-8",
                    code="encoding-broken",
                    where=Place(name),
                ) from None
            if "\0" in text:
                line = text.count("\n", 0, text.index("\0")) + 1
                raise FileFormatError(
                    "there is a zero character",
                    "Save the file as UTF-8 text",
                    code="zero-character",
                    where=Place(name, line),
                )
            if not text.strip():
                raise FileFormatError(
                    "the file is empty", "Give a file with data", code="file-empty", where=Place(name)
                )
            return text
    check_text(data, name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"byte {error.start} (0x{data[error.start]:02x}) is not UTF-8",
            'Save the file as UTF-8 (in a spreadsheet: "CSV UTF-8")',
            code="not-utf8",
            where=Place(name, line),
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
