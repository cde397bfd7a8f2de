"""Lists, dicts and arrays are read as the table that they are."""

from collections import namedtuple

import numpy as np
import pandas as pd
import polars as pl
import pytest

from preflearn import rank
from preflearn.exceptions import DataError
from preflearn.io import read_preferences

WINNERS, LOSERS = ["ann", "ann", "bob", "cy"], ["bob", "cy", "cy", "ann"]
PAIRS = list(zip(WINNERS, LOSERS, strict=True))
FRAME = pd.DataFrame({"winner": WINNERS, "loser": LOSERS})
Match = namedtuple("Match", "winner loser")

SAME = {
    "list of tuples": PAIRS,
    "tuple of lists": tuple([*pair] for pair in PAIRS),
    "zip": None,  # made anew, since it can be read once
    "named tuples": [Match(*pair) for pair in PAIRS],
    "tuples of a frame": list(FRAME.itertuples(index=False)),
    "dicts": FRAME.to_dict("records"),
    "dict of lists": {"winner": WINNERS, "loser": LOSERS},
    "dict of columns of any library": {"winner": pd.Series(WINNERS), "loser": pl.Series(LOSERS)},
    "array": np.array(PAIRS),
    "array of objects": np.array(PAIRS, dtype=object),
    "array of bytes": np.array(PAIRS, dtype="S5"),
    "structured array": np.array(PAIRS, dtype=[("winner", "U5"), ("loser", "U5")]),
    "record array": FRAME.to_records(index=False),
    "array of arrays": [np.array(pair) for pair in PAIRS],
}


@pytest.mark.parametrize("name", SAME)
def test_all_are_the_same_table(name):
    source = zip(WINNERS, LOSERS, strict=True) if name == "zip" else SAME[name]
    found, wanted = read_preferences(source), read_preferences(FRAME)
    assert found.layout == wanted.layout == "winner,loser"
    assert found.notes[1:] == wanted.notes[1:]
    for part in ("first", "second", "outcome", "names"):
        np.testing.assert_array_equal(getattr(found.data, part), getattr(wanted.data, part))


def test_rows_and_columns_have_every_layout_and_option_of_a_table():
    rows = [{"left": "a", "right": "b", "winner": "tie"}, {"right": "c", "left": "b"}]
    np.testing.assert_array_equal(read_preferences(rows, missing="drop").data.outcome, [0])
    first_wins = {"l": ["a", "b"], "r": ["b", "c"], "n": [2, 1]}
    read = read_preferences(first_wins, columns={"winner": "l", "loser": "r", "weight": "n"})
    np.testing.assert_array_equal(read.data.weight, [2, 1])
    votes = read_preferences([{"ranking": ["a", "b", "c"]}, {"ranking": ["b", "a", "c"]}])
    assert len(votes.data) == 6
    numbers = read_preferences(np.array([[10.0, 20.0], [20.0, 30.0]]))
    assert numbers.data.names.tolist() == [10, 20, 30]


@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.DataFrame, dict, lambda table: pd.DataFrame(table).to_dict("records")]
)
def test_items_may_be_rows_or_columns_too(library):
    items = {"item": ["ann", "bob", "cy"], "size": [1.0, 2.0, 4.0], "kind": ["x", "y", "x"]}
    wanted = read_preferences(PAIRS, pd.DataFrame(items))
    found = read_preferences(PAIRS, library(items))
    np.testing.assert_array_equal(found.data.items, wanted.data.items)
    assert found.notes == wanted.notes


@pytest.mark.slow
def test_a_ranking_from_pairs():
    result = rank(PAIRS, circles=False)
    assert result.to_dict()["item"] == rank(FRAME, circles=False).to_dict()["item"]
    assert result.notes[0].startswith("the list of pairs: 4 rows")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "list of pairs: there are no rows. Give at least one"),
        ({}, "dict of columns: there are no rows"),
        ({"winner": [], "loser": []}, "dict of columns: there are no rows"),
        ([*PAIRS, ("dee",)], r"list of pairs, row 4: \('dee',\) is not a pair"),
        (["ab", "bc"], 'row 0: "ab" is not a pair'),
        (("ann", "bob"), 'row 0: "ann" is not a pair'),
        ([[("a", "b"), ("c", "d")]], "row 0: .* is not a pair"),
        ([*PAIRS, {"winner": "a", "loser": "b"}], "row 4: .* is not a pair. Give pairs"),
        ([("a", "b", "left")], "row 0: 3 values without names of columns .* rankings, best first, use"),
        ([("a", "b"), ("a", "a")], 'row 1: "a" is compared with itself'),
        ([("a", "b"), ("a", None)], "row 1: loser .* is empty"),
        ([{"winner": "a", "loser": "b"}, {"winner": "a"}], "list of rows, row 1: loser .* is empty"),
        ([{"x": "a", "y": "b"}], 'list of rows: the columns "x", "y" do not say who was preferred'),
        ({"winner": "a", "loser": "b"}, 'dict of columns: "winner" is "a", not a list of values'),
        ({("a", "b"): 3}, "is 3, not a list of values"),
        ({"winner": ["a"], "loser": ["b", "c"]}, r"differ in length \(winner 1, loser 2\)"),
        ({"1": ["a"], 1: ["b"]}, 'several columns are called "1"'),
        (np.zeros((2, 3)), r"array has shape \(2, 3\) .* two columns, winner and loser"),
        (np.zeros((2, 2, 2)), "needs two columns"),
        (np.array([[b"\xff", b"a"]]), "not UTF-8"),
        (np.array([["a", "b"], ["a", None]], dtype=object), "array, row 1: loser"),
    ],
)
def test_mistakes_are_those_of_a_table(source, message):
    with pytest.raises(DataError, match=message):
        read_preferences(source)


@pytest.mark.parametrize(("source", "message"), [({("a", "b")}, "Give a list"), (3, "list of pairs .* got int")])
def test_what_is_no_table(source, message):
    with pytest.raises(TypeError, match=message):
        rank(source)
