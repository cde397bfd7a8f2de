"""Minimising ½ |u|² + C times the sum of hinges over pairs, to a measured duality gap."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, cg

from preflearn.baselines._shortfalls import Pairs
from preflearn.inference.exact import check_finite
from preflearn.linalg import cholesky_psd
from preflearn.operators import Edges, FloatArray, Groups, Rows, scatter

MOST_PRODUCTS = 200  # of the second derivative with a vector, for one step
MOST_TRIALS = 30  # lengths of one step
MOST_IDLE = 3  # steps that change nothing but rounding
ROUNDING = 1e-14
FLAT = 0.3  # slope, relative to the first one, at which a step ends
NARROWER = 4.0  # by which the bend of a smoothed hinge narrows from one round to the next
Map = Callable[[FloatArray], FloatArray]
LossOf = Callable[[FloatArray], "Loss"]


class Loss(NamedTuple):
    """What a loss says of utilities f.

    ``value`` is the loss, ``smooth`` what is minimised in its place, with its derivative ``slope`` and the product of
    its second derivative with a vector, ``curve``. ``bound`` is the sum over pairs of β - conjugate, where β >= 0 are
    the dual variables with ``slope`` = Σ β (e_j - e_i).
    """

    value: float
    smooth: float
    slope: FloatArray
    curve: Map
    bound: float


def squared_hinge(pairs: Pairs, f: FloatArray) -> Loss:
    """Return Σ v max(0, 1 - f_i + f_j)²; β = 2 m, β²/4 is taken from it."""
    short = pairs.short_of(1.0, f)
    squares = short.squares
    return Loss(squares, squares, 2 * short.slope, lambda d: 2 * short.laplacian(d), 2 * short.total - squares)


def hinge(pairs: Pairs, f: FloatArray, width: float) -> Loss:
    """Return Σ v max(0, 1 - f_i + f_j), smoothed by a parabola over a width: a difference of two squared hinges.

    β = m / width up to 1 is feasible for the hinge itself, so that it bounds the hinge from below.
    """
    near, far = pairs.short_of(1.0, f), pairs.short_of(1.0 - width, f)
    return Loss(
        near.total,
        (near.squares - far.squares) / (2 * width),
        (near.slope - far.slope) / width,
        lambda d: (near.laplacian(d) - far.laplacian(d)) / width,
        (near.total - far.total) / width,
    )


@dataclass(frozen=True)
class Machine:
    """½ |u|² + C times the loss of f = Z u, in coordinates v = R u where its second derivative is about 1 or less."""

    Z: Any
    C: float
    loss: LossOf
    scale: float  # of the objective, so that it starts at 1
    R: FloatArray | None  # None: v = u √scale

    @classmethod
    def build(cls, Z: Any, C: float, pairs: Pairs, operator: Rows | Groups | Edges, *, factored: bool) -> Machine:
        """Return the machine with a squared hinge; the operator sees the pairs, too.

        At u = 0 all pairs are short, and the second derivative is 1 + 2C Z'LZ; elsewhere some of them are. Its Cholesky
        factor costs n d² + d³ / 3 operations for d features.
        """
        loss = partial(squared_hinge, pairs)
        scale = max(C * loss(np.zeros(Z.shape[0])).value, 1e-300)
        if not factored:
            return cls(Z, C, loss, scale, None)
        M, b = scatter(operator, lambda rows: Z[rows], Z.shape[1])
        check_finite(M, b)
        M *= 2 * C
        M.flat[:: M.shape[0] + 1] += 1.0
        return cls(Z, C, loss, scale, np.asfortranarray(cholesky_psd(M)[0].T / math.sqrt(scale)))

    def outer(self, v: FloatArray) -> FloatArray:
        """Return u."""
        if self.R is None:
            return v / math.sqrt(self.scale)
        return np.asarray(scipy.linalg.solve_triangular(self.R, v, check_finite=False))

    def inner(self, g: FloatArray) -> FloatArray:
        """Return the derivative in v of what has the derivative g in u."""
        if self.R is None:
            return g / math.sqrt(self.scale)
        return np.asarray(scipy.linalg.solve_triangular(self.R, g, trans="T", check_finite=False))


@dataclass(frozen=True)
class Point:
    """The machine at v."""

    machine: Machine
    v: FloatArray
    u: FloatArray
    loss: Loss
    dual: FloatArray  # C Σ β (φ(i) - φ(j)): u at the optimum

    @classmethod
    def build(cls, machine: Machine, v: FloatArray) -> Point:
        """Evaluate the loss."""
        u = machine.outer(v)
        loss = machine.loss(np.asarray(machine.Z @ u))
        return cls(machine, v, u, loss, np.asarray(-machine.C * (machine.Z.T @ loss.slope)))

    @property
    def value(self) -> float:
        """What is minimised, with a smooth loss, over its scale."""
        return float(0.5 * self.u @ self.u + self.machine.C * self.loss.smooth) / self.machine.scale

    @property
    def gradient(self) -> FloatArray:
        """Its derivative in v."""
        return self.machine.inner((self.u - self.dual) / self.machine.scale)

    def curve(self, d: FloatArray) -> FloatArray:
        """Return the product of its second derivative with d."""
        machine, d = self.machine, self.machine.outer(d)
        return machine.inner((d + machine.C * np.asarray(machine.Z.T @ self.loss.curve(machine.Z @ d))) / machine.scale)

    @property
    def objective(self) -> float:
        """The machine's objective."""
        return float(0.5 * self.u @ self.u + self.machine.C * self.loss.value)

    @property
    def gap(self) -> float:
        """How far it may be above its minimum, relative to it: what it is above the objective of the dual problem."""
        bound = float(self.machine.C * self.loss.bound - 0.5 * self.dual @ self.dual)
        return (self.objective - bound) / max(self.objective, 1e-300)

    @property
    def smooth_gap(self) -> float:
        """The same with the smooth loss: ½ |derivative in u|² by strong convexity, relative to the objective."""
        slope = self.u - self.dual
        return float(0.5 * slope @ slope) / max(self.objective, 1e-300)


