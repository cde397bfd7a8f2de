"""What an inference method takes and returns.

A method is an object: it finds a Gaussian posterior of a system, given outcomes and a likelihood, with its evidence and
the derivatives of that. To add one write a class that answers `Method` in a module of its own, and list it in
`preflearn.inference.evidence`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np

from preflearn.inference.system import Curve, DirectCurve, Query
from preflearn.linalg import draw_normal
from preflearn.operators import FloatArray, IntArray

__all__ = ["Found", "Info", "Method", "Observed", "Posterior", "Slopes"]


@dataclass(frozen=True)
class Observed:
    """Outcomes y with weights. Rows that see the same of every term share a cell: z = s x[cell].

    ``cell`` is None where every outcome has a cell of its own; ``scale`` is s, the reliability of who judged, or None
    where it is 1.
    """

    y: FloatArray
    weight: FloatArray
    cell: IntArray | None = None
    n_cells: int = -1
    scale: FloatArray | None = None

    def see(self, x: FloatArray) -> FloatArray:
        """Return z of every outcome."""
        z = x if self.cell is None else x[self.cell]
        return z if self.scale is None else self.scale * z

    def sums(self, g: FloatArray) -> FloatArray:
        """Return the adjoint of `see`: Σ s g over the outcomes of each cell."""
        return self._sums(g if self.scale is None else self.scale * g)

    def squares(self, t: FloatArray) -> FloatArray:
        """Return Σ s² t over the outcomes of each cell: precisions of x from precisions of z."""
        return self._sums(t if self.scale is None else self.scale**2 * t)

    def spread(self, variance: FloatArray) -> FloatArray:
        """Return the variances of z from those of x."""
        v = variance if self.cell is None else variance[self.cell]
        return v if self.scale is None else self.scale**2 * v

    def scaled(self, scale: FloatArray | None) -> Observed:
        """Return the same outcomes with other reliabilities."""
        return replace(self, scale=scale)

    def _sums(self, x: Any) -> FloatArray:
        if self.cell is None:
            return np.asarray(x)
        return np.asarray(np.bincount(self.cell, x, minlength=self.n_cells), dtype=np.float64)


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


class Found(NamedTuple):
    """A posterior, how the inference ended, and each outcome's part exp(ν z - τ z²/2) in it, per unit of weight."""

    posterior: Posterior
    info: Info
    tau: FloatArray
    nu: FloatArray
    derivatives: Any = None  # of log p at the mode, where that is what was found


class Slopes(NamedTuple):
    """Derivatives of the evidence: by prior covariances, by the likelihood's parameters, and by every outcome's s."""

    prior: Any
    likelihood: FloatArray
    scale: FloatArray


class Method(Protocol):
    """One inference method; see the module."""

    name: ClassVar[str]
    words: ClassVar[str]  # what messages call it
    log_concave_only: ClassVar[bool]
    exact_only: ClassVar[bool]  # whether it needs variances to the last digits, not estimates

    @property
    def tol(self) -> float:
        """Size of what should be zero at which it stops."""
        ...

    def solve(self, system: Any, seen: Observed, likelihood: Any, warm: Any = None) -> Found:
        """Return the posterior; ``warm`` is a start from nearby parameters."""
        ...

    def gradient(self, found: Found, seen: Observed, likelihood: Any) -> Slopes:
        """Return the derivatives of the evidence of what `solve` has found."""
        ...

    def warm(self, found: Found, before: Any) -> Any:
        """Return the warm start that follows from what was found; ``before`` is the last one."""
        ...

    def at_cells(self, g: FloatArray) -> Any:
        """Return a warm start from what ``g`` of a posterior was at cells that it knew, 0 at others."""
        ...

    def kept(self, warm: Any) -> Any:
        """Return a warm start as numbers, for files."""
        ...

    def again(self, kept: Any, found: list[Found]) -> Any:
        """Return the warm start that was kept, given posteriors that were made again."""
        ...
