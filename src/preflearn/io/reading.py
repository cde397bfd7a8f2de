"""The front door: a file, data frame or list of preferences is recognised, read, and described in sentences."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from preflearn.data.comparisons import Comparisons
from preflearn.data.fields import check_choice, label_array
from preflearn.data.ratings import Ratings
from preflearn.data.tables import check_items
from preflearn.exceptions import DataError, DataWarning, Note, Place, Setting, first_few
from preflearn.io.formats import find_format
from preflearn.io.formats.preflib import preflib_rankings
from preflearn.io.item_features import ItemEncoder, commas, known_items, read_items, row_features, row_items, unused
from preflearn.io.layout import Layout, find_layout
from preflearn.io.opening import Content, decode, is_path, open_source, path_text
from preflearn.io.outcomes import no_numbers, read_answers
from preflearn.io.ranking_tables import Rankings, check_rankings, read_rankings
from preflearn.io.read_options import Options
from preflearn.io.repeats import Asked, without_copies
from preflearn.io.roles import LABELS
from preflearn.io.svmlight import parse_svmlight
from preflearn.io.table import Table, is_absent

__all__ = ["Reading", "read_comparisons", "read_preferences", "read_with"]

MOST_FEATURES = 20_000_000  # of a model: a linear one has a weight of 8 bytes for each
_FORMS = ("comparisons", "rankings", "preflib", "svmlight")


@dataclass(frozen=True)
class Reading:
    """What was read from a file or table of preferences, and how.

    Parameters
    ----------
    data : Comparisons or Ratings
        The data; `Ratings` for SVMlight files, which hold scores.
    layout : str
        What was recognised, such as "winner,loser", "home,away,scores", "ranking (text)", "preflib soc", "svmlight".
    columns : dict
        Column of each role.
    notes : tuple of str
        Sentences for a person: what was recognised, how outcomes were read, what was encoded, filled in and left out.
    encoder : ItemEncoder or None
        How columns of the item table became features, for new items.
    source : str
        Name of the file or table in messages.
    by : ndarray (n_comparisons,) or None
        What the column that was asked for by ``by`` says of each comparison.

    Examples
    --------
    >>> import pandas as pd
    >>> from preflearn.io import read_preferences
    >>> frame = pd.DataFrame({"left": ["ann", "bob"], "right": ["bob", "cy"], "winner": ["left", "tie"]})
    >>> reading = read_preferences(frame)
    >>> reading.layout, reading.columns["winner"]
    ('left,right,winner', 'winner')
    """

    data: Comparisons | Ratings
    layout: str
    columns: dict[str, str]
    notes: tuple[str, ...]
    encoder: ItemEncoder | None
    source: str
    by: NDArray[Any] | None = None

    def __str__(self) -> str:
        return "\n".join(self.notes)


def read_preferences(
    source: Any,
    items: Any = None,
    *,
    columns: Mapping[str, Any] | str | None = None,
    outcomes: Mapping[str, Any] | str | None = None,
    form: Literal["comparisons", "rankings", "preflib", "svmlight"] | None = None,
    need_outcomes: bool = True,
    lower_wins: bool = False,
    margins: bool = False,
    missing: Literal["error", "drop"] = "error",
    self_comparisons: Literal["error", "drop"] = "error",
    repeated_rows: Literal["drop", "keep"] = "drop",
    scale: bool = True,
    by: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
) -> Reading:
    r"""Read preferences from a file, data frame or list, whatever its layout, and say how they were read.

    Parameters
    ----------
    source : str, path, data frame, list, dict or array
        CSV or TSV (delimiter ``,`` ``;`` tab or ``|``, with a header), JSON lines, Parquet, PrefLib or SVMlight file,
        ``-`` for standard input, or a frame of pandas, polars or pyarrow. Files may be gzip. Or a list of pairs
        (winner, loser), a list of rows (dicts or named tuples), a dict of columns, or an array: structured, or with
        the two columns winner and loser.
    items : str, path, data frame, table or None, default=None
        Features of the items. Of files and frames, columns of text become 0 and 1 and missing numbers the median;
        arrays and the result of `read_items` are used as they are.
    columns : mapping or str, default=None
        Columns by role, such as ``{"first": "home_team", "second": "away_team"}`` or the text
        "first=home_team,second=away_team", where they are not found by name. Roles: winner, loser; first, second with
        winner, outcome, score_first and score_second, or wins_first and wins_second (counts, with ties); weight, group,
        judge, cluster; ranking; item and place; name (of the items' table) and without (its columns to leave out);
        features (pairs on each row, as in "x+y", or "none").
    outcomes : mapping or str, default=None
        What the numbers of an outcome column mean, where neither its name nor a known layout says it. The number of a
        clear win of each side, as in "first=1,second=2" or ``{"first": 1, "second": 2}``: halfway is a tie, or half a
        vote each if other numbers are between, which are shares of one vote (margins with ``margins=True``). Or the
        side that positive numbers mean, "first=positive" or "second=positive": then only the sign is used.
    form : {"comparisons", "rankings", "preflib", "svmlight"}, default=None
        What the file holds; by default it is recognised.
    need_outcomes : bool, default=True
        False reads pairs without outcomes, to predict; their outcomes are 0.
    lower_wins : bool, default=False
        Whether the lower score wins.
    margins : bool, default=False
        Whether differences of scores and numbers in an outcome column are kept; by default only who won.
    missing, self_comparisons : {"error", "drop"}, default="error"
        What to do with rows that lack a side or an outcome, and with comparisons of an item with itself.
    repeated_rows : {"drop", "keep"}, default="drop"
        What to do with rows that repeat an earlier one in every column where a judge, a time or an id tells real
        answers apart: by default such copies count once, with a warning. Rows that say nothing but who won are
        answers of their own, and stay.
    scale : bool, default=True
        Divide numeric features of files and frames by their standard deviations, recorded in ``encoder``.
    by : str, default=None
        A column that says which category a row belongs to, whose cells are kept beside the comparisons.
    n_features, zero_based
        As in `read_svmlight`.

    Returns
    -------
    Reading
        The data, what was recognised, and sentences about both.

    Notes
    -----
    Time and memory are proportional to the file: about a million rows in two seconds.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from preflearn.io import read_preferences
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "games.csv")
    ...     _ = path.write_text("home_team,away_team,home_score,away_score\nRome,Bern,2,1\nBern,Oslo,0,0\n")
    ...     reading = read_preferences(path)
    >>> reading.data.outcome
    array([1., 0.])
    >>> print(reading.notes[1])
    Outcomes: columns "home_score" and "away_score" are scores: the higher wins, equal is a tie. First ("home_team")
    won 1, second ("away_team") 0, ties 1.
    """
    options = Options.checked(
        "read_preferences",
        columns=columns,
        outcomes=outcomes,
        missing=missing,
        self_comparisons=self_comparisons,
        repeated_rows=repeated_rows,
        need_outcomes=need_outcomes,
        lower_wins=lower_wins,
        margins=margins,
        scale=scale,
        by=by,
    )
    return read_with(options, source, items, form=form, n_features=n_features, zero_based=zero_based)


def read_comparisons(
    path: Any,
    items: Any = None,
    *,
    columns: Mapping[str, Any] | str | None = None,
    outcomes: Mapping[str, Any] | str | None = None,
    missing: Literal["error", "drop"] = "error",
    self_comparisons: Literal["error", "drop"] = "error",
    repeated_rows: Literal["drop", "keep"] = "drop",
) -> Comparisons:
    r"""Read comparisons; `read_preferences` without its description, features used as they are, margins kept.

    Parameters
    ----------
    path : str or path
        A table that `read_preferences` reads: CSV, JSON lines or Parquet.
    items : str, path, item table or None, default=None
        The items: a file for `read_items`, its result, or any table `Comparisons` takes. None: the names that occur.
    columns : mapping or str, default=None
        Columns by role, where they are not found by name, as in `read_preferences`.
    outcomes : mapping or str, default=None
        What the numbers of an outcome column mean, as in `read_preferences`.
    missing, self_comparisons : {"error", "drop"}, default="error"
        What to do with rows that lack a side or an outcome, and with comparisons of an item with itself.
    repeated_rows : {"drop", "keep"}, default="drop"
        What to do with copies of whole rows, as in `read_preferences`.

    Returns
    -------
    Comparisons
        In the order of the file.

    Warns
    -----
    DataWarning
        If the meaning of outcomes was inferred (0 and 1 alone: 0 is then a loss), or rows were dropped.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from preflearn.io import read_comparisons
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "matches.csv")
    ...     _ = path.write_text("winner;loser\nann;bob\ncy;ann\n")
    ...     read_comparisons(path)
    Comparisons(2 comparisons of 3 items without features)
    """
    owner = "read_comparisons"
    source = path_text(path, owner)
    options = Options.checked(
        owner,
        columns=columns,
        outcomes=outcomes,
        missing=missing,
        self_comparisons=self_comparisons,
        repeated_rows=repeated_rows,
        margins=True,
        scale=False,
        items_name=path_text(items, owner) if is_path(items) else "the list of known items",
    )
    if items is not None:
        items = read_items(items) if is_path(items) else check_items(items, owner)
    reading = read_with(options, source, items, form="comparisons")
    for sentence in reading.notes:
        if isinstance(sentence, Note):
            DataWarning(code=sentence.code, where=Place(source)).warn(sentence)
    assert isinstance(reading.data, Comparisons)
    return reading.data


def read_with(
    options: Options,
    source: Any,
    items: Any = None,
    *,
    form: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
) -> Reading:
    """Do what `read_preferences` does, with checked options; ``source`` may also be what `open_bytes` returns."""
    if form is not None:
        check_choice(form, _FORMS, "form", options.owner)
    if source is items and isinstance(source, str):
        raise DataError(code="same-preferences-and-items", owner=options.owner).says(
            f"{source!r} cannot be both the preferences and the items", "Give two files"
        )
    found = open_source(source, options.owner, form)
    if options.by is not None and isinstance(found, Content):
        raise DataError(code="category-without-columns", where=Place(found.source)).says(
            Setting("by", options.by) + " names a column, and this file has none", "Give a table"
        )
    if isinstance(found, Content) and found.kind == "svmlight":
        return _of_svmlight(found, items, options, n_features, zero_based)
    for option, said in (("n_features", n_features is not None), ("zero_based", zero_based)):
        if said and found.is_file:
            raise DataError(code="option-of-svmlight", where=Place(found.source)).says(
                Setting(option) + " is for SVMlight files, and this is a table", "Leave it out"
            )
    statements = _of_table(found, items, options, form) if isinstance(found, Table) else _of_preflib(found, options)
    data, encoder, notes = statements.with_items(items, options)
    by = None if options.by is None else statements.cells_of(options.by)
    return Reading(data, statements.layout, statements.columns, tuple(notes), encoder, found.source, by)


def _of_table(table: Table, items: Any, options: Options, form: str | None) -> Statements:
    known = None if form == "rankings" else find_format(table, options.given)
    if known is not None and known.rewrite is not None:
        table = known.rewrite(table)
    layout = find_layout(
        table,
        options.given,
        known,
        need_outcomes=options.need_outcomes,
        rankings=None if form is None else form == "rankings",
    )
    return _compare(table, layout, options, known=items is not None and not isinstance(items, ItemEncoder))


def _of_preflib(found: Content, options: Options) -> Statements:
    if options.scale_of_outcomes is not None:
        raise no_numbers("a PrefLib file", found.source)
    table, rankings, names = preflib_rankings(decode(found.data, found.source), found.source)
    suffix = os.path.splitext(found.path.removesuffix(".gz"))[1].lstrip(".").lower()  # noqa: PTH122 - of any text
    layout = f"preflib {suffix}" if suffix in ("soc", "soi", "toc", "toi") else "preflib"
    return _rank(table, rankings, layout, {}, names)


def _of_svmlight(found: Content, items: Any, options: Options, n_features: int | None, zero_based: bool) -> Reading:
    name = found.source
    if items is not None:
        raise DataError(code="svmlight-items", where=Place(name)).says(
            "rows of an SVMlight file bring their own features", "Leave out " + Setting("items")
        )
    if options.given:
        raise DataError(code="svmlight-columns", where=Place(name)).says(
            "an SVMlight file has no columns to name", "Leave out " + Setting("columns")
        )
    if options.scale_of_outcomes is not None:
        raise no_numbers("an SVMlight file", name)
    ratings, grouped = parse_svmlight(found.data, name, n_features=n_features, zero_based=zero_based)
    groups = f"in {ratings.n_groups} groups (qid)" if grouped else "in one group, as no line has a qid"
    notes = (
        f"{name}: SVMlight, {len(ratings)} rows with {ratings.n_features} features {groups}.",
        "Outcomes: within a group, the row with the higher score (first number of the line) is preferred.",
    )
    return Reading(ratings, "svmlight", {}, notes, None, name)


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
                raise self.table.fail(int(self.row[same[0]]), code="same-item-in-row").says(
                    f'"{one[:60]}" and "{other[:60]}" are the same item', "Delete the row"
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
                raise table.fail(int(bad[0]), code="row-weight-negative").says(
                    f'weight (column "{column}") is negative ({len(bad)} of {len(weight)} rows)',
                    "Weights count how often a comparison was seen: give values >= 0",
                )
            if not weight.any():
                raise table.refuse(code="all-row-weights-zero").says(
                    f'all {len(weight)} weights (column "{column}") are zero', "Raise some of them"
                )
            labels["weight"] = weight[self.row] * (1.0 if self.weight is None else self.weight)
            total = f"{weight.sum():g} in total"
            notes.append(f'Weights: column "{column}", how many answers each row stands for, {total}.')
        return labels, notes


def _compare(table: Table, layout: Layout, options: Options, *, known: bool) -> Statements:
    """Return what a table with this layout says.

    ``known`` is whether there is a table of items: features on the rows are then not used.
    """
    if layout.is_ranking:
        return _rankings(table, layout, options)
    if known:
        if layout.name.startswith("features"):
            raise table.refuse(code="items-of-unnamed-rows").says(
                "the rows have features and no names, so that a table of items says nothing about them",
                "Leave out the table of items, or name the items in two columns (first,second)",
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
        raise table.refuse(code="every-row-has-gaps").says(
            f"every row has an empty cell in {first_few(needed.values())}", "Name other columns, or fill the cells"
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
            raise table.fail(row, code="only-self-comparisons-in-rows").says(
                what, "Check that the two sides are different columns"
            )
        raise table.fail(row, code="self-comparison-in-row").says(
            what, "Delete the rows", "leave out all such rows with " + Setting("self_comparisons", "drop")
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
    found = _rank(table, read_rankings(table, roles, layout.places), layout.name, columns, [])
    if not table.is_file:
        for column in [roles["item"]] if "item" in roles else layout.places:
            found.named.update(table.names(column))
    used = [*roles.values(), *layout.places, *_category(table, options)]
    found.notes.extend([*unused(table, used), *repeats])
    return found


def _category(table: Table, options: Options) -> list[str]:
    """Return the column that says which category a row belongs to, if one was asked for."""
    return [] if options.by is None else [table.find(options.by, "the categories")]


def _rank(table: Table, rankings: Rankings, layout: str, columns: dict[str, str], names: list[str]) -> Statements:
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
        raise table.refuse(code="ranking-count-zero").says("some rankings have the count 0", "Delete their lines")
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


def check_feature_numbers(n_features: int, source: str) -> None:
    """Raise DataError where features are more than a model can have, before it takes memory for each of them.

    A file of sparse rows is small whatever its largest feature number is.
    """
    if n_features > MOST_FEATURES:
        raise DataError(code="too-many-features", where=Place(source)).says(
            f"the largest feature number is {n_features:,}, and a model can have {MOST_FEATURES:,} features",
            "Number them 1, 2, 3, ...",
        )
