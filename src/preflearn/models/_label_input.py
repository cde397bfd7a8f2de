"""Label data as the label estimators want it: merged edges over the items that have some, and new items by column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preflearn.data import LabelPreferences, from_class_labels
from preflearn.data.item_table import check_items
from preflearn.data.label_preferences import label_codes
from preflearn.exceptions import DataError
from preflearn.models._match import match_columns
from preflearn.operators import FloatArray, IntArray

__all__ = ["Edges", "edge_list", "label_data", "merged_edges", "new_items"]


class Edges(NamedTuple):
    """Distinct edges, the lower label first, with the items that have any."""

    X: Any
    item: IntArray
    first: IntArray
    second: IntArray
    outcome: FloatArray
    weight: FloatArray


def label_data(owner: str, X: Any, y: Any) -> LabelPreferences:
    """Return what fit was given as label preferences; rows with class labels are the classification graph."""
    if isinstance(X, LabelPreferences):
        if y is not None:
            raise TypeError(f"{owner}: LabelPreferences carry their own outcomes, but y was given as well. Pass one.")
        return X
    if y is None:
        raise TypeError(
            f"{owner} learns from LabelPreferences, or from rows X with class labels y; got {type(X).__name__} alone. "
            "Build LabelPreferences(items, item, first, second) or see preflearn.data.from_label_rankings."
        )
    return from_class_labels(X, y)


def merged_edges(owner: str, data: LabelPreferences, *, exact: bool) -> Edges:
    """Turn every edge so that the lower label comes first, merge equal ones into weights, drop items without any."""
    rows = np.arange(data.n_edges) if data.weight is None else np.flatnonzero(data.weight)
    if rows.shape[0] == 0:
        raise DataError(
            f"there are no edges to learn from (items: {len(data)})",
            "Give some a positive weight",
            code="no-edges-to-learn-from",
            owner=owner,
        )
    weight = np.ones(rows.shape[0]) if data.weight is None else data.weight[rows]
    first, second = data.first[rows], data.second[rows]
    outcome = data.outcome[rows] if exact else np.sign(data.outcome[rows])
    outcome = np.where(first > second, -outcome, outcome) + 0.0
    table = np.column_stack([data.item[rows], np.minimum(first, second), np.maximum(first, second), outcome])
    distinct, place = np.unique(table, axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weight, minlength=distinct.shape[0])
    used, item = np.unique(distinct[:, 0].astype(np.intp), return_inverse=True)
    return Edges(
        data.items[used],
        item.ravel().astype(np.intp),
        distinct[:, 1].astype(np.intp),
        distinct[:, 2].astype(np.intp),
        distinct[:, 3],
        np.asarray(total, dtype=np.float64),
    )


def new_items(estimator: Any, X: Any) -> Any:
    """Return checked features of new items, with columns matched by name."""
    check_is_fitted(estimator)
    if isinstance(X, LabelPreferences):
        return match_columns(estimator, X.items, X.feature_names)
    table = check_items(X, type(estimator).__name__)
    if table.values is None:
        raise TypeError(f"{type(estimator).__name__}: give a table of features, one row per item; got {X!r}.")
    return match_columns(estimator, table.values, table.feature_names)


def edge_list(estimator: Any, X: Any, edges: Any, n_items: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return (item, first, second) of edges to predict, labels as places among those of training."""
    owner = type(estimator).__name__
    known = np.asarray(estimator.labels_, dtype=object)
    if isinstance(X, LabelPreferences):
        if edges is not None:
            raise TypeError(f"{owner}: LabelPreferences carry their own edges, but edges were given as well. Pass one.")
        used, place = np.unique(np.concatenate([X.first, X.second]), return_inverse=True)
        code = label_codes(X.labels[used], known, "labels", owner)[place.ravel()]
        return X.item, code[: X.n_edges], code[X.n_edges :]
    if edges is None:
        raise TypeError(
            f"{owner}: which labels are to be compared? Give edges=[(row, first label, second label), ...], pass "
            "LabelPreferences, or use preference_matrix(X) for all pairs of labels."
        )
    listed = [tuple(edge) for edge in edges]
    if not listed or any(len(edge) != 3 for edge in listed):
        raise DataError(
            f"edges must be (row of X, first label, second label); got {listed[:1]}.", code="edges-shape", owner=owner
        )
    new = LabelPreferences._from_fields(items=np.zeros((n_items, 1)))  # messages as for data
    asked = LabelPreferences(new.items, [edge[0] for edge in listed], *_sides(listed), labels=known)
    return asked.item, asked.first, asked.second


def _sides(edges: list[tuple[Any, ...]]) -> tuple[list[Any], list[Any]]:
    return [edge[1] for edge in edges], [edge[2] for edge in edges]
