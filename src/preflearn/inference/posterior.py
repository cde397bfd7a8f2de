"""A Gaussian posterior over latents, and the linear algebra that Laplace's method and EP share.

Latents f = R u with u ~ N(0, I), so K = R R'; comparisons see z = A f; each comparison k has precision τ_k >= 0. Then

    Λ = A' diag(τ) A,   B = I + R'ΛR,   posterior covariance of f:  C = (K⁻¹ + Λ)⁻¹ = R B⁻¹ R',   |I + KΛ| = |B|.

Only B is factored, whose eigenvalues are at least 1, and R is pivoted where K is singular (`Factor`), so
neither a singular kernel nor a saturated likelihood needs jitter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dtrsm

from preflearn.inference.factor import PriorFactor
from preflearn.operators import FloatArray

__all__ = ["Curvature", "Info", "Posterior", "cholesky_at_least_one"]

BLOCK = 2**20  # numbers held at a time for combinations of new latents


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
            return cast(Curvature, factor.curvature(Lam))
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
        return np.asarray(scipy.linalg.cho_solve((self.LB, True), b, check_finite=False)) if b.size else b

    def whiten(self, W: FloatArray) -> FloatArray:
        """Return LB⁻¹ W."""
        return np.asarray(dtrsm(1.0, self.LB, W, lower=1)) if W.size else np.zeros(W.shape)

    @property
    def log_det(self) -> float:
        """Return log |B| = log |I + KΛ|."""
        return 2.0 * float(np.log(self.LB.diagonal()).sum())


def cholesky_at_least_one(G: FloatArray) -> FloatArray:
    """Factor I + G for a positive semi-definite G with rounding errors larger than 1."""
    values, vectors = scipy.linalg.eigh((G + G.T) / 2)
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

    def moments(self, Q: FloatArray, prior_variance: FloatArray, A: Any | None = None) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of new latents, or of combinations A of them.

        ``Q`` (p, n) is their cross-covariance with the training latents; ``prior_variance`` that of the wanted
        quantities, (p,) or (rows of A,).
        """
        if A is not None and A.shape[0] < Q.shape[0]:  # fewer combinations than latents: combine first
            Q, A = A @ Q, None
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

    def joint(self, Q: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean (p,) and the covariance (p, p) of new latents with prior covariance ``prior``."""
        W = self.factor.whiten(Q)
        V = self.curvature.whiten(W)
        rest = prior - W.T @ W
        np.fill_diagonal(rest, np.maximum(rest.diagonal(), 0.0))  # rounding, as in `moments`
        covariance = rest + V.T @ V
        return np.asarray(W.T @ self.u), np.asarray((covariance + covariance.T) / 2)


def _square_norms(rows: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
