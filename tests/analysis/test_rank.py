"""preflearn.rank: the table, the model that is chosen, and how the data are read."""

import html
import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from ranking_data import NAMES, by_utility, circular
from sklearn.base import clone

import preflearn
from fast_share import cases, slow_except, thorough
from preflearn import BradleyTerry, Comparisons, PreferenceGP, Ratings
from preflearn.analysis import Limits, analyse, rank
from preflearn.analysis.ladder import _few_statements, _points
from preflearn.analysis.model_names import ALIASES, BESIDE, UTILITIES
from preflearn.data import from_rankings
from preflearn.exceptions import DataError
from preflearn.files import open_model
from preflearn.inference.ep import EP
from preflearn.table_format import chance


def chosen(data, model="auto", **limits):
    """Return the ladder of an analysis that does not look for circles, unless a model with circles is asked for."""
    return analyse(data, model, circles=False, limits=Limits(**limits)).ladder


def frame(data, library=pd):
    won = data.outcome > 0
    names = data.names
    first, second = names[data.first], names[data.second]
    return library.DataFrame({"winner": np.where(won, first, second), "loser": np.where(won, second, first)})


@cache
def in_circles():
    """Return the ranking of a circle, which takes long to learn and is only read."""
    return rank(circular(0))


def test_three_lines():
    data, _ = by_utility(0)
    result = preflearn.rank(frame(data))
    table = result.to_pandas()
    assert list(table["rank"]) == list(range(1, 13))
    assert table["p_best"].sum() == pytest.approx(1)
    assert (table["low"] <= table["utility"]).all()
    assert (table["utility"] <= table["high"]).all()
    assert (table["rank_low"] <= table["rank"]).all()
    assert (table["rank"] <= table["rank_high"]).all()
    assert table["utility"].sum() == pytest.approx(0, abs=1e-9)
    assert table["wins"].sum() == table["losses"].sum() == 300
    assert table["p_above_next"].isna().tolist() == [False] * 11 + [True]
    assert len(result) == 12
    assert "winner" in " ".join(result.notes)


@pytest.mark.slow
def test_frames_of_other_libraries_and_comparisons_give_the_same():
    data, _ = by_utility(1)
    one = rank(frame(data), circles=False).summary()["ranking"]
    other = rank(frame(data, pl), circles=False).summary()["ranking"]
    assert one == other
    direct = rank(data, circles=False).summary()["ranking"]
    assert [row["item"] for row in direct] == [row["item"] for row in one]
    np.testing.assert_allclose([row["utility"] for row in direct], [row["utility"] for row in one], atol=1e-6)


@pytest.mark.slow
def test_order_of_an_item_table_does_not_matter():
    data, _ = by_utility(5, n=20, m=120, features=lambda rng, u: np.column_stack([u, rng.normal(size=20)]))
    order = np.random.default_rng(0).permutation(20)
    place = np.argsort(order)
    again = Comparisons(data.items[order], place[data.first], place[data.second], data.outcome, names=data.names[order])
    here, there = rank(data), rank(again)
    assert [*here.ranking.names] == [*there.ranking.names]
    assert [*data.names[here.ranking.row]] == [*here.ranking.names]
    np.testing.assert_allclose(here.ranking.low, there.ranking.low, atol=1e-5)
    np.testing.assert_allclose(here.ranking.p_best, there.ranking.p_best, atol=1e-3)
    np.testing.assert_array_equal(here.ranking.rank_high, there.ranking.rank_high)


