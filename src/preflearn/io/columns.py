"""Columns of text that hold each different cell once, and the usual CSV file, which becomes such columns quickly.

Millions of votes name a few hundred items, so most questions about a column are about a few hundred words. The usual
file has as many cells on every line, and no line blank or broken within quotes. Any other file is None here, and read
row by row by `preflearn.io.table`, which says where it is odd. Large ones are read by pyarrow where it is installed.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, islice
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.intp]

BLOCK = 1 << 13  # lines of which the cells are held at a time
PIECE = 1 << 20  # characters that are split into lines at a time
LARGE = 1 << 21  # characters from which pyarrow saves more time than its import takes


class Cells(Sequence[str]):
    """A sequence of cells, of which each different one is held once.

    Parameters
    ----------
    distinct : list of str
        The different cells, in the order in which they first occur.
    code : array (n,)
        The number of each row's cell among them.

    Examples
    --------
    >>> cells = Cells.of(["ann", "bob", "ann"])
    >>> cells.distinct, cells.code.tolist(), cells[2], list(cells)
    (['ann', 'bob'], [0, 1, 0], 'ann', ['ann', 'bob', 'ann'])
    """

    __slots__ = ("code", "distinct")

    def __init__(self, distinct: list[str], code: IntArray) -> None:
        self.distinct, self.code = distinct, code

    @classmethod
    def of(cls, cells: Iterable[str]) -> Cells:
        """Return the cells of any sequence."""
        if isinstance(cells, Cells):
            return cells
        numbered = Numbered()
        numbered.add(cells)
        return numbered.cells()

    def __len__(self) -> int:
        return len(self.code)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self.distinct[number] for number in self.code[row].tolist()]
        return self.distinct[int(self.code[row])]

    def __iter__(self) -> Iterator[str]:
        return map(self.distinct.__getitem__, self.code.tolist())

    def __contains__(self, cell: object) -> bool:
        return cell in self.distinct

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the first row with a cell."""
        return int(np.flatnonzero(self.are(value)[start:stop])[0]) + start

    def count(self, value: Any) -> int:
        """Return how many rows have a cell."""
        return int(np.count_nonzero(self.are(value)))

    def are(self, cell: str) -> NDArray[np.bool_]:
        """Return which rows have a cell."""
        return np.asarray(self.code == (self.distinct.index(cell) if cell in self.distinct else -1))

    def same(self, other: Cells) -> NDArray[np.bool_]:
        """Return which rows of two columns agree."""
        number = {cell: place for place, cell in enumerate(self.distinct)}
        return np.asarray(self.code == np.array([number.get(cell, -1) for cell in other.distinct])[other.code])

    def changed(self, function: Callable[[str], str]) -> Cells:
        """Return the cells after a function of each, which may make some alike."""
        return self._renumbered([function(cell) for cell in self.distinct], self.code)

    def take(self, rows: Sequence[int] | IntArray) -> Cells:
        """Return the cells of some rows."""
        code = self.code[np.asarray(rows, dtype=np.intp)]
        held, first = np.unique(code, return_index=True)
        held = held[np.argsort(first)]
        place = np.zeros(len(self.distinct), dtype=np.intp)
        place[held] = np.arange(len(held))
        return Cells([self.distinct[number] for number in held.tolist()], place[code])

    def first_rows(self) -> IntArray:
        """Return the row in which each different cell first occurs."""
        first = np.full(len(self.distinct), len(self), dtype=np.intp)
        np.minimum.at(first, self.code, np.arange(len(self)))
        return first

    @staticmethod
    def _renumbered(cells: list[str], code: IntArray) -> Cells:
        again = Cells.of(cells)
        return Cells(again.distinct, again.code[code] if len(again.distinct) < len(cells) else code)


class Numbered:
    """Cells that come in several pieces, and become one column.

    Examples
    --------
    >>> column = Numbered()
    >>> column.add(["ann", "bob"])
    >>> column.add(["bob"])
    >>> list(column.cells())
    ['ann', 'bob', 'bob']
    """

    def __init__(self) -> None:
        self.number: defaultdict[str, int] = defaultdict(count().__next__)
        self.codes: list[NDArray[np.int32]] = []

    def add(self, cells: Iterable[str]) -> None:
        """Add cells below those that came before."""
        self.codes.append(np.fromiter(map(self.number.__getitem__, cells), dtype=np.int32))

    def cells(self) -> Cells:
        """Return the column."""
        return Cells(list(self.number), np.concatenate([np.zeros(0, dtype=np.intp), *self.codes]))


def numbered_together(one: Cells, other: Cells) -> tuple[list[str], IntArray, IntArray]:
    """Return the names in two columns, in the order of rows and one before the other, and the numbers of both.

    Examples
    --------
    >>> names, first, second = numbered_together(Cells.of(["b", "a", "c"]), Cells.of(["a", "d", "b"]))
    >>> names, first.tolist(), second.tolist()
    (['b', 'a', 'd', 'c'], [0, 1, 3], [1, 2, 0])
    """
    place: dict[str, int] = {}
    for shift, cells in enumerate((one, other)):
        for cell, row in zip(cells.distinct, cells.first_rows().tolist(), strict=True):
            place[cell] = min(place.get(cell, 2 * row + shift), 2 * row + shift)
    names = sorted(place, key=place.__getitem__)
    number = {name: code for code, name in enumerate(names)}
    first, second = (np.array([number[cell] for cell in cells.distinct], dtype=np.intp) for cells in (one, other))
    return names, first[one.code], second[other.code]


