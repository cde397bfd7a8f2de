"""Comparisons seen as pairs: the distinct pairs with their counts, their graph, and what is odd about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from preflearn.exceptions import DataWarning, Setting, first_few

if TYPE_CHECKING:
    from preflearn.data.comparisons import Comparisons

IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairTable:
    """Distinct unordered pairs of items with counts of wins, losses and ties, as `Comparisons.pairs` returns them.

    How often did these two meet, and who won? A million votes on 200 items are at most 19,900 pairs.

    Parameters
    ----------
    low, high : array of shape (n_pairs,)
        Row numbers of the two items, ``low < high``; pairs are sorted by ``low``, then by ``high``.
    row : array of shape (n_comparisons,)
        Number of the pair that each comparison belongs to.
    sign : array of shape (n_comparisons,)
        1.0 where the first side is the lower item, else -1.0: ``sign * outcome`` is the outcome seen from the lower
        item.
    wins, losses, ties : array of shape (n_pairs,)
        Sums of the weights of comparisons (1 each without weights) that the lower item won, lost and tied.
    n_items : int
        Number of items, compared or not.

    Notes
    -----
    Building sorts the m comparisons once, O(m log m); `Comparisons` keeps the table, so asking again costs nothing.
    All arrays are read-only. Comparisons of weight 0 belong to a pair as others do and add nothing to its counts.

    Examples
    --------
    >>> from preflearn.data import Comparisons
    >>> pairs = Comparisons(3, [0, 1, 0, 2], [1, 0, 1, 0], [1, 1, -1, 0]).pairs
    >>> pairs
    PairTable(2 pairs of 3 items)
    >>> pairs.low, pairs.high
    (array([0, 0]), array([1, 2]))
    >>> pairs.wins, pairs.losses, pairs.ties
    (array([1., 0.]), array([2., 0.]), array([0., 1.]))
    >>> pairs.row, pairs.sign
    (array([0, 0, 0, 1]), array([ 1., -1.,  1., -1.]))
    """

    low: IntArray
    high: IntArray
    row: IntArray
    sign: FloatArray
    wins: FloatArray
    losses: FloatArray
    ties: FloatArray
    n_items: int

    @classmethod
    def build(
        cls, first: IntArray, second: IntArray, outcome: FloatArray, weight: FloatArray | None, n_items: int
    ) -> PairTable:
        """Return the pairs of comparisons given as checked columns."""
        code = np.minimum(first, second).astype(np.int64) * n_items + np.maximum(first, second)
        distinct, row = np.unique(code, return_inverse=True)
        row = row.astype(np.intp, copy=False)
        sign = np.where(first < second, 1.0, -1.0)
        given = np.ones(len(row)) if weight is None else weight
        won = np.sign(sign * outcome)
        wins, losses, ties = (_sums(row, given * (won == way), len(distinct)) for way in (1, -1, 0))
        low, high = (distinct // n_items).astype(np.intp), (distinct % n_items).astype(np.intp)
        for column in (low, high, row, sign, wins, losses, ties):
            column.flags.writeable = False
        return cls(low, high, row, sign, wins, losses, ties, n_items)

    def __len__(self) -> int:
        return len(self.low)

    def __repr__(self) -> str:
        return f"PairTable({len(self)} pairs of {self.n_items} items)"

    @property
    def count(self) -> FloatArray:
        """How often each pair was compared: wins, losses and ties together, of shape (n_pairs,)."""
        return self.wins + self.losses + self.ties

    def sums(self, x: Any) -> FloatArray:
        """Return the sum of one number per comparison over the comparisons of each pair, of shape (n_pairs,).

        Examples
        --------
        >>> from preflearn.data import Comparisons
        >>> margins = Comparisons(3, [0, 1, 2], [1, 0, 0], [3, 1, 5])
        >>> margins.pairs.sums(margins.pairs.sign * margins.outcome)
        array([ 2., -5.])
        """
        return _sums(self.row, x, len(self))

    def matrix(self, forth: FloatArray, back: FloatArray) -> Any:
        """Return a sparse matrix (n_items, n_items) with ``forth`` at the lower item's row, ``back`` at the higher's.

        Examples
        --------
        >>> from preflearn.data import Comparisons
        >>> pairs = Comparisons(3, [0, 1, 0], [1, 2, 1]).pairs
        >>> pairs.matrix(pairs.wins, pairs.losses).toarray()  # who beat whom, how often
        array([[0., 2., 0.],
               [0., 0., 1.],
               [0., 0., 0.]])
        """
        return pair_matrix(self.low, self.high, forth, back, self.n_items)

    def contradicted(self, outcome: FloatArray) -> NDArray[np.bool_]:
        """Return which pairs have preferences in both directions, whatever these weigh; of shape (n_pairs,)."""
        value = self.sign * outcome
        return (self.sums(value > 0) > 0) & (self.sums(value < 0) > 0)


def pair_matrix(low: IntArray, high: IntArray, forth: FloatArray, back: FloatArray, n_items: int) -> Any:
    """Return a sparse matrix with ``forth`` at (low, high) and ``back`` at (high, low)."""
    row, column = np.concatenate([low, high]), np.concatenate([high, low])
    return sparse.coo_array((np.concatenate([forth, back]), (row, column)), shape=(n_items, n_items)).tocsr()


def net_preferences(X: Comparisons) -> tuple[PairTable, FloatArray]:
    """Return the pairs that were compared, and the mean outcome of each, seen from its lower item."""
    if X.weight is not None and not X.weight.all():
        X = X[np.flatnonzero(X.weight)]
    value = X.pairs.sign * X.outcome
    return X.pairs, X.pairs.sums(value if X.weight is None else X.weight * value) / X.pairs.count


def _sums(row: IntArray, x: Any, n_pairs: int) -> FloatArray:
    return np.bincount(row, x, n_pairs).astype(np.float64, copy=False)


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


def first_of_equal(keys: Sequence[NDArray[Any]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first row of each different one by some keys, in order, and the number of that of each row."""
    order, run = _sorted_runs(*keys)
    first = order[np.flatnonzero(np.diff(run, prepend=-1))]  # sorting is stable
    place = np.argsort(np.argsort(first))
    row = np.empty(len(order), dtype=np.intp)
    row[order] = place[run]
    return np.sort(first), row


