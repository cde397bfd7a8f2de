"""What is left out together in cross-validation, and how the held-out predictions are judged."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, check_cv

from preflearn.data import Bags, Comparisons
from preflearn.exceptions import DataError
from preflearn.metrics import RankingScorer, get_scorer
from preflearn.models._input import PairData, RowData
from preflearn.operators import FloatArray, IntArray

__all__ = ["Judge", "Plan"]


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
class Judge:
    """A plan, the truth of its entries, and the scorer that compares held-out predictions with it."""

    plan: Plan
    scorer: RankingScorer
    closeness: RankingScorer
    truth: FloatArray
    group: Any
    weight: FloatArray | None

    @classmethod
    def of(
        cls,
        owner: str,
        data: RowData | PairData,
        given: Any,
        scoring: Any,
        cv: Any,
        *,
        precomputed: bool = False,
        folds: int | None = None,
    ) -> Judge:
        """Return the judge for rows or for comparisons (``given`` is the X of fit).

        Without ``cv`` units are left out one by one, or in at most ``folds`` folds.
        """
        scorer, closeness = get_scorer(scoring), get_scorer("squared_error")
        if scorer.probabilistic:
            raise TypeError(
                f"{owner}: {scorer!r} judges probabilities, and {owner} predicts utilities. Use another scoring, such "
                'as "squared_error", or PreferenceGP.'
            )
        if cv is not None:
            cv = int(cv) if isinstance(cv, Integral) else check_cv(cv)
        if isinstance(data, RowData):
            scorer = scorer.for_rows()
            plan, fold = row_plan(owner, data, cv, precomputed, folds)
            entry = plan.entry
            # rows are compared inside their group, and only with rows held out together with them
            group: IntArray | None = data.code[entry] * (int(fold.max()) + 1) + fold
            truth = data.y
        else:
            scorer, closeness = scorer.for_comparisons(), closeness.for_comparisons()
            plan = pair_plan(owner, data, cv, given, precomputed, folds)
            entry, truth = plan.entry, data.margin
            group = None if data.code is None else data.code[entry]
        if np.ptp(truth) == 0 and (isinstance(data, RowData) or truth[0] == 0):
            raise DataError(
                f"{owner}: all scores or outcomes are tied, so there is nothing to choose by. "
                "Check that y (or outcome) is the right column."
            )
        weight = None if data.weight is None else data.weight[entry]
        return cls(plan, scorer, closeness, truth[entry], group, weight)

    def scores(self, predictions: FloatArray, judged: Any) -> FloatArray:
        """Return the score of each column of held-out predictions, over the ``judged`` entries."""
        return self._evaluate(self.scorer, predictions, judged)

    def choose(self, scores: Sequence[FloatArray], predictions: Sequence[FloatArray], judged: Any) -> tuple[int, int]:
        """Return (candidate, column) of the best score; equal scores are told apart by held-out squared error.

        With few pairs many candidates put the same number of them in order; among these, differences of the right size
        are better than differences of the right sign. Of equal errors the first wins.
        """
        best = max(float(values.max()) for values in scores)
        winner, least = (0, 0), np.inf
        for i, values in enumerate(scores):
            columns = np.flatnonzero(values >= best - 1e-12 * max(1.0, abs(best)))
            if columns.shape[0] == 0:
                continue
            error = -self._evaluate(self.closeness, predictions[i][:, columns], judged)
            j = int(np.argmin(error))
            if error[j] < least:
                winner, least = (i, int(columns[j])), float(error[j])
        return winner

    def _evaluate(self, scorer: RankingScorer, predictions: FloatArray, judged: Any) -> FloatArray:
        truth = self.truth[judged]
        group = None if self.group is None else self.group[judged]
        weight = None if self.weight is None else self.weight[judged]
        return np.array([scorer.evaluate(truth, column, group, weight) for column in predictions[judged].T])


def row_plan(
    owner: str, data: RowData, cv: Any, precomputed: bool = False, folds: int | None = None
) -> tuple[Plan, IntArray]:
    """Return the plan for scored rows, and the fold in which each entry is compared (0 where groups are whole)."""
    n, n_groups = data.n_items, int(data.code.max()) + 1
    if cv is not None and not isinstance(cv, int):
        return _given_rows(owner, data, cv, n_groups)
    if n_groups > 1:
        cv = min(folds, n_groups) if cv is None and folds is not None else cv
        if cv is not None and cv > n_groups:
            raise DataError(f"{owner}: cv={cv} folds of groups need as many groups; there are {n_groups}.")
        if cv is None:
            tests = np.split(np.argsort(data.code, kind="stable"), np.cumsum(np.bincount(data.code))[:-1])
        else:
            tests = [test for _, test in GroupKFold(cv).split(np.zeros((n, 1)), groups=data.code)]
        return Plan(tests, units=data.code), np.zeros(n, dtype=np.intp)
    # One group: folds of distinct rows, so that copies of a row are never on both sides, and in an order of their own
    # (by score), so that the folds do not depend on the order of the rows.
    unit = _distinct_rows(data, precomputed)
    n_units = int(unit.max()) + 1
    n_folds = min(5, n_units // 2) if cv is None else cv
    if n_folds < 2 or n_folds > n_units // 2:
        raise DataError(
            f"{owner}: {n_units} distinct rows in one group are too few for cross-validation with "
            f"{max(n_folds, 2)} folds of at least two rows. Give more rows, fewer folds (cv), or groups (qid)."
        )
    plan = Plan([np.flatnonzero(unit % n_folds == k) for k in range(n_folds)])
    return plan, unit[plan.entry] % n_folds


def _given_rows(owner: str, data: RowData, cv: Any, n_groups: int) -> tuple[Plan, IntArray]:
    # The splitter sees the rows as they were given, before those of weight zero were dropped.
    kept = np.arange(data.n_given) if data.kept is None else data.kept
    y, code = np.zeros(data.n_given), np.zeros(data.n_given, dtype=np.intp)
    y[kept], code[kept] = data.y, data.code
    splits = _translate(cv, np.zeros((data.n_given, 1)), y, code if data.grouped else None, kept, data.n_given)
    plan = _plan(owner, splits, data.n_items)
    whole = n_groups > 1 and all(np.isin(data.code, data.code[test]).sum() == len(test) for test in plan.tests)
    fold = np.repeat(np.arange(len(plan.tests)), [len(test) for test in plan.tests])
    if plan.trains is None and whole:
        return Plan(plan.tests, units=data.code), np.zeros_like(fold)
    return plan, fold


def pair_plan(
    owner: str, data: PairData, cv: Any, given: Any, precomputed: bool = False, folds: int | None = None
) -> Plan:
    """Return the plan for comparisons: by group where there are groups, else by distinct pair.

    A splitter splits the comparisons, or the edges of a graph in the order of its upper triangle.
    """
    if cv is not None and not isinstance(cv, int):
        listed = isinstance(given, Comparisons)
        X, groups = (given, given.group) if listed else (np.zeros((data.n_given, 1)), None)
        return _plan(owner, _translate(cv, X, None, groups, data.rows, data.n_given), data.margin.shape[0])
    grouped = data.code is not None and int(data.code.max()) > 0
    unit = data.code if grouped and data.code is not None else _distinct_pairs(data, precomputed)
    if not grouped and unit.max() == 0:  # all items look alike: tell them apart by number
        unit = data.operator("include").pair
    n_units, what = int(unit.max()) + 1, "groups" if grouped else "distinct pairs"
    if cv is None and folds is not None and n_units > 1:
        cv = min(folds, n_units)
    if n_units < 2 or (cv is not None and cv > n_units):
        raise DataError(
            f"{owner}: cross-validation{'' if cv is None else f' with cv={cv}'} needs at least {cv or 2} {what} of "
            f"comparisons; there {'is' if n_units == 1 else 'are'} {n_units}. Give more comparisons, or fix the "
            "parameters and use the estimator without CV."
        )
    if cv is None:
        order = np.argsort(unit, kind="stable")
        return Plan(np.split(order, np.cumsum(np.bincount(unit))[:-1]), units=unit)
    return Plan([np.flatnonzero(unit % cv == k) for k in range(cv)])


def _translate(cv: Any, X: Any, y: Any, groups: Any, kept: IntArray, n_given: int) -> list[tuple[IntArray, IntArray]]:
    # Splits of what was given, in numbers of what was kept.
    place = np.full(n_given, -1)
    place[kept] = np.arange(kept.shape[0])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The groups parameter is ignored")
        splits = [(place[train], place[test]) for train, test in cv.split(X, y, groups)]
    return [(train[train >= 0], test[test >= 0]) for train, test in splits]


def _plan(owner: str, splits: list[tuple[IntArray, IntArray]], n: int) -> Plan:
    splits = [(train, test) for train, test in splits if len(test)]
    if not splits or any(len(train) == 0 for train, _ in splits):
        raise DataError(
            f"{owner}: cv leaves {'nothing to test on' if not splits else 'nothing to train on in some fold'}. "
            "Every split needs training and test rows (of positive weight)."
        )
    tests = [test for _, test in splits]
    plain = all(len(np.union1d(train, test)) == n and not np.isin(train, test).any() for train, test in splits)
    disjoint = np.unique(np.concatenate(tests)).shape[0] == sum(len(test) for test in tests)
    return Plan(tests) if plain and disjoint else Plan(tests, [train for train, _ in splits])


def _distinct_rows(data: RowData, precomputed: bool) -> IntArray:
    """Return numbers of distinct rows (features and score), in order of score and then of features."""
    item = _distinct_items(data.X, precomputed)
    return np.unique(np.column_stack([data.y, item]), axis=0, return_inverse=True)[1].ravel().astype(np.intp)


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
    if isinstance(X, Bags):
        keys = X._keys()
        place = {key: row for row, key in enumerate(sorted(set(keys)))}
        return np.array([place[key] for key in keys], dtype=np.intp)
    if precomputed:
        # a kernel's rows are known by their values in any order of columns: permuting items permutes columns, too
        dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        table = np.column_stack([dense.diagonal(), np.sort(dense, axis=1)])
    elif not hasattr(X, "tocsc"):
        table = X
    else:
        columns = X.tocsc(copy=True)
        columns.eliminate_zeros()
        number = np.zeros(X.shape[0], dtype=np.intp)
        # column by column, only where there are entries, until all rows are told apart
        for j in np.flatnonzero(np.diff(columns.indptr)):
            entries = slice(columns.indptr[j], columns.indptr[j + 1])
            value = np.zeros(X.shape[0])
            value[columns.indices[entries]] = columns.data[entries]
            number = np.unique(np.column_stack([number, value]), axis=0, return_inverse=True)[1].ravel()
            if number.max() == X.shape[0] - 1:
                break
        return number.astype(np.intp)
    return np.unique(table + 0.0, axis=0, return_inverse=True)[1].ravel().astype(np.intp)
