"""What the least-squares estimators share: the fit, from scores or from score differences.

Transductive least squares: rows without scores say where utilities should vary little.

Utilities of similar rows should be similar, whether these have scores or not. With the graph of nearest neighbours, its
Laplacian S = DD' and a weight μ, the penalty is

    ‖f‖² + μ Σ_ij (f_i - f_j)² = a'(K + μ KSK) a = f'(K⁻¹ + μS) f,      f = Ka over all rows:

that of another kernel, which has features where K = ZZ' has some (I + μ Z'SZ = RR'):

    K̃ = (K⁻¹ + μS)⁻¹ = K - μ KD (I + μ D'KD)⁻¹ D'K,        Z̃ = Z R⁻'.

So scored rows are learned from as ever, with K̃ in the place of K, and cross-validation stays what it was. With
coefficients ã of the scored rows E, the utilities are f = K̃Eã = Ka, a = Eã - μ D (I + μ D'KD)⁻¹ D'K Eã: a model of
all rows under the kernel itself, which predicts like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
from sklearn.utils._param_validation import Interval

from preflearn.data import Chunks
from preflearn.exceptions import DataError, NumericalWarning, Setting
from preflearn.inference.exact import iterate, solve
from preflearn.kernels import resolve_kernel
from preflearn.models.of_rows import KernelMachine, Space, is_given
from preflearn.models.streamed import Pieces, RowSource
from preflearn.models.training_data import (
    PairData,
    RowData,
    Seen,
    Weighting,
    given_alone,
    warn_if_nothing_to_learn,
    warn_of_pairs,
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


class LeastSquares(KernelMachine):
    """Base of the least-squares estimators; not public."""

    alpha: float
    _several_outputs = True

    def _ways(self) -> list[Seen]:
        """Return how rows are seen; several to choose from."""
        return [Seen(pairs=False)]

    def _fit(self, X: Any, y: Any, qid: Any, sample_weight: Any, graph: Any = None) -> Self:
        """Learn from whatever fit was given, seen in the first way."""
        self._validate_params()
        if isinstance(X, Chunks):
            given_alone(type(self).__name__, X, y, qid, sample_weight, graph)
            return self._learn_pieces(Pieces(X, type(self).__name__))
        if isinstance(X, RowSource):
            return self._learn_pieces(X)
        way = self._ways()[0]
        data = self._read(X, y, qid, sample_weight, graph, pairs=way.pairs)
        self.n_groups_ = data.n_groups
        self._learn(data.seen_as(way), X)
        return self

    def _learn_pieces(self, pieces: RowSource) -> Self:
        """Learn from rows in pieces."""
        space = self._space_of_chunks(pieces)
        self._solve_chunks(pieces, space, self._ways())
        self.n_groups_ = pieces.n_groups
        return self

    def _solve_chunks(self, pieces: RowSource, space: Space, ways: list[Seen]) -> None:
        ((M, b),) = self._systems(pieces, space, ways, whole=False)
        self._store(None, space, solve(M, b, self.alpha))

    def _systems(
        self, pieces: RowSource, space: Space, ways: list[Seen], *, whole: bool
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Return the system of each way to see the rows; say so if nothing can be learned."""
        assert space.map is not None
        found = pieces.systems(ways, space.map.transform, space.n_features, whole=whole)
        if any(way.pairs for way in ways):
            warn_of_pairs(type(self).__name__, pieces.n_groups, pieces.largest, [any(b.any() for _, b in found)])
        return found

    def _operators(self, data: RowData | PairData) -> list[Any]:
        """Return what is seen of the data, for all outputs or for each."""
        return [part.operator() for part in data.alike()]

    def _learn(self, data: Any, given: Any) -> None:
        """Learn from checked data, here with the penalty alpha; ``given`` is the X of fit."""
        operators = self._operators(data)
        space = self._space(data, self.kernel, decomposed=False)
        found, residual = [], 0.0
        for operator in operators:
            if space.solver == "cg":
                features = space.features(slice(0, operator.n_items))
                coefficients, left = iterate(operator, features, self.alpha)
                residual = max(residual, left)
            else:
                M, b, to_coefficients = system_of(space, operator, space.features)
                coefficients = to_coefficients(solve(M, b, self.alpha))
            found.append(coefficients)
        self._store(data, space, np.concatenate(found, axis=-1))
        if residual > 1e-8:
            NumericalWarning(code="cg-unfinished", owner=type(self).__name__).warn(
                f"conjugate gradients stopped with relative residual {residual:.1e} (wanted 1e-10); predictions "
                "are approximate",
                "Standardise the features",
                "use a larger " + Setting("fixed_alpha"),
            )


