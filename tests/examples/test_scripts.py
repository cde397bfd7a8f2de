"""What nobody runs is dead: examples and benchmarks run here, in small, and keep their own claims."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fast_share import THOROUGH, thorough

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments):
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_benchmarks_run_in_small():
    out = run("-m", "benchmarks", "--small")
    assert out.count("| yes |") + out.count("| NO |") == 14 + (2 if find_spec("choix") else 0)


@pytest.mark.data
def test_195100_sparse_features_are_ranked_without_being_made_dense(data_dir):
    from preflearn import KPCRank, RankRLSCV
    from preflearn.io import read_svmlight

    folder = data_dir / "bioinfer_parse_rlscore"
    train = read_svmlight(folder / "rank_train.svmlight", n_features=195100)
    test = read_svmlight(folder / "rank_test.svmlight", n_features=195100)
    model = RankRLSCV().fit(train)
    assert model.solver_ == "dual"
    assert model.coef_.shape == (195100,)
    assert model.score(test) > 0.65
    assert KPCRank(20, "linear").fit(train).score(test) > 0.55


@pytest.mark.slow
def test_the_evidence_knows_circles(example):
    assert "1 hidden state: the evidence is for utility" in example("inconsistent_preferences.py")


@pytest.mark.slow
def test_the_benchmark_of_pairs_runs_in_small():
    out = run("-m", "benchmarks.cyclic", "--small", "--threads", "1", "--rows", *("12345" if THOROUGH else "13"))
    evidence = re.findall(r"^\| 1: .*MB \| ([-\d.]+) \|", out, flags=re.MULTILINE)
    assert len(evidence) == 2
    assert float(evidence[0]) == pytest.approx(float(evidence[1]), abs=0.15)
    assert "times faster" in out


@pytest.mark.slow
def test_the_benchmark_of_judges_runs_in_small():
    out = run("-m", "benchmarks.judges", "--small")
    evidence = re.findall(r"MB \| ([-\d.]+) \|", out)
    assert len(evidence) == 2
    assert float(evidence[0]) == pytest.approx(float(evidence[1]), abs=0.11)


@thorough
@pytest.mark.slow
def test_the_command_line_is_timed():
    out = run("-m", "benchmarks.command", "--small")
    assert "preflearn --help" in out
    assert out.count("rank 100 comparisons of 20 items") >= 3
