"""What inference sees of a model, what an inference method answers, and the posterior that comes out.

A `System` is a sum of terms at some parameters, in the form that suits the shape of its blocks: z = S u, u ~ N(0, I),
and B = I + S'TS for precisions T of the cells. A `Method` finds a Gaussian `Posterior` of a system, given outcomes
(`Observed`) and a likelihood, with its evidence and the derivatives of that. All methods ask systems and factors of B
(`Curve`) the same few questions. To add one derive a class from `Method` in a module of its own, and list it in
`preflearn.inference.evidence`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from preflearn.linalg import draw_normal, square_norms
from preflearn.linalg.iterative import conjugate
from preflearn.operators import FloatArray, IntArray

FACTOR_ALWAYS = 150  # up to this rank a factorisation costs no more than a few products


@dataclass(frozen=True)
class Query:
    """Values asked for, by their prior covariances with the latents.

    Direct questions, of independent latents, say instead what the values see of these, in a sparse ``shared``, and of
    numbers of variance 1 beside them, ``rest``, whose part of the variance is ``prior``.
    """

    shared: Any  # (p, n): covariances with the latents that all rows may see
    prior: FloatArray  # (p,) variances of the values, or (p, p) covariances where these are asked for
    own: Any = None  # (p, N), sparse: covariances with the latents of groups
    operator: Any = None  # sparse: the values are these combinations of the rows of ``shared``
    total: int = 0  # how many values will be asked for, where these are a part of them
    rest: Any = None  # (p, k), sparse

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


class Curve:
    """B = I + S'TS, factored; see the module."""

    system: Any  # that B belongs to
    log_det: Any  # log |B|, a number
    variances: Any  # posterior variances of x at the cells

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b."""
        raise NotImplementedError

    def precondition(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b, or something like it that costs less."""
        return self.solve(b)

    def sensitivity(self, plus: FloatArray, minus: FloatArray) -> Any:
        """Return ½ A'(TVT - T + pp' - qq')A in the form that the pullback of the system's priors takes."""
        raise NotImplementedError

    def touched(self, u: FloatArray, cells: IntArray) -> Touched:
        """Return what some cells see, for leaving them out; where no latents are few, the cells themselves."""
        raise NotImplementedError

    def answer(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, list[Any], list[Any]]:
        """Return means, and rows (arrays or sparse) whose squares are what u explains of values, and what is left."""
        raise NotImplementedError

    def moments(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and variances of a query: var(f | u) + var of its mean, both non-negative."""
        mean, seen, left = self.answer(u, g, query)
        return mean, np.maximum(query.prior - sum(map(square_norms, seen)), 0.0) + sum(map(square_norms, left))

    def joint(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and the covariance of a query."""
        mean, seen, left = self.answer(u, g, query)
        C = query.prior - sum(map(_gram, seen))
        np.fill_diagonal(C, np.maximum(C.diagonal(), 0.0))  # rounding, as in `moments`
        C += sum(map(_gram, left))
        return mean, np.asarray((C + C.T) / 2)

    def draws(self, u: FloatArray, g: FloatArray, query: Query, count: int, rng: np.random.Generator) -> FloatArray:
        """Return joint draws (count, p) of a query."""
        return draw_normal(*self.joint(u, g, query), count, rng)


def _gram(rows: Any) -> FloatArray:
    return np.asarray(rows @ rows.T if isinstance(rows, np.ndarray) else (rows @ rows.T).toarray())


class System:
    """S at some parameters; see the module."""

    size: int  # number of columns of S
    order: int  # of the largest matrix that is factored
    smooth: bool  # whether S changes smoothly with the parameters, so that factors of B of nearby ones are of use
    ridge: float = 1.0  # weight of the prior, u'u/2: 0 where there is none and B = S'TS
    inner_steps: int = 12  # of conjugate gradients, before a new factorisation is the better buy

    def forward(self, u: FloatArray) -> FloatArray:
        """Return S u."""
        raise NotImplementedError

    def back(self, g: FloatArray) -> FloatArray:
        """Return S'g."""
        raise NotImplementedError

    def curve(self, tau: FloatArray, *, semidefinite: bool = True, near: Curve | None = None) -> Curve:
        """Factor B for precisions of the cells, none of them negative if ``semidefinite``, else maybe a `LinAlgError`.

        ``near`` is that of a nearby problem, whose estimates are a start.
        """
        raise NotImplementedError

    def start(self, g: FloatArray, near: Curve | None) -> FloatArray:
        """Return roughly where the mode is, from ``g`` of a posterior of other parameters and its B if it is known."""
        return self.back(g)

    def newton(self, tau: FloatArray, b: FloatArray, near: Curve | None, tol: float) -> tuple[FloatArray, Curve | None]:
        """Return B⁻¹ b up to a relative error, and what may help with the next such system.

        ``near``, a factor of B for other precisions or what the last call returned, is the preconditioner of conjugate
        gradients. Where these take too many steps, because precisions have changed much, the next call factors B again.
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
    """Outcomes y with weights, z = s x[cell]: rows that see the same of every term share a cell.

    ``cell`` is None where every outcome has a cell of its own; ``scale`` is s, the reliability of who judged, or None
    where it is 1.
    """

    y: FloatArray
    weight: FloatArray
    cell: IntArray | None = None
    n_cells: int = -1
    scale: FloatArray | None = None

    def see(self, x: FloatArray, power: int = 1) -> FloatArray:
        """Return z of every outcome; with power 2 its variances from those of x."""
        z = x if self.cell is None else x[self.cell]
        return z if self.scale is None else self.scale**power * z

    def sums(self, g: FloatArray, power: int = 1) -> FloatArray:
        """Return the adjoint of `see`: Σ s g over the outcomes of each cell."""
        g = g if self.scale is None else self.scale**power * g
        total = g if self.cell is None else np.bincount(self.cell, g, minlength=self.n_cells)
        return np.asarray(total, dtype=np.float64)

    def squares(self, t: FloatArray) -> FloatArray:
        """Return Σ s² t over the outcomes of each cell: precisions of x from precisions of z."""
        return self.sums(t, 2)

    def spread(self, variance: FloatArray) -> FloatArray:
        """Return the variances of z from those of x."""
        return self.see(variance, 2)

    def scaled(self, scale: FloatArray | None) -> Observed:
        """Return the same outcomes with other reliabilities."""
        return replace(self, scale=scale)


@dataclass(frozen=True)
class Info:
    """How an inference ended: steps, the size of what should be zero, what was wanted, and whether it got there.

    Of a fitted model also its latents, how many there are in all, and the share of the variance of circles they lose.
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
        return float(self.value - 0.5 * self.curve.log_det)

    @property
    def x(self) -> FloatArray:
        """Posterior means at the cells."""
        return np.asarray(self.system.forward(self.u))

    def moments(self, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of a query."""
        return self.curve.moments(self.u, self.g, query)

    def joint(self, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means and the covariance of a query; the query's prior is a covariance."""
        return self.curve.joint(self.u, self.g, query)

    def draw(self, query: Query, count: int, rng: np.random.Generator) -> FloatArray:
        """Return joint draws (count, p) of a query."""
        return self.curve.draws(self.u, self.g, query, count, rng)

    def relative(self, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of direct questions, relative to the mean of all of them."""
        direct: Any = self.curve
        return direct.relative(self.u, self.g, query)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Found:
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


@dataclass(frozen=True)
class Method:
    """One inference method; see the module."""

    name: ClassVar[str]
    words: ClassVar[str]  # what messages call it
    log_concave_only: ClassVar[bool] = True
    exact_only: ClassVar[bool] = False  # whether it needs variances to the last digits, not estimates

    tol: float = 1e-9  # size of what should be zero at which it stops

    def solve(self, system: Any, seen: Observed, likelihood: Any, warm: Warm | None = None) -> Found:
        """Return the posterior; ``warm`` is a start from nearby parameters."""
        raise NotImplementedError

    def gradient(self, found: Found, seen: Observed, likelihood: Any) -> Slopes:
        """Return the derivatives of the evidence of what `solve` has found."""
        raise NotImplementedError
