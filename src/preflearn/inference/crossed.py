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
from preflearn.inference.contract import Curve, Query, System, Touched
from preflearn.inference.group_design import GroupDesign, Stack
from preflearn.inference.groups import GroupCurve, GroupSystem, block_diagonal, inverse_cholesky, joined, times, turned
from preflearn.inference.krylov import conjugate
from preflearn.operators import FloatArray, IntArray

__all__ = ["CrossedCurve", "CrossedSystem"]

DRAWS, PROBES = 32, 16
EXACT, ROUGH = 1e-10, 1e-4  # relative residuals of solutions, and of draws
MOST_STEPS = 1_000
AT_ONCE = 64  # values that are solved for together


@dataclass(frozen=True)
class CrossedSystem(System):
    """S of the outer system, and of the inner groups beside it; see the module."""

    outer: GroupSystem
    design: GroupDesign  # of the inner groups, without shared latents
    roots: list[FloatArray]

    @property
    def size(self) -> int:
        """Number of columns of S."""
        return self.outer.size + self.design.n_own

    @property
    def order(self) -> int:
        """Order of the largest matrix that is factored."""
        return self.outer.order

    @property
    def inner_steps(self) -> int:
        """Steps of conjugate gradients before a new factorisation is the better buy."""
        return 60

    @property
    def smooth(self) -> bool:
        """Whether S changes smoothly with the parameters."""
        return self.outer.smooth

    def own(self, u: FloatArray) -> FloatArray:
        """Return the latents of the inner groups."""
        parts = [times(R, x) for R, x in zip(self.roots, self.design.split(u), strict=True)]
        return joined(parts, u)

    def forward(self, u: FloatArray) -> FloatArray:
        """Return S u."""
        k = self.outer.size
        return np.asarray(self.outer.forward(u[:k]) + self.design.own @ self.own(u[k:]))

    def back(self, g: FloatArray) -> FloatArray:
        """Return S'g."""
        parts = [times(turned(R), x) for R, x in zip(self.roots, self.design.split(self.design.ownT @ g), strict=True)]
        return np.concatenate([self.outer.back(g), joined(parts, g)])

    def curve(self, tau: FloatArray, *, semidefinite: bool = True, near: Curve | None = None) -> CrossedCurve:
        """Eliminate the inner groups, and factor the preconditioner; see `System.curve`."""
        if not semidefinite:
            raise DataError(
                "PreferenceGP: judges and clusters that cross in so many latents are learned with log-concave "
                "likelihoods only. Use probit or logit, or leave one of the two out."
            )
        inverses, halves = [], []
        for R, (Lam, _, _) in zip(self.roots, self.design.blocks(tau), strict=True):
            RT = turned(R)
            inverse = inverse_cholesky(times(times(RT, Lam), R), semidefinite=True)
            inverses.append(inverse)
            halves.append(times(inverse, RT))
        N = self.design.n_own
        stacks = self.design.stacks
        inverse = block_diagonal(list(zip(stacks, inverses, strict=True)), N)
        half = block_diagonal(list(zip(stacks, halves, strict=True)), N)
        Y = sp.csr_array(half @ self.design.ownT)  # (N, m): given the rest, rows have the covariance Y'Y
        Z = sp.csr_array(Y @ sp.diags_array(tau))
        log_det = -2.0 * sum(float(np.log(np.diagonal(one, axis1=1, axis2=2)).sum()) for one in inverses)
        return CrossedCurve(self, tau, inverse, Y, Z, log_det)


