"""What items answer does not depend on what they are made of."""

import ast
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from preflearn import Bags
from preflearn.items import ItemSet, as_items

SRC = Path(__file__).resolve().parents[2] / "src" / "preflearn"
TABLE = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 2.0], [-1.0, 3.0]])
KINDS = {"dense": lambda X: X, "sparse": sp.csr_array, "bags of one point": lambda X: Bags(X[:, None, :])}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def made(request):
    return request.param


def test_a_bag_of_one_point_answers_as_its_row(made):
    items, weight = as_items(made(TABLE)), np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(items.distinct(), [1, 2, 1, 0])
    np.testing.assert_array_equal(items.point_weights(weight), weight)
    np.testing.assert_array_equal(items.average(weight[:, None]), weight[:, None])
    np.testing.assert_array_equal(sp.csr_array(items.means()).toarray(), TABLE)
    np.testing.assert_array_equal(sp.csr_array(items.points).toarray(), TABLE)
    keys = items.keys()
    assert [keys.index(key) for key in keys] == [0, 1, 0, 3]


def test_equal_items_are_equal_and_others_are_not(made):
    items = as_items(made(TABLE))
    assert items.equal(made(TABLE))
    assert not items.equal(made(TABLE[:, ::-1].copy()))
    assert not items.equal(made(TABLE[:2]))
    assert not items.all_equal()
    assert as_items(made(TABLE[[0, 2]])).all_equal()


def test_joined_items_are_those_of_both(made):
    both = as_items(made(TABLE[:1])).joined(made(TABLE[1:]))
    assert as_items(both).equal(made(TABLE))


def test_items_with_other_points_keep_their_kind(made):
    items = as_items(made(TABLE))
    doubled = items.with_points(2 * sp.csr_array(items.points).toarray(), "test")
    assert as_items(doubled).one_row_each == items.one_row_each
    np.testing.assert_array_equal(as_items(doubled).means(), 2 * TABLE)


def test_dense_and_sparse_rows_are_one_kind_and_bags_another():
    dense, sparse, bags = (make(TABLE) for make in KINDS.values())
    assert as_items(dense).equal(sparse)
    assert as_items(sparse).equal(dense)
    assert not as_items(bags).equal(dense)
    assert not as_items(dense).equal(bags)


def test_items_that_answer_themselves_are_not_wrapped():
    bags = Bags(TABLE[:, None, :])
    assert as_items(bags) is bags
    assert type(as_items(TABLE)) is ItemSet
    assert as_items(None).one_row_each  # items without features are no samples of points


def test_bags_share_weights_and_average_over_their_points():
    bags = Bags([TABLE[:3], TABLE[3:]])
    np.testing.assert_allclose(bags.point_weights(np.array([3.0, 5.0])), [1.0, 1.0, 1.0, 5.0])
    np.testing.assert_allclose(bags.average(np.array([[1.0], [2.0], [6.0], [7.0]])), [[3.0], [7.0]])


def test_nobody_asks_whether_items_are_bags():
    askers = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                asked = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
                if asked & {"Bags", ItemSet.__name__}:
                    askers.add(str(path.relative_to(SRC)))
    assert askers <= {"items.py", "data/bags.py"}
