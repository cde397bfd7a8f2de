"""Gradients of the evidence against fourth-order differences: within 1e-8, through the estimator, at its tolerances."""

import evidence_gradients
import pytest
from evidence_gradients import COMBINATIONS, KERNELS

from fast_share import cases, slow_except


@pytest.mark.parametrize("kernel", slow_except(KERNELS, "RBF, ARD", "no features"))
@pytest.mark.parametrize(("likelihood", "inference"), COMBINATIONS)
def test_gradients_of_the_evidence(likelihood, kernel, inference):
    # weights, some below 1
    assert evidence_gradients.error(1, likelihood, kernel, inference) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(("likelihood", "inference"), COMBINATIONS)
def test_gradients_of_the_evidence_on_many_problems(likelihood, inference):
    for seed in [0, *range(2, cases(2, 12))]:
        for kernel in KERNELS:
            assert evidence_gradients.error(seed, likelihood, kernel, inference) < 1e-8, (kernel, seed)
