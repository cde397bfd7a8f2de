"""``preflearn reproduce``: rerun the papers' tables and figures, and print ours beside theirs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from preflearn.cli.console import facts, hanging, plain, progress, prose
from preflearn.cli.dialect import COMMAND_LINE
from preflearn.cli.options import Count, File, Flag, Seed

if TYPE_CHECKING:
    from preflearn.reproduce import Experiment

USAGE = "preflearn reproduce NAMES [OPTIONS]"
_DATA = "PREFLEARN_DATA"
_ALL = "all"


def reproduce(
    names: Annotated[tuple[str, ...], Parameter(show_default=False)] = (),
    /,
    *,
    list: Flag = False,  # noqa: A002 - the option
    data: File | None = None,
    quick: Flag = False,
    jobs: Count = 1,
    repeats: Count | None = None,
    out: File = Path("reproduced"),
    seed: Seed = 0,
) -> None:
    """Rerun tables and figures of the papers, and print ours beside theirs.

    Data sets that are missing are named, with where they can be had, and a
    stand-in is used. What was finished is kept: after an interruption the same
    command goes on where it ended. Tables (.md, .json) and figures (.svg, .png)
    go to a directory.

    For example:

        preflearn reproduce --list
        preflearn reproduce kpcrank-sinc --quick
        preflearn reproduce all --data DATA --jobs 2

    Parameters
    ----------
    names
        Names of experiments, or all.
    list
        Print the names, what they are and how long they take, and stop.
    data
        Directory of the data sets (default: $PREFLEARN_DATA).
    quick
        Small simulated data: whether it works, not what comes out.
    jobs
        Processes that work at the same time.
    repeats
        Trials of each experiment (default: those of the paper).
    out
        Directory for results, which is made.
    seed
        Seed of random choices; the same seed gives the same numbers.
    """
    from preflearn.exceptions import DataError

    if not names and not list:
        raise DataError('NAMES are missing. Give names, or all; "preflearn reproduce --list" shows them.')
    from preflearn.reproduce import experiments, find

    if list:
        _list()
        return
    named = [find(name) for name in dict.fromkeys(names) if name != _ALL]
    chosen = [*experiments().values()] if _ALL in names else named
    given = data or (Path(os.environ[_DATA]) if os.environ.get(_DATA) else None)
    if not quick and given is not None and not given.is_dir():
        raise DataError(f"{given}: there is no such directory. Give --data the directory of the data sets.")
    failed = None
    with progress("Rerunning") as tell:
        for one in chosen:
            try:
                _run(one, out, given, quick, jobs, repeats, seed, tell)
            except DataError as error:  # others do not suffer from it
                if len(chosen) > 1:
                    facts([("Failed", f"{one.name}: {COMMAND_LINE.render(error.message)}")])
                failed = failed or error
    if failed is not None:
        raise failed


def _list() -> None:
    from preflearn.reproduce import experiments
    from preflearn.reproduce.outcome import duration
    from preflearn.reproduce.registry import seconds_of_all

    known = experiments()
    room = max(map(len, known)) + 2
    lines = [f"{name:<{room}}{one.title} ({one.source}): {duration(one.seconds)}" for name, one in known.items()]
    lines.append(f"{'all':<{room}}all of these: {duration(seconds_of_all())}. Times are those of one core")
    hanging("\n".join(lines), room)


def _run(
    one: Experiment,
    out: Path,
    data: Path | None,
    quick: bool,
    jobs: int,
    repeats: int | None,
    seed: int,
    tell: Callable[[str, float], None],
) -> None:
    from preflearn.reproduce import reproduce

    def watch(name: str, done: int, total: int) -> None:
        tell(f"{name}: {done} of {total}", done / max(total, 1))

    prose(f"{one.title} ({one.source})", heading=True)
    sys.stdout.flush()
    found = reproduce(one, out, data=data, quick=quick, jobs=jobs, repeats=repeats, seed=seed, watch=watch)
    plain(found.table.text())
    kinds = [".md", ".json", *([".svg", ".png"] if one.draw is not None else [])]
    saved = [path for path in (out / f"{one.name}{kind}" for kind in kinds) if path.exists()]
    facts([*(("Note", note) for note in one.notes), *(("Run", remark) for remark in found.remarks)])
    facts([("Saved", f"{', '.join(map(str, saved))}\n")])
    plain("")
