"""Items without features whose preferences run in circles: effects of pairs eliminated = all pairs as latents."""

import pickle
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import ConstantKernel

from fast_share import every_seed, mostly_slow, slow_except
from preflearn import Comparisons, PreferenceGP
from preflearn.inference.block_arrow import GroupDesign, GroupSystem
from preflearn.inference.contract import Query
from preflearn.inference.dense import DenseSystem
from preflearn.inference.evidence import learn
from preflearn.likelihoods import Flipped, Gaussian, Logit, Probit
from preflearn.terms import Rows, pair_operator
from preflearn.terms.circles import PairPreferences

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


def over_all_pairs(model, utility, circles, data):
    """Choose the distinct pairs as latents, as it is for few of them."""
    return "pairs", None


@pytest.mark.parametrize("seed", mostly_slow(range(2), 2))
@pytest.mark.parametrize("name", slow_except(PARTS, "both"))
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
        found += [model.log_evidence_, model.predict_proba(every)]
        return model._choice.kind, type(model._solution.posterior.system), found

    kind, system, effects = answers()
    assert kind == "effects"
    assert system is GroupSystem
    monkeypatch.setattr("preflearn.models._sum_of_terms._kind", over_all_pairs)
    kind, system, pairs = answers()
    assert kind == "pairs"
    assert system is DenseSystem
    for one, other in zip(effects, pairs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", slow_except(PARTS, "both"))
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
    """Return items of which pairs have effects, as a system of groups, and the same densely: K, rows, precisions."""
    rng = np.random.default_rng(seed)
    n, s = 5, 1.4
    first, second = (side[:8] for side in np.triu_indices(n, 1))
    pair = np.concatenate([np.arange(8), rng.integers(8, size=6)])
    A = pair_operator(first, second, n)
    root = rng.normal(size=(n, n))
    design = GroupDesign(A[pair], np.zeros((14, 0)), np.ones((14, 1)), pair)
    system = GroupSystem(design, root @ root.T, [np.full((1, 1, 1), s**2)])
    K = np.zeros((n + 8, n + 8))
    K[:n, :n], K[n:, n:] = root @ root.T, s**2 * np.eye(8)
    dense = np.hstack([A.toarray(), np.eye(8)])[pair]
    return system, K, dense, rng.uniform(low, 1.0, 14), rng


def root_of(system):
    ((number,),) = system.roots  # one for all pairs, which all have the same variance
    return scipy.linalg.block_diag(system.factor.R, number.item() * np.eye(system.design.n_own))


@pytest.mark.parametrize("low", [0.0, -0.1])
@pytest.mark.parametrize("seed", range(5))
def test_factor_determinant_solutions_and_covariances_are_the_dense_ones(seed, low):
    system, K, dense, tau, rng = random_problem(seed, low)
    design, R = system.design, root_of(system)
    Precision = dense.T @ np.diag(tau) @ dense
    np.testing.assert_allclose(R @ R.T, K, atol=1e-12)
    B = np.eye(system.size) + R.T @ Precision @ R
    assert np.linalg.eigvalsh(B).min() > 0
    curve = system.curve(tau, semidefinite=False)
    b, x, g = rng.normal(size=system.size), rng.normal(size=K.shape[0]), rng.normal(size=14)
    assert curve.log_det == pytest.approx(np.linalg.slogdet(B)[1], abs=1e-10)
    np.testing.assert_allclose(curve.solve(b), np.linalg.solve(B, b), atol=1e-9)
    np.testing.assert_allclose(system.forward(b), dense @ R @ b, atol=1e-12)
    np.testing.assert_allclose(system.back(g), R.T @ dense.T @ g, atol=1e-12)
    np.testing.assert_allclose(design.rows.forward(x[:5]) + design.own @ x[5:], dense @ x, atol=1e-12)
    ((own, edge, local),), (stack,) = design.blocks(tau), design.stacks
    total = np.zeros_like(K)
    for number in range(len(own)):
        where = np.concatenate([[5 + number], stack.local[number]])
        total[np.ix_(where, where)] += np.block([[own[number], edge[number]], [edge[number].T, local[number]]])
    np.testing.assert_allclose(total, Precision, atol=1e-12)
    C = R @ np.linalg.solve(B, R.T)
    np.testing.assert_allclose(curve.variances, np.diag(dense @ C @ dense.T), atol=1e-9)
    rows = np.array([1, 9, 12, 3])
    touched = curve.touched(b, rows)
    np.testing.assert_allclose(touched.A @ touched.mean, dense[rows] @ R @ b, atol=1e-9)
    np.testing.assert_allclose(
        touched.A @ (touched.A @ touched.covariance).T, dense[rows] @ C @ dense[rows].T, atol=1e-9
    )
    plus, minus = rng.normal(size=(2, 14))
    p, q = dense.T @ plus, dense.T @ minus
    M = (Precision @ C @ Precision - Precision + np.outer(p, p) - np.outer(q, q)) / 2
    items, ((_, pairs),) = curve.sensitivity(plus, minus)
    np.testing.assert_allclose(items, M[:5, :5], atol=1e-9)
    np.testing.assert_allclose(pairs[:, 0, 0], M[5:, 5:].diagonal(), atol=1e-9)
    W = rng.normal(size=(3, 13)) * (rng.random((3, 13)) < 0.5)
    query = Query((W @ K)[:, :5], W @ K @ W.T, own=sp.csr_array((W @ K)[:, 5:]))
    mean, covariance = curve.joint(system.back(g), g, query)
    np.testing.assert_allclose(mean, W @ K @ dense.T @ g, atol=1e-9)
    np.testing.assert_allclose(covariance, W @ C @ W.T, atol=1e-9)
    again, variance = curve.moments(system.back(g), g, replace(query, prior=query.prior.diagonal()))
    np.testing.assert_allclose(again, mean, atol=1e-12)
    np.testing.assert_allclose(variance, covariance.diagonal(), atol=1e-9)


def test_precisions_that_leave_no_posterior_are_refused():
    system, K, *_ = random_problem(0, 0.0)
    for tau in (np.full(14, -0.6), np.concatenate([[-2.0], np.ones(13)])):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            system.curve(tau, semidefinite=False)
    # the effects allow it, the items do not
    small = GroupSystem(system.design, K[:5, :5], [np.full((1, 1, 1), 1e-6)])
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        small.curve(np.full(14, -100.0), semidefinite=False)


@pytest.mark.parametrize("name", PARTS)
def test_draws_have_the_moments_of_the_matrix_and_the_same_pair_is_drawn_once(name):
    model = fixed(name).fit(simulate()[0])
    draws = model.sample_preferences(n_samples=20_000, random_state=0)
    np.testing.assert_array_equal(draws, -draws.transpose(0, 2, 1))
    matrix = model.preference_matrix()
    np.testing.assert_allclose(draws.mean(axis=0), matrix.mean, atol=5 * matrix.std.max() / np.sqrt(20_000))
    np.testing.assert_allclose(draws.std(axis=0), matrix.std, atol=0.05)
    low, high = np.triu_indices(5, 1)
    s, seen = model._solution, model._statements.seen
    parts, rows = s.problem.parts, Rows(_everyone(model), low, high)
    dense = PairPreferences(parts.get("utility"), parts["circles"], 9, model._statements.pairs)
    covariance = np.cov(draws[:, low, high].T)
    tau = np.bincount(seen.cell, seen.weight * s.tau)
    Q, G = dense.ask(rows).shared.whole, dense.prior().K
    expected = dense.covariance(rows) - Q @ np.linalg.solve(np.diag(1 / tau) + G, Q.T)
    np.testing.assert_allclose(covariance, expected, atol=0.1)
    # every pair that was compared has one effect, and no two pairs have the same
    own = s.problem.query(rows).own
    assert np.diff(own.indptr).max() == 1
    compared = set(zip(*model._statements.pairs, strict=True)) & set(zip(low, high, strict=True))
    assert len(np.unique(own.indices)) == own.nnz == len(compared)
    twice = model.sample_preferences([3, 5, 3], n_samples=20, random_state=0)
    np.testing.assert_allclose(twice[:, 0, 1], twice[:, 2, 1], atol=1e-7)
    np.testing.assert_allclose(twice[:, 0, 2], 0.0, atol=1e-7)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.sample_preferences(n_samples=3, random_state=1).shape, (3, 11, 11))


