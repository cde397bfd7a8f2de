"""All experiments by name: one module for each paper, listed here."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from preflearn.exceptions import DataError, nearest_names
from preflearn.reproduce.experiment import Experiment

MODULES = (
    "papers.letor",
    "papers.parses",
    "papers.sinc",
    "papers.components",
    "papers.item_pairs",
    "papers.item_cost",
    "papers.labels",
    "papers.hidden_states",
    "papers.contests",
    "studies.label_noise",
    "studies.uncertainty",
    "studies.coverage",
    "studies.matched_pairs",
    "studies.broken_assumptions",
    "studies.power",
    "studies.few_features",
    "studies.judges",
    "studies.which_next",
    "studies.peers",
    "studies.trees",
)


@cache
def experiments() -> dict[str, Experiment]:
    """Return all experiments by name, paper by paper.

    Examples
    --------
    >>> from preflearn.reproduce import experiments
    >>> "kpcrank-table1" in experiments()
    True
    """
    modules = [import_module(f"preflearn.reproduce.{name}") for name in MODULES]
    return {one.name: one for module in modules for one in module.EXPERIMENTS}


def find(name: str) -> Experiment:
    """Return the experiment of a name; DataError with the nearest names if there is none.

    Examples
    --------
    >>> from preflearn.reproduce import find
    >>> find("gpgp-fig2").name
    'gpgp-fig2'
    """
    known = experiments()
    if name not in known:
        near = nearest_names(name.lower(), [*known, "all"])
        raise DataError(code="reproduce-unknown", owner="reproduce").says(
            f'there is no experiment "{name}"' + (f"; {near}" if near else ""), f"Choose from: {', '.join(known)}"
        )
    return known[name]


def seconds_of_all() -> float:
    """Return about how long all trials of all experiments take on one core; shared runs count once."""
    runs = {run.name: run for one in experiments().values() for run in one.runs}
    return sum(run.repeats * run.seconds for run in runs.values())
