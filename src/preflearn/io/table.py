"""The one table that all readers use, and how delimited text (CSV) becomes one."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import is_missing, repeated
from preflearn.data.sides import normal
from preflearn.exceptions import DataError, FileFormatError, Place, Setting, Text, first_few, nearest_names
from preflearn.io.columns import Cells, read_usual

# Roles without which a row is no comparison, how messages say that such rows can be left out, and words for no value.
NEEDED = (
    *("winner", "loser", "first", "second", "outcome", "score", "wins_first", "wins_second", "ties", "covariate"),
    "category",
)
LEAVE_OUT = "leave out all such rows with " + Setting("missing", "drop")
_NAMES = ("winner", "loser", "first", "second", "category")  # "na" could be a name
_ABSENT = frozenset(("na", "n/a", "nan", "null", "#n/a", "<na>"))
_NO_NUMBER = frozenset(("na", "n/a", "nan", "null", "none", "?", "-", ".", "#n/a", "<na>"))
_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")


@dataclass(eq=False)
class Table:
    """Columns of values, as text or as they are.

    Parameters
    ----------
    source : str
        Name of the file or object in messages.
    columns : tuple of str
        Names of the columns.
    values : function of a name
        The values of a column, as they are in the source.
    line : sequence of int
        Where each row stands.
    word : str
        What ``line`` counts: "line", "row" or "entry".
    is_file : bool
        Whether names of items are the text of their cells, as in a file, or the values themselves.
    delimiter : str
        What separates cells of text, "" elsewhere.
    top : int
        Line of the header.
    times : ndarray (n,) or None
        How many rows each row stands for, in tables of counts.
    not_read : tuple of str
        Names of further columns, in tables of counts.
    files : tuple of str, and ``file`` ndarray (n,) or None
        Names of the files that rows come from, and the number of each row's, in tables of several files.
    """

    source: str
    columns: tuple[str, ...]
    values: Callable[[str], Sequence[Any]]
    line: Sequence[int]
    word: str = "row"
    is_file: bool = True
    delimiter: str = ""
    top: int = 1
    times: NDArray[np.int64] | None = None
    not_read: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    file: NDArray[np.int64] | None = None
    commas: list[str] = field(default_factory=list)  # columns with decimal commas that were read
    text: dict[str, Cells] = field(default_factory=dict)  # stripped cells of the columns asked for so far

    def __len__(self) -> int:
        return len(self.line)

    @property
    def error(self) -> type[DataError]:
        """The class of errors: a frame is no file."""
        return FileFormatError if self.is_file else DataError

    def fail(self, row: int, *, code: str) -> DataError:
        """Return the error about one row; it `says` what is wrong."""
        source = self.source if self.file is None else self.files[self.file[row]]
        return self.error(code=code, where=Place(source, self.line[row], self.word))

    @property
    def n_rows(self) -> int:
        """How many rows there are; in tables of counts more than `len`."""
        return len(self) if self.times is None else int(self.times.sum())

    def number(self, which: NDArray[np.bool_]) -> int:
        """Return how many rows are among some."""
        return int(np.count_nonzero(which) if self.times is None else self.times[which].sum())

    def refuse(self, *, code: str) -> DataError:
        """Return the error about the table as a whole; it `says` what is wrong."""
        return self.error(code=code, where=Place(self.source))

    def cells(self, name: str) -> Cells:
        """Return a column as stripped text; "" where a cell is empty."""
        if name not in self.text:
            values = self.values(name)
            self.text[name] = (
                values.changed(cell_text) if isinstance(values, Cells) else Cells.of(map(cell_text, values))
            )
        return self.text[name]

    def find(self, name: str, role: str | None = None) -> str:
        """Return the column of that name: exactly, else without regard to case, blanks and punctuation."""
        if name in self.columns:
            return name
        alike = [column for column in self.columns if normal(column) == normal(name) and normal(name)]
        if len(alike) == 1:
            return alike[0]
        nearest = nearest_names(name, self.columns)
        purpose = "" if role is None else f" for {role}"
        raise self.refuse(code="no-such-column").says(
            f"there is no column {name!r}{purpose} (columns: "
            f"{first_few(self.columns, 12)}{'; ' + nearest if nearest else ''})",
            "Name one of these columns",
        )

    def take(self, rows: Sequence[int]) -> Table:
        """Return the table of some rows."""

        def values(name: str) -> list[Any]:
            given = self.values(name)
            return [given[row] for row in rows]

        cells = {name: known.take(rows) for name, known in self.text.items()}
        lines = [self.line[row] for row in rows]
        kept = np.asarray(rows, dtype=np.intp)
        times, file = (None if part is None else part[kept] for part in (self.times, self.file))
        return replace(self, values=values, line=lines, commas=[], text=cells, times=times, file=file)

    def with_column(self, name: str, cells: Sequence[str]) -> Table:
        """Return the table with a column of other text, or one more."""
        columns = self.columns if name in self.columns else (*self.columns, name)

        def values(wanted: str) -> Sequence[Any]:
            return cells if wanted == name else self.values(wanted)

        return replace(self, columns=columns, values=values, text=self.text | {name: Cells.of(cells)})

    def column(self, name: str, role: str | None = None) -> Cells:
        """Return a column without empty cells; ``role`` says what it is for, where that is not its name."""
        name = self.find(name, role)
        cells = self.cells(name)
        if "" in cells:
            what = f'column "{name}"' if role is None else f'{role} (column "{name}")'
            raise self.fail(cells.index(""), code="empty-cell").says(
                f"{what} is empty ({self.number(cells.are(''))} of {self.n_rows} rows)", *_fill(role)
            )
        nested = None if self.delimiter else next((cell for cell in cells.distinct if cell[:2] == '{"'), None)
        if nested is not None:
            raise self.fail(cells.index(nested), code="nested-cell").says(
                f'column "{name}" holds an object, {nested[:60]}', "Write a name or a number"
            )
        return cells

    def names(self, name: str) -> dict[str, Any]:
        """Return what each text of a column stands for: itself, or the value of a data frame."""
        cells = self.cells(name)
        if self.is_file:
            return {cell: cell for cell in cells.distinct}
        meaning = dict(zip(cells, self.values(name), strict=True))
        meaning.pop("", None)
        plain = {cell: value.item() if isinstance(value, np.generic) else value for cell, value in meaning.items()}
        whole = all(isinstance(value, float) and value.is_integer() for value in plain.values())
        return {
            cell: int(value) if whole else cell if isinstance(value, str | list | dict) else value
            for cell, value in plain.items()
        }

    def as_numbers(self, name: str, cells: Sequence[str]) -> NDArray[np.float64] | None:
        """Return the cells of a column as numbers, NaN where missing, or None; decimal commas are noted."""
        values = numbers_of(cells, self.delimiter)
        if values is not None and name not in self.commas and any("," in cell for cell in Cells.of(cells).distinct):
            self.commas.append(name)
        return values

    def numbers(self, name: str, role: str | None = None) -> NDArray[np.float64]:
        """Return a column as finite numbers; the first cell that is not a finite number raises with its line."""
        cells = self.column(name, role)
        what = f'column "{name}"' if role is None else f'{role} (column "{name}")'
        values = self.as_numbers(name, cells)
        if values is not None and np.isfinite(values).all():
            return values
        odd = next(cell for cell in cells.distinct if not _is_finite(cell, self.delimiter))
        cures = _fill(role) if odd.lower() in _NO_NUMBER else ("Correct it", "leave the column out")
        raise self.fail(cells.index(odd), code="cell-not-a-number").says(
            f'{what} holds "{odd[:60]}", which is not a finite number', *cures
        )

    def difference(self, column: str, other: str | None = None, *, role: str) -> NDArray[np.float64]:
        """Return the numbers of a column less those of another, if there is one."""
        values = self.numbers(column, role)
        if other is None:
            return values
        with np.errstate(over="ignore"):
            values = values - self.numbers(other, role) + 0.0
        if not np.isfinite(values).all():
            raise self.fail(int(np.flatnonzero(~np.isfinite(values))[0]), code="numbers-too-far-apart").says(
                f'"{column}" and "{other}" differ by more than a number can hold', "Correct them"
            )
        return values


def cell_text(value: Any) -> str:
    """Return a value as the text of a cell; a list of names is a ranking, best first."""
    if type(value) is str:
        return value.strip()
    if type(value) is int:
        return str(value)
    if isinstance(value, list | dict):
        if isinstance(value, list) and all(isinstance(entry, str | int | float) for entry in value):
            return " > ".join(cell_text(entry) for entry in value)
        return json.dumps(value)
    if is_missing(value):
        return ""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value).strip()


def _fill(role: str | None) -> tuple[Text, ...]:
    """Return the cures for a missing cell; where it makes a comparison useless, such rows can be left out."""
    return ("Fill the cell", "delete the row", *([LEAVE_OUT] if role in NEEDED else []))


def is_absent(cell: str, role: str) -> bool:
    """Return whether a cell that a comparison needs is missing: empty or, where a number belongs, a word for that."""
    return not cell or (role not in _NAMES and cell.lower() in _ABSENT)


def numbers_of(cells: Sequence[str], delimiter: str = ",") -> NDArray[np.float64] | None:
    """Return cells as numbers, NaN where missing, or None; a decimal comma is read where nothing else can be meant."""
    if isinstance(cells, Cells):
        found = numbers_of(cells.distinct, delimiter)
        return None if found is None else found[cells.code]
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
    return None if any("_" in cell for cell in cells) else values


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


# Header, columns, lines of the rows, line of the header.
_Parts: TypeAlias = tuple[list[str], Sequence[Sequence[str]], Sequence[int], int]

_DELIMITERS = (",", ";", "\t", "|")
_DELIMITER_NAMES = {"\t": "tab"}
_QUOTED = re.compile(r"'+[=+\-@]")  # a name that has a quote itself gets another one
_REMARK = re.compile(r"[ \t]*#")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")


def parse_csv(text: str, name: str) -> Table:
    """Return the table in delimited text; the delimiter is the one that occurs most often in the header."""
    text = _without_comments(text)
    delimiter, named = delimiter_of(text)
    usual = None if named else read_usual(text, delimiter)
    if usual is None:
        titles, columns, lines, top = _with_lines(text, name, delimiter, skip=named)
    else:
        titles, columns, lines, top = usual.titles, usual.columns, range(2, usual.n_rows + 2), 1
    header = [title.strip() for title in titles]
    if not lines:
        raise no_rows(name)
    check_titles(header, name, top)
    cells = dict(zip(header[::-1], columns[::-1], strict=True))  # of unnamed columns the first
    return text_table(Table(name, tuple(header), cells.__getitem__, lines, "line", delimiter=delimiter, top=top))


def delimiter_of(text: str) -> tuple[str, bool]:
    """Return the delimiter of text without remarks, and whether a line above the header names it."""
    found = re.search(r"[^\r\n]*\S[^\r\n]*", text)
    head = found[0] if found else ""
    excel = re.fullmatch(r"sep=([,;|\t])", head)
    bare = re.sub(r'"[^"]*"', "", head)
    return (excel[1], True) if excel else (max(_DELIMITERS, key=bare.count), False)


def no_rows(name: str) -> FileFormatError:
    """Return the error about a file that ends below its header."""
    return FileFormatError(code="no-rows-below-header", where=Place(name)).says(
        "there is a header but no rows below it", "Check that the file is complete"
    )


def check_titles(header: Sequence[str], name: str, top: int) -> None:
    """Raise if columns are called alike."""
    twice = repeated(title for title in header if title)
    if twice:
        raise FileFormatError(code="column-name-repeated", where=Place(name, top)).says(
            f"several columns are called {first_few(twice)}", "Rename all but one"
        )


def text_table(table: Table, held: Sequence[str] | None = None) -> Table:
    """Return a table of delimited text with its cells stripped and without quotes that only keep them from being run.

    ``held`` are the columns that were read, by default all.
    """
    titles = [*table.columns[::-1]] if held is None else [*held]
    stripped = [Cells.of(table.values(title)).changed(str.strip) for title in titles]
    _check_header(titles, stripped, table)
    if any("'" in cell for column in stripped for cell in column.distinct):
        _check_quotes(stripped, table)
        stripped = [column.changed(_unquoted) for column in stripped]
    cells = dict(zip(titles, stripped, strict=True))
    return replace(table, values=cells.__getitem__, text=cells)


def _check_header(header: list[str], columns: list[Cells], table: Table) -> None:
    """Raise if rows repeat the header, as in files that were joined."""
    titled = [(title, column) for title, column in zip(header, columns, strict=True) if title]
    if len(titled) < 2 or any(_is_number(title) or title not in column for title, column in titled):
        return
    again = [row for row, found in enumerate(zip(*columns, strict=True)) if list(found) == header]
    if again and all(column.count(title) == len(again) for title, column in titled):
        times = len(again) if table.times is None else int(table.times[again].sum())
        more = f" ({times} such lines)" if times > 1 else ""
        raise table.fail(again[0], code="header-repeated").says(
            f"this line repeats the first one, {first_few(table.columns, 6)}{more}",
            "If that is the header, and files were joined, delete it here, or join them again without it: "
            "(cat A.csv; tail -n +2 B.csv) > ALL.csv. If both are data, add a line above that names the "
            "columns",
        )


def _unquoted(cell: str) -> str:
    """Return a cell without the quote that keeps a spreadsheet from running it, as in ``'=A1``."""
    return cell[1:] if cell[:1] == "'" and _QUOTED.match(cell) else cell


