"""A garbled cell in a data set of the right length is named: file, line and what to do."""

import gzip
from functools import partial
from types import MappingProxyType

import numpy as np
import pytest

from fast_share import each
from preflearn.exceptions import DataError
from preflearn.reproduce import Case, Column, Data, Experiment, Run, reproduce
from preflearn.reproduce.data_tables import bare_numbers
from preflearn.reproduce.papers import contests, item_pairs, labels
from preflearn.reproduce.studies import judges, peer_data


def of_case(read, folder):
    return read(Case(0, 0, MappingProxyType({}), folder))


def of_file(read, name, folder):
    return read(folder / name)


CHAMELEONS = {
    "matches.csv": '"","ID","ID.1"\n"1","A","B"\n"2","B","C"\n',
    "predictors.csv": '"","size","weight"\n"A",1,2\n"B",2,4\n"C",3,1\n',
}
LIZARDS = {
    "contest.csv": '"","winner","loser"\n"1","A","B"\n"2","B","C"\n',
    "predictors.csv": '"","id","size","repro.tactic"\n"A","1",2,"floater"\n"B","2",NA,NA\n"C","3",5,"resident"\n',
}
SEASON = {
    "stats_2001.csv": "Rk,Team,G,Pts/G,ToP/G\n1,Rams,16,33.8,x\n2,Colts,16,20,x\nOther Links,,,,\n",
    "authors_comparisons.csv": "year,team_i,team_j,c\n2000,Rams,Jets,1\n2001,Rams,Colts,1\n2001,Colts,Rams,-1\n",
}
CARS = {
    "prefs1.csv": "User_ID,Item1_ID,Item2_ID, Is Control\n1,2,1,0\n2,1,2,0\n1,2,1,1\n",
    "items1.csv": "Item_ID,Body,Engine\n1,1,2.5\n2,2,3.5\n",
    "users1.csv": "User ID,Education,Age,Gender,Region,# Correct Controls\n1,1,2,1,1,3\n2,3,1,2,2,4\n",
}
POKEMON = {
    "pokemon.csv": "#,Type 1,Type 2,HP,Attack,Defense,Sp. Atk,Sp. Def,Speed,Generation,Legendary\n"
    "1,Fire,,45,49,49,65,65,45,1,False\n2,Water,Fire,60,62,63,80,80,60,1,True\n",
    "combats.csv.gz": "First_pokemon,Second_pokemon,Winner\n1,2,2\n2,1,2\n",
}
_COLUMNS = [f"{side}_{name}" for side in ("winner", "loser") for name in ("id", "hand", "rank", "rank_points", "age")]
_MATCH = "{},L,{},900,30.1,{},R,,,25.5,hard,3,180,185\n"
MATCHES = (
    f"{','.join(_COLUMNS)},surface,best_of,winner_ht,loser_ht\n" + _MATCH.format(7, 12, 8) + _MATCH.format(8, 3, 9)
)
TENNIS = {f"atp_matches_{year}.csv.gz": MATCHES for year in (2018, 2019)}
KEBI = {"iris.csv": "A1,A2,ranking\n1,2,a>b>c\n2,2,b>c>a\n3,1,a>b>c\n"}
PAIRS = {"few.csv": "Sex,size,class\nM,1,2\nF,2,5\nF,3,4\nM,1,1\nF,1,3\n"}
CLASSES = {"waveform21.csv": "x1,class\n1,0\n2,1\n3,2\n4,1\n5,0\n6,2\n7,1\n"}