def newton(machine: Machine, v: FloatArray, done: Callable[[Point], bool], max_iter: int) -> tuple[Point, int]:
    """Return the point that Newton's method leads to, and its steps; systems are solved by conjugate gradients."""
    here = Point.build(machine, v)
    lowest, flattest, last = here.value, np.inf, 0
    for step in range(max_iter):
        if done(here):
            return here, step
        g = here.gradient
        size = float(np.linalg.norm(g))
        if here.value < lowest * (1 - ROUNDING) or size < 0.9 * flattest:
            last = step
        lowest, flattest = min(lowest, here.value), min(flattest, size)
        H: Any = LinearOperator((g.shape[0], g.shape[0]), matvec=here.curve, dtype=np.float64)
        # the closer to the minimum, the more exact: so convergence is faster than linear
        d, _ = cg(H, -g, rtol=min(0.1, math.sqrt(size)), maxiter=MOST_PRODUCTS)
        there = _along(here, d, float(g @ d))
        if there is None or step - last > MOST_IDLE:
            return here, step
        here = there
    return here, max_iter


def _along(here: Point, d: FloatArray, slope: float) -> Point | None:
    """Return a point along d where the objective, which is convex, no longer falls fast; None if there is none.

    Slopes are compared and not values, of which the differences are lost to rounding near the minimum. Where the whole
    step is too long, the place of slope zero is enclosed (regula falsi, Illinois).
    """
    low, at_low, best = 0.0, slope, None
    high, at_high = np.inf, 0.0
    t = 1.0
    for _ in range(MOST_TRIALS):
        point = Point.build(here.machine, here.v + t * d)
        now = float(point.gradient @ d)
        if abs(now) <= FLAT * abs(slope) or (now < 0 and high == np.inf):
            return point
        if now < 0:
            low, at_low, at_high, best = t, now, at_high / 2, point
        elif now > 0:
            high, at_high, at_low = t, now, at_low / 2 if high < np.inf else at_low
        else:
            return None  # not a number
        t = low + (high - low) * at_low / (at_low - at_high)
    return best


def minimise_squared_hinge(machine: Machine, tol: float, max_iter: int) -> tuple[Point, int]:
    """Return the best point found, whose gap is at most tol if steps suffice, and the number of steps."""
    return newton(machine, np.zeros(machine.Z.shape[1]), lambda point: point.gap <= tol, max_iter)


def minimise_hinge(machine: Machine, pairs: Pairs, tol: float, max_iter: int) -> tuple[Point, int]:
    """Return the same for the hinge: smoothed over a width that narrows until the gap of the hinge itself is closed."""

    def done(point: Point) -> bool:
        # a smoothed hinge is worth minimising as far as it tells of the hinge
        return point.gap <= tol or point.smooth_gap <= 0.1 * point.gap

    best, steps = None, 0
    v, width = np.zeros(machine.Z.shape[1]), 1.0
    while True:
        point, more = newton(replace(machine, loss=partial(hinge, pairs, width=width)), v, done, max_iter - steps)
        v, width, steps = point.v, width / NARROWER, steps + more
        if best is not None and point.gap >= best.gap:  # the width is down to rounding
            return best, steps
        best = point
        if point.gap <= tol or steps >= max_iter:
            return best, steps