@pytest.mark.slow
def test_order_of_rows_and_sides_does_not_matter():
    data, _ = by_utility(2, n=8, m=100, ties=0.3)
    rng = np.random.default_rng(0)
    again = data[rng.permutation(len(data))].swapped(rng.random(len(data)) < 0.5)
    one, other = rank(data, circles=False), rank(again, circles=False)
    assert one.ladder.terms.name == other.ladder.terms.name == "bradley-terry"
    assert [*one.ranking.names] == [*other.ranking.names]
    np.testing.assert_allclose(one.ranking.utility, other.ranking.utility, atol=1e-6)
    named = [f"{name}" for name in data.names[data.first]], [f"{name}" for name in data.names[data.second]]
    rows = rng.permutation(len(data))
    here, there = (
        rank(
            Comparisons(None, [named[0][k] for k in order], [named[1][k] for k in order], data.outcome[order]),
            circles=False,
        )
        for order in (np.arange(len(data)), rows)
    )
    np.testing.assert_allclose(here.ranking.low, there.ranking.low, atol=1e-5)  # draws by name, not by first occurrence
    np.testing.assert_array_equal(here.ranking.rank_high, there.ranking.rank_high)
    assert one.to_dict()["ties"] == other.to_dict()["ties"]
    assert [a.kind for a in one.warnings] == [a.kind for a in other.warnings]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers():
    data, _ = by_utility(3, n=6, m=60)
    assert rank(data, random_state=5).summary() == rank(data, random_state=5).summary()


@pytest.mark.slow
def test_the_table_is_that_of_the_model():
    data, _ = by_utility(4)
    result = rank(data, circles=False)
    model = BradleyTerry(inference="ep", hyperparameters="average").fit(data)
    np.testing.assert_allclose(model.predict_utility()[result.ranking.row], result.ranking.utility, atol=1e-6)
    assert result.model.log_evidence_ == pytest.approx(model.log_evidence_)


@pytest.mark.slow
def test_features_that_tell_are_chosen_and_others_are_not():
    related, u = by_utility(
        5, n=40, m=400, features=lambda rng, u: np.column_stack([u + 0.1 * rng.normal(size=len(u))])
    )
    result = rank(related, circles=False)
    assert result.ladder.terms.name == "gp-own"
    assert np.corrcoef(result.ranking.utility, u[result.ranking.row])[0, 1] > 0.9
    unrelated, _ = by_utility(6, n=40, m=800, features=lambda rng, u: rng.normal(size=(len(u), 1)))
    kept = rank(unrelated, circles=False)
    assert kept.ladder.terms.name == "bradley-terry"


@pytest.mark.slow
def test_relevances_are_learned_where_one_of_several_features_matters():
    def features(rng, u):
        return np.column_stack([u, rng.normal(size=(len(u), 4))])

    data, _ = by_utility(7, n=60, m=500, features=features)
    ladder = chosen(data)
    assert ladder.terms.name == "gp-ard-own"
    assert max(ladder.model.relevances_, key=ladder.model.relevances_.get) == "feature 0"
    assert ladder.ordered[0].name == ladder.terms.name
    assert "nats ahead" in ladder.why


@pytest.mark.slow
def test_features_that_explain_little_leave_items_their_own_effects():
    """Items of equal features differ: their order is not decided by a feature that means nothing."""
    data, u = by_utility(20, n=10, m=600, features=lambda rng, u: 0.01 * rng.normal(size=(len(u), 1)))
    found = chosen(data, "gp-own").model.predict_utility()
    assert np.corrcoef(found, u)[0, 1] > 0.95


@pytest.mark.slow
def test_circles_are_said_and_modelled():
    result = in_circles()
    assert result.rankability.verdict in ("cyclic", "partly cyclic")
    assert result.ladder.terms.name == "bradley-terry+circles"
    assert result.warnings[0].kind == "circles"
    assert ">" in result.warnings[0].text
    assert "run in circles" in str(result)


@pytest.mark.slow
def test_items_without_comparisons_are_ranked_by_their_features_only():
    data, _u = by_utility(8, n=30, m=400, features=lambda rng, u: u[:, None])
    some = data[(data.first < 25) & (data.second < 25)]
    result = rank(some, model="gp", circles=False)
    assert len(result) == 30
    assert result.record.played[25:].sum() == 0
    bare = rank(some, model="bradley-terry", circles=False)
    assert len(bare) == 25


