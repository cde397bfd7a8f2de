"""rank, inspect and predict give one answer about one file."""

import csv
import json

import numpy as np
import pytest


def write(folder, kind):
    """Write comparisons whose preferences run in circles beside a utility, or not; return what reads them."""
    rng = np.random.default_rng(3)
    n, m = {"names": (7, 300), "judges": (7, 300), "ranking": (9, 200)}.get(kind, (30, 500))
    X, turn = rng.normal(size=(n, 2)), 2 * np.pi * np.arange(n) / n
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    z = (2.0 if kind == "ranking" else 0.6) * (X[first, 0] - X[second, 0])
    if kind in ("names", "judges"):
        z += 1.5 * np.sin(turn[second] - turn[first])
    elif kind == "features":
        z += 2.0 * (X[first, 0] * X[second, 1] - X[first, 1] * X[second, 0])
    won = z + rng.logistic(size=m) > 0
    judge = rng.integers(0, 4, m)
    rows = [
        f"item {a},item {b},j{j}"
        for a, b, j in zip(*np.where(won, [first, second], [second, first]), judge, strict=True)
    ]
    header = "winner,loser," + ("judge" if kind == "judges" else "note")
    (folder / "games.csv").write_text("\n".join([header, *rows, ""]))
    table = [f"item {i},{x:.4f},{y:.4f}" for i, (x, y) in enumerate(X)]
    (folder / "things.csv").write_text("\n".join(["item,x,y", *table, ""]))
    return ["games.csv", *(["--items", "things.csv"] if kind == "features" else [])]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["names", "judges", "features", "ranking"])
def test_inspect_and_rank_agree_and_cycles_are_as_predicted(run, folder, kind):
    arguments = write(folder, kind)
    code, out, err = run("rank", *arguments, "--json", "--save", "m.preflearn")
    assert code == 0, err
    ranked = json.loads(out)["rankability"]
    code, out, err = run("inspect", *arguments, "--json")
    assert code == 0, err
    inspected = json.loads(out)
    assert ranked["verdict"] in (("rankable",) if kind == "ranking" else ("cyclic", "partly cyclic"))
    for key in ("verdict", "log_odds_of_circles", "p_value", "ranking_share", "cycles", "ordered", "along"):
        assert ranked[key] == inspected[key], key
    for cycle in ranked["cycles"][:2]:
        items = cycle["items"]
        pairs = [f"{a},{b}" for a, b in zip(items, items[1:] + items[:1], strict=True)]
        (folder / "asked.csv").write_text("\n".join(["first,second", *pairs, ""]))
        code, _, err = run("predict", "m.preflearn", "asked.csv", "--out", "p.csv", "--force")
        assert code == 0, err
        with (folder / "p.csv").open(encoding="utf-8-sig") as file:
            p = [float(row["probability"]) for row in csv.DictReader(file)]
        assert cycle["weakest"] == pytest.approx(min(p), abs=1e-6)
