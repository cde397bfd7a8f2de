"""Rows in pieces give what the same rows give in memory, however they are cut and in whatever order."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from preflearn import KPCR, RLS, RLSCV, KPCRank, KPCRankCV, Nystroem, RandomFourier, RankRLS, RankRLSCV
from preflearn.data import Chunks
from preflearn.exceptions import DataError
from preflearn.models import streamed

ALPHAS = [0.01, 1.0, 100.0]
MODELS = {
    "rls": RLS(alpha=0.3),
    "pairs": RankRLS(alpha=0.3),
    "no ties": RankRLS(alpha=0.3, ties="exclude"),
    "groups": RankRLS(alpha=0.3, weighting="groups"),
    "groups, no ties": RankRLS(alpha=0.3, ties="exclude", weighting="groups"),
}
CHOOSING = {
    "rls": RLSCV(ALPHAS),
    "pairs": RankRLSCV(ALPHAS),
    "ties": RankRLSCV(ALPHAS, ties=("include", "exclude"), scoring="ndcg@3"),
    "groups": RankRLSCV(ALPHAS, weighting="groups", scoring="kendall_tau_b"),
}


def table(seed, n=60, n_groups=9, weighted=True):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, 4)) + 1e3 * rng.normal(size=(n_groups, 1))[group]
    y = np.round(rng.normal(size=n) + 0.3 * X[:, 0] - 0.3 * X[:, 1])
    y -= y.min()
    weight = rng.integers(0, 4, n) / 2 if weighted else None
    return X, y, group, weight


def pieces(X, y, group, weight, cuts):
    edges = [0, *sorted(set(cuts)), len(y)]
    return Chunks([(X[a:b], y[a:b], group[a:b], None if weight is None else weight[a:b]) for a, b in pairwise(edges)])


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(1, 59), max_size=6), order=st.booleans())
def test_chunks_are_the_whole(name, seed, cuts, order):
    X, y, group, weight = table(seed, weighted=seed % 3 > 0)
    by_group = np.argsort(group, kind="stable") if order else np.arange(len(y))
    X, y, group, weight = (None if part is None else part[by_group] for part in (X, y, group, weight))
    whole = MODELS[name].fit(X, y, qid=group, sample_weight=weight)
    kept = whole.coef_, whole.n_groups_
    chunked = MODELS[name].fit(pieces(X, y, group, weight, cuts))
    np.testing.assert_allclose(chunked.coef_, kept[0], rtol=1e-6, atol=1e-8)
    assert chunked.n_groups_ == kept[1]


@pytest.mark.parametrize("name", CHOOSING)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(1, 59), max_size=6), order=st.booleans())
def test_groups_left_out_of_chunks_are_those_of_the_whole(name, seed, cuts, order):
    X, y, group, weight = table(seed, weighted=seed % 3 > 0)
    by_group = np.argsort(group, kind="stable") if order else np.arange(len(y))
    X, y, group, weight = (None if part is None else part[by_group] for part in (X, y, group, weight))
    whole = CHOOSING[name].fit(X, y, qid=group, sample_weight=weight)
    kept = whole.coef_, whole.alpha_, whole.cv_scores_
    chunked = CHOOSING[name].fit(pieces(X, y, group, weight, cuts))
    assert chunked.alpha_ == kept[1]
    np.testing.assert_allclose(chunked.cv_scores_, kept[2], rtol=1e-9)
    np.testing.assert_allclose(chunked.coef_, kept[0], rtol=1e-6, atol=1e-8)


def test_more_rows_than_memory_go_through_files(monkeypatch):
    monkeypatch.setattr(streamed, "IN_MEMORY", 1500)  # bytes: rows and held-out predictions go to files
    X, y, group, weight = table(5)
    for name, model in CHOOSING.items():
        whole = clone(model).fit(X, y, qid=group, sample_weight=weight)
        chunked = clone(model).fit(pieces(X, y, group, weight, [7, 20, 41]))
        np.testing.assert_allclose(chunked.cv_scores_, whole.cv_scores_, rtol=1e-9, err_msg=name)
        np.testing.assert_allclose(chunked.coef_, whole.coef_, rtol=1e-6, atol=1e-8, err_msg=name)


def test_one_group_larger_than_memory(monkeypatch):
    monkeypatch.setattr(streamed, "IN_MEMORY", 500)
    X, y, _, weight = table(6)
    chunked = RankRLS(alpha=0.3, ties="exclude").fit(
        Chunks([(X[:30], y[:30], None, weight[:30]), (X[30:], y[30:], None, weight[30:])])
    )
    whole = RankRLS(alpha=0.3, ties="exclude").fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(chunked.coef_, whole.coef_, rtol=1e-6, atol=1e-8)


def test_sparse_chunks_are_the_whole():
    X, y, group, weight = table(7)
    X = sp.random_array((60, 4), density=0.4, rng=np.random.default_rng(0), format="csr")
    for model in (*MODELS.values(), RankRLSCV(ALPHAS)):
        whole = clone(model).fit(X, y, qid=group, sample_weight=weight)
        chunked = clone(model).fit(pieces(X, y, group, weight, [7, 20, 41]))
        np.testing.assert_allclose(chunked.coef_, whole.coef_, rtol=1e-6, atol=1e-8)


def test_approximations_of_kernels_are_those_of_the_whole():
    X, y, group, _ = table(8)
    X = X - 1e3 * (X.mean(axis=1, keepdims=True) / 1e3).round(0)
    kernel = RBF(3.0)
    for approximation in (Nystroem(60, random_state=0), RandomFourier(50, random_state=0)):
        whole = RankRLS(0.5, kernel, approximation=approximation).fit(X, y, qid=group)
        chunked = RankRLS(0.5, kernel, approximation=approximation).fit(pieces(X, y, group, None, [7, 20]))
        np.testing.assert_allclose(chunked.predict(X), whole.predict(X), rtol=1e-5, atol=1e-6)
        exact = RankRLS(0.5, kernel).fit(X, y, qid=group).predict(X)
        if isinstance(approximation, Nystroem):  # all rows are landmarks
            np.testing.assert_allclose(group_centred(chunked.predict(X), group), group_centred(exact, group), atol=1e-5)


COMPONENTS = {
    "kpcr": KPCR(3, "linear"),
    "items": KPCRank(3, "linear"),
    "differences": KPCRank(2, "linear", components_of="differences", ties="exclude"),
    "all": KPCRank(None, RBF(3.0), approximation=Nystroem(20, random_state=0), weighting="groups"),
}


@pytest.mark.parametrize("name", COMPONENTS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(1, 59), max_size=6), order=st.booleans())
def test_components_of_chunks_are_those_of_the_whole(name, seed, cuts, order):
    X, y, group, weight = table(seed, weighted=name != "all" and seed % 3 > 0)
    X = np.random.default_rng(seed).normal(size=X.shape) * [5, 3, 2, 1]
    by_group = np.argsort(group, kind="stable") if order else np.arange(len(y))
    X, y, group, weight = (None if part is None else part[by_group] for part in (X, y, group, weight))
    whole = clone(COMPONENTS[name]).fit(X, y, qid=group, sample_weight=weight)
    chunked = clone(COMPONENTS[name]).fit(pieces(X, y, group, weight, cuts))
    assert chunked.n_groups_ == whole.n_groups_
    np.testing.assert_allclose(chunked.eigenvalues_, whole.eigenvalues_, rtol=1e-6)
    if name != "all":  # components of next to no variance turn with the last digit
        np.testing.assert_allclose(chunked.transform(X), whole.transform(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(chunked.predict(X), whole.predict(X), rtol=1e-5, atol=1e-6)


def test_the_number_of_components_is_not_chosen_in_pieces():
    with pytest.raises(DataError, match="not chosen from rows in pieces"):
        KPCRankCV(3, "linear").fit(pieces(*table(0), []))


def group_centred(f, group):
    return f - (np.bincount(group, f) / np.bincount(group))[group]


def test_chunks_are_predicted_and_scored_as_the_whole():
    X, y, group, weight = table(9)
    chunks = pieces(X, y, group, weight, [10, 30])
    model = RankRLS().fit(chunks)
    np.testing.assert_array_equal(
        model.predict(chunks), np.concatenate([model.predict(X[:10]), model.predict(X[10:30]), model.predict(X[30:])])
    )
    assert model.score(chunks) == pytest.approx(model.score(X, y, qid=group, sample_weight=weight))
