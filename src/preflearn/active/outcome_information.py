"""What the outcome of a comparison tells about its latent difference.

With z ~ N(m, v) and outcomes y of probability p_y(z), the mutual information of y and z in nats is

    I = H(p̄) - E[h(z)],   p̄_y = E[p_y(z)],   h(z) = H(p(z)) = -Σ_y p_y(z) log p_y(z).

p̄ is the likelihood's own predictive probability. h is an even function of z alone, so it is tabulated once (quintic
pieces through its values and first two derivatives, which the likelihood supplies) and only E[h] is left to integrate.
In units of the length over which the likelihood's curves bend:

- v <= 1e-4: I = v/2 Σ p g'² + v²/8 Σ p (4 g' g''' + 10 g'² g'' + 2 g''² + 2 g'⁴) + O(v³) with g = log p; the two
  entropies would cancel;
- v <= 1: the trapezoidal rule over the normal density, which is shorter than the features of h;
- v > 1: the trapezoidal rule over the table, since h is nearly zero away from the thresholds.

Both rules converge exponentially; the error is about 1e-13. For Gaussian margins I = log(1 + v * precision) / 2. Where
outcomes may be reversed at some rate, h and the probability of an upset do not vanish: tables hold what is above that.

If only a part d of z is to be learned, z ~ N(d, r) given d and d ~ N(m, v - r), then I(y; d) = H(p̄) - E[H(p(d))] with
p(d) the predictive probability for N(d, r). It has no bends shorter than √(length² + r), so that the trapezoidal rule
over the normal density of d does with steps of 0.4 of that, or of the deviation of d.

Where hyperparameters are averaged over, point c of them has weight w_c, z ~ N(m_c, v_c) and its own likelihood. The
information about everything that is unknown, utilities and hyperparameters, is

    I = H(Σ_c w_c p̄_c) - Σ_c w_c E_c[h_c(z)] = Σ_c w_c I_c + [H(Σ_c w_c p̄_c) - Σ_c w_c H(p̄_c)].

The bracket is what the outcome tells about the hyperparameters, at least 0. For Gaussian margins p̄_c is a normal
density, and the entropy of their mixture an integral, computed to about 1e-9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import xlogy

from preflearn.likelihoods import Likelihood
from preflearn.models.ranking import Part
from preflearn.operators import FloatArray

# Variances, in these units, up to which the series and the rule over the normal density are used.
_SERIES, _NARROW = 1e-4, 1.0
# The normal density is below 4e-19 of its peak beyond 9.2 standard deviations.
_NODES = np.linspace(-9.2, 9.2, 45)
_WEIGHTS = np.exp(-0.5 * _NODES**2) / np.exp(-0.5 * _NODES**2).sum()
# Pieces per length over which curves bend, and how many of them are a step of the wide rule.
_PIECES, _STEP = 32, 12
# Halvings of these nodes' distance, at most.
_FINEST = 10
# Elements of one block of nodes.
_BLOCK = 1 << 17


@dataclass(frozen=True)
class Table:
    """An even function that is ``floor`` beyond ``end``, in polynomial pieces of equal length above that."""

    coefficients: FloatArray  # (6, n_pieces), of powers of the position inside a piece, 0 to 1
    end: float
    floor: float

    def __call__(self, t: FloatArray) -> FloatArray:
        """Return the function at t."""
        position = np.minimum(np.abs(t), self.end) * (self.coefficients.shape[1] / self.end)
        piece = np.minimum(position.astype(np.intp), self.coefficients.shape[1] - 1)
        position -= piece
        value = self.coefficients[5][piece]
        for row in self.coefficients[4::-1]:
            value *= position
            value += row[piece]
        return np.where(np.abs(t) >= self.end, self.floor, value + self.floor)

    @classmethod
    def through(cls, value: FloatArray, first: FloatArray, second: FloatArray, step: float) -> Table:
        """Return the quintic Hermite interpolant of values and two derivatives at equal steps from 0.

        The last value is the floor.
        """
        floor = float(value[-1])
        value = value - floor
        a, b, c = value[:-1], first[:-1] * step, second[:-1] * (0.5 * step * step)
        # what is missing at the right end of a piece: value, slope and curvature
        r0 = value[1:] - (a + b + c)
        r1 = first[1:] * step - (b + 2.0 * c)
        r2 = second[1:] * (step * step) - 2.0 * c
        coefficients = np.stack(
            [a, b, c, 10.0 * r0 - 4.0 * r1 + 0.5 * r2, -15.0 * r0 + 7.0 * r1 - r2, 6.0 * r0 - 3.0 * r1 + 0.5 * r2]
        )
        return cls(coefficients, step * (value.shape[0] - 1), floor)


@dataclass(frozen=True)
class Link:
    """Entropy of the outcome, probability that the better item loses, and that of a tie, given |z| / unit."""

    entropy: Table
    upset: Table
    tie: Table | None
    unit: float

    def probabilities(self, z: FloatArray) -> list[FloatArray]:
        """Return P(first | z) and, where there are ties, P(tie | z); error about 1e-12."""
        t = z / self.unit
        upset = self.upset(t)
        if self.tie is None:
            return [np.where(t > 0, 1.0 - upset, upset)]
        tie = self.tie(t)
        return [np.where(t > 0, 1.0 - upset - tie, upset), tie]


def check_likelihood(likelihood: Any, owner: str) -> None:
    """Raise TypeError for a likelihood whose outcomes are not known here."""
    if not isinstance(likelihood, Likelihood) or not (likelihood.normal or likelihood.outcomes):
        raise TypeError(
            f"{owner}: the likelihood is a {type(likelihood).__name__}; information is known for likelihoods of wins, "
            "losses and ties, and for margins under normal noise. Fit the model with one of these."
        )


def information(likelihood: Likelihood, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the mutual information (m,) of outcome and difference z ~ N(mean, variance), in nats.

    The sign of ``mean`` does not matter, to the last bit. About 100 operations per comparison.
    """
    if likelihood.normal:
        return np.asarray(0.5 * np.log1p(np.asarray(variance) / likelihood.noise_deviation**2))
    s = likelihood.bend.length
    m, v = np.broadcast_arrays(
        np.abs(np.asarray(mean, dtype=np.float64)) / s, np.asarray(variance, dtype=np.float64) / s**2
    )
    gain = np.empty(m.shape)
    tiny, wide = v <= _SERIES, v > _NARROW
    narrow = ~(tiny | wide)
    gain[tiny] = _series(likelihood, m[tiny], v[tiny])
    for rows, rule in ((narrow, _narrow), (wide, _wide)):
        if rows.any():
            p = likelihood.probability(m[rows] * s, v[rows] * s**2)
            gain[rows] = -xlogy(p, p).sum(axis=-1) - rule(likelihood, m[rows], v[rows])
    return np.maximum(gain, 0.0)


