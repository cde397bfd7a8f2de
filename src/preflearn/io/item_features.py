"""Features of the items that are compared: from a table of items, or from pairs of columns on each row.

Columns become numbers: one rule per column, learned once and applied to new tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import lock, object_array
from preflearn.data.sides import normal
from preflearn.data.tables import ItemTable, check_items
from preflearn.exceptions import DataWarning, FileNote, Place, Setting, first_few, nearest_names
from preflearn.io.columns import Cells
from preflearn.io.opening import open_table
from preflearn.io.read_options import Options, listed
from preflearn.io.roles import Pair
from preflearn.io.table import Table, numbers_of, tidy_number
from preflearn.table_format import plural

MOST_LEVELS = 20  # of a column of text; more are names or sentences
FLAGGED = 0.05  # from this share of missing numbers upwards, an indicator is added
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
            raise given.refuse(code="feature-of-training-missing").says(
                f"there is no column {first_few(missing)}, a feature that the model was trained with (columns: "
                f"{first_few(given.columns, 12)})",
                "Give the same columns as in training",
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
            DataWarning(code="new-category", where=Place(table.source)).warn(
                f'column "{column}" holds {first_few(unknown)}, which did not occur before (known: '
                f"{first_few(levels, 5)})",
                "Such items get zeros for this column",
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
        kind = column_kind(table, column)
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


def column_kind(table: Table, column: str) -> str:
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
        raise table.fail(row, code="word-among-numbers").says(
            f'column "{column}" holds "{table.cells(column)[row][:60]}" among numbers',
            "Correct it, empty the cell if the number is missing, or leave the column out: "
            + Setting("columns", {"without": column}),
        )
    if len(levels) == 1:
        return "the same for all items"
    if len(levels) == len(present):
        return "as many different values as items, so a label"
    return "category" if len(levels) <= MOST_LEVELS else f"text with more than {MOST_LEVELS} different values"


def _numeric(table: Table, column: str) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where missing; words and infinite numbers raise."""
    cells = table.cells(column)
    cells = cells.changed(lambda cell: _TRUE.get(cell.casefold(), cell))
    values = table.as_numbers(column, cells)
    if values is None or np.isinf(values).any():
        for cell in cells.distinct:
            one = numbers_of([cell], table.delimiter)
            if one is None or np.isinf(one[0]):
                raise table.fail(cells.index(cell), code="feature-not-a-number").says(
                    f'column "{column}" holds "{cell[:60]}", which is not a finite number',
                    "Correct it, or empty the cell if the number is missing",
                )
        raise table.refuse(code="commas-and-points").says(
            f'column "{column}" mixes decimal commas and points', "Write all numbers the same way"
        )
    return values


