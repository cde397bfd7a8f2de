"""What to ask where the columns of a table do not say it, with a guess by their contents that is never read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from preflearn.data.sides import side_words, word_value
from preflearn.exceptions import Phrase, Place, Setting, first_few
from preflearn.io.roles import ITEM_STEMS, Pair, pairs_of
from preflearn.io.table import Table, numbers_of

LAYOUTS = (
    "winner,loser / first,second,winner / first,second,outcome / home,away,score_home,score_away / a column "
    '"ranking" with a > b > c'
)

_ROWS, _COLUMNS = 2_000, 30  # of a table that are looked at
_MOST = 0.8  # share of the cells that have to fit: a few may be wrong
_SHARED = 0.2  # share of the values of one column that have to occur in another
_FEW = 12  # distinct words of a column of outcomes, at most
_ROLES = {"names": "winner", "words": "outcome", "numbers": "outcome", "sides": "winner"}  # of a column, by what it has
_SCALES = ({-1.0, 1.0}, {-1.0, 0.0, 1.0}, {0.0, 1.0}, {0.0, 0.5, 1.0})


def ask_columns(table: Table, named: dict[str, str]) -> Exception:
    """Return the question about a table without any layout; ``named`` are columns that the person named."""
    columns = table.columns
    if named:  # then there is a header
        return _ask_sides(table, named)
    if len(columns) == 1 and table.is_file:
        return table.error(code="one-column", where=Place(table.source, table.top)).says(
            f'there is one column ("{columns[0][:60]}")',
            "Separate columns by a comma, semicolon, tab or |, and name them in the first line, such as winner,loser",
        )
    if table.is_file and _looks_like_data(table):
        return table.error(code="header-missing", where=Place(table.source, table.top)).says(
            f"{first_few(columns, 6)} look like data, so the header is missing",
            "Add a first line that names the columns, such as "
            f"{'winner,loser' if len(columns) < 3 else 'first,second,winner'}",
        )
    cure = guess(table)
    if cure is None:
        cure = (
            "A table needs two columns with names of items, most of them in both, and one column that says who won: "
            f"{LAYOUTS}. If the table has these, name the columns: "
            + Setting("columns", {"first": "COLUMN", "second": "COLUMN", "winner": "COLUMN"})
        )
    return table.refuse(code="who-won-unclear").says(
        f"the columns {first_few(columns, 12)} do not say who was preferred", cure
    )


def _looks_like_data(table: Table) -> bool:
    """Return whether the first line of a file is no header: a number, or an entry that occurs again below."""
    for column in table.columns:
        if not column:
            continue
        number = numbers_of([column])
        if number is not None and np.isfinite(number[0]):
            return True
        if any(column in table.cells(other)[:1000] for other in table.columns):
            return True
    return False


def _ask_sides(table: Table, named: dict[str, str]) -> Exception:
    """Return the question about columns that were named where the two sides are not found among the others."""
    roles = ", ".join(f'{role} is "{column}"' for role, column in named.items())
    taken = [pair for pair in pairs_of(table.columns) if {pair.first, pair.second} & set(named.values())]
    taken = [pair for pair in taken if pair.stem in ITEM_STEMS]
    columns = first_few(table.columns, 12)
    if "winner" in named and taken:
        one, other = taken[0].first, taken[0].second
        if named["winner"] == other:
            one, other = other, one
        role = next(role for role, column in named.items() if column in (one, other))
        return table.refuse(code="sides-taken").says(
            f'{roles}, so that "{one}" and "{other}" cannot be the two sides, and no other columns of ({columns}) are',
            f"If they are the sides, leave out {role}={named[role]} or name another column for it, and if "
            f'"{one}" always won use ' + Setting("columns", {"winner": one, "loser": other}),
        )
    guessed = guess(table)
    if guessed is None or not all(_names(guessed, role, column) for role, column in named.items()):
        guessed = "Name them too: " + Setting("columns", {"first": "COLUMN", "second": "COLUMN"} | named)
    return table.refuse(code="sides-unclear").says(
        f"{roles}, but the names of the other columns of ({columns}) do not say which are the two sides", guessed
    )


def ask_outcomes(table: Table, named: dict[str, str], sides: Pair) -> Exception:
    """Return the question about two sides where no column says which one was preferred."""
    source = _guess_source(table, (sides.first, sides.second), [sides.first, sides.second, *named.values()])
    if source:
        guessed = next(iter(source.values()))
        cure = f'A guess by its contents: "{guessed}" does. If so, name it: ' + Setting("columns", source)
    else:
        cure = "Add a column winner or outcome, or name it: " + Setting("columns", {"winner": "COLUMN"})
    return table.refuse(code="outcome-column-unclear").says(
        f'"{sides.first}" and "{sides.second}" are the two sides, but the names of the columns '
        f"({first_few(table.columns, 12)}) do not say who was preferred",
        cure
        + " or, if the first side always won, use "
        + Setting("columns", {"winner": sides.first, "loser": sides.second}),
    )


def ask_pair(table: Table, pairs: Sequence[Pair], roles: tuple[str, ...], what: str) -> Exception:
    """Return the question which of several pairs of columns is meant."""
    listed = "; ".join(f'"{pair.first}" and "{pair.second}"' for pair in pairs[:4])
    named = Setting("columns", dict(zip(roles, (pairs[0].first, pairs[0].second), strict=True)))
    return table.refuse(code="several-pairs-of-columns").says(
        f"several pairs of columns could be the {what}: {listed}", "Name one: " + named
    )


def _names(guessed: Phrase, role: str, column: str) -> bool:
    """Return whether a guess gives a column the role that the person named it for."""
    return any(isinstance(part, Setting) and part.value.get(role) == column for part in guessed.parts)


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


def guess(table: Table) -> Phrase | None:
    """Return a sentence on what the columns could be, with how to name them; None if nothing fits."""
    columns = _columns(table)
    ranked = [one for one in columns if sum(">" in cell for cell in one.cells) > _MOST * len(one.cells)]
    if ranked:
        name = ranked[0].name
        return f'A guess: "{name}" holds rankings, best first. If so, use ' + Setting("columns", {"ranking": name})
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
        return _suggestion((one.name, other.name), source, f"they share values such as {first_few(both, 2)}")
    if len(table.columns) == len(columns) == 2 and all(column.values is None for column in columns):
        return _suggestion((columns[0].name, columns[1].name), {}, "there are no others")
    return None


def _guess_source(table: Table, sides: tuple[str, str], used: Sequence[str]) -> dict[str, str]:
    """Return the role and the column that could say which of two known sides won; empty if there is none."""
    columns = _columns(table)
    by_name = {column.name: column for column in columns}
    if not set(sides) <= by_name.keys():
        return {}
    rest = [column for column in columns if column.name not in used]
    return _source(rest, by_name[sides[0]], by_name[sides[1]])


def _named(columns: Sequence[_Column], one: _Column, other: _Column, source: dict[str, str]) -> bool:
    return any(column.name in source.values() and _says(column, one, other) == "names" for column in columns)


def _suggestion(sides: tuple[str, str], source: dict[str, str], why: str) -> Phrase:
    text = f'A guess by the contents: "{sides[0]}" and "{sides[1]}" are the two sides ({why})'
    if source:
        named = Setting("columns", {"first": sides[0], "second": sides[1], **source})
        return f'{text} and "{next(iter(source.values()))}" says who won. If so, use ' + named
    named = Setting("columns", {"winner": sides[0], "loser": sides[1]})
    return f'{text}. If "{sides[0]}" always won, use ' + named + " and if not, add a column that says who won"


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
