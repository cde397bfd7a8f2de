"""``preflearn.rank``: read, choose a model, rank, and say what to think of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from preflearn.analysis.advising import advise
from preflearn.analysis.analyse import Analysis, analyse
from preflearn.analysis.ladder import Progress
from preflearn.analysis.limits import LIMITS, Limits
from preflearn.analysis.model_names import terms_of
from preflearn.analysis.result import RankResult
from preflearn.data import Comparisons, Ratings, from_scores
from preflearn.exceptions import DataError, Place, Setting, quiet
from preflearn.io import ItemEncoder, read_preferences
from preflearn.io.svmlight import check_feature_numbers
from preflearn.models.ranking import Ranking

__all__ = ["from_rows", "rank", "rank_comparisons"]

MOST_PAIRS = 20_000  # that scores are turned into
DRAWN = 10**7  # utilities drawn for places and P(best)


def rank(
    data: Any,
    items: Any = None,
    *,
    columns: Mapping[str, str] | None = None,
    model: str = "auto",
    level: float = 0.9,
    circles: bool | None = None,
    limits: Limits = LIMITS,
    random_state: int = 0,
    progress: Progress | None = None,
    **reading: Any,
) -> RankResult:
    r"""Rank items by comparisons of two: who is best, how sure that is, and whether there is a ranking at all.

    Parameters
    ----------
    data : Comparisons, Ratings, data frame, path, list, dict or array
        What was compared; rows with scores are compared within their groups. Tables are recognised by their columns:
        winner,loser; left,right,winner; home,away,scores; first,second,outcome; rankings; ...
        (`preflearn.io.read_preferences`). A list of rows (dicts) or a dict of columns is such a table; a list of
        pairs, or an array of two columns of names, holds (winner, loser).
    items : data frame, path, list of rows or dict of columns, default=None
        Features of the items, one row each.
    columns : mapping, default=None
        Which column plays which part, where that is not recognised: ``{"winner": "champion", "loser": "victim"}``.
    model : str, default="auto"
        "auto" chooses by evidence; or a utility ("bradley-terry", "thurstone", "gp", "gp-ard", "gp-own", "gp-ard-own")
        with what stands beside it ("side", "covariates", "clusters", "reliability", "tastes", "circles"), as in
        "gp-own+side"; without a utility the usual one is meant: "tastes+circles".
    level : float, default=0.9
        Probability of the intervals.
    circles : bool or None, default=None
        Whether to examine if preferences run in circles, which are learned where what a ranking leaves unexplained
        hints at them. None: up to 20,000 different pairs (with features also at most 1,500 items), and circles are
        learned up to 2,500 pairs of items with features, or 1,000 items without (else the hint is a warning); True:
        whatever it costs.
    limits : Limits
        Every threshold that decides what is tried (`preflearn.analysis.Limits`).
    random_state : int, default=0
        Seed of random starts and draws.
    progress : callable, default=None
        Called with what is done next and the share of the work that is done.
    **reading
        Further options of `preflearn.io.read_preferences`.

    Returns
    -------
    RankResult
        The table (``to_pandas()``), the fitted model, the verdict and the warnings; printing it shows them.

    Notes
    -----
    Intervals count the uncertainty of utilities and, up to 150 items and five hyperparameters, that of the
    hyperparameters. Beyond, with circles of features, and with judges who were asked about more than 1,000 items
    together, these are taken at their most probable values, which makes intervals too narrow where comparisons are few.
    Where different statements are few (up to 1,000 in all or ten for each item) the posterior is found by expectation
    propagation, up to 1,000 items, with features up to 300, with circles up to 60. Else by Laplace's method, which
    draws utilities together too much, and makes intervals too narrow, where items met two or three times each or differ
    by much more than the noise. Which model is the right one counts as known. Where preferences run in circles, the
    utility of an item is how much it is preferred to all items on average.

    Examples
    --------
    >>> import pandas as pd
    >>> import preflearn
    >>> games = pd.DataFrame({"winner": ["ann", "ann", "bob", "ann"], "loser": ["bob", "cy", "cy", "bob"]})
    >>> preflearn.rank(games).to_pandas()["item"].tolist()
    ['ann', 'bob', 'cy']
    >>> preflearn.rank([("ann", "bob"), ("ann", "cy"), ("bob", "cy")]).to_dict()["item"]
    ['ann', 'bob', 'cy']
    """
    told: tuple[str, ...] = ()
    encoder = None
    if isinstance(data, Comparisons):
        if items is not None or columns is not None or reading:
            raise TypeError(
                "rank: Comparisons have their items already; give items and columns with a table or a file."
            )
    elif isinstance(data, Ratings):
        data, told = from_rows(data, "rank")
    else:
        if progress is not None:
            progress("Reading", 0.0)
        read = read_preferences(data, items, columns=columns, **reading)
        data, told, encoder = read.data, read.notes, read.encoder
        if isinstance(data, Ratings):
            data, more = from_rows(data, read.source)
            told = (*told, *more)
    return rank_comparisons(
        data,
        told,
        encoder,
        model=model,
        level=level,
        circles=circles,
        limits=limits,
        random_state=random_state,
        progress=progress,
    )


def rank_comparisons(
    data: Comparisons,
    told: tuple[str, ...] = (),
    encoder: ItemEncoder | None = None,
    *,
    model: str = "auto",
    level: float = 0.9,
    circles: bool | None = None,
    limits: Limits = LIMITS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> RankResult:
    """Rank comparisons that were read already; parameters as of `rank`."""
    if not 0 < level < 1:
        raise DataError(
            f"level is {level:g}; it must be between 0 and 1, for example 0.9.", code="level-out-of-range", owner="rank"
        )
    if model != "auto":
        terms_of(model, data)
    tell = progress or (lambda what, share: None)
    found = analyse(data, model, circles=circles, limits=limits, random_state=random_state, progress=tell)
    tell("Ranking", 0.9)
    ranking = _ranking(found, level, random_state)
    with quiet():
        advice = [*advise(found, ranking), *found.notes]
    return RankResult(ranking, found, tuple(advice), told, encoder)


def from_rows(data: Ratings, source: str) -> tuple[Comparisons, tuple[str, ...]]:
    """Return comparisons of rows within their groups by their scores, and a sentence about it."""
    check_feature_numbers(data.n_features, source)
    if len(data) > LIMITS.items_on_features:
        raise DataError(
            f"{len(data):,} rows with scores are too many to rank with their uncertainty (at most "
            f"{LIMITS.items_on_features:,}, as the cost grows with the cube of their number)",
            "Give fewer queries",
            "learn scores without uncertainty with " + Setting("least_squares"),
            code="too-many-rows-to-rank",
            where=Place(source),
        )
    names = [f"row {number}" for number in range(1, len(data) + 1)]
    pairs = from_scores(
        data.items, data.score, data.group, names=names, max_pairs=MOST_PAIRS, margins=False, random_state=0
    )
    drawn = " (drawn from all, and together as heavy as one vote for each row)" if len(pairs) == MOST_PAIRS else ""
    if drawn:  # what is left of the pairs that scores imply is still no more than a vote for each row but one
        pairs = pairs._take(slice(None), weight=np.full(MOST_PAIRS, min(1.0, (len(data) - data.n_groups) / MOST_PAIRS)))
    return pairs, (f"Rows of the same group are compared by their scores: {len(pairs):,} pairs{drawn}.",)


def _ranking(analysis: Analysis, level: float, random_state: int) -> Ranking:
    """Rank the items: with features all of them, without those that were compared; rows are those of the item table.

    They are drawn in the order of their names, so that no draw depends on the order of a table.
    """
    data = analysis.data
    ranked = np.arange(data.n_items) if data.items is not None else data.used_items()
    if data.names is not None:
        ranked = ranked[np.argsort(data.names[ranked].astype(str), kind="stable")]
    n = len(ranked)
    found: Ranking = analysis.model.rank(
        ranked if data.names is None else data.names[ranked],
        k=min(3, n),
        level=level,
        n_samples=int(np.clip(DRAWN // n, 200, 4000)),
        random_state=random_state,
    )
    return replace(found, row=ranked[found.row])
