"""Rows in groups: what each row sees of latents that all rows share, and of latents that only its group has.

Groups with equally many latents stand together in a stack, so that the work on them is that of a few stacks of small
matrices. A group's joint latents are its own and, after them, the shared ones that its rows touch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.inference.dense import Design, products_of_rows
from preflearn.operators import FloatArray, IntArray

__all__ = ["GroupDesign", "Stack"]


@dataclass(frozen=True)
class Stack:
    """Groups with k latents of their own whose rows touch l shared ones."""

    group: IntArray  # (G,): numbers of the groups
    what: IntArray  # (G, k): which of the columns of the groups' design each own latent belongs to
    local: IntArray  # (G, l): shared latents
    start: int  # of the stack's own latents among all
    first: int  # of its joint blocks among all entries
    parts: tuple[int, ...]  # where the latents of each part start, and the last one ends
    mirrored: bool = False

    @property
    def own(self) -> slice:
        """Places of the stack's own latents."""
        return slice(self.start, self.start + self.what.size)

    @property
    def places(self) -> IntArray:
        """Places (G, k) of these among all."""
        return np.asarray(self.start + np.arange(self.what.size).reshape(self.what.shape))

    @property
    def width(self) -> int:
        """Order of a joint block."""
        return int(self.what.shape[1] if self.mirrored else self.what.shape[1] + self.local.shape[1])

    @cached_property
    def sets(self) -> tuple[IntArray, IntArray]:
        """The different sets (sets, k) that own latents belong to, and which one each group has."""
        sets, which = np.unique(self.what, axis=0, return_inverse=True)
        return sets, which.ravel()


