"""The application: which commands there are. Each is one module, with its options, its help and its work.

A command ``name`` is the function of that name in the module of that name, and ``USAGE`` says how it is called.
Everything here is imported for ``preflearn --help``: heavy packages are imported in the functions that need them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from importlib import import_module
from inspect import cleandoc, signature
from itertools import pairwise
from typing import Any

from cyclopts import App

from preflearn._version import __version__
from preflearn.cli.dialect import options_of_function

COMMANDS = (
    "rank",
    "fit",
    "predict",
    "evaluate",
    "inspect",
    "suggest",
    "forecast",
    "compare",
    "convert",
    "reproduce",
    "doctor",
    "demo",
)

app = App(
    name="preflearn",
    version=f"preflearn {__version__}",
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # main answers it
    help="Rank things by comparisons of two: who is best, how sure this is, and whether there is a ranking at all.\n\n"
    "For example:\n\n"
    "    preflearn rank matches.csv --report report.html\n"
    "    preflearn inspect matches.csv\n"
    "    preflearn suggest matches.csv --out next.csv\n"
    "    preflearn fit matches.csv --items items.csv --save model.preflearn\n"
    "    preflearn predict model.preflearn pairs.csv\n\n"
    "Each command has its own help, such as preflearn rank --help. Exit codes: 0 done, 2 bad input, 130 interrupted, "
    "143 terminated, 1 an error of preflearn itself; --traceback (or PREFLEARN_TRACEBACK=1) shows where an error came "
    "from.",
)


def _prepare_help(run: Callable[..., Any]) -> None:
    """Join the lines of each paragraph in the docstrings of a command and of its options, as help wraps them anew."""
    options = (type(one.default) for one in signature(run).parameters.values() if is_dataclass(one.default))
    for described in (run, *options):
        lines, options_follow = cleandoc(described.__doc__ or "").split("\n"), False
        joined = lines[:1]
        for previous, line in pairwise(lines):
            options_follow |= line.startswith("-----")
            indent = "    " if options_follow else ""
            one, other = (text.startswith(indent) and text[len(indent) :][:1].strip() for text in (previous, line))
            if one and other and not line.startswith("-----") and (indent or not previous.startswith("-----")):
                joined[-1] += f" {line.strip()}"
            else:
                joined.append(line)
        described.__doc__ = "\n".join(joined)


for _name in COMMANDS:
    _module = import_module(f"preflearn.cli.{_name}")
    _prepare_help(getattr(_module, _name))
    app.command(getattr(_module, _name), usage=f"Usage: {_module.USAGE}")


def options_of(command: str | None) -> frozenset[str]:
    """Return the options that a command of a name has; none for an unknown one."""
    run = app[command].default_command if command in COMMANDS else None
    return frozenset() if run is None else options_of_function(run)
