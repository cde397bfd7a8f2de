"""Suggestions: fast = slow, batches tell more than the best singles, and what is asked of whom."""

import itertools
import tracemalloc
import warnings

import numpy as np
import pytest
from problems_active import by_name, with_features
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import Comparisons, PreferenceGP
from preflearn.active import information_gain, suggest, top_k_information
from preflearn.active._candidates import _choose, consider
from preflearn.active._pool import Pool
from preflearn.active.outcome_information import curvature, information
from preflearn.exceptions import DataWarning
from preflearn.likelihoods import Davidson, Gaussian, Logit, Probit

pytestmark = pytest.mark.slow

LIKELIHOODS = [Probit(), Logit(), Davidson(tie=3.0, tie_fixed=True), Gaussian(2.0, fixed=True)]


def all_pairs(n):
    return np.array(list(itertools.combinations(range(n), 2)))


def pairs_of(found):
    return [tuple(sorted(pair)) for pair in zip(found.first.tolist(), found.second.tolist(), strict=True)]


def slow_batch(model, X, n):
    """Greedy with a covariance over all candidates, conditioned on a Gaussian observation of every chosen pair."""
    pairs = all_pairs(len(X))
    mean, covariance = model.predict_utility(X, return_cov=True)
    A = np.zeros((len(pairs), len(X)))
    A[np.arange(len(pairs)), pairs[:, 0]], A[np.arange(len(pairs)), pairs[:, 1]] = 1, -1
    m, S = A @ mean, A @ covariance @ A.T
    chosen, gains = [], []
    for _ in range(n):
        v = np.maximum(S.diagonal(), 0)
        gain = information(model.likelihood_, m, v)
        gain[chosen] = -1
        best = int(np.argmax(gain))
        J = curvature(model.likelihood_, m[best : best + 1], v[best : best + 1])[0]
        noise = (1 - v[best] * J) / J  # the Gaussian observation that leaves v - J v²
        S = S - np.outer(S[:, best], S[best]) / (v[best] + noise)
        chosen.append(best)
        gains.append(gain[best])
    return [tuple(pair) for pair in pairs[chosen].tolist()], gains


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_lazy_batches_are_greedy_batches(likelihood, seed, monkeypatch):
    monkeypatch.setattr("preflearn.active._criteria.Criterion.block", 3)
    model, _, X = with_features(15, 25, likelihood, seed)
    pairs, gains = slow_batch(model, X, 12)
    found = suggest(model, X, 12)
    assert pairs_of(found) == pairs
    np.testing.assert_allclose(found.gain, gains, rtol=1e-7)
    assert found.gain[0] == pytest.approx(information_gain(model, all_pairs(15), X).max(), rel=1e-8)


def joint_information(model, X, pairs):
    """What margins of several pairs tell together: log |I + v A C A'| / 2."""
    _, covariance = model.predict_utility(X, return_cov=True)
    A = np.zeros((len(pairs), len(X)))
    for row, (i, j) in enumerate(pairs):
        A[row, i], A[row, j] = 1, -1
    return 0.5 * np.linalg.slogdet(np.eye(len(pairs)) + model.likelihood_.precision * A @ covariance @ A.T)[1]


@pytest.mark.parametrize("seed", range(5))
def test_a_batch_of_margins_tells_its_gains_together_and_more_than_the_best_singles(seed):
    model, _, X = with_features(15, 25, Gaussian(2.0, fixed=True), seed)
    found = suggest(model, X, 8)
    batch = joint_information(model, X, pairs_of(found))
    assert batch == pytest.approx(found.gain.sum(), rel=1e-9)
    singles = all_pairs(15)[np.argsort(-information_gain(model, all_pairs(15), X))[:8]]
    assert batch > 1.02 * joint_information(model, X, singles.tolist())