@pytest.mark.slow
def test_records_are_those_of_the_items_whatever_else_is_in_the_table():
    some = rank(Comparisons(8, [0, 3, 5, 5], [3, 5, 7, 0]), circles=False)
    assert dict(zip(some.to_dict()["item"], some.to_dict()["wins"], strict=True)) == {0: 1, 3: 1, 5: 2, 7: 0}
    numbers = rank(Comparisons(None, [10, 20, 30, 10], [20, 30, 10, 30]), circles=False)
    assert dict(zip(numbers.to_dict()["item"], numbers.to_dict()["wins"], strict=True)) == {10: 2, 20: 1, 30: 1}
    named = rank(Comparisons(6, [9, 2], [2, 3], names=[7, 8, 9, 1, 2, 3]), circles=False)
    assert dict(zip(named.to_dict()["item"], named.to_dict()["wins"], strict=True)) == {9: 1, 2: 1, 3: 0}


@pytest.mark.slow
def test_sizes_of_outcomes_do_not_count_and_that_is_said():
    data, _ = by_utility(9)
    wide = Comparisons(12, data.first, data.second, data.outcome * 3, names=NAMES[:12])
    assert rank(wide, circles=False).summary()["ranking"] == rank(data, circles=False).summary()["ranking"]
    assert any(one.kind == "outcomes" for one in rank(wide, circles=False).warnings)
    assert not any(one.kind == "outcomes" for one in rank(data, circles=False).warnings)


@pytest.mark.slow
def test_few_items_and_judges_are_averaged_over_their_hyperparameters():
    data, _ = by_utility(4, m=60)
    judged = Comparisons(12, data.first, data.second, data.outcome, judge=np.resize(["ann", "bob", "cy"], len(data)))
    featured = data.with_items(np.random.default_rng(0).normal(size=(12, 1)))
    tried = ((data, "bradley-terry"), (data, "thurstone"), (featured, "gp-own"), (judged, "judges"))
    for comparisons, name in tried:
        assert chosen(comparisons, name).model.hyperposterior_.theta.shape[0] > 3, name
    assert not hasattr(chosen(judged, "judges", averaged_latents=20).model, "hyperposterior_")
    assert hasattr(chosen(data, "bradley-terry", averaged_latents=20).model, "hyperposterior_")
    for comparisons, name in tried:
        assert not hasattr(chosen(comparisons, name, averaged_items=11).model, "hyperposterior_"), name


@pytest.mark.slow
def test_few_statements_are_learned_from_by_moments():
    data, _ = by_utility(4, m=60)
    featured = data.with_items(np.random.default_rng(0).normal(size=(12, 1)))
    heavy = Comparisons(12, data.first, data.second, data.outcome, weight=np.round(np.geomspace(1.0, 1e13, len(data))))

    circles = chosen(data, "circles").model
    assert (circles.inference, circles.hyperparameters) == ("ep", "average")

    def by_moments(comparisons, name, **limits):
        return chosen(comparisons, name, pairs_by_moments=0, **limits).model.inference == "ep"

    assert not by_moments(featured, "circles")

    assert by_moments(data, "bradley-terry")
    assert by_moments(data, "thurstone")
    assert by_moments(featured, "gp-own")
    assert not by_moments(heavy, "bradley-terry")
    assert by_moments(data, "bradley-terry", few_statements=10)  # up to ten for each item
    few = {"few_statements": 10, "few_per_item": 3}
    assert not by_moments(data, "bradley-terry", **few)
    assert not by_moments(featured, "gp-own", **few)
    repeated = Comparisons(12, np.tile(data.first[:30], 9), np.tile(data.second[:30], 9), np.tile(data.outcome[:30], 9))
    turned = Comparisons(12, repeated.second, repeated.first, -repeated.outcome)
    for same in (repeated, turned):
        assert by_moments(same, "bradley-terry", **few)  # the same ones again
    assert not by_moments(repeated, "bradley-terry", items_by_moments=11)


@pytest.mark.slow
def test_where_moments_do_not_settle_it_is_laplace(monkeypatch):
    data, _ = by_utility(4, m=60)

    solve = EP.solve

    def unsettled(*arguments):
        found = solve(*arguments)
        return replace(found, info=replace(found.info, converged=False))

    monkeypatch.setattr(EP, "solve", unsettled)
    found = chosen(data, pairs_by_moments=0).model
    assert found.inference != "ep"
    assert found.hyperparameters == "average"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
