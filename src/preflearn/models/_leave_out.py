"""Predictions for comparisons left out of training, without training again.

The Gaussian posterior is a product of the prior and one Gaussian part per comparison, so parts can be taken out of it
in closed form. That is exact for Gaussian margins; for the others the remaining parts would change a little.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.data import Comparisons
from preflearn.models._evidence import Evidence, Solution
from preflearn.operators import FloatArray, IntArray

__all__ = ["without_comparisons", "without_items"]

Mixture = list[tuple[float, Solution]]
Moments = tuple[FloatArray, FloatArray]


def without_comparisons(mixture: Mixture, evidence: Evidence, X: Comparisons, merged: IntArray) -> FloatArray:
    """Return P(second), P(tie), P(first) of every comparison under the posterior without it, (m, 3).

    ``merged`` is the row of the design that holds each comparison.
    """
    weight = np.ones(len(X)) if X.weight is None else X.weight
    return _probabilities(mixture, X, [_without_part(s, evidence, merged, weight) for _, s in mixture])


def without_items(
    mixture: Mixture, evidence: Evidence, X: Comparisons, merged: IntArray, ends: tuple[IntArray, IntArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the same under the posterior without any comparison of the first item, and of the second.

    ``ends`` are the items of each row of the design, the lower one first.
    """
    answers = [_without_each_item(s, evidence, ends) for _, s in mixture]
    sides = []
    for item in (X.first, X.second):
        side = np.where(item == np.minimum(X.first, X.second), 0, 1)
        sides.append(_probabilities(mixture, X, [(mean[merged, side], var[merged, side]) for mean, var in answers]))
    return sides[0], sides[1]


def _probabilities(mixture: Mixture, X: Comparisons, answers: list[Moments]) -> FloatArray:
    turned = X.first > X.second  # merged rows have their lower item first
    p = sum(
        w * s.likelihood.probability(np.where(turned, -mean, mean), variance)
        for (w, s), (mean, variance) in zip(mixture, answers, strict=True)
    )
    return np.asarray(p)[:, ::-1]


def _without_part(solution: Solution, evidence: Evidence, merged: IntArray, weight: FloatArray) -> Moments:
    posterior, design = solution.posterior, evidence.design
    z = (design.A @ posterior.factor.forward(posterior.u))[merged]
    variance = posterior.factor.covariance(posterior.curvature.LB).spread(design)[merged]
    rest = np.maximum(1.0 - weight * solution.tau[merged] * variance, 1e-10)
    return (z - weight * solution.nu[merged] * variance) / rest, variance / rest


def _without_each_item(solution: Solution, evidence: Evidence, ends: tuple[IntArray, IntArray]) -> Moments:
    """Return moments (rows of the design, 2): without the lower item, without the higher."""
    posterior, design = solution.posterior, evidence.design
    mean, variance = np.empty((design.shape[0], 2)), np.empty((design.shape[0], 2))
    covariance: Any = posterior.factor.covariance(posterior.curvature.LB)
    C = covariance.C
    z = design.A @ posterior.factor.forward(posterior.u)
    tau, nu = evidence.weight * solution.tau, evidence.weight * solution.nu
    order = np.argsort(np.concatenate(ends), kind="stable")
    starts = np.searchsorted(np.concatenate(ends)[order], np.arange(max(part.max() for part in ends) + 2))
    for item in range(starts.shape[0] - 1):
        rows = np.sort(order[starts[item] : starts[item + 1]] % ends[0].shape[0])
        A = design.A[rows]
        V = A @ (A @ C).T
        # (V⁻¹ - T)⁻¹ = (I - VT)⁻¹ V, and its mean (I - VT)⁻¹ (z - V ν)
        target = np.column_stack([z[rows] - V @ nu[rows], V])
        solved = np.asarray(np.linalg.solve(np.eye(len(rows)) - V * tau[rows], target))
        side = np.where(ends[0][rows] == item, 0, 1)
        mean[rows, side] = solved[:, 0]
        variance[rows, side] = np.maximum(solved[:, 1:].diagonal(), 1e-300)
    return mean, variance