def _deviation(table: Table, column: str, values: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        deviation = float(np.nanstd(values))
    if not 1e-150 < deviation < 1e150:
        raise table.refuse(code="feature-too-wide").says(
            f'the standard deviation of column "{column}" is {deviation:.3g}, which cannot be scaled',
            "Change its unit, or leave it out: " + Setting("columns", {"without": column}),
        )
    return deviation


NAME_WORDS = ("item", "name", "id", "item_id", "item_name")
_VARYING = 0.2  # above this share of the repeated items, a feature that changes belongs to the row, not to the item


class Known(NamedTuple):
    """Items with their features, how these were encoded, notes, the row of each name (None: the names that occur)."""

    table: ItemTable
    encoder: ItemEncoder | None = None
    notes: Sequence[str] = ()
    row: dict[str, int] | None = None
    source: str = ""

    def find_rows(self, table: Table, where: dict[str, int]) -> dict[str, int]:
        """Return the row of each name; an unknown one raises with the row of the table ``where`` it occurs."""
        assert self.row is not None
        tidy = {tidy_number(name): row for name, row in self.row.items()}
        found = {name: self.row.get(name, tidy.get(tidy_number(name))) for name in where}
        unknown = [name for name, row in found.items() if row is None]
        if unknown:
            nearest = nearest_names(unknown[0], self.row)
            numbers = f", numbered 0..{len(self.row) - 1}" if self.table.names is None else ""
            more = (
                f"{numbers}; {len(unknown) - 1} more such name{'s' if len(unknown) > 2 else ''}"
                if len(unknown) > 1
                else numbers
            )
            raise table.fail(where[unknown[0]], code="item-not-in-table").says(
                f'"{unknown[0][:60]}" is not in {self.source} ({len(self.row)} '
                f"items{'; ' + nearest if nearest else ''}{more})",
                "Correct the name, or add the item",
            )
        return {name: row for name, row in found.items() if row is not None}


def read_items(source: Any, *, name: str | None = None, features: Sequence[str] | None = None) -> ItemTable:
    r"""Read a table of items: one row per item, a column of names, numeric features.

    Parameters
    ----------
    source : str, path, data frame, list of rows or dict of columns
        Of files: CSV (delimiter ``,`` ``;`` tab or ``|``, UTF-8, with a header, gzip allowed), JSON lines or Parquet.
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
    table = open_table(source, "read_items")
    if table is None:
        raise TypeError(
            f"read_items: source must be a path, a data frame, a list of rows or a dict of columns; got "
            f"{type(source).__name__}."
        )
    chosen = list(table.columns) if features is None else [table.find(feature) for feature in features]
    column = _name_column(table) if name is None else table.find(name, "name")
    names = None
    if column is not None:
        cells, meaning = table.column(column, "name"), table.names(column)
        check_distinct(table, cells)
        names = object_array([meaning[cell] for cell in cells])
    # A first column without a header is a row number, never a feature.
    chosen = [feature for feature in chosen if feature not in (column, "") or features is not None]
    if not chosen:
        return ItemTable(None, lock(names), None, len(table))
    values = np.column_stack([table.numbers(feature) for feature in chosen])
    return ItemTable(lock(values), lock(names), tuple(chosen), len(table))


def known_items(items: Any, used: list[str], names: list[Any], features: Table | None, options: Options) -> Known:
    """Return the items that were given, or those that occur with the ``features`` that stand on their rows."""
    if items is None or isinstance(items, ItemEncoder):
        table = ItemTable(None, lock(object_array(names)), None, len(names))
        return Known(table) if features is None else _of_rows(features, table, items, options.scale)
    given = None if isinstance(items, ItemTable) else open_table(items, options.owner)
    if given is None:
        return _as_given(check_items(items, options.owner), options.items_name)
    return _of_table(given, used, options)


def _as_given(items: ItemTable, source: str) -> Known:
    if items.names is None:
        row = {str(number): number for number in range(items.n_items)}
        return Known(items, None, [f"Items: {items.n_items} rows, compared by row number."], row, source)
    return Known(items, None, (), {str(name): number for number, name in enumerate(items.names)}, source)


def _name_column(table: Table) -> str | None:
    """Return the column of names: text called item, name or id; a first column without header; else any text."""
    by_word = {column.lower(): column for column in table.columns}
    called = [by_word[word] for word in NAME_WORDS if word in by_word]
    text = [column for column in table.columns if not _all_numbers(table.cells(column))]
    unnamed = [table.columns[0]] if table.columns[0] == "" else []
    ordered = [c for c in called if c in text] + [c for c in unnamed if c in text] + called + text
    return ordered[0] if ordered else None


def _all_numbers(cells: Cells) -> bool:
    return numbers_of(cells) is not None


def check_distinct(table: Table, names: Sequence[str]) -> None:
    """Raise for an item that is listed twice."""
    seen: dict[str, int] = {}
    for row, name in enumerate(names):
        if seen.setdefault(name, row) != row:
            raise table.fail(row, code="item-listed-twice").says(
                f'item "{name}" was listed already ({table.word} {table.line[seen[name]]})', "List every item once"
            )


def _of_table(table: Table, used: Sequence[str], options: Options) -> Known:
    """Return the items of a table; ``used`` are the names that are compared, which say which column holds the names."""
    name, scale = options.given.get("name"), options.scale
    column = _name_column(table) if name is None else table.find(name, "name")
    if name is None:
        wanted = {tidy_number(cell) for cell in used}
        holding = [c for c in table.columns if _holds(table.cells(c), wanted)]
        # The column that is called so comes first; else the one that holds all names.
        if column not in holding and len(holding) > 1:
            raise table.refuse(code="several-name-columns").says(
                f"the columns {first_few(holding, 6)} could all hold the names of the items",
                "Name one: " + Setting("columns", {"name": holding[0]}),
            )
        column = column if column in holding or not holding else holding[0]
    if column is None:
        raise table.refuse(code="no-name-column").says(
            f"no column holds the names of the items ({first_few(table.columns, 8)}; the names are such as "
            f"{first_few(used)})",
            "Add a column item with these names",
        )
    table, remarks = _without_remarks(table, column, used)
    cells = table.column(column, "name")
    check_distinct(table, cells)
    left_out = [table.find(c, "a column to leave out") for c in listed(options.given.get("without"))]
    features = [c for c in table.columns if c not in (column, "", *left_out)]
    encoder, about = fit_encoder(table, column, features, scale=scale)
    items = encoder.transform(table)
    row = {cell: place for place, cell in enumerate(cells)}
    head = f'{len(cells)} items, named by column "{column}"; {described(encoder, scale)}'
    notes = [FileNote(table.source, head), *remarks, *about, *commas(table)]
    return Known(items, encoder, notes, row, table.source if table.is_file else options.items_name)


def _holds(cells: Cells, wanted: set[str]) -> bool:
    tidy = {tidy_number(cell) for cell in cells.distinct}
    return wanted <= tidy and len(tidy) == len(cells)


def described(encoder: ItemEncoder, scale: bool) -> str:
    """Return a clause about the features."""
    names = encoder.feature_names
    if not names:
        return "no features."
    units = "; numbers are divided by their standard deviation" if scale and any(s != 1 for s in encoder.scale) else ""
    listed = f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"
    return f"{len(names)} feature{'s' if len(names) > 1 else ''}: {listed}{units}."


def _without_remarks(table: Table, column: str, used: Sequence[str]) -> tuple[Table, list[str]]:
    """Leave out rows with a single cell that no comparison names, such as a line of notes below a table."""
    rows = list(zip(*(table.cells(c) for c in table.columns), strict=True))
    names = table.cells(column)
    if len(table.columns) < 3 or not any("" in row for row in rows):
        return table, []
    wanted = set(used)
    empty = [place for place, cells in enumerate(rows) if names[place] not in wanted and sum(map(bool, cells)) < 2]
    if not empty or len(empty) == len(table):
        return table, []
    gone = set(empty)
    remarks = first_few([next((cell for cell in rows[place] if cell), "") for place in empty])
    note = f"Left out: {len(empty)} row{'s' if len(empty) > 1 else ''} without any feature ({remarks})."
    return table.take([row for row in range(len(table)) if row not in gone]), [note]


def row_features(
    table: Table, pairs: Sequence[Pair], codes: tuple[NDArray[np.intp], NDArray[np.intp]], names: list[str]
) -> tuple[Table | None, list[str]]:
    """Return a table of items from columns on each row; a feature that changes for many items is left out."""
    both = np.concatenate(codes)
    order = np.argsort(both, kind="stable")
    n_rows = len(table)
    columns: dict[str, list[str]] = {}
    varying: list[str] = []
    lines = np.zeros(len(names), dtype=np.intp)
    lines[both[::-1]] = np.tile(np.arange(n_rows), 2)[::-1]
    counts = np.bincount(both, minlength=len(names))
    for pair in pairs:
        cells = [*table.cells(pair.first), *table.cells(pair.second)]
        seen: dict[int, tuple[str, int]] = {}
        odd: dict[int, tuple[str, int, str, int]] = {}
        for place in order.tolist():
            cell, item = cells[place], int(both[place])
            if cell.casefold() in MISSING or item in odd:
                continue
            before = seen.setdefault(item, (cell, place))
            if before[0] != cell and tidy_number(before[0]) != tidy_number(cell):
                odd[item] = (*before, cell, place)
        if odd and len(odd) > _VARYING * np.count_nonzero(counts > 1):
            varying.append(pair.stem)
        elif odd:
            item, (was, one, now, other) = next(iter(odd.items()))
            raise table.fail(other % n_rows, code="item-feature-changes").says(
                f'"{names[item]}" has {pair.stem} "{now[:40]}" here and "{was[:40]}" in {table.word} '
                f"{table.line[one % n_rows]} ({plural(len(odd), 'such item')})",
                "Correct one, or use no features: " + Setting("columns", {"features": "none"}),
            )
        else:
            columns[pair.stem] = [seen[item][0] if item in seen else "" for item in range(len(names))]
    notes = []
    if varying:
        notes.append(
            f"Left out: {first_few(varying, 8)} (differs between rows of one item, so it is not a feature of the item)."
        )
    if not columns:
        return None, notes
    where = [table.line[row] for row in lines.tolist()]
    text = {name: Cells.of(cells) for name, cells in columns.items()}
    found = replace(table, columns=tuple(columns), values=columns.__getitem__, line=where, commas=[], text=text)
    return found, notes


def row_items(table: Table, pairs: Sequence[Pair], words: tuple[str, str]) -> tuple[list[str], list[str]]:
    """Return a name for the item on each side of every row: those whose features are all there and equal are one."""
    sides = [
        list(zip(*(table.cells(column) for column in columns), strict=True))
        for columns in ([pair.first for pair in pairs], [pair.second for pair in pairs])
    ]
    names: dict[tuple[str, ...], str] = {}
    named: tuple[list[str], list[str]] = ([], [])
    for row, features in enumerate(zip(*sides, strict=True)):
        for values, word, into in zip(features, words, named, strict=True):
            own = f"{table.word} {table.line[row]} {word}"
            known = not any(value.casefold() in MISSING for value in values)
            into.append(names.setdefault(values, own) if known else own)
    return named


def _of_rows(features: Table, named: ItemTable, encoder: ItemEncoder | None, scale: bool) -> Known:
    """Return the items whose features stood on the rows of the comparisons, encoded as before if that is given."""
    notes: list[str] = []
    if encoder is None:
        encoder, notes = fit_encoder(features, None, features.columns, scale=scale)
    else:
        scale = False
    about = f"Features of the items stand on the rows; {described(encoder, scale)}"
    return Known(encoder.transform(features)._replace(names=named.names), encoder, [about, *notes, *commas(features)])


def commas(table: Table) -> list[str]:
    """Return a sentence about columns with decimal commas."""
    return [f"Commas in {first_few(table.commas, 8)} were read as decimal points."] if table.commas else []


def unused(table: Table, used: Sequence[str]) -> list[str]:
    """Return a sentence about the columns that were not used."""
    rest = [column for column in (*table.columns, *table.not_read) if column and column not in used and normal(column)]
    return [f"Not used: {first_few(rest, 8)}."] if rest else []
