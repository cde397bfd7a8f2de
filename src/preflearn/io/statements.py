"""From a table with a known layout to comparisons: sides, outcomes, labels, items, and sentences about each."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflearn.data.checks import label_array, lock, object_array
from preflearn.data.comparisons import Comparisons
from preflearn.data.item_table import ItemTable, check_items
from preflearn.data.words import side_words, word_value
from preflearn.exceptions import first_few
from preflearn.io import item_features
from preflearn.io.bytes import path_text
from preflearn.io.encode import ItemEncoder
from preflearn.io.item_features import Known
from preflearn.io.layout import Layout
from preflearn.io.objects import table_of
from preflearn.io.outcomes import Outcomes, check_agreement, read_outcomes, read_scores
from preflearn.io.rankings import (
    Rankings,
    check_rankings,
    long_rankings,
    ranking_pairs,
    text_rankings,
    wide_rankings,
)
from preflearn.io.repeats import Asked, without_copies
from preflearn.io.roles import DECIDED, listed
from preflearn.io.scales import Scale
from preflearn.io.table import Table, is_absent, read_table

__all__ = ["Options", "Statements", "compare", "rank"]

MANY, NEARLY_ALL = 20, 0.98  # outcomes, and the share of them on one side that is as good as all
NO_NUMBERS = "outcomes say what the numbers of one column mean, and {} has no such column. Leave out outcomes."
_YES = {"1": True, "true": True, "yes": True, "y": True, "0": False, "false": False, "no": False, "n": False}


class Options(NamedTuple):
    """The options of `read_preferences`."""

    given: dict[str, Any]
    need_outcomes: bool
    lower_wins: bool
    margins: bool
    drop_missing: bool
    drop_self: bool
    scale: bool
    owner: str
    items_name: str = "the items"
    scale_of_outcomes: Scale | None = None
    keep_repeats: bool = False


@dataclass
class Statements:
    """Comparisons before their items are known: items are numbers of ``names``; ``row`` is the row of each."""

    layout: str
    columns: dict[str, str]
    names: list[str]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    outcome: NDArray[np.float64]
    row: NDArray[np.intp]
    weight: NDArray[np.float64] | None = None
    group: NDArray[Any] | None = None
    features: Table | None = None
    named: dict[str, Any] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def with_items(
        self, table: Table, items: Any, options: Options
    ) -> tuple[Comparisons, ItemEncoder | None, list[str]]:
        """Return the comparisons over their items, the encoder, and all sentences."""
        known = self._items(table, items, options)
        told = [*self.told, *known.told]
        rows = np.arange(len(self.names))
        if items is not None and not isinstance(items, ItemEncoder):
            used = [self.names[code] for code in np.unique(np.concatenate([self.first, self.second])).tolist()]
            where = self._where()
            of = path_text(items, options.owner) if isinstance(items, str | os.PathLike) else options.items_name
            found = item_features.find_rows(table, known.row, used, where, of, numbered=known.table.names is None)
            lookup = dict(zip(used, found, strict=True))
            rows = np.array([lookup.get(name, -1) for name in self.names])
            same = np.flatnonzero(rows[self.first] == rows[self.second])
            if len(same):
                one, other = (self.names[side[same[0]]] for side in (self.first, self.second))
                raise table.fail(
                    int(self.row[same[0]]), f'"{one[:60]}" and "{other[:60]}" are the same item. Delete the row.'
                )
        labels, about = self._labels(table)
        data = Comparisons._from_fields(
            items=known.table.values,
            first=rows[self.first],
            second=rows[self.second],
            outcome=self.outcome,
            judges=None,
            names=known.table.names,
            feature_names=known.table.feature_names,
            n_items=known.table.n_items,
            **labels,
        )
        return data, known.encoder, [*told, *about, *item_features.commas(table)]

    def _where(self) -> dict[str, int]:
        """Return the row of the table where each name occurs first."""
        where: dict[str, int] = {}
        both = np.concatenate([self.first, self.second])
        rows = np.concatenate([self.row, self.row])
        order = np.argsort(rows, kind="stable")
        codes, places = np.unique(both[order], return_index=True)
        for code, place in zip(codes.tolist(), places.tolist(), strict=True):
            where[self.names[code]] = int(rows[order[place]])
        return where

    def _items(self, table: Table, items: Any, options: Options) -> Known:
        if items is None:
            names = [self.named.get(name, name) for name in self.names]
            if self.features is not None:
                return item_features.items_of_rows(self.features, names, scale=options.scale)
            return Known(ItemTable(None, lock(object_array(names)), None, len(names)), {}, None, [])
        if isinstance(items, ItemEncoder):
            names = [self.named.get(name, name) for name in self.names]
            if self.features is not None:
                return item_features.items_of_rows(self.features, names, encoder=items)
            return Known(ItemTable(None, lock(object_array(names)), None, len(names)), {}, None, [])
        if isinstance(items, str | os.PathLike):
            given = read_table(path_text(items, options.owner))
        elif isinstance(items, ItemTable):
            return _as_given(items, table)
        else:
            frame = table_of(items, options.owner, "the table of items", pairs=False)
            if frame is None:
                return _as_given(check_items(items, options.owner), table)
            given = frame
        name, without = options.given.get("name"), listed(options.given.get("without"))
        return item_features.known_items(given, self.names, name, without, scale=options.scale)

    def _labels(self, table: Table) -> tuple[dict[str, Any], list[str]]:
        """Return weight, group and judge of every comparison, and sentences about them."""
        labels: dict[str, Any] = {"weight": self.weight, "group": self.group, "judge": None}
        told = []
        for role in ("judge", "group"):
            column = self.columns.get(role)
            if column is not None and labels[role] is None:
                meaning = table.names(column)
                values = [meaning[cell] for cell in table.column(column, role)]
                kept = [values[row] for row in self.row.tolist()]
                labels[role] = label_array(kept)
                told.append(f'{role.capitalize()}s: column "{column}", {len(set(kept))} of them.')
        column = self.columns.get("weight")
        if column is not None:
            weight = table.numbers(column, "weight")
            bad = np.flatnonzero(weight < 0)
            if len(bad):
                raise table.fail(
                    int(bad[0]),
                    f'weight (column "{column}") is negative ({len(bad)} of {len(weight)} rows). Weights count how '
                    "often a comparison was seen: give values >= 0.",
                )
            if not weight.any():
                raise table.refuse(f'all {len(weight)} weights (column "{column}") are zero. Raise some of them.')
            labels["weight"] = weight[self.row] * (1.0 if self.weight is None else self.weight)
            told.append(f'Weights: column "{column}", how many answers each row stands for, {weight.sum():g} in total.')
        return labels, told


def _as_given(items: ItemTable, table: Table) -> Known:
    if items.names is None:
        row = {str(number): number for number in range(items.n_items)}
        return Known(items, row, None, [f"Items: {items.n_items} rows, compared by row number."])
    return Known(items, {str(name): number for number, name in enumerate(items.names)}, None, [])


def compare(table: Table, layout: Layout, options: Options, *, known: bool) -> tuple[Statements, Table]:
    """Return what a table with this layout says, and the table without the rows that were dropped.

    ``known`` is whether there is a table of items: features on the rows are then not used.
    """
    if layout.name.startswith("ranking"):
        if options.scale_of_outcomes is not None:
            raise table.refuse(NO_NUMBERS.format(layout.name))
        about_repeats: list[str] = []
        if "item" not in layout.roles:  # there, an item that is listed again is a mistake
            table = without_copies(table, _asked(layout), about_repeats, keep=options.keep_repeats)
        statements = _rankings(table, layout)
        statements.told += about_repeats
        return statements, table
    if known:
        if layout.name.startswith("features"):
            raise table.refuse(
                "the rows have features and no names, so that a table of items says nothing about them. Leave out the "
                "table of items, or name the items in two columns (first,second)."
            )
        layout = replace(layout, features=())
    roles, told = (
        layout.roles,
        [f"{table.source}: {len(table)} row{'s' if len(table) != 1 else ''} with the layout {layout.name}."],
    )
    used = [*roles.values(), *(column for pair in layout.features for column in (pair.first, pair.second))]
    decided = layout.sides in DECIDED
    repeats: list[str] = []
    if options.need_outcomes:
        table = without_copies(table, _asked(layout), repeats, keep=options.keep_repeats)
    spare = ("weight", "group", "judge", *(("ties",) if decided else ()))  # beside a winner, nothing means no tie
    table = _without_empty(table, {role: roles[role] for role in roles if role not in spare}, options, told)
    sides = ("winner", "loser") if decided else ("first", "second")
    if sides[0] in roles:
        one, other = (table.column(roles[side], side) for side in sides)
        titles = (roles[sides[0]], roles[sides[1]])
        named = table.names(titles[0]) | table.names(titles[1]) if table.values is not None else {}
    else:
        assert layout.sides is not None
        one, other = item_features.row_items(table, layout.features, layout.sides)
        titles, named = layout.sides, {}
    table, one, other = _without_self(table, one, other, options, told)
    pairs = chain.from_iterable(zip(one, other, strict=True))
    codes = {name: number for number, name in enumerate(dict.fromkeys(pairs))}
    first = np.fromiter((codes[name] for name in one), dtype=np.intp, count=len(one))
    second = np.fromiter((codes[name] for name in other), dtype=np.intp, count=len(other))
    statements = Statements(
        layout.name, roles, list(codes), first, second, np.ones(len(one)), np.arange(len(one)), named=named, told=told
    )
    _set_outcomes(statements, table, layout, (one, other), titles, options)
    told += repeats
    if layout.features:
        features, about = item_features.row_features(table, layout.features, (first, second), statements.names)
        statements.features = features
        told += about
    told += item_features.unused(table, used)
    return statements, table


def _asked(layout: Layout) -> Asked:
    """Return which columns of a row ask, and which answer."""
    roles = layout.roles
    if layout.name.startswith("ranking"):
        return Asked((), layout.places or (roles["ranking"],), roles.get("judge"), decided=False)
    decided = layout.sides in DECIDED
    sides = [roles[role] for role in (("winner", "loser") if decided else ("first", "second")) if role in roles]
    answer = [column for source in layout.sources.values() for column in source.values()]
    answer += [roles["ties"]] if "ties" in roles else []
    return Asked(sides, answer, roles.get("judge"), decided=decided and len(sides) == 2)


def _without_empty(table: Table, needed: dict[str, str], options: Options, told: list[str]) -> Table:
    """Leave out rows without a cell that a comparison needs, if that was asked for; ``needed`` are columns by role."""
    if not options.drop_missing:
        return table
    gone = {
        row
        for role, column in needed.items()
        for absent in [{cell for cell in set(table.cells(column)) if is_absent(cell, role)}]
        if absent
        for row, cell in enumerate(table.cells(column))
        if cell in absent
    }
    if not gone:
        return table
    if len(gone) == len(table):
        raise table.refuse(
            f"every row has an empty cell in {first_few(needed.values())}. Name other columns, or fill the cells."
        )
    told.append(f"Dropped: {len(gone)} of {len(table)} rows with an empty cell.")
    return table.take([row for row in range(len(table)) if row not in gone])


def _without_self(
    table: Table, one: list[str], other: list[str], options: Options, told: list[str]
) -> tuple[Table, list[str], list[str]]:
    same = [row for row, (a, b) in enumerate(zip(one, other, strict=True)) if a == b]
    if not same:
        return table, one, other
    if not options.drop_self or len(same) == len(one):
        what = f'"{one[same[0]][:60]}" is set against itself ({len(same)} of {len(one)} rows).'
        if len(same) == len(one):
            raise table.fail(same[0], f"{what} Check that the two sides are different columns.")
        raise table.fail(same[0], f'{what} Delete the rows, or leave out all such rows with self_comparisons="drop".')
    told.append(f"Dropped: {len(same)} of {len(one)} comparisons of an item with itself.")
    gone = set(same)
    keep = [row for row in range(len(one)) if row not in gone]
    return table.take(keep), [one[row] for row in keep], [other[row] for row in keep]


def _set_outcomes(
    statements: Statements,
    table: Table,
    layout: Layout,
    sides: tuple[list[str], list[str]],
    titles: tuple[str, str],
    options: Options,
) -> None:
    told = statements.told
    if options.scale_of_outcomes is not None and not {"winner", "outcome"} & layout.sources.keys():
        raise table.refuse(NO_NUMBERS.format(layout.name))
    if layout.sides in DECIDED:
        ties = _ties(table, layout.roles.get("ties"))
        statements.outcome = np.where(ties, 0.0, 1.0)
        tied = f", except in {int(ties.sum())} ties" if ties.any() else ""
        rows = f"each of {len(ties)} rows" if len(ties) > 1 else "1 row"
        told.append(f'Outcomes: "{titles[0]}" was preferred to "{titles[1]}" in {rows}{tied}.')
        return
    if not layout.sources:
        statements.outcome = np.zeros(len(statements.first))
        told.append("Outcomes: none were read; these are pairs to predict.")
        return
    if "wins" in layout.sources:
        _count_wins(statements, table, layout.roles)
        return
    words = side_words(*titles, layout.sides)
    found: dict[str, Outcomes] = {}
    for source, columns in layout.sources.items():
        if source == "scores":
            found[source] = read_scores(
                table, *columns.values(), lower_wins=options.lower_wins, margins=options.margins
            )
        else:
            given = source in options.given
            found[source] = read_outcomes(
                table,
                columns[source],
                source,
                sides,
                words,
                titles,
                given=given,
                margins=options.margins,
                scale=options.scale_of_outcomes,
            )
    check_agreement(table, found, layout.sources)
    read = found["scores"] if "scores" in found and options.margins else next(iter(found.values()))
    statements.outcome = read.value + 0.0
    if read.share is not None:
        counts = _split_votes(statements, read.share)
    else:
        counts = [float(np.count_nonzero(np.sign(read.value) == sign)) for sign in (1, -1, 0)]
    told.append(
        f'Outcomes: {read.how}. First ("{titles[0]}") won {_short(counts[0])}, second ("{titles[1]}") '
        f"{_short(counts[1])}, ties {_short(counts[2])}."
    )
    decided, most = counts[0] + counts[1], max(counts[:2])
    if decided >= MANY and most >= NEARLY_ALL * decided:
        side = titles[int(counts[1] > counts[0])]
        told.append(
            f'Careful: "{side}" won {"every time" if most == decided else "nearly every time"}. If rows were not '
            "written down by who won, answers depend on the side and say little about the items."
        )


def _split_votes(statements: Statements, share: NDArray[np.float64]) -> list[float]:
    """Turn shares of one vote into two comparisons with weights; return the votes of each side and the ties."""
    weight = np.stack([share, 1.0 - share], axis=1).ravel()
    kept = np.flatnonzero(weight)
    row = kept // 2
    statements.first, statements.second, statements.row = statements.first[row], statements.second[row], row
    statements.outcome, statements.weight = np.where(kept % 2, -1.0, 1.0), weight[kept]
    return [float(share.sum()), float((1.0 - share).sum()), 0.0]


def _short(count: float) -> str:
    return f"{count:.1f}".removesuffix(".0")


def _ties(table: Table, column: str | None) -> NDArray[np.bool_]:
    """Return which rows are ties by a column of yes and no."""
    if column is None:
        return np.zeros(len(table), dtype=bool)
    cells = [cell.casefold() for cell in table.cells(column)]
    if any(word_value(cell, {}) == 0.0 for cell in set(cells)):  # words for results, draw among them
        return np.array([word_value(cell, {}) == 0.0 for cell in cells])
    tied = [_YES.get(cell) if cell else False for cell in cells]
    if None in tied:
        row = tied.index(None)
        raise table.fail(row, f'ties (column "{column}") holds "{cells[row][:60]}". Write yes or no, or 1 or 0.')
    return np.array(tied, dtype=bool)


def _count_wins(statements: Statements, table: Table, roles: dict[str, str]) -> None:
    """Turn counts of wins and ties of a pair into comparisons with weights."""
    counts = [table.numbers(roles[role], role) for role in ("wins_first", "wins_second", "ties") if role in roles]
    for values, role in zip(counts, ("wins_first", "wins_second", "ties"), strict=False):
        bad = np.flatnonzero(values < 0)
        if len(bad):
            raise table.fail(
                int(bad[0]), f'{role} (column "{roles[role]}") is negative. Counts of wins are 0 or more: correct it.'
            )
    n_rows = len(table)
    weight = np.stack(counts, axis=1).ravel()
    row = np.repeat(np.arange(n_rows), len(counts))
    outcome = np.tile([1.0, -1.0, 0.0][: len(counts)], n_rows)
    kept = weight > 0
    if not kept.any():
        raise table.refuse("all counts of wins are zero, so nothing was compared. Give some that are not.")
    statements.first, statements.second = statements.first[row[kept]], statements.second[row[kept]]
    statements.row, statements.outcome, statements.weight = row[kept], outcome[kept], weight[kept]
    sums = [f"{values.sum():g}" for values in counts]
    tied = f", ties {sums[2]}" if len(sums) > 2 else ""
    titles = roles.get("first", "first"), roles.get("second", "second")
    statements.told.append(
        f'Outcomes: columns "{roles["wins_first"]}" and "{roles["wins_second"]}" count wins, used as weights. First '
        f'("{titles[0]}") won {sums[0]}, second ("{titles[1]}") {sums[1]}{tied}.'
    )


def _rankings(table: Table, layout: Layout) -> Statements:
    roles = dict(layout.roles)
    used = [*roles.values(), *layout.places]
    if layout.places:
        rankings = wide_rankings(table, layout.places)
    elif "item" in roles:
        by = [roles[role] for role in ("ranking", "group", "judge") if role in roles]
        rankings = long_rankings(table, roles["item"], roles["place"], by)
    else:
        rankings = text_rankings(table, roles["ranking"])
    columns = roles | ({"ranking": ",".join(layout.places)} if layout.places else {})
    statements = rank(table, rankings, layout.name, columns, [])
    if table.values is not None:
        for column in [roles["item"]] if "item" in roles else layout.places:
            statements.named |= table.names(column)
    statements.told += item_features.unused(table, used)
    return statements


def rank(table: Table, rankings: Rankings, layout: str, columns: dict[str, str], names: list[str]) -> Statements:
    """Return the pairs of rankings; ``names`` are items that need not occur in any."""
    check_rankings(table, rankings)
    pairs = ranking_pairs(rankings)
    row = np.array(rankings.row)[pairs.ranking]
    n_ties = int(np.count_nonzero(pairs.outcome == 0))
    kept = "neighbouring places only, as all pairs would be too many" if pairs.adjacent else "all pairs of each ranking"
    told = [
        f"{table.source}: {len(rankings.ranks)} rankings of {len(pairs.names)} items ({layout}).",
        f"Outcomes: {rankings.how}. {len(row)} comparisons, {kept}; ties {n_ties}.",
    ]
    weight = None if rankings.weight is None else np.array(rankings.weight)[pairs.ranking]
    statements = Statements(
        layout,
        columns,
        list(dict.fromkeys([*pairs.names, *names])),
        pairs.first,
        pairs.second,
        pairs.outcome,
        row,
        weight=weight,
        group=pairs.ranking,
        told=told,
    )
    if weight is not None and not weight.all():
        raise table.refuse("some rankings have the count 0. Delete their lines.")
    return statements
