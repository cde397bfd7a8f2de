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
    z, and their residuals are those after one Newton step of a new ranking, since the observed ones had theirs, too.
    """
    X, likelihood = ranking.comparisons_, ranking.likelihood_
    weight = np.ones(len(X)) if X.weight is None else X.weight
    z = ranking.predict_difference(X)
    rng = np.random.default_rng(random_state if isinstance(random_state, int) else 0)
    low, high = np.minimum(X.first, X.second), np.maximum(X.first, X.second)
    sign = np.where(X.first == low, 1.0, -1.0)
    pairs, place = np.unique(low * X.n_items + high, return_inverse=True)
    used, numbers = np.unique(np.concatenate([pairs // X.n_items, pairs % X.n_items]), return_inverse=True)
    m, n = len(pairs), len(used)
    ends = numbers[:m], numbers[m:]

    def of_pairs(rows: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(place.ravel(), rows, minlength=m))

    draw, information = _simulator(likelihood, z, weight, rng)
    observed = of_pairs(sign * weight * likelihood.log_density(_signs(X, likelihood), z).first)
    W = of_pairs(information)
    A = sp.csr_array((np.tile([1.0, -1.0], m), (np.repeat(np.arange(m), 2), np.ravel(np.column_stack(ends)))), (m, n))
    prior = ranking._solution.prior
    K = getattr(prior, "utility", prior).gram()[0]
    step = np.linalg.solve(np.eye(n) + K @ (A.T @ sp.diags_array(W) @ A).toarray(), K)  # of utilities, by their slopes
    statistic, cost = _statistic(n, ends, None if X.items is None else circles._solution.prior.cyclic.gram()[0])
    slope, seen = A.T @ observed, statistic(observed)
    above, count = 0, SIMULATIONS if cost + n**2 < LARGE else FEWER
    smallest = 1e-12 * float(np.square(of_pairs(weight)).sum())  # rounding
    for _ in range(count):
        drawn = of_pairs(sign * draw())
        drawn -= W * (A @ (step @ (A.T @ drawn - slope)))
        above += statistic(drawn) >= seen * (1 - 1e-9) - smallest
    return float((1 + above) / (1 + count))


def _signs(X: Comparisons, likelihood: Any) -> FloatArray:
    return X.outcome if hasattr(likelihood, "precision") else np.sign(X.outcome)


def _simulator(likelihood: Any, z: FloatArray, weight: FloatArray, rng: np.random.Generator) -> tuple[Any, FloatArray]:
    """Return a function that draws outcomes and returns their residuals, and the variances of these.

    A weight of 3 is three outcomes.
    """
    if hasattr(likelihood, "precision"):
        information = weight * likelihood.precision
        return lambda: np.sqrt(information) * rng.standard_normal(z.shape), information
    p = likelihood.probability(z, np.zeros(z.shape))  # first, tie, second
    slopes = np.column_stack([likelihood.log_density(np.full(z.shape, y), z).first for y in _outcomes(likelihood)])
    p = p[:, [0, 2]] if slopes.shape[1] == 2 else p[:, [0, 2, 1]]
    times = np.maximum(np.round(weight), 1).astype(np.int64)
    scale, share = weight / times, p / p.sum(axis=1, keepdims=True)
    information = weight * np.einsum("ij,ij->i", share, slopes**2)
    return lambda: scale * np.einsum("ij,ij->i", rng.multinomial(times, share), slopes), information


def _outcomes(likelihood: Any) -> tuple[float, ...]:
    return (1.0, -1.0) if likelihood.tie is None else (1.0, -1.0, 0.0)


def _statistic(n: int, ends: tuple[Any, Any], K: FloatArray | None) -> tuple[Any, float]:
    """Return r -> r'Gr for residuals of pairs, and its cost; without a kernel between items G is the identity."""
    m = ends[0].shape[0]
    if K is None:
        return lambda r: float(r @ r), float(m)
    # without the constant function: skew functions of the others sum to zero over opponents, as no utility does
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    if not np.trace(K) > 0:
        return lambda r: 0.0, 0.0
    values, V = np.linalg.eigh(K / np.trace(K))
    kept = np.cumsum(np.maximum(values, 0.0)) > LOST
    Phi = V[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))
    rows, columns = np.concatenate(ends), np.concatenate(ends[::-1])

    def norm(r: FloatArray) -> float:
        R = sp.csr_array((np.concatenate([r, -r]), (rows, columns)), shape=(n, n))
        return float(np.square(Phi.T @ (R @ Phi)).sum())

    return norm, float(m * Phi.shape[1] + n * Phi.shape[1] ** 2)
