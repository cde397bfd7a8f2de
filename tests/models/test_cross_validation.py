"""What the cross-validated estimators leave out, train on and judge; each of these once went wrong."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GroupShuffleSplit, KFold, PredefinedSplit, ShuffleSplit, cross_val_score

from preflearn import Comparisons, KPCRankCV, RankRLS, RankRLSCV, Ratings
from preflearn.data import from_rankings
from preflearn.metrics import disagreement_error, pairwise_accuracy
from preflearn.selection import GroupFolds, ItemFolds

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = X @ [1.0, 2.0, 3.0, 0.0] + rng.normal(size=60)
qid = np.arange(60) // 6


def centred(f, code):
    return f - (np.bincount(code, f) / np.maximum(np.bincount(code), 1))[code]


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_rows_in_no_test_set_train_every_model(solver):
    fold = np.full(60, -1)
    fold[(qid == 6) | (qid == 7)] = 0
    fold[(qid == 8) | (qid == 9)] = 1
    model = RankRLSCV([1.0], cv=PredefinedSplit(fold), solver=solver, store_cv_results=True).fit(X, y, qid=qid)
    for k in (0, 1):
        test = fold == k
        refit = RankRLS(1.0).fit(X[~test], y[~test], qid=qid[~test]).predict(X[test])
        held = model.cv_predictions_[0, test, 0]
        np.testing.assert_allclose(centred(held, qid[test]), centred(refit, qid[test]), atol=1e-9)
    assert np.isnan(model.cv_predictions_[0, fold < 0]).all()


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_a_single_validation_split_works_and_its_training_rows_are_honoured(solver):
    train, test = np.arange(12), np.arange(36, 60)
    model = RankRLSCV([1.0], cv=[(train, test)], solver=solver, store_cv_results=True).fit(X, y, qid=qid)
    refit = RankRLS(1.0).fit(X[train], y[train], qid=qid[train]).predict(X[test])
    held = model.cv_predictions_[0, test, 0]
    np.testing.assert_allclose(centred(held, qid[test]), centred(refit, qid[test]), atol=1e-9)
    assert model.best_score_ == pytest.approx(-disagreement_error(y[test], refit, qid=qid[test]))


@pytest.fixture
def comparisons():
    pairs = np.stack(np.triu_indices(30, 1), axis=1)
    first, second = np.random.default_rng(1).choice(pairs, 120, replace=False).T
    f = X[:30] @ [1.0, 2.0, 3.0, 0.0]
    return Comparisons(X[:30], first, second, f[first] - f[second] + np.random.default_rng(2).normal(size=120))


@pytest.mark.parametrize(
    "splitter", [ItemFolds(3), ItemFolds(3, test="both"), ShuffleSplit(4, random_state=0)], ids=repr
)
@pytest.mark.parametrize("kernel", ["linear", RBF(2.0)], ids=["primal", "dual"])
def test_splitters_of_comparisons_are_used_as_they_are(comparisons, splitter, kernel):
    model = RankRLSCV([1.0], kernel, cv=splitter).fit(comparisons)
    truth, margin = [], []
    for train, test in splitter.split(comparisons):
        truth.append(comparisons.outcome[test])
        margin.append(RankRLS(1.0, kernel).fit(comparisons[train]).predict(comparisons[test]))
    expected = pairwise_accuracy(np.concatenate(truth), np.concatenate(margin)) - 1
    assert model.best_score_ == pytest.approx(expected, abs=1e-12)


def test_unsigned_group_numbers_are_read_as_they_are():
    shuffled = np.argsort(np.arange(60) % 20, kind="stable")
    q = (np.arange(60) % 10)[shuffled]
    signed = RankRLS().fit(X[shuffled], y[shuffled], qid=q)
    unsigned = RankRLS().fit(X[shuffled], y[shuffled], qid=q.astype(np.uint16))
    assert unsigned.n_groups_ == signed.n_groups_ == 10
    np.testing.assert_array_equal(unsigned.coef_, signed.coef_)


def test_items_without_features_are_known_by_name():
    model = RankRLS().fit(Comparisons(None, ["ann", "bob", "ann"], ["bob", "cy", "cy"], [1, 1, 2]))
    again = model.predict(Comparisons(None, ["cy", "bob"], ["ann", "cy"], [1, 1]))
    assert again[0] < 0 < again[1]
    forward = model.predict(Comparisons(None, ["ann", "ann"], ["cy", "bob"], names=["bob", "cy", "ann"]))
    assert forward[0] == -again[0]


def test_features_are_known_by_name():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "b": [5.0, 1.0, 0.0, 2.0]}, index=list("wxyz"))
    straight = Comparisons(frame, ["w", "x", "y"], ["x", "y", "z"], [1, 2, -1])
    swapped = Comparisons(frame[["b", "a"]], ["w", "x", "y"], ["x", "y", "z"], [1, 2, -1])
    model = RankRLS().fit(straight)
    np.testing.assert_array_equal(model.predict(swapped), model.predict(straight))
    np.testing.assert_array_equal(model.predict(frame), model.predict(Ratings(frame[["b", "a"]], [1, 2, 3, 4])))
    named = frame.reset_index(names="name")
    model = RankRLS().fit(Comparisons(named, ["w", "x", "y"], ["x", "y", "z"], [1, 2, -1]))
    np.testing.assert_array_equal(model.predict(named), model.predict(frame))


@pytest.mark.parametrize("estimator", [RankRLSCV(), RankRLSCV(kernel="precomputed")], ids=["features", "kernel"])
def test_nothing_is_learned_from_rounding(estimator):
    # disjoint pairs of unrelated items: every held-out margin is exactly zero, and guessing is 0.5
    eye = np.eye(40)
    data = Comparisons(eye, np.arange(0, 40, 2), np.arange(1, 40, 2))
    np.testing.assert_array_equal(estimator.fit(data).cv_scores_, -0.5)
    scores = np.random.default_rng(0).normal(size=40)
    for cv in (None, 5):
        model = estimator.set_params(cv=cv).fit(eye, scores, qid=np.arange(40) // 4)
        np.testing.assert_array_equal(model.cv_scores_, -0.5)
    estimator.set_params(cv=None)


@pytest.mark.slow
def test_rankings_are_left_out_whole():
    items = np.random.default_rng(3).normal(size=(300, 3))
    rankings = [list(np.random.default_rng(k).permutation(5) + 5 * k) for k in range(60)]
    noise = from_rankings([[int(i) for i in r] for r in rankings], items)
    model = RankRLSCV([1e-3, 1.0], "rbf").fit(noise)
    assert -0.6 < model.best_score_ < -0.4
    refit = []
    for g in np.unique(noise.group):
        rest = noise.group != g
        refit.append(RankRLS(1e-3, model.kernel_).fit(noise[rest]).predict(noise[~rest]))
    held = RankRLSCV([1e-3], model.kernel_, store_cv_results=True).fit(noise).cv_predictions_[0, :, 0]
    order = np.argsort(noise.group, kind="stable")
    np.testing.assert_allclose(held[order], np.concatenate(refit), atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "matern32", "linear"])
def test_folds_of_pairs_do_not_depend_on_the_order_of_items(comparisons, kernel):
    order = np.random.default_rng(4).permutation(30)
    inverse = np.argsort(order)
    moved = Comparisons(
        comparisons.items[order], inverse[comparisons.first], inverse[comparisons.second], comparisons.outcome
    )
    for estimator in (KPCRankCV(10, kernel), RankRLSCV(kernel=kernel, cv=5)):
        straight = estimator.fit(comparisons).predict(comparisons)
        np.testing.assert_allclose(estimator.fit(moved).predict(moved), straight, atol=1e-7)


def test_folds_of_sparse_rows_do_not_depend_on_their_order():
    order = np.random.default_rng(5).permutation(60)
    dense = RankRLSCV().fit(X, y)
    for rows in (np.arange(60), order):
        sparse = RankRLSCV().fit(sp.csr_array(X[rows]), y[rows])
        assert sparse.best_score_ == pytest.approx(RankRLSCV().fit(sp.csr_array(X), y).best_score_, abs=1e-12)
    assert dense.best_score_ == pytest.approx(sparse.best_score_, abs=0.05)


def test_group_folds_get_qid_through_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(RankRLS(), X, y, params={"qid": qid}, cv=GroupFolds(3))
    assert scores.shape == (3,)
    assert scores.min() > 0.8


def test_ties_that_do_not_count_leave_both_choices_judged_alike(comparisons):
    outcome = np.where(np.arange(120) % 3 == 0, 0.0, comparisons.outcome)
    data = Comparisons(comparisons.items, comparisons.first, comparisons.second, outcome)
    both = RankRLSCV([1.0], ties=("include", "exclude"), scoring="squared_error").fit(data)
    for i, ties in enumerate(("include", "exclude")):
        alone = RankRLSCV([1.0], ties=ties, scoring="squared_error", store_cv_results=True).fit(data)
        held = alone.cv_predictions_[0, outcome != 0, 0]
        assert both.cv_scores_[i, 0] == pytest.approx(-np.mean((outcome[outcome != 0] - held) ** 2))


def test_a_graph_is_left_out_pair_by_pair():
    W = np.zeros((60, 60))
    i, j = np.triu_indices(60, 1)
    keep = np.random.default_rng(6).random(i.shape[0]) < 0.05
    W[i[keep], j[keep]] = W[j[keep], i[keep]] = 1.0
    by_graph = RankRLSCV([0.1, 1.0], RBF(2.0)).fit(X, y, graph=W)
    listed = Comparisons(X, i[keep], j[keep], (y[i] - y[j])[keep])
    by_pairs = RankRLSCV([0.1, 1.0], RBF(2.0)).fit(listed)
    np.testing.assert_allclose(by_graph.cv_scores_, by_pairs.cv_scores_)
    assert KPCRankCV(5).fit(X, y, graph=sp.csr_array(W)).path_["score"].shape == (1, 5)


def test_no_folds_means_five_for_components(comparisons):
    assert KPCRankCV(5, cv=None).fit(comparisons).n_components_ == KPCRankCV(5).fit(comparisons).n_components_


def test_the_scorer_and_transformers_know_columns_by_name():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    from preflearn import OnItems
    from preflearn.metrics import get_scorer

    frame = pd.DataFrame(rng.normal(size=(30, 2)) * [1, 100], columns=["a", "b"])
    target = frame["a"].to_numpy() - 3 * frame["b"].to_numpy()
    swapped = Ratings(frame[["b", "a"]], target)
    model = RankRLS().fit(Ratings(frame, target))
    assert get_scorer("concordance")(model, swapped) == model.score(swapped) == 1.0
    pipeline = make_pipeline(OnItems(StandardScaler()), RankRLS(1e-6)).fit(Ratings(frame, target))
    assert pipeline.score(swapped) > 0.99
    sparse = Ratings(sp.csr_array(X), y)
    assert sp.issparse(OnItems(MaxAbsScaler()).fit(sparse).transform(sparse).items)


def test_a_splitter_splits_the_edges_of_a_graph():
    W = np.ones((12, 12)) - np.eye(12)
    model = RankRLSCV([1.0], cv=KFold(3), store_cv_results=True).fit(X[:12], y[:12], graph=W)
    assert model.cv_predictions_.shape == (1, 66, 1)
    assert not np.isnan(model.cv_predictions_).any()


def test_a_test_set_without_weight_is_no_test_set():
    q = np.repeat([0, 1, 2, 3], 6)
    weight = np.where(q == 3, 0.0, 1.0)
    cv = [(np.flatnonzero(~np.isin(q, s)), np.flatnonzero(np.isin(q, s))) for s in ([0, 1], [2], [3])]
    held = [
        RankRLSCV([1.0], cv=cv, solver=solver, store_cv_results=True).fit(X[:24], y[:24], q, weight).cv_predictions_
        for solver in ("primal", "dual")
    ]
    for g in range(3):
        a, b = (h[0, q == g, 0] for h in held)
        np.testing.assert_allclose(a - a.mean(), b - b.mean(), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("cv", [None, 3, KFold(3)], ids=["closed", "folds", "cut"])
def test_rounding_for_the_judge_keeps_legitimate_orders(scale, cv):
    model = RankRLSCV([0.1, 1.0, 10.0], cv=cv).fit(X * scale, X @ [1.0, -2.0, 0.0, 0.0], qid=qid)
    assert model.cv_scores_.min() > -0.2


def test_a_second_fit_equals_a_fresh_one():
    model = RankRLS().fit(Comparisons(None, ["a", "b", "c", "a"], ["b", "c", "d", "d"]))
    model.fit(X[:4, :3], [1.0, 2.0, 3.0, 4.0])
    assert model.predict(Comparisons(X[:4, :3], [0, 1], [1, 2])).shape == (2,)
    cv = RankRLSCV(store_cv_results=True).fit(X, y, qid=qid)
    cv.set_params(store_cv_results=False).fit(X, y, qid=qid)
    assert not hasattr(cv, "cv_predictions_")


def test_a_sparse_kernel_with_a_lone_row_is_the_dense_one():
    q = np.r_[np.repeat([0, 1, 2], 6), 3, 4]
    K = X[:20] @ X[:20].T
    sparse = RankRLSCV([1.0], "precomputed").fit(sp.csr_array(K), y[:20], q)
    dense = RankRLSCV([1.0], "precomputed").fit(K, y[:20], q)
    np.testing.assert_allclose(sparse.cv_scores_, dense.cv_scores_)


def test_folds_are_the_same_for_sparse_dense_and_permuted_kernels(comparisons):
    grades = np.round(y)
    order = np.random.default_rng(8).permutation(60)
    dense = RankRLSCV().fit(X, grades).cv_scores_
    np.testing.assert_allclose(RankRLSCV().fit(sp.csr_array(X), grades).cv_scores_, dense)
    K = X @ X.T
    straight = RankRLSCV([1.0], "precomputed").fit(K, grades).cv_scores_
    moved = RankRLSCV([1.0], "precomputed").fit(K[np.ix_(order, order)], grades[order]).cv_scores_
    np.testing.assert_allclose(moved, straight)
    listed = Comparisons(sp.csr_array(comparisons.items), comparisons.first, comparisons.second, comparisons.outcome)
    by_dense = KPCRankCV(5, "linear").fit(comparisons).path_["score"]
    np.testing.assert_allclose(KPCRankCV(5, "linear").fit(listed).path_["score"], by_dense)


def test_very_unequal_weights_do_not_break_the_dual():
    pairs = [(a, b) for block in (range(4), range(4, 8)) for a in block for b in block if a < b] + [(0, 4)]
    first, second = np.array(pairs).T
    weight = np.full(len(first), 1e9)
    weight[-1] = 1e-9
    data = Comparisons(X[:8, :3], first, second, rng.normal(size=len(first)), weight=weight)
    dual, primal = (RankRLS(1.0, solver=solver).fit(data).predict(data) for solver in ("dual", "primal"))
    np.testing.assert_allclose(dual, primal, atol=1e-5)


def test_items_that_look_alike_make_fewer_folds():
    data = Comparisons(np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 0, 1, 1, 2], [2, 3, 2, 3, 3], [1, 1, 2, 1, 0.0])
    assert KPCRankCV(1).fit(data).n_components_ == 1


@pytest.mark.parametrize("kernel", ["linear", RBF(2.0)], ids=["primal", "dual"])
def test_overlapping_test_sets_of_whole_groups_are_judged_one_by_one(kernel):
    splitter = GroupShuffleSplit(4, test_size=0.4, random_state=0)
    model = RankRLSCV([1.0], kernel, cv=splitter).fit(X, y, qid=qid)
    truth, held, group = [], [], []
    for k, (train, test) in enumerate(splitter.split(X, y, qid)):
        truth.append(y[test])
        held.append(RankRLS(1.0, kernel).fit(X[train], y[train], qid=qid[train]).predict(X[test]))
        group.append(qid[test] + 100 * k)
    expected = disagreement_error(np.concatenate(truth), np.concatenate(held), qid=np.concatenate(group))
    assert model.best_score_ == pytest.approx(-expected, abs=1e-12)


def test_one_group_is_cut_into_five_folds():
    np.testing.assert_array_equal(RankRLSCV([1.0]).fit(X, y).cv_scores_, RankRLSCV([1.0], cv=5).fit(X, y).cv_scores_)
    few = RankRLSCV([1.0]).fit(X[:6], y[:6])
    np.testing.assert_array_equal(few.cv_scores_, RankRLSCV([1.0], cv=3).fit(X[:6], y[:6]).cv_scores_)
