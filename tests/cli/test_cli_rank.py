"""The commands that answer from a table of comparisons: rank, inspect, suggest, compare, evaluate, convert, doctor."""

import csv
import io
import json
import re
import sys

import numpy as np
import pytest

import preflearn
from preflearn.analysis import cross_validated, model_names
from preflearn.cli import options
from preflearn.io import read_preferences
from preflearn.report import section_asking as report_asking
from preflearn.report.context import Shown


@pytest.fixture
def votes(folder):
    """Write tables of one preference: names, features, judges, a circle."""
    rng = np.random.default_rng(0)
    names = [f"T{k}" for k in range(6)]
    u = np.linspace(2.5, -2.5, 6)
    first, second = (np.repeat(side, 6) for side in np.triu_indices(6, 1))
    swap = rng.random(len(first)) < 0.5
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    margin = u[first] - u[second] + rng.logistic(size=len(first))
    rows = [
        f"w{k % 4},{names[a]},{names[b]},{'tie' if abs(m) < 0.2 else 'left' if m > 0 else 'right'}"
        for k, (a, b, m) in enumerate(zip(first, second, margin, strict=True))
    ]
    (folder / "votes.csv").write_text("worker,left,right,label\n" + "\n".join(rows) + "\n")
    (folder / "things.csv").write_text(
        "thing,size,colour\n" + "".join(f"{n},{v:.2f},{'red' if v > 0 else 'blue'}\n" for n, v in zip(names, u))  # noqa: B905
    )
    (folder / "circle.csv").write_text("winner,loser\n" + "rock,scissors\nscissors,paper\npaper,rock\n" * 9)
    return folder


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_ranking_in_one_command(run, votes):
    code, out, err = run("rank", "votes.csv")
    assert (code, err) == (0, "")
    assert 'Outcomes: column "label" says who won' in out
    assert "Bradley-Terry" in out
    assert "A single ranking explains" in out
    lines = [line.split() for line in out.splitlines() if line[:8].strip().isdigit()]
    assert [line[3] for line in lines] == [f"T{k}" for k in range(6)]
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.slow
def test_the_answer_is_that_of_the_library(run, votes):
    found = json.loads(run("rank", "votes.csv", "--json")[1])
    assert found == json.loads(json.dumps(preflearn.rank("votes.csv").summary()))
    assert [row["item"] for row in found["ranking"]] == [f"T{k}" for k in range(6)]


@pytest.mark.slow
def test_standard_input(run, votes, monkeypatch):
    class Stream:
        buffer = io.BytesIO((votes / "votes.csv").read_bytes())

    monkeypatch.setattr(sys, "stdin", Stream)
    code, out, _ = run("rank", "-", "--json", "--no-circles")
    assert code == 0
    assert json.loads(out)["n_comparisons"] == 90


@pytest.mark.slow
def test_files_of_a_ranking(run, votes):
    code, out, err = run(
        "rank", "votes.csv", "--items", "things.csv", "--no-circles", "--out", "r.csv", "--save", "m.preflearn"
    )
    assert (code, err) == (0, "")
    assert "r.csv: the ranking of 6 items" in out
    rows = table((votes / "r.csv").read_text())
    assert [row["item"] for row in rows] == [f"T{k}" for k in range(6)]
    assert float(rows[0]["p_best"]) > 0.5
    model = preflearn.load(votes / "m.preflearn")
    data = read_preferences("votes.csv", "things.csv").data
    answer = table(run("predict", "m.preflearn", "votes.csv", "--items", "things.csv")[1])
    if model.comparisons_.items is None:
        data = data.with_items(data.n_items)
    np.testing.assert_allclose([float(row["probability"]) for row in answer], model.predict_proba(data)[:, 1])


@pytest.mark.slow
def test_what_is_chosen_can_be_overridden(run, votes):
    asked = {
        "thurstone": "thurstone",
        "gp-ard+side": "gp-ard+side",
        "side": "gp-own+side",
        "judges": "gp-own+tastes",
    }
    for name, meant in asked.items():
        out = run("rank", "votes.csv", "--items", "things.csv", "--model", name, "--no-circles", "--json")[1]
        assert json.loads(out)["model"]["name"] == meant


