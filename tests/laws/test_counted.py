"""Votes that are counted say what the same votes say when they are listed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fast_share import cases
from preflearn.analysis.analyse import checks_of
from preflearn.analysis.ranker import rank
from preflearn.data import Comparisons
from preflearn.models import BradleyTerry
from preflearn.selection import held_out
from preflearn.structure import circle_search


@st.composite
def votes(draw, *, beside=True):
    """Comparisons of a few items with many equal rows, some with what may stand beside them."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, m = draw(st.integers(2, 6)), draw(st.integers(30, 150))
    utility = rng.normal(size=n)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    lead = utility[first] - utility[second] + rng.logistic(size=m)
    tie = draw(st.sampled_from([0.0, 0.4]))
    outcome = np.where(np.abs(lead) <= tie, 0.0, np.sign(lead))
    fields = {}
    kind = (
        draw(st.sampled_from(["none", "judge", "cluster", "covariates", "weight", "odd weight"])) if beside else "none"
    )
    if kind == "judge":
        fields["judge"] = rng.choice(["ann", "bob", "cy", ""], m)
    if kind == "cluster":
        fields["cluster"] = rng.choice(["p", "q", "r", "s", ""], m)
    if kind == "covariates":
        fields["covariates"] = rng.integers(-1, 2, m).astype(float)
    if "weight" in kind:
        fields["weight"] = rng.choice([1.0, 2.0] if kind == "weight" else [0.3, 1.7], m)
    names = [f"item {k}" for k in rng.permutation(n)]
    return Comparisons._build(n, first, second, outcome, names=names, **fields)


@pytest.fixture(autouse=True)
def _draw_as_of_many(monkeypatch):
    # outcomes of few rows are drawn one by one, others as counts
    monkeypatch.setattr(circle_search, "FEW_ROWS", 0)


@settings(max_examples=cases(30, 300), deadline=None)
@given(votes())
def test_what_is_counted_says_how_much_was_listed(data):
    counted = data.counted()
    assert counted.n_listed == len(data) == data.n_listed
    assert len(counted) < len(data)
    assert counted.summary() == data.summary()
    again = counted.counted()
    assert np.array_equal(again.times, counted.times)
    assert np.array_equal(again.weight, counted.weight)
    one, other = data.pairs, counted.pairs
    for name in ("low", "high", "wins", "losses", "ties"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)


def said(result):
    """Return all that an analysis says, words apart from numbers."""
    summary = result.summary()
    verdict = result.rankability
    words = {
        "model": result.ladder.terms.name,
        "n": summary["n_comparisons"],
        "warnings": [one.text for one in result.warnings],
        "checks": [str(one) for one in checks_of(result.analysis)],
        "verdict": None if verdict is None else verdict.sentence,
        "record": [result.analysis.record.text(row) for row in range(result.data.n_items)],
        "table": [str(cell) for cell in result.table("elo", None)["item"]],
    }
    numbers = {
        "evidence": [one.log_evidence for one in result.ladder.steps],
        "utility": result.ranking.utility,
        "low": result.ranking.low,
        "high": result.ranking.high,
        "best": result.ranking.p_best,
        "p_value": [] if verdict is None else [verdict.p_value, *verdict.log_evidence.values()],
    }
    return words, numbers


def assert_same(one, other):
    words, numbers = said(one)
    words_of_other, numbers_of_other = said(other)
    assert words == words_of_other
    for name, values in numbers.items():
        np.testing.assert_allclose(values, numbers_of_other[name], rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.slow
@settings(max_examples=cases(4, 40), deadline=None, phases=[Phase.generate])  # to shrink an analysis takes minutes
@given(votes())
def test_an_analysis_of_counts_is_that_of_the_list(data):
    assert_same(rank(data), rank(data.counted()))


@pytest.mark.parametrize("by", ["pair", "judge"])
def test_the_same_is_held_out(by):
    rng = np.random.default_rng(0)
    first = np.minimum(rng.geometric(0.3, 200) - 1, 4)  # some pairs, and judges, say much more than others
    second = (first + rng.integers(1, 6, 200)) % 6
    outcome = np.where(second - first + rng.logistic(size=200) > 0, 1.0, -1.0)
    data = Comparisons(6, first, second, outcome, judge=np.array(list("abcdefg"))[np.minimum(first + second, 6)])
    listed, counted = (held_out(BradleyTerry, X, by=by, n_folds=3) for X in (data, data.counted()))
    for name in ("accuracy", "log_loss", "calibration_error"):
        assert getattr(counted, name) == pytest.approx(getattr(listed, name), rel=1e-6)
