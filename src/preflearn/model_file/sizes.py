"""Whether the parts of a loaded model fit together: sizes first, then one prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.data import Bags
from preflearn.exceptions import DataError
from preflearn.models._components import Components

__all__ = ["check_sizes"]


def check_sizes(estimator: Any) -> None:
    """Raise DataError unless the estimator can predict a row of its ``n_features_in_`` features."""
    n_features = estimator.n_features_in_
    if type(n_features) is not int or n_features < 1:
        raise DataError(f"the number of features is {n_features!r}")
    sparse = False
    if hasattr(estimator, "projection_"):
        sparse = _check_components(estimator, estimator.projection_, n_features)
    elif hasattr(estimator, "coef_"):
        _check_length("coef_", estimator.coef_, estimator.map_.n_features_out(n_features))
    elif isinstance(estimator.kernel_, str):
        _check_length("dual_coef_", estimator.dual_coef_, n_features)
    else:
        sparse = _check_rows(estimator.X_fit_, n_features)
        _check_length("dual_coef_", estimator.dual_coef_, estimator.X_fit_.shape[0])
    for name in ("coef_", "dual_coef_"):
        if hasattr(estimator, name) and not np.isfinite(getattr(estimator, name)).all():
            raise DataError(f"{name} has values that are not finite")
    # What is still wrong, such as a kernel with the wrong number of length scales, shows in a prediction.
    row: Any = sp.csr_array((1, n_features)) if sparse else np.zeros((1, n_features))
    if getattr(estimator, "on_bags_", False):
        row = Bags([row])
    if np.shape(estimator._utilities(row)) != (1,):
        raise DataError("a prediction for one row is not one number")


def _check_components(estimator: Any, projection: Any, n_features: int) -> bool:
    if not isinstance(projection, Components):
        raise DataError("the projection is no projection")
    n_rows, n_components = projection.E.shape
    _check_length("coef_", estimator.coef_, n_components)
    _check_length("eigenvalues", projection.values, n_components)
    _check_length("means", projection.means, n_rows)
    if projection.weight is not None and projection.map is None:
        _check_length("weight", projection.weight, n_rows)
    if projection.map is not None:
        if projection.map.n_features_out(n_features) != n_rows:
            raise DataError(
                f"the projection has {n_rows} rows for {projection.map.n_features_out(n_features)} features"
            )
        return False
    if isinstance(projection.kernel, str):
        kept = projection.kept
        if kept is not None and (len(kept) != n_rows or kept.min() < 0 or kept.max() >= n_features):
            raise DataError("the columns of the precomputed kernel are out of range")
        if kept is None and n_rows != n_features:
            raise DataError(f"the projection has {n_rows} rows for {n_features} items")
        return False
    if projection.X_fit.shape[0] != n_rows:
        raise DataError(f"the projection has {n_rows} rows for {projection.X_fit.shape[0]} items")
    return _check_rows(projection.X_fit, n_features)


def _check_rows(X: Any, n_features: int) -> bool:
    if X.ndim != 2 or X.shape[1] != n_features:
        raise DataError(f"the training rows have shape {X.shape} for {n_features} features")
    return bool(sp.issparse(X))


def _check_length(name: str, values: Any, length: int) -> None:
    if np.shape(values) != (length,):
        raise DataError(f"{name} has shape {np.shape(values)} and should have shape ({length},)")
