"""Kernel values of listed pairs of rows, without the matrix around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import kernels as sk

from preflearn.items import as_items, is_sparse
from preflearn.kernels.bag_means import bag_paired
from preflearn.kernels.distances import PROFILES
from preflearn.kernels.rules import gram, of_points

__all__ = ["gram_listed", "gram_paired"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
_ROWS = 1 << 14


def gram_paired(kernel: Any, X: Any, Y: Any) -> FloatArray:
    """Return k(x_i, y_i) for rows of two tables of equal length.

    Parameters
    ----------
    kernel : Kernel
        scikit-learn kernel object.
    X, Y : array, sparse matrix or Bags of shape (m, d)
        Rows, paired by position.

    Returns
    -------
    ndarray of shape (m,)
        Kernel values; noise (``WhiteKernel``) counts nothing, as between different items.

    Notes
    -----
    Cost O(m d) for kernels with a rule; others are asked in small blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> gram_paired(RBF(1.0), np.zeros((2, 1)), np.array([[0.0], [1.0]])).round(4)
    array([1.    , 0.6065])
    """
    if not as_items(X).one_row_each:
        return bag_paired(of_points(kernel), X, Y)
    out = np.empty(X.shape[0])
    for i in range(0, X.shape[0], _ROWS):
        out[i : i + _ROWS] = _values(kernel, X[i : i + _ROWS], Y[i : i + _ROWS])
    return out


def gram_listed(kernel: Any, X: Any, first: IntArray, second: IntArray) -> FloatArray:
    """Return k(x_i, x_j) for listed pairs (i, j) of the rows of one table.

    Noise counts nothing. Bags of which many pairs are listed are better compared all with all: their points would be
    copied for every pair.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> gram_listed(DotProduct(0.0), np.array([[1.0], [2.0], [3.0]]), np.array([0, 1]), np.array([2, 1]))
    array([3., 4.])
    """
    if not as_items(X).one_row_each and 8 * first.shape[0] > X.shape[0] ** 2:
        return np.asarray(gram(kernel, X, X)[first, second])
    return gram_paired(kernel, X[first], X[second])


def _values(kernel: Any, X: Any, Y: Any) -> FloatArray:
    if isinstance(kernel, sk.Sum):
        return _values(kernel.k1, X, Y) + _values(kernel.k2, X, Y)
    if isinstance(kernel, sk.Product):
        return _values(kernel.k1, X, Y) * _values(kernel.k2, X, Y)
    if isinstance(kernel, sk.Exponentiation):
        return np.asarray(_values(kernel.kernel, X, Y) ** kernel.exponent)
    if isinstance(kernel, sk.ConstantKernel):
        return np.full(X.shape[0], float(kernel.constant_value))
    if isinstance(kernel, sk.WhiteKernel):
        return np.zeros(X.shape[0])
    if type(kernel) is sk.DotProduct:
        return _dots(X, Y) + float(kernel.sigma_0) ** 2
    if type(kernel) in PROFILES:
        D = X - Y
        D = (D.toarray() if is_sparse(D) else D) / kernel.length_scale
        return np.asarray(PROFILES[type(kernel)].value(kernel, np.einsum("ij,ij->i", D, D)))
    # Without a rule: blocks along the diagonal.
    step = 64
    return np.concatenate(
        [gram(kernel, X[i : i + step], Y[i : i + step]).diagonal() for i in range(0, X.shape[0], step)] or [np.zeros(0)]
    )


def _dots(X: Any, Y: Any) -> FloatArray:
    if is_sparse(X):
        return np.asarray(X.multiply(Y).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, Y))
