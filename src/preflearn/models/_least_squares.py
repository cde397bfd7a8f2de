"""What the least-squares estimators share: the kernel as a fit sees it, the fit, prediction and the score.

A kernel is seen as rows of features (primal) or as a Gram matrix (dual): `Space` chooses the form that is cheaper.
`LeastSquares` is the base of the estimators: it keeps what prediction needs and predicts for items and for comparisons.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from preflearn.data import Comparisons, ItemTable, Ratings
from preflearn.data.fields import check_real, unmask
from preflearn.data.pair_table import warn_before_learning
from preflearn.data.tables import frame_of
from preflearn.exceptions import DataError, GroupsLostWarning, NumericalWarning, Setting
from preflearn.inference.exact import iterate, solve
from preflearn.items import as_items
from preflearn.kernels import gram, linear_map, resolve_kernel
from preflearn.metrics import disagreement_error
from preflearn.metrics.pairwise import score_of_margins
from preflearn.models._asked import OfItems
from preflearn.models._input import (
    PairData,
    RowData,
    Weighting,
    check_kernel_matrix,
    check_row_weight,
    given_alone,
    graph_data,
    identity,
    is_precomputed,
    pair_data,
    row_data,
    warn_if_nothing_to_learn,
)
from preflearn.operators import (
    Edges,
    Features,
    FloatArray,
    Groups,
    IntArray,
    Operator,
    Root,
    RowIndex,
    Rows,
    project,
    scatter,
)

Solver = Literal["auto", "primal", "dual", "cg"]

# Elements of one block of a Gram matrix at prediction: 128 MiB.
_BLOCK = 1 << 24


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
        if isinstance(kernel, str) and kernel == "precomputed":
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
                raise ValueError(f'{owner}: approximation gives features for the primal; use solver="auto".')
            feature_map = approximation.fit_map(resolved, X)
            size = int(feature_map.transform(X[:1]).shape[1])
            return cls(X, resolved, feature_map, size, "cg" if solver == "cg" else "primal")
        linear = linear_map(resolved)
        if linear is None:
            if solver in ("primal", "cg"):
                raise ValueError(
                    f'{owner}: solver="{solver}" needs features, and the kernel {resolved} has none that are finite. '
                    'Use solver="dual", or an approximation such as approximation=Nystroem(1000).'
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


def system_of(
    space: Space, operator: Rows | Groups | Edges, features: Features, K: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return M and b of (M + λI) x = b, and from x to coefficients; K is overwritten, None makes it of all items."""
    if space.solver == "primal":
        return *scatter(operator, features, space.n_features), lambda x: x
    root = dual_operator(operator)
    return project(root, space.gram() if K is None else K), root.target, root.adjoint


def dual_operator(operator: Rows | Groups | Edges) -> Operator:
    """Return the operator with the smaller root: listed pairs become an n x n root where they outnumber the items."""
    if isinstance(operator, Edges) and operator.first.shape[0] >= operator.n_items:
        try:
            root: Root = operator.root
        except np.linalg.LinAlgError:  # weights so unequal that the Laplacian is singular to rounding
            return operator
        return root
    return operator


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


