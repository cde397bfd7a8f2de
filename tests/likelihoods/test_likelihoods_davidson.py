"""Davidson's ties: what the model says of ties and of the rest, its limit, and that ν is found again."""

import numpy as np
import pytest

from likelihood_table import crossed
from preflearn import Comparisons, PreferenceGP
from preflearn.likelihoods import Davidson, Logit

WEIGHTS = np.geomspace(1e-8, 1e8, 9)
every_weight = pytest.mark.parametrize("tie", WEIGHTS)


@every_weight
def test_ties_are_the_geometric_mean_of_the_sides_and_the_rest_is_the_logit(tie):
    z = np.linspace(-60.0, 60.0, 241)
    first, tied, second = (Davidson(2.0, tie).log_density(np.full_like(z, y), z).value for y in (1.0, 0.0, -1.0))
    np.testing.assert_allclose(tied, np.log(tie) + (first + second) / 2, rtol=1e-14, atol=1e-13)
    np.testing.assert_allclose(first - second, z / 2.0, rtol=1e-13, atol=1e-13)


@every_weight
def test_it_is_log_concave_whatever_the_weight_and_all_outcomes_bend_alike(tie):
    z = np.r_[np.linspace(-100.0, 100.0, 2001), -1e3, 1e3]
    bends = [Davidson(tie=tie).log_density(np.full_like(z, y), z)[2:] for y in (1.0, 0.0, -1.0)]
    assert np.all(bends[0][0] <= 0.0)
    np.testing.assert_array_equal(bends[0], bends[1])
    np.testing.assert_array_equal(bends[0], bends[2])


def test_it_bends_where_a_tie_and_a_win_are_as_likely_and_not_at_the_weight():
    for tie in (1e2, 1e5):
        place, length, _ = Davidson(2.0, tie).bend
        z = np.linspace(0.0, 2 * place, 20001)
        bent = -Davidson(2.0, tie).log_density(np.zeros_like(z), z).second
        assert abs(z[np.argmax(bent)] - place) < 0.1 * length
        first, tied, _ = Davidson(2.0, tie).probability([place], [0.0])[0]
        assert first == pytest.approx(tied, rel=3 / tie)


def test_sure_ties_keep_their_digits():
    # 1 - P(tie) = 2 cosh(t/2) / ν + ..., far below the rounding of log ν
    value = Davidson(tie=1e12).log_density([0.0], [0.5]).value[0]
    assert value == pytest.approx(-2e-12 * np.cosh(0.25), rel=1e-11, abs=0.0)


def test_without_ties_it_is_the_logit():
    y, mean, variance, power = crossed([1.0, -1.0], [-40.0, -3.0, 0.0, 0.7, 20.0], [1e-6, 0.5, 3.0, 1e4], [1.0, 0.3])
    rare, logit = Davidson(1.5, 1e-14), Logit(1.5)
    for a, b in (
        (rare.log_density(y, mean), logit.log_density(y, mean)),
        (rare.smoothed(y, mean, variance, power), logit.smoothed(y, mean, variance, power)),
        (rare.probability(mean, variance).T, logit.probability(mean, variance).T),
    ):
        np.testing.assert_allclose(np.stack(a), np.stack(b), rtol=1e-10, atol=1e-12)


def simulated(tie, n_comparisons, seed=0):
    rng = np.random.default_rng(seed)
    utility = rng.permutation(np.linspace(-2.0, 2.0, 12))
    pair = np.stack(np.triu_indices(12, 1))[:, rng.integers(0, 66, n_comparisons)]
    z = utility[pair[0]] - utility[pair[1]]
    p = np.stack([np.exp(z / 2), np.full_like(z, tie), np.exp(-z / 2)])
    outcome = 1 - (rng.random(n_comparisons) > np.cumsum(p, axis=0) / p.sum(axis=0)).sum(axis=0)
    rows, count = np.unique(np.vstack([pair, outcome]), axis=1, return_counts=True)
    return Comparisons(12, *rows, weight=count)


@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_a_model_of_comparisons_without_ties_is_that_of_the_logit(inference):
    data = simulated(1e-9, 60)
    rare, logit = (
        PreferenceGP(likelihood=likelihood, inference=inference, n_restarts=0).fit(data)
        for likelihood in (Davidson(tie=1e-12, tie_fixed=True), Logit())
    )
    assert rare.log_evidence_ == pytest.approx(logit.log_evidence_, abs=1e-8)
    np.testing.assert_allclose(rare.predict_utility(), logit.predict_utility(), atol=1e-5)


def test_where_nothing_is_tied_the_weight_of_ties_goes_to_its_bound():
    model = PreferenceGP(likelihood="davidson", n_restarts=0).fit(simulated(1e-9, 60))
    assert model.likelihood_.tie == pytest.approx(1e-4)


@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("tie", [0.4, 3.0])
def test_the_weight_of_ties_is_found_again(inference, tie):
    data = simulated(tie, 1500)
    model = PreferenceGP(likelihood="davidson", inference=inference, n_restarts=0).fit(data)
    assert isinstance(model.likelihood_, Davidson)
    # log ν has a standard error of about 1 / sqrt(1500 τ (1 - τ)), less than 0.08 here.
    assert abs(np.log(model.likelihood_.tie / tie)) < 0.2
    p = model.predict_outcome_proba(data)
    np.testing.assert_array_equal(p[:, ::-1], model.predict_outcome_proba(data.swapped()))
    assert np.average(p[:, 1] - (data.outcome == 0), weights=data.weight) == pytest.approx(0.0, abs=0.02)
    wrong = PreferenceGP(likelihood=Davidson(tie=2 * tie, tie_fixed=True), inference=inference, n_restarts=0).fit(data)
    assert wrong.log_evidence_ < model.log_evidence_ - 10.0
