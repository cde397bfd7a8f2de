"""Where hyperparameters are averaged over: information is that of the mixture, against draws and quadrature."""

import warnings

import numpy as np
import pytest
from problems_active import entropy, information_by_quad, probabilities, with_features
from scipy import integrate
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from fast_share import cases
from preflearn import Comparisons, PreferenceGP
from preflearn.active import information_gain, suggest
from preflearn.active._criteria import JointPosterior
from preflearn.active._pool import Pool
from preflearn.active.outcome_information import information, mixture_information, normals_entropy
from preflearn.likelihoods import Gaussian, Logit, Probit
from preflearn.models.ranking import Part

pytestmark = pytest.mark.slow

PAIRS = np.array([[0, 1], [2, 9], [5, 3], [8, 4], [10, 11], [0, 12]])


def averaged(likelihood=None, n_comparisons=12, seed=0, **options):
    """A model with little data whose kernel (and likelihood, where it has free parameters) is averaged over."""
    likelihood = Probit() if likelihood is None else likelihood
    _, data, X = with_features(12, n_comparisons, likelihood, seed, n_new=1)
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(1.0, (0.1, 10.0))
    model = PreferenceGP(kernel, likelihood, hyperparameters="average", n_points=24, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few points suffice here
        return model.fit(data), X


def one_normal(model, pairs, X):
    return information(model.likelihood_, *Pool.build(model, X, "test").pair_moments(*pairs.T))


@pytest.mark.parametrize("likelihood", [Probit(), Logit(), Probit(tie=0.6, tie_fixed=True)], ids=repr)
@pytest.mark.parametrize("seed", range(cases(1, 2)))
def test_it_is_the_information_of_draws(likelihood, seed):
    model, X = averaged(likelihood, seed=seed)
    f = model.sample_utilities(X, 200_000, random_state=0)
    p = probabilities(likelihood, f[:, PAIRS[:, 0]] - f[:, PAIRS[:, 1]])
    by_draws = entropy(p.mean(axis=0)) - entropy(p).mean(axis=0)
    np.testing.assert_allclose(information_gain(model, PAIRS, X), by_draws, atol=4e-3)
    assert np.abs(one_normal(model, PAIRS, X) / by_draws - 1).max() > 0.2  # what the mixture is needed for


def test_a_learned_threshold_counts_as_unknown_too():
    model, X = averaged(Probit(tie=0.5))
    points = model.difference_posteriors(Comparisons(X, *PAIRS.T))
    assert len({point.likelihood.tie for point in points}) > 1
    remaining, average = np.zeros(len(PAIRS)), np.zeros((len(PAIRS), 3))
    for weight, mean, variance, likelihood in points:
        p = likelihood.probability(mean, variance)
        exact = [information_by_quad(likelihood, m, v) for m, v in zip(mean, variance, strict=True)]
        remaining += weight * (entropy(p) - exact)  # the entropy of the outcome that is left when z is known
        average += weight * p
    np.testing.assert_allclose(information_gain(model, PAIRS, X), entropy(average) - remaining, atol=1e-10)


def test_margins_by_integration():
    model, X = averaged(Gaussian(2.0))
    points = model.difference_posteriors(Comparisons(X, *PAIRS.T))
    assert len({point.likelihood.precision for point in points}) > 1
    weight = np.array([point.weight for point in points])
    noise = np.array([1 / point.likelihood.precision for point in points])
    for row, gain in enumerate(information_gain(model, PAIRS, X)):
        mean = np.array([point.mean[row] for point in points])
        deviation = np.sqrt(np.array([point.variance[row] for point in points]) + noise)
        y = np.linspace((mean - 9 * deviation).min(), (mean + 9 * deviation).max(), 400_001)
        q = sum(w * norm.pdf(y, m, d) for w, m, d in zip(weight, mean, deviation, strict=True))
        whole = integrate.trapezoid(entropy(q[:, None]), y)
        assert gain == pytest.approx(whole - 0.5 * weight @ np.log(2 * np.pi * np.e * noise), abs=1e-8)


def test_entropies_of_normals():
    assert normals_entropy(np.ones(1), np.array([3.7]), np.array([0.3])) == pytest.approx(norm(scale=0.3).entropy())
    # far apart: what they have, and which of them it is; one a million times as wide as the other
    w, d = np.array([0.3, 0.7]), np.array([1e-3, 1e3])
    apart = normals_entropy(w, np.array([0.0, 1e5]), d)
    assert apart == pytest.approx(w @ norm(scale=d).entropy() + entropy(w), abs=1e-9)
    inside = normals_entropy(w, np.array([10.0, 0.0]), d)
    assert inside == pytest.approx(apart, abs=1e-4)


@pytest.mark.parametrize("likelihood", [Probit(), Logit(tie=0.4, tie_fixed=True), Gaussian(2.0)], ids=repr)
def test_laws(likelihood):
    model, X = averaged(likelihood)
    gain = information_gain(model, PAIRS, X)
    np.testing.assert_array_equal(information_gain(model, PAIRS[:, ::-1], X), gain)
    points = model.difference_posteriors(Comparisons(X, *PAIRS.T))
    assert sum(point.weight for point in points) == pytest.approx(1)
    # an outcome tells no less about everything than about the utilities, were the hyperparameters known
    assert (gain >= sum(p.weight * information(p.likelihood, p.mean, p.variance) for p in points)).all()
    # equal points are one point, and one point is the answer without a mixture
    one = points[0]._replace(weight=1.0)
    alone = information(one.likelihood, one.mean, one.variance)
    np.testing.assert_array_equal(mixture_information([one]), alone)
    halves = [one._replace(weight=0.25), one._replace(weight=0.75)]
    np.testing.assert_allclose(mixture_information(halves), alone, atol=1e-9)


def test_hyperparameters_alone_can_be_learned_about():
    # Two points that know z, and contradict each other: the outcome tells which of them holds.
    points = [Part(0.5, np.array([m]), np.zeros(1), Probit()) for m in (-40.0, 40.0)]
    assert mixture_information(points)[0] == pytest.approx(np.log(2))


@pytest.mark.parametrize("likelihood", [Probit(), Gaussian(2.0, fixed=True)], ids=repr)
def test_one_point_is_what_is_answered_without_averaging(likelihood):
    model, _, X = with_features(likelihood=likelihood)
    np.testing.assert_array_equal(information_gain(model, PAIRS[:5], X), one_normal(model, PAIRS[:5], X))
    before = suggest(model, X, 4)
    model.set_params(hyperparameters="average")  # nothing is free in its kernel
    model.fit(model.comparisons_)
    after = suggest(model, X, 4)
    np.testing.assert_array_equal(after.gain, before.gain)
    np.testing.assert_array_equal(after.first, before.first)


@pytest.mark.parametrize("likelihood", [Probit(), Gaussian(2.0)], ids=repr)
def test_one_suggestion_is_the_best_by_the_mixture(likelihood):
    model, X = averaged(likelihood)
    pairs = np.stack(np.triu_indices(len(X), 1), axis=1)
    gain = information_gain(model, pairs, X)
    best = pairs[gain.argmax()]
    found = suggest(model, X)
    assert (found.first[0], found.second[0]) == tuple(best)
    assert found.gain[0] == pytest.approx(gain.max(), rel=1e-9)
    again = suggest(model, X, 1, forbidden=[tuple(best)])
    assert again.gain[0] == pytest.approx(np.sort(gain)[-2], rel=1e-9)


@pytest.mark.parametrize("likelihood", [Probit(), Gaussian(2.0)], ids=repr)
def test_a_batch_is_chosen_by_one_normal(likelihood):
    model, X = averaged(likelihood)
    pairs = np.stack(np.triu_indices(len(X), 1), axis=1)
    posterior = JointPosterior(model.likelihood_, *model.predict_utility(X, return_cov=True), *pairs.T)
    found = suggest(model, X, 4)
    chosen = []
    for first, second, gain in zip(found.first, found.second, found.gain, strict=True):
        left = posterior.information(slice(None))
        left[chosen] = -1
        chosen.append(int(left.argmax()))
        assert pairs[chosen[-1]].tolist() == [first, second]
        assert gain == pytest.approx(left.max(), rel=1e-9)
        posterior.condition(chosen[-1])
    assert (np.diff(found.gain) <= 0).all()


def test_of_many_candidates_the_most_promising_are_looked_at(monkeypatch):
    model, X = averaged()
    asked = []

    def by_number(pool, first, second):
        asked.extend(zip(first.tolist(), second.tolist(), strict=True))
        return np.arange(float(len(first)))

    monkeypatch.setattr("preflearn.active._criteria._FULL", 40)
    monkeypatch.setattr("preflearn.active._pool.Pool.information", by_number)
    found = suggest(model, X)
    pairs = np.stack(np.triu_indices(len(X), 1), axis=1)
    promising = pairs[np.sort(np.argsort(-one_normal(model, pairs, X))[:40])]
    assert asked == [tuple(pair) for pair in promising.tolist()]
    assert (found.first[0], found.second[0]) == asked[-1]
