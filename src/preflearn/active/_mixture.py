"""What an outcome tells where hyperparameters are averaged over.

The posterior of a difference is then a mixture: point c of the hyperparameters has weight w_c, z ~ N(m_c, v_c) and its
own likelihood. The mutual information of an outcome with everything that is unknown, utilities and hyperparameters, is

    I = H(Σ_c w_c p̄_c) - Σ_c w_c E_c[h_c(z)] = Σ_c w_c I_c + [H(Σ_c w_c p̄_c) - Σ_c w_c H(p̄_c)],

where I_c = H(p̄_c) - E_c[h_c(z)] is that at one point (`_outcome_information`). The bracket is what the outcome
tells about the hyperparameters, at least 0. For Gaussian margins p̄_c is a normal density, and the entropy of their
mixture an integral, computed to about 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from preflearn.active._beliefs import Beliefs
from preflearn.active._criteria import Utilities, highest
from preflearn.active._outcome_information import information
from preflearn.active._pool import Pool
from preflearn.models.ranking import DifferencePosterior
from preflearn.operators import FloatArray, IntArray

__all__ = ["OneOfMixture", "information_of_pairs", "mixture_information"]

# Candidates whose mixtures are looked at; of more, those that promise most by one normal.
_FULL = 2048
# Gauss and Legendre's rule for one piece, of at most half a deviation.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)


def information_of_pairs(pool: Pool, first: IntArray, second: IntArray) -> FloatArray:
    """Return what outcomes of pairs of a pool would tell, in nats, (m,)."""
    parts = [mixture_information(points) for points in pool.difference_posteriors(first, second)]
    return np.concatenate(parts) if parts else np.zeros(0)


def mixture_information(points: list[DifferencePosterior]) -> FloatArray:
    """Return the mutual information (m,) of outcome and everything unknown; exactly that of one point if it is alone.

    Exchanging the sides of a pair does not matter, to the last bit.
    """
    gains = [information(point.likelihood, point.mean, np.square(point.std)) for point in points]
    if len(points) == 1:
        return gains[0]
    weight = np.array([point.weight for point in points])
    told = np.asarray(weight @ np.array(gains))
    if points[0].likelihood.normal:
        return np.asarray(told + _between_normals(points, weight))
    # whichever item is named first, the better one is put first
    side = np.where(np.sum([point.weight * point.mean for point in points], axis=0) < 0, -1.0, 1.0)
    p = np.array([point.likelihood.probability(side * point.mean, np.square(point.std)) for point in points])
    between = _entropy(np.tensordot(weight, p, axes=1)) - weight @ _entropy(p)
    return np.asarray(told + np.maximum(between, 0.0))


def _entropy(p: FloatArray) -> FloatArray:
    return np.asarray(-xlogy(p, p).sum(axis=-1))


def _between_normals(points: list[DifferencePosterior], weight: FloatArray) -> FloatArray:
    mean = np.array([point.mean for point in points])
    deviation = np.sqrt([np.square(point.std) + point.likelihood.noise_deviation**2 for point in points])
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
    y = (edges[:-1, None] + half + half * _NODES).ravel()
    t = (y[:, None] - mean) / deviation
    density = np.exp(-0.5 * t * t) @ (weight / (deviation * np.sqrt(2.0 * np.pi)))
    return float(-(half * _WEIGHTS).ravel() @ xlogy(density, density))


class OneOfMixture(Utilities):
    """Information about all utilities and hyperparameters, by the mixture: for one choice."""

    def __init__(self, beliefs: Beliefs, evaluate_mixture: Callable[[IntArray], FloatArray]) -> None:
        super().__init__(beliefs)
        self.evaluate_mixture = evaluate_mixture

    def best(self, alive: NDArray[np.bool_]) -> tuple[int, float] | None:
        """Return the best candidate that is alive and its gain, or None where none is alive."""
        if not alive.any():
            return None
        rows = np.flatnonzero(alive)
        if rows.size > _FULL:
            rows = np.sort(rows[np.argpartition(-self.gain[rows], _FULL)[:_FULL]])
        gain = self.evaluate_mixture(rows)
        place = highest(gain)
        return int(rows[place]), float(gain[place])
