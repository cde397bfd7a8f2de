"""How users of the command line write the settings that messages of the library name (`preflearn.messages`)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from preflearn.messages import Dialect, Setting

# The option of each role, with {} for its value; or a command, which every command can name.
OPTIONS = {
    "by": "--by {}",
    "circles": "--circles",
    "columns": "--columns {}",
    "fixed_alpha": "--alpha {}",
    "fixed_components": "--components {}",
    "items": "--items {}",
    "kernel": "--kernel {}",
    "label_model": "preflearn fit DATA --save MODEL",
    "least_squares": "preflearn fit DATA --save MODEL, and then preflearn predict MODEL DATA",
    "make_model": "preflearn fit DATA --save FILE",
    "missing": "--drop",
    "model": "--model {}",
    "n_features": "--n-features {}",
    "nystroem": "--nystroem {}",
    "outcomes": "--outcomes {}",
    "overwrite": "--force",
    "repeated_rows": "--keep-repeats",
    "self_comparisons": "--drop",
    "ties": "--ties {}",
    "zero_based": "--zero-based",
}
# Roles that only Python has: cures that need them are left out.
PYTHON_ONLY = frozenset(("cv", "python", "query_sizes", "solver", "inference", "n_points", "prior"))
# What to do about a problem, by its code, where no cure of the library can be followed here.
INSTEAD = {
    "feature-above-n-features": "Give the same features as in training, or train the model with a larger --n-features.",
}


def dialect_of(known: Callable[[], frozenset[str]] | None = None) -> Dialect:
    """Return how settings are written for a command; those that are not among its ``known`` options are left out."""

    def spell(setting: Setting) -> str | None:
        written = _spell(setting)
        if known is None or written is None or not written.startswith("--"):
            return written
        return written if not known() or written.split()[0] in known() else None

    return Dialect(spell, copied=True, instead=INSTEAD)


def _spell(setting: Setting) -> str | None:
    option, value = OPTIONS.get(setting.role), setting.value
    if option is None or value is None:
        return option.removesuffix(" {}") if option is not None else None
    if isinstance(value, Mapping):
        value = ",".join(f"{role}={name}" for role, name in value.items())
    return option.format(shlex.quote(str(value)))


@cache
def options_of_function(command: Callable[..., Any]) -> frozenset[str]:
    """Return the options that a command, a function, has."""
    from cyclopts import App

    alone = App()
    alone.default(command)
    return frozenset(name for argument in alone.assemble_argument_collection() for name in argument.names)


def dialect_for(command: Callable[..., Any]) -> Dialect:
    """Return how settings are written for a command."""
    return dialect_of(lambda: options_of_function(command))


COMMAND_LINE = dialect_of()
