"""Pairs inside groups, drawn by their number so that they are never all listed unless all are wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.exceptions import DataError

__all__ = ["draw_pairs"]

# 100 million pairs take about 6 GB once they are comparisons; beyond that, listing is surely a mistake.
MOST_LISTED = 100_000_000


def draw_pairs(
    score: NDArray[np.float64],
    group: NDArray[np.intp],
    max_pairs: int | None,
    rng: np.random.RandomState,
    *,
    ties: bool,
    owner: str,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return (better, worse) rows of all pairs within groups, or of ``max_pairs`` drawn uniformly without repeats.

    With rows sorted by group and score, row i has ``below[i]`` partners: the rows of its group with a smaller score
    (with ties: that come earlier). Pair number k belongs to the row whose cumulative count first exceeds k, so a pair
    is found from its number by bisection. O(n log n + p log n) for p pairs.
    """
    order = np.lexsort((score, group))
    new_group = np.diff(group[order], prepend=-1) != 0
    new_score = new_group | (np.diff(score[order], prepend=np.nan) != 0)
    position = np.arange(len(order))
    group_start = np.maximum.accumulate(np.where(new_group, position, 0))
    block_start = np.maximum.accumulate(np.where(new_score, position, 0))
    below = (position if ties else block_start) - group_start
    ends = np.cumsum(below)
    total = int(ends[-1])
    if not total:
        raise DataError(
            f"{owner}: no two rows of a group {'can be paired' if ties else 'differ in score'}, so there is nothing to "
            "compare. Check the score and group columns."
        )
    number = _draw(total, max_pairs, rng, owner)
    upper = np.searchsorted(ends, number, side="right")
    lower = group_start[upper] + number - (ends[upper] - below[upper])
    return order[upper].astype(np.intp), order[lower].astype(np.intp)


def _draw(total: int, wanted: int | None, rng: Any, owner: str) -> NDArray[np.int64]:
    """Return ``wanted`` distinct numbers below ``total`` (all if None), uniformly, sorted, in O(wanted) memory."""
    if wanted is None or wanted >= total:
        if total > MOST_LISTED:
            raise DataError(
                f"{owner}: {total} pairs would be listed. Give max_pairs to draw some of them, or use Ratings, which "
                "never lists pairs."
            )
        return np.arange(total, dtype=np.int64)
    if 2 * wanted > total:
        drawn: NDArray[np.int64] = rng.permutation(total)[:wanted]
        return np.sort(drawn)
    # Any subset of the distinct numbers drawn so far is as likely as any other, so thinning keeps it uniform.
    distinct = np.zeros(0, dtype=np.int64)
    while len(distinct) < wanted:
        more = rng.randint(0, total, size=2 * (wanted - len(distinct)) + 16, dtype=np.int64)
        distinct = np.unique(np.concatenate([distinct, more]))
    return np.sort(rng.permutation(distinct)[:wanted])
