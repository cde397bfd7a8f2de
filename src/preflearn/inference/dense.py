"""Systems whose latents are factored together: z = A R u, K = R R', B = I + R'ΛR with Λ = A'TA.

Only B is factored, whose eigenvalues are at least 1, and R is pivoted where K is singular (`Factor`), so neither a
singular kernel nor a saturated likelihood needs jitter. What A and K are like, a matrix or blocks, is the business of
the design and the factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from scipy.linalg.blas import dtrmm, dtrsm

from preflearn.inference.design import Design
from preflearn.inference.diagonal import (
    cholesky_at_least_one,
    direct_draws,
    direct_joint,
    direct_moments,
    direct_relative,
    moved_mode,
)
from preflearn.inference.factor import Factor, PriorFactor
from preflearn.inference.newton import diagonal_step, factored_step
from preflearn.inference.system import Curve, Query, Touched
from preflearn.linalg import cross_product
from preflearn.operators import FloatArray, IntArray

__all__ = ["Curvature", "DenseCurve", "DenseSystem", "IndependentSystem", "cholesky_at_least_one"]

BLOCK = 2**20  # numbers held at a time for combinations of new latents
MANY = 3  # new latents per training latent from which one product for each is worth a factor of its own
EPS = float(np.finfo(np.float64).eps)
SURE = 1e-7  # bound on the relative error up to which a variance by that product is kept


@dataclass(frozen=True)
class Curvature:
    """B = I + R'ΛR, factored."""

    Lam: Any  # (n, n), sparse or dense
    LB: FloatArray  # lower Cholesky factor of B

    @classmethod
    def build(cls, factor: PriorFactor, Lam: Any, *, semidefinite: bool = True) -> Curvature:
        """Factor B; n r² + r³/3 beyond the product ΛR. See `System.curve` for ``semidefinite``."""
        B = factor.congruence(Lam)
        B.flat[:: B.shape[0] + 1] += 1.0
        if not B.size:
            return cls(Lam, B)
        LB, failed = scipy.linalg.lapack.dpotrf(B, lower=1, clean=1, overwrite_a=1)
        if failed and not semidefinite:
            raise np.linalg.LinAlgError("B is not positive definite")
        if failed:  # entries beyond 1e16 of each other: the eigenvalues below 1 are rounding
            LB = cholesky_at_least_one(factor.congruence(Lam))
        return cls(Lam, LB)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b."""
        return np.asarray(scipy.linalg.lapack.dpotrs(self.LB, b, lower=1)[0]) if b.size else b

    def whiten(self, W: FloatArray) -> FloatArray:
        """Return LB⁻¹ W."""
        return np.asarray(dtrsm(1.0, self.LB, W, lower=1)) if W.size else np.zeros(W.shape)

    @property
    def log_det(self) -> float:
        """Return log |B| = log |I + KΛ|."""
        return 2.0 * float(np.log(self.LB.diagonal()).sum())


@dataclass(frozen=True)
class DenseSystem:
    """S = A R for a design and a factor of the prior covariance."""

    design: Any
    factor: Any

    @classmethod
    def of(cls, A: Any, K: FloatArray) -> DenseSystem:
        """Return the system of an operator and a covariance matrix."""
        return cls(Design.of(A), Factor.build(K))

    @property
    def size(self) -> int:
        """Number of columns of S."""
        return int(self.factor.rank)

    @property
    def order(self) -> int:
        """Order of the matrix that is factored."""
        return int(self.design.size)

    @property
    def smooth(self) -> bool:
        """Triangular factors change smoothly with the parameters, pivoted ones jump."""
        return self.factor.order is None

    @property
    def ridge(self) -> float:
        """Weight of the prior, u'u/2."""
        return 1.0

    def forward(self, u: FloatArray) -> FloatArray:
        """Return S u."""
        return np.asarray(self.design.A @ self.factor.forward(u))

    def back(self, g: FloatArray) -> FloatArray:
        """Return S'g."""
        return np.asarray(self.factor.back(self.design.AT @ g))

    def latents(self, g: FloatArray) -> FloatArray:
        """Return A'g: the posterior mean of anything is its prior covariance with the latents times this."""
        return np.asarray(self.design.AT @ g)

    def start(self, g: FloatArray, near: Curve | None) -> FloatArray:
        """Return roughly where the mode is; see `System.start`."""
        return self.back(g)

    def newton(self, tau: FloatArray, b: FloatArray, near: Curve | None, tol: float) -> tuple[FloatArray, Curve | None]:
        """Return B⁻¹ b up to a relative error; see `System.newton`."""
        return factored_step(self, tau, b, near, tol, self.design.inner_steps)

    def curve(self, tau: FloatArray, *, semidefinite: bool = True, near: Curve | None = None) -> DenseCurve:
        """Factor B; see `System.curve`."""
        Lam = self.design.laplacian(tau)
        build = getattr(self.factor, "curvature", None)  # a factor that knows a shape of B
        inner = build(Lam) if build is not None else Curvature.build(self.factor, Lam, semidefinite=semidefinite)
        return DenseCurve(self, tau, inner)


