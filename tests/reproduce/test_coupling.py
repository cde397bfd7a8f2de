"""Pairwise coupling: against the paper's objective, exact where probabilities agree, whatever classes are called."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

from fast_share import every_seed
from preflearn.reproduce.papers.coupling import PairwiseCoupling, couple, tuned_coupling


def square(between, n):
    r = np.zeros((n, n))
    a, b = np.triu_indices(n, 1)
    r[a, b], r[b, a] = between, 1 - between
    return r


@every_seed(3, 20)
def test_coupled_probabilities_are_closest_to_those_between_pairs(seed):
    rng = np.random.default_rng(seed)
    n = 4
    between = rng.uniform(0.02, 0.98, (3, n * (n - 1) // 2))
    for row, found in zip(between, couple(between, n), strict=True):
        r = square(row, n)

        def loss(p, r=r):
            return np.sum((r.T * p[:, None] - r * p[None, :]) ** 2)

        best = minimize(
            loss, np.full(n, 1 / n), bounds=[(0, 1)] * n, constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-14},
        )  # fmt: skip
        np.testing.assert_allclose(found, best.x, atol=1e-5)
        assert loss(found) <= loss(best.x) + 1e-12


def test_probabilities_that_agree_are_found_again_and_names_do_not_matter():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(5), 6)
    a, b = np.triu_indices(5, 1)
    np.testing.assert_allclose(couple(p[:, a] / (p[:, a] + p[:, b]), 5), p, atol=1e-12)
    np.testing.assert_allclose(couple(np.array([[0.3], [0.0]]), 2), [[0.3, 0.7], [0.0, 1.0]], atol=1e-12)
    y = rng.integers(0, 3, 90)
    X = np.column_stack([np.cos(2 * y), np.sin(2 * y)]) + 0.7 * rng.normal(size=(90, 2))
    one = PairwiseCoupling().fit(X, y).predict_proba(X)
    other = PairwiseCoupling().fit(X, np.array(["c", "b", "a"])[y]).predict_proba(X)
    np.testing.assert_allclose(other[:, ::-1], one, atol=0.01)  # folds are dealt out class by class
    np.testing.assert_allclose(one.sum(axis=1), 1)
    assert np.mean(PairwiseCoupling().fit(X, y).predict(X) == y) > 0.7


def test_sigmoids_are_platts():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + 0.7 * rng.normal(size=60) > 0).astype(int)
    model = PairwiseCoupling(cv=3).fit(X, y)
    d = -cross_val_predict(SVC(C=1.0, gamma=1.0), X, y, cv=3, method="decision_function")
    n = np.array([(y == 0).sum(), (y == 1).sum()])
    target = np.where(y == 0, (n[0] + 1) / (n[0] + 2), 1 / (n[1] + 2))

    def loss(theta):
        z = theta[0] * d + theta[1]
        return np.sum(np.logaddexp(0, -z) * target + np.logaddexp(0, z) * (1 - target))

    best = minimize(loss, [1.0, 0.0])
    np.testing.assert_allclose([model.slope_[0], model.offset_[0]], best.x, atol=2e-3)
    assert model.predict_proba(X)[y == 0, 0].mean() > 0.5
    assert model.score(X, y) > 0.7


def test_settings_are_chosen_and_small_classes_are_enough():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    y = np.where(np.arange(40) < 3, 2, (X[:, 0] > 0).astype(int))
    model = tuned_coupling(X, y, {"log2_C": [-2, 7, 2], "log2_gamma": [-6, 1, 2]}, 0)
    assert model.cv == 3
    assert model.score(X, y) > 0.7
    assert model.score(X, y) >= LogisticRegression(C=1e-6).fit(X, y).score(X, y)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore")
def test_a_set_is_learned_as_well_as_the_paper_prints(data_dir):
    from preflearn.reproduce import Case
    from preflearn.reproduce.papers.labels import COUPLING

    run = next(run for run in COUPLING if run.settings["set"] == "Segment")
    settings = {**run.settings, "svm": {"log2_C": [5, 10, 2], "log2_gamma": [-3, 0, 2]}}
    (found,) = run.trial(Case(0, 0, settings, data_dir / "multiclass"))
    assert found["PW label"] < 10
