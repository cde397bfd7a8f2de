"""What to ask whom: judges with tastes and reliabilities, strangers, and clusters that were never seen before."""

import numpy as np
import pandas as pd
import pytest
from problems_active import entropy, information_by_quad
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from preflearn import BradleyTerry, Comparisons, PreferenceGP
from preflearn.active import information_gain, remaining_value, suggest, top_k_information
from preflearn.active._criteria import JointPosterior
from preflearn.active.outcome_information import curvature, partial_information
from preflearn.active.stopping import draw_outcomes, future_means
from preflearn.exceptions import DataError
from preflearn.likelihoods import Davidson, Flipped, Gaussian, Logit, Probit

RHO, VARIANCE = 0.7, 2.0
RNG = np.random.default_rng(0)
FIRST, SECOND = np.triu_indices(4, 1)
ROWS = RNG.integers(0, 6, 30)
JUDGE = np.array(["ann", "bob", "cy"])[RNG.integers(0, 3, 30)]
WON = np.where(RNG.random(30) < 0.7, 1.0, -1.0)
DATA = Comparisons(4, FIRST[ROWS], SECOND[ROWS], WON, judge=JUDGE)
FIXED = {"hyperparameters": "fixed"}


def tastes(likelihood=None, kernel=None, rho=RHO, data=DATA, **options):
    kernel = ConstantKernel(VARIANCE) if kernel is None else kernel
    options = {"judge_kernel": ConstantKernel(rho), **FIXED, **options}
    return PreferenceGP(kernel, Probit() if likelihood is None else likelihood, "laplace", **options).fit(data)


def by_quad(likelihood, mean, covariance):
    """I(y; d) for (d, z) normal: the entropy of the outcome less what is left of it given d."""
    x, w = np.polynomial.hermite_e.hermegauss(80)
    w = w / w.sum()
    (D, shared), (_, V) = covariance
    d = mean[0] + np.sqrt(D) * x
    given = mean[1] + shared / D * (d - mean[0])
    rest = np.sqrt(max(V - shared**2 / D, 0.0))
    p = likelihood.probability(given[:, None] + rest * x, np.zeros((80, 80)))
    p = np.einsum("k,dky->dy", w, p)
    return entropy(w @ p) - w @ entropy(p)


@pytest.mark.parametrize("likelihood", [Probit(), Logit(), Davidson(tie=2.0, tie_fixed=True)], ids=repr)
def test_an_answer_tells_about_what_all_share_as_much_as_its_judge_shares_it(likelihood):
    model = tastes(likelihood, data=Comparisons(4, DATA.first, DATA.second, WON, judge=JUDGE))
    mean, C = model.joint_utilities(None, [None, "ann", "bob", "cy"])
    for who, place in (("ann", 1), ("cy", 3)):
        asked = Comparisons(4, FIRST, SECOND, judge=[who] * 6)
        gain = information_gain(model, asked)
        for row, (i, j) in enumerate(zip(FIRST, SECOND, strict=True)):
            A = np.zeros((2, C.shape[0]))
            A[0, [i, j]] = A[1, [4 * place + i, 4 * place + j]] = 1, -1
            expected = by_quad(model.likelihood_, A @ mean.ravel(), A @ C @ A.T)
            assert gain[row] == pytest.approx(expected, abs=1e-8)
        everything = information_gain(model, asked, criterion="preferences")
        assert (everything > gain).all()
        np.testing.assert_array_equal(information_gain(model, asked.swapped()), gain)
        z, std = model.predict_difference(asked, return_std=True)
        expected = [information_by_quad(model.likelihood_, m, s**2) for m, s in zip(z, std, strict=True)]
        np.testing.assert_allclose(everything, expected, atol=1e-8)


@pytest.mark.parametrize("likelihood", [Probit(), Logit(), Flipped(Probit(tie=0.5), 0.1)], ids=repr)
@pytest.mark.parametrize(
    ("explained", "rest"), [(1.0, 1.0), (20.0, 0.3), (0.01, 2.0), (1e-9, 1.0), (1.0, 0.0), (1e4, 1e-3)]
)
def test_a_part_of_the_difference(likelihood, explained, rest):
    mean = np.array([0.0, 0.4, -0.4, 3.0])
    gain = partial_information(likelihood, mean, np.full(4, explained + rest), np.full(4, rest))
    x = np.linspace(-9.3, 9.3, 40_001)
    w = np.exp(-0.5 * x**2) / np.exp(-0.5 * x**2).sum()
    for m, found in zip(mean, gain, strict=True):
        d = m + np.sqrt(explained) * x
        p = likelihood.probability(d, np.full(d.shape, rest))
        assert found == pytest.approx(entropy(w @ p) - w @ entropy(p), abs=1e-12, rel=1e-5)
    assert gain[1] == gain[2]


