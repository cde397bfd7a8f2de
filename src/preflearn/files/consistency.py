"""Whether the parts of a loaded estimator fit together: sizes first, then one prediction.

A file that was damaged, or made on purpose, must be found out when it is read and not when a prediction fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from preflearn.data import Bags, Comparisons
from preflearn.exceptions import DataError
from preflearn.items import as_items
from preflearn.models.kpc import Components

LARGEST = 1e150  # numbers beyond this overflow when they are squared


def least_squares(estimator: Any) -> None:
    """Check a model with coefficients of features, of training rows or of components."""
    n_features = _width(estimator)
    sparse = False
    outputs = estimator._outputs
    if hasattr(estimator, "projection_"):
        sparse = _check_components(estimator, estimator.projection_, n_features)
    elif hasattr(estimator, "coef_"):
        _check_shape("coef_", estimator.coef_, (*outputs, estimator.map_.n_features_out(n_features)))
    elif isinstance(estimator.kernel_, str):
        _check_shape("dual_coef_", estimator.dual_coef_, (n_features, *outputs))
    else:
        sparse = _check_rows(estimator.X_fit_, n_features, len(estimator.dual_coef_))
    for name in ("coef_", "dual_coef_", "X_fit_"):
        _check_finite(name, getattr(estimator, name, None))
    _check_names(estimator, "feature_names_in_", n_features)
    _check_names(estimator, "item_names_", n_features if getattr(estimator, "featureless_", False) else None)
    # What is still wrong, such as a kernel with the wrong number of length scales, shows in a prediction.
    rows: Any = _few_ones(n_features) if sparse else np.stack([np.zeros(n_features), np.ones(n_features)])
    if getattr(estimator, "on_bags_", False):
        rows = Bags([rows[:1], rows])
    if len(outputs) > 1:
        raise DataError(f"outputs have shape {outputs}")
    _check_answer(estimator._utilities(rows), (2, *outputs))


def of_comparisons(estimator: Any) -> None:
    """Check a model that keeps its comparisons by asking about the first of them."""
    X = estimator.comparisons_[:1]
    _check_answer(estimator.predict_proba(X), (1, 2))
    _check_answer(estimator.predict_difference(X), (1,))


def of_labels(estimator: Any) -> None:
    """Check a model of labels by asking about its first item."""
    n_labels = len(estimator.labels_)
    row = estimator._edges.X[:1]
    _check_answer(estimator.predict_utility(row), (1, n_labels))
    _check_answer(estimator.preference_matrix(row), (1, n_labels, n_labels))


def frequencies(estimator: Any) -> None:
    """Check counts of labels."""
    n_labels = len(estimator.labels_)
    for name, shape in (("wins_", (n_labels, n_labels)), ("firsts_", (n_labels,))):
        counts = getattr(estimator, name)
        if np.shape(counts) != shape or counts.dtype != np.float64 or not (counts >= 0).all():
            raise DataError(f"{name} should be counts for {n_labels} labels")
        _check_finite(name, counts)
    _check_names(estimator, "feature_names_in_", _width(estimator))
    _check_answer(estimator.predict_label_proba(np.zeros((1, _width(estimator)))), (1, n_labels))


def machine(estimator: Any) -> None:
    """Check a machine with coefficients of training rows, of items or for every label."""
    n_features = _width(estimator)
    labels = (len(estimator.labels_),) if hasattr(estimator, "labels_") else ()
    sparse = _check_rows(estimator.X_fit_, n_features, len(estimator.dual_coef_))
    for name in ("dual_coef_", "X_fit_"):
        _check_finite(name, getattr(estimator, name))
    _check_names(estimator, "feature_names_in_", n_features)
    rows = _few_ones(n_features) if sparse else np.stack([np.zeros(n_features), np.ones(n_features)])
    _check_answer(estimator.predict_utility(rows), (2, *labels))


def pair_classifier(estimator: Any) -> None:
    """Check a classifier of pairs by asking about two rows."""
    _check_names(estimator, "feature_names_in_", _width(estimator))
    inner = estimator.estimator_
    if np.shape(inner.classes_) != (2,) or inner.classes_.dtype != np.bool_ or inner.classes_.all():
        raise DataError("the classes of the classifier are not false and true")
    if np.shape(inner.coef_) != (1, 2 * _width(estimator)) or np.shape(inner.intercept_) != (1,):
        raise DataError("the coefficients of the classifier are not those of pairs")
    pair = Comparisons(np.stack([np.zeros(_width(estimator)), np.ones(_width(estimator))]), [0], [1])
    _check_answer(estimator.predict_proba(pair), (1, 2))


def stumps(estimator: Any) -> None:
    """Check a sum of threshold stumps: three numbers of each, of features that there are."""
    n_features, n_rounds = _width(estimator), len(estimator.features_)
    for name in ("thresholds_", "steps_"):
        _check_length(name, getattr(estimator, name), n_rounds)
        _check_finite(name, getattr(estimator, name))
    features = estimator.features_
    if features.dtype.kind != "i" or features.min(initial=0) < 0 or features.max(initial=0) >= n_features:
        raise DataError("a feature of a stump is none of the table")
    _check_names(estimator, "feature_names_in_", n_features)
    _check_answer(estimator._utilities(np.stack([np.zeros(n_features), np.ones(n_features)])), (2,))


def item_scores(estimator: Any) -> None:
    """Check numbers of items: one for each, and names where there are any."""
    n = _width(estimator)
    if estimator.n_items_ != n or estimator.featureless_ is not True:
        raise DataError("the items are not those of the scores")
    for name in ("utilities_", "scores_"):
        if hasattr(estimator, name):
            _check_length(name, getattr(estimator, name), n)
            _check_finite(name, getattr(estimator, name))
    _check_names(estimator, "item_names_", n)
    names = np.arange(n) if estimator.item_names_ is None else estimator.item_names_
    asked = Comparisons(n, names[:1], names[1:2], names=estimator.item_names_)  # refuses names that are none
    _check_answer(estimator.decision_function(asked), (1,))


def clusters(estimator: Any) -> None:
    """Check clusters: a number of each kind for every item."""
    n = np.shape(estimator.labels_)[0]
    for name in ("labels_", "utilities_", "ranks_", "singular_values_"):
        _check_length(name, getattr(estimator, name), n)
    if np.shape(estimator.preferences_) != (n, n) or type(estimator.n_clusters_) is not int:
        raise DataError("the preferences are not those of the items")
    _check_length("explained_", estimator.explained_, estimator.n_clusters_)
    if estimator.labels_.min(initial=0) < 0 or estimator.labels_.max(initial=0) >= estimator.n_clusters_:
        raise DataError("a label is of no cluster")


def finite_parts(estimator: Any) -> None:
    """Check that all numbers of an estimator of scikit-learn are finite, but for what imputers leave missing."""
    for name, value in vars(estimator).items():
        missing = isinstance(estimator, SimpleImputer) and name == "statistics_"
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not missing:
            _check_finite(name, value)


def transformer(estimator: Any) -> None:
    """Check a transformer by rows of which it has seen the like."""
    finite_parts(estimator)
    _check_transformed(estimator.transform(_rows(estimator)))


def on_items(estimator: Any) -> None:
    """Check a transformer of items."""
    inner, names = estimator.transformer_, estimator.feature_names_
    _check_transformed(inner.transform(_rows(inner)))
    if names is not None and (not isinstance(names, tuple) or not all(isinstance(name, str) for name in names)):
        raise DataError("the names of the features are not texts")
    if names is not None and len(names) != _width(inner):
        raise DataError("the names of the features are not those of the columns")


def pipeline(estimator: Pipeline) -> None:
    """Check that every step takes what the one before it gives; steps themselves have been checked."""
    if not _has_learned(estimator):
        return  # a parameter
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    rows = _rows(steps[0])
    for step in steps[:-1]:
        if not hasattr(step, "transform"):
            raise DataError("a step in the middle transforms nothing")
        rows = getattr(step, "transformer_", step).transform(rows)
    wanted = getattr(steps[-1], "n_features_in_", None)
    if len(steps) > 1 and wanted is not None and rows.shape[1] != wanted:
        raise DataError(f"the last step takes {wanted} features and gets {rows.shape[1]}")


def _has_learned(estimator: Any) -> bool:
    if isinstance(estimator, Pipeline):
        return any(_has_learned(step) for _, step in estimator.steps if hasattr(step, "get_params"))
    return bool(set(vars(estimator)) - set(estimator.get_params(deep=False)))


def _rows(estimator: Any) -> Any:
    """Return two rows that an estimator, or the first step of it, can take."""
    if isinstance(estimator, Pipeline):
        return _rows(next(step for _, step in estimator.steps if step not in (None, "passthrough")))
    if hasattr(estimator, "transformer_"):
        return _rows(estimator.transformer_)
    if isinstance(estimator, OneHotEncoder):
        return np.array([[values[0] for values in estimator.categories_]] * 2)
    return np.stack([np.zeros(_width(estimator)), np.ones(_width(estimator))])


def _few_ones(n_features: int) -> Any:
    # a row of zeros and one with some ones; never dense, as a file can say any number of columns
    columns = np.arange(min(n_features, 10))
    return sp.csr_array((np.ones(columns.shape[0]), columns, [0, 0, columns.shape[0]]), shape=(2, n_features))


def _width(estimator: Any) -> int:
    if isinstance(estimator, Pipeline):
        return int(_rows(estimator).shape[1])
    n_features = estimator.n_features_in_
    if type(n_features) is not int or n_features < 1:
        raise DataError(f"the number of features is {n_features!r}")
    return n_features


def _check_transformed(rows: Any) -> None:
    if np.ndim(rows) != 2 or rows.shape[0] != 2:
        raise DataError("a transformed row is not a row")
    _check_finite("a transformed row", rows)


def _check_answer(answer: Any, shape: tuple[int, ...]) -> None:
    if np.shape(answer) != shape:
        raise DataError(f"a prediction has shape {np.shape(answer)} and should have shape {shape}")
    if not np.isfinite(answer).all():
        raise DataError("a prediction is not finite")


def _check_finite(name: str, values: Any) -> None:
    values = as_items(values).points
    if not isinstance(values, np.ndarray):
        values = getattr(values, "data", values)  # of a sparse matrix
    if values is not None and not (np.abs(np.asarray(values)) <= LARGEST).all():
        raise DataError(f"{name} has values that are not finite")


def _check_names(estimator: Any, what: str, count: int | None) -> None:
    names = getattr(estimator, what, None)
    if names is not None and (np.ndim(names) != 1 or (count is not None and len(names) != count)):
        raise DataError(f"{what} are {np.shape(names)} names for {count}")


def _check_components(estimator: Any, projection: Any, n_features: int) -> bool:
    if not isinstance(projection, Components):
        raise DataError("the projection is of another kind")
    n_rows, n_components = projection.E.shape
    _check_shape("coef_", estimator.coef_, (*estimator._outputs, n_components))
    _check_length("eigenvalues", projection.values, n_components)
    if projection.map is not None:
        _check_length("means", projection.means, projection.map.n_features_out(n_features))
        return False
    _check_length("means", projection.means, n_rows)
    if projection.weight is not None:
        _check_length("weight", projection.weight, n_rows)
    if not isinstance(projection.kernel, str):
        return _check_rows(projection.X_fit, n_features, n_rows)
    kept = projection.kept
    if kept is None:
        _check_length("means", projection.means, n_features)
    elif kept.min() < 0 or kept.max() >= n_features:
        raise DataError("the columns of the precomputed kernel are out of range")
    return False


def _check_rows(X: Any, n_features: int, n_rows: int) -> bool:
    if np.shape(X) != (n_rows, n_features):
        raise DataError(f"the training rows have shape {np.shape(X)} and should have shape {(n_rows, n_features)}")
    return bool(sp.issparse(X))


def _check_length(name: str, values: Any, length: int) -> None:
    _check_shape(name, values, (length,))


def _check_shape(name: str, values: Any, shape: tuple[int, ...]) -> None:
    if np.shape(values) != shape:
        raise DataError(f"{name} has shape {np.shape(values)} and should have shape {shape}")
