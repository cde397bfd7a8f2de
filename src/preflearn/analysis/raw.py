"""Places as they would be if sides and covariates were not held equal."""

from __future__ import annotations

import numpy as np

from preflearn.analysis.analyse import Analysis
from preflearn.analysis.ladder import fit_step, refined
from preflearn.models.ranking import Ranking
from preflearn.operators import IntArray

__all__ = ["ADJUSTING", "is_adjusted", "raw_places"]

ADJUSTING = ("side", "covariates")  # terms that are held equal when items are compared


def is_adjusted(analysis: Analysis) -> bool:
    """Return whether the chosen model holds a side or covariates equal."""
    return any(term in analysis.ladder.terms for term in ADJUSTING)


def raw_places(analysis: Analysis, ranking: Ranking, random_state: int = 0) -> IntArray:
    """Return the place of items in the ranking of the same model without sides and covariates.

    Parameters
    ----------
    analysis : Analysis
        Whose chosen model has such terms.
    ranking : Ranking
        By that model.
    random_state : int, default=0
        Seed of the starts.

    Returns
    -------
    ndarray (n_items,)
        1, 2, ..., in the order of the ranking.

    Notes
    -----
    Costs one more fit, unless that model was on the ladder.
    """
    terms = analysis.ladder.terms.without(*ADJUSTING)
    data, limits = analysis.data, analysis.limits
    step = next((one for one in analysis.ladder.steps if one.terms == terms), None)
    if step is None:
        step = fit_step(data, terms, None, random_state, limits)
    items = ranking.row if data.names is None else data.names[ranking.row]
    raw = refined(data, step, limits).model.rank(items, k=1, n_samples=1, random_state=random_state)
    places = np.empty(len(ranking), dtype=np.intp)
    places[raw.row] = raw.rank
    return places
