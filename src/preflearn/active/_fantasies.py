"""Simulated futures: truths drawn from the posterior answer comparisons, and beliefs follow.

Differences d = A f of t chosen pairs have covariance S = A C A' and E = C A' with the utilities. An outcome of the
j-th, with first and second derivatives g, h of its log predictive probability in the mean, updates by moment matching

    mean of f += E M e_j g,   M += h (M e_j)(S e_j)',   mean of d += S e_j g,   S += h (S e_j)(S e_j)',

where E M is the current covariance of f and d. Column j of both is put together from the earlier ones when it is
needed. Only t x t matrices differ between futures; the items enter once, at the end, through E.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from preflearn.active._outcome_information import link_of
from preflearn.operators import FloatArray, IntArray

__all__ = ["draw_outcomes", "future_means"]

# Elements of t x t matrices in one block of futures.
_BLOCK = 1 << 20


def draw_outcomes(
    likelihood: Any, truth: FloatArray, first: IntArray, second: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Return outcomes (n_futures, t) of pairs for utilities (n_futures, p).

    Drawn pair after pair, so that those of the first pairs do not depend on how many follow.
    """
    z = truth[:, first] - truth[:, second]
    uniform = rng.random(z.shape[::-1]).T
    if likelihood.normal:
        return np.asarray(z + ndtri(uniform) * likelihood.noise_deviation)
    wins, *ties = link_of(likelihood).probabilities(z)
    loses = -1.0 if not ties else np.where(uniform < wins + ties[0], 0.0, -1.0)
    return np.where(uniform < wins, 1.0, loses)


def future_means(
    likelihood: Any, mean: FloatArray, covariance: FloatArray, first: IntArray, second: IntArray, y: FloatArray
) -> FloatArray:
    """Return posterior means (n_futures, p) after outcomes y (n_futures, t) of t pairs; O(n_futures t (t² + p))."""
    E = covariance[:, first] - covariance[:, second]
    S = E[first] - E[second]
    d = mean[first] - mean[second]
    step = max(1, _BLOCK // max(1, first.shape[0] ** 2))
    w = [_coefficients(likelihood, d, S, y[i : i + step]) for i in range(0, y.shape[0], step)]
    return np.asarray(mean + np.concatenate(w) @ E.T)


def _coefficients(likelihood: Any, d: FloatArray, S: FloatArray, y: FloatArray) -> FloatArray:
    # w (n_futures, t) with mean of f = m + E w. Futures are the last axis, so that all work runs along them.
    n, t = y.shape
    means, w = np.tile(d[:, None], (1, n)), np.zeros((t, n))
    columns, weights, h = np.zeros((t, t, n)), np.zeros((t, t, n)), np.zeros((t, n))  # S e_j and M e_j at step j
    for j in range(t):
        earlier = h[:j] * columns[:j, j]
        columns[j, j:] = S[j:, j, None] + np.einsum("ir,ikr->kr", earlier, columns[:j, j:])
        weights[j, :j] = np.einsum("ir,ikr->kr", earlier, weights[:j, :j])
        weights[j, j] = 1.0
        smoothed = likelihood.smoothed(y[:, j], means[j], np.maximum(columns[j, j], 0.0))
        g, h[j] = smoothed.first, smoothed.second
        w[: j + 1] += g * weights[j, : j + 1]
        means[j:] += g * columns[j, j:]
    return w.T
