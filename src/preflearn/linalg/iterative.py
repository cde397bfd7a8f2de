"""Iterations: conjugate gradients for several sides at once, traces of functions, Anderson mixing of fixed points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from preflearn.linalg import FloatArray

LANCZOS = 40  # most steps of the quadrature
SMALL, TINY = 1e-12, 1e-300

Map = Callable[[FloatArray], FloatArray]


def conjugate(
    apply: Map, b: FloatArray, precondition: Map, tol: float, most: int, start: FloatArray | None = None
) -> tuple[FloatArray, float]:
    """Solve P x = b, (n,) or several columns at once, by preconditioned conjugate gradients; say what is left.

    That is the largest residual relative to b, both in the norm of the preconditioner; the iteration ends where it is
    at most ``tol``.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> x, left = conjugate(lambda x: P @ x, np.array([3.0, 4.0]), lambda r: r / P.diagonal(), 1e-12, 10)
    >>> x.round(12), left < 1e-12
    (array([1., 1.]), True)
    """
    x = np.zeros_like(b) if start is None else start.copy()
    residual = b.copy() if start is None else b - apply(x)
    direction = precondition(residual)
    inner = _inner(residual, direction)
    size = np.maximum(inner if start is None else _inner(b, precondition(b)), TINY)
    for step in range(most + 1):
        left = float(np.sqrt(np.maximum(inner / size, 0.0)).max(initial=0.0))
        if left <= tol or step == most:
            break
        image = apply(direction)
        length = inner / np.maximum(_inner(direction, image), TINY)
        x += length * direction
        residual -= length * image
        z = precondition(residual)
        previous, inner = inner, _inner(residual, z)
        direction = z + (inner / np.maximum(previous, TINY)) * direction
    return x, left


def _inner(a: FloatArray, b: FloatArray) -> Any:
    return np.einsum("i...,i...->...", a, b)


def trace_of(apply: Map, probes: FloatArray, function: Map, precondition: Map | None = None) -> float:
    """Estimate the trace of a function of P^-½ B P^-½ by Lanczos quadrature, which conjugate gradients carry out.

    ``probes`` (n, k) have covariance P, whose inverse is ``precondition``; None: P is the identity.

    Examples
    --------
    >>> import numpy as np
    >>> M = np.diag([1.0, 2.0, 4.0])
    >>> round(trace_of(lambda x: M @ x, np.ones((3, 1)), np.log), 6), round(float(np.log(8)), 6)
    (2.079442, 2.079442)
    """
    n, count = probes.shape
    residual = probes.copy()
    direction = z = residual.copy() if precondition is None else precondition(residual)
    inner = _inner(residual, z)
    first = inner
    lengths, ratios = [], []
    for _ in range(min(LANCZOS, n)):
        image = apply(direction)
        lengths.append(inner / np.maximum(_inner(direction, image), TINY))
        residual = residual - lengths[-1] * image
        z = residual if precondition is None else precondition(residual)
        previous, inner = inner, _inner(residual, z)
        ratios.append(inner / np.maximum(previous, TINY))
        direction = z + ratios[-1] * direction
        if (inner <= SMALL * first).all():
            break
    total = 0.0
    for length, ratio in zip(np.array(lengths).T, np.array(ratios).T, strict=True):
        ended = np.flatnonzero(ratio[:-1] < SMALL)
        last = int(ended[0]) + 1 if ended.size else len(length)
        a, b = length[:last], ratio[: last - 1]
        diagonal = 1.0 / a
        diagonal[1:] += b / a[:-1]
        values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, np.sqrt(b) / a[:-1])
        total += float(vectors[0] ** 2 @ function(np.maximum(values, TINY)))
    return float(n * total / count)


DEPTH = 6  # earlier steps that are remembered
SHORTEST = 1e-4  # damping that is not halved again
SETBACK = 1.5  # a residual may grow by this before a step is taken back


class Anderson:
    """The next point of a fixed-point iteration, from the points so far and their residuals r = F(x) - x.

    The next point is the combination of the last few whose residual, were F linear, would be the shortest, and a damped
    step along it. Where the residual has grown instead, the memory is dropped and a shorter plain step is tried from
    the best point. Cost: a least-squares problem with a handful of columns.
    """

    def __init__(self) -> None:
        self.points: list[FloatArray] = []
        self.residuals: list[FloatArray] = []
        self.damping = 1.0
        self.best: tuple[float, FloatArray, FloatArray] | None = None

    def step(
        self, x: FloatArray, residual: FloatArray, scaled: FloatArray, size: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the next point, and the plain damped step to it from a point that is known to be good.

        ``scaled`` are the weights of the residual's parts in the least squares; ``size`` is what should become zero.
        """
        if self.best is not None and size > SETBACK * self.best[0]:
            self.damping = max(0.5 * self.damping, SHORTEST)
            self.points, self.residuals = [], []
            _, x, residual = self.best
            plain = x + self.damping * residual
            return plain, plain
        if self.best is None or size < self.best[0]:
            self.best = size, x, residual
            self.damping = min(1.0, 1.5 * self.damping)
        else:
            self.best = size, x, residual
        self.points = [*self.points[-DEPTH:], x]
        self.residuals = [*self.residuals[-DEPTH:], residual]
        plain = x + self.damping * residual
        if len(self.points) == 1:
            return plain, plain
        dX, dR = np.diff(self.points, axis=0).T, np.diff(self.residuals, axis=0).T
        mix = np.linalg.lstsq(scaled[:, None] * dR, scaled * residual, rcond=1e-10)[0]
        return np.asarray(plain - (dX + self.damping * dR) @ mix), plain
