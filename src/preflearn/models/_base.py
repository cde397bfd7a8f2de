"""What the least-squares estimators share: prediction for items and for comparisons, and the score."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from preflearn.data import Bags, Comparisons, ItemTable, Ratings
from preflearn.data._items import frame_of
from preflearn.exceptions import GroupsLostWarning, NumericalWarning
from preflearn.metrics import disagreement_error
from preflearn.metrics.pairs import score_of_margins
from preflearn.models._input import PairData, RowData, is_precomputed, read_rows
from preflearn.models._match import check_kind, item_table, match_columns
from preflearn.models._space import Space, utilities
from preflearn.operators import FloatArray

__all__ = ["LeastSquares"]


class LeastSquares(RegressorMixin, BaseEstimator):
    """Base of the least-squares estimators; not public.

    A fitted estimator has either ``coef_`` (weights of features, ``map_`` makes them) or ``dual_coef_`` with
    ``X_fit_``.
    """

    kernel: Any
    # scikit-learn's metadata routing delivers qid without being asked to.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    def predict(self, X: Any) -> FloatArray:
        """Predict utilities of items, or margins of comparisons.

        Parameters
        ----------
        X : array-like or sparse matrix (n_items, n_features), Ratings, Comparisons, ItemTable or Bags
            Items; for ``kernel="precomputed"`` the kernel between them and the training rows. Columns of data objects
            are matched by name with those of training; a plain frame must have them in the same order.

        Returns
        -------
        ndarray (n_items,) or (n_comparisons,)
            Utilities: larger is better, and only differences within a group mean anything. For `Comparisons` the
            predicted margins, utility of ``first`` minus utility of ``second``.
        """
        check_is_fitted(self)
        if isinstance(X, Comparisons):
            used, place = np.unique(np.concatenate([X.first, X.second]), return_inverse=True)
            f = self._utilities(item_table(self, X)[used])
            return f[place[: len(X)]] - f[place[len(X) :]]
        return self._utilities(self._read_items(X))

    def _read_items(self, X: Any) -> Any:
        """Return checked feature rows of new items, their columns matched by name."""
        if isinstance(X, Ratings):
            return match_columns(self, X.items, X.feature_names)
        if isinstance(X, ItemTable) and X.values is not None:
            return match_columns(self, X.values, X.feature_names)
        if isinstance(X, Bags):
            return match_columns(self, X, X.feature_names)
        check_kind(self, X)
        known = getattr(self, "feature_names_in_", None)
        frame = None if known is None else frame_of(X, type(self).__name__)
        if known is not None and frame is not None:
            # the frame the items came from may have a column of names, and columns named by numbers
            X = (frame.select(list(known)) if set(known) < set(frame.columns) else frame).to_native()
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def score(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """Return 1 - disagreement error, averaged over groups.

        Parameters
        ----------
        X : array-like (n_items, n_features), Ratings or Comparisons
            What to judge on.
        y : array-like (n_items,), default=None
            True scores; not with Ratings or Comparisons, which carry theirs.
        qid : array-like (n_items,), default=None
            The group of each row; only pairs inside a group count.
        sample_weight : array-like (n_items,), default=None
            Weights; a pair weighs the product of its rows' weights.

        Returns
        -------
        float
            Share of pairs in the right order, 1 is perfect and 0.5 chance. Pairs with equal true scores are left out,
            equal predictions count one half (`preflearn.metrics.disagreement_error`).
        """
        margin = self.predict(X)
        if isinstance(X, Comparisons):
            return score_of_margins(X, margin)
        _, y, qid, sample_weight = read_rows(type(self).__name__, X, y, qid, sample_weight)
        if qid is None and getattr(self, "n_groups_", 1) > 1:
            warnings.warn(
                f"{type(self).__name__}.score got no qid, though fit had {self.n_groups_} groups: all rows are judged "
                "as one group.\n  In cross-validation use sklearn.set_config(enable_metadata_routing=True) and pass "
                "params={'qid': qid}, or pass Ratings(X, y, group=qid) as X, which carries the groups.",
                GroupsLostWarning,
                stacklevel=2,
            )
        return 1.0 - float(disagreement_error(y, margin, qid=qid, sample_weight=sample_weight))

    def _utilities(self, X: Any) -> FloatArray:
        if hasattr(self, "coef_"):
            return np.asarray(self.map_.transform(X) @ self.coef_)
        return utilities(self.kernel_, self.X_fit_, self.dual_coef_, X)

    def _store(self, data: RowData | PairData, space: Space, coefficients: FloatArray) -> None:
        """Keep what prediction needs: features' weights where there are features, else training rows."""
        for name in ("coef_", "map_", "dual_coef_", "X_fit_"):  # a second fit may take the other form
            self.__dict__.pop(name, None)
        self.kernel_ = space.kernel
        self.solver_ = space.solver
        self.n_groups_ = int(data.code.max()) + 1 if isinstance(data, RowData) else 1
        if space.map is not None:
            self.map_ = space.map
            self.coef_ = space.primal_coefficients(coefficients) if space.solver == "dual" else coefficients
            return
        self.dual_coef_ = coefficients
        self.X_fit_ = space.X
        if isinstance(space.kernel, str):
            self.X_fit_ = None
            if data.kept is not None:
                self.dual_coef_ = np.zeros(self.n_features_in_)
                self.dual_coef_[data.kept] = coefficients

    def _warn_unfinished(self, residual: float) -> None:
        if residual > 1e-8:
            warnings.warn(
                f'{type(self).__name__}: solver="cg" stopped with relative residual {residual:.1e} (wanted 1e-10); '
                "predictions are approximate. Standardise the features or raise alpha.",
                NumericalWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
