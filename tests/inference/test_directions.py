"""Utilities and their reverse: both are kept, with the weights that a sum over everything gives them."""

import itertools

import numpy as np
import pytest
from scipy.special import betaln, expit, logsumexp, softmax
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel

from fast_share import slow_except
from preflearn import Comparisons, PreferenceGP, load, save
from preflearn.active import suggest
from preflearn.data.join import concatenate
from preflearn.exceptions import DataWarning
from preflearn.models.gp import RELIABILITY
from preflearn.reproduce.studies.broken_assumptions import judges
from preflearn.terms.reliability import CARELESS, CENTRES, DEVIATIONS, LOOKING, SURE

VARIANCE = 2.0


def camps(plus, minus, n=12, each=40, seed=3):
    """Return comparisons by judges half of whom answer the contrary, and utilities."""
    u = np.random.default_rng(seed).normal(size=n)
    return answers(np.repeat([1.0, -1.0], [plus, minus]), each, seed, u), u


def answers(s, each, seed=0, u=(1.2, 0.0, -1.2), judged=True):
    """Return comparisons of few items by judges of these reliabilities."""
    rng = np.random.default_rng(seed)
    u, judge = np.asarray(u), np.repeat(np.arange(len(s)), each)
    first = rng.integers(0, len(u), len(judge))
    second = (first + rng.integers(1, len(u), len(judge))) % len(u)
    z = np.asarray(s)[judge] * (u[first] - u[second])
    outcome = np.where(rng.random(len(z)) < expit(z), 1.0, -1.0)
    return Comparisons(len(u), first, second, outcome, judge=[f"j{k}" for k in judge] if judged else None)


def learned(data, **options):
    kernel = ConstantKernel(VARIANCE, "fixed")
    return PreferenceGP(kernel, "logit", judge_reliability=True, n_restarts=0, random_state=0, **options).fit(data)


def log_prior_of_kinds(kinds):
    """Return the log probability of who is careful (0), careless (1) and contrary (2), but for a constant."""
    careful, careless, contrary = (kinds.count(k) for k in range(3))
    looking = betaln(careful + LOOKING[0], contrary + LOOKING[1])
    return betaln(careless + CARELESS[0], careful + contrary + CARELESS[1]) + looking


class Reference:
    """The posterior by sums over utilities on a grid, reliabilities, kinds of all judges, and deviations of a kind."""

    def __init__(self, data, points=45):
        n, names = data.n_items, np.unique(data.judge[data.judge != ""])
        axis = np.linspace(-6.5, 6.5, points)  # u less its mean over items, along two orthogonal directions
        basis = np.linalg.svd(np.eye(n) - 1.0 / n)[0][:, : n - 1]
        grid = np.stack(np.meshgrid(*[axis] * (n - 1), indexing="ij"), axis=-1).reshape(-1, n - 1)
        self.u = grid @ basis.T
        s = np.linspace(-3, 3, 241)

        def log_p(rows):
            """Return the log probability of some outcomes for all s and u."""
            ends = np.where(
                data.outcome[rows] > 0, (data.first[rows], data.second[rows]), (data.second[rows], data.first[rows])
            )
            pairs, count = np.unique(ends, axis=1, return_counts=True)
            x = (self.u[:, pairs[0]] - self.u[:, pairs[1]]).T
            return sum(-c * np.logaddexp(0, -s[:, None] * one) for c, one in zip(count, x, strict=True))

        judged = [log_p(data.judge == name) for name in names]
        top = [one.max(axis=0) for one in judged]
        start = -0.5 * (grid**2).sum(axis=1) / VARIANCE + np.sum(top, axis=0)
        if (data.judge == "").any():
            start = start + log_p(data.judge == "")[s == 1.0][0]
        total, of_s = [], []
        for deviation in DEVIATIONS:
            prior = -SURE * (np.log(deviation) + 0.5 * (RELIABILITY / deviation) ** 2)
            density = softmax(-0.5 * ((s - CENTRES[:, None]) / deviation) ** 2, axis=1)  # of each kind
            p = [density @ np.exp(one - most) for one, most in zip(judged, top, strict=True)]
            p_s = [(density * s) @ np.exp(one - most) for one, most in zip(judged, top, strict=True)]
            for kinds in itertools.product(range(3), repeat=len(names)):
                log_of = [np.log(np.maximum(one[k], 1e-300)) for one, k in zip(p, kinds, strict=True)]
                total.append(start + prior + log_prior_of_kinds(kinds) + np.sum(log_of, axis=0))
                of_s.append([a[k] / np.maximum(b[k], 1e-300) for a, b, k in zip(p_s, p, kinds, strict=True)])
        weight = np.exp(np.array(total) - logsumexp(total))
        self.weight = weight.sum(axis=0)
        self.s = np.einsum("kju,ku->j", np.array(of_s), weight)

    def better(self, one, other):
        return float(self.weight[self.u[:, one] > self.u[:, other] + 1e-9].sum())

    def best(self):
        return np.bincount(self.u.argmax(axis=1), self.weight, self.u.shape[1])

    def wins(self, one, other):
        return float(self.weight @ expit(self.u[:, one] - self.u[:, other]))

    def utility(self):
        return self.weight @ self.u


