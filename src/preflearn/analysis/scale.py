"""In which units utilities are shown: as they were learned, or as Elo ratings, and which item has which number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from preflearn.exceptions import DataError, nearest_names
from preflearn.models.ranking import Ranking
from preflearn.operators import FloatArray

__all__ = ["AVERAGE_ELO", "ELO", "SCALES", "Scale", "scale_of"]

SCALES = ("utility", "elo")
ELO = 400.0 / math.log(10.0)  # points for one unit of log odds: 400 points are odds of 10 to 1
AVERAGE_ELO = 1500.0  # rating of the average item where no item is given a number
LOGISTIC_DEVIATION = math.pi / math.sqrt(3.0)


@dataclass(frozen=True)
class Scale:
    """A change of units: a utility u, relative to the average item, is shown as ``unit * u + origin``.

    Attributes
    ----------
    name : {"utility", "elo"}
        What the numbers are called.
    unit : float
        Points for one unit of utility; deviations are multiplied by it.
    origin : float
        Points of the average item.
    digits : int
        Digits after the point that are printed.
    """

    name: str = "utility"
    unit: float = 1.0
    origin: float = 0.0
    digits: int = 2

    def points(self, utility: Any) -> FloatArray:
        """Return utilities, or ends of their intervals, on this scale."""
        return np.asarray(self.unit * np.asarray(utility) + self.origin)

    def widths(self, std: Any) -> FloatArray:
        """Return deviations on this scale."""
        return np.asarray(self.unit * np.asarray(std))


def scale_of(
    ranking: Ranking, likelihood: Any, name: str = "utility", anchor: Mapping[Any, float] | None = None
) -> Scale:
    r"""Return the scale of a ranking.

    Parameters
    ----------
    ranking : Ranking
        Whose utilities are shown.
    likelihood : likelihood
        Of the model: its noise says what a utility is worth.
    name : {"utility", "elo"}, default="utility"
        "elo": 400 points are odds of 10 to 1.
    anchor : mapping, default=None
        One item and its number, as in ``{"Darjeeling": 1000}``. None: the average item has 0, or 1500 for "elo".

    Returns
    -------
    Scale
        The units.

    Notes
    -----
    With a logit link the log odds between two items are the difference of their utilities in units of the noise's scale
    s, so that one unit of utility is :math:`400 / (s \ln 10)` points (where there are ties, these are the odds
    before a threshold for ties). A probit link has no constant odds: its normal noise is replaced by logistic noise of
    the same standard deviation, whose probabilities differ from it by at most 0.023.

    An anchor moves the numbers and nothing else. Intervals stay what they are without it, those of an item relative to
    the average of all, so that the anchor has an interval, too, and a poorly known anchor does not blur all others.
    """
    if name not in SCALES:
        raise DataError(
            f'the scale "{name}" is not known', f"Choose from {', '.join(SCALES)}", code="unknown-scale", owner="rank"
        )
    elo = name == "elo"
    unit = ELO * LOGISTIC_DEVIATION / float(likelihood.noise_deviation) if elo else 1.0
    origin, digits = (AVERAGE_ELO, 0) if elo else (0.0, 2)
    if anchor is not None:
        where, value = _anchored(ranking, anchor)
        origin = value - unit * float(ranking.utility[where])
    return Scale(name, unit, origin, digits)


def _anchored(ranking: Ranking, anchor: Mapping[Any, float]) -> tuple[int, float]:
    """Return the place of the anchor in the ranking, and its number."""
    if len(anchor) != 1:
        raise DataError(
            f"the anchor has {len(anchor)} items", "Give one with its number", code="not-one-anchor", owner="rank"
        )
    ((item, value),) = anchor.items()
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise DataError(
            f'the anchor "{item}" has the number {value!r}', "Give a finite one", code="anchor-not-finite", owner="rank"
        )
    names = [str(name) for name in ranking.names]
    if str(item) not in names:
        near = nearest_names(str(item), names, limit=3)
        raise DataError(
            f'the anchor "{item}" is none of the {len(names)} ranked items{f" ({near})" if near else ""}',
            "Give the name as the ranking prints it",
            code="unknown-anchor",
            owner="rank",
        )
    return names.index(str(item)), float(value)
