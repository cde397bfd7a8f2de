"""Who won: names, words for the sides, words for ties, numbers, shares, scores and results such as 1-0."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflearn.data.words import RESULTS, normal, word_value
from preflearn.exceptions import first_few
from preflearn.io.roles import override
from preflearn.io.scales import Scale, known_scale, stated
from preflearn.io.table import LEAVE_OUT, Table, is_absent, numbers_of, such

__all__ = ["Outcomes", "check_agreement", "read_outcomes", "read_scores"]

_TRUTH = {"true": 1.0, "false": -1.0}  # of an outcome: the first side won or lost
_SMALL = re.compile(r"[+-]?[0-9](\.0*)?")
_ACCEPTED = "the winner's name, first or second, left or right, tie or draw, or a number (+ first, - second, 0 tie)"
_UNIT = frozenset((-1.0, -0.5, 0.0, 0.5, 1.0))
# Names of a column that say which sign is which side: positive is a win of the first. A "score" from -10 to 10 or a
# "preference" from 1 to 2 may as well count the other way, as sliders from the first side to the second do.
_SIGNED = frozenset(("outcome", "result", "margin", "y"))
# Names of a column that may hold the share of the win, 1 for the first side and 0 for the second; points of chess too.
_SHARES = frozenset(("outcome", "result", "y"))
_POINTS = _SHARES | {"score"}  # if there are halves among them


class Outcomes(NamedTuple):
    """Outcomes, positive if first won, and how they were read; ``share`` of one vote for the first, if it is split."""

    value: NDArray[np.float64]
    how: str
    guessed: bool = False
    share: NDArray[np.float64] | None = None


def read_outcomes(
    table: Table,
    column: str,
    role: str,
    sides: tuple[list[str], list[str]],
    words: Mapping[str, float],
    titles: tuple[str, str],
    *,
    given: bool,
    margins: bool,
    scale: Scale | None = None,
) -> Outcomes:
    """Return the outcomes in a column of names, words or numbers.

    ``role`` is "winner" or "outcome": it settles what numbers mean where they could also be names. ``scale`` is what
    the person said about numbers.
    """
    cells = table.column(column, role)
    distinct = set(cells)
    numeric = numbers_of(sorted(distinct), table.delimiter) if distinct else None
    if scale is not None:
        return _on_scale(table, column, table.numbers(column, "outcome"), scale, margins)
    if numeric is not None and not np.isnan(numeric).any():
        named = all(cell in pair for cell, *pair in zip(cells, *sides, strict=True))
        if role == "winner" and not named:
            return _side_numbers(table, column, cells, sides)
        if not named or (role == "outcome" and set(numeric.tolist()) <= _UNIT):
            return _numbers(table, column, titles, given, margins)
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
    own = "; win and loss are those of the first side" if RESULTS.keys() & {normal(cell) for cell in meaning} else ""
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
    if distinct <= {1.0, 1.5, 2.0} and len(distinct) > 1:
        return _on_scale(table, column, values, Scale(1.0, 2.0, ends=True), margins=False)._replace(guessed=True)
    if distinct == {-1.0, 1.0} or distinct == {-1.0, 0.0, 1.0}:
        return Outcomes(values, f'column "{column}": 1 is the first side, -1 the second', True)
    if distinct <= _UNIT or distinct <= {0.0, 1.0, 2.0}:
        cure = (
            f"If 1 says that the first side won, use {stated(Scale(1, 0, ends=True))} and if 0 does, use "
            f"{stated(Scale(0, 1, ends=True))}"
        )
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


def _numbers(table: Table, column: str, titles: tuple[str, str], given: bool, margins: bool) -> Outcomes:
    values = table.numbers(column, "outcome")
    known = known_scale(table, titles, column, values)
    if known is not None:
        return _on_scale(table, column, values, known, margins)
    distinct = set(values.tolist())
    name = normal(column)
    if distinct <= {0.0, 0.5, 1.0} and (0.5 in distinct or len(distinct) == 2):
        if not given and name not in (_POINTS if 0.5 in distinct else _SHARES):
            raise _which_side(table, column, values, titles)
        half = ", 0.5 a tie" if 0.5 in distinct else ""
        how = f'column "{column}" is the share of the win of the first side: 1 it won, 0 it lost{half}'
        return Outcomes(2.0 * values - 1.0, how, True)
    # A column of 1 alone is one of winners who were written down first.
    if (not given and name not in _SIGNED) or (values.min() >= 0 and not distinct <= {0.0, 1.0}):
        raise _which_side(table, column, values, titles)
    return _on_scale(table, column, values, Scale(1.0, -1.0, ends=False), margins)


def _on_scale(table: Table, column: str, values: NDArray[np.float64], scale: Scale, margins: bool) -> Outcomes:
    """Return outcomes of numbers whose meaning is known.

    Between two ends, numbers are shares of one vote: p log P(first) + (1 - p) log P(second) is what the answer says on
    average, so that a file of probabilities gives the win rates that a file of answers drawn from them gives.
    """
    distinct = set(values.tolist())
    if not scale.ends:
        kept = "kept as margins" if margins else "only the sign is used" if distinct - {-1.0, 0.0, 1.0} else ""
        sides = ("first", "second") if scale.first > 0 else ("second", "first")
        how = (
            f'{scale.why}column "{column}" is a number: positive if the {sides[0]} side won, negative if the '
            f"{sides[1]}, 0 a tie{'; ' + kept if kept else ''}"
        )
        return Outcomes(scale.first * (values if margins else np.sign(values)) + 0.0, how)
    share = (values - scale.second) / (scale.first - scale.second)
    outside = np.flatnonzero((share < -1e-9) | (share > 1 + 1e-9))
    if len(outside):
        raise table.fail(
            int(outside[0]),
            f"outcome {values[outside[0]]:g} is outside the scale from {scale.first:g} (first) to {scale.second:g} "
            f"(second) ({such(len(outside), 'row')}). Correct it, or give the ends of the scale.",
        )
    share = np.where(share < 1e-9, 0.0, np.where(share > 1 - 1e-9, 1.0, share))  # 1.9999999999999998 is 2
    value = 2.0 * share - 1.0
    how = f'{scale.why}column "{column}": {scale.first:g} is the first side, {scale.second:g} the second'
    middle = f"{(scale.first + scale.second) / 2:g}"
    if np.isin(share, (0.0, 0.5, 1.0)).all():
        return Outcomes(value, f"{how}{f', {middle} a tie' if 0.5 in share else ''}")
    if margins:
        return Outcomes(value, f"{how}; numbers between are kept as margins from 1 to -1")
    example = float(values[np.flatnonzero((share > 0) & (share < 1) & (share != 0.5))[0]])
    part = (example - scale.second) / (scale.first - scale.second)
    split = (
        f"{how}; numbers between are shares of one vote ({example:.4g} counts {part:.3g} for the first and "
        f"{1 - part:.3g} for the second)"
    )
    return Outcomes(value, split, share=share)


def _which_side(table: Table, column: str, values: NDArray[np.float64], titles: tuple[str, str]) -> Exception:
    """Return the question of which numbers mean which side, with what was seen and how to answer."""
    low, high = float(values.min()), float(values.max())
    rows = sorted({0, int(values.argmin()), int(values.argmax())})
    seen = ", ".join(f"{table.word} {table.line[row]}: {values[row]:g}" for row in rows)
    held = sorted(set(values.tolist()))
    spread = f"holds {_listed(held)}" if len(held) <= 5 else f"holds numbers from {low:g} to {high:g}"
    head = f'column "{column}" {spread} ({seen})'
    always = Scale(1.0, -1.0, ends=False)
    if low < 0:
        return table.refuse(
            f"{head}: does a positive number mean the first side or the second? If positive is the first "
            f'("{titles[0]}"), use {stated(always)} and if it is the second ("{titles[1]}"), use '
            f"{stated(Scale(-1.0, 1.0, ends=False))}"
        )
    ends = float(np.floor(low)), float(np.ceil(high))
    if ends[0] == ends[1]:
        ends = min(0.0, ends[0] - 1), ends[1]
    one, other = Scale(*ends, ends=True), Scale(*ends[::-1], ends=True)
    codes = len(held) == 3 and all(value.is_integer() for value in held)
    words = " If they are codes and no scale, write first, second or tie instead of the numbers." if codes else ""
    return table.refuse(
        f"{head}, nothing below 0: which of these mean that the second side won? Say which number is a clear win of "
        f'the first ("{titles[0]}") and which of the second ("{titles[1]}"), such as {stated(one)} or the other way '
        f"round, {stated(other)} (halfway is a tie, numbers between are shares of one vote).{words} If the first "
        f"side won every time, use {stated(always)}"
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
