"""What estimators of label preferences share: what fit is given, and answers from utilities of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preflearn.data import LabelPreferences, from_class_labels
from preflearn.data.fields import check_labels
from preflearn.data.label_preferences import label_codes
from preflearn.data.tables import check_items
from preflearn.exceptions import DataError
from preflearn.metrics import pairwise_accuracy
from preflearn.models.asked import OfItems
from preflearn.operators import IntArray


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


class OfLabels(OfItems):
    """Base of estimators that give every label of an item a utility; not public."""

    labels_: Any

    def predict_utility(self, X: Any) -> Any:
        """Return utilities of all labels, (n_items, n_labels); only differences between labels of an item count."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """Return the labels of each item in the order of their expected utilities (eq. 26).

        X is a table of items or LabelPreferences; the answer (n_items, n_labels), the best label first, of equal ones
        the earlier one.
        """
        order = np.argsort(-self.predict_utility(X), axis=1, kind="stable")
        return self.labels_[order]

    def predict_label(self, X: Any) -> Any:
        """Return the label with the highest expected utility for each item, (n_items,), of the kind given to fit."""
        best = np.argmax(self.predict_utility(X), axis=1)
        return self.labels_[best]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the share of edges in the right direction; for rows with class labels y the share of right labels.

        Edges without a direction (outcome 0) are left out, equal utilities count one half.
        """
        mean = self.predict_utility(X)
        if y is None or isinstance(X, LabelPreferences):
            data = label_data(type(self).__name__, X, y)
            item, first, second = self._edges_of(X, None, len(data))
            margin = mean[item, first] - mean[item, second]
            return float(pairwise_accuracy(data.outcome, margin, sample_weight=data.weight))
        owner, known = type(self).__name__, np.asarray(self.labels_, dtype=object)
        right = label_codes(check_labels(y, len(mean), "y", owner, "item"), known, "y", owner)
        return float(np.mean(np.argmax(mean, axis=1) == right))

    def _items(self, X: Any) -> Any:
        """Return checked features of items, with columns matched by name."""
        check_is_fitted(self)
        if isinstance(X, LabelPreferences):
            return self._match_columns(X.items, X.feature_names)
        table = check_items(X, type(self).__name__)
        if table.values is None:
            raise TypeError(f"{type(self).__name__}: give a table of features, one row per item; got {X!r}.")
        return self._match_columns(table.values, table.feature_names)

    def _edges_of(self, X: Any, edges: Any, n_items: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return (item, first, second) of edges to predict, labels as places among those of training."""
        owner = type(self).__name__
        known = np.asarray(self.labels_, dtype=object)
        if isinstance(X, LabelPreferences):
            if edges is not None:
                raise TypeError(
                    f"{owner}: LabelPreferences carry their own edges, but edges were given as well. Pass one."
                )
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
            raise DataError(code="edges-shape", owner=owner).says(
                f"edges must be (row of X, first label, second label); got {listed[:1]}."
            )
        # messages as for data
        asked = LabelPreferences(np.zeros((n_items, 1)), *map(list, zip(*listed, strict=True)), labels=known)
        return asked.item, asked.first, asked.second
