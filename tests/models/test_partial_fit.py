"""Rows that come call by call give what they give at once, or are refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from fast_share import every_seed
from preflearn import RLS, Comparisons, Nystroem, RandomFourier, RankRLS, load, save
from preflearn.exceptions import DataError, DataWarning

MODELS = {
    "rls": RLS(0.3),
    "pairs": RankRLS(0.3),
    "no ties": RankRLS(0.3, ties="exclude"),
    "groups": RankRLS(0.3, weighting="groups"),
    "features": RankRLS(0.3, RBF(2.0), approximation=RandomFourier(20, random_state=0)),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("outputs", [1, 2])
@every_seed(3, 30)
def test_call_by_call_is_at_once(name, outputs, seed):
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(60, 3)), np.sort(rng.integers(0, 9, 60))
    y, weight = rng.integers(0, 4, (60, outputs)).squeeze().astype(float), rng.integers(0, 3, 60) / 2
    whole = MODELS[name].fit(X, y, qid=group, sample_weight=weight)
    wanted, n_groups = whole.predict(X), whole.n_groups_
    parts = clone(MODELS[name])
    for few in np.split(np.arange(60), np.searchsorted(group, [3, 6])):
        parts.partial_fit(X[few], y[few], qid=group[few], sample_weight=weight[few])
    np.testing.assert_allclose(parts.predict(X), wanted, rtol=1e-8, atol=1e-8)
    assert parts.n_groups_ >= n_groups  # groups of weight zero are known by name


def test_comparisons_call_by_call_and_files_between_them(tmp_path):
    rng = np.random.default_rng(0)
    items = rng.normal(size=(20, 3))
    ends = rng.permuted(np.tile(np.arange(20), (40, 1)), axis=1)[:, :2]
    outcome = rng.choice([-1.0, 0.0, 1.0], 40)
    every = Comparisons(items, *ends.T, outcome)
    at_once = RankRLS(0.1).fit(every)
    whole = at_once.predict(items)
    model = RankRLS(0.1).partial_fit(Comparisons(items, *ends[:15].T, outcome[:15]))
    save(model, tmp_path / "half.prefl")
    model = load(tmp_path / "half.prefl").partial_fit(Comparisons(items, *ends[15:].T, outcome[15:]))
    np.testing.assert_allclose(model.predict(items), whole, rtol=1e-8)
    assert model.n_groups_ == at_once.n_groups_


def test_what_cannot_go_on_is_refused():
    X, y = np.eye(4), np.arange(4.0)
    model = RankRLS().partial_fit(X, y, qid=[1, 1, 2, 2])
    with pytest.raises(DataError, match="groups 2 came in an earlier call"):
        model.partial_fit(X, y, qid=[2, 2, 3, 3])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3], y, qid=[3, 3, 4, 4])
    with pytest.warns(DataWarning, match="what it has learned is forgotten"):
        again = RankRLS().fit(X[::-1], y).partial_fit(X, y)
    np.testing.assert_array_equal(again.coef_, RankRLS().partial_fit(X, y).coef_)
    with pytest.raises(DataError, match="no item table"):
        RankRLS().partial_fit(Comparisons(None, ["a", "b"], ["b", "c"]))
    with pytest.raises(DataError, match="call by call"):
        RankRLS(smoothness=1.0).partial_fit(X, y)
    for kernel in ("rbf", RBF(np.ones(4)), "precomputed"):
        with pytest.raises(AttributeError, match="partial_fit") as raised:
            RankRLS(kernel=kernel).partial_fit(X, y)
        assert "no finite number of features" in str(raised.value.__cause__)


def test_landmarks_are_those_of_the_first_call():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    model = RankRLS(0.1, RBF(1.0), approximation=Nystroem(40, random_state=0)).partial_fit(X[:40], y)
    wanted = RankRLS(0.1, RBF(1.0)).fit(X, y).predict(X)
    found = model.predict(X)
    np.testing.assert_allclose(found - found.mean(), wanted - wanted.mean(), atol=1e-5)
