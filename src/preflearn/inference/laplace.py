"""Laplace's approximation for log-concave likelihoods, its evidence and gradient: docs/maths.md, section 9."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from preflearn.inference.contract import Curve, Found, Info, Method, Observed, Posterior, Slopes, System, Warm
from preflearn.operators import FloatArray

MOST_STEPS = 100


def find_mode(system: System, seen: Observed, likelihood: Any, u: FloatArray, near: Curve | None, tol: float) -> Found:
    """Return the Gaussian at the mode of Σ w log p(y | s S u) - ridge u'u/2, which is found from u by Newton steps.

    Steps are halved until they rise (the objective is concave, so this ends); the iteration stops on the norm of the
    gradient, because stopping on the objective loses up to five digits of the evidence's gradient. Before the mode
    Newton's equations are solved as the system sees fit; ``near`` is B of a nearby problem.
    """
    y, weight, ridge = seen.y, seen.weight, system.ridge

    def objective(v: FloatArray) -> tuple[float, Any]:
        d = likelihood.log_density(y, seen.see(system.forward(v)))
        return float(weight @ d.value) - 0.5 * ridge * float(v @ v), d

    value, d = objective(u)
    started = bool(u.any())
    steps, norm, before, rise = 0, np.inf, np.inf, np.inf
    helps = near if near is not None and near.system.size == system.size else None
    while True:
        gradient = system.back(seen.sums(weight * d.first)) - ridge * u
        # the scale of rounding in the gradient is that of its two parts
        norm = float(np.linalg.norm(gradient)) / max(1.0, float(np.linalg.norm(u)))
        tau = seen.squares(-weight * d.second)
        # one step beyond the tolerance: the determinant is not flat at the mode, and sees what is left of the way
        if norm <= 1e-3 * tol or before <= tol or steps >= MOST_STEPS:
            break
        before = norm
        step, helps = system.newton(tau, gradient, helps, max(0.1 * tol, min(0.03, norm, np.sqrt(rise))))
        rise = float(gradient @ step)
        if rise <= (1e-3 * tol) ** 2:
            break  # what is left of the gradient is rounding: the step is no part of the posterior's own deviation
        size = 1.0
        trial, d_trial = objective(u + step)
        while not trial >= value + 1e-4 * size * rise - 1e-12 * abs(value) and size > 1e-10:
            size /= 2
            trial, d_trial = objective(u + size * step)
        if started and size < 1.0:  # a start that is worse than nothing (another kernel scale, say) is no start
            started = False
            cold, d_cold = objective(np.zeros_like(u))
            if not value >= cold:
                u, value, d, before = np.zeros_like(u), cold, d_cold, np.inf
                continue
        if size <= 1e-10:
            break
        if size < 1.0:
            helps = None
        u, value, d = u + size * step, trial, d_trial
        steps += 1
    curve = system.curve(tau, near=near)
    # Newton's step in units of the posterior's deviation, or of the last digits of the mode where it is sharper than
    # these: at most the gradient's norm, and far less than its rounding where precisions are huge
    step = curve.solve(gradient)
    digits = 1e-6 * float(np.sqrt(ridge * (u @ u) + tau @ np.square(system.forward(u))))  # √(u'Bu), a sum of squares
    residual = min(norm, float(np.sqrt(max(float(gradient @ step), 0.0))) / max(1.0, digits))
    posterior = Posterior(system, curve, u, seen.sums(weight * d.first), value)
    info = Info(steps, residual, tol, residual <= 100 * tol)
    return Found(posterior, info, -d.second, d.first - d.second * seen.see(posterior.x), d)


@dataclass(frozen=True)
class Laplace(Method):
    """The Gaussian at the mode; it starts from ``g`` of an earlier posterior, with a factor of its B.

    At a mode u = S'g with g = Σ s w d₁ at the cells, whatever the prior.
    """

    name: ClassVar[str] = "laplace"
    words: ClassVar[str] = "Laplace's method"

    def solve(self, system: Any, seen: Observed, likelihood: Any, warm: Warm | None = None) -> Found:
        """Find the mode and the Gaussian at it."""
        last = None if warm is None else warm.near
        near = last.curve if last is not None and system.smooth and last.system.smooth else None
        u = np.zeros(system.size) if warm is None else system.start(warm.g, near)
        return find_mode(system, seen, likelihood, u, near, self.tol)

    def gradient(self, found: Found, seen: Observed, likelihood: Any) -> Slopes:
        """Return the derivatives of the evidence.

        With g = Σ s w d₁, V the posterior covariance of x, h = ½ Σ s (s² diag V) w d₃ the derivative of -½ log |B|
        through the mode, and t = h - TVh:  d evidence = <½ (TVT - T + (g + t)(g + t)' - tt'), d prior covariance of x>.
        """
        posterior, d, y, weight = found.posterior, found.derivatives, seen.y, seen.weight
        system, curve, x = posterior.system, posterior.curve, posterior.x
        g, spread = seen.sums(weight * d.first), seen.spread(curve.variances)
        h = 0.5 * seen.sums(spread * weight * d.third)
        Vh = system.forward(curve.solve(system.back(h)))
        t = h - seen.squares(-weight * d.second) * Vh
        moved = seen.see(Vh)
        own = [
            float(weight @ (value + 0.5 * spread * second)) + float(moved @ (weight * first))
            for value, first, second in likelihood.log_density_theta(y, seen.see(x))
        ]
        s = np.ones_like(y) if seen.scale is None else seen.scale
        plain = seen.scaled(None)
        x, c, Vh = plain.see(x), plain.see(curve.variances), plain.see(Vh)
        scale = weight * (
            d.first * x + 0.5 * c * (2 * s * d.second + s**2 * x * d.third) + (d.first + s * x * d.second) * Vh
        )
        return Slopes(curve.sensitivity(g + t, t), np.array(own), scale)


@dataclass(frozen=True)
class MaximumLikelihood(Method):
    """The maximum of the likelihood, with the inverse of the information there as covariance.

    For systems without a prior (`preflearn.terms.Multiple` of infinite variance), and so without an evidence: the
    ``log_evidence`` of what is found is the log likelihood at its maximum, the profile likelihood of parameters.
    """

    name: ClassVar[str] = "maximum likelihood"
    words: ClassVar[str] = "maximum likelihood"

    def solve(self, system: Any, seen: Observed, likelihood: Any, warm: Warm | None = None) -> Found:
        """Find the maximum, from that at nearby parameters."""
        last = None if warm is None else warm.near
        u, near = (np.zeros(system.size), None) if last is None else (last.u, last.curve)
        return find_mode(system, seen, likelihood, u, near, self.tol)

    def gradient(self, found: Found, seen: Observed, likelihood: Any) -> Slopes:
        """Return the derivatives of the profile likelihood."""
        z = seen.see(found.posterior.x)
        own = [float(seen.weight @ value) for value, _, _ in likelihood.log_density_theta(seen.y, z)]
        return Slopes(np.zeros_like(found.posterior.u), np.array(own), np.zeros_like(z))
