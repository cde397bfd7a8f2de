"""Integrals of a logistic link against a normal distribution.

Z = ∫ p(t) N(t; m, v) dt has two lengths: the normal's √v, and 1, the length over which the link bends (its poles lie π
off the real axis, at ±h). The trapezoidal rule converges exponentially for analytic integrands, so

- for v <= 1 nodes are spread evenly over the bulk of the tilted density: only √v matters;
- for v > 1 they are spread evenly in y, where

      t = tanh(y) √(h² + c² cosh² y),   y = (asinh((t - h) / c) + asinh((t + h) / c)) / 2,   c = 2:

  at distances of order c near the bends, in proportion to the distance from them elsewhere. The integrand is analytic
  at least π/4 off the real axis of y, and steps of 0.06 leave a relative error of about 1e-11.

The bulk is found from the mode: the tilted density is log-concave with curvature at least 1/v, so that it is below
exp(-k²/2) of its peak at k√v from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from preflearn.likelihoods._contract import FloatArray
from preflearn.likelihoods.ties import Hill

__all__ = ["Nodes", "tilt"]

# Half-width of the bulk in √v, exp(-9.2²/2) = 4e-19, and the nodes over it when √v is the only length.
_REACH = 9.2
_NODES = np.linspace(-_REACH, _REACH, 45)
# Below this variance second-order expansions are exact to rounding.
_POINT = 1e-12
_STEP, _BEND = 0.06, 2.0
# Distance from the mode of the tangents that bound the bulk.
_FOOT = 6.0
# Elements of one block of nodes.
_BLOCK = 1 << 17


class Nodes(NamedTuple):
    """A link at the nodes: p = exp(exponent) * factor, with d log p / dt, its derivative, and d log p / dlog h."""

    exponent: FloatArray
    factor: FloatArray
    first: FloatArray
    second: FloatArray
    by_tie: FloatArray


Link = Callable[[FloatArray], Nodes]


def tilt(link: Link, m: FloatArray, v: FloatArray, h: float) -> Hill:
    """Return the tilt of a link against t ~ N(m, v), for a link that bends at ±h."""
    m, v = np.broadcast_arrays(np.asarray(m, dtype=np.float64), np.asarray(v, dtype=np.float64))
    parts = np.empty((len(Hill._fields), *m.shape))
    point, narrow, wide = v < _POINT, (v >= _POINT) & (v <= 1.0), v > 1.0
    parts[:, point] = _point(link, m[point], v[point])
    parts[:, narrow] = _in_blocks(_narrow, link, m[narrow], v[narrow], h, _NODES.size)
    where = np.flatnonzero(wide)
    flat = parts.reshape(parts.shape[0], -1)
    m, v = m.ravel()[where], v.ravel()[where]
    if where.size:
        low, high = _range(link, m, v, h)
        # Multiples of 32, so that few blocks of equal length serve all comparisons.
        count = 32 * np.maximum(2, np.ceil((high - low) / (32 * _STEP))).astype(np.int64)
        for n in np.unique(count):
            rows = np.flatnonzero(count == n)
            flat[:, where[rows]] = _in_blocks(_wide, link, m[rows], v[rows], h, int(n), low[rows], high[rows])
    return Hill(*parts)


def _in_blocks(
    rule: Callable[..., Hill], link: Link, m: FloatArray, v: FloatArray, h: float, n: int, *more: FloatArray
) -> FloatArray:
    step = max(1, _BLOCK // n)
    blocks = [
        np.stack(rule(link, m[i : i + step], v[i : i + step], h, n, *(x[i : i + step] for x in more)))
        for i in range(0, m.size, step)
    ]
    return np.concatenate(blocks, axis=1) if blocks else np.empty((len(Hill._fields), 0))


def _point(link: Link, m: FloatArray, v: FloatArray) -> Hill:
    g = link(m)
    log_z = g.exponent + np.log(g.factor) + 0.5 * v * (g.second + g.first * g.first)
    return Hill(log_z, g.first, g.second, g.by_tie, m + v * g.first, v * (1.0 + v * g.second))


def _narrow(link: Link, m: FloatArray, v: FloatArray, h: float, n: int) -> Hill:
    # The mode is m + v g'(mode); one step from m is off by at most v²/4, less than √v/4.
    root = np.sqrt(v)
    offset = (v * link(m).first)[:, None] + root[:, None] * _NODES
    g = link(m[:, None] + offset)
    weight, log_mass = _normalise(g, offset, v)
    log_z = log_mass + np.log((_NODES[1] - _NODES[0]) / np.sqrt(2.0 * np.pi))
    # d log Z / dm = E[g'],  d² log Z / dm² = E[g''] + Var[g']: accurate however small v is.
    first = _mean(weight, g.first)
    spread = _mean(weight, np.square(g.first - first[:, None]))
    second = np.minimum(_mean(weight, g.second) + spread, 0.0)
    return Hill(log_z, first, second, _mean(weight, g.by_tie), m + v * first, v * (1.0 + v * second))


def _wide(link: Link, m: FloatArray, v: FloatArray, h: float, n: int, low: FloatArray, high: FloatArray) -> Hill:
    step = (high - low) / (n - 1)
    y = low[:, None] + step[:, None] * np.arange(n)
    if h > 0.0:
        t = np.tanh(y) * np.sqrt(h * h + np.square(_BEND * np.cosh(y)))
        bend = _BEND * _BEND
        stretch = 2.0 / (1.0 / np.sqrt(bend + np.square(t - h)) + 1.0 / np.sqrt(bend + np.square(t + h)))
    else:
        t, stretch = _BEND * np.sinh(y), _BEND * np.cosh(y)
    offset = t - m[:, None]
    g = link(t)
    weight, log_mass = _normalise(g, offset, v, stretch)
    log_z = log_mass + np.log(step / np.sqrt(2.0 * np.pi * v))
    centre = _mean(weight, offset)
    # The second derivative through the variance: E[g''] + Var[g'] cancels where v is large.
    variance = np.minimum(_mean(weight, np.square(offset - centre[:, None])), v)
    second = (variance / v - 1.0) / v
    return Hill(log_z, _mean(weight, g.first), second, _mean(weight, g.by_tie), m + centre, variance)


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


def _range(link: Link, m: FloatArray, v: FloatArray, h: float) -> tuple[FloatArray, FloatArray]:
    # Ends of the bulk in y. The mode m + o is the root of the increasing function o/v - g'(m + o); since g' falls
    # (log-concavity), it lies between m and one step from it.
    slope, root = link(m).first, np.sqrt(v)
    low, high = np.minimum(v * slope, 0.0), np.maximum(v * slope, 0.0)
    # Halved only where needed, so that an answer does not depend on what else was asked, not even in the last bit.
    while (wide := high - low > 0.25 * root).any():
        middle = 0.5 * (low + high)
        beyond = middle > v * link(m + middle).first
        low, high = np.where(wide & ~beyond, middle, low), np.where(wide & beyond, middle, high)
    mode = m + 0.5 * (low + high)
    # Where the link falls off exponentially the bulk ends sooner: a tangent bounds a concave function from above.
    left, right = mode - _FOOT, mode + _FOOT
    rise, fall = link(left).first - (left - m) / v, (right - m) / v - link(right).first
    reach, depth = _REACH * root, 0.5 * _REACH * _REACH
    start = np.maximum(mode - reach, np.where(rise > 0.0, left - depth / np.where(rise > 0.0, rise, 1.0), -np.inf))
    end = np.minimum(mode + reach, np.where(fall > 0.0, right + depth / np.where(fall > 0.0, fall, 1.0), np.inf))
    return _to_y(start, h), _to_y(end, h)


def _to_y(t: FloatArray, h: float) -> FloatArray:
    return 0.5 * (np.arcsinh((t - h) / _BEND) + np.arcsinh((t + h) / _BEND))
