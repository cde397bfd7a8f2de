"""The information of an outcome: against quadrature, against an entropy that really falls, and its laws."""

import numpy as np
import pytest
from problems_active import LIKELIHOODS, by_name, entropy, information_by_quad, probabilities, with_features
from scipy import integrate
from sklearn.base import clone

from fast_share import cases
from likelihood_table import moments
from preflearn import Comparisons, RankRLS
from preflearn.active import information_gain
from preflearn.active.outcome_information import curvature, information, link_of
from preflearn.likelihoods import Flipped, Gaussian, Logit, Probit


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
@pytest.mark.parametrize("variance", [0.9e-4, 1.1e-4, 5e-3, 0.99, 1.01, 7.0, 300.0])
def test_information_is_the_integral(likelihood, variance):
    v = variance * likelihood.bend.length**2
    for mean in (0.0, 0.4, -2.5, 6.0):
        m = mean * likelihood.bend.length
        exact = information_by_quad(likelihood, m, v)
        assert information(likelihood, np.array([m]), np.array([v]))[0] == pytest.approx(exact, abs=3e-11)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
@pytest.mark.parametrize("variance", [1e-12, 1.0, 1e8])
@pytest.mark.parametrize("mean", [0.0, 3.0, 40.0])
def test_extremes_are_integrated_too(likelihood, variance, mean):
    exact = information_by_quad(likelihood, mean, variance)
    assert information(likelihood, np.array([mean]), np.array([variance]))[0] == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
def test_little_variance_tells_half_of_it_times_the_fisher_information(likelihood):
    mean, variance = np.array([0.0, 0.5, -1.5]) * likelihood.bend.length, np.full(3, 1e-12 * likelihood.bend.length**2)
    step = 1e-4 * likelihood.bend.length
    p = probabilities(likelihood, mean)
    slope = (probabilities(likelihood, mean + step) - probabilities(likelihood, mean - step)) / (2 * step)
    fisher = np.sum(np.where(p > 0, slope**2 / np.where(p > 0, p, 1), 0), axis=1)
    np.testing.assert_allclose(information(likelihood, mean, variance), 0.5 * variance * fisher, rtol=1e-6)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
def test_information_has_bounds_and_does_not_know_sides(likelihood):
    mean = np.concatenate([np.linspace(0, 60, cases(80, 200)), 10.0 ** np.arange(-12, 13)])
    for variance in 10.0 ** np.arange(-14, 15, cases(2, 1)):
        gain = information(likelihood, mean, np.full(mean.shape, variance))
        assert np.isfinite(gain).all()
        assert (gain >= 0).all()
        assert (gain <= np.log(len(likelihood.outcomes))).all()
        np.testing.assert_array_equal(gain, information(likelihood, -mean, np.full(mean.shape, variance)))
    np.testing.assert_array_equal(information(likelihood, mean, np.zeros(mean.shape)), 0)


@pytest.mark.parametrize("likelihood", [Probit(), Logit()], ids=repr)
def test_without_ties_more_variance_tells_more_and_a_clearer_pair_less(likelihood):
    m, v = np.meshgrid(np.linspace(0, 8, 81), np.geomspace(1e-6, 1e6, 200))
    gain = information(likelihood, m.ravel(), v.ravel()).reshape(m.shape)
    assert np.diff(gain, axis=0).min() > -1e-15
    assert np.diff(gain, axis=1).max() < 1e-15


@pytest.mark.parametrize("likelihood", [*LIKELIHOODS, Gaussian(3.0)], ids=repr)
def test_curvature_is_the_expected_fall_of_the_variance(likelihood):
    mean, variance = np.array([0.0, 1.0, -4.0]), np.array([0.5, 2.0, 30.0])
    J = curvature(likelihood, mean, variance)
    if likelihood.normal:
        np.testing.assert_allclose(variance - J * variance**2, 1 / (1 / variance + 3.0))
        return
    expected = np.zeros(3)
    for y in likelihood.outcomes:
        tilted = moments(likelihood, np.full(3, y), mean, variance)
        expected += np.exp(tilted.log_z) * tilted.variance
    np.testing.assert_allclose(variance - J * variance**2, expected, rtol=1e-9)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
def test_tabulated_probabilities_are_the_likelihoods(likelihood):
    z = np.linspace(-130, 130, 9001) * likelihood.bend.length
    exact = probabilities(likelihood, z)
    listed = link_of(likelihood).probabilities(z)
    np.testing.assert_allclose(listed[0], exact[:, 0], atol=1e-12)
    assert len(listed) == len(likelihood.outcomes) - 1
    if 0.0 in likelihood.outcomes:
        np.testing.assert_allclose(listed[1], exact[:, 1], atol=1e-12)


