"""Items through one interface, whatever they are made of: dense rows, sparse rows or bags of points.

Every item is a sample of points, and a row is a sample of one. `as_items` gives arrays and sparse matrices the answers
of an `ItemSet`; other kinds of items (`preflearn.data.Bags`) are one themselves. So no other module asks of which type
items are. Taking items (``X[rows]``), columns (``X[:, columns]``) and ``X.shape`` need no help: all kinds have them.

================  ==============================  ===================================
question          rows                            bags
================  ==============================  ===================================
one_row_each      True                            False
points            the rows                        the points of all bags
average(values)   values                          means over the points of every bag
point_weights(w)  w                               shared equally by the points
distinct()        by features                     by distribution
equal(other)      same features                   same distributions, bag by bag
================  ==============================  ===================================
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from preflearn.exceptions import DataError

__all__ = ["ItemSet", "as_items", "as_rows", "is_sparse"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class ItemSet:
    """Items with one row each, dense or sparse, or of any other kind, if they can be passed on to kernels.

    Other kinds of items derive from it and answer for themselves. ``values`` have one number for every point.

    Examples
    --------
    >>> import numpy as np
    >>> ItemSet(np.array([[2.0], [1.0], [2.0]])).distinct()
    array([1, 0, 1])
    """

    one_row_each: ClassVar[bool] = True  # whether an item is a single vector, which has a value of every feature
    points: Any  # the vectors that items are made of, (n_points, n_features), item after item
    names: Any = None
    feature_names: Any = None

    def __init__(self, points: Any) -> None:
        self.points = points

    @property
    def shape(self) -> Any:
        """(n_items, n_features)."""
        return self.points.shape

    def bare(self) -> Any:
        """Return the items without names of items and features, as they are kept beside these."""
        return self.points

    def checked(self) -> Any:
        """Return the items as numbers that kernels can work with."""
        return as_rows(self.points)

    def average(self, values: Any) -> Any:
        """Return the means (n_items, r) over every item's points of values (n_points, r)."""
        return values

    def point_weights(self, weight: FloatArray) -> FloatArray:
        """Return weights of points (n_points,) from those of items, each shared equally among its points."""
        return weight

    def means(self) -> Any:
        """Return the mean of every item's points, (n_items, n_features): all that a linear kernel sees of it."""
        return self.average(self.points)

    def check_variances(self, owner: str) -> None:
        """Raise where kernels cannot say how the items are related to each other; features say it."""
        del owner

    def keys(self) -> list[Hashable]:
        """Return what is equal for equal items, one for each."""
        dense = self.points.toarray() if is_sparse(self.points) else np.asarray(self.points)
        return [row.tobytes() for row in dense + 0.0]  # + 0.0: -0 is 0

    def distinct(self) -> IntArray:
        """Return numbers of distinct items in the lexical order of their features, (n_items,)."""
        X = self.points
        if not is_sparse(X):
            return np.unique(X + 0.0, axis=0, return_inverse=True)[1].ravel().astype(np.intp)
        columns: Any = X.tocsc(copy=True)
        columns.eliminate_zeros()
        number = np.zeros(X.shape[0], dtype=np.intp)
        # column by column, only where there are entries, until all rows are told apart
        for j in np.flatnonzero(np.diff(columns.indptr)):
            entries = slice(columns.indptr[j], columns.indptr[j + 1])
            value = np.zeros(X.shape[0])
            value[columns.indices[entries]] = columns.data[entries]
            number = np.unique(np.column_stack([number, value]), axis=0, return_inverse=True)[1].ravel()
            if number.max() == X.shape[0] - 1:
                break
        return number.astype(np.intp)

    def all_equal(self) -> bool:
        """Say whether all items are the same."""
        return bool(abs(self.points.max(axis=0) - self.points.min(axis=0)).max() == 0)

    def equal(self, other: Any) -> bool:
        """Say whether other items are of the same kind and, one by one, the same."""
        a, b = self.points, other
        if not as_items(other).one_row_each or a.shape != b.shape:
            return False
        if is_sparse(a) or is_sparse(b):
            return bool(abs(sparse.csr_array(a) - sparse.csr_array(b)).nnz == 0)
        return bool(np.array_equal(a, b))

    def joined(self, other: Any) -> Any:
        """Return these items and then others of the same kind, sparse if one of them is."""
        if is_sparse(self.points) or is_sparse(other):
            return sparse.csr_array(sparse.vstack([self.points, other]))
        return np.concatenate([self.points, other])

    def with_points(self, points: Any, owner: str) -> Any:
        """Return the items with every point changed, as a transformer of rows does."""
        return points


def as_items(X: Any) -> ItemSet:
    """Return items as an `ItemSet`: themselves, or that of an array, a sparse matrix or other rows.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn.items import as_items
    >>> as_items(np.eye(2)).means().shape
    (2, 2)
    """
    return X if isinstance(X, ItemSet) else ItemSet(X)


def is_sparse(X: Any) -> bool:
    """Say whether X is a scipy sparse matrix or array.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn.items import is_sparse
    >>> is_sparse(np.eye(2))
    False
    """
    return bool(sparse.issparse(X))


def as_rows(X: Any, name: str = "X") -> Any:
    """Return features as a float64 array, or as a CSR matrix in canonical form if they are sparse.

    Examples
    --------
    >>> from preflearn.items import as_rows
    >>> as_rows([[1, 2], [3, 4]]).dtype
    dtype('float64')
    """
    if is_sparse(X):
        rows: Any = X.tocsr()
        if rows.dtype != np.float64:
            rows = rows.astype(np.float64)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return rows
    dense = np.asarray(X, dtype=np.float64)
    if dense.ndim != 2:
        raise DataError(code="kernel-rows-shape", owner="kernel").says(
            f"{name} has shape {dense.shape}; rows of features, (n_items, n_features), are needed."
        )
    return dense
