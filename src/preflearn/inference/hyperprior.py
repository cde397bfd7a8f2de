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
    spread : ndarray (n_theta,)
        Deviation of each; that of a uniform one is infinite.
    """

    centre: FloatArray
    spread: FloatArray

    def gain(self, theta: FloatArray, bounds: FloatArray) -> tuple[float, FloatArray]:
        """Return the log density, cut off at the bounds, less that of the uniform prior between them; and its gradient.

        What is added to a log evidence, so that a search or an average over a uniform prior is one over this prior.
        Parameters whose bounds are equal have no density and add nothing.
        """
        said = (bounds[:, 1] > bounds[:, 0]) & np.isfinite(self.spread)
        (low, high), centre, spread = bounds[said].T, self.centre[said], self.spread[said]
        r = (theta[said] - centre) / spread
        inside = ndtr((high - centre) / spread) - ndtr((low - centre) / spread)
        density = -0.5 * r**2 - np.log(spread * np.sqrt(2 * np.pi) * inside)
        slope = np.zeros(theta.shape[0])
        slope[said] = -r / spread
        return float(np.sum(density + np.log(high - low))), slope
