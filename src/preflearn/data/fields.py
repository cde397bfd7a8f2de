"""Checks shared by the data objects: frozen fields, labels, columns, weights. ``owner`` is who the person called."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from preflearn.exceptions import DataError, first_few, nearest_names


class Frozen:
    """Base of the data objects: fields are set once, arrays are read-only, also after pickling and copying.

    Indexing selects rows, as scikit-learn wants of ``X``. What a ``cached_property`` keeps is no field: it is neither
    pickled nor passed on to chosen rows.
    """

    _ROW_FIELDS: ClassVar[tuple[str, ...]]

    def _fill(self, **fields: Any) -> None:
        """Set the fields; the only place where a field is set."""
        for name, value in fields.items():
            self.__dict__[name] = lock(value)

    def _fields(self) -> dict[str, Any]:
        """Return the fields, without what cached properties keep beside them."""
        kind = type(self)
        return {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }

    def __setattr__(self, name: str, value: object) -> None:
        kind = type(self).__name__
        raise AttributeError(f"{kind} is frozen: cannot set {name!r}. Build a new {kind} instead.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name!r}.")

    def __getstate__(self) -> dict[str, Any]:
        return self._fields()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._fill(**state)

    @classmethod
    def _from_fields(cls, **fields: Any) -> Self:
        """Build from fields that are known to be right: no checks, no warnings."""
        built = cls.__new__(cls)
        built._fill(**fields)
        return built

    def _take(self, rows: slice | NDArray[Any], **changed: Any) -> Self:
        """Return the chosen rows with some fields changed; fields that are not per row are shared."""
        fields = {name: value for name, value in self._fields().items() if name not in changed}
        for name in self._ROW_FIELDS:
            if fields.get(name) is not None:
                fields[name] = fields[name][rows]
        return self._from_fields(**fields, **changed)

    def __getitem__(self, key: Any) -> Self:
        """Select rows by integer, slice, mask or list of integers."""
        return self._select(key)

    def _select(self, key: Any) -> Self:
        """Return the chosen rows."""
        return self._take(row_selector(key, len(self)))

    def _exchanged(self, mask: Any) -> tuple[NDArray[np.bool_], dict[str, Any]]:
        """Return which rows ``mask`` selects (None: all), and the fields with sides and outcomes exchanged there."""
        first, second, outcome = (self.__dict__[name] for name in ("first", "second", "outcome"))
        where = np.ones(len(first), dtype=bool) if mask is None else np.asarray(mask)
        if where.shape != first.shape or where.dtype != bool:
            raise TypeError(f"swapped: mask must be {len(first)} booleans; got {where.dtype} of shape {where.shape}.")
        outcome = np.where(where, -outcome, outcome) + 0.0  # + 0.0: a tie stays 0, not -0
        sides = {"first": np.where(where, second, first), "second": np.where(where, first, second)}
        return where, {**sides, "outcome": outcome}

    def __len__(self) -> int:
        return len(self.__dict__[self._ROW_FIELDS[0]])

    def __iter__(self) -> Iterator[Self]:
        return (self[row] for row in range(len(self)))

    def __array__(self, *args: object, **kwargs: object) -> NDArray[Any]:
        kind = type(self).__name__
        raise TypeError(
            f"{kind} is not an array. Pass it to a preflearn estimator as X, or use its fields (.items, ...). In a "
            "pipeline, wrap a transformer of features: OnItems(StandardScaler())."
        )


class OneRowEach(Frozen):
    """Data objects with one row of features per item, which is what scikit-learn reads as a row of ``X``."""

    items: Any
    feature_names: tuple[str, ...] | None

    def __getitem__(self, key: Any) -> Self:
        """Select items by integer, slice, mask or list of integers; by ``np.ix_(rows, columns)`` features as well.

        So scikit-learn takes a kernel matrix apart, for models with ``kernel="precomputed"``.
        """
        if not (isinstance(key, tuple) and len(key) == 2 and all(isinstance(side, np.ndarray) for side in key)):
            return self._select(key)
        rows, columns = (side.ravel() for side in key)
        chosen, names = self._select(rows), self.feature_names
        names = None if names is None else tuple(names[column] for column in columns)
        return chosen._take(slice(None), items=chosen.items[:, columns], feature_names=names)

    def __len__(self) -> int:
        return int(self.items.shape[0])

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.items.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(n_items, n_features): what scikit-learn reads as the size of ``X``."""
        return self.n_items, self.n_features


