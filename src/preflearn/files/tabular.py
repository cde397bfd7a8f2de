"""Data objects in model files: fields as they are, and checked as new data is when they are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.data import Bags, Comparisons, ItemTable
from preflearn.data.fields import check_labels, check_names, check_real, check_weight
from preflearn.data.tables import check_covariates, check_items, check_judges
from preflearn.exceptions import DataError

__all__ = ["BUILDERS", "fields_of"]

_COMPARISONS = ("first", "second", "outcome", "weight", "group", "judge", "judges", "names", "feature_names")
_WHERE_THERE = ("cluster", "covariates", "covariate_names")  # files without them are older, or have no use for them


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a data object."""
    fields: dict[str, Any] = FIELDS[type(value).__name__](value)
    return fields


def _fields_of_bags(value: Bags) -> dict[str, Any]:
    return {"points": value.points, "sizes": value.sizes, "names": value.names, "feature_names": value.feature_names}


def _fields_of_table(value: ItemTable) -> dict[str, Any]:
    return {"values": value.values, "names": value.names, "feature_names": value.feature_names}


def _fields_of_comparisons(value: Comparisons) -> dict[str, Any]:
    fields = {name: getattr(value, name) for name in _COMPARISONS}
    fields |= {name: getattr(value, name) for name in _WHERE_THERE if getattr(value, name) is not None}
    # One byte for each item, so that no file speaks of more items than it has bytes.
    items = np.ones(value.n_items, dtype=np.bool_) if value.items is None else value.items
    return {"items": items, **fields}


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


def _comparisons(items: Any, **fields: Any) -> Comparisons:
    owner = "Comparisons"
    featureless = isinstance(items, np.ndarray) and items.dtype == np.bool_
    if featureless and items.ndim != 1:
        raise DataError("items without features are listed one by one")
    table = check_items(len(items) if featureless else items, owner)
    first, second = fields["first"], fields["second"]
    m = len(first)
    for side in (first, second):
        if side.shape != (m,) or side.dtype.kind != "i" or not m or side.min() < 0 or side.max() >= table.n_items:
            raise DataError("a comparison is of an item that is not there")
    if np.any(first == second):
        raise DataError("an item is compared with itself")
    labels = {
        name: None if fields.get(name) is None else check_labels(fields[name], m, name, owner, "comparison")
        for name in ("group", "judge", "cluster")
    }
    covariates = check_covariates(fields.get("covariates"), m, owner)[0]
    judges = fields["judges"]
    if judges is not None:
        if not isinstance(judges, ItemTable):
            raise DataError("the judges are no table")
        judges = check_judges(judges, labels["judge"], owner)
    return Comparisons._from_fields(
        items=table.values,
        first=first.astype(np.intp),
        second=second.astype(np.intp),
        outcome=check_real(fields["outcome"], m, "outcome", owner, "comparison"),
        weight=check_weight(fields["weight"], m, owner, "comparison"),
        **labels,
        covariates=covariates,
        covariate_names=_columns(fields.get("covariate_names"), covariates, "covariates"),
        judges=judges,
        names=None if fields["names"] is None else check_names(fields["names"], table.n_items, owner),
        feature_names=_columns(fields["feature_names"], table.values, "features"),
        n_items=table.n_items,
    )


FIELDS: dict[str, Any] = {"Comparisons": _fields_of_comparisons, "Bags": _fields_of_bags, "ItemTable": _fields_of_table}
BUILDERS: dict[str, Any] = {"Comparisons": _comparisons, "Bags": _bags, "ItemTable": _item_table}
