"""Laplace's approximation for log-concave likelihoods, its evidence and the gradient of it (MATHS 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from preflearn.inference.method import Found, Slopes
from preflearn.inference.observed import Observed
from preflearn.inference.posterior import Info, Posterior
from preflearn.inference.system import Curve, System
from preflearn.operators import FloatArray

__all__ = ["Laplace", "LogConcave", "laplace", "laplace_gradient"]

FACTOR_ALWAYS = 150  # up to this rank a factorisation costs no more than a few products


class LogConcave(Protocol):
    """What Laplace's method asks of a likelihood; see `preflearn.likelihoods`."""

    def log_density(self, y: FloatArray, z: FloatArray) -> Any:
        """Return log p(y | z) and its first three derivatives in z."""
        ...

    def log_density_theta(self, y: FloatArray, z: FloatArray) -> Any:
        """Return the derivatives of value, first and second in each free parameter."""
        ...


def laplace(
    system: System,
    seen: Observed,
    likelihood: LogConcave,
    *,
    start: FloatArray | None = None,
    near: Curve | None = None,
    tol: float = 1e-9,
    max_steps: int = 100,
) -> tuple[Posterior, Info]:
    """Find the mode of Σ w log p(y | s S u) - u'u/2 by Newton steps, and the Gaussian at it.

    Steps are halved until they climb (the objective is concave, so this ends); the iteration stops on the norm of the
    gradient, because stopping on the objective loses up to five digits of the evidence's gradient. ``start`` is a warm
    start, the ``g`` of an earlier posterior: at a mode u = S'g with g = Σ s w d₁ at the cells, whatever the prior.

    B is factored at the mode. Before that Newton's equations are solved by conjugate gradients with the last factor as
    preconditioner, a product with S and S' each step; where that is slow, because the precisions have changed much, B
    is factored again. ``near`` is the first preconditioner, B of a nearby problem.
    """
    y, weight = seen.y, seen.weight
    u = np.zeros(system.size) if start is None else system.back(start)

    def objective(v: FloatArray) -> tuple[float, Any]:
        d = likelihood.log_density(y, seen.see(system.forward(v)))
        return float(weight @ d.value) - 0.5 * float(v @ v), d

    value, d = objective(u)
    if start is not None:  # a start that is worse than nothing (another kernel scale, say) is no start
        cold, d_cold = objective(np.zeros_like(u))
        if not value >= cold:
            u, value, d = np.zeros_like(u), cold, d_cold
    steps, norm, before = 0, np.inf, np.inf
    curve = near if near is not None and near.system.size == system.size else None
    while True:
        gradient = system.back(seen.sums(weight * d.first)) - u
        # the scale of rounding in the gradient is that of its two parts
        norm = float(np.linalg.norm(gradient)) / max(1.0, float(np.linalg.norm(u)))
        tau = seen.squares(-weight * d.second)
        # one step beyond the tolerance: the determinant is not flat at the mode, and sees what is left of the way
        if norm <= 1e-3 * tol or before <= tol or steps >= max_steps:
            break
        before = norm
        if curve is None or min(system.size, system.order) <= FACTOR_ALWAYS:
            curve = system.curve(tau)
            step = curve.solve(gradient)
        else:
            step, solved = _conjugate(system, tau, curve, gradient, max(0.1 * tol, min(0.03, norm)))
            if not solved:
                curve = None  # the step is still one that climbs
        climb = float(gradient @ step)
        if climb <= (1e-3 * tol) ** 2:
            break  # what is left of the gradient is rounding: the step is no part of the posterior's own deviation
        size = 1.0
        trial, d_trial = objective(u + step)
        while not trial >= value + 1e-4 * size * climb - 1e-12 * abs(value) and size > 1e-10:
            size /= 2
            trial, d_trial = objective(u + size * step)
        if size <= 1e-10:
            break
        if size < 1.0:
            curve = None
        u, value, d = u + size * step, trial, d_trial
        steps += 1
    curve = system.curve(tau)
    evidence = value - 0.5 * curve.log_det
    # Newton's step in units of the posterior's deviation, or of the last digits of the mode where it is sharper than
    # these: at most the gradient's norm, and far less than its rounding where precisions are huge
    step = curve.solve(gradient)
    digits = 1e-6 * float(np.sqrt(u @ u + tau @ np.square(system.forward(u))))  # √(u'Bu), a sum of squares
    residual = min(norm, float(np.sqrt(max(float(gradient @ step), 0.0))) / max(1.0, digits))
    g = seen.sums(weight * d.first)
    return Posterior(system, curve, u, g, evidence), Info(steps, residual, tol, residual <= 100 * tol)


