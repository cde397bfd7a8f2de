"""Ranking by a support vector machine, on comparisons or on all pairs of rows inside groups, which are not listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from preflearn.baselines._pair_machine import Machine, minimise_hinge, minimise_squared_hinge
from preflearn.baselines._shortfalls import pairs_of
from preflearn.linalg import eigh_full, numerical_rank
from preflearn.models import UnfinishedWarning
from preflearn.models.of_rows import KernelMachine, Solver, Space
from preflearn.models.training_data import PairData, RowData, Weighting, warn_if_nothing_to_learn
from preflearn.operators import FloatArray


class RankSVM(KernelMachine):
    """Support vector machine on all pairs of rows inside groups, or on comparisons.

    Answers: which function of the features puts the items of each group in the right order, by the largest margin?

    Parameters
    ----------
    C : float, default=1.0
        Price of a pair that is short of the margin. The cost sums over pairs, so it grows with the groups.
    kernel : str or sklearn.gaussian_process.kernels.Kernel, default="linear"
        As in `RankRLS`. Without features (solver "dual") it is for small sets: n³ for n rows.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        What a pair costs whose winner leads by less than 1.
    weighting : {"pairs", "groups"}, default="pairs"
        Every pair weighs the same, or every group: a pair of rows then weighs 1 / size of its group, a listed
        comparison 1 / number of comparisons in its group.
    approximation : Nystroem or RandomFourier, default=None
        Features that stand in for a kernel matrix too large to hold.
    solver : {"auto", "primal", "dual", "cg"}, default="auto"
        "primal" factors a d x d matrix, "dual" an n x n one, "cg" none; "auto" takes the smaller.
    tol : float, default=1e-5
        How far the objective may be above its minimum, relative to it.
    max_iter : int, default=1000
        Most Newton steps.

    Attributes
    ----------
    coef_ : ndarray (n_features,)
        Weights, where the kernel has features.
    dual_coef_ : ndarray (n_items,)
        Coefficients on the training rows ``X_fit_``, otherwise.
    objective_ : float
        What was minimised.
    gap_ : float
        How far that may be above its minimum, relative to it (the duality gap).
    n_iter_ : int
        Newton steps.
    kernel_, solver_ : see `RankRLS`
        What was used.

    Warns
    -----
    ConvergenceWarning
        If the gap is above ``tol`` after ``max_iter`` steps.
    DataWarning
        If all pairs are tied.

    See Also
    --------
    preflearn.RankRLS : the same pairs by least squares, in closed form.
    ConstraintSVM : hinge loss with a kernel, by a quadratic programme over listed comparisons.

    Notes
    -----
    Minimises ½ ‖f‖² + C Σ v ℓ(1 - f_i + f_j) over the pairs where i is preferred to j, with ℓ(m) = max(0, m) or its
    square, and v = w_i w_j for rows. Rows with equal scores are no pair; of comparisons only the sign of the outcome
    counts.

    Pairs of rows are not listed. What Newton's method needs are sums over the pairs that are short of the margin, which
    sorting gives: O(n log n log k) for k different scores in a group, beside n d for the features. Its systems are
    solved by conjugate gradients after a Cholesky factor of the matrix of all pairs, with which a few steps do. The
    hinge is smoothed by a parabola, which narrows until the duality gap is closed; it takes about ten times as long.
    Either way the gap is measured, so the answer is as exact as it says; rounding keeps that of the hinge above about
    1e-8. A kernel without features is decomposed once, 9 n³.

    *Differences from the paper*: the paper solves a quadratic programme over listed pairs.

    References
    ----------
    Herbrich, Graepel and Obermayer, "Large margin rank boundaries for ordinal regression", 2000.
    Joachims, "Optimizing search engines using clickthrough data", 2002; "Training linear SVMs in linear time", 2006.

    Examples
    --------
    >>> from preflearn.baselines import RankSVM
    >>> from preflearn.datasets import make_ltr
    >>> data = make_ltr(n_groups=30, random_state=0)
    >>> model = RankSVM(C=0.1).fit(data.X, data.y, qid=data.qid)
    >>> bool(model.score(data.X, data.y, qid=data.qid) > 0.8), bool(model.gap_ < 1e-5)
    (True, True)

    C is chosen by `sklearn.model_selection.GridSearchCV`, with groups kept whole:

    >>> from preflearn.selection import GroupFolds
    >>> from sklearn.model_selection import GridSearchCV
    >>> search = GridSearchCV(RankSVM(), {"C": [1e-4, 1e-2, 1.0]}, cv=GroupFolds(3)).fit(data.ratings)
    >>> search.best_params_["C"] in (1e-4, 1e-2, 1.0)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": "no_validation",  # resolve_kernel says more about what is wrong
        "loss": [StrOptions({"squared_hinge", "hinge"})],
        "weighting": [StrOptions({"pairs", "groups"})],
        "approximation": "no_validation",  # so does Space.build
        "solver": [StrOptions({"auto", "primal", "dual", "cg"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        C: float = 1.0,
        kernel: Any = "linear",
        *,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        weighting: Weighting = "pairs",
        approximation: Any = None,
        solver: Solver = "auto",
        tol: float = 1e-5,
        max_iter: int = 1000,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.loss = loss
        self.weighting = weighting
        self.approximation = approximation
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit on scored rows in groups, or on comparisons; X, y, qid and sample_weight are as in `RankRLS.fit`."""
        self._validate_params()
        data = replace(self._read(X, y, qid, sample_weight), weighting=self.weighting)
        if isinstance(data, PairData):
            data = replace(data, margin=np.sign(data.margin))
        self.n_groups_ = int(data.code.max()) + 1 if isinstance(data, RowData) else 1
        operator = data.operator()
        warn_if_nothing_to_learn(type(self).__name__, data, [operator])
        if data.decided.any():
            operator = replace(data, ties="exclude").operator()
        pairs = pairs_of(data)
        space = self._space(data, self.kernel, decomposed=False)
        Z, to_coefficients = _features(space, data.n_items)
        machine = Machine.build(Z, self.C, pairs, operator, factored=space.solver != "cg")
        if self.loss == "hinge":
            found, self.n_iter_ = minimise_hinge(machine, pairs, self.tol, self.max_iter)
        else:
            found, self.n_iter_ = minimise_squared_hinge(machine, self.tol, self.max_iter)
        self._store(data, space, to_coefficients(found.u))
        self.objective_, self.gap_ = found.objective, max(found.gap, 0.0)  # rounding may make it negative
        if not self.gap_ <= self.tol:
            UnfinishedWarning(code="rank-svm-unfinished", owner=type(self).__name__).warn(
                f"Newton's method stopped after {self.n_iter_} steps; the objective may be {self.gap_:.1e} of itself "
                f"above its minimum (wanted {self.tol:.0e})",
                "Standardise the features",
                "lower C",
                "raise max_iter or tol",
            )
        return self


def _features(space: Space, n_items: int) -> tuple[Any, Callable[[FloatArray], FloatArray]]:
    """Return features Z with K = ZZ' up to a constant row, which differences do not see; from u to coefficients."""
    if space.solver != "dual":
        Z = space.features(slice(0, n_items))
        return Z if hasattr(Z, "tocsr") else Z - Z.mean(axis=0), lambda u: u
    s, V = eigh_full(space.gram(), overwrite=True)
    rank = numerical_rank(s, n_items)
    root, V = np.sqrt(s[:rank]), V[:, :rank]
    return V * root, lambda u: np.asarray(V @ (u / root))
