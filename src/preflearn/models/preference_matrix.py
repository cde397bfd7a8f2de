"""All pairs of some items: latent preferences, how sure they are, and probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preflearn.models._mixtures import Parts, mix, outcome_probabilities
from preflearn.operators import FloatArray, IntArray

__all__ = ["PreferenceMatrix", "preference_matrix_of", "probability_of"]


@dataclass(frozen=True)
class PreferenceMatrix:
    """Preferences between all pairs of items; row against column.

    Attributes
    ----------
    names : ndarray (n,)
        Names or row numbers of the items.
    mean : ndarray (n, n)
        Posterior means G of latent preferences; ``G == -G.T`` to the last bit.
    std : ndarray (n, n)
        Their posterior standard deviations.
    probability : ndarray (n, n)
        P(row is preferred to column), ties shared equally; 1/2 on the diagonal, and the two of a pair sum to 1.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import ConstantKernel
    >>> from preflearn import Comparisons, PreferenceGP
    >>> circle = Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"], weight=[9, 9, 9])
    >>> model = PreferenceGP(cyclic_kernel=ConstantKernel(), hyperparameters="fixed").fit(circle)
    >>> model.preference_matrix(["rock", "scissors", "paper"]).probability.round(2)
    array([[0.5 , 0.85, 0.15],
           [0.15, 0.5 , 0.85],
           [0.85, 0.15, 0.5 ]])
    """

    names: Any
    mean: FloatArray
    std: FloatArray
    probability: FloatArray


def preference_matrix_of(names: Any, low: IntArray, high: IntArray, parts: Parts, mixture: Any) -> PreferenceMatrix:
    """Return the matrices from means and variances of the pairs above the diagonal, for each part of a mixture."""
    n = names.shape[0]
    mean, variance = mix(parts)
    G, S, P = np.zeros((n, n)), np.zeros((n, n)), np.full((n, n), 0.5)
    G[low, high], G[high, low] = mean, -mean
    S[low, high] = S[high, low] = np.sqrt(variance)
    P[low, high], P[high, low] = probability_of(parts, mixture)
    return PreferenceMatrix(names, G, S, P)


def probability_of(parts: Parts, mixture: Any) -> tuple[FloatArray, FloatArray]:
    """Return P(first is preferred) and P(second is preferred), ties shared equally, from means and variances."""
    p = outcome_probabilities(parts, mixture)
    return p[:, 0] + p[:, 1] / 2, p[:, 2] + p[:, 1] / 2
