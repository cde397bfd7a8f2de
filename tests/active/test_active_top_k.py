"""Information about the top k: against integrals for two and three items, and enumeration of all sets of five."""

import itertools

import numpy as np
import pytest
from problems_active import by_name, entropy, probabilities, with_features

from preflearn.active import information_gain, top_k_information
from preflearn.active._criteria import Draws, JointPosterior, draw_utilities, members
from preflearn.likelihoods import Gaussian, Logit, Probit

pytestmark = pytest.mark.slow

DISCRETE = [Probit(), Logit(), Probit(tie=0.6, tie_fixed=True)]
FIVE = (("ann", "bob"), ("bob", "cy"), ("cy", "dee"), ("dee", "eve"), ("ann", "dee"), ("eve", "cy"))


def by_enumeration(likelihood, mean, covariance, pairs, k, n_draws=200_000):
    """I(y; T) from the share of draws in every set of k items and the mean outcome inside each."""
    f = np.random.default_rng(99).multivariate_normal(mean, covariance, n_draws, method="eigh")
    code = (1 << np.argsort(-f, axis=1)[:, :k]).sum(axis=1)
    for i, j in pairs:
        p = probabilities(likelihood, f[:, i] - f[:, j])
        total = entropy(p.mean(axis=0))
        for best in itertools.combinations(range(len(mean)), k):
            rows = code == sum(1 << item for item in best)
            if rows.any():
                total -= rows.mean() * entropy(p[rows].mean(axis=0))
        yield total


@pytest.mark.parametrize("likelihood", DISCRETE, ids=repr)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_five_items_against_all_sets(likelihood, k):
    model = by_name(FIVE, likelihood)
    names = model.item_names_.tolist()
    mean, covariance = model.predict_utility(names, return_cov=True)
    pairs = [(0, 1), (0, 4), (2, 3)]
    gain = top_k_information(model, pairs, k, n_samples=65536, random_state=0)
    np.testing.assert_allclose(gain, list(by_enumeration(likelihood, mean, covariance, pairs, k)), atol=2e-3)
    few = top_k_information(model, pairs, k, random_state=1)
    np.testing.assert_allclose(few, gain, atol=8e-3)


@pytest.mark.parametrize("likelihood", DISCRETE, ids=repr)
def test_the_better_of_two_items_is_an_integral(likelihood):
    model = by_name((("ann", "bob"),), likelihood)
    mean, covariance = model.predict_utility(["ann", "bob"], return_cov=True)
    m, v = mean[0] - mean[1], covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    x = np.linspace(-9, 9, 200_001)
    z, weight = m + np.sqrt(v) * x, np.exp(-0.5 * x**2)
    weight /= weight.sum()
    p = probabilities(likelihood, z)
    exact = entropy(weight @ p)
    for side in (z > 0, z <= 0):
        exact -= weight[side].sum() * entropy(weight[side] @ p[side] / weight[side].sum())
    assert top_k_information(model, [(0, 1)], 1, n_samples=200_000, random_state=0)[0] == pytest.approx(exact, abs=2e-3)


def test_margins_are_a_lower_bound_near_the_truth():
    likelihood = Gaussian(1.5, fixed=True)
    model = by_name((("ann", "bob"),), likelihood)
    mean, covariance = model.predict_utility(["ann", "bob"], return_cov=True)
    m, v = mean[0] - mean[1], covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    z = np.linspace(m - 9 * np.sqrt(v), m + 9 * np.sqrt(v), 2001)
    y = np.linspace(-15, 15, 1501)
    weight = np.exp(-0.5 * (z - m) ** 2 / v)
    weight /= weight.sum()
    noise = np.sqrt(1.5 / (2 * np.pi)) * np.exp(-0.75 * (y[:, None] - z) ** 2)

    def differential(q):
        return -np.sum(np.where(q > 0, q * np.log(np.where(q > 0, q, 1)), 0)) * (y[1] - y[0])

    exact = differential(noise @ weight)
    for side in (z > 0, z <= 0):
        share = weight[side].sum()
        exact -= share * differential(noise[:, side] @ weight[side] / share)
    gain = top_k_information(model, [(0, 1)], 1, n_samples=100_000, random_state=0)[0]
    assert 0.85 * exact < gain < exact + 2e-3
    assert gain < information_gain(model, [(0, 1)])[0]


@pytest.mark.parametrize("likelihood", [*DISCRETE, Gaussian(2.0, fixed=True)], ids=repr)
@pytest.mark.parametrize("k", [1, 5, 20])
def test_it_never_exceeds_what_is_told_about_utilities(likelihood, k):
    model, _, X = with_features(30, 60, likelihood)
    pairs = np.array(list(itertools.combinations(range(30), 2)))
    gain = top_k_information(model, pairs, k, X, random_state=0)
    whole = information_gain(model, pairs, X)
    assert (gain >= 0).all()
    assert (gain <= whole + 0.01).all()
    assert gain.max() > 0.1 * whole.max()