@pytest.mark.parametrize("apart", [False, True])
def test_tastes_are_learned_where_the_residuals_promise_something(apart):
    data, u = by_utility(4, m=400, features=lambda rng, u: np.column_stack([u, rng.normal(size=12)]))
    judge = np.arange(len(data)) % 4
    taste = apart * np.random.default_rng(0).normal(size=(4, 12)) * 1.5
    gain = taste[judge, data.first] - taste[judge, data.second]
    outcome = np.where(gain + u[data.first] - u[data.second] + np.random.default_rng(1).logistic(size=400) > 0, 1, -1)
    judged = Comparisons(data.items, data.first, data.second, outcome, judge=judge)
    ladder = chosen(judged)
    assert ("tastes" in ladder.terms) is apart
    assert any("tastes" in one.terms for one in ladder.steps) is apart
    assert any(one.term == "tastes" for one in ladder.no_sign) is not apart
    assert ("tastes" in analyse(judged, circles=True).ladder.terms) is apart
    if apart:
        all_at_once = clone(ladder.steps[-1].model).set_params(n_restarts=1).fit(judged).optima_[0].evidence
        assert ladder.steps[-1].model.optima_[0].evidence == pytest.approx(all_at_once, abs=0.01)


@pytest.mark.slow
def test_judges_have_tastes_beside_circles_or_it_is_said_that_they_have_not():
    rng = np.random.default_rng(0)
    n, m = 8, 800
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    judge, taste = np.arange(m) % 4, 0.8 * rng.normal(size=(4, n))
    c = np.triu(3.0 * rng.normal(size=(n, n)), 1)
    z = (c - c.T)[first, second] + taste[judge, first] - taste[judge, second] + rng.logistic(size=m)
    with_judges = Comparisons(n, first, second, np.sign(z), judge=judge)
    ladder = analyse(with_judges).ladder
    assert (ladder.terms.name, ladder.left_out) == ("bradley-terry+tastes+circles", ())
    pooled = chosen(with_judges, "circles").model.rank()
    tastes = ladder.model.rank()
    assert (tastes.high - tastes.low).mean() > (pooled.high - pooled.low).mean()
    assert "tastes of single judges" in ladder.why
    assert not analyse(Comparisons(n, first, second, np.sign(z))).ladder.left_out
    without = analyse(with_judges, limits=Limits(pairs_judged=27)).ladder
    assert without.terms.name == "bradley-terry+circles"
    assert "at most 27 pairs; here 28" in str(without.left_out[-1])


@pytest.mark.slow
def test_judges_who_disagree_are_told_apart():
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(8, 1)
    judge = np.repeat([f"judge {k}" for k in range(6)], len(first))
    first, second = np.tile(first, 6), np.tile(second, 6)
    flip = np.where(judge == "judge 0", -1.0, 1.0) * np.where(rng.random(len(first)) < 0.05, -1, 1)
    result = rank(Comparisons(8, first, second, flip, names=NAMES[:8], judge=judge))
    assert result.ladder.terms.name == "bradley-terry+reliability"
    assert result.judges is not None
    warned = [one for one in result.warnings if one.kind == "judges"]
    assert warned[0].items == ("judge 0",)


@pytest.mark.slow
def test_summary_is_json_and_says_everything():
    text = json.dumps(in_circles().summary(), allow_nan=False)
    found = json.loads(text)
    assert {"model", "rankability", "warnings", "ranking", "read", "n_items", "n_comparisons"} <= set(found)
    assert found["ranking"][0]["rank"] == 1
    assert found["ranking"][-1]["p_above_next"] is None
    assert found["model"]["tried"][0]["log_evidence"] < 0


@pytest.mark.slow
def test_names_are_escaped_in_a_notebook():
    data = Comparisons(None, ["<script>x</script>", "a&b"] * 3, ["a&b", "c"] * 3)
    shown = rank(data, circles=False)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "a&amp;b" in shown


