"""Linear algebra by products alone: conjugate gradients for several sides at once, and traces of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from preflearn.linalg import FloatArray

__all__ = ["conjugate", "trace_of"]

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
