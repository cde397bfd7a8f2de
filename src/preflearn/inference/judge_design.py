"""What comparisons by many judges see: the latents of the population and, beside them, those of each judge.

Judges with equally many latents stand together, so that the work on them is that of a few stacks of small matrices.
See `preflearn.inference.judges`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.inference.design import Design
from preflearn.operators import FloatArray, IntArray

__all__ = ["Blocks", "JudgeDesign", "JudgeLaplacian", "Plan", "ravel"]

Blocks = list[FloatArray]  # for every size k of a judge: (judges, k, k)


@dataclass(frozen=True)
class Plan:
    """Which latents each judge has: for every size k the judges that have as many, and their latents (judges, k)."""

    n: int
    judges: tuple[IntArray, ...]
    latents: tuple[IntArray, ...]

    @cached_property
    def flat(self) -> IntArray:
        """The latents of f that those of the judges belong to, (N,)."""
        return np.concatenate([np.ravel(latents) for latents in self.latents])

    @cached_property
    def cells(self) -> IntArray:
        """Place in an n x n matrix, row by row, of all entries of all blocks."""
        return np.concatenate([np.ravel(one[:, :, None] * self.n + one[:, None, :]) for one in self.latents])

    @cached_property
    def distinct(self) -> list[tuple[IntArray, IntArray]]:
        """For every size the different sets of latents (sets, k), and which one each judge has."""
        found = [np.unique(latents, axis=0, return_inverse=True) for latents in self.latents]
        return [(sets, which.ravel()) for sets, which in found]

    @cached_property
    def offsets(self) -> IntArray:
        """Where the latents of each size start among the judges', (sizes + 1,)."""
        return np.concatenate([[0], np.cumsum([one.size for one in self.latents])]).astype(np.intp)

    def split(self, x: FloatArray) -> list[FloatArray]:
        """Return numbers for the judges' latents as columns, (judges, k, 1) for every size."""
        return [
            x[start : start + one.size].reshape(*one.shape, 1)
            for start, one in zip(self.offsets[:-1], self.latents, strict=True)
        ]

    def gather(self, f: FloatArray) -> list[FloatArray]:
        """Return the population's numbers at the judges' latents, as columns."""
        return [f[one][:, :, None] for one in self.latents]

    def scatter(self, columns: list[FloatArray]) -> FloatArray:
        """Return sums (n,) of columns of numbers over the latents they belong to."""
        return np.asarray(np.bincount(self.flat, ravel(columns), minlength=self.n), dtype=np.float64)

    def diagonal(self, blocks: Blocks) -> Any:
        """Return the sparse matrix (N, N) with these blocks on its diagonal."""
        width = np.concatenate([np.full(one.size, one.shape[1]) for one in self.latents])
        columns = [
            np.ravel(np.broadcast_to(start + np.arange(one.size).reshape(one.shape)[:, None, :], block.shape))
            for start, one, block in zip(self.offsets[:-1], self.latents, blocks, strict=True)
        ]
        indptr = np.concatenate([[0], np.cumsum(width)])
        N = self.flat.shape[0]
        return sp.csr_array((ravel(blocks), np.concatenate(columns), indptr), shape=(N, N))

    @cached_property
    def places(self) -> dict[int, tuple[int, int]]:
        """For every judge the number of its size, and which of those judges it is."""
        return {int(judge): (size, k) for size, who in enumerate(self.judges) for k, judge in enumerate(who)}

    def scatter_blocks(self, blocks: Blocks) -> FloatArray:
        """Return the sum (n, n) of blocks."""
        total = np.bincount(self.cells, ravel(blocks), minlength=self.n * self.n)
        return np.asarray(total, dtype=np.float64).reshape(self.n, self.n)


class JudgeDesign:
    """z = A (f + h_judge): what comparisons see of the population's latents and, beside them, of the judges' own.

    Parameters
    ----------
    A : sparse array (m, n)
        What each comparison sees of f.
    judge : array (m,)
        Its judge, a number from 0.
    """

    dense = False

    def __init__(self, A: Any, judge: IntArray) -> None:
        A = sp.csr_array(A)
        m, n = A.shape
        rows = np.repeat(np.arange(m), np.diff(A.indptr))
        code, own = np.unique(judge[rows] * n + A.indices.astype(np.intp), return_inverse=True)
        of, latent = code // n, code % n
        count = np.bincount(of)
        sizes = np.unique(count[count > 0])
        order = np.argsort(count[of], kind="stable")  # judges with equally many latents together
        judges, latents, start = [], [], 0
        for size in sizes:
            who = np.flatnonzero(count == size)
            chosen = order[start : start + who.shape[0] * size]
            judges.append(who)
            latents.append(latent[chosen].reshape(-1, size))
            start += chosen.shape[0]
        self.plan = Plan(n, tuple(judges), tuple(latents))
        place = np.empty_like(order)
        place[order] = np.arange(order.shape[0])
        self.judge = judge
        self._own = Design(sp.csr_array((A.data, place[own.ravel()], A.indptr), shape=(m, code.shape[0])))
        self.A = sp.csr_array(sp.hstack([A, self._own.A]))
        self.AT = sp.csr_array(self.A.T)
        self.shape = self.A.shape
        self.own = self._own.A
        self._place = self._cells()

    def _cells(self) -> IntArray:
        # places among the entries of all blocks of the products of two entries of one row
        latents = self.plan.latents
        width = np.concatenate([np.full(one.size, one.shape[1]) for one in latents])
        first = np.concatenate([[0], np.cumsum(width)[:-1]])  # where the row of each latent starts
        inner = np.concatenate([np.tile(np.arange(one.shape[1]), one.shape[0]) for one in latents])
        return np.asarray(first[self._own._left] + inner[self._own._right], dtype=np.intp)

    @property
    def size(self) -> int:
        """Order of the largest matrix that is factored."""
        return self.plan.n

    def laplacian(self, tau: FloatArray) -> JudgeLaplacian:
        """Return Λ = A'diag(τ)A."""
        design, latents = self._own, self.plan.latents
        total = sum(one.size * one.shape[1] for one in latents)
        flat = np.bincount(self._place, design._value * tau[design._row], minlength=total)
        return JudgeLaplacian(self.plan, _blocks(np.asarray(flat, dtype=np.float64), latents))

    def spread(self, D: Blocks) -> FloatArray:
        """Return diag(ACA') from the covariances D of f + h_a."""
        design = self._own
        products = design._value * ravel(D)[self._place]
        return np.maximum(np.bincount(design._row, products, minlength=self.shape[0]), 0.0)


@dataclass(frozen=True)
class JudgeLaplacian:
    """Λ between f and all h_a: every judge's block of precisions stands for all four of its corners."""

    plan: Plan
    blocks: Blocks

    def __matmul__(self, x: FloatArray) -> FloatArray:
        """Return Λx for x = (f, h)."""
        plan = self.plan
        f, h = x[: plan.n], plan.split(x[plan.n :])
        y = [L @ (own + shared) for L, own, shared in zip(self.blocks, h, plan.gather(f), strict=True)]
        return np.concatenate([plan.scatter(y), ravel(y)])


def ravel(parts: list[FloatArray]) -> FloatArray:
    """Return the numbers of all parts, one after the other."""
    return np.concatenate([np.ravel(part) for part in parts])


def _blocks(flat: FloatArray, latents: tuple[IntArray, ...]) -> Blocks:
    ends = np.cumsum([one.size * one.shape[1] for one in latents])
    parts = np.split(flat, ends[:-1])
    return [part.reshape(*one.shape, one.shape[1]) for part, one in zip(parts, latents, strict=True)]
