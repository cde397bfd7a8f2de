"""A ranking with what it rests on: the table, the model and why, the verdict and the warnings."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from preflearn.analysis.advice import Advice
from preflearn.analysis.analyse import Analysis
from preflearn.analysis.ladder import Ladder
from preflearn.analysis.record import Record
from preflearn.data import Comparisons
from preflearn.io import ItemEncoder
from preflearn.models.ranking import Ranking
from preflearn.structure import JudgeReport, Rankability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RankResult"]

_SHOWN = 30  # rows of a long table that are printed


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

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the table as lists by column, ready for a data frame of any library."""
        r, rows = self.ranking, self.ranking.row
        columns = {
            "rank": r.rank,
            "item": np.asarray(r.names),
            "utility": r.utility,
            "std": r.std,
            "low": r.low,
            "high": r.high,
            "rank_low": r.rank_low,
            "rank_high": r.rank_high,
            "p_best": r.p_best,
            "p_above_next": r.p_next,
            "wins": self.record.wins[rows],
            "losses": self.record.losses[rows],
            "ties": self.record.ties[rows],
        }
        return {name: values.tolist() for name, values in columns.items()}

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "to_pandas needs pandas: pip install pandas. Or use to_dict() with the data frame library you have."
            ) from None
        return pd.DataFrame(self.to_dict())

    def summary(self) -> dict[str, Any]:
        """Return everything that was found as plain values, ready for JSON."""
        verdict = self.rankability
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
            "warnings": [
                {"kind": one.kind, "text": one.text, "items": [_plain(name) for name in one.items]}
                for one in self.warnings
            ],
            "ranking": [
                {key: _plain(value) for key, value in zip(self.to_dict(), row, strict=True)}
                for row in zip(*self.to_dict().values(), strict=True)
            ],
        }

    def rows(self, top: int | None = None) -> tuple[list[str], list[list[str]]]:
        """Return the header and the first ``top`` rows of the table, as text."""
        r = self.ranking
        header = ["rank", "item", "utility", f"{100 * r.level:.0f} % interval", "places", "P(best)", "W-L-T"]
        lines = []
        for i in range(len(r) if top is None else min(top, len(r))):
            lines.append(
                [
                    f"{r.rank[i]}",
                    f"{r.names[i]}",
                    two(r.utility[i]),
                    f"{two(r.low[i])} to {two(r.high[i])}",
                    f"{r.rank_low[i]}-{r.rank_high[i]}" if r.rank_low[i] < r.rank_high[i] else f"{r.rank_low[i]}",
                    percent(r.p_best[i]),
                    self.record.told(r.row[i]),
                ]
            )
        return header, lines

    def __str__(self) -> str:
        header, rows = self.rows(_SHOWN)
        wide = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
        left = (1, 4, 6)
        lines = [
            "  ".join(cell.ljust(wide[k]) if k in left else cell.rjust(wide[k]) for k, cell in enumerate(row)).rstrip()
            for row in [header, *rows]
        ]
        if len(self) > len(rows):
            lines.append(f"... and {len(self) - len(rows)} more")
        lines += ["", f"Model: {self.ladder.why}."]
        if self.rankability is not None:
            lines.append(self.rankability.told)
        lines += [f"Warning: {one.text}" for one in self.warnings]
        return "\n".join(lines)

    __repr__ = __str__  # as data frames do: what a prompt shows is the table

    def _repr_html_(self) -> str:
        header, rows = self.rows(_SHOWN)
        left = ("item", "places", "W-L-T")
        style = [f"text-align:{'left' if name in left else 'right'};white-space:nowrap" for name in header]
        style[1] = "text-align:left;max-width:24em;overflow-wrap:anywhere"
        head = _cells("th", header, style)
        body = "".join(f"<tr>{_cells('td', row, style)}</tr>" for row in rows)
        more = f"<p>... and {len(self) - len(rows):,} more: to_pandas() has all.</p>" if len(self) > len(rows) else ""
        said = [f"Model: {self.ladder.why}.", *([] if self.rankability is None else [self.rankability.told])]
        told = "".join(f"<p>{html.escape(line)}</p>" for line in said)
        warned = "".join(f"<li>{html.escape(one.text)}</li>" for one in self.warnings)
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


def two(value: float) -> str:
    """Return a number with two digits, without a sign before zero."""
    return f"{round(float(value), 2) + 0.0:.2f}"


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
