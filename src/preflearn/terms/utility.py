"""Utilities of items: a row sees that of its lower item less that of its higher one.

Covariances between items are a kernel over their features, an effect of each item alone, or both (`ItemKernel`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.kernels import gram, gram_and_pullback, gram_diag, gram_listed
from preflearn.kernels.pair_kernels import difference_gram
from preflearn.terms._contract import (
    Asked,
    Combined,
    Direct,
    FloatArray,
    Given,
    Items,
    Multiple,
    Parameters,
    Parametric,
    Rows,
    Seen,
    Term,
    constant_parameters,
    kernel_parameters,
)


@dataclass(frozen=True)
class ItemKernel(Parametric):
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

    @property
    def learned(self) -> dict[str, Parameters]:
        """Kernel and own variance."""
        found = {} if self.kernel is None else {"kernel": kernel_parameters(self.kernel)}
        return found if self.own is None else {**found, "own": constant_parameters(self.own, self.own_name)}

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
        """Return the covariance (n, n) of the training items, and its pullback M -> <M, dK/dtheta>."""
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
        """Return the covariance (p, n) of items with the training items."""
        Q = np.zeros((len(new.number), self.n_items)) if self.kernel is None else gram(self.kernel, new.X, self.X)
        if self.own is not None:
            known = np.flatnonzero(new.number < self.n_items)
            Q[known, new.number[known]] += self.own_variance
        return Q

    def direct(self, rows: Rows) -> Direct:
        """Return what rows see of the utilities of training and of new items; of items without features."""
        number, n = rows.items.number, self.n_items
        new = np.unique(number[number >= n])
        column = np.where(number < n, number, n + np.searchsorted(new, number))
        chosen = (np.ones(len(number)), column, np.arange(len(number) + 1))
        items = sp.csr_array(chosen, shape=(len(number), n + len(new)))
        return Direct.of(rows.operator() @ rows.extended(items), n, self.own_variance)

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

    def ends(self, rows: Rows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return, for each row, the variances of its two ends and their covariance."""
        new, (low, high) = rows.items, rows.ends
        if rows.against == "mean":
            G = self.extended(rows)
            return G[low, low], G[high, high], G[low, high]
        variance = self.variance(new)
        if rows.against == "nothing":
            zero = np.zeros(len(rows))
            return variance[low], zero, zero
        shared = np.where(new.number[low] == new.number[high], self.own_variance, 0.0)
        if self.kernel is not None:
            shared = shared + gram_listed(self.kernel, new.X, low, high)
        return variance[low], variance[high], shared

    def extended(self, rows: Rows) -> FloatArray:
        """Return the covariance of the items of rows, with that of what they stand against as the last one."""
        G = rows.extended(self.covariance(rows.items))
        return np.asarray(rows.extended(np.ascontiguousarray(G.T)))


@dataclass(frozen=True)
class Utility(Term):
    """f_low - f_high, f with the covariance of ``items``; latents are the utilities of the training items."""

    items: ItemKernel

    @property
    def learned(self) -> dict[str, Parameters]:
        """The covariance."""
        return {"items": self.items.parameters}

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of."""
        return {"utility": self.items}

    def seen(self, rows: Rows) -> Seen:
        """Return +1 and -1 at the two items."""
        return Seen(rows.operator(), alike=self.items.kernel is None)

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
            direct = self.items.direct(rows)
            return Asked(direct, None, direct.total)
        Q = rows.extended(self.items.cross(rows.items))
        return Asked(Combined(Q, rows.operator()), None, self.variance(rows))

    def variance(self, rows: Rows) -> FloatArray:
        """Return the prior variances of differences."""
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
