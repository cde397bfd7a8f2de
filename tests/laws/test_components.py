"""Laws of KPCR and KPCRank: Theorem 1, the exact path, centring of new rows (MATHS 6-8)."""

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.linear_model import LinearRegression

from fast_share import cases, every_seed
from laws.problems import pair_problem, row_problem
from preflearn import KPCR, KPCRCV, Comparisons, KPCRank, KPCRankCV, Nystroem, RankRLS
from preflearn.inference.exact import component_path

pytestmark = pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")

GAUSS = RBF(1.3)
SEEDS = range(cases(60, 200))


def components(K, K_new, p):
    """kpcrank sections 3 and 6.1, literally: centred train and test kernels, K V Λ^(-1/2)."""
    n = len(K)
    J = np.eye(n) - 1 / n
    K_hat = J @ K @ J
    K_test = (K_new - np.ones((len(K_new), n)) @ K / n) @ J
    values, vectors = np.linalg.eigh(K_hat)
    V, lam = vectors[:, ::-1][:, :p], values[::-1][:p]
    return K_hat, V, lam, K_test


def theorem_1(K, K_new, L, b, p):
    """kpcrank (8) and (9); b = L s, or B'w for pairs."""
    K_hat, V, lam, K_test = components(K, K_new, p)
    middle = np.linalg.solve(V.T @ K_hat @ L @ K_hat @ V, V.T @ K_hat @ b)
    w = np.sqrt(lam) * middle
    return K_test @ V / np.sqrt(lam) @ w


def usable(K, L, p):
    """Whether the p leading components are distinct and determined by the graph, so that (8) has one answer."""
    K_hat, V, lam, _ = components(K, K, p + 1)
    M = V[:, :p].T @ K_hat @ L @ K_hat @ V[:, :p]
    gap = np.min(-np.diff(lam)) / lam[0]
    return lam[p - 1] > 1e-3 * lam[0] and gap > 1e-4 and np.linalg.cond(M) < 1e8


@every_seed(60, 200)
def test_kpcrank_is_theorem_1_on_groups_and_pairs(seed):
    X_new = np.random.default_rng(seed).normal(size=(5, 3))
    p = row_problem(seed)
    p.X -= 1e3 * (seed % 7 == 0)
    p.weight = None  # weighted components are tested by repeated rows
    k = 2
    K = GAUSS(p.X)
    if usable(K, p.laplacian, k):
        model = KPCRank(k, GAUSS, ties=p.ties, weighting=p.weighting).fit(p.X, p.y, qid=p.code)
        expected = theorem_1(K, GAUSS(X_new, p.X), p.laplacian, p.laplacian @ p.y, k)
        np.testing.assert_allclose(model.predict(X_new), expected, atol=1e-7)
    e = pair_problem(seed)
    used = np.unique(np.concatenate([e.first, e.second]))
    K = GAUSS(e.X[used])
    L, b = e.laplacian[np.ix_(used, used)], e.rhs[used]
    if len(used) > k + 1 and usable(K, L, k):
        model = KPCRank(k, GAUSS).fit(Comparisons(e.X, e.first, e.second, e.margin, weight=e.weight))
        np.testing.assert_allclose(model.predict(X_new), theorem_1(K, GAUSS(X_new, e.X[used]), L, b, k), atol=1e-7)


def test_the_law_above_met_many_problems():
    met = [
        usable(GAUSS(p.X), p.laplacian, 2)
        for p in (row_problem(seed) for seed in SEEDS)
        if np.abs(p.X).max() < 100  # others are shifted by the test above
    ]
    assert sum(met) > len(SEEDS) / 2


