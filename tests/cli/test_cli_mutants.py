"""Damaged files end no command in a traceback, in waiting, or in half a file."""

from pathlib import Path

import pytest
from mutate_commands import COMMANDS, check, run

from fast_share import cases

PATIENCE = 50  # seconds: what hangs is found on slow machines, too


@pytest.mark.slow
def test_damaged_files_are_answered(tmp_path: Path) -> None:
    counts, _ = run(len(COMMANDS), 1, tmp_path, limit=PATIENCE)  # every command once
    assert counts["exit 0"] + counts["exit 2"] == len(COMMANDS)
    assert min(counts["exit 0"], counts["exit 2"]) >= 5


@pytest.mark.slow
def test_many_damaged_files_are_answered(tmp_path: Path) -> None:
    counts, _ = run(cases(48, 144), 2, tmp_path, limit=PATIENCE)
    assert counts["exit 0"] + counts["exit 2"] == cases(48, 144)


@pytest.mark.parametrize(
    ("code", "out", "err", "file"),
    [
        (1, "", "preflearn: unexpected error, which is a bug of preflearn.\n", None),
        ("Late()", "", "", None),
        (2, "", "", None),
        (2, "", "preflearn: one.\npreflearn: two.\n", None),
        (0, "", "/lib/numpy/core.py:3: RuntimeWarning: overflow\n", None),
        (0, "Traceback (most recent call last)", "", None),
        (0, '{"share": NaN}', "", None),
        (2, "", "preflearn: no.\n", ("out.csv", "a,b\n1,2\n")),
        (0, "{}", "", ("out.csv", "a,b\n1,2\n1")),
        (0, "{}", "", ("out.html", "<!doctype html><p>")),
        (0, "{}", "", ("out.jsonl", '{"a": 1}\n{"a"')),
        (0, "{}", "", (".out.csv.1.preflearn-tmp", "")),
    ],
)
def test_what_may_not_happen_is_seen(code, out, err, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if file is not None:
        (tmp_path / file[0]).write_text(file[1])
    with pytest.raises((AssertionError, ValueError, ZeroDivisionError)):
        check(code, out, err, ["rank", "--json"])


def test_an_answer_with_a_warning_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(0, "{}", "preflearn: warning: odd.\n", ["rank", "--json"])
