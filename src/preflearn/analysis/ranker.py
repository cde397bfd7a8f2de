"""``preflearn.rank``: read, choose a model, rank, and say what to think of it; once for all, or by category."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preflearn.analysis.advice import advise
from preflearn.analysis.analyse import Analysis, analyse
from preflearn.analysis.frames import data_frame
from preflearn.analysis.ladder import Progress
from preflearn.analysis.limits import LIMITS, Limits
from preflearn.analysis.model_names import terms_of
from preflearn.analysis.result import SHOWN, RankResult
from preflearn.data import Comparisons, Ratings, from_scores
from preflearn.data.comparisons import LABELS
from preflearn.exceptions import DataError, Place, Setting, first_few, quiet
from preflearn.io import Reading, read_preferences
from preflearn.io.export import write_table
from preflearn.io.reading import check_feature_numbers
from preflearn.messages import PYTHON, Dialect
from preflearn.models.ranking import Ranking
from preflearn.table_format import Column, TextTable, plural

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
    r"""Rank items from comparisons of two: who is best, how sure this is, and whether there is a ranking at all.

    Parameters
    ----------
    data : Comparisons, Ratings, data frame, path, list, dict or array
        What was compared; rows with scores are compared within their groups. Tables are recognised by their columns:
        winner,loser; left,right,winner; home,away,scores; first,second,outcome; rankings; ...
        (`preflearn.io.read_preferences`). Of large files, directories such as "votes/" and patterns such as
        "votes/*.parquet" equal rows are counted, so that they may be larger than memory. A list of rows (dicts) or a
        dict of columns is such a table; a list of pairs, or an array of two columns of names, holds (winner, loser).
    items : data frame, path, list of rows or dict of columns, default=None
        Features of the items, one row each.
    columns : mapping, default=None
        Which column has which role, if that is not recognised: ``{"winner": "champion", "loser": "victim"}``.
    model : str, default="auto"
        "auto" chooses by evidence; or a utility ("bradley-terry", "thurstone", "gp", "gp-ard", "gp-own", "gp-ard-own",
        or "gpgp" for circles without one)
        with further terms ("side", "covariates", "clusters", "reliability", "tastes", "circles"), as in
        "gp-own+side"; terms without a utility, as in "tastes+circles", use the usual one.
    level : float, default=0.9
        Probability of the intervals.
    circles : bool or None, default=None
        Whether to look for circles in preferences. They are learned where the residuals of a ranking hint at them.
        None: up to 20,000 different pairs (with features also at most 1,500 items), and circles are
        learned up to 2,500 pairs of items with features, or 1,000 items without (else the hint is a warning); True:
        even if it takes long.
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
    read = _read(data, items, columns, reading, "rank", limits, progress)
    options: dict[str, Any] = {"model": model, "level": level, "circles": circles, "random_state": random_state}
    return rank_comparisons(read, limits=limits, progress=progress, **options)


def _read(
    data: Any,
    items: Any,
    columns: Any,
    reading: Mapping[str, Any],
    owner: str,
    limits: Limits,
    progress: Progress | None,
) -> Reading:
    """Return comparisons of whatever was given, and how they were read."""
    if isinstance(data, Comparisons):
        if items is not None or columns is not None or reading:
            raise TypeError(
                f"{owner}: Comparisons have their items already; give items and columns with a table or a file."
            )
        return Reading(data, "comparisons", {}, (), None, owner)
    if isinstance(data, Ratings):
        return listed(Reading(data, "rows with scores", {}, (), None, owner), limits)
    if progress is not None:
        progress("Reading", 0.0)
    return listed(read_preferences(data, items, columns=columns, **{"counted": True, **reading}), limits)


