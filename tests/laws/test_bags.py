"""Laws of items that are bags: one point is a row, order and repeats of points say nothing, spread can be seen."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern

import preflearn.kernels.bag_means as bags_module
from fast_share import mostly_slow
from preflearn import (
    KPCR,
    RLS,
    Bags,
    Comparisons,
    KPCRank,
    KPCRankCV,
    Nystroem,
    PreferenceGP,
    RankRLS,
    RankRLSCV,
    Ratings,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*repeat an earlier one")

ARD = 1.0 * RBF([1.0, 0.7])
PROCESSES = {
    "rbf": {},
    "ard": {"kernel": "ard"},
    "sum": {"kernel": 0.5 * Matern(1.2, nu=1.5) + 0.3 * DotProduct(0.4)},
    "own effect": {"own_effect": True},
    "cyclic": {"cyclic_kernel": 1.3 * RBF(0.9)},
    "both": {"kernel": ARD, "cyclic_kernel": "rbf"},
    "ep": {"inference": "ep"},
}
RANKERS = {
    "RankRLS": RankRLS(kernel="rbf"),
    "linear": RankRLS(),
    "linear, dual": RankRLS(solver="dual"),
    "Nystroem": RankRLS(kernel="rbf", approximation=Nystroem(5, random_state=0)),
    "KPCRank": KPCRank(5, kernel="laplacian"),
    "RankRLSCV": RankRLSCV(kernel="rbf", cv=3),
    "KPCRankCV": KPCRankCV(kernel="rbf", cv=3),
}


def pairs(rng, n, m):
    first = rng.integers(n, size=m)
    return first, (first + rng.integers(1, n, size=m)) % n


def problem(seed, n=9, m=30, d=2):
    """Bags, comparisons of them that depend on their means, and new bags."""
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=d) + rng.normal(size=(int(rng.integers(1, 5)), d)) for _ in range(n + 4)]
    first, second = pairs(rng, n, m)
    u = np.array([array.mean(axis=0).sum() for array in arrays])
    outcome = np.sign(u[first] - u[second] + 0.5 * rng.normal(size=m))
    return arrays[:n], arrays[n:], (first, second, outcome)


def answers(model, items, new, compared):
    """Everything a Gaussian process says: evidence, gradient and predictions, of known and of new items."""
    data = Comparisons(items, *compared)
    model.fit(data)
    asked = Comparisons(new, [0, 1, 2], [1, 2, 3])
    value, gradient = model.log_evidence(model.theta_ + 0.1)
    matrix = model.preference_matrix(new)
    parts = [value, gradient, model.predict_proba(data), *model.predict_difference(asked, return_std=True)]
    parts += [matrix.mean, matrix.std, model.sigma_, model.bounds_, model.leave_one_out()]
    if hasattr(model, "predict_utility"):
        parts += [*model.predict_utility(new, return_cov=True), model.predict_utility(items)]
    return parts


def assert_equal(one, other, tolerance):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", PROCESSES)
def test_bags_of_one_point_are_rows_for_a_process(name):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(9, 2)), rng.normal(size=(4, 2))
    compared = (*pairs(rng, 9, 30), rng.choice([-1.0, 1.0], 30))
    model = PreferenceGP(**PROCESSES[name], hyperparameters="fixed")
    rows = answers(model, X, new, compared)
    assert_equal(rows, answers(model, Bags(X[:, None]), Bags(new[:, None]), compared), 1e-10)


@pytest.mark.parametrize("name", RANKERS)
def test_bags_of_one_point_are_rows_for_a_ranker(name):
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(24, 3)), rng.normal(size=(4, 3))
    y, group = X[:, 0] - X[:, 1] ** 2, np.repeat(np.arange(4), 6)
    weight = rng.integers(0, 3, 24) + (np.arange(24) < 12)
    single, new_single = Bags(X[:, None]), Bags(new[:, None])
    model = RANKERS[name]
    compared = (*pairs(rng, 24, 60), rng.normal(size=60))
    wanted = model.fit(Ratings(X, y, group, weight=weight)).predict(new)
    np.testing.assert_allclose(
        model.fit(Ratings(single, y, group, weight=weight)).predict(new_single), wanted, atol=1e-9
    )
    np.testing.assert_allclose(model.fit(single, y, group, weight).predict(new_single), wanted, atol=1e-9)
    wanted = model.fit(Comparisons(X, *compared)).predict(new)
    np.testing.assert_allclose(model.fit(Comparisons(single, *compared)).predict(new_single), wanted, atol=1e-9)


@pytest.mark.parametrize("model", [RLS(kernel="rbf"), KPCR(4)])
def test_bags_of_one_point_are_rows_for_regression(model):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(15, 2))
    y = X[:, 0] - X[:, 1]
    wanted = model.fit(X, y).predict(X)
    single = Bags(X[:, None])
    np.testing.assert_allclose(model.fit(single, y).predict(single), wanted, atol=1e-10)
    assert model.score(single, y) == model.score(Ratings(single, y))


@pytest.mark.parametrize("name", PROCESSES)
def test_order_and_repeats_of_points_say_nothing_to_a_process(name):
    arrays, new, compared = problem(3)
    model = PreferenceGP(**PROCESSES[name], hyperparameters="fixed")
    wanted = answers(model, Bags(arrays), Bags(new), compared)
    shuffled = [Bags([array[::-1] for array in part]) for part in (arrays, new)]
    assert_equal(wanted, answers(model, *shuffled, compared), 1e-9)
    # some bags listed twice, some three times
    repeated = [Bags([np.tile(a, (2 + k % 2, 1)) for k, a in enumerate(part)]) for part in (arrays, new)]
    assert_equal(wanted, answers(model, *repeated, compared), 1e-9)


@pytest.mark.parametrize("name", RANKERS)
def test_order_and_repeats_of_points_say_nothing_to_a_ranker(name):
    arrays, new, compared = problem(4)
    model = RANKERS[name]
    wanted = model.fit(Comparisons(Bags(arrays), *compared)).predict(Bags(new))
    repeated = [Bags([np.tile(a[::-1], (1 + k % 2, 1)) for k, a in enumerate(part)]) for part in (arrays, new)]
    found = model.fit(Comparisons(repeated[0], *compared)).predict(repeated[1])
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("model", [RankRLS(), PreferenceGP(2.0 * DotProduct(0.5), hyperparameters="fixed")])
def test_a_linear_kernel_sees_means(model):
    arrays, _, compared = problem(5)
    bags = Bags(arrays)
    wanted = model.fit(Comparisons(bags.means(), *compared)).predict(Comparisons(bags.means(), *compared))
    found = model.fit(Comparisons(bags, *compared)).predict(Comparisons(bags, *compared))
    np.testing.assert_allclose(found, wanted, atol=1e-10)


@pytest.mark.parametrize("block", [4, 512])
@pytest.mark.parametrize("name", mostly_slow(PROCESSES, 3))
def test_the_gradient_of_the_evidence_is_its_slope(name, block, monkeypatch):
    monkeypatch.setattr(bags_module, "BLOCK", block)
    arrays, _, compared = problem(6)
    model = PreferenceGP(**PROCESSES[name], hyperparameters="fixed").fit(Comparisons(Bags(arrays), *compared))
    theta = model.theta_
    _, gradient = model.log_evidence()
    for i, step in enumerate(1e-4 * np.eye(len(theta))):
        far, near, back, farther = (model.log_evidence(theta + j * step)[0] for j in (2, 1, -1, -2))
        difference = (8 * (near - back) - (far - farther)) / (12 * 1e-4)
        assert gradient[i] == pytest.approx(difference, rel=1e-6, abs=1e-7)


def test_the_utility_of_a_bag_is_the_mean_of_those_of_its_points():
    """So the kernel sees means of any function of a point, and no more: not a variance about a mean that differs."""
    arrays, new, compared = problem(7)
    model = PreferenceGP("ard", hyperparameters="fixed").fit(Comparisons(Bags(arrays), *compared))
    points = Bags(np.concatenate(new)[:, None])
    wanted = np.split(model.predict_utility(points), Bags(new).offsets[1:-1])
    np.testing.assert_allclose(model.predict_utility(Bags(new)), [part.mean() for part in wanted], atol=1e-10)


def spread_problem(seed):
    """Return accuracies, on items never compared, of what is learned from bags and from their means.

    Bags lie about a common place, their spreads decide who is preferred and their means are drawn apart from these.
    """
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.3, 2.0, 60)
    arrays = [s * rng.normal(size=(20, 2)) for s in spread]
    bags = Bags([array - array.mean(axis=0) + 0.3 * rng.normal(size=2) for array in arrays])
    first, second = pairs(rng, 40, 150)
    low, high = np.triu_indices(20, 1)
    found = []
    for items in (bags, bags.means()):
        model = PreferenceGP(n_restarts=0)
        model.fit(Comparisons(items[:40], first, second, np.sign(spread[first] - spread[second])))
        asked = Comparisons(items[40:], low, high, np.sign(spread[40:][low] - spread[40:][high]))
        found.append(model.score(asked))
    return found


@pytest.mark.slow
def test_the_spread_of_bags_is_learned_though_their_means_say_nothing():
    of_bags, of_means = np.transpose([spread_problem(seed) for seed in range(6)])
    assert of_bags.min() > 0.8
    assert 0.4 < of_means.mean() < 0.6
