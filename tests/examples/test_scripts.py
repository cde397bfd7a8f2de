"""What nobody runs is dead: examples and benchmarks run here, in small, and keep their own claims."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fast_share import THOROUGH, cases, thorough

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments):
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_sinc_margins_on_many_seeds(example):
    out = example("sinc.py", "--seeds", cases(4, 20))
    worst = [float(value) for value in re.findall(r"worst ([\d.]+)", out)]
    assert len(worst) == 2
    assert max(worst) <= 0.005


@pytest.mark.slow
@pytest.mark.data
def test_ohsumed_reaches_the_papers_map(data_dir, example):
    out = example("letor.py", data_dir / "letor_ohsumed", "--paper", "--discount", "letor")
    ours = float(re.search(r"MAP +([\d.]+)", out)[1])
    assert ours >= 0.447
    distance = float(re.search(r"RankRLS: largest distance from the paper ([\d.]+)", out)[1])
    assert distance <= 0.0105


@pytest.mark.slow
def test_letor_example_on_generated_files(tmp_path, example):
    from preflearn.datasets import make_ltr

    for part in range(1, 6):
        data = make_ltr(8, 10, 4, n_levels=3, random_state=part)
        lines = [
            f"{int(grade)} qid:{100 * part + q} " + " ".join(f"{k}:{v:.6f}" for k, v in enumerate(row, 1))
            for row, grade, q in zip(data.X, data.y, data.qid, strict=True)
        ]
        (tmp_path / f"S{part}.txt").write_text("\n".join(lines) + "\n")
    out = example("letor.py", tmp_path)
    assert re.search(r"^MAP +0\.\d", out, flags=re.MULTILINE)


@pytest.mark.slow
def test_benchmarks_run_in_small():
    out = run("-m", "benchmarks", "--small")
    assert out.count("| yes |") + out.count("| NO |") == 11 + (2 if find_spec("choix") else 0)


@pytest.mark.slow
@pytest.mark.data
def test_the_noise_study_runs_on_real_parses(data_dir):
    out = run("-m", "benchmarks.noise", "--real", str(data_dir / "bioinfer_parse_rlscore"), "--draws", "1")
    assert len(re.findall(r"^\| (KPCR|KPCRank|RLS|RankRLS) \|", out, flags=re.MULTILINE)) == 4


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
def test_simulations_of_inconsistent_preferences_run_in_small(example):
    out = example("inconsistent_preferences.py", "--repeats", cases(1, 2), "--small")
    assert len(re.findall(r"^\| [1235], 0\.5 \|", out, flags=re.MULTILINE)) == 5
    ranked = re.search(r"^\| 1, 0\.5 \| ([\d.]+)", out, flags=re.MULTILINE)[1]
    assert float(ranked) > 0.85


@pytest.mark.slow
@pytest.mark.data
def test_real_inconsistent_preferences_run_in_small(data_dir, example):
    out = example("inconsistent_preferences.py", data_dir, "--repeats", 1, "--small", "--parts", "real")
    for name in ("chameleons", "flat lizards", "NFL, 2 seasons", "citations"):
        assert re.search(rf"^\| {name}.*0\.\d", out, flags=re.MULTILINE), name


@pytest.mark.slow
def test_the_benchmark_of_pairs_runs_in_small():
    out = run("-m", "benchmarks.cyclic", "--small", "--threads", "1", "--rows", *("12345" if THOROUGH else "13"))
    evidence = re.findall(r"^\| 1: .*MB \| ([-\d.]+) \|", out, flags=re.MULTILINE)
    assert len(evidence) == 2
    assert float(evidence[0]) == pytest.approx(float(evidence[1]), abs=0.15)
    assert "times faster" in out


@pytest.mark.slow
@pytest.mark.data
def test_judges_of_cars_are_told_apart(data_dir, example):
    out = example("judges.py", data_dir / "car_preferences", "--small")
    accuracy = dict(re.findall(r"^\| ([a-z ,]+) \| [-\d.]+ \| (0\.\d+)", out, flags=re.MULTILINE))
    assert len(accuracy) == 4
    assert float(accuracy["and one for each"]) > float(accuracy["one for all"]) + 0.1
    assert "rank correlation" in out


@pytest.mark.slow
def test_the_power_of_the_verdict_is_counted_in_small(example):
    few = () if THOROUGH else ("--repeats", 1, "--shares", 0.4, 1)
    out = example("rankability_power.py", "--small", "--items", 8, *few)
    rows = re.findall(r"^\| (ranking|circles|both) \| (?:yes|no) \|(.*)\|$", out, flags=re.MULTILINE)
    assert len(rows) == 6
    found = {name: [float(cell) for cell in cells.split("|")] for name, cells in rows}
    assert found["circles"][-1] == 1.0  # without features, the last of the two
    assert found["ranking"][-1] == 0.0
    if not THOROUGH:
        return
    assert "| a plane | 6 |" in example("rankability_power.py", "--small", "--along")
    out = example("rankability_power.py", "--small", "--large")
    assert len(re.findall(r"^\| \d+% \|.*\| [01]\.\d\d \|$", out, flags=re.MULTILINE)) == 6


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


@pytest.mark.slow
def test_the_coverage_of_rankings_is_counted_in_small(example):
    out = example("rank_coverage.py", "--small", "--repeats", cases(1, 3))
    shares = re.findall(r"\| rank \| ([\d.]+)%", out)
    assert len(shares) == 11
    assert min(map(float, shares)) > 50
    if not THOROUGH:
        return
    rows = re.findall(r"^\| \d+, .*\|$", example("rank_coverage.py", "--small", "--methods"), re.M)
    assert len(rows) == 3


@pytest.mark.slow
@pytest.mark.parametrize("about", ["circles", "weights", "matched"] if THOROUGH else ["weights"])
def test_circles_weights_and_matched_pairs_are_counted_in_small(about, example):
    out = example("rank_coverage.py", "--small", "--repeats", cases(1, 3), f"--{about}")
    assert len(re.findall(r"^\| .*\d.*\|$", out, re.MULTILINE)) >= 3
