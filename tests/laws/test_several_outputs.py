"""Scores in columns: each column is learned as if it were alone, and cross-validation judges all of them."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold

from fast_share import every_seed
from laws.problems import row_problem
from preflearn import KPCR, KPCRCV, RLS, RLSCV, Bags, Comparisons, KPCRank, KPCRankCV, Nystroem, RankRLS, RankRLSCV
from preflearn.data import Chunks
from preflearn.exceptions import DataError, DataWarning
from preflearn.metrics import disagreement_error

GAUSS = RBF(1.3)
RNG = np.random.default_rng(0)
N, D = 40, 5
X, NEW = RNG.normal(size=(N, D)), RNG.normal(size=(7, D))
QID = RNG.permutation(N) % 8
WEIGHT = RNG.uniform(0.2, 3.0, N)
Y = np.column_stack([X[:, 0] + 0.3 * RNG.normal(size=N), 100 + 5 * X[:, 1], RNG.integers(0, 3, N)])
LISTED = np.triu(RNG.random((N, N)) < 0.2, 1)
GRAPH = (LISTED | LISTED.T) * 1.5

MODELS = {
    "RLS": RLS(0.3),
    "RLS dual": RLS(0.3, GAUSS),
    "RankRLS": RankRLS(0.3),
    "RankRLS dual": RankRLS(0.3, GAUSS),
    "RankRLS few rows": RankRLS(0.3, "poly2", solver="dual"),
    "RankRLS cg": RankRLS(0.3, solver="cg"),
    "RankRLS without ties": RankRLS(0.3, GAUSS, ties="exclude", weighting="groups"),
    "RankRLS without ties, primal": RankRLS(0.3, ties="exclude"),
    "RankRLS Nystroem": RankRLS(0.3, GAUSS, approximation=Nystroem(9, random_state=0)),
    "RankRLS below rounding": RankRLS(1e-18, "linear"),
    "KPCR": KPCR(4, GAUSS),
    "KPCRank": KPCRank(4, GAUSS),
    "KPCRank linear": KPCRank(4, "linear"),
    "KPCRank without ties": KPCRank(4, GAUSS, ties="exclude"),
    "KPCRank of differences": KPCRank(4, GAUSS, components_of="differences"),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
def test_each_column_is_learned_as_if_it_were_alone(model, weight):
    given = {"qid": QID, "sample_weight": weight}
    together = model.fit(X, Y, **given)
    pairs = Comparisons(NEW, [0, 1, 5], [3, 6, 2])
    found, margins, score = together.predict(NEW), together.predict(pairs), together.score(X, Y, qid=QID)
    weights = getattr(together, "coef_", None)
    assert found.shape == (7, 3)
    scores = []
    for k, column in enumerate(Y.T):
        alone = model.fit(X, column, **given)
        tol = 1e-9 * np.abs(column).max()
        np.testing.assert_allclose(found[:, k], alone.predict(NEW), atol=tol)
        np.testing.assert_allclose(margins[:, k], alone.predict(pairs), atol=tol)
        if weights is None:
            assert together is alone
            assert alone.dual_coef_.shape == (N,)
        else:
            np.testing.assert_allclose(weights[k], alone.coef_, atol=tol)
        scores.append(alone.score(X, column, qid=QID))
    assert score == pytest.approx(np.mean(scores), abs=1e-12)


@every_seed(30, 100)
def test_pairs_of_a_graph_and_hostile_groups_are_learned_by_column(seed):
    p = row_problem(seed)
    rng = np.random.default_rng(seed)
    y = np.column_stack([p.y, rng.permutation(p.y)])
    model = RankRLS(0.7, GAUSS, ties=p.ties, weighting=p.weighting)
    together = model.fit(p.X, y, qid=p.code, sample_weight=p.weight).predict(p.X)
    W = np.triu(rng.random((len(y), len(y))) < 0.7, 1) * rng.uniform(0.1, 2, (len(y), len(y)))
    on_graph = RankRLS(0.7, ties=p.ties).fit(p.X, y, graph=W + W.T).predict(p.X)
    for k in (0, 1):
        alone = model.fit(p.X, y[:, k], qid=p.code, sample_weight=p.weight).predict(p.X)
        np.testing.assert_allclose(together[:, k], alone, atol=1e-8)
        alone = RankRLS(0.7, ties=p.ties).fit(p.X, y[:, k], graph=W + W.T).predict(p.X)
        np.testing.assert_allclose(on_graph[:, k], alone, atol=1e-8)


@pytest.mark.parametrize(
    ("ours", "theirs"), [(RLS(0.3), Ridge(0.3, fit_intercept=False)), (KPCR(None, "linear"), Ridge(1e-12))], ids=repr
)
@pytest.mark.parametrize("y", [Y, Y[:, :1], Y[:, 0]], ids=["several", "one column", "one"])
def test_shapes_are_those_of_ridge(ours, theirs, y):
    ours, theirs = ours.fit(X, y), theirs.fit(X, y)
    assert np.shape(ours.coef_) == np.shape(theirs.coef_)
    assert ours.predict(NEW).shape == theirs.predict(NEW).shape
    np.testing.assert_allclose(ours.predict(NEW), theirs.predict(NEW), atol=1e-6)
    assert 0 <= ours.score(X, y) <= 1
    if isinstance(ours, KPCR):
        assert np.size(ours.intercept_) == np.size(theirs.intercept_)


CHOICES = {
    "RLSCV": RLSCV(),
    "RLSCV dual": RLSCV(kernel=GAUSS),
    "RankRLSCV": RankRLSCV(),
    "RankRLSCV dual": RankRLSCV(kernel=GAUSS),
    "RankRLSCV in folds": RankRLSCV(cv=4),
    "RankRLSCV refits": RankRLSCV(kernel=GAUSS, cv=GroupKFold(3)),
    "RankRLSCV ties": RankRLSCV(alphas=[0.1, 1.0, 10.0], kernel=GAUSS, ties=("include", "exclude")),
    "RankRLSCV by squares": RankRLSCV(scoring="squared_error"),
}


@pytest.mark.parametrize("model", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
def test_one_alpha_is_chosen_by_the_mean_score_of_the_columns(model, weight):
    model.set_params(store_cv_results=True)
    together = model.fit(X, Y, qid=QID, sample_weight=weight)
    alphas, scores, held = together.alphas_, together.cv_scores_, together.cv_predictions_
    alpha, ties, found = together.alpha_, getattr(together, "ties_", "include"), together.predict(NEW)
    assert together.best_score_ == scores.max()
    single, kernel = [], model.kernel
    for k, column in enumerate(Y.T):
        alone = model.set_params(alphas=alphas).fit(X, column, qid=QID, sample_weight=weight)
        single.append(alone.cv_scores_)
        np.testing.assert_allclose(held[..., k], alone.cv_predictions_, atol=1e-6 * np.abs(column).max())
        plain = RLS(alpha, kernel) if isinstance(model, RLSCV) else RankRLS(alpha, kernel, ties=ties)
        expected = plain.fit(X, column, qid=QID, sample_weight=weight).predict(NEW)
        np.testing.assert_allclose(found[:, k], expected, atol=1e-8 * np.abs(column).max())
    np.testing.assert_allclose(scores, np.mean(single, axis=0), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        KPCRCV(6, GAUSS),
        KPCRankCV(6, GAUSS),
        KPCRankCV(6, "linear", ties="exclude"),
        KPCRankCV([2, 5], GAUSS, components_of="differences"),
    ],
    ids=repr,
)
def test_one_number_of_components_is_chosen_by_the_mean_score_of_the_columns(model, shared):
    model.set_params(shared_components=shared)
    together = model.fit(X, Y, qid=QID)
    scores, number, found = together.path_["score"], together.n_components_, together.predict(NEW)
    single = [model.fit(X, column, qid=QID).path_["score"] for column in Y.T]
    np.testing.assert_allclose(scores, np.mean(single, axis=0), atol=1e-12)
    plain = KPCR(number, model.kernel)
    if not isinstance(model, KPCRCV):
        plain = KPCRank(number, model.kernel, ties=model.ties, components_of=model.components_of)
    np.testing.assert_allclose(found, plain.fit(X, Y, qid=QID).predict(NEW), atol=1e-7)


def test_pairs_of_a_graph_are_left_out_for_all_columns():
    model = RankRLSCV(alphas=[0.1, 1.0], kernel=GAUSS, store_cv_results=True)
    held = model.fit(X[:15], Y[:15], graph=GRAPH[:15, :15]).cv_predictions_
    for k in range(3):
        alone = model.fit(X[:15], Y[:15, k], graph=GRAPH[:15, :15]).cv_predictions_
        np.testing.assert_allclose(held[..., k], alone, atol=1e-8)


def test_columns_in_which_all_is_tied_decide_nothing_and_are_named():
    tied = np.column_stack([Y[:, 0], np.ones(N)])
    with pytest.warns(DataWarning, match="all pairs are tied in columns 1 of y, so nothing .* equal there"):
        both = RankRLSCV().fit(X, tied, qid=QID)
    alone = RankRLSCV().fit(X, tied[:, 0], qid=QID)
    assert both.alpha_ == alone.alpha_
    np.testing.assert_allclose(both.cv_scores_, alone.cv_scores_)
    np.testing.assert_allclose(both.predict(NEW)[:, 1], 0, atol=1e-12)


def test_bags_have_scores_in_columns():
    bags = Bags([X[[i, (i + 1) % N]] for i in range(N)])
    together = RankRLS(0.3, GAUSS).fit(bags, Y).predict(bags)
    np.testing.assert_allclose(together[:, 1], RankRLS(0.3, GAUSS).fit(bags, Y[:, 1]).predict(bags), atol=1e-7)
    with pytest.raises(DataError, match=r"y is missing \(NaN\) in 1 of 40 rows"):
        RLS().fit(bags, np.where(np.arange(3 * N).reshape(N, 3) == 7, np.nan, Y))


def test_pieces_are_predicted_in_columns():
    model = RankRLS().fit(X, Y)
    np.testing.assert_array_equal(model.predict(Chunks([(X[:9], Y[:9, 0]), (X[9:], Y[9:, 0])])), model.predict(X))


def test_mistakes_are_named():
    model = RankRLS().fit(X, Y)
    with pytest.raises(DataError, match="learned in 3 columns and are judged in one"):
        model.score(X, Y[:, 0])
    with pytest.raises(DataError, match="learned in 3 columns and are judged in 2 columns"):
        model.score(X, Y[:, :2])
    with pytest.raises(DataError, match="learned in 3 columns and are judged in one"):
        model.score(Comparisons(X, [0], [1]))
    with pytest.raises(DataError, match=r"each of the 3 columns of y has differences, .* of its own"):
        KPCRank(components_of="differences", ties="exclude").fit(X, Y)
    assert disagreement_error(Y[:, 0], model.predict(X)[:, 0]) < 0.5