def test_answered_batches_leave_less_error_than_the_best_singles():
    """Simulated answers to 20 questions, and the model fitted again: 25 % less error of the utilities on average."""
    errors = {"batch": [], "singles": []}
    rng = np.random.default_rng(5)
    pairs = all_pairs(40)
    for seed in range(30):
        model, data, X = with_features(40, 10, seed=seed)
        truth = 2 * np.sin(2 * X[:, 0])
        batch = np.array(pairs_of(suggest(model, X, 20)))
        singles = pairs[np.argsort(-information_gain(model, pairs, X))[:20]]
        for name, chosen in (("batch", batch), ("singles", singles)):
            z = truth[chosen[:, 0]] - truth[chosen[:, 1]] + rng.normal(size=20)
            first, second = np.concatenate([[data.first, data.second], chosen.T], axis=1)
            more = Comparisons(X, first, second, np.concatenate([data.outcome, np.sign(z)]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                fitted = clone(model).fit(more)
            errors[name].append(np.var(fitted.predict_utility(X) - truth))
    assert np.mean(errors["batch"]) < 0.88 * np.mean(errors["singles"])


@pytest.mark.parametrize("criterion", ["utilities", "top_k"])
def test_no_pair_twice_no_forbidden_pair_whatever_its_sides(criterion):
    model = by_name()
    options = {"criterion": criterion, "k": 2 if criterion == "top_k" else None, "random_state": 0}
    forbidden = [("dee", "ann"), ("bob", "cy")]
    with pytest.warns(DataWarning, match="only 4 of 6"):
        found = suggest(model, n=6, forbidden=forbidden, **options)
    assert len(found) == len(set(pairs_of(found))) == 4
    assert not {(0, 3), (1, 2)} & set(pairs_of(found))
    full = suggest(model, n=6, **options)
    assert sorted(pairs_of(full)) == list(itertools.combinations(range(4), 2))
    with pytest.raises(ValueError, match="no pair is left"):
        suggest(model, forbidden=list(itertools.combinations(["ann", "bob", "cy", "dee"], 2)), **options)


def test_candidates_keep_their_sides_and_repetitions_count_once():
    model = by_name()
    found = suggest(model, n=2, candidates=[("dee", "ann"), ("ann", "dee"), ("cy", "bob")])
    assert set(zip(found.first_name.tolist(), found.second_name.tolist(), strict=True)) == {
        ("dee", "ann"),
        ("cy", "bob"),
    }
    listed = Comparisons(None, ["dee", "cy", "ann"], ["ann", "bob", "cy"])[:2]
    same = suggest(model, n=2, candidates=listed)
    np.testing.assert_array_equal(same.gain, found.gain)


def test_gains_follow_items_wherever_they_stand():
    model, _, X = with_features(15, 25)
    order = np.random.default_rng(1).permutation(15)
    one, two = suggest(model, X, 6), suggest(model, X[order], 6)
    np.testing.assert_allclose(one.gain, two.gain, rtol=1e-7)
    assert pairs_of(one) == [tuple(sorted(order[list(pair)].tolist())) for pair in pairs_of(two)]


def test_the_pool_may_be_training_items_names_frames_or_comparisons():
    import pandas as pd

    model, data, X = with_features(12, 20)
    best = suggest(model, X[:12], 3)
    for pool in (None, data, pd.DataFrame(X[:12], columns=["a", "b"])):
        found = suggest(model, pool, 3)
        assert pairs_of(found) == pairs_of(best)
    frame = pd.DataFrame(X[:12], columns=["a", "b"], index=[f"item{i}" for i in range(12)])
    named = suggest(model, frame, 3)
    assert named.first_name.tolist() == [f"item{i}" for i in best.first]
    assert suggest(model, frame, candidates=[("item3", "item4")]).first.tolist() == [3]
    # names or row numbers choose among the items of training, also those that were never compared
    part = clone(model).fit(Comparisons(X, [9, 3, 5], [3, 5, 8]))
    some = suggest(part, [9, 0, 4], 3)
    assert set(pairs_of(some)) == {(0, 9), (4, 9), (0, 4)}
    assert suggest(part, candidates=[(9, 8)]).first.tolist() == [9]
    assert suggest(part, [9, 8, 2], candidates=[(9, 2)]).first.tolist() == [9]
    unnamed = clone(by_name()).fit(Comparisons(4, [0, 1, 2], [1, 2, 3]))
    assert pairs_of(suggest(unnamed, [0, 3])) == [(0, 3)]


def test_judges_share_the_work_and_are_not_asked_again():
    model, _, X = with_features(12, 20)
    plain = suggest(model, X, 7)
    found = suggest(model, X, 7, judges=["ann", "bob", "cy"])
    assert pairs_of(found) == pairs_of(plain)
    assert sorted(np.unique(found.judge, return_counts=True)[1].tolist()) == [2, 2, 3]
    # ann has answered the best two pairs: bob gets them
    a, b = pairs_of(plain)[:2]
    seen = Comparisons(X, [a[0], b[1]], [a[1], b[0]], judge=["ann", "ann"])
    found = suggest(model, X, 4, judges=["ann", "bob"], answered=seen)
    assert pairs_of(found)[:2] == [a, b]
    assert found.judge.tolist()[:2] == ["bob", "bob"]
    assert found.judge.tolist()[2:] == ["ann", "ann"]
    # who has answered everything is not asked, and others are not asked beyond their share
    everything = Comparisons(X, *all_pairs(12).T, judge=["ann"] * 66)
    with pytest.warns(DataWarning, match="only 2 of 4 .* for 2 judges"):
        found = suggest(model, X, 4, judges=["ann", "bob"], answered=everything)
    assert found.judge.tolist() == ["bob", "bob"]


def test_top_k_asks_near_the_border():
    model, _, X = with_features(30, 120)
    order = np.argsort(-model.predict_utility(X))
    rank = np.argsort(order)
    found = suggest(model, X, 5, criterion="top_k", k=5, random_state=0)
    assert len(set(pairs_of(found))) == 5
    near = suggest(model, X, 5)
    border = np.mean([abs(rank[i] - 4.5) for pair in pairs_of(found) for i in pair])
    assert border < np.mean([abs(rank[i] - 4.5) for pair in pairs_of(near) for i in pair])
    pairs = all_pairs(30)
    assert found.gain[0] == pytest.approx(top_k_information(model, pairs, 5, X, random_state=0).max(), rel=1e-9)
    again = suggest(model, X, 5, criterion="top_k", k=5, random_state=0)
    assert again.to_dict() == found.to_dict()


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
def test_a_pool_with_too_many_pairs_is_screened_for_the_best(likelihood):
    rng = np.random.default_rng(0)
    model, _, _ = with_features(20, 40, likelihood)
    X = rng.uniform(-2.5, 2.5, size=(300, 2))
    pairs = all_pairs(300)
    gain = information_gain(model, pairs, X)
    found = suggest(model, X, 10, n_max_candidates=5000)
    assert found.gain[0] > 0.9999 * gain.max()
    everything = suggest(model, X, 10, n_max_candidates=10**6)
    assert found.gain.sum() > 0.99 * everything.gain.sum()
    banned = pairs[np.argsort(-gain)[:50]]
    allowed = suggest(model, X, 5, n_max_candidates=5000, forbidden=banned)
    assert not set(pairs_of(allowed)) & {tuple(pair) for pair in banned.tolist()}


def test_every_item_keeps_its_best_partner_among_the_candidates():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=60)
    covariance = np.diag(np.where(np.arange(60) < 5, 50.0, rng.uniform(0.1, 1.0, 60)))
    first, second = _choose(Probit(), mean, covariance, np.zeros(0, dtype=np.int64), 400)
    chosen = set(zip(first.tolist(), second.tolist(), strict=True))
    assert 200 < len(chosen) <= 400
    for i in range(60):
        others = np.delete(np.arange(60), i)
        gain = information(Probit(), mean[i] - mean[others], covariance[i, i] + covariance.diagonal()[others])
        best = int(others[np.argmax(gain)])
        assert (min(i, best), max(i, best)) in chosen


def test_items_surely_inside_the_top_are_counted_where_only_its_border_is_considered(monkeypatch):
    monkeypatch.setattr("preflearn.active._candidates.MOST_ITEMS", 40)
    model, _, _ = with_features(20, 60)
    X = np.random.default_rng(0).uniform(-2, 2, size=(300, 2))
    pool = Pool.build(model, X, "test")
    seen = consider(pool, None, None, 100, 10_000, np.random.default_rng(0))
    order = np.argsort(-model.predict_utility(X))
    considered = set(seen.first.tolist()) | set(seen.second.tolist())
    assert len(considered) == seen.n_items == 40
    surely = set(order[:100].tolist()) - considered
    assert seen.k == 100 - len(surely)
    assert 1 <= seen.k < 40


@pytest.mark.parametrize(("criterion", "k"), [("utilities", None), ("top_k", 10)])
def test_ten_thousand_items_are_a_pool(criterion, k):
    model, _, _ = with_features(20, 40)
    X = np.random.default_rng(0).uniform(-3, 3, size=(10_000, 2))
    tracemalloc.start()
    found = suggest(model, X, 3, criterion=criterion, k=k, n_max_candidates=20_000, n_samples=512, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6  # a covariance of all items would be 800 MB, the list of all pairs as much
    assert len(set(pairs_of(found))) == 3
    mean, std = model.predict_utility(X, return_std=True)
    if criterion == "utilities":
        some = np.random.default_rng(1).integers(0, 10_000, size=(20_000, 2))
        some = some[some[:, 0] != some[:, 1]]
        assert found.gain[0] > np.quantile(information_gain(model, some, X), 0.999)
    else:
        border = np.sort(mean)[-10]
        for row in np.concatenate([found.first, found.second]):
            assert abs(mean[row] - border) < 4 * std[row]
    listed = suggest(model, X, 2, candidates=np.column_stack([np.arange(4000), np.arange(4000, 8000)]))
    assert (listed.second - listed.first).tolist() == [4000, 4000]


def test_suggestions_are_a_table():
    found = suggest(by_name(), n=2, judges=["x", "y"])
    assert list(found.to_dict()) == ["first", "second", "judge", "gain"]
    rows = list(found)
    assert len(rows) == 2
    assert rows[0]["first"] == found.first_name[0]
    assert rows[1]["judge"] == "y"
    assert str(found).splitlines()[0].split() == ["first", "second", "judge", "gain"]
    with pytest.raises(AttributeError):
        found.gain = 3


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"n": 0}, ValueError, "n must be a whole number of at least 1; got 0"),
        ({"n": 1.0}, TypeError, "n must be a whole number"),
        ({"criterion": "best"}, ValueError, '"preferences" or "top_k"; got \'best\''),
        ({"criterion": "top_k"}, ValueError, "needs k"),
        ({"criterion": "top_k", "k": 4}, ValueError, "k=4, but the pool has 4 items"),
        ({"forbidden": [("ann", "zoe")]}, ValueError, 'not among the 4 names of the pool .*values "zoe"'),
        ({"candidates": [("ann", "ann")]}, ValueError, "compare an item with itself"),
        ({"candidates": 3}, TypeError, "pairs of items or Comparisons; got int"),
        ({"items": ["ann", "ann"]}, ValueError, "names are repeated"),
        ({"items": ["ann"]}, ValueError, "no pair is left"),
        ({"judges": []}, ValueError, "judges is empty"),
        ({"judges": ["j1", "j2", "j1"]}, ValueError, 'judges names "j1" more than once'),
        ({"judges": ["j1", None]}, ValueError, r"name is missing for 1 of 2 judges \(row 1\)"),
        ({"k": 2}, ValueError, 'k=2 goes with criterion="top_k", but criterion=.utilities.'),
        ({"random_state": "x"}, ValueError, "suggest: random_state='x' must be a whole number"),
        ({"random_state": -1}, ValueError, "suggest: random_state=-1 must be"),
        ({"judges": "ann"}, TypeError, "judges must be a sequence"),
        ({"answered": 3}, ValueError, "judges=None"),
        ({"judges": ["x"], "answered": 3}, TypeError, "Comparisons with judges"),
        ({"n_max_candidates": 0}, ValueError, "n_max_candidates must be .*got 0"),
    ],
)
def test_mistakes_are_explained(options, kind, message):
    with pytest.raises(kind, match=message):
        suggest(by_name(), **options)


