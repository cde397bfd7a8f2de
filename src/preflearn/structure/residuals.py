"""What a ranking leaves unexplained: whether its residuals run in circles more than noise would make them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from preflearn.data import Comparisons
from preflearn.structure.graph import FloatArray

__all__ = ["chance", "cyclic_residuals"]

SIMULATIONS, FEWER = 999, 199
LARGE = 2e6  # multiplications of one simulation from which on there are fewer
LOST = 1e-3  # share of a kernel's variance that its leading functions may lose


def chance(X: Comparisons, likelihood: Any) -> float:
    """Return the log evidence of no preferences at all, ties and margins being as frequent and as large as they are."""
    weight = np.ones(len(X)) if X.weight is None else X.weight
    total = float(weight.sum())
    if hasattr(likelihood, "precision"):
        square = float(weight @ np.square(X.outcome)) / total
        return -0.5 * total * (math.log(2 * math.pi * square) + 1.0) if square > 0 else math.inf
    tied = float(weight[X.outcome == 0].sum())
    return float(xlogy(tied, tied / total) + xlogy(total - tied, (total - tied) / (2 * total)))


def cyclic_residuals(ranking: Any, circles: Any, random_state: Any) -> float:
    """Return the p-value of the score test for a cyclic part beside a fitted ranking, by simulation.

    The statistic is r'Gr, r the derivatives of log p(y | z) at the ranking's differences z, and G the covariance of a
    cyclic part, as ``circles`` has learned it: for items with kernel ΦΦ' half the squared norm of Φ'RΦ, R the skew
    matrix of residuals, with Φ centred so that no part of a utility counts. Outcomes of simulations come from the same
    z, which was fitted to the observed ones and not to them: their residuals are larger on average, so that the test
    errs on the side of a ranking.
    """
    X, likelihood = ranking.comparisons_, ranking.likelihood_
    weight = np.ones(len(X)) if X.weight is None else X.weight
    z = ranking.predict_difference(X)
    rng = np.random.default_rng(random_state if isinstance(random_state, int) else 0)
    statistic, cost = _statistic(X, circles)
    count = SIMULATIONS if cost < LARGE else FEWER
    observed = statistic(weight * likelihood.log_density(_signs(X, likelihood), z).first)
    draw = _simulator(likelihood, z, weight, rng)
    above = sum(statistic(draw()) >= observed * (1 - 1e-12) for _ in range(count))
    return float((1 + above) / (1 + count))


def _signs(X: Comparisons, likelihood: Any) -> FloatArray:
    return X.outcome if hasattr(likelihood, "precision") else np.sign(X.outcome)


def _simulator(likelihood: Any, z: FloatArray, weight: FloatArray, rng: np.random.Generator) -> Any:
    """Return a function that draws outcomes and returns their residuals; a weight of 3 is three outcomes."""
    if hasattr(likelihood, "precision"):
        deviation = likelihood.noise_deviation
        return lambda: np.sqrt(weight) * rng.standard_normal(z.shape) / deviation
    p = likelihood.probability(z, np.zeros(z.shape))  # first, tie, second
    slopes = np.column_stack([likelihood.log_density(np.full(z.shape, y), z).first for y in _outcomes(likelihood)])
    p = p[:, [0, 2]] if slopes.shape[1] == 2 else p[:, [0, 2, 1]]
    times = np.maximum(np.round(weight), 1).astype(np.int64)
    scale = weight / times
    share = p / p.sum(axis=1, keepdims=True)
    return lambda: scale * np.einsum("ij,ij->i", rng.multinomial(times, share), slopes)


def _outcomes(likelihood: Any) -> tuple[float, ...]:
    return (1.0, -1.0) if likelihood.tie is None else (1.0, -1.0, 0.0)


def _statistic(X: Comparisons, circles: Any) -> tuple[Any, float]:
    """Return r -> r'Gr, and its cost."""
    low, high = np.minimum(X.first, X.second), np.maximum(X.first, X.second)
    sign = np.where(X.first == low, 1.0, -1.0)
    pairs, place = np.unique(low * X.n_items + high, return_inverse=True)
    place = place.ravel()
    if X.items is None:
        return lambda r: float(np.square(np.bincount(place, sign * r)).sum()), float(len(X))
    i, j = pairs // X.n_items, pairs % X.n_items
    used, ends = np.unique(np.concatenate([i, j]), return_inverse=True)
    m, n = len(pairs), len(used)
    # without the constant function: skew functions of the others sum to zero over opponents, as no utility does
    K = circles._solution.prior.cyclic.gram()[0]
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    if not np.trace(K) > 0:
        return lambda r: 0.0, 0.0
    values, V = np.linalg.eigh(K / np.trace(K))
    kept = np.cumsum(np.maximum(values, 0.0)) > LOST
    Phi = V[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))
    rows, columns = np.concatenate([ends[:m], ends[m:]]), np.concatenate([ends[m:], ends[:m]])

    def norm(r: FloatArray) -> float:
        s = np.bincount(place, sign * r, minlength=m)
        R = sp.csr_array((np.concatenate([s, -s]), (rows, columns)), shape=(n, n))
        return float(np.square(Phi.T @ (R @ Phi)).sum())

    return norm, float(m * Phi.shape[1] + n * Phi.shape[1] ** 2)
