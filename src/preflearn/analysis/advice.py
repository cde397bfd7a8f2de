"""One warning about a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from preflearn.messages import PYTHON, Dialect, Message, Setting, Text

__all__ = ["LOOK_FOR_CIRCLES", "Advice"]

LOOK_FOR_CIRCLES = "Ask for it with " + Setting("circles", True)


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
    cure : str, Setting or Phrase
        What else to do, where that needs a setting.
    """

    kind: str
    text: str
    items: tuple[Any, ...] = ()
    cure: Text = ""

    def __str__(self) -> str:
        return self.worded()

    def worded(self, dialect: Dialect = PYTHON) -> str:
        """Return the text, with settings as these readers write them."""
        return dialect.render(Message(self.text, (self.cure,) if self.cure else ()))
