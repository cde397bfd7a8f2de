"""Sums of functions beside terms of judges and clusters: with all landmarks the exact model, with few a smooth one."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from fast_share import slow_except
from preflearn import Comparisons, Nystroem, PreferenceGP
from preflearn.data import ItemTable
from preflearn.exceptions import DataError

pytestmark = pytest.mark.filterwarnings("ignore:.*repeat an earlier one exactly:preflearn.exceptions.DataWarning")

KERNEL = ConstantKernel(1.5) * RBF(1.0)
BESIDE = {
    "side of judges": {"side": "judge", "covariates": False},
    "clusters": {"cluster": True, "covariates": False},
    "clusters, a side and covariates": {"cluster": True, "side": True},
    "tastes": {"judge_kernel": "identity", "covariates": False},
    "tastes and covariates": {"judge_kernel": "identity"},
    "tastes and clusters": {"judge_kernel": "identity", "cluster": True, "covariates": False},
    "tastes by features": {"judge_kernel": ConstantKernel(0.5) * RBF(2.0), "covariates": False},
    "reliabilities": {"judge_reliability": True, "covariates": False},
    "reliabilities and clusters": {"judge_reliability": True, "cluster": True},
    "all": {"side": "judge", "cluster": True, "judge_kernel": "identity"},
}


def problem(seed=0, n=7, m=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    judge = np.array([f"j{k}" for k in rng.integers(0, 5, m)], dtype=object)
    cluster = np.array([f"c{k}" for k in rng.integers(0, 12, m)], dtype=object)
    covariates = rng.normal(size=(m, 2)) * [1.0, 5.0]
    z = X[first, 0] - X[second, 0] + 0.4 + 0.5 * covariates[:, 0]
    outcome = np.where(z + rng.logistic(size=m) > 0, 1.0, -1.0)
    names = np.array([f"j{k}" for k in range(5)], dtype=object)
    judges = ItemTable(rng.normal(size=(5, 2)), names, None, 5)
    return Comparisons(X, first, second, outcome, judge=judge, cluster=cluster, covariates=covariates, judges=judges)


@pytest.mark.parametrize("own_effect", [False, True])
@pytest.mark.parametrize("inference", ["laplace", pytest.param("ep", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", slow_except(BESIDE, "clusters", "tastes", "side of judges"))
def test_all_landmarks_are_the_exact_model(name, inference, own_effect):
    data = problem()
    parts = {"hyperparameters": "fixed", "own_effect": own_effect, **BESIDE[name]}
    exact = PreferenceGP(KERNEL, "logit", inference, **parts).fit(data)
    found = clone(exact).set_params(approximation=Nystroem(7)).fit(data)
    theta = exact.theta_ + np.random.default_rng(0).normal(0, 0.2, len(exact.theta_))
    for one, other in zip(found.log_evidence(theta), exact.log_evidence(theta), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
    new = Comparisons(np.random.default_rng(1).normal(size=(5, 2)), [0, 1, 2], [1, 3, 4])
    for X in (data, new):
        np.testing.assert_allclose(found.predict_proba(X), exact.predict_proba(X), atol=1e-8)
    answers = (model.predict_utility(return_std=True) for model in (found, exact))
    for one, other in zip(*answers, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
    np.testing.assert_allclose(found.leave_one_out(), exact.leave_one_out(), atol=1e-8)
    left, wanted = (model.leave_one_out(by="item") for model in (found, exact))
    np.testing.assert_allclose(left.first, wanted.first, atol=1e-8)
    np.testing.assert_allclose(found.preference_matrix().mean, exact.preference_matrix().mean, atol=1e-8)
    np.testing.assert_allclose(found.rank().std, exact.rank().std, atol=1e-8)


@pytest.mark.parametrize("inference", ["laplace", pytest.param("ep", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", slow_except(BESIDE, "clusters", "tastes and covariates"))
def test_gradients_are_slopes_of_the_evidence(name, inference):
    model = PreferenceGP(
        KERNEL,
        "logit",
        inference,
        hyperparameters="fixed",
        approximation=Nystroem(4, random_state=0),
        **BESIDE[name],
    ).fit(problem())
    rng = np.random.default_rng(0)
    theta = model.theta_ + rng.normal(0, 0.2, len(model.theta_))
    slope, h = model.log_evidence(theta)[1], 1e-3
    for k in range(len(theta)):
        value = [model.log_evidence(theta + j * h * np.eye(len(theta))[k], gradient=False) for j in (-2, -1, 1, 2)]
        wanted = (value[0] - 8 * value[1] + 8 * value[2] - value[3]) / (12 * h)
        assert slope[k] == pytest.approx(wanted, rel=1e-8, abs=1e-8), model.theta_names_[k]


@pytest.mark.slow
@pytest.mark.parametrize("beside", [{"cluster": True}, {"judge_kernel": "identity"}], ids=["clusters", "tastes"])
def test_nothing_is_as_large_as_the_square_of_the_items(beside):
    rng = np.random.default_rng(0)
    n, m = 6_000, 12_000
    X = rng.normal(size=(n, 3))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    outcome = np.where(X[first, 0] > X[second, 0], 1.0, -1.0)
    who = np.array([f"{k // 10}" for k in range(m)], dtype=object)
    data = Comparisons(X, first, second, outcome, judge=who, cluster=who)
    model = PreferenceGP(
        KERNEL, approximation=Nystroem(20, random_state=0), inference="laplace", hyperparameters="fixed", **beside
    )
    tracemalloc.start()
    try:
        model.fit(data).log_evidence()
        model.predict_proba(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * n * n / 2
    assert model.score(data) > 0.9


def test_what_would_take_a_matrix_of_many_items_is_refused(monkeypatch):
    data = problem()
    monkeypatch.setattr("preflearn.models._sum_of_terms.DENSE", 5)
    for beside in (
        {"own_effect": True, "cluster": True},
        {"judge_kernel": "identity", "cluster": True},
        {"judge_kernel": ConstantKernel(0.5) * RBF(2.0)},
    ):
        with pytest.raises(DataError, match="7 x 7"), warnings.catch_warnings():
            PreferenceGP(approximation=Nystroem(5), **beside).fit(data)
    PreferenceGP(KERNEL, approximation=Nystroem(5), cluster=True, hyperparameters="fixed").fit(data)


@pytest.mark.parametrize("own_effect", [False, True])
def test_many_rows_are_asked_a_part_at_a_time(own_effect, monkeypatch):
    data = problem()
    model = PreferenceGP(KERNEL, approximation=Nystroem(4, random_state=0), own_effect=own_effect, n_restarts=0)
    wanted = model.fit(data).predict_proba(data)
    monkeypatch.setattr("preflearn.models._utility_answers.BLOCK", 40)
    sizes = []
    query = type(model._solution.problem).query
    monkeypatch.setattr(
        type(model._solution.problem),
        "query",
        lambda self, rows, **more: sizes.append(len(rows)) or query(self, rows, **more),
    )
    np.testing.assert_allclose(model.predict_proba(data), wanted, atol=1e-14)
    assert max(sizes) <= 10
