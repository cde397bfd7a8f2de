"""Maximising by gradients, where values are dear or known up to some noise: a few parameters between bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from preflearn.operators import FloatArray

__all__ = ["Top", "climb"]

FLAT = 1e-12


class Top(NamedTuple):
    """Where a search ended: the gradient there, its evaluations, and whether it got where it wanted."""

    x: FloatArray
    gradient: FloatArray
    evaluations: int
    done: bool


def climb(
    evaluate: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    bounds: FloatArray,
    first: FloatArray,
    *,
    tol: float,
    gain: float,
    longest: float = 3.0,
    worse: float = np.inf,
    most: int = 40,
) -> Top:
    """Return where the gradient vanishes or points out of the bounds.

    Secant steps with the curvature of Broyden, Fletcher, Goldfarb and Shanno. A step after which the slope along it is
    steeper downhill than it was uphill has gone too far: it is not taken, but the curvature that it showed is kept.
    So has one that loses more than ``worse``. ``evaluate`` returns the value, or NaN where it is too dear, and the
    gradient. ``first`` is the first step, ``longest`` the most of one in a parameter. The search ends on a step
    shorter than ``tol`` in every parameter, or that promises less than ``gain``; a gradient that is not finite is a
    wall to step back from.

    Examples
    --------
    >>> import numpy as np
    >>> top = lambda x: (-np.cosh(x[0] - 1), -np.sinh(x - 1))
    >>> found = climb(top, np.zeros(1), np.array([[-5.0, 5.0]]), np.ones(1) / 2, tol=1e-9, gain=0.0)
    >>> found.x.round(8), found.done
    (array([1.]), True)
    """
    low, high = bounds.T
    x = np.clip(start, low, high)
    value, g = evaluate(x)
    if not np.isfinite(g).all():
        return Top(x, g, 1, False)
    scale = np.where(np.abs(g) > FLAT, np.abs(first) / np.maximum(np.abs(g), FLAT), 1.0)
    H = np.diag(np.maximum(scale, 1e-12))  # inverse of minus the curvature
    least = gain
    for count in range(1, most):
        stuck = ((x <= low) & (g < 0)) | ((x >= high) & (g > 0))
        free = np.where(stuck, 0.0, 1.0)
        step = free * (H @ (free * g))
        if float(step @ g) <= 0:
            H = np.diag(np.maximum(scale, 1e-12))
            step = free * (H @ g)
        step *= min(1.0, longest / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        new = np.clip(x + step, low, high)
        step = new - x
        if float(np.abs(step).max(initial=0.0)) <= tol or 0.5 * float(step @ g) <= least:
            return Top(x, g, count, True)
        value_new, g_new = evaluate(new)
        if value_new < value - worse or not np.isfinite(g_new).all():
            # over a valley, or into a wall, whose slopes say little about the curvature here
            H, least = H / 4, 0.0  # nor does a shorter step promise less because the top is near
            continue
        least = gain
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
            x, value, g = new, value_new, g_new
    return Top(x, g, most, False)
