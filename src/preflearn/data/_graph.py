"""What the comparison graph looks like: parts, repeated comparisons, contradictions, merged pairs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from preflearn.exceptions import DataWarning, first_few

if TYPE_CHECKING:
    from preflearn.data.comparisons import Comparisons

__all__ = [
    "Merged",
    "connected_parts",
    "contradictions",
    "describe",
    "exact_repeats",
    "merge_pairs",
    "warn_zero_one",
]


class Merged(NamedTuple):
    """Distinct unordered pairs; ``source`` is a row of each, from which labels can be taken."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    outcome: NDArray[np.float64]
    weight: NDArray[np.float64]
    source: NDArray[np.intp]


def connected_parts(first: NDArray[np.intp], second: NDArray[np.intp], n_items: int) -> NDArray[np.intp]:
    """Return the part of each item; parts are numbered in the order of their smallest row number."""
    from scipy.sparse.csgraph import connected_components

    graph = sparse.coo_array((np.ones(len(first)), (first, second)), shape=(n_items, n_items))
    part = connected_components(graph.tocsr(), directed=False)[1]
    found, renumbered = np.unique(part, return_inverse=True)
    smallest = np.full(len(found), n_items, dtype=np.intp)
    np.minimum.at(smallest, renumbered, np.arange(n_items))
    return np.argsort(np.argsort(smallest))[renumbered].astype(np.intp)


def _sorted_runs(*keys: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the order that sorts rows by the keys (stable) and the run of equal keys of each sorted row."""
    order = np.lexsort(keys[::-1])
    new = np.zeros(len(order), dtype=bool)
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    return order.astype(np.intp), np.cumsum(new).astype(np.intp)


def exact_repeats(data: Comparisons) -> int:
    """Return how many rows state again, under the same labels, what an earlier row stated."""
    pairs = data.pairs
    run = _sorted_runs(pairs.row, pairs.sign * data.outcome, *data._label_keys())[1]
    return len(run) - (int(run[-1]) + 1) if len(run) else 0


def contradictions(data: Comparisons) -> int:
    """Return how many pairs have preferences in both directions, whatever these weigh."""
    pairs = data.pairs
    value = pairs.sign * data.outcome
    return int(np.count_nonzero((pairs.sums(value > 0) > 0) & (pairs.sums(value < 0) > 0)))


def merge_pairs(data: Comparisons, labels: Sequence[NDArray[Any]]) -> Merged:
    """Return one row per unordered pair and combination of labels: weights summed, outcomes averaged by weight."""
    pairs = data.pairs
    order, run = _sorted_runs(pairs.row, *labels)
    value = (pairs.sign * data.outcome)[order]
    given = np.ones(len(order)) if data.weight is None else data.weight[order]
    total: NDArray[np.float64] = np.bincount(run, given).astype(np.float64)
    # A pair whose weights are all zero keeps its plain mean, so that no 0/0 appears.
    used = np.where(total[run] > 0, given, 1.0)
    mean = np.bincount(run, used * value) / np.bincount(run, used)
    source = order[np.flatnonzero(np.diff(run, prepend=-1))]
    pair = pairs.row[source]
    return Merged(pairs.low[pair], pairs.high[pair], mean, total, source)


def describe(data: Comparisons) -> str:
    """Return the text of ``Comparisons.summary``."""
    n_rows = len(data)
    n_pairs = len(data.pairs)
    sizes = np.sort(np.bincount(data.parts()))[::-1]
    features = f"{data.n_features} features" if data.n_features else "no features"
    lines = [
        f"items          {data.n_items} ({len(data.used_items())} compared), {features}",
        f"comparisons    {n_rows} of {n_pairs} distinct pairs",
        f"ties           {int(np.count_nonzero(data.outcome == 0))}",
        f"repeats        {exact_repeats(data)} exact",
        f"contradictions {contradictions(data)} of {n_pairs} pairs have preferences in both directions",
        f"parts          {len(sizes)}, of {first_few(sizes.tolist())} items",
    ]
    for what, labels, by in (
        ("groups", data.group, ""),
        ("judges", data.judge, "by"),
        ("clusters", data.cluster, "in"),
    ):
        if labels is not None:
            unknown = labels.tolist().count("") if by else 0
            known = len(set(labels.tolist()) - ({""} if unknown else set()))
            lines.append(f"{what:<14} {known}{f' ({unknown} comparisons {by} unknown ones)' if unknown else ''}")
    if data.covariates is not None:
        named = "" if data.covariate_names is None else f" ({first_few(data.covariate_names, 5)})"
        lines.append(f"covariates     {data.covariates.shape[1]}{named}")
    if data.weight is not None:
        lines.append(f"weight         {data.weight.sum():.6g} in total")
    return "\n".join(lines)


def warn_zero_one(outcome: NDArray[Any], stacklevel: int, owner: str = "Comparisons") -> None:
    """Warn if outcomes look like 0 = lost, 1 = won: here 0 is a tie."""
    n_zero, n_one = int(np.count_nonzero(outcome == 0)), int(np.count_nonzero(outcome == 1))
    if n_zero and n_one and np.all((outcome == 0) | (outcome == 1) | (outcome == 0.5)):
        warnings.warn(
            f"{owner}: outcome holds only 0 ({n_zero} times), 1 ({n_one} times)"
            f"{' and 0.5' if n_zero + n_one < len(outcome) else ''}, and 0 is read as a tie. If 0 means that second "
            "was preferred, pass 2 * outcome - 1.",
            DataWarning,
            stacklevel=stacklevel,
        )
