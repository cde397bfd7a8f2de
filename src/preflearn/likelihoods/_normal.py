"""log Φ and log [Φ(t + h) - Φ(t - h)] with their derivatives, accurate into both tails.

**One side.** With g(u) = log Φ(u) and the hazard λ = φ(u) / Φ(u),

    g' = λ,   g'' = -λ (u + λ),   g''' = λ ((u + λ)(u + 2λ) - 1).

In the lower tail λ is close to -u and these differences cancel. There Laplace's continued fraction is used; for x = -u

    λ = x + c,   c = 1 / (x + d),   d = 2 / (x + e),   e = 3 / (x + 4 / (x + ...)),

so that u + λ = c, 1 + g'' = c (d - c) and g''' = λ c² d (e - d), with all digits.

**An interval.** With v uniform on (-h, h) reweighted by exp(-tv - v²/2), G(t) = log [Φ(t + h) - Φ(t - h)] has

    G' = -t - E[v],   G'' = Var[v] - 1,   G''' = -κ₃[v],
    dG/dlog h = 1 - E[q],   dG'/dlog h = Cov[q, v] - E[v],   dG''/dlog h = 2 Var[v] - κ₃[q, v, v],   q = tv + v².

These are computed by Gauss-Legendre quadrature where the interval is short or lies in the tail, by their closed forms
in φ(t ± h) where it is wide and holds most of the mass, and by the one-sided curve where its far end is negligible.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from preflearn.likelihoods._contract import FloatArray

__all__ = ["NormalCurve", "log_cdf", "log_cdf_nodes", "log_interval"]

_ROOT_2PI = math.sqrt(2.0 * math.pi)
# Below this point the continued fraction replaces the closed forms; 50 terms of it are exact to rounding there.
_TAIL, _TERMS = -3.5, 50
# The same where the third derivative is not asked for and speed is.
_NODES_TAIL, _NODES_TERMS = -8.0, 12
# An interval is short up to this half-width, and its far end is negligible beyond 2th of _FAR (exp(-60) = 9e-27).
_SHORT, _FAR = 2.0, 60.0
# The integrand spans at most exp(±30) over the interval; 48 nodes integrate it to rounding.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_BLOCK = 4096


class NormalCurve(NamedTuple):
    """Value, three derivatives in t, derivatives of the first three in log h, and 1 + second without cancellation."""

    value: FloatArray
    first: FloatArray
    second: FloatArray
    third: FloatArray
    by_tie: FloatArray
    first_by_tie: FloatArray
    second_by_tie: FloatArray
    spread: FloatArray


def log_cdf(u: FloatArray, h: FloatArray | float = 0.0) -> NormalCurve:
    """Return log Φ(u), u = t - h, with its derivatives in t and in log h."""
    u = np.asarray(u, dtype=np.float64)
    tail = u < _TAIL
    # φ/Φ from erfcx below zero, from Φ itself above, where erfcx would overflow.
    below, above = np.minimum(u, 0.0), np.maximum(u, 0.0)
    hazard = np.where(
        u < 0.0,
        math.sqrt(2.0 / math.pi) / erfcx(below / -math.sqrt(2.0)),
        np.exp(-0.5 * above * above) / (_ROOT_2PI * ndtr(above)),
    )
    c = u + hazard
    second = -hazard * c
    third = hazard * (c * (u + 2.0 * hazard) - 1.0)
    spread = 1.0 + second
    if tail.any():
        x = -u[tail]
        r = 0.5 * (x + np.sqrt(x * x + 4.0 * _TERMS))
        for k in range(_TERMS, 3, -1):
            r = x + k / r
        e = 3.0 / r
        d = 2.0 / (x + e)
        c = 1.0 / (x + d)
        hazard[tail] = x + c
        second[tail] = -(x + c) * c
        third[tail] = (x + c) * c * c * d * (e - d)
        spread[tail] = c * (d - c)
    return NormalCurve(log_ndtr(u), hazard, second, third, -h * hazard, -h * second, -h * third, spread)


def log_cdf_nodes(u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log Φ(u) and its first two derivatives at many points, to 1e-13."""
    hazard = math.sqrt(2.0 / math.pi) / erfcx(np.minimum(u, 0.0) / -math.sqrt(2.0))
    above = np.flatnonzero(u > 0.0)
    flat, x = hazard.ravel(), u.ravel()
    flat[above] = np.exp(-0.5 * np.square(x[above])) / (_ROOT_2PI * ndtr(x[above]))
    c = u + hazard
    tail = np.flatnonzero(u < _NODES_TAIL)
    if tail.size:
        x = -x[tail]
        r = 0.5 * (x + np.sqrt(x * x + 4.0 * _NODES_TERMS))
        for k in range(_NODES_TERMS, 1, -1):
            r = x + k / r
        c.ravel()[tail] = 1.0 / r
        flat[tail] = x + 1.0 / r
    return log_ndtr(u), hazard, -hazard * c


