"""Instances and labels as seen by a fitted model of label preferences: the only module here that asks it anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from preflearn.active._criteria import JointPosterior
from preflearn.active.outcome_information import check_likelihood, information
from preflearn.data import ItemTable, LabelPreferences
from preflearn.data.fields import as_list, check_count, label_array, object_array
from preflearn.data.label_preferences import label_codes
from preflearn.data.sides import check_rows
from preflearn.data.tables import check_items
from preflearn.exceptions import DataError
from preflearn.operators import FloatArray, IntArray

MOST_UTILITIES = 2_000  # of labels, that are considered together
_CHUNK = 512  # instances that are asked about at once


@dataclass(frozen=True)
class LabelPool:
    """Pairs of labels of instances that might be compared: rows of a table, and places among the model's labels."""

    model: Any
    table: ItemTable
    item: IntArray
    first: IntArray
    second: IntArray

    @classmethod
    def of_edges(cls, model: Any, edges: Any, items: Any, owner: str) -> LabelPool:
        """Return listed pairs of labels: LabelPreferences, or triples (instance, label, label) with a table."""
        check_is_fitted(model)
        check_likelihood(model.likelihood_, owner)
        if isinstance(items, LabelPreferences):
            items = ItemTable(items.items, items.names, items.feature_names, len(items))
        if isinstance(edges, LabelPreferences):
            if items is None:
                items = ItemTable(edges.items, edges.names, edges.feature_names, len(edges))
            table = check_items(items, owner, what="instances")
            if table.n_items != len(edges):
                raise DataError(code="instances-of-other-size", owner=owner).says(
                    f"the label preferences are about {len(edges)} instances and the pool has {table.n_items}",
                    "Give label preferences over the table of the pool",
                )
            known = object_array(model.labels_.tolist())
            code = label_codes(edges.labels, known, "labels", owner)
            return cls(model, table, edges.item, code[edges.first], code[edges.second])
        if items is None:
            raise TypeError(
                f"{owner}: for which instances? Give their table of features as items, one row per instance."
            )
        table = check_items(items, owner, what="instances")
        if table.values is None:
            raise TypeError(f"{owner}: items must be a table of features, one row per instance; got {items!r}.")
        listed = [tuple(edge) for edge in as_list(edges, "label pairs", owner)]
        if any(len(edge) != 3 for edge in listed):
            raise DataError(code="label-pairs-shape", owner=owner).says(
                f"label pairs must be (instance, first label, second label); got {listed[:1]}."
            )
        if not listed:
            none = np.zeros(0, dtype=np.intp)
            return cls(model, table, none, none, none)
        # messages as for data
        rows = check_rows([edge[0] for edge in listed], table, "instance", owner)
        sides = [[edge[side] for edge in listed] for side in (1, 2)]
        asked = LabelPreferences(np.zeros((table.n_items, 1)), rows, *sides, labels=model.labels_)
        return cls(model, table, asked.item, asked.first, asked.second)

    @classmethod
    def build(cls, model: Any, items: Any, candidates: Any, forbidden: Any, limit: int, owner: str) -> LabelPool:
        """Return the candidates that are considered together; all pairs of labels where none are listed."""
        limit = check_count(limit, "n_max_candidates", owner)
        pool = cls.of_edges(model, [] if candidates is None else candidates, items, owner)
        n, n_labels = pool.table.n_items, len(model.labels_)
        if candidates is None:
            low, high = np.triu_indices(n_labels, 1)
            some = pool._uncertain(max(1, limit // low.shape[0])) if n * low.shape[0] > limit else np.arange(n)
            item = np.repeat(some, low.shape[0])
            pool = cls(model, pool.table, item, np.tile(low, some.shape[0]), np.tile(high, some.shape[0]))
        banned = np.zeros(0, dtype=np.intp)
        if forbidden is not None:
            table = ItemTable(pool.table.values, pool.table.names, pool.table.feature_names, n)
            banned = cls.of_edges(model, forbidden, table, owner)._codes()
        _, place = np.unique(pool._codes(), return_index=True)  # each pair once
        place = np.sort(place[~np.isin(pool._codes()[place], banned)])
        if not place.size:
            raise DataError(code="no-label-pair-left", owner=owner).says(
                f"no pair of labels is left to compare for {n} instances", "Forbid fewer pairs, or give more instances"
            )
        pool = pool._rows(place)
        most = max(1, MOST_UTILITIES // n_labels)
        if np.unique(pool.item).shape[0] > most:
            gain = pool.information()
            best = np.argsort(-gain, kind="stable")
            _, where = np.unique(pool.item[best], return_index=True)
            instances = pool.item[best][np.sort(where)[:most]]
            pool = pool._rows(np.flatnonzero(np.isin(pool.item, instances)))
        return pool

    def _rows(self, rows: IntArray) -> LabelPool:
        return LabelPool(self.model, self.table, self.item[rows], self.first[rows], self.second[rows])

    def _codes(self) -> IntArray:
        """Return one number per instance and unordered pair of labels."""
        n_labels = len(self.model.labels_)
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        return (self.item * n_labels + low) * n_labels + high

    def _instances(self, rows: IntArray) -> ItemTable:
        values: Any = self.table.values
        return ItemTable(values[rows], None, self.table.feature_names, rows.shape[0])

    def _uncertain(self, count: int) -> IntArray:
        """Return the instances with the most uncertain differences of labels."""
        doubt = []
        for start in range(0, self.table.n_items, _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, self.table.n_items))
            C = self.model.predict_utility(self._instances(rows), return_cov=True)[1]
            doubt.append(np.einsum("iaa->i", C) - C.mean(axis=2).sum(axis=1))  # sum of variances about their mean
        return np.sort(np.argsort(-np.concatenate(doubt), kind="stable")[:count])

    @property
    def labels(self) -> NDArray[Any]:
        """All labels of the model."""
        return np.asarray(self.model.labels_)

    def names_of(self, rows: IntArray) -> NDArray[Any]:
        """Return names of instances, or their rows where there are none."""
        return rows if self.table.names is None else label_array(self.table.names[rows].tolist())

    @property
    def posterior(self) -> JointPosterior:
        """Utilities of all labels of the instances, and the pairs."""
        used, place = np.unique(self.item, return_inverse=True)
        mean, covariance = self.model.joint_utilities(self._instances(used))
        block = len(self.model.labels_) * place.ravel()
        return JointPosterior(self.model.likelihood_, mean.ravel(), covariance, block + self.first, block + self.second)

    def information(self) -> FloatArray:
        """Return what the outcome of each pair alone would tell, in nats."""
        gain = np.zeros(self.item.shape[0])
        for start in range(0, self.table.n_items, _CHUNK):
            some = np.flatnonzero((self.item >= start) & (self.item < start + _CHUNK))
            if not some.size:
                continue
            used, place = np.unique(self.item[some], return_inverse=True)
            mean, C = self.model.predict_utility(self._instances(used), return_cov=True)
            i, a, b = place.ravel(), self.first[some], self.second[some]
            variance = np.maximum(C[i, a, a] + C[i, b, b] - 2 * C[i, a, b], 0.0)
            gain[some] = information(self.model.likelihood_, mean[i, a] - mean[i, b], variance)
        return gain


def check_label_criterion(criterion: Any, owner: str, **without: Any) -> None:
    """Raise for what there is not for labels."""
    if criterion not in (None, "utilities"):
        raise ValueError(
            f"{owner}: criterion={criterion!r}: with labels outcomes tell about their utilities. Leave criterion out."
        )
    given = [name for name, value in without.items() if value is not None]
    if given:
        raise ValueError(f"{owner}: {given[0]} does not go with a model of labels. Leave it out.")
