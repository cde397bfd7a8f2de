"""Expectation propagation: all sites at once, mixed, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from preflearn.inference.contract import Curve, Found, Info, Method, Observed, Posterior, Slopes, System, Warm
from preflearn.inference.laplace import Laplace
from preflearn.linalg.iterative import Anderson
from preflearn.operators import FloatArray

LARGEST_STEP = 3.0  # of a site, in units of the posterior's own precision and deviation
LARGEST_FALL = 0.5  # of a site's precision that may become negative, in units of the posterior's
HALVINGS = 20
MOST_SWEEPS = 200
DAMPINGS = 0.5, 0.2  # of likelihoods that are not log-concave, where mixing fails
RAMP = 10.0  # by how much weights grow at a time where the direct way fails

Sites = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class _Problem:
    system: System
    seen: Observed
    likelihood: Any

    @property
    def power(self) -> FloatArray:
        return np.minimum(self.seen.weight, 1.0)


def _cavity(power: FloatArray, sites: Sites, z: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of z with one of its own sites taken out."""
    # A site that is all that is known of z leaves a cavity of rounding; the floor adds 1e-12 of the precision.
    rest = np.maximum(1.0 - power * sites[0] * variance, 1e-12)
    return (z - power * sites[1] * variance) / rest, variance / rest


@dataclass(frozen=True)
class _Sweep:
    """The posterior for given sites, and the sites that would match the tilted moments there."""

    sites: Sites
    curve: Curve
    u: FloatArray
    z: FloatArray
    variance: FloatArray
    cavity: tuple[FloatArray, FloatArray]
    tilt: Any
    toward: Sites  # what would match, but for a step that is cut where it would change a posterior beyond recognition
    gap: float

    @classmethod
    def at(cls, problem: _Problem, sites: Sites) -> _Sweep:
        system, seen, weight, power = problem.system, problem.seen, problem.seen.weight, problem.power
        tau, nu = sites
        concave = problem.likelihood.log_concave
        curve = system.curve(seen.squares(weight * tau), semidefinite=concave)
        u = curve.solve(system.back(seen.sums(weight * nu)))
        z = seen.see(system.forward(u))
        variance = np.maximum(seen.spread(curve.variances), 1e-300)
        mean, V = _cavity(power, sites, z, variance)
        d = problem.likelihood.smoothed(seen.y, mean, V, power)
        # tilted mean m + V d₁, tilted variance V (1 + V d₂); the site is what makes the difference
        d_tau = -d.second / (power * d.rest) - tau
        d_nu = (d.first - mean * d.second) / (power * d.rest) - nu
        # what the new sites would do to the posterior of z, in units of its precision and of its deviation, or of the
        # last digits of the mean where the deviation is below these
        deviation = np.sqrt(variance)
        shift = weight * np.abs(d_nu - z * d_tau) * deviation
        change = weight * np.abs(d_tau) * variance
        gap = float(np.max(change + shift / (1.0 + 1e-6 * np.abs(z) / deviation), initial=0.0))
        cut = 1.0 / np.maximum(1.0, (change + shift) / LARGEST_STEP)
        lowest = 0.1 * tau if concave else tau - LARGEST_FALL / (weight * variance)
        toward = np.maximum(tau + cut * d_tau, lowest), nu + cut * d_nu
        return cls(sites, curve, u, z, variance, (mean, V), d, toward, gap)

    def posterior(self, problem: _Problem) -> Posterior:
        """Return it; log Z = Σ w/a (log Ẑ + site normaliser) + the log of the Gaussian integral, but for log |B|."""
        (tau, nu), weight, power, (mean, V) = self.sites, problem.seen.weight, problem.power, self.cavity
        t, n = power * tau, power * nu
        normaliser = (
            self.tilt.log_z + 0.5 * np.log1p(t * V) - 0.5 * (n**2 * V + 2 * n * mean - t * mean**2) / (1.0 + t * V)
        )
        value = float((weight / power) @ normaliser) + 0.5 * float((weight * nu) @ self.z)
        return Posterior(problem.system, self.curve, self.u, problem.seen.sums(weight * (nu - tau * self.z)), value)


def _ways(problem: _Problem, start: Sites | None, tol: float) -> Iterator[tuple[int, _Sweep]]:
    """Iterate from a start, from the first sites, and by other ways, as long as somebody asks for more."""
    if start is not None:
        yield _iterate(problem, start, tol)
    yield _iterate(problem, _first_sites(problem), tol)
    if problem.likelihood.log_concave:
        yield _ramp(problem, tol)
    else:
        for damping in DAMPINGS:
            yield _iterate(problem, _first_sites(problem), tol, damping)


def _first_sites(problem: _Problem) -> Sites:
    if not problem.likelihood.log_concave:
        return np.zeros_like(problem.seen.weight), np.zeros_like(problem.seen.weight)
    found = Laplace(1e-6).solve(problem.system, problem.seen, problem.likelihood)
    return found.tau, found.nu


