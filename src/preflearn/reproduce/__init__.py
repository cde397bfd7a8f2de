"""The papers' tables and figures, rerun: ours beside theirs, by one runner, and the studies of this package.

An `Experiment` is a short declaration: what is computed (`Run`), how its records become a table and a figure, and what
the paper prints. ``preflearn reproduce`` runs them; so does `reproduce`.
"""

from preflearn.reproduce.experiment import Case, Column, Data, Experiment, Paired, Record, Run
from preflearn.reproduce.outcome import Outcome
from preflearn.reproduce.registry import experiments, find
from preflearn.reproduce.runner import reproduce

__all__ = [
    "Case",
    "Column",
    "Data",
    "Experiment",
    "Outcome",
    "Paired",
    "Record",
    "Run",
    "experiments",
    "find",
    "reproduce",
]
