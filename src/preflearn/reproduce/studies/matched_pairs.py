"""Rankings where pairs are chosen by strength, as in leagues and Swiss tournaments."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.analysis import rank
from preflearn.analysis.pairing import is_widened
from preflearn.data import Comparisons
from preflearn.models import BradleyTerry
from preflearn.reproduce.experiment import Case, Column, Experiment, Record, Run
from preflearn.reproduce.studies.coverage import share_held

_PLACES = {"within three places": 3, "ladder": 1, "ladder of noise": 1}  # how far opponents are apart at most
_STEP = {"ladder": 0.4, "ladder of noise": 0.0}
SWISS = "Swiss tournament"


def rankings(case: Case) -> list[Record]:
    """Rank games between items of similar strength, by the prior of the highest evidence and as `rank` does."""
    records = []
    for kind in case.settings["kinds"]:
        data, u = games(kind, case.random_state, case.settings["items"], case.settings["games"])
        result = rank(data)
        plain = BradleyTerry(inference="ep", hyperparameters="average").fit(data).rank()
        record: Record = {"row": kind}
        for name, found in (("evidence", plain), ("rank", result.ranking)):
            truth = (u - u.mean())[found.row]
            record[f"{name} held"] = share_held(found, truth)
            record[f"{name} slope"] = float(np.polyfit(found.utility, truth, 1)[0])
        record["widened"], record["cyclic"] = (
            float(is_widened(result.model)),
            float(result.rankability is not None and result.rankability.found),
        )
        records.append(record)
    return records


def games(kind: str, seed: int, n: int = 20, m: int = 600) -> tuple[Comparisons, Any]:
    """Return games and utilities; a Swiss tournament has as many rounds as ``m`` allows, at most 12."""
    rng = np.random.default_rng(seed)
    u: Any = np.sort(1.5 * rng.normal(size=n))[::-1]
    if kind == SWISS:
        return _swiss(u, min(12, m // n), rng), u
    reach = _PLACES[kind]
    if kind in _STEP:
        u = -_STEP[kind] * np.arange(n)
    first = rng.integers(0, n, 4 * m)
    second = first + rng.integers(1, reach + 1, 4 * m) * rng.choice([-1, 1], 4 * m)
    kept = np.flatnonzero((second >= 0) & (second < n))[:m]
    first, second = first[kept], second[kept]
    return Comparisons(n, first, second, np.where(u[first] - u[second] + rng.logistic(size=m) > 0, 1, -1)), u


def _swiss(u: Any, rounds: int, rng: np.random.Generator) -> Comparisons:
    """Return games between neighbours in points."""
    points, played = np.zeros(len(u)), []
    for _ in range(rounds):
        pairs = np.lexsort((rng.random(len(u)), -points)).reshape(-1, 2)
        won = u[pairs[:, 0]] - u[pairs[:, 1]] + rng.logistic(size=len(pairs)) > 0
        played.append(np.where(won[:, None], pairs, pairs[:, ::-1]))
        points[played[-1][:, 0]] += 1
    return Comparisons(len(u), *np.concatenate(played).T)


EXPERIMENTS = (
    Experiment(
        name="coverage-matched",
        title="Intervals where pairs are chosen by strength",
        source="a study",
        runs=[
            Run(
                name="coverage-matched",
                trial=rankings,
                repeats=40,
                seconds=5.0,
                settings={"kinds": [*_PLACES, SWISS], "items": 20, "games": 600},
                quick={"items": 8, "games": 80},
                quick_repeats=1,
            )
        ],
        head="pairs",
        columns=[
            Column("evidence held", "by evidence, 90 % intervals", spread="error"),
            Column("evidence slope", "slope", "median", digits=2),
            Column("rank held", "rank, 90 % intervals", spread="error"),
            Column("rank slope", "slope", "median", digits=2),
            Column("widened", "prior was widened", spread="error"),
            Column("cyclic", "called cyclic", spread="error"),
        ],
        notes=[
            "600 games of 20 items with logistic noise: between those within three places of each other, between "
            "neighbours on a ladder with steps of 0.4, the same without differences, and a Swiss tournament of 12 "
            "rounds. Slope of the true utilities on the estimated ones: above 1 the estimates are too close together.",
        ],
    ),
)
