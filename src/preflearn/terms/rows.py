"""What rows are about: two items, the side the lower one stood on, who judged, in which cluster, with which covariates.

The same type describes the rows that a model learns from and whatever it is asked afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["POPULATION", "UNKNOWN", "FloatArray", "IntArray", "Items", "Rows", "Who"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# In place of the number of a judge or of a cluster: what all have in common, and one that was never seen before.
POPULATION, UNKNOWN = -1, -2


class Items(NamedTuple):
    """Items to ask about: their features, and which latent of training each is (numbers from n_items on: new ones)."""

    X: Any
    number: IntArray

    def __getitem__(self, rows: Any) -> Items:
        """Return some of them."""
        return Items(None if self.X is None else self.X[rows], self.number[rows])


class Who(NamedTuple):
    """Who judges: numbers of judges of training, `POPULATION`, `UNKNOWN`, or n_judges + a row of ``X``."""

    number: IntArray
    X: Any = None


@dataclass(frozen=True)
class Rows:
    """Rows (p,) about pairs of items, or about single ones.

    Attributes
    ----------
    items : Items
        The items that rows are about.
    low, high : ndarray (p,)
        Places of the two items among them; a row's value is that of ``low`` against ``high``.
    against : {"item", "nothing", "mean"}
        Whether a row is about two items, about the utility of ``low`` alone, or about how much ``low`` is preferred to
        all of the items on average; ``high`` counts for two items only.
    side : ndarray (p,) or None
        +1 where ``low`` stood on the first side, -1 where on the second; None: no side.
    who : Who or None
        Who judges; None where judges are not told apart.
    cluster : ndarray (p,) or None
        Numbers of clusters, `POPULATION` or `UNKNOWN`; None where clusters are not told apart.
    covariates : ndarray (p, q) or None
        Numbers of ``low`` less those of ``high``; None: equal.
    """

    items: Items
    low: IntArray
    high: IntArray
    against: Literal["item", "nothing", "mean"] = "item"
    side: FloatArray | None = None
    who: Who | None = None
    cluster: IntArray | None = None
    covariates: FloatArray | None = None

    def __len__(self) -> int:
        return int(self.low.shape[0])

    @classmethod
    def of_items(cls, items: Items, against: Literal["nothing", "mean"], **more: Any) -> Rows:
        """Return a row for each of some items."""
        places = np.arange(len(items.number))
        return cls(items, places, places, against, **more)

    def part(self, rows: Any) -> Rows:
        """Return some of the rows."""

        def some(x: Any) -> Any:
            return None if x is None else x[rows]

        who = None if self.who is None else Who(self.who.number[rows], self.who.X)
        return replace(
            self,
            low=self.low[rows],
            high=self.high[rows],
            side=some(self.side),
            who=who,
            cluster=some(self.cluster),
            covariates=some(self.covariates),
        )

    @property
    def ends(self) -> tuple[IntArray, IntArray]:
        """Places of both ends in what `extended` returns."""
        n = len(self.items.number)
        if self.against == "item":
            return self.low, self.high
        return self.low, np.full(len(self), n)

    def operator(self) -> Any:
        """Return the sparse operator (p, items) with +1 at one end and -1 at the other, over what is `extended`."""
        p, (low, high) = len(self), self.ends
        size = len(self.items.number) + (self.against != "item")
        rows = np.tile(np.arange(p), 2)
        return sp.csr_array((np.repeat([1.0, -1.0], p), (rows, np.concatenate([low, high]))), shape=(p, size))

    def extended(self, M: FloatArray) -> FloatArray:
        """Return rows of numbers for the items with one more row for what they stand against, if that is no item."""
        if self.against == "item":
            return M
        return np.vstack([M, M.mean(axis=0) if self.against == "mean" else np.zeros(M.shape[1])])
