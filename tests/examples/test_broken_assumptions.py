"""Votes that break the assumptions of a plain ranking: the term that says so gives an order and intervals that hold."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SEED = 500

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("broken_assumptions", ROOT / "examples" / "broken_assumptions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def means(name, repeats=2):
        found = module.study(name, repeats, SEED)
        return {which: dict(zip(module.COLUMNS, rows.mean(axis=0), strict=True)) for which, rows in found.items()}

    return means


def test_the_side_is_told_from_strength(study):
    found = study("side")
    without, ours = found["without"], found["with the side"]
    assert ours["tau"] > without["tau"] + 0.15
    assert ours["tau"] > found["oracle"]["tau"] - 0.05
    assert without["places"] < 0.6 < 0.85 < ours["places"]
    assert without["utilities"] < 0.5 < 0.8 < ours["utilities"]


@pytest.mark.parametrize("name", ["covariates", "covariates-apart"])
def test_length_is_told_from_quality(study, name):
    found = study(name)
    without, ours = found["without"], found["with the covariate"]
    assert ours["tau"] > without["tau"] + 0.05
    assert ours["tau"] > found["oracle"]["tau"] - 0.05
    assert without["utilities"] < 0.65 < 0.75 < ours["utilities"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["careless", "contrary"])
def test_bad_judges_are_found(study, name):
    found = study(name)
    ours, tastes = found["with reliabilities"], found["tastes alone"]
    assert ours["tau"] > tastes["tau"] + 0.05
    assert ours["tau"] > found["oracle"]["tau"] - 0.07
    assert tastes["utilities"] < 0.6 < 0.7 < ours["utilities"]
    assert ours["correlation"] > 0.8


@pytest.mark.slow
def test_ten_votes_about_one_pair_are_not_ten_pairs(study):
    found = study("one-pair")
    without, laplace, ep = found["without"], found["with clusters, Laplace"], found["with clusters"]
    assert without["places"] < 0.85 < 0.9 < ep["places"]
    assert without["utilities"] + 0.3 < min(laplace["utilities"], ep["utilities"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clusters", "all-pairs"])
def test_laplace_sees_too_little_of_effects_that_are_seen_once_or_twice(study, name):
    found = study(name)
    without, laplace, ep = found["without"], found["with clusters, Laplace"], found["with clusters"]
    assert without["utilities"] + 0.3 < ep["utilities"]
    assert abs(ep["slope"] - 1) < 0.2 < laplace["slope"] - 1 < without["slope"] - 1


@pytest.mark.slow
def test_tastes_reliabilities_and_side_biases_are_told_apart(study):
    found = study("together")
    assert found["all three"]["correlation"] > 0.85
    assert found["all three"]["tau"] > found["without"]["tau"]
    assert found["all three"]["utilities"] > found["tastes alone"]["utilities"] + 0.2


@pytest.mark.slow
def test_the_table_is_printed(example):
    out = example("broken_assumptions.py", "--small", "--seed", SEED, "--only", "side", "covariates", "kinds")
    assert out.count("±") > 30
    assert out.count("\n") == 2 + 9
