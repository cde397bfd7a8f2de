"""A pool of items as seen by a fitted model: the only module here that asks the model anything.

Items have *numbers* 0, 1, ... inside the pool, *rows* (the numbers a person uses: rows of the item table, which is that
of training unless another was given) and, where they are known, *names*. Pairs come in by name or by row and are turned
into numbers once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from preflearn.active._outcome_information import check_likelihood
from preflearn.data import Comparisons, ItemTable
from preflearn.data.fields import as_list, check_names, label_array, rows_text
from preflearn.data.item_table import check_items
from preflearn.data.sides import check_rows
from preflearn.exceptions import DataError, first_few, nearest_names
from preflearn.models.ranking import DifferencePosterior
from preflearn.operators import FloatArray, IntArray

__all__ = ["Pool", "pair_codes"]

# Pairs or items asked of the model at once, so that memory does not grow with their number.
_CHUNK = 1 << 13


@dataclass(frozen=True)
class Pool:
    """Items of a fitted model, and the posterior of their utilities."""

    model: Any
    owner: str
    table: ItemTable
    rows: IntArray  # of the table, one per item of the pool
    training: bool  # whether the table is that of training

    @classmethod
    def build(cls, model: Any, items: Any, owner: str) -> Pool:
        """Return the pool of ``items``, or of the items that the model was fitted on."""
        for part, what in (("judge_kernel", "tells judges apart"), ("cyclic_kernel", "has a cyclic part")):
            if getattr(model, part, None) is not None:
                raise TypeError(
                    f"{owner}: the model {what}, and what outcomes say about its utilities is not worked out. Fit "
                    f"PreferenceGP with {part}=None."
                )
        if not (hasattr(model, "predict_utility") and hasattr(model, "predict_difference")):
            raise TypeError(f"{owner}: the model is a {type(model).__name__}; pass a fitted PreferenceGP.")
        check_is_fitted(model)
        check_likelihood(model.likelihood_, owner)
        train = model.comparisons_
        known = ItemTable(train.items, train.names, train.feature_names, train.n_items)
        if items is None:
            return cls(model, owner, known, np.arange(known.n_items), True)
        if isinstance(items, Comparisons):
            items = ItemTable(items.items, items.names, items.feature_names, items.n_items)
        if isinstance(items, ItemTable) and items.values is None:
            items = np.arange(items.n_items) if items.names is None else items.names
        if _is_labels(items):
            return cls(model, owner, known, _training_rows(items, known, owner), True)
        table = check_items(items, owner)
        if table.values is None or known.values is None:
            kind = "names or row numbers" if known.values is None else "a table of features, names or row numbers"
            raise TypeError(
                f"{owner}: items must be {kind}, because the model was fitted on items "
                f"{'without' if known.values is None else 'with'} features; got {type(items).__name__}."
            )
        return cls(model, owner, table, np.arange(table.n_items), False)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def names(self) -> NDArray[Any] | None:
        """Names of the items, where they have any."""
        return None if self.table.names is None else self.table.names[self.rows]

    def labels(self, numbers: IntArray) -> NDArray[Any]:
        """Return the names of items, or their rows where there are no names."""
        rows = self.rows[numbers]
        return rows if self.table.names is None else label_array(self.table.names[rows].tolist())

    def _items(self, numbers: IntArray | slice) -> Any:
        """Return some items in a form that the model takes."""
        rows = self.rows[numbers]
        names = None if self.table.names is None else self.table.names[rows]
        if self.training:
            return rows if names is None else names
        return ItemTable(self.table.values[rows], names, self.table.feature_names, rows.shape[0])  # type: ignore[index]

    def comparisons(self, first: IntArray, second: IntArray) -> Comparisons:
        """Return pairs of the pool as comparisons, without the checks that a person's data gets."""
        return Comparisons._from_fields(
            items=self.table.values,
            first=self.rows[first],
            second=self.rows[second],
            outcome=np.ones(first.shape[0]),
            weight=None,
            group=None,
            judge=None,
            judges=None,
            names=self.table.names,
            feature_names=self.table.feature_names,
            n_items=self.table.n_items,
        )

    def pair_moments(self, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance (m,) of the utility differences of pairs, over all points of the hyperparameters."""
        parts = [
            self.model.predict_difference(
                self.comparisons(first[i : i + _CHUNK], second[i : i + _CHUNK]), return_std=True
            )
            for i in range(0, first.shape[0], _CHUNK)
        ]
        if not parts:
            return np.zeros(0), np.zeros(0)
        return np.concatenate([mean for mean, _ in parts]), np.square(np.concatenate([std for _, std in parts]))

    @property
    def averaged(self) -> bool:
        """Whether the posterior is an average over several points of the hyperparameters."""
        points = getattr(self.model, "hyperposterior_", None)
        return points is not None and points.weight.shape[0] > 1

    def difference_posteriors(self, first: IntArray, second: IntArray) -> Iterator[list[DifferencePosterior]]:
        """Yield the utility differences of some pairs at a time, at every point of the hyperparameters."""
        for i in range(0, first.shape[0], _CHUNK):
            yield self.model.difference_posteriors(self.comparisons(first[i : i + _CHUNK], second[i : i + _CHUNK]))

    def marginals(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of every item's utility."""
        parts = [
            self.model.predict_utility(self._items(slice(i, i + _CHUNK)), return_std=True)
            for i in range(0, len(self), _CHUNK)
        ]
        return np.concatenate([mean for mean, _ in parts]), np.concatenate([std for _, std in parts])

    def joint(self, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return mean (p,) and covariance (p, p) of the utilities of some items."""
        mean, covariance = self.model.predict_utility(self._items(numbers), return_cov=True)
        return np.asarray(mean), np.asarray(covariance)

    def pairs(self, pairs: Any, what: str) -> tuple[IntArray, IntArray]:
        """Return the numbers of the two items of each pair, given as tuples, rows of two, or comparisons."""
        if isinstance(pairs, Comparisons):
            if pairs.names is not None and self.names is not None:
                sides = [pairs.names[pairs.first], pairs.names[pairs.second]]
            elif pairs.n_items == self.table.n_items:
                sides = [pairs.first, pairs.second]
            else:
                raise DataError(
                    f"{what} compares {pairs.n_items} items and the pool is of a table of {self.table.n_items}, "
                    "without names on both sides to match them",
                    "Name the items",
                    code="pool-without-names",
                    owner=self.owner,
                )
        else:
            listed = _two_columns(pairs, what, self.owner)
            sides = [np.empty(len(listed), dtype=object) for _ in range(2)]
            for row, (one, other) in enumerate(listed):
                sides[0][row], sides[1][row] = one, other
        first, second = (self._numbers(side, what) for side in sides)
        same = np.flatnonzero(first == second)
        if same.size:
            raise DataError(
                f"{same.size} of {first.size} pairs in {what} set an item against itself ({rows_text(same)}; "
                f"items {first_few(self.labels(first[same[:4]]))})",
                "Drop them",
                code="pool-self-pair",
                owner=self.owner,
            )
        return first, second

    def _numbers(self, given: NDArray[Any], what: str) -> IntArray:
        values = given.tolist()
        integers = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
        names = self.names
        by_row = names is None or (integers and not any(isinstance(name, int) for name in names))
        known = self.rows.tolist() if names is None or by_row else names.tolist()
        place = {label: number for number, label in enumerate(known)}
        numbers = np.array([place.get(value, -1) for value in values], dtype=np.intp)
        bad = np.flatnonzero(numbers < 0)
        if bad.size:
            unknown = list(dict.fromkeys(values[row] for row in bad))
            nearest = "" if by_row else nearest_names(str(unknown[0]), map(str, known))
            kind = "row numbers" if by_row else "names"
            raise DataError(
                f"{bad.size} items in {what} are not in the pool of {len(self)} ({rows_text(bad)}; {kind} "
                f"{first_few(unknown)}{'; ' + nearest if nearest else ''})",
                "Correct them or add the items",
                code="not-in-pool",
                owner=self.owner,
            )
        return numbers


def _is_labels(items: Any) -> bool:
    if isinstance(items, ItemTable | str) or sparse.issparse(items) or np.ndim(items) != 1:
        return False
    return not isinstance(nw.from_native(items, pass_through=True), nw.DataFrame)


def _training_rows(labels: Any, known: ItemTable, owner: str) -> IntArray:
    listed = as_list(labels, "items", owner)
    check_names(listed, len(listed), owner)
    lookup = None if known.names is None else {name: row for row, name in enumerate(known.names)}
    return check_rows(listed, known.n_items, lookup, "items", owner)


def pair_codes(first: IntArray, second: IntArray, n_items: int) -> IntArray:
    """Return one number per unordered pair."""
    return np.minimum(first, second).astype(np.int64) * n_items + np.maximum(first, second)


def _two_columns(pairs: Any, what: str, owner: str) -> list[Any]:
    if isinstance(pairs, np.ndarray):
        pairs = pairs.tolist()
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
        raise TypeError(f"{owner}: {what} must be pairs of items or Comparisons; got {type(pairs).__name__}.")
    listed = list(pairs)
    for row, pair in enumerate(listed):
        if isinstance(pair, str | bytes) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise TypeError(f"{owner}: {what} must be pairs of items; row {row} is {first_few([pair])}.")
    return [[v.item() if isinstance(v, np.generic) else v for v in pair] for pair in listed]
