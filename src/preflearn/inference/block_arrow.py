"""Latents that all rows share and latents of groups of rows: groups are eliminated one by one, the rest is a point.

    x = A f + C h,    f ~ N(0, K) shared,    h_g ~ N(0, K_g) independently from group to group.

Groups (judges, prompts, pairs) meet in f only. With T the precisions of the rows of group g, Λ_g = C'TC and E_g = C'TA
its precisions, K_g = R_g R_g' and B_g = I + R_g'Λ_g R_g,

    Λ̃ = A'TA - Σ E_g' V_g E_g      is what the rows say about f, V_g = R_g B_g⁻¹ R_g' the covariance of h_g given f,
    h_g given f has the mean        const - V_g E_g f,

and what is left is the problem of f alone with precisions Λ̃: Σk³ + n³ instead of (n + Σk)³, nothing approximated. R_g
is triangular if K_g is safely positive definite, and else the symmetric root: both change smoothly with K_g.

Groups with equally many latents stand together in a stack, so that the work on them is that of a few stacks of small
matrices. A group's joint latents are its own and, after them, the shared ones that its rows touch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.inference.contract import Curve, Query, System, Touched
from preflearn.inference.dense import Curvature, Design, Factor, products_of_rows
from preflearn.inference.weights import WeightFactor
from preflearn.linalg import (
    EPS,
    cholesky_blocks,
    inverse_cholesky,
    squares,
    symmetric_roots,
    times,
    turned,
    weighted_square,
)
from preflearn.operators import FloatArray, IntArray

Blocks = list[FloatArray]  # for every stack: (G, k, k)


@dataclass(frozen=True)
class Stack:
    """Groups with k latents of their own whose rows touch l shared ones."""

    group: IntArray  # (G,): numbers of the groups
    what: IntArray  # (G, k): which of the columns of the groups' design each own latent belongs to
    local: IntArray  # (G, l): shared latents
    start: int  # of the stack's own latents among all
    first: int  # of its joint blocks among all entries
    parts: tuple[int, ...]  # where the latents of each part start, and the last one ends
    width: int  # order of a joint block

    @property
    def own(self) -> slice:
        """Places of the stack's own latents."""
        return slice(self.start, self.start + self.what.size)

    @property
    def places(self) -> IntArray:
        """Places (G, k) of these among all."""
        return np.asarray(self.start + np.arange(self.what.size).reshape(self.what.shape))

    @cached_property
    def sets(self) -> tuple[IntArray, IntArray]:
        """The different sets (sets, k) that own latents belong to, and which one each group has."""
        sets, which = np.unique(self.what, axis=0, return_inverse=True)
        return sets, which.ravel()


Sensitivity = tuple[FloatArray, list[tuple[Stack, FloatArray]]]


