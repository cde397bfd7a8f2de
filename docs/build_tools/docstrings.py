"""Docstrings as the reference shows them: only our own members, and ``n_items_`` and ``|S|`` mean themselves."""

from __future__ import annotations

import re
from typing import Any

_LITERAL = re.compile(r"(``.*?``|`.*?`_?)")
_NOT_MARKUP = re.compile(r"(?<=\w)_(?!\w)|\|(?=\S)|(?<=\S)\||(?<=/)\*(?=[.\w])|\*(?=\.\w)")


def escaped(lines: list[str]) -> list[str]:
    """Return lines in which ``coef_`` is no link, a bar no substitution, and ``*.csv`` no emphasis."""
    found, example = [], False
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if example:
            found.append(line)
            continue
        parts = _LITERAL.split(line)
        found.append("".join(part if k % 2 else _NOT_MARKUP.sub(r"\\\g<0>", part) for k, part in enumerate(parts)))
    return found


def _process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = escaped(lines)


def _skip(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    if name.startswith("set_") and name.endswith("_request"):
        return True
    home = getattr(thing, "__module__", None) or getattr(getattr(thing, "fget", None), "__module__", None)
    if home is None and (callable(thing) or isinstance(thing, classmethod | staticmethod)):
        home = getattr(getattr(thing, "__func__", None), "__module__", "builtins")
    return True if home is not None and not str(home).startswith("preflearn") else None


def setup(app: Any) -> dict[str, bool]:
    """Register what listens; numpydoc, at 500, comes first."""
    app.connect("autodoc-process-docstring", _process, priority=600)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
