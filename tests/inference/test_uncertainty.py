"""Honest uncertainty, in small: on problems drawn from the prior, intervals cover what they say and P(best) is true."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fast_share import thorough

ROOT = Path(__file__).resolve().parents[2]
LEVELS = (50, 80, 95)


def run(*arguments):
    command = [sys.executable, "-m", "benchmarks.uncertainty", "--small", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_benchmark_runs():
    assert len(re.findall(r"^\| (?:known|learned) \| .*\| (?:yes|no) \|", run("--problems", "2"), re.MULTILINE)) == 4


@thorough
@pytest.mark.slow
def test_intervals_cover_and_probabilities_come_true():
    out = run()
    for inference in ("ep", "laplace"):
        row = re.search(rf"^\| known \| {inference} \| moderate \(\d+\) \|(.*)\|$", out, flags=re.MULTILINE)[1]
        *coverage, _, best, outcomes = row.split("|")
        for level, cell in zip(LEVELS, coverage, strict=True):
            mean, error = map(float, cell.split("±"))
            assert error < 3.5  # forty problems must be enough to say something
            assert abs(mean - level) <= 3 + 3 * error, (inference, cell)
        # chance alone gives about 0.05 with the best of ten items in forty problems, and 0.02 with 4,000 outcomes
        assert float(best) < 0.08
        assert float(outcomes) < 0.04
