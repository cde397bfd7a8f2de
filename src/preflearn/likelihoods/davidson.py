"""Davidson's ties: three outcomes in proportion to exp(t/2), exp(-t/2) and ν, t = z / scale.

With the probabilities w of the better item, r of the other and τ of a tie, all from s = exp(-|t|/2),

    w = 1 / q,   r = s² / q,   τ = ν s / q,   q = 1 + ν s + s²,

and log D = |t|/2 + log q of the denominator D, the derivatives for t >= 0 are sums of few terms, none of which cancels
but where a derivative changes its sign:

    (log D)'   =  (w - r) / 2                                        d/dlog ν:  τ
    (log D)''  =  r w + τ (w + r) / 4                                          -τ (w - r) / 2
    (log D)''' = -(w - r) (r w + τ (w + r) / 8 - τ² / 8)                       -τ (2 r w + τ (w + r) / 4 - (w + r)² / 4)

(on the right those of the function, its first and its second derivative). Every log p is linear in t less log D, and
log D is the logarithm of a sum of exponentials of linear functions, ν = exp(log ν) among them, hence convex: densities
are log-concave for every ν > 0.

D vanishes at 2πi ± 2 arccosh(ν/2) if ν > 2, and else between πi and 2πi: the curves bend at ±2 arccosh(ν/2), or at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preflearn.likelihoods._contract import Bend, FloatArray
from preflearn.likelihoods.threshold import Curve, ThresholdLikelihood, check_flag, check_positive
from preflearn.likelihoods.tilting import Integral, Nodes, tilt

# Of a free ν: between 0.005 % and 99.98 % of comparisons of equals are ties.
_BOUNDS = 1e-4, 1e4


class _Three(NamedTuple):
    """exp(-|t|/2) and the probabilities that the better item wins, that it loses, and of a tie."""

    small: FloatArray
    wins: FloatArray
    loses: FloatArray
    tie: FloatArray


@dataclass(frozen=True)
class Davidson(ThresholdLikelihood):
    """Outcome of a comparison with ties in proportion to the geometric mean of both sides (Davidson).

    Parameters
    ----------
    scale : float, default=1.0
        Scale of differences: without the ties, P(first) = 1 / (1 + exp(-z / scale)).
    tie : float, default=1.0
        Weight ν > 0 of a tie, a number without unit: between equals P(tie) = ν / (2 + ν).
    tie_fixed : bool, default=False
        Keep ν as given instead of learning it: ``theta`` is then empty.

    Notes
    -----
    With t = z / scale, ``P(first) = exp(t/2) / D``, ``P(second) = exp(-t/2) / D`` and ``P(tie) = ν / D``, where
    D = exp(t/2) + exp(-t/2) + ν. So P(tie)² = ν² P(first) P(second), and outcomes other than ties follow `Logit`,
    whatever ν is. Far apart, ties fall as exp(-t/2) here, and as exp(-t) with the threshold of ``Logit(tie=...)``.

    Log-concave for every ν. Derivatives are in closed form, O(m). Tilted moments and predictive probabilities are
    integrals by the rule that `Logit` uses, at the same cost. ``noise_deviation`` is that of the logit which decides
    where there is no tie. There is no Davidson without ties: that is `Logit`.

    Differences from the paper: differences are latent, with a prior, where Davidson maximises the likelihood of worths
    exp(f / scale).

    References
    ----------
    R. Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison experiments, JASA 65,
    1970.

    Examples
    --------
    >>> from preflearn.likelihoods import Davidson
    >>> Davidson(tie=2.0).probability([0.0], [0.0]).tolist()
    [[0.25, 0.5, 0.25]]
    >>> Davidson().log_density([1, 0, -1], [2.0, 2.0, 2.0]).value.round(4).tolist()
    [-0.4076, -1.4076, -2.4076]
    """

    tie: float = 1.0

    def __post_init__(self) -> None:
        check_positive("Davidson", "scale", self.scale)
        check_positive("Davidson", "tie", self.tie, "; for no ties use Logit()")
        check_flag("Davidson", "tie_fixed", self.tie_fixed)

    @property
    def noise_deviation(self) -> float:
        """Standard deviation of the noise that decides where there is no tie, the logit's."""
        return self.scale * math.pi / math.sqrt(3.0)

    @property
    def bend(self) -> Bend:
        """Where D is smallest in the complex plane, not at ν; ties fall as exp(-t/2), twice as far as with `Logit`."""
        place = self._bend * self.scale
        return Bend(place, self.scale, place + 2.0 * self._SETTLED * self.scale)

    @property
    def _free(self) -> dict[str, tuple[float, float]]:
        return {} if self.tie_fixed else {"tie": _BOUNDS}

    @property
    def _h(self) -> float:
        return 0.0  # outcomes are shifted by no threshold

    @property
    def _bend(self) -> float:
        return 2.0 * math.acosh(0.5 * self.tie) if self.tie > 2.0 else 0.0

    def _side(self, u: FloatArray, h: float) -> Curve:
        three = self._three(u)
        return self._curve_of(u, three, np.minimum(u, 0.0) - self._log_q(three.small), _lost(u, three), -three.tie)

    def _interval(self, t: FloatArray, h: float) -> Curve:
        three = self._three(t)
        weight = self.tie * three.small
        # From the larger part of q, which is the tie's where ties are likely.
        sides = np.log1p((1.0 + np.square(three.small)) / np.maximum(weight, 1.0))
        rare = math.log(self.tie) - 0.5 * np.abs(t) - self._log_q(three.small)
        value, slope = np.where(weight > 1.0, -sides, rare), -0.5 * _lead(t, three)
        return self._curve_of(t, three, value, slope, three.wins + three.loses)

    def _side_integral(self, m: FloatArray, v: FloatArray, h: float, power: FloatArray | None = None) -> Integral:
        return tilt(self._side_nodes, m, v, self._bend, power)

    def _interval_integral(self, m: FloatArray, v: FloatArray, h: float, power: FloatArray | None = None) -> Integral:
        return tilt(lambda t: self._interval_nodes(t, h), m, v, self._bend, power)

    def _side_nodes(self, u: FloatArray) -> Nodes:
        three = self._three(u)
        return Nodes(np.minimum(u, 0.0), three.wins, _lost(u, three), -_bent(three), -three.tie)

    def _interval_nodes(self, t: FloatArray, h: float) -> Nodes:
        three = self._three(t)
        exponent, either = math.log(self.tie) - 0.5 * np.abs(t), three.wins + three.loses
        return Nodes(exponent, three.wins, -0.5 * _lead(t, three), -_bent(three), either)

    def _three(self, t: FloatArray) -> _Three:
        small = np.exp(-0.5 * np.abs(t))
        wins = 1.0 / (1.0 + small * (small + self.tie))
        return _Three(small, wins, small * small * wins, self.tie * small * wins)

    def _log_q(self, small: FloatArray) -> FloatArray:
        return np.log1p(small * (small + self.tie))

    def _curve_of(
        self, t: FloatArray, three: _Three, value: FloatArray, first: FloatArray, by_tie: FloatArray
    ) -> Curve:
        # Outcomes share all but their first two: beyond these only log D is left.
        lead, either, both = _lead(t, three), three.wins + three.loses, three.wins * three.loses
        third = lead * (both + 0.125 * three.tie * (either - three.tie))
        second_by_tie = three.tie * (2.0 * both + 0.25 * either * (three.tie - either))
        return Curve(value, first, -_bent(three), third, by_tie, 0.5 * three.tie * lead, second_by_tie)


def _lead(t: FloatArray, three: _Three) -> FloatArray:
    # P(first) - P(second)
    return np.copysign(np.expm1(-np.abs(t)) * three.wins, t)


def _lost(t: FloatArray, three: _Three) -> FloatArray:
    # d log P(first) / dt = P(second) + P(tie) / 2
    return np.where(t > 0.0, three.loses, three.wins) + 0.5 * three.tie


def _bent(three: _Three) -> FloatArray:
    # (log D)'', the same for all outcomes
    return three.wins * three.loses + 0.25 * three.tie * (three.wins + three.loses)
