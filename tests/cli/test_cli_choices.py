"""Options that decide on the model without naming it, and models that cannot do what is asked: both are said."""

import pytest


def text_of(out):
    return " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "learned"),
    [
        (["--alpha", "1"], "--alpha without --model: RankRLS was learned"),
        (["--kernel", "rbf", "--alpha", "1"], "--kernel and --alpha without --model: RankRLS was learned"),
        (["--components", "2"], "--components without --model: KPCRank was learned"),
    ],
)
def test_an_option_that_switches_to_least_squares_says_so(options, learned, run):
    data = ["fit", "matches.csv", "--items", "items.csv", "--save", "m.preflearn"]
    out = text_of(run(*data, *options)[1])
    assert learned in out
    assert "no probabilities" in out
    name = learned.split()[-3].lower()
    said = text_of(run(*data, *options, "--model", name, "--force")[1])
    assert "without --model" not in said
    assert f"--model {name} says that this one is meant" in out


def test_options_of_the_usual_model_are_not_remarked_upon(run):
    assert "without --model" not in run("fit", "train.txt", "--alpha", "1", "--save", "m.preflearn")[1]
    out = text_of(run("fit", "train.txt", "--components", "2", "--save", "n.preflearn")[1])
    assert "--components without --model: KPCRank was learned. Leave it out to learn RankRLS." in out


@pytest.mark.slow
def test_suggestions_where_judges_differ_say_whom_to_ask(run, folder):
    rows = [f"w{k % 3},C{a},C{b}" for k in range(2) for a in range(3) for b in range(a)]
    (folder / "judged.csv").write_text("worker,winner,loser\n" + "\n".join(rows) + "\n")
    assert run("rank", "judged.csv", "--model", "judges", "--save", "m.preflearn")[0] == 0
    code, out, err = run("suggest", "m.preflearn", "-n", "2")
    assert (code, out.splitlines()[0], err) == (0, "left,right,winner,information", "")
    code, out, err = run("suggest", "m.preflearn", "-n", "2", "--judges", "w9,w8")
    assert (code, out.splitlines()[0], err) == (0, "judge,left,right,winner,information", "")
    assert {line.split(",")[0] for line in out.splitlines()[1:]} == {"w8", "w9"}
    assert run("suggest", "judged.csv", "-n", "1", "--model", "both", "--judges", "w8")[0] == 0
    assert run("suggest", "judged.csv", "-n", "2", "--model", "thurstone")[2] == ""


def test_the_most_rows_that_are_ranked_are_in_the_help_and_the_cure_works(run, folder):
    from cli_files import svmlight

    from preflearn.analysis.limits import LIMITS

    most = LIMITS.items_on_features
    assert f"at most {most:,}" in text_of(run("rank", "--help")[1]).replace("\u2502 ", "")
    (folder / "many.txt").write_text("\n".join(svmlight(0, most // 6 + 1)) + "\n")
    code, _, err = run("rank", "many.txt")
    assert code == 2
    assert f"at most {most:,}" in err
    assert "preflearn fit DATA --save MODEL, and then preflearn predict MODEL DATA" in err
    assert run("fit", "many.txt", "--save", "m.preflearn")[0] == 0
    code, out, _ = run("predict", "m.preflearn", "many.txt")
    assert (code, out.splitlines()[0]) == (0, "row,qid,score,rank")