@pytest.mark.slow
def test_a_notebook_shows_table_model_verdict_and_warnings_in_its_own_colours():
    result = rank(Comparisons(None, ["ann", "<b>", "ann"], ["<b>", "cy", "cy"]))
    shown = result._repr_html_()
    assert shown.count("<tr>") == 4
    for text in (result.rankability.sentence, *map(str, result.warnings)):
        assert html.escape(text) in shown
    assert html.escape(result.ladder.why) in shown
    assert shown.count("<li>") == len(result.warnings) > 0
    assert not re.search(r"(?<![-\w])(color|background)", shown)
    assert "<b>" not in shown


@pytest.mark.slow
def test_warnings_are_printed_as_their_text():
    warned = rank(Comparisons(None, ["a", "b"], ["b", "c"]), circles=False).warnings
    assert str(warned[0]) == f"{warned[0]}" == warned[0].text
    assert "\n".join(map(str, warned)).splitlines() == [one.text for one in warned]


@pytest.mark.slow
@pytest.mark.parametrize("features", [False, True])
def test_saving_a_result_saves_its_model_and_how_items_are_encoded(tmp_path, features):
    games = [("ann", "bob"), ("ann", "cy"), ("bob", "cy"), ("cy", "ann")]
    items = {"item": ["ann", "bob", "cy"], "kind": ["x", "y", "x"], "size": [1, 2, 4]} if features else None
    result = rank(games, items, circles=False, model="gp" if features else "auto")
    preflearn.save(result, tmp_path / "result.preflearn", notes={"by": "me"})
    model, notes = open_model(tmp_path / "result.preflearn")
    assert type(model) is type(result.model)
    np.testing.assert_allclose(model.predict_proba(result.data), result.model.predict_proba(result.data), atol=1e-12)
    assert notes["by"] == "me"
    assert notes["encoder"] == (result.encoder.to_dict() if features else None)
    with pytest.raises(TypeError, match=r"the model of what preflearn.rank returns; this is a dict"):
        preflearn.save(result.to_dict(), tmp_path / "table")


@pytest.mark.slow
def test_long_tables_are_cut_in_print_only():
    data, _ = by_utility(10, n=50, m=600)
    result = rank(data, circles=False)
    assert "... and 20 more" in str(result)
    assert "and 20 more" in result._repr_html_()
    assert len(result.to_pandas()) == 50
    assert len(result.listing().top(7).rows) == 7


@pytest.mark.slow
def test_plot_shows_the_ranking():
    from matplotlib.figure import Figure

    data, _ = by_utility(11)
    result = rank(data, circles=False)
    ax = result.plot(top=5, ax=Figure().subplots())
    assert [text.get_text() for text in ax.get_yticklabels()] == [str(name) for name in result.ranking.names[:5]]


@pytest.mark.parametrize(
    "name",
    slow_except([*UTILITIES, *BESIDE, *ALIASES, "bradley-terry+side+covariates", "gp-ard+tastes"], "bradley-terry"),
)
def test_every_model_can_be_asked_for(name):
    data, _ = by_utility(12, n=8, m=80, features=lambda rng, u: np.column_stack([u, rng.normal(size=len(u))]))
    need = {"judges": "two judges or more", "tastes": "two judges", "reliability": "two judges"}
    need |= {"clusters": "the prompt or task", "covariates": "numbers of each"}
    for part, what in need.items():
        if part in name:
            with pytest.raises(DataError, match=f'model="{re.escape(name)}" needs .*{what}'):
                rank(data, model=name)
    labels = {"judge": np.arange(80) % 3, "cluster": np.arange(80) % 20, "covariates": np.sin(np.arange(80.0))}
    data = Comparisons(data.items, data.first, data.second, data.outcome, **labels)
    result = rank(data, model=name, circles=False)
    assert all(part in result.ladder.terms.name.split("+") for part in ALIASES.get(name, name).split("+"))
    assert len(result.ladder.steps) == 1
    assert "as asked for" in result.ladder.why
    p = result.model.predict_proba(result.data)
    np.testing.assert_array_equal(p.sum(axis=1), 1.0)


