"""The search for hyperparameters where what is searched over depends on where the search is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from preflearn.inference.evidence import Optimum, maximise, starts
from preflearn.models._evidence import Evidence, few_threads
from preflearn.models._gp_prior import by_functions, fineness, with_rest
from preflearn.operators import FloatArray, IntArray

__all__ = ["Starts", "search", "started"]

REBASED = 10  # times that a search goes on with skew functions chosen anew
LOST_IN_SEARCH = 0.03  # share of the variance that these may lose
OUTGROWN = 1.2  # times what functions chosen anew would lose that those of a search may lose where it ends
GAIN, TOL = 0.05, 1e-5  # nats of a step that end a search with functions, which lose more; and of the mode in it
NEAR = 0.1  # first step of a search that goes on

Rebuild = Callable[[Any, Any], Evidence]


class Starts(NamedTuple):
    """Log parameters from which to climb, and within which bounds."""

    points: list[FloatArray]
    bounds: FloatArray


def started(model: Any, evidence: Evidence, start: Mapping[str, Any] | None, rng: Any, *, hold: bool) -> Starts:
    """Return the log parameters of an evidence, with those that ``start`` names replaced by its values, and others.

    With ``hold`` what ``start`` names stays there.
    """
    if not isinstance(hold, (bool, np.bool_)):
        raise TypeError(f"fit: hold is {hold!r}; it must be True or False.")
    if start is not None and not isinstance(start, Mapping):
        raise TypeError(
            f"fit: start is a {type(start).__name__}; give names and values, such as "
            "dict(zip(model.theta_names_, np.exp(model.theta_)))."
        )
    if start is not None and model.hyperparameters == "fixed":
        raise ValueError(
            'fit: start is where a search starts, and hyperparameters="fixed" is none. Give the kernel these values.'
        )
    if hold and not start:
        raise ValueError("fit: hold=True holds the parameters that start names; give start as well.")
    theta, bounds, names = evidence.theta, evidence.bounds, evidence.names
    for name, value in (start or {}).items():
        if name not in names:
            raise ValueError(f'fit: start has "{name}", which is not one of the free parameters ({", ".join(names)}).')
        if isinstance(value, (bool, np.bool_)) or not (isinstance(value, Real) and 0 < float(value) < np.inf):
            raise ValueError(
                f'fit: start has {value!r} for "{name}"; it must be a positive number (not its logarithm).'
            )
        place = names.index(name)
        low, high = bounds[place]
        theta[place] = np.clip(np.log(float(value)), low, high)
        if hold:
            if abs(theta[place] - np.log(float(value))) > 1e-9:
                raise ValueError(
                    f'fit: hold=True with {float(value):g} for "{name}", which is outside its bounds '
                    f"({np.exp(low):g} to {np.exp(high):g}). Give a value within them, or a kernel with wider bounds."
                )
            bounds[place] = theta[place]
    return Starts(starts(theta, bounds, model.n_restarts, rng), bounds)


def search(
    evidence: Evidence,
    first: Starts,
    ends: tuple[IntArray, IntArray],
    rebuild: Rebuild,
) -> tuple[Evidence, list[Optimum]]:
    """Climb from every start; return the evidence that was climbed and all optima, the highest first.

    Skew functions are chosen for some parameters: for every start its own, and anew where a search ends far away.
    ``rebuild`` returns the evidence of the same comparisons for a prior and a likelihood.
    """
    if not by_functions(evidence.prior):
        with few_threads(evidence.design.size):
            return evidence, maximise(evidence.believed, *first)
    climbed = [_climb_on_functions(evidence, start, first.bounds, ends, rebuild) for start in first.points]
    climbed.sort(key=lambda one: -one[1].evidence)
    return climbed[0][0], [found for _, found in climbed]


def _climb_on_functions(
    evidence: Evidence, theta: FloatArray, bounds: FloatArray, ends: tuple[IntArray, IntArray], rebuild: Rebuild
) -> tuple[Evidence, Optimum]:
    """Climb with functions chosen at the start and an effect of each pair, choose others at the end and go on.

    A search is content with fewer functions than the posterior, whose evidence at the end is the one returned.
    """
    little = LOST_IN_SEARCH * fineness(ends)

    def chosen(theta: FloatArray) -> Evidence:
        prior, likelihood = evidence.split(theta)
        rest, design = with_rest(prior, ends, LOST_IN_SEARCH)
        return replace(evidence, prior=rest, likelihood=likelihood, design=design, tol=TOL, warm=None)

    def lost(there: Evidence, theta: FloatArray) -> float:
        prior = there.split(theta)[0]
        return 1.0 - float(prior.kept_share(prior.pairs))

    evaluations, step, here = 0, 1.0, chosen(theta)
    for _ in range(REBASED):
        with few_threads(here.design.size):
            found = maximise(here.believed, [theta], bounds, gain=GAIN, step=step)[0]
        evaluations += found.evaluations
        theta, step, before = found.theta, NEAR, here
        here = chosen(theta)
        if lost(before, theta) <= OUTGROWN * max(lost(here, theta), little):
            break
    here = rebuild(*here.split(theta))  # what the posterior is over depends on nothing but the parameters
    if here.inference == "laplace":  # start where the search was, as near as the same sums over each pair
        pair, sums = before.design.A.pair, before.warm[0][before.design.size :]
        here.warm = here.design.AT @ (sums / np.bincount(pair))[pair], None
    with few_threads(here.design.size):
        value = here.solve(theta).posterior.log_evidence + here.hyperprior_gain(theta)[0]
    return here, replace(found, evidence=value, evaluations=evaluations)
