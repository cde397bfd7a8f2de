"""Preferences that may run in circles: laws of the pair prior, and what no utility can fit."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import cross_val_score

from fast_share import mostly_slow
from inference_by_hand import ep, laplace
from preflearn import Comparisons, PreferenceGP
from preflearn.exceptions import DataWarning
from preflearn.inference.contract import Observed
from preflearn.inference.dense import DenseSystem
from preflearn.inference.evidence import METHODS, Evidence
from preflearn.inference.problem import Problem
from preflearn.inference.search import quasi_newton
from preflearn.kernels.pair_kernels import difference_gram, skew_gram
from preflearn.likelihoods import Logit, Probit
from preflearn.models import _sum_of_terms
from preflearn.models._observations import Statements
from preflearn.models._sum_of_terms import Choice
from preflearn.terms import Items, Rows
from preflearn.terms.circles import PairPreferences, SkewBasis, SkewFunctions
from preflearn.terms.utility import ItemKernel, Utility

IDENTITY = ConstantKernel(1.0, (1e-3, 1e4))
SKEW = ConstantKernel(2.0) * RBF(1.0)
MODELS = {
    "cyclic": {"cyclic_kernel": SKEW},
    "both": {"kernel": 1.5 * RBF(0.7), "cyclic_kernel": SKEW},
    "both, own effects": {"kernel": 1.5 * RBF(0.7), "cyclic_kernel": SKEW, "own_effect": True},
}
pytestmark = pytest.mark.filterwarnings("ignore:.*repeat an earlier one")


def simulate(seed=0, n=9, m=40, ties=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    first = rng.integers(n, size=m)
    second = (first + rng.integers(1, n, size=m)) % n
    z = 2 * (X[first, 0] * X[second, 1] - X[first, 1] * X[second, 0]) + X[first, 0] - X[second, 0]
    outcome = np.sign(z + rng.normal(size=m))
    if ties:
        outcome[::6] = 0
    return Comparisons(X, first, second, outcome, names=[f"item {k}" for k in range(n)])


def fixed(name, **more):
    return PreferenceGP(**{"hyperparameters": "fixed", **MODELS[name], **more})


def one_by_one(X, first, second, outcome):
    """Return statements of which each has a cell of its own, repeats included."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    y, number = np.where(first == low, outcome, -outcome), np.arange(len(low))
    rows = Rows(Items(X, np.arange(len(X))), low, high)
    return Statements(np.arange(len(X)), rows, Observed(y, np.ones(len(y)), number, len(y)), number, None)


@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_the_difference_kernel_over_pairs_is_the_utility(inference):
    data = simulate()
    said = one_by_one(data.items, data.first, data.second, data.outcome)
    item = ItemKernel(data.items, 1.5 * RBF(0.7), ConstantKernel(0.3), data.n_items)
    by_items, by_pairs = (
        Evidence(Problem.of([term], said.rows), Probit(), said.seen, METHODS[inference]())
        for term in (Utility(item), PairPreferences(item, None, data.n_items, said.pairs))
    )
    assert (by_items.order, by_pairs.order) == (data.n_items, len(said.pairs[0]))
    for theta in (item.parameters.theta, item.parameters.theta + 0.4):
        (value, gradient), (other, other_gradient) = by_items(theta), by_pairs(theta)
        assert value == pytest.approx(other, abs=1e-9)
        np.testing.assert_allclose(gradient, other_gradient, atol=1e-7)


@pytest.mark.parametrize(
    "likelihood", mostly_slow([Probit(), Logit(), Probit(tie=0.4)], 3), ids=["probit", "logit", "ties"]
)
@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_the_evidence(name, inference, likelihood):
    data = simulate(ties=likelihood.tie is not None)
    model = fixed(name, likelihood=likelihood, inference=inference).fit(data)
    theta, h = model.theta_, 1e-4
    _, gradient = model.log_evidence(theta)
    for k, step in enumerate(h * np.eye(len(theta))):
        far, near, back, farther = (model.log_evidence(theta + j * step)[0] for j in (2, 1, -1, -2))
        difference = (8 * (near - back) - (far - farther)) / (12 * h)
        assert gradient[k] == pytest.approx(difference, rel=1e-8, abs=1e-8)


