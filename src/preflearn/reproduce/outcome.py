"""What came out of an experiment: the table, ours beside the paper's, and what it was made from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from preflearn.exceptions import quiet
from preflearn.reproduce.experiment import Column, Experiment, Paired, Record
from preflearn.table_format import Column as Shown
from preflearn.table_format import TextTable, decimal, plural

_SUMMARIES: dict[str, Any] = {"mean": np.mean, "min": np.min, "max": np.max, "median": np.median, "sum": np.sum}
_METHODS: dict[str, Any] = {"wilcoxon": stats.wilcoxon, "rank sum": stats.ranksums, "t": stats.ttest_rel}
_HOUR, _MINUTE = 3600, 60


@dataclass(frozen=True)
class Cell:
    """One number of the table.

    Attributes
    ----------
    mean : float
        The mean over trials, or what else the column shows.
    deviation : float or None
        Standard deviation over trials, for a mean of two trials or more.
    n : int
        Number of trials.
    paper : float or None
        What the paper prints.
    difference : float or None
        Ours minus the paper's; None where they are not of the same data.
    paper_deviation : float or None
        The paper's standard deviation.
    """

    mean: float
    deviation: float | None
    n: int
    paper: float | None = None
    difference: float | None = None
    paper_deviation: float | None = None

    @property
    def error(self) -> float | None:
        """Standard error of the mean."""
        return None if self.deviation is None else self.deviation / math.sqrt(self.n)


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment.

    Attributes
    ----------
    experiment : Experiment
        The declaration.
    rows : list of str
        Labels of rows.
    cells : mapping
        A `Cell` by row and key of the column.
    tests : mapping
        For each title of a test, p-values by row.
    runs : mapping
        For each run its settings, seed, data and the version.
    repeats : mapping
        For each run the number of trials.
    seconds : float
        Time of all trials, one after the other on one core.
    quick : bool
        Whether this was a quick look.
    versions : mapping
        Versions of what computed it.
    said : sequence of str
        Sentences about the results, made by the experiment's ``says``.

    Examples
    --------
    >>> from preflearn.reproduce import Outcome
    >>> hasattr(Outcome, "from_json")
    True
    """

    experiment: Experiment
    rows: list[str]
    cells: Mapping[tuple[str, str], Cell]
    tests: Mapping[str, Mapping[str, float]]
    runs: Mapping[str, Mapping[str, Any]]
    repeats: Mapping[str, int]
    seconds: float
    quick: bool
    versions: Mapping[str, str]
    said: Sequence[str] = ()

    def cell(self, row: str, key: str) -> Cell:
        """Return a cell; KeyError if it is empty."""
        return self.cells[row, key]

    @property
    def table(self) -> TextTable:
        """The table: each column of ours, that of the paper with the difference in brackets, p-values."""
        shown: dict[str, Shown] = {"row": Shown(self.experiment.head, self.rows, kind="name")}
        for column in self.experiment.columns:
            cells = [self.cells.get((row, column.key)) for row in self.rows]
            if any(cell is not None for cell in cells):
                shown[column.key] = Shown(column.words, [_ours(cell, column) for cell in cells])
            printed = [_paper(self.experiment, row, column, cell) for row, cell in zip(self.rows, cells, strict=True)]
            if any(text is not None for text in printed):
                shown[f"{column.key} paper"] = Shown(
                    "paper" if column.key in shown else f"{column.words}, paper", printed
                )
        for title, values in self.tests.items():
            shown[title] = Shown(title, [_p(values.get(row)) for row in self.rows])
        return TextTable(shown)

    @property
    def remarks(self) -> list[str]:
        """Sentences about how it was run."""
        said = []
        if self.quick:
            said.append("A quick look at small simulated data: it shows that this runs, not what comes out.")
        alike: dict[tuple[int, Any, Any], list[str]] = {}
        for name, key in self.runs.items():
            alike.setdefault((self.repeats[name], key["seed"], key["data"]), []).append(name)
        for (repeats, seed, data), names in alike.items():
            trials = f"{plural(repeats, 'trial')}{' each' if len(names) > 1 else ''} of {', '.join(names)}"
            said.append(f"{trials}; seed {seed}, data: {data}.")
        for run in self.experiment.runs:
            key = self.runs[run.name]
            if not self.quick and run.data is not None and key["data"] != run.data.folder:
                stand_in = run.data.stand_in if key["data"] == "stand-in" else key["data"]
                instead = f"{stand_in} stands in for it, and differences are not shown"
                said.append(f"{run.data.heading} was not there: {instead}.")
        said += self._spreads()
        said += self.said
        packages = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        time = f"Time of all trials on one core: {duration(self.seconds)}. " if self.seconds else ""
        said.append(f"{time}{packages}.")
        return said

    def _spreads(self) -> list[str]:
        """Return what stands behind ±, in a sentence; none where nothing does."""
        shown = [one for one in self.experiment.columns if any(self._deviates(row, one.key) for row in self.rows)]
        errors = [one.words for one in shown if one.spread == "error"]
        if not shown:
            return []
        if not errors or len(errors) == len(shown):
            return [f"± is the standard {'error of the mean' if errors else 'deviation'} over trials."]
        return [f"± is the standard deviation over trials, and the standard error of {', '.join(errors)}."]

    def _deviates(self, row: str, key: str) -> bool:
        cell = self.cells.get((row, key))
        return cell is not None and cell.deviation is not None

    def as_json(self) -> dict[str, Any]:
        """Return the numbers; words and the paper's figures are those of the declaration."""
        keys = [one.key for one in self.experiment.columns if any((row, one.key) in self.cells for row in self.rows)]
        return {
            "name": self.experiment.name,
            "quick": self.quick,
            "seconds": round(self.seconds, 1),
            "versions": dict(self.versions),
            "repeats": dict(self.repeats),
            "runs": {name: dict(key) for name, key in self.runs.items()},
            "columns": keys,
            "tests": list(self.tests),
            **({"said": list(self.said)} if self.said else {}),
            "rows": [self._line(row, keys) for row in self.rows],
        }

    def _line(self, row: str, keys: Sequence[str]) -> dict[str, Any]:
        """Return the numbers of a row: lists by column and test."""
        cells = [self.cells.get((row, key)) for key in keys]
        lists: dict[str, list[Any]] = {
            name: [None if cell is None else _number(getattr(cell, name)) for cell in cells]
            for name in ("mean", "deviation", "n")
        }
        lists["p"] = [_number(of.get(row)) for of in self.tests.values()]
        line = {"row": row, **{name: some for name, some in lists.items() if any(one is not None for one in some)}}
        replaced = any(cell.paper is not None and cell.difference is None for cell in cells if cell is not None)
        return {**line, "stand_in": True} if replaced else line

    @classmethod
    def from_json(cls, saved: Mapping[str, Any], experiment: Experiment) -> Outcome:
        """Return what `as_json` gave, beside the paper's figures as the declaration has them."""
        columns = {one.key: one for one in experiment.columns}
        cells: dict[tuple[str, str], Cell] = {}
        tests: dict[str, dict[str, float]] = {title: {} for title in saved["tests"]}
        for line in saved["rows"]:
            row, nothing = line["row"], [None] * len(saved["columns"])
            lists = (line.get(name, nothing) for name in ("mean", "deviation", "n"))
            for key, mean, deviation, n in zip(saved["columns"], *lists, strict=True):
                if n is not None:
                    printed = _printed(experiment, row, columns[key])
                    mean = math.nan if mean is None else mean
                    cells[row, key] = _beside(mean, deviation, n, printed, "stand_in" not in line)
            for title, p in zip(tests, line.get("p", ()), strict=False):
                if p is not None:
                    tests[title][row] = p
        others = {name: saved[name] for name in ("runs", "repeats", "seconds", "quick", "versions")}
        rows = [line["row"] for line in saved["rows"]]
        said = saved.get("said", ())
        return cls(experiment=experiment, rows=rows, cells=cells, tests=tests, said=said, **others)


