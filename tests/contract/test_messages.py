"""Messages are data: a code, what is wrong, where, and cures that name settings by role (CONTRIBUTING, "Messages")."""

import ast
import pickle
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

from preflearn.analysis.advice import LOOK_FOR_CIRCLES, Advice
from preflearn.cli.app import options_of
from preflearn.cli.dialect import COMMAND_LINE, INSTEAD, OPTIONS, PYTHON_ONLY, dialect_for, dialect_of
from preflearn.exceptions import DataError, DataWarning, FileFormatError, Place, Setting
from preflearn.messages import PYTHON, WORDS, Message

SRC = Path(__file__).resolve().parents[2] / "src" / "preflearn"
TREES = {str(path.relative_to(SRC)): ast.parse(path.read_text()) for path in sorted(SRC.rglob("*.py"))}
MADE = {
    "DataError",
    "UnfinishedWarning",
    "FileFormatError",
    "DataWarning",
    "NumericalWarning",
    "GroupsLostWarning",
    "fail",
    "refuse",
}
SAID = {"says", "warn"}
# Checks of the parts of a model file: reasons inside the message that the file is damaged.
REASONS = ("inference/evidence.py", "files/", "models/_model_state.py", "terms/")
LIBRARY = {path: tree for path, tree in TREES.items() if not path.startswith("cli/")}


def called(node):
    return getattr(node.func, "id", getattr(node.func, "attr", None)) if isinstance(node, ast.Call) else None


def calls(names, trees=LIBRARY):
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if called(node) in names:
                yield path, node