class GroupDesign:
    """x = A f + D w + C h, h the latents of groups.

    Parameters
    ----------
    local : sparse array (m, n)
        A: what rows see of shared latents, few of them each.
    dense : ndarray (m, q)
        D: what rows see of shared latents that all of them see.
    what : sparse array (m, c)
        What rows see of their group: c kinds of latents, of which every group has those that its rows touch.
    group : ndarray (m,)
        The group of each row, numbers from 0.
    parts : sequence of int
        Numbers of kinds that belong together, in their order: groups of one stack have equally many of each part.
    """

    def __init__(self, local: Any, dense: FloatArray, what: Any, group: IntArray, parts: Any = None) -> None:
        self.local, self.dense, what = sp.csr_array(local), np.ascontiguousarray(dense), sp.csr_array(what)
        for one in (self.local, what):
            one.sort_indices()
        self.rows = Design(self.local, self.dense)  # what rows see of the shared latents
        self.n_local, self.n_dense, self.n_shared = self.local.shape[1], self.dense.shape[1], self.rows.shape[1]
        self.group, self.n_rows = group, what.shape[0]
        n_groups = int(group.max(initial=-1)) + 1
        # whether rows see the same of their group's latents as of the local ones: then one block stands for all
        self.mirrored = what.shape == self.local.shape and (what is local or abs(what - self.local).nnz == 0)
        own_group, own_what, own_place = _distinct(what, group)
        loc_group, loc_column, loc_place = _distinct(self.local, group)
        k, l = (np.bincount(one, minlength=n_groups) for one in (own_group, loc_group))
        ends = np.cumsum([what.shape[1]] if parts is None else parts)
        part = np.searchsorted(ends, own_what, side="right")
        counts = np.bincount(own_group * len(ends) + part, minlength=n_groups * len(ends)).reshape(n_groups, -1)
        shape = np.unique(np.column_stack([counts, l]), axis=0, return_inverse=True)[1].ravel()
        self.stacks: list[Stack] = []
        # place of each own and local latent of a group among all own ones and in the joint blocks
        place = np.empty(own_group.shape[0], dtype=np.intp)
        joint_own = np.empty((2, own_group.shape[0]), dtype=np.intp)
        joint_loc = np.empty((2, loc_group.shape[0]), dtype=np.intp)
        starts_own, starts_loc = np.cumsum(k) - k, np.cumsum(l) - l
        start = first = 0
        for one in np.unique(shape[k > 0]):
            who = np.flatnonzero((shape == one) & (k > 0))
            kk, ll = int(k[who[0]]), int(l[who[0]])
            mine = starts_own[who][:, None] + np.arange(kk)
            theirs = starts_loc[who][:, None] + np.arange(ll)
            bounds = np.concatenate([[0], np.cumsum(counts[who[0]])])
            self.stacks.append(
                Stack(who, own_what[mine], loc_column[theirs], start, first, tuple(bounds.tolist()), self.mirrored)
            )
            place[mine] = start + np.arange(mine.size).reshape(mine.shape)
            width = self.stacks[-1].width
            block = first + np.arange(len(who))[:, None] * width**2
            joint_own[:, mine] = block + np.arange(kk) * width, np.broadcast_to(np.arange(kk), mine.shape)
            inner = kk + np.arange(ll)
            joint_loc[:, theirs] = block + inner * width, np.broadcast_to(inner, theirs.shape)
            start += mine.size
            first += len(who) * width**2
        self.n_own, self._n_entries = start, first
        # where the own latents of a group stand, how many they are, and what each of them is
        self._count, self._start = k, np.zeros(n_groups, dtype=np.intp)
        for one in self.stacks:
            self._start[one.group] = one.start + one.what.shape[1] * np.arange(len(one.group))
        self._what = np.concatenate([np.ravel(one.what) for one in self.stacks] or [np.zeros(0, np.intp)])
        self.own = sp.csr_array((what.data, place[own_place], what.indptr), shape=(self.n_rows, start))
        self.ownT = sp.csr_array(self.own.T)
        self._prepare(what, own_place, loc_place, joint_own, joint_loc)

    def _prepare(self, what: Any, own_place: Any, loc_place: Any, joint_own: IntArray, joint_loc: IntArray) -> None:
        # rows over joint latents, [own, local] of the group; where products of two entries land in the joint blocks
        n = joint_own.shape[1]
        joint = sp.csr_array((what.data, own_place, what.indptr), shape=(self.n_rows, n))
        base, inner = joint_own
        if not self.mirrored:
            width = joint_loc.shape[1]
            local = sp.csr_array((self.local.data, loc_place, self.local.indptr), shape=(self.n_rows, width))
            joint = sp.csr_array(sp.hstack([joint, local]))
            base, inner = (np.concatenate([own, loc]) for own, loc in zip(joint_own, joint_loc, strict=True))
        row, left, right, self._value = products_of_rows(joint)
        self._row, self._place = row, base[left] + inner[right]
        # rows of a matrix (N, n) between own and local latents
        self._columns = _joined(np.repeat(one.local, one.what.shape[1], axis=0).ravel() for one in self.stacks)
        count = _joined(np.full(one.what.size, one.local.shape[1]) for one in self.stacks)
        self._indptr = np.concatenate([[0], np.cumsum(count)]).astype(np.intp)

    def wide(self, parts: list[FloatArray]) -> Any:
        """Return blocks (G, k, l) of every stack as a sparse matrix (N, n)."""
        data = np.concatenate([np.ravel(part) for part in parts] or [np.zeros(0)])
        return sp.csr_array((data, self._columns, self._indptr), shape=(self.n_own, self.n_local))

    @property
    def single(self) -> bool:
        """Whether every row has one latent of its own, that no other row sees."""
        alone = all(one.what.shape[1] == 1 for one in self.stacks)
        return bool(alone and self.own.nnz == self.n_rows == self.n_own and (np.diff(self.own.indptr) == 1).all())

    def blocks(self, tau: FloatArray) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """Return precisions of every stack, Σ τ over the rows of each group.

        Between own latents (G, k, k), between own and local ones (G, k, l), and between local ones (G, l, l).
        """
        flat = np.bincount(self._place, self._value * tau[self._row], minlength=self._n_entries)
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

        ``cross`` (p, c) is the covariance with the kinds of latents of the value's group, from the ``first`` on; groups
        that are not there (negative numbers among them) have none.
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


def _joined(parts: Any) -> IntArray:
    return np.concatenate([*parts, np.zeros(0, np.intp)])


def _distinct(A: Any, group: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return group and column of the distinct (group, column) that entries of A have, and which each entry is."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    n = max(A.shape[1], 1)
    code, place = np.unique(group[rows] * n + A.indices.astype(np.intp), return_inverse=True)
    return code // n, code % n, place.ravel()