def lock(value: Any) -> Any:
    """Return ``value`` with its arrays read-only; other values are returned as they are."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value.flags.writeable = False
    elif isinstance(value, sparse.csr_array):
        for part in (value.data, value.indices, value.indptr):
            part.flags.writeable = False
    return value


def rows_text(rows: NDArray[Any], limit: int = 3) -> str:
    """Return ``row 4`` or ``rows 4, 17, 230, ...``."""
    return f"row{'s' if len(rows) > 1 else ''} {first_few(rows.tolist(), limit)}"


def cells_text(
    rows: NDArray[Any],
    columns: NDArray[Any],
    found: NDArray[Any],
    feature_names: Sequence[str] | None,
    place: Callable[[int], str] = "row {}".format,
) -> str:
    """Return the first cells that are wrong, and what is there: ``row 4, column "age"; ...; first value nan``."""
    where = [
        f"{place(row)}, column {column if feature_names is None else first_few([feature_names[column]])}"
        for row, column in zip(rows[:3].tolist(), columns[:3].tolist(), strict=True)
    ]
    return f"{'; '.join(where)}{'; ...' if len(rows) > 3 else ''}; first value {found[0]}"


def as_list(values: Any, what: str, owner: str) -> list[Any]:
    """Return any one-dimensional column (list, array, series of any frame library) as a list."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        kind = type(values).__name__
        raise TypeError(f"{owner}: {what} must be a sequence with one value per row; got {kind}.")
    ndim = getattr(values, "ndim", 1)
    if ndim != 1:
        shape = getattr(values, "shape", "")
        raise TypeError(f"{owner}: {what} must have one dimension; got shape {shape}. Pass one column, or ravel it.")
    if hasattr(values, "to_pylist"):  # pyarrow
        return list(values.to_pylist())
    if hasattr(values, "tolist"):  # numpy, pandas
        return list(values.tolist())
    if hasattr(values, "to_list"):  # polars, narwhals
        return list(values.to_list())
    if isinstance(values, set | frozenset | dict):
        raise TypeError(f"{owner}: {what} must be a sequence in a fixed order; got {type(values).__name__}.")
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def as_column(values: Any, what: str, owner: str) -> list[Any] | NDArray[Any]:
    """Return a column of integers as an array, any other as a list."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu":
        return values
    return as_list(values, what, owner)


def repeated(values: Iterable[Any]) -> list[Any]:
    """Return the values that occur more than once, each once."""
    return [value for value, count in Counter(values).items() if count > 1]


def look_up(
    values: list[Any], known: Mapping[Any, int], what: str, among: str, cure: str, *, code: str, owner: str
) -> NDArray[np.intp]:
    """Return the number of each value; unknown ones raise with the nearest known ones."""
    try:
        rows = np.fromiter((known.get(value, -1) for value in values), dtype=np.intp, count=len(values))
    except TypeError as error:
        raise TypeError(f"{owner}: {what} must hold names or numbers ({error}).") from None
    bad = np.flatnonzero(rows < 0)
    if len(bad):
        unknown = list(dict.fromkeys(values[row] for row in bad))
        nearest = nearest_names(str(unknown[0]), (str(name) for name in known))
        raise DataError(code=code, owner=owner).says(
            f"{len(bad)} of {len(values)} values of {what} are not among the {len(known)} {among} "
            f"({rows_text(bad)}; values {first_few(unknown)}{'; ' + nearest if nearest else ''})",
            cure,
        )
    return rows


def check_choice(value: object, allowed: Sequence[str | None], what: str, owner: str) -> None:
    """Raise InvalidParameterError unless an option has one of its allowed values."""
    if (value is None or isinstance(value, str)) and value in allowed:
        return
    from sklearn.utils._param_validation import InvalidParameterError

    nearest = nearest_names(str(value), [option for option in allowed if option is not None])
    raise InvalidParameterError(
        f"{owner}: {what} must be {' or '.join(map(repr, allowed))}; got {value!r}{f' ({nearest})' if nearest else ''}."
    )


def is_missing(value: object) -> bool:
    """Return whether a label stands for nothing: None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def check_length(found: int, wanted: int, what: str, owner: str, per: str) -> None:
    """Raise DataError unless a column has one value per row."""
    if found != wanted:
        raise DataError(code="length-differs", owner=owner).says(
            f"{what} has {found} values for {wanted} {per}s", f"Give one value per {per}, in the same order"
        )


