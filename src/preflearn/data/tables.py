"""Tables of numbers, checked: features of items and of judges, and covariates of comparisons.

Arrays, sparse matrices and data frames of any library become one kind of table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse

from preflearn.data.fields import cells_text, check_length, lock, repeated, unmask
from preflearn.exceptions import DataError, first_few, nearest_names
from preflearn.items import as_items, is_sparse

if TYPE_CHECKING:
    from preflearn.data.bags import Bags

    ItemArray: TypeAlias = NDArray[np.float64] | sparse.csr_array[np.float64] | Bags

NAME_COLUMNS = ("item", "name", "id")


class ItemTable(NamedTuple):
    """A checked item table, as `read_items` returns it; ``values`` is None for items without features.

    Examples
    --------
    >>> from preflearn.io import read_items
    >>> table = read_items({"item": ["ann", "bob"], "age": [20, 30]})
    >>> table.names, table.feature_names
    (array(['ann', 'bob'], dtype=object), ('age',))
    """

    values: ItemArray | None
    names: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    n_items: int

    def __repr__(self) -> str:
        n_features = 0 if self.values is None else self.values.shape[1]
        return f"ItemTable({self.n_items} items with {n_features} features{'' if self.names is None else ', named'})"


def check_items(items: Any, owner: str, names: Any = None, what: str = "items") -> ItemTable:
    """Return the item table; ``names`` name items in messages, and ``what`` the rows are."""
    if isinstance(items, ItemTable):
        return items
    given = as_items(items)
    if given is items:
        return ItemTable(given.bare(), given.names, given.feature_names, items.shape[0])
    if isinstance(items, bool | np.bool_ | str | bytes):
        raise TypeError(f"{owner}: {what} must be a table, a number of {what} or None; got {type(items).__name__}.")
    if isinstance(items, int | np.integer):
        if items < 1:
            raise DataError(code="item-count-below-one", owner=owner).says(
                f"{what}={items}: the number of {what} must be at least 1."
            )
        return ItemTable(None, None, None, int(items))
    if sparse.issparse(items):
        matrix = _from_sparse(items, owner, what)
        table = ItemTable(matrix, None, None, matrix.shape[0])
    else:
        frame = frame_of(items, owner)
        table = _from_array(items, owner, what) if frame is None else _from_frame(frame, items, owner, what)
    shape = (0, 0) if table.values is None else table.values.shape
    if 0 in shape:
        raise DataError(code="items-empty", owner=owner).says(
            f"{what} has shape {shape}",
            f"Give at least one row and one feature; for {what} without features pass their number",
        )
    _check_finite(table, owner, names, what)
    return table


def frame_of(value: Any, owner: str) -> nw.DataFrame[Any] | None:
    """Return a data frame of any library as a narwhals frame with columns named by text, or None for anything else."""
    try:
        native = nw.from_native(_with_text_names(value), pass_through=True, allow_series=True)
    except DuplicateError:
        twice = repeated([str(name) for name in getattr(value, "column_names", value.columns)])
        raise DataError(code="item-columns-repeated", owner=owner).says(
            f"{len(twice)} of the column names occur more than once ({first_few(twice)})",
            "Rename or drop the repeated columns: every column needs its own name",
        ) from None
    if isinstance(native, nw.LazyFrame):
        raise TypeError(f"{owner}: lazy frames are not read. Call .collect() first.")
    if isinstance(native, nw.Series):
        raise TypeError(f"{owner}: expected a table; got a single column. Use a frame with one column (.to_frame()).")
    return native if isinstance(native, nw.DataFrame) else None


def _with_text_names(value: Any) -> Any:
    if not (hasattr(value, "set_axis") and hasattr(value, "columns")):  # only pandas has other names
        return value
    if all(isinstance(name, str) for name in value.columns):
        return value
    return value.set_axis([str(name) for name in value.columns], axis=1)


def _from_sparse(items: Any, owner: str, what: str) -> sparse.csr_array[np.float64]:
    if items.ndim != 2 or items.dtype.kind not in "iufb":
        raise TypeError(f"{owner}: {what} must be a real matrix; got {items.dtype} of shape {items.shape}.")
    if isinstance(items, sparse.csr_array) and items.dtype == np.float64 and not items.data.flags.writeable:
        return items  # frozen already: it cannot change
    matrix: sparse.csr_array[np.float64] = sparse.csr_array(items, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    return matrix


def _from_array(items: Any, owner: str, what: str) -> ItemTable:
    try:
        given = np.asarray(unmask(items))
    except ValueError as error:
        raise TypeError(f"{owner}: {what} must be a rectangular table of numbers ({error}).") from None
    if given.ndim != 2:
        cure = "For one feature use reshape(-1, 1)." if given.ndim == 1 else f"Use one row for each of the {what}."
        if given.ndim == 1 and given.dtype.kind in "US":
            cure = "For items known by name only pass items=None, names=[...]."
        shape = "(n_comparisons, n_covariates)" if what == "covariates" else f"(n_{what}, n_features)"
        raise TypeError(f"{owner}: {what} must have shape {shape}; got shape {given.shape}. {cure}")
    if given.dtype.kind == "c":
        raise TypeError(f"{owner}: {what} holds complex numbers; features must be real.")
    # A read-only array of the right type is kept as it is: no copy, and it cannot change.
    if given.dtype == np.float64 and not given.flags.writeable:
        return ItemTable(given, None, None, len(given))
    try:
        values = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        row, column = _first_not_number(given)
        raise TypeError(
            f"{owner}: {what} must be numbers; row {row}, column {column} holds {first_few([given[row, column]])}. "
            "Encode text as numbers (for example one-hot), or drop the column."
        ) from None
    return ItemTable(values, None, None, len(values))


def _first_not_number(table: NDArray[Any]) -> tuple[int, int]:
    for (row, column), value in np.ndenumerate(table):
        try:
            float(value)
        except (TypeError, ValueError):
            return int(row), int(column)
    return 0, 0


def _from_frame(frame: nw.DataFrame[Any], native: Any, owner: str, what: str) -> ItemTable:
    """Split a frame in names (a column called item, name or id, or a pandas index of strings) and features."""
    frame = _whole_names(frame)
    schema = frame.schema
    labelled = {c.lower(): c for c in frame.columns if schema[c] in _LABEL_TYPES or schema[c].is_integer()}
    name_column = next((labelled[word] for word in NAME_COLUMNS if word in labelled), None)
    names: NDArray[Any] | None = None
    if name_column is not None:
        names = np.array(frame[name_column].to_list(), dtype=object)
    else:
        index = getattr(native, "index", None)
        if index is not None and len(index) and all(isinstance(label, str) for label in index):
            names = np.array(list(index), dtype=object)
    features = [column for column in frame.columns if column != name_column]
    return ItemTable(numeric_columns(frame, features, owner, what), names, tuple(features), len(frame))


def numeric_columns(
    frame: nw.DataFrame[Any], features: list[str], owner: str, what: str = "items"
) -> NDArray[np.float64]:
    """Return columns as a new table of floats; columns of anything but numbers raise."""
    schema = frame.schema
    text = [c for c in features if not (schema[c].is_numeric() or schema[c] == nw.Boolean)]
    if text:
        word = what.removesuffix("s")
        named = "" if what == "covariates" else f"; a column of names is recognised if it is called {word}, name or id"
        raise TypeError(
            f"{owner}: {len(text)} of {len(features)} columns of {what} are not numeric ({first_few(text)}; "
            f"{schema[text[0]]}). Encode text as numbers (for example one-hot) or drop the columns{named}."
        )
    values = np.empty((len(frame), len(features)), dtype=np.float64)
    for number, column in enumerate(features):
        values[:, number] = frame[column].cast(nw.Float64).to_numpy()
    return values


def _whole_names(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return the frame with whole numbers as names where a gap in some table has made them floating-point numbers."""
    for column in frame.columns:
        if column.lower() not in NAME_COLUMNS or not frame.schema[column].is_float():
            continue
        values = frame[column].to_numpy()
        if np.isfinite(values).all() and (values == np.round(values)).all() and np.abs(values).max(initial=0) < 2**53:
            frame = frame.with_columns(nw.col(column).cast(nw.Int64))
    return frame