def test_margins_are_in_closed_form():
    gain = partial_information(Gaussian(2.0, fixed=True), np.zeros(1), np.array([3.0]), np.array([1.0]))
    noise = Gaussian(2.0, fixed=True).noise_deviation ** 2
    assert gain[0] == pytest.approx(0.5 * np.log((3 + noise) / (1 + noise)))


def test_the_joint_posterior_of_judges_is_that_of_a_dense_model():
    likelihood = Gaussian(1.0, fixed=True)
    X = RNG.normal(size=(4, 2))
    data = Comparisons(X, DATA.first, DATA.second, RNG.normal(size=30), judge=JUDGE)
    model = tastes(likelihood, 1.5 * RBF(1.0), data=data)
    K = 1.5 * np.exp(-0.5 * np.square(X[:, None] - X).sum(axis=2))
    who = [None, "ann", "bob", "cy", "new", "newer"]
    J = 1.0 + RHO * np.diag([0.0, 1, 1, 1, 1, 1])
    prior = np.kron(J, K)
    A = np.zeros((30, prior.shape[0]))
    block = 4 * np.array([who.index(name) for name in JUDGE])
    A[np.arange(30), block + data.first], A[np.arange(30), block + data.second] = 1, -1
    S = A @ prior @ A.T + likelihood.noise_deviation**2 * np.eye(30)
    gain = prior @ A.T @ np.linalg.inv(S)
    mean, C = model.joint_utilities(None, who)
    np.testing.assert_allclose(mean.ravel(), gain @ data.outcome, atol=1e-9)
    np.testing.assert_allclose(C, prior - gain @ A @ prior, atol=1e-9)
    # of pairs, each of its judge
    pairs = Comparisons(X, [0, 1, 2, 3], [1, 3, 0, 2], judge=["ann", "bob", "new", "ann"])
    P = np.zeros((4, prior.shape[0]))
    for row, (i, j, judge) in enumerate(zip(pairs.first, pairs.second, pairs.judge, strict=True)):
        P[row, [4 * who.index(judge) + i, 4 * who.index(judge) + j]] = 1, -1
    found = model.joint_differences(pairs)
    np.testing.assert_allclose(found[0], P @ gain @ data.outcome, atol=1e-9)
    np.testing.assert_allclose(found[1], P @ C @ P.T, atol=1e-9)
    turned = model.joint_differences(pairs.swapped())
    np.testing.assert_array_equal(turned[0], -found[0])
    np.testing.assert_array_equal(turned[1], found[1])
    # strangers share the population's utilities and nothing else
    stranger = model.newcomer_variance(pairs)
    d = np.array([K[i, i] + K[j, j] - 2 * K[i, j] for i, j in zip(pairs.first, pairs.second, strict=True)])
    np.testing.assert_allclose(stranger, RHO * d)
    np.testing.assert_array_equal(model.newcomer_variance(pairs, judge=False), np.zeros(4))


def test_judges_with_features_are_as_alike_as_these():
    table = pd.DataFrame({"judge": ["ann", "bob", "cy", "di"], "age": [0.1, 0.5, 0.2, 0.9]})
    X = RNG.normal(size=(4, 2))
    data = Comparisons(X, DATA.first, DATA.second, RNG.normal(size=30), judge=JUDGE, judges=table)
    model = tastes(Gaussian(1.0, fixed=True), 1.5 * RBF(1.0), data=data, judge_kernel=WhiteKernel(0.5) + RBF(0.4))
    K = 1.5 * np.exp(-0.5 * np.square(X[:, None] - X).sum(axis=2))
    age = table["age"].to_numpy()
    J = np.ones((5, 5))
    J[1:, 1:] += 0.5 * np.eye(4) + np.exp(-0.5 * np.square((age[:, None] - age) / 0.4))
    prior = np.kron(J, K)
    A = np.zeros((30, 20))
    block = 4 * (1 + np.array([table["judge"].tolist().index(name) for name in JUDGE]))
    A[np.arange(30), block + data.first], A[np.arange(30), block + data.second] = 1, -1
    S = A @ prior @ A.T + model.likelihood_.noise_deviation**2 * np.eye(30)
    C = prior - prior @ A.T @ np.linalg.solve(S, A @ prior)
    np.testing.assert_allclose(model.joint_utilities(None, [None, "ann", "bob", "cy", "di"])[1], C, atol=1e-9)
    with pytest.raises(DataError, match="'eve' is not among the 3 of training"):
        suggest(model, judges=["eve"])


