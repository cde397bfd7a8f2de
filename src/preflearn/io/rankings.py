"""Rankings in tables: one column per place, text such as a > b = c, one row per item and place, and PrefLib files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflearn.data.words import normal
from preflearn.exceptions import FileFormatError, first_few
from preflearn.io.table import Table

__all__ = ["Rankings", "long_rankings", "place_columns", "preflib_rankings", "ranking_pairs", "text_rankings"]
__all__ += ["wide_rankings"]

MOST_PAIRS = 2_000_000
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_PLACE = re.compile(r"(?:rank|place|pos|position|choice|preference|)(\d+)(?:st|nd|rd|th|)")
_PREFLIB_NAME = re.compile(r"#\s*ALTERNATIVE NAME\s+(\d+)\s*:\s*(.*)")
_PREFLIB_COUNT = re.compile(r"#\s*NUMBER ALTERNATIVES\s*:\s*(\d{1,5})")
_PREFLIB_LINE = re.compile(r"(\d+)\s*[:,]\s*(.*)")


class Rankings(NamedTuple):
    """Rankings as lists of ranks, best first; each rank lists its items. ``row`` is the row of the table of each."""

    ranks: list[list[list[str]]]
    row: list[int]
    weight: list[float] | None = None
    how: str = ""


def place_columns(columns: Sequence[str]) -> list[str]:
    """Return the columns that are the places 1, 2, 3, ... (or 1st, rank1, pos1, first, ...), in order; else none."""
    by_place: dict[int, str] = {}
    for column in columns:
        name = normal(column)
        match = _PLACE.fullmatch(name)
        place = int(match[1]) if match and len(match[1]) < 7 else _ORDINALS.index(name) + 1 if name in _ORDINALS else 0
        if place:
            by_place.setdefault(place, column)
    n_places = next((place - 1 for place in range(1, len(by_place) + 2) if place not in by_place), 0)
    return [by_place[place] for place in range(1, n_places + 1)] if n_places >= 3 else []


def wide_rankings(table: Table, columns: Sequence[str]) -> Rankings:
    """Return one ranking per row; empty cells are places that nobody took."""
    cells = [table.cells(column) for column in columns]
    ranks = [[[cell] for cell in row if cell] for row in zip(*cells, strict=True)]
    how = f'each row is a ranking, best in column "{columns[0]}", worst in "{columns[-1]}"'
    return Rankings(ranks, list(range(len(table))), how=how)


def text_rankings(table: Table, column: str) -> Rankings:
    """Return one ranking per cell, such as a > b = c; commas separate where there is no >."""
    cells = table.column(column, "ranking")
    mark = ">" if any(re.search("[>≻]", cell) for cell in cells) else None
    mark = mark or next((m for m in (",", ";", "|") if any(m in cell for cell in cells)), None)
    if mark is None:
        raise table.fail(0, f'ranking "{cells[0][:60]}" lists one item only. Write the items best first: a > b > c.')
    split = re.compile("[>≻]+" if mark == ">" else re.escape(mark))
    ranks = []
    for row, cell in enumerate(cells):
        parts = [part.strip() for part in split.split(cell)]
        entries = [[name.strip() for name in re.split("[=~]", part)] if mark == ">" else [part] for part in parts]
        if any(not name for entry in entries for name in entry):
            raise table.fail(row, f'ranking "{cell[:60]}" has a place without an item. Write it as in a > b = c.')
        ranks.append(entries)
    how = f'column "{column}" lists items best first{", = is a tie" if mark == ">" else f", separated by {mark}"}'
    return Rankings(ranks, list(range(len(table))), how=how)


def long_rankings(table: Table, item: str, place: str, ranking: Sequence[str]) -> Rankings:
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
                raise table.fail(row, f'"{items[row][:60]}" has a place already ({before}). List every item once.')
            by_place.setdefault(float(places[row]), []).append(items[row])
        ranks.append([by_place[value] for value in sorted(by_place)])
    told = f'; rankings by column "{ranking[0]}"' if ranking else "; all rows are one ranking"
    how = f'column "{place}" is the place of "{item}", 1 best, equal places a tie{told}'
    return Rankings(ranks, [members[0] for members in rows.values()], how=how)


def check_rankings(table: Table, rankings: Rankings) -> None:
    """Raise for an item that a ranking lists twice."""
    for ranks, row in zip(rankings.ranks, rankings.row, strict=True):
        listed = [name for rank in ranks for name in rank]
        if len(set(listed)) < len(listed):
            repeated = [name for name in dict.fromkeys(listed) if listed.count(name) > 1]
            raise table.fail(row, f"the ranking lists {first_few(repeated)} more than once. List every item once.")
    if not any(sum(map(len, ranks)) > 1 for ranks in rankings.ranks):
        raise table.refuse(
            f"none of the {len(rankings.ranks)} rankings lists two items. Give two items in one of them."
        )


class RankedPairs(NamedTuple):
    """Pairs of rankings: names of both sides as numbers, outcomes (1, or 0 for a tie), and the ranking of each."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    outcome: NDArray[np.float64]
    ranking: NDArray[np.intp]
    names: list[str]
    adjacent: bool


