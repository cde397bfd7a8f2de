"""Tables with features and a ranking of labels, or a class, on each row: what suits one, and what another."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflearn.data.label_graphs import from_label_rankings
from preflearn.data.label_preferences import LabelPreferences
from preflearn.data.sides import normal
from preflearn.data.tables import ItemTable
from preflearn.exceptions import (
    DataError,
    DataWarning,
    FileNote,
    Note,
    Phrase,
    Place,
    Setting,
    first_few,
    nearest_names,
)
from preflearn.io.formats import fitting_formats
from preflearn.io.item_features import ItemEncoder, column_kind, commas, described, fit_encoder
from preflearn.io.layout import find_layout
from preflearn.io.opening import open_source
from preflearn.io.ranking_tables import check_rankings, read_rankings, strengths_lost
from preflearn.io.read_options import Options, listed
from preflearn.io.roles import OF_LABELS, counts_rows, names_rows, numbered_columns, rank_columns, says_class
from preflearn.io.table import LEAVE_OUT, Table, numbers_of
from preflearn.table_format import plural

MOST_CLASSES = 50  # of a column that is taken for a class by its name
_SHOWN = 8
_FEW_ROWS = 5  # fewer cannot show which labels are usual
_FEW_RARE = 0.5  # share of the labels: where more of them are in one row only, that is usual
_START = 200  # rows by which a layout is recognised
_FOREIGN = ("winner", "loser", "first", "second", "outcome", "item", "place")  # roles of comparisons


class LabelLayout(NamedTuple):
    """How rows say which labels suit them: by the cells of some columns; ``labels`` are those of columns of ranks."""

    name: str
    columns: tuple[str, ...]
    labels: tuple[str, ...] = ()

    @property
    def what(self) -> str:
        """What each row has, in words."""
        return "classes" if self.name == "class" else "rankings"


@dataclass(frozen=True)
class LabelReading:
    """What was read from a table with features and labels, and how.

    Parameters
    ----------
    data : LabelPreferences or None
        What rows say about labels; None if that was not asked for.
    items : ItemTable
        Features of all rows, encoded, with the names of the rows if they have any.
    layout : str
        "ranking (text)", "ranking (places)", "ranks of labels", "class", or "features" without any of these.
    columns : dict
        Column of each role; several are separated by commas.
    notes : tuple of str
        Sentences for a person.
    encoder : ItemEncoder
        How columns became features, for new rows.
    source : str
        Name of the file or table in messages.

    Examples
    --------
    >>> from preflearn.io import read_label_preferences
    >>> table = {"age": [20, 60], "lives in": ["Rome", "Bern"], "ranking": ["tea > milk", "milk > tea"]}
    >>> read_label_preferences(table).items.feature_names
    ('age',)
    """

    data: LabelPreferences | None
    items: ItemTable
    layout: str
    columns: dict[str, str]
    notes: tuple[str, ...]
    encoder: ItemEncoder
    source: str

    def __str__(self) -> str:
        return "\n".join(self.notes)


def read_label_preferences(
    source: Any,
    *,
    columns: Mapping[str, Any] | str | None = None,
    form: Literal["rankings"] | None = None,
    labels: Sequence[Any] | None = None,
    encoder: ItemEncoder | None = None,
    need_labels: bool = True,
    missing: Literal["error", "drop"] = "error",
    scale: bool = True,
) -> LabelReading:
    r"""Read a table with one row per item: its features, and a ranking of labels or its class.

    Parameters
    ----------
    source : str, path, data frame, list of rows or dict of columns
        A table, as in `read_preferences`.
    columns : mapping or str, default=None
        Columns by role, if they are not found by name. What rows say: ``ranking`` (text such as a > b = c), ``class``
        (the right label), or ``labels`` (columns with the rank of each label, as in "labels=tea+milk+juice", 1 or the
        lowest is best). Beside it: ``features`` (columns to use, as in "age+income"; by default all others),
        ``without`` (columns to leave out), ``name`` (of the row), ``weight`` (how often it counts; "none" if a column
        called so is a feature).
    form : {"rankings"}, default=None
        Says that columns such as rank1, rank2, ... hold the labels by place, best first, though they are numbers.
    labels : sequence, default=None
        All labels, if others than those that occur are possible; an unknown one is an error.
    encoder : ItemEncoder, default=None
        How features are encoded, as learned from another table; by default it is learned from this one.
    need_labels : bool, default=True
        False reads features alone, to predict.
    missing : {"error", "drop"}, default="error"
        What to do with rows without a ranking or class.
    scale : bool, default=True
        Divide numeric features by their standard deviations.

    Returns
    -------
    LabelReading
        Label preferences, what was recognised, and sentences about both.

    Notes
    -----
    Labels that a row does not rank, and equal ranks, say nothing about it. Features are encoded as those of items
    (`ItemEncoder`): words become 0 and 1, missing numbers the median.

    Examples
    --------
    >>> from preflearn.io import read_label_preferences
    >>> table = {"size": [1.0, 2.0, 3.5], "rank_tea": [1, 1, 2], "rank_milk": [2, 3, 1], "rank_juice": [3, 2, None]}
    >>> reading = read_label_preferences(table)
    >>> reading.data
    LabelPreferences(7 edges between 3 labels for 3 items with 1 features)
    >>> print(reading.notes[0])
    the dict of columns: 3 rows with 1 feature and rankings of 3 labels (ranks of labels).
    """
    owner = "read_label_preferences"
    options = Options(owner, columns=columns, missing=missing, scale=scale)
    found = open_source(source, owner)
    if not isinstance(found, Table):
        raise DataError(code="label-file-not-a-table", where=Place(found.source)).says(
            f"this is a file of the kind {found.kind}, which has no columns of labels",
            "Give a table with features and a ranking or a class on each row",
        )
    layout = label_layout(found, options.given, form=form) if need_labels else None
    if need_labels and layout is None:
        raise no_labels(found)
    return read_labels(found, layout, options, labels=labels, encoder=encoder)


def no_labels(table: Table) -> DataError:
    """Return the error that no column says which labels suit a row."""
    return table.refuse(code="no-labels-on-rows").says(
        f"the columns {first_few(table.columns, 12)} do not say which labels suit each row",
        *_cures(table),
    )


def _cures(table: Table) -> list[Phrase]:
    guessed, ranks = guess_class(table), guess_ranks(table)
    return [
        'Write a ranking as a > b > c in a column "ranking", or name its column: '
        + Setting("columns", {"ranking": "COLUMN"}),
        "name the column of the class: " + Setting("columns", {"class": guessed or "COLUMN"}),
        "name columns with the rank of each label: " + Setting("columns", {"labels": ranks or "COLUMN+COLUMN"}),
    ]


def guess_ranks(table: Table) -> str | None:
    """Return the columns that are called ranks, whatever they hold, as they are named."""
    return "+".join(rank_columns(table.columns).values()) or None


def guess_class(table: Table) -> str | None:
    """Return the column that looks most like a class: few different values, the fewest of those at either end."""
    ends = [column for column in (table.columns[-1], table.columns[0]) if column and "," not in column]
    counts = {column: len({*table.cells(column).distinct} - {""}) for column in ends}
    able = [column for column in ends if 1 < counts[column] <= min(20, len(table) // 2)]
    return min(able, key=counts.__getitem__) if able else None


def label_layout(table: Table, given: Mapping[str, Any], *, form: str | None = None) -> LabelLayout | None:
    """Return how the rows of a table say which labels suit them; None where they do not, or have no features.

    Whatever can be read as comparisons of two is no such table; where two readings are possible it asks.
    """
    told = [role for role in ("ranking", *OF_LABELS) if role in given]
    if len(told) > 1:
        raise table.refuse(code="two-answers-of-rows").says(
            Setting("columns") + f" names {first_few(told)}, and each says which labels suit a row", "Name one of them"
        )
    if any(role in given for role in _FOREIGN) or (told == [] and next(fitting_formats(table, given), None)):
        return None
    if "class" in given:
        return LabelLayout("class", (table.find(given["class"], "class"),))
    if "labels" in given:
        named = [table.find(column, "labels") for column in listed(given["labels"])]
        if len(set(named)) < 2:
            raise table.refuse(code="labels-of-one-column").says(
                f"labels names {plural(len(set(named)), 'column')} of ranks, and a ranking needs two labels",
                "Name the column of each label: " + Setting("columns", {"labels": "COLUMN+COLUMN"}),
            )
        short = rank_columns(named) or dict(zip(named, named, strict=True))
        return LabelLayout("ranks of labels", tuple(short.values()), tuple(short))
    if "ranking" in given:
        return LabelLayout("ranking (text)", (table.find(given["ranking"], "ranking"),))
    layout = _recognised(table, form)
    return layout if layout is not None and _has_features(table, layout, given) else None


def _recognised(table: Table, form: str | None) -> LabelLayout | None:
    start = table.take(range(min(len(table), _START)))
    try:
        found = find_layout(start, {}, need_outcomes=True, rankings=True if form == "rankings" else None)
    except DataError:
        found = None
    if found is not None and not found.is_ranking:
        return None
    if found is not None and "item" in found.roles:
        return None  # one row for each item of a ranking
    if found is not None and found.places:
        if form is None and _are_permutations(table, found.places):
            raise _places_or_labels(table, found.places)
        return LabelLayout("ranking (places)", found.places)
    if found is not None:
        cells = [cell for cell in table.cells(found.roles["ranking"]) if cell]
        if 2 * sum(any(mark in cell for mark in ">≻,;|") for cell in cells) > len(cells):
            return LabelLayout("ranking (text)", (found.roles["ranking"],))
    ranks = rank_columns(table.columns)
    if ranks and _hold_ranks(table, list(ranks.values())):
        return LabelLayout("ranks of labels", tuple(ranks.values()), tuple(ranks))
    numbered = numbered_columns(table.columns)
    if numbered and _are_permutations(table, numbered):
        raise _places_or_labels(table, numbered)
    named = [column for column in table.columns if says_class(column)]
    if len(named) == 1 and 1 < len({*table.cells(named[0]).distinct} - {""}) <= MOST_CLASSES:
        return LabelLayout("class", (named[0],))
    return None


def _places_or_labels(table: Table, columns: Sequence[str]) -> DataError:
    return table.refuse(code="places-or-labels").says(
        f"the columns {first_few(columns)} hold the numbers 1 to {len(columns)} on every row: either the rank of each "
        "label, or the label on each place",
        "If each column is a label, use " + Setting("columns", {"labels": "+".join(columns)}),
        "if they list labels best first, write them as 3 > 1 > 2 in one column and use "
        + Setting("columns", {"ranking": "COLUMN"}),
    )


def _ranks(table: Table, column: str) -> NDArray[np.float64] | None:
    return numbers_of(table.cells(column), table.delimiter)


def _hold_ranks(table: Table, columns: Sequence[str]) -> bool:
    """Return whether all cells are whole numbers from 0 to the number of columns, or empty."""
    for column in columns:
        values = _ranks(table, column)
        if values is None or np.isnan(values).all():
            return False
        there = values[~np.isnan(values)]
        if np.any((there < 0) | (there > len(columns)) | (there != np.floor(there))):
            return False
    return True


def _are_permutations(table: Table, columns: Sequence[str]) -> bool:
    """Return whether every row of some columns is the numbers 1, 2, ... (or 0, 1, ...) in some order."""
    found = [_ranks(table, column) for column in columns]
    if any(values is None for values in found):
        return False
    rows = np.sort(np.column_stack(found), axis=1)  # type: ignore[arg-type]
    return any(np.array_equal(rows, np.broadcast_to(np.arange(len(columns)) + start, rows.shape)) for start in (0, 1))


def _feature_columns(table: Table, layout: LabelLayout | None, given: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the columns that may be features, and those that name, number or date the rows."""
    asked = given.get("features")
    if asked is not None:
        return [table.find(column, "features") for column in listed(asked)], []
    used = {table.find(given[role], role) for role in ("name", "weight") if given.get(role, "none") != "none"}
    used |= {table.find(column, "a column to leave out") for column in listed(given.get("without"))}
    used |= set(() if layout is None else layout.columns)
    rest = [column for column in table.columns if normal(column) and column not in used]
    of_rows = names_rows(rest)
    return [column for column in rest if column not in of_rows], of_rows


