"""One warning about a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Advice"]


@dataclass(frozen=True)
class Advice:
    """One warning.

    Attributes
    ----------
    kind : str
        In a word: "parts", "unfounded" (first places that rest on almost nothing), "undefeated", "winless", "few",
        "alike", "side", "pairing", "judges", "circles", "noise", "repeats", "outcomes", "names", "not examined".
    text : str
        What was seen, what it means and what to do.
    items : tuple
        Names of the items or judges it is about, if it is about some.
    """

    kind: str
    text: str
    items: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return self.text
