"""Parameters of a test of which every so-many-th is part of the fast suite, and all of the whole one."""

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_slow(values: Iterable[Any], every: int) -> list[Any]:
    """Return the values as parameters, all but the first of each ``every`` marked slow."""
    return [pytest.param(v, marks=pytest.mark.slow if k % every else ()) for k, v in enumerate(values)]
