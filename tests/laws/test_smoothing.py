"""Transductive RankRLS: rows without scores enter the penalty, and nothing else changes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fast_share import every_seed
from laws.problems import pair_problem, row_problem
from preflearn import Comparisons, RankRLS, RankRLSCV
from preflearn.baselines import RankSVM
from preflearn.data import Chunks
from preflearn.exceptions import DataError
from preflearn.kernels import gram
from preflearn.metrics import disagreement_error

GAUSS = RBF(1.3)
MU, ALPHA, NEAR = 0.4, 0.7, 3
RNG = np.random.default_rng(0)
X, QID = RNG.normal(size=(36, 3)), RNG.permutation(36) % 6
Y = X[:, 0] + 0.3 * RNG.normal(size=36)
HIDDEN = np.where(RNG.random(36) < 0.3, np.nan, Y)
SMOOTH = {"smoothness": MU, "n_neighbors": NEAR}


def similar(K, count=NEAR):
    """The Laplacian of the pairs of which one is among the nearest of the other, by sorting all distances."""
    distance = K.diagonal()[:, None] + K.diagonal() - 2 * K
    np.fill_diagonal(distance, np.inf)
    W = np.zeros(K.shape)
    W[np.arange(len(K))[:, None], np.argsort(distance, axis=1)[:, :count]] = 1
    W = np.maximum(W, W.T)
    return np.diag(W.sum(axis=1)) - W


def by_hand(K, K_new, L, b, mu=MU, alpha=ALPHA):
    """Minimise (s - f)'L(s - f) + alpha (f'K^-1 f + mu f'Sf) over the utilities f of all rows; b = Ls."""
    f = np.linalg.solve(L + alpha * (np.linalg.inv(K) + mu * similar(K)), b)
    return K_new @ np.linalg.solve(K, f)


