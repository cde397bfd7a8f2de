"""Settings of the gallery: the order of its parts, and figures that look alike."""

from __future__ import annotations

from typing import Any

SUBSECTIONS: list[str] = []

COLOURS = ["#0b5e9e", "#b04a00", "#565b63", "#5aa0d6", "#e39a5b"]  # of preflearn.plots; they differ in lightness, too

STYLE = {
    "figure.dpi": 100,
    "savefig.dpi": 100,
    "figure.figsize": (6.4, 4.2),
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def reset(settings: Any, name: str) -> None:
    """Set matplotlib to the style of the site before each example."""
    import matplotlib as mpl

    mpl.rcdefaults()
    mpl.use("agg")
    mpl.rcParams.update({**STYLE, "axes.prop_cycle": mpl.cycler(color=COLOURS)})
