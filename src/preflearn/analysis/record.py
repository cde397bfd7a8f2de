"""Wins, losses and ties of the items of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preflearn.data import Comparisons
from preflearn.operators import FloatArray

__all__ = ["Record", "record_of", "short_number"]

LONG = 1e5  # wins from which on a short form is shown


@dataclass(frozen=True)
class Record:
    """How often each item of a table won, lost and tied, weights counted; (n_items,) each."""

    wins: FloatArray
    losses: FloatArray
    ties: FloatArray

    @property
    def played(self) -> FloatArray:
        """Comparisons of each item."""
        return self.wins + self.losses + self.ties

    def told(self, row: int) -> str:
        """Return ``wins-losses-ties`` of one item."""
        return "-".join(short_number(value) for value in self.of(row))

    def of(self, row: int) -> tuple[float, float, float]:
        """Return the three numbers of one item."""
        return float(self.wins[row]), float(self.losses[row]), float(self.ties[row])


def short_number(value: float) -> str:
    """Return a count or a sum of weights in a few letters: 12, 0.5, 1.2e6, 0.004."""
    if value >= LONG:
        return f"{value:.2g}".replace("e+0", "e").replace("e+", "e")
    if 0 < value < 0.05:
        return f"{value:.1g}"
    return f"{value:.0f}" if value.is_integer() else f"{value:.1f}"


def record_of(data: Comparisons) -> Record:
    """Return wins, losses and ties of the items of comparisons."""
    weight = np.ones(len(data)) if data.weight is None else np.asarray(data.weight, dtype=np.float64)

    def count(*parts: tuple[Any, Any]) -> FloatArray:
        sums = (np.bincount(item[mask], weight[mask], data.n_items) for item, mask in parts)
        return np.asarray(sum(sums, np.zeros(data.n_items)))

    up, down, level = data.outcome > 0, data.outcome < 0, data.outcome == 0
    return Record(
        count((data.first, up), (data.second, down)),
        count((data.first, down), (data.second, up)),
        count((data.first, level), (data.second, level)),
    )
