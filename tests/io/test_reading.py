"""The front door: every layout that people bring is recognised, and outcomes are read as a person would."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from preflearn.data import Comparisons, Ratings, from_rankings
from preflearn.exceptions import DataError, FileFormatError
from preflearn.io import Reading, read_preferences

# text of the file -> layout, and (first, second, outcome) of each comparison
A, B, C = "ann", "bob", "cy"
LAYOUTS = {
    "winner,loser": ("winner,loser\nann,bob\ncy,ann\n", "winner,loser", [(A, B, 1), (C, A, 1)]),
    "other words for it": ("Chosen;Rejected\nann;bob\n", "chosen,rejected", [(A, B, 1)]),
    "winner_name among others": (
        "winner_id,winner_name,loser_id,loser_name\n7,ann,8,bob\n",
        "winner,loser",
        [(A, B, 1)],
    ),
    "a column of ties": ("winner,loser,tie\nann,bob,0\ncy,ann,1\n", "winner,loser", [(A, B, 1), (C, A, 0)]),
    "sides and side words": (
        "left,right,winner\nann,bob,left\nann,cy,right\nbob,cy,tie\n",
        "left,right,winner",
        [(A, B, 1), (A, C, -1), (B, C, 0)],
    ),
    "sides and names": ("left,right,winner\nann,bob,bob\nann,cy,ann\n", "left,right,winner", [(A, B, -1), (A, C, 1)]),
    "arena": (
        "model_a,model_b,winner\nann,bob,model_a\nann,cy,model_b\nbob,cy,tie (bothbad)\ncy,bob,both_bad\nann,cy,tie\n",
        "model_a,model_b,winner",
        [(A, B, 1), (A, C, -1), (B, C, 0), (C, B, 0), (A, C, 0)],
    ),
    "arena with three columns": (
        "model_a,model_b,winner_model_a,winner_model_b,winner_tie\nann,bob,1,0,0\nann,cy,0,1,0\nbob,cy,0,0,1\n",
        "model_a,model_b,wins",
        [(A, B, 1), (A, C, -1), (B, C, 0)],
    ),
    "crowd label with names": (
        "worker,left,right,label\nw1,ann,bob,ann\nw2,ann,cy,cy\n",
        "left,right,outcome",
        [(A, B, 1), (A, C, -1)],
    ),
    "AlpacaEval": (
        "instruction,generator_1,output_1,generator_2,output_2,preference\n"
        "q,ann,Hello.,bob,Hi.,1\nq,ann,Hello.,cy,Ho.,2.0\nr,cy,No.,bob,Yes.,1.5\n",
        "generator_1,generator_2,outcome",
        [(A, B, 1), (A, C, -1), (C, B, 0)],
    ),
    "Tournesol": (
        "public_username,video_a,video_b,criteria,score,week_date\n"
        "u,ann,bob,reliability,-7,2021-01-04\nu,ann,cy,reliability,10,2021-01-04\nv,bob,cy,reliability,0,2021-01-11\n",
        "video_a,video_b,outcome",
        [(A, B, 1), (A, C, -1), (B, C, 0)],
    ),
    "home and away": (
        "home,away,score_home,score_away\nann,bob,3,1\ncy,ann,0,2\nbob,cy,1,1\n",
        "home,away,scores",
        [(A, B, 1), (C, A, -1), (B, C, 0)],
    ),
    "home_team": (
        "Date,Home_Team,Away Team,home.score,AwayScore\nx,ann,bob,3,10\n",
        "home,away,scores",
        [(A, B, -1)],
    ),
    "team_home": ("team_home,score_home,score_away,team_away\nann,3.0,2.5,bob\n", "home,away,scores", [(A, B, 1)]),
    "goals": ("team1,team2,goals1,goals2\nann,bob,0,4\n", "team1,team2,scores", [(A, B, -1)]),
    "first,second,outcome": (
        "first,second,outcome\nann,bob,1\nann,cy,-2.5\ncy,bob,0\n",
        "first,second,outcome",
        [(A, B, 1), (A, C, -1), (C, B, 0)],
    ),
    "shares of the win": (
        "first,second,outcome\nann,bob,1\nann,cy,0\ncy,bob,0.5\n",
        "first,second,outcome",
        [(A, B, 1), (A, C, -1), (C, B, 0)],
    ),
    "0 and 1": ("first,second,y\nann,bob,1\nann,cy,0\n", "first,second,outcome", [(A, B, 1), (A, C, -1)]),
    "chess": (
        "white,black,result\nann,bob,1-0\nann,cy,0-1\ncy,bob,½-½\nbob,ann,1/2-1/2\n",
        "white,black,outcome",
        [(A, B, 1), (A, C, -1), (C, B, 0), (B, A, 0)],
    ),
    "football letters": (
        "HomeTeam,AwayTeam,FTR\nann,bob,H\nann,cy,A\ncy,bob,D\n",
        "home,away,outcome",
        [(A, B, 1), (A, C, -1), (C, B, 0)],
    ),
    "betting slip": (
        "home,away,result\nann,bob,1\nann,cy,2\ncy,bob,X\n",
        "home,away,outcome",
        [(A, B, 1), (A, C, -1), (C, B, 0)],
    ),
    "win and loss": (
        "player1,player2,result\nann,bob,win\nann,cy,Loss\ncy,bob,draw\n",
        "player1,player2,outcome",
        [(A, B, 1), (A, C, -1), (C, B, 0)],
    ),
    "W, L and D": (
        "home,away,result\nann,bob,W\nann,cy,L\ncy,bob,D\n",
        "home,away,outcome",
        [(A, B, 1), (A, C, -1), (C, B, 0)],
    ),
    "A>B": (
        "item_a,item_b,label\nann,bob,A>B\nann,cy,[[B>>A]]\ncy,bob,A=B\nbob,ann,a<b\n",
        "item_a,item_b,outcome",
        [(A, B, 1), (A, C, -1), (C, B, 0), (B, A, -1)],
    ),
    "remarks above the header": ("# made, by me\n# today\nwinner,loser\nann,bob\n", "winner,loser", [(A, B, 1)]),
    "sides 1 and 2": ("item1,item2,winner\nann,bob,1\nann,cy,2\n", "item1,item2,winner", [(A, B, 1), (A, C, -1)]),
    "results": ("home,away,score\nann,bob,2:1\nann,cy,0 - 3\n", "home,away,outcome", [(A, B, 1), (A, C, -1)]),
    "counts of wins": (
        "team_a,team_b,wins_a,wins_b,ties\nann,bob,3,1,0\nann,cy,0,2,4\n",
        "team_a,team_b,wins",
        [(A, B, 1), (A, B, -1), (A, C, -1), (A, C, 0)],
    ),
    "a winner and scores that agree": (
        "home,away,home_score,away_score,winner\nann,bob,2,1,ann\ncy,ann,1,1,draw\n",
        "home,away,winner,scores",
        [(A, B, 1), (C, A, 0)],
    ),
    "names that are numbers": (
        "First_pokemon,Second_pokemon,Winner\n266,298,298\n702,701,702\n",
        "first,second,winner",
        [("266", "298", -1), ("702", "701", 1)],
    ),
    "places": ("1,2,3\nann,bob,cy\ncy,ann,\n", "ranking (places)", [(A, B, 1), (A, C, 1), (B, C, 1), (C, A, 1)]),
    "first,second,third": ("first,second,third\nann,bob,cy\n", "ranking (places)", [(A, B, 1), (A, C, 1), (B, C, 1)]),
    "rank1": ("rank1;rank2;rank3\nann;bob;cy\n", "ranking (places)", [(A, B, 1), (A, C, 1), (B, C, 1)]),
    "text rankings": ("voter,ranking\nv,ann > bob = cy\n", "ranking (text)", [(A, B, 1), (A, C, 1), (B, C, 0)]),
    "one column of rankings": ("vote\nann>bob\ncy>ann\n", "ranking (text)", [(A, B, 1), (C, A, 1)]),
    "long rankings": (
        "race,driver,place\nr1,bob,2\nr1,ann,1\nr2,cy,1\nr2,ann,2\nr2,bob,2\n",
        "ranking (item,place)",
        [(A, B, 1), (C, A, 1), (C, B, 1), (A, B, 0)],
    ),
    "json lines": (
        '{"winner": "ann", "loser": "bob"}\n\n{"loser": "ann", "winner": "cy"}\n',
        "winner,loser",
        [(A, B, 1), (C, A, 1)],
    ),
    "json list": ('[{"left": "ann", "right": "bob", "winner": "right"}]', "left,right,winner", [(A, B, -1)]),
    "json rankings": (
        '{"ranking": ["ann", "bob"]}\n{"ranking": ["cy", "bob"]}',
        "ranking (text)",
        [(A, B, 1), (C, B, 1)],
    ),
    "tabs": ("winner\tloser\r\nann\tbob\r\n", "winner,loser", [(A, B, 1)]),
    "bars": ("winner|loser\nann|bob\n\n", "winner,loser", [(A, B, 1)]),
    "old line ends": ("winner,loser\rann,bob\r", "winner,loser", [(A, B, 1)]),
    "a mark before the text": ("\ufeffwinner,loser\nann,bob\n", "winner,loser", [(A, B, 1)]),
    "sep= of spreadsheets": ("sep=;\nwinner;loser\nann;bob\n", "winner,loser", [(A, B, 1)]),
    "quotes and new lines": ('winner,loser,"a, note"\nann,bob,"two\nlines"\n', "winner,loser", [(A, B, 1)]),
    "empty rows of spreadsheets": ("winner,loser\nann,bob\n,\n,\n", "winner,loser", [(A, B, 1)]),
    "true and false": (
        "first,second,result\nann,bob,True\nann,cy,False\n",
        "first,second,outcome",
        [(A, B, 1), (A, C, -1)],
    ),
    "decimal commas": (
        "first;second;outcome\nann;bob;1,5\nann;cy;-0,5\n",
        "first,second,outcome",
        [(A, B, 1), (A, C, -1)],
    ),
}
PREFLIB = (
    "# FILE NAME: x.toc\n# ALTERNATIVE NAME 1: ann\n# ALTERNATIVE NAME 2: bob\n# ALTERNATIVE NAME 3: cy\n"
    "3: 1,{2,3}\n2: 3,1\n"
)
OLD_PREFLIB = "3\n1,ann\n2,bob\n3,cy\n5,5,2\n3,1,{2,3}\n2,3,1\n"


def write(folder: Path, content: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def statements(data: Comparisons | Ratings) -> list[tuple[object, object, float]]:
    assert isinstance(data, Comparisons)
    assert data.names is not None
    return list(zip(data.names[data.first], data.names[data.second], data.outcome.tolist(), strict=True))


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_recognised_and_read(name: str, tmp_path: Path) -> None:
    text, layout, wanted = LAYOUTS[name]
    reading = read_preferences(write(tmp_path, text))
    assert reading.layout == layout
    assert statements(reading.data) == wanted
    assert reading.source.endswith("data.csv")
    assert "data.csv" in reading.notes[0]
    assert reading.notes[1].startswith("Outcomes: ")
    assert all(sentence.endswith(".") for sentence in reading.notes)


FOR_FILES = ("rankings", "quotes", "bars", "remarks", "json", "sep=", "mark")  # what frames cannot be


@pytest.mark.parametrize("name", [name for name in LAYOUTS if not any(word in name for word in FOR_FILES)])
def test_a_frame_reads_as_its_file_does(name: str, tmp_path: Path) -> None:
    text, layout, wanted = LAYOUTS[name]
    sep = ";" if ";" in text.split("\n")[0] else "\t" if "\t" in text else ","
    frame = pd.read_csv(io.StringIO(text), sep=sep, dtype=str if "numbers" in name else None).dropna(how="all")
    for given in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)):
        reading = read_preferences(given)
        assert (reading.layout, statements(reading.data)) == (layout, wanted)
    parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "data.parquet")
    assert statements(read_preferences(tmp_path / "data.parquet").data) == wanted


def test_counts_of_wins_are_weights(tmp_path: Path) -> None:
    reading = read_preferences(write(tmp_path, LAYOUTS["counts of wins"][0]))
    np.testing.assert_array_equal(reading.data.weight, [3, 1, 2, 4])
    assert 'First ("team_a") won 3, second ("team_b") 3, ties 4' in reading.notes[1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("votes.toc", PREFLIB),
        ("votes.toi", OLD_PREFLIB),
        ("votes.txt", PREFLIB),
        ("v.toc.gz", gzip.compress(PREFLIB.encode(), mtime=0)),
    ],
)
def test_preflib_files_are_rankings_with_counts(name: str, text: str | bytes, tmp_path: Path) -> None:
    reading = read_preferences(write(tmp_path, text, name))
    assert statements(reading.data) == [(A, B, 1), (A, C, 1), (B, C, 0), (C, A, 1)]
    np.testing.assert_array_equal(reading.data.weight, [3, 3, 3, 2])
    np.testing.assert_array_equal(reading.data.group, [0, 0, 0, 1])
    assert reading.layout.startswith("preflib")
    assert "5 in total" in reading.notes[1]


def test_all_alternatives_of_a_preflib_file_are_items(tmp_path: Path) -> None:
    text = PREFLIB.replace("3: 1,{2,3}\n", "")
    assert read_preferences(write(tmp_path, text, "v.soi")).data.n_items == 3


def test_rankings_give_the_pairs_of_from_rankings(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    votes = [list(rng.permutation(["a", "b", "c", "d", "e"])) for _ in range(20)]
    text = "ranking\n" + "\n".join(" > ".join(vote) for vote in votes)
    found = read_preferences(write(tmp_path, text)).data
    wanted = from_rankings(votes)
    assert statements(found) == statements(wanted)
    np.testing.assert_array_equal(found.group, wanted.group)


def test_huge_rankings_keep_neighbours_only_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preflearn.io.ranking_tables.MOST_PAIRS", 5)
    reading = read_preferences(write(tmp_path, "ranking\na > b > c > d\n"))
    assert len(reading.data) == 3
    assert "neighbouring places only" in reading.notes[1]


def test_svmlight_gives_ratings(tmp_path: Path) -> None:
    text = "2 qid:1 1:0.5\n0 qid:1 2:1\n"
    for content in (text.encode(), gzip.compress(text.encode(), mtime=0), text.encode("utf-16")):
        reading = read_preferences(write(tmp_path, content, "train.txt"))
        assert isinstance(reading.data, Ratings)
        np.testing.assert_array_equal(reading.data.score, [2, 0])
    assert reading.layout == "svmlight"
    assert "no line has a qid" in read_preferences(write(tmp_path, "1 1:2\n0 1:1\n", "t.svm")).notes[0]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_marked_encodings_are_read(encoding: str, tmp_path: Path) -> None:
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    data = read_preferences(write(tmp_path, (mark + "winner,loser\nzwölf,ann\n").encode(encoding))).data
    assert statements(data) == [("zwölf", "ann", 1)]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"winner,loser\nann,bob\n")))
    reading = read_preferences("-")
    assert reading.source == "standard input"
    assert len(reading.data) == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"winner,loser\nann,ann\n")))
    with pytest.raises(FileFormatError, match="standard input, line 2"):
        read_preferences("-")
    with pytest.raises(DataError, match="cannot be both"):
        read_preferences("-", "-")


def test_named_columns_come_before_what_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, "winner,loser,p,q,r\nann,bob,cy,ann,-1\n")
    assert statements(read_preferences(path, columns="winner=loser,loser=winner").data) == [(B, A, 1)]
    for columns in ("first=p,second=q,outcome=r", {"first": "P", "second": "q", "outcome": "r"}):
        reading = read_preferences(path, columns=columns)
        assert statements(reading.data) == [(C, A, -1)]
        assert reading.columns == {"first": "p", "second": "q", "outcome": "r"}


def test_labels_are_found_and_named(tmp_path: Path) -> None:
    text = "winner,loser,Worker_ID,count,query,when\nann,bob,w1,2,q,x\ncy,bob,w2,1.5,q,y\n"
    reading = read_preferences(write(tmp_path, text))
    np.testing.assert_array_equal(reading.data.judge, ["w1", "w2"])
    np.testing.assert_array_equal(reading.data.weight, [2, 1.5])
    np.testing.assert_array_equal(reading.data.group, ["q", "q"])
    assert any('Not used: "when"' in sentence for sentence in reading.notes)
    again = read_preferences(tmp_path / "data.csv", columns="group=when,judge=query")
    np.testing.assert_array_equal(again.data.group, ["x", "y"])
    np.testing.assert_array_equal(again.data.judge, ["q", "q"])


def test_names_come_before_words_for_sides_and_ties(tmp_path: Path) -> None:
    text = "left,right,winner\nright,left,left\nright,tie,tie\nright,ann,right\n"
    assert statements(read_preferences(write(tmp_path, text)).data) == [
        ("right", "left", -1),
        ("right", "tie", -1),
        ("right", "ann", 1),
    ]


def test_the_exact_word_for_a_role_comes_first(tmp_path: Path) -> None:
    text = "winner,loser,count,weight\nann,bob,7,2\ncy,bob,8,3\n"
    np.testing.assert_array_equal(read_preferences(write(tmp_path, text)).data.weight, [2, 3])


def test_weights_and_judges_of_rankings_are_those_of_their_pairs(tmp_path: Path) -> None:
    data = read_preferences(write(tmp_path, "voter,ranking,count\nu,a > b,5\nv,c > a > b,2\n")).data
    np.testing.assert_array_equal(data.weight, [5, 2, 2, 2])
    np.testing.assert_array_equal(data.judge, ["u", "v", "v", "v"])


def test_lower_wins_and_margins(tmp_path: Path) -> None:
    path = write(tmp_path, "first,second,score1,score2\nann,bob,70,68\ncy,bob,68,68\n")
    np.testing.assert_array_equal(read_preferences(path).data.outcome, [1, 0])
    np.testing.assert_array_equal(read_preferences(path, lower_wins=True).data.outcome, [-1, 0])
    np.testing.assert_array_equal(read_preferences(path, margins=True).data.outcome, [2, 0])
    np.testing.assert_array_equal(read_preferences(path, lower_wins=True, margins=True).data.outcome, [-2, 0])
    graded = write(tmp_path, "first,second,outcome\nann,bob,2.5\ncy,bob,-0.5\n", "graded.csv")
    np.testing.assert_array_equal(read_preferences(graded, margins=True).data.outcome, [2.5, -0.5])


def test_pairs_to_predict_need_no_outcomes(tmp_path: Path) -> None:
    path = write(tmp_path, "first,second\nann,bob\n")
    reading = read_preferences(path, need_outcomes=False)
    assert statements(reading.data) == [(A, B, 0)]
    assert "pairs to predict" in reading.notes[1]


@pytest.mark.parametrize(
    "text",
    [
        "winner,loser,kind\na,b,x\nb,a,\nb,c,NA\n",
        "ranking,kind\na>b,x\nb>a,\nb>c,NA\n",
    ],
)
def test_rows_without_a_category_can_be_dropped(text: str) -> None:
    table = pd.read_csv(io.StringIO(text), keep_default_na=False)
    with pytest.raises(DataError, match=r'category \(column "kind"\) is empty \(1 of 3 rows\).*missing="drop"'):
        read_preferences(table, by="kind")
    reading = read_preferences(table, by="kind", missing="drop")
    assert reading.by.tolist() == ["x", "NA"]
    assert "Dropped: 1 of 3 rows with an empty cell." in reading.notes
    assert len(read_preferences(table).data) == 3


def test_rows_can_be_dropped_and_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "winner,loser\nann,bob\n,ann\ncy,cy\nbob,cy\n")
    reading = read_preferences(path, missing="drop", self_comparisons="drop")
    assert statements(reading.data) == [(A, B, 1), (B, C, 1)]
    assert "Dropped: 1 of 4 rows with an empty cell." in reading.notes
    assert "Dropped: 1 of 3 comparisons of an item with itself." in reading.notes


@pytest.mark.parametrize("name", ["sides and names", "home and away", "a winner and scores that agree"])
def test_swapping_the_sides_flips_the_outcome(name: str, tmp_path: Path) -> None:
    plain = read_preferences(write(tmp_path, LAYOUTS[name][0]))
    other = {"first": "second", "second": "first", "score_first": "score_second", "score_second": "score_first"}
    columns = {other.get(role, role): column for role, column in plain.columns.items()}
    swapped = read_preferences(tmp_path / "data.csv", columns=columns)
    assert statements(swapped.data) == [(b, a, -y) for a, b, y in statements(plain.data)]


def test_names_of_a_frame_keep_their_kind() -> None:
    frame = pd.DataFrame({"first": [1, 2], "second": [2, 3], "winner": [1.0, 3.0]})
    data = read_preferences(frame).data
    assert data.names.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(data.outcome, [1, -1])
    gap = pd.DataFrame({"winner": [1.0, None, 3.0], "loser": [2, 2, 1]})
    assert read_preferences(gap, missing="drop").data.names.tolist() == [1, 2, 3]


def test_a_reading_speaks() -> None:
    frame = pd.DataFrame({"winner": ["ann"], "loser": ["bob"]})
    reading = read_preferences(frame)
    assert isinstance(reading, Reading)
    assert str(reading) == "\n".join(reading.notes)
    assert json.dumps(reading.columns)


def test_numbers_of_the_rows_are_no_weights(tmp_path: Path) -> None:
    assert read_preferences(write(tmp_path, "n,winner,loser\n1,a,b\n2,b,c\n3,c,a\n")).data.weight is None
    counted = read_preferences(write(tmp_path, "n,winner,loser\n1,a,b\n5,b,c\n3,c,a\n")).data.weight
    np.testing.assert_array_equal(counted, [1, 5, 3])


def test_decimal_commas_are_said(tmp_path: Path) -> None:
    reading = read_preferences(write(tmp_path, "winner;loser;weight\na;b;1,5\nb;c;2\n"))
    np.testing.assert_array_equal(reading.data.weight, [1.5, 2])
    assert reading.notes[-1] == 'Commas in "weight" were read as decimal points.'


@pytest.mark.slow
def test_a_mistake_in_the_last_of_a_million_lines_is_named(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    path.write_text("left,right,winner\n" + "ann,bob,left\ncy,bob,right\n" * 500_000 + "ann,bob,cy\n")
    with pytest.raises(FileFormatError, match=r'big.csv, line 1000002: winner "cy" is neither "ann" nor "bob"'):
        read_preferences(path)


def test_the_strength_of_a_verdict_is_used_as_a_margin_or_said_to_be_lost():
    table = {"item_a": ["ann", "ann", "cy", "bob"], "item_b": ["bob", "cy", "bob", "ann"]}
    graded = table | {"label": ["A>B", "[[B>>A]]", "A=B", "b<<a"]}
    plain = read_preferences(graded)
    np.testing.assert_array_equal(plain.data.outcome, [1, -1, 0, 1])
    assert any(">> counts like >: only the side is used" in note for note in plain.notes)
    kept = read_preferences(graded, margins=True)
    np.testing.assert_array_equal(kept.data.outcome, [1, -2, 0, 2])
    assert any(">> counts 2 and > counts 1, kept as margins" in note for note in kept.notes)
    named = read_preferences(table | {"label": ["A>>B", "cy", "tie", "ann"]}, margins=True)
    np.testing.assert_array_equal(named.data.outcome, [2, -1, 0, -1])
    assert not any(">>" in note for note in read_preferences(table | {"label": ["A>B", "B>A", "A==B", "b<a"]}).notes)
