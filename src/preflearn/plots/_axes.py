"""Where pictures are drawn: axes, and the few colours, which differ in lightness as much as in hue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BAND", "GREY", "LINE", "MARK", "axes_for", "figure_class"]

# Okabe and Ito's colours for the colour-blind: dark in grey, and light in grey.
LINE = "#0072B2"
MARK = "#D55E00"
BAND = "#56B4E9"
GREY = "#595959"


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


def figure_class(caller: str) -> Any:
    """Return matplotlib's Figure, or say how to install it."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            f'{caller} draws with matplotlib, which is not installed. Use pip install "preflearn[plot]".'
        ) from error
    return Figure
