"""Predictions for comparisons left out of training, without training again.

The Gaussian posterior is a product of the prior and one Gaussian part per comparison, so parts can be taken out of it
in closed form. That is exact for Gaussian margins; for the others the remaining parts would change a little.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from preflearn.data import Comparisons
from preflearn.inference.evidence import Solution
from preflearn.models._gp_read import Statements
from preflearn.models._mixtures import outcome_probabilities
from preflearn.operators import FloatArray, IntArray

__all__ = ["LeftOut", "without_comparisons", "without_items", "without_judges"]

Mixture = list[tuple[float, Solution]]
Moments = tuple[FloatArray, FloatArray]


class LeftOut(NamedTuple):
    """P(second preferred) and P(first preferred) with the first, or the second, item of a comparison left out."""

    first: FloatArray
    second: FloatArray


def without_comparisons(mixture: Mixture, data: Statements, X: Comparisons) -> FloatArray:
    """Return P(second), P(tie), P(first) of every comparison under the posterior without it, (m, 3)."""
    weight = np.ones(len(X)) if X.weight is None else X.weight
    return _probabilities(mixture, X, [_without_part(s, data, weight) for _, s in mixture])


def without_items(mixture: Mixture, data: Statements, X: Comparisons) -> tuple[FloatArray, FloatArray]:
    """Return the same under the posterior without any comparison of the first item, and of the second."""
    cell, m = data.seen.cell, len(data.seen.y)
    ends = np.concatenate([data.rows.low[cell], data.rows.high[cell]])
    answers = [_without_groups(s, data, ends) for _, s in mixture]
    first = data.row + m * (X.first > X.second)  # the cell's second end where the comparison is turned
    second = data.row + m * (X.first < X.second)
    sides = ([(mean[side], variance[side]) for mean, variance in answers] for side in (first, second))
    one, other = (_probabilities(mixture, X, found) for found in sides)
    return one, other


def without_judges(mixture: Mixture, data: Statements, X: Comparisons) -> FloatArray:
    """Return the same under the posterior without any comparison of the same judge, for one of reliability 1."""
    assert data.judge is not None
    answers = [_without_groups(s, data, data.judge) for _, s in mixture]
    return _probabilities(mixture, X, [(mean[data.row], variance[data.row]) for mean, variance in answers])


def _probabilities(mixture: Mixture, X: Comparisons, answers: list[Moments]) -> FloatArray:
    sign = np.where(X.first > X.second, -1.0, 1.0)  # cells have their lower item first
    parts = [(w, sign * mean, variance) for (w, _), (mean, variance) in zip(mixture, answers, strict=True)]
    return outcome_probabilities(parts, mixture)[:, ::-1]


def _without_part(s: Solution, data: Statements, weight: FloatArray) -> Moments:
    row, seen = data.row, data.seen
    z, variance = seen.see(s.posterior.x)[row], seen.spread(s.posterior.curve.variances)[row]
    rest = np.maximum(1.0 - weight * s.tau[row] * variance, 1e-10)
    return (z - weight * s.nu[row] * variance) / rest, variance / rest


def _without_groups(s: Solution, data: Statements, group: IntArray) -> Moments:
    """Leave out one group of outcomes after the other; return the moments of x of its outcomes without it.

    ``group`` has an entry for each outcome, or several times as many where an outcome belongs to several groups.
    """
    seen, posterior, m = data.seen, s.posterior, len(data.seen.y)
    assert seen.cell is not None
    scale = np.ones(m) if seen.scale is None else seen.scale
    tau, nu = scale**2 * seen.weight * s.tau, scale * seen.weight * s.nu
    order = np.argsort(group, kind="stable")
    mean, variance = np.empty(len(group)), np.empty(len(group))
    for places in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        rows = places % m
        cells, which = np.unique(seen.cell[rows], return_inverse=True)
        t, b = (np.bincount(which, x[rows], minlength=len(cells)) for x in (tau, nu))
        few = posterior.curve.touched(posterior.u, cells)
        A: Any = few.A
        if few.mean.shape[0] >= len(cells):  # fewer cells than latents
            x, V, Lam, A = A @ few.mean, np.asarray(A @ (A @ few.covariance).T), np.diag(t), sp.eye_array(len(cells))
        else:
            x, V, Lam, b = few.mean, few.covariance, (A.T @ sp.diags_array(t) @ A).toarray(), A.T @ b
        # (V⁻¹ - Λ)⁻¹ = (I - VΛ)⁻¹ V, and its mean (I - VΛ)⁻¹ (x - V ν)
        solved = np.asarray(np.linalg.solve(np.eye(len(x)) - V @ Lam, np.column_stack([x - V @ b, V])))
        mean[places] = np.asarray(A @ solved[:, 0])[which]
        variance[places] = np.maximum(np.asarray(A.multiply(A @ solved[:, 1:]).sum(axis=1)).ravel(), 1e-300)[which]
    return mean, variance
