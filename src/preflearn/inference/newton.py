"""Newton's equations (I + S'TS) x = b with a factor of B for other precisions: conjugate gradients, or a new factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.inference.krylov import conjugate
from preflearn.inference.system import Curve, System
from preflearn.operators import FloatArray

__all__ = ["diagonal_step", "factored_step"]

FACTOR_ALWAYS = 150  # up to this rank a factorisation costs no more than a few products
MORE_STEPS = 60  # with the diagonal alone, before a factor is the better buy


def factored_step(
    system: System, tau: FloatArray, b: FloatArray, near: Curve | None, tol: float, steps: int
) -> tuple[FloatArray, Curve | None]:
    """Solve by conjugate gradients, a product with S and S' each step, with the last factor as preconditioner.

    Where that takes more than so many steps, because the precisions have changed much, the next call factors B again.
    """
    if near is None or min(system.size, system.order) <= FACTOR_ALWAYS:
        near = system.curve(tau)
        return near.solve(b), near
    ridge = system.ridge
    x = np.zeros_like(b)
    residual = b.copy()
    wanted = tol * float(np.linalg.norm(b))
    z = near.precondition(residual)
    direction = z
    inner = float(residual @ z)
    for _ in range(steps):
        image = ridge * direction + system.back(tau * system.forward(direction))
        length = inner / float(direction @ image)
        x += length * direction
        residual -= length * image
        if float(np.linalg.norm(residual)) <= wanted:
            return x, near
        z = near.precondition(residual)
        previous, inner = inner, float(residual @ z)
        direction = z + (inner / previous) * direction
    return x, None  # still a direction that climbs


def diagonal_step(
    system: Any, tau: FloatArray, b: FloatArray, near: Curve | None, tol: float, steps: int
) -> tuple[FloatArray, Curve | None]:
    """Solve with the diagonal of B as preconditioner; where that is slow by `factored_step`.

    For independent latents that rows see few of each, in a graph without bottlenecks a few products will do.
    """
    if min(system.size, system.order) > FACTOR_ALWAYS:
        diagonal = system.factor.diagonal(system.design.square_sums(tau))
        centred, ridge = system.factor.centred, system.ridge
        x, solved = conjugate(
            lambda x: ridge * x + system.back(tau * system.forward(x)),
            centred(b),
            lambda r: centred(r / diagonal),
            tol,
            MORE_STEPS,
        )
        if solved:
            return x, near
    return factored_step(system, tau, b, near, tol, steps)
