"""Comparisons as matches between items: statements merged into weights, and whether they hold the items together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from preflearn.data import Comparisons
from preflearn.data.learning import warn_before_learning
from preflearn.exceptions import DataError, first_few
from preflearn.inference.pair_graph import PairGraph
from preflearn.operators import FloatArray

__all__ = ["Matches", "matches_of", "read_matches"]


class Matches(NamedTuple):
    """Distinct statements by pair: sign of the outcome for the lower item, weight, and whether it came first (±1)."""

    graph: PairGraph
    outcome: FloatArray
    weight: FloatArray
    side: FloatArray


def matches_of(X: Comparisons, *, sides: bool = False) -> Matches:
    """Turn every comparison so that the lower item comes first, and merge equal ones into weights.

    ``sides`` keeps apart what was seen from different sides; else the sides of the merged statements mean nothing.
    """
    keep = slice(None) if X.weight is None or X.weight.all() else np.flatnonzero(X.weight)
    first, second, outcome = X.first[keep], X.second[keep], np.sign(X.outcome[keep]).astype(np.intp)
    turned = first > second
    n = X.n_items
    code = np.minimum(first, second) * n + np.maximum(first, second)
    code = 6 * code + 2 * (np.where(turned, -outcome, outcome) + 1) + (turned if sides else 0)
    if X.weight is None:
        code.sort()
        starts = np.flatnonzero(np.diff(code, prepend=-1))
        distinct, weight = code[starts], np.diff(starts, append=code.shape[0]).astype(np.float64)
    else:
        distinct, place = np.unique(code, return_inverse=True)
        weight = np.bincount(place.ravel(), X.weight[keep], minlength=distinct.shape[0]).astype(np.float64)
    key = distinct // 6
    new = np.diff(key, prepend=-1) != 0
    pairs = key[new]
    graph = PairGraph(pairs // n, pairs % n, np.cumsum(new) - 1, n)
    return Matches(graph, (distinct % 6 // 2 - 1.0), weight, 1.0 - 2.0 * (distinct % 2))


def read_matches(owner: str, X: Any, prior: Any, *, ties: bool) -> Matches:
    """Check comparisons, and return them merged; ``prior=None`` asks for a maximum of the likelihood."""
    if not isinstance(X, Comparisons):
        raise TypeError(
            f"{owner} learns from Comparisons; got {type(X).__name__}. "
            "Build Comparisons(None, first, second, outcome), or use RankRLS for rows with scores."
        )
    if X.items is not None:
        raise DataError(
            f"{owner}: the items have {X.n_features} features, which it does not use. Use PreferenceGP, or leave "
            "them out: X.with_items(X.n_items)."
        )
    if X.weight is not None and not X.weight.any():
        raise DataError(f"{owner}: all {len(X)} comparisons have weight zero. Give some of them a positive weight.")
    tied = np.flatnonzero(X.outcome == 0)
    if tied.shape[0] and not ties:
        raise DataError(
            f"{owner}: {tied.shape[0]} of {len(X)} comparisons are ties (rows {first_few(tied)}), which have "
            f"probability zero without a threshold.\n  Use {owner}(ties=True), or drop them."
        )
    matches = matches_of(X)
    if prior is None:
        _check_maximum(owner, matches, X.names)
        if not matches.outcome.any():
            raise DataError(
                f"{owner}: all comparisons are ties, so the likelihood (prior=None) has no maximum: the wider the "
                "threshold the better.\n  Add comparisons with a winner."
            )
    else:
        warn_before_learning(X, owner, repeats=False)
    return matches


def _check_maximum(owner: str, matches: Matches, names: Any) -> None:
    """Raise DataError unless the likelihood has a maximum: from every item a chain of wins (or ties) leads to each."""
    graph, n = matches.graph, matches.graph.n_items
    low, high = graph.low[graph.row], graph.high[graph.row]
    up, down = matches.outcome >= 0, matches.outcome <= 0
    winner, loser = np.concatenate([low[up], high[down]]), np.concatenate([high[up], low[down]])
    beats = sp.csr_array((np.ones(winner.shape[0]), (winner, loser)), shape=(n, n))
    if connected_components(beats, directed=True, connection="strong")[0] == 1:
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
        raise DataError(f"{owner}: maximum likelihood (prior=None) does not exist: {who}.\n  {cure}")
    wins, losses = np.bincount(winner, minlength=n), np.bincount(loser, minlength=n)
    ends = [
        f"{rows.shape[0]} {what} ({first_few(label[rows].tolist())})"
        for rows, what in ((np.flatnonzero(losses == 0), "never lost"), (np.flatnonzero(wins == 0), "never won"))
        if rows.shape[0]
    ]
    if not ends:
        ends = [f"some never lost to any of the others ({first_few(label[_top(beats)].tolist())})"]
    raise DataError(
        f"{owner}: maximum likelihood (prior=None) does not exist, utilities would be infinite: of {n} items "
        f"{' and '.join(ends)}.\n  {cure}"
    )


def _top(beats: Any) -> Any:
    """Return the items of a strong component that nobody outside has beaten."""
    part = connected_components(beats, directed=True, connection="strong")[1]
    winner, loser = beats.nonzero()
    beaten = np.unique(part[loser[part[winner] != part[loser]]])
    return np.flatnonzero(part == np.setdiff1d(np.unique(part), beaten)[0])
