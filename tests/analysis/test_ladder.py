"""Which terms are chosen: what the residuals promise, what the evidence says, and what is not tried."""

import tracemalloc

import numpy as np
import pytest
from ranking_data import by_utility

from preflearn import BradleyTerry, Comparisons, PreferenceGP
from preflearn.analysis import Limits, analyse, rank
from preflearn.analysis.advice import camps
from preflearn.analysis.ladder import (
    Ladder,
    Step,
    _gain_of_signs,
    build_ladder,
    expected_gains,
    side_follows_from_items,
)
from preflearn.analysis.model_names import BESIDE, Terms, terms_of
from preflearn.exceptions import DataError


def votes(seed, n=12, m=600, *, side=0.0, effect=0.0, clusters=0.0, reliability=None):
    """Return votes with a judge, a cluster and a covariate, and the true utilities."""
    rng = np.random.default_rng(seed)
    u, first = rng.normal(size=n), rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    judge, cluster, x = np.arange(m) % 10, np.arange(m) // 6, rng.normal(size=m)
    own = clusters * rng.normal(size=(cluster.max() + 1, n))
    z = u[first] - u[second] + side + effect * x + own[cluster, first] - own[cluster, second]
    z = z if reliability is None else np.asarray(reliability)[judge] * z
    outcome = np.where(z + rng.logistic(size=m) > 0, 1.0, -1.0)
    return Comparisons(n, first, second, outcome, judge=judge, cluster=cluster, covariates=x), u


@pytest.mark.parametrize(
    ("term", "truth"),
    [
        ("side", {"side": 0.8}),
        ("covariates", {"effect": 0.8}),
        ("clusters", {"clusters": 2.0, "n": 5}),
        ("reliability", {"reliability": [-1, 0, 0, 0] + 6 * [1]}),
    ],
)
def test_the_term_that_made_the_votes_is_chosen_and_no_other(term, truth):
    data, _ = votes(1, **truth)
    ladder = build_ladder(data)
    assert ladder.terms == Terms("bradley-terry", (term,))
    assert len(ladder.steps) <= 3
    assert term not in {one.term for one in ladder.no_sign}
    assert ladder.chosen.penalised_evidence == max(one.penalised_evidence for one in ladder.steps)


def test_without_any_of_it_nothing_is_fitted_beside_the_utility():
    data, _ = votes(2)
    ladder = build_ladder(data)
    assert [one.name for one in ladder.steps] == ["bradley-terry"]
    assert {one.term for one in ladder.no_sign} == {"side", "covariates", "clusters", "reliability", "tastes"}
    assert all(one.gain < 0 for one in ladder.no_sign)


