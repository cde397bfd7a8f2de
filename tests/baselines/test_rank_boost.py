"""RankBoost: against the paper's algorithm on listed pairs, its bound, rounds chosen on validation data; OHSUMED."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from fast_share import every_seed
from preflearn import Bags, Comparisons
from preflearn.baselines import RankBoost
from preflearn.baselines._boosted_pairs import Graded, Listed
from preflearn.baselines.rank_boost import SMOOTHING
from preflearn.datasets import make_ltr
from preflearn.exceptions import DataError, DataWarning
from preflearn.metrics import disagreement_error, get_scorer
from preflearn.models.training_data import RowData


def rows(seed, n=40, n_groups=4, n_scores=3, weighted=True):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 1)  # equal values
    code = np.unique(rng.integers(0, n_groups, n), return_inverse=True)[1]
    return X, rng.integers(0, n_scores, n).astype(float), code, rng.uniform(0.2, 3, n) if weighted else None


def listed(y, code, weight):
    w = np.ones(len(y)) if weight is None else weight
    pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if code[i] == code[j] and y[i] > y[j]]
    i, j = np.array(pairs).T
    return i, j, w[i] * w[j]


def boost_listed(X, i, j, v, n_rounds, step):
    """Figure 1 of the paper with its weak learner, over listed pairs, stump by stump."""
    D, rounds = v / v.sum(), []
    for _ in range(n_rounds):
        best = (0.0,)
        for k in range(X.shape[1]):
            values = np.unique(X[:, k])
            for low, high in pairwise(values):
                h = (X[:, k] > (low + high) / 2).astype(float)
                r = D @ (h[i] - h[j])
                if abs(r) > abs(best[0]) * (1 + 1e-9):
                    best = (r, k, (low + high) / 2, h)
        r, k, threshold, h = best
        right, wrong = D @ (h[i] > h[j]), D @ (h[i] < h[j])
        up, down = (1 + r, 1 - r) if step == "third" else (right, wrong)
        alpha = np.log((up + SMOOTHING) / (down + SMOOTHING)) / 2
        D = D * np.exp(alpha * (h[j] - h[i]))
        rounds.append((k, threshold, alpha, D.sum()))
        D = D / D.sum()
    return [np.array(column) for column in zip(*rounds, strict=True)]


@pytest.mark.parametrize("step", ["third", "second"])
@every_seed(4, 40)
def test_it_is_the_papers_algorithm_on_listed_pairs(seed, step):
    X, y, code, weight = rows(seed, n_scores=2 + seed % 3, weighted=seed % 2 == 0)
    i, j, v = listed(y, code, weight)
    features, thresholds, steps, normalisers = boost_listed(X, i, j, v, 12, step)
    for model in (
        RankBoost(12, step=step).fit(X, y, qid=code, sample_weight=weight),
        RankBoost(12, step=step).fit(Comparisons(X, i, j, weight=v)),
        RankBoost(12, step=step).fit(sp.csr_array(X), y, qid=code, sample_weight=weight),
    ):
        np.testing.assert_array_equal(model.features_, features)
        np.testing.assert_allclose(model.steps_, steps, atol=1e-8)
        np.testing.assert_allclose(model.normalisers_, normalisers, atol=1e-8)
        utility = sum(a * (X[:, k] > t) for k, t, a in zip(features, thresholds, steps, strict=True))
        compared = np.union1d(i, j)  # between values of these, a threshold may stand anywhere
        np.testing.assert_allclose(model.predict(X)[compared], utility[compared], atol=1e-7)


@every_seed(4, 40)
def test_sums_keep_their_digits_when_utilities_are_far_apart(seed):
    X, y, code, weight = rows(seed, n_scores=[2, 3, 9, 40][seed % 4])
    rng = np.random.default_rng(seed)
    f = 200 * y / y.max() + rng.normal(size=len(y)) + 1e3 * code  # well in order, so that all that is left is small
    i, j, v = listed(y, code, weight)
    D = v * np.exp(f[j] - f[i])
    above = X[:, 0] > 0
    pull = np.bincount(i, D, len(y)) - np.bincount(j, D, len(y))
    parts = [D @ (above[i] & ~above[j]), D @ (above[j] & ~above[i])]
    for pairs in (Graded.build(RowData(X, y, code, weight, True)), Listed(i, j, v)):
        found = pairs.at(f)
        np.testing.assert_allclose(found.pull / found.total, pull / D.sum(), rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(np.array(found.split(above)) / found.total, parts / D.sum(), rtol=1e-9, atol=1e-14)


@every_seed(4, 20)
@pytest.mark.parametrize("width", [800, 3000])
def test_no_width_of_utilities_makes_weights_vanish(seed, width):
    X, y, code, weight = rows(seed, n_scores=[2, 3, 9, 40][seed % 4])
    weight[:3] = 0
    rng = np.random.default_rng(seed)
    # all in order, one group far apart: what is left of the weights is far below the smallest number
    f = width * y / y.max() + rng.normal(size=len(y)) + (code == 0) * width * y
    i, j, v = listed(y, code, weight)
    above = X[:, 0] > 0
    graded, one_by_one = (pairs.at(f) for pairs in (Graded.build(RowData(X, y, code, weight, True)), Listed(i, j, v)))
    assert one_by_one.total > 0
    np.testing.assert_allclose(graded.pull / graded.total, one_by_one.pull / one_by_one.total, rtol=1e-9, atol=1e-12)
    for found, expected in zip(graded.split(above), one_by_one.split(above), strict=True):
        np.testing.assert_allclose(found / graded.total, expected / one_by_one.total, rtol=1e-9, atol=1e-12)


def test_boosting_goes_on_where_all_pairs_are_far_in_order():
    X = np.repeat(np.arange(2.0), 30)[:, None]  # each round takes a step of 7, and nothing is ever wrong
    i, j, _ = listed(X[:, 0], np.zeros(60), None)
    model = RankBoost(400).fit(X, X[:, 0], qid=np.zeros(60))
    assert model.n_rounds_ == 400
    assert np.ptp(model.predict(X)) > 1500
    of_pairs = RankBoost(400).fit(Comparisons(X, i, j))
    np.testing.assert_allclose(of_pairs.steps_, model.steps_, atol=1e-8)
    np.testing.assert_array_equal(of_pairs.thresholds_, model.thresholds_)


def test_the_share_of_pairs_out_of_order_is_below_the_product_of_normalisers():
    X, y, code, _ = rows(1, n=60, weighted=False)
    for step in ("third", "second"):
        model = RankBoost(60, step=step).fit(X, y, qid=code)
        bound = np.cumprod(model.normalisers_)
        for t, f in enumerate(model.staged_predict(X)):
            assert disagreement_error(y, f, qid=code, average="pairs") <= bound[t]
        assert bound[-1] < 0.7
    # the second method takes the best weight of the stump: that of the first stump falls fastest
    best = RankBoost(1, step="second").fit(X, y, qid=code).normalisers_[0]
    assert best <= RankBoost(1, step="third").fit(X, y, qid=code).normalisers_[0]


def test_only_the_order_of_a_feature_counts():
    X, y, code, weight = rows(2)
    model = RankBoost(20).fit(X, y, qid=code, sample_weight=weight)
    bent = RankBoost(20).fit(np.exp(X), y, qid=code, sample_weight=weight)
    np.testing.assert_allclose(bent.predict(np.exp(X)), model.predict(X), atol=1e-9)


def test_weights_count_and_sides_do_not():
    X, y, code, _ = rows(3, weighted=False)
    i, j, _ = listed(y, code, None)
    rng = np.random.default_rng(0)
    outcome, count = rng.choice([-1.0, 1.0, 1.0], len(i)), rng.integers(0, 3, len(i))
    pairs = Comparisons(X, i, j, outcome)
    model = RankBoost(15).fit(pairs)
    np.testing.assert_array_equal(model.predict(pairs.swapped()), -model.predict(pairs))
    np.testing.assert_allclose(RankBoost(15).fit(pairs.swapped()).predict(X), model.predict(X), atol=1e-9)
    twice = RankBoost(15).fit(pairs[np.repeat(np.arange(len(i)), count)])
    weighted = RankBoost(15).fit(Comparisons(X, i, j, outcome, weight=count.astype(float)))
    np.testing.assert_allclose(weighted.predict(X), twice.predict(X), atol=1e-9)
    # by groups, a pair of rows weighs 1 / size of its group
    share = Comparisons(X, i, j, weight=1 / np.bincount(code)[code[i]])
    by_group = RankBoost(15, weighting="groups").fit(X, y, qid=code)
    np.testing.assert_allclose(by_group.predict(X), RankBoost(15).fit(share).predict(X), atol=1e-9)


@pytest.mark.parametrize("scoring", ["disagreement", "ndcg@5"])
def test_rounds_are_chosen_on_validation_data(scoring):
    data = make_ltr(60, 10, 6, random_state=0)
    train, validation = data.ratings[:300], data.ratings[300:]
    model = RankBoost(60, scoring=scoring).fit(train, validation=validation)
    every = RankBoost(60).fit(train)
    scores = [
        get_scorer(scoring).evaluate(validation.score, f, validation.group) for f in every.staged_predict(validation)
    ]
    np.testing.assert_allclose(model.validation_scores_, scores)
    assert model.n_rounds_ == np.argmax(scores) + 1 < 60
    small = RankBoost(model.n_rounds_).fit(train)
    np.testing.assert_array_equal(model.predict(validation), small.predict(validation))
    assert (
        len(model.steps_)
        == len(model.features_)
        == len(model.thresholds_)
        == len(model.normalisers_)
        == model.n_rounds_
    )
    pairs = validation.to_comparisons(200, random_state=0)
    of_pairs = RankBoost(60).fit(train, validation=pairs)
    assert of_pairs.validation_scores_.max() == pytest.approx(of_pairs.score(pairs) - 1)


def test_bags_are_seen_by_their_means():
    X, y, code, _ = rows(4)
    bags = Bags([np.stack([x - 1, x + 1]) for x in X])
    model = RankBoost(5).fit(bags, y, qid=code)
    np.testing.assert_allclose(model.predict(bags), RankBoost(5).fit(X, y, qid=code).predict(X))


def test_a_perfect_stump_ends_with_a_finite_step():
    model = RankBoost(50).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert np.isfinite(model.steps_).all()
    assert np.diff(model.predict([[1.0], [1.4], [1.6], [2.0]])).tolist() == [0.0, model.predict([[3.0]])[0], 0.0]
    assert model.normalisers_.max() < 0.01


def test_what_cannot_be_learned_is_said():
    X, y, code, _ = rows(5)
    with pytest.warns(DataWarning, match="all pairs are tied"):
        model = RankBoost(5).fit(X, np.ones(40), qid=code)
    assert model.n_rounds_ == 0
    np.testing.assert_array_equal(model.predict(X), 0)
    assert RankBoost(5).fit(np.ones((40, 3)), y, qid=code).n_rounds_ == 0  # no stump tells rows apart
    with pytest.raises(DataError, match="the items have no features"):
        RankBoost().fit(Comparisons(None, ["a"], ["b"]))
    with pytest.raises(TypeError, match="validation must be Ratings or Comparisons; got ndarray"):
        RankBoost(2).fit(X, y, qid=code, validation=X)
    with pytest.raises(TypeError, match="ranks whole groups and cannot judge"):
        RankBoost(2, scoring="map").fit(X, y, qid=code, validation=Comparisons(X, [0], [1]))


@pytest.mark.parametrize("low", [1.0, np.nextafter(1.0, 2.0)])
def test_neighbouring_numbers_are_told_apart(low):
    X = np.array([[low], [np.nextafter(low, 2.0)]])  # there is nothing between them
    model = RankBoost(2).fit(Comparisons(X, [1], [0]))
    assert np.diff(model.predict(X)) > 0
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


def test_rounds_are_chosen_with_the_weights_of_validation_data():
    X, y, code, _ = rows(3, n_groups=1)
    i, j, _ = listed(y, code, None)
    model = RankBoost(15)
    pairs = Comparisons(X, i, j, np.where(np.arange(len(i)) % 3, 1, -1))
    count = 1 + np.arange(len(i)) % 4
    heavy = Comparisons(X, pairs.first, pairs.second, pairs.outcome, weight=count)
    one = model.fit(X, y, validation=heavy).validation_scores_
    np.testing.assert_allclose(
        one, model.fit(X, y, validation=pairs[np.repeat(np.arange(len(i)), count)]).validation_scores_
    )
    assert not np.allclose(one, model.fit(X, y, validation=pairs).validation_scores_)
