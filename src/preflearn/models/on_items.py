"""A scikit-learn transformer in front of a model that learns from data objects."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons, Ratings
from preflearn.exceptions import DataError, first_few

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
        self.feature_names_ = getattr(X, "feature_names", None)
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
            return X.with_items(self.transformer_.transform(self._columns(X)))
        if isinstance(X, Ratings):
            items = self.transformer_.transform(self._columns(X))
            return Ratings(items, X.score, X.group, weight=X.weight, names=X.names)
        return self.transformer_.transform(X)

    def _columns(self, X: Comparisons | Ratings) -> Any:
        """Return the items with their columns in the order of training, by name."""
        known, names = self.feature_names_, X.feature_names
        assert X.items is not None
        if known is None or names is None or tuple(known) == tuple(names):
            return X.items
        if set(known) - set(names):
            raise DataError(
                f"OnItems: columns {first_few(sorted(set(known) - set(names)))} of training are missing. "
                "Give the same columns as in training."
            )
        return X.items[:, [names.index(name) for name in known]]

    def _rows(self, X: Any) -> Any:
        if isinstance(X, Comparisons):
            if X.items is None:
                raise DataError("OnItems: the items have no features to transform. Give Comparisons an item table.")
            used = X.used_items()
            return X.items[used] if used.shape[0] < X.n_items else X.items
        return X.items if isinstance(X, Ratings) else X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
