"""Two families of groups that cross, each too large to join the shared latents: judges and prompts of an arena.

    x = [A f + C₂ w] + C₁ h,    w of one family (the outer), h of the other (the inner), both independent by group.

Rows of one inner group are of many outer ones, so that no order eliminates both exactly. The inner groups are: with
Z = L⁻¹R₁'C₁'T and B₁ = I + R₁'C₁'TC₁R₁ = LL' of small blocks, what rows say about the rest is T̃ = T - Z'Z, and

    B̃ = I + S'T̃S,   S the system of f and w,        |B| = |B₁| |B̃|,

is solved by conjugate gradients, preconditioned by the block arrow P = I + S'diag(T̃)S, in which the outer groups are
eliminated one by one. Solutions are exact to a tolerance. What needs all of B̃⁻¹ is estimated from draws and probes with
fixed seeds: log |B̃| = log |P| + tr log P⁻½B̃P⁻½ by Lanczos quadrature, variances of rows and the sensitivity from draws
u = B̃⁻¹b, cov b = B̃. Of a row's variance only what the outer latents add is estimated. Answers about few values
(utilities, ranks) are solved for, and not estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.exceptions import DataError
from preflearn.inference.block_arrow import GroupCurve, GroupSystem, Stack
from preflearn.inference.contract import Curve, Query, System, Touched
from preflearn.linalg import times, turned
from preflearn.linalg.iterative import conjugate, trace_of
from preflearn.operators import FloatArray, IntArray

DRAWS, PROBES = 32, 16
EXACT, ROUGH = 1e-10, 1e-4  # relative residuals of solutions, and of draws
MOST_STEPS = 1_000
AT_ONCE = 64  # values that are solved for together


class CrossedSystem(System):
    """S of the outer system, and of the inner groups, without shared latents, beside it; see the module."""

    inner_steps = 60

    def __init__(self, outer: GroupSystem, inner: GroupSystem) -> None:
        self.outer, self.inner = outer, inner
        self.size, self.order, self.smooth = outer.size + inner.size, outer.order, outer.smooth

    def forward(self, u: FloatArray) -> FloatArray:
        """Return S u."""
        k = self.outer.size
        return np.asarray(self.outer.forward(u[:k]) + self.inner.forward(u[k:]))

    def back(self, g: FloatArray) -> FloatArray:
        """Return S'g."""
        return np.concatenate([self.outer.back(g), self.inner.back(g)])

    @cached_property
    def noise(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Standard normal numbers of all draws: for the outer latents, the rows, and the inner latents."""
        rng = np.random.default_rng(0)
        sizes = self.outer.size, self.outer.design.n_rows, self.inner.size
        return tuple(rng.standard_normal((size, DRAWS)) for size in sizes)  # type: ignore[return-value]

    def curve(self, tau: FloatArray, *, semidefinite: bool = True, near: Curve | None = None) -> CrossedCurve:
        """Eliminate the inner groups, and factor the preconditioner; see `System.curve`."""
        if not semidefinite:
            raise DataError(code="crossed-needs-log-concave", owner="PreferenceGP").says(
                "with this many latents, crossed judges and clusters need a log-concave likelihood",
                "Use probit or logit, or leave one of the two out",
            )
        return CrossedCurve(self, tau, self.inner.curve(tau))


@dataclass(frozen=True)
class CrossedCurve(Curve):
    """B with the inner groups eliminated; see the module."""

    system: CrossedSystem
    tau: FloatArray
    inner: GroupCurve  # of the inner groups

    @cached_property
    def Y(self) -> Any:
        """L⁻¹R₁'C₁' (N, m): given the rest, rows have the covariance Y'Y."""
        return sp.csr_array(self.inner.inverse_roots @ self.system.inner.design.ownT)

    @cached_property
    def Z(self) -> Any:
        """Y T."""
        return sp.csr_array(self.Y @ sp.diags_array(self.tau))

    @cached_property
    def _left(self) -> FloatArray:
        """The diagonal of T̃."""
        return np.asarray(np.maximum(self.tau - np.asarray(self.Z.power(2).sum(axis=0)).ravel(), 0.0))

    @cached_property
    def point(self) -> GroupCurve:
        """The preconditioner P."""
        return self.system.outer.curve(self._left)

    def effective(self, x: FloatArray) -> FloatArray:
        """Return T̃ x, (m,) or (m, k)."""
        return np.asarray((self.tau * x.T).T - self.Z.T @ (self.Z @ x))

    def _apply(self, u: FloatArray) -> FloatArray:
        """Return B̃ u."""
        outer = self.system.outer
        seen = outer.forward(u)
        return np.asarray(u + outer.back(self.effective(seen)))

    def _solve_outer(self, b: FloatArray, tol: float) -> FloatArray:
        return conjugate(self._apply, b, self.point.solve, tol, MOST_STEPS)[0]

    def _around(self, b: FloatArray, outer: Any) -> FloatArray:
        """Return the solution for latents of both kinds, given one for the outer."""
        k = self.system.outer.size
        half = self.inner.inverses @ b[k:]
        x = outer(b[:k] - self.system.outer.back(self.Z.T @ half))
        return np.concatenate([x, self.inner.inverses.T @ (half - self.Z @ self.system.outer.forward(x))])

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b, for one vector or for columns."""
        return self._around(b, lambda r: self._solve_outer(r, EXACT))

    def precondition(self, b: FloatArray) -> FloatArray:
        """Return about B⁻¹ b."""
        return self._around(b, self.point.solve)

    @cached_property
    def _drawn(self) -> FloatArray:
        """Draws of the outer latents in the coordinates u, (size, draws)."""
        outer = self.system.outer
        b, e, h = self.system.noise
        e = np.sqrt(self.tau)[:, None] * e
        # e - TCR B₁⁻¹ (R'C'e + h) has covariance T̃ = T - Z'Z
        rows = e - self.Z.T @ (self.Y @ e + self.inner.inverses @ h)
        return self._solve_outer(b + outer.back(rows), ROUGH)

    @cached_property
    def _seen(self) -> FloatArray:
        """What rows see of these draws, (m, draws)."""
        return self.system.outer.forward(self._drawn)

    @cached_property
    def log_det(self) -> float:
        """Return log |B|, of which tr log P⁻½B̃P⁻½ is estimated."""
        outer = self.system.outer
        rng = np.random.default_rng(2)
        seen = np.sqrt(self._left)[:, None] * rng.standard_normal((self.tau.shape[0], PROBES))
        z = rng.standard_normal((outer.size, PROBES)) + outer.back(seen)  # cov z = P
        rest = trace_of(self._apply, z, np.log, self.point.solve)
        return self.inner.log_det + self.point.log_det + rest

    @cached_property
    def variances(self) -> FloatArray:
        """Posterior variances of x at the rows: what the inner groups add is exact."""
        x = self._seen
        moved = x - self.Y.T @ (self.Z @ x)
        return np.asarray(np.asarray(self.Y.power(2).sum(axis=0)).ravel() + np.mean(np.square(moved), axis=1))

    def sensitivity(self, plus: FloatArray, minus: FloatArray) -> Any:
        """Return the derivatives by K, and by the blocks of the outer and of the inner groups; see `Curve`.

        In the coordinates u, S'(TVT - T)S is B⁻¹ less the identity: of outer latents from draws, of the inner ones
        exact given the outer, and how these move from draws.
        """
        outer, inner = self.system.outer, self.system.inner
        r = outer.factor.rank
        u = self._drawn / np.sqrt(DRAWS)
        M = outer.factor.unwhitened(u[:r] @ u[:r].T - np.eye(r))
        p, q = map(outer.design.rows.back, (plus, minus))
        M += np.outer(p, p) - np.outer(q, q)
        own = self._of_groups(outer, u[r:], None, plus, minus)
        moved = self.inner.inverses.T @ (self.Z @ self._seen) / np.sqrt(DRAWS)
        return 0.5 * M, own, self._of_groups(inner, moved, self.inner.inverses.T @ self.inner.inverses, plus, minus)

    def _of_groups(
        self, system: GroupSystem, drawn: FloatArray, alone: Any, plus: FloatArray, minus: FloatArray
    ) -> list[tuple[Stack, FloatArray]]:
        found, design = [], system.design
        p, q = (design.split(design.ownT @ g) for g in (plus, minus))
        for k, (one, R, u) in enumerate(zip(design.stacks, system.roots, design.split(drawn), strict=True)):
            X = u @ turned(u) - np.eye(one.what.shape[1])
            if alone is not None:
                place = one.places
                i, j = np.broadcast_arrays(place[:, :, None], place[:, None, :])
                X += np.asarray(alone[i.ravel(), j.ravel()]).reshape(X.shape)
            inverse: Any = 1.0 / R if R.shape == (1, 1, 1) else np.linalg.pinv(R, rcond=1e-8)
            S = times(times(turned(inverse), X), inverse)
            found.append((one, 0.5 * (S + times(p[k], turned(p[k])) - times(q[k], turned(q[k])))))
        return found

    def _asked(self, g: FloatArray, query: Query, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Return means of some rows of a query, and their covariances W (size, rows) with u."""
        system, outer, inner = self.system, self.system.outer, self.system.inner
        r, Q = outer.factor.rank, query.shared[rows]
        mean = Q @ outer.design.rows.back(g)
        W = np.zeros((system.size, Q.shape[0]))
        W[:r] = outer.factor.whiten(Q)
        if query.own is not None:
            own = query.own[rows]
            mean = mean + own @ np.concatenate([outer.design.ownT @ g, inner.design.ownT @ g])
            unrooted = sp.block_diag([self.point.unrooted, self.inner.unrooted])
            W[r:] = (unrooted @ own.T).toarray()
        return np.asarray(mean), W

    def moments(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and variances of a query, some rows at a time."""
        op = query.operator
        if op is not None and query.own is None and op.shape[0] > query.shared.shape[0]:  # of few rows
            mean, less = self._explained(g, query)
            return op @ mean, np.maximum(query.prior - np.asarray(op.multiply(op @ less).sum(axis=1)).ravel(), 0.0)
        query = query.combined()
        means, variances = [np.zeros(0)], [np.zeros(0)]
        for start in range(0, query.shared.shape[0], AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            mean, W = self._asked(g, query, rows)
            means.append(mean)
            variances.append(query.prior[rows] - np.einsum("rp,rp->p", W, W - self.solve(W)))
        return np.concatenate(means), np.maximum(np.concatenate(variances), 0.0)

    def _explained(self, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means of rows that may be combined, and what the posterior takes off their prior covariances."""
        mean, W = self._asked(g, query, slice(None))
        solved = np.column_stack([self.solve(W[:, k : k + AT_ONCE]) for k in range(0, W.shape[1], AT_ONCE)])
        return mean, np.asarray(W.T @ (W - solved))

    def joint(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return the mean (p,) and the covariance (p, p) of what is asked."""
        mean, less = self._explained(g, query.combined())
        covariance = query.prior - less
        return mean, np.asarray((covariance + covariance.T) / 2)

    def touched(self, u: FloatArray, cells: IntArray) -> Touched:
        """Return some rows themselves."""
        few = np.zeros((self.tau.shape[0], len(cells)))
        few[cells, np.arange(len(cells))] = 1.0
        C = self.system.forward(self.solve(self.system.back(few)))[cells]
        return Touched(sp.eye_array(len(cells), format="csr"), self.system.forward(u)[cells], C)
