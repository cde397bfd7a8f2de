"""Words for those who judge, and the quote that keeps spreadsheets from running a cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from preflearn import Comparisons
from preflearn.data import from_frame
from preflearn.data.comparisons import LABELS
from preflearn.data.join import concatenate
from preflearn.exceptions import FileFormatError
from preflearn.files.tabular import fields_of
from preflearn.io import read_preferences
from preflearn.io.export import safe_cell, write_table

JUDGES = (
    *("judge", "worker", "annotator", "rater", "user", "voter", "assessor", "evaluator", "reviewer", "respondent"),
    *("participant", "labeler", "labeller", "person", "student", "expert", "grader", "teacher", "subject", "customer"),
    *("Student ID", "rater_no", "expert_name", "annotator-id", "Evaluator Code", "rated_by", "labelled by"),
)


def write(folder: Path, text: str) -> Path:
    path = folder / "m.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize("title", JUDGES)
def test_columns_that_are_called_so_hold_judges(title: str, tmp_path: Path) -> None:
    reading = read_preferences(write(tmp_path, f"{title},winner,loser\ns1,a,b\ns2,b,c\n"))
    assert reading.columns["judge"] == title
    np.testing.assert_array_equal(reading.data.judge, ["s1", "s2"])


@pytest.mark.parametrize(
    ("title", "columns"), [("cluster", None), ("Cluster ID", None), ("prompt_id", None), ("prompt", "cluster=prompt")]
)
def test_a_column_of_clusters_is_found_or_named(title: str, columns: str | None, tmp_path: Path) -> None:
    reading = read_preferences(write(tmp_path, f"{title},winner,loser\np1,a,b\np1,b,c\np2,c,a\n"), columns=columns)
    assert f'Clusters: column "{title}", 2 of them.' in reading.notes
    np.testing.assert_array_equal(reading.data.cluster, ["p1", "p1", "p2"])
    ranked = read_preferences(write(tmp_path, f"{title},ranking\np1,a > b\np2,b > c\n"), columns=columns)
    np.testing.assert_array_equal(ranked.data.cluster, ["p1", "p2"])


@pytest.mark.parametrize("label", LABELS)
def test_a_label_is_read_cut_joined_and_saved(label: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"{label},winner,loser\nx,a,b\ny,b,c\n")
    reading = read_preferences(path)
    assert reading.columns[label] == label
    assert f'{label.capitalize()}s: column "{label}", 2 of them.' in reading.notes
    assert read_preferences(path, columns={label: label}).columns == reading.columns
    framed = from_frame(pd.read_csv(path), first="winner", second="loser", **{label: label})
    built = Comparisons(None, ["a", "b"], ["b", "c"], **{label: ["x", "y"]})
    for data in (reading.data, framed, built):
        assert label in repr(data)
        assert getattr(data, label).tolist() == ["x", "y"]
        assert getattr(data[1:], label).tolist() == ["y"]
        assert getattr(concatenate(data, data), label).tolist() == ["x", "y", "x", "y"]
        assert fields_of(data)[label].tolist() == ["x", "y"]
        assert len(concatenate(data, data.swapped()).merged()) == 2
        assert len(data._take(slice(None), first=data.first[[0, 0]], second=data.second[[0, 0]]).merged()) == 2


@pytest.mark.parametrize("cells", [("yes", "no"), ("1", "0"), ("TRUE", "TRUE"), ("ann", "")])
def test_what_somebody_is_does_not_say_who(cells: tuple[str, str], tmp_path: Path) -> None:
    one, other = cells
    reading = read_preferences(write(tmp_path, f"expert,winner,loser\n{one},a,b\n{other},b,c\n"))
    assert reading.data.judge is None
    assert 'Not used: "expert".' in reading.notes


@pytest.mark.parametrize(
    ("titles", "taken"),
    [
        ("annotator_name,annotator_id", "annotator_id"),
        ("rater_id,rater", "rater"),
        ("customer,worker", "worker"),
        ("user,judge", "judge"),
    ],
)
def test_the_same_person_twice_is_one_judge(titles: str, taken: str, tmp_path: Path) -> None:
    reading = read_preferences(write(tmp_path, f"{titles},winner,loser\nx,y,a,b\nz,w,b,c\n"))
    assert reading.columns["judge"] == taken


def test_two_kinds_of_judges_are_not_settled_in_silence(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r'2 columns could be the judge.*columns="judge=worker"'):
        read_preferences(write(tmp_path, "worker,rater,winner,loser\nx,y,a,b\n"))


@pytest.mark.parametrize("rows", [["=x,b", "'=x,c"], ["'=x,b", "b,=x"], ["b,'@x", "@x,b"]])
def test_a_cell_with_and_without_its_quote_is_not_merged_in_silence(rows: list[str], tmp_path: Path) -> None:
    path = write(tmp_path, "winner,loser\n" + "\n".join(rows) + "\n")
    with pytest.raises(FileFormatError, match=r"line [23]: there is \"[=@]x\" here and \"'[=@]x\" in line [23].*alike"):
        read_preferences(path)


def test_a_quote_is_left_out_where_that_makes_no_two_cells_one(tmp_path: Path) -> None:
    data = read_preferences(write(tmp_path, "winner,loser\n'=x,b\nb,'+c\n")).data
    assert data.names.tolist() == ["=x", "b", "+c"]
    numbers = read_preferences(write(tmp_path, "first,second,outcome\na,b,'-1\nb,c,-1\n")).data
    assert numbers.outcome.tolist() == [-1.0, -1.0]


def test_different_names_stay_different_in_a_table_and_come_back(tmp_path: Path) -> None:
    names = ["=x", "'=x", "''=x", "'x", "x", "-2", "'-2", "@a", "+1e", "'", "''"]
    cells = [safe_cell(name) for name in names]
    assert len(set(cells)) == len(names)
    assert not any(cell[0] in "=+@" for cell in cells)
    path = tmp_path / "m.csv"
    write_table({"winner": names, "loser": ["other"] * len(names)}, path)
    assert read_preferences(path).data.names.tolist() == [names[0], "other", *names[1:]]


@pytest.mark.parametrize(
    "derived",
    ["win{}.adj", "adj_win{}", "scoreadj{}", "goals_scored_{}", "Points.per.game{}", "n_won_{}", "resultcode{}"],
)
def test_columns_made_from_the_outcome_are_no_features(derived: str, tmp_path: Path) -> None:
    header = f"field1,field2,win1,tie,win2,{derived.format(1)},{derived.format(2)}"
    rows = "111,110,4,4,2,6,4\n111,101,4,2,4,5,5\n110,101,1,0,9,1,9\n"
    with pytest.raises(FileFormatError, match=r'items or a feature.*first=field1,second=field2" .*features=field"\.$'):
        read_preferences(write(tmp_path, f"{header}\n{rows}"))
    reading = read_preferences(write(tmp_path, f"{header}\n{rows}"), columns="first=field1,second=field2")
    assert (reading.data.n_items, reading.data.n_features) == (3, 0)
    assert any(line.startswith("Not used: ") and derived.format(1) in line for line in reading.notes)


@pytest.mark.parametrize("stem", ["window", "wine", "setsize", "pointed", "tiers", "drawing", "price"])
def test_words_that_only_start_like_an_outcome_are_features(stem: str, tmp_path: Path) -> None:
    text = f"{stem}_left,{stem}_right,age_left,age_right,winner\n1.5,2,3,4,left\n2.5,1,5,6,right\n"
    assert read_preferences(write(tmp_path, text)).data.feature_names == (stem, "age")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("winner=left", r'winner is "left", so .*leave out winner=left .*columns="winner=left,loser=right"\.$'),
        ("winner=right", r'winner is "right", so .*leave out winner=right .*columns="winner=right,loser=left"\.$'),
        ("judge=left", r'judge is "left", but .*two sides\. Name them too: .*second=COLUMN,judge=left"\.$'),
    ],
)
def test_a_column_that_is_named_wrongly_does_not_make_the_header_data(columns: str, words: str, tmp_path: Path) -> None:
    path = write(tmp_path, "left,right,winner\nann,bob,left\nbob,cy,right\n")
    with pytest.raises(FileFormatError, match=words):
        read_preferences(path, columns=columns)


def test_sides_are_guessed_beside_a_winner_that_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "x,y,z\nann,bob,bob\nbob,cy,cy\n")
    with pytest.raises(FileFormatError, match=r'winner is "z", but .*A guess .*columns="first=x,second=y,winner=z"\.$'):
        read_preferences(path, columns="winner=z")