def check_count(value: Any, name: str, owner: str, *, low: int = 1, high: int | None = None) -> int:
    """Return a whole number of at least ``low`` and at most ``high``."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if whole and low <= value and (high is None or value <= high):
        return int(value)
    from sklearn.utils._param_validation import InvalidParameterError

    limits = f"of at least {low}" if high is None else f"from {low} to {high}"
    raise InvalidParameterError(f"{owner}: {name} must be a whole number {limits}; got {value!r}.")


def check_labels(values: Any, n_rows: int, what: str, owner: str, per: str) -> NDArray[Any]:
    """Return labels, one for each row (``per``: comparison, item), as `label_array`; missing labels raise."""
    if (
        isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iU"
    ):  # cannot hold anything missing
        check_length(len(values), n_rows, what, owner, per)
        return values.astype(np.int64 if values.dtype.kind == "i" else values.dtype)
    labels = as_list(values, what, owner)
    check_length(len(labels), n_rows, what, owner, per)
    missing = np.flatnonzero([is_missing(label) for label in labels])
    if len(missing):
        raise DataError(code="label-missing", owner=owner).says(
            f"{what} is missing for {len(missing)} of {n_rows} {per}s ({rows_text(missing)})",
            f"Give every {per} a value of {what}, or drop those {per}s",
        )
    for row, label in enumerate(labels):
        if not isinstance(label, Hashable):
            kind = type(label).__name__
            raise TypeError(f"{owner}: {what} of row {row} is a {kind}; labels must be strings, numbers or tuples.")
    return label_array(labels)


def label_array(labels: list[Any]) -> NDArray[Any]:
    """Return labels as integers, floats, booleans or strings where all are of that kind, else as objects."""
    kinds = {type(label) for label in labels}
    if kinds == {int} and all(abs(label) < 2**63 for label in labels):
        return np.array(labels, dtype=np.int64)
    if kinds in ({float}, {bool}):
        return np.array(labels)
    if kinds == {str} and not any(label.endswith("\0") for label in labels):
        return np.array(labels, dtype=np.str_)
    return object_array(labels)


def codes(labels: NDArray[Any] | None, n_rows: int) -> NDArray[np.intp]:
    """Return labels as numbers 0, 1, ... in the order of the sorted labels (all 0 without labels)."""
    if labels is None:
        return np.zeros(n_rows, dtype=np.intp)
    if labels.dtype.kind != "O":
        return np.unique(labels, return_inverse=True)[1].astype(np.intp, copy=False)
    distinct = dict.fromkeys(labels.tolist())
    try:
        ordered = sorted(distinct)
    except TypeError:  # labels of several kinds have no order of their own
        ordered = sorted(distinct, key=lambda label: (type(label).__name__, repr(label)))
    number = {label: code for code, label in enumerate(ordered)}
    return np.fromiter(map(number.__getitem__, labels), dtype=np.intp, count=n_rows)


def object_array(values: list[Any]) -> NDArray[Any]:
    """Return a list as a one-dimensional object array, also when its elements are sequences."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def check_names(values: Any, n_items: int, owner: str) -> NDArray[Any]:
    """Return item names as an object array; there must be one distinct name per item."""
    names = object_array(check_labels(values, n_items, "names", owner, "item").tolist())
    seen: dict[Any, int] = {}
    repeated = [(name, seen[name], row) for row, name in enumerate(names) if seen.setdefault(name, row) != row]
    if repeated:
        name, before, row = repeated[0]
        raise DataError(code="item-names-repeated", owner=owner).says(
            f"{len(repeated)} of {n_items} names are repeated "
            f"({first_few(dict.fromkeys(entry[0] for entry in repeated))}; {first_few([name])} names rows "
            f"{before} and {row})",
            "Every item needs its own name: drop the repeated items or rename them",
        )
    return names


