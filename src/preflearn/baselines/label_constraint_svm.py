"""Constraint classification of labels by a support vector machine (Kesler's construction)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel
from sklearn.svm import LinearSVC
from sklearn.utils._param_validation import Interval

from preflearn.baselines._rival import FloatArray, IntArray
from preflearn.data.fields import label_array
from preflearn.exceptions import DataError, first_few, quiet
from preflearn.items import as_items
from preflearn.kernels import gram, resolve_kernel
from preflearn.models import UnfinishedWarning
from preflearn.models.of_labels import OfLabels, label_data

_RANK = 1e-12  # eigenvalues of the kernel matrix, relative to the largest, below which a direction is left out


class LabelConstraintSVM(OfLabels):
    """Support vector machine on differences of labels, for each item (constraint classification).

    Answers: which label suits an item best, judged by the largest margin? It has no probabilities.

    Parameters
    ----------
    kernel : str or sklearn.gaussian_process.kernels.Kernel, default="rbf"
        Kernel over items (`preflearn.kernels.resolve_kernel`).
    C : float, default=1.0
        Price of a violated preference; weights of edges multiply it.
    tol : float, default=1e-3
        Tolerance of the solver.
    max_iter : int, default=10000
        Passes of the solver over the edges; large C with a wide kernel may need very many.

    Attributes
    ----------
    labels_ : ndarray (n_labels,)
        The labels.
    dual_coef_ : ndarray (n_items_used, n_labels)
        Weight of each item in the utility of each label.
    kernel_ : Kernel
        Kernel used.

    Warns
    -----
    ConvergenceWarning
        If the solver ran out of passes.

    Notes
    -----
    Label a has a utility f_a(x) = w_a'φ(x). An edge of item x that prefers a to b is the difference of φ(x) in the
    block of a and φ(x) in the block of b, with label +1, and its mirror image with label -1. Minimised is
    ½ Σ_a |w_a|² + C Σ (ξ + ξ'), without an intercept, which the mirror image makes 0 (as in `ConstraintSVM`): each edge
    is given to scikit-learn's ``LinearSVC`` once, with the price 2 C. φ are the kernel's principal directions of the
    items of training, exactly, so that cost is n³ for n items and m n for each pass over m edges.

    *Differences from the paper*: none; parameters are to be chosen by a grid search.

    References
    ----------
    Har-Peled, Roth and Zimak, "Constraint classification", 2002; as the baseline CC-SVM in Chu and Ghahramani,
    "Preference learning with Gaussian processes", 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn.baselines import LabelConstraintSVM
    >>> X = np.array([[0.0], [0.2], [1.0], [1.2]])
    >>> model = LabelConstraintSVM(C=10.0).fit(X, ["cold", "cold", "warm", "warm"])
    >>> model.predict_label([[0.1], [1.1]])
    array(['cold', 'warm'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [str, Kernel],
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, kernel: Any = "rbf", C: float = 1.0, *, tol: float = 1e-3, max_iter: int = 10_000) -> None:
        self.kernel = kernel
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from LabelPreferences without ties, or from rows X with class labels y."""
        self._validate_params()
        owner = type(self).__name__
        data = label_data(owner, X, y)
        if not as_items(data.items).one_row_each:
            raise DataError(code="label-svm-takes-no-bags", owner=owner).says(
                "the items are Bags and this baseline takes rows", "Give the means of the bags: bags.means()"
            )
        weight = np.ones(data.n_edges) if data.weight is None else data.weight
        counted = np.flatnonzero(weight)
        if not counted.size:
            raise DataError(code="label-svm-all-weights-zero", owner=owner).says(
                f"all {data.n_edges} edges have weight 0", "Give at least one a positive weight"
            )
        ties = counted[data.outcome[counted] == 0]
        if ties.size:
            raise DataError(code="label-svm-takes-no-ties", owner=owner).says(
                f"{ties.size} of {data.n_edges} edges are ties (edges {first_few(ties)}), which teach it nothing",
                "Leave them out",
            )
        used, row = np.unique(data.item[counted], return_inverse=True)
        items = data.items[used]
        kernel = resolve_kernel(self.kernel, items)
        values, V = np.linalg.eigh(gram(kernel, items))
        kept = values > _RANK * max(values[-1], np.finfo(float).tiny)
        root = np.sqrt(values[kept])
        won = data.outcome[counted] > 0
        sides = data.first[counted], data.second[counted]
        wins = np.where(won, *sides), np.where(won, *sides[::-1])
        W = self._solve(V[:, kept] * root, row.ravel(), wins, weight[counted], data.n_labels)
        self.kernel_, self.X_fit_ = kernel, items
        self.dual_coef_ = (V[:, kept] / root) @ W.T
        self.labels_, self.n_features_in_ = label_array(data.labels.tolist()), int(items.shape[1])
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if data.feature_names is not None:
            self.feature_names_in_ = np.array(data.feature_names, dtype=object)
        return self

    def _solve(
        self, F: FloatArray, row: IntArray, wins: tuple[IntArray, IntArray], weight: FloatArray, n_labels: int
    ) -> FloatArray:
        """Return w of every label, (n_labels, n_directions), for directions F (n_items, n_directions)."""
        m, r = len(row), F.shape[1]
        side = np.where(np.arange(m) % 2, -1.0, 1.0)  # the solver wants two classes; (δ, +1) is (-δ, -1)
        values = side[:, None] * F[row]
        columns = np.hstack([labels[:, None] * r + np.arange(r) for labels in wins]).astype(np.int32)
        ends = np.arange(0, 2 * r * m + 1, 2 * r, dtype=np.int32)
        D = sp.csr_array((np.hstack([values, -values]).ravel(), columns.ravel(), ends), shape=(m, r * n_labels))
        if m == 1:  # the mirror image makes the other class
            D, side, weight = sp.vstack([D, -D], format="csr"), np.array([1.0, -1.0]), np.repeat(weight / 2, 2)
        svm = LinearSVC(
            C=2 * self.C, loss="hinge", dual=True, fit_intercept=False, tol=self.tol, max_iter=self.max_iter,
            random_state=0,
        )  # fmt: skip
        with quiet(ConvergenceWarning):
            svm.fit(D, side, weight)
        if svm.n_iter_ >= self.max_iter:
            UnfinishedWarning(code="label-svm-unfinished", owner=type(self).__name__).warn(
                f"the solver stopped after max_iter={self.max_iter} passes; utilities are inexact",
                "Lower C",
                "raise tol",
                "raise max_iter",
            )
        return np.asarray(svm.coef_.reshape(n_labels, r))

    def predict_utility(self, X: Any) -> FloatArray:
        """Return utilities of all labels, (n_items, n_labels); only differences between labels of an item count."""
        return np.asarray(gram(self.kernel_, self._items(X), self.X_fit_) @ self.dual_coef_)
