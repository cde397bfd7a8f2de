"""Comparisons: frozen, indexable, and laws of its methods."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from preflearn.data import Comparisons, from_frame

FIELDS = ("first", "second", "outcome", "weight", "group", "judge")


@pytest.fixture
def data() -> Comparisons:
    rng = np.random.default_rng(3)
    m, n = 40, 9
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    return Comparisons(
        rng.normal(size=(n, 3)),
        first,
        second,
        rng.normal(size=m),
        weight=rng.uniform(0.5, 2, m),
        group=rng.integers(0, 4, m),
        judge=rng.choice(["ann", "bob"], m),
        names=[f"item {i}" for i in range(n)],
    )


def same(one: Comparisons, other: Comparisons) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def loss(data: Comparisons, f: np.ndarray) -> float:
    weight = np.ones(len(data)) if data.weight is None else data.weight
    return float(np.sum(weight * (data.outcome - (f[data.first] - f[data.second])) ** 2))


def test_fields_cannot_be_set_and_arrays_are_read_only(data: Comparisons) -> None:
    with pytest.raises(AttributeError, match="frozen"):
        data.outcome = np.zeros(40)
    with pytest.raises(AttributeError, match="frozen"):
        del data.weight
    for name in (*FIELDS, "items", "names"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(data, name)[0] = 0


def test_the_given_arrays_stay_the_callers_own() -> None:
    items, first, outcome = np.zeros((3, 2)), np.array([0, 1]), np.array([1.0, -1.0])
    data = Comparisons(items, first, [1, 2], outcome)
    items[0, 0] = first[0] = outcome[0] = 2
    assert data.items[0, 0] == 0
    assert data.first[0] == 0
    assert data.outcome[0] == 1


def test_a_read_only_table_is_not_copied() -> None:
    items = np.zeros((3, 2))
    items.flags.writeable = False
    assert Comparisons(items, [0], [1]).items is items


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_equal_and_still_frozen(data: Comparisons, duplicate) -> None:
    other = duplicate(data)
    same(data, other)
    np.testing.assert_array_equal(data.items, other.items)
    assert not other.items.flags.writeable
    assert not other.outcome.flags.writeable
    with pytest.raises(AttributeError):
        other.first = data.first


@pytest.mark.parametrize(
    ("key", "rows"),
    [
        (3, [3]),
        (-1, [39]),
        (np.int64(5), [5]),
        (slice(2, 9, 3), [2, 5, 8]),
        ([1, 5, 5], [1, 5, 5]),
        (np.arange(40) % 20 == 0, [0, 20]),
        ([], []),
        ((np.array([4, 2]), ...), [4, 2]),
    ],
)
def test_indexing_is_indexing_of_every_column(data: Comparisons, key, rows: list[int]) -> None:
    chosen = data[key]
    rows = np.array(rows, dtype=int)
    assert len(chosen) == chosen.shape[0] == len(rows)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(chosen, name), getattr(data, name)[rows])
    assert chosen.items is data.items
    assert chosen.names is data.names


def test_iteration_ends_and_out_of_range_raises(data: Comparisons) -> None:
    assert [len(one) for one in data] == [1] * 40
    with pytest.raises(IndexError):
        data[40]
    with pytest.raises(IndexError):
        data[[0, 40]]
    with pytest.raises(TypeError, match="rows only"):
        data[0, 1]
    with pytest.raises(TypeError, match="not an array"):
        np.asarray(data)


def test_names_and_row_numbers_say_the_same() -> None:
    names = ["x", "y", "z"]
    by_name = Comparisons(None, ["x", "z"], ["y", "y"], names=names)
    by_row = Comparisons(3, [0, 2], [1, 1])
    np.testing.assert_array_equal(by_name.first, by_row.first)
    np.testing.assert_array_equal(by_name.second, by_row.second)


def test_integer_names_are_names_not_row_numbers() -> None:
    data = Comparisons(np.eye(3), [30, 10], [10, 20], names=[10, 20, 30])
    np.testing.assert_array_equal(data.first, [2, 0])
    np.testing.assert_array_equal(data.second, [0, 1])


def test_items_without_table_are_numbered_in_order_of_appearance() -> None:
    data = Comparisons(None, np.array([7, 3]), np.array([9, 7]))
    np.testing.assert_array_equal(data.names, [7, 9, 3])
    np.testing.assert_array_equal(data.first, [0, 2])
    assert data.items is None
    assert data.n_features == 0


def test_sparse_items_stay_sparse_and_equal_the_dense_ones() -> None:
    dense = np.array([[0.0, 1], [2, 0], [0, 0]])
    data = Comparisons(sparse.coo_matrix(dense), [0], [1])
    assert isinstance(data.items, sparse.csr_array)
    np.testing.assert_array_equal(data.items.toarray(), dense)


def test_swapping_twice_is_identity_and_once_keeps_the_loss(data: Comparisons) -> None:
    f = np.random.default_rng(0).normal(size=data.n_items)
    mask = np.arange(40) % 2 == 0
    once = data.swapped(mask)
    np.testing.assert_array_equal(once.first[mask], data.second[mask])
    np.testing.assert_array_equal(once.first[~mask], data.first[~mask])
    assert loss(once, f) == pytest.approx(loss(data, f))
    same(once.swapped(mask), data)
    np.testing.assert_array_equal(data.swapped().outcome, -data.outcome)


def test_swapped_ties_are_plain_zeros() -> None:
    assert not np.signbit(Comparisons(2, [0], [1], 0).swapped().outcome[0])


@pytest.mark.parametrize("keep_labels", [True, False])
def test_merged_has_the_same_least_squares_loss_up_to_a_constant(data: Comparisons, keep_labels: bool) -> None:
    merged = data.merged(keep_labels=keep_labels)
    rng = np.random.default_rng(1)
    gaps = [loss(data, f) - loss(merged, f) for f in rng.normal(size=(5, data.n_items))]
    np.testing.assert_allclose(gaps, gaps[0])
    assert len(merged) < len(data)
    assert merged.weight.sum() == pytest.approx(data.weight.sum())
    assert (merged.first < merged.second).all()
    assert (merged.judge is None) == (not keep_labels)
    pairs = list(zip(merged.first, merged.second, *([merged.group, merged.judge] if keep_labels else []), strict=True))
    assert len(set(pairs)) == len(pairs)


def test_merging_listed_repeats_gives_their_number_as_weight() -> None:
    merged = Comparisons(3, [0, 1, 0, 1], [1, 0, 1, 2], [2, -2, 2, 1]).merged()
    np.testing.assert_array_equal(merged.weight, [3, 1])
    np.testing.assert_array_equal(merged.outcome, [2, 1])


def test_merging_zero_weights_leaves_finite_outcomes() -> None:
    merged = Comparisons(3, [0, 0, 1], [1, 1, 2], [1, 3, 1], weight=[0, 0, 1]).merged()
    np.testing.assert_array_equal(merged.outcome, [2, 1])
    np.testing.assert_array_equal(merged.weight, [0, 1])


def test_parts_are_numbered_by_their_smallest_item_and_ignore_order() -> None:
    data = Comparisons(np.eye(6), [4, 1, 5], [2, 5, 3])
    np.testing.assert_array_equal(data.parts(), [0, 1, 2, 1, 2, 1])
    np.testing.assert_array_equal(data[::-1].swapped().parts(), data.parts())
    np.testing.assert_array_equal(data.used_items(), [1, 2, 3, 4, 5])


@pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")
def test_summary_counts() -> None:
    text = Comparisons(5, [0, 1, 0, 2, 0], [1, 0, 1, 3, 1], [1, 1, 1, 0, 0], judge=list("aabba")).summary()
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert lines["items"] == "5 (4 compared, 2.5 times each on average), no features"
    assert lines["comparisons"] == "5, about 2 different pairs"
    assert lines["outcomes"] == "first side won 3, second side 0"
    assert lines["ties"] == "2"
    assert lines["repeats"] == "0 with the pair, outcome and judge of an earlier one (sides may be swapped)"
    assert lines["contradictions"].startswith("1 of 2 pairs")
    assert lines["parts"] == "3 that were never compared with each other, of 2, 2, 1 items"
    assert lines["judges"] == "2"


def test_repeats_of_a_summary_say_what_they_count() -> None:
    sides = [0, 1, 0, 0], [1, 0, 1, 1], [1, -1, 1, -1]  # the second says what the first says
    plain, judged = (Comparisons(2, *sides, judge=judge).summary() for judge in (None, list("aaba")))
    assert "2 with the pair and outcome of an earlier one (sides may be swapped)" in plain
    assert "1 with the pair, outcome and judge of an earlier one" in judged


def test_labels_that_there_are_not_are_refused() -> None:
    frame = pd.DataFrame({"a": ["x"], "b": ["y"], "who": ["w"]})
    assert from_frame(frame, first="a", second="b", judge="who").judge.tolist() == ["w"]
    with pytest.raises(TypeError, match=r'there is no "judged". Labels are group, judge'):
        from_frame(frame, first="a", second="b", judged="who")


def test_with_items_changes_the_table_only(data: Comparisons) -> None:
    other = data.with_items(np.ones((data.n_items, 1)))
    same(other, data)
    assert other.n_features == 1
    assert other.names is data.names


def test_repr_is_short(data: Comparisons) -> None:
    assert repr(data) == "Comparisons(40 comparisons of 9 items with 3 features; weight, group, judge)"
