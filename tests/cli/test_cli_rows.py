"""Features that stand on the rows of comparisons, parts that never met, and what is said about both."""

import csv
import json

import numpy as np
import pytest


@pytest.fixture
def rows(folder):
    """Write comparisons of items that are known by their features alone; a few prices are missing."""
    rng = np.random.default_rng(0)
    lines = ["price_left,price_right,colour_left,colour_right,winner"]
    for number in range(60):
        one, other = rng.uniform(1, 9, 2).round(2)
        colours = rng.choice(["red", "blue"], 2)
        word = "left" if other - one + 0.5 * rng.logistic() > 0 else "right"
        shown = "" if number % 20 == 7 else f"{one:.2f}"
        lines.append(f"{shown},{other:.2f},{colours[0]},{colours[1]},{word}")
    (folder / "rows.csv").write_text("\n".join([*lines, ""]))
    return folder


def read(path):
    with path.open(encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_a_model_of_features_on_rows_can_be_used(run, rows):
    code, out, err = run("rank", "rows.csv", "--save", "m.preflearn", "--circles")
    assert code == 0, err
    assert "price (3)" in out  # three items with nothing in common but what is missing
    code, _, err = run("predict", "m.preflearn", "rows.csv", "--out", "same.csv")
    assert code == 0, err
    same = read(rows / "same.csv")
    assert len(same) == 60
    (rows / "new.csv").write_text("price_left,price_right,colour_left,colour_right\n1,9,red,red\n9,1,blue,red\n")
    code, _, err = run("predict", "m.preflearn", "new.csv", "--out", "p.csv")
    assert code == 0, err
    cheap, dear = (float(row["probability"]) for row in read(rows / "p.csv"))
    assert cheap > 0.8
    assert dear < 0.2
    code, out, err = run("evaluate", "m.preflearn", "rows.csv", "--json")
    assert code == 0, err
    assert json.loads(out)["metrics"]["pairwise_accuracy"] > 0.7
    (rows / "things.csv").write_text("item,price,colour\nA,2,red\nB,8,red\n")
    code, out, err = run("predict", "m.preflearn", "things.csv")
    assert code == 0, err
    assert [line.split(",")[0] for line in out.splitlines()] == ["item", "A", "B"]
    (rows / "pair.csv").write_text("first,second\nA,B\n")
    code, out, err = run("predict", "m.preflearn", "pair.csv", "--items", "things.csv")
    assert code == 0, err
    assert out.splitlines()[1].startswith("A,B,0.")


def test_converting_says_that_features_are_left_out(run, rows):
    code, out, _ = run("convert", "rows.csv", "plain.csv")
    assert code == 0
    assert "Features of the items were left out" in out
    code, out, _ = run("convert", "matches.csv", "plain.tsv")
    assert code == 0
    assert "Features" not in out


@pytest.mark.slow
def test_parts_that_never_met_are_ranked_apart(run, folder):
    lines = ["winner,loser"]
    for part in "xy":
        for one in range(5):
            lines += [f"{part}{one},{part}{other}" for other in range(one + 1, 5)] * 4
    lines += ["x1,x0", "y1,y0"]
    (folder / "parts.csv").write_text("\n".join([*lines, ""]))
    code, out, _ = run("inspect", "parts.csv")
    assert code == 0
    assert "within each of 2 parts that never met" in out
    assert "2 groups of items that never met, each from best to worst:" in out
    assert "x0, x1, x2, x3, x4" in out
    code, out, _ = run("inspect", "parts.csv", "--json")
    assert json.loads(out)["clusters"] == [[f"{part}{k}" for k in range(5)] for part in "xy"]
    code, _, _ = run("rank", "parts.csv", "--report", "r.html")
    page = (folder / "r.html").read_text()
    assert "Items of different groups never met" in page
    assert "All items stand in one ranking" not in page


@pytest.mark.slow
def test_one_side_that_always_wins_is_spoken_of(run, folder):
    rng = np.random.default_rng(0)
    pairs = [rng.choice(6, 2, replace=False) for _ in range(40)]
    for wins, said in ((40, '"left" won every time'), (39, None)):
        words = ["left"] * wins + ["right"] * (40 - wins)
        lines = [f"i{a},i{b},{word}" for (a, b), word in zip(pairs, words, strict=True)]
        (folder / "sides.csv").write_text("\n".join(["left,right,winner", *lines, ""]))
        _, out, _ = run("rank", "sides.csv")
        assert ("Careful:" in out) == (said is not None)
        assert said is None or said in out


@pytest.mark.slow
def test_circles_without_features_are_not_predicted_for_new_pairs_and_evaluate_says_so(run, folder):
    lines = ["winner,loser", *["rock,scissors", "scissors,paper", "paper,rock", "rock,lizard", "lizard,paper"] * 9]
    (folder / "circle.csv").write_text("\n".join([*lines, "scissors,lizard", ""]))
    code, out, _ = run("evaluate", "circle.csv", "--model", "both")
    assert code == 0
    assert "they say nothing about a pair that was not seen" in " ".join(out.split())
    code, out, _ = run("evaluate", "circle.csv", "--model", "bradley-terry")
    assert "say nothing" not in out