class GroupDesign:
    """x = A f + D w + C h: latents that few rows see each (A), that all see (D), and that groups have of their own (C).

    Columns of C are kinds of latents, of which each ``group`` (m,), numbers from 0, has those that its rows touch.
    ``parts`` are how many kinds belong together, in their order: groups of one stack have equally many of each part.
    """

    def __init__(self, local: Any, dense: FloatArray, what: Any, group: IntArray, parts: Any = None) -> None:
        self.local, self.dense, what = sp.csr_array(local), np.ascontiguousarray(dense), sp.csr_array(what)
        for one in (self.local, what):
            one.sort_indices()
        self.rows = Design(self.local, self.dense)  # what rows see of the shared latents
        self.n_local, self.n_dense, self.n_shared = self.local.shape[1], self.dense.shape[1], self.rows.shape[1]
        self.n_rows, c = what.shape
        # whether rows see the same of their group's latents as of the local ones: then one block stands for all
        self.mirrored = what.shape == self.local.shape and (what is local or abs(what - self.local).nnz == 0)
        joint = what if self.mirrored else sp.csr_array(sp.hstack([what, self.local]))
        joint.sort_indices()
        # the distinct latents of each group, [own, local], one group after the other, and which one each entry is
        of_row = group[np.repeat(np.arange(self.n_rows), np.diff(joint.indptr))]
        width = max(joint.shape[1], 1)
        code, entry = np.unique(of_row * width + joint.indices.astype(np.intp), return_inverse=True)
        owner, column = code // width, code % width
        n_groups = int(group.max(initial=-1)) + 1
        ends = np.cumsum([c] if parts is None else parts)
        own = column < c
        part = owner[own] * len(ends) + np.searchsorted(ends, column[own], side="right")
        counts = np.bincount(part, minlength=n_groups * len(ends)).reshape(n_groups, -1)
        k, total = counts.sum(axis=1), np.bincount(owner, minlength=n_groups)
        shape = np.unique(np.column_stack([counts, total]), axis=0, return_inverse=True)[1].ravel()
        first_latent = np.cumsum(total) - total
        # place of each latent among all own ones, and where its row and its column are in the joint blocks
        place, row_start, inner = np.empty((3, len(code)), dtype=np.intp)
        # where the own latents of a group stand, how many they are, and what each of them is
        self._count, self._start = k, np.zeros(n_groups, dtype=np.intp)
        self.stacks: list[Stack] = []
        start = first = 0
        for one in np.unique(shape[k > 0]):
            who = np.flatnonzero((shape == one) & (k > 0))
            order, n_own = int(total[who[0]]), int(k[who[0]])
            latents = first_latent[who][:, None] + np.arange(order)
            mine, theirs = column[latents[:, :n_own]], column[latents[:, n_own:]] - c
            bounds = (0, *np.cumsum(counts[who[0]]).tolist())
            self.stacks.append(Stack(who, mine, mine if self.mirrored else theirs, start, first, bounds, order))
            self._start[who] = start + n_own * np.arange(len(who))
            place[latents[:, :n_own]] = self.stacks[-1].places
            row_start[latents] = first + np.arange(latents.size).reshape(latents.shape) * order
            inner[latents] = np.arange(order)
            start, first = start + mine.size, first + latents.size * order
        self.n_own, self._n_entries = start, first
        self._what = _end_to_end(np.ravel(one.what) for one in self.stacks)
        mine = joint.indices < c
        self.own = sp.csr_array((joint.data[mine], place[entry.ravel()[mine]], what.indptr), shape=(self.n_rows, start))
        self.ownT = sp.csr_array(self.own.T)
        # where products of two entries of a row land in the joint blocks
        by_latent = sp.csr_array((joint.data, entry.ravel(), joint.indptr), shape=(self.n_rows, len(code)))
        self._row, left, right, self._value = products_of_rows(by_latent)
        self._place, mirrored = row_start[left] + inner[right], row_start[right] + inner[left]
        off = np.flatnonzero(left != right)
        half = np.where(left == right, 1.0, 0.5) * self._value
        rows, entries = np.concatenate([self._row, self._row[off]]), np.concatenate([half, half[off]])
        place = np.concatenate([self._place, mirrored[off]])
        self._sums = sp.csr_array((entries, (place, rows)), shape=(self._n_entries, self.n_rows))
        # rows of a matrix (N, n) between own and local latents
        self._columns = _end_to_end(np.repeat(one.local, one.what.shape[1], axis=0).ravel() for one in self.stacks)
        count = _end_to_end(np.full(one.what.size, one.local.shape[1]) for one in self.stacks)
        self._indptr = np.concatenate([[0], np.cumsum(count)]).astype(np.intp)

    def wide(self, parts: list[FloatArray]) -> Any:
        """Return blocks (G, k, l) of every stack as a sparse matrix (N, n)."""
        data = np.concatenate([np.ravel(part) for part in parts] or [np.zeros(0)])
        return sp.csr_array((data, self._columns, self._indptr), shape=(self.n_own, self.n_local))

    def blocks(self, tau: FloatArray) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """Return precisions of every stack, Σ τ over the rows of each group.

        Between own latents (G, k, k), between own and local ones (G, k, l), and between local ones (G, l, l).
        """
        flat = self._sums @ tau
        found = []
        for one in self.stacks:
            size, k = (len(one.group), one.width, one.width), one.what.shape[1]
            joint = np.asarray(flat[one.first : one.first + int(np.prod(size))], dtype=np.float64).reshape(size)
            found.append((joint,) * 3 if self.mirrored else (joint[:, :k, :k], joint[:, :k, k:], joint[:, k:, k:]))
        return found

    def forms(self, D: list[FloatArray]) -> FloatArray:
        """Return c'Dc for the entries c of every row among its group's own latents; where these mirror local ones."""
        flat = np.concatenate([np.ravel(one) for one in D] or [np.zeros(0)])
        total = np.bincount(self._row, self._value * flat[self._place], minlength=self.n_rows)
        return np.maximum(total, 0.0)

    def split(self, x: FloatArray) -> list[FloatArray]:
        """Return numbers (N,) or (N, q) of the own latents as columns (G, k, 1) or (G, k, q) of every stack."""
        width = 1 if x.ndim == 1 else x.shape[1]
        return [x[one.own].reshape(*one.what.shape, width) for one in self.stacks]

    def rows_of(self, group: IntArray, cross: FloatArray, first: int = 0) -> Any:
        """Return covariances (p, N) with the own latents, for values each of which has to do with one group.

        ``cross`` (p, c) is the covariance with the group's kinds, from the ``first`` on; groups that are not there
        (negative numbers among them) have none.
        """
        known = np.flatnonzero((group >= 0) & (group < self._count.shape[0]))
        count = self._count[group[known]]
        rows = np.repeat(known, count)
        within = np.arange(rows.shape[0]) - np.repeat(np.cumsum(count) - count, count)
        if not rows.shape[0]:
            return sp.csr_array((group.shape[0], self.n_own))
        columns = self._start[group[rows]] + within
        kind = self._what[columns] - first
        there = np.flatnonzero((kind >= 0) & (kind < cross.shape[1]))
        rows, columns, kind = rows[there], columns[there], kind[there]
        return sp.csr_array((cross[rows, kind], (rows, columns)), shape=(group.shape[0], self.n_own))


