"""Systems in the space of weights: x = A R u with R (n, r) of fewer columns than rows, B = I + R'ΛR.

R is what terms are sums of: functions at the items, and deviations of what stands beside them. Nothing is n x n: Λ =
A'diag(τ)A is sparse, and B costs one product of it with R and n r². Derivatives are by R:

    d evidence = <2 M R, dR>,    M = ½ (ΛCΛ - Λ + pp' - qq'),    C = R B⁻¹ R' = T'T,    TΛR = LB⁻¹ (B - I).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import dger, dtrsm

from preflearn.inference.contract import Curve, Query, Touched
from preflearn.inference.dense import BLOCK, Curvature, DenseSystem, Design, Factor, lower
from preflearn.linalg import cholesky_one_plus, square_norms, times, turned
from preflearn.operators import FloatArray, IntArray


@dataclass(frozen=True)
class WeightFactor(Factor):
    """R (n, r) of K = RR' with fewer columns than rows, for `preflearn.inference.block_arrow`.

    What has a covariance with latents elsewhere, says here what it sees of the weights.
    """

    def means(self, Q: FloatArray, a: FloatArray) -> FloatArray:
        """Return what values that see Q (p, r) of the weights have to do with a (n,)."""
        return np.asarray(Q @ self.back(a))

    def whiten(self, Q: FloatArray) -> FloatArray:
        """Return Q'."""
        return np.asarray(Q.T)

    def curvature(self, Lam: Design, *, semidefinite: bool = True) -> WeightCurvature:
        """Factor B = I + R'ΛR; Λ is a design here, as only its product with R is wanted."""
        G = self.R.T @ Lam.forward(self.R)
        return WeightCurvature(self, Lam, cholesky_one_plus((G + G.T) / 2, semidefinite=semidefinite))


@dataclass(frozen=True)
class WeightCurvature(Curvature):
    """B = I + R'ΛR, factored; Λ is a design."""

    def among(self, local: IntArray) -> FloatArray:
        """Return C (G, l, l) among sets of latents (G, l), nothing n x n."""
        T, (count, l) = np.ascontiguousarray(self.T.T), local.shape
        found, step = np.empty((count, l, l)), max(1, BLOCK // max(1, l * T.shape[1]))
        for start in range(0, count, step):
            rows = T[local[start : start + step]]
            found[start : start + step] = times(rows, turned(rows))
        return found

    def spread(self, design: Design) -> FloatArray:
        """Return diag(A C A')."""
        return design.square_norms(np.ascontiguousarray(self.T.T))

    def sensitivity(self, plus: FloatArray, minus: FloatArray) -> FloatArray:
        """Return 2 M R, (n, r); see the module."""
        R = self.factor.R
        return _by_functions(R, np.ascontiguousarray(self.Lam.forward(R)), self.LB, plus, minus)


def _by_functions(R: FloatArray, seen: FloatArray, LB: FloatArray, plus: FloatArray, minus: FloatArray) -> FloatArray:
    """Return 2 M R; ΛR, ``seen``, becomes it: at full size every array more counts."""
    if not seen.size:
        return seen
    # ΛCΛR - ΛR = ΛR (B⁻¹ (B - I) - I) = -ΛR B⁻¹; rows in C order are columns in Fortran order
    dtrsm(-1.0, LB, seen.T, lower=1, overwrite_b=1)
    dtrsm(1.0, LB, seen.T, lower=1, trans_a=1, overwrite_b=1)
    for vector, sign in ((plus, 1.0), (minus, -1.0)):
        dger(sign, R.T @ vector, vector, a=seen.T, overwrite_a=1)
    return seen


class WeightSystem(DenseSystem):
    """S = A R; the factor R need not be triangular, as no latents are whitened."""

    def __init__(self, design: Design, factor: Factor) -> None:
        super().__init__(design, factor)
        self.order = self.size

    def curve(self, tau: FloatArray, *, semidefinite: bool = True, near: Curve | None = None) -> WeightCurve:  # type: ignore[override]
        """Factor B; n r² beyond the product ΛR. See `System.curve`."""
        R = self.factor.R
        G = R.T @ self.design.laplacian_times(tau, R)
        G = (G + G.T) / 2
        return WeightCurve(self, tau, cholesky_one_plus(G, semidefinite=semidefinite))


@dataclass(frozen=True)
class WeightCurve(Curve):
    """B = I + R'ΛR, factored. Queries say what values see of the weights."""

    system: Any
    tau: FloatArray
    LB: FloatArray

    @property
    def log_det(self) -> float:
        """Return log |B|."""
        return 2.0 * float(np.log(self.LB.diagonal()).sum())

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b."""
        return lower(self.LB, lower(self.LB, b), transposed=True)

    def _root(self, few: Any) -> FloatArray:
        """Return rows of R LB'⁻¹, (n, r): the posterior covariance of the latents is its product with itself."""
        return np.ascontiguousarray(lower(self.LB, self.system.factor.R[few].T).T)

    @cached_property
    def variances(self) -> FloatArray:
        """Posterior variances of x at the cells."""
        design: Design = self.system.design
        return design.square_norms(self._root(slice(None)))

    def sensitivity(self, plus: FloatArray, minus: FloatArray) -> FloatArray:
        """Return 2 M R, (n, r); see the module and `Curve.sensitivity`."""
        design, R = self.system.design, self.system.factor.R
        seen = np.ascontiguousarray(design.laplacian_times(self.tau, R))
        return _by_functions(R, seen, self.LB, design.back(plus), design.back(minus))

    def touched(self, u: FloatArray, cells: IntArray) -> Touched:
        """Return what some cells see."""
        rows: Any = self.system.design.rows(cells)
        few = np.unique(rows.nonzero()[1])
        T = self._root(few)
        return Touched(rows[:, few], self.system.factor.R[few] @ u, T @ T.T)

    def answer(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, list[Any], list[Any]]:
        """Return means, and what values see of the weights, before and after the data; see `Curve.answer`."""
        query = query.combined()
        return query.shared @ u, [query.shared], [lower(self.LB, np.asarray(query.shared).T).T]

    def relative(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means and variances relative to the mean of all values."""
        query = query.combined()
        seen, p = query.shared, query.shared.shape[0]
        left = lower(self.LB, np.asarray(seen - seen.mean(axis=0)).T).T
        rest = _rest(query)
        mean = seen @ u
        return mean - mean.mean(), square_norms(left) + (1 - 2 / p) * rest + rest.mean() / p

    def draws(self, u: FloatArray, g: FloatArray, query: Query, count: int, rng: np.random.Generator) -> FloatArray:
        """Return draws (count, p): of the weights, and of what they leave over."""
        query = query.combined()
        weights = u + lower(self.LB, rng.standard_normal((u.shape[0], count)), transposed=True).T
        found = weights @ query.shared.T
        found += np.sqrt(_rest(query)) * rng.standard_normal(found.shape)
        return np.asarray(found)


def _rest(query: Query) -> FloatArray:
    """Return the variance of each value that no weight explains."""
    return np.maximum(query.prior - square_norms(query.shared), 0.0)
