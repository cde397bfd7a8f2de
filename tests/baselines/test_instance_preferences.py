"""The examples of the preference GP paper run, in small, and say what they should."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments):
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def load_example():
    spec = importlib.util.spec_from_file_location("instance_preferences", ROOT / "examples" / "instance_preferences.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_set(path, n, seed, sex=False):
    """A set with a word in the first column (as abalone has) or none, a useless feature, and equal targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    word = rng.integers(0, 3, n)
    y = np.round(2 * X[:, 0] + np.sin(2 * X[:, 1]) + (word if sex else 0), 1)
    lines = ["Sex,a,b,c,y" if sex else "a,b,c,y"]
    for i in range(n):
        lines.append(",".join([*(["FIM"[word[i]]] if sex else []), *map(str, X[i]), str(y[i])]))
    path.write_text("\n".join(lines) + "\n")


def test_pairs_are_distinct_untied_and_tested_on_others(tmp_path):
    example = load_example()
    write_set(tmp_path / "few.csv", 30, 0)
    X, y = example.load(tmp_path / "few.csv")
    train, test = example.draw_pairs(X, y, 100, 20_000, np.random.default_rng(0))
    drawn = [{(i, j) for i, j in zip(part.first, part.second, strict=True)} for part in (train, test)]
    low, high = np.triu_indices(30, 1)
    untied = {(i, j) for i, j in zip(low, high, strict=True) if y[i] != y[j]}
    assert len(untied) < 435  # there are ties to leave out
    assert len(drawn[0]) == len(train) == 100
    assert len(drawn[1]) == len(test)
    assert not drawn[0] & drawn[1]
    assert drawn[0] | drawn[1] == untied  # fewer than 20,000: all others test
    for part in (train, test):
        np.testing.assert_array_equal(part.outcome, np.sign(y[part.first] - y[part.second]))
    write_set(tmp_path / "many.csv", 400, 1, sex=True)
    X, y = example.load(tmp_path / "many.csv")
    assert X.shape == (400, 6)  # one column for each of three words
    np.testing.assert_array_equal(X[:, :3].sum(axis=1), 1)
    train, test = example.draw_pairs(X, y, 100, 20_000, np.random.default_rng(0))
    assert (len(train), len(test)) == (100, 20_000)
    # every pair is as likely as any other: items occur equally often
    count = np.bincount(np.concatenate([test.first, test.second]), minlength=400)
    assert abs(count - 100).max() < 50


@pytest.mark.slow
def test_table_one_runs_on_generated_sets(tmp_path):
    write_set(tmp_path / "machine_cpu.csv", 60, 2)
    write_set(tmp_path / "abalone.csv", 60, 3, sex=True)
    sets = ["--sets", "machine_cpu", "abalone"]
    out = run("examples/instance_preferences.py", str(tmp_path), "--small", "--trials", "2", *sets)
    rows = re.findall(r"^\| (\w+) \(50\) \| ([^|]+) \| ([\d.]+) ± [\d.]+ \|", out, flags=re.MULTILINE)
    assert [method for name, method, _ in rows if name == "abalone"] == [
        "GP",
        "GP-ARD",
        "GP, EP",
        "GP-ARD, EP",
        "CC-SVM",
    ]
    assert len(rows) == 10
    assert all(float(error) < 25 for *_, error in rows)


@pytest.mark.slow
@pytest.mark.data
def test_table_one_on_real_pairs(data_dir):
    sets = ["--sets", "pyrimidines", "--methods", "GP", "GP, EP", "--trials", "5"]
    out = run("examples/instance_preferences.py", str(data_dir / "torgo_regression"), *sets)
    rows = re.findall(r"^\| pyrimidines \(100\) \| ([^|]+) \| ([\d.]+) ±[^|]+\|[^|]+\| [\d.]+ \| ([\d.]+)", out, re.M)
    assert len(rows) == 2
    assert all(float(error) <= 14.43 + 2.02 for _, error, _ in rows)  # the paper's figure and its deviation
    assert float(rows[1][2]) <= 0.04  # EP is calibrated


@pytest.mark.slow
def test_cost_is_measured_in_small(tmp_path):
    figure = tmp_path / "cost.png"
    out = run("-m", "benchmarks.scaling", "--small", "--repeats", "1", "--figure", str(figure))
    assert len(re.findall(r"^\| (?:GP|CC-SVM) \| -?[\d.]+ \| -?[\d.]+ \| -?[\d.]+ \|$", out, flags=re.MULTILINE)) == 4
    assert figure.stat().st_size > 10_000
