"""The posterior over hyperparameters, as a few weighted points: predictions are averaged over them.

The prior is uniform in the logarithms between the bounds. One parameter: a grid over the whole interval, finer where
the evidence is. More: importance sampling from Student's t around every optimum, with quasi-random points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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
MOST_DRAWN = 256  # points drawn for each one wanted, where most fall outside the bounds


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
    Parameters whose bounds are equal stay where they are.
    """
    free = bounds[:, 1] > bounds[:, 0]
    if not free.all():
        return _of_free(evidence, optima, bounds, n_points, seed, free)
    if bounds.shape[0] == 1:
        return _grid(evidence, optima[0], bounds, n_points)
    return _importance(evidence, optima, bounds, n_points, seed)


def _of_free(
    evidence: Evidence, optima: list[Optimum], bounds: FloatArray, n_points: int, seed: int, free: Any
) -> HyperPosterior:
    best = optima[0]
    if not free.any():
        return HyperPosterior(best.theta[None], np.ones(1), best.evidence, float(n_points))

    def of_free(theta: FloatArray) -> tuple[float, FloatArray]:
        whole = best.theta.copy()
        whole[free] = theta
        value, slope = evidence(whole)
        return value, slope[free]

    fewer = [replace(one, theta=one.theta[free], gradient=one.gradient[free]) for one in optima]
    found = average(of_free, fewer, bounds[free], n_points, seed)
    theta = np.tile(best.theta, (found.theta.shape[0], 1))
    theta[:, free] = found.theta
    return replace(found, theta=theta)


def _grid(evidence: Evidence, best: Optimum, bounds: FloatArray, n_points: int) -> HyperPosterior:
    low, high = map(float, bounds[0])
    coarse = np.linspace(low, high, max(5, n_points // 2))
    value = np.array([evidence(np.array([t]))[0] for t in coarse])
    top = max(best.evidence, *value[np.isfinite(value)].tolist(), -np.inf)
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
    if not np.isfinite(value).any():
        return _alone(best, best.evidence + np.log(gap), np.array([high - low]))
    return _weighted(grid[:, None], value + np.log(share) - np.log(high - low))


def _importance(
    evidence: Evidence, optima: list[Optimum], bounds: FloatArray, n_points: int, seed: int
) -> HyperPosterior:
    wide = np.diff(bounds, axis=1).ravel()
    kept: list[tuple[Optimum, FloatArray, float]] = []
    for optimum in optima:  # distinct ones that are not hopeless
        near = any(np.linalg.norm((optimum.theta - other.theta) / wide) < 0.02 for other, _, _ in kept)
        if near or optimum.evidence < optima[0].evidence - 5:
            continue
        L = _spread(evidence, optimum.theta, bounds)
        kept.append((optimum, L, optimum.evidence + float(np.log(np.abs(np.diag(L))).sum())))
    share = np.exp(np.array([size for *_, size in kept]) - logsumexp([size for *_, size in kept]))
    # with many parameters most points fall outside the bounds: these cost nothing, and more are drawn
    drawn = n_points
    theta = _inside(kept, share, bounds, drawn, seed)
    while theta.shape[0] < n_points / 2 and drawn < MOST_DRAWN * n_points:
        drawn *= 2
        theta = _inside(kept, share, bounds, drawn, seed)
    if not theta.shape[0]:
        return _alone(optima[0], kept[0][2], wide)
    value = np.array([evidence(point)[0] for point in theta])
    density = logsumexp(
        [np.log(s) + _log_t(theta, o.theta, L) for s, (o, L, _) in zip(share, kept, strict=True)], axis=0
    )
    # points outside the bounds have prior density 0 and count with weight 0: the mean is over all of them
    log_weight = value - density - np.log(wide).sum() - np.log(drawn)
    if not np.isfinite(log_weight).any():
        return _alone(optima[0], kept[0][2], wide)
    return _weighted(theta, log_weight)


def _inside(
    kept: list[tuple[Optimum, FloatArray, float]], share: FloatArray, bounds: FloatArray, drawn: int, seed: int
) -> FloatArray:
    """Return those of ``drawn`` points around the optima that are inside the bounds; more begin with the same ones."""
    points = qmc.Sobol(bounds.shape[0] + 2, seed=seed).random_base2(int(np.ceil(np.log2(drawn))))[:drawn]
    which = np.minimum(np.searchsorted(np.cumsum(share), points[:, 0]), len(kept) - 1)
    normal = norm.ppf(np.clip(points[:, 2:], 1e-12, 1 - 1e-12))
    chi = np.maximum(_chi_square(points[:, 1]), 1e-12)
    t = normal / np.sqrt(chi / DEGREES)[:, None]
    theta = np.array([kept[k][0].theta + kept[k][1] @ step for k, step in zip(which, t, strict=True)])
    return np.asarray(theta[((theta >= bounds[:, 0]) & (theta <= bounds[:, 1])).all(axis=1)])


def _alone(best: Optimum, size: float, wide: FloatArray) -> HyperPosterior:
    """Return the best optimum as the one point, where no other is known, with the evidence by Laplace's method."""
    total = size + 0.5 * wide.shape[0] * np.log(2 * np.pi) - np.log(wide).sum()
    return HyperPosterior(best.theta[None], np.ones(1), float(total), 1.0)


def _spread(evidence: Evidence, theta: FloatArray, bounds: FloatArray) -> FloatArray:
    """Return a Cholesky factor of the inverse curvature at an optimum, from differences of the gradient."""
    d = theta.shape[0]
    h = 1e-3
    H = np.empty((d, d))
    for i in range(d):
        e = np.eye(d)[i] * h
        up, down = np.minimum(theta + e, bounds[:, 1]), np.maximum(theta - e, bounds[:, 0])
        H[i] = -(evidence(up)[1] - evidence(down)[1]) / max(float(np.abs(up - down).sum()), 1e-12)
    H = np.where(np.isfinite(H), H, 0.0)  # where inference fails nearby the direction counts as flat
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
    known = np.isfinite(log_weight)  # where inference failed nothing is known, and the point is left out
    theta, log_weight = theta[known], log_weight[known]
    total = float(logsumexp(log_weight))
    weight = np.exp(log_weight - total)
    size = 1.0 / float((weight**2).sum())
    keep = weight > 1e-3 * weight.max()
    return HyperPosterior(theta[keep], weight[keep] / weight[keep].sum(), total, size)