def summarised(
    experiment: Experiment,
    records: Sequence[Record],
    runs: Mapping[str, Mapping[str, Any]],
    seconds: float,
    quick: bool,
    versions: Mapping[str, str],
) -> Outcome:
    """Return the table of an experiment's records."""
    found = list(dict.fromkeys(one["row"] for one in records if "row" in one))
    rows = found if experiment.rows is None else [row for row in experiment.rows if row in found]
    replaced = {
        run.name for run in experiment.runs if run.data is not None and runs[run.name]["data"] != run.data.folder
    }
    cells = {}
    for row in rows:
        own = [one for one in records if one.get("row") == row]
        comparable = not quick and not any(one["run"] in replaced for one in own)
        for column in experiment.columns:
            values = [one[column.measure] for one in own if one.get(column.measure) is not None]
            if values:
                cells[row, column.key] = _cell(values, column, _printed(experiment, row, column), comparable)
    tests = {
        test.title: {row: p for row in rows if (p := _tested(test, records, row)) is not None}
        for test in experiment.tests
    }
    repeats = {name: len({one["repeat"] for one in records if one["run"] == name}) for name in runs}
    return Outcome(
        experiment=experiment,
        rows=rows,
        cells=cells,
        tests={title: ps for title, ps in tests.items() if ps},
        runs=runs,
        repeats=repeats,
        seconds=seconds,
        quick=quick,
        versions=versions,
        said=() if experiment.says is None else experiment.says(records),
    )


