"""Laplace's approximation for log-concave likelihoods, its evidence and the gradient of it (MATHS 9)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from preflearn.inference.design import Design
from preflearn.inference.factor import PriorFactor
from preflearn.inference.posterior import Curvature, Info, Posterior
from preflearn.operators import FloatArray

__all__ = ["laplace", "laplace_gradient"]

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
    factor: PriorFactor,
    A: Any,
    y: FloatArray,
    weight: FloatArray,
    likelihood: LogConcave,
    *,
    start: FloatArray | None = None,
    near: Curvature | None = None,
    tol: float = 1e-9,
    max_steps: int = 100,
) -> tuple[Posterior, Info]:
    """Find the mode of Σ w log p(y | AR u) - u'u/2 by Newton steps, and the Gaussian at it.

    Steps are halved until they climb (the objective is concave, so this ends); the iteration stops on the norm of the
    gradient, because stopping on the objective loses up to five digits of the evidence's gradient. ``start`` is a warm
    start, the ``a`` of an earlier posterior: at a mode u = R'a with a = A'(w d₁), whatever the kernel.

    B is factored at the mode, n r² + r³/3 beyond the product ΛR. Before that Newton's equations are solved by conjugate
    gradients with the last factor as preconditioner, n r and O(m) a step; where that is slow, because the precisions
    have changed much, B is factored again. ``near`` is the first preconditioner, B of a nearby problem.
    """
    design = Design.of(A)
    u = np.zeros(factor.rank) if start is None else factor.back(start)

    def objective(v: FloatArray) -> tuple[float, Any]:
        d = likelihood.log_density(y, design.A @ factor.forward(v))
        return float(weight @ d.value) - 0.5 * float(v @ v), d

    value, d = objective(u)
    if start is not None:  # a start that is worse than nothing (another kernel scale, say) is no start
        cold, d_cold = objective(np.zeros_like(u))
        if not value >= cold:
            u, value, d = np.zeros_like(u), cold, d_cold
    steps, norm, before = 0, np.inf, np.inf
    curvature = near if near is not None and near.LB.shape[0] == factor.rank else None
    while True:
        gradient = factor.back(design.AT @ (weight * d.first)) - u
        # the scale of rounding in the gradient is that of its two parts
        norm = float(np.linalg.norm(gradient)) / max(1.0, float(np.linalg.norm(u)))
        Lam = design.laplacian(-weight * d.second)
        # one step beyond the tolerance: the determinant is not flat at the mode, and sees what is left of the way
        if norm <= 1e-3 * tol or before <= tol or steps >= max_steps:
            break
        before = norm
        if curvature is None or min(factor.rank, design.size) <= FACTOR_ALWAYS:
            curvature = Curvature.build(factor, Lam)
            step = curvature.solve(gradient)
        else:
            most = getattr(design, "inner_steps", Design.inner_steps)
            step, solved = _conjugate(factor, Lam, curvature, gradient, max(0.1 * tol, min(0.03, norm)), most)
            if not solved:
                curvature = None  # the step is still one that climbs
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
            curvature = None
        u, value, d = u + size * step, trial, d_trial
        steps += 1
    curvature = Curvature.build(factor, Lam)
    evidence = value - 0.5 * curvature.log_det
    a = design.AT @ (weight * d.first)
    # Newton's step in units of the posterior's deviation, or of the last digits of the mode where it is sharper than
    # these: at most the gradient's norm, and far less than its rounding where precisions are huge
    step = curvature.solve(gradient)
    z = design.A @ factor.forward(u)
    digits = 1e-6 * float(np.sqrt(u @ u - (weight * d.second) @ z**2))  # √(u'Bu), a sum of squares
    residual = min(norm, float(np.sqrt(max(float(gradient @ step), 0.0))) / max(1.0, digits))
    return Posterior.of(factor, curvature, u, a, evidence), Info(steps, residual, tol, residual <= 100 * tol)


def _conjugate(
    factor: PriorFactor, Lam: Any, near: Curvature, b: FloatArray, tol: float, most: int
) -> tuple[FloatArray, bool]:
    """Solve (I + R'ΛR) x = b by conjugate gradients with a factored B of other precisions as preconditioner."""
    x = np.zeros_like(b)
    residual = b.copy()
    wanted = tol * float(np.linalg.norm(b))
    z = near.solve(residual)
    direction = z
    inner = float(residual @ z)
    for _ in range(most):
        image = direction + factor.back(Lam @ factor.forward(direction))
        length = inner / float(direction @ image)
        x += length * direction
        residual -= length * image
        if float(np.linalg.norm(residual)) <= wanted:
            return x, True
        z = near.solve(residual)
        previous, inner = inner, float(residual @ z)
        direction = z + (inner / previous) * direction
    return x, False


def laplace_gradient(
    posterior: Posterior, A: Any, y: FloatArray, weight: FloatArray, likelihood: LogConcave
) -> tuple[Any, FloatArray]:
    """Return M with d evidence = <M, dK> and the derivative in the likelihood's own parameters.

    With a = A'(w d₁), C the posterior covariance, s = ½ A'(diag(ACA') w d₃) the derivative of -½ log|B| through the
    mode, and t = (I - ΛC) s:  M = ½ (aa' - (Λ - ΛCΛ)) + sym(t a').
    """
    design = Design.of(A)
    factor, curvature = posterior.factor, posterior.curvature
    z = design.A @ factor.forward(posterior.u)
    d = likelihood.log_density(y, z)
    covariance = factor.covariance(curvature.LB)
    a = design.AT @ (weight * d.first)
    spread = covariance.spread(design)
    s = 0.5 * (design.AT @ (spread * weight * d.third))
    Cs = factor.forward(curvature.solve(factor.back(s)))
    t = s - curvature.Lam @ Cs
    M = covariance.sensitivity(curvature.Lam, a + t, t)
    own = [
        float(weight @ (value + 0.5 * spread * second)) + float(Cs @ (design.AT @ (weight * first)))
        for value, first, second in likelihood.log_density_theta(y, z)
    ]
    return M, np.array(own)
