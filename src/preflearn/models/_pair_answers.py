"""What the solutions of matches between items say: moments of utilities and differences, and draws.

A mixture is a list of weighted solutions, one for each point of the hyperparameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from preflearn.inference.pair_moments import Moments
from preflearn.inference.sparse_newton import Mode
from preflearn.operators import FloatArray, IntArray

__all__ = ["FEW", "deviations_of", "differences_of", "draws_of", "mean_of"]

FEW = 256  # items whose joint covariance is solved for where there is none of all items
AT_ONCE = 64  # draws that are solved for together

Mixture = Sequence[tuple[float, Any]]


def mean_of(mixture: Mixture) -> FloatArray:
    """Return the posterior means of all utilities."""
    if len(mixture) == 1:
        return np.asarray(mixture[0][1].mode.f)
    return np.asarray(np.sum([w * s.mode.f for w, s in mixture], axis=0))


def deviations_of(mixture: Mixture) -> FloatArray:
    """Return the posterior standard deviations of all utilities."""
    if len(mixture) == 1:
        return np.asarray(np.sqrt(mixture[0][1].mode.precision.variances))
    mean = mean_of(mixture)
    square = [w * (s.mode.precision.variances + np.square(s.mode.f - mean)) for w, s in mixture]
    return np.asarray(np.sqrt(np.sum(square, axis=0)))


def differences_of(mode: Mode | Moments, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of the differences of listed pairs by one solution."""
    # the lower item first: swapping sides changes no bit of the variance
    variance = mode.precision.spreads(np.minimum(first, second), np.maximum(first, second))
    return mode.f[first] - mode.f[second], np.where(first == second, 0.0, variance)


def draws_of(mixture: Mixture, number: IntArray, n_samples: int, rng: np.random.Generator, dense: int) -> FloatArray:
    """Return joint draws of the utilities of some items, (n_samples, n_items)."""
    if len(mixture) == 1:
        return _draws(mixture[0][1].mode, number, n_samples, rng, dense)
    counts = rng.multinomial(n_samples, [w for w, _ in mixture])
    parts = [
        _draws(s.mode, number, int(count), rng, dense) for count, (_, s) in zip(counts, mixture, strict=True) if count
    ]
    return np.concatenate(parts)


def _draws(mode: Mode | Moments, number: IntArray, n_samples: int, rng: np.random.Generator, dense: int) -> FloatArray:
    """Draw from the factor, or where there is none by solving with perturbed sides."""
    precision, n = mode.precision, mode.f.shape[0]
    if n > dense and len(number) <= FEW:
        values, vectors = np.linalg.eigh(precision.joint(number))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(mode.f[number] + rng.standard_normal((n_samples, len(number))) @ root.T)
    draws = np.empty((n_samples, len(number)))
    step = n_samples if n <= dense else AT_ONCE
    for start in range(0, n_samples, step):
        count = min(step, n_samples - start)
        draws[start : start + count] = precision.draw(count, rng)[number].T
    draws += mode.f[number]
    return draws
