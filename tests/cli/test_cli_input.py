"""Standard input of the commands: whatever a file may hold, a pipe may hold."""

import io
import sys

import pytest


@pytest.fixture
def piped(run, folder, monkeypatch):
    """Return a function that runs a command with a text as its standard input, and checks that it is given back."""

    def call(text, *arguments):
        class Stream:
            buffer = io.BytesIO(text if isinstance(text, bytes) else text.encode())

        monkeypatch.setattr(sys, "stdin", Stream)
        answer = run(*arguments)
        assert sys.stdin is Stream
        return answer

    return call


CASES = {
    "pairs": ("bt.preflearn", "pairs.csv"),
    "items by name": ("bt.preflearn", "names.csv"),
    "items with features": ("gp.preflearn", "items.csv"),
    "items by least squares": ("items.preflearn", "items.csv"),
    "rows with scores": ("rows.preflearn", "test.txt"),
}


@pytest.mark.parametrize("name", CASES)
def test_predictions_of_standard_input_are_those_of_the_file(name, run, folder, piped):
    model, file = CASES[name]
    (folder / "names.csv").write_text("item\nC03\nC01\nC07\n")
    expected = run("predict", model, file)
    assert expected[0] == 0
    assert piped((folder / file).read_bytes(), "predict", model, "-") == expected


def test_rows_on_standard_input_are_recognised_by_all_commands(folder, piped):
    rows = (folder / "train.txt").read_bytes()
    assert piped(rows, "fit", "-", "--save", "m.preflearn", "--alpha", "1", "--n-features", "9")[0] == 0
    code, out, _ = piped(rows, "evaluate", "m.preflearn", "-")
    assert code == 0
    assert "standard input" in out
    code, _, err = piped(rows, "predict", "bt.preflearn", "-")
    assert code == 2
    assert err.startswith("preflearn: standard input: ")


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("item\nC01\nZ\n", [], ['"Z"', "Without features"]),
        ("x,y\n1,2\n", [], ["neither those of pairs", "Rename"]),
        ("item\nC01\nC01\n", [], ["line 3", "once"]),
        ("", [], ["empty"]),
        ("first,second\nC01,C02\n", ["--items", "-"], ["both", "Give --items a file"]),
    ],
)
def test_mistakes_on_standard_input_name_it(text, options, words, piped):
    code, out, err = piped(text, "predict", "bt.preflearn", "-", *options)
    assert (code, out) == (2, "")
    assert err.startswith("preflearn: standard input")
    assert all(word in err for word in words), err
