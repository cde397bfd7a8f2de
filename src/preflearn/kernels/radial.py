"""Radial kernels as functions of the scaled squared distance.

A radial kernel is ``K_ij = value(D_ij)`` with ``D_ij = sum_l (x_il - x_jl)^2 / l_l^2``. Its derivative by the
logarithm of a length scale is ``slope(D_ij) (x_il - x_jl)^2 / l_l^2`` with ``slope = -2 dvalue/dD``, for all l.
So a kernel is two functions of an array, and isotropic and ARD versions share them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

__all__ = ["PROFILES", "Profile"]

FloatArray = NDArray[np.float64]

SERIES_TERMS = 200


@dataclass(frozen=True)
class Profile:
    """A radial kernel: ``value(kernel, D)`` and ``slope(kernel, D, K)``, elementwise, of new arrays."""

    value: Callable[[Any, FloatArray], FloatArray]
    slope: Callable[[Any, FloatArray, FloatArray], FloatArray]
    costly: Callable[[Any], bool] = lambda kernel: False


def _rbf_value(kernel: Any, D: FloatArray) -> FloatArray:
    out = D * -0.5
    return np.exp(out, out=out)


def _rbf_slope(kernel: Any, D: FloatArray, K: FloatArray) -> FloatArray:
    return K


def _matern_value(kernel: Any, D: FloatArray) -> FloatArray:
    nu = float(kernel.nu)
    if math.isinf(nu):
        return _rbf_value(kernel, D)
    t = np.sqrt(2.0 * nu * D)
    if _needs_bessel(kernel):
        return bessel_matern(nu, t)
    out = np.negative(t)
    np.exp(out, out=out)
    if nu == 2.5:  # 1 + t + t^2 / 3
        factor = t / 3.0
        factor += 1.0
        t *= factor
    if nu > 0.5:
        t += 1.0
        out *= t
    return out


def _matern_slope(kernel: Any, D: FloatArray, K: FloatArray) -> FloatArray:
    nu = float(kernel.nu)
    if math.isinf(nu):
        return K
    t = np.sqrt(2.0 * nu * D)
    if nu == 1.5:
        return np.asarray(3.0 * np.exp(-t))
    if nu == 2.5:
        return np.asarray(5.0 / 3.0 * (1.0 + t) * np.exp(-t))
    # d/dt t^nu K_nu(t) = -t^nu K_(nu-1)(t); with t^2 = 2 nu D: slope = 2 nu c t^(nu-1) K_(nu-1)(t),
    # where c = 2^(1-nu) / Gamma(nu) makes the value 1 at zero.
    if nu > 1.0:
        return np.asarray(nu / (nu - 1.0) * bessel_matern(nu - 1.0, t))
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

    Examples
    --------
    >>> import numpy as np
    >>> t = np.array([0.0, 1.0])
    >>> bool(np.allclose(bessel_matern(1.5, t), (1 + t) * np.exp(-t)))
    True
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


def _rq_slope(kernel: Any, D: FloatArray, K: FloatArray) -> FloatArray:
    return np.asarray(K / (1.0 + D / (2.0 * float(kernel.alpha))))


def rq_alpha_slope(alpha: float, D: FloatArray, K: FloatArray) -> FloatArray:
    """Return dK / dlog(alpha) of the rational quadratic kernel.

    With q = D / (2 alpha) it is ``K alpha (q / (1 + q) - log(1 + q))``.

    Examples
    --------
    >>> import numpy as np
    >>> rq_alpha_slope(1.0, np.array([0.0]), np.array([1.0]))
    array([0.])
    """
    q = D / (2.0 * alpha)
    return np.asarray(K * (alpha * (q / (1.0 + q) - np.log1p(q))))


def _needs_bessel(kernel: Any) -> bool:
    return kernel.nu not in (0.5, 1.5, 2.5, np.inf)


PROFILES: dict[type, Profile] = {
    RBF: Profile(_rbf_value, _rbf_slope),
    Matern: Profile(_matern_value, _matern_slope, costly=_needs_bessel),
    RationalQuadratic: Profile(_rq_value, _rq_slope),
}