def _has_features(table: Table, layout: LabelLayout, given: Mapping[str, Any]) -> bool:
    columns, _ = _feature_columns(table, layout, given)
    first: list[list[list[str]]] = []
    if layout.name.startswith("ranking"):
        with contextlib.suppress(DataError):  # which is said when they are read
            first = _orders(table.take(range(min(len(table), _START))), layout)
    like = _called_like(columns, {label for order in first for level in order for label in level}).values()
    return any(_describes(table, column) for column in columns if column not in like)


def _describes(table: Table, column: str) -> bool:
    """Return whether a column is a number that varies, or a category; one with a mistake in it is meant to be."""
    try:
        kind = column_kind(table, column)
    except DataError:
        return True
    return kind == "category" or (kind == "number" and len({*table.cells(column).distinct} - {""}) > 1)


def read_labels(
    table: Table,
    layout: LabelLayout | None,
    options: Options,
    *,
    labels: Sequence[Any] | None = None,
    encoder: ItemEncoder | None = None,
) -> LabelReading:
    """Do what `read_label_preferences` does, once the layout is known; without one only features are read."""
    given, notes = options.given, list[str]()
    if layout is not None:
        table = _without_empty(table, layout, options, notes)
    columns, of_rows = _feature_columns(table, layout, given)
    ranks: list[list[list[str]]] = []
    if layout is not None:
        ranks = _orders(table, layout)
        if layout.name.startswith("ranking"):
            again = _again(table, columns, ranks)
            columns = [column for column in columns if column not in again]
            if again:
                notes.append(f"{first_few(again, _SHOWN)} repeat the ranking, and are no features.")
    name = _name_column(table, encoder, of_rows, given)
    if encoder is None:
        _ask_weight(table, columns, given)
        encoder, about = fit_encoder(table, name, columns, scale=options.scale)
        if not encoder.columns:
            raise table.refuse(code="label-table-without-features").says(
                f"the rows have no features ({'; '.join(about).rstrip('.') or 'there are no other columns'})",
                "Add columns with numbers or categories",
                "name them: " + Setting("columns", {"features": "COLUMN+COLUMN"}),
            )
        features = [f"Features: {described(encoder, options.scale)}", *about]
        left = [column for column in of_rows if column != name]
        features += [f"Not used: {first_few(left, _SHOWN)} (they name, number or date the rows)."] if left else []
    else:
        encoder, features = replace(encoder, name=name), []
    items = encoder.transform(table)
    data = None
    if layout is not None:
        data, about = _preferences(table, layout, ranks, items, labels, options)
        notes = [_head(table, layout, items, data), *about, *notes]
    else:
        notes.append(FileNote(table.source, f"{plural(len(table), 'row')}."))
    if data is not None and items.names is not None and len(set(items.names)) == len(items.names):
        data = data._take(slice(None), names=items.names)
    role = {"class": "class", "ranks of labels": "labels"}.get("" if layout is None else layout.name, "ranking")
    roles = {} if layout is None else {role: ",".join(layout.columns)}
    all_notes = (*notes, *features, *commas(table))
    return LabelReading(
        data,
        items,
        "features" if layout is None else layout.name,
        roles | ({} if name is None else {"name": name}),
        all_notes,
        encoder,
        table.source,
    )


