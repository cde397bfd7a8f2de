"""Items without features whose preferences run in circles: effects of pairs eliminated = all pairs as latents."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from preflearn.inference.pair_effects import EffectDesign, EffectFactor, EffectPosterior
from preflearn.priors import PairEffectPrior, PairPrior
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import ConstantKernel

from fast_share import mostly_slow
from preflearn import Comparisons, PreferenceGP
from preflearn.inference.design import Design, pair_operator
from preflearn.inference.posterior import Curvature
from preflearn.likelihoods import Flipped, Gaussian, Logit, Probit
from preflearn.models import _gp_prior
from preflearn.models._gp_items import items_of_table

PARTS = {
    "cyclic": {"cyclic_kernel": ConstantKernel(1.3)},
    "both": {"kernel": ConstantKernel(0.8), "cyclic_kernel": ConstantKernel(1.3)},
}
CASES = [
    (inference, likelihood)
    for inference in ("laplace", "ep")
    for likelihood in (Probit(), Logit(), Probit(tie=0.4), Gaussian(), Flipped())
    if inference == "ep" or likelihood.log_concave
]
cases = pytest.mark.parametrize(("inference", "likelihood"), CASES, ids=[f"{i} {x}" for i, x in CASES])
pytestmark = pytest.mark.filterwarnings("ignore:.*repeat an earlier one", "ignore:.*separate parts")


def simulate(seed=0, n=9, m=45, likelihood=None):
    """Return comparisons of the first n items of n + 2, with repeats and contradictions, and all pairs of all items."""
    rng = np.random.default_rng(seed)
    first = rng.integers(n, size=m)
    second = (first + rng.integers(1, n, size=m)) % n
    f, c = rng.normal(size=n), np.triu(rng.normal(size=(n, n)), 1)
    z = f[first] - f[second] + (c - c.T)[first, second] + rng.normal(size=m)
    outcome = z if isinstance(likelihood, Gaussian) else np.sign(z)
    if getattr(likelihood, "tie", None) is not None:
        outcome[::6] = 0
    weight = rng.choice([0.5, 1.0, 3.0], m)
    every = np.triu_indices(n + 2, 1)
    return Comparisons(n + 2, first, second, outcome, weight=weight), Comparisons(n + 2, every[1], every[0])


def fixed(name, **more):
    return PreferenceGP(**{"hyperparameters": "fixed", **PARTS[name], **more})


def over_all_pairs(model, X, used, ends, judge, known):
    """Return the problem with the distinct pairs as latents, as it is for few of them."""
    utility, cyclic = _gp_prior._parts(model, X, used) if known is None else _gp_prior._moved(known, X, used)
    n = used.shape[0]
    distinct, place = np.unique(ends[0] * n + ends[1], return_inverse=True)
    prior = PairPrior(utility, cyclic, n, (distinct // n, distinct % n))
    return prior, Design(np.eye(distinct.shape[0])[place.ravel()])


@pytest.mark.parametrize("seed", mostly_slow(range(2), 2))
@pytest.mark.parametrize("name", PARTS)
@cases
def test_answers_are_those_of_all_pairs_as_latents(name, inference, likelihood, seed, monkeypatch):
    data, every = simulate(seed, likelihood=likelihood)

    def answers():
        model = fixed(name, inference=inference, likelihood=likelihood).fit(data[:40])
        found = []
        for theta in (model.theta_, model.theta_ + 0.3):
            found += model.log_evidence(theta)
        found += [model.sigma_, *model.predict_difference(every, return_std=True), model.predict_outcome_proba(every)]
        matrix = model.preference_matrix([10, 3, 2, 7])
        found += [matrix.mean, matrix.std, matrix.probability, model.leave_one_out(), *model.leave_one_out("item")]
        if name == "both":
            found += [*model.predict_utility(return_cov=True), model.rank(n_samples=50).utility]
        model.update(data[40:])
        return type(model._solution.prior), [*found, model.log_evidence_, model.predict_proba(every)]

    prior, effects = answers()
    assert prior is PairEffectPrior
    monkeypatch.setattr("preflearn.models.gp.problem_of", over_all_pairs)
    prior, pairs = answers()
    assert prior is PairPrior
    for one, other in zip(effects, pairs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PARTS)
@cases
def test_gradients_of_the_evidence(name, inference, likelihood):
    data, _ = simulate(likelihood=likelihood)
    model = fixed(name, likelihood=likelihood, inference=inference).fit(data)
    theta, h = model.theta_, 1e-3
    _, gradient = model.log_evidence(theta)
    for k, step in enumerate(h * np.eye(len(theta))):
        far, near, back, farther = (model.log_evidence(theta + j * step)[0] for j in (2, 1, -1, -2))
        assert gradient[k] == pytest.approx((8 * (near - back) - (far - farther)) / (12 * h), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("name", PARTS)
def test_swapping_sides_flips_the_sign_exactly(name):
    data, every = simulate()
    model = fixed(name).fit(data)
    mean, std = model.predict_difference(every, return_std=True)
    turned, same = model.predict_difference(every.swapped(), return_std=True)
    np.testing.assert_array_equal(mean, -turned)
    np.testing.assert_array_equal(std, same)
    matrix = model.preference_matrix()
    np.testing.assert_array_equal(matrix.mean, -matrix.mean.T)
    np.testing.assert_allclose(fixed(name).fit(data.swapped()).preference_matrix().mean, matrix.mean, atol=1e-12)
    order = [4, 1, 0, 10, 8]
    np.testing.assert_allclose(model.preference_matrix(order).mean, matrix.mean[np.ix_(order, order)], atol=1e-12)


def random_problem(seed, low):
    rng = np.random.default_rng(seed)
    n, s = 5, 1.4
    first, second = (side[:8] for side in np.triu_indices(n, 1))
    pair = np.concatenate([np.arange(8), rng.integers(8, size=6)])
    A = pair_operator(first, second, n)
    root = rng.normal(size=(n, n))
    factor, design = EffectFactor.build(root @ root.T, s**2, 8), EffectDesign(A, pair)
    K = np.zeros((n + 8, n + 8))
    K[:n, :n], K[n:, n:] = root @ root.T, s**2 * np.eye(8)
    dense = np.hstack([A.toarray(), np.eye(8)])[pair]
    return factor, design, K, dense, rng.uniform(low, 1.0, 14), rng


@pytest.mark.parametrize("low", [0.0, -0.1])
@pytest.mark.parametrize("seed", range(5))
def test_factor_determinant_solutions_and_covariances_are_the_dense_ones(seed, low):
    factor, design, K, dense, tau, rng = random_problem(seed, low)
    Lam = design.laplacian(tau)
    Precision = dense.T @ np.diag(tau) @ dense
    R = np.column_stack([factor.forward(e) for e in np.eye(factor.rank)])
    np.testing.assert_allclose(R @ R.T, K, atol=1e-12)
    B = np.eye(factor.rank) + R.T @ Precision @ R
    assert np.linalg.eigvalsh(B).min() > 0
    curvature = Curvature.build(factor, Lam, semidefinite=False)
    b, x = rng.normal(size=factor.rank), rng.normal(size=K.shape[0])
    assert curvature.log_det == pytest.approx(np.linalg.slogdet(B)[1], abs=1e-10)
    np.testing.assert_allclose(curvature.solve(b), np.linalg.solve(B, b), atol=1e-9)
    np.testing.assert_allclose(factor.back(x), R.T @ x, atol=1e-12)
    np.testing.assert_allclose(Lam @ x, Precision @ x, atol=1e-12)
    np.testing.assert_allclose(design.A @ x, dense @ x, atol=1e-12)
    C = R @ np.linalg.solve(B, R.T)
    covariance = factor.covariance(curvature.LB)
    np.testing.assert_allclose(covariance.spread(design), np.diag(dense @ C @ dense.T), atol=1e-9)
    rows = np.array([1, 9, 12, 3])
    np.testing.assert_allclose(covariance.among(design.A[rows]), dense[rows] @ C @ dense[rows].T, atol=1e-9)
    plus, minus = rng.normal(size=(2, K.shape[0]))
    M = (Precision @ C @ Precision - Precision + np.outer(plus, plus) - np.outer(minus, minus)) / 2
    items, pairs = covariance.sensitivity(Lam, plus, minus)
    np.testing.assert_allclose(items, M[:5, :5], atol=1e-9)
    np.testing.assert_allclose(pairs, M[5:, 5:].diagonal(), atol=1e-9)


def test_precisions_that_leave_no_posterior_are_refused():
    factor, design, *_ = random_problem(0, 0.0)
    for tau in (np.full(14, -0.6), np.concatenate([[-2.0], np.ones(13)])):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            Curvature.build(factor, design.laplacian(tau), semidefinite=False)
    small = EffectFactor(factor.items, 1e-3, 8)  # the effects allow it, the items do not
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        Curvature.build(small, design.laplacian(np.full(14, -100.0)), semidefinite=False)


@pytest.mark.parametrize("name", PARTS)
def test_draws_have_the_moments_of_the_matrix_and_the_same_pair_is_drawn_once(name):
    model = fixed(name).fit(simulate()[0])
    draws = model.sample_preferences(n_samples=20_000, random_state=0)
    np.testing.assert_array_equal(draws, -draws.transpose(0, 2, 1))
    matrix = model.preference_matrix()
    np.testing.assert_allclose(draws.mean(axis=0), matrix.mean, atol=5 * matrix.std.max() / np.sqrt(20_000))
    np.testing.assert_allclose(draws.std(axis=0), matrix.std, atol=0.05)
    low, high = np.triu_indices(5, 1)
    s = model._solution
    by_pairs, dense = s.prior.cross_pairs, PairPrior(s.prior.utility, s.prior.cyclic, 9, s.prior.pairs)
    new = _everyone(model)
    covariance = np.cov(draws[:, low, high].T)
    tau = np.bincount(model._evidence.design.A.pair, model._evidence.weight * s.tau)
    Q, G = dense.cross_pairs(new, (low, high)), dense.gram()[0]
    expected = dense.pair_covariance(new, (low, high)) - Q @ np.linalg.solve(np.diag(1 / tau) + G, Q.T)
    np.testing.assert_allclose(covariance, expected, atol=0.1)
    assert by_pairs(new, (low, high)).same.max() == 9
    twice = model.sample_preferences([3, 5, 3], n_samples=20, random_state=0)
    np.testing.assert_allclose(twice[:, 0, 1], twice[:, 2, 1], atol=1e-7)
    np.testing.assert_allclose(twice[:, 0, 2], 0.0, atol=1e-7)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.sample_preferences(n_samples=3, random_state=1).shape, (3, 11, 11))


def _everyone(model):
    return items_of_table(model, None)[0]


@pytest.mark.parametrize("name", PARTS)
def test_an_update_starts_from_what_was_known_of_items_and_pairs(name, monkeypatch):
    data, _ = simulate()
    model = fixed(name).fit(data[:30])
    old, used, a = model._solution.prior, model._used, model._solution.posterior.a
    z = dict(zip(zip(*(used[side] for side in old.pairs), strict=True), _of_pairs(old, a), strict=True))
    seen = {}

    def keep(*args):
        seen["start"] = _gp_prior.warm_start(*args)
        return seen["start"]

    monkeypatch.setattr("preflearn.models.gp.warm_start", keep)
    model.update(data[30:])
    new = model._solution.prior
    now = dict(
        zip(zip(*(model._used[side] for side in new.pairs), strict=True), _of_pairs(new, seen["start"]), strict=True)
    )
    assert len(now) > len(z)
    for pair, value in z.items():
        assert now[pair] == pytest.approx(value, abs=1e-12)


def _of_pairs(prior, a):
    factor, _ = prior.factor()
    n = 0 if prior.utility is None else prior.n_items
    latents = factor.forward(factor.back(a))
    f, c = np.append(latents[:n], 0.0), latents[n:]
    return (f[prior.pairs[0]] - f[prior.pairs[1]] if n else 0.0) + c


def test_fewer_pairs_than_items_are_the_latents():
    order = np.random.default_rng(0).permutation(40)
    data = Comparisons(40, order[:20], order[20:])
    assert isinstance(fixed("both").fit(data)._solution.prior, PairPrior)
    assert isinstance(fixed("cyclic").fit(data)._solution.prior, PairEffectPrior)


def test_averages_over_hyperparameters_and_items_beyond_a_hundred():
    data, every = simulate()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PreferenceGP(**PARTS["both"], hyperparameters="average", n_points=8, random_state=0).fit(data)
    assert len(model._mixture) > 1
    p = model.predict_proba(every)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert model.sample_preferences([0] * 101, n_samples=2, random_state=0).shape == (2, 101, 101)


def test_twenty_thousand_pairs_need_no_matrix_of_their_size():
    rng = np.random.default_rng(0)
    n, m = 300, 20_000
    first, second = np.triu_indices(n, 1)
    code = rng.choice(len(first), m, replace=False)
    first, second = first[code], second[code]
    f = rng.normal(size=n)
    data = Comparisons(n, first, second, np.sign(f[first] - f[second] + rng.normal(size=m)))
    tracemalloc.start()
    model = fixed("both").fit(data)
    model.log_evidence()
    model.predict_proba(data)
    loo = model.leave_one_out()
    matrix = model.preference_matrix()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * 8 * m**2
    assert isinstance(model._solution.posterior, EffectPosterior)
    assert model.info_.converged
    assert np.isfinite(loo).all()
    assert np.isfinite(matrix.std).all()
    assert np.corrcoef(f, model.predict_utility())[0, 1] > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_hostile_problems(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 8)), int(rng.integers(1, 30))
    first = rng.integers(n, size=m)
    weight = 10.0 ** rng.uniform(-6, 6, m)
    data = Comparisons(n, first, (first + rng.integers(1, n, size=m)) % n, rng.choice([-1.0, 1.0], m), weight=weight)
    utility, cyclic = (ConstantKernel(10.0 ** rng.uniform(-6, 6)) for _ in range(2))
    for inference in ("laplace", "ep"):
        for kernel in (None, utility):
            model = PreferenceGP(kernel, cyclic_kernel=cyclic, inference=inference, hyperparameters="fixed")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # said, not silent
                matrix = model.fit(data).preference_matrix()
            for part in (matrix.mean, matrix.std, matrix.probability, *model.log_evidence()):
                assert np.isfinite(part).all()
