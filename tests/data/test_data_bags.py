"""Items that are bags of points: what goes in comes out, selected, named and joined as tables are."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import train_test_split

from preflearn import Bags, Comparisons, Ratings
from preflearn.data import LabelPreferences
from preflearn.data.join import concatenate
from preflearn.exceptions import DataError

ARRAYS = [np.arange(6.0).reshape(3, 2), np.array([[9.0, 8.0]]), np.array([[1.0, 1.0], [-1.0, 3.0]])]
NAMES = ["ann", "bob", "cy"]


@pytest.fixture
def bags():
    return Bags(ARRAYS, names=NAMES, feature_names=["height", "width"])


def same(bags, arrays):
    assert len(bags) == len(arrays)
    for found, wanted in zip(bags.to_list(), arrays, strict=True):
        np.testing.assert_array_equal(found, wanted)
    return True


def test_points_are_kept_bag_after_bag(bags):
    assert same(bags, ARRAYS)
    assert bags.shape == (3, 2)
    assert bags.n_points == 6
    assert bags.points.dtype == np.float64
    np.testing.assert_array_equal(bags.sizes, [3, 1, 2])
    np.testing.assert_array_equal(bags.offsets, [0, 3, 4, 6])
    np.testing.assert_allclose(bags.means(), [array.mean(axis=0) for array in ARRAYS])
    assert repr(bags) == "Bags(3 items of 1 to 3 points with 2 features, named)"
    assert repr(Bags(ARRAYS[:1])) == "Bags(1 items of 3 points with 2 features)"


def test_a_table_of_many_points_is_its_own_bags():
    assert Bags(np.zeros((4, 3, 2))).shape == (4, 2)
    assert Bags(array for array in ARRAYS).shape == (3, 2)


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [(1, [1]), (-1, [2]), ([2, 0, 2], [2, 0, 2]), (slice(1, None), [1, 2]), ([True, False, True], [0, 2]), ([], [])],
)
def test_selecting_items_selects_their_points_and_names(bags, rows, wanted):
    chosen = bags[rows]
    assert same(chosen, [ARRAYS[row] for row in wanted])
    assert chosen.names.tolist() == [NAMES[row] for row in wanted]
    assert chosen.means().shape == (len(wanted), 2)


def test_selecting_columns(bags):
    turned = bags[:, [1, 0]]
    assert same(turned, [array[:, ::-1] for array in ARRAYS])
    assert turned.feature_names == ("width", "height")
    assert same(bags[[1], [0]], [[[9.0]]])


def test_bags_cannot_be_changed(bags):
    with pytest.raises(AttributeError, match="frozen"):
        bags.points = np.zeros((6, 2))
    for again in (bags, bags[:2], pickle.loads(pickle.dumps(bags)), copy.deepcopy(bags)):
        with pytest.raises(ValueError, match="read-only"):
            again.points[0, 0] = 1.0
    given = ARRAYS[0].copy()
    built = Bags([given])
    given[0] = 99.0
    assert same(built, ARRAYS[:1])


def test_pickles_are_the_same_bags(bags):
    again = pickle.loads(pickle.dumps(bags))
    assert same(again, ARRAYS)
    assert again.names.tolist() == NAMES
    assert again.feature_names == ("height", "width")


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_long_table_with_scattered_rows_has_items_in_order_of_appearance(library):
    frame = library({"w": [1.0, 2.0, 3.0, 4.0], "photo": ["sea", "hill", "sea", "sea"], "h": [5, 6, 7, 8]})
    bags = Bags.from_table(frame, item="photo")
    assert bags.names.tolist() == ["sea", "hill"]
    assert bags.feature_names == ("w", "h")
    assert same(bags, [[[1.0, 5.0], [3.0, 7.0], [4.0, 8.0]], [[2.0, 6.0]]])
    assert Bags.from_table(frame, "photo", features=["h"]).feature_names == ("h",)


def test_a_feature_called_id_is_a_feature():
    frame = pd.DataFrame({"player": [3, 1, 3], "id": [1, 2, 3], "x": [0.5, 0.5, 0.5]})
    bags = Bags.from_table(frame, item="player")
    assert bags.feature_names == ("id", "x")
    assert bags.names.tolist() == [3, 1]


def test_comparisons_take_bags_as_a_table(bags):
    data = Comparisons(bags, ["ann", "cy"], ["bob", "ann"])
    assert (data.n_items, data.n_features, data.feature_names) == (3, 2, ("height", "width"))
    assert data.names.tolist() == NAMES
    assert same(data.items, ARRAYS)
    assert data[1].items is data.items
    assert same(pickle.loads(pickle.dumps(data)).items, ARRAYS)
    assert Comparisons(bags, [0], [1], names=["x", "y", "z"]).names.tolist() == ["x", "y", "z"]
    assert data.with_items(bags.means()).items.shape == (3, 2)
    assert same(Comparisons(bags.means(), [0], [1]).with_items(bags).items, ARRAYS)
    with pytest.raises(DataError, match="2 rows; these comparisons are of 3"):
        data.with_items(bags[:2])
    train, test = train_test_split(data, test_size=1, random_state=0)
    assert len(train) == len(test) == 1


def test_rows_of_ratings_carry_their_bags(bags):
    ratings = Ratings(bags, [1.0, 2.0, 3.0])
    assert same(ratings[[2, 0]].items, [ARRAYS[2], ARRAYS[0]])
    assert ratings[[2, 0]].names.tolist() == ["cy", "ann"]
    assert same(ratings.to_comparisons(random_state=0).items, ARRAYS)
    labels = LabelPreferences(bags, ["ann", "bob"], ["yes", "no"], ["no", "yes"])
    assert same(labels[1:].items, ARRAYS[1:])


def test_joined_comparisons_match_bags_by_name_and_keep_new_ones(bags):
    old = Comparisons(bags[:2], ["ann"], ["bob"])
    turned = Bags([ARRAYS[2], ARRAYS[0][::-1]], names=["cy", "ann"], feature_names=["height", "width"])
    both = concatenate(old, Comparisons(turned, ["cy"], ["ann"]))
    assert both.names.tolist() == NAMES
    assert same(both.items, ARRAYS)
    changed = Bags([ARRAYS[2], ARRAYS[1]], names=["cy", "ann"])
    with pytest.raises(DataError, match="1 items have other features than before"):
        concatenate(old, Comparisons(changed, ["cy"], ["ann"]))
    other = Bags([ARRAYS[0][:, ::-1], ARRAYS[2][:, ::-1]], names=["ann", "dee"], feature_names=["width", "height"])
    assert same(concatenate(old, Comparisons(other, ["ann"], ["dee"])).items, ARRAYS)
    with pytest.raises(DataError, match="Give Bags to both or to neither"):
        concatenate(old, Comparisons(bags.means(), [0], [1], names=NAMES))


def test_without_names_the_same_bags_are_the_same_items():
    old = Comparisons(Bags(ARRAYS), [0], [1])
    again = Bags([array[::-1] for array in ARRAYS])
    assert concatenate(old, Comparisons(again, [1], [2])).n_items == 3
    assert concatenate(old, Comparisons(Bags(ARRAYS[:2]), [0], [1])).n_items == 5


def test_bags_are_known_by_their_distribution():
    key = Bags([ARRAYS[0]]).keys()[0]
    assert key == Bags([ARRAYS[0][[2, 0, 1]]]).keys()[0]
    assert key == Bags([np.repeat(ARRAYS[0], 2, axis=0)]).keys()[0]
    assert key != Bags([ARRAYS[0][[0, 0, 1, 2]]]).keys()[0]
    assert Bags([[[0.0]]]).keys() == Bags([[[-0.0]]]).keys()
    assert Bags([[[1.0, 2.0]]]).keys() != Bags([[[1.0], [2.0]]]).keys()


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_columns_of_frames_are_matched_by_name(library):
    one, other = library({"u": [1.0, 2.0], "v": [10, 20]}), library({"v": [30], "u": [3.0]})
    bags = Bags([one, other])
    assert bags.feature_names == ("u", "v")
    assert same(bags, [[[1.0, 10.0], [2.0, 20.0]], [[3.0, 30.0]]])
    turned = Bags([one, other], feature_names=["v", "u"])
    assert turned.feature_names == ("v", "u")
    assert same(turned, [[[10.0, 1.0], [20.0, 2.0]], [[30.0, 3.0]]])
    renamed = Bags([one, other, np.array([[4.0, 40.0]])], feature_names=["height", "width"])
    assert renamed.feature_names == ("height", "width")
    assert same(renamed, [[[1.0, 10.0], [2.0, 20.0]], [[3.0, 30.0]], [[4.0, 40.0]]])
