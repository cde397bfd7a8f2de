"""Ratings: twin of Comparisons for scores in groups."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from preflearn.data import Ratings


def example(as_sparse: bool = False) -> Ratings:
    rng = np.random.default_rng(5)
    items = rng.normal(size=(12, 4))
    return Ratings(
        sparse.csr_matrix(items) if as_sparse else items,
        rng.integers(0, 4, 12),
        group=np.repeat(["a", "b", "c"], 4),
        weight=rng.uniform(size=12),
        names=[f"d{i % 4}" for i in range(12)],
    )


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("key", [slice(3, 9), [0, 7, 7], np.arange(12) % 5 == 0, ([2, 1], ...), 4])
def test_indexing_selects_rows_of_every_field(as_sparse: bool, key) -> None:
    data = example(as_sparse)
    rows = np.atleast_1d(np.arange(12)[key[0] if isinstance(key, tuple) else key])
    chosen = data[key]
    assert chosen.shape == (len(rows), 4)
    for name in ("score", "group", "weight", "names"):
        np.testing.assert_array_equal(getattr(chosen, name), getattr(data, name)[rows])
    difference = chosen.items - data.items[rows]
    assert abs(difference).sum() == 0
    with pytest.raises(ValueError, match="read-only"):
        chosen.score[0] = 1


def test_pickled_ratings_are_equal_and_frozen() -> None:
    data = example(as_sparse=True)
    other = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(other.items.toarray(), data.items.toarray())
    assert not other.items.data.flags.writeable
    with pytest.raises(AttributeError, match="frozen"):
        other.score = data.score


def test_counts_and_repr() -> None:
    data = example()
    assert (data.n_items, data.n_features, data.n_groups, len(data)) == (12, 4, 3, 12)
    assert repr(data) == "Ratings(12 items with 4 features in 3 groups; weight)"
    assert Ratings([[1], [2]], [0, 1]).n_groups == 1


def test_names_may_repeat_between_groups_only() -> None:
    pairs = example().to_comparisons(random_state=0)
    assert pairs.names is None  # d0 is an item of each group
    named = Ratings([[1], [2]], [0, 1], names=["u", "v"]).to_comparisons(random_state=0)
    np.testing.assert_array_equal(named.names, ["u", "v"])


def test_comparisons_state_every_untied_pair_of_a_group_once() -> None:
    data = example()
    pairs = data.to_comparisons(random_state=1)
    expected = {
        frozenset((i, j))
        for i in range(12)
        for j in range(i)
        if data.group[i] == data.group[j] and data.score[i] != data.score[j]
    }
    assert {frozenset(pair) for pair in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)} == expected
    assert len(pairs) == len(expected)
    np.testing.assert_array_equal(pairs.outcome, data.score[pairs.first] - data.score[pairs.second])
    np.testing.assert_array_equal(pairs.group, data.group[pairs.first])
    np.testing.assert_allclose(pairs.weight, data.weight[pairs.first] * data.weight[pairs.second])
    assert pairs.items is data.items
