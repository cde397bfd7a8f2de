"""Files that are written whole or not at all, and pipes and devices in their place, which are read once only."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from preflearn.exceptions import DataError, FileFormatError, Place, Setting, nearest_names

if TYPE_CHECKING:
    from gzip import GzipFile

_TEMPORARY = ".preflearn-tmp"
MOST_BYTES = 2 << 30  # of a stream or of a packed file; a table takes ten times as much memory
_STALE = 3600.0  # seconds after which a temporary file of a killed process is removed

_STREAM = re.compile(r"/dev/std(out|err)|/(?:dev|proc/self)/fd/([0-9]{1,9})")
_kept: dict[str, bytes] | None = None


@contextlib.contextmanager
def reading_once() -> Iterator[None]:
    """Keep what is read of standard input and pipes such as ``<(cat a.csv)``, so that they can be read again."""
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
    """Return the bytes of a file, or of a pipe that may have been read before; ``-`` is standard input."""
    name = str(path)
    if _kept is None or not (name == "-" or is_pipe(path)):
        return _read(name)
    if name not in _kept:
        _kept[name] = _read(name)
    return _kept[name]


def _read(name: str) -> bytes:
    if name == "-":
        return bounded(sys.stdin.buffer, "standard input")
    if not is_pipe(name):
        return Path(name).read_bytes()
    with Path(name).open("rb") as stream:
        return bounded(stream, name)


@contextlib.contextmanager
def explained(path: str | Path, what: str = "file") -> Iterator[None]:
    """Say why a file cannot be opened, and what to do; ``what`` it should be."""
    where = Place(str(path))
    try:
        yield
    except FileNotFoundError:
        if "://" in str(path):
            raise FileFormatError(code="address-not-a-file", where=where).says(
                "this is a web address, not a file", "Download the file first"
            ) from None
        nearest = ""
        with contextlib.suppress(OSError, ValueError):
            nearest = nearest_names(Path(path).name, os.listdir(Path(path).parent))  # noqa: PTH208 - names only
        raise FileFormatError(code="no-such-file", where=where).says(
            f"there is no such file{f' ({nearest})' if nearest else ''}", "Check the path"
        ) from None
    except IsADirectoryError:
        raise FileFormatError(code="directory-not-a-file", where=where).says(
            "this is a directory", f"Give the path of one {what}"
        ) from None
    except DataError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileFormatError(code="file-unreadable", where=where).says(
            f"the file cannot be read ({reason})", "Check the path"
        ) from None


def bounded(stream: IO[bytes] | GzipFile, name: str) -> bytes:
    """Return all bytes of a stream of unknown size, or raise DataError where they are more than could be used."""
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise DataError(code="stream-too-long", where=Place(name)).says(
            f"there are more than {MOST_BYTES / 1e9:.1f} GB in it", "Use fewer rows"
        )
    return data


@contextlib.contextmanager
def atomic_file(path: Path, *, overwrite: bool = True) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name only when it is complete.

    The bytes go to a temporary file in the same directory, which is flushed to the disk and then takes the name; on any
    failure, an interrupt included, it is removed and what was there before stays. A file that is replaced passes its
    permissions on. Pipes and devices are written to directly, as is standard output under its name /dev/stdout,
    wherever that leads.

    Without ``overwrite`` a file of that name, even one that appears while this one is written, is a DataError.
    """
    number = open_stream(path)
    if number is not None or is_pipe(path):
        sys.stdout.flush()
        # A stream that is open goes on where it is: opened again, it would overwrite a file it leads to.
        try:
            with path.open("wb") if number is None else os.fdopen(os.dup(number), "wb") as stream:
                yield stream
        except OSError as error:
            error.filename = str(path)  # none where a device is full
            raise
        return
    real = Path(os.path.realpath(path))  # a link stays a link
    _remove_stale(real)
    temporary = real.with_name(f".{real.name}.{secrets.token_hex(6)}{_TEMPORARY}")
    try:
        with _created(temporary, like=real) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if overwrite:
            temporary.replace(real)
        else:
            _take_name(temporary, real, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # not the temporary name, and not none, as when the disk is full
        raise
    _sync_directory(real.parent)


def _created(temporary: Path, like: Path) -> IO[bytes]:
    """Open a new file, with the permissions of the file that it will replace, or those of any new file."""
    try:
        mode = stat.S_IMODE(like.stat().st_mode)
    except OSError:
        return temporary.open("xb")  # not tempfile, whose files are for their owner only
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    stream = os.fdopen(os.open(temporary, flags, 0o600), "wb")
    temporary.chmod(mode)
    return stream


def _take_name(temporary: Path, real: Path, path: Path) -> None:
    """Give a finished file its name, or raise DataError if a file of that name has appeared meanwhile."""
    try:
        try:
            os.link(temporary, real)
        except FileExistsError:
            raise
        except OSError:  # no hard links here, as on many memory cards: take the name first
            real.open("xb").close()
            try:
                temporary.replace(real)
            except BaseException:
                real.unlink()
                raise
        else:
            temporary.unlink()
    except FileExistsError:
        raise DataError(code="file-exists", where=Place(str(path))).says(
            "the file exists already", "Replace it with " + Setting("overwrite", True), "choose another name"
        ) from None


def _remove_stale(path: Path) -> None:
    with contextlib.suppress(OSError):
        for left in path.parent.glob(f".{_escape(path.name)}.*{_TEMPORARY}"):
            if time.time() - left.stat().st_mtime > _STALE:
                left.unlink(missing_ok=True)


def _escape(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _sync_directory(directory: Path) -> None:
    with contextlib.suppress(OSError):  # not every system opens directories
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
