"""Tables of delimited text (CSV): rows with the line where each starts; the first that does not fit is named."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from preflearn.exceptions import FileFormatError, Place, first_few
from preflearn.io.table import Table

__all__ = ["parse_csv"]

_Parts: TypeAlias = tuple[list[str], list[list[str]], Sequence[int], int]  # header, columns, lines, line of the header

_DELIMITERS = (",", ";", "\t", "|")
_NAMES = {"\t": "tab"}
_QUOTED = re.compile(r"'+[=+\-@]")  # a name that has a quote itself gets another one
_REMARK = re.compile(r"[ \t]*#")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")


def parse_csv(text: str, name: str) -> Table:
    """Return the table in delimited text; the delimiter is the one that occurs most often in the header."""
    text = _without_comments(text)
    found = re.search(r"[^\r\n]*\S[^\r\n]*", text)
    head = found[0] if found else ""
    excel = re.fullmatch(r"sep=([,;|\t])", head)
    bare = re.sub(r'"[^"]*"', "", head)
    delimiter = excel[1] if excel else max(_DELIMITERS, key=bare.count)
    plain = None if excel else _plain(text, delimiter)
    titles, columns, lines, top = plain or _with_lines(text, name, delimiter, skip=bool(excel))
    header = [title.strip() for title in titles]
    if not lines:
        raise FileFormatError(
            "there is a header but no rows below it",
            "Check that the file is complete",
            code="no-rows-below-header",
            where=Place(name),
        )
    repeated = [title for title, count in Counter(header).items() if title and count > 1]
    if repeated:
        raise FileFormatError(
            f"columns {first_few(repeated)} occur more than once",
            "Rename them",
            code="column-name-repeated",
            where=Place(name, top),
        )
    columns = [[cell.strip() for cell in column] for column in columns]
    _check_header(header, columns, lines, name)
    if "'" in text:
        _check_quotes(columns, lines, name)
        columns = [[_unquoted(cell) for cell in column] for column in columns]
    cells = dict(zip(header[::-1], columns[::-1], strict=True))  # of unnamed columns the first
    return Table(name, tuple(header), cells.__getitem__, lines, "line", delimiter=delimiter, top=top, text=cells)


def _check_header(header: list[str], columns: list[list[str]], lines: Sequence[int], name: str) -> None:
    """Raise if rows repeat the header, as in files that were joined.

    Where an entry of the header occurs in another row of its column as well, it may be data, or the header missing.
    """
    titled = [(title, column) for title, column in zip(header, columns, strict=True) if title]
    if len(titled) < 2 or any(_is_number(title) or title not in column for title, column in titled):
        return
    again = [row for row, found in enumerate(zip(*columns, strict=True)) if list(found) == header]
    if again and all(column.count(title) == len(again) for title, column in titled):
        more = f" ({len(again)} such lines)" if len(again) > 1 else ""
        raise FileFormatError(
            f"this line repeats the first one, {first_few(header, 6)}{more}",
            "If that is the header, and files were joined, delete it here, or join them again without it: "
            "(cat A.csv; tail -n +2 B.csv) > ALL.csv. If both are data, add a line above that names the "
            "columns",
            code="header-repeated",
            where=Place(name, lines[again[0]]),
        )


def _unquoted(cell: str) -> str:
    """Return a cell without the quote that keeps a spreadsheet from running it, as in ``'=A1``."""
    return cell[1:] if cell[:1] == "'" and _QUOTED.match(cell) else cell


def _check_quotes(columns: list[list[str]], lines: Sequence[int], name: str) -> None:
    """Raise if a cell would be taken for another one when its quote is left out."""
    distinct = set().union(*columns)
    both = {cell for cell in distinct if cell[:1] in ("=", "+", "-", "@") and f"'{cell}" in distinct}
    both = {cell for cell in both if not _is_number(cell)}
    if both:
        row, cell = min((row, cell) for column in columns for row, cell in enumerate(column) if cell in both)
        row_quoted = min(row for column in columns for row, found in enumerate(column) if found == f"'{cell}")
        raise FileFormatError(
            f'there is "{cell[:60]}" here and "\'{cell[:60]}" in line {lines[row_quoted]}, which would be '
            "read as the same: a quote before = + - or @ only keeps spreadsheets from running a cell",
            "Write both alike, or change one of the names",
            code="quoted-names-alike",
            where=Place(name, lines[row]),
        )


def _without_comments(text: str) -> str:
    """Return the text with lines of remarks (# ...) above the header made blank: the numbers of lines stay."""
    end = 0
    while _REMARK.match(text, end):
        line = _LINE.match(text, end)
        after = None if line is None else _LINE.match(text, line.end())
        if line is None or after is None or line.end() == len(text):
            break
        if any(line[1].count(mark) == after[1].count(mark) > 0 for mark in _DELIMITERS):
            break  # a column called #
        end = line.end()
    return re.sub(r"[^\r\n]", " ", text[:end]) + text[end:] if end else text


def _plain(text: str, delimiter: str) -> _Parts | None:
    """Return the usual file: no quotes or blank lines, as many cells on every line; else None."""
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
    columns = [cells[place::width] for place in range(width)]
    return lines[0].split(delimiter), columns, range(2, len(lines) + 1), 1


def _with_lines(text: str, name: str, delimiter: str, *, skip: bool) -> _Parts:
    """Return any file row by row; blank rows are left out and the first odd row raises."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    rows: list[list[str]] = []
    line: list[int] = []
    top = here = start = 1
    try:
        for row in reader:
            here, start = start, reader.line_num + 1
            if not any(cell.strip() for cell in row):
                continue
            if skip:
                skip = False
            elif header is None:
                header, top = row, here
            elif len(row) != len(header):
                raise _ragged(name, here, row, header, top, delimiter)
            else:
                rows.append(row)
                line.append(here)
    except csv.Error as error:
        cause = "a quote is opened and not closed" if "end of data" in str(error) else str(error)
        raise FileFormatError(f"{cause}", "Check the quotes", code="quotes-broken", where=Place(name, start)) from None
    if header is None:
        raise FileFormatError(
            "there are no columns", "Give a table with a header", code="no-columns", where=Place(name)
        )
    return header, [list(column) for column in zip(*rows, strict=True)], line, top


def _ragged(name: str, here: int, row: list[str], header: list[str], top: int, delimiter: str) -> FileFormatError:
    by = _NAMES.get(delimiter, delimiter)
    if all(_is_number(cell) for cell in header):
        return FileFormatError(
            f"there are only numbers, so the header is missing, and line {here} has {len(row)} cells instead "
            f"of {len(header)}",
            "Add a first line that names the columns, such as first,second,outcome, and give every line as many cells",
            code="header-missing-and-ragged",
            where=Place(name, top),
        )
    if len(header) == 1:
        return FileFormatError(
            f'"{header[0].strip()[:60]}" is one cell, and line {here} has {len(row)}',
            "Delete the lines above the header, or put cells that contain a delimiter in quotes",
            code="lines-above-header",
            where=Place(name, top),
        )
    return FileFormatError(
        f"{len(row)} cell{'s' if len(row) != 1 else ''}, but the header has {len(header)} columns "
        f"({first_few(header, 6)}; separated by {by!r})",
        f"Put cells that contain {by!r} in quotes, or complete the line",
        code="ragged-line",
        where=Place(name, here),
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
