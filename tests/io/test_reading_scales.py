"""Numbers of an outcome column: known layouts, what a person states, and shares of one vote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from preflearn import BradleyTerry
from preflearn.data import Comparisons
from preflearn.exceptions import DataError
from preflearn.io import read_comparisons, read_preferences
from preflearn.io.read_options import Scale, named_scale, stated
from preflearn.messages import PYTHON

# ten rows of each: judgements as AlpacaEval's weighted annotators write them, and comparisons of Tournesol
ALPACA = [
    {"instruction": f"question {row}", "output_1": f"a{row}", "generator_1": "davinci", "output_2": f"b{row}"}
    | {"generator_2": "ours" if row % 2 else "theirs", "annotator": "weighted_gpt4", "preference": preference}
    for row, preference in enumerate([1.02, 1.9999999999999998, 1.5, 1.73, 1.0, 1.31, 2.0, 1.88, 1.97, 1.64])
]
TOURNESOL = """public_username,video_a,video_b,criteria,score,score_max,week_date
anna,uV5,lYX,largely_recommended,-8,10,2021-01-11
anna,uV5,tJQ,largely_recommended,3,10,2021-01-11
anna,lYX,tJQ,largely_recommended,10,10,2021-01-18
ben,uV5,lYX,largely_recommended,-2,10,2021-01-18
ben,tJQ,kQ4,largely_recommended,0,10,2021-01-18
ben,lYX,kQ4,largely_recommended,5,10,2021-01-25
cleo,uV5,kQ4,largely_recommended,-10,10,2021-01-25
cleo,kQ4,lYX,largely_recommended,1,10,2021-01-25
dora,tJQ,uV5,largely_recommended,-4,10,2021-02-01
dora,lYX,uV5,largely_recommended,6,10,2021-02-01
"""


def write(folder: Path, text: str, name: str = "data.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


def read(source: Any, **options: Any) -> Comparisons:
    data = read_preferences(source, **options).data
    assert isinstance(data, Comparisons)
    return data


def test_weighted_preferences_of_alpaca_eval_are_shares_of_one_vote(tmp_path: Path) -> None:
    reading = read_preferences(write(tmp_path, json.dumps(ALPACA), "annotations.json"))
    data = reading.data
    assert isinstance(data, Comparisons)
    assert (reading.columns["first"], reading.columns["second"]) == ("generator_1", "generator_2")
    assert data.n_items == 3
    assert data.items is None
    assert data.weight is not None
    preference = np.array([row["preference"] for row in ALPACA])
    assert data.weight.sum() == pytest.approx(len(ALPACA))
    assert data.weight[data.outcome > 0].sum() == pytest.approx((2 - preference).sum())
    assert data.weight.min() > 0.01  # 1.9999999999999998 is 2
    assert reading.notes[1].startswith(
        'Outcomes: as in files of AlpacaEval, column "preference": 1 is the first side, 2'
    )
    assert "shares of one vote (1.02 counts 0.98 for the first and 0.02 for the second)" in reading.notes[1]
    assert 'First ("generator_1") won 4, second ("generator_2") 6, ties 0.' in reading.notes[1]


def test_shares_of_a_vote_give_the_win_rate_that_the_numbers_have() -> None:
    data = read(pd.DataFrame(ALPACA))
    model = BradleyTerry("logit", None).fit(data)
    first = np.array([row["preference"] for row in ALPACA[1::2]])
    odds = model.decision_function(Comparisons(None, ["davinci"], ["ours"], names=data.names))[0]
    assert 1 / (1 + np.exp(-odds)) == pytest.approx(np.mean(2 - first), abs=1e-6)


def test_preferences_of_tournesol_are_for_the_second_if_positive(tmp_path: Path) -> None:
    path = write(tmp_path, TOURNESOL)
    reading = read_preferences(path)
    np.testing.assert_array_equal(reading.data.outcome, [1, -1, -1, 1, 0, -1, 1, -1, 1, -1])
    assert reading.notes[1].startswith(
        'Outcomes: as in files of Tournesol, column "score" is a number: positive if the '
    )
    assert "positive if the second side won, negative if the first, 0 a tie; only the sign is used" in reading.notes[1]
    np.testing.assert_array_equal(read(path, margins=True).outcome, [8, -3, -10, 2, 0, -5, 10, -1, 4, -6])
    assert set(read(path).judge) == {"anna", "ben", "cleo", "dora"}
    degrees = read(path, outcomes="first=-10,second=10")
    np.testing.assert_allclose(degrees.weight[:4], [0.9, 0.1, 0.35, 0.65])


def test_names_alone_do_not_make_a_known_layout(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no negative numbers"):
        read(write(tmp_path, "video_a,video_b,score\na,b,30\nb,c,70\n"))
    with pytest.raises(DataError, match="no negative numbers"):
        read(write(tmp_path, "generator_1,generator_2,preference\na,b,1\nb,c,3\n"))


@pytest.mark.parametrize("columns", [None, "first=left,second=right,outcome=label"])
def test_naming_the_column_does_not_say_what_its_numbers_mean(columns: str | None, tmp_path: Path) -> None:
    path = write(tmp_path, "left,right,label\na,b,1.2\na,c,1.9\nb,c,1\n")
    with pytest.raises(DataError, match=r'"first=1,second=2" or the other way round'):
        read(path, columns=columns)


@pytest.mark.parametrize(
    ("outcomes", "numbers", "wanted"),
    [
        ("first=1,second=2", [1, 1.5, 2], [1, 0, -1]),
        ({"first": 2, "second": 1}, [1, 1.5, 2], [-1, 0, 1]),
        ("first=1, second=0", [1, 0, 1], [1, -1, 1]),
        ("first=0,second=1", [1, 0, 1], [-1, 1, -1]),
        ("first=5,second=1", [1, 3, 5], [-1, 0, 1]),
        ("first=positive", [4, 20, 0], [1, 1, 0]),
        ("second=positive", [-4, 20, 0], [1, -1, 0]),
        ({"first": "negative"}, [-4, 20, 0], [1, -1, 0]),
        ("first=positive,second=negative", [-4, 20, 0], [-1, 1, 0]),
    ],
)
@pytest.mark.parametrize("column", ["score", "winner", "outcome"])
def test_what_a_person_states_is_used(outcomes: Any, numbers: list[float], wanted: list[int], column: str) -> None:
    frame = pd.DataFrame({"left": ["a", "b", "c"], "right": ["b", "c", "a"], column: numbers})
    found = read(frame, outcomes=outcomes)
    np.testing.assert_array_equal(found.outcome, wanted)
    assert found.weight is None


def test_swapping_the_ends_of_a_scale_swaps_the_winners() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"left": list("abcd") * 5, "right": list("bcda") * 5, "score": rng.uniform(0, 100, 20)})
    one = read(frame, outcomes={"first": 0, "second": 100}).pairs
    other = read(frame, outcomes={"first": 100, "second": 0}).pairs
    np.testing.assert_allclose(one.wins, other.losses)
    np.testing.assert_allclose(one.losses, other.wins)
    np.testing.assert_allclose((one.wins + one.losses).sum(), 20)


def test_margins_of_a_scale_run_from_one_to_minus_one(tmp_path: Path) -> None:
    path = write(tmp_path, "left,right,rating\na,b,1\na,c,2\nb,c,5\n")
    np.testing.assert_allclose(read(path, outcomes="first=5,second=1", margins=True).outcome, [-1, -0.5, 1])
    np.testing.assert_allclose(read_comparisons(path, outcomes="first=1,second=5").outcome, [1, 0.5, -1])


@pytest.mark.parametrize(
    "outcomes",
    [
        "",
        "1,2",
        "first=1",
        "first=1,second=1",
        "one=1,two=2",
        "first=1,first=2",
        "first=1,second=positive",
        "first=positive,second=positive",
        "first=nan,second=1",
        "first=a,second=b",
        {},
    ],
)
def test_a_scale_that_is_not_understood_is_an_error_with_a_cure(outcomes: Any) -> None:
    with pytest.raises(
        DataError, match=r'^read: outcomes: .*"first=1,second=2", or the side that positive numbers mean'
    ):
        named_scale(outcomes, "read")


def test_a_scale_must_be_text_or_a_mapping() -> None:
    with pytest.raises(TypeError, match="must be text or a mapping; got int"):
        named_scale(3, "read")  # type: ignore[arg-type]


def test_a_scale_survives_being_written_out() -> None:
    for scale in (Scale(1, 2, True), Scale(-10, 10, True), Scale(1, -1, False), Scale(-1, 1, False)):
        assert named_scale(stated(scale).value, "read") == scale
        assert named_scale(PYTHON.words(stated(scale)).split('"')[1], "read") == scale


def test_numbers_outside_the_scale_are_named_with_their_line(tmp_path: Path) -> None:
    path = write(tmp_path, "left,right,rating\na,b,1\na,c,2\nb,c,7\n")
    with pytest.raises(
        DataError, match=r"line 4: outcome 7 is outside the scale from 1 \(first\) to 5 \(second\) \(1 su"
    ):
        read(path, outcomes="first=1,second=5")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.csv", "winner,loser\na,b\n"),
        ("m.csv", "home,away,score1,score2\na,b,1,2\n"),
        ("m.csv", "ranking\na > b\n"),
        ("m.soc", "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n2: 1,2\n"),
        ("m.txt", "1 qid:1 1:0.5\n2 qid:1 1:1\n"),
    ],
)
def test_a_scale_is_for_one_column_of_numbers(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"outcomes says what .* has no such column\. Leave it out\."):
        read(write(tmp_path, text, name), outcomes="first=1,second=2")
