"""``preflearn.forecast``: who wins the fixtures to come, and who ends where in the final table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from preflearn.analysis.frames import data_frame
from preflearn.analysis.result import RankResult
from preflearn.data import Comparisons
from preflearn.data.fields import check_count
from preflearn.exceptions import DataError
from preflearn.operators import FloatArray, IntArray
from preflearn.table_format import Column, TextTable, chance, decimal, place_range, short_number

MOST_FIXTURES = 5_000  # whose outcomes are drawn together
POINTS = (3.0, 1.0, 0.0)  # of a win, a tie and a loss


@dataclass(frozen=True, repr=False)
class Forecast:
    """Fixtures with the probabilities of their outcomes, and the final table; printing it shows both.

    Parameters
    ----------
    first, second : ndarray (n_fixtures,)
        The two sides of each fixture.
    p_first, p_tie, p_second : ndarray (n_fixtures,)
        Probability that the first side wins, of a tie, and that the second side wins.
    item : ndarray (n_items,)
        Items of the final table, most expected points first.
    points : ndarray (n_items,)
        Points won so far.
    expected, low, high : ndarray (n_items,)
        Expected points at the end, and their interval.
    rank_low, rank_high : ndarray (n_items,)
        Interval of the final place.
    p_champion, p_top : ndarray (n_items,)
        Probability to end first, and among the first ``k``.
    k : int
        How many count as the top.
    level : float
        Probability of the intervals.

    Examples
    --------
    >>> import preflearn
    >>> results = preflearn.Comparisons(None, ["ann", "ann", "bob", "ann"], ["bob", "cy", "cy", "bob"])
    >>> print(preflearn.forecast(preflearn.BradleyTerry(prior=1.0).fit(results), [("ann", "bob"), ("bob", "cy")]))
    first  second  P(first wins)  P(second wins)
    ann    bob               69%             31%
    bob    cy                59%             41%
    <BLANKLINE>
    rank  item  expected  90 % interval  places  P(first place)  P(top 3)
       1  bob        2.7         0 to 6  1-3                45%      >99%
       2  ann        2.1         0 to 3  1-3                34%      >99%
       3  cy         1.2         0 to 3  1-3                21%      >99%
    """

    first: Any
    second: Any
    p_first: FloatArray
    p_tie: FloatArray
    p_second: FloatArray
    item: Any
    points: FloatArray
    expected: FloatArray
    low: FloatArray
    high: FloatArray
    rank_low: IntArray
    rank_high: IntArray
    p_champion: FloatArray
    p_top: FloatArray
    k: int
    level: float

    def fixtures(self) -> dict[str, list[Any]]:
        """Return the fixtures as lists by column: first, second, p_first, p_tie, p_second."""
        return self._columns("first", "second", "p_first", "p_tie", "p_second")

    def places(self) -> dict[str, list[Any]]:
        """Return the final table as lists by column, most expected points first."""
        names = ("item", "points", "expected", "low", "high", "rank_low", "rank_high", "p_champion", "p_top")
        return {"rank": list(range(1, len(self.item) + 1)), **self._columns(*names)}

    def _columns(self, *names: str) -> dict[str, list[Any]]:
        return {name: np.asarray(getattr(self, name)).tolist() for name in names}

    def to_pandas(self) -> Any:
        """Return the final table as a pandas DataFrame."""
        return data_frame(self.places(), "pandas")

    def to_polars(self) -> Any:
        """Return the final table as a polars DataFrame."""
        return data_frame(self.places(), "polars")

    def fixture_listing(self) -> TextTable:
        """Return the fixtures as they are shown."""
        columns = {name: Column(name, getattr(self, name), kind="name") for name in ("first", "second")}
        shown = {"p_first": "P(first wins)", "p_tie": "P(tie)", "p_second": "P(second wins)"}
        if not np.any(self.p_tie):
            del shown["p_tie"]
        return TextTable(columns | {key: Column(title, getattr(self, key), chance) for key, title in shown.items()})

    def place_listing(self) -> TextTable:
        """Return the final table as it is shown."""
        ends = list(zip(self.low, self.high, strict=True))
        places = list(zip(self.rank_low, self.rank_high, strict=True))
        columns = {
            "rank": Column("rank", range(1, len(self.item) + 1)),
            "item": Column("item", self.item, kind="name"),
            "points": Column("points now", self.points, short_number),
            "expected": Column("expected", self.expected, partial(decimal, digits=1)),
            "interval": Column(
                f"{100 * self.level:.0f} % interval",
                ends,
                lambda pair: " to ".join(map(short_number, pair)),
                spare=1,
            ),
            "places": Column("places", places, place_range, "text"),
            "p_champion": Column("P(first place)", self.p_champion, chance),
            "p_top": Column(f"P(top {self.k})", self.p_top, chance, spare=2),
        }
        if not np.any(self.points):
            del columns["points"]
        return TextTable(columns)

    def __str__(self) -> str:
        return f"{self.fixture_listing().text()}\n\n{self.place_listing().text()}"

    __repr__ = __str__


def forecast(
    model: Any,
    fixtures: Any,
    played: Comparisons | None = None,
    *,
    points: Sequence[float] = POINTS,
    k: int = 3,
    level: float = 0.9,
    n_samples: int = 10_000,
    random_state: int = 0,
) -> Forecast:
    """Forecast fixtures: the probability of each outcome, and who ends where in the final table.

    Parameters
    ----------
    model : BradleyTerry, PreferenceGP or RankResult
        What was learned from earlier results: a fitted model, or what `preflearn.rank` returned. An advantage of the
        first side counts if the model has learned one.
    fixtures : Comparisons, list of pairs or data frame with two columns
        The games to come, the home side first; outcomes are not looked at.
    played : Comparisons, default=None
        Games of this season that are over. Their points count in the final table; the model does not learn from them.
    points : (float, float, float), default=(3, 1, 0)
        Points for a win, a tie and a loss.
    k : int, default=3
        How many places count as the top.
    level : float, default=0.9
        Probability of the intervals.
    n_samples : int, default=10_000
        Simulated seasons.
    random_state : int, default=0
        Seed of the simulation.

    Returns
    -------
    Forecast
        ``fixtures()`` and ``places()`` are its tables.

    Notes
    -----
    Probabilities of the fixtures are exact for the model. Each simulated season draws the utilities from their
    posterior, then every outcome from the utilities: an item that is better than estimated is so in all of its games.
    Equal points are put in random order. Strengths are those of the data: they do not change during the season.
    Costs O(m³) for m fixtures, at most 5,000.

    Examples
    --------
    >>> import preflearn
    >>> results = preflearn.Comparisons(None, ["ann", "ann", "bob", "ann"], ["bob", "cy", "cy", "bob"])
    >>> found = preflearn.forecast(preflearn.rank(results), [("ann", "bob"), ("bob", "cy"), ("cy", "ann")])
    >>> found.places()["item"]
    ['ann', 'bob', 'cy']
    """
    if isinstance(model, RankResult):
        model = model.model
    if not hasattr(model, "sample_outcomes"):
        raise TypeError(
            f"forecast: a {type(model).__name__} gives no probabilities of outcomes. Give a fitted BradleyTerry or "
            "PreferenceGP, or what preflearn.rank returned."
        )
    prizes = _check_points(points)
    if not 0 < level < 1:
        raise DataError(code="forecast-level", owner="forecast").says(
            f"level is {level:g}; it must be between 0 and 1, for example 0.9."
        )
    check_count(k, "k", "forecast")
    X = model._pairs_of(fixtures)
    if len(X) > MOST_FIXTURES:
        raise DataError(code="too-many-fixtures", owner="forecast").says(
            f"{len(X):,} fixtures are too many (at most {MOST_FIXTURES:,})", "Give those of one season"
        )
    side = bool(getattr(model, "side", False))
    p = model.predict_outcome_proba(X, side=side)
    first, second = _labels(X, X.first), _labels(X, X.second)
    over = [] if played is None else [*_labels(played, played.first), *_labels(played, played.second)]
    items = sorted({*first, *second, *over}, key=str)
    rng = np.random.default_rng(random_state)
    drawn = model.sample_outcomes(X, n_samples, rng, side=side)
    place = {item: number for number, item in enumerate(items)}
    now = np.zeros(len(items)) if played is None else _points_won(played, place, prizes)
    total = np.tile(now, (len(drawn), 1))
    for column, (one, other) in enumerate(zip(first, second, strict=True)):
        outcome = drawn[:, column]
        total[:, place[one]] += prizes[1 - outcome]
        total[:, place[other]] += prizes[1 + outcome]
    return _summed_up(p, first, second, items, now, total, min(k, len(items)), level, rng)


def _summed_up(
    p: FloatArray,
    first: list[Any],
    second: list[Any],
    items: list[Any],
    now: FloatArray,
    total: FloatArray,
    k: int,
    level: float,
    rng: np.random.Generator,
) -> Forecast:
    lots = rng.random(total.shape)
    rank = np.lexsort((lots, -total)).argsort(axis=1) + 1
    tail = (1 - level) / 2
    expected = total.mean(axis=0)
    order = np.argsort(-expected, kind="stable")
    low, high = np.quantile(total, [tail, 1 - tail], axis=0, method="closest_observation")
    rank_low, rank_high = np.quantile(rank, [tail, 1 - tail], axis=0, method="closest_observation").astype(np.intp)
    return Forecast(
        first=np.array(first, dtype=object),
        second=np.array(second, dtype=object),
        p_first=p[:, 2],
        p_tie=p[:, 1],
        p_second=p[:, 0],
        item=np.array(items, dtype=object)[order],
        points=now[order],
        expected=expected[order],
        low=low[order],
        high=high[order],
        rank_low=rank_low[order],
        rank_high=rank_high[order],
        p_champion=(rank == 1).mean(axis=0)[order],
        p_top=(rank <= k).mean(axis=0)[order],
        k=k,
        level=level,
    )


def _check_points(points: Sequence[float]) -> FloatArray:
    """Return the points of a win, a tie and a loss."""
    prizes = np.asarray(points, dtype=float)
    if prizes.shape != (3,) or not np.all(np.isfinite(prizes)) or not prizes[0] >= prizes[1] >= prizes[2]:
        raise DataError(code="points-unclear", owner="forecast").says(
            f"points are {tuple(points)}", "Give three numbers, for a win, a tie and a loss, such as (3, 1, 0)"
        )
    return prizes


def _labels(X: Comparisons, rows: IntArray) -> list[Any]:
    labels: list[Any] = (rows if X.names is None else X.names[rows]).tolist()
    return labels


def _points_won(played: Comparisons, place: dict[Any, int], prizes: FloatArray) -> FloatArray:
    """Return the points of each item in games that are over."""
    weight = np.ones(len(played)) if played.weight is None else played.weight
    outcome = np.sign(played.outcome).astype(int)
    now = np.zeros(len(place))
    for rows, result in ((played.first, outcome), (played.second, -outcome)):
        np.add.at(now, [place[item] for item in _labels(played, rows)], weight * prizes[1 - result])
    return now
