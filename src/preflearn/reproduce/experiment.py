"""What an experiment is: data, repeated trials, and how their records become a table and a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Record = dict[str, Any]
Printed = float | tuple[float, float]  # a figure of a paper, alone or with its standard deviation
_TESTS = {"wilcoxon": "Wilcoxon", "rank sum": "rank sum", "t": "t-test"}
_SEEDS_APART = 10_000  # repeats of one seed and those of the next do not overlap


@dataclass(frozen=True)
class Data:
    """Files that an experiment reads, and what it does without them.

    Attributes
    ----------
    title : str
        What the data set is called, as within a sentence.
    folder : str
        Name of its directory below ``--data``.
    files : mapping of str to int
        The files that must be there, and how many lines each has when unpacked (0: not counted).
    get : str
        Where it can be had, as a sentence.
    stand_in : str
        What a trial uses where the data are missing, as a phrase; it is told so by ``case.folder`` being None.
    otherwise : Data, default=None
        Other data to look for before the stand-in.
    layouts : sequence of mappings of str to int, default=()
        Other files that may be there in place of ``files``.

    Examples
    --------
    >>> from preflearn.reproduce import find
    >>> data = find("rankrls-table1").runs[0].data
    >>> data.folder
    'letor_ohsumed'
    """

    title: str
    folder: str
    files: Mapping[str, int]
    get: str
    stand_in: str
    otherwise: Data | None = None
    layouts: Sequence[Mapping[str, int]] = ()

    @property
    def heading(self) -> str:
        """The title as a sentence begins."""
        return self.title[:1].upper() + self.title[1:]


@dataclass(frozen=True)
class Case:
    """What one trial is told.

    Attributes
    ----------
    repeat : int
        Number of the trial, from 0.
    seed : int
        Seed of the whole run.
    settings : mapping
        The settings of the run.
    folder : path or None
        Directory of the data; None: use the stand-in.
    source : str
        Folder name of the data found, which differs from that of `Run.data` where its ``otherwise`` was found.

    Examples
    --------
    >>> from preflearn.reproduce import Case
    >>> case = Case(repeat=0, seed=0, settings={"n_items": 10})
    >>> case.settings["n_items"]
    10
    """

    repeat: int
    seed: int
    settings: Mapping[str, Any]
    folder: Path | None = None
    source: str = ""

    @property
    def random_state(self) -> int:
        """A seed for this trial alone."""
        return (self.seed * _SEEDS_APART + self.repeat) % 2**32

    def rng(self, *more: int) -> np.random.Generator:
        """Return a generator for this trial alone; further numbers give further ones."""
        return np.random.default_rng([self.seed, self.repeat, *more])


@dataclass(frozen=True)
class Run:
    """Trials that are repeated; several experiments may show different sides of one run.

    Attributes
    ----------
    name : str
        Name of the file that keeps the finished trials.
    trial : callable
        From a `Case` to a list of records: dicts of numbers by column, with the label of their row in "row". A record
        may hold lists of numbers too, such as the curve of a figure; records without "row" are for figures only.
        It must be a function of a module, because other processes call it.
    repeats : int
        Number of trials.
    seconds : float
        About how long a trial takes on one core.
    settings : mapping
        What ``case.settings`` holds.
    quick : mapping
        Settings that differ with ``--quick``, which makes the trial take a second or two.
    quick_repeats : int, default=2
        Number of trials with ``--quick``.
    data : Data, default=None
        What it reads.
    most_repeats : int, default=None
        Trials that there are at most, such as the folds of a data set.

    Examples
    --------
    >>> from preflearn.reproduce import find
    >>> find("gpgp-fig2").runs[0].repeats > 1
    True
    """

    name: str
    trial: Callable[[Case], list[Record]]
    repeats: int
    seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    quick_repeats: int = 2
    data: Data | None = None
    most_repeats: int | None = None

    def settings_of(self, quick: bool) -> dict[str, Any]:
        """Return the settings."""
        return {**self.settings, **(self.quick if quick else {})}

    def repeats_of(self, quick: bool, asked: int | None) -> int:
        """Return the number of trials, where so many were asked for."""
        number = asked or (self.quick_repeats if quick else self.repeats)
        return min(number, self.most_repeats or number)


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Attributes
    ----------
    key : str
        The number of a record that it shows; also the key of the paper's figures.
    title : str, default=None
        Words above it; by default the key.
    summary : {"mean", "min", "max", "median", "sum"} or callable, default="mean"
        What becomes of the trials. A mean has its spread over trials beside it. A function gets the list of what the
        records hold, which need not be numbers.
    of : str, default=None
        The number of a record that it shows, where two columns show the same.
    digits : int, default=3
        Digits after the point.
    spread : {"deviation", "error"}, default="deviation"
        Whether the standard deviation over trials stands beside a mean, as in the papers, or its standard error.

    Examples
    --------
    >>> from preflearn.reproduce import Column
    >>> Column("accuracy", "share of right pairs").key
    'accuracy'
    """

    key: str
    title: str | None = None
    summary: Literal["mean", "min", "max", "median", "sum"] | Callable[[Sequence[Any]], float] = "mean"
    of: str | None = None
    digits: int = 3
    spread: Literal["deviation", "error"] = "deviation"

    @property
    def measure(self) -> str:
        """The number of a record that it shows."""
        return self.of or self.key

    @property
    def words(self) -> str:
        """Its title."""
        return self.title or self.key


