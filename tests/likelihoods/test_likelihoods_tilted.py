"""Tilted moments and predictive probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import simpson
from scipy.special import ndtr

from fast_share import cases, mostly_slow
from likelihood_table import LIKELIHOODS, crossed, moments, outcomes, slope, theta_step
from preflearn.likelihoods import Probit

every = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
every_fifth = pytest.mark.parametrize("likelihood", mostly_slow(LIKELIHOODS, 5), ids=repr)
MEANS = np.array([-40.0, -17.0, -4.0, -0.5, 0.0, 1.5, 8.5, 40.0])
VARIANCES = np.array([1e-6, 1e-3, 0.2, 0.99, 1.01, 4.0, 30.0, 300.0, 1e4])
X, W = np.polynomial.legendre.leggauss(20)


def by_brute_force(likelihood, y, mean, variance, power=1.0):
    """log Z, mean, variance and E[d log p / dtheta] by panels of 20 nodes, narrow around mode and thresholds."""

    def exponents(z):
        return power * likelihood.log_density(np.full(z.size, y), z).value - (z - mean) ** 2 / 2 / variance

    place, scale, _ = likelihood.bend
    bends = [-place, 0.0, place] if likelihood.outcomes else [y]
    width = np.sqrt(variance)
    low, high = min(mean, *bends) - 10 * width - 30 * scale, max(mean, *bends) + 10 * width + 30 * scale
    while high - low > 1e-3 * width:
        grid = np.linspace(low, high, 41)
        best = int(np.argmax(exponents(grid)))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 40)]
    start, end = low - 10 * width, high + 10 * width
    reach = scale * np.r_[0.0, np.geomspace(0.5, 1e6, 80)]
    edges = np.concatenate([np.linspace(start, end, 60)] + [c + s * reach for c in bends for s in (-1, 1)])
    edges = np.unique(np.clip(edges, start, end))
    half = np.diff(edges)[:, None] / 2
    z = (edges[:-1, None] + half * (1 + X)).ravel()
    exponent = exponents(z)
    weight = (half * W).ravel() * np.exp(exponent - exponent.max())
    mass = weight.sum()
    weight /= mass
    centre = weight @ (z - mean)
    log_z = exponent.max() + np.log(mass) - 0.5 * np.log(2 * np.pi * variance)
    by_theta = [power * (weight @ group[0]) for group in likelihood.log_density_theta(np.full(z.size, y), z)]
    return log_z, mean + centre, weight @ (z - mean - centre) ** 2, by_theta


@every_fifth
def test_tilted_moments_are_those_of_brute_force(likelihood):
    y, mean, variance = crossed(outcomes(likelihood), MEANS, VARIANCES)
    tilted, by_theta = moments(likelihood, y, mean, variance), likelihood.tilted_theta(y, mean, variance)
    assert by_theta.shape == (y.size, likelihood.theta.size)
    for i in range(y.size):
        log_z, centre, spread, expected = by_brute_force(likelihood, y[i], mean[i], variance[i])
        where = f"outcome {y[i]}, mean {mean[i]}, variance {variance[i]}"
        # of Z, of the standard deviation, of the variance
        assert tilted.log_z[i] == pytest.approx(log_z, rel=1e-12, abs=1e-12), where
        assert abs(tilted.mean[i] - centre) <= 1e-11 * np.sqrt(spread) + 1e-13 * abs(centre), where
        assert tilted.variance[i] == pytest.approx(spread, rel=1e-11), where
        np.testing.assert_allclose(by_theta[i], expected, rtol=1e-10, atol=1e-12, err_msg=where)


POWERS = np.array([0.999, 0.3, 1e-2, 1e-6])


@pytest.mark.slow
@every
def test_tilted_moments_of_powers_are_those_of_brute_force(likelihood):
    y, mean, variance, power = crossed(
        outcomes(likelihood), MEANS[::2], np.r_[VARIANCES[1::2], 1e7], POWERS[:: cases(2, 1)]
    )
    tilted, by_theta = moments(likelihood, y, mean, variance, power), likelihood.tilted_theta(y, mean, variance, power)
    assert by_theta.shape == (y.size, likelihood.theta.size)
    for i in range(y.size):
        log_z, centre, spread, expected = by_brute_force(likelihood, y[i], mean[i], variance[i], power[i])
        where = f"outcome {y[i]}, mean {mean[i]}, variance {variance[i]}, power {power[i]}"
        assert tilted.log_z[i] == pytest.approx(log_z, rel=1e-12, abs=1e-12), where
        assert abs(tilted.mean[i] - centre) <= 1e-11 * np.sqrt(spread) + 1e-13 * abs(centre), where
        assert tilted.variance[i] == pytest.approx(spread, rel=1e-11), where
        np.testing.assert_allclose(by_theta[i], expected, rtol=1e-10, atol=1e-12, err_msg=where)


@every
def test_powers_just_below_one_are_the_density_itself(likelihood):
    y, mean, variance = crossed(outcomes(likelihood), MEANS, VARIANCES)
    near = np.full_like(mean, 1 - 2.0**-50)
    for a, b in zip(likelihood.smoothed(y, mean, variance, near), likelihood.smoothed(y, mean, variance), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


@every_fifth
def test_smoothed_derivatives_of_powers_are_slopes_and_flip_exactly(likelihood):
    y, mean, variance, power = crossed(outcomes(likelihood), MEANS, VARIANCES[::2], POWERS)
    smoothed = likelihood.smoothed(y, mean, variance, power)
    step = 0.02 * np.sqrt(variance + likelihood.bend.length**2)
    for order in range(2):
        numeric = slope(lambda m, k=order: likelihood.smoothed(y, m, variance, power)[k], mean, step)
        noise = 1e-14 * np.abs(smoothed[order]) / step + 1e-15 / step
        analytic = smoothed[order + 1]
        assert np.all(np.abs(analytic - numeric) <= 1e-8 * np.abs(analytic) + 30 * noise)
    np.testing.assert_allclose(1 + variance * smoothed.second, smoothed.rest, rtol=1e-7)
    other = likelihood.smoothed(-y, -mean, variance, power)
    for a, b, sign in zip(smoothed, other, (1, -1, 1, 1), strict=True):
        np.testing.assert_array_equal(a, sign * b)


@every
def test_smoothed_derivatives_are_the_tilted_moments_and_slopes_of_log_z(likelihood):
    y, mean, variance = crossed(outcomes(likelihood), MEANS, VARIANCES)
    tilted, smoothed = moments(likelihood, y, mean, variance), likelihood.smoothed(y, mean, variance)
    np.testing.assert_array_equal(tilted.log_z, smoothed.log_z)
    deviation = np.sqrt(tilted.variance)
    assert np.all(np.abs(mean + variance * smoothed.first - tilted.mean) <= 1e-9 * deviation + 1e-13 * np.abs(mean))
    np.testing.assert_allclose(variance * (1 + variance * smoothed.second), tilted.variance, rtol=1e-7)
    assert np.all(smoothed.second <= 0.0)
    step = 0.02 * np.sqrt(variance + likelihood.bend.length**2)
    for order in range(2):
        numeric = slope(lambda m, k=order: likelihood.smoothed(y, m, variance)[k], mean, step)
        noise = 1e-12 * np.abs(smoothed[order]) / step
        analytic = smoothed[order + 1]
        assert np.all(np.abs(analytic - numeric) <= 1e-8 * np.abs(analytic) + 10 * noise + 1e-10 / step)


@every
def test_theta_derivatives_of_log_z_are_slopes(likelihood):
    y, mean, variance = crossed(outcomes(likelihood), MEANS, VARIANCES)
    analytic = likelihood.tilted_theta(y, mean, variance)
    for j, unit in enumerate(np.eye(likelihood.theta.size)):

        def along(t, unit=unit):
            return moments(likelihood.with_theta(likelihood.theta + t * unit), y, mean, variance).log_z

        step = theta_step(likelihood, np.abs(MEANS).max())
        noise = 1e-14 * np.abs(along(0.0)) / step
        numeric = slope(along, 0.0, step)
        assert np.all(np.abs(analytic[:, j] - numeric) <= 1e-8 * np.abs(numeric) + 30 * noise + 1e-10)


@every
def test_a_point_mass_sees_the_density_itself(likelihood):
    y, mean = crossed(outcomes(likelihood), MEANS)
    density = likelihood.log_density(y, mean)
    for variance in (0.0, 1e-14):
        smoothed = likelihood.smoothed(y, mean, np.full_like(mean, variance))
        for a, b in zip(smoothed[:3], density, strict=False):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(smoothed.rest, 1.0, rtol=1e-9)


@every
def test_rows_of_probability_sum_to_one_and_swap_bit_for_bit(likelihood):
    mean, variance = crossed(np.r_[np.linspace(-40.0, 40.0, 161), 1e-300, -0.0, 1e3], np.r_[0.0, VARIANCES])
    p = likelihood.probability(mean, variance)
    assert p.shape == (mean.size, 3)
    assert np.all(p >= 0.0)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(likelihood.probability(-mean, variance), p[:, ::-1])
    if 0.0 not in likelihood.outcomes:
        assert np.all(p[:, 1] == 0.0)
        assert np.all(p[:, 0] + p[:, 2] == 1.0)
        assert np.all(p[mean == 0.0, 0] == 0.5)


@every
def test_answers_do_not_depend_on_what_else_is_asked(likelihood):
    mean, variance = crossed(MEANS, VARIANCES)
    p, tilted = likelihood.probability(mean, variance), moments(likelihood, np.ones_like(mean), mean, variance)
    for i in range(0, mean.size, 5):
        # In a call of its own, and as the swapped comparison there.
        np.testing.assert_array_equal(likelihood.probability(mean[[i]], variance[[i]]), p[[i]])
        np.testing.assert_array_equal(likelihood.probability(-mean[[i]], variance[[i]]), p[[i], ::-1])
        np.testing.assert_allclose(
            moments(likelihood, [1.0], mean[[i]], variance[[i]]), np.stack(tilted)[:, [i]], rtol=1e-13
        )


@every
def test_probability_is_z_of_each_outcome(likelihood):
    mean, variance = crossed(MEANS, VARIANCES)
    p = likelihood.probability(mean, variance)
    if likelihood.normal:
        np.testing.assert_allclose(
            p[:, 0], ndtr(mean / np.hypot(np.sqrt(variance), likelihood.noise_deviation)), rtol=1e-12
        )
        return
    if not likelihood.outcomes:  # of margins: what the density of a margin leaves above zero
        for mean, variance in ((0.0, 1.0), (1.5, 0.3), (-0.4, 4.0)):
            unit = np.hypot(likelihood.noise_deviation, np.sqrt(variance))
            y = np.linspace(0.0, max(mean, 0.0) + 40.0 * unit, 20001)
            above = simpson(np.exp(likelihood.smoothed(y, mean + 0 * y, variance + 0 * y).log_z), x=y)
            np.testing.assert_allclose(likelihood.probability([mean], [variance]), [[above, 0.0, 1 - above]], atol=1e-8)
        return
    for y in outcomes(likelihood):
        z = np.exp(moments(likelihood, np.full_like(mean, y), mean, variance).log_z)
        np.testing.assert_allclose(p[:, int(1 - y)], z, rtol=1e-11, atol=1e-300)


def test_tilted_variance_of_a_hopeless_comparison_keeps_its_digits():
    # x standard deviations on the wrong side what remains is 1/x² - 6/x⁴ + ..., far below the rounding of 1 + g''.
    mean, variance, x = -1e9, 1e10, 1e9 / np.sqrt(1e10 + 1.0)
    share = variance / (1.0 + variance)
    expected = variance * (1.0 / (1.0 + variance) + share * (1 / x**2 - 6 / x**4))
    assert moments(Probit(scale=1.0), [1.0], [mean], [variance]).variance[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("outcome", "tie"), [(1.0, None), (1.0, 0.7), (0.0, 0.7)])
def test_powers_deep_in_the_tail_keep_their_digits(outcome, tie):
    # log Φ(u) is -u²/2 - log(-u) - log(2π)/2 - 1/u² there, and 1/u is all but constant over N(r u, r v).
    h, mean = tie or 0.0, -1e7
    for variance, power in ((1e-3, 0.5), (1.0, 0.9), (1e3, 0.2), (1e4, 1e-3)):
        r = 1 / (1 + power * variance)
        u = mean - h if outcome else mean + h  # of a tie only the nearer end of the interval is left
        d = Probit(1.0, tie=tie).smoothed([outcome], [mean], [variance], [power])
        assert d.first[0] == pytest.approx(-power * r * u + r * power / abs(r * u), rel=1e-14)
        assert d.rest[0] == pytest.approx(r + variance * r**2 * power / (r * u) ** 2, rel=1e-11)
        log_z = 0.5 * np.log(r) - 0.5 * power * r * u**2 - power * np.log(abs(r * u) * np.sqrt(2 * np.pi))
        assert d.log_z[0] == pytest.approx(log_z, rel=1e-15)


@pytest.mark.slow
@every
@given(size=st.floats(-2.0, 25.0), log_variance=st.floats(-14.0, 25.0), power=st.floats(1e-12, 1.0), side=st.booleans())
def test_tilted_powers_are_finite_and_narrower_however_far_out(likelihood, size, log_variance, power, side):
    y, variance = outcomes(likelihood), 10.0**log_variance
    mean = np.full_like(y, (1 if side else -1) * 10.0**size)
    d = likelihood.smoothed(y, mean, np.full_like(y, variance), np.full_like(y, power))
    assert np.all(np.isfinite(d))
    assert np.all((d.rest > 0) & (d.rest <= 1) & (d.second <= 0))
    assert np.all(np.isfinite(likelihood.tilted_theta(y, mean, np.full_like(y, variance), np.full_like(y, power))))


def test_probit_prediction_is_equation_19_of_the_paper():
    # Unit noise on both items: Φ((μ_r - μ_s) / sqrt(2 σ² + var)).
    p = Probit().probability([1.3], [0.7])
    assert p[0, 0] == pytest.approx(ndtr(1.3 / np.sqrt(2.7)), rel=1e-15)


@every_fifth
@given(mean=st.floats(-1e3, 1e3), log_variance=st.floats(-8.0, 8.0), pick=st.integers(0, 2))
def test_tilted_is_finite_and_narrower_far_out(likelihood, mean, log_variance, pick):
    y, variance = outcomes(likelihood), np.array([10.0**log_variance])
    y = y[[pick % y.size]]
    tilted = moments(likelihood, y, [mean], variance)
    assert np.all(np.isfinite(tilted))
    assert 0.0 < tilted.variance[0] <= variance[0]
    assert np.all(np.isfinite(likelihood.smoothed(y, [mean], variance)))
    assert np.all(np.isfinite(likelihood.tilted_theta(y, [mean], variance)))
    p, q = likelihood.probability([mean], variance), likelihood.probability([-mean], variance)
    np.testing.assert_array_equal(p, q[:, ::-1])
    assert abs(p.sum() - 1.0) <= 1e-15
