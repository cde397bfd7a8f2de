"""Files of comparisons read by the workers of a Dask cluster: each counts where it reads, and counts are added."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from preflearn.data import Comparisons
from preflearn.data.join import concatenate
from preflearn.exceptions import DataError, FileFormatError, FileNote, Place
from preflearn.io import Reading, read_preferences
from preflearn.io.chunk_files import list_files

PATIENCE = 5  # seconds to wait for a scheduler


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Any]:
    """Open a client of the scheduler at an address; DataError, within seconds, where there is none."""
    try:
        from distributed import Client
    except ImportError:
        raise DataError(code="dask-not-installed").says(
            "a cluster is reached by Dask, which is not installed", 'Install preflearn with "preflearn[large]"'
        ) from None
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        try:
            client: Any = Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            reason = (str(error).splitlines() or [""])[0][:120]
            raise DataError(code="scheduler-not-there", where=Place(address)).says(
                f"no Dask scheduler answers at this address ({reason or type(error).__name__})",
                "Check the address, as in tcp://10.0.0.5:8786",
                "start one with: dask scheduler",
            ) from None
        with client:
            if not client.scheduler_info()["workers"]:
                raise DataError(code="scheduler-without-workers", where=Place(address)).says(
                    "the Dask scheduler at this address has no workers", "Start some with: dask worker " + address
                )
            yield client
    finally:
        log.setLevel(level)


def read_votes(client: Any, paths: Any, items: Any = None, **options: Any) -> Reading:
    """Return the comparisons in files, as counts; every worker must see the files by the same names.

    Parameters
    ----------
    client : distributed.Client
        Who reads.
    paths : str, path or sequence of these
        Files of one layout, directories or patterns.
    items, **options
        As in `preflearn.io.read_preferences`. Copies of rows are looked for within each file.
    """
    from dask.delayed import delayed

    from preflearn.scale.dask_rows import joined

    files = [path.resolve() for path in list_files(paths)]
    parts = [delayed(_counted)(str(path), items, options) for path in files]
    found: Reading = client.compute(joined(_added, parts), sync=True)
    weight = found.data.weight
    votes = "" if weight is None else f"; {len(found.data):,} different comparisons weigh {weight.sum():,.6g} in total"
    note = FileNote(str(paths), f"{len(files)} files with the layout {found.layout}{votes}.")
    return replace(found, notes=(note,), source=str(paths))


def _counted(path: str, items: Any, options: dict[str, Any]) -> Reading:
    """Read a file and count its comparisons."""
    found = read_preferences(path, items, **options)
    if not isinstance(found.data, Comparisons) or (found.encoder is not None and found.encoder.name is None):
        raise FileFormatError(code="dask-not-votes", where=Place(path)).says(
            "the file holds rows with features, and votes are counted on a cluster",
            "Use preflearn.scale.DaskRankRLS for rows with features",
            "name the items' table",
        )
    return replace(found, data=merged(found.data), source=path)


def _added(readings: list[Reading]) -> Reading:
    """Add the counts of files of one layout."""
    first, *others = readings
    data: Any = first.data
    for other in others:
        if (other.layout, other.columns) != (first.layout, first.columns):
            raise FileFormatError(code="dask-layouts-differ", where=Place(other.source)).says(
                f"the layout is {other.layout}, and that of {Path(first.source).name} is {first.layout}",
                "Give files with the same columns",
            )
        data = concatenate(data, cast(Comparisons, other.data))
    return replace(first, data=merged(data)) if others else first


def merged(data: Comparisons) -> Comparisons:
    """Return comparisons with equal ones merged into weights; those that belong to a ranking or choice are kept apart.

    Examples
    --------
    >>> from preflearn.data import Comparisons
    >>> merged(Comparisons(2, [0, 1, 0], [1, 0, 1], [1, 1, 1])).weight
    array([2., 1.])
    """
    alone = data.group is not None or (data.cluster is not None and bool(np.any(data.cluster == "")))
    if alone or len(data) == 0:
        return data
    keys = [data.first, data.second, data.outcome]
    keys += [np.unique(one, return_inverse=True)[1].ravel() for one in (data.judge, data.cluster) if one is not None]
    table = np.column_stack([*keys, *([] if data.covariates is None else [data.covariates])])
    _, row, place = np.unique(table, axis=0, return_index=True, return_inverse=True)
    weight = np.bincount(place.ravel(), np.ones(len(data)) if data.weight is None else data.weight)
    return data._take(row, weight=weight)
