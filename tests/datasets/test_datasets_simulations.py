"""Simulators of hidden states and of expected utility: the paper's rules, written out pair by pair."""

import numpy as np
import pytest

from preflearn.datasets import make_comparable_clusters, make_cyclic_preferences, make_label_rankings


@pytest.mark.parametrize("n_states", [1, 2, 5])
def test_pairs_are_decided_by_the_utility_of_their_two_states(n_states):
    data = make_cyclic_preferences(n_states, 0.7, random_state=n_states)
    c, z = data.comparisons, data.state
    assert data.utilities.shape == (n_states, n_states, 30)
    for i, j, outcome in zip(c.first, c.second, c.outcome, strict=True):
        r = data.utilities[min(z[i], z[j]), max(z[i], z[j])]
        assert outcome == (1 if r[i] > r[j] else -1)


def test_one_state_is_a_ranking_and_more_have_circles():
    def circles(c):
        beats = np.zeros((30, 30))
        beats[c.first, c.second] = c.outcome > 0
        beats[c.second, c.first] = c.outcome < 0
        return np.trace(beats @ beats @ beats)

    assert circles(make_cyclic_preferences(1, random_state=0).comparisons) == 0
    assert circles(make_cyclic_preferences(5, random_state=0).comparisons) > 100


def test_clusters_are_ranked_inside_and_tossed_for_between():
    between = []
    for seed in range(20):
        data = make_comparable_clusters(3, 0.5, random_state=seed)
        c, z = data.comparisons, data.state
        same = z[c.first] == z[c.second]
        inside = data.utilities[z[c.first], c.first] - data.utilities[z[c.first], c.second]
        np.testing.assert_array_equal(c.outcome[same], np.sign(inside[same]))
        between.extend(c.outcome[~same])
    assert abs(np.mean(between)) < 4 / np.sqrt(len(between))
    assert set(between) == {-1.0, 1.0}


@pytest.mark.parametrize("make", [make_cyclic_preferences, make_comparable_clusters])
def test_features_tell_the_state_and_the_share_is_that_of_the_pairs(make):
    data = make(2, 0.4, n_items=400, n_features=3, random_state=0)
    X, n = data.comparisons.items, data.comparisons.n_comparisons
    for state in (0, 1):
        np.testing.assert_allclose(X[data.state == state].mean(axis=0), state + 1, atol=0.3)
    assert abs(n / (400 * 399 / 2) - 0.4) < 0.01
    again = make(2, 0.4, n_items=400, n_features=3, random_state=0)
    np.testing.assert_array_equal(again.comparisons.outcome, data.comparisons.outcome)
    with pytest.raises(ValueError, match="no pair was drawn"):
        make(share=0.0)


def test_labels_are_ranked_by_expected_utility():
    data = make_label_rankings(4, 20, 30, n_states=6, random_state=0)
    for part, n in ((data.train, 20), (data.test, 30)):
        assert part.shape == (n, 6)
        assert part.n_edges == 6 * n
        np.testing.assert_allclose(part.items.sum(axis=1), 1)
        expected = part.items @ data.utility.T
        better = expected[part.item, part.first] - expected[part.item, part.second]
        assert (better * part.outcome > 0).all()
    assert 0 <= data.utility.min() <= data.utility.max() <= 1
