"""What to compare next, by the model that a ranking was made with."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.active import Suggestions, suggest
from preflearn.analysis.limits import LIMITS, Limits
from preflearn.data import Comparisons


def runs_in_circles(model: Any) -> bool:
    """Return whether a model has a part that no utility explains."""
    return getattr(model, "cyclic_kernel", None) is not None


def next_comparisons(
    model: Any,
    n: int,
    *,
    best: int | None = None,
    judges: list[str] | None = None,
    answered: Comparisons | None = None,
    limits: Limits = LIMITS,
    random_state: int = 0,
) -> Suggestions:
    """Return the comparisons that are expected to tell most, of the items that a model was fitted on.

    About all utilities, or about which are the ``best`` ones; where preferences run in circles about the preferences
    between two items (criterion "preferences").
    """
    asked: dict[str, Any] = {"judges": judges, "answered": answered, "random_state": random_state}
    if not runs_in_circles(model):
        return suggest(model, n=n, criterion="utilities" if best is None else "top_k", k=best, **asked)
    data: Comparisons = model.comparisons_
    used = data.used_items()
    if len(used) > limits.paired_items and hasattr(model, "predict_utility"):
        used = np.sort(used[np.argsort(-model.predict_utility()[used], kind="stable")[: limits.paired_items]])
        if answered is not None:
            inside = np.isin(answered.first, used) & np.isin(answered.second, used)
            asked["answered"] = answered[inside]
    names = used if data.names is None else data.names[used]
    return suggest(model, names, min(n, len(used) * (len(used) - 1) // 2), **asked)