def test_names_of_parameters_say_which_part_they_belong_to():
    model = fixed("both, own effects").fit(simulate())
    assert model.theta_names_ == (
        "constant value",
        "length scale",
        "own effect constant value",
        "cyclic constant value",
        "cyclic length scale",
    )
    np.testing.assert_array_equal(model.cyclic_kernel_.theta, SKEW.theta)
    assert fixed("cyclic").fit(simulate()).kernel_ is None


@pytest.mark.parametrize("name", MODELS)
def test_swapping_sides_and_reordering_items_change_nothing_but_places(name):
    data = simulate()
    model = fixed(name).fit(data)
    p = model.predict_proba(data)
    np.testing.assert_array_equal(model.predict_proba(data.swapped()), p[:, ::-1])
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-15)
    np.testing.assert_allclose(fixed(name).fit(data.swapped()).predict_proba(data), p, atol=1e-12)
    order = np.random.default_rng(1).permutation(data.n_items)
    place = np.argsort(order)
    moved = Comparisons(
        data.items[order], place[data.first], place[data.second], data.outcome, names=np.asarray(data.names)[order]
    )
    other = fixed(name).fit(moved)
    matrix, permuted = model.preference_matrix(), other.preference_matrix()
    np.testing.assert_allclose(permuted.mean, matrix.mean[np.ix_(order, order)], atol=1e-9)
    np.testing.assert_allclose(permuted.std, matrix.std[np.ix_(order, order)], atol=1e-9)
    assert other.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_the_matrix_is_antisymmetric_and_says_what_predictions_say(name):
    data = simulate()
    model = fixed(name).fit(data)
    matrix = model.preference_matrix()
    np.testing.assert_array_equal(matrix.mean, -matrix.mean.T)
    np.testing.assert_array_equal(matrix.std, matrix.std.T)
    np.testing.assert_allclose(matrix.probability + matrix.probability.T, 1, atol=1e-15)
    mean, std = model.predict_difference(data, return_std=True)
    np.testing.assert_allclose(matrix.mean[data.first, data.second], mean, atol=1e-10)
    np.testing.assert_allclose(matrix.std[data.first, data.second], std, atol=1e-10)
    np.testing.assert_allclose(matrix.probability[data.first, data.second], model.predict_proba(data)[:, 1], atol=1e-10)
    some = model.preference_matrix(["item 3", "item 0"])
    assert list(some.names) == ["item 3", "item 0"]
    assert some.mean[0, 1] == pytest.approx(matrix.mean[3, 0], abs=1e-10)


