"""Cross-validation by the command: the choice of the model sees nothing of what is held out, and folds are counted."""

import json
from dataclasses import replace

import numpy as np
import pytest

import preflearn.analysis.cross_validated as cross_validation
from preflearn.analysis import Terms
from preflearn.cli.main import main
from preflearn.io import read_svmlight
from preflearn.metrics import disagreement_error, mean_average_precision
from preflearn.models import RankRLSCV
from preflearn.selection import GroupFolds


@pytest.fixture
def games(folder):
    """Write comparisons of 8 items with features, by two judges."""
    rng = np.random.default_rng(0)
    u = np.linspace(2, -2, 8)
    first, second = np.triu_indices(8, 1)
    won = u[first] - u[second] + rng.logistic(size=len(first)) > 0
    rows = [f"j{k % 2},T{a},T{b},{'left' if w else 'right'}" for k, (a, b, w) in enumerate(zip(first, second, won))]  # noqa: B905
    (folder / "judged.csv").write_text("judge,left,right,winner\n" + "\n".join(rows) + "\n")
    (folder / "plain.csv").write_text("left,right,winner\n" + "\n".join(row[3:] for row in rows) + "\n")
    (folder / "things.csv").write_text("thing,size\n" + "".join(f"T{k},{v:.2f}\n" for k, v in enumerate(u)))
    return folder


@pytest.mark.slow
def test_the_choice_of_a_fold_sees_only_what_the_fold_learns_from(run, games, monkeypatch):
    seen = []
    choose = cross_validation.analyse

    def watch(X, *arguments, **options):
        seen.append(set(zip(X.first.tolist(), X.second.tolist(), strict=True)))
        return choose(X, *arguments, **options)

    monkeypatch.setattr(cross_validation, "analyse", watch)
    found = json.loads(run("evaluate", "plain.csv", "--json")[1])
    assert found["model"] == "auto"
    assert found["choice"] == {"from": "each training part", "models": ["bradley-terry"] * 5}
    assert found["notes"] == []
    pairs = set.union(*seen)
    assert len(pairs) == 28
    assert len(seen) == found["n_folds"] == 5
    assert all(sum(pair in part for part in seen) == 4 for pair in pairs), "each pair is hidden from one choice"


@pytest.mark.slow
def test_circles_are_looked_for_in_each_fold(run, games):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(14, 2))
    first, second = (np.repeat(side, 2) for side in np.triu_indices(14, 1))
    z = 4 * (X[first, 0] * X[second, 1] - X[first, 1] * X[second, 0]) + rng.logistic(size=len(first))
    rows = [f"T{a},T{b}" if won else f"T{b},T{a}" for a, b, won in zip(first, second, z > 0, strict=True)]
    (games / "around.csv").write_text("winner,loser\n" + "\n".join(rows) + "\n")
    (games / "places.csv").write_text("thing,x,y\n" + "".join(f"T{k},{x:.3f},{y:.3f}\n" for k, (x, y) in enumerate(X)))
    found = json.loads(run("evaluate", "around.csv", "--items", "places.csv", "--folds", "3", "--json")[1])
    assert found["choice"]["models"] == ["gp-own+circles"] * 3
    assert found["metrics"]["accuracy"] > 0.65


@pytest.mark.slow
def test_the_models_of_the_folds_are_reported(run, games):
    data = ["evaluate", "judged.csv", "--items", "things.csv", "--folds", "3"]
    found = json.loads(run(*data, "--json")[1])
    assert len(found["choice"]["models"]) == found["n_folds"] == 3
    text = " ".join(run(*data)[1].split())
    assert "chosen by its evidence on each training part" in text
    assert all(name in text for name in found["choice"]["models"])
    asked = json.loads(run(*data, "--model", "gp", "--json")[1])
    assert (asked["model"], asked["choice"]) == ("gp", None)


def test_several_models_are_counted():
    one, other = Terms("gp"), Terms("gp-own", ("side",))
    chosen = cross_validation.Chosen([one, other, one], within=True)
    assert str(chosen) == "chosen by its evidence on each training part: gp in 2 of 3, gp-own+side in 1 of 3"
    chosen = cross_validation.Chosen([other, other], within=False)
    assert str(chosen) == f"{other.words} (gp-own+side): chosen by its evidence on all comparisons"


