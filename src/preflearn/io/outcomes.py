"""Who won: names, words for the sides, words for ties, numbers, shares, scores and results such as 1-0."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflearn.data.sides import RESULTS, normal, side_words, sign_value, word_value
from preflearn.exceptions import DataError, Note, Place, Setting, Text, first_few
from preflearn.io.columns import Cells
from preflearn.io.layout import Layout
from preflearn.io.read_options import Options, Scale, stated
from preflearn.io.table import LEAVE_OUT, Table, is_absent, numbers_of
from preflearn.table_format import plural

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


MANY, NEARLY_ALL = 20, 0.98  # outcomes, and the share of them on one side that is as good as all
_YES = {"1": True, "true": True, "yes": True, "y": True, "0": False, "false": False, "no": False, "n": False}


def no_numbers(what: str, source: str) -> DataError:
    """Return the error about a scale that was stated for data that have no column of numbers."""
    return DataError(code="outcomes-without-numbers", where=Place(source)).says(
        Setting("outcomes") + f" says what the numbers of one column mean, and {what} has no such column",
        "Leave it out",
    )


class Outcomes(NamedTuple):
    """Outcomes, positive if first won, and how they were read; ``share`` of one vote for the first, if it is split."""

    value: NDArray[np.float64]
    how: str  # a Note where its kind matters
    share: NDArray[np.float64] | None = None


class Answers(NamedTuple):
    """Outcomes of comparisons and a note about each; ``row`` and ``weight`` where a row makes more than one."""

    outcome: NDArray[np.float64]
    notes: list[str]
    row: NDArray[np.intp] | None = None
    weight: NDArray[np.float64] | None = None


def read_answers(
    table: Table, layout: Layout, sides: tuple[Cells, Cells], titles: tuple[str, str], options: Options
) -> Answers:
    """Return who won in each row; ``titles`` are what the two sides are called in notes."""
    scale = options.scale_of_outcomes
    if scale is not None and not {"winner", "outcome"} & layout.sources.keys():
        raise no_numbers(layout.name, table.source)
    if layout.decided:
        ties = _ties(table, layout.roles.get("ties"))
        tied = f", except in {table.number(ties)} ties" if ties.any() else ""
        rows = f"each of {table.n_rows:,} rows" if table.n_rows > 1 else "1 row"
        note = f'Outcomes: "{titles[0]}" was preferred to "{titles[1]}" in {rows}{tied}.'
        return Answers(np.where(ties, 0.0, 1.0), [note])
    if not layout.sources:
        return Answers(np.zeros(len(table)), ["Outcomes: none were read; these are pairs to predict."])
    if "wins" in layout.sources:
        return _count_wins(table, layout.roles)
    words = side_words(*titles, layout.sides)
    if layout.format is not None:
        words |= layout.format.words
        if scale is None and layout.format.scale is not None:
            scale = layout.format.scale._replace(why=f"as in files of {layout.format.name}, ")
    found: dict[str, Outcomes] = {}
    for source, columns in layout.sources.items():
        if source == "scores":
            one, other = columns.values()
            value = table.difference(*((other, one) if options.lower_wins else (one, other)), role="score")
            which = "lower" if options.lower_wins else "higher"
            sizes = "; differences are kept as margins" if options.margins else ""
            how = f'columns "{one}" and "{other}" are scores: the {which} wins, equal is a tie{sizes}'
            found[source] = Outcomes(value if options.margins else np.sign(value), how)
        else:
            column, given = columns[source], source in options.given
            found[source] = _read_column(
                table, column, source, sides, words, titles, given=given, margins=options.margins, scale=scale
            )
    _check_agreement(table, found, layout.sources)
    read = found["scores"] if "scores" in found and options.margins else next(iter(found.values()))
    if read.share is not None:
        votes = np.stack([read.share, 1.0 - read.share], axis=1)
        total = votes.sum(axis=0) if table.times is None else table.times @ votes
        notes = _counted(read.how, titles, [*total.tolist(), 0.0])
        kept = np.flatnonzero(votes)
        return Answers(np.where(kept % 2, -1.0, 1.0), notes, kept // 2, votes.ravel()[kept])
    counts = [float(table.number(np.sign(read.value) == sign)) for sign in (1, -1, 0)]
    return Answers(read.value + 0.0, _counted(read.how, titles, counts))


def _counted(how: str, titles: tuple[str, str], counts: list[float]) -> list[str]:
    """Return notes on how outcomes were read and how often each side won."""
    won = [f"{count:,.1f}".removesuffix(".0") for count in counts]
    text = f'Outcomes: {how}. First ("{titles[0]}") won {won[0]}, second ("{titles[1]}") {won[1]}, ties {won[2]}.'
    notes: list[str] = [Note(text, how.code) if isinstance(how, Note) else text]
    decided, most = counts[0] + counts[1], max(counts[:2])
    if decided >= MANY and most >= NEARLY_ALL * decided:
        side = titles[int(counts[1] > counts[0])]
        notes.append(
            f'Careful: "{side}" won {"every time" if most == decided else "nearly every time"}. Unless the winner '
            "was always written first, the side decides the answers, and they say little about the items."
        )
    return notes


def _ties(table: Table, column: str | None) -> NDArray[np.bool_]:
    """Return which rows are ties by a column of yes and no."""
    if column is None:
        return np.zeros(len(table), dtype=bool)
    cells = table.cells(column).changed(str.casefold)
    words = [word_value(cell, {}) == 0.0 for cell in cells.distinct]
    if any(words):  # words for results, draw among them
        return np.array(words)[cells.code]
    odd = next((cell for cell in cells.distinct if cell and cell not in _YES), None)
    if odd is not None:
        raise table.fail(cells.index(odd), code="tie-not-yes-or-no").says(
            f'ties (column "{column}") holds "{odd[:60]}"', "Write yes or no, or 1 or 0"
        )
    return np.array([bool(cell) and _YES[cell] for cell in cells.distinct])[cells.code]


def _count_wins(table: Table, roles: dict[str, str]) -> Answers:
    """Return counts of wins and ties of a pair as comparisons with weights."""
    counted = [role for role in ("wins_first", "wins_second", "ties") if role in roles]
    counts = [table.numbers(roles[role], role) for role in counted]
    for values, role in zip(counts, counted, strict=True):
        bad = np.flatnonzero(values < 0)
        if len(bad):
            raise table.fail(int(bad[0]), code="wins-negative").says(
                f'{role} (column "{roles[role]}") is negative', "Counts of wins are 0 or more: correct it"
            )
    weight = np.stack(counts, axis=1).ravel()
    kept = np.flatnonzero(weight > 0)
    if not len(kept):
        raise table.refuse(code="all-wins-zero").says(
            "all counts of wins are zero, so nothing was compared", "Give some that are not"
        )
    sums = [f"{(values if table.times is None else table.times * values).sum():g}" for values in counts]
    tied = f", ties {sums[2]}" if len(sums) > 2 else ""
    titles = roles.get("first", "first"), roles.get("second", "second")
    note = (
        f'Outcomes: columns "{roles["wins_first"]}" and "{roles["wins_second"]}" count wins, used as weights. First '
        f'("{titles[0]}") won {sums[0]}, second ("{titles[1]}") {sums[1]}{tied}.'
    )
    outcome = np.array([1.0, -1.0, 0.0])[kept % len(counts)]
    return Answers(outcome, [note], kept // len(counts), weight[kept])


def _read_column(
    table: Table,
    column: str,
    role: str,
    sides: tuple[Cells, Cells],
    words: Mapping[str, float],
    titles: tuple[str, str],
    *,
    given: bool,
    margins: bool,
    scale: Scale | None = None,
) -> Outcomes:
    """Return the outcomes in a column of names, words or numbers; its ``role`` settles what could be either."""
    cells = table.column(column, role)
    distinct = cells.distinct
    numeric = numbers_of(sorted(distinct), table.delimiter) if distinct else None
    if scale is not None:
        return _on_scale(table, column, table.numbers(column, "outcome"), scale, margins)
    if numeric is not None and not np.isnan(numeric).any():
        named = bool(_by_name(cells, sides).all())
        if role == "winner" and not named:
            return _side_numbers(table, column, cells, sides)
        if not named or (role == "outcome" and set(numeric.tolist()) <= _UNIT):
            return _numbers(table, column, titles, given, margins)
    return _names_and_words(table, column, role, cells, sides, words, margins)


def _names_and_words(
    table: Table,
    column: str,
    role: str,
    cells: Cells,
    sides: tuple[Cells, Cells],
    words: Mapping[str, float],
    margins: bool,
) -> Outcomes:
    meaning = {cell: word_value(cell, words) for cell in cells.distinct}
    if role == "outcome":
        meaning |= {cell: _TRUTH[cell.casefold()] for cell in meaning if cell.casefold() in _TRUTH}
    if any(value is None for value in meaning.values()):  # numbers beside words, such as 1, -1 and tie
        meaning |= _numbers_beside_words([cell for cell, value in meaning.items() if value is None])
    by_word = [meaning[cell] for cell in cells.distinct]
    values = np.array([np.nan if value is None else value for value in by_word])[cells.code]
    values[cells.same(sides[1])] = -1.0
    values[cells.same(sides[0])] = 1.0
    unread = np.flatnonzero(np.isnan(values)).tolist()
    if unread:
        # Of numbers with a word among them, the word is the mistake.
        row = next((row for row in unread if numbers_of([cells[row]], table.delimiter) is None), unread[0])
        folded = {sides[0][row].casefold(): sides[0][row], sides[1][row].casefold(): sides[1][row]}
        alike = folded.get(cells[row].casefold())
        hint = f'. "{alike}" is written differently' if alike else ""
        raise table.fail(row, code="outcome-not-understood").says(
            f'{role} "{cells[row][:60]}" is neither "{sides[0][row][:60]}" nor "{sides[1][row][:60]}" '
            f"({plural(table.number(np.isnan(values)), 'such row')}){hint}",
            f"Write {_ACCEPTED}",
            *([LEAVE_OUT] if is_absent(cells[row], role) else []),
        )
    by_name = np.count_nonzero(_by_name(cells, sides))
    kind = "names" if by_name == len(cells) else "words" if not by_name else "names and words"
    own = "; win and loss are those of the first side" if RESULTS.keys() & {normal(cell) for cell in meaning} else ""
    graded = {cell: abs(sign_value(cell) or 0.0) for cell in meaning}
    if max(graded.values()) > 1:  # A>>B
        if margins:
            values = values * np.array([graded[cell] or 1.0 for cell in cells.distinct])[cells.code]
        own += (
            "; >> counts 2 and > counts 1, kept as margins" if margins else "; >> counts like >: only the side is used"
        )
    return Outcomes(values, f'column "{column}" says who won ({kind}{own})')


def _by_name(cells: Cells, sides: tuple[Cells, Cells]) -> NDArray[np.bool_]:
    """Return in which rows one of the two sides is named."""
    return cells.same(sides[0]) | cells.same(sides[1])


def _numbers_beside_words(cells: list[str]) -> dict[str, float]:
    """Return what 1 and -1, 1 and 2 or 1 and 0 mean in a column that has words for ties."""
    numbers = {cell: float(cell) for cell in cells if _SMALL.fullmatch(cell)}
    for losing in ((-1.0,), (2.0,), (0.0,), (-1.0, 0.0)):
        if set(numbers.values()) <= {1.0, *losing}:
            second = losing[0]
            return {cell: 1.0 if v == 1 else -1.0 if v == second else 0.0 for cell, v in numbers.items()}
    return {}


def _side_numbers(table: Table, column: str, cells: Cells, sides: tuple[Cells, Cells]) -> Outcomes:
    """Return outcomes of a column called winner that holds numbers which are no names."""
    values = table.numbers(column, "winner")
    distinct = set(values.tolist())
    if distinct <= {1.0, 1.5, 2.0} and len(distinct) > 1:
        return _on_scale(table, column, values, Scale(1.0, 2.0, ends=True), margins=False)
    if distinct == {-1.0, 1.0} or distinct == {-1.0, 0.0, 1.0}:
        return Outcomes(values, f'column "{column}": 1 is the first side, -1 the second')
    if distinct <= _UNIT or distinct <= {0.0, 1.0, 2.0}:
        cure: Text = "Write first, second or tie instead of the numbers"
        if 2.0 not in distinct:
            one, other = stated(Scale(1, 0, ends=True)), stated(Scale(0, 1, ends=True))
            cure = "If 1 says that the first side won, use " + one + " and if 0 does, use " + other
        raise table.refuse(code="winner-numbers-unclear").says(
            f'column "{column}" holds {_listed(sorted(distinct))}, and it is not clear which side that is', cure
        )
    odd = int(np.flatnonzero(~_by_name(cells, sides))[0])
    raise table.fail(odd, code="winner-name-unknown").says(
        f'winner "{cells[odd]}" is neither "{sides[0][odd][:60]}" nor "{sides[1][odd][:60]}"', f"Write {_ACCEPTED}"
    )


def _numbers(table: Table, column: str, titles: tuple[str, str], given: bool, margins: bool) -> Outcomes:
    values = table.numbers(column, "outcome")
    distinct = set(values.tolist())
    name = normal(column)
    if distinct <= {0.0, 0.5, 1.0} and (0.5 in distinct or len(distinct) == 2):
        if not given and name not in (_POINTS if 0.5 in distinct else _SHARES):
            raise _which_side(table, column, values, titles)
        half = ", 0.5 a tie" if 0.5 in distinct else ""
        how = f'column "{column}" is the share of the win of the first side: 1 it won, 0 it lost{half}'
        return Outcomes(2.0 * values - 1.0, Note(how, "outcome-is-a-share"))
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
    beyond = (share < -1e-9) | (share > 1 + 1e-9)
    outside = np.flatnonzero(beyond)
    if len(outside):
        raise table.fail(int(outside[0]), code="outcome-outside-scale").says(
            f"outcome {values[outside[0]]:g} is outside the scale from {scale.first:g} (first) to "
            f"{scale.second:g} (second) ({plural(table.number(beyond), 'such row')})",
            "Correct it, or give the ends of the scale",
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
        return table.refuse(code="sign-unclear").says(
            f"{head}: does a positive number mean the first side or the second?",
            f'If positive is the first ("{titles[0]}"), use '
            + stated(always)
            + f' and if it is the second ("{titles[1]}"), use '
            + stated(Scale(-1.0, 1.0, ends=False)),
        )
    ends = float(np.floor(low)), float(np.ceil(high))
    if ends[0] == ends[1]:
        ends = min(0.0, ends[0] - 1), ends[1]
    one, other = Scale(*ends, ends=True), Scale(*ends[::-1], ends=True)
    codes = len(held) == 3 and all(value.is_integer() for value in held)
    words = (
        " If the numbers are codes, not a scale, write first, second or tie instead of the numbers." if codes else ""
    )
    return table.refuse(code="scale-unclear").says(
        f"{head}, no negative numbers: which of these mean that the second side won?",
        f'Say which number is a clear win of the first ("{titles[0]}") and which of the second ("{titles[1]}"), as in '
        + stated(one)
        + " or the other way round, "
        + stated(other)
        + f" (halfway is a tie, numbers between are shares of one vote).{words} If the first side won every time, use "
        + stated(always),
    )


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values[:5]) + (", ..." if len(values) > 5 else "")


def _check_agreement(table: Table, found: Mapping[str, Outcomes], columns: Mapping[str, Mapping[str, str]]) -> None:
    """Raise if two readings of who won contradict each other in a row; ``columns`` say which to name for each."""
    (one, read), *others = found.items()
    for other, again in others:
        wrong = np.sign(read.value) != np.sign(again.value)
        odd = np.flatnonzero(wrong)
        if len(odd):
            raise table.fail(int(odd[0]), code="columns-disagree").says(
                f"the {one} ({first_few(columns[one].values())}) and the {other} "
                f"({first_few(columns[other].values())}) disagree on who won ({table.number(wrong)} of {table.n_rows} "
                "rows)",
                "Choose one: " + Setting("columns", columns[one]) + " or " + Setting("columns", columns[other]),
            )
