"""Squared distances between rows, and the radial kernels, which are functions of them.

**Distances**, through BLAS and without losing the short ones. The identity is ``|u - v|^2 = |u|^2 + |v|^2 - 2 u'v``:
one matrix product. It cancels where two rows are close, and then the square root (Matern) turns an error of 1e-16
into one of 1e-8. So pairs with ``|u - v|^2 <= 1e-4 (|u|^2 + |v|^2)`` are computed again from differences: every
squared distance has a relative error of at most about ``1e4 * (d + 3) * eps`` (in practice 1e-12), and equal rows
have distance exactly zero.

**Radial kernels** are ``K_ij = value(D_ij)`` with ``D_ij = sum_l (x_il - x_jl)^2 / l_l^2``. The derivative by the
logarithm of a length scale is ``slope(D_ij) (x_il - x_jl)^2 / l_l^2`` with ``slope = -2 dvalue/dD``, for all l. So a
kernel is two functions of an array (`Profile`), and isotropic and ARD versions share them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from preflearn.items import is_sparse
from preflearn.linalg import FloatArray

Rows = Any  # dense (n, d) float64 array or CSR array/matrix

NEAR = 1e-4  # pairs closer than this, relative to their norms, are computed from differences
DIRECT_FEATURES = 4  # up to so many features, differences are as quick as the matrix product
BLOCK = 2**16  # entries of a matrix worked on at a time: 512 kB, so that temporaries stay in cache
PAIR_BLOCK = 2**20  # numbers held at a time by the differences of listed pairs
SERIES_TERMS = 200  # of the power series of a Bessel function, at most


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices of rows that hold about ``BLOCK`` entries each."""
    step = max(1, BLOCK // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def dot(U: Rows, V: Rows | None = None) -> FloatArray:
    """Return U V' as a dense array (U U' if V is None: exactly symmetric); n_u n_v d multiplications."""
    other = U if V is None else V
    product = U @ other.T
    dense: FloatArray = product.toarray() if is_sparse(product) else product
    return dense


def squared_norms(U: Rows) -> FloatArray:
    """Return the squared length of every row."""
    if is_sparse(U):
        return np.asarray(U.multiply(U).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", U, U))


def squared_distances(U: Rows, V: Rows | None = None) -> FloatArray:
    """Return the squared distances (n_u, n_v) between rows, exactly symmetric with a zero diagonal if V is None.

    Rows are scaled already, dense ones centred, so that norms are no larger than they need be.
    """
    other = U if V is None else V
    if not is_sparse(U) and U.shape[1] <= DIRECT_FEATURES:
        return np.asarray(cdist(U, other, metric="sqeuclidean"))
    D = dot(U, V)
    u = squared_norms(U)
    v = u if V is None else squared_norms(V)
    for rows in row_blocks(*D.shape):
        block = D[rows]
        # The sum u_i + v_j first: it is the same number for (i, j) and (j, i), so D stays exactly symmetric.
        norms = u[rows, np.newaxis] + v
        block *= -2.0
        block += norms
        norms *= NEAR
        near = np.flatnonzero(block <= norms)
        if near.size:
            i, j = np.divmod(near, D.shape[1])
            block[i, j] = _pair_distances(U, other, i + rows.start, j)
    return D


def contract_squared_differences(P: FloatArray, U: Rows, D: FloatArray, V: Rows | None = None) -> FloatArray:
    """Return ``sum_ij P_ij (u_il - v_jl)^2`` for every column l, (d,), without an n x m x d array.

    P (n, m) are weights, symmetric or not, and overwritten; D (n, m) the squared distances of the rows of U from those
    of V (of U, if V is None). With row sums r and column sums c of P the sum is ``r'u_l^2 + c'v_l^2 - 2 u_l'P v_l``:
    one product P V for all columns, n m d multiplications. Near pairs, for which this cancels, are summed from their
    differences.
    """
    n, m = P.shape
    near_sums = np.zeros(U.shape[1])
    if V is None:
        np.fill_diagonal(P, 0.0)  # its differences are zero; it need not be among the near pairs
    other = U if V is None else V
    u = squared_norms(U)
    v = u if V is None else squared_norms(V)
    for rows in row_blocks(n, m):
        block = P[rows]
        near = np.flatnonzero((D[rows] <= NEAR * (u[rows, np.newaxis] + v)) & (block != 0.0))
        if near.size:
            i, j = np.divmod(near, m)
            near_sums += _pair_contraction(block[i, j], U, other, i + rows.start, j)
            block[i, j] = 0.0
    if V is None:
        both = P.sum(axis=0)
        both += P.sum(axis=1)
        squares = _weighted_squares(both, U)
    else:
        squares = _weighted_squares(P.sum(axis=1), U) + _weighted_squares(P.sum(axis=0), V)
    PV = P @ other
    products = np.asarray(U.multiply(PV).sum(axis=0)).ravel() if is_sparse(U) else np.einsum("il,il->l", U, PV)
    return np.asarray(near_sums + (squares - 2.0 * products))


def _weighted_squares(weight: FloatArray, U: Rows) -> FloatArray:
    return np.asarray(np.asarray(U.multiply(U).T @ weight).ravel() if is_sparse(U) else weight @ np.square(U))


def _pairs(U: Rows, V: Rows, i: NDArray[np.intp], j: NDArray[np.intp]) -> Iterator[tuple[slice, Any]]:
    """Yield chunks of listed pairs with the differences of their rows."""
    step = max(1, PAIR_BLOCK // max(1, U.shape[1]))
    for start in range(0, i.size, step):
        chunk = slice(start, start + step)
        yield chunk, U[i[chunk]] - V[j[chunk]]


def _pair_distances(U: Rows, V: Rows, i: NDArray[np.intp], j: NDArray[np.intp]) -> FloatArray:
    """Return the squared distances of listed pairs from their differences."""
    out = np.empty(i.size)
    for chunk, difference in _pairs(U, V, i, j):
        out[chunk] = squared_norms(difference)
    return out


def _pair_contraction(
    weight: FloatArray, U: Rows, V: Rows, i: NDArray[np.intp], j: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return ``sum_k weight_k (u_(i_k) - v_(j_k))^2`` column by column for listed pairs."""
    out = np.zeros(U.shape[1])
    for chunk, difference in _pairs(U, V, i, j):
        squares = difference.multiply(difference) if is_sparse(difference) else np.square(difference)
        out += np.asarray(squares.T @ weight[chunk]).ravel()
    return out


# --- radial kernels -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Profile:
    """A radial kernel: ``value(kernel, D)`` and ``slope(kernel, D, K)``, elementwise, of new arrays."""

    value: Callable[[Any, FloatArray], FloatArray]
    slope: Callable[[Any, FloatArray, FloatArray], FloatArray]


def _rbf_value(kernel: Any, D: FloatArray) -> FloatArray:
    out = D * -0.5
    return np.exp(out, out=out)


def _matern(nu: float, t: FloatArray) -> FloatArray:
    # at t = sqrt(2 nu D)
    if nu not in (0.5, 1.5, 2.5):
        return bessel_matern(nu, t)
    out: FloatArray = np.exp(-t)
    if nu == 2.5:
        out *= 1.0 + t * (1.0 + t / 3.0)
    elif nu == 1.5:
        out *= 1.0 + t
    return out


def _matern_value(kernel: Any, D: FloatArray) -> FloatArray:
    nu = float(kernel.nu)
    return _rbf_value(kernel, D) if math.isinf(nu) else _matern(nu, np.sqrt(2.0 * nu * D))


def _matern_slope(kernel: Any, D: FloatArray, K: FloatArray) -> FloatArray:
    nu = float(kernel.nu)
    if math.isinf(nu):
        return K
    t = np.sqrt(2.0 * nu * D)
    # d/dt t^nu K_nu(t) = -t^nu K_(nu-1)(t); with t^2 = 2 nu D: slope = 2 nu c t^(nu-1) K_(nu-1)(t),
    # where c = 2^(1-nu) / Gamma(nu) makes the value 1 at zero.
    if nu > 1.0:
        return np.asarray(nu / (nu - 1.0) * _matern(nu - 1.0, t))
    # For nu <= 1 the slope has a pole at t = 0; it is only ever used times a squared difference that is zero there.
    out = np.zeros_like(t)
    inside = t > 0.0
    s = t[inside]
    if nu == 0.5:
        out[inside] = K[inside] / s
    else:
        constant = math.log(2.0 * nu) + (1.0 - nu) * math.log(2.0) - math.lgamma(nu)
        out[inside] = np.exp(constant + (nu - 1.0) * np.log(s) + np.log(scipy.special.kve(1.0 - nu, s)) - s)
    return out


def bessel_matern(nu: float, t: FloatArray) -> FloatArray:
    """Return ``2^(1-nu) / Gamma(nu) t^nu K_nu(t)``, which is 1 at t = 0.

    Logarithms keep large orders finite. Where the Bessel function itself overflows (small t against nu) the power
    series ``sum_k (t^2/4)^k / (k! (1-nu)_k)`` is used, whose other half, of order t^(2 nu), vanishes there.
    """
    out = np.ones_like(t)
    with np.errstate(over="ignore"):
        bessel = scipy.special.kve(nu, t)
    regular = np.isfinite(bessel) & (t > 0.0)
    s = t[regular]
    constant = (1.0 - nu) * math.log(2.0) - math.lgamma(nu)
    out[regular] = np.exp(constant + nu * np.log(s) + np.log(bessel[regular]) - s)
    rest = ~regular & (t > 0.0)
    if rest.any():
        x = np.square(t[rest]) / 4.0
        term = np.ones_like(x)
        total = np.ones_like(x)
        for k in range(1, min(SERIES_TERMS, math.ceil(nu))):
            term *= x / (k * (k - nu))
            total += term
            if float(np.abs(term).max()) < 1e-17:
                break
        out[rest] = total
    return out


def _rq_value(kernel: Any, D: FloatArray) -> FloatArray:
    # (1 + D / 2 alpha)^-alpha
    alpha = float(kernel.alpha)
    out = D / (2.0 * alpha)
    np.log1p(out, out=out)
    out *= -alpha
    return np.exp(out, out=out)


def rq_alpha_slope(alpha: float, D: FloatArray, K: FloatArray) -> FloatArray:
    """Return dK / dlog(alpha) of the rational quadratic, K alpha (q / (1 + q) - log(1 + q)) with q = D / (2 alpha)."""
    q = D / (2.0 * alpha)
    return np.asarray(K * (alpha * (q / (1.0 + q) - np.log1p(q))))


PROFILES: dict[type, Profile] = {
    RBF: Profile(_rbf_value, lambda kernel, D, K: K),
    Matern: Profile(_matern_value, _matern_slope),
    RationalQuadratic: Profile(_rq_value, lambda kernel, D, K: K / (1.0 + D / (2.0 * float(kernel.alpha)))),
}
