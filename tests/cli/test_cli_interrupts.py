"""A file that a command writes is whole, or the one before, or not there, whatever happens to the command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fast_share import cases

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are copied by fork")]


def outcome(folder, how, count):
    script = Path(__file__).with_name("interrupting_commands.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder), how, str(count)], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_commands_that_are_killed_leave_no_torn_file(tmp_path):
    every = outcome(tmp_path, "kill", cases(16, 40))
    for name, found in every.items():
        assert found["files"]["torn"] == 0, name
        assert set(found["codes"]) <= {-9, 0}
    # for one command alone the moment may be missed every time
    assert sum(found["files"]["new"] for found in every.values()) > 0, "no command came so far"
    assert sum(found["left"] for found in every.values()) > 0, "no command was killed while it wrote"


@pytest.mark.parametrize(("how", "code", "after"), [("interrupt", 130, 130), ("terminate", 143, -15)])
def test_commands_that_are_interrupted_leave_no_torn_file_and_no_other(how, code, after, tmp_path):
    every = outcome(tmp_path, how, cases(8, 40))
    for name, found in every.items():
        assert found["files"]["torn"] == 0, name
        assert set(found["codes"]) <= {code, after, 0}
        assert found["left"] == 0
    kept = sum(found["files"]["missing"] + found["files"]["old"] for found in every.values())
    assert kept > 0, "no command was interrupted in time"
    assert any(code in found["codes"] for found in every.values())


def test_a_full_disk_leaves_what_was_there(tmp_path):
    for name, found in outcome(tmp_path, "disk", 6).items():
        assert found["files"]["torn"] == 0, name
        assert found["codes"] == [2]
        assert found["files"]["missing"] == 0
        assert found["left"] == 0
