"""Comparisons after comparisons: two tables of the same or of different items as one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.data.comparisons import LABELS, Comparisons
from preflearn.data.fields import label_array, lock
from preflearn.data.tables import Covariates, ItemTable
from preflearn.exceptions import DataError, first_few
from preflearn.items import as_items


def concatenate(old: Comparisons, new: Comparisons) -> Comparisons:
    """Return the comparisons of both; the items of ``old`` keep their row numbers and new items follow.

    Items are matched by name where both have names, which must then agree in their features. Without names the same
    table counts as the same items, and a different table as other items. Weights are kept (1 where there were none),
    and judges and clusters ("", unknown, where there were none); groups only if both have them. Covariates must be the
    same columns in both, or neither has any.
    """
    if (old.items is None) != (new.items is None):
        raise DataError(code="update-features-differ", owner="update").says(
            "the old and the new comparisons must both have item features, or both have none."
        )
    if (old.names is None) != (new.names is None):
        raise DataError(code="update-names-lacking", owner="update").says(
            "the items of the old or the new comparisons have no names", "Name both or neither"
        )
    if as_items(old.items).one_row_each != as_items(new.items).one_row_each:
        raise DataError(code="update-bags-differ", owner="update").says(
            "the items of the old or the new comparisons are bags", "Give Bags to both or to neither"
        )
    table: Any = None
    if old.items is not None:
        table = _like(new.items, new.feature_names, old.items, old.feature_names, "items")
    if old.names is not None:
        place, extra = _match_names(old, new, table)
    elif old.items is None:
        place, extra = np.arange(new.n_items), np.arange(old.n_items, new.n_items)
    elif as_items(old.items).equal(table):
        place, extra = np.arange(new.n_items), np.arange(0)
    else:
        place, extra = old.n_items + np.arange(new.n_items), np.arange(new.n_items)
    fields: dict[str, Any] = {
        "items": old.items if old.items is None or not len(extra) else as_items(old.items).joined(table[extra]),
        "names": old.names if old.names is None else np.concatenate([old.names, new.names[extra]]),  # type: ignore[index]
        "n_items": max(old.n_items + len(extra), old.n_items),
        "feature_names": old.feature_names,
        "first": np.concatenate([old.first, place[new.first]]),
        "second": np.concatenate([old.second, place[new.second]]),
        "outcome": np.concatenate([old.outcome, new.outcome]),
        "weight": None if old.weight is None and new.weight is None else np.concatenate([_weight(old), _weight(new)]),
    }
    if old.times is not None or new.times is not None:
        fields["times"] = np.concatenate([_times(old), _times(new)])
    for name in LABELS:
        kept = (all if name == "group" else any)(getattr(data, name) is not None for data in (old, new))
        fields[name] = label_array(_labels(old, name) + _labels(new, name)) if kept else None
    fields["covariates"], fields["covariate_names"] = _join_covariates(old, new)
    fields["judges"] = join_judges(old.judges, new.judges)
    return Comparisons._from_fields(**fields)


def _like(
    values: Any,
    names: tuple[str, ...] | None,
    old: Any,
    known: tuple[str, ...] | None,
    what: str,
    owner: str = "update",
) -> Any:
    """Return features of new items or judges with the columns of the old ones."""
    if known is not None and names is not None and known != names:
        missing = [name for name in known if name not in names]
        if missing:
            raise DataError(code="update-features-lacking", owner=owner).says(
                f"the new {what} lack the features {first_few(missing)} of the old ones."
            )
        return values[:, [names.index(name) for name in known]]
    if values.shape[1] != old.shape[1]:
        raise DataError(code="update-column-count", owner=owner).says(
            f"the new {what} have {values.shape[1]} columns and the old ones {old.shape[1]}",
            "Give the same columns in the same order",
        )
    return values


def _match_names(old: Comparisons, new: Comparisons, table: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    assert old.names is not None
    assert new.names is not None
    known = {name: row for row, name in enumerate(old.names)}
    place = np.array([known.get(name, -1) for name in new.names], dtype=np.intp)
    extra = np.flatnonzero(place < 0)
    there = np.flatnonzero(place >= 0)
    if old.items is not None and len(there) and not as_items(old.items[place[there]]).equal(table[there]):
        bad = [new.names[row] for row in there.tolist() if not as_items(old.items[[place[row]]]).equal(table[[row]])]
        raise DataError(code="update-item-changed", owner="update").says(
            f"{len(bad)} items have other features than before (names {first_few(bad)})",
            "Use the same features, or another name for a changed item",
        )
    place[extra] = old.n_items + np.arange(len(extra))
    return place, extra


def _labels(data: Comparisons, what: str) -> list[Any]:
    labels = getattr(data, what)
    return [""] * len(data) if labels is None else list(labels.tolist())


def _weight(data: Comparisons) -> NDArray[np.float64]:
    return np.ones(len(data)) if data.weight is None else data.weight


def _join_covariates(old: Comparisons, new: Comparisons) -> Covariates:
    """Return the covariates of both, with the columns of the old ones in their order; both must have the same."""
    if old.covariates is None and new.covariates is None:
        return None, None
    if old.covariates is None or new.covariates is None:
        here, there, has = ("new", "old", old) if new.covariates is None else ("old", "new", new)
        raise DataError(code="update-covariates-lacking", owner="update").says(
            f"the {there} comparisons have covariates ({_described(has)}) and the {here} ones have none",
            "Give both the same columns, or build both without covariates",
        )
    names, known = new.covariate_names, old.covariate_names
    if names is not None and known is not None and set(names) != set(known):
        raise DataError(code="update-covariates-differ", owner="update").says(
            f"the new comparisons have the covariates {_described(new)} and the old ones {_described(old)}",
            "Give both the same columns",
        )
    values = _like(new.covariates, names, old.covariates, known, "covariates")
    return np.concatenate([old.covariates, values]), known or names


def _described(data: Comparisons) -> str:
    assert data.covariates is not None
    return (
        f"{data.covariates.shape[1]} without names"
        if data.covariate_names is None
        else first_few(data.covariate_names, 5)
    )


def join_judges(old: ItemTable | None, new: ItemTable | None, owner: str = "update") -> ItemTable | None:
    """Return the judges of both tables; those of both must agree in their features."""
    if old is None or new is None:
        return old if new is None else new
    assert old.names is not None
    assert new.names is not None
    known = np.asarray(old.values)
    values = _like(np.asarray(new.values), new.feature_names, known, old.feature_names, "judges", owner)
    place = {name: row for row, name in enumerate(old.names)}
    both = [row for row, name in enumerate(new.names) if name in place]
    changed = [new.names[row] for row in both if not np.array_equal(values[row], known[place[new.names[row]]])]
    if changed:
        raise DataError(code="update-judge-changed", owner=owner).says(
            f"{len(changed)} judges have other features than before ({first_few(changed)})."
        )
    extra = [row for row, name in enumerate(new.names) if name not in place]
    names = np.concatenate([old.names, new.names[extra]])
    table = np.concatenate([known, values[extra]])
    return ItemTable(lock(table), lock(names), old.feature_names, len(names))


def _times(data: Comparisons) -> NDArray[np.int64]:
    return np.ones(len(data), dtype=np.int64) if data.times is None else data.times
