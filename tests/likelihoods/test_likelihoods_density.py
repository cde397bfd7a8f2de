"""log p and its derivatives, into both tails."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_reference import reference, table
from scipy.stats import norm

import preflearn.likelihoods as module
from likelihood_table import LIKELIHOODS, TYPICAL, crossed, outcomes, slope, theta_step

REFERENCE = json.loads((Path(__file__).parent / "reference.json").read_text())
EXTREME = module.Flipped(module.Davidson(scale=0.5, tie=1e3), 0.3)
every = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)


def test_every_likelihood_has_a_row_in_the_table():
    classes = set(module.LIKELIHOOD_CLASSES)
    assert classes == {type(x) for x in TYPICAL.values()}
    assert {kind for kind in classes if kind.log_concave} == {type(x) for x in LIKELIHOODS}
    for kind in classes:  # with and without ties, if it can be both
        if kind.log_concave and len(kind().outcomes) == 2:
            assert {len(x.outcomes) for x in LIKELIHOODS if type(x) is kind} == {2, 3}, f"{kind.__name__} and ties"


def test_every_likelihood_is_public():
    public = {getattr(module, name) for name in module.__all__}
    likelihoods = {x for x in public if isinstance(x, type) and hasattr(x, "log_density")}
    assert likelihoods - {module.Likelihood} == set(module.LIKELIHOOD_CLASSES)


def test_values_and_derivatives_in_420_digits():
    # Relative 1e-10 out to |z| = 40 and at 1000; what underflows must be as small.
    assert len(REFERENCE) == len(list(table()))
    for name, scale, tie, y, z, expected in REFERENCE:
        likelihood = getattr(module, name)(scale=scale, tie=tie)
        got = [*likelihood.log_density([y], [z])]
        got += [x for group in likelihood.log_density_theta([y], [z]) for x in group]
        np.testing.assert_allclose(
            np.ravel(got), expected, rtol=1e-10, atol=1e-290, err_msg=f"{likelihood}, outcome {y}, z {z}"
        )


@pytest.mark.slow
def test_reference_is_reproducible():
    pytest.importorskip("mpmath", reason="the reference is recomputed where mpmath is installed")
    for *case, expected in REFERENCE[::37]:
        np.testing.assert_allclose(reference(*case), expected, rtol=1e-14)


@every
def test_each_derivative_is_the_slope_of_the_one_before(likelihood):
    y, z = crossed(outcomes(likelihood), np.linspace(-40.0, 40.0, 401))
    analytic = likelihood.log_density(y, z)
    step = 0.02 * likelihood.bend.length
    for order in range(3):
        numeric = slope(lambda x, k=order: likelihood.log_density(y, x)[k], z, step)
        # The error of a difference: rounding of the function over the step.
        noise = 1e-14 * np.abs(analytic[order]) / step
        assert np.all(np.abs(analytic[order + 1] - numeric) <= 1e-9 * np.abs(numeric) + 30 * noise + 1e-11), order


@every
def test_theta_derivatives_are_slopes_in_theta(likelihood):
    y, z = crossed(outcomes(likelihood), np.linspace(-40.0, 40.0, 81))
    analytic = likelihood.log_density_theta(y, z)
    assert len(analytic) == likelihood.theta.size == len(likelihood.names) == len(likelihood.bounds)
    step = theta_step(likelihood)
    for j, groups in enumerate(analytic):
        unit = np.eye(likelihood.theta.size)[j]
        for order in range(3):

            def along(t, order=order, unit=unit):
                return likelihood.with_theta(likelihood.theta + t * unit).log_density(y, z)[order]

            noise = 1e-14 * np.abs(along(0.0)) / step
            numeric = slope(along, 0.0, step)
            assert np.all(np.abs(groups[order] - numeric) <= 1e-9 * np.abs(numeric) + 30 * noise + 1e-11), order


@every
def test_densities_are_log_concave_in_z(likelihood):
    y, z = crossed(outcomes(likelihood), np.r_[np.linspace(-60.0, 60.0, 601), -1e3, 1e3])
    assert np.all(likelihood.log_density(y, z).second <= 0.0)


@every
def test_probabilities_of_the_outcomes_given_z_sum_to_one(likelihood):
    if not likelihood.outcomes:
        y = 1.7 + likelihood.noise_deviation * np.linspace(-30.0, 30.0, 60001)
        density = np.exp(likelihood.log_density(y, np.full_like(y, 1.7)).value)
        assert np.isclose(density.sum() * (y[1] - y[0]), 1.0, rtol=1e-12)
        return
    z = np.linspace(-40.0, 40.0, 201)
    total = sum(np.exp(likelihood.log_density(np.full_like(z, y), z).value) for y in outcomes(likelihood))
    np.testing.assert_allclose(total, 1.0, rtol=4e-15)


def test_normal_ones_are_normal():
    y, z = crossed(np.linspace(-3.0, 3.0, 7), np.linspace(-40.0, 40.0, 11))
    for likelihood in [*LIKELIHOODS, *TYPICAL.values()]:
        if likelihood.normal:
            expected = norm.logpdf(y, z, likelihood.noise_deviation)
            np.testing.assert_allclose(likelihood.log_density(y, z).value, expected, rtol=1e-12)
        elif not likelihood.outcomes:
            other = norm.logpdf(y, z, likelihood.noise_deviation)
            assert not np.allclose(likelihood.log_density(y, z).value, other), "it is normal, and should say so"


every_listed = pytest.mark.parametrize(
    "likelihood", [x for x in (*LIKELIHOODS, *TYPICAL.values(), EXTREME) if x.outcomes], ids=repr
)


@every_listed
def test_no_probability_changes_where_outcomes_are_settled(likelihood):
    place, length, settled = likelihood.bend
    assert 0.0 <= place < place + length < settled < np.inf
    z = settled * np.array([1.0, 1.01, 2.0, 1e3, 1e6])
    for y in likelihood.outcomes:
        p = np.exp(likelihood.log_density(np.full_like(z, y), z).value)
        np.testing.assert_allclose(p, p[-1], rtol=4e-16, atol=1e-20)


@every_listed
def test_the_entropy_of_outcomes_bends_most_within_a_few_lengths_of_the_bends(likelihood):
    place, length, settled = likelihood.bend
    z = np.linspace(0.0, settled, 4001)
    entropy = np.zeros_like(z)
    for y in likelihood.outcomes:
        value = likelihood.log_density(np.full_like(z, y), z).value
        entropy -= np.exp(value) * value
    bent = np.abs(np.gradient(np.gradient(entropy, z), z))
    where = z[np.argmax(bent[2:-2]) + 2]
    assert min(where, abs(where - place)) < 4.0 * length


@every
def test_swapping_the_sides_flips_odd_derivatives_exactly(likelihood):
    y, z = crossed(outcomes(likelihood), np.linspace(-45.0, 45.0, 91))
    one, other = likelihood.log_density(y, z), likelihood.log_density(-y, -z)
    for k, sign in enumerate((1, -1, 1, -1)):
        np.testing.assert_array_equal(one[k], sign * other[k])
    for a, b in zip(likelihood.log_density_theta(y, z), likelihood.log_density_theta(-y, -z), strict=True):
        for k, sign in enumerate((1, -1, 1)):
            np.testing.assert_array_equal(a[k], sign * b[k])


@pytest.mark.parametrize("kind", [module.Probit, module.Logit])
def test_a_vanishing_threshold_is_no_threshold(kind):
    z = np.linspace(-30.0, 30.0, 61)
    for y in (1.0, -1.0):
        for a, b in zip(kind(tie=1e-12).log_density(y, z), kind().log_density(y, z), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@every
@given(z=st.floats(-1e3, 1e3), pick=st.integers(0, 2))
def test_everything_is_finite_far_out(likelihood, z, pick):
    y = outcomes(likelihood)
    y = y[[pick % y.size]]
    got = [*likelihood.log_density(y, [z])]
    got += [x for group in likelihood.log_density_theta(y, [z]) for x in group]
    assert np.all(np.isfinite(got))
    assert got[2][0] <= 0.0
