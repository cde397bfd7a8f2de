"""PreferenceGP: laws that tie it to RankRLS, to its parts, and to what a person expects of probabilities."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import cross_val_score

from preflearn import Comparisons, RankRLS
from preflearn.likelihoods import Gaussian, Probit
from preflearn.models.gp import PreferenceGP

pytestmark = pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")


@pytest.fixture
def matches():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(25, 2))
    first = rng.integers(0, 25, 150)
    second = (first + rng.integers(1, 25, 150)) % 25
    f = np.sin(2 * X[:, 0])
    z = 3 * (f[first] - f[second]) + rng.normal(size=150)
    return Comparisons(X, first, second, np.sign(z))


@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("likelihood", ["probit", "logit"])
def test_probabilities_are_antisymmetric_and_sides_do_not_matter(matches, inference, likelihood):
    model = PreferenceGP(ConstantKernel(2.0) * RBF(0.8), likelihood, inference, optimise=False).fit(matches)
    p = model.predict_proba(matches)
    np.testing.assert_array_equal(model.predict_proba(matches.swapped())[:, 0], p[:, 1])
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-15)
    np.testing.assert_array_equal(model.decision_function(matches.swapped()), -model.decision_function(matches))
    half = matches.swapped(np.arange(150) % 2 == 0)
    again = clone(model).fit(half)
    np.testing.assert_allclose(again.predict_proba(matches), p, atol=1e-9)
    assert again.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-9)


def test_gaussian_margins_are_rank_rls(matches):
    kernel = ConstantKernel(1.0) * RBF(0.8)
    data = Comparisons(matches.items, matches.first, matches.second, matches.outcome * 1.5)
    gp = PreferenceGP(kernel, Gaussian(2.0), optimise=False).fit(data)
    np.testing.assert_allclose(gp.decision_function(data), RankRLS(0.5, kernel).fit(data).predict(data), atol=1e-8)


def test_the_search_climbs_and_learns(matches):
    start = PreferenceGP(optimise=False).fit(matches)
    model = PreferenceGP(n_restarts=1, random_state=0).fit(matches)
    assert model.log_evidence_ > start.log_evidence_ + 1
    assert len(model.optima_) == 2
    value, gradient = model.log_evidence()
    assert value == pytest.approx(model.log_evidence_, abs=1e-7)
    free = ~model.optima_[0].at_bounds(model.bounds_)
    assert np.abs(gradient[free]).max() < 1e-2
    truth = np.sin(2 * matches.items[:, 0])
    mean, std = model.predict_utility(matches.items, return_std=True)
    assert np.corrcoef(mean, truth)[0, 1] > 0.9
    assert (std > 0).all()
    again = PreferenceGP(n_restarts=1, random_state=0).fit(matches)
    np.testing.assert_array_equal(again.predict_proba(matches), model.predict_proba(matches))


def test_draws_have_the_posterior_moments(matches):
    model = PreferenceGP(ConstantKernel(2.0) * RBF(0.8), optimise=False).fit(matches)
    items = np.random.default_rng(1).uniform(-2, 2, size=(4, 2))
    mean, covariance = model.predict_utility(items, return_cov=True)
    draws = model.sample_utilities(items, 40_000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.05)


def test_items_without_features_have_names_and_unseen_ones_the_prior():
    names = ["ann", "bob", "cy", "dee"]
    data = Comparisons(None, ["ann", "ann", "bob", "ann"], ["bob", "cy", "cy", "bob"], names=names)
    model = PreferenceGP(optimise=False).fit(data)
    mean, std = model.predict_utility(names, return_std=True)
    assert mean[0] > mean[1] > mean[2]
    assert mean[3] == 0
    assert std[3] == pytest.approx(1.0)
    assert (std[:3] < 1).all()
    swapped = Comparisons(None, ["cy"], ["ann"])
    assert model.predict_proba(swapped)[0, 1] < 0.5
    with pytest.raises(ValueError, match="not among the 4 of training"):
        model.predict_utility(["eve"])


def test_ties_need_a_threshold_and_it_is_learned():
    rng = np.random.default_rng(3)
    first = rng.integers(0, 8, 200)
    second = (first + rng.integers(1, 8, 200)) % 8
    z = (first - second) / 2 + np.sqrt(2) * rng.normal(size=200)
    outcome = np.where(np.abs(z) < 0.7, 0.0, np.sign(z))
    data = Comparisons(8, first, second, outcome)
    with pytest.raises(ValueError, match="ties"):
        PreferenceGP().fit(data)
    model = PreferenceGP(likelihood=Probit(tie=0.1), n_restarts=0).fit(data)
    assert 0.4 < model.likelihood_.tie < 1.1
    assert PreferenceGP(likelihood=Probit(tie=0.1), n_restarts=0).fit(data).predict_proba(data).shape == (200, 2)


def test_model_selection_takes_it(matches):
    scores = cross_val_score(
        PreferenceGP(ConstantKernel(2.0) * RBF(0.8), optimise=False),
        matches,
        cv=3,
        scoring=lambda m, X, y=None: float(np.mean(m.predict(X) == np.sign(X.outcome))),
    )
    assert scores.mean() > 0.7


def test_mistakes_are_explained(matches):
    with pytest.raises(TypeError, match="learns from Comparisons"):
        PreferenceGP().fit(matches.items, np.zeros(25))
    light = Comparisons(matches.items, [0, 1], [1, 2], weight=[0.5, 1.0])
    with pytest.raises(ValueError, match="weigh less than 1"):
        PreferenceGP(inference="ep").fit(light)
    with pytest.raises(ValueError, match="no features"):
        PreferenceGP(RBF()).fit(Comparisons(3, [0, 1], [1, 2]))
    with pytest.raises(ValueError, match="same columns"):
        PreferenceGP(optimise=False).fit(matches).predict_utility(np.zeros((2, 5)))
