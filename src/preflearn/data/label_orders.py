"""Label rankings, full or partial, as lists of labels or as tables of ranks."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import check_choice, check_labels, check_weight, is_missing, rows_text, unmask
from preflearn.data.label_preferences import LabelPreferences, feature_table, label_codes, label_set
from preflearn.data.orders import _rank, _sequences, check_compared
from preflearn.exceptions import DataError, first_few

IntArray = NDArray[np.intp]
Pairs = Literal["all", "adjacent"]
Ties = Literal["exclude", "include"]


def from_label_rankings(
    items: Any,
    rankings: Any,
    *,
    pairs: Pairs = "all",
    ties: Ties = "exclude",
    labels: Any = None,
    weight: Any = None,
    names: Any = None,
) -> LabelPreferences:
    """Return label preferences from full or partial orders of labels, best first.

    Parameters
    ----------
    items, weight, names
        As in `from_class_labels`.
    rankings : sequence of n_items sequences, or data frame
        Each lists labels from best to worst; a list, tuple or set inside it is a level of equal labels. Labels left out
        are not compared.
    pairs : {"all", "adjacent"}, default="all"
        All pairs of labels in different levels, n_labels (n_labels - 1) / 2 for a full order, as in the paper's
        experiment on label ranking; or those of neighbouring levels, which imply the others but say less about noise.
    ties : {"exclude", "include"}, default="exclude"
        Whether labels of one level give edges with outcome 0 (for a likelihood with ties).
    labels : sequence of shape (n_labels,), default=None
        All labels; None takes those that occur.

    Returns
    -------
    LabelPreferences
        ``first`` is the better label.

    Examples
    --------
    >>> from preflearn.data import from_label_rankings
    >>> votes = from_label_rankings([[0.1], [0.9]], [["tea", "milk", "juice"], ["juice", "tea"]])
    >>> votes.n_edges
    4
    >>> [(str(votes.labels[a]), str(votes.labels[b])) for a, b in zip(votes[1].first, votes[1].second)]
    [('juice', 'tea')]
    """
    owner = "from_label_rankings"
    table = feature_table(items, names, owner)
    orders = [[_rank(entry) for entry in ranking] for ranking in _sequences(rankings, "ranking", owner)]
    if len(orders) != table.n_items:
        raise DataError(code="label-ranking-count", owner=owner).says(
            f"{len(orders)} rankings for {table.n_items} items", "Give one ranking per item"
        )
    seen = [label for order in orders for level in order for label in level]
    row = np.repeat(np.arange(len(orders)), [sum(map(len, order)) for order in orders])
    missing = np.flatnonzero([is_missing(label) for label in seen])
    if len(missing):
        raise DataError(code="ranked-label-missing", owner=owner).says(
            f"{len(missing)} labels are missing (ranking {row[missing[0]]} first)",
            "Leave out labels that were not ranked",
        )
    values = check_labels(seen, len(seen), "rankings", owner, "label")
    known = label_set(labels, seen, owner)
    code = label_codes(values, known, "rankings", owner)
    cells, count = np.unique(row * len(known) + code, return_counts=True)
    if len(cells) < len(code):
        number, label = divmod(int(cells[np.argmax(count > 1)]), len(known))
        raise DataError(code="label-ranked-twice", owner=owner).says(
            f"ranking {number} lists {first_few([known[label]])} more than once", "List every label once"
        )
    rank = np.full((len(orders), len(known)), np.nan)
    rank[row, code] = [place for order in orders for place, level in enumerate(order) for _ in level]
    return _by_rank(table, rank, known, pairs, ties, weight, owner)


def from_label_ranks(
    items: Any,
    ranks: Any,
    *,
    labels: Any = None,
    pairs: Pairs = "all",
    ties: Ties = "exclude",
    weight: Any = None,
    names: Any = None,
) -> LabelPreferences:
    """Return label preferences from a table of ranks, one column per label.

    Parameters
    ----------
    items, weight, names
        As in `from_class_labels`.
    ranks : array or data frame of shape (n_items, n_labels)
        Rank of each label, 1 (or the lowest number) is best; equal ranks are ties; NaN: not ranked.
    labels : sequence of shape (n_labels,), default=None
        Labels of the columns; None takes the names of a data frame's columns, else 0, 1, ...
    pairs, ties
        As in `from_label_rankings`.

    Returns
    -------
    LabelPreferences
        ``first`` is the better label.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn.data import from_label_ranks
    >>> votes = from_label_ranks([[0.1], [0.9]], [[1, 2, 3], [2, np.nan, 1]], labels=["tea", "milk", "juice"])
    >>> [(str(votes.labels[a]), str(votes.labels[b])) for a, b in zip(votes.first, votes.second)]
    [('tea', 'milk'), ('tea', 'juice'), ('milk', 'juice'), ('juice', 'tea')]
    """
    owner = "from_label_ranks"
    table = feature_table(items, names, owner)
    if labels is None and hasattr(ranks, "columns"):
        labels = [str(column) for column in ranks.columns]
    try:
        rank = np.array(unmask(np.asarray(ranks) if hasattr(ranks, "columns") else ranks), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{owner}: ranks must be numbers, NaN where a label was not ranked ({error}).") from None
    if rank.ndim != 2 or rank.shape[0] != table.n_items:
        raise DataError(code="label-ranks-shape", owner=owner).says(
            f"ranks has shape {rank.shape} for {table.n_items} items", "Give one row per item and one column per label"
        )
    known = label_set(range(rank.shape[1]) if labels is None else labels, [], owner)
    if len(known) != rank.shape[1]:
        raise DataError(code="label-ranks-columns", owner=owner).says(
            f"{len(known)} labels for {rank.shape[1]} columns of ranks", "Give one label a column"
        )
    bad = np.flatnonzero(np.isinf(rank).any(axis=1))
    if len(bad):
        raise DataError(code="label-ranks-infinite", owner=owner).says(
            f"ranks are infinite in {len(bad)} rows ({rows_text(bad)})", "Use NaN for not ranked"
        )
    return _by_rank(table, rank, known, pairs, ties, weight, owner)


def _by_rank(
    table: Any, rank: NDArray[np.float64], labels: NDArray[Any], pairs: str, ties: str, weight: Any, owner: str
) -> LabelPreferences:
    check_choice(pairs, ("all", "adjacent"), "pairs", owner)
    check_choice(ties, ("exclude", "include"), "ties", owner)
    item, first, second, outcome = between_levels(rank, pairs, ties=ties == "include")
    check_compared(np.bincount(item, minlength=table.n_items), "ranking", owner, "labels")
    per_item = check_weight(weight, table.n_items, owner, "item")
    return LabelPreferences._build(table, item, first, second, labels, outcome, per_item)


def between_levels(
    rank: NDArray[np.float64], pairs: str, *, ties: bool = False
) -> tuple[IntArray, IntArray, IntArray, NDArray[np.float64]]:
    """Return the edges (item, better, worse, outcome) of a table of ranks with NaN for absent labels."""
    order = np.argsort(rank, axis=1, kind="stable")
    sorted_rank = np.take_along_axis(rank, order, axis=1)
    steps = np.cumsum(np.diff(sorted_rank, axis=1, prepend=sorted_rank[:, :1]) != 0, axis=1)
    level = np.empty_like(steps)
    np.put_along_axis(level, order, steps, axis=1)  # ranks 1, 4, 4, 9 become levels 0, 1, 1, 2
    left, right = np.triu_indices(rank.shape[1], 1)
    gap = level[:, right] - level[:, left]
    keep = ~np.isnan(rank[:, left]) & ~np.isnan(rank[:, right])
    if not ties:
        keep &= gap != 0
    if pairs == "adjacent":
        keep &= np.abs(gap) <= 1
    item, pair = np.nonzero(keep)
    signed = gap[item, pair]
    first = np.where(signed >= 0, left[pair], right[pair])
    second = np.where(signed >= 0, right[pair], left[pair])
    return item, first, second, (signed != 0).astype(np.float64)