@every_seed(60, 200)
def test_the_path_equals_a_fit_for_every_p(seed):
    rng = np.random.default_rng(seed)
    r, P = int(rng.integers(2, 15)), int(rng.integers(1, 10))
    T, c = rng.normal(size=(r, P)), rng.normal(size=r)
    if seed % 4 == 0 and P > 2:
        T[:, 1] = 2 * T[:, 0]  # depends on an earlier component: weight zero
    if seed % 5 == 0 and P > 3:
        T[:, 2] = 0.0
    weights = component_path(T, c).every()
    assert weights.shape == (P, P)
    rank = [np.linalg.matrix_rank(T[:, :p]) for p in range(P + 1)]
    dependent = np.diff(rank) == 0
    for p in range(1, P + 1):
        w = weights[:, p - 1]
        assert not w[p:].any()
        assert not w[dependent].any()
        best = np.linalg.lstsq(T[:, :p], c, rcond=None)[0]
        np.testing.assert_allclose(T[:, :p] @ w[:p], T[:, :p] @ best, atol=1e-8)


def section_42(K, K_new, L, b, p):
    """kpcrank section 4.2, literally: all components, all but the p largest eigenvalues of M zeroed; and whether there
    is one answer, p eigenvalues that are not zero and apart from the next."""
    n = len(K)
    _, V, lam, K_test = components(K, K_new, n)
    V, lam = V[:, lam > 1e-9 * lam[0]], lam[lam > 1e-9 * lam[0]]
    half = V * np.sqrt(lam)  # V~ Lambda^(1/2)
    values, vectors = np.linalg.eigh(half.T @ L @ half)
    values, vectors = np.append(values[::-1], 0.0), vectors[:, ::-1]
    if len(values) <= p or values[p - 1] < 1e-6 * values[0] or values[p] > 0.999 * values[p - 1]:
        return None, False
    w = vectors[:, :p] / values[:p] @ vectors[:, :p].T @ (half.T @ b)
    return K_test @ V / np.sqrt(lam) @ w, True


@every_seed(60, 200)
def test_components_of_differences_are_section_42_on_groups_and_pairs(seed):
    X_new = np.random.default_rng(seed).normal(size=(5, 3))
    p = row_problem(seed)
    k = 1 + seed % 3
    expected, single = section_42(GAUSS(p.X), GAUSS(X_new, p.X), p.laplacian, p.laplacian @ p.y, k)
    if single:
        options = {"components_of": "differences", "ties": p.ties, "weighting": p.weighting}
        model = KPCRank(k, GAUSS, **options).fit(p.X, p.y, qid=p.code, sample_weight=p.weight)
        np.testing.assert_allclose(np.diff(model.predict(X_new)), np.diff(expected), atol=1e-6)
        Z = model.transform(p.X)
        np.testing.assert_allclose(Z.T @ p.laplacian @ Z, np.diag(model.eigenvalues_), atol=1e-9 * len(p.X))
    e = pair_problem(seed)
    used = np.unique(np.concatenate([e.first, e.second]))
    L, b = e.laplacian[np.ix_(used, used)], e.rhs[used]
    expected, single = section_42(GAUSS(e.X[used]), GAUSS(X_new, e.X[used]), L, b, k)
    if single:
        data = Comparisons(e.X, e.first, e.second, e.margin, weight=e.weight)
        model = KPCRank(k, GAUSS, components_of="differences").fit(data)
        np.testing.assert_allclose(np.diff(model.predict(X_new)), np.diff(expected), atol=1e-6)


def test_components_of_differences_and_of_items_are_two_models_that_meet_at_all_components():
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(20, 3)), rng.normal(size=20), np.arange(20) % 4
    few, every = (
        [KPCRank(p, GAUSS, components_of=of).fit(X, y, qid=qid).predict(X) for of in ("items", "differences")]
        for p in (6, None)
    )
    assert np.abs(np.diff(few[0]) - np.diff(few[1])).max() > 0.1
    gap = every[0] - every[1]
    np.testing.assert_allclose(gap, np.take([gap[qid == g].mean() for g in range(4)], qid), atol=1e-8)