# whose reliabilities, how many answers of each, the seed, and how far answers may be off: more where kinds are unsure
CASES = {
    "two of three": ((1.0, 1.0, -1.0), 60, 0, 0.02),
    "one of two": ((1.0, -1.0), 60, 0, 0.05),
    "both agree": ((1.0, 1.0), 60, 1, 0.03),
    "one careless": ((1.0, 0.0, -1.0), 60, 0, 0.02),
    "few answers": ((1.0, 0.0, -1.0), 30, 0, 0.1),
    "two agree, few answers": ((1.0, 1.0), 30, 0, 0.06),
}


@pytest.fixture
def quiet(monkeypatch):
    """Two directions are warned of."""
    monkeypatch.setattr("preflearn.models.gp.DOUBT", 1.0)


@pytest.mark.parametrize("name", slow_except([*CASES], "two of three", "one of two"))
@pytest.mark.usefixtures("quiet")
def test_weights_and_answers_are_those_of_a_sum_over_everything(name):
    s, each, seed, close = CASES[name]
    data = answers(s, each, seed)
    model, truth = learned(data), Reference(data)
    assert model.reverse_probability_ > 0
    ends = [(0, 1), (0, 2), (1, 2)]
    pairs = Comparisons(3, *np.transpose(ends))
    better, wins = (model.predict_proba(pairs, noise=noise)[:, 1] for noise in (False, True))
    np.testing.assert_allclose(better, [truth.better(*pair) for pair in ends], atol=close)
    np.testing.assert_allclose(wins, [truth.wins(*pair) for pair in ends], atol=close)
    ranking = model.rank(n_samples=20_000)
    best = np.empty(3)
    best[ranking.row] = ranking.p_best
    np.testing.assert_allclose(best, truth.best(), atol=close + 0.01)
    np.testing.assert_allclose(model.reliability_, truth.s, atol=2 * close)
    np.testing.assert_allclose(model.predict_utility(), truth.utility(), atol=2 * close + 0.02)


@pytest.mark.usefixtures("quiet")
def test_outcomes_of_nobody_in_particular_know_the_direction():
    contradicting = answers((1.0, -1.0), 60)
    known = answers((1.0,), 4, 5)
    known = known._take(slice(None), judge=np.array([""] * len(known), dtype=object))
    together = concatenate(contradicting, known)
    model, truth = learned(together), Reference(together)
    pairs = Comparisons(3, [0, 0, 1], [1, 2, 2])
    better = model.predict_proba(pairs, noise=False)[:, 1]
    np.testing.assert_allclose(better, [truth.better(*pair) for pair in ((0, 1), (0, 2), (1, 2))], atol=0.04)
    assert abs(truth.better(0, 2) - Reference(contradicting).better(0, 2)) > 0.1  # they say something
    added = learned(contradicting).update(known)
    np.testing.assert_allclose(added.predict_proba(pairs, noise=False)[:, 1], better, atol=0.05)


@pytest.mark.usefixtures("quiet")
def test_even_camps_leave_both_ends_open():
    data, u = camps(10, 10)
    model = PreferenceGP(likelihood="logit", judge_reliability=True, n_restarts=0).fit(data)
    assert 0.3 < model.reverse_probability_ <= 0.5
    likely = model.in_likely_direction()
    assert abs(np.corrcoef(likely.predict_utility(), u)[0, 1]) > 0.9
    ranking = model.rank()
    ends = ranking.p_best[np.isin(ranking.row, np.argsort(u)[[0, 1, 2, -3, -2, -1]])]
    assert ranking.p_best.max() < 0.7
    assert ends.sum() > 0.9
    assert np.abs(model.reliability_).max() < 0.5
    assert (np.abs(list(model.reliabilities.values())) > 0.5).sum() >= 16
    # what a judge will answer does not depend on the direction
    np.testing.assert_allclose(model.predict_proba(data), likely.predict_proba(data), atol=0.02)
    draws = model.sample_utilities(n_samples=400, random_state=0) @ (u - u.mean())
    assert 0.3 < np.mean(draws > 0) < 0.7
    left = model.leave_one_out("judge")[:, 1]
    np.testing.assert_allclose(left, 0.5, atol=0.2)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("options", [{}, {"hyperparameters": "average", "n_points": 16}, {"side": "judge"}])
