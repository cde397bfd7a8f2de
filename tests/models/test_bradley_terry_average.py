"""Bradley-Terry averaged over the variance of its prior."""

import numpy as np
import pytest

from preflearn import BradleyTerry, Comparisons, PreferenceGP


def games(seed=0, n=7, m=25, ties=False):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=n)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    z = u[first] - u[second] + rng.logistic(size=m)
    return Comparisons(n, first, second, np.where(np.abs(z) < 0.5, 0.0, np.sign(z)) if ties else np.sign(z))


@pytest.fixture
def averaged():
    return BradleyTerry(hyperparameters="average").fit(games())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
def test_it_is_the_average_of_a_gaussian_process_without_features(averaged):
    data = games()
    gp = PreferenceGP(likelihood="logit", hyperparameters="average", hyperprior=1.5, n_points=32, n_restarts=0).fit(
        data
    )
    np.testing.assert_allclose(averaged.utility_, gp.predict_utility(), atol=1e-4)
    np.testing.assert_allclose(averaged.std_, gp.predict_utility(return_std=True)[1], rtol=5e-4)
    np.testing.assert_allclose(averaged.predict_proba(data), gp.predict_proba(data), atol=5e-5)
    assert averaged.hyperposterior_.log_evidence == pytest.approx(gp.hyperposterior_.log_evidence, abs=1e-4)
    mean, covariance = averaged.predict_utility(return_cov=True)
    np.testing.assert_allclose(covariance, gp.predict_utility(return_cov=True)[1], atol=5e-4)
    np.testing.assert_allclose(np.sqrt(covariance.diagonal()), averaged.std_)
    np.testing.assert_array_equal(mean, averaged.utility_)


def test_draws_are_of_the_average(averaged):
    draws = averaged.sample_utilities(n_samples=40_000, random_state=0)
    mean, covariance = averaged.predict_utility(return_cov=True)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.06)


@pytest.mark.slow
def test_intervals_are_wider_than_those_of_one_variance_and_many_games_leave_no_difference(averaged):
    one = BradleyTerry().fit(games())
    assert not hasattr(one, "hyperposterior_")
    assert averaged.prior_variance_ == one.prior_variance_
    assert (averaged.rank().std.mean() - one.rank().std.mean()) > 0.01
    many = games(1, m=5000)
    wide, narrow = (BradleyTerry(hyperparameters=how).fit(many).rank() for how in ("average", "maximise"))
    np.testing.assert_allclose(wide.std, narrow.std, rtol=0.02)


@pytest.mark.slow
def test_thresholds_are_averaged_over_too():
    model = BradleyTerry(hyperparameters="average", ties=True).fit(games(2, ties=True))
    points = model.hyperposterior_
    assert points.theta.shape[1] == 2
    assert points.theta[:, 1].std() > 0.01
    p = model.predict_outcome_proba(games(2, ties=True))
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_with_nothing_to_average_it_is_the_one_solution_and_without_a_prior_it_says_so():
    given = BradleyTerry(prior=1.0, hyperparameters="average").fit(games())
    np.testing.assert_array_equal(given.utility_, BradleyTerry(prior=1.0).fit(games()).utility_)
    with pytest.raises(ValueError, match="needs a prior"):
        BradleyTerry(prior=None, hyperparameters="average").fit(games())
