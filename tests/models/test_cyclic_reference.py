"""GPGP against a plain dense Laplace approximation, written as its formulas say."""

import numpy as np
import pytest
from benchmarks import dense_gpgp
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import Comparisons, PreferenceGP


@pytest.mark.filterwarnings("ignore:PreferenceGP. by Laplace:preflearn.exceptions.DataWarning")
@pytest.mark.parametrize("seed", range(5))
def test_evidence_gradient_mode_and_optimum_are_those_of_the_plain_one(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2))
    first, second = np.triu_indices(12, 1)
    z = 3 * (X[first, 0] * X[second, 1] - X[first, 1] * X[second, 0])
    y = np.where(rng.logistic(size=len(first)) < z, 1.0, -1.0)
    data = Comparisons(X, first, second, y)
    start, bounds = np.log([1.5, 1.0]), np.log([(1e-2, 1e2), (0.1, 10.0)])
    kernel = ConstantKernel(1.5, (1e-2, 1e2)) * RBF(1.0, (0.1, 10.0))
    model = PreferenceGP(cyclic_kernel=kernel, likelihood="logit", hyperparameters="fixed").fit(data)
    for theta in (start, start + np.array([0.5, -0.3])):
        value, gradient, g = dense_gpgp.evidence(theta, X, first, second, y)
        ours, slope = model.log_evidence(theta)
        assert ours == pytest.approx(-value, abs=1e-8)
        np.testing.assert_allclose(slope, -gradient, atol=1e-6)
    value, _, g = dense_gpgp.evidence(start, X, first, second, y)
    np.testing.assert_allclose(model.predict_difference(data), g, atol=1e-6)
    _, evidence, _ = dense_gpgp.fit(X, first, second, y, start, bounds)
    searched = PreferenceGP(cyclic_kernel=kernel, likelihood="logit", n_restarts=0).fit(data)
    # from the same start there may be a way to a higher maximum, not to a lower one
    assert searched.log_evidence_ > evidence - 1e-3
    assert searched.log_evidence_ == pytest.approx(
        -dense_gpgp.evidence(searched.theta_, X, first, second, y)[0], abs=1e-3
    )
