"""A ranking with what it rests on: the table, the model and why, the verdict and the warnings."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from preflearn.analysis.advice import Advice
from preflearn.analysis.analyse import Analysis, Check, checks_of, sentence_of
from preflearn.analysis.frames import data_frame
from preflearn.analysis.ladder import Ladder, fit_step, refined
from preflearn.analysis.prepared import Record
from preflearn.data import Comparisons
from preflearn.exceptions import DataError, nearest_names
from preflearn.io import ItemEncoder
from preflearn.io.export import write_table
from preflearn.messages import PYTHON, Dialect
from preflearn.models.ranking import Ranking
from preflearn.operators import FloatArray, IntArray
from preflearn.structure import JudgeReport, Rankability
from preflearn.table_format import Column, TextTable, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 30  # rows of a long table that are printed
LISTED = ("rank", "raw_place", "tier", "item", "utility", "interval", "places", "p_best", "p_win", "record")


@dataclass(frozen=True, repr=False)
class RankResult:
    """What `preflearn.rank` found; printing it shows the table and the warnings.

    Parameters
    ----------
    ranking : Ranking
        Items from best to worst with utilities, intervals and probabilities.
    analysis : Analysis
        What the ranking rests on: ``data``, ``record``, ``model``, ``ladder``, ``rankability``, ``judges``.
    warnings : tuple of Advice
        What should be known before the ranking is trusted, the gravest first.
    notes : tuple of str
        How the data were read.
    encoder : ItemEncoder or None
        How columns of an item table became features, for new items.

    Examples
    --------
    >>> import preflearn
    >>> result = preflearn.rank(preflearn.Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "cy"]))
    >>> result.to_dict()["item"]
    ['ann', 'bob', 'cy']
    >>> result.ladder.terms.name
    'bradley-terry'
    """

    ranking: Ranking
    analysis: Analysis
    warnings: tuple[Advice, ...]
    notes: tuple[str, ...] = ()
    encoder: ItemEncoder | None = None

    @property
    def data(self) -> Comparisons:
        """The comparisons that the model was fitted to."""
        return self.analysis.data

    @property
    def record(self) -> Record:
        """Wins, losses and ties of the items in the order of the item table."""
        return self.analysis.record

    @property
    def model(self) -> Any:
        """The fitted model: ``predict_proba`` for single pairs, ``rank`` for other items.

        If preferences run in circles, the model has a term for circles, and items are ranked by their mean preference
        over all items.
        """
        return self.analysis.model

    @property
    def ladder(self) -> Ladder:
        """Which models were tried, and why this one was taken."""
        return self.analysis.ladder

    @property
    def rankability(self) -> Rankability | None:
        """Whether there is a single ranking at all; None if it was not examined."""
        return self.analysis.rankability

    @property
    def judges(self) -> JudgeReport | None:
        """How far each judge can be trusted, where judges are named."""
        return self.analysis.judges

    def __len__(self) -> int:
        return len(self.ranking)

    @property
    def checks(self) -> tuple[Check, ...]:
        """What was checked besides the ranking, and whether it was found."""
        return checks_of(self.analysis)

    @property
    def unsure(self) -> bool:
        """Whether no item differs clearly from the first one, so that places mean nothing."""
        return bool(self.ranking.tier.max() == 1)

    @cached_property
    def raw_place(self) -> IntArray | None:
        """Places, in the order of the ranking, if sides and covariates were not held equal; None if none are.

        That model is learned when this is first asked for, unless it was tried before.
        """
        return raw_places(self.analysis, self.ranking)

    def scale(self, name: str = "utility", anchor: Mapping[Any, float] | None = None) -> Scale:
        """Return the units in which utilities are shown; parameters as of `table`."""
        likelihood = None if name == "utility" else self.model.likelihood_
        return scale_of(self.ranking, likelihood, name, anchor)

    def table(self, scale: str = "utility", anchor: Mapping[Any, float] | None = None) -> dict[str, list[Any]]:
        """Return the table as lists by column.

        Parameters
        ----------
        scale : {"utility", "elo"}, default="utility"
            Units of the utilities, their deviations and intervals; "elo" has a column of that name in place of
            ``utility``, 400 points for odds of 10 to 1 (`preflearn.analysis.result.scale_of` says how).
        anchor : mapping, default=None
            An item and the number it has, as in ``{"Darjeeling": 1000}``; else the average item has 0, or 1500 Elo
            points. It moves the numbers, not the widths of intervals, which are relative to the average of all items.

        Returns
        -------
        dict of lists
            ``rank``, ``item``, ``tier``, ``raw_place`` (only where a side or covariates are held equal: the place
            without that), ``utility`` or ``elo`` with ``std``, ``low`` and ``high``, ``rank_low``, ``rank_high``,
            ``p_best``, ``p_above_next``, ``p_win`` (one comparison with an opponent of average utility), ``wins``,
            ``losses``, ``ties``.
        """
        r, rows = self.ranking, self.ranking.row
        units = self.scale(scale, anchor)
        columns = {
            "rank": r.rank,
            "item": np.asarray(r.names),
            "tier": r.tier,
            **({} if self.raw_place is None else {"raw_place": self.raw_place}),
            units.name: units.points(r.utility),
            "std": units.widths(r.std),
            "low": units.points(r.low),
            "high": units.points(r.high),
            "rank_low": r.rank_low,
            "rank_high": r.rank_high,
            "p_best": r.p_best,
            "p_above_next": r.p_next,
            "p_win": r.p_win,
            "wins": _counts(self.record.wins[rows]),
            "losses": _counts(self.record.losses[rows]),
            "ties": _counts(self.record.ties[rows]),
        }
        return {name: values.tolist() for name, values in columns.items()}

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the table as lists by column, ready for a data frame of any library."""
        return self.table()

    def to_pandas(self, scale: str = "utility", anchor: Mapping[Any, float] | None = None) -> Any:
        """Return the table as a pandas DataFrame; parameters as of `table`."""
        return data_frame(self.table(scale, anchor), "pandas")

    def to_polars(self, scale: str = "utility", anchor: Mapping[Any, float] | None = None) -> Any:
        """Return the table as a polars DataFrame; parameters as of `table`."""
        return data_frame(self.table(scale, anchor), "polars")

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        scale: str = "utility",
        anchor: Mapping[Any, float] | None = None,
        overwrite: bool = True,
        bom: bool = False,
    ) -> None:
        """Write the table to a file: CSV, TSV, Markdown, LaTeX, JSON, Parquet or Excel by the ending of its name.

        Markdown and LaTeX get the table that is shown, the others that of `table`. ``scale`` and ``anchor`` as there,
        the rest as of `preflearn.io.export.write_table`.
        """
        columns, shown = self.table(scale, anchor), self.listing(scale, anchor)
        write_table(columns, path, shown=shown, overwrite=overwrite, bom=bom)

    def summary(
        self, scale: str = "utility", anchor: Mapping[Any, float] | None = None, *, dialect: Dialect = PYTHON
    ) -> dict[str, Any]:
        """Return everything that was found as plain values, ready for JSON.

        ``scale`` and ``anchor`` are as of `table`; texts write settings as readers of the ``dialect`` do.
        """
        verdict = self.rankability
        units, columns = self.scale(scale, anchor), self.table(scale, anchor)
        return {
            "n_items": len(self),
            "n_comparisons": self.data.n_listed,
            "level": self.ranking.level,
            "read": list(self.notes),
            "model": {
                "name": self.ladder.terms.name,
                "meaning": self.ladder.terms.words,
                "why": self.ladder.why,
                "tried": [
                    {
                        "name": one.name,
                        "log_evidence": one.log_evidence,
                        "price": one.price,
                        "penalised_evidence": one.penalised_evidence,
                    }
                    for one in self.ladder.ordered
                ],
                "no_sign": [{"term": one.term, "expected_gain": one.gain} for one in self.ladder.no_sign],
                "left_out": [str(one) for one in self.ladder.left_out],
            },
            "rankability": None
            if verdict is None
            else {
                "verdict": verdict.verdict,
                "circles_learned": "both" in verdict.models,  # if not, the odds are the most that the p-value can mean
                "log_odds_of_circles": verdict.log_odds,
                "p_value": verdict.p_value,
                "ranking_share": verdict.ranking_share,
                "ordered": verdict.ordered,
                "along": list(verdict.along),
                "cycles": [
                    {"items": [_plain(name) for name in names], "weakest": strength}
                    for strength, names in verdict.cycles
                ],
            },
            "checks": [
                {"term": one.term, "found": one.found, "log_odds": _plain(one.log_odds), "text": one.worded(dialect)}
                for one in self.checks
            ],
            "effects": [
                {"term": term, **{key: _plain(value) for key, value in one._asdict().items()}}
                for term, one in self._effects()
            ],
            "scale": {"name": units.name, "unit": units.unit, "average": units.origin},
            "warnings": [
                {"kind": one.kind, "text": one.worded(dialect), "items": [_plain(name) for name in one.items]}
                for one in self.warnings
            ],
            "ranking": [
                {key: _plain(value) for key, value in zip(columns, row, strict=True)}
                for row in zip(*columns.values(), strict=True)
            ],
        }

    def _effects(self) -> list[tuple[str, Any]]:
        """Return what a side and covariates add, in units of utility with central 90 % intervals."""
        side = [("side", self.model.side_effect_)] if "side" in self.ladder.terms else []
        there = "covariates" in self.ladder.terms
        return side + [("covariates", one) for one in (self.model.covariate_effects_ if there else [])]

    def listing(
        self, scale: str = "utility", anchor: Mapping[Any, float] | None = None, columns: Sequence[str] = LISTED
    ) -> TextTable:
        """Return the table that is shown, to be written as text, HTML, Markdown or LaTeX; ``columns`` are keys.

        Keys are those of `Ranking.listing`, ``raw_place`` and ``record``; other parameters are as of `table`.
        """
        units, raw = self.scale(scale, anchor), self.raw_place
        title = "Elo" if units.name == "elo" else units.name
        known = dict(self.ranking.listing(units.points, units.digits, title).columns)
        known["record"] = Column("W-L-T", self.ranking.row, self.record.text, "text", spare=4)
        if raw is not None:
            known["raw_place"] = Column("raw", raw)
        return TextTable(known).select(*columns)

    @property
    def checked(self) -> str:
        """The checks in one sentence; empty if there was nothing to check."""
        return sentence_of(self.checks)

    def _sentences(self) -> list[str]:
        """Return what is said below the table, but for the warnings."""
        verdict = [] if self.rankability is None else [self.rankability.sentence]
        return [f"Model: {self.ladder.why}.", *verdict, *([f"Checks: {self.checked}"] if self.checked else [])]

    def __str__(self) -> str:
        more = [f"... and {len(self) - SHOWN:,} more"] if len(self) > SHOWN else []
        warned = [f"Warning: {one}" for one in self.warnings]
        return "\n".join([self.listing().top(SHOWN).text(), *more, "", *self._sentences(), *warned])

    __repr__ = __str__  # as data frames do: what a prompt shows is the table

    def _repr_html_(self) -> str:
        more = f"<p>... and {len(self) - SHOWN:,} more: to_pandas() has all.</p>" if len(self) > SHOWN else ""
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self._sentences())
        warned = "".join(f"<li>{html.escape(str(one))}</li>" for one in self.warnings)
        return (
            f'<div style="max-width:60em;overflow-x:auto">{self.listing().top(SHOWN).html()}</div>'
            f'<div style="max-width:60em">{more}{lines}'
            + (f"<p>Before you trust it:</p><ul>{warned}</ul>" if warned else "")
            + "</div>"
        )

    def _file_model(self) -> tuple[Any, dict[str, Any]]:
        """Return what `preflearn.save` keeps: the model, and how new items are encoded."""
        data = f"{plural(self.data.n_listed, 'comparison')} of {plural(self.data.n_items, 'item')}"
        return self.model, {"data": data, "encoder": None if self.encoder is None else self.encoder.to_dict()}

    def plot(self, *, top: int | None = 30, ax: Axes | None = None) -> Axes:
        """Draw the utilities with their intervals, the best at the top (needs matplotlib)."""
        from preflearn.plots import plot_ranking

        return plot_ranking(self.ranking, top=top, ax=ax)


