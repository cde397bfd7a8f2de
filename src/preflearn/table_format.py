r"""One way to show a table: columns with their cells, written as plain text, HTML, Markdown or LaTeX.

Everything that shows a ranking (terminal, ``str()``, notebooks, report, leaderboard files) takes the same `TextTable`::

    table = result.listing()                   # RankResult, Ranking and RankingsBy have one
    table.top(30).text(width=80)               # a terminal: columns are closer, or left out, where they do not fit
    table.markdown(); table.latex(); table.html()
    table.select("rank", "item", "utility")    # columns by key
    table.left_out(80)                         # titles of the columns that a width has no room for

A `Column` has a title, one value for each row, the function that writes a value, and a kind, which decides the side at
which it stands. Numbers are written by the functions below, so that a probability looks the same everywhere.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

LEAST_NAME = 8  # letters of a name below which a table is hard to read
WHOLE_NAME = 16  # letters up to which a name is worth more than a column that can be spared
_GAPS = ("  ", " ")  # between columns, the second where there is no room for the first
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
JOINERS = "\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-16} "
# What a terminal would obey: controls, but for line ends and tabs, and what turns the direction of text around.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{letter: "\\" + letter for letter in "&%$#_{}"},
}


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    title : str
        The words above it.
    values : sequence or array
        One for each row; None leaves a cell empty.
    show : callable, default=str
        Writes a value.
    kind : {"number", "text", "name"}, default="number"
        Numbers stand at the right; text and names at the left; a name may be shortened where there is no room.
    spare : int, default=0
        The column of the largest number is left out first where there is no room; 0 is never left out.
    """

    title: str
    values: Any
    show: Callable[[Any], str] = str
    kind: Literal["number", "text", "name"] = "number"
    spare: int = 0

    @property
    def cells(self) -> list[str]:
        """The values as text, each on one line, with nothing in it that a terminal would obey."""
        return ["" if value is None else visible(" ".join(self.show(value).split())) for value in self.values]


