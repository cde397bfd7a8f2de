"""Regression and ranking on kernel principal components: KPCR and KPCRank."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.exceptions import DataError
from preflearn.inference.components import ComponentPath, component_path
from preflearn.models._components import Components, extract
from preflearn.models._input import (
    PairData,
    RowData,
    Ties,
    Weighting,
    read_training,
    warn_if_nothing_to_learn,
)
from preflearn.models._least_squares import LeastSquares, Space
from preflearn.models._match import item_table
from preflearn.models.rank_rls import RLS
from preflearn.operators import FloatArray, Rows

__all__ = ["KPCR", "KPCRank", "OnComponents"]


class OnComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LeastSquares):
    """Base of the estimators on kernel principal components; not public."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": RLS._parameter_constraints["kernel"],
        "approximation": RLS._parameter_constraints["approximation"],
    }

    def transform(self, X: Any) -> FloatArray:
        """Return the kernel principal components of items.

        Parameters
        ----------
        X : array-like, sparse matrix or Bags (n_items, n_features), Ratings or Comparisons
            Items (of Comparisons: its item table).

        Returns
        -------
        ndarray (n_items, n_components_)
            Components, centred as the training items were (kpcrank section 6.1), largest variance first.
        """
        check_is_fitted(self)
        if isinstance(X, Comparisons):
            return self.projection_.transform(item_table(self, X))
        return self.projection_.transform(self._read_items(X))

    def _utilities(self, X: Any) -> FloatArray:
        return self.projection_.transform(X) @ self.coef_ + self.intercept_

    def _keep(
        self, data: RowData | PairData, projection: Components, path: ComponentPath, intercept: float = 0.0
    ) -> None:
        self.kernel_ = projection.kernel
        self.projection_ = projection
        self.eigenvalues_ = projection.values
        self.n_components_ = int(projection.values.shape[0])
        self._n_features_out = self.n_components_
        self.coef_ = path.weights[:, -1].copy() if self.n_components_ else np.zeros(0)
        self.intercept_ = intercept
        self.n_groups_ = int(data.code.max()) + 1 if isinstance(data, RowData) else 1


