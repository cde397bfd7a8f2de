"""Folds of a LETOR collection from a directory, in either of the layouts that it is passed on in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from preflearn.data import ItemTable, Ratings
from preflearn.data.fields import check_count
from preflearn.exceptions import DataError, FileFormatError, Place, first_few
from preflearn.io import read_svmlight

_N_FOLDS = 5
_FILES = {
    "train": ("train", "trainingset", "training"),
    "validation": ("vali", "validationset", "validation", "valid"),
    "test": ("test", "testset"),
}
_ENDINGS = (".txt", ".txt.gz")


@dataclass(frozen=True, eq=False)
class LetorFold:
    """One fold: three parts with different queries and the same number of features.

    Attributes
    ----------
    number : int
        Number of the fold, from 1.
    train, validation, test : Ratings
        The parts; ``group`` is the query.

    Examples
    --------
    >>> from preflearn.data import Ratings
    >>> from preflearn.datasets import LetorFold
    >>> part = Ratings([[0.1], [0.7]], [0, 1])
    >>> LetorFold(1, part, part, part).number
    1
    """

    number: int
    train: Ratings
    validation: Ratings
    test: Ratings


def load_letor(
    directory: str | Path, fold: int | None = None, *, n_features: int | None = None
) -> tuple[LetorFold, ...]:
    r"""Load the folds of a LETOR collection from a directory.

    Answers: how do I run the published five-fold protocol on files that I have?

    Parameters
    ----------
    directory : str or path
        Holds either ``Fold1`` to ``Fold5``, each with ``train.txt``, ``vali.txt`` and ``test.txt`` (or
        ``trainingset.txt``, ``validationset.txt``, ``testset.txt``), or the parts ``S1.txt`` to ``S5.txt``.
        Files may be gzipped (``.txt.gz``); case does not matter.
    fold : int from 1 to 5, default=None
        The fold to load; None: all five.
    n_features : int, default=None
        Number of features; None: the largest feature number in the files that are read.

    Returns
    -------
    tuple of LetorFold
        Five folds, or one if ``fold`` is given; each with ``train``, ``validation`` and ``test``.

    Raises
    ------
    DataError
        If the directory or a file is missing (the message says what was looked for and what was found), if a file
        has no queries, or if a query occurs in two parts of a fold.

    Notes
    -----
    From parts, fold f has test part S_f, validation part S_(f-1) (S5 for f = 1) and the other three, in order of their
    numbers, for training; a part is read once and shared between folds. Values are as in the files:
    ``scale_per_group`` does the usual scaling per query.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from preflearn.datasets import load_letor
    >>> with TemporaryDirectory() as folder:
    ...     for part in range(1, 6):
    ...         _ = Path(folder, f"S{part}.txt").write_text(f"1 qid:{part} 1:0.5 2:1\n0 qid:{part} 1:0.1\n")
    ...     folds = load_letor(folder)
    >>> [fold.test.group[0].item() for fold in folds], folds[0].train
    ([1, 2, 3, 4, 5], Ratings(6 items with 2 features in 3 groups))
    """
    root = Path(directory)
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise DataError(code="letor-no-directory", owner="load_letor").says(
            f"{root} {what}", "Give the directory with Fold1 ... Fold5 or S1.txt ... S5.txt"
        )
    numbers = range(1, _N_FOLDS + 1) if fold is None else [check_count(fold, "fold", "load_letor", high=_N_FOLDS)]
    found = _listing(root)
    if any(f"fold{number}" in found for number in range(1, _N_FOLDS + 1)):
        paths = _from_folds(found, numbers, root)
    elif any(f"s{number}{ending}" in found for number in range(1, _N_FOLDS + 1) for ending in _ENDINGS):
        paths = _from_parts(found, numbers, root)
    else:
        raise DataError(code="letor-no-folds", owner="load_letor").says(
            f"{root} has neither Fold1 ..", f"Fold5 nor S1.txt ... S5.txt (or .txt.gz); {_found(found)}.{_hint(root)}"
        )
    read = _read(sorted({path for parts in paths.values() for part in parts for path in part}), n_features)
    return tuple(_fold(number, [[(path, read[path]) for path in part] for part in paths[number]]) for number in numbers)


_Paths = dict[int, tuple[list[Path], list[Path], list[Path]]]


def _from_folds(found: dict[str, Path], numbers: Sequence[int], root: Path) -> _Paths:
    """Return the train, validation and test files of each fold in the layout with one directory per fold."""
    missing = [f"Fold{number}" for number in numbers if f"fold{number}" not in found]
    if missing:
        raise DataError(code="letor-folds-missing", owner="load_letor").says(
            f"{root} lacks {', '.join(missing)}; {_found(found)}", "Add them, or load a single one with fold=..."
        )
    paths: _Paths = {}
    for number in numbers:
        folder = found[f"fold{number}"]
        if not folder.is_dir():
            raise DataError(code="letor-fold-is-a-file", owner="load_letor").says(
                f"{folder} is a file", "Expected a directory with train.txt, vali.txt, test.txt"
            )
        files = _listing(folder)
        train, validation, test = (_pick(files, stems, folder) for stems in _FILES.values())
        paths[number] = ([train], [validation], [test])
    return paths


def _from_parts(found: dict[str, Path], numbers: Sequence[int], root: Path) -> _Paths:
    """Return the train, validation and test files of each fold in the layout with one file per part."""
    parts = [_pick(found, (f"S{number}",), root) for number in range(1, _N_FOLDS + 1)]
    paths: _Paths = {}
    for number in numbers:
        test, validation = number - 1, (number - 2) % _N_FOLDS
        train = [part for index, part in enumerate(parts) if index not in (test, validation)]
        paths[number] = (train, [parts[validation]], [parts[test]])
    return paths


def _listing(folder: Path) -> dict[str, Path]:
    """Return the entries of a directory by their names in lower case."""
    return {path.name.lower(): path for path in sorted(folder.iterdir())}


def _found(found: dict[str, Path]) -> str:
    return f"found {first_few([path.name for path in found.values()], 8)}" if found else "it is empty"


def _hint(root: Path) -> str:
    """Name a directory below this one that looks right."""
    inside = sorted({path.parent for name in ("Fold1", "S1.txt", "S1.txt.gz") for path in root.glob(f"*/{name}")})
    return f" Did you mean {inside[0]}?" if inside else ""


def _pick(found: dict[str, Path], stems: Sequence[str], folder: Path) -> Path:
    """Return the one file with one of these stems."""
    names = [stem + ending for stem in stems for ending in _ENDINGS]
    present = [found[name.lower()] for name in names if name.lower() in found]
    if not present:
        raise DataError(code="letor-file-missing", owner="load_letor").says(
            f"{folder} has no {' or '.join(names)}; {_found(found)}."
        )
    if len(present) > 1:
        raise DataError(code="letor-file-twice", owner="load_letor").says(
            f"{folder} has both {present[0].name} and {present[1].name}", "Keep the one that is meant"
        )
    return present[0]


def _read(paths: Sequence[Path], n_features: int | None) -> dict[Path, Ratings]:
    """Return what the files hold, with the same number of features and the same kind of table."""
    read = {path: read_svmlight(path, n_features=n_features) for path in paths}
    width = max(ratings.n_features for ratings in read.values())
    dense = not any(sparse.issparse(ratings.items) for ratings in read.values())
    for path, ratings in read.items():
        if ratings.group is None:
            raise FileFormatError(code="letor-no-qid", where=Place(str(path))).says(
                "the lines have no qid", "Expected: label qid:Q index:value ..."
            )
        if ratings.n_features != width or sparse.issparse(ratings.items) == dense:
            read[path] = read_svmlight(path, n_features=width, dense=dense)
    return read


def _fold(number: int, parts: list[list[tuple[Path, Ratings]]]) -> LetorFold:
    """Return one fold; no query may occur in two of its files."""
    owner: dict[Any, Path] = {}
    for path, ratings in (entry for part in parts for entry in part):
        queries = [] if ratings.group is None else np.unique(ratings.group).tolist()
        twice = [query for query in queries if query in owner]
        if twice:
            raise DataError(code="letor-query-in-two-files", owner="load_letor").says(
                f"fold {number}: {len(twice)} of {len(queries)} queries of {path} occur in another file (query "
                f"{twice[0]} in {owner[twice[0]]})",
                "The parts of a fold must have different queries",
            )
        owner.update(dict.fromkeys(queries, path))
    train, validation, test = (_join([ratings for _, ratings in part]) for part in parts)
    return LetorFold(number, train, validation, test)


def _join(parts: Sequence[Ratings]) -> Ratings:
    """Return the rows of several files, one after the other."""
    if len(parts) == 1:
        return parts[0]
    tables: list[Any] = [part.items for part in parts]
    items: Any = sparse.vstack(tables, format="csr") if sparse.issparse(tables[0]) else np.concatenate(tables)
    score, group = (np.concatenate([getattr(part, name) for part in parts]) for name in ("score", "group"))
    named = all(part.names is not None for part in parts)
    names = np.concatenate([part.names for part in parts if part.names is not None]) if named else None
    return Ratings(ItemTable(items, None, None, len(score)), score, group, names=names)
