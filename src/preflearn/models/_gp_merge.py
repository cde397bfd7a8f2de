"""Comparisons turned and merged: equal statements become one with a weight."""

from __future__ import annotations

import numpy as np

from preflearn.data import Comparisons
from preflearn.operators import FloatArray, IntArray

__all__ = ["merge"]


def merge(X: Comparisons, *, exact: bool) -> tuple[IntArray, IntArray, FloatArray, FloatArray, IntArray]:
    """Turn every comparison so that the lower item comes first, and merge equal ones into weights.

    Also returns the merged row of each comparison (the nearest for comparisons of weight 0, which are left out).
    """
    weight = np.ones(len(X)) if X.weight is None else X.weight
    outcome = X.outcome if exact else np.sign(X.outcome)
    outcome = np.where(X.first > X.second, -outcome, outcome) + 0.0
    table = np.column_stack([np.minimum(X.first, X.second), np.maximum(X.first, X.second), outcome])
    counted = np.flatnonzero(weight)
    distinct, place = np.unique(table[counted], axis=0, return_inverse=True)
    total = np.asarray(np.bincount(place.ravel(), weight[counted], minlength=distinct.shape[0]), dtype=np.float64)
    merged = np.zeros(len(X), dtype=np.intp)
    merged[counted] = place.ravel()
    return distinct[:, 0].astype(np.intp), distinct[:, 1].astype(np.intp), distinct[:, 2], total, merged
