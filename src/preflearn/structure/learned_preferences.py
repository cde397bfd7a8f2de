"""What learned preferences say: how far a ranking explains them, where they run in circles, and who wins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from preflearn.models import PreferenceGP
from preflearn.structure.graph import FloatArray, smith_sizes, strongest_cycles

__all__ = ["Said", "Winners", "said_by", "shares"]

MOST_DRAWN = 40  # items whose preferences are drawn jointly
QUICK, MORE = 1e9, 10  # operations that are; and how many times as many cycles are looked at where there are more


class Said(NamedTuple):
    """What a model has learned about all pairs of items, ready to be told."""

    ranking_share: float
    cyclic_share: float
    ordered: bool  # whether one order agrees with all preferences
    cycles: list[tuple[float, list[Any]]]
    winners: Winners


@dataclass(frozen=True)
class Winners:
    """Who wins against everybody, by joint draws that are made when somebody asks."""

    model: PreferenceGP
    names: Any
    score: FloatArray  # how much each is preferred on average
    n_samples: int
    random_state: Any

    @cached_property
    def found(self) -> tuple[list[tuple[Any, float]], list[tuple[Any, float]]]:
        """Who beats everybody, and who is in the Smith set, with their probabilities, among those of highest score."""
        some = np.sort(np.argsort(-self.score, kind="stable")[:MOST_DRAWN])
        table = self.names[some] if self.model.item_names_ is not None else some
        beats = self.model.sample_preferences(table, self.n_samples, self.random_state) > 0
        everybody = (beats.sum(axis=2) == len(some) - 1).mean(axis=0)
        member = smith_sizes(beats)[1].mean(axis=0)

        def listed(share: FloatArray) -> list[tuple[Any, float]]:
            order = np.argsort(-share, kind="stable")
            return [(self.names[some[item]], float(share[item])) for item in order if share[item] > 0]

        return listed(everybody), listed(member)


def said_by(model: PreferenceGP, n_cycles: int, n_samples: int, random_state: Any) -> Said:
    """Return what a fitted model says about the items it learned from."""
    around: list[tuple[float, list[int]]] = []
    if model.cyclic_kernel is None:  # what a utility prefers has no cycles, and all pairs need not be asked about
        score = np.asarray(model.predict_utility())
        parts, ordered = (float(np.any(score != score[0])), 0.0), True
    else:
        G, P = _preferences(model)
        score, around = G.sum(axis=1), _cycles(model, G, P, n_cycles)
        parts, ordered = shares(G), _ordered(G)
    names = np.arange(len(score)) if model.item_names_ is None else model.item_names_
    named = [(strength, [names[item] for item in cycle]) for strength, cycle in around]
    return Said(*parts, ordered, named, Winners(model, names, score, n_samples, random_state))


def shares(G: FloatArray) -> tuple[float, float]:
    """Return the shares of preferences (n, n) that differences of utilities explain best, and of the rest."""
    f = G.mean(axis=1)
    total = float(np.sum(G**2))
    ranking = float(np.sum((f[:, None] - f[None, :]) ** 2))
    return (ranking / total, max(total - ranking, 0.0) / total) if total > 0 else (0.0, 0.0)


def _ordered(G: FloatArray) -> bool:
    return int(connected_components(G > 0, directed=True, connection="strong")[0]) == len(G)


def _preferences(model: PreferenceGP) -> tuple[FloatArray, FloatArray | None]:
    """Return learned preferences between all items, and their probabilities, or None where these would take long."""
    if model._matrix_cost() > QUICK:
        return model._mean_preferences(), None
    matrix = model.preference_matrix()
    return matrix.mean, matrix.probability


def _cycles(model: PreferenceGP, G: FloatArray, P: FloatArray | None, count: int) -> list[tuple[float, list[int]]]:
    """Return the strongest cycles of learned preferences, each with the probability of its weakest one.

    Without probabilities of all pairs, those are asked for that are in the strongest cycles by preferences alone.
    """
    if P is not None:
        first, second = np.nonzero(P > 0.5)
        return strongest_cycles(first, second, P[first, second], count)
    first, second = np.nonzero(G > 0)
    found = [np.array(cycle) for _, cycle in strongest_cycles(first, second, G[first, second], MORE * count)]
    if not found:
        return []
    before, after = np.concatenate(found), np.concatenate([np.roll(cycle, -1) for cycle in found])
    p = np.split(model._pair_probabilities(before, after), np.cumsum([len(cycle) for cycle in found])[:-1])
    ordered = sorted(zip([float(part.min()) for part in p], found, strict=True), key=lambda one: -one[0])
    return [(strength, cycle.tolist()) for strength, cycle in ordered[:count]]
