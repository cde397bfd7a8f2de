"""Constraint classification by a support vector machine: comparisons as differences of items in feature space."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel
from sklearn.svm import SVC
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.data.pair_table import warn_before_learning
from preflearn.exceptions import DataError, quiet
from preflearn.items import as_items
from preflearn.kernels import gram, resolve_kernel
from preflearn.metrics.pairwise import score_of_margins
from preflearn.models._asked import OfItems
from preflearn.models._preference import UnfinishedWarning

__all__ = ["ConstraintSVM", "Wins", "difference_gram", "solve"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class Wins(NamedTuple):
    """Distinct preferences, sorted: rows of the winners and the losers, and weights that count repeats."""

    winner: IntArray
    loser: IntArray
    weight: FloatArray

    @classmethod
    def read(cls, X: Any, owner: str) -> Wins:
        """Turn comparisons so that the preferred item comes first; only the signs of outcomes count."""
        if not isinstance(X, Comparisons):
            raise TypeError(
                f"{owner} learns from Comparisons; got {type(X).__name__}. "
                "Build Comparisons(items, first, second, outcome)."
            )
        if X.items is None:
            raise DataError(code="svm-needs-features", owner=owner).says(
                "the items have no features", "Give Comparisons an item table"
            )
        if not as_items(X.items).one_row_each:
            raise DataError(code="svm-takes-no-bags", owner=owner).says(
                "the items are Bags and this baseline takes rows",
                "Use PreferenceGP, or means of bags: comparisons.with_items(bags.means())",
            )
        ties = np.flatnonzero(X.outcome == 0)
        if ties.shape[0]:
            raise DataError(code="svm-takes-no-ties", owner=owner).says(
                f"{ties.shape[0]} of {len(X)} comparisons are ties, which say nothing about who is preferred",
                "Drop them: comparisons[comparisons.outcome != 0]",
            )
        weight = np.ones(len(X)) if X.weight is None else X.weight
        if not (weight > 0).any():
            raise DataError(code="svm-all-weights-zero", owner=owner).says(
                f"all {len(X)} comparisons have weight 0", "Give at least one a positive weight"
            )
        won = X.outcome > 0
        pairs = np.column_stack([np.where(won, X.first, X.second), np.where(won, X.second, X.first)])[weight > 0]
        pairs, place = np.unique(pairs, axis=0, return_inverse=True)
        total = np.bincount(place.ravel(), weight[weight > 0], minlength=pairs.shape[0])
        return cls(pairs[:, 0], pairs[:, 1], np.asarray(total, dtype=np.float64))

    def take(self, rows: IntArray) -> Wins:
        """Return some of the preferences."""
        return Wins(self.winner[rows], self.loser[rows], self.weight[rows])

    def spread(self, beta: FloatArray, n_items: int) -> FloatArray:
        """Return A'β: what each item's feature vector weighs in Σ_k β_k (φ(winner_k) - φ(loser_k))."""
        return np.asarray(np.bincount(self.winner, beta, n_items) - np.bincount(self.loser, beta, n_items), np.float64)


def difference_gram(K: FloatArray, wins: Wins) -> FloatArray:
    """Return inner products of differences, K_ik - K_il - K_jk + K_jl for preferences (i, j) and (k, l)."""
    rows = K[wins.winner] - K[wins.loser]
    return np.asarray(rows[:, wins.winner] - rows[:, wins.loser])


def solve(D: FloatArray, weight: FloatArray, C: float, tol: float, max_iter: int) -> tuple[FloatArray, bool]:
    """Return β >= 0 of the machine without intercept on differences with inner products D, and whether it was finished.

    Every difference enters twice, as δ with label +1 and as -δ with label -1. The problem is then its own mirror
    image: w is unique, and the best intercepts form an interval around 0, so that 0 is one of them.
    """
    m = D.shape[0]
    label = np.repeat([1.0, -1.0], m)
    svm = SVC(C=C, kernel="precomputed", tol=tol, max_iter=max_iter)
    with quiet(ConvergenceWarning):  # said by the caller, in its own words
        svm.fit(np.block([[D, -D], [-D, D]]), label, np.tile(weight, 2))
    beta = np.zeros(m)
    np.add.at(beta, svm.support_ % m, np.abs(svm.dual_coef_[0]))  # w = Σ (α_k + α'_k) δ_k
    return beta, svm.fit_status_ == 0


class ConstraintSVM(OfItems):
    """Support vector machine on differences of compared items (constraint classification).

    Answers: who is better, judged by the largest margin? It has no probabilities.

    Parameters
    ----------
    kernel : str or sklearn.gaussian_process.kernels.Kernel, default="rbf"
        Kernel over items (`preflearn.kernels.resolve_kernel`).
    C : float, default=1.0
        Price of a violated comparison; weights of comparisons multiply it.
    tol : float, default=1e-3
        Tolerance of the solver.
    max_iter : int, default=1000000
        Steps of the solver; large C with a wide kernel can take any number.

    Attributes
    ----------
    dual_coef_ : ndarray (n_items_used,)
        Weight of each compared item in the utility.
    kernel_ : Kernel
        Kernel used.
    n_support_ : int
        Comparisons on or inside the margin.

    Warns
    -----
    ConvergenceWarning
        If the solver ran out of steps.

    Notes
    -----
    Minimises ½ |w|² + C Σ_k (ξ_k + ξ'_k) where each comparison, winner i and loser j, gives φ(i) - φ(j) with label +1
    and φ(j) - φ(i) with label -1. Their inner products are K_ik - K_il - K_jk + K_jl. The intercept of this mirrored
    problem is 0 and is left out, and the utility w'φ(x) is collected on items, so that a margin is a difference of two
    numbers: swapping sides flips its sign exactly. Repeats of a comparison are merged into weights.

    Cost: 32 m² bytes and between m² and m³ operations for m distinct comparisons, because the quadratic programme is
    over comparisons; prediction costs one kernel row per item.

    *Differences from the paper*: none; parameters are chosen by `ConstraintSVMCV`.

    References
    ----------
    Har-Peled, Roth and Zimak, "Constraint classification", 2002; Herbrich et al., 1998; as the baseline CC-SVM in Chu
    and Ghahramani, "Preference learning with Gaussian processes", 2005.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.baselines import ConstraintSVM
    >>> matches = Comparisons([[0.0], [1.0], [2.0]], first=[2, 1], second=[1, 0])
    >>> model = ConstraintSVM("linear", C=10.0).fit(matches)
    >>> model.decision_function(matches).round(3)
    array([1., 1.])
    >>> model.predict_utility([[5.0]]).round(3)
    array([5.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [str, Kernel],
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, kernel: Any = "rbf", C: float = 1.0, *, tol: float = 1e-3, max_iter: int = 1_000_000) -> None:
        self.kernel = kernel
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn from comparisons.

        Parameters
        ----------
        X : Comparisons
            What was compared, with what outcome; items need features and ties are refused.
        y : None
            Not used: comparisons carry their outcomes.

        Returns
        -------
        ConstraintSVM
            Itself, fitted.
        """
        self._validate_params()
        items, wins = self._read(X)
        return self._finish(X, items, wins, resolve_kernel(self.kernel, items), self.C)

    def _read(self, X: Any) -> tuple[Any, Wins]:
        """Return the items that occur and the preferences among them."""
        wins = Wins.read(X, type(self).__name__)
        warn_before_learning(X, type(self).__name__)
        used, place = np.unique(np.concatenate([wins.winner, wins.loser]), return_inverse=True)
        m = wins.winner.shape[0]
        return X.items[used], Wins(place[:m].astype(np.intp), place[m:].astype(np.intp), wins.weight)

    def _finish(self, X: Comparisons, items: Any, wins: Wins, kernel: Any, C: float) -> Self:
        D = difference_gram(gram(kernel, items), wins)
        beta, finished = solve(D, wins.weight, C, self.tol, self.max_iter)
        self.kernel_ = kernel
        self.X_fit_ = items
        self.dual_coef_ = wins.spread(beta, items.shape[0])
        self.n_support_ = int((beta > 0).sum())
        self.n_features_in_ = X.n_features
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if X.feature_names is not None:
            self.feature_names_in_ = np.array(X.feature_names, dtype=object)
        self.classes_ = np.array([-1.0, 1.0])
        if not finished:
            UnfinishedWarning(code="svm-unfinished", owner=type(self).__name__).warn(
                f"the solver stopped after max_iter={self.max_iter} steps; margins are inexact",
                "Lower C",
                "raise tol",
                "standardise the features",
                "raise max_iter",
            )
        return self

    def predict_utility(self, items: Any) -> FloatArray:
        """Return utilities of items, seen in training or new; only differences mean anything.

        Parameters
        ----------
        items : array-like or sparse matrix (n_items, n_features)
            Items, columns as in training.

        Returns
        -------
        ndarray (n_items,)
            Utilities.
        """
        check_is_fitted(self)
        rows = items.tocsr() if hasattr(items, "tocsr") else np.asarray(items, dtype=np.float64)
        if rows.ndim != 2:
            raise DataError(code="svm-items-not-a-table", owner=type(self).__name__).says(
                f"items must be a table of one row per item; got {rows.ndim}-d data."
            )
        return self._utilities(self._match_columns(rows, None))

    def decision_function(self, X: Comparisons) -> FloatArray:
        """Return predicted margins of comparisons, utility of first minus utility of second.

        Parameters
        ----------
        X : Comparisons
            Pairs; their outcomes are not looked at.

        Returns
        -------
        ndarray (n_comparisons,)
            Margins.
        """
        used, place = np.unique(np.concatenate([X.first, X.second]), return_inverse=True)
        f = self._utilities(self._features_of(X, used))
        return np.asarray(f[place[: len(X)]] - f[place[len(X) :]])

    def predict(self, X: Comparisons) -> FloatArray:
        """Return +1 where the first item is predicted to be preferred, -1 where the second, 0 for equal utilities."""
        return np.asarray(np.sign(self.decision_function(X)))

    def score(self, X: Comparisons, y: None = None) -> float:
        """Return the share of comparisons whose winner is predicted (`preflearn.metrics.pairwise_accuracy`)."""
        return score_of_margins(X, self.decision_function(X))

    def _utilities(self, items: Any) -> FloatArray:
        f = np.empty(items.shape[0])
        step = max(1, 2**23 // self.X_fit_.shape[0])  # at most 64 MiB of kernel values at a time
        for start in range(0, items.shape[0], step):
            f[start : start + step] = gram(self.kernel_, items[start : start + step], self.X_fit_) @ self.dual_coef_
        return f
