"""The same order of labels for everything: what models of features have to beat."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from preflearn.baselines._rival import FloatArray
from preflearn.data.fields import label_array
from preflearn.models.of_labels import OfLabels, label_data


class LabelFrequencies(OfLabels, BaseEstimator):
    """The mean ranking of labels, whatever the item: shares of wins and of first places in the data.

    Answers: how well are labels predicted without looking at features?

    Attributes
    ----------
    labels_ : ndarray (n_labels,)
        The labels.
    wins_ : ndarray (n_labels, n_labels)
        Weight of the edges in which the row's label was preferred to the column's; ties count half.
    firsts_ : ndarray (n_labels,)
        Number of items whose first choice the label is; an item with several first choices is shared among them.

    Notes
    -----
    Probabilities have one more edge of each pair of labels, and one more first place, shared equally: no event is
    called impossible. The utility of a label is its mean probability to be preferred to another (Borda count).

    *Differences from the paper*: none; it is not from a paper.

    Examples
    --------
    >>> from preflearn.baselines import LabelFrequencies
    >>> model = LabelFrequencies().fit([[0.1], [0.5], [0.9]], ["tea", "milk", "tea"])
    >>> model.predict([[0.3]])
    array([['tea', 'milk']], dtype='<U4')
    >>> model.predict_label_proba([[0.3]])
    array([[0.375, 0.625]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count in LabelPreferences, or in rows X with class labels y."""
        data = label_data(type(self).__name__, X, y)
        weight = np.ones(data.n_edges) if data.weight is None else data.weight
        share = (1 + np.sign(data.outcome)) / 2
        self.wins_ = np.zeros((data.n_labels, data.n_labels))
        np.add.at(self.wins_, (data.first, data.second), weight * share)
        np.add.at(self.wins_, (data.second, data.first), weight * (1 - share))
        self.firsts_ = firsts(data, data.n_labels).sum(axis=0)
        self.labels_, self.n_features_in_ = label_array(data.labels.tolist()), int(data.shape[1])
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if data.feature_names is not None:
            self.feature_names_in_ = np.array(data.feature_names, dtype=object)
        return self

    def preference_matrix(self, X: Any) -> FloatArray:
        """Return P(label a is preferred to label b), the same for each item, (n_items, n_labels, n_labels)."""
        P = (self.wins_ + 0.5) / (self.wins_ + self.wins_.T + 1.0)
        np.fill_diagonal(P, 0.5)
        return np.tile(P, (self._items(X).shape[0], 1, 1))

    def predict_utility(self, X: Any) -> FloatArray:
        """Return the mean probability of each label to be preferred to another, (n_items, n_labels)."""
        P = self.preference_matrix(X)
        return np.asarray((P.sum(axis=2) - 0.5) / (len(self.labels_) - 1))

    def predict_proba(self, X: Any, edges: Any = None) -> FloatArray:
        """Return P(second preferred) and P(first preferred) of edges, (n_edges, 2), as `LabelPreferenceGP`."""
        P = self.preference_matrix(X)
        item, first, second = self._edges_of(X, edges, len(P))
        return np.column_stack([P[item, second, first], P[item, first, second]])

    def predict_label_proba(self, X: Any) -> FloatArray:
        """Return P(label is placed first), the same for each item, (n_items, n_labels)."""
        n_labels = len(self.labels_)
        P = (self.firsts_ + 1.0 / n_labels) / (self.firsts_.sum() + 1.0)
        return np.tile(P, (self._items(X).shape[0], 1))


def firsts(data: Any, n_labels: int) -> FloatArray:
    """Return which labels come first for each item, (n_items, n_labels): those preferred to some and beaten by none.

    Where several do they share 1; where none does, or all edges are ties, the row is 0.

    Examples
    --------
    >>> from preflearn.data import from_label_rankings
    >>> firsts(from_label_rankings([[0.0], [1.0]], [["a", "b", "c"], ["c", "b"]]), 3)
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    won = np.zeros((len(data), n_labels), dtype=bool)
    lost = np.zeros((len(data), n_labels), dtype=bool)
    counts = data.outcome != 0
    if data.weight is not None:
        counts &= data.weight > 0
    forward = data.outcome > 0
    item = data.item[counts]
    better = np.where(forward, data.first, data.second)[counts]
    worse = np.where(forward, data.second, data.first)[counts]
    won[item, better] = True
    lost[item, worse] = True
    top = (won & ~lost).astype(np.float64)
    size = top.sum(axis=1, keepdims=True)
    return np.asarray(top / np.maximum(size, 1.0))
