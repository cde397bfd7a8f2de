"""Which features matter: relevances of a kernel with one length scale per feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.data.fields import check_count
from preflearn.plots.fitted import FloatArray, feature_names, require
from preflearn.plots.marks import GREY, LINE, Axes, axes_for, figure_class


def plot_relevances(model: Any, *, top: int = 25, ax: Axes | None = None) -> Axes:
    """Draw the share of each feature in the relevances 1 / length_scale².

    Which features does the learned kernel listen to?

    Parameters
    ----------
    model : PreferenceGP or Kernel
        Fitted with one length scale per feature, such as ``1.0 * RBF([1.0] * n_features)``; or a kernel, for a part of
        ``kernel_`` where several parts have length scales.
    top : int, default=25
        How many features to show, the most relevant ones; the others are summed up below them.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With a bar per feature, the most relevant at the top, and its length scale beside it.

    Notes
    -----
    κ_l = 1 / length_scale_l² is the relevance of Chu and Ghahramani (2005). It is per squared unit of the feature: only
    features on one scale (standardised, say) can be compared by it. A length scale much longer than the spread of the
    feature means that the feature is not used.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from preflearn.plots import plot_relevances
    >>> ax = plot_relevances(2.0 * RBF([0.5, 1.0]), ax=Figure().subplots())
    >>> [round(float(bar.get_width()), 2) for bar in ax.patches]
    [0.8, 0.2]
    """
    caller = "plot_relevances"
    figure_class(caller)
    kernel = model
    if not hasattr(model, "clone_with_theta"):
        require(model, caller, "kernel_")
        kernel = model.kernel_
    check_count(top, "top", caller)
    scales = _length_scales(kernel, caller)
    names = feature_names(model, len(scales))
    # shares without overflow: relative to the shortest length scale
    share = (scales.min() / scales) ** 2
    share /= share.sum()
    order = np.argsort(-share, kind="stable")
    shown, rest = order[:top], order[top:]
    labels = [names[k] for k in shown]
    widths, notes = share[shown].tolist(), [_number(scales[k]) for k in shown]
    if len(rest):
        labels.append(f"{len(rest)} other{'s' * (len(rest) > 1)}")
        widths.append(float(share[rest].sum()))
        notes.append("")

    ax = axes_for(ax, caller, (6.0, 1.2 + 0.28 * len(labels)))
    rows = np.arange(len(labels))
    bars = ax.barh(rows, widths, height=0.65, color=LINE)
    if len(rest):
        bars[-1].set_color(GREY)
    for row, width, note in zip(rows, widths, notes, strict=True):
        ax.annotate(note, (width, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9, color=GREY)
    ax.set_yticks(rows, labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.margins(x=0.1)
    ax.set_xlim(left=0.0)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("share of relevance (1 / length scale²); beside the bar: length scale")
    return ax


def _length_scales(kernel: Any, caller: str) -> FloatArray:
    """Return the length scales of the one part of a kernel that has one per feature."""
    found = [np.atleast_1d(np.asarray(part, dtype=np.float64)) for part in _walk(kernel)]
    several = [scales for scales in found if len(scales) > 1]
    if len(several) == 1:
        return several[0]
    if several:
        raise ValueError(
            f"{caller}: {len(several)} parts of the kernel {kernel} have a length scale per feature, and their "
            "relevances cannot be added. Pass one part, such as model.kernel_.k1."
        )
    if len(found) == 1 and len(found[0]) == 1:
        raise ValueError(
            f"{caller}: the kernel {kernel} has one length scale for all features, so they are equally relevant. "
            "Fit with one per feature, such as kernel=1.0 * RBF([1.0] * n_features)."
        )
    raise ValueError(
        f"{caller}: the kernel {kernel} has no length scale per feature. "
        "Fit with one, such as kernel=1.0 * RBF([1.0] * n_features)."
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if 100 <= value < 1e5 else f"{value:.3g}"


def _walk(kernel: Any) -> list[Any]:
    parts = [part for name in ("k1", "k2", "kernel") if (part := getattr(kernel, name, None)) is not None]
    own = [kernel.length_scale] if hasattr(kernel, "length_scale") else []
    return own + [scale for part in parts for scale in _walk(part)]
