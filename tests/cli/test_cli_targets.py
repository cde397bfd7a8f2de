"""Targets that cannot be written to are found out before any work is done for them, and nothing is left behind."""

import os
from pathlib import Path

import pytest

TARGETS = {
    "a directory that only looks as if": "/proc/x.csv",
    "a link that leads nowhere": "lost.csv",
    "a name that is too long": "n" * 240 + ".csv",
    "a directory in a file": "matches.csv/x.csv",
}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("option", ["--out", "--save", "--report"])
def test_a_target_that_cannot_be_written_to_fails_before_the_work(option, name, run, folder, monkeypatch):
    if name.startswith("a directory that") and not Path("/proc/self").exists():
        pytest.skip("there is no such directory here")
    (folder / "lost.csv").symlink_to(folder / "nowhere" / "x.csv")
    monkeypatch.setattr("preflearn.cli.rank.read_comparisons", lambda *_: pytest.fail("the work was done"))
    before = sorted(folder.iterdir())
    code, out, err = run("rank", "matches.csv", option, TARGETS[name], "--force")
    assert (code, out) == (2, "")
    assert err.startswith(f"preflearn: {TARGETS[name]}: ")
    assert f"{option} another path" in err
    assert sorted(folder.iterdir()) == before


def test_trying_a_target_leaves_it_as_it_was(run, folder, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("preflearn.cli.fit._learn", interrupt)
    (folder / "m.preflearn").write_bytes(b"before")
    before = sorted(folder.iterdir())
    assert run("fit", "matches.csv", "--save", "m.preflearn", "--force")[0] == 130
    assert run("fit", "matches.csv", "--save", "new.preflearn")[0] == 130
    assert (folder / "m.preflearn").read_bytes() == b"before"
    assert sorted(folder.iterdir()) == before


def test_a_device_that_cannot_be_written_to_is_refused(run, folder, monkeypatch):
    os.mkfifo(folder / "pipe")
    monkeypatch.setattr(os, "access", lambda *_: False)
    code, _, err = run("rank", "matches.csv", "--out", "pipe")
    assert code == 2
    assert "pipe: this cannot be written to" in err
