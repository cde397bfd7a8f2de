"""The first screen: the answer in a few sentences, the ranking as figure and table, and the warnings."""

from __future__ import annotations

import base64

import numpy as np

from preflearn.analysis.suggestions import runs_in_circles
from preflearn.io.export import csv_text
from preflearn.messages import WORDS
from preflearn.report.context import Shown
from preflearn.report.markup import (
    LONGEST_TEXT,
    bullets,
    clean,
    counted,
    details,
    escape,
    isolated,
    name,
    number,
    paragraph,
    percent,
    table,
)
from preflearn.report.svg import Drawing, spread_ticks, tick_text
from preflearn.table_format import plural, shortened, typeset

LISTED = ("rank", "raw_place", "tier", "item", "utility", "interval", "places", "p_best", "p_next", "p_win", "record")
FIRST_LISTED, MOST_LISTED = 100, 5_000  # rows of the table that are seen at once, and at all
MOST_DRAWN, FIRST_DRAWN, LAST_DRAWN = 40, 30, 10  # rows of the figure
LONGEST_NOTE = 300  # characters of the warning above all


def answer(shown: Shown) -> str:
    """Return who leads and how sure that is, whether there is a ranking at all, and the gravest warning."""
    sentences = [_leader(shown), _rankable(shown)]
    if not shown.result.warnings:
        sentences.append("There are no warnings about these comparisons.")
    grave = [one for one in shown.result.warnings if one.kind not in ("circles", "noise", "not examined")]
    if grave:
        more = len(shown.result.warnings) - 1
        rest = f' (<a href="#warnings">and {plural(more, "other warning")}</a>)' if more else ""
        sentences.append(f"<strong>Note:</strong> {escape(clean(grave[0].worded(WORDS), LONGEST_NOTE))}{rest}")
    return "".join(paragraph(sentence) for sentence in sentences if sentence)


def _leader(shown: Shown) -> str:
    """Return who is first, and how sure that is."""
    r, names, limits = shown.result.ranking, shown.names, shown.result.analysis.limits
    n, best = len(r), float(r.p_best[0])
    first = f"<strong>{name(names[0])}</strong>"
    if n == 1:
        return f"{first} is the only item."
    if shown.verdict == "cyclic":
        return f"{first} is placed first of {n:,}, but places mean little here."
    if shown.verdict == "only noise":
        return f"{first} is placed first of {n:,}, but chance alone could have put it there."
    second = name(names[1])
    if best >= limits.best:
        return f"{first} is the best of {plural(n, 'item')}, with probability {counted(best)}."
    rivals = int(np.argsort(-np.asarray(r.p_best), kind="stable")[0])
    placed = f"{first} is placed first of {plural(n, 'item')}"
    if rivals != 0:
        other = f"{name(names[rivals])} with {counted(r.p_best[rivals])}"
        return f"{placed} by its mean; it is the best with probability {counted(best)}, and {other}."
    if r.p_next[0] < limits.told_apart:
        return (
            f"{placed}, and is the best with probability {counted(best)}; that it is better than {second}, the next, "
            f"is only {counted(r.p_next[0])} sure."
        )
    return f"{placed}, and is the best with probability {counted(best)}; next comes {second} ({counted(r.p_best[1])})."


def _rankable(shown: Shown) -> str:
    """Return in plain words whether there is a ranking at all."""
    found = shown.result.rankability
    if found is None:
        return "Whether there is a single ranking at all was not examined."
    if found.verdict in ("undecided", "only noise") and not found.hint:
        return found.sentence
    share = ""
    if found.verdict == "partly cyclic":
        share = f"a ranking explains {percent(found.ranking_share)} of the learned preferences, "
    return f"{found.sentence.rstrip('.')} ({share}{found.odds})."


