"""Clusters of items without features: what the default cannot do is said, and what is advised works."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import ConstantKernel

from preflearn import Comparisons, PreferenceGP
from preflearn.exceptions import DataError
from preflearn.structure import ComparableClusters, rankability


@pytest.mark.filterwarnings("ignore:.*separate parts")
def test_items_without_features_are_clustered_as_the_message_says():
    first, second = np.triu_indices(8, 1)
    same = (first < 4) == (second < 4)
    data = Comparisons(8, first[same], second[same], weight=np.full(12, 5.0))
    with pytest.raises(DataError, match=r'no features.*method="svd" or "partial".*cyclic_kernel=ConstantKernel\(\)'):
        ComparableClusters(2).fit(data)
    model = PreferenceGP(cyclic_kernel=ConstantKernel(), hyperparameters="fixed")
    for options in ({"method": "svd"}, {"method": "partial"}, {"model": model}):
        found = ComparableClusters(2, random_state=0, **options).fit(data)
        assert found.ranks_.tolist() == [1, 2, 3, 4, 1, 2, 3, 4]


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


def test_groups_need_circles_that_were_learned():
    first, second = np.triu_indices(8, 1)
    data = Comparisons(8, first, second)
    with pytest.raises(ValueError, match="without screen=True"):
        rankability(data, screen=True, n_samples=10).clusters()
    np.testing.assert_array_equal(rankability(data, n_samples=10).clusters(1).ranks_, np.arange(1, 9))
