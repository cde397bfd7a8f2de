"""The sinc curve: its Gaussian processes in small, and the averaging over the kernel's width against a plain grid."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from fast_share import cases, thorough
from preflearn import PreferenceGP
from preflearn.datasets import make_sinc_preferences
from preflearn.likelihoods import Flipped
from preflearn.reproduce import Case
from preflearn.reproduce.papers import sinc


@pytest.fixture(scope="module")
def data():
    return make_sinc_preferences(flip=0.05, margins=False, random_state=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_processes_stand_to_each_other_as_the_notes_say():
    rows = {one["row"]: one for one in sinc.SINC.trial(Case(0, 0, sinc.SINC.settings))}
    noisy, averaged = rows["GP, EP, 5 % reversed"], rows["GP, EP, averaged, 5 % reversed"]
    laplace, clean = rows["GP, Laplace, 5 % reversed"], rows["GP, EP"]
    assert clean["test"] <= 0.035
    assert rows["GP, EP, with a flip rate, 5 % reversed"]["test"] <= 0.035
    assert rows["GP, EP, with a flip rate, 5 % reversed"]["loss"] < noisy["loss"]
    assert clean["grid"] < noisy["grid"]
    assert averaged["loss"] <= noisy["loss"] + 0.002
    assert laplace["loss"] == pytest.approx(noisy["loss"], abs=0.01)
    assert rows["GP on the margins"]["grid"] <= 0.001


@pytest.mark.slow
def test_kpcrank_learns_the_curve_from_margins():
    settings = {**sinc.SINC.settings, "processes": []}
    for seed in range(cases(4, 20)):
        (found,) = sinc.SINC.trial(Case(seed, 0, settings))
        assert found["test"] <= 0.005
        assert found["grid"] <= 0.005


@thorough
@pytest.mark.slow
def test_averaging_is_that_of_a_plain_grid(data):
    model = clone(sinc.AVERAGED).fit(data.train)
    total, probability, density = 0.0, 0.0, {}
    for log_variance in np.arange(-0.9, 5, 0.7):
        for log_width in np.arange(-2.2, 0.25, 0.2):
            kernel = ConstantKernel(np.exp(log_variance), "fixed") * RBF(np.exp(log_width), "fixed")
            point = PreferenceGP(kernel, inference="ep").fit(data.train)
            weight = np.exp(point.log_evidence_ - model.log_evidence_)
            total, probability = total + weight, probability + weight * point.predict_proba(data.test)
            density[log_width] = density.get(log_width, 0.0) + weight / 0.2
    # 64 weighted points: the rest is their sampling error
    np.testing.assert_allclose(model.predict_proba(data.test), probability / total, atol=0.015)
    log_width, posterior = sinc.width_posterior(model)
    assert posterior.sum() * (log_width[1] - log_width[0]) == pytest.approx(1)
    plain = CubicSpline(list(density), np.log(list(density.values())) - np.log(total))
    inside = (log_width > min(density)) & (log_width < max(density))
    np.testing.assert_allclose(posterior[inside], np.exp(plain(log_width[inside])), atol=0.01)
    assert posterior[~inside].max() < 0.01


def test_held_out_pairs_are_of_test_points_and_flipped_by_the_share(data):
    pairs = sinc.held_out(data, 0.1, 3, 500)
    value = np.sinc(pairs.items[:, 0])
    truth = np.sign(value[pairs.first] - value[pairs.second])
    assert (pairs.outcome != truth).sum() == 50
    assert len({*zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)}) == 500
    assert not set(pairs.items[:, 0]) & set(data.train.items[:, 0])


@pytest.mark.slow
def test_a_flip_rate_ends_where_its_search_ended():
    # from nothing EP does not converge at this optimum; from the sites of the search it is there already
    data = make_sinc_preferences(flip=0.05, margins=False, random_state=4)
    kernel = ConstantKernel(10.0, (1e-2, 1e6)) * RBF(0.5, (0.05, 20.0))
    model = PreferenceGP(kernel, Flipped(), inference="ep", n_restarts=0).fit(data.train)
    assert model.info_.converged
    assert model.log_evidence_ == pytest.approx(model.optima_[0].evidence, abs=1e-6)
