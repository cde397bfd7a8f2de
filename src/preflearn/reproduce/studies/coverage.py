"""Whether the intervals of a ranking hold the truth as often as they say, on simulated comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.analysis import analyse, rank
from preflearn.analysis.ladder import refined
from preflearn.data import Comparisons, from_rankings
from preflearn.models import BradleyTerry, PreferenceGP, Ranking
from preflearn.reproduce.experiment import Case, Column, Experiment, Record, Run
from preflearn.structure import Rankability

# words, what items are known by, their number, comparisons or voters, deviation of utilities or of own effects
SETTINGS: tuple[tuple[str, str, int, int, float], ...] = (
    ("no features, 15 items, 30 comparisons", "bare", 15, 30, 1.0),
    ("no features, 15 items, 150 comparisons", "bare", 15, 150, 1.0),
    ("no features, 60 items, 120 comparisons", "bare", 60, 120, 1.0),
    ("the same with utilities twice as far apart", "bare", 60, 120, 2.0),
    ("no features, 300 items, 900 comparisons", "bare", 300, 900, 1.0),
    ("2 features, 15 items, 30 comparisons", "features", 15, 30, 0.0),
    ("2 features, 15 items, 150 comparisons", "features", 15, 150, 0.0),
    ("the same with own effects of deviation 0.5", "features", 15, 150, 0.5),
    ("the same with 60 items, 120 comparisons", "features", 60, 120, 0.5),
    ("rankings of 8 items by 20 voters", "rankings", 8, 20, 0.0),
    ("rankings of 15 items by 42 voters", "rankings", 15, 42, 0.0),
)
METHODS = (
    (8, 12, 1.0),
    (15, 30, 1.0),
    (60, 120, 1.0),
    (60, 120, 2.0),
    (12, 150, 4.0),
    (150, 300, 1.0),
    (150, 600, 1.0),
    (150, 2000, 1.0),
    (150, 2000, 3.0),
    (500, 1000, 1.0),
)
CIRCLES = (
    ("8 items, all pairs 40 times", "bare", 8, 40),
    ("8 items, all pairs 10 times", "bare", 8, 10),
    ("20 items with 2 features, 400 comparisons", "features", 20, 400),
    ("the same with own effects of deviation 0.5", "own effects", 20, 400),
    ("8 items, all pairs 20 times, 8 judges of different tastes", "judges", 8, 20),
)
_MOST_AVERAGED = 150  # items over whose prior's variance is averaged
_N_JUDGES = 8


def simulated(kind: str, n: int, m: int, own: float, seed: int) -> tuple[Comparisons, dict[str, float]]:
    """Return comparisons, and the centred utilities of the items that are ranked."""
    rng = np.random.default_rng(seed)
    names = [f"item {k:02d}" for k in range(n)]
    if kind == "rankings":
        u = rng.normal(size=n)
        orders = [[names[k] for k in np.argsort(-(u + rng.gumbel(size=n)))] for _ in range(m)]
        return from_rankings(orders), dict(zip(names, (u - u.mean()).tolist(), strict=True))
    X = rng.normal(size=(n, 2))
    u = 1.5 * np.sin(1.2 * X[:, 0]) + own * rng.normal(size=n) if kind == "features" else own * rng.normal(size=n)
    first, second = random_pairs(rng, n, m)
    outcome = np.where(u[first] - u[second] + rng.logistic(size=m) > 0, 1.0, -1.0)
    data = Comparisons(X if kind == "features" else n, first, second, outcome, names=names)
    shown = data.used_items() if kind == "bare" else np.arange(n)
    return data, {names[k]: float(u[k] - u[shown].mean()) for k in shown}


def random_pairs(rng: np.random.Generator, n: int, m: int) -> tuple[Any, Any]:
    """Return both sides of random pairs of different items."""
    first = rng.integers(0, n, m)
    return first, (first + rng.integers(1, n, m)) % n


def share_held(found: Ranking, truth: Any) -> float:
    """Return the share of intervals of centred utilities that hold the true ones, given in the ranking's order."""
    return float(np.mean((found.low <= truth) & (truth <= found.high)))


