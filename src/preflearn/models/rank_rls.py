"""Regularised least squares on scores (RLS) and on score differences (RankRLS, and RankRLSCV, which chooses alpha)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from preflearn.models._cross_validation import Evaluation, hold_out, settle
from preflearn.models._input import PairData, RowData, Ties, Weighting, is_precomputed
from preflearn.models._least_squares import OfPairs, OfScores, Solver
from preflearn.operators import FloatArray, Rows


class RLS(OfScores):
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

    def _learn(self, data: RowData, given: Any) -> None:
        self._solve(data, Rows.build(data.y, data.weight))


class RankRLS(OfPairs):
    """Regularised least-squares ranking: regresses the score differences of all pairs inside groups.

    Answers: which function of the features puts the items of each group in the right order?

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation λ > 0; the cost sums over pairs, so it grows with the groups.
    kernel : str or sklearn.gaussian_process.kernels.Kernel, default="linear"
        "linear", "rbf", "laplacian", "matern32", "matern52", "rational_quadratic", "poly2", "poly3", "precomputed",
        or a kernel object. The length-scale of a named kernel is set from the data, as ``gamma="scale"`` in
        scikit-learn.
    ties : {"include", "exclude"}, default="include"
        Whether pairs with equal scores (comparisons with outcome 0) count: their predicted difference should be 0.
    weighting : {"pairs", "groups"}, default="pairs"
        Every pair weighs the same, or every group: a pair of rows then weighs 1 / size of its group, a listed
        comparison 1 / number of comparisons in its group.
    approximation : Nystroem or RandomFourier, default=None
        Features that stand in for a kernel matrix too large to hold.
    solver : {"auto", "primal", "dual", "cg"}, default="auto"
        "primal" solves d x d, "dual" n x n, "cg" iterates; "auto" takes the smaller.

    Attributes
    ----------
    coef_ : ndarray (n_features,)
        Weights, where the kernel has features.
    dual_coef_ : ndarray (n_items,)
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
    Cost n d² + d³ primal, n² d + n³ dual, as plain regression; m comparisons add m d or m n.

    *Differences from the paper*: the dual is symmetric (the paper's LK + λI is not); weights, listed comparisons and
    ``weighting="groups"`` are additions.

    References
    ----------
    Pahikkala, Tsivtsivadze, Airola, Boberg and Salakoski, "Learning to rank with pairwise regularized least-squares",
    2007.

    Examples
    --------
    >>> from preflearn import Comparisons, RankRLS
    >>> matches = Comparisons([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], first=[0, 2, 2], second=[1, 0, 1])
    >>> model = RankRLS(alpha=0.1).fit(matches)
    >>> model.predict(matches).round(1)
    array([0.6, 0.6, 1.2])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RLS._parameter_constraints,
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
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.ties = ties
        self.weighting = weighting
        self.approximation = approximation
        self.solver = solver

    def _learn(self, data: RowData | PairData, given: Any) -> None:
        self._solve(data, self._operator(data))


class RankRLSCV(OfPairs):
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
    cv_predictions_ : ndarray (n_ties, n, n_alphas)
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
        "alphas": ["array-like", None],
        "kernel": "no_validation",
        "ties": [StrOptions({"include", "exclude"}), "array-like"],
        "weighting": [StrOptions({"pairs", "groups"})],
        "cv": ["cv_object"],
        "scoring": [str, HasMethods("evaluate")],
        "approximation": "no_validation",
        "solver": [StrOptions({"auto", "primal", "dual"})],
        "store_cv_results": ["boolean"],
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
        self.store_cv_results = store_cv_results

    def _learn(self, data: RowData | PairData, given: Any) -> None:
        owner, options = type(self).__name__, self._tie_options()
        space = self._space(data, self.kernel)
        evaluation = Evaluation.of(owner, data, given, self.scoring, self.cv, precomputed=is_precomputed(self.kernel))
        plan = evaluation.plan
        if self.store_cv_results and plan.overlapping:
            raise ValueError(
                f"{owner}: cv={self.cv} holds some rows out more than once, so there is no one held-out prediction for "
                "each. Use store_cv_results=False, or a splitter with disjoint test sets."
            )
        self.__dict__.pop("cv_predictions_", None)  # of an earlier fit
        self._operator(replace(data, ties=options[0]))
        alphas = self._candidates()
        results = []
        for ties in options:
            results.append(hold_out(space, replace(data, ties=ties), plan, alphas))
            alphas = results[0].alphas
        self.alphas_ = results[0].alphas
        # candidates are scored on the same entries: those that each of them predicts
        scored = np.all([~np.isnan(held.predictions[:, 0]) for held in results], axis=0)
        self.cv_scores_, (best, column) = evaluation.choose(
            [settle(held.predictions, held.noise) for held in results], scored
        )
        self.alpha_, self.ties_ = float(self.alphas_[column]), options[best]
        self.best_score_ = float(self.cv_scores_[best, column])
        if self.store_cv_results:
            rows = data.kept if isinstance(data, RowData) else data.rows
            entry = plan.entry if rows is None else rows[plan.entry]
            self.cv_predictions_ = np.full((len(results), data.n_given, self.alphas_.shape[0]), np.nan)
            self.cv_predictions_[:, entry] = [held.predictions for held in results]
        self._store(data, space, np.ascontiguousarray(results[best].coefficients[:, column]))

    def _tie_options(self) -> list[Ties]:
        options: list[Any] = [self.ties] if isinstance(self.ties, str) else list(self.ties)
        if not options or not set(options) <= {"include", "exclude"}:
            raise ValueError(f'RankRLSCV: ties must be "include", "exclude" or both; got {self.ties!r}.')
        return options

    def _candidates(self) -> FloatArray | None:
        if self.alphas is None:
            return None
        alphas = np.unique(np.asarray(self.alphas, dtype=np.float64))
        if alphas.shape[0] == 0 or not (alphas > 0).all() or not np.isfinite(alphas).all():
            raise ValueError(f"RankRLSCV: alphas must be positive numbers; got {self.alphas!r}.")
        return alphas
