"""Text, numbers and tables as HTML. Every name and sentence from outside goes through `clean` and `escape` here."""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from preflearn.table_format import JOINERS

LONGEST = 120  # characters of a name in a table
SHORT = 20  # characters of a name that is not broken
LONGEST_TEXT = 1500  # characters of a sentence that holds names
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_BIDI = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C])


def clean(value: Any, longest: int = LONGEST) -> str:
    r"""Return a value as one line of text that can be written anywhere: no controls, no overrides of direction."""
    text = " ".join(str(value)[: 4 * longest].split())
    text = text.translate(_BIDI)
    text = "".join(_REPLACED if unicodedata.category(letter) in ("Cc", "Cs") else letter for letter in text)
    return cut(text, longest) if text.strip() else "(no name)"


def cut(text: str, longest: int) -> str:
    """Return a text of at most this many characters, with an ellipsis where something was left out."""
    if len(text) <= longest:
        return text
    return text[: longest - 1].rstrip(JOINERS) + "\N{HORIZONTAL ELLIPSIS}"


def escape(text: str) -> str:
    """Return text for the inside of an element or of a quoted attribute."""
    return html.escape(text, quote=True)


def isolated(text: str) -> str:
    """Return a cleaned name whose writing direction does not reach the words around it, where there is no markup."""
    return f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}"


def name(text: str) -> str:
    """Return a cleaned name as HTML, apart from the direction of the words around it; short ones stay on one line."""
    return f"<bdi{_ON_ONE_LINE if len(text) <= SHORT else ''}>{escape(text)}</bdi>"


def paragraph(*sentences: str, kind: str = "") -> str:
    """Return sentences, which are HTML already, as a paragraph."""
    opening = f'<p class="{kind}">' if kind else "<p>"
    return f"{opening}{' '.join(sentence for sentence in sentences if sentence)}</p>"


def bullets(lines: Iterable[str], kind: str = "") -> str:
    """Return lines of HTML as a list."""
    opening = f'<ul class="{kind}">' if kind else "<ul>"
    return f"{opening}{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def details(summary: str, content: str) -> str:
    """Return HTML that is folded away under a line of text; printing unfolds it."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,), key: str = ""
) -> str:
    """Return a table that scrolls inside its frame; caption and header are text, cells HTML, ``key`` its name.

    Columns of words stand at the ``left``, and the first of these names its row; the others are numbers.
    """
    words = set(left)
    named = min(words, default=-1)
    head = "".join(
        f'<th scope="col"{"" if k in words else _NUMBER}>{escape(title)}</th>' for k, title in enumerate(header)
    )
    body = []
    for row in rows:
        cells = []
        for k, cell in enumerate(row):
            if k == named:
                cells.append(f'<th scope="row">{cell}</th>')
            else:
                cells.append(f"<td{'' if k in words else _NUMBER}>{cell}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return framed(
        caption, f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody>", long=len(body) > LONG, key=key
    )


def framed(caption: str, content: str, *, long: bool = False, kind: str = "", key: str = "") -> str:
    """Return head and body of a table in the frame in which it scrolls, with its caption, which is text."""
    said = escape(caption)
    of_kind = (f' class="{kind}"' if kind else "") + (f' id="{key}"' if key else "")
    return (
        f'<div class="frame{" long" if long else ""}" role="region" tabindex="0" aria-label="{said}">'
        f"<table{of_kind}><caption><span>{said}</span></caption>{content}</table></div>"
    )


def figures(facts: Iterable[tuple[str, str]], kind: str = "facts") -> str:
    """Return terms, which are text, with their values, which are HTML."""
    lines = "".join(f"<dt>{escape(term)}</dt><dd>{value}</dd>" for term, value in facts)
    return f'<dl class="{kind}">{lines}</dl>'


_NUMBER = ' class="n"'
_ON_ONE_LINE = ' class="k"'
LONG = 25  # above so many rows a table scrolls inside its frame


def number(value: float, digits: int = 2) -> str:
    """Return a number with a true minus sign."""
    if not math.isfinite(value):
        return "\N{EN DASH}" if math.isnan(value) else "\N{INFINITY}" if value > 0 else "\N{MINUS SIGN}\N{INFINITY}"
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", "\N{MINUS SIGN}")


def share(value: float, digits: int = 0) -> str:
    """Return a probability or share in per cent; almost none is not none, and almost all not all.

    Examples
    --------
    >>> [share(value).split()[0] for value in (0.001, 0.5, 0.999, 1.0)]
    ['<1', '50', '>99', '100']
    """
    if math.isnan(value):
        return "\N{EN DASH}"
    least = 0.5 * 10.0**-digits
    if 0 < 100 * value < least:
        return f"<{10.0**-digits:g}\N{NO-BREAK SPACE}%"
    if least > 100 * (1 - value) > 0:
        return f">{100 - 10.0**-digits:g}\N{NO-BREAK SPACE}%"
    return f"{100 * value:.{digits}f}\N{NO-BREAK SPACE}%"


def percent(value: float, digits: int = 0) -> str:
    """Return a `share` as HTML."""
    return escape(share(value, digits))


def counted(value: float) -> str:
    """Return a probability that was counted over draws, as HTML: none of them does not mean never."""
    return percent(value if math.isnan(value) else min(max(float(value), 1e-9), 1 - 1e-9))
