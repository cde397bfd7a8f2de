"""make_sinc_preferences: the counts of the paper, disjoint points, true margins."""

from __future__ import annotations

import numpy as np
import pytest

from preflearn.datasets import make_sinc_preferences


def truth(comparisons):
    values = np.sinc(comparisons.items[:, 0])
    return values[comparisons.first] - values[comparisons.second]


def test_counts_are_those_of_the_paper():
    data = make_sinc_preferences(random_state=0)
    assert (data.train.n_comparisons, data.test.n_comparisons) == (379, 48)
    assert (data.train.n_items, data.test.n_items) == (1000, 338)
    np.testing.assert_array_equal(data.grid, np.linspace(-4, 4, 2000))
    np.testing.assert_allclose(data.sinc * np.pi * data.grid, np.sin(np.pi * data.grid), atol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_training_and_test_points_are_disjoint_points_of_the_grid(seed):
    data = make_sinc_preferences(random_state=seed)
    train, test, grid = (set(x.tolist()) for x in (data.train.items[:, 0], data.test.items[:, 0], data.grid))
    assert len(train) == 1000
    assert len(test) == 338
    assert not train & test
    assert train | test <= grid


def test_points_cover_the_interval_evenly():
    x = make_sinc_preferences(random_state=0).train.items[:, 0]
    counts = np.histogram(x, bins=8, range=(-4, 4))[0]
    assert counts.min() > 90
    assert counts.max() < 160


@pytest.mark.parametrize("margins", [True, False])
def test_outcomes_are_true_margins_or_their_signs(margins):
    data = make_sinc_preferences(margins=margins, random_state=1)
    for part in (data.train, data.test):
        expected = truth(part)
        np.testing.assert_array_equal(part.outcome, expected if margins else np.sign(expected))
        assert np.abs(expected).min() > 1e-9
    assert not data.flipped.any()


@pytest.mark.parametrize("margins", [True, False])
def test_flip_reverses_that_share_of_the_training_outcomes_only(margins):
    clean = make_sinc_preferences(margins=margins, random_state=2)
    noisy = make_sinc_preferences(margins=margins, flip=0.05, random_state=2)
    assert noisy.flipped.sum() == round(0.05 * 379)
    np.testing.assert_array_equal(noisy.train.outcome, np.where(noisy.flipped, -1, 1) * clean.train.outcome)
    np.testing.assert_array_equal(noisy.test.outcome, clean.test.outcome)
    np.testing.assert_array_equal(noisy.train.first, clean.train.first)


def test_pairs_are_distinct_and_sides_are_random():
    train = make_sinc_preferences(5000, random_state=0).train
    pairs = np.sort(np.column_stack([train.first, train.second]), axis=1)
    assert len(np.unique(pairs, axis=0)) == 5000
    assert 0.45 < (train.first < train.second).mean() < 0.55
    assert 0.45 < (train.outcome > 0).mean() < 0.55


def test_many_test_pairs_leave_out_mirrored_points_only():
    points = make_sinc_preferences(random_state=0).test.items[:, 0]
    gap = np.abs(np.sinc(points)[:, None] - np.sinc(points))[np.triu_indices(338, 1)]
    most = int((gap > 1e-9).sum())
    assert 338 * 337 // 2 - 100 < most < 338 * 337 // 2  # mirrored pairs do occur
    assert make_sinc_preferences(n_test_pairs=most, random_state=0).test.n_comparisons == most
    with pytest.raises(ValueError, match=rf"n_test_pairs is {most + 1}, but 338 points make {most} different pairs"):
        make_sinc_preferences(n_test_pairs=most + 1, random_state=0)


def test_one_seed_gives_one_data_set():
    a, b, c = (make_sinc_preferences(flip=0.1, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(a.train.outcome, b.train.outcome)
    np.testing.assert_array_equal(a.test.items, b.test.items)
    assert not np.array_equal(a.train.outcome, c.train.outcome)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_pairs": 0}, "n_pairs must be a whole number of at least 1"),
        ({"flip": 1.5}, "flip must be between 0 and 1"),
        ({"n_pairs": 10**6}, "n_pairs is 1000000, but 1000 points"),
    ],
)
def test_mistakes_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_sinc_preferences(random_state=0, **arguments)
