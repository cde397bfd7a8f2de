"""The style sheet: two schemes of colours, a page for screens of any width (page.css), and one for paper (paper.css).

Colours differ in lightness as much as in hue. The matrix runs from orange (the row loses) over the neighbour of the
background to blue (the row wins), which the colour-blind tell apart, too. Colours are those of `preflearn.plots.marks`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from preflearn.plots.marks import SCHEMES

STEPS = 11  # colours of the matrix, an odd number: the middle one is an even chance


def style_sheet() -> str:
    """Return the whole style sheet."""
    light, dark = (_variables(scheme) for scheme in SCHEMES.values())
    cells = "".join(f".m{k}{{fill:var(--m{k});background:var(--m{k});color:var(--i{k})}}" for k in range(STEPS))
    inks = "".join(f"text.i{k}{{fill:var(--i{k})}}" for k in range(STEPS))
    page, paper = ((Path(__file__).parent / name).read_text("utf-8") for name in ("page.css", "paper.css"))
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        f"{page}{cells}{inks}{paper}"
    )


def matrix_colours(scheme: str) -> list[tuple[str, str]]:
    """Return background and ink of every step of the matrix."""
    of = SCHEMES[scheme]
    half = STEPS // 2
    found = []
    for k in range(STEPS):
        end = of["low"] if k < half else of["high"]
        fill = _mixed(of["middle"], end, abs(k - half) / half)
        ink = max(of["dark-ink"], of["light-ink"], key=partial(contrast, fill))
        found.append((fill, ink))
    return found


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _variables(scheme: dict[str, str]) -> str:
    name = next(key for key, value in SCHEMES.items() if value is scheme)
    plain = "".join(f"--{key}:{value};" for key, value in scheme.items())
    return plain + "".join(f"--m{k}:{fill};--i{k}:{ink};" for k, (fill, ink) in enumerate(matrix_colours(name)))


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _mixed(one: str, other: str, part: float) -> str:
    return "#" + "".join(
        f"{round(a + part * (b - a)):02x}" for a, b in zip(_channels(one), _channels(other), strict=True)
    )


def _luminance(colour: str) -> float:
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in _channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
