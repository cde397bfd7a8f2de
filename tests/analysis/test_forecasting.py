"""Forecasts: fixtures have the model's probabilities, and final tables those of seasons written out."""

import tracemalloc
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import ConstantKernel

import preflearn
from preflearn import BradleyTerry, Comparisons, PreferenceGP
from preflearn.exceptions import DataError

NAMES = ["ann", "bob", "cy", "dee"]


def league(seed=0, n=4, m=120, side=0.8):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, m)
    second = (first + 1 + rng.integers(0, n - 1, m)) % n
    z = 0.5 * (second - first) + side + rng.logistic(size=m)
    return Comparisons(n, first, second, np.where(np.abs(z) < 0.6, 0.0, np.sign(z)), names=NAMES[:n])


MODELS = {
    "sides": BradleyTerry(ties=True, side=True),
    "no ties": BradleyTerry(),
    "circles": PreferenceGP(cyclic_kernel=ConstantKernel(0.5), ties=True, hyperparameters="fixed"),
    "averaged": BradleyTerry(ties=True, hyperparameters="average"),
}


def fitted(name):
    data = league()
    return MODELS[name].fit(data if getattr(MODELS[name], "ties", False) else data[data.outcome != 0])


@pytest.mark.parametrize("name", MODELS)
def test_drawn_outcomes_are_as_frequent_as_they_are_probable(name):
    model, side = fitted(name), name == "sides"
    X = Comparisons(4, [0, 1, 2, 3], [1, 0, 3, 0], names=NAMES)
    drawn = model.sample_outcomes(X, 20_000, 0, side=side)
    p = model.predict_outcome_proba(X, side=side)
    share = np.column_stack([(drawn == outcome).mean(axis=0) for outcome in (-1, 0, 1)])
    np.testing.assert_allclose(share, p, atol=0.016)
    # games of the same two are won or lost together, as their difference is not known
    twice = model.sample_outcomes(X[[2, 2]], 60_000, 0, side=side)
    assert np.cov(twice.T)[0, 1] > 0.008


def test_seasons_of_many_fixtures_are_drawn_a_part_at_a_time():
    model, rng = fitted("no ties"), np.random.default_rng(0)
    first = rng.integers(0, 4, 1_000)
    X = Comparisons(4, first, (first + rng.integers(1, 4, 1_000)) % 4, names=NAMES)
    tracemalloc.start()
    drawn = model.sample_outcomes(X, 20_000, 0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20 * drawn.size  # bytes; a utility each, and its probabilities, would be more
    np.testing.assert_allclose((drawn == 1).mean(axis=0), model.predict_proba(X)[:, 1], atol=0.02)


def test_the_final_table_is_that_of_all_seasons_written_out():
    model = BradleyTerry(prior=1e-12, ties=True).fit(league(side=0.0))  # no item is better than another
    fixtures = [("ann", "bob"), ("bob", "cy"), ("cy", "ann")]
    played = Comparisons(None, ["cy", "bob"], ["ann", "cy"], [-1, 0])
    found = preflearn.forecast(model, fixtures, played, points=(2, 1, 0), k=2, n_samples=60_000)
    p = np.array([found.p_first[0], found.p_tie[0], found.p_second[0]])
    first, top, expected = np.zeros(3), np.zeros(3), np.zeros(3)
    for season in product(range(3), repeat=3):
        chance, points = np.prod(p[list(season)]), np.array([2.0, 1.0, 1.0])
        for (one, other), outcome in zip(((0, 1), (1, 2), (2, 0)), season, strict=True):
            points[one] += 2 - outcome
            points[other] += outcome
        expected += chance * points
        above, level = (points[None, :] > points[:, None]).sum(axis=1), (points[None, :] == points[:, None]).sum(axis=1)
        first += chance * np.where(above == 0, 1 / level, 0.0)
        top += chance * np.clip((2 - above) / level, 0.0, 1.0)
    table = found.places()
    rows = [["ann", "bob", "cy"].index(item) for item in table["item"]]
    assert table["item"][0] == "ann"
    np.testing.assert_array_equal(table["points"], np.array([2.0, 1.0, 1.0])[rows])
    np.testing.assert_allclose(table["expected"], expected[rows], atol=0.02)
    np.testing.assert_allclose(table["p_champion"], first[rows], atol=0.01)
    np.testing.assert_allclose(table["p_top"], top[rows], atol=0.01)
    assert sum(table["p_champion"]) == pytest.approx(1.0)
    assert sum(table["p_top"]) == pytest.approx(2.0)


def test_a_ranking_of_a_league_forecasts_with_its_home_advantage():
    data = league(m=600)
    result = preflearn.rank(data, circles=False)
    found = preflearn.forecast(result, pd.DataFrame({"first": ["ann", "bob"], "second": ["bob", "ann"]}), n_samples=500)
    assert "side" in result.ladder.terms
    X = Comparisons(None, ["ann"], ["bob"])
    assert found.p_first[0] == pytest.approx(result.model.predict_outcome_proba(X, side=True)[0, 2])
    assert found.p_first[0] > found.p_second[1] + 0.1
    assert "P(tie)" in str(found)
    assert "points now" not in str(found)
    np.testing.assert_array_equal(found.to_pandas()["item"], found.places()["item"])
    np.testing.assert_array_equal(found.to_polars()["item"], found.places()["item"])
    again = preflearn.forecast(result.model, [("ann", "bob"), ("bob", "ann")], n_samples=500)
    assert again.places() == found.places()


def test_what_cannot_be_forecast():
    model = fitted("sides")
    pair = [("ann", "bob")]
    with pytest.raises(DataError, match="Give three numbers, for a win, a tie and a loss"):
        preflearn.forecast(model, pair, points=(0, 1, 3))
    with pytest.raises(DataError, match="between 0 and 1"):
        preflearn.forecast(model, pair, level=1.0)
    with pytest.raises(ValueError, match="k must be a whole number of at least 1; got 0"):
        preflearn.forecast(model, pair, k=0)
    with pytest.raises(DataError, match="at most 5,000"):
        preflearn.forecast(model, pair * 5_001)
    with pytest.raises(TypeError, match="gives no probabilities of outcomes"):
        preflearn.forecast(preflearn.RankRLS(), pair)
    with pytest.raises(ValueError, match="which the model does not know"):
        fitted("no ties").sample_outcomes(league(m=5), side=True)


def test_reliable_judges_decide_more_surely():
    rng = np.random.default_rng(0)
    data = league(m=400, side=0.0)
    data = data[data.outcome != 0]
    judge = np.array(["good", "bad", "so"])[np.arange(len(data)) % 3]
    outcome = np.where(judge == "bad", np.sign(rng.normal(size=len(data))), data.outcome)
    X = data._take(slice(None), outcome=outcome, judge=judge.astype(object))
    model = PreferenceGP(judge_reliability=True).fit(X)
    asked = Comparisons(4, [0, 0], [3, 3], names=NAMES, judge=["good", "bad"])
    drawn, p = model.sample_outcomes(asked, 20_000, 0), model.predict_proba(asked)[:, 1]
    assert p[0] > p[1] + 0.05
    np.testing.assert_allclose((drawn > 0).mean(axis=0), p, atol=0.02)
