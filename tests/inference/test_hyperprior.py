"""A weak prior of hyperparameters: its density, its gradients, and what it does to a search and to an average."""

import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import preflearn
from preflearn import BradleyTerry, Comparisons, PreferenceGP
from preflearn.exceptions import DataError
from preflearn.inference.search import HyperPrior
from preflearn.likelihoods import Flipped, Logit


def problem(seed=0, n=8, m=30, features=True, judge=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    outcome = np.where(X[first, 0] - X[second, 0] + rng.logistic(size=m) > 0, 1.0, -1.0)
    return Comparisons(X if features else n, first, second, outcome, judge=judge)


def difference(function, theta, h=1e-4):
    steps = np.eye(theta.shape[0]) * h
    return np.array(
        [
            (8 * (function(theta + e) - function(theta - e)) - (function(theta + 2 * e) - function(theta - 2 * e)))
            / (12 * h)
            for e in steps
        ]
    )


def quietly(model, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data)


@pytest.mark.parametrize("centre", [-3.0, 0.2, 2.0])
def test_the_gain_over_a_uniform_prior_is_one_on_average(centre):
    bounds = np.array([[-3.0, 2.0]])
    prior = HyperPrior(np.array([centre]), np.array([0.7]))
    whole = quad(lambda t: np.exp(prior.gain(np.array([t]), bounds)[0]), -3, 2, points=[centre])[0]
    assert whole / 5 == pytest.approx(1, rel=1e-8)


def test_equal_bounds_and_uniform_priors_add_nothing_and_wide_ones_hardly_anything():
    bounds = np.array([[-3.0, 2.0], [1.0, 1.0], [-1.0, 1.0]])
    theta = np.array([-1.0, 1.0, 0.3])
    value, slope = HyperPrior(np.zeros(3), np.array([0.5, 0.5, np.inf])).gain(theta, bounds)
    np.testing.assert_array_equal(slope, [4.0, 0.0, 0.0])
    assert value == HyperPrior(np.zeros(1), np.array([0.5])).gain(theta[:1], bounds[:1])[0]
    value, slope = HyperPrior(np.zeros(3), np.full(3, 1e4)).gain(theta, bounds)
    assert abs(value) < 1e-6
    assert np.abs(slope).max() < 1e-6


MODELS = {
    "own effects": PreferenceGP("ard", "logit", own_effect=True),
    "EP": PreferenceGP("rbf", inference="ep"),
    "flips": PreferenceGP("rbf", Flipped(), "ep"),
    "circles": PreferenceGP("rbf", cyclic_kernel="rbf"),
    "judges": PreferenceGP("rbf", "logit", judge_kernel="identity"),
}


@pytest.mark.parametrize("name", list(MODELS))
def test_the_gradient_that_is_searched_by_is_that_of_its_value(name):
    data = problem(m=20, judge=["ann", "bob", "cy", "di"] * 5)
    model = quietly(clone(MODELS[name]).set_params(hyperprior=0.8, n_restarts=0), data)
    theta = model.theta_ + 0.3 * np.cos(np.arange(model.theta_.shape[0]))
    theta = np.clip(theta, model.bounds_[:, 0] + 0.01, model.bounds_[:, 1] - 0.01)
    penalised = model._learned.evidence.penalised
    slope = penalised(theta)[1]
    np.testing.assert_allclose(slope, difference(lambda t: penalised(t)[0], theta), atol=2e-5, rtol=2e-5)
    assert np.abs(slope - model.log_evidence(theta)[1]).max() > 0.1
    # where the search ended it is flat: the pull of the prior is that of the evidence, reversed
    gradient = model.log_evidence()[1] - (model.theta_ - model.hyperprior_.centre) / model.hyperprior_.spread**2
    inside = (model.theta_ > model.bounds_[:, 0]) & (model.theta_ < model.bounds_[:, 1])
    assert np.abs(gradient[inside]).max() < 1e-3
    length = np.array(["length scale" in name for name in model.theta_names_])
    np.testing.assert_array_equal(model.hyperprior_.spread, np.where(length, np.inf, 0.8))
    assert inside[~length].all()


def test_items_without_features_are_those_of_bradley_terry():
    data = problem(3, features=False)
    ours = quietly(PreferenceGP(likelihood="logit", hyperprior=1.5), data)
    theirs = BradleyTerry(prior="auto").fit(data)
    np.testing.assert_allclose(np.exp(ours.theta_), theirs.prior_variance_, rtol=1e-4)
    np.testing.assert_allclose(ours.predict_utility(), theirs.utility_, atol=1e-4)


def test_a_very_wide_prior_is_none_and_a_very_narrow_one_keeps_the_start():
    data = problem(2, m=60)
    given = {"kernel": ConstantKernel(2.0) * RBF(0.7), "likelihood": Logit(), "n_restarts": 0}
    none = quietly(PreferenceGP(**given), data)
    wide = quietly(PreferenceGP(**given, hyperprior=1e4), data)
    np.testing.assert_allclose(wide.theta_, none.theta_, atol=1e-3)
    narrow = quietly(PreferenceGP(**given, hyperprior=1e-3), data)
    assert narrow.kernel_.k1.constant_value == pytest.approx(2.0, rel=1e-3)
    assert none.hyperprior_ is None
    np.testing.assert_allclose(np.exp(narrow.hyperprior_.centre), [2.0, 0.7])


@pytest.mark.slow
def test_an_average_is_over_evidence_times_prior():
    data = problem(5, features=False)
    model = quietly(PreferenceGP(likelihood="logit", hyperparameters="average", hyperprior=0.6, n_points=128), data)
    low, high = model.bounds_[0]
    grid = np.linspace(low, high, 301)
    log = np.array([model.log_evidence([t], gradient=False) for t in grid]) - 0.5 * (grid / 0.6) ** 2
    p = np.exp(log - log.max())
    found = model.hyperposterior_
    assert found.weight @ found.theta[:, 0] == pytest.approx(p @ grid / p.sum(), abs=2e-3)
    # a density over the whole line, of which nearly everything is between the bounds
    total = log.max() + np.log(p.sum() * (grid[1] - grid[0])) - np.log(0.6 * np.sqrt(2 * np.pi))
    assert found.log_evidence == pytest.approx(total, abs=1e-3)


def test_own_effects_do_not_vanish_where_few_comparisons_hardly_speak_against_them():
    rng = np.random.default_rng(25)
    n, m = 12, 60
    X = rng.normal(size=(n, 1))
    u = 1.5 * np.sin(X[:, 0])
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    data = Comparisons(X, first, second, np.where(u[first] - u[second] + rng.logistic(size=m) > 0, 1.0, -1.0))
    without, with_prior = (
        quietly(PreferenceGP("rbf", "logit", own_effect=True, hyperprior=h, n_restarts=2, random_state=0), data)
        for h in (None, 1.5)
    )
    assert without.own_variance_ < 1.1e-4
    assert with_prior.own_variance_ > 0.01
    assert with_prior.log_evidence_ > without.log_evidence_ - 2
    order = np.argsort(X[:, 0])
    near = int(np.argmin(np.diff(X[order, 0])))
    alike = Comparisons(X, order[[near]], order[[near + 1]])
    assert with_prior.predict_difference(alike, return_std=True)[1] > 0.2
    assert without.predict_difference(alike, return_std=True)[1] < 0.1


def test_the_prior_stays_where_it_was_when_comparisons_are_added_or_a_file_is_read(tmp_path):
    data, more = problem(2), problem(4)
    model = quietly(PreferenceGP("rbf", hyperprior=1.0, n_restarts=0), data)
    centre = model.hyperprior_.centre.copy()
    assert abs(centre[0] - model.theta_[0]) > 0.05
    preflearn.save(model, tmp_path / "m.preflearn")
    read = preflearn.load(tmp_path / "m.preflearn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in (model, read):
            one.update(more, hyperparameters="improve")
            np.testing.assert_array_equal(one.hyperprior_.centre, centre)
    np.testing.assert_allclose(read.theta_, model.theta_, rtol=1e-6)
    gradient = model.log_evidence()[1][0] - (model.theta_ - centre)[0]  # the variance; length scales have no such prior
    assert abs(gradient) < 1e-3
    quietly(model.set_params(hyperprior=None), data)
    assert model.hyperprior_ is None


def test_a_file_whose_prior_is_not_that_of_its_parameters_is_refused():
    model = quietly(PreferenceGP("rbf", hyperprior=1.0, n_restarts=0), problem(2))
    state = model._file_state()
    centre, spread = model.hyperprior_.centre, model.hyperprior_.spread
    for wrong in (
        None,
        HyperPrior(centre, 2 * spread),
        HyperPrior(centre[:1], spread),
        HyperPrior(centre, spread[:1]),
        HyperPrior(centre + 100, spread),
        HyperPrior(centre * np.nan, spread),
    ):
        with pytest.raises((DataError, ValueError)):
            clone(model)._from_file_state(state | {"hyperprior": wrong})
    clone(model)._from_file_state(state)
    with pytest.raises(DataError, match="prior of the hyperparameters"):
        clone(model).set_params(hyperprior=None)._from_file_state(state)


@pytest.mark.parametrize("wrong", [0.0, -1.0, "weak", np.nan])
def test_other_deviations_are_refused(wrong):
    with pytest.raises(ValueError, match="hyperprior"):
        PreferenceGP(hyperprior=wrong).fit(problem())
