"""A Cholesky factor in the shape of an arrow: many blocks that meet only in the last one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dtrsm, dtrsv

from preflearn.inference.dense import cholesky_at_least_one
from preflearn.operators import FloatArray, IntArray

__all__ = ["Arrow", "lower", "one_plus"]


@dataclass(frozen=True)
class Arrow:
    """B = I + R'ΛR as a product of factors; in place of a `Curvature`."""

    Lam: Any
    own: tuple[slice, ...]  # places of v_c among the columns of R
    rest: tuple[slice, ...]  # places of w_c
    corners: tuple[FloatArray, ...]  # lower Cholesky factor of B between w_c and itself
    edges: tuple[FloatArray, ...]  # B between all v and w_c, times the inverse transpose of the corner
    point: FloatArray  # lower Cholesky factor of what is left between all v

    @property
    def LB(self) -> Arrow:
        """The factor itself, as `Curvature` calls it."""
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Size of B."""
        return self.rest[-1].stop, self.rest[-1].stop

    @property
    def log_det(self) -> float:
        """Return log |B|."""
        return 2.0 * float(sum(np.log(L.diagonal()).sum() for L in (*self.corners, self.point)))

    @cached_property
    def places(self) -> IntArray:
        """Places of all v among the columns of R."""
        return np.concatenate([np.arange(part.start, part.stop) for part in self.own]).astype(np.intp)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b for one vector."""
        x = np.empty_like(b)
        v = b[self.places]
        halves = [lower(L, b[w]) for L, w in zip(self.corners, self.rest, strict=True)]
        for X, half in zip(self.edges, halves, strict=True):
            v -= X @ half
        v = lower(self.point, lower(self.point, v), transposed=True)
        x[self.places] = v
        for L, X, w, half in zip(self.corners, self.edges, self.rest, halves, strict=True):
            x[w] = lower(L, half - X.T @ v, transposed=True)
        return x

    def half(self, block: int, own: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the two parts of LB⁻¹ for columns that are zero outside v_c (``own``) and w_c (``rest``).

        The first part belongs to w_c, the second to all v.
        """
        first = lower(self.corners[block], rest)
        second = -(self.edges[block] @ first)
        start = sum(part.stop - part.start for part in self.own[:block])
        second[start : start + own.shape[0]] += own
        return first, lower(self.point, second)

    def whiten(self, W: FloatArray) -> FloatArray:
        """Return LB⁻¹ W, rows in the order of elimination: w_1, ..., w_P, v."""
        halves = [lower(L, W[w]) for L, w in zip(self.corners, self.rest, strict=True)]
        v = W[self.places]
        for X, half in zip(self.edges, halves, strict=True):
            v -= X @ half
        return np.concatenate([*halves, lower(self.point, v)])


def one_plus(G: FloatArray) -> FloatArray:
    """Return the lower Cholesky factor of I + G."""
    B = np.array(G, order="F")
    B.flat[:: B.shape[0] + 1] += 1.0
    if not B.size:
        return B
    L, failed = scipy.linalg.lapack.dpotrf(B, lower=1, clean=1, overwrite_a=1)
    return np.asarray(cholesky_at_least_one(G) if failed else L)


def lower(L: FloatArray, b: FloatArray, *, transposed: bool = False) -> FloatArray:
    """Return L⁻¹ b, or L'⁻¹ b, for one vector or for columns."""
    if not b.size:
        return np.zeros(b.shape)
    if b.ndim == 1:
        return np.asarray(dtrsv(L, b, lower=1, trans=int(transposed)))
    return np.asarray(dtrsm(1.0, L, b, lower=1, trans_a=int(transposed)))
