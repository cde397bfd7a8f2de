"""Scorers: signs, groups and weights arrive where they should, with and without scikit-learn's metadata routing."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import sklearn
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preflearn import OnItems, PreferenceGP, RankRLSCV
from preflearn.data import Comparisons, Ratings
from preflearn.exceptions import DataWarning, GroupsLostWarning
from preflearn.metrics import (
    RankingScorer,
    comparison_log_loss,
    concordance_index,
    disagreement_error,
    expected_calibration_error,
    get_scorer,
    get_scorer_names,
    kendall_tau_b,
    make_ranking_scorer,
    mean_average_precision,
    ndcg,
    pairwise_accuracy,
    precision_at_k,
    spearman,
)

NAMED = {
    "disagreement": lambda *a, **k: -disagreement_error(*a, **k),
    "concordance": concordance_index,
    "kendall_tau_b": kendall_tau_b,
    "spearman": spearman,
    "map": mean_average_precision,
    "ndcg": ndcg,
    "ndcg@3": lambda *a, **k: ndcg(*a, k=3, **k),
    "precision@4": lambda *a, **k: precision_at_k(*a, k=4, **k),
}
TAKE_WEIGHTS = {"disagreement", "concordance", "kendall_tau_b"}


class Column(BaseEstimator):
    """Predicts a column of X, so that scores can be checked by hand; notes the groups it was fitted with."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y=None, qid=None, sample_weight=None):
        self.n_groups_ = 1 if qid is None else len(set(qid))
        return self

    def predict(self, X):
        if isinstance(X, Comparisons):
            return X.items[X.first, self.column] - X.items[X.second, self.column]
        return np.asarray(X)[:, self.column]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    X[:, 1] += y
    qid, weight = np.array(list("abcdef"))[rng.permutation(60) % 6], rng.random(60)
    return X, y, qid, weight


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("name", NAMED)
def test_a_named_scorer_is_its_metric_with_greater_being_better(name, problem):
    X, y, qid, weight = problem
    scorer, model = get_scorer(name), Column(1).fit(X)
    assert scorer(model, X, y, qid=qid) == pytest.approx(NAMED[name](y, X[:, 1], qid=qid))
    assert scorer(model, X, y) == pytest.approx(NAMED[name](y, X[:, 1]))
    assert scorer(model, X, y, qid) > scorer(Column(0).fit(X), X, y, qid)
    extra = {"sample_weight": weight} if name in TAKE_WEIGHTS else {}
    wanted = NAMED[name](y, X[:, 1], qid=qid, **extra)
    assert scorer.evaluate(y, X[:, 1], qid, weight) == pytest.approx(wanted)
    assert scorer(model, X, y, qid, weight) == pytest.approx(wanted)
    assert type(scorer.evaluate(y, X[:, 1])) is float


@pytest.mark.parametrize("name", [*NAMED, "pairwise_accuracy", "log_loss"])
def test_scorers_survive_copying(name):
    scorer = get_scorer(name)
    for twin in (pickle.loads(pickle.dumps(scorer)), clone(scorer), copy.deepcopy(scorer)):
        assert twin is not scorer
        assert repr(twin) == repr(scorer)
        assert (twin.metric, twin.greater_is_better, twin.kwargs) == (
            scorer.metric,
            scorer.greater_is_better,
            scorer.kwargs,
        )
        assert twin.evaluate([1, 2, 0], [1, 0.3, 0.7]) == scorer.evaluate([1, 2, 0], [1, 0.3, 0.7])


def test_a_clone_keeps_its_requests_and_shares_nothing(routing):
    scorer = get_scorer("ndcg@3").set_score_request(qid="query")
    twin = clone(scorer)
    assert str(twin.get_metadata_routing()) == str(scorer.get_metadata_routing())
    twin.set_score_request(qid=False)
    twin.kwargs["k"] = 1
    assert "query" in str(scorer.get_metadata_routing())
    assert scorer.kwargs == {"k": 3}


def test_the_repr_says_what_is_measured():
    assert repr(get_scorer("disagreement")) == "RankingScorer(disagreement_error, greater_is_better=False)"
    assert repr(get_scorer("ndcg@10")) == "RankingScorer(ndcg, k=10)"
    assert repr(make_ranking_scorer(spearman, ties="formula")) == "RankingScorer(spearman, ties='formula')"