def _ramp(problem: _Problem, tol: float) -> tuple[int, _Sweep]:
    # Millions of votes on one pair: updates that are right for each copy overshoot together by the number of copies,
    # unless the posterior already is about what so many votes make of it.
    sites: Sites = np.zeros_like(problem.seen.weight), np.zeros_like(problem.seen.weight)
    steps, cap = 0, 1.0
    while cap < problem.seen.weight.max():
        light = replace(problem, seen=replace(problem.seen, weight=np.minimum(problem.seen.weight, cap)))
        more, sweep = _iterate(light, sites, 1e-2)
        steps, cap = steps + more, RAMP * cap
        share = light.seen.weight / np.minimum(problem.seen.weight, cap)
        sites = share * sweep.sites[0], share * sweep.sites[1]
    more, sweep = _iterate(problem, sites, tol)
    return steps + more, sweep


def _iterate(problem: _Problem, sites: Sites, tol: float, damping: float | None = None) -> tuple[int, _Sweep]:
    # mixed, or with plain steps of one length
    weight, m = problem.seen.weight, problem.seen.weight.shape[0]
    anderson = Anderson()
    try:
        sweep = _Sweep.at(problem, sites)
    except np.linalg.LinAlgError:  # sites of other parameters
        sweep = _Sweep.at(problem, (np.maximum(sites[0], 0.0), sites[1]))
    best = sweep
    steps = 0
    while sweep.gap > tol and steps < MOST_SWEEPS:
        x, target = np.concatenate(sweep.sites), np.concatenate(sweep.toward)
        # a change of a site by δτ changes the posterior's logarithm by about w δτ variance, by δν as w δν deviation
        scale = np.concatenate([weight * sweep.variance, weight * np.sqrt(sweep.variance)])
        if damping is None:
            mixed, plain = anderson.step(x, target - x, scale, sweep.gap)
        else:
            mixed = plain = x + damping * (target - x)
        if problem.likelihood.log_concave:
            wrong = np.tile(mixed[:m] < 0.0, 2)  # no precision is negative
            mixed = np.where(wrong, plain, mixed)
            sweep = _Sweep.at(problem, (mixed[:m], mixed[m:]))
        else:
            sweep = _proper(problem, x, [mixed, plain])
        best = min(best, sweep, key=lambda s: s.gap)
        steps += 1
    return steps, best


def _proper(problem: _Problem, x: FloatArray, wanted: list[FloatArray]) -> _Sweep:
    # The first of the wanted sites with a proper posterior, or the last of them moved towards x, which has one.
    m = problem.seen.weight.shape[0]
    for _ in range(HALVINGS):
        wanted.append((x + wanted[-1]) / 2)
    for sites in (*wanted, x):
        try:
            return _Sweep.at(problem, (sites[:m], sites[m:]))
        except np.linalg.LinAlgError:
            continue
    raise AssertionError("the posterior at x was proper")


@dataclass(frozen=True)
class EP(Method):
    """Match the moments of every comparison's tilted distribution by Gaussian sites exp(ν z - τ z²/2).

    A comparison of weight w >= 1 stands for w equal sites, each matched against the posterior without one of them: for
    whole weights this is EP on repeated comparisons. One of weight w < 1 is a single site for p(y | z)ʷ. (Both at
    once: power EP with power a = min(w, 1), where w/a sites of pᵃ make up pʷ; continuous in w.)

    All sites are updated at once, and the updates accelerated (`Anderson`); log-concavity keeps τ >= 0. Sites of other
    likelihoods may have negative precision, and steps are halved until B is positive definite. It starts from the sites
    (τ, ν) per unit of weight of an earlier solution, or from those of Laplace's approximation. Where that fails, the
    weights grow from at most 1 to what they are. Cost per sweep: one factorisation of B and the variances of all cells.
    """

    name: ClassVar[str] = "ep"
    words: ClassVar[str] = "EP"
    log_concave_only: ClassVar[bool] = False
    exact_only: ClassVar[bool] = True

    def solve(self, system: Any, seen: Observed, likelihood: Any, warm: Warm | None = None) -> Found:
        """Match the moments."""
        problem = _Problem(system, seen, likelihood)
        steps, good = 0, 100 * self.tol
        best: _Sweep | None = None
        for more, sweep in _ways(problem, None if warm is None else warm.parts, self.tol):
            steps, best = steps + more, sweep if best is None or sweep.gap < best.gap else best
            if not best.gap > good:
                break
        assert best is not None
        return Found(best.posterior(problem), Info(steps, best.gap, self.tol, best.gap <= good), *best.sites)

    def gradient(self, found: Found, seen: Observed, likelihood: Any) -> Slopes:
        """Return the derivatives of the evidence.

        At the fixed point the sites' own derivatives cancel: <½ (TVT - T + gg'), d prior covariance of x> with
        g = Σ s w (ν - τ z).
        """
        posterior, weight, tau = found.posterior, seen.weight, found.tau
        x, variances = posterior.x, posterior.curve.variances
        z = seen.see(x)
        b, power = weight * (found.nu - tau * z), np.minimum(weight, 1.0)
        cavity = _cavity(power, (tau, found.nu), z, np.maximum(seen.spread(variances), 1e-300))
        own = np.asarray((weight / power) @ likelihood.tilted_theta(seen.y, *cavity, power))
        plain = seen.scaled(None)
        s = np.ones_like(b) if seen.scale is None else seen.scale
        scale = b * plain.see(x) - weight * tau * s * plain.see(variances)
        g = seen.sums(b)
        return Slopes(posterior.curve.sensitivity(g, np.zeros_like(g)), own, scale)
