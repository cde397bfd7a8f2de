"""Messages as data: what is wrong, where, and what to do, in the words of whoever reads them.

A message names a setting by its *role*: ``Setting("missing", "drop")`` is the argument ``missing="drop"`` for a user of
Python and the option ``--drop`` for one of the command line. A `Dialect` knows how its readers write settings::

    text   = str | Setting | Phrase        parts join with +:  "read with " + Setting("missing", "drop")
    message = code, what, cures, where, owner
    str    = dialect.render(message)

Cures are alternatives. One that needs a setting which a dialect does not have is left out of that dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["PYTHON", "WORDS", "Dialect", "FileNote", "Message", "Note", "Phrase", "Place", "Setting", "Text"]


class _Joined:
    """What joins with text by ``+``."""

    def __add__(self, other: Text) -> Phrase:
        return Phrase(_parts(self) + _parts(other))

    def __radd__(self, other: Text) -> Phrase:
        return Phrase(_parts(other) + _parts(self))


@dataclass(frozen=True)
class Setting(_Joined):
    """A setting that a reader can change, by the role it plays; without a value it is only named.

    Parameters
    ----------
    role : str
        Which setting; by default its name as an argument in Python.
    value : object, default=None
        What to set it to. A mapping, such as columns by role, is written ``a=x,b=y``.

    Examples
    --------
    >>> from preflearn.exceptions import Setting
    >>> Setting("missing", "drop").role
    'missing'
    """

    role: str
    value: Any = None


@dataclass(frozen=True)
class Phrase(_Joined):
    """Text with settings in it.

    Examples
    --------
    >>> from preflearn.exceptions import Phrase, Setting
    >>> print(Phrase(("Set ", Setting("missing", "drop"))))
    Phrase(parts=('Set ', Setting(role='missing', value='drop')))
    """

    parts: tuple[str | Setting, ...]


Text = str | Setting | Phrase


class Note(str):
    """A sentence about what was read or done, with the kind of it for programs.

    Examples
    --------
    >>> from preflearn.exceptions import Note
    >>> note = Note("2 rows were left out.", "rows-left-out")
    >>> print(note, note.code)
    2 rows were left out. rows-left-out
    """

    code: str

    def __new__(cls, text: str, code: str = "other") -> Note:
        """Return the sentence."""
        note = super().__new__(cls, text)
        note.code = code
        return note


class FileNote(str):
    """A sentence about a file, ``source: text``, of which readers who should not see folders are shown the name.

    Examples
    --------
    >>> from preflearn.exceptions import FileNote
    >>> FileNote("games.csv", "3 rows.")
    'games.csv: 3 rows.'
    """

    source: str
    text: str

    def __new__(cls, source: str, text: str) -> FileNote:
        """Return the sentence."""
        note = super().__new__(cls, f"{source}: {text}")
        note.source, note.text = source, text
        return note

    def __reduce__(self) -> tuple[Any, ...]:
        return FileNote, (self.source, self.text)


@dataclass(frozen=True)
class Place:
    """Where something is wrong.

    Parameters
    ----------
    source : str
        The file, or what stands for it.
    line : int, default=None
        The line, or whatever ``unit`` counts.
    unit : str, default="line"
        "line", "row" or "entry".

    Examples
    --------
    >>> from preflearn.exceptions import Place
    >>> Place("games.csv", 12).line
    12
    """

    source: str
    line: int | None = None
    unit: str = "line"

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}, {self.unit} {self.line}"


@dataclass(frozen=True)
class Message:
    """What is wrong, where, and what to do.

    Parameters
    ----------
    what : str, Setting or Phrase
        What is wrong: how many, which ones first, what was expected.
    cures : tuple of str, Setting or Phrase, default=()
        What to do: alternatives, joined by "or".
    code : str, default="other"
        The kind of problem, for programs.
    where : Place, default=None
        The file and line, where there is one.
    owner : str, default=None
        The class or function that found it.

    Examples
    --------
    >>> from preflearn.messages import Message, Place, Setting
    >>> message = Message("the winner is empty", ("Fill the cell", "read with " + Setting("missing", "drop")),
    ...                   code="empty-cell", where=Place("matches.csv", 7))
    >>> print(message)
    matches.csv, line 7: the winner is empty. Fill the cell, or read with missing="drop".
    """

    what: Text
    cures: tuple[Text, ...] = ()
    code: str = "other"
    where: Place | None = None
    owner: str | None = None

    def __str__(self) -> str:
        return PYTHON.render(self)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings that its cures propose, for programs that offer them."""
        return tuple(part for cure in self.cures for part in _parts(cure) if isinstance(part, Setting))

    def at(self, where: Place) -> Message:
        """Return the same with a place, if it has none."""
        return self if self.where is not None else replace(self, where=where)


