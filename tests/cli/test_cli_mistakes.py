"""What people do wrong at the command line: each mistake gets one message with its cause and cure, and exit code 2."""

import os
import re
import sys
import zipfile

import pytest
from command_mistakes import COMMANDS
from label_mistakes import LABELS
from more_mistakes import FILES, directory, write

from fast_share import slow_except
from preflearn.cli.app import COMMANDS as EVERY


def damaged(folder):
    content = (folder / "rows.preflearn").read_bytes()
    (folder / "half.preflearn").write_bytes(content[: len(content) // 2])


def foreign_zip(folder):
    with zipfile.ZipFile(folder / "book.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")


FIT = ["fit", "train.txt", "--save", "new.preflearn"]
TABLE = ["fit", "matches.csv", "--save", "new.preflearn"]
BAD = ["fit", "bad.txt", "--save", "new.preflearn"]
BAD_TABLE = ["fit", "bad.csv", "--save", "new.preflearn"]

# what the person did -> (preparation, command, words of the answer: cause and cure)
BASIC = {
    # the command itself
    "unknown command": (None, ["fitt", "train.txt"], ["unknown command", '"fit"', "--help"]),
    "unknown option": (None, [*FIT, "--kernal", "rbf"], ["--kernal", "--kernel", "fit --help"]),
    "no arguments": (None, ["fit"], ["DATA is missing", "--help"]),
    "no --save": (None, ["fit", "train.txt"], ["--save is missing"]),
    "too many arguments": (None, [*FIT, "other.txt"], ["too many", "other.txt"]),
    "option without value": (None, ["fit", "train.txt", "--save"], ["--save is missing"]),
    "seed is a word": (None, [*FIT, "--seed", "abc"], ["--seed", '"abc"', "whole number"]),
    "seed below zero": (None, [*FIT, "--seed", "-1"], ["--seed", "from 0 to"]),
    "demo seed below zero": (None, ["demo", "--seed", "-1"], ["--seed", "from 0 to"]),
    # options of fit
    "unknown kernel": (None, [*FIT, "--kernel", "rbff"], ["rbff", '"rbf"', "matern32"]),
    "unknown model": (None, [*FIT, "--model", "rank"], ["rank", "rankrls", "kpcrank"]),
    "unknown metric": (None, [*FIT, "--scoring", "ndgc"], ["--scoring", '"ndgc"', 'nearest names: "ndcg"']),
    "metric of probabilities": (None, [*FIT, "--scoring", "log_loss"], ["log_loss", "probabilities", "disagreement"]),
    "metric without k": (None, [*FIT, "--scoring", "ndcg@0"], ["ndcg@0", "number for k"]),
    "alpha negative": (None, [*FIT, "--alpha", "-1"], ["--alpha", "-1", "positive number or auto"]),
    "alpha zero": (None, [*FIT, "--alpha", "0"], ["--alpha", "positive number or auto"]),
    "alpha word": (None, [*FIT, "--alpha", "best"], ['"best"', "positive number or auto"]),
    "alpha not finite": (None, [*FIT, "--alpha", "inf"], ['"inf"', "positive number or auto"]),
    "components zero": (None, [*FIT, "--model", "kpcrank", "--components", "0"], ['"0"', "at least 1", "auto"]),
    "components broken": (None, [*FIT, "--model", "kpcr", "--components", "2.5"], ['"2.5"', "whole number"]),
    "alpha for kpcrank": (None, [*FIT, "--model", "kpcrank", "--alpha", "1"], ["--alpha", "--components", "Leave it"]),
    "components for rls": (None, [*FIT, "--model", "rls", "--components", "3"], ["--components", "--alpha", "Leave"]),
    "ties for rls": (None, [*FIT, "--model", "rls", "--ties", "exclude"], ["--ties", "rls does not look", "Leave"]),
    "scoring without choice": (None, [*FIT, "--alpha", "1", "--scoring", "map"], ["--scoring", "--alpha", "one of"]),
    "nystroem zero": (None, [*FIT, "--kernel", "rbf", "--nystroem", "0"], ["--nystroem", "1 or more"]),
    "nystroem linear": (None, [*FIT, "--nystroem", "10"], ["--nystroem", "linear", "--kernel rbf"]),
    "rls on comparisons": (None, [*TABLE, "--model", "rls"], ["matches.csv", "have none", "--model rankrls"]),
    "map on comparisons": (None, [*TABLE, "--scoring", "map"], ["whole groups", "--scoring disagreement"]),
    "accuracy on rows": (None, [*FIT, "--scoring", "pairwise_accuracy"], ["comparisons", "--scoring concordance"]),
    "groups without a column": (None, [*TABLE, "--weighting", "groups"], ["--weighting", "column called group"]),
    "items for svmlight": (None, [*FIT, "--items", "items.csv"], ["their own features", "Leave out --items"]),
    "n features table": (None, [*TABLE, "--n-features", "9"], ["--n-features", "table", "Leave it out"]),
    "n features zero": (None, [*FIT, "--n-features", "0"], ["--n-features", "at least 1"]),
    "n features too small": (None, [*FIT, "--n-features", "3"], ["train.txt, line 1", "index 4", "Raise --n-features"]),
    "zero based table": (None, [*TABLE, "--zero-based"], ["--zero-based", "table", "Leave it out"]),
    # where the result goes
    "save exists": (None, [*FIT[:3], "rows.preflearn"], ["exists already", "--force"]),
    "save is a directory": (directory("d"), [*FIT[:3], "d"], ["directory", "--save", "path of a file"]),
    "save in no directory": (None, [*FIT[:3], "nowhere/m.preflearn"], ["no directory nowhere", "Create it"]),
    "save over the data": (None, [*FIT[:3], "train.txt", "--force"], ["read by the same command", "another path"]),
    "out exists": (None, ["predict", "rows.preflearn", "test.txt", "--out", "items.csv"], ["exists", "--force"]),
    "out over the model": (
        None,
        ["predict", "rows.preflearn", "test.txt", "--out", "rows.preflearn", "--force"],
        ["read by the same command"],
    ),
    # files that cannot be read
    "wrong path": (
        None,
        ["fit", "trian.txt", "--save", "m"],
        ["trian.txt", "no such file", '"train.txt"', "Check the path"],
    ),
    "directory": (directory("d.txt"), ["fit", "d.txt", "--save", "m"], ["d.txt", "directory", "one file"]),
    "empty file": (write("bad.txt", ""), BAD, ["bad.txt", "empty", "Give"]),
    "only comments": (write("bad.txt", "# nothing\n"), BAD, ["only comments", "label qid:Q"]),
    "unknown kind of file": (
        write("notes.md", "hello"),
        ["fit", "notes.md", "--save", "m"],
        ["notes.md", "header", "no rows"],
    ),
    "spreadsheet": (foreign_zip, ["fit", "book.xlsx", "--save", "m"], ["book.xlsx", "spreadsheet", "CSV"]),
    "binary": (write("bad.txt", b"1 qid:1 1:0.5\n\0\0"), BAD, ["line 2", "binary"]),
    "damaged gzip": (
        write("bad.txt.gz", b"\x1f\x8b\x08\0junk"),
        ["fit", "bad.txt.gz", "--save", "m"],
        ["gzip", "again"],
    ),
    "wrong items path": (None, [*TABLE, "--items", "itmes.csv"], ["itmes.csv", "no such file", '"items.csv"']),
    # bad content, with its line
    "bad number": (write("bad.txt", "1 qid:1 1:0.5\n2 qid:1 1:x\n"), BAD, ["bad.txt, line 2", '"x"', "finite"]),
    "bad label": (write("bad.txt", "good qid:1 1:0.5\n"), BAD, ["line 1", '"good"', "label qid:Q"]),
    "qid missing": (write("bad.txt", "1 qid:1 1:0.5\n2 1:1\n"), BAD, ["line 2", "qid is missing", "Add qid"]),
    "index zero": (write("bad.txt", "1 qid:1 0:0.5\n"), BAD, ["line 1", "below 1", "--zero-based"]),
    "one row": (write("bad.txt", "1 qid:1 1:0.5\n"), BAD, ["one row", "at least two"]),
    "qid of its own": (
        write("bad.txt", "1 qid:1 1:0.5\n2 qid:2 1:1\n3 qid:3 1:2\n"),
        BAD,
        ["bad.txt", "none of the 3 groups has two rows", "row's own id"],
    ),
    "columns unknown": (write("bad.csv", "a,b\n1,2\n"), BAD_TABLE, ["do not say who", "winner=a,loser=b"]),
    "svmlight called table": (None, [*FIT, "--format", "comparisons"], ["train.txt", "columns"]),
    "header only": (write("bad.csv", "winner,loser\n"), BAD_TABLE, ["no rows", "complete"]),
    "ragged": (write("bad.csv", "winner,loser\na,b\na,b,c\n"), BAD_TABLE, ["line 3", "3 cells", "quotes"]),
    "an item with itself": (
        write("bad.csv", "winner,loser\na,b\nc,c\n"),
        BAD_TABLE,
        ["line 3", "compared with itself", "Delete"],
    ),
    "outcome is a word": (
        write("bad.csv", "first,second,outcome\na,b,1\nb,c,yes\n"),
        BAD_TABLE,
        ["line 3", '"yes" is neither "b" nor "c"', "Write the winner's name"],
    ),
    "features missing for an item": (
        write("bad.csv", "winner,loser\nC01,C02\nC03,C77\n"),
        [*BAD_TABLE, "--items", "items.csv"],
        ["bad.csv, line 3", '"C77"', "items.csv", "nearest names", "add the item"],
    ),
    "empty feature": (
        write("bad.csv", "item,size\nC01,1\nC02,\n"),
        [*TABLE, "--items", "bad.csv"],
        ["matches.csv, line 2", '"C00" is not in bad.csv', "add the item"],
    ),
    "item twice": (
        write("bad.csv", "item,size\nC01,1\nC01,2\n"),
        [*TABLE, "--items", "bad.csv"],
        ["line 3", "listed already", "once"],
    ),
    # models and data that do not go together
    "model missing": (None, ["predict", "row.preflearn", "test.txt"], ["no such file", '"rows.preflearn"']),
    "model and data swapped": (
        None,
        ["predict", "test.txt", "rows.preflearn"],
        ["test.txt", "is the model", "MODEL DATA"],
    ),
    "swapped in evaluate": (None, ["evaluate", "test.txt", "rows.preflearn"], ["is the model", "MODEL DATA"]),
    "data is a model": (None, ["fit", "rows.preflearn", "--save", "m"], ["model file", "Give a data file"]),
    "two models": (None, ["predict", "rows.preflearn", "rows.preflearn"], ["model file", "not data"]),
    "two data files": (None, ["predict", "train.txt", "test.txt"], ["train.txt", "not a model file", "preflearn fit"]),
    "model is a directory": (directory("d"), ["predict", "d", "test.txt"], ["directory", "one model file"]),
    "model damaged": (
        damaged,
        ["predict", "half.preflearn", "test.txt"],
        ["half.preflearn", "damaged", "save the model"],
    ),
    "other features": (
        None,
        ["predict", "rows.preflearn", "wide.txt"],
        ["wide.txt, line 1", "above 4", "same features", "--n-features"],
    ),
    "other features, evaluate": (None, ["evaluate", "rows.preflearn", "wide.txt"], ["line 1", "above 4"]),
    "other columns": (
        write("bad.csv", "item,size\nC01,1\nC02,2\n"),
        ["predict", "items.preflearn", "bad.csv"],
        ["bad.csv", '"colour"', "size", "same columns"],
    ),
    "other number of columns": (
        write("bad.csv", "item,size\nC01,1\nC02,2\n"),
        ["predict", "rows.preflearn", "bad.csv"],
        ["1 feature,", "trained on 4", "same columns"],
    ),
    "no data": (None, ["predict", "rows.preflearn"], ["DATA is missing", "MODEL DATA"]),
    "rows for names": (None, ["predict", "names.preflearn", "test.txt"], ["without features", "--items"]),
    "unknown name": (
        write("bad.csv", "first,second\nC01,C02\nC01,C99\n"),
        ["predict", "names.preflearn", "bad.csv"],
        ["bad.csv, line 3", '"C99"', "nearest names", "Correct"],
    ),
    "unknown item": (
        write("bad.csv", "item\nC01\nC99\n"),
        ["predict", "names.preflearn", "bad.csv"],
        ['"C99"', "12 items", "only the items that it was trained on"],
    ),
    "unknown name, evaluate": (
        write("bad.csv", "winner,loser\nC01,C02\nC01,C99\n"),
        ["evaluate", "names.preflearn", "bad.csv"],
        ["line 3", '"C99"', "known items"],
    ),
    "pairs without features": (None, ["predict", "items.preflearn", "pairs.csv"], ["pairs.csv", "--items ITEMS"]),
    "features for names": (
        None,
        ["evaluate", "names.preflearn", "later.csv", "--items", "items.csv"],
        ["without features", "Leave out --items"],
    ),
    "items twice": (
        None,
        ["predict", "items.preflearn", "items.csv", "--items", "items.csv"],
        ["already", "Leave out"],
    ),
    "no pairs": (
        None,
        ["predict", "items.preflearn", "items.csv", "--format", "comparisons"],
        ["first,second", "--columns"],
    ),
    "items cannot be judged": (None, ["evaluate", "items.preflearn", "items.csv", "--items", "items.csv"], ["who was"]),
    "relevant for comparisons": (
        None,
        ["evaluate", "names.preflearn", "later.csv", "--relevant", "1"],
        ["--relevant", "comparisons have none"],
    ),
    "only ties": (
        write("bad.csv", "first,second,winner\nC01,C02,tie\nC03,C04,draw\n"),
        ["evaluate", "names.preflearn", "bad.csv"],
        ["bad.csv", "all comparisons are ties", "with a winner"],
    ),
}


MISTAKES = BASIC | FILES | COMMANDS | LABELS
_NAMED = "role|first|second|winner|loser|judge|cluster|ranking|name|without|Oolong|class|labels|weight|features"
ROLES = rf"\b({_NAMED})=\S+"  # of --columns, --anchor


@pytest.mark.parametrize("name", slow_except(MISTAKES, *(set(MISTAKES) - {"suggest: circles"})))
def test_a_mistake_gets_one_message_with_cause_and_cure(name, run, folder):
    prepare, command, words = MISTAKES[name]
    if prepare is not None:
        prepare(folder)
    before = sorted(path.name for path in folder.iterdir())
    code, out, err = run(*command)
    message = err.strip().splitlines()[-1] if err.strip() else ""
    assert code == 2, (code, out, err)
    assert message.startswith("preflearn: ")
    assert [word for word in words if word not in message] == [], message
    others = [line for line in err.strip().splitlines()[:-1] if not line.startswith("preflearn: warning: ")]
    assert others == []
    assert "Traceback" not in err + out
    assert sorted(path.name for path in folder.iterdir()) == before, "a file was left behind"
    # it speaks of files, options and columns, not of Python
    assert re.findall(r"\w+=[\w\"'.]+", re.sub(ROLES, "", message)) == []
    assert re.findall(r"\b([A-Z][a-z]+[A-Z]\w+|RankRLS\w*|KPCRank|Comparisons|Ratings|Literal|\w+\(\))", message) == []
    assert re.search(r"^preflearn: \w+_\w+: ", message) is None
    named = [*command, "DATA", "MODEL", "OUT", "the file"]
    assert any(word and word in message for word in named), "neither a file nor an option is named"


def test_there_are_enough_mistakes():
    assert len(MISTAKES) == len(BASIC) + len(FILES) + len(COMMANDS) + len(LABELS)
    assert len(MISTAKES) >= 270
    commands = {command[0] for _, command, _ in MISTAKES.values()}
    assert commands >= set(EVERY)


def test_a_directory_that_cannot_be_written_to_is_noticed_before_the_work(run, folder, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr("preflearn.cli.fit._learn", lambda *_: pytest.fail("the work was done"))
    code, _, err = run(*FIT)
    assert code == 2
    assert "cannot be written to" in err
    assert "--save another path" in err


def test_a_write_that_is_refused_is_answered_with_path_and_reason(run, folder, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", "new.preflearn")

    monkeypatch.setattr("os.link", refuse)
    monkeypatch.setattr("pathlib.Path.replace", refuse)
    code, _, err = run(*FIT)
    assert code == 2
    assert err == "preflearn: new.preflearn: Permission denied. Check the path, the permissions and the free space.\n"
    assert not list(folder.glob(".new*"))


def test_a_lack_of_memory_is_bad_input_with_a_cure(run, monkeypatch):
    import numpy as np

    import preflearn.cli.fit_least_squares

    def fail(*_):
        np.empty((1 << 30, 1 << 20))

    monkeypatch.setattr(preflearn.cli.fit_least_squares, "train", fail)
    code, _, err = run(*FIT)
    assert code == 2
    assert "not enough memory" in err
    assert "--nystroem 1000" in err


def test_an_error_of_our_own_has_exit_code_1_and_a_hint(run, monkeypatch):
    import preflearn.cli.fit_least_squares

    def fail(*_):
        raise RuntimeError("wheels came off")

    monkeypatch.setattr(preflearn.cli.fit_least_squares, "train", fail)
    code, _, err = run(*FIT)
    assert code == 1
    assert err.count("\n") == 1
    assert "RuntimeError: wheels came off" in err
    assert "--traceback" in err
    code, _, err = run("--traceback", *FIT)
    assert code == 1
    assert "Traceback" in err
    monkeypatch.setenv("PREFLEARN_TRACEBACK", "1")
    assert "Traceback" in run(*FIT)[2]
    monkeypatch.setenv("PREFLEARN_TRACEBACK", "0")
    assert "Traceback" not in run(*FIT)[2]


@pytest.mark.parametrize("command", [["rank", "m.parquet"], ["convert", "matches.csv", "o.parquet"]], ids=" ".join)
def test_parquet_without_its_package_is_answered_by_how_to_install_it(command, run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (folder / "m.parquet").write_bytes(b"PAR1")
    code, _, err = run(*command)
    assert code == 2
    assert f'{command[-1]}: Parquet files need the optional package pyarrow: pip install "preflearn[io]".' in err
    assert not (folder / "o.parquet").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last", "words"),
    [("C01\n", "1 cell, but the header has 2"), ("C01,C01\n", "compared with itself")],
)
def test_a_mistake_in_the_last_of_a_million_lines_is_found_there(last, words, run, folder):
    (folder / "long.csv").write_text("winner,loser\n" + "C01,C02\n" * 1_000_000 + last)
    code, _, err = run("rank", "long.csv")
    assert code == 2
    assert "long.csv, line 1000002: " in err
    assert words in err


@pytest.mark.slow
def test_weights_of_zero_are_left_out_and_said_so(run, folder):
    (folder / "w.csv").write_text("winner,loser,weight\na,b,1\nb,c,0\nb,d,2\n")
    code, out, err = run("rank", "w.csv")
    assert (code, err) == (0, "")
    assert "1 of 3 comparisons have weight 0 and are left out" in " ".join(out.split())
    for command in ("inspect", "suggest"):
        assert run(command, "w.csv")[0] == 0
