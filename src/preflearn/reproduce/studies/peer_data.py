"""The sets on which our models meet their peers: read, and cut into a training and a test part."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from preflearn.data import Comparisons, Ratings
from preflearn.datasets import make_cyclic_preferences, make_ltr
from preflearn.exceptions import first_few
from preflearn.io import read_svmlight
from preflearn.io.table import Table
from preflearn.reproduce.data_tables import numbers, places, read_cars, read_table, unexpected
from preflearn.reproduce.experiment import Case, Data


class Contest(NamedTuple):
    """Comparisons as a model of items sees them, and as one sees them that has a row for each side."""

    ours: Comparisons
    sides: Comparisons  # features of both sides of each row, whatever they belong to


def turned(rng: np.random.Generator, winner: Any, loser: Any) -> tuple[Any, Any, Any]:
    """Return first, second and outcome, the winner on a random side."""
    other = rng.random(len(winner)) < 0.5
    return np.where(other, loser, winner), np.where(other, winner, loser), np.where(other, -1.0, 1.0)


def parts(case: Case, n_rows: int) -> tuple[Any, Any]:
    """Return row numbers of the training and of the test part."""
    order = case.rng(1).permutation(n_rows)
    n_train, n_test = (min(case.settings[name], n_rows) for name in ("n_train", "n_test"))
    n_train = min(n_train, round(0.7 * n_rows))
    return order[:n_train], order[n_train : n_train + n_test]


def indicators(values: Any) -> Any:
    """Return a column for each value."""
    values = np.asarray(values)
    return (values[:, None] == np.unique(values)).astype(float)


def simulated_pairs(case: Case) -> Contest:
    """Return comparisons with circles."""
    made = make_cyclic_preferences(2, 1.0, random_state=case.rng()).comparisons
    return Contest(made, made)


def pokemon(case: Case) -> Contest:
    """Read fights: items have six numbers, a generation, whether they are legendary, and one or two types of 18.

    Ours also sees, as covariates, the sign of the difference of each number: who is faster, stronger, ...
    """
    if case.folder is None:
        return simulated_pairs(case)
    items = read_table(case.folder / "pokemon.csv", ["#", *_POKEMON, *_TYPES, "Legendary"])
    fights = read_table(case.folder / "combats.csv.gz", _FIGHT)
    values = numbers(items, _POKEMON)
    types = sorted({*items.cells("Type 1")})
    one, other = (np.eye(len(types) + 1)[places(items, name, [*types, ""])] for name in _TYPES)
    legendary = places(items, "Legendary", ["False", "True"])[:, None].astype(float)
    X = np.hstack([_standardised(values), legendary, np.maximum(one, other)[:, :-1]])
    first, second, winner = (places(fights, name, items.cells("#")) for name in _FIGHT)
    outcome = np.where(winner == first, 1.0, -1.0)
    signs = np.sign(values[first] - values[second])
    plain = Comparisons(X, first, second, outcome)
    return Contest(Comparisons(X, first, second, outcome, covariates=signs), plain)


_POKEMON = ("HP", "Attack", "Defense", "Sp. Atk", "Sp. Def", "Speed", "Generation")
_TYPES = ("Type 1", "Type 2")
_FIGHT = ("First_pokemon", "Second_pokemon", "Winner")


def cars(case: Case) -> Contest:
    """Read which of two cars each of 60 people prefers; questions that were asked again are left out.

    Ours sees ten cars, and people as judges with features. The others have a row for each car in the eyes of each
    person: the features of both, and who it is.
    """
    if case.folder is None:
        made = simulated_pairs(case)
        judge = case.rng(2).integers(0, 3, len(made.ours))
        ours = made.ours
        judged = Comparisons(
            ours.items, ours.first, ours.second, ours.outcome, judge=judge, judges=np.arange(6.0).reshape(3, 2)
        )
        return Contest(judged, made.sides)
    answers, items, users = read_cars(case.folder)
    asked = answers[answers[:, 3] == 0].astype(int)
    judge = asked[:, 0] - 1
    first, second, outcome = turned(case.rng(2), asked[:, 1] - 1, asked[:, 2] - 1)
    X, people = (table[:, 1:] for table in (items, users))
    people = np.hstack([indicators(column) for column in people[:, :4].T])
    people /= np.sqrt(4)
    ours = Comparisons(_standardised(X), first, second, outcome, judge=judge, judges=people)
    n_people = len(people)
    both = np.hstack([np.repeat(X, n_people, axis=0), np.tile(users[:, :5], (len(X), 1))])
    return Contest(ours, Comparisons(both, first * n_people + judge, second * n_people + judge, outcome))


def tennis(case: Case) -> Contest:
    """Read matches of two years, and what was known of both players before each.

    Ours sees players by name, the surface as a judge, and differences of points, ranks, ages and heights as covariates.
    The others have a row for each player in each match.
    """
    if case.folder is None:
        made = simulated_pairs(case)
        rows = np.arange(len(made.ours))
        judge = np.array(["clay", "grass"])[rows % 2]
        ours = made.ours
        known = np.asarray(ours.items)[ours.first] - np.asarray(ours.items)[ours.second]
        return Contest(
            Comparisons(ours.n_items, ours.first, ours.second, ours.outcome, judge=judge, covariates=known), made.sides
        )
    needed = [f"{side}_{name}" for side in _SIDES for name in (*_OF_PLAYERS, "id", "hand")]
    years = [
        read_table(case.folder / f"atp_matches_{year}.csv.gz", [*needed, "surface", "best_of"]) for year in (2018, 2019)
    ]
    names = sorted({name for year in years for side in _SIDES for name in year.cells(f"{side}_id")})
    winner, loser = (np.concatenate([places(year, f"{side}_id", names) for year in years]) for side in _SIDES)
    known = np.stack([np.vstack([_players(year, side) for year in years]) for side in _SIDES])
    known = np.where(np.isnan(known), np.nanmean(known, axis=(0, 1)), known)
    surface = np.array([name for year in years for name in year.cells("surface")])
    first, second, outcome = turned(case.rng(2), winner, loser)
    swap = first == loser
    mine = np.where(swap[:, None], known[1], known[0])
    theirs = np.where(swap[:, None], known[0], known[1])
    scale = known.std(axis=(0, 1))
    ours = Comparisons(len(names), first, second, outcome, judge=surface, covariates=(mine - theirs) / scale)
    about = np.hstack([indicators(surface), np.vstack([numbers(year, ["best_of"]) for year in years])])
    m = len(winner)
    sides = np.vstack([np.hstack([mine, about]), np.hstack([theirs, about])])
    return Contest(ours, Comparisons(sides, np.arange(m), m + np.arange(m), outcome))


_SIDES, _OF_PLAYERS = ("winner", "loser"), ("rank_points", "rank", "age", "ht")


def _players(matches: Table, side: str) -> Any:
    """Return what is known of the players before each match; NaN where it is not."""
    points, rank, age, height = numbers(matches, [f"{side}_{name}" for name in _OF_PLAYERS], gaps=True).T
    unranked = np.isnan(rank)
    left = np.array([hand == "L" for hand in matches.cells(f"{side}_hand")], dtype=float)
    scores = np.where(unranked, 0.0, np.log1p(points)), np.log(np.where(unranked, 2000.0, rank))
    return np.column_stack([*scores, age, height, left])


def _standardised(X: Any) -> Any:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def documents(case: Case) -> list[Ratings]:
    """Return training, validation and test part of one fold of five, or of queries drawn at random; or simulated."""
    if case.folder is None:
        data = make_ltr(60, 12, 8, n_levels=3, random_state=case.random_state).ratings
    else:
        data = _pooled(
            [
                read_svmlight(
                    case.folder / f"rank.{part}.svmlight.gz",
                    n_features=300,
                    query_sizes=case.folder / f"rank.{part}.query",
                    dense=True,
                )
                for part in ("train", "test")
            ]
        )
    assert data.group is not None
    number = np.unique(data.group, return_inverse=True)[1]
    order = case.rng(1).permutation(number.max() + 1)
    cuts = np.searchsorted(np.array([0.6, 0.8]) * len(order), order[number], side="right")
    return [data[np.flatnonzero(cuts == part)] for part in range(3)]


def _pooled(files: list[Ratings]) -> Ratings:
    """Return the rows of files one after the other, groups numbered on."""
    groups: list[Any] = [one.group for one in files]
    starts = np.cumsum([0, *(group.max() + 1 for group in groups[:-1])])
    tables: list[Any] = [one.items for one in files]
    score = np.concatenate([one.score for one in files])
    group = np.concatenate([group + start for group, start in zip(groups, starts, strict=True)])
    return Ratings(np.vstack(tables), score, group=group)


def orders(path: Path) -> tuple[Any, Any]:
    """Return features, standardised, and the place of each label (0: best), of a set of label rankings."""
    table = read_table(path, ["ranking"])
    X = numbers(table, [name for name in table.columns if name != "ranking"])
    cells = table.cells("ranking")
    ranked = {cell: cell.split(">") for cell in cells.distinct}
    labels = sorted(ranked[cells[0]])
    for cell, order in ranked.items():
        if sorted(order) != labels:
            raise unexpected(table, "ranking", cell, f"does not rank {first_few(labels)} as line {table.line[0]} does")
    place = np.array([[order.index(label) for label in labels] for order in ranked.values()])
    return _standardised(X), place[cells.code]


POKEMON = Data(
    "the set of fights of Pokemon",
    "pokemon",
    {"pokemon.csv": 801, "combats.csv.gz": 50_001},
    "It is the Pokemon challenge of terminus7 on Kaggle.",
    "a simulation with circles",
)
CARS = Data(
    "the set of preferences between cars",
    "car_preferences",
    {"prefs1.csv": 2974, "items1.csv": 0, "users1.csv": 61},
    "It is the first experiment of Abbasnejad and others (2013).",
    "a simulation with circles",
)
TENNIS = Data(
    "the set of tennis matches of 2018 and 2019",
    "atp_tennis",
    {"atp_matches_2018.csv.gz": 2898, "atp_matches_2019.csv.gz": 2807},
    "It is in Jeff Sackmann's repository tennis_atp on GitHub.",
    "a simulation with circles",
)
LAMBDARANK = Data(
    "LightGBM's example of ranking",
    "lightgbm_lambdarank",
    {
        "rank.train.svmlight.gz": 3005,
        "rank.test.svmlight.gz": 768,
        "rank.train.query": 201,
        "rank.test.query": 50,
    },
    "It is examples/lambdarank of LightGBM's repository, files renamed to .svmlight and gzipped.",
    "a simulation of graded documents",
)
KEBI_SETS = (
    *("authorship", "bodyfat", "calhousing", "cpu-small", "fried", "glass", "housing", "iris", "pendigits"),
    *("segment", "stock", "vehicle", "vowel", "wine", "wisconsin"),
)
KEBI = Data(
    "the set of label rankings of Cheng and Hüllermeier",
    "label_ranking_kebi",
    {f"{name}.csv{'.gz' if name == 'fried' else ''}": 0 for name in KEBI_SETS},
    "It is on several sites as the KEBI label ranking data: 15 CSV files with a column ranking.",
    "a simulation of label rankings",
)
