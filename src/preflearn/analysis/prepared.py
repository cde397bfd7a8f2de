"""Comparisons as a ranking sees them: signs of outcomes, items by name, one vote for each ranking; wins and losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preflearn.analysis.advice import Advice
from preflearn.data import Comparisons
from preflearn.exceptions import DataError
from preflearn.io.reading import check_feature_numbers
from preflearn.operators import FloatArray, IntArray
from preflearn.table_format import short_number


@dataclass(frozen=True)
class Record:
    """How often each item of a table won, lost and tied, weights counted; (n_items,) each.

    Examples
    --------
    >>> import preflearn
    >>> result = preflearn.rank([("ann", "bob"), ("ann", "cy"), ("bob", "cy")])
    >>> result.record.wins.tolist(), result.record.losses.tolist()
    ([2.0, 1.0, 0.0], [0.0, 1.0, 2.0])
    """

    wins: FloatArray
    losses: FloatArray
    ties: FloatArray

    @property
    def played(self) -> FloatArray:
        """Comparisons of each item."""
        return self.wins + self.losses + self.ties

    def text(self, row: int) -> str:
        """Return ``wins-losses-ties`` of one item."""
        return "-".join(short_number(float(values[row])) for values in (self.wins, self.losses, self.ties))


def record_of(data: Comparisons) -> Record:
    """Return wins, losses and ties of the items of comparisons."""
    pairs, n = data.pairs, data.n_items

    def count(low: FloatArray, high: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(pairs.low, low, n) + np.bincount(pairs.high, high, n), dtype=np.float64)

    return Record(count(pairs.wins, pairs.losses), count(pairs.losses, pairs.wins), count(pairs.ties, pairs.ties))


HEAVIEST = 1e14  # beyond, sums of weights lose what single comparisons say


@dataclass(frozen=True)
class Prepared:
    """Comparisons to learn from, how often items won and lost, and what should be known about the way there."""

    data: Comparisons
    record: Record
    notes: tuple[Advice, ...]


def prepare(data: Comparisons, *, again: bool = False) -> Prepared:
    """Return comparisons as every answer about them starts from: rankings, circles, suggestions, held-out scores.

    ``again`` says that a model learned from them: their weights and covariates stay as they are.
    """
    check_feature_numbers(data.n_features, "Comparisons")
    if data.weight is not None and data.weight.max() > HEAVIEST:
        raise DataError(code="weight-too-large").says(
            f"weight {data.weight.max():g} is larger than {HEAVIEST:g}: a comparison counts as often as its "
            "weight says",
            "Divide all weights by the same number",
        )
    data, notes = _signs(_by_name(data))
    record = record_of(data)
    for step in (_one_vote_each,) if again else (_as_counts, _telling_covariates, _one_vote_each):
        data, more = step(data)
        notes += more
    return Prepared(data, record, tuple(notes))


def _signs(data: Comparisons) -> tuple[Comparisons, list[Advice]]:
    """Return the comparisons with a weight and outcomes -1, 0 and 1, and what that leaves out."""
    notes = []
    if data.weight is not None and not np.all(data.weight):
        unseen = data.number(data.weight == 0)
        notes.append(Advice("weights", f"{unseen} of {data.n_listed} comparisons have weight 0 and are left out."))
        data = data[np.flatnonzero(data.weight)]
    signs = np.sign(data.outcome)
    if np.array_equal(signs, data.outcome):
        return data, notes
    text = "Outcomes have sizes: here only their signs count, that is, who was better. RankRLS learns from margins."
    return data._take(slice(None), outcome=signs), [*notes, Advice("outcomes", text)]


def _as_counts(data: Comparisons) -> tuple[Comparisons, list[Advice]]:
    """Return comparisons whose weights may be taken for numbers of answers.

    Whole weights are such numbers, and halves, of ties. Others say how much a comparison matters; where some count more
    than once their sum would be more certainty than there are answers, so that they are scaled to sum to
    (Σw)² / Σw², the number of equal ones that an average with these weights is worth.
    """
    w, each = data.weight, data.listed_weight
    if w is None or each is None or np.array_equal(2 * each, np.round(2 * each)):
        return data, []
    share = float(w.sum() / (w @ each))  # of those that were listed, w @ each are the squares
    if share > 1.0 - 1e-9:
        return data, []
    text = (
        f"Weights are not whole numbers, so they say how much comparisons matter and not how many there were: they are "
        f"multiplied by {share:.3g}, and count {share * float(w.sum()):,.1f} together, what {data.n_listed:,} "
        "comparisons of uneven weight are worth."
    )
    return data._take(slice(None), weight=share * w), [Advice("weights", text)]


def _telling_covariates(data: Comparisons) -> tuple[Comparisons, list[Advice]]:
    """Return comparisons without the covariates whose effect would be an advantage of the first side.

    They are one number in every row, or keep their sign where winners are written first: they would explain every
    outcome, and leave nothing to the items.
    """
    table = data.covariates
    if table is None:
        return data, []
    low, high = table.min(axis=0), table.max(axis=0)
    won = data.outcome[data.outcome != 0]
    sorted_by_outcome = bool(len(won)) and (won == won[0]).all()
    names = [f"column {k}" for k in range(len(low))] if data.covariate_names is None else data.covariate_names
    notes, kept = [], low < high
    for k, name in enumerate(names):
        if not kept[k]:
            why = f"is {low[k]:g} in every row. It is left out: a number that never varies says nothing about who wins."
        elif sorted_by_outcome and low[k] * high[k] >= 0:
            kept[k] = False
            why = (
                f"is never {'negative' if high[k] > 0 else 'positive'}, and the {'first' if won[0] > 0 else 'second'} "
                "side won in every row. It is left out, as it would explain every outcome. Give the number of the "
                "first side minus that of the second."
            )
        else:
            continue
        notes.append(Advice("covariates", f'The covariate "{name}" {why}'))
    if not notes:
        return data, []
    numbers = table[:, kept] if kept.any() else None
    left = tuple(name for name, keep in zip(names, kept, strict=True) if keep) or None
    named = None if data.covariate_names is None else left
    return data._take(slice(None), covariates=numbers, covariate_names=named), notes


def _by_name(data: Comparisons) -> Comparisons:
    """Return the same comparisons with items sorted by name, so that draws do not depend on which occurs first."""
    if data.names is None or data.items is not None:
        return data
    order = np.argsort(data.names.astype(str), kind="stable")
    place = np.argsort(order)
    return data._take(slice(None), first=place[data.first], second=place[data.second], names=data.names[order])


def _one_vote_each(data: Comparisons) -> tuple[Comparisons, list[Advice]]:
    """Return comparisons in which the pairs of a ranking weigh as many comparisons as it has items less one.

    The k (k - 1) / 2 pairs of one ranking, fewer where ties are left out, follow from k - 1 of them: as independent
    votes they would make a ranking of the items look far surer than it is.
    """
    if data.group is None:
        return data, []
    code = np.unique(np.asarray(data.group).astype(str), return_inverse=True)[1].astype(np.int64)
    size, whole = _whole_rankings(data, code)
    if not whole.any():
        return data, []
    share = np.where(whole, (size - 1) / np.bincount(code), 1.0)[code]
    weight = share if data.weight is None else share * data.weight
    text = (
        f"The pairs of one ranking are not independent, so they count less in {int(whole.sum()):,} of {len(whole):,} "
        "rankings: those of a ranking of ten items count as nine comparisons."
    )
    # without the groups, so that what was prepared once, as in a model file, stays as it is
    return data._take(slice(None), weight=weight, group=None), [Advice("rankings", text)]


def _whole_rankings(data: Comparisons, code: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return how many items a group has, and whether its comparisons are just those that one ranking implies.

    These are all pairs of its items, or all but the tied ones, and all agree with the order by wins less losses.
    """
    n, m = data.n_items, len(data)
    members, place = np.unique(np.concatenate([code * n + data.first, code * n + data.second]), return_inverse=True)
    sign = np.sign(data.outcome)
    net = np.bincount(place[:m], sign, len(members)) - np.bincount(place[m:], sign, len(members))
    group = members // n
    size, count = np.bincount(group), np.bincount(code)
    levels, held = np.unique(np.stack([group, net.astype(np.int64)]), axis=1, return_counts=True)
    untied = (size**2 - np.bincount(levels[0], held**2)) // 2
    wrong = np.bincount(code, np.sign(net[place[:m]] - net[place[m:]]) != sign)
    complete = np.where(np.bincount(code, sign == 0) > 0, size * (size - 1) // 2, untied)
    return size, (count == complete) & (wrong == 0) & (count > size - 1)
