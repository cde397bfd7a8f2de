"""KPCRank that chooses the number of components and the kernel by cross-validation over the exact path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from preflearn.inference.components import component_path
from preflearn.models._components import Components, extract
from preflearn.models._cross_validation import Judge, Plan, settle
from preflearn.models._input import (
    PairData,
    RowData,
    Ties,
    Weighting,
    is_precomputed,
    read_training,
    warn_if_nothing_to_learn,
)
from preflearn.models._least_squares import Space
from preflearn.models.kpc import OnComponents, component_space
from preflearn.operators import FloatArray, IntArray

__all__ = ["KPCRankCV"]


class KPCRankCV(OnComponents):
    """KPCRank with the number of components, and the kernel, chosen by cross-validation.

    Answers: how many directions of the data carry the order, and how does the error change with their number? One
    decomposition per fold and kernel gives the whole path p = 1, 2, ..., exactly.

    Parameters
    ----------
    n_components : int or sequence of int, default=100
        Largest number of components, or the candidates.
    kernel : str, kernel object or sequence of these, default="rbf"
        Candidates, as in `RankRLS`.
    ties, weighting, approximation : as in `KPCRank`
        Fixed during the choice.
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
        Chosen number of components; equal scores are told apart by the held-out squared error of differences.
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
    C'Z = QR nests over p, so the predictions for all p are running sums (MATHS: exact, unlike the paper's shortcut).
    Cost: per fold and kernel one partial eigendecomposition n² P and one QR n P², as a single fit at P.

    *Differences from the paper*: section 4.2 zeroes eigenvalues of Z'LZ instead, which is another model for p < P.

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
        "n_components": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "kernel": OnComponents._parameter_constraints["kernel"],
        "ties": [StrOptions({"include", "exclude"})],
        "weighting": [StrOptions({"pairs", "groups"})],
        "cv": ["cv_object"],
        "scoring": [str, HasMethods("evaluate")],
        "approximation": OnComponents._parameter_constraints["approximation"],
        "shared_components": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | Sequence[int] = 100,
        kernel: Any = "rbf",
        *,
        ties: Ties = "include",
        weighting: Weighting = "pairs",
        cv: Any = None,
        scoring: Any = "disagreement",
        approximation: Any = None,
        shared_components: bool = False,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.ties = ties
        self.weighting = weighting
        self.cv = cv
        self.scoring = scoring
        self.approximation = approximation
        self.shared_components = shared_components

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None, *, graph: Any = None) -> Self:
        """Choose the number of components and the kernel, then fit on everything.

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
        KPCRankCV
            Itself, fitted.
        """
        self._validate_params()
        owner = type(self).__name__
        kernels = list(self.kernel) if isinstance(self.kernel, list | tuple) else [self.kernel]
        if not kernels or (len(kernels) > 1 and any(is_precomputed(kernel) for kernel in kernels)):
            raise ValueError(
                f"{owner}: kernel={self.kernel!r} cannot be chosen from. Give at least one kernel, and "
                '"precomputed" only by itself: one table of kernel values belongs to one kernel.'
            )
        data = read_training(self, X, y, qid, sample_weight, graph)
        judge = Judge.of(owner, data, X, self.scoring, self.cv, precomputed=is_precomputed(self.kernel), folds=5)
        warn_if_nothing_to_learn(owner, data, data.operator(self.ties, self.weighting))
        candidates = self._candidates(owner)
        spaces = [component_space(self, data, kernel) for kernel in kernels]
        shared = [self._shared(space, data, candidates[-1]) for space in spaces]
        held = [
            self._held_out(space, data, judge.plan, candidates[-1], common)[:, candidates - 1]
            for space, common in zip(spaces, shared, strict=True)
        ]
        everything = slice(None)
        scores = np.stack([judge.scores(predictions, everything) for predictions in held])
        which, column = judge.choose(list(scores), held, everything)
        chosen = int(candidates[column])
        self.best_score_ = float(scores[which, column])
        self.path_ = {
            "n_components": candidates,
            "kernel": [space.kernel for space in spaces],
            "score": scores,
            "error": 1.0 - scores if judge.scorer.greater_is_better else -scores,
        }
        common = shared[which]
        if common is None:
            projection, Z = extract(spaces[which], chosen, data.row_weight)
        else:
            projection, Z = common[0].leading(chosen), common[1][:, :chosen]
        operator = data.operator(self.ties, self.weighting)
        self._keep(data, projection.with_columns(data.kept), component_path(operator.apply(Z), operator.target))
        return self

    def _candidates(self, owner: str) -> IntArray:
        given = self.n_components
        if isinstance(given, Integral):
            return np.arange(1, int(given) + 1)
        candidates = np.unique(np.asarray(given))
        if candidates.shape[0] == 0 or candidates.dtype.kind not in "iu" or candidates[0] < 1:
            raise ValueError(f"{owner}: n_components must be whole numbers from 1; got {given!r}.")
        return candidates.astype(np.intp)

    def _shared(
        self, space: Space, data: RowData | PairData, n_components: int
    ) -> tuple[Components, FloatArray] | None:
        return extract(space, n_components, data.row_weight) if self.shared_components else None

    def _held_out(
        self,
        space: Space,
        data: RowData | PairData,
        plan: Plan,
        n_components: int,
        shared: tuple[Components, FloatArray] | None,
    ) -> FloatArray:
        """Return held-out utilities of rows, or margins of comparisons, for p = 1..n_components."""
        held = []
        K = space.gram() if space.solver == "dual" and shared is None else None
        for k, test in enumerate(plan.tests):
            items, operator = data.training(plan.train(k, data.n_statements), self.ties, self.weighting)
            wanted = test if isinstance(data, RowData) else np.arange(data.n_items)
            if shared is not None:
                Z, Z_new = shared[1][items], shared[1][wanted]
            else:
                weight = None if data.row_weight is None else data.row_weight[items]
                part = replace(space, X=space.X[items])
                projection, Z = extract(part, n_components, weight, None if K is None else K[np.ix_(items, items)])
                Z_new = (
                    projection.transform(space.X[wanted]) if K is None else projection.project(K[np.ix_(wanted, items)])
                )
            path = component_path(operator.apply(Z), operator.target)
            lengths = np.sqrt(np.cumsum(Z_new**2, axis=1)) * np.linalg.norm(path.weights, axis=0)
            f = _extend(path.predict(Z_new), n_components)
            noise = np.finfo(np.float64).eps * _extend(lengths, n_components)
            if isinstance(data, PairData):
                f = f[data.first[test]] - f[data.second[test]]
                noise = noise[data.first[test]] + noise[data.second[test]]
            held.append(settle(f, noise))
        return np.concatenate(held)


def _extend(path: FloatArray, n_components: int) -> FloatArray:
    # Where no further components exist the path stays where it is.
    missing = n_components - path.shape[1]
    if missing <= 0:
        return path
    last = path[:, -1:] if path.shape[1] else np.zeros((path.shape[0], 1))
    return np.concatenate([path, np.repeat(last, missing, axis=1)], axis=1)
