"""Maximising by gradients alone, where values are dear or estimated with noise: a few parameters between bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from preflearn.operators import FloatArray

__all__ = ["climb"]

LONGEST = 3.0  # of a step in one parameter
FLAT = 1e-12


def climb(
    gradient: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    bounds: FloatArray,
    first: FloatArray,
    *,
    tol: float,
    gain: float,
    most: int = 40,
) -> tuple[FloatArray, int, bool]:
    """Return where the gradient vanishes or points out of the bounds, the evaluations, and whether it got there.

    Secant steps with the curvature of Broyden, Fletcher, Goldfarb and Shanno. A step after which the slope along it is
    steeper downhill than it was uphill has gone too far: it is not taken, but the curvature that it showed is kept.
    ``first`` is the first step. The search ends on a step shorter than ``tol`` in every parameter, or that promises
    less than ``gain``.

    Examples
    --------
    >>> import numpy as np
    >>> top = lambda x: -np.sinh(x - 1)
    >>> x, _, done = climb(top, np.zeros(1), np.array([[-5.0, 5.0]]), np.ones(1) / 2, tol=1e-9, gain=0.0)
    >>> x.round(8), done
    (array([1.]), True)
    """
    low, high = bounds.T
    x = np.clip(start, low, high)
    g = gradient(x)
    scale = np.where(np.abs(g) > FLAT, np.abs(first) / np.maximum(np.abs(g), FLAT), 1.0)
    H = np.diag(np.maximum(scale, 1e-12))  # inverse of minus the curvature
    for count in range(1, most):
        stuck = ((x <= low) & (g < 0)) | ((x >= high) & (g > 0))
        free = np.where(stuck, 0.0, 1.0)
        step = free * (H @ (free * g))
        if float(step @ g) <= 0:
            H = np.diag(np.maximum(scale, 1e-12))
            step = free * (H @ g)
        step *= min(1.0, LONGEST / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        new = np.clip(x + step, low, high)
        step = new - x
        if float(np.abs(step).max(initial=0.0)) <= tol or 0.5 * float(step @ g) <= gain:
            return x, count, True
        g_new = gradient(new)
        change = free * (g - g_new)  # of parameters held at a bound nothing is learned
        bend = float(step @ change)
        before, after = float(step @ g), float(step @ g_new)
        if bend > 1e-10 * abs(before):
            Hy = H @ change
            H = (
                H
                + (1.0 + float(change @ Hy) / bend) * np.outer(step, step) / bend
                - (np.outer(Hy, step) + np.outer(step, Hy)) / bend
            )
        else:
            H = 2.0 * H
        if after >= -before:
            x, g = new, g_new
    return x, most, False
