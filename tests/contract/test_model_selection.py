"""Groups reach fit and score wherever scikit-learn calls them, and data objects are rows of X everywhere."""

import pickle
import warnings
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA, KernelPCA
from sklearn.manifold import Isomap
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preflearn import KPCR, KPCRCV, RLS, RLSCV, Comparisons, KPCRank, KPCRankCV, OnItems, RankRLS, RankRLSCV, Ratings
from preflearn.baselines import RankBoost, RankSVM
from preflearn.exceptions import GroupsLostWarning
from preflearn.metrics import disagreement_error, get_scorer
from preflearn.selection import GroupFolds, ItemFolds, PairFolds

ALL = [
    RLS(),
    RLSCV(),
    KPCRCV(n_components=5),
    RankRLS(),
    RankRLSCV(),
    KPCR(),
    KPCRank(),
    KPCRankCV(n_components=5),
    RankSVM(),
    RankBoost(20),
]


class Recorder(RankRLS):
    """RankRLS that remembers what it was given."""

    seen: ClassVar[list] = []

    def fit(self, X, y=None, qid=None, sample_weight=None):
        self.seen.append(("fit", len(X), None if qid is None else set(np.asarray(qid))))
        return super().fit(X, y, qid, sample_weight)

    def score(self, X, y=None, qid=None, sample_weight=None):
        self.seen.append(("score", len(X), None if qid is None else set(np.asarray(qid))))
        return super().score(X, y, qid, sample_weight)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(60, 4)), np.repeat(np.arange(12), 5)
    difficulty = rng.normal(size=12)[qid] * 10
    return X, X @ [2.0, -1.0, 0.0, 0.5] + difficulty + 0.1 * rng.normal(size=60), qid


@pytest.fixture
def comparisons(problem):
    X, _, _ = problem
    rng = np.random.default_rng(1)
    pairs = np.stack(np.triu_indices(60, 1), axis=1)
    first, second = rng.permuted(rng.choice(pairs, 150, replace=False), axis=1).T
    utility = X @ [2.0, -1.0, 0.0, 0.5]
    return Comparisons(X, first, second, utility[first] - utility[second])


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def recorder():
    Recorder.seen = []
    return Recorder()


def groups_seen(kind):
    return [groups for what, _, groups in Recorder.seen if what == kind]


def test_qid_reaches_fit_and_score_in_a_grid_search(problem, recorder, routing):
    X, y, qid = problem
    search = GridSearchCV(recorder, {"alpha": [0.1, 1.0]}, cv=GroupKFold(3))
    search.fit(X, y, qid=qid, groups=qid)
    assert len(groups_seen("fit")) == 2 * 3 + 1
    assert len(groups_seen("score")) == 2 * 3
    assert all(len(groups) == 8 for groups in groups_seen("fit")[:-1])
    assert all(len(groups) == 4 for groups in groups_seen("score"))
    assert search.best_score_ > 0.95


def test_qid_reaches_fit_and_score_in_a_pipeline(problem, recorder, routing):
    X, y, qid = problem
    pipeline = make_pipeline(StandardScaler(), recorder)
    cross_validate(pipeline, X, y, params={"qid": qid, "groups": qid}, cv=GroupKFold(3))
    assert [len(groups) for groups in groups_seen("fit")] == [8, 8, 8]
    assert [len(groups) for groups in groups_seen("score")] == [4, 4, 4]
    pipeline.fit(X, y, qid=qid)
    assert pipeline.score(X, y, qid=qid) == pytest.approx(
        1 - disagreement_error(y, pipeline.predict(X), qid=qid), abs=1e-12
    )


def test_a_scorer_gets_qid_too(problem, routing):
    X, _, qid = problem
    grades = np.digitize(X @ [2.0, -1.0, 0.0, 0.5], [-2, 0, 2]).astype(float)
    search = GridSearchCV(RankRLS(), {"alpha": [0.1, 1.0]}, scoring=get_scorer("ndcg@3"), cv=GroupKFold(3))
    search.fit(X, grades, qid=qid, groups=qid)
    assert 0 < search.best_score_ <= 1


