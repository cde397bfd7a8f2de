"""Comparisons turned and merged: equal statements become one with a weight."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preflearn.data import Comparisons
from preflearn.operators import FloatArray, IntArray

__all__ = ["Merged", "merge"]


class Merged(NamedTuple):
    """Distinct statements with their weights, and the row of each comparison among them."""

    first: IntArray
    second: IntArray
    judge: IntArray
    outcome: FloatArray
    weight: FloatArray
    row: IntArray


def merge(X: Comparisons, judge: IntArray | None, *, exact: bool) -> Merged:
    """Turn every comparison so that the lower item comes first, and merge equal ones (of a judge) into weights.

    Comparisons of weight 0 are left out; their row is the first one.
    """
    weight = np.ones(len(X)) if X.weight is None else X.weight
    outcome = X.outcome if exact else np.sign(X.outcome)
    outcome = np.where(X.first > X.second, -outcome, outcome) + 0.0
    who = np.zeros(len(X), dtype=np.intp) if judge is None else judge
    table = np.column_stack([np.minimum(X.first, X.second), np.maximum(X.first, X.second), who, outcome])
    counted = np.flatnonzero(weight)
    distinct, place = np.unique(table[counted], axis=0, return_inverse=True)
    total = np.asarray(np.bincount(place.ravel(), weight[counted], minlength=distinct.shape[0]), dtype=np.float64)
    merged = np.zeros(len(X), dtype=np.intp)
    merged[counted] = place.ravel()
    first, second, who = (distinct[:, k].astype(np.intp) for k in range(3))
    return Merged(first, second, who, distinct[:, 3], total, merged)
