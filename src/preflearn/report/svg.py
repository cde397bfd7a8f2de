"""A small drawing board: shapes as SVG, coloured by classes of the page's style sheet, with title and description."""

from __future__ import annotations

import math
from collections.abc import Iterable

from preflearn.report.markup import escape


class Drawing:
    """Shapes in a box of the given size, in the order in which they are added.

    Parameters
    ----------
    width, height : float
        Size of the box; the page shows it as wide as there is room, up to 1.3 times this.
    """

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._parts: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str, *, wide: float | None = None) -> None:
        """Add a line."""
        stroke = "" if wide is None else f' stroke-width="{at(wide)}"'
        self._parts.append(f'<line class="{kind}" x1="{at(x1)}" y1="{at(y1)}" x2="{at(x2)}" y2="{at(y2)}"{stroke}/>')

    def dot(self, x: float, y: float, radius: float, kind: str) -> None:
        """Add a filled circle."""
        self._parts.append(f'<circle class="{kind}" cx="{at(x)}" cy="{at(y)}" r="{at(radius)}"/>')

    def box(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        """Add a rectangle."""
        self._parts.append(
            f'<rect class="{kind}" x="{at(x)}" y="{at(y)}" width="{at(max(width, 0.0))}" height="{at(height)}"/>'
        )

    def path(self, points: Iterable[tuple[float, float]], kind: str, *, closed: bool = False) -> None:
        """Add straight lines from point to point."""
        joined = "L".join(f"{at(x)} {at(y)}" for x, y in points)
        self._parts.append(f'<path class="{kind}" d="M{joined}{"Z" if closed else ""}"/>')

    def text(
        self, x: float, y: float, words: str, kind: str = "", *, anchor: str = "start", turned: float | None = None
    ) -> None:
        """Add words; ``anchor`` is start, middle or end, ``turned`` an angle in degrees around (x, y)."""
        side = "" if anchor == "start" else f' text-anchor="{anchor}"'
        turn = "" if turned is None else f' transform="rotate({at(turned)} {at(x)} {at(y)})"'
        mark = f' class="{kind}"' if kind else ""
        self._parts.append(f'<text{mark} x="{at(x)}" y="{at(y)}"{side}{turn}>{escape(words)}</text>')

    def html(self, key: str, title: str, description: str, caption: str, *, wide: bool = False) -> str:
        """Return the figure; title, description and caption are text, and ``key`` is its name on the page.

        A ``wide`` one keeps a least width, and slides inside its frame on a narrow screen.
        """
        slide = ' class="slide" role="region" tabindex="0" aria-label="' + escape(title) + '"' if wide else ""
        return (
            f'<figure class="drawn" id="figure-{key}">'
            f'<div{slide}><svg role="img" viewBox="0 0 {at(self.width)} {at(self.height)}" width="{at(self.width)}" '
            f'height="{at(self.height)}" aria-labelledby="{key}-title {key}-desc" focusable="false">'
            f'<title id="{key}-title">{escape(title)}</title><desc id="{key}-desc">{escape(description)}</desc>'
            f"{''.join(self._parts)}</svg></div><figcaption>{escape(caption)}</figcaption></figure>"
        )


def at(value: float) -> str:
    """Return a coordinate, short."""
    return f"{round(float(value), 1) + 0.0:g}"


def spread_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers between two values, about ``count`` of them."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low] if math.isfinite(low) else []
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= 0.999 * rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step + 0.0 for k in range(first, last + 1)]


def tick_text(value: float) -> str:
    """Return the text beside a tick."""
    return f"{value:.6g}".replace("-", "\N{MINUS SIGN}")
