"""Checks of the arguments that the public functions share."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["check_criterion", "check_k", "check_whole"]


def check_whole(value: Any, name: str, owner: str, least: int = 1) -> int:
    """Return a whole number of at least ``least``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"{owner}: {name} must be a whole number; got {value!r}.")
    if value < least:
        raise ValueError(f"{owner}: {name}={value}: it must be at least {least}.")
    return int(value)


def check_k(k: Any, n_items: int, owner: str) -> int:
    """Return k, of which at least one item of the pool must be outside."""
    k = check_whole(k, "k", owner)
    if k >= n_items:
        raise ValueError(
            f"{owner}: k={k}, but the pool has {n_items} items: all of them are the top {k}. Choose k below {n_items}."
        )
    return int(k)


def check_criterion(criterion: Any, k: Any, n_items: int, owner: str) -> int | None:
    """Return k for the criterion "top_k", None for "utilities"."""
    if criterion not in ("utilities", "top_k"):
        raise ValueError(f'{owner}: criterion must be "utilities" or "top_k"; got {criterion!r}.')
    if criterion == "utilities":
        return None
    if k is None:
        raise ValueError(f'{owner}: criterion="top_k" needs k, the number of best items that matter.')
    return check_k(k, n_items, owner)
