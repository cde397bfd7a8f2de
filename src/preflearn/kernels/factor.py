"""Feature rows Z with K ~= Z Z': what a map answers, and the map of a kernel that is linear in x."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Exponentiation, Product, Sum

from preflearn.items import as_items, as_rows, is_sparse


@runtime_checkable
class FeatureMap(Protocol):
    """Feature rows z(x) with k(x, y) ~= z(x)'z(y).

    ``transform(X)`` returns the rows Z of shape (n_items, r). Every row of Z depends on its own row of X only, so
    rows may come in chunks. ``n_features_out(n_features)`` is r. Maps hold arrays and a kernel, and can be pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from preflearn.kernels import linear_map
    >>> linear_map(DotProduct(0.0)).n_features_out(3)
    3
    """

    def transform(self, X: Any) -> Any:
        """Return the feature rows of X."""

    def n_features_out(self, n_features: int) -> int:
        """Return the number of columns of ``transform(X)`` for X with so many features."""


@dataclass(frozen=True)
class LinearMap:
    """Features of the kernel ``scale^2 x'y + bias^2``: ``z(x) = [scale x, bias]``.

    Examples
    --------
    >>> import numpy as np
    >>> LinearMap(scale=2.0, bias=1.0).transform(np.array([[1.0, 3.0]]))
    array([[2., 6., 1.]])
    """

    scale: float = 1.0
    bias: float = 0.0

    def transform(self, X: Any) -> Any:
        """Return the feature rows, sparse if X is; X itself (no copy) if scale is 1 and there is no bias.

        Those of bags are the features of their means.
        """
        X = as_rows(as_items(X).means())
        Z = X if self.scale == 1.0 else X * self.scale
        if self.bias == 0.0:
            return Z
        column = np.full((X.shape[0], 1), self.bias)
        if is_sparse(X):
            return sparse.hstack([Z, sparse.csr_array(column)], format="csr")
        return np.hstack([Z, column])

    def n_features_out(self, n_features: int) -> int:
        """Return the number of feature columns."""
        return n_features + (self.bias != 0.0)


def linear_map(kernel: Any) -> LinearMap | None:
    """Return the feature map of a kernel that is linear in x, or None.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Kernel object. Recognised are ``DotProduct`` and its sums and products with ``ConstantKernel``, as long as
        they come to ``c x'y + b`` with c > 0.

    Returns
    -------
    map : LinearMap or None
        With it, a model of n items in d features costs O(n d^2), where the Gram matrix would cost O(n^3).

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, DotProduct
    >>> linear_map(4.0 * DotProduct(sigma_0=3.0))
    LinearMap(scale=2.0, bias=6.0)
    >>> linear_map(RBF()) is None
    True
    """
    form = _linear_form(kernel)
    if form is None or form[0] <= 0.0:
        return None
    return LinearMap(scale=math.sqrt(form[0]), bias=math.sqrt(form[1]))


def _linear_form(kernel: Any) -> tuple[float, float] | None:
    """Return (c, b) if the kernel is c x'y + b."""
    if type(kernel) is DotProduct:
        return 1.0, float(kernel.sigma_0) ** 2
    if type(kernel) is ConstantKernel:
        return 0.0, float(kernel.constant_value)
    if type(kernel) is Exponentiation:
        form = _linear_form(kernel.kernel)
        if form is None or kernel.exponent == 1:
            return form
        return (0.0, form[1] ** kernel.exponent) if form[0] == 0.0 else None
    if type(kernel) not in (Sum, Product):
        return None
    first, second = _linear_form(kernel.k1), _linear_form(kernel.k2)
    if first is None or second is None:
        return None
    if type(kernel) is Sum:
        return first[0] + second[0], first[1] + second[1]
    if first[0] * second[0] != 0.0:
        return None  # the product of two linear kernels is quadratic
    # (c1 x'y + b1)(c2 x'y + b2) with c1 c2 = 0
    return first[0] * second[1] + second[0] * first[1], first[1] * second[1]
