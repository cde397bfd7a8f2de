"""Who won: names, words for the sides, words for ties, numbers, shares, scores and results such as 1-0."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflearn.data._roles import override
from preflearn.data._tables import LEAVE_OUT, Table, is_absent, normal, numbers_of, such
from preflearn.exceptions import first_few

__all__ = ["Outcomes", "check_agreement", "read_outcomes", "read_scores", "side_words", "word_value"]

_TIES = frozenset(
    (
        *("tie", "ties", "tied", "draw", "drawn", "equal", "same", "both", "neither", "even", "half"),
        *("bothbad", "bothgood", "tiebothbad", "tiebothgood", "nopreference", "nopref", "stalemate"),
        *("bothequal", "equallygood", "equallybad", "aboutthesame", "bothareequal", "tiegame"),
    )
)
_TIE_MARKS = frozenset(("=", "1/2", "½", "0.5", "1/2-1/2", "½-½", "0.5-0.5", ".5"))
_FIRST = ("first", "left", "firstitem", "leftitem", "item1", "option1", "side1", "firstwins", "leftwins")
_SECOND = ("second", "right", "seconditem", "rightitem", "item2", "option2", "side2", "secondwins", "rightwins")
# Letters and numbers mean a side only beside columns that are called so.
_SHORT = {
    ("home", "away"): {"h": 1.0, "a": -1.0, "w": 1.0, "l": -1.0, "d": 0.0, "x": 0.0, "homewin": 1.0, "awaywin": -1.0},
    ("home", "visitor"): {"h": 1.0, "v": -1.0, "w": 1.0, "l": -1.0, "d": 0.0, "x": 0.0},
    ("white", "black"): {"w": 1.0, "b": -1.0, "d": 0.0},
    ("left", "right"): {"l": 1.0, "r": -1.0, "a": 1.0, "b": -1.0},
}
_LETTERS = {"a": 1.0, "b": -1.0, "w": 1.0, "l": -1.0, "d": 0.0}
# What happened to the first side.
_RESULTS = {"win": 1.0, "won": 1.0, "wins": 1.0, "loss": -1.0, "lost": -1.0, "lose": -1.0, "defeat": -1.0}
_SIGNS = re.compile(r"\W*([ab])\s*(>+|<+|=+)\s*([ab])\W*")  # A>B, A>>B, A=B
_RESULT = re.compile(r"(\d{1,6})\s*[-:\u2013]\s*(\d{1,6})")
_TRUTH = {"true": 1.0, "false": -1.0}  # of an outcome: the first side won or lost
_SMALL = re.compile(r"[+-]?[0-9](\.0*)?")
_ACCEPTED = "the winner's name, first or second, left or right, tie or draw, or a number (+ first, - second, 0 tie)"
_UNIT = frozenset((-1.0, -0.5, 0.0, 0.5, 1.0))


class Outcomes(NamedTuple):
    """Outcomes, positive if first won, and how they were read."""

    value: NDArray[np.float64]
    how: str
    guessed: bool = False


def word_value(text: str, words: Mapping[str, float]) -> float | None:
    """Return what a word says: 1 first, -1 second, 0 tie; None if nothing."""
    if text in _TIE_MARKS:
        return 0.0
    plain = normal(text)
    if plain in words:
        return words[plain]
    if plain in _TIES:
        return 0.0
    signs = _SIGNS.fullmatch(text.casefold())
    if signs and signs[1] != signs[3]:
        return {">": 1.0, "<": -1.0, "=": 0.0}[signs[2][0]] * (1.0 if signs[1] == "a" else -1.0) + 0.0
    result = _RESULT.fullmatch(text.strip())
    return float(np.sign(int(result[1]) - int(result[2]))) if result else None


def side_words(first: str = "first", second: str = "second", sides: tuple[str, str] | None = None) -> dict[str, float]:
    """Return the words for the sides of two columns, whose own names count too."""
    words = dict.fromkeys(_FIRST, 1.0) | dict.fromkeys(_SECOND, -1.0) | _RESULTS
    words |= _SHORT.get(sides or ("", ""), _LETTERS)
    if sides is not None:
        words |= {sides[0]: 1.0, sides[1]: -1.0}
    return words | {normal(first): 1.0, normal(second): -1.0}


def read_outcomes(
    table: Table,
    column: str,
    role: str,
    sides: tuple[list[str], list[str]],
    words: Mapping[str, float],
    *,
    given: bool,
    margins: bool,
) -> Outcomes:
    """Return the outcomes in a column of names, words or numbers.

    ``role`` is "winner" or "outcome": it settles what numbers mean where they could also be names.
    """
    cells = table.column(column, role)
    distinct = set(cells)
    numeric = numbers_of(sorted(distinct), table.delimiter) if distinct else None
    if numeric is not None and not np.isnan(numeric).any():
        named = all(cell in pair for cell, *pair in zip(cells, *sides, strict=True))
        if role == "winner" and not named:
            return _side_numbers(table, column, cells, sides)
        if not named or (role == "outcome" and set(numeric.tolist()) <= _UNIT):
            return _numbers(table, column, given, margins)
    return _names_and_words(table, column, role, cells, sides, words)


def _names_and_words(
    table: Table,
    column: str,
    role: str,
    cells: list[str],
    sides: tuple[list[str], list[str]],
    words: Mapping[str, float],
) -> Outcomes:
    meaning = {cell: word_value(cell, words) for cell in set(cells)}
    if role == "outcome":
        meaning |= {cell: _TRUTH[cell.casefold()] for cell in meaning if cell.casefold() in _TRUTH}
    if any(value is None for value in meaning.values()):  # numbers beside words, such as 1, -1 and tie
        meaning |= _numbers_beside_words([cell for cell, value in meaning.items() if value is None])
    values = [
        1.0 if cell == one else -1.0 if cell == other else meaning[cell]
        for cell, one, other in zip(cells, *sides, strict=True)
    ]
    if None in values:
        unread = [row for row, value in enumerate(values) if value is None]
        # Of numbers with a word among them, the word is the mistake.
        row = next((row for row in unread if numbers_of([cells[row]], table.delimiter) is None), unread[0])
        folded = {sides[0][row].casefold(): sides[0][row], sides[1][row].casefold(): sides[1][row]}
        alike = folded.get(cells[row].casefold())
        hint = f' "{alike}" is written differently.' if alike else ""
        raise table.fail(
            row,
            f'{role} "{cells[row][:60]}" is neither "{sides[0][row][:60]}" nor "{sides[1][row][:60]}" '
            f"({such(len(unread), 'row')}).{hint} Write {_ACCEPTED}{LEAVE_OUT if is_absent(cells[row], role) else ''}.",
        )
    by_name = sum(cell in pair for cell, *pair in zip(cells, *sides, strict=True))
    kind = "names" if by_name == len(cells) else "words" if not by_name else "names and words"
    own = "; win and loss are those of the first side" if _RESULTS.keys() & {normal(cell) for cell in meaning} else ""
    return Outcomes(np.array(values, dtype=np.float64), f'column "{column}" says who won ({kind}{own})')


def _numbers_beside_words(cells: list[str]) -> dict[str, float]:
    """Return what 1 and -1, 1 and 2 or 1 and 0 mean in a column that has words for ties."""
    numbers = {cell: float(cell) for cell in cells if _SMALL.fullmatch(cell)}
    for losing in ((-1.0,), (2.0,), (0.0,), (-1.0, 0.0)):
        if set(numbers.values()) <= {1.0, *losing}:
            second = losing[0]
            return {cell: 1.0 if v == 1 else -1.0 if v == second else 0.0 for cell, v in numbers.items()}
    return {}


def _side_numbers(table: Table, column: str, cells: list[str], sides: tuple[list[str], list[str]]) -> Outcomes:
    """Return outcomes of a column called winner that holds numbers which are no names."""
    values = table.numbers(column, "winner")
    distinct = set(values.tolist())
    if distinct <= {1.0, 2.0} and len(distinct) == 2:
        return Outcomes(np.where(values == 1, 1.0, -1.0), f'column "{column}": 1 is the first side, 2 the second', True)
    if distinct == {-1.0, 1.0} or distinct == {-1.0, 0.0, 1.0}:
        return Outcomes(values, f'column "{column}": 1 is the first side, -1 the second', True)
    if distinct <= _UNIT or distinct <= {0.0, 1.0, 2.0}:
        cure = f"If 1 says that the first side won, use {override({'outcome': column})} or else write first and second."
        if 2.0 in distinct:
            cure = "Write first, second or tie instead of the numbers."
        raise table.refuse(
            f'column "{column}" holds {_listed(sorted(distinct))}, and it is not clear which side that is. {cure}'
        )
    odd = next(row for row, (cell, *pair) in enumerate(zip(cells, *sides, strict=True)) if cell not in pair)
    raise table.fail(
        odd,
        f'winner "{cells[odd]}" is neither "{sides[0][odd][:60]}" nor "{sides[1][odd][:60]}". Write {_ACCEPTED}.',
    )


def _numbers(table: Table, column: str, given: bool, margins: bool) -> Outcomes:
    values = table.numbers(column, "outcome")
    distinct = set(values.tolist())
    if distinct <= {0.0, 0.5, 1.0} and (0.5 in distinct or len(distinct) == 2):
        half = ", 0.5 a tie" if 0.5 in distinct else ""
        how = f'column "{column}" is the share of the win of the first side: 1 it won, 0 it lost{half}'
        return Outcomes(2.0 * values - 1.0, how, True)
    whole = all(value.is_integer() and 0 <= value <= 10 for value in distinct)
    if whole and len(distinct) > 1 and not given:
        raise _no_second_side(table, column, sorted(distinct))
    if not given and all(0 <= value <= 1 for value in distinct) and not all(value.is_integer() for value in distinct):
        raise table.refuse(
            f'column "{column}" holds only numbers from 0 to 1 ({_listed(sorted(distinct))}). If they are shares '
            f"or chances of the first side, subtract 0.5, and if they are margins use {override({'outcome': column})}"
        )
    kept = "kept as margins" if margins else "only the sign is used" if distinct - {-1.0, 0.0, 1.0} else ""
    how = f'column "{column}" is a number: positive if the first side won, negative if the second, 0 a tie'
    return Outcomes(values if margins else np.sign(values), f"{how}{'; ' + kept if kept else ''}")


def _no_second_side(table: Table, column: str, values: list[float]) -> Exception:
    """Return the error for an outcome column of 1, 2, 3, ...: nothing in it is below zero."""
    question = f'column "{column}" holds {_listed(values)}: which of these mean that the second side won?'
    always = f"if the first side won every time, use {override({'outcome': column})}"
    if values == [1.0, 2.0]:
        return table.refuse(f"{question} If 2 does, and 1 the first, use {override({'winner': column})} and {always}")
    middle = (values[0] + values[-1]) / 2
    return table.refuse(
        f"{question} Write first, second or tie instead of the numbers. Or, if they are a scale, subtract its middle "
        f"({middle:g} of a scale from {values[0]:g} to {values[-1]:g}): above 0 the first won, below 0 the second. Or, "
        f"{always}"
    )


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values[:5]) + (", ..." if len(values) > 5 else "")


def read_scores(table: Table, first: str, second: str, *, lower_wins: bool, margins: bool) -> Outcomes:
    """Return the outcomes of scores: the higher wins, or the lower."""
    one, other = (table.numbers(column, "score") for column in (first, second))
    with np.errstate(over="ignore"):
        value = (other - one if lower_wins else one - other) + 0.0
    if not np.isfinite(value).all():
        row = int(np.flatnonzero(~np.isfinite(value))[0])
        raise table.fail(row, "the scores differ by more than a number can hold. Correct them.")
    which = "lower" if lower_wins else "higher"
    kept = "; differences are kept as margins" if margins else ""
    how = f'columns "{first}" and "{second}" are scores: the {which} wins, equal is a tie{kept}'
    return Outcomes(value if margins else np.sign(value), how)


def check_agreement(table: Table, found: Mapping[str, Outcomes], columns: Mapping[str, Mapping[str, str]]) -> None:
    """Raise if two readings of who won contradict each other in a row; ``columns`` say which to name for each."""
    (one, read), *others = found.items()
    for other, again in others:
        odd = np.flatnonzero(np.sign(read.value) != np.sign(again.value))
        if len(odd):
            raise table.fail(
                int(odd[0]),
                f"the {one} ({first_few(columns[one].values())}) and the {other} "
                f"({first_few(columns[other].values())}) disagree on who won ({len(odd)} of {len(table)} rows). Choose "
                f"one: {override(columns[one])} or {override(columns[other])}",
            )