# What reads, which files, and what is garbled: the file, the line (1 is the first), from, to.
GARBLED = {
    "feature": (contests.chameleons, CHAMELEONS, ("predictors.csv", 3, ",4", ",4o")),
    "empty": (contests.chameleons, CHAMELEONS, ("predictors.csv", 2, ",1,", ",,")),
    "infinite": (contests.chameleons, CHAMELEONS, ("predictors.csv", 2, ",1,", ",inf,")),
    "name": (contests.chameleons, CHAMELEONS, ("matches.csv", 3, "B", "8")),
    "cells of a line": (contests.chameleons, CHAMELEONS, ("matches.csv", 3, "B", '","')),
    "lizard": (partial(contests.lizards, tactic=False), LIZARDS, ("predictors.csv", 2, ",2,", ",2..1,")),
    "tactic": (partial(contests.lizards, tactic=True), LIZARDS, ("predictors.csv", 4, "resident", "residnt")),
    "team": (partial(contests.season, year=2001), SEASON, ("authors_comparisons.csv", 4, "Rams", "Ramz")),
    "points": (partial(contests.season, year=2001), SEASON, ("stats_2001.csv", 3, "20", "2O")),
    "winner": (partial(contests.season, year=2001), SEASON, ("authors_comparisons.csv", 3, ",1", ",?")),
    "user": (judges.load, CARS, ("prefs1.csv", 2, "1,", "11,")),
    "user of peers": (partial(of_case, peer_data.cars), CARS, ("prefs1.csv", 2, "1,", "11,")),
    "car": (judges.load, CARS, ("prefs1.csv", 3, "2,0", "3,0")),
    "engine": (partial(of_case, peer_data.cars), CARS, ("items1.csv", 3, "3.5", "3,5")),
    "fight": (partial(of_case, peer_data.pokemon), POKEMON, ("combats.csv.gz", 3, "2,1", "2,l")),
    "legendary": (partial(of_case, peer_data.pokemon), POKEMON, ("pokemon.csv", 3, "True", "Tru")),
    "speed": (partial(of_case, peer_data.pokemon), POKEMON, ("pokemon.csv", 2, "45,1", "4 5,1")),
    "rank": (partial(of_case, peer_data.tennis), TENNIS, ("atp_matches_2019.csv.gz", 3, "900", "9OO")),
    "ranking": (partial(of_file, peer_data.orders, "iris.csv"), KEBI, ("iris.csv", 3, "c>a", "d>a")),
    "short ranking": (partial(of_file, peer_data.orders, "iris.csv"), KEBI, ("iris.csv", 3, "c>a", "a")),
    "target": (partial(of_file, item_pairs.load, "few.csv"), PAIRS, ("few.csv", 4, ",4", ",four")),
    "word": (partial(of_file, item_pairs.load, "few.csv"), PAIRS, ("few.csv", 4, "F", "P")),
    "word of numbers": (partial(of_file, item_pairs.load, "few.csv"), PAIRS, ("few.csv", 4, "F", "7")),
    "class": (partial(labels.load, name="Waveform"), CLASSES, ("waveform21.csv", 5, ",1", ",l")),
    "number of a class": (partial(labels.load, name="Waveform"), CLASSES, ("waveform21.csv", 5, "4", "4x")),
    "header": (partial(labels.load, name="Waveform"), CLASSES, ("waveform21.csv", 1, "class", "clas")),
}


def write(folder, files):
    for name, text in files.items():
        opened = gzip.open if name.endswith(".gz") else open
        with opened(folder / name, "wb") as stream:
            stream.write(text if isinstance(text, bytes) else text.encode())


@each("name", GARBLED)
def test_a_garbled_cell_is_named_with_its_line(name, tmp_path):
    read, files, (file, line, old, new) = GARBLED[name]
    folder = tmp_path / name
    folder.mkdir()
    write(folder, files)
    read(folder)  # as it should be
    rows = files[file].splitlines(keepends=True)
    assert old in rows[line - 1], "the test garbles nothing"
    rows[line - 1] = rows[line - 1].replace(old, new, 1)
    write(folder, {file: "".join(rows)})
    with pytest.raises(DataError) as found:
        read(folder)
    message = str(found.value)
    assert file in message
    where = {"word of numbers": 2, "header": None, "class": 5}.get(name, line)  # the first word where numbers stand
    assert where is None or f"line {where}" in message, message


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    write(tmp_path, SEASON)
    plain = contests.season(tmp_path, 2001)
    write(tmp_path, {"stats_2001.csv": b"\xef\xbb\xbf" + SEASON["stats_2001.csv"].encode()})
    marked = contests.season(tmp_path, 2001)
    assert plain.X.shape == marked.X.shape == (2, 1), "Rk, Team, G and ToP/G are no features"


@pytest.mark.parametrize(
    ("text", "line"),
    [("1,2\n3,4\n5,x\n", 3), ("1,2\n3\n", 2), ("1,2\n3,\n", 2), ("1,2\n3,nan\n", 2)],
    ids=["word", "too few", "empty", "no number"],
)
def test_a_garbled_line_without_header_is_named(text, line, tmp_path):
    write(tmp_path, {"edge.csv.gz": text})
    with pytest.raises(DataError, match=rf"edge\.csv\.gz, line {line}: .* Get the file again"):
        bare_numbers(tmp_path / "edge.csv.gz")
    (tmp_path / "edge.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 9000)[:-20])
    with pytest.raises(DataError, match=r"edge\.csv\.gz: .* Get the file again"):
        bare_numbers(tmp_path / "edge.csv.gz")


def read_chameleons(case):
    found = contests.chameleons(case.folder)
    return [{"row": "one", "items": float(len(found.X)), "wins": float(np.sum(found.winner == 0))}]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_runner_passes_it_on_from_its_processes(tmp_path, jobs):
    data = Data("the set", "set", {"matches.csv": 3, "predictors.csv": 4}, "It is here.", "nothing")
    one = Experiment(
        "read", "Read", "nowhere", [Run("read", read_chameleons, 4, 0.1, data=data)], [Column("items"), Column("wins")]
    )
    folder = tmp_path / "data" / "set"
    folder.mkdir(parents=True)
    write(folder, {**CHAMELEONS, "matches.csv": CHAMELEONS["matches.csv"].replace("C", "D")})
    with pytest.raises(DataError, match=r'matches\.csv, line 3: .*"D".* Get the file again'):
        reproduce(one, tmp_path / "out", data=tmp_path / "data", jobs=jobs)
    write(folder, CHAMELEONS)
    assert reproduce(one, tmp_path / "out", data=tmp_path / "data", jobs=jobs).cell("one", "items").mean == 3
