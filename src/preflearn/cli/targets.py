"""Files out: what a command may write to, checked before any work is done for it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from preflearn._disk import is_pipe, open_stream
from preflearn.exceptions import DataError


def check_targets(
    targets: Mapping[str, Path | None], force: bool, sources: Sequence[str | Path | None], *, bom: bool = False
) -> None:
    """Raise DataError unless a file can be written at each target; keys are the options that name them."""
    given = {option: path for option, path in targets.items() if path is not None}
    for option, path in given.items():
        _check(
            path, option, force, [Path(source) for source in sources if source is not None and str(source) != "-"], bom
        )
    real = [os.path.realpath(path) for path in given.values()]
    for place, option in enumerate(given):
        first = real.index(real[place])
        if first < place:
            raise DataError(
                f"{given[option]}: {list(given)[first]} and {option} name the same file. Give each its own."
            )


def _check(path: Path, option: str, force: bool, sources: Sequence[Path], bom: bool) -> None:
    if option == "--out" and str(path) == "-":
        return
    if str(path) == "-":
        raise DataError(f"{option} is -, but it must be a file. Give the path of a file.")
    if path.is_dir():
        raise DataError(f"{path}: this is a directory. Give {option} the path of a file.")
    if is_pipe(path) or open_stream(path) is not None:
        if option in ("--out", "OUT"):  # a pipe or a device such as /dev/stdout
            if not os.access(path, os.W_OK):
                raise DataError(f"{path}: this cannot be written to. Give {option} another path.")
            return
        raise DataError(f"{path}: this is not a regular file. Give {option} another path.")
    for source in sources:
        if path.exists() and source.exists() and path.samefile(source):
            raise DataError(f"{path}: this file is read by the same command. Give {option} another path.")
    if path.exists() and not force:
        raise DataError(f"{path}: the file exists already. Add --force to replace it, or give {option} another path.")
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no directory {path.parent}. Create it, or give {option} another path.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise DataError(f"{path}: the directory {path.parent} cannot be written to. Give {option} another path.")
    _try(path, option)
    if option == "--out":
        from preflearn.io.export import check_ending

        check_ending(path, bom=bom)
    elif option == "--report" and path.suffix.lower() not in (".html", ".htm"):
        name = path.with_suffix(".html").name
        raise DataError(f"{path}: a report is a web page. Give --report a name that ends with .html, such as {name}.")


def _try(path: Path, option: str) -> None:
    """Raise DataError unless a file can be made beside the target: permissions alone do not say."""
    real = Path(os.path.realpath(path))
    trial = real.with_name(f".{real.name}.{os.urandom(6).hex()}.preflearn-try")  # as long as the temporary name
    try:
        os.close(os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: no file can be written there ({reason}). Give {option} another path.") from None
    finally:
        with contextlib.suppress(OSError, ValueError):
            trial.unlink()


def write_all(
    *jobs: tuple[Path | None, str, Callable[[Path], Any]],
) -> tuple[list[tuple[str, str]], Exception | None]:
    """Write each path that was asked for; return a line about each, and the first failure, to be raised at the end."""
    saved, failed = [], None
    for path, what, write in jobs:
        if path is not None:
            try:
                write(path)
                saved.append(("Saved", f"{path}: {what}"))
            except Exception as error:  # whatever it is, the others are tried
                failed = failed or error
    return saved, failed
