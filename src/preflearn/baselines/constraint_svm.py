"""Constraint classification by a support vector machine: comparisons as differences of items in feature space."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, Kernel
from sklearn.model_selection import KFold
from sklearn.svm import SVC
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from preflearn.baselines._rival import (
    FloatArray,
    IntArray,
    Rival,
    check_asked,
    check_comparisons,
    check_decided,
    check_some,
)
from preflearn.data import Comparisons
from preflearn.data.pair_table import warn_before_learning
from preflearn.exceptions import DataError, quiet
from preflearn.kernels import gram, resolve_kernel
from preflearn.kernels.pair_kernels import difference_gram
from preflearn.models import UnfinishedWarning
from preflearn.models.asked import OfItems


class Wins(NamedTuple):
    """Distinct preferences, sorted: rows of the winners and the losers, and weights that count repeats."""

    winner: IntArray
    loser: IntArray
    weight: FloatArray

    @classmethod
    def read(cls, X: Any, owner: str) -> Wins:
        """Turn comparisons so that the preferred item comes first; only the signs of outcomes count."""
        check_comparisons(X, owner)
        check_some(X, owner)
        check_decided(X, owner)
        weight = np.ones(len(X)) if X.weight is None else X.weight
        won = X.outcome > 0
        pairs = np.column_stack([np.where(won, X.first, X.second), np.where(won, X.second, X.first)])[weight > 0]
        pairs, place = np.unique(pairs, axis=0, return_inverse=True)
        total = np.bincount(place.ravel(), weight[weight > 0], minlength=pairs.shape[0])
        return cls(pairs[:, 0], pairs[:, 1], np.asarray(total, dtype=np.float64))

    @property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """Return winners and losers."""
        return self.winner, self.loser

    def take(self, rows: IntArray) -> Wins:
        """Return some of the preferences."""
        return Wins(self.winner[rows], self.loser[rows], self.weight[rows])

    def spread(self, beta: FloatArray, n_items: int) -> FloatArray:
        """Return A'β: what each item's feature vector weighs in Σ_k β_k (φ(winner_k) - φ(loser_k))."""
        return np.asarray(np.bincount(self.winner, beta, n_items) - np.bincount(self.loser, beta, n_items), np.float64)


def solve(D: FloatArray, weight: FloatArray, C: float, tol: float, max_iter: int) -> tuple[FloatArray, bool]:
    """Return β >= 0 of the machine without intercept on differences with inner products D, and whether it was finished.

    Every difference enters twice, as δ with label +1 and as -δ with label -1. The problem is then its own mirror
    image: w is unique, and the best intercepts form an interval around 0, so that 0 is one of them.
    """
    m = D.shape[0]
    label = np.repeat([1.0, -1.0], m)
    svm = SVC(C=C, kernel="precomputed", tol=tol, max_iter=max_iter)
    with quiet(ConvergenceWarning):  # the caller warns
        svm.fit(np.block([[D, -D], [-D, D]]), label, np.tile(weight, 2))
    beta = np.zeros(m)
    np.add.at(beta, svm.support_ % m, np.abs(svm.dual_coef_[0]))  # w = Σ (α_k + α'_k) δ_k
    return beta, svm.fit_status_ == 0


class ConstraintSVM(OfItems, Rival):
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

    _outputs: ClassVar[tuple[int, ...]] = ()  # utilities have one column
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
        """Learn from comparisons without ties, of items with features."""
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
        D = difference_gram(gram(kernel, items), wins.pairs, wins.pairs)
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
        """Return utilities of rows of items, seen in training or new; only differences mean anything."""
        check_is_fitted(self)
        rows = items.tocsr() if hasattr(items, "tocsr") else np.asarray(items, dtype=np.float64)
        if rows.ndim != 2:
            raise DataError(code="svm-items-not-a-table", owner=type(self).__name__).says(
                f"items must be a table of one row per item; got {rows.ndim}-d data."
            )
        return self._utilities(self._match_columns(rows, None))

    def decision_function(self, X: Comparisons) -> FloatArray:
        """Return predicted margins of comparisons, utility of first minus utility of second, (m,)."""
        check_is_fitted(self)
        check_asked(X, type(self).__name__)
        used, place = np.unique(np.concatenate([X.first, X.second]), return_inverse=True)
        f = self._utilities(self._features_of(X, used))
        return np.asarray(f[place[: len(X)]] - f[place[len(X) :]])

    def _utilities(self, items: Any) -> FloatArray:
        f = np.empty(items.shape[0])
        step = max(1, 2**23 // self.X_fit_.shape[0])  # at most 64 MiB of kernel values at a time
        for start in range(0, items.shape[0], step):
            f[start : start + step] = gram(self.kernel_, items[start : start + step], self.X_fit_) @ self.dual_coef_
        return f


class ConstraintSVMCV(ConstraintSVM):
    """`ConstraintSVM` with a Gaussian kernel whose width and C are chosen by cross-validation over comparisons.

    Answers: how good is the usual rival of a preference Gaussian process, tuned as its paper tuned it?

    Parameters
    ----------
    cv : int, default=5
        Number of folds of distinct comparisons.
    log10_C : tuple of float, default=(-2, 4)
        Ends of the coarse grid of C, in steps of 1.
    log10_kappa : tuple of float, default=(-3, 3)
        Ends of the coarse grid of κ, in steps of 1; the kernel is exp(-κ/2 |x - x'|²).
    refine : int, default=4
        Steps of 0.2 of the fine grid on either side of the best coarse point; 0 leaves it out.
    tol : float, default=1e-3
        Tolerance of the solver.
    max_iter : int, default=1000000
        Steps of the solver; candidates that need more are judged as they are then.
    random_state : int, RandomState or None, default=None
        Source of the folds.

    Attributes
    ----------
    C_, kappa_ : float
        Chosen parameters; of equally good ones the smallest C, then the smallest κ.
    cv_error_ : float
        Their cross-validated error.
    cv_errors_ : dict of (float, float) to float
        Cross-validated error of each (log10 C, log10 κ) tried.
    n_unfinished_ : int
        How many programmes of the search ran out of steps.
    dual_coef_, kernel_, n_support_ : see `ConstraintSVM`
        The machine fitted on everything.

    Notes
    -----
    Coarse grid of 7 x 7, then a fine one of 9 x 9 around its best point, each with five folds: 650 quadratic programmes
    on four fifths of the comparisons. Kernels are shared between values of C. *Differences from the paper*: none known;
    it does not say how equal errors are told apart.

    References
    ----------
    Chu and Ghahramani, "Preference learning with Gaussian processes", 2005, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn import Comparisons
    >>> from preflearn.baselines import ConstraintSVMCV
    >>> X = np.linspace(-1, 1, 20).reshape(-1, 1)
    >>> first, second = np.arange(19), np.arange(1, 20)
    >>> matches = Comparisons(X, first, second, np.where(X[first, 0] < 0, 1, -1))
    >>> model = ConstraintSVMCV(log10_C=(0, 1), log10_kappa=(-1, 1), refine=0, random_state=0).fit(matches)
    >>> len(model.cv_errors_), model.score(matches)
    (6, 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cv": [Interval(Integral, 2, None, closed="left")],
        "log10_C": [tuple],
        "log10_kappa": [tuple],
        "refine": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        cv: int = 5,
        log10_C: tuple[float, float] = (-2, 4),
        log10_kappa: tuple[float, float] = (-3, 3),
        refine: int = 4,
        tol: float = 1e-3,
        max_iter: int = 1_000_000,
        random_state: Any = None,
    ) -> None:
        self.cv = cv
        self.log10_C = log10_C
        self.log10_kappa = log10_kappa
        self.refine = refine
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Choose C and κ, then fit on everything; of comparisons without ties, of items with features."""
        self._validate_params()
        items, wins = self._read(X)
        m = wins.winner.shape[0]
        if m < self.cv:
            raise DataError(code="svm-too-few-for-folds", owner="ConstraintSVMCV").says(
                f"{m} distinct comparisons cannot be cut into {self.cv} folds",
                "Lower cv, or use ConstraintSVM with a fixed C",
            )
        folds = list(KFold(self.cv, shuffle=True, random_state=self.random_state).split(np.arange(m)))
        self.cv_errors_: dict[tuple[float, float], float] = {}
        self.n_unfinished_ = 0
        self._search(items, wins, folds, _grid(*self.log10_C, 1.0), _grid(*self.log10_kappa, 1.0))
        if self.refine:
            C, kappa = self._best()
            reach = 0.2 * self.refine
            fine = [_grid(centre - reach, centre + reach, 0.2) for centre in (C, kappa)]
            self._search(items, wins, folds, *fine)
        best = self._best()
        self.C_, self.kappa_ = 10.0 ** best[0], 10.0 ** best[1]
        self.cv_error_ = self.cv_errors_[best]
        return self._finish(X, items, wins, _kernel(best[1]), self.C_)

    def _best(self) -> tuple[float, float]:
        return min(self.cv_errors_, key=lambda point: (self.cv_errors_[point], point))

    def _search(self, items: Any, wins: Wins, folds: list[Any], log10_C: list[float], log10_kappa: list[float]) -> None:
        for kappa in log10_kappa:
            K = gram(_kernel(kappa), items)
            new = [C for C in log10_C if (C, kappa) not in self.cv_errors_]
            wrong = np.zeros(len(new))
            for train, test in folds:
                known, held_out = wins.take(train), wins.take(test)
                D = difference_gram(K, known.pairs, known.pairs)
                for i, C in enumerate(new):
                    beta, finished = solve(D, known.weight, 10.0**C, self.tol, self.max_iter)
                    wrong[i] += _error(K @ known.spread(beta, K.shape[0]), held_out)
                    self.n_unfinished_ += not finished
            self.cv_errors_.update({(C, kappa): w / float(wins.weight.sum()) for C, w in zip(new, wrong, strict=True)})


def _error(f: FloatArray, wins: Wins) -> float:
    """Return the weight of the preferences that utilities f get wrong, equal utilities counting half."""
    return float(wins.weight @ (1 - np.sign(f[wins.winner] - f[wins.loser]))) / 2


def _kernel(log10_kappa: float) -> Any:
    return RBF(10.0 ** (-log10_kappa / 2))


def _grid(low: float, high: float, step: float) -> list[float]:
    return [round(float(low + step * i), 6) for i in range(round((high - low) / step) + 1)]
