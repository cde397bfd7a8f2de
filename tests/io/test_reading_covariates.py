"""Covariates are numbers of the row that the person names: first side less second side, never guessed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import preflearn
from preflearn.exceptions import DataError, FileFormatError
from preflearn.io import read_comparisons, read_preferences

TABLE = {
    "left": ["ann", "bob", "cy", "ann"],
    "right": ["bob", "cy", "ann", "bob"],
    "winner": ["left", "right", "tie", "left"],
    "length_diff": [3.0, -2.5, 0.5, 1.0],
    "days_left": [1, 0, 3, 2],
    "days_right": [2, 2, 1, 2],
}
FRAME = pd.DataFrame(TABLE)
DAYS = "days_left-days_right"


@pytest.mark.parametrize("how", ["text", "list"])
@pytest.mark.parametrize("kind", ["file", "frame", "dict"])
def test_named_columns_become_covariates(how, kind, tmp_path):
    FRAME.to_csv(tmp_path / "m.csv", index=False)
    source = {"file": tmp_path / "m.csv", "frame": FRAME, "dict": TABLE}[kind]
    named = ["length_diff", DAYS]
    reading = read_preferences(
        source, columns="covariates=" + "+".join(named) if how == "text" else {"covariates": named}
    )
    np.testing.assert_array_equal(reading.data.covariates, [[3, -1], [-2.5, -2], [0.5, 2], [1, 0]])
    assert reading.data.covariate_names == ("length_diff", DAYS)
    assert reading.columns["covariates"] == f"length_diff,{DAYS}"
    assert f'Covariates: "length_diff", "{DAYS}", the first side\'s numbers minus the second\'s.' in reading.notes
    assert not any(note.startswith("Not used") for note in reading.notes)


def test_they_are_never_guessed():
    reading = read_preferences(FRAME)
    assert reading.data.covariates is None
    assert 'Not used: "length_diff".' in reading.notes


def test_a_column_that_is_a_covariate_is_nothing_else():
    sizes = FRAME.assign(size_left=[1, 2, 3, 1], size_right=[2, 3, 1, 2])
    assert read_preferences(sizes).data.feature_names == ("size",)
    assert read_preferences(sizes, columns={"covariates": "size_left-size_right"}).data.items is None
    frame = FRAME.rename(columns={"length_diff": "margin"}).drop(columns="winner")
    with pytest.raises(DataError, match="do not say who was preferred"):
        read_preferences(frame, columns={"covariates": "margin"})
    with pytest.raises(DataError, match='"margin" is named for outcome and for covariates'):
        read_preferences(frame, columns={"outcome": "margin", "covariates": "margin"})


def test_a_name_with_a_minus_is_a_column_first():
    frame = FRAME.assign(**{DAYS: [5.0, 6.0, 7.0, 8.0]})
    np.testing.assert_array_equal(
        read_preferences(frame, columns={"covariates": DAYS}).data.covariates[:, 0], [5, 6, 7, 8]
    )


def test_a_winner_is_the_first_side():
    frame = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "c"], "len_w": [5, 1], "len_l": [2, 4]})
    data = read_comparisons_of(frame, "covariates=len_w-len_l")
    np.testing.assert_array_equal(data.covariates, [[3], [-3]])


def read_comparisons_of(frame, columns):
    return read_preferences(frame, columns=columns).data


def test_counts_and_shares_of_votes_keep_the_covariate_of_their_row(tmp_path):
    frame = pd.DataFrame(
        {"left": ["a", "b"], "right": ["b", "c"], "wins_left": [3, 0], "wins_right": [1, 2], "d": [7, 8]}
    )
    data = read_comparisons_of(frame, "covariates=d")
    np.testing.assert_array_equal(data.covariates[:, 0], [7, 7, 8])
    (tmp_path / "m.csv").write_text("left,right,winner,d\na,b,left,1\nb,c,right,-2\n")
    assert read_comparisons(tmp_path / "m.csv", columns="covariates=d").covariate_names == ("d",)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("", r'line 3: covariate \(column "d"\) is empty \(1 of 3 rows\)\. Fill the cell'),
        ("NA", r'line 3: covariate \(column "d"\) holds "NA".*Fill the cell, delete the row, or leave out all'),
        ("long", r'line 3: covariate \(column "d"\) holds "long", which is not a finite number\. Correct it'),
        ("inf", r'line 3: covariate \(column "d"\) holds "inf", which is not a finite number'),
    ],
)
def test_a_cell_without_a_number_is_an_error_with_its_place(cell, message, tmp_path):
    path = tmp_path / "m.csv"
    path.write_text(f"winner,loser,d\na,b,1\nb,c,{cell}\nc,a,3\n")
    with pytest.raises(FileFormatError, match=message):
        read_preferences(path, columns="covariates=d")
    assert read_preferences(path).data.covariates is None
    if cell in ("", "NA"):
        kept = read_preferences(path, columns="covariates=d", missing="drop")
        np.testing.assert_array_equal(kept.data.covariates[:, 0], [1, 3])
        assert "Dropped: 1 of 3 rows with an empty cell." in kept.notes


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,b,\nb,c,\n", 'every cell of column "d" is empty'),
        ("a,b,\n,c,\n", 'every row has an empty cell, most of them in "d", "winner"'),
    ],
)
def test_columns_whose_gaps_leave_no_row_are_named(rows, message, tmp_path):
    path = tmp_path / "m.csv"
    path.write_text(f"winner,loser,d\n{rows}")
    with pytest.raises(FileFormatError, match=message):
        read_preferences(path, columns="covariates=d", missing="drop")


def test_differences_that_no_number_can_hold_are_an_error():
    frame = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "c"], "x": [1.0, 1e308], "y": [0.0, -1e308]})
    with pytest.raises(DataError, match='row 1: "x" and "y" differ by more than a number can hold'):
        read_preferences(frame, columns="covariates=x-y")


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        ("winner,loser,d\na,b,1\n", "covariates=e", r"there is no column 'e' for covariates \(columns:.*Name one of"),
        ("winner,loser,d\na,b,1\n", "covariates=d-e", r"there is no column 'd-e' for covariates"),
        ("winner,loser,d\na,b,1\n", "covariate=d", '"covariate" is not a role \\(nearest names: "covariates"'),
        (
            "ranking,d\na > b,1\n",
            "covariates=d",
            "covariates are numbers of a comparison of two items, and these are rank",
        ),
        ("1 qid:1 1:2\n", "covariates=d", "an SVMlight file has no columns to name. Leave out columns"),
        ("# DATA TYPE: soc\n1: 1,2\n", "covariates=d", "a PrefLib file has no columns to name. Leave out columns"),
    ],
)
def test_what_cannot_be_named_is_refused(table, columns, message, tmp_path):
    path = tmp_path / "m.csv"
    path.write_text(table)
    with pytest.raises(DataError, match=message):
        read_preferences(path, columns=columns)


def test_a_public_layout_stays_what_it_is():
    frame = pd.DataFrame(
        {"left_model": ["a", "b"], "right_model": ["b", "c"], "vote_type": ["leftvote", "rightvote"], "d": [1.0, 2.0]}
    )
    reading = read_preferences(frame, columns="covariates=d")
    assert "GenAI-Bench" in reading.notes[0]
    assert reading.data.covariate_names == ("d",)


def test_rank_holds_them_equal():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 4, 400), rng.integers(1, 4, 400)
    second = (first + second) % 4
    longer = rng.normal(size=400)
    won = rng.random(400) < 1 / (1 + np.exp(-0.5 * (first - second) - 2.0 * longer))
    frame = pd.DataFrame({"first": first, "second": second, "outcome": np.where(won, 1, -1), "longer": longer})
    frame[["first", "second"]] = "m" + frame[["first", "second"]].astype(str)
    result = preflearn.rank(frame, columns={"covariates": ["longer"]}, circles=False)
    assert "covariates" in result.analysis.ladder.terms
    assert list(result.to_dict()["item"]) == ["m3", "m2", "m1", "m0"]
