"""Sums of functions where items, landmarks or scales are odd: the answers of the exact model, or a clear message."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import Comparisons, Nystroem, PreferenceGP, RandomFourier
from preflearn.exceptions import DataError, DataWarning

KERNEL = ConstantKernel(2.0) * RBF(1.0)
METHODS = ("random", "kmeans++", "kmeans", "leverage")


def problem(X, m=80, seed=0):
    rng = np.random.default_rng(seed)
    n = len(X)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    z = X[first, 0] - X[second, 0]
    z = z / (np.abs(z).max() or 1.0)
    return Comparisons(X, first, second, np.where(2 * z + rng.normal(size=m) > 0, 1.0, -1.0))


def same_answers(data, approximation, kernel=KERNEL, atol=1e-5, **more):
    exact = PreferenceGP(kernel, "logit", hyperparameters="fixed", **more).fit(data)
    found = clone(exact).set_params(approximation=approximation).fit(data)
    assert found.info_.converged
    assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=atol)
    np.testing.assert_allclose(found.predict_proba(data), exact.predict_proba(data), atol=atol)
    assert np.isfinite(found.log_evidence()[1]).all()
    return found


@pytest.mark.parametrize("own_effect", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_more_landmarks_than_items_are_all_items(method, own_effect):
    data = problem(np.random.default_rng(0).normal(size=(12, 2)))
    found = same_answers(data, Nystroem(500, method=method, random_state=0), own_effect=own_effect)
    assert found.info_.lost == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("own_effect", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_items_that_coincide_are_landmarks_that_coincide(method, own_effect):
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), 5, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = same_answers(problem(X), Nystroem(10, method=method, random_state=0), own_effect=own_effect)
    if method in ("kmeans", "leverage"):
        assert found.info_.lost == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("approximation", [Nystroem(5, random_state=0), RandomFourier(6, random_state=0)], ids=repr)
def test_constant_features_are_said_and_tell_nothing(approximation):
    data = problem(np.ones((8, 2)))
    with pytest.warns(DataWarning, match="the same features"):
        model = PreferenceGP(approximation=approximation, n_restarts=0).fit(data)
    np.testing.assert_allclose(model.predict_proba(data), 0.5, atol=1e-6)
    own = PreferenceGP(KERNEL, approximation=approximation, own_effect=True, n_restarts=0).fit(data)
    assert np.ptp(own.predict_utility()) >= 0.0
    part = np.random.default_rng(0).normal(size=(12, 2)) * [1.0, 0.0]  # one that is constant beside one that is not
    same_answers(problem(part), Nystroem(12))


@pytest.mark.parametrize("size", [1e-8, 1e8])
@pytest.mark.parametrize("own_effect", [False, True])
def test_units_of_the_features_do_not_matter(size, own_effect):
    X = np.random.default_rng(0).normal(size=(30, 2))
    models = [
        PreferenceGP("ard", "logit", own_effect=own_effect, approximation=Nystroem(10, random_state=0), n_restarts=0)
        for _ in range(2)
    ]
    one, other = (model.fit(problem(table)) for model, table in zip(models, (X, size * X), strict=True))
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-3)
    np.testing.assert_allclose(one.predict_utility(), other.predict_utility(), atol=0.02)


@pytest.mark.parametrize("own_effect", [False, True])
@pytest.mark.parametrize("variance", [1e-8, 1e8])
def test_variances_of_any_size_have_finite_answers(variance, own_effect):
    data = problem(np.random.default_rng(0).normal(size=(15, 2)))
    kernel = ConstantKernel(variance, (variance / 10, variance * 10)) * RBF(1.0)
    model = PreferenceGP(
        kernel, "logit", own_effect=own_effect, hyperparameters="fixed", approximation=Nystroem(15)
    ).fit(data)
    assert model.info_.converged
    mean, std = model.predict_utility(return_std=True)
    assert np.isfinite(mean).all()
    assert (std >= 0).all()
    assert np.isfinite(model.log_evidence()[1]).all()


def test_two_items_and_one_landmark():
    data = Comparisons(np.array([[0.0], [1.0]]), [0, 0, 1], [1, 1, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for own_effect in (False, True):
            model = PreferenceGP(KERNEL, own_effect=own_effect, approximation=Nystroem(1), n_restarts=0).fit(data)
            p = model.predict_proba(data)
            assert np.isfinite(p).all()
            np.testing.assert_allclose(p.sum(axis=1), 1.0)
    with pytest.raises(DataError):
        PreferenceGP(approximation=Nystroem(1)).fit(Comparisons(np.array([[0.0]]), [], []))


@pytest.mark.parametrize(
    ("approximation", "message"),
    [(Nystroem(0), "n_components"), (Nystroem(2.5), "n_components"), (Nystroem(3, method="best"), '"kmeans"')],
    ids=repr,
)
def test_parameters_of_landmarks_are_checked(approximation, message):
    data = problem(np.random.default_rng(0).normal(size=(9, 2)))
    with pytest.raises(ValueError, match=message):
        PreferenceGP(approximation=approximation).fit(data)


def test_outliers_and_items_that_were_never_compared_change_nothing_else():
    X = np.random.default_rng(0).normal(size=(30, 2))
    data = problem(X)
    far = np.vstack([X, [[1e6, -1e6]]])
    with_far = Comparisons(far, data.first, data.second, data.outcome)
    approximation = Nystroem(8, method="kmeans", random_state=0)
    one, other = (
        PreferenceGP(KERNEL, hyperparameters="fixed", approximation=approximation).fit(table)
        for table in (data, with_far)
    )
    np.testing.assert_allclose(one.predict_proba(data), other.predict_proba(data), atol=1e-12)
