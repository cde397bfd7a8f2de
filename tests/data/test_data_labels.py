"""Label preferences: the graphs of the paper, rankings with gaps and ties, items as rows, and mistakes."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils import indexable, resample
from sklearn.utils.validation import _num_samples

from preflearn.data import (
    LabelPreferences,
    from_class_labels,
    from_label_hierarchy,
    from_label_rankings,
    from_label_ranks,
    from_ordinal_labels,
)
from preflearn.exceptions import DataError, DataWarning

X = np.arange(12.0).reshape(4, 3)


def edges(data: LabelPreferences, item: int = 0) -> set:
    one = data[item]
    assert (one.item == 0).all()
    return {(data.labels[a], data.labels[b]) for a, b in zip(one.first, one.second, strict=True)}


def some() -> LabelPreferences:
    """Edges of the items are mixed, item 1 has none."""
    return LabelPreferences(
        X, [2, 0, 3, 2, 0], list("abcab"), list("bcacc"), [1, -1, 1, 2, 1], weight=[1, 2, 3, 4, 5], names=list("pqrs")
    )


class TestGraphsOfThePaper:
    """Fig. 1, where 3 is the right one of five labels."""

    def test_classification_is_a_star(self):
        data = from_class_labels(X, [3, 1, 5, 2], labels=range(1, 6))
        assert edges(data) == {(3, 1), (3, 2), (3, 4), (3, 5)}
        assert edges(data, 1) == {(1, k) for k in (2, 3, 4, 5)}
        assert data.n_edges == 16

    def test_ordinal_regression_is_two_chains(self):
        data = from_ordinal_labels(X, [3, 1, 5, 2], labels=range(1, 6))
        assert edges(data) == {(3, 2), (2, 1), (3, 4), (4, 5)}
        assert edges(data, 1) == {(1, 2), (2, 3), (3, 4), (4, 5)}
        assert edges(data, 2) == {(5, 4), (4, 3), (3, 2), (2, 1)}

    def test_a_hierarchy_is_levels(self):
        data = from_label_hierarchy(X, [3, 1, 5, 2], {1: "u", 2: "v", 3: "v", 4: "v", 5: "u"})
        assert edges(data) == {(3, 2), (3, 4), (2, 1), (2, 5), (4, 1), (4, 5)}
        assert edges(data, 1) == {(1, 5), (5, 2), (5, 3), (5, 4)}

    def test_deeper_hierarchies_have_more_levels(self):
        paths = {"oak": ("plant", "tree"), "elm": ("plant", "tree"), "fern": ("plant", "herb"), "cat": ("animal",)}
        data = from_label_hierarchy(X[:1], ["oak"], paths)
        assert edges(data) == {("oak", "elm"), ("elm", "fern"), ("fern", "cat")}

    def test_weights_of_items_are_those_of_their_edges(self):
        for build in (from_class_labels, from_ordinal_labels):
            data = build(X, [1, 2, 3, 1], weight=[1, 2, 3, 0])
            np.testing.assert_array_equal(data.weight, np.array([1.0, 2, 3, 0])[data.item])

    def test_ordinal_numbers_are_sorted_and_words_need_an_order(self):
        assert from_ordinal_labels(X, [10, 2, 1, 2.5]).labels.tolist() == [1, 2, 2.5, 10]
        with pytest.raises(DataError, match="from one end of the scale"):
            from_ordinal_labels(X, ["low", "mid", "high", "low"])


class TestRankings:
    def test_all_pairs_of_full_orders(self):
        rng = np.random.default_rng(0)
        orders = np.array([rng.permutation(5) for _ in range(4)])
        data = from_label_rankings(X, orders)
        assert data.n_edges == 4 * 10
        for row, order in enumerate(orders.tolist()):
            assert edges(data, row) == set(itertools.combinations(order, 2))
        adjacent = from_label_rankings(X, orders, pairs="adjacent")
        for row, order in enumerate(orders.tolist()):
            assert edges(adjacent, row) == set(itertools.pairwise(order))

    def test_partial_orders_and_levels(self):
        data = from_label_rankings(X[:2], [["a", ("b", "c"), "d"], ["c", "a"]])
        assert edges(data) == {("a", "b"), ("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")}
        assert edges(data, 1) == {("c", "a")}
        near = from_label_rankings(X[:2], [["a", {"b", "c"}, "d"], ["c", "a"]], pairs="adjacent", ties="include")
        assert edges(near) == {("a", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("c", "d")}
        assert near[0].outcome.tolist().count(0) == 1

    def test_ranks_are_rankings(self):
        rng = np.random.default_rng(1)
        ranks = rng.integers(1, 5, size=(4, 4)).astype(float)
        ranks[rng.random((4, 4)) < 0.2] = np.nan
        for pairs, ties in itertools.product(("all", "adjacent"), ("include", "exclude")):
            data = from_label_ranks(X, ranks, labels=list("abcd"), pairs=pairs, ties=ties)
            lists = [
                [[label for label, r in zip("abcd", row, strict=True) if r == rank] for rank in np.unique(row[row > 0])]
                for row in ranks
            ]
            same = from_label_rankings(X, lists, labels=list("abcd"), pairs=pairs, ties=ties)
            for field in ("item", "first", "second", "outcome"):
                np.testing.assert_array_equal(getattr(data, field), getattr(same, field))

    def test_frames_name_the_labels(self):
        frame = pd.DataFrame({"tea": [1, 2], "milk": [2, 1]})
        for given in (frame, pl.from_pandas(frame)):
            assert edges(from_label_ranks(X[:2], given), 1) == {("milk", "tea")}
        rows = pd.DataFrame({"1st": ["a", "b"], "2nd": ["b", None], "3rd": ["c", "c"]})
        assert edges(from_label_rankings(X[:2], rows), 1) == {("b", "c")}

    def test_rankings_that_say_nothing_are_named(self):
        with pytest.warns(DataWarning, match=r"1 of 2 rankings compare no two labels .*rankings 1"):
            from_label_rankings(X[:2], [["a", "b"], ["a"]])


class TestItemsAreRows:
    def test_counts_and_text(self):
        data = some()
        assert len(data) == data.n_items == _num_samples(data) == 4
        assert data.shape == (4, 3)
        assert (data.n_labels, data.n_edges, data.n_features) == (3, 5, 3)
        assert repr(data) == "LabelPreferences(5 edges between 3 labels for 4 items with 3 features; weight)"
        assert data.labels.tolist() == ["a", "b", "c"]

    @pytest.mark.parametrize(
        "key", [0, -1, slice(1, 3), [2, 0], np.array([False, True, True, False]), [1, 1, 2, 2], []], ids=str
    )
    def test_indexing_takes_items_with_their_edges(self, key):
        data = some()
        rows = np.atleast_1d(np.arange(4)[key])
        part = data[key]
        np.testing.assert_array_equal(part.items, X[rows])
        np.testing.assert_array_equal(part.names, data.names[rows])
        wanted = [
            (new, *(getattr(data, name)[edge] for name in ("first", "second", "outcome", "weight")))
            for new, row in enumerate(rows)
            for edge in np.flatnonzero(data.item == row)
        ]
        found = list(zip(part.item, part.first, part.second, part.outcome, part.weight, strict=True))
        assert found == wanted

    def test_scikit_learn_cuts_it_up(self):
        data = from_class_labels(np.arange(20.0).reshape(10, 2), np.arange(10) % 3)
        indexable(data, np.arange(10))
        train, test = train_test_split(data, test_size=3, random_state=0)
        assert (len(train), len(test)) == (7, 3)
        assert len(resample(data, n_samples=15, random_state=0)) == 15
        for a, b in KFold(5).split(data):
            assert data[a].n_edges + data[b].n_edges == 20

    def test_frozen_pickled_copied(self):
        data = some()
        for twin in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
            np.testing.assert_array_equal(twin.first, data.first)
            with pytest.raises(ValueError, match="read-only"):
                twin.first[0] = 1
        with pytest.raises(AttributeError, match="frozen"):
            data.first = None
        with pytest.raises(TypeError, match="not an array"):
            np.asarray(data)

    def test_swapping_twice_changes_nothing(self):
        data = some()
        mask = np.array([True, False, True, True, False])
        twice = data.swapped(mask).swapped(mask)
        for field in ("first", "second", "outcome"):
            np.testing.assert_array_equal(getattr(twice, field), getattr(data, field))
        np.testing.assert_array_equal(data.swapped().outcome, -data.outcome)

    def test_names_frames_and_sparse_items(self):
        frame = pd.DataFrame({"id": ["p", "q"], "u": [1.0, 2.0], "v": [0.0, 1.0]})
        data = LabelPreferences(frame, ["q", "p", "q"], ["a", "a", "b"], ["b", "b", "c"])
        assert data.item.tolist() == [1, 0, 1]
        assert data.feature_names == ("u", "v")
        thin = LabelPreferences(sparse.csr_array(X), [0, 3], ["a", "b"], ["b", "a"])
        np.testing.assert_array_equal(thin[[3, 0]].items.toarray(), X[[3, 0]])

    def test_labels_of_any_kind_keep_their_kind(self):
        assert from_class_labels(X, [10, 9, 2, 9]).labels.tolist() == [2, 9, 10]
        assert from_class_labels(X, [2.5, 0.5, 1.5, 0.5]).labels.tolist() == [0.5, 1.5, 2.5]
        assert from_class_labels(X, [2.5, 1, 2, 1]).labels.tolist() == [1.0, 2.0, 2.5]
        assert from_class_labels(X, [True, False, True, True]).labels.tolist() == [False, True]
        assert from_class_labels(X, [2**70, 3, 2**65, 3]).labels.tolist() == [3, 2**65, 2**70]
        assert from_class_labels(X, ["b", 1, "a", 1]).labels.tolist() == ["b", 1, "a"]
        assert from_class_labels(X, [(1, 2), (0, 1), (1, 2), (0, 1)]).labels.tolist() == [(1, 2), (0, 1)]


MISTAKES = [
    ("self edge", lambda: LabelPreferences(X, [0, 1], ["a", "b"], ["b", "b"]), DataError, ["1 of 2", "row 1", '"b"']),
    ("no edges", lambda: LabelPreferences(X, [], [], []), DataError, ["no edges"]),
    ("lengths", lambda: LabelPreferences(X, [0, 1], ["a"], ["b", "b"]), DataError, ["first has 1 values for 2 edges"]),
    ("item", lambda: LabelPreferences(X, [4], ["a"], ["b"]), DataError, ["outside 0..3", "4"]),
    ("item name", lambda: LabelPreferences(X, ["t"], ["a"], ["b"], names=list("pqrs")), DataError, ['"t"']),
    ("unknown label", lambda: LabelPreferences(X, [0], ["a"], ["bb"], labels=["a", "b"]), DataError, ['"bb"', '"b"']),
    ("missing label", lambda: LabelPreferences(X, [0], ["a"], [None]), DataError, ["second is missing", "row 0"]),
    ("nan label", lambda: LabelPreferences(X, [0], ["a"], [np.nan]), DataError, ["second is missing"]),
    (
        "repeated labels",
        lambda: LabelPreferences(X, [0], ["a"], ["b"], labels=["a", "b", "a"]),
        DataError,
        ['"a" more'],
    ),
    ("one label", lambda: LabelPreferences(X, [0], ["a"], ["a"], labels=["a"]), DataError, ["1 label(s)", "needs two"]),
    ("only one class", lambda: from_class_labels(X, ["a"] * 4), DataError, ["only one label", '"a"']),
    ("nan feature", lambda: LabelPreferences(X * np.nan, [0], ["a"], ["b"]), DataError, ["12 missing", "Impute"]),
    ("no features", lambda: LabelPreferences(3, [0], ["a"], ["b"]), TypeError, ["table of features", "3"]),
    ("flat", lambda: LabelPreferences(X[0], [0], ["a"], ["b"]), TypeError, ["reshape(-1, 1)"]),
    (
        "weights",
        lambda: LabelPreferences(X, [0], ["a"], ["b"], weight=[-1]),
        DataError,
        ["negative", "each edge"],
    ),
    ("outcome", lambda: LabelPreferences(X, [0], ["a"], ["b"], [True]), TypeError, ["booleans"]),
    ("nan outcome", lambda: LabelPreferences(X, [0], ["a"], ["b"], [np.nan]), DataError, ["outcome", "not finite"]),
    ("classes", lambda: from_class_labels(X, ["a", "b"]), DataError, ["2 values for 4 items"]),
    ("text for labels", lambda: from_class_labels(X, "abab"), TypeError, ["sequence"]),
    ("new class", lambda: from_class_labels(X, list("abac"), labels=list("ab")), DataError, ['"c"', "row 3"]),
    ("off the scale", lambda: from_ordinal_labels(X, [1, 2, 3, 9], labels=[1, 2, 3]), DataError, ["9", "row 3"]),
    ("not in the tree", lambda: from_label_hierarchy(X, list("abab"), {"a": 1, "c": 1}), DataError, ['"b"']),
    ("no tree", lambda: from_label_hierarchy(X, list("abab"), ["a", "b"]), TypeError, ["map every label"]),
    ("rankings", lambda: from_label_rankings(X, [["a", "b"]]), DataError, ["1 rankings for 4 items"]),
    ("listed twice", lambda: from_label_rankings(X[:1], [["a", "b", "a"]]), DataError, ["ranking 0", '"a"', "once"]),
    ("gap", lambda: from_label_rankings(X[:1], [["a", None]]), DataError, ["ranking 0", "Leave out"]),
    ("text ranking", lambda: from_label_rankings(X[:1], ["a>b"]), TypeError, ["split('>')"]),
    (
        "empty rankings",
        lambda: from_label_rankings(X[:1], [["a"]], labels=["a", "b"]),
        DataError,
        ["compares two labels"],
    ),
    ("pairs", lambda: from_label_rankings(X[:1], [["a", "b"]], pairs="some"), ValueError, ["'all' or 'adjacent'"]),
    ("rank table", lambda: from_label_ranks(X, [[1, 2]]), DataError, ["(1, 2) for 4 items"]),
    ("rank words", lambda: from_label_ranks(X[:1], [["first", "second"]]), TypeError, ["must be numbers"]),
    (
        "rank labels",
        lambda: from_label_ranks(X[:1], [[1, 2]], labels=list("abc")),
        DataError,
        ["3 labels for 2 columns"],
    ),
    ("infinite rank", lambda: from_label_ranks(X[:1], [[1, np.inf]]), DataError, ["infinite", "NaN"]),
    ("swapped", lambda: some().swapped([1, 0]), TypeError, ["5 booleans"]),
]


@pytest.mark.parametrize(("call", "kind", "words"), [case[1:] for case in MISTAKES], ids=[case[0] for case in MISTAKES])
def test_mistakes_are_explained(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
