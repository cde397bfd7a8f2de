"""What convert writes is read as the same comparisons, whatever the items are called, or it is not written."""

import json
import random

import pytest

from preflearn.data.comparisons import LABELS
from preflearn.io import read_preferences

NASTY = (
    *("left", "right", "tie", "draw", "first", "second", "winner", "loser", "Left", "equal", "a", "b", "l", "r", "w"),
    *("1", "2", "-1", "0", "0.5", "1-0", "A>B", "=", "=x", "'=x", "@y", "NA", "nan", "x,y", "x\ty", 'q"q', "#z", "a;b"),
    *("x|y", "x\ny", "x\ry", "both", "won", "outcome", "ann", "bob", "é", "'", "sep=,", "1,5", "{", "weight", "a > b"),
)
LAYOUTS = ("winner-loser", "first-second-outcome", "left-right-winner")


def draw(seed):
    """Return comparisons of a few items with nasty names."""
    rng = random.Random(seed)
    names = rng.sample(NASTY, rng.randint(2, 5))
    outcomes = rng.choice([(1, -1), (1, -1, 0), (1, 0), (1,), (2, -3), (0.5, 1, 0), (2, 3)])
    return [(*rng.sample(names, 2), rng.choice(outcomes)) for _ in range(rng.randint(1, 6))]


def said(rows, layout):
    """Return what a layout keeps of comparisons."""
    if layout == "first-second-outcome":
        return rows
    signs = [(a, b, (v > 0) - (v < 0)) for a, b, v in rows]
    return signs if layout == "left-right-winner" else [(b, a, 1) if v < 0 else (a, b, v) for a, b, v in signs]


def convert(rows, layout, ending, run, folder):
    """Return the comparisons after they were written and read again; None if they were refused."""
    source, out = folder / "in.jsonl", folder / f"out{ending}"
    records = [{"home": a, "away": b, "home_score": v, "away_score": 0} for a, b, v in rows]
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    out.unlink(missing_ok=True)
    code, _, err = run("convert", source, out, "--layout", layout)
    if code:
        assert code == 2, err
        assert not out.exists()
        return None
    text = "first=positive" if layout == "first-second-outcome" and min(v for *_, v in rows) > 0 else None
    data = read_preferences(out, margins=True, outcomes=text).data
    names = [str(name) for name in data.names]
    return [(names[i], names[j], v) for i, j, v in zip(data.first, data.second, data.outcome, strict=True)]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nasty_names_come_back_or_are_refused(layout, ending, run, folder):
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    kept = 0
    for seed in range(4):
        rows = draw(seed)
        found = convert(rows, layout, ending, run, folder)
        if found is not None:
            kept += 1
            assert found == said(rows, layout), seed
    assert kept >= 3


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
@pytest.mark.parametrize(
    "rows",
    [
        [("ann", "left", 1), ("left", "right", -1), ("right", "ann", 1)],
        [("tie", "ann", 0), ("ann", "tie", 1)],
        [("left", "tie", 0), ("draw", "right", 0), ("right", "left", 1)],
        [("first", "second", -1), ("draw", "first", 0)],
    ],
)
def test_items_called_like_a_side_or_a_tie_are_kept(rows, ending, run, folder):
    assert convert(rows, "left-right-winner", ending, run, folder) == rows


def test_ties_beside_wins_of_one_side_are_not_written_as_shares(run, folder):
    rows = [("ann", "bob", 1), ("bob", "cy", 0)]
    assert convert(rows, "first-second-outcome", ".csv", run, folder) is None
    code, _, err = run("convert", "in.jsonl", "out.csv", "--layout", "first-second-outcome")
    assert (code, "Use --layout left-right-winner." in err) == (2, True)


def test_a_row_that_would_repeat_the_header_is_not_written(run, folder):
    rows = [("winner", "loser", 1)]
    assert convert(rows, "winner-loser", ".csv", run, folder) is None
    assert convert(rows, "winner-loser", ".jsonl", run, folder) == rows


def test_weights_and_judges_that_would_not_be_read_are_not_written(run, folder):
    lines = ["winner,loser,weight,judge", "ann,bob,1.0,x", "bob,cy,2.0,'=y", "ann,cy,3.0,x"]
    (folder / "in.csv").write_text("".join(f"{line}\n" for line in lines))
    assert run("convert", "in.csv", "out.csv")[0] == 0
    data = read_preferences("out.csv").data
    assert (data.weight.tolist(), data.judge.tolist()) == ([1.0, 2.0, 3.0], ["x", "=y", "x"])
    code, _, err = run("convert", "in.csv", "out.jsonl")  # weights that count the rows are none
    assert (code, 'column "weight" would be read as another' in err) == (2, True), err


@pytest.mark.parametrize("ending", [".soc", ".toi"])
@pytest.mark.parametrize("name", [*NASTY, "x  y", "a: b", "{1,2}"])
def test_names_of_rankings_come_back_or_are_refused(name, ending, run, folder):
    record = {"ranking": [name, "other", "third"], "weight": 12345678}
    (folder / "in.jsonl").write_text(json.dumps(record) + "\n")
    out = folder / f"out{ending}"
    if run("convert", "in.jsonl", out)[0]:
        assert not out.exists()
        return
    source, data = read_preferences(folder / "in.jsonl").data, read_preferences(out).data
    for kept in (source, data):
        assert set(kept.weight) == {12345678.0}
    assert {(data.names[i], data.names[j]) for i, j in zip(data.first, data.second, strict=True)} == {
        (source.names[i], source.names[j]) for i, j in zip(source.first, source.second, strict=True)
    }


def test_blanks_in_a_name_are_not_lost_in_rankings(run, folder):
    (folder / "in.jsonl").write_text(json.dumps({"ranking": ["x  y", "z"]}) + "\n")
    code, _, err = run("convert", "in.jsonl", "out.soc")
    assert (code, "PrefLib files do not keep names" in err) == (2, True), err


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_labels_are_kept(label, ending, run, folder):
    (folder / "in.csv").write_text(f"{label},winner,loser,weight\nx,a,b,2\nx,b,c,1\ny,c,a,3\n")
    out = folder / f"out{ending}"
    assert run("convert", "in.csv", out)[0] == 0
    data = read_preferences(out).data
    assert getattr(data, label).tolist() == ["x", "x", "y"]
    assert data.weight.tolist() == [2, 1, 3]


def test_sides_and_clusters_are_kept_and_covariates_are_said_to_be_left_out(run, folder):
    rows = ["model_a,model_b,winner,cluster,longer", "x,y,model_b,p1,3", "y,z,model_a,p1,1", "x,z,model_b,p2,2"]
    (folder / "in.csv").write_text("".join(f"{row}\n" for row in rows))
    code, out, err = run("convert", "in.csv", "out.csv", "--columns", "covariates=longer")
    assert (code, err) == (0, "")
    assert "3 comparisons as left,right,winner,cluster" in out
    assert "Covariates were left out" in out
    before, after = (read_preferences(name).data for name in ("in.csv", "out.csv"))
    assert (after.outcome.tolist(), after.cluster.tolist()) == (before.outcome.tolist(), ["p1", "p1", "p2"])