def verdict_of(data: Comparisons) -> Rankability:
    """Return what `rank` says about circles."""
    found = rank(data).rankability
    assert found is not None
    return found


def intervals(case: Case) -> list[Record]:
    """Rank simulated comparisons as the papers would and as `rank` does."""
    records = []
    for words, kind, n, m, own in SETTINGS:
        if words not in case.settings["data"]:
            continue
        data, truth = simulated(kind, n, m, own, case.random_state)
        for how, found in (("as the papers", _by_the_papers(data)), ("rank", rank(data, circles=False).ranking)):
            u = np.array([truth[name] for name in found.names])
            records.append(
                {
                    "row": f"{words}, {how}",
                    "held": share_held(found, u),
                    "said": float(found.p_best[0]),
                    "best": float(u[0] == max(truth.values())),
                }
            )
    return records


def _by_the_papers(data: Comparisons) -> Ranking:
    """Rank with hyperparameters of the highest evidence, and all pairs of a ranking as single votes."""
    if data.items is None:
        return BradleyTerry(prior="evidence").fit(data).rank(_names(data), k=1)
    return PreferenceGP("rbf", "logit", own_effect=True, n_restarts=1, random_state=0).fit(data).rank(k=1)


def _names(data: Comparisons) -> Any:
    assert data.names is not None
    return data.names[data.used_items()]


def methods(case: Case) -> list[Record]:
    """Rank items without features by Laplace's method and by expectation propagation."""
    records = []
    for n, m, deviation in case.settings["data"]:
        record: Record = {"row": f"{n} items, {m} comparisons, deviation {deviation:g}"}
        data, truth = simulated("bare", n, m, deviation, case.random_state)
        for inference in ("laplace", "ep"):
            how: Any = "average" if n <= _MOST_AVERAGED else "maximise"
            found = BradleyTerry(inference=inference, hyperparameters=how).fit(data).rank(_names(data), k=1)
            u = np.array([truth[name] for name in found.names])
            record[f"{inference} held"] = share_held(found, u)
            record[f"{inference} slope"] = float((found.utility @ u) / (found.utility @ found.utility))
        records.append(record)
    return records


def beside_circles(case: Case) -> list[Record]:
    """Rank preferences that run in circles beside a ranking, by models with and without circles."""
    records = []
    for words, kind, n, m in CIRCLES:
        if words not in case.settings["data"]:
            continue
        data, truth = in_circles(kind, n, m, case.random_state)
        tried = analyse(data, circles=True)
        plain = next(one for one in tried.ladder.ordered if "circles" not in one.terms)
        record: Record = {"row": words}
        for name, model in (("without", refined(data, plain).model), ("shown", tried.model)):
            found = model.rank(k=1)
            record[f"{name} held"] = share_held(found, truth[found.row])
            record[f"{name} width"] = float(np.mean(found.high - found.low))
        records.append(record)
    return records


