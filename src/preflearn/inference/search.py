"""The search for parameters: the maximum of the evidence from several starts, every optimum kept, and a weak prior.

Where values are exact, L-BFGS-B (`maximise`); where they are costly, or noisy, quasi-Newton steps that use gradients
alone (`quasi_newton`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr

from preflearn.operators import FloatArray

FAILED = 100.0  # nats below the highest value: what an evidence that is not finite counts as
STALLED_GAIN, STALLED_STEPS = 0.01, 3  # a search that gains fewer nats in so many iterations has stalled
NEAR = 1.0  # nats below a known optimum from which a start is followed no further if it leads there

Evidence = Callable[[FloatArray], tuple[float, FloatArray]]


@dataclass(frozen=True)
class HyperPrior:
    """Independent normal priors of log parameters, between their bounds; an infinite deviation is a uniform one."""

    centre: FloatArray  # (n_theta,)
    spread: FloatArray

    def gain(self, theta: FloatArray, bounds: FloatArray) -> tuple[float, FloatArray]:
        """Return log density and gradient relative to the uniform prior between the bounds, as added to a log evidence.

        Parameters whose bounds are equal have no density and add nothing.
        """
        proper = (bounds[:, 1] > bounds[:, 0]) & np.isfinite(self.spread)
        (low, high), centre, spread = bounds[proper].T, self.centre[proper], self.spread[proper]
        r = (theta[proper] - centre) / spread
        inside = ndtr((high - centre) / spread) - ndtr((low - centre) / spread)
        density = -0.5 * r**2 - np.log(spread * np.sqrt(2 * np.pi) * inside)
        slope = np.zeros(theta.shape[0])
        slope[proper] = -r / spread
        return float(np.sum(density + np.log(high - low))), slope


@dataclass(frozen=True)
class Optimum:
    """Where one start ended: log parameters, evidence, its gradient there, evaluations, and how it ended."""

    theta: FloatArray
    evidence: float
    gradient: FloatArray
    evaluations: int
    converged: bool
    message: str

    def at_bounds(self, bounds: FloatArray) -> FloatArray:
        """Return which parameters ended at a bound."""
        return np.asarray(np.isclose(self.theta[:, None], bounds, atol=1e-6).any(axis=1))


def starts(first: FloatArray, bounds: FloatArray, n_restarts: int, rng: np.random.Generator) -> list[FloatArray]:
    """Return the given start and others with every parameter within a factor of ten of it, and within its bounds."""
    low, high = bounds.T
    first = np.clip(first, low, high)
    near = np.maximum(low, first - np.log(10)), np.minimum(high, first + np.log(10))
    return [first, *(rng.uniform(*near) for _ in range(n_restarts))]


def maximise(
    evidence: Evidence,
    first: list[FloatArray],
    bounds: FloatArray,
    *,
    tol: float = 1e-6,
    gain: float = 0.0,
    max_evaluations: int = 500,
) -> list[Optimum]:
    """Search from every start by L-BFGS-B and return all optima, the highest first.

    ``evidence(theta)`` returns the value and its gradient; where the value is not finite, the search steps back. A
    later start is followed no further where it leads to an optimum that an earlier one has found (it ends there, see
    `leads_to`), or where it has almost stopped rising below that one, and any on a step that gains less than ``gain``.
    """
    found: list[Optimum] = []
    for start in first:
        if start.shape[0] == 0 or (bounds[:, 0] == bounds[:, 1]).all():
            value, gradient = evidence(start)
            found.append(Optimum(start, value, gradient, 1, True, "nothing to optimise"))
        else:
            found.append(_ascend(evidence, start, bounds, tol, gain, max_evaluations, found))
    return sorted(found, key=lambda optimum: -optimum.evidence)


def leads_to(optimum: Optimum, theta: FloatArray, value: float, gradient: FloatArray) -> bool:
    """Return whether the evidence, close below an optimum, rises all the way to it as to the top of one hill.

    Along the line between them it is taken for the cubic with these values and slopes at its ends. The slope at the
    start is twice the difference in height for a parabola, and at most three times where the cubic never falls. It is
    next to nothing at another optimum, or on the way to one.
    """
    height = optimum.evidence - value
    return 0.0 < height < NEAR and height <= float(gradient @ (optimum.theta - theta)) <= 3.0 * height


def _ascend(
    evidence: Evidence,
    start: FloatArray,
    bounds: FloatArray,
    tol: float,
    gain: float,
    most: int,
    known: list[Optimum],
) -> Optimum:
    value, gradient = evidence(start)
    if not (np.isfinite(value) and np.isfinite(gradient).all()):
        return Optimum(start, -1e100, np.zeros_like(start), 1, False, "the evidence is not finite at the start")
    highest = max((one.evidence for one in known), default=-np.inf)
    met = [one for one in known if one.converged and leads_to(one, start, value, gradient)]
    count, last = 1, (start, value, gradient)
    # the first step is the gradient: in these units at most one in each parameter, and not one to the bounds
    unit = max(1.0, float(np.abs(gradient).max()))
    seen, path = [value], [value]

    def negative(theta: FloatArray) -> tuple[float, FloatArray]:
        nonlocal count, last
        if np.array_equal(theta, start):
            value_here, slope = value, gradient
        else:
            (value_here, slope), count = evidence(theta), count + 1
            last = theta.copy(), value_here, slope
        if not (np.isfinite(value_here) and np.isfinite(slope).all()):
            # low enough for the line search to step back by a part of its step, not by nearly all of it
            return (FAILED - max(seen)) / unit, np.zeros_like(theta)
        seen.append(value_here)
        return -value_here / unit, -slope / unit

    def stalled_below() -> bool:
        return len(path) > STALLED_STEPS and path[-1] < min(path[-1 - STALLED_STEPS], highest) + STALLED_GAIN

    def watch(intermediate_result: Any) -> None:
        path.append(-unit * float(intermediate_result.fun))
        met.extend(one for one in known if one.converged and leads_to(one, *last))
        if met or stalled_below():
            raise StopIteration

    def end_at(optimum: Optimum) -> Optimum:
        return replace(optimum, evaluations=count, message="leads to the optimum of an earlier start")

    if met:
        return end_at(met[0])

    result: Any = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(float(low), float(high)) for low, high in bounds],
        callback=watch,
        options={"maxfun": most, "ftol": max(1e-9, gain / max(abs(value), unit)), "gtol": tol / unit},
    )
    if met:
        return end_at(met[0])
    given_up = stalled_below() and not result.success
    return Optimum(
        np.asarray(result.x),
        -unit * float(result.fun),
        -unit * np.asarray(result.jac),
        int(result.nfev),
        bool(result.success or given_up),
        "no higher than another start" if given_up else str(result.message),
    )


def inverse_curvature(slope: Callable[[FloatArray], FloatArray], theta: FloatArray, bounds: FloatArray) -> FloatArray:
    """Return the inverse of minus the second derivatives at an optimum, by an evaluation for each parameter.

    Where the slope hardly changes, as where a parameter means nothing, it is taken to change a little.
    """
    low, high = bounds.T
    step = np.where(theta + ASIDE <= high, ASIDE, -ASIDE)
    here = slope(theta)
    moved = np.array([(slope(np.clip(theta + one, low, high)) - here) / one.sum() for one in np.diag(step)])
    values, vectors = np.linalg.eigh(-(moved + moved.T) / 2)
    return np.asarray((vectors / np.maximum(values, LITTLE)) @ vectors.T)


FLAT = 1e-12
ASIDE, LITTLE = 0.05, 0.3  # of a log parameter; nats of curvature


def quasi_newton(
    evaluate: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    bounds: FloatArray,
    first: FloatArray,
    *,
    tol: float,
    gain: float,
    longest: float = 3.0,
    worse: float = np.inf,
    most: int = 40,
) -> Optimum:
    """Return where the gradient vanishes or points out of the bounds, by secant steps with the curvature of BFGS.

    A step after which the slope along it is steeper downhill than it was uphill, or that loses more than ``worse``, has
    gone too far: it is not taken, but the curvature that it showed is kept. ``evaluate`` returns the value, or NaN
    where it is too costly, and the gradient, which is not finite out of range. ``first`` is the first step, or about
    the inverse of minus the curvature where that is known, ``longest`` the most of a step in a parameter. The search
    ends on a step shorter than ``tol`` in every parameter, or that would gain less than ``gain``.
    """
    low, high = bounds.T
    x = np.clip(start, low, high)
    value, g = evaluate(x)
    if not np.isfinite(g).all():
        return Optimum(x, value, g, 1, False, "the gradient is not finite at the start")
    step = np.abs(first) if first.ndim == 1 else np.abs(first @ g)
    scale = np.where(np.abs(g) > FLAT, step / np.maximum(np.abs(g), FLAT), 1.0)
    H = np.diag(np.maximum(scale, 1e-12)) if first.ndim == 1 else first  # inverse of minus the curvature
    least = gain
    for count in range(1, most):
        stuck = ((x <= low) & (g < 0)) | ((x >= high) & (g > 0))
        free = np.where(stuck, 0.0, 1.0)
        step = free * (H @ (free * g))
        if float(step @ g) <= 0:
            H = np.diag(np.maximum(scale, 1e-12))
            step = free * (H @ g)
        step *= min(1.0, longest / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        new = np.clip(x + step, low, high)
        step = new - x
        if float(np.abs(step).max(initial=0.0)) <= tol or 0.5 * float(step @ g) <= least:
            return Optimum(x, value, g, count, True, "the next step would gain next to nothing")
        value_new, g_new = evaluate(new)
        if value_new < value - worse or not np.isfinite(g_new).all():
            # past a minimum, or out of range: slopes there do not show the curvature here
            H, least = H / 4, 0.0  # nor would a shorter step gain less because the maximum is near
            continue
        least = gain
        change = free * (g - g_new)  # of parameters held at a bound nothing is learned
        bend = float(step @ change)
        before, after = float(step @ g), float(step @ g_new)
        if bend > 1e-10 * abs(before):
            Hy = H @ change
            H = H + (1.0 + float(change @ Hy) / bend) * np.outer(step, step) / bend
            H -= (np.outer(Hy, step) + np.outer(step, Hy)) / bend
        else:
            H = 2.0 * H
        if after >= -before:
            x, value, g = new, value_new, g_new
    return Optimum(x, value, g, most, False, f"stopped after {most} evaluations")
