"""Comparisons as the contents of files: tables, rankings and rows with scores, each read back to be sure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from preflearn.cli.dialect import COMMAND_LINE
from preflearn.data import Comparisons, Ratings, from_scores
from preflearn.data.comparisons import LABELS
from preflearn.exceptions import DataError, first_few
from preflearn.io.export import table_bytes
from preflearn.io.opening import open_bytes
from preflearn.io.read_options import Options
from preflearn.io.reading import read_with
from preflearn.table_format import plural

RANKINGS = (".soc", ".soi", ".toc", ".toi")
_TIES = ("tie", "draw", "equal", "same")  # the first that is no item
# No columns named, margins and repeats kept.
_PLAIN = Options("convert", margins=True, repeated_rows="keep")
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


def table_content(data: Comparisons, out: Path, kind: str, layout: str | None) -> tuple[bytes, str]:
    """Return a table of comparisons, and what it is; ``kind`` is the ending of its name."""
    ties = bool((data.outcome == 0).any())
    sizes = not np.isin(data.outcome, (-1.0, 0.0, 1.0)).all()
    if layout is None:
        sided = data.group is None and bool((data.outcome < 0).any())  # a winner first does not say which side it was
        layout = "first-second-outcome" if sizes else "left-right-winner" if ties or sided else "winner-loser"
    if layout == "winner-loser" and ties:
        count_ties = int((data.outcome == 0).sum())
        raise DataError(f"{out}: {plural(count_ties, 'comparison')} ended in a tie. Use --layout left-right-winner.")
    label = _labels(data)
    columns = _sides(data, label, layout)
    columns |= {name: values for name in ("weight", *LABELS) if (values := getattr(data, name)) is not None}
    content = table_bytes(columns, kind, out)
    _check_back(content, data, label, out, layout)
    return content, f"{plural(len(data), 'comparison')} as {','.join(columns)}"


def _sides(data: Comparisons, label: list[str], layout: str) -> dict[str, Any]:
    """Return the columns that say who was compared, and who won."""
    first, second = [label[i] for i in data.first], [label[i] for i in data.second]
    if layout == "winner-loser":
        pairs = [(a, b) if up else (b, a) for a, b, up in zip(first, second, data.outcome > 0, strict=True)]
        return {"winner": [pair[0] for pair in pairs], "loser": [pair[1] for pair in pairs]}
    if layout == "first-second-outcome":
        return {
            "first": first,
            "second": second,
            "outcome": [int(v) if v.is_integer() else v for v in data.outcome.tolist()],
        }
    tie = next((word for word in _TIES if word not in label), "tie")
    n = len(data)
    named = bool({"left", "right"} & set(label))  # a name is read before a word: name the winners
    words = {1.0: first, -1.0: second} if named else {1.0: ["left"] * n, -1.0: ["right"] * n}
    words[0.0] = [tie] * n
    won = [words[sign][row] for row, sign in enumerate(np.sign(data.outcome).tolist())]
    return {"left": first, "right": second, "winner": won}


def _check_back(content: bytes, data: Comparisons, label: list[str], out: Path, layout: str) -> None:
    """Raise DataError if a table would be read as other comparisons than those it was made from."""
    options = _PLAIN
    cure = "Rename these items, or use another --layout or a .jsonl file."
    if (data.outcome >= 0).all() and layout == "first-second-outcome":
        if not data.outcome.all() or set(data.outcome.tolist()) & {0.5}:
            cure = "Use --layout left-right-winner."
        elif (data.outcome != 1).any():
            options = replace(options, outcomes="first=positive")  # the reader asks
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
    for name in ("weight", *LABELS):
        values, read = getattr(data, name), getattr(found, name)
        if values is not None and (read is None or [str(v) for v in values] != [str(v) for v in read]):
            raise DataError(f'{out}: the column "{name}" would be read as another one. Use another format or layout.')


def _said(data: Comparisons, label: list[str], layout: str) -> list[tuple[str, str, float]]:
    """Return the comparisons as a layout keeps them: with the winner first, or its sign, or all."""
    value = data.outcome if layout == "first-second-outcome" else np.sign(data.outcome)
    rows = [(label[i], label[j], v) for i, j, v in zip(data.first, data.second, value.tolist(), strict=True)]
    return rows if layout != "winner-loser" else [row if row[2] > 0 else (row[1], row[0], -row[2]) for row in rows]


def ranking_content(data: Comparisons, out: Path, kind: str) -> tuple[bytes, str]:
    """Return each group of comparisons as one ranking, and what they are; PrefLib counts alternatives from 1."""
    if data.group is None:
        raise DataError(f"{out}: single comparisons are not rankings. Give rankings, or write a table such as .csv.")
    label = _labels(data)
    counts: dict[tuple[tuple[int, ...], ...], float] = {}
    for number, rows in _groups(data):
        order = _ranking(data, rows)
        if order is None:
            raise DataError(
                f"{out}: the comparisons of group {number} do not form a ranking: some are missing, or they "
                "contradict each other. Write a table such as .csv."
            )
        weight = 1.0 if data.weight is None else float(data.weight[rows[0]])
        counts[order] = counts.get(order, 0.0) + weight
    tied = any(len(rank) > 1 for order in counts for rank in order)
    whole = all(sum(map(len, order)) == len(label) for order in counts)
    fits = {".soc": whole and not tied, ".soi": not tied, ".toc": whole, ".toi": True}
    if not fits[kind]:
        best = next(ending for ending in RANKINGS if fits[ending])
        raise DataError(
            f"{out}: {kind} files cannot hold rankings like these (ties, or items left out). Use the ending {best}."
        )
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
    content = "\n".join([*lines, ""]).encode("utf-8", "surrogatepass")
    again = read_with(_PLAIN, open_bytes(content, str(out))).data
    assert isinstance(again, Comparisons)
    lost = sorted({label[item] for order in counts for rank in order for item in rank} - set(_labels(again)))
    if lost:
        raise DataError(f"{out}: PrefLib files do not keep names such as {first_few(lost, 2)}. Write .csv or .jsonl.")
    return content, f"{plural(len(counts), 'different ranking')} of {plural(len(label), 'item')}"


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


def row_content(data: Comparisons | Ratings, out: Path) -> tuple[bytes, str]:
    """Return rows with scores, and what they are; a comparison is a query of two rows."""
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
    return "\n".join([*lines, ""]).encode(), f"{plural(len(lines), 'row')} in {plural(len(query), 'group')}"