def test_the_command_line_knows_the_models_of_the_library():
    assert tuple(model_names.UTILITIES) == options.UTILITIES
    assert tuple(cross_validated.LEAST_SQUARES) == options.OF_COMPARISONS
    assert tuple(model_names.BESIDE) == options.BESIDE
    assert tuple(model_names.ALIASES) == options.ALIASES


@pytest.fixture
def home(folder):
    """Write games of four teams in which the team at home has a large advantage."""
    rng = np.random.default_rng(1)
    u = np.linspace(0.9, -0.9, 4)
    first = rng.integers(0, 4, 160)
    second = (first + rng.integers(1, 4, 160)) % 4
    won = rng.random(160) < 1 / (1 + np.exp(u[second] - u[first] - 1.5))
    rows = [f"T{a},T{b},{'left' if w else 'right'}" for a, b, w in zip(first, second, won, strict=True)]
    (folder / "home.csv").write_text("left,right,winner\n" + "\n".join(rows) + "\n")
    return folder


def test_the_models_that_were_compared_are_shown_on_request(run, home):
    usual, out = run("rank", "home.csv")[1], run("rank", "home.csv", "--explain")[1]
    assert "log evidence  penalty  penalised  behind  model" in out
    assert "log evidence  penalty" not in usual
    shown = " ".join(out.split())
    table = preflearn.rank("home.csv").ladder.table()
    assert " ".join(table.split()) in shown
    assert "and an advantage of the first side (chosen)" in shown
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.slow
def test_outcomes_are_predicted_on_the_sides_they_were_made_on(run, home):
    found = json.loads(run("compare", "home.csv", "--json")[1])
    loss = {entry["model"]: entry.get("log_loss") for entry in found["models"]}
    assert loss["side"] < loss["bradley-terry"] - 0.03
    assert any("stands for bradley-terry+" in note for note in found["notes"])
    chosen = json.loads(run("evaluate", "home.csv", "--json")[1])
    assert set(chosen["choice"]["models"]) == {"bradley-terry+side"}
    assert chosen["metrics"]["log_loss"] == pytest.approx(loss["side"], abs=0.02)
    assert "an advantage of the first side (bradley-terry+side)" in " ".join(run("evaluate", "home.csv")[1].split())
    for name in ("side", "bradley-terry"):
        assert run("fit", "home.csv", "--model", name, "--save", f"{name}.preflearn")[0] == 0
    judged = [
        json.loads(run("evaluate", f"{name}.preflearn", "home.csv", "--json")[1])["metrics"]
        for name in ("side", "bradley-terry")
    ]
    assert judged[0]["log_loss"] < judged[1]["log_loss"] - 0.03
    assert judged[0]["pairwise_accuracy"] > judged[1]["pairwise_accuracy"]


@pytest.mark.slow
def test_circles_of_unseen_pairs_are_noted(run, votes):
    found = json.loads(run("evaluate", "votes.csv", "--model", "circles", "--json")[1])
    assert any("they say nothing about a pair that was not seen" in note for note in found["notes"])
    assert json.loads(run("evaluate", "votes.csv", "--model", "bradley-terry", "--json")[1])["notes"] == []


@pytest.mark.slow
def test_top_and_level(run, votes):
    out = run("rank", "votes.csv", "--no-circles", "--top", "2", "--level", "0.5")[1]
    assert "50 % interval" in out
    assert "and 4 more items: --all shows all." in out
    assert "T2" not in out.partition("rank")[2].partition("and 4 more")[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "left_out"),
    [
        (40, "90 % interval, P(win), W-L-T"),
        (55, "P(win), W-L-T"),
        (64, "W-L-T"),
        (80, None),  # one blank between columns
        (100, None),
    ],
)
def test_a_narrow_terminal_leaves_out_columns_and_cuts_no_number(width, left_out, run, folder, monkeypatch):
    rows = "".join(
        f"{a},{b},{weight}\n" for a, b, weight in (("ann", "bob", 1234567), ("bob", "cy", 1e12), ("ann", "cy", 3))
    )
    (folder / "heavy.csv").write_text("winner,loser,weight\n" + rows)
    monkeypatch.setenv("COLUMNS", str(width))
    out = run("rank", "heavy.csv", "--no-circles")[1]
    assert "\u2026" not in out
    assert max(map(len, out.splitlines())) <= width
    shown = next(line for line in out.splitlines() if line.split()[:1] == ["1"] and "ann" in line.split())
    assert "%" in shown, "P(best) is never left out"
    assert ("1.2e6-0-0" in shown) == (left_out is None)
    said = re.search(r"Not shown for lack of room: ([^.]*)\.", " ".join(out.split()))
    assert (None if said is None else said[1]) == left_out


