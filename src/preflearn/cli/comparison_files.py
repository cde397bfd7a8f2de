"""Comparisons as files: tables, rankings and rows with scores, each read back before it is written."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from preflearn._files import atomic_file
from preflearn.cli.console import count
from preflearn.cli.csv_files import csv_text, write_text
from preflearn.cli.dialect import COMMAND_LINE
from preflearn.data import Comparisons, Ratings, from_scores
from preflearn.exceptions import DataError, first_few
from preflearn.io.opening import open_bytes
from preflearn.io.read_options import Options, Scale
from preflearn.io.reading import read_with

__all__ = ["as_comparisons", "write_rankings", "write_rows", "write_table"]

RANKINGS = (".soc", ".soi", ".toc", ".toi")
_LAYOUTS = {
    "winner-loser": ("winner", "loser"),
    "first-second-outcome": ("first", "second", "outcome"),
    "left-right-winner": ("left", "right", "winner"),
}
_TIES = ("tie", "draw", "equal", "same")  # the first that is no item
# No columns named, margins and repeats kept.
_PLAIN = Options.checked("convert", margins=True, repeated_rows="keep")
MOST_PAIRS = 2_000_000  # of scored rows that are listed


def as_comparisons(data: Comparisons | Ratings) -> Comparisons:
    """Return comparisons; those of rows with scores are all pairs of a group with different scores."""
    if isinstance(data, Comparisons):
        return data
    names = [f"row {number}" for number in range(1, len(data) + 1)]
    pairs = from_scores(len(data), data.score, data.group, names=names, random_state=0, max_pairs=MOST_PAIRS)
    if len(pairs) == MOST_PAIRS:
        raise DataError(code="too-many-comparisons-to-list").says(
            f"these rows make {MOST_PAIRS:,} comparisons or more, too many to list",
            "Use preflearn fit, which learns from the rows themselves",
        )
    return pairs


def _labels(data: Comparisons) -> list[str]:
    return [str(row) for row in range(data.n_items)] if data.names is None else [str(name) for name in data.names]


def write_table(data: Comparisons, out: Path, kind: str, layout: str | None) -> str:
    """Write a table of comparisons; ``kind`` is the ending of its name."""
    ties = bool((data.outcome == 0).any())
    sizes = not np.isin(data.outcome, (-1.0, 0.0, 1.0)).all()
    if layout is None:
        layout = "first-second-outcome" if sizes else "left-right-winner" if ties else "winner-loser"
    if layout == "winner-loser" and ties:
        count_ties = int((data.outcome == 0).sum())
        raise DataError(f"{out}: {count(count_ties, 'comparison')} ended in a tie. Use --layout left-right-winner.")
    label = _labels(data)
    further = {name: getattr(data, name) for name in ("weight", "group", "judge")}
    header = [*_LAYOUTS[layout], *(name for name, values in further.items() if values is not None)]
    columns = [*_sides(data, label, layout), *(v.tolist() for v in further.values() if v is not None)]
    rows = zip(*columns, strict=True)
    if kind == ".jsonl":
        lines = (json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False) for row in rows)
        content = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
    elif kind == ".parquet":
        content = _parquet(header, columns, out)
    else:
        text = csv_text(header, rows, delimiter="\t" if kind == ".tsv" else ",")
        content = text.encode("utf-8", "surrogatepass")
    _check_back(content, data, label, out, layout)
    with atomic_file(out) as stream:
        stream.write(content)
    return f"{count(len(data), 'comparison')} as {','.join(header)}"


def _sides(data: Comparisons, label: list[str], layout: str) -> list[list[Any]]:
    first, second = [label[i] for i in data.first], [label[i] for i in data.second]
    if layout == "winner-loser":
        won = data.outcome > 0
        pairs = [(a, b) if up else (b, a) for a, b, up in zip(first, second, won, strict=True)]
        return [[pair[0] for pair in pairs], [pair[1] for pair in pairs]]
    if layout == "left-right-winner":
        tie = next((word for word in _TIES if word not in label), "tie")
        signs = np.sign(data.outcome).tolist()
        if {"left", "right"} & set(label):  # a name is read before a word: name the winners
            names = {1.0: first, -1.0: second}
            return [first, second, [names[sign][row] if sign else tie for row, sign in enumerate(signs)]]
        word = {1.0: "left", -1.0: "right", 0.0: tie}
        return [first, second, [word[sign] for sign in signs]]
    return [first, second, [int(v) if float(v).is_integer() else v for v in data.outcome.tolist()]]


def _check_back(content: bytes, data: Comparisons, label: list[str], out: Path, layout: str) -> None:
    """Raise DataError if a table would be read as other comparisons than those it was made from."""
    options = _PLAIN
    cure = "Rename these items, or use another --layout or a .jsonl file."
    if (data.outcome >= 0).all() and layout == "first-second-outcome":
        if not data.outcome.all() or set(data.outcome.tolist()) & {0.5}:
            cure = "Use --layout left-right-winner."
        elif (data.outcome != 1).any():
            options = replace(options, scale_of_outcomes=Scale(1.0, -1.0, ends=False))  # the reader asks
    try:
        found = read_with(options, open_bytes(content, str(out))).data
    except DataError as error:
        reason = COMMAND_LINE.words(error.message.what).rstrip(".")
        raise DataError(f"{out}: this table could not be read again ({reason}). {cure}") from None
    assert isinstance(found, Comparisons)
    written, again = _said(data, label, layout), _said(found, _labels(found), layout)
    odd = next((place for place, pair in enumerate(zip(written, again, strict=False)) if pair[0] != pair[1]), None)
    if odd is not None or len(written) != len(again):
        one, other, _ = written[odd or 0]
        raise DataError(
            f'{out}: the comparison of "{one[:60]}" with "{other[:60]}" would be read as another one in this layout. '
            f"{cure}"
        )
    for name in ("weight", "group", "judge"):
        values, read = getattr(data, name), getattr(found, name)
        if values is not None and (read is None or [str(v) for v in values] != [str(v) for v in read]):
            raise DataError(f'{out}: the column "{name}" would be read as another one. Use another format or layout.')


def _said(data: Comparisons, label: list[str], layout: str) -> list[tuple[str, str, float]]:
    """Return the comparisons as a layout keeps them: with the winner first, or its sign, or all."""
    value = data.outcome if layout == "first-second-outcome" else np.sign(data.outcome)
    rows = [(label[i], label[j], v) for i, j, v in zip(data.first, data.second, value.tolist(), strict=True)]
    return rows if layout != "winner-loser" else [row if row[2] > 0 else (row[1], row[0], -row[2]) for row in rows]


def _parquet(header: Sequence[str], columns: Sequence[list[Any]], out: Path) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise DataError(
            f'{out}: Parquet files need the optional package pyarrow: pip install "preflearn[io]".'
        ) from None
    content = io.BytesIO()
    parquet.write_table(pa.table(dict(zip(header, columns, strict=True))), content)
    return content.getvalue()


def write_rankings(data: Comparisons, out: Path, kind: str) -> str:
    """Write each group of comparisons as one ranking; PrefLib counts alternatives from 1."""
    if data.group is None:
        raise DataError(f"{out}: single comparisons are no rankings. Give rankings, or write a table such as .csv.")
    label = _labels(data)
    counts: dict[tuple[tuple[int, ...], ...], float] = {}
    for number, rows in _groups(data):
        order = _ranking(data, rows)
        if order is None:
            raise DataError(
                f"{out}: the comparisons of group {number} are no ranking: some are missing, or they contradict. Write "
                "a table such as .csv."
            )
        weight = 1.0 if data.weight is None else float(data.weight[rows[0]])
        counts[order] = counts.get(order, 0.0) + weight
    tied = any(len(rank) > 1 for order in counts for rank in order)
    whole = all(sum(map(len, order)) == len(label) for order in counts)
    fits = {".soc": whole and not tied, ".soi": not tied, ".toc": whole, ".toi": True}
    if not fits[kind]:
        best = next(ending for ending in RANKINGS if fits[ending])
        raise DataError(f"{out}: {kind} files hold no such rankings (ties, or items left out). Use the ending {best}.")
    total = sum(counts.values())
    lines = [
        f"# FILE NAME: {out.name}",
        f"# DATA TYPE: {kind[1:]}",
        f"# NUMBER ALTERNATIVES: {len(label)}",
        f"# NUMBER VOTERS: {_number(total)}",
        f"# NUMBER UNIQUE ORDERS: {len(counts)}",
        *(f"# ALTERNATIVE NAME {number}: {' '.join(name.split())}" for number, name in enumerate(label, start=1)),
    ]
    for order, weight in sorted(counts.items(), key=lambda entry: -entry[1]):
        text = ",".join(_rank_text(rank) for rank in order)
        lines.append(f"{_number(weight)}: {text}")
    content = "\n".join(lines) + "\n"
    again = read_with(_PLAIN, open_bytes(content.encode("utf-8", "surrogatepass"), str(out))).data
    assert isinstance(again, Comparisons)
    lost = sorted({label[item] for order in counts for rank in order for item in rank} - set(_labels(again)))
    if lost:
        raise DataError(f"{out}: PrefLib files do not keep names such as {first_few(lost, 2)}. Write .csv or .jsonl.")
    write_text(content, out)
    return f"{count(len(counts), 'different ranking')} of {count(len(label), 'item')}"


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _rank_text(rank: Iterable[int]) -> str:
    numbers = [str(item + 1) for item in rank]
    return numbers[0] if len(numbers) == 1 else "{" + ",".join(numbers) + "}"


def _groups(data: Comparisons) -> Iterator[tuple[Any, Any]]:
    labels, code = np.unique(np.asarray(data.group).astype(str), return_inverse=True)
    order = np.argsort(code, kind="stable")
    yield from zip(labels, np.split(order, np.flatnonzero(np.diff(code[order])) + 1), strict=True)


def _ranking(data: Comparisons, rows: Any) -> tuple[tuple[int, ...], ...] | None:
    """Return the ranks of one group's items, best first; None if all its pairs do not follow from one ranking."""
    first, second, sign = data.first[rows], data.second[rows], np.sign(data.outcome[rows])
    items, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    n = len(items)
    if len(rows) != n * (n - 1) // 2:
        return None
    a, b = place[: len(rows)], place[len(rows) :]
    level = np.bincount(a, sign, n) - np.bincount(b, sign, n)  # wins less losses
    if not np.array_equal(np.sign(level[a] - level[b]), sign):
        return None
    return tuple(tuple(items[level == value].tolist()) for value in np.unique(level)[::-1])


