"""Support vector machines on pairs: against listed pairs and programmes solved by other routes; laws; OHSUMED."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.svm import LinearSVC

from fast_share import every_seed
from preflearn import Comparisons, Nystroem
from preflearn.baselines import ConstraintSVM, RankSVM
from preflearn.baselines._pair_machine import Machine, Point
from preflearn.baselines._shortfalls import Implied, Listed
from preflearn.datasets import make_ltr
from preflearn.exceptions import DataError, DataWarning
from preflearn.models.training_data import RowData

LOSSES = ["squared_hinge", "hinge"]
TOL = {"squared_hinge": 1e-10, "hinge": 1e-8}


def rows(seed, n=40, n_groups=4, n_scores=4, weighted=True):
    rng = np.random.default_rng(seed)
    X, code = rng.normal(size=(n, 3)), rng.integers(0, n_groups, n)
    y = rng.integers(0, n_scores, n).astype(float)
    weight = rng.uniform(0.2, 3, n) if weighted else None
    return X, y, np.unique(code, return_inverse=True)[1], weight


def listed(y, code, weight, weighting="pairs"):
    """All pairs (winner, loser) and their weights, by two loops."""
    w = np.ones(len(y)) if weight is None else weight
    total = np.bincount(code, w)
    pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if code[i] == code[j] and y[i] > y[j]]
    i, j = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return i, j, w[i] * w[j] / (total[code[i]] if weighting == "groups" else 1.0)


def oracle(X, i, j, v, C, loss):
    """Weights of the linear machine from the dual over listed pairs: maximise over 0 <= b (<= C v for the hinge)."""
    D = X[i] - X[j]
    soft = 1 / (4 * C * v) if loss == "squared_hinge" else np.zeros(len(v))
    top = np.full(len(v), np.inf) if loss == "squared_hinge" else C * v

    def negative(b):
        w = D.T @ b
        return 0.5 * w @ w + soft @ b**2 - b.sum(), D @ w + 2 * soft * b - 1

    options = {"maxiter": 20000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-10}
    bounds = [(0, u) for u in top]
    done = minimize(negative, np.zeros(len(v)), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    w = D.T @ done.x
    m = np.maximum(0, 1 - D @ w)
    return w, 0.5 * w @ w + C * v @ (m**2 if loss == "squared_hinge" else m)


@every_seed(3, 20)
def test_what_newtons_method_minimises_has_its_gradient_and_curvature(seed):
    X, y, code, weight = rows(seed)
    machine = Machine.build(X, 0.7, Implied.build(RowData(X, y, code, weight, True)), None, factored=False)
    rng = np.random.default_rng(seed)
    v, d, step = rng.normal(size=3), rng.normal(size=3), 1e-6
    one, other = (Point.build(machine, v + sign * step * d) for sign in (1, -1))
    here = Point.build(machine, v)
    np.testing.assert_allclose((one.value - other.value) / (2 * step), here.gradient @ d, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose((one.gradient - other.gradient) / (2 * step), here.curve(d), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(here.value * machine.scale, here.objective)  # a squared hinge is smooth


@pytest.mark.parametrize("weighting", ["pairs", "groups"])
@every_seed(8, 100)
def test_sums_over_pairs_are_those_of_two_loops(seed, weighting):
    X, y, code, weight = rows(seed, n_groups=1 + seed % 5, n_scores=[2, 3, 6, 40][seed % 4], weighted=seed % 3 > 0)
    rng = np.random.default_rng(seed)
    f, d, margin = rng.normal(size=len(y)) + 1e3 * code, rng.normal(size=len(y)), rng.uniform(-0.5, 2)
    i, j, v = listed(y, code, weight, weighting)
    m = np.maximum(0, margin - f[i] + f[j])
    short = m > 0
    slope, Ld = np.zeros(len(y)), np.zeros(len(y))
    for value, at, out in ((m, 1, slope), ((d[i] - d[j]) * short, -1, Ld)):
        np.add.at(out, j, at * v * value)
        np.add.at(out, i, -at * v * value)
    data = RowData(X, y, code, weight, True, weighting=weighting)
    for pairs in (Implied.build(data), Listed(i, j, v)):
        found = pairs.short_of(margin, f)
        assert found.count == pytest.approx(v @ short, rel=1e-10)
        assert found.total == pytest.approx(v @ m, rel=1e-9)
        assert found.squares == pytest.approx(v @ m**2, rel=1e-9)
        np.testing.assert_allclose(found.slope, slope, atol=1e-8)
        np.testing.assert_allclose(found.laplacian(d), Ld, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighting", ["pairs", "groups"])
@every_seed(2, 20)
def test_the_machine_is_the_one_of_listed_pairs(seed, loss, weighting):
    X, y, code, weight = rows(seed, n=30)
    i, j, v = listed(y, code, weight, weighting)
    C = [0.003, 0.05, 0.5][seed % 3]
    w, least = oracle(X, i, j, v, C, loss)
    model = RankSVM(C, loss=loss, weighting=weighting, tol=TOL[loss]).fit(X, y, qid=code, sample_weight=weight)
    near_optimum(model, w)
    assert model.objective_ == pytest.approx(least, rel=1e-6)
    assert model.objective_ * (1 - model.gap_) <= least * (1 + 1e-8)  # the gap is no guess
    rough = RankSVM(C, loss=loss, weighting=weighting, tol=0.1).fit(X, y, qid=code, sample_weight=weight)
    assert rough.gap_ <= 0.1
    assert rough.objective_ * (1 - rough.gap_) <= least * (1 + 1e-8)
    # and the same from a list, where a group weighs as much as another by its own weights
    pairs = Comparisons(X, i, j, weight=v, group=code[i] if weighting == "groups" else None)
    share = np.bincount(code[i], v)[code[i]] if weighting == "groups" else 1.0
    w, _ = oracle(X, i, j, v / share, C, loss)
    near_optimum(RankSVM(C, loss=loss, weighting=weighting, tol=TOL[loss]).fit(pairs), w)


def near_optimum(model, w):
    """The objective bends by 1 at least, so a gap bounds the distance from the minimum."""
    assert np.linalg.norm(model.coef_ - w) <= np.sqrt(2 * model.gap_ * model.objective_) + 1e-5 * np.abs(w).max()


def test_squared_hinge_is_scikit_learns_linear_machine_of_differences():
    X, y, code, _ = rows(3, n=60, weighted=False)
    i, j, _ = listed(y, code, None)
    turned = np.where(np.arange(len(i)) % 2, -1, 1)
    peer = LinearSVC(C=0.1, fit_intercept=False, dual=False, tol=1e-10).fit((X[i] - X[j]) * turned[:, None], turned)
    model = RankSVM(0.1, tol=1e-10).fit(X, y, qid=code)
    np.testing.assert_allclose(model.coef_, peer.coef_[0], atol=1e-6)


def test_hinge_with_a_kernel_is_the_constraint_machine():
    X, y, code, _ = rows(4, n=20, weighted=False)
    i, j, _ = listed(y, code, None)
    pairs = Comparisons(X, i, j)
    peer = ConstraintSVM(RBF(1.3), C=0.5, tol=1e-7).fit(pairs).decision_function(pairs)
    model = RankSVM(1.0, RBF(1.3), loss="hinge", tol=TOL["hinge"]).fit(X, y, qid=code)  # the peer has every pair twice
    np.testing.assert_allclose(model.predict(pairs), peer, atol=2e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_solver_and_kind_of_rows_gives_one_answer(loss):
    X, y, code, weight = rows(5, n=30)
    new = np.random.default_rng(1).normal(size=(7, 3))
    options = {"loss": loss, "tol": TOL[loss]}

    def answer(model, X, new):
        return model.fit(X, y, qid=code, sample_weight=weight).predict(new)

    base = answer(RankSVM(0.2, **options), X, new)
    close = {"rtol": 0, "atol": 2e-4 * np.abs(base).max()}
    for solver in ("primal", "dual", "cg"):
        np.testing.assert_allclose(answer(RankSVM(0.2, solver=solver, **options), X, new), base, **close)
    np.testing.assert_allclose(answer(RankSVM(0.2, **options), sp.csr_array(X), sp.csr_array(new)), base, **close)
    given = answer(RankSVM(0.2, "precomputed", **options), X @ X.T, new @ X.T)
    np.testing.assert_allclose(given, base, **close)
    # features of items that are far from zero, and groups that differ, change nothing
    far = answer(RankSVM(0.2, **options), X + 1e7, new)
    np.testing.assert_allclose(far, base, **close)
    rbf = answer(RankSVM(0.2, RBF(1.0), **options), X, new)
    np.testing.assert_allclose(
        answer(RankSVM(0.2, RBF(1.0), approximation=Nystroem(30), **options), X, new) - rbf,
        np.zeros(7),
        atol=1e-3,
    )


@pytest.mark.parametrize("kernel", ["linear", RBF(1.0)], ids=["linear", "rbf"])
@pytest.mark.parametrize("loss", LOSSES)
def test_laws_of_comparisons(kernel, loss):
    X, y, code, _ = rows(6, n=25, weighted=False)
    i, j, _ = listed(y, code, None)
    rng = np.random.default_rng(0)
    outcome = rng.choice([-1.0, 1.0, 1.0, 1.0], len(i))
    pairs, model = Comparisons(X, i, j, outcome), RankSVM(0.3, kernel, loss=loss, tol=TOL[loss])
    margin = model.fit(pairs).predict(pairs)
    np.testing.assert_array_equal(model.predict(pairs.swapped()), -margin)
    count = rng.integers(0, 3, len(i))
    weighted = Comparisons(X, i, j, outcome, weight=count.astype(float))
    twice = clone(model).fit(pairs[np.repeat(np.arange(len(i)), count)]).predict(pairs)
    close = {"rtol": 0, "atol": 1e-3 * np.abs(margin).max()}
    np.testing.assert_allclose(clone(model).fit(weighted).predict(pairs), twice, **close)
    np.testing.assert_allclose(clone(model).fit(pairs.swapped()).predict(pairs), margin, **close)
    # sizes of margins do not count, and ties are no pairs
    sizes = Comparisons(X, np.r_[i, 0], np.r_[j, 1], np.r_[outcome * rng.uniform(0.1, 9, len(i)), 0.0])
    np.testing.assert_allclose(clone(model).fit(sizes).predict(pairs), margin, **close)


def test_items_without_features_are_ranked_by_name():
    matches = Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "cy"])
    f = RankSVM().fit(matches).predict(Comparisons(None, ["ann", "ann"], ["bob", "cy"]))
    assert 0 < f[0] < f[1]


def test_qid_reaches_a_grid_search_over_C():
    data = make_ltr(30, 8, 5, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(RankSVM(), {"C": [1e-8, 1e-2]}, cv=GroupKFold(3))
        search.fit(data.X, data.y, qid=data.qid, groups=data.qid)
    assert search.best_params_ == {"C": 1e-2}
    best = RankSVM(1e-2).fit(data.X, data.y, qid=data.qid)
    assert search.score(data.ratings) == best.score(data.ratings) > 0.75


def test_what_cannot_be_learned_is_said():
    X, y, code, _ = rows(7, weighted=False)
    with pytest.warns(DataWarning, match="all pairs are tied"):
        model = RankSVM().fit(X, np.ones(40), qid=code)
    np.testing.assert_array_equal(model.predict(X), 0)
    with pytest.warns(DataWarning, match="all pairs are tied"):
        model = RankSVM().fit(Comparisons(X, [0, 1], [1, 2], [0, 0]))
    np.testing.assert_array_equal(model.predict(X), 0)
    with pytest.raises(DataError, match="none of the 40 groups has two rows"):
        RankSVM().fit(X, y, qid=np.arange(40))
    with pytest.warns(ConvergenceWarning, match=r"RankSVM: Newton's method stopped after 1 steps"):
        model = RankSVM(1.0, loss="hinge", max_iter=1).fit(X, y, qid=code)
    assert model.gap_ > 1e-5
    with pytest.raises(DataError, match="products overflow"), np.errstate(over="ignore"):
        RankSVM().fit(X * 1e200, y, qid=code)
    with pytest.raises(ValueError, match="'loss' parameter of RankSVM"):
        RankSVM(loss="hinge²").fit(X, y)


@every_seed(3, 60)
def test_extreme_prices_and_scales_end_with_a_small_gap(seed):
    rng = np.random.default_rng(seed)
    X, y, code, _ = rows(seed, weighted=False)
    C, scale = 10.0 ** rng.uniform(-8, 6), 10.0 ** rng.uniform(-4, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RankSVM(C, loss=LOSSES[seed % 2], tol=1e-4).fit(X * scale, y, qid=code)
    assert 0 <= model.gap_ <= 1e-4
