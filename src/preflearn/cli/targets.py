"""Files out: what a command may write to, checked before any work is done for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from preflearn.exceptions import DataError

__all__ = ["check_targets"]


def check_targets(targets: Mapping[str, Path | None], force: bool, sources: Sequence[str | Path | None]) -> None:
    """Raise DataError unless a file can be written at each target; keys are the options that name them."""
    given = {option: path for option, path in targets.items() if path is not None}
    for option, path in given.items():
        _check(path, option, force, [Path(source) for source in sources if source is not None and str(source) != "-"])
    real = [os.path.realpath(path) for path in given.values()]
    for place, option in enumerate(given):
        first = real.index(real[place])
        if first < place:
            raise DataError(
                f"{given[option]}: {list(given)[first]} and {option} name the same file. Give each its own."
            )


def _check(path: Path, option: str, force: bool, sources: Sequence[Path]) -> None:
    if str(path) == "-":
        raise DataError(f"{option} is -, and a file is wanted. Give the path of a file.")
    if path.is_dir():
        raise DataError(f"{path}: this is a directory. Give {option} the path of a file.")
    if path.exists() and not path.is_file():
        if option in ("--out", "OUT"):
            return  # a pipe or a device such as /dev/stdout
        raise DataError(f"{path}: this is no regular file. Give {option} another path.")
    for source in sources:
        if path.exists() and source.exists() and path.samefile(source):
            raise DataError(f"{path}: this file is read by the same command. Give {option} another path.")
    if path.exists() and not force:
        raise DataError(f"{path}: the file exists already. Add --force to replace it, or give {option} another path.")
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no directory {path.parent}. Create it, or give {option} another path.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise DataError(f"{path}: the directory {path.parent} cannot be written to. Give {option} another path.")
