"""The evidence of parameters as a function, and the solution at some of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from preflearn.exceptions import DataError
from preflearn.inference.hyperprior import HyperPrior
from preflearn.inference.method import Found, Method
from preflearn.inference.observed import Observed
from preflearn.inference.posterior import Info, Posterior
from preflearn.inference.problem import Problem
from preflearn.operators import FloatArray
from preflearn.terms import Reliability, ReliabilityError, Rows

__all__ = ["Evidence", "Solution", "hyperprior_of", "numbers"]

# Moments of a likelihood that is not log-concave that match no better than this say nothing about the evidence.
UNKNOWN = 1e-3
LARGEST = 1e100  # number of a posterior that is believed
SAME = 1e-6  # relative difference up to which kept numbers belong together: rounding, on another machine too


@dataclass(frozen=True)
class Solution:
    """The posterior at some parameters, with the terms and the likelihood there."""

    problem: Problem
    likelihood: Any
    found: Found

    @property
    def posterior(self) -> Posterior:
        """The posterior."""
        return self.found.posterior

    @property
    def info(self) -> Info:
        """How the inference ended."""
        return self.found.info

    @property
    def tau(self) -> FloatArray:
        """Precision of each outcome's part, per unit of weight."""
        return self.found.tau

    @property
    def nu(self) -> FloatArray:
        """Precision times mean of each outcome's part."""
        return self.found.nu

    def kept(self) -> dict[str, Any]:
        """Return what `Evidence.again` needs: a few numbers for each outcome and cell, and no matrix."""
        posterior = self.posterior
        return {
            "tau": self.tau,
            "nu": self.nu,
            "g": posterior.g,
            "u": posterior.u,
            "left": _left(posterior.system, posterior.u, posterior.g),
            "value": float(posterior.value),
            "info": self.info,
        }


