"""What a table with a known layout says: sides, outcomes and labels of comparisons, and notes about each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.data.comparisons import Comparisons
from preflearn.data.fields import label_array
from preflearn.exceptions import Note, Setting, first_few
from preflearn.io.encode import ItemEncoder
from preflearn.io.item_features import commas, known_items, row_features, row_items, unused
from preflearn.io.layout import Layout
from preflearn.io.outcomes import no_numbers, read_answers
from preflearn.io.ranking_tables import Rankings, check_rankings, read_rankings
from preflearn.io.read_options import Options
from preflearn.io.repeats import Asked, without_copies
from preflearn.io.roles import LABELS
from preflearn.io.table import Table, is_absent

__all__ = ["Statements", "compare", "rank"]


@dataclass(frozen=True)
class Statements:
    """Comparisons before their items are known.

    Items are numbers of ``names``; ``row`` is the row of ``table`` where each comparison stands. ``named`` are the
    names as a data frame has them, and ``features`` those of the items that stand on the rows.
    """

    table: Table
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
    notes: list[str] = field(default_factory=list)

    def with_items(self, items: Any, options: Options) -> tuple[Comparisons, ItemEncoder | None, list[str]]:
        """Return the comparisons over their items, the encoder, and all notes."""
        names = [self.named.get(name, name) for name in self.names]
        known = known_items(items, self.names, names, self.features, options)
        rows = np.arange(len(self.names))
        if known.row is not None:
            where = self._where()
            lookup = known.find_rows(self.table, where)
            rows = np.array([lookup.get(name, -1) for name in self.names])
            same = np.flatnonzero(rows[self.first] == rows[self.second])
            if len(same):
                one, other = (self.names[side[same[0]]] for side in (self.first, self.second))
                raise self.table.fail(
                    int(self.row[same[0]]),
                    f'"{one[:60]}" and "{other[:60]}" are the same item',
                    "Delete the row",
                    code="same-item-in-row",
                )
        labels, about = self._labels()
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
        return data, known.encoder, [*self.notes, *known.notes, *about, *commas(self.table)]

    def cells_of(self, column: str) -> NDArray[Any]:
        """Return what a column says of each comparison."""
        column = self.table.find(column, "the categories")
        cells = self.table.column(column, "category")
        meaning = self.table.names(column)
        return label_array([meaning[cells[row]] for row in self.row.tolist()])

    def _where(self) -> dict[str, int]:
        """Return the row of the table where each name that is compared occurs first."""
        both = np.concatenate([self.first, self.second])
        rows = np.concatenate([self.row, self.row])
        order = np.argsort(rows, kind="stable")
        codes, places = np.unique(both[order], return_index=True)
        return {self.names[code]: row for code, row in zip(codes.tolist(), rows[order[places]].tolist(), strict=True)}

    def _labels(self) -> tuple[dict[str, Any], list[str]]:
        """Return weight and labels of every comparison, and notes about them."""
        table = self.table
        labels: dict[str, Any] = dict.fromkeys(LABELS) | {"weight": self.weight, "group": self.group}
        notes = []
        for role in LABELS:
            column = self.columns.get(role)
            if column is not None and labels[role] is None:
                meaning = table.names(column)
                values = [meaning[cell] for cell in table.column(column, role)]
                kept = [values[row] for row in self.row.tolist()]
                labels[role] = label_array(kept)
                notes.append(f'{role.capitalize()}s: column "{column}", {len(set(kept))} of them.')
        column = self.columns.get("weight")
        if column is not None:
            weight = table.numbers(column, "weight")
            bad = np.flatnonzero(weight < 0)
            if len(bad):
                raise table.fail(
                    int(bad[0]),
                    f'weight (column "{column}") is negative ({len(bad)} of {len(weight)} rows)',
                    "Weights count how often a comparison was seen: give values >= 0",
                    code="row-weight-negative",
                )
            if not weight.any():
                raise table.refuse(
                    f'all {len(weight)} weights (column "{column}") are zero',
                    "Raise some of them",
                    code="all-row-weights-zero",
                )
            labels["weight"] = weight[self.row] * (1.0 if self.weight is None else self.weight)
            total = f"{weight.sum():g} in total"
            notes.append(f'Weights: column "{column}", how many answers each row stands for, {total}.')
        return labels, notes


def compare(table: Table, layout: Layout, options: Options, *, known: bool) -> Statements:
    """Return what a table with this layout says.

    ``known`` is whether there is a table of items: features on the rows are then not used.
    """
    if layout.is_ranking:
        return _rankings(table, layout, options)
    if known:
        if layout.name.startswith("features"):
            raise table.refuse(
                "the rows have features and no names, so that a table of items says nothing about them",
                "Leave out the table of items, or name the items in two columns (first,second)",
                code="items-of-unnamed-rows",
            )
        layout = replace(layout, features=())
    roles = layout.roles
    like = "" if layout.format is None or layout.format.scale is not None else f", as in files of {layout.format.name}"
    notes = [f"{table.source}: {len(table)} row{'s' if len(table) != 1 else ''} with the layout {layout.name}{like}."]
    repeats: list[str] = []
    if options.need_outcomes:
        asked = Asked(
            layout.side_columns, layout.answer_columns, roles.get("judge"), layout.decided and bool(layout.side_columns)
        )
        table = without_copies(table, asked, repeats, keep=options.keep_repeats)
    spare = ("weight", *LABELS, *(("ties",) if layout.decided else ()))  # beside a winner, nothing means no tie
    table = _without_empty(table, {role: roles[role] for role in roles if role not in spare}, options, notes)
    named: dict[str, Any] = {}
    if layout.side_columns:
        titles = layout.side_columns
        one, other = (table.column(column, role) for column, role in zip(titles, layout.side_roles, strict=True))
        if not table.is_file:
            named = table.names(titles[0]) | table.names(titles[1])
    else:
        assert layout.sides is not None
        titles = layout.sides
        one, other = row_items(table, layout.features, titles)
    table, one, other = _without_self(table, one, other, options, notes)
    codes = {name: number for number, name in enumerate(dict.fromkeys(chain(*zip(one, other, strict=True))))}
    first = np.fromiter((codes[name] for name in one), dtype=np.intp, count=len(one))
    second = np.fromiter((codes[name] for name in other), dtype=np.intp, count=len(other))
    answers = read_answers(table, layout, (one, other), titles, options)
    notes += [*answers.notes, *repeats]
    features = None
    if layout.features:
        features, about = row_features(table, layout.features, (first, second), list(codes))
        notes += about
    used = [*roles.values(), *(column for pair in layout.features for column in (pair.first, pair.second))]
    notes += unused(table, [*used, *_category(table, options)])
    row = np.arange(len(table)) if answers.row is None else answers.row
    return Statements(
        table,
        layout.name,
        roles,
        list(codes),
        first[row],
        second[row],
        answers.outcome,
        row,
        answers.weight,
        features=features,
        named=named,
        notes=notes,
    )


def _without_empty(table: Table, needed: dict[str, str], options: Options, notes: list[str]) -> Table:
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
            f"every row has an empty cell in {first_few(needed.values())}",
            "Name other columns, or fill the cells",
            code="every-row-has-gaps",
        )
    notes.append(Note(f"Dropped: {len(gone)} of {len(table)} rows with an empty cell.", "rows-left-out"))
    return table.take([row for row in range(len(table)) if row not in gone])


def _without_self(
    table: Table, one: list[str], other: list[str], options: Options, notes: list[str]
) -> tuple[Table, list[str], list[str]]:
    keep = [row for row, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    n_same = len(one) - len(keep)
    if not n_same:
        return table, one, other
    if not options.drop_self or not keep:
        row = next(row for row, (a, b) in enumerate(zip(one, other, strict=True)) if a == b)
        what = f'"{one[row][:60]}" is set against itself ({n_same} of {len(one)} rows)'
        if not keep:
            raise table.fail(
                row, what, "Check that the two sides are different columns", code="only-self-comparisons-in-rows"
            )
        raise table.fail(
            row,
            what,
            "Delete the rows",
            "leave out all such rows with " + Setting("self_comparisons", "drop"),
            code="self-comparison-in-row",
        )
    text = f"Dropped: {n_same} of {len(one)} comparisons of an item with itself."
    notes.append(Note(text, "self-comparisons-left-out"))
    return table.take(keep), [one[row] for row in keep], [other[row] for row in keep]


def _rankings(table: Table, layout: Layout, options: Options) -> Statements:
    if options.scale_of_outcomes is not None:
        raise no_numbers(layout.name, table.source)
    roles, repeats = dict(layout.roles), list[str]()
    if "item" not in roles:  # there, an item that is listed again is a mistake
        asked = Asked((), layout.places or (roles["ranking"],), roles.get("judge"), decided=False)
        table = without_copies(table, asked, repeats, keep=options.keep_repeats)
    columns = roles | ({"ranking": ",".join(layout.places)} if layout.places else {})
    found = rank(table, read_rankings(table, roles, layout.places), layout.name, columns, [])
    if not table.is_file:
        for column in [roles["item"]] if "item" in roles else layout.places:
            found.named.update(table.names(column))
    used = [*roles.values(), *layout.places, *_category(table, options)]
    found.notes.extend([*unused(table, used), *repeats])
    return found


def _category(table: Table, options: Options) -> list[str]:
    """Return the column that says which category a row belongs to, if one was asked for."""
    return [] if options.by is None else [table.find(options.by, "the categories")]


def rank(table: Table, rankings: Rankings, layout: str, columns: dict[str, str], names: list[str]) -> Statements:
    """Return the pairs of rankings; ``names`` are items that need not occur in any."""
    check_rankings(table, rankings)
    pairs = rankings.pairs()
    row = np.array(rankings.row)[pairs.ranking]
    n_ties = int(np.count_nonzero(pairs.outcome == 0))
    kept = "neighbouring places only, as all pairs would be too many" if pairs.adjacent else "all pairs of each ranking"
    notes = [
        f"{table.source}: {len(rankings.ranks)} rankings of {len(pairs.names)} items ({layout}).",
        f"Outcomes: {rankings.how}. {len(row)} comparisons, {kept}; ties {n_ties}.",
    ]
    weight = None if rankings.weight is None else np.array(rankings.weight)[pairs.ranking]
    if weight is not None and not weight.all():
        raise table.refuse("some rankings have the count 0", "Delete their lines", code="ranking-count-zero")
    known = list(dict.fromkeys([*pairs.names, *names]))
    return Statements(
        table,
        layout,
        columns,
        known,
        pairs.first,
        pairs.second,
        pairs.outcome,
        row,
        weight,
        group=pairs.ranking,
        notes=notes,
    )
