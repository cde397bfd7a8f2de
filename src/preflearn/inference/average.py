"""The posterior over hyperparameters, as a few weighted points: predictions are averaged over them.

The prior is uniform in the logarithms between the bounds. One parameter: a grid around every optimum, as far as the
evidence is not negligible. More: importance sampling from Student's t around every optimum, with quasi-random points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2, norm, qmc

from preflearn.inference.search import Evidence, Optimum
from preflearn.operators import FloatArray

DEGREES = 4.0  # of freedom: tails heavier than any evidence's
DEPTH = 9.0  # nats below the maximum at which a grid ends
DROPPED = 2e-4  # weight of the least important points together, without which the others do
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
    """Return weighted points of the posterior over log hyperparameters; those whose bounds are equal stay.

    ``evidence(theta)`` gives the log evidence and its gradient; ``optima`` are its known maxima, the best first.
    """
    free = bounds[:, 1] > bounds[:, 0]
    if free.all():
        return (_grid if len(free) == 1 else _importance)(evidence, optima, bounds, n_points, seed)
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


def _grid(evidence: Evidence, optima: list[Optimum], bounds: FloatArray, n_points: int, _: int) -> HyperPosterior:
    """Walk from every optimum to both sides until the evidence has fallen far, in steps of a part of its width."""
    low, high = map(float, bounds[0])
    known: dict[float, float] = {}
    for optimum in optima:
        if not known or not min(known) <= optimum.theta[0] <= max(known):
            known[float(optimum.theta[0])] = optimum.evidence
            step = 2.0 * np.sqrt(2.0 * DEPTH) / n_points * float(_spread(evidence, optimum.theta, bounds)[0, 0])
            for towards in (-step, step):
                _walk(evidence, float(optimum.theta[0]), towards, (low, high), n_points, known)
    grid = np.array(sorted(known))
    value = np.array([known[t] for t in grid])
    share = np.gradient(grid) if len(grid) > 2 else np.full(len(grid), (high - low) / 2)  # the trapezoidal rule's
    share[[0, -1]] /= 2
    if not np.isfinite(value).any():
        return _alone(optima[0], optima[0].evidence + np.log(abs(step)), np.array([high - low]))
    return _weighted(grid[:, None], value + np.log(share) - np.log(high - low))


def _walk(
    evidence: Evidence, at: float, step: float, ends: tuple[float, float], n_points: int, known: dict[float, float]
) -> None:
    # half as many steps as points reach the end if the evidence falls as a normal density does; a longer way is walked
    # in longer steps
    count = 0
    while (next_one := float(np.clip(at + step, *ends))) != at:
        at = next_one
        known[at] = evidence(np.array([at]))[0]
        if not known[at] > max(known.values()) - DEPTH:
            return
        count += 1
        if 4 * count > 3 * n_points:
            step *= 1.5


def _importance(
    evidence: Evidence, optima: list[Optimum], bounds: FloatArray, n_points: int, seed: int
) -> HyperPosterior:
    wide = np.diff(bounds, axis=1).ravel()
    kept: list[tuple[Optimum, FloatArray, float]] = []
    for optimum in optima:  # distinct ones that have not stalled below another
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
    chi = np.maximum(chi2.ppf(np.clip(points[:, 1], 1e-12, 1 - 1e-12), DEGREES), 1e-12)
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


def _weighted(theta: FloatArray, log_weight: FloatArray) -> HyperPosterior:
    known = np.isfinite(log_weight)  # where inference failed nothing is known, and the point is left out
    theta, log_weight = theta[known], log_weight[known]
    total = float(logsumexp(log_weight))
    weight = np.exp(log_weight - total)
    size = 1.0 / float((weight**2).sum())
    order = np.argsort(weight, kind="stable")
    keep = np.sort(order[np.cumsum(weight[order]) > DROPPED])
    return HyperPosterior(theta[keep], weight[keep] / weight[keep].sum(), total, size)