_LABEL_TYPES = (nw.String, nw.Categorical, nw.Enum, nw.Object)


def _check_finite(table: ItemTable, owner: str, names: Any, what: str) -> None:
    """Raise DataError naming the first cells that are missing or infinite."""
    values: Any = table.values
    if isinstance(values, np.ndarray):
        # The sum is finite unless a cell is not (or on overflow): one pass without an n x d mask.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(values.sum()):
                return
        rows, columns = np.nonzero(~np.isfinite(values))
        found = values[rows, columns]
    elif values is not None:
        bad = np.flatnonzero(~np.isfinite(values.data))
        rows = np.searchsorted(values.indptr, bad, side="right").ravel() - 1
        columns, found = values.indices[bad].astype(np.intp), values.data[bad]
    if values is None or not len(rows):
        return
    known = table.names if names is None else names

    def place(row: int) -> str:
        return f"row {row} ({first_few([known[row]])})" if known is not None and row < len(known) else f"row {row}"

    raise DataError(code="item-features-missing", owner=owner).says(
        f"{what} has {len(rows)} missing or infinite values in {len(set(rows.tolist()))} of {table.n_items} rows "
        f"({cells_text(rows, columns, found, table.feature_names, place)})",
        "Impute them (scikit-learn's SimpleImputer), or drop those rows or columns",
    )


def open_frame(
    value: Any, wanted: dict[str, str | None], owner: str, instead: str, features: Sequence[str] | None = None
) -> tuple[nw.DataFrame[Any], dict[str, Any], list[str]]:
    """Return a data frame, its wanted columns as lists, and the columns of features: all others by default."""
    frame = frame_of(value, owner)
    if frame is None:
        raise TypeError(f"{owner}: frame must be a data frame; got {type(value).__name__}. Use {instead}.")
    columns = frame_columns(frame, wanted, owner)
    if features is None:
        features = [column for column in frame.columns if column not in map(str, wanted.values())]
    frame_columns(frame, {f"features[{i}]": feature for i, feature in enumerate(features)}, owner)
    return frame, columns, [str(feature) for feature in features]


