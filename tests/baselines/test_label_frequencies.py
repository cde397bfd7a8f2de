"""One ranking for all items: shares of wins and first places, counted by hand."""

import numpy as np
import pytest

from preflearn.baselines import LabelFrequencies
from preflearn.baselines.label_frequencies import firsts
from preflearn.data import LabelPreferences, from_class_labels, from_label_rankings

X = np.arange(4.0)[:, None]
ORDERS = [["a", "b", "c"], ["b", "a"], ["a", ("b", "c")], ["c", "b"]]


def test_probabilities_are_counts_with_one_more_edge_of_each_pair():
    data = from_label_rankings(X, ORDERS)
    model = LabelFrequencies().fit(data)
    won = {("a", "b"): 2, ("b", "a"): 1, ("b", "c"): 1, ("c", "b"): 1, ("a", "c"): 2, ("c", "a"): 0}
    P = model.preference_matrix([[9.0]])[0]
    for (one, other), count in won.items():
        i, j = "abc".index(one), "abc".index(other)
        assert P[i, j] == pytest.approx((count + 0.5) / (count + won[other, one] + 1))
    np.testing.assert_allclose(P + P.T, 1)
    np.testing.assert_allclose(model.predict_label_proba([[9.0]])[0], (np.array([2, 1, 1]) + 1 / 3) / 5)
    assert model.predict([[9.0]]).tolist() == [["a", "b", "c"]]
    np.testing.assert_allclose(model.predict_proba(data)[:, 1], P[data.first, data.second])


def test_sides_weights_and_ties_mean_what_they_say():
    data = LabelPreferences(X, [0, 0, 1, 2], list("abca"), list("bcab"), [1, -1, 1, 0], weight=[2, 1, 1, 4])
    model = LabelFrequencies().fit(data)
    np.testing.assert_array_equal(model.wins_, LabelFrequencies().fit(data.swapped()).wins_)
    assert model.wins_[0, 1] == 2 + 2  # a tie is half a win for each
    assert model.wins_[2, 1] == 1
    unheard = LabelPreferences(X, [0, 0, 1], list("abc"), list("bcb"), weight=[1, 0, 1])
    heard = LabelPreferences(X, [0, 1], list("ac"), list("bb"), labels=list("abc"))
    np.testing.assert_array_equal(firsts(unheard, 3), firsts(heard, 3))  # weight 0 is as if it were not there


def test_first_labels_are_beaten_by_none_and_shared_by_equals():
    np.testing.assert_array_equal(
        firsts(from_label_rankings(X, [["a", "b"], [("a", "b"), "c"], ["c", "a"], ["b", "c", "a"]]), 3),
        [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]],
    )
    circle = LabelPreferences([[0.0]], [0, 0, 0], list("abc"), list("bca"))
    assert not firsts(circle, 3).any()


def test_classes_are_predicted_by_their_share():
    model = LabelFrequencies().fit(X, ["u", "v", "u", "u"])
    np.testing.assert_allclose(model.predict_label_proba(X[:1])[0], [3.5 / 5, 1.5 / 5])
    assert model.predict_label(X).tolist() == ["u"] * 4
    assert model.score(X, ["u", "v", "u", "u"]) == 0.75
    assert LabelFrequencies().fit(from_class_labels(X, ["u", "v", "u", "u"])).wins_.tolist() == model.wins_.tolist()


def test_edges_count_by_their_weight_in_the_score():
    model = LabelFrequencies().fit(X, ["u", "v", "u", "u"])
    asked = LabelPreferences(X, [0, 1], ["u", "v"], ["v", "u"], weight=[3.0, 1.0])
    assert model.score(asked) == 0.75
