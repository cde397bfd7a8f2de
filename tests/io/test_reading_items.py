"""Features of items: from a second table or from the rows; text, gaps and units."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from preflearn.exceptions import DataError, DataWarning, FileFormatError
from preflearn.io import ItemEncoder, read_items, read_preferences

MATCHES = "winner,loser\nann,bob\ncy,ann\ndee,eve\n"
ITEMS = (
    "name,size,kind,old,born,motto,same,weight\n"
    "ann,1,cat,yes,2001-02-03,a,7,0.5\nbob,3,dog,no,2002-02-03,b,7,NA\ncy,,cat,no,2003-02-03,c,7,1.5\n"
    "dee,5,dog,yes,2004-02-03,d,7,2.5\neve,7,,no,2005-02-03,e,7,3.5\n"
)


def write(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return write(tmp_path, MATCHES, "matches.csv"), write(tmp_path, ITEMS, "items.csv")


def test_text_gaps_and_units(files: tuple[Path, Path]) -> None:
    reading = read_preferences(*files, scale=False)
    data = reading.data
    assert data.feature_names == (*("size", "size missing", "kind=cat", "kind=dog", "old", "weight", "weight missing"),)
    np.testing.assert_array_equal(
        data.items,
        [
            [1, 0, 1, 0, 1, 0.5, 0],
            [3, 0, 0, 1, 0, 2.0, 1],
            [4, 1, 1, 0, 0, 1.5, 0],
            [5, 0, 0, 1, 1, 2.5, 0],
            [7, 0, 0, 0, 0, 3.5, 0],
        ],
    )
    text = str(reading)
    for words in (
        "kind (2 categories)",
        "size (1, with an indicator)",
        '"born" (dates',
        '"motto" (as many different values as items',
        '"same" (the same for all items)',
    ):
        assert words in text


def test_numbers_are_scaled_and_zeros_and_ones_are_not(files: tuple[Path, Path]) -> None:
    plain, scaled = read_preferences(*files, scale=False), read_preferences(*files)
    deviation = np.array([np.std([1, 3, 5, 7]), 1, 1, 1, 1, np.std([0.5, 1.5, 2.5, 3.5]), 1])
    np.testing.assert_allclose(scaled.data.items * deviation, plain.data.items)


def test_the_encoder_does_the_same_to_new_tables(files: tuple[Path, Path]) -> None:
    reading = read_preferences(*files)
    encoder = ItemEncoder.from_dict(json.loads(json.dumps(reading.encoder.to_dict())))
    assert encoder == reading.encoder
    again = encoder.transform(files[1])
    np.testing.assert_array_equal(again.values, reading.data.items)
    np.testing.assert_array_equal(again.names, reading.data.names)
    shuffled = pl.read_csv(files[1], null_values=["NA"])[::-1]
    np.testing.assert_array_equal(encoder.transform(shuffled).values, reading.data.items[::-1])


def test_new_tables_may_hold_new_categories_but_not_lack_columns(files: tuple[Path, Path]) -> None:
    encoder = read_preferences(*files).encoder
    frame = pd.DataFrame({"name": ["fay"], "size": [1.0], "kind": ["emu"], "old": ["no"], "weight": [0.5]})
    with pytest.warns(DataWarning, match='"kind" holds "emu", which did not occur before'):
        values = encoder.transform(frame).values
    np.testing.assert_array_equal(values[0, 2:4], [0, 0])
    with pytest.raises(DataError, match='there is no column "kind", a feature that the model was'):
        encoder.transform(frame.drop(columns="kind"))
    with pytest.raises(DataError, match="there is no column 'name'"):
        encoder.transform(frame.drop(columns="name"))
    frame["size"] = ["big"]
    with pytest.raises(DataError, match='row 0: column "size" holds "big"'):
        encoder.transform(frame)


def test_permuting_the_items_permutes_the_features(files: tuple[Path, Path], tmp_path: Path) -> None:
    header, *rows = ITEMS.splitlines()
    other = write(tmp_path, "\n".join([header, *rows[::-1]]), "other.csv")
    one, two = read_preferences(*files), read_preferences(files[0], other)
    np.testing.assert_allclose(two.data.items, one.data.items[::-1])
    np.testing.assert_array_equal(two.data.names[two.data.first], one.data.names[one.data.first])


def test_the_column_that_holds_the_compared_names_is_found(tmp_path: Path) -> None:
    items = write(tmp_path, "#,Name,HP\n1,Bulb,45\n2,Ivy,60\n3,Venus,80\n", "items.csv")
    by_number = read_preferences(write(tmp_path, "winner,loser\n3,1\n2,1\n", "a.csv"), items)
    assert by_number.data.names.tolist() == ["1", "2", "3"]
    by_name = read_preferences(write(tmp_path, "winner,loser\nIvy,Bulb\n", "b.csv"), items)
    assert by_name.data.names.tolist() == ["Bulb", "Ivy", "Venus"]
    floats = read_preferences(write(tmp_path, "winner,loser\n3.0,1.0\n", "c.csv"), items)
    np.testing.assert_array_equal(floats.data.first, [2])
    with pytest.raises(FileFormatError, match='line 2: "Ivy" is not in'):
        read_preferences(tmp_path / "b.csv", items, columns="name=#")


def test_a_column_that_repeats_itself_holds_no_names(tmp_path: Path) -> None:
    items = write(tmp_path, "grp,no,x\n1,1,0.5\n2,2,1.5\n1,3,2.5\n", "items.csv")
    reading = read_preferences(write(tmp_path, "winner,loser\n2,1\n", "m.csv"), items)
    assert reading.data.names.tolist() == ["1", "2", "3"]


def test_the_median_and_not_the_mean_fills_gaps(tmp_path: Path) -> None:
    items = write(tmp_path, "item,x\nann,1\nbob,2\ncy,90\ndee,\n", "items.csv")
    reading = read_preferences(write(tmp_path, "winner,loser\nann,dee\n", "m.csv"), items, scale=False)
    np.testing.assert_array_equal(reading.data.items[:, 0], [1, 2, 90, 2])


def test_items_may_be_a_frame_or_anything_that_is_a_table(files: tuple[Path, Path]) -> None:
    frame = pd.read_csv(files[1])
    from_file = read_preferences(*files).data
    np.testing.assert_allclose(read_preferences(files[0], frame).data.items, from_file.items)
    indexed = frame.set_index("name")
    np.testing.assert_allclose(read_preferences(files[0], indexed).data.items, from_file.items)
    numbers = read_items(files[1], features=["same"])
    assert read_preferences(files[0], numbers).encoder is None
    rows = pd.DataFrame({"winner": [2, 1], "loser": [0, 2]})
    np.testing.assert_array_equal(read_preferences(rows, np.eye(3)).data.first, [2, 1])


def test_a_remark_below_the_items_and_columns_to_leave_out(tmp_path: Path) -> None:
    matches = write(tmp_path, MATCHES, "m.csv")
    items = write(
        tmp_path, "Rk,Team,x,y\n1,ann,1,2\n2,bob,2,3\n3,cy,3,1\n4,dee,4,2\n5,eve,5,28:60:00\nSee,,,\n", "i.csv"
    )
    with pytest.raises(FileFormatError, match=r'line 6: column "y" holds "28:60:00" among numbers.*without=y'):
        read_preferences(matches, items)
    reading = read_preferences(matches, items, columns="without=y")
    assert reading.data.feature_names == ("Rk", "x")
    assert 'Left out: 1 row without any feature ("See").' in reading.notes


def test_an_id_beside_the_names_is_no_feature(tmp_path: Path) -> None:
    items = write(tmp_path, '"",id,x\nann,3,1\nbob,5,2\ncy,6,9\ndee,8,1\neve,9,4\n', "items.csv")
    reading = read_preferences(write(tmp_path, MATCHES, "m.csv"), items)
    assert reading.data.feature_names == ("x",)
    assert any('"id" (numbers the items)' in sentence for sentence in reading.notes)


ROWS = "left,right,x_left,x_right,kind_left,kind_right,winner\nann,bob,1,2,cat,dog,left\ncy,ann,3,1,cat,cat,left\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [("left", "right"), ("first", "second"), ("home", "away"), ("model_a", "model_b"), ("item1", "item2")],
)
def test_features_on_the_rows_become_features_of_the_items(one: str, other: str, tmp_path: Path) -> None:
    words = (one[-1], other[-1]) if one[-1] in "a1" else (one, other)
    text = (
        ROWS.replace("left,right,", f"{one},{other},", 1)
        .replace("_left", f"_{words[0]}")
        .replace("_right", f"_{words[1]}")
    )
    text = text.replace(",left\n", f",{one}\n")
    data = read_preferences(write(tmp_path, text, "m.csv"), scale=False).data
    assert data.names.tolist() == ["ann", "bob", "cy"]
    assert data.feature_names == ("x", "kind=cat", "kind=dog")
    np.testing.assert_array_equal(data.items, [[1, 1, 0], [2, 0, 1], [3, 1, 0]])
    assert read_preferences(tmp_path / "m.csv", columns="features=none").data.items is None
    assert read_preferences(tmp_path / "m.csv", columns={"features": ["x"]}).data.feature_names == ("x",)


def test_winners_and_losers_may_bring_their_features(tmp_path: Path) -> None:
    text = "winner_name,winner_ht,loser_name,loser_ht\nann,1.5,bob,2\nann,1.5,cy,2.5\n"
    data = read_preferences(write(tmp_path, text, "m.csv"), scale=False).data
    np.testing.assert_array_equal(data.items, [[1.5], [2], [2.5]])


def test_items_without_names_are_their_features(tmp_path: Path) -> None:
    text = "x_left,y_left,x_right,y_right,winner\n1.5,0,2,1,left\n2,1,3,0,right\n1.5,0,3,0,tie\n"
    data = read_preferences(write(tmp_path, text, "m.csv"), scale=False).data
    assert data.names.tolist() == ["line 2 left", "line 2 right", "line 3 right"]
    np.testing.assert_array_equal(data.items, [[1.5, 0], [2, 1], [3, 0]])
    np.testing.assert_array_equal(data.first, [0, 1, 0])
    np.testing.assert_array_equal(data.outcome, [1, -1, 0])


def test_numbered_features_are_not_taken_for_two_sides(tmp_path: Path) -> None:
    text = "x1_left,x2_left,x1_right,x2_right,winner\n1.5,0,2,1,left\n2,1,3,0,right\n"
    data = read_preferences(write(tmp_path, text, "m.csv"), scale=False).data
    assert data.feature_names == ("x1", "x2")
    np.testing.assert_array_equal(data.items, [[1.5, 0], [2, 1], [3, 0]])


def test_a_feature_that_contradicts_itself_is_named_with_both_lines(tmp_path: Path) -> None:
    rows = [f"i{k},i{k + 1},{k},{k + 1},left" for k in range(20)]
    text = "\n".join(["left,right,x_left,x_right,winner", *rows, "i3,i9,3,8,left"])
    with pytest.raises(
        FileFormatError, match=r'm.csv, line 22: "i9" has x "8" here and "9" in line 1[01] \(1 such item\)'
    ):
        read_preferences(write(tmp_path, text, "m.csv"))


def test_a_feature_of_the_row_is_left_out_and_said_so(tmp_path: Path) -> None:
    rows = [f"i{k},i{k + 1},{k},{k + 1},{3 * k},{3 * k + 2},left" for k in range(20)]
    text = "\n".join(["left,right,x_left,x_right,form_left,form_right,winner", *rows])
    reading = read_preferences(write(tmp_path, text, "m.csv"))
    assert reading.data.feature_names == ("x",)
    assert any(sentence.startswith('Left out: "form" (differs between rows') for sentence in reading.notes)
    items = write(tmp_path, "item,z\n" + "\n".join(f"i{k},{k}" for k in range(21)), "items.csv")
    assert read_preferences(tmp_path / "m.csv", items).data.feature_names == ("z",)