@dataclass(frozen=True)
class TextTable:
    r"""Columns by key, all of one length.

    Examples
    --------
    >>> table = TextTable({
    ...     "item": Column("item", ["ann", "bob_2"], kind="name"),
    ...     "p": Column("P(best)", [0.999, 0.0], chance, spare=1),
    ... })
    >>> print(table.text())
    item   P(best)
    ann       >99%
    bob_2      <1%
    >>> print(table.markdown())
    | item | P(best) |
    | :-- | --: |
    | ann | \>99% |
    | bob\_2 | \<1% |
    >>> table.left_out(12)
    ['P(best)']
    """

    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return max((len(column.values) for column in self.columns.values()), default=0)

    @property
    def titles(self) -> list[str]:
        """The titles of the columns."""
        return [column.title for column in self.columns.values()]

    @property
    def rows(self) -> list[list[str]]:
        """The cells as text, row by row."""
        return [list(row) for row in zip(*(column.cells for column in self.columns.values()), strict=True)]

    def top(self, n: int | None) -> TextTable:
        """Return the first ``n`` rows; None is all."""
        return TextTable({key: replace(one, values=one.values[:n]) for key, one in self.columns.items()})

    def select(self, *keys: str) -> TextTable:
        """Return some columns, in this order; keys that the table does not have are passed over."""
        return TextTable({key: self.columns[key] for key in keys if key in self.columns})

    def within(self, width: int) -> TextTable:
        """Return the columns for which a width has room."""
        kept = dict(self.columns)
        needed = {
            key: min(room, max(WHOLE_NAME, display_width(one.title))) if one.kind == "name" else room
            for (key, one), room in zip(kept.items(), self._widths(), strict=True)
        }
        for key in sorted((key for key in kept if kept[key].spare), key=lambda key: -kept[key].spare):
            if sum(needed[one] for one in kept) + len(_GAPS[-1]) * (len(kept) - 1) <= width:
                break
            del kept[key]
        return TextTable(kept)

    def left_out(self, width: int) -> list[str]:
        """Return the titles of columns for which a width has no room."""
        kept = self.within(width).columns
        return [one.title for key, one in self.columns.items() if key not in kept]

    def _widths(self) -> list[int]:
        return [max(map(display_width, [one.title, *one.cells])) for one in self.columns.values()]

    def text(self, width: int | None = None) -> str:
        """Return lines of plain text.

        What is wider than ``width`` gets one blank between columns, then columns that can be spared are left out, and
        then names are shortened.
        """
        if width is not None and len(self.within(width).columns) < len(self.columns):
            return self.within(width).text(width)
        wide, columns = self._widths(), list(self.columns.values())
        total = {gap: sum(wide) + len(gap) * (len(wide) - 1) for gap in _GAPS}
        gap = next((gap for gap in _GAPS if width is None or total[gap] <= width), _GAPS[-1])
        over = 0 if width is None else total[gap] - width
        for k, column in enumerate(columns):
            if column.kind == "name" and over > 0:
                least = min(wide[k], LEAST_NAME)
                wide[k], over = max(wide[k] - over, least), over - (wide[k] - least)
        lines = []
        for row in [self.titles, *self.rows]:
            cells = [shortened(cell, room) for cell, room in zip(row, wide, strict=True)]
            blanks = [" " * (room - display_width(cell)) for cell, room in zip(cells, wide, strict=True)]
            parts = [
                blank + cell if column.kind == "number" else cell + blank
                for cell, blank, column in zip(cells, blanks, columns, strict=True)
            ]
            lines.append(gap.join(parts).rstrip())
        return "\n".join(lines)

    def html(self) -> str:
        """Return a table of HTML without colours of its own, for notebooks: light or dark."""
        sides = ["right" if one.kind == "number" else "left" for one in self.columns.values()]
        named = [one.kind == "name" for one in self.columns.values()]
        style = [
            f"text-align:{side};{'max-width:24em;overflow-wrap:anywhere' if name else 'white-space:nowrap'}"
            for side, name in zip(sides, named, strict=True)
        ]

        def line(tag: str, cells: list[str]) -> str:
            pairs = zip(cells, style, strict=True)
            return "".join(f'<{tag} style="{how}">{html.escape(cell)}</{tag}>' for cell, how in pairs)

        body = "".join(f"<tr>{line('td', row)}</tr>" for row in self.rows)
        head = line("th", self.titles)
        style_of_table = "font-variant-numeric:tabular-nums"
        return f'<table style="{style_of_table}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def markdown(self) -> str:
        """Return a table as GitHub and others read it."""
        sides = ["--:" if one.kind == "number" else ":--" for one in self.columns.values()]
        rows = [[_in_markdown(cell) for cell in row] for row in [self.titles, *self.rows]]
        return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], sides, *rows[1:]])

    def latex(self) -> str:
        r"""Return a ``tabular`` with the rules of the package booktabs (``\usepackage{booktabs}``)."""
        sides = "".join("r" if one.kind == "number" else "l" for one in self.columns.values())
        names = [one.kind == "name" for one in self.columns.values()]
        head = " & ".join(_in_latex(title) for title in self.titles)
        body = [
            " & ".join(_in_latex(cell if name else typeset(cell)) for cell, name in zip(row, names, strict=True))
            for row in self.rows
        ]
        lines = ["\\toprule", f"{head} \\\\", "\\midrule", *(f"{row} \\\\" for row in body), "\\bottomrule"]
        return "\n".join([f"\\begin{{tabular}}{{{sides}}}", *lines, "\\end{tabular}"])


def _in_markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", text)


def _in_latex(text: str) -> str:
    plain = "".join(_LATEX.get(letter, letter) for letter in text)
    return plain.replace("\N{MINUS SIGN}", "$-$").replace("\N{EN DASH}", "--").replace("\N{NO-BREAK SPACE}", "~")


