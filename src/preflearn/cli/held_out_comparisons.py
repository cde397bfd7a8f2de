"""Comparisons that are held out, for ``preflearn evaluate DATA`` and ``preflearn compare``: read and described."""

from __future__ import annotations

from typing import Any

from preflearn.analysis.prepared import prepare
from preflearn.cli.options import ReadOptions
from preflearn.cli.sources import comparisons_of
from preflearn.data import Comparisons
from preflearn.exceptions import DataError
from preflearn.io import Reading
from preflearn.io.table import Table
from preflearn.selection import HeldOut

UNITS = {
    "pair": "all comparisons of two items together",
    "item": "single items, in all of their comparisons",
    "judge": "single judges, with all of their answers",
}


def read_to_hold_out(
    data: str, reading: ReadOptions, by: str, opened: Table | None = None
) -> tuple[Reading, Comparisons]:
    """Return comparisons of which some can be held out."""
    read, given, model = comparisons_of(data, reading, opened)
    X = prepare(given, again=model is not None).data
    if by == "judge" and X.judge is None:
        raise DataError(f"{read.source}: --by judge needs to know who judged. Name the column: --columns judge=COLUMN.")
    if by == "item" and X.items is None:
        raise DataError(
            f"{read.source}: --by item needs features: an item that is known by name alone cannot be predicted. "
            "Give them with --items ITEMS."
        )
    if not X.outcome.any():
        raise DataError(
            f"{read.source}: all comparisons are ties, so there is no winner to predict. Give some with a winner."
        )
    return read, X


def data_facts(read: Reading, X: Comparisons, by: str, found: HeldOut) -> dict[str, Any]:
    """Return what was cross-validated, for JSON."""
    return {
        "data": read.source,
        "n_comparisons": X.n_listed,
        "n_items": X.n_items,
        "held_out": by,
        "n_folds": found.n_folds,
    }


def fewer_folds(found: HeldOut, asked: int) -> list[str]:
    """Return a sentence if there are fewer folds than were asked for."""
    if found.n_folds >= asked:
        return []
    units = {"pair": "different pairs of items", "item": "compared items", "judge": "judges"}[found.by]
    return [f"{found.n_folds} folds instead of {asked}: there are only {found.n_folds} {units} to hold out."]
