"""The comparison graph: who was compared with whom, how often, and where outcomes run against the ranking."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from preflearn.data.pair_table import net_preferences
from preflearn.operators import FloatArray
from preflearn.report.context import Shown
from preflearn.report.markup import details, isolated, name, number, paragraph, table
from preflearn.report.svg import Drawing
from preflearn.table_format import plural, shortened

MOST = 60  # items
UPRIGHT = 14  # items up to which names are written level
CROWDED = 25  # above so many items the figure has a minimum width
MOST_PAIRS = 100  # rows of the table


def graph(shown: Shown) -> str:
    """Return the graph as a figure, and its pairs as a table."""
    n = len(shown.names)
    if n < 2:
        return ""
    low, high, net, weight = _edges(shown)
    met = len(low)
    possible = n * (n - 1) // 2
    parts = len(np.unique(shown.result.data.parts()[shown.rows]))
    upsets = int(np.count_nonzero(net < 0))
    joined = "Chains of comparisons join all items." if parts == 1 else f"They fall into {parts} parts that never met."
    words = [
        f"Pairs that were compared: {met:,} of {possible:,}, the most frequent one {_times(weight.max(initial=0.0))}.",
        joined,
        f"In {plural(upsets, 'pair')} the lower placed item won more often." if upsets else "",
    ]
    pairs = details("The pairs as a table", _table(shown, low, high, net, weight))
    kept = high < MOST
    if n > MOST and not kept.any():
        return paragraph(*words, f"It is not drawn: none of the first {MOST} items met.") + pairs
    drawn = _figure(shown, low[kept], high[kept], net[kept], weight[kept])
    return paragraph(*words) + drawn + pairs


def _edges(shown: Shown) -> tuple[Any, Any, FloatArray, FloatArray]:
    """Return pairs of places, the better first, with the net preference for it and the number of comparisons."""
    pairs, net = net_preferences(shown.result.data)
    one, other = shown.place[pairs.low], shown.place[pairs.high]
    seen = (one >= 0) & (other >= 0)
    one, other, net, weight = one[seen], other[seen], net[seen], pairs.count[seen]
    net = np.where(one < other, net, -net) + 0.0
    low, high = np.minimum(one, other), np.maximum(one, other)
    order = np.lexsort((high, low))
    return low[order], high[order], net[order], weight[order]


def _times(value: float) -> str:
    return {1.0: "once", 2.0: "twice"}.get(
        float(value), f"{value:,.0f} times" if value % 1 == 0 else f"{value:.1f} times"
    )


def _figure(shown: Shown, low: Any, high: Any, net: FloatArray, weight: FloatArray) -> str:
    n = min(len(shown.names), MOST)
    level = n <= UPRIGHT
    radius = 135.0 if level else 150.0
    centre_x, centre_y = (240.0, 165.0) if level else (250.0, 250.0)
    angle = 2 * np.pi * np.arange(n) / n - np.pi / 2
    drawing = Drawing(2 * centre_x, centre_y + radius * float(np.sin(angle).max()) + (30 if level else 100))
    x, y = centre_x + radius * np.cos(angle), centre_y + radius * np.sin(angle)
    most = max(float(weight.max(initial=1.0)), 1e-300)
    thin = float(np.clip(np.sqrt(30 / max(len(weight), 1)), 0.3, 1.0))  # many lines are thin ones
    wide = np.maximum(4.5 * thin * np.sqrt(weight / most), 0.5)
    kinds = ("edge", "upset") if n <= CROWDED else ("edge many", "upset many")
    circle = _strongest(shown, n)
    marked = {frozenset(pair) for pair in circle}
    for k in np.argsort(net < 0, kind="stable"):  # against the ranking: on top
        a, b = int(low[k]), int(high[k])
        if frozenset((a, b)) not in marked:
            drawing.line(x[a], y[a], x[b], y[b], kinds[bool(net[k] < 0)], wide=float(wide[k]))
    for a, b in circle:
        _arrow(drawing, (x[a], y[a]), (x[b], y[b]))
    for i in range(n):
        drawing.dot(x[i], y[i], 4.0 if n <= CROWDED else 3.0, "dot")
        _label(drawing, shown, i, angle[i], centre_x, centre_y, radius, level)
    upsets = int(np.count_nonzero(net < 0))
    drawn = f"the first {n} of {len(shown.names):,} items" if len(shown.names) > n else f"{n} items"
    description = (
        f"{plural(len(low), 'pair')} of {drawn} were compared; in {upsets:,} the lower placed item won more often. "
        "Items stand on a circle, clockwise from the top in the order of the ranking. The table below lists the pairs."
    )
    caption = (
        f"Comparisons of {drawn}, clockwise from the top by place. The thicker a line, the more often the two were "
        "compared; orange: the lower placed won more often."
    )
    if circle:
        names = [isolated(shortened(shown.names[a], 20)) for a, _ in circle]
        description += f" The strongest circle is {' > '.join([*names, names[0]])}."
        caption += " Arrows: the strongest circle, each preferred to the next."
    return drawing.html("graph", "Comparison graph", description, caption, wide=n > CROWDED)


def _strongest(shown: Shown, n: int) -> list[tuple[int, int]]:
    """Return the pairs of the strongest circle by place, if there are circles and all of it is drawn."""
    found = shown.result.rankability
    if found is None or not found.cycles or not found.found:
        return []
    place = {key: k for k, key in enumerate(shown.result.ranking.names[:n])}
    around = [place.get(item, -1) for item in found.cycles[0][1]]
    return [] if min(around) < 0 else [(a, b) for a, b in zip(around, [*around[1:], around[0]], strict=True)]


def _arrow(drawing: Drawing, start: tuple[float, float], end: tuple[float, float]) -> None:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    ux, uy = dx / length, dy / length
    tip = end[0] - 7 * ux, end[1] - 7 * uy
    back = tip[0] - 11 * ux, tip[1] - 11 * uy
    drawing.line(start[0], start[1], back[0], back[1], "circle", wide=3.4)
    wings = [tip, (back[0] - 6 * uy, back[1] + 6 * ux), (back[0] + 6 * uy, back[1] - 6 * ux)]
    drawing.path(wings, "head", closed=True)


def _label(
    drawing: Drawing, shown: Shown, i: int, angle: float, cx: float, cy: float, radius: float, level: bool
) -> None:
    far = radius + 11
    x, y = cx + far * math.cos(angle), cy + far * math.sin(angle)
    if level:
        across = math.cos(angle)
        anchor = "middle" if abs(across) < 0.2 else "start" if across > 0 else "end"
        lift = 4.0 + 5.0 * math.sin(angle) * (abs(across) < 0.2)
        drawing.text(
            x, y + lift, f"{i + 1} {shortened(shown.names[i], 11 if anchor != 'middle' else 24)}", anchor=anchor
        )
        return
    degrees = math.degrees(angle)
    turned, anchor = (degrees, "start") if math.cos(angle) >= -1e-9 else (degrees + 180, "end")
    words = (
        f"{i + 1} {shortened(shown.names[i], 12)}" if anchor == "start" else f"{shortened(shown.names[i], 12)} {i + 1}"
    )
    down = 3.0
    x, y = x - down * math.sin(math.radians(turned)), y + down * math.cos(math.radians(turned))
    drawing.text(x, y, words, "small", anchor=anchor, turned=turned)


def _table(shown: Shown, low: Any, high: Any, net: FloatArray, weight: FloatArray) -> str:
    order = np.argsort(-weight, kind="stable")[:MOST_PAIRS]
    rows = [[name(shown.names[low[k]]), name(shown.names[high[k]]), f"{weight[k]:g}", number(net[k])] for k in order]
    more = f", the {len(rows)} most frequent of {len(low):,}" if len(rows) < len(low) else ""
    caption = f"Compared pairs{more}; the mean outcome is 1 where the better placed always won, -1 where it never did"
    return table(caption, ["better placed", "other", "comparisons", "mean outcome"], rows, left=(0, 1))
