"""Estimators of rows in groups, or of comparisons of rows: how data enter, predictions and the score.

`OfRows` is the base of all; `KernelMachine` that of those whose utilities are linear in the features of a kernel. A
kernel is seen as rows of features (primal) or as a Gram matrix (dual): `Space` chooses the form that is cheaper.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from preflearn.data import Chunks, Comparisons, ItemTable, Ratings
from preflearn.data.fields import check_real, rows_text, unmask
from preflearn.data.pair_table import warn_before_learning
from preflearn.data.tables import frame_of
from preflearn.exceptions import DataError, GroupsLostWarning, Setting
from preflearn.items import as_items
from preflearn.kernels import gram, linear_map, resolve_kernel
from preflearn.kernels.precomputed import check_kernel_matrix, refuse_bags
from preflearn.metrics import disagreement_error
from preflearn.metrics.pairwise import score_of_margins
from preflearn.models.asked import OfItems
from preflearn.models.streamed import RowSource
from preflearn.models.training_data import (
    PairData,
    RowData,
    check_row_weight,
    given_alone,
    graph_data,
    identity,
    pair_data,
    row_data,
)
from preflearn.operators import Features, FloatArray, IntArray, RowIndex

Solver = Literal["auto", "primal", "dual", "cg"]

# Rows of a table in pieces from which kernels by name take their scale, and approximations their basis.
SAMPLE = 20_000
# Elements of one block of a Gram matrix at prediction: 128 MiB.
_BLOCK = 1 << 24


class OfRows(RegressorMixin, OfItems, ABC):
    """Base of estimators that give each row a utility; not public.

    They learn from scored rows in groups, or from comparisons of rows. An estimator says how it learns and what the
    utilities of checked rows are (`_utilities`).
    """

    kernel: Any = None  # "precomputed": rows are kernel values
    _several_outputs = False  # whether scores may have several columns
    # scikit-learn's metadata routing delivers qid without being asked to.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    @property
    def _by_values(self) -> bool:
        """Whether rows are kernel values."""
        return is_given(self.kernel)

    @property
    def _unscored(self) -> bool:
        """Whether rows may have no score."""
        return False

    @abstractmethod
    def _utilities(self, X: Any) -> FloatArray:
        """Return the utilities of checked rows."""

    def predict(self, X: Any) -> FloatArray:
        """Predict utilities of items, or margins of comparisons.

        Parameters
        ----------
        X : array-like or sparse matrix (n_items, n_features), Ratings, Comparisons, ItemTable or Bags
            Items; for ``kernel="precomputed"`` the kernel between them and the training rows. Columns of data objects
            are matched by name with those of training; a plain frame must have them in the same order.

        Returns
        -------
        ndarray (n_items,) or (n_comparisons,), or these by n_outputs
            Utilities: larger is better, and only differences within a group mean anything. For `Comparisons` the
            predicted margins, utility of ``first`` minus utility of ``second``. Scores that were learned in columns are
            predicted in columns.
        """
        check_is_fitted(self)
        if isinstance(X, Chunks):
            known = X.feature_names
            parts = [self._utilities(self._match_columns(chunk.X, known)) for chunk in X]
            return np.concatenate(parts) if parts else np.empty(0)
        if isinstance(X, Comparisons):
            used, place = np.unique(np.concatenate([X.first, X.second]), return_inverse=True)
            f = self._utilities(self._features_of(X, used))
            return f[place[: len(X)]] - f[place[len(X) :]]
        return self._utilities(self._read_items(X))

    def _read(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, graph: Any = None, *, pairs: bool = True
    ) -> RowData | PairData:
        """Return checked training data, and keep what the items looked like."""
        owner, pairwise = type(self).__name__, self._by_values
        for name in ("feature_names_in_", "item_names_", "featureless_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        names = (X if isinstance(X, Comparisons | Ratings) else as_items(X)).feature_names
        if isinstance(X, Comparisons) and not pairs:
            raise TypeError(
                f"{owner} regresses scores and got Comparisons, which have none. "
                "Use RankRLS or KPCRank, or give rows with scores: fit(X, y) or fit(Ratings)."
            )
        rows, y, qid, sample_weight = given_alone(owner, X, y, qid, sample_weight, graph)
        if isinstance(X, Comparisons):
            warn_before_learning(X, owner)
            self.featureless_ = X.items is None
            if X.items is None and X.names is not None:
                self.item_names_ = X.names
            rows = identity(X.n_items) if X.items is None else X.items
        elif y is None:
            raise ValueError(
                f"{owner} requires y to be passed, but the target y is None. "
                "Call fit(X, y) with one score per row, or fit(Comparisons) or fit(Ratings)."
            )
        y, hidden = (y, None) if y is None else _scores(owner, y, self._unscored)
        items = as_items(rows)
        self.on_bags_ = not items.one_row_each
        if pairwise:
            refuse_bags(owner, rows)
        if isinstance(X, Comparisons):
            data = pair_data(owner, X, rows, pairwise=pairwise)
            self.n_features_in_ = rows.shape[1]
        elif self.on_bags_:
            if len(rows) < 2:
                raise DataError(code="one-bag", owner=owner).says(
                    "there is one bag, and learning needs at least two", "Give more items"
                )
            rows, y = items.bare(), self._scores_of_bags(y, len(rows))
            self.n_features_in_ = rows.shape[1]
        else:
            given: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "y_numeric": True}
            given["multi_output"] = self._several_outputs
            rows, y = validate_data(self, unmask(rows), y, ensure_min_samples=2, reset=True, **given)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        if isinstance(X, Comparisons):
            return data
        y = _columns(np.asarray(y.toarray() if hasattr(y, "toarray") else y, dtype=np.float64))
        if pairwise:
            check_kernel_matrix(owner, rows)
        weight = check_row_weight(sample_weight, y.shape[0], owner)
        if hidden is not None:  # no pair counts them
            weight = np.where(hidden, 0.0, np.ones(y.shape[0]) if weight is None else weight)
        if graph is not None:
            return graph_data(owner, rows, y, weight, graph, qid)
        return row_data(owner, rows, y, qid, weight, pairwise=pairwise)

    def _scores_of_bags(self, y: Any, n: int) -> FloatArray:
        owner = type(self).__name__
        if not self._several_outputs or np.ndim(y) != 2:
            return check_real(y, n, "y", owner, "item")
        return np.column_stack([check_real(column, n, "y", owner, "item") for column in unmask(np.ma.asanyarray(y)).T])

    def _read_items(self, X: Any) -> Any:
        """Return checked feature rows of new items, their columns matched by name."""
        if isinstance(X, Ratings):
            return self._match_columns(X.items, X.feature_names)
        if isinstance(X, ItemTable) and X.values is not None:
            return self._match_columns(X.values, X.feature_names)
        given = as_items(X)
        if not given.one_row_each:
            return self._match_columns(X, given.feature_names)
        self._check_kind(X)
        known = getattr(self, "feature_names_in_", None)
        frame = None if known is None else frame_of(X, type(self).__name__)
        if known is not None and frame is not None:
            # the frame the items came from may have a column of names, and columns named by numbers
            X = (frame.select(list(known)) if set(known) < set(frame.columns) else frame).to_native()
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def score(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """Return 1 - disagreement error, averaged over groups.

        Share of pairs in the right order, 1 is perfect and 0.5 chance. Pairs with equal true scores are left out, equal
        predictions count one half (`preflearn.metrics.disagreement_error`). Of scores in columns it is the mean over
        columns. Parameters are as in ``fit``.
        """
        margin = self.predict(X)
        owner = type(self).__name__
        if isinstance(X, Comparisons):
            self._check_outputs(margin, X.outcome)
            return score_of_margins(X, margin)
        _, y, qid, sample_weight = given_alone(owner, X, y, qid, sample_weight)
        if isinstance(X, Chunks):
            y, qid, sample_weight = X.columns()
        if y is None:
            raise ValueError(f"{owner}.score needs the true scores y, Ratings or Comparisons. Call score(X, y).")
        if qid is None and getattr(self, "n_groups_", 1) > 1:
            GroupsLostWarning(code="score-without-qid").warn(
                f"{owner}.score got no qid, though fit had {self.n_groups_} groups: all rows are judged as one group",
                "In cross-validation use sklearn.set_config(enable_metadata_routing=True) and pass "
                "params={'qid': qid}, or pass Ratings(X, y, group=qid) as X, which carries the groups",
            )
        if self._several_outputs:
            y = _columns(np.asarray(y))
            self._check_outputs(margin, y)
        columns = zip(y.T, margin.T, strict=True) if margin.ndim == 2 else [(y, margin)]
        errors = [float(disagreement_error(*pair, qid=qid, sample_weight=sample_weight)) for pair in columns]
        return 1.0 - float(np.mean(errors))

    def _check_outputs(self, predicted: FloatArray, truth: FloatArray) -> None:
        """Raise DataError unless as many outputs are judged as were learned."""
        if predicted.shape[1:] != truth.shape[1:]:
            learned, given = (f"{found.shape[1]} columns" if found.ndim > 1 else "one" for found in (predicted, truth))
            raise DataError(code="outputs-differ", owner=type(self).__name__).says(
                f"scores were learned in {learned} and are judged in {given}", "Give the columns that fit was given"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._by_values
        tags.target_tags.multi_output = self._several_outputs
        return tags


def _columns(y: Any) -> Any:
    """Return scores in columns; a single column is one output, as scikit-learn's ``Ridge`` has it."""
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def _scores(owner: str, y: Any, unscored: bool) -> tuple[Any, Any]:
    """Return scores, 0 where they are NaN, and which rows have none, or None if all have one (or it cannot be said).

    Raises unless rows may be ``unscored``.
    """
    try:
        values = np.asarray(unmask(y), dtype=np.float64)
    except (TypeError, ValueError):  # is refused elsewhere
        return y, None
    missing = np.isnan(values)
    if not missing.any():
        return y, None
    every, some = (kind(missing.reshape(len(missing), -1), axis=1) for kind in (np.all, np.any))
    if not unscored:
        rows = np.flatnonzero(some)
        raise DataError(code="scores-nan", owner=owner).says(
            f"y is missing (NaN) in {len(rows)} of {len(missing)} rows ({rows_text(rows)})",
            "Leave these rows out",
            "set smoothness of RankRLS, which also learns from rows without scores",
        )
    if every.all() or (every != some).any():
        what = "no row has a score" if every.all() else f"{int((every != some).sum())} rows have scores in some columns"
        raise DataError(code="scores-missing", owner=owner).says(
            what, "Give NaN in all columns for rows without scores, and numbers in all columns for the others"
        )
    return np.where(missing, 0.0, values), every


