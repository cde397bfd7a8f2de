"""Laws of the least-squares rankers: every fast route equals the slow formula (MATHS 1-5)."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from fast_share import every_seed
from laws.problems import pair_problem, rank_rls, row_problem
from preflearn import RLS, RLSCV, Comparisons, Nystroem, RankRLS, RankRLSCV
from preflearn.metrics import kendall_tau_b

pytestmark = pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")

GAUSS = RBF(1.3)


def centred(f, code):
    return f - (np.bincount(code, f) / np.bincount(code))[code]


def options(p):
    return {"ties": p.ties, "weighting": p.weighting}


def compare(p):
    return Comparisons(p.X, p.first, p.second, p.margin, weight=p.weight)


@every_seed(30, 200)
def test_primal_dual_and_iterative_equal_the_paper(seed):
    p = row_problem(seed)
    p.X -= 1e3 * (seed % 7 == 0)
    alpha = 10.0 ** (seed % 5 - 3)
    X_new = np.random.default_rng(seed).normal(size=(5, 3))
    L = p.laplacian
    A = rank_rls(p.X @ p.X.T, L, L @ p.y, alpha)
    for solver in ("primal", "dual", "cg", "auto"):
        model = RankRLS(alpha, solver=solver, **options(p)).fit(p.X, p.y, qid=p.code, sample_weight=p.weight)
        np.testing.assert_allclose(model.predict(X_new), X_new @ p.X.T @ A, atol=1e-8, err_msg=solver)
    A = rank_rls(GAUSS(p.X), L, L @ p.y, alpha)
    model = RankRLS(alpha, GAUSS, **options(p)).fit(p.X, p.y, qid=p.code, sample_weight=p.weight)
    np.testing.assert_allclose(model.predict(X_new), GAUSS(X_new, p.X) @ A, atol=1e-8)


@every_seed(30, 200)
def test_listed_pairs_equal_the_dense_formula(seed):
    p = pair_problem(seed)
    alpha = 10.0 ** (seed % 5 - 3)
    X_new = np.random.default_rng(seed).normal(size=(5, 3))
    A = rank_rls(p.X @ p.X.T, p.laplacian, p.rhs, alpha)
    for solver in ("primal", "dual", "cg"):
        model = RankRLS(alpha, solver=solver).fit(compare(p))
        np.testing.assert_allclose(model.predict(X_new), X_new @ p.X.T @ A, atol=1e-8, err_msg=solver)
    A = rank_rls(GAUSS(p.X), p.laplacian, p.rhs, alpha)
    model = RankRLS(alpha, GAUSS).fit(compare(p))
    np.testing.assert_allclose(model.predict(X_new), GAUSS(X_new, p.X) @ A, atol=1e-8)
    f = GAUSS(p.X) @ A
    np.testing.assert_allclose(model.predict(compare(p)), f[p.first] - f[p.second], atol=1e-8)


@every_seed(15, 40)
def test_rank_rls_is_the_mean_of_a_gaussian_process_on_differences(seed):
    p = pair_problem(seed)
    K, B = GAUSS(p.X), p.B
    X_new = np.random.default_rng(seed).normal(size=(4, 3))
    noise = 0.3 / p.v
    mean = GAUSS(X_new, p.X) @ B.T @ np.linalg.solve(B @ K @ B.T + np.diag(noise), p.margin)
    np.testing.assert_allclose(RankRLS(0.3, GAUSS).fit(compare(p)).predict(X_new), mean, atol=1e-9)


@every_seed(15, 200)
def test_leave_one_group_out_equals_refitting(seed):
    p = row_problem(seed, min_groups=2)
    p.X -= 1e3 * (seed % 7 == 0)
    alphas = [0.05, 2.0]
    for kernel, solvers in (("linear", ("primal", "dual")), (GAUSS, ("dual",))):
        for solver in solvers:
            for cv in (None, 2):
                model = RankRLSCV(alphas, kernel, cv=cv, solver=solver, store_cv_results=True, **options(p))
                model.fit(p.X, p.y, qid=p.code, sample_weight=p.weight)
                check_against_refits(p, model, kernel, alphas, cv)


def check_against_refits(p, model, kernel, alphas, cv):
    from sklearn.model_selection import GroupKFold, LeaveOneGroupOut

    splitter = LeaveOneGroupOut() if cv is None else GroupKFold(cv)
    for train, test in splitter.split(p.X, groups=p.code):
        L = p.laplacian[np.ix_(train, train)]
        K = p.X @ p.X.T if kernel == "linear" else kernel(p.X)
        for j, alpha in enumerate(alphas):
            A = rank_rls(K[np.ix_(train, train)], L, L @ p.y[train], alpha)
            expected = K[np.ix_(test, train)] @ A
            found = model.cv_predictions_[0, test, j]
            code = np.unique(p.code[test], return_inverse=True)[1]
            np.testing.assert_allclose(centred(found, code), centred(expected, code), atol=1e-8)


@every_seed(15, 200)
def test_regression_left_out_equals_refitting(seed):
    from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

    p = row_problem(seed, min_groups=2)
    w = np.ones(len(p.y)) if p.weight is None else p.weight
    alphas = [0.05, 2.0]
    cases = [(None, LeaveOneGroupOut()), (2, GroupKFold(2)), (KFold(2), KFold(2))]
    for kernel, solver in (("linear", "primal"), ("linear", "dual"), (GAUSS, "dual")):
        K = p.X @ p.X.T if kernel == "linear" else kernel(p.X)
        for cv, splitter in cases:
            model = RLSCV(alphas, kernel, cv=cv, solver=solver, scoring="squared_error", store_cv_results=True)
            model.fit(p.X, p.y, qid=p.code, sample_weight=p.weight)
            for train, test in splitter.split(p.X, groups=None if isinstance(cv, KFold) else p.code):
                for j, alpha in enumerate(alphas):
                    # minimises Σ w (y - Ka)² + λ a'Ka, written out
                    a = np.linalg.solve(
                        w[train, None] * K[np.ix_(train, train)] + alpha * np.eye(len(train)), (w * p.y)[train]
                    )
                    expected = K[np.ix_(test, train)] @ a
                    np.testing.assert_allclose(model.cv_predictions_[test, j], expected, atol=1e-7)


def test_the_chosen_regression_is_the_best_and_is_fitted_on_everything():
    p = row_problem(2, n_max=60, min_groups=4)
    model = RLSCV([1e-6, 0.1, 1.0, 1e6], GAUSS, scoring="kendall_tau_b").fit(p.X, p.y, qid=p.code)
    scores = []
    for alpha in model.alphas_:
        held = np.empty(len(p.y))
        for g in np.unique(p.code):
            rest = p.code != g
            held[~rest] = RLS(alpha, GAUSS).fit(p.X[rest], p.y[rest]).predict(p.X[~rest])
        scores.append(kendall_tau_b(p.y, held, qid=p.code))
    np.testing.assert_allclose(model.cv_scores_, scores, atol=1e-12)
    assert model.best_score_ == model.cv_scores_.max()
    np.testing.assert_allclose(model.predict(p.X), RLS(model.alpha_, GAUSS).fit(p.X, p.y).predict(p.X), atol=1e-9)


@every_seed(15, 200)
def test_leave_one_pair_out_equals_refitting(seed):
    p = pair_problem(seed)
    alphas = np.array([0.05, 2.0])
    low, high = np.minimum(p.first, p.second), np.maximum(p.first, p.second)
    pair = low * len(p.X) + high
    for kernel, solvers in (("linear", ("primal", "dual")), (GAUSS, ("dual",))):
        K = p.X @ p.X.T if kernel == "linear" else kernel(p.X)
        for solver in solvers:
            model = RankRLSCV(alphas, kernel, solver=solver, store_cv_results=True).fit(compare(p))
            folds = RankRLSCV(alphas, kernel, solver=solver, cv=2, store_cv_results=True).fit(compare(p))
            for k in np.unique(pair):
                train = pair != k
                B, v = p.B[train], p.v[train]
                L, b = B.T @ (v[:, None] * B), B.T @ (v * p.margin[train])
                for j, alpha in enumerate(alphas):
                    f = K @ rank_rls(K, L, b, alpha)
                    expected = f[p.first] - f[p.second]
                    np.testing.assert_allclose(model.cv_predictions_[0, ~train, j], expected[~train], atol=1e-8)
            rank = np.unique(p.X, axis=0, return_inverse=True)[1].ravel()  # folds go by features, not by item number
            a, b = rank[p.first], rank[p.second]
            fold = np.unique(np.minimum(a, b) * len(p.X) + np.maximum(a, b), return_inverse=True)[1] % 2
            for k in range(2):
                train = fold != k
                B, v = p.B[train], p.v[train]
                A = rank_rls(K, B.T @ (v[:, None] * B), B.T @ (v * p.margin[train]), alphas[0])
                expected = p.B[~train] @ K @ A
                np.testing.assert_allclose(folds.cv_predictions_[0, ~train, 0], expected, atol=1e-8)


@every_seed(24, 60)
def test_all_alphas_from_one_decomposition_equal_single_fits(seed):
    p = row_problem(seed, min_groups=2)
    for kernel, solver in (("linear", "primal"), ("linear", "dual"), (GAUSS, "dual")):
        cv = RankRLSCV([0.1, 1.0, 10.0], kernel, solver=solver, **options(p))
        cv.fit(p.X, p.y, qid=p.code, sample_weight=p.weight)
        single = RankRLS(cv.alpha_, kernel, solver=solver, **options(p))
        single.fit(p.X, p.y, qid=p.code, sample_weight=p.weight)
        np.testing.assert_allclose(centred(cv.predict(p.X), p.code), centred(single.predict(p.X), p.code), atol=1e-7)


@every_seed(24, 60)
def test_an_explicit_graph_equals_groups(seed):
    p = row_problem(seed)
    W = -p.laplacian
    np.fill_diagonal(W, 0.0)
    by_groups = RankRLS(0.5, GAUSS, **options(p)).fit(p.X, p.y, qid=p.code, sample_weight=p.weight)
    by_graph = RankRLS(0.5, GAUSS).fit(p.X, p.y, graph=sp.csr_array(W))
    np.testing.assert_allclose(by_graph.predict(p.X), by_groups.predict(p.X), atol=1e-8)


def test_weight_two_is_a_comparison_listed_twice_and_zero_one_left_out():
    rng = np.random.default_rng(0)
    X, first = rng.normal(size=(8, 2)), rng.integers(0, 8, 20)
    second = (first + rng.integers(1, 8, 20)) % 8
    outcome = rng.normal(size=20)
    weight = rng.integers(0, 3, 20)
    listed = np.repeat(np.arange(20), weight)
    for kernel in ("linear", GAUSS):
        weighted = RankRLS(0.1, kernel).fit(Comparisons(X, first, second, outcome, weight=weight))
        repeated = RankRLS(0.1, kernel).fit(Comparisons(X, first[listed], second[listed], outcome[listed]))
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-10)


@pytest.mark.parametrize(
    "estimator", [RankRLS(0.1), RankRLS(0.1, GAUSS), RankRLSCV([0.1, 1]), RankRLSCV([0.1, 1], GAUSS)]
)
def test_swapping_sides_flips_margins_and_changes_no_fit(estimator):
    p = pair_problem(8)
    data = compare(p)
    mask = np.arange(len(data)) % 2 == 0
    model = estimator.fit(data)
    margin = model.predict(data)
    np.testing.assert_array_equal(model.predict(data.swapped()), -margin)
    again = estimator.fit(data.swapped(mask)).predict(data)
    np.testing.assert_allclose(again, margin, atol=1e-12)


@every_seed(10, 20)
def test_permuting_items_permutes_answers(seed):
    rng = np.random.default_rng(seed)
    p = pair_problem(seed)
    order = rng.permutation(len(p.X))
    inverse = np.argsort(order)
    moved = Comparisons(p.X[order], inverse[p.first], inverse[p.second], p.margin, weight=p.weight)
    for model in (RankRLS(0.2, GAUSS), RankRLS(0.2)):
        straight = model.fit(compare(p)).predict(p.X)
        np.testing.assert_allclose(model.fit(moved).predict(p.X[order]), straight[order], atol=1e-9)
    r = row_problem(seed)
    rows = rng.permutation(len(r.y))
    weight = None if r.weight is None else r.weight[rows]
    for model in (RankRLS(0.2, GAUSS), RankRLS(0.2)):
        straight = model.fit(r.X, r.y, qid=r.code, sample_weight=r.weight).predict(r.X)
        moved = model.fit(r.X[rows], r.y[rows], qid=r.code[rows], sample_weight=weight).predict(r.X)
        np.testing.assert_allclose(centred(moved, r.code), centred(straight, r.code), atol=1e-9)


@every_seed(15, 30)
def test_sparse_rows_give_the_dense_answer(seed):
    p = row_problem(seed, d=6)
    X = np.where(np.random.default_rng(seed).random(p.X.shape) < 0.5, p.X - 1e3 * (seed % 7 == 0), 0.0)
    for kernel, solver in (("linear", "primal"), ("linear", "dual"), ("linear", "cg"), (GAUSS, "dual")):
        model = RankRLS(0.3, kernel, solver=solver, **options(p))
        dense = model.fit(X, p.y, qid=p.code, sample_weight=p.weight).predict(X)
        sparse = model.fit(sp.csr_array(X), p.y, qid=p.code, sample_weight=p.weight).predict(sp.csr_array(X))
        np.testing.assert_allclose(sparse, dense, atol=1e-8)


def test_a_precomputed_kernel_gives_the_kernels_answer():
    p, X_new = row_problem(5), np.random.default_rng(0).normal(size=(4, 3))
    weight = np.where(np.arange(len(p.y)) % 4 == 0, 0.0, 1.5)  # zero weights: columns of the kernel without a row
    for model in (RankRLS(0.3), RLS(0.3)):
        by_kernel = model.set_params(kernel=GAUSS).fit(p.X, p.y, qid=p.code, sample_weight=weight).predict(X_new)
        given = model.set_params(kernel="precomputed").fit(GAUSS(p.X), p.y, qid=p.code, sample_weight=weight)
        np.testing.assert_allclose(given.predict(GAUSS(X_new, p.X)), by_kernel, atol=1e-10)
    pairs = pair_problem(3)
    by_kernel = RankRLS(0.3, GAUSS).fit(compare(pairs)).predict(X_new)
    K = Comparisons(GAUSS(pairs.X), pairs.first, pairs.second, pairs.margin, weight=pairs.weight)
    given = RankRLS(0.3, "precomputed").fit(K)
    np.testing.assert_allclose(given.predict(GAUSS(X_new, pairs.X)), by_kernel, atol=1e-10)


def test_linear_kernel_objects_are_solved_in_the_primal():
    p = row_problem(1, n_max=40)
    kernel = ConstantKernel(2.0) * DotProduct(1.5)
    for model in (RankRLS(0.3, kernel), RLS(0.3, kernel)):
        primal = model.set_params(solver="primal").fit(p.X, p.y, qid=p.code).predict(p.X)
        dual = model.set_params(solver="dual").fit(p.X, p.y, qid=p.code).predict(p.X)
        np.testing.assert_allclose(primal, dual, atol=1e-9)


def test_nystroem_on_all_rows_is_the_exact_kernel():
    p = row_problem(9)
    exact = RankRLS(0.3, GAUSS).fit(p.X, p.y, qid=p.code).predict(p.X)
    basis = Nystroem(len(p.y), random_state=0)
    close = RankRLS(0.3, GAUSS, approximation=basis).fit(p.X, p.y, qid=p.code).predict(p.X)
    np.testing.assert_allclose(centred(close, p.code), centred(exact, p.code), atol=1e-6)


def test_offsets_a_million_times_the_spread_do_not_matter():
    rng = np.random.default_rng(3)
    X, qid = rng.normal(size=(60, 4)), np.repeat(np.arange(12), 5)
    y = X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=60)
    near, far = RankRLS(0.1).fit(X, y, qid=qid), RankRLS(0.1).fit(X + 1e6, y, qid=qid)
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-7)


def test_items_without_features_get_laplacian_regularised_scores():
    p = pair_problem(7)
    data = Comparisons(len(p.X), p.first, p.second, p.margin)
    f = np.linalg.solve(p.B.T @ p.B + 0.5 * np.eye(len(p.X)), p.B.T @ p.margin)
    np.testing.assert_allclose(RankRLS(0.5).fit(data).predict(data), f[p.first] - f[p.second], atol=1e-10)


def test_hold_out_choice_is_the_best_of_the_refits():
    rng = np.random.default_rng(1)
    X, qid = rng.normal(size=(80, 5)), np.repeat(np.arange(16), 5)
    y = np.round(X @ rng.normal(size=5) + 0.5 * rng.normal(size=80))
    model = RankRLSCV(np.geomspace(1e-3, 1e3, 7), ties=("include", "exclude")).fit(X, y, qid=qid)
    from preflearn.metrics import disagreement_error

    for i, ties in enumerate(("include", "exclude")):
        for j, alpha in enumerate(model.alphas_):
            held = np.empty(80)
            for g in range(16):
                rest = qid != g
                held[~rest] = RankRLS(alpha, ties=ties).fit(X[rest], y[rest], qid=qid[rest]).predict(X[~rest])
            assert model.cv_scores_[i, j] == pytest.approx(-disagreement_error(y, held, qid=qid), abs=1e-12)
    assert model.best_score_ == model.cv_scores_.max()
    assert model.cv_scores_[("include", "exclude").index(model.ties_), list(model.alphas_).index(model.alpha_)] == (
        model.best_score_
    )


def test_groups_of_comparisons_can_weigh_the_same():
    p = pair_problem(12, n_max=12)
    group = np.arange(len(p.first)) % 3
    data = Comparisons(p.X, p.first, p.second, p.margin, weight=p.weight, group=group)
    v = p.v / np.bincount(group, p.v)[group]
    by_hand = Comparisons(p.X, p.first, p.second, p.margin, weight=v, group=group)
    expected = RankRLS(0.1, GAUSS).fit(by_hand).predict(p.X)
    np.testing.assert_allclose(RankRLS(0.1, GAUSS, weighting="groups").fit(data).predict(p.X), expected, atol=1e-10)
    held = [
        RankRLSCV([0.1, 1.0], GAUSS, weighting=weighting, store_cv_results=True).fit(d).cv_predictions_
        for weighting, d in (("groups", data), ("pairs", by_hand))
    ]
    np.testing.assert_allclose(held[0], held[1], atol=1e-10)


def test_rows_of_weight_zero_are_never_held_out():
    p = row_problem(3, min_groups=2)
    weight = np.ones(len(p.y))
    weight[np.flatnonzero(p.code == 0)[:1]] = 0.0
    model = RankRLSCV([1.0], store_cv_results=True).fit(p.X, p.y, qid=p.code, sample_weight=weight)
    np.testing.assert_array_equal(np.isnan(model.cv_predictions_[0, :, 0]), weight == 0)


def test_equal_scores_are_told_apart_by_squared_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    utility = X @ [1.0, -2.0]
    first, second = np.array([(i, (i + 1) % 20) for i in range(20)]).T
    model = RankRLSCV(np.geomspace(1e-6, 1e6, 13)).fit(Comparisons(X, first, second, utility[first] - utility[second]))
    assert (model.cv_scores_ == 0).sum() > 5  # every direction is right for most alphas
    assert model.alpha_ == pytest.approx(1e-6)  # without noise the least shrinkage predicts margins best
