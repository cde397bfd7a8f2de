"""What is left out together in cross-validation, and how the held-out predictions are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import GroupKFold, check_cv

from preflearn.exceptions import DataError
from preflearn.metrics import RankingScorer, get_scorer
from preflearn.models._input import PairData, RowData
from preflearn.operators import FloatArray, IntArray

__all__ = ["Folds", "Judge", "pair_folds", "row_folds"]


@dataclass(frozen=True)
class Folds:
    """Which rows are left out together: ``tests`` are disjoint; ``whole`` says that groups are never cut.

    ``judged_in`` is the group in which a held-out row is compared with others: its own, or its fold where groups are
    cut.
    """

    tests: Sequence[IntArray]
    whole: bool
    judged_in: IntArray


@dataclass(frozen=True)
class Judge:
    """Folds, truth, groups and weights of the training data, and the scorer that compares predictions with them."""

    folds: Folds
    tests: Sequence[IntArray] | None
    scorer: RankingScorer
    closeness: RankingScorer
    truth: FloatArray
    group: Any
    weight: FloatArray | None

    @classmethod
    def of(cls, owner: str, data: RowData | PairData, given: Any, scoring: Any, cv: Any) -> Judge:
        """Return the judge for rows or for comparisons (``given`` are the Comparisons as they came)."""
        if cv is not None and not isinstance(cv, Integral):
            cv = check_cv(cv)
        scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
        closeness = get_scorer("squared_error")
        if isinstance(data, RowData):
            folds = row_folds(owner, data, cv)
            return cls(folds, None, scorer.for_rows(), closeness, data.y, folds.judged_in, data.weight)
        tests = pair_folds(owner, data, cv, given)
        group = None if given.group is None else given.group[data.rows]
        nothing = Folds([], False, np.empty(0, dtype=np.intp))
        return cls(
            nothing, tests, scorer.for_comparisons(), closeness.for_comparisons(), data.margin, group, data.weight
        )

    def scores(self, predictions: FloatArray) -> FloatArray:
        """Return the score of each column of held-out predictions; rows never held out are NaN and left out."""
        return self._evaluate(self.scorer, predictions)

    def choose(self, scores: Sequence[FloatArray], predictions: Sequence[FloatArray]) -> tuple[int, int]:
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
            error = -self._evaluate(self.closeness, predictions[i][:, columns])
            j = int(np.argmin(error))
            if error[j] < least:
                winner, least = (i, int(columns[j])), float(error[j])
        return winner

    def _evaluate(self, scorer: RankingScorer, predictions: FloatArray) -> FloatArray:
        judged = ~np.isnan(predictions[:, 0])
        truth = self.truth[judged]
        group = None if self.group is None else self.group[judged]
        weight = None if self.weight is None else self.weight[judged]
        return np.array([scorer.evaluate(truth, column, group, weight) for column in predictions[judged].T])


def row_folds(owner: str, data: RowData, cv: Any) -> Folds:
    """Return the folds: groups one by one, K folds of groups, a splitter's folds, or folds of distinct rows."""
    n = data.n_items
    n_groups = int(data.code.max()) + 1
    if hasattr(cv, "split"):
        tests = _split_rows(data, cv)
        if sum(len(test) for test in tests) != np.unique(np.concatenate(tests)).shape[0]:
            raise DataError(f"{owner}: cv={cv} holds some rows out twice. Use a splitter with disjoint test sets.")
        whole = n_groups > 1 and all(np.isin(data.code, data.code[test]).sum() == len(test) for test in tests)
        return Folds(tests, whole, data.code if whole else _cut(data.code, tests))
    if data.grouped and n_groups > 1:
        if cv is None:
            order = np.argsort(data.code, kind="stable")
            tests = np.split(order, np.cumsum(np.bincount(data.code))[:-1])
        else:
            if cv > n_groups:
                raise DataError(f"{owner}: cv={cv} folds of groups need as many groups; there are {n_groups}.")
            tests = [test for _, test in GroupKFold(cv).split(np.zeros((n, 1)), groups=data.code)]
        return Folds(tests, True, data.code)
    # One group: folds of distinct rows, so that copies of a row are never on both sides, and in an order of their own
    # (by score), so that the folds do not depend on the order of the rows.
    unit = _distinct_rows(data)
    n_units = int(unit.max()) + 1
    n_folds = min(5, n_units // 2) if cv is None else cv
    if n_folds < 2 or n_folds > n_units // 2:
        raise DataError(
            f"{owner}: {n_units} distinct rows in one group are too few for cross-validation with "
            f"{max(n_folds, 2)} folds of at least two rows. Give more rows, fewer folds (cv), or groups (qid)."
        )
    fold = unit % n_folds
    return Folds([np.flatnonzero(fold == k) for k in range(n_folds)], False, fold)


def pair_folds(owner: str, data: PairData, cv: Any, comparisons: Any) -> Sequence[IntArray] | None:
    """Return the comparisons left out together, by K folds of distinct pairs or a splitter; None: pair by pair."""
    if cv is None:
        return None
    if hasattr(cv, "split"):
        where = np.full(len(comparisons), -1)
        where[data.rows] = np.arange(data.rows.shape[0])
        tests = [where[test] for _, test in cv.split(comparisons, None, comparisons.group)]
        return [test[test >= 0] for test in tests]
    pair = data.operator("include").pair
    if cv > pair.max() + 1:
        raise DataError(f"{owner}: cv={cv} folds of pairs need as many distinct pairs; there are {pair.max() + 1}.")
    fold = pair % cv
    return [np.flatnonzero(fold == k) for k in range(cv)]


def _split_rows(data: RowData, cv: Any) -> list[IntArray]:
    # The splitter sees the rows as they were given, before those of weight zero were dropped.
    kept = np.arange(data.n_given) if data.kept is None else data.kept
    y, code = np.zeros(data.n_given), np.zeros(data.n_given, dtype=np.intp)
    y[kept], code[kept] = data.y, data.code
    place = np.full(data.n_given, -1)
    place[kept] = np.arange(data.n_items)
    tests = [place[test] for _, test in cv.split(np.zeros((data.n_given, 1)), y, code if data.grouped else None)]
    return [test[test >= 0] for test in tests]


def _distinct_rows(data: RowData) -> IntArray:
    if sp.issparse(data.X):
        return np.argsort(np.argsort(data.y, kind="stable"), kind="stable")
    table = np.column_stack([data.y, data.X])
    return np.unique(table, axis=0, return_inverse=True)[1].ravel().astype(np.intp)


def _cut(code: IntArray, tests: Sequence[IntArray]) -> IntArray:
    fold = np.full(code.shape[0], len(tests))
    for k, test in enumerate(tests):
        fold[test] = k
    return np.unique(np.column_stack([code, fold]), axis=0, return_inverse=True)[1].ravel().astype(np.intp)
