"""Predictions for comparisons left out of training, without training again.

The Gaussian posterior is a product of the prior and one Gaussian part per comparison, so parts can be taken out of it
in closed form. That is exact for Gaussian margins; for the others the remaining parts would change a little.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from preflearn.data import Comparisons
from preflearn.inference.evidence import Solution
from preflearn.models._gp_read import Statements
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
    answers = []
    for _, s in mixture:
        mean, variance = np.empty((m, 2)), np.empty((m, 2))
        for places, moments in _without_groups(s, data, ends):
            mean[places % m, places // m], variance[places % m, places // m] = moments
        answers.append((mean, variance))
    sides = []
    for item in (X.first, X.second):
        side = np.where(item == np.minimum(X.first, X.second), 0, 1)
        found = [(mean[data.row, side], variance[data.row, side]) for mean, variance in answers]
        sides.append(_probabilities(mixture, X, found))
    return sides[0], sides[1]


def without_judges(mixture: Mixture, data: Statements, X: Comparisons) -> FloatArray:
    """Return the same under the posterior without any comparison of the same judge, for one of reliability 1."""
    assert data.judge is not None
    answers = []
    for _, s in mixture:
        mean, variance = np.empty(len(data.judge)), np.empty(len(data.judge))
        for rows, moments in _without_groups(s, data, data.judge):
            mean[rows], variance[rows] = moments
        answers.append((mean[data.row], variance[data.row]))
    return _probabilities(mixture, X, answers)


def _probabilities(mixture: Mixture, X: Comparisons, answers: list[Moments]) -> FloatArray:
    turned = X.first > X.second  # cells have their lower item first
    p = sum(
        w * s.likelihood.probability(np.where(turned, -mean, mean), variance)
        for (w, s), (mean, variance) in zip(mixture, answers, strict=True)
    )
    return np.asarray(p)[:, ::-1]


def _without_part(s: Solution, data: Statements, weight: FloatArray) -> Moments:
    row, seen = data.row, data.seen
    z, variance = seen.see(s.posterior.x)[row], seen.spread(s.posterior.curve.variances)[row]
    rest = np.maximum(1.0 - weight * s.tau[row] * variance, 1e-10)
    return (z - weight * s.nu[row] * variance) / rest, variance / rest


def _without_groups(s: Solution, data: Statements, group: IntArray) -> Iterator[tuple[IntArray, Moments]]:
    """Leave out one group of outcomes after the other; yield the places of each and the moments of x there.

    ``group`` has an entry for each outcome, or several times as many where an outcome belongs to several groups.
    """
    seen, posterior, m = data.seen, s.posterior, len(data.seen.y)
    assert seen.cell is not None
    scale = np.ones(m) if seen.scale is None else seen.scale
    tau, nu = scale**2 * seen.weight * s.tau, scale * seen.weight * s.nu
    order = np.argsort(group, kind="stable")
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
        variance = np.asarray(A.multiply(A @ solved[:, 1:]).sum(axis=1)).ravel()
        yield places, (np.asarray(A @ solved[:, 0])[which], np.maximum(variance, 1e-300)[which])