@dataclass(frozen=True)
class IndependentSystem(DenseSystem):
    """The same for independent latents, or latents without a prior (`preflearn.inference.diagonal`)."""

    @property
    def ridge(self) -> float:
        """Weight of the prior, u'u/2."""
        return float(self.factor.ridge)

    def start(self, g: FloatArray, near: Curve | None) -> FloatArray:
        """Return roughly where the mode is; see `System.start`."""
        if near is None or near.system.size != self.size or not self.ridge:
            return self.back(g)
        before, latents = near.system.factor, self.latents(g)
        return moved_mode(before.variances, self.factor.variances, latents, near.solve)

    def newton(self, tau: FloatArray, b: FloatArray, near: Curve | None, tol: float) -> tuple[FloatArray, Curve | None]:
        """Return B⁻¹ b up to a relative error; see `System.newton`."""
        return diagonal_step(self, tau, b, near, tol, self.design.inner_steps)


@dataclass(frozen=True)
class DenseCurve:
    """B factored as one matrix, or in the shape that the factor of the prior knows."""

    system: DenseSystem
    tau: FloatArray
    inner: Any

    @property
    def log_det(self) -> float:
        """Return log |B|."""
        return float(self.inner.log_det)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b."""
        return np.asarray(self.inner.solve(b))

    def precondition(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b."""
        return self.solve(b)

    @cached_property
    def covariance(self) -> Any:
        """C = R B⁻¹ R', the posterior covariance of the latents; see `PriorFactor`."""
        return self.system.factor.covariance(self.inner.LB)

    @cached_property
    def variances(self) -> FloatArray:
        """Posterior variances of x at the cells."""
        return np.asarray(self.covariance.spread(self.system.design))

    def sensitivity(self, plus: FloatArray, minus: FloatArray | None = None) -> Any:
        """Return the derivative of the evidence by K; see `Curve.sensitivity`."""
        AT = self.system.design.AT
        return self.covariance.sensitivity(self.inner.Lam, AT @ plus, None if minus is None else AT @ minus)

    def among(self, cells: IntArray) -> FloatArray:
        """Return the posterior covariance of x at some cells."""
        return np.asarray(self.covariance.among(self.system.design.A[cells]))

    def touched(self, u: FloatArray, cells: IntArray) -> Touched:
        """Return what some cells see; of operators that are no matrix, the cells themselves."""
        rows: Any = self.system.design.A[cells]
        latent = self.system.factor.forward(u)
        sparse: bool = sp.issparse(rows)
        if not sparse:
            return Touched(sp.eye_array(len(cells), format="csr"), rows @ latent, self.among(cells))
        few = np.unique(rows.nonzero()[1])
        chosen = sp.csr_array((np.ones(len(few)), few, np.arange(len(few) + 1)), shape=(len(few), rows.shape[1]))
        return Touched(rows[:, few], latent[few], np.asarray(self.covariance.among(chosen)))

    def moments(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and variances of what is asked."""
        if query.direct:
            return direct_moments(self.covariance, self.system.factor.forward(u), query)
        if query.operator is not None and query.operator.shape[0] < query.shared.shape[0]:
            query = query.combined()  # fewer combinations than latents: combine first
        Q = query.shared
        if (
            query.operator is None
            and max(query.total, Q.shape[0]) > MANY * Q.shape[1]
            and isinstance(self.system.factor, Factor)
        ):
            return self._moments_of_many(u, g, query)
        return self._moments(u, Q, query.prior, query.operator)

    def _moments(
        self, u: FloatArray, Q: FloatArray, prior_variance: FloatArray, A: Any | None
    ) -> tuple[FloatArray, FloatArray]:
        W = self.system.factor.whiten(Q)
        V = self.inner.whiten(W)
        mean = np.asarray(W.T @ u)
        if A is None:
            seen, spread = _square_norms(W.T), _square_norms(V.T)
        else:
            # triangular solves per latent, then the few-entry combinations, a block of rows at a time
            mean = np.asarray(A @ mean)
            seen, spread = np.empty(A.shape[0]), np.empty(A.shape[0])
            WT, VT = np.ascontiguousarray(W.T), np.ascontiguousarray(V.T)
            block = max(1, BLOCK // max(1, W.shape[0]))
            for start in range(0, A.shape[0], block):
                rows = A[start : start + block]
                seen[start : start + block] = _square_norms(rows @ WT)
                spread[start : start + block] = _square_norms(rows @ VT)
        # var(f | u) + var of its mean: both parts are non-negative
        return mean, np.maximum(prior_variance - seen, 0.0) + spread

    def _moments_of_many(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return moments by one triangular product instead of two triangular solves for each latent.

        The variance is the prior's less what the comparisons explain, which loses digits where little is left: those
        latents are done again with sums of two non-negative parts.
        """
        Q = query.shared
        explained, error = self._explained.square_norms(Q)
        mean, spread = np.asarray(Q @ self.system.latents(g)), query.prior - explained
        unsure = np.flatnonzero(~(error + 4 * EPS * query.prior <= SURE * spread))
        if unsure.shape[0]:
            mean[unsure], spread[unsure] = self._moments(u, Q[unsure], query.prior[unsure], None)
        return mean, spread

    @cached_property
    def _explained(self) -> _Explained:
        return _Explained.of(cast(Factor, self.system.factor), self.inner)

    def joint(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return the mean (p,) and the covariance (p, p) of what is asked."""
        if query.direct:
            return direct_joint(self.covariance, self.system.factor.forward(u), query)
        W = self.system.factor.whiten(query.combined().shared)
        V = self.inner.whiten(W)
        rest = query.prior - W.T @ W
        np.fill_diagonal(rest, np.maximum(rest.diagonal(), 0.0))  # rounding, as in `moments`
        covariance = rest + V.T @ V
        return np.asarray(W.T @ u), np.asarray((covariance + covariance.T) / 2)

    def draws(self, u: FloatArray, query: Query, count: int, rng: np.random.Generator) -> FloatArray:
        """Return joint draws (count, p) of what is asked directly."""
        return direct_draws(self.covariance, self.system.factor.forward(u), query, count, rng)

    def relative(self, u: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of values asked directly, relative to the mean of all of them."""
        return direct_relative(self.covariance, self.system.factor.forward(u), query)


@dataclass(frozen=True)
class _Explained:
    """The prior's variance that comparisons explain: q'Pq with P = Λ - ΛCΛ, by the factor P + shift I = LL'."""

    L: FloatArray  # lower triangular
    shift: float
    error: float  # how wrong the factor is at most, in the norm of P

    @classmethod
    def of(cls, factor: Factor, curvature: Curvature) -> _Explained:
        """Factor P; some n³. Where Λ is not semi-definite P need not be either, and the error is infinite."""
        Lam = getattr(curvature.Lam, "matrix", curvature.Lam)
        P = -cross_product(np.asfortranarray((Lam @ factor.covariance(curvature.LB).T.T).T))
        P += Lam if isinstance(Lam, np.ndarray) else Lam.toarray()
        n = P.shape[0]
        size = float(np.linalg.norm(Lam) if isinstance(Lam, np.ndarray) else scipy.sparse.linalg.norm(Lam))
        shift = n * EPS * float(P.diagonal().max(initial=0.0))
        P.flat[:: n + 1] += shift
        L, failed = scipy.linalg.lapack.dpotrf(P, lower=1, overwrite_a=1)
        grown = np.sqrt(n) + curvature.LB.diagonal().max(initial=1.0)  # rounding on the way to ΛCΛ and to its factor
        return cls(L, shift, np.inf if failed else EPS * grown * size)

    def square_norms(self, Q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return q'Pq for the rows q of Q, and bounds on its error."""
        norms = _square_norms(Q)
        if not np.isfinite(self.error):
            return norms, np.full(Q.shape[0], np.inf)
        V = dtrmm(1.0, self.L, np.ascontiguousarray(Q).T, lower=1, trans_a=1)
        return _square_norms(V.T) - self.shift * norms, self.error * norms


def _square_norms(rows: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
