"""A Gaussian posterior over latents, and the linear algebra that Laplace's method and EP share.

Latents f = R u with u ~ N(0, I), so K = R R'; comparisons see z = A f; each comparison k has precision τ_k >= 0. Then

    Λ = A' diag(τ) A,   B = I + R'ΛR,   posterior covariance of f:  C = (K⁻¹ + Λ)⁻¹ = R B⁻¹ R',   |I + KΛ| = |B|.

Only B is factored, whose eigenvalues are at least 1, and R is pivoted where K is singular (`Factor`), so
neither a singular kernel nor a saturated likelihood needs jitter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from scipy.linalg.blas import dtrmm, dtrsm

from preflearn.inference.factor import Factor, PriorFactor
from preflearn.linalg import cross_product
from preflearn.operators import FloatArray

__all__ = ["Curvature", "Eliminated", "Info", "Posterior", "cholesky_at_least_one"]

BLOCK = 2**20  # numbers held at a time for combinations of new latents
MANY = 3  # new latents per training latent from which one product for each is worth a factor of its own
EPS = float(np.finfo(np.float64).eps)
SURE = 1e-7  # bound on the relative error up to which a variance by that product is kept


@dataclass(frozen=True)
class Info:
    """How an inference ended: steps, the size of what should be zero, what was wanted, and whether it got there."""

    steps: int
    residual: float
    wanted: float
    converged: bool


@dataclass(frozen=True)
class Curvature:
    """B = I + R'ΛR, factored; everything that depends on the precisions τ."""

    Lam: Any  # (n, n), sparse or dense
    LB: FloatArray  # lower Cholesky factor of B

    @classmethod
    def build(cls, factor: PriorFactor, Lam: Any, *, semidefinite: bool = True) -> Curvature:
        """Factor B; n r² + r³/3 beyond the product ΛR. A factor that knows a shape of B has a ``curvature`` for it.

        ``semidefinite`` says that Λ is, as it is for log-concave likelihoods; otherwise B need not be positive
        definite, and a `LinAlgError` says so.
        """
        if hasattr(factor, "curvature"):
            return cast(Curvature, factor.curvature(Lam, semidefinite=semidefinite))
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


class Eliminated:
    """Base of factors of B that eliminate some latents and so are no matrix; they stand in place of a `Curvature`."""

    factor: Any

    @property
    def LB(self) -> Self:
        """The factor itself, as `Curvature` calls it."""
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Size of B."""
        return self.factor.rank, self.factor.rank


def cholesky_at_least_one(G: FloatArray) -> FloatArray:
    """Factor I + G for the lower triangle of a positive semi-definite G with rounding errors larger than 1."""
    values, vectors = scipy.linalg.eigh(G, lower=True)
    root = np.sqrt(1.0 + np.maximum(values, 0.0))[:, None] * vectors.T
    upper: FloatArray = np.asarray(np.linalg.qr(root, mode="r"))
    return np.asfortranarray((upper * np.sign(upper.diagonal())[:, None]).T)


@dataclass(frozen=True)
class Posterior:
    """f ~ N(R u, R B⁻¹ R') on the training latents; conditioning on u extends it to new ones."""

    factor: PriorFactor
    curvature: Curvature
    u: FloatArray
    a: FloatArray  # (n,): the mean of any latent is its prior covariance with f times a
    log_evidence: float

    @classmethod
    def of(cls, factor: PriorFactor, *rest: Any) -> Posterior:
        """Return the posterior from its fields, of the kind that the factor asks for if it asks for one."""
        return cast(Posterior, getattr(factor, "posterior", cls)(factor, *rest))

    def moments(
        self, Q: FloatArray, prior_variance: FloatArray, A: Any | None = None, *, total: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of new latents, or of combinations A of them.

        ``Q`` (p, n) is their cross-covariance with the training latents; ``prior_variance`` that of the wanted
        quantities, (p,) or (rows of A,). ``total`` says how many will be asked for where these are a part of them.
        """
        if A is not None and A.shape[0] < Q.shape[0]:  # fewer combinations than latents: combine first
            Q, A = A @ Q, None
        if A is None and max(total, Q.shape[0]) > MANY * Q.shape[1] and isinstance(self.factor, Factor):
            return self._moments_of_many(Q, prior_variance)
        return self._moments(Q, prior_variance, A)

    def _moments(self, Q: FloatArray, prior_variance: FloatArray, A: Any | None) -> tuple[FloatArray, FloatArray]:
        W = self.factor.whiten(Q)
        V = self.curvature.whiten(W)
        mean = np.asarray(W.T @ self.u)
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

    def _moments_of_many(self, Q: FloatArray, prior_variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return moments by one triangular product instead of two triangular solves for each latent.

        The variance is the prior's less what the comparisons explain, which loses digits where little is left: those
        latents are done again with sums of two non-negative parts.
        """
        explained, error = self._explained.square_norms(Q)
        mean, spread = np.asarray(Q @ self.a), prior_variance - explained
        unsure = np.flatnonzero(~(error + 4 * EPS * prior_variance <= SURE * spread))
        if unsure.shape[0]:
            mean[unsure], spread[unsure] = self._moments(Q[unsure], prior_variance[unsure], None)
        return mean, spread

    @cached_property
    def _explained(self) -> _Explained:
        return _Explained.of(cast(Factor, self.factor), self.curvature)

    def joint(self, Q: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean (p,) and the covariance (p, p) of new latents with prior covariance ``prior``."""
        W = self.factor.whiten(Q)
        V = self.curvature.whiten(W)
        rest = prior - W.T @ W
        np.fill_diagonal(rest, np.maximum(rest.diagonal(), 0.0))  # rounding, as in `moments`
        covariance = rest + V.T @ V
        return np.asarray(W.T @ self.u), np.asarray((covariance + covariance.T) / 2)


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
