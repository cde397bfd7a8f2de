"""Held-out predictions: nobody predicts what it has seen, and two models are compared fairly."""

from typing import ClassVar

import numpy as np
import pytest

from preflearn import BradleyTerry, Comparisons, PreferenceGP
from preflearn.exceptions import DataError
from preflearn.selection import held_out, outcome_probability, paired_difference


def votes(seed, n=10, m=160, spread=1.5, features=False, judges=None):
    rng = np.random.default_rng(seed)
    u = spread * rng.normal(size=n)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    outcome = np.where(u[first] - u[second] + rng.logistic(size=m) > 0, 1.0, -1.0)
    judge = None if judges is None else rng.integers(0, judges, m).astype(str)
    return Comparisons(np.column_stack([u, rng.normal(size=n)]) if features else n, first, second, outcome, judge=judge)


class Spy:
    """Remembers what it was fitted on and asked."""

    log: ClassVar[list] = []

    def fit(self, X, y=None):
        self.X = X
        return self

    def predict_proba(self, X):
        Spy.log.append((self.X, X))
        return np.full((len(X), 2), 0.5)


@pytest.mark.parametrize("by", ["pair", "item", "judge"])
def test_nothing_held_out_was_seen(by):
    data = votes(0, features=True, judges=7)
    Spy.log.clear()
    found = held_out(Spy, data, by=by, n_folds=4)
    assert len(Spy.log) == found.n_folds == 4
    for train, test in Spy.log:
        if by == "pair":
            seen = {frozenset(p) for p in zip(train.first, train.second, strict=True)}
            assert not any(frozenset(p) in seen for p in zip(test.first, test.second, strict=True))
        elif by == "judge":
            assert not set(train.judge) & set(test.judge)
        else:
            seen = {*train.first, *train.second}
            assert all(a not in seen or b not in seen for a, b in zip(test.first, test.second, strict=True))
    assert set(found.row) == set(range(len(data)))
    if by == "judge":  # answers of one judge go together in a paired test
        assert len(set(found.unit)) == len(set(data.judge))
    assert found.accuracy == 0.5
    np.testing.assert_allclose(found.log_loss, np.log(2))
    np.testing.assert_allclose(found.losses, np.log(2))


def test_figures_are_those_of_the_metrics():
    found = held_out(lambda: PreferenceGP(n_restarts=0), votes(1))
    assert found.accuracy > 0.6
    assert found.log_loss < np.log(2)
    np.testing.assert_allclose(found.log_loss, found.losses.mean(), rtol=1e-12)
    assert found.tau == 2 * found.accuracy - 1
    assert 0 <= found.calibration_error < 0.2


def test_as_many_folds_as_pairs_at_most():
    assert held_out(Spy, Comparisons(3, [0, 1], [1, 2]), n_folds=10).n_folds == 2


def test_fit_of_margins_has_an_accuracy():
    class Margins(Spy):
        predict_proba = property()

        def predict(self, X):
            return np.ones(len(X))

    data = votes(2)
    assert held_out(Margins, data).accuracy == np.mean(data.outcome > 0)


@pytest.mark.slow
def test_a_better_model_is_found_better_and_the_same_one_is_not():
    data = votes(3, m=400)
    good, bad = (held_out(lambda: PreferenceGP(random_state=0), data) for _ in range(2))
    assert paired_difference(good, bad).p_value == 1.0
    coin = held_out(Spy, data)
    found = paired_difference(good, coin)
    assert found.mean < 0
    assert found.p_value < 0.001
    assert found.std_error > 0
    np.testing.assert_allclose(found.mean, good.log_loss - coin.log_loss, rtol=1e-9)
    back = paired_difference(coin, good)
    assert back.mean == -found.mean


@pytest.mark.slow
def test_the_paired_test_keeps_its_level():
    """Two models that are equally good: p-values are uniform, also where pairs repeat."""

    class Noise(Spy):
        def predict_proba(self, X):
            pair = np.minimum(X.first, X.second) * 100 + np.maximum(X.first, X.second)
            p = np.array([np.random.default_rng([Noise.seed, k]).uniform(0.3, 0.7) for k in pair])
            p = np.where(X.first < X.second, p, 1 - p)
            return np.column_stack([1 - p, p])

    small = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        first, second = np.triu_indices(8, 1)
        first, second = np.repeat(first, 5), np.repeat(second, 5)
        data = Comparisons(8, first, second, rng.choice([-1.0, 1.0], len(first)))
        Noise.seed = 2 * seed
        one = held_out(Noise, data)
        Noise.seed = 2 * seed + 1
        small += paired_difference(one, held_out(Noise, data)).p_value < 0.1
    assert small <= 14  # 6 expected


def test_mistakes():
    with pytest.raises(DataError, match="by item needs features"):
        held_out(Spy, votes(0), by="item")
    with pytest.raises(DataError, match="who judged"):
        held_out(Spy, votes(0), by="judge")
    with pytest.raises(DataError, match="are of the same two items; when these are held out, nothing is left"):
        held_out(Spy, Comparisons(2, [0, 1], [1, 0]))
    with pytest.raises(DataError, match="at least 2"):
        held_out(Spy, votes(0), n_folds=1)
    with pytest.raises(ValueError, match="not one of"):
        held_out(Spy, votes(0), by="group")
    with pytest.raises(ValueError, match="not held out alike"):
        paired_difference(held_out(Spy, votes(0)), held_out(Spy, votes(0), n_folds=3))


def test_clusters_are_held_out_whole():
    data = votes(0)
    prompt = np.random.default_rng(1).choice(["", "p", "q", "r", "s"], len(data))
    data = data._take(slice(None), cluster=prompt)
    Spy.log.clear()
    found = held_out(Spy, data, by="cluster", n_folds=4)
    assert len(Spy.log) == 4
    for train, test in Spy.log:
        assert not (set(train.cluster) & set(test.cluster)) - {""}
    np.testing.assert_array_equal(found.unit, data.clusters())
    with pytest.raises(DataError, match=r"cluster of each comparison.*cluster=\.\.\."):
        held_out(Spy, votes(0), by="cluster")
    with pytest.raises(DataError, match="are of one cluster"):
        held_out(Spy, data[prompt == "p"], by="cluster")


def test_outcomes_are_predicted_with_the_advantage_of_the_side():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 5, 200)
    second = (first + rng.integers(1, 5, 200)) % 5
    games = Comparisons(5, first, second, np.where(rng.random(200) < 1 / (1 + np.exp(second - first - 1.5)), -1, 1))
    sided = BradleyTerry(side=True).fit(games)
    p = outcome_probability(sided, games)
    np.testing.assert_array_equal(p, sided.predict_proba(games, side=True)[:, 1])
    assert np.max(np.abs(p - sided.predict_proba(games)[:, 1])) > 0.1
    with_side, without = (held_out(lambda side=side: BradleyTerry(side=side), games).log_loss for side in (True, False))
    assert with_side < without - 0.03
