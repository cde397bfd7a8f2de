"""A ranking with what it rests on: the table, the model and why, the verdict and the warnings."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from preflearn.analysis.advice import Advice
from preflearn.analysis.analyse import Analysis
from preflearn.analysis.check_results import Check, checks_of
from preflearn.analysis.frames import pandas_frame, polars_frame
from preflearn.analysis.ladder import Ladder
from preflearn.analysis.raw import is_adjusted, raw_places
from preflearn.analysis.record import Record
from preflearn.analysis.scale import Scale, scale_of
from preflearn.data import Comparisons
from preflearn.io import ItemEncoder
from preflearn.models.ranking import Ranking
from preflearn.operators import IntArray
from preflearn.structure import JudgeReport, Rankability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RankResult"]

_SHOWN = 30  # rows of a long table that are printed
LEFT = ("item", "places", "W-L-T")  # columns of text


@dataclass(frozen=True, repr=False)
class RankResult:
    """What `preflearn.rank` found; printing it shows the table and the warnings.

    Parameters
    ----------
    ranking : Ranking
        Items from best to worst with utilities, intervals and probabilities.
    analysis : Analysis
        What it rests on: ``data``, ``record``, ``model``, ``ladder``, ``rankability`` and ``judges`` are its own.
    warnings : tuple of Advice
        What should be known before the ranking is trusted, the gravest first.
    told : tuple of str
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
    told: tuple[str, ...] = ()
    encoder: ItemEncoder | None = None

    @property
    def data(self) -> Comparisons:
        """What was learned from."""
        return self.analysis.data

    @property
    def record(self) -> Record:
        """Wins, losses and ties of the items in the order of the item table."""
        return self.analysis.record

    @property
    def model(self) -> Any:
        """The fitted model: ``predict_proba`` for single pairs, ``rank`` for other items.

        Where preferences run in circles it has a part for these, and items are ranked by how much they are preferred to
        all items on average.
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
        """How far each judge can be relied upon, where judges are named."""
        return self.analysis.judges

    def __len__(self) -> int:
        return len(self.ranking)

    @property
    def checks(self) -> tuple[Check, ...]:
        """What was looked for beside a ranking, and whether it was found, either way."""
        return checks_of(self.analysis)

    @property
    def unsure(self) -> bool:
        """Whether no item can be told from the first one: places then say nothing."""
        return bool(self.ranking.tier.max() == 1)

    @cached_property
    def raw_place(self) -> IntArray | None:
        """Places, in the order of the ranking, if sides and covariates were not held equal; None if none are.

        That model is learned when this is first asked for, unless it was tried before.
        """
        return raw_places(self.analysis, self.ranking) if is_adjusted(self.analysis) else None

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
            ``utility``, 400 points for odds of 10 to 1 (`preflearn.analysis.scale.scale_of` says how).
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
        return pandas_frame(self.table(scale, anchor))

    def to_polars(self, scale: str = "utility", anchor: Mapping[Any, float] | None = None) -> Any:
        """Return the table as a polars DataFrame; parameters as of `table`."""
        return polars_frame(self.table(scale, anchor))

    def summary(self, scale: str = "utility", anchor: Mapping[Any, float] | None = None) -> dict[str, Any]:
        """Return everything that was found as plain values, ready for JSON; parameters as of `table`."""
        verdict = self.rankability
        units, columns = self.scale(scale, anchor), self.table(scale, anchor)
        return {
            "n_items": len(self),
            "n_comparisons": len(self.data),
            "level": self.ranking.level,
            "read": list(self.told),
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
                {"term": one.term, "found": one.found, "log_odds": _plain(one.log_odds), "text": one.text}
                for one in self.checks
            ],
            "scale": {"name": units.name, "unit": units.unit, "average": units.origin},
            "warnings": [
                {"kind": one.kind, "text": str(one), "items": [_plain(name) for name in one.items]}
                for one in self.warnings
            ],
            "ranking": [
                {key: _plain(value) for key, value in zip(columns, row, strict=True)}
                for row in zip(*columns.values(), strict=True)
            ],
        }

    def rows(
        self, top: int | None = None, scale: str = "utility", anchor: Mapping[Any, float] | None = None
    ) -> tuple[list[str], list[list[str]]]:
        """Return the header and the first ``top`` rows of the table, as text; other parameters as of `table`."""
        r, raw, units = self.ranking, self.raw_place, self.scale(scale, anchor)
        utility, low, high = (units.points(of) for of in (r.utility, r.low, r.high))
        digits = units.digits
        header = [
            "rank",
            *([] if raw is None else ["raw"]),
            "tier",
            "item",
            "Elo" if units.name == "elo" else units.name,
        ]
        header += [f"{100 * r.level:.0f} % interval", "places", "P(best)", "P(win)", "W-L-T"]
        lines = []
        for i in range(len(r) if top is None else min(top, len(r))):
            lines.append(
                [
                    f"{r.rank[i]}",
                    *([] if raw is None else [f"{raw[i]}"]),
                    f"{r.tier[i]}",
                    f"{r.names[i]}",
                    rounded(utility[i], digits),
                    f"{rounded(low[i], digits)} to {rounded(high[i], digits)}",
                    f"{r.rank_low[i]}-{r.rank_high[i]}" if r.rank_low[i] < r.rank_high[i] else f"{r.rank_low[i]}",
                    percent(r.p_best[i]),
                    percent(r.p_win[i]),
                    self.record.told(r.row[i]),
                ]
            )
        return header, lines

    @property
    def checked(self) -> str:
        """The checks in one sentence; empty if there was nothing to check."""
        said = "; ".join(one.text for one in self.checks)
        return f"{said[:1].upper()}{said[1:]}." if said else ""

    def __str__(self) -> str:
        header, rows = self.rows(_SHOWN)
        wide = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
        left = [name in LEFT for name in header]
        lines = [
            "  ".join(cell.ljust(wide[k]) if left[k] else cell.rjust(wide[k]) for k, cell in enumerate(row)).rstrip()
            for row in [header, *rows]
        ]
        if len(self) > len(rows):
            lines.append(f"... and {len(self) - len(rows)} more")
        lines += ["", f"Model: {self.ladder.why}."]
        if self.rankability is not None:
            lines.append(self.rankability.told)
        lines += [f"Checks: {self.checked}"] if self.checked else []
        lines += [f"Warning: {one}" for one in self.warnings]
        return "\n".join(lines)

    __repr__ = __str__  # as data frames do: what a prompt shows is the table

    def _repr_html_(self) -> str:
        header, rows = self.rows(_SHOWN)
        style = [f"text-align:{'left' if name in LEFT else 'right'};white-space:nowrap" for name in header]
        style[header.index("item")] = "text-align:left;max-width:24em;overflow-wrap:anywhere"
        head = _cells("th", header, style)
        body = "".join(f"<tr>{_cells('td', row, style)}</tr>" for row in rows)
        more = f"<p>... and {len(self) - len(rows):,} more: to_pandas() has all.</p>" if len(self) > len(rows) else ""
        said = [f"Model: {self.ladder.why}.", *([] if self.rankability is None else [self.rankability.told])]
        said += [f"Checks: {self.checked}"] if self.checked else []
        told = "".join(f"<p>{html.escape(line)}</p>" for line in said)
        warned = "".join(f"<li>{html.escape(str(one))}</li>" for one in self.warnings)
        return (
            # no colours of its own: those of the notebook, light or dark
            '<div style="max-width:60em;overflow-x:auto"><table style="font-variant-numeric:tabular-nums">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
            f'<div style="max-width:60em">{more}{told}'
            + (f"<p>Before you trust it:</p><ul>{warned}</ul>" if warned else "")
            + "</div>"
        )

    def _file_model(self) -> tuple[Any, dict[str, Any]]:
        """Return what `preflearn.save` keeps: the model, and how new items are encoded."""
        told = f"{len(self.data):,} comparisons of {self.data.n_items:,} items"
        return self.model, {"data": told, "encoder": None if self.encoder is None else self.encoder.to_dict()}

    def plot(self, *, top: int | None = 30, ax: Axes | None = None) -> Axes:
        """Draw the utilities with their intervals, the best at the top (needs matplotlib)."""
        from preflearn.plots import plot_ranking

        return plot_ranking(self.ranking, top=top, ax=ax)


def _cells(tag: str, cells: list[str], style: list[str]) -> str:
    """Return escaped cells of a row of HTML."""
    pairs = zip(cells, style, strict=True)
    return "".join(f'<{tag} style="{how}">{html.escape(cell)}</{tag}>' for cell, how in pairs)


def rounded(value: float, digits: int) -> str:
    """Return a number with some digits, without a sign before zero."""
    return f"{round(float(value), digits) + 0.0:.{digits}f}"


def _counts(values: Any) -> Any:
    """Return counts as whole numbers, unless some are sums of weights."""
    return values.astype(np.int64) if np.all(values == np.round(values)) and np.all(values < 2**62) else values


def percent(p: float) -> str:
    """Return a probability that was counted over draws: none of them does not mean never."""
    text = f"{p:.0%}"
    return {"0%": "<1%", "100%": ">99%"}.get(text, text)


def _plain(value: Any) -> Any:
    """Return a value that JSON knows."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