def test_what_is_certain_is_not_worth_asking():
    model, _, X = with_features(30, 200)
    mean, std = model.predict_utility(X, return_std=True)
    order = np.argsort(-mean)
    gain = top_k_information(model, [order[[0, 1]], order[[-1, -2]], order[[4, 5]]], 5, X, random_state=0)
    assert std.max() < 3
    assert gain[2] > gain[1]
    assert gain[1] < 0.01


def test_without_other_items_it_is_about_the_pairs_own_membership(monkeypatch):
    model = by_name(FIVE)
    pairs = [(0, 1), (0, 4), (2, 3)]
    whole = top_k_information(model, pairs, 2, n_samples=65536, random_state=0)
    monkeypatch.setattr("preflearn.active._criteria._DRAWS_PER_CELL", 65536)  # B is empty
    own = top_k_information(model, pairs, 2, n_samples=65536, random_state=0)
    mean, covariance = model.predict_utility(model.item_names_, return_cov=True)
    f = np.random.default_rng(5).multivariate_normal(mean, covariance, 400_000, method="eigh")
    place = np.argsort(np.argsort(-f, axis=1), axis=1)
    for (i, j), gain, most in zip(pairs, own, whole, strict=True):
        p = probabilities(model.likelihood_, f[:, i] - f[:, j])
        exact = entropy(p.mean(axis=0))
        for one, other in itertools.product([True, False], repeat=2):
            rows = ((place[:, i] < 2) == one) & ((place[:, j] < 2) == other)
            exact -= rows.mean() * entropy(p[rows].mean(axis=0))
        assert gain == pytest.approx(exact, abs=2e-3)
        assert gain < most + 1e-4


def test_many_cells_do_not_pretend_to_tell():
    """Two items far below the rest and unrelated to it: their comparison tells nothing about the top."""
    mean, covariance = np.array([0.0] * 6 + [-90.0, -90.0]), np.diag([4.0] * 8)
    gains = []
    for seed in range(20):
        posterior = JointPosterior(Probit(), mean, covariance, np.array([6]), np.array([7]))
        draws = Draws(posterior, 3, 1280, np.random.default_rng(seed))
        assert draws.n_cells == 20
        gains.append(draws.information(np.array([0]))[0])
    assert np.mean(gains) < 1.5e-3  # 0.004 without the correction


def test_taking_an_answer_for_granted_shrinks_draws_as_it_shrinks_the_covariance():
    model, _, X = with_features()
    mean, covariance = model.predict_utility(X, return_cov=True)
    posterior = JointPosterior(model.likelihood_, mean, covariance, np.array([0, 2]), np.array([5, 7]))
    draws = Draws(posterior, 3, 200_000, np.random.default_rng(0))
    c, v = posterior.direction(0), posterior.variance[0]
    assert v == pytest.approx(c[0] - c[5])
    before = posterior.variance[1]
    draws.condition(0)
    _, J = JointPosterior(model.likelihood_, mean, covariance, np.array([0]), np.array([5])).condition(0)
    np.testing.assert_allclose(np.cov(draws.f.T), covariance - J * np.outer(c, c), atol=0.05)
    np.testing.assert_allclose(draws.f.mean(axis=0), mean, atol=1e-9)
    z = draws.f[:, 2] - draws.f[:, 7]
    assert posterior.variance[1] == pytest.approx(before - J * (c[2] - c[7]) ** 2)
    assert z.var() == pytest.approx(posterior.variance[1], rel=0.02)
    own = draws.f[:, 0] - draws.f[:, 5]
    assert own.var() == pytest.approx(v - J * v**2, rel=0.01)
    assert J * v > 0.1


def test_members_and_draws():
    f = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, -1.0]])
    assert members(f, 2).tolist() == [[True, False, True], [True, True, False]]
    mean, covariance = np.array([1.0, -2.0]), np.array([[2.0, 1.2], [1.2, 1.0]])
    draws = draw_utilities(mean, covariance, 100_000, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=1e-12)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.03)
    assert draw_utilities(mean, np.zeros((2, 2)), 3, np.random.default_rng(0)).tolist() == [mean.tolist()] * 3


def test_mistakes_are_explained():
    model = by_name()
    with pytest.raises(ValueError, match="all of them are the top 4"):
        top_k_information(model, [(0, 1)], 4)
    with pytest.raises(TypeError, match="k must be a whole number"):
        top_k_information(model, [(0, 1)], 1.5)
    with pytest.raises(ValueError, match=r"n_samples must be .*at least 64; got 3"):
        top_k_information(model, [(0, 1)], 1, n_samples=3)
    big, _, _ = with_features()
    with pytest.raises(ValueError, match="limited to 2000"):
        top_k_information(big, [(0, 1)], 1, np.zeros((2001, 2)))