def test_repeats_are_weights():
    data = simulate(m=30)
    rows = np.repeat(np.arange(30), 3)
    listed = fixed("both").fit(data[rows])
    weighted = fixed("both").fit(
        Comparisons(data.items, data.first, data.second, data.outcome, weight=np.full(30, 3.0))
    )
    assert listed.log_evidence_ == pytest.approx(weighted.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(listed.preference_matrix().mean, weighted.preference_matrix().mean, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("features", [True, False])
def test_any_tournament_is_fitted_and_by_no_utility(seed, features):
    rng = np.random.default_rng(seed)
    n = 6
    first, second = np.triu_indices(n, 1)
    outcome = rng.choice([-1.0, 1.0], len(first))
    outcome[[0, 1, n - 1]] = [1, -1, 1]  # 0 > 1 > 2 > 0
    items = rng.normal(size=(n, 3)) if features else n
    data = Comparisons(items, first, second, outcome, weight=np.full(len(first), 20.0))
    kernel = 10.0 * RBF(0.5) if features else ConstantKernel(10.0)
    cyclic = PreferenceGP(cyclic_kernel=kernel, hyperparameters="fixed").fit(data)
    assert cyclic.score(data) == 1.0
    assert (cyclic.predict_proba(data).max(axis=1) > 0.8).all()
    utility = PreferenceGP(kernel, hyperparameters="fixed").fit(data)
    assert utility.score(data) < 1.0
    with pytest.raises(AttributeError, match="predict_utility") as refusal:
        cyclic.predict_utility()
    assert "items have no utilities" in str(refusal.value)
    for method in ("predict_utility", "sample_utilities"):
        assert not hasattr(cyclic, method)
        assert hasattr(utility, method)


@pytest.mark.slow
def test_circles_have_higher_evidence_under_the_cyclic_model_and_rankings_do_not():
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(8, 1)
    f = rng.normal(size=8) * 2
    ranked = np.sign(f[first] - f[second])
    circles = rng.choice([-1.0, 1.0], len(first))
    for outcome, cyclic_wins in ((ranked, False), (circles, True)):
        data = Comparisons(8, first, second, outcome, weight=np.full(len(first), 4.0))
        utility = PreferenceGP(IDENTITY, random_state=0).fit(data)
        cyclic = PreferenceGP(cyclic_kernel=IDENTITY, random_state=0).fit(data)
        both = PreferenceGP(IDENTITY, cyclic_kernel=IDENTITY, random_state=0).fit(data)
        assert (cyclic.log_evidence_ > utility.log_evidence_ + 3) == cyclic_wins
        assert (utility.log_evidence_ > cyclic.log_evidence_ + 3) != cyclic_wins
        assert both.log_evidence_ > max(utility.log_evidence_, cyclic.log_evidence_) - 1.0


def test_utilities_of_the_combined_model_are_those_of_its_rankable_part():
    data = simulate()
    model = fixed("both").fit(data)
    mean, covariance = model.predict_utility(return_cov=True)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9
    # by hand: regression of f on g, all Gaussian once the sites are known
    s, seen, rows = model._solution, model._statements.seen, Rows.of_items(_everyone(model), "nothing")
    (term,) = s.problem.terms
    G = term.prior().K
    design = term.seen(model._statements.rows).shared.toarray()[seen.cell]
    site = np.diag(1 / (seen.weight * s.tau))
    Q = term.ask(rows).shared.whole @ design.T
    solved = np.linalg.solve(design @ G @ design.T + site, np.column_stack([s.nu / s.tau, Q.T]))
    np.testing.assert_allclose(mean, Q @ solved[:, 0], atol=1e-7)
    np.testing.assert_allclose(covariance, term.covariance(rows) - Q @ solved[:, 1:], atol=1e-7)
    assert model.rank(k=2).names.shape == (data.n_items,)


def _everyone(model):
    return model._items_of_table(None)[0]


@pytest.mark.slow
def test_left_out_predictions_are_close_to_refits():
    data = simulate(m=30)
    model = fixed("both", inference="ep").fit(data)
    loo = model.leave_one_out()
    by_first, by_second = model.leave_one_out("item")
    for row in range(0, 30, 5):
        rest = np.flatnonzero(np.arange(30) != row)
        again = fixed("both", inference="ep").fit(data[rest]).predict_proba(data[[row]])[0]
        np.testing.assert_allclose(loo[row], again, atol=0.03)
        for answer, item in ((by_first, data.first[row]), (by_second, data.second[row])):
            rest = np.flatnonzero((data.first != item) & (data.second != item))
            again = fixed("both", inference="ep").fit(data[rest]).predict_proba(data[[row]])[0]
            np.testing.assert_allclose(answer[row], again, atol=0.06)


def test_an_update_is_a_fit_on_all():
    data = simulate(m=40)
    model = fixed("both").fit(data[:25]).update(data[25:])
    np.testing.assert_allclose(model.predict_proba(data), fixed("both").fit(data).predict_proba(data), atol=1e-9)


def test_scikit_learn_can_clone_and_cross_validate_it():
    data = simulate(m=60)
    model = PreferenceGP(cyclic_kernel="rbf", n_restarts=0)
    assert clone(model).get_params()["cyclic_kernel"] == "rbf"
    assert cross_val_score(model, data, cv=3).mean() > 0.6


def test_new_items_have_the_prior_covariance_of_the_skew_kernel():
    data = simulate()
    model = fixed("cyclic").fit(data)
    far = np.array([[50.0, 0.0], [0.0, 50.0]])
    matrix = model.preference_matrix(far)
    pair = np.array([0]), np.array([1])
    assert matrix.mean[0, 1] == pytest.approx(0, abs=1e-12)
    assert matrix.std[0, 1] ** 2 == pytest.approx(skew_gram(SKEW(far), pair, pair)[0, 0], abs=1e-12)


def test_mistakes_are_explained():
    data = simulate()
    with pytest.raises(ValueError, match="own_effect is a part of the utility"):
        PreferenceGP(cyclic_kernel="rbf", own_effect=True).fit(data)
    featureless = Comparisons(None, ["a", "b"], ["b", "c"])
    with pytest.raises(ValueError, match=r"ConstantKernel\(\) beside circles"):
        PreferenceGP("rbf", cyclic_kernel="rbf").fit(featureless)
    with pytest.raises(ValueError, match="cyclic_kernel"):
        PreferenceGP(cyclic_kernel="cubic").fit(data)


@pytest.mark.parametrize("seed", range(10))
def test_hostile_problems(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 8)), int(rng.integers(1, 30))
    X = rng.normal(size=(n, 2)) * 10.0 ** rng.uniform(-8, 8)
    if seed % 3 == 0:
        X[:] = X[0]
    first = rng.integers(n, size=m)
    data = Comparisons(X, first, (first + rng.integers(1, n, size=m)) % n, rng.choice([-1.0, 1.0], m))
    kernel = 10.0 ** rng.uniform(-4, 4) * RBF(10.0 ** rng.uniform(-8, 8))
    for inference in ("laplace", "ep"):
        model = PreferenceGP(kernel, cyclic_kernel=kernel, inference=inference, hyperparameters="fixed")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said, not silent
            warnings.simplefilter("ignore", DataWarning)  # equal features
            matrix = model.fit(data).preference_matrix()
        for part in (matrix.mean, matrix.std, matrix.probability):
            assert np.isfinite(part).all()


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("own_effect", [False, True])
def test_utilities_of_many_items_with_few_comparisons_are_inferred_from_pairs(inference, own_effect, monkeypatch):
    rng = np.random.default_rng(0)
    X, order = rng.normal(size=(40, 2)), rng.permutation(40)
    data = Comparisons(X, order[:20], order[20:], np.sign(X[order[:20], 0] - X[order[20:], 0]))
    more = Comparisons(X, order[1:30], order[:29], rng.choice([-1.0, 1.0], 29))

    def answers():
        model = PreferenceGP(inference=inference, own_effect=own_effect, n_restarts=0).fit(data)
        size, theta = model._solution.problem.n_latents, model.theta_
        found = [*model.predict_utility(return_cov=True), model.predict_proba(more), *model.leave_one_out("item")]
        return size, [*found, model.leave_one_out(), theta, model.update(more).predict_utility(), model.sigma_]

    size, by_pairs = answers()
    assert size == 20
    monkeypatch.setattr("preflearn.models._sum_of_terms.FEW_PAIRS", 0.0)
    size, by_items = answers()
    assert size == 40
    for one, other in zip(by_pairs, by_items, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("name", MODELS)
def test_all_skew_functions_are_the_pairs_themselves(name, inference, monkeypatch):
    data, new = simulate(m=60), np.random.default_rng(5).normal(size=(3, 2))

    def answers():
        model = fixed(name, inference=inference).fit(data[:50])
        theta = model.theta_ + 0.2
        matrix, fresh = model.preference_matrix(), model.preference_matrix(new)
        found = [*model.log_evidence(theta), matrix.mean, matrix.std, fresh.mean, fresh.std, model.leave_one_out()]
        found += [*model.leave_one_out("item"), model.update(data[50:]).predict_proba(data)]
        if name != "cyclic":
            found += [*model.predict_utility(return_cov=True), *model.predict_utility(new, return_cov=True)]
        return model._choice.kind, found

    dense, by_pairs = answers()
    monkeypatch.setattr("preflearn.models._sum_of_terms.BASIS_FROM", 0)
    monkeypatch.setattr("preflearn.models._sum_of_terms.MANY_PAIRS", 0)
    monkeypatch.setattr("preflearn.models._sum_of_terms.LOST", 0.0)
    functions, by_functions = answers()
    assert (dense, functions) == ("pairs", "functions")
    for one, other in zip(by_pairs, by_functions, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.slow
def test_gradients_through_few_skew_functions(monkeypatch):
    monkeypatch.setattr("preflearn.models._sum_of_terms.BASIS_FROM", 0)
    monkeypatch.setattr("preflearn.models._sum_of_terms.MANY_PAIRS", 0)
    monkeypatch.setattr("preflearn.models._sum_of_terms.MOST_FUNCTIONS", 7)
    for inference in ("laplace", "ep"):
        model = fixed("both", inference=inference).fit(simulate())
        theta, h = model.theta_ + 0.1, 1e-4
        _, gradient = model.log_evidence(theta)
        for k, step in enumerate(h * np.eye(len(theta))):
            far, near, back, farther = (model.log_evidence(theta + j * step)[0] for j in (2, 1, -1, -2))
            difference = (8 * (near - back) - (far - farther)) / (12 * h)
            assert gradient[k] == pytest.approx(difference, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("kwargs", [{"kernel": 1.5 * RBF(0.7)}, MODELS["cyclic"], MODELS["both"]])
def test_draws_of_preferences_have_the_moments_of_the_matrix(kwargs):
    data = simulate()
    model = PreferenceGP(hyperparameters="fixed", **kwargs).fit(data)
    draws = model.sample_preferences(n_samples=20_000, random_state=0)
    np.testing.assert_array_equal(draws, -draws.transpose(0, 2, 1))
    matrix = model.preference_matrix()
    np.testing.assert_allclose(draws.mean(axis=0), matrix.mean, atol=5 * matrix.std.max() / np.sqrt(20_000))
    np.testing.assert_allclose(draws.std(axis=0), matrix.std, atol=0.03)
    if "cyclic_kernel" in kwargs:
        with pytest.raises(ValueError, match="at most 100 items"):
            model.sample_preferences(np.zeros((101, 2)))


def test_the_share_that_functions_hold_is_that_of_the_variances():
    X = np.random.default_rng(0).normal(size=(9, 2))
    cyclic = ItemKernel(X, SKEW, None, 9)
    pairs = np.triu_indices(9, 1)
    basis = SkewBasis.build(SKEW(X), 0, 10, 0.0)
    term = SkewFunctions(cyclic, basis)
    for theta in (SKEW.theta, SKEW.theta - 0.5):
        moved = term.clone_with_theta(theta)
        K = SKEW.clone_with_theta(theta)(X)
        Psi = basis.features(basis.V, pairs)
        held = (Psi @ skew_gram(basis.V.T @ K @ basis.V, basis.kept, basis.kept) @ Psi.T).trace()
        assert moved.kept_share(pairs) == pytest.approx(held / skew_gram(K, pairs, pairs).trace(), rel=1e-9)
        assert 0.2 < moved.kept_share(pairs) < 0.999
    assert SkewFunctions(cyclic, SkewBasis.build(SKEW(X), 0, 100, 0.0)).kept_share(pairs) == pytest.approx(1)


def test_a_search_that_outgrows_its_functions_gets_others(monkeypatch):
    monkeypatch.setattr("preflearn.models._sum_of_terms.BASIS_FROM", 0)
    monkeypatch.setattr("preflearn.models._sum_of_terms.MANY_PAIRS", 0)
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(20, 1))
    first, second = np.triu_indices(20, 1)
    z = 8 * np.sin(3 * (X[first, 0] - X[second, 0]))  # rough, and the search starts smooth
    data = Comparisons(X, first, second, np.sign(z))
    kernel = ConstantKernel(2.0, (0.1, 100)) * RBF(1.0, (0.05, 50.0))
    model = PreferenceGP(cyclic_kernel=kernel, n_restarts=0).fit(data)
    problem = model._solution.problem
    assert problem.parts["functions"].kept_share(model._statements.pairs) > 0.99
    assert problem.n_latents > 20
    assert model.score(data) > 0.9


@pytest.mark.slow
def test_restarts_find_what_functions_of_the_first_start_cannot_show(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(28, 1))
    first, second = np.triu_indices(28, 1)
    z = 4 * np.sin(6 * np.pi * (X[first, 0] - X[second, 0]))
    data = Comparisons(X, first, second, np.sign(z + rng.normal(size=len(z))))
    model = PreferenceGP(cyclic_kernel=1.0 * RBF(1.0), n_restarts=3, random_state=0)
    monkeypatch.setattr("preflearn.models._sum_of_terms.BASIS_FROM", 100)
    found = clone(model).fit(data)
    monkeypatch.setattr("preflearn.models._sum_of_terms.BASIS_FROM", 10**6)
    dense = model.fit(data)
    assert found._choice.kind == "functions"
    assert found.score(data) > 0.85
    assert found.log_evidence_ == pytest.approx(dense.log_evidence_, abs=1.0)
    assert len(found.optima_) == 4


@pytest.mark.slow
def test_functions_are_chosen_where_a_search_starts_and_anew_where_it_leads(monkeypatch):
    monkeypatch.setattr("preflearn.models._sum_of_terms.BASIS_FROM", 0)
    monkeypatch.setattr("preflearn.models._sum_of_terms.MANY_PAIRS", 0)
    monkeypatch.setattr("preflearn.models._sum_of_terms.LEAST_FUNCTIONS", 0)
    chosen, visited = [], []
    choose, search = Choice.with_rest, _sum_of_terms.quasi_newton

    def with_rest(choice, *rest):
        chosen.append(choice.circles.parameters.theta)
        return choose(choice, *rest)

    def watched(evaluate, *first, **how):
        def noted(theta):
            value, slope = evaluate(theta)
            visited.append((theta, chosen[-1]))
            return value, slope

        return search(noted, *first, **how)

    monkeypatch.setattr(Choice, "with_rest", with_rest)
    monkeypatch.setattr(_sum_of_terms, "quasi_newton", watched)
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(12, 1))
    first, second = np.triu_indices(12, 1)
    data = Comparisons(X, first, second, np.sign(np.sin(2 * (X[first, 0] - X[second, 0]))))
    model = PreferenceGP(cyclic_kernel=1.0 * RBF(2.0), n_restarts=2, random_state=0).fit(data)
    np.testing.assert_allclose(chosen[0], [0.0, np.log(2.0)])
    assert all(np.abs(theta - basis).max() <= _sum_of_terms.AWAY for theta, basis in visited)
    assert 3 == len(model.optima_) < len(chosen) < len(visited)
    assert sum(one.evaluations for one in model.optima_) == len(visited)
    assert all(one.converged for one in model.optima_)


def test_a_search_steps_back_from_walls_and_valleys():
    def evaluate(x):  # the nearer top is at 0, behind a valley there is a slope that leads up again
        visited.append(float(x[0]))
        if x[0] > 1.5:
            return np.nan, np.array([np.nan])
        return float(np.cos(4 * x[0])), -4 * np.sin(4 * x)

    visited = []
    found = quasi_newton(
        evaluate, np.array([-0.3]), np.array([[-5.0, 5.0]]), np.array([1.0]), tol=1e-6, gain=0.0, worse=0.1
    )
    assert found.converged
    assert found.theta[0] == pytest.approx(0, abs=1e-5)
    assert max(visited) > 0.5  # the first step went too far
    visited.clear()
    found = quasi_newton(
        evaluate, np.array([1.3]), np.array([[-5.0, 5.0]]), np.array([1.0]), tol=1e-6, gain=0.0, longest=0.4
    )
    assert found.theta[0] <= 1.5
    assert max(visited) > 1.5
    assert not quasi_newton(
        evaluate, np.array([2.0]), np.array([[-5.0, 5.0]]), np.ones(1), tol=1e-6, gain=0.0
    ).converged


@pytest.mark.slow
def test_the_same_parameters_have_the_same_evidence_wherever_a_search_came_from(monkeypatch):
    monkeypatch.setattr("preflearn.models._sum_of_terms.BASIS_FROM", 0)
    monkeypatch.setattr("preflearn.models._sum_of_terms.LEAST_FUNCTIONS", 0)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(25, 2))
    first, second = np.triu_indices(25, 1)
    z = 3 * (X[first, 0] * X[second, 1] - X[first, 1] * X[second, 0])
    data = Comparisons(X, first, second, np.sign(z + rng.logistic(size=len(z))))
    model = PreferenceGP(cyclic_kernel="rbf", n_restarts=1, random_state=0).fit(data)
    learned = dict(zip(model.theta_names_, np.exp(model.theta_), strict=True))
    held = clone(model).fit(data, start=learned, hold=True)
    assert model._choice.kind == "functions"
    assert held.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-9)
    assert held.optima_[0].evidence == pytest.approx(model.optima_[0].evidence, abs=1e-9)
    np.testing.assert_allclose(held.predict_proba(data), model.predict_proba(data), atol=1e-9)