def in_circles(kind: str, n: int, m: int, seed: int) -> tuple[Comparisons, Any]:
    """Return comparisons, and how much each item is preferred to all items on average."""
    rng = np.random.default_rng(seed)
    X: Any = n
    if kind in ("features", "own effects"):
        X = rng.normal(size=(n, 2))
        u = 1.5 * X[:, 0] + (0.5 * rng.normal(size=n) if kind == "own effects" else 0.0)
        first, second = random_pairs(rng, n, m)
        beside = 1.5 * (np.outer(X[:, 0], X[:, 1]) - np.outer(X[:, 1], X[:, 0]))
    else:
        u = rng.normal(size=n)
        first, second = (np.repeat(side, m) for side in np.triu_indices(n, 1))
        beside = np.zeros((n, n))
        beside[np.triu_indices(n, 1)] = 1.5 * rng.normal(size=n * (n - 1) // 2)
        beside -= beside.T
    g = u[:, None] - u + beside
    judge, z = None, g[first, second]
    if kind == "judges":
        taste = rng.normal(size=(_N_JUDGES, n))
        judge = np.arange(len(first)) % _N_JUDGES
        z = z + taste[judge, first] - taste[judge, second]
    won = rng.random(len(first)) < 1 / (1 + np.exp(-z))
    return Comparisons(X, first, second, np.where(won, 1.0, -1.0), judge=judge), g.mean(axis=1)


def weighted(case: Case) -> list[Record]:
    """Count verdicts about a ranking whose weights have nothing to do with outcomes."""
    n, m = case.settings["items"], case.settings["comparisons"]
    data, _ = simulated("bare", n, m, 1.0, case.random_state)
    rng = np.random.default_rng(case.random_state)
    drawn = {"none": None, "from 0.5 to 2": rng.uniform(0.5, 2, m), "whole, from 1 to 5": rng.integers(1, 6, m)}
    records = []
    for words in case.settings["weights"]:
        some = Comparisons(n, data.first, data.second, data.outcome, names=data.names, weight=drawn[words])
        records.append({"row": words, "found": float(verdict_of(some).found)})
    return records


_SIMULATED = "Votes with logistic noise. Shares of 90 % intervals of centred utilities that hold the truth."

EXPERIMENTS = (
    Experiment(
        name="coverage",
        title="Intervals of a ranking: how often they hold the truth",
        source="a study",
        runs=[
            Run(
                name="coverage",
                trial=intervals,
                repeats=200,
                seconds=8.0,
                settings={"data": [words for words, *_ in SETTINGS]},
                quick={"data": [words for words, *_ in SETTINGS if "15 items, 30" in words]},
                quick_repeats=1,
            )
        ],
        head="data",
        columns=[
            Column("held", "90 % intervals", spread="error"),
            Column("said", "first said to be the best", spread="error"),
            Column("best", "is the best", spread="error"),
        ],
        notes=[
            f"{_SIMULATED} As the papers: hyperparameters of the highest evidence, and all pairs of a ranking as "
            "single votes. rank: what `preflearn.rank` does. Features explain the utility, but for own effects.",
            "Pairs of a ranking are not independent votes; the weights they have in `rank` are cautious.",
        ],
    ),
    Experiment(
        name="coverage-methods",
        title="Intervals by Laplace's method and by expectation propagation",
        source="a study",
        runs=[
            Run(
                name="coverage-methods",
                trial=methods,
                repeats=40,
                seconds=10.0,
                settings={"data": [list(one) for one in METHODS]},
                quick={"data": [list(one) for one in METHODS[:2]]},
                quick_repeats=1,
            )
        ],
        head="data",
        columns=[
            Column("laplace held", "Laplace, 90 % intervals", spread="error"),
            Column("laplace slope", "slope", digits=2, spread="error"),
            Column("ep held", "EP, 90 % intervals", spread="error"),
            Column("ep slope", "slope", digits=2, spread="error"),
        ],
        notes=[
            f"Items without features. {_SIMULATED} Slope of the true utilities on the estimated ones: above 1 the "
            "estimates are too close together.",
        ],
    ),
    Experiment(
        name="coverage-circles",
        title="Intervals where preferences run in circles beside a ranking",
        source="a study",
        runs=[
            Run(
                name="coverage-circles",
                trial=beside_circles,
                repeats=40,
                seconds=15.0,
                settings={"data": [words for words, *_ in CIRCLES]},
                quick={"data": ["8 items, all pairs 10 times"]},
                quick_repeats=1,
            )
        ],
        head="data",
        columns=[
            Column("without held", "without circles, 90 % intervals", spread="error"),
            Column("without width", "width", digits=2),
            Column("shown held", "what rank shows, 90 % intervals", spread="error"),
            Column("shown width", "width", digits=2),
        ],
        notes=["Intervals of how much an item is preferred to all items on average."],
    ),
    Experiment(
        name="coverage-weights",
        title="Verdicts where weights have nothing to do with outcomes",
        source="a study",
        runs=[
            Run(
                name="coverage-weights",
                trial=weighted,
                repeats=40,
                seconds=1.0,
                settings={"items": 12, "comparisons": 60, "weights": ["none", "from 0.5 to 2", "whole, from 1 to 5"]},
                quick={"items": 6, "comparisons": 15, "weights": ["from 0.5 to 2"]},
                quick_repeats=1,
            )
        ],
        head="weights",
        columns=[Column("found", "called cyclic", spread="error")],
        notes=["12 items with 60 comparisons that a ranking explains: nothing should be called cyclic."],
    ),
)