@dataclass(frozen=True)
class Dialect:
    """How some readers write settings.

    Parameters
    ----------
    spell : function of a Setting
        How a setting is written; None where these readers do not have it.
    shows_owner : bool, default=False
        Whether readers know classes and functions by name.
    copied : bool, default=False
        Whether readers copy settings with all that follows: no full stop comes after one.
    instead : mapping of code to str, default=None
        What to do where no cure of a message can be written.
    """

    spell: Callable[[Setting], str | None]
    shows_owner: bool = False
    copied: bool = False
    instead: Mapping[str, str] | None = None

    def render(self, message: Message) -> str:
        """Return a message as text."""
        able = [cure for cure in message.cures if self._has(cure)]
        cure = _alternatives([self.words(cure) for cure in able]) or (self.instead or {}).get(message.code, "")
        what = self.words(message.what)
        if cure and what[-1:] not in ".!?:":
            what += "."
        open_end = self.copied and bool(able) and isinstance(_parts(able[-1])[-1], Setting)
        if cure and cure[-1:] not in ".!?" and not open_end:
            cure += "."
        owner = message.owner if self.shows_owner else None
        before = owner if message.where is None else str(message.where)
        return (f"{before}: " if before else "") + what + (f" {cure}" if cure else "")

    def words(self, text: Text) -> str:
        """Return text with its settings as these readers write them, by role where they cannot set them."""
        return "".join(part if isinstance(part, str) else self._named(part) for part in _parts(text))

    def _named(self, setting: Setting) -> str:
        spelt = self.spell(setting)
        if spelt is not None:
            return spelt
        name = setting.role.replace("_", " ")
        return name if setting.value is None else f"{name} {setting.value}"

    def _has(self, text: Text) -> bool:
        """Return whether these readers have all settings of a text."""
        return all(isinstance(part, str) or self.spell(part) is not None for part in _parts(text))


def _parts(text: Any) -> tuple[str | Setting, ...]:
    return text.parts if isinstance(text, Phrase) else (text,)


def _alternatives(cures: list[str]) -> str:
    """Return ``A, b, or c``."""
    if not cures:
        return ""
    first = cures[0][:1].upper() + cures[0][1:]
    return first if len(cures) == 1 else f"{', '.join([first, *cures[1:-1]])}, or {cures[-1]}"


# Roles that are not arguments of the same name.
_IN_PYTHON = {
    "fixed_alpha": 'RankRLS(alpha={}, solver="cg")',
    "fixed_components": "KPCRank(n_components={})",
    "label_model": "read_label_preferences and LabelPreferenceGP",
    "least_squares": "RankRLSCV, which lists no pairs",
    "make_model": "preflearn.save",
    "nystroem": "approximation=Nystroem({})",
    "python": "{}",
}


def _python(setting: Setting) -> str:
    value = setting.value
    if setting.role in _IN_PYTHON:
        return _IN_PYTHON[setting.role].format(value)
    if value is None:
        return setting.role
    if isinstance(value, Mapping):
        plain = not any(mark in str(name) for name in value.values() for mark in ',="')
        value = ",".join(f"{role}={name}" for role, name in value.items()) if plain else value
    return f'{setting.role}="{value}"' if isinstance(value, str) else f"{setting.role}={value!r}"


PYTHON = Dialect(_python, shows_owner=True)
# For readers who run nothing themselves: a report that was sent to them.
WORDS = Dialect(lambda setting: f"the setting {setting.role.replace('_', ' ')}")
