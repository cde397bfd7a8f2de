"""What to compare next, by the model that a ranking was made with."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.active import Suggestions, suggest
from preflearn.active._outcome_information import information
from preflearn.analysis.analyse import Analysis, analyse
from preflearn.analysis.ladder import refined
from preflearn.analysis.limits import LIMITS, Limits
from preflearn.data import Comparisons


def runs_in_circles(model: Any) -> bool:
    """Return whether a model has a part that no utility explains."""
    return getattr(model, "cyclic_kernel", None) is not None


def model_to_ask(data: Comparisons, model: Any, analysis: Analysis | None = None, *, random_state: int = 0) -> Any:
    """Return the model that says what to compare next: ``model``, or the best without judges and clusters.

    What an outcome by a judge, or about a prompt, tells about what all share is not worked out.
    """
    if getattr(model, "judge_kernel", None) is None and not (model.judge_reliability or model.cluster):
        return model
    unnamed = data._take(slice(None), judge=None, judges=None, cluster=None)
    known = {"reliability", "tastes", "clusters", "circles"}
    tried = [] if analysis is None else analysis.ladder.ordered
    steps = [one for one in tried if not known & set(one.terms.beside)]
    if not steps:
        return analyse(unnamed, circles=False, again=True, random_state=random_state).model
    return refined(unnamed, steps[0]).model


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

    About all utilities, or about which are the ``best`` ones; where preferences run in circles about the preference
    between the two items alone (criterion "preference"), as an outcome then says little about other pairs.

    Examples
    --------
    >>> from preflearn import BradleyTerry, Comparisons
    >>> model = BradleyTerry(prior=1.0).fit(Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "dee"]))
    >>> print(next_comparisons(model, 1))
    first  second    gain
    cy     dee     0.1365
    """
    if not runs_in_circles(model):
        return suggest(
            model,
            n=n,
            criterion="utilities" if best is None else "top_k",
            k=best,
            judges=judges,
            answered=answered,
            random_state=random_state,
        )
    data: Comparisons = model.comparisons_
    used = data.used_items()
    if len(used) > limits.paired_items:
        used = np.sort(used[np.argsort(-model.predict_utility()[used], kind="stable")[: limits.paired_items]])
    names = used if data.names is None else data.names[used]
    found = model.preference_matrix(names)
    low, high = np.triu_indices(len(used), 1)
    gain = information(model.likelihood_, found.mean[low, high], np.square(found.std[low, high]))
    top = np.argsort(-gain, kind="stable")[:n]
    low, high = low[top], high[top]
    return Suggestions(used[low], used[high], names[low], names[high], gain[top], None, "preference")
