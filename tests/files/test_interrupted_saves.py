"""A file is whole or it is the one before, whatever happens to the process that saves it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fast_share import cases

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are copied by fork")


def outcome(folder, how, count):
    script = Path(__file__).with_name("interrupting.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder), how, str(count)], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_kills_leave_no_torn_file(tmp_path):
    left = outcome(tmp_path, "kill", cases(30, 200))
    assert sum(left["found"].values()) == cases(30, 200)
    assert min(left["found"].values()) > 0  # saves came through between the kills, of both models
    assert left["codes"] == [-signal.SIGKILL]
    assert all(name.endswith(".preflearn-tmp") for name in left["others"])


@pytest.mark.slow
def test_interrupts_leave_no_torn_file_and_nothing_else(tmp_path):
    left = outcome(tmp_path, "interrupt", cases(30, 200))
    assert sum(left["found"].values()) == cases(30, 200)
    assert min(left["found"].values()) > 0
    assert left["codes"] == [0]
    assert left["others"] == []


@pytest.mark.slow
def test_a_full_disk_leaves_the_file_that_was_there_and_nothing_else(tmp_path):
    left = outcome(tmp_path, "disk", 15)
    assert left == {"found": {"PreferenceGP": 15, "RankRLS": 0}, "codes": [3], "others": []}