def _end_to_end(parts: Any) -> IntArray:
    return np.concatenate([*parts, np.zeros(0, np.intp)])


class GroupSystem(System):
    """S for shared latents with covariance K = R R' and groups with covariances R_g R_g'.

    ``blocks`` are the latter (sets, k, k), for the distinct sets of kinds of every stack. Of sums of functions K is
    given by its factor.
    """

    def __init__(self, design: GroupDesign, K: FloatArray | WeightFactor, blocks: Blocks) -> None:
        self.design, self.in_weights = design, isinstance(K, WeightFactor)
        self.factor: Any = K if isinstance(K, WeightFactor) else Factor.build(K) if K.size else Factor(K, None)
        self.size = self.factor.rank + design.n_own
        self.order = self.factor.rank if self.in_weights else design.n_shared
        self.smooth = self.factor.order is None
        self.singular = not self.smooth  # whether roots of groups are symmetric and of singular matrices
        try:
            roots = [(cholesky_blocks if self.smooth else symmetric_roots)(one) for one in blocks]
        except np.linalg.LinAlgError:
            roots, self.singular = [symmetric_roots(one) for one in blocks], True
        pairs = zip(roots, design.stacks, strict=True)
        self.roots = [root if root.shape == (1, 1, 1) else root[one.sets[1]] for root, one in pairs]

    def own(self, u: FloatArray) -> FloatArray:
        """Return the latents of groups, R_g u_g."""
        return joined([times(R, x) for R, x in zip(self.roots, self.design.split(u), strict=True)], u)

    def forward(self, u: FloatArray) -> FloatArray:
        """Return S u."""
        r = self.factor.rank
        return np.asarray(self.design.rows.forward(self.factor.forward(u[:r])) + self.design.own @ self.own(u[r:]))

    def back(self, g: FloatArray) -> FloatArray:
        """Return S'g."""
        own = [times(turned(R), x) for R, x in zip(self.roots, self.design.split(self.design.ownT @ g), strict=True)]
        return np.concatenate([self.factor.back(self.design.rows.back(g)), joined(own, g)])

    def curve(self, tau: FloatArray, *, semidefinite: bool = True, near: Curve | None = None) -> GroupCurve:
        """Eliminate the groups, and factor what is left; see `System.curve`."""
        design, n, D = self.design, self.design.n_local, self.design.dense
        stacks = self.eliminated(tau, semidefinite=semidefinite)
        effective = [one.Lam_l - times(turned(one.Y), one.Y) for one in stacks]
        halves = _wide(design, [(one.Y, one.Y_D) for one in stacks])
        if self.in_weights:
            Lam_f: Any = self._in_weights(tau, stacks, effective, halves)
        else:
            local = np.zeros(n * n)
            for one, block in zip(stacks, effective, strict=True):
                L = one.stack.local
                local += np.bincount(np.ravel(L[:, :, None] * n + L[:, None, :]), np.ravel(block), minlength=n * n)
            Lam_f = np.empty((design.n_shared, design.n_shared))
            Lam_f[:n, :n] = local.reshape(n, n)
            if D.shape[1]:
                Lam_f[:n, n:] = self._across(tau, halves)
                Lam_f[n:, :n] = Lam_f[:n, n:].T
                Lam_f[n:, n:] = self._corner(tau, halves)
        return GroupCurve(self, self.factor.curvature(Lam_f, semidefinite=semidefinite), stacks, halves)

    def _across(self, tau: FloatArray, halves: Design) -> FloatArray:
        """Return Λ̃ between local latents and those that all rows see."""
        return np.asarray(self.design.rows.AT @ (tau[:, None] * self.design.dense) - halves.AT @ halves.D)

    def _corner(self, tau: FloatArray, halves: Design) -> FloatArray:
        """Return Λ̃ between latents that all rows see."""
        return weighted_square(self.design.dense, tau) - weighted_square(halves.D, np.ones(self.design.n_own))

    def _in_weights(self, tau: FloatArray, stacks: list[_Eliminated], effective: Blocks, halves: Design) -> Design:
        """Return Λ̃, sparse among local latents."""
        design, n, sides = self.design, self.design.n_local, [one.stack.local for one in stacks]
        shapes = [(len(L), L.shape[1], L.shape[1]) for L in sides]
        rows = _end_to_end(
            np.ravel(np.broadcast_to(L[:, :, None], shape)) for L, shape in zip(sides, shapes, strict=True)
        )
        columns = _end_to_end(
            np.ravel(np.broadcast_to(L[:, None, :], shape)) for L, shape in zip(sides, shapes, strict=True)
        )
        data = np.concatenate([*(np.ravel(block) for block in effective), np.zeros(0)])
        local = sp.csr_array((data, (rows, columns)), shape=(n, n))
        if not design.n_dense:
            return Design(local)
        across = self._across(tau, halves)
        below = sp.csr_array(sp.vstack([local, sp.csr_array(across.T)]))
        return Design(below, np.vstack([across, self._corner(tau, halves)]))

    def eliminated(self, tau: FloatArray, *, semidefinite: bool) -> list[_Eliminated]:
        """Eliminate the groups of every stack."""
        design, D = self.design, self.design.dense
        of_dense = design.split(design.ownT @ (tau[:, None] * D))
        stacks = []
        for one, R, (Lam, E, Lam_l), E_D in zip(design.stacks, self.roots, design.blocks(tau), of_dense, strict=True):
            RT = turned(R)
            RE = times(RT, E)
            RL = RE if E is Lam else times(RT, Lam)
            inverse = inverse_cholesky(times(RL, R), semidefinite=semidefinite)
            Y_D = times(times(inverse, RT), E_D) if D.shape[1] else E_D
            stacks.append(_Eliminated(one, R, Lam, E, E_D, Lam_l, inverse, times(inverse, RE), Y_D))
        return stacks


