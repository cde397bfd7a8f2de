"""Runs experiments: resumable, in parallel over trials, one thread of linear algebra each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from preflearn._version import __version__
from preflearn.exceptions import DataError, PreflearnWarning, quiet
from preflearn.reproduce.data_files import locate
from preflearn.reproduce.experiment import Case, Experiment, Record, Run
from preflearn.reproduce.journal import Journal
from preflearn.reproduce.outcome import Outcome, summarised
from preflearn.reproduce.registry import find
from preflearn.reproduce.writing import save

Watch = Callable[[str, int, int], None]  # name of the experiment, trials done, trials altogether


def reproduce(
    experiment: str | Experiment,
    out: str | Path,
    *,
    data: str | Path | None = None,
    quick: bool = False,
    jobs: int = 1,
    repeats: int | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> Outcome:
    """Run an experiment, save its table and figure, and return them.

    Answers: does the paper's table come out?

    Parameters
    ----------
    experiment : str or Experiment
        Its name, as ``preflearn reproduce --list`` shows it.
    out : str or path
        Directory for the results; it is made. Finished trials are kept there in ``trials``, and are not run again.
    data : str or path, default=None
        Directory of the data sets. Where one is missing, a warning says what to get, and a stand-in is used.
    quick : bool, default=False
        Small simulated data and few trials: whether it works, not what comes out.
    jobs : int, default=1
        Processes that run trials at the same time.
    repeats : int, default=None
        Number of trials; by default that of the paper.
    seed : int, default=0
        Seed of everything random.
    watch : callable, default=None
        Called with the name, the trials that are done and their number.

    Returns
    -------
    Outcome
        The table, and what it was made from.

    Raises
    ------
    DataError
        If there is no experiment of this name, if a data set is incomplete, or if results cannot be written.

    Notes
    -----
    Trials are kept under their settings, seed, data and the version of preflearn: whatever changes one of these runs
    them again. Whoever changes the code between two runs should take another directory.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from preflearn.reproduce import reproduce
    >>> with TemporaryDirectory() as folder:
    ...     found = reproduce("kpcrank-sinc", folder, quick=True, repeats=1)
    >>> found.cell("KPCRank", "grid").mean < 0.01
    True
    """
    chosen = find(experiment) if isinstance(experiment, str) else experiment
    root, folder = (None if data is None else Path(data)), Path(out)
    if root is not None and not root.is_dir():
        raise DataError(code="reproduce-no-directory", owner="reproduce").says(
            f"{root} is not a directory", "Name the directory that holds those of the data sets"
        )
    if not quick:
        _check_data(chosen, root)
    _make(folder / "trials")
    journals = []
    for run in chosen.runs:
        source = (None, "simulated") if run.data is None or quick else locate(run.data, root, chosen.name)
        journals.append((run, source, _journal(folder, run, source[1], quick, seed)))
    total = sum(run.repeats_of(quick, repeats) for run, *_ in journals)
    done = 0
    records: list[Record] = []
    seconds = 0.0
    for run, source, journal in journals:
        wanted = range(run.repeats_of(quick, repeats))
        finished = sum(repeat in journal.trials for repeat in wanted)
        done += finished
        if watch:
            watch(chosen.name, done, total)
        cases = [
            Case(repeat, seed, journal.key["settings"], source[0], source[1])
            for repeat in wanted
            if repeat not in journal.trials
        ]
        for repeat, took, found in _results(run, cases, jobs):
            journal.add(repeat, took, found)
            done += 1
            if watch:
                watch(chosen.name, done, total)
        for repeat in wanted:
            took, found = journal.trials[repeat]
            seconds += took
            records += [{**one, "run": run.name, "repeat": repeat} for one in found]
    outcome = summarised(chosen, records, {run.name: j.key for run, _, j in journals}, seconds, quick, versions())
    save(outcome, records, folder)
    return outcome


def _check_data(experiment: Experiment, root: Path | None) -> None:
    """Raise DataError for a data set in half before any other is worked on."""
    for run in experiment.runs:
        if run.data is not None:
            with quiet(PreflearnWarning):
                locate(run.data, root, experiment.name)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(code="reproduce-no-out", owner="reproduce").says(
            f"{folder.parent} cannot be made or written to ({error.strerror})", "Choose another directory for results"
        ) from None


def _journal(folder: Path, run: Run, source: str, quick: bool, seed: int) -> Journal:
    key = {
        "run": run.name,
        "settings": run.settings_of(quick),
        "seed": seed,
        "data": source,
        "version": __version__,
    }
    return Journal(folder / "trials" / f"{run.name}.jsonl", key)


Result = tuple[int, float, list[Record]]


def _results(run: Run, cases: list[Case], jobs: int) -> Iterator[Result]:
    """Yield trials as they are finished."""
    if min(jobs, len(cases)) < 2:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            for case in cases:
                yield _work(run.trial, case)
        return
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_work)(run.trial, case) for case in cases
        )


def _work(trial: Callable[[Case], list[Record]], case: Case) -> Result:
    """Run one trial; what it is warned of belongs to the experiment."""
    from sklearn.exceptions import ConvergenceWarning

    start = time.process_time()
    with quiet(PreflearnWarning, ConvergenceWarning, RuntimeWarning):
        records = trial(case)
    return case.repeat, time.process_time() - start, records


def versions() -> dict[str, Any]:
    """Return the versions of what was used."""
    import importlib.metadata
    import platform

    found = {"preflearn": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn"):
        found[name] = importlib.metadata.version(name)
    return found
