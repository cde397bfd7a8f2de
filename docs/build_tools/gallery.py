"""Settings of the gallery: the order of its parts, and figures that look alike."""

from __future__ import annotations

from typing import Any

SUBSECTIONS: list[str] = []

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
    mpl.rcParams.update(STYLE)
