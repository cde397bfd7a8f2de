"""RankRLS that chooses its regularisation, and whether ties count, by cross-validation in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import HasMethods, StrOptions

from preflearn.exceptions import DataError
from preflearn.models._cross_validation import HeldOut, Judge, hold_out_pairs, hold_out_rows
from preflearn.models._input import (
    PairData,
    RowData,
    Ties,
    Weighting,
    is_precomputed,
    read_training,
    warn_if_nothing_to_learn,
)
from preflearn.models._least_squares import LeastSquares, Space
from preflearn.models.rank_rls import RLS
from preflearn.operators import FloatArray

__all__ = ["RankRLSCV"]


class RankRLSCV(LeastSquares):
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
        Chosen regularisation; equal scores are told apart by the held-out squared error of differences.
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
        "kernel": RLS._parameter_constraints["kernel"],
        "ties": [StrOptions({"include", "exclude"}), "array-like"],
        "weighting": [StrOptions({"pairs", "groups"})],
        "cv": ["cv_object"],
        "scoring": [str, HasMethods("evaluate")],
        "approximation": RLS._parameter_constraints["approximation"],
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
        solver: str = "auto",
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

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None, *, graph: Any = None) -> Self:
        """Choose alpha and ties, then fit on everything.

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
            Symmetric weights W of the pairs that count, instead of ``qid``; they are left out pair by pair.

        Returns
        -------
        RankRLSCV
            Itself, fitted.
        """
        self._validate_params()
        owner = type(self).__name__
        options = self._tie_options(owner)
        data = read_training(self, X, y, qid, sample_weight, graph)
        solver: Any = self.solver
        space = Space.build(owner, data.X, self.kernel, self.approximation, solver, data.row_weight)
        if space.solver == "cg":
            raise DataError(
                f"{owner}: {data.n_items} rows with {space.n_features} features are too many for one decomposition. "
                "Use approximation=Nystroem(1000), or GridSearchCV over RankRLS(solver='cg')."
            )
        judge = Judge.of(owner, data, X, self.scoring, self.cv, precomputed=is_precomputed(self.kernel))
        if self.store_cv_results and judge.plan.overlapping:
            raise ValueError(
                f"{owner}: cv={self.cv} holds some rows out more than once, so there is no one held-out prediction for "
                "each. Use store_cv_results=False, or a splitter with disjoint test sets."
            )
        self.__dict__.pop("cv_predictions_", None)  # of an earlier fit
        warn_if_nothing_to_learn(owner, data, data.operator(options[0], self.weighting))
        alphas = self._candidates(owner)
        results: list[HeldOut] = []
        for ties in options:
            if isinstance(data, RowData):
                held = hold_out_rows(space, data, judge.plan, alphas, ties, self.weighting)
            else:
                held = hold_out_pairs(space, data, judge.plan, alphas, ties, self.weighting)
            alphas = held.alphas
            results.append(held)
        self.alphas_ = results[0].alphas
        # candidates are judged on the same entries: those that each of them predicts
        judged = np.all([~np.isnan(held.predictions[:, 0]) for held in results], axis=0)
        settled = [held.settled for held in results]
        self.cv_scores_ = np.stack([judge.scores(predictions, judged) for predictions in settled])
        best, column = judge.choose(list(self.cv_scores_), settled, judged)
        self.alpha_, self.ties_ = float(self.alphas_[column]), options[best]
        self.best_score_ = float(self.cv_scores_[best, column])
        if self.store_cv_results:
            self.cv_predictions_ = self._as_given(data, judge, results)
        self._store(data, space, np.ascontiguousarray(results[best].coefficients[:, column]))
        return self

    def _as_given(self, data: RowData | PairData, judge: Judge, results: list[HeldOut]) -> FloatArray:
        given = data.kept if isinstance(data, RowData) else data.rows
        entry = judge.plan.entry if given is None else given[judge.plan.entry]
        stored = np.full((len(results), data.n_given, self.alphas_.shape[0]), np.nan)
        for i, held in enumerate(results):
            stored[i, entry] = held.predictions
        return stored

    def _tie_options(self, owner: str) -> list[Ties]:
        options: list[Any] = [self.ties] if isinstance(self.ties, str) else list(self.ties)
        if not options or not set(options) <= {"include", "exclude"}:
            raise ValueError(f'{owner}: ties must be "include", "exclude" or both; got {self.ties!r}.')
        return options

    def _candidates(self, owner: str) -> FloatArray | None:
        if self.alphas is None:
            return None
        alphas = np.unique(np.asarray(self.alphas, dtype=np.float64))
        if alphas.shape[0] == 0 or not (alphas > 0).all() or not np.isfinite(alphas).all():
            raise ValueError(f"{owner}: alphas must be positive numbers; got {self.alphas!r}.")
        return alphas
