"""Whether judges fall into two camps of opposite tastes."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["two_camps"]

MOST_ASKED, OPPOSED = 200, 0.3  # judges whose tastes are compared; mean likeness within camps, less that across


def two_camps(model: Any) -> list[list[Any]]:
    """Return two camps of judges of opposite tastes, the larger first, if there are such, without those in between."""
    if not 2 < len(model.judges_) <= MOST_ASKED:
        return []
    taste = np.array([model.predict_utility(judge=name) for name in model.judges_])
    taste -= taste.mean(axis=1, keepdims=True)
    taste /= np.maximum(np.linalg.norm(taste, axis=1, keepdims=True), 1e-300)
    alike = taste @ taste.T
    side = np.where(np.linalg.eigh(alike)[1][:, -1] > 0, 1.0, -1.0)
    others = ~np.eye(len(side), dtype=bool)
    clear = np.mean(side * side[:, None] * alike, axis=1, where=others) >= OPPOSED
    one, other = clear & (side > 0), clear & (side < 0)
    if min(one.sum(), other.sum()) < 2 or alike[np.ix_(one, other)].mean() > -OPPOSED:
        return []
    return sorted((list(model.judges_[one]), list(model.judges_[other])), key=len, reverse=True)
