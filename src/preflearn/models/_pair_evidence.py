"""The evidence of matches between items as a function of the prior's variance and the threshold for ties."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from preflearn.exceptions import DataError
from preflearn.inference.average import HyperPosterior, average
from preflearn.inference.design import Design, pair_operator
from preflearn.inference.evidence import numbers
from preflearn.inference.hyperprior import HyperPrior
from preflearn.inference.pair_moments import Moments, find_moments, moments_gradient
from preflearn.inference.search import Optimum, climb, maximise
from preflearn.inference.sparse_newton import Mode, evidence_gradient, find_mode, mode_at
from preflearn.models._gp_kernel import VARIANCE
from preflearn.models._matches import Matches
from preflearn.operators import FloatArray

__all__ = ["PairEvidence", "PairSolution"]

SEARCH_DRAWS = 16  # beyond dense sizes: gradients are sums over all items, so that few draws will do
TOL = 3e-6  # of log parameters
GAIN = 1e-3  # nats, where gradients are estimated
N_POINTS = 16  # of an average, for each parameter
FEW_ITEMS = 300  # up to which several starts cost nothing
SPREAD = 1.5  # deviation of the weak prior of log variance around 0: deviations of utilities from about 0.2 to 4.5


class PairSolution(NamedTuple):
    """The mode, or the moments, at the learned parameters."""

    likelihood: Any
    mode: Mode | Moments
    theta: FloatArray


@dataclass
class PairEvidence:
    """Log evidence and gradient as a function of theta: log variance if it is free, then the likelihood's own.

    Without a prior it is the profile likelihood of the likelihood's parameters.
    """

    matches: Matches
    likelihood: Any
    variance: float | None
    free: bool
    dense: int
    weak: bool = False  # whether the variance has a weak prior in the search
    inference: Literal["laplace", "ep"] = "laplace"
    last: tuple[Any, tuple[Any, Any]] | None = field(default=None, repr=False)

    @classmethod
    def start(
        cls, matches: Matches, likelihood: Any, prior: Any, dense: int, inference: Literal["laplace", "ep"] = "laplace"
    ) -> PairEvidence:
        """Return the evidence that a parameter ``prior`` asks for."""
        free = isinstance(prior, str)
        given = 1.0 if free else None if prior is None else float(prior)
        return cls(matches, likelihood, given, free, dense, prior == "auto", inference)

    @cached_property
    def _design(self) -> Design:
        graph = self.matches.graph
        return Design(pair_operator(graph.low[graph.row], graph.high[graph.row], graph.n_items))

    @property
    def bounds(self) -> FloatArray:
        """Bounds of theta."""
        return np.concatenate([np.log([VARIANCE] if self.free else np.zeros((0, 2))), self.likelihood.bounds])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters whose logarithms are theta."""
        return (*(("variance",) if self.free else ()), *self.likelihood.names)

    def _split(self, theta: FloatArray) -> tuple[Any, float | None]:
        """Return the likelihood and the variance at these parameters."""
        variance = float(np.exp(theta[0])) if self.free else self.variance
        return self.likelihood.with_theta(theta[1:] if self.free else theta), variance

    def at(self, theta: FloatArray, n_draws: int = 64) -> tuple[Any, Any]:
        """Return the likelihood at these parameters, and the mode or moments; those of the last ones are kept."""
        asked = (theta.tobytes(), n_draws)
        if self.last is not None and self.last[0] == asked:
            return self.last[1]
        near = None if self.last is None else self.last[1][1]
        likelihood, variance = self._split(theta)
        graph, y, weight, _ = self.matches
        found: Mode | Moments
        if self.inference == "ep":
            start = None if near is None else near.sites
            found = find_moments(graph, self._design, y, weight, likelihood, cast(float, variance), start)
        else:
            found = find_mode(graph, y, weight, likelihood, variance, near=near, n_draws=n_draws, dense=self.dense)
        self.last = asked, (likelihood, found)
        return likelihood, found

    def again(self, theta: FloatArray, kept: dict[str, Any]) -> PairSolution:
        """Return the solution that was found at these parameters, from what was kept of it."""
        likelihood, variance = self._split(theta)
        graph, y, weight, _ = self.matches
        steps = int(kept["steps"])
        found: Mode | Moments
        if self.inference == "ep":
            tau, nu = numbers(kept["tau"], "sites"), numbers(kept["nu"], "sites")
            if tau.shape != y.shape or nu.shape != y.shape or tau.min(initial=0.0) < 0.0:
                raise DataError("the sites are not those of the comparisons")
            found = find_moments(graph, self._design, y, weight, likelihood, cast(float, variance), (tau, nu), steps)
        else:
            f = numbers(kept["utility"], "utilities")
            if f.shape != (graph.n_items,):
                raise DataError("the utilities are not those of the items")
            found = mode_at(graph, y, weight, likelihood, variance, f, steps=steps, dense=self.dense)
        return PairSolution(likelihood, found, theta)

    def settle(self, solution: PairSolution) -> None:
        """End a search: what is asked next starts from this solution, wherever the search has been."""
        self.last = (solution.theta.tobytes(), 64), (solution.likelihood, solution.mode)

    def slope(self, theta: FloatArray, n_draws: int = 64) -> tuple[Any, FloatArray, float]:
        """Return the mode or moments, the gradient in theta, and roughly the curvature in log variance."""
        likelihood, found = self.at(theta, n_draws)
        gradient = moments_gradient if self.inference == "ep" else evidence_gradient
        by_variance, own, bend = gradient(found, self.matches.outcome, self.matches.weight, likelihood)
        return found, np.concatenate([[by_variance] if self.free else [], own]), bend

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the evidence and its gradient."""
        mode, slope, _ = self.slope(theta)
        return mode.log_evidence, slope

    def _believed(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the evidence with the weak prior of the variance, and its gradient."""
        value, slope = self(theta)
        return value + self._belief(theta)[0], slope + self._belief(theta)[1]

    def _belief(self, theta: FloatArray) -> tuple[float, FloatArray]:
        slope = np.zeros(theta.shape[0])
        if not self.weak:
            return 0.0, slope
        slope[0] = -theta[0] / SPREAD**2
        return -0.5 * float(theta[0] / SPREAD) ** 2, slope

    def maximise(self) -> PairSolution:
        """Learn what is free."""
        theta = np.concatenate([[0.0] if self.free else [], self.likelihood.theta])
        exact = self.matches.graph.n_items <= self.dense
        if self.inference == "ep" and theta.shape[0]:  # from near: Laplace's method costs little
            theta = self._climb(replace(self, inference="laplace", last=None).maximise().theta, exact=True)
        elif exact and theta.shape[0] > 1:
            # with few items a threshold and a variance may explain the same: values decide, from several starts
            apart = (0.0, -np.log(10), np.log(10)) if self.matches.graph.n_items <= FEW_ITEMS else (0.0,)
            theta = maximise(self._believed, [theta + np.array([change, 0.0]) for change in apart], self.bounds)[
                0
            ].theta
        elif theta.shape[0]:
            theta = self._climb(theta, exact=exact)
        likelihood, mode = self.at(theta)
        return PairSolution(likelihood, mode, theta)

    def average(self, best: PairSolution) -> tuple[HyperPosterior, list[PairSolution]]:
        """Return weighted points of the posterior over what was learned, and the solution at each of them."""
        known: dict[bytes, PairSolution] = {}

        def believed(theta: FloatArray) -> tuple[float, FloatArray]:
            value, slope = self._believed(theta)
            known[theta.tobytes()] = PairSolution(*self.at(theta), theta)
            return value, slope

        value, slope = believed(best.theta)
        optimum = Optimum(best.theta, value, slope, 1, True, "")
        points = average(believed, [optimum], self.bounds, N_POINTS * len(best.theta), 0)
        if self.weak:  # the search leaves out the constant of the prior's density
            peak = HyperPrior(np.zeros(1), np.array([SPREAD])).gain(np.zeros(1), self.bounds[:1])[0]
            points = replace(points, log_evidence=points.log_evidence + peak)
        return points, [known[theta.tobytes()] for theta in points.theta]

    def _climb(self, theta: FloatArray, *, exact: bool) -> FloatArray:
        n_draws = 64 if exact else SEARCH_DRAWS
        first = np.full(theta.shape[0], 0.3)
        if self.free:
            _, slope, bend = self.slope(theta, n_draws)
            first[0] = min(abs(slope[0]) / max(bend, 1e-6), 2.0)
        gain = 1e-16 if exact else GAIN

        def uphill(theta: FloatArray) -> tuple[float, FloatArray]:
            return np.nan, self.slope(theta, n_draws)[1] + self._belief(theta)[1]

        return climb(uphill, theta, self.bounds, first, tol=TOL, gain=gain).x
