"""Splitters: what must stay together does, whatever the order of rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from preflearn.data import Comparisons, Ratings
from preflearn.exceptions import DataError
from preflearn.selection.splitters import ClusterFolds, GroupFolds, ItemFolds, PairFolds


def comparisons(m: int = 120, n: int = 12, seed: int = 0) -> Comparisons:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    data = Comparisons(rng.normal(size=(n, 2)), first, second, rng.normal(size=m), group=rng.integers(0, 9, m))
    prompt = [(f"p{k}", k)[k % 2] for k in rng.integers(0, 30, m).tolist()]
    return Comparisons(data.items, first, second, data.outcome, group=data.group, cluster=prompt)


SPLITTERS = [
    GroupFolds(4),
    ClusterFolds(4),
    PairFolds(4),
    ItemFolds(3),
    ItemFolds(3, test="both"),
    GroupFolds(3, shuffle=False),
]


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_permuting_rows_permutes_the_folds(splitter) -> None:
    data = comparisons()
    order = np.random.default_rng(1).permutation(len(data))
    plain = list(splitter.split(data))
    moved = list(splitter.split(data[order]))
    assert len(plain) == len(moved) == splitter.get_n_splits()
    for (train, test), (moved_train, moved_test) in zip(plain, moved, strict=True):
        assert set(order[moved_train]) == set(train)
        assert set(order[moved_test]) == set(test)


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_the_same_seed_gives_the_same_folds(splitter) -> None:
    data = comparisons()
    for (_, one), (_, two) in zip(splitter.split(data), splitter.split(data), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("make", [GroupFolds, ClusterFolds, PairFolds, ItemFolds])
def test_another_seed_gives_other_folds(make) -> None:
    data = comparisons()
    folds = [[test.tolist() for _, test in make(3, random_state=seed).split(data)] for seed in (0, 1)]
    assert folds[0] != folds[1]


def test_groups_are_whole_and_each_tested_once() -> None:
    group = np.repeat(np.arange(40), np.random.default_rng(0).integers(1, 20, 40))
    tested = np.zeros(len(group), dtype=int)
    for train, test in GroupFolds(5).split(np.zeros((len(group), 2)), groups=group):
        assert not set(group[train]) & set(group[test])
        assert len(train) + len(test) == len(group)
        tested[test] += 1
    assert (tested == 1).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_large_group_is_balanced_by_many_small_ones(seed: int) -> None:
    group = np.array([0] * 8 + list(range(1, 9)))
    sizes = [len(test) for _, test in GroupFolds(2, random_state=seed).split(np.zeros((16, 1)), groups=group)]
    assert sizes == [8, 8]


def test_groups_of_the_data_come_before_the_argument() -> None:
    data = Ratings(np.eye(6), np.arange(6), group=[1, 1, 2, 2, 3, 3])
    for _, test in GroupFolds(3).split(data, groups=np.arange(6)):
        assert len(set(data.group[test])) == 1
        assert len(test) == 2


def test_groups_of_mixed_kinds_are_accepted() -> None:
    data = Comparisons(np.eye(3), [0, 1, 2, 0], [1, 2, 0, 2], group=["a", 1, ("t", 2), "a"])
    tests = [test.tolist() for _, test in GroupFolds(3).split(data)]
    assert [0, 3] in tests


def test_clusters_are_whole_and_unknown_ones_are_dealt_one_by_one() -> None:
    cluster = ["a", "b", "a", 3, "", "", "b", "", 3, "a"]
    data = Comparisons(3, [0, 1] * 5, [1, 2] * 5, cluster=cluster)
    tested = np.zeros(10, dtype=int)
    sizes = []
    for train, test in ClusterFolds(3).split(data):
        assert not set(data.clusters()[train]) & set(data.clusters()[test])
        tested[test] += 1
        sizes.append(len(test))
    assert (tested == 1).all()
    assert sorted(sizes) == [3, 3, 4]
    assert [len(test) for _, test in ClusterFolds(6).split(data)].count(1) == 3


def test_a_pair_is_in_one_fold_whichever_side_comes_first() -> None:
    data = comparisons(m=400, n=8)
    data = data.swapped(np.arange(400) % 2 == 0)
    tested = np.zeros(400, dtype=int)
    for train, test in PairFolds(5).split(data):
        pairs = [{frozenset((int(c.first[0]), int(c.second[0]))) for c in data[rows]} for rows in (train, test)]
        assert not pairs[0] & pairs[1]
        tested[test] += 1
    assert (tested == 1).all()


@pytest.mark.parametrize("test_side", ["any", "both"])
def test_training_never_touches_a_held_out_item(test_side: str) -> None:
    data = comparisons()
    held_out_before: set[int] = set()
    for train, test in ItemFolds(3, test=test_side).split(data):
        trained = set(data[train].used_items().tolist())
        if test_side == "both":
            assert not trained & set(data[test].used_items().tolist())
        else:
            new = set(range(12)) - trained
            touches = np.isin(data.first, list(new)) | np.isin(data.second, list(new))
            np.testing.assert_array_equal(np.flatnonzero(touches), test)
            assert not held_out_before & new
            held_out_before |= new
    assert test_side == "both" or held_out_before == set(range(12))


def test_splitters_work_as_cv() -> None:
    from sklearn.base import BaseEstimator

    class Count(BaseEstimator):
        def fit(self, X, y=None):
            self.n_ = len(X)
            return self

        def score(self, X, y=None):
            return self.n_ + len(X)

    np.testing.assert_array_equal(cross_val_score(Count(), comparisons(), cv=PairFolds(4)), [120] * 4)
    np.testing.assert_array_equal(cross_val_score(Count(), comparisons(), cv=GroupFolds(4)), [120] * 4)


MISTAKES = [
    (lambda: GroupFolds(1), DataError, ["at least 2", "1"]),
    (lambda: GroupFolds(2.5), TypeError, ["n_splits", "float"]),
    (lambda: list(GroupFolds(3).split(np.eye(4))), DataError, ["no groups", "qid=..."]),
    (lambda: list(GroupFolds(3).split(np.eye(4), groups=[1, 2])), DataError, ["2 values", "4 rows"]),
    (
        lambda: list(GroupFolds(3).split(np.eye(4), groups=[1, 1, 2, 2])),
        DataError,
        ["2 groups", "3 folds", "n_splits=2"],
    ),
    (lambda: list(GroupFolds(2).split(np.eye(4), groups=np.eye(4))), TypeError, ["one dimension"]),
    (lambda: list(ClusterFolds(2).split(np.eye(4))), TypeError, ["Comparisons", "ndarray"]),
    (lambda: list(ClusterFolds(2).split(Comparisons(3, [0, 1], [1, 2]))), DataError, ["no clusters", "cluster=..."]),
    (
        lambda: list(ClusterFolds(3).split(Comparisons(3, [0, 1], [1, 2], cluster=["", "p"]))),
        DataError,
        ["2 clusters", "3 folds"],
    ),
    (lambda: list(PairFolds(2).split(np.eye(4))), TypeError, ["Comparisons", "ndarray", "GroupFolds"]),
    (lambda: list(PairFolds(9).split(Comparisons(3, [0, 1], [1, 2]))), DataError, ["2 distinct pairs", "9 folds"]),
    (lambda: ItemFolds(2, test="all"), DataError, ["'all'", '"both"']),
    (
        lambda: list(ItemFolds(5, test="both").split(comparisons(10))),
        DataError,
        ["fold 1 of 5", "no test", 'test="any"', "PairFolds"],
    ),
    (lambda: list(ItemFolds(2).split(Comparisons(np.eye(2), [0], [1]))), DataError, ["no training", "n_splits"]),
]


@pytest.mark.parametrize(("call", "kind", "words"), MISTAKES)
def test_mistakes_are_explained(call, kind: type[Exception], words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)
