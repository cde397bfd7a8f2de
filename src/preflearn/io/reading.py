"""The front door: a file, data frame or list of preferences is recognised, read, and described in sentences."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from preflearn.data.comparisons import LABELS, Comparisons
from preflearn.data.fields import check_choice, label_array
from preflearn.data.ratings import Ratings
from preflearn.data.tables import check_items
from preflearn.exceptions import DataError, DataWarning, FileNote, Note, Place, Setting, first_few
from preflearn.io.columns import Cells, numbered_together
from preflearn.io.counted_files import Counting, count_files, count_in_turn
from preflearn.io.formats import fitting_formats
from preflearn.io.item_features import ItemEncoder, commas, known_items, read_items, row_features, row_items, unused
from preflearn.io.label_tables import label_layout
from preflearn.io.layout import Layout, find_layout
from preflearn.io.opening import Content, are_several, decode, is_large, is_path, open_source, path_text
from preflearn.io.outcomes import no_numbers, read_answers
from preflearn.io.preflib import preflib_rankings
from preflearn.io.ranking_tables import Pairs, ranked_pairs, read_rankings
from preflearn.io.read_options import Options
from preflearn.io.repeats import without_copies
from preflearn.io.roles import BESIDE, OF_LABELS, says_home
from preflearn.io.svmlight import parse_svmlight
from preflearn.io.table import Table, is_absent

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

    @property
    def has_home_side(self) -> bool:
        """Whether the names of the two columns say that sides are home and away, which nobody can choose."""
        return any(says_home(self.columns.get(role, "")) for role in ("first", "second"))


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
    counted: bool = False,
    n_features: int | None = None,
    zero_based: bool = False,
) -> Reading:
    r"""Read preferences from a file, data frame or list, whatever its layout, and say how they were read.

    Parameters
    ----------
    source : str, path, data frame, list, dict or array
        CSV or TSV (delimiter ``,`` ``;`` tab or ``|``, with a header), JSON lines, Parquet, PrefLib or SVMlight file,
        ``-`` for standard input, or a frame of pandas, polars or pyarrow. Files may be gzip. A directory of CSV or
        Parquet files, or a pattern such as ``"votes/*.parquet"``, is one table, of which equal rows are counted, so
        that it may be larger than memory. Or a list of pairs (winner, loser), a list of rows (dicts or named tuples), a
        dict of columns, or an array: structured, or with the two columns winner and loser.
    items : str, path, data frame, table or None, default=None
        Features of the items. Of files and frames, columns of text become 0 and 1 and missing numbers the median;
        arrays and the result of `read_items` are used as they are.
    columns : mapping or str, default=None
        Columns by role, such as ``{"first": "home_team", "second": "away_team"}`` or the text
        "first=home_team,second=away_team", if they are not found by name. Roles: winner, loser; first, second with
        winner, outcome, score_first and score_second, or wins_first and wins_second (counts, with ties); weight, group,
        judge, cluster; ranking; item and place; name (of the items' table) and without (its columns to leave out);
        features (pairs on each row, as in "x+y", or "none"); covariates, numbers to hold equal when items are
        compared, as in "length_diff+days_home-days_away": either a column with the first side's number minus the
        second's, or the columns of both sides to subtract. They are used only if they are named.
    outcomes : mapping or str, default=None
        What the numbers of an outcome column mean, if neither its name nor a known layout says so. Give the number of
        a clear win of each side, as in "first=1,second=2" or ``{"first": 1, "second": 2}``: halfway is then a tie.
        If there are other numbers between, all are shares of one vote (margins with ``margins=True``), and halfway is
        half a vote each. Or give the side of positive numbers, "first=positive" or "second=positive": then only the
        sign is used.
    form : {"comparisons", "rankings", "preflib", "svmlight"}, default=None
        What the file holds; by default it is recognised.
    need_outcomes : bool, default=True
        False reads pairs without outcomes, to predict; their outcomes are 0.
    lower_wins : bool, default=False
        Whether the lower score wins.
    margins : bool, default=False
        Whether differences of scores and numbers in an outcome column are kept; by default only who won.
    missing, self_comparisons : {"error", "drop"}, default="error"
        What to do with rows that lack a side, an outcome, a covariate or a category (``by``), and with comparisons of
        an item with itself.
    repeated_rows : {"drop", "keep"}, default="drop"
        What to do with rows that repeat an earlier row in every column, where a judge, a time or an id tells real
        answers apart. By default such copies count once, with a warning. Without such a column, repeats stay: each
        may be an answer of its own.
    scale : bool, default=True
        Divide numeric features of files and frames by their standard deviations, recorded in ``encoder``.
    by : str, default=None
        A column with the category of each row; it is kept with the comparisons.
    counted : bool, default=False
        Whether equal rows of a file of 16 MB and more become one comparison, which weighs as many: answers are the
        same, and take a fraction of time and memory. The comparisons know how many were listed (``n_listed``).
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
    options = Options(
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
        counted=counted,
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
    r"""Read comparisons: as `read_preferences`, but without a description, with features as they are, and with margins.

    Parameters
    ----------
    path : str or path
        A table that `read_preferences` reads: CSV, JSON lines or Parquet.
    items : str, path, item table or None, default=None
        The items: a file for `read_items`, its result, or any table `Comparisons` takes. None: the names that occur.
    columns, outcomes, missing, self_comparisons, repeated_rows
        As in `read_preferences`.

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
    options = Options(
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
    counting: Counting = count_in_turn,
) -> Reading:
    """Do what `read_preferences` does, with checked options; ``source`` may also be what `open_bytes` returns.

    ``counting`` is how files of votes are counted: by this process, or by others.
    """
    if form is not None:
        check_choice(form, _FORMS, "form", options.owner)
    if source is items and isinstance(source, str):
        raise DataError(code="same-preferences-and-items", owner=options.owner).says(
            f"{source!r} cannot be both the preferences and the items", "Give two files"
        )
    of_labels = [role for role in OF_LABELS if role in options.given]
    if of_labels:
        raise DataError(code="role-of-label-tables", owner=options.owner).says(
            Setting("columns")
            + f': the role "{of_labels[0]}" is for tables whose rows have features and labels, and comparisons '
            "are wanted here",
            "Learn from such a table with " + Setting("label_model"),
        )
    if is_path(source) and form in (None, "comparisons"):
        path = path_text(source, options.owner)
        if are_several(path) or (options.counted and is_large(path)):
            votes = count_files(path, options, counting)
            if votes is not None:
                return _of_rows(votes.table, votes.layout, items, options)
    found = open_source(source, options.owner, form)
    if isinstance(found, Content):
        what = "an SVMlight file" if found.kind == "svmlight" else "a PrefLib file"
        for role, named in (("by", options.by), ("columns", options.given)):
            if named:
                raise DataError(code="file-without-columns", where=Place(found.source)).says(
                    f"{what} has no columns to name", "Leave out " + Setting(role)
                )
        if options.scale_of_outcomes is not None:
            raise no_numbers(what, found.source)
        if found.kind == "svmlight":
            return _of_svmlight(found, items, n_features, zero_based)
    for option, given in (("n_features", n_features is not None), ("zero_based", zero_based)):
        if given and found.is_file:
            raise DataError(code="option-of-svmlight", where=Place(found.source)).says(
                Setting(option) + " is for SVMlight files, and this is a table", "Leave it out"
            )
    if isinstance(found, Content):
        return _of_preflib(found, items, options)
    known = None if form == "rankings" else next(fitting_formats(found, options.given), None)
    if known is not None and known.rewrite is not None:
        found = known.rewrite(found)
    rankings = None if form is None else form == "rankings"
    try:
        layout = find_layout(found, options.given, known, need_outcomes=options.need_outcomes, rankings=rankings)
    except DataError as error:
        if error.message.code == "who-won-unclear" and options.need_outcomes:
            _refuse_labels(found, options)
        raise
    return (_of_rankings if layout.is_ranking else _of_rows)(found, layout, items, options)


def _refuse_labels(table: Table, options: Options) -> None:
    """Raise if rows are not compared, but have features and say which labels suit them."""
    labels = label_layout(table, options.given)
    if labels is not None:
        raise table.refuse(code="labels-and-no-comparisons").says(
            f"each row has features and {'its class' if labels.name == 'class' else 'the ranks of labels'} "
            f"({first_few(labels.columns)}), and no two things are compared",
            "Learn which labels suit which row with " + Setting("label_model"),
        )


def _of_svmlight(found: Content, items: Any, n_features: int | None, zero_based: bool) -> Reading:
    name = found.source
    if items is not None:
        raise DataError(code="svmlight-items", where=Place(name)).says(
            "rows of an SVMlight file bring their own features", "Leave out " + Setting("items")
        )
    ratings, grouped = parse_svmlight(found.data, name, n_features=n_features, zero_based=zero_based)
    groups = f"in {ratings.n_groups} groups (qid)" if grouped else "in one group, as no line has a qid"
    notes = (
        FileNote(name, f"SVMlight, {len(ratings):,} rows with {ratings.n_features:,} features {groups}."),
        "Outcomes: within a group, the row with the higher score (first number of the line) is preferred.",
    )
    return Reading(ratings, "svmlight", {}, notes, None, name)


def _of_preflib(found: Content, items: Any, options: Options) -> Reading:
    table, rankings, names = preflib_rankings(decode(found.data, found.source), found.source)
    suffix = os.path.splitext(found.path.removesuffix(".gz"))[1].lstrip(".").lower()  # noqa: PTH122 - of any text
    layout = Layout(f"preflib {suffix}" if suffix in ("soc", "soi", "toc", "toi") else "preflib", {})
    pairs, notes = ranked_pairs(table, rankings, layout.name, names)
    return _finish(table, layout, pairs, items, options, notes)


def _of_rankings(table: Table, layout: Layout, items: Any, options: Options) -> Reading:
    if options.scale_of_outcomes is not None:
        raise no_numbers(layout.name, table.source)
    roles, repeats = layout.roles, list[str]()
    if "item" not in roles:  # there, an item that is listed again is a mistake
        table = without_copies(table, layout, repeats, keep=options.repeated_rows == "keep")
    table = _without_empty(table, [], options, repeats)
    rankings = read_rankings(table, roles, layout.places)
    pairs, notes = ranked_pairs(table, rankings, layout.name)
    left = unused(table, [*roles.values(), *layout.places, *options.kept(table)])
    if left and items is None and _describe_rows(table, layout, options):
        left = [f"{left[0].removesuffix('.')}: they describe the rows, and this is one order for all rows."]
        left.append('"preflearn fit" learns orders that depend on them (in Python read_label_preferences reads them).')
    notes += [*left, *repeats]
    return _finish(table, layout, pairs, items, options, notes)


def _describe_rows(table: Table, layout: Layout, options: Options) -> bool:
    """Return whether the other columns are features of whoever ranked, from which rankings could be learned."""
    try:
        return label_layout(table, options.given) is not None
    except DataError:
        return False


def _of_rows(table: Table, layout: Layout, items: Any, options: Options) -> Reading:
    """Return the comparisons of rows; where there is a table of items, features on the rows are not used."""
    if items is not None and not isinstance(items, ItemEncoder):
        if layout.name.startswith("features"):
            raise table.refuse(code="items-of-unnamed-rows").says(
                "the rows have features but no names, so a table of items cannot be matched with them",
                "Leave out the table of items, or name the items in two columns (first,second)",
            )
        layout = replace(layout, features=())
    roles = layout.roles
    like = "" if layout.format is None or layout.format.scale is not None else f", as in files of {layout.format.name}"
    rows = f"{table.n_rows:,} row{'s' if table.n_rows != 1 else ''}"
    rows += f" in {len(table.files)} files" if len(table.files) > 1 else ""
    notes: list[str] = [FileNote(table.source, f"{rows} with the layout {layout.name}{like}.")]
    repeats: list[str] = []
    if options.need_outcomes:
        table = without_copies(table, layout, repeats, keep=options.repeated_rows == "keep")
    table = _without_empty(table, _needed(layout), options, notes)
    if layout.side_columns:
        titles = layout.side_columns
        one, other = (table.column(column, role) for column, role in zip(titles, layout.side_roles, strict=True))
    else:
        assert layout.sides is not None
        titles = layout.sides
        one, other = map(Cells.of, row_items(table, layout.features, titles))
    table, one, other = _without_self(table, one, other, options, notes)
    names, first, second = numbered_together(one, other)
    answers = read_answers(table, layout, (one, other), titles, options)
    notes += [*answers.notes, *repeats]
    features = None
    if layout.features:
        features, about = row_features(table, layout.features, (first, second), names)
        notes += about
    described = (column for pair in layout.features for column in (pair.first, pair.second))
    held = (column for one in layout.covariates for column in one.columns)
    notes += unused(table, [*roles.values(), *described, *held, *options.kept(table)])
    row = np.arange(len(table)) if answers.row is None else answers.row
    pairs = Pairs(names, first[row], second[row], answers.outcome, row, answers.weight)
    return _finish(table, layout, pairs, items, options, notes, features)


def _needed(layout: Layout) -> list[tuple[str, str]]:
    """Return what a comparison of a row cannot do without: roles with their columns."""
    # Beside a winner, nothing means no tie.
    spare = (*BESIDE, *(("ties",) if layout.decided else ()))
    needed = [(role, column) for role, column in layout.roles.items() if role not in spare]
    return needed + [("covariate", column) for one in layout.covariates for column in one.columns]


def _without_empty(table: Table, needed: list[tuple[str, str]], options: Options, notes: list[str]) -> Table:
    """Leave out, if asked to, rows without a cell that is needed, or without a category."""
    if options.missing != "drop":
        return table
    needed = [*needed, *(("category", column) for column in options.kept(table))]
    empty = {column: np.zeros(len(table), dtype=bool) for _, column in needed}
    for role, column in needed:
        cells = table.cells(column)
        empty[column] |= np.array([is_absent(cell, role) for cell in cells.distinct], dtype=bool)[cells.code]
    gone = np.any([*empty.values()], axis=0)
    if not gone.any():
        return table
    if gone.all():
        worst = sorted((column for column in empty if empty[column].any()), key=lambda column: -empty[column].sum())
        raise table.refuse(code="every-row-has-gaps").says(
            f"every row has an empty cell, most of them in {first_few(worst)}"
            if len(worst) > 1
            else f'every cell of column "{worst[0]}" is empty',
            "Name other columns, or fill the cells",
        )
    notes.append(Note(f"Dropped: {table.number(gone)} of {table.n_rows} rows with an empty cell.", "rows-left-out"))
    return table.take(np.flatnonzero(~gone).tolist())


def _without_self(
    table: Table, one: Cells, other: Cells, options: Options, notes: list[str]
) -> tuple[Table, Cells, Cells]:
    alike = one.same(other)
    same = np.flatnonzero(alike).tolist()
    if not same:
        return table, one, other
    n_alike = table.number(alike)
    what = f'"{one[same[0]][:60]}" is compared with itself ({n_alike} of {table.n_rows} rows)'
    if len(same) == len(one):
        raise table.fail(same[0], code="only-self-comparisons-in-rows").says(
            what, "Check that the two sides are different columns"
        )
    if options.self_comparisons == "error":
        raise table.fail(same[0], code="self-comparison-in-row").says(
            what, "Delete the rows", "leave out all such rows with " + Setting("self_comparisons", "drop")
        )
    text = f"Dropped: {n_alike} of {table.n_rows} comparisons of an item with itself."
    notes.append(Note(text, "self-comparisons-left-out"))
    keep = np.flatnonzero(~alike).tolist()
    return table.take(keep), one.take(keep), other.take(keep)


def _finish(
    table: Table,
    layout: Layout,
    pairs: Pairs,
    items: Any,
    options: Options,
    notes: list[str],
    features: Table | None = None,
) -> Reading:
    """Return the comparisons over their items; ``features`` are those of the items that stand on the rows."""
    values = {cell: value for column in layout.name_columns for cell, value in table.names(column).items()}
    known = known_items(items, pairs.names, [values.get(name, name) for name in pairs.names], features, options)
    rows = np.arange(len(pairs.names))
    if known.row is not None:
        line = np.full(len(pairs.names), len(table))
        for side in (pairs.first, pairs.second):
            np.minimum.at(line, side, pairs.row)
        occurs = {name: row for name, row in zip(pairs.names, line.tolist(), strict=True) if row < len(table)}
        lookup = known.find_rows(table, occurs)
        rows = np.array([lookup.get(name, -1) for name in pairs.names])
        same = np.flatnonzero(rows[pairs.first] == rows[pairs.second])
        if len(same):
            one, other = (pairs.names[side[same[0]]] for side in (pairs.first, pairs.second))
            raise table.fail(int(pairs.row[same[0]]), code="same-item-in-row").says(
                f'"{one[:60]}" and "{other[:60]}" are the same item', "Delete the row"
            )
    beside, about = _beside(table, layout, pairs)
    if table.times is not None:
        times = table.times[pairs.row]
        weight = beside["weight"]
        beside |= {"weight": times.astype(np.float64) if weight is None else times * weight, "times": times}
    data = Comparisons._from_fields(
        items=known.table.values,
        first=rows[pairs.first],
        second=rows[pairs.second],
        outcome=pairs.outcome,
        judges=None,
        names=known.table.names,
        feature_names=known.table.feature_names,
        n_items=known.table.n_items,
        **beside,
    )
    by = next((_labels(table, column, "category", pairs.row) for column in options.kept(table)), None)
    all_notes = (*notes, *known.notes, *about, *commas(table))
    return Reading(data, layout.name, layout.columns, all_notes, known.encoder, table.source, by)


def _labels(table: Table, column: str, role: str, row: NDArray[np.intp]) -> NDArray[Any]:
    """Return what a column says of each comparison; an empty cell raises."""
    cells, meaning = table.column(column, role), table.names(column)
    return label_array([meaning[cell] for cell in cells.distinct])[cells.code[row]]


def _beside(table: Table, layout: Layout, pairs: Pairs) -> tuple[dict[str, Any], list[str]]:
    """Return what stands beside the sides of every comparison (labels, weight, covariates), and notes about it."""
    fields: dict[str, Any] = dict.fromkeys(LABELS) | {"weight": pairs.weight, "group": pairs.group}
    notes = []
    for role in LABELS:
        column = layout.roles.get(role)
        if column is not None and fields[role] is None:
            fields[role] = _labels(table, column, role, pairs.row)
            notes.append(f'{role.capitalize()}s: column "{column}", {len(set(fields[role].tolist()))} of them.')
    column = layout.roles.get("weight")
    if column is not None:
        weight = table.numbers(column, "weight")
        bad = np.flatnonzero(weight < 0)
        if len(bad):
            raise table.fail(int(bad[0]), code="row-weight-negative").says(
                f'weight (column "{column}") is negative ({table.number(weight < 0)} of {table.n_rows} rows)',
                "Weights count how often a comparison was seen: give values >= 0",
            )
        if not weight.any():
            raise table.refuse(code="all-row-weights-zero").says(
                f'all {table.n_rows} weights (column "{column}") are zero', "Raise some of them"
            )
        fields["weight"] = weight[pairs.row] * (1.0 if pairs.weight is None else pairs.weight)
        total = f"{(weight if table.times is None else table.times * weight).sum():g} in total"
        notes.append(f'Weights: column "{column}", how many answers each row stands for, {total}.')
    if layout.covariates:
        values = [table.difference(*one.columns, role="covariate") for one in layout.covariates]
        fields["covariates"] = np.column_stack(values)[pairs.row]
        fields["covariate_names"] = tuple(one.name for one in layout.covariates)
        named = first_few(fields["covariate_names"], 8)
        notes.append(f"Covariates: {named}, the first side's numbers minus the second's.")
    return fields, notes


def check_feature_numbers(n_features: int, source: str) -> None:
    """Raise DataError where features are more than a model can have: a small file can have large feature numbers."""
    if n_features > MOST_FEATURES:
        raise DataError(code="too-many-features", where=Place(source)).says(
            f"the largest feature number is {n_features:,}, and a model can have {MOST_FEATURES:,} features",
            "Number them 1, 2, 3, ...",
        )
