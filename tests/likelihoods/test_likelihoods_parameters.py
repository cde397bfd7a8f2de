"""Hyperparameters, names and messages."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from likelihood_table import LIKELIHOODS, TYPICAL, outcomes
from preflearn.exceptions import DataError
from preflearn.likelihoods import LIKELIHOOD_NAMES, Davidson, Gaussian, Likelihood, Logit, Probit, get_likelihood

every = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)


@every
def test_likelihoods_keep_the_contract(likelihood):
    assert isinstance(likelihood, Likelihood)
    assert pickle.loads(pickle.dumps(likelihood)) == likelihood
    with pytest.raises(dataclasses.FrozenInstanceError):
        likelihood.scale = 2.0
    likelihood.check_outcomes(outcomes(likelihood))


@every
def test_theta_goes_round(likelihood):
    theta, bounds = likelihood.theta, likelihood.bounds
    assert bounds.shape == (theta.size, 2)
    assert np.all((bounds[:, 0] < theta) & (theta < bounds[:, 1]))
    again = likelihood.with_theta(theta + 0.25)
    assert type(again) is type(likelihood)
    np.testing.assert_allclose(again.theta, theta + 0.25)
    for name, value in zip(likelihood.names, theta, strict=True):
        assert getattr(likelihood, name) == pytest.approx(np.exp(value))
    with pytest.raises(ValueError, match="theta has shape"):
        likelihood.with_theta([0.0, 0.0])


def test_a_fixed_parameter_is_not_free():
    assert Probit(tie=0.2, tie_fixed=True).theta.size == 0
    assert Gaussian(fixed=True).names == ()
    assert Logit(tie=0.2).names == ("tie",)


@pytest.mark.parametrize("likelihood", TYPICAL.values(), ids=TYPICAL)
def test_ties_are_added_once_and_only_to_outcomes_that_can_be_listed(likelihood):
    tied = likelihood.with_ties(0.3)
    assert set(tied.outcomes) == ({1.0, 0.0, -1.0} if likelihood.outcomes else set())
    assert tied.with_ties(0.7) == tied
    if likelihood.margins or 0.0 in likelihood.outcomes:
        assert tied is likelihood
    else:
        assert len(tied.theta) == len(likelihood.theta) + 1


@pytest.mark.parametrize("likelihood", TYPICAL.values(), ids=TYPICAL)
def test_only_margins_have_a_unit(likelihood):
    if not likelihood.margins:
        assert likelihood.in_unit(100.0, start=True) is likelihood
        return
    one, other = likelihood.in_unit(1.0, start=True), likelihood.in_unit(100.0, start=True)
    # margins ten times as large are the same margins in another unit
    np.testing.assert_allclose(other.log_density([20.0], [10.0])[0] + np.log(10.0), one.log_density([2.0], [1.0])[0])
    np.testing.assert_allclose(other.bounds - other.theta[:, None], one.bounds - one.theta[:, None])
    np.testing.assert_array_equal(likelihood.in_unit(100.0, start=False).theta, likelihood.theta)


@pytest.mark.parametrize("kind", [Probit, Logit])
def test_ties_without_a_threshold_are_refused_with_the_cure(kind):
    y = np.ones(200)
    y[[4, 17, 130]] = 0.0
    message = rf"{kind.__name__}: 3 of 200 comparisons are ties \(rows 4, 17, 130\)[\s\S]*{kind.__name__}\(tie=0.1\)"
    with pytest.raises(DataError, match=message):
        kind().check_outcomes(y)
    with pytest.raises(DataError, match=message):
        kind().log_density(y, np.zeros(200))
    with pytest.raises(DataError, match=message):
        kind().smoothed(y, np.zeros(200), np.ones(200))
    kind(tie=0.1).check_outcomes(y)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Probit(scale=0.0), "scale is 0.0"),
        (lambda: Logit(scale=np.inf), "scale is inf"),
        (lambda: Probit(tie=0.0), "tie is 0.0"),
        (lambda: Logit(tie=-1.0), "tie is -1.0"),
        (lambda: Gaussian(precision=np.nan), "precision is nan"),
        (lambda: Davidson(tie=None), r"tie is None.*for no ties use Logit\(\)"),
    ],
)
def test_impossible_parameters_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_names_give_defaults_and_objects_pass_through():
    defaults = {"probit": Probit(), "logit": Logit(), "gaussian": Gaussian(), "davidson": Davidson()}
    assert {name: get_likelihood(name) for name in defaults} == defaults
    assert all(get_likelihood(name) == type(get_likelihood(name))() for name in LIKELIHOOD_NAMES)
    likelihood = Probit(scale=1.0, tie=0.2)
    assert get_likelihood(likelihood) is likelihood


def test_unknown_names_and_kinds_are_refused():
    with pytest.raises(DataError, match=r'likelihood "probitt" is unknown \(nearest names: "probit"'):
        get_likelihood("probitt")
    with pytest.raises(TypeError, match=r"pass an object, Probit\(\)"):
        get_likelihood(Probit)
    halfway = type("Halfway", (), {"log_density": None, "theta": None})()
    with pytest.raises(TypeError, match="likelihood is a Halfway, which does not answer bend, bounds, check_outcomes"):
        get_likelihood(halfway)
    with pytest.raises(TypeError, match="likelihood is a int"):
        get_likelihood(3)
