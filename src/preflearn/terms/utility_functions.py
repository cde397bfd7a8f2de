"""Utilities as sums of functions of the features, f = F u + e, for more items than a kernel matrix can be held of.

Rows see the same as of `Utility`, but the prior covariance of the n utilities is FF' with F (n, r), and with effects of
the items themselves, e, their variance on its diagonal. What the functions do not hold of the kernel's variance is
independent from item to item where new values are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preflearn.kernels import gram_diag
from preflearn.kernels.functions import Functions
from preflearn.terms import Asked, Combined, FloatArray, Given, Items, OfFunctions, Products, Rows, Seen
from preflearn.terms.utility import Utility


@dataclass(frozen=True)
class UtilityFunctions(Utility):
    """f_low - f_high, f a sum of functions that stand in for the kernel of ``items``.

    Variances and covariances that are asked for are those of the kernel, not of the functions alone.
    """

    functions: Functions

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of."""
        return {"utility": self.items, "utility functions": self}

    def lost_share(self) -> float:
        """Return the share of the kernel's variance at the training items that the functions do not hold."""
        total = float(gram_diag(self.items.kernel, self.items.X).sum())
        F = self._values()
        return 1.0 - float(np.vdot(F, F)) / total if total > 0 else 0.0

    def seen(self, rows: Rows) -> Seen:
        """Return +1 and -1 at the two items, and how many functions their utilities are sums of."""
        return Seen(rows.operator(), functions=self.functions.size, effects=self.items.own is not None)

    def prior(self) -> Given:
        """Return the functions at the training items, and the variance of these items' own effects."""
        F, pull = self.functions.with_pullback(self.items.kernel, self.items.X)
        v, free = self.items.own_variance, 0 if self.items.own is None else self.items.own.theta.shape[0]
        return Given(Products(F, v), None, lambda of, own: np.append(pull(of.F), np.full(free, v * of.own)))

    def _values(self) -> FloatArray:
        return self.functions.values(self.items.kernel, self.items.X)

    def ask(self, rows: Rows) -> Asked:
        """Return the functions at the items of rows, and the kernel's variances of differences."""
        F = self.functions.values(self.items.kernel, rows.items.X)
        effects = None if self.items.own is None else self.items.direct(rows)
        return Asked(
            OfFunctions(Combined(rows.extended(F), rows.operator()), self._values, effects), None, self.variance(rows)
        )

    def means(self, items: Items, a: FloatArray) -> FloatArray:
        """Return differences of the mean utilities of all items."""
        f = self.functions.values(self.items.kernel, items.X) @ (self._values().T @ a)
        if self.items.own is not None:
            known = np.flatnonzero(items.number < self.items.n_items)
            f[known] += self.items.own_variance * a[items.number[known]]
        return np.asarray(f[:, None] - f)
