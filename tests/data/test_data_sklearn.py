"""scikit-learn's own tools take the data objects as X, unchanged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, cross_val_score, train_test_split
from sklearn.utils import indexable, resample
from sklearn.utils.validation import _num_samples

from preflearn.data import Comparisons, Ratings


class MeanMargin(BaseEstimator):
    """Least squares on item differences, so that the score depends on exactly which rows arrive."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def _rows(self, X):
        if isinstance(X, Comparisons):
            return X.items[X.first] - X.items[X.second], X.outcome
        items = X.items.toarray() if sparse.issparse(X.items) else X.items
        return items, X.score

    def fit(self, X, y=None):
        Z, target = self._rows(X)
        self.coef_ = np.linalg.solve(Z.T @ Z + self.alpha * np.eye(Z.shape[1]), Z.T @ target)
        return self

    def score(self, X, y=None):
        Z, target = self._rows(X)
        return -float(np.mean((Z @ self.coef_ - target) ** 2))


def comparisons() -> Comparisons:
    rng = np.random.default_rng(0)
    items = rng.normal(size=(10, 3))
    first = rng.integers(0, 10, 60)
    second = (first + rng.integers(1, 10, 60)) % 10
    return Comparisons(items, first, second, rng.normal(size=60), group=np.arange(60) // 6)


def ratings(as_sparse: bool) -> Ratings:
    rng = np.random.default_rng(1)
    items = rng.normal(size=(60, 3))
    return Ratings(sparse.csr_array(items) if as_sparse else items, rng.normal(size=60), group=np.arange(60) // 6)


DATA = [comparisons(), ratings(False), ratings(True)]


@pytest.mark.parametrize("data", DATA, ids=["comparisons", "ratings", "sparse ratings"])
class TestTools:
    def test_cross_val_score_is_the_loop_written_out(self, data) -> None:
        folds = KFold(4, shuffle=True, random_state=0)
        found = cross_val_score(MeanMargin(), data, cv=folds)
        rows = np.arange(60)
        expected = [MeanMargin().fit(data[train]).score(data[test]) for train, test in folds.split(rows)]
        np.testing.assert_allclose(found, expected)

    def test_parallel_grid_search_is_the_sequential_one(self, data) -> None:
        grid = {"alpha": [0.1, 1.0, 10.0]}
        one, two = (
            GridSearchCV(MeanMargin(), grid, cv=GroupKFold(3), n_jobs=jobs).fit(data, groups=data.group)
            for jobs in (1, 2)
        )
        np.testing.assert_allclose(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
        assert np.isfinite(two.best_score_)
        assert one.best_params_ == two.best_params_

    def test_train_test_split_selects_rows(self, data) -> None:
        train, test, rows_train, rows_test = train_test_split(data, np.arange(60), test_size=15, random_state=0)
        assert type(train) is type(data)
        assert (len(train), len(test)) == (45, 15)
        np.testing.assert_array_equal(test.group, data.group[rows_test])
        np.testing.assert_array_equal(train.group, data.group[rows_train])

    def test_group_folds_of_scikit_learn_keep_groups_whole(self, data) -> None:
        for train, test in GroupKFold(5).split(data, groups=data.group):
            assert not set(data[train].group.tolist()) & set(data[test].group.tolist())

    def test_other_helpers(self, data) -> None:
        assert _num_samples(data) == 60
        assert indexable(data)[0] is data
        assert len(resample(data, n_samples=7, random_state=0)) == 7
        assert len(cross_val_score(MeanMargin(), data, cv=ShuffleSplit(3, random_state=0))) == 3
