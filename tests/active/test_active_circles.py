"""What to ask where preferences may run in circles: pairs, what their outcomes tell of each other, and of whom."""

import numpy as np
import pytest
from problems_active import information_by_quad
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import Comparisons, PreferenceGP
from preflearn.active import information_gain, remaining_value, suggest, top_k_information
from preflearn.active.outcome_information import curvature, information
from preflearn.likelihoods import Gaussian, Logit, Probit

FIXED = {"hyperparameters": "fixed"}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(7, 2))
FIRST, SECOND = np.triu_indices(7, 1)
ROWS = RNG.permutation(21)[:14]
WON = np.where(RNG.random(14) < 0.6, 1.0, -1.0)
JUDGE = np.array(["ann", "bob"])[RNG.integers(0, 2, 14)]


def fitted(kind="both", likelihood=None, outcome=WON, **options):
    data = Comparisons(X, FIRST[ROWS], SECOND[ROWS], outcome, judge=JUDGE)
    likelihood = Probit() if likelihood is None else likelihood
    if kind == "names":
        data = Comparisons(7, FIRST[ROWS], SECOND[ROWS], outcome, judge=JUDGE)
        kernels = {"kernel": ConstantKernel(2.0), "cyclic_kernel": ConstantKernel(1.5)}
    else:
        kernels = {"kernel": None if kind == "circles" else 2.0 * RBF(1.0), "cyclic_kernel": 1.3 * RBF(0.8)}
    return PreferenceGP(likelihood=likelihood, inference="laplace", **kernels, **FIXED, **options).fit(data)


def prior(kind):
    """Return the prior covariance of the differences of all pairs."""
    gauss = np.exp(-0.5 * np.square(X[:, None] - X).sum(axis=2))
    K, S = (2.0 * gauss, 1.3 * gauss ** (1 / 0.64)) if kind != "names" else (2.0 * np.eye(7), 1.5 * np.eye(7))
    a, b, i, j = FIRST[:, None], SECOND[:, None], FIRST, SECOND
    skew = S[a, i] * S[b, j] - S[a, j] * S[b, i]
    return skew + (0.0 if kind == "circles" else K[a, i] - K[a, j] - K[b, i] + K[b, j])


@pytest.mark.parametrize("kind", ["both", "circles", "names"])
def test_the_joint_posterior_of_pairs_is_that_of_a_dense_model(kind):
    noise = Gaussian(1.0, fixed=True)
    y = RNG.normal(size=14)
    model = fitted(kind, noise, y)
    G = prior(kind)
    gain = G[:, ROWS] @ np.linalg.inv(G[np.ix_(ROWS, ROWS)] + noise.noise_deviation**2 * np.eye(14))
    items = 7 if kind == "names" else X
    pairs = Comparisons(items, FIRST, SECOND)
    mean, C = model.joint_differences(pairs)
    np.testing.assert_allclose(mean, gain @ y, atol=1e-8)
    np.testing.assert_allclose(C, G - gain @ G[ROWS], atol=1e-8)
    turned = model.joint_differences(pairs.swapped(np.arange(21) % 2 == 0))
    sign = np.where(np.arange(21) % 2 == 0, -1.0, 1.0)
    np.testing.assert_array_equal(turned[0], sign * mean)
    np.testing.assert_array_equal(turned[1], sign[:, None] * C * sign)


@pytest.mark.parametrize("kind", ["both", "circles", "names"])
@pytest.mark.parametrize("likelihood", [Probit(), Logit()], ids=repr)
def test_gains_are_integrals_and_do_not_know_sides(kind, likelihood):
    model = fitted(kind, likelihood)
    gain = information_gain(model, list(zip(FIRST, SECOND, strict=True)))
    mean, std = model.predict_difference(list(zip(FIRST.tolist(), SECOND.tolist(), strict=True)), return_std=True)
    expected = [information_by_quad(model.likelihood_, m, s**2) for m, s in zip(mean, std, strict=True)]
    np.testing.assert_allclose(gain, expected, atol=1e-9)
    np.testing.assert_array_equal(information_gain(model, list(zip(SECOND, FIRST, strict=True))), gain)
    found = suggest(model)
    assert found.criterion == "preferences"
    assert found.gain[0] == pytest.approx(gain.max(), rel=1e-9)


