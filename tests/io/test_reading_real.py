"""Real files are read as their descriptions say, with at most the names of some columns given."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from preflearn.data import Comparisons, Ratings
from preflearn.exceptions import DataError, FileFormatError
from preflearn.io import read_preferences

pytestmark = pytest.mark.data
BT = "bradleyterry2_other"

# name -> (file, items, options, layout, comparisons, items, features, first won, second won, ties (by weight))
FILES: dict[str, tuple[str, str | None, dict[str, Any], str, tuple[int, int, int], tuple[float, float, float]]] = {
    "chameleons": (
        *("chameleons/contests_bradleyterry2.csv", "chameleons/predictors.csv", {}, "winner,loser"),
        *((106, 35, 7), (106, 0, 0)),
    ),
    "chameleons, unnamed": (
        *("chameleons/matches.csv", "chameleons/predictors.csv", {"columns": "winner=ID,loser=ID.1"}, "winner,loser"),
        *((106, 35, 7), (106, 0, 0)),
    ),
    "flatlizards": (
        *("flatlizards/contest.csv", "flatlizards/predictors.csv", {}, "winner,loser"),
        *((100, 77, 19), (100, 0, 0)),
    ),
    "nfl": (
        *("nfl_2000_2018/matches_2009.csv", "nfl_2000_2018/stats_2009.csv", {}, "home,away,scores"),
        *((267, 32, 19), (153, 114, 0)),
    ),
    "nfl with a damaged column": (
        "nfl_2000_2018/matches_2016.csv",
        "nfl_2000_2018/stats_2016.csv",
        {"columns": "without=ToP/G"},
        "home,away,scores",
        (267, 32, 18),
        (156, 109, 2),
    ),
    "nfl, authors": (
        *("nfl_2000_2018/authors_comparisons.csv", None, {"columns": "outcome=c"}, "team_i,team_j,outcome"),
        *((3983, 34, 0), (1933, 2050, 0)),
    ),
    "cars": (
        "car_preferences/prefs1.csv",
        "car_preferences/items1.csv",
        {"columns": "winner=Item1_ID,loser=Item2_ID"},
        "winner,loser",
        (2973, 10, 4),
        (2973, 0, 0),
    ),
    "baseball": (f"{BT}/baseball.csv", None, {}, "home,away,wins", (80, 7, 0), (154, 119, 0)),
    "cems": (
        f"{BT}/cems_preferences.csv",
        f"{BT}/cems_schools.csv",
        {"columns": "judge=student", "missing": "drop"},
        "school1,school2,wins",
        (4454, 6, 7),
        (2595, 1372, 487),
    ),
    "football": (f"{BT}/football.csv", None, {}, "home,away,outcome", (1900, 29, 0), (882, 513, 505)),
    "ice hockey": (
        *(f"{BT}/icehockey.csv", None, {"columns": "first=visitor,second=opponent"}, "visitor,opponent,outcome"),
        *((1083, 58, 0), (366, 592, 125)),
    ),
    "sound fields": (
        f"{BT}/soundfields_comparisons.csv",
        f"{BT}/soundfields_design.csv",
        {"columns": "first=field1,second=field2"},
        "field1,field2,wins",
        (208, 8, 3),
        (299, 134, 127),
    ),
    "springall": (
        f"{BT}/springall_contests.csv",
        f"{BT}/springall_predictors.csv",
        {"columns": "first=row,second=col,wins_first=win,wins_second=loss"},
        "row,col,wins",
        (102, 9, 5),
        (411, 276, 198),
    ),
    "nascar": (
        *("plackettluce/nascar_orderings.csv", "plackettluce/nascar_drivers.csv", {}, "ranking (places)"),
        *((36 * 903, 87, 0), (36 * 903, 0, 0)),
    ),
    "shirts": ("preflib_small/shirt_00012-00000001.soc", None, {}, "preflib soc", (1650, 11, 0), (1650, 0, 0)),
    "dots": ("preflib_small/dots_00024-00000001.soc", None, {}, "preflib soc", (144, 4, 0), (6 * 795, 0, 0)),
    "tennis": ("atp_tennis/atp_matches_2018.csv.gz", None, {}, "winner,loser", (2897, 419, 5), (2897, 0, 0)),
    "pokemon": (
        *("pokemon/combats.csv.gz", "pokemon/pokemon.csv", {}, "first,second,winner"),
        *((50000, 800, 44), (23601, 26399, 0)),
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_is_read_as_described(name: str, data_dir: Path) -> None:
    file, items, options, layout, shape, results = FILES[name]
    reading = read_preferences(data_dir / file, None if items is None else data_dir / items, **options)
    data = reading.data
    assert isinstance(data, Comparisons)
    assert reading.layout == layout
    assert (len(data), data.n_items, data.n_features) == shape
    weight = np.ones(len(data)) if data.weight is None else data.weight
    assert tuple(weight[np.sign(data.outcome) == sign].sum() for sign in (1, -1, 0)) == results


@pytest.mark.parametrize("year", range(2000, 2019))
def test_all_years_of_football_are_read(year: int, data_dir: Path) -> None:
    folder = data_dir / "nfl_2000_2018"
    reading = read_preferences(folder / f"matches_{year}.csv", folder / f"stats_{year}.csv", columns="without=ToP/G")
    with (folder / f"matches_{year}.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    margin = [float(row["score_home"]) - float(row["score_away"]) for row in rows]
    np.testing.assert_array_equal(reading.data.outcome, np.sign(margin))
    assert list(reading.data.names[reading.data.first]) == [row["team_home"] for row in rows]


def test_search_results_are_ratings(data_dir: Path) -> None:
    reading = read_preferences(data_dir / "letor_ohsumed" / "S1.txt.gz")
    assert isinstance(reading.data, Ratings)
    assert (len(reading.data), reading.data.n_features, reading.data.n_groups) == (3383, 25, 22)


@pytest.mark.slow
def test_judgements_of_photos_need_one_row_each(data_dir: Path) -> None:
    path = data_dir / "crowd_photo" / "Photo.csv.gz"
    with pytest.raises(FileFormatError, match="header is missing"):
        read_preferences(path)
    with gzip.open(path, "rt") as handle:
        rows = [line.rstrip("\n").split(",") for line in handle]
    long = [(int(row[0]), int(row[1]), float(value)) for row in rows for value in row[3:]]
    frame = pl.DataFrame(long, schema=["left", "right", "label"], orient="row")
    with pytest.raises(DataError, match="does a positive number mean"):
        read_preferences(frame)
    reading = read_preferences(frame, outcomes="first=positive")
    assert (len(reading.data), reading.data.n_items) == (339203, 200)
    np.testing.assert_array_equal(reading.data.outcome, np.sign(frame["label"].to_numpy()))
