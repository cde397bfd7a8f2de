"""A Gaussian process over items: one latent utility per item, comparisons see differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.kernels import gram, gram_and_pullback, gram_diag
from preflearn.kernels.paired import gram_paired

__all__ = ["ItemPrior"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


@dataclass(frozen=True)
class ItemPrior:
    """Items X under a kernel; ``theta`` are the kernel's free parameters in log space.

    Items without features are all different and unrelated: X is None and the kernel is a variance times the identity.
    """

    X: Any
    kernel: Any
    n_items: int

    @property
    def theta(self) -> FloatArray:
        """Free parameters of the kernel."""
        return np.asarray(self.kernel.theta, dtype=np.float64)

    def with_theta(self, theta: FloatArray) -> ItemPrior:
        """Return the same prior at other parameters."""
        return ItemPrior(self.X, self.kernel.clone_with_theta(theta), self.n_items)

    def gram(self) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Return K and its pullback M -> <M, dK/dtheta>."""
        if self.X is not None:
            return gram_and_pullback(self.kernel, self.X)
        variance = self._variance()
        return variance * np.eye(self.n_items), lambda M: variance * np.array([np.trace(M)])[: self.theta.shape[0]]

    def cross(self, new: Any) -> FloatArray:
        """Return the covariance (p, n) of new items with the training items; without features new are item numbers."""
        if self.X is not None:
            return gram(self.kernel, new, self.X)
        return np.asarray(self._variance() * (np.asarray(new)[:, None] == np.arange(self.n_items)))

    def covariance(self, new: Any) -> FloatArray:
        """Return the prior covariance (p, p) of new items."""
        if self.X is not None:
            return gram(self.kernel, new)
        return np.asarray(self._variance() * (np.asarray(new)[:, None] == np.asarray(new)))

    def variance(self, new: Any) -> FloatArray:
        """Return the prior variances (p,) of new items."""
        return gram_diag(self.kernel, new) if self.X is not None else np.full(len(new), self._variance())

    def difference_variance(self, new: Any, first: IntArray, second: IntArray) -> FloatArray:
        """Return the prior variances of utility differences of listed pairs of new items."""
        variance = self.variance(new)
        if self.X is None:
            shared = np.where(np.asarray(new)[first] == np.asarray(new)[second], self._variance(), 0.0)
        else:
            shared = gram_paired(self.kernel, new[first], new[second])
        return np.asarray(np.maximum(variance[first] + variance[second] - 2 * shared, 0.0))

    def _variance(self) -> float:
        return float(self.kernel.constant_value)
