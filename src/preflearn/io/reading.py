"""The front door: a file, data frame or list of preferences is recognised, read, and described in sentences."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from preflearn.data.comparisons import Comparisons
from preflearn.data.fields import check_choice
from preflearn.data.item_table import check_items
from preflearn.data.ratings import Ratings
from preflearn.exceptions import DataError, DataWarning, Note, Place, Setting, warn_user
from preflearn.io.bytes import decode, is_path, path_text
from preflearn.io.encode import ItemEncoder
from preflearn.io.formats import find_format
from preflearn.io.formats.preflib import preflib_rankings
from preflearn.io.item_features import read_items
from preflearn.io.layout import find_layout
from preflearn.io.opening import Content, open_source
from preflearn.io.outcomes import no_numbers
from preflearn.io.read_options import Options
from preflearn.io.statements import Statements, compare, rank
from preflearn.io.svmlight import parse_svmlight
from preflearn.io.table import Table

__all__ = ["Reading", "read_comparisons", "read_preferences", "read_with"]

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
            warn_user(DataWarning(sentence, code=sentence.code, where=Place(source)))
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
        raise DataError(
            f"{source!r} cannot be both the preferences and the items",
            "Give two files",
            code="same-preferences-and-items",
            owner=options.owner,
        )
    found = open_source(source, options.owner, form)
    if options.by is not None and isinstance(found, Content):
        raise DataError(
            Setting("by", options.by) + " names a column, and this file has none",
            "Give a table",
            code="category-without-columns",
            where=Place(found.source),
        )
    if isinstance(found, Content) and found.kind == "svmlight":
        return _of_svmlight(found, items, options, n_features, zero_based)
    for option, said in (("n_features", n_features is not None), ("zero_based", zero_based)):
        if said and found.is_file:
            raise DataError(
                Setting(option) + " is for SVMlight files, and this is a table",
                "Leave it out",
                code="option-of-svmlight",
                where=Place(found.source),
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
    return compare(table, layout, options, known=items is not None and not isinstance(items, ItemEncoder))


def _of_preflib(found: Content, options: Options) -> Statements:
    if options.scale_of_outcomes is not None:
        raise no_numbers("a PrefLib file", found.source)
    table, rankings, names = preflib_rankings(decode(found.data, found.source), found.source)
    suffix = os.path.splitext(found.path.removesuffix(".gz"))[1].lstrip(".").lower()  # noqa: PTH122 - of any text
    layout = f"preflib {suffix}" if suffix in ("soc", "soi", "toc", "toi") else "preflib"
    return rank(table, rankings, layout, {}, names)


def _of_svmlight(found: Content, items: Any, options: Options, n_features: int | None, zero_based: bool) -> Reading:
    name = found.source
    if items is not None:
        raise DataError(
            "rows of an SVMlight file bring their own features",
            "Leave out " + Setting("items"),
            code="svmlight-items",
            where=Place(name),
        )
    if options.given:
        raise DataError(
            "an SVMlight file has no columns to name",
            "Leave out " + Setting("columns"),
            code="svmlight-columns",
            where=Place(name),
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
