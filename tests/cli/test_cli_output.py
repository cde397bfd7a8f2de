"""What rank, predict and suggest write: every format, ratings, categories, and what is printed where writing fails."""

import csv
import io
import itertools
import json
import os
import re
import sys

import pytest

import preflearn
from fast_share import slow_except

RANK = ("rank", "matches.csv", "--no-circles", "--model", "bradley-terry")


def table(text, delimiter=","):
    return list(csv.DictReader(io.StringIO(text), delimiter=delimiter))


@pytest.fixture
def years(folder):
    """Write games of two years: ann is best in the first and last in the second, where there are fewer games."""
    first = ["ann,bob", "bob,cy", "ann,cy"] * 6
    second = ["cy,bob", "bob,ann", "cy,ann"] * 4
    rows = [f"2001,{row}" for row in first] + [f"2002,{row}" for row in second]
    (folder / "years.csv").write_text("\n".join(["year,winner,loser", *rows, ""]))
    return folder


def test_all_rows_on_request(run, folder):
    names = [f"N{k:02d}" for k in range(40)]
    rows = [f"{one},{other}" for one, other in itertools.pairwise(names)]
    (folder / "long.csv").write_text("\n".join(["winner,loser", *rows, ""]))
    command = ("rank", "long.csv", "--no-circles", "--model", "bradley-terry")
    usual, whole = run(*command)[1], run(*command, "--all")[1]
    assert "and 10 more items: --all shows all." in usual
    assert "more item" not in whole
    assert [len(re.findall(r"\bN\d\d {2,}", text)) for text in (usual, whole)] == [30, 40]


@pytest.mark.parametrize("ending", slow_except(["csv", "tsv", "md", "tex", "json", "jsonl", "parquet", "xlsx"], "md"))
def test_a_ranking_in_the_format_of_the_ending(ending, run, folder):
    code, out, err = run(*RANK, "--out", f"r.{ending}")
    assert (code, err) == (0, "")
    assert f"Saved   r.{ending}: the ranking of 12 items" in out
    content = (folder / f"r.{ending}").read_bytes()
    result = preflearn.rank("matches.csv", model="bradley-terry", circles=False)
    result.write(folder / f"again.{ending}")
    if ending != "xlsx":  # which has the time of day
        assert content == (folder / f"again.{ending}").read_bytes()
    if ending in ("csv", "tsv"):
        rows = table(content.decode(), "\t" if ending == "tsv" else ",")
        assert [row["item"] for row in rows] == result.to_dict()["item"]
        assert rows[0]["wins"].isdigit()
    if ending == "md":
        assert content.decode().splitlines()[0].startswith("| rank | tier | item | utility | 90 % interval |")


def test_elo_ratings_in_table_file_and_json(run, folder):
    scale = ("--scale", "elo", "--anchor", "C05=1000")
    code, out, err = run(*RANK, *scale, "--out", "r.csv")
    assert (code, err) == (0, "")
    assert re.search(r"C05 +1000 ", out)
    assert "Elo" in out
    assert re.search(r"400 points are odds of 10 to 1. The average item has \d+\.", out)
    wanted = preflearn.rank("matches.csv", model="bradley-terry", circles=False).table("elo", {"C05": 1000})
    rows = table((folder / "r.csv").read_text())
    for name in ("elo", "low", "high"):
        assert [float(row[name]) for row in rows] == pytest.approx(wanted[name])
    found = json.loads(run(*RANK, *scale, "--json")[1])
    assert [row["elo"] for row in found["ranking"]] == pytest.approx(wanted["elo"])
    assert found["scale"]["name"] == "elo"


def test_names_with_signs_can_be_anchors(run, folder):
    (folder / "odd.csv").write_text("winner,loser\na=b,c\na=b,c\nc,a=b\n")
    found = json.loads(run("rank", "odd.csv", "--no-circles", "--anchor", "a=b=7", "--json")[1])
    assert {row["item"]: row["utility"] for row in found["ranking"]}["a=b"] == 7


def test_a_ranking_for_each_category(run, years):
    code, out, err = run("rank", "years.csv", "--by", "year", "--no-circles", "--out", "r.csv")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["place", "item", "2001", "2002"] in lines
    assert next(line for line in lines if "ann" in line)[2:] == ["1", "3"]
    assert "2002: 12 comparisons of 3 items" in out
    assert "r.csv: the ranking of all and those of 2 categories" in out
    rows = table((years / "r.csv").read_text())
    best = {row["year"]: row["item"] for row in rows if row["rank"] == "1"}
    assert (best["2001"], best["2002"], set(best)) == ("ann", "cy", {"", "2001", "2002"})
    found = json.loads(run("rank", "years.csv", "--by", "year", "--no-circles", "--json", "--scale", "elo")[1])
    assert [(one["value"], one["ranking"][0]["item"]) for one in found["categories"]] == [
        ("2001", "ann"),
        ("2002", "cy"),
    ]
    assert "elo" in found["overall"]["ranking"][0]
    assert run("rank", "years.csv", "--by", "year", "--no-circles", "--out", "r.md")[0] == 0
    assert (years / "r.md").read_text().startswith("| place | item | 2001 | 2002 |\n")


