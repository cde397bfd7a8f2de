"""LabelPreferenceGP with an average over hyperparameters: a weighted sum over a dense grid of fixed ones."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import preflearn
from preflearn import LabelPreferenceGP
from preflearn.data import from_label_rankings

X = np.array([[0.0], [0.3], [0.7], [1.0], [1.4]])
DATA = from_label_rankings(X, [list(order) for order in ("abc", "acb", "bac", "cb", "cab")])
NEW = np.array([[0.15], [2.0]])
EDGES = [(0, "a", "b"), (0, "b", "c"), (1, "c", "a")]
AVERAGE = {"hyperparameters": "average", "random_state": 0, "n_restarts": 1}


def on_a_grid(kernel, axes, **options):
    """Return P, E f and cov f of NEW, and the log evidence, by the trapezoidal rule over log parameters."""
    models, log_weight = [], []
    asked = LabelPreferenceGP(kernel, hyperparameters="fixed", **options).fit(DATA)
    for theta in np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes)):
        models.append(clone(asked).set_params(kernel=kernel.clone_with_theta(theta)).fit(DATA))
        log_weight.append(asked.log_evidence(theta)[0])
    ends = [np.where((axis == axis[0]) | (axis == axis[-1]), 0.5, 1.0) for axis in axes]
    log_weight = np.array(log_weight) + np.log(np.prod(np.meshgrid(*ends, indexing="ij"), axis=0)).ravel()
    weight = np.exp(log_weight - log_weight.max())
    evidence = np.log(weight.sum()) + log_weight.max() - sum(np.log(len(axis) - 1) for axis in axes)
    weight /= weight.sum()
    moments = [model.predict_utility(NEW, return_cov=True) for model in models]
    mean = sum(w * m for w, (m, _) in zip(weight, moments, strict=True))
    away = [m - mean for m, _ in moments]
    cov = sum(w * (C + d[:, :, None] * d[:, None, :]) for w, (_, C), d in zip(weight, moments, away, strict=True))
    return sum(w * m.predict_proba(NEW, EDGES) for w, m in zip(weight, models, strict=True)), mean, cov, evidence


BY_EP = pytest.param({"likelihood": "logit", "inference": "ep"}, id="ep", marks=pytest.mark.slow)


@pytest.mark.parametrize("options", [{}, BY_EP])
def test_one_parameter(options):
    kernel = ConstantKernel(1.0, (0.01, 100.0)) * RBF(0.8, "fixed")
    p, mean, cov, evidence = on_a_grid(kernel, [np.linspace(*np.log([0.01, 100.0]), 41)], **options)
    model = LabelPreferenceGP(kernel, **AVERAGE, **options).fit(DATA)
    np.testing.assert_allclose(model.predict_proba(NEW, EDGES), p, atol=2e-3)
    np.testing.assert_allclose(model.predict_utility(NEW), mean, rtol=0.01, atol=2e-3)
    np.testing.assert_allclose(model.predict_utility(NEW, return_cov=True)[1], cov, rtol=0.02, atol=0.02)
    assert model.hyperposterior_.log_evidence == pytest.approx(evidence, abs=0.01)


@pytest.mark.slow
def test_two_parameters():
    kernel = ConstantKernel(1.0, (0.05, 50.0)) * RBF(0.8, (0.1, 5.0))
    p, mean, _, evidence = on_a_grid(kernel, [np.log(np.geomspace(*ends, 16)) for ends in ((0.05, 50.0), (0.1, 5.0))])
    model = LabelPreferenceGP(kernel, n_points=512, **AVERAGE).fit(DATA)
    np.testing.assert_allclose(model.predict_proba(NEW, EDGES), p, atol=0.005)
    np.testing.assert_allclose(model.predict_utility(NEW), mean, atol=0.03)
    assert model.hyperposterior_.log_evidence == pytest.approx(evidence, abs=0.05)


@pytest.mark.parametrize("shared", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_answers_stay_probabilities_and_files_hold_them(shared, tmp_path):
    kernel = ConstantKernel(1.0, (0.05, 50.0)) * RBF(0.8, "fixed")
    model = LabelPreferenceGP(kernel, shared=shared, n_points=16 if shared else 48, **AVERAGE).fit(DATA)
    assert len(model.hyperposterior_.weight) > 3
    P = model.preference_matrix(NEW)
    np.testing.assert_allclose(P + P.transpose(0, 2, 1), 1, atol=1e-15)
    np.testing.assert_array_equal(model.predict_proba(DATA.swapped())[:, ::-1], model.predict_proba(DATA))
    preflearn.save(model, tmp_path / "model.preflearn")
    again = preflearn.load(tmp_path / "model.preflearn")
    np.testing.assert_allclose(again.preference_matrix(NEW), P, rtol=1e-12)
    np.testing.assert_array_equal(again.hyperposterior_.weight, model.hyperposterior_.weight)
    np.testing.assert_array_equal(clone(model).fit(DATA).preference_matrix(NEW), P)
    # a later fit forgets the points
    best = model.set_params(hyperparameters="maximise").fit(DATA)
    assert not hasattr(best, "hyperposterior_")


def test_few_points_are_said():
    kernel = ConstantKernel(1.0) * RBF([0.8])
    with pytest.warns(UserWarning, match="worth only"):
        LabelPreferenceGP(kernel, shared=False, n_points=8, **{**AVERAGE, "n_restarts": 0}).fit(DATA)
