"""A weak prior of hyperparameters: the logarithm of each is normal around where it starts, between its bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from preflearn.operators import FloatArray

__all__ = ["HyperPrior"]


@dataclass(frozen=True)
class HyperPrior:
    """Independent normal priors of log parameters.

    Attributes
    ----------
    centre : ndarray (n_theta,)
        Means, between the bounds.
    spread : float
        Deviation of each.
    """

    centre: FloatArray
    spread: float

    def gain(self, theta: FloatArray, bounds: FloatArray) -> tuple[float, FloatArray]:
        """Return the log density, cut off at the bounds, less that of the uniform prior between them; and its gradient.

        What is added to a log evidence so that who believes in a uniform prior (`maximise`, `average`) believes in this
        one. Parameters whose bounds are equal have no density and add nothing.
        """
        free = bounds[:, 1] > bounds[:, 0]
        slope = np.where(free, (self.centre - theta) / self.spread**2, 0.0)
        low, high = bounds[free].T
        inside = ndtr((high - self.centre[free]) / self.spread) - ndtr((low - self.centre[free]) / self.spread)
        r = (theta - self.centre)[free] / self.spread
        density = -0.5 * r**2 - np.log(self.spread * np.sqrt(2 * np.pi) * inside)
        return float(np.sum(density + np.log(high - low))), slope