def _head(table: Table, layout: LabelLayout, items: ItemTable, data: LabelPreferences) -> str:
    n_features = len(items.feature_names or ())
    rows = f"{plural(len(table), 'row')} with {plural(n_features, 'feature')}"
    return FileNote(table.source, f"{rows} and {layout.what} of {data.n_labels} labels ({layout.name}).")


def _without_empty(table: Table, layout: LabelLayout, options: Options, notes: list[str]) -> Table:
    """Leave out rows that say nothing about labels, if asked to; else the first raises."""
    cells = [table.cells(column) for column in layout.columns]
    empty = [row for row, found in enumerate(zip(*cells, strict=True)) if not any(found)]
    if not empty:
        return table
    what = "class" if layout.name == "class" else "ranking"
    if options.missing != "drop" or len(empty) == len(table):
        where = first_few(layout.columns)
        raise table.fail(empty[0], code="row-without-labels").says(
            f"the {what} is empty ({where}; {len(empty)} of {plural(len(table), 'row')})",
            "Fill the cell",
            "delete the row",
            LEAVE_OUT,
        )
    notes.append(Note(f"Dropped: {len(empty)} of {len(table)} rows without a {what}.", "rows-without-labels"))
    gone = set(empty)
    return table.take([row for row in range(len(table)) if row not in gone])