@pytest.mark.slow
def test_rows_with_scores_are_ranked_within_their_groups():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    rows = Ratings(X, np.round(2 * X[:, 0]), np.repeat(np.arange(5), 6))
    result = rank(rows, circles=False)
    assert len(result) == 30
    assert np.corrcoef(result.ranking.utility, X[result.ranking.row, 0])[0, 1] > 0.9
    assert "compared by their scores" in result.notes[-1]
    assert result.ranking.names[0].startswith("row ")


@pytest.mark.slow
def test_pairs_of_a_ranking_are_not_independent_votes():
    """90 % intervals hold the truth about as often as they say: of all pairs as single votes it would be 60 to 70 %."""
    held = []
    for seed in range(cases(6, 12)):
        rng = np.random.default_rng(seed)
        u = rng.normal(size=10)
        orders = [[NAMES[k] for k in np.argsort(-(u + rng.gumbel(size=10)))] for _ in range(25)]
        result = rank(from_rankings(orders), circles=False)
        truth = np.array([(u - u.mean())[NAMES.index(name)] for name in result.ranking.names])
        held.append((result.ranking.low <= truth) & (truth <= result.ranking.high))
        assert any(one.kind == "rankings" for one in result.warnings)
        assert result.to_dict()["wins"][0] == round(result.to_dict()["wins"][0])
    assert 0.83 < np.mean(held) < 0.99


@pytest.mark.slow
def test_where_preferences_run_in_circles_the_table_is_by_the_mean_over_opponents():
    data, u = by_utility(21, n=8, m=300)
    for comparisons in (data, data.with_items(u[:, None])):
        ladder = chosen(comparisons, "circles")
        assert "preferred to the others on average" in ladder.why
        found = ladder.model.rank()
        assert np.ptp(found.utility) > 1
        assert np.corrcoef(found.utility, u[found.row])[0, 1] > 0.9
    assert "own effect constant value" in ladder.model.theta_names_  # beside circles of features, too
    assert chosen(data, "circles").model.hyperparameters == "average"
    result = in_circles()
    assert "circles" in result.ladder.terms
    mean = result.model.preference_matrix().mean.mean(axis=1)
    np.testing.assert_allclose(result.ranking.utility, mean[result.ranking.row], atol=1e-10)


@thorough
@pytest.mark.slow
@pytest.mark.parametrize("features", [False, True])
def test_intervals_hold_where_preferences_run_in_circles_too(features):
    held = []
    n, repeats = (15, 4) if features else (8, 40)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2))
        u = 1.5 * X[:, 0] if features else rng.normal(size=n)
        c = 1.5 * np.outer(X[:, 0], X[:, 1]) if features else 1.5 * np.triu(rng.normal(size=(n, n)), 1)
        g = u[:, None] - u + c - c.T
        first, second = (np.repeat(side, repeats) for side in np.triu_indices(n, 1))
        won = rng.random(len(first)) < 1 / (1 + np.exp(-g[first, second]))
        result = rank(Comparisons(X if features else n, first, second, np.where(won, 1.0, -1.0)), circles=True)
        assert "circles" in result.ladder.terms
        truth = g.mean(axis=1)[result.ranking.row]
        held.append(np.mean((result.ranking.low <= truth) & (truth <= result.ranking.high)))
    assert 0.78 < np.mean(held) < 0.98


@pytest.mark.slow
def test_two_camps_of_judges_are_named():
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(7, 1)
    judge = np.repeat([f"judge {k}" for k in range(8)], len(first))
    first, second = np.tile(first, 8), np.tile(second, 8)
    side = np.where(np.isin(judge, [f"judge {k}" for k in range(4)]), 1.0, -1.0)
    data = Comparisons(7, first, second, side * np.where(rng.random(len(first)) < 0.05, -1, 1), judge=judge)
    result = rank(data)
    one, other = (", ".join(f'"judge {k}"' for k in some) for some in (range(4), range(4, 8)))
    text = result.warnings[0].text
    assert f"({one}) answer the opposite of the other half ({other})" in text
    assert "rank each camp by itself" in text
    assert not any(one.kind == "noise" for one in result.warnings)


