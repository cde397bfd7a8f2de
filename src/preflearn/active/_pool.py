"""A pool of items as seen by a fitted model: the only module here that asks the model anything.

Items have *numbers* 0, 1, ... inside the pool, *rows* (the numbers a person uses: rows of the item table) and, where
they are known, *names*. Pairs come in by name or by row and are turned into numbers once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from preflearn.active._outcomes import check_likelihood
from preflearn.data import Comparisons
from preflearn.data._checks import as_list, check_names, label_array, rows_text
from preflearn.data._items import check_items
from preflearn.exceptions import DataError, first_few, nearest_names
from preflearn.operators import FloatArray, IntArray

__all__ = ["Pool", "differences", "pair_codes"]

# Pairs or items asked of the model at once, so that memory does not grow with their number.
_CHUNK = 1 << 13


@dataclass(frozen=True)
class Pool:
    """Items of a fitted model, and the posterior of their utilities."""

    model: Any
    owner: str
    items: Any  # what predict_utility takes: a table of features, names or row numbers
    rows: IntArray
    names: NDArray[Any] | None

    @classmethod
    def build(cls, model: Any, items: Any, owner: str) -> Pool:
        """Return the pool of ``items``, or of the items that the model was fitted on."""
        if not (hasattr(model, "predict_utility") and hasattr(model, "predict_proba")):
            raise TypeError(f"{owner}: the model is a {type(model).__name__}; pass a fitted PreferenceGP.")
        check_is_fitted(model)
        check_likelihood(model.likelihood_, owner)
        if isinstance(items, Comparisons):
            names = items.names
            items = items.items if items.items is not None else (np.arange(items.n_items) if names is None else names)
            pool = cls._of_items(model, items, owner)
            return cls(model, owner, pool.items, pool.rows, names)
        return cls._of_training(model, owner) if items is None else cls._of_items(model, items, owner)

    @classmethod
    def _of_training(cls, model: Any, owner: str) -> Pool:
        if model._prior_.X is None:
            rows = np.arange(model.n_items_)
            return cls(model, owner, rows if model.names_ is None else model.names_, rows, model.names_)
        rows = np.asarray(model.used_)
        return cls(model, owner, model._prior_.X, rows, None if model.names_ is None else model.names_[rows])

    @classmethod
    def _of_items(cls, model: Any, items: Any, owner: str) -> Pool:
        if model.n_features_in_:
            table = check_items(items, owner)
            if table.values is None:
                raise TypeError(f"{owner}: the model knows items by their features; items must be a table of them.")
            return cls(model, owner, table.values, np.arange(table.n_items), table.names)
        listed = as_list(items, "items", owner)
        if model.names_ is not None:
            names = check_names(listed, len(listed), owner)
            return cls(model, owner, names, np.arange(len(listed)), names)
        rows = np.asarray(listed)
        if rows.dtype.kind not in "iu" or (rows.size and rows.min() < 0) or np.unique(rows).size < rows.size:
            raise DataError(
                f"{owner}: the items of the model have neither features nor names, so items must be distinct row "
                f"numbers; got {first_few(listed)}."
            )
        return cls(model, owner, rows.astype(np.intp), rows.astype(np.intp), None)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def labels(self, numbers: IntArray) -> NDArray[Any]:
        """Return the names of items, or their rows where there are no names."""
        return self.rows[numbers] if self.names is None else label_array(self.names[numbers].tolist())

    def comparisons(self, first: IntArray, second: IntArray) -> Comparisons:
        """Return pairs of the pool as comparisons, without the checks that a person's data gets."""
        features = bool(self.model.n_features_in_)
        if not features and self.names is None:
            first, second = self.rows[first], self.rows[second]
        return Comparisons._from_fields(
            items=self.items if features else None,
            first=np.array(first),
            second=np.array(second),
            outcome=np.ones(first.shape[0]),
            weight=None,
            group=None,
            judge=None,
            names=self.names,
            feature_names=None,
            n_items=int(self.rows.max()) + 1 if self.names is None and not features else len(self),
        )

    def pair_moments(self, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance (m,) of the utility differences of pairs."""
        parts = [
            differences(self.model, self.comparisons(first[i : i + _CHUNK], second[i : i + _CHUNK]))
            for i in range(0, first.shape[0], _CHUNK)
        ]
        if not parts:
            return np.zeros(0), np.zeros(0)
        return np.concatenate([mean for mean, _ in parts]), np.concatenate([variance for _, variance in parts])

    def marginals(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of every item's utility."""
        parts = [
            self.model.predict_utility(self.items[i : i + _CHUNK], return_std=True) for i in range(0, len(self), _CHUNK)
        ]
        return np.concatenate([mean for mean, _ in parts]), np.concatenate([std for _, std in parts])

    def joint(self, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return mean (p,) and covariance (p, p) of the utilities of some items."""
        mean, covariance = self.model.predict_utility(self.items[numbers], return_cov=True)
        return np.asarray(mean), np.asarray(covariance)

    def pairs(self, pairs: Any, what: str) -> tuple[IntArray, IntArray]:
        """Return the numbers of the two items of each pair, given as tuples, rows of two, or comparisons."""
        if isinstance(pairs, Comparisons):
            named = pairs.names is not None and self.names is not None
            sides = [pairs.names[side] if named else side for side in (pairs.first, pairs.second)]  # type: ignore[index]
        else:
            listed = _two_columns(pairs, what, self.owner)
            sides = [np.empty(len(listed), dtype=object) for _ in range(2)]
            for row, (one, other) in enumerate(listed):
                sides[0][row], sides[1][row] = one, other
        first, second = (self._numbers(side, what) for side in sides)
        same = np.flatnonzero(first == second)
        if same.size:
            raise DataError(
                f"{self.owner}: {same.size} of {first.size} pairs in {what} set an item against itself "
                f"({rows_text(same)}; items {first_few(self.labels(first[same[:4]]))}). Drop them."
            )
        return first, second

    def _numbers(self, given: NDArray[Any], what: str) -> IntArray:
        values = given.tolist()
        integers = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
        by_row = self.names is None or (integers and not any(isinstance(name, int) for name in self.names))
        known = self.rows.tolist() if by_row else self.names.tolist()  # type: ignore[union-attr]
        place = {label: number for number, label in enumerate(known)}
        numbers = np.array([place.get(value, -1) for value in values], dtype=np.intp)
        bad = np.flatnonzero(numbers < 0)
        if bad.size:
            unknown = list(dict.fromkeys(values[row] for row in bad))
            nearest = "" if by_row else nearest_names(str(unknown[0]), map(str, known))
            kind = "row numbers" if by_row else "names"
            raise DataError(
                f"{self.owner}: {bad.size} items in {what} are not in the pool of {len(self)} ({rows_text(bad)}; "
                f"{kind} {first_few(unknown)}{'; ' + nearest if nearest else ''}). Correct them or add the items."
            )
        return numbers


def differences(model: Any, pairs: Comparisons) -> tuple[FloatArray, FloatArray]:
    """Return posterior mean and variance of utility differences, first minus second."""
    if hasattr(model, "predict_difference"):
        mean, std = model.predict_difference(pairs, return_std=True)
        return mean, np.square(std)
    mean, variance = model._differences(pairs)
    return np.asarray(mean), np.asarray(variance)


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
