"""The options of the readers, checked once: columns by role, the scale of an outcome column, what to leave out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from preflearn.data.fields import check_choice
from preflearn.data.sides import normal
from preflearn.exceptions import DataError, Setting, first_few, nearest_names
from preflearn.io.roles import LISTS, ROLES
from preflearn.io.table import Table

_HOW = (
    'Write the number of a clear win of each side, as in "first=1,second=2", or the side that positive numbers mean: '
    '"first=positive" or "second=positive".'
)
_SIGNS = {"positive": 1.0, "negative": -1.0}


class Scale(NamedTuple):
    """What the numbers of an outcome column mean: the number of a clear win of the first side, and of the second.

    Without ``ends`` only the sign counts. The person states it, or it is that of a public layout
    (`preflearn.io.formats`); ``why`` is then a clause that says so.
    """

    first: float
    second: float
    ends: bool
    why: str = ""


@dataclass(frozen=True)
class Options:
    """The options of `read_preferences`; ``given`` are the columns that the person named, by role."""

    owner: str
    columns: Mapping[str, Any] | str | None = None
    outcomes: Mapping[str, Any] | str | None = None
    missing: str = "error"
    self_comparisons: str = "error"
    repeated_rows: str = "drop"
    need_outcomes: bool = True
    lower_wins: bool = False
    margins: bool = False
    scale: bool = True
    items_name: str = "the list of known items"
    by: str | None = None
    counted: bool = False
    given: dict[str, Any] = field(init=False)
    scale_of_outcomes: Scale | None = field(init=False)

    def __post_init__(self) -> None:
        check_choice(self.missing, ("error", "drop"), "missing", self.owner)
        check_choice(self.self_comparisons, ("error", "drop"), "self_comparisons", self.owner)
        check_choice(self.repeated_rows, ("drop", "keep"), "repeated_rows", self.owner)
        object.__setattr__(self, "given", named_roles(self.columns, self.owner))
        object.__setattr__(self, "scale_of_outcomes", named_scale(self.outcomes, self.owner))

    def kept(self, table: Table) -> list[str]:
        """Return the column that is kept as the category of each row, if one was asked for."""
        return [] if self.by is None else [table.find(self.by, "the categories")]


def stated(scale: Scale) -> Setting:
    """Return how to state a scale, for a message."""
    if not scale.ends:
        return Setting("outcomes", {"first" if scale.first > 0 else "second": "positive"})
    return Setting("outcomes", {"first": f"{scale.first:g}", "second": f"{scale.second:g}"})


def _entries(text: str) -> list[tuple[str, str]]:
    """Return the entries of text such as ``first=home,second=away``; those without = have the value ""."""
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    return [(name.strip(), value.strip()) for name, _, value in parts]


def named_scale(outcomes: Mapping[str, Any] | str | None, owner: str) -> Scale | None:
    """Return the scale that a person stated: a mapping, or text such as ``first=1,second=2``."""
    if outcomes is None:
        return None
    stated_as = Setting("outcomes") + f': "{outcomes}" '
    if isinstance(outcomes, str):
        entries = _entries(outcomes)
        given: dict[str, Any] = dict(entries)
        if len(given) < len(entries):
            raise DataError(code="outcomes-side-twice", owner=owner).says(stated_as + "names a side twice", _HOW)
    elif isinstance(outcomes, Mapping):
        given = dict(outcomes)
    else:
        raise TypeError(f"{owner}: outcomes must be text or a mapping; got {type(outcomes).__name__}. {_HOW}")
    signs = {side: _SIGNS[value] for side, value in given.items() if isinstance(value, str) and value in _SIGNS}
    if given and given.keys() <= {"first", "second"} and signs:
        found = {sign if side == "first" else -sign for side, sign in signs.items()}
        if len(signs) < len(given) or len(found) > 1:
            raise DataError(code="outcomes-contradictory", owner=owner).says(stated_as + "contradicts itself", _HOW)
        sign = found.pop()
        return Scale(sign, -sign, ends=False)
    try:
        first, second = float(given.pop("first")), float(given.pop("second"))
    except (KeyError, TypeError, ValueError):
        given = {"?": None}
    if given:
        raise DataError(code="outcomes-not-understood", owner=owner).says(stated_as + "is not understood", _HOW)
    if first == second or not np.isfinite([first, second]).all():
        raise DataError(code="outcomes-sides-alike", owner=owner).says(
            stated_as + "does not tell the sides apart", _HOW
        )
    return Scale(first, second, ends=True)


def listed(value: Any) -> list[str]:
    """Return several names: a sequence, or text such as x+y; none for None and "none"."""
    names = value.split("+") if isinstance(value, str) else [] if value is None else [str(name) for name in value]
    return [] if [normal(name) for name in names] == ["none"] else [name.strip() for name in names]


def named_roles(columns: Mapping[str, Any] | str | None, owner: str) -> dict[str, Any]:
    """Return the columns that were named: a mapping, or text such as ``first=home,second=away``."""
    if columns is None:
        return {}
    if isinstance(columns, str):
        entries = _entries(columns)
        odd = [part.strip() for part in columns.split(",") if part.strip() and "=" not in part]
        if odd or not entries:
            several = [entry for entry in entries if entry[0] in LISTS]
            raise DataError(code="columns-not-role-column", owner=owner).says(
                Setting("columns") + f": {first_few(odd or [columns])} does not say which column has which role",
                "Write role=column, as in first=home_team,second=away_team",
                *(f"join columns of one role by +, as in {role}={column}+{odd[0]}" for role, column in several[:1]),
            )
        given: dict[str, Any] = {}
        for role, column in entries:
            if role in given:
                raise DataError(code="role-named-twice", owner=owner).says(
                    Setting("columns") + f': the role "{role}" is named twice', "Name it once"
                )
            given[role] = column
    elif isinstance(columns, Mapping):
        given = dict(columns)
    else:
        raise TypeError(f"{owner}: columns must map roles to columns; got {type(columns).__name__}.")
    unknown = [role for role in given if role not in ROLES]
    if unknown:
        nearest = nearest_names(str(unknown[0]), ROLES)
        raise DataError(code="unknown-role", owner=owner).says(
            Setting("columns") + f": {first_few(unknown)} is not a role{' (' + nearest + ')' if nearest else ''}",
            f"Roles are {', '.join(ROLES)}; as in first=home_team,second=away_team",
        )
    for one, other in (("first", "second"), ("score_first", "score_second"), ("wins_first", "wins_second")):
        if (one in given) != (other in given):
            here, lacking = (one, other) if one in given else (other, one)
            raise DataError(code="role-without-its-pair", owner=owner).says(
                Setting("columns") + f": {here} is named and {lacking} is not",
                f"Name both: {one}=COLUMN,{other}=COLUMN",
            )
    if "loser" in given and "winner" not in given:
        raise DataError(code="loser-without-winner", owner=owner).says(
            Setting("columns") + ": loser is named and winner is not", "Name both: winner=COLUMN,loser=COLUMN"
        )
    return {role: column if role in LISTS else str(column) for role, column in given.items()}
