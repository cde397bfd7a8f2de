"""Data objects in model files: fields as they are, and checked as new data is when they are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.data import Bags, Comparisons, ItemTable
from preflearn.data.fields import check_names
from preflearn.data.tables import check_items
from preflearn.exceptions import DataError
from preflearn.kernels.precomputed import KernelRows

_COMPARISONS = (*Comparisons._ROW_FIELDS, "judges", "names", "feature_names", "covariate_names")


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a data object."""
    if isinstance(value, Comparisons):
        # One byte for each item, so that no file can claim more items than it has bytes.
        items = np.ones(value.n_items, dtype=np.bool_) if value.items is None else value.items
        return {"items": items, **{name: getattr(value, name) for name in _COMPARISONS}}
    if isinstance(value, KernelRows):
        return {"values": value.table, "rows": value.row}
    own = ("values",) if isinstance(value, ItemTable) else ("points", "sizes")
    return {name: getattr(value, name) for name in (*own, "names", "feature_names")}


def _bags(points: Any, sizes: Any, names: Any, feature_names: Any) -> Bags:
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not len(sizes) or sizes.min() < 1:
        raise DataError("sizes of bags are at least 1")
    if points.ndim != 2 or points.dtype != np.float64 or sizes.sum() != len(points):
        raise DataError("sizes of bags that are not those of their points")
    built = Bags.__new__(Bags)
    built._prepare(points, np.concatenate([[0], np.cumsum(sizes)]), names, feature_names, "Bags")
    return built


def _item_table(values: Any, names: Any, feature_names: Any) -> ItemTable:
    table = check_items(values, "table")
    if names is not None:
        check_names(names, table.n_items, "table")
    return ItemTable(table.values, names, _columns(feature_names, table.values, "features"), table.n_items)


def _columns(names: Any, table: Any, what: str) -> tuple[str, ...] | None:
    """Return the names of the columns of a table, or raise unless they are just that."""
    if names is None:
        return None
    width = 0 if table is None else table.shape[1]
    if not isinstance(names, tuple) or len(names) != width or not all(isinstance(name, str) for name in names):
        raise DataError(f"the names of the {what} are not those of the columns")
    return names


def _comparisons(
    items: Any, names: Any, feature_names: Any, covariate_names: Any, judges: Any, times: Any = None, **fields: Any
) -> Comparisons:
    featureless = isinstance(items, np.ndarray) and items.dtype == np.bool_
    if featureless and items.ndim != 1:
        raise DataError("items without features are listed one by one")
    if judges is not None and not isinstance(judges, ItemTable):
        raise DataError("the judges are not a table")
    built = Comparisons._build(len(items) if featureless else items, judges=judges, **fields)
    if times is not None and (
        times.dtype != np.int64 or times.shape != (len(built),) or times.min() < 1 or built.weight is None
    ):
        raise DataError("how many comparisons were listed is not possible")
    return built._take(
        slice(None),
        times=times,
        names=None if names is None else check_names(names, built.n_items, "Comparisons"),
        feature_names=_columns(feature_names, built.items, "features"),
        covariate_names=_columns(covariate_names, built.covariates, "covariates"),
    )


def _kernel_rows(values: Any, rows: Any) -> KernelRows:
    table = KernelRows.of_training("file", check_items(values, "file").values)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.min(initial=0) < 0 or rows.max(initial=0) >= len(table):
        raise DataError("the rows are not those of the kernel matrix")
    return table[rows.astype(np.intp)]


BUILDERS: dict[str, Any] = {
    "Comparisons": _comparisons,
    "Bags": _bags,
    "ItemTable": _item_table,
    "KernelRows": _kernel_rows,
}
