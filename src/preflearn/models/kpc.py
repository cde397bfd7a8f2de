"""Kernel principal components, and regression and ranking on them: KPCR and KPCRank, and with the number chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, Setting
from preflearn.inference.exact import component_path, component_weights
from preflearn.kernels import centre_cross, centre_gram, gram
from preflearn.linalg import eigh_full, eigh_leading, numerical_rank
from preflearn.models._cross_validation import Evaluation, Held, Predict, refit, settle
from preflearn.models._least_squares import LeastSquares, OfPairs, OfScores, dual_operator
from preflearn.models.of_rows import Space, is_given
from preflearn.models.streamed import Pieces, dense
from preflearn.models.training_data import PairData, RowData, Seen, Ties, Weighting
from preflearn.operators import FloatArray, IntArray, Rows

ComponentsOf = Literal["items", "differences"]

# Rows whose features, or kernel values, are held at once.
_ROWS = 4096


@dataclass(frozen=True)
class Components:
    """A fitted projection onto P components; ``transform`` gives those of new items.

    Dual (map is None): z(x) = centred k(x, ·) E. Primal: z(x) = (features(x) - mean) E.
    """

    kernel: Any
    map: Any | None
    X_fit: Any
    weight: FloatArray | None
    means: FloatArray
    grand_mean: float
    E: FloatArray
    values: FloatArray
    kept: IntArray | None = None  # columns of a precomputed kernel that belong to training items, None if all

    def transform(self, X: Any) -> FloatArray:
        """Return the components of new items, (n, P), centred as the training items were."""
        out = np.empty((X.shape[0], self.E.shape[1]))
        for i in range(0, X.shape[0], _ROWS):
            some = X[i : i + _ROWS]
            if self.map is not None:
                out[i : i + _ROWS] = (dense(self.map.transform(some)) - self.means) @ self.E
            elif not isinstance(self.kernel, str):
                out[i : i + _ROWS] = self.project(gram(self.kernel, some, self.X_fit))
            else:
                out[i : i + _ROWS] = self.project(dense(some if self.kept is None else some[:, self.kept]))
        return out

    def project(self, K: FloatArray) -> FloatArray:
        """Return the components of new items from their kernel with the training items, (n, n_fit)."""
        return np.asarray(centre_cross(K, self.means, self.grand_mean, self.weight) @ self.E)


def extract(
    space: Space, n_components: int | None, weight: FloatArray | None, K: FloatArray | None = None
) -> tuple[Components, FloatArray]:
    """Return the leading components (None: all) and their values Z on the training items, (n, P).

    Kernel: with p = w/Σw, centred Kc = (I - 1p')K(I - p1') and diag(√w) Kc diag(√w) = V Λ V', the components are
    Z = diag(1/√w) V √Λ and E = diag(√w) V /√Λ; partial eigensolver, n² P. Features (linear kernels with few features,
    and approximations): the eigenvectors of the r x r weighted covariance, n r² and never n x n. Fewer components may
    come back than asked for: those beyond the numerical rank are noise.
    """
    n_components = space.X.shape[0] if n_components is None else n_components
    if space.solver == "primal":
        return _from_features(space, n_components, weight)
    K = space.gram() if K is None else K
    K, means, grand = centre_gram(K, weight, overwrite=True)
    if weight is not None:
        h = np.sqrt(weight)
        K *= h[:, None]
        K *= h
    values, V = eigh_leading(K, min(n_components, K.shape[0]))
    Z, E = V * np.sqrt(values), V / np.sqrt(values)
    if weight is not None:
        Z, E = Z / h[:, None], E * h[:, None]
    X_fit = None if isinstance(space.kernel, str) else space.X
    return _orient(Components(space.kernel, None, X_fit, weight, means, grand, E, values), Z)


def _from_features(space: Space, n_components: int, weight: FloatArray | None) -> tuple[Components, FloatArray]:
    n = space.X.shape[0]
    w = np.ones(n) if weight is None else weight
    blocks = [slice(i, min(i + _ROWS, n)) for i in range(0, n, _ROWS)]
    mean = sum((w[b] / w.sum()) @ dense(space.features(b)) for b in blocks)
    covariance = np.zeros((space.n_features, space.n_features))
    for b in blocks:
        T = np.sqrt(w[b])[:, None] * (dense(space.features(b)) - mean)
        covariance += T.T @ T
    values, V = eigh_full(covariance)
    keep = min(n_components, numerical_rank(values, max(n, space.n_features)))
    parts = Components(space.kernel, space.map, None, weight, np.asarray(mean), 0.0, V[:, :keep], values[:keep])
    return _orient(parts, parts.transform(space.X))


def _orient(components: Components, Z: FloatArray) -> tuple[Components, FloatArray]:
    # Each component's largest value on the training items is positive: the same sign in the primal and the dual, and
    # for weights as for repeated rows.
    sign = np.sign(Z[np.abs(Z).argmax(axis=0), np.arange(Z.shape[1])])
    return replace(components, E=components.E * sign), Z * sign


def _signs(components: Components, pieces: Pieces) -> FloatArray:
    """Return the signs that `_orient` gives, in a pass over rows in pieces."""
    largest = np.zeros(components.E.shape[1])
    for chunk in pieces.rows():
        Z = components.transform(chunk.X)
        here = Z[np.abs(Z).argmax(axis=0), np.arange(Z.shape[1])]
        largest = np.where(np.abs(here) > np.abs(largest), here, largest)
    return np.sign(largest)


def main_directions(T: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """Return the leading directions of differences T = C'Z of all components, as columns, and their eigenvalues.

    kpcrank section 4.2 keeps the p largest eigenvalues of M = Z'LZ, inverts them and zeroes the others. With
    T = U diag(s) V' they are s², and its w = V_p diag(1/s²) V_p'Z'Ls is least squares on the first p columns of ZV:
    components like others, with the same path. r P² for T (r, P).
    """
    _, s, Vt = scipy.linalg.svd(T, full_matrices=False, check_finite=False)
    p = min(n_components, numerical_rank(s**2, max(T.shape)))
    return Vt[:p].T, s[:p] ** 2


class OnComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LeastSquares):
    """Base of the estimators on kernel principal components; not public."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": "no_validation",  # resolve_kernel says more about what is wrong
        "approximation": "no_validation",  # so does Space.build
    }
    n_components: Any
    components_of: ComponentsOf = "items"

    def transform(self, X: Any) -> FloatArray:
        """Return the kernel principal components of items, (n_items, n_components_), largest variance first.

        They are centred as the training items were (kpcrank section 6.1). X is as in `predict`; of Comparisons all
        items of the table are transformed.
        """
        check_is_fitted(self)
        if isinstance(X, Comparisons):
            return self.projection_.transform(self._features_of(X))
        return self.projection_.transform(self._read_items(X))

    def _utilities(self, X: Any) -> FloatArray:
        return np.asarray(self.projection_.transform(X) @ self.coef_.T + self.intercept_)

    def _learn(self, data: RowData | PairData, given: Any) -> None:
        operators = self._operators(data)
        limit = data.n_items if self.n_components is None else self.n_components
        projection, Z = self._extract(self._space(data, self.kernel), data, limit)
        self._keep(data, *self._turn(projection, Z, operators, limit), operators)

    def _extract(self, space: Space, data: RowData | PairData, n_components: int) -> tuple[Components, FloatArray]:
        """Return the components of the items that it takes to find so many of the items, or of differences."""
        return extract(space, n_components if self.components_of == "items" else None, data.row_weight)

    def _turn(
        self, projection: Components, Z: FloatArray, operators: list[Any], n_components: int
    ) -> tuple[Components, FloatArray]:
        """Turn all components of the items into the leading ones of differences, if these are wanted."""
        if self.components_of == "items":
            return projection, Z
        if len(operators) > 1:
            raise DataError(code="directions-by-output", owner=type(self).__name__).says(
                f"without ties each of the {len(operators)} columns of y has differences, and components, of its own",
                "Use " + Setting("ties", "include"),
                "fit a model for each column",
            )
        V, values = main_directions(dual_operator(operators[0]).apply(Z), n_components)
        return _orient(replace(projection, E=projection.E @ V, values=values), Z @ V)

    def _keep(self, data: RowData | PairData, projection: Components, Z: FloatArray, operators: Sequence[Any]) -> None:
        """Regress what the operators see on components with values Z, and keep what prediction needs."""
        self.intercept_: Any = 0.0
        weights = []
        for operator in operators:
            if isinstance(operator, Rows):
                operator, self.intercept_ = operator.centred()
            weights.append(component_path(operator.apply(Z), operator.target).last)
        self._keep_weights(
            replace(projection, kept=data.kept if isinstance(projection.kernel, str) else None),
            np.concatenate(weights, axis=-1),
        )

    def _keep_weights(self, projection: Components, weights: FloatArray) -> None:
        self.projection_ = projection
        self.kernel_, self.eigenvalues_ = projection.kernel, projection.values
        self.n_components_ = self._n_features_out = int(projection.values.shape[0])
        self.coef_ = np.ascontiguousarray(weights.T)

    def _solve_chunks(self, pieces: Any, space: Space, ways: list[Seen]) -> None:
        """Learn from sums over features: their squares around their means, those of differences, and scores."""
        assert space.map is not None
        mean, squares = pieces.moments(space.map.transform, space.n_features)
        covariance, with_scores = squares.system()
        values, E = eigh_full(covariance.copy())
        rank = numerical_rank(values, max(pieces.n_rows, space.n_features))
        limit = rank if self.n_components is None else min(self.n_components, rank)
        keep = limit if self.components_of == "items" else rank
        values, E = values[:keep], E[:, :keep]
        if ways[0].pairs:
            self.intercept_ = 0.0
            ((M, b),) = self._systems(pieces, space, ways, whole=False)
        else:
            self.intercept_, M, b = float(mean[-1]), covariance, with_scores
            pieces.census(by_level=False)
        if self.components_of == "differences":
            values, V = eigh_full(E.T @ M @ E)
            keep = min(limit, numerical_rank(values, max(pieces.n_rows, keep)))
            values, E = values[:keep], E @ V[:, :keep]
        projection = Components(space.kernel, space.map, None, None, mean[:-1], 0.0, E, values)
        projection = replace(projection, E=E * _signs(projection, pieces))
        E = projection.E
        self._keep_weights(projection, component_weights(E.T @ M @ E, E.T @ b))