# --- utilities that are linear in the features of a kernel ------------------------------------------------------------


def is_given(kernel: Any) -> bool:
    """Return whether kernel values are given in place of features, as least squares take them: by name alone."""
    return isinstance(kernel, str) and kernel == "precomputed"


@dataclass(frozen=True)
class Space:
    """Training items X under a kernel, in the form that is cheapest for them.

    ``map`` turns rows into features Z with K = ZZ' (linear kernels, Nystroem, random features) or is None. ``solver``
    is the form that was chosen: "primal" (d x d), "dual" (n x n) or "cg" (products only).
    """

    X: Any
    kernel: Any
    map: Any | None
    n_features: int
    solver: Literal["primal", "dual", "cg"]

    @classmethod
    def build(
        cls,
        owner: str,
        X: Any,
        kernel: Any,
        approximation: Any,
        solver: Solver,
        weight: FloatArray | None,
    ) -> Space:
        """Resolve the kernel (named ones from the rows, weighted) and choose the form."""
        n = X.shape[0]
        if is_given(kernel):
            if approximation is not None or solver in ("primal", "cg"):
                raise ValueError(
                    f'{owner}: kernel="precomputed" has no features, so it cannot be combined with '
                    f'approximation={approximation!r} and solver="{solver}". Use solver="dual" and approximation=None.'
                )
            return cls(X, kernel, None, 0, "dual")
        resolved = resolve_kernel("linear" if kernel is None else kernel, X, weight)
        if approximation is not None:
            if not hasattr(approximation, "fit_map") or isinstance(approximation, type):
                raise TypeError(
                    f"{owner}: approximation must be made by preflearn.Nystroem(...) or preflearn.RandomFourier(...); "
                    f"got {approximation!r}. Put a transformer of scikit-learn before the model in a "
                    "pipeline, with kernel='linear'."
                )
            if solver == "dual":
                raise ValueError(
                    f'{owner}: solver="dual" uses no approximation. Leave approximation out, or use solver="auto".'
                )
            feature_map = approximation.fit_map(resolved, X)
            size = int(feature_map.transform(X[:1]).shape[1])
            return cls(X, resolved, feature_map, size, "cg" if solver == "cg" else "primal")
        linear = linear_map(resolved)
        if linear is None:
            if solver in ("primal", "cg"):
                raise ValueError(
                    f'{owner}: solver="{solver}" needs a finite number of features, and the kernel {resolved} has '
                    'infinitely many. Use solver="dual", or an approximation such as approximation=Nystroem(1000).'
                )
            _guard(owner, n, "rows", Setting("nystroem", 1000))
            return cls(X, resolved, None, 0, "dual")
        size = int(linear.n_features_out(X.shape[1]))
        if solver == "auto":
            solver = "primal" if size <= n else "dual"
            if 8 * min(size, n) ** 2 > _memory() // 4:
                solver = "cg"
        if solver != "cg":
            side, what = (size, "features") if solver == "primal" else (n, "rows")
            _guard(owner, side, what, Setting("solver", "cg"))
        return cls(X, resolved, linear, size, solver)

    def features(self, rows: RowIndex) -> Any:
        """Return the feature rows Z[rows]."""
        assert self.map is not None
        return self.map.transform(self.X[rows])

    def of(self, items: IntArray) -> Features:
        """Return the features of some of the items, as a function of their rows."""
        return lambda rows: self.features(items[rows])

    def gram(self) -> FloatArray:
        """Return the kernel matrix of the items, a new array."""
        if isinstance(self.kernel, str):
            return np.array(self.X.toarray() if hasattr(self.X, "toarray") else self.X, dtype=np.float64, order="C")
        K = np.ascontiguousarray(gram(self.kernel, self.X))
        if not np.isfinite(K).all():
            raise DataError(code="kernel-overflows").says(
                f"The kernel {self.kernel} overflows on these features",
                "Scale them to ordinary size first, for example with sklearn.preprocessing.StandardScaler",
            )
        return K

    def rows_of_gram(self, rows: IntArray) -> FloatArray:
        """Return the kernel of some items with all, (n_rows, n)."""
        values = self.X[rows] if isinstance(self.kernel, str) else gram(self.kernel, self.X[rows], self.X)
        return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system tells
        return 8 << 30


