"""Centre a Gram matrix: kernel values after the mean has been taken out in feature space.

With a probability vector p (equal weights: p = 1/n) the centred features are ``phi(x) - sum_j p_j phi(x_j)``, so

    K_centred = (I - 1 p') K (I - p 1')           for the items seen in fit,
    K_new_centred = (K_new - 1 p' K) (I - p 1')   for new items against them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from preflearn.exceptions import DataError
from preflearn.kernels.distances import row_blocks
from preflearn.linalg import FloatArray


def centre_gram(
    K: FloatArray, weight: ArrayLike | None = None, *, overwrite: bool = False
) -> tuple[FloatArray, FloatArray, float]:
    """Centre the symmetric Gram matrix (n, n) of the items seen in fit.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric Gram matrix.
    weight : array-like of shape (n,), default=None
        Weights of the items in the mean; None weighs all the same. A weight of 2 is a row listed twice.
    overwrite : bool, default=False
        Whether to centre in the memory of ``K`` (which must then be float64).

    Returns
    -------
    K_centred : ndarray of shape (n, n)
        Symmetric as ``K`` is; ``K_centred @ p`` is zero.
    column_means, grand_mean : ndarray of shape (n,), float
        ``p' K`` and ``p' K p``, for :func:`centre_cross`.

    Notes
    -----
    ``(I - 1p') K (I - p1') = K - 1 m' - m 1' + g`` with ``m = K p``, ``g = p' m``. Cost: three passes over K.
    For equal weights this is the centring of section 6.1 of the KPCRank paper, and scikit-learn's
    ``KernelCenterer``. Differences from the paper: weights.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [2.0], [6.0]])
    >>> K_centred, column_means, grand_mean = centre_gram(X @ X.T)
    >>> bool(np.allclose(K_centred, (X - 3.0) @ (X - 3.0).T))
    True
    >>> column_means, grand_mean
    (array([ 3.,  6., 18.]), 9.0)
    """
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise DataError(code="gram-not-square", owner="centre_gram").says(
            f"K has shape {K.shape}; a square matrix is needed."
        )
    p = probability(weight, K.shape[0], "centre_gram")
    means = K @ p
    grand = float(p @ means)
    out = K if overwrite else np.empty_like(K)
    for rows in row_blocks(*K.shape):
        # m_i + m_j is the same number for (i, j) and (j, i): the answer is exactly symmetric.
        shift = means[rows, np.newaxis] + means
        shift -= grand
        np.subtract(K[rows], shift, out=out[rows])
    return out, means, grand


def centre_cross(
    K_new: FloatArray, column_means: FloatArray, grand_mean: float, weight: ArrayLike | None = None
) -> FloatArray:
    """Centre kernel values (n_new, n) of new items against the items seen in fit.

    ``column_means`` and ``grand_mean`` are those of :func:`centre_gram`, with the same weights. Every row of the answer
    depends on its own row of ``K_new`` only, so new items may come in chunks.

    Notes
    -----
    ``(K_new - 1 p'K)(I - p1') = K_new - 1 m' - (K_new p) 1' + g``. Cost: two passes over K_new.

    Examples
    --------
    >>> import numpy as np
    >>> X, X_new = np.array([[1.0], [2.0], [6.0]]), np.array([[5.0]])
    >>> _, column_means, grand_mean = centre_gram(X @ X.T)
    >>> centre_cross(X_new @ X.T, column_means, grand_mean)  # (5 - 3) times (-2, -1, 3)
    array([[-4., -2.,  6.]])
    """
    K_new = np.asarray(K_new, dtype=np.float64)
    n = len(column_means)
    if K_new.ndim != 2 or K_new.shape[1] != n:
        raise DataError(code="cross-gram-shape", owner="centre_cross").says(
            f"K_new has shape {K_new.shape}; fit saw {n} items, so (n_new, {n}) is needed."
        )
    row_means = K_new @ probability(weight, n, "centre_cross") - grand_mean
    centred: FloatArray = K_new - column_means
    centred -= row_means[:, np.newaxis]
    return centred


def probability(weight: ArrayLike | None, n: int, name: str) -> FloatArray:
    """Return the weights divided by their sum (None: all the same), having checked them."""
    if weight is None:
        return np.full(n, 1.0 / n)
    w = np.asarray(weight, dtype=np.float64)
    if w.shape != (n,):
        raise DataError(code="centre-weight-shape", owner=name).says(
            f"weight has shape {w.shape}; one weight for each of {n} items is needed."
        )
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0.0)))
    total = float(w.sum()) if bad.size == 0 else 0.0
    if bad.size:
        raise DataError(code="centre-weight-negative", owner=name).says(
            f"{bad.size} of {n} weights are negative, missing or infinite (first: item {bad[0]}, {w[bad[0]]})."
        )
    if not total > 0.0:
        raise DataError(code="centre-weights-zero", owner=name).says(
            f"all {n} weights are zero, so there is no mean to take out."
        )
    return w / total