def log_interval(t: FloatArray, h: FloatArray | float) -> NormalCurve:
    """Return log [Φ(t + h) - Φ(t - h)] for t >= 0 and h > 0, with its derivatives in t and in log h."""
    t, h = np.broadcast_arrays(np.asarray(t, dtype=np.float64), np.asarray(h, dtype=np.float64))
    far = (2.0 * t * h > _FAR) & (t > h)
    wide = ~far & (h > _SHORT) & (t <= h)
    short = ~(far | wide)
    parts = np.empty((len(NormalCurve._fields), *t.shape))
    parts[:, far] = _far(t[far], h[far])
    parts[:, wide] = _wide(t[wide], h[wide])
    ts, hs = t[short], h[short]
    blocks = [_short(ts[i : i + _BLOCK], hs[i : i + _BLOCK]) for i in range(0, ts.size, _BLOCK)]
    if blocks:
        parts[:, short] = np.concatenate(blocks, axis=1)
    return NormalCurve(*parts)


def _far(t: FloatArray, h: FloatArray) -> NormalCurve:
    # Φ(t + h) - Φ(t - h) = Φ(h - t) - Φ(-h - t), and the last is negligible.
    g = log_cdf(h - t)
    return g._replace(
        first=-g.first, third=-g.third, by_tie=h * g.first, first_by_tie=-h * g.second, second_by_tie=h * g.third
    )


def _wide(t: FloatArray, h: FloatArray) -> NormalCurve:
    # With a = t - h <= 0 < b = t + h, D = Φ(b) - Φ(a), p = φ(a)/D and φ(b) = φ(a) exp(-2th) all differences below
    # that vanish with t are written through expm1.
    a, b = t - h, t + h
    outside = ndtr(a) + ndtr(-b)
    p = np.exp(-0.5 * a * a) / (_ROOT_2PI * (1.0 - outside))
    drop = np.expm1(-2.0 * t * h)
    q = p * (1.0 + drop)
    first = p * drop
    slope = a * p - b * q
    second = slope - first * first
    bend = p * ((b * b - 1.0) * drop + 4.0 * t * h)
    third = bend - 3.0 * first * slope + 2.0 * first**3
    # S = (φ(a) + φ(b)) / D is dG/dh; n1 and n2 are the derivatives of its numerator over D.
    S = p + q
    n1 = -p * (b * drop + 2.0 * t)
    n2 = (b * b - 1.0) * q + (a * a - 1.0) * p
    s1 = n1 - S * first
    s2 = n2 - n1 * first - s1 * first - S * second
    return NormalCurve(np.log1p(-outside), first, second, third, h * S, h * s1, h * s2, 1.0 + second)


def _short(t: FloatArray, h: FloatArray) -> FloatArray:
    v = h[:, None] * _NODES
    peak = (t * h)[:, None]
    w = _WEIGHTS * np.exp(-t[:, None] * v - 0.5 * v * v - peak)
    mass = w.sum(axis=1)
    w /= mass[:, None]
    value = np.log(h * mass / _ROOT_2PI) + t * h - 0.5 * t * t
    mean = (w * v).sum(axis=1)
    q = t[:, None] * v + v * v
    mean_q = (w * q).sum(axis=1)
    v -= mean[:, None]
    q -= mean_q[:, None]
    w *= v
    covariance = (w * q).sum(axis=1)
    w *= v
    variance, mixed = w.sum(axis=1), (w * q).sum(axis=1)
    skew = (w * v).sum(axis=1)
    by_tie = (1.0 - mean_q, covariance - mean, 2.0 * variance - mixed)
    return np.stack([value, -t - mean, variance - 1.0, -skew, *by_tie, variance])
