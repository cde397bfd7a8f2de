"""Converters of orders: full and partial rankings and choices become Comparisons."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from preflearn.data.comparisons import Comparisons
from preflearn.data.fields import as_list, check_choice, check_labels, check_length, check_weight, is_missing, repeated
from preflearn.exceptions import DataError, DataWarning, first_few


def from_rankings(
    rankings: Any,
    items: Any = None,
    *,
    pairs: Literal["all", "adjacent"] = "all",
    ties: Literal["include", "exclude"] = "include",
    weights: Literal["pairs", "rankings"] = "pairs",
    judge: Any = None,
    names: Any = None,
) -> Comparisons:
    """Return comparisons from full or partial rankings, best first.

    Parameters
    ----------
    rankings : sequence of sequences
        Each ranking lists names or row numbers from best to worst; a list, tuple or set inside it is a tie.
        Items that a ranking leaves out are not compared by it.
    items : table, int or None, default=None
        The item table, as in `Comparisons`.
    pairs : {"all", "adjacent"}, default="all"
        All pairs of a ranking, or only those of neighbouring ranks (and ties within a rank).
    ties : {"include", "exclude"}, default="include"
        Whether tied items give comparisons with outcome 0.
    weights : {"pairs", "rankings"}, default="pairs"
        Every pair weighs 1, or every ranking weighs 1 in total.
    judge : sequence of shape (n_rankings,), default=None
        Who made each ranking.
    names : sequence of shape (n_items,), default=None
        Distinct labels of the items.

    Returns
    -------
    Comparisons
        ``first`` is the better item; ``group`` is the number of the ranking.

    Examples
    --------
    >>> from preflearn.data import from_rankings
    >>> votes = from_rankings([["ann", "bob", "cy"], ["cy", {"ann", "bob"}]])
    >>> votes.group
    array([0, 0, 0, 1, 1, 1])
    >>> votes.outcome
    array([1., 1., 1., 1., 1., 0.])
    """
    owner = "from_rankings"
    check_choice(pairs, ("all", "adjacent"), "pairs", owner)
    check_choice(ties, ("include", "exclude"), "ties", owner)
    check_choice(weights, ("pairs", "rankings"), "weights", owner)
    first: list[Any] = []
    second: list[Any] = []
    outcome: list[float] = []
    counts: list[int] = []
    for number, ranking in enumerate(_sequences(rankings, "ranking", owner)):
        ranks = [_rank(entry) for entry in ranking]
        _check_distinct([item for rank in ranks for item in rank], number, "ranking", owner)
        before = len(first)
        for place, rank in enumerate(ranks):
            later = ranks[place + 1 :] if pairs == "all" else ranks[place + 1 : place + 2]
            for better, worse in itertools.product(rank, itertools.chain.from_iterable(later)):
                first.append(better)
                second.append(worse)
                outcome.append(1.0)
            for one, other in itertools.combinations(rank, 2) if ties == "include" else ():
                first.append(one)
                second.append(other)
                outcome.append(0.0)
        counts.append(len(first) - before)
    size = np.array(counts)
    weight = 1.0 / np.repeat(size, size) if weights == "rankings" else None
    check_compared(size, "ranking", owner)
    return Comparisons._build(
        items, first, second, outcome, weight=weight, names=names, **_labels(judge, size, "ranking", owner)
    )


def from_choices(
    chosen: Any, offered: Any, items: Any = None, *, judge: Any = None, names: Any = None, weight: Any = None
) -> Comparisons:
    """Return comparisons from choices: the chosen item beats every other item that was offered.

    Parameters
    ----------
    chosen : sequence of shape (n_choices,)
        Name or row number of the chosen item.
    offered : sequence of sequences
        The items offered in each choice, the chosen one among them.
    items : table, int or None, default=None
        The item table, as in `Comparisons`.
    judge, weight : sequences of shape (n_choices,), default=None
        Who chose; how much each choice counts (each of its pairs gets that weight).
    names : sequence of shape (n_items,), default=None
        Distinct labels of the items.

    Returns
    -------
    Comparisons
        ``first`` is the chosen item; ``group`` is the number of the choice.

    Examples
    --------
    >>> from preflearn.data import from_choices
    >>> from_choices(["tea", "milk"], [["tea", "milk"], ["milk", "tea", "juice"]]).group
    array([0, 1, 1])
    """
    owner = "from_choices"
    chosen = as_list(chosen, "chosen", owner)
    offers = _sequences(offered, "offer", owner)
    check_length(len(offers), len(chosen), "offered", owner, "choice")
    first: list[Any] = []
    second: list[Any] = []
    counts: list[int] = []
    for number, (choice, offer) in enumerate(zip(chosen, offers, strict=True)):
        _check_distinct(offer, number, "choice", owner)
        if choice not in offer:
            raise DataError(code="chosen-not-offered", owner=owner).says(
                f"choice {number}: the chosen item {first_few([choice])} is not among those offered "
                f"({first_few(offer, 5)})",
                "List the chosen item in offered too",
            )
        rejected = [item for item in offer if item != choice]
        first.extend([choice] * len(rejected))
        second.extend(rejected)
        counts.append(len(rejected))
    size = np.array(counts)
    check_compared(size, "choice", owner)
    per_choice = check_weight(weight, len(chosen), owner, "choice")
    weights = None if per_choice is None else np.repeat(per_choice, size)
    return Comparisons._build(
        items, first, second, 1, weight=weights, names=names, **_labels(judge, size, "choice", owner)
    )


def _labels(judge: Any, size: NDArray[np.intp], per: str, owner: str) -> dict[str, Any]:
    """Return group (the number of the ranking or choice) and judge for every pair."""
    judges = None if judge is None else check_labels(judge, len(size), "judge", owner, per)
    return {
        "group": np.repeat(np.arange(len(size)), size),
        "judge": None if judges is None else np.repeat(judges, size),
    }


def _sequences(values: Any, what: str, owner: str) -> list[list[Any]]:
    """Return a sequence of sequences, an array or a frame's rows as lists, without the missing cells of a frame."""
    frame = nw.from_native(values, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        rows: Any = [[value for value in row if not is_missing(value)] for row in frame.rows()]
    else:
        rows = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(rows, str | bytes | set | dict) or not isinstance(rows, Iterable):
        raise TypeError(f"{owner}: give a sequence of {what}s; got {type(values).__name__}.")
    listed = []
    for number, row in enumerate(rows):
        if isinstance(row, str | bytes | set | frozenset | dict) or not isinstance(row, Iterable):
            cure = " For text such as a>b>c use .split('>')." if isinstance(row, str) else ""
            raise TypeError(
                f"{owner}: {what} {number} is a {type(row).__name__}; it must be a sequence of items in order.{cure}"
            )
        listed.append([value.item() if isinstance(value, np.generic) else value for value in row])
    if not any(listed):
        raise DataError(code="no-orders", owner=owner).says(f"there are no {what}s", "Give at least one with two items")
    return listed


def _rank(entry: Any) -> list[Any]:
    """Return the items of one rank: one item, or the tied items in a fixed order."""
    if isinstance(entry, set | frozenset):
        return sorted(entry, key=lambda item: (type(item).__name__, item))
    return list(entry) if isinstance(entry, list | tuple) else [entry]


def _check_distinct(items: list[Any], number: int, what: str, owner: str) -> None:
    try:
        twice = repeated(items)
    except TypeError:
        raise TypeError(f"{owner}: {what} {number} is nested too deeply: ties are one list of items.") from None
    if twice:
        raise DataError(code="item-ordered-twice", owner=owner).says(
            f"{what} {number} lists {first_few(twice)} more than once", "List every item once"
        )


def check_compared(size: NDArray[np.intp], what: str, owner: str, things: str = "items") -> None:
    """Raise if no order compares two things, and warn if some do not; ``size`` is the number of pairs of each."""
    empty = np.flatnonzero(size == 0)
    if len(empty) == len(size):
        raise DataError(code="no-order-compares-two", owner=owner).says(
            f"none of the {len(size)} {what}s compares two {things}", f"Give at least two {things} in one"
        )
    if len(empty):
        DataWarning(code="orders-say-nothing", owner=owner).warn(
            f"{len(empty)} of {len(size)} {what}s compare no two {things} and change nothing ({what}s "
            f"{first_few(empty.tolist())})."
        )
