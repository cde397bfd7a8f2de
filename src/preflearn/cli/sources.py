"""Files in: what kind a file is, what a command may overwrite, and data in the shape that a model wants."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from preflearn.cli.console import count
from preflearn.exceptions import DataError, FileFormatError

if TYPE_CHECKING:
    from preflearn.data import Comparisons, ItemTable, Ratings

__all__ = [
    "Saved",
    "check_target",
    "open_saved",
    "read_rows",
    "read_training",
    "recognise",
    "table_for",
]

_SVMLIGHT = (".txt", ".dat")
_TABLES = (".csv", ".tsv", ".parquet")


def check_target(path: Path, option: str, force: bool, sources: Sequence[Path | None]) -> None:
    """Raise DataError unless a file can be written there, before any work is done for it."""
    if path.is_dir():
        raise DataError(f"{path}: this is a directory. Give {option} the path of a file.")
    if path.exists() and not path.is_file():
        if option == "--out":
            return  # a pipe or a device such as /dev/stdout
        raise DataError(f"{path}: this is no regular file. Give {option} another path.")
    for source in sources:
        if source is not None and path.exists() and source.exists() and path.samefile(source):
            raise DataError(f"{path}: this file is read by the same command. Give {option} another path.")
    if path.exists() and not force:
        raise DataError(f"{path}: the file exists already. Add --force to replace it, or give {option} another path.")
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no directory {path.parent}. Create it, or give {option} another path.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise DataError(f"{path}: the directory {path.parent} cannot be written to. Give {option} another path.")


def recognise(path: Path, stated: str | None) -> Literal["svmlight", "table"]:
    """Return how to read a file: as stated, or by its content, or by its name."""
    from preflearn.data._files import is_model, kind_of

    if stated is not None:
        return "svmlight" if stated == "svmlight" else "table"
    start = _start(path)
    if is_model(path):
        raise FileFormatError(f"{path}: this is a model file of preflearn, not data. Give a data file.")
    kind = kind_of(start, str(path))
    if kind != "table":
        return "svmlight" if kind == "svmlight" else "table"
    first = next((line for line in start.splitlines() if line.strip() and not line.lstrip().startswith(b"#")), b"")
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if suffix in _TABLES or any(mark in first for mark in (b",", b";", b"\t", b"|")):
        return "table"
    if suffix in _SVMLIGHT or not first or not first.isascii() or b"\0" in first or start.startswith(b"PK"):
        return "svmlight"  # or something that its reader can name better
    raise FileFormatError(
        f'{path}: neither the name nor the first line ("{first[:40].decode("utf-8", "replace")}") says what this is. '
        "Give --format svmlight or --format comparisons."
    )


def _start(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked; problems are left to the reader, which names them."""
    try:
        with path.open("rb") as stream:
            start = stream.read(1 << 16)
    except OSError:
        return b""
    if start[:2] == b"\x1f\x8b":
        try:
            return zlib.decompressobj(wbits=31).decompress(start, 1 << 16)
        except zlib.error:
            return b""
    return start


def read_training(
    path: Path,
    items: Path | None,
    stated: str | None,
    zero_based: bool,
    n_features: int | None,
    columns: str | None = None,
) -> Ratings | Comparisons:
    """Return the data of ``preflearn fit``."""
    from preflearn.data import read_comparisons, read_svmlight

    if recognise(path, stated) == "svmlight":
        for option, extra in (("--items", items), ("--columns", columns)):
            if extra is not None:
                raise DataError(f"{path}: rows of an SVMlight file bring their own features. Leave out {option}.")
        try:
            return read_svmlight(path, zero_based=zero_based, n_features=n_features)
        except FileFormatError as error:
            if n_features is not None and f"n_features={n_features}" in str(error):
                message = str(error).partition(" (n_features")[0]
                raise FileFormatError(f"{message}. Raise --n-features, or leave it out.") from None
            raise
    for option, given in (("--zero-based", zero_based), ("--n-features", n_features)):
        if given:
            raise DataError(f"{path}: {option} is for SVMlight files, and this is a table. Leave it out.")
    return read_comparisons(path, items, columns=columns)


@dataclass(frozen=True)
class Saved:
    """An opened model file; ``known`` are the names of the items of a model without features."""

    path: Path
    estimator: Any
    notes: dict[str, Any]

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self.estimator.n_features_in_)

    @property
    def known(self) -> list[str] | None:
        """Names of the items, if they have no features."""
        return self.notes.get("item_names")

    def needs_features(self, path: Path) -> None:
        """Raise DataError if the model knows items by name only."""
        if self.known is not None:
            raise DataError(
                f"{path}: the model was trained on comparisons of {len(self.known)} named items without features, so "
                "it can score only these items. Train with preflearn fit DATA --items ITEMS to score new ones."
            )

    def check_width(self, n_features: int, path: Path) -> None:
        """Raise DataError unless rows have as many features as the model wants."""
        if n_features != self.n_features:
            names = self.notes.get("feature_names")
            which = f" ({', '.join(names[:6])}{', ...' if len(names) > 6 else ''})" if names else ""
            raise DataError(
                f"{path}: the items have {count(n_features, 'feature')}, but the model was trained on "
                f"{self.n_features}{which}. Give the same columns as in training."
            )


def open_saved(path: Path, data: Path | None) -> Saved:
    """Open a model file; a file of data in its place is told from a damaged one."""
    from preflearn.data._files import is_model
    from preflearn.model_file import open_model

    try:
        estimator, notes = open_model(path)
    except FileFormatError:
        if data is not None and path.is_file() and not is_model(path) and is_model(data):
            raise FileFormatError(
                f"{path}: this is data, and {data} is the model. The model comes first: MODEL DATA."
            ) from None
        raise
    return Saved(path, estimator, notes)


def read_rows(saved: Saved, path: Path) -> Ratings:
    """Return SVMlight rows with the features of the model."""
    import warnings

    import numpy as np

    from preflearn.data import read_svmlight
    from preflearn.exceptions import DataWarning

    saved.needs_features(path)
    rows = read_svmlight(path, n_features=saved.n_features, zero_based=bool(saved.notes.get("zero_based", False)))
    X: Any = rows.items
    used = np.flatnonzero(X.any(axis=0)) if isinstance(X, np.ndarray) else X.indices
    last = int(used.max(initial=-1)) + 1
    if 2 * last <= saved.n_features:
        warnings.warn(
            f"{path}: only features up to {last} occur, but the model was trained on "
            f"{saved.n_features}; the others are taken as 0. Check that model and data belong together.",
            DataWarning,
            stacklevel=2,
        )
    return rows


def table_for(saved: Saved, items: Path | None, data: Path) -> ItemTable:
    """Return the table of items that compared names refer to: the model's own, or ``--items``."""
    import numpy as np

    from preflearn.data import ItemTable, read_items

    if saved.known is not None:
        if items is not None:
            raise DataError(f"{items}: the model was trained without features. Leave out --items.")
        names = np.array(saved.known, dtype=object)
        return ItemTable(None, names, None, len(names))
    if items is None:
        raise DataError(
            f"{data}: the model was trained on {count(saved.n_features, 'feature')} of the items, and a table of pairs "
            "has none. Give them with --items ITEMS."
        )
    table = read_items(items, features=saved.notes.get("feature_names"))
    saved.check_width(0 if table.values is None else table.values.shape[1], items)
    return table