@every_seed(20)
def test_all_components_reach_the_unregularised_ranking(seed):
    p = row_problem(seed)
    p.X -= 1e3 * (seed % 7 == 0)
    model = KPCRank(None, GAUSS, ties=p.ties).fit(p.X, p.y, qid=p.code)
    limit = RankRLS(1e-9, GAUSS, ties=p.ties).fit(p.X, p.y, qid=p.code)
    L = p.laplacian if p.weighting == "pairs" else None
    if L is None or p.weight is not None:
        return
    for f in (model.predict(p.X), limit.predict(p.X)):
        assert (p.y - f) @ L @ (p.y - f) < 1e-4 * max(1.0, p.y @ L @ p.y)


def test_kpcr_is_least_squares_on_kernel_pca():
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(40, 3)), rng.normal(size=(6, 3))
    y = np.sin(X[:, 0]) + 3
    pca = KernelPCA(4, kernel="rbf", gamma=1 / (2 * 1.3**2)).fit(X)
    expected = LinearRegression().fit(pca.transform(X), y).predict(pca.transform(X_new))
    model = KPCR(4, GAUSS).fit(X, y)
    np.testing.assert_allclose(model.predict(X_new), expected, atol=1e-9)
    np.testing.assert_allclose(np.abs(model.transform(X_new)), np.abs(pca.transform(X_new)), atol=1e-9)


@pytest.mark.parametrize("kernel", [GAUSS, DotProduct(0.0)], ids=["dual", "primal"])
@pytest.mark.parametrize(
    "model",
    [
        KPCR(3),
        KPCRank(3),
        KPCRank(2, ties="exclude", weighting="groups"),
        KPCRank(3, components_of="differences"),
    ],
    ids=repr,
)
def test_weights_are_repeated_rows(model, kernel):
    rng = np.random.default_rng(2)
    X, qid = rng.normal(size=(30, 4)), np.arange(30) % 6
    y, w = rng.integers(0, 4, 30).astype(float), rng.integers(0, 4, 30)
    rows = np.repeat(np.arange(30), w)
    model.set_params(kernel=kernel)
    weighted = model.fit(X, y, qid=qid, sample_weight=w).predict(X)
    repeated = model.fit(X[rows], y[rows], qid=qid[rows]).predict(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)


def test_linear_components_agree_in_primal_and_dual_and_with_all_rows_as_basis():
    rng = np.random.default_rng(4)
    X, y, qid = rng.normal(size=(25, 3)), rng.normal(size=25), np.arange(25) % 4
    primal = KPCRank(2, "linear").fit(X, y, qid=qid)
    dual = KPCRank(2, "precomputed").fit(X @ X.T, y, qid=qid)
    np.testing.assert_allclose(primal.transform(X), dual.transform(X @ X.T), atol=1e-9)
    np.testing.assert_allclose(primal.predict(X), dual.predict(X @ X.T), atol=1e-9)
    exact = KPCRank(5, GAUSS).fit(X, y, qid=qid)
    basis = KPCRank(5, GAUSS, approximation=Nystroem(25, random_state=0)).fit(X, y, qid=qid)
    np.testing.assert_allclose(basis.predict(X), exact.predict(X), atol=1e-7)


def test_permuting_rows_changes_nothing():
    p = row_problem(11)
    rows = np.random.default_rng(0).permutation(len(p.y))
    turned = KPCRank(3, GAUSS, components_of="differences")
    for model in (KPCRank(3, GAUSS), KPCR(3, GAUSS), KPCRankCV(4, GAUSS, cv=2), turned):
        straight = model.fit(p.X, p.y, qid=p.code).predict(p.X)
        np.testing.assert_allclose(model.fit(p.X[rows], p.y[rows], qid=p.code[rows]).predict(p.X), straight, atol=1e-8)


