"""Many predictions at once take one triangular product each; they are what two triangular solves give."""

import warnings

import numpy as np
import pytest
from hostile_problems import problem
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import Comparisons, PreferenceGP
from preflearn.inference.contract import Curve
from preflearn.inference.dense import DenseCurve
from preflearn.inference.problem import Problem
from preflearn.likelihoods import Flipped, Probit
from preflearn.models import _utility_answers
from preflearn.terms import Items, Rows


def comparisons(rng, n=30, m=150):
    X = rng.normal(size=(n, 2))
    low, high = np.triu_indices(n, 1)
    chosen = rng.choice(len(low), m, replace=False)
    first, second = low[chosen], high[chosen]
    return Comparisons(X, first, second, np.where(X[first, 0] + rng.normal(size=m) > X[second, 0], 1, -1))


def both(model, X):
    """Return moments of new items by one product and by two solves."""
    solution = model._solution
    new = Items(X, model.n_items_ + np.arange(len(X)))
    posterior, query = solution.posterior, solution.problem.query(Rows.of_items(new, "nothing")).combined()
    curve, u = posterior.curve, posterior.u
    return curve._moments_of_many(u, posterior.g, query), Curve.moments(curve, u, posterior.g, query)


@pytest.mark.parametrize("likelihood", [Probit(), Flipped(Probit(), 0.1)])
def test_one_product_is_two_solves(likelihood, monkeypatch):
    rng = np.random.default_rng(0)
    model = PreferenceGP(ConstantKernel(2.0) * RBF(1.0), likelihood, "ep", hyperparameters="fixed", random_state=0).fit(
        comparisons(rng)
    )
    if isinstance(likelihood, Probit):
        # no second computation: the numbers below are the product's own
        monkeypatch.setattr(DenseCurve, "_moments_of_many", without_solves)
    (mean, variance), (mean_slow, variance_slow) = both(model, rng.normal(size=(200, 2)))
    np.testing.assert_allclose(mean, mean_slow, rtol=0, atol=1e-11)
    np.testing.assert_allclose(variance, variance_slow, rtol=1e-10)


def without_solves(self, u, g, query):
    explained, error = self._explained(query.shared)
    assert np.all(error <= 1e-9)
    return query.shared @ self.system.design.back(g), query.prior - explained


@pytest.mark.slow
def test_hostile_problems_fall_back_on_the_solves():
    fell_back = []
    for seed in range(60):
        data, kernel, likelihood, name = problem(seed, False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = PreferenceGP(kernel, likelihood, "laplace", n_restarts=0, random_state=0).fit(data)
        if data.items is None or model._choice.kind != "items":
            continue
        (mean, variance), (mean_slow, variance_slow) = both(model, np.concatenate([data.items, data.items * 1.1]))
        np.testing.assert_allclose(variance, variance_slow, rtol=1e-6, atol=1e-300, err_msg=name)
        largest = np.abs(mean_slow).max() + np.sqrt(variance_slow.max())
        np.testing.assert_allclose(mean, mean_slow, rtol=0, atol=1e-6 * largest, err_msg=name)
        fell_back.append(np.mean(variance == variance_slow))
    assert min(fell_back) == 0.0
    assert max(fell_back) == 1.0


def test_predictions_of_many_pairs_are_those_of_a_few_at_a_time():
    rng = np.random.default_rng(1)
    model = PreferenceGP(ConstantKernel(2.0) * RBF(1.0), hyperparameters="fixed").fit(comparisons(rng))
    X = rng.normal(size=(400, 2))
    pairs = Comparisons(X, np.arange(200), 200 + np.arange(200), np.ones(200))
    together = model.predict_proba(pairs)
    parts = np.concatenate([model.predict_proba(pairs[start : start + 20]) for start in range(0, 200, 20)])
    assert "_explaining" in vars(model._solution.posterior.curve)
    np.testing.assert_allclose(together, parts, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(together, model.predict_proba(pairs.swapped())[:, ::-1])


@pytest.mark.parametrize("circles", [False, True])
def test_pairs_in_parts_are_pairs_at_once(circles, monkeypatch):
    """Items are whitened once however many pairs ask about them; only pairs with latents of their own come in parts."""
    rng = np.random.default_rng(1)
    data = comparisons(rng)
    kernel = ConstantKernel(1.0) * RBF(1.0)
    model = PreferenceGP(
        kernel, own_effect=True, cyclic_kernel=kernel if circles else None, hyperparameters="fixed", random_state=0
    ).fit(data)
    whole = model.predict_difference(data, return_std=True)
    asked = []
    query = Problem.query
    monkeypatch.setattr(
        Problem, "query", lambda self, rows, **more: asked.append(len(rows)) or query(self, rows, **more)
    )
    monkeypatch.setattr(_utility_answers, "BLOCK", 40 * model._solution.problem.order)
    np.testing.assert_allclose(model.predict_difference(data, return_std=True), whole, rtol=1e-10, atol=1e-12)
    assert asked == ([40, 40, 40, 30] if circles else [150])