@dataclass(frozen=True)
class _Eliminated:
    """A stack of groups, eliminated."""

    stack: Stack
    R: FloatArray
    Lam: FloatArray  # Λ_g
    E: FloatArray  # E_g, between own and local latents
    E_D: FloatArray  # between own latents and those that all rows see
    Lam_l: FloatArray  # between local latents
    inverse: FloatArray  # of the lower Cholesky factor of B_g
    Y: FloatArray  # that times R_g'E_g
    Y_D: FloatArray

    @cached_property
    def half(self) -> FloatArray:
        """The inverse times R_g': V_g = half' half."""
        return times(self.inverse, turned(self.R))

    @cached_property
    def V(self) -> FloatArray:
        """Covariance of h_g given f."""
        return times(turned(self.half), self.half)

    @cached_property
    def passed(self) -> tuple[FloatArray, FloatArray]:
        """How h_g moves with f: -V_g E_g."""
        back = turned(self.half)
        return -times(back, self.Y), -times(back, self.Y_D)

    @cached_property
    def seen(self) -> tuple[FloatArray, FloatArray]:
        """How C'T x of a group moves with f: E - Λ V E."""
        moves, moves_dense = self.passed
        return self.E + times(self.Lam, moves), self.E_D + times(self.Lam, moves_dense)