def check_real(
    values: Any, n_rows: int | None, what: str, owner: str, per: str, *, exact: bool = False
) -> NDArray[Any]:
    """Return a new column of finite floats, one per row; ``exact`` ones stay integers if they are."""
    try:
        given = np.asarray(unmask(values))
        if given.dtype.kind == "O" and given.ndim == 1:
            given = np.array([np.nan if is_missing(v) else v for v in given], dtype=np.float64)
        if given.dtype.kind not in "iufbO":
            raise TypeError(f"values of kind {given.dtype}, such as {first_few(given.ravel()[:4].tolist())}")
        column = np.array(given, dtype=given.dtype if exact and given.dtype.kind in "iu" else np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{owner}: {what} must be real numbers ({error}). Convert the column to numbers.") from None
    if column.ndim != 1:
        raise TypeError(
            f"{owner}: {what} must have one value per {per}; got shape {column.shape}. Pass one column, or ravel it."
        )
    if n_rows is not None:
        check_length(len(column), n_rows, what, owner, per)
    bad = np.flatnonzero(~np.isfinite(column))
    if len(bad):
        raise DataError(code="number-not-finite", owner=owner).says(
            f"{what} is missing or not finite for {len(bad)} of {len(column)} {per}s ({rows_text(bad)}; values "
            f"{first_few(column[bad].tolist())})",
            f"Drop those {per}s, or give each a finite {what}",
        )
    return column


def unmask(values: Any) -> Any:
    """Return masked values as NaN: what is masked is missing, and NumPy would read what is under the mask."""
    return np.ma.filled(values.astype(np.float64), np.nan) if isinstance(values, np.ma.MaskedArray) else values


def check_weight(
    values: Any, n_rows: int, owner: str, per: str, what: str = "weight", *, some_positive: bool = True
) -> NDArray[np.float64] | None:
    """Return weights that are finite, not negative and, with ``some_positive``, not all zero; None stays None."""
    if values is None:
        return None
    weight = check_real(values, n_rows, what, owner, per)
    bad = np.flatnonzero(weight < 0)
    if len(bad):
        raise DataError(code="weight-negative", owner=owner).says(
            f"{what} is negative for {len(bad)} of {n_rows} {per}s ({rows_text(bad)}; values "
            f"{first_few(weight[bad].tolist())})",
            f"Weights count how often each {per} was seen: give values >= 0",
        )
    if some_positive and n_rows and not weight.any():
        raise DataError(code="all-weights-zero", owner=owner).says(
            f"all {n_rows} weights are zero, so no {per} counts", "Raise some of them"
        )
    return weight


def row_selector(key: Any, n_rows: int) -> slice | NDArray[Any]:
    """Return an index of rows as a slice or an array; a single row becomes a selection of length one."""
    if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:  # how scikit-learn indexes arrays
        key = key[0]
    if isinstance(key, slice):
        return key
    if isinstance(key, tuple):
        raise TypeError(f"index rows only, with one integer, slice, mask or list; got {len(key)} indices.")
    index = np.asarray(key)
    if index.ndim == 0:
        if index.dtype.kind not in "iu":
            raise TypeError(f"index rows with integers, slices, masks or lists; got {type(key).__name__}.")
        if not -n_rows <= int(index) < n_rows:
            raise IndexError(f"row {int(index)} is out of range for {n_rows} rows.")
        return index.reshape(1)
    return index.astype(np.intp) if index.size == 0 else index
