"""Pairs of items of regression sets: how they are read and drawn, and what is learned from them."""

import numpy as np
import pytest

from preflearn.reproduce import Case, experiments
from preflearn.reproduce.papers.item_cost import simulate, slope
from preflearn.reproduce.papers.item_pairs import draw_pairs, load

RUNS = {run.name: run for one in experiments().values() for run in one.runs}


def write_set(path, n, seed, sex=False):
    """A set with a word in the first column (as abalone has) or none, a useless feature, and equal targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    word = rng.integers(0, 3, n)
    y = np.round(2 * X[:, 0] + np.sin(2 * X[:, 1]) + (word if sex else 0), 1)
    lines = ["Sex,a,b,c,y" if sex else "a,b,c,y"]
    for i in range(n):
        lines.append(",".join([*(["FIM"[word[i]]] if sex else []), *map(str, X[i]), str(y[i])]))
    path.write_text("\n".join(lines) + "\n")


def test_pairs_are_distinct_untied_and_tested_on_others(tmp_path):
    write_set(tmp_path / "few.csv", 30, 0)
    X, y = load(tmp_path / "few.csv")
    train, test = draw_pairs(X, y, 100, 20_000, np.random.default_rng(0))
    drawn = [{(i, j) for i, j in zip(part.first, part.second, strict=True)} for part in (train, test)]
    low, high = np.triu_indices(30, 1)
    untied = {(i, j) for i, j in zip(low, high, strict=True) if y[i] != y[j]}
    assert len(untied) < 435  # there are ties to leave out
    assert len(drawn[0]) == len(train) == 100
    assert len(drawn[1]) == len(test)
    assert not drawn[0] & drawn[1]
    assert drawn[0] | drawn[1] == untied  # fewer than 20,000: all others test
    for part in (train, test):
        np.testing.assert_array_equal(part.outcome, np.sign(y[part.first] - y[part.second]))
    write_set(tmp_path / "many.csv", 400, 1, sex=True)
    X, y = load(tmp_path / "many.csv")
    assert X.shape == (400, 6)  # one column for each of three words
    np.testing.assert_array_equal(X[:, :3].sum(axis=1), 1)
    train, test = draw_pairs(X, y, 100, 20_000, np.random.default_rng(0))
    assert (len(train), len(test)) == (100, 20_000)
    # every pair is as likely as any other: items occur equally often
    count = np.bincount(np.concatenate([test.first, test.second]), minlength=400)
    assert abs(count - 100).max() < 50


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore")
def test_pyrimidines_are_learned_as_well_as_in_the_paper(data_dir):
    run = RUNS["prefgp-table1-pyrimidines"]
    settings = {**run.settings, "svm": run.quick["svm"]}
    found = [run.trial(Case(repeat, 0, settings, data_dir / "torgo_regression")) for repeat in range(3)]
    for method in ("GP", "GP, EP"):
        assert np.mean([errors[method] for errors, *_ in found]) <= 14.43 + 2.02  # the figure and its deviation
    assert np.mean([calibration["GP, EP"] for _, _, calibration, _ in found]) <= 0.04


@pytest.mark.data
@pytest.mark.filterwarnings("ignore")
def test_documents_of_a_query_are_read_with_features_or_words(data_dir, tmp_path):
    run = RUNS["prefgp-fig2"]
    settings = {**run.settings, "pairs": [100, 200], "log10_C": [0, 1]}
    found = run.trial(Case(0, 0, settings, data_dir / "letor_ohsumed", "letor_ohsumed"))
    assert 25 < found[0]["GP"] < 40
    rng = np.random.default_rng(0)
    X, grade = rng.random(size=(60, 20)), rng.integers(0, 3, 60)
    X[np.arange(60), grade] += 1
    lines = [f"{g} " + " ".join(f"{k}:{v:.3f}" for k, v in enumerate(x, 1)) for x, g in zip(X, grade, strict=True)]
    (tmp_path / "query3.svmlight").write_text("\n".join(lines) + "\n")
    found = run.trial(Case(0, 0, settings, tmp_path, "ohsumed_query3"))
    assert found[1]["GP"] < 10


def test_simulated_comparisons_are_distinct_and_of_every_item():
    data = simulate(20, 60, 3)
    assert len({frozenset(pair) for pair in zip(data.first.tolist(), data.second.tolist(), strict=True)}) == 60
    assert len(data.used_items()) == 20
    assert slope([10, 20, 40], [1.0, 8.0, 64.0]) == pytest.approx(3)
