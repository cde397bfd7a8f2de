"""Words that say who won: names of the two sides, words for ties, marks such as A>B and results such as 1-0."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

__all__ = ["RESULTS", "normal", "side_words", "word_value"]

_TIES = frozenset(
    (
        *("tie", "ties", "tied", "draw", "drawn", "equal", "same", "both", "neither", "even", "half"),
        *("bothbad", "bothgood", "tiebothbad", "tiebothgood", "nopreference", "nopref", "stalemate"),
        *("bothequal", "equallygood", "equallybad", "aboutthesame", "bothareequal", "tiegame"),
    )
)
_TIE_MARKS = frozenset(("=", "1/2", "½", "0.5", "1/2-1/2", "½-½", "0.5-0.5", ".5"))
_FIRST = ("first", "left", "firstitem", "leftitem", "item1", "option1", "side1", "firstwins", "leftwins")
_SECOND = ("second", "right", "seconditem", "rightitem", "item2", "option2", "side2", "secondwins", "rightwins")
# Letters and numbers mean a side only beside columns that are called so.
_SHORT = {
    ("home", "away"): {"h": 1.0, "a": -1.0, "w": 1.0, "l": -1.0, "d": 0.0, "x": 0.0, "homewin": 1.0, "awaywin": -1.0},
    ("home", "visitor"): {"h": 1.0, "v": -1.0, "w": 1.0, "l": -1.0, "d": 0.0, "x": 0.0},
    ("white", "black"): {"w": 1.0, "b": -1.0, "d": 0.0},
    ("left", "right"): {"l": 1.0, "r": -1.0, "a": 1.0, "b": -1.0},
}
_LETTERS = {"a": 1.0, "b": -1.0, "w": 1.0, "l": -1.0, "d": 0.0}
# What happened to the first side.
RESULTS = {"win": 1.0, "won": 1.0, "wins": 1.0, "loss": -1.0, "lost": -1.0, "lose": -1.0, "defeat": -1.0}
_SIGNS = re.compile(r"\W*([ab])\s*(>+|<+|=+)\s*([ab])\W*")  # A>B, A>>B, A=B
_RESULT = re.compile(r"(\d{1,6})\s*[-:\u2013]\s*(\d{1,6})")


def normal(name: str) -> str:
    """Return a name without case, blanks, underscores, dots and other marks."""
    return re.sub(r"[\W_]+", "", name.casefold())


def word_value(text: str, words: Mapping[str, float]) -> float | None:
    """Return what a word says: 1 first, -1 second, 0 tie; None if nothing."""
    if text in _TIE_MARKS:
        return 0.0
    plain = normal(text)
    if plain in words:
        return words[plain]
    if plain in _TIES:
        return 0.0
    signs = _SIGNS.fullmatch(text.casefold())
    if signs and signs[1] != signs[3]:
        return {">": 1.0, "<": -1.0, "=": 0.0}[signs[2][0]] * (1.0 if signs[1] == "a" else -1.0) + 0.0
    result = _RESULT.fullmatch(text.strip())
    return float(np.sign(int(result[1]) - int(result[2]))) if result else None


def side_words(first: str = "first", second: str = "second", sides: tuple[str, str] | None = None) -> dict[str, float]:
    """Return the words for the sides of two columns, whose own names count too."""
    words = dict.fromkeys(_FIRST, 1.0) | dict.fromkeys(_SECOND, -1.0) | RESULTS
    words |= _SHORT.get(sides or ("", ""), _LETTERS)
    if sides is not None:
        words |= {sides[0]: 1.0, sides[1]: -1.0}
    return words | {normal(first): 1.0, normal(second): -1.0}
