"""Any classifier on pairs: features of the two items side by side, in both orders."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from preflearn.baselines._rival import FloatArray, Rival, check_asked, check_comparisons, check_decided, check_some
from preflearn.data import Comparisons
from preflearn.exceptions import DataError
from preflearn.models.asked import OfItems


class PairAugmented(OfItems, Rival):
    """Predict outcomes by a classifier of concatenated features, trained on both orders of every pair.

    Answers: who is preferred, if we assume only that some classifier can learn preferences?

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, default=None
        None is ``LogisticRegression()`` (PAIR-LOGREG of the paper); ``GaussianProcessClassifier(1.0 * RBF())`` is
        PAIR-GP.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier of (m, 2 n_features) rows.

    Notes
    -----
    Every comparison is two rows, (x_i, x_j) with its outcome and (x_j, x_i) with the opposite one. That encourages
    antisymmetry and does not give it: probabilities are averaged over both orders (equation 8 of the paper), and the
    two of a pair then sum to 1 exactly. Twice as many rows as comparisons; a baseline.

    References
    ----------
    Chau, González and Sejdinovic, "Learning inconsistent preferences with Gaussian processes", 2022, section 3.3.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.baselines import PairAugmented
    >>> data = Comparisons([[0.0], [1.0], [2.0]], [2, 1, 2], [0, 0, 1])
    >>> PairAugmented().fit(data).predict(data)
    array([1., 1., 1.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"estimator": [HasMethods(["fit", "predict_proba"]), None]}

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, X: Comparisons, y: None = None) -> Self:
        """Learn from comparisons without ties, of items with features."""
        self._validate_params()
        check_comparisons(X, "PairAugmented")
        check_some(X, "PairAugmented")
        check_decided(X, "PairAugmented")
        rows = _rows(X, X.items)
        self.estimator_ = LogisticRegression() if self.estimator is None else clone(self.estimator)
        extra: dict[str, Any] = {}
        if X.weight is not None:
            if not has_fit_parameter(self.estimator_, "sample_weight"):
                raise DataError(code="classifier-takes-no-weights", owner="PairAugmented").says(
                    f"{type(self.estimator_).__name__} takes no weights", "Drop them"
                )
            extra["sample_weight"] = np.tile(X.weight, 2)
        won = X.outcome > 0
        self.estimator_.fit(np.vstack(rows), np.concatenate([won, ~won]), **extra)
        self.n_features_in_ = X.n_features
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if X.feature_names is not None:
            self.feature_names_in_ = np.array(X.feature_names, dtype=object)
        self.classes_ = np.array([-1.0, 1.0])
        return self

    def predict_proba(self, X: Comparisons) -> FloatArray:
        """Return P(second preferred) and P(first preferred), (m, 2), averaged over both orders."""
        check_is_fitted(self)
        check_asked(X, "PairAugmented")
        check_comparisons(X, "PairAugmented")
        straight, turned = (self.estimator_.predict_proba(rows) for rows in _rows(X, self._features_of(X)))
        yes = int(np.flatnonzero(self.estimator_.classes_)[0])
        # from the lower item's side, and then turned: swapping sides changes nothing but places
        lower = X.first < X.second
        of_lower = np.where(lower, straight[:, yes], turned[:, yes])
        of_higher = np.where(lower, turned[:, yes], straight[:, yes])
        p = (of_lower + (1.0 - of_higher)) / 2
        first = np.where(lower, p, 1.0 - p)
        return np.column_stack([np.where(lower, 1.0 - p, p), first])

    def decision_function(self, X: Comparisons) -> FloatArray:
        """Return P(first preferred) minus 1/2."""
        return np.asarray(self.predict_proba(X)[:, 1] - 0.5)


def _rows(X: Comparisons, items: Any) -> tuple[FloatArray, FloatArray]:
    """Return the features of both items of each comparison, in both orders."""
    table = items.toarray() if hasattr(items, "toarray") else np.asarray(items)
    first, second = table[X.first], table[X.second]
    return np.hstack([first, second]), np.hstack([second, first])
