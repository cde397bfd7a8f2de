"""Utilities of many items by weighted least squares on differences, without a prior and without an n x n array."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from preflearn.inference.independent import PairDesign, Precision
from preflearn.operators import FloatArray

__all__ = ["utilities_by_least_squares"]

CLOSE = 1e-6  # relative residual


def utilities_by_least_squares(A: Any, weight: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return b -> (A'WA)⁻ A'b for columns b, by conjugate gradients; W is the diagonal of ``weight``.

    Parameters
    ----------
    A : csr_array (n_pairs, n_items)
        With +1 for the lower and -1 for the higher item of each distinct pair.
    weight : ndarray (n_pairs,)
        Of the pairs.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> A = sp.csr_array([[1.0, -1.0, 0.0], [1.0, 0.0, -1.0], [0.0, 1.0, -1.0]])
    >>> f = utilities_by_least_squares(A, np.ones(3))(np.array([[1.0], [2.0], [1.0]]))
    >>> (f[:, 0] - f[2, 0]).round(6)
    array([2., 1., 0.])
    """
    design = PairDesign(A, np.zeros((A.shape[0], 0)))
    precision = Precision(design, weight, math.inf, 0)
    return lambda b: precision.solve(np.asarray(design.AT @ b), CLOSE)
