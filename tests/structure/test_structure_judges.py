"""Reports on judges: the careless, the contrary and those with a taste of their own are told apart."""

import numpy as np
import pytest

from fast_share import mostly_slow
from preflearn import Comparisons, PreferenceGP
from preflearn.data.pair_table import contradictions, net_preferences
from preflearn.exceptions import DataError
from preflearn.structure import judge_report
from preflearn.structure.graph import cyclic_triads
from preflearn.structure.judges import _Answers, _verdict

pytestmark = pytest.mark.filterwarnings("ignore:.*repeat an earlier one exactly:preflearn.exceptions.DataWarning")


def crowd(seed, each=40):
    """Eight good judges, one who throws coins, one who means the contrary, and one with another taste."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2))
    names = [*(f"good {k}" for k in range(8)), "coin", "contrary", "other"]
    judge = np.repeat(names, each)
    m = len(judge)
    first = rng.integers(0, 12, m)
    second = (first + rng.integers(1, 12, m)) % 12
    taste = np.where(judge == "other", 1, 0)
    strength = np.select([judge == "coin", judge == "contrary"], [0.0, -4.0], 4.0)
    z = strength * (X[first, taste] - X[second, taste]) + rng.normal(size=m)
    return Comparisons(X, first, second, np.sign(z), judge=judge)


@pytest.mark.parametrize("seed", mostly_slow(range(3), 3))
def test_verdicts(seed):
    report = judge_report(crowd(seed))
    verdict = dict(zip(report.judge, report.verdict, strict=True))
    assert verdict["coin"] == "like chance"
    assert verdict["contrary"] == "contrary"
    assert verdict["other"] in ("on its own", "as expected", "contrary")
    assert all(verdict[f"good {k}"] == "as expected" for k in range(8))
    numbers = dict(zip(report.judge, range(len(report)), strict=True))
    other, coin = numbers["other"], numbers["coin"]
    assert report.consistency[other] > 0.5
    assert report.consistency[coin] < 0.5
    assert report.circles[coin] > report.circles[other]
    assert report.likeness[numbers["contrary"]] < -0.5
    assert report.likeness[numbers["good 1"]] > 0.5
    assert list(report.reliability) == sorted(report.reliability)
    lines = str(report).splitlines()
    assert len(lines) == 1 + 11 + 5  # the title, a line for each judge, and the legend
    assert len(report.to_dict()["verdict"]) == 11


def test_contradictions_ties_and_few_answers():
    data = Comparisons(
        None,
        ["a", "b", "a", "b", "a", "d"],
        ["b", "a", "b", "c", "c", "c"],
        [1, 1, 1, 1, 0, -1],
        judge=["x", "x", "y", "y", "y", ""],
    )
    model = PreferenceGP(ties=True, judge_kernel="identity", hyperparameters="fixed").fit(data)
    report = judge_report(model)
    assert sorted(report.judge) == ["x", "y"]
    x = list(report.judge).index("x")
    assert report.contradictions[x] == 1
    assert report.n_comparisons[x] == 2
    assert set(report.verdict) == {"undecided"}
    assert np.isnan(report.circles).all()


@pytest.mark.slow
def test_reliability_is_one_for_judges_who_answer_as_the_model_does():
    rng = np.random.default_rng(0)
    n, each, n_judges = 15, 60, 30
    utility = rng.normal(0, 1.0, n)
    judge = np.repeat(np.arange(n_judges), each)
    first = rng.integers(0, n, len(judge))
    second = (first + rng.integers(1, n, len(judge))) % n
    outcome = np.sign(utility[first] - utility[second] + rng.normal(size=len(judge)))
    report = judge_report(Comparisons(None, first, second, outcome, judge=judge))
    # shrunken towards 1, so that deviations are smaller than those of the answers alone
    standard = (report.reliability - 1) / report.std
    assert abs(standard.mean()) < 3 / np.sqrt(n_judges)
    assert (report.verdict == "as expected").all()


@pytest.mark.slow
def test_few_answers_accuse_nobody():
    accused = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        f = rng.normal(0, 1.5, 8)
        judge = np.repeat(np.arange(8), 10)
        first = rng.integers(0, 8, 80)
        second = (first + rng.integers(1, 8, 80)) % 8
        z = f[first] - f[second] + rng.normal(size=80)
        report = judge_report(Comparisons(8, first, second, np.sign(z), judge=judge))
        accused += sum(verdict not in ("as expected", "undecided") for verdict in report.verdict)
    assert accused <= 3


@pytest.mark.slow
def test_symmetric_judges_are_like_nobody():
    orders = {"x": "abc", "y": "bca", "z": "cab"}
    rows = [(o[i], o[j], judge) for judge, o in orders.items() for i, j in ((0, 1), (0, 2), (1, 2)) for _ in range(10)]
    first, second, judge = zip(*rows, strict=True)
    assert np.isnan(judge_report(Comparisons(None, first, second, judge=judge)).likeness).all()


@pytest.mark.slow
def test_mistakes():
    with pytest.raises(DataError, match="no judge has a name"):
        judge_report(Comparisons(None, ["a", "b"], ["b", "c"], judge=["", ""]))
    data = crowd(0)
    tied = judge_report(data._take(slice(None), outcome=np.where(np.arange(len(data)) % 5, data.outcome, 0.0)))
    assert len(tied) == 11

    data = Comparisons(None, ["a"], ["b"])
    with pytest.raises(DataError, match="who judged"):
        judge_report(data)
    with pytest.raises(ValueError, match="does not distinguish judges"):
        judge_report(PreferenceGP(hyperparameters="fixed").fit(data))
    with pytest.raises(TypeError, match="got int"):
        judge_report(3)


def test_one_who_mostly_answers_against_weak_expectations_is_contrary_and_not_careless():
    # of 24 answers that the others lead to expect with 2/3, 4 come true: a coin would give 12
    x, weight, judge = np.full(24, np.log(2.0)), np.ones(24), np.zeros(24, dtype=int)
    against, half = (_Answers(judge, np.arange(24) < right, weight, 1) for right in (4, 11))
    slope, deviation = against.slopes(x)
    assert slope[0] < 0
    assert _verdict(slope[0], deviation[0], 1.0, 0.4, against.gains(slope, x)[0], 2.0) == "contrary"
    slope, deviation = half.slopes(x)
    assert _verdict(slope[0], deviation[0], 0.0, 0.4, half.gains(slope, x)[0], 2.0) == "like chance"
    expected = 4 * np.log(2 / 3) + 20 * np.log(1 / 3) + 24 * np.log(2)
    np.testing.assert_allclose(against.gains(np.ones(1), x), expected)


def test_a_judge_is_judged_the_same_whoever_else_is_there():
    data = crowd(3, each=30)
    model = PreferenceGP(judge_kernel="identity", hyperparameters="fixed").fit(data)
    report = judge_report(model)
    for i, name in enumerate(report.judge):
        own = data[np.flatnonzero(data.judge == name)]
        assert report.contradictions[i] == contradictions(own)
        circles, triples = cyclic_triads(*net_preferences(own))
        np.testing.assert_equal(report.circles[i], circles / triples if triples else np.nan)
        p = model.leave_one_out("judge")[data.judge == name, 1]
        np.testing.assert_allclose(report.expected[i], np.maximum(p, 1 - p).mean())
        alone = _Answers(np.zeros(len(own), dtype=int), own.outcome > 0, np.ones(len(own)), 1)
        np.testing.assert_allclose(report.reliability[i], alone.slopes(np.log(p / (1 - p)))[0][0], rtol=1e-8)


@pytest.mark.slow
def test_of_many_judges_with_few_answers_none_is_accused():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, m, u = 10, 400, 1.5 * rng.normal(size=10)
        first = rng.integers(0, n, m)
        second = (first + rng.integers(1, n, m)) % n
        won = np.sign(u[first] - u[second] + rng.logistic(size=m))
        report = judge_report(Comparisons(n, first, second, won, judge=np.arange(m) % 100))
        assert not {"like chance", "contrary"} & set(report.verdict.tolist())
