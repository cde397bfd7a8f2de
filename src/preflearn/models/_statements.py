"""Comparisons as a model sees them: turned, numbered, and merged wherever its terms see no difference."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from preflearn.data import Comparisons
from preflearn.inference.observed import Observed
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import Items, Rows, Who

__all__ = ["Statements", "label_numbers", "sorted_labels", "statements_of"]


@dataclass(frozen=True)
class Statements:
    """Distinct rows of what the terms see (cells), and distinct outcomes of each with their weights.

    Attributes
    ----------
    used : ndarray
        Rows of the item table that occur; items of ``rows`` are numbered in their order.
    rows : Rows
        The cells, the lower item first.
    seen : Observed
        Outcomes, seen from the lower item.
    row : ndarray (n_comparisons,)
        The outcome that each comparison is merged into; those of weight 0 are in none, and have the first.
    judge : ndarray or None
        The judge of each outcome, where outcomes of different judges are kept apart.
    judges, clusters : list
        Names of those that are told apart; comparisons of nobody in particular have numbers beyond them.
    n_judges : int
        Number of judges, with those.
    """

    used: IntArray
    rows: Rows
    seen: Observed
    row: IntArray
    judge: IntArray | None
    judges: list[Any] = field(default_factory=list)
    clusters: list[Any] = field(default_factory=list)
    n_judges: int = 0

    @property
    def cell(self) -> IntArray:
        """The cell of each comparison."""
        assert self.seen.cell is not None
        return np.asarray(self.seen.cell[self.row])

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """The distinct pairs of items, in ascending order."""
        n = self.used.shape[0]
        code = self.rows.low * n + self.rows.high
        code = code if (np.diff(code) > 0).all() else np.unique(code)
        return code // n, code % n


def statements_of(
    X: Comparisons,
    *,
    exact: bool,
    judge: IntArray | None = None,
    cluster: IntArray | None = None,
    side: bool = False,
    covariates: bool = False,
    judges_apart: bool = True,
    all_items: bool = False,
) -> Statements:
    """Turn every comparison so that the lower item comes first, and merge those that are equal in all that is seen.

    Parameters
    ----------
    X : Comparisons
        What was said.
    exact : bool
        Whether outcomes are margins, of which more than the sign counts.
    judge, cluster : arrays (n_comparisons,), default=None
        Numbers of judges and clusters, where they are told apart.
    side, covariates : bool, default=False
        Whether the side of the lower item and the covariates are seen.
    judges_apart : bool, default=True
        Whether cells of different judges are different: a reliability scales what is the same for all.
    all_items : bool, default=False
        Whether items that were never compared are numbered, too.
    """
    if not (exact or side or covariates) and judge is None and cluster is None:
        return _counts(X, all_items=all_items)
    weight = np.ones(len(X)) if X.weight is None else X.weight
    counted = np.flatnonzero(weight)
    first, second = X.first[counted], X.second[counted]
    sign = np.where(first > second, -1.0, 1.0)
    outcome = (X.outcome[counted] if exact else np.sign(X.outcome[counted])) * sign + 0.0
    m = counted.shape[0]
    used, ends = _used(np.concatenate([first, second]), X.n_items, all_items=all_items)
    low, high = np.minimum(ends[:m], ends[m:]), np.maximum(ends[:m], ends[m:])
    table = None
    if covariates:
        assert X.covariates is not None
        table = X.covariates[counted] * sign[:, None] + 0.0
    labels: list[Any] = [low * used.shape[0] + high]
    labels += [] if not side else [sign]
    labels += [] if judge is None or not judges_apart else [judge[counted]]
    labels += [] if cluster is None else [cluster[counted]]
    labels += [] if table is None else [np.unique(table, axis=0, return_inverse=True)[1].ravel()]
    cell, source = _distinct(labels)
    more = [] if judge is None or judges_apart else [judge[counted]]
    row, of_row = _distinct([cell, *more, outcome])
    seen = Observed(
        outcome[of_row],
        np.asarray(np.bincount(row, weight[counted], minlength=of_row.shape[0]), dtype=np.float64),
        cell[of_row],
        source.shape[0],
    )
    rows = Rows(
        Items(None if X.items is None else X.items[used], np.arange(used.shape[0])),
        low[source],
        high[source],
        side=sign[source] if side else None,
        who=None if judge is None or not judges_apart else Who(judge[counted][source]),
        cluster=None if cluster is None else cluster[counted][source],
        covariates=None if table is None else table[source],
    )
    merged = np.zeros(len(X), dtype=np.intp)
    merged[counted] = row
    return Statements(used, rows, seen, merged, None if judge is None else judge[counted][of_row])


def _counts(X: Comparisons, *, all_items: bool) -> Statements:
    """Return statements where nothing but pairs and signs of outcomes is seen: the counts of `Comparisons.pairs`."""
    counted = slice(None) if X.weight is None or X.weight.all() else np.flatnonzero(X.weight)
    some = X if isinstance(counted, slice) else X[counted]
    pairs, m = some.pairs, len(some.pairs)
    weight = np.column_stack([pairs.losses, pairs.ties, pairs.wins]).ravel()
    there = np.flatnonzero(weight > 0)
    number = np.zeros(3 * m, dtype=np.intp)
    number[there] = np.arange(there.shape[0])
    used, ends = _used(np.concatenate([pairs.low, pairs.high]), X.n_items, all_items=all_items)
    items = Items(None if X.items is None else X.items[used], np.arange(used.shape[0]))
    merged = np.zeros(len(X), dtype=np.intp)
    merged[counted] = number[3 * pairs.row + (np.sign(pairs.sign * some.outcome) + 1).astype(np.intp)]
    outcome = np.asarray(there % 3 - 1, dtype=np.float64)
    seen = Observed(outcome, weight[there], there // 3, m)
    return Statements(used, Rows(items, ends[:m], ends[m:]), seen, merged, None)


def _used(ends: IntArray, n_items: int, *, all_items: bool) -> tuple[IntArray, IntArray]:
    """Return the items that are numbered, and the numbers of some."""
    there = np.full(n_items, all_items)
    there[ends] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[ends]


def _distinct(labels: list[Any]) -> tuple[IntArray, IntArray]:
    """Return a number for each different combination of labels, in ascending order, and where each occurs first."""
    code = np.zeros(len(labels[0]), dtype=np.intp)
    for label in labels:
        values, place = np.unique(label, return_inverse=True)
        code = np.unique(code, return_inverse=True)[1].ravel() * len(values) + place.ravel()
    _, source, number = np.unique(code, return_index=True, return_inverse=True)
    return number.ravel().astype(np.intp), source.astype(np.intp)


def sorted_labels(labels: Any) -> list[Any]:
    """Return the distinct labels, sorted; "" is nobody in particular, and none of them."""
    names = set(labels.tolist()) - {""}
    try:
        return sorted(names)
    except TypeError:  # numbers and words
        return sorted(names, key=str)


def label_numbers(labels: Any, names: list[Any]) -> IntArray:
    """Return the number of each label; every row of nobody in particular has a number of its own."""
    place = {name: number for number, name in enumerate(names)}
    numbers = np.array([place.get(name, -1) for name in labels.tolist()], dtype=np.intp)
    nobody = np.flatnonzero(numbers < 0)
    numbers[nobody] = len(names) + np.arange(nobody.shape[0])
    return numbers


def weights_of(X: Comparisons) -> FloatArray:
    """Return the weights of comparisons, 1 where none are given."""
    return np.ones(len(X)) if X.weight is None else X.weight
