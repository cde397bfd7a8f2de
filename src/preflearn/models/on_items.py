"""A scikit-learn transformer in front of a model that learns from data objects."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons, ItemTable, LabelPreferences, Ratings
from preflearn.data.tables import check_items, frame_of
from preflearn.exceptions import DataError
from preflearn.items import as_items
from preflearn.models.asked import match_columns


class OnItems(TransformerMixin, BaseEstimator):
    """Apply a scikit-learn transformer to the items of a data object, inside a pipeline.

    Data objects are `Comparisons`, `Ratings` and `LabelPreferences`.

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
    It is fitted on the items that occur in the training comparisons (or have edges between labels) only, each once, so
    that nothing is learned from items held out. Columns have names after it if those of training had names and
    the transformer says which (``get_feature_names_out``). Of `Bags` the points are the rows.

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
        """Fit the transformer on the items that occur in X: a data object or rows of features."""
        self._validate_params()
        self.feature_names_ = getattr(X, "feature_names", None)
        rows = self._rows(X)
        self.transformer_ = clone(self.transformer).fit(as_items(rows).points)
        return self

    def transform(self, X: Any) -> Any:
        """Return the same data with transformed items; X is of the kind given to fit, or plain rows.

        Plain rows become transformed rows: an ItemTable with names if they came in a data frame and the transformer was
        fitted on a data object with names, else an array.
        """
        check_is_fitted(self)
        if isinstance(X, Comparisons | LabelPreferences | Ratings):
            self._rows(X)
            table = self._table(X.items, X.feature_names)
            if isinstance(X, Ratings):
                return X._take(slice(None), items=table.values, feature_names=table.feature_names)
            return X.with_items(table)
        if self.feature_names_ is not None and frame_of(X, "OnItems") is not None:
            given = check_items(X, "OnItems")
            table = self._table(given.values, given.feature_names)
            return table._replace(names=given.names)
        items = as_items(X)
        if not items.one_row_each:
            table = self._table(items.bare(), items.feature_names)
            return table if items.names is None else table._replace(names=items.names)
        return self.transformer_.transform(X)

    def _table(self, rows: Any, names: Any) -> ItemTable:
        """Transform feature rows; the new columns have the names that the transformer gives them."""
        items = as_items(match_columns("OnItems", rows, names, self.feature_names_))
        table = check_items(items.with_points(self.transformer_.transform(items.points), "OnItems"), "OnItems")
        if self.feature_names_ is None:
            return table
        try:
            new = self.transformer_.get_feature_names_out(list(self.feature_names_))
        except AttributeError:  # it, or a step of it, has no names to give
            return table
        return table._replace(feature_names=tuple(str(name) for name in new))

    def _rows(self, X: Any) -> Any:
        """Return the feature rows of the items that occur, each once."""
        if isinstance(X, Comparisons):
            if X.items is None:
                raise DataError(code="nothing-to-transform", owner="OnItems").says(
                    "the items have no features to transform", "Give Comparisons the features: items=..."
                )
            used = X.used_items()
        elif isinstance(X, LabelPreferences):
            used = np.unique(X.item)
        else:
            return X.items if isinstance(X, Ratings) else X
        return X.items[used] if 0 < used.shape[0] < X.n_items else X.items

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