@pytest.mark.parametrize("of", ["items", "differences"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kernel", [GAUSS, "linear"], ids=["rbf", "linear"])
def test_the_cross_validated_path_equals_refitting_every_p(kernel, shared, of):
    from sklearn.model_selection import GroupKFold

    from preflearn.metrics import disagreement_error

    rng = np.random.default_rng(5)
    X, qid = rng.normal(size=(60, 5)), np.repeat(np.arange(12), 5)
    y = X[:, 0] + 0.3 * rng.normal(size=60)
    model = KPCRankCV(6, kernel, components_of=of, cv=4, shared_components=shared).fit(X, y, qid=qid)
    Z = KPCRank(None if of == "differences" else 6, kernel).fit(X, y, qid=qid).transform(X)
    for j, p in enumerate(model.path_["n_components"]):
        held = np.empty(60)
        for train, test in GroupKFold(4).split(X, groups=qid):
            if shared and of == "items":
                fit = RankRLS(1e-12).fit(Z[train, :p], y[train], qid=qid[train])
                held[test] = fit.predict(Z[test, :p])
            else:  # components of differences are those of each fold, of the same components of the items
                one, given = (
                    (KPCRank(int(p), "linear", components_of=of), Z)
                    if shared
                    else (KPCRank(int(p), kernel, components_of=of), X)
                )
                held[test] = one.fit(given[train], y[train], qid=qid[train]).predict(given[test])
        assert model.path_["error"][0, j] == pytest.approx(disagreement_error(y, held, qid=qid), abs=1e-12)
    chosen = model.path_["error"][0, min(model.n_components_, 6) - 1]
    assert chosen == model.path_["error"].min()
    assert model.n_components_ <= (5 if kernel == "linear" else 6)
    alone = KPCRank(model.n_components_, kernel, components_of=of).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-9)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kernel", [GAUSS, "linear"], ids=["rbf", "linear"])
def test_the_path_of_regression_equals_refitting_every_number(kernel, shared):
    from sklearn.model_selection import LeaveOneGroupOut

    from preflearn.metrics import squared_difference_error

    rng = np.random.default_rng(7)
    X, qid, weight = rng.normal(size=(40, 5)), np.repeat(np.arange(8), 5), rng.uniform(0.5, 2.0, 40)
    y = 3 + X[:, 0] + 0.3 * rng.normal(size=40)
    model = KPCRCV(6, kernel, cv=LeaveOneGroupOut(), scoring="squared_error", shared_components=shared)
    model.fit(X, y, qid=qid, sample_weight=weight)
    for j, p in enumerate(model.path_["n_components"]):
        held = np.empty(40)
        for train, test in LeaveOneGroupOut().split(X, groups=qid):
            if shared:
                Z = KPCR(min(p, 5) if kernel == "linear" else p, kernel).fit(X, y, sample_weight=weight).transform(X)
                fit = LinearRegression().fit(Z[train], y[train], sample_weight=weight[train])
                held[test] = fit.predict(Z[test])
            else:
                fit = KPCR(int(p), kernel).fit(X[train], y[train], sample_weight=weight[train])
                held[test] = fit.predict(X[test])
        expected = squared_difference_error(y, held, qid=qid, sample_weight=weight)
        assert model.path_["error"][0, j] == pytest.approx(expected, abs=1e-10)
    best = KPCR(model.n_components_, kernel).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), best.predict(X), atol=1e-10)


def test_the_cross_validated_path_on_pairs_and_a_kernel_grid():
    rng = np.random.default_rng(6)
    X = rng.uniform(-3, 3, size=(40, 1))
    first = rng.integers(0, 40, 150)
    second = (first + rng.integers(1, 40, 150)) % 40
    margin = np.sin(2 * X[first, 0]) - np.sin(2 * X[second, 0])
    data = Comparisons(X, first, second, margin)
    model = KPCRankCV([2, 4, 8, 12], ["linear", RBF(0.7)]).fit(data)
    assert model.path_["score"].shape == (2, 4)
    assert model.path_["error"][1].min() < 0.05 < model.path_["error"][0].min()
    assert model.kernel_ == RBF(0.7)
    assert model.score(data) > 0.95
