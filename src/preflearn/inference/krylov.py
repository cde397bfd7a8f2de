"""Linear algebra by products alone: conjugate gradients for several sides at once, and traces of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from preflearn.operators import FloatArray

__all__ = ["conjugate", "trace_of"]

LANCZOS = 30  # steps of the quadrature

Solve = Callable[[FloatArray], FloatArray]


def conjugate(
    apply: Solve, b: FloatArray, precondition: Solve, tol: float, most: int, start: FloatArray | None = None
) -> tuple[FloatArray, bool]:
    """Solve P x = b, (n,) or several columns at once, by preconditioned conjugate gradients; say whether it ended.

    ``tol`` is the residual relative to b, both in the norm of the preconditioner.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> conjugate(lambda x: P @ x, np.array([3.0, 4.0]), lambda r: r / P.diagonal(), 1e-12, 10)
    (array([1., 1.]), True)
    """
    x = np.zeros_like(b) if start is None else start.copy()
    residual = b.copy() if start is None else b - apply(x)
    wanted = tol * np.sqrt(np.maximum(_inner(b, precondition(b)), 0.0))
    z = precondition(residual)
    direction = z
    inner = _inner(residual, z)
    for _ in range(most):
        if (np.sqrt(np.maximum(inner, 0.0)) <= wanted).all():
            return x, True
        image = apply(direction)
        length = inner / np.maximum(_inner(direction, image), 1e-300)
        x += length * direction
        residual -= length * image
        z = precondition(residual)
        previous, inner = inner, _inner(residual, z)
        direction = z + (inner / np.maximum(previous, 1e-300)) * direction
    return x, bool((np.sqrt(np.maximum(inner, 0.0)) <= wanted).all())


def _inner(a: FloatArray, b: FloatArray) -> Any:
    return np.einsum("i...,i...->...", a, b)


def trace_of(M: Any, probes: FloatArray, function: Solve) -> float:
    """Estimate the trace of a function of M from probes of random signs, all at once.

    Examples
    --------
    >>> import numpy as np
    >>> M = np.diag([1.0, 2.0, 4.0])
    >>> round(trace_of(M, np.ones((3, 1)), np.log), 6), round(float(np.log(8)), 6)
    (2.079442, 2.079442)
    """
    n, count = probes.shape
    steps = min(LANCZOS, n)
    alpha, beta = np.zeros((steps, count)), np.zeros((steps, count))
    v, before = probes / np.sqrt(n), np.zeros_like(probes)
    for k in range(steps):
        w = M @ v - (beta[k - 1] * before if k else 0.0)
        alpha[k] = _inner(w, v)
        w -= alpha[k] * v
        beta[k] = np.sqrt(_inner(w, w))
        before, v = v, w / np.maximum(beta[k], 1e-300)
    total = 0.0
    for c in range(count):
        ended = np.flatnonzero(beta[:-1, c] < 1e-10)
        last = int(ended[0]) + 1 if ended.size else steps
        values, vectors = scipy.linalg.eigh_tridiagonal(alpha[:last, c], beta[: last - 1, c])
        total += float(vectors[0] ** 2 @ function(np.asarray(values, dtype=np.float64)))
    return float(n * total / count)
