"""Held-out predictions for every alpha from few decompositions.

Closed form where whole groups, or single pairs, are left out (`preflearn.inference.exact`); otherwise one
decomposition a fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preflearn.exceptions import DataError
from preflearn.inference.exact import (
    Decomposition,
    Hat,
    decompose,
    leave_groups_out_primal,
    leave_out,
    primal_pair_hat,
    root_hat,
    stacks,
)
from preflearn.kernels import gram
from preflearn.models._folds import Plan
from preflearn.models._input import PairData, RowData, Ties, Weighting
from preflearn.models._space import Space, dual_operator
from preflearn.operators import Edges, FloatArray, Groups, IntArray, Root, project, scatter

__all__ = ["HeldOut", "hold_out_pairs", "hold_out_rows", "settle"]


@dataclass(frozen=True)
class HeldOut:
    """Held-out predictions (entries of the plan, n_alphas), their rounding errors, and the coefficients of all data."""

    alphas: FloatArray
    predictions: FloatArray
    noise: FloatArray
    coefficients: FloatArray

    @property
    def settled(self) -> FloatArray:
        """Predictions as they are judged."""
        return settle(self.predictions, self.noise)


def settle(predictions: FloatArray, noise: FloatArray | float) -> FloatArray:
    """Round predictions to multiples of sixteen times their rounding error, so that noise decides no order."""
    step = 16 * np.maximum(noise, 1e-300)
    return np.asarray(np.round(predictions / step) * step)


def hold_out_rows(
    space: Space, data: RowData, plan: Plan, alphas: FloatArray | None, ties: Ties, weighting: Weighting
) -> HeldOut:
    """Return held-out utilities of rows for every alpha; costs one decomposition where groups are whole."""
    operator = data.operator(ties, weighting)
    closed = plan.units is not None
    dec, alphas, coefficients, K = _decompose_all(space, operator, alphas, keep_gram=not closed)
    if not closed:
        return HeldOut(alphas, *_refit(space, data, plan, alphas, ties, weighting, K), coefficients)
    if space.solver == "primal" and plan.one_by_one:
        values, rough = leave_groups_out_primal(dec, operator, space.features, alphas)
    elif space.solver == "primal":
        values, rough = _fold_sums(space, data, plan, alphas, ties, weighting)
    else:
        residual = dec.V @ (alphas / (dec.s[:, None] + alphas) * dec.rotated[:, None])
        hat = Hat("dual", dec.s, dec.V.__getitem__)
        held, noise_root = leave_out(hat, operator.target, residual, alphas, stacks(plan.tests, dec.s.shape[0]))
        blind = _blind_values(space, operator, dec, held, plan, alphas)
        values, rough = operator.recover(held, blind), operator.recovered_noise(noise_root)
    entry = plan.entry
    return HeldOut(alphas, values[entry], rough[entry], coefficients)


def hold_out_pairs(
    space: Space, data: PairData, plan: Plan, alphas: FloatArray | None, ties: Ties, weighting: Weighting
) -> HeldOut:
    """Return held-out margins of comparisons for every alpha; NaN for ties that do not count in the closed form."""
    edges = data.operator(ties, weighting, code=plan.units)
    closed = plan.units is not None
    dec, alphas, coefficients, K = _decompose_all(space, edges, alphas, keep_gram=not closed)
    if plan.units is None:
        return HeldOut(alphas, *_refit_pairs(space, data, plan, alphas, ties, weighting, K), coefficients)
    kept = np.ones(data.margin.shape[0], dtype=bool) if ties == "include" else data.margin != 0
    unit = np.empty(edges.first.shape[0], dtype=np.intp)
    unit[edges.pair] = plan.units[kept]
    blocks = np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1])
    hat, residual, fitted = _pair_hat(space, edges, dec, alphas)
    held, noise_root = leave_out(hat, edges.target, residual, alphas, stacks(blocks, dec.s.shape[0]), fitted)
    root_weight = edges.root_weight[:, None]
    margins = np.full((data.margin.shape[0], alphas.shape[0]), np.nan)
    noise = np.zeros_like(margins)
    margins[kept] = edges.sign[:, None] * (held / root_weight)[edges.pair]
    noise[kept] = (noise_root / root_weight)[edges.pair]
    return HeldOut(alphas, margins[plan.entry], noise[plan.entry], coefficients)


def _pair_hat(
    space: Space, edges: Edges, dec: Decomposition, alphas: FloatArray
) -> tuple[Hat, FloatArray, FloatArray | None]:
    """Return the hat matrix over listed pairs, the residuals of the fit on all of them, and what was fitted."""
    if space.solver == "primal":
        Z = space.features(slice(0, edges.n_items))
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
        fitted = edges.apply(Z @ dec.solve(alphas))
        return primal_pair_hat(dec, edges, Z), edges.target[:, None] - fitted, fitted
    shrunk = alphas / (dec.s[:, None] + alphas) * dec.rotated[:, None]
    root = dual_operator(edges)
    if not isinstance(root, Root):
        return Hat("dual", dec.s, dec.V.__getitem__), dec.V @ shrunk, None
    hat = root_hat(dec, root, edges)
    residual = np.empty((edges.first.shape[0], alphas.shape[0]))
    step = max(1, (1 << 21) // max(1, dec.s.shape[0]))
    for i in range(0, residual.shape[0], step):
        here = np.arange(i, min(i + step, residual.shape[0]))
        P = hat.rows(here)
        # what no utilities can explain, and what regularisation leaves over
        residual[here] = (edges.target[here] - P @ dec.rotated)[:, None] + P @ shrunk
    return hat, residual, None


def _product(Z: Any, W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Z W and its rounding error, that of the lengths of rows and columns."""
    squares = Z.multiply(Z).sum(axis=1) if hasattr(Z, "toarray") else np.einsum("ij,ij->i", Z, Z)
    lengths = np.sqrt(np.asarray(squares).ravel())
    return np.asarray(Z @ W), np.finfo(np.float64).eps * np.outer(lengths, np.linalg.norm(W, axis=0))