def slow_batch(model, judges, n, criterion="utilities"):
    """Greedy over all pairs and judges, each chosen one observed with Gaussian noise, in a dense joint posterior."""
    mean, C = model.joint_utilities(None, [None, *judges])
    mean = mean.ravel()
    questions = [(who, i, j) for who in range(len(judges)) for i, j in zip(FIRST, SECOND, strict=True)]
    Z, D = (np.zeros((len(questions), len(mean))) for _ in range(2))
    for row, (who, i, j) in enumerate(questions):
        Z[row, [4 * (1 + who) + i, 4 * (1 + who) + j]] = D[row, [i, j]] = 1, -1
    share, asked, left, out = -(-n // len(judges)), [0] * len(judges), set(questions), []
    for _ in range(n):
        v, shared, explained = (np.einsum("ri,ij,rj->r", one, C, other) for one, other in ((Z, Z), (Z, D), (D, D)))
        rest = np.zeros(len(v)) if criterion == "preferences" else v - shared**2 / explained
        gain = partial_information(model.likelihood_, Z @ mean, v, rest)
        may = [row for row, q in enumerate(questions) if q in left and asked[q[0]] < share]
        best = max(may, key=lambda row: (round(gain[row], 9), -row))
        who, i, j = questions[best]
        out.append((judges[who], i, j, gain[best]))
        asked[who] += 1
        left -= {q for q in questions if q[1:] == (i, j)}
        J = curvature(model.likelihood_, (Z @ mean)[[best]], v[[best]])[0]
        c = C @ Z[best]
        C = C - J * np.outer(c, c)
    return out


@pytest.mark.parametrize("criterion", ["utilities", "preferences"])
def test_who_is_asked_is_chosen_with_the_pair(criterion):
    model, judges = tastes(), ["cy", "new", "ann"]
    found = suggest(model, n=5, judges=judges, criterion=criterion)
    expected = slow_batch(model, judges, 5, criterion)
    assert list(zip(found.judge, found.first, found.second, strict=True)) == [one[:3] for one in expected]
    np.testing.assert_allclose(found.gain, [one[3] for one in expected], rtol=1e-8)
    single = suggest(model, judges=judges, criterion=criterion)
    asked = Comparisons(4, single.first, single.second, judge=single.judge)
    np.testing.assert_allclose(information_gain(model, asked, criterion=criterion), single.gain, rtol=1e-9)


def test_shares_and_earlier_answers_count():
    model = tastes()
    found = suggest(model, n=6, judges=["ann", "new"])
    assert sorted(found.judge.tolist()) == ["ann"] * 3 + ["new"] * 3
    assert len({(i, j) for i, j in zip(found.first, found.second, strict=True)}) == 6
    answered = Comparisons(4, FIRST[:5], SECOND[:5], judge=["ann"] * 5)
    few = suggest(model, n=2, judges=["ann", "new"], answered=answered)
    assert [(i, j) for i, j, who in zip(few.first, few.second, few.judge, strict=True) if who == "ann"] in (
        [],
        [(2, 3)],
    )


def test_without_names_a_stranger_is_asked():
    model = tastes()
    gain = information_gain(model, list(zip(FIRST, SECOND, strict=True)))
    named = information_gain(model, Comparisons(4, FIRST, SECOND, judge=["never seen"] * 6))
    np.testing.assert_allclose(gain, named, rtol=1e-9)
    nobody = information_gain(model, Comparisons(4, FIRST, SECOND, judge=[""] * 6))
    np.testing.assert_allclose(gain, nobody, rtol=1e-12)
    assert suggest(model).gain[0] == pytest.approx(gain.max())
    # tastes that hardly matter change hardly anything, and wild ones leave nothing to learn
    alike = tastes(rho=1e-7)
    plain = PreferenceGP(ConstantKernel(VARIANCE), Probit(), "laplace", **FIXED).fit(DATA)
    pairs = list(zip(FIRST, SECOND, strict=True))
    np.testing.assert_allclose(information_gain(alike, pairs), information_gain(plain, pairs), rtol=1e-4)
    assert information_gain(tastes(rho=1e4), pairs).max() < 1e-3


def test_clusters_that_were_never_seen_are_noise():
    data = Comparisons(4, DATA.first, DATA.second, WON, cluster=np.arange(30) // 5)
    model = BradleyTerry("probit", prior=1.0, cluster=True, inference="laplace").fit(data)
    pairs = list(zip(FIRST, SECOND, strict=True))
    mean, C = model.predict_utility(return_cov=True)
    gain = information_gain(model, pairs)
    for (i, j), found in zip(pairs, gain, strict=True):
        D = C[i, i] + C[j, j] - 2 * C[i, j]
        V = D + 2 * model.cluster_variance_
        expected = by_quad(model.likelihood_, np.full(2, mean[i] - mean[j]), np.array([[D, D], [D, V]]))
        assert found == pytest.approx(expected, abs=1e-7)
    left = remaining_value(model, 5, random_state=0)
    assert 0 < left.information <= left.information_bound
    assert left.pairs_right >= left.pairs_right_now - 0.02


@pytest.mark.filterwarnings("ignore:.*answer the opposite of others:preflearn.exceptions.DataWarning")
def test_the_reliable_are_asked_and_the_contrary_tell_as_much():
    model = PreferenceGP(ConstantKernel(VARIANCE), "probit", judge_reliability=True, n_restarts=0, random_state=0)
    rng = np.random.default_rng(1)
    first, second = (np.tile(side, 12) for side in (FIRST, SECOND))
    z = (second - first).astype(float)
    who = np.array(["good", "random", "contrary"])[rng.integers(0, 3, 72)]
    s = np.select([who == "good", who == "random"], [1.5, 0.0], -1.5)
    model.fit(Comparisons(4, first, second, np.sign(s * z + rng.normal(size=72)), judge=who))
    model = model.in_likely_direction()  # of two
    known = model.reliabilities
    asked = [Comparisons(4, FIRST, SECOND, judge=[name] * 6) for name in known]
    gain = {name: information_gain(model, one) for name, one in zip(known, asked, strict=True)}
    size = sorted(known, key=lambda name: abs(known[name]))
    assert (gain[size[0]] < gain[size[1]]).all()
    assert (gain[size[1]] < gain[size[2]]).all()
    mean, C = model.predict_utility(return_cov=True)
    d, v = mean[0] - mean[1], C[0, 0] + C[1, 1] - 2 * C[0, 1]
    for name, s in known.items():
        assert gain[name][0] == pytest.approx(information_by_quad(model.likelihood_, s * d, s**2 * v), abs=1e-8)
    found = suggest(model, n=2, judges=list(known))
    assert size[0] not in found.judge


def test_the_best_item_by_the_answer_of_a_judge():
    model = tastes(data=Comparisons(2, [0, 0, 0], [1, 1, 1], [1, -1, 1], judge=["ann", "bob", "ann"]))
    mean, C = model.joint_utilities(None, [None, "ann"])
    A = np.array([[1.0, -1, 0, 0], [0, 0, 1, -1]])
    m, S = A @ mean.ravel(), A @ C @ A.T
    rng = np.random.default_rng(0)
    d, z = rng.multivariate_normal(m, S, 400_000).T
    strangers = d + rng.normal(size=d.shape) * np.sqrt(2 * RHO * VARIANCE)

    def expected(z):
        p, best = model.likelihood_.probability(z, np.zeros(z.shape)), d > 0
        parts = [(best, best.mean()), (~best, 1 - best.mean())]
        return entropy(p.mean(axis=0)) - sum(share * entropy(p[part].mean(axis=0)) for part, share in parts)

    found = suggest(model, criterion="top_k", k=1, judges=["ann"], n_samples=20_000, random_state=0)
    assert found.gain[0] == pytest.approx(expected(z), abs=0.004)
    of_stranger = top_k_information(model, [(0, 1)], 1, n_samples=20_000, random_state=0)[0]
    assert of_stranger == pytest.approx(expected(strangers), abs=0.004)
    assert of_stranger > found.gain[0] + 0.02  # ann has said what she thinks


def test_futures_with_strangers_have_their_variance():
    C, own = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.5, 1.5])
    mean, noise = np.array([0.3, -0.2]), Gaussian(2.0, fixed=True)
    first, second = np.array([0, 0]), np.array([1, 1])
    rng = np.random.default_rng(0)
    truth = rng.multivariate_normal(mean, C, 200_000)
    y = draw_outcomes(noise, truth, first, second, rng, own)
    v, s2 = 2.0, noise.noise_deviation**2
    np.testing.assert_allclose(np.cov(y.T), v + (1.5 + s2) * np.eye(2), rtol=0.03)
    future = future_means(noise, mean, C, first, second, y, own)
    A = np.array([[1.0, -1.0]] * 2)
    gain = C @ A.T @ np.linalg.inv(A @ C @ A.T + (1.5 + s2) * np.eye(2))
    np.testing.assert_allclose(future, mean + (y - A @ mean) @ gain.T, atol=1e-9)


def test_bounds_are_bounds():
    rng = np.random.default_rng(0)
    for likelihood in (Probit(scale=0.5), Logit(), Davidson(tie=3.0, tie_fixed=True)):
        L = rng.normal(size=(8, 8))
        posterior = JointPosterior(
            likelihood, rng.normal(size=8), L @ L.T, FIRST + 4, SECOND + 4, rng.uniform(0, 2, 6), 0.8, (FIRST, SECOND)
        )
        for _ in range(3):
            assert (posterior.information(slice(None)) <= posterior.bound() * (1 + 1e-9) + 1e-12).all()
            posterior.condition(2)
