"""Errors and warnings of preflearn.

The tree, with what it means for the person who meets it::

    ValueError
    └── DataError              the data cannot be used as given; the message says what, where and the cure
        └── FileFormatError    the same for a file: names the file and the line
    UserWarning
    └── PreflearnWarning
        ├── DataWarning        the data can be used, but probably not as intended
        ├── GroupsLostWarning  query groups given to fit did not reach score
        └── NumericalWarning   a computation needed help (jitter, dependent components, an unfinished solver)

Wrong kinds of argument raise TypeError, wrong parameter values scikit-learn's InvalidParameterError.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = [
    "DataError",
    "DataWarning",
    "FileFormatError",
    "GroupsLostWarning",
    "NumericalWarning",
    "PreflearnWarning",
    "first_few",
    "nearest_names",
    "quiet",
    "warn_user",
]


class DataError(ValueError):
    """The data cannot be used as given."""


class FileFormatError(DataError):
    """A file cannot be read; the message names the file and the line."""


class PreflearnWarning(UserWarning):
    """Base class of preflearn's warnings."""


class DataWarning(PreflearnWarning):
    """The data can be used, but probably not as intended."""


class GroupsLostWarning(PreflearnWarning):
    """Query groups given to ``fit`` did not reach ``score``."""


class NumericalWarning(PreflearnWarning):
    """A computation needed help; the message says how much."""


@contextmanager
def quiet() -> Iterator[None]:
    """Keep back warnings about data and convergence, which whoever asks will give in other words."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def first_few(values: Iterable[object], limit: int = 3) -> str:
    """Return the first offenders of a message, such as ``4, 17, 230, ...``."""
    listed = list(values)
    text = ", ".join(f'"{v}"' if isinstance(v, str) else str(v) for v in listed[:limit])
    return text + (", ..." if len(listed) > limit else "")


def nearest_names(name: str, known: Iterable[str], limit: int = 2) -> str:
    """Return a hint such as ``nearest names: "C07", "C17"``, or an empty string."""
    import difflib

    close = difflib.get_close_matches(name, [str(k) for k in known], n=limit, cutoff=0.5)
    return f"nearest names: {first_few(close)}" if close else ""


def warn_user(message: str, category: type[Warning]) -> None:
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
    warnings.warn(message, category, stacklevel=level + 1)