class UsualFile(NamedTuple):
    """Titles of the columns as they stand there, the columns, and how many rows they have."""

    titles: list[str]
    columns: list[Cells]
    n_rows: int


def read_usual(text: str, delimiter: str) -> UsualFile | None:
    """Return the titles and columns of the usual file, None for any other."""
    found = _by_arrow(text.encode(), delimiter) if len(text) >= LARGE else None
    return _surely(_in_blocks(text, delimiter) if found is None else found)


def read_usual_bytes(data: bytes, delimiter: str, wanted: Sequence[int] | None = None) -> UsualFile | None:
    """Return some columns of the usual file in UTF-8 by their places (all by default), None for any other."""
    found = _by_arrow(data, delimiter, wanted)
    if found is None:
        found = _in_blocks(data.decode(), delimiter)
        if found is not None and wanted is not None:
            found = found._replace(columns=[found.columns[place] for place in wanted])
    return _surely(found)


def _surely(found: UsualFile | None) -> UsualFile | None:
    """Return the same unless a line may be blank."""
    if found is None or all(any(not cell.strip() for cell in column.distinct) for column in found.columns):
        return None
    return found


def _lines(text: str) -> Iterator[list[str]]:
    start, stop = 0, len(text) - text.endswith("\n")
    while (end := text.find("\n", start + PIECE, stop)) >= 0:
        yield text[start:end].split("\n")
        start = end + 1
    yield text[start:stop].split("\n")


def _in_blocks(text: str, delimiter: str) -> UsualFile | None:
    if text.count("\r") != text.count("\r\n"):
        return None
    reader = csv.reader(chain.from_iterable(_lines(text)), delimiter=delimiter, strict=True)
    try:
        titles = next(reader, [])
        if not any(title.strip() for title in titles):
            return None
        columns = [Numbered() for _ in titles]
        n_rows = 0
        while block := list(islice(reader, BLOCK)):
            n_rows += len(block)
            if set(map(len, block)) != {len(titles)} or reader.line_num != n_rows + 1:
                return None
            for column, cells in zip(columns, zip(*block, strict=True), strict=True):
                column.add(cells)
    except csv.Error:
        return None
    return UsualFile(titles, [column.cells() for column in columns], n_rows)


def _by_arrow(data: bytes, delimiter: str, wanted: Sequence[int] | None = None) -> UsualFile | None:
    """Return what pyarrow reads, where it cannot but read the same as `_in_blocks`; None elsewhere."""
    try:
        import pyarrow as pa
        from pyarrow import csv as arrow
    except ImportError:
        return None
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if data.count(b"\r") != data.count(b"\r\n") or not _quotes_at_edges(data, delimiter):
        return None
    try:
        titles = next(csv.reader([data.partition(b"\n")[0].decode()], delimiter=delimiter, strict=True), [])
    except (csv.Error, UnicodeDecodeError):
        return None
    if not any(title.strip() for title in titles):
        return None
    names = [str(place) for place in range(len(titles))]
    kept = names if wanted is None else [names[place] for place in wanted]
    kind: Any = pa.dictionary(pa.int32(), pa.string())
    try:
        table = arrow.read_csv(
            pa.BufferReader(data),
            read_options=arrow.ReadOptions(use_threads=False, skip_rows=1, column_names=names),
            parse_options=arrow.ParseOptions(delimiter=delimiter),
            convert_options=arrow.ConvertOptions(
                column_types=dict.fromkeys(names, kind), null_values=[], include_columns=kept
            ),
        ).unify_dictionaries()
    except pa.ArrowException:
        return None
    if table.num_rows != n_lines - 1 or not table.num_rows:
        return None  # a line is blank, or goes on within quotes
    columns = []
    for name in kept:
        chunks = table.column(name).chunks
        code = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks]).astype(np.intp)
        columns.append(Cells(chunks[-1].dictionary.to_pylist(), code))
    return UsualFile(titles, columns, table.num_rows)


def _quotes_at_edges(data: bytes, delimiter: str) -> bool:
    """Return whether quotes only open and close cells in turns, so that no two readers differ on them."""
    if b'"' not in data:
        return True
    around = np.frombuffer(b"\n" + data + b"\n", dtype=np.uint8)
    quotes = np.flatnonzero(around == ord('"'))
    first = np.flatnonzero(np.diff(quotes, prepend=-1) > 1)  # of runs of quotes: two are one within a cell
    length = np.diff(first, append=len(quotes))
    edge = np.zeros(256, dtype=bool)
    edge[[ord("\n"), ord("\r"), ord(delimiter)]] = True
    start = quotes[first]
    opens, closes = edge[around[start - 1]], edge[around[start + length]]
    turns = opens[opens != closes]
    both = opens & closes  # an empty cell, or quotes alone
    in_turns = len(turns) % 2 == 0 and turns[::2].all() and not turns[1::2].any()
    return bool(in_turns and (opens | closes).all() and (length % 2 != both).all())