@pytest.mark.slow
def test_held_out_items_are_predicted_by_models_of_features(run, games, monkeypatch):
    best = cross_validation.analyse

    def by_name(X, *arguments, **options):
        """Choose as if the evidence favoured a model that knows items by name."""
        found = best(X, *arguments, **options)
        named = next(one for one in found.ladder.steps if one.name == "bradley-terry")
        return replace(found, data=X.with_items(X.n_items), ladder=replace(found.ladder, chosen=named))

    monkeypatch.setattr(cross_validation, "analyse", by_name)
    found = json.loads(
        run("evaluate", "plain.csv", "--items", "things.csv", "--by", "item", "--folds", "2", "--json")[1]
    )
    assert set(found["choice"]["models"]) <= {"gp-own", "gp-ard-own"}
    assert found["metrics"]["accuracy"] > 0.5


@pytest.mark.slow
def test_a_choice_that_would_take_long_is_made_once_and_both_outputs_say_so(run, games, monkeypatch):
    monkeypatch.setattr(cross_validation, "MOST_ASKED", 0)
    found = json.loads(run("evaluate", "judged.csv", "--json", "--folds", "2")[1])
    assert found["choice"]["from"] == "all comparisons"
    assert len(set(found["choice"]["models"])) == 1
    assert "chosen by its evidence on all comparisons" in found["notes"][0]
    text = " ".join(run("evaluate", "judged.csv", "--folds", "2")[1].split())
    assert found["notes"][0] in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "word"), [("pair", "28 different pairs of items"), ("judge", "2 judges"), ("item", "8 compared items")]
)
def test_folds_that_cannot_be_made_are_named(by, word, run, games):
    items = ["--items", "things.csv"] if by == "item" else []
    model = ["--model", "gp" if by == "item" else "thurstone"]
    command = ["evaluate", "judged.csv", *items, *model, "--by", by, "--folds", "99"]
    note = json.loads(run(*command, "--json")[1])["notes"]
    assert note == [f"{word.split()[0]} folds instead of 99: there are only {word} to hold out."]
    assert note[0] in " ".join(run(*command)[1].split())


@pytest.mark.slow
def test_compare_names_fewer_folds_too(run, games):
    command = ["compare", "judged.csv", "bradley-terry", "thurstone", "--by", "judge"]
    assert json.loads(run(*command, "--json")[1])["notes"] == [
        "2 folds instead of 5: there are only 2 judges to hold out."
    ]
    assert "2 folds instead of 5" in " ".join(run(*command)[1].split())
    assert main([*command, "--folds", "2"]) == 0


def test_rows_are_cross_validated_with_whole_groups_held_out(run, folder):
    data = read_svmlight("train.txt")
    wanted = np.empty(len(data))
    for train, test in GroupFolds(4, random_state=3).split(data):
        assert not set(data.group[train].tolist()) & set(data.group[test].tolist())
        wanted[test] = RankRLSCV().fit(data[train]).predict(data[test])
    asked = ["evaluate", "train.txt", "--model", "rankrls", "--folds", "4", "--seed", "3"]
    found = json.loads(run(*asked, "--relevant", "2", "--json")[1])
    assert (found["n_rows"], found["n_groups"], found["n_folds"], found["held_out"]) == (72, 12, 4, "group")
    assert found["metrics"]["disagreement"] == disagreement_error(data.score, wanted, qid=data.group)
    assert found["metrics"]["map"] == mean_average_precision(data.score, wanted, qid=data.group, relevant=2)
    out = " ".join(run(*asked)[1].split())
    assert "Model rankrls, by least squares" in out
    assert "Folds 4; held out are whole groups" in out
    found = json.loads(run("evaluate", "test.txt", "--model", "kpcrank", "--folds", "9", "--json")[1])
    assert found["n_folds"] == 5
    assert "there are only 5 groups" in found["notes"][-1]


def test_many_rows_are_judged_by_least_squares(run, folder):
    rng = np.random.default_rng(0)
    x = rng.normal(size=1501).round(3)
    (folder / "many.txt").write_text("".join(f"{int(v > 0)} qid:{i % 50} 1:{v}\n" for i, v in enumerate(x)))
    found = json.loads(run("evaluate", "many.txt", "--json")[1])
    assert found["model"] == "rankrls"
    assert found["metrics"]["disagreement"] == 0