def typeset(cell: str) -> str:
    r"""Return a cell of numbers with true minus signs, dashes in ranges, and per cent signs that stay on the line.

    Examples
    --------
    >>> typeset("-0.50 to 1.20"), typeset("2-5"), typeset("<1%")
    ('−0.50 to 1.20', '2–5', '<1\xa0%')
    """
    cell = re.sub(r"(?<=\d)-(?=\d)", "\N{EN DASH}", cell)
    cell = re.sub(r"(?<![\w)])-(?=\d)", "\N{MINUS SIGN}", cell)
    return re.sub(r"(?<=\d) ?%", "\N{NO-BREAK SPACE}%", cell)


def decimal(value: float, digits: int = 2) -> str:
    """Return a number with some digits and no sign before zero; an empty text for NaN.

    Examples
    --------
    >>> decimal(-0.001), decimal(-1.5), decimal(float("nan"))
    ('0.00', '-1.50', '')
    """
    return "" if math.isnan(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"


def interval(ends: tuple[float, float], digits: int = 2) -> str:
    """Return ``low to high``."""
    return f"{decimal(ends[0], digits)} to {decimal(ends[1], digits)}"


def place_range(ends: tuple[int, int]) -> str:
    """Return ``2-5``, or ``2`` where both ends are one."""
    return f"{ends[0]}-{ends[1]}" if ends[0] < ends[1] else f"{ends[0]}"


def chance(p: float) -> str:
    """Return a probability in per cent, never as 0% or 100%.

    Examples
    --------
    >>> chance(0.0), chance(0.004), chance(0.5), chance(0.999), chance(float("nan"))
    ('<1%', '<1%', '50%', '>99%', '')
    """
    text = "" if math.isnan(p) else f"{p:.0%}"
    return {"0%": "<1%", "100%": ">99%"}.get(text, text)


def p_value(p: float) -> str:
    """Return a p-value as text, never as 0.

    Examples
    --------
    >>> p_value(0.0), p_value(0.0312)
    ('p < 0.001', 'p = 0.03')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.1g}"


def short_number(value: float) -> str:
    """Return a count or a sum of weights in a few letters.

    Examples
    --------
    >>> [short_number(value) for value in (12.0, 0.5, 1_234_567.0, 0.004)]
    ['12', '0.5', '1.2e6', '0.004']
    """
    if value >= 1e5:
        return f"{value:.2g}".replace("e+0", "e").replace("e+", "e")
    if 0 < value < 0.05:
        return f"{value:.1g}"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"


def plural(count: float, one: str, many: str | None = None) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "item"), plural(1200, "item"), plural(2, "category", "categories")
    ('1 item', '1,200 items', '2 categories')
    """
    text = f"{count:,.0f}" if float(count).is_integer() else f"{count:,.1f}"
    return f"{text} {one if count == 1 else many or one + 's'}"


def visible(text: str) -> str:
    r"""Return a text with control characters written out, because a terminal would obey them.

    Examples
    --------
    >>> visible("cy" + chr(27) + "[31m")
    'cy\\x1b[31m'
    """
    return _OBEYED.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def display_width(text: str) -> int:
    """Return how many columns of a terminal a text takes, wide characters counting two."""
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def shortened(text: str, columns: int) -> str:
    """Return a text that takes at most so many columns.

    What is left out is in the middle, as many names differ only at their ends.

    Examples
    --------
    >>> shortened("Player number 34", 9)
    'Player…34'
    """
    if display_width(text) <= columns:
        return text
    tail = (columns - 1) // 3
    start = text[: _fitting(text, columns - 1 - tail)].rstrip(JOINERS)
    end = text[len(text) - _fitting(text[::-1], tail) :].lstrip(JOINERS)
    return f"{start}{_ELLIPSIS}{end}"


def _fitting(text: str, columns: int) -> int:
    """Return how many characters fit."""
    taken = 0
    for place, letter in enumerate(text):
        taken += _letter_width(letter)
        if taken > columns:
            return place
    return len(text)
