"""Probit: normal noise on the difference, with or without ties."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx

from preflearn.likelihoods._contract import FloatArray
from preflearn.likelihoods._link_normal import Hill, Nodes
from preflearn.likelihoods._normal import NormalCurve, log_cdf, log_cdf_nodes, log_interval
from preflearn.likelihoods.ties import Curve, ThresholdLikelihood

__all__ = ["Probit"]

# The tail of a power is deep where all of N(u, v) that matters is below -_DEEP; it ends _AWAY deviations from its mean.
_DEEP, _AWAY = 30.0, 10.0
_TAIL_NODES = np.linspace(-_AWAY, _AWAY, 49)
_TAIL_WEIGHTS = np.exp(-0.5 * _TAIL_NODES**2) * (_TAIL_NODES[1] - _TAIL_NODES[0]) / math.sqrt(2.0 * math.pi)


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

    scale: float = math.sqrt(2.0)

    @property
    def noise_deviation(self) -> float:
        """Standard deviation of the noise on the difference."""
        return self.scale

    def _side(self, u: FloatArray, h: float) -> Curve:
        return Curve(*log_cdf(u, h)[:-1])

    def _interval(self, t: FloatArray, h: float) -> Curve:
        return Curve(*log_interval(t, h)[:-1])

    def _side_hill(self, m: FloatArray, v: FloatArray, h: float) -> Hill:
        width = np.sqrt(1.0 + v)
        return _hill(log_cdf((m - h) / width, h / width), v, width)

    def _interval_hill(self, m: FloatArray, v: FloatArray, h: float) -> Hill:
        width = np.sqrt(1.0 + v)
        return _hill(log_interval(m / width, h / width), v, width)

    def _side_power(self, m: FloatArray, v: FloatArray, h: float, power: FloatArray) -> Hill:
        hill = super()._side_power(m, v, h, power)
        return _with_tail(hill, m - h, v, power, sign=1.0, by_tie=-h)

    def _interval_power(self, m: FloatArray, v: FloatArray, h: float, power: FloatArray) -> Hill:
        hill = super()._interval_power(m, v, h, power)
        # Far out only the nearer end of the interval matters: Φ(h - t).
        alone = (m - _AWAY * np.sqrt(v / (1.0 + power * v))) * h > 30.0 * (1.0 + power * v)
        return _with_tail(hill, np.where(alone, h - m, 0.0), v, power, sign=-1.0, by_tie=h)

    def _side_nodes(self, u: FloatArray) -> Nodes:
        value, first, second = log_cdf_nodes(u)
        return Nodes(value, np.ones_like(u), first, second, first)

    def _interval_nodes(self, t: FloatArray, h: float) -> Nodes:
        g = log_interval(np.abs(t), h)
        return Nodes(g.value, np.ones_like(t), np.sign(t) * g.first, g.second, g.by_tie)


def _hill(curve: NormalCurve, v: FloatArray, width: FloatArray) -> Hill:
    # log Z is the curve at m / width. The tilted variance over v, 1 + v (log Z)'', is, with r = v / (1 + v),
    # (1 - r) + r (1 + curve''): a sum of positive terms.
    inner = 1.0 / (1.0 + v)
    return Hill(
        curve.value, curve.first / width, curve.second * inner, curve.by_tie, inner + (v * inner) * curve.spread
    )


def _with_tail(hill: Hill, u: FloatArray, v: FloatArray, a: FloatArray, *, sign: float, by_tie: float) -> Hill:
    # Φ(u)ᵃ = exp(-a u²/2) H(u)ᵃ, and deep in the tail H is nearly constant. The normal part is put into N(u, v), which
    # becomes N(r u, r v), r = 1 / (1 + av): what is left to integrate has no large exponents that would cancel.
    r = 1.0 / (1.0 + a * v)
    deep = np.flatnonzero(r * u < -_DEEP - _AWAY * np.sqrt(r * v))
    if not deep.size:
        return hill
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
    parts = np.stack(hill)
    parts[:, deep] = np.stack([log_z, sign * first, r * r * bend - a * r, by_tie * first, rest])
    return Hill(*parts)
