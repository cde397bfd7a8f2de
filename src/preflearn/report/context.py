"""What the sections of a report ask of a result: names that are safe to write, rows of items, probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from preflearn.analysis import RankResult
from preflearn.data import Comparisons
from preflearn.operators import FloatArray, IntArray
from preflearn.report.markup import clean


@dataclass(frozen=True)
class Shown:
    """A result as it is shown.

    Attributes
    ----------
    result : RankResult
        What was found.
    random_state : int
        Seed of what is drawn or dealt for the report.
    """

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

    def pairs(self, first: IntArray, second: IntArray) -> Comparisons:
        """Return pairs of places as comparisons of the same items, with outcomes that mean nothing."""
        data = self.result.data
        return data._take(
            np.zeros(len(first), dtype=np.intp),
            first=self.rows[first],
            second=self.rows[second],
            outcome=np.ones(len(first)),
            weight=None,
            group=None,
            judge=None,
            judges=None,
            cluster=None,
            covariates=None,
            covariate_names=None,
        )

    def probabilities(self, places: IntArray) -> FloatArray:
        """Return P(row is preferred to column) for the items at these places."""
        model, n = self.result.model, len(places)
        if hasattr(model, "preference_matrix"):
            return np.asarray(model.preference_matrix(self.labels(places)).probability)
        low, high = np.triu_indices(n, 1)
        chance = np.full((n, n), 0.5)
        if len(low):
            first = np.asarray(model.predict_proba(self.pairs(places[low], places[high])))[:, 1]
            chance[low, high], chance[high, low] = first, 1 - first
        return chance
