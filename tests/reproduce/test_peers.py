"""The study of peers: sets are read as they are, both are asked the same, and the choice looks at no test data."""

import importlib.util

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from preflearn import Comparisons
from preflearn.metrics import comparison_log_loss
from preflearn.reproduce import Case, experiments
from preflearn.reproduce.studies import peer_data, peer_models, peers

RUNS = {run.name.removeprefix("peers-"): run for run in experiments()["peers"].runs}


def case(name, folder=None, **settings):
    run = RUNS[name]
    return Case(0, 0, {**run.settings, **settings}, folder, run.data.folder)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n_items", "n_rows"), [("pokemon", 800, 50_000), ("cars", 10, 2675), ("tennis", 503, 5703)]
)
def test_ours_and_theirs_are_the_same_comparisons(name, n_items, n_rows, data_dir):
    asked = case(name, data_dir / RUNS[name].data.folder)
    ours, sides = peers._READERS[name](asked)
    assert (ours.n_items, len(ours), len(sides)) == (n_items, n_rows, n_rows)
    np.testing.assert_array_equal(ours.outcome, sides.outcome)
    apart = sides.items[sides.first] - sides.items[sides.second]
    if name == "pokemon":
        np.testing.assert_array_equal(np.sign(apart[:, :7]), ours.covariates)
        faster = ours.covariates[:, 5] * ours.outcome
        assert np.mean(faster[faster != 0] > 0) == pytest.approx(0.939, abs=0.001)
        assert set(ours.items[:, 8:].sum(axis=1)) == {1, 2}  # types
    elif name == "cars":
        cars = ours.items[ours.first] - ours.items[ours.second]
        np.testing.assert_array_equal(np.sign(apart[:, :4]), np.sign(cars))
        assert not apart[:, 4:].any(), "both sides of a row are seen by one person"
        np.testing.assert_array_equal(sides.items[sides.first, 4] - 1, ours.judge.astype(int))
    else:
        np.testing.assert_allclose(np.sign(apart[:, :5]), np.sign(ours.covariates))
        assert not apart[:, 5:].any(), "both play the same match"
        assert np.mean(apart[:, 0] * ours.outcome > 0) > 0.6  # more points before the match
    train, test = peer_data.parts(asked, len(ours))
    assert not set(train) & set(test)
    assert 0.45 < np.mean(ours.outcome > 0) < 0.55


@pytest.mark.data
def test_documents_and_label_rankings_are_read(data_dir):
    found = peer_data.documents(case("lambdarank", data_dir / "lightgbm_lambdarank"))
    groups = [set(part.group) for part in found]
    assert [len(part) for part in groups] == [151, 50, 50]
    assert len(set.union(*groups)) == 251
    assert sum(len(part) for part in found) == 3773
    for name in peer_data.KEBI_SETS:
        packed = ".gz" if name == "fried" else ""
        X, place = peer_data.orders(data_dir / "label_ranking_kebi" / f"{name}.csv{packed}")
        assert len(X) == len(place)
        np.testing.assert_array_equal(np.sort(place[:20], axis=1), np.tile(np.arange(place.shape[1]), (20, 1)))


def test_an_order_is_read_best_first(tmp_path):
    (tmp_path / "x.csv").write_text("A1,ranking\n1,b>c>a\n3,a>b>c\n")
    X, place = peer_data.orders(tmp_path / "x.csv")
    np.testing.assert_array_equal(place, [[2, 0, 1], [0, 1, 2]])
    np.testing.assert_array_equal(X, [[-1], [1]])