@pytest.mark.parametrize(
    "likelihood", [Probit(), Logit(), Probit(tie=0.6, tie_fixed=True), Flipped(rate=0.1, rate_fixed=True)], ids=repr
)
def test_it_is_the_fall_of_entropy_of_the_utilities(likelihood):
    """The posterior of two utilities on a grid, before and after each outcome."""
    model, _, X = with_features(likelihood=likelihood)
    pair = np.array([[0, 7]])
    mean, covariance = model.predict_utility(X[pair[0]], return_cov=True)
    axes = [np.linspace(m - 8 * s, m + 8 * s, 501) for m, s in zip(mean, np.sqrt(covariance.diagonal()), strict=True)]
    f = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    cell = np.prod([a[1] - a[0] for a in axes])
    off = f - mean
    density = np.exp(-0.5 * np.einsum("...i,ij,...j", off, np.linalg.inv(covariance), off))
    density /= density.sum() * cell

    def grid_entropy(q):
        return -np.sum(np.where(q > 0, q * np.log(np.where(q > 0, q, 1)), 0)) * cell

    fall = grid_entropy(density)
    for p in np.moveaxis(probabilities(likelihood, f[..., 0] - f[..., 1]), -1, 0):
        mass = (density * p).sum() * cell
        if mass > 0:
            fall -= mass * grid_entropy(density * p / mass)
    assert information_gain(model, pair, X)[0] == pytest.approx(fall, abs=1e-8)


def test_gaussian_margins_are_in_closed_form():
    model, _, X = with_features(likelihood=Gaussian(2.0, fixed=True))
    _, covariance = model.predict_utility(X, return_cov=True)
    variance = [covariance[i, i] + covariance[j, j] - 2 * covariance[i, j] for i, j in [(0, 1), (3, 9)]]
    np.testing.assert_allclose(
        information_gain(model, [(0, 1), (3, 9)], X), 0.5 * np.log1p(2.0 * np.array(variance)), rtol=1e-8
    )
    # entropy of the margin less that of its noise, by integration
    y = np.linspace(-60, 60, 20001)
    total = variance[0] + 0.5
    q = np.exp(-0.5 * y**2 / total) / np.sqrt(2 * np.pi * total)
    falls = integrate.trapezoid(-q * np.log(np.maximum(q, 1e-300)), y) - 0.5 * np.log(2 * np.pi * np.e * 0.5)
    assert information_gain(model, [(0, 1)], X)[0] == pytest.approx(falls, abs=1e-8)


def test_pairs_may_be_comparisons_names_or_rows():
    model = by_name()
    names = [("ann", "dee"), ("dee", "bob")]
    gain = information_gain(model, names)
    np.testing.assert_array_equal(information_gain(model, [(0, 3), (3, 1)]), gain)
    np.testing.assert_array_equal(information_gain(model, np.array([[3, 0], [1, 3]])), gain)
    np.testing.assert_array_equal(information_gain(model, Comparisons(None, ["ann", "dee"], ["dee", "bob"])), gain)
    np.testing.assert_array_equal(information_gain(model, names, ["dee", "cy", "bob", "ann"]), gain)
    mean, std = model.predict_difference(Comparisons(None, ["ann", "dee"], ["dee", "bob"]), return_std=True)
    for m, s, g in zip(mean, std, gain, strict=True):
        assert g == pytest.approx(information_by_quad(model.likelihood_, m, s**2), abs=1e-10)
    assert information_gain(model, []).shape == (0,)


def test_the_order_of_items_does_not_matter():
    model, _, X = with_features(n_new=3)
    order = np.random.default_rng(0).permutation(len(X))
    place = np.argsort(order)
    pairs = np.array([[0, 14], [3, 5], [13, 12]])
    np.testing.assert_allclose(
        information_gain(model, place[pairs], X[order]), information_gain(model, pairs, X), rtol=1e-9
    )


def test_a_pair_compared_often_tells_less():
    model = by_name()
    data = Comparisons(None, ["ann", "bob"], ["bob", "cy"], weight=[30.0, 1.0])
    sure = clone(model).fit(data)
    assert information_gain(sure, [("ann", "bob")])[0] < 0.3 * information_gain(model, [("ann", "bob")])[0]


def test_mistakes_are_explained():
    model = by_name()
    with pytest.raises(ValueError, match=r'not among the 4 names of the pool \(row 0; values "ane"; nearest'):
        information_gain(model, [("ane", "bob")])
    with pytest.raises(ValueError, match="1 of 2 pairs in pairs compare an item with itself"):
        information_gain(model, [("ann", "bob"), ("cy", "cy")])
    with pytest.raises(TypeError, match="row 0 is"):
        information_gain(model, ["ab"])
    with pytest.raises(TypeError, match="pass a fitted PreferenceGP"):
        information_gain(RankRLS(), [("ann", "bob")])
    with pytest.raises(ValueError, match="not fitted"):
        information_gain(type(model)(), [("ann", "bob")])
    model.likelihood_ = object()
    with pytest.raises(TypeError, match="known for likelihoods of wins, losses and ties"):
        information_gain(model, [("ann", "bob")])


def test_the_oracle_knows_a_fair_coin():
    assert entropy([0.5, 0.5]) == pytest.approx(np.log(2))
    assert information_by_quad(Probit(scale=1e-3), 0.0, 1e4) == pytest.approx(np.log(2), abs=1e-4)
