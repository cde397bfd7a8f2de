"""Comparisons in files that may be larger than memory: their layout is recognised on the head, then rows are counted.

Millions of votes are a few thousand different rows. What reads them is what reads any table, only that each of its rows
stands for several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from preflearn.exceptions import DataError, FileFormatError, Place, first_few
from preflearn.io.chunk_files import list_files
from preflearn.io.counts import Counts, add_all, count_piece, summed
from preflearn.io.formats import Format, fitting_formats
from preflearn.io.layout import Layout, find_layout
from preflearn.io.opening import are_several
from preflearn.io.pieces import PieceFile, open_pieces
from preflearn.io.read_options import Options
from preflearn.io.repeats import telling_columns
from preflearn.io.roles import single
from preflearn.io.table import Table, no_rows, text_table

WHOLE = 1 << 29  # bytes of a single file up to which it is read whole where only that shows whether rows are copies


class Counted(NamedTuple):
    """A table of counts and its layout."""

    table: Table
    layout: Layout


class Likeness(NamedTuple):
    """What the first of several files says that all of them must be like."""

    name: str
    columns: frozenset[str]
    types: dict[str, str]


@dataclass(frozen=True)
class VoteFile:
    """A file whose rows are to be counted, by this process or, as ``seen_as`` its path there, by another.

    Attributes
    ----------
    name : str
        Its path, as messages name it.
    number : int
        Its number among the files.
    wanted : tuple of str
        The columns to count.
    like : Likeness
        What it must be like.
    opened : PieceFile or None
        The file, where it is open already.
    """

    name: str
    number: int
    wanted: tuple[str, ...]
    like: Likeness
    opened: PieceFile | None = None

    def seen_as(self, path: str) -> VoteFile:
        """Return the same file by another path, not opened yet."""
        return replace(self, name=path, opened=None)

    def pieces(self) -> Iterator[Counts]:
        """Yield the counts of pieces of the file; other columns or types than those wanted raise."""
        file = self.opened or open_pieces(self.name)
        if file is None:
            raise _no_votes(self.name, "they are read as tables, and this is none")
        _check_alike(file, self.like, self.wanted)
        for piece in file.read(self.wanted):
            yield count_piece(piece.columns, piece.line, self.number)


Counting = Callable[[Sequence[VoteFile]], Counts | None]  # how files are counted: their sum in the order of the files


def count_in_turn(files: Sequence[VoteFile]) -> Counts | None:
    """Return the counts of files that this process reads, one after the other."""
    return add_all(counts for file in files for counts in file.pieces())


def count_files(path: str, options: Options, counting: Counting = count_in_turn) -> Counted | None:
    """Return the counted rows of files of comparisons; None for a single file that is better read whole."""
    several = are_several(path)
    names = [str(file) for file in list_files(path)] if several else [path]
    try:
        first = open_pieces(names[0])
        found = None if first is None else _head(first, options)
    except DataError:
        if several:
            raise
        return None  # what the whole file says is said of it
    if first is None or found is None:
        if several:
            raise _no_votes(path, "these hold something else, such as rankings or features of the two items")
        return None
    known, layout, wanted = found
    left = tuple(name for name in first.head.columns if name not in wanted)
    small = not several and Path(path).stat().st_size <= WHOLE
    if small and left and telling_columns(first.head, layout):
        return None
    like = Likeness(first.name, frozenset(first.head.columns), first.types)
    files = [VoteFile(name, number, tuple(wanted), like) for number, name in enumerate(names)]
    counts = counting([replace(files[0], opened=first), *files[1:]])
    if counts is None:
        raise no_rows(names[0])
    counts = summed(counts)
    if small and left and np.gcd.reduce(counts.times) > 1:
        return None
    table = _table(path, names, first, counts, wanted)
    layout = find_layout(table, options.given, known, need_outcomes=options.need_outcomes, rankings=False)
    table = replace(table, not_read=left)
    # rows of a ranking are no votes: how many there are says whether it is whole
    return Counted(_listed(table) if "group" in layout.roles else table, layout)


def _no_votes(path: str, why: str) -> FileFormatError:
    return FileFormatError(code="several-files-of-no-votes", where=Place(path)).says(
        f"several files are counted where each row compares two items; {why}", "Join them into one file"
    )


def _head(file: PieceFile, options: Options) -> tuple[Format | None, Layout, list[str]] | None:
    """Return the known format, the layout and the columns to count; None where rows cannot be counted."""
    head = file.head
    known = next(fitting_formats(head, options.given), None)
    if known is not None and (known.rewrite is not None or known.fits is not None):
        return None
    layout = find_layout(head, options.given, known, need_outcomes=options.need_outcomes, rankings=None)
    if layout.is_ranking or layout.features or not layout.side_columns:
        return None
    covariates = [column for one in layout.covariates for column in one.columns]
    used = [*layout.roles.values(), *layout.answer_columns, *covariates, *options.kept(head)]
    if layout.decided and "ties" not in layout.roles:  # a further column may call some rows draws
        used += [column for column in [single(head, "outcome", used)] if column is not None]
    return known, layout, list(dict.fromkeys(used))


def _check_alike(file: PieceFile, first: Likeness, wanted: Sequence[str]) -> None:
    """Raise unless a file has the columns of the first one, with the same types."""
    here, there = set(file.head.columns), first.columns
    where = Place(file.name)
    if here != there:
        lacks, more = sorted(there - here), sorted(here - there)
        what = " and ".join(
            f"{verb} {first_few(columns)}" for verb, columns in (("lacks", lacks), ("has", more)) if columns
        )
        raise FileFormatError(code="piece-columns-differ", where=where).says(
            f"this file {what}, unlike {first.name}", "Give files with the same columns"
        )
    if bool(file.types) != bool(first.types):
        raise FileFormatError(code="piece-of-another-kind", where=where).says(
            f"this is a {'Parquet' if file.types else 'text'} file, and {first.name} is not",
            "Name files of one kind, as in votes/*.parquet",
        )
    for column in wanted:
        one, other = file.types.get(column), first.types.get(column)
        if one != other:
            raise FileFormatError(code="piece-types-differ", where=where).says(
                f'column "{column}" holds {one}, and {other} in {first.name}', "Write them with the same types"
            )


def _table(path: str, names: list[str], first: PieceFile, counts: Counts, wanted: Sequence[str]) -> Table:
    """Return counts as the table that the files would be."""

    def of(some: Counts) -> Table:
        return replace(
            first.head,
            source=path,
            columns=tuple(wanted),
            values=some.columns.__getitem__,
            line=some.line.tolist(),
            times=some.times,
            files=tuple(names),
            file=some.file if len(names) > 1 else None,
            text=dict(some.columns),
        )

    table = of(counts)
    if not table.delimiter:
        return table
    table = text_table(table, wanted)
    return of(summed(replace(counts, columns={name: table.cells(name) for name in wanted})))


def _listed(table: Table) -> Table:
    """Return the table with equal rows listed one after the other."""
    assert table.times is not None
    rows = np.repeat(np.arange(len(table)), table.times)
    return replace(table.take(rows.tolist()), times=None)
