"""The table of judges: one row of features for each of those who compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from preflearn.data.fields import lock
from preflearn.data.item_table import ItemTable, check_items, frame_of
from preflearn.exceptions import DataError, first_few, nearest_names
from preflearn.items import as_items, is_sparse

__all__ = ["check_judges"]

NAME_COLUMNS = ("judge", "user", "worker", "annotator")


def check_judges(judges: Any, judge: NDArray[Any] | None, owner: str) -> ItemTable | None:
    """Return the table of judges; every judge that is named in a comparison must be in it."""
    if judges is None:
        return None
    if judge is None:
        raise DataError(
            "judges is a table of those who compared; say who compared what with judge=...",
            code="judges-without-judge",
            owner=owner,
        )
    table = _read(judges, owner)
    if table.values is None:
        raise DataError(
            "judges has no features",
            "Leave it out: judge=... alone tells judges apart",
            code="judges-without-features",
            owner=owner,
        )
    if not as_items(table.values).one_row_each:
        raise TypeError(f"{owner}: judges are Bags; give one row of features per judge, for example their means().")
    if is_sparse(table.values):
        table = table._replace(values=sparse.csr_array(table.values).toarray())
    names = np.arange(table.n_items).astype(object) if table.names is None else table.names
    known = set(names.tolist())
    if len(known) < len(names):
        repeated = [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
        raise DataError(
            f"judges names {first_few(repeated)} more than once",
            "Give one row per judge",
            code="judge-listed-twice",
            owner=owner,
        )
    missing = [label for label in dict.fromkeys(judge.tolist()) if label != "" and label not in known]
    if missing:
        hint = nearest_names(str(missing[0]), [str(name) for name in names])
        cure = (
            f'Give each a row{" (" + hint + ")" if hint else ""}, or write "" for a judge whom nobody knows.'
            if table.names is not None
            else f"The table has no names, so judges are row numbers from 0 to {table.n_items - 1}; a column called "
            "judge holds names."
        )
        raise DataError(
            f"{len(missing)} judges are not in the table of judges ({first_few(missing)})",
            cure,
            code="judge-not-in-table",
            owner=owner,
        )
    return ItemTable(lock(table.values), lock(names), table.feature_names, table.n_items)


def _read(judges: Any, owner: str) -> ItemTable:
    frame = frame_of(judges, owner)
    if frame is not None:
        given = next((column for column in frame.columns if column.lower() in NAME_COLUMNS), None)
        if given is not None:
            judges = frame.rename({given: "name"}).to_native()
    table = check_items(judges, owner, what="judges")
    if frame is not None and table.names is None and any(c.lower() in ("name", "judge") for c in frame.columns):
        raise DataError(
            "the names of the judges must be words or whole numbers, without gaps.",
            code="judge-names-not-plain",
            owner=owner,
        )
    return table
