"""What the studies count, in small: where the answer is clear, they find it."""

from dataclasses import replace

import numpy as np
import pytest

from fast_share import cases, thorough
from preflearn.reproduce import Case, experiments, reproduce
from preflearn.reproduce.studies import coverage, judges, matched_pairs, power, which_next

EVERY = experiments()
pytestmark = pytest.mark.filterwarnings("ignore")


def small(name, folder, repeats, **settings):
    """Run the first of an experiment's runs with other settings."""
    one = EVERY[name]
    run = one.runs[0]
    return reproduce(replace(one, runs=[replace(run, settings={**run.settings, **settings})]), folder, repeats=repeats)


@pytest.mark.slow
def test_suggested_pairs_save_comparisons():
    for run in which_next.RUNS:
        settings = {**run.settings, "budget": run.settings["budget"] // 3}
        found = [run.trial(Case(seed, 0, settings)) for seed in range(2)]
        suggested, random = (np.mean([[one[k]["tau 0.8"], one[k]["tau"]] for one in found], axis=0) for k in (0, 2))
        assert suggested[0] <= 0.9 * random[0]
        assert suggested[1] > random[1]
        assert max(one[k]["calibration"] for one in found for k in (0, 2)) < 0.1


@pytest.mark.slow
@pytest.mark.data
def test_judges_of_cars_are_told_apart(data_dir):
    folder = data_dir / "car_preferences"
    models = ["one for all", "and one for each"]
    found = judges.predictions(Case(0, 0, {"folds": 2, "models": models}, folder))
    accuracy = [one["known accuracy"] for one in found]
    assert accuracy[1] > accuracy[0] + 0.1
    reliability, consistency = judges.report(Case(0, 0, {}, folder))[-2:]
    assert min(reliability["correlation"], consistency["correlation"]) > 0.2


@pytest.mark.slow
def test_the_verdict_tells_a_ranking_from_circles(tmp_path):
    found = small("power", tmp_path, cases(1, 3), items=8, shares=[0.4, 1.0])
    assert found.cell("circles, no features", "100%").mean == 1
    assert found.cell("ranking, no features", "100%").mean == 0
    assert ("circles, no features", "10%") not in found.cells


def test_preferences_are_skew_and_of_one_size():
    upper = np.triu_indices(40, 1)
    for truth in power.TRUTHS:
        rng = np.random.default_rng(0)
        G = power.preferences(truth, rng.normal(size=(40, 2)), 40, rng)
        np.testing.assert_allclose(G, -G.T, atol=1e-12)
        # both parts may have something in common by chance
        assert G[upper].std() == pytest.approx(2, rel=0.5 if truth == "both" else 1e-12)


@thorough
@pytest.mark.slow
def test_intervals_of_rank_hold_more_often_than_those_of_the_papers(tmp_path):
    words = [words for words, *_ in coverage.SETTINGS if "15 items, 30" in words or "voters" in words]
    found = small("coverage", tmp_path, 20, data=words)
    for row in words:
        ours = found.cell(f"{row}, rank", "held").mean
        assert ours > found.cell(f"{row}, as the papers", "held").mean
        assert ours > 0.8


def test_opponents_are_as_near_as_the_kind_of_game_says():
    for kind, reach in (("within three places", 3), ("ladder", 1), ("ladder of noise", 1)):
        data, u = matched_pairs.games(kind, 0)
        assert np.abs(data.first - data.second).max() == reach
        assert len(data) == 600
        assert (np.ptp(u) == 0) == (kind == "ladder of noise")
    data, _ = matched_pairs.games(matched_pairs.SWISS, 0)
    rounds = np.column_stack([data.first, data.second]).reshape(12, -1)
    assert all(sorted(one) == list(range(20)) for one in rounds.tolist())
