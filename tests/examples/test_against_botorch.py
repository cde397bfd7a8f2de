"""The benchmark against BoTorch runs in small, with or without BoTorch, and draws the problem it promises."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

from fast_share import thorough

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = find_spec("botorch") is not None


def run(*arguments):
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@thorough
@pytest.mark.slow
def test_every_row_runs_in_small():
    out = run("-m", "benchmarks.against_botorch", "--small")
    table = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in out.splitlines() if re.match(r"\| \d: ", line)
    ]
    assert [cells[0][0] for cells in table] == ["1", "2", "3", "3", "4", "4"]
    assert {len(cells) for cells in table} == {12}
    assert all(float(cells[2].removesuffix(" s")) > 0 for cells in table)
    assert ("BoTorch is not installed" in out) is not INSTALLED
    if INSTALLED:
        assert all(cells[3].endswith("x") for cells in table if "our whole fit" not in cells[0])
    else:
        assert all(cells[1] == cells[3] == "" for cells in table)
        assert all(cells[5] == "not measured" for cells in table if "our whole fit" not in cells[0])


@pytest.mark.slow
def test_a_job_tells_its_solution_evidence_accuracy_and_memory():
    job = {"who": "ours", "job": "fit", "n": 60, "m": 1200, "n_held": 300, "seed": 1, "truth": "sparse"}
    found = json.loads(run("-m", "benchmarks.preference_gp_job", json.dumps(job)))
    again = json.loads(run("-m", "benchmarks.preference_gp_job", json.dumps(job)))
    assert found["solution"] == again["solution"]
    there = json.loads(
        run("-m", "benchmarks.preference_gp_job", json.dumps({**job, "job": "at", "solution": found["solution"]}))
    )
    assert there["evidence"] == pytest.approx(found["evidence"], abs=1e-6)
    assert there["accuracy"] == found["accuracy"] > 0.7
    assert found["bytes"] >= 0
    assert len(found["solution"]) == 11


@pytest.mark.parametrize("truth", ["even", "wide", "sparse"])
def test_outcomes_have_probit_noise_with_unit_noise_on_each_item(truth, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.preference_gps import Problem

    problem = Problem.draw(200, 40_000, 500, truth=truth)
    difference = problem.utility[problem.winner] - problem.utility[problem.loser]
    size = np.abs(difference)
    expected = ndtr(size / np.sqrt(2))
    for group in np.array_split(np.argsort(size), 5):
        surprise = np.mean(difference[group] > 0) - expected[group].mean()
        assert abs(surprise) < 4 * np.sqrt(0.25 / len(group))
