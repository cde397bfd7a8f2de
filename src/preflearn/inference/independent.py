"""Independent latents: K = diag(k), R = diag(√k), or no prior at all. Both need little of what a dense K costs.

Of the evidence's derivative by K only the diagonal counts, and Λ - ΛCΛ = K⁻¹ - K⁻¹CK⁻¹ gives it from that of C. Latents
are asked about themselves (`Query.direct`), so that covariances with them need not be written down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg.blas import dtrsm

from preflearn.exceptions import DataError
from preflearn.inference.contract import FACTOR_ALWAYS, Curve, DirectCurve, Query
from preflearn.inference.dense import (
    DenseCurve,
    DenseSystem,
    Design,
    cholesky_at_least_one,
    products_of_rows,
)
from preflearn.inference.krylov import conjugate
from preflearn.linalg import SMALL
from preflearn.operators import FloatArray

__all__ = [
    "Diagonal",
    "Flat",
    "IndependentCurve",
    "IndependentSystem",
    "PairDesign",
    "direct_draws",
    "direct_joint",
    "direct_relative",
    "moved_mode",
]

BLOCK = 2**20  # numbers held at a time
MORE_STEPS = 60  # with the diagonal alone, before a factor is the better buy
CANCELLED = 1e-6  # of the variances of single latents, below which that of a difference is worked out from a root


class PairDesign(Design):
    """The same where each row sees two latents, one as +1 and the other as -1; of Λ the upper triangle is formed."""

    dense = True

    def __init__(self, A: Any) -> None:
        self.A = sp.csr_array(A)
        self.A.sort_indices()
        self.AT = sp.csr_array(self.A.T)
        self.shape = self.A.shape
        ends = self.A.indices.reshape(-1, 2).astype(np.intp)
        self._low, self._high = np.ascontiguousarray(ends.T)
        self._key = self._low * self.shape[1] + self._high

    @staticmethod
    def fits(A: Any) -> bool:
        """Return whether rows of a sparse array are such."""
        two = bool((np.diff(A.indptr) == 2).all())
        return two and bool((A.data[::2] * A.data[1::2] == -1.0).all()) and bool((np.abs(A.data) == 1.0).all())

    def laplacian(self, tau: FloatArray) -> FloatArray:
        """Return the upper triangle of Λ."""
        n = self.shape[1]
        Lam: FloatArray = np.asarray(np.bincount(self._key, -tau, minlength=n * n), dtype=np.float64).reshape(n, n)
        Lam.flat[:: n + 1] = self.square_sums(tau)
        return Lam

    def square_sums(self, tau: FloatArray) -> FloatArray:
        """Return the diagonal of Λ."""
        n = self.shape[1]
        ends = np.bincount(self._low, tau, minlength=n) + np.bincount(self._high, tau, minlength=n)
        return np.asarray(ends, dtype=np.float64)

    def spread(self, C: FloatArray) -> FloatArray:
        """Return diag(ACA') from the few entries of C that the rows of A touch; its lower triangle counts."""
        v = C.diagonal()
        return np.asarray(v[self._low] + v[self._high] - 2.0 * C[self._high, self._low])

    def sizes(self, v: FloatArray) -> FloatArray:
        """Return |A| v."""
        return np.asarray(v[self._low] + v[self._high])


@dataclass(frozen=True)
class Diagonal:
    """R = diag(√k)."""

    variances: FloatArray
    order: ClassVar[None] = None  # not pivoted
    ridge: ClassVar[float] = 1.0  # of the prior, in the coordinates u

    @property
    def rank(self) -> int:
        """Number of columns of R."""
        return int(self.variances.shape[0])

    @cached_property
    def root(self) -> FloatArray:
        """√k."""
        return np.sqrt(self.variances)

    def forward(self, u: FloatArray) -> FloatArray:
        """Return R u."""
        return np.asarray(self.root * u)

    back = forward

    def curvature(self, Lam: Any, *, semidefinite: bool = True) -> IndependentCurvature:
        """Factor B = I + R'ΛR; the upper triangle of Λ counts. See `System.curve` for ``semidefinite``."""
        B = _array(Lam)
        B *= self.root
        B *= self.root[:, None]
        B.flat[:: B.shape[0] + 1] += 1.0
        LB, failed = scipy.linalg.lapack.dpotrf(B.T, lower=1, clean=1)
        if failed and not semidefinite:
            raise np.linalg.LinAlgError("B is not positive definite")
        if failed:  # entries beyond 1e16 of each other: the eigenvalues below 1 are rounding
            B.flat[:: B.shape[0] + 1] -= 1.0
            LB = cholesky_at_least_one(B.T)
        return IndependentCurvature(LB, 2.0 * float(np.log(LB.diagonal()).sum()))

    def diagonal(self, squares: FloatArray) -> FloatArray:
        """Return the diagonal of B from that of Λ."""
        return np.asarray(1.0 + self.variances * squares)

    def centred(self, x: FloatArray) -> FloatArray:
        """Return x."""
        return x

    def covariance(self, LB: FloatArray) -> DiagonalCovariance:
        """Return C = R B⁻¹ R'."""
        return DiagonalCovariance(LB, self)


def _array(Lam: Any) -> FloatArray:
    """Return Λ as an array that may be changed."""
    if isinstance(Lam, np.ndarray):
        return Lam  # formed for this
    return np.asarray(Lam.matrix.copy() if hasattr(Lam, "matrix") else Lam.toarray())


@dataclass(frozen=True)
class IndependentCurvature:
    """B = LB LB'; without a prior P but for its level."""

    LB: FloatArray
    log_det: float
    level: FloatArray | None = None
    Lam: None = None  # not asked for again

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b, or without a prior Λ⁺ b."""
        x = np.asarray(scipy.linalg.lapack.dpotrs(self.LB, b, lower=1)[0]) if b.size else b
        return x if self.level is None else np.asarray(x - self.level * (self.level @ x))


@dataclass(frozen=True)
class DiagonalCovariance:
    """C = T'T with T = LB⁻¹R, (n, n)."""

    LB: FloatArray
    prior: Diagonal

    @cached_property
    def T(self) -> FloatArray:
        """LB⁻¹R, lower triangular."""
        T = np.asarray(scipy.linalg.lapack.dtrtri(self.LB, lower=1)[0])
        return np.asarray(T * self.prior.root)

    @cached_property
    def lower(self) -> FloatArray:
        """The lower triangle of C."""
        inverse = np.asarray(scipy.linalg.lapack.dpotri(self.LB, lower=1)[0])
        inverse *= self.prior.root
        inverse *= self.prior.root[:, None]
        return inverse

    @cached_property
    def C(self) -> FloatArray:
        """The matrix itself."""
        whole = self.lower.copy(order="F")
        for start in range(0, whole.shape[0], SMALL):
            rows = slice(start, start + SMALL)
            whole[:start, rows] = whole[rows, :start].T
            block = np.tril(whole[rows, rows])
            whole[rows, rows] = block + np.tril(block, -1).T
        return whole

    def spread(self, design: Any) -> FloatArray:
        """Return diag(A C A')."""
        half = isinstance(design, PairDesign)
        return self._checked(design.A, design.spread(self.lower if half else self.C), design.sizes)

    def forms(self, E: Any) -> FloatArray:
        """Return diag(E C E') for sparse rows E."""
        row, left, right, value = products_of_rows(E)
        products = value * self.lower[np.maximum(left, right), np.minimum(left, right)]
        spread = np.asarray(np.bincount(row, products, minlength=E.shape[0]), dtype=np.float64)
        return self._checked(E, spread, lambda v: abs(E) @ v)

    def _checked(self, A: Any, spread: FloatArray, sizes: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return variances of rows, those that are small differences of large numbers from the root instead."""
        unsure = np.flatnonzero(spread <= CANCELLED * sizes(self.lower.diagonal()))
        if unsure.shape[0]:
            root = np.ascontiguousarray(self.T.T)
            block = max(1, BLOCK // max(1, root.shape[1]))
            for start in range(0, unsure.shape[0], block):
                rows = unsure[start : start + block]
                D = A[rows] @ root
                spread[rows] = np.einsum("ij,ij->i", D, D)
        return spread

    def among(self, A: Any) -> FloatArray:
        """Return A C A' for some rows A of a design."""
        return np.asarray(A @ (A @ self.C).T)

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return draws (n, count) around the mean."""
        noise = rng.standard_normal((self.LB.shape[0], count))
        return np.asarray(dtrsm(1.0, self.LB, noise, lower=1, trans_a=1) * self.prior.root[:, None])

    def sensitivity(self, Lam: Any, plus: FloatArray, minus: FloatArray | None = None) -> FloatArray:
        """Return the diagonal (n,) of ½ (ΛCΛ - Λ + pp' - qq')."""
        k = self.prior.variances
        squares = np.square(plus) - (0.0 if minus is None else np.square(minus))
        return np.asarray(0.5 * ((self.lower.diagonal() / k - 1.0) / k + squares))


@dataclass(frozen=True)
class Flat:
    """No prior: R = I, and P = Λ but along ``level``, of unit length, about which comparisons say nothing."""

    level: FloatArray
    order: ClassVar[None] = None
    ridge: ClassVar[float] = 0.0

    @property
    def rank(self) -> int:
        """Number of latents."""
        return int(self.level.shape[0])

    def diagonal(self, squares: FloatArray) -> FloatArray:
        """Return the diagonal of P from that of Λ."""
        return np.maximum(squares, 1e-300)

    def centred(self, x: FloatArray) -> FloatArray:
        """Return x without its level."""
        return np.asarray(x - self.level * (self.level @ x))

    def forward(self, u: FloatArray) -> FloatArray:
        """Return u."""
        return u

    back = forward

    def curvature(self, Lam: Any, *, semidefinite: bool = True) -> IndependentCurvature:
        """Factor Λ + ee'/s, s the inverse of its typical size; the upper triangle of Λ counts."""
        B = _array(Lam)
        scale = B.shape[0] / max(float(np.trace(B)), 1e-300)
        B *= scale
        B += np.outer(self.level, self.level)
        LB, failed = scipy.linalg.lapack.dpotrf(B.T, lower=1, clean=1)
        if failed:
            raise DataError(
                "BradleyTerry: the comparisons hardly hold the items together, so that maximum likelihood loses all "
                'digits. Use prior="evidence".'
            )
        LB /= np.sqrt(scale)
        return IndependentCurvature(LB, 0.0, self.level)  # a likelihood has no determinant

    def covariance(self, LB: FloatArray) -> _FlatCovariance:
        """Return the covariance of latents without a level."""
        return _FlatCovariance(LB, Diagonal(np.ones(self.rank)), self.level)


@dataclass(frozen=True)
class _FlatCovariance(DiagonalCovariance):
    """C = Λ⁺."""

    level: FloatArray

    @cached_property
    def T(self) -> FloatArray:
        """LB⁻¹(I - ee')."""
        T = np.asarray(scipy.linalg.lapack.dtrtri(self.LB, lower=1)[0])
        return np.asarray(T - np.outer(T @ self.level, self.level))

    @cached_property
    def lower(self) -> FloatArray:
        """C itself: (LL')⁻¹ without its part along e."""
        inverse = np.asarray(scipy.linalg.lapack.dpotri(self.LB, lower=1)[0])
        # e is an eigenvector of LL'
        size = float(np.sum(np.square(scipy.linalg.solve_triangular(self.LB, self.level, lower=True))))
        inverse -= size * np.outer(self.level, self.level)
        return inverse

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return draws (n, count) around the mean."""
        x = super().draw(count, rng)
        return np.asarray(x - np.outer(self.level, self.level @ x))

    def sensitivity(self, Lam: Any, plus: FloatArray, minus: FloatArray | None = None) -> FloatArray:
        """Return zeros: there is no prior to change."""
        return np.zeros_like(plus)


@dataclass(frozen=True)
class IndependentSystem(DenseSystem):
    """The same for independent latents, or latents without a prior."""

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
        if min(self.size, self.order) > FACTOR_ALWAYS:
            # in a graph without bottlenecks a few products will do, with the diagonal of B as preconditioner
            diagonal, centred = self.factor.diagonal(self.design.square_sums(tau)), self.factor.centred
            x, solved = conjugate(
                lambda x: self.ridge * x + self.back(tau * self.forward(x)),
                centred(b),
                lambda r: centred(r / diagonal),
                tol,
                MORE_STEPS,
            )
            if solved:
                return x, near
        return super().newton(tau, b, near, tol)

    def curve(self, tau: FloatArray, *, semidefinite: bool = True, near: Curve | None = None) -> IndependentCurve:
        """Factor B; see `System.curve`."""
        return IndependentCurve(self, tau, self.factor.curvature(self.design.laplacian(tau), semidefinite=semidefinite))


@dataclass(frozen=True)
class IndependentCurve(DenseCurve, DirectCurve):
    """B of independent latents, which are asked about themselves."""

    def moments(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and variances of what is asked."""
        mean = np.asarray(query.shared @ self.system.factor.forward(u))
        return mean, np.asarray(self.covariance.forms(query.shared) + query.prior)

    def joint(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return the mean (p,) and the covariance (p, p) of what is asked."""
        return direct_joint(self.covariance, self.system.factor.forward(u), query)

    def draws(self, u: FloatArray, query: Query, count: int, rng: np.random.Generator) -> FloatArray:
        """Return joint draws (count, p) of what is asked directly."""
        return direct_draws(self.covariance, self.system.factor.forward(u), query, count, rng)

    def relative(self, u: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of values asked directly, relative to the mean of all of them."""
        return direct_relative(self.covariance, self.system.factor.forward(u), query)


def direct_joint(covariance: Any, latent: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
    """Return means and the covariance of a direct query."""
    C = covariance.among(query.shared) + (query.rest @ query.rest.T).toarray()
    return np.asarray(query.shared @ latent), np.asarray((C + C.T) / 2)


def direct_relative(covariance: Any, latent: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of a direct query relative to the mean of its values."""
    mean, C = direct_joint(covariance, latent, query)
    rows = C.mean(axis=1)
    return mean - mean.mean(), np.maximum(C.diagonal() - 2 * rows + rows.mean(), 0.0)


def direct_draws(covariance: Any, latent: FloatArray, query: Query, count: int, rng: np.random.Generator) -> FloatArray:
    """Return draws (count, p) of a direct query."""
    draws = (query.shared @ (latent[:, None] + covariance.draw(count, rng))).T
    return np.asarray(draws + (query.rest @ rng.standard_normal((query.rest.shape[1], count))).T)


def moved_mode(
    before: FloatArray, after: FloatArray, a: FloatArray, solve: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return roughly where the mode is, in the coordinates u, when prior variances change from ``before`` to ``after``.

    ``a`` is A'g of the mode f = ka there, and ``solve`` that with B: to first order f moves by C (a dlog k).
    """
    root, change = np.sqrt(before), np.clip(np.log(after / before), -1.0, 1.0)
    f = before * a
    if change.any():
        f = f + root * solve(root * change * a)
    return np.asarray(f / np.sqrt(after))
