"""The front door: a file, data frame or list of preferences is recognised, read, and described in sentences."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from preflearn.data.checks import check_choice
from preflearn.data.comparisons import Comparisons
from preflearn.data.ratings import Ratings
from preflearn.exceptions import DataError
from preflearn.io.bytes import STANDARD_INPUT, decode, kind_of, path_text, read_bytes
from preflearn.io.encode import ItemEncoder
from preflearn.io.layout import find_layout
from preflearn.io.objects import table_of
from preflearn.io.rankings import preflib_rankings
from preflearn.io.roles import named_roles
from preflearn.io.scales import named_scale
from preflearn.io.statements import NO_NUMBERS, Options, Statements, compare, rank
from preflearn.io.svmlight import parse_svmlight
from preflearn.io.table import Table, parse_table

__all__ = ["Reading", "read_preferences"]

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
    told : tuple of str
        Sentences for a person: what was recognised, how outcomes were read, what was encoded, filled in and left out.
    encoder : ItemEncoder or None
        How columns of the item table became features, for new items.
    source : str
        Name of the file or table in messages.

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
    told: tuple[str, ...]
    encoder: ItemEncoder | None
    source: str

    def __str__(self) -> str:
        return "\n".join(self.told)


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
        judge; ranking; item and place; name (of the items' table) and without (its columns to leave out); features
        (pairs on each row, as in "x+y", or "none").
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
    >>> print(reading.told[1])
    Outcomes: columns "home_score" and "away_score" are scores: the higher wins, equal is a tie. First ("home_team")
    won 1, second ("away_team") 0, ties 1.
    """
    owner = "read_preferences"
    for option, value in (("missing", missing), ("self_comparisons", self_comparisons)):
        check_choice(value, ("error", "drop"), option, owner)
    check_choice(repeated_rows, ("drop", "keep"), "repeated_rows", owner)
    drop = missing == "drop", self_comparisons == "drop"
    options = Options(
        named_roles(columns, owner),
        need_outcomes,
        lower_wins,
        margins,
        *drop,
        scale,
        owner,
        scale_of_outcomes=named_scale(outcomes, owner),
        keep_repeats=repeated_rows == "keep",
    )
    return read_with(options, source, items, form=form, n_features=n_features, zero_based=zero_based)


def read_with(
    options: Options,
    source: Any,
    items: Any,
    *,
    form: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
) -> Reading:
    """Do what `read_preferences` does, with checked options."""
    owner = options.owner
    if form is not None:
        check_choice(form, _FORMS, "form", owner)
    if source is items and isinstance(source, str):
        raise DataError(f"{owner}: {source!r} cannot be both the preferences and the items. Give two files.")
    table = None if isinstance(source, str | os.PathLike) else table_of(source, owner, "data frame")
    if table is not None:
        if form in ("preflib", "svmlight"):
            raise DataError(f"{owner}: {table.source} cannot be a {form} file. Leave out form, or give a path.")
        return _of_table(table, items, options, form)
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            f"{owner}: source must be a path, -, a data frame, a list of pairs (winner, loser) or of rows, a dict of "
            f"columns or an array of names; got {type(source).__name__}."
        )
    path = path_text(source, owner)
    return read_content(options, read_bytes(path), path, items, form=form, n_features=n_features, zero_based=zero_based)


def read_content(
    options: Options,
    data: bytes,
    path: str,
    items: Any = None,
    *,
    form: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
) -> Reading:
    """Read the content of a file; its path is for messages, and its ending says what it holds."""
    name = STANDARD_INPUT if path == "-" else path
    kind = kind_of(data[: 1 << 16], path)
    if form == "svmlight" or (form is None and kind == "svmlight"):
        return _of_svmlight(data, name, items, options, n_features, zero_based)
    for option, told in (("n_features", n_features is not None), ("zero_based", zero_based)):
        if told:
            raise DataError(f"{name}: {option} is for SVMlight files, and this is a table. Leave it out.")
    if form == "preflib" or (form is None and kind == "preflib"):
        if options.scale_of_outcomes is not None:
            raise DataError(f"{name}: {NO_NUMBERS.format('a PrefLib file')}")
        rows, rankings, names = preflib_rankings(decode(data, name), name)
        suffix = os.path.splitext(path.removesuffix(".gz"))[1].lstrip(".").lower()  # noqa: PTH122 - of any text
        layout = f"preflib {suffix}" if suffix in ("soc", "soi", "toc", "toi") else "preflib"
        return _reading(rank(rows, rankings, layout, {}, names), rows, items, options)
    return _of_table(parse_table(data, name, kind if kind in ("json", "parquet") else "table"), items, options, form)


def _of_table(table: Table, items: Any, options: Options, form: str | None) -> Reading:
    layout = find_layout(
        table,
        options.given,
        need_outcomes=options.need_outcomes,
        rankings=None if form is None else form == "rankings",
    )
    statements, rows = compare(table, layout, options, known=items is not None and not isinstance(items, ItemEncoder))
    return _reading(statements, rows, items, options)


def _reading(statements: Statements, table: Table, items: Any, options: Options) -> Reading:
    data, encoder, told = statements.with_items(table, items, options)
    return Reading(data, statements.layout, statements.columns, tuple(told), encoder, table.source)


def _of_svmlight(
    data: bytes, name: str, items: Any, options: Options, n_features: int | None, zero_based: bool
) -> Reading:
    if items is not None:
        raise DataError(f"{name}: rows of an SVMlight file bring their own features. Leave out the items.")
    if options.given:
        raise DataError(f"{name}: an SVMlight file has no columns to name. Leave out columns.")
    if options.scale_of_outcomes is not None:
        raise DataError(f"{name}: {NO_NUMBERS.format('an SVMlight file')}")
    ratings, grouped = parse_svmlight(data, name, n_features=n_features, zero_based=zero_based)
    groups = f"in {ratings.n_groups} groups (qid)" if grouped else "in one group, as no line has a qid"
    told = (
        f"{name}: SVMlight, {len(ratings)} rows with {ratings.n_features} features {groups}.",
        "Outcomes: within a group, the row with the higher score (first number of the line) is preferred.",
    )
    return Reading(ratings, "svmlight", {}, told, None, name)
