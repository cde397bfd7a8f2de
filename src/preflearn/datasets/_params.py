"""What the makers accept: sources of randomness, counts and numbers in a range."""

from __future__ import annotations

import math
import numbers
from typing import TypeAlias

import numpy as np

from preflearn.data.fields import check_count

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator for None, an int, a Generator or a RandomState."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1, size=4))
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(check_count(random_state, "random_state", "preflearn.datasets", low=0))


def check_number(value: object, name: str, owner: str, *, low: float = 0.0, high: float = math.inf) -> float:
    """Return ``value`` as a finite float in [low, high] or say what is wrong."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{owner}: {name} must be a number; got {value!r}.")
    number = float(value)
    if not (math.isfinite(number) and low <= number <= high):
        limit = f"finite and at least {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
        raise ValueError(f"{owner}: {name} must be {limit}; got {value!r}.")
    return number
