r"""Reader of SVMlight files with query groups: ``label qid:Q index:value ... # comment``.

scikit-learn reads a file as a whole; what it refuses is read line by line, to name the line or to accept the unusual.
"""

from __future__ import annotations

import io
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from preflearn.data.fields import check_count, lock
from preflearn.data.ratings import Ratings
from preflearn.data.tables import ItemTable
from preflearn.exceptions import DataWarning, FileFormatError, Place, Setting
from preflearn.io.opening import check_text, decode, path_text, read_bytes

if TYPE_CHECKING:
    from preflearn.data.tables import ItemArray

_LARGEST = 2**31 - 1  # largest feature index: columns of a CSR matrix are 32-bit
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_DOCID = re.compile(rb"#[^\n]*?docid\s*=\s*(\S+)")


class Rows(NamedTuple):
    """Labels, query numbers (None if no line has one) and features, with columns as they are numbered in the file."""

    label: NDArray[np.float64]
    qid: NDArray[np.int64] | None
    features: sparse.csr_matrix[np.float64]


class Limits(NamedTuple):
    """The lowest index (0 or 1) and the number of features, if it was given."""

    lowest: int
    n_features: int | None

    @property
    def highest(self) -> int:
        """The largest index allowed."""
        return _LARGEST if self.n_features is None else self.n_features - 1 + self.lowest


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
    Time and memory are proportional to the file; about a million features a second.

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
        DataWarning(code="no-qid", where=Place(name)).warn(
            f"no line has a qid, so all {len(ratings)} rows are one group",
            "Write qid:Q after the label",
            "give " + Setting("query_sizes") + " (a file with the size of each group)",
        )
    return ratings


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
    if n_features is not None:
        check_count(n_features, "n_features", "read_svmlight")
    data = decode(data, name).encode() if data[:2] in (b"\xff\xfe", b"\xfe\xff") else data
    check_text(data, name)
    limits = Limits(0 if zero_based else 1, n_features)
    rows = parse_whole(data, limits) or parse_lines(data, name, limits)
    n_rows = len(rows.label)
    group = _groups(rows, name, query_sizes)
    items = _matrix(rows.features, name, limits, dense)
    docids = [docid.decode("utf-8", "replace") for docid in _DOCID.findall(data)]
    keys = docids if group is None else list(zip(docids, group.tolist(), strict=False))
    on_every_line = len(docids) == n_rows == data.count(b"\n") + (not data.endswith(b"\n"))
    names = docids if on_every_line and len(set(keys)) == n_rows else None
    return Ratings(ItemTable(items, None, None, n_rows), rows.label, group, names=names), group is not None


def _groups(rows: Rows, path: str, query_sizes: Any) -> NDArray[np.int64] | None:
    """Return the group of each row: the qid, or numbers from the companion file of sizes."""
    if query_sizes is None:
        return rows.qid
    sizes_path = path_text(query_sizes, "read_svmlight")
    if rows.qid is not None:
        raise FileFormatError(code="query-sizes-and-qid", where=Place(str(path))).says(
            "the lines have a qid", "Leave out " + Setting("query_sizes") + f" ({sizes_path})"
        )
    sizes = []
    for number, line in enumerate(read_bytes(sizes_path).splitlines(), start=1):
        text = line.decode("utf-8", "replace").strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit() and len(text) < 12) or int(text) == 0:
            raise FileFormatError(code="query-size-not-a-number", where=Place(sizes_path, number)).says(
                f'"{text[:40]}" is not a group size (1, 2, ...).'
            )
        sizes.append(int(text))
    if sum(sizes) != len(rows.label):
        raise FileFormatError(code="query-sizes-sum", where=Place(sizes_path)).says(
            f"the {len(sizes)} sizes add up to {sum(sizes)}, but {path} has {len(rows.label)} rows",
            "Check that the two files belong together",
        )
    return np.repeat(np.arange(len(sizes)), sizes)


def _matrix(features: sparse.csr_matrix[np.float64], path: str, limits: Limits, dense: bool | None) -> ItemArray:
    """Return the features as an array or a CSR matrix, read-only."""
    n_rows, n_values = features.shape[0], features.nnz
    if not n_values and limits.n_features is None:
        raise FileFormatError(code="no-features-in-lines", where=Place(str(path))).says(
            "no line has features (index:value)",
            "Write index:value after the qid",
            "give " + Setting("n_features") + " if they are all zero",
        )
    n_columns = int(limits.n_features or features.indices.max() + 1 - limits.lowest)
    # scikit-learn wants 32-bit indices wherever they suffice.
    kind = np.int32 if n_values <= np.iinfo(np.int32).max else np.int64
    parts: Any = (features.data, (features.indices - limits.lowest).astype(kind), features.indptr.astype(kind))
    matrix: sparse.csr_array[np.float64] = sparse.csr_array(parts, shape=(n_rows, n_columns))
    if dense is None:
        dense = n_columns <= 200 or n_values > 0.5 * n_rows * n_columns
    items: ItemArray = lock(matrix.toarray() if dense else matrix)
    return items