@dataclass(frozen=True)
class GroupCurve(Curve):
    """B = I + S'TS with the groups eliminated."""

    system: GroupSystem
    point: Curvature
    stacks: list[_Eliminated]
    halves: Design  # Y of all groups, (N, n + q)

    @property
    def log_det(self) -> float:
        """Return log |B|."""
        own = sum(float(np.log(np.diagonal(one.inverse, axis1=1, axis2=2)).sum()) for one in self.stacks)
        return self.point.log_det - 2.0 * own

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b, for one vector or for columns."""
        factor, design, r = self.system.factor, self.system.design, self.system.factor.rank
        half = joined([times(one.inverse, x) for one, x in zip(self.stacks, design.split(b[r:]), strict=True)], b)
        v = self.point.solve(b[:r] - factor.back(self.halves.back(half)))
        rest = design.split(half - self.halves.forward(factor.forward(v)))
        own = [times(turned(one.inverse), x) for one, x in zip(self.stacks, rest, strict=True)]
        return np.concatenate([v, joined(own, b)])

    @cached_property
    def _root(self) -> FloatArray:
        """T' (n, r)."""
        return np.ascontiguousarray(self.point.T.T)

    @cached_property
    def _given(self) -> Any:
        """V_g of all groups, block diagonal (N, N)."""
        return self._diagonal([one.V for one in self.stacks])

    @cached_property
    def _moves(self) -> Design:
        """-V E of all groups: how their latents move with shared ones."""
        return _wide(self.system.design, [one.passed for one in self.stacks])

    def _lifted(self, rows: Any) -> Design:
        """Return how rows move with f, their groups following: A - C V E."""
        design = self.system.design
        own = design.own[rows]
        return Design(design.local[rows] + own @ self._moves.A, design.dense[rows] + own @ self._moves.D)

    @cached_property
    def variances(self) -> FloatArray:
        """Posterior variances of x at the rows: both parts are non-negative."""
        design = self.system.design
        if design.mirrored and not design.n_dense:
            return design.forms([self._together(one) for one in self.stacks])
        given = np.asarray((design.own @ self._given).multiply(design.own).sum(axis=1)).ravel()
        return np.asarray(np.maximum(given, 0.0) + self.point.spread(self._lifted(slice(None))))

    def _together(self, one: _Eliminated) -> FloatArray:
        """Return the covariance of f + h_g of a stack that mirrors f: V + (I - VΛ) C (I - VΛ)'."""
        W, local = one.passed[0] + np.eye(one.stack.what.shape[1]), one.stack.local
        C = self.point.among(local)
        return one.V + times(times(W, C), turned(W))

    def touched(self, u: FloatArray, cells: IntArray) -> Touched:
        """Return what some rows see: latents of their groups, local ones, and all of the dense ones."""
        design, system = self.system.design, self.system
        own, local = design.own[cells], design.local[cells]
        few, near = np.unique(own.indices), np.unique(local.indices)
        r, n = system.factor.rank, design.n_local
        seen = np.concatenate([near, n + np.arange(design.n_dense)])
        moves = Design(self._moves.A[few], self._moves.D[few])
        rows = np.vstack([moves.forward(self._root), self._root[seen]])
        C = rows @ rows.T
        C[: len(few), : len(few)] += self._given[few][:, few].toarray()
        A = sp.csr_array(sp.hstack([own[:, few], local[:, near], sp.csr_array(design.dense[cells])]))
        return Touched(A, np.concatenate([system.own(u[r:])[few], system.factor.forward(u[:r])[seen]]), C)

    def draw(self, u: FloatArray, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return draws of the shared latents (count, n) and of those of groups (count, N), jointly."""
        system, r = self.system, self.system.factor.rank
        moved = rng.standard_normal((count, self._root.shape[1])) @ self._root.T
        own = self._moves.forward(moved.T).T
        own = own + (self.inverse_roots.T @ rng.standard_normal((system.design.n_own, count))).T
        h = system.own(u[r:])
        return moved + system.factor.forward(u[:r]), np.asarray(own + h)

    def sensitivity(self, plus: FloatArray, minus: FloatArray) -> Sensitivity:
        """Return the derivatives of the evidence by K and by the K_g of every stack; see `Curve.sensitivity`."""
        design = self.system.design
        M = self.point.sensitivity(*map(design.rows.back, (plus, minus)))
        x, y = (design.split(design.ownT @ g) for g in (plus, minus))
        lifted = None
        if design.n_dense:
            lifted = design.split(_wide(design, [one.seen for one in self.stacks]).forward(self._root))
        own = []
        for k, one in enumerate(self.stacks):
            # ½ C'(TVT - T + pp' - qq')C of every group
            S = times(times(one.Lam, one.V), one.Lam) - one.Lam + times(x[k], turned(x[k]))
            if lifted is not None:
                S += squares(lifted[k])
            else:
                F, where = one.seen[0], one.stack.local
                C = self.point.among(where)
                S += times(times(F, C), turned(F))
            own.append((one.stack, 0.5 * (S - times(y[k], turned(y[k])))))
        return M, own

    def answer(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, list[Any], list[Any]]:
        """Return means, and rows of shared latents and of groups: R⁻¹ and LB⁻¹ R⁻¹ times the covariances with these.

        For shared latents that is done for few rows, and combined; see `Curve.answer`.
        """
        design, factor = self.system.design, self.system.factor
        mean = factor.means(query.shared, design.rows.back(g))
        W = factor.whiten(query.shared)
        seen, left = W.T, self.point.whiten(W).T
        if query.operator is not None:
            mean, seen, left = query.operator @ mean, query.operator @ seen, query.operator @ left
        if query.own is None:
            return mean, [seen], [left]
        seen_own = query.own @ self.unrooted.T
        left_own = seen_own @ self.inverses.T
        left = left - Design(left_own @ self.halves.A, left_own @ self.halves.D).forward(self._root)
        return mean + query.own @ (design.ownT @ g), [seen, seen_own], [left, left_own]

    @cached_property
    def unrooted(self) -> Any:
        """R_g⁻¹ of all groups, block diagonal."""
        blocks: list[Any] = []
        for R in self.system.roots:
            if self.system.singular:
                blocks.append(np.linalg.pinv(R, rcond=np.sqrt(R.shape[1] * EPS), hermitian=True))
            else:
                blocks.append(np.linalg.inv(R))
        return self._diagonal(blocks)

    @cached_property
    def inverses(self) -> Any:
        """Inverses of the Cholesky factors of B_g, block diagonal."""
        return self._diagonal([one.inverse for one in self.stacks])

    @cached_property
    def inverse_roots(self) -> Any:
        """The same times R_g'."""
        return self._diagonal([one.half for one in self.stacks])

    def _diagonal(self, blocks: list[FloatArray]) -> Any:
        """Return the sparse matrix (N, N) with blocks (G, k, k) of every stack on its diagonal."""
        width, columns, data = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)], [np.zeros(0)]
        for stack, block in zip(self.system.design.stacks, blocks, strict=True):
            k = stack.what.shape[1]
            shape = (*stack.what.shape, k)
            width.append(np.full(stack.what.size, k))
            columns.append(np.ravel(np.broadcast_to(stack.places[:, None, :], shape)))
            data.append(np.ravel(np.broadcast_to(block * np.eye(k) if block.shape == (1, 1, 1) else block, shape)))
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(width))]).astype(np.intp)
        size = self.system.design.n_own
        return sp.csr_array((np.concatenate(data), np.concatenate(columns), indptr), shape=(size, size))


def _wide(design: GroupDesign, parts: list[tuple[FloatArray, FloatArray]]) -> Design:
    """Return blocks of all groups with the local latents (N, n) and with the dense ones (N, q)."""
    dense = np.zeros((design.n_own, design.n_dense))
    if design.n_dense:
        for stack, (_, part) in zip(design.stacks, parts, strict=True):
            dense[stack.own] = part.reshape(stack.what.size, design.n_dense)
    return Design(design.wide([local for local, _ in parts]), dense)


def joined(parts: list[FloatArray], like: FloatArray) -> FloatArray:
    """Return columns (G, k, q) of all stacks as one array (N,) or (N, q), as something else has one or more columns."""
    shape = like.shape[1:]
    return np.concatenate([np.zeros((0, *shape)), *(part.reshape(-1, *shape) for part in parts)])
