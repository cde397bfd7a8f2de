"""Rows that repeat an earlier one in every column are copies, or further answers.

A table that was pasted twice, or exports that overlap, state every answer more than once. Taken for further answers,
copies make chance certain: what a ranking leaves unexplained grows with their number while its noise does not, and
becomes a circle. Where a judge, a time or an id stands on the rows, equal rows are copies, unless there are no more of
them than judges who are asked at random give, or rows that are alike in everything but the outcome often differ in it:
then the same was asked again. Rows that say only who won may always be answers of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from preflearn.exceptions import DataWarning, Place, Setting, first_few
from preflearn.io.layout import Layout
from preflearn.io.roles import row_columns, says_outcome
from preflearn.io.table import Table

DISAGREEING = 0.1  # if more of the questions asked again got different answers, equal rows are answers too
DEVIATIONS = 3  # more equal rows than chance gives by this many standard deviations are not chance
MANY = 10  # with this many different rows, it is no chance that each occurs equally often
DENSE = 8  # numbers for each row up to which all of them are counted

IntArray = NDArray[np.int64]


def without_copies(table: Table, layout: Layout, notes: list[str], *, keep: bool) -> Table:
    """Return the table with copies of rows counted once, with a warning and a sentence; or a warning alone."""
    if table.not_read:
        return _not_looked_at(table, layout, notes)
    telling = telling_columns(table, layout)
    if table.times is None:
        columns = list(dict.fromkeys([*telling, *layout.side_columns, *layout.answer_columns, *table.columns]))
        code, count = _numbered(table, columns, every=not telling and not keep)
    else:
        code, count = np.arange(len(table)), table.times
    n_rows, times = table.n_rows, int(np.gcd.reduce(count))
    if len(count) == n_rows or (times == 1 and not telling and not keep):
        return table
    repeated = f"{n_rows - len(count):,} of {n_rows:,} rows repeat an earlier one in every column"
    whole = times > 1 and len(count) >= MANY
    if keep:
        notes.append(f"Kept: {repeated}.")
        return table
    if not telling:
        if whole:
            DataWarning(code="table-pasted", where=Place(table.source)).warn(
                f"every row occurs {times} times ({repeated})",
                "No column (such as a judge, a time or an id) shows whether these are copies or further answers, so "
                "all of them count. If the table was pasted more than once, delete the copies: they make results "
                "look much more certain than they are",
            )
        return table
    allowed = count // times if whole else count  # a table that was pasted is as it was before
    if _asked_once(table, layout, telling, code, allowed):
        allowed = np.ones_like(count)
    if np.array_equal(allowed, count):
        notes.append(f"Repeats: {repeated}. They count as further answers: the same may have been asked again.")
        return table
    gone = n_rows - int(allowed.sum())
    if table.times is None:
        occurrence = _occurrence(code)
        copy = int(np.flatnonzero(occurrence >= allowed[code])[0])
        line, of = table.line[copy], table.line[int(np.flatnonzero(code == code[copy])[0])]
        which = f"{table.word} {line} repeats {table.word} {of}"
        kept = table.take(np.flatnonzero(occurrence < allowed[code]).tolist())
    else:
        copy = int(np.flatnonzero(allowed < count)[0])
        which = f"{table.word} {table.line[copy]} occurs {count[copy]} times"
        kept = replace(table, times=allowed)
    what = f"{f'the whole table occurs {times} times, and ' if whole else ''}{gone:,} of {n_rows:,} rows are copies"
    DataWarning(code="rows-repeated", where=Place(table.source)).warn(
        f"{what}: they repeat an earlier row in every column, {first_few(telling)} among them ({which})",
        "Each counts once. If they are further answers, keep them with " + Setting("repeated_rows", "keep"),
    )
    notes.append(f"Left out: {gone:,} of {n_rows:,} rows that are copies of an earlier one.")
    return kept


def telling_columns(table: Table, layout: Layout) -> list[str]:
    """Return the columns that tell answers apart which are otherwise alike: of a judge, a time or an id."""
    given = [*layout.side_columns, *layout.answer_columns]
    judge = [layout.roles["judge"]] if "judge" in layout.roles else []
    telling = [column for column in dict.fromkeys((*judge, *row_columns(table.columns))) if column not in given]
    return [column for column in telling if len(table.cells(column).distinct) > 1]


def _not_looked_at(table: Table, layout: Layout, notes: list[str]) -> Table:
    """Return a table of which only some columns were read, and say where copies of rows could be among them."""
    judge = [layout.roles["judge"]] if "judge" in layout.roles else []
    telling = [*judge, *row_columns(table.not_read)]
    if telling or (table.times is not None and np.gcd.reduce(table.times) > 1):
        notes.append(
            "Repeats: it was not looked whether rows are copies of others, as only the columns that are used were read."
        )
    return table


def _numbered(
    table: Table, columns: Sequence[str], start: IntArray | None = None, *, every: bool = False
) -> tuple[IntArray, IntArray]:
    """Return numbers of rows, equal where columns are, and counts; until all differ (``every``: until one does)."""
    code = np.zeros(len(table), dtype=np.int64) if start is None else start
    count = np.bincount(code)
    for column in columns:
        if len(count) == len(code) or (every and count.min() == 1):
            break
        cells = table.cells(column)
        different = len(cells.distinct)
        code = code * different + cells.code
        if len(count) * different <= DENSE * len(code):  # counting is quicker than sorting
            held = np.bincount(code)
            code, count = (np.cumsum(held > 0) - 1)[code], held[held > 0]
        else:
            _, code, count = np.unique(code, return_inverse=True, return_counts=True)
    return code.astype(np.int64), count.astype(np.int64)


def _occurrence(code: IntArray) -> IntArray:
    """Return how often the number of a row occurred before."""
    order = np.argsort(code, kind="stable")
    ordered = code[order]
    start = np.flatnonzero(np.diff(ordered, prepend=-1))
    place = np.empty(len(code), dtype=np.int64)
    place[order] = np.arange(len(code)) - np.repeat(start, np.diff(start, append=len(code)))
    return place


def _asked_once(table: Table, layout: Layout, telling: Sequence[str], code: IntArray, count: IntArray) -> bool:
    """Return whether equal rows are copies: the same is seldom asked by chance, and seldom got another answer."""
    if count.max() == 1:
        return False
    pair = np.zeros(len(table), dtype=np.int64)
    if layout.side_columns and layout.decided:  # the sides without who of them won
        names: dict[frozenset[str], int] = {}
        sides = zip(*(table.cells(column) for column in layout.side_columns), strict=True)
        pair = np.array([names.setdefault(frozenset(both), len(names)) for both in sides], dtype=np.int64)
    elif layout.side_columns:
        pair, _ = _numbered(table, layout.side_columns)
    row = np.flatnonzero(_occurrence(code) == 0)  # one of each different row
    n_rows = int(count.sum())
    by_chance = (
        n_rows
        * (n_rows - 1)
        / 2
        * _alike(pair[row], own=True)
        * _chance_alike(table, layout.roles.get("judge"), telling, row)
    )
    if float(np.sum(count * (count - 1) / 2)) <= by_chance + DEVIATIONS * by_chance**0.5:
        return False
    answers = {*layout.answer_columns, *layout.side_columns}
    rest = [column for column in table.columns if column not in answers and not says_outcome(column)]
    question, _ = _numbered(table, rest, pair)
    again = np.bincount(question[row], count[code[row]]) > 1
    return float(np.mean(np.bincount(question[row])[again] > 1)) < DISAGREEING


def _chance_alike(table: Table, judge: str | None, telling: Sequence[str], row: IntArray) -> float:
    """Return how likely two rows are alike in the column that tells rows apart best; a judge may be asked again."""
    chance = 1.0
    for column in telling:
        number = _numbered(table, [column])[0][row]
        others = _alike(number, own=False)
        chance = min(chance, _alike(number, own=True) if column == judge and others else others)
    return chance


def _alike(number: IntArray, *, own: bool) -> float:
    """Return how likely it is that two rows drawn at random have the same number; ``own``: drawn with replacement."""
    n, count = len(number), np.bincount(number).astype(np.float64)
    if own:
        return float(np.sum(count**2) / n**2)
    return float(np.sum(count * (count - 1)) / max(n * (n - 1), 1))
