"""What a weight means to EP: repeats where it is whole, a power of the likelihood below one, continuous throughout."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from fast_share import mostly_slow
from inference_by_hand import ep
from likelihood_table import LOG_CONCAVE, drawn_outcomes
from preflearn import Comparisons, PreferenceGP
from preflearn.inference.contract import Observed
from preflearn.inference.dense import DenseSystem, Design
from preflearn.kernels import gram
from preflearn.terms import pair_operator

every = pytest.mark.parametrize("likelihood", LOG_CONCAVE, ids=repr)


def problem(seed, likelihood, n=7, m=12):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    y = drawn_outcomes(rng, likelihood, m)
    K = gram(ConstantKernel(2.0) * RBF(0.8), rng.uniform(-1, 1, size=(n, 2)))
    return DenseSystem.of(pair_operator(first, second, n), K), y, rng


@every
def test_the_evidence_is_continuous_where_sites_begin_to_be_repeated(likelihood):
    system, y, _ = problem(0, likelihood)
    weights = [np.full(len(y), w) for w in (1 - 1e-7, 1.0, 1 + 1e-7)]
    values = [ep(system, Observed(y, weight), likelihood)[0].log_evidence for weight in weights]
    assert np.abs(np.diff(values)).max() < 1e-5
    assert abs(values[0] - 2 * values[1] + values[2]) < 1e-9


@every
def test_swapping_sides_changes_nothing(likelihood):
    system, y, rng = problem(1, likelihood)
    weight, side = rng.uniform(0.05, 2.0, len(y)), rng.choice([-1.0, 1.0], len(y))
    turned = DenseSystem(Design(side[:, None] * system.design.A.toarray()), system.factor)
    one, _, _ = ep(system, Observed(y, weight), likelihood)
    other, _, _ = ep(turned, Observed(side * y, weight), likelihood)
    assert other.log_evidence == pytest.approx(one.log_evidence, abs=1e-11)
    np.testing.assert_allclose(other.u, one.u, atol=1e-11)


@every
def test_vanishing_weights_leave_the_prior(likelihood):
    system, y, _ = problem(2, likelihood)
    posterior, info, _ = ep(system, Observed(y, np.full(len(y), 1e-10)), likelihood)
    assert info.converged
    assert abs(posterior.log_evidence) < 1e-8
    assert np.abs(posterior.u).max() < 1e-8


@every
def test_warm_starts_end_where_cold_ones_do(likelihood):
    system, y, rng = problem(3, likelihood)
    seen = Observed(y, rng.uniform(0.05, 50.0, len(y)))
    cold, _, sites = ep(system, seen, likelihood)
    _, info, _ = ep(system, seen, likelihood, start=sites)
    assert info.steps == 0
    wrong = rng.uniform(0, 5, len(y)), 10 * rng.normal(size=len(y))
    warm, info, _ = ep(system, seen, likelihood, start=wrong)
    assert info.converged
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-9)
    np.testing.assert_allclose(warm.u, cold.u, atol=1e-7)


@pytest.mark.parametrize("likelihood", mostly_slow([x for x in LOG_CONCAVE if x.outcomes], 5), ids=repr)
def test_a_million_votes_on_one_pair_converge(likelihood):
    for votes in ([1e6], [1e6, 3e5], [1e6, 0.3]):
        A = pair_operator(np.zeros(len(votes), dtype=int), np.ones(len(votes), dtype=int), 2)
        y = np.array([1.0, -1.0])[: len(votes)]
        for variance in (1e-2, 1.0, 1e2, 1e4):
            system = DenseSystem.of(A, variance * np.eye(2))
            posterior, info, _ = ep(system, Observed(y, np.array(votes)), likelihood)
            assert info.converged, (votes, variance, info)
            assert posterior.x[0] > 0


@pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")
def test_split_weights_are_whole_ones_to_the_estimator():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(6, 2))
    first, second = np.array([0, 1, 2, 3, 4]), np.array([1, 2, 3, 4, 5])
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    model = PreferenceGP(ConstantKernel(2.0) * RBF(1.0), inference="ep", hyperparameters="fixed")
    whole = model.fit(Comparisons(X, first, second, y)).predict_utility(X)
    split = Comparisons(X, np.r_[first, first], np.r_[second, second], np.r_[y, y], weight=np.repeat([0.3, 0.7], 5))
    np.testing.assert_allclose(model.fit(split).predict_utility(X), whole, atol=1e-9)
    light = model.fit(Comparisons(X, first, second, y, weight=np.full(5, 0.3))).predict_utility(X)
    assert np.all(np.sign(light) == np.sign(whole))
    assert np.abs(light).max() < np.abs(whole).max()
