"""Held-out predictions for every alpha from few decompositions.

Closed form where whole groups, or single pairs, are left out (`preflearn.inference.exact`); otherwise one
decomposition a fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from preflearn.inference.exact import (
    Decomposition,
    decompose,
    leave_blocks_out,
    leave_groups_out_primal,
    leave_pairs_out,
    leave_pairs_out_primal,
)
from preflearn.kernels import gram
from preflearn.models._folds import Folds
from preflearn.models._input import PairData, RowData, Ties, Weighting
from preflearn.models._space import Space, dual_operator
from preflearn.operators import Edges, FloatArray, Groups, IntArray, Root, project, scatter

__all__ = ["HeldOut", "hold_out_pairs", "hold_out_rows"]


@dataclass(frozen=True)
class HeldOut:
    """Held-out predictions (n, n_alphas), NaN where never held out, and the coefficients of the fit on everything."""

    alphas: FloatArray
    predictions: FloatArray
    coefficients: FloatArray


def hold_out_rows(
    space: Space, data: RowData, folds: Folds, alphas: FloatArray | None, ties: Ties, weighting: Weighting
) -> HeldOut:
    """Return held-out utilities of rows for every alpha; costs one decomposition where groups are whole."""
    operator = data.operator(ties, weighting)
    assert isinstance(operator, Groups)
    primal = space.solver == "primal"
    dec, alphas, coefficients, K = _decompose_all(space, operator, alphas, keep_gram=not folds.whole)
    if not folds.whole:
        return HeldOut(alphas, _refit(space, data, folds.tests, alphas, ties, weighting, K), coefficients)
    single = len(folds.tests) == operator.n_groups
    if primal and single:
        return HeldOut(alphas, leave_groups_out_primal(dec, operator, space.features, alphas), coefficients)
    if primal:
        return HeldOut(alphas, _fold_sums(space, data, folds.tests, alphas, ties, weighting), coefficients)
    held = leave_blocks_out(dec, operator.target, alphas, folds.tests)
    blind = _blind_values(space, operator, dec, held, folds.tests, alphas)
    return HeldOut(alphas, operator.recover(held, blind), coefficients)


def hold_out_pairs(
    space: Space,
    data: PairData,
    tests: Sequence[IntArray] | None,
    alphas: FloatArray | None,
    ties: Ties,
    weighting: Weighting,
) -> HeldOut:
    """Return held-out margins of comparisons for every alpha; ``tests`` None leaves out each distinct pair."""
    edges = data.operator(ties, weighting)
    dec, alphas, coefficients, K = _decompose_all(space, edges, alphas, keep_gram=True)
    if tests is not None:
        return HeldOut(alphas, _refit_pairs(space, data, tests, alphas, ties, weighting, K), coefficients)
    if space.solver == "primal":
        held = leave_pairs_out_primal(dec, edges, space.features, alphas)
    else:
        root = dual_operator(edges)
        if isinstance(root, Root):
            held = leave_pairs_out(dec, root, edges, K @ coefficients, alphas)
        else:
            held = leave_blocks_out(dec, edges.target, alphas, list(np.arange(edges.first.shape[0])[:, None]))
    margins = np.full((data.margin.shape[0], alphas.shape[0]), np.nan)
    kept = np.ones(data.margin.shape[0], dtype=bool) if ties == "include" else data.margin != 0
    margins[kept] = edges.sign[:, None] * (held / edges.root_weight[:, None])[edges.pair]
    return HeldOut(alphas, margins, coefficients)


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
    space: Space,
    operator: Groups,
    dual: Decomposition,
    held: FloatArray,
    tests: Sequence[IntArray],
    alphas: FloatArray,
) -> FloatArray:
    """Return held-out utilities of rows whose group holds no pair; zero elsewhere.

    They cannot be had from held-out differences. With e_S the held-out errors of their fold S and G = (C'KC + λI)⁻¹,
    leaving S out changes the solution a by -G_{:,S} e_S, hence f(x) by -k(x)'C G_{:,S} e_S.
    """
    lone = np.bincount(operator.code)[operator.code] == 1
    blind = lone if operator.level is None else lone | (operator.inner[operator.level] == 0)
    values = np.zeros_like(held)
    shrink = 1.0 / (dual.s[:, None] + alphas)
    for test in tests:
        rows = test[blind[test]]
        if rows.shape[0] == 0:
            continue
        k = space.X[rows] if isinstance(space.kernel, str) else gram(space.kernel, space.X[rows], space.X)
        rotated = operator.apply(np.ascontiguousarray(k.T)).T @ dual.V
        error = operator.target[test, None] - held[test]
        values[rows] = rotated @ (shrink * (dual.rotated[:, None] - dual.V[test].T @ error))
    return values


def _refit(
    space: Space,
    data: RowData,
    tests: Iterable[IntArray],
    alphas: FloatArray,
    ties: Ties,
    weighting: Weighting,
    K: FloatArray,
) -> FloatArray:
    predictions = np.full((data.n_items, alphas.shape[0]), np.nan)
    for test in tests:
        train = np.setdiff1d(np.arange(data.n_items), test)
        operator = data.operator(ties, weighting, train)
        if space.solver == "primal":
            M, b = scatter(operator, space.of(train), space.n_features)
            predictions[test] = space.features(test) @ decompose(M, b).solve(alphas)
        else:
            dec = decompose(project(operator, K[np.ix_(train, train)]), operator.target)
            predictions[test] = K[np.ix_(test, train)] @ operator.adjoint(dec.solve(alphas))
    return predictions


def _fold_sums(
    space: Space,
    data: RowData,
    tests: Sequence[IntArray],
    alphas: FloatArray,
    ties: Ties,
    weighting: Weighting,
) -> FloatArray:
    # The primal sums are additive over groups: each training set is the sum of the other folds, never a difference.
    sums = [
        scatter(
            data.operator(ties, weighting, test),
            space.of(test),
            space.n_features,
        )
        for test in tests
    ]
    predictions = np.full((data.n_items, alphas.shape[0]), np.nan)
    for k, test in enumerate(tests):
        M = sum(M for j, (M, _) in enumerate(sums) if j != k)
        b = sum(b for j, (_, b) in enumerate(sums) if j != k)
        predictions[test] = space.features(test) @ decompose(np.asarray(M), np.asarray(b)).solve(alphas)
    return predictions


def _refit_pairs(
    space: Space,
    data: PairData,
    tests: Iterable[IntArray],
    alphas: FloatArray,
    ties: Ties,
    weighting: Weighting,
    K: FloatArray,
) -> FloatArray:
    margins = np.full((data.margin.shape[0], alphas.shape[0]), np.nan)
    for test in tests:
        train = np.setdiff1d(np.arange(data.margin.shape[0]), test)
        edges = data.take(train).operator(ties, weighting)
        if space.solver == "primal":
            M, b = scatter(edges, space.features, space.n_features)
            f = space.features(slice(0, data.n_items)) @ decompose(M, b).solve(alphas)
        else:
            root = dual_operator(edges)
            dec = decompose(project(root, K.copy()), root.target)
            f = K @ root.adjoint(dec.solve(alphas))
        margins[test] = f[data.first[test]] - f[data.second[test]]
    return margins
