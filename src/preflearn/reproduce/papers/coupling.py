"""SVM with pairwise coupling, the column PW that the preference GP paper cites from Wu, Lin and Weng (2004)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.svm import SVC

Floats = NDArray[np.float64]
_FREE = 1e10  # penalty of the sigmoids that is none


class PairwiseCoupling(ClassifierMixin, BaseEstimator):
    """Support vector machines between all pairs of classes, whose probabilities are coupled to one for each class.

    Parameters
    ----------
    C, gamma : float, default=1.0, 1.0
        Price of slack, and κ/2 of the Gaussian kernel.
    cv : int, default=5
        Folds in which the decision values are made that the sigmoids are fitted to.

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
        The classes.
    machine_ : SVC
        Machines of all pairs.
    slope_, offset_ : ndarray (n_pairs,)
        For each pair the sigmoid P(the one class | either) = 1 / (1 + exp(-(slope d + offset))) of its decision value.

    Notes
    -----
    Sigmoids are Platt's: maximum likelihood on decision values of rows that were left out, with targets
    (n + 1) / (n + 2) instead of 1. `couple` is the second method of Wu, Lin and Weng.

    References
    ----------
    Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling", 2004.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 30)
    >>> X = np.column_stack([np.cos(2 * y), np.sin(2 * y)]) + 0.3 * rng.normal(size=(90, 2))
    >>> bool(PairwiseCoupling().fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(self, C: float = 1.0, gamma: float = 1.0, cv: int = 5) -> None:
        self.C = C
        self.gamma = gamma
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Self:
        """Fit machines and sigmoids; every class needs as many rows as there are folds."""
        self.classes_, number = np.unique(y, return_inverse=True)
        machine = SVC(C=self.C, gamma=self.gamma, decision_function_shape="ovo")
        left_out = _columns(cross_val_predict(machine, X, number, cv=self.cv, method="decision_function"))
        self.machine_ = machine.fit(X, number)
        self.slope_, self.offset_ = np.empty((2, left_out.shape[1]))
        for pair, (a, b) in enumerate(zip(*np.triu_indices(len(self.classes_), 1), strict=True)):
            rows = np.flatnonzero((number == a) | (number == b))
            first = number[rows] == a
            share = np.where(first, (first.sum() + 1) / (first.sum() + 2), 1 / ((~first).sum() + 2))
            sigmoid = LogisticRegression(C=_FREE, max_iter=1000).fit(
                np.tile(left_out[rows, pair], 2)[:, None],
                np.repeat([1, 0], len(rows)),
                np.concatenate([share, 1 - share]),
            )
            self.slope_[pair], self.offset_[pair] = sigmoid.coef_[0, 0], sigmoid.intercept_[0]
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, (n, n_classes)."""
        decision = _columns(self.machine_.decision_function(X))
        between = 1 / (1 + np.exp(-(self.slope_ * decision + self.offset_)))
        return couple(between, len(self.classes_))

    def predict(self, X: Any) -> Any:
        """Return the likeliest class."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def _columns(decision: Any) -> Floats:
    """Return decision values with a column for each pair; two classes have one of the other sign."""
    return np.asarray(-decision[:, None] if decision.ndim == 1 else decision, dtype=np.float64)


def couple(between: Floats, n_classes: int) -> Floats:
    """Return probabilities of classes from those between two of them.

    Parameters
    ----------
    between : ndarray (n, n_classes (n_classes - 1) / 2)
        P(the one class | either), for pairs in the order of ``np.triu_indices(n_classes, 1)``.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray (n, n_classes)
        The p with sum 1 at which Σ_i Σ_j≠i (r_ji p_i - r_ij p_j)² is smallest.

    Notes
    -----
    With Q_ii = Σ_s r_si² and Q_ij = -r_ji r_ij, p'Qp is half of it, and p solves [Q 1; 1' 0] [p; b] = [0; 1]; that p is
    not negative is Theorem 2 of the paper. O(n_classes³) for each row.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> a, b = np.triu_indices(3, 1)
    >>> couple((p[a] / (p[a] + p[b]))[None], 3).round(3)
    array([[0.5, 0.3, 0.2]])
    """
    n = len(between)
    r = np.zeros((n, n_classes, n_classes))
    a, b = np.triu_indices(n_classes, 1)
    r[:, a, b], r[:, b, a] = between, 1 - between
    system = np.ones((n, n_classes + 1, n_classes + 1))
    system[:, -1, -1] = 0
    system[:, :-1, :-1] = -r * r.transpose(0, 2, 1)
    own = np.arange(n_classes)
    system[:, own, own] = np.square(r).sum(axis=1)
    right = np.zeros((n, n_classes + 1, 1))
    right[:, -1] = 1
    found = np.linalg.solve(system, right)[:, :-1, 0]
    found = np.maximum(found, 0)  # of rounding
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def tuned_coupling(X: Any, y: Any, grid: dict[str, Any], seed: int) -> PairwiseCoupling:
    """Return the machine with C and γ by 5-fold cross-validation of the machines' majority vote."""
    candidates = {name: 2.0 ** np.arange(*grid[f"log2_{name}"]) for name in ("C", "gamma")}
    folds = KFold(5, shuffle=True, random_state=seed)
    best = GridSearchCV(SVC(), candidates, cv=folds).fit(X, y).best_params_
    smallest = int(np.unique(y, return_counts=True)[1].min())
    return PairwiseCoupling(best["C"], best["gamma"], cv=min(5, smallest)).fit(X, y)