def test_functions_are_at_least_so_many_and_lose_less_the_more_statements_there_are(monkeypatch):
    monkeypatch.setattr("preflearn.models._sum_of_terms.LEAST_FUNCTIONS", 0)
    monkeypatch.setattr("preflearn.models._sum_of_terms.FEW_FUNCTIONS", 1_000)
    X = np.random.default_rng(0).normal(size=(30, 2))
    K = RBF(1.5)(X)
    assert len(SkewBasis.build(K, 0, 1_000, 0.05).kept[0]) < 40 == len(SkewBasis.build(K, 40, 1_000, 0.05).kept[0])
    pairs, choice = np.triu_indices(30, 1), Choice("pairs", None, ItemKernel(X, 1.0 * RBF(1.5), None, 30))
    many = tuple(np.tile(side, 20) for side in pairs)  # 8,700 statements
    said = [one_by_one(X, *ends, np.ones(len(ends[0]))) for ends in (pairs, many)]
    few, more = (choice.with_rest(statements, 0.05).parts["functions"] for statements in said)
    assert few.kept_share(pairs) > 0.95
    assert few.kept_share(pairs) < 1 - 0.05 * 2_000 / 8_700 < more.kept_share(pairs)


def with_few(utility, cyclic, said, q, monkeypatch):
    """Return the problem of q functions and the rest of each pair."""
    monkeypatch.setattr("preflearn.models._sum_of_terms.LEAST_FUNCTIONS", q)
    monkeypatch.setattr("preflearn.models._sum_of_terms.FEW_FUNCTIONS", q)
    return Choice("pairs", utility, cyclic).with_rest(said, 0.0)


