"""GPGP: preferences that may run in circles, without a utility, by name, with features and without."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import ConstantKernel

from preflearn import rank
from preflearn.analysis.model_names import Terms, build_model, terms_of
from preflearn.data import Comparisons
from preflearn.models.bradley_terry import SPREAD
from preflearn.models.gp import PreferenceGP


def circle(features=True, n=11):
    """Return comparisons of items on a circle: those up to half a turn ahead win."""
    angle = 2 * np.pi * np.arange(n) / n
    X = np.column_stack([np.cos(angle), np.sin(angle)]) if features else n
    first, second = np.triu_indices(n, 1)
    ahead = np.sin(angle[first] - angle[second]) > 0
    return Comparisons(X, first, second, np.where(ahead, 1.0, -1.0))


@pytest.mark.parametrize("features", [True, False])
def test_it_is_the_model_of_circles_alone(features):
    data = circle(features)
    built = build_model(data, terms_of("gpgp", data))
    assert built.kernel is None
    cyclic = "rbf" if features else ConstantKernel()
    alone = PreferenceGP(None, "logit", cyclic_kernel=cyclic, hyperprior=SPREAD, n_restarts=0, random_state=0)
    np.testing.assert_allclose(built.fit(data).predict_proba(data), alone.fit(data).predict_proba(data))
    with pytest.raises(AttributeError, match="no utilities"):
        built.predict_utility()


def test_it_predicts_circles_that_no_utility_can():
    data = circle()
    train, test = np.arange(0, len(data), 2), np.arange(1, len(data), 2)
    score = {name: build_model(data, Terms(name)).fit(data[train]).score(data[test]) for name in ("gpgp", "gp")}
    assert score["gpgp"] > 0.9
    assert score["gp"] < 0.8


def test_its_name_says_circles_once():
    assert Terms("gpgp").name == Terms("gpgp", ("circles",)).name == "gpgp"
    assert "circles" in Terms("gpgp")
    assert Terms("gpgp").plus("side").name == "gpgp+side"
    assert Terms("gpgp", ("side",)).words.count("circles") == 1
    data = circle(features=False)
    assert terms_of("gpgp+side+circles", data).name == "gpgp+side"


def test_the_answer_says_that_there_is_no_single_ranking():
    result = rank(circle(), model="gpgp", circles=False)
    assert "No single ranking follows from it" in result.ladder.why
    assert len(result) == 11
    assert "No single" not in rank(circle(), model="gp+circles", circles=False).ladder.why


@pytest.mark.slow
def test_the_verdict_is_that_of_a_ranking_without_and_the_same_circles():
    assert rank(circle(), model="gpgp").rankability.found
