"""What inference sees of a model: z = S u with u ~ N(0, I), and B = I + S'TS for precisions T of the cells.

A model is a sum of terms; a system is that sum at some parameters, in the form that suits the shape of its blocks. All
inference methods ask a system, and a factor of B, the same few questions:

    forward(u), back(g)     S u and S'g: what cells see of the latents, and back
    curve(τ)                B factored (`Curve`), with
        solve, log_det          B⁻¹ b and log |B|
        variances               diag(S B⁻¹ S'), the posterior variances of x at the cells
        sensitivity(p, q)       ½ (TVT - T + pp' - qq'), the derivative of the evidence by the prior covariance of x, as
                                derivatives by the covariances of the latents
        moments, joint          posterior means and (co)variances of what a `Query` asks
        touched(cells)          the few latents that some cells see, for leaving these out
    newton(τ, b)            B⁻¹ b for a step of Newton's, where a factor of nearby precisions may do
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from preflearn.operators import FloatArray, IntArray

__all__ = ["Curve", "DirectCurve", "Query", "System", "Touched"]


@dataclass(frozen=True)
class Query:
    """Values asked for, by their prior covariances with the latents.

    Attributes
    ----------
    shared : ndarray (p, n)
        Covariances with the latents that all rows may see.
    own : sparse array (p, N) or None
        Covariances with the latents of groups, where a system has any.
    prior : ndarray (p,) or (p, p)
        Prior variances of the values, or their covariance where it is asked for.
    operator : sparse array or None
        If given, the values are these combinations of what ``shared`` has one row for.
    total : int
        How many values will be asked for, where these are a part of them.
    direct : bool
        Whether ``shared`` is sparse and says what the values see of the latents themselves; ``prior`` is then that of
        what they see beside these.
    rest : sparse array (p, k) or None
        Of direct questions: what the values see beside, in terms of independent numbers of variance 1.
    """

    shared: Any
    prior: FloatArray
    own: Any = None
    operator: Any = None
    total: int = 0
    direct: bool = False
    rest: Any = None

    def combined(self) -> Query:
        """Return the same question with the combinations carried out."""
        if self.operator is None:
            return self
        return replace(self, shared=np.asarray(self.operator @ self.shared), operator=None)


@dataclass(frozen=True)
class Touched:
    """Rows A (r, v) of some cells over the few latents that they see, mean and covariance of these."""

    A: Any
    mean: FloatArray
    covariance: FloatArray


class Curve(Protocol):
    """B = I + S'TS, factored; see the module."""

    @property
    def system(self) -> Any:
        """The system that B belongs to."""
        ...

    @property
    def tau(self) -> FloatArray:
        """Precisions of the cells."""
        ...

    @property
    def log_det(self) -> float:
        """Log determinant of B."""
        ...

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b."""
        ...

    def precondition(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b, or something like it that costs less."""
        ...

    @property
    def variances(self) -> FloatArray:
        """Posterior variances of x at the cells."""
        ...

    def sensitivity(self, plus: FloatArray, minus: FloatArray | None = None) -> Any:
        """Return ½ A'(TVT - T + pp' - qq')A in the form that the pullback of the system's priors takes."""
        ...

    def moments(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and variances of what is asked."""
        ...

    def joint(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and the covariance of what is asked."""
        ...

    def touched(self, u: FloatArray, cells: IntArray) -> Touched:
        """Return what some cells see, for leaving them out."""
        ...

    def among(self, cells: IntArray) -> FloatArray:
        """Return the posterior covariance of x at some cells."""
        ...


class DirectCurve(Curve, Protocol):
    """B of latents that may be asked about themselves; see `Query.direct`."""

    def draws(self, u: FloatArray, query: Query, count: int, rng: np.random.Generator) -> FloatArray:
        """Return joint draws (count, p) of what is asked directly."""
        ...

    def relative(self, u: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of many values asked directly, relative to the mean of all of them."""
        ...


class System(Protocol):
    """S at some parameters; see the module."""

    @property
    def size(self) -> int:
        """Number of columns of S."""
        ...

    @property
    def order(self) -> int:
        """Order of the largest matrix that is factored."""
        ...

    @property
    def ridge(self) -> float:
        """Weight of the prior, u'u/2: 1, or 0 where there is none and B = S'TS."""
        ...

    @property
    def smooth(self) -> bool:
        """Whether S changes smoothly with the parameters, so that factors of B of nearby ones are of use."""
        ...

    def forward(self, u: FloatArray) -> FloatArray:
        """Return S u."""
        ...

    def back(self, g: FloatArray) -> FloatArray:
        """Return S'g."""
        ...

    def curve(self, tau: FloatArray, *, semidefinite: bool = True, near: Curve | None = None) -> Curve:
        """Factor B for precisions of the cells.

        ``semidefinite`` says that none is negative, as for log-concave likelihoods; otherwise B need not be positive
        definite, and a `LinAlgError` says so. ``near`` is that of a nearby problem, whose estimates are a start.
        """
        ...

    def start(self, g: FloatArray, near: Curve | None) -> FloatArray:
        """Return roughly where the mode is, from ``g`` of a posterior of other parameters and its B if it is known."""
        ...

    def newton(self, tau: FloatArray, b: FloatArray, near: Curve | None, tol: float) -> tuple[FloatArray, Curve | None]:
        """Return B⁻¹ b up to a relative error, and what may help with the next such system.

        ``near`` is a factor of B for other precisions, or what the last call returned.
        """
        ...