def _printed(experiment: Experiment, row: str, column: Column) -> tuple[float | None, float | None]:
    """Return what the paper prints, and its deviation."""
    printed = experiment.paper.get(row, {}).get(column.key)
    return printed if isinstance(printed, tuple) else (printed, None)


def _cell(values: list[Any], column: Column, printed: tuple[float | None, float | None], comparable: bool) -> Cell:
    summary = column.summary if callable(column.summary) else _SUMMARIES[column.summary]
    mean = float(summary(values))
    varies = column.summary == "mean" and len(values) > 1 and math.isfinite(mean)
    deviation = float(np.std(values, ddof=1)) if varies else None
    return _beside(mean, deviation, len(values), printed, comparable)


def _beside(
    mean: float, deviation: float | None, n: int, printed: tuple[float | None, float | None], comparable: bool
) -> Cell:
    """Return ours beside what the paper prints, and the difference where both are of the same data."""
    paper, more = printed
    difference = mean - paper if paper is not None and comparable else None
    return Cell(mean, deviation, n, paper, difference, more)


def _tested(test: Paired, records: Sequence[Record], row: str) -> float | None:
    """Return the p-value of a row; None where one of its columns is missing, or where there is one value only."""
    own = [one for one in records if one.get("row") == row and all(name in one for name in test.measures)]
    first, second = (
        np.concatenate([np.zeros(0), *(np.atleast_1d(one[name]) for one in own)], dtype=float) for name in test.measures
    )
    if len(first) < 2:
        return None
    if np.array_equal(first, second):
        return 1.0
    with quiet(RuntimeWarning, UserWarning):
        return float(_METHODS[test.kind](first, second).pvalue)


def duration(seconds: float) -> str:
    """Return a time in words.

    Examples
    --------
    >>> duration(3.2), duration(125), duration(7300)
    ('3 s', '2 min', '2.0 h')
    """
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:.1f} h"


def _spread(mean: float, deviation: float | None, column: Column) -> str:
    text = decimal(mean, column.digits)
    return text if deviation is None else f"{text} ± {decimal(deviation, column.digits)}"


def _ours(cell: Cell | None, column: Column) -> str | None:
    if cell is None:
        return None
    error = column.spread == "error" and cell.deviation is not None
    return _spread(cell.mean, cell.error if error else cell.deviation, column)


def _paper(experiment: Experiment, row: str, column: Column, cell: Cell | None) -> str | None:
    """Return what the paper prints, also where it has a method or a row that we do not."""
    if cell is None:
        paper, deviation = _printed(experiment, row, column)
    else:
        paper, deviation = cell.paper, cell.paper_deviation
    if paper is None:
        return None
    text = _spread(paper, deviation, column)
    if cell is None or cell.difference is None:
        return text
    sign = "+" if round(cell.difference, column.digits) > 0 else ""
    return f"{text} ({sign}{decimal(cell.difference, column.digits)})"


def _p(value: float | None) -> str | None:
    if value is None or math.isnan(value):
        return None
    return "<0.001" if value < 0.001 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def _number(value: Any) -> Any:
    """Return a number in six digits, which is more than any table shows; None for NaN and infinity."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else None