@pytest.mark.slow
def test_an_anchor_that_a_category_lacks_is_named_with_it(run, years):
    with (years / "years.csv").open("a") as file:
        file.write("2001,ann,dora\n")
    command = ("rank", "years.csv", "--by", "year", "--no-circles", "--out", "r.csv", "--anchor", "dora=0")
    code, _, err = run(*command)
    assert code == 2
    assert 'year "2002": the anchor "dora" is not among the 3 ranked items' in err


@pytest.mark.parametrize("name", slow_except(["-", "/dev/stdout"], "-"))
def test_a_table_on_standard_output_is_nothing_but_the_table(name, run, folder):
    assert run(*RANK, "--out", "r.csv")[0] == 0
    code, out, err = run(*RANK, "--out", name)
    assert (code, err, out) == (0, "", (folder / "r.csv").read_text())
    marked = run("predict", "bt.preflearn", "--out", name, "--bom")[1]
    assert marked == "\ufeff" + run("predict", "bt.preflearn")[1]


@pytest.mark.slow
def test_a_byte_order_mark_for_spreadsheets(run, folder):
    for command in (RANK, ("predict", "bt.preflearn"), ("suggest", "bt.preflearn", "-n", "1")):
        assert run(*command, "--out", "r.csv", "--bom", "--force")[0] == 0
        assert (folder / "r.csv").read_bytes().startswith(b"\xef\xbb\xbf")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["md", "json"])
def test_predictions_and_suggestions_in_other_formats(ending, run, folder):
    assert run("predict", "bt.preflearn", "pairs.csv", "--out", f"p.{ending}")[0] == 0
    assert run("suggest", "bt.preflearn", "-n", "3", "--out", f"s.{ending}")[0] == 0
    if ending == "json":
        assert [row["first"] for row in json.loads((folder / "p.json").read_text())] == ["C01", "C09"]
        assert [row["winner"] for row in json.loads((folder / "s.json").read_text())] == [""] * 3
    else:
        assert len((folder / "s.md").read_text().splitlines()) == 5


def test_names_are_written_out_on_a_terminal_and_kept_in_a_pipe(run, folder, monkeypatch):
    (folder / "odd.csv").write_text("winner,loser\nann,cy\x1b[31m\ncy\x1b[31m,bob\n")
    assert run("fit", "odd.csv", "--model", "bradley-terry", "--save", "m")[0] == 0
    commands = (("predict", "m"), ("suggest", "m", "-n", "2"), ("predict", "m", "odd.csv"))
    for command in commands:
        assert "cy\x1b[31m" in run(*command)[1]
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True, raising=False)
    for command in commands:
        out = run(*command)[1]
        assert "cy\\x1b[31m" in out
        assert "\x1b" not in out


@pytest.mark.parametrize("option", slow_except(["--out", "--save", "--report"], "--out"))
def test_a_ranking_is_printed_though_saving_fails(option, run, folder, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    name = {"--out": "r.csv", "--save": "m", "--report": "r.html"}[option]
    before = sorted(folder.iterdir())
    code, out, err = run(*RANK, option, name)
    assert code == 2
    assert "C11" in out
    assert "Saved" not in out
    assert err == f"preflearn: {name}: No space left on device. Check the path, the permissions and the free space.\n"
    assert sorted(folder.iterdir()) == before
    code, out, _ = run(*RANK, option, name, "--json")
    assert (code, len(json.loads(out)["ranking"])) == (2, 12)


@pytest.mark.slow
def test_one_file_that_fails_does_not_stop_the_others(run, folder, monkeypatch):
    def fail(*_, **__):
        raise OSError(13, "Permission denied", "r.html")

    monkeypatch.setattr("preflearn.report.write_report", fail)
    code, out, err = run(*RANK, "--report", "r.html", "--out", "r.csv")
    assert (code, "r.html: Permission denied" in err, "Saved   r.csv" in out) == (2, True, True)


COMMANDS = {
    "rank": (*RANK, "--out", "new.csv"),
    "a model": (*RANK, "--save", "new.csv"),
    "fit": ("fit", "matches.csv", "--model", "rankrls", "--save", "new.csv"),
    "predict": ("predict", "bt.preflearn", "--out", "new.csv"),
    "convert": ("convert", "matches.csv", "new.csv"),
}


@pytest.mark.parametrize("name", slow_except(COMMANDS, "rank", "fit"))
def test_a_file_that_appears_during_the_work_is_not_replaced(name, run, folder, monkeypatch):
    real = os.fsync

    def meanwhile(number):
        real(number)
        (folder / "new.csv").write_text("theirs")

    monkeypatch.setattr(os, "fsync", meanwhile)
    code, _, err = run(*COMMANDS[name])
    assert code == 2
    assert "preflearn: new.csv: the file exists already. Replace it with --force, or choose another name." in err
    assert (folder / "new.csv").read_text() == "theirs"
    monkeypatch.setattr(os, "fsync", real)
    assert run(*COMMANDS[name], "--force")[0] == 0
    assert (folder / "new.csv").read_bytes() != b"theirs"


def test_a_file_that_is_replaced_keeps_its_permissions(run, folder):
    (folder / "r.csv").touch(mode=0o600)
    assert run(*RANK, "--out", "r.csv", "--force")[0] == 0
    assert (folder / "r.csv").stat().st_mode & 0o777 == 0o600