PARTS = {
    "cyclic": (None, 2.0 * RBF(0.6)),
    "both, own effects": (ItemKernel(None, 1.3 * RBF(0.8), ConstantKernel(0.3), 9), 2.0 * RBF(0.6)),
}


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("name", PARTS)
def test_what_functions_do_not_hold_is_independent_from_pair_to_pair(name, inference, monkeypatch):
    data = simulate(m=60)
    utility, kernel = PARTS[name]
    if utility is not None:
        utility = replace(utility, X=data.items)
    cyclic = ItemKernel(data.items, kernel, None, 9)
    said = one_by_one(data.items, data.first, data.second, data.outcome)
    pairs, (y, ones) = said.pairs, (said.seen.y, said.seen.weight)
    problem = with_few(utility, cyclic, said, 10, monkeypatch)
    evidence = Evidence(problem, Logit(), said.seen, METHODS[inference]())
    start = evidence.parameters.theta
    assert problem.n_latents == 10 + len(pairs[0]) + (0 if utility is None else 9)
    for theta in (start, start + 0.3, start - 0.3):
        parts = problem.with_theta(theta).parts
        basis = parts["functions"].basis
        # slow: all pairs, with the covariance of the functions and the variance that it lacks
        K, Psi = parts["circles"].gram()[0], basis.features(basis.V, pairs)
        held = Psi @ skew_gram(basis.V.T @ K @ basis.V, basis.kept, basis.kept) @ Psi.T
        G = held + np.diag(np.maximum(skew_gram(K, pairs, pairs).diagonal() - held.diagonal(), 0.0))
        if utility is not None:
            G += difference_gram(parts["utility"].gram()[0], pairs, pairs)
        place = np.searchsorted(pairs[0] * 9 + pairs[1], said.rows.low * 9 + said.rows.high)
        A = sp.csr_array((ones, place, np.arange(len(y) + 1)), shape=(len(y), len(G)))
        infer = laplace if inference == "laplace" else ep
        wanted = infer(DenseSystem.of(A, G), Observed(y, ones), Logit())[0].log_evidence
        assert evidence(theta)[0] == pytest.approx(wanted, abs=1e-8)
        assert 0.05 < 1 - parts["functions"].kept_share(pairs) < 0.95
    gradient, h = evidence(start - 0.1)[1], 1e-4
    for k, step in enumerate(h * np.eye(len(start))):
        far, near, back, farther = (evidence(start - 0.1 + j * step)[0] for j in (2, 1, -1, -2))
        assert gradient[k] == pytest.approx((8 * (near - back) - (far - farther)) / (12 * h), rel=1e-7, abs=1e-7)


