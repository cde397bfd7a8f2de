"""Warnings about a ranking: each is given when there is a reason, and only then."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ranking_data import NAMES, by_utility

import preflearn.analysis
from preflearn import Comparisons
from preflearn.analysis import Limits, rank
from preflearn.analysis.advice import Advice, _circles, alike_names
from preflearn.analysis.ladder import build_ladder
from preflearn.analysis.prepared import prepare, record_of
from preflearn.analysis.ranker import listed
from preflearn.data import Ratings, from_rankings, from_scores
from preflearn.exceptions import DataError
from preflearn.io import Reading
from preflearn.structure import rankability


def kinds(data, **options):
    return {one.kind: one for one in rank(data, circles=False, **options).warnings}


def round_robin(n=6, repeats=12, seed=0, side=0.0, swapped=0.5):
    """Return many comparisons of every pair, in random order of the sides."""
    rng = np.random.default_rng(seed)
    first, second = (np.repeat(a, repeats) for a in np.triu_indices(n, 1))
    swap = rng.random(len(first)) < swapped
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    u = np.linspace(3, -3, n)
    outcome = np.where(u[first] - u[second] + side + rng.logistic(size=len(first)) > 0, 1.0, -1.0)
    return Comparisons(n, first, second, outcome, names=NAMES[:n])


def test_good_data_get_no_warning():
    assert not kinds(round_robin())


@pytest.mark.slow
def test_parts_that_never_met():
    found = kinds(Comparisons(None, ["a", "b", "a", "x", "y", "x"], ["b", "c", "c", "y", "z", "z"]))
    assert "2 parts that never met (3, 3 items)" in found["parts"].text
    assert found["parts"].items == ("a", "x")
    assert "prior alone" in found["parts"].text


@pytest.mark.slow
def test_parts_with_features_rest_on_them():
    data = Comparisons([[0.0], [1.0], [2.0], [3.0]], [0, 2], [1, 3], names=list("abxy"))
    assert "on their features" in kinds(data, model="gp")["parts"].text


@pytest.mark.slow
def test_who_never_lost_and_who_never_won():
    data = Comparisons(None, ["a", "a", "b", "a", "b", "c", "c"], ["b", "c", "c", "d", "d", "b", "d"])
    found = kinds(data)
    assert found["undefeated"].items == ("a",)
    assert found["winless"].items == ("d",)
    tied = Comparisons(None, ["a", "a", "b", "b"], ["b", "c", "c", "c"], [1, 0, 1, -1])
    assert "undefeated" not in kinds(tied)


@pytest.mark.slow
def test_few_comparisons_of_an_item():
    data = round_robin()
    rare = Comparisons(7, [*data.first, 6], [*data.second, 3], [*data.outcome, 1.0], names=NAMES[:7])
    found = kinds(rare)["few"]
    assert found.items == (NAMES[6],)
    assert "1 of 7 items" in found.text


@pytest.mark.slow
def test_neighbours_that_cannot_be_told_apart():
    data, _ = by_utility(0, n=6, m=20, spread=0.3)
    assert "neighbours" in kinds(data)["alike"].text
    mixed = round_robin()
    level = Comparisons(
        7,
        [*mixed.first, *[6] * 10, *[0] * 10],
        [*mixed.second, *[0] * 10, *[6] * 10],
        [*mixed.outcome, *[1.0] * 20],
        names=NAMES[:7],
    )
    assert "1 of 6 pairs of neighbours" in kinds(level)["alike"].text
    assert "places 1 and 2" in kinds(level)["alike"].text


@pytest.mark.slow
def test_an_advantage_of_the_first_side():
    found = kinds(round_robin(side=1.5))["side"]
    assert "The first side wins more often" in found.text
    assert "The second side wins more often" in kinds(round_robin(side=-1.5))["side"].text
    alarms = sum("side" in kinds(round_robin(n=5, repeats=6, seed=seed)) for seed in range(40))
    assert alarms <= 3  # 0.4 expected at the level of 1 %


@pytest.mark.slow
def test_sides_are_to_be_put_in_random_order_only_where_that_can_help():
    fair = round_robin(side=1.5)  # in random order already
    assert "random order" not in kinds(fair)["side"].text
    fixed = round_robin(side=1.5, swapped=0.2)
    assert "Put the two sides in random order." in kinds(fixed)["side"].text
    table = {"home": fixed.names[fixed.first], "away": fixed.names[fixed.second], "result": fixed.outcome}
    said = kinds(table)["side"].text
    assert "The home side wins more often" in said
    assert "random order" not in said
    named = {"first": "HomeTeam", "second": "Visitors"}
    found = kinds(dict(zip(["HomeTeam", "Visitors", "result"], table.values(), strict=True)), columns=named)
    assert found["side"].text == said


@pytest.mark.slow
def test_sides_sorted_by_outcome_are_no_advantage():
    data = round_robin()
    assert "side" not in kinds(data.swapped(data.outcome < 0))


@pytest.mark.slow
def test_noise_is_called_noise():
    rng = np.random.default_rng(0)
    first, second = (np.repeat(a, 6) for a in np.triu_indices(6, 1))
    data = Comparisons(6, first, second, rng.choice([-1.0, 1.0], len(first)), names=NAMES[:6])
    assert any(one.kind == "noise" for one in rank(data).warnings)


@pytest.mark.slow
def test_too_many_pairs_are_not_examined_and_that_is_said():
    result = rank(round_robin(), limits=Limits(pairs_examined=5))
    assert result.rankability is None
    assert [one.kind for one in result.warnings] == ["not examined"]


@pytest.mark.parametrize("weighted", [False, True])
def test_records_count_wins_losses_and_ties(weighted):
    data = Comparisons(
        3, [0, 0, 1, 2], [1, 1, 2, 0], [1, -1, 0, 1], weight=[1, 2, 3, 0.5] if weighted else None, names=list("abc")
    )
    record = record_of(data)
    w = [1, 2, 3, 0.5] if weighted else [1, 1, 1, 1]
    np.testing.assert_array_equal(record.wins, [w[0], w[1], w[3]])
    np.testing.assert_array_equal(record.losses, [w[1] + w[3], w[0], 0])
    np.testing.assert_array_equal(record.ties, [0, w[2], w[2]])
    assert record.text(2) == ("0.5-0-3" if weighted else "1-0-1")
    assert record.wins.sum() == record.losses.sum()


def test_a_ranking_of_k_items_weighs_k_less_one_comparisons():
    votes = from_rankings([["a", "b", "c", "d"], ["b", "a", "c"], ["a", "d"]])
    start = prepare(votes)
    weighed, notes = start.data, start.notes
    sums = [weighed.weight[votes.group == k].sum() for k in range(3)]
    np.testing.assert_allclose(sums, [3, 2, 1])
    assert notes[0].kind == "rankings"
    ends = (votes.group == 0) & (votes.names[votes.first] == "a") & (votes.names[votes.second] == "d")
    partial = votes[np.flatnonzero(~ends)]  # the first ranking lacks its first and last: not just a tie
    assert len(partial) == len(votes) - 1
    np.testing.assert_array_equal(prepare(partial).data.weight[partial.group == 0], 1.0)


def test_what_was_prepared_once_stays_as_it_is():
    votes = from_rankings([["d", "b", "c", "a"], ["b", "a", "c"], ["a", "d"]])
    once = prepare(votes).data
    twice = prepare(once)
    np.testing.assert_array_equal(twice.data.weight, once.weight)
    assert twice.data.names.tolist() == once.names.tolist() == ["a", "b", "c", "d"]
    assert not twice.notes


def test_rankings_with_ties_are_votes_too_and_tournaments_are_not():
    grades = from_scores(np.zeros((5, 1)), [2, 1, 1, 0, 0], ties="exclude", group=[0] * 5)
    np.testing.assert_allclose(prepare(grades).data.weight.sum(), 4)
    tied = from_scores(np.zeros((5, 1)), [2, 1, 1, 0, 0], ties="include", group=[0] * 5)
    np.testing.assert_allclose(prepare(tied).data.weight, 4 / 10)
    first, second = np.triu_indices(5, 1)
    upset = np.where((first == 0) & (second == 4), -1.0, 1.0)  # all met all, and the last beat the first
    season = Comparisons(5, first, second, upset, group=np.zeros(10))
    assert prepare(season).data.weight is None


def test_pairs_drawn_from_many_scores_weigh_no_more_than_their_rows():
    rng = np.random.default_rng(0)
    rows = Ratings(rng.normal(size=(300, 2)), rng.normal(size=300), group=np.repeat([0, 1], 150))
    read = listed(Reading(rows, "rows", {}, (), None, "rows"))
    data, notes = read.data, read.notes
    assert "drawn" in notes[0]
    np.testing.assert_allclose(data.weight.sum(), 298)


@pytest.mark.slow
def test_wins_and_losses_of_the_table_are_told_apart():
    table = rank(Comparisons(None, ["a", "a", "b"], ["b", "c", "c"]), circles=False).to_dict()
    assert dict(zip(table["item"], zip(table["wins"], table["losses"], strict=True), strict=True)) == {
        "a": (2, 0),
        "b": (1, 1),
        "c": (0, 2),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "alike"),
    [
        (["Ann", "ann", "Bob"], ("Ann", "ann")),
        (["New York", "Oslo", "New  York"], ("New York", "New  York")),
        (["a", " a", "b"], (" a", "a")),
        (["Zo\u00eb", "Zoe\u0308", "Al"], ("Zoe\u0308", "Zo\u00eb")),
        (["=x", "y", "'=x"], ("'=x", "=x")),
        (["a", "b", "ab"], None),
        ([1, 2, 3], None),
    ],
)
def test_names_that_differ_in_what_nobody_sees(names, alike):
    one, other = np.triu_indices(3, 1)
    data = Comparisons(None, [names[k] for k in one], [names[k] for k in other])
    found = kinds(data).get("names")
    assert (found is None) == (alike is None)
    if found is not None:
        assert sorted(found.items) == sorted(alike)
        assert "write them the same way" in found.text


def test_wins_of_any_size_are_short_and_those_of_usual_size_are_exact():
    weight = [1234567.0, 1e12, 3.5, 0.004]
    data = Comparisons(None, ["a", "b", "c", "d"], ["z"] * 4, weight=weight)
    record = record_of(data)
    assert [record.text(row).split("-")[0] for row in range(5) if row != 1] == ["1.2e6", "1e12", "3.5", "0.004"]
    many = record_of(Comparisons(None, ["a"], ["b"], weight=[99999.0]))
    assert many.text(0) == "99999-0-0"
    assert all(len(record.text(row)) <= 20 for row in range(5))


@pytest.mark.slow
def test_first_places_that_rest_on_almost_nothing_are_called_out():
    """Two items far from the others in features, which never met these: the one that won is placed by its mean."""
    rng = np.random.default_rng(0)
    u = np.linspace(-2, 2, 24)
    first = rng.integers(0, 24, 400)
    second = (first + rng.integers(1, 24, 400)) % 24
    outcome = np.where(u[first] - u[second] + rng.logistic(size=400) > 0, 1, -1)
    X = np.column_stack([np.append(u, [0, 0]), np.append(np.zeros(24), [9, -9])])
    data = Comparisons(
        X, np.append(first, 24), np.append(second, 25), np.append(outcome, 1), names=[*NAMES[:24], "hero", "victim"]
    )
    result = rank(data, model="gp", circles=False)
    place = result.to_dict()["item"].index("hero")
    assert place < 10
    warned = next(one for one in result.warnings if one.kind == "unfounded")
    assert warned.items == ("hero",)
    assert f"{place + 1}, hero (1-0-0, anywhere from 1 to" in warned.text
    assert "Compare hero with item 23" in warned.text


@pytest.mark.slow
def test_sure_places_and_rankings_that_are_unsure_throughout_are_not_called_out():
    sure = Comparisons(24, *np.triu_indices(24, 1), names=NAMES[:24])
    assert "unfounded" not in kinds(sure)
    few = Comparisons(None, list("abcdefgh"), list("bcdefgha"))
    assert "unfounded" not in kinds(few)


@pytest.mark.slow
@pytest.mark.data
def test_the_first_of_a_tennis_season_have_played(data_dir):
    """Without a prior of hyperparameters the winner of one match in a part apart was fifth."""
    path = data_dir / "atp_tennis" / "atp_matches_2018.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    matches = pd.read_csv(path)
    sides = [
        matches[[f"{side}_{what}" for what in ("name", "ht", "hand", "age")]].set_axis(
            ["item", "height", "hand", "age"], axis=1
        )
        for side in ("winner", "loser")
    ]
    players = pd.concat(sides).groupby("item").first().reset_index()
    games = matches[["winner_name", "loser_name"]].set_axis(["winner", "loser"], axis=1)
    result = rank(games, players, model="gp-own", circles=False)
    first = result.to_pandas()[:10]
    assert (first.wins + first.losses).min() > 20
    assert "unfounded" not in {one.kind for one in result.warnings}


def favourites_first(seed, n=10, m=200, side=0.0):
    """Return comparisons in which the better item always stands first, with or without an advantage of that side."""
    rng = np.random.default_rng(seed)
    u = np.linspace(2, -2, n)
    one = rng.integers(0, n, m)
    other = (one + rng.integers(1, n, m)) % n
    first, second = np.minimum(one, other), np.maximum(one, other)
    return Comparisons(n, first, second, np.sign(u[first] - u[second] + side + rng.logistic(size=m)))


@pytest.mark.slow
def test_a_side_is_not_learned_where_favourites_always_stand_first():
    for data in (favourites_first(0), favourites_first(1, m=3000, side=1.0)):
        ladder = build_ladder(data)
        assert [one.term for one in ladder.left_out] == ["side"]
        assert "who stands first mostly follows from which items" in str(ladder.left_out[0])
        assert "side" not in ladder.terms


@pytest.mark.slow
def test_circles_that_may_be_an_advantage_of_one_side_are_doubted():
    data = favourites_first(1, m=1500, side=-1.5)
    result = rank(data)
    found = {one.kind: one for one in result.warnings}
    assert result.rankability.verdict in ("cyclic", "partly cyclic", "undecided")
    assert "an advantage of one side may explain all of it" in found["circles"].text


@pytest.mark.slow
def test_weights_of_any_size_give_a_ranking_or_one_message():
    rng = np.random.default_rng(0)
    data, _ = by_utility(1, n=8, m=80, judge=[f"j{k}" for k in rng.integers(0, 3, 80)], ties=0.3)
    heavy = data._take(slice(None), weight=1e12 * rng.integers(1, 4, 80))
    assert len(rank(heavy)) == 8
    with pytest.raises(DataError, match=r"weight 1e\+308 is larger than 1e\+14"):
        rank(data._take(slice(None), weight=np.full(80, 1e308)))


@pytest.mark.slow
def test_weights_that_are_no_counts_are_scaled_to_what_they_are_worth():
    rng = np.random.default_rng(0)
    data, _ = by_utility(3, m=80)
    uneven = rng.uniform(0.5, 3.0, 80)

    def prepared(weight, **again):
        return prepare(data._take(slice(None), weight=weight), **again)

    found = prepared(uneven)
    np.testing.assert_allclose(found.data.weight / uneven, found.data.weight[0] / uneven[0])
    np.testing.assert_allclose(found.data.weight.sum(), uneven.sum() ** 2 / np.square(uneven).sum())
    assert [one.kind for one in found.notes] == ["weights"]
    twice = prepare(found.data)
    np.testing.assert_array_equal(twice.data.weight, found.data.weight)
    assert not twice.notes
    np.testing.assert_array_equal(prepared(uneven, again=True).data.weight, uneven)
    for counts in (rng.integers(1, 6, 80).astype(float), rng.integers(1, 9, 80) / 2, rng.uniform(0.1, 1.0, 80)):
        np.testing.assert_array_equal(prepared(counts).data.weight, counts)
        assert not prepared(counts).notes
    verdicts = [rank(one.data).rankability.verdict for one in (prepared(uneven), prepared(None))]
    assert verdicts[0] == verdicts[1] == "rankable"


@pytest.mark.slow
def test_circles_that_rest_on_weights_say_so():
    throws = ["rock", "scissors", "paper"], ["scissors", "paper", "rock"]
    text = [
        next(one.text for one in rank(data).warnings if one.kind == "circles")
        for data in (Comparisons(None, *throws, weight=[9, 9, 9]), Comparisons(None, throws[0] * 9, throws[1] * 9))
    ]
    assert "many equal answers" in text[0]
    assert "many equal answers" not in text[1]


@pytest.mark.slow
def test_a_chain_that_chance_could_have_made_is_in_order_all_the_same():
    chain = rank(Comparisons(12, np.arange(11), np.arange(1, 12)))
    text = next(one.text for one in chain.warnings if one.kind == "noise")
    assert text.endswith("never contradict each other: compare items that have not met yet.")
    rng = np.random.default_rng(0)
    first = rng.integers(0, 6, 40)
    guesses = rank(Comparisons(6, first, (first + rng.integers(1, 6, 40)) % 6, rng.choice([-1.0, 1.0], 40)))
    text = next(one.text for one in guesses.warnings if one.kind == "noise")
    assert "nowhere" not in text


@pytest.mark.slow
def test_residuals_that_run_in_circles_no_model_explains_are_spoken_of():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(14, 2))
    first, second = np.triu_indices(14, 1)
    data = Comparisons(X, first, second, np.sign(X[first, 0] - X[second, 0]))
    found = rankability(data, screen=True)
    assert found.verdict == "rankable"
    assert _circles(found) == []
    (said,) = _circles(replace(found, p_value=0.002))
    assert said.kind == "circles"
    assert "more cyclic than chance would make them (p = 0.002)" in said.text
    assert "something that the table of items does not have" in said.text
    by_name = rankability(Comparisons(14, first, second, np.sign(X[first, 0] - X[second, 0])), screen=True)
    assert _circles(replace(by_name, p_value=0.002)) == []


def test_kinds_are_listed():
    """Programs look for a kind: `Advice` says which there are, and there are no others."""
    listed = Advice.__doc__.split("kind : str\n")[1].split("text : str")[0]
    source = "".join(path.read_text() for path in Path(preflearn.analysis.__file__).parent.glob("*.py"))
    given = {*re.findall(r'Advice\(\s*"([^"]+)"', source), "undefeated", "winless"}
    assert given == set(re.findall(r'"([^"]+)"', listed))


def test_numbers_that_are_written_in_several_ways_are_named():
    (said,) = alike_names(np.array(["1", "01", "1.0", "2", "v1.2", "1.2.3"], dtype=object))
    assert said.items == ("1", "01", "1.0")
    assert alike_names(np.array(["1", "10", "1.5", "one"], dtype=object)) == []


@pytest.mark.slow
def test_tastes_of_judges_are_not_called_circles():
    # one of eight answers against the others, and one by chance
    rng = np.random.default_rng(2)
    u, rows = np.linspace(2, -2, 10), []
    for number in range(480):
        one, other = rng.choice(10, 2, replace=False)
        gap = 2 * (u[one] - u[other]) * {0: -1.0, 1: 0.0}.get(number % 8, 1.0)
        word = "left" if rng.random() < 1 / (1 + np.exp(-gap)) else "right"
        rows.append((f"J{number % 8}", f"i{one}", f"i{other}", word))
    result = rank(pd.DataFrame(rows, columns=["judge", "left", "right", "winner"]))
    assert "reliability" in result.ladder.terms
    assert not result.rankability.found
    assert result.rankability.log_odds < 0
    assert result.rankability.cycles == []
    assert not any(one.kind == "circles" and "run in circles" in one.text for one in result.warnings)


@pytest.mark.parametrize("number", [3.5, 0.0])
def test_a_covariate_that_never_varies_is_left_out_with_a_word(number):
    data = round_robin()
    vary = np.sin(np.arange(len(data)))
    both = data._take(slice(None), covariates=np.column_stack([np.full(len(data), number), vary]))
    for given, kept in ((both, 1), (both._take(slice(None), covariates=both.covariates[:, :1]), 0)):
        found = prepare(given)
        (note,) = found.notes
        assert note.kind == "covariates"
        assert f'"column 0" is {number:g} in every row. It is left out' in note.text
        assert (0 if found.data.covariates is None else found.data.covariates.shape[1]) == kept
    assert prepare(both._take(slice(None), covariates=both.covariates[:, 1:])).notes == ()
    assert prepare(both, again=True).data.covariates.shape[1] == 2  # the model knows both
    with pytest.raises(DataError, match="that vary"):
        rank(data._take(slice(None), covariates=np.ones((len(data), 1))), model="bradley-terry+covariates")


def test_a_covariate_that_only_says_who_is_first_does_not_replace_the_ranking():
    # winners first, and a number of the row that is no difference: a duration
    data = round_robin()
    won = data.outcome > 0
    ends = {"first": np.where(won, data.first, data.second), "second": np.where(won, data.second, data.first)}
    lasted = 1 + np.sin(np.arange(len(data)))[:, None] ** 2
    sides = data._take(slice(None), **ends, outcome=np.ones(len(data)))
    found = prepare(sides._take(slice(None), covariates=lasted, covariate_names=("minutes",)))
    assert found.data.covariates is None
    assert found.data.covariate_names is None
    assert '"minutes" is never negative, and the first side won in every row' in found.notes[0].text
    assert not prepare(data._take(slice(None), covariates=lasted)).notes  # sides in random order tell
    assert not prepare(sides._take(slice(None), covariates=lasted - 1.5)).notes  # so does a difference
