"""P(f1 > f2), kpcrank (11): who is better, beside who wins the next comparison."""

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import BradleyTerry, Comparisons, LabelPreferenceGP, LabelPreferences, PreferenceGP
from preflearn.likelihoods import Gaussian

KERNEL = ConstantKernel(2.0) * RBF(0.8)
GIVEN = {"hyperparameters": "fixed"}


def games(seed=0, n=12, m=80):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    return Comparisons(X, first, second, 3 * (X[first, 0] - X[second, 0]) + rng.normal(size=m))


def won(seed, features=True):
    data = games(seed)
    return Comparisons(data.items if features else data.n_items, data.first, data.second, np.sign(data.outcome))


def test_score_differences_have_the_papers_closed_form():
    data = games()
    X, K, s2 = data.items, KERNEL(data.items), 0.7
    B = np.eye(12)[data.first] - np.eye(12)[data.second]
    S = B @ K @ B.T + s2 * np.eye(len(data))
    new = np.random.default_rng(1).uniform(-2, 2, size=(4, 2))
    k = KERNEL(new, X) @ B.T
    mean = k @ np.linalg.solve(S, data.outcome)
    R = KERNEL(new) - k @ np.linalg.solve(S, k.T)
    asked = Comparisons(new, [0, 1, 2, 3], [1, 2, 3, 0])
    z = (mean[[0, 1, 2, 3]] - mean[[1, 2, 3, 0]]) / np.sqrt(
        [R[i, i] + R[j, j] - 2 * R[i, j] for i, j in ((0, 1), (1, 2), (2, 3), (3, 0))]
    )
    model = PreferenceGP(KERNEL, Gaussian(1 / s2), **GIVEN).fit(data)
    np.testing.assert_allclose(model.predict_proba(asked, noise=False)[:, 1], ndtr(z), atol=1e-9)


@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_it_is_the_half_plane_of_a_two_dimensional_gaussian(inference):
    """The density of both utilities is integrated over f1 > f2: first over f1 in closed form, then over f2 by sums."""
    model = PreferenceGP(KERNEL, inference=inference, **GIVEN).fit(won(4))
    new = np.random.default_rng(5).uniform(-2, 2, size=(2, 2))
    mean, R = model.predict_utility(new, return_cov=True)
    f2 = mean[1] + np.sqrt(R[1, 1]) * np.linspace(-12, 12, 20_001)
    density = np.exp(-((f2 - mean[1]) ** 2) / (2 * R[1, 1])) / np.sqrt(2 * np.pi * R[1, 1])
    given = mean[0] + R[0, 1] / R[1, 1] * (f2 - mean[1])
    above = ndtr((given - f2) / np.sqrt(R[0, 0] - R[0, 1] ** 2 / R[1, 1]))
    by_hand = np.sum(above * density) * (f2[1] - f2[0])
    found = model.predict_proba(Comparisons(new, [0], [1]), noise=False)
    np.testing.assert_allclose(found, [[1 - by_hand, by_hand]], atol=1e-9)
    paper = ndtr((mean[0] - mean[1]) / np.sqrt(R[0, 0] + R[1, 1] - 2 * R[0, 1]))
    assert by_hand == pytest.approx(paper, abs=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        PreferenceGP(KERNEL, **GIVEN),
        PreferenceGP(KERNEL, inference="ep", ties=True, **GIVEN),
        PreferenceGP(KERNEL, cyclic_kernel=0.5 * RBF(1.0), **GIVEN),
        PreferenceGP(hyperparameters="average", n_points=8, n_restarts=0, random_state=0),
        BradleyTerry(),
    ],
    ids=["gp", "ties", "circles", "average", "bradley-terry"],
)
def test_it_is_the_posterior_of_the_difference_beyond_zero(model):
    data = won(2, features=not isinstance(model, BradleyTerry))
    model.fit(data)
    better, wins = model.predict_proba(data, noise=False), model.predict_proba(data)
    parts = model.difference_posteriors(data)
    np.testing.assert_allclose(
        better[:, 1], sum(p.weight * ndtr(p.mean / np.sqrt(p.variance)) for p in parts), atol=1e-12
    )
    np.testing.assert_array_equal(better.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict_proba(data.swapped(), noise=False), better[:, ::-1])
    assert (np.abs(better - 0.5) >= np.abs(wins - 0.5) - 1e-12).all()  # noise only takes sureness away
    assert (np.abs(better - 0.5) > np.abs(wins - 0.5) + 0.01).any()


def test_more_comparisons_drive_it_to_one_but_not_who_wins():
    few, many = (
        BradleyTerry().fit(Comparisons(None, ["a", "a"], ["b", "b"], [1, -1], weight=[6 * k, 4 * k])) for k in (1, 100)
    )
    asked = [("a", "b")]
    assert few.predict_proba(asked, noise=False)[0, 1] < 0.8 < 0.999 < many.predict_proba(asked, noise=False)[0, 1]
    assert many.predict_proba(asked)[0, 1] == pytest.approx(0.6, abs=0.01)


def test_the_matrix_of_a_ranking_agrees_with_its_places():
    model = PreferenceGP(KERNEL, **GIVEN).fit(won(3))
    ranking = model.rank(n_samples=20_000)
    better = model.preference_matrix().better
    np.testing.assert_allclose(better[ranking.row[:-1], ranking.row[1:]], ranking.p_next[:-1], atol=0.015)
    np.testing.assert_array_equal(better + better.T, 1.0)


def test_labels_can_be_asked_who_is_better():
    X = np.linspace(-1, 1, 8)[:, None]
    data = LabelPreferences(X, np.arange(8), ["a"] * 8, ["b"] * 8, np.sign(X[:, 0]))
    model = LabelPreferenceGP(**GIVEN).fit(data)
    better, wins = model.predict_proba(data, noise=False), model.predict_proba(data)
    mean, covariance = model.predict_utility(X, return_cov=True)
    deviation = np.sqrt(covariance[:, 0, 0] + covariance[:, 1, 1] - 2 * covariance[:, 0, 1])
    np.testing.assert_allclose(better[:, 1], ndtr((mean[:, 0] - mean[:, 1]) / deviation), atol=1e-9)
    assert (np.abs(better - 0.5) > np.abs(wins - 0.5)).all()
