"""The search for hyperparameters where what is searched over depends on where the search is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from preflearn.inference.climb import climb
from preflearn.inference.evidence import Optimum, maximise, starts
from preflearn.models._evidence import Evidence, few_threads
from preflearn.models._gp_prior import by_functions, with_rest
from preflearn.operators import FloatArray, IntArray

__all__ = ["Starts", "search", "started"]

# A search with skew functions that lose this share of the variance, and are chosen anew where a log parameter of the
# cyclic part has changed by more than that.
LOST_IN_SEARCH, AWAY = 0.03, 0.2
FIRST, SHORT, LONGEST, MOST = 0.3, 1e-3, 1.0, 60  # its first, shortest and longest step, and evaluations
WORSE, GAIN = 0.5, 0.02  # nats that a step may lose, as other functions hold more or less, and that the last promises
TOL = 1e-5  # of a mode on the way
DEAR, LITTLE = 1_000, 0.01  # latents from which on any search ends with a step that gains so few nats

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
            gain = LITTLE if evidence.design.shape[1] > DEAR else 0.0
            return evidence, maximise(evidence.believed, *first, gain=gain)
    climbed = [_climb_on_functions(evidence, start, first.bounds, ends, rebuild) for start in first.points]
    climbed.sort(key=lambda one: -one[1].evidence)
    return climbed[0][0], [found for _, found in climbed]


def _climb_on_functions(
    evidence: Evidence, theta: FloatArray, bounds: FloatArray, ends: tuple[IntArray, IntArray], rebuild: Rebuild
) -> tuple[Evidence, Optimum]:
    """Climb by gradients, with functions chosen anew where a step leads away, and an effect of each pair.

    A search is content with fewer functions than the posterior, whose evidence at the end is the one returned.
    """
    cyclic = np.array(["cyclic" in name for name in evidence.names], dtype=bool)
    here, at = evidence, theta

    def evaluate(theta: FloatArray) -> tuple[float, FloatArray]:
        nonlocal here, at
        if here is evidence or np.abs(theta - at)[cyclic].max(initial=0.0) > AWAY:
            prior, likelihood = evidence.split(theta)
            rest, design = with_rest(prior, ends, LOST_IN_SEARCH)
            new = replace(evidence, prior=rest, likelihood=likelihood, design=design, tol=TOL, warm=None)
            new.warm = None if here is evidence else _as_warm(here, new)
            here, at = new, theta
        with few_threads(here.design.size):
            return here.believed(theta)

    first = np.full(theta.shape, FIRST)
    theta, slope, evaluations, done = climb(
        evaluate, theta, bounds, first, tol=SHORT, gain=GAIN, longest=LONGEST, worse=WORSE, most=MOST
    )
    whole = rebuild(*here.split(theta))  # what the posterior is over depends on nothing but the parameters
    if whole.inference == "laplace":
        whole.warm = _as_warm(here, whole)
    with few_threads(whole.design.size):
        value = whole.solve(theta).posterior.log_evidence + whole.hyperprior_gain(theta)[0]
    message = "the next step promises next to nothing" if done else f"stopped after {evaluations} evaluations"
    return whole, Optimum(theta, value, slope, evaluations, done, message)


def _as_warm(old: Evidence, new: Evidence) -> Any:
    """Return a warm start over other latents: the same parts of all statements, or the same sums over each pair."""
    if new.inference == "ep":
        return old.warm
    pair, sums = old.design.A.pair, old.warm[0][old.design.size :]
    return new.design.AT @ (sums / np.bincount(pair))[pair], None
