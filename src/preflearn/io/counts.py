"""Rows of a table as counts: each different row once, and how often it occurs.

Two functions do all of it. `count_piece` counts the rows of one piece, and `add_counts` adds the counts of two: in any
grouping of neighbours the sum is the same, so pieces may be counted one after the other, or on several machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preflearn.io.columns import Cells

IntArray = NDArray[np.int64]

DENSE = 8  # possible rows for each row up to which all of them are numbered, which is quicker than sorting


@dataclass(frozen=True)
class Counts:
    """Different rows of a table in the order in which they first occur.

    Attributes
    ----------
    columns : dict of str to Cells
        The columns, with one cell for each different row.
    times : ndarray (n,)
        How often each row occurs.
    line : ndarray (n,)
        Where it occurs first: its line or row within the file.
    file : ndarray (n,)
        The number of that file.
    """

    columns: dict[str, Cells]
    times: IntArray
    line: IntArray
    file: IntArray

    def __len__(self) -> int:
        return len(self.times)


def count_piece(columns: Mapping[str, Cells], line: Sequence[int], file: int = 0) -> Counts:
    """Return the different rows of a piece with their counts; ``line`` says where each row stands.

    Examples
    --------
    >>> votes = {"winner": Cells.of(["ann", "bob", "ann"]), "loser": Cells.of(["bob", "cy", "bob"])}
    >>> found = count_piece(votes, range(2, 5))
    >>> list(found.columns["winner"]), found.times.tolist(), found.line.tolist()
    (['ann', 'bob'], [2, 1], [2, 3])
    """
    number, first = _different(columns.values(), len(line))
    some = {name: Cells(cells.distinct, cells.code[first]) for name, cells in columns.items()}
    where = line.start + line.step * first if isinstance(line, range) else np.asarray(line, dtype=np.int64)[first]
    times = np.bincount(number, minlength=len(first)).astype(np.int64)
    return Counts(some, times, where, np.full(len(first), file, dtype=np.int64))


def add_counts(one: Counts, other: Counts) -> Counts:
    """Return the counts of the rows of two pieces; what occurs in both stands where ``one`` has it.

    Examples
    --------
    >>> votes = [{"winner": Cells.of(["ann", "bob"])}, {"winner": Cells.of(["cy", "bob"])}]
    >>> both = add_counts(count_piece(votes[0], range(2)), count_piece(votes[1], range(2), file=1))
    >>> list(both.columns["winner"]), both.times.tolist(), both.file.tolist()
    (['ann', 'bob', 'cy'], [1, 2, 1], [0, 0, 1])
    """
    columns = {name: _joined(cells, other.columns[name]) for name, cells in one.columns.items()}
    numbers = ((one.times, other.times), (one.line, other.line), (one.file, other.file))
    return summed(Counts(columns, *map(np.concatenate, numbers)))


def summed(counts: Counts) -> Counts:
    """Return counts in which each different row occurs once, with all of its cells in use."""
    number, first = _different(counts.columns.values(), len(counts))
    total = np.zeros(len(first), dtype=np.int64)
    np.add.at(total, number, counts.times)
    some = {name: cells.take(first) for name, cells in counts.columns.items()}
    return Counts(some, total, counts.line[first], counts.file[first])


def add_all(pieces: Iterable[Counts]) -> Counts | None:
    """Return the sum of counts, None of none; those of about the same size are added first, which costs n log n."""
    waiting: list[Counts] = []
    for piece in pieces:
        waiting.append(piece)
        while len(waiting) > 1 and 2 * len(waiting[-1]) >= len(waiting[-2]):
            last = waiting.pop()
            waiting[-1] = add_counts(waiting[-1], last)
    while len(waiting) > 1:
        last = waiting.pop()
        waiting[-1] = add_counts(waiting[-1], last)
    return waiting[0] if waiting else None


def _joined(one: Cells, other: Cells) -> Cells:
    """Return the cells of two columns, one below the other."""
    number = {cell: code for code, cell in enumerate(one.distinct)}
    place = np.array([number.setdefault(cell, len(number)) for cell in other.distinct], dtype=np.intp)
    return Cells(list(number), np.concatenate([one.code, place[other.code]]))


def _different(columns: Iterable[Cells], n_rows: int) -> tuple[IntArray, IntArray]:
    """Return the number of each row, equal where rows are, and the first row of each number, in this order."""
    key, possible = np.zeros(n_rows, dtype=np.int64), 1
    for cells in columns:
        if possible * max(len(cells.distinct), 1) >= 2**62:
            _, key = np.unique(key, return_inverse=True)
            possible = int(key.max(initial=-1)) + 1
        key = key * max(len(cells.distinct), 1) + cells.code
        possible *= max(len(cells.distinct), 1)
    if possible <= DENSE * n_rows:
        first = np.full(possible, n_rows, dtype=np.int64)
        first[key[::-1]] = np.arange(n_rows - 1, -1, -1)  # the last that is written stays
        held = first < n_rows
        row, first = (np.cumsum(held) - 1)[key], first[held]
    else:
        _, first, row = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return number[row], first[order].astype(np.int64)