def frame_columns(frame: nw.DataFrame[Any], wanted: dict[str, str | None], owner: str) -> dict[str, Any]:
    """Return the wanted columns as lists (None where no column was asked for); unknown columns raise."""
    columns: dict[str, Any] = {}
    for role, name in wanted.items():
        column = None if name is None else str(name)  # as the columns of `frame_of`
        if column is not None and column not in frame.columns:
            nearest = nearest_names(column, frame.columns)
            raise DataError(code="column-not-in-frame", owner=owner).says(
                f"{role}={column!r} is not a column (columns: "
                f"{first_few(frame.columns, 8)}{'; ' + nearest if nearest else ''})",
                "Name one of the columns",
            )
        columns[role] = None if column is None else frame[column].to_list()
    return columns


Covariates: TypeAlias = tuple[NDArray[np.float64] | None, tuple[str, ...] | None]  # values, names


def check_covariates(covariates: Any, n_rows: int, owner: str) -> Covariates:
    """Return covariates as a new table of finite floats, and the names of its columns; None stays None."""
    if covariates is None:
        return None, None
    names = None
    series = nw.from_native(covariates, pass_through=True, series_only=True)
    if isinstance(series, nw.Series):  # one column; its name, if it has one, is that of the covariate
        names = None if series.name in (None, "") else (str(series.name),)
        frame: Any = series.rename("0").to_frame()
    else:
        frame = frame_of(covariates, f"{owner}, covariates")
        names = None if frame is None else tuple(frame.columns)
    if frame is not None:
        values = numeric_columns(frame, list(frame.columns), owner, "covariates")
    else:
        given = covariates.toarray() if hasattr(covariates, "toarray") else covariates
        if isinstance(given, list | tuple) and given and np.ndim(given[0]) == 0:
            given = [[value] for value in given]
        given = given[:, None] if isinstance(given, np.ndarray) and given.ndim == 1 else given
        values = np.array(_from_array(given, owner, "covariates").values)
    if not values.shape[1]:
        raise DataError(code="covariates-without-columns", owner=owner).says(
            f"covariates has no columns (shape {values.shape})", "Give at least one column, or leave it out"
        )
    check_length(len(values), n_rows, "covariates", owner, "comparison")
    _check_finite(ItemTable(values, None, names, n_rows), owner, None, "covariates")
    return values, names


JUDGE_COLUMNS = ("judge", "user", "worker", "annotator")


def check_judges(judges: Any, judge: NDArray[Any] | None, owner: str) -> ItemTable | None:
    """Return the table of judges; every judge that is named in a comparison must be in it."""
    if judges is None:
        return None
    if judge is None:
        raise DataError(code="judges-without-judge", owner=owner).says(
            "judges is a table of those who compared; say who compared what with judge=..."
        )
    table = _read_judges(judges, owner)
    if table.values is None:
        raise DataError(code="judges-without-features", owner=owner).says(
            "judges has no features", "Leave it out: judge=... alone tells judges apart"
        )
    if not as_items(table.values).one_row_each:
        raise TypeError(f"{owner}: judges are Bags; give one row of features per judge, for example their means().")
    if is_sparse(table.values):
        table = table._replace(values=sparse.csr_array(table.values).toarray())
    names = np.arange(table.n_items).astype(object) if table.names is None else table.names
    known = set(names.tolist())
    if len(known) < len(names):
        raise DataError(code="judge-listed-twice", owner=owner).says(
            f"judges names {first_few(repeated(names))} more than once", "Give one row per judge"
        )
    missing = [label for label in dict.fromkeys(judge.tolist()) if label != "" and label not in known]
    if missing:
        hint = nearest_names(str(missing[0]), [str(name) for name in names])
        cure = (
            f'Give each a row{" (" + hint + ")" if hint else ""}, or write "" for an unknown judge.'
            if table.names is not None
            else f"The table has no names, so judges are row numbers from 0 to {table.n_items - 1}; a column called "
            "judge holds names."
        )
        raise DataError(code="judge-not-in-table", owner=owner).says(
            f"{len(missing)} judges are not in the table of judges ({first_few(missing)})", cure
        )
    return ItemTable(lock(table.values), lock(names), table.feature_names, table.n_items)


def _read_judges(judges: Any, owner: str) -> ItemTable:
    frame = frame_of(judges, owner)
    if frame is not None:
        given = next((column for column in frame.columns if column.lower() in JUDGE_COLUMNS), None)
        if given is not None:
            judges = frame.rename({given: "name"}).to_native()
    table = check_items(judges, owner, what="judges")
    if frame is not None and table.names is None and any(c.lower() in ("name", "judge") for c in frame.columns):
        raise DataError(code="judge-names-not-plain", owner=owner).says(
            "the names of the judges must be words or whole numbers, without gaps."
        )
    return table
