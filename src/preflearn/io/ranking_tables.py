"""Rankings in tables: one column per place, text such as a > b = c, and one row per item and place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import repeated
from preflearn.data.orders import from_rankings
from preflearn.exceptions import FileNote, first_few
from preflearn.io.table import Table
from preflearn.table_format import plural

MOST_PAIRS = 2_000_000
_STRONG = re.compile("[>≻]{2,}")


class Rankings(NamedTuple):
    """Rankings as lists of ranks, best first; each rank lists its items. ``row`` is the row of the table of each."""

    ranks: list[list[list[str]]]
    row: list[int]
    weight: list[float] | None = None
    how: str = ""


class Pairs(NamedTuple):
    """Comparisons before their items are known: sides are numbers of ``names``, ``row`` is the row of the table."""

    names: list[str]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    outcome: NDArray[np.float64]
    row: NDArray[np.intp]
    weight: NDArray[np.float64] | None = None
    group: NDArray[np.intp] | None = None


def read_rankings(table: Table, roles: Mapping[str, str], places: Sequence[str]) -> Rankings:
    """Return the rankings of a table by its columns of places, of items with their places, or of text."""
    if places:
        return _wide(table, places)
    if "item" in roles:
        by = [roles[role] for role in ("ranking", "group", "judge") if role in roles]
        return _long(table, roles["item"], roles["place"], by)
    return _texts(table, roles["ranking"])


def _wide(table: Table, columns: Sequence[str]) -> Rankings:
    """Return one ranking per row; empty cells are places that nobody took."""
    cells = [table.cells(column) for column in columns]
    ranks = [[[cell] for cell in row if cell] for row in zip(*cells, strict=True)]
    how = f'each row is a ranking, best in column "{columns[0]}", worst in "{columns[-1]}"'
    return Rankings(ranks, list(range(len(table))), how=how)


def _texts(table: Table, column: str) -> Rankings:
    """Return one ranking per cell, such as a > b = c; commas separate where there is no >."""
    cells = table.column(column, "ranking")
    mark = ">" if any(re.search("[>≻]", cell) for cell in cells) else None
    mark = mark or next((m for m in (",", ";", "|") if any(m in cell for cell in cells)), None)
    if mark is None:
        raise table.fail(0, code="ranking-of-one").says(
            f'ranking "{cells[0][:60]}" lists one item only', "Write the items best first: a > b > c"
        )
    split = re.compile("[>≻]+" if mark == ">" else re.escape(mark))
    ranks = []
    for row, cell in enumerate(cells):
        parts = [part.strip() for part in split.split(cell)]
        entries = [[name.strip() for name in re.split("[=~]", part)] if mark == ">" else [part] for part in parts]
        if any(not name for entry in entries for name in entry):
            raise table.fail(row, code="ranking-with-gap").says(
                f'ranking "{cell[:60]}" has a place without an item', "Write it as in a > b = c"
            )
        ranks.append(entries)
    how = f'column "{column}" lists items best first{", = is a tie" if mark == ">" else f", separated by {mark}"}'
    how += strengths_lost(table, column)
    return Rankings(ranks, list(range(len(table))), how=how)


def strengths_lost(table: Table, column: str) -> str:
    """Return a clause if rankings of text have strengths, as in a >> b > c, of which only the order is used."""
    strong = next((found[0] for cell in table.cells(column).distinct if (found := _STRONG.search(cell))), None)
    return f"; {strong} counts like {strong[0]}, as only the order is used" if strong else ""


def _long(table: Table, item: str, place: str, ranking: Sequence[str]) -> Rankings:
    """Return the rankings of rows with an item and its place; ``ranking`` are the columns that tell them apart."""
    items = table.column(item, "item")
    places = table.numbers(place, "place")
    keys = list(zip(*(table.column(column, "ranking") for column in ranking), strict=True)) or [()] * len(table)
    rows: dict[Any, list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    ranks = []
    for members in rows.values():
        by_place: dict[float, list[str]] = {}
        seen: dict[str, int] = {}
        for row in members:
            if seen.setdefault(items[row], row) != row:
                before = f"{table.word} {table.line[seen[items[row]]]}"
                raise table.fail(row, code="item-placed-twice").says(
                    f'"{items[row][:60]}" has a place already ({before})', "List every item once"
                )
            by_place.setdefault(float(places[row]), []).append(items[row])
        ranks.append([by_place[value] for value in sorted(by_place)])
    by = f'; rankings by column "{ranking[0]}"' if ranking else "; all rows are one ranking"
    how = f'column "{place}" is the place of "{item}", 1 best, equal places a tie{by}'
    return Rankings(ranks, [members[0] for members in rows.values()], how=how)


def ranked_pairs(table: Table, rankings: Rankings, layout: str, others: Sequence[str] = ()) -> tuple[Pairs, list[str]]:
    """Return all pairs of each ranking, or neighbours where all are too many, and notes; ``others`` need not occur."""
    check_rankings(table, rankings)
    codes: dict[str, int] = {}
    coded = [[[codes.setdefault(name, len(codes)) for name in rank] for rank in ranks] for ranks in rankings.ranks]
    sizes = [sum(map(len, ranks)) for ranks in coded]
    adjacent = sum(size * (size - 1) // 2 for size in sizes) > MOST_PAIRS
    compared = [number for number, size in enumerate(sizes) if size > 1]
    data = from_rankings([coded[number] for number in compared], len(codes), pairs="adjacent" if adjacent else "all")
    group = np.array(compared)[data.group]
    kept = "neighbouring places only, as all pairs would be too many" if adjacent else "all pairs of each ranking"
    n_ties = int(np.count_nonzero(data.outcome == 0))
    notes = [
        FileNote(table.source, f"{plural(len(coded), 'ranking')} of {plural(len(codes), 'item')} ({layout})."),
        f"Outcomes: {rankings.how}. {plural(len(data), 'comparison')}, {kept}; ties {n_ties}.",
    ]
    weight = None if rankings.weight is None else np.array(rankings.weight)[group]
    if weight is not None and not weight.all():
        raise table.refuse(code="ranking-count-zero").says("some rankings have the count 0", "Delete their lines")
    names = list(dict.fromkeys([*codes, *others]))
    return Pairs(names, data.first, data.second, data.outcome, np.array(rankings.row)[group], weight, group), notes


def check_rankings(table: Table, rankings: Rankings) -> None:
    """Raise for an item that a ranking lists twice."""
    for ranks, row in zip(rankings.ranks, rankings.row, strict=True):
        listed = [name for rank in ranks for name in rank]
        if len(set(listed)) < len(listed):
            raise table.fail(row, code="item-ranked-twice").says(
                f"the ranking lists {first_few(repeated(listed))} more than once", "List every item once"
            )
    if not any(sum(map(len, ranks)) > 1 for ranks in rankings.ranks):
        raise table.refuse(code="no-ranking-of-two").says(
            "no ranking lists two items or more, so nothing is compared", "Give a ranking of two items"
        )
