"""Comparisons in a Dask data frame, counted where they are: a million votes on 200 items are 20,000 pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, first_few, nearest_names

ROLES = ("first", "second", "outcome", "winner", "loser", "weight", "judge", "cluster")


def count_comparisons(
    owner: str,
    frame: Any,
    columns: Mapping[str, str] | None,
    items: Any,
    beside: Sequence[str],
    run: Callable[[Any], Any],
    *,
    margins: bool = False,
) -> Comparisons:
    """Return the different comparisons of a frame with their weights, in an order that does not depend on the frame's.

    ``beside`` are roles that are told apart as well; without ``margins`` only signs of outcomes are. Dask's group-by
    counts each partition and adds the counts.
    """
    import dask.dataframe as dd

    if not isinstance(frame, dd.DataFrame):
        raise TypeError(
            f"{owner}.fit takes a Dask data frame; got {type(frame).__name__}. "
            f"Use {owner.removeprefix('Dask')} for what is in memory."
        )
    roles = _roles(owner, [str(name) for name in frame.columns], columns, beside)
    meta = _named(frame._meta, owner, roles, margins=margins)
    named = frame[list(roles.values())].map_partitions(_named, owner, roles, margins=margins, meta=meta)
    keys = ["first", "second", "outcome", *beside]
    counts = run(named.groupby(keys, observed=True, sort=False)["weight"].sum())
    table = counts[counts > 0].reset_index().sort_values(keys)
    if not len(table):
        raise DataError(code="dask-no-comparisons", owner=owner).says(
            "there are no comparisons of positive weight", "Check the frame"
        )
    ends = {side: table[side].to_numpy() for side in ("first", "second")}
    names = np.unique(np.concatenate(list(ends.values()))) if items is None else None
    given: dict[str, Any] = {name: table[name].to_numpy() for name in ("weight", *beside)}
    counted = Comparisons(items, **ends, outcome=table["outcome"].to_numpy(), names=names, **given)
    # sums of given weights do not say how many there were
    times = None if "weight" in roles else np.rint(given["weight"]).astype(np.int64)
    return counted._take(slice(None), times=times)


def _roles(
    owner: str, names: Sequence[str], columns: Mapping[str, str] | None, beside: Sequence[str]
) -> dict[str, str]:
    """Return the column of each role that is used."""
    found = {role: role for role in ROLES if role in names} if columns is None else dict(columns)
    for role, column in found.items():
        if role not in ROLES:
            raise ValueError(f"{owner}.fit: {role!r} is not a role. Roles are {', '.join(ROLES)}.")
        if column not in names:
            near = nearest_names(column, list(names))
            raise DataError(code="dask-no-such-column", owner=owner).says(
                f'there is no column "{column}"' + (f" ({near})" if near else ""), f"Columns are {first_few(names, 8)}"
            )
    sides = ("winner", "loser") if "winner" in found else ("first", "second", "outcome")
    missing = [role for role in (*sides, *beside) if role not in found]
    if missing:
        raise DataError(code="dask-roles-missing", owner=owner).says(
            f"it is not known which columns hold {' and '.join(missing)} (columns: {first_few(names, 8)})",
            f'Give columns={{"{missing[0]}": ...}}',
            "turn a column that names the side that won into first, second and outcome (1, -1 or 0)",
        )
    return {role: found[role] for role in (*sides, "weight", *beside) if role in found}


def _named(part: Any, owner: str, roles: Mapping[str, str], *, margins: bool) -> Any:
    """Return a partition with its columns named by their roles, checked."""
    import pandas as pd

    columns = {role: part[column] for role, column in roles.items()}
    for role, column in columns.items():
        empty = int(column.isna().sum())
        if empty:
            raise DataError(code="dask-gaps", owner=owner).says(
                f'column "{roles[role]}" is empty in {empty} rows of a partition', "Fill the gaps, or drop these rows"
            )
    if "winner" in columns:
        columns = {"first": columns.pop("winner"), "second": columns.pop("loser"), "outcome": 1.0, **columns}
    for role in ("outcome", "weight"):
        if role in columns and role in roles:
            try:
                columns[role] = columns[role].astype(np.float64)
            except (TypeError, ValueError):
                raise DataError(code="dask-not-numbers", owner=owner).says(
                    f'column "{roles[role]}" holds {role}s that are not numbers', "Turn them into numbers"
                ) from None
    if not margins:
        columns["outcome"] = np.sign(columns["outcome"])
    table = pd.DataFrame({"weight": 1.0, **columns}, index=part.index)
    alone = int((table["first"] == table["second"]).sum())
    if alone:
        raise DataError(code="dask-self-comparisons", owner=owner).says(
            f"{alone} comparisons of a partition set an item against itself", "Drop them"
        )
    if not (table["weight"].between(0, np.inf, inclusive="left")).all():
        raise DataError(code="dask-weights", owner=owner).says(
            f'column "{roles["weight"]}" has negative or infinite weights', "Give weights of at least 0"
        )
    return table
