"""Gram matrices of scikit-learn's kernel objects, through BLAS, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.kernels.bags import bag_diag, bag_gram, is_bags
from preflearn.kernels.parts import Space
from preflearn.kernels.rules import diagonal, evaluate

__all__ = ["gram", "gram_diag"]

FloatArray = NDArray[np.float64]


def gram(kernel: Any, X: Any, Y: Any = None) -> FloatArray:
    """Return the Gram matrix of X, or the kernel values of the rows of X against those of Y.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Kernel object; see `resolve_kernel` for names.
    X : array-like, sparse matrix or Bags of shape (n_x, n_features)
        Rows, or bags of points; the kernel of two bags is its mean over all pairs of their points.
    Y : array-like, sparse matrix or Bags of shape (n_y, n_features), default=None
        Other rows (the items of fit, if X are new ones). With None, X against itself, including the
        ``WhiteKernel``; with Y the noise is left out, even if Y equals X, as in scikit-learn.

    Returns
    -------
    K : ndarray of shape (n_x, n_x) or (n_x, n_y)
        A new array; exactly symmetric if Y is None. The same numbers as ``kernel(X, Y)``: to 1e-10 of the largest
        entry, also if features have offsets a million times their spread, where dense rows are concerned. Sparse
        rows are not shifted (that would fill them), so there large offsets cost digits.

    Notes
    -----
    Cost: one matrix product, n_x n_y n_features multiplications, for every dot product or radial kernel in the
    expression, and a few passes over the answer in blocks. Memory: one n_x x n_y array for every such kernel.
    Kernels without a rule (see ``kernels/rules.py``) are called themselves, dense rows only.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> X = np.array([[0.0], [1.0]])
    >>> gram(2.0 * RBF() + WhiteKernel(0.5), X).round(4)
    array([[2.5   , 1.2131],
           [1.2131, 2.5   ]])
    >>> gram(2.0 * RBF() + WhiteKernel(0.5), np.array([[0.0]]), X).round(4)
    array([[2.    , 1.2131]])
    """
    if is_bags(X) or is_bags(Y):
        return bag_gram(kernel, X, Y)
    space = Space.build(kernel, X, Y)
    part, _ = evaluate(kernel, space, keep=False)
    return part.toarray(space.shape, keep=False)


def gram_diag(kernel: Any, X: Any) -> FloatArray:
    """Return the diagonal of the Gram matrix of X without the rest of it.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Kernel object.
    X : array-like, sparse matrix or Bags of shape (n_items, n_features)
        Rows, or bags of points.

    Returns
    -------
    diagonal : ndarray of shape (n_items,)

    Notes
    -----
    Cost: n_items n_features multiplications at most.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF, DotProduct
    >>> gram_diag(DotProduct(sigma_0=1.0) + RBF(), np.array([[0.0], [2.0]]))
    array([2., 6.])
    """
    if is_bags(X):
        return bag_diag(kernel, X)
    return diagonal(kernel, Space.build(kernel, X).X)
