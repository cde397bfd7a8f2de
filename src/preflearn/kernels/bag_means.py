"""Kernels between bags of points: the mean of a kernel over all pairs of their points.

With S the matrix that averages the points of every bag, K = S k(points, points) S', so that <M, dK> = <S'MS, dk>: any
kernel between vectors is one between bags, with its gradient. Bags have ``points`` (N, d) and ``offsets`` (n + 1,), as
`preflearn.data.Bags` has; the kernel between points is a function of these (`PointKernel`). The N x N matrix is
worked through in blocks and never held, neither for the values nor for a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from preflearn.exceptions import DataError
from preflearn.items import as_items
from preflearn.linalg import FloatArray, IntArray

BLOCK = 512  # points on each side of a block: 2 MiB of kernel values
RUN = 128  # points of bags that are evaluated together where only the diagonal of what comes out is wanted


Pull = Callable[[FloatArray], FloatArray]


class PointKernel(Protocol):
    """A kernel between points, of X with themselves if Y is None: its values, and their pullback if ``keep``."""

    def __call__(self, X: FloatArray, Y: FloatArray | None = None, keep: bool = False) -> tuple[FloatArray, Pull]:
        """Return the values and the pullback."""


def bag_gram(k: PointKernel, X: Any, Y: Any = None) -> FloatArray:
    """Return the kernel matrix of bags, or between the bags of X and those of Y."""
    if as_items(X).one_row_each or (Y is not None and as_items(Y).one_row_each):
        raise DataError(code="bags-against-rows", owner="kernel").says(
            "bags are compared with bags, and here one side is a table of rows",
            "A row alone is a bag of one point: Bags(table[:, None, :])",
        )
    other = X if Y is None else Y
    K = np.zeros((X.shape[0], other.shape[0]))
    for a in _blocks(X.points.shape[0]):
        for b in _blocks(other.points.shape[0]):
            if Y is None and b.start < a.start:
                continue
            same = Y is None and a == b
            values = k(X.points[a], None if same else other.points[b])[0]
            rows, columns, sums = _sums(values, X, a, other, b)
            K[rows, columns] += sums
            if Y is None and not same:
                K[columns, rows] += sums.T
    K /= _counts(X, other)
    return K if Y is not None else (K + K.T) / 2  # exactly symmetric


def bag_diag(k: PointKernel, X: Any, Y: Any = None) -> FloatArray:
    """Return the diagonal of `bag_gram`: bags paired by position; cost the products of their sizes, times d."""
    out = np.empty(X.shape[0])
    for run in _runs(np.diff(X.offsets), np.diff((X if Y is None else Y).offsets)):
        out[run] = bag_gram(k, X[run], None if Y is None else Y[run]).diagonal()
    return out


def bag_gram_and_pullback(k: PointKernel, X: Any) -> tuple[FloatArray, Pull]:
    """Return the kernel matrix of bags and ``pull(M) = <M, dK/dtheta>``; only of a single block are values kept."""
    N = X.points.shape[0]
    if N > BLOCK:
        return bag_gram(k, X), lambda M: _pull_blocks(k, X, M / _counts(X, X))
    values, pull = k(X.points, keep=True)
    everything = slice(0, N)
    _, _, K = _sums(values, X, everything, X, everything)
    K /= _counts(X, X)
    bag = _bag_of(X)
    return (K + K.T) / 2, lambda M: pull((M / _counts(X, X))[bag[:, np.newaxis], bag])


def _pull_blocks(k: PointKernel, X: Any, M: FloatArray) -> FloatArray:
    """Return <S'MS, dk/dtheta>, M divided by the sizes already; (i, j) and (j, i) have the same kernel value."""
    total: Any = 0.0
    bag = _bag_of(X)
    both = M + M.T
    blocks = list(_blocks(X.points.shape[0]))
    for number, a in enumerate(blocks):
        total = total + k(X.points[a], keep=True)[1](M[bag[a, np.newaxis], bag[a]])
        for b in blocks[number + 1 :]:
            W = both[bag[a, np.newaxis], bag[b]]
            total = total + k(X.points[a], X.points[b], keep=True)[1](W)
    return np.asarray(total)


def _sums(values: FloatArray, X: Any, a: slice, Y: Any, b: slice) -> tuple[slice, slice, FloatArray]:
    """Return which bags two blocks of points belong to, and the sums of the kernel values over these."""
    rows, row_starts = _bags_in(X.offsets, a)
    columns, column_starts = _bags_in(Y.offsets, b)
    return rows, columns, np.add.reduceat(np.add.reduceat(values, column_starts, axis=1), row_starts, axis=0)


def _bags_in(offsets: IntArray, block: slice) -> tuple[slice, IntArray]:
    """Return the bags that have points in a block, and where in it the points of each start."""
    first = int(np.searchsorted(offsets, block.start, side="right")) - 1
    last = int(np.searchsorted(offsets, block.stop, side="left"))
    return slice(first, last), np.maximum(offsets[first:last], block.start) - block.start


def _blocks(n_points: int) -> Iterator[slice]:
    return (slice(start, min(start + BLOCK, n_points)) for start in range(0, n_points, BLOCK))


def _runs(sizes: IntArray, others: IntArray) -> Iterator[slice]:
    """Yield runs of items with at most ``RUN`` points on either side, or of one item."""
    start = n = m = 0
    for item, (size, other) in enumerate(zip(sizes.tolist(), others.tolist(), strict=True)):
        if item > start and (n + size > RUN or m + other > RUN):
            yield slice(start, item)
            start, n, m = item, 0, 0
        n, m = n + size, m + other
    if len(sizes):
        yield slice(start, len(sizes))


def _counts(X: Any, Y: Any) -> FloatArray:
    return np.asarray(np.outer(np.diff(X.offsets), np.diff(Y.offsets)), dtype=np.float64)


def _bag_of(X: Any) -> IntArray:
    """Return the bag of every point."""
    return np.repeat(np.arange(X.shape[0]), np.diff(X.offsets))
