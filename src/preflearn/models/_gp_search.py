"""The search for hyperparameters where what is searched over depends on where the search is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from preflearn.inference.evidence import Optimum, maximise
from preflearn.models._evidence import Evidence
from preflearn.models._gp_prior import outgrown, with_functions
from preflearn.operators import FloatArray, IntArray
from preflearn.priors import SkewBasisPrior

__all__ = ["search"]

REBASED = 4  # times that a search goes on with skew functions chosen anew


def search(
    evidence: Evidence,
    first: list[FloatArray],
    ends: tuple[IntArray, IntArray],
    rebuild: Callable[[Any, Any], Evidence],
) -> tuple[Evidence, list[Optimum]]:
    """Climb from every start; return the evidence that was climbed and all optima, the highest first.

    Skew functions are chosen for some parameters: for every start its own, and anew where a search ends far away.
    ``rebuild`` returns the evidence of the same comparisons for a prior and a likelihood.
    """
    bounds = evidence.bounds
    if not isinstance(evidence.prior, SkewBasisPrior):
        return evidence, maximise(evidence.believed, first, bounds)
    climbed = []
    for start in first:
        prior, likelihood = evidence.split(start)
        at_start, design = with_functions(prior.utility, prior.cyclic, prior.n_items, ends)
        here = replace(evidence, prior=at_start, likelihood=likelihood, design=design, warm=None)
        found = maximise(here.believed, [start], bounds)[0]
        for _ in range(REBASED):
            if not outgrown(here.prior, found.theta, ends):
                break
            here = rebuild(*here.split(found.theta))
            found = maximise(here.believed, [found.theta], bounds)[0]
        climbed.append((here, found))
    climbed.sort(key=lambda one: -one[1].evidence)
    return climbed[0][0], [found for _, found in climbed]
