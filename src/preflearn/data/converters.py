"""Converters of tables: winner and loser columns, scores in groups and data frames become Comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from preflearn.data.comparisons import Comparisons
from preflearn.data.fields import (
    as_list,
    check_choice,
    check_count,
    check_labels,
    check_length,
    check_names,
    check_real,
    check_weight,
    codes,
    rows_text,
)
from preflearn.data.sides import side_words, word_value
from preflearn.data.tables import check_items, frame_columns, frame_of, open_frame
from preflearn.exceptions import DataError, first_few

# 100 million pairs take about 6 GB once they are comparisons; beyond that, listing is surely a mistake.
MOST_LISTED = 100_000_000
_WORDS = side_words()


def from_winners(winner: Any, loser: Any, items: Any = None, *, tie: Any = None, **options: Any) -> Comparisons:
    """Return comparisons from two columns, winner and loser.

    Parameters
    ----------
    winner, loser : sequences of shape (n_comparisons,)
        Names or row numbers of items.
    items : table, int or None, default=None
        The item table, as in `Comparisons`.
    tie : sequence of bool of shape (n_comparisons,), default=None
        True where neither won; the two columns are then just the two sides.
    **options
        Further ones of `Comparisons`, such as ``weight``, ``judge`` or ``names``; ``covariates`` are the winner's
        numbers less the loser's.

    Returns
    -------
    Comparisons
        ``first`` is the winner, so that every outcome is 1, or 0 for a tie. Use ``.swapped(mask)`` with a random mask
        where the order of the sides must not give the answer away.

    Examples
    --------
    >>> from preflearn.data import from_winners
    >>> from_winners(["ann", "bob"], ["bob", "cy"], tie=[False, True]).outcome
    array([1., 0.])
    """
    owner = "from_winners"
    winner, loser = as_list(winner, "winner", owner), as_list(loser, "loser", owner)
    check_length(len(loser), len(winner), "loser", owner, "winner")
    outcome = np.ones(len(winner))
    if tie is not None:
        tied = np.asarray(as_list(tie, "tie", owner))
        if tied.dtype != bool:
            raise TypeError(f"{owner}: tie must hold True or False for each comparison; got {tied.dtype}.")
        check_length(len(tied), len(winner), "tie", owner, "comparison")
        outcome[tied] = 0.0
    return Comparisons._build(items, winner, loser, outcome, **options)


def from_scores(
    items: Any,
    score: Any,
    group: Any = None,
    *,
    max_pairs: int | None = None,
    random_state: Any = None,
    ties: Literal["exclude", "include"] = "exclude",
    margins: bool = True,
    weight: Any = None,
    names: Any = None,
) -> Comparisons:
    """Return comparisons from scores: pairs of rows within a group, the higher score preferred.

    Parameters
    ----------
    items : table of shape (n_items, n_features), or int
        One row per score, as in `Comparisons`.
    score : sequence of shape (n_items,)
        Finite scores.
    group : sequence of shape (n_items,), default=None
        Rows are only compared within their group; None is one group.
    max_pairs : int, default=None
        Draw at most this many pairs, uniformly over all pairs and without listing them. None lists all.
    random_state : int, RandomState or None, default=None
        Seed of the drawing and of the sides: which of two items comes first is random, so that no answer hides
        in the order.
    ties : {"exclude", "include"}, default="exclude"
        Whether pairs with equal scores are used, with outcome 0.
    margins : bool, default=True
        Outcomes are score differences; False keeps their sign only.
    weight : sequence of shape (n_items,), default=None
        Weights of rows; a pair weighs their product.
    names : sequence of shape (n_items,), default=None
        Distinct labels of the items.

    Notes
    -----
    O(n log n + p log n) for p pairs kept. `Ratings` uses all pairs without listing any.

    Examples
    --------
    >>> from preflearn.data import from_scores
    >>> pairs = from_scores([[0.0], [1.0], [2.0]], [1, 5, 5], random_state=0)
    >>> sorted(abs(pairs.outcome))
    [np.float64(4.0), np.float64(4.0)]
    """
    from sklearn.utils import check_random_state

    owner = "from_scores"
    check_choice(ties, ("exclude", "include"), "ties", owner)
    if max_pairs is not None:
        check_count(max_pairs, "max_pairs", owner)
    table = check_items(items, owner, names)
    n_rows = table.n_items
    values = check_real(score, n_rows, "score", owner, "item")
    row_weight = check_weight(weight, n_rows, owner, "item")
    labels = None if group is None else check_labels(group, n_rows, "group", owner, "item")
    rng = check_random_state(random_state)
    better, worse = _draw_pairs(values, codes(labels, n_rows), max_pairs, rng, ties=ties == "include", owner=owner)
    outcome = values[better] - values[worse]
    pair_weight = None if row_weight is None else row_weight[better] * row_weight[worse]
    if pair_weight is not None and not pair_weight.any():
        raise DataError(code="every-pair-weighs-zero", owner=owner).says(
            "every pair has a row of weight zero", "Give positive weights to two rows of a group"
        )
    known = table.names if names is None else names
    return Comparisons._from_fields(
        items=table.values,
        first=better,
        second=worse,
        outcome=outcome if margins else np.sign(outcome),
        weight=pair_weight,
        group=None if labels is None else labels[better],
        judge=None,
        judges=None,
        names=None if known is None else check_names(known, n_rows, owner),
        feature_names=table.feature_names,
        n_items=n_rows,
    ).swapped(rng.randint(0, 2, size=len(better)).astype(bool))


def _draw_pairs(
    score: NDArray[np.float64],
    group: NDArray[np.intp],
    max_pairs: int | None,
    rng: np.random.RandomState,
    *,
    ties: bool,
    owner: str,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return (better, worse) rows of all pairs within groups, or of ``max_pairs`` drawn uniformly without repeats."""
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
        raise DataError(code="no-pair-in-any-group", owner=owner).says(
            f"no two rows of a group {'can be paired' if ties else 'differ in score'}, so there is nothing to compare",
            "Check the score and group columns",
        )
    number = _draw(total, max_pairs, rng, owner)
    upper = np.searchsorted(ends, number, side="right")
    lower = group_start[upper] + number - (ends[upper] - below[upper])
    return order[upper].astype(np.intp), order[lower].astype(np.intp)