@every_seed(40, 150)
def test_it_is_the_penalty_written_out(seed):
    rng = np.random.default_rng(seed)
    new = rng.normal(size=(4, 3))
    p = row_problem(seed)
    p.X = rng.normal(size=p.X.shape)
    more = rng.normal(size=(int(rng.integers(1, 9)), 3))
    order = rng.permutation(len(p.y) + len(more))
    place = np.argsort(order)[: len(p.y)]  # where the scored rows are put
    rows = np.vstack([p.X, more])[order]
    n = len(rows)
    y, qid, weight = np.full(n, np.nan), np.zeros(n), np.ones(n)
    y[place], qid[place], weight[place] = p.y, p.code, 1.0 if p.weight is None else p.weight
    L, b = np.zeros((n, n)), np.zeros(n)
    L[np.ix_(place, place)], b[place] = p.laplacian, p.laplacian @ p.y
    options = {"ties": p.ties, "weighting": p.weighting, **SMOOTH}
    model = RankRLS(ALPHA, GAUSS, **options).fit(rows, y, qid=qid, sample_weight=weight)
    expected = by_hand(GAUSS(rows), GAUSS(new, rows), L, b)
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-7)
    given = RankRLS(ALPHA, "precomputed", **options).fit(GAUSS(rows), y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(given.predict(GAUSS(new, rows)), expected, atol=1e-7)


@every_seed(30, 100)
def test_items_of_no_comparison_and_of_no_edge_are_rows_without_scores(seed):
    rng = np.random.default_rng(seed)
    e = pair_problem(seed)
    rows = np.vstack([e.X, rng.normal(size=(5, 3))])
    n, m = len(rows), len(e.X)
    L, b = np.zeros((n, n)), np.zeros(n)
    L[:m, :m], b[:m] = e.laplacian, e.rhs
    data = Comparisons(rows, e.first, e.second, e.margin, weight=e.weight)
    new = rng.normal(size=(4, 3))
    expected = by_hand(GAUSS(rows), GAUSS(new, rows), L, b)
    np.testing.assert_allclose(RankRLS(ALPHA, GAUSS, **SMOOTH).fit(data).predict(new), expected, atol=1e-7)
    W = np.zeros((n, n))
    W[0, 1] = W[1, 0] = W[1, 2] = W[2, 1] = 0.5
    y = np.r_[1.0, 3.0, 2.0, np.full(n - 3, np.nan)]
    L = np.diag(W.sum(axis=1)) - W
    expected = by_hand(GAUSS(rows), GAUSS(new, rows), L, L @ np.nan_to_num(y))
    np.testing.assert_allclose(RankRLS(ALPHA, GAUSS, **SMOOTH).fit(rows, y, graph=W).predict(new), expected, atol=1e-7)


def test_primal_and_dual_are_one_model():
    for kernel, table in (("linear", X), (DotProduct(2.0), X), ("linear", sp.csr_array(X))):
        primal, dual = (
            RankRLS(ALPHA, kernel, solver=solver, **SMOOTH).fit(table, HIDDEN, qid=QID) for solver in ("primal", "dual")
        )
        np.testing.assert_allclose(primal.predict(X), dual.predict(X), atol=1e-8)
        K = gram(dual.kernel_, X)
        given = RankRLS(ALPHA, "precomputed", **SMOOTH).fit(K, HIDDEN, qid=QID)
        np.testing.assert_allclose(given.predict(K), dual.predict(X), atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_without_smoothness_it_is_the_model_of_the_scored_rows(kernel):
    scored = ~np.isnan(HIDDEN)
    plain = RankRLS(ALPHA, kernel).fit(X[scored], Y[scored], qid=QID[scored])
    nearly = RankRLS(ALPHA, kernel, smoothness=1e-12).fit(X, HIDDEN, qid=QID)
    np.testing.assert_allclose(nearly.predict(X), plain.predict(X), atol=1e-9)
    with pytest.raises(ValueError, match="NaN"):
        RankRLS(ALPHA, kernel, smoothness=0.0).fit(X, HIDDEN, qid=QID)
    none = RankRLS(ALPHA, kernel, smoothness=0.0).fit(X[scored], Y[scored], qid=QID[scored])
    np.testing.assert_array_equal(none.predict(X), plain.predict(X))


@pytest.mark.parametrize("kernel", ["linear", GAUSS], ids=["linear", "rbf"])
@pytest.mark.parametrize("ties", ["include", "exclude"])
def test_groups_left_out_are_rows_without_scores(kernel, ties):
    y = np.round(HIDDEN)
    model = RankRLSCV([0.1, 1.0], kernel, ties=ties, store_cv_results=True, **SMOOTH).fit(X, y, qid=QID)
    assert np.isnan(model.cv_predictions_[0, np.isnan(y)]).all()
    for j, alpha in enumerate(model.alphas_):
        for group in np.unique(QID):
            inside = (group == QID) & ~np.isnan(y)
            plain = RankRLS(alpha, kernel, ties=ties, **SMOOTH)
            f = plain.fit(X, np.where(inside, np.nan, y), qid=QID).predict(X)[inside]
            gap = model.cv_predictions_[0, inside, j] - f
            np.testing.assert_allclose(gap, gap.mean(), atol=1e-8)
    best = RankRLS(model.alpha_, kernel, ties=ties, **SMOOTH).fit(X, y, qid=QID)
    np.testing.assert_allclose(model.predict(X), best.predict(X), atol=1e-9)


def test_columns_and_pipelines():
    both = np.column_stack([HIDDEN, -2 * HIDDEN])
    together = RankRLS(ALPHA, GAUSS, **SMOOTH).fit(X, both, qid=QID).predict(X)
    alone = RankRLS(ALPHA, GAUSS, **SMOOTH).fit(X, HIDDEN, qid=QID).predict(X)
    np.testing.assert_allclose(together, np.column_stack([alone, -2 * alone]), atol=1e-9)
    piped = make_pipeline(StandardScaler(), RankRLS(ALPHA, GAUSS, **SMOOTH)).fit(X, HIDDEN)
    scaled = StandardScaler().fit_transform(X)
    expected = RankRLS(ALPHA, GAUSS, **SMOOTH).fit(scaled, HIDDEN).predict(scaled)
    np.testing.assert_allclose(piped.predict(X), expected, atol=1e-12)


def spiral(seed, n=150, n_scored=8):
    """Rows along a spiral, better the further out; few have scores. Its windings are near each other."""
    rng = np.random.default_rng(seed)
    way = rng.uniform(1.5, 4.5, n) * np.pi
    rows = np.column_stack([way * np.cos(way), way * np.sin(way)]) / 6 + 0.05 * rng.normal(size=(n, 2))
    y = np.full(n, np.nan)
    some = rng.choice(n, n_scored, replace=False)
    y[some] = way[some]
    return rows, y, way


def test_rows_without_scores_help_where_these_lie_on_a_curve():
    """Against the same kernel, and against the width and alpha that are best without them in hindsight."""
    errors = []
    for seed in range(10):
        rows, y, way = spiral(seed)
        hidden = np.isnan(y)
        smooth = RankRLS(1e-3, RBF(0.5), smoothness=10.0, n_neighbors=4).fit(rows, y)
        plain, best = (
            RankRLS(alpha, RBF(width)).fit(rows[~hidden], y[~hidden]) for alpha, width in ((1e-3, 0.5), (0.1, 1.5))
        )
        errors.append([disagreement_error(way[hidden], m.predict(rows)[hidden]) for m in (smooth, plain, best)])
    transductive, inductive, in_hindsight = np.mean(errors, axis=0)
    assert transductive < 0.5 * inductive
    assert transductive < 0.7 * in_hindsight


def test_mistakes_are_named():
    model = RankRLS(smoothness=1.0)
    with pytest.raises(DataError, match="no row has a score"):
        model.fit(X, np.full(36, np.nan))
    with pytest.raises(DataError, match=r"2 rows have scores in some columns.*NaN in all columns"):
        model.fit(X, np.column_stack([np.r_[np.nan, np.nan, Y[2:]], Y]))
    with pytest.raises(DataError, match=r"smoothness=1 needs items .* these have no features.*items=\.\.\."):
        model.fit(Comparisons(None, ["a", "b", "a"], ["b", "c", "c"]))
    with pytest.raises(DataError, match=r'smoothness=1 needs a matrix of 3 features or 36 rows, and solver="cg"'):
        RankRLS(smoothness=1.0, solver="cg").fit(X, Y)
    with pytest.raises(DataError, match=r"smoothness=1 compares all rows .* come in pieces"):
        model.fit(Chunks([(X, Y)]))
    with pytest.raises(ValueError, match="'smoothness' parameter"):
        RankRLS(smoothness=-1.0).fit(X, Y)


@pytest.mark.parametrize("model", [RankRLS(), RankSVM()], ids=repr)
def test_scores_that_are_missing_without_smoothing_are_named(model):
    y = np.where(np.arange(8) % 4 == 1, np.nan, np.arange(8.0))
    with pytest.raises(
        DataError, match=r"y is missing \(NaN\) in 2 of 8 rows \(rows 1, 5\).*Leave these rows out.*smoothness"
    ):
        model.fit(np.arange(8.0)[:, None], y)