def _guard(owner: str, size: int, what: str, cure: Setting) -> None:
    needed = 8 * size * size
    if needed > _memory() // 2:
        raise DataError(code="matrix-beyond-memory", owner=owner).says(
            f"{size} {what} need a matrix of {needed / 2**30:.0f} GiB, and this machine has "
            f"{_memory() / 2**30:.0f} GiB",
            "Use " + cure,
        )


class KernelMachine(OfRows):
    """Base of estimators whose utilities are linear in the features of a kernel; not public.

    A fitted estimator has either ``coef_`` (weights of features, ``map_`` makes them) or ``dual_coef_`` with
    ``X_fit_``.
    """

    kernel: Any
    approximation: Any
    solver: Solver = "auto"

    @property
    def _outputs(self) -> tuple[int, ...]:
        """Number of outputs that were learned, (q,), or () for scores of one dimension."""
        return np.shape(self.coef_)[:-1] if hasattr(self, "coef_") else np.shape(self.dual_coef_)[1:]

    def _utilities(self, X: Any) -> FloatArray:
        if hasattr(self, "coef_"):
            return np.asarray(self.map_.transform(X) @ self.coef_.T)
        if isinstance(self.kernel_, str):
            return np.asarray(X @ self.dual_coef_)
        X_fit: Any = self.X_fit_
        step = max(1, _BLOCK // max(1, X_fit.shape[0]))
        blocks = (X[i : i + step] for i in range(0, X.shape[0], step))
        none = np.zeros((0, *self.dual_coef_.shape[1:]))
        return np.concatenate([none, *(gram(self.kernel_, some, X_fit) @ self.dual_coef_ for some in blocks)])

    def _space(self, data: RowData | PairData, kernel: Any, *, decomposed: bool = True) -> Space:
        """Return the training items under a kernel; raise where a matrix of them is wanted that is too large."""
        owner = type(self).__name__
        space = Space.build(owner, data.X, kernel, self.approximation, self.solver, data.row_weight)
        if decomposed and space.solver == "cg":
            raise DataError(code="too-many-rows-to-decompose", owner=owner).says(
                f"{data.n_items} rows with {space.n_features} features are too many for one decomposition",
                "Use " + Setting("nystroem", 1000),
                "choose the regularisation yourself with " + Setting("fixed_alpha", 1.0),
            )
        return space

    def _space_of_chunks(self, pieces: RowSource) -> Space:
        """Return the space of rows in pieces, from some of them, and keep what rows look like."""
        owner = type(self).__name__
        for name in ("feature_names_in_", "item_names_", "featureless_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        simple = (
            isinstance(self.kernel, str) and self.kernel in ("linear", "precomputed") and self.approximation is None
        )
        X = pieces.sample(1 if simple else SAMPLE)
        self.on_bags_ = False
        self.n_features_in_ = int(X.shape[1])
        if pieces.feature_names is not None:
            self.feature_names_in_ = np.asarray(pieces.feature_names, dtype=object)
        kernel = "linear" if self._by_values else self.kernel
        if self._by_values or (self.approximation is None and linear_map(resolve_kernel(kernel, X)) is None):
            raise DataError(code="chunks-without-features", owner=owner).says(
                f"rows in pieces are learned from by their features, and the kernel {self.kernel!r} has none",
                'Use kernel="linear", or approximation=Nystroem(1000) or RandomFourier(1000)',
            )
        return Space.build(owner, X, kernel, self.approximation, "primal", None)

    def _store(self, data: RowData | PairData | None, space: Space, coefficients: FloatArray) -> None:
        """Keep what prediction needs: features' weights where there are features, else training rows.

        Coefficients are (n,) or (n, q) for q outputs; ``coef_`` is (q, n), as in scikit-learn.
        """
        for name in ("coef_", "map_", "dual_coef_", "X_fit_"):  # a second fit may take the other form
            self.__dict__.pop(name, None)
        self.kernel_, self.solver_ = space.kernel, space.solver
        if space.map is not None:
            self.map_ = space.map
            # w = Z'A: prediction needs no training rows
            dual = space.solver == "dual"
            weights = np.asarray(space.map.transform(space.X).T @ coefficients) if dual else coefficients
            self.coef_ = np.ascontiguousarray(weights.T)
            return
        self.dual_coef_ = coefficients
        self.X_fit_ = None if isinstance(space.kernel, str) else space.X
        if isinstance(space.kernel, str) and data is not None and data.kept is not None:
            self.dual_coef_ = np.zeros((self.n_features_in_, *coefficients.shape[1:]))
            self.dual_coef_[data.kept] = coefficients
