"""What the sections say: the figures of the result, for every kind of model, or one sentence where there is none."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from preflearn.analysis import Analysis, RankResult, Terms, rank
from preflearn.analysis.analyse import sentence_of
from preflearn.messages import WORDS
from preflearn.report import report_html
from preflearn.report import section_asking as asking
from preflearn.report import section_calibration as calibration
from preflearn.report import section_circles as circles
from preflearn.report import section_facts as facts
from preflearn.report import section_features as features
from preflearn.report import section_graph as graph
from preflearn.report import section_matrix as matrix
from preflearn.report import section_overview as overview
from preflearn.report.context import Shown
from preflearn.report.markup import clean, counted, number, share, table
from preflearn.report.svg import Drawing, spread_ticks
from preflearn.report.writing import EXPERT, PLAIN
from preflearn.table_format import shortened
from report.conftest import league, made, with_model


def shown_of(result: RankResult) -> Shown:
    return Shown(result, 0)


def test_places_lead_to_rows_of_the_item_table(result_of):
    result = result_of("unused")
    shown = shown_of(result)
    assert shown.rows.tolist() == [int(row) for row in result.ranking.names]
    wins = {int(item): result.record.wins[shown.rows[k]] for k, item in enumerate(result.ranking.names)}
    assert wins == {0: 1.0, 3: 1.0, 5: 2.0, 7: 0.0}


@pytest.mark.slow
def test_the_answer_names_the_leader_and_how_sure(result_of, parsed):
    result = result_of("club")
    text = overview.answer(shown_of(result))
    assert clean(result.ranking.names[0]) in text
    assert counted(result.ranking.p_best[0]) in text
    sure = replace(result, ranking=replace(result.ranking, p_best=np.array([0.97, 0.03, 0, 0, 0, 0])))
    assert "is the best of 6 items, with probability 97" in overview.answer(shown_of(sure))
    assert "no ranking explains them" in overview.answer(shown_of(result_of("throws")))
    assert "places mean little" in overview.answer(shown_of(result_of("throws")))


@pytest.mark.slow
def test_the_gravest_warning_is_in_the_answer_and_all_are_below(result_of):
    result = result_of("judges")
    text = report_html(result)
    assert text.count("judges answers against the others: ") == 2
    assert all(clean(one.text, 1500).split("(")[0].split('"')[0][:40] in text for one in result.warnings)
    assert overview.warned(shown_of(replace(result, warnings=()))) == ""
    assert "no warnings" in overview.answer(shown_of(replace(result, warnings=())))


@pytest.mark.slow
def test_the_matrix_is_that_of_the_model_in_the_order_of_the_ranking(result_of):
    result = result_of("club")
    chance = result.model.preference_matrix(list(result.ranking.names)).probability
    text = matrix.matrix(shown_of(result))
    rows = text[text.index("<tbody>") :].split("</tr>")
    for i in range(6):
        cells = [f"{100 * chance[i, j]:.0f}" for j in range(6) if j != i]
        assert re.findall(r">(\d+)</td>", rows[i]) == cells


@pytest.mark.slow
def test_the_graph_counts_pairs_and_upsets(result_of):
    result = result_of("club")
    shown = shown_of(result)
    low, high, net, weight = graph._edges(shown)
    assert weight.sum() == len(result.data)
    assert np.all(low < high)
    place = {name: k for k, name in enumerate(result.ranking.names)}
    total = np.zeros((6, 6))
    for i, j, y in zip(result.data.first, result.data.second, result.data.outcome, strict=True):
        a, b = place[result.data.names[i]], place[result.data.names[j]]
        total[a, b] += y
        total[b, a] -= y
    np.testing.assert_allclose(net * weight, total[low, high], atol=1e-12)
    assert f"{len(low)} of 15" in graph.graph(shown)


@pytest.mark.slow
def test_the_strongest_circle_is_drawn_in_its_direction(result_of):
    result = result_of("throws")
    names = [str(name) for name in result.ranking.names]
    beats = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}
    assert {(names[a], names[b]) for a, b in graph._strongest(shown_of(result), 3)} == beats
    assert graph.graph(shown_of(result)).count('class="head"') == 3
    assert 'class="head"' not in graph.graph(shown_of(result_of("club")))


@pytest.mark.slow
def test_held_out_predictions_do_not_know_their_comparisons(result_of):
    one, how = calibration.held_out_predictions(shown_of(result_of("coffee")))
    np.testing.assert_array_equal(one.probability, result_of("coffee").model.leave_one_out()[:, 1])
    assert "from all the others" in how
    plain = result_of("club")  # Bradley-Terry
    dealt, how = calibration.held_out_predictions(shown_of(plain))
    assert "5 parts" in how
    assert np.max(np.abs(dealt.probability - plain.model.predict_proba(plain.data)[:, 1])) > 0.01


def test_held_out_outcomes_are_predicted_on_their_sides():
    row = np.arange(240)
    data = league(4, 240)._take(slice(None), outcome=np.where(row % 5 == 0, -1.0, 1.0))  # the first side wins
    result = rank(data, model="side", circles=False)
    assert calibration.held_out_predictions(shown_of(result))[0].probability.mean() == pytest.approx(0.8, abs=0.05)


def test_probabilities_that_are_off_are_called_off():
    predicted = np.repeat([0.62, 0.93], 200)

    def said(shares, pairs=None):
        won = np.concatenate([np.arange(200) < 200 * share for share in shares]).astype(float)
        return calibration._trusted(predicted, won, np.ones(400), pairs)

    assert "at their word" in said((0.64, 0.92))
    assert "too bold" in said((0.5, 0.6))
    assert "too cautious" in said((0.8, 0.99))
    assert "too bold" in said((0.5, 0.85))
    assert "at their word" in said((0.5, 0.85), np.arange(400) // 50)  # answers about eight pairs only


@pytest.mark.slow
def test_features_that_matter_come_first_and_their_direction_is_right(result_of):
    grid, curves = features._curves(shown_of(result_of("coffee")))
    reach = curves.max(axis=1) - curves.min(axis=1)
    assert reach[2] < 0.5 * min(reach[:2])
    assert features._shape(curves[0], reach.max()) == "more is better"
    assert features._shape(-np.abs(grid[0]), 1.0) == "best in between"
    assert features._shape(np.abs(grid[0]), 1.0) == "worst in between"
    assert features._shape(0.001 * grid[0], 1.0) == "hardly any effect"
    assert "more is better" in features.features(shown_of(result_of("coffee")))


def test_features_that_were_given_but_not_used_are_not_denied(result_of):
    result = result_of("two")
    assert features.features(shown_of(result)) == ""
    tried = replace(result.ladder.chosen, terms=Terms("gp"))
    ladder = replace(result.ladder, steps=(*result.ladder.steps, tried))
    result = replace(result, analysis=replace(result.analysis, ladder=ladder))
    assert "does not use the features" in features.features(shown_of(result))


@pytest.mark.slow
def test_the_curve_of_a_feature_is_that_of_the_model(result_of):
    result = result_of("coffee")
    grid, curves = features._curves(shown_of(result))
    items = np.array(result.data.items)
    ends = []
    for value in (grid[0, 0], grid[0, -1]):
        moved = items.copy()
        moved[:, 0] = value
        ends.append(result.model.predict_utility(moved).mean())
    np.testing.assert_allclose(curves[0, -1] - curves[0, 0], ends[1] - ends[0])


@pytest.mark.slow
def test_what_to_compare_next_falls_back_and_says_so(result_of, monkeypatch):
    assert "once those above it are answered" in asking.next_comparisons(shown_of(result_of("club")))
    assert "about the preferences once those above it are answered" in asking.next_comparisons(
        shown_of(result_of("throws"))
    )
    assert "once those above it are answered" in asking.next_comparisons(shown_of(result_of("judges")))
    monkeypatch.setattr(asking, "MOST_SUGGESTED", 5)
    assert "whose order is least sure" in asking.next_comparisons(shown_of(result_of("club")))


@pytest.mark.slow
def test_methods_that_were_not_used_are_not_cited(result_of):
    assert facts.references(shown_of(result_of("two"))) == ["bradley-terry", "next"]
    assert facts.references(shown_of(result_of("coffee"))) == ["bradley-terry", "gp", "next"]
    used = facts.references(shown_of(result_of("throws")))
    assert {"circles", "hodge", "gp"} <= set(used)
    assert "ties" not in used
    assert "ties" in facts.references(shown_of(result_of("tie")))


@pytest.mark.slow
def test_groups_are_looked_for_only_where_there_are_circles(result_of):
    assert circles.clusters(shown_of(result_of("two"))) == ""
    assert circles.clusters(shown_of(result_of("club"))) == ""
    assert "run through all items" in circles.clusters(shown_of(result_of("throws")))


@pytest.mark.slow
def test_two_groups_that_can_be_ranked_within_are_told_apart():
    from preflearn import Comparisons

    def among(names):  # a ranking of four, and a draw against the others
        return [(names[i], names[j], w) for i in range(4) for j in range(i + 1, 4) for w in ([1, 1] if i else [1])]

    across = [(a, x, w) for a in "abcd" for x in "wxyz" for w in (1, -1) for _ in range(4)]
    rows = [row for row in among("abcd") + among("wxyz") for _ in range(12)] + across
    first, second, outcome = zip(*rows, strict=True)
    result = rank(Comparisons(None, first, second, np.array(outcome, float)), circles=True)
    assert result.rankability.verdict in ("cyclic", "partly cyclic")
    text = circles.clusters(shown_of(result))
    assert "a ranking explains" in text
    members = [line for line in text.split("<tr>") if "group" in line and "words" in line]
    assert sorted("".join(c for c in "abcdwxyz" if f">{c}</bdi>" in line) for line in members) == ["abcd", "wxyz"]


@pytest.mark.slow
def test_two_circles_are_no_groups_that_could_be_ranked():
    from preflearn import Comparisons

    first, second = ["a", "b", "c", "x", "y", "z"], ["b", "c", "a", "y", "z", "x"]
    result = rank(Comparisons(None, first, second, weight=[20] * 6))
    assert "run through all items" in circles.clusters(shown_of(result))


@pytest.mark.parametrize("key", [key for key, _, _ in (*PLAIN, *EXPERT)])
def test_a_section_that_fails_says_why_and_stops_no_other(key, result_of, monkeypatch, parsed):
    def broken(shown):
        raise RuntimeError("no <b>room</b> left")

    before = len(parsed(report_html(result_of("two"))).all("section"))
    for of, sections in (("PLAIN", PLAIN), ("EXPERT", EXPERT)):
        broke = tuple((one, words, broken if one == key else make) for one, words, make in sections)
        monkeypatch.setattr(f"preflearn.report.writing.{of}", broke)
    page = parsed(report_html(result_of("two")))
    assert page.words().count("This part could not be computed (RuntimeError: no <b>room</b> left).") == 1
    assert before <= len(page.all("section")) <= before + 1


@pytest.mark.slow
def test_a_model_that_can_do_nothing_still_gets_a_page(result_of, parsed):
    result = with_model(result_of("club"), object())
    page = parsed(report_html(result))
    assert clean(result.ranking.names[0]) in page.words()
    assert page.words().count("could not be computed") == 5  # what to ask, how to read, matrix, calibration, model


@pytest.mark.slow
def test_the_model_comes_with_the_checks_that_were_made(result_of):
    result = result_of("judges")
    said = sentence_of(result.checks, WORDS)
    assert "judges differ" in said
    assert f"Checks: {clean(said, 1500)}" in unescape(facts.model_facts(shown_of(result)))


@pytest.mark.slow
def test_thousands_of_items_stay_small(parsed):
    result = _large(3000)
    text = report_html(result)
    assert len(text.encode()) < 3_500_000
    parsed(text)


def _large(n: int) -> RankResult:
    """A result of many items with long names, without a model."""
    from preflearn.analysis.prepared import record_of
    from preflearn.likelihoods import Logit
    from preflearn.models.ranking import Part, rank_draws

    names = [f"{k} {'a long name with < and & ' * 8}" for k in range(n)]
    data = league(n, 4 * n, names)
    rng = np.random.default_rng(0)
    mean = rng.normal(size=n)
    ranking = rank_draws(names, [Part(1.0, mean, np.ones(n), Logit())], mean + rng.normal(size=(50, n)), 3, 0.9)
    ladder = replace(made("two").ladder, steps=())
    return with_model(RankResult(ranking, Analysis(data, record_of(data), ladder, None, ()), ()), object())


def test_captions_cannot_leave_their_attribute(parsed):
    page = parsed(table('say "yes" & <no>', ["a"], [["1"]]) + Drawing(9, 9).html("k", '"t"', "d", "c", wide=True))
    named = [one["aria-label"] for one in page.all("div") if "aria-label" in one]
    assert named == ['say "yes" & <no>', '"t"']


def test_numbers_and_names_are_written_with_care():
    assert (number(-0.004), number(-1234.5, 1)) == ("0.00", "\N{MINUS SIGN}1,234.5")
    assert (share(0.0), share(0.004), share(0.996), share(1.0)) == tuple(
        f"{text}\N{NO-BREAK SPACE}%" for text in ("0", "<1", ">99", "100")
    )
    assert counted(0.0) == "&lt;1\N{NO-BREAK SPACE}%"
    for columns in range(4, 30):
        assert len(shortened("a name that is quite long", columns)) <= columns
    assert shortened("漢字漢字漢字漢字", 7) == "漢字\N{HORIZONTAL ELLIPSIS}字"
    assert shortened("Player 12", 9) == "Player 12"
    assert shortened("Player number 12", 9) != shortened("Player number 13", 9)


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 1e-9), (-3e5, 2e5), (0.123, 0.124)])
def test_ticks_are_inside_and_not_too_many(low, high):
    ticks = spread_ticks(low, high)
    assert 2 <= len(ticks) <= 8
    assert min(ticks) >= low - 1e-9 * (high - low)
    assert max(ticks) <= high + 1e-9 * (high - low)


@pytest.mark.slow
def test_where_preferences_run_in_circles_utilities_and_features_are_over_opponents(result_of):
    result = result_of("currents")
    assert "circles" in result.ladder.terms
    shown = shown_of(result)
    grid, curves = features._curves(shown)
    # the utility part has next to nothing to say beside circles of the same features
    assert np.ptp(curves[0]) > 1.0
    assert features._shape(curves[0], np.ptp(curves[0])) == "more is better"
    few = np.asarray(result.data.items)
    point = np.array([[grid[0, 0], few[0, 1]], [grid[0, -1], few[0, 1]]])
    mean = features._worth(result.model, point, few)
    both = result.model.preference_matrix(np.concatenate([point, few])).mean[:2, 2:].mean(axis=1)
    np.testing.assert_allclose(mean, both, atol=1e-10)
    assert "and their opponents." in features.features(shown)
    assert "preferred to all items on average" in overview.ranking(shown)
    assert "preferred to the ranked items on average" in facts.reading_guide(shown)


@pytest.mark.slow
def test_clusters_and_covariates_are_counted():
    data = league(5, 60)
    row = np.arange(60)
    data = data._take(slice(None), cluster=(row // 4).astype(str), covariates=np.stack([row, -row], axis=1) / 60)
    words = facts.data_facts(shown_of(rank(data, circles=False)))
    assert "<dt>clusters</dt><dd>15</dd>" in words
    assert "<dt>covariates</dt><dd>2</dd>" in words
