"""What people get wrong, and what the messages must then say: the cause, the place, the cure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from preflearn.data import (
    Bags,
    Comparisons,
    Ratings,
    from_choices,
    from_frame,
    from_rankings,
    from_scores,
    from_winners,
)
from preflearn.exceptions import DataError, DataWarning

X = np.arange(12.0).reshape(4, 3)
NAMES = ["C01", "C07", "C17", "C30"]


def broken(row: int, column: int, value: float) -> np.ndarray:
    items = X.copy()
    items[row, column] = value
    return items


def sparse_broken() -> sparse.csr_array:
    return sparse.csr_array(broken(2, 1, np.inf))


FRAME = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "won": ["x", "q"], "res": [1, -1]})

# call, kind of error, words that the message must hold
MISTAKES: list[tuple[str, Callable[[], Any], type[Exception], list[str]]] = [
    (
        "nan item",
        lambda: Comparisons(broken(1, 2, np.nan), [0], [1], names=NAMES),
        DataError,
        ["row 1", '"C07"', "column 2", "1 missing", "Impute", "drop"],
    ),
    (
        "inf in sparse",
        lambda: Comparisons(sparse_broken(), [0], [1]),
        DataError,
        ["row 2", "column 1", "inf", "Impute"],
    ),
    (
        "nan in frame",
        lambda: Comparisons(pd.DataFrame({"id": ["u", "v"], "w": [1.0, None]}), ["u"], ["v"]),
        DataError,
        ["row 1", '"v"', '"w"', "Impute"],
    ),
    (
        "text column",
        lambda: Comparisons(pd.DataFrame({"colour": ["r", "g"], "w": [1, 2]}), [0], [1]),
        TypeError,
        ["1 of 2", '"colour"', "one-hot", "item, name or id"],
    ),
    ("one-dimensional items", lambda: Comparisons([1.0, 2.0], [0], [1]), TypeError, ["(2,)", "reshape(-1, 1)"]),
    ("names as items", lambda: Comparisons(["a", "b"], ["a"], ["b"]), TypeError, ["items=None, names="]),
    ("text cell", lambda: Comparisons([[1, "tall"], [2, 3]], [0], [1]), TypeError, ["row 0", "column 1", '"tall"']),
    ("ragged items", lambda: Comparisons([[1, 2], [3]], [0], [1]), TypeError, ["rectangular"]),
    ("lazy frame", lambda: Comparisons(pl.LazyFrame({"w": [1, 2]}), [0], [1]), TypeError, [".collect()"]),
    ("series as items", lambda: Comparisons(pd.Series([1, 2]), [0], [1]), TypeError, ["single column", ".to_frame()"]),
    ("no items", lambda: Comparisons(0, [0], [1]), DataError, ["items=0", "at least 1"]),
    ("no columns", lambda: Comparisons(np.zeros((3, 0)), [0], [1]), DataError, ["(3, 0)", "pass their number"]),
    ("bool items", lambda: Comparisons(True, [0], [1]), TypeError, ["bool"]),
    ("complex items", lambda: Comparisons(X * 1j, [0], [1]), TypeError, ["complex", "real"]),
    (
        "unknown name",
        lambda: Comparisons(X, ["C01", "C77"], ["C07", "C01"], names=NAMES),
        DataError,
        ["1 of 2", "first", "row 1", '"C77"', 'nearest names: "C17", "C07"', "4 items"],
    ),
    (
        "one-based",
        lambda: Comparisons(X, [1, 2], [3, 4]),
        DataError,
        ["1 of 2", "second", "0..3", "row 1", "subtract 1"],
    ),
    ("negative row", lambda: Comparisons(X, [0, -1], [1, 2]), DataError, ["row 1", "-1", "0..3", "drop"]),
    ("huge row", lambda: Comparisons(X, [0, 10**30], [1, 2]), DataError, ["0..3"]),
    ("float rows", lambda: Comparisons(X, [0.0, 1.0], [1, 2]), TypeError, ["row 0", "float", "names"]),
    ("missing side", lambda: Comparisons(X, [0, None], [1, 2]), TypeError, ["row 1", "None", "Drop"]),
    ("missing name", lambda: Comparisons(None, ["a", None], ["b", "a"]), DataError, ["first", "missing", "row 1"]),
    ("uneven sides", lambda: Comparisons(X, [0, 1], [1]), DataError, ["2 values", "second 1", "both sides"]),
    ("no comparisons", lambda: Comparisons(X, [], []), DataError, ["no comparisons", "at least one"]),
    ("one string", lambda: Comparisons(None, "ab", "ba"), TypeError, ["first", "sequence", "str"]),
    ("a set", lambda: Comparisons(None, {"a"}, {"b"}), TypeError, ["fixed order", "set"]),
    ("matrix side", lambda: Comparisons(X, np.array([[0, 1]]), [1, 2]), TypeError, ["first", "(1, 2)", "ravel"]),
    (
        "nan outcome",
        lambda: Comparisons(X, [0, 1], [1, 2], [1, np.nan]),
        DataError,
        ["outcome", "1 of 2", "row 1", "Drop"],
    ),
    ("none outcome", lambda: Comparisons(X, [0, 1], [1, 2], [None, 1]), DataError, ["outcome", "row 0", "Drop"]),
    (
        "bool outcome",
        lambda: Comparisons(X, [0, 1], [1, 2], [True, False]),
        TypeError,
        ["tie", "numpy.where(outcome, 1, -1)"],
    ),
    ("text outcome", lambda: Comparisons(X, [0, 1], [1, 2], ["win", "loss"]), TypeError, ["outcome", "numbers"]),
    ("short outcome", lambda: Comparisons(X, [0, 1], [1, 2], [1]), DataError, ["outcome has 1", "2 comparisons"]),
    (
        "negative weight",
        lambda: Comparisons(X, [0, 1], [1, 2], weight=[1, -2]),
        DataError,
        ["negative", "row 1", "-2.0", ">= 0"],
    ),
    (
        "zero weights",
        lambda: Comparisons(X, [0, 1], [1, 2], weight=[0, 0]),
        DataError,
        ["all 2 weights are zero", "Raise"],
    ),
    (
        "column weight",
        lambda: Comparisons(X, [0, 1], [1, 2], weight=[[1], [2]]),
        TypeError,
        ["weight", "(2, 1)", "ravel"],
    ),
    ("missing group", lambda: Comparisons(X, [0, 1], [1, 2], group=["g", None]), DataError, ["group", "row 1", "drop"]),
    ("missing judge", lambda: Comparisons(X, [0, 1], [1, 2], judge=[np.nan, 1.0]), DataError, ["judge", "row 0"]),
    ("list as label", lambda: Comparisons(X, [0, 1], [1, 2], judge=[[1], [2]]), TypeError, ["judge", "row 0", "list"]),
    ("short group", lambda: Comparisons(X, [0, 1], [1, 2], group=["g"]), DataError, ["group has 1", "2 comparisons"]),
    (
        "repeated names",
        lambda: Comparisons(X, [0], [1], names=["a", "b", "a", "c"]),
        DataError,
        ['"a"', "rows 0 and 2", "rename"],
    ),
    ("few names", lambda: Comparisons(X, [0], [1], names=["a"]), DataError, ["names has 1", "4 items"]),
    (
        "itself",
        lambda: Comparisons(X, ["C01", "C07"], ["C30", "C07"], names=NAMES),
        DataError,
        ["1 of 2", "of an item with itself", "row 1", '"C07"', 'self_comparisons="drop"'],
    ),
    (
        "only itself",
        lambda: Comparisons(X, [1], [1], self_comparisons="drop"),
        DataError,
        ["Nothing is left", "differ"],
    ),
    (
        "policy",
        lambda: Comparisons(X, [1], [0], self_comparisons="ignore"),
        ValueError,
        ["self_comparisons", "'drop'", "'ignore'"],
    ),
    ("new table", lambda: Comparisons(X, [0], [1]).with_items(X[:2]), ValueError, ["2 rows", "4 items", "same order"]),
    ("mask", lambda: Comparisons(X, [0], [1]).swapped([0, 1]), TypeError, ["mask", "1 booleans"]),
    ("ratings without items", lambda: Ratings(3, [1, 2, 3]), TypeError, ["table of features"]),
    ("ratings length", lambda: Ratings(X, [1, 2]), DataError, ["score has 2", "4 items"]),
    ("ratings nan", lambda: Ratings(X, [1, 2, np.nan, 1]), DataError, ["score", "row 2", "Drop"]),
    (
        "ratings name twice",
        lambda: Ratings(X, [1, 2, 3, 4], names=["a", "b", "c", "a"]),
        DataError,
        ["rows 0 and 3", "'a'", "same group"],
    ),
    ("ratings column", lambda: Ratings.from_frame(FRAME, score="ress"), DataError, ["'ress'", 'nearest names: "res"']),
    ("not a frame", lambda: Ratings.from_frame(X, score="s"), TypeError, ["data frame", "ndarray"]),
    ("winners lengths", lambda: from_winners(["a"], ["b", "c"]), DataError, ["loser has 2", "1 winner"]),
    ("tie numbers", lambda: from_winners(["a"], ["b"], tie=[1]), TypeError, ["True or False"]),
    ("ranking twice", lambda: from_rankings([["a", "b"], ["a", "c", "a"]]), DataError, ["ranking 1", '"a"', "once"]),
    ("ranking text", lambda: from_rankings(["a>b"]), TypeError, ["ranking 0", "str", ".split('>')"]),
    ("ranking depth", lambda: from_rankings([["a", ["b", ["c"]]]]), TypeError, ["ranking 0", "nested"]),
    (
        "ranking option",
        lambda: from_rankings([["a", "b"]], pairs="some"),
        ValueError,
        ["pairs", "'adjacent'", "'some'"],
    ),
    ("no rankings", lambda: from_rankings([]), DataError, ["no rankings"]),
    ("short rankings", lambda: from_rankings([["a"], ["b"]]), DataError, ["none of the 2 rankings", "two items"]),
    ("not offered", lambda: from_choices(["a"], [["b", "c"]]), DataError, ["choice 0", '"a"', '"b", "c"', "too"]),
    ("choices length", lambda: from_choices(["a"], [["a", "b"], ["a", "c"]]), DataError, ["offered has 2", "1 choice"]),
    ("all tied", lambda: from_scores(X, [1, 1, 1, 1]), DataError, ["differ in score", "Check"]),
    ("no pairs", lambda: from_scores(X, [1, 2, 3, 4], max_pairs=0), ValueError, ["max_pairs", "at least 1", "0"]),
    (
        "too many pairs",
        lambda: from_scores(20_000, np.arange(20_000.0)),
        DataError,
        ["199990000 pairs", "max_pairs", "Ratings"],
    ),
    (
        "weights apart",
        lambda: from_scores(X, [1, 2, 3, 4], weight=[1, 0, 0, 0]),
        DataError,
        ["weight zero", "positive"],
    ),
    ("frame column", lambda: from_frame(FRAME, first="a", second="c"), DataError, ["second='c'", '"a", "b"']),
    (
        "frame winner",
        lambda: from_frame(FRAME, first="a", second="b", winner="won"),
        DataError,
        ["row 1", '"q"', '"y"', "tie"],
    ),
    (
        "frame both",
        lambda: from_frame(FRAME, first="a", second="b", winner="won", outcome="res"),
        TypeError,
        ["not both"],
    ),
    ("frame kind", lambda: from_frame([[1]], first="a", second="b"), TypeError, ["data frame", "list"]),
    (
        "item_name",
        lambda: from_frame(FRAME, first="a", second="b", items=X, item_name="n"),
        TypeError,
        ["item_name", "ndarray"],
    ),
    ("empty bag", lambda: Bags([X, X[:0]], names=["u", "v"]), DataError, ["bag 1", '"v"', "empty", "drop it"]),
    ("empty list as a bag", lambda: Bags([X, []]), DataError, ["bag 1", "empty", "drop it"]),
    ("no bags", lambda: Bags([]), DataError, ["no bags", "at least one"]),
    ("bags of other columns", lambda: Bags([X, X[:, :2]]), DataError, ["1 of 2", "bag 0 has 3", "bag 1 has 2"]),
    (
        "frames of other columns as bags",
        lambda: Bags([pd.DataFrame({"u": [1], "v": [2]}), pd.DataFrame({"v": [2], "w": [1]})], names=["x", "y"]),
        DataError,
        ['bag 1 ("y")', 'bag 0 ("x")', 'has no "u"', 'also has "w"'],
    ),
    (
        "feature names of some columns of frames",
        lambda: Bags([pd.DataFrame({"u": [1], "v": [2]})], feature_names=["u", "w"]),
        DataError,
        ['1 of the feature names are columns of the frames ("u")', 'columns: "u", "v"'],
    ),
    (
        "text in a frame as a bag",
        lambda: Bags([pd.DataFrame({"u": [1]}), pd.DataFrame({"u": ["tall"]})]),
        TypeError,
        ["bag 1", '"u"', "not numeric"],
    ),
    (
        "repeated feature names of bags",
        lambda: Bags([[[1, 2, 3]]], feature_names=["u", "v", "u"]),
        DataError,
        ["1 of the feature names", '"u"', "its own name"],
    ),
    ("nan in a bag", lambda: Bags([X, broken(1, 2, np.nan)]), DataError, ["1 values", "bag 1, point 1, column 2"]),
    (
        "inf in a named bag",
        lambda: Bags([X, broken(0, 1, np.inf)], NAMES[:2], ["a", "b", "c"]),
        DataError,
        ['bag 1 ("C07"), point 0, column "b"', "inf", "impute"],
    ),
    ("a table as bags", lambda: Bags(X), TypeError, ["bag 0", "(3,)", "table[:, None, :]"]),
    ("bags in bags", lambda: Bags([X[None]]), TypeError, ["(1, 4, 3)", "one row per point"]),
    ("text in a bag", lambda: Bags([[["tall"]]]), TypeError, ["bag 0", "real numbers"]),
    ("complex bag", lambda: Bags([X * 1j]), TypeError, ["bag 0", "complex"]),
    ("ragged bag", lambda: Bags([[[1, 2], [3]]]), TypeError, ["bag 0", "real numbers"]),
    ("sparse bag", lambda: Bags([sparse.csr_array(X)]), TypeError, ["bag 0", "toarray()"]),
    ("sparse table as bags", lambda: Bags(sparse.csr_array(X)), TypeError, ["sequence of arrays", "csr_array"]),
    ("number of bags", lambda: Bags(3), TypeError, ["sequence of arrays", "int"]),
    ("bags without columns", lambda: Bags([np.zeros((2, 0))]), DataError, ["no columns"]),
    ("repeated bag names", lambda: Bags([X, X], names=["u", "u"]), DataError, ['"u"', "rows 0 and 1", "rename"]),
    ("too few bag names", lambda: Bags([X, X], names=["u"]), DataError, ["1 values", "2 items"]),
    ("feature names of bags", lambda: Bags([X], feature_names=["a"]), DataError, ["1 feature names", "3 columns"]),
    ("frame as bags", lambda: Bags(FRAME), TypeError, ["Bags.from_table"]),
    ("list as long table", lambda: Bags.from_table([X], "a"), TypeError, ["list", "Bags([array, ...])"]),
    ("unknown item column", lambda: Bags.from_table(FRAME, "aa"), DataError, ["item='aa'", 'nearest names: "a"']),
    ("text in long table", lambda: Bags.from_table(FRAME, "a"), TypeError, ["2 of 3", '"b"', "one-hot"]),
    (
        "missing item in long table",
        lambda: Bags.from_table(pd.DataFrame({"p": ["u", None], "x": [1, 2]}), "p"),
        DataError,
        ["1 of 2", "row 1"],
    ),
    (
        "nan in long table",
        lambda: Bags.from_table(pd.DataFrame({"p": ["u", "v", "u"], "x": [1, 2, None]}), "p"),
        DataError,
        ['bag 0 ("u"), point 1, column "x"'],
    ),
    (
        "empty long table",
        lambda: Bags.from_table(pd.DataFrame({"p": [], "x": []}), "p"),
        DataError,
        ["no rows", "at least one"],
    ),
    (
        "long table of names only",
        lambda: Bags.from_table(pd.DataFrame({"p": ["u", "v"]}), "p"),
        DataError,
        ["no columns", "at least one feature"],
    ),
    ("bags as an array", lambda: np.asarray(Bags([X])), TypeError, [".means()", ".points", "PreferenceGP"]),
]


@pytest.mark.parametrize(("call", "kind", "words"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_mistakes_are_explained(call: Callable[[], Any], kind: type[Exception], words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert [word for word in words if word not in message] == [], message
    assert message.rstrip().endswith((".", ")"))


ODDITIES: list[tuple[str, Callable[[], Any], list[str]]] = [
    ("zero and one", lambda: Comparisons(X, [0, 1], [1, 2], [0, 1]), ["0 means a tie", "2 * outcome - 1"]),
    ("half", lambda: Comparisons(X, [0, 1, 2], [1, 2, 3], [0, 1, 0.5]), ["0, 0.5 and 1", "2 * outcome - 1"]),
    ("dropped", lambda: Comparisons(X, [0, 1], [1, 1], self_comparisons="drop"), ["1 of 2", "row 1", "dropped"]),
    ("idle ranking", lambda: from_rankings([["a"], ["a", "b"]]), ["1 of 2 rankings", "change nothing"]),
]


@pytest.mark.parametrize(("call", "words"), [row[1:] for row in ODDITIES], ids=[row[0] for row in ODDITIES])
def test_odd_data_warn_once_and_point_at_the_caller(call: Callable[[], Any], words: list[str]) -> None:
    with pytest.warns(DataWarning) as caught:
        call()
    assert len(caught) == 1
    message = str(caught[0].message)
    assert [word for word in words if word not in message] == [], message
    assert caught[0].filename == __file__


def test_ordinary_data_do_not_warn() -> None:
    # Warnings are errors here: ties are known to be ties, and what misleads learning alone is for learning to say.
    Comparisons(X, [0, 1], [1, 0], [1, 1])
    Comparisons(5, [0, 2], [1, 3])
    Comparisons(X, [0, 1, 1], [1, 0, 2], [1, -1, 1])
    Ratings(X, [1, 2, 3, 4], group=[1, 2, 3, 4])
    Ratings(X, [0, 0, 0, 0], group=[1, 1, 2, 2])
    from_scores(4, [1, 1, 2, 3], group=[0, 1, 0, 1])
    from_winners([0, 1], [1, 2], X, tie=[False, True])
    from_rankings([["a", ["b", "c"]]])
