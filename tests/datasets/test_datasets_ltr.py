"""make_ltr: labels follow a known utility, groups matter, kernels have something to find."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from preflearn.datasets import make_ltr


def centred(values, qid):
    """Subtract group means."""
    counts = np.bincount(qid)
    if values.ndim == 1:
        return values - (np.bincount(qid, values) / counts)[qid]
    return np.column_stack([centred(column, qid) for column in values.T])


def share_explained(X, target):
    return LinearRegression().fit(X, target).score(X, target)


def concordance(truth, other, qid):
    """Share of within-group pairs, untied in both, on which the two agree."""
    agree = total = 0
    for group in np.unique(qid):
        a, b = truth[qid == group], other[qid == group]
        i, j = np.triu_indices(len(a), 1)
        sign = np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])
        agree, total = agree + (sign > 0).sum(), total + (sign != 0).sum()
    return agree / total


@pytest.mark.parametrize("seed", [3, np.int64(3)])
def test_one_seed_gives_one_data_set(seed):
    a, b = make_ltr(random_state=3), make_ltr(random_state=seed)
    for name in ("X", "y", "qid", "utility", "informative"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert not np.array_equal(a.X, make_ltr(random_state=4).X)


def test_generator_and_random_state_are_accepted_and_advance():
    generator, legacy = np.random.default_rng(0), np.random.RandomState(0)
    for source in (generator, legacy):
        assert not np.array_equal(make_ltr(5, random_state=source).X, make_ltr(5, random_state=source).X)
    again = make_ltr(5, random_state=np.random.RandomState(0))
    np.testing.assert_array_equal(again.X, make_ltr(5, random_state=np.random.RandomState(0)).X)
    np.testing.assert_array_equal(make_ltr(5, random_state=7).X, make_ltr(5, random_state=np.random.default_rng(7)).X)


def test_group_sizes_fill_the_range_asked_for():
    sizes = np.bincount(make_ltr(300, (3, 6), random_state=0).qid)
    assert set(sizes.tolist()) == {3, 4, 5, 6}
    assert set(np.bincount(make_ltr(30, 7, random_state=0).qid).tolist()) == {7}


def test_rows_are_drawn_alike_across_blocks():
    data = make_ltr(4000, 20, 3, group_shift=0.0, random_state=0)  # 80,000 rows: more than two blocks
    np.testing.assert_allclose(data.X[:30000].std(axis=0), 1.0, atol=0.02)
    np.testing.assert_allclose(data.X[-10000:].std(axis=0), 1.0, atol=0.03)
    assert np.unique(data.X[:, 0]).size == len(data.X)


def test_each_label_is_half_as_frequent_as_the_one_below():
    y = make_ltr(500, n_levels=4, random_state=0).y
    np.testing.assert_allclose(np.bincount(y.astype(int)) / len(y), np.array([8, 4, 2, 1]) / 15, atol=1e-3)


def test_without_noise_labels_never_contradict_the_utility():
    data = make_ltr(noise=0.0, random_state=1)
    order = np.argsort(data.utility)
    assert np.all(np.diff(data.y[order]) >= 0)


def test_noise_lowers_the_agreement_of_labels_and_utility():
    agreement = [
        concordance(data.utility, data.y, data.qid)
        for data in (make_ltr(noise=noise, random_state=2) for noise in (0.0, 0.4, 2.0))
    ]
    assert agreement[0] == 1.0
    assert 0.85 < agreement[1] < 0.99
    assert 0.6 < agreement[2] < agreement[1] - 0.1


@pytest.mark.parametrize("nonlinearity", [0.0, 0.2, 0.7, 1.0])
def test_nonlinearity_is_the_share_that_linear_functions_miss(nonlinearity):
    data = make_ltr(1500, nonlinearity=nonlinearity, group_shift=0.0, random_state=0)
    assert share_explained(data.X, data.utility) == pytest.approx(1.0 - nonlinearity, abs=0.03)
    assert data.utility.var() == pytest.approx(1.0, abs=0.05)
    assert data.utility.mean() == pytest.approx(0.0, abs=0.03)


def test_only_informative_features_matter_and_each_of_them_does():
    data = make_ltr(400, n_features=12, n_informative=3, nonlinearity=0.0, group_shift=0.0, random_state=5)
    coef = LinearRegression().fit(data.X, data.utility).coef_
    np.testing.assert_array_equal(np.flatnonzero(np.abs(coef) > 1e-8), data.informative)


def test_centring_by_group_recovers_a_direction_that_pooling_distorts():
    data = make_ltr(600, nonlinearity=0.0, random_state=0)
    within = LinearRegression().fit(centred(data.X, data.qid), centred(data.utility, data.qid))
    assert within.score(centred(data.X, data.qid), centred(data.utility, data.qid)) == pytest.approx(1.0)
    pooled = LinearRegression().fit(data.X, data.utility).coef_
    cosine = pooled @ within.coef_ / np.linalg.norm(pooled) / np.linalg.norm(within.coef_)
    assert cosine < 0.97
    alike = make_ltr(600, nonlinearity=0.0, group_shift=0.0, random_state=0)
    assert share_explained(alike.X, alike.utility) == pytest.approx(1.0)


def test_ratings_share_the_table():
    data = make_ltr(10, random_state=0)
    ratings = data.ratings
    assert np.shares_memory(ratings.items, data.X)
    np.testing.assert_array_equal(ratings.score, data.y)
    np.testing.assert_array_equal(ratings.group, data.qid)
    assert ratings.n_groups == 10


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"n_groups": 0}, ValueError, "n_groups must be a whole number of at least 1; got 0"),
        ({"n_groups": 2.5}, TypeError, "n_groups must be a whole number of at least 1; got 2.5"),
        ({"group_size": (5, 4)}, ValueError, r"group_size\[1\] must be a whole number of at least 5; got 4"),
        ({"group_size": (5, 6, 7)}, ValueError, r"whole number or \(low, high\)"),
        ({"n_levels": 1}, ValueError, "n_levels must be a whole number of at least 2"),
        ({"n_features": 3, "n_informative": 4}, ValueError, "n_informative must be a whole number from 1 to 3; got 4"),
        ({"nonlinearity": 1.1}, ValueError, "nonlinearity must be between 0 and 1"),
        ({"noise": float("nan")}, ValueError, "noise must be finite and at least 0; got nan"),
        ({"noise": "much"}, TypeError, "noise must be a number; got 'much'"),
        ({"random_state": -1}, ValueError, "random_state must be a whole number of at least 0"),
        ({"random_state": "x"}, TypeError, "random_state must be"),
    ],
)
def test_mistakes_are_named(arguments, kind, message):
    with pytest.raises(kind, match=message):
        make_ltr(**arguments)


def test_fewer_features_than_five_are_all_informative():
    np.testing.assert_array_equal(make_ltr(5, n_features=2, random_state=0).informative, [0, 1])
