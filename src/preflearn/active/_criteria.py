"""Choosing the best candidate again and again: greedy, and lazy.

A batch is built one pair at a time, each the best given that those before it will be answered. What a pair tells about
the utilities shrinks with its variance, so the gains of earlier steps are bounds for later ones: only pairs whose bound
is above the best of the freshly evaluated ones need another look. (With ties the gain of a very uncertain pair may rise
by a little when its variance falls; the choice is then the best up to that.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from preflearn.active._beliefs import Beliefs
from preflearn.operators import FloatArray, IntArray

__all__ = ["Criterion", "Utilities", "highest"]

# Gains that differ by less than this share are equal, so that rounding does not choose; the first candidate wins.
_EQUAL = 1e-9


def highest(gain: FloatArray) -> int:
    """Return the first of the highest gains, up to rounding."""
    return int(np.flatnonzero(gain >= gain.max() * (1.0 - _EQUAL))[0])


class Criterion(ABC):
    """Gains of candidates, evaluated when they are needed."""

    block = 512

    def __init__(self, beliefs: Beliefs, gain: FloatArray) -> None:
        self.beliefs = beliefs
        self.gain = gain
        self.fresh = np.ones(gain.shape[0], dtype=bool)

    @abstractmethod
    def evaluate(self, rows: IntArray) -> FloatArray:
        """Return the gains of some candidates now."""

    def best(self, alive: NDArray[np.bool_]) -> tuple[int, float] | None:
        """Return the best candidate that is alive and its gain, or None where none is alive."""
        if not alive.any():
            return None
        while True:
            bound = np.where(alive, self.gain, -np.inf)
            stale = alive & ~self.fresh
            reached = np.where(self.fresh, bound, -np.inf).max()
            todo = np.flatnonzero(stale & (bound >= reached * (1.0 - _EQUAL)))
            if not todo.size:
                row = highest(bound)
                return row, float(self.gain[row])
            if todo.size > self.block:
                todo = np.sort(todo[np.argpartition(-bound[todo], self.block)[: self.block]])
            self.gain[todo] = self.evaluate(todo)
            self.fresh[todo] = True

    def condition(self, row: int) -> None:
        """Take a candidate as answered."""
        self.beliefs.condition(row)
        self.fresh[:] = False


class Utilities(Criterion):
    """Information about all utilities."""

    def __init__(self, beliefs: Beliefs) -> None:
        super().__init__(beliefs, beliefs.information(slice(None)))

    def evaluate(self, rows: IntArray) -> FloatArray:
        """Return the gains of some candidates now."""
        return self.beliefs.information(rows)
