"""Latents of a population and of the judges in it: judge a sees f + h_a at the latents it was asked about.

f has covariance K over n latents, items or pairs of items. h_a is independent from judge to judge, with covariance ρ K
over the k latents of the judge's own comparisons. All judges meet in f only, so that they are eliminated one by one:
with Λ_a the precisions of judge a's comparisons between its latents, ρ K_a = R_a R_a' and B_a = I + R_a'Λ_aR_a,

    Λ̃_a = (Λ_a⁻¹ + ρ K_a)⁻¹ = Λ_a - Λ_a R_a B_a⁻¹ R_a' Λ_a        is what its comparisons say about f,
    V_a = R_a B_a⁻¹ R_a'                                           the covariance of h_a for known f,
    D_a = V_a + (I - V_aΛ_a) C (I - V_aΛ_a)'                       that of f + h_a, C being that of f,

and what is left is the problem of f alone with precisions Λ̃ = ΣΛ̃_a: Σk³ + n³ instead of (n + Σk)³. R_a is triangular
if K is safely positive definite, and else the symmetric root: both change smoothly with K. Judges with equally many
latents are done together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtri

from preflearn.inference.factor import Factor
from preflearn.inference.judge_design import Blocks, JudgeLaplacian, Plan, ravel
from preflearn.inference.posterior import Curvature, Eliminated, Posterior, cholesky_at_least_one
from preflearn.linalg import EPS
from preflearn.operators import FloatArray, IntArray

__all__ = [
    "JudgeCovariance",
    "JudgeCurvature",
    "JudgeFactor",
    "joint",
    "moments",
]


SMALL = 8  # latents of a judge up to which matrices are inverted together, by a method that is slower for large ones


def _turned(M: FloatArray) -> FloatArray:
    return M.transpose(0, 2, 1)


@dataclass(frozen=True)
class JudgeFactor:
    """K = diag(R R', ρ K_1, ρ K_2, ...)."""

    plan: Plan
    K: FloatArray  # of f
    base: Factor
    share: float  # ρ
    roots: Blocks  # R_a

    @classmethod
    def build(cls, K: FloatArray, share: float, plan: Plan) -> JudgeFactor:
        """Factor K, and ρ K between the latents of each judge; judges of the same latents share their root."""
        base = Factor.build(K)
        roots: Blocks = []
        for sets, which in plan.distinct:
            own = share * K[sets[:, :, None], sets[:, None, :]]
            root = _symmetric_root(own) if base.order is not None else np.asarray(np.linalg.cholesky(own))
            roots.append(root[which])
        return cls(plan, K, base, share, roots)

    def whiten_own(self, judge: int, Q: FloatArray) -> FloatArray:
        """Return the covariance (k, p) of u_a with new values of h_a, given that of new values of f with f (p, n)."""
        size, k = self.plan.places[judge]
        root, own = self.roots[size][k], self.share * Q[:, self.plan.latents[size][k]].T
        if self.order is None:
            return np.asarray(solve_triangular(root, own, lower=True, check_finite=False))
        return np.asarray(np.linalg.pinv(root, rcond=np.sqrt(root.shape[0] * EPS), hermitian=True) @ own)

    @property
    def order(self) -> IntArray | None:
        """None if the factor changes smoothly with the parameters."""
        return self.base.order

    @property
    def rank(self) -> int:
        """Number of columns of R."""
        return self.base.rank + int(self.plan.offsets[-1])

    def forward(self, u: FloatArray) -> FloatArray:
        """Return R u."""
        r = self.base.rank
        own = [R @ x for R, x in zip(self.roots, self.plan.split(u[r:]), strict=True)]
        return np.concatenate([self.base.forward(u[:r]), ravel(own)])

    def back(self, f: FloatArray) -> FloatArray:
        """Return R'f."""
        n = self.plan.n
        own = [_turned(R) @ x for R, x in zip(self.roots, self.plan.split(f[n:]), strict=True)]
        return np.concatenate([self.base.back(f[:n]), ravel(own)])

    def curvature(self, Lam: JudgeLaplacian, *, semidefinite: bool) -> JudgeCurvature:
        """Eliminate the judges, and factor what is left; see `Curvature.build` for ``semidefinite``."""
        inverses, halves, effective = [], [], []
        for R, L in zip(self.roots, Lam.blocks, strict=True):
            RL = _turned(R) @ L
            inverse = _inverse_cholesky(RL @ R, semidefinite=semidefinite)
            Y = inverse @ RL
            inverses.append(inverse)
            halves.append(Y)
            effective.append(L - _turned(Y) @ Y)
        Lam_f = self.plan.scatter_blocks(effective)
        return JudgeCurvature(Lam, self, inverses, halves, Curvature.build(self.base, Lam_f, semidefinite=semidefinite))

    def covariance(self, LB: JudgeCurvature) -> JudgeCovariance:
        """Return C = R B⁻¹ R'."""
        return JudgeCovariance(self, LB)


@dataclass(frozen=True)
class JudgeCurvature(Eliminated):
    """B = I + R'ΛR with the judges eliminated; in place of a `Curvature`."""

    Lam: JudgeLaplacian
    factor: JudgeFactor
    inverses: Blocks  # inverse lower Cholesky factors of B_a
    halves: Blocks  # those times R_a'Λ_a
    point: Curvature  # what is left of B for f

    @property
    def log_det(self) -> float:
        """Return log |B|."""
        own = sum(float(np.log(np.diagonal(one, axis1=1, axis2=2)).sum()) for one in self.inverses)
        return self.point.log_det - 2.0 * own

    def half(self, judge: int, W: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return LB⁻¹ W for columns W (k, p) of one judge: its own part (k, p), and what moves to f (n, p)."""
        size, k = self.factor.plan.places[judge]
        first = self.inverses[size][k] @ W
        moved = np.zeros((self.factor.plan.n, W.shape[1]))
        moved[self.factor.plan.latents[size][k]] = self.halves[size][k].T @ first
        return first, moved

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b for one vector."""
        factor, plan = self.factor, self.factor.plan
        r = factor.base.rank
        half = [one @ x for one, x in zip(self.inverses, plan.split(b[r:]), strict=True)]
        moved = plan.scatter([_turned(Y) @ x for Y, x in zip(self.halves, half, strict=True)])
        v = self.point.solve(b[:r] - factor.base.back(moved))
        seen = plan.gather(factor.base.forward(v))
        own = [_turned(one) @ (x - Y @ f) for one, Y, x, f in zip(self.inverses, self.halves, half, seen, strict=True)]
        return np.concatenate([v, ravel(own)])


@dataclass(frozen=True)
class JudgeCovariance:
    """Posterior covariances of f and of f + h_a."""

    factor: JudgeFactor
    curvature: JudgeCurvature

    @cached_property
    def population(self) -> FloatArray:
        """Covariance of f, (n, n)."""
        return self.factor.base.covariance(self.curvature.point.LB).C

    @cached_property
    def own(self) -> Blocks:
        """V_a."""
        halves = [one @ _turned(R) for one, R in zip(self.curvature.inverses, self.factor.roots, strict=True)]
        return [_turned(H) @ H for H in halves]

    @cached_property
    def passed(self) -> Blocks:
        """I - V_aΛ_a: how much of a change of f is one of f + h_a."""
        return [np.eye(V.shape[1]) - V @ L for V, L in zip(self.own, self.curvature.Lam.blocks, strict=True)]

    @cached_property
    def D(self) -> Blocks:
        """Covariance of f + h_a."""
        C, latents = self.population, self.factor.plan.latents
        return [
            V + W @ C[one[:, :, None], one[:, None, :]] @ _turned(W)
            for V, W, one in zip(self.own, self.passed, latents, strict=True)
        ]

    def spread(self, design: Any) -> FloatArray:
        """Return diag(ACA')."""
        return np.asarray(design.spread(self.D))

    def among(self, A: Any) -> FloatArray:
        """Return A C A' for some rows A of a design."""
        own = A[:, self.factor.plan.n :]
        passed, alone = self._sparse
        lifted = own @ passed
        return np.asarray(lifted @ (lifted @ self.population).T + (own @ alone @ own.T).toarray())

    @cached_property
    def _sparse(self) -> tuple[Any, Any]:
        # what judges pass on of the population's utilities (N, n), and their own covariance (N, N)
        plan = self.factor.plan
        N = plan.flat.shape[0]
        shared = sp.csr_array((np.ones(N), plan.flat, np.arange(N + 1)), (N, plan.n))
        return plan.diagonal(self.passed) @ shared, plan.diagonal(self.own)

    def sensitivity(
        self, Lam: JudgeLaplacian, plus: FloatArray, minus: FloatArray | None = None
    ) -> tuple[FloatArray, float]:
        """Return the derivatives of the evidence by K and by log ρ."""
        plan, share = self.factor.plan, self.factor.share
        minus = np.zeros_like(plus) if minus is None else minus
        p, q = plus[: plan.n], minus[: plan.n]
        own = [
            0.5 * share * (L @ D @ L - L + x @ _turned(x) - y @ _turned(y))
            for L, D, x, y in zip(
                Lam.blocks, self.D, plan.split(plus[plan.n :]), plan.split(minus[plan.n :]), strict=True
            )
        ]
        # for f alone: ΛCΛ - Λ with the precisions that the judges leave
        effective = self.curvature.point.Lam
        M = 0.5 * (effective @ self.population @ effective - effective + np.outer(p, p) - np.outer(q, q))
        of_judges = plan.scatter_blocks(own)
        return M + of_judges, float(np.sum(of_judges * self.factor.K))


def moments(
    posterior: Posterior, Q: FloatArray, prior_variance: FloatArray, judge: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of new latents, each as one judge sees it, or of f itself where that is negative.

    ``Q`` (p, n) is the covariance of their population part with f, ``prior_variance`` (p,) its variance.
    """
    factor: Any = posterior.factor
    curvature: Any = posterior.curvature
    mean, W = Q @ posterior.a[: Q.shape[1]], factor.base.whiten(Q)
    variance = np.maximum(prior_variance - np.einsum("rp,rp->p", W, W), 0.0)
    moved = np.zeros((factor.plan.n, Q.shape[0]))
    for one in np.unique(judge[judge >= 0]).tolist():
        here = np.flatnonzero(judge == one)
        own = factor.whiten_own(one, Q[here])
        first, moved[:, here] = curvature.half(one, own)
        mean[here] += factor.share * Q[np.ix_(here, _latents(factor, one))] @ _own_part(posterior, one)
        unseen = factor.share * prior_variance[here] - np.einsum("kp,kp->p", own, own)
        variance[here] += np.maximum(unseen, 0.0) + np.einsum("kp,kp->p", first, first)
    V = curvature.point.whiten(W - factor.base.back(moved))
    return mean, variance + np.einsum("rp,rp->p", V, V)


def joint(posterior: Posterior, Q: FloatArray, prior: FloatArray, judge: int) -> tuple[FloatArray, FloatArray]:
    """Return the mean (p,) and the covariance (p, p) of new latents as one judge sees them, or of f (negative)."""
    factor: Any = posterior.factor
    curvature: Any = posterior.curvature
    mean, W = Q @ posterior.a[: Q.shape[1]], factor.base.whiten(Q)
    covariance = prior - W.T @ W
    if judge >= 0:
        own = factor.whiten_own(judge, Q)
        first, moved = curvature.half(judge, own)
        covariance += factor.share * prior - own.T @ own + first.T @ first
        mean = mean + factor.share * Q[:, _latents(factor, judge)] @ _own_part(posterior, judge)
        W = W - factor.base.back(moved)
    V = curvature.point.whiten(W)
    np.fill_diagonal(covariance, np.maximum(covariance.diagonal(), 0.0))  # rounding, as in `moments`
    covariance += V.T @ V
    return mean, np.asarray((covariance + covariance.T) / 2)


def _latents(factor: JudgeFactor, judge: int) -> IntArray:
    size, k = factor.plan.places[judge]
    return np.asarray(factor.plan.latents[size][k])


def _own_part(posterior: Posterior, judge: int) -> FloatArray:
    factor: Any = posterior.factor
    size, k = factor.plan.places[judge]
    return np.asarray(factor.plan.split(posterior.a[factor.plan.n :])[size][k, :, 0])


def _inverse_cholesky(G: FloatArray, *, semidefinite: bool) -> FloatArray:
    """Return the inverses of the lower Cholesky factors of I + G, (judges, k, k)."""
    k = G.shape[1]
    eye = np.eye(k)
    try:
        L = np.linalg.cholesky(G + eye)
    except np.linalg.LinAlgError:
        if not semidefinite:
            raise
        L = np.stack([cholesky_at_least_one(one) for one in G])
    if k <= SMALL:
        return np.asarray(np.linalg.solve(L, np.broadcast_to(eye, L.shape)))
    # the rows of a lower triangle are, to LAPACK, the columns of an upper one
    return np.stack([dtrtri(one.T, lower=0)[0].T for one in L])


def _symmetric_root(K: FloatArray) -> FloatArray:
    """Return the roots of positive semi-definite matrices, (judges, k, k)."""
    values, V = np.linalg.eigh(K)
    root = np.sqrt(np.where(values > K.shape[1] * EPS * values[:, -1:], values, 0.0))
    return np.asarray((V * root[:, None, :]) @ _turned(V))
