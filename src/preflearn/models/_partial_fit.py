"""Least squares that go on learning: rows that come call by call leave sums, and are gone."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from preflearn.data import Chunks, Comparisons, Ratings
from preflearn.exceptions import DataError, DataWarning, first_few
from preflearn.inference.exact import solve
from preflearn.kernels import linear_map, resolve_kernel
from preflearn.models._least_squares import LeastSquares, system_of
from preflearn.models.of_rows import Space, is_given
from preflearn.models.training_data import RowData
from preflearn.operators import FloatArray


def _has_features(model: Any) -> bool:
    """Return whether a model has finitely many features, which is what sums are over; else say so."""
    kernel = "linear" if model.kernel is None else model.kernel
    if model.approximation is None and (
        is_given(kernel) or linear_map(resolve_kernel(kernel, np.array([[0.0], [1.0]]))) is None
    ):
        raise AttributeError(
            f"{type(model).__name__}: there is no partial_fit with the kernel {model.kernel!r}, which has no finite "
            'number of features to add up. Use kernel="linear", or approximation=Nystroem(1000).'
        )
    return True


class LearnsOn(LeastSquares):
    """Base of the least-squares estimators with `partial_fit`; not public."""

    _groups: dict[Any, bool]

    @available_if(_has_features)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, or comparisons, as if they had been given to ``fit`` with all those before.

        Answers: how do I go on learning without keeping what was learned from?

        Parameters
        ----------
        X, y, qid, sample_weight : as in ``fit``
            New rows, or Comparisons with features. Where differences are learned each call brings whole groups: a group
            that came before is refused, as its pairs with the earlier rows are lost. Without ``qid`` the rows of each
            call are a group of their own.

        Returns
        -------
        estimator
            Itself, as if fitted on all rows so far.

        Notes
        -----
        Kept, also in model files, are d² sums over d features and the names of groups. The kernel, and what
        approximates it, stay as the first call sets them from its rows. ``fit`` forgets all that and keeps no sums:
        a ``partial_fit`` after it begins anew, with a warning.

        Examples
        --------
        >>> from preflearn import RankRLS
        >>> model = RankRLS(alpha=1e-9).partial_fit([[1.0, 0.0], [0.0, 1.0]], [2.0, 1.0])
        >>> model.partial_fit([[3.0, 0.0], [0.0, 0.0]], [6.0, 0.0]).coef_.round(2)
        array([2., 1.])
        """
        self._validate_params()
        owner = type(self).__name__
        if isinstance(X, Chunks):
            raise TypeError(f"{owner}: partial_fit learns from one piece. Give its X, y and qid, or use fit(Chunks).")
        if self._unscored:
            raise DataError(code="smooth-call-by-call", owner=owner).says(
                "smoothness compares all rows with each other, and these come call by call",
                "Use smoothness=0, or fit on all rows at once",
            )
        before: list[tuple[FloatArray, FloatArray]] | None = self.__dict__.get("_sums")
        if before is None and hasattr(self, "kernel_"):
            DataWarning(code="sums-not-kept", owner=owner).warn(
                "the model was fitted by fit, which keeps no sums to add to: what it has learned is forgotten",
                "Begin with partial_fit, on a new estimator",
            )
        data = self._read_more(X, y, qid, sample_weight, first=before is None)
        if before is None:
            space = Space.build(owner, data.X, self.kernel, self.approximation, "primal", data.row_weight)
        else:
            space = Space(data.X, self.kernel_, self.map_, before[0][0].shape[0], "primal")
        groups: dict[Any, bool] = {} if before is None else self._groups
        labels = X.group if isinstance(X, Comparisons | Ratings) else qid
        new = dict.fromkeys([] if labels is None else np.unique(labels).tolist(), True)
        again = sorted(groups.keys() & new.keys(), key=str)
        if again and data.pairs and (isinstance(data, RowData) or data.weighting == "groups"):
            raise DataError(code="group-in-two-calls", owner=owner).says(
                f"groups {first_few(again)} came in an earlier call, and their pairs with those rows are lost",
                "Give each group whole, in one call",
            )
        sums = [system_of(space, part.operator(), space.features)[:2] for part in data.alike()]
        if before is not None:
            sums = [(M + more, b + with_) for (M, b), (more, with_) in zip(before, sums, strict=True)]
        count = 0 if before is None else self.n_groups_
        self._sums, self._groups = sums, groups | new
        self._store(None, space, np.concatenate([solve(M.copy(), b, self.alpha) for M, b in sums], axis=-1))
        alone = isinstance(data, RowData) and data.pairs  # rows without groups, which a call compares
        self.n_groups_ = count + (len(new) - len(again) if labels is not None else int(alone or not count))
        return self

    def _read_more(self, X: Any, y: Any, qid: Any, sample_weight: Any, *, first: bool) -> Any:
        """Return checked data with the columns of those before."""
        way, names = self._ways()[0], None
        if not first:
            names = getattr(self, "feature_names_in_", None)
            _ = self._features_of(X) if isinstance(X, Comparisons) else self._read_items(X)
        data = self._read(X, y, qid, sample_weight, pairs=way.pairs).seen_as(way)
        if getattr(self, "featureless_", False):
            raise DataError(code="partial-without-features", owner=type(self).__name__).says(
                "the comparisons have no item table, so that items of one call cannot be told from those of another",
                "Give Comparisons an item table",
            )
        if not first and names is not None and list(names) != list(getattr(self, "feature_names_in_", names)):
            raise DataError(code="columns-in-another-order", owner=type(self).__name__).says(
                f"the columns are {first_few(list(self.feature_names_in_))}, and were {first_few(list(names))} before",
                "Give them in the same order",
            )
        return data

    def _fit(self, *given: Any) -> Self:
        self.__dict__.pop("_sums", None)
        self.__dict__.pop("_groups", None)
        return super()._fit(*given)