def partial_information(likelihood: Likelihood, mean: FloatArray, variance: FloatArray, rest: FloatArray) -> FloatArray:
    """Return the mutual information (m,) of outcome and a part of z ~ N(mean, variance), given which z varies by rest.

    45 predictive probabilities for each, and more where the part varies by more than the curves bend over.
    """
    m, v, r = np.broadcast_arrays(np.abs(np.asarray(mean, dtype=np.float64)), variance, rest)
    if likelihood.normal:
        noise = likelihood.noise_deviation**2
        return np.asarray(0.5 * (np.log1p(v / noise) - np.log1p(r / noise)))
    gain = np.empty(m.shape)
    alone = r <= 0.0
    gain[alone] = information(likelihood, m[alone], v[alone])
    explained, width = v - r, likelihood.bend.length**2 + r
    tiny = ~alone & (explained <= _SERIES**2 * width)
    if tiny.any():  # the next term is as much smaller
        gain[tiny] = 0.5 * explained[tiny] * curvature(likelihood, m[tiny], r[tiny])
    # nodes 0.4 deviations apart, or as many times nearer as makes steps of 0.4 widths
    finer = np.maximum(np.ceil(np.log2(np.sqrt(explained / width))), 0.0)
    finer = np.where(alone | tiny, -1.0, np.minimum(finer, _FINEST))
    for level in np.unique(finer[finer >= 0]):
        rows = np.flatnonzero(finer == level)
        nodes = np.linspace(_NODES[0], _NODES[-1], (_NODES.size - 1) * 2 ** int(level) + 1)
        weights = np.exp(-0.5 * nodes**2)
        weights /= weights.sum()
        step = max(1, _BLOCK // nodes.size)
        for some in np.split(rows, range(step, rows.size, step)):
            d = m[some, None] + np.sqrt(explained[some, None]) * nodes
            given = _entropy(likelihood.probability(d, np.broadcast_to(r[some, None], d.shape))) @ weights
            gain[some] = _entropy(likelihood.probability(m[some], v[some])) - given
    return np.maximum(gain, 0.0)


def curvature(likelihood: Likelihood, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return J (m,): an outcome shrinks the variance of its difference from v to v - J v² on average.

    Notes
    -----
    Given y the variance becomes v + v² (log Z_y)'', and Σ_y Z_y (log Z_y)'' = -Σ_y Z_y (log Z_y)'² because the Z_y sum
    to 1. J / (1 - v J) is the precision of a Gaussian observation with the same effect: the noise's own precision for
    Gaussian margins, where no outcome matters.
    """
    m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    if likelihood.normal:
        return np.asarray(1.0 / (likelihood.noise_deviation**2 + v))
    total = np.zeros(np.broadcast(m, v).shape)
    for y in likelihood.outcomes:
        smoothed = likelihood.smoothed(np.full(total.shape, y), m, v)
        total += np.exp(smoothed.log_z) * np.square(smoothed.first)
    return total


@lru_cache(maxsize=16)
def link_of(likelihood: Likelihood) -> Link:
    """Return what a likelihood says of outcomes given z, as tables over |z| in units of the length of its bends."""
    _, unit, settled = likelihood.bend
    t = np.arange(math.ceil(settled / unit * _PIECES) + 1) / _PIECES
    entropy = np.zeros((3, t.shape[0]))
    tables = {}
    for y in likelihood.outcomes:
        g, g1, g2, _ = likelihood.log_density(np.full(t.shape, y), t * unit)
        g1, g2, p = g1 * unit, g2 * unit**2, np.exp(g)
        curved = g2 + g1 * g1
        tables[y] = Table.through(p, p * g1, p * curved, 1.0 / _PIECES)
        entropy -= p * g, p * g1 * (g + 1.0), p * (curved * (g + 1.0) + g1 * g1)
    h = Table.through(entropy[0], entropy[1], entropy[2], 1.0 / _PIECES)
    return Link(h, tables[-1.0], tables.get(0.0), unit)


def _series(likelihood: Likelihood, m: FloatArray, v: FloatArray) -> FloatArray:
    order1, order2 = np.zeros(m.shape), np.zeros(m.shape)
    s = likelihood.bend.length
    for y in likelihood.outcomes:
        g, g1, g2, g3 = likelihood.log_density(np.full(m.shape, y), m * s)
        p, a, b, c = np.exp(g), g1 * s, g2 * s**2, g3 * s**3
        order1 += p * a * a
        order2 += p * (4.0 * a * c + 10.0 * a * a * b + 2.0 * b * b + 2.0 * a**4)
    return np.asarray(0.5 * v * order1 + 0.125 * v * v * order2)


def _narrow(likelihood: Any, m: FloatArray, v: FloatArray) -> FloatArray:
    table, root = link_of(likelihood).entropy, np.sqrt(v)
    out = np.empty(m.shape)
    step = _BLOCK // _NODES.size
    for i in range(0, m.size, step):
        out[i : i + step] = table(m[i : i + step, None] + root[i : i + step, None] * _NODES) @ _WEIGHTS
    return out


def _wide(likelihood: Any, m: FloatArray, v: FloatArray) -> FloatArray:
    table = link_of(likelihood).entropy
    # every _STEP-th value of the table, mirrored; those that are nearly zero between and beyond thresholds drop out
    h = table.coefficients[0, ::_STEP]
    t = np.arange(h.shape[0]) * (_STEP / _PIECES)
    kept = np.abs(h) > 1e-20
    t, h = np.concatenate([-t[kept & (t > 0)], t[kept]]), np.concatenate([h[kept & (t > 0)], h[kept]])
    out = np.empty(m.shape)
    step = max(1, _BLOCK // t.size)
    for i in range(0, m.size, step):
        density = np.exp(np.square(t - m[i : i + step, None]) * (-0.5 / v[i : i + step, None]))
        out[i : i + step] = density @ h * (_STEP / _PIECES) / np.sqrt(2.0 * np.pi * v[i : i + step])
    return out + table.floor


# Gauss and Legendre's rule for one piece, of at most half a deviation.
_PIECE_NODES, _PIECE_WEIGHTS = np.polynomial.legendre.leggauss(5)


def mixture_information(points: list[Part]) -> FloatArray:
    """Return the mutual information (m,) of outcome and everything unknown; exactly that of one point if it is alone.

    Exchanging the sides of a pair does not matter, to the last bit.
    """
    gains = [information(point.likelihood, point.mean, point.variance) for point in points]
    if len(points) == 1:
        return gains[0]
    weight = np.array([point.weight for point in points])
    within = np.asarray(weight @ np.array(gains))
    if points[0].likelihood.normal:
        return np.asarray(within + _between_normals(points, weight))
    # whichever item is named first, the better one is put first
    side = np.where(np.sum([point.weight * point.mean for point in points], axis=0) < 0, -1.0, 1.0)
    p = np.array([point.likelihood.probability(side * point.mean, point.variance) for point in points])
    between = _entropy(np.tensordot(weight, p, axes=1)) - weight @ _entropy(p)
    return np.asarray(within + np.maximum(between, 0.0))


def _entropy(p: FloatArray) -> FloatArray:
    return np.asarray(-xlogy(p, p).sum(axis=-1))


def _between_normals(points: list[Part], weight: FloatArray) -> FloatArray:
    mean = np.array([point.mean for point in points])
    deviation = np.sqrt([point.variance + point.likelihood.noise_deviation**2 for point in points])
    own = weight @ (np.log(deviation) + 0.5 * np.log(2.0 * np.pi * np.e))
    side = np.where(weight @ mean < 0, -1.0, 1.0)
    whole = [normals_entropy(weight, m, d) for m, d in zip((side * mean).T, deviation.T, strict=True)]
    return np.asarray(np.maximum(np.array(whole) - own, 0.0))


def normals_entropy(weight: FloatArray, mean: FloatArray, deviation: FloatArray) -> float:
    """Return the entropy of a mixture of normal densities.

    Pieces are a quarter to half a deviation of each normal, rounded to powers of two, so that normals of like width
    share their pieces and narrow ones are resolved wherever they are.
    """
    step = np.exp2(np.floor(np.log2(deviation)) - 1.0)[:, None]
    edges = np.unique(step * (np.round(mean[:, None] / step) + np.arange(-36, 37)))
    half = 0.5 * np.diff(edges)[:, None]
    y = (edges[:-1, None] + half + half * _PIECE_NODES).ravel()
    t = (y[:, None] - mean) / deviation
    density = np.exp(-0.5 * t * t) @ (weight / (deviation * np.sqrt(2.0 * np.pi)))
    return float(-(half * _PIECE_WEIGHTS).ravel() @ xlogy(density, density))
