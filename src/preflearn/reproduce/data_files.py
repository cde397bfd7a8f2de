"""Data of an experiment: found whole, found in half (an error), or missing (its stand-in, with a warning)."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from preflearn.exceptions import DataError, DataWarning, first_few
from preflearn.reproduce.experiment import Data


def locate(data: Data, root: Path | None, owner: str) -> tuple[Path | None, str]:
    """Return the directory of data and its name, or None where the stand-in must do, which is warned of."""
    wanted = data
    while True:
        folder = None if root is None else root / wanted.folder
        if folder is not None and folder.is_dir():
            _check(wanted, folder, owner)
            if wanted is not data:
                _warn(data, root, f"{wanted.title} stands in for it", owner)
            return folder, wanted.folder
        if wanted.otherwise is None:
            _warn(data, root, f"{wanted.stand_in} stands in for it", owner)
            return None, "stand-in"
        wanted = wanted.otherwise


def _warn(data: Data, root: Path | None, instead: str, owner: str) -> None:
    place = Path(root or "DATA") / data.folder
    files = first_few(list(data.files), 6).replace('"', "")
    DataWarning(code="reproduce-no-data", owner=owner).warn(
        f"{data.heading} is missing; {instead}, so that figures are not those of the paper. {data.get}",
        f"Put {files} into {place}" + ("" if root else ", and name the directory DATA"),
    )


def _check(data: Data, folder: Path, owner: str) -> None:
    """Raise DataError unless every file is there with all its lines."""
    files = max([data.files, *data.layouts], key=lambda names: sum((folder / name).is_file() for name in names))
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise DataError(code="reproduce-half-data", owner=owner).says(
            f"{folder} lacks {len(missing)} of {len(files)} files of {data.title} ({first_few(missing)}). {data.get}",
            "Add them",
            "move the directory away, so that a stand-in is used",
        )
    for name, expected in files.items():
        found = _lines(folder / name, owner) if expected else 0
        if found != expected:
            raise DataError(code="reproduce-cut-data", owner=owner).says(
                f"{folder / name} has {found:,} lines, and {data.title} has {expected:,} there. {data.get}",
                "Get the file again",
            )


def _lines(path: Path, owner: str) -> int:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as stream:
            return sum(1 for _ in stream)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(code="reproduce-damaged-data", owner=owner).says(
            f"{path} is damaged ({error})", "Get the file again"
        ) from None
