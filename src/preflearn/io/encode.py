"""Columns of an item table become numbers: one rule per column, learned once and applied to new tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import lock, object_array
from preflearn.data.item_table import ItemTable
from preflearn.data.outcome_words import normal
from preflearn.exceptions import DataWarning, Place, first_few, warn_user
from preflearn.io.opening import open_table
from preflearn.io.roles import override
from preflearn.io.table import Table, numbers_of

__all__ = ["ItemEncoder", "fit_encoder"]

MOST_LEVELS = 20  # of a column of text; more are names or sentences
FLAGGED = 0.05  # share of missing numbers from which on an indicator is added
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}/\d{1,2}/\d{1,2}")
MISSING = frozenset(("", "na", "n/a", "nan", "null", "#n/a", "?", "<na>"))
_TRUE = {"true": "1", "yes": "1", "false": "0", "no": "0"}
_IDS = frozenset(("id", "itemid", "index", "no", "nr", "number", "key", "row", "rownumber", "uid"))


@dataclass(frozen=True)
class ItemEncoder:
    """How the columns of an item table became numbers; the same can be done to new tables.

    `read_preferences` learns it. It holds plain data only and can be stored as JSON.

    Parameters
    ----------
    name : str or None
        Column of the names of the items.
    columns : tuple of str
        Columns that are used, in order.
    levels : tuple
        For each column None if it is a number, else its categories: one feature, 0 or 1, for each.
    fill : tuple of float
        For each column the number in place of a missing one (the median).
    flagged : tuple of bool
        For each column whether a further feature says (1) that the number was missing.
    scale : tuple of float
        For each column what it is divided by: its standard deviation, or 1.

    Notes
    -----
    A category that was not there before, or is missing, has zeros for all its features.
    Columns of 0 and 1 are never scaled.

    Examples
    --------
    >>> from preflearn.io import ItemEncoder
    >>> encoder = ItemEncoder("item", ("size", "kind"), (None, ("cat", "dog")), (2.0, 0.0), (False, False), (1.0, 1.0))
    >>> import pandas as pd
    >>> encoder.transform(pd.DataFrame({"item": ["tom", "rex"], "size": [1.0, None], "kind": ["cat", "dog"]})).values
    array([[1., 1., 0.],
           [2., 0., 1.]])
    >>> encoder.feature_names
    ('size', 'kind=cat', 'kind=dog')
    """

    name: str | None
    columns: tuple[str, ...]
    levels: tuple[tuple[str, ...] | None, ...]
    fill: tuple[float, ...]
    flagged: tuple[bool, ...]
    scale: tuple[float, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        names: list[str] = []
        for column, levels, flagged in zip(self.columns, self.levels, self.flagged, strict=True):
            names += [column] if levels is None else [f"{column}={level}" for level in levels]
            names += [f"{column} missing"] if flagged else []
        return tuple(names)

    @property
    def feature_scales(self) -> tuple[float, ...]:
        """What each feature was divided by; 1 for those that are 0 or 1."""
        scales: list[float] = []
        for levels, flagged, scale in zip(self.levels, self.flagged, self.scale, strict=True):
            scales += [scale] if levels is None else [1.0] * len(levels)
            scales += [1.0] if flagged else []
        return tuple(scales)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as lists, strings and numbers, for JSON."""
        fields = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        return fields | {"levels": [None if level is None else list(level) for level in self.levels]}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the encoder that ``to_dict`` wrote."""
        plain: dict[str, Any] = {key: tuple(value) for key, value in fields.items() if key not in ("name", "levels")}
        levels = tuple(None if level is None else tuple(level) for level in fields["levels"])
        return cls(name=fields["name"], levels=levels, **plain)

    def transform(self, table: Any) -> ItemTable:
        """Return names and features of a new table (path, ``-`` or data frame); missing columns raise.

        Warns
        -----
        DataWarning
            If a column holds categories that were not there when the encoder was fitted.
        """
        given = open_table(table, "ItemEncoder")
        if given is None:
            raise TypeError(f"ItemEncoder: path must be a string or a path; got {type(table).__name__}.")
        known = {normal(column) for column in given.columns}
        missing = [column for column in self.columns if normal(column) not in known]
        if missing:
            raise given.refuse(
                f"there is no column {first_few(missing)}, a feature that the model was trained with (columns: "
                f"{first_few(given.columns, 12)})",
                "Give the same columns as in training",
                code="feature-of-training-missing",
            )
        names = None
        if self.name is not None:
            column = given.find(self.name, "the names of the items")
            given.column(column, "name")
            meaning = given.names(column)
            names = object_array([meaning[cell] for cell in given.cells(column)])
        parts = [self._encode(given, place) for place in range(len(self.columns))]
        values = np.column_stack(parts) if parts else None
        return ItemTable(lock(values), lock(names), self.feature_names if parts else None, len(given))

    def _encode(self, table: Table, place: int) -> NDArray[np.float64]:
        """Return the features of one column."""
        column, levels = table.find(self.columns[place]), self.levels[place]
        if levels is None:
            values = _numeric(table, column)
            missing = np.isnan(values)
            filled = np.where(missing, self.fill[place], values) / self.scale[place]
            return np.column_stack([filled, missing.astype(float)]) if self.flagged[place] else filled[:, None]
        cells = [cell if cell.casefold() not in MISSING else "" for cell in table.cells(column)]
        unknown = sorted(set(cells) - set(levels) - {""})
        if unknown:
            warn_user(
                DataWarning(
                    f'column "{column}" holds {first_few(unknown)}, which did not occur before (known: '
                    f"{first_few(levels, 5)})",
                    "Such items get zeros for this column",
                    code="new-category",
                    where=Place(table.source),
                )
            )
        lookup = {level: number for number, level in enumerate(levels)}
        codes = np.array([lookup.get(cell, -1) for cell in cells])
        encoded: NDArray[np.float64] = (codes[:, None] == np.arange(len(levels))).astype(np.float64)
        return encoded


def fit_encoder(
    table: Table, name: str | None, columns: Sequence[str], *, scale: bool = True
) -> tuple[ItemEncoder, list[str]]:
    """Return how to encode the columns of a table, and notes about what is encoded, filled in and left out."""
    rules: list[tuple[str, tuple[str, ...] | None, float, bool, float]] = []
    left_out: dict[str, list[str]] = {}
    filled: list[str] = []
    encoded: list[str] = []
    for column in columns:
        cells = table.cells(column)
        kind = _kind(table, column)
        if kind == "number":
            values = _numeric(table, column)
            present = values[~np.isnan(values)]
            if len(np.unique(present)) < 2:
                left_out.setdefault("the same for all items" if len(present) else "empty", []).append(column)
                continue
            if normal(column) in _IDS and len(np.unique(present)) == len(table):
                left_out.setdefault("numbers the items", []).append(column)
                continue
            share = 1.0 - len(present) / len(values)
            if share:
                indicator = ", with an indicator" if share > FLAGGED else ""
                filled.append(f"{column} ({len(values) - len(present)}{indicator})")
            binary = set(np.unique(present).tolist()) == {0.0, 1.0}
            deviation = _deviation(table, column, values) if scale and not binary else 1.0
            rules.append((column, None, float(np.median(present)), share > FLAGGED, deviation))
        elif kind == "category":
            levels = tuple(sorted({cell for cell in cells if cell.casefold() not in MISSING}))
            rules.append((column, levels, 0.0, False, 1.0))
            encoded.append(f"{column} ({len(levels)} categories)")
        else:
            left_out.setdefault(kind, []).append(column)
    parts = tuple(zip(*rules, strict=True)) or ((),) * 5
    notes = [f"Encoded as 0 and 1: {', '.join(encoded)}."] if encoded else []
    notes += [f"Missing numbers filled in by the median: {', '.join(filled)}."] if filled else []
    for reason, names in left_out.items():
        notes.append(f"Left out: {first_few(names, 8)} ({reason}).")
    return ItemEncoder(name, *parts), notes


def _kind(table: Table, column: str) -> str:
    """Return "number", "category", or why a column is left out; numbers with a few words among them raise."""
    present = [cell for cell in table.cells(column) if cell.casefold() not in MISSING]
    if numbers_of(present, table.delimiter) is not None or {cell.casefold() for cell in present} <= _TRUE.keys():
        return "number"
    if all(_DATE.fullmatch(cell) for cell in present):
        return "dates; turn them into numbers, such as days, to use them"
    levels = set(present)
    numeric = {cell for cell in levels if numbers_of([cell], table.delimiter) is not None}
    if sum(cell in numeric for cell in present) >= 0.5 * len(present):
        row = next(
            row
            for row, cell in enumerate(table.cells(column))
            if cell.casefold() not in MISSING and numbers_of([cell], table.delimiter) is None
        )
        raise table.fail(
            row,
            f'column "{column}" holds "{table.cells(column)[row][:60]}" among numbers',
            "Correct it, empty the cell if the number is missing, or leave the column out: "
            + override({"without": column}),
            code="word-among-numbers",
        )
    if len(levels) == 1:
        return "the same for all items"
    if len(levels) == len(present):
        return "as many different values as items, so a label"
    return "category" if len(levels) <= MOST_LEVELS else f"text with more than {MOST_LEVELS} different values"


def _numeric(table: Table, column: str) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where missing; words and infinite numbers raise."""
    cells = table.cells(column)
    if any(cell.casefold() in _TRUE for cell in set(cells)):
        cells = [_TRUE.get(cell.casefold(), cell) for cell in cells]
    values = table.as_numbers(column, cells)
    if values is None or np.isinf(values).any():
        for row, cell in enumerate(cells):
            one = numbers_of([cell], table.delimiter)
            if one is None or np.isinf(one[0]):
                raise table.fail(
                    row,
                    f'column "{column}" holds "{cell[:60]}", which is not a finite number',
                    "Correct it, or empty the cell if the number is missing",
                    code="feature-not-a-number",
                )
        raise table.refuse(
            f'column "{column}" mixes decimal commas and points',
            "Write all numbers the same way",
            code="commas-and-points",
        )
    return values


def _deviation(table: Table, column: str, values: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        deviation = float(np.nanstd(values))
    if not 1e-150 < deviation < 1e150:
        raise table.refuse(
            f'column "{column}" spreads over {deviation:.3g}, beyond what can be scaled',
            "Change its unit, or leave it out: " + override({"without": column}),
            code="feature-too-wide",
        )
    return deviation