@pytest.mark.slow
def test_circles_are_examined_only_if_wanted(run, votes):
    out = run("rank", "circle.csv", "--no-circles")[1]
    assert "Verdict" not in out
    assert "Circles were not looked for (--circles looks for them)." in out
    checks = json.loads(run("rank", "circle.csv", "--no-circles", "--json")[1])["checks"]
    assert checks[0]["text"] == "circles were not looked for (--circles looks for them)"
    out = run("rank", "circle.csv")[1]
    assert "run in circles" in out
    assert "rock > scissors > paper" in out.replace("paper > rock > scissors > paper", "rock > scissors > paper")


@pytest.mark.slow
def test_columns_can_be_named(run, votes):
    (votes / "odd.csv").write_text("a,b,c\nx,y,x\ny,z,y\nx,z,x\n")
    code, out, _ = run("rank", "odd.csv", "--columns", "first=a,second=b,winner=c", "--json")
    assert code == 0
    assert [row["item"] for row in json.loads(out)["ranking"]] == ["x", "y", "z"]


@pytest.mark.slow
def test_threads_and_seed(run, votes, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    one = run("rank", "votes.csv", "--no-circles", "--json", "--seed", "3", "--threads", "1")[1]
    assert one == run("rank", "votes.csv", "--no-circles", "--json", "--seed", "3")[1]


@pytest.mark.slow
def test_inspect_says_what_is_going_on(run, votes):
    code, out, err = run("inspect", "circle.csv")
    assert (code, err) == (0, "")
    assert "These preferences run in circles" in out
    assert "rock > scissors" in out
    assert "average clustering: 1.00" in out
    out = run("inspect", "votes.csv", "--items", "things.csv", "--clusters", "2")[1]
    assert "A single ranking explains" in out
    assert "2 groups of items, each from best to worst" in out
    assert "reliability" in out
    found = json.loads(run("inspect", "circle.csv", "--json")[1])
    assert found["verdict"] == "cyclic"
    assert found["hodge"]["curl"] > 0.99
    assert {entry["item"] for entry in found["smith"]} == {"rock", "scissors", "paper"}


@pytest.mark.slow
def test_inspect_names_the_features_that_outcomes_depend_on(run, folder):
    (folder / "items.csv").write_text(
        "item,size,speed,age\n" + "".join(f"i{k},{k % 3},{k},{k % 5}\n" for k in range(12))
    )
    rows = [f"i{max(a, b)},i{min(a, b)}" for a in range(12) for b in range(12) if (a + 2 * b) % 5 == 1 and a != b]
    (folder / "games.csv").write_text("winner,loser\n" + "\n".join(rows) + "\n")
    asked = ("inspect", "games.csv", "--items", "items.csv", "--features", "1")
    code, out, err = run(*asked)
    assert (code, err) == (0, "")
    assert "1 feature on which outcomes depend most" in " ".join(out.split())
    assert "(BAHSIC): speed." in " ".join(out.split())
    assert json.loads(run(*asked, "--json")[1])["features"] == ["speed"]
    assert json.loads(run(*asked[:4], "--json")[1])["features"] is None
    code, _, err = run("inspect", "games.csv", "--features", "1")
    assert code == 2
    assert "--features needs features of the items. Give them with --items" in err


def test_suggestions_are_a_table_to_fill_in(run, votes):
    code, out, err = run("suggest", "votes.csv", "-n", "4")
    assert (code, err) == (0, "")
    rows = table(out)
    assert [*rows[0]] == ["left", "right", "winner", "information"]
    assert len({frozenset((row["left"], row["right"])) for row in rows}) == 4
    assert all(row["winner"] == "" and float(row["information"]) > 0 for row in rows)
    text = out.replace(",,", ",left,")
    (votes / "filled.csv").write_text(text)
    assert run("rank", "filled.csv", "--no-circles")[0] == 0
    (votes / "empty.csv").write_text(out)
    code, _, err = run("rank", "empty.csv")
    assert code == 2
    assert "empty.csv, line 2" in err


@pytest.mark.slow
def test_suggestions_for_judges_from_a_model(run, votes):
    assert run("fit", "votes.csv", "--model", "bradley-terry", "--save", "m.preflearn")[0] == 0
    code, out, _ = run("suggest", "m.preflearn", "--judges", "ann,bob", "--best", "2", "--out", "next.csv")
    assert code == 0
    assert "write the winner's name" in " ".join(out.split())
    rows = table((votes / "next.csv").read_text())
    assert {row["judge"] for row in rows} == {"ann", "bob"}


@pytest.mark.slow
def test_inspect_suggest_and_the_report_answer_from_the_model_that_ranked(run, votes):
    for source in ("votes.csv", "circle.csv"):
        result = preflearn.rank(source)
        page = Shown(result, 0)
        rows = table(run("suggest", source, "-n", "2")[1])
        listed = report_asking.next_comparisons(page)
        for row in rows:
            figures = [float(text) for text in re.findall(r"\d\.\d{3}", listed)]
            assert min(abs(figure - float(row["information"])) for figure in figures) < 6e-4
            assert row["left"] in listed
        found = json.loads(run("inspect", source, "--json")[1])
        assert found["verdict"] == result.rankability.verdict
        if source == "votes.csv":
            said = {one["judge"]: one["reliability"] for one in found["judges"]}
            assert said == dict(zip(result.judges.judge, result.judges.reliability, strict=True))
        else:
            groups = result.rankability.clusters().labels_
            assert len(found["clusters"]) == len(set(groups))
    code, _, err = run("suggest", "circle.csv", "--best", "1")
    assert code == 2
    assert "circle.csv" in err
    assert "--best" in err


@pytest.mark.slow
def test_predictions_by_judge_say_whose_they_are(run, votes):
    assert run("fit", "votes.csv", "--model", "judges", "--save", "m.preflearn")[0] == 0
    (votes / "asked.csv").write_text("worker,left,right\nw0,T0,T1\nw3,T0,T1\n")
    rows = table(run("predict", "m.preflearn", "asked.csv")[1])
    assert [row["judge"] for row in rows] == ["w0", "w3"]
    assert rows[0]["probability"] != rows[1]["probability"]
    (votes / "pairs.csv").write_text("left,right\nT0,T1\n")
    assert "judge" not in table(run("predict", "m.preflearn", "pairs.csv")[1])[0]
    assert run("fit", "votes.csv", "--model", "reliability", "--save", "r.preflearn")[0] == 0
    assert [row["judge"] for row in table(run("predict", "r.preflearn", "asked.csv")[1])] == ["w0", "w3"]


@pytest.mark.slow
def test_models_side_by_side(run, votes):
    code, out, err = run("compare", "votes.csv", "--items", "things.csv", "--folds", "3", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    names = [entry["model"] for entry in found["models"]]
    assert found["best"] == names[0]
    assert set(names) == {
        *("bradley-terry", "gp-own", "gp-ard-own", "rankrls", "kpcrank"),
        *("side", "reliability", "tastes", "circles"),
    }
    losses = [entry["log_loss"] for entry in found["models"] if "log_loss" in entry]
    assert losses == sorted(losses)
    text = run("compare", "votes.csv", "bradley-terry", "thurstone", "--folds", "3")[1]
    assert "behind the best" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.slow
def test_cross_validation_holds_out_what_is_asked(run, votes):
    for by in ("pair", "item", "judge"):
        out = run(
            "evaluate", "votes.csv", "--items", "things.csv", "--model", "gp-own", "--by", by, "--folds", "3", "--json"
        )[1]
        found = json.loads(out)
        assert found["held_out"] == by
        assert found["metrics"]["accuracy"] > 0.7
        assert found["metrics"]["kendall_tau"] == pytest.approx(2 * found["metrics"]["accuracy"] - 1)
    text = run("evaluate", "votes.csv", "--folds", "3")[1]
    assert "log loss" in text
    assert "calibration error" in text


@pytest.mark.slow
def test_least_squares_are_compared_and_judged_without_probabilities(run, votes):
    data = ["votes.csv", "--items", "things.csv", "--folds", "3"]
    compared = json.loads(run("compare", *data, "kpcrank", "rankrls", "bradley-terry", "--json")[1])
    assert compared["best"] == "bradley-terry"
    accuracy = {entry["model"]: entry["accuracy"] for entry in compared["models"]}
    assert accuracy["kpcrank"] > 0.7
    for name in ("kpcrank", "rankrls"):
        found = json.loads(run("evaluate", *data, "--model", name, "--json")[1])
        assert set(found["metrics"]) == {"accuracy", "kendall_tau"}
        assert found["metrics"]["accuracy"] == accuracy[name]
    text = " ".join(run("evaluate", *data, "--model", "kpcrank")[1].split())
    assert "least squares on differences along kernel principal components" in text
    assert "kpcrank predicts differences, and no probabilities" in text


@pytest.mark.slow
def test_a_saved_model_is_judged_by_its_probabilities(run, votes):
    assert run("fit", "votes.csv", "--save", "m.preflearn")[0] == 0
    found = json.loads(run("evaluate", "m.preflearn", "votes.csv", "--json")[1])
    assert {"pairwise_accuracy", "log_loss", "calibration_error", "kendall_tau"} <= set(found["metrics"])


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("layout", ["left-right-winner", "first-second-outcome"])
def test_tables_survive_conversion(run, votes, ending, layout):
    code, out, err = run("convert", "votes.csv", f"new.{ending}", "--layout", layout)
    assert (code, err) == (0, "")
    assert "90 comparisons" in out
    before, after = (read_preferences(name).data for name in ("votes.csv", f"new.{ending}"))
    np.testing.assert_array_equal(before.names[before.first], after.names[after.first])
    np.testing.assert_array_equal(before.outcome, after.outcome)
    np.testing.assert_array_equal(before.judge, after.judge)


@pytest.mark.slow
def test_rankings_survive_conversion(run, votes):
    (votes / "orders.csv").write_text("ranking\na > b > c\nc > a = b\na > b > c\nb > a > c\n")
    wanted = json.loads(run("rank", "orders.csv", "--no-circles", "--json")[1])["ranking"]
    for ending in ("toc", "toi"):
        assert run("convert", "orders.csv", f"o.{ending}")[0] == 0
        assert "2: 1,2,3\n" in (votes / f"o.{ending}").read_text()
        assert json.loads(run("rank", f"o.{ending}", "--no-circles", "--json")[1])["ranking"] == wanted
    code, _, err = run("convert", "orders.csv", "o.soc")
    assert code == 2
    assert "Use the ending .toc" in err


def test_rows_become_pairs_and_pairs_become_rows(run, votes):
    assert run("convert", "train.txt", "pairs-of-rows.csv")[0] == 0
    assert run("convert", "votes.csv", "rows.svmlight", "--items", "things.csv")[0] == 0
    data = read_preferences("rows.svmlight").data
    assert data.n_groups == 90
    assert len(data) == 180
    assert run("convert", "train.txt", "again.svmlight")[0] == 0
    before, after = (read_preferences(name).data for name in ("train.txt", "again.svmlight"))
    np.testing.assert_array_equal(before.items, after.items)
    np.testing.assert_array_equal(before.score, after.score)


@pytest.mark.slow
def test_cells_that_a_spreadsheet_would_run_are_text(run, votes):
    (votes / "bad.csv").write_text('winner,loser\n"=HYPERLINK(1)",@b\n@b,+c\n"=HYPERLINK(1)",+c\n')
    for command in (
        ["rank", "bad.csv", "--no-circles", "--out", "o.csv"],
        ["suggest", "bad.csv", "-n", "2", "--out", "o.csv"],
    ):
        assert run(*command, "--force")[0] == 0
        for row in csv.reader((votes / "o.csv").read_text().splitlines()):
            assert not any(cell[:1] in "=+@" and cell[:1] for cell in row)
    # and what was written can be read back
    assert run("convert", "bad.csv", "o.csv", "--force")[0] == 0
    assert set(read_preferences("o.csv").data.names) == {"=HYPERLINK(1)", "@b", "+c"}


def test_the_doctor_finds_this_installation_well(run):
    code, out, err = run("doctor")
    assert (code, err) == (0, "")
    assert "All is well" in out
    found = json.loads(run("doctor", "--json")[1])
    assert found["well"]
    assert set(found["self_test"].values()) == {"passed"}


def test_the_doctor_says_what_is_wrong(run, monkeypatch):
    monkeypatch.setattr("preflearn.cli.doctor._learns", lambda: "it does not")
    code, out, _ = run("doctor")
    assert code == 1
    assert "it does not" in out
    assert "Something is wrong" in out


@pytest.mark.slow
def test_new_items_are_measured_from_the_items_of_training(run, votes):
    assert run("fit", "votes.csv", "--items", "things.csv", "--model", "gp", "--save", "m.preflearn")[0] == 0
    whole = {row["item"]: float(row["utility"]) for row in table(run("predict", "m.preflearn")[1])}
    assert sum(whole.values()) == pytest.approx(0, abs=1e-9)
    (votes / "one.csv").write_text("thing,size,colour\nnew,2.50,red\n")
    new = table(run("predict", "m.preflearn", "one.csv")[1])[0]
    assert float(new["utility"]) == pytest.approx(whole["T0"], abs=1e-6)  # the same features as T0
    assert float(new["std"]) > 0
    (votes / "pair.csv").write_text("first,second\nT5,new\n")
    code, out, _ = run("predict", "m.preflearn", "pair.csv", "--items", "one.csv")
    assert code == 0
    assert float(table(out)[0]["probability"]) < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("features", [[], ["--items", "things.csv"]])
def test_items_of_a_model_with_circles_are_measured_as_in_its_table(features, run, votes, monkeypatch):
    made = ("--model", "both", "--no-circles", "--save", "m.preflearn", "--out", "r.csv")
    assert run("rank", "votes.csv", *features, *made)[0] == 0
    wanted = {row["item"]: (float(row["utility"]), float(row["std"])) for row in table((votes / "r.csv").read_text())}
    (votes / "some.csv").write_text("thing,size,colour\nT4,-1.50,blue\nT1,1.50,red\n" if features else "item\nT4\nT1\n")
    for asked, places in (([], 6), (["some.csv"], 2)):
        rows = table(run("predict", "m.preflearn", *asked)[1])
        assert [row["rank"] for row in rows] == [str(place) for place in range(1, places + 1)]
        assert rows[0]["item"] == ("T1" if asked else "T0")
        for row in rows:
            assert (float(row["utility"]), float(row["std"])) == pytest.approx(wanted[row["item"]], abs=1e-6)
    monkeypatch.setattr("preflearn.cli.model_answers.MOST_RANKED", 5)
    code, _, err = run("predict", "m.preflearn", "some.csv")
    assert code == 2
    assert "6 are too many (at most 5). Give fewer, or pairs." in err


@pytest.mark.slow
def test_names_do_not_steer_the_terminal(run, folder):
    (folder / "odd.csv").write_text("winner,loser\nann,bob\nbob,cy\x1b[31m\ncy\x1b[31m,d\u202ex\n")
    for command in (
        ("rank", "odd.csv", "--no-circles"),
        ("inspect", "odd.csv"),
        ("suggest", "odd.csv", "--columns", "winner=cy\x1b"),
    ):
        code, out, err = run(*command)
        assert "\x1b" not in out + err
        assert "\u202e" not in out + err
        if command[0] == "rank":
            assert code == 0
            assert "cy\\x1b[31m" in out
            assert "d\\u202ex" in out


@pytest.mark.slow
def test_circles_without_a_utility_are_a_model_of_the_commands(run, folder):
    rows = "rock,scissors\nscissors,paper\npaper,rock\n" * 4
    (folder / "hands.csv").write_text("winner,loser\n" + rows)
    code, out, _ = run("rank", "hands.csv", "--model", "gpgp", "--no-circles", "--save", "hands.preflearn")
    assert code == 0
    assert "No single ranking follows from it" in " ".join(out.split())
    (folder / "two.csv").write_text("first,second\nrock,scissors\nrock,paper\n")
    wins, loses = (
        float(line.split(",")[2]) for line in run("predict", "hands.preflearn", "two.csv")[1].splitlines()[1:]
    )
    assert wins > 0.7 > 0.3 > loses
    found = json.loads(run("compare", "hands.csv", "gpgp", "bradley-terry", "--folds", "2", "--json")[1])
    assert {one["model"] for one in found["models"]} == {"gpgp", "bradley-terry"}
