"""Likelihoods of who was preferred: a noisy difference against a threshold.

The noisy difference z + scale * e, with e from a symmetric distribution F, is compared with a threshold δ >= 0:

    P(first) = F((z - δ) / s),   P(second) = F((-z - δ) / s),   P(tie) = F((z + δ) / s) - F((z - δ) / s).

Without a threshold δ = 0 and there are no ties. In units of the scale, t = z / s and h = δ / s, two curves say
everything: the *side* log F(u) at u = ±t - h, and the *interval* log [F(t + h) - F(t - h)], even in t. A link
(`preflearn.likelihoods.probit`, `preflearn.likelihoods.logit`) supplies them; this module turns them into outcomes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from preflearn.exceptions import DataError, first_few
from preflearn.likelihoods._contract import Derivatives, FloatArray, Smoothed, Tilted, check_flag, check_positive
from preflearn.likelihoods._link_normal import Hill, Nodes, tilt

__all__ = ["Curve", "ThresholdLikelihood"]

# A free threshold stays between these multiples of the scale.
_TIE_BOUNDS = 1e-4, 1e2


class Curve(NamedTuple):
    """A log probability and its derivatives, in units of the scale.

    ``by_tie``, ``first_by_tie`` and ``second_by_tie`` are the derivatives of the first three in log h.
    """

    value: FloatArray
    first: FloatArray
    second: FloatArray
    third: FloatArray
    by_tie: FloatArray
    first_by_tie: FloatArray
    second_by_tie: FloatArray


@dataclass(frozen=True)
class ThresholdLikelihood(ABC):
    """Base of `Probit` and `Logit`: everything about outcomes and thresholds, nothing about the link.

    Subclasses supply six functions of arrays in units of the scale. In all of them ``h`` is the threshold, 0 where
    there is none.
    """

    log_concave: ClassVar[bool] = True
    margins: ClassVar[bool] = False

    scale: float = 1.0
    tie: float | None = None
    tie_fixed: bool = False

    def __post_init__(self) -> None:
        kind = type(self).__name__
        check_positive(kind, "scale", self.scale)
        if self.tie is not None:
            check_positive(kind, "tie", self.tie, ", or None for no ties")
        check_flag(kind, "tie_fixed", self.tie_fixed)

    @property
    @abstractmethod
    def noise_deviation(self) -> float:
        """Standard deviation of the noise on the difference."""

    @abstractmethod
    def _side(self, u: FloatArray, h: float) -> Curve:
        """Return log F(u) with u = t - h and its derivatives in t and log h."""

    @abstractmethod
    def _interval(self, t: FloatArray, h: float) -> Curve:
        """Return log [F(t + h) - F(t - h)] for t >= 0."""

    @abstractmethod
    def _side_hill(self, m: FloatArray, v: FloatArray, h: float) -> Hill:
        """Return the tilt of F(t - h) against t ~ N(m, v)."""

    @abstractmethod
    def _interval_hill(self, m: FloatArray, v: FloatArray, h: float) -> Hill:
        """Return the tilt of F(t + h) - F(t - h) against t ~ N(m, v), for m >= 0."""

    @abstractmethod
    def _side_nodes(self, u: FloatArray) -> Nodes:
        """Return log F(u) and its derivatives at many points; ``by_tie`` is not asked for."""

    @abstractmethod
    def _interval_nodes(self, t: FloatArray, h: float) -> Nodes:
        """Return log [F(t + h) - F(t - h)] and its derivatives at many points."""

    @property
    def _h(self) -> float:
        return 0.0 if self.tie is None else self.tie / self.scale

    @property
    def theta(self) -> FloatArray:
        """Logarithm of δ where the threshold is free, else empty."""
        return np.log([self.tie]) if self.tie is not None and not self.tie_fixed else np.empty(0)

    @property
    def bounds(self) -> FloatArray:
        """Bounds of ``theta``: the threshold lies between 1e-4 and 100 scales."""
        return np.log(np.multiply([_TIE_BOUNDS] * self.theta.shape[0], self.scale)).reshape(-1, 2)

    @property
    def names(self) -> tuple[str, ...]:
        """``("tie",)`` where the threshold is free, else empty."""
        return ("tie",) if self.theta.size else ()

    def with_theta(self, theta: ArrayLike) -> Self:
        """Return the same likelihood with the threshold exp(theta[0])."""
        given = np.asarray(theta, dtype=np.float64)
        if given.shape != self.theta.shape:
            raise ValueError(
                f"{type(self).__name__}: theta has shape {given.shape}; expected {self.theta.shape} for {self!r}."
            )
        return replace(self, tie=float(np.exp(given[0]))) if given.size else self

    def with_ties(self, tie: float) -> Self:
        """Return the same likelihood with this threshold for ties, if it has none."""
        return replace(self, tie=tie) if self.tie is None else self

    def check_outcomes(self, y: ArrayLike) -> None:
        """Raise DataError if there are ties and no threshold."""
        ties = np.flatnonzero(np.asarray(y) == 0)
        if self.tie is None and ties.size:
            kind = type(self).__name__
            raise DataError(
                f"{kind}: {ties.size} of {np.size(y)} comparisons are ties (rows {first_few(ties)}), which have "
                f"probability zero without a tie threshold.\n"
                f"  Use likelihood={kind}(tie=0.1) (PreferenceGP: or ties=True), or drop them."
            )

    def log_density(self, y: ArrayLike, z: ArrayLike) -> Derivatives:
        """Return log p(y | z) and its first three derivatives in z.

        Parameters
        ----------
        y, z : array-like of shape (m,)
            Outcomes, of which only the sign counts, and latent differences.

        Returns
        -------
        derivatives : Derivatives of arrays (m,)
        """
        curve, s = self._curve(y, z), self.scale
        return Derivatives(curve.value, curve.first / s, curve.second / s**2, curve.third / s**3)

    def log_density_theta(self, y: ArrayLike, z: ArrayLike) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """Return d/dlog δ of log p and of its first two derivatives in z, as a list over theta."""
        if not self.theta.size:
            return []
        curve, s = self._curve(y, z), self.scale
        return [(curve.by_tie, curve.first_by_tie / s, curve.second_by_tie / s**2)]

    def tilted(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None) -> Tilted:
        """Return log Z, Z = ∫ p(y | z)ᵃ N(z; mean, variance) dz, and mean and variance of the tilted distribution.

        Parameters
        ----------
        y, mean, variance : array-like of shape (m,)
        power : array-like of shape (m,), default=None
            The exponents a, 0 < a <= 1; None for 1. Powers below 1 are integrated numerically.

        Returns
        -------
        tilted : Tilted of arrays (m,)
        """
        d = self.smoothed(y, mean, variance, power)
        m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        return Tilted(d.log_z, m + v * d.first, v * d.rest)

    def smoothed(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None) -> Smoothed:
        """Return log Z and its first two derivatives in ``mean``; see `Smoothed` for what they are good for."""
        hill, s = self._hill(y, mean, variance, power), self.scale
        # Sums that make up the rest may round upwards; the tilt of a log-concave density never widens.
        return Smoothed(hill.log_z, hill.first / s, hill.second / s**2, np.minimum(hill.rest, 1.0))

    def tilted_theta(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None
    ) -> FloatArray:
        """Return d log Z / dlog δ, (m, 1), or (m, 0) where no threshold is free."""
        if not self.theta.size:
            return np.empty((np.size(mean), 0))
        return self._hill(y, mean, variance, power).by_tie[:, None]

    def probability(self, mean: ArrayLike, variance: ArrayLike) -> FloatArray:
        """Return P(first), P(tie), P(second) for z ~ N(mean, variance), (m, 3).

        All is computed from the size of ``mean`` and then put to its side: swapping the sides swaps the answers to the
        last bit.
        """
        m = np.abs(np.asarray(mean, dtype=np.float64)) / self.scale
        m, v = np.broadcast_arrays(m, np.asarray(variance, dtype=np.float64) / self.scale**2)
        h = self._h
        weaker = np.exp(self._side_hill(-m, v, h).log_z)
        if self.tie is None:
            weaker = np.where(m == 0.0, 0.5, np.minimum(weaker, 0.5))
            stronger, tie = 1.0 - weaker, np.zeros_like(weaker)
        else:
            stronger, tie = np.exp(self._side_hill(m, v, h).log_z), np.exp(self._interval_hill(m, v, h).log_z)
            total = weaker + stronger + tie  # 1 up to the rounding of three separate computations
            weaker, stronger, tie = weaker / total, stronger / total, tie / total
        up = np.asarray(mean) > 0
        return np.stack([np.where(up, stronger, weaker), tie, np.where(up, weaker, stronger)], axis=-1)

    def _curve(self, y: ArrayLike, z: ArrayLike) -> Curve:
        outcome, t = np.broadcast_arrays(np.asarray(y), np.asarray(z, dtype=np.float64) / self.scale)
        h, tied = self._h, self._tied(outcome)
        sign = np.where(outcome < 0, -1.0, 1.0)
        if not tied.any():
            return _odd(self._side(sign * t - h, h), sign)
        parts = np.empty((len(Curve._fields), *t.shape))
        flip = np.sign(t[tied])  # zero at zero, where odd derivatives vanish
        parts[:, tied] = _odd(self._interval(np.abs(t[tied]), h), flip)
        sided = ~tied
        parts[:, sided] = _odd(self._side(sign[sided] * t[sided] - h, h), sign[sided])
        return Curve(*parts)

    def _hill(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None) -> Hill:
        outcome, m, v, a = np.broadcast_arrays(
            np.asarray(y),
            np.asarray(mean, dtype=np.float64) / self.scale,
            np.asarray(variance, dtype=np.float64) / self.scale**2,
            np.asarray(1.0 if power is None else power, dtype=np.float64),
        )
        h, tied, broken = self._h, self._tied(outcome), a != 1.0
        sign = np.where(outcome < 0, -1.0, 1.0)
        if not tied.any() and not broken.any():
            return _mirrored(self._side_hill(sign * m, v, h), sign)
        sign = np.where(tied, np.sign(m), sign)  # an interval is even: zero at zero, where odd derivatives vanish
        parts = np.empty((len(Hill._fields), *m.shape))
        for rows, hill in (
            (~tied & ~broken, self._side_hill),
            (tied & ~broken, self._interval_hill),
            (~tied & broken, self._side_power),
            (tied & broken, self._interval_power),
        ):
            if rows.any():
                more = (a[rows],) if broken[rows].any() else ()
                parts[:, rows] = hill(np.where(tied, np.abs(m), sign * m)[rows], v[rows], h, *more)
        return _mirrored(Hill(*parts), sign)

    def _side_power(self, m: FloatArray, v: FloatArray, h: float, power: FloatArray) -> Hill:
        # Seen from the threshold, so that the bend of the link is at zero.
        hill = tilt(self._side_nodes, m - h, v, 0.0, power)
        return hill._replace(by_tie=-h * hill.first)

    def _interval_power(self, m: FloatArray, v: FloatArray, h: float, power: FloatArray) -> Hill:
        return tilt(lambda t: self._interval_nodes(t, h), m, v, h, power)

    def _tied(self, outcome: np.ndarray) -> np.ndarray:
        tied = np.asarray(outcome == 0)
        if self.tie is None and tied.any():
            self.check_outcomes(outcome)
        return tied


def _odd(curve: Curve, sign: FloatArray) -> Curve:
    # d/dz of a function of ±z: odd derivatives change their sign.
    return curve._replace(first=sign * curve.first, third=sign * curve.third, first_by_tie=sign * curve.first_by_tie)


def _mirrored(hill: Hill, sign: FloatArray) -> Hill:
    return hill._replace(first=sign * hill.first)
