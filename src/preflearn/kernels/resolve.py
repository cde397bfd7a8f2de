"""Kernels by name, with length scales taken from the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct, Exponentiation, Kernel, Matern, RationalQuadratic

from preflearn.exceptions import DataError, nearest_names
from preflearn.items import as_items, as_rows, is_sparse
from preflearn.kernels.centre import probability
from preflearn.kernels.rules import is_precomputed

# Functions of distances by name, and of products.
RADIAL: dict[str, Callable[..., Any]] = {
    "rbf": RBF,
    "laplacian": partial(Matern, nu=0.5),
    "matern": Matern,
    "matern32": Matern,
    "matern52": partial(Matern, nu=2.5),
    "rational_quadratic": RationalQuadratic,
}
_OF_PRODUCTS = {
    "linear": DotProduct(0.0, "fixed"),
    "poly2": Exponentiation(DotProduct(1.0), 2),
    "poly3": Exponentiation(DotProduct(1.0), 3),
}

KERNEL_NAMES: tuple[str, ...] = (*_OF_PRODUCTS, *RADIAL)


def resolve_kernel(kernel: Any, X: Any, weight: ArrayLike | None = None) -> Any:
    """Return a kernel object for a name or a kernel object.

    Parameters
    ----------
    kernel : str or sklearn.gaussian_process.kernels.Kernel
        A name in ``KERNEL_NAMES``, or a kernel object, of which a clone is returned.
    X : array-like, sparse matrix or Bags of shape (n_items, n_features)
        Rows from which named radial kernels take their length scale; not looked at for other kernels.
    weight : array-like of shape (n_items,), default=None
        Weights of the rows in the variance of X, so that a weight of 2 is a row listed twice and a weight of 0
        one left out; None weighs all the same.

    Returns
    -------
    kernel : sklearn.gaussian_process.kernels.Kernel

    Notes
    -----
    The length scale l of the named radial kernels is that of ``SVC(gamma="scale")``:
    ``1 / (2 l^2) = 1 / (n_features * X.var())``, with 1 on the right if all entries of X are the same. For sparse
    rows the variance includes the zeros; of bags it is that of their points, every bag counting the same.
    ``"linear"`` is ``x'y``, ``"poly2"`` and ``"poly3"`` are ``(x'y + 1)^p``,
    ``"laplacian"`` is ``exp(-|x - y| / l)``; ``"matern"`` is scikit-learn's default, that of ``"matern32"``. Cost: one
    pass over X.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0]])
    >>> resolve_kernel("rbf", X)
    RBF(length_scale=1.12)
    >>> resolve_kernel("linear", X)
    DotProduct(sigma_0=0)
    >>> resolve_kernel("rbg", X)
    Traceback (most recent call last):
        ...
    preflearn.exceptions.DataError: kernel "rbg" is unknown (nearest names: "rbf").
      Use a kernel object or one of "linear", "poly2", "poly3", "rbf", "laplacian", "matern", "matern32", \
"matern52", "rational_quadratic".
    """
    if isinstance(kernel, Kernel):
        if is_precomputed(kernel):
            raise TypeError(f'kernel {kernel} is made of given values; use kernel="precomputed".')
        return clone(kernel)
    if isinstance(kernel, str):
        if kernel in RADIAL:
            scale = _length_scale(X, weight)
            return RADIAL[kernel](length_scale=scale, length_scale_bounds=(1e-5 * scale, 1e5 * scale))
        if kernel in _OF_PRODUCTS:
            return clone(_OF_PRODUCTS[kernel])
        hint = nearest_names(kernel, KERNEL_NAMES)
        names = ", ".join(f'"{name}"' for name in KERNEL_NAMES)
        raise DataError(code="unknown-kernel").says(
            f'kernel "{kernel}" is unknown{f" ({hint})" if hint else ""}', f"Use a kernel object or one of {names}"
        )
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"kernel is the class {kernel.__name__}; pass an object, {kernel.__name__}().")
    if callable(kernel):
        raise TypeError(
            "kernel is a plain function; wrap it as a kernel object: "
            "sklearn.gaussian_process.kernels.PairwiseKernel(metric=function)."
        )
    raise TypeError(f"kernel is a {type(kernel).__name__}; pass a name or a kernel object of scikit-learn.")


def _length_scale(X: Any, weight: ArrayLike | None) -> float:
    """Return l with 1 / (2 l^2) = 1 / (n_features * X.var()), or with 1 on the right if X does not vary."""
    items = as_items(X)
    rows = as_rows(items.points)
    X, p = rows, items.point_weights(probability(weight, X.shape[0], "resolve_kernel"))
    if not p.all():
        X, p = X[p > 0.0], p[p > 0.0]
    p = p / X.shape[1]  # weights of the entries
    if is_sparse(X):
        q, entries, n_zeros = np.repeat(p, np.diff(X.indptr)), X.data, X.shape[0] * X.shape[1] - X.data.size
        mean = float(q @ entries)
        # Stored entries about the mean, plus mean^2 for every zero: no cancellation.
        variance = float(q @ np.square(entries - mean)) + max(0.0, 1.0 - float(q.sum())) * mean * mean
    else:
        entries, n_zeros = X, 0
        mean = float((p @ X).sum())
        variance = float((p @ np.square(X - mean)).sum())
    # Compared exactly: where X is 0.1 everywhere its variance is a rounding error and not zero.
    low, high = (entries.min(), entries.max()) if entries.size else (0.0, 0.0)
    if low == high and (n_zeros == 0 or low == 0.0):
        return math.sqrt(0.5)
    return math.sqrt(X.shape[1] * variance / 2.0)