def parse_whole(data: bytes, limits: Limits) -> Rows | None:
    """Parse all lines at once; None if anything is unusual."""
    from sklearn.datasets import load_svmlight_file

    text = re.sub(rb"#[^\n]*", b"", data) if b"#" in data else data
    n_queries = text.count(b"qid:")
    if text.count(b"q") != n_queries or b"_" in text:  # 1_000 is a number in Python only
        return None
    try:
        features, label, qid = load_svmlight_file(io.BytesIO(text), query_id=True, zero_based=True)
    except (ValueError, OverflowError):
        return None
    used = features.indices
    fits = not len(used) or (used.min() >= limits.lowest and used.max() <= limits.highest)
    finite = np.isfinite(label).all() and np.isfinite(features.data).all()
    if not (len(label) and fits and finite and n_queries in (0, len(label)) and len(qid) == n_queries):
        return None
    return Rows(label, qid if n_queries else None, features)


def parse_lines(data: bytes, path: str, limits: Limits) -> Rows:
    """Parse line by line; the first line that is wrong raises FileFormatError."""
    label: list[float] = []
    qid: list[int] = []
    count: list[int] = []
    index: list[int] = []
    value: list[float] = []
    without: int | None = None  # first line without qid
    for number, raw in enumerate(data.split(b"\n"), start=1):
        where = Place(path, number)
        tokens = raw.split(b"#", 1)[0].decode("utf-8", "replace").split()
        if not tokens:
            continue
        label.append(_finite(tokens[0]))
        if math.isnan(label[-1]):
            raise FileFormatError(code="svmlight-label", where=where).says(
                f'the label "{tokens[0][:40]}" is not a finite number', "Expected: label qid:Q index:value"
            )
        rest = tokens[1:]
        if rest and rest[0].startswith("qid:"):
            query = rest.pop(0)
            if not _INTEGER.fullmatch(query[4:]):
                raise FileFormatError(code="svmlight-qid", where=where).says(
                    f'"{query[:40]}" is not a query number', "Write qid: and a whole number"
                )
            qid.append(int(query[4:]))
        elif without is None:
            without = number
        if qid and without is not None:
            raise FileFormatError(code="qid-missing", where=Place(path, without)).says(
                "qid is missing, but other lines have one", "Add qid:Q after the label"
            )
        pairs = [_pair(token, where) for token in rest]
        last = limits.lowest - 1
        for position, _ in pairs:
            _check_index(position, last, where, limits)
            last = position
        index += [position for position, _ in pairs]
        value += [number_of for _, number_of in pairs]
        count.append(len(rest))
    if not label:
        raise FileFormatError(code="only-comments", where=Place(path)).says(
            "the file holds only comments and blank lines", "Expected: label qid:Q index:value"
        )
    columns = np.array(index, dtype=np.int64)
    shape = len(label), int(columns.max(initial=-1)) + 1
    features = sparse.csr_matrix((np.array(value), columns, np.cumsum([0, *count])), shape=shape)
    return Rows(np.array(label), np.array(qid, dtype=np.int64) if qid else None, features)


def _finite(text: str) -> float:
    """Return a number; NaN where the text is no finite one."""
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else math.nan


def _pair(token: str, where: Place) -> tuple[int, float]:
    """Return index and value of one feature."""
    left, _, right = token.partition(":")
    if left == "qid":
        raise FileFormatError(code="svmlight-qid-place", where=where).says(
            f'"{token[:40]}" must come once, directly after the label.'
        )
    if ":" not in token or not _finite(left).is_integer():
        raise FileFormatError(code="svmlight-feature", where=where).says(
            f'"{token[:40]}" is not index:value', "Separate features by blanks, as in 1:0.5 3:2"
        )
    value = _finite(right)
    if math.isnan(value):
        raise FileFormatError(code="feature-value", where=where).says(
            f'feature {left} has the value "{right[:40]}", which is not a finite number', "Impute it or leave it out"
        )
    return int(_finite(left)), value


def _check_index(position: int, last: int, where: Place, limits: Limits) -> None:
    """Raise for a feature number out of range, or not above the one before it."""
    if position < limits.lowest:
        counts = ". If this file counts from 0, read it with " + Setting("zero_based", True)
        raise FileFormatError(code="feature-index-low", where=where).says(
            f"feature index {position} is below {limits.lowest}", "Indices start at 1" + ("" if position else counts)
        )
    if position > limits.highest:
        given = limits.n_features is not None
        raise FileFormatError(code="feature-above-n-features" if given else "feature-index-high", where=where).says(
            f"feature index {position} is above {limits.highest}{'' if given else ', the largest possible'}",
            "Raise " + Setting("n_features") + ", or leave it out" if given else "Number features 1, 2, 3, ...",
        )
    if position <= last:
        again = "repeats" if position == last else "comes after"
        raise FileFormatError(code="feature-index-order", where=where).says(
            f"feature index {position} {again} {last}", "Indices must increase along a line"
        )
