"""A weak prior of hyperparameters: the logarithm of each is normal around where it starts, between its bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import truncnorm

from preflearn.operators import FloatArray

__all__ = ["HyperPrior"]


@dataclass(frozen=True)
class HyperPrior:
    """Independent normal priors of log parameters.

    Attributes
    ----------
    centre : ndarray (n_theta,)
        Means.
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
        low, high = (bounds[free].T - self.centre[free]) / self.spread
        at = np.clip(theta[free], *bounds[free].T)  # a search may be asked about a rounding error outside
        density = truncnorm.logpdf((at - self.centre[free]) / self.spread, low, high) - np.log(self.spread)
        return float(np.sum(density + np.log(np.diff(bounds[free], axis=1).ravel()))), slope
