"""Clusters of items without features: what the default cannot do is said, and what is advised works."""

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.utils._param_validation import InvalidParameterError

from fast_share import slow_except
from preflearn import Comparisons, PreferenceGP
from preflearn.exceptions import DataError
from preflearn.structure import ComparableClusters, rankability


@pytest.mark.filterwarnings("ignore:.*separate parts")
def test_items_without_features_are_clustered_as_the_message_says():
    first, second = np.triu_indices(8, 1)
    same = (first < 4) == (second < 4)
    data = Comparisons(8, first[same], second[same], weight=np.full(12, 5.0))
    with pytest.raises(DataError, match=r'needs features.*method="svd" or "partial".*cyclic_kernel=ConstantKernel\(\)'):
        ComparableClusters(2).fit(data)
    model = PreferenceGP(cyclic_kernel=ConstantKernel(), hyperparameters="fixed")
    for options in ({"method": "svd"}, {"method": "partial"}, {"model": model}):
        found = ComparableClusters(2, random_state=0, **options).fit(data)
        assert found.ranks_.tolist() == [1, 2, 3, 4, 1, 2, 3, 4]


def test_abstention_leaves_out_the_pairs_that_a_utility_finds_too_close():
    rng = np.random.default_rng(1)
    first, second = np.triu_indices(10, 1)
    X = rng.normal(size=(10, 2))
    data = Comparisons(X, first, second, np.sign(X[first, 0] - X[second, 0] + 0.8 * rng.normal(size=45)))
    P = PreferenceGP(random_state=0).fit(data).preference_matrix().probability
    sure = np.maximum(P, P.T)
    every = ComparableClusters(2, "svd", random_state=0).fit(data).preferences_
    for level in (0.5, 0.6, 0.75, float(sure[0, 1]), 1.0):
        found = ComparableClusters(2, "partial", abstention=level, random_state=0).fit(data).preferences_
        np.testing.assert_array_equal(found, np.where(sure >= level, every, 0.0))
    assert 0 < (sure < 0.6).sum() - 10 < 90, "the levels above leave out some pairs and not others"
    with pytest.raises(InvalidParameterError, match="'abstention' parameter"):
        ComparableClusters(2, "partial", abstention=0.4).fit(data)


@pytest.mark.parametrize("method", ["gpgp", "svd", "partial"])
def test_ties_are_no_obstacle(method):
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(8, 1)
    outcome = np.where(rng.random(len(first)) < 0.2, 0.0, 1.0)
    outcome[0] = -1.0
    data = Comparisons(rng.normal(size=(8, 2)), first, second, outcome)
    assert set(ComparableClusters(2, method, random_state=0).fit(data).labels_) == {0, 1}


def test_a_matrix_that_was_learned_before_is_clustered_as_if_learned_now():
    first, second = np.triu_indices(8, 1)
    same = (first < 4) == (second < 4)
    data = Comparisons(8, first[same], second[same])
    one = ComparableClusters(2, "svd", random_state=0).fit(data)
    other = ComparableClusters(2, "svd", random_state=0).fit_matrix(one.preferences_)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.ranks_, other.ranks_)
    with pytest.raises(ValueError, match="not antisymmetric"):
        ComparableClusters(2).fit_matrix(np.ones((3, 3)))
    with pytest.raises(ValueError, match="n_clusters=9, but there are 8 items"):
        ComparableClusters(9).fit_matrix(one.preferences_)


@pytest.mark.slow
@pytest.mark.parametrize("items", [8, np.linspace(0, 3, 8)[:, None]])
def test_groups_are_learned_where_a_verdict_did_not_need_circles(items):
    first, second = np.triu_indices(8, 1)
    found = rankability(Comparisons(items, first, second), screen=True, n_samples=10)
    assert set(found.models) == {"ranking"}
    np.testing.assert_array_equal(found.clusters(1).ranks_, np.arange(1, 9))
    assert found.clusters(2).n_clusters_ == 2


def grouped(labels, rng, noise):
    """Return preferences within groups by a utility, none across, and noise."""
    n = len(labels)
    f, E = rng.normal(size=n), np.triu(noise * rng.normal(size=(n, n)), 1)
    return np.where(labels[:, None] == labels, f[:, None] - f, 0.0) + E - E.T


@pytest.mark.parametrize("n_groups", slow_except([1, 2, 3, 4], 2))
def test_the_number_of_groups_is_the_one_that_explains_most(n_groups):
    labels = np.arange(40) % n_groups
    for seed in range(5):
        found = ComparableClusters(random_state=0).fit_matrix(grouped(labels, np.random.default_rng(seed), 0.2))
        assert found.n_clusters_ == n_groups
        assert len({*zip(labels, found.labels_, strict=True)}) == n_groups
        assert (found.explained_ > 0.9).all()


def test_circles_are_no_groups_and_have_no_ranking():
    angle = 2 * np.pi * np.arange(15) / 15
    found = ComparableClusters(random_state=0).fit_matrix(np.sin(angle[:, None] - angle))
    assert found.n_clusters_ == 1
    assert found.explained_ == pytest.approx([0], abs=1e-12)
    alone = ComparableClusters(3, random_state=0).fit_matrix(np.zeros((3, 3)))
    np.testing.assert_array_equal(alone.explained_, np.ones(3))


def test_what_a_ranking_explains_is_said_for_each_group():
    circle = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    f = np.array([3.0, 1.0, -4.0])
    G = np.block([[circle, np.zeros((3, 3))], [np.zeros((3, 3)), f[:, None] - f]])
    found = ComparableClusters(2, random_state=0).fit_matrix(G)
    np.testing.assert_allclose(found.explained_[found.labels_[[0, 3]]], [0, 1], atol=1e-12)


def test_equal_items_are_grouped_without_a_warning():
    # three kinds of items, of each four that are the same; only those of one kind are compared with a clear outcome
    labels = np.repeat([0, 1, 2], 4)
    G = np.zeros((12, 12))
    for label in range(3):
        members = np.flatnonzero(labels == label)
        G[members[0], members[1:]], G[members[1:], members[0]] = 2.0, -2.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ComparableClusters("auto", random_state=0).fit_matrix(G)
        ComparableClusters(7, random_state=0).fit_matrix(np.zeros((12, 12)))
    assert len(set(zip(found.labels_, labels, strict=True))) == 3
