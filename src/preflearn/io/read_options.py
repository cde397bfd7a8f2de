"""The options of the readers, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from preflearn.data.fields import check_choice
from preflearn.io.roles import named_roles
from preflearn.io.scales import Scale, named_scale

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """The options of `read_preferences`; ``given`` are the columns that the person named, by role."""

    owner: str
    given: dict[str, Any]
    scale_of_outcomes: Scale | None
    drop_missing: bool
    drop_self: bool
    keep_repeats: bool
    need_outcomes: bool
    lower_wins: bool
    margins: bool
    scale: bool
    items_name: str
    by: str | None = None

    @classmethod
    def checked(
        cls,
        owner: str,
        *,
        columns: Mapping[str, Any] | str | None = None,
        outcomes: Mapping[str, Any] | str | None = None,
        missing: str = "error",
        self_comparisons: str = "error",
        repeated_rows: str = "drop",
        need_outcomes: bool = True,
        lower_wins: bool = False,
        margins: bool = False,
        scale: bool = True,
        items_name: str = "the list of known items",
        by: str | None = None,
    ) -> Self:
        """Return options as a person gives them; what is not allowed raises."""
        check_choice(missing, ("error", "drop"), "missing", owner)
        check_choice(self_comparisons, ("error", "drop"), "self_comparisons", owner)
        check_choice(repeated_rows, ("drop", "keep"), "repeated_rows", owner)
        return cls(
            owner,
            named_roles(columns, owner),
            named_scale(outcomes, owner),
            missing == "drop",
            self_comparisons == "drop",
            repeated_rows == "keep",
            need_outcomes,
            lower_wins,
            margins,
            scale,
            items_name,
            by,
        )
