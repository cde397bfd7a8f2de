"""``preflearn.rank_by``: one ranking for each value of a column, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preflearn.analysis.ladder import Progress
from preflearn.analysis.limits import LIMITS, Limits
from preflearn.analysis.ranker import rank_comparisons
from preflearn.analysis.result import RankResult
from preflearn.data import Comparisons
from preflearn.exceptions import DataError, first_few
from preflearn.io import ItemEncoder, read_preferences

__all__ = ["RankingsBy", "rank_by", "rank_categories"]

MOST_CATEGORIES = 50  # rankings of one call: each costs a choice of a model
FIELDS = ("judge", "cluster", "group")  # labels that comparisons may have


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
            "verdict": [_verdict(one) for one in found],
            "unsure": [one.unsure for one in found],
        }

    def rows(self, top: int | None = None) -> tuple[list[str], list[list[str]]]:
        """Return the header and the first ``top`` rows of places, as text."""
        columns = self.to_dict()
        header = ["place", "item", *(str(value) for value in self.results)]
        order = ["place", "item", *list(columns)[2:]]
        cells = zip(*(columns[name] for name in order), strict=True)
        lines = [["" if cell is None else str(cell) for cell in row] for row in cells]
        return header, lines[:top]

    def told(self) -> list[str]:
        """Return a sentence about each category."""
        return [_told(value, one) for value, one in self.results.items()]

    def summary(self) -> dict[str, Any]:
        """Return everything that was found as plain values, ready for JSON."""
        return {
            "by": self.by,
            "overall": self.overall.summary(),
            "categories": [{"value": str(value), **one.summary()} for value, one in self.results.items()],
        }

    def to_pandas(self) -> Any:
        """Return the places as a pandas DataFrame."""
        from preflearn.analysis.frames import pandas_frame

        return pandas_frame(self.to_dict())

    def to_polars(self) -> Any:
        """Return the places as a polars DataFrame."""
        from preflearn.analysis.frames import polars_frame

        return polars_frame(self.to_dict())

    def __str__(self) -> str:
        header, rows = self.rows(30)
        wide = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
        lines = [
            "  ".join(cell.ljust(wide[k]) if k == 1 else cell.rjust(wide[k]) for k, cell in enumerate(row)).rstrip()
            for row in [header, *rows]
        ]
        more = len(self.overall) - len(rows)
        return "\n".join([*lines, *([f"... and {more} more"] if more else []), "", *self.told()])

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
        As of `preflearn.rank`.
    by : str or array-like (n_comparisons,)
        The column of the table that says which category a row belongs to. Of `Comparisons`: "judge", "cluster" or
        "group", or the category of each comparison.
    items, columns, model, level, circles, limits, random_state, progress, **reading
        As of `preflearn.rank`.

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
    told: tuple[str, ...] = ()
    encoder = None
    if isinstance(data, Comparisons):
        if items is not None or columns is not None or reading:
            raise TypeError(
                "rank_by: Comparisons have their items already; give items and columns with a table or a file."
            )
        name, labels = _labels(data, by)
    else:
        if not isinstance(by, str):
            raise TypeError(f"rank_by: by={by!r} must be the name of a column of the table.")
        read = read_preferences(data, items, columns=columns, by=by, **reading)
        assert isinstance(read.data, Comparisons)  # else there is no column
        assert read.by is not None
        name, labels, data, told, encoder = by, read.by, read.data, read.notes, read.encoder
    return rank_categories(
        data,
        labels,
        name,
        told,
        encoder,
        model=model,
        level=level,
        circles=circles,
        limits=limits,
        random_state=random_state,
        progress=progress,
    )


def rank_categories(
    data: Comparisons,
    labels: Any,
    name: str,
    told: tuple[str, ...] = (),
    encoder: ItemEncoder | None = None,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> RankingsBy:
    """Rank comparisons that were read already, once for each label; options as of `rank_by`."""
    values, counts = _count(labels)
    if len(values) > MOST_CATEGORIES:
        raise DataError(
            f'"{name}" has {len(values):,} different values ({first_few(values, 5)}), and at most '
            f"{MOST_CATEGORIES} rankings are made",
            "Name a column of fewer categories",
            code="too-many-categories",
            owner="rank_by",
        )
    tell = progress or (lambda what, share: None)
    tell("Ranking all", 0.0)
    overall = rank_comparisons(data, told, encoder, **options)
    results = {}
    for number, value in enumerate(sorted(values, key=lambda value: -counts[value])):
        tell(f"Ranking {name} {value}", (1 + number) / (1 + len(values)))
        rows = np.flatnonzero([label == value for label in labels])
        try:
            results[value] = rank_comparisons(data[rows], (), encoder, **options)
        except DataError as error:
            raise DataError(replace(error.message, what=f'{name} "{value}": ' + error.message.what)) from error
    return RankingsBy(name, overall, results)


def _count(labels: Any) -> tuple[list[Any], dict[Any, int]]:
    """Return different labels, sorted where they can be, and how many comparisons have each."""
    counts: dict[Any, int] = {}
    for label in np.asarray(labels).tolist():
        counts[label] = counts.get(label, 0) + 1
    try:
        values = sorted(counts)
    except TypeError:
        values = sorted(counts, key=str)
    return values, counts


def _labels(data: Comparisons, by: Any) -> tuple[str, Any]:
    """Return the name and the labels of the categories of comparisons."""
    if not isinstance(by, str):
        labels = np.asarray(by)
        if labels.shape != (len(data),):
            raise DataError(
                f"the categories have shape {labels.shape}",
                f"Give one for each of the {len(data)} comparisons",
                code="categories-of-wrong-shape",
                owner="rank_by",
            )
        return "category", labels
    found = getattr(data, by) if by in FIELDS else None
    if found is None:
        there = [name for name in FIELDS if getattr(data, name) is not None]
        raise DataError(
            f'the comparisons have no "{by}"',
            *([f"Choose from {', '.join(there)}"] if there else []),
            "give the category of each comparison as an array",
            code="unknown-category",
            owner="rank_by",
        )
    return by, found


def _verdict(result: RankResult) -> str:
    return "not examined" if result.rankability is None else result.rankability.verdict


def _told(value: Any, result: RankResult) -> str:
    """Return a sentence about a category."""
    n, m = len(result), len(result.data)
    size = f"{value}: {m:,} comparison{'s' if m != 1 else ''} of {n:,} items"
    if result.unsure:
        return f"{size}. Unsure: no item can be told from the first, read no places into it."
    tiers = int(result.ranking.tier.max())
    verdict = "" if result.rankability is None else f" {result.rankability.told}"
    return f"{size} in {tiers} tiers.{verdict}"