class OfScores(LeastSquares):
    """Base of the least-squares estimators that regress scores; not public."""

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit on scored rows.

        X, y, qid and sample_weight are as in `RankRLS.fit`, without Comparisons; groups count in `score` only.
        """
        return self._fit(X, y, qid, sample_weight)


class OfPairs(LeastSquares):
    """Base of the least-squares estimators that regress score differences; not public."""

    ties: Any
    weighting: Weighting

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None, *, graph: Any = None) -> Self:
        """Fit on scored rows in groups, on an explicit preference graph, or on comparisons.

        Parameters
        ----------
        X : array-like, sparse matrix or Bags (n_items, n_features), Ratings, Comparisons or Chunks
            Items; the kernel matrix for ``kernel="precomputed"``. Ratings, Comparisons and Chunks (rows that are read
            in pieces, see `preflearn.scale`) are passed alone.
        y : array-like (n_items,) or (n_items, n_outputs), default=None
            Scores. Each column is learned as if it were alone; one decomposition serves all, except where
            ``ties="exclude"`` leaves out other pairs of each. NaN: no score (with ``smoothness``).
        qid : array-like (n_items,), default=None
            The group of each row; None is one group.
        sample_weight : array-like (n_items,), default=None
            Weights of rows; a pair weighs the product.
        graph : sparse matrix or array (n_items, n_items), default=None
            Symmetric weights W of the pairs that count, instead of ``qid``; cross-validation leaves them out pair by
            pair.
        """
        return self._fit(X, y, qid, sample_weight, graph)

    def _ways(self) -> list[Seen]:
        return [Seen(ties=self.ties, weighting=self.weighting)]

    def _operators(self, data: RowData | PairData) -> list[Any]:
        """Return what is seen of the data; say so if nothing can be learned from it."""
        operators = super()._operators(data)
        warn_if_nothing_to_learn(type(self).__name__, data, operators)
        return operators


# --- rows without scores ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SmoothSpace(Space):
    """Scored rows under K̃ (the module docstring has the identities); ``every`` are all rows under K."""

    every: Space
    scored: IntArray
    smoothness: float
    factor: FloatArray  # R, or the lower Cholesky factor of I + μ D'KD
    root: Root | None = None  # D
    weighted: FloatArray | None = None  # factor⁻¹ D'K, (r, n), with K̃ = K - μ weighted'weighted
    values: FloatArray | None = None  # K̃ of the scored rows

    @classmethod
    def smoothed(cls, every: Space, scored: IntArray, smoothness: float, n_neighbors: int) -> Self:
        """Return the scored ones of all rows."""
        some = every.X[scored]
        if isinstance(every.kernel, str):
            some = some[:, scored]
        fields = (some, every.kernel, every.map, every.n_features, every.solver, every, scored, smoothness)
        if every.solver == "primal":
            M, _ = scatter(_neighbours_of_features(every, n_neighbors), every.features, every.n_features)
            return cls(*fields, _factor(smoothness * M))
        K = every.gram()
        root = _neighbours(K, n_neighbors).root
        T = root.apply(K)
        factor = _factor(smoothness * root.apply(np.ascontiguousarray(T.T)))
        T = scipy.linalg.solve_triangular(factor, T, lower=True, overwrite_b=True, check_finite=False)
        values = K[np.ix_(scored, scored)] - smoothness * (T[:, scored].T @ T[:, scored])
        return cls(*fields, factor, root, T, values)

    def features(self, rows: RowIndex) -> Any:
        """Return the feature rows Z̃ of scored rows."""
        Z = self.every.features(self.scored[rows])
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
        return np.ascontiguousarray(scipy.linalg.solve_triangular(self.factor, Z.T, lower=True, check_finite=False).T)

    def gram(self) -> FloatArray:
        """Return K̃ of the scored rows, a new array."""
        assert self.values is not None
        return self.values.copy()

    def rows_of_gram(self, rows: IntArray) -> FloatArray:
        """Return some rows of it."""
        assert self.values is not None
        return self.values[rows]

    def everywhere(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients of all rows, or weights of the features, under the kernel itself."""
        if self.root is None or self.weighted is None:
            return np.asarray(scipy.linalg.solve_triangular(self.factor, coefficients, lower=True, trans="T"))
        a = np.zeros((self.every.X.shape[0], *coefficients.shape[1:]))
        a[self.scored] = coefficients
        back = scipy.linalg.solve_triangular(self.factor, self.weighted @ a, lower=True, trans="T")
        return np.asarray(a - self.smoothness * self.root.adjoint(back))


