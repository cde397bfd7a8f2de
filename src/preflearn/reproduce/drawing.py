"""What figures share: means with standard deviations over trials, drawn as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.reproduce.experiment import Record

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000")
_MARKS = "osx^vD"


def over_trials(
    records: Sequence[Record], x: str, y: str, where: Mapping[str, Any] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the values of ``x`` among records, with mean and standard deviation of ``y`` over those that have both.

    Examples
    --------
    >>> records = [{"x": 1, "y": 2.0, "kind": "a"}, {"x": 1, "y": 4.0, "kind": "a"}, {"x": 1, "y": 9.0, "kind": "b"}]
    >>> [values.tolist() for values in over_trials(records, "x", "y", {"kind": "a"})]
    [[1.0], [3.0], [1.0]]
    """
    found: dict[float, list[float]] = {}
    for one in records:
        if one.get(x) is not None and one.get(y) is not None and all(one.get(k) == v for k, v in (where or {}).items()):
            found.setdefault(one[x], []).append(one[y])
    places = sorted(found)
    mean = [np.mean(found[place]) for place in places]
    return np.array(places, dtype=float), np.array(mean), np.array([np.std(found[place]) for place in places])


def draw_lines(
    panel: Any,
    records: Sequence[Record],
    x: str,
    measures: Mapping[str, str],
    where: Mapping[str, Any] | None = None,
    apart: float = 0.0,
) -> None:
    """Draw a line with bars of one standard deviation for each measure, named as given, ``apart`` from the next."""
    for number, (measure, name) in enumerate(measures.items()):
        places, mean, deviation = over_trials(records, x, measure, where)
        if len(places):
            shift = apart * (number - (len(measures) - 1) / 2)
            colour, mark = COLOURS[number % len(COLOURS)], _MARKS[number % len(_MARKS)]
            panel.errorbar(
                places + shift,
                mean,
                deviation,
                color=colour,
                marker=mark,
                markersize=4,
                capsize=2,
                linewidth=1.2,
                elinewidth=0.8,
                label=name,
            )
