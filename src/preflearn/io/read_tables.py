"""Readers of CSV and Parquet: item tables and comparisons."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from preflearn.data.checks import check_choice, lock, object_array
from preflearn.data.comparisons import Comparisons
from preflearn.data.item_table import ItemTable, check_items
from preflearn.exceptions import DataWarning, warn_user
from preflearn.io.bytes import path_text
from preflearn.io.item_features import check_distinct, name_column
from preflearn.io.reading import read_with
from preflearn.io.roles import named_roles
from preflearn.io.scales import named_scale
from preflearn.io.statements import Options
from preflearn.io.table import read_table

__all__ = ["read_comparisons", "read_items"]


def read_items(path: Any, *, name: str | None = None, features: Sequence[str] | None = None) -> ItemTable:
    r"""Read a table of items: one row per item, a column of names, numeric features.

    Parameters
    ----------
    path : str or path
        CSV (delimiter ``,`` ``;`` tab or ``|``, UTF-8, with a header, gzip allowed) or ``.parquet``.
    name : str, default=None
        Column of the names. By default a text column called item, name or id; else a first column without a header
        that holds text; else a column of numbers called item, name or id; else the first text column.
    features : sequence of str, default=None
        Columns to use as features; by default all others, which must then be numbers.

    Returns
    -------
    ItemTable
        With ``values``, ``names``, ``feature_names`` and ``n_items``; `Comparisons` takes it as ``items``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from preflearn.io import read_items
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "items.csv")
    ...     _ = path.write_text("item,height,weight\nann,1.6,55\nbob,1.8,80\n")
    ...     read_items(path).feature_names
    ('height', 'weight')
    """
    table = read_table(path_text(path, "read_items"))
    chosen = list(table.columns) if features is None else [table.find(feature) for feature in features]
    column = name_column(table) if name is None else table.find(name, "name")
    names = None
    if column is not None:
        names = object_array(table.column(column, "name"))
        check_distinct(table, names.tolist())
    # A first column without a header is a row number, never a feature.
    chosen = [feature for feature in chosen if feature not in (column, "") or features is not None]
    if not chosen:
        return ItemTable(None, lock(names), None, len(table))
    values = np.column_stack([table.numbers(feature) for feature in chosen])
    return ItemTable(lock(values), lock(names), tuple(chosen), len(table))


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
    for option, value in (("missing", missing), ("self_comparisons", self_comparisons)):
        check_choice(value, ("error", "drop"), option, owner)
    check_choice(repeated_rows, ("drop", "keep"), "repeated_rows", owner)
    source = path_text(path, owner)
    options = Options(
        named_roles(columns, owner),
        need_outcomes=True,
        lower_wins=False,
        margins=True,
        drop_missing=missing == "drop",
        drop_self=self_comparisons == "drop",
        scale=False,
        owner=owner,
        scale_of_outcomes=named_scale(outcomes, owner),
        keep_repeats=repeated_rows == "keep",
    )
    if isinstance(items, str | os.PathLike):
        options = options._replace(items_name=path_text(items, owner))
        items = read_items(items)
    elif items is not None:
        items = check_items(items, owner)
    reading = read_with(options, source, items, form="comparisons")
    for sentence in reading.told:
        if "share of the win" in sentence or sentence.startswith("Dropped"):
            warn_user(f"{source}: {sentence}", DataWarning)
    assert isinstance(reading.data, Comparisons)
    return reading.data
