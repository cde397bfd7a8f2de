"""Converters: what each statement becomes, and that drawing pairs is uniform."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflearn.data import Comparisons, from_choices, from_rankings, from_scores, from_winners


def statements(data: Comparisons) -> set[tuple]:
    """Statements with names, whatever the sides: (better, worse, 1) or ({a, b}, 0)."""
    found = set()
    for one in data:
        a, b = (one._label(int(side[0])) for side in (one.first, one.second))
        y = float(one.outcome[0])
        found.add((frozenset((a, b)), 0.0) if y == 0 else ((a, b, y) if y > 0 else (b, a, -y)))
    return found


def test_winners_come_first_and_ties_are_zero() -> None:
    data = from_winners(["a", "b"], ["b", "c"], tie=np.array([False, True]), weight=[1, 3], judge=[1, 2])
    assert statements(data) == {("a", "b", 1.0), (frozenset("bc"), 0.0)}
    np.testing.assert_array_equal(data.weight, [1, 3])


def test_rankings_list_all_or_adjacent_pairs() -> None:
    ranking = [["a", ("b", "c"), "d"]]
    tie = (frozenset("bc"), 0.0)
    all_pairs = {(x, y, 1.0) for x, y in ["ab", "ac", "ad", "bd", "cd"]}
    assert statements(from_rankings(ranking)) == all_pairs | {tie}
    assert statements(from_rankings(ranking, ties="exclude")) == all_pairs
    assert statements(from_rankings(ranking, pairs="adjacent")) == all_pairs - {("a", "d", 1.0)} | {tie}


def test_rankings_keep_their_number_and_judge_and_may_weigh_one_each() -> None:
    data = from_rankings([["a", "b", "c"], ["c", "a"]], weights="rankings", judge=["u", "v"])
    np.testing.assert_array_equal(data.group, [0, 0, 0, 1])
    np.testing.assert_array_equal(data.judge, ["u", "u", "u", "v"])
    np.testing.assert_allclose(np.bincount(data.group, data.weight), [1, 1])


def test_rankings_of_row_numbers_use_the_table() -> None:
    data = from_rankings(np.array([[2, 0, 1]]), np.eye(3))
    np.testing.assert_array_equal(data.first, [2, 2, 0])
    np.testing.assert_array_equal(data.second, [0, 1, 1])


def test_sets_of_ties_give_the_same_order_in_every_run() -> None:
    data = from_rankings([[{"b", "a", "c"}, "d"]])
    np.testing.assert_array_equal(data.names, ["a", "d", "b", "c"])


def test_the_chosen_item_beats_every_other_offer() -> None:
    data = from_choices(["a", "b"], [["a", "b", "c"], ["b", "a"]], judge=["u", "v"], weight=[2, 1])
    assert statements(data) == {("a", "b", 1.0), ("a", "c", 1.0), ("b", "a", 1.0)}
    np.testing.assert_array_equal(data.group, [0, 0, 1])
    np.testing.assert_array_equal(data.weight, [2, 2, 1])
    np.testing.assert_array_equal(data.judge, ["u", "u", "v"])


scores = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=25)


@given(scores, st.booleans(), st.integers(0, 5))
def test_scores_give_every_pair_of_a_group_once(rows: list[tuple[int, int]], ties: bool, seed: int) -> None:
    score, group = np.array(rows).T
    expected = {
        (i, j)
        for i, j in itertools.combinations(range(len(rows)), 2)
        if group[i] == group[j] and (ties or score[i] != score[j])
    }
    if not expected:
        with pytest.raises(ValueError, match="nothing to"):
            from_scores(np.eye(len(rows)), score, group, ties="include" if ties else "exclude")
        return
    data = from_scores(np.eye(len(rows)), score, group, random_state=seed, ties="include" if ties else "exclude")
    found = [tuple(sorted(pair)) for pair in zip(data.first.tolist(), data.second.tolist(), strict=True)]
    assert len(found) == len(set(found))
    assert set(found) == expected
    np.testing.assert_array_equal(data.outcome, score[data.first] - score[data.second])


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [3, 5])  # below and above half of the pairs: two ways to draw
def test_drawn_pairs_are_distinct_and_uniform(wanted: int) -> None:
    score, group = np.array([1, 2, 3, 4, 2, 2, 3]), np.array([0, 0, 0, 0, 1, 1, 1])
    rng = np.random.RandomState(0)
    n_draws, counts = 1200, {}
    for _ in range(n_draws):
        data = from_scores(np.eye(7), score, group, max_pairs=wanted, random_state=rng)
        pairs = {tuple(sorted(pair)) for pair in zip(data.first.tolist(), data.second.tolist(), strict=True)}
        assert len(pairs) == len(data) == wanted
        for pair in pairs:
            counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == 8  # 6 pairs of group 0, 2 untied pairs of group 1
    share = np.array(list(counts.values())) / n_draws
    np.testing.assert_allclose(share, wanted / 8, atol=0.05)


def test_a_large_table_is_drawn_from_without_listing_its_pairs() -> None:
    n = 200_000  # 2e10 pairs
    data = from_scores(n, np.arange(n), group=np.zeros(n), max_pairs=1000, random_state=0, margins=False)
    assert len(data) == 1000
    assert set(data.outcome) == {-1.0, 1.0}
    np.testing.assert_array_equal(np.sign(data.first - data.second), data.outcome)


def test_sides_are_random_and_seeded() -> None:
    first = from_scores(np.eye(40), np.arange(40), random_state=0)
    again = from_scores(np.eye(40), np.arange(40), random_state=0)
    np.testing.assert_array_equal(first.outcome, again.outcome)
    assert 0.4 < np.mean(first.outcome > 0) < 0.6


def test_integer_names_do_not_turn_row_numbers_into_names() -> None:
    data = from_scores(np.eye(3), [1, 2, 3], names=[2, 0, 1], random_state=0)
    np.testing.assert_array_equal(data.outcome, np.array([1, 2, 3])[data.first] - np.array([1, 2, 3])[data.second])
    np.testing.assert_array_equal(data.names, [2, 0, 1])


def test_rankings_may_be_the_rows_of_a_frame():
    import pandas as pd

    frame = pd.DataFrame([["a", "b", "c"], ["b", "a", None]])
    by_frame = from_rankings(frame)
    by_lists = from_rankings([["a", "b", "c"], ["b", "a"]])
    np.testing.assert_array_equal(by_frame.first, by_lists.first)
    np.testing.assert_array_equal(by_frame.second, by_lists.second)
    np.testing.assert_array_equal(by_frame.group, by_lists.group)
