"""Answers of a mixture over points of the hyperparameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from preflearn.operators import FloatArray

__all__ = ["DifferencePosterior", "mix", "share_ties"]


class DifferencePosterior(NamedTuple):
    """Utility differences at one point of the hyperparameters: z ~ N(mean, std²), seen through ``likelihood``."""

    weight: float
    likelihood: Any
    mean: FloatArray
    std: FloatArray


def mix(parts: list[tuple[float, FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of a mixture."""
    if len(parts) == 1:
        return parts[0][1], parts[0][2]
    mean = np.sum([w * m for w, m, _ in parts], axis=0)
    return mean, np.sum([w * (v + (m - mean) ** 2) for w, m, v in parts], axis=0)


def share_ties(p: FloatArray) -> FloatArray:
    """Return P(second) and P(first) from P(second), P(tie) and P(first); both sum to 1 to the last bit."""
    second, first = p[:, 0] + 0.5 * p[:, 1], p[:, 2] + 0.5 * p[:, 1]
    more = np.maximum(first, second) / (first + second)  # of the larger, so that swapped sides give swapped answers
    return np.where(
        (first >= second)[:, None], np.column_stack([1.0 - more, more]), np.column_stack([more, 1.0 - more])
    )
