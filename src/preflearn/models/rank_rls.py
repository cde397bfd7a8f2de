"""Regularised least squares on scores (RLS) and on score differences (RankRLS); RLSCV and RankRLSCV choose alpha."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from preflearn.exceptions import DataError, Setting
from preflearn.inference.exact import decompose
from preflearn.models._cross_validation import Evaluation, default_alphas, hold_out, settle
from preflearn.models._least_squares import LeastSquares, OfScores, Transductive
from preflearn.models._partial_fit import LearnsOn
from preflearn.models.of_rows import Solver, Space
from preflearn.models.streamed import Pieces, hold_out_groups
from preflearn.models.training_data import PairData, RowData, Seen, Ties, Weighting
from preflearn.operators import FloatArray


class RLS(LearnsOn, OfScores):
    """Regularised least-squares regression of scores, without intercept: the baseline that ignores pairs.

    Answers: which utility does each item have, if every score is taken at face value?

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation λ > 0.
    kernel, approximation, solver : as in `RankRLS`
        What utilities are functions of, and how they are found.

    Attributes
    ----------
    coef_, dual_coef_, kernel_, solver_ : see `RankRLS`
        What was learned.

    See Also
    --------
    RLSCV : chooses alpha.
    RankRLS : regresses score differences within groups.

    Notes
    -----
    Minimises Σ w_i (y_i - f_i)² + λ‖f‖². Cost n d² + d³ primal, n² d + n³ dual. *Differences from the paper*: none
    (rankrls uses it as its baseline).

    Examples
    --------
    >>> from preflearn import RLS
    >>> from preflearn.datasets import make_ltr
    >>> data = make_ltr(n_groups=20, random_state=0)
    >>> model = RLS(alpha=1.0).fit(data.X, data.y, qid=data.qid)
    >>> bool(model.score(data.X, data.y, qid=data.qid) > 0.7)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "kernel": "no_validation",  # resolve_kernel says more about what is wrong
        "approximation": "no_validation",  # so does Space.build
        "solver": [StrOptions({"auto", "primal", "dual", "cg"})],
    }

    def __init__(
        self, alpha: float = 1.0, kernel: Any = "linear", *, approximation: Any = None, solver: Solver = "auto"
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.approximation = approximation
        self.solver = solver


class RankRLS(LearnsOn, Transductive):
    """Regularised least-squares ranking: regresses the score differences of all pairs inside groups.

    Answers: which function of the features puts the items of each group in the right order?

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation λ > 0; the cost sums over pairs, so it grows with the groups.
    kernel : str or sklearn.gaussian_process.kernels.Kernel, default="linear"
        "linear", "rbf", "laplacian", "matern" ("matern32"), "matern52", "rational_quadratic", "poly2", "poly3",
        "precomputed", or a kernel object. The length-scale of a named kernel is set from the data, as
        ``gamma="scale"`` in scikit-learn.
    ties : {"include", "exclude"}, default="include"
        Whether pairs with equal scores (comparisons with outcome 0) count: their predicted difference should be 0.
    weighting : {"pairs", "groups"}, default="pairs"
        Every pair weighs the same, or every group: a pair of rows then weighs 1 / size of its group, a listed
        comparison 1 / number of comparisons in its group.
    approximation : Nystroem or RandomFourier, default=None
        Features that stand in for a kernel matrix too large to hold.
    solver : {"auto", "primal", "dual", "cg"}, default="auto"
        "primal" solves d x d, "dual" n x n, "cg" iterates; "auto" takes the smaller.
    smoothness : float, default=0
        Weight μ of a penalty on different utilities of similar rows, also rows without a score: those with NaN in ``y``
        and items that no comparison is about. 0: none, and every row needs a score.
    n_neighbors : int, default=10
        With smoothness: how many rows are similar to a row, the nearest ones in the feature space of the kernel.

    Attributes
    ----------
    coef_ : ndarray (n_features,) or (n_outputs, n_features)
        Weights, where the kernel has features.
    dual_coef_ : ndarray (n_items,) or (n_items, n_outputs)
        Coefficients on the training rows ``X_fit_``, otherwise.
    kernel_ : Kernel or "precomputed"
        The kernel used.
    solver_ : str
        The solver used.

    See Also
    --------
    RankRLSCV : chooses alpha and ties.
    KPCRank : the same least squares on a few kernel principal components.

    Notes
    -----
    Minimises ½ Σ_ij W_ij ((y_i - y_j) - (f_i - f_j))² + λ‖f‖², W_ij = w_i w_j for pairs inside a group. Pairs are never
    listed: with the Laplacian L = CC' of W, the dual solves (C'KC + λI) a = C'y and the primal (X'LX + λI) w = X'Ly.
    Cost n d² + d³ primal, n² d + n³ dual, as plain regression; m comparisons add m d or m n. Scores may have several
    columns, each learned as if it were alone: they share M = C'KC or X'LX, and only the right-hand sides differ (with
    ``ties="exclude"`` each column has pairs, and a decomposition, of its own).

    With ``smoothness`` the penalty is λ(‖f‖² + μ Σ (f_i - f_j)²), the sum over pairs of all rows of which one is among
    the nearest of the other (transductive, or manifold, regularisation; Belkin, Niyogi and Sindhwani 2006). With the
    Laplacian S of these pairs it is λ f'(K⁻¹ + μS)f, the penalty of the kernel (K⁻¹ + μS)⁻¹, so everything above holds
    for that kernel, and the model that comes out is one of all rows under the kernel itself
    (`models/_least_squares.py` has the algebra). It helps where rows lie on curves or in clusters along which
    utilities change little, and few have scores; compare ``best_score_`` of `RankRLSCV` without and with it. n³ for
    all n rows (n d² + d³ primal, and a search for neighbours).

    *Differences from the paper*: the dual is symmetric (the paper's LK + λI is not); weights, listed comparisons,
    several outputs and ``weighting="groups"`` are additions. A transductive version is its future work; how rows
    without scores enter is ours.

    References
    ----------
    Pahikkala, Tsivtsivadze, Airola, Boberg and Salakoski, "Learning to rank with pairwise regularized least-squares",
    2007.
    Belkin, Niyogi and Sindhwani, "Manifold regularization: a geometric framework for learning from labeled and
    unlabeled examples", 2006.

    Examples
    --------
    >>> from preflearn import Comparisons, RankRLS
    >>> matches = Comparisons([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], first=[0, 2, 2], second=[1, 0, 1])
    >>> model = RankRLS(alpha=0.1).fit(matches)
    >>> model.predict(matches).round(1)
    array([0.6, 0.6, 1.2])

    A row without a score, near one with a high score:

    >>> from numpy import nan
    >>> rows = [[0.0], [1.0], [8.0], [10.0]]
    >>> model = RankRLS(kernel="rbf", smoothness=10.0, n_neighbors=1).fit(rows, [0.0, 0.0, nan, 1.0])
    >>> model.predict(rows).round(1)
    array([-0.4, -0.4,  0.4,  0.4])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RLS._parameter_constraints,
        **Transductive._parameter_constraints,
        "ties": [StrOptions({"include", "exclude"})],
        "weighting": [StrOptions({"pairs", "groups"})],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        kernel: Any = "linear",
        *,
        ties: Ties = "include",
        weighting: Weighting = "pairs",
        approximation: Any = None,
        solver: Solver = "auto",
        smoothness: float = 0.0,
        n_neighbors: int = 10,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.ties = ties
        self.weighting = weighting
        self.approximation = approximation
        self.solver = solver
        self.smoothness = smoothness
        self.n_neighbors = n_neighbors


class ChoosesAlpha(LeastSquares):
    """Base of the least-squares estimators that choose alpha; not public."""

    alphas: Sequence[float] | None
    cv: Any
    scoring: Any
    store_cv_results: bool
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alphas": ["array-like", None],
        "kernel": "no_validation",
        "cv": ["cv_object"],
        "scoring": [str, HasMethods("evaluate")],
        "approximation": "no_validation",
        "solver": [StrOptions({"auto", "primal", "dual"})],
        "store_cv_results": ["boolean"],
    }

    def _choose(self, views: Sequence[RowData | PairData], given: Any) -> tuple[FloatArray, int, FloatArray | None]:
        """Choose one of some views of the data and an alpha, and keep the model fitted with these.

        Returns the scores (n_views, n_alphas), the chosen view, and held-out predictions (n_views, n_given, n_alphas),
        by output where there are several, if they are stored.
        """
        owner, data = type(self).__name__, views[0]
        space = self._space(data, self.kernel)
        evaluation = Evaluation.of(owner, data, given, self.scoring, self.cv, precomputed=self._by_values)
        plan = evaluation.plan
        if self.store_cv_results and plan.overlapping:
            raise ValueError(
                f"{owner}: cv={self.cv} holds some rows out more than once, so there is no one held-out prediction for "
                "each. Use store_cv_results=False, or a splitter with disjoint test sets."
            )
        self.__dict__.pop("cv_predictions_", None)  # of an earlier fit
        self._operators(data)
        alphas = self._candidates()
        results = []
        for view in views:
            results.append(hold_out(space, view, plan, alphas))
            alphas = results[0].alphas
        self.alphas_ = results[0].alphas
        # candidates are scored on the same entries: those that each of them predicts
        scored = np.all([~np.isnan(held.predictions[:, 0]).any(axis=1) for held in results], axis=0)
        scores, (best, column) = evaluation.choose([settle(held.predictions, held.noise) for held in results], scored)
        self.alpha_, self.best_score_ = float(self.alphas_[column]), float(scores[best, column])
        coefficients = results[best].coefficients[:, column]
        self._store(data, space, coefficients.reshape(-1, *data.outputs))
        if not self.store_cv_results:
            return scores, best, None
        rows = data.kept if isinstance(data, RowData) else data.rows
        stored = np.full((len(results), data.n_given, *results[0].predictions.shape[1:]), np.nan)
        stored[:, plan.entry if rows is None else rows[plan.entry]] = [held.predictions for held in results]
        return scores, best, stored.reshape(*stored.shape[:-1], *data.outputs)

    def _choose_of_chunks(self, pieces: Pieces, space: Space, ways: list[Seen]) -> tuple[FloatArray, int]:
        """Choose a way to see rows in pieces and an alpha by leaving out groups; return the scores and the way."""
        owner = type(self).__name__
        if self.cv is not None or self.store_cv_results:
            raise DataError(code="chunks-cv", owner=owner).says(
                "rows in pieces are left out by group, and held-out predictions are not kept",
                "Use cv=None and store_cv_results=False",
            )
        found = self._systems(pieces, space, ways, whole=True)
        if pieces.n_groups < 2:
            raise DataError(code="chunks-one-group", owner=owner).says(
                "rows in pieces are left out by group, and all rows are one group",
                "Give group with every piece, or choose the regularisation yourself with "
                + Setting("fixed_alpha", 1.0),
            )
        decompositions = [decompose(M, b) for M, b in found]
        alphas = self._candidates()
        self.alphas_ = default_alphas(decompositions[0]) if alphas is None else alphas
        assert space.map is not None
        with tempfile.TemporaryDirectory(prefix="preflearn-") as folder:
            held = hold_out_groups(pieces, ways, decompositions, self.alphas_, space.map.transform, Path(folder))
            evaluation = Evaluation.of_held_out(owner, held.truth, held.group, held.weight, self.scoring)
            for predictions, noise in zip(held.predictions, held.noise, strict=True):
                for j in range(self.alphas_.shape[0]):
                    predictions[:, j] = settle(predictions[:, j], noise[:, j])
            scores, (best, column) = evaluation.choose([one[..., None] for one in held.predictions], slice(None))
        self.alpha_, self.best_score_ = float(self.alphas_[column]), float(scores[best, column])
        self._store(None, space, decompositions[best].solve(self.alphas_[[column]])[:, 0])
        return scores, best

    def _candidates(self) -> FloatArray | None:
        if self.alphas is None:
            return None
        alphas = np.unique(np.asarray(self.alphas, dtype=np.float64))
        if alphas.shape[0] == 0 or not (alphas > 0).all() or not np.isfinite(alphas).all():
            raise ValueError(f"{type(self).__name__}: alphas must be positive numbers; got {self.alphas!r}.")
        return alphas


class RLSCV(ChoosesAlpha, OfScores):
    """RLS with alpha chosen by leaving out groups.

    Answers: how much regularisation of plain regression ranks unseen groups best? All alphas come from one
    decomposition, and leaving out each group is exact and costs about as much as one fit.

    Parameters
    ----------
    alphas : sequence of float, default=None
        Candidates. None: 17 values from 1e-7 to 10 times the largest eigenvalue of the system.
    kernel, approximation : as in `RankRLS`
        Fixed during the choice.
    cv : None, int or splitter, default=None
        None leaves out one group at a time (rows with ``qid``), or one of five folds of distinct rows (one group). An
        int is a number of folds of groups or rows. A splitter is used as it is; test sets that do not overlap and train
        on everything else have a closed form (dual), or sums that are made once (primal).
    scoring : str or RankingScorer, default="disagreement"
        What to maximise, as in `RankRLSCV`. Rows are compared with those of their group that are held out with them.
    solver : {"auto", "primal", "dual"}, default="auto"
        As in `RankRLS`.
    store_cv_results : bool, default=False
        Keep every held-out prediction in ``cv_predictions_``.

    Attributes
    ----------
    alpha_ : float
        Chosen regularisation; equal scores are decided by the held-out squared error of differences.
    best_score_ : float
        Its cross-validated score.
    alphas_, cv_scores_ : ndarray (n_alphas,)
        Candidates, increasing, and their cross-validated scores.
    cv_predictions_ : ndarray (n, n_alphas) or (n, n_alphas, n_outputs)
        Held-out utilities, if stored; NaN where nothing was held out (weight zero, not in any test set).
    coef_, dual_coef_, kernel_, solver_ : see `RankRLS`
        The model fitted on everything.

    See Also
    --------
    RankRLSCV : the same for score differences.

    Notes
    -----
    As `RankRLSCV` with C = diag(√w): the held-out errors of a block S are (I - H_SS)⁻¹ (c_S - C_S'f). Cost and several
    outputs as there.

    *Differences from the paper*: none (rankrls chooses its baseline's alpha by cross-validation).

    Examples
    --------
    >>> from preflearn import RLSCV
    >>> from preflearn.datasets import make_ltr
    >>> data = make_ltr(n_groups=30, random_state=0)
    >>> model = RLSCV().fit(data.X, data.y, qid=data.qid)
    >>> model.cv_scores_.shape
    (17,)
    """

    def __init__(
        self,
        alphas: Sequence[float] | None = None,
        kernel: Any = "linear",
        *,
        cv: Any = None,
        scoring: Any = "disagreement",
        approximation: Any = None,
        solver: Solver = "auto",
        store_cv_results: bool = False,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.cv = cv
        self.scoring = scoring
        self.approximation = approximation
        self.solver = solver
        self.store_cv_results = store_cv_results

    def _solve_chunks(self, pieces: Any, space: Space, ways: list[Seen]) -> None:
        (self.cv_scores_,), _ = self._choose_of_chunks(pieces, space, ways)

    def _learn(self, data: RowData, given: Any) -> None:
        (self.cv_scores_,), _, held = self._choose([data], given)
        if held is not None:
            self.cv_predictions_ = held[0]


class RankRLSCV(ChoosesAlpha, Transductive):
    """RankRLS with alpha, and whether ties count, chosen by leaving out groups or pairs.

    Answers: how much regularisation ranks unseen groups best? All alphas come from one decomposition, and leaving out
    each group, or each pair of listed comparisons, is exact and costs about as much as one fit.

    Parameters
    ----------
    alphas : sequence of float, default=None
        Candidates. None: 17 values from 1e-7 to 10 times the largest eigenvalue of the system.
    kernel, weighting, approximation : as in `RankRLS`
        Fixed during the choice.
    ties : {"include", "exclude"} or a sequence of both, default="include"
        With ``("include", "exclude")`` it is chosen, too.
    cv : None, int or splitter, default=None
        None leaves out one group at a time (rows with ``qid``, comparisons with ``group``), one distinct pair at a time
        (other comparisons), or one of five folds of distinct rows (one group). An int is a number of folds of groups,
        pairs or rows. A splitter is used as it is; a closed form serves where groups stay whole and the rest trains.
    scoring : str or RankingScorer, default="disagreement"
        What to maximise: "disagreement" (negated), "kendall_tau_b", "map", "ndcg@10", ...
        (`preflearn.metrics.get_scorer`).
    solver : {"auto", "primal", "dual"}, default="auto"
        As in `RankRLS`.
    smoothness, n_neighbors : as in `RankRLS`
        Fixed during the choice; rows that are left out are then rows without a score.
    store_cv_results : bool, default=False
        Keep every held-out prediction in ``cv_predictions_``.

    Attributes
    ----------
    alpha_ : float
        Chosen regularisation; equal scores are decided by the held-out squared error of differences.
    ties_ : str
        Chosen treatment of ties.
    best_score_ : float
        Its cross-validated score.
    alphas_ : ndarray (n_alphas,)
        Candidates, increasing.
    cv_scores_ : ndarray (n_ties, n_alphas)
        Cross-validated scores.
    cv_predictions_ : ndarray (n_ties, n, n_alphas) or (n_ties, n, n_alphas, n_outputs)
        Held-out utilities of rows (up to a constant per group) or margins of comparisons, if stored; NaN where nothing
        was held out (weight zero, not in any test set, or a tie that does not count).
    coef_, dual_coef_, kernel_, solver_ : see `RankRLS`
        The model fitted on everything.

    Notes
    -----
    With H the hat matrix in root space, C'f = H c, the held-out errors of a block S are (I - H_SS)⁻¹ (c_S - C_S'f) for
    every alpha. Cost: one symmetric eigendecomposition plus Σ_S |S|² n per alpha (dual), or one pass over the rows
    plus Σ_S min(|S|, d)² max(|S|, d) per alpha (primal). Folds that cut a group cost a decomposition each.

    With ``weighting="groups"`` the weights stay those of all comparisons while one pair is left out of a single group.

    Of scores in several columns one alpha is chosen, as ``RidgeCV`` does, by the mean of the columns' scores (those in
    which all is tied do not count); one decomposition serves all. To choose for each column, fit each by itself, for
    example by scikit-learn's ``MultiOutputRegressor``.

    *Differences from the paper*: the closed form for groups is the paper's future work.

    Examples
    --------
    >>> from preflearn import RankRLSCV
    >>> from preflearn.datasets import make_ltr
    >>> data = make_ltr(n_groups=30, random_state=0)
    >>> model = RankRLSCV(ties=("include", "exclude")).fit(data.X, data.y, qid=data.qid)
    >>> model.cv_scores_.shape
    (2, 17)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ChoosesAlpha._parameter_constraints,
        **Transductive._parameter_constraints,
        "ties": [StrOptions({"include", "exclude"}), "array-like"],
        "weighting": [StrOptions({"pairs", "groups"})],
    }

    def __init__(
        self,
        alphas: Sequence[float] | None = None,
        kernel: Any = "linear",
        *,
        ties: Ties | Sequence[Ties] = "include",
        weighting: Weighting = "pairs",
        cv: Any = None,
        scoring: Any = "disagreement",
        approximation: Any = None,
        solver: Solver = "auto",
        smoothness: float = 0.0,
        n_neighbors: int = 10,
        store_cv_results: bool = False,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.ties = ties
        self.weighting = weighting
        self.cv = cv
        self.scoring = scoring
        self.approximation = approximation
        self.solver = solver
        self.smoothness = smoothness
        self.n_neighbors = n_neighbors
        self.store_cv_results = store_cv_results

    def _learn(self, data: RowData | PairData, given: Any) -> None:
        ways = self._ways()
        self.cv_scores_, best, held = self._choose([data.seen_as(way) for way in ways], given)
        self.ties_ = ways[best].ties
        if held is not None:
            self.cv_predictions_ = held

    def _ways(self) -> list[Seen]:
        options: list[Any] = [self.ties] if isinstance(self.ties, str) else list(self.ties)
        if not options or not set(options) <= {"include", "exclude"}:
            raise ValueError(f'RankRLSCV: ties must be "include", "exclude" or both; got {self.ties!r}.')
        return [Seen(ties=ties, weighting=self.weighting) for ties in options]

    def _solve_chunks(self, pieces: Any, space: Space, ways: list[Seen]) -> None:
        self.cv_scores_, best = self._choose_of_chunks(pieces, space, ways)
        self.ties_ = ways[best].ties
