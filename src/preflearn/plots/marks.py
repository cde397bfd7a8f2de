"""The marks of figures, the same in matplotlib and in the report: colours by what they mean, and where they are drawn.

| role | mark |
|---|---|
| line | what was estimated: a dot, a bar, a curve |
| band | its interval: a line through the dot, a band around the curve |
| mark | what to look at: circles, upsets, the chosen optimum |
| soft | axes, labels, what is not important |
| rule | grids, and the line between two tiers |
| low, middle, high | the column wins, an even chance, the row wins |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:  # matplotlib is imported where it draws
    Axes = Any

# Colours differ in lightness as much as in hue, so that the colour-blind tell them apart.
SCHEMES: dict[str, dict[str, str]] = {
    "light": {
        "page": "#fdfdfc",
        "panel": "#f3f4f2",
        "text": "#1b1d20",
        "soft": "#565b63",
        "rule": "#d6d8d4",
        "shade": "#b3b7b2",
        "line": "#0b5e9e",
        "band": "#a9cbe6",
        "mark": "#b04a00",
        "low": "#a34400",
        "middle": "#f1f1ee",
        "high": "#0a548f",
        "dark-ink": "#000000",
        "light-ink": "#ffffff",
    },
    "dark": {
        "page": "#16181b",
        "panel": "#202327",
        "text": "#e8e9e6",
        "soft": "#a9aeb6",
        "rule": "#3a3e44",
        "shade": "#5b6169",
        "line": "#79b8ee",
        "band": "#2f5a7d",
        "mark": "#f2a25c",
        "low": "#f0a05c",
        "middle": "#2b2e33",
        "high": "#74b6f0",
        "dark-ink": "#000000",
        "light-ink": "#ffffff",
    },
}

LINE, BAND, MARK, GREY = (SCHEMES["light"][role] for role in ("line", "band", "mark", "soft"))


def axes_for(ax: Any, caller: str, size: tuple[float, float] = (6.0, 4.0)) -> Axes:
    """Return ``ax``, or the axes of a new figure, without the frame's upper and right side."""
    figure_class(caller)
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=size, layout="constrained")[1]
    elif not hasattr(ax, "get_xaxis_transform"):
        raise TypeError(
            f"{caller}: ax is a {type(ax).__name__}; give one matplotlib Axes (such as plt.subplots()[1]) or None."
        )
    ax.spines[["top", "right"]].set_visible(False)
    drawn: Axes = ax
    return drawn


def preference_colours() -> Any:
    """Return a colour map from "the column wins" to "the row wins"."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "preferences", [SCHEMES["light"][end] for end in ("low", "middle", "high")]
    )


def figure_class(caller: str) -> Any:
    """Return matplotlib's Figure, or say how to install it."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            f'{caller} draws with matplotlib, which is not installed. Use pip install "preflearn[plot]".'
        ) from error
    return Figure
