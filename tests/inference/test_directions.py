"""Utilities and their reverse: both are kept, with the weights that a sum over everything gives them."""

import itertools

import numpy as np
import pytest
from scipy.special import betaln, expit, logsumexp, softmax
from sklearn.gaussian_process.kernels import ConstantKernel

from preflearn import Comparisons, PreferenceGP
from preflearn.models.gp import RELIABILITY
from preflearn.terms.reliability import CARELESS, CENTRES, DEVIATIONS, LOOKING, SURE

VARIANCE = 2.0


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

    def __init__(self, data, points=61):
        n, names = data.n_items, np.unique(data.judge[data.judge != ""])
        axis = np.linspace(-6.5, 6.5, points)  # u less its mean over items, along two orthogonal directions
        basis = np.linalg.svd(np.eye(n) - 1.0 / n)[0][:, : n - 1]
        grid = np.stack(np.meshgrid(*[axis] * (n - 1), indexing="ij"), axis=-1).reshape(-1, n - 1)
        self.u = grid @ basis.T
        s = np.linspace(-3, 3, 241)

        def log_p(rows):
            """Return the log probability of some outcomes for all s and u."""
            ends = np.where(data.outcome[rows] > 0, (data.first[rows], data.second[rows]), (data.second[rows], data.first[rows]))
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


CASES = {
    "two of three": (1.0, 1.0, -1.0),
    "one of two": (1.0, -1.0),
    "both": (1.0, 1.0),
    "careless": (1.0, 0.0, -1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_weights_and_answers_are_those_of_a_sum_over_everything(name):
    data = answers(CASES[name], 60)
    model, truth = learned(data), Reference(data)
    assert model._learned.reverse is not None
    pairs = Comparisons(3, [0, 0, 1], [1, 2, 2])
    better = model.predict_proba(pairs, noise=False)[:, 1]
    wins = model.predict_proba(pairs)[:, 1]
    ends = [(0, 1), (0, 2), (1, 2)]
    np.testing.assert_allclose(better, [truth.better(*pair) for pair in ends], atol=0.02)
    np.testing.assert_allclose(wins, [truth.wins(*pair) for pair in ends], atol=0.02)
    ranking = model.rank(n_samples=20_000)
    best = np.empty(3)
    best[ranking.row] = ranking.p_best
    np.testing.assert_allclose(best, truth.best(), atol=0.02)
    np.testing.assert_allclose(model.reliability_, truth.s, atol=0.05)
    np.testing.assert_allclose(model.predict_utility(), truth.utility(), atol=0.08)
