"""Every check is stated either way; raw places stand beside adjusted ones."""

import numpy as np
import pytest
from ranking_data import NAMES, by_utility, circular

from preflearn import Comparisons, rank
from preflearn.analysis.result import raw_places
from preflearn.cli.dialect import COMMAND_LINE


def _checks(data, **options):
    return {one.term: one for one in rank(data, **options).checks}


def test_nothing_is_found_where_nothing_is():
    data, _ = by_utility(1, n=8, m=400, judge=[f"j{k % 5}" for k in range(400)])
    found = _checks(data)
    assert set(found) == {"circles", "side", "judges"}
    assert all(one.found is False and one.log_odds < 0 for one in found.values())
    assert found["circles"].text.startswith("no sign of circles")
    assert found["side"].text.startswith("no sign of an advantage of the first side (odds ")
    assert found["judges"].text.startswith("no sign that judges differ (odds ")


def test_a_side_is_found_with_its_odds():
    data, _ = by_utility(1, n=8, m=400, side=1.0)
    side = _checks(data, circles=False)["side"]
    assert side.found
    assert side.log_odds > 5
    assert side.text.startswith("one side has an advantage (odds ")


@pytest.mark.parametrize("model", ["bradley-terry+side", "thurstone+side"])
def test_odds_of_a_side_are_those_of_its_link(model):
    data, _ = by_utility(1, n=8, m=400, side=1.0)
    result = rank(data, model=model, circles=False)
    (said,) = (one.text for one in result.warnings if one.kind == "side")
    (effect,) = (one for one in result.summary()["effects"] if one["term"] == "side")
    assert effect["estimate"] == result.model.side_effect_.estimate
    wins, _, losses = result.model.likelihood_.probability(np.array([effect["estimate"]]), np.zeros(1))[0]
    assert f"odds of {wins / losses:.2f} to 1" in said
    assert wins / losses == pytest.approx(np.e, rel=0.35)  # the truth; a probit's unit is 1.7 of a logit's


def test_effects_of_covariates_are_said_with_their_intervals():
    result = rank(_favoured(), circles=False)
    check = next(one for one in result.checks if one.term == "covariates")
    (effect,) = result.model.covariate_effects_
    assert check.text.endswith(f": by each unit of {effect}")
    (said,) = (one for one in result.summary()["effects"] if one["term"] == "covariates")
    assert said == {"term": "covariates", **effect._asdict()}
    assert effect.low < 1.5 < effect.high


def test_circles_are_found_or_were_not_looked_for():
    assert _checks(circular(0))["circles"].found
    unknown = _checks(circular(0), circles=False)["circles"]
    assert unknown.found is None
    assert str(unknown) == "circles were not looked for (circles=True looks for them)"
    assert unknown.worded(COMMAND_LINE) == "circles were not looked for (--circles looks for them)"


def test_a_model_that_was_asked_for_says_what_it_leaves_out():
    data, _ = by_utility(1, n=8, m=400, side=1.0)
    side = _checks(data, model="bradley-terry", circles=False)["side"]
    assert side.found is None
    assert "which the model leaves out" in side.text


def _favoured(seed=0):
    """The worse of two items writes longer answers, which win."""
    rng = np.random.default_rng(seed)
    n, m = 6, 900
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    longer = 1.0 * (first - second) + rng.normal(size=m)
    z = 0.7 * (second - first) + 1.5 * longer
    outcome = np.sign(z + rng.logistic(size=m))
    return Comparisons(n, first, second, outcome, covariates=longer, names=NAMES[:n])


def test_raw_places_are_those_of_the_model_without_what_is_held_equal():
    data = _favoured()
    adjusted = rank(data, circles=False)
    assert "covariates" in adjusted.ladder.terms
    table = adjusted.to_dict()
    assert table["item"] == NAMES[:6]
    raw = rank(data, model="bradley-terry", circles=False).ranking.names.tolist()
    assert raw == NAMES[:6][::-1]  # length decides, unless it is held equal
    assert table["raw_place"] == [raw.index(name) + 1 for name in table["item"]]
    assert adjusted.listing().titles[:4] == ["rank", "raw", "tier", "item"]


def test_raw_places_do_not_depend_on_whether_the_model_was_on_the_ladder():
    data = _favoured(1)
    chosen = rank(data, circles=False)
    asked = rank(data, model=chosen.ladder.terms.name, circles=False)
    assert len(asked.ladder.steps) == 1
    one, other = (raw_places(found.analysis, found.ranking) for found in (chosen, asked))
    assert dict(zip(chosen.ranking.names, one, strict=True)) == dict(zip(asked.ranking.names, other, strict=True))


def test_there_is_no_raw_place_where_nothing_is_held_equal():
    data, _ = by_utility(1, n=5, m=60)
    result = rank(data, circles=False)
    assert result.raw_place is None
    assert "raw_place" not in result.to_dict()


@pytest.mark.parametrize("circles", [None, False])
def test_the_checks_are_printed(circles):
    data, _ = by_utility(1, n=5, m=60)
    result = rank(data, circles=circles)
    assert f"Checks: {result.checked}" in str(result)
    assert [one["text"] for one in result.summary()["checks"]] == [str(one) for one in result.checks]