class ChoosesComponents(OnComponents):
    """Base of the estimators that choose the number of components, and the kernel; not public."""

    cv: Any
    scoring: Any
    shared_components: bool
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnComponents._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [str, HasMethods("evaluate")],
        "shared_components": ["boolean"],
    }

    def _learn(self, data: RowData | PairData, given: Any) -> None:
        owner = type(self).__name__
        kernels = list(self.kernel) if isinstance(self.kernel, list | tuple) else [self.kernel]
        if not kernels or (len(kernels) > 1 and any(is_given(kernel) for kernel in kernels)):
            raise ValueError(
                f"{owner}: cannot choose from kernel={self.kernel!r}. Give at least one kernel, and "
                '"precomputed" only by itself: one table of kernel values belongs to one kernel.'
            )
        evaluation = Evaluation.of(owner, data, given, self.scoring, self.cv, precomputed=self._by_values, folds=5)
        operators = self._operators(data)
        candidates = self._candidates()
        most = int(candidates[-1])
        spaces = [self._space(data, kernel) for kernel in kernels]
        shared = [self._extract(space, data, most) if self.shared_components else None for space in spaces]
        held = []
        for space, common in zip(spaces, shared, strict=True):
            Z = None if common is None else common[1]
            predict = _path_of_folds(space, data.row_weight, most, Z, self.components_of)
            parts = [settle(*refit(part, evaluation.plan, predict)) for part in data.alike()]
            held.append(np.concatenate(parts, axis=2)[:, candidates - 1])
        scores, (which, column) = evaluation.choose(held, slice(None))
        chosen = int(candidates[column])
        self.best_score_ = float(scores[which, column])
        self.path_ = {
            "n_components": candidates,
            "kernel": [space.kernel for space in spaces],
            "score": scores,
            "error": 1.0 - scores if evaluation.scorer.greater_is_better else -scores,
        }
        projection, Z = shared[which] or self._extract(spaces[which], data, chosen)
        projection, Z = self._turn(projection, Z, operators, chosen)
        projection = replace(projection, E=projection.E[:, :chosen], values=projection.values[:chosen])
        self._keep(data, projection, Z[:, :chosen], operators)

    def _solve_chunks(self, pieces: Any, space: Space, ways: list[Seen]) -> None:
        raise DataError(code="components-chosen-in-pieces", owner=type(self).__name__).says(
            "the number of components is not chosen from rows in pieces",
            "Use KPCR or KPCRank with a number of components, or RankRLSCV",
        )

    def _candidates(self) -> IntArray:
        given = self.n_components
        if isinstance(given, Integral):
            return np.arange(1, int(given) + 1)
        candidates = np.unique(np.asarray(given))
        if candidates.shape[0] == 0 or candidates.dtype.kind not in "iu" or candidates[0] < 1:
            raise ValueError(f"{type(self).__name__}: n_components must be whole numbers from 1; got {given!r}.")
        return candidates.astype(np.intp)


