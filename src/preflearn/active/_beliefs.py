"""What is believed about utilities while a batch is being chosen.

Outcomes of chosen comparisons are not known yet; what is known is how far they will shrink uncertainty. A comparison
of difference d, with variance v and covariances c = cov(f, d), changes the covariance of all utilities to

    C - J c c',   J = E[(log Z_y)'²]   (`preflearn.active._outcome_information.curvature`),

which is the expected posterior covariance after moment matching, and that of conditioning on a Gaussian observation of
precision J / (1 - v J). Means stay: that is their expectation. With U the columns √J c so far, pairs need only U, never
a matrix over candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from preflearn.active._outcome_information import curvature, information
from preflearn.operators import FloatArray, IntArray

__all__ = ["Beliefs"]


@dataclass
class Beliefs:
    """Mean and covariance of utilities, candidate pairs, and how chosen pairs have shrunk their variances."""

    likelihood: Any
    mean: FloatArray
    covariance: FloatArray
    first: IntArray
    second: IntArray
    difference: FloatArray = field(init=False)
    variance: FloatArray = field(init=False)
    shrunk: list[FloatArray] = field(init=False, default_factory=list)  # columns of U

    def __post_init__(self) -> None:
        diagonal = self.covariance.diagonal()
        self.difference = self.mean[self.first] - self.mean[self.second]
        shared = self.covariance[self.first, self.second]
        self.variance = np.maximum(diagonal[self.first] + diagonal[self.second] - 2.0 * shared, 0.0)

    def information(self, rows: IntArray | slice) -> FloatArray:
        """Return what outcomes of some candidates would tell about utilities, in nats."""
        return information(self.likelihood, self.difference[rows], self.variance[rows])

    def direction(self, row: int) -> FloatArray:
        """Return the covariance (p,) of all utilities with the difference of a candidate."""
        a, b = self.first[row], self.second[row]
        c = self.covariance[:, a] - self.covariance[:, b]
        for u in self.shrunk:
            c = c - u * (u[a] - u[b])
        return np.asarray(c)

    def condition(self, row: int) -> tuple[FloatArray, float]:
        """Take a candidate as answered; return its direction c and J before that. O(p t + candidates) at step t."""
        c = self.direction(row)
        J = float(curvature(self.likelihood, self.difference[row : row + 1], self.variance[row : row + 1])[0])
        u = np.sqrt(J) * c
        self.shrunk.append(u)
        self.variance = np.maximum(self.variance - np.square(u[self.first] - u[self.second]), 0.0)
        return c, J
