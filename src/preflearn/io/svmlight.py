r"""Reader of SVMlight files with query groups (LETOR, RankSVM, LightGBM, RLScore).

A line is ``label qid:Q index:value index:value ... # comment``. Blocks of lines are parsed as a whole; only a block
that fails is read again line by line, to name the line or to accept what is unusual but right.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from preflearn.data.checks import lock
from preflearn.data.item_table import ItemTable
from preflearn.data.ratings import Ratings
from preflearn.exceptions import DataError, DataWarning, FileFormatError
from preflearn.io.bytes import check_text, decode, path_text, read_bytes
from preflearn.io.svmlight_lines import Limits, Rows, parse_block, parse_lines

if TYPE_CHECKING:
    from preflearn.data.item_table import ItemArray

__all__ = ["MOST_FEATURES", "check_feature_numbers", "parse_svmlight", "read_svmlight"]

MOST_FEATURES = 20_000_000  # of a model: a linear one has a weight of 8 bytes for each
_BLOCK = 1 << 23  # bytes parsed at once: large enough for speed, small against the result
_DOCID = re.compile(rb"#[^\n]*?docid\s*=\s*(\S+)")


def read_svmlight(
    path: Any,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    query_sizes: Any = None,
    dense: bool | None = None,
) -> Ratings:
    r"""Read scored items in groups from a file in SVMlight format.

    Parameters
    ----------
    path : str or path
        Text, or gzip (recognised by content). Rows of a group need not be adjacent.
    n_features : int, default=None
        Number of features; by default the largest index that occurs. Give it when several files must agree.
    zero_based : bool, default=False
        Whether feature indices start at 0. An index 0 is an error otherwise.
    query_sizes : str or path, default=None
        A file with the size of each group, one number per line in file order (LightGBM's ``.query``), for files
        without qid.
    dense : bool, default=None
        Features as an array (True) or CSR matrix (False); by default an array if there are at most 200 features or
        more than half of the values are present.

    Returns
    -------
    Ratings
        ``score`` is the label, ``group`` the qid as integers. Names are taken from LETOR's ``#docid = ...`` comments
        if every row has one and they are distinct within groups.

    Warns
    -----
    DataWarning
        If no line has a qid and there is no ``query_sizes``: all rows are then one group.

    Notes
    -----
    Time and memory are proportional to the file; about two million features a second.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from preflearn.io import read_svmlight
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5 3:1\n0 qid:7 2:1\n1 qid:8 1:2\n")
    ...     read_svmlight(path)
    Ratings(3 items with 3 features in 2 groups)
    """
    name = path_text(path, "read_svmlight")
    ratings, grouped = parse_svmlight(
        read_bytes(name), name, n_features=n_features, zero_based=zero_based, query_sizes=query_sizes, dense=dense
    )
    if not grouped:
        warnings.warn(
            f"{name}: no line has a qid, so all {len(ratings)} rows are one group. Write qid:Q after the label, "
            "or give query_sizes=... (a file with the size of each group).",
            DataWarning,
            stacklevel=2,
        )
    return ratings


def check_feature_numbers(n_features: int, source: str) -> None:
    """Raise DataError where features are more than a model can have, before it takes memory for each of them.

    A file of sparse rows is small whatever its largest feature number is.
    """
    if n_features > MOST_FEATURES:
        raise DataError(
            f"{source}: the largest feature number is {n_features:,}, and a model can have {MOST_FEATURES:,} features. "
            "Number them 1, 2, 3, ..."
        )


def parse_svmlight(
    data: bytes,
    name: str,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    query_sizes: Any = None,
    dense: bool | None = None,
) -> tuple[Ratings, bool]:
    """Return the ratings in the bytes of a file, and whether they have groups."""
    if n_features is not None and (isinstance(n_features, bool) or int(n_features) != n_features or n_features < 1):
        raise DataError(f"read_svmlight: n_features must be a positive whole number or None; got {n_features!r}.")
    data = decode(data, name).encode() if data[:2] in (b"\xff\xfe", b"\xfe\xff") else data
    check_text(data, name)
    rows, names = _read_blocks(data, name, Limits(0 if zero_based else 1, n_features))
    del data
    group = _groups(rows, name, query_sizes)
    items = _matrix(rows, name, n_features, 0 if zero_based else 1, dense)
    if names is not None:
        keys = names if group is None else list(zip(names, group.tolist(), strict=True))
        names = names if len(set(keys)) == len(keys) else None
    ratings = Ratings(ItemTable(items, None, None, len(rows.label)), rows.label, group, names=names)
    return ratings, group is not None


def _read_blocks(data: bytes, path: str, limits: Limits) -> tuple[Rows, list[str] | None]:
    """Return the rows of all blocks, and the docids if every row has one."""
    parts: list[Rows] = []
    names: list[str] | None = []
    for first_line, block in _blocks(data):
        rows = parse_block(block, limits)
        if rows is None:
            rows = parse_lines(block, first_line, path, limits)
        if not len(rows.label):
            continue
        if parts and (parts[0].qid is None) != (rows.qid is None):
            parse_lines(data, 1, path, limits)  # raises with the line where qid is missing
        parts.append(rows)
        if names is not None:
            docids = _DOCID.findall(block)
            n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
            names.extend(docid.decode("utf-8", "replace") for docid in docids)
            names = names if len(docids) == len(rows.label) == n_lines else None
    if not parts:
        raise FileFormatError(
            f"{path}: the file holds only comments and blank lines. Expected: label qid:Q index:value"
        )
    with_qid = [part.qid for part in parts if part.qid is not None]
    rows = Rows(
        np.concatenate([part.label for part in parts]),
        np.concatenate(with_qid) if with_qid else None,
        np.concatenate([part.n_values for part in parts]),
        np.concatenate([part.position for part in parts]),
        np.concatenate([part.value for part in parts]),
    )
    return rows, names


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield pieces of whole lines with the number of their first line."""
    start, line = 0, 1
    while start < len(data):
        newline = data.find(b"\n", start + _BLOCK)
        end = len(data) if newline < 0 else newline + 1
        block = data[start:end]
        yield line, block
        start, line = end, line + block.count(b"\n")


def _groups(rows: Rows, path: str, query_sizes: Any) -> NDArray[np.int64] | None:
    """Return the group of each row: the qid, or numbers from the companion file of sizes."""
    if query_sizes is None:
        return rows.qid
    sizes_path = path_text(query_sizes, "read_svmlight")
    if rows.qid is not None:
        raise FileFormatError(f"{path}: the lines have a qid. Leave out query_sizes ({sizes_path}).")
    sizes = []
    for number, line in enumerate(read_bytes(sizes_path).splitlines(), start=1):
        text = line.decode("utf-8", "replace").strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit() and len(text) < 12) or int(text) == 0:
            raise FileFormatError(f'{sizes_path}, line {number}: "{text[:40]}" is not a group size (1, 2, ...).')
        sizes.append(int(text))
    if sum(sizes) != len(rows.label):
        raise FileFormatError(
            f"{sizes_path}: the {len(sizes)} sizes add up to {sum(sizes)}, but {path} has {len(rows.label)} rows. "
            "Check that the two files belong together."
        )
    return np.repeat(np.arange(len(sizes)), sizes)


def _matrix(rows: Rows, path: str, n_features: int | None, lowest: int, dense: bool | None) -> ItemArray:
    """Return the features as an array or a CSR matrix, read-only."""
    n_rows, n_values = len(rows.label), len(rows.value)
    if not n_values and n_features is None:
        raise FileFormatError(f"{path}: no line has features (index:value). Give n_features if they are all zero.")
    n_columns = int(rows.position.max()) + 1 - lowest if n_features is None else int(n_features)
    indptr = np.concatenate([[0], np.cumsum(rows.n_values)])
    # scikit-learn wants 32-bit indices wherever they suffice.
    kind = np.int32 if n_values <= np.iinfo(np.int32).max else np.int64
    parts: Any = (rows.value, (rows.position - lowest).astype(kind), indptr.astype(kind))
    matrix: sparse.csr_array[np.float64] = sparse.csr_array(parts, shape=(n_rows, n_columns))
    if dense is None:
        dense = n_columns <= 200 or n_values > 0.5 * n_rows * n_columns
    items: ItemArray = lock(matrix.toarray() if dense else matrix)
    return items