def test_with_routing_groups_reach_the_scorer_in_every_fold(problem, routing):
    X, y, qid, _ = problem
    scorer = get_scorer("disagreement")
    cv = KFold(3, shuffle=True, random_state=0)
    wanted = [-disagreement_error(y[test], X[test, 1], qid=qid[test]) for _, test in cv.split(X)]
    pooled = [-disagreement_error(y[test], X[test, 1]) for _, test in cv.split(X)]
    assert not np.allclose(wanted, pooled)
    model = Column(1).set_fit_request(qid=True)
    found = cross_validate(model, X, y, scoring=scorer, cv=cv, params={"qid": qid})
    np.testing.assert_allclose(found["test_score"], wanted)
    found = cross_validate(model, X, y, scoring={"e": scorer, "t": get_scorer("ndcg@3")}, cv=cv, params={"qid": qid})
    np.testing.assert_allclose(found["test_e"], wanted)
    np.testing.assert_allclose(cross_val_score(model, X, y, scoring=scorer, cv=cv, params={"qid": qid}), wanted)
    search = GridSearchCV(model, {"column": [0, 1, 2]}, scoring=scorer, cv=cv).fit(X, y, qid=qid)
    assert search.best_params_ == {"column": 1}
    assert search.best_score_ == pytest.approx(np.mean(wanted))
    assert search.score(X, y, qid=qid) == pytest.approx(-disagreement_error(y, X[:, 1], qid=qid))


def test_with_routing_requests_can_be_changed(problem, routing):
    X, y, qid, weight = problem
    cv = KFold(3)
    model = Column(1).set_fit_request(qid=False, sample_weight=False)
    scorer = get_scorer("disagreement").set_score_request(qid="query", sample_weight=True)
    found = cross_validate(model, X, y, scoring=scorer, cv=cv, params={"query": qid, "sample_weight": weight})
    wanted = [
        -disagreement_error(y[test], X[test, 1], qid=qid[test], sample_weight=weight[test]) for _, test in cv.split(X)
    ]
    np.testing.assert_allclose(found["test_score"], wanted)
    scorer = get_scorer("disagreement")
    with pytest.raises(ValueError, match="sample_weight"):  # scikit-learn's rule: say whether weights are meant
        cross_validate(model, X, y, scoring=scorer, cv=cv, params={"sample_weight": weight})
    with pytest.raises(TypeError, match=r"'sample_weight'(.|\n)*qid"):
        get_scorer("spearman").set_score_request(sample_weight=True)


def test_requests_cannot_be_set_while_routing_is_off():
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        get_scorer("ndcg").set_score_request(qid=False)