@pytest.mark.slow
def test_groups_that_can_be_ranked_within_are_spoken_of_beside_circles():
    rng = np.random.default_rng(0)
    n, m, u = 12, 1200, np.tile(np.linspace(2, -2, 4), 3)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    z = np.where(first // 4 == second // 4, u[first] - u[second], 0.0) + rng.logistic(size=m)
    text = next(one.text for one in rank(Comparisons(n, first, second, np.sign(z))).warnings if one.kind == "circles")
    assert "But within each of 3 groups, items can be ranked" in text
    assert "as in" not in text  # coins make no circle that is worth naming


def judged(sides, n, each):
    """Return answers of judges who follow a utility, its contrary (-1) or chance (0)."""
    rng = np.random.default_rng(0)
    u, m = 1.5 * rng.normal(size=n), len(sides) * each
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    z = np.repeat(sides, each) * (u[first] - u[second]) + rng.logistic(size=m)
    return Comparisons(n, first, second, np.sign(z), judge=np.repeat([f"judge {k}" for k in range(len(sides))], each))


@pytest.mark.slow
def test_judges_are_spoken_of_whatever_model_is_asked_for():
    data = judged([1, -1] * 4, 10, 50)
    result = rank(data)
    assert "Half of the 8 judges" in result.warnings[0].text
    assert "the opposite of the other half" in result.warnings[0].text
    assert "noise" not in [one.kind for one in result.warnings]
    asked = rank(data, model="bradley-terry")
    assert asked.ladder.terms.name == "bradley-terry"
    (said,) = (one.text for one in asked.warnings if one.kind == "model")
    assert "tastes of single judges" in said


@pytest.mark.slow
def test_a_judge_who_answers_by_chance_is_in_no_camp():
    result = rank(judged([-1, -1, -1, 1, 1, 1, 1, 0], 15, 60))
    text = result.warnings[0].text
    one, other = (", ".join(f'"judge {k}"' for k in some) for some in (range(3, 7), range(3)))
    assert f"({one}) answer the opposite of 3 others ({other})" in text
    assert "judge 7" not in text


@pytest.mark.slow
def test_noise_is_called_noise_whether_or_not_circles_are_looked_for():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 8, 200)
    second = (first + rng.integers(1, 8, 200)) % 8
    coins = Comparisons(8, first, second, rng.choice([-1.0, 0.0, 1.0], 200))
    for circles in (None, False):
        (noise,) = [one for one in rank(coins, circles=circles).warnings if one.kind == "noise"]
        assert "chance could have made them. Collect more" in noise.text
    assert not any(one.kind == "noise" for one in rank(by_utility(5)[0], circles=False).warnings)


@pytest.mark.slow
def test_a_model_without_circles_says_that_it_takes_them_for_noise():
    throws = Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"], weight=[15, 15, 15])
    for model, said in (("bradley-terry", True), ("auto", False)):
        text = next(one.text for one in rank(throws, model=model).warnings if one.kind == "circles")
        assert ("treats them as noise" in text) == said


@pytest.mark.slow
@pytest.mark.parametrize("model", ["auto", "gp", "both"])
def test_many_pairs_with_features_are_learned_once(model, monkeypatch):
    rng = np.random.default_rng(0)
    X, m = rng.normal(size=(40, 2)), 700
    first = rng.integers(0, 40, m)
    second = (first + rng.integers(1, 40, m)) % 40
    z = X[first, 0] - X[second, 0] + 2 * (X[first, 0] * X[second, 1] - X[second, 0] * X[first, 1])
    data = Comparisons(X, first, second, np.sign(z + rng.logistic(size=m)))
    fitted, fit = [], PreferenceGP.fit

    def counted(self, X, y=None, **options):
        fitted.append((self.kernel is not None, self.cyclic_kernel is not None))
        return fit(self, X, **options)

    monkeypatch.setattr(PreferenceGP, "fit", counted)
    result = rank(data, model=model)
    assert result.rankability.verdict in ("cyclic", "partly cyclic")
    assert fitted.count((True, True)) == 1
    assert fitted.count((False, True)) == 1  # for the groups that can be ranked within
    compared = result.rankability.models["ranking" if model == "gp" else "both"]
    assert (result.model is compared) == (model != "gp")  # which is refined
    assert result.ladder.chosen.log_evidence == compared.log_evidence_