def test_expected_gains_are_close_to_those_of_the_evidence():
    """At known parameters and with utilities that are free, the gain of a side is about that of two fitted models."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 6, 200)
    second = (first + rng.integers(1, 6, 200)) % 6
    u = rng.normal(size=6)
    for bias in (0.0, 0.4):
        outcome = np.where(u[first] - u[second] + bias + rng.logistic(size=200) > 0, 1.0, -1.0)
        data = Comparisons(6, first, second, outcome)
        plain, sided = (BradleyTerry(prior=100.0, side=side).fit(data) for side in (False, True))
        gain = expected_gains(plain, ["side"])["side"]
        assert gain == pytest.approx(sided.log_evidence_ - plain.log_evidence_, abs=0.15 + 0.15 * abs(gain))


def test_sides_that_were_sorted_by_the_winner_are_no_candidate():
    data, _ = votes(3, side=0.8)
    sorted_sides = data.swapped(data.outcome < 0)
    ladder = build_ladder(sorted_sides._take(slice(None), judge=None, cluster=None, covariates=None))
    assert not ladder.no_sign
    assert "side" not in ladder.terms


def test_gains_flip_with_nothing_and_do_not_depend_on_the_order_of_rows():
    data, _ = votes(4, side=0.5, reliability=[-1, 0] + 8 * [1])
    order = np.random.default_rng(0).permutation(len(data))
    terms = ["side", "covariates", "clusters", "reliability", "tastes"]
    here, there, turned = (
        expected_gains(BradleyTerry(covariates=False).fit(one), terms)
        for one in (data, data[order], data.swapped(np.ones(len(data), dtype=bool)))
    )
    for term in terms:
        assert there[term] == pytest.approx(here[term], abs=1e-5), term
        assert turned[term] == pytest.approx(here[term], abs=1e-5), term


def test_the_gain_of_a_side_does_not_depend_on_whether_rows_are_counted_together():
    data, _ = votes(7, n=5, side=0.4)
    weighted = data._take(slice(None), weight=np.random.default_rng(0).uniform(0.1, 3.0, len(data)))
    for one in (data, weighted):
        model = BradleyTerry(covariates=False).fit(one)
        alone, beside = expected_gains(model, ["side"]), expected_gains(model, ["side", "covariates"])
        assert alone["side"] == pytest.approx(beside["side"], abs=1e-9)


def test_the_share_of_a_side_that_follows_from_the_items_is_that_of_a_projection():
    data, _ = votes(8, n=6, m=80)
    for one in (data, data.swapped(data.outcome < 0), data[data.first < 3]):
        A = np.zeros((len(one), one.n_items))
        A[np.arange(len(one)), one.first], A[np.arange(len(one)), one.second] = 1.0, -1.0
        near = A @ np.linalg.lstsq(A, np.ones(len(one)), rcond=None)[0]
        assert side_follows_from_items(one) == pytest.approx(near @ near / len(one), abs=1e-9)


def test_what_would_cost_too_much_is_left_out_and_said():
    data, _ = votes(5, clusters=1.5)
    ladder = build_ladder(data, limits=Limits(clustered_items=100, judged_items=50))
    said = [str(one) for one in ladder.left_out]
    assert said[0].startswith(f"{BESIDE['clusters']} (at most 100 items of all clusters; here ")
    assert said[1].startswith(f"{BESIDE['tastes']} (at most 50 items of all judges; here ")
    assert "not tried" in ladder.table()


def test_a_side_is_reported_with_its_odds_and_places_are_without_it():
    data, u = votes(6, side=1.0, m=900)
    data = data._take(slice(None), judge=None, cluster=None, covariates=None, covariate_names=None)
    result = rank(data, circles=False)
    (said,) = (one.text for one in result.warnings if one.kind == "side")
    assert "The first side wins more often" in said
    assert "without that advantage" in said
    assert np.corrcoef(result.ranking.utility, u[result.ranking.row])[0, 1] > 0.9
    turned = rank(data.swapped(np.ones(len(data), dtype=bool)), circles=False)
    assert "The second side wins more often" in next(one.text for one in turned.warnings if one.kind == "side")
    assert [*turned.ranking.names] == [*result.ranking.names]


def test_names_of_models_are_read_with_what_they_need():
    data, _ = by_utility(0)
    assert terms_of("both", data) == terms_of("circles", data) == Terms("bradley-terry", ("circles",))
    assert terms_of("thurstone+circles+side", data).name == "thurstone+side+circles"
    with pytest.raises(DataError, match=r'"elo" is neither a utility .bradley-terry, .*nor a term .*side'):
        terms_of("bradley-terry+elo", data)
    with pytest.raises(DataError, match="needs comparisons by two judges or more"):
        terms_of("reliability", data)


def test_the_verdict_is_about_the_chosen_model_with_and_without_circles():
    data, _ = votes(7, side=0.8)
    found = analyse(data._take(slice(None), judge=None, cluster=None, covariates=None), circles=True)
    assert found.rankability.models["ranking"].side
    assert found.ladder.terms.name == "bradley-terry+side"
    assert not found.rankability.found


def test_a_side_that_always_favours_the_same_item_of_a_pair_is_not_called_a_circle():
    """Newer items stand first in most rows: what looks like circles is the advantage of the first side."""
    rng = np.random.default_rng(0)
    n, m = 12, 3_000
    u, one = 0.6 * rng.normal(size=n), rng.integers(0, n, m)
    other = (one + rng.integers(1, n, m)) % n
    first = np.where(rng.random(m) < 0.85, np.maximum(one, other), np.minimum(one, other))
    second = one + other - first
    outcome = np.where(u[first] - u[second] + 1.0 + rng.logistic(size=m) > 0, 1.0, -1.0)
    found = analyse(Comparisons(n, first, second, outcome))
    assert found.ladder.terms.name == "bradley-terry+side"
    assert found.rankability.verdict == "rankable"


def test_reliabilities_count_in_the_evidence():
    """The lower bound is below the evidence of judges who are all alike, and above it where some are not."""
    for reliability, better in ((10 * [1], False), ([-1, -1, 0, 0] + 6 * [1], True)):
        data, _ = votes(8, m=400, reliability=reliability)
        plain, judged = (
            PreferenceGP(likelihood="logit", n_restarts=0, covariates=False, judge_reliability=one).fit(data)
            for one in (False, True)
        )
        assert (judged.log_evidence_ > plain.log_evidence_) is better


@pytest.mark.slow
def test_votes_about_few_prompts_are_ranked():
    data, u = votes(3, m=180, n=4, clusters=2.0)
    for m in (slice(None), slice(0, 90)):
        result = rank(data._take(m, judge=None, covariates=None))
        assert result.ladder.terms.beside == ("clusters",)
        assert result.model.hyperparameters == "average"  # there are few effects of prompts
        assert result.ranking.names[0] == np.argmax(u)


@pytest.mark.parametrize(("ahead", "words"), [(0.5, "too little to decide"), (7.2, "more than chance would make it")])
def test_why_circles_of_higher_evidence_are_not_chosen(ahead, words):
    plain = Step(Terms("bradley-terry"), None, -100.0, 1.5)
    circles = Step(plain.terms.plus("circles"), None, -98.5 + ahead, 3.0)
    ladder = Ladder((plain, circles), plain)
    assert words in ladder.why
    assert f"{ahead} nats" in ladder.why


def test_clusters_of_one_row_each_change_nothing():
    data, _ = votes(4, n=8, m=60)
    alone = data._take(slice(None), judge=None, covariates=None, cluster=np.arange(60))
    bare = alone._take(slice(None), cluster=None)
    assert "clusters" in [one.term for one in build_ladder(alone).left_out]
    one, other = rank(alone), rank(bare)
    np.testing.assert_array_equal(one.ranking.utility, other.ranking.utility)
    assert one.ladder.terms == other.ladder.terms


def test_even_camps_are_contradicting_judges_and_both_rankings_are_named():
    data, _ = votes(9, m=400, reliability=5 * [1] + 5 * [-1])
    data = data._take(slice(None), cluster=None, covariates=None, covariate_names=None)
    ladder = build_ladder(data)
    assert "reliability" in ladder.terms
    assert ladder.model.reverse_probability_ > 0.2
    assert ladder.model.rank().p_best.max() < 0.7
    (said,) = camps(ladder)
    assert said.text.startswith("Half of the 10 judges (")
    assert "There are two rankings: one starts with" in said.text
    assert len(said.items) == 5
    assert camps(ladder, Limits(reverse_doubt=0.6)) == []


def test_many_judges_of_many_items_are_no_matrix():
    rng = np.random.default_rng(0)
    n, m = 3_000, 12_000
    first, judge = rng.integers(0, n, m), rng.integers(0, n, m)
    X = Comparisons(n, first, (first + rng.integers(1, n, m)) % n, rng.choice([-1.0, 1.0], m), judge=judge)
    tracemalloc.start()
    gain = _gain_of_signs(X, 0.5 * X.outcome, np.full(m, 0.25))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert gain < 0
    assert most < 8 * n * n / 4


def test_camps_with_tastes_of_their_own_are_not_contradicting_judges():
    rng = np.random.default_rng(1)
    n, m = 8, 1_200
    u, first, judge = rng.normal(size=(2, n)), rng.integers(0, n, m), np.arange(m) % 10
    second, camp = (first + rng.integers(1, n, m)) % n, judge % 2
    z = 1.5 * (u[camp, first] - u[camp, second])
    data = Comparisons(n, first, second, np.where(z + rng.logistic(size=m) > 0, 1.0, -1.0), judge=judge)
    ladder = build_ladder(data)
    assert "tastes" in ladder.terms
    assert ladder.model.reverse_probability_ == 0
