"""Utilities of items: a row sees that of its lower item less that of its higher one.

Covariances between items are a kernel over their features, an effect of each item alone, or both (`ItemKernel`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.kernels import gram, gram_and_pullback, gram_diag
from preflearn.kernels.paired import gram_listed
from preflearn.kernels.pairs import difference_gram
from preflearn.terms._contract import (
    Asked,
    Combined,
    Direct,
    FloatArray,
    Given,
    IntArray,
    Items,
    Multiple,
    Parameters,
    Rows,
    Seen,
    constant_parameters,
    kernel_parameters,
    pair_design,
)

__all__ = ["ItemKernel", "Utility"]


@dataclass(frozen=True)
class ItemKernel:
    """A function of the features with covariance ``kernel`` + an effect of the item itself.

    The own effects are independent with variance ``own`` (a ConstantKernel). Items without features have nothing else
    (``X`` and ``kernel`` are None); ``own`` is None where features are all that counts. Parameters are the kernel's and
    then the own variance.
    """

    X: Any
    kernel: Any
    own: Any
    n_items: int
    own_name: str = "own effect constant value"  # what the parameter is called

    @cached_property
    def parameters(self) -> Parameters:
        """Free parameters."""
        parts = [] if self.kernel is None else [kernel_parameters(self.kernel)]
        return Parameters.joined(
            [*parts, *([] if self.own is None else [constant_parameters(self.own, self.own_name)])]
        )

    def with_theta(self, theta: FloatArray) -> ItemKernel:
        """Return the same at other parameters."""
        count = 0 if self.kernel is None else self.kernel.theta.shape[0]
        return replace(
            self,
            kernel=None if self.kernel is None else self.kernel.clone_with_theta(theta[:count]),
            own=None if self.own is None else self.own.clone_with_theta(theta[count:]),
        )

    def over(self, X: Any, n_items: int) -> ItemKernel:
        """Return the same over other items."""
        return replace(self, X=X, n_items=n_items)

    @property
    def main(self) -> Any:
        """The kernel over features, or without features the variance of single items."""
        return self.own if self.kernel is None else self.kernel

    @property
    def own_variance(self) -> float:
        """Variance of the items' own effects."""
        return 0.0 if self.own is None else float(self.own.constant_value)

    def gram(self) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Return the covariance (n, n) of the items of training, and its pullback M -> <M, dK/dtheta>."""
        if self.kernel is None:
            K, pull = np.zeros((self.n_items, self.n_items)), None
        else:
            K, pull = gram_and_pullback(self.kernel, self.X)
        own = self.own_variance
        if self.own is not None:
            K.flat[:: self.n_items + 1] += own
        free = 0 if self.own is None else self.own.theta.shape[0]

        def pullback(M: FloatArray) -> FloatArray:
            first = np.zeros(0) if pull is None else pull(M)
            return np.concatenate([first, np.full(free, own * np.trace(M))])

        return K, pullback

    def cross(self, new: Items) -> FloatArray:
        """Return the covariance (p, n) of items with the items of training."""
        Q = np.zeros((len(new.number), self.n_items)) if self.kernel is None else gram(self.kernel, new.X, self.X)
        if self.own is not None:
            known = np.flatnonzero(new.number < self.n_items)
            Q[known, new.number[known]] += self.own_variance
        return Q

    def places(self, rows: Rows) -> tuple[Any, Any]:
        """Return which item of training each item of rows is, and which new one, as sparse arrays of zeros and ones.

        Of items without features. What rows stand against is one more row, if that is no item.
        """
        number, n = rows.items.number, self.n_items
        known = np.flatnonzero(number < n)
        beyond, new = np.unique(number[number >= n], return_inverse=True)
        both = []
        for at, columns, width in ((known, number[known], n), (np.flatnonzero(number >= n), new, len(beyond))):
            shape = len(number) + (rows.against != "item"), width
            both.append(sp.csr_array((np.ones(len(at)), (at, columns)), shape=shape))
        if rows.against == "mean":
            p = len(number)
            both = [sp.csr_array(sp.vstack([M[:p], sp.csr_array(M[:p].mean(axis=0)[None])])) for M in both]
        return both[0], both[1]

    def covariance(self, new: Items) -> FloatArray:
        """Return the covariance (p, p) of items."""
        p = len(new.number)
        K = np.zeros((p, p)) if self.kernel is None else gram(self.kernel, new.X)
        if self.own is not None:
            K += self.own_variance * (new.number[:, None] == new.number)
        return K

    def variance(self, new: Items) -> FloatArray:
        """Return the variances (p,) of items."""
        return self.own_variance + (
            np.zeros(len(new.number)) if self.kernel is None else np.asarray(gram_diag(self.kernel, new.X))
        )

    def pair_variance(self, new: Items, first: IntArray, second: IntArray) -> FloatArray:
        """Return the variances of differences of listed pairs of items."""
        variance = self.variance(new)
        shared = np.where(new.number[first] == new.number[second], self.own_variance, 0.0)
        if self.kernel is not None:
            shared = shared + gram_listed(self.kernel, new.X, first, second)
        return np.asarray(np.maximum(variance[first] + variance[second] - 2 * shared, 0.0))

    def ends(self, rows: Rows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return, for each row, the variances of its two ends and their covariance."""
        new, (low, high) = rows.items, rows.ends
        if rows.against == "item":
            variance = self.variance(new)
            shared = (variance[low] + variance[high] - self.pair_variance(new, low, high)) / 2
            return variance[low], variance[high], shared
        if rows.against == "nothing":
            zero = np.zeros(len(rows))
            return self.variance(new)[low], zero, zero
        G = self.extended(rows)
        return G[low, low], G[high, high], G[low, high]

    def extended(self, rows: Rows) -> FloatArray:
        """Return the covariance of the items of rows, with that of what they stand against as the last one."""
        G = rows.extended(self.covariance(rows.items))
        return rows.extended(np.ascontiguousarray(G.T))


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
