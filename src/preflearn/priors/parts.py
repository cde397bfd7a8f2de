"""What priors that are made of item priors have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from preflearn.priors.items import ItemPrior

__all__ = ["OfParts"]

FloatArray = NDArray[np.float64]


class OfParts(ABC):
    """Parameters of several item priors, one after the other."""

    @property
    @abstractmethod
    def item_priors(self) -> tuple[ItemPrior, ...]:
        """The item priors, in the order of their parameters."""

    @property
    def theta(self) -> FloatArray:
        """Free parameters."""
        return np.concatenate([part.theta for part in self.item_priors])

    @property
    def bounds(self) -> FloatArray:
        """Bounds of the free parameters, (n_theta, 2)."""
        return np.concatenate([part.bounds for part in self.item_priors])
