"""Files of votes counted by the workers of a Dask cluster: each counts where it reads, and only counts move."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from preflearn.exceptions import DataError, FileFormatError, Place
from preflearn.io.counted_files import Counting, VoteFile
from preflearn.io.counts import Counts, add_all

PATIENCE = 5  # seconds to wait for a scheduler


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Any]:
    """Open a client of the scheduler at an address; DataError, within seconds, where there is none."""
    try:
        from distributed import Client
    except ImportError:
        raise DataError(code="dask-not-installed").says(
            "a cluster is reached by Dask, which is not installed", 'Use pip install "preflearn[large]"'
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


def counting_on(client: Any) -> Counting:
    """Return the function that counts files on a cluster: a task for each, whose counts are added a few at a time.

    Every worker must see the files, by the paths that they have here.
    """

    def count(files: Sequence[VoteFile]) -> Counts | None:
        from dask.delayed import delayed

        from preflearn.scale.dask_rows import joined

        parts = [delayed(count_there)(file.seen_as(str(Path(file.name).absolute())), file.name) for file in files]
        found: Counts | None = client.compute(joined(_added, parts), sync=True)
        return found

    return count


def count_there(file: VoteFile, name: str) -> Counts | None:
    """Return the counts of a file that a worker reads; messages name the file as the person did."""
    if not Path(file.name).exists():
        raise FileFormatError(code="file-not-on-worker", where=Place(name)).says(
            "a worker of the cluster does not see this file", "Keep the files where all workers see them, by this path"
        )
    try:
        return add_all(file.pieces())
    except DataError as error:
        where = error.message.where
        if where is None or where.source != file.name:
            raise
        raise type(error)(replace(error.message, where=replace(where, source=name))) from None


def _added(parts: Sequence[Counts | None]) -> Counts | None:
    return add_all(part for part in parts if part is not None)