@pytest.mark.slow
def test_rough_circles_are_found_from_a_smooth_start(monkeypatch):
    monkeypatch.setattr("preflearn.models._sum_of_terms.BASIS_FROM", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    first, second = (side[::2] for side in np.triu_indices(30, 1))
    root = np.linalg.cholesky(RBF(0.7)(X) + 1e-9 * np.eye(30))
    C = root @ (lambda S: S - S.T)(rng.normal(size=(30, 30))) @ root.T
    data = Comparisons(
        X, first, second, np.sign(3 * C[first, second] + rng.logistic(size=len(first))), weight=np.full(len(first), 4.0)
    )
    model = PreferenceGP(likelihood="logit", cyclic_kernel=1.0 * RBF(3.0), n_restarts=0)
    found = clone(model).fit(data)
    monkeypatch.setattr("preflearn.models._sum_of_terms.BASIS_FROM", 10**6)
    dense = clone(model).fit(data)
    assert 0.3 < np.exp(found.theta_[1]) < 1.4
    assert found.log_evidence_ == pytest.approx(dense.log_evidence_, abs=1.5)


@pytest.mark.parametrize("functions", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_means_without_variances_are_those_of_the_matrix(name, functions, monkeypatch):
    if functions:
        monkeypatch.setattr("preflearn.models._sum_of_terms.BASIS_FROM", 0)
        monkeypatch.setattr("preflearn.models._sum_of_terms.MANY_PAIRS", 0)
        monkeypatch.setattr("preflearn.models._sum_of_terms.MOST_FUNCTIONS", 7)
    data = simulate()
    for kwargs in ({}, {"judge_kernel": "identity"}) if not functions else ({},):
        asked = replace_judge(data) if kwargs else data
        model = fixed(name, **kwargs).fit(asked)
        assert (model._choice.kind == "functions") == functions
        matrix, G = model.preference_matrix(), model._mean_preferences()
        np.testing.assert_allclose(G, matrix.mean, atol=1e-10)
        np.testing.assert_array_equal(G, -G.T)
        i, j = np.array([0, 5, 3]), np.array([4, 1, 2])
        np.testing.assert_allclose(model._pair_probabilities(i, j), matrix.probability[i, j], atol=1e-12)


def replace_judge(data):
    judge = np.array(["ann", "bob"])[np.arange(len(data)) % 2]
    return Comparisons(data.items, data.first, data.second, data.outcome, names=data.names, judge=judge)