def _everyone(model):
    return model._items_of_table(None)[0]


@pytest.mark.parametrize("name", PARTS)
def test_an_update_starts_from_what_was_known_of_items_and_pairs(name, monkeypatch):
    data, _ = simulate()
    model = fixed(name).fit(data[:30])
    z = _of_pairs(model, model._solution.posterior.system, model._solution.posterior.g)
    np.testing.assert_allclose(list(z.values()), model._solution.posterior.x, atol=1e-12)
    seen = {}

    def keep(evidence, *args, **more):
        seen["start"], seen["system"] = evidence.warm[0], evidence.problem.system()[0]
        return learn(evidence, *args, **more)

    monkeypatch.setattr("preflearn.models._preference.learn", keep)
    model.update(data[30:])
    now = _of_pairs(model, seen["system"], seen["start"])
    assert len(now) > len(z)
    for pair, value in z.items():
        assert now[pair] == pytest.approx(value, abs=1e-12)


def _of_pairs(model, system, g):
    rows = model._statements.rows
    ends = zip(model._used[rows.low], model._used[rows.high], strict=True)
    return dict(zip(ends, system.forward(system.back(g)), strict=True))


def test_fewer_pairs_than_items_are_the_latents():
    order = np.random.default_rng(0).permutation(40)
    data = Comparisons(40, order[:20], order[20:])
    assert fixed("both").fit(data)._choice.kind == "pairs"
    assert fixed("cyclic").fit(data)._choice.kind == "effects"


@pytest.mark.slow
def test_averages_over_hyperparameters_and_items_beyond_a_hundred():
    data, every = simulate()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PreferenceGP(**PARTS["both"], hyperparameters="average", n_points=8, random_state=0).fit(data)
    assert len(model._mixture) > 1
    p = model.predict_proba(every)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert model.sample_preferences([0] * 101, n_samples=2, random_state=0).shape == (2, 101, 101)


@pytest.mark.slow
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
    assert isinstance(model._solution.posterior.system, GroupSystem)
    assert model._solution.problem.n_latents == n + m
    assert model.info_.converged
    assert np.isfinite(loo).all()
    assert np.isfinite(matrix.std).all()
    assert np.corrcoef(f, model.predict_utility())[0, 1] > 0.95


@pytest.mark.slow
@every_seed(3, 10)
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
