"""Log loss and calibration: against sums written out, and whatever side an item is on."""

import numpy as np
import pytest

from preflearn.exceptions import DataWarning
from preflearn.metrics import calibration_curve, comparison_log_loss, expected_calibration_error


@pytest.fixture
def judged():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=500)
    outcome = np.where(rng.uniform(size=500) < p, 1.0, -1.0)
    outcome[::50] = 0.0
    return outcome, p, rng.integers(1, 4, 500)


def test_log_loss_is_the_sum_written_out(judged):
    outcome, p, weight = judged
    total = 0.0
    for y, q, w in zip(outcome, p, weight, strict=True):
        won = {1.0: 1.0, -1.0: 0.0, 0.0: 0.5}[y]
        total -= w * (won * np.log(q) + (1 - won) * np.log(1 - q))
    assert comparison_log_loss(outcome, p, sample_weight=weight) == pytest.approx(total / weight.sum())
    assert comparison_log_loss([1], [0.0]) == np.inf
    assert comparison_log_loss([1], [1.0]) == 0.0


def test_calibration_is_the_sum_written_out(judged):
    outcome, p, weight = judged
    error = 0.0
    both = [(q, (1 + y) / 2, w) for y, q, w in zip(outcome, p, weight, strict=True)]
    both += [(1 - q, 1 - won, w) for q, won, w in both]
    for low in np.arange(10) / 10:
        inside = [row for row in both if low <= row[0] < low + 0.1]
        mass = sum(w for *_, w in inside)
        error += abs(sum(w * (q - won) for q, won, w in inside)) if mass else 0.0
    expected = error / sum(w for *_, w in both)
    assert expected_calibration_error(outcome, p, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


def test_sides_and_repeats_do_not_matter(judged):
    outcome, p, weight = judged
    for metric in (comparison_log_loss, expected_calibration_error):
        value = metric(outcome, p, sample_weight=weight)
        assert metric(-outcome, 1 - p, sample_weight=weight) == pytest.approx(value, abs=1e-12)
        assert metric(np.repeat(outcome, weight), np.repeat(p, weight)) == pytest.approx(value, abs=1e-12)


def test_true_probabilities_are_calibrated_and_overconfident_ones_are_not():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=20_000)
    outcome = np.where(rng.uniform(size=20_000) < p, 1, -1)
    assert expected_calibration_error(outcome, p) < 0.012
    sharpened = np.where(p > 0.5, 0.95, 0.05)
    assert expected_calibration_error(outcome, sharpened) > 0.15
    curve = calibration_curve(outcome, p, n_bins=5)
    assert curve.weight.sum() == pytest.approx(1)
    assert curve.n_seen.sum() == 40_000


@pytest.mark.parametrize("metric", [comparison_log_loss, calibration_curve, expected_calibration_error])
@pytest.mark.parametrize("outcome", [[0, 1, 1], [True, False, True], [0.0, 0.5, 1.0]])
def test_zero_for_lost_is_noticed(metric, outcome):
    with pytest.warns(DataWarning, match=f"{metric.__name__}: outcome has only .* 0 .*pass 2 . outcome - 1") as caught:
        metric(outcome, [0.5, 0.6, 0.7])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    metric([0, 1, -1], [0.5, 0.6, 0.7])
    metric([1, 1, 1], [0.5, 0.6, 0.7])
    metric([0, 0, 0], [0.5, 0.6, 0.7])


@pytest.mark.parametrize("metric", [comparison_log_loss, expected_calibration_error])
def test_what_is_no_probability_is_refused(metric):
    with pytest.raises(ValueError, match="not between 0 and 1"):
        metric([1, -1], [0.5, 1.5])
    with pytest.raises(ValueError, match="values nan"):
        metric([1, -1], [0.5, np.nan])
    with pytest.raises(ValueError, match="2"):
        metric([1, -1], [0.5])
