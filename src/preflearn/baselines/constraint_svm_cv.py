"""The constraint-classification machine with kernel width and C chosen by cross-validation, as in the paper."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import KFold
from sklearn.utils._param_validation import Interval

from preflearn.baselines.constraint_svm import ConstraintSVM, FloatArray, Wins, difference_gram, solve
from preflearn.exceptions import DataError
from preflearn.kernels import gram

__all__ = ["ConstraintSVMCV"]


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
        Steps of the solver; where they do not suffice, candidates are judged as they are.
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
        """Choose C and κ, then fit on everything.

        Parameters
        ----------
        X : Comparisons
            What was compared, with what outcome; items need features and ties are refused.
        y : None
            Not used: comparisons carry their outcomes.

        Returns
        -------
        ConstraintSVMCV
            Itself, fitted.
        """
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
                D = difference_gram(K, known)
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