def test_own_effects_are_those_of_training_items():
    _, data, X = with_features(12, 20)
    model = PreferenceGP(ConstantKernel(1.0, "fixed") * RBF(0.9, "fixed"), own_effect=True, n_restarts=0).fit(data)
    pairs = all_pairs(12)
    gain = information_gain(model, pairs)
    np.testing.assert_allclose(information_gain(model, pairs, X), gain, rtol=1e-9)
    found = suggest(model, X, 4)
    assert found.gain[0] == pytest.approx(gain.max(), rel=1e-9)
    assert pairs_of(suggest(model, n=4)) == pairs_of(found)
    # other items with nearly the same features have effects of their own, of which nothing is known
    assert (information_gain(model, pairs, X + 1e-9) > gain).all()


def test_items_of_the_model_and_of_the_pool_are_of_one_kind():
    model, _, X = with_features()
    with pytest.raises(TypeError, match=r"items must be a table of features, names or row numbers.*got int"):
        suggest(model, 5)
    with pytest.raises(ValueError, match="7"):
        suggest(model, np.zeros((3, 7)))
    with pytest.raises(ValueError, match="has 3 items and the pool has 12"):
        suggest(model, forbidden=Comparisons(X[:3], [0], [1]))
    with pytest.raises(TypeError, match="must be names or row numbers"):
        suggest(by_name(), np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r'not among the 4 items .*"zoe"'):
        suggest(by_name(), ["ann", "zoe"])
    unnamed = clone(by_name()).fit(Comparisons(4, [0, 1, 2], [1, 2, 3]))
    with pytest.raises(ValueError, match="names are repeated"):
        suggest(unnamed, [0, 0])
    with pytest.raises(ValueError, match=r"outside 0\.\.3"):
        suggest(unnamed, [0, 9])
