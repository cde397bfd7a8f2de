"""Likelihoods of who was preferred: a noisy difference against a threshold, and integrals of it by quadrature.

The noisy difference z + scale * e, with e from a symmetric distribution F, is compared with a threshold δ >= 0:

    P(first) = F((z - δ) / s),   P(second) = F((-z - δ) / s),   P(tie) = F((z + δ) / s) - F((z - δ) / s).

Without a threshold δ = 0 and there are no ties. In units of the scale, t = z / s and h = δ / s, two curves say
everything: the *side* log F(u) at u = ±t - h, and the *interval* log [F(t + h) - F(t - h)], even in t. A link supplies
them (`Probit`, `Logit`, `Davidson`); `ThresholdLikelihood` turns them into outcomes.

**Integrals** Z = ∫ p(t)ᵃ N(t; m, v) dt of a link, or of a power 0 < a <= 1 of it (comparisons that weigh less than
one), have two lengths: the normal's √v, and 1, the length over which a link bends (its singularities lie about π off
the real axis, at ±h or further out). The trapezoidal rule converges exponentially for analytic integrands, so

- for v <= 1 nodes are spread evenly over the bulk of the tilted density: only √v matters;
- for v > 1 they are spread evenly in y, where

      t = tanh(y) √(h² + c² cosh² y),   y = (asinh((t - h) / c) + asinh((t + h) / c)) / 2,   c = 2:

  at distances of order c near the bends, in proportion to the distance from them elsewhere. The integrand is analytic
  at least π/4 off the real axis of y, and steps of 0.045 leave a relative error of about 1e-13.

The bulk is found from the mode: the exponent is concave, so that Newton's steps for the point where it has fallen by k
come from outside and never pass it.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from preflearn.exceptions import DataError, first_few
from preflearn.likelihoods._contract import Bend, Derivatives, FloatArray, Smoothed

__all__ = ["Curve", "FreeParameters", "Integral", "Nodes", "ThresholdLikelihood", "normal_nodes", "tilt", "to_sides"]


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
                f"Use likelihood={kind}(tie=0.1) (PreferenceGP: or ties=True), or drop them",
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
        parts = np.empty((len(Curve._fields), *t.shape))
        parts[:, tied] = self._interval(t[tied], h)
        parts[:, ~tied] = self._side(t[~tied] - h, h)
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


# --- integrals against a normal distribution -------------------------------------------------------------------------

# Half-width of the bulk in √v, exp(-9.2²/2) = 4e-19, and the nodes over it when √v is the only length.
_REACH = 9.2
_NODES = np.linspace(-_REACH, _REACH, 45)
# How far the exponent has fallen at the end of the bulk.
_DEPTH = 0.5 * _REACH * _REACH
# Below this variance second-order expansions are exact to rounding.
_POINT = 1e-12
_STEP, _BEND = 0.045, 2.0
# A bulk is sharp below this share of its distance from the bend.
_SHARP = 1e-7
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
# Nodes over the whole of a normal distribution: steps of at most 0.06 up to deviations of 1e4.
_BOUNDED = 400
# Steps that no search needs.
_TURNS = 200
# Elements of one block of nodes.
_BLOCK = 1 << 17


class Integral(NamedTuple):
    """log Z with its derivatives in the mean and in log h, and the tilted variance over v, in units of the scale."""

    log_z: FloatArray
    first: FloatArray
    second: FloatArray
    by_tie: FloatArray
    rest: FloatArray


class Nodes(NamedTuple):
    """A link at the nodes: p = exp(exponent) * factor, with d log p / dt, its derivative, and d log p / dlog h."""

    exponent: FloatArray
    factor: FloatArray
    first: FloatArray
    second: FloatArray
    by_tie: FloatArray


Link = Callable[[FloatArray], Nodes]
_Powered = Callable[[FloatArray, FloatArray], Nodes]


def tilt(link: Link, m: FloatArray, v: FloatArray, h: float, power: FloatArray | None = None) -> Integral:
    """Return the tilt of a link, or of a power of it, against t ~ N(m, v), for a link that bends at ±h."""
    m, v, a = np.broadcast_arrays(m, v, 1.0 if power is None else power)
    shape = m.shape
    m, v, a = m.ravel(), v.ravel(), a.ravel()

    def powered(t: FloatArray, a: FloatArray) -> Nodes:
        g = link(t)
        if power is None:
            return g
        return Nodes(a * g.exponent, g.factor**a, a * g.first, a * g.second, a * g.by_tie)

    parts = np.empty((len(Integral._fields), m.size))
    point = np.flatnonzero(v < _POINT)
    parts[:, point] = _point(powered, m[point], v[point], a[point])
    narrow = np.flatnonzero((v >= _POINT) & (v <= 1.0))
    parts[:, narrow] = _in_blocks(_narrow, powered, _NODES.size, m[narrow], v[narrow], a[narrow])
    where = np.flatnonzero(v > 1.0)
    if where.size:
        m, v, a = m[where], v[where], a[where]
        mode, low, high = _bulk(powered, m, v, a)
        sharp = high - low <= _SHARP * np.maximum(np.abs(low), np.abs(high))
        parts[:, where[sharp]] = _sharp(powered, m[sharp], v[sharp], a[sharp], mode[sharp])
        low, high = _to_y(low, h), _to_y(high, h)
        # Multiples of 32, so that few blocks of equal length serve all comparisons.
        count = np.where(sharp, 0, 32 * np.maximum(2, np.ceil((high - low) / (32 * _STEP)))).astype(np.int64)
        for n in np.unique(count[~sharp]):
            rows = np.flatnonzero(count == n)
            ends = low[rows], high[rows]
            parts[:, where[rows]] = _in_blocks(_wide, powered, int(n), m[rows], v[rows], a[rows], *ends, h=h)
    return Integral(*parts.reshape(-1, *shape))


def normal_nodes(m: FloatArray, v: FloatArray, h: float) -> tuple[FloatArray, FloatArray]:
    """Return nodes (k, 400) for integrals against t ~ N(m, v) of any function that bends at ±h, and log weights.

    For integrands that are bounded from below, which no bulk of their own makes narrower than the normal's.
    """
    reach = _REACH * np.sqrt(v)
    low, high = _to_y(m - reach, h), _to_y(m + reach, h)
    step = (high - low) / (_BOUNDED - 1)
    t, stretch = _from_y(low[:, None] + step[:, None] * np.arange(_BOUNDED), h)
    log_weight = np.log(stretch) - np.square(t - m[:, None]) * (0.5 / v)[:, None]
    return t, log_weight + np.log(step / np.sqrt(2.0 * np.pi * v))[:, None]


def _in_blocks(
    rule: Callable[..., Integral], link: _Powered, n: int, *arrays: FloatArray, **constants: float
) -> FloatArray:
    step, size = max(1, _BLOCK // n), arrays[0].size
    blocks = [np.stack(rule(link, n, *(x[i : i + step] for x in arrays), **constants)) for i in range(0, size, step)]
    return np.concatenate(blocks, axis=1) if blocks else np.empty((len(Integral._fields), 0))


def _point(link: _Powered, m: FloatArray, v: FloatArray, a: FloatArray) -> Integral:
    g = link(m, a)
    log_z = g.exponent + np.log(g.factor) + 0.5 * v * (g.second + g.first * g.first)
    return Integral(log_z, g.first, g.second, g.by_tie, 1.0 + v * g.second)


def _sharp(link: _Powered, m: FloatArray, v: FloatArray, a: FloatArray, mode: FloatArray) -> Integral:
    # A bulk too small to be told apart from its distance to the bend, where links are quadratic.
    g = link(m + mode, a)
    rest = 1.0 / (1.0 - v * g.second)
    log_z = g.exponent + np.log(g.factor) - mode * (mode / v) / 2.0 + 0.5 * np.log(rest)
    return Integral(log_z, g.first, g.second * rest, g.by_tie, rest)


def _narrow(link: _Powered, n: int, m: FloatArray, v: FloatArray, a: FloatArray) -> Integral:
    offset = _mode(link, m, v, a)[:, None] + np.sqrt(v)[:, None] * _NODES
    g = link(m[:, None] + offset, a[:, None])
    weight, log_mass = _normalise(g, offset, v)
    log_z = log_mass + np.log((_NODES[1] - _NODES[0]) / np.sqrt(2.0 * np.pi))
    # d log Z / dm = E[g'],  d² log Z / dm² = E[g''] + Var[g']: accurate however small v is.
    first = _mean(weight, g.first)
    spread = _mean(weight, np.square(g.first - first[:, None]))
    second = np.minimum(_mean(weight, g.second) + spread, 0.0)
    return Integral(log_z, first, second, _mean(weight, g.by_tie), 1.0 + v * second)


def _wide(
    link: _Powered, n: int, m: FloatArray, v: FloatArray, a: FloatArray, low: FloatArray, high: FloatArray, *, h: float
) -> Integral:
    step = (high - low) / (n - 1)
    y = low[:, None] + step[:, None] * np.arange(n)
    t, stretch = _from_y(y, h)
    offset = t - m[:, None]
    g = link(t, a[:, None])
    weight, log_mass = _normalise(g, offset, v, stretch)
    log_z = log_mass + np.log(step / np.sqrt(2.0 * np.pi * v))
    centre = _mean(weight, offset)
    # No link bends by more than 1, and a variance is at least the inverse of the mean curvature (Cramér and Rao).
    rest = np.clip(_mean(weight, np.square(offset - centre[:, None])) / v, 1.0 / (1.0 + a * v), 1.0)
    # As in _narrow or from the moments: either form cancels somewhere, and the one with smaller terms loses less.
    first, bent = _mean(weight, g.first), _mean(weight, g.second)
    spread = _mean(weight, np.square(g.first - first[:, None]))
    direct = spread - bent < 1.0 / v
    first = np.where(direct, first, centre / v)
    second = np.where(direct, np.minimum(bent + spread, 0.0), (rest - 1.0) / v)
    return Integral(log_z, first, second, _mean(weight, g.by_tie), rest)


def _normalise(
    g: Nodes, offset: FloatArray, v: FloatArray, stretch: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    exponent = g.exponent - offset * offset * (0.5 / v)[:, None]
    top = exponent.max(axis=1, keepdims=True)
    weight = np.exp(exponent - top)
    weight *= g.factor
    if stretch is not None:
        weight *= stretch
    mass = weight.sum(axis=1, keepdims=True)
    weight /= mass
    return weight, (top + np.log(mass))[:, 0]


def _mean(weight: FloatArray, x: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", weight, x))


def _mode(link: _Powered, m: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
    # The mode m + o, to a tenth of the tilted deviation: the root of the falling function g'(m + o) - o/v. Since g'
    # falls too (log-concavity), it lies between m and one step of v g'(m) from it. Every element goes its own way, so
    # that an answer does not depend on what else was asked, not even in the last bit.
    g = link(m, a)
    end = v * g.first
    o = end / (1.0 - v * g.second)  # where g' is straight
    low, high = np.minimum(end, 0.0), np.maximum(end, 0.0)
    rows = np.arange(m.size)
    for turn in range(_TURNS):
        at, v_at = o[rows], v[rows]
        g = link(m[rows] + at, a[rows])
        slope, bend = g.first - at / v_at, 1.0 / v_at - g.second
        low[rows] = np.where(slope > 0.0, at, low[rows])
        high[rows] = np.where(slope < 0.0, at, high[rows])
        more = (slope * slope > 0.01 * bend) & (high[rows] - low[rows] > _ROUNDING * np.abs(m[rows]))
        rows, at, slope, bend = rows[more], at[more], slope[more], bend[more]
        if not rows.size:
            break
        newton, middle = at + slope / bend, 0.5 * (low[rows] + high[rows])
        inside = (newton > low[rows]) & (newton < high[rows])
        o[rows] = np.where(inside, newton, middle) if turn % 2 else middle
    return o


def _bulk(link: _Powered, m: FloatArray, v: FloatArray, a: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    # The mode less m, and both ends of the bulk, where the exponent has fallen by _DEPTH or a little more.
    # A concave exponent is below its tangents, so that Newton's steps towards that point from outside stay outside; to
    # get outside, the distance is doubled.
    def exponent(o: FloatArray, m: FloatArray, v: FloatArray, a: FloatArray) -> tuple[FloatArray, ...]:
        g = link(m + o, a)
        return g.exponent + np.log(g.factor) - o * o / (2.0 * v), g.first - o / v, 1.0 / v - g.second

    mode = _mode(link, m, v, a)
    top, _, bend = exponent(mode, m, v, a)
    side, floor = np.repeat([-1.0, 1.0], m.size), np.tile(top - _DEPTH, 2)
    farthest = np.tile((_REACH + 0.1) * np.sqrt(v), 2)
    distance = np.minimum(farthest, np.tile(_REACH / np.sqrt(bend), 2))
    m, v, a, mode = np.tile(m, 2), np.tile(v, 2), np.tile(a, 2), np.tile(mode, 2)
    rows = np.arange(m.size)
    for _ in range(_TURNS):
        value, slope, _ = exponent(mode[rows] + side[rows] * distance[rows], m[rows], v[rows], a[rows])
        excess = floor[rows] - value
        short = (excess < 0.0) & (distance[rows] < farthest[rows])
        more = short | ((excess > 0.25 * _DEPTH) & (distance[rows] > 0.1 * _SHARP * np.abs(m[rows] + mode[rows])))
        rows, excess, slope, short = rows[more], excess[more], slope[more], short[more]
        if not rows.size:
            break
        nearer = distance[rows] - excess / np.where(short, 1.0, np.abs(slope))
        distance[rows] = np.where(short, np.minimum(2.0 * distance[rows], farthest[rows]), nearer)
    low, high = (m + mode + side * distance).reshape(2, -1)
    return mode[: low.size], low, high


def _to_y(t: FloatArray, h: float) -> FloatArray:
    return 0.5 * (np.arcsinh((t - h) / _BEND) + np.arcsinh((t + h) / _BEND))


def _from_y(y: FloatArray, h: float) -> tuple[FloatArray, FloatArray]:
    # t and dt/dy
    if h == 0.0:
        return _BEND * np.sinh(y), _BEND * np.cosh(y)
    t = np.tanh(y) * np.sqrt(h * h + np.square(_BEND * np.cosh(y)))
    bend = _BEND * _BEND
    return t, 2.0 / (1.0 / np.sqrt(bend + np.square(t - h)) + 1.0 / np.sqrt(bend + np.square(t + h)))
