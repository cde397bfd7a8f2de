"""Averages over hyperparameters where most points fall outside the bounds, or inference fails."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import Comparisons, PreferenceGP
from preflearn.inference.average import average
from preflearn.inference.search import Optimum


def optimum(theta, value=0.0):
    theta = np.asarray(theta, dtype=float)
    return Optimum(theta, value, np.zeros_like(theta), 1, True, "")


@pytest.mark.parametrize("d", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_a_flat_evidence_with_its_optimum_in_a_corner_is_the_prior(d):
    def flat(theta):
        return 3.0, np.zeros(d)

    bounds = np.tile([0.0, 1.0], (d, 1))
    for seed in range(5):  # few of the first points are inside: about one of 2^d
        found = average(flat, [optimum(np.zeros(d), 3.0)], bounds, 16, seed)
        assert found.theta.shape[0] >= 4
        assert ((found.theta >= 0) & (found.theta <= 1)).all()
        assert found.weight.sum() == pytest.approx(1)
    many = average(flat, [optimum(np.zeros(d), 3.0)], bounds, 4096, 0)
    np.testing.assert_allclose(many.weight @ many.theta, 0.5, atol=0.1)
    assert many.log_evidence == pytest.approx(3.0, abs=0.2)


def mixture(*peaks):
    """Return the logarithm of a sum of normal densities, (share, mean, deviation) each, and its derivative."""

    def evidence(theta):
        z = np.array([(theta[0] - mean) / deviation for _, mean, deviation in peaks])
        parts = np.array([share / deviation for share, _, deviation in peaks]) * np.exp(-0.5 * z**2 - 0.9189385332)
        slope = -(parts * z / np.array([deviation for *_, deviation in peaks])).sum() / parts.sum()
        return float(np.log(parts.sum())), np.array([slope])

    return evidence


def one_parameter(evidence, at, n_points=16, bounds=(-20.0, 20.0)):
    optima = [optimum([t], evidence(np.array([t]))[0]) for t in at]
    found = average(evidence, sorted(optima, key=lambda one: -one.evidence), np.array([bounds]), n_points, 0)
    mean = float(found.weight @ found.theta[:, 0])
    return found, mean, float(np.sqrt(found.weight @ np.square(found.theta[:, 0] - mean)))


@pytest.mark.parametrize("deviation", [0.01, 0.3, 3.0])
def test_one_parameter_whose_evidence_is_normal(deviation):
    found, mean, spread = one_parameter(mixture((1.0, 1.5, deviation)), [1.5])
    assert mean == pytest.approx(1.5, abs=1e-3 * deviation)
    assert spread == pytest.approx(deviation, rel=0.01)
    assert found.log_evidence == pytest.approx(-np.log(40.0), abs=1e-3)
    assert len(found.weight) <= 24


def test_one_parameter_with_two_optima_counts_both():
    found, mean, _ = one_parameter(mixture((0.7, -10.0, 0.5), (0.3, 8.0, 1.0)), [-10.0, 8.0])
    assert mean == pytest.approx(-0.7 * 10 + 0.3 * 8, abs=0.02)
    assert found.log_evidence == pytest.approx(-np.log(40.0), abs=0.01)


def test_one_parameter_with_a_plateau_far_from_its_optimum():
    found, mean, _ = one_parameter(mixture((0.5, 5.0, 0.3), (0.5, 0.0, 8.0)), [5.0])
    assert mean == pytest.approx(2.5, abs=0.1)
    assert len(found.weight) < 60


@pytest.mark.parametrize("end", [-20.0, 20.0])
def test_one_parameter_whose_optimum_is_at_a_bound(end):
    found, mean, _ = one_parameter(mixture((1.0, end, 1.0)), [end])
    assert mean == pytest.approx(end - np.sign(end) * np.sqrt(2 / np.pi), abs=0.02)
    assert found.log_evidence == pytest.approx(np.log(0.5 / 40), abs=0.02)


@pytest.mark.parametrize("d", [1, 2])
def test_where_inference_fails_points_are_left_out(d):
    def half(theta):
        value = np.nan if theta[0] > 0.6 else 1.0
        return value, np.full(d, value * 0)

    def never(theta):
        return np.nan, np.full(d, np.nan)

    bounds = np.tile([0.0, 1.0], (d, 1))
    found = average(half, [optimum(np.full(d, 0.5), 1.0)], bounds, 32, 0)
    assert found.theta[:, 0].max() <= 0.6
    assert found.weight.sum() == pytest.approx(1)
    assert np.isfinite(found.log_evidence)
    alone = average(never, [optimum(np.full(d, 0.5), 1.0)], bounds, 32, 0)
    np.testing.assert_array_equal(alone.theta, np.full((1, d), 0.5))
    assert alone.effective_size == 1
    assert np.isfinite(alone.log_evidence)


def test_bounds_too_narrow_to_hit_leave_the_optimum():
    bounds = np.array([[0.0, 1e-9]] * 8 + [[0.0, 100.0]])
    found = average(lambda theta: (0.0, np.zeros(9)), [optimum(np.zeros(9))], bounds, 8, 0)
    np.testing.assert_array_equal(found.theta, np.zeros((1, 9)))
    assert found.effective_size == 1


def test_a_parameter_with_equal_bounds_is_fixed():
    data = Comparisons(np.arange(4.0)[:, None], [0, 1, 2, 0], [1, 2, 3, 3], [1.0, 1.0, -1.0, 1.0])

    def answer(constant, length, **more):
        model = PreferenceGP(constant * length, hyperparameters="average", n_points=16, random_state=0, **more)
        return model.fit(data).predict_proba(data)

    bounded, fixed = ConstantKernel(2.0, (2.0, 2.0)), ConstantKernel(2.0, "fixed")
    np.testing.assert_allclose(answer(bounded, RBF(1.0)), answer(fixed, RBF(1.0)), atol=1e-6)
    alone = answer(bounded, RBF(1.0, (1.0, 1.0)))
    np.testing.assert_allclose(
        alone, PreferenceGP(fixed * RBF(1.0), hyperparameters="fixed").fit(data).predict_proba(data)
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*repeat an earlier one", "ignore:.*worth only")
def test_many_parameters_and_few_points():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 2))
    first = rng.integers(15, size=100)
    second = (first + rng.integers(1, 15, size=100)) % 15
    y = X[first, 0] - X[second, 0] + 0.5 * rng.normal(size=100)
    data = Comparisons(X, first, second, y, judge=rng.integers(4, size=100))
    model = PreferenceGP(
        "rbf",
        "gaussian",
        cyclic_kernel="rbf",
        judge_kernel="identity",
        hyperparameters="average",
        n_points=16,
        n_restarts=0,
        random_state=2,
    ).fit(data)
    assert model.hyperposterior_.effective_size > 1.5
    assert np.isfinite(model.predict_proba(data)).all()