class KPCR(OnComponents):
    """Kernel principal component regression of scores.

    Answers: which utility does each item have, if scores vary only along the main directions of the items?

    Parameters
    ----------
    n_components : int, default=10
        Number of components; None takes all. Fewer are used where the kernel matrix has fewer.
    kernel : str or sklearn.gaussian_process.kernels.Kernel, default="rbf"
        As in `RankRLS`.
    approximation : Nystroem or RandomFourier, default=None
        Features that stand in for a kernel matrix too large to hold.

    Attributes
    ----------
    coef_ : ndarray (n_components_,)
        Weights of the components.
    intercept_ : float
        Mean score.
    n_components_ : int
        Components used.
    eigenvalues_ : ndarray (n_components_,)
        Eigenvalues of the centred kernel matrix, decreasing.
    kernel_ : Kernel or "precomputed"
        The kernel used.

    See Also
    --------
    KPCRank : the same on score differences.

    Notes
    -----
    Least squares of the centred scores on the leading components of the centred kernel matrix; weights w act as
    repeated rows. Cost n² d for the kernel and n² p for p components. *Differences from the paper*: none (its
    baseline).

    Examples
    --------
    >>> from preflearn import KPCR
    >>> from preflearn.datasets import make_ltr
    >>> data = make_ltr(n_groups=20, random_state=0)
    >>> KPCR(n_components=5).fit(data.X, data.y, qid=data.qid).transform(data.X).shape
    (400, 5)
    """

    def __init__(self, n_components: int | None = 10, kernel: Any = "rbf", *, approximation: Any = None) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.approximation = approximation

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
        KPCR
            Itself, fitted.
        """
        self._validate_params()
        data = read_training(self, X, y, qid, sample_weight, pairs=False)
        assert isinstance(data, RowData)
        projection, Z = extract_training(self, data, self.kernel, self.n_components)
        mean = float(np.average(data.y, weights=data.weight))
        operator = Rows.build(data.y - mean, data.weight)
        self._keep(data, projection, component_path(operator.apply(Z), operator.target), mean)
        return self


class KPCRank(OnComponents):
    """Kernel principal component ranking: least squares on score differences in few kernel principal components.

    Answers: which order do items have, if only their main directions matter and the rest is noise?

    Parameters
    ----------
    n_components : int, default=10
        Number of components, the only regularisation; None takes all. Fewer are used where the kernel matrix has fewer.
    kernel : str or sklearn.gaussian_process.kernels.Kernel, default="rbf"
        As in `RankRLS`.
    ties : {"include", "exclude"}, default="include"
        Whether pairs with equal scores (comparisons with outcome 0) count.
    weighting : {"pairs", "groups"}, default="pairs"
        Every pair weighs the same, or every group.
    approximation : Nystroem or RandomFourier, default=None
        Features that stand in for a kernel matrix too large to hold: cost linear in the number of items.

    Attributes
    ----------
    coef_ : ndarray (n_components_,)
        Weights of the components.
    n_components_ : int
        Components used.
    eigenvalues_ : ndarray (n_components_,)
        Eigenvalues of the centred kernel matrix, decreasing.
    kernel_ : Kernel or "precomputed"
        The kernel used.

    See Also
    --------
    KPCRankCV : chooses the number of components and the kernel.
    RankRLS : the same least squares with a penalty instead of few components.

    Notes
    -----
    With components Z of the centred kernel and the Laplacian L = CC' of the preference graph, minimises
    (s - Zw)'L(s - Zw): w = (Z'LZ)⁻¹ Z'Ls, by a QR factorisation of C'Z. Cost n² d for the kernel, n² p for p components
    (partial eigensolver) and n p² for the fit, whatever the number of pairs. A component that the preference graph
    cannot see (constant in every group) gets weight zero. For comparisons the components are those of the items that
    occur in them.

    *Differences from the paper*: components are nested exactly (its shortcut of zeroing eigenvalues of Z'LZ is another
    model); weights, ties and listed comparisons are additions.

    References
    ----------
    Tsivtsivadze, Cseke and Heskes, "Kernel principal component ranking: robust ranking on noisy data", 2008.

    Examples
    --------
    >>> from preflearn import KPCRank
    >>> from preflearn.datasets import make_sinc_preferences
    >>> data = make_sinc_preferences(random_state=0)
    >>> model = KPCRank(n_components=30).fit(data.train)
    >>> bool(model.score(data.test) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnComponents._parameter_constraints,
        "ties": [StrOptions({"include", "exclude"})],
        "weighting": [StrOptions({"pairs", "groups"})],
    }

    def __init__(
        self,
        n_components: int | None = 10,
        kernel: Any = "rbf",
        *,
        ties: Ties = "include",
        weighting: Weighting = "pairs",
        approximation: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.ties = ties
        self.weighting = weighting
        self.approximation = approximation

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
        KPCRank
            Itself, fitted.
        """
        self._validate_params()
        data = read_training(self, X, y, qid, sample_weight, graph)
        operator = data.operator(self.ties, self.weighting)
        warn_if_nothing_to_learn(type(self).__name__, data, operator)
        projection, Z = extract_training(self, data, self.kernel, self.n_components)
        self._keep(data, projection, component_path(operator.apply(Z), operator.target))
        return self


def component_space(estimator: Any, data: RowData | PairData, kernel: Any) -> Space:
    """Return the space whose components are wanted."""
    owner = type(estimator).__name__
    space = Space.build(owner, data.X, kernel, estimator.approximation, weight=data.row_weight)
    if space.solver == "cg":
        raise DataError(
            f"{owner}: {data.n_items} rows with {space.n_features} features are too many for a covariance or kernel "
            "matrix. Use approximation=Nystroem(1000)."
        )
    return space


def extract_training(
    estimator: Any, data: RowData | PairData, kernel: Any, n_components: int | None
) -> tuple[Components, FloatArray]:
    """Return the components of the training items and their values there."""
    space = component_space(estimator, data, kernel)
    limit = data.n_items if n_components is None else n_components
    projection, Z = extract(space, limit, data.row_weight)
    return projection.with_columns(data.kept), Z