def test_the_best_of_ours_is_chosen_by_merit_not_by_score():
    table = peers.Table("set", ["one", "other"])
    table.add("one", lambda: ({"score": 0.9}, 1.0))
    table.add("other", lambda: ({"score": 0.1}, 2.0))
    table.add("peer", lambda: ({"score": 0.5}, 3.0))
    chosen, one, other, peer, left_out = table.finished(["choix"])
    assert chosen["row"] == "set: ours, chosen"
    assert chosen["score"] == 0.1
    assert (one["chosen"], other["chosen"]) == (0, 1)
    assert "chosen" not in peer
    assert chosen["seconds"] == pytest.approx(one["seconds"] + other["seconds"])
    assert peers.absent_peers([chosen, one, other, peer]) == []
    (sentence,) = peers.absent_peers([left_out, left_out])
    assert sentence.startswith("Left out, because not installed: choix. Install")


def test_tau_is_kendalls():
    rng = np.random.default_rng(0)
    place, utility = np.argsort(rng.normal(size=(5, 6)), axis=1), rng.normal(size=(5, 6))
    expected = np.mean([kendalltau(-a, b).statistic for a, b in zip(place, utility, strict=True)])
    assert peers.tau(place, utility) == pytest.approx(expected)


def test_pairs_of_labels_are_learned_one_by_one():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    place = np.argsort(np.argsort(-X @ rng.normal(size=(2, 3)) + 0.5 * rng.normal(size=(60, 3)), axis=1), axis=1)
    model = peer_models.PairwiseLogistic(C=0.5).fit(X, place)
    a, b, probability = model.predict_pairs(X)
    assert list(zip(a, b, strict=True)) == [(0, 1), (0, 2), (1, 2)]
    one = LogisticRegression(C=0.5, max_iter=2000).fit(X, place[:, 0] < place[:, 2]).predict_proba(X)[:, 1]
    np.testing.assert_allclose(probability[:, 1], one)
    votes = model.predict(X)
    np.testing.assert_allclose(votes.sum(axis=1), 3)
    np.testing.assert_allclose(votes[:, 0], probability[:, 0] + probability[:, 1])
    always = peer_models.PairwiseLogistic().fit(X, np.tile([0, 1], (60, 1)))
    np.testing.assert_allclose(always.predict_pairs(X)[2], 61 / 62)


def test_pair_classifiers_see_both_sides_and_their_difference():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 2))
    i = rng.integers(0, 20, 200)
    j = (i + rng.integers(1, 20, 200)) % 20
    data = Comparisons(X, i, j, np.where(X[i, 0] - X[j, 0] + 0.3 * rng.normal(size=200) > 0, 1, -1))
    np.testing.assert_array_equal(
        peer_models.with_differences(np.hstack([X[i], X[j]])), np.hstack([X[i], X[j], X[i] - X[j]])
    )
    search = peer_models.pair_classifier("scikit-learn, logistic", 0, {"C": [1e-6, 1.0]}).fit(data)
    assert search.best_params_ == {"estimator__pipeline__logisticregression__C": 1.0}
    assert search.best_score_ == pytest.approx(
        -comparison_log_loss(data.outcome, search.predict_proba(data)[:, 1]), abs=0.1
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["choix", "BoTorch", "LightGBM", "XGBoost"])
@pytest.mark.filterwarnings("ignore")
def test_peers_learn_a_utility_where_they_are_installed(name):
    if importlib.util.find_spec(peer_models.PACKAGES[name]) is None:
        pytest.skip(f"{name} is not installed")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(25, 2))
    i = rng.integers(0, 25, 400)
    j = (i + rng.integers(1, 25, 400)) % 25
    apart = X[i, 0] - X[j, 0]
    data = Comparisons(X, i, j, np.where(rng.random(400) < 1 / (1 + np.exp(-3 * apart)), 1, -1))
    own = {"choix": peer_models.by_choix(0), "BoTorch": peer_models.BoTorch()}
    model = own[name] if name in own else peer_models.pair_classifier(name, 0, {"n_estimators": [30]})
    model = clone(model).fit(data)
    probability = model.predict_proba(data)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_proba(data.swapped()), probability[:, ::-1], atol=1e-6)
    assert np.mean((probability[:, 1] > 0.5) == (apart > 0)) > 0.85
    assert comparison_log_loss(data.outcome, probability[:, 1]) < 0.5