def _check_quotes(columns: list[Cells], table: Table) -> None:
    """Raise if a cell would be taken for another one when its quote is left out."""
    distinct = set[str]().union(*(column.distinct for column in columns))
    both = {cell for cell in distinct if cell[:1] in ("=", "+", "-", "@") and f"'{cell}" in distinct}
    both = {cell for cell in both if not _is_number(cell)}
    if both:
        row, cell = min((row, cell) for column in columns for row, cell in enumerate(column) if cell in both)
        row_quoted = min(row for column in columns for row, found in enumerate(column) if found == f"'{cell}")
        raise table.fail(row, code="quoted-names-alike").says(
            f'there is "{cell[:60]}" here and "\'{cell[:60]}" in line {table.line[row_quoted]}, which would be '
            "read as the same: a quote before = + - or @ only keeps spreadsheets from running a cell",
            "Write both alike, or change one of the names",
        )


def _without_comments(text: str) -> str:
    """Return the text with lines of remarks (# ...) above the header made blank: the numbers of lines stay."""
    end = end_of_remarks(text)
    return re.sub(r"[^\r\n]", " ", text[:end]) + text[end:] if end else text


def end_of_remarks(text: str) -> int:
    """Return where the lines of remarks (# ...) above the header end."""
    end = 0
    while _REMARK.match(text, end):
        line = _LINE.match(text, end)
        after = None if line is None else _LINE.match(text, line.end())
        if line is None or after is None or line.end() == len(text):
            break
        if any(line[1].count(mark) == after[1].count(mark) > 0 for mark in _DELIMITERS):
            break  # a column called #
        end = line.end()
    return end


