"""Utilities as sums of functions: with all landmarks the exact model, with few of them the Gaussian model of FF'."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

import preflearn
from preflearn import Comparisons, Nystroem, PreferenceGP, RandomFourier
from preflearn.exceptions import DataError
from preflearn.kernels import gram
from preflearn.kernels.functions import Waves
from preflearn.models import _sum_of_terms

KERNEL = ConstantKernel(2.0) * RBF([1.0, 2.0])
APPROXIMATIONS = {
    "random": Nystroem(8, random_state=0),
    "kmeans++": Nystroem(8, method="kmeans++", random_state=0),
    "kmeans": Nystroem(8, method="kmeans", random_state=0),
    "leverage": Nystroem(8, method="leverage", random_state=0),
    "waves": RandomFourier(10, random_state=0),
}


def problem(n=20, m=120, seed=0, covariates=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    extra = rng.normal(size=(m, 2)) * [1.0, 5.0] if covariates else None
    z = np.sin(X[first, 0]) - np.sin(X[second, 0]) + 0.4 + (0.5 * extra[:, 0] if covariates else 0)
    return Comparisons(X, first, second, np.where(z + rng.normal(size=m) > 0, 1.0, -1.0), covariates=extra)


@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("beside", [{}, {"side": True}, {"own_effect": True}, {"own_effect": True, "side": True}])
def test_all_landmarks_are_the_exact_model(inference, beside):
    data = problem(covariates="side" in beside)
    exact = PreferenceGP(KERNEL, inference=inference, hyperparameters="fixed", **beside).fit(data)
    found = clone(exact).set_params(approximation=Nystroem(20)).fit(data)
    assert found.info_.latents == "weights of functions"
    assert found.info_.lost == pytest.approx(0.0, abs=1e-7)
    assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-6)
    new = Comparisons(np.random.default_rng(1).normal(size=(5, 2)), [0, 1, 2], [1, 3, 4])
    for X in (data, new):
        np.testing.assert_allclose(found.predict_proba(X), exact.predict_proba(X), atol=1e-6)
    for name in ("predict_utility", "predict_difference"):
        asked = data if name == "predict_difference" else None
        for one, other in zip(
            getattr(found, name)(asked, return_std=True), getattr(exact, name)(asked, return_std=True), strict=True
        ):
            np.testing.assert_allclose(one, other, atol=1e-5)
    np.testing.assert_allclose(found.preference_matrix().mean, exact.preference_matrix().mean, atol=1e-6)
    np.testing.assert_allclose(found.leave_one_out(), exact.leave_one_out(), atol=1e-5)
    if "side" not in beside:
        left, wanted = found.leave_one_out(by="item"), exact.leave_one_out(by="item")
        np.testing.assert_allclose(left.first, wanted.first, atol=1e-5)
    theta = exact.theta_
    for one, other in zip(found.log_evidence(theta), exact.log_evidence(theta), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    mean, std = exact.predict_utility(return_std=True)
    table = found.rank(n_samples=4000)
    order = [int(name) for name in table.names]
    np.testing.assert_allclose(table.std, relative_std(exact)[order], atol=1e-4)
    draws = found.sample_utilities(n_samples=20_000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=5 * std.max() / np.sqrt(20_000))


def test_many_own_effects_are_solved_for_without_a_matrix_of_them(monkeypatch):
    data = problem(n=40, m=400)
    parts = {"own_effect": True, "side": True, "hyperparameters": "fixed"}
    exact = PreferenceGP(KERNEL, "logit", approximation=Nystroem(12, random_state=0), **parts).fit(data)
    monkeypatch.setattr(PreferenceGP, "_dense", 10)
    model = clone(exact).fit(data)
    assert model._solution.problem.estimated
    np.testing.assert_allclose(model.predict_utility(), exact.predict_utility(), atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(data), exact.predict_proba(data), atol=0.005)
    std, wanted = (one.predict_utility(return_std=True)[1] for one in (model, exact))
    np.testing.assert_allclose(std, wanted, rtol=0.05)
    (value, slope), (other, gradient) = (one.log_evidence() for one in (model, exact))
    assert value == pytest.approx(other, abs=0.3)
    np.testing.assert_allclose(slope, gradient, atol=0.1 * np.abs(gradient).max())
    np.testing.assert_allclose(model.rank().std, exact.rank().std, rtol=0.1)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.predict_proba(data), model.predict_proba(data), atol=1e-12)


def relative_std(model):
    C = model.predict_utility(return_cov=True)[1]
    P = np.eye(len(C)) - 1 / len(C)
    return np.sqrt(np.diagonal(P @ C @ P))


@pytest.mark.parametrize("own_effect", [False, True])
@pytest.mark.parametrize("name", APPROXIMATIONS)
@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_gradients_are_slopes_of_the_evidence(name, inference, own_effect):
    data = problem()
    kernel = KERNEL if name != "waves" else ConstantKernel(2.0) * Matern([1.0, 2.0], nu=1.5)
    model = PreferenceGP(
        kernel,
        "logit",
        inference,
        hyperparameters="fixed",
        side=True,
        own_effect=own_effect,
        approximation=APPROXIMATIONS[name],
    ).fit(data)
    theta = model.theta_
    gradient = model.log_evidence(theta, gradient=True)[1]
    h, slope = 1e-4, []
    for i in range(theta.shape[0]):
        step = np.eye(theta.shape[0])[i] * h
        values = [model.log_evidence(theta + k * step)[0] for k in (-2, -1, 1, 2)]
        slope.append((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h))
    np.testing.assert_allclose(gradient, slope, rtol=1e-7, atol=1e-7 * np.abs(gradient).max())


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_few_functions_are_the_gaussian_model_of_their_products(name):
    data = problem(covariates=False)
    functions = APPROXIMATIONS[name].functions(KERNEL, data.items)
    F = functions.values(KERNEL, data.items)
    found = PreferenceGP(KERNEL, hyperparameters="fixed", approximation=APPROXIMATIONS[name]).fit(data)
    assert found.info_.lost == pytest.approx(1 - np.trace(F @ F.T) / np.trace(gram(KERNEL, data.items)), abs=1e-12)
    exact = PreferenceGP("precomputed", hyperparameters="fixed")
    exact = (
        clone(exact)
        .set_params(kernel=preflearn.kernels.Precomputed())
        .fit(Comparisons(F @ F.T + 1e-11 * np.eye(len(F)), data.first, data.second, data.outcome))
    )
    assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(found.predict_utility(), exact.predict_utility(), atol=1e-6)


@pytest.mark.parametrize("own_effect", [False, True])
@pytest.mark.parametrize("name", ["random", "waves"])
def test_files_pickles_and_updates_answer_the_same(name, own_effect, tmp_path):
    data = problem()
    model = PreferenceGP("ard", side=True, own_effect=own_effect, approximation=APPROXIMATIONS[name], n_restarts=0).fit(
        data
    )
    preflearn.save(model, tmp_path / "model")
    for again in (preflearn.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(again.predict_proba(data), model.predict_proba(data), atol=1e-9)
        np.testing.assert_allclose(again.predict_utility(), model.predict_utility(), atol=1e-9)
    parts = clone(model).fit(data[:80], start=None)
    functions = parts._choice.weighted
    parts.update(data[80:])
    assert parts._choice.weighted is functions or isinstance(functions, Waves)
    assert len(parts.comparisons_) == len(data)


def test_what_an_approximation_does_not_go_with():
    with pytest.raises(DataError, match="cyclic_kernel is given, too"):
        PreferenceGP(approximation=Nystroem(5), cyclic_kernel="rbf").fit(problem())


def test_an_approximation_needs_features():
    with pytest.raises(DataError, match="items have none"):
        PreferenceGP(approximation=Nystroem(5)).fit(Comparisons(None, ["a", "b"], ["b", "c"]))


@pytest.mark.parametrize("own_effect", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_nothing_is_as_large_as_the_square_of_the_items(own_effect):
    import tracemalloc

    rng = np.random.default_rng(0)
    n, m = 6_000, 12_000
    X = rng.normal(size=(n, 3))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    data = Comparisons(X, first, second, np.where(X[first, 0] > X[second, 0], 1.0, -1.0))
    tracemalloc.start()
    try:
        model = PreferenceGP(
            KERNEL.k1 * RBF(1.0), own_effect=own_effect, approximation=Nystroem(20, random_state=0), n_restarts=0
        ).fit(data)
        model.predict_proba(data)
        model.rank()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * n * n / 3
    assert model.score(data) > 0.9


class _Few(Nystroem):
    def functions(self, kernel, X):
        return super().functions(kernel, X).few(6)


@pytest.mark.parametrize("own_effect", [False, True])
def test_a_search_by_many_functions_begins_with_few(own_effect, monkeypatch):
    data = problem(n=60, m=600)
    model = PreferenceGP(
        "ard", "logit", own_effect=own_effect, approximation=Nystroem(24, random_state=0), n_restarts=0
    ).fit(data)
    monkeypatch.setattr("preflearn.models._sum_of_terms.MANY_IN_WEIGHTS", 50)
    monkeypatch.setattr("preflearn.models._sum_of_terms.FEWEST_FUNCTIONS", 6)
    started = []
    steps = _sum_of_terms.search_by_gradients
    monkeypatch.setattr(
        _sum_of_terms,
        "search_by_gradients",
        lambda e, first, **more: started.append(first.points) or steps(e, first, **more),
    )
    rough = clone(model).fit(data)
    ((start,),) = started
    few = clone(model).set_params(approximation=_Few(24, random_state=0)).fit(data)
    np.testing.assert_allclose(start, few.theta_, atol=0.05)
    assert rough.log_evidence_ == pytest.approx(model.log_evidence_, abs=0.05)
    assert rough.optima_[0].evaluations < model.optima_[0].evaluations / 2
    assert rough.optima_[0].converged
    assert rough._choice.weighted.size == 24
