"""Utilities of items: a row sees that of its lower item less that of its higher one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preflearn.kernels.pairs import difference_gram
from preflearn.terms._contract import Asked, Combined, Direct, Given, Multiple, Seen, pair_design
from preflearn.terms.item_kernel import ItemKernel
from preflearn.terms.parameters import Parameters
from preflearn.terms.rows import FloatArray, Items, Rows

__all__ = ["Utility"]


@dataclass(frozen=True)
class Utility:
    """f_low - f_high, f with the covariance of ``items``; latents are the utilities of the items of training."""

    items: ItemKernel

    @property
    def parameters(self) -> Parameters:
        """Free parameters of the covariance."""
        return self.items.parameters

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of."""
        return {"utility": self.items}

    def with_theta(self, theta: FloatArray) -> Utility:
        """Return the same term at other parameters."""
        return replace(self, items=self.items.with_theta(theta))

    def seen(self, rows: Rows) -> Seen:
        """Return +1 and -1 at the two items."""
        return Seen(pair_design(rows, self.items.n_items), alike=self.items.kernel is None)

    def prior(self) -> Given:
        """Return the kernel matrix, or without features a multiple of the identity."""
        if self.items.kernel is None:
            v, free = self.items.own_variance, len(self.parameters)
            return Given(Multiple(v, self.items.n_items), None, lambda trace, own: np.full(free, v * trace))
        K, pull = self.items.gram()
        return Given(K, None, lambda M, own: pull(M))

    def ask(self, rows: Rows) -> Asked:
        """Return covariances of differences with the utilities of training; without features these utilities."""
        if self.items.kernel is None:
            direct = Direct(rows.operator(), *self.items.places(rows), self.items.own_variance)
            return Asked(direct, None, direct.total)
        Q = rows.extended(self.items.cross(rows.items))
        return Asked(Combined(rows.operator(), Q), None, self.variance(rows))

    def variance(self, rows: Rows) -> FloatArray:
        """Return the prior variances of differences."""
        if rows.against == "item":
            return self.items.pair_variance(rows.items, rows.low, rows.high)
        one, other, shared = self.items.ends(rows)
        return np.asarray(np.maximum(one + other - 2 * shared, 0.0))

    def means(self, items: Items, a: FloatArray) -> FloatArray:
        """Return differences of the mean utilities of all items."""
        f = self.items.cross(items) @ a
        return np.asarray(f[:, None] - f)

    def covariance(self, rows: Rows) -> FloatArray:
        """Return the prior covariance of differences."""
        G: Any = self.items.extended(rows)
        return difference_gram(G, rows.ends, rows.ends)
