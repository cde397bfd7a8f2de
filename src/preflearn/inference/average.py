"""The posterior over hyperparameters, as a few weighted points: predictions are averaged over them.

The prior is uniform in the logarithms between the bounds. One parameter: a grid over the whole interval, finer where
the evidence is. More: importance sampling from Student's t around every optimum, with quasi-random points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import norm, qmc

from preflearn.inference.evidence import Optimum
from preflearn.operators import FloatArray

__all__ = ["HyperPosterior", "average"]

Evidence = Callable[[FloatArray], tuple[float, FloatArray]]

DEGREES = 4.0  # of freedom: tails heavier than any evidence's
DEPTH = 12.0  # nats below the maximum that still get grid points


@dataclass(frozen=True)
class HyperPosterior:
    """Weighted points in the space of log hyperparameters.

    ``log_evidence`` is that of the model with its hyperparameters integrated out; ``effective_size`` says how many
    equally weighted draws the points are worth.
    """

    theta: FloatArray  # (k, n_theta)
    weight: FloatArray  # (k,), sums to 1
    log_evidence: float
    effective_size: float


def average(evidence: Evidence, optima: list[Optimum], bounds: FloatArray, n_points: int, seed: int) -> HyperPosterior:
    """Return weighted points of the posterior over log hyperparameters.

    ``evidence(theta)`` gives the log evidence and its gradient; ``optima`` are its known maxima, the best first.
    """
    if bounds.shape[0] == 1:
        return _grid(evidence, optima[0], bounds, n_points)
    return _importance(evidence, optima, bounds, n_points, seed)


def _grid(evidence: Evidence, best: Optimum, bounds: FloatArray, n_points: int) -> HyperPosterior:
    low, high = map(float, bounds[0])
    coarse = np.linspace(low, high, max(5, n_points // 2))
    value = np.array([evidence(np.array([t]))[0] for t in coarse])
    top = max(best.evidence, float(value.max()))
    inside = np.flatnonzero(value > top - DEPTH)
    peak = float(best.theta[0])
    left = min(peak, float(coarse[inside].min()) if len(inside) else peak)
    right = max(peak, float(coarse[inside].max()) if len(inside) else peak)
    gap = float(coarse[1] - coarse[0])
    fine = np.linspace(max(low, left - gap), min(high, right + gap), max(5, n_points - len(coarse)))
    fine_value = np.array([evidence(np.array([t]))[0] for t in fine])
    grid, first = np.unique(np.concatenate([coarse, fine]), return_index=True)
    value = np.concatenate([value, fine_value])[first]
    share = np.gradient(grid) if len(grid) > 2 else np.ones_like(grid)  # the trapezoidal rule's weights
    share[[0, -1]] /= 2
    return _weighted(grid[:, None], value + np.log(share) - np.log(high - low))


def _importance(
    evidence: Evidence, optima: list[Optimum], bounds: FloatArray, n_points: int, seed: int
) -> HyperPosterior:
    d = bounds.shape[0]
    wide = np.diff(bounds, axis=1).ravel()
    kept: list[tuple[Optimum, FloatArray, float]] = []
    for optimum in optima:  # distinct ones that are not hopeless
        near = any(np.linalg.norm((optimum.theta - other.theta) / wide) < 0.02 for other, _, _ in kept)
        if near or optimum.evidence < optima[0].evidence - 5:
            continue
        L = _spread(evidence, optimum.theta, bounds)
        kept.append((optimum, L, optimum.evidence + float(np.log(np.abs(np.diag(L))).sum())))
    share = np.exp(np.array([size for *_, size in kept]) - logsumexp([size for *_, size in kept]))
    points = qmc.Sobol(d + 2, seed=seed).random_base2(int(np.ceil(np.log2(n_points))))[:n_points]
    which = np.minimum(np.searchsorted(np.cumsum(share), points[:, 0]), len(kept) - 1)
    normal = norm.ppf(np.clip(points[:, 2:], 1e-12, 1 - 1e-12))
    chi = np.maximum(_chi_square(points[:, 1]), 1e-12)
    t = normal / np.sqrt(chi / DEGREES)[:, None]
    theta = np.array([kept[k][0].theta + kept[k][1] @ step for k, step in zip(which, t, strict=True)])
    inside = ((theta >= bounds[:, 0]) & (theta <= bounds[:, 1])).all(axis=1)
    theta = theta[inside]
    value = np.array([evidence(point)[0] for point in theta])
    density = logsumexp(
        [np.log(s) + _log_t(theta, o.theta, L) for s, (o, L, _) in zip(share, kept, strict=True)], axis=0
    )
    # points outside the bounds have prior density 0 and count with weight 0: the mean is over all of them
    return _weighted(theta, value - density - np.log(wide).sum() - np.log(n_points))


def _spread(evidence: Evidence, theta: FloatArray, bounds: FloatArray) -> FloatArray:
    """Return a Cholesky factor of the inverse curvature at an optimum, from differences of the gradient."""
    d = theta.shape[0]
    h = 1e-3
    H = np.empty((d, d))
    for i in range(d):
        e = np.eye(d)[i] * h
        up, down = np.minimum(theta + e, bounds[:, 1]), np.maximum(theta - e, bounds[:, 0])
        H[i] = -(evidence(up)[1] - evidence(down)[1]) / max(float(np.abs(up - down).sum()), 1e-12)
    values, vectors = np.linalg.eigh((H + H.T) / 2)
    widest = np.diff(bounds, axis=1).ravel().max() / 4  # a flat direction is explored as far as a quarter of its range
    values = np.maximum(values, 1.0 / widest**2)
    return np.asarray(np.linalg.cholesky((vectors / values) @ vectors.T))


def _log_t(theta: FloatArray, centre: FloatArray, L: FloatArray) -> FloatArray:
    d = centre.shape[0]
    r = np.linalg.solve(L, (theta - centre).T)
    scale = gammaln((DEGREES + d) / 2) - gammaln(DEGREES / 2) - 0.5 * d * np.log(DEGREES * np.pi)
    tail = -(DEGREES + d) / 2 * np.log1p((r**2).sum(axis=0) / DEGREES)
    return np.asarray(scale - np.log(np.diag(L)).sum() + tail)


def _chi_square(uniform: FloatArray) -> Any:
    from scipy.stats import chi2

    return chi2.ppf(np.clip(uniform, 1e-12, 1 - 1e-12), DEGREES)


def _weighted(theta: FloatArray, log_weight: FloatArray) -> HyperPosterior:
    total = float(logsumexp(log_weight))
    weight = np.exp(log_weight - total)
    size = 1.0 / float((weight**2).sum())
    keep = weight > 1e-3 * weight.max()
    return HyperPosterior(theta[keep], weight[keep] / weight[keep].sum(), total, size)
