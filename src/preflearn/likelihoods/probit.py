"""The probit, normal noise on the difference, and the curves of the normal distribution, accurate into both tails.

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
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from preflearn.likelihoods._contract import FloatArray
from preflearn.likelihoods.threshold import Curve, Integral, Nodes, ThresholdLikelihood

__all__ = ["Probit"]

# The tail of a power is deep where all of N(u, v) that matters is below -_DEEP; it ends _AWAY deviations from its mean.
_DEEP, _AWAY = 30.0, 10.0
_TAIL_NODES = np.linspace(-_AWAY, _AWAY, 49)
_TAIL_WEIGHTS = np.exp(-0.5 * _TAIL_NODES**2) * (_TAIL_NODES[1] - _TAIL_NODES[0]) / math.sqrt(2.0 * math.pi)
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


@dataclass(frozen=True)
class Probit(ThresholdLikelihood):
    """Outcome of a comparison under normal noise: P(first) = Φ(z / scale).

    Parameters
    ----------
    scale : float, default=sqrt(2)
        Standard deviation of the noise on the difference. sqrt(2) is unit noise on each of the two items, 1 is unit
        noise on their difference.
    tie : float, default=None
        Threshold δ > 0 below which a noisy difference is a tie; None for no ties.
    tie_fixed : bool, default=False
        Keep the threshold as given instead of learning it: ``theta`` is then empty.

    Notes
    -----
    ``P(first) = Φ((z - δ) / scale)``, ``P(second) = Φ((-z - δ) / scale)``, and a tie takes the rest. Smoothing by
    N(mean, variance) only widens the noise, scale² + variance in place of scale², so tilted moments and predictive
    probabilities (eq. 19 of Chu and Ghahramani) are in closed form. Cost O(m); ties cost about 50 exponentials each.
    Powers of it, which EP asks for where a comparison weighs less than 1, are integrated numerically.

    Differences from the paper: σ is fixed and the scale of the utilities lives in the kernel, whose variance in the
    paper is 1; the paper's σ is this one divided by the kernel's standard deviation. Ties are an addition.

    References
    ----------
    W. Chu and Z. Ghahramani, Preference learning with Gaussian processes, ICML 2005, equations 5 to 7.

    Examples
    --------
    >>> from preflearn.likelihoods import Probit
    >>> likelihood = Probit(tie=0.5)
    >>> likelihood.log_density([1, 0, -1], [1.0, 0.0, 1.0]).value.round(4).tolist()
    [-0.4492, -1.2862, -1.935]
    >>> likelihood.probability([1.0], [2.0]).round(4).tolist()
    [[0.5987, 0.1747, 0.2266]]
    """

    _SETTLED: ClassVar[float] = 10.0  # Φ(-10) = 8e-24

    scale: float = math.sqrt(2.0)

    @property
    def noise_deviation(self) -> float:
        """Standard deviation of the noise on the difference."""
        return self.scale

    def _side(self, u: FloatArray, h: float) -> Curve:
        return Curve(*log_cdf(u, h)[:-1])

    def _interval(self, t: FloatArray, h: float) -> Curve:
        return Curve(*log_interval(t, h)[:-1])

    def _side_integral(self, m: FloatArray, v: FloatArray, h: float, power: FloatArray | None = None) -> Integral:
        if power is None:
            width = np.sqrt(1.0 + v)
            return _widened(log_cdf((m - h) / width, h / width), v, width)
        return _with_tail(super()._side_integral(m, v, h, power), m - h, v, power, sign=1.0, by_tie=-h)

    def _interval_integral(self, m: FloatArray, v: FloatArray, h: float, power: FloatArray | None = None) -> Integral:
        if power is None:
            width = np.sqrt(1.0 + v)
            return _widened(log_interval(m / width, h / width), v, width)
        # Far out only the nearer end of the interval matters: Φ(h - t).
        alone = (m - _AWAY * np.sqrt(v / (1.0 + power * v))) * h > 30.0 * (1.0 + power * v)
        nearer = np.where(alone, h - m, 0.0)
        return _with_tail(super()._interval_integral(m, v, h, power), nearer, v, power, sign=-1.0, by_tie=h)

    def _side_nodes(self, u: FloatArray) -> Nodes:
        hazard, c, *_ = _hazard(u, _NODES_TAIL, _NODES_TERMS)
        return Nodes(log_ndtr(u), np.ones_like(u), hazard, -hazard * c, hazard)

    def _interval_nodes(self, t: FloatArray, h: float) -> Nodes:
        g = log_interval(np.abs(t), h)
        return Nodes(g.value, np.ones_like(t), np.sign(t) * g.first, g.second, g.by_tie)


def _widened(curve: NormalCurve, v: FloatArray, width: FloatArray) -> Integral:
    # log Z is the curve at m / width. The tilted variance over v, 1 + v (log Z)'', is, with r = v / (1 + v),
    # (1 - r) + r (1 + curve''): a sum of positive terms.
    inner = 1.0 / (1.0 + v)
    return Integral(
        curve.value, curve.first / width, curve.second * inner, curve.by_tie, inner + (v * inner) * curve.spread
    )


def _with_tail(
    integral: Integral, u: FloatArray, v: FloatArray, a: FloatArray, *, sign: float, by_tie: float
) -> Integral:
    # Φ(u)ᵃ = exp(-a u²/2) H(u)ᵃ, and deep in the tail H is nearly constant. The normal part is put into N(u, v), which
    # becomes N(r u, r v), r = 1 / (1 + av): what is left to integrate has no large exponents that would cancel.
    r = 1.0 / (1.0 + a * v)
    deep = np.flatnonzero(r * u < -_DEEP - _AWAY * np.sqrt(r * v))
    if not deep.size:
        return integral
    u, v, a, r = u[deep], v[deep], a[deep], r[deep]
    t = (r * u)[:, None] + np.sqrt(r * v)[:, None] * _TAIL_NODES
    core = a[:, None] * np.log(0.5 * erfcx(t / -math.sqrt(2.0)))
    g = log_cdf(t)
    slope = a[:, None] * -g.second / g.first  # u + hazard, without cancellation
    w = np.exp(core - core[:, :1]) * _TAIL_WEIGHTS
    mass = w.sum(axis=1)
    w /= mass[:, None]
    mean = (w * slope).sum(axis=1)
    bend = (w * (a[:, None] * g.spread + np.square(slope - mean[:, None]))).sum(axis=1)
    first = r * mean - a * r * u
    rest = r + v * r * r * bend
    log_z = core[:, 0] + np.log(mass) + 0.5 * np.log(r) - 0.5 * a * r * u * u
    parts = np.stack(integral)
    parts[:, deep] = np.stack([log_z, sign * first, r * r * bend - a * r, by_tie * first, rest])
    return Integral(*parts)


# --- curves of the normal distribution ------------------------------------------------------------------------------


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
    hazard, c, tail, d, e = _hazard(u, _TAIL, _TERMS)
    second = -hazard * c
    third = hazard * (c * (u + 2.0 * hazard) - 1.0)
    spread = 1.0 + second
    third[tail] = hazard[tail] * c[tail] ** 2 * d * (e - d)
    spread[tail] = c[tail] * (d - c[tail])
    return NormalCurve(log_ndtr(u), hazard, second, third, -h * hazard, -h * second, -h * third, spread)


def _hazard(u: FloatArray, below: float, terms: int) -> tuple[Any, ...]:
    """Return λ = φ/Φ and c = u + λ, and where u is ``below`` a point and they come from d and e, with these."""
    # φ/Φ from erfcx below zero, from Φ itself above, where erfcx would overflow.
    hazard = np.asarray(math.sqrt(2.0 / math.pi) / erfcx(np.minimum(u, 0.0) / -math.sqrt(2.0)))
    above, tail = u > 0.0, u < below
    x = u[above]
    hazard[above] = np.exp(-0.5 * x * x) / (_ROOT_2PI * ndtr(x))
    c = np.asarray(u + hazard)
    x = -u[tail]
    if not x.size:
        return hazard, c, tail, x, x
    r = 0.5 * (x + np.sqrt(x * x + 4.0 * terms))
    for k in range(terms, 3, -1):
        r = x + k / r
    e = 3.0 / r
    d = 2.0 / (x + e)
    c[tail] = 1.0 / (x + d)
    hazard[tail] = x + c[tail]
    return hazard, c, tail, d, e


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
