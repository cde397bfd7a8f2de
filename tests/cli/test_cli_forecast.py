"""``preflearn forecast`` answers as the library does, from a table of results or a model file."""

import csv
import json

import numpy as np
import pytest

import preflearn
from preflearn.io import read_preferences

TEAMS = ("Ayr", "Bath", "Cork", "Deal")


@pytest.fixture
def league(folder):
    rng = np.random.default_rng(0)
    games = [(a, b) for a in range(4) for b in range(4) if a != b] * 8
    goals = [(rng.poisson(1.6 + 0.3 * (b - a)), rng.poisson(1.0)) for a, b in games]
    lines = [f"{TEAMS[a]},{TEAMS[b]},{x},{y}" for (a, b), (x, y) in zip(games, goals, strict=True)]
    head = "home,away,score_home,score_away"
    (folder / "results.csv").write_text("\n".join([head, *lines]) + "\n")
    (folder / "season.csv").write_text("\n".join([head, "Deal,Ayr,2,0", "Bath,Cork,1,1"]) + "\n")
    (folder / "fixtures.csv").write_text("home,away\nAyr,Bath\nCork,Deal\nBath,Ayr\n")
    return folder


def test_fixtures_and_final_table_are_those_of_the_library(run, league):
    saved = ("--out", "f.csv", "--places", "p.json", "--top", "2", "--points", "2,1,0")
    code, out, err = run("forecast", "results.csv", "fixtures.csv", "--played", "season.csv", *saved)
    assert (code, err) == (0, "")
    found = preflearn.forecast(
        preflearn.rank("results.csv"),
        [("Ayr", "Bath"), ("Cork", "Deal"), ("Bath", "Ayr")],
        read_preferences("season.csv").data,
        points=(2, 1, 0),
        k=2,
    )
    rows = list(csv.DictReader((league / "f.csv").read_text().splitlines()))
    assert [(row["first"], row["second"]) for row in rows] == [("Ayr", "Bath"), ("Cork", "Deal"), ("Bath", "Ayr")]
    np.testing.assert_allclose([float(row["p_tie"]) for row in rows], found.p_tie, rtol=1e-9)
    places = json.loads((league / "p.json").read_text())
    assert {row["item"]: row["points"] for row in places} == {"Ayr": 0, "Bath": 1, "Cork": 1, "Deal": 2}
    assert [row["p_champion"] for row in places] == pytest.approx(found.p_champion.tolist())
    for said in ("P(first wins)", "P(tie)", "points now", "P(first place)", "P(top 2)", "f.csv: 3 fixtures"):
        assert said in out
    assert "random order" not in out


def test_a_model_file_forecasts_too(run, league):
    columns = ("--columns", "first=home,second=away,score_first=score_home,score_second=score_away")
    assert run("fit", "results.csv", *columns, "--model", "bradley-terry+side", "--save", "m.preflearn")[0] == 0
    code, out, err = run("forecast", "m.preflearn", "fixtures.csv", "--out", "-")
    assert (code, err) == (0, "")
    assert out.startswith("first,second,p_first,p_tie,p_second\nAyr,Bath,0.")
    again = run("forecast", "results.csv", "fixtures.csv", *columns, "--model", "bradley-terry+side", "--out", "-")
    assert again == (0, out, "")
    assert len(run("forecast", "m.preflearn", "results.csv")[1].splitlines()) == 1 + 21 + 2 + 1 + 5 + 1
