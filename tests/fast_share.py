"""Shares of tests: which parameters are part of the fast suite, and how many random cases are tried."""

import os
from collections.abc import Iterable
from typing import Any

import pytest

THOROUGH = os.environ.get("PREFLEARN_THOROUGH", "") not in ("", "0")


def mostly_slow(values: Iterable[Any], every: int) -> list[Any]:
    """Return the values as parameters, all but the first of each ``every`` marked slow."""
    return [pytest.param(v, marks=pytest.mark.slow if k % every else ()) for k, v in enumerate(values)]


def cases(few: int, many: int) -> int:
    """Return how many random cases to try: a few, or with ``make test-thorough`` as many as ever broke something."""
    return many if THOROUGH else few


# Of tests that count something over many simulated data sets: what they find belongs to docs/results.md.
thorough = pytest.mark.skipif(not THOROUGH, reason="counted over many data sets by make test-thorough")