def _with_lines(text: str, name: str, delimiter: str, *, skip: bool) -> _Parts:
    """Return any file row by row."""
    (top, header), *found = rows_with_lines(io.StringIO(text, newline=""), name, delimiter, skip=skip)
    columns = zip(*(row for _, row in found), strict=True)
    return header, [list(column) for column in columns], [line for line, _ in found], top


def rows_with_lines(
    lines: Iterable[str], name: str, delimiter: str, *, skip: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield the header and the rows with their lines; blank rows are left out and the first odd row raises.

    ``skip`` leaves out the first row that is not blank.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    top = here = start = 1
    try:
        for row in reader:
            here, start = start, reader.line_num + 1
            if not any(cell.strip() for cell in row):
                continue
            if skip:
                skip = False
                continue
            if header is None:
                header, top = row, here
            elif len(row) != len(header):
                raise _ragged(name, here, row, header, top, delimiter)
            yield here, row
    except csv.Error as error:
        cause = "a quote is opened and not closed" if "end of data" in str(error) else str(error)
        raise FileFormatError(code="quotes-broken", where=Place(name, start)).says(
            f"{cause}", "Check the quotes"
        ) from None
    if header is None:
        raise FileFormatError(code="no-columns", where=Place(name)).says(
            "there are no columns", "Give a table with a header"
        )


def _ragged(name: str, here: int, row: list[str], header: list[str], top: int, delimiter: str) -> FileFormatError:
    by = _DELIMITER_NAMES.get(delimiter, delimiter)
    if all(_is_number(cell) for cell in header):
        return FileFormatError(code="header-missing-and-ragged", where=Place(name, top)).says(
            f"there are only numbers, so the header is missing, and line {here} has {len(row)} cells instead "
            f"of {len(header)}",
            "Add a first line that names the columns, such as first,second,outcome, and give every line as many cells",
        )
    if len(header) == 1:
        return FileFormatError(code="lines-above-header", where=Place(name, top)).says(
            f'there is one cell ("{header[0].strip()[:60]}"), and line {here} has {len(row)}',
            "Delete the lines above the header, or put cells that contain a delimiter in quotes",
        )
    return FileFormatError(code="ragged-line", where=Place(name, here)).says(
        f"{len(row)} cell{'s' if len(row) != 1 else ''}, but the header has {len(header)} columns "
        f"({first_few(header, 6)}; separated by {by!r})",
        f"Put cells that contain {by!r} in quotes, or complete the line",
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
