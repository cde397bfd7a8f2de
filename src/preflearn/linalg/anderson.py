"""Fixed points: Anderson's acceleration of x <- F(x), with steps that are taken back where they do harm."""

from __future__ import annotations

import numpy as np

from preflearn.linalg import FloatArray

__all__ = ["Anderson"]

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