def _factor(M: FloatArray) -> FloatArray:
    """Return the lower Cholesky factor of I + M, which is overwritten."""
    M.flat[:: M.shape[0] + 1] += 1.0
    return np.asarray(scipy.linalg.cholesky(M, lower=True, overwrite_a=True, check_finite=False))


def _neighbours(K: FloatArray, count: int) -> Edges:
    """Return the pairs of which one is among the nearest neighbours of the other, at distances ‖φ_i - φ_j‖ of K."""
    n = K.shape[0]
    count = min(count, n - 1)
    near = np.empty((n, count), dtype=np.intp)
    for i in range(n):
        distance = K.diagonal() - 2.0 * K[i]
        distance[i] = np.inf
        near[i] = np.argpartition(distance, count - 1)[:count]
    return _pairs(np.repeat(np.arange(n), count), near.ravel(), n)


def _neighbours_of_features(every: Space, count: int) -> Edges:
    from sklearn.neighbors import NearestNeighbors  # takes long to import

    n = every.X.shape[0]
    Z = every.features(slice(0, n))
    near = NearestNeighbors(n_neighbors=min(count, n - 1)).fit(Z).kneighbors(return_distance=False)
    return _pairs(np.repeat(np.arange(n), near.shape[1]), near.ravel(), n)


def _pairs(one: IntArray, other: IntArray, n: int) -> Edges:
    """Return pairs, each of them once however often it is given, whose utilities should be the same."""
    first, second = np.unique(np.sort(np.column_stack([one, other]), axis=1), axis=0).T
    return Edges.build(n, first, second, np.zeros(first.shape[0]))


class Transductive(OfPairs):
    """Base of estimators that may learn from rows without scores, too; not public."""

    smoothness: float
    n_neighbors: int
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "smoothness": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    @property
    def _unscored(self) -> bool:
        return self.smoothness > 0

    def _space(self, data: RowData | PairData, kernel: Any, *, decomposed: bool = True) -> Space:
        if not self._unscored:
            return super()._space(data, kernel, decomposed=decomposed)
        owner, n = type(self).__name__, data.table.shape[0]
        if getattr(self, "featureless_", False):
            raise DataError(code="smooth-without-features", owner=owner).says(
                f"smoothness={self.smoothness:g} needs items that are more or less similar, and these have no features",
                "Give Comparisons the features: items=...",
                "use smoothness=0",
            )
        if not is_given(kernel):  # the scale of a named kernel is that of the model without smoothness
            kernel = resolve_kernel("linear" if kernel is None else kernel, data.X, data.row_weight)
        every = Space.build(owner, data.table, kernel, self.approximation, self.solver, None)
        if every.solver == "cg":
            raise DataError(code="smooth-by-iteration", owner=owner).says(
                f"smoothness={self.smoothness:g} needs a matrix of {every.n_features} features or {n} rows, and "
                'solver="cg" makes none',
                "Use " + Setting("nystroem", 1000),
                "smoothness=0",
            )
        scored = np.arange(n) if data.kept is None else data.kept
        return SmoothSpace.smoothed(every, scored, self.smoothness, self.n_neighbors)

    def _space_of_chunks(self, pieces: RowSource) -> Space:
        if self._unscored:
            raise DataError(code="smooth-in-pieces", owner=type(self).__name__).says(
                f"smoothness={self.smoothness:g} compares all rows with each other, and these come in pieces",
                "Use smoothness=0, or give all rows at once",
            )
        return super()._space_of_chunks(pieces)

    def _store(self, data: RowData | PairData | None, space: Space, coefficients: FloatArray) -> None:
        if isinstance(space, SmoothSpace):  # coefficients of all rows
            coefficients, space, data = space.everywhere(coefficients), space.every, None
        super()._store(data, space, coefficients)
