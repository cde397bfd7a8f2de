"""Circles along few of many features: whether they are found, and these features named."""

from __future__ import annotations

import numpy as np

from preflearn.data import Comparisons, ItemTable
from preflearn.models import PreferenceGP
from preflearn.reproduce.experiment import Case, Column, Experiment, Record, Run
from preflearn.reproduce.studies.coverage import random_pairs, verdict_of
from preflearn.structure import rankability

ALONG = {"none": (), "a plane": ("b", "c"), "a line": ("b",)}


def votes(truth: str, n_features: int, n: int, m: int, seed: int) -> Comparisons:
    """Return votes by a utility of the first feature, beside circles along others."""
    rng = np.random.default_rng([seed, n_features, n, m])
    X = rng.normal(size=(n, n_features))
    first, second = random_pairs(rng, n, m)
    plane = X[first, 1] * X[second, 2] - X[first, 2] * X[second, 1]
    turn = {"none": 0.0, "a plane": 0.7 * plane, "a line": np.sin(2 * (X[first, 1] - X[second, 1]))}[truth]
    z = X[first, 0] - X[second, 0] + turn + rng.logistic(size=m)
    table = ItemTable(X, None, ("a", "b", "c", *(f"x{k}" for k in range(3, n_features))), n)
    return Comparisons(table, first, second, np.where(z > 0, 1, -1))


def found(case: Case) -> list[Record]:
    """Ask `rank` for circles, and a kernel of circles with one length scale for all features."""
    settings, records = case.settings, []
    for truth in settings["truths"]:
        for d in settings["features"]:
            data = votes(truth, d, settings["items"], settings["comparisons"], case.random_state)
            verdict = verdict_of(data)
            both = PreferenceGP("rbf", "logit", own_effect=True, hyperprior=1.5, cyclic_kernel="rbf", n_restarts=0)
            records.append(
                {
                    "row": f"{truth}, {d} features",
                    "found": float(verdict.found),
                    "named": float(verdict.found and verdict.along == ALONG[truth]),
                    "all": float(rankability(both.fit(data), n_samples=10, screen=True).found),
                }
            )
    return records


EXPERIMENTS = (
    Experiment(
        name="power-along",
        title="Circles along few of many features",
        source="a study",
        runs=[
            Run(
                "power-along",
                found,
                40,
                40.0,
                {"truths": list(ALONG), "features": [3, 6, 12, 24], "items": 60, "comparisons": 1000},
                {"truths": ["a plane"], "features": [3, 6], "items": 20, "comparisons": 150},
                1,
            )
        ],
        head="circles along",
        columns=[
            Column("found", "found", spread="error", digits=2),
            Column("named", "and named", spread="error", digits=2),
            Column("all", "found by all features", spread="error", digits=2),
        ],
        notes=[
            "1,000 votes about random pairs of 60 items; utilities by one feature, circles in the plane of two "
            "others, along one other, or none. Found and named (with exactly the right features) are of "
            "`preflearn.rank`; found by all features, by a kernel of circles with one length scale. With three "
            "features a plane is nearly all of them. Where there are no circles, those found are false alarms.",
        ],
    ),
)
