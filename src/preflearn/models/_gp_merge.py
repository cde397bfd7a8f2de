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
    counted = np.flatnonzero(weight)
    first, second = X.first[counted], X.second[counted]
    outcome = X.outcome[counted] if exact else np.sign(X.outcome[counted])
    value, level = np.unique(np.where(first > second, -outcome, outcome) + 0.0, return_inverse=True)
    pair, which = np.unique(np.minimum(first, second) * X.n_items + np.maximum(first, second), return_inverse=True)
    code = which.ravel()
    n_judges = 1 if judge is None else int(judge.max(initial=0)) + 1
    if judge is not None:
        code = code * n_judges + judge[counted]
    distinct, place = np.unique(code * len(value) + level.ravel(), return_inverse=True)
    total = np.asarray(np.bincount(place.ravel(), weight[counted], minlength=distinct.shape[0]), dtype=np.float64)
    merged = np.zeros(len(X), dtype=np.intp)
    merged[counted] = place.ravel()
    whose, level = np.divmod(distinct, len(value))
    which, who = np.divmod(whose, n_judges)
    low, high = np.divmod(pair[which], X.n_items)
    return Merged(low, high, who, value[level], total, merged)
