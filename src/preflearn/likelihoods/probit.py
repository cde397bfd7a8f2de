"""Probit: normal noise on the difference, with or without ties."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from preflearn.likelihoods._contract import FloatArray
from preflearn.likelihoods._normal import NormalCurve, log_cdf, log_interval
from preflearn.likelihoods.ties import Curve, Hill, ThresholdLikelihood

__all__ = ["Probit"]


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
        return _hill(log_cdf((m - h) / width, h / width), m, v, width)

    def _interval_hill(self, m: FloatArray, v: FloatArray, h: float) -> Hill:
        width = np.sqrt(1.0 + v)
        return _hill(log_interval(m / width, h / width), m, v, width)


def _hill(curve: NormalCurve, m: FloatArray, v: FloatArray, width: FloatArray) -> Hill:
    # log Z is the curve at m / width. The tilted variance v + v² (log Z)'' is, with r = v / (1 + v),
    # v ((1 - r) + r (1 + curve'')): a sum of positive terms.
    first = curve.first / width
    inner = 1.0 / (1.0 + v)
    return Hill(
        curve.value,
        first,
        curve.second * inner,
        curve.by_tie,
        m + v * first,
        v * (inner + (v * inner) * curve.spread),
    )
