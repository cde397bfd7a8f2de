"""Tables that are read in pieces: CSV (also packed by gzip) and Parquet files, of which only some columns are held.

Every piece says what the file read whole would say. CSV is cut where lines end, and read as `preflearn.io.columns`
reads the usual file; the rest of a file that turns out to be odd is read row by row.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from preflearn._disk import explained
from preflearn.exceptions import FileFormatError
from preflearn.io.columns import Cells, Numbered, read_usual_bytes
from preflearn.io.opening import (
    check_not_empty,
    check_utf8,
    column_of,
    gzip_damaged,
    kind_of,
    needs_pyarrow,
    open_bytes,
    parquet_broken,
    parquet_table,
    read_bytes,
    refuse_foreign,
    wide_encoding,
)
from preflearn.io.table import Table, cell_text, delimiter_of, end_of_remarks, parse_csv, rows_with_lines

HEAD = 1 << 18  # bytes of a CSV file in which its layout is looked for
HEAD_ROWS = 5_000  # the same of a Parquet file
BYTES = 1 << 24  # of a CSV file that are read at a time
ROWS = 1 << 20  # of a Parquet file that are read at a time
SLOW_ROWS = 1 << 16  # of a CSV file that are read row by row
LONGEST = 1 << 28  # bytes without an end of a row, after which a file is read row by row


class Piece(NamedTuple):
    """Stripped cells of some rows by column, and where each row stands."""

    columns: dict[str, Cells]
    line: Sequence[int]


@dataclass(frozen=True)
class PieceFile:
    """A file that is read in pieces.

    Attributes
    ----------
    name : str
        Its path.
    head : Table
        Its first rows, with all columns.
    types : dict of str to str
        Types of its columns, empty where all of them are text.
    read : function
        Yields pieces of the columns with these names.
    """

    name: str
    head: Table
    types: dict[str, str]
    read: Callable[[Sequence[str]], Iterator[Piece]]


def open_pieces(path: str, head: int | None = None) -> PieceFile | None:
    """Return a table to be read in pieces, None for a file of another kind; ``head`` is the size of its head."""
    size = head or HEAD
    with explained(path), Path(path).open("rb") as raw:
        magic = raw.read(4)
    if magic == b"PAR1" or Path(path).suffix.lower() == ".parquet":
        check_not_empty(magic, path)
        return _parquet_file(path)
    start = _start(path, size)
    refuse_foreign(start, path)
    short = len(start) < size
    if short:
        check_not_empty(start, path)
    kind = kind_of(start, path)
    if kind == "table" and wide_encoding(start) is None:
        end = len(start) if short else _end_of_rows(start)
        try:
            return _csv_file(path, start[:end].removeprefix(b"\xef\xbb\xbf"))
        except FileFormatError as error:
            if short or error.message.code not in ("no-rows-below-header", "no-columns"):
                raise
        return open_pieces(path, 16 * size)  # the first row is longer
    if kind not in ("table", "json"):
        return None
    whole = open_bytes(read_bytes(path), path)
    assert isinstance(whole, Table)
    return PieceFile(
        path, whole, {}, lambda wanted: iter([Piece({name: whole.cells(name) for name in wanted}, whole.line)])
    )


def _stream(path: str) -> Any:
    with Path(path).open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if packed else Path(path).open("rb")


def _start(path: str, size: int) -> bytes:
    try:
        with _stream(path) as stream:
            start: bytes = stream.read(size)
            return start
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise gzip_damaged(path, error) from None


def _csv_file(path: str, start: bytes) -> PieceFile:
    check_utf8(start, path, byte=0, line=1)
    text = start.decode()
    remarks = end_of_remarks(text)
    delimiter, named = delimiter_of(text[remarks:])
    head = parse_csv(text, path)
    file = _Csv(path, head.columns, delimiter, named, remarks=len(re.findall("\r\n|\r|\n", text[:remarks])))
    usual = not remarks and not named and head.top == 1
    return PieceFile(path, head, {}, file.read if usual else file.slowly)


class _Odd(Exception):  # noqa: N818 - it never leaves this module
    """The file is not a usual one."""


@dataclass(frozen=True)
class _Csv:
    """A CSV file; ``named`` says that a line above the header names the delimiter, ``remarks`` counts lines above."""

    path: str
    titles: tuple[str, ...]
    delimiter: str
    named: bool
    remarks: int

    def read(self, wanted: Sequence[str]) -> Iterator[Piece]:
        """Yield pieces; if the file turns out to be odd, the rows that were not yielded yet come one by one."""
        seen = 0
        try:
            for piece in self._quickly(wanted):
                seen += len(piece.line)
                yield piece
        except _Odd:
            yield from self.slowly(wanted, seen)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise gzip_damaged(self.path, error) from None

    def _quickly(self, wanted: Sequence[str]) -> Iterator[Piece]:
        places = [self.titles.index(name) for name in wanted]
        with _stream(self.path) as stream:
            header = stream.readline()
            byte, line, rest = len(header), 2, b""
            header = header.removeprefix(b"\xef\xbb\xbf")
            if not header.endswith(b"\n") or header.count(b'"') % 2:
                raise _Odd
            while True:
                more = stream.read(BYTES)
                block = rest + more
                end = _end_of_rows(block) if more else len(block)
                rows, rest = block[:end], block[end:]
                if len(rest) > LONGEST:
                    raise _Odd
                if rows:
                    check_utf8(rows, self.path, byte=byte, line=line)
                    found = read_usual_bytes(header + rows, self.delimiter, places)
                    if found is None:
                        raise _Odd
                    columns = (cells.changed(str.strip) for cells in found.columns)
                    yield Piece(dict(zip(wanted, columns, strict=True)), range(line, line + found.n_rows))
                    byte, line = byte + len(rows), line + found.n_rows
                if not more:
                    return

    def slowly(self, wanted: Sequence[str], after: int = 0) -> Iterator[Piece]:
        """Yield pieces of any file row by row, without some of its first rows."""
        places = [self.titles.index(name) for name in wanted]
        try:
            with _stream(self.path) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
                lines = (line if number >= self.remarks else "\n" for number, line in enumerate(text))
                rows = rows_with_lines(lines, self.path, self.delimiter, skip=self.named)
                for _ in islice(rows, 1 + after):
                    pass
                while block := list(islice(rows, SLOW_ROWS)):
                    columns = {}
                    for name, place in zip(wanted, places, strict=True):
                        numbered = Numbered()
                        numbered.add(row[place] for _, row in block)
                        columns[name] = numbered.cells().changed(str.strip)
                    yield Piece(columns, [line for line, _ in block])
        except UnicodeDecodeError:
            check_utf8(read_bytes(self.path), self.path, byte=0, line=1)
            raise
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise gzip_damaged(self.path, error) from None


def _end_of_rows(block: bytes) -> int:
    """Return where the last line ends that does not go on within quotes; 0 if there is none."""
    end = block.rfind(b"\n") + 1
    odd = block.count(b'"', 0, end) % 2
    while end and odd:
        before = block.rfind(b"\n", 0, end - 1) + 1
        odd ^= block.count(b'"', before, end) % 2
        end = before
    return end


def _parquet_file(path: str) -> PieceFile:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise needs_pyarrow(path) from None

    def batches(rows: int, wanted: Sequence[str] | None) -> Iterator[Any]:
        try:
            with parquet.ParquetFile(path) as file:
                schema = file.schema_arrow
                text = [name for name in wanted or () if str(schema.field(name).type) in ("string", "large_string")]
            with parquet.ParquetFile(path, read_dictionary=text) as file:
                columns = None if wanted is None else list(wanted)
                for batch in file.iter_batches(rows, columns=columns, use_threads=False):
                    yield batch if wanted is not None else pyarrow.Table.from_batches([batch], schema)
        except Exception as error:
            raise parquet_broken(path, error) from None

    def read(wanted: Sequence[str]) -> Iterator[Piece]:
        row = 1
        for batch in batches(ROWS, wanted):
            columns = {name: _cells(batch.column(name)) for name in wanted}
            yield Piece(columns, range(row, row + batch.num_rows))
            row += batch.num_rows

    first = next(batches(HEAD_ROWS, None), None)
    if first is None:
        return PieceFile(path, parquet_table((), (), 0, path), {}, read)  # which raises
    titles = [str(title) for title in first.column_names]
    columns = [column_of(first.column(place)) for place in range(first.num_columns)]
    types = {name: _type_of(field.type) for name, field in zip(titles, first.schema, strict=True)}
    return PieceFile(path, parquet_table(titles, columns, first.num_rows, path), types, read)


def _type_of(kind: Any) -> str:
    """Return the name of a type of pyarrow, the same for all ways to hold text."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return "string" if types.is_large_string(kind) else str(kind)


def _cells(column: Any) -> Cells:
    """Return a column of pyarrow as cells, each different one held once."""
    import pyarrow
    from pyarrow import types

    try:
        coded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    except pyarrow.ArrowNotImplementedError:  # a list, for example
        return Cells.of(map(cell_text, column.to_pylist()))
    distinct = [cell_text(value) for value in coded.dictionary.to_pylist()]
    if coded.null_count:
        coded, distinct = coded.indices.fill_null(len(distinct)), [*distinct, ""]
    else:
        coded = coded.indices
    return Cells(distinct, coded.to_numpy(zero_copy_only=False)).changed(str)
