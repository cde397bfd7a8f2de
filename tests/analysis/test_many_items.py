"""Rankings of more items with features than an exact model is quick for: sums of functions, which the output says."""

import numpy as np
import pytest

import preflearn
from preflearn import Comparisons
from preflearn.analysis import Limits

FEW = Limits(items_on_features=60, landmarks=20)


def data(n=120, m=1_500, seed=0, **columns):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = 1.5 * np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    outcome = np.where(f[first] - f[second] + rng.logistic(size=m) > 0, 1.0, -1.0)
    names = {name: np.array([f"w{k}" for k in rng.integers(0, 9, m)], dtype=object) for name in columns.get("by", ())}
    return Comparisons(X, first, second, outcome, **names), f


@pytest.fixture(scope="module")
def ranked():
    X, f = data(by=["judge", "cluster"])
    return preflearn.rank(X, limits=FEW), X, f


def test_functions_take_the_place_of_the_exact_model(ranked):
    result, X, f = ranked
    assert result.ladder.terms.name == "gp-ard-own"
    assert result.model.approximation.n_components == 20
    assert result.model.info_.latents == "weights of functions"
    exact = preflearn.rank(X, model="gp-ard-own", limits=Limits())
    assert exact.model.approximation is None
    one, other = (np.asarray(model.predict_utility()) for model in (result.model, exact.model))
    assert np.corrcoef(one, other)[0, 1] > 0.99
    assert (
        np.corrcoef(one, f)[0, 1]
        > np.corrcoef(preflearn.rank(X, model="bradley-terry").model.predict_utility(), f)[0, 1]
    )


def test_the_output_says_so_and_how_much_is_lost(ranked):
    result = ranked[0]
    said = {one.kind: str(one) for one in result.warnings}
    held = 1 - result.model.info_.lost
    assert f"sums of 20 functions, which hold {held:.1%} of the variance" in said["approximated"]
    assert "compare_with_exact" in said["approximated"]
    assert "exact models of the features (at most 60 compared items; here 120" in result.ladder.table()
    checks = {one.term: str(one) for one in result.checks}
    for term in ("clusters", "reliability", "tastes"):
        assert "beside features at most 60 compared items; here 120" in checks[term]
    few = preflearn.rank(data(n=40)[0], limits=FEW)
    assert "approximated" not in {one.kind for one in few.warnings}


@pytest.mark.slow
def test_circles_are_looked_for_by_name_if_they_are_asked_for(ranked):
    X = ranked[1]
    result = preflearn.rank(X, circles=True, limits=FEW)
    assert result.rankability is not None
    asked = preflearn.rank(X, model="gp-own", circles=True, limits=FEW)
    assert asked.rankability is None
    assert "beside features at most 60 compared items" in str(asked.checks[0])


@pytest.mark.slow
def test_the_side_is_learned_beside_functions():
    X, _ = data(seed=1)
    outcome = np.where(np.random.default_rng(2).random(len(X)) < 0.25, 1.0, X.outcome)
    result = preflearn.rank(Comparisons(X.items, X.first, X.second, outcome), limits=FEW)
    assert result.ladder.terms.name == "gp-ard-own+side"
    assert result.model.side_effect_.estimate > 0


@pytest.mark.parametrize("strength", [0.0, 2.5])
def test_circles_are_looked_for_beside_the_same_side(strength):
    rng = np.random.default_rng(0)
    X, kind = rng.normal(size=(75, 2)), np.arange(75) % 3
    first = rng.integers(0, 75, 2_500)
    second = (first + rng.integers(1, 4, 2_500)) % 75
    circle = strength * np.array([0.0, 1.0, -1.0])[(kind[first] - kind[second]) % 3]
    z = X[first, 0] - X[second, 0] + 1.5 + circle
    games = Comparisons(X, first, second, np.where(z + rng.logistic(size=2_500) > 0, 1.0, -1.0))
    found = preflearn.rank(games, limits=FEW, circles=True)
    assert "bradley-terry+side" in [one.terms.name for one in found.ladder.steps]
    assert "side" in found.ladder.terms
    assert ("circles" in found.ladder.terms) == (strength > 0)
    assert (found.rankability.verdict == "rankable") == (strength == 0)
