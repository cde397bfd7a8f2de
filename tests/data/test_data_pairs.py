"""Distinct pairs with their counts: what a loop over the comparisons counts, kept once and never passed on."""

from __future__ import annotations

import copy
import pickle
from collections import Counter

import numpy as np
import pytest

from preflearn.data import Comparisons, PairTable

COLUMNS = ("low", "high", "row", "sign", "wins", "losses", "ties")


def votes(seed: int = 0, m: int = 200, n: int = 9, *, weighted: bool = True) -> Comparisons:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    weight = rng.integers(0, 4, m) if weighted else None
    return Comparisons(n + 2, first, second, rng.integers(-2, 3, m), weight=weight)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_a_loop(seed: int, weighted: bool) -> None:
    data = votes(seed, weighted=weighted)
    counted: Counter[tuple[int, int, int]] = Counter()
    met = set()
    for row in range(len(data)):
        i, j, y = int(data.first[row]), int(data.second[row]), int(np.sign(data.outcome[row]))
        low, high, won = (i, j, y) if i < j else (j, i, -y)
        met.add((low, high))
        counted[low, high, won] += 1 if data.weight is None else data.weight[row]
    pairs = data.pairs
    listed = list(zip(pairs.low.tolist(), pairs.high.tolist(), strict=True))
    assert listed == sorted(met)
    assert len(pairs) == len(met)
    for column, won in ((pairs.wins, 1), (pairs.losses, -1), (pairs.ties, 0)):
        assert column.tolist() == [counted[low, high, won] for low, high in listed]
    np.testing.assert_array_equal(pairs.count, pairs.sums(np.ones(len(data)) if data.weight is None else data.weight))
    assert pairs.n_items == 11


def test_row_and_sign_lead_back_to_the_comparisons() -> None:
    data = votes()
    low, high = data.pairs.low[data.pairs.row], data.pairs.high[data.pairs.row]
    ahead = data.pairs.sign > 0
    np.testing.assert_array_equal(np.where(ahead, low, high), data.first)
    np.testing.assert_array_equal(np.where(ahead, high, low), data.second)


def test_swapping_sides_turns_signs_and_keeps_counts() -> None:
    data = votes()
    turned = data.swapped().pairs
    np.testing.assert_array_equal(turned.sign, -data.pairs.sign)
    for name in set(COLUMNS) - {"sign"}:
        np.testing.assert_array_equal(getattr(turned, name), getattr(data.pairs, name))


def test_the_table_is_built_once_and_is_read_only() -> None:
    data = votes()
    assert data.pairs is data.pairs
    for name in COLUMNS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(data.pairs, name)[0] = 0
    with pytest.raises(AttributeError, match="frozen"):
        data.pairs = None


@pytest.mark.parametrize(
    "other",
    [
        lambda data: data[::2],
        lambda data: data.swapped(np.arange(len(data)) % 3 == 0),
        lambda data: data.merged(),
        lambda data: data._take(slice(None), weight=None),
    ],
    ids=["rows", "swapped", "merged", "other weights"],
)
def test_other_comparisons_have_their_own_table(other) -> None:
    data = votes()
    kept = data.pairs
    chosen = other(data)
    expected = PairTable.build(chosen.first, chosen.second, chosen.outcome, chosen.weight, chosen.n_items)
    assert chosen.pairs is not kept
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(chosen.pairs, name), getattr(expected, name))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_the_table_is_not_pickled_or_copied(duplicate) -> None:
    data, asked = votes(), votes()
    before = pickle.dumps(data)
    assert asked.pairs.n_items == 11
    assert pickle.dumps(asked) == before
    assert "pairs" not in vars(duplicate(asked))
    assert duplicate(asked).pairs.wins.tolist() == asked.pairs.wins.tolist()


def test_no_comparisons_have_no_pairs() -> None:
    pairs = votes()[[]].pairs
    assert len(pairs) == 0
    assert pairs.count.shape == pairs.sums([]).shape == (0,)
