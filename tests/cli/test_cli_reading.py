"""What the reader asks, leaves out and says, in the words of the command line."""

import json

import pytest


@pytest.mark.slow
def test_outcomes_are_stated_by_an_option(run, folder):
    rows = "".join(
        f"{a},{b},{score}\n" for a, b, score in [("x", "y", -3), ("y", "z", -1), ("x", "z", -8), ("z", "w", 2)]
    )
    (folder / "slider.csv").write_text("left,right,score\n" + rows)
    code, out, err = run("rank", "slider.csv")
    assert (code, out) == (2, "")
    assert err == (
        'preflearn: slider.csv: column "score" holds -8, -3, -1, 2 (line 2: -3, line 4: -8, line 5: 2): does a '
        'positive number mean the first side or the second? If positive is the first ("left"), use '
        '--outcomes first=positive and if it is the second ("right"), use --outcomes second=positive\n'
    )
    code, out, err = run("rank", "slider.csv", "--outcomes", "second=positive", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["ranking"][0]["item"] == "x"
    code, out, err = run("rank", "slider.csv", "--outcomes", "first=2", "--json")
    assert (code, out) == (2, "")
    assert err.startswith('preflearn: --outcomes: "first=2" is not understood. Write the number of a clear win')
    (folder / "wins.csv").write_text("winner,loser\nx,y\n")
    assert "Leave it out." in run("rank", "wins.csv", "--outcomes", "first=1,second=2")[2]


@pytest.mark.slow
def test_copies_of_rows_are_left_out_with_a_warning(run, folder):
    rows = [f"{k},{a},{b}\n" for k, (a, b) in enumerate(["xy", "yz", "xz", "zw", "wx", "xw"] * 2)]
    (folder / "twice.csv").write_text("id,winner,loser\n" + "".join(rows * 2))
    code, out, err = run("rank", "twice.csv")
    assert code == 0
    assert err == (
        "preflearn: warning: twice.csv: the whole table occurs 2 times, and 12 of 24 rows are copies: they repeat an "
        'earlier row in every column, "id" among them (line 14 repeats line 2). Each counts once. If they are further '
        "answers, keep them with --keep-repeats\n"
    )
    assert "Left out: 12 of 24 rows" in out
    code, out, err = run("rank", "twice.csv", "--keep-repeats")
    assert (code, err) == (0, "")
    assert "24 comparisons of 4 items" in " ".join(out.split())
    assert run("rank", "train.txt", "--keep-repeats")[0] == 2


@pytest.mark.slow
def test_inspect_prints_the_head_of_long_tables(run, folder):
    rows = [f"j{k},a{k % 6},b{k % 6}\n" for k in range(40)] + [f"j{k},b{k % 6},a{k % 6}\n" for k in range(0, 40, 3)]
    (folder / "judges.csv").write_text("judge,winner,loser\n" + "".join(rows))
    code, out, err = run("inspect", "judges.csv", "--top", 3)
    assert (code, err) == (0, "")
    assert sum(line.startswith("j") and "±" in line for line in out.splitlines()) == 3
    assert "... and 37 more, more reliable ones\nreliability: " in out
    assert "\n--top 40 prints all judges.\n" in out
    assert "6 groups of items that never met" in out
    assert "... and 3 more groups, none larger. --top 6 prints all." in out
    assert sum("±" in line for line in run("inspect", "judges.csv")[1].splitlines()) == 30
    assert sum("±" in line for line in run("inspect", "judges.csv", "--top", 40)[1].splitlines()) == 40
    assert "more reliable" not in run("inspect", "judges.csv", "--top", 40)[1]
    assert len(json.loads(run("inspect", "judges.csv", "--json")[1])["judges"]) == 40
    assert "--top is 0; it must be 1 or more" in run("inspect", "judges.csv", "--top", 0)[2]


def test_covariates_are_named_by_an_option(run, folder):
    rows = [f"{a},{b},{5 * k % 7},{3 * k % 5}\n" for k, (a, b) in enumerate(["xy", "yz", "xz", "zw", "wx", "xw"] * 2)]
    (folder / "games.csv").write_text("winner,loser,days_w,days_l\n" + "".join(rows))
    code, out, err = run("rank", "games.csv", "--columns", "covariates=days_w-days_l", "--no-circles")
    assert (code, err) == (0, "")
    assert "Covariates: \"days_w-days_l\", the first side's numbers minus the second's." in " ".join(out.split())
    code, out, err = run("rank", "games.csv", "--columns", "covariates=days_x")
    assert (code, out) == (2, "")
    assert "there is no column 'days_x' for covariates" in err
    assert run("rank", "games.csv", "--model", "bradley-terry+covariates")[2].endswith(
        "needs numbers of each comparison that vary. Name its column: --columns covariates=COLUMN\n"
    )


@pytest.mark.slow
def test_a_saved_model_finds_its_covariates_by_their_names(run, folder):
    rows = [f"{a},{b},{5 * k % 7},{3 * k % 5}\n" for k, (a, b) in enumerate(["xy", "yz", "xz", "zw", "wx", "xw"] * 2)]
    (folder / "games.csv").write_text("winner,loser,days_w,days_l\n" + "".join(rows))
    held = ("--columns", "covariates=days_w-days_l")
    model = ("--model", "bradley-terry+covariates", "--no-circles", "--save", "m.preflearn")
    assert run("rank", "games.csv", *held, *model)[0] == 0
    (folder / "plain.csv").write_text("winner,loser\nx,y\n")
    (folder / "pairs.csv").write_text("winner,loser,days_w,days_l\nx,y,9,0\n")
    found = run("predict", "m.preflearn", "pairs.csv")
    assert found == run("predict", "m.preflearn", "pairs.csv", *held)
    assert found == run("predict", "m.preflearn", "pairs.csv", "--columns", "winner=winner,loser=loser")
    code, out, err = run("predict", "m.preflearn", "plain.csv")
    assert (code, err) == (0, "")
    assert out != found[1]
    one, other = (run("evaluate", "m.preflearn", "games.csv", *named, "--json")[1] for named in ((), held))
    assert json.loads(one)["metrics"] == json.loads(other)["metrics"]
