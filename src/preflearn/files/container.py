"""The archive itself: sizes are checked before contents when it is read."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflearn._disk import atomic_file, explained, is_pipe
from preflearn.exceptions import DataError, FileFormatError, Place, Setting

_HEADER = "header.json"
_MEMBER = re.compile(r"header\.json|[0-9]+\.npy")
_PIECE = 1 << 24
_DTYPES = {"<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1"}


class _Archive(zipfile.ZipFile):
    """An archive that is given up where writing fails, without complaints about its own state.

    Closing one that was interrupted at a bad moment raises ValueError, which would take the place of the interrupt.
    """

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        else:
            self.fp = None

    # Does nothing, and nothing in Python: an interrupt that arrives within a finaliser in Python is lost.
    __del__ = object.__init__


def write_container(path: Path, header: dict[str, Any], arrays: list[NDArray[Any]], *, overwrite: bool = True) -> None:
    """Write header and arrays, atomically."""
    text = json.dumps(header, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    with atomic_file(path, overwrite=overwrite) as stream, _Archive(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER), text.encode("utf-8", "surrogatepass"))  # without the time of day
        for number, array in enumerate(arrays):
            with archive.open(f"{number}.npy", "w", force_zip64=array.nbytes > 1 << 30) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


class Container(NamedTuple):
    """An open archive: the file is opened once, so that another one that takes its name meanwhile is not mixed in."""

    archive: zipfile.ZipFile
    header: dict[str, Any]
    sizes: dict[str, int]

    def array(self, number: int, dtype: str, shape: list[int]) -> NDArray[Any]:
        """Return an array, having checked that the file is as large as an array of this dtype and shape."""
        name = f"{number}.npy"
        if dtype not in _DTYPES or name not in self.sizes:
            raise DataError(f"array {number} of type {dtype} is missing")
        if not all(type(length) is int and length >= 0 for length in shape):
            raise DataError(f"array {number} has the shape {shape}")
        kind = np.dtype(dtype)
        n_bytes = math.prod(shape) * kind.itemsize
        if n_bytes > self.sizes[name]:
            raise DataError(f"array {number} should have {n_bytes} bytes and has {self.sizes[name]}")
        with self.archive.open(name) as member:
            fortran = _read_npy_header(member, kind, tuple(shape))
            content = bytearray()  # writable, unlike bytes
            while piece := member.read(_PIECE):
                content += piece
        if len(content) != n_bytes:
            raise DataError(f"array {number} should have {n_bytes} bytes and has {len(content)}")
        return np.frombuffer(content, dtype=kind).reshape(shape, order="F" if fortran else "C")


def _read_npy_header(member: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    version = np.lib.format.read_magic(member)
    if version not in ((1, 0), (2, 0)):
        raise DataError(f"an array is in version {version} of the npy format")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    found_shape, fortran, found_dtype = read(member)
    if found_shape != shape or found_dtype != dtype:
        raise DataError(f"an array is {found_dtype} of shape {found_shape} and should be {dtype} of shape {shape}")
    return bool(fortran)


@contextlib.contextmanager
def open_container(path: Path) -> Iterator[Container]:
    """Open an archive and read its header, having checked that it is whole and no member is larger than the file."""
    if is_pipe(path):
        raise FileFormatError(code="model-from-a-pipe", where=Place(str(path))).says(
            "a model is read from a file, not from a pipe", "Give the path of a model file"
        )
    with contextlib.ExitStack() as stack:
        with explained(path, "model file"):
            stream = stack.enter_context(path.open("rb"))
            start = stream.read(4)
        if start != b"PK\x03\x04":
            raise not_a_model(path, "this is not a model file of preflearn" if start else "the file is empty")
        try:
            archive = stack.enter_context(zipfile.ZipFile(stream))
            header, sizes = _read_header(path, archive, os.fstat(stream.fileno()).st_size)
        except FileFormatError:
            raise
        # zipfile raises errors of many kinds on damaged archives, among them NotImplementedError and struct.error
        except Exception as error:
            reason = (str(error) or type(error).__name__).rstrip(".")
            raise FileFormatError(code="model-archive-damaged", where=Place(str(path))).says(
                f"the model file is damaged or cut off ({reason})", "Copy it again, or save the model again"
            ) from error
        yield Container(archive, header, sizes)


def not_a_model(path: str | Path, what: str = "this is not a model file of preflearn") -> FileFormatError:
    """Return the error about a file of another kind."""
    return FileFormatError(code="not-a-model-file", where=Place(str(path))).says(
        what, "Make one with " + Setting("make_model")
    )


def _read_header(path: Path, archive: zipfile.ZipFile, size: int) -> tuple[dict[str, Any], dict[str, int]]:
    members = archive.infolist()
    sizes = {member.filename: member.file_size for member in members}
    if _HEADER not in sizes:
        raise not_a_model(path, "this is a zip archive, but not a model file of preflearn")
    # Nothing is compressed, so together the members are no larger than the file: no archive can be a bomb.
    plain = all(member.compress_type == zipfile.ZIP_STORED for member in members)
    named = all(_MEMBER.fullmatch(name) for name in sizes)
    if not plain or not named or len(sizes) != len(members) or sum(sizes.values()) > size:
        raise FileFormatError(code="model-repacked", where=Place(str(path))).says(
            "this archive was not written by preflearn, or was repacked", "Save the model again"
        )

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a JSON number")

    header = json.loads(archive.read(_HEADER).decode("utf-8", "surrogatepass"), parse_constant=refuse)
    if not isinstance(header, dict):
        raise TypeError("its header is not a JSON object")
    return header, sizes
