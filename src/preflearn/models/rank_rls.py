"""Regularised least squares on scores (RLS) and on score differences (RankRLS)."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

from sklearn.utils._param_validation import Interval, StrOptions

from preflearn.models._input import RowData, Ties, Weighting, read_training, warn_if_nothing_to_learn
from preflearn.models._least_squares import LeastSquares, Solver, Space, fit_least_squares

__all__ = ["RLS", "RankRLS"]


class RLS(LeastSquares):
    """Regularised least-squares regression of scores, without intercept: the baseline that ignores pairs.

    Answers: which utility does each item have, if every score is taken at face value?

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation λ > 0.
    kernel : str or sklearn.gaussian_process.kernels.Kernel, default="linear"
        "linear", "rbf", "laplacian", "matern32", "matern52", "rational_quadratic", "poly2", "poly3", "precomputed",
        or a kernel object. The length-scale of a named kernel is set from the data, as ``gamma="scale"`` in
        scikit-learn.
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

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit on scored rows.

        Parameters
        ----------
        X : array-like, sparse matrix or Bags (n_items, n_features), or Ratings
            Items; the kernel matrix for ``kernel="precomputed"``.
        y : array-like (n_items,)
            Scores.
        qid : array-like (n_items,), default=None
            The group of each row: kept for scoring, of no influence on the fit.
        sample_weight : array-like (n_items,), default=None
            Weights of rows.

        Returns
        -------
        RLS
            Itself, fitted.
        """
        self._validate_params()
        data = read_training(self, X, y, qid, sample_weight, pairs=False)
        assert isinstance(data, RowData)
        space = Space.build(type(self).__name__, data.X, self.kernel, self.approximation, self.solver, data.row_weight)
        coefficients, residual = fit_least_squares(space, data.scores(), self.alpha)
        self._store(data, space, coefficients)
        self._warn_unfinished(residual)
        return self


class RankRLS(LeastSquares):
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

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None, *, graph: Any = None) -> Self:
        """Fit on scored rows in groups, on an explicit preference graph, or on comparisons.

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
            Symmetric weights W of the pairs that count, instead of ``qid``.

        Returns
        -------
        RankRLS
            Itself, fitted.
        """
        self._validate_params()
        owner = type(self).__name__
        data = read_training(self, X, y, qid, sample_weight, graph)
        space = Space.build(owner, data.X, self.kernel, self.approximation, self.solver, data.row_weight)
        operator = data.operator(self.ties, self.weighting)
        warn_if_nothing_to_learn(owner, data, operator)
        coefficients, residual = fit_least_squares(space, operator, self.alpha)
        self._store(data, space, coefficients)
        self._warn_unfinished(residual)
        return self
