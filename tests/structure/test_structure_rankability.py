"""Can it be ranked? Verdicts on truths that are known, and how often they are wrong."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from fast_share import THOROUGH, cases
from preflearn import BradleyTerry, Comparisons, PreferenceGP, rank
from preflearn.structure import ComparableClusters, circle_search, rankability
from preflearn.structure.rankability import cyclic_or_partly

pytestmark = pytest.mark.slow


def votes(G, per_pair, rng, share=1.0):
    """Return noisy votes for a table of preferences."""
    n = len(G)
    first, second = np.triu_indices(n, 1)
    kept = np.flatnonzero(rng.random(len(first)) < share)
    first, second = np.repeat(first[kept], per_pair), np.repeat(second[kept], per_pair)
    return first, second, np.where(G[first, second] + np.sqrt(2) * rng.normal(size=len(first)) > 0, 1.0, -1.0)


def rankable(n, rng, size=1.5):
    f = size * rng.normal(size=n)
    return f[:, None] - f[None, :]


def circles(n, rng, size=2.0):
    G = size * np.triu(rng.normal(size=(n, n)), 1)
    return G - G.T


@pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")
def test_rock_paper_scissors_is_called_what_it_is():
    data = Comparisons(None, ["rock", "scissors", "paper"] * 9, ["scissors", "paper", "rock"] * 9)
    found = rankability(data)
    assert found.verdict == "cyclic"
    assert found.log_odds > 10
    assert found.cyclic_share > 0.99
    assert found.hodge.curl == pytest.approx(1)
    assert found.triads == (1, 1)
    assert found.clustering == 1.0
    assert found.cycles[0][1] == ["rock", "scissors", "paper"]
    assert all(p < 0.05 for _, p in found.condorcet)
    assert {name for name, p in found.smith if p > 0.9} == {"rock", "paper", "scissors"}
    text = str(found)
    assert "run in circles" in text
    assert "rock > scissors > paper > rock" in text


def test_circles_that_nothing_contradicts_are_as_large_as_the_prior_lets_them_be():
    largest = []
    for votes in (9, 90):  # every further vote would allow larger ones
        throws = Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"], weight=[votes] * 3)
        found = rankability(BradleyTerry().fit(throws), n_samples=10)
        both = found.models["both"]
        np.testing.assert_array_equal(both.hyperprior_.centre, np.zeros(2))  # the unit of utilities
        assert found.verdict == "cyclic"
        largest.append(np.abs(both.predict_difference(throws)).max())
    assert 3 < largest[0] < largest[1] < 20


@pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")
def test_a_ranking_is_called_a_ranking_and_its_winner_named():
    rng = np.random.default_rng(0)
    first, second, y = votes(rankable(10, rng), 5, rng)
    names = [f"player {k}" for k in range(10)]
    data = Comparisons(None, [names[i] for i in first], [names[j] for j in second], y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rankability(data)
    assert found.verdict == "rankable"
    assert found.ranking_share > 0.95
    assert found.condorcet[0][1] > 0.3
    assert found.condorcet[0][0] == found.models["ranking"].rank().names[0]
    assert "A single ranking explains" in str(found)


@pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")
def test_both_coins_and_models():
    rng = np.random.default_rng(1)
    both = rankable(10, rng, 2.0) + circles(10, rng, 2.5)
    found = rankability(Comparisons(10, *votes(both, 8, rng)))
    assert found.verdict == "partly cyclic"
    assert 0.1 < found.cyclic_share < 0.9
    coin = Comparisons(10, *votes(np.zeros((10, 10)), 2, rng))
    assert rankability(coin).verdict == "only noise"
    model = PreferenceGP(ConstantKernel(), "logit").fit(coin)
    again = rankability(model)
    assert again.verdict == "only noise"
    assert type(again.models["both"].likelihood_).__name__ == "Logit"
    with pytest.raises(TypeError, match="give Comparisons or a fitted PreferenceGP"):
        rankability([1, 2])
    for wrong in ({"n_cycles": -1}, {"n_cycles": 1.5}, {"n_samples": "x"}, {"n_samples": 0}):
        with pytest.raises(ValueError, match="must be a whole number of at least"):
            rankability(coin, **wrong)


def ladder(n, far):
    """Return who meets whom where everybody meets the next ones only, the better one winning every time."""
    pairs = [(i, i + step) for step in range(1, far + 1) for i in range(n - step)]
    return [i for i, _ in pairs], [j for _, j in pairs]


@pytest.mark.parametrize(("n", "far", "weight"), [(8, 1, 9), (30, 1, 9), (12, 2, 5), (2, 1, 50)])
def test_a_ladder_on_which_only_neighbours_met_is_no_circle(n, far, weight):
    first, second = ladder(n, far)
    found = rankability(Comparisons(n, first, second, weight=np.full(len(first), weight)))
    assert found.verdict == "rankable"
    assert found.p_value > 0.5
    assert found.ranking_share == pytest.approx(1)


@pytest.mark.parametrize("unit", [1e-2, 1.0, 1e2])
def test_verdicts_on_margins_do_not_depend_on_their_unit(unit):
    rng = np.random.default_rng(0)
    first = rng.integers(0, 8, 60)
    second = (first + rng.integers(1, 8, 60)) % 8
    noise, f, G = rng.normal(size=60), 2 * rng.normal(size=8), circles(8, rng)
    G -= np.subtract.outer(G.mean(axis=1), G.mean(axis=1))  # what a ranking would explain
    truths = {"rankable": f[first] - f[second], "only noise": 0.0, "cyclic": G[first, second]}
    for verdict, z in truths.items():
        found = rankability(Comparisons(8, first, second, unit * (z + 0.3 * noise)), likelihood="gaussian")
        assert found.verdict == verdict


def test_a_linear_utility_is_a_ranking_whatever_model_fits_it():
    for seed in range(cases(1, 3)):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (30, 2))
        first = rng.integers(0, 30, 200)
        second = (first + rng.integers(1, 30, 200)) % 30
        p = 1 / (1 + np.exp(3 * X[second, 0] - 3 * X[first, 0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = rankability(Comparisons(X, first, second, np.where(rng.random(200) < p, 1, -1)), n_samples=10)
        assert found.verdict == "rankable"
        assert found.ranking_share > 0.95


def test_ties_and_judges():
    rng = np.random.default_rng(0)
    first, second, y = votes(np.zeros((6, 6)), 4, rng)
    y[rng.random(len(y)) < 0.5] = 0.0
    data = Comparisons(6, first, second, y, judge=rng.choice(["x", "y", ""], len(y)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rankability(data)
    assert found.verdict == "only noise"
    assert found.n_judges == 2


def test_preferences_between_all_items_are_computed_once_for_each_model(monkeypatch):
    asked = []
    matrix = PreferenceGP.preference_matrix
    monkeypatch.setattr(PreferenceGP, "preference_matrix", lambda model: asked.append(model) or matrix(model))
    rng = np.random.default_rng(1)
    rankability(Comparisons(8, *votes(rankable(8, rng, 2.0) + circles(8, rng, 2.5), 8, rng)))
    assert len(asked) == 1


@pytest.mark.parametrize("kind", ["rankable", "partly cyclic"] if THOROUGH else ["partly cyclic"])
def test_twenty_thousand_distinct_pairs_without_features(kind):
    rng = np.random.default_rng(0)
    truth = rankable(210, rng) + (circles(210, rng, 1.5) if kind == "partly cyclic" else 0.0)
    first, second, y = votes(truth, 3, rng, share=0.95)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rankability(Comparisons(210, first, second, y))
    assert found.verdict == kind
    assert not found.hodge.complete
    assert len(found.cycles) == (5 if kind == "partly cyclic" else 0)


@pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")
@pytest.mark.parametrize("features", [False, True])
def test_rankings_are_seldom_called_cyclic_and_circles_are_found(features):
    wrong, right, n = 0, 0, 10
    for seed in range(cases(5, 60)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2)) if features else n
        truth = rankable(n, rng)
        if features:
            f = 2 * np.sin(X[:, 0]) + X[:, 1]
            truth = f[:, None] - f[None, :]
        data = Comparisons(X, *votes(truth, 3, rng, share=0.8))
        wrong += rankability(data, inference="laplace", n_samples=10).verdict in ("cyclic", "partly cyclic")
    for seed in range(cases(3, 10)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2)) if features else n
        truth = circles(n, rng)
        if features:
            truth = 4 * (X[:, :1] * X[:, 1] - X[:, 1:] * X[:, 0])
        data = Comparisons(X, *votes(truth, 5, rng))
        right += rankability(data, inference="laplace", n_samples=10).verdict in ("cyclic", "partly cyclic")
    assert wrong <= cases(0, 3)
    assert right >= cases(3, 9)


def grouped(seed, n=24, n_clusters=2, share=0.9):
    """Return items in clusters that are ranked within and tossed a coin for across, and their clusters."""
    rng = np.random.default_rng(seed)
    cluster = np.arange(n) % n_clusters
    X = rng.normal(size=(n, 5)) + 2.0 * cluster[:, None]
    f = X @ rng.normal(size=(n_clusters, 5)).T
    first, second = np.triu_indices(n, 1)
    kept = np.flatnonzero(rng.random(len(first)) < share)
    first, second = first[kept], second[kept]
    z = f[first, cluster[first]] - f[second, cluster[first]]
    y = np.where(cluster[first] == cluster[second], np.sign(z), rng.choice([-1.0, 1.0], len(kept)))
    return Comparisons(X, first, second, y), cluster


@pytest.mark.parametrize(("method", "n"), [("gpgp", 24), ("svd", 80)])
def test_clusters_of_comparable_items_are_found_with_their_rankings(method, n):
    data, cluster = grouped(0, n)
    found = ComparableClusters(2, method, random_state=0).fit(data)
    agree = np.mean(found.labels_ == cluster)
    assert max(agree, 1 - agree) > 0.8
    assert found.labels_.tolist() == ComparableClusters(2, method, random_state=0).fit_predict(data).tolist()
    np.testing.assert_array_equal(found.preferences_, -found.preferences_.T)
    for label in (0, 1):
        members = found.labels_ == label
        assert sorted(found.ranks_[members]) == list(range(1, members.sum() + 1))
        assert found.utilities_[members].mean() == pytest.approx(0, abs=1e-12)


@pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")
def test_partial_rankings_and_the_number_of_clusters():
    data, _ = grouped(1)
    assert ComparableClusters(2, "partial", random_state=0).fit(data).labels_.shape == (24,)
    first, second = np.triu_indices(12, 1)
    same = first % 3 == second % 3
    apart = Comparisons(12, first[same], second[same], (second - first)[same] / 3.0)
    assert ComparableClusters("auto", "svd", random_state=0).fit(apart).n_clusters_ == 3
    single = Comparisons(6, *np.triu_indices(6, 1), np.diff(np.triu_indices(6, 1), axis=0)[0])
    assert ComparableClusters("auto", "svd").fit(single).n_clusters_ == 1
    with pytest.raises(TypeError, match="learns from Comparisons"):
        ComparableClusters().fit([[1]])
    with pytest.raises(ValueError, match="there are 12 items"):
        ComparableClusters(13).fit(apart)


@pytest.mark.parametrize("few", [0, 100])
def test_no_part_of_a_utility_counts_as_a_circle(few, monkeypatch):
    monkeypatch.setattr(circle_search, "WRITTEN_OUT", few)  # by functions, and by the covariance of pairs
    rng = np.random.default_rng(0)
    X, f = rng.normal(size=(8, 2)), rng.normal(size=8)
    ends = np.triu_indices(8, 1)
    K = RBF(1.0)(X)
    statistic, _ = circle_search._statistic(8, ends, K)
    cyclic = X[ends[0], 0] * X[ends[1], 1] - X[ends[0], 1] * X[ends[1], 0]
    found = statistic(np.column_stack([f[ends[0]] - f[ends[1]], cyclic]))
    assert abs(found[0]) < 1e-14
    assert found[1] > 1e-3
    R = np.zeros((8, 8))
    R[ends] = cyclic
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    skew = R - R.T
    assert found[1] == pytest.approx(np.trace(skew.T @ centred @ skew @ centred) / np.trace(centred) ** 2, rel=3e-3)


def test_a_comparison_of_weight_zero_was_never_made():
    seen = Comparisons(None, ["a", "b", "c"], ["b", "c", "a"], weight=[2.0, 1.0, 3.0])
    more = Comparisons(None, ["a", "b", "c", "d"], ["b", "c", "a", "a"], weight=[2.0, 1.0, 3.0, 0.0])
    one, other = rankability(seen), rankability(more)
    assert (one.log_odds, one.p_value, one.cycles) == (other.log_odds, other.p_value, other.cycles)


def test_ties_cost_a_ranking_no_more_than_they_cost_chance():
    rng = np.random.default_rng(4)
    u = rng.normal(size=12)
    first = rng.integers(0, 12, 40)
    second = (first + rng.integers(1, 12, 40)) % 12
    z = u[first] - u[second] + rng.logistic(size=40)
    found = rankability(Comparisons(12, first, second, np.where(abs(z) < 0.4, 0.0, np.sign(z))), screen=True)
    assert 3 < found.log_evidence["ranking"] - found.log_evidence["chance"] < 4.5  # without ties three are enough
    assert found.verdict == "rankable"


@pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")
def test_a_fitted_model_is_the_ranking_or_both_and_the_others_assume_what_it_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    first, second = (np.repeat(side, 3) for side in np.triu_indices(12, 1))
    z = X[first, 0] - X[second, 0] + 2 * (X[first, 0] * X[second, 1] - X[second, 0] * X[first, 1])
    data = Comparisons(X, first, second, np.sign(z + rng.logistic(size=len(z))))
    alone = PreferenceGP("ard", "logit", own_effect=True, hyperprior=1.5).fit(data)
    found = rankability(alone, n_samples=10)
    assert found.models["ranking"] is alone
    both = found.models["both"]
    assert (both.kernel, both.likelihood, both.own_effect, both.hyperprior) == ("ard", "logit", True, 1.5)
    assert found.verdict in ("cyclic", "partly cyclic")
    again = rankability(both, n_samples=10)
    assert again.models["both"] is both
    assert again.models["ranking"].log_evidence_ == pytest.approx(alone.log_evidence_, abs=1e-3)
    other = PreferenceGP(None, cyclic_kernel="rbf")
    learned = rankability(other.fit(data), n_samples=10).models
    assert not any(one is other for one in learned.values())
    assert learned["ranking"].kernel == "rbf"
    weighted = Comparisons(X, first, second, data.outcome, weight=np.arange(len(z)) > 0)
    assert rankability(clone(alone).fit(weighted), n_samples=10).models["ranking"] is not alone


def test_words_follow_the_share_that_a_ranking_explains():
    found = rankability(Comparisons(3, [0, 1, 2], [1, 2, 0], weight=[9, 9, 9]), n_samples=10)
    assert found.sentence == "These preferences run in circles, and no ranking explains them."
    some = replace(found, ranking_share=0.3)
    assert some.sentence == "These preferences run in circles, and no ranking explains more than 30% of them."
    for share, word in ((0.4, "some"), (0.7, "most")):
        partly = replace(found, ranking_share=share, verdict=cyclic_or_partly(share))
        assert partly.sentence == f"A ranking explains {word} of these preferences, circles the rest."
        shared = replace(partly, models={**found.models, "ranking": PreferenceGP(judge_kernel="identity")})
        assert shared.sentence == f"A ranking explains {word} of what all judges share, circles the rest."
    assert replace(some, models={**found.models, "ranking": PreferenceGP(judge_kernel="identity")}).sentence == (
        "What all judges share runs in circles, and no ranking explains more than 30% of it."
    )


def test_strengths_without_circles_are_not_called_circles():
    # the better of two wins three times of four, whoever they are: one order, and no utilities
    first, second = np.triu_indices(7, 1)
    sides = np.concatenate([first, second]), np.concatenate([second, first])
    found = rankability(Comparisons(7, *sides, weight=np.repeat([30, 10], len(first))), n_samples=10)
    assert found.verdict == "partly cyclic"
    assert found.ordered
    assert found.cycles == []
    assert (
        found.sentence
        == "One order agrees with these preferences, but no utilities explain how strong preferences are."
    )
    assert found.odds.endswith("to 1 for more than utilities")
    said = rank(Comparisons(7, *sides, weight=np.repeat([30, 10], len(first)))).warnings[0]
    assert said.kind == "circles"
    assert "The order of the items is still right" in said.text