@dataclass(frozen=True)
class CrossedCurve(Curve):
    """B with the inner groups eliminated; see the module."""

    system: CrossedSystem
    tau: FloatArray
    inverse: Any  # (N, N): L⁻¹
    Y: Any
    Z: Any
    inner_log_det: float

    @cached_property
    def point(self) -> GroupCurve:
        """The preconditioner P."""
        left = self.tau - np.asarray(self.Z.power(2).sum(axis=0)).ravel()
        return self.system.outer.curve(np.maximum(left, 0.0))

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
        half = self.inverse @ b[k:]
        x = outer(b[:k] - self.system.outer.back(self.Z.T @ half))
        return np.concatenate([x, self.inverse.T @ (half - self.Z @ self.system.outer.forward(x))])

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b, for one vector or for columns."""
        return self._around(b, lambda r: self._solve_outer(r, EXACT))

    def precondition(self, b: FloatArray) -> FloatArray:
        """Return about B⁻¹ b."""
        return self._around(b, self.point.solve)

    def _noise(self, count: int, seed: int) -> FloatArray:
        """Return columns with covariance T̃."""
        rng = np.random.default_rng(seed)
        m, N = self.tau.shape[0], self.system.design.n_own
        e = np.sqrt(self.tau)[:, None] * rng.standard_normal((m, count))
        # e - TCR B₁⁻¹ (R'C'e + h) has covariance T - Z'Z
        return np.asarray(e - self.Z.T @ (self.Y @ e + self.inverse @ rng.standard_normal((N, count))))

    @cached_property
    def _drawn(self) -> FloatArray:
        """Draws of the outer latents in the coordinates u, (size, draws)."""
        outer = self.system.outer
        b = np.random.default_rng(0).standard_normal((outer.size, DRAWS))
        return self._solve_outer(b + outer.back(self._noise(DRAWS, 1)), ROUGH)

    @cached_property
    def _seen(self) -> FloatArray:
        """What rows see of these draws, (m, draws)."""
        return self.system.outer.forward(self._drawn)

    @cached_property
    def log_det(self) -> float:
        """Return log |B|, of which tr log P⁻½B̃P⁻½ is estimated."""
        outer = self.system.outer
        rng = np.random.default_rng(2)
        seen = np.sqrt(self.point.tau)[:, None] * rng.standard_normal((self.tau.shape[0], PROBES))
        z = rng.standard_normal((outer.size, PROBES)) + outer.back(seen)  # cov z = P
        rest = _trace_log(self._apply, self.point.solve, z)
        return self.inner_log_det + self.point.log_det + rest

    @cached_property
    def variances(self) -> FloatArray:
        """Posterior variances of x at the rows: what the inner groups add is exact."""
        x = self._seen
        moved = x - self.Y.T @ (self.Z @ x)
        return np.asarray(np.asarray(self.Y.power(2).sum(axis=0)).ravel() + np.mean(np.square(moved), axis=1))

    def sensitivity(self, plus: FloatArray, minus: FloatArray | None = None) -> Any:
        """Return the derivatives by K, and by the blocks of the outer and of the inner groups; see `Curve`.

        In the coordinates u of any latents, S'(TVT - T)S is their block of B⁻¹ less the identity: of the outer ones
        from draws, of the inner ones given the outer exactly, and how these move from draws.
        """
        outer, design = self.system.outer, self.system.design
        pulls = [(1.0, plus)] if minus is None else [(1.0, plus), (-1.0, minus)]
        r = outer.factor.rank
        u = self._drawn / np.sqrt(DRAWS)
        M = outer.factor.unwhitened(u[:r] @ u[:r].T - np.eye(r))
        for sign, g in pulls:
            a = outer.design.shared(g)
            M += sign * np.outer(a, a)
        own = self._of_groups(outer.design, outer.roots, outer.design.split(u[r:]), None, pulls)
        moved = self.inverse.T @ (self.Z @ self._seen) / np.sqrt(DRAWS)
        alone = self.inverse.T @ self.inverse
        inner = self._of_groups(design, self.system.roots, design.split(moved), alone, pulls)
        return 0.5 * M, own, inner

    def _of_groups(
        self, design: GroupDesign, roots: list[FloatArray], u: list[FloatArray], alone: Any, pulls: Any
    ) -> list[tuple[Stack, FloatArray]]:
        found = []
        for k, (one, R) in enumerate(zip(design.stacks, roots, strict=True)):
            X = u[k] @ turned(u[k]) - np.eye(one.what.shape[1])
            if alone is not None:
                place = one.places
                i, j = np.broadcast_arrays(place[:, :, None], place[:, None, :])
                X += np.asarray(alone[i.ravel(), j.ravel()]).reshape(X.shape)
            inverse: Any = 1.0 / R if R.shape == (1, 1, 1) else np.linalg.pinv(R, rcond=1e-8)
            S = times(times(turned(inverse), X), inverse)
            for sign, g in pulls:
                a = design.split(design.ownT @ g)[k]
                S += sign * times(a, turned(a))
            found.append((one, 0.5 * S))
        return found

    @cached_property
    def _unrooted(self) -> Any:
        """R⁻¹ of the groups of both families, block diagonal."""
        parts = []
        for one, R in zip(self.system.design.stacks, self.system.roots, strict=True):
            inverse: Any = np.linalg.pinv(R, rcond=1e-8)
            parts.append((one, inverse * np.eye(one.what.shape[1]) if R.shape == (1, 1, 1) else inverse))
        inner = block_diagonal(parts, self.system.design.n_own)
        return sp.csr_array(sp.block_diag([self.point.unrooted, inner]))

    def _answer(self, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means, and what the posterior takes off prior covariances: W'W - W'B⁻¹W, of rows to be combined."""
        system, outer = self.system, self.system.outer
        r, p = outer.factor.rank, query.shared.shape[0]
        mean = query.shared @ outer.design.shared(g)
        W = np.zeros((system.size, p))
        W[:r] = outer.factor.whiten(query.shared)
        if query.own is not None:
            own = np.concatenate([outer.design.ownT @ g, system.design.ownT @ g])
            mean = mean + query.own @ own
            W[r:] = (self._unrooted @ query.own.T).toarray()
        solved = np.column_stack([self.solve(W[:, k : k + AT_ONCE]) for k in range(0, p, AT_ONCE)])
        return np.asarray(mean), np.asarray(W.T @ W - W.T @ solved)

    def moments(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and variances of what is asked."""
        mean, less = self._answer(g, query if query.own is None else query.combined())
        if query.operator is None or query.own is not None:
            return mean, np.maximum(query.prior - less.diagonal(), 0.0)
        op = query.operator
        return op @ mean, np.maximum(query.prior - np.asarray(op.multiply(op @ less).sum(axis=1)).ravel(), 0.0)

    def joint(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return the mean (p,) and the covariance (p, p) of what is asked."""
        mean, less = self._answer(g, query if query.own is None else query.combined())
        if query.operator is not None and query.own is None:
            mean, less = query.operator @ mean, np.asarray(query.operator @ (query.operator @ less).T)
        covariance = query.prior - less
        return np.asarray(mean), np.asarray((covariance + covariance.T) / 2)

    def among(self, cells: IntArray) -> FloatArray:
        """Return the posterior covariance of x at some rows."""
        few = np.zeros((self.tau.shape[0], len(cells)))
        few[cells, np.arange(len(cells))] = 1.0
        solved = self.solve(self.system.back(few))
        return np.asarray(self.system.forward(solved)[cells])

    def touched(self, u: FloatArray, cells: IntArray) -> Touched:
        """Return some rows themselves."""
        return Touched(sp.eye_array(len(cells), format="csr"), self.system.forward(u)[cells], self.among(cells))


def _trace_log(apply: Any, precondition: Any, z: FloatArray) -> float:
    """Estimate tr log P⁻½BP⁻½ from probes z with covariance P: Lanczos by conjugate gradients, all at once."""
    n, count = z.shape
    r = z.copy()
    s = precondition(r)
    direction, inner = s, np.einsum("ij,ij->j", r, s)
    first = inner.copy()
    alphas, betas = [], []
    for _ in range(min(40, n)):
        image = apply(direction)
        alpha = inner / np.maximum(np.einsum("ij,ij->j", direction, image), 1e-300)
        r = r - alpha * image
        s = precondition(r)
        before, inner = inner, np.einsum("ij,ij->j", r, s)
        beta = inner / np.maximum(before, 1e-300)
        alphas.append(alpha)
        betas.append(beta)
        direction = s + beta * direction
        if (inner <= 1e-12 * first).all():
            break
    total = 0.0
    for c in range(count):
        a, b = np.array([x[c] for x in alphas]), np.array([x[c] for x in betas])
        last = len(a)
        small = np.flatnonzero(b[:-1] < 1e-12)
        last = int(small[0]) + 1 if small.size else last
        a, b = a[:last], b[: last - 1]
        diagonal = 1.0 / a
        diagonal[1:] += b / a[:-1]
        T = np.diag(diagonal)
        off = np.sqrt(np.maximum(b, 0.0)) / a[:-1]
        T[np.arange(last - 1), np.arange(1, last)] = T[np.arange(1, last), np.arange(last - 1)] = off
        values, vectors = np.linalg.eigh(T)
        total += float(vectors[0] ** 2 @ np.log(np.maximum(values, 1e-300)))
    return float(n * total / count)
