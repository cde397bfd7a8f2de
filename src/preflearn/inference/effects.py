"""Effects of items beside sums of functions of their features: x = A (e + F w) + D b, nothing n x n.

    e ~ N(0, vI) of the items,      w ~ N(0, I) of the functions F (n, r),      b ~ N(0, diag(k)) of columns.

It is `preflearn.inference.independent` with the columns AF beside D, which are never written down: with P = I/v + Λ,

    A'T(AF) = ΛF,    X = P⁻¹ΛF,    the weights given the data have the precision G = I + F'ΛF - (ΛF)'X.

Besides by variances the evidence has a derivative by F, which rests on ΛF - ΛX = X/v:

    d evidence = <-(X/v) G⁻¹ + (A'p)(F'A'p)' - (A'q)(F'A'q)', dF>.

On the way to a mode Newton's equations are solved by conjugate gradients; the preconditioner is P's diagonal, and a
factor of I + F'ΛF.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from preflearn.inference.contract import Curve
from preflearn.inference.dense import Design
from preflearn.inference.independent import IndependentCurve, IndependentSystem
from preflearn.linalg import cholesky_one_plus, weighted_square
from preflearn.linalg.iterative import conjugate
from preflearn.operators import FloatArray

MOVES = 1e-6  # relative residual of X where P has no dense factor
STEPS_NEARBY, STEPS = 40, 150  # of conjugate gradients with a factor of nearby precisions, and with that of two blocks


class LoadedDesign:
    """What rows see of effects, weights and columns, (n + r + q): [A, AF, D] of a design [A, D]."""

    def __init__(self, plain: Design, F: FloatArray) -> None:
        self.plain, self.F, self.n = plain, F, plain.n
        self.shape = plain.shape[0], plain.shape[1] + F.shape[1]

    def __getattr__(self, name: str) -> Any:
        if name == "plain":  # before it is there, as while unpickling
            raise AttributeError(name)
        return getattr(self.plain, name)

    def _at_items(self, x: FloatArray) -> FloatArray:
        """Return what effects and weights are at items, and the columns' latents."""
        n, r = self.F.shape
        return np.concatenate([x[:n] + self.F @ x[n : n + r], x[n + r :]])

    def forward(self, x: FloatArray) -> FloatArray:
        """Return what rows see of all latents."""
        return self.plain.forward(self._at_items(x))

    def back(self, g: FloatArray) -> FloatArray:
        """Return the adjoint of `forward`."""
        a, n = self.plain.back(g), self.n
        return np.concatenate([a[:n], self.F.T @ a[:n], a[n:]])

    def rows(self, cells: Any) -> Any:
        """Return some rows, sparse."""
        A = self.plain.A[cells]
        return sp.hstack([A, sp.csr_array(A @ self.F), sp.csr_array(self.plain.D[cells])], format="csr")

    def square_norms(self, root: FloatArray) -> FloatArray:
        """Return the squared norms of the rows times a root (n + r + q, k)."""
        return self.plain.square_norms(self._at_items(root))


class EffectSystem(IndependentSystem):
    """S = [A √v, A F, D √k]; ``border`` is k."""

    def __init__(
        self, design: Design, F: FloatArray, variance: float, border: FloatArray, dense: bool, n_draws: int
    ) -> None:
        loaded: Any = LoadedDesign(design, F)
        super().__init__(loaded, variance, np.concatenate([np.ones(F.shape[1]), border]), dense, n_draws)
        self.F = F

    def bordered(self, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return A'T[AF, D] and [AF, D]'T[AF, D]."""
        design, F = self.design, self.F
        seen = np.asarray(design.local_laplacian(tau, sparse=True) @ F)
        across = np.asarray(design.AT @ (tau[:, None] * design.D))
        squares, corner = F.T @ seen, F.T @ across
        return np.hstack([seen, across]), np.block(
            [[(squares + squares.T) / 2, corner], [corner.T, weighted_square(design.D, tau)]]
        )

    def curve(self, tau: FloatArray, *, semidefinite: bool = True, near: Curve | None = None) -> EffectCurve:
        """Return B, ready to solve systems with."""
        guess = near.__dict__.get("_moves") if isinstance(near, EffectCurve) and not self.dense else None
        return EffectCurve(self, self.precision(tau, semidefinite, near), *self.bordered(tau), semidefinite, guess)

    def start(self, g: FloatArray, near: Curve | None) -> FloatArray:
        """Return roughly where the mode is."""
        return self.back(g)

    def newton(self, tau: FloatArray, b: FloatArray, near: Curve | None, tol: float) -> tuple[FloatArray, Curve | None]:
        """Return B⁻¹ b up to a relative error; see `System.newton`."""
        most = STEPS_NEARBY
        if near is None:
            near, most = Blocks.of(self, tau), STEPS
        x, left = conjugate(lambda x: x + self.back(tau * self.forward(x)), b, near.precondition, tol, most)
        if left <= tol:
            return x, near
        if self.dense and isinstance(near, Blocks):
            whole = self.curve(tau)
            return whole.solve(b), whole
        return x, None  # still an ascent direction


@dataclass(frozen=True)
class Blocks(Curve):
    """B without what effects and weights have to do with each other, and of the effects the diagonal."""

    system: Any
    diagonal: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, system: EffectSystem, tau: FloatArray) -> Blocks:
        """Return the blocks for precisions of the cells."""
        n, root = system.design.n, np.sqrt(system.border)
        diagonal = 1.0 + system.variance * np.asarray(system.design.AT.power(2) @ tau)
        factor = cholesky_one_plus(root[:, None] * system.bordered(tau)[1] * root)
        return cls(system, np.maximum(diagonal[:n], 1.0), factor)

    def precondition(self, b: FloatArray) -> FloatArray:
        """Return their inverse times b."""
        n = self.diagonal.shape[0]
        return np.concatenate([b[:n] / self.diagonal, scipy.linalg.cho_solve((self.factor, True), b[n:])])


@dataclass(frozen=True)
class EffectCurve(IndependentCurve):
    """B = R'PR, P with the columns AF and D as its border; ``guess`` is X of a nearby one."""

    guess: FloatArray | None = None

    @cached_property
    def _moves(self) -> FloatArray:
        """X, for many items up to an error that is small beside that of variances."""
        if self.system.dense:
            return np.asarray(self.precision.solve(self.columns))
        guess = self.guess if self.guess is not None and self.guess.shape == self.columns.shape else None
        return np.asarray(self.precision.solve(self.columns, MOVES, guess))

    def sensitivity(self, plus: FloatArray, minus: FloatArray) -> Any:
        """Return the derivatives of the evidence by prior variances, of effects and columns, and by F."""
        system: Any = self.system
        n, r = system.F.shape
        diagonal = super().sensitivity(plus, minus)
        inverse = scipy.linalg.cho_solve((self._border, True), np.eye(len(self._border), r))
        found = (self._moves / -system.variance) @ inverse
        for vector, sign in ((plus, 1.0), (minus, -1.0)):
            a = system.design.plain.back(vector)[:n]
            found += sign * np.outer(a, system.F.T @ a)
        return np.delete(diagonal, slice(n, n + r)), found
