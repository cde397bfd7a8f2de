"""Hostile problems: whatever is fed to a preference GP, answers are finite, and what did not converge says so."""

import warnings

import numpy as np
import pytest
from hostile_problems import problem

from fast_share import cases
from preflearn import PreferenceGP
from preflearn.exceptions import DataWarning
from preflearn.models import UnfinishedWarning

pytestmark = pytest.mark.slow


def check(seed, inference, *, free=False):
    """Fit and predict one problem; returns whether inference converged."""
    data, kernel, likelihood, name = problem(seed, free)
    where = f"seed {seed}, {inference}: {name}"
    model = PreferenceGP(kernel, likelihood, inference, n_restarts=0, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data)
        items = np.arange(data.n_items) if data.items is None else data.items
        mean, deviation = model.predict_utility(items, return_std=True)
        covariance = model.predict_utility(items, return_cov=True)[1]
        answers = [mean, deviation, covariance, model.sample_utilities(items, 3, random_state=0)]
        p, q = model.predict_proba(data), model.predict_proba(data.swapped())
    assert np.isfinite(model.log_evidence_), where
    assert np.isfinite(model.theta_).all(), where
    assert all(np.isfinite(answer).all() for answer in answers), where
    assert np.all(deviation >= 0), where
    assert np.all(covariance.diagonal() >= 0), where
    assert np.all((p >= 0) & (p <= 1)), where
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12, err_msg=where)
    np.testing.assert_array_equal(p, q[:, ::-1], err_msg=where)
    kinds = [warning.category for warning in caught]
    assert (UnfinishedWarning in kinds) == (not model.info_.converged), where
    # a search may end where the data show nothing but noise, items may have equal features, and these are said
    assert set(kinds) <= {UnfinishedWarning, DataWarning}, (where, caught)
    return model.info_.converged


@pytest.mark.parametrize(("inference", "n_problems"), [("laplace", cases(20, 50)), ("ep", cases(10, 20))])
def test_some_hostile_problems(inference, n_problems):
    converged = [check(seed, inference) for seed in range(n_problems)]
    assert np.mean(converged) >= 0.95


@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_hostile_problems_with_hyperparameters_to_learn(inference):
    for seed in range(20 if inference == "laplace" else 6):
        check(seed, inference, free=True)


def test_many_hostile_problems():
    converged = [check(seed, ("laplace", "ep")[seed % 2], free=seed % 40 < 2) for seed in range(cases(120, 2000))]
    assert np.mean(converged) >= 0.97 - 1 / len(converged)
