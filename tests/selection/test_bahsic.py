"""BAHSIC: as the criterion over all comparisons in both directions says, and the features that matter are kept."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils._param_validation import InvalidParameterError

from fast_share import every_seed
from preflearn import Bags, Comparisons
from preflearn.data import ItemTable
from preflearn.exceptions import DataError
from preflearn.selection import BAHSIC


def games(seed, m=60, d=6, n=25, ties=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) + 3
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    margin = (X[first, 2] - X[second, 2]) / 3 - 0.8 * (X[first, 5] - X[second, 5]) / 6
    outcome = np.where(ties & (np.abs(margin) < 0.3), 0.0, np.sign(margin))
    return Comparisons(X, first, second, outcome)


def listed(data, count):
    """Eliminate one feature after the other, by the kernel matrix of all comparisons in both directions."""
    X = np.asarray(data.items)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    D = X[data.first] - X[data.second]
    weight = np.ones(len(data)) if data.weight is None else data.weight
    D, y = np.vstack([D, -D]), np.concatenate([weight * data.outcome, -weight * data.outcome])

    def dependence(columns):
        S = np.square(D[:, None, columns] - D[None, :, columns]).sum(axis=-1)
        return float(y @ np.exp(-S / (2 * np.median(S[S > 0]))) @ y)

    left, found = list(range(X.shape[1])), []
    while len(left) > count:
        found.append(dependence(left))
        left.remove(max(left, key=lambda k: dependence([c for c in left if c != k])))
    return left, [*found, dependence(left)]


@every_seed(3, 15)
def test_it_is_backward_elimination_over_both_directions(seed):
    data = games(seed)
    data = Comparisons(data.items, data.first, data.second, data.outcome, weight=np.arange(1.0, 61) / 30)
    left, dependence = listed(data, 2)
    found = BAHSIC(2).fit(data)
    assert np.flatnonzero(found.support_).tolist() == left
    np.testing.assert_allclose(found.dependence_, dependence, rtol=1e-9)
    # who was dropped last would be kept next
    one_more = BAHSIC(3).fit(data)
    np.testing.assert_array_equal(one_more.support_, found.ranking_ <= 2)
    assert sorted(found.ranking_.tolist()) == [1, 1, 2, 3, 4, 5]


def test_features_that_say_who_wins_are_kept_in_any_scale_and_order():
    data = games(1, m=150, ties=False)
    found = BAHSIC(2).fit(data)
    assert np.flatnonzero(found.support_).tolist() == [2, 5]
    assert np.flatnonzero(BAHSIC(2).fit(data.swapped(np.arange(150) % 2 == 0)).support_).tolist() == [2, 5]
    X = np.asarray(data.items)
    order = np.array([5, 0, 3, 1, 4, 2])
    scaled = BAHSIC(2).fit(data.with_items(1000 * X[:, order] - 7))
    assert np.flatnonzero(scaled.support_).tolist() == [0, 5]
    constant = BAHSIC(2).fit(data.with_items(np.hstack([X, np.full((len(X), 1), 7.0)])))
    assert np.flatnonzero(constant.support_).tolist() == [2, 5]
    with_equals = Comparisons(np.repeat(X, 2, axis=0), 2 * data.first, 2 * data.second, data.outcome)
    assert np.flatnonzero(BAHSIC(2).fit(with_equals).support_).tolist() == [2, 5]


def test_tables_of_other_kinds_names_and_few_features():
    data = games(2)
    X = np.asarray(data.items)
    expected = BAHSIC(3).fit(data)
    for items in (sp.csr_array(X), Bags([x[None] for x in X])):
        np.testing.assert_array_equal(BAHSIC(3).fit(data.with_items(items)).ranking_, expected.ranking_)
    named = data.with_items(ItemTable(X, None, tuple("abcdef"), len(X)))
    found = BAHSIC(3).fit(named)
    kept = np.flatnonzero(found.support_)
    assert found.get_feature_names_out().tolist() == ["abcdef"[k] for k in kept]
    assert found.transform(named).feature_names == tuple("abcdef"[k] for k in kept)
    assert expected.get_feature_names_out().tolist() == [f"x{k}" for k in kept]
    np.testing.assert_array_equal(found.transform(data).items, X[:, kept])
    np.testing.assert_array_equal(found.transform(X[:4]), X[:4][:, kept])
    assert BAHSIC(9).fit(data).support_.all()
    assert BAHSIC(1).fit(Comparisons(X, [0, 1], [1, 2], [0, 0])).dependence_.tolist() == [0.0] * 6


def test_of_many_comparisons_some_are_drawn():
    data = games(2, m=3000, ties=False)
    found = [BAHSIC(2, n_comparisons=400, random_state=seed).fit(data) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(found[0].dependence_, found[1].dependence_)
    assert found[0].dependence_[0] != found[2].dependence_[0]
    assert all(one.support_[[2, 5]].all() for one in found)


def test_mistakes():
    data = games(0)
    with pytest.raises(TypeError, match="BAHSIC learns from Comparisons; got ndarray"):
        BAHSIC().fit(np.eye(3))
    with pytest.raises(DataError, match=r"the items have no features. Pass items=\.\.\."):
        BAHSIC().fit(Comparisons(3, [0, 1], [1, 2]))
    with pytest.raises(InvalidParameterError, match="n_features"):
        BAHSIC(0).fit(data)
    with pytest.raises(DataError, match="the items have 2 features, and training had 6"):
        BAHSIC(2).fit(data).transform(np.eye(2))