def ranking(shown: Shown) -> str:
    """Return the ranking as a figure, as a table of all items, and as a file."""
    r = shown.result.ranking
    n, level = len(r), f"{100 * r.level:.0f}\N{NO-BREAK SPACE}%"
    listing = shown.result.listing(columns=LISTED).top(MOST_LISTED)
    at = list(listing.columns).index("item")
    left = [k for k, one in enumerate(listing.columns.values()) if one.kind != "number"]
    rows = [
        [name(shown.names[i]) if k == at else escape(typeset(cell)) for k, cell in enumerate(row)]
        for i, row in enumerate(listing.rows)
    ]
    words = paragraph(
        (
            "Utilities are how much an item is preferred to all items on average."
            if runs_in_circles(shown.result.model)
            else "Utilities are relative to the average item."
        )
        + f" The interval holds an item's utility, and <em>places</em> its true place, with probability {level}. Items "
        "of one tier cannot be told apart from the first item of that tier.",
    )
    first = table(f"Ranking of {plural(n, 'item')}, the best first", listing.titles, rows[:FIRST_LISTED], left, "items")
    rest = table("", listing.titles, rows[FIRST_LISTED:], left, "more-items") if n > FIRST_LISTED else ""
    more = f"Places {FIRST_LISTED + 1} to {len(rows):,}"
    cut = f"The table and the file have the first {MOST_LISTED:,} of {n:,} items." if n > MOST_LISTED else ""
    file = f'<a download="ranking.csv" href="data:text/csv;base64,{_csv(shown)}">Download the table (CSV)</a>'
    return words + _figure(shown) + paragraph(file, cut, kind="tools") + first + (details(more, rest) if rest else "")


def _csv(shown: Shown) -> str:
    """Return the whole table as a file for spreadsheets, in base 64."""
    columns = {
        key: [float(f"{value:.6g}") if isinstance(value, float) else value for value in values[:MOST_LISTED]]
        for key, values in shown.result.table().items()
    }
    text = csv_text(columns | {"item": shown.names[:MOST_LISTED]})
    return base64.b64encode(text.encode("utf-8-sig", "replace")).decode("ascii")


def _figure(shown: Shown) -> str:
    r, names = shown.result.ranking, shown.names
    n = len(r)
    kept = list(range(n)) if n <= MOST_DRAWN else [*range(FIRST_DRAWN), *range(n - LAST_DRAWN, n)]
    gap = len(kept) < n
    low, high = float(np.min(r.low[kept])), float(np.max(r.high[kept]))
    if not high > low:
        low, high = low - 1, high + 1
    left, right, step, top = 158.0, 430.0, 18.0, 8.0
    height = top + step * (len(kept) + gap) + 36

    def x(value: float) -> float:
        return left + (right - left) * (float(value) - low) / (high - low)

    drawing = Drawing(440, height)
    bottom = height - 32
    for tick in spread_ticks(low, high):
        drawing.line(x(tick), top, x(tick), bottom, "even" if tick == 0 else "grid")
        drawing.text(x(tick), bottom + 13, tick_text(tick), "small soft", anchor="middle")
    drawing.text((left + right) / 2, bottom + 27, "utility (0: the average item)", "small soft", anchor="middle")
    for line, i in enumerate(kept):
        y = top + step * (line + (gap and line >= FIRST_DRAWN) + 0.5)
        if line and r.tier[i] > r.tier[kept[line - 1]]:
            drawing.line(33, y - step / 2, right, y - step / 2, "grid")
        drawing.text(27, y + 4, f"{r.rank[i]}", "small soft", anchor="end")
        drawing.text(33, y + 4, shortened(names[i], 16))
        drawing.line(x(r.low[i]), y, x(r.high[i]), y, "reach")
        drawing.dot(x(r.utility[i]), y, 3.6, "dot")
    if gap:
        y = top + step * (FIRST_DRAWN + 0.5)
        drawing.text(33, y + 4, f"\N{VERTICAL ELLIPSIS} {n - len(kept):,} more", "small soft")
    level = f"{100 * r.level:.0f} %"
    apart = int(np.count_nonzero(r.low[0] > r.high[1:]))
    description = (
        f"{isolated(names[0])} is first with a utility of {number(r.utility[0])} ({level} interval "
        f"{number(r.low[0])} to {number(r.high[0])}), {isolated(names[-1])} last with {number(r.utility[-1])}. The "
        f"interval of the first is above those of {apart:,} of {n - 1:,} others. The table below has the same figures."
    )
    caption = f"A dot is an item's utility, the band its {level} interval; a line across separates two tiers."
    if gap:
        caption += f" Drawn are the first {FIRST_DRAWN} and the last {LAST_DRAWN}."
    return drawing.html("ranking", f"Utilities of {plural(n, 'item')} with intervals", description, caption)


def warned(shown: Shown) -> str:
    """Return the warnings, the gravest first."""
    found = shown.result.warnings
    return bullets((escape(clean(one.worded(WORDS), LONGEST_TEXT)) for one in found), "warned") if found else ""
