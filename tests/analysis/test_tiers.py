"""Tiers, and the probability to beat an opponent of average strength."""

from itertools import pairwise

import numpy as np
import pytest
from ranking_data import by_utility, circular
from scipy.special import expit
from scipy.stats import norm

from preflearn import BradleyTerry, Comparisons
from preflearn.analysis import rank
from preflearn.models.ranking import tiers_of


def _beats(draws, one, other):
    return np.mean(draws[:, one] > draws[:, other]) + 0.5 * np.mean(draws[:, one] == draws[:, other])


@pytest.mark.parametrize("level", [0.6, 0.9, 0.99])
def test_a_tier_holds_what_cannot_be_told_from_its_first(level):
    rng = np.random.default_rng(1)
    mean = -np.sort(-rng.normal(size=30)) * 2
    draws = mean + rng.normal(size=(1000, 30)) * rng.uniform(0.1, 2.0, 30) + rng.normal(size=(1000, 1))
    tier = tiers_of(draws, level)
    assert tier[0] == 1
    assert set(np.diff(tier)) <= {0, 1}
    firsts = np.flatnonzero(np.diff(tier, prepend=0))
    assert 1 < len(firsts) < 30
    for above, below in pairwise(firsts):
        assert _beats(draws, above, below) >= level
    for place in range(30):
        first = firsts[tier[place] - 1]
        assert first == place or _beats(draws, first, place) < level


def test_items_without_a_difference_share_a_tier_and_sure_ones_do_not():
    flat = np.zeros((200, 5))
    assert tiers_of(flat, 0.51).tolist() == [1, 1, 1, 1, 1]
    assert tiers_of(flat - np.arange(5), 0.99).tolist() == [1, 2, 3, 4, 5]
    assert tiers_of(flat[:, :1], 0.9).tolist() == [1]


def test_tiers_look_at_the_difference_not_at_overlapping_intervals():
    """What items have in common makes intervals wide and says nothing about their order."""
    rng = np.random.default_rng(0)
    common = 10 * rng.normal(size=(2000, 1))
    assert tiers_of(common + np.array([1.0, 0.0]) + 0.1 * rng.normal(size=(2000, 2)), 0.95).tolist() == [1, 2]


def test_tiers_do_not_depend_on_the_order_of_items_or_rows():
    data, _ = by_utility(3, n=10, m=200)
    turn = np.random.default_rng(0).permutation(10)
    place = np.argsort(turn)
    rows = np.random.default_rng(1).permutation(len(data))
    other = Comparisons(
        10, place[data.first][rows], place[data.second][rows], data.outcome[rows], names=data.names[turn]
    )
    one, two = (rank(given, circles=False) for given in (data, other))
    assert one.ranking.tier.max() > 1
    assert dict(zip(one.ranking.names, one.ranking.tier, strict=True)) == dict(
        zip(two.ranking.names, two.ranking.tier, strict=True)
    )


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_chance_against_an_average_opponent_is_that_of_draws(link):
    data, _ = by_utility(0, n=6, m=90)
    model = BradleyTerry(link, hyperparameters="average").fit(data)
    draws = model.sample_utilities(n_samples=40_000, random_state=0)
    relative = draws - draws.mean(axis=1, keepdims=True)
    found = model.rank()
    by_normal = norm(scale=model.likelihood_.noise_deviation).cdf
    wins = (expit if link == "logit" else by_normal)(relative).mean(axis=0)
    assert found.p_win == pytest.approx(wins[found.row], abs=0.005)


def test_the_chance_against_an_average_opponent_counts_ties_half_and_no_side():
    data, _ = by_utility(5, n=6, m=200, side=1.0, ties=0.5)
    model = BradleyTerry(side=True, ties=True).fit(data)
    mirrored = BradleyTerry(side=True, ties=True).fit(
        Comparisons(6, data.first, data.second, -data.outcome, names=data.names)
    )
    one, mirror = model.rank(), mirrored.rank()
    p, q = np.empty(6), np.empty(6)
    p[one.row], q[mirror.row] = one.p_win, mirror.p_win
    assert p + q == pytest.approx(np.ones(6), abs=1e-6)


def test_with_circles_the_opponent_is_everybody():
    data = circular(0, n=5)
    model = rank(data).model
    assert model.cyclic_kernel is not None
    draws = model.sample_preferences(n_samples=20_000, random_state=0).mean(axis=2)
    found = model.rank()
    assert found.p_win == pytest.approx(expit(draws).mean(axis=0)[found.row], abs=0.01)