def exact_repeats(data: Comparisons) -> int:
    """Return how many rows state again, under the same labels, what an earlier row stated."""
    pairs = data.pairs
    run = _sorted_runs(pairs.row, pairs.sign * data.outcome, *data._label_keys())[1]
    return data.n_listed - (int(run[-1]) + 1) if len(run) else 0


def repeats_text(data: Comparisons) -> str:
    """Return how many rows repeat an earlier one, and in what: less than in every column of a file."""
    alike = ["pair", "outcome", *data._labels(), *(["covariates"] if data.covariates is not None else [])]
    which = f"{', '.join(alike[:-1])} and {alike[-1]}"
    return f"{exact_repeats(data):,} with the {which} of an earlier one (sides may be swapped)"


def contradictions(data: Comparisons) -> int:
    """Return how many pairs have preferences in both directions, whatever these weigh."""
    return int(np.count_nonzero(data.pairs.contradicted(data.outcome)))


def merge_pairs(data: Comparisons, labels: Sequence[NDArray[Any]]) -> tuple[NDArray[np.intp], dict[str, Any]]:
    """Return a row of each pair and combination of labels, and its fields: weights summed, outcomes averaged."""
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
    return source, {"first": pairs.low[pair], "second": pairs.high[pair], "outcome": mean, "weight": total}


def facts_of(data: Comparisons) -> dict[str, str]:
    """Return what there is in comparisons, by word: a line of `Comparisons.summary` each."""
    n_pairs, used = len(data.pairs), len(data.used_items())
    sizes = np.sort(np.bincount(data.parts()))[::-1]
    features = f"{data.n_features:,} features" if data.n_features else "no features"
    n_listed = data.n_listed
    won, lost = (data.number(sign * data.outcome > 0) for sign in (1, -1))
    each = f"{2 * n_listed / max(used, 1):.1f} times each on average"
    facts = {
        "items": f"{data.n_items:,} ({used:,} compared, {each}), {features}",
        "comparisons": f"{n_listed:,}, about {n_pairs:,} different pair{'s' * (n_pairs != 1)}",
        "outcomes": f"first side won {won:,}, second side {lost:,}",
        "ties": f"{n_listed - won - lost:,}",
        "repeats": repeats_text(data),
        "contradictions": f"{contradictions(data):,} of {n_pairs:,} pairs were decided both ways",
        "parts": "1: all items are connected by comparisons"
        if len(sizes) == 1
        else f"{len(sizes):,} that were never compared with each other, of {first_few(sizes.tolist())} items",
    }
    for what, labels in data._labels().items():
        unknown = data.number(np.array([label == "" for label in labels.tolist()], dtype=bool))
        known = len(set(labels.tolist()) - {""})
        facts[f"{what}s"] = f"{known:,}{f' ({unknown} comparisons without one)' if unknown else ''}"
    if data.covariates is not None:
        named = "" if data.covariate_names is None else f" ({first_few(data.covariate_names, 5)})"
        facts["covariates"] = f"{data.covariates.shape[1]}{named}"
    if data.weight is not None and data.listed_weight is not None:
        facts["weight"] = f"{data.weight.sum():.6g} in total"
    return facts


def warn_zero_one(outcome: NDArray[Any], owner: str = "Comparisons") -> None:
    """Warn if outcomes look like 0 = lost, 1 = won: here 0 is a tie."""
    zero, one, half = (outcome == value for value in (0, 1, 0.5))
    if zero.any() and one.any() and np.all(zero | one | half):
        values = "0, 0.5 and 1" if half.any() else "0 and 1"
        DataWarning(code="outcome-zero-is-a-tie", owner=owner).warn(
            f"outcome has only the values {values}, and 0 means a tie",
            "If 0 means that second was preferred, pass 2 * outcome - 1",
        )


def warn_before_learning(
    data: Comparisons, owner: str, *, known: Comparisons | None = None, parts: bool = True
) -> None:
    """Warn of items without features or groups in parts that never met, if the ``known`` first rows have fewer."""
    if not parts or data.items is not None or data.group is not None:
        return
    if _compared_parts(data) > (1 if known is None else _compared_parts(known)):
        sizes = np.sort(np.bincount(data.parts()))[::-1]
        unused = data.n_items - len(data.used_items())
        never = f" ({unused} of the items were never compared)" if unused else ""
        DataWarning(code="separate-parts", owner=owner).warn(
            f"the comparisons leave {len(sizes)} separate parts, of {first_few(sizes.tolist())} items{never}",
            "Utilities of different parts cannot be compared without features: add comparisons between the parts",
            "give features with " + Setting("items"),
            "keep one part with " + Setting("python", ".parts()"),
        )


def _compared_parts(data: Comparisons) -> int:
    """Return the number of parts with a comparison in them: that an item is not in the data needs no warning."""
    return int(np.unique(data.parts()[data.first]).shape[0])