class KPCR(OnComponents, OfScores):
    """Kernel principal component regression of scores.

    Answers: which utility does each item have, if scores vary only along the main directions of the items?

    Parameters
    ----------
    n_components, kernel, approximation : as in `KPCRank`
        Which components.

    Attributes
    ----------
    intercept_ : float or ndarray (n_outputs,)
        Mean score.
    coef_, n_components_, eigenvalues_, kernel_ : see `KPCRank`
        What was learned.

    See Also
    --------
    KPCRCV : chooses the number of components and the kernel.
    KPCRank : the same on score differences.

    Notes
    -----
    Least squares of the centred scores on the leading components of the centred kernel matrix; weights w act as
    repeated rows. Cost n² d for the kernel and n² p for p components. *Differences from the paper*: none (its
    baseline).

    Examples
    --------
    >>> from preflearn import KPCR
    >>> from preflearn.datasets import make_ltr
    >>> data = make_ltr(n_groups=20, random_state=0)
    >>> KPCR(n_components=5).fit(data.X, data.y, qid=data.qid).transform(data.X).shape
    (400, 5)
    """

    def __init__(self, n_components: int | None = 10, kernel: Any = "rbf", *, approximation: Any = None) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.approximation = approximation


class KPCRCV(ChoosesComponents, KPCR):
    """KPCR with the number of components, and the kernel, chosen by cross-validation.

    Answers: along how many directions of the data do scores vary? One decomposition per fold and kernel gives the whole
    path p = 1, 2, ..., exactly.

    Parameters
    ----------
    n_components, kernel, cv, scoring, approximation, shared_components : as in `KPCRankCV`
        The candidates, and how they are compared. Without ``cv`` groups are left out in five folds; scikit-learn's
        ``LeaveOneGroupOut()`` leaves out one at a time.

    Attributes
    ----------
    n_components_, kernel_, best_score_, path_ : see `KPCRankCV`
        What was chosen.
    coef_, intercept_, eigenvalues_ : see `KPCR`
        The model fitted on everything.

    Notes
    -----
    As `KPCRankCV`, with the weighted mean of the training scores as the intercept of every fold. *Differences from the
    paper*: none (its baseline).

    Examples
    --------
    >>> from preflearn import KPCRCV
    >>> from preflearn.datasets import make_ltr
    >>> data = make_ltr(n_groups=20, random_state=0)
    >>> KPCRCV(8, "linear").fit(data.X, data.y, qid=data.qid).path_["score"].shape
    (1, 8)
    """

    def __init__(
        self,
        n_components: int | Sequence[int] = 100,
        kernel: Any = "rbf",
        *,
        cv: Any = None,
        scoring: Any = "disagreement",
        approximation: Any = None,
        shared_components: bool = False,
    ) -> None:
        every: Any = n_components
        super().__init__(every, kernel, approximation=approximation)
        self.cv = cv
        self.scoring = scoring
        self.shared_components = shared_components


