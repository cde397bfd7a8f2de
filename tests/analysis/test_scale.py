"""Elo ratings: the same ranking in other units."""

import math

import numpy as np
import pytest
from ranking_data import by_utility
from scipy.special import expit
from scipy.stats import norm

from preflearn import BradleyTerry, rank
from preflearn.analysis.result import scale_of
from preflearn.exceptions import DataError

DATA, _ = by_utility(0, n=8, m=200)
RESULT = rank(DATA, circles=False)


def test_400_points_are_odds_of_ten_to_one():
    elo = dict(zip(RESULT.table("elo")["item"], RESULT.table("elo")["elo"], strict=True))
    names = list(elo)
    utility = dict(zip(RESULT.to_dict()["item"], RESULT.to_dict()["utility"], strict=True))
    for one, other in [(names[0], names[5]), (names[7], names[2])]:
        odds = 10 ** ((elo[one] - elo[other]) / 400)
        assert odds == pytest.approx(math.exp(utility[one] - utility[other]), rel=1e-12)
    assert np.mean(list(elo.values())) == pytest.approx(1500)


def test_an_anchor_has_its_number_and_moves_all_columns_alike():
    name = str(RESULT.ranking.names[3])
    plain, moved = RESULT.table("elo"), RESULT.table("elo", {name: 1000})
    assert moved["elo"][3] == pytest.approx(1000)
    shift = moved["elo"][0] - plain["elo"][0]
    for column in ("elo", "low", "high"):
        assert np.subtract(moved[column], plain[column]) == pytest.approx(np.full(8, shift))
    same = set(plain) - {"elo", "low", "high", "p_above_next"}
    assert {column: moved[column] for column in same} == {column: plain[column] for column in same}
    ratio = np.divide(plain["std"], RESULT.to_dict()["std"])
    assert ratio == pytest.approx(np.full(8, 400 / math.log(10)))
    assert RESULT.table(anchor={name: 0})["utility"][3] == pytest.approx(0)


def test_a_probit_link_is_matched_by_the_deviation_of_its_noise():
    model = BradleyTerry("probit").fit(DATA)
    ranking = model.rank()
    unit = scale_of(ranking, model.likelihood_, "elo").unit
    u = np.linspace(-8, 8, 2001) * model.likelihood_.noise_deviation
    by_elo = 1 / (1 + 10 ** (-unit * u / 400))
    assert 0.02 < np.abs(by_elo - norm.cdf(u / model.likelihood_.noise_deviation)).max() < 0.023
    logit = BradleyTerry("logit").fit(DATA)
    unit = scale_of(logit.rank(), logit.likelihood_, "elo").unit
    assert 1 / (1 + 10 ** (-unit * u / 400)) == pytest.approx(expit(u), abs=1e-12)


@pytest.mark.parametrize(
    ("scale", "anchor", "words"),
    [
        ("glicko", None, 'scale "glicko" is not known'),
        ("elo", {"item 99": 1000}, 'nearest names: "item'),
        ("elo", {"item 01": math.inf}, "Give a finite one"),
        ("elo", {}, "anchor has 0 items"),
    ],
)
def test_what_is_no_scale_is_refused(scale, anchor, words):
    with pytest.raises(DataError, match=words):
        RESULT.table(scale, anchor)


def test_a_number_alone_is_no_anchor():
    with pytest.raises(TypeError, match="must be a dict of one item and its number; got int"):
        RESULT.table("elo", 1000)


def test_wins_are_counts_and_frames_of_both_libraries_agree():
    table = RESULT.to_dict()
    assert all(isinstance(value, int) for name in ("wins", "losses", "ties") for value in table[name])
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    one, other = RESULT.to_pandas("elo"), RESULT.to_polars("elo")
    assert one.columns.tolist() == other.columns
    assert other["p_above_next"].null_count() == 1
    assert one["elo"].tolist() == other["elo"].to_list()
