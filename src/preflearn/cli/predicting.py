"""``preflearn predict``: scores of rows or items, margins of pairs, as CSV."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.cli.console import count, facts, working
from preflearn.cli.sources import Saved, open_saved, read_rows, recognise, table_for
from preflearn.data import ItemTable, read_items
from preflearn.data._tables import Table, read_table
from preflearn.exceptions import DataError, nearest_names

__all__ = ["rank_in_groups", "run"]

_SIDES = (("winner", "loser"), ("first", "second"), ("left", "right"))


def run(model: Path, data: Path | None, items: Path | None, out: Path | None, stated: str | None) -> None:
    """Read, score and write."""
    with working(f"Opening {model.name}"):
        saved = open_saved(model, data)
    header: Sequence[str]
    if data is None:
        if saved.known is None:
            raise DataError("DATA is missing. Give a file of rows, items or pairs to score: MODEL DATA.")
        header, rows, what = _score_items(saved, ItemTable(None, np.array(saved.known), None, len(saved.known)), model)
    elif recognise(data, stated) == "svmlight":
        if items is not None:
            raise DataError(f"{data}: rows of an SVMlight file bring their own features. Leave out --items.")
        header, rows, what = _score_rows(saved, data)
    else:
        table = read_table(str(data))
        sides = None if stated == "items" else _sides(table)
        if stated == "comparisons" and sides is None:
            raise DataError(f"{data}: there are no columns first,second or winner,loser. Rename the columns.")
        if sides is not None:
            header, rows, what = _score_pairs(saved, table, sides, table_for(saved, items, data))
        else:
            if items is not None:
                raise DataError(f"{data}: this is a table of items already. Leave out --items.")
            features = None if saved.known is not None else saved.notes.get("feature_names")
            header, rows, what = _score_items(saved, read_items(data, features=features), data)
    _write(header, rows, out)
    if out is not None:
        facts([("Saved", f"{out}: {what}")])


def _score_rows(saved: Saved, path: Path) -> tuple[list[str], Iterable[Sequence[Any]], str]:
    with working(f"Reading {path.name}"):
        data = read_rows(saved, path)
    score = saved.estimator.predict(data.items)
    group = np.zeros(len(data), dtype=np.intp) if data.group is None else data.group
    rank = rank_in_groups(score, group)
    qid = [""] * len(data) if data.group is None else data.group.tolist()
    rows = zip(range(1, len(data) + 1), qid, score.tolist(), rank.tolist(), strict=True)
    groups = "one group" if data.n_groups == 1 else count(data.n_groups, "group")
    return ["row", "qid", "score", "rank"], rows, f"scores of {count(len(data), 'row')} in {groups}"


def _score_items(saved: Saved, table: ItemTable, path: Path) -> tuple[list[str], Iterable[Sequence[Any]], str]:
    names = [str(number) for number in range(table.n_items)] if table.names is None else [str(n) for n in table.names]
    score = _utilities(saved, table, names, path)
    order = np.argsort(-score, kind="stable")
    rank = rank_in_groups(score, np.zeros(len(score), dtype=np.intp))
    rows = ((names[i], float(score[i]), int(rank[i])) for i in order)
    return ["item", "score", "rank"], rows, f"scores of {count(len(score), 'item')}, best first"


def _score_pairs(
    saved: Saved, table: Table, sides: tuple[str, str], items: ItemTable
) -> tuple[list[str], Iterable[Sequence[Any]], str]:
    names = [str(number) for number in range(items.n_items)] if items.names is None else [str(n) for n in items.names]
    place = {name: row for row, name in enumerate(names)}
    first, second = (_find(table, side, place) for side in sides)
    used = np.unique(np.concatenate([first, second]))
    chosen = ItemTable(None if items.values is None else items.values[used], None, None, len(used))
    score = np.empty(len(names))
    score[used] = _utilities(saved, chosen, [names[i] for i in used], Path(table.source))
    margin = score[first] - score[second]
    rows = zip(table.cells(sides[0]), table.cells(sides[1]), margin.tolist(), strict=True)
    return ["first", "second", "margin"], rows, f"margins of {count(len(margin), 'pair')}"


def _utilities(saved: Saved, table: ItemTable, names: list[str], path: Path) -> Any:
    if saved.known is None:
        saved.check_width(0 if table.values is None else table.values.shape[1], path)
        return saved.estimator.predict(table)
    place = {name: row for row, name in enumerate(saved.known)}
    unknown = [name for name in names if name not in place]
    if unknown:
        nearest = nearest_names(unknown[0], place)
        raise DataError(
            f'{path}: "{unknown[0]}" is not among the {len(place)} items that the model knows'
            f"{' (' + nearest + ')' if nearest else ''}; {len(unknown)} of {len(names)} items are unknown. "
            "Without features it can score only the items of its training."
        )
    rows = np.array([place[name] for name in names])
    return saved.estimator.predict(sp.eye_array(saved.n_features, format="csr")[rows])


def _sides(table: Table) -> tuple[str, str] | None:
    by_word = {column.lower(): column for column in table.columns}
    return next(((by_word[a], by_word[b]) for a, b in _SIDES if a in by_word and b in by_word), None)


def _find(table: Table, column: str, place: dict[str, int]) -> Any:
    cells = table.column(column, column)
    for row, cell in enumerate(cells):
        if cell not in place:
            nearest = nearest_names(cell, place)
            raise table.fail(
                row,
                f'{column} "{cell}" is not among the {len(place)} items{" (" + nearest + ")" if nearest else ""}. '
                "Correct the name, or add the item.",
            )
    return np.array([place[cell] for cell in cells], dtype=np.intp)


def rank_in_groups(score: Any, group: Any) -> Any:
    """Return the rank of each row in its group, 1 for the highest score; equal scores share the better rank."""
    code = np.unique(group, return_inverse=True)[1]
    order = np.lexsort((-score, code))
    new_group = np.r_[True, np.diff(code[order]) != 0]
    new_score = new_group | np.r_[True, np.diff(score[order]) != 0]
    position = np.arange(len(score))
    start = np.maximum.accumulate(np.where(new_group, position, 0))
    rank = np.empty(len(score), dtype=np.intp)
    rank[order] = np.maximum.accumulate(np.where(new_score, position, 0)) - start + 1
    return rank


def _write(header: Sequence[str], rows: Iterable[Sequence[Any]], out: Path | None) -> None:
    if out is None:
        _write_csv(sys.stdout, header, rows)
        return
    from preflearn.model_file.container import atomic_file

    with atomic_file(out) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        _write_csv(text, header, rows)
        text.flush()
        text.detach()


def _write_csv(stream: Any, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> Any:
    # A spreadsheet would run a cell such as =HYPERLINK(...): a quote before it makes it text.
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        try:
            float(value)
        except ValueError:
            return f"'{value}"
    return value
