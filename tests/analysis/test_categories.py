"""One ranking for each value of a column."""

import numpy as np
import pytest
from ranking_data import NAMES, by_utility

from preflearn import Comparisons, rank, rank_by
from preflearn.exceptions import DataError


def _two(seed=0, m=300):
    """Items in one order in one category and in the reverse order in the other, and a small third category."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 5, m)
    second = (first + rng.integers(1, 5, m)) % 5
    kind = np.where(np.arange(m) < 2 * m // 3, "maths", "poems")
    kind[-2:] = "law"
    z = 1.5 * np.where(kind == "poems", first - second, second - first)
    return Comparisons(5, first, second, np.sign(z + rng.logistic(size=m)), names=NAMES[:5]), kind


def test_each_category_is_the_ranking_of_its_rows():
    data, kind = _two()
    found = rank_by(data, kind, circles=False)
    assert list(found.results) == ["maths", "poems", "law"]  # the most comparisons first
    for value, result in found.results.items():
        alone = rank(data[np.flatnonzero(kind == value)], circles=False)
        assert result.to_dict()["item"] == alone.to_dict()["item"]
        assert result.to_dict()["utility"] == alone.to_dict()["utility"]
    table = found.to_dict()
    assert table["item"] == found.overall.to_dict()["item"]
    where = {name: k for k, name in enumerate(table["item"])}
    assert [table["place_maths"][where[name]] for name in NAMES[:5]] == [1, 2, 3, 4, 5]
    assert [table["place_poems"][where[name]] for name in NAMES[:5]] == [5, 4, 3, 2, 1]


def test_a_small_category_says_that_it_is_unsure():
    data, kind = _two()
    found = rank_by(data, kind, circles=False)
    said = dict(zip(found.results, found.sentences(), strict=True))
    assert said["law"].startswith("law: 2 comparisons of ")
    assert "Unsure: no item can be told from the first" in said["law"]
    assert "Unsure" not in said["maths"]
    assert found.categories()["unsure"] == [False, False, True]
    assert found.categories()["comparisons"] == [200, 98, 2]
    some = {row[1]: row[-1] for row in found.listing().rows}
    assert "" in some.values()  # items that the category does not have, have no place there
    assert all(line in str(found) for line in found.sentences())


def test_a_column_of_a_table_and_labels_of_comparisons_say_the_same():
    data, kind = _two(1, 60)
    frame = {
        "left": data.names[data.first].tolist(),
        "right": data.names[data.second].tolist(),
        "winner": ["left" if y > 0 else "right" for y in data.outcome],
        "kind": kind.tolist(),
    }
    one, other = rank_by(frame, "Kind", circles=False), rank_by(data, kind, circles=False)
    assert one.to_dict() == other.to_dict()
    assert not any("Not used" in line for line in one.overall.notes)


def test_what_has_no_categories_is_refused():
    data, _ = by_utility(0, n=5, m=120)
    with pytest.raises(DataError, match='have no "judge"'):
        rank_by(data, "judge")
    with pytest.raises(DataError, match="Give one for each of the 120 comparisons"):
        rank_by(data, ["a"])
    with pytest.raises(DataError, match=r"120 different values.*at most 50"):
        rank_by(data, np.arange(120))
    with pytest.raises(DataError, match="there is no column 'age'"):
        rank_by({"winner": ["a"], "loser": ["b"]}, "age")
