"""Kernels between bags of points: the mean of a kernel over all pairs of their points.

With S the matrix that averages the points of every bag, K = S k(points, points) S', so that <M, dK> = <S'MS, dk>: any
kernel between vectors is one between bags, with its gradient. Bags are whatever has ``points`` (N, d) and ``offsets``
(n + 1,), as `preflearn.data.Bags` has. The N x N matrix is worked through in blocks and never held, neither for the
values nor for a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.exceptions import DataError
from preflearn.kernels.parts import Space
from preflearn.kernels.rules import evaluate, n_free

__all__ = ["bag_diag", "bag_gram", "bag_gram_and_pullback", "bag_means", "bag_paired", "is_bags", "point_weights"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

BLOCK = 512  # points on each side of a block: 2 MiB of kernel values
RUN = 128  # points of bags that are evaluated together where only the diagonal of what comes out is wanted


def is_bags(X: Any) -> bool:
    """Say whether items are bags of points.

    Examples
    --------
    >>> is_bags([[1.0]])
    False
    """
    return hasattr(X, "points") and hasattr(X, "offsets")


def bag_means(X: Any, rows: FloatArray) -> FloatArray:
    """Return the means (n, r) over bags of something that every point has, (N, r)."""
    return np.asarray(np.add.reduceat(rows, X.offsets[:-1], axis=0) / np.diff(X.offsets)[:, np.newaxis])


def point_weights(X: Any, weight: FloatArray) -> FloatArray:
    """Return weights of points (N,) from those of bags, each shared equally among its points."""
    sizes = np.diff(X.offsets)
    return np.repeat(weight / sizes, sizes)


def bag_gram(kernel: Any, X: Any, Y: Any = None) -> FloatArray:
    """Return the kernel matrix of bags, or between the bags of X and those of Y.

    Cost N_x N_y d for N points in d features; memory a block of 512 x 512 points and the answer.
    """
    if not is_bags(X) or not (Y is None or is_bags(Y)):
        raise DataError(
            "kernel: bags are compared with bags, and here one side is a table of rows. A row alone is a bag of one "
            "point: Bags(table[:, None, :])."
        )
    other = X if Y is None else Y
    K = np.zeros((X.shape[0], other.shape[0]))
    for a in _blocks(X.points.shape[0]):
        for b in _blocks(other.points.shape[0]):
            if Y is None and b.start < a.start:
                continue
            same = Y is None and a == b
            values = _values(kernel, X.points[a], None if same else other.points[b])
            rows, columns, sums = _sums(values, X, a, other, b)
            K[rows, columns] += sums
            if Y is None and not same:
                K[columns, rows] += sums.T
    K /= _counts(X, other)
    return K if Y is not None else (K + K.T) / 2  # exactly symmetric


def bag_diag(kernel: Any, X: Any) -> FloatArray:
    """Return the diagonal of `bag_gram`; cost the squares of the bags' sizes, times d."""
    out = np.empty(X.shape[0])
    sizes = np.diff(X.offsets)
    for run in _runs(sizes, sizes):
        out[run] = bag_gram(kernel, X[run]).diagonal()
    return out


def bag_paired(kernel: Any, X: Any, Y: Any) -> FloatArray:
    """Return the kernel of bags with bags paired by position; cost the products of their sizes, times d."""
    out = np.empty(X.shape[0])
    for run in _runs(np.diff(X.offsets), np.diff(Y.offsets)):
        out[run] = bag_gram(kernel, X[run], Y[run]).diagonal()
    return out


def bag_gram_and_pullback(kernel: Any, X: Any) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return the kernel matrix of bags and ``pull(M) = <M, dK/dtheta>``.

    Cost N² d each; memory as of `bag_gram`. The kernel values of a single block of points are kept for the pullback,
    those of more are computed again.
    """
    N = X.points.shape[0]
    if N > BLOCK:
        return bag_gram(kernel, X), lambda M: _pull_blocks(kernel, X, _checked(M, X) / _counts(X, X))
    space = Space.build(kernel, X.points)
    part, pull = evaluate(kernel, space, keep=True)
    everything = slice(0, N)
    _, _, K = _sums(part.toarray(space.shape, keep=True), X, everything, X, everything)
    K /= _counts(X, X)
    bag = _bag_of(X)
    return (K + K.T) / 2, lambda M: pull((_checked(M, X) / _counts(X, X))[bag[:, np.newaxis], bag])


def _pull_blocks(kernel: Any, X: Any, M: FloatArray) -> FloatArray:
    """Return <S'MS, dk/dtheta>, M divided by the sizes already; (i, j) and (j, i) have the same kernel value."""
    total = np.zeros(n_free(kernel))
    bag = _bag_of(X)
    both = M + M.T
    blocks = list(_blocks(X.points.shape[0]))
    for number, a in enumerate(blocks):
        total += _pull(kernel, X.points[a], M[bag[a, np.newaxis], bag[a]])
        for b in blocks[number + 1 :]:
            W = both[bag[a, np.newaxis], bag[b]]
            total += _pull(kernel, X.points[a], W, X.points[b])
    return total


def _pull(kernel: Any, points: FloatArray, W: FloatArray, others: FloatArray | None = None) -> FloatArray:
    return evaluate(kernel, Space.build(kernel, points, others), keep=True)[1](W)


def _values(kernel: Any, points: FloatArray, others: FloatArray | None) -> FloatArray:
    space = Space.build(kernel, points, others)
    return evaluate(kernel, space, keep=False)[0].toarray(space.shape, keep=False)


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


def _checked(M: Any, X: Any) -> FloatArray:
    weights = np.asarray(M, dtype=np.float64)
    shape = (X.shape[0], X.shape[0])
    if weights.shape != shape:
        raise DataError(f"pullback: M has shape {weights.shape}; {shape} is needed, a weight for every entry of K.")
    return weights