def _counts(values: Any) -> Any:
    """Return counts as whole numbers, unless some are sums of weights."""
    return values.astype(np.int64) if np.all(values == np.round(values)) and np.all(values < 2**62) else values


def _plain(value: Any) -> Any:
    """Return a value that JSON knows."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


SCALES = ("utility", "elo")
ELO = 400.0 / math.log(10.0)  # points for one unit of log odds: 400 points are odds of 10 to 1
AVERAGE_ELO = 1500.0  # rating of the average item where no item is given a number
LOGISTIC_DEVIATION = math.pi / math.sqrt(3.0)


@dataclass(frozen=True)
class Scale:
    """A change of units: a utility u, relative to the average item, is shown as ``unit * u + origin``.

    Attributes
    ----------
    name : {"utility", "elo"}
        What the numbers are called.
    unit : float
        Points for one unit of utility; deviations are multiplied by it.
    origin : float
        Points of the average item.
    digits : int
        Digits after the point that are printed.
    """

    name: str = "utility"
    unit: float = 1.0
    origin: float = 0.0
    digits: int = 2

    def points(self, utility: Any) -> FloatArray:
        """Return utilities, or ends of their intervals, on this scale."""
        return np.asarray(self.unit * np.asarray(utility) + self.origin)

    def widths(self, std: Any) -> FloatArray:
        """Return deviations on this scale."""
        return np.asarray(self.unit * np.asarray(std))


def scale_of(
    ranking: Ranking, likelihood: Any, name: str = "utility", anchor: Mapping[Any, float] | None = None
) -> Scale:
    r"""Return the scale of a ranking; ``name`` and ``anchor`` are as in `RankResult.table`.

    With a logit link the log odds between two items are the difference of their utilities in units of the noise's scale
    s, so that one unit of utility is :math:`400 / (s \ln 10)` points (where there are ties, these are the odds
    before a threshold for ties). A probit link has no constant odds: its normal noise is replaced by logistic noise of
    the same standard deviation, whose probabilities differ from it by at most 0.023.

    An anchor moves the numbers and nothing else. Intervals stay what they are without it, those of an item relative to
    the average of all, so that the anchor has an interval, too, and a poorly known anchor does not blur all others.
    """
    if name not in SCALES:
        raise DataError(code="unknown-scale", owner="rank").says(
            f'the scale "{name}" is not known', f"Choose from {', '.join(SCALES)}"
        )
    elo = name == "elo"
    unit = ELO * LOGISTIC_DEVIATION / float(likelihood.noise_deviation) if elo else 1.0
    origin, digits = (AVERAGE_ELO, 0) if elo else (0.0, 2)
    if anchor is not None:
        where, value = find_anchor(ranking.names, anchor)
        origin = value - unit * float(ranking.utility[where])
    return Scale(name, unit, origin, digits)


def find_anchor(items: Any, anchor: Mapping[Any, float]) -> tuple[int, float]:
    """Return the place of the anchor among the names of items, and its number."""
    if not isinstance(anchor, Mapping):
        raise TypeError(f"rank: anchor must be a dict of one item and its number; got {type(anchor).__name__}.")
    if len(anchor) != 1:
        raise DataError(code="not-one-anchor", owner="rank").says(
            f"the anchor has {len(anchor)} items", "Give one with its number"
        )
    ((item, value),) = anchor.items()
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise DataError(code="anchor-not-finite", owner="rank").says(
            f'the anchor "{item}" has the number {value!r}', "Give a finite one"
        )
    names = [str(name) for name in items]
    if str(item) not in names:
        near = nearest_names(str(item), names, limit=3)
        raise DataError(code="unknown-anchor", owner="rank").says(
            f'the anchor "{item}" is not among the {len(names)} ranked items{f" ({near})" if near else ""}',
            "Give the name as the ranking prints it",
        )
    return names.index(str(item)), float(value)


def raw_places(analysis: Analysis, ranking: Ranking) -> IntArray | None:
    """Return places by the same model without side and covariates, in the order of the ranking; None without these.

    Costs one more fit, unless that model was on the ladder.
    """
    terms = analysis.ladder.terms.without("side", "covariates")
    if terms == analysis.ladder.terms:
        return None
    data, limits = analysis.data, analysis.limits
    step = next((one for one in analysis.ladder.steps if one.terms == terms), None)
    if step is None:
        step = fit_step(data, terms, None, 0, limits)
    items = ranking.row if data.names is None else data.names[ranking.row]
    raw = refined(data, step, limits).model.rank(items, k=1, n_samples=1, random_state=0)
    places = np.empty(len(ranking), dtype=np.intp)
    places[raw.row] = raw.rank
    return places