@dataclass
class Evidence:
    """Log evidence and gradient as a function of theta (the terms', then the likelihood's).

    The last solution is the warm start of the next.
    """

    problem: Problem
    likelihood: Any
    seen: Observed
    method: Method
    hyperprior: HyperPrior | None = None
    reliability: Reliability | None = None
    about: Any = None  # what the problem was made from, for whoever made it
    warm: Any = field(default=None, repr=False)
    highest: tuple[float, Any] = field(default=(-np.inf, None), repr=False)
    solved: tuple[FloatArray, Solution] | None = field(default=None, init=False, repr=False)  # the last solution
    searched: tuple[FloatArray, Solution] | None = field(default=None, init=False, repr=False)  # the last of a search

    @property
    def theta(self) -> FloatArray:
        """Logarithms of the free parameters."""
        return np.concatenate([self.problem.parameters.theta, self.likelihood.theta])

    @property
    def bounds(self) -> FloatArray:
        """Bounds of theta, (n_theta, 2)."""
        return np.concatenate([self.problem.parameters.bounds, self.likelihood.bounds])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters whose logarithms are theta."""
        return (*self.problem.parameters.names, *self.likelihood.names)

    @property
    def order(self) -> int:
        """Order of the largest matrix that is factored."""
        return self.problem.order

    @property
    def observed(self) -> Observed:
        """The outcomes, with the reliability of who judged."""
        return self.seen if self.reliability is None else self.seen.scaled(self.reliability.scale)

    def split(self, theta: FloatArray) -> tuple[Problem, Any]:
        """Return the problem and the likelihood at other parameters."""
        n = len(self.problem.parameters)
        return self.problem.with_theta(theta[:n]), self.likelihood.with_theta(theta[n:])

    def _evaluate(self, theta: FloatArray) -> tuple[Found, FloatArray, FloatArray]:
        """Return what is found, the gradient, and the derivative by every outcome's s; NaN where inference fails."""
        problem, likelihood = self.split(theta)
        seen = self.observed
        system, pull = problem.system()
        found = self.method.solve(system, seen, likelihood, self.warm)
        self.warm = self.method.warm(found, self.warm)
        self.searched = theta, Solution(problem, likelihood, found)
        if not likelihood.log_concave:
            if found.info.residual > UNKNOWN:
                unknown = found.posterior.value * np.nan
                found = found._replace(posterior=replace(found.posterior, value=unknown))
                return found, np.full(theta.shape, np.nan), np.full(seen.y.shape, np.nan)
            if found.posterior.log_evidence > self.highest[0]:
                self.highest = found.posterior.log_evidence, (found.tau, found.nu)
        slopes = self.method.gradient(found, seen, likelihood)
        return found, np.concatenate([pull(slopes.prior), slopes.likelihood]), slopes.scale

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the evidence and its gradient, NaN where inference fails so that neither is known."""
        found, slope, _ = self._evaluate(theta)
        return found.posterior.log_evidence, slope

    def slope(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of what is searched, without its value, which may be dear."""
        return np.asarray(self._evaluate(theta)[1] + self.hyperprior_gain(theta)[1])

    def believed(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return what is searched and averaged over: the evidence with the prior of theta, and its gradient."""
        value, slope = self(theta)
        gain, pull = self.hyperprior_gain(theta)
        return value + gain, slope + pull

    def believed_together(self, both: FloatArray) -> tuple[float, FloatArray]:
        """Return the same as a function of theta and, after it, of the reliabilities, with their prior."""
        assert self.reliability is not None
        theta, values = np.split(both, [self.theta.shape[0]])
        self.reliability = self.reliability.at(values)
        found, slope, by_scale = self._evaluate(theta)
        gain, pull = self.hyperprior_gain(theta)
        prior, prior_slope = self.reliability.log_prior()
        return found.posterior.log_evidence + gain + prior, np.concatenate(
            [slope + pull, self.reliability.pull(by_scale) + prior_slope]
        )

    def hyperprior_gain(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return what the prior of theta adds to the evidence, and its gradient."""
        return (0.0, np.zeros_like(theta)) if self.hyperprior is None else self.hyperprior.gain(theta, self.bounds)

    def settle(self) -> None:
        """End a search, so that a solution no longer depends on where it came from.

        Log-concave likelihoods have one solution, which is found from nothing; others start at their highest evidence.
        """
        self.warm = self.highest[1]

    def solve(self, theta: FloatArray) -> Solution:
        """Return the posterior at these parameters."""
        if self.solved is not None and np.array_equal(self.solved[0], theta):
            return self.solved[1]
        problem, likelihood = self.split(theta)
        found = self.method.solve(problem.system()[0], self.observed, likelihood, self.warm)
        self.warm = self.method.warm(found, self.warm)
        solution = Solution(problem, likelihood, found)
        self.solved = theta, solution
        return solution

    def end_search(self, theta: FloatArray) -> Solution:
        """Return the posterior where a search ended, which it may know already; it is what `solve` returns there."""
        if self.searched is not None and np.array_equal(self.searched[0], theta):
            self.solved = self.searched
        return self.solve(theta)

    def again(self, theta: FloatArray, kept: dict[str, Any]) -> Solution:
        """Return the posterior that `solve` found at these parameters, from what `Solution.kept` said; one factor of B.

        The coordinates u are those of a root of the prior covariance, and another machine may choose another root of a
        singular one: where they are not of this root they are worked out from g, which is the same for all.
        """
        problem, likelihood = self.split(theta)
        seen, weight, m = self.observed, self.seen.weight, self.seen.y.shape[0]
        tau, nu, g, u = (numbers(kept[name], name) for name in ("tau", "nu", "g", "u"))
        n_cells = problem.n_cells
        if tau.shape != (m,) or nu.shape != (m,) or g.shape != (n_cells,):
            raise DataError(
                f"a posterior of {tau.shape[:1]} comparisons and {g.shape[:1]} cells, not of {m} and {n_cells}"
            )
        if likelihood.log_concave and tau.min(initial=0.0) < 0.0:
            raise DataError("a comparison has a negative precision")
        system, _ = problem.system()
        if u.shape != (system.size,) or not _left(system, u, g) <= 2 * float(kept["left"]) + SAME:
            u = system.back(g)
        z = seen.see(system.forward(u))
        wrong = np.abs(seen.sums(weight * (nu - tau * z)) - g)
        if not wrong.max(initial=0.0) <= SAME * (1.0 + float(weight @ (np.abs(nu) + np.abs(tau * z)))):
            raise DataError("the parts of comparisons are not those of the posterior")
        curve = system.curve(seen.squares(weight * tau), semidefinite=likelihood.log_concave)
        posterior = Posterior(system, curve, u, g, float(numbers(kept["value"], "value")))
        if not isinstance(kept["info"], Info):
            raise DataError("how the inference ended is not said")
        return Solution(problem, likelihood, Found(posterior, kept["info"], tau, nu))

    def widened(self, solution: Solution, rows: Rows) -> Solution:
        """Return a solution whose uncertainty includes that of the reliabilities, to first order; means stay.

        Every outcome is a cell of its own there, and sees z itself.
        """
        assert self.reliability is not None
        assert self.seen.cell is not None
        seen, cell, posterior = self.observed, self.seen.cell, solution.posterior
        error = ReliabilityError(posterior.x[cell], self.reliability.judge, self.reliability.deviation)
        problem = solution.problem.widened(rows.part(cell), self.reliability.scale, error)
        system, _ = problem.system()
        tau = seen.weight * solution.tau
        curve = system.curve(tau, semidefinite=solution.likelihood.log_concave)
        g = seen.weight * (solution.nu - solution.tau * seen.see(posterior.x))
        wide = Posterior(system, curve, system.back(g), g, posterior.log_evidence + 0.5 * curve.log_det)
        return replace(solution, problem=problem, found=solution.found._replace(posterior=wide))

    def warmth(self) -> Any:
        """Return the warm start of the next evaluation as data."""
        return self.method.kept(self.warm)

    def warm_again(self, kept: Any, solutions: list[Solution]) -> None:
        """Take up a warm start of `warmth`."""
        if kept is None:
            return
        shape = (self.problem.n_cells,) if isinstance(kept, np.ndarray) else self.seen.y.shape
        parts = [kept] if isinstance(kept, np.ndarray) else list(kept)
        if len(parts) > 2 or any(numbers(part, "warm start").shape != shape for part in parts):
            raise DataError("a warm start of other comparisons")
        self.warm = self.method.again(kept, [one.found for one in solutions])

    def over(self, problem: Problem, likelihood: Any, *, tol: float | None = None) -> Evidence:
        """Return the evidence of the same outcomes for other terms over the same cells, warm where this one is."""
        method = self.method if tol is None else replace(self.method, tol=tol)  # type: ignore[type-var]
        new = replace(self, problem=problem, likelihood=likelihood, method=method)
        kept = method.kept(self.warm)
        new.warm = None if kept is None else method.again(kept, [])
        return new


def _left(system: Any, u: FloatArray, g: FloatArray) -> float:
    # of u = S'g, which holds at the end of every inference, in units of u
    return float(np.linalg.norm(u - system.back(g)) / max(1.0, float(np.linalg.norm(u))))


def hyperprior_of(evidence: Evidence, spread: float) -> HyperPrior:
    """Return normal priors around the parameters of an evidence.

    Length scales keep a uniform one: features may be of no use at all.
    """
    kinds = (*evidence.problem.parameters.kinds, *("likelihood",) * len(evidence.likelihood.names))
    length = np.array([kind == "length scale" for kind in kinds], dtype=bool)
    return HyperPrior(np.clip(evidence.theta, *evidence.bounds.T), np.where(length, np.inf, spread))


def numbers(value: Any, what: str) -> FloatArray:
    """Return floats whose squares are finite, or raise."""
    found = np.asarray(value)
    if found.dtype != np.float64 or not (np.abs(found) <= LARGEST).all():
        raise DataError(f"{what} should be finite numbers")
    return found
