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
from preflearn.models._evidence import Evidence, Solution
from preflearn.operators import FloatArray, IntArray

__all__ = ["LeftOut", "without_comparisons", "without_items", "without_judges"]

Mixture = list[tuple[float, Solution]]
Moments = tuple[FloatArray, FloatArray]


class LeftOut(NamedTuple):
    """P(second preferred) and P(first preferred) with the first, or the second, item of a comparison left out."""

    first: FloatArray
    second: FloatArray


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


def without_judges(
    mixture: Mixture, evidence: Evidence, X: Comparisons, merged: IntArray, judge: IntArray
) -> FloatArray:
    """Return the same under the posterior without any comparison of the same judge.

    ``judge`` is the judge of each row of the design.
    """
    answers = []
    for _, solution in mixture:
        mean, variance = np.empty(judge.shape[0]), np.empty(judge.shape[0])
        for rows, moments in _without_groups(solution, evidence, judge):
            mean[rows], variance[rows] = moments
        answers.append((mean[merged], variance[merged]))
    return _probabilities(mixture, X, answers)


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
    m = ends[0].shape[0]
    mean, variance = np.empty((m, 2)), np.empty((m, 2))
    for places, moments in _without_groups(solution, evidence, np.concatenate(ends)):
        rows, side = places % m, places // m
        mean[rows, side], variance[rows, side] = moments
    return mean, variance


def _without_groups(solution: Solution, evidence: Evidence, group: IntArray) -> Iterator[tuple[IntArray, Moments]]:
    """Leave out one group of rows of the design after the other; yield the places of each and their moments.

    ``group`` has an entry for each row, or several times as many where a row belongs to several groups.
    """
    posterior, design = solution.posterior, evidence.design
    covariance: Any = posterior.factor.covariance(posterior.curvature.LB)
    latent = posterior.factor.forward(posterior.u)
    z = design.A @ latent
    tau, nu = evidence.weight * solution.tau, evidence.weight * solution.nu
    order = np.argsort(group, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        rows = places % design.shape[0]
        A: Any = design.A[rows]
        few = _columns(A)
        if len(few) < len(rows):
            yield places, _in_latents(covariance, A, few, latent, tau[rows], nu[rows])
            continue
        V = covariance.among(A)
        # (V⁻¹ - T)⁻¹ = (I - VT)⁻¹ V, and its mean (I - VT)⁻¹ (z - V ν)
        target = np.column_stack([z[rows] - V @ nu[rows], V])
        solved = np.asarray(np.linalg.solve(np.eye(len(rows)) - V * tau[rows], target))
        yield places, (solved[:, 0], np.maximum(solved[:, 1:].diagonal(), 1e-300))


def _columns(A: Any) -> IntArray:
    """Return the latents that rows are about; of operators that are no matrix, as many as there are rows."""
    sparse: bool = sp.issparse(A)
    return np.unique(A.nonzero()[1]) if sparse else np.arange(A.shape[0])


def _in_latents(covariance: Any, A: Any, few: IntArray, latent: FloatArray, tau: FloatArray, nu: FloatArray) -> Moments:
    """Return the same moments from the few latents that many rows are about: (C⁻¹ - Λ)⁻¹ = (I - CΛ)⁻¹ C, Λ = A'TA."""
    chosen = sp.csr_array((np.ones(len(few)), few, np.arange(len(few) + 1)), shape=(len(few), A.shape[1]))
    C, B = covariance.among(chosen), A[:, few]
    Lam = (B.T @ sp.diags_array(tau) @ B).toarray()
    target = np.column_stack([latent[few] - C @ (B.T @ nu), C])
    solved = np.asarray(np.linalg.solve(np.eye(len(few)) - C @ Lam, target))
    variance = np.asarray(B.multiply(B @ solved[:, 1:]).sum(axis=1)).ravel()
    return B @ solved[:, 0], np.maximum(variance, 1e-300)
