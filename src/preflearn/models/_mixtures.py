"""Answers of a mixture over points of the hyperparameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from preflearn.operators import FloatArray

__all__ = ["DifferencePosterior", "Parts", "mix", "outcome_probabilities", "share_ties"]

Parts = list[tuple[float, FloatArray, FloatArray]]  # weight, means, and variances or a covariance


class DifferencePosterior(NamedTuple):
    """Utility differences at one point of the hyperparameters: z ~ N(mean, std²), seen through ``likelihood``."""

    weight: float
    likelihood: Any
    mean: FloatArray
    std: FloatArray


def mix(parts: Parts) -> tuple[FloatArray, FloatArray]:
    """Return mean and variances, or covariance, of a mixture."""
    if len(parts) == 1:
        return parts[0][1], parts[0][2]
    mean = np.sum([w * m for w, m, _ in parts], axis=0)
    away = [np.outer(m - mean, m - mean) if v.ndim > m.ndim else (m - mean) ** 2 for _, m, v in parts]
    return mean, np.sum([w * (v + square) for (w, _, v), square in zip(parts, away, strict=True)], axis=0)


def outcome_probabilities(parts: Parts, mixture: Any) -> FloatArray:
    """Return P(first), P(tie) and P(second) from means and variances at every point of the hyperparameters, (m, 3)."""
    p = sum(w * s.likelihood.probability(m, v) for (w, m, v), (_, s) in zip(parts, mixture, strict=True))
    return np.asarray(p)


def share_ties(p: FloatArray) -> FloatArray:
    """Return P(second) and P(first) from P(second), P(tie) and P(first); both sum to 1 to the last bit."""
    second, first = p[:, 0] + 0.5 * p[:, 1], p[:, 2] + 0.5 * p[:, 1]
    more = np.maximum(first, second) / (first + second)  # of the larger, so that swapped sides give swapped answers
    return np.where(
        (first >= second)[:, None], np.column_stack([1.0 - more, more]), np.column_stack([more, 1.0 - more])
    )