def test_without_routing_fit_gets_qid_and_the_lost_score_is_reported(problem, recorder):
    X, y, qid = problem
    search = GridSearchCV(recorder, {"alpha": [0.1]}, cv=GroupKFold(3))
    with pytest.warns(GroupsLostWarning, match="Ratings"):
        search.fit(X, y, qid=qid, groups=qid)
    assert all(groups for groups in groups_seen("fit"))
    assert not any(groups_seen("score"))


def test_ratings_carry_their_groups_without_routing(problem):
    X, y, qid = problem
    ratings = Ratings(X, y, qid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(RankRLS(), {"alpha": [0.1, 1.0]}, cv=GroupFolds(3)).fit(ratings)
    assert search.best_score_ > 0.95
    model = RankRLS().fit(ratings)
    assert model.score(ratings) == RankRLS().fit(X, y, qid=qid).score(X, y, qid=qid)


@pytest.mark.parametrize("splitter", [KFold(3), PairFolds(3), ItemFolds(3)], ids=repr)
@pytest.mark.parametrize(
    "estimator", [RankRLS(), RankRLS(kernel="rbf"), KPCRank(4, "linear"), RankRLSCV(), RankSVM()], ids=repr
)
def test_comparisons_are_rows_of_x(comparisons, estimator, splitter):
    scores = cross_val_score(estimator, comparisons, cv=splitter)
    assert scores.shape == (3,)
    assert scores.min() > 0.8


@pytest.mark.slow
def test_comparisons_in_a_parallel_grid_search_and_a_split(comparisons):
    search = GridSearchCV(RankRLS(), {"alpha": [1e-3, 1e6]}, cv=3, n_jobs=2).fit(comparisons)
    assert search.best_params_ == {"alpha": 1e-3} or search.best_score_ > 0.95
    train, test = train_test_split(comparisons, test_size=0.3, random_state=0)
    assert RankRLS().fit(train).score(test) > 0.95


@pytest.mark.parametrize(
    "transformer", [PCA(3), KernelPCA(10, kernel="rbf", gamma=0.05), Isomap(n_neighbors=20, n_components=3)], ids=repr
)
def test_any_transformer_may_denoise_in_front(problem, comparisons, transformer, routing):
    X, y, qid = problem
    rows = make_pipeline(transformer, RankRLS(0.01)).fit(X, y, qid=qid)
    assert rows.score(X, y, qid=qid) > 0.6
    pairs = make_pipeline(OnItems(transformer), RankRLS(0.01)).fit(comparisons)
    assert pairs.score(comparisons) > 0.6
    assert cross_val_score(pairs, comparisons, cv=3).shape == (3,)


def test_a_transformer_on_items_sees_only_training_items(comparisons):
    step = OnItems(StandardScaler()).fit(comparisons[:3])
    used = comparisons[:3].used_items()
    np.testing.assert_allclose(step.transformer_.mean_, comparisons.items[used].mean(axis=0))


def test_a_transformer_of_tables_is_refused_with_the_cure(comparisons):
    with pytest.raises(TypeError, match=r"OnItems\(StandardScaler\(\)\)"):
        make_pipeline(StandardScaler(), RankRLS()).fit(comparisons)


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_clones_and_pickles_predict_the_same(problem, estimator):
    X, y, qid = problem
    model = clone(estimator).fit(X, y, qid=qid)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(clone(model).fit(X, y, qid=qid).predict(X), model.predict(X))
    assert model.score(X, y, qid=qid) == pytest.approx(1 - disagreement_error(y, model.predict(X), qid=qid))


def test_fitting_twice_forgets_the_first_fit(problem):
    X, y, qid = problem
    model = RankRLS(kernel="rbf").fit(X, y, qid=qid)
    model.set_params(kernel="linear").fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.predict(X), RankRLS().fit(X, y, qid=qid).predict(X))
