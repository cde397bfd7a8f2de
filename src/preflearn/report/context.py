"""What the sections of a report ask of a result: names that are safe to write, rows of items, probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from preflearn.analysis import RankResult
from preflearn.operators import IntArray
from preflearn.report.markup import clean


@dataclass(frozen=True)
class Shown:
    """A result as it is shown; ``random_state`` is the seed of what is drawn or dealt for the report."""

    result: RankResult
    random_state: int

    @cached_property
    def names(self) -> list[str]:
        """Names of the ranked items, the best first, cleaned and not yet escaped."""
        return [clean(name) for name in self.result.ranking.names]

    @cached_property
    def rows(self) -> IntArray:
        """Rows of the item table of the ranked items, the best first."""
        known = self.result.data.names
        ranked = self.result.ranking.names
        if known is None:
            return np.array([int(row) for row in ranked], dtype=np.intp)
        place = {name: row for row, name in enumerate(known)}
        return np.array([place[name] for name in ranked], dtype=np.intp)

    @cached_property
    def place(self) -> IntArray:
        """Place in the ranking, from 0, of every row of the item table; -1 for items that are not ranked."""
        place = np.full(self.result.data.n_items, -1, dtype=np.intp)
        place[self.rows] = np.arange(len(self.rows))
        return place

    @cached_property
    def verdict(self) -> str:
        """The verdict on rankability, or an empty string."""
        return "" if self.result.rankability is None else self.result.rankability.verdict

    def labels(self, places: Any) -> Any:
        """Return what a model knows the items at these places by."""
        rows = self.rows[places]
        return rows if self.result.data.names is None else self.result.data.names[rows]
