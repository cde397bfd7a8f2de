"""Pipes and devices in place of files: they can be read once only, and what they hold is found out by trying."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["content", "is_pipe", "open_stream", "reading_once"]

_STREAM = re.compile(r"/dev/std(out|err)|/(?:dev|proc/self)/fd/([0-9]{1,9})")
_kept: dict[str, bytes] | None = None


@contextlib.contextmanager
def reading_once() -> Iterator[None]:
    """Keep what is read of pipes such as ``<(cat a.csv)``, so that they can be read again."""
    global _kept
    before, _kept = _kept, {}
    try:
        yield
    finally:
        _kept = before


def is_pipe(path: str | Path) -> bool:
    """Return whether a path leads to a pipe or a device: neither a file nor a directory."""
    path = Path(path)
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except (OSError, ValueError):  # a name that no file can have
        return False


def open_stream(path: str | Path) -> int | None:
    """Return the number of the open stream that a path names, as /dev/stdout does; it may lead to a file."""
    found = _STREAM.fullmatch(str(path))
    if found is None or not Path(path).exists():
        return None
    return {"out": 1, "err": 2}[found[1]] if found[1] else int(found[2])


def content(path: str | Path) -> bytes:
    """Return the bytes of a file, or of a pipe that may have been read before."""
    if _kept is None or not is_pipe(path):
        return Path(path).read_bytes()
    if str(path) not in _kept:
        _kept[str(path)] = Path(path).read_bytes()
    return _kept[str(path)]