class LeastSquares(RegressorMixin, OfItems, ABC):
    """Base of the least-squares estimators; not public.

    A fitted estimator has either ``coef_`` (weights of features, ``map_`` makes them) or ``dual_coef_`` with
    ``X_fit_``.
    """

    kernel: Any
    approximation: Any
    alpha: float
    solver: Solver = "auto"
    # scikit-learn's metadata routing delivers qid without being asked to.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    @abstractmethod
    def _learn(self, data: Any, given: Any) -> None:
        """Learn from checked data; ``given`` is the X of fit."""

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
            f = self._utilities(self._features_of(X, used))
            return f[place[: len(X)]] - f[place[len(X) :]]
        return self._utilities(self._read_items(X))

    def _read(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, graph: Any = None, *, pairs: bool = True
    ) -> RowData | PairData:
        """Return checked training data, and keep what the items looked like."""
        owner, pairwise = type(self).__name__, is_precomputed(self.kernel)
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
        items = as_items(rows)
        self.on_bags_ = not items.one_row_each
        if self.on_bags_ and pairwise:
            raise DataError(code="precomputed-of-bags", owner=owner).says(
                'kernel="precomputed" needs a kernel matrix and got Bags',
                'Use a kernel, such as "rbf", or pass preflearn.kernels.gram(kernel, bags)',
            )
        if isinstance(X, Comparisons):
            data = pair_data(owner, X, rows, pairwise=pairwise)
            self.n_features_in_ = rows.shape[1]
        elif self.on_bags_:
            if len(rows) < 2:
                raise DataError(code="one-bag", owner=owner).says(
                    "there is one bag, and learning needs at least two", "Give more items"
                )
            rows, y = items.bare(), check_real(y, len(rows), "y", owner, "item")
            self.n_features_in_ = rows.shape[1]
        else:
            given: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "y_numeric": True}
            rows, y = validate_data(self, unmask(rows), y, ensure_min_samples=2, reset=True, **given)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        if isinstance(X, Comparisons):
            return data
        y = np.asarray(y, dtype=np.float64)
        if pairwise:
            check_kernel_matrix(owner, rows)
        weight = check_row_weight(sample_weight, y.shape[0], owner)
        if graph is not None:
            return graph_data(owner, rows, y, weight, graph, qid)
        return row_data(owner, rows, y, qid, weight, pairwise=pairwise)

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
        predictions count one half (`preflearn.metrics.disagreement_error`). Parameters are as in ``fit``.
        """
        margin = self.predict(X)
        if isinstance(X, Comparisons):
            return score_of_margins(X, margin)
        owner = type(self).__name__
        _, y, qid, sample_weight = given_alone(owner, X, y, qid, sample_weight)
        if y is None:
            raise ValueError(f"{owner}.score needs the true scores y, Ratings or Comparisons. Call score(X, y).")
        if qid is None and getattr(self, "n_groups_", 1) > 1:
            GroupsLostWarning(code="score-without-qid").warn(
                f"{owner}.score got no qid, though fit had {self.n_groups_} groups: all rows are judged as one group",
                "In cross-validation use sklearn.set_config(enable_metadata_routing=True) and pass "
                "params={'qid': qid}, or pass Ratings(X, y, group=qid) as X, which carries the groups",
            )
        return 1.0 - float(disagreement_error(y, margin, qid=qid, sample_weight=sample_weight))

    def _utilities(self, X: Any) -> FloatArray:
        if hasattr(self, "coef_"):
            return np.asarray(self.map_.transform(X) @ self.coef_)
        if isinstance(self.kernel_, str):
            return np.asarray(X @ self.dual_coef_)
        X_fit: Any = self.X_fit_
        step = max(1, _BLOCK // max(1, X_fit.shape[0]))
        blocks = (X[i : i + step] for i in range(0, X.shape[0], step))
        return np.concatenate([np.zeros(0), *(gram(self.kernel_, some, X_fit) @ self.dual_coef_ for some in blocks)])

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

    def _solve(self, data: RowData | PairData, operator: Rows | Groups | Edges) -> None:
        """Minimise what the operator sees, with the penalty alpha."""
        space = self._space(data, self.kernel, decomposed=False)
        residual = 0.0
        if space.solver == "cg":
            coefficients, residual = iterate(operator, space.features(slice(0, operator.n_items)), self.alpha)
        else:
            M, b, to_coefficients = system_of(space, operator, space.features)
            coefficients = to_coefficients(solve(M, b, self.alpha))
        self._store(data, space, coefficients)
        if residual > 1e-8:
            NumericalWarning(code="cg-unfinished", owner=type(self).__name__).warn(
                f"conjugate gradients stopped with relative residual {residual:.1e} (wanted 1e-10); predictions "
                "are approximate",
                "Standardise the features",
                "use a larger " + Setting("fixed_alpha"),
            )

    def _store(self, data: RowData | PairData, space: Space, coefficients: FloatArray) -> None:
        """Keep what prediction needs: features' weights where there are features, else training rows."""
        for name in ("coef_", "map_", "dual_coef_", "X_fit_"):  # a second fit may take the other form
            self.__dict__.pop(name, None)
        self.kernel_, self.solver_ = space.kernel, space.solver
        if space.map is not None:
            self.map_ = space.map
            # w = Z'A: prediction needs no training rows
            dual = space.solver == "dual"
            self.coef_ = np.asarray(space.map.transform(space.X).T @ coefficients) if dual else coefficients
            return
        self.dual_coef_ = coefficients
        self.X_fit_ = None if isinstance(space.kernel, str) else space.X
        if isinstance(space.kernel, str) and data.kept is not None:
            self.dual_coef_ = np.zeros(self.n_features_in_)
            self.dual_coef_[data.kept] = coefficients

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


class OfScores(LeastSquares):
    """Base of the least-squares estimators that regress scores; not public."""

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit on scored rows.

        X, y, qid and sample_weight are as in `RankRLS.fit`, without Comparisons; groups count in `score` only.
        """
        self._validate_params()
        data: Any = self._read(X, y, qid, sample_weight, pairs=False)
        self.n_groups_ = int(data.code.max()) + 1
        self._learn(data, X)
        return self


class OfPairs(LeastSquares):
    """Base of the least-squares estimators that regress score differences; not public."""

    ties: Any
    weighting: Weighting

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None, *, graph: Any = None) -> Self:
        """Fit on scored rows in groups, on an explicit preference graph, or on comparisons.

        Parameters
        ----------
        X : array-like, sparse matrix or Bags (n_items, n_features), Ratings or Comparisons
            Items; the kernel matrix for ``kernel="precomputed"``. Ratings and Comparisons are passed alone.
        y : array-like (n_items,), default=None
            Scores.
        qid : array-like (n_items,), default=None
            The group of each row; None is one group.
        sample_weight : array-like (n_items,), default=None
            Weights of rows; a pair weighs the product.
        graph : sparse matrix or array (n_items, n_items), default=None
            Symmetric weights W of the pairs that count, instead of ``qid``; cross-validation leaves them out pair by
            pair.
        """
        self._validate_params()
        data = self._read(X, y, qid, sample_weight, graph)
        self.n_groups_ = int(data.code.max()) + 1 if isinstance(data, RowData) else 1
        ties: Any = self.ties if isinstance(self.ties, str) else "include"
        self._learn(replace(data, ties=ties, weighting=self.weighting), X)
        return self

    def _operator(self, data: RowData | PairData) -> Groups | Edges:
        """Return what is seen of the data; say so if nothing can be learned from it."""
        operator = data.operator()
        warn_if_nothing_to_learn(type(self).__name__, data, operator)
        return operator
