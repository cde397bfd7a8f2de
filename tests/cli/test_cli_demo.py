"""The demo says what came out, whatever it is, and the same each time."""

import re

import numpy as np
import pytest

from preflearn.cli.demo import Method, compare


@pytest.mark.slow
def test_the_demo_runs_and_says_what_came_out(run):
    code, out, err = run("demo", "--seed", 2)
    assert (code, err) == (0, "")
    assert out.count("What came out: ") == 3
    for name in ("RankRLS", "RLS", "KPCRank", "KPCRank (rbf)", "RankRLS (linear)", "true utilities"):
        assert re.search(rf"^ {re.escape(name)} +.* \d+\.\d % +0\.\d{{4}} +0\.\d{{4}}$", out, re.MULTILINE), name
    assert max(map(len, out.splitlines())) <= 80
    assert "A single ranking explains these comparisons." in out.partition("strengths")[2].partition("styles")[0]
    assert "These preferences run in circles" in out.partition("styles\n")[2]


@pytest.mark.slow
def test_the_demo_is_deterministic(run):
    _, out, _ = run("demo", "--seed", 2)
    assert run("demo", "--seed", 2)[1] == out
    assert run("demo", "--seed", 3)[1] != out


@pytest.mark.slow
def test_the_numbers_of_the_demo_are_those_of_the_library(run):
    from preflearn import RankRLSCV
    from preflearn.datasets import make_sinc_preferences

    data = make_sinc_preferences(n_test_pairs=2000, random_state=0)
    model = RankRLSCV(kernel="rbf").fit(data.train)
    error = 1 - model.score(data.test)
    line = re.search(r"^ RankRLS \(rbf\) .*$", run("demo")[1], re.MULTILINE)[0]
    assert f"{error:.4f}" in line
    assert f"alpha {model.alpha_:.3g}" in line


def errors(mean, n=100):
    return np.tile([mean - 0.1, mean + 0.1], n // 2)


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (errors(0.2), errors(0.4), "A puts more pairs in the right order than B, by 20.0 percentage points"),
        (errors(0.4), errors(0.3), "B puts more pairs in the right order than A, by 10.0 percentage points"),
        (errors(0.3), errors(0.3), "no clear difference between A and B (0.0"),
        (errors(0.3), 0.301 + 0.1 * np.random.default_rng(0).standard_normal(100), "no clear difference"),
    ],
)
def test_the_verdict_follows_the_numbers(one, other, words):
    assert words in compare(Method("A", "", one), Method("B", "", other))
