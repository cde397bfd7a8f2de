"""Honest uncertainty, in small: on problems drawn from the prior, intervals cover what they say and P(best) is true."""

import numpy as np
import pytest

from fast_share import thorough
from preflearn.metrics import expected_calibration_error
from preflearn.reproduce import reproduce
from preflearn.reproduce.studies import uncertainty


def test_calibration_errors_of_counts_are_those_of_all_answers():
    rng = np.random.default_rng(0)
    p = rng.random((5, 200))
    p[0, :20] = 0.5
    outcome = np.sign(p**2 - rng.random(p.shape))
    right = np.where(p == 0.5, 0.5, (p > 0.5) == (outcome > 0))
    counts = [uncertainty.counted(np.maximum(q, 1 - q), r, "outcomes") for q, r in zip(p, right, strict=True)]
    expected = expected_calibration_error(outcome.ravel(), p.ravel())
    assert uncertainty.calibration_error(counts, 200) == pytest.approx(expected, abs=1e-7)


@thorough
@pytest.mark.slow
def test_intervals_cover_and_probabilities_come_true(tmp_path):
    found = reproduce("uncertainty", tmp_path, repeats=40)
    for inference in ("EP", "Laplace"):
        row = f"known, {inference}, 60 comparisons"
        for level in uncertainty.LEVELS:
            cell = found.cell(row, f"{level:g}")
            assert cell.error < 0.035  # forty problems must be enough to say something
            assert abs(cell.mean - level) <= 0.03 + 3 * cell.error, (inference, level)
        # chance alone gives about 0.05 with the best of ten items in forty problems, and 0.02 with 4,000 outcomes
        assert found.cell(row, "best").mean < 0.08
        assert found.cell(row, "outcomes").mean < 0.04
