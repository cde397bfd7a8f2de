"""Integrals of a likelihood against a normal distribution, by quadrature.

Z = ∫ p(t)ᵃ N(t; m, v) dt of a link, or of a power 0 < a <= 1 of it (comparisons that weigh less than
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

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from preflearn.likelihoods._contract import FloatArray

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
    """Return nodes (k, 400) and log weights for integrals against t ~ N(m, v) of bounded functions that bend at ±h."""
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
