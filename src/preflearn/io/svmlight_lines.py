"""Parsers of SVMlight lines: blocks as a whole (fast), or line by line (slow, but it says what is wrong where)."""

from __future__ import annotations

import math
import re
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflearn.exceptions import FileFormatError

__all__ = ["Limits", "Rows", "parse_block", "parse_lines"]

_LARGEST = 2**31 - 1  # largest feature index: columns of a CSR matrix are 32-bit
_EXACT = 2**53  # largest qid that survives a float64
_TO_NUMBERS = bytes.maketrans(b":qid\r", b"     ")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)


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
        where = f"{path}, line {number}"
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
            raise FileFormatError(
                f"{path}, line {without}: qid is missing, but other lines have one. Add qid:Q after the label."
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


def _label(token: str, where: str) -> float:
    number = _finite(token)
    if number is None:
        raise FileFormatError(
            f'{where}: the label "{token[:40]}" is not a finite number. Expected: label qid:Q index:value'
        )
    return number


def _qid(token: str, where: str) -> int:
    text = token.removeprefix("qid:")
    if not _INTEGER.fullmatch(text):
        raise FileFormatError(f'{where}: "{token[:40]}" is not a query number. Write qid: and a whole number.')
    return int(text)


def _pair(token: str, last: int, where: str, limits: Limits) -> tuple[int, float]:
    """Return index and value of one feature."""
    left, colon, right = token.partition(":")
    if left == "qid":
        raise FileFormatError(f'{where}: "{token[:40]}" must come once, directly after the label.')
    number = _finite(left)
    if not colon or number is None or number != math.floor(number):
        raise FileFormatError(
            f'{where}: "{token[:40]}" is not index:value. Separate features by blanks, as in 1:0.5 3:2'
        )
    position = int(number)
    if position < limits.lowest:
        cure = "Indices start at 1; read with zero_based=True if this file counts from 0." if position == 0 else ""
        raise FileFormatError(f"{where}: feature index {left} is below {limits.lowest}. {cure}".rstrip())
    if position > limits.highest:
        bound = "the largest possible" if limits.n_features is None else f"n_features={limits.n_features}"
        raise FileFormatError(f"{where}: feature index {left[:40]} is above {limits.highest} ({bound}).")
    if position <= last:
        again = "repeats" if position == last else "comes after"
        raise FileFormatError(f"{where}: feature index {left} {again} {last}. Indices must increase along a line.")
    content = _finite(right)
    if content is None:
        raise FileFormatError(
            f'{where}: feature {left} has the value "{right[:40]}", which is not a finite number. '
            "Impute it or leave it out."
        )
    return position, content
