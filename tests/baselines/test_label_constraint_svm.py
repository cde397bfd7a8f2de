"""Constraint classification of labels: the machine is the optimum, labels and edges mean what they say."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV

from preflearn.baselines import LabelConstraintSVM
from preflearn.data import Bags, LabelPreferences, from_class_labels
from preflearn.datasets import make_label_rankings
from preflearn.exceptions import DataError


def edges(rng, n=12, m=30, n_labels=3):
    X = rng.normal(size=(n, 2))
    first = rng.integers(0, n_labels, m)
    second = (first + rng.integers(1, n_labels, m)) % n_labels
    return X, rng.integers(0, n, m), first, second, rng.choice([-1.0, 1.0], m), rng.uniform(0.5, 2, m)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_optimum_of_keslers_machine(seed):
    """The dual of the mirrored problem, solved by bounded quasi-Newton steps on explicit inner products."""
    X, item, first, second, outcome, weight = edges(np.random.default_rng(seed))
    C, kernel = 0.7, RBF(1.3)
    model = LabelConstraintSVM(kernel, C, tol=1e-8, max_iter=1_000_000)
    model.fit(LabelPreferences(X, item, first, second, outcome, weight=weight))
    better, worse = np.where(outcome > 0, first, second), np.where(outcome > 0, second, first)
    same = np.equal.outer
    signs = same(better, better) * 1.0 - same(better, worse) - same(worse, better) + same(worse, worse)
    D = kernel(X)[np.ix_(item, item)] * signs
    found = minimize(
        lambda b: (b @ D @ b / 2 - b.sum(), D @ b - 1),
        np.zeros(len(item)),
        jac=True,
        bounds=[(0, 2 * C * w) for w in weight],
        options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10_000},
    )
    new = np.random.default_rng(9).normal(size=(5, 2))
    K = kernel(new, X)[:, item] * found.x
    utility = np.stack([K @ (1.0 * (better == a) - (worse == a)) for a in range(3)], axis=1)
    np.testing.assert_allclose(model.predict_utility(new), utility, atol=2e-4)


def test_turned_edges_and_edges_listed_twice_change_nothing():
    X, item, first, second, outcome, _ = edges(np.random.default_rng(5))
    exact = {"C": 0.5, "tol": 1e-10, "max_iter": 1_000_000}
    plain = LabelConstraintSVM(**exact).fit(LabelPreferences(X, item, first, second, outcome)).predict_utility(X)
    turned = LabelPreferences(X, item, second, first, -outcome)
    np.testing.assert_allclose(LabelConstraintSVM(**exact).fit(turned).predict_utility(X), plain, atol=1e-6)
    twice = LabelPreferences(X, *(np.tile(column, 2) for column in (item, first, second, outcome)))
    heavy = LabelPreferences(X, item, first, second, outcome, weight=np.full(len(item), 2.0))
    one, other = (LabelConstraintSVM(**exact).fit(data).predict_utility(X) for data in (twice, heavy))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_edges_of_weight_zero_are_left_out():
    X, item, first, second, outcome, weight = edges(np.random.default_rng(6))
    weight[::3] = 0
    kept = weight > 0
    some = LabelPreferences(
        X, item[kept], first[kept], second[kept], outcome[kept], weight=weight[kept], labels=[0, 1, 2]
    )
    outcome[::3] = 0  # a tie that does not count
    whole = LabelPreferences(X, item, first, second, outcome, weight=weight, labels=[0, 1, 2])
    one, other = (LabelConstraintSVM(tol=1e-10).fit(data).predict_utility(X) for data in (some, whole))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_items_without_edges_and_one_edge_alone():
    X = np.array([[0.0], [1.0], [9.0]])
    one = LabelPreferences(X, [1], ["b"], ["a"])
    model = LabelConstraintSVM("linear", 100.0, tol=1e-10).fit(one)
    assert model.dual_coef_.shape == (1, 2)
    np.testing.assert_allclose(model.predict_utility([[1.0]]), [[-0.5, 0.5]], atol=1e-6)  # a margin of 1
    assert model.predict([[2.0]]).tolist() == [["b", "a"]]
    assert model.score(one) == 1.0


def test_it_learns_classes_and_rankings_and_is_tuned_by_a_grid():
    data = make_label_rankings(4, random_state=0)
    model = GridSearchCV(LabelConstraintSVM("linear"), {"C": [0.1, 1.0, 10.0]}, cv=3).fit(data.train)
    assert model.score(data.test) > 0.85
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "right", "left")
    classes = LabelConstraintSVM(C=10.0).fit(X, y)
    assert classes.score(X, y) > 0.95
    assert classes.score(from_class_labels(X, y)) == classes.score(X, y), "two labels have one edge"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (LabelPreferences([[0.0], [1.0]], [0, 1], ["a", "a"], ["b", "b"], [1, 0]), "1 of 2 edges are ties"),
        (
            LabelPreferences([[0.0], [1.0]], [0, 1], ["a", "a"], ["b", "b"], weight=[0, 1])[0],
            "all 1 edges have weight 0",
        ),
        (LabelPreferences(Bags([np.zeros((2, 1))]), [0], ["a"], ["b"]), "items are Bags"),
    ],
)
def test_what_it_cannot_learn_from_is_refused(data, words):
    with pytest.raises(DataError, match=words):
        LabelConstraintSVM().fit(data)


def test_too_few_passes_are_said():
    X, item, first, second, outcome, _ = edges(np.random.default_rng(1))
    with pytest.warns(ConvergenceWarning, match="max_iter=1 passes"):
        LabelConstraintSVM(C=1000.0, max_iter=1).fit(LabelPreferences(X, item, first, second, outcome))


def test_one_edge_is_priced_like_one_of_many():
    one = LabelPreferences([[0.0]], [0], ["a"], ["b"], weight=[1.5])
    # w = β δ with δ'δ = 2: β = 1/2 would do, and 2 C w is what may be paid
    model = LabelConstraintSVM(RBF(), C=0.1, tol=1e-10).fit(one)
    np.testing.assert_allclose(model.predict_utility([[0.0]]), [[0.3, -0.3]], atol=1e-6)
