"""Bytes, text and tables from files; every problem names the file and, where there is one, the line."""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from preflearn.exceptions import FileFormatError, first_few, nearest_names

__all__ = ["TextTable", "read_bytes", "read_table"]

_MAGIC = {
    b"PK\x03\x04": "a zip archive (or a spreadsheet)",
    b"BZh": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
_DELIMITERS = (",", ";", "\t", "|")


class TextTable(NamedTuple):
    """A table of text cells; ``line`` is where each row starts, ``word`` is "line" or "row"."""

    path: str
    columns: tuple[str, ...]
    cells: dict[str, list[str]]
    line: list[int]
    word: str

    def fail(self, row: int, message: str) -> FileFormatError:
        """Return the error about one row."""
        return FileFormatError(f"{self.path}, {self.word} {self.line[row]}: {message}")

    def column(self, name: str, role: str | None = None) -> list[str]:
        """Return a column without empty cells; ``role`` says what it is for, where that is not its name."""
        if name not in self.cells:
            nearest = nearest_names(name, self.columns)
            purpose = "" if role is None else f" for {role}"
            raise FileFormatError(
                f"{self.path}: there is no column {name!r}{purpose} (columns: {first_few(self.columns, 12)}"
                f"{'; ' + nearest if nearest else ''})."
            )
        cells = self.cells[name]
        if "" in cells:
            what = f'column "{name}"' if role is None else f'{role} (column "{name}")'
            raise self.fail(
                cells.index(""),
                f"{what} is empty ({cells.count('')} of {len(cells)} rows). Fill the cell or delete the row.",
            )
        return cells


def path_text(path: Any, owner: str) -> str:
    """Return a path as text; other kinds raise TypeError."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{owner}: path must be a string or a path; got {type(path).__name__}.")
    text = os.fspath(path)
    return os.fsdecode(text)


def read_bytes(path: str) -> bytes:
    """Return the content of a file, unpacked if it is gzip (told by its first bytes, not by its name)."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        nearest = _nearest_files(path)
        raise FileFormatError(f"{path}: there is no such file{' (' + nearest + ')' if nearest else ''}.") from None
    except IsADirectoryError:
        raise FileFormatError(f"{path}: this is a directory. Give the path of one file.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileFormatError(f"{path}: the file cannot be read ({reason}).") from None
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise FileFormatError(f"{path}: the gzip data are damaged or cut off ({error}). Fetch it again.") from None
    for magic, kind in _MAGIC.items():
        if data.startswith(magic):
            cure = "Save it as UTF-8." if "UTF" in kind else "Unpack it first (gzip is read as it is)."
            raise FileFormatError(f"{path}: this file is {kind}, not plain text. {cure}")
    if not data.strip():
        raise FileFormatError(f"{path}: the file is empty.")
    return data.removeprefix(b"\xef\xbb\xbf")


def check_text(data: bytes, path: str) -> None:
    """Raise FileFormatError if the bytes cannot be text."""
    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise FileFormatError(f"{path}, line {line}: byte {nul} is zero, so this is a binary file. Give a text file.")


def _nearest_files(path: str) -> str:
    try:
        return nearest_names(Path(path).name, os.listdir(Path(path).parent))  # noqa: PTH208 - names only
    except (OSError, ValueError):
        return ""


def read_table(path: str) -> TextTable:
    """Read CSV (delimiter , ; tab or |) or Parquet as text cells."""
    if path.lower().endswith(".parquet"):
        return _read_parquet(path)
    data = read_bytes(path)
    if data[:4] == b"PAR1":
        return _read_parquet(path)
    check_text(data, path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path}, line {line}: byte {error.start} (0x{data[error.start]:02x}) is not UTF-8. Save the file as UTF-8."
        ) from None
    return _parse_csv(text, path)


def _parse_csv(text: str, path: str) -> TextTable:
    header_line = next(line for line in text.splitlines() if line.strip())
    delimiter = max(_DELIMITERS, key=header_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    rows: list[list[str]] = []
    line: list[int] = []
    start = 1
    try:
        for row in reader:
            here, start = start, reader.line_num + 1
            if not row or row == [""]:
                continue
            if header is None:
                header = [cell.strip() for cell in row]
            elif len(row) != len(header):
                raise FileFormatError(
                    f"{path}, line {here}: {len(row)} cells, but the header has {len(header)} columns "
                    f"({first_few(header, 6)}). Put cells that contain {delimiter!r} in quotes."
                )
            else:
                rows.append(row)
                line.append(here)
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {reader.line_num}: {error}. Check the quotes.") from None
    if header is None or not rows:
        raise FileFormatError(f"{path}: there is a header but no rows below it.")
    repeated = [name for name in dict.fromkeys(header) if name and header.count(name) > 1]
    if repeated:
        raise FileFormatError(f"{path}, line 1: columns {first_few(repeated)} occur more than once. Rename them.")
    columns = [[cell.strip() for cell in column] for column in zip(*rows, strict=True)]
    return TextTable(path, tuple(header), dict(zip(header[::-1], columns[::-1], strict=True)), line, "line")


def _read_parquet(path: str) -> TextTable:
    try:
        from pyarrow import parquet
    except ImportError:
        raise FileFormatError(
            f'{path}: Parquet files need the optional package pyarrow: pip install "preflearn[io]".'
        ) from None
    try:
        table = parquet.read_table(path)
    except Exception as error:  # pyarrow raises a different class for each kind of damage
        reason = str(error).splitlines()[0]
        raise FileFormatError(f"{path}: not a readable Parquet file ({reason}).") from None
    if not table.num_rows:
        raise FileFormatError(f"{path}: the table has no rows.")
    cells = {str(name): [_cell(value) for value in table[name].to_pylist()] for name in table.column_names}
    return TextTable(path, tuple(cells), cells, list(range(1, table.num_rows + 1)), "row")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)