def write_rows(data: Comparisons | Ratings, out: Path) -> str:
    """Write rows with scores; a comparison is a query of two rows."""
    import scipy.sparse as sp

    if data.items is None or not data.n_features:
        raise DataError(f"{out}: SVMlight files hold features, and these items have none. Give --items, or write .csv.")
    X = sp.csr_array(np.asarray(data.items) if not sp.issparse(data.items) else data.items)
    if isinstance(data, Ratings):
        group = np.zeros(len(data), dtype=np.intp) if data.group is None else data.group
        rows, score, qid = np.arange(len(data)), data.score, group.tolist()
    else:
        rows = np.column_stack([data.first, data.second]).ravel()
        score = np.column_stack([data.outcome, np.zeros(len(data))]).ravel()
        qid = np.repeat(np.arange(1, len(data) + 1), 2).tolist()
    query = {label: place for place, label in enumerate(dict.fromkeys(qid), start=1)}
    lines = []
    for row, value, label in zip(rows, score, qid, strict=True):
        start, end = X.indptr[row], X.indptr[row + 1]
        pairs = zip(X.indices[start:end].tolist(), X.data[start:end].tolist(), strict=True)
        cells = " ".join(f"{index + 1}:{number!r}" for index, number in pairs)
        lines.append(f"{value:.17g} qid:{query[label]} {cells}".rstrip())
    write_text("\n".join(lines) + "\n", out)
    return f"{count(len(lines), 'row')} in {count(len(query), 'group')}"
