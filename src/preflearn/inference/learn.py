"""From an evidence to what was learned: a search, an average if wanted, and the solution at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from preflearn.exceptions import DataError
from preflearn.inference.average import HyperPosterior, average
from preflearn.inference.evidence import Evidence, Solution, numbers
from preflearn.inference.search import Optimum, climb, maximise
from preflearn.inference.threads import few_threads
from preflearn.operators import FloatArray

__all__ = [
    "Learned",
    "Search",
    "Starts",
    "check_optima",
    "check_points",
    "check_theta",
    "climb_evidence",
    "learn",
    "learned_again",
    "maximise_evidence",
]

MANY_LATENTS, LITTLE = 1_000, 0.01  # latents from which a search ends with a step that gains so few nats
FIRST_STEP, LONGEST_STEP = 0.3, 2.0  # in a log parameter at the start of a search by gradients
# Its shortest step, and the nats that the last one promises: where gradients are exact, and where they are estimated.
EXACT, ESTIMATED = (3e-6, 1e-16), (0.005, 1e-3)

Search = Callable[[Evidence, "Starts"], tuple[Evidence, list[Optimum]]]


class Starts(NamedTuple):
    """Log parameters from which to search, and within which bounds."""

    points: list[FloatArray]
    bounds: FloatArray


@dataclass(frozen=True)
class Learned:
    """What was learned: parameters, the solution there, and the solutions that are averaged over, with weights."""

    evidence: Evidence = field(repr=False)
    theta: FloatArray
    optima: list[Optimum]
    solution: Solution = field(repr=False)
    mixture: list[tuple[float, Solution]] = field(repr=False)
    points: HyperPosterior | None = None

    def state(self) -> dict[str, Any]:
        """Return what `learned_again` needs, as data: numbers and arrays, and no matrix."""
        solutions = [self.solution] if self.points is None else [self.solution, *(s for _, s in self.mixture)]
        reliability = self.evidence.reliability
        return {
            "theta": self.theta,
            "optima": self.optima,
            "hyperposterior": self.points,
            "solutions": [solution.kept() for solution in solutions],
            "warm": self.evidence.warmth(),
            "reliability": None if reliability is None else reliability.value,
        }


def maximise_evidence(evidence: Evidence, first: Starts) -> tuple[Evidence, list[Optimum]]:
    """Search from every start; return the evidence and all optima, the highest first.

    Reliabilities, where there are any, are searched for together with the parameters. Where gradients are estimated
    the search goes by these alone.
    """
    if evidence.problem.estimated:
        return climb_evidence(evidence, first)
    with few_threads(evidence.order):
        gain = LITTLE if evidence.problem.n_latents > MANY_LATENTS else 0.0
        if evidence.reliability is None:
            return evidence, maximise(evidence.believed, *first, gain=gain)
        s = evidence.reliability.value
        n = first.bounds.shape[0]
        bounds = np.concatenate([first.bounds, np.tile([-np.inf, np.inf], (len(s), 1))])
        starts = [np.concatenate([point, s]) for point in first.points]
        found = maximise(evidence.believed_together, starts, bounds, gain=gain, max_evaluations=2_000)
        # reversed utilities with reversed judges are as likely, but for the prior: a search may end at these
        best = found[0].theta
        turned = np.concatenate([best[:n], -best[n:]])
        found += maximise(evidence.believed_together, [turned], bounds, gain=gain, max_evaluations=2_000)
        found.sort(key=lambda one: -one.evidence)
        evidence.reliability = evidence.reliability.at(found[0].theta[n:])
        return evidence, [replace(one, theta=one.theta[:n], gradient=one.gradient[:n]) for one in found]


def climb_evidence(
    evidence: Evidence, first: Starts, bend: Callable[[Solution], FloatArray] | None = None
) -> tuple[Evidence, list[Optimum]]:
    """Search from the first start by gradients alone: few evaluations, and none of the evidence itself but the last.

    ``bend`` says roughly how the gradient falls with each parameter, given the solution at the start.
    """
    exact = not evidence.problem.estimated
    tol, gain = EXACT if exact else ESTIMATED
    rough = evidence if exact else evidence.over(evidence.problem.rough(), evidence.likelihood)
    with few_threads(evidence.order):
        start = np.clip(first.points[0], *first.bounds.T)
        here = rough.slope(start)
        step = np.full(start.shape, FIRST_STEP)
        if bend is not None and rough.searched is not None:
            step = np.minimum(np.abs(here) / np.maximum(bend(rough.searched[1]), 1e-6), LONGEST_STEP)
        x, slope, evaluations, done = climb(
            lambda theta: (np.nan, here if np.array_equal(theta, start) else rough.slope(theta)),
            start,
            first.bounds,
            step,
            tol=tol,
            gain=gain,
        )
        if not exact:  # draws of the same noise: a start for more of them
            evidence.warm = rough.warm
        value = evidence.end_search(x).posterior.log_evidence + evidence.hyperprior_gain(x)[0]
    message = "the next step promises next to nothing" if done else f"stopped after {evaluations} evaluations"
    return evidence, [Optimum(x, value, slope, evaluations, done, message)]


def learn(
    evidence: Evidence,
    first: Starts | None,
    *,
    n_points: int = 0,
    seed: int = 0,
    points: HyperPosterior | None = None,
    search: Search = maximise_evidence,
) -> Learned:
    """Search from the given starts (None: stay), average over ``n_points`` if any, and infer.

    ``points`` are those of an earlier average, which is kept.
    """
    theta = evidence.theta
    optima: list[Optimum] = []
    if first is not None and (theta.shape[0] or evidence.reliability is not None):
        evidence, optima = search(evidence, first)
        theta = optima[0].theta
    with few_threads(evidence.order):
        if optima:
            if n_points and theta.shape[0]:
                assert first is not None
                points = average(evidence.believed, optima, first.bounds, n_points, seed)
            evidence.settle()
        solution = evidence.solve(theta)
        mixture = [(1.0, solution)]
        if points is not None:
            mixture = [(float(w), evidence.solve(t)) for w, t in zip(points.weight, points.theta, strict=True)]
    return Learned(evidence, theta, optima, solution, mixture, points)


def learned_again(evidence: Evidence, state: dict[str, Any]) -> Learned:
    """Return what was learned from its `Learned.state`; DataError or another error if parts do not belong together."""
    theta = check_theta("theta", state["theta"], evidence.names)
    kept = state["reliability"]
    if (kept is None) != (evidence.reliability is None):
        raise DataError("there are reliabilities where the parameters speak of none, or the other way round")
    if evidence.reliability is not None:
        if numbers(kept, "reliabilities").shape != evidence.reliability.value.shape:
            raise DataError("the reliabilities are not those of the judges")
        evidence.reliability = evidence.reliability.at(kept)
    points = check_points(state["hyperposterior"], evidence.names)
    every = [theta] if points is None else [theta, *points.theta]
    with few_threads(evidence.order):
        found = [evidence.again(one, part) for one, part in zip(every, state["solutions"], strict=True)]
    evidence.warm_again(state["warm"], found)
    mixture = [(1.0, found[0])]
    if points is not None:
        mixture = [(float(w), s) for w, s in zip(points.weight, found[1:], strict=True)]
    return Learned(evidence, theta, check_optima(state["optima"], theta.shape), found[0], mixture, points)


def check_theta(owner: str, theta: Any, names: tuple[str, ...]) -> FloatArray:
    """Return log parameters as an array of one number for each name."""
    try:
        given = np.asarray(theta, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.full(1, np.nan)
    if given.shape != (len(names),) or not (np.abs(given) < 300).all():
        raise ValueError(
            f"{owner}: theta must be {len(names)} finite numbers below 300 in size, the logarithms of "
            f"{', '.join(names) or 'nothing (no parameter is free)'}; got {theta!r}."
        )
    return given


def check_points(points: Any, names: tuple[str, ...]) -> HyperPosterior | None:
    """Return the points of an average, or None where there are none; raise where they are not of these parameters."""
    if points is None:
        return None
    if not isinstance(points, HyperPosterior) or numbers(points.weight, "weights").ndim != 1:
        raise DataError("the points of the hyperparameters are no points")
    if np.shape(points.theta) != (*points.weight.shape, len(names)):
        raise DataError("there are other points than weights")
    if points.weight.min(initial=1.0) < 0 or abs(points.weight.sum() - 1.0) > 1e-6:
        raise DataError("the weights of the points do not sum to 1")
    for theta in points.theta:
        check_theta("theta", theta, names)
    return points


def check_optima(optima: Any, shape: tuple[int, ...]) -> list[Optimum]:
    """Return the optima of a search, or raise where they are not of so many parameters."""
    for one in optima:
        if not isinstance(one, Optimum) or np.shape(one.theta) != shape or np.shape(one.gradient) != shape:
            raise DataError("an optimum is not one of these parameters")
    return list(optima)