def ranking_pairs(rankings: Rankings) -> RankedPairs:
    """Return all pairs of every ranking, or of neighbouring places only where all would be too many."""
    from preflearn.data.orders import from_rankings

    codes: dict[str, int] = {}
    coded = [[[codes.setdefault(name, len(codes)) for name in rank] for rank in ranks] for ranks in rankings.ranks]
    sizes = [sum(map(len, ranks)) for ranks in coded]
    adjacent = sum(size * (size - 1) // 2 for size in sizes) > MOST_PAIRS
    kept = [number for number, size in enumerate(sizes) if size > 1]
    data = from_rankings([coded[number] for number in kept], len(codes), pairs="adjacent" if adjacent else "all")
    assert data.group is not None
    return RankedPairs(data.first, data.second, data.outcome, np.array(kept)[data.group], list(codes), adjacent)


def preflib_rankings(text: str, source: str) -> tuple[Table, Rankings, list[str]]:
    """Return the rankings of a PrefLib file with their counts as weights, and the names of all alternatives.

    The table has no columns: it says on which line a ranking stands.
    """
    names: dict[str, str] = {}
    ranks: list[list[list[str]]] = []
    counts: list[float] = []
    lines: list[int] = []
    for number, line in _preflib_lines(text, names, source):
        where = f"{source}, line {number}"
        match = _PREFLIB_LINE.fullmatch(line)
        if match is None or not match[2].strip():
            raise FileFormatError(
                f'{where}: "{line[:60]}" is not a count and a ranking. Write it as in 3: 1,2,{{4,5}}.'
            )
        if len(match[1]) > 12:
            raise FileFormatError(f"{where}: the count {match[1][:20]} is too large. Correct it.")
        ranks.append([[_alternative(n, names, where) for n in rank] for rank in _preflib_ranks(match[2], where)])
        counts.append(float(match[1]))
        lines.append(number)
    if not ranks:
        raise FileFormatError(f"{source}: there are no rankings below the header. Add lines such as 3: 1,2,{{4,5}}.")
    if not any(counts):
        raise FileFormatError(f"{source}: every ranking has the count 0. Raise some of them.")
    table = Table(source, (), lines, "line", lambda name: [])
    how = f"counts before the rankings are weights, {sum(counts):g} in total; braces are ties"
    return table, Rankings(ranks, list(range(len(ranks))), counts, how), list(dict.fromkeys(names.values()))


def _preflib_lines(text: str, names: dict[str, str], source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with rankings, after the names of the alternatives have been read, in either format."""
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    head = [(number, match) for number, line in lines if (match := _PREFLIB_NAME.match(line))]
    body = [entry for entry in lines if not entry[1].startswith("#")]
    for number, line in lines:
        kind = re.fullmatch(r"#\s*DATA TYPE\s*:\s*(\w+)", line)
        if kind and kind[1].lower() not in ("soc", "soi", "toc", "toi"):
            raise FileFormatError(
                f'{source}, line {number}: the data type is "{kind[1][:20]}", and rankings are soc, soi, toc or toi. '
                "Give a file with rankings."
            )
    for number, match in head:
        _add_name(names, match[1], match[2], f"{source}, line {number}")
    for _, line in lines:
        said = _PREFLIB_COUNT.fullmatch(line)
        if said and not head:  # numbers are the names
            names |= {str(one): str(one) for one in range(1, int(said[1]) + 1)}
    if not head and body and re.fullmatch(r"\d{1,6}", body[0][1]):  # the old format: how many, then their names
        n_names = int(body[0][1])
        for number, line in body[1 : n_names + 1]:
            key, comma, name = line.partition(",")
            if not comma or not key.strip().isdecimal():
                raise FileFormatError(f'{source}, line {number}: "{line[:60]}" is not "number,name". Correct the line.')
            _add_name(names, key.strip(), name, f"{source}, line {number}")
        body = body[n_names + 2 :]  # a line with the numbers of voters and rankings follows the names
    yield from body


def _add_name(names: dict[str, str], key: str, name: str, where: str) -> None:
    name = name.strip() or key
    key = str(int(key)) if len(key) < 10 else key
    if key in names:
        raise FileFormatError(f"{where}: alternative {key} was named already. Name every alternative once.")
    names[key] = f"{name} ({key})" if name in names.values() else name


def _preflib_ranks(text: str, where: str) -> list[list[str]]:
    if not re.fullmatch(r"(\{[^{}]*\}|[^{},]*)(,(\{[^{}]*\}|[^{},]*))*", text.strip()):
        raise FileFormatError(f"{where}: the braces of a tie do not match. Write ties as in 1,{{2,3}},4.")
    ranks = []
    for match in re.finditer(r"\{([^{}]*)\}|[^{},]+", text):
        members = [part.strip() for part in (match[1] if match[1] is not None else match[0]).split(",")]
        members = [member for member in members if member]
        if members:
            ranks.append(members)
    return ranks


def _alternative(number: str, names: dict[str, str], where: str) -> str:
    key = str(int(number)) if number.isdecimal() and len(number) < 10 else number
    if names and key not in names:
        raise FileFormatError(
            f'{where}: "{number[:40]}" is not among the {len(names)} alternatives of the header. Correct the number, '
            "or add a line # ALTERNATIVE NAME."
        )
    return names.get(key, key)
