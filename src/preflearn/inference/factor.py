"""A square root of the prior covariance, K = R R', and the products with it that inference needs.

Inference sees R only through these methods, so a prior whose covariance has structure (blocks, one per label) supplies
a factor of its own:

    forward(u), back(f)         R u and R'f
    congruence(Λ)               R'ΛR, of which the lower triangle counts
    covariance(LB)              C = R B⁻¹ R' with B = LB LB', as an object that answers
        spread(design)              diag(A C A')
        sensitivity(Λ, p, q)        ½ (ΛCΛ - Λ + pp' - qq'), the derivative of the evidence by K
    whiten(Q)                   covariance of new latents with u

One that knows a shape of B has ``curvature(Λ)``, in place of the congruence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dgemm, dtrmm, dtrsm

from preflearn.inference.design import Design
from preflearn.linalg import EPS, SMALL, cholesky_pivoted, cross_product
from preflearn.operators import FloatArray, IntArray

__all__ = ["Covariance", "Factor", "PosteriorCovariance", "PriorFactor"]

BLOCK = 2**20  # numbers held at a time for the differences of rows


class PosteriorCovariance(Protocol):
    """What the gradient of the evidence asks of C; see the module."""

    def spread(self, design: Design) -> FloatArray:
        """Return diag(A C A')."""
        ...

    def sensitivity(self, Lam: Any, plus: FloatArray, minus: FloatArray | None = None) -> Any:
        """Return ½ (ΛCΛ - Λ + pp' - qq') in the form that the prior's pullback takes."""
        ...


class PriorFactor(Protocol):
    """What inference asks of K = R R'; see the module."""

    @property
    def rank(self) -> int:
        """Number of columns of R."""
        ...

    def forward(self, u: FloatArray) -> FloatArray:
        """Return R u."""
        ...

    def back(self, f: FloatArray) -> FloatArray:
        """Return R'f."""
        ...

    def congruence(self, Lam: Any) -> FloatArray:
        """Return R'ΛR, an array that the caller may overwrite and whose lower triangle counts."""
        ...

    def covariance(self, LB: FloatArray) -> PosteriorCovariance:
        """Return C = R B⁻¹ R' for the Cholesky factor LB of B."""
        ...

    def whiten(self, Q: Any) -> FloatArray:
        """Return W (r, p) with cov(f_new, u) = W' for the cross-covariance Q of new latents with f."""
        ...


@dataclass(frozen=True)
class Factor:
    """Dense K = R R': a triangular R if K is safely positive definite, else pivoted to its numerical rank."""

    L: FloatArray  # rows in pivoted order, the leading r x r block lower triangular
    order: IntArray | None  # None: not permuted

    @classmethod
    def build(cls, K: FloatArray) -> Factor:
        """Factor a kernel matrix; n r² for rank r."""
        largest = float(K.diagonal().max(initial=0.0))
        if largest > 0.0:
            # Cholesky of the transpose in C order: the upper factor is the lower one row by row
            U, failed = scipy.linalg.lapack.dpotrf(K.T, lower=0, clean=1)
            if failed == 0 and float(U.diagonal().min()) ** 2 > 1e2 * K.shape[0] * EPS * largest:
                return cls(np.ascontiguousarray(U.T), None)
        return cls(*cholesky_pivoted(K))

    @property
    def rank(self) -> int:
        """Number of columns of R."""
        return int(self.L.shape[1])

    @cached_property
    def R(self) -> FloatArray:
        """R in the order of the items."""
        if self.order is None:
            return self.L
        R = np.empty_like(self.L)
        R[self.order] = self.L
        return R

    def forward(self, u: FloatArray) -> FloatArray:
        """Return R u."""
        return np.asarray(self.R @ u)

    def back(self, f: FloatArray) -> FloatArray:
        """Return R'f."""
        return np.asarray(self.R.T @ f)

    def congruence(self, Lam: Any) -> FloatArray:
        """Return R'ΛR; n r² for the triangular part, and a third of that where each latent is seen on its own."""
        r, Lam = self.rank, _formed(Lam)
        if self.order is None and (tau := _diagonal(Lam)) is not None:
            # L'L of the lower triangle L = √Λ R
            root = np.multiply(np.sqrt(tau)[:, None], self.L, order="F")
            return np.asarray(scipy.linalg.lapack.dlauum(root, lower=1, overwrite_c=1)[0])
        Y = _times(self.R.T, Lam).T
        if self.order is not None:
            Y = Y[self.order]
        if r == 0:
            return np.zeros((0, 0))
        # (Y'L)' with BLAS reading the rows of C arrays as columns
        B = dtrmm(1.0, self.L[:r].T, Y[:r].T, side=1, lower=0, trans_a=1)
        if r < self.L.shape[0]:
            B += Y[r:].T @ self.L[r:]
        return np.asarray(B)

    def covariance(self, LB: FloatArray) -> Covariance:
        """Return C = R B⁻¹ R'."""
        return Covariance(_solve(LB, self.R.T))

    def whiten(self, Q: FloatArray) -> FloatArray:
        """Return W (r, p) with cov(f_new, u) = W' for the cross-covariance Q (p, n) of new latents with f."""
        r = self.rank
        if self.order is not None:
            Q = Q[:, self.order[:r]]
        if r == 0 or Q.shape[0] == 0:
            return np.zeros((r, Q.shape[0]))
        return np.asarray(dtrsm(1.0, self.L[:r].T, np.ascontiguousarray(Q).T, lower=0, trans_a=1))

    def unwhitened(self, X: FloatArray) -> FloatArray:
        """Return M (n, n) with R'MR = X."""
        if self.order is not None:
            back = np.linalg.pinv(self.R)
            return np.asarray(back.T @ X @ back)
        half = scipy.linalg.solve_triangular(self.L, X, lower=True, trans="T")
        return np.asarray(scipy.linalg.solve_triangular(self.L, half.T, lower=True, trans="T").T)


@dataclass(frozen=True)
class Covariance:
    """C = T'T, (n, n)."""

    T: FloatArray

    @cached_property
    def C(self) -> FloatArray:
        """The matrix itself; n² r."""
        return cross_product(self.T)

    def spread(self, design: Design) -> FloatArray:
        """Return diag(A C A'); m r from T, of which differences of rows lose half the digits that those of C lose."""
        m, n = design.shape
        if 4 * m > n * n:
            return design.spread(self.C)
        rows, spread = np.ascontiguousarray(self.T.T), np.empty(m)
        block = max(1, BLOCK // max(1, rows.shape[1]))
        for start in range(0, m, block):
            D = design.A[start : start + block] @ rows
            spread[start : start + block] = np.einsum("ij,ij->i", D, D)
        return spread

    def among(self, A: Any) -> FloatArray:
        """Return A C A' for some rows A of a design."""
        return np.asarray(A @ (A @ self.C).T)

    def sensitivity(self, Lam: Any, plus: FloatArray, minus: FloatArray | None = None) -> FloatArray:
        """Return ½ (ΛCΛ - Λ + pp' - qq'), (n, n)."""
        Lam = _formed(Lam)
        M = cross_product(_times(self.T, Lam))
        M -= Lam if isinstance(Lam, np.ndarray) else Lam.toarray()
        M += np.outer(plus, plus)
        if minus is not None:
            M -= np.outer(minus, minus)
        M *= 0.5
        return np.asarray(M)


def _solve(LB: FloatArray, V: FloatArray) -> FloatArray:
    # LB⁻¹ V
    return np.asarray(dtrsm(1.0, LB, V, lower=1)) if V.size else np.zeros(V.shape)


def _diagonal(Lam: Any) -> FloatArray | None:
    # the diagonal of a sparse Λ >= 0 that is nothing else
    if isinstance(Lam, np.ndarray) or Lam.shape[0] < SMALL or Lam.nnz != Lam.shape[0]:
        return None
    tau: FloatArray = Lam.diagonal()
    return tau if np.count_nonzero(tau) == Lam.nnz and tau.min(initial=0.0) >= 0.0 else None


def _formed(Lam: Any) -> Any:
    # a Λ that was not formed as long as products were enough
    return getattr(Lam, "matrix", Lam)


def _times(V: FloatArray, Lam: Any) -> FloatArray:
    # V Λ in Fortran order for V in Fortran order and a symmetric Λ in C order
    if not isinstance(Lam, np.ndarray):
        return np.asarray((Lam @ V.T).T)
    return np.asarray(dgemm(1.0, V, Lam.T)) if V.size else np.zeros(V.shape)
