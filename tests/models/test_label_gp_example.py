"""The example runs, in small, and keeps its own claims."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "examples/label_preferences.py", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_label_orders_by_expected_utility(tmp_path):
    picture = tmp_path / "labels.png"
    out = run("--figure3", str(picture), "--trials", "3")
    assert picture.stat().st_size > 10_000
    error, correlation = re.search(r"\| 10 \| ([\d.]+) .* \| ([\d.]+) ", out).groups()
    assert float(error) <= 0.05
    assert float(correlation) >= 0.9


@pytest.mark.slow
@pytest.mark.data
def test_classification_sets_in_small(data_dir):
    out = run(str(data_dir), "--table2", "--trials", "1", "--small")
    assert len(re.findall(r"^\| (dna|waveform|satimage|segment|usps) \|", out, flags=re.MULTILINE)) == 5
