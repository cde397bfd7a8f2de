"""What inference sees of a model, what an inference method answers, and the posterior that comes out.

A model is a sum of terms; a `System` is that sum at some parameters, in the form that suits the shape of its blocks:
z = S u with u ~ N(0, I), and B = I + S'TS for precisions T of the cells. All inference methods ask a system, and a
factor of B (`Curve`), the same few questions. A `Method` is an object: it finds a Gaussian `Posterior` of a system,
given outcomes (`Observed`) and a likelihood, with its evidence and the derivatives of that. To add one write a class
that answers `Method` in a module of its own, and list it in `preflearn.inference.evidence`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np
import scipy.sparse as sp

from preflearn.linalg import draw_normal
from preflearn.linalg.krylov import conjugate
from preflearn.operators import FloatArray, IntArray

__all__ = [
    "Curve",
    "DirectCurve",
    "Found",
    "Info",
    "Method",
    "Observed",
    "Posterior",
    "Query",
    "Slopes",
    "System",
    "Touched",
    "Warm",
]


FACTOR_ALWAYS = 150  # up to this rank a factorisation costs no more than a few products


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

    system: Any  # that B belongs to
    tau: FloatArray  # precisions of the cells

    @property
    def log_det(self) -> float:
        """Log determinant of B."""
        ...

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b."""
        ...

    def precondition(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b, or something like it that costs less."""
        return self.solve(b)

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
        """Return what some cells see, for leaving them out; unless it knows fewer latents, the cells themselves."""
        return Touched(sp.eye_array(len(cells), format="csr"), self.system.forward(u)[cells], self.among(cells))

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
        return 1.0

    @property
    def inner_steps(self) -> int:
        """Steps of conjugate gradients before a new factorisation is the better buy."""
        return 12

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
        return self.back(g)

    def newton(self, tau: FloatArray, b: FloatArray, near: Curve | None, tol: float) -> tuple[FloatArray, Curve | None]:
        """Return B⁻¹ b up to a relative error, and what may help with the next such system.

        ``near`` is a factor of B for other precisions, or what the last call returned: the preconditioner of conjugate
        gradients, a product with S and S' each step. Where these take too many steps, because the precisions have
        changed much, the next call factors B again.
        """
        if near is None or min(self.size, self.order) <= FACTOR_ALWAYS:
            near = self.curve(tau)
            return near.solve(b), near
        x, left = conjugate(
            lambda x: self.ridge * x + self.back(tau * self.forward(x)), b, near.precondition, tol, self.inner_steps
        )
        return x, near if left <= tol else None  # still an ascent direction


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

    def start(self, before: Warm | None = None) -> Warm:
        """Return where an inference at nearby parameters may start, with the last parts that did fit."""
        parts = (self.tau, self.nu) if self.info.converged else None if before is None else before.parts
        return Warm(self.posterior.g, parts, self.posterior)


class Warm(NamedTuple):
    """A start for an inference: ``g`` at the cells, and if they are known the outcomes' parts and a posterior."""

    g: FloatArray
    parts: tuple[FloatArray, FloatArray] | None = None  # (τ, ν) of every outcome
    near: Posterior | None = None  # at nearby parameters of the same latents


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

    tol: float  # size of what should be zero at which it stops

    def solve(self, system: Any, seen: Observed, likelihood: Any, warm: Warm | None = None) -> Found:
        """Return the posterior; ``warm`` is a start from nearby parameters."""
        ...

    def gradient(self, found: Found, seen: Observed, likelihood: Any) -> Slopes:
        """Return the derivatives of the evidence of what `solve` has found."""
        ...