class KPCRank(OnComponents, OfPairs):
    """Kernel principal component ranking: least squares on score differences in few kernel principal components.

    Answers: which order do items have, if only their main directions matter and the rest is noise?

    Parameters
    ----------
    n_components : int, default=10
        Number of components, the only regularisation; None takes all. Fewer are used where the kernel matrix has fewer.
    kernel : str or sklearn.gaussian_process.kernels.Kernel, default="rbf"
        As in `RankRLS`.
    components_of : {"items", "differences"}, default="items"
        Of what the components are main directions: of the items (section 4.1 of the paper), or of the differences of
        items that are compared (its section 4.2, eigenvalues of Z'LZ set to zero). The second takes n³.
    ties, weighting, approximation : as in `RankRLS`
        Which pairs count, how much, and features that stand in for a kernel matrix too large to hold.

    Attributes
    ----------
    coef_ : ndarray (n_components_,) or (n_outputs, n_components_)
        Weights of the components.
    n_components_ : int
        Components used.
    eigenvalues_ : ndarray (n_components_,)
        Eigenvalues of the centred kernel matrix, or of Z'LZ for components of differences, decreasing.
    kernel_ : Kernel or "precomputed"
        The kernel used.

    See Also
    --------
    KPCRankCV : chooses the number of components and the kernel.
    RankRLS : the same least squares with a penalty instead of few components.

    Notes
    -----
    With components Z of the centred kernel and the Laplacian L = CC' of the preference graph, minimises
    (s - Zw)'L(s - Zw): w = (Z'LZ)⁻¹ Z'Ls, by a QR factorisation of C'Z. Cost n² d for the kernel, n² p for p components
    (partial eigensolver) and n p² for the fit, whatever the number of pairs. A component that the preference graph
    cannot see (constant in every group) gets weight zero. For comparisons the components are those of the items that
    occur in them. Scores may have several columns, each learned as if it were alone on the same components.

    Section 4.2 of the paper zeroes all but the p largest eigenvalues of Z'LZ, with all components in Z, to have every p
    from one decomposition. That is another model: its components are the main directions of differences within groups,
    and not those in which groups differ. On 20 simulated sets of parses it has 0.035 ± 0.004 less disagreement without
    noise (0.262 becomes 0.227), and nothing sure with noise on the scores (0.004 ± 0.005 at a deviation of 0.5, 0.012 ±
    0.014 at 1; on 100 real parses 0.064, then 0.015 ± 0.023 and 0.023 ± 0.023): ``preflearn reproduce
    kpcrank-components``.

    *Differences from the paper*: the two models of its sections 4.1 and 4.2 are told apart by ``components_of``;
    weights, ties and listed comparisons are additions, several outputs its future work.

    References
    ----------
    Tsivtsivadze, Cseke and Heskes, "Kernel principal component ranking: robust ranking on noisy data", 2008.

    Examples
    --------
    >>> from preflearn import KPCRank
    >>> from preflearn.datasets import make_sinc_preferences
    >>> data = make_sinc_preferences(random_state=0)
    >>> model = KPCRank(n_components=30).fit(data.train)
    >>> bool(model.score(data.test) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnComponents._parameter_constraints,
        "components_of": [StrOptions({"items", "differences"})],
        "ties": [StrOptions({"include", "exclude"})],
        "weighting": [StrOptions({"pairs", "groups"})],
    }

    def __init__(
        self,
        n_components: int | None = 10,
        kernel: Any = "rbf",
        *,
        components_of: ComponentsOf = "items",
        ties: Ties = "include",
        weighting: Weighting = "pairs",
        approximation: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.components_of = components_of
        self.ties = ties
        self.weighting = weighting
        self.approximation = approximation


class KPCRankCV(ChoosesComponents, KPCRank):
    """KPCRank with the number of components, and the kernel, chosen by cross-validation.

    Answers: how many directions of the data carry the order, and how does the error change with their number? One
    decomposition per fold and kernel gives the whole path p = 1, 2, ..., exactly.

    Parameters
    ----------
    n_components : int or sequence of int, default=100
        Largest number of components, or the candidates.
    kernel : str, kernel object or sequence of these, default="rbf"
        Candidates, as in `RankRLS`.
    components_of, ties, weighting, approximation : as in `KPCRank`
        Fixed during the choice. For ``components_of="differences"`` these are those of each fold.
    cv : None, int or splitter, default=None
        Folds of groups (rows with ``qid``, comparisons with ``group``), of distinct pairs (other comparisons), or of
        distinct rows (one group); None is 5, or fewer where there are not as many. A splitter is used as it is.
    scoring : str or RankingScorer, default="disagreement"
        What to maximise (`preflearn.metrics.get_scorer`).
    shared_components : bool, default=False
        Extract the components once from all training items instead of once per fold. Faster, but the components have
        then seen the held-out items (not their scores).

    Attributes
    ----------
    n_components_ : int
        Chosen number of components; equal scores are decided by the held-out squared error of differences.
    kernel_ : Kernel or "precomputed"
        Chosen kernel.
    best_score_ : float
        Cross-validated score of the choice.
    path_ : dict
        ``"n_components"`` (P,), ``"score"`` (n_kernels, P), ``"error"`` (minus the score for errors, 1 minus it
        otherwise) and ``"kernel"``: cross-validated error against p, ready to plot.
    coef_, eigenvalues_ : see `KPCRank`
        The model fitted on everything.

    Notes
    -----
    C'Z = QR nests over p, so the predictions for all p are running sums, exactly. Of scores in several columns one
    number of components, and one kernel, is chosen by the mean of the columns' scores.
    Cost: per fold and kernel one partial eigendecomposition n² P and one QR n P², as a single fit at P; n³ for
    components of differences.

    *Differences from the paper*: as for `KPCRank`.

    Examples
    --------
    >>> from preflearn import KPCRankCV
    >>> from preflearn.datasets import make_sinc_preferences
    >>> data = make_sinc_preferences(random_state=0)
    >>> model = KPCRankCV(n_components=40, kernel=["linear", "rbf"]).fit(data.train)
    >>> model.path_["error"].shape
    (2, 40)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KPCRank._parameter_constraints,
        **ChoosesComponents._parameter_constraints,
    }

    def __init__(
        self,
        n_components: int | Sequence[int] = 100,
        kernel: Any = "rbf",
        *,
        components_of: ComponentsOf = "items",
        ties: Ties = "include",
        weighting: Weighting = "pairs",
        cv: Any = None,
        scoring: Any = "disagreement",
        approximation: Any = None,
        shared_components: bool = False,
    ) -> None:
        every: Any = n_components
        super().__init__(
            every, kernel, components_of=components_of, ties=ties, weighting=weighting, approximation=approximation
        )
        self.cv = cv
        self.scoring = scoring
        self.shared_components = shared_components


