"""A Gaussian posterior: what every inference method returns, and what all answers are asked of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from preflearn.inference.system import Curve, DirectCurve, Query
from preflearn.linalg import draw_normal
from preflearn.operators import FloatArray

__all__ = ["Info", "Posterior"]


@dataclass(frozen=True)
class Info:
    """How an inference ended: steps, the size of what should be zero, what was wanted, and whether it got there.

    Of a fitted model also what the latents of preferences are, how many latents there are in all, and the share of the
    prior variance of circles that they lose.
    """

    steps: int
    residual: float
    wanted: float
    converged: bool
    latents: str = ""
    n_latents: int = 0
    lost: float = 0.0


@dataclass(frozen=True)
class Posterior:
    """u ~ N(u, B⁻¹) for what cells see, x = S u; conditioning on u extends it to whatever a `Query` asks."""

    system: Any
    curve: Curve
    u: FloatArray
    g: FloatArray  # (cells,): the mean of anything is its prior covariance with x times g
    value: float  # log evidence but for the determinant of B

    @property
    def log_evidence(self) -> float:
        """Log evidence of the outcomes."""
        return self.value - 0.5 * self.curve.log_det

    @property
    def x(self) -> FloatArray:
        """Posterior means at the cells."""
        return np.asarray(self.system.forward(self.u))

    def moments(self, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of what is asked."""
        return self.curve.moments(self.u, self.g, query)

    def joint(self, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means and the covariance of what is asked; the query's prior is a covariance."""
        return self.curve.joint(self.u, self.g, query)

    def draw(self, query: Query, count: int, rng: np.random.Generator) -> FloatArray:
        """Return joint draws (count, p) of what is asked."""
        if query.direct:
            return cast(DirectCurve, self.curve).draws(self.u, query, count, rng)
        return draw_normal(*self.joint(query), count, rng)

    def relative(self, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of what is asked directly, relative to the mean of all of it."""
        return cast(DirectCurve, self.curve).relative(self.u, query)
