"""Comparisons that see many latents each: weights of features, beside a few of their own.

z = A f + Ψ w with a sparse A (m, n), as for items, and dense features Ψ (m, q). Λ = [A Ψ]' diag(τ) [A Ψ] costs m q² and
is only formed where it is factored; products with it cost m q.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.linalg import weighted_square
from preflearn.operators import FloatArray

__all__ = ["FeatureDesign", "FeatureLaplacian", "Stacked"]

BLOCK = 2**21  # numbers of a temporary array


class Stacked:
    """The operator [A Ψ], (m, n + q); rows can be sliced, and it can be multiplied with vectors and matrices."""

    def __init__(self, A: Any, Psi: FloatArray) -> None:
        self.A, self.Psi = A, Psi
        self.shape = Psi.shape[0], A.shape[1] + Psi.shape[1]

    def __getitem__(self, rows: Any) -> Stacked:
        """Return some of the rows."""
        return Stacked(self.A[rows], self.Psi[rows])

    def __matmul__(self, x: FloatArray) -> FloatArray:
        """Return A x_f + Ψ x_w."""
        n = self.A.shape[1]
        return np.asarray(self.A @ x[:n] + self.Psi @ x[n:])


class _Transposed:
    def __init__(self, operator: Stacked) -> None:
        self.operator, self.AT = operator, sp.csr_array(operator.A.T)

    def __matmul__(self, v: FloatArray) -> FloatArray:
        return np.concatenate([self.AT @ v, self.operator.Psi.T @ v])


class FeatureDesign:
    """What `preflearn.inference.dense.Design` answers, for [A Ψ]."""

    dense = True
    inner_steps = 40  # products cost little beside forming Λ

    def __init__(self, A: Any, Psi: FloatArray) -> None:
        self.A = Stacked(sp.csr_array(A), np.ascontiguousarray(Psi))
        self.AT = _Transposed(self.A)
        self.shape = self.A.shape

    @property
    def size(self) -> int:
        """Order of the matrix that is factored."""
        return int(self.shape[1])

    def laplacian(self, tau: FloatArray) -> FeatureLaplacian:
        """Return Λ, not formed yet."""
        return FeatureLaplacian(self, tau)

    def square_sums(self, tau: FloatArray) -> FloatArray:
        """Return the diagonal of Λ."""
        A, Psi = self.A.A, self.A.Psi
        return np.concatenate([A.multiply(A).T @ tau, np.square(Psi).T @ tau])

    def sizes(self, v: FloatArray) -> FloatArray:
        """Return |[A Ψ]| v."""
        n = self.A.A.shape[1]
        return np.asarray(abs(self.A.A) @ v[:n] + np.abs(self.A.Psi) @ v[n:])

    def spread(self, C: FloatArray) -> FloatArray:
        """Return diag([A Ψ] C [A Ψ]')."""
        out = np.empty(self.shape[0])
        step = max(1, BLOCK // self.shape[1])
        for start in range(0, self.shape[0], step):
            rows = _rows(self.A[start : start + step])
            out[start : start + step] = np.einsum("ij,ij->i", rows @ C, rows)
        return out


class FeatureLaplacian:
    """Λ = [A Ψ]' diag(τ) [A Ψ]: products from the rows, the matrix when it is asked for."""

    def __init__(self, design: FeatureDesign, tau: FloatArray) -> None:
        self.design, self.tau = design, tau

    def __matmul__(self, x: FloatArray) -> FloatArray:
        """Return Λ x for a vector."""
        return np.asarray(self.design.AT @ (self.tau * (self.design.A @ x)))

    @cached_property
    def matrix(self) -> FloatArray:
        """Λ as an array; m q (2 + q)."""
        (A, Psi), tau = (self.design.A.A, self.design.A.Psi), self.tau
        (m, n), q = A.shape, Psi.shape[1]
        total = np.zeros((n + q, n + q))
        total[:n, :n] = (A.T @ sp.diags_array(tau) @ A).toarray()
        total[n:, n:] = weighted_square(Psi, tau)
        step = max(1, BLOCK // max(1, q)) if n else m
        for start in range(0, m if n else 0, step):
            rows = slice(start, start + step)
            total[:n, n:] += A[rows].T @ (tau[rows, None] * Psi[rows])
        total[n:, :n] = total[:n, n:].T
        return total


def _rows(operator: Stacked) -> FloatArray:
    return np.hstack([operator.A.toarray(), operator.Psi])