def _path_of_folds(
    space: Space, weight: FloatArray | None, most: int, shared: FloatArray | None, components_of: ComponentsOf
) -> Predict:
    """Return a function from items, what is seen of them and others to utilities of these, for p = 1, 2, ..."""
    K = space.gram() if space.solver == "dual" and shared is None else None

    def predict(items: IntArray, operator: Any, wanted: IntArray) -> Held:
        if shared is not None:
            Z, Z_new = shared[items], shared[wanted]
        else:
            part, w = replace(space, X=space.X[items]), None if weight is None else weight[items]
            wide = most if components_of == "items" else None
            projection, Z = extract(part, wide, w, None if K is None else K[np.ix_(items, items)])
            new, project = projection.transform, projection.project
            Z_new = new(space.X[wanted]) if K is None else project(K[np.ix_(wanted, items)])
        if components_of == "differences":
            V, _ = main_directions(dual_operator(operator).apply(Z), most)
            Z, Z_new = Z @ V, Z_new @ V
        intercept: Any = 0.0
        if isinstance(operator, Rows):  # components that others share have another mean here
            operator, intercept = operator.centred()
            mean = np.average(Z, axis=0, weights=operator.root_weight**2)
            Z, Z_new = Z - mean, Z_new - mean
        path = component_path(operator.apply(Z), operator.target)
        long = np.sqrt(np.cumsum(Z_new**2, axis=1))
        weights = [path.every(k) for k in range(int(np.prod(operator.target.shape[1:])))]
        found = np.stack([_extend(Z_new @ w, most) for w in weights], axis=2)
        lengths = np.stack([_extend(long * np.linalg.norm(w, axis=0), most) for w in weights], axis=2)
        return found + intercept, np.finfo(np.float64).eps * (lengths + np.abs(intercept))

    return predict


def _extend(path: FloatArray, n_components: int) -> FloatArray:
    # Where no further components exist the path stays where it is, at 0 without any.
    if not path.shape[1]:
        return np.zeros((path.shape[0], n_components))
    return path[:, np.minimum(np.arange(max(n_components, path.shape[1])), path.shape[1] - 1)]
