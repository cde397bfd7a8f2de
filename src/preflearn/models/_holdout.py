"""Held-out predictions for every alpha from few decompositions.

Closed form where whole groups, or single pairs, are left out (`preflearn.inference.exact`); otherwise one
decomposition a fold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    """Held-out predictions (entries of the plan, n_alphas), and the coefficients of the fit on everything."""

    alphas: FloatArray
    predictions: FloatArray
    coefficients: FloatArray


def settle(predictions: FloatArray, noise: FloatArray | float) -> FloatArray:
    """Round predictions to multiples of a thousand times their rounding error, so that noise decides no order."""
    step = 1024 * np.maximum(noise, 1e-300)
    return np.asarray(np.round(predictions / step) * step)


def hold_out_rows(
    space: Space, data: RowData, plan: Plan, alphas: FloatArray | None, ties: Ties, weighting: Weighting
) -> HeldOut:
    """Return held-out utilities of rows for every alpha; costs one decomposition where groups are whole."""
    operator = data.operator(ties, weighting)
    closed = plan.units is not None
    dec, alphas, coefficients, K = _decompose_all(space, operator, alphas, keep_gram=not closed)
    if not closed:
        predictions = _refit(space, data, plan, alphas, ties, weighting, K)
        noise = np.finfo(np.float64).eps * float(np.ptp(data.y))
        return HeldOut(alphas, settle(predictions, noise), coefficients)
    if space.solver == "primal" and len(plan.tests) == operator.n_groups:
        values, rough = leave_groups_out_primal(dec, operator, space.features, alphas)
    elif space.solver == "primal":
        values = _fold_sums(space, data, plan, alphas, ties, weighting)
        rough = np.full((1, 1), np.finfo(np.float64).eps * float(np.ptp(data.y)))
    else:
        residual = dec.V @ (alphas / (dec.s[:, None] + alphas) * dec.rotated[:, None])
        hat = Hat("dual", dec.s, dec.V.__getitem__)
        held, noise_root = leave_out(hat, operator.target, residual, alphas, stacks(plan.tests, dec.s.shape[0]))
        blind = _blind_values(space, operator, dec, held, plan, alphas)
        values, rough = operator.recover(held, blind), operator.recovered_noise(noise_root)
    entry = plan.entry
    return HeldOut(alphas, settle(values, rough)[entry], coefficients)


def hold_out_pairs(
    space: Space, data: PairData, plan: Plan, alphas: FloatArray | None, ties: Ties, weighting: Weighting
) -> HeldOut:
    """Return held-out margins of comparisons for every alpha; NaN for ties that do not count in the closed form."""
    edges = data.operator(ties, weighting, code=plan.units)
    closed = plan.units is not None
    dec, alphas, coefficients, K = _decompose_all(space, edges, alphas, keep_gram=not closed)
    if plan.units is None:
        noise = np.finfo(np.float64).eps * float(np.abs(data.margin).max())
        return HeldOut(alphas, settle(_refit_pairs(space, data, plan, alphas, ties, weighting, K), noise), coefficients)
    kept = np.ones(data.margin.shape[0], dtype=bool) if ties == "include" else data.margin != 0
    unit = np.empty(edges.first.shape[0], dtype=np.intp)
    unit[edges.pair] = plan.units[kept]
    blocks = np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1])
    hat, residual = _pair_hat(space, edges, dec, alphas)
    held, noise_root = leave_out(hat, edges.target, residual, alphas, stacks(blocks, dec.s.shape[0]))
    root_weight = edges.root_weight[:, None]
    margins = np.full((data.margin.shape[0], alphas.shape[0]), np.nan)
    margins[kept] = edges.sign[:, None] * settle(held / root_weight, noise_root / root_weight)[edges.pair]
    return HeldOut(alphas, margins[plan.entry], coefficients)


def _pair_hat(space: Space, edges: Edges, dec: Decomposition, alphas: FloatArray) -> tuple[Hat, FloatArray]:
    """Return the hat matrix over listed pairs and the residuals of the fit on all of them."""
    if space.solver == "primal":
        Z = space.features(slice(0, edges.n_items))
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
        return primal_pair_hat(dec, edges, Z), edges.target[:, None] - edges.apply(Z @ dec.solve(alphas))
    shrunk = alphas / (dec.s[:, None] + alphas) * dec.rotated[:, None]
    root = dual_operator(edges)
    if not isinstance(root, Root):
        return Hat("dual", dec.s, dec.V.__getitem__), dec.V @ shrunk
    hat = root_hat(dec, root, edges)
    residual = np.empty((edges.first.shape[0], alphas.shape[0]))
    step = max(1, (1 << 21) // max(1, dec.s.shape[0]))
    for i in range(0, residual.shape[0], step):
        here = np.arange(i, min(i + step, residual.shape[0]))
        P = hat.rows(here)
        # what no utilities can explain, and what regularisation leaves over
        residual[here] = (edges.target[here] - P @ dec.rotated)[:, None] + P @ shrunk
    return hat, residual


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
    lone = np.bincount(operator.code)[operator.code] == 1
    blind = lone if operator.level is None else lone | (operator.inner[operator.level] == 0)
    values = np.zeros_like(held)
    shrink = 1.0 / (dual.s[:, None] + alphas)
    for test in plan.tests:
        rows = test[blind[test]]
        if rows.shape[0] == 0:
            continue
        k = space.X[rows] if isinstance(space.kernel, str) else gram(space.kernel, space.X[rows], space.X)
        rotated = operator.apply(np.ascontiguousarray(k.T)).T @ dual.V
        error = operator.target[test, None] - held[test]
        values[rows] = rotated @ (shrink * (dual.rotated[:, None] - dual.V[test].T @ error))
    return values


def _refit(
    space: Space, data: RowData, plan: Plan, alphas: FloatArray, ties: Ties, weighting: Weighting, K: FloatArray
) -> FloatArray:
    held = []
    for k, test in enumerate(plan.tests):
        train = plan.train(k, data.n_items)
        operator = data.operator(ties, weighting, train)
        if space.solver == "primal":
            M, b = scatter(operator, space.of(train), space.n_features)
            held.append(np.asarray(space.features(test) @ decompose(M, b).solve(alphas)))
        else:
            dec = decompose(project(operator, K[np.ix_(train, train)]), operator.target)
            held.append(K[np.ix_(test, train)] @ operator.adjoint(dec.solve(alphas)))
    return np.concatenate(held)


def _fold_sums(
    space: Space, data: RowData, plan: Plan, alphas: FloatArray, ties: Ties, weighting: Weighting
) -> FloatArray:
    # The primal sums are additive over groups: each training set is the sum of the other parts, never a difference.
    rest = np.setdiff1d(np.arange(data.n_items), plan.entry)
    parts: list[IntArray] = [*plan.tests, *([rest] if rest.shape[0] else [])]
    sums = [scatter(data.operator(ties, weighting, part), space.of(part), space.n_features) for part in parts]
    predictions = np.zeros((data.n_items, alphas.shape[0]))
    for k, test in enumerate(plan.tests):
        M, b = np.zeros((space.n_features, space.n_features)), np.zeros(space.n_features)
        for j, (part_M, part_b) in enumerate(sums):
            if j != k:
                M += part_M
                b += part_b
        predictions[test] = space.features(test) @ decompose(M, b).solve(alphas)
    return predictions


def _refit_pairs(
    space: Space, data: PairData, plan: Plan, alphas: FloatArray, ties: Ties, weighting: Weighting, K: FloatArray
) -> FloatArray:
    held = []
    for k, test in enumerate(plan.tests):
        edges = data.take(plan.train(k, data.margin.shape[0])).operator(ties, weighting)
        if space.solver == "primal":
            M, b = scatter(edges, space.features, space.n_features)
            f = np.asarray(space.features(slice(0, data.n_items)) @ decompose(M, b).solve(alphas))
        else:
            root = dual_operator(edges)
            f = K @ root.adjoint(decompose(project(root, K.copy()), root.target).solve(alphas))
        held.append(f[data.first[test]] - f[data.second[test]])
    return np.concatenate(held)
