"""What the numbers of an outcome column mean: which of them say that the first side won, and which the second.

A scale has two ends, such as 1 for a clear win of the first side and 2 for one of the second, or only a sign. It is
stated by the person, or known because the columns are those of a public layout (`preflearn.io.formats`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from preflearn.exceptions import DataError, Setting

__all__ = ["Scale", "named_scale", "stated"]

_HOW = (
    'Write the number of a clear win of each side, as in "first=1,second=2", or the side that positive numbers mean: '
    '"first=positive" or "second=positive".'
)
_SIGNS = {"positive": 1.0, "negative": -1.0}


class Scale(NamedTuple):
    """The number of a clear win of the first side, and of the second; without ends only the sign counts."""

    first: float
    second: float
    ends: bool
    why: str = ""  # clause for a sentence about a scale that nobody stated


def stated(scale: Scale) -> Setting:
    """Return how to state a scale, for a message.

    Examples
    --------
    >>> stated(Scale(1, 2, True)).value, stated(Scale(-1, 1, False)).value
    ({'first': '1', 'second': '2'}, {'second': 'positive'})
    """
    if not scale.ends:
        return Setting("outcomes", {"first" if scale.first > 0 else "second": "positive"})
    return Setting("outcomes", {"first": f"{scale.first:g}", "second": f"{scale.second:g}"})


def named_scale(outcomes: Mapping[str, Any] | str | None, owner: str) -> Scale | None:
    """Return the scale that a person stated: a mapping, or text such as ``first=1,second=2``."""
    if outcomes is None:
        return None
    if isinstance(outcomes, str):
        parts = [part.partition("=") for part in outcomes.split(",") if part.strip()]
        given: dict[str, Any] = {side.strip(): value.strip() for side, _, value in parts}
        if len(given) < len(parts):
            raise DataError(
                Setting("outcomes") + f': "{outcomes}" names a side twice',
                _HOW,
                code="outcomes-side-twice",
                owner=owner,
            )
    elif isinstance(outcomes, Mapping):
        given = dict(outcomes)
    else:
        raise TypeError(f"{owner}: outcomes must be text or a mapping; got {type(outcomes).__name__}. {_HOW}")
    if not given or not given.keys() <= {"first", "second"}:
        raise DataError(
            Setting("outcomes") + f': "{outcomes}" is not understood', _HOW, code="outcomes-not-understood", owner=owner
        )
    signs = {side: _SIGNS[value] for side, value in given.items() if isinstance(value, str) and value in _SIGNS}
    if signs:
        found = {sign if side == "first" else -sign for side, sign in signs.items()}
        if len(signs) < len(given) or len(found) > 1:
            raise DataError(
                Setting("outcomes") + f': "{outcomes}" contradicts itself',
                _HOW,
                code="outcomes-contradictory",
                owner=owner,
            )
        sign = found.pop()
        return Scale(sign, -sign, ends=False)
    try:
        first, second = (float(given[side]) for side in ("first", "second"))
    except (KeyError, TypeError, ValueError):
        raise DataError(
            Setting("outcomes") + f': "{outcomes}" is not understood', _HOW, code="outcomes-not-understood", owner=owner
        ) from None
    if first == second or not np.isfinite([first, second]).all():
        raise DataError(
            Setting("outcomes") + f': "{outcomes}" does not tell the sides apart',
            _HOW,
            code="outcomes-sides-alike",
            owner=owner,
        )
    return Scale(first, second, ends=True)