@pytest.mark.slow
def test_names_that_look_like_missing_values_are_pointed_out():
    result = rank(Comparisons(None, ["a", "NA", "b"], ["nan", "b", "a"]), circles=False)
    assert set(next(one for one in result.warnings if one.kind == "names").items) == {"nan", "NA"}


@pytest.mark.slow
def test_progress_goes_from_start_to_end():
    seen = []
    rank(by_utility(13)[0], progress=lambda what, share: seen.append((what, share)))
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert shares[0] >= 0
    assert shares[-1] < 1
    assert len({what for what, _ in seen}) >= 3


def test_probabilities_in_words():
    assert [chance(p) for p in (0.0, 0.004, 0.005, 0.25, 0.996, 1.0)] == ["<1%", "<1%", "<1%", "25%", ">99%", ">99%"]


def test_mistakes():
    data, _ = by_utility(0)
    with pytest.raises(DataError, match='model="elo" is not known'):
        rank(data, model="elo")
    with pytest.raises(DataError, match="the items have none"):
        rank(data, model="gp")
    with pytest.raises(DataError, match="two judges or more"):
        rank(data, model="judges")
    with pytest.raises(DataError, match="between 0 and 1"):
        rank(data, level=90)
    with pytest.raises(TypeError, match="have their items already"):
        rank(data, items=pd.DataFrame({"item": NAMES[:12]}))
    with pytest.raises(DataError, match="too many to rank"):
        rank(Ratings(np.zeros((1501, 1)), np.arange(1501) % 2))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*repeat an earlier one exactly")
def test_few_comparisons_put_no_variance_at_its_bound():
    data, _ = by_utility(4, n=15, m=30, features=lambda rng, u: np.column_stack([u, rng.normal(size=15)]))
    free = PreferenceGP("rbf", "logit", own_effect=True, random_state=0).fit(data)
    ranked = rank(data, model="gp-own", circles=False).model
    assert free.own_variance_ < 1e-3
    assert ranked.own_variance_ > 5e-3


def test_statements_are_counted_from_either_side_and_points_by_their_cost():
    first, second = np.array([0, 1, 0, 2, 0]), np.array([1, 0, 1, 0, 2])
    outcome = np.array([1.0, -1.0, 1.0, 1.0, -1.0])  # 0 beat 1 three times, 2 beat 0 twice
    data = Comparisons(3, first, second, outcome)
    assert _few_statements(data, 2, 1e6) == _few_statements(data, 9, 1e6) == 2
    assert _few_statements(data, 1, 1e6) == 0
    assert _few_statements(data._take(slice(None), weight=np.full(5, 4e5)), 9, 1e6) == 0  # 1.2 million of the first
    assert [_points(16, 1000, size) for size in (1, 250, 500, 1000, 5000)] == [64, 64, 32, 16, 16]


@pytest.mark.slow
def test_a_refined_model_of_features_starts_where_the_chosen_one_ended(monkeypatch):
    data, _ = by_utility(4, m=60, features=lambda rng, u: u[:, None])
    starts = []
    fit = PreferenceGP.fit

    def seen(self, X, y=None, *, start=None, hold=False):
        starts.append(start)
        return fit(self, X, y, start=start, hold=hold)

    monkeypatch.setattr(PreferenceGP, "fit", seen)
    learned = chosen(data, "gp-own").steps[0].model
    assert starts[0] is None
    np.testing.assert_allclose([starts[1][name] for name in learned.theta_names_], np.exp(learned.theta_))


def test_more_features_than_a_model_can_have_are_refused_before_memory_is_taken():
    wide = sp.csr_array((np.ones(2), ([0, 1], [0, 1_999_999_999])), shape=(3, 2_000_000_000))
    for data in (Comparisons(wide, [0, 1], [1, 2]), Ratings(wide, [1.0, 2.0, 3.0])):
        with pytest.raises(DataError, match="largest feature number is 2,000,000,000"):
            rank(data)