def test_a_file_and_an_update_keep_both_directions(tmp_path, options):
    data, _ = camps(3, 3, n=5)
    model = PreferenceGP(likelihood="logit", judge_reliability=True, n_restarts=0, random_state=0, **options).fit(data)
    assert model.reverse_probability_ > 0.05
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.reverse_probability_ == model.reverse_probability_
    np.testing.assert_allclose(
        again.predict_utility(return_std=True), model.predict_utility(return_std=True), atol=1e-8
    )
    np.testing.assert_allclose(again.predict_proba(data), model.predict_proba(data), atol=1e-8)
    np.testing.assert_allclose(again.reliability_, model.reliability_, atol=1e-8)
    assert again.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-8)
    more = clone(model).fit(data).update(data[:1])
    assert more.reverse_probability_ == pytest.approx(model.reverse_probability_, abs=0.02)
    improved = clone(model).fit(data).update(data[:1], hyperparameters="improve")
    assert improved.reverse_probability_ == pytest.approx(model.reverse_probability_, abs=0.15)


@pytest.mark.usefixtures("quiet")
def test_turning_all_outcomes_round_turns_the_answers_round():
    data, _ = camps(6, 5)
    model = PreferenceGP(likelihood="logit", judge_reliability=True, n_restarts=0)
    one, other = clone(model).fit(data), clone(model).fit(data._take(slice(None), outcome=-data.outcome))
    np.testing.assert_allclose(other.predict_utility(), -one.predict_utility(), atol=1e-5)
    np.testing.assert_allclose(other.reliability_, one.reliability_, atol=1e-5)
    assert other.reverse_probability_ == pytest.approx(one.reverse_probability_, abs=1e-5)


def test_judges_who_agree_have_one_direction():
    data, _ = camps(12, 0)
    model = PreferenceGP(likelihood="logit", judge_reliability=True, n_restarts=0).fit(data)
    assert model.reverse_probability_ == 0
    assert model.in_likely_direction() is model
    assert "reverse" not in model._learned.state()


def test_two_directions_are_warned_of():
    data, _ = camps(4, 4, n=6)
    with pytest.warns(DataWarning, match="some of the 8 judges answer the opposite of others. Two rankings"):
        PreferenceGP(likelihood="logit", judge_reliability=True, n_restarts=0).fit(data)


@pytest.mark.usefixtures("quiet")
def test_suggestions_are_those_of_one_direction():
    data, _ = camps(4, 4, n=6)
    model = PreferenceGP(likelihood="logit", judge_reliability=True, n_restarts=0).fit(data)
    names = list(model.judges_)
    found, one = (suggest(each, n=4, judges=names) for each in (model, model.in_likely_direction()))
    np.testing.assert_array_equal(found.gain, one.gain)
    assert (found.gain > 1e-3).all()  # contrary judges tell as much as careful ones


@pytest.mark.usefixtures("quiet")
def test_the_evidence_of_both_is_the_sum():
    data, _ = camps(5, 5)
    model = PreferenceGP(likelihood="logit", judge_reliability=True, n_restarts=0).fit(data)
    alone = model.in_likely_direction()._learned.log_evidence
    assert model.log_evidence_ == pytest.approx(alone - np.log(1 - model.reverse_probability_))
    assert sum(weight for weight, _ in model._mixture) == pytest.approx(1)


@pytest.mark.usefixtures("quiet")
def test_camps_are_found_where_all_judges_together_say_nothing():
    drawn = judges(np.random.default_rng(1), np.repeat([1.0, -1.0], 10))
    model = PreferenceGP(likelihood="logit", judge_reliability=True, n_restarts=0).fit(drawn.data)
    found = np.array(list(model.reliabilities.values()))
    assert (np.abs(found) > 0.5).sum() >= 16
    assert abs(np.corrcoef(found, drawn.reliability)[0, 1]) > 0.9
