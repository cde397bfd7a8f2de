"""The search for parameters of circles by skew functions, which are chosen anew as it moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from preflearn.inference.evidence import Evidence, Starts
from preflearn.inference.search import Optimum, quasi_newton
from preflearn.linalg import few_threads
from preflearn.models._gp_read import Statements
from preflearn.models._gp_terms import Choice
from preflearn.operators import FloatArray

__all__ = ["search_by_functions"]

# A search with skew functions that lose this share of the variance, and are chosen anew where a log parameter of the
# circles has changed by more than that.
LOST_IN_SEARCH, AWAY = 0.03, 0.2
FIRST, SHORT, LONGEST, MOST = 0.3, 1e-3, 1.0, 60  # its first, shortest and longest step, and evaluations
WORSE, GAIN = 0.5, 0.02  # nats that a step may lose, as other functions hold more or less, and that the last promises
TOL = 1e-5  # of a mode on the way


def search_by_functions(
    choice: Choice, data: Statements, rebuild: Any, evidence: Evidence, first: Starts
) -> tuple[Evidence, list[Optimum]]:
    """Search from every start; return the evidence that was searched and all optima, the highest first.

    Skew functions are chosen for some parameters: for every start its own, and anew where a search ends far away.
    ``rebuild`` returns the evidence of the same comparisons for a choice and a likelihood.
    """
    found = [_search_from(choice, data, rebuild, evidence, start, first.bounds) for start in first.points]
    found.sort(key=lambda one: -one[1].evidence)
    return found[0][0], [optimum for _, optimum in found]


def _search_from(
    choice: Choice, data: Statements, rebuild: Any, evidence: Evidence, theta: FloatArray, bounds: FloatArray
) -> tuple[Evidence, Optimum]:
    """Search by gradients, with functions chosen anew where a step leads away, and an effect of each pair.

    A search is content with fewer functions than the posterior, whose evidence at the end is the one returned.
    """
    n = 0 if choice.utility is None else len(choice.utility.parameters)
    circles = slice(n, n + len(choice.circles.parameters))  # type: ignore[union-attr]
    here, at = evidence, theta

    def evaluate(theta: FloatArray) -> tuple[float, FloatArray]:
        nonlocal here, at
        if here is evidence or np.abs(theta - at)[circles].max(initial=0.0) > AWAY:
            problem, likelihood = evidence.split(theta)
            here = here.over(choice.at(problem).with_rest(data, LOST_IN_SEARCH), likelihood, tol=TOL)
            at = theta
        with few_threads(here.order):
            return here.penalised(theta)

    first = np.full(theta.shape, FIRST)
    found = quasi_newton(evaluate, theta, bounds, first, tol=SHORT, gain=GAIN, longest=LONGEST, worse=WORSE, most=MOST)
    problem, likelihood = here.split(found.theta)
    # what the posterior is over depends on nothing but the parameters
    whole: Evidence = rebuild(choice.at(problem), likelihood)
    whole.warm = here.over(whole.problem, likelihood, tol=whole.method.tol).warm
    with few_threads(whole.order):
        value = whole.solve(found.theta).posterior.log_evidence + whole.hyperprior_gain(found.theta)[0]
    return whole, replace(found, evidence=value)
