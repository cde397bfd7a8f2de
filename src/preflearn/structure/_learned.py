"""What learned preferences say: how far a ranking explains them, where they run in circles, and who wins."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.models import PreferenceGP
from preflearn.models.preference_matrix import PreferenceMatrix
from preflearn.structure.graph import FloatArray, smith_sizes, strongest_cycles

__all__ = ["cycles", "shares", "winners"]

MOST_DRAWN = 40  # items whose preferences are drawn jointly


def shares(G: FloatArray) -> tuple[float, float]:
    """Return the shares of preferences (n, n) that differences of utilities explain best, and of the rest."""
    f = G.mean(axis=1)
    total = float(np.sum(G**2))
    ranking = float(np.sum((f[:, None] - f[None, :]) ** 2))
    return (ranking / total, max(total - ranking, 0.0) / total) if total > 0 else (0.0, 0.0)


def cycles(matrix: PreferenceMatrix, count: int) -> list[tuple[float, list[Any]]]:
    """Return the strongest cycles of learned preferences, each with the probability of its weakest one."""
    P, names = matrix.probability, matrix.names
    first, second = np.nonzero(P > 0.5)
    found = strongest_cycles(first, second, P[first, second], count)
    return [(strength, [names[item] for item in cycle]) for strength, cycle in found]


def winners(
    model: PreferenceGP, names: Any, score: FloatArray, n_samples: int, random_state: Any
) -> tuple[list[tuple[Any, float]], list[tuple[Any, float]]]:
    """Return who beats everybody, and who is in the Smith set, with their probabilities, from joint draws.

    Those of the highest score are drawn, which is how much each is preferred on average.
    """
    some = np.sort(np.argsort(-score, kind="stable")[:MOST_DRAWN])
    table = names[some] if model.item_names_ is not None else some
    beats = model.sample_preferences(table, n_samples, random_state) > 0
    everybody = (beats.sum(axis=2) == len(some) - 1).mean(axis=0)
    member = smith_sizes(beats)[1].mean(axis=0)

    def listed(share: FloatArray) -> list[tuple[Any, float]]:
        order = np.argsort(-share, kind="stable")
        return [(names[some[item]], float(share[item])) for item in order if share[item] > 0]

    return listed(everybody), listed(member)
