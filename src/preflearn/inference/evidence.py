"""The one hyperparameter search: maximise the evidence over log parameters from several starts; keep every optimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from preflearn.operators import FloatArray

__all__ = ["Optimum", "maximise", "starts"]

WALL = 100.0  # nats

Evidence = Callable[[FloatArray], tuple[float, FloatArray]]


@dataclass(frozen=True)
class Optimum:
    """Where one start ended: log parameters, evidence, its gradient there, evaluations, and the optimiser's word."""

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
    evidence: Evidence, first: list[FloatArray], bounds: FloatArray, *, tol: float = 1e-6, max_evaluations: int = 500
) -> list[Optimum]:
    """Climb from every start by L-BFGS-B and return all optima, the highest first.

    ``evidence(theta)`` returns the value and its gradient; a value that is not finite is a wall to step back from.
    Without free parameters (or with equal bounds of all) the evidence is evaluated once.
    """
    found = []
    for start in first:
        if start.shape[0] == 0 or (bounds[:, 0] == bounds[:, 1]).all():
            value, gradient = evidence(start)
            found.append(Optimum(start, value, gradient, 1, True, "nothing to optimise"))
            continue

        seen: list[float] = []

        def negative(theta: FloatArray, seen: list[float] = seen) -> tuple[float, FloatArray]:
            value, gradient = evidence(theta)
            if not (np.isfinite(value) and np.isfinite(gradient).all()):
                # a wall low enough for the line search to step back by a part of its step, not by nearly all of it
                return (min(seen) + WALL if seen else 1e100), np.zeros_like(theta)
            seen.append(-value)
            return -value, -gradient

        result: Any = minimize(
            negative,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(float(low), float(high)) for low, high in bounds],
            options={"maxfun": max_evaluations, "ftol": 1e-9, "gtol": tol},
        )
        found.append(
            Optimum(
                np.asarray(result.x),
                -float(result.fun),
                -np.asarray(result.jac),
                int(result.nfev),
                bool(result.success and seen),
                str(result.message) if seen else "the evidence is not finite at the start",
            )
        )
    return sorted(found, key=lambda optimum: -optimum.evidence)
