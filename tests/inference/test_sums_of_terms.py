"""Any sum of terms is one Gaussian process, with a covariance written in full: evidence, answers, what is left out."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from fast_share import mostly_slow
from preflearn import Comparisons, PreferenceGP
from preflearn.kernels.pair_kernels import difference_gram, skew_gram

pytestmark = pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")

PREFERENCES = {
    "utility": {"kernel": 1.5 * RBF(0.9)},
    "own effects": {"kernel": 1.5 * RBF(0.9), "own_effect": True},
    "utility and circles": {"kernel": 1.5 * RBF(0.9), "cyclic_kernel": 0.8 * RBF(1.3)},
    "no features": {"kernel": ConstantKernel(1.2)},
    "no features, circles": {"cyclic_kernel": ConstantKernel(0.9)},
    "no features, utility and circles": {"kernel": ConstantKernel(1.2), "cyclic_kernel": ConstantKernel(0.9)},
}
JUDGES = {"": {}, "tastes": {"judge_kernel": "identity"}}
BESIDE = {
    "": {},
    "side": {"side": True},
    "side of judges, covariates": {"side": "judge", "covariates": True},
    "clusters": {"cluster": True},
    "clusters, side of judges, covariates": {"cluster": True, "side": "judge", "covariates": True},
}
CASES = list(product(PREFERENCES, JUDGES, BESIDE))
ORDER = np.random.default_rng(0).permutation(len(CASES))
cases = pytest.mark.parametrize("case", mostly_slow([int(k) for k in ORDER], 6), ids=lambda k: ", ".join(CASES[k]))


def simulate(seed, features):
    """Return margins with judges, clusters (few large or many small ones), covariates, and some with weights."""
    rng = np.random.default_rng(seed)
    n, m = 7, 40
    X = rng.normal(size=(n, 2))
    X[-1] = X[0] if seed % 3 == 0 else X[-1]
    first = rng.integers(0, n, m)
    return Comparisons(
        X if features else n,
        first,
        (first + rng.integers(1, n, m)) % n,
        rng.normal(size=m),
        judge=[f"judge {k}" for k in rng.integers(0, 4, m)],
        cluster=[f"prompt {k}" for k in rng.integers(0, 12 if seed % 2 else 4, m)],
        covariates=rng.normal(size=(m, 2)),
        weight=rng.choice([0.5, 1.0, 2.0, 3.0], m) if seed % 4 > 1 else None,
    )


def covariance(model, data):
    """Return that of what all comparisons see, first against second."""
    parts, n, m = model._solution.problem.parts, data.n_items, len(data)
    pairs = data.first, data.second
    same_judge, same_cluster = (label[:, None] == label for label in (data.judge, data.cluster))

    def between_items(part):
        K = np.zeros((n, n)) if part.kernel is None else part.kernel(data.items)
        return K + part.own_variance * np.eye(n)

    G = np.zeros((m, m))
    if "utility" in parts:
        G += difference_gram(between_items(parts["utility"]), pairs, pairs)
    if "circles" in parts:
        G += skew_gram(between_items(parts["circles"]), pairs, pairs)
    if "tastes" in parts:
        G *= 1 + parts["tastes"].rho * same_judge
    if "side" in parts:
        G += parts["side"].variance.constant_value
        if parts["side"].of_judges is not None:
            G += parts["side"].of_judges.constant_value * same_judge
    if "covariates" in parts:
        Z = data.covariates / parts["covariates"].scale
        G += parts["covariates"].variance.constant_value * Z @ Z.T
    if "clusters" in parts:
        A = np.eye(n)[data.first] - np.eye(n)[data.second]
        G += parts["clusters"].variance.constant_value * same_cluster * (A @ A.T)
    return G


def problem(case, inference):
    preferences, judges, beside = CASES[case]
    data = simulate(case, "no features" not in preferences)
    settings = {"covariates": False, **PREFERENCES[preferences], **JUDGES[judges], **BESIDE[beside]}
    model = PreferenceGP(**settings, likelihood="gaussian", inference=inference, hyperparameters="fixed")
    wanted = {"side": "side" in settings, "clusters": "cluster" in settings, "covariates": settings["covariates"]}
    model.fit(data)
    assert all((name in model._solution.problem.parts) == there for name, there in wanted.items())
    return model, data, bool(model.side)


@pytest.mark.parametrize("inference", ["laplace", "ep"])
@cases
def test_margins_are_those_of_the_covariance_in_full(case, inference):
    model, data, side = problem(case, inference)
    G, y, weight = covariance(model, data), data.outcome, np.ones(len(data)) if data.weight is None else data.weight
    tau = model.likelihood_.precision
    noisy = G + np.diag(1 / (tau * weight))
    # a weight w is w copies of a margin: the copies' own spread is not in the density of their mean
    copies = np.sum(0.5 * (weight - 1) * np.log(tau / (2 * np.pi)) - 0.5 * np.log(weight))
    exact = multivariate_normal(np.zeros(len(y)), noisy).logpdf(y) + copies
    assert model.log_evidence_ == pytest.approx(exact, abs=1e-7)
    mean, std = model.predict_difference(data, return_std=True, side=side)
    np.testing.assert_allclose(mean, G @ np.linalg.solve(noisy, y), atol=1e-7)
    np.testing.assert_allclose(std**2, (G - G @ np.linalg.solve(noisy, G)).diagonal(), atol=1e-7)

    def without(rows, row):
        rest = np.flatnonzero(~rows)
        solved = np.linalg.solve(noisy[np.ix_(rest, rest)], np.column_stack([y[rest], G[rest, row]]))
        return norm.cdf(G[row, rest] @ solved[:, 0] / np.sqrt(G[row, row] - G[row, rest] @ solved[:, 1] + 1 / tau))

    alone, items = model.leave_one_out(), model.leave_one_out("item")
    for row in (3, 17):
        if data.weight is None or data.weight[row] == 1:
            assert alone[row, 1] == pytest.approx(without(np.arange(len(y)) == row, row), abs=1e-7)
        for answer, item in zip(items, (data.first[row], data.second[row]), strict=True):
            wanted = without((data.first == item) | (data.second == item), row)
            assert answer[row, 1] == pytest.approx(wanted, abs=1e-7)
        if model.judge_kernel is not None:
            wanted = without(data.judge == data.judge[row], row)
            assert model.leave_one_out("judge")[row, 1] == pytest.approx(wanted, abs=1e-7)


@cases
def test_gradients_of_the_evidence(case):
    model, _, _ = problem(case, "laplace")
    theta, h = model.theta_ + 0.1, 1e-3
    gradient = model.log_evidence(theta)[1]
    for k, step in enumerate(h * np.eye(len(theta))):
        far, near, back, farther = (model.log_evidence(theta + j * step)[0] for j in (2, 1, -1, -2))
        assert gradient[k] == pytest.approx((8 * (near - back) - (far - farther)) / (12 * h), rel=1e-7, abs=1e-7)


@cases
def test_draws_of_preferences_have_the_moments_of_the_matrix(case):
    model, _, _ = problem(case, "laplace")
    draws, matrix = model.sample_preferences(n_samples=4_000, random_state=0), model.preference_matrix()
    np.testing.assert_array_equal(draws, -draws.transpose(0, 2, 1))
    np.testing.assert_allclose(draws.mean(axis=0), matrix.mean, atol=5 * matrix.std.max() / np.sqrt(4_000))
    np.testing.assert_allclose(draws.std(axis=0), matrix.std, atol=0.1 * matrix.std.max())


@cases
def test_an_update_is_what_all_comparisons_say_at_the_same_hyperparameters(case):
    model, data, side = problem(case, "laplace")
    updated = model.fit(data[:30]).update(data[30:])
    G, weight = covariance(updated, data), np.ones(len(data)) if data.weight is None else data.weight
    noise = np.diag(1 / (updated.likelihood_.precision * weight))
    found = updated.predict_difference(data, side=side)
    np.testing.assert_allclose(found, G @ np.linalg.solve(G + noise, data.outcome), atol=1e-7)
