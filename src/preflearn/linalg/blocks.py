"""Sums over blocks of sorted rows, which replace loops over groups and lists of pairs.

Rows are sorted so that each block is a stretch of them; ``starts`` are the rows at which blocks begin, with row 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]
Sums = NDArray[Any]  # of whole numbers, which are exact, or of float64


def block_starts(*columns: NDArray[Any]) -> Indices:
    """Return the rows at which any column changes, with row 0; the rows are sorted by these columns.

    Examples
    --------
    >>> import numpy as np
    >>> block_starts(np.array([0, 0, 0, 1]), np.array([2, 2, 5, 5]))
    array([0, 2, 3])
    """
    changes = columns[0][1:] != columns[0][:-1]
    for column in columns[1:]:
        changes |= column[1:] != column[:-1]
    return np.concatenate(([0], np.flatnonzero(changes) + 1))


def dense_rank(levels: Indices, groups: Indices, n_rows: int) -> Indices:
    """Return numbers of the levels inside each group from 0, one number per row; groups consist of whole levels.

    Examples
    --------
    >>> import numpy as np
    >>> dense_rank(np.array([0, 2, 3]), np.array([0, 3]), 5)
    array([0, 0, 1, 0, 0])
    """
    first = np.searchsorted(levels, groups)
    number = np.arange(len(levels)) - np.repeat(first, np.diff(first, append=len(levels)))
    return np.repeat(number, np.diff(levels, append=n_rows))


def sum_before(values: Sums, starts: Indices) -> Sums:
    """Sum the values before each row, inside its block.

    A cumulative sum over all rows would lose the digits of small blocks behind large ones. Here each block first
    takes away the sum of the block before it, and what rounding leaves over is taken away again from all rows of
    the block.

    Examples
    --------
    >>> import numpy as np
    >>> sum_before(np.array([1, 2, 3, 4]), np.array([0, 2]))
    array([0, 1, 0, 3])
    """
    steps = values.copy()
    steps[starts[1:]] -= np.add.reduceat(values, starts)[:-1]
    running = np.cumsum(steps)
    sizes = np.diff(starts, append=len(values))
    inclusive: Sums = running - np.repeat(running[starts], sizes)
    inclusive += np.repeat(values[starts], sizes)
    before: Sums = np.empty_like(inclusive)
    before[1:] = inclusive[:-1]
    before[starts] = 0
    return before


def log_sum_before(values: Sums, starts: Indices) -> Sums:
    """Return the logarithm of the sum of exponentials of the values before each row, inside its block.

    Each pass adds what stands 1, 2, 4, ... rows before: log2 passes of the largest block, where `sum_before` is one.

    Examples
    --------
    >>> import numpy as np
    >>> log_sum_before(np.array([0.0, 900.0, -900.0, -900.0, 5.0]), np.array([0, 2]))
    array([        -inf,    0.        ,         -inf, -900.        ,
           -899.30685282])
    """
    place = np.arange(len(values)) - np.repeat(starts, np.diff(starts, append=len(values)))
    total: Sums = values.copy()
    step = 1
    while step <= place.max():
        total[step:] = np.logaddexp(total[step:], np.where(place[step:] >= step, total[:-step], -np.inf))
        step *= 2
    before: Sums = np.empty_like(total)
    before[1:] = total[:-1]
    before[starts] = -np.inf
    return before
