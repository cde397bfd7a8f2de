"""Rows of one prompt, task or session: an effect of the cluster on each item that it saw.

Ten votes about one prompt are not ten prompts: what made a model good on that prompt is in all of them. Effects are
independent from cluster to cluster and from item to item, h_ci ~ N(0, v).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from preflearn.terms import POPULATION, Asked, Given, Own, Parameters, Rows, Seen, Term, constant_parameters


@dataclass(frozen=True)
class Clusters(Term):
    """h_c,low - h_c,high of the row's cluster c; ``variance`` is a ConstantKernel."""

    name: ClassVar[str] = "clusters"
    variance: Any
    n_items: int

    @property
    def learned(self) -> dict[str, Parameters]:
        """The variance, if it is free."""
        return {"variance": constant_parameters(self.variance, "cluster variance")}

    def seen(self, rows: Rows) -> Seen:
        """Return +1 and -1 at the two items, in the row's cluster."""
        assert rows.cluster is not None
        return Seen(None, rows.operator(), rows.cluster, "cluster")

    def prior(self) -> Given:
        """Return v times the identity within each cluster."""
        v, free = float(self.variance.constant_value), self.variance.theta.shape[0]
        return Given(
            None,
            lambda sets: np.broadcast_to(v * np.eye(sets.shape[1]), (*sets.shape, sets.shape[1])),
            lambda M, own: np.full(free, v * sum(float(np.einsum("gkk->", S)) for _, S in own)),
        )

    def ask(self, rows: Rows) -> Asked:
        """Return covariances with the effects of the clusters that are asked about."""
        variance = np.zeros(len(rows))
        if rows.cluster is None or rows.against != "item":
            return Asked(None, None, variance)
        v, number = float(self.variance.constant_value), rows.items.number
        low, high = number[rows.low], number[rows.high]
        variance[(rows.cluster != POPULATION) & (low != high)] = 2 * v
        if not (rows.cluster >= 0).any():
            return Asked(None, None, variance)
        cross = np.zeros((len(rows), self.n_items))
        for ends, sign in ((low, v), (high, -v)):
            known = np.flatnonzero(ends < self.n_items)
            cross[known, ends[known]] += sign
        return Asked(None, Own(np.arange(len(rows)), rows.cluster, cross), variance)
