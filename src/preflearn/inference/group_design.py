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
        self._what = _joined(np.ravel(one.what) for one in self.stacks)
        mine = joint.indices < c
        self.own = sp.csr_array((joint.data[mine], place[entry.ravel()[mine]], what.indptr), shape=(self.n_rows, start))
        self.ownT = sp.csr_array(self.own.T)
        # where products of two entries of a row land in the joint blocks
        by_latent = sp.csr_array((joint.data, entry.ravel(), joint.indptr), shape=(self.n_rows, len(code)))
        self._row, left, right, self._value = products_of_rows(by_latent)
        self._place = row_start[left] + inner[right]
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
