"""Predictions for comparisons left out of training, without training again.

The Gaussian posterior is a product of the prior and one Gaussian part per comparison, so parts can be taken out of it
in closed form. That is exact for Gaussian margins; for the others the remaining parts would change a little.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.inference.design import Design
from preflearn.models._evidence import Solution
from preflearn.operators import FloatArray, IntArray

__all__ = ["without_comparison", "without_item"]


def without_comparison(
    solution: Solution, design: Design, merged: IntArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of every comparison's difference under the posterior without it.

    ``merged`` is the row of the design that holds each comparison, ``weight`` how much of that row it is.
    """
    posterior = solution.posterior
    z = (design.A @ posterior.factor.forward(posterior.u))[merged]
    variance = posterior.factor.covariance(posterior.curvature.LB).spread(design)[merged]
    rest = np.maximum(1.0 - weight * solution.tau[merged] * variance, 1e-10)
    return (z - weight * solution.nu[merged] * variance) / rest, variance / rest


def without_item(
    solution: Solution, design: Design, weight: FloatArray, rows: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of the differences ``rows`` of the design under the posterior without all of them."""
    posterior = solution.posterior
    A = design.A[rows]
    W = posterior.curvature.whiten(np.asarray((A @ _dense_root(posterior.factor)).T))
    V = W.T @ W
    z = A @ posterior.factor.forward(posterior.u)
    tau, nu = (weight * solution.tau)[rows], (weight * solution.nu)[rows]
    # (V⁻¹ - T)⁻¹ = V (I - TV)⁻¹ and its mean
    system = np.eye(len(rows)) - V * tau
    solved: FloatArray = np.asarray(np.linalg.solve(system, np.column_stack([z - V @ nu, V])), dtype=np.float64)
    return np.asarray(solved[:, 0]), np.maximum(solved[:, 1:].diagonal(), 1e-300)


def _dense_root(factor: Any) -> FloatArray:
    return np.asarray(factor.R)