def _draw(total: int, wanted: int | None, rng: Any, owner: str) -> NDArray[np.int64]:
    """Return ``wanted`` distinct numbers below ``total`` (all if None), uniformly, sorted, in O(wanted) memory."""
    if wanted is None or wanted >= total:
        if total > MOST_LISTED:
            raise DataError(code="too-many-pairs-to-list", owner=owner).says(
                f"{total} pairs would be listed",
                "Give max_pairs to draw some of them, or use Ratings, which never lists pairs",
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


def from_frame(
    frame: Any,
    *,
    first: str,
    second: str,
    outcome: str | None = None,
    winner: str | None = None,
    weight: str | None = None,
    covariates: str | Sequence[str] | None = None,
    items: Any = None,
    item_name: str | None = None,
    self_comparisons: Literal["error", "drop"] = "error",
    **labels: str | None,
) -> Comparisons:
    """Return comparisons from a data frame of any library (pandas, polars, pyarrow); arguments name its columns.

    Parameters
    ----------
    frame : data frame with one row per comparison
        The table.
    first, second : str
        Columns with the two sides: names, or row numbers of ``items``.
    outcome : str, default=None
        Column of outcomes: positive if first was preferred, negative if second, 0 for a tie.
    winner : str, default=None
        Instead of ``outcome``: a column with the winner's name, or with first/left, second/right, tie/draw.
        With neither, first was preferred everywhere.
    weight : str, default=None
        Column of weights.
    covariates : str or sequence of str, default=None
        Columns of numbers, the first side's minus the second's, as in `Comparisons`.
    items : data frame, array, int or None, default=None
        The item table, as in `Comparisons`.
    item_name : str, default=None
        Column of the frame ``items`` that holds the names; by default one called item, name or id.
    self_comparisons : {"error", "drop"}, default="error"
        What to do with comparisons of an item with itself.
    **labels : str
        Columns of the labels that `Comparisons` takes, such as ``judge="worker"``.

    Examples
    --------
    >>> import pandas as pd
    >>> from preflearn.data import from_frame
    >>> table = pd.DataFrame({"left": ["ann", "bob"], "right": ["bob", "cy"], "best": ["bob", "left"]})
    >>> from_frame(table, first="left", second="right", winner="best").outcome
    array([-1.,  1.])
    """
    owner = "from_frame"
    if outcome is not None and winner is not None:
        raise TypeError(f"{owner}: give outcome or winner, not both.")
    wanted = {"first": first, "second": second, "outcome": outcome, "winner": winner}
    beside = {"weight": weight, **labels}
    table, columns, _ = open_frame(frame, {**wanted, **beside}, owner, "Comparisons(...)")
    names = None
    if item_name is not None:
        item_frame = frame_of(items, owner)
        if item_frame is None:
            raise TypeError(f"{owner}: item_name needs items as a data frame; got {type(items).__name__}.")
        names = frame_columns(item_frame, {"item_name": item_name}, owner)["item_name"]
        items = item_frame.drop(str(item_name)).to_native()
    options = {key: columns[key] for key in beside}
    options |= {"names": names, "self_comparisons": self_comparisons}
    if covariates is not None:
        chosen = [covariates] if isinstance(covariates, str) else [str(name) for name in covariates]
        for name in chosen:
            frame_columns(table, {"covariates": name}, owner)  # which raises for a name that is not a column
        options["covariates"] = table.select(chosen).to_native()
    if columns["outcome"] is not None:
        return Comparisons(items, columns["first"], columns["second"], columns["outcome"], **options)
    value = np.ones(len(table))
    if columns["winner"] is not None:
        value = _outcomes_of_winners(columns["first"], columns["second"], columns["winner"], owner)
    return Comparisons._build(items, columns["first"], columns["second"], value, **options)


def _outcomes_of_winners(first: list[Any], second: list[Any], winner: list[Any], owner: str) -> NDArray[np.float64]:
    """Return outcomes from a column that names the winner or says first/left, second/right, tie/draw."""
    values = [
        1.0 if won == a else -1.0 if won == b else word_value(won, _WORDS) if isinstance(won, str) else None
        for a, b, won in zip(first, second, winner, strict=True)
    ]
    bad = np.flatnonzero([value is None for value in values])
    if len(bad):
        row = int(bad[0])
        raise DataError(code="winner-is-neither-side", owner=owner).says(
            f"{len(bad)} of {len(values)} winners are neither of the two sides ({rows_text(bad)}; row {row} "
            f"compares {first_few([first[row]])} with {first_few([second[row]])} and its winner is "
            f"{first_few([winner[row]])})",
            "Use the winner's name, or first/left, second/right, tie",
        )
    return np.array(values, dtype=np.float64)