def _name_column(
    table: Table, encoder: ItemEncoder | None, of_rows: Sequence[str], given: Mapping[str, Any]
) -> str | None:
    """Return the column of the names of rows: the one that was named, that of training, or one that numbers them."""
    if "name" in given:
        return table.find(given["name"], "the names of the rows")
    if encoder is not None and encoder.name in table.columns:
        return encoder.name
    taken = () if encoder is None else encoder.columns
    able = [column for column in of_rows if column not in taken and "" not in table.cells(column)]
    return next((column for column in able if normal(column) and len(table.cells(column).distinct) == len(table)), None)


def _ask_weight(table: Table, features: Sequence[str], given: Mapping[str, Any]) -> None:
    """Raise for a column of numbers that could be a feature, or say how often each row counts."""
    if "weight" in given or "features" in given:
        return
    for column in counts_rows(features):
        if column_kind(table, column) == "number":
            raise table.refuse(code="weight-or-feature").says(
                f'column "{column}" could be a feature, or say how often each row counts',
                "If it is a feature, use " + Setting("columns", {"weight": "none"}),
                "if it is a weight, use " + Setting("columns", {"weight": column}),
            )


def _orders(table: Table, layout: LabelLayout) -> list[list[list[str]]]:
    """Return the labels of each row in levels, best first."""
    if layout.name == "class":
        return [[[cell]] for cell in table.cells(layout.columns[0])]
    if layout.name == "ranks of labels":
        return _by_rank(table, layout)
    text = layout.name == "ranking (text)"
    rankings = read_rankings(table, {"ranking": layout.columns[0]}, () if text else layout.columns)
    check_rankings(table, rankings)
    return rankings.ranks