@pytest.mark.parametrize("kind", ["both", "circles", "names"])
def test_batches_are_greedy_batches(kind):
    model = fitted(kind)
    mean, C = model.joint_differences(Comparisons(7 if kind == "names" else X, FIRST, SECOND))
    left, expected, gains = set(range(21)), [], []
    for _ in range(6):
        gain = information(model.likelihood_, mean, C.diagonal())
        best = max(left, key=lambda row: (round(gain[row], 9), -row))
        expected.append((FIRST[best], SECOND[best]))
        gains.append(gain[best])
        left.remove(best)
        J = curvature(model.likelihood_, mean[[best]], C.diagonal()[[best]])[0]
        C = C - J * np.outer(C[best], C[best])
    found = suggest(model, n=6)
    assert list(zip(found.first, found.second, strict=True)) == expected
    np.testing.assert_allclose(found.gain, gains, rtol=1e-8)


def test_pools_candidates_and_forbidden_pairs():
    model = fitted("both")
    new = RNG.normal(size=(5, 2))
    pairs = np.array([(i, j) for i in range(5) for j in range(i + 1, 5)])
    gain = information_gain(model, pairs, new)
    found = suggest(model, new)
    assert found.gain[0] == pytest.approx(gain.max())
    best = (found.first[0], found.second[0])
    other = suggest(model, new, 3, forbidden=[best[::-1]])
    assert best not in set(zip(other.first, other.second, strict=True))
    assert other.gain[0] == pytest.approx(np.sort(gain)[-2])
    few = suggest(model, new, candidates=[(4, 1), (0, 2)])
    assert (few.first[0], few.second[0]) in {(4, 1), (0, 2)}


def test_of_many_pairs_those_that_tell_most_are_considered(monkeypatch):
    model = fitted("both")
    gain = information_gain(model, list(zip(FIRST, SECOND, strict=True)))
    monkeypatch.setattr("preflearn.active._candidates.MOST_PAIRS", 3)
    found = suggest(model, n=3)
    np.testing.assert_array_equal(
        np.sort(7 * found.first + found.second), np.sort((7 * FIRST + SECOND)[np.argsort(-gain)[:3]])
    )
    some = suggest(model, n=3, n_max_candidates=6, random_state=0)
    assert len(set(some.first) | set(some.second)) <= 4
    assert some.to_dict() == suggest(model, n=3, n_max_candidates=6, random_state=0).to_dict()


def test_judges_with_circles_of_their_own():
    model = fitted("both", judge_kernel=ConstantKernel(0.5))
    asked = [Comparisons(X, FIRST, SECOND, judge=[name] * 21) for name in ("ann", "bob")]
    gain = np.array([information_gain(model, one) for one in asked])
    for one, found in zip(asked, gain, strict=True):
        mean, std = model.predict_difference(one, return_std=True)
        expected = [information_by_quad(model.likelihood_, m, s**2) for m, s in zip(mean, std, strict=True)]
        np.testing.assert_allclose(found, expected, atol=1e-9)
    found = suggest(model, judges=["ann", "bob"])
    who, row = np.unravel_index(gain.argmax(), gain.shape)
    assert (found.judge[0], found.first[0], found.second[0]) == (["ann", "bob"][who], FIRST[row], SECOND[row])
    assert found.gain[0] == pytest.approx(gain.max())
    # of a stranger's own circles nothing is to be learned
    mean, C = model.joint_differences(Comparisons(X, FIRST, SECOND))
    rest = 0.5 * prior("both").diagonal()
    np.testing.assert_allclose(model.newcomer_variance(Comparisons(X, FIRST, SECOND)), rest, atol=1e-9)
    anybody = information_gain(model, list(zip(FIRST, SECOND, strict=True)))
    assert (anybody < information(model.likelihood_, mean, C.diagonal() + rest)).all()
    assert suggest(model).gain[0] == pytest.approx(anybody.max())


def test_an_average_over_hyperparameters_counts():
    model = fitted("names").set_params(hyperparameters="average", n_points=24, n_restarts=0, random_state=0)
    model.fit(model.comparisons_)
    gain = information_gain(model, list(zip(FIRST, SECOND, strict=True)))
    assert suggest(model).gain[0] == pytest.approx(gain.max())
    assert (np.diff(suggest(model, n=4).gain) <= 1e-12).all()


def test_what_is_not_there_is_said():
    model = fitted("both")
    for criterion, k in (("utilities", None), ("top_k", 2)):
        with pytest.raises(ValueError, match=f'criterion=.{criterion}.* cyclic part .*criterion="preferences"'):
            suggest(model, criterion=criterion, k=k)
    for ask in (lambda: remaining_value(model, 3), lambda: top_k_information(model, [(0, 1)], 1)):
        with pytest.raises(TypeError, match=r"cyclic part.*no best items"):
            ask()
    with pytest.raises(ValueError, match="k=2 goes with"):
        suggest(model, k=2)