def _conjugate(system: System, tau: FloatArray, near: Curve, b: FloatArray, tol: float) -> tuple[FloatArray, bool]:
    """Solve (I + S'TS) x = b by conjugate gradients with a factored B of other precisions as preconditioner."""
    x = np.zeros_like(b)
    residual = b.copy()
    wanted = tol * float(np.linalg.norm(b))
    z = near.precondition(residual)
    direction = z
    inner = float(residual @ z)
    for _ in range(system.inner_steps):
        image = direction + system.back(tau * system.forward(direction))
        length = inner / float(direction @ image)
        x += length * direction
        residual -= length * image
        if float(np.linalg.norm(residual)) <= wanted:
            return x, True
        z = near.precondition(residual)
        previous, inner = inner, float(residual @ z)
        direction = z + (inner / previous) * direction
    return x, False


def laplace_gradient(posterior: Posterior, seen: Observed, likelihood: LogConcave) -> Slopes:
    """Return the derivatives of the evidence.

    With g = Σ s w d₁, V the posterior covariance of x, h = ½ Σ s (s² diag V) w d₃ the derivative of -½ log |B| through
    the mode, and t = h - TVh:  d evidence = <½ (TVT - T + (g + t)(g + t)' - tt'), d prior covariance of x>.
    """
    system, curve, y, weight = posterior.system, posterior.curve, seen.y, seen.weight
    x = system.forward(posterior.u)
    d = likelihood.log_density(y, seen.see(x))
    g, spread = seen.sums(weight * d.first), seen.spread(curve.variances)
    h = 0.5 * seen.sums(spread * weight * d.third)
    Vh = system.forward(curve.solve(system.back(h)))
    t = h - curve.tau * Vh
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
class Laplace:
    """Laplace's method as an inference; a warm start is ``g`` of an earlier posterior and a factor of its B."""

    name: ClassVar[str] = "laplace"
    words: ClassVar[str] = "Laplace's method"
    log_concave_only: ClassVar[bool] = True
    tol: float = 1e-9

    def solve(self, system: Any, seen: Observed, likelihood: Any, warm: Any = None) -> Found:
        """Find the mode and the Gaussian at it."""
        start, near = (None, None) if warm is None else warm
        near = near if system.smooth else None
        posterior, info = laplace(system, seen, likelihood, start=start, near=near, tol=self.tol)
        z = seen.see(posterior.x)
        d = likelihood.log_density(seen.y, z)
        return Found(posterior, info, -d.second, d.first - d.second * z)

    def gradient(self, found: Found, seen: Observed, likelihood: Any) -> Slopes:
        """Return the derivatives of the evidence."""
        return laplace_gradient(found.posterior, seen, likelihood)

    def warm(self, found: Found, before: Any) -> Any:
        """Return the warm start for nearby parameters."""
        return found.posterior.g, found.posterior.curve if found.posterior.system.smooth else None

    def kept(self, warm: Any) -> Any:
        """Return a warm start as numbers."""
        return None if warm is None else warm[0]

    def again(self, kept: Any, found: list[Found]) -> Any:
        """Return the warm start that was kept; the factor of B is that of a posterior with the same g."""
        near = next((f.posterior for f in reversed(found) if np.array_equal(f.posterior.g, kept)), None)
        return kept, near.curve if near is not None and near.system.smooth else None
