"""A Gaussian process over items: one latent utility per item, comparisons see differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflearn.kernels import gram, gram_and_pullback, gram_diag
from preflearn.kernels.paired import gram_listed

__all__ = ["ItemPrior", "Items"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class Items(NamedTuple):
    """Items to ask about: their features, and which latent of training each is (numbers from n_items on: new ones)."""

    X: Any
    number: IntArray

    def __getitem__(self, rows: Any) -> Items:
        """Return some of them."""
        return Items(None if self.X is None else self.X[rows], self.number[rows])


@dataclass(frozen=True)
class ItemPrior:
    """Utility = a function of the features with covariance ``kernel`` + an effect of the item itself.

    The own effects are independent with variance ``own`` (a ConstantKernel). Items without features have nothing else
    (``X`` and ``kernel`` are None); ``own`` is None where features are all that counts. ``theta`` are the free
    parameters in log space, the kernel's and then the own variance.
    """

    X: Any
    kernel: Any
    own: Any
    n_items: int

    @property
    def theta(self) -> FloatArray:
        """Free parameters."""
        return np.concatenate([part.theta for part in (self.kernel, self.own) if part is not None])

    @property
    def bounds(self) -> FloatArray:
        """Bounds of the free parameters, (n_theta, 2)."""
        parts = [np.reshape(part.bounds, (-1, 2)) for part in (self.kernel, self.own) if part is not None]
        return np.concatenate(parts).astype(np.float64)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        names = []
        for part, prefix in ((self.kernel, ""), (self.own, "own effect ")):
            for free in [] if part is None else part.hyperparameters:
                count = 0 if free.fixed else free.n_elements
                name = prefix + free.name.split("__")[-1].replace("_", " ")
                names += [name] if count == 1 else [f"{name} {number}" for number in range(count)]
        return tuple(names)

    def with_theta(self, theta: FloatArray) -> ItemPrior:
        """Return the same prior at other parameters."""
        count = 0 if self.kernel is None else self.kernel.theta.shape[0]
        return replace(
            self,
            kernel=None if self.kernel is None else self.kernel.clone_with_theta(theta[:count]),
            own=None if self.own is None else self.own.clone_with_theta(theta[count:]),
        )

    def gram(self) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Return K and its pullback M -> <M, dK/dtheta>."""
        if self.kernel is None:
            K, pull = np.zeros((self.n_items, self.n_items)), None
        else:
            K, pull = gram_and_pullback(self.kernel, self.X)
        own = self._own()
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
            Q[known, new.number[known]] += self._own()
        return Q

    def covariance(self, new: Items) -> FloatArray:
        """Return the prior covariance (p, p) of items."""
        p = len(new.number)
        K = np.zeros((p, p)) if self.kernel is None else gram(self.kernel, new.X)
        if self.own is not None:
            K += self._own() * (new.number[:, None] == new.number)
        return K

    def variance(self, new: Items) -> FloatArray:
        """Return the prior variances (p,) of items."""
        return self._own() + (
            np.zeros(len(new.number)) if self.kernel is None else np.asarray(gram_diag(self.kernel, new.X))
        )

    def difference_variance(self, new: Items, first: IntArray, second: IntArray) -> FloatArray:
        """Return the prior variances of utility differences of listed pairs of items."""
        variance = self.variance(new)
        shared = np.where(new.number[first] == new.number[second], self._own(), 0.0)
        if self.kernel is not None:
            shared = shared + gram_listed(self.kernel, new.X, first, second)
        return np.asarray(np.maximum(variance[first] + variance[second] - 2 * shared, 0.0))

    def _own(self) -> float:
        return 0.0 if self.own is None else float(self.own.constant_value)