def _decompose_all(
    space: Space, operator: Groups | Edges, alphas: FloatArray | None, *, keep_gram: bool
) -> tuple[Decomposition, FloatArray, FloatArray, FloatArray]:
    # The decomposition, the candidates, the coefficients for each of them, and K where a later step needs it.
    if space.solver == "primal":
        K = np.empty((0, 0))
        dec = decompose(*scatter(operator, space.features, space.n_features))
    else:
        root = dual_operator(operator)
        K = space.gram()
        dec = decompose(project(root, K.copy() if keep_gram else K), root.target)
    if alphas is None:
        alphas = np.geomspace(1e-7, 10.0, 17) * (float(dec.s.max()) or 1.0)
    solution = dec.solve(alphas)
    return dec, alphas, solution if space.solver == "primal" else root.adjoint(solution), K


def _blind_values(
    space: Space, operator: Groups, dual: Decomposition, held: FloatArray, plan: Plan, alphas: FloatArray
) -> FloatArray:
    """Return held-out utilities of rows whose group holds no pair; zero elsewhere.

    They cannot be had from held-out differences. With e_S the held-out errors of their fold S and G = (C'KC + λI)⁻¹,
    leaving S out changes the solution a by -G_{:,S} e_S, hence f(x) by -k(x)'C G_{:,S} e_S.
    """
    values = np.zeros_like(held)
    shrink = 1.0 / (dual.s[:, None] + alphas)
    for test in plan.tests:
        rows = test[operator.blind[test]]
        if rows.shape[0] == 0:
            continue
        k = space.X[rows] if isinstance(space.kernel, str) else gram(space.kernel, space.X[rows], space.X)
        k = k.toarray() if hasattr(k, "toarray") else k
        rotated = operator.apply(np.ascontiguousarray(k.T)).T @ dual.V
        error = operator.target[test, None] - held[test]
        values[rows] = rotated @ (shrink * (dual.rotated[:, None] - dual.V[test].T @ error))
    return values


def _refit(
    space: Space, data: RowData, plan: Plan, alphas: FloatArray, ties: Ties, weighting: Weighting, K: FloatArray
) -> tuple[FloatArray, FloatArray]:
    held = []
    for k, test in enumerate(plan.tests):
        train = plan.train(k, data.n_items)
        operator = data.operator(ties, weighting, train)
        if space.solver == "primal":
            M, b = scatter(operator, space.of(train), space.n_features)
            held.append(_product(space.features(test), decompose(M, b).solve(alphas)))
        else:
            dec = decompose(project(operator, K[np.ix_(train, train)]), operator.target)
            held.append(_product(K[np.ix_(test, train)], operator.adjoint(dec.solve(alphas))))
    return np.concatenate([f for f, _ in held]), np.concatenate([noise for _, noise in held])


def _fold_sums(
    space: Space, data: RowData, plan: Plan, alphas: FloatArray, ties: Ties, weighting: Weighting
) -> tuple[FloatArray, FloatArray]:
    # The primal sums are additive over groups: each training set is the sum of the other parts, never a difference.
    rest = np.setdiff1d(np.arange(data.n_items), plan.entry)
    parts: list[IntArray] = [*plan.tests, *([rest] if rest.shape[0] else [])]
    if len(parts) == 1:
        raise DataError("There are no rows to train on. Check cv: every training set needs some.")
    sums = [scatter(data.operator(ties, weighting, part), space.of(part), space.n_features) for part in parts]
    predictions = np.zeros((data.n_items, alphas.shape[0]))
    noise = np.zeros_like(predictions)
    for k, test in enumerate(plan.tests):
        M, b = np.zeros((space.n_features, space.n_features)), np.zeros(space.n_features)
        for j, (part_M, part_b) in enumerate(sums):
            if j != k:
                M += part_M
                b += part_b
        predictions[test], noise[test] = _product(space.features(test), decompose(M, b).solve(alphas))
    return predictions, noise


def _refit_pairs(
    space: Space, data: PairData, plan: Plan, alphas: FloatArray, ties: Ties, weighting: Weighting, K: FloatArray
) -> tuple[FloatArray, FloatArray]:
    held, rough = [], []
    for k, test in enumerate(plan.tests):
        edges = data.take(plan.train(k, data.margin.shape[0])).operator(ties, weighting)
        if space.solver == "primal":
            M, b = scatter(edges, space.features, space.n_features)
            f, noise = _product(space.features(slice(0, data.n_items)), decompose(M, b).solve(alphas))
        else:
            root = dual_operator(edges)
            f, noise = _product(K, root.adjoint(decompose(project(root, K.copy()), root.target).solve(alphas)))
        held.append(f[data.first[test]] - f[data.second[test]])
        rough.append(noise[data.first[test]] + noise[data.second[test]])
    return np.concatenate(held), np.concatenate(rough)
