"""Whether the likelihood of comparisons has a maximum, and which items are the reason if it has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from preflearn.exceptions import DataError, first_few
from preflearn.models._gp_read import Statements

__all__ = ["check_maximum"]


def check_maximum(owner: str, data: Statements, names: Any) -> None:
    """Raise DataError unless the likelihood has a maximum: from every item a chain of wins (or ties) leads to each."""
    n, cell, outcome = data.used.shape[0], data.seen.cell, data.seen.y
    low, high = data.rows.low[cell], data.rows.high[cell]
    up, down = outcome >= 0, outcome <= 0
    winner, loser = np.concatenate([low[up], high[down]]), np.concatenate([high[up], low[down]])
    beats = sp.csr_array((np.ones(winner.shape[0]), (winner, loser)), shape=(n, n))
    if connected_components(beats, directed=True, connection="strong")[0] == 1:
        if not outcome.any():
            raise DataError(
                "all comparisons are ties, so the likelihood (prior=None) has no maximum: the wider the "
                "threshold the better",
                "Add comparisons with a winner",
                code="all-ties-no-maximum",
                owner=owner,
            )
        return
    label = np.arange(n) if names is None else names
    cure = 'Use prior="auto" (or a number), or leave these items out.'
    part = connected_components(beats, directed=False)[1]
    sizes = np.bincount(part)
    if sizes.shape[0] > 1:
        alone = np.flatnonzero(sizes[part] == 1)
        least = np.flatnonzero(part == np.argmin(sizes))
        who = (
            f"{alone.shape[0]} of {n} items were never compared ({first_few(label[alone].tolist())})"
            if alone.shape[0]
            else f"the items fall into {sizes.shape[0]} parts that were never compared with each other (the smallest: "
            f"{first_few(label[least].tolist())})"
        )
        raise DataError(
            f"maximum likelihood (prior=None) does not exist: {who}", cure, code="no-maximum-parts", owner=owner
        )
    wins, losses = np.bincount(winner, minlength=n), np.bincount(loser, minlength=n)
    ends = [
        f"{rows.shape[0]} {what} ({first_few(label[rows].tolist())})"
        for rows, what in ((np.flatnonzero(losses == 0), "never lost"), (np.flatnonzero(wins == 0), "never won"))
        if rows.shape[0]
    ]
    if not ends:
        ends = [f"some never lost to any of the others ({first_few(label[_top(beats)].tolist())})"]
    raise DataError(
        f"maximum likelihood (prior=None) does not exist, utilities would be infinite: of {n} items "
        f"{' and '.join(ends)}",
        cure,
        code="no-maximum-ends",
        owner=owner,
    )


def _top(beats: Any) -> Any:
    """Return the items of a strong component that nobody outside has beaten."""
    part = connected_components(beats, directed=True, connection="strong")[1]
    winner, loser = beats.nonzero()
    beaten = np.unique(part[loser[part[winner] != part[loser]]])
    return np.flatnonzero(part == np.setdiff1d(np.unique(part), beaten)[0])