def test_without_routing_rows_are_one_group_and_lost_groups_are_reported(problem):
    X, y, qid, _ = problem
    scorer, cv = get_scorer("kendall_tau_b"), KFold(3)
    wanted = [kendall_tau_b(y[test], X[test, 1]) for _, test in cv.split(X)]
    found = cross_validate(Column(1), X, y, scoring=scorer, cv=cv)  # warnings are errors: nothing is reported here
    np.testing.assert_allclose(found["test_score"], wanted)
    with pytest.warns(GroupsLostWarning, match=r"fitted with 6 groups(.|\n)*enable_metadata_routing"):
        GridSearchCV(Column(1), {"column": [1]}, scoring=scorer, cv=cv, refit=False).fit(X, y, qid=qid)
    fitted = Column(1).fit(X, y, qid=qid)
    with pytest.warns(GroupsLostWarning):
        scorer(make_pipeline(StandardScaler().fit(X), fitted), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scorer(fitted, X, y, qid=np.zeros(60))
        make_ranking_scorer(sklearn.metrics.r2_score)(fitted, X, y)  # has no groups to lose


def test_without_routing_weights_reach_only_the_metrics_which_take_them(problem):
    X, y, _, weight = problem
    cv = KFold(3)
    if "_accept_sample_weight" in dir(sklearn.metrics.get_scorer("r2")):  # since scikit-learn 1.7
        search = GridSearchCV(Column(1), {"column": [1]}, scoring=get_scorer("disagreement"), cv=cv)
        search.fit(X, y, sample_weight=weight)
        wanted = [disagreement_error(y[t], X[t, 1], sample_weight=weight[t]) for _, t in cv.split(X)]
        assert search.best_score_ == pytest.approx(-np.mean(wanted))
        search = GridSearchCV(Column(1), {"column": [1]}, scoring=get_scorer("spearman"), cv=cv)
        with pytest.warns(UserWarning, match="does not support sample_weight"):
            search.fit(X, y, sample_weight=weight)
        assert search.best_score_ == pytest.approx(np.mean([spearman(y[t], X[t, 1]) for _, t in cv.split(X)]))


def test_a_scikit_learn_model_in_a_pipeline_is_selected_by_groups(problem, routing):
    X, y, qid, _ = problem
    search = GridSearchCV(
        make_pipeline(StandardScaler(), Ridge()),
        {"ridge__alpha": [0.1, 1e6]},
        scoring=get_scorer("ndcg@3"),
        cv=GroupKFold(3),
    )
    search.fit(X, y, qid=qid, groups=qid)
    assert search.score(X, y, qid=qid) == pytest.approx(ndcg(y, search.predict(X), qid=qid, k=3))


def test_ratings_bring_their_scores_groups_and_weights(problem):
    X, y, qid, weight = problem
    model = Column(1).fit(X)
    ratings = Ratings(X, y, qid, weight=weight)
    wanted = -disagreement_error(y, X[:, 1], qid=qid, sample_weight=weight)
    assert get_scorer("disagreement")(model, ratings) == pytest.approx(wanted)
    assert get_scorer("ndcg")(model, ratings) == pytest.approx(ndcg(y, X[:, 1], qid=qid))
    cv = KFold(3)
    found = cross_validate(model, ratings, scoring=get_scorer("map"), cv=cv)
    wanted = [mean_average_precision(y[test], X[test, 1], qid=qid[test]) for _, test in cv.split(X)]
    np.testing.assert_allclose(found["test_score"], wanted)
    other = np.arange(60) % 2  # what is given by hand comes before what the data object holds
    assert get_scorer("ndcg")(model, ratings, qid=other) == pytest.approx(ndcg(y, X[:, 1], qid=other))


@pytest.fixture
def comparisons(problem):
    X = problem[0]
    rng = np.random.default_rng(1)
    first, second = np.triu_indices(60, 1)
    chosen = rng.choice(len(first), 80, replace=False)
    first, second = first[chosen], second[chosen]
    outcome = np.sign(np.round(X[first, 1] - X[second, 1] + rng.normal(size=80)))
    return Comparisons(X, first, second, outcome, group=rng.integers(0, 5, 80), weight=rng.random(80))


def test_on_comparisons_the_metrics_of_pairs_are_accuracies(comparisons):
    data, model = comparisons, Column(1)
    margin = model.predict(data)
    assert 0 in data.outcome
    arguments = {"sample_weight": data.weight, "group": data.group}
    pooled = pairwise_accuracy(data.outcome, margin, **arguments)
    means = pairwise_accuracy(data.outcome, margin, **arguments, average="groups")
    assert abs(pooled - means) > 1e-6
    assert get_scorer("pairwise_accuracy")(model, data) == pytest.approx(pooled)
    assert get_scorer("concordance")(model, data) == pytest.approx(pooled)
    assert get_scorer("disagreement")(model, data) == pytest.approx(means - 1)
    by_pairs = make_ranking_scorer(disagreement_error, greater_is_better=False, average="pairs")
    assert by_pairs(model, data) == pytest.approx(pooled - 1)
    by_groups = make_ranking_scorer(pairwise_accuracy, average="groups")
    assert by_groups(model, data) == pytest.approx(means)
    assert get_scorer("disagreement")(model, data.swapped()) == pytest.approx(means - 1)


@pytest.mark.parametrize("name", ["kendall_tau_b", "spearman", "map", "ndcg", "ndcg@5", "precision@5"])
def test_metrics_of_whole_rankings_refuse_comparisons(name, comparisons):
    with pytest.raises(TypeError, match=r"cannot judge a Comparisons(.|\n)*'disagreement'"):
        get_scorer(name)(Column(1), comparisons)


def test_counting_ties_is_refused_for_comparisons(comparisons):
    scorer = make_ranking_scorer(disagreement_error, greater_is_better=False, ties="include")
    with pytest.raises(ValueError, match="ties='exclude'"):
        scorer(Column(1), comparisons)


def test_accuracy_of_comparisons_refuses_rows_with_scores(problem):
    X, y, qid, _ = problem
    for data in (X, Ratings(X, y, qid)):
        with pytest.raises(TypeError, match=r"listed comparisons(.|\n)*'concordance'"):
            get_scorer("pairwise_accuracy")(Column(1), data, y)
    accuracy = get_scorer("pairwise_accuracy").evaluate([1, -1], [2.0, 3.0], qid=["a", "b"])
    assert accuracy == 0.5


class Sure(Column):
    """Column with probabilities."""

    def __init__(self, column=0, scale=1.0):
        super().__init__(column)
        self.scale = scale

    def predict_proba(self, X):
        first = expit(self.scale * self.predict(X))
        return np.column_stack([1 - first, first])


PROBABILISTIC = {"log_loss": comparison_log_loss, "calibration_error": expected_calibration_error}


@pytest.mark.parametrize("name", PROBABILISTIC)
def test_probabilities_of_comparisons_are_judged_and_searched_by(name, comparisons):
    scorer, metric = get_scorer(name), PROBABILISTIC[name]
    p = Sure(1).predict_proba(comparisons)[:, 1]
    value = metric(comparisons.outcome, p, sample_weight=comparisons.weight)
    assert scorer(Sure(1), comparisons) == pytest.approx(-value)
    assert scorer.evaluate(comparisons.outcome, p, sample_weight=comparisons.weight) == pytest.approx(-value)
    assert scorer(make_pipeline(OnItems(StandardScaler()), Sure(1)).fit(comparisons), comparisons) < 0
    search = GridSearchCV(Sure(1), {"scale": [0.001, 1.0, -1.0]}, scoring=scorer, cv=4).fit(comparisons)
    assert search.best_params_ == {"scale": 1.0}
    with pytest.raises(TypeError, match=r"judges probabilities, and Column has no predict_proba(.|\n)*disagreement"):
        scorer(Column(1), comparisons)
    with pytest.raises(TypeError, match="listed comparisons"):
        scorer(Sure(1), comparisons.items, comparisons.items[:, 0])
    with pytest.raises(TypeError, match=r"RankRLSCV: .*judges probabilities, and RankRLSCV predicts utilities"):
        RankRLSCV(scoring=name).fit(comparisons)


def test_scorers_of_scikit_learn_judge_comparisons_that_come_with_their_outcomes():
    X, (first, second) = np.linspace(0, 1, 8)[:, None], np.triu_indices(8, 1)
    data = Comparisons(X, first, second, np.where(first % 3 == 0, 1, -1))
    model, cv = PreferenceGP(hyperparameters="fixed"), KFold(3)
    ours = cross_val_score(model, data, scoring=get_scorer("log_loss"), cv=cv)
    assert np.isfinite(ours).all()
    np.testing.assert_allclose(cross_val_score(model, data, data.outcome, scoring="neg_log_loss", cv=cv), ours)


def test_options_of_probabilities_are_kept_and_known_ties_need_no_warning(comparisons):
    scorer = make_ranking_scorer(expected_calibration_error, greater_is_better=False, n_bins=3)
    p = Sure(1).predict_proba(comparisons)[:, 1]
    value = expected_calibration_error(comparisons.outcome, p, n_bins=3, sample_weight=comparisons.weight)
    assert scorer(Sure(1), comparisons) == pytest.approx(-value)
    won_or_tied = comparisons[comparisons.outcome >= 0]
    assert {0.0, 1.0} == set(won_or_tied.outcome)
    for name in PROBABILISTIC:
        assert get_scorer(name)(Sure(1), won_or_tied) < 0
        with pytest.warns(DataWarning, match="0 means a tie"):
            get_scorer(name).evaluate(won_or_tied.outcome, Sure(1).predict_proba(won_or_tied)[:, 1])


def test_missing_true_scores_are_reported():
    with pytest.raises(TypeError, match="y is None"):
        get_scorer("ndcg")(Column(), np.zeros((2, 1)))


def test_metrics_of_others_become_scorers(problem):
    X, y, qid, weight = problem
    scorer = make_ranking_scorer(sklearn.metrics.mean_absolute_error, greater_is_better=False)
    wanted = -sklearn.metrics.mean_absolute_error(y, X[:, 1], sample_weight=weight)
    assert scorer(Column(1), X, y, qid, weight) == pytest.approx(wanted)
    assert "qid" not in str(scorer.get_metadata_routing())
    assert get_scorer(scorer) is scorer


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndgc", r'no scorer "ndgc" \(nearest names: "ndcg"'),
        ("kendal", '"kendall_tau_b"'),
        ("precision", '"precision@k"'),
        ("ndcg@0", '"ndcg@0" needs a number for k.*as in "ndcg@5"'),
        ("ndcg@k", '"ndcg@k" needs a number for k.*as in "ndcg@5"'),
        ("precision@", 'needs a number for k.*as in "precision@5"'),
        ("map@5", "no scorer"),
        ("xyzzy", r'no scorer "xyzzy"\. Names: disagreement'),
    ],
)
def test_unknown_names_are_answered_with_the_known_ones(name, message):
    with pytest.raises(ValueError, match=message):
        get_scorer(name)


def test_every_listed_name_gives_a_scorer():
    assert len(get_scorer_names()) == 12
    for name in get_scorer_names():
        assert isinstance(get_scorer(name.replace("@k", "@7")), RankingScorer)


@pytest.mark.parametrize(
    ("build", "kind", "message"),
    [
        (lambda: get_scorer(ndcg), TypeError, "make_ranking_scorer"),
        (lambda: make_ranking_scorer("ndcg"), TypeError, "get_scorer"),
        (lambda: make_ranking_scorer(ndcg, gian="linear"), TypeError, r"'gian' \(nearest names: \"gain\""),
        (lambda: make_ranking_scorer(ndcg, qid=[1]), TypeError, "given when scoring"),
        (lambda: make_ranking_scorer(ndcg, average=None), ValueError, "single number"),
        (lambda: make_ranking_scorer(disagreement_error), ValueError, "greater_is_better=False"),
        (lambda: make_ranking_scorer(comparison_log_loss), ValueError, "greater_is_better=False"),
    ],
)
def test_scorers_which_would_fail_or_mislead_are_refused_when_made(build, kind, message):
    with pytest.raises(kind, match=message):
        build()
