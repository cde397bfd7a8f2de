"""A Gaussian posterior over latents, and the linear algebra that Laplace's method and EP share.

Latents f = R u with u ~ N(0, I), so K = R R'; comparisons see z = A f; each comparison k has precision τ_k >= 0. Then

    Λ = A' diag(τ) A,   B = I + R'ΛR,   posterior covariance of f:  C = (K⁻¹ + Λ)⁻¹ = R B⁻¹ R',   |I + KΛ| = |B|.

Only B is factored, whose eigenvalues are at least 1, and R comes from a pivoted Cholesky factorisation of K, so
neither a singular kernel nor a saturated likelihood needs jitter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from preflearn.linalg import cholesky_pivoted
from preflearn.operators import FloatArray, IntArray

__all__ = ["Curvature", "Factor", "Info", "Posterior", "pair_operator"]


@dataclass(frozen=True)
class Info:
    """How an inference ended: steps, the size of what should be zero, what was wanted, and whether it got there."""

    steps: int
    residual: float
    wanted: float
    converged: bool


@dataclass(frozen=True)
class Factor:
    """R with K = R R', (n, r), and what is needed to condition new latents on u."""

    R: FloatArray
    triangle: FloatArray  # rows of R at the pivots, lower triangular (r, r)
    pivots: IntArray

    @classmethod
    def build(cls, K: FloatArray) -> Factor:
        """Factor a kernel matrix; n r² for rank r."""
        L, order = cholesky_pivoted(K)
        r = L.shape[1]
        R = np.empty_like(L)
        R[order] = L
        return cls(R, np.ascontiguousarray(L[:r]), order[:r])

    def whiten(self, Q: FloatArray) -> FloatArray:
        """Return W (r, p) with cov(f_new, u) = W' for the cross-covariance Q (p, n) of new latents with f."""
        return np.asarray(scipy.linalg.solve_triangular(self.triangle, Q[:, self.pivots].T, lower=True))


@dataclass(frozen=True)
class Curvature:
    """B = I + R'ΛR, factored; everything that depends on the precisions τ."""

    Lam: Any  # sparse (n, n)
    LB: FloatArray  # lower Cholesky factor of B

    @classmethod
    def build(cls, R: FloatArray, A: Any, tau: FloatArray) -> Curvature:
        """Factor B for precisions τ (m,); 2 n r² + r³/3, and O(m) beyond that."""
        Lam = (A.T @ sp.diags_array(tau) @ A).tocsr()
        B = R.T @ (Lam @ R)
        B.flat[:: B.shape[0] + 1] += 1.0
        return cls(Lam, scipy.linalg.cholesky(B, lower=True, overwrite_a=True, check_finite=False))

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b."""
        return np.asarray(scipy.linalg.cho_solve((self.LB, True), b, check_finite=False))

    @property
    def log_det(self) -> float:
        """Return log |B| = log |I + KΛ|."""
        return 2.0 * float(np.log(self.LB.diagonal()).sum())

    def covariance(self, R: FloatArray) -> FloatArray:
        """Return C = R B⁻¹ R', (n, n)."""
        T = scipy.linalg.solve_triangular(self.LB, R.T, lower=True, check_finite=False)
        return np.asarray(T.T @ T)


@dataclass(frozen=True)
class Posterior:
    """f ~ N(R u, R B⁻¹ R') on the training latents; conditioning on u extends it to new ones."""

    factor: Factor
    curvature: Curvature
    u: FloatArray
    a: FloatArray  # (n,): the mean of any latent is its prior covariance with f times a
    log_evidence: float

    def moments(self, Q: FloatArray, prior_variance: FloatArray, A: Any | None = None) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of new latents, or of combinations A of them.

        ``Q`` (p, n) is their cross-covariance with the training latents; ``prior_variance`` that of the wanted
        quantities, (p,) or (rows of A,).
        """
        W = self.factor.whiten(Q)
        if A is not None:
            W = np.asarray((A @ W.T).T)
        V = scipy.linalg.solve_triangular(self.curvature.LB, W, lower=True, check_finite=False)
        # var(f | u) + var of its mean: both parts are non-negative
        rest = np.maximum(prior_variance - np.einsum("ij,ij->j", W, W), 0.0)
        return np.asarray(W.T @ self.u), rest + np.einsum("ij,ij->j", V, V)

    def joint(self, Q: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean (p,) and the covariance (p, p) of new latents with prior covariance ``prior``."""
        W = self.factor.whiten(Q)
        V = scipy.linalg.solve_triangular(self.curvature.LB, W, lower=True, check_finite=False)
        covariance = prior - W.T @ W + V.T @ V
        return np.asarray(W.T @ self.u), np.asarray((covariance + covariance.T) / 2)


def pair_operator(first: IntArray, second: IntArray, n_items: int) -> Any:
    """Return the sparse operator A (m, n) with rows e_first - e_second."""
    m = first.shape[0]
    row = np.tile(np.arange(m), 2)
    return sp.csr_array((np.repeat([1.0, -1.0], m), (row, np.concatenate([first, second]))), shape=(m, n_items))
