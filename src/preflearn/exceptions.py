"""Errors and warnings of preflearn.

The tree, with what it means for the person who meets it::

    ValueError
    └── DataError              the data cannot be used as given; the message says what, where and the cure
        └── FileFormatError    the same for a file: names the file and the line
    UserWarning
    └── PreflearnWarning
        ├── DataWarning        the data can be used, but probably not as intended
        ├── GroupsLostWarning  query groups given to fit did not reach score
        ├── NumericalWarning   a computation needed help (jitter, dependent components)
        └── UnfinishedWarning  an iteration stopped too early (in `preflearn.models`; a ConvergenceWarning)

Wrong kinds of argument raise TypeError, wrong parameter values scikit-learn's InvalidParameterError.

Each is made from data (`preflearn.messages`), which `message` keeps; ``str(error)`` is its text for users of Python.
First what programs read, then what people read: what is wrong, and what to do (alternatives)::

    raise DataError(code="self-comparison", owner="Comparisons").says(
        "3 of 9 rows compare an item with itself", "Drop them"
    )
    DataWarning(code="separate-parts", owner="Comparisons").warn("the items are in 2 separate parts")
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from preflearn.messages import FileNote, Message, Note, Phrase, Place, Setting, Text

__all__ = [
    "DataError",
    "DataWarning",
    "FileFormatError",
    "FileNote",
    "GroupsLostWarning",
    "Message",
    "Note",
    "NumericalWarning",
    "Phrase",
    "Place",
    "PreflearnWarning",
    "Setting",
    "Text",
    "first_few",
    "nearest_names",
    "quiet",
]


class _WithMessage(Exception):  # noqa: N818 - of errors and warnings
    """What is raised or warned with a message that is data; without a code only what ends up inside another message."""

    message: Message

    def __init__(
        self,
        what: Text | Message = "",
        *,
        code: str = "other",
        owner: str | None = None,
        where: Place | None = None,
    ) -> None:
        self.message = what if isinstance(what, Message) else Message(what, (), code, where, owner)
        super().__init__(str(self.message))

    def says(self, what: Text, *cures: Text) -> Self:
        """Return this with what is wrong, and what to do: alternatives."""
        self.message = replace(self.message, what=what, cures=cures)
        self.args = (str(self.message),)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,)


class DataError(_WithMessage, ValueError):
    """The data cannot be used as given.

    Examples
    --------
    >>> import preflearn
    >>> from preflearn.exceptions import DataError
    >>> try:
    ...     preflearn.Comparisons(None, ["ann"], ["ann"])
    ... except DataError as error:
    ...     print(error.message.code)
    self-comparison
    """


class FileFormatError(DataError):
    """A file cannot be read; the message names the file and the line.

    Examples
    --------
    >>> import preflearn
    >>> from preflearn.exceptions import FileFormatError
    >>> try:
    ...     preflearn.load("nowhere.preflearn")
    ... except FileFormatError as error:
    ...     print(str(error)[:41])
    nowhere.preflearn: there is no such file.
    """


class PreflearnWarning(_WithMessage, UserWarning):
    """Base class of preflearn's warnings; made as a `DataError` is.

    Examples
    --------
    >>> from preflearn.exceptions import DataWarning, PreflearnWarning
    >>> issubclass(DataWarning, PreflearnWarning)
    True
    """

    def warn(self, what: Text, *cures: Text) -> None:
        """Warn at the line outside this package that led here, however many functions lie between."""
        level = 1
        while True:
            try:
                frame = sys._getframe(level)
            except ValueError:
                break
            if frame.f_globals.get("__name__", "").partition(".")[0] != __name__.partition(".")[0]:
                break
            level += 1
        warnings.warn(self.says(what, *cures), stacklevel=level + 1)


class DataWarning(PreflearnWarning):
    """The data can be used, but probably not as intended.

    Examples
    --------
    >>> import warnings
    >>> import preflearn
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     _ = preflearn.Comparisons(None, ["ann", "bob"], ["bob", "cy"], [0, 1])
    >>> given[0].category.__name__
    'DataWarning'
    """


class GroupsLostWarning(PreflearnWarning):
    """Query groups given to ``fit`` did not reach ``score``.

    Examples
    --------
    >>> from preflearn.exceptions import GroupsLostWarning
    >>> issubclass(GroupsLostWarning, UserWarning)
    True
    """


class NumericalWarning(PreflearnWarning):
    """A computation needed help; the message says how much.

    Examples
    --------
    >>> from preflearn.exceptions import NumericalWarning, PreflearnWarning
    >>> issubclass(NumericalWarning, PreflearnWarning)
    True
    """


@contextmanager
def quiet(*categories: type[Warning], message: str = "") -> Iterator[None]:
    """Hide warnings that the caller gives in its own words; by default about data and convergence.

    This is the one place where the library silences warnings. ``message`` is how those of others start.

    Examples
    --------
    >>> import warnings
    >>> from preflearn.exceptions import quiet
    >>> with quiet(UserWarning):
    ...     warnings.warn("nobody sees this", stacklevel=1)
    """
    if not categories:
        from sklearn.exceptions import ConvergenceWarning

        categories = (DataWarning, ConvergenceWarning)
    with warnings.catch_warnings():
        for category in categories:
            warnings.filterwarnings("ignore", message, category)
        yield


def first_few(values: Iterable[object], limit: int = 3) -> str:
    """Return the first offenders of a message, such as ``4, 17, 230, ...``.

    Examples
    --------
    >>> from preflearn.exceptions import first_few
    >>> first_few([4, 17, 230, 231])
    '4, 17, 230, ...'
    """
    listed = list(values)
    text = ", ".join(f'"{v}"' if isinstance(v, str) else str(v) for v in listed[:limit])
    return text + (", ..." if len(listed) > limit else "")


def nearest_names(name: str, known: Iterable[str], limit: int = 2) -> str:
    """Return a hint such as ``nearest names: "C07", "C17"``, or an empty string.

    Examples
    --------
    >>> from preflearn.exceptions import nearest_names
    >>> nearest_names("C77", ["C07", "C17", "B1"])
    'nearest names: "C17", "C07"'
    """
    import difflib

    close = difflib.get_close_matches(name, [str(k) for k in known], n=limit, cutoff=0.5)
    return f"nearest names: {first_few(close)}" if close else ""
