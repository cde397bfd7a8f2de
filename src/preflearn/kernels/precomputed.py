"""Items known by their kernel values alone: ``kernel="precomputed"`` for models with a posterior.

A prediction needs k(x, x') between new items and those of training for means, and between the new items for variances.
Both may be given, side by side; from the first alone there are means, as `sklearn.svm.SVC` has them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.gaussian_process.kernels import GenericKernelMixin, Kernel

from preflearn.exceptions import DataError
from preflearn.items import FloatArray, IntArray, ItemSet, as_items, is_sparse

NAME = "precomputed"
ROUNDING = 1e-8  # share of the largest kernel value that differences may be rounding


class KernelRows(ItemSet):
    """Items as rows of a kernel matrix: values of each with the items of training, and among themselves where known.

    Examples
    --------
    >>> import numpy as np
    >>> items = KernelRows.of_training("PreferenceGP", np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> items[[1, 0]].values()
    array([[3., 1.],
           [1., 2.]])
    >>> new = items.asked("PreferenceGP", np.array([[0.5, 1.0]]))
    >>> new.values(items), new.values()
    (array([[0.5, 1. ]]), array([[nan]]))
    """

    ndim: ClassVar = 2

    def __init__(self, table: FloatArray, place: IntArray, among: FloatArray | None, row: IntArray | None = None):
        self.table = table  # (q, n): values of all rows with the items of training
        self.place = place  # (q,): which item of training a row is, -1 for a new one
        self.among = among  # (q, q): values among the rows; None: known only where one of two is of training
        self.row = np.arange(table.shape[0]) if row is None else row  # (p,): which rows the items are

    @classmethod
    def of_training(cls, owner: str, K: Any) -> KernelRows:
        """Return the items of a square kernel matrix."""
        if isinstance(K, KernelRows):
            return K
        refuse_bags(owner, K)
        check_kernel_matrix(owner, K)
        return cls(_dense(K), np.arange(K.shape[0]), None)

    @property
    def points(self) -> Any:
        """The rows themselves, (n_items, n_training): items with equal rows are taken for equal."""
        return self.table[self.row]

    @property
    def shape(self) -> tuple[int, int]:
        """(n_items, n_training)."""
        return self.row.shape[0], self.table.shape[1]

    def __len__(self) -> int:
        return int(self.row.shape[0])

    def __getitem__(self, rows: Any) -> KernelRows:
        return KernelRows(self.table, self.place, self.among, self.row[rows])

    def bare(self) -> Any:
        """Return itself."""
        return self

    def checked(self) -> Any:
        """Return itself: it was checked where it was built."""
        return self

    def equal(self, other: Any) -> bool:
        """Say whether the others have the same rows."""
        return super().equal(as_items(other).points)

    def joined(self, other: Any) -> Any:
        """Raise: a kernel matrix does not say how its items are related to others."""
        raise DataError(code="precomputed-new-items", owner="update").says(
            "the new comparisons are about items that the kernel matrix of training does not have",
            "Fit again on the kernel matrix of all items",
        )

    def check_variances(self, owner: str) -> None:
        """Raise unless kernel values among the items are known."""
        if self.among is None and (self.place[self.row] < 0).any():
            n, p = self.table.shape[1], self.table.shape[0]
            raise DataError(code="precomputed-variances-unknown", owner=owner).says(
                f"the {p} new items come with their kernel values with the {n} items of training, which say what to "
                "expect of them but not how surely",
                f"Give K(new, new) beside K(new, train), shape ({p}, {n + p})",
                "ask for what needs no probabilities (predict, predict_utility)",
            )

    def values(self, other: KernelRows | None = None) -> FloatArray:
        """Return kernel values (p, n') of all items with others, or with each other; NaN where they are not known."""
        row = self.row if other is None else other.row
        if other is not None and other.table is not self.table:
            return np.asarray(self.table[self.row[:, None], other.place[row]])
        return self._entries(self.row[:, None], row[None, :])

    def paired(self, other: KernelRows | None = None) -> FloatArray:
        """Return kernel values (p,) of items paired by position, of each with itself without others."""
        return self._entries(self.row, self.row if other is None else other.row)

    def _entries(self, a: IntArray, b: IntArray) -> FloatArray:
        """Return the values of rows a with rows b of the table; the same from both sides."""
        a, b = np.broadcast_arrays(a, b)
        here, there = self.place[a], self.place[b]
        if (here >= 0).all() and (there >= 0).all():
            return np.asarray((self.table[a, there] + self.table[b, here]) / 2)
        new = np.full(a.shape, np.nan) if self.among is None else (self.among[a, b] + self.among[b, a]) / 2
        return np.where(there >= 0, self.table[a, there], np.where(here >= 0, self.table[b, here], new))

    def asked(self, owner: str, X: Any, names: Any = None, known: Any = None) -> KernelRows:
        """Return items to predict for a model that was fitted on these, all of its kernel matrix.

        X are rows (p, n) of kernel values with the training items, of which those of the kernel matrix itself are known
        again, or (p, n + p) with the values among the new items beside them. ``names`` are those of the columns, and
        ``known`` those of training.
        """
        if isinstance(X, KernelRows):
            return X
        values = _dense(X)
        if names is not None and known is not None and set(known) <= set(names):
            first = [list(names).index(name) for name in known]
            values = values[:, [*first, *(c for c in range(len(names)) if c not in set(first))]]
        (p, width), n = values.shape, self.table.shape[1]
        if width == n:
            place = self._found(values)
            return KernelRows(values, place, None)
        if width != n + p:
            raise DataError(code="precomputed-columns", owner=owner).says(
                f"the {p} items have {width} kernel values each, and the model was fitted on {n} items",
                f"Give K(new, train), shape ({p}, {n})",
                f"K(new, train) and K(new, new) side by side, shape ({p}, {n + p}), for probabilities",
            )
        cross, among = np.ascontiguousarray(values[:, :n]), np.ascontiguousarray(values[:, n:])
        self._check_among(owner, cross, among)
        return KernelRows(cross, np.full(p, -1), among)

    @cached_property
    def _known(self) -> dict[int, int]:
        """The items of training by their rows."""
        return {hash((row + 0.0).tobytes()): number for number, row in reversed(list(enumerate(self.table)))}

    def _found(self, values: FloatArray) -> IntArray:
        """Return which items of training have these rows; -1 for none of them."""
        if values.shape == self.table.shape and np.array_equal(values, self.table):
            return self.place
        place = np.array([self._known.get(hash((row + 0.0).tobytes()), -1) for row in values], dtype=np.intp)
        place[(values != self.table[place]).any(axis=1)] = -1
        return place

    def _check_among(self, owner: str, cross: FloatArray, among: FloatArray) -> None:
        """Raise unless kernel values among new items are symmetric, and no pair of items denies that it is a kernel."""
        _check_symmetric(owner, among)
        own, variance = np.diagonal(among), np.diagonal(self.table)
        room = ROUNDING * max(float(abs(among).max()), float(variance.max(initial=0.0)), 1e-300)
        # k(x, y)² <= k(x, x) k(y, y)
        known = cross**2 > (np.maximum(own, 0.0)[:, None] + room) * (variance + room)
        new = among**2 > (np.maximum(own, 0.0)[:, None] + room) * (np.maximum(own, 0.0) + room)
        if (own < -room).any() or known.any() or new.any():
            row = int(np.flatnonzero((own < -room) | known.any(axis=1) | new.any(axis=1))[0])
            raise DataError(code="precomputed-new-not-a-kernel", owner=owner).says(
                f"the kernel values of the new items do not go together (row {row}: k(x, x) is {own[row]:.3g}, too "
                "little for its other values)",
                "The first columns are K(new, train), in the order of training, and K(new, new) follows in the order "
                "of the rows",
            )


class Precomputed(GenericKernelMixin, Kernel):
    """The kernel whose values are given: item tables are kernel matrices.

    ``kernel="precomputed"`` is a variance that is learned times this kernel; ``ConstantKernel(1.0, "fixed") *
    Precomputed()`` takes the values as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import ConstantKernel
    >>> from preflearn import Comparisons, PreferenceGP
    >>> from preflearn.kernels import Precomputed
    >>> K = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]])
    >>> model = PreferenceGP(ConstantKernel(1.0, "fixed") * Precomputed()).fit(Comparisons(K, [0], [2]))
    >>> model.predict_utility().round(2)
    array([ 0.33,  0.26, -0.33])
    """

    def __init__(self) -> None:  # scikit-learn reads a kernel's parameters off its signature
        super().__init__()

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the values of items, rows of a kernel matrix."""
        K = X.values(Y)
        return (K, np.zeros((*K.shape, 0))) if eval_gradient else K

    def diag(self, X: Any) -> FloatArray:
        """Return the values of items with themselves."""
        return np.asarray(X.paired())

    def is_stationary(self) -> bool:
        """Say that values are not those of differences of items."""
        return False


def refuse_bags(owner: str, K: Any) -> None:
    """Raise where bags are given in place of a kernel matrix."""
    if not as_items(K).one_row_each:
        raise DataError(code="precomputed-of-bags", owner=owner).says(
            'kernel="precomputed" needs a kernel matrix and got Bags',
            'Use a kernel, such as "rbf", or pass preflearn.kernels.gram(kernel, bags)',
        )


def check_kernel_matrix(owner: str, K: Any) -> None:
    """Raise unless a precomputed matrix of kernel values is square, symmetric and positive semi-definite."""
    if K.shape[0] != K.shape[1]:
        raise DataError(code="precomputed-not-square", owner=owner).says(
            f'kernel="precomputed" needs the square kernel matrix of the training rows; got shape {K.shape}',
            "Give K(train, train) to fit and K(new, train) to predict",
        )
    _check_symmetric(owner, K)
    dense = np.array(_dense(K))
    dense.flat[:: K.shape[0] + 1] += ROUNDING * max(float(np.abs(dense).max()), 1e-300)
    try:
        scipy.linalg.cholesky(dense, lower=True, overwrite_a=False, check_finite=False)
    except np.linalg.LinAlgError:
        least = float(scipy.linalg.eigvalsh(dense, subset_by_index=[0, 0])[0])
        raise DataError(code="precomputed-not-a-kernel", owner=owner).says(
            f"the precomputed matrix is not a kernel: it has negative eigenvalues (smallest {least:.3g})",
            "Use a positive semi-definite kernel, or clip its negative eigenvalues to zero first",
        ) from None


def _check_symmetric(owner: str, K: Any) -> None:
    gap = abs(K - K.T).max()
    if gap > ROUNDING * max(abs(K).max(), 1e-300):
        raise DataError(code="precomputed-not-symmetric", owner=owner).says(
            f"the precomputed kernel matrix is not symmetric (largest difference {gap:.3g})",
            "Pass (K + K.T) / 2 if the difference is rounding, or check the order of rows and columns",
        )


def _dense(K: Any) -> FloatArray:
    return np.ascontiguousarray(K.toarray() if is_sparse(K) else K, dtype=np.float64)
