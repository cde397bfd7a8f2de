"""Rows with features and labels at the command line: learned, predicted and judged as in Python."""

import csv
import io
import json

import numpy as np
import pytest
from label_mistakes import ROWS, model

from preflearn import load
from preflearn.active import suggest
from preflearn.analysis import label_models
from preflearn.analysis.label_models import hold_out_labels, learn_labels, score_labels
from preflearn.cli import options
from preflearn.io import read_label_preferences

DRINKS = ("juice", "milk", "tea")


def drinks(seed, n):
    """Return lines of people whose first drink depends on their age, with ties, gaps and ids."""
    rng = np.random.default_rng(seed)
    lines = ["id,age,town,ranking"]
    for k in range(n):
        age = int(rng.integers(18, 80))
        utility = {"tea": (age - 50) / 8, "milk": 0.0, "juice": (50 - age) / 8}
        order = sorted(utility, key=lambda name: -utility[name] - 0.5 * rng.normal())
        text = (
            " > ".join(order) if k % 5 else f"{order[0]} > {order[1]} = {order[2]}" if k % 2 else " > ".join(order[:2])
        )
        lines.append(f"p{k},{age if k % 7 else ''},{('Rome', 'Bern', 'Oslo')[k % 3]},{text}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def people(folder):
    """Write people.csv and, with others, later.csv and new.csv, which has no rankings."""
    (folder / "people.csv").write_text(drinks(0, 40))
    later = drinks(1, 20)
    (folder / "later.csv").write_text(later)
    (folder / "new.csv").write_text("\n".join(line.rpartition(",")[0] for line in later.splitlines()) + "\n")
    return folder


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_model_that_is_learned_saved_and_asked_answers_as_in_python(people, run):
    code, out, err = run("fit", "people.csv", "--save", "m.preflearn", "--model", "label-gp")
    assert (code, err) == (0, "")
    said = " ".join(out.split())
    assert "people.csv: 40 rows with 5 features and rankings of 3 labels (ranking (text))" in said
    assert "rank fewer than all 3" in said
    read = read_label_preferences("people.csv")
    learned = learn_labels(read.data, "label-gp").model
    rows = read_label_preferences("new.csv", encoder=read.encoder, need_labels=False).items

    found = table(run("predict", "m.preflearn", "new.csv")[1])
    assert [row["id"] for row in found] == [f"p{k}" for k in range(20)]
    assert [row["ranking"] for row in found] == [" > ".join(order) for order in learned.predict(rows)]
    assert [row["label"] for row in found] == learned.predict_label(rows).tolist()
    told = np.array([[float(row[f"p_{label}"]) for label in DRINKS] for row in found])
    np.testing.assert_allclose(told, learned.predict_label_proba(rows), atol=1e-9)
    np.testing.assert_allclose(told, load("m.preflearn").predict_label_proba(rows), atol=1e-15)

    pairs = table(run("predict", "m.preflearn", "new.csv", "--pairs")[1])
    assert [tuple(row[name] for name in ("id", "first", "second")) for row in pairs[:3]] == [
        ("p0", "juice", "milk"),
        ("p0", "juice", "tea"),
        ("p0", "milk", "tea"),
    ]
    P = learned.preference_matrix(rows)[:, *np.triu_indices(3, 1)]
    np.testing.assert_allclose([float(row["probability"]) for row in pairs], P.ravel(), atol=1e-9)

    judged = json.loads(run("evaluate", "m.preflearn", "later.csv", "--json")[1])
    again = read_label_preferences("later.csv", encoder=read.encoder, labels=DRINKS)
    scores = score_labels(learned, again.data)
    assert judged["n_rows"] == 20
    assert judged["metrics"]["kendall_tau"] == pytest.approx(scores.tau, abs=1e-9)
    assert judged["metrics"]["log_loss"] == pytest.approx(scores.edges.log_loss, abs=1e-6)
    assert judged["metrics"]["label_error"] == pytest.approx(scores.label_error, abs=1e-9)
    assert scores.tau > 0.5


@pytest.mark.parametrize("ending", [".json", ".parquet", ".tsv"])
def test_predictions_go_to_a_file_of_any_format(people, run, ending):
    model(people)
    (people / "rows.csv").write_text("age,town\n30,Rome\n44,Bern\n")
    code, out, _ = run("predict", "drinks.preflearn", "rows.csv", "--out", f"p{ending}")
    assert code == 0
    assert "rankings of 3 labels for 2 rows" in out
    if ending == ".json":
        found = json.loads((people / "p.json").read_text())
        assert [row["row"] for row in found] == [1, 2]
        assert sum(found[0][f"p_{label}"] for label in DRINKS) == pytest.approx(1)


def test_unknown_categories_and_missing_numbers_of_new_rows_are_those_of_items(people, run):
    model(people)
    (people / "rows.csv").write_text("town,age,shoes\nParis,30,42\nBern,,40\n")
    code, out, err = run("predict", "drinks.preflearn", "rows.csv")
    assert code == 0
    assert len(table(out)) == 2
    assert '"Paris", which did not occur before' in err


def test_cross_validation_is_that_of_python(people, run):
    found = json.loads(run("evaluate", "people.csv", "--model", "label-frequencies", "--folds", "4", "--json")[1])
    scores, _ = hold_out_labels(read_label_preferences("people.csv").data, "label-frequencies", 4)
    assert (found["n_folds"], found["held_out"], found["choice"]) == (4, "row", None)
    assert found["metrics"]["preference_error"] == pytest.approx(scores.preference_error)
    assert found["metrics"]["label_log_loss"] == pytest.approx(scores.label_log_loss)


@pytest.mark.slow
def test_models_are_compared_on_the_same_rows(people, run):
    code, out, err = run("compare", "people.csv", "--folds", "3", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    names = [one["model"] for one in found["models"]]
    assert sorted(names) == ["label-frequencies", "label-gp", "label-gp-linear", "label-svm"]
    assert (names[-2:], found["best"]) == (["label-frequencies", "label-svm"], names[0])
    assert found["models"][2]["p_value"] < 0.01
    text = run("compare", "people.csv", "label-gp-linear", "label-frequencies", "--folds", "3")[1]
    assert text.index("label-gp-linear") < text.index("label-frequencies")
    auto = json.loads(run("evaluate", "people.csv", "--folds", "3", "--json")[1])
    assert len(auto["choice"]["models"]) == 3
    assert auto["metrics"]["preference_error"] < 0.25


CLASS = "size,kind\n" + "".join(f"{k},{'small' if k < 8 else 'large'}\n" for k in range(16))


def test_a_class_is_named_or_known_by_its_name(people, run):
    (people / "sizes.csv").write_text(CLASS)
    assert run("fit", "sizes.csv", "--save", "m")[0] == 2
    assert run("fit", "sizes.csv", "--columns", "class=kind", "--model", "label-gp", "--save", "m")[0] == 0
    found = table(run("predict", "m", "sizes.csv")[1])
    assert [row["label"] for row in found] == ["small"] * 8 + ["large"] * 8
    # and it is found again where the model is judged, by the column of training
    assert "label error" in run("evaluate", "m", "sizes.csv")[1]
    (people / "named.csv").write_text(CLASS.replace("kind", "Class", 1))
    out = run("fit", "named.csv", "--model", "label-frequencies", "--save", "n")[1]
    assert 'column "Class" is the class of each row' in " ".join(out.split())


def test_a_ranking_of_all_rows_says_how_features_could_be_used(people, run):
    (people / "rows.csv").write_text(ROWS)
    code, out, _ = run("rank", "rows.csv", "--no-circles", "--model", "bradley-terry")
    said = " ".join(out.split())
    assert code == 0
    assert 'Not used: "age", "town": they describe the rows' in said
    assert '"preflearn fit" learns orders that depend on them' in said
    assert "12 rankings of 3 items" in said


def test_rankings_without_features_and_models_of_comparisons_are_as_before(people, run):
    (people / "votes.csv").write_text("voter,ranking\n1,a > b > c\n2,b > a > c\n3,a > c > b\n")
    assert "9 comparisons of 3 items" in run("fit", "votes.csv", "--save", "m", "--model", "bradley-terry")[1]
    (people / "rows.csv").write_text(ROWS)
    out = run("fit", "rows.csv", "--save", "n", "--model", "thurstone")[1]
    assert "36 comparisons of 3 items" in out
    out = run("fit", "rows.csv", "--save", "n", "--force", "--model", "bradley-terry", "--columns", "features=none")[1]
    assert "36 comparisons of 3 items" in out


def test_the_command_line_knows_the_models_of_labels():
    assert tuple(label_models.LABEL_MODELS) == options.LABEL_MODELS


def test_ranks_with_a_mistake_are_named_as_ranks(folder, run):
    rows = [f"{x},{1 + x % 2},{2 - x % 2}" for x in range(6)]
    (folder / "ranks.csv").write_text("\n".join(["size,rank_tea,rank_milk", *rows, "7,first,2"]))
    code, _, err = run("fit", "ranks.csv", "--save", "m")
    assert code == 2
    assert "If these are the ranks of labels on each row: --columns labels=rank_tea+rank_milk" in err
    code, _, err = run("fit", "ranks.csv", "--save", "m", "--columns", "labels=rank_tea+rank_milk")
    assert (code, 'line 8: column "rank_tea" holds "first", which is not the rank of "tea"' in err) == (2, True)
    code, _, err = run("fit", "ranks.csv", "--save", "m", "--model", "label-gp")
    assert (code, "--columns labels=rank_tea+rank_milk" in err) == (2, True)


def test_suggestions_for_rows_are_those_of_python(people, run):
    run("fit", "people.csv", "--save", "m.preflearn", "--model", "label-gp")
    code, out, err = run("suggest", "m.preflearn", "--items", "new.csv", "-n", "4")
    assert (code, err) == (0, "")
    found = table(out)
    assert list(found[0]) == ["id", "left", "right", "winner", "information"]
    read = read_label_preferences("people.csv")
    rows = read_label_preferences("new.csv", encoder=read.encoder, need_labels=False).items
    expected = suggest(load("m.preflearn"), rows, 4, random_state=0)
    assert [row["id"] for row in found] == [f"p{k}" for k in expected.item]
    pairs = [{a, b} for a, b in zip(expected.first_name, expected.second_name, strict=True)]
    assert [{row["left"], row["right"]} for row in found] == pairs
    np.testing.assert_allclose([float(row["information"]) for row in found], expected.gain, atol=6e-5)
    code, out, _ = run("suggest", "m.preflearn", "--items", "new.csv", "-n", "3", "--out", "ask.csv")
    assert "3 pairs of labels to compare" in " ".join(out.split())
    assert len(table((people / "ask.csv").read_text())) == 3
    assert run("suggest", "m.preflearn")[2].endswith("--items ROWS.\n")
    for option in (("--judges", "ann"), ("--best", "1"), ("--drop",), ("--model", "gp")):
        code, _, err = run("suggest", "m.preflearn", "--items", "new.csv", *option)
        assert code == 2
        assert f"{option[0]} is for comparisons" in err
    run("fit", "people.csv", "--save", "f.preflearn", "--model", "label-frequencies")
    assert "label-gp" in run("suggest", "f.preflearn", "--items", "new.csv")[2]