def words(node):
    """Yield the texts that a call or an expression is made of."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def codes():
    """Return the modules in which each code occurs."""
    found = defaultdict(set)
    for path, node in calls(MADE, TREES):
        for keyword in node.keywords:
            if keyword.arg == "code":
                for code in words(keyword.value):
                    found[code].add(path)
    return found


def whole(node):
    """Return whether a call makes a message, and not an error from a message, or none at all."""
    first = node.args[:1]
    ready = ("at", "replace")  # of a message that was made before
    return bool(first) and not (called(first[0]) in ready or getattr(first[0], "id", "a").isupper())


def test_every_message_of_the_library_has_a_code():
    without = [
        f"{path}:{node.lineno}"
        for path, node in calls(MADE)
        if whole(node) and not path.startswith(REASONS) and not any(one.arg == "code" for one in node.keywords)
    ]
    assert without == []
    assert len(codes()) > 300


def test_every_code_comes_with_words():
    said = {id(node.func.value) for _, node in calls(SAID, TREES) if isinstance(node.func, ast.Attribute)}
    silent = [
        f"{path}:{node.lineno}"
        for path, node in calls(MADE, TREES)
        if any(one.arg == "code" for one in node.keywords) and id(node) not in said
    ]
    assert silent == []


def test_a_code_is_a_few_words_and_of_one_module():
    for code, paths in codes().items():
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", code), code
        assert len(paths) == 1, (code, paths)


def test_roles_are_options_or_known_to_be_of_python_only():
    roles = {node.args[0].value for _, node in calls({"Setting"}, TREES) if isinstance(node.args[0], ast.Constant)}
    roles |= {"n_features", "zero_based", "by"}  # by a variable
    assert roles <= OPTIONS.keys() | PYTHON_ONLY
    assert roles >= OPTIONS.keys(), "an option that no message names"
    assert not OPTIONS.keys() & PYTHON_ONLY
    assert codes().keys() >= INSTEAD.keys()


def test_options_exist():
    every = frozenset().union(*(options_of(command) for command in ("rank", "fit", "evaluate", "predict", "compare")))
    for written in OPTIONS.values():
        assert set(re.findall(r"--[a-z-]+", written)) <= every, written


def test_the_library_names_no_option_of_the_command_line():
    named = [
        (path, text)
        for path, node in calls({*MADE, *SAID, "Advice", "Note", "Phrase", "TypeError", "ValueError"})
        for text in words(node)
        if re.search(r"(^|[\s(\"'])--[a-z]", text)
    ]
    assert named == []


def test_reading_and_ranking_name_arguments_as_settings_only():
    # Their messages reach users of the command line, who have no arguments.
    named = [
        (path, text)
        for path, node in calls(SAID)
        if path.startswith(("io/", "analysis/"))
        for text in words(node)
        if re.search(r"\b[a-z_]+=(\"|\.\.\.|True|False|None|\[)", text)
    ]
    assert named == []


def test_nothing_reads_a_message_to_know_what_it_says():
    read = [
        path
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and any(called(side) == "str" for side in node.comparators)
        if any("error" in text for side in node.comparators for text in (ast.unparse(side),))
    ]
    assert read == ["io/table.py"]  # what the csv module of Python says


def test_warnings_are_silenced_in_one_place():
    silenced = {path for path, _ in calls({"catch_warnings"}, TREES)}
    assert silenced == {"exceptions.py", "cli/main.py"}  # the command line shows what is ours only


EMPTY = Message(
    "the winner is empty (2 of 9 rows)",
    ("Fill the cell", "delete the row", "leave out all such rows with " + Setting("missing", "drop")),
    code="empty-cell",
    where=Place("m.csv", 7),
    owner="read_preferences",
)


def test_each_reader_gets_the_own_words():
    head = "m.csv, line 7: the winner is empty (2 of 9 rows). "
    head += "Fill the cell, delete the row, or leave out all such rows with "
    assert PYTHON.render(EMPTY) == str(EMPTY) == head + 'missing="drop".'
    assert COMMAND_LINE.render(EMPTY) == head + "--drop"
    assert WORDS.render(EMPTY) == head + "the setting missing."


def test_a_cure_that_a_reader_cannot_follow_is_left_out():
    message = Message("no line has a qid", ("Write qid:Q", "give " + Setting("query_sizes")), owner="read_svmlight")
    assert str(message) == "read_svmlight: no line has a qid. Write qid:Q, or give query_sizes."
    assert COMMAND_LINE.render(message) == "no line has a qid. Write qid:Q."
    few = Message("too many rows", ("Give fewer", "use " + Setting("nystroem", 1000)))
    assert dialect_of(lambda: options_of("fit")).render(few) == "too many rows. Give fewer, or use --nystroem 1000"
    assert dialect_of(lambda: options_of("rank")).render(few) == "too many rows. Give fewer."


def test_a_command_names_its_own_options_only():
    advice = Advice("not examined", "There are too many pairs.", cure=LOOK_FOR_CIRCLES)
    said = {
        command: advice.worded(dialect_for(import_module(f"preflearn.cli.{command}").__dict__[command]))
        for command in ("rank", "fit")
    }
    assert said == {
        "rank": "There are too many pairs. Ask for it with --circles",
        "fit": "There are too many pairs.",
    }


def test_something_else_is_said_where_no_cure_can_be_followed():
    message = Message("index 9 is above 4", ("Raise " + Setting("n_features"),), code="feature-above-n-features")
    assert dialect_of(lambda: options_of("fit")).render(message) == "index 9 is above 4. Raise --n-features"
    assert "Give the same features as in training" in dialect_of(lambda: options_of("predict")).render(message)


def test_names_of_columns_can_be_copied():
    named = Setting("columns", {"first": "Tea Here", "second": "it's"})
    assert PYTHON.words(named) == 'columns="first=Tea Here,second=it\'s"'
    assert COMMAND_LINE.words(named) == "--columns 'first=Tea Here,second=it'\"'\"'s'"
    assert PYTHON.words(Setting("columns", {"first": "a,b"})) == "columns={'first': 'a,b'}"
    assert PYTHON.words(Setting("zero_based", True)) == "zero_based=True"


@pytest.mark.parametrize("kind", [DataError, FileFormatError, DataWarning])
def test_errors_and_warnings_keep_their_message(kind):
    error = kind(code="some-code", owner="rank").says("what", "Drop it", "use " + Setting("model", "gp"))
    assert str(error) == 'rank: what. Drop it, or use model="gp".'
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert again.message == error.message
    assert again.message.settings == (Setting("model", "gp"),)
    assert str(kind("Plain text. Do this.")) == "Plain text. Do this."
    assert error.message.at(Place("m.csv")).where == Place("m.csv")
    assert EMPTY.at(Place("other.csv")).where == Place("m.csv", 7)
