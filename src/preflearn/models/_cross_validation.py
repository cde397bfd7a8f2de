"""Cross-validation: what is left out together, held-out predictions for every alpha, and how they are scored.

A `Plan` says what is left out together and an `Evaluation` compares the held-out predictions with the truth.
Predictions come from few decompositions: closed form where whole groups, or single pairs, are left out
(`preflearn.inference.exact`), otherwise one decomposition a fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from numbers import Integral
from operator import add
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GroupKFold, check_cv

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, Setting, quiet
from preflearn.inference.exact import (
    Decomposition,
    Hat,
    decompose,
    leave_groups_out_primal,
    leave_out,
    pair_hat,
    spread,
    stacks,
)
from preflearn.items import as_items
from preflearn.metrics import RankingScorer, get_scorer
from preflearn.models._least_squares import dual_operator, system_of
from preflearn.models.of_rows import Space
from preflearn.models.training_data import PairData, RowData
from preflearn.operators import Edges, FloatArray, Groups, IntArray, Root, Rows, scatter

Data = RowData | PairData
Held = tuple[FloatArray, FloatArray]  # held-out predictions, and their rounding errors
Predict = Callable[[IntArray, Any, IntArray], Held]


@dataclass(frozen=True)
class Plan:
    """Which rows (or comparisons) are left out together, and on which others the model is trained then.

    ``units`` numbers what is never cut (groups, distinct pairs) if every test set is made of whole units and trained on
    everything else: then leaving out has a closed form. Otherwise it is None and every test set costs a fit.
    """

    tests: Sequence[IntArray]
    trains: Sequence[IntArray] | None = None  # None: everything else
    units: IntArray | None = None

    @property
    def entry(self) -> IntArray:
        """Rows in the order in which they are held out; a row in two test sets comes twice."""
        return np.concatenate(self.tests)

    def train(self, k: int, n: int) -> IntArray:
        """Return what the k-th model is trained on."""
        return np.setdiff1d(np.arange(n), self.tests[k]) if self.trains is None else self.trains[k]

    @property
    def one_by_one(self) -> bool:
        """Whether every unit is left out by itself."""
        if self.units is None or len(self.tests) != int(self.units.max()) + 1:
            return False
        return all(self.units[test[0]] == self.units[test[-1]] == self.units[test].max() for test in self.tests)

    @property
    def overlapping(self) -> bool:
        """Whether something is held out more than once."""
        return bool(np.unique(self.entry).shape[0] < self.entry.shape[0])


@dataclass(frozen=True)
class Evaluation:
    """A plan, the truth of its entries, and the scorer that compares held-out predictions with it."""

    plan: Plan
    scorer: RankingScorer
    closeness: RankingScorer
    truth: FloatArray  # (entries, q)
    columns: IntArray  # outputs that are not all tied
    group: Any
    weight: FloatArray | None

    @classmethod
    def of(
        cls, owner: str, data: Data, given: Any, scoring: Any, cv: Any, *, precomputed: bool, folds: int | None = None
    ) -> Evaluation:
        """Return the evaluation of rows or of comparisons (``given`` is the X of fit).

        Without ``cv`` units are left out one by one, or in at most ``folds`` folds.
        """
        scorer, closeness = _scorers(owner, scoring)
        if cv is not None:
            cv = int(cv) if isinstance(cv, Integral) else check_cv(cv)
        if isinstance(data, RowData):
            scorer = scorer.for_rows()
            plan, fold = row_plan(owner, data, cv, precomputed, folds)
            entry = plan.entry
            # rows are compared inside their group, and only with rows held out together with them
            group: IntArray | None = data.code[entry] * (int(fold.max()) + 1) + fold
            truth = data.y.reshape(data.n_items, -1)
        else:
            scorer, closeness = scorer.for_comparisons(), closeness.for_comparisons()
            plan = pair_plan(owner, data, cv, given, precomputed, folds)
            entry, truth = plan.entry, data.margin.reshape(data.n_statements, -1)
            group = None if data.code is None else data.code[entry]
        tied = _tied(owner, truth, rows=isinstance(data, RowData))
        weight = None if data.weight is None else data.weight[entry]
        return cls(plan, scorer, closeness, truth[entry], np.flatnonzero(~tied), group, weight)

    @classmethod
    def of_held_out(
        cls, owner: str, truth: FloatArray, group: IntArray, weight: FloatArray | None, scoring: Any
    ) -> Evaluation:
        """Return the evaluation of rows in the order in which their groups were left out."""
        scorer, closeness = _scorers(owner, scoring)
        truth = truth[:, None]
        _tied(owner, truth, rows=True)
        plan = Plan([np.arange(truth.shape[0])], units=group)
        return cls(plan, scorer.for_rows(), closeness, truth, np.zeros(1, dtype=np.intp), group, weight)

    def choose(self, predictions: Sequence[FloatArray], scored: Any) -> tuple[FloatArray, tuple[int, int]]:
        """Return the scores of all columns of held-out predictions (entries, columns, q), and the best.

        That is the number of a candidate among ``predictions`` and its column. Scores are means over the q outputs.
        Equal scores are decided by held-out squared error: with few pairs many candidates put the same number of
        them in order; among these, differences of the right size are better than differences of the right sign. Of
        equal errors the first wins. Only the ``scored`` entries count.
        """
        scores = np.stack([self._evaluate(self.scorer, candidate, scored) for candidate in predictions])
        best = float(scores.max())
        winner, least = (0, 0), np.inf
        for i, values in enumerate(scores):
            columns = np.flatnonzero(values >= best - 1e-12 * max(1.0, abs(best)))
            if columns.shape[0] == 0:
                continue
            error = -self._evaluate(self.closeness, predictions[i], scored, columns)
            j = int(np.argmin(error))
            if error[j] < least:
                winner, least = (i, int(columns[j])), float(error[j])
        return scores, winner

    def _evaluate(
        self, scorer: RankingScorer, predictions: FloatArray, scored: Any, columns: Iterable[int] | None = None
    ) -> FloatArray:
        truth = self.truth[scored]
        group, weight = (None if labels is None else labels[scored] for labels in (self.group, self.weight))
        some = range(predictions.shape[1]) if columns is None else columns
        return np.array([self._mean_score(scorer, truth, predictions[scored, j], group, weight) for j in some])

    def _mean_score(
        self, scorer: RankingScorer, truth: FloatArray, found: FloatArray, group: Any, weight: FloatArray | None
    ) -> float:
        """Return the mean over outputs of the score of one column of predictions, (entries, q)."""
        return float(np.mean([scorer.evaluate(truth[:, k], found[:, k], group, weight) for k in self.columns]))


def _scorers(owner: str, scoring: Any) -> tuple[RankingScorer, RankingScorer]:
    """Return what is maximised, and the closeness of differences, which decides between equals."""
    scorer = get_scorer(scoring)
    if scorer.probabilistic:
        raise TypeError(
            f"{owner}: {scorer!r} judges probabilities, and {owner} predicts utilities. Use another scoring, such "
            'as "squared_error", or PreferenceGP.'
        )
    return scorer, get_scorer("squared_error")


def _tied(owner: str, truth: FloatArray, *, rows: bool) -> Any:
    """Return which outputs have no differences to choose by; raise if none has."""
    tied = (np.ptp(truth, axis=0) == 0) & (rows | (truth[0] == 0))
    if tied.all():
        raise DataError(code="all-tied-nothing-to-choose", owner=owner).says(
            "all scores or outcomes are tied, so all settings look equally good",
            "Check that the scores or outcomes are in the right column",
        )
    return tied


def row_plan(owner: str, data: RowData, cv: Any, precomputed: bool, folds: int | None) -> tuple[Plan, IntArray]:
    """Return the plan for scored rows, and the fold in which each entry is compared (0 where groups are whole)."""
    n, n_groups = data.n_items, int(data.code.max()) + 1
    if cv is not None and not isinstance(cv, int):
        return _given_rows(owner, data, cv, n_groups)
    if n_groups > 1:
        cv = min(folds, n_groups) if cv is None and folds is not None else cv
        if cv is not None and cv > n_groups:
            raise DataError(code="fewer-groups-than-folds", owner=owner).says(
                f"cv={cv} folds of groups need as many groups; there are {n_groups}."
            )
        if cv is None:
            tests = _places(data.code)
        else:
            tests = [test for _, test in GroupKFold(cv).split(np.zeros((n, 1)), groups=data.code)]
        return Plan(tests, units=data.code), np.zeros(n, dtype=np.intp)
    # One group: folds of distinct rows, so that copies of a row are never on both sides, and in an order of their own
    # (by score, then by features), so that the folds do not depend on the order of the rows.
    rows = np.column_stack([data.y, _distinct_items(data.X, precomputed)])
    unit = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    n_units = int(unit.max()) + 1
    n_folds = min(5, n_units // 2) if cv is None else cv
    if n_folds < 2 or n_folds > n_units // 2:
        raise DataError(code="too-few-rows-for-folds", owner=owner).says(
            f"{n_units} distinct rows in one group are too few for cross-validation with {max(n_folds, 2)} "
            "folds of at least two rows",
            "Give more rows",
            "groups (qid)",
            "fewer folds with " + Setting("cv"),
            "fix the regularisation with " + Setting("fixed_alpha", 1.0) + " or " + Setting("fixed_components", 10),
        )
    plan = Plan([np.flatnonzero(unit % n_folds == k) for k in range(n_folds)])
    return plan, unit[plan.entry] % n_folds


def _given_rows(owner: str, data: RowData, cv: Any, n_groups: int) -> tuple[Plan, IntArray]:
    # The splitter sees the rows as they were given, before those of weight zero were dropped.
    kept = np.arange(data.n_given) if data.kept is None else data.kept
    y, code = np.zeros((data.n_given, *data.outputs)), np.zeros(data.n_given, dtype=np.intp)
    y[kept], code[kept] = data.y, data.code
    plan = _plan(owner, cv, np.zeros((data.n_given, 1)), y, code if data.grouped else None, kept)
    whole = n_groups > 1 and all(np.isin(data.code, data.code[test]).sum() == len(test) for test in plan.tests)
    fold = np.repeat(np.arange(len(plan.tests)), [len(test) for test in plan.tests])
    if plan.trains is None and whole:
        return Plan(plan.tests, units=data.code), np.zeros_like(fold)
    return plan, fold


def pair_plan(owner: str, data: PairData, cv: Any, given: Any, precomputed: bool, folds: int | None) -> Plan:
    """Return the plan for comparisons: by group where there are groups, else by distinct pair.

    A splitter splits the comparisons, or the edges of a graph in the order of its upper triangle.
    """
    if cv is not None and not isinstance(cv, int):
        listed = isinstance(given, Comparisons)
        X, groups = (given, given.group) if listed else (np.zeros((data.n_given, 1)), None)
        return _plan(owner, cv, X, None, groups, data.rows)
    grouped = data.code is not None and int(data.code.max()) > 0
    unit = data.code if grouped and data.code is not None else _distinct_pairs(data, precomputed)
    if not grouped and unit.max() == 0:  # all items look alike: tell them apart by number
        unit = replace(data, ties="include").operator().pair
    n_units, what = int(unit.max()) + 1, "groups" if grouped else "distinct pairs"
    if cv is None and folds is not None and n_units > 1:
        cv = min(folds, n_units)
    if n_units < 2 or (cv is not None and cv > n_units):
        raise DataError(code="too-few-comparisons-for-folds", owner=owner).says(
            f"cross-validation{'' if cv is None else f' with cv={cv}'} needs at least {cv or 2} {what} of "
            f"comparisons; there {'is' if n_units == 1 else 'are'} {n_units}",
            "Give more comparisons, or fix the parameters and use the estimator without CV",
        )
    if cv is None:
        return Plan(_places(unit), units=unit)
    return Plan([np.flatnonzero(unit % cv == k) for k in range(cv)])


def _plan(owner: str, cv: Any, X: Any, y: Any, groups: Any, kept: IntArray) -> Plan:
    """Return the splits of what was given, in numbers of what was kept."""
    place, n = np.full(len(X), -1), kept.shape[0]
    place[kept] = np.arange(n)
    with quiet(UserWarning, message="The groups parameter is ignored"):
        splits = [
            tuple(found[found >= 0] for found in (place[train], place[test])) for train, test in cv.split(X, y, groups)
        ]
    splits = [(train, test) for train, test in splits if len(test)]
    if not splits or any(len(train) == 0 for train, _ in splits):
        raise DataError(code="split-leaves-nothing", owner=owner).says(
            f"cv leaves {'nothing to test on' if not splits else 'nothing to train on in some fold'}",
            "Every split needs training and test rows (of positive weight)",
        )
    tests = [test for _, test in splits]
    plain = all(len(np.union1d(train, test)) == n and not np.isin(train, test).any() for train, test in splits)
    found = Plan(tests)
    return found if plain and not found.overlapping else Plan(tests, [train for train, _ in splits])


def _places(unit: IntArray) -> list[IntArray]:
    """Return where each of the numbers 0, 1, ... stands."""
    return np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1])


def _distinct_pairs(data: PairData, precomputed: bool) -> IntArray:
    """Return numbers of distinct pairs, by their items' features.

    They do not depend on the order of the items, except for items without features, which have only their numbers.
    """
    item = _distinct_items(data.X, precomputed)
    first, second = item[data.first], item[data.second]
    key = np.minimum(first, second) * (int(item.max()) + 1) + np.maximum(first, second)
    return np.unique(key, return_inverse=True)[1].astype(np.intp)


def _distinct_items(X: Any, precomputed: bool) -> IntArray:
    """Return numbers of distinct items in the lexical order of their features, the same for sparse and dense rows."""
    if not precomputed:
        return as_items(X).distinct()
    # a kernel's rows are known by their values in any order of columns: permuting items permutes columns, too
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return as_items(np.column_stack([dense.diagonal(), np.sort(dense, axis=1)])).distinct()


# --- held-out predictions -------------------------------------------------------------------------------------------


class HeldOut(NamedTuple):
    """Held-out predictions (entries of the plan, n_alphas, q), their rounding errors, and coefficients of all data."""

    alphas: FloatArray
    predictions: FloatArray
    noise: FloatArray
    coefficients: FloatArray


def settle(predictions: FloatArray, noise: FloatArray | float) -> FloatArray:
    """Round predictions to multiples of sixteen times their rounding error, so that noise decides no order."""
    step = 16 * np.maximum(noise, 1e-300)
    return np.asarray(np.round(predictions / step) * step)


def hold_out(space: Space, data: Data, plan: Plan, alphas: FloatArray | None) -> HeldOut:
    """Return held-out utilities of rows, or margins of comparisons, for every alpha.

    It costs one decomposition where whole groups, or distinct pairs, are left out: for all outputs that are seen alike.
    """
    found: list[HeldOut] = []
    for part in data.alike():
        found.append(_hold_out(space, part, plan, alphas))
        alphas = found[0].alphas
    return HeldOut(found[0].alphas, *(np.concatenate(one, axis=2) for one in list(zip(*found, strict=True))[1:]))


def _hold_out(space: Space, data: Data, plan: Plan, alphas: FloatArray | None) -> HeldOut:
    operator: Any = data.operator() if isinstance(data, RowData) else data.operator(plan.units)
    if isinstance(operator, Rows):
        if plan.trains is None and plan.units is None:  # nothing joins rows, so any of them may be left out together
            plan = replace(plan, units=np.arange(operator.n_items))
        operator = replace(operator, code=plan.units)
    closed = plan.units is not None
    dec, alphas, coefficients, K = _decompose_all(space, operator, alphas, keep_gram=not closed)
    if not closed:
        found = refit(data, plan, partial(_predict, space, K, alphas))
    elif isinstance(data, PairData):
        found = _without_pairs(space, data, plan, operator, dec, alphas)
    elif space.solver == "dual":
        found = _without_groups(space, plan, operator, dec, alphas)
    elif plan.one_by_one:
        values, rough = leave_groups_out_primal(dec, operator, space.features, alphas)
        found = values[plan.entry], rough[plan.entry]
    else:
        found = _fold_sums(space, data, plan, alphas)
    return HeldOut(alphas, *(values.reshape(len(values), len(alphas), -1) for values in (*found, coefficients)))


def _without_groups(space: Space, plan: Plan, operator: Any, dec: Decomposition, alphas: FloatArray) -> Held:
    residual = dec.V @ dec.scaled(alphas / (dec.s[:, None] + alphas))
    hat = Hat("dual", dec.s, dec.V.__getitem__)
    held, noise = leave_out(hat, operator.target, residual, alphas, stacks(plan.tests, dec.s.shape[0]))
    values = operator.recover(held, _blind_values(space, operator, dec, held, plan, alphas))
    return values[plan.entry], operator.recovered_noise(noise)[plan.entry]


def _without_pairs(
    space: Space, data: PairData, plan: Plan, edges: Any, dec: Decomposition, alphas: FloatArray
) -> Held:
    """Return held-out margins in the closed form; NaN for ties that do not count."""
    assert plan.units is not None
    kept = data.counted
    unit = np.empty(edges.first.shape[0], dtype=np.intp)
    unit[edges.pair] = plan.units[kept]
    hat, residual, fitted = _pair_hat(space, edges, dec, alphas)
    held, noise_root = leave_out(hat, edges.target, residual, alphas, stacks(_places(unit), dec.s.shape[0]), fitted)
    root_weight = edges.root_weight[:, None]
    margins = np.full((data.n_statements, held.shape[1]), np.nan)
    noise = np.zeros_like(margins)
    margins[kept] = edges.sign[:, None] * (held / root_weight)[edges.pair]
    noise[kept] = (noise_root / root_weight)[edges.pair]
    return margins[plan.entry], noise[plan.entry]


def _pair_hat(
    space: Space, edges: Edges, dec: Decomposition, alphas: FloatArray
) -> tuple[Hat, FloatArray, FloatArray | None]:
    """Return the hat matrix over listed pairs, the residuals of the fit on all of them, and what was fitted."""
    if space.solver == "primal":
        Z = space.features(slice(0, edges.n_items))
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
        fitted = edges.apply(Z @ dec.solve(alphas))
        residual = spread(edges.target, alphas.shape[0]) - fitted
        return pair_hat("primal", dec.s, np.asarray(Z @ dec.V), edges), residual, fitted
    shrunk = dec.scaled(alphas / (dec.s[:, None] + alphas))
    root = dual_operator(edges)
    if not isinstance(root, Root):
        return Hat("dual", dec.s, dec.V.__getitem__), dec.V @ shrunk, None
    hat = pair_hat("root", dec.s, root.coordinates(dec.V), edges)
    residual = np.empty((edges.first.shape[0], shrunk.shape[1]))
    step = max(1, (1 << 21) // max(1, dec.s.shape[0]))
    for i in range(0, residual.shape[0], step):
        here = np.arange(i, min(i + step, residual.shape[0]))
        P = hat.rows(here)
        # what no utilities can explain, and what regularisation leaves over
        residual[here] = spread(edges.target[here] - P @ dec.rotated, alphas.shape[0]) + P @ shrunk
    return hat, residual, None


def _product(Z: Any, W: FloatArray) -> Held:
    """Return Z W and its rounding error, that of the lengths of rows and columns."""
    squares = Z.multiply(Z).sum(axis=1) if hasattr(Z, "toarray") else np.einsum("ij,ij->i", Z, Z)
    lengths = np.sqrt(np.asarray(squares).ravel())
    return np.asarray(Z @ W), np.finfo(np.float64).eps * np.outer(lengths, np.linalg.norm(W, axis=0))


def _decompose_all(
    space: Space, operator: Rows | Groups | Edges, alphas: FloatArray | None, *, keep_gram: bool
) -> tuple[Decomposition, FloatArray, FloatArray, FloatArray]:
    # The decomposition, the candidates, the coefficients for each of them, and K where a later step needs it.
    K = space.gram() if space.solver == "dual" else np.empty((0, 0))
    M, b, coefficients = system_of(space, operator, space.features, K.copy() if keep_gram else K)
    dec = decompose(M, b)
    if alphas is None:
        alphas = default_alphas(dec)
    return dec, alphas, coefficients(dec.solve(alphas)), K


def default_alphas(dec: Decomposition) -> FloatArray:
    """Return the candidates: 17 values from 1e-7 to 10 times the largest eigenvalue."""
    return np.geomspace(1e-7, 10.0, 17) * (float(dec.s.max()) or 1.0)


def _blind_values(
    space: Space, operator: Groups | Rows, dual: Decomposition, held: FloatArray, plan: Plan, alphas: FloatArray
) -> FloatArray:
    """Return held-out utilities of rows whose group holds no pair; zero elsewhere.

    They cannot be had from held-out differences. With e_S the held-out errors of their fold S and G = (C'KC + λI)⁻¹,
    leaving S out changes the solution a by -G_{:,S} e_S, hence f(x) by -k(x)'C G_{:,S} e_S.
    """
    values = np.zeros_like(held)
    n_alphas = alphas.shape[0]
    shrink = np.repeat(1.0 / (dual.s[:, None] + alphas), held.shape[1] // n_alphas, axis=1)
    for test in plan.tests:
        rows = test[operator.blind[test]]
        if rows.shape[0] == 0:
            continue
        rotated = operator.apply(np.ascontiguousarray(space.rows_of_gram(rows).T)).T @ dual.V
        error = spread(operator.target[test], n_alphas) - held[test]
        values[rows] = rotated @ (shrink * (spread(dual.rotated, n_alphas) - dual.V[test].T @ error))
    return values


def refit(data: Data, plan: Plan, predict: Predict) -> Held:
    """Return held-out predictions and their rounding errors from a fit for every fold.

    ``predict`` returns utilities of some items, and their rounding errors, from what an operator sees of others.
    """
    held = []
    for k, test in enumerate(plan.tests):
        items, operator = data.training(plan.train(k, data.n_statements))
        f, noise = predict(items, operator, test if isinstance(data, RowData) else np.arange(data.n_items))
        if isinstance(data, PairData):
            f, noise = f[data.first[test]] - f[data.second[test]], noise[data.first[test]] + noise[data.second[test]]
        held.append((f, noise))
    return np.concatenate([f for f, _ in held]), np.concatenate([noise for _, noise in held])


def _predict(space: Space, K: FloatArray, alphas: FloatArray, items: IntArray, operator: Any, wanted: IntArray) -> Held:
    primal = space.solver == "primal"
    M, b, coefficients = system_of(space, operator, space.of(items), None if primal else K[np.ix_(items, items)])
    Z = space.features(wanted) if primal else K[np.ix_(wanted, items)]
    return _product(Z, coefficients(decompose(M, b).solve(alphas)))


def _fold_sums(space: Space, data: RowData, plan: Plan, alphas: FloatArray) -> Held:
    # The primal sums are additive over groups: each training set is the sum of the other parts, never a difference.
    rest = np.setdiff1d(np.arange(data.n_items), plan.entry)
    parts: list[IntArray] = [*plan.tests, *([rest] if rest.shape[0] else [])]
    if len(parts) == 1:
        raise DataError(code="no-training-rows-in-fold").says(
            "There are no rows to train on", "Check cv: every training set needs some"
        )
    sums = [scatter(data.operator(part), space.of(part), space.n_features) for part in parts]
    held = []
    for k, test in enumerate(plan.tests):
        M, b = (reduce(add, part) for part in zip(*(one for j, one in enumerate(sums) if j != k), strict=True))
        dec = decompose(M.copy(), b)
        held.append(_product(space.features(test), dec.solve(alphas)))
    return np.concatenate([f for f, _ in held]), np.concatenate([noise for _, noise in held])
