"""Items that met items of about equal strength."""

import numpy as np
import pytest

from fast_share import cases
from preflearn import BradleyTerry, Comparisons, rank
from preflearn.analysis.pairing import for_matched_pairs, is_widened


def matched(seed, n=20, m=600, reach=3, deviation=1.5):
    """Return comparisons of items that are at most ``reach`` places apart, and their utilities, best first."""
    rng = np.random.default_rng(seed)
    u = np.sort(deviation * rng.normal(size=n))[::-1]
    first = rng.integers(0, n, 4 * m)
    second = first + rng.integers(1, reach + 1, 4 * m) * rng.choice([-1, 1], 4 * m)
    kept = np.flatnonzero((second >= 0) & (second < n))[:m]
    first, second = first[kept], second[kept]
    outcome = np.where(u[first] - u[second] + rng.logistic(size=len(first)) > 0, 1, -1)
    return Comparisons(n, first, second, outcome, names=[f"i{k:02d}" for k in range(n)]), u


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*repeat an earlier one exactly")
def test_matchmaking_does_not_draw_items_together():
    held, slopes, narrow = [], [], []
    for seed in range(cases(3, 8)):
        data, u = matched(seed)
        result = rank(data)
        assert not result.rankability.found
        truth = (u - u.mean())[result.ranking.row]
        held.append(np.mean((result.ranking.low <= truth) & (truth <= result.ranking.high)))
        slopes.append(np.polyfit(result.ranking.utility, truth, 1)[0])
        narrow.append(np.polyfit(BradleyTerry().fit(data).utility_, u, 1)[0])
    assert np.mean(held) > 0.75  # 0.34 with the variance that the evidence favours
    assert 0.7 < np.median(slopes) < 1.4 < np.median(narrow)


@pytest.mark.filterwarnings("ignore:.*repeat an earlier one exactly")
def test_it_is_said():
    result = rank(matched(2)[0])
    assert is_widened(result.model)
    (said,) = [one for one in result.warnings if one.kind == "pairing"]
    assert "items of about equal strength" in said.text
    assert result.rankability.verdict == "rankable"
    assert result.rankability.cycles == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*repeat an earlier one exactly")
def test_random_pairs_leave_the_learned_prior_alone():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, m = ((20, 200), (8, 60), (60, 120), (30, 1000))[seed % 4]
        u = (1.0, 0.3, 3.0)[seed % 3] * rng.normal(size=n)
        first = rng.integers(0, n, m)
        second = (first + rng.integers(1, n, m)) % n
        data = Comparisons(n, first, second, np.where(u[first] - u[second] + rng.logistic(size=m) > 0, 1, -1))
        model = BradleyTerry().fit(data)
        assert for_matched_pairs(data, model) is model


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")
def test_a_ladder_of_noise_is_no_reason_to_widen():
    first = np.repeat(np.arange(19), 20)
    for seed in range(5):
        outcome = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], len(first))
        data = Comparisons(20, first, first + 1, outcome)
        model = BradleyTerry(ties=True).fit(data)
        assert for_matched_pairs(data, model) is model


@pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")
def test_a_given_variance_stays_as_it_is():
    data, _ = matched(2)
    model = BradleyTerry(prior=0.1).fit(data)
    assert for_matched_pairs(data, model) is model


def swiss(seed, n=12, rounds=20):
    """Return the games of a tournament in which those with equal points meet."""
    rng = np.random.default_rng(seed)
    u, points, games = 1.5 * rng.normal(size=n), np.zeros(n), []
    for _ in range(rounds):
        for one, other in np.lexsort((rng.random(n), -points)).reshape(-1, 2):
            winner, loser = (one, other) if u[one] - u[other] + rng.logistic() > 0 else (other, one)
            games.append((winner, loser))
            points[winner] += 1
    return Comparisons(n, *np.array(games).T)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")
@pytest.mark.parametrize("seed", [5, 8, 10])
def test_a_prior_is_widened_only_where_it_holds_back_far_too_much(seed):
    # a Swiss tournament: pairs are by strength, and the learned prior holds back a little more than in simulations
    data = swiss(seed)
    model = BradleyTerry().fit(data)
    assert for_matched_pairs(data, model) is model
