"""Models of labels by name: what is chosen, on which rows, and what held-out figures mean."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import KFold

from preflearn.analysis.label_models import (
    LABEL_MODELS,
    PROCESSES,
    hold_out_labels,
    learn_labels,
    score_labels,
)
from preflearn.analysis.limits import LIMITS
from preflearn.baselines import LabelFrequencies
from preflearn.data import LabelPreferences, from_class_labels, from_label_rankings
from preflearn.exceptions import DataError
from preflearn.models import LabelPreferenceGP
from preflearn.models.label_gp import operations


def rankings(n=40, noise=0.3, seed=0, bend=False):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    utility = np.column_stack([3 * X.sum(axis=1), 0 * X[:, 0], 4 * X[:, 1] ** 2 if bend else 1.0 - 3 * X[:, 0]])
    order = np.argsort(-(utility + noise * rng.normal(size=utility.shape)), axis=1)
    return from_label_rankings(X, np.array(["a", "b", "c"])[order])


def test_the_evidence_chooses_what_made_the_data():
    linear, bent = learn_labels(rankings()), learn_labels(rankings(bend=True, noise=0.1))
    assert linear.name == "label-gp-linear"
    assert bent.name in ("label-gp", "label-gp-ard")
    assert "nats behind" in linear.notes[0]


def test_few_operations_draw_rows_for_the_search_and_then_for_the_utilities():
    data = rankings(60)
    some = replace(LIMITS, label_search=operations(data[:25]))
    learned = learn_labels(data, "label-gp", limits=some)
    assert any("Hyperparameters are those of 25 rows" in note for note in learned.notes)
    assert learned.model._edges.X.shape[0] == 60
    assert learned.model.inference == "ep"
    learned = learn_labels(data, "label-gp", limits=replace(some, label_moments=operations(data[:25])))
    assert learned.model.inference == "laplace"
    assert "too near to even" in learned.notes[-1]
    few = replace(some, label_learning=operations(data[:40]))
    learned = learn_labels(data, "label-gp", limits=few)
    assert "Learned from 40 of 60 rows" in learned.notes[0]
    assert learned.model._edges.X.shape[0] == 40
    again = learn_labels(data, "label-gp", limits=few)
    np.testing.assert_array_equal(again.model.predict_utility(data), learned.model.predict_utility(data))


def test_operations_are_those_of_the_cheaper_elimination():
    n = 30
    X = np.zeros((n, 1))
    full = from_label_rankings(X, [["a", "b", "c", "d"]] * n)
    assert operations(full) == pytest.approx((3 * n) ** 3 / 3)
    many = from_class_labels(X, np.arange(n) % 10)
    assert operations(many) < 0.5 * (9 * n) ** 3 / 3


def test_figures_of_a_row_are_counted_by_hand():
    X = np.zeros((3, 1))
    model = LabelFrequencies().fit(from_label_rankings(X, [["a", "b", "c"]] * 3))
    data = from_label_rankings(X, [["a", "b", "c"], ["b", "a"], ["c", "b", "a"]], labels=["c", "b", "a"])
    scores = score_labels(model, data)
    assert scores.preference_error == pytest.approx(4 / 7)
    assert scores.tau == pytest.approx((1 - 1 - 1) / 3)
    assert scores.label_right.tolist() == [1.0, 0.0, 0.0]
    assert scores.label_error == pytest.approx(2 / 3)
    first = model.predict_label_proba(X[:1])[0]
    assert scores.label_log_loss == pytest.approx(-np.mean(np.log(first[[0, 1, 2]])))
    P = model.preference_matrix(X[:1])[0]
    sure, unsure = P[0, 1], P[1, 0]
    assert (P[0, 2], P[1, 2]) == (sure, sure)
    assert scores.edges.log_loss == pytest.approx(-(3 * np.log(sure) + 4 * np.log(unsure)) / 7)


def test_ties_of_rows_and_rows_without_a_first_label_count_nowhere():
    X = np.zeros((2, 1))
    model = LabelFrequencies().fit(from_label_rankings(X, [["a", "b", "c"]] * 2))
    tied = from_label_rankings(X, [[("a", "b"), "c"], ["a", ("b", "c")]], ties="include")
    scores = score_labels(model, tied)
    assert len(scores.label_right) == 1
    assert scores.tau == 1
    assert scores.preference_error == 0


@pytest.mark.parametrize("name", ["label-frequencies", "label-gp-linear", "label-svm"])
def test_held_out_rows_are_predicted_by_models_that_have_not_seen_them(name):
    data = rankings(24)
    scores, learned = hold_out_labels(data, name, 3, random_state=1)
    assert [one.name for one in learned] == [name] * 3
    wrong = size = 0.0
    for (train, test), one in zip(KFold(3, shuffle=True, random_state=1).split(np.arange(24)), learned, strict=True):
        again = learn_labels(data[train], name, random_state=1).model
        held = data[test]
        np.testing.assert_allclose(again.predict_utility(held), one.model.predict_utility(held), atol=1e-10)
        wrong += (1 - again.score(held)) * held.n_edges
        size += held.n_edges
    assert scores.preference_error == pytest.approx(wrong / size)
    assert scores.probable == (name != "label-svm")
    assert sorted(set(scores.edges.unit.tolist())) == list(range(24))


def test_rows_that_say_nothing_are_neither_held_out_nor_needed():
    whole = rankings(12)
    more = LabelPreferences(
        np.vstack([whole.items, np.ones((3, 2))]),
        whole.item,
        whole.labels[whole.first],
        whole.labels[whole.second],
        labels=whole.labels,
    )
    one, other = (hold_out_labels(data, "label-gp-linear", 3)[0] for data in (whole, more))
    np.testing.assert_allclose(one.edges.probability, other.edges.probability)


def test_mistakes_are_answered():
    with pytest.raises(DataError, match="is not a model of labels"):
        learn_labels(rankings(5), "label-forest")
    with pytest.raises(DataError, match="nothing is left to learn from"):
        hold_out_labels(rankings(1))
    model = LabelFrequencies().fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(DataError, match="has not learned 1 label"):
        score_labels(model, rankings(3))
    assert PROCESSES.keys() < LABEL_MODELS.keys()
    assert isinstance(learn_labels(rankings(8), "label-gp").model, LabelPreferenceGP)
