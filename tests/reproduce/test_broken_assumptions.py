"""Votes that break the assumptions of a plain ranking: the term that says so gives an order and intervals that hold."""

import numpy as np
import pytest

from preflearn.reproduce import Case
from preflearn.reproduce.studies.broken_assumptions import CONTRADICTIONS, KNOWN, SITUATIONS, learn
from preflearn.terms.reliability import LOOKING

pytestmark = pytest.mark.filterwarnings("ignore")


def study(name, repeats=2):
    """Return the mean of each figure by model."""
    models = list((SITUATIONS | CONTRADICTIONS)[name].models)
    found = [learn(Case(k, 0, {"situation": name, "models": models})) for k in range(repeats)]
    return {
        model: {key: np.mean([one[place][key] for one in found]) for key in found[0][place] if key != "row"}
        for place, model in enumerate(models)
    }


def test_the_side_is_told_from_strength():
    found = study("side", 3)
    without, ours = found["without"], found["with the side"]
    assert ours["tau"] > without["tau"] + 0.15
    assert ours["tau"] > found["oracle"]["tau"] - 0.05
    assert without["places"] < 0.6 < 0.85 < ours["places"]
    assert without["utilities"] < 0.5 < 0.8 < ours["utilities"]


@pytest.mark.parametrize("name", ["covariates", "covariates-apart"])
def test_length_is_told_from_quality(name):
    found = study(name)
    without, ours = found["without"], found["with the covariate"]
    assert ours["tau"] > without["tau"] + 0.05
    assert ours["tau"] > found["oracle"]["tau"] - 0.05
    assert without["utilities"] < 0.65 < 0.75 < ours["utilities"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["careless", "contrary"])
def test_bad_judges_are_found(name):
    found = study(name)
    ours, tastes = found["with reliabilities"], found["tastes alone"]
    assert ours["tau"] > tastes["tau"] + 0.05
    assert ours["tau"] > found["oracle"]["tau"] - 0.07
    assert tastes["utilities"] < 0.6 < 0.7 < ours["utilities"]
    assert ours["correlation"] > 0.8


@pytest.mark.slow
def test_ten_votes_about_one_pair_are_not_ten_pairs():
    found = study("one-pair")
    without, laplace, ep = found["without"], found["with clusters, Laplace"], found["with clusters"]
    assert without["places"] < 0.85 < 0.9 < ep["places"]
    assert without["utilities"] + 0.3 < min(laplace["utilities"], ep["utilities"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clusters", "all-pairs"])
def test_laplace_sees_too_little_of_effects_that_are_seen_once_or_twice(name):
    found = study(name)
    without, laplace, ep = found["without"], found["with clusters, Laplace"], found["with clusters"]
    assert without["utilities"] + 0.3 < ep["utilities"]
    assert abs(ep["slope"] - 1) < 0.2 < laplace["slope"] - 1 < without["slope"] - 1


@pytest.mark.slow
def test_tastes_reliabilities_and_side_biases_are_told_apart():
    found = study("together", 3)
    assert found["all three"]["correlation"] > 0.8
    assert found["all three"]["tau"] > found["without"]["tau"]
    assert found["all three"]["utilities"] > found["tastes alone"]["utilities"] + 0.1


def test_who_is_right_is_drawn_as_the_prior_has_it():
    assert KNOWN == LOOKING


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CONTRADICTIONS])
def test_judges_who_contradict_each_other_leave_the_direction_open(name):
    ours = study(name, 3)["with reliabilities"]
    assert ours["utilities"] > 0.75
    assert ours["places"] > 0.8