def _by_rank(table: Table, layout: LabelLayout) -> list[list[list[str]]]:
    values = []
    for label, column in zip(layout.labels, layout.columns, strict=True):
        cells = table.cells(column)
        found = table.as_numbers(column, cells)
        if found is None or np.isinf(found).any():
            row = next(row for row, cell in enumerate(cells) if not _is_rank(cell, table.delimiter))
            raise table.fail(row, code="rank-not-a-number").says(
                f'column "{column}" holds "{cells[row][:60]}", which is not the rank of "{label}"',
                "Write 1 for the best label, 2 for the next",
                "leave the cell empty if the label was not ranked",
            )
        values.append(found)
    ranks = np.column_stack(values)
    orders = []
    for row in ranks:
        there = np.flatnonzero(~np.isnan(row))
        levels: dict[float, list[str]] = {}
        for place in there:
            levels.setdefault(float(row[place]), []).append(layout.labels[place])
        orders.append([levels[rank] for rank in sorted(levels)])
    return orders


def _is_rank(cell: str, delimiter: str) -> bool:
    value = numbers_of([cell], delimiter)
    return value is not None and not np.isinf(value[0])


def _again(table: Table, columns: Sequence[str], orders: list[list[list[str]]]) -> list[str]:
    """Return the columns that hold the places of labels once more; one that is called like a label otherwise raises."""
    by_label = _called_like(columns, {label for order in orders for level in order for label in level})
    if not by_label:
        return []
    code = {label: number for number, label in enumerate(by_label)}
    place = np.full((len(orders), len(code)), np.nan)
    for row, order in enumerate(orders):
        for number, level in enumerate(order):
            for label in level:
                if label in code:
                    place[row, code[label]] = number
    held = np.full(place.shape, np.nan)
    for label, column in by_label.items():
        values = _ranks(table, column)
        held[:, code[label]] = np.nan if values is None else values
    for label, column in by_label.items():
        later = np.sign(place - place[:, [code[label]]])
        wrong = np.abs(later) * (np.sign(held - held[:, [code[label]]]) != later) > 0
        if wrong.any() or len(by_label) < 2:
            raise table.refuse(code="feature-called-like-a-label").says(
                f'column "{column}" has the name of the label "{label}", but does not hold its ranks',
                "If it is a feature, give it another name",
                "leave it out: " + Setting("columns", {"without": column}),
            )
    return [column for column in columns if column in by_label.values()]


def _called_like(columns: Sequence[str], labels: set[str]) -> dict[str, str]:
    """Return the columns that are called like a label, by that."""
    found = {label: column for label, column in rank_columns(columns).items() if label in labels}
    return found | {column: column for column in columns if column in labels and not column.isdigit()}