@dataclass(frozen=True)
class Paired:
    """A test of whether two columns differ, in each row, over the trials.

    Attributes
    ----------
    first, second : str
        Measures of the two columns.
    kind : {"wilcoxon", "rank sum", "t"}, default="wilcoxon"
        Wilcoxon's signed rank test; his rank sum test, which takes trials for unpaired; or the paired t-test; all are
        two-sided.
    over : str, default=None
        What is compared in place of trials, such as "queries": records then hold a list of values under the measure
        with this word, "first, queries", one for each; those of all trials count together.

    Examples
    --------
    >>> from preflearn.reproduce import Paired
    >>> Paired("ours", "theirs").kind
    'wilcoxon'
    """

    first: str
    second: str
    kind: Literal["wilcoxon", "rank sum", "t"] = "wilcoxon"
    over: str | None = None

    @property
    def measures(self) -> tuple[str, str]:
        """What is compared, as records have it."""
        more = "" if self.over is None else f", {self.over}"
        return self.first + more, self.second + more

    @property
    def title(self) -> str:
        """Words above its column."""
        more = "" if self.over is None else f" over {self.over}"
        return f"p, {self.first} against {self.second} ({_TESTS[self.kind]}{more})"


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper, or one study.

    Attributes
    ----------
    name : str
        What it is called on the command line.
    title : str
        What it asks, in one line.
    source : str
        Paper and table, or where else it comes from.
    runs : sequence of Run
        What is computed.
    columns : sequence of Column
        The table's columns.
    head : str, default=""
        Words above the labels of rows.
    rows : sequence of str, default=None
        Labels of the rows shown, in order; by default all, in the order in which trials return them.
    paper : mapping
        The figures that the paper prints: by row, then by key of the column; a pair is a mean and its deviation.
    tests : sequence of Paired, default=()
        Tests, in columns of their own.
    draw : callable, default=None
        Draws the figure: from an empty matplotlib ``Figure`` and the records.
    size : tuple of two float, default=(6.0, 4.0)
        Width and height of the figure in inches.
    notes : sequence of str, default=()
        What a reader of the table should know: one sentence or a few each.
    says : callable, default=None
        Further sentences, from the records: what only a run can tell.

    Examples
    --------
    >>> from preflearn.reproduce import find
    >>> find("gpgp-fig2").source
    'gpgp 2022, Fig. 2'
    """

    name: str
    title: str
    source: str
    runs: Sequence[Run]
    columns: Sequence[Column]
    head: str = ""
    rows: Sequence[str] | None = None
    paper: Mapping[str, Mapping[str, Printed]] = field(default_factory=dict)
    tests: Sequence[Paired] = ()
    draw: Callable[[Figure, Sequence[Record]], None] | None = None
    size: tuple[float, float] = (6.0, 4.0)
    notes: Sequence[str] = ()
    says: Callable[[Sequence[Record]], Sequence[str]] | None = None

    @property
    def seconds(self) -> float:
        """About how long all trials take, one after the other on one core."""
        return sum(run.repeats * run.seconds for run in self.runs)
