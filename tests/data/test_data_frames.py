"""Frames of pandas, polars and pyarrow give the same data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from preflearn import LabelPreferenceGP, PreferenceGP, RankRLS
from preflearn.active import suggest
from preflearn.data import Comparisons, Ratings, from_class_labels, from_frame
from preflearn.exceptions import DataError

KINDS = [pd.DataFrame, pl.DataFrame, pa.table]
ITEMS = {"name": ["u", "v", "w"], "size": [1, 2, 3], "red": [True, False, True]}
VALUES = np.array([[1.0, 1], [2, 0], [3, 1]])


@pytest.mark.parametrize("frame", KINDS)
def test_name_column_and_features_are_found(frame) -> None:
    data = Comparisons(frame(ITEMS), ["u"], ["w"])
    np.testing.assert_array_equal(data.items, VALUES)
    assert data.feature_names == ("size", "red")
    np.testing.assert_array_equal(data.names, ["u", "v", "w"])
    np.testing.assert_array_equal(data.second, [2])


@pytest.mark.parametrize("frame", KINDS)
def test_columns_of_frames_are_sides_outcomes_and_labels(frame) -> None:
    table = frame({"a": ["u", "v"], "b": ["v", "w"], "y": [1.5, -2.0], "n": [1, 2], "g": ["p", "q"]})
    data = Comparisons(None, table["a"], table["b"], table["y"], weight=table["n"], group=table["g"])
    np.testing.assert_array_equal(data.names, ["u", "v", "w"])
    np.testing.assert_array_equal(data.outcome, [1.5, -2])
    np.testing.assert_array_equal(data.weight, [1, 2])
    np.testing.assert_array_equal(data.group, ["p", "q"])
    whole = from_frame(table, first="a", second="b", outcome="y", weight="n", group="g")
    for field in ("first", "second", "outcome", "weight", "group"):
        np.testing.assert_array_equal(getattr(whole, field), getattr(data, field))


@pytest.mark.parametrize("frame", KINDS)
def test_winner_column_by_name_or_by_side(frame) -> None:
    table = frame({"l": ["u", "v", "u", "w"], "r": ["v", "w", "w", "u"], "won": ["v", "Left", "tie", "right"]})
    data = from_frame(table, first="l", second="r", winner="won", items=frame(ITEMS))
    np.testing.assert_array_equal(data.outcome, [-1, 1, 0, -1])
    named = from_frame(table, first="l", second="r", winner="won", items=frame(ITEMS), item_name="name")
    np.testing.assert_array_equal(named.first, data.first)
    assert named.feature_names == ("size", "red")


def test_a_text_index_of_pandas_is_the_names() -> None:
    data = Comparisons(pd.DataFrame({"size": [1, 2]}, index=["u", "v"]), ["v"], ["u"])
    np.testing.assert_array_equal(data.names, ["u", "v"])
    assert Comparisons(pd.DataFrame({"size": [1, 2]}, index=[5, 6]), [0], [1]).names is None


@pytest.mark.parametrize("frame", KINDS)
def test_missing_labels_of_each_library_are_found(frame) -> None:
    table = frame({"a": ["u", "v"], "b": ["v", "w"], "g": ["p", None]})
    with pytest.raises(ValueError, match=r"group is missing for 1 of 2 comparisons \(row 1\)"):
        from_frame(table, first="a", second="b", group="g")


@pytest.mark.parametrize("frame", KINDS)
def test_ratings_from_one_frame(frame) -> None:
    table = frame({"doc": ["a", "b", "c"], "q": [1, 1, 2], "grade": [0, 2, 1], "x": [1.0, 2, 3], "z": [4, 5, 6]})
    data = Ratings.from_frame(table, score="grade", group="q", name="doc")
    assert data.feature_names == ("x", "z")
    np.testing.assert_array_equal(data.items, [[1, 4], [2, 5], [3, 6]])
    np.testing.assert_array_equal(data.score, [0, 2, 1])
    np.testing.assert_array_equal(data.group, [1, 1, 2])
    assert Ratings.from_frame(table, score="grade", group="q", features=["z"]).feature_names == ("z",)
    assert data.to_comparisons(random_state=0).feature_names == ("x", "z")


NUMBERED = pd.DataFrame(VALUES)


def test_columns_named_by_numbers_are_named_by_text() -> None:
    assert Comparisons(NUMBERED, [0], [1]).feature_names == ("0", "1")
    assert from_class_labels(NUMBERED, ["p", "q", "p"]).feature_names == ("0", "1")
    assert Ratings(NUMBERED, [1, 2, 3]).feature_names == ("0", "1")
    assert Ratings.from_frame(NUMBERED, score=0).feature_names == ("1",)
    sides = pd.DataFrame([["u", "v"], ["v", "w"]])
    np.testing.assert_array_equal(from_frame(sides, first=1, second=0).names, ["v", "u", "w"])
    named = pd.DataFrame({"name": ["u", "v", "w"], 7: [1, 2, 3]})
    assert from_frame(sides, first=0, second=1, items=named, item_name="name").feature_names == ("7",)


def test_models_take_the_numbered_columns_they_learned_from() -> None:
    data = Comparisons(NUMBERED, [0, 1], [1, 2])
    model = PreferenceGP(hyperparameters="fixed").fit(data)
    np.testing.assert_array_equal(model.predict_utility(NUMBERED), model.predict_utility(VALUES))
    np.testing.assert_array_equal(model.predict_utility(NUMBERED[[1, 0]]), model.predict_utility(VALUES))
    np.testing.assert_array_equal(suggest(model, NUMBERED).gain, suggest(model, VALUES).gain)
    ranker = RankRLS().fit(data)
    np.testing.assert_array_equal(ranker.predict(NUMBERED), ranker.predict(Ratings(NUMBERED, [0, 0, 1])))
    labels = LabelPreferenceGP(hyperparameters="fixed").fit(NUMBERED, ["p", "q", "p"])
    np.testing.assert_array_equal(labels.predict_utility(NUMBERED), labels.predict_utility(VALUES))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(VALUES, columns=["a", "a"]),
        pd.DataFrame(VALUES, columns=[1, "1"]),
        pa.table([[1.0, 2.0], [3.0, 4.0]], names=["a", "a"]),
    ],
)
def test_repeated_column_names_are_refused(frame) -> None:
    with pytest.raises(DataError, match=r"1 of the column names occur more than once \(\"[a1]\"\). Rename or drop"):
        Comparisons(frame, [0], [1])
    model = PreferenceGP(hyperparameters="fixed").fit(Comparisons(NUMBERED, [0, 1], [1, 2]))
    with pytest.raises(DataError, match="PreferenceGP: 1 of the column names"):
        model.predict_utility(frame)
    with pytest.raises(DataError, match="RankRLS: 1 of the column names"):
        RankRLS().fit(Comparisons(NUMBERED, [0], [1])).predict(frame)