def _preferences(
    table: Table,
    layout: LabelLayout,
    orders: list[list[list[str]]],
    items: ItemTable,
    labels: Sequence[Any] | None,
    options: Options,
) -> tuple[LabelPreferences, list[str]]:
    """Return what the rows say about labels, and notes about it."""
    seen = list(dict.fromkeys(label for order in orders for level in order for label in level))
    known = sorted(seen, key=_natural) if labels is None else list(labels)
    meaning: dict[str, Any] = {str(label): label for label in known}
    for row, order in enumerate(orders):
        for label in (label for level in order for label in level):
            if label not in meaning:
                nearest = nearest_names(label, meaning)
                raise table.fail(row, code="label-of-no-training").says(
                    f'label "{label[:60]}" is not one of the {len(known)} known labels ({first_few(known, _SHOWN)}'
                    f"{'; ' + nearest if nearest else ''})",
                    "Correct it",
                    "learn from a table that has it",
                )
    if labels is None and layout.name != "ranks of labels":
        _warn_of_rare(table, orders)
    if len(known) < 2:
        raise table.refuse(code="one-label-in-table").says(
            f"there is only one label ({first_few(known)}), and a preference needs two",
            "Check that the labels are in the right column: " + Setting("columns", {"ranking": "COLUMN"}),
        )
    weight, notes = None, []
    if options.given.get("weight", "none") != "none":
        column = table.find(options.given["weight"], "weight")
        weight = table.numbers(column, "weight")
        if (weight < 0).any() or not weight.any():
            row = int(np.argmin(weight))
            raise table.fail(row, code="label-row-weight").says(
                f'weight (column "{column}") is {weight[row]:g} here', "Give weights above 0"
            )
        notes.append(f'Weights: column "{column}", {weight.sum():g} in total.')
    bare = items._replace(names=None)
    if layout.name == "class":
        orders = [[*order, [label for label in meaning if label != order[0][0]]] for order in orders]
    rows = [[[meaning[label] for label in level] for level in order] for order in orders]
    if not any(len(order) > 1 for order in rows):
        raise table.refuse(code="no-label-before-another").says(
            f"none of the {plural(len(rows), 'row')} prefers one label to another",
            "Rank two labels or more, as in a > b",
        )
    data = from_label_rankings(bare, rows, labels=known, weight=weight)
    how = f'Labels: {first_few(known, _SHOWN)}; column "{layout.columns[0]}" '
    if layout.name == "class":
        how += "is the class of each row, which is preferred to every other."
    elif layout.name == "ranking (text)":
        how += f"lists them best first{strengths_lost(table, layout.columns[0])}."
    elif layout.name == "ranking (places)":
        how += f'has the best, "{layout.columns[-1]}" the worst.'
    else:
        how = f"Labels: {first_few(known, _SHOWN)}; each has a column with its rank, the lowest is best."
    if layout.name != "class":
        partial = sum(sum(map(len, order)) < len(known) for order in orders)
        tied = sum(any(len(level) > 1 for level in order) for order in orders)
        how += f" {_rows_rank(partial)} fewer than all {len(known)}." if partial else ""
        how += f" {_rows_rank(tied)} some as equals, which says nothing of these." if tied else ""
    return data, [how, *notes]


def _warn_of_rare(table: Table, orders: list[list[list[str]]]) -> None:
    """Warn of labels that one row only has, and that may be others misspelt; where many are rare, that is usual."""
    rows: dict[str, list[int]] = {}
    for row, order in enumerate(orders):
        for level in order:
            for label in level:
                rows.setdefault(label, []).append(row)
    usual = [label for label, of in rows.items() if len(of) > 1]
    rare = {label: of[0] for label, of in rows.items() if len(of) == 1}
    if len(orders) < _FEW_ROWS or not rare or len(rare) > max(1, _FEW_RARE * len(rows)):
        return
    said = []
    for label, row in list(rare.items())[:_SHOWN]:
        there = {one for level in orders[row] for one in level}
        near = nearest_names(label, [one for one in usual if one not in there and _letters(one) != _letters(label)])
        said.append(f'"{label[:60]}" ({table.word} {table.line[row]}{"; " + near if near else ""})')
    one = len(rare) == 1
    DataWarning(code="label-in-one-row", where=Place(table.source)).warn(
        f"{plural(len(rare), 'label occurs', 'labels occur')} in one row only: {', '.join(said)}"
        f"{', ...' if len(rare) > _SHOWN else ''}. {'It counts' if one else 'They count'} as "
        f"{'a label of its' if one else 'labels of their'} own",
        f"If {'it is a spelling mistake' if one else 'these are spelling mistakes'}, correct {'it' if one else 'them'}",
    )


def _letters(name: str) -> str:
    """Return a name without digits, by which numbered names do not differ."""
    return "".join(mark for mark in name if not mark.isdigit())


def _rows_rank(count: int) -> str:
    return f"{plural(count, 'row')} {'ranks' if count == 1 else 'rank'}"


def _natural(label: str) -> tuple[Any, ...]:
    """Return what sorts labels: numbers by their size, before words."""
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label
