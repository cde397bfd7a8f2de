"""What would mislead learning is said by whoever learns: once, about everything, at the line that called."""

import warnings

import numpy as np
import pytest

from preflearn import Comparisons, KPCRank, KPCRankCV, PreferenceGP, RankRLS, RankRLSCV, Ratings
from preflearn.active import information_gain
from preflearn.baselines import ConstraintSVM, ConstraintSVMCV
from preflearn.exceptions import DataError, DataWarning

X = np.arange(12.0).reshape(6, 2) ** 2
LEARNERS = {
    "PreferenceGP": lambda: PreferenceGP(hyperparameters="fixed"),
    "PreferenceGP, searching": lambda: PreferenceGP(n_restarts=1, random_state=0),
    "RankRLS": RankRLS,
    "RankRLSCV": RankRLSCV,
    "KPCRank": KPCRank,
    "KPCRankCV": KPCRankCV,
}
SVMS = {
    "ConstraintSVM": lambda: ConstraintSVM("linear"),
    "ConstraintSVMCV": lambda: ConstraintSVMCV(cv=2, log10_C=(0, 1), log10_kappa=(0, 0), refine=0, random_state=0),
}


def warnings_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        call()
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("name", [*LEARNERS, *SVMS])
def test_equal_votes_are_learned_from_without_a_word(name):
    data = Comparisons(X, [0, 1, 1, 2, 3, 4], [1, 0, 2, 3, 4, 5], [1, -1, 1, 1, 1, 1])
    assert warnings_of(lambda: (LEARNERS | SVMS)[name]().fit(data)) == []


@pytest.mark.parametrize("name", LEARNERS)
def test_separate_parts_are_told_once(name):
    data = Comparisons(7, [0, 1, 0, 3, 4, 3], [1, 2, 2, 4, 5, 5])
    messages = warnings_of(lambda: LEARNERS[name]().fit(data))
    assert len(messages) == 1
    assert messages[0].startswith(f"{name.partition(',')[0]}: the comparisons leave 3 separate parts, of 3, 3, 1 items")
    assert "1 of the items were never compared" in messages[0]


def test_ordinary_data_are_learned_from_without_a_word():
    # Warnings are errors here: features excuse separate parts, and groups do too.
    model = PreferenceGP(hyperparameters="fixed")
    model.fit(Comparisons(X, [0, 2], [1, 3]))
    model.fit(Comparisons(4, [0, 2], [1, 3], group=["g", "h"]))
    model.fit(Comparisons(X, [0, 0], [1, 1], judge=["u", "v"]))
    model.fit(Comparisons(X, [0, 1], [1, 0], [1, 1]))


def test_keeping_one_part_is_a_cure():
    data = Comparisons(None, ["a", "b", "x"], ["b", "c", "y"])
    RankRLS().fit(data[data.parts()[data.first] == 0])


def test_questions_are_not_odd():
    model = PreferenceGP(hyperparameters="fixed").fit(Comparisons(None, ["a", "b", "c"], ["b", "c", "d"]))
    question = Comparisons(None, ["a", "c", "a"], ["b", "d", "b"])
    model.predict_proba(question)
    model.score(question)
    information_gain(model, question)


def test_an_update_speaks_of_what_it_adds():
    model = PreferenceGP(hyperparameters="fixed").fit(Comparisons(None, ["a", "b"], ["b", "c"]))
    model.update(Comparisons(None, ["a", "c"], ["b", "d"]))  # asked again, and a new item: nothing odd
    messages = warnings_of(lambda: model.update(Comparisons(None, ["x", "x"], ["y", "y"])))
    assert len(messages) == 1
    assert messages[0].startswith("PreferenceGP: the comparisons leave 2 separate parts, of 4, 2 items")
    model.update(Comparisons(None, ["a"], ["c"]))  # no more parts than before
    model.update(Comparisons(None, ["a"], ["x"]))


@pytest.mark.parametrize("name", ["RankRLS", "KPCRank"])
def test_scores_without_a_preference_are_odd_to_learn_from_only(name):
    rows = Ratings(X, [1, 1, 2, 2, 3, 3], group=[1, 1, 2, 2, 3, 3])
    messages = warnings_of(lambda: LEARNERS[name]().fit(rows))
    assert len(messages) == 1
    assert "all pairs are tied" in messages[0]
    with pytest.raises(DataError, match="none of the 6 groups has two rows"):
        LEARNERS[name]().fit(Ratings(X, np.arange(6), group=np.arange(6)))
    RankRLS().fit(Ratings(X, np.arange(6))).predict(rows)
