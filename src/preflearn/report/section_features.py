"""Which features matter: how the utility changes along each, and the relevances that the kernel learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.analysis.suggestions import runs_in_circles
from preflearn.data import Comparisons
from preflearn.items import as_items
from preflearn.operators import FloatArray
from preflearn.plots.fitted import feature_names
from preflearn.report.context import Shown
from preflearn.report.markup import clean, isolated, name, number, paragraph, percent, table
from preflearn.report.svg import Drawing
from preflearn.table_format import plural, shortened

MOST_DRAWN = 20  # features in the figure
MOST_LISTED = 60  # features in the table
MOST_FEATURES = 200  # features that are looked at
MOST_AVERAGED = 100  # items over which a curve is averaged
MOST_AGAINST = 12  # the same, and opponents of each, where preferences run in circles
POINTS = 9  # values of a feature, from its 5th to its 95th percentile
HARDLY = 0.01  # share of the largest effect up to which it is called none
CLEARLY = 0.6  # share of a curve's range from end to end from which it is called up or down


def features(shown: Shown) -> str:
    """Return how much each feature moves the utility."""
    data, model = shown.result.data, shown.result.model
    tried = any(one.terms.on_features for one in shown.result.ladder.steps)
    if data.items is None and not tried:
        return ""
    if data.items is None or not shown.result.ladder.terms.on_features:
        return paragraph("The chosen model gives each item a utility of its own and does not use the features.")
    if not as_items(data.items).one_row_each:
        return paragraph("The items are bags of points, along whose features a utility has no single curve.")
    if data.n_features > MOST_FEATURES:
        return paragraph(f"Not examined: {data.n_features:,} features, and at most {MOST_FEATURES} are looked at.")
    labels = [clean(label, 60) for label in feature_names(model, data.n_features)]
    grid, curves = _curves(shown)
    if shown.result.encoder is not None:
        grid = grid * np.array(shown.result.encoder.feature_scales)[:, None]  # in the units of the table
    reach = curves.max(axis=1) - curves.min(axis=1)
    order = np.argsort(-reach, kind="stable")
    relevance = _relevances(model, data.n_features)
    constant = grid[:, 0] == grid[:, -1]
    rows = []
    for k in order[:MOST_LISTED]:
        row = [name(labels[k]), number(reach[k]), "the same for all" if constant[k] else _shape(curves[k], reach.max())]
        row.append(f"{number(grid[k, 0])} to {number(grid[k, -1])}")
        rows.append(row if relevance is None else [*row, percent(relevance[k])])
    header = ["feature", "moves utility by", "direction", "range looked at"]
    words = paragraph(
        "How much the utility changes when one feature goes through its range (5th to 95th percentile, or from no to "
        "yes) and the others stay as they are, averaged over items"
        + (" and their opponents." if runs_in_circles(model) else "."),
        ""
        if relevance is None
        else "The share of relevance is that of 1 / length scale², by which the kernel weighs a feature; it depends on "
        "the feature's unit.",
    )
    more = f", the first {MOST_LISTED} of {len(order):,}" if len(order) > MOST_LISTED else ""
    caption = f"Features by how much they move the utility{more}"
    header = header if relevance is None else [*header, "share of relevance"]
    drawn = _figure(labels, reach, curves, order[:MOST_DRAWN])
    return words + drawn + table(caption, header, rows, left=(0, 2))


def _curves(shown: Shown) -> tuple[FloatArray, FloatArray]:
    """Return values (n_features, POINTS) of every feature and the mean utility with all items set to each."""
    data, model = shown.result.data, shown.result.model
    used = data.used_items()
    items: Any = data.items
    table = items[used].toarray() if hasattr(items, "toarray") else np.asarray(items)[used]
    table = np.asarray(table, dtype=np.float64)
    few = _spread_out(table, MOST_AGAINST if runs_in_circles(model) else MOST_AVERAGED)
    grid = np.quantile(table, np.linspace(0.05, 0.95, POINTS), axis=0).T
    yes_no = np.isin(table, (0.0, 1.0)).all(axis=0)
    grid[yes_no] = np.linspace(table[:, yes_no].min(axis=0), table[:, yes_no].max(axis=0), POINTS).T
    curves = np.empty_like(grid)
    for k, values in enumerate(grid):
        stacked = np.tile(few, (POINTS, 1))
        stacked[:, k] = np.repeat(values, len(few))
        curves[k] = _worth(model, stacked, few).reshape(POINTS, -1).mean(axis=1)
    return grid, curves - curves.mean(axis=1, keepdims=True)


def _worth(model: Any, items: FloatArray, others: FloatArray) -> FloatArray:
    """Return utilities, or how much items are preferred to some others on average where circles may be."""
    if not runs_in_circles(model):
        return np.asarray(model.predict_utility(items))
    first, second = (side.ravel() for side in np.indices((len(items), len(others))))
    pairs = Comparisons(np.concatenate([items, others]), first, len(items) + second)
    ahead: FloatArray = np.asarray(model.decision_function(pairs), dtype=np.float64).reshape(len(items), -1)
    return np.asarray(ahead.mean(axis=1))


def _spread_out(table: FloatArray, most: int) -> FloatArray:
    return np.asarray(table[np.linspace(0, len(table) - 1, min(len(table), most)).round().astype(np.intp)])


def _relevances(model: Any, n_features: int) -> FloatArray | None:
    """Return the share of each feature in the relevances, where they differ."""
    try:
        values = np.array(list(model.relevances_.values()), dtype=np.float64)
    except AttributeError:
        return None
    if len(values) != n_features or np.allclose(values, values[0]):
        return None
    largest = values / values.max()
    return np.asarray(largest / largest.sum())


def _shape(curve: FloatArray, largest: float) -> str:
    """Return in words how a curve runs."""
    reach = float(curve.max() - curve.min())
    if reach <= HARDLY * largest:
        return "hardly any effect"
    rise = float(curve[-1] - curve[0])
    if abs(rise) >= CLEARLY * reach:
        return "more is better" if rise > 0 else "less is better"
    inside = float(curve[1:-1].max()) - max(float(curve[0]), float(curve[-1]))
    below = min(float(curve[0]), float(curve[-1])) - float(curve[1:-1].min())
    return "best in between" if inside >= below else "worst in between"


def _figure(labels: list[str], reach: FloatArray, curves: FloatArray, order: Any) -> str:
    step, top = 26.0, 22.0
    drawing = Drawing(440, top + step * len(order) + 8)
    largest = max(float(reach.max()), 1e-12)
    span = max(float(np.abs(curves).max()), 1e-12)
    left, wide, curve_left, curve_wide = 135.0, 150.0, 340.0, 86.0
    drawing.text(left, 12, "moves utility by", "small soft")
    drawing.text(curve_left + curve_wide / 2, 12, "low → high value", "small soft", anchor="middle")
    for line, k in enumerate(order):
        y = top + step * (line + 0.5)
        drawing.text(4, y + 4, shortened(labels[k], 17))
        drawing.box(left, y - 6, wide * reach[k] / largest, 12, "bar")
        drawing.text(left + wide * reach[k] / largest + 5, y + 4, number(reach[k]), "small soft")
        drawing.line(curve_left, y, curve_left + curve_wide, y, "grid")
        across = np.linspace(curve_left, curve_left + curve_wide, curves.shape[1])
        drawing.path(zip(across, y - 10 * curves[k] / span, strict=True), "curve")
    first = order[0]
    description = (
        f"{isolated(labels[first])} moves the utility most, by {number(reach[first])} "
        f"({_shape(curves[first], largest)}). The table below holds the same figures for every feature."
    )
    shown = "" if len(order) == len(labels) else f" The first {len(order)} of {plural(len(labels), 'feature')}."
    caption = f"Bars: by how much a feature moves the utility; curves: how, from low to high values.{shown}"
    return drawing.html("features", "How much each feature matters", description, caption)
