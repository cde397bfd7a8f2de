"""What the columns of a table could be by their contents: a guess for messages, never for reading.

Two columns that share values could be the two sides; a further one that names one of them on each row, or holds a few
words or numbers such as left, tie, -1, could say who won.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from preflearn.data.words import side_words, word_value
from preflearn.exceptions import first_few
from preflearn.io.roles import override
from preflearn.io.table import Table, numbers_of

__all__ = ["guess", "guess_source"]

_ROWS, _COLUMNS = 2_000, 30  # of a table that are looked at
_MOST = 0.8  # share of the cells that have to fit: a few may be wrong
_SHARED = 0.2  # share of the values of one column that have to occur in another
_FEW = 12  # distinct words of a column of outcomes, at most
_ROLES = {"names": "winner", "words": "outcome", "numbers": "outcome", "sides": "winner"}  # of a column, by what it has
_SCALES = ({-1.0, 1.0}, {-1.0, 0.0, 1.0}, {0.0, 1.0}, {0.0, 0.5, 1.0})


class _Column(NamedTuple):
    """The start of a column: its cells, the distinct ones, and their numbers if they are numbers."""

    name: str
    cells: list[str]
    distinct: set[str]
    values: set[float] | None


def _columns(table: Table) -> list[_Column]:
    """Return the columns that can be named and are not empty."""
    found = []
    for name in table.columns[:_COLUMNS]:
        cells = table.cells(name)[:_ROWS]
        distinct = set(cells) - {""}
        if name and "," not in name and distinct:
            numbers = numbers_of(sorted(distinct), table.delimiter)
            values = None if numbers is None else set(numbers[numbers == numbers].tolist())
            found.append(_Column(name, cells, distinct, values))
    return found


def guess(table: Table) -> str | None:
    """Return a sentence on what the columns could be, with how to name them; None if nothing fits."""
    columns = _columns(table)
    ranked = [one for one in columns if sum(">" in cell for cell in one.cells) > _MOST * len(one.cells)]
    if ranked:
        name = ranked[0].name
        return f'A guess: "{name}" holds rankings, best first. If so, use {override({"ranking": name})}'
    found = [
        (one, other, _source(columns, one, other), shared)
        for one, other in combinations(columns, 2)
        if (shared := _shared(one, other))
    ]
    numbers = [pair for pair in found if pair[0].values is not None]
    if any(len(one.distinct) == len(one.cells) > 1 and one.values is None for one in columns):
        numbers = []  # a name of its own on each row: these are facts about single items
    texts = [pair for pair in found if pair[0].values is None]
    certain = [pair for pair in texts or numbers if pair[2]]
    if certain or texts:
        # Of three columns that share values, the one that names a side on each row is the winner.
        one, other, source, shared = max(certain or texts, key=lambda pair: (_named(columns, *pair[:3]), pair[3]))
        both = sorted(one.distinct & other.distinct)
        return _told((one.name, other.name), source, f"they share values such as {first_few(both, 2)}")
    if len(table.columns) == len(columns) == 2 and all(column.values is None for column in columns):
        return _told((columns[0].name, columns[1].name), {}, "there are no others")
    return None


def guess_source(table: Table, sides: tuple[str, str], used: Sequence[str]) -> dict[str, str]:
    """Return the role and the column that could say which of two known sides won; empty if there is none."""
    columns = _columns(table)
    by_name = {column.name: column for column in columns}
    if not set(sides) <= by_name.keys():
        return {}
    rest = [column for column in columns if column.name not in used]
    return _source(rest, by_name[sides[0]], by_name[sides[1]])


def _named(columns: Sequence[_Column], one: _Column, other: _Column, source: dict[str, str]) -> bool:
    return any(column.name in source.values() and _says(column, one, other) == "names" for column in columns)


def _told(sides: tuple[str, str], source: dict[str, str], why: str) -> str:
    text = f'A guess by the contents: "{sides[0]}" and "{sides[1]}" are the two sides ({why})'
    if source:
        named = override({"first": sides[0], "second": sides[1], **source})
        return f'{text} and "{next(iter(source.values()))}" says who won. If so, use {named}'
    named = override({"winner": sides[0], "loser": sides[1]})
    return f'{text}. If "{sides[0]}" always won, use {named} and if not, add a column that says who won'


def _shared(one: _Column, other: _Column) -> float:
    """Return which share of their values two columns have in common, 0 if they cannot be two sides."""
    if (one.values is None) != (other.values is None):
        return 0.0
    if any(value % 1 for column in (one, other) for value in column.values or ()):
        return 0.0  # no numbers of items
    same = sum(a == b for a, b in zip(one.cells, other.cells, strict=True))
    if same > (1 - _MOST) * len(one.cells) or len(one.distinct | other.distinct) < 3:
        return 0.0
    if any(_says(column, one, other) for column in (one, other)):
        return 0.0
    share = len(one.distinct & other.distinct) / min(len(one.distinct), len(other.distinct))
    return share if share >= _SHARED else 0.0


def _source(columns: Sequence[_Column], one: _Column, other: _Column) -> dict[str, str]:
    """Return the role and the column that could say which side won; empty if there is none."""
    found = [(_says(column, one, other), column.name) for column in columns if column not in (one, other)]
    for how in _ROLES:  # names are the surest sign
        named = [name for says, name in found if says == how]
        if named:
            return {_ROLES[how]: named[0]}
    return {}


def _says(column: _Column, one: _Column, other: _Column) -> str | None:
    """Return how a column could say who won, as in the table of roles; None if it does not."""
    full = [(cell, a, b) for cell, a, b in zip(column.cells, one.cells, other.cells, strict=True) if cell]
    if column not in (one, other) and sum(cell in (a, b) for cell, a, b in full) > _MOST * len(full):
        return "names"
    if column.values is not None:
        return "sides" if column.values == {1.0, 2.0} else "numbers" if column.values in _SCALES else None
    if len(column.distinct) > _FEW:
        return None
    words = {name: value for name, value in side_words(one.name, other.name).items() if len(name) > 1}
    read = {cell: word_value(cell, words) for cell in column.distinct}
    fits = sum(read[cell] is not None for cell, _, _ in full) > _MOST * len(full)
    return "words" if fits and any(read.values()) else None
