"""The evidence of parameters as a function, and what is learned from it: a search, an average, and a solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from preflearn.exceptions import DataError
from preflearn.inference.average import HyperPosterior, average
from preflearn.inference.contract import Found, Info, Method, Observed, Posterior, Warm
from preflearn.inference.ep import EP
from preflearn.inference.laplace import Laplace
from preflearn.inference.problem import Problem
from preflearn.inference.search import HyperPrior, Optimum, maximise, quasi_newton
from preflearn.linalg import few_threads
from preflearn.operators import FloatArray
from preflearn.terms import Parameters, Rows
from preflearn.terms.reliability import Reliability, alike

METHODS: dict[str, type[Method]] = {Laplace.name: Laplace, EP.name: EP}


# Moments of a likelihood that is not log-concave that match no better than this say nothing about the evidence.
LARGEST_RESIDUAL = 1e-3
LARGEST = 1e100  # number of a posterior that a file may hold
LEAST = 1e-6  # size of a reliability that is divided by
SAME = 1e-6  # relative difference up to which kept numbers belong together: rounding, on another machine too


@dataclass(frozen=True, kw_only=True)
class Solution(Found):
    """The posterior at some parameters, with the terms and the likelihood there."""

    problem: Problem
    likelihood: Any

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
    warm: Warm | None = field(default=None, repr=False)
    highest: tuple[float, Warm | None] = field(default=(-np.inf, None), repr=False)
    solved: tuple[FloatArray, Solution] | None = field(default=None, init=False, repr=False)  # the last solution
    searched: tuple[FloatArray, Solution] | None = field(default=None, init=False, repr=False)  # the last of a search

    @property
    def parameters(self) -> Parameters:
        """Free parameters: those of the terms, then those of the likelihood."""
        p = self.likelihood
        kinds: Any = ("likelihood",) * len(p.names)
        own = Parameters(p.names, kinds, p.theta, p.bounds)
        return Parameters.joined([self.problem.parameters, own])

    @property
    def order(self) -> int:
        """Order of the largest matrix that is factored."""
        return self.problem.order

    @property
    def observed(self) -> Observed:
        """The outcomes, with the reliability of who judged."""
        return self.seen if self.reliability is None else self.reliability.observed(self.seen)

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
        self.warm = found.start(self.warm)
        self.searched = theta, Solution(**vars(found), problem=problem, likelihood=likelihood)
        if not likelihood.log_concave:
            if found.info.residual > LARGEST_RESIDUAL:
                found = replace(found, posterior=replace(found.posterior, value=np.nan))
                return found, np.full(theta.shape, np.nan), np.full(seen.y.shape, np.nan)
            if found.posterior.log_evidence > self.highest[0]:
                self.highest = found.posterior.log_evidence, self.warm
        slopes = self.method.gradient(found, seen, likelihood)
        return found, np.concatenate([pull(slopes.prior), slopes.likelihood]), slopes.scale

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the evidence and its gradient, NaN where inference fails so that neither is known."""
        found, slope, _ = self._evaluate(theta)
        return found.posterior.log_evidence, slope

    def slope(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of what is searched, without its value, which may be costly."""
        return np.asarray(self._evaluate(theta)[1] + self.hyperprior_gain(theta)[1])

    def penalised(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return what is searched and averaged over: the evidence with the prior of theta, and its gradient."""
        value, slope = self(theta)
        gain, pull = self.hyperprior_gain(theta)
        return value + gain, slope + pull

    def penalised_jointly(self, both: FloatArray) -> tuple[float, FloatArray]:
        """Return the same as a function of theta and, after it, of the reliabilities, with their prior."""
        assert self.reliability is not None
        theta, values = np.split(both, [len(self.parameters)])
        self.reliability = self.reliability.at(values)
        found, slope, by_scale = self._evaluate(theta)
        gain, pull = self.hyperprior_gain(theta)
        prior, prior_slope = self.reliability.log_prior()
        return found.posterior.log_evidence + gain + prior, np.concatenate(
            [slope + pull, self.reliability.pull(by_scale) + prior_slope]
        )

    def hyperprior_gain(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return what the prior of theta adds to the evidence, and its gradient."""
        return (
            (0.0, np.zeros_like(theta))
            if self.hyperprior is None
            else self.hyperprior.gain(theta, self.parameters.bounds)
        )

    def settle(self) -> None:
        """End a search: log-concave likelihoods start from nothing again, others at their highest evidence."""
        self.warm = self.highest[1]

    def solve(self, theta: FloatArray) -> Solution:
        """Return the posterior at these parameters, which is where the next one starts."""
        if self.solved is None or not np.array_equal(self.solved[0], theta):
            problem, likelihood = self.split(theta)
            found = self.method.solve(problem.system()[0], self.observed, likelihood, self.warm)
            self.solved = theta, Solution(**vars(found), problem=problem, likelihood=likelihood)
        self.warm = self.solved[1].start(self.warm)
        return self.solved[1]

    def end_search(self, theta: FloatArray) -> Solution:
        """Return the posterior where a search ended, which it may know already; it is what `solve` returns there."""
        if self.searched is not None and np.array_equal(self.searched[0], theta):
            self.solved = self.searched
        return self.solve(theta)

    def again(self, theta: FloatArray, kept: dict[str, Any]) -> Solution:
        """Return the posterior that `solve` found at these parameters, from what `Solution.kept` said; one factor of B.

        Another machine may choose another root of a singular prior covariance: where u is not of this root it is worked
        out from g, which is the same for all.
        """
        problem, likelihood = self.split(theta)
        seen = self.observed
        weight, m = seen.weight, seen.y.shape[0]
        tau, nu, g, u = (numbers(kept[name], name) for name in ("tau", "nu", "g", "u"))
        n_cells = len(seen.y) if seen.cell is None else seen.n_cells
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
        return Solution(posterior, kept["info"], tau, nu, problem=problem, likelihood=likelihood)

    def solved_by(self, method: Method, solution: Solution) -> Solution:
        """Return the solution at the same parameters by another method; the given one where that does not converge."""
        found = method.solve(solution.posterior.system, self.observed, solution.likelihood, solution.start())
        if not found.info.converged:
            return solution
        return Solution(**vars(found), problem=solution.problem, likelihood=solution.likelihood)

    def widened(self, solution: Solution, rows: Rows) -> Solution:
        """Return a solution as uncertain as the reliabilities are, to first order, where every outcome is a cell."""
        assert self.reliability is not None
        assert self.seen.cell is not None
        seen, cell, m = self.observed, self.seen.cell, self.seen.y.shape[0]
        x, weight, scale = solution.posterior.x[cell], self.seen.weight, self.reliability.scale
        error = self.reliability.error(x, solution)
        problem = solution.problem.widened(rows.part(cell), scale, error)
        system, _ = problem.system()
        # where half of an outcome is at s + δ and half at s - δ their sum is a part of x, and so of z = s x
        assert seen.scale is not None
        g = seen.scale * seen.weight * (solution.nu - solution.tau * seen.see(solution.posterior.x))
        g = g.reshape(-1, m).sum(axis=0) / np.where(np.abs(scale) < LEAST, LEAST, scale)
        tau = (seen.weight * solution.tau).reshape(-1, m).sum(axis=0)
        curve = system.curve(tau, semidefinite=solution.likelihood.log_concave)
        u = system.back(g)
        u[problem.layout.places_of(len(problem.terms) - 1, error.about(), system)] = 0.0  # s is the mean already
        wide = Posterior(system, curve, u, g, solution.posterior.log_evidence + 0.5 * curve.log_det)
        tau = tau / weight
        return replace(solution, problem=problem, posterior=wide, tau=tau, nu=g / weight + tau * scale * x)

    def take(self, reliability: Reliability, warm: Warm | None = None) -> None:
        """Go on with other reliabilities: what was solved with the last ones is forgotten."""
        self.reliability, self.warm = reliability, warm
        self.solved = self.searched = None
        self.highest = (-np.inf, None)

    def update_reliability(self, theta: FloatArray) -> tuple[float, float]:
        """Learn reliabilities given all other latents; return the largest change, and by what x should be divided."""
        assert self.reliability is not None
        solution, before = self.end_search(theta), self.reliability
        free = "variance" in self.problem.terms[0].parameters.kinds  # of preferences: others may stand beside them
        after, factor = before.learned(before.judge_evidence(self.seen.scaled(None), solution), free=free)
        self.take(after, Warm(solution.posterior.g))
        return float(np.abs(after.value - before.value).max(initial=0.0)), factor

    def with_judges(self, solution: Solution) -> float:
        """Return the log evidence of a solution, with what is not known of reliabilities counted."""
        value = solution.posterior.log_evidence
        if self.reliability is None:
            return value
        plain, posterior = self.seen.scaled(None), solution.posterior
        x, variance = plain.see(posterior.x), plain.spread(posterior.curve.variances)
        return value + self.reliability.log_evidence(plain, x, variance, solution.likelihood)

    def over(self, problem: Problem, likelihood: Any, *, tol: float | None = None) -> Evidence:
        """Return the evidence of the same outcomes for other terms over the same cells, warm where this one is."""
        method = self.method if tol is None else replace(self.method, tol=tol)
        warm = None if self.warm is None else self.warm._replace(near=None)
        return replace(self, problem=problem, likelihood=likelihood, method=method, warm=warm)


def _left(system: Any, u: FloatArray, g: FloatArray) -> float:
    # of u = S'g, which holds at the end of every inference, in units of u
    return float(np.linalg.norm(u - system.back(g)) / max(1.0, float(np.linalg.norm(u))))


def hyperprior_of(evidence: Evidence, spread: float) -> HyperPrior:
    """Return normal priors around the parameters; length scales keep a uniform one: features may be of no use."""
    free = evidence.parameters
    length = np.array([kind == "length scale" for kind in free.kinds], dtype=bool)
    return HyperPrior(np.clip(free.theta, *free.bounds.T), np.where(length, np.inf, spread))


def numbers(value: Any, what: str) -> FloatArray:
    """Return floats whose squares are finite, or raise."""
    found = np.asarray(value)
    if found.dtype != np.float64 or not (np.abs(found) <= LARGEST).all():
        raise DataError(f"{what} should be finite numbers")
    return found


MANY_LATENTS, LAST_GAIN = 1_000, 0.01  # latents from which a search ends with a step that gains so few nats
FIRST_STEP, LONGEST_STEP = 0.3, 2.0  # in a log parameter at the start of a search by gradients
NO_WEIGHT, LITTLE_WEIGHT = 1e-3, 0.02  # of a direction that is left out, and that is not learned anew
KEPT = 0.5  # share of reliabilities that a reverse should keep, or it is on its way back
TURNS, SETTLED = 40, 0.01  # of learning reliabilities and parameters, and the change of the first that ends them
# Its shortest step, and the nats that the last one would gain: where gradients are exact, and where they are estimated.
EXACT, ESTIMATED = (3e-6, 1e-16), (0.005, 1e-3)
ROUGH = 1e-4  # tolerance of the method in a search by estimates

Search = Callable[[Evidence, "Starts"], tuple[Evidence, list[Optimum]]]


class Starts(NamedTuple):
    """Log parameters from which to search, and within which bounds."""

    points: list[FloatArray]
    bounds: FloatArray


@dataclass(frozen=True)
class Learned:
    """What was learned: parameters, the solution there, and the solutions that are averaged over, with weights.

    Where reliabilities leave it open which of two rankings, one nearly the reverse of the other, is the right one, this
    is the more probable one, and ``reverse`` is the other.
    """

    evidence: Evidence = field(repr=False)
    theta: FloatArray
    optima: list[Optimum]
    solution: Solution = field(repr=False)
    mixture: list[tuple[float, Solution]] = field(repr=False)  # of this direction: weights sum to 1
    points: HyperPosterior | None = None
    weight: float = 1.0  # of this direction
    reverse: Learned | None = None

    @property
    def directions(self) -> list[Learned]:
        """What was learned in each direction."""
        return [self] if self.reverse is None else [self, self.reverse]

    @property
    def log_evidence(self) -> float:
        """Log evidence of both directions together, with what is not known of reliabilities counted."""
        return self.evidence.with_judges(self.solution) - float(np.log(self.weight))

    def beside(self, other: Learned, log_odds: float) -> Learned:
        """Return both as one, the more probable one first; ``log_odds`` are those of the other one."""
        weight = float(expit(-log_odds))
        if weight < 0.5:
            return other.beside(self, -log_odds)
        if weight > 1.0 - NO_WEIGHT:
            return self
        return replace(self, weight=weight, reverse=replace(other, weight=1.0 - weight, reverse=None))

    def state(self) -> dict[str, Any]:
        """Return what `learned_again` needs, as data: numbers and arrays, and no matrix."""
        of_reverse = {} if self.reverse is None else {"reverse": self.reverse.state()}
        solutions = [self.solution] if self.points is None else [self.solution, *(s for _, s in self.mixture)]
        reliability = self.evidence.reliability
        return {
            "theta": self.theta,
            "optima": self.optima,
            "hyperposterior": self.points,
            "solutions": [solution.kept() for solution in solutions],
            "reliability": None if reliability is None else reliability.state,
            **({"weight": self.weight} if self.weight < 1.0 else {}),
            **of_reverse,
        }


def maximise_evidence(evidence: Evidence, first: Starts) -> tuple[Evidence, list[Optimum]]:
    """Search from every start; return the evidence and all optima, the highest first.

    Reliabilities, where there are any, are searched for together with the parameters; from their modes on both are
    learned in turns, and there is one optimum. Where gradients are estimated the search goes by these alone.
    """
    if evidence.problem.estimated:
        return search_by_gradients(evidence, first)
    with few_threads(evidence.order):
        gain = LAST_GAIN if evidence.problem.n_latents > MANY_LATENTS else 0.0
        if evidence.reliability is None:
            return evidence, maximise(evidence.penalised, *first, gain=gain)
        evidence.take(evidence.reliability.anew(), evidence.warm)
        s = evidence.reliability.value
        n = first.bounds.shape[0]
        found = _jointly(evidence, [np.concatenate([point, s]) for point in first.points], first.bounds, gain)
        system, _ = evidence.split(first.points[0])[0].system()
        s = evidence.reliability.agreement(system, evidence.seen, evidence.likelihood)
        if not alike(s, found[0].theta[n:]):
            found += _jointly(evidence, [np.concatenate([first.points[0], s])], first.bounds, gain)
            found.sort(key=lambda one: -one.evidence)
        # reversed utilities with reversed judges are as likely, but for the prior: a search may end at these
        best = found[0].theta
        turned = np.concatenate([best[:n], -best[n:]])
        found += _jointly(evidence, [turned], first.bounds, gain)
        found.sort(key=lambda one: -one.evidence)
        if evidence.problem.layout.families:
            # a judge's reliability and own latents, such as tastes, are too entangled for turns: modes are kept
            return evidence, [_at_modes(evidence, found[0], n)]
        evidence.take(evidence.reliability.at(found[0].theta[n:]))
        return evidence, [_in_turns(evidence, found[0].theta[:n], first.bounds, gain)]


def _jointly(evidence: Evidence, starts: list[FloatArray], bounds: FloatArray, gain: float) -> list[Optimum]:
    """Search for parameters and, after them, reliabilities."""
    free = np.tile([-np.inf, np.inf], (len(starts[0]) - len(bounds), 1))
    both = np.concatenate([bounds, free])
    return maximise(evidence.penalised_jointly, starts, both, gain=gain, max_evaluations=2_000)


def _at_modes(evidence: Evidence, found: Optimum, n: int) -> Optimum:
    """Take the reliabilities of a joint optimum for known; return that of the n parameters alone."""
    assert evidence.reliability is not None
    evidence.take(evidence.reliability.at(found.theta[n:]))
    value, slope = evidence.penalised(found.theta[:n])  # without the prior of reliabilities
    return replace(found, theta=found.theta[:n], evidence=value, gradient=slope)


def _in_turns(evidence: Evidence, theta: FloatArray, bounds: FloatArray, gain: float) -> Optimum:
    """Learn reliabilities, and parameters given these, in turns until neither changes."""
    size = np.array([kind == "variance" for kind in evidence.parameters.kinds], dtype=bool)
    factor = 1.0
    for turn in range(TURNS):
        before, (change, factor) = factor, evidence.update_reliability(theta)
        done = max(change, abs(np.log(factor / before))) <= SETTLED
        start = np.clip(np.where(size, theta - 2 * np.log(factor), theta), *bounds.T)
        last = done or turn == TURNS - 1
        found = maximise(evidence.penalised, [start], bounds, gain=gain if last else max(gain, LAST_GAIN))[0]
        theta = found.theta
        if last:
            break
    return found if done else replace(found, converged=False, message=f"reliabilities had not settled in {TURNS} turns")


def with_reverse(found: Learned, bounds: FloatArray, n_points: int, seed: int) -> Learned:
    """Return what was learned with the reverse direction beside it, learned from -u and -s, where that weighs anything.

    Both say the same about every outcome but those of nobody in particular. So their odds are those of the priors of
    reliabilities, averaged over the posterior of one direction, and what these outcomes say.
    """
    reliability = found.evidence.reliability
    if reliability is None or reliability.reverse < np.log(NO_WEIGHT):
        return found
    odds, new = reliability.reverse, replace(found.evidence)
    reverse, start = reliability.reversed(), Warm(-found.solution.posterior.g)
    new.take(reverse, start)
    with few_threads(new.order):
        if (reliability.judge < 0).any():
            odds += new.solve(found.theta).posterior.log_evidence - found.solution.posterior.log_evidence
            if odds < np.log(NO_WEIGHT):
                return found
        gain = LAST_GAIN if new.problem.n_latents > MANY_LATENTS else 0.0
        optimum = found.optima[0]  # of the mirror image, which will do where it weighs little
        if reverse.spread is None:
            height = new.penalised_jointly(np.concatenate([found.theta, reliability.value]))[0]
            optimum = _jointly(new, [np.concatenate([found.theta, reverse.value])], bounds, gain)[0]
            odds = optimum.evidence - height
            optimum = _at_modes(new, optimum, len(found.theta))
        elif odds > np.log(LITTLE_WEIGHT):
            optimum = _in_turns(new, found.theta, bounds, gain)
        if reverse.value @ new.reliability.value < KEPT * (reverse.value @ reverse.value):  # type: ignore[union-attr]
            new.take(reverse, start)  # judges say little
            optimum = found.optima[0]
    return found.beside(_inferred(new, optimum.theta, [optimum], bounds, n_points, seed), odds)


def search_by_gradients(
    evidence: Evidence,
    first: Starts,
    bend: Callable[[Solution], FloatArray] | None = None,
    *,
    inverse: FloatArray | None = None,
    gain: float | None = None,
) -> tuple[Evidence, list[Optimum]]:
    """Search from the first start by gradients alone: few evaluations, and none of the evidence itself but the last.

    ``bend`` says roughly how the gradient falls with each parameter, given the solution at the start; ``inverse`` is
    about the inverse of minus the curvature. The search ends on a step that would gain less than ``gain``.
    """
    exact = not evidence.problem.estimated
    tol, least = EXACT if exact else ESTIMATED
    rough = evidence
    if not exact:  # estimates are noisier than what a method leaves
        rough = evidence.over(evidence.problem.rough(), evidence.likelihood, tol=max(evidence.method.tol, ROUGH))
    with few_threads(evidence.order):
        start = np.clip(first.points[0], *first.bounds.T)
        here = rough.slope(start)
        step = np.full(start.shape, FIRST_STEP) if inverse is None else inverse
        if bend is not None and rough.searched is not None:
            step = np.minimum(np.abs(here) / np.maximum(bend(rough.searched[1]), 1e-6), LONGEST_STEP)
        found = quasi_newton(
            lambda theta: (np.nan, here if np.array_equal(theta, start) else rough.slope(theta)),
            start,
            first.bounds,
            step,
            tol=tol,
            gain=max(least, gain or 0.0),
        )
        if not exact:  # draws of the same noise: a start for more of them
            evidence.warm = rough.warm
        value = evidence.end_search(found.theta).posterior.log_evidence + evidence.hyperprior_gain(found.theta)[0]
    return evidence, [replace(found, evidence=value)]


def learn(
    evidence: Evidence,
    first: Starts | None,
    *,
    n_points: int = 0,
    seed: int = 0,
    points: HyperPosterior | None = None,
    search: Search = maximise_evidence,
) -> Learned:
    """Search from the given starts (None: stay), average over ``n_points``, or known ``points``, if any, and infer."""
    theta = evidence.parameters.theta
    optima: list[Optimum] = []
    if first is None or not (theta.shape[0] or evidence.reliability is not None):
        return _inferred(evidence, theta, optima, None, 0, seed, points)
    evidence, optima = search(evidence, first)
    found = _inferred(evidence, optima[0].theta, optima, first.bounds, n_points, seed, points)
    return with_reverse(found, first.bounds, n_points, seed)


def _inferred(
    evidence: Evidence,
    theta: FloatArray,
    optima: list[Optimum],
    bounds: FloatArray | None,
    n_points: int,
    seed: int,
    points: HyperPosterior | None = None,
) -> Learned:
    """Average around optima, or over known points, if any, and infer."""
    with few_threads(evidence.order):
        if optima:
            if n_points and theta.shape[0]:
                assert bounds is not None
                points = average(evidence.penalised, optima, bounds, n_points, seed)
            evidence.settle()
        solution = evidence.solve(theta)
        mixture = [(1.0, solution)]
        if points is not None:
            mixture = [(float(w), evidence.solve(t)) for w, t in zip(points.weight, points.theta, strict=True)]
    return Learned(evidence, theta, optima, solution, mixture, points)


def updated(before: Learned, now: Learned, again: Callable[[Learned], Evidence]) -> Learned:
    """Return what is known of more outcomes, ``now``, with the reverse direction that was known ``before``.

    Parameters and reliabilities are those of before; ``again`` returns the evidence of all outcomes that starts from
    what was learned in one direction. What the new outcomes say of the direction counts.
    """
    if before.reverse is None:
        return now
    old = before.reverse
    other = _inferred(again(old), old.theta, [], None, 0, 0, old.points if now.points is not None else None)
    gain = other.solution.posterior.log_evidence - now.solution.posterior.log_evidence
    gain -= old.solution.posterior.log_evidence - before.solution.posterior.log_evidence
    return now.beside(other, float(np.log(old.weight / before.weight)) + gain)


def learned_again(evidence: Evidence, state: dict[str, Any]) -> Learned:
    """Return what was learned from its `Learned.state`; DataError or another error if parts do not belong together."""
    found = _again(evidence, state)
    if "reverse" not in state:
        return replace(found, weight=1.0)
    other = _again(replace(evidence), state["reverse"])
    if not (0.0 < other.weight <= found.weight and abs(found.weight + other.weight - 1.0) < 1e-6):
        raise DataError("the weights of two directions do not sum to 1")
    return replace(found, reverse=other)


def _again(evidence: Evidence, state: dict[str, Any]) -> Learned:
    """Return what was learned in one direction."""
    names = evidence.parameters.names
    theta = check_theta("theta", state["theta"], names)
    kept = state["reliability"]
    if (kept is None) != (evidence.reliability is None):
        raise DataError("the parameters have reliabilities and the data of the model none, or the other way round")
    if evidence.reliability is not None:
        evidence.take(evidence.reliability.again(numbers(kept, "reliabilities")))
    points = check_points(state["hyperposterior"], names)
    every = [theta] if points is None else [theta, *points.theta]
    with few_threads(evidence.order):
        found = [evidence.again(one, part) for one, part in zip(every, state["solutions"], strict=True)]
    evidence.warm = found[-1].start()
    mixture = [(1.0, found[0])]
    if points is not None:
        mixture = [(float(w), s) for w, s in zip(points.weight, found[1:], strict=True)]
    optima = check_optima(state["optima"], theta.shape)
    weight = float(numbers(np.float64(state.get("weight", 1.0)), "the weight of a direction"))
    return Learned(evidence, theta, optima, found[0], mixture, points, weight)


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
        raise DataError("the points of the hyperparameters are not valid")
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