def rank_comparisons(
    read: Reading,
    *,
    model: str = "auto",
    level: float = 0.9,
    circles: bool | None = None,
    limits: Limits = LIMITS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> RankResult:
    """Rank comparisons that were read already; parameters as of `rank`."""
    data = read.data
    assert isinstance(data, Comparisons)
    if not 0 < level < 1:
        raise DataError(code="level-out-of-range", owner="rank").says(
            f"level is {level:g}; it must be between 0 and 1, for example 0.9."
        )
    if model != "auto":
        terms_of(model, data)
    tell = progress or (lambda what, share: None)
    found = analyse(data, model, circles=circles, limits=limits, random_state=random_state, progress=tell)
    tell("Ranking", 0.9)
    ranking = _ranking(found, level, random_state)
    with quiet():
        advice = [*advise(found, ranking, home=read.has_home_side), *found.notes]
    return RankResult(ranking, found, tuple(advice), read.notes, read.encoder)


def listed(read: Reading, limits: Limits = LIMITS) -> Reading:
    """Return what was read with comparisons in place of rows with scores, which are compared within their groups."""
    data, source = read.data, read.source
    if isinstance(data, Comparisons):
        return read
    check_feature_numbers(data.n_features, source)
    if len(data) > limits.items_on_features:
        raise DataError(code="too-many-rows-to-rank", where=Place(source)).says(
            f"{len(data):,} rows with scores are too many to rank with their uncertainty (at most "
            f"{limits.items_on_features:,}, as the cost grows with the cube of their number)",
            "Give fewer queries",
            "learn scores without uncertainty with " + Setting("least_squares"),
        )
    most = limits.pairs_of_scores
    names = [f"row {number}" for number in range(1, len(data) + 1)]
    pairs = from_scores(data.items, data.score, data.group, names=names, max_pairs=most, margins=False, random_state=0)
    drawn = ""
    if len(pairs) == most:
        # what is left of the pairs that scores imply is still no more than a vote for each row but one
        drawn = " (drawn from all, and together as heavy as one vote for each row)"
        pairs = pairs._take(slice(None), weight=np.full(most, min(1.0, (len(data) - data.n_groups) / most)))
    note = f"Rows of the same group are compared by their scores: {plural(len(pairs), 'pair')}{drawn}."
    return replace(read, data=pairs, notes=(*read.notes, note))


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


@dataclass(frozen=True, repr=False)
class RankingsBy:
    """One ranking for each category of comparisons, and one of all of them; printing it shows places side by side.

    Parameters
    ----------
    by : str
        What the categories are values of.
    overall : RankResult
        The ranking of all comparisons.
    results : dict of RankResult
        The ranking of each category, that of the most comparisons first.

    Examples
    --------
    >>> import preflearn
    >>> games = {"winner": ["ann", "ann", "bob", "cy", "cy", "bob"], "loser": ["bob", "cy", "cy", "bob", "ann", "ann"]}
    >>> found = preflearn.rank_by(games | {"year": [1, 1, 1, 2, 2, 2]}, "year", circles=False)
    >>> found.results[2].to_dict()["item"]
    ['cy', 'bob', 'ann']
    """

    by: str
    overall: RankResult
    results: dict[Any, RankResult]

    def __len__(self) -> int:
        return len(self.results)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return items with their place among all comparisons and in each category; None where an item is not there."""
        items = self.overall.ranking.names.tolist()
        columns: dict[str, list[Any]] = {"item": items, "place": self.overall.ranking.rank.tolist()}
        for value, result in self.results.items():
            place = dict(zip(result.ranking.names.tolist(), result.ranking.rank.tolist(), strict=True))
            columns[f"place_{value}"] = [place.get(item) for item in items]
        return columns

    def categories(self) -> dict[str, list[Any]]:
        """Return what is known of each category: comparisons, items, tiers, verdict, and whether it says anything."""
        found = list(self.results.values())
        return {
            self.by: list(self.results),
            "comparisons": [len(one.data) for one in found],
            "items": [len(one) for one in found],
            "tiers": [int(one.ranking.tier.max()) for one in found],
            "verdict": ["not examined" if one.rankability is None else one.rankability.verdict for one in found],
            "unsure": [one.unsure for one in found],
        }

    def listing(self) -> TextTable:
        """Return the places side by side, to be written as text, HTML, Markdown or LaTeX."""
        columns = self.to_dict()
        titles = {"item": "item", "place": "place"} | {f"place_{value}": str(value) for value in self.results}
        order = ("place", *(key for key in titles if key != "place"))
        return TextTable(
            {
                # where there is no room, categories of few comparisons are left out first
                key: Column(titles[key], columns[key], kind="name" if key == "item" else "number", spare=max(0, k - 1))
                for k, key in enumerate(order)
            }
        )

    def sentences(self) -> list[str]:
        """Return a sentence about each category."""
        return [_sentence(value, one) for value, one in self.results.items()]

    def table(self, scale: str = "utility", anchor: Mapping[Any, float] | None = None) -> dict[str, list[Any]]:
        """Return all rankings below each other as lists by column, that of all comparisons, without a category, first.

        Parameters as of `RankResult.table`.
        """
        tables = {None: self.overall.table(scale, anchor)}
        for value, one in self.results.items():
            with _about_category(self.by, value):
                tables[value] = one.table(scale, anchor)
        names = max((list(table) for table in tables.values()), key=len)  # only some may have raw places
        sizes = {value: len(table["item"]) for value, table in tables.items()}
        category = self.by if self.by not in names else f"by_{self.by}"
        return {category: [value for value, n in sizes.items() for _ in range(n)]} | {
            name: [cell for value, table in tables.items() for cell in table.get(name, [None] * sizes[value])]
            for name in names
        }

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        scale: str = "utility",
        anchor: Mapping[Any, float] | None = None,
        overwrite: bool = True,
        bom: bool = False,
    ) -> None:
        """Write all rankings to a file, as `RankResult.write` does; Markdown and LaTeX get places side by side."""
        write_table(self.table(scale, anchor), path, shown=self.listing(), overwrite=overwrite, bom=bom)

    def summary(
        self, scale: str = "utility", anchor: Mapping[Any, float] | None = None, *, dialect: Dialect = PYTHON
    ) -> dict[str, Any]:
        """Return everything that was found as plain values, ready for JSON; parameters as of `RankResult.summary`."""
        found = []
        for value, one in self.results.items():
            with _about_category(self.by, value):
                found.append({"value": str(value), **one.summary(scale, anchor, dialect=dialect)})
        return {"by": self.by, "overall": self.overall.summary(scale, anchor, dialect=dialect), "categories": found}

    def to_pandas(self) -> Any:
        """Return the places as a pandas DataFrame."""
        return data_frame(self.to_dict(), "pandas")

    def to_polars(self) -> Any:
        """Return the places as a polars DataFrame."""
        return data_frame(self.to_dict(), "polars")

    def __str__(self) -> str:
        more = [f"... and {len(self.overall) - SHOWN:,} more"] if len(self.overall) > SHOWN else []
        return "\n".join([self.listing().top(SHOWN).text(), *more, "", *self.sentences()])

    __repr__ = __str__


def rank_by(
    data: Any,
    by: Any,
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
) -> RankingsBy:
    """Rank items once for each value of a column, to see who is best in which category.

    Parameters
    ----------
    data : Comparisons, data frame, path, list, dict or array
        As in `preflearn.rank`.
    by : str or array-like (n_comparisons,)
        The column of the table that says which category a row belongs to. Of `Comparisons`: "judge", "cluster" or
        "group", or the category of each comparison.
    items, columns, model, level, circles, limits, random_state, progress, **reading
        As in `preflearn.rank`.

    Returns
    -------
    RankingsBy
        A ranking of all comparisons and one of each category, with places side by side (``to_pandas()``).

    Notes
    -----
    Each category is analysed by itself, with a model of its own, and knows nothing of the others: one with few
    comparisons says so instead of borrowing from them. At most 50 categories. Places differ between categories by
    chance, too: look at the tiers and intervals of each (``results``) before reading a difference into them.

    Examples
    --------
    >>> import preflearn
    >>> games = {"winner": ["ann", "bob", "bob"], "loser": ["bob", "ann", "ann"], "year": [1, 2, 2]}
    >>> preflearn.rank_by(games, "year", circles=False).categories()["unsure"]
    [True, True]
    """
    known = isinstance(data, Comparisons)
    if not known and not isinstance(by, str):
        raise TypeError(f"rank_by: by={by!r} must be the name of a column of the table.")
    further = reading if known else {**reading, "by": by}
    read = _read(data, items, columns, further, "rank_by", limits, progress)
    name, labels = _labels(data, by) if known else (by, read.by)
    options: dict[str, Any] = {"model": model, "level": level, "circles": circles, "random_state": random_state}
    return rank_categories(read, labels, name, limits=limits, progress=progress, **options)


def rank_categories(
    read: Reading,
    labels: Any,
    name: str,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> RankingsBy:
    """Rank comparisons that were read already, once for each label; options as of `rank_by`."""
    labels = np.asarray(labels).tolist()
    counts = Counter(labels)
    try:
        values = sorted(counts)
    except TypeError:
        values = sorted(counts, key=str)
    most = options.get("limits", LIMITS).categories
    if len(values) > most:
        raise DataError(code="too-many-categories", owner="rank_by").says(
            f'"{name}" has {len(values):,} different values ({first_few(values, 5)}), and at most '
            f"{most} rankings are made",
            "Name a column of fewer categories",
        )
    tell = progress or (lambda what, share: None)
    tell("Ranking all", 0.0)
    overall = rank_comparisons(read, **options)
    results = {}
    for number, value in enumerate(sorted(values, key=lambda value: -counts[value])):
        tell(f"Ranking {name} {value}", (1 + number) / (1 + len(values)))
        rows = np.flatnonzero([label == value for label in labels])
        with _about_category(name, value):
            results[value] = rank_comparisons(replace(read, data=read.data[rows], notes=()), **options)
    return RankingsBy(name, overall, results)


@contextlib.contextmanager
def _about_category(name: str, value: Any) -> Iterator[None]:
    """Say in messages which category they are about."""
    try:
        yield
    except DataError as error:
        raise DataError(replace(error.message, what=f'{name} "{value}": ' + error.message.what)) from error


def _labels(data: Comparisons, by: Any) -> tuple[str, Any]:
    """Return the name and the labels of the categories of comparisons."""
    if not isinstance(by, str):
        labels = np.asarray(by)
        if labels.shape != (len(data),):
            raise DataError(code="categories-of-wrong-shape", owner="rank_by").says(
                f"the categories have shape {labels.shape}", f"Give one for each of the {len(data)} comparisons"
            )
        return "category", labels
    found = getattr(data, by) if by in LABELS else None
    if found is None:
        there = [name for name in LABELS if getattr(data, name) is not None]
        raise DataError(code="unknown-category", owner="rank_by").says(
            f'the comparisons have no "{by}"',
            *([f"Choose from {', '.join(there)}"] if there else []),
            "give the category of each comparison as an array",
        )
    return by, found


def _sentence(value: Any, result: RankResult) -> str:
    """Return a sentence about a category."""
    size = f"{value}: {plural(result.data.n_listed, 'comparison')} of {plural(len(result), 'item')}"
    if result.unsure:
        return f"{size}. Unsure: no item can be told from the first, read no places into it."
    tiers = int(result.ranking.tier.max())
    verdict = "" if result.rankability is None else f" {result.rankability.sentence}"
    return f"{size} in {plural(tiers, 'tier')}.{verdict}"
