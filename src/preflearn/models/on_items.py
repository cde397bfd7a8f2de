"""A scikit-learn transformer in front of a model that learns from data objects."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons, Ratings
from preflearn.exceptions import DataError

__all__ = ["OnItems"]


class OnItems(TransformerMixin, BaseEstimator):
    """Apply a scikit-learn transformer to the items of `Comparisons` or `Ratings`, inside a pipeline.

    Answers: how do I scale, reduce or denoise the items before they are ranked? Any transformer of rows will do
    (StandardScaler, PCA, KernelPCA, Isomap, ...). Plain arrays need no wrapper: put the transformer into the pipeline.

    Parameters
    ----------
    transformer : transformer
        What to apply to the feature rows; it is cloned, not changed.

    Attributes
    ----------
    transformer_ : transformer
        The fitted clone.

    Notes
    -----
    It is fitted on the items that occur in the training comparisons only, each once, so that nothing is learned from
    items held out.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from preflearn import Comparisons, OnItems, RankRLS
    >>> matches = Comparisons([[1.0, 900.0], [0.0, 100.0], [1.0, 400.0]], first=[0, 2], second=[1, 1])
    >>> model = make_pipeline(OnItems(StandardScaler()), RankRLS()).fit(matches)
    >>> model.score(matches)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"transformer": [HasMethods(["fit", "transform"])]}

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the transformer on the items that occur.

        Parameters
        ----------
        X : Comparisons, Ratings or array-like (n_items, n_features)
            Training data.
        y : None
            Not used.

        Returns
        -------
        OnItems
            Itself, fitted.
        """
        self._validate_params()
        self.transformer_ = clone(self.transformer).fit(self._rows(X))
        return self

    def transform(self, X: Any) -> Any:
        """Return the same data with transformed items.

        Parameters
        ----------
        X : Comparisons, Ratings or array-like (n_items, n_features)
            Data of the kind given to fit.

        Returns
        -------
        Comparisons, Ratings or ndarray
            The same comparisons or scores over transformed items.
        """
        check_is_fitted(self)
        if isinstance(X, Comparisons):
            self._rows(X)
            return X.with_items(self.transformer_.transform(X.items))
        if isinstance(X, Ratings):
            items = self.transformer_.transform(X.items)
            return Ratings(items, X.score, X.group, weight=X.weight, names=X.names)
        return self.transformer_.transform(X)

    def _rows(self, X: Any) -> Any:
        if isinstance(X, Comparisons):
            if X.items is None:
                raise DataError("OnItems: the items have no features to transform. Give Comparisons an item table.")
            used = X.used_items()
            return X.items[used] if used.shape[0] < X.n_items else X.items
        return X.items if isinstance(X, Ratings) else np.asarray(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
