"""Likelihoods of who was preferred: a noisy difference against a threshold; the probit is the first of them.

The noisy difference z + scale * e, with e from a symmetric distribution F, is compared with a threshold δ >= 0:

    P(first) = F((z - δ) / s),   P(second) = F((-z - δ) / s),   P(tie) = F((z + δ) / s) - F((z - δ) / s).

Without a threshold δ = 0 and there are no ties. In units of the scale, t = z / s and h = δ / s, two curves say
everything: the *side* log F(u) at u = ±t - h, and the *interval* log [F(t + h) - F(t - h)], even in t. A link supplies
them (`Probit`, `Logit`, `Davidson`); `ThresholdLikelihood` turns them into outcomes. Integrals that have no closed form
are those of `preflearn.likelihoods.tilting`.

The curves of the probit, normal noise on the difference, are accurate into both tails.

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

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, log_ndtr, ndtr

from preflearn.exceptions import DataError, first_few
from preflearn.likelihoods._contract import Bend, Derivatives, FloatArray, Smoothed
from preflearn.likelihoods.tilting import Integral, Nodes, tilt


def is_number(value: Any) -> bool:
    """Say whether it is a real number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_positive(owner: str, name: str, value: Any, more: str = "") -> None:
    """Refuse what is not a positive finite number."""
    if not is_number(value) or not 0 < value < math.inf:
        raise ValueError(f"{owner}: {name} is {value!r}; it must be a positive finite number{more}.")


