r"""Reader of SVMlight files with query groups (LETOR, RankSVM, LightGBM, RLScore).

A line is ``label qid:Q index:value index:value ... # comment``. Blocks of lines are parsed as a whole; only a block
that fails is read again line by line, to name the line or to accept what is unusual but right.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from preflearn.data.fields import lock
from preflearn.data.ratings import Ratings
from preflearn.data.tables import ItemTable
from preflearn.exceptions import DataError, DataWarning, FileFormatError, Place, Setting
from preflearn.io.opening import check_text, decode, path_text, read_bytes

if TYPE_CHECKING:
    from preflearn.data.tables import ItemArray

__all__ = ["parse_svmlight", "read_svmlight"]

_BLOCK = 1 << 23  # bytes parsed at once: large enough for speed, small against the result
_LARGEST = 2**31 - 1  # largest feature index: columns of a CSR matrix are 32-bit
_EXACT = 2**53  # largest qid that survives a float64
_TO_NUMBERS = bytes.maketrans(b":qid\r", b"     ")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_DOCID = re.compile(rb"#[^\n]*?docid\s*=\s*(\S+)")


class Rows(NamedTuple):
    """Rows of a block: one label, qid (or None) and feature count per row, then all features in order."""

    label: NDArray[np.float64]
    qid: NDArray[np.int64] | None
    n_values: NDArray[np.int64]
    position: NDArray[np.int64]
    value: NDArray[np.float64]


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
    if n_features is not None and (isinstance(n_features, bool) or int(n_features) != n_features or n_features < 1):
        raise DataError(code="n-features-not-positive", owner="read_svmlight").says(
            f"n_features must be a positive whole number or None; got {n_features!r}."
        )
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
        raise FileFormatError(code="only-comments", where=Place(str(path))).says(
            "the file holds only comments and blank lines", "Expected: label qid:Q index:value"
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


def _matrix(rows: Rows, path: str, n_features: int | None, lowest: int, dense: bool | None) -> ItemArray:
    """Return the features as an array or a CSR matrix, read-only."""
    n_rows, n_values = len(rows.label), len(rows.value)
    if not n_values and n_features is None:
        raise FileFormatError(code="no-features-in-lines", where=Place(str(path))).says(
            "no line has features (index:value)",
            "Write index:value after the qid",
            "give " + Setting("n_features") + " if they are all zero",
        )
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


def parse_block(block: bytes, limits: Limits) -> Rows | None:
    """Parse lines as a whole; None if anything is unusual.

    Every token but the first of a line must hold exactly one colon; then the text, with colons and ``qid`` blanked, is
    a flat list of numbers whose length is known.
    """
    text = re.sub(rb"#[^\n]*", b"", block) if b"#" in block else block
    byte = np.frombuffer(text, dtype=np.uint8)
    space = byte <= 32
    start = np.flatnonzero(~space & np.concatenate([[True], space[:-1]]))
    if not len(start):
        return None
    line = np.searchsorted(np.flatnonzero(byte == ord("\n")), start)
    leads = np.diff(line, prepend=-1) != 0
    lead, rest = np.flatnonzero(leads), np.flatnonzero(~leads)
    colon = np.flatnonzero(byte == ord(":"))
    following = np.append(start[1:], len(byte))
    if len(colon) != len(rest) or np.any(colon < start[rest]) or np.any(colon >= following[rest]):
        return None
    n_rows = len(lead)
    with_qid = text.count(b"q") > 0
    if with_qid:
        second = np.minimum(lead + 1, len(start) - 1)
        counts = {text.count(word) for word in (b"q", b"i", b"d", b"qid:")}
        if counts != {n_rows} or np.any(byte[start[second]] != ord("q")):
            return None
    elif b"i" in text or b"d" in text:
        return None
    numbers = _flat_numbers(text.translate(_TO_NUMBERS))
    count = np.diff(np.append(lead, len(start))) - 1 - with_qid
    row_start = np.concatenate([[0], np.cumsum(1 + with_qid + 2 * count)])
    if numbers is None or len(numbers) != row_start[-1] or not np.isfinite(numbers).all():
        return None
    is_feature = np.ones(len(numbers), dtype=bool)
    is_feature[row_start[:-1]] = False
    qid = None
    if with_qid:
        is_feature[row_start[:-1] + 1] = False
        qid = numbers[row_start[:-1] + 1]
        if np.any(qid != np.floor(qid)) or np.any(np.abs(qid) >= _EXACT):
            return None
    features = numbers[is_feature]
    index, value = features[0::2], features[1::2]
    within_row = np.ones(max(len(index) - 1, 0), dtype=bool)
    ends = np.cumsum(count)[:-1] - 1
    within_row[ends[(ends >= 0) & (ends < len(within_row))]] = False
    if len(index) and (
        np.any(index != np.floor(index))
        or index.min() < limits.lowest
        or index.max() > limits.highest
        or np.any((np.diff(index) <= 0) & within_row)
    ):
        return None
    return Rows(
        numbers[row_start[:-1]],
        None if qid is None else qid.astype(np.int64),
        count.astype(np.int64),
        index.astype(np.int64),
        value.copy(),
    )


def _flat_numbers(text: bytes) -> NDArray[np.float64] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # older numpy warns about text that is no number instead of raising
        try:
            return np.fromstring(text, sep=" ", dtype=np.float64)
        except (ValueError, DeprecationWarning):
            return None


def parse_lines(block: bytes, first_line: int, path: str, limits: Limits) -> Rows:
    """Parse line by line; the first line that is wrong raises FileFormatError."""
    label: list[float] = []
    qid: list[int] = []
    count: list[int] = []
    index: list[int] = []
    value: list[float] = []
    without: int | None = None  # first line without qid
    for number, raw in enumerate(block.split(b"\n"), start=first_line):
        where = Place(path, number)
        tokens = raw.split(b"#", 1)[0].decode("utf-8", "replace").split()
        if not tokens:
            continue
        label.append(_label(tokens[0], where))
        rest = tokens[1:]
        if rest and rest[0].startswith("qid:"):
            qid.append(_qid(rest.pop(0), where))
        elif without is None:
            without = number
        if qid and without is not None:
            raise FileFormatError(code="qid-missing", where=Place(path, without)).says(
                "qid is missing, but other lines have one", "Add qid:Q after the label"
            )
        last = limits.lowest - 1
        for token in rest:
            position, number_of = _pair(token, last, where, limits)
            index.append(position)
            value.append(number_of)
            last = position
        count.append(len(rest))
    return Rows(
        np.array(label, dtype=np.float64),
        np.array(qid, dtype=np.int64) if qid else None,
        np.array(count, dtype=np.int64),
        np.array(index, dtype=np.int64),
        np.array(value, dtype=np.float64),
    )


def _finite(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _label(token: str, where: Place) -> float:
    number = _finite(token)
    if number is None:
        raise FileFormatError(code="svmlight-label", where=where).says(
            f'the label "{token[:40]}" is not a finite number', "Expected: label qid:Q index:value"
        )
    return number


def _qid(token: str, where: Place) -> int:
    text = token.removeprefix("qid:")
    if not _INTEGER.fullmatch(text):
        raise FileFormatError(code="svmlight-qid", where=where).says(
            f'"{token[:40]}" is not a query number', "Write qid: and a whole number"
        )
    return int(text)


def _pair(token: str, last: int, where: Place, limits: Limits) -> tuple[int, float]:
    """Return index and value of one feature."""
    left, colon, right = token.partition(":")
    if left == "qid":
        raise FileFormatError(code="svmlight-qid-place", where=where).says(
            f'"{token[:40]}" must come once, directly after the label.'
        )
    number = _finite(left)
    if not colon or number is None or number != math.floor(number):
        raise FileFormatError(code="svmlight-feature", where=where).says(
            f'"{token[:40]}" is not index:value', "Separate features by blanks, as in 1:0.5 3:2"
        )
    position = int(number)
    if position < limits.lowest:
        counts = "If this file counts from 0, read it with " + Setting("zero_based", True)
        raise FileFormatError(code="feature-index-low", where=where).says(
            f"feature index {left} is below {limits.lowest}",
            "Indices start at 1" if position else "Indices start at 1. " + counts,
        )
    if position > limits.highest:
        given = limits.n_features is not None
        raise FileFormatError(code="feature-above-n-features" if given else "feature-index-high", where=where).says(
            f"feature index {left[:40]} is above {limits.highest}{'' if given else ', the largest possible'}",
            "Raise " + Setting("n_features") + ", or leave it out" if given else "Number features 1, 2, 3, ...",
        )
    if position <= last:
        again = "repeats" if position == last else "comes after"
        raise FileFormatError(code="feature-index-order", where=where).says(
            f"feature index {left} {again} {last}", "Indices must increase along a line"
        )
    content = _finite(right)
    if content is None:
        raise FileFormatError(code="feature-value", where=where).says(
            f'feature {left} has the value "{right[:40]}", which is not a finite number', "Impute it or leave it out"
        )
    return position, content
