"""Vector-Jacobian products of kernels: <M, dK/dtheta> without an n x n x p array.

The gradient of any function of a Gram matrix by the kernel's hyperparameters is such a product, with M the
function's derivative by K. scikit-learn's ``eval_gradient`` returns all of dK/dtheta instead: n^2 numbers for every
hyperparameter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.exceptions import DataError
from preflearn.kernels.bags import bag_gram_and_pullback, is_bags
from preflearn.kernels.parts import Space
from preflearn.kernels.rules import evaluate

__all__ = ["gram_and_pullback", "pullback"]

FloatArray = NDArray[np.float64]


def pullback(kernel: Any, X: Any, M: FloatArray) -> FloatArray:
    """Return ``sum_ij M_ij dK_ij/dtheta`` for every free hyperparameter.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Kernel object.
    X : array-like, sparse matrix or Bags of shape (n_items, n_features)
        Rows, or bags of points.
    M : ndarray of shape (n_items, n_items)
        Weights; they need not be symmetric, and are neither copied nor changed.

    Returns
    -------
    gradient : ndarray of shape (n_free,)
        In the order of ``kernel.theta``: logarithms of hyperparameters, fixed ones left out.

    Notes
    -----
    A radial kernel with d length scales needs one product: with ``P = M o slope(D)``, row sums r and column sums c,
    ``sum_ij P_ij (x_il - x_jl)^2 = (r + c)'x_l^2 - 2 x_l'P x_l``. Sums, products and powers follow the rules of
    differentiation. Cost: O(n_items^2 n_features) time and a few n_items x n_items arrays, whatever the number of
    hyperparameters. Kernels without a rule fall back to ``eval_gradient``; MemoryError if that would take
    more than 1 GiB.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0]])
    >>> kernel = 2.0 * RBF([1.0, 2.0])
    >>> M = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> pullback(kernel, X, M).round(6)
    array([1.471518, 1.471518, 1.471518])
    >>> np.einsum("ij,ijk->k", M, kernel(X, eval_gradient=True)[1]).round(6)
    array([1.471518, 1.471518, 1.471518])
    """
    if is_bags(X):
        return bag_gram_and_pullback(kernel, X)[1](M)
    space = Space.build(kernel, X)
    M = _checked(M, space)
    return evaluate(kernel, space, keep=True)[1](M)


def gram_and_pullback(kernel: Any, X: Any) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return the Gram matrix of X together with ``pull(M) = <M, dK/dtheta>``, which uses the same parts.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Kernel object; not to be changed before the last call of ``pull``.
    X : array-like, sparse matrix or Bags of shape (n_items, n_features)
        Rows, or bags of points.

    Returns
    -------
    K : ndarray of shape (n_items, n_items)
        A new array, as from `gram`.
    pull : callable
        ``pull(M)`` as in `pullback`. It holds two n_items x n_items arrays for every radial kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> K, pull = gram_and_pullback(RBF(), np.array([[0.0], [1.0]]))
    >>> pull(np.ones((2, 2))).round(6)
    array([1.213061])
    """
    if is_bags(X):
        return bag_gram_and_pullback(kernel, X)
    space = Space.build(kernel, X)
    part, pull = evaluate(kernel, space, keep=True)
    return part.toarray(space.shape, keep=True), lambda M: pull(_checked(M, space))


def _checked(M: FloatArray, space: Space) -> FloatArray:
    M = np.asarray(M, dtype=np.float64)
    if M.shape != space.shape:
        raise DataError(f"pullback: M has shape {M.shape}; {space.shape} is needed, a weight for every entry of K.")
    return M