def check_flag(owner: str, name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{owner}: {name} is {value!r}; it must be True or False.")


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


class FreeParameters(ABC):
    """Base of likelihoods, frozen dataclasses, whose parameters are positive fields."""

    @property
    @abstractmethod
    def _free(self) -> dict[str, tuple[float, float]]:
        """The fields that are learned, with their bounds."""

    @property
    def theta(self) -> FloatArray:
        """Logarithms of the free parameters, (n_theta,)."""
        return np.log([getattr(self, name) for name in self._free])

    @property
    def bounds(self) -> FloatArray:
        """Bounds of ``theta``, (n_theta, 2)."""
        return np.log(list(self._free.values())).reshape(-1, 2)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        return tuple(self._free)

    def with_theta(self, theta: ArrayLike) -> Self:
        """Return the same likelihood with the parameters exp(theta)."""
        given, free = np.asarray(theta, dtype=np.float64), self._free
        if given.shape != (len(free),):
            raise ValueError(
                f"{type(self).__name__}: theta has shape {given.shape}; expected {(len(free),)} for {self!r}."
            )
        changed: Any = {name: float(np.exp(value)) for name, value in zip(free, given, strict=True)}
        return replace(self, **changed)  # type: ignore[type-var]

    def in_unit(self, square: float, *, start: bool) -> Self:
        """Return itself: outcomes have no unit."""
        return self


def to_sides(up: Any, stronger: FloatArray, tie: FloatArray, weaker: FloatArray) -> FloatArray:
    """Return P(first), P(tie), P(second), (m, 3), from those of the better item, first where ``up``, and the other."""
    return np.stack([np.where(up, stronger, weaker), tie, np.where(up, weaker, stronger)], axis=-1)


@dataclass(frozen=True)
class ThresholdLikelihood(FreeParameters):
    """Base of `Probit`, `Logit` and `Davidson`: everything about outcomes and thresholds, nothing about the link.

    Subclasses supply four functions of arrays in units of the scale, and integrals if they have closed forms. In all
    of them ``h`` is the threshold, 0 where there is none.
    """

    log_concave: ClassVar[bool] = True
    margins: ClassVar[bool] = False
    normal: ClassVar[bool] = False
    # Multiples of the scale beyond the threshold where F is 1 to 1e-20; of exponential tails exp(-50) = 2e-22.
    _SETTLED: ClassVar[float] = 50.0

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
    def _side_nodes(self, u: FloatArray) -> Nodes:
        """Return log F(u) and its derivatives at many points; ``by_tie`` is not asked for."""

    @abstractmethod
    def _interval_nodes(self, t: FloatArray, h: float) -> Nodes:
        """Return log [F(t + h) - F(t - h)] and its derivatives at many points."""

    def _side_integral(self, m: FloatArray, v: FloatArray, h: float, power: FloatArray | None = None) -> Integral:
        """Return the integral of F(t - h), or of powers of it, against t ~ N(m, v)."""
        # Seen from the threshold, so that the bend of the link is at zero.
        integral = tilt(self._side_nodes, m - h, v, 0.0, power)
        return integral._replace(by_tie=-h * integral.first)

    def _interval_integral(self, m: FloatArray, v: FloatArray, h: float, power: FloatArray | None = None) -> Integral:
        """Return the integral of F(t + h) - F(t - h), or of powers of it, against t ~ N(m, v), for m >= 0."""
        return tilt(lambda t: self._interval_nodes(t, h), m, v, h, power)

    @property
    def _h(self) -> float:
        return 0.0 if self.tie is None else self.tie / self.scale

    @property
    def outcomes(self) -> tuple[float, ...]:
        """First preferred, second preferred, and a tie where there are ties."""
        return (1.0, -1.0) if self.tie is None else (1.0, -1.0, 0.0)

    @property
    def bend(self) -> Bend:
        """At the threshold, over the scale."""
        place = self._h * self.scale
        return Bend(place, self.scale, place + self._SETTLED * self.scale)

    @property
    def _free(self) -> dict[str, tuple[float, float]]:
        if self.tie is None or self.tie_fixed:
            return {}
        return {"tie": (_TIE_BOUNDS[0] * self.scale, _TIE_BOUNDS[1] * self.scale)}

    def with_ties(self, tie: float) -> Self:
        """Return the same likelihood with this threshold for ties, if it has none."""
        return replace(self, tie=tie) if self.tie is None else self

    def check_outcomes(self, y: ArrayLike) -> None:
        """Raise DataError if there are ties and no threshold."""
        ties = np.flatnonzero(np.asarray(y) == 0)
        if self.tie is None and ties.size:
            kind = type(self).__name__
            raise DataError(code="ties-without-threshold", owner=kind).says(
                f"{ties.size} of {np.size(y)} comparisons are ties (rows {first_few(ties)}), which have "
                "probability zero without a tie threshold",
                "Learn a threshold with ties=True",
                f"give one with likelihood={kind}(tie=0.1)",
                "drop them",
            )

    def log_density(self, y: ArrayLike, z: ArrayLike) -> Derivatives:
        """Return log p(y | z) and its first three derivatives in z; of outcomes only the sign counts."""
        curve, s = self._curve(y, z), self.scale
        return Derivatives(curve.value, curve.first / s, curve.second / s**2, curve.third / s**3)

    def log_density_theta(self, y: ArrayLike, z: ArrayLike) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """Return d/dlog δ of log p and of its first two derivatives in z, as a list over theta."""
        if not self.theta.size:
            return []
        curve, s = self._curve(y, z), self.scale
        return [(curve.by_tie, curve.first_by_tie / s, curve.second_by_tie / s**2)]

    def smoothed(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None) -> Smoothed:
        """Return log Z, its first two derivatives in ``mean``, and the share of the variance that remains."""
        integral, s = self._integral(y, mean, variance, power), self.scale
        # Sums that make up the rest may round upwards; the tilt of a log-concave density never widens.
        return Smoothed(integral.log_z, integral.first / s, integral.second / s**2, np.minimum(integral.rest, 1.0))

    def tilted_theta(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None
    ) -> FloatArray:
        """Return d log Z / dlog δ, (m, 1), or (m, 0) where no threshold is free."""
        if not self.theta.size:
            return np.empty((np.size(mean), 0))
        return self._integral(y, mean, variance, power).by_tie[:, None]

    def probability(self, mean: ArrayLike, variance: ArrayLike) -> FloatArray:
        """Return P(first), P(tie), P(second) for z ~ N(mean, variance), (m, 3).

        All is computed from the size of ``mean`` and then put to its side: swapping the sides swaps the answers to the
        last bit.
        """
        m = np.abs(np.asarray(mean, dtype=np.float64)) / self.scale
        m, v = np.broadcast_arrays(m, np.asarray(variance, dtype=np.float64) / self.scale**2)
        h = self._h
        weaker = np.exp(self._side_integral(-m, v, h).log_z)
        if self.tie is None:
            weaker = np.where(m == 0.0, 0.5, np.minimum(weaker, 0.5))
            stronger, tie = 1.0 - weaker, np.zeros_like(weaker)
        else:
            stronger, tie = np.exp(self._side_integral(m, v, h).log_z), np.exp(self._interval_integral(m, v, h).log_z)
            total = weaker + stronger + tie  # 1 up to the rounding of three separate computations
            weaker, stronger, tie = weaker / total, stronger / total, tie / total
        return to_sides(np.asarray(mean) > 0, stronger, tie, weaker)

    def _curve(self, y: ArrayLike, z: ArrayLike) -> Curve:
        outcome, t = np.broadcast_arrays(np.asarray(y), np.asarray(z, dtype=np.float64) / self.scale)
        h, tied = self._h, self._tied(outcome)
        sign = np.where(outcome < 0, -1.0, 1.0)
        if not tied.any():
            return _odd(self._side(sign * t - h, h), sign)
        sign = np.where(tied, np.sign(t), sign)  # an interval is even: zero at zero, where odd derivatives vanish
        t = sign * t
        inside, beside = np.nonzero(tied), np.nonzero(~tied)
        parts = []
        for within, outside in zip(self._interval(t[inside], h), self._side(t[beside] - h, h), strict=True):
            both = np.empty(t.shape)
            both[inside], both[beside] = within, outside
            parts.append(both)
        return _odd(Curve(*parts), sign)

    def _integral(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None) -> Integral:
        outcome, m, v, a = np.broadcast_arrays(
            np.asarray(y),
            np.asarray(mean, dtype=np.float64) / self.scale,
            np.asarray(variance, dtype=np.float64) / self.scale**2,
            np.asarray(1.0 if power is None else power, dtype=np.float64),
        )
        h, tied, broken = self._h, self._tied(outcome), a != 1.0
        sign = np.where(outcome < 0, -1.0, 1.0)
        if not tied.any() and not broken.any():
            integral = self._side_integral(sign * m, v, h)
            return integral._replace(first=sign * integral.first)
        sign = np.where(tied, np.sign(m), sign)  # as in _curve
        parts = np.empty((len(Integral._fields), *m.shape))
        for ties, powers in itertools.product((False, True), repeat=2):
            rows = (tied == ties) & (broken == powers)
            if rows.any():
                integrate = self._interval_integral if ties else self._side_integral
                parts[:, rows] = integrate((sign * m)[rows], v[rows], h, a[rows] if powers else None)
        integral = Integral(*parts)
        return integral._replace(first=sign * integral.first)

    def _tied(self, outcome: np.ndarray) -> np.ndarray:
        tied = np.asarray(outcome == 0)
        if self.tie is None and tied.any():
            self.check_outcomes(outcome)
        return tied


def _odd(curve: Curve, sign: FloatArray) -> Curve:
    # d/dz of a function of ±z: odd derivatives change their sign.
    return curve._replace(first=sign * curve.first, third=sign * curve.third, first_by_tie=sign * curve.first_by_tie)


# --- the probit ------------------------------------------------------------------------------------------------------

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
