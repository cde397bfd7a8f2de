"""Readers of CSV and Parquet: layouts, round trips, mistakes with their lines, mutants."""

from __future__ import annotations

import csv
import gzip
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, DataWarning, FileFormatError
from preflearn.io import read_comparisons, read_items

ITEMS = "item,size,red\nann,1.5,0\nbob,2,1\ncy,-3e-1,0\n"
MATCHES = "winner,loser\nann,bob\ncy,ann\n"


def write(folder: Path, text: str | bytes, name: str = "matches.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_items_are_read_with_names_and_features(tmp_path: Path) -> None:
    table = read_items(write(tmp_path, ITEMS, "items.csv"))
    np.testing.assert_array_equal(table.values, [[1.5, 0], [2, 1], [-0.3, 0]])
    np.testing.assert_array_equal(table.names, ["ann", "bob", "cy"])
    assert table.feature_names == ("size", "red")
    assert repr(table) == "ItemTable(3 items with 2 features, named)"
    chosen = read_items(tmp_path / "items.csv", features=["red"])
    np.testing.assert_array_equal(chosen.values, [[0], [1], [0]])


@pytest.mark.parametrize(
    ("text", "names", "features"),
    [
        ('"","id","x"\n"l3",3,1\n"l5",5,2\n', ["l3", "l5"], ("id", "x")),  # R: row names before a numeric id
        (",x\n0,1\n1,2\n", None, ("x",)),  # pandas: an unnamed row number is no feature
        ("id,x\n10,1\n20,2\n", ["10", "20"], ("x",)),
        ("x,competitor\n1,u\n2,v\n", ["u", "v"], ("x",)),
        ("x,y\n1,2\n3,4\n", None, ("x", "y")),
        ("Name;x\nu;1\nv;2\n", ["u", "v"], ("x",)),
        ("name\nu\nv\n", ["u", "v"], None),
    ],
)
def test_the_name_column_is_found(tmp_path: Path, text: str, names: list[str] | None, features: tuple | None) -> None:
    table = read_items(write(tmp_path, text, "items.csv"))
    assert (None if table.names is None else table.names.tolist()) == names
    assert table.feature_names == features


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (MATCHES, [1, 1]),
        ("first,second,outcome\nann,bob,1\nann,cy,-2.5\n", [1, -2.5]),
        ("left,right,winner\nann,bob,left\nann,cy,right\nbob,cy,TIE\n", [1, -1, 0]),
        ("left,right,winner\nann,bob,bob\nann,cy,ann\n", [-1, 1]),
        ("Winner;Loser\nann;bob\n", [1]),
        ("winner\tloser\r\nann\tbob\r\n", [1]),
        ("winner|loser\nann|bob\n\n", [1]),
        ("\ufeffwinner,loser\nann,bob\n", [1]),
        ('winner,loser,"a note, long"\nann,bob,"two\nlines"\n', [1]),
    ],
)
def test_layouts_and_delimiters(tmp_path: Path, text: str, outcome: list[float]) -> None:
    items = write(tmp_path, ITEMS, "items.csv")
    data = read_comparisons(write(tmp_path, text), items)
    np.testing.assert_array_equal(data.outcome, outcome)
    assert data.names[data.first[0]] == "ann"
    assert data.names[data.second[0]] == "bob"
    assert data.n_features == 2


def test_columns_can_be_named_and_labels_are_found(tmp_path: Path) -> None:
    text = "a,b,judge,Weight,when\nann,bob,u,2,x\ncy,bob,v,1,y\n"
    data = read_comparisons(write(tmp_path, text), columns={"winner": "b", "loser": "a", "group": "when"})
    np.testing.assert_array_equal(data.names[data.first], ["bob", "bob"])
    np.testing.assert_array_equal(data.judge, ["u", "v"])
    np.testing.assert_array_equal(data.weight, [2, 1])
    np.testing.assert_array_equal(data.group, ["x", "y"])


def test_named_sides_come_before_a_loser_column(tmp_path: Path) -> None:
    text = "p,q,winner,loser\nann,bob,bob,ann\n"
    data = read_comparisons(write(tmp_path, text), columns="first=p,second=q")
    np.testing.assert_array_equal(data.outcome, [-1])


def test_items_without_names_are_row_numbers(tmp_path: Path) -> None:
    data = read_comparisons(write(tmp_path, "winner,loser\n2,0\n1,2\n"), np.eye(3))
    np.testing.assert_array_equal(data.first, [2, 1])
    with pytest.raises(
        FileFormatError, match=r'line 2: "3" is not in the list of known items \(3 items, numbered 0..2'
    ):
        read_comparisons(write(tmp_path, "winner,loser\n3,0\n"), np.eye(3))


def test_written_comparisons_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = ["plain", 'with "quotes"', "with, comma", "with;semicolon", "zwölf", "two\nlines"]
    first = rng.integers(0, 6, 50)
    second = (first + rng.integers(1, 6, 50)) % 6
    given = Comparisons(None, first, second, rng.normal(size=50), names=list(range(6)))
    path = tmp_path / "round.csv"
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["first", "second", "outcome"])
        writer.writerows(
            (names[a], names[b], repr(float(y))) for a, b, y in zip(first, second, given.outcome, strict=True)
        )
    path.with_suffix(".csv.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    for found in (read_comparisons(path), read_comparisons(tmp_path / "round.csv.gz")):
        np.testing.assert_array_equal(found.names[found.first], np.array(names)[first])
        np.testing.assert_array_equal(found.names[found.second], np.array(names)[second])
        np.testing.assert_array_equal(found.outcome, given.outcome)


def test_parquet_reads_as_csv_does(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"item": ["ann", "bob"], "x": [1, 2], "red": [True, False]}), tmp_path / "i.parquet")
    parquet.write_table(pa.table({"winner": ["bob"], "loser": ["ann"], "weight": [2.5]}), tmp_path / "m.parquet")
    data = read_comparisons(tmp_path / "m.parquet", tmp_path / "i.parquet")
    np.testing.assert_array_equal(data.items, [[1, 1], [2, 0]])
    np.testing.assert_array_equal(data.first, [1])
    np.testing.assert_array_equal(data.weight, [2.5])
    with pytest.raises(FileFormatError, match=r"bad.parquet: not a readable Parquet file"):
        read_items(write(tmp_path, b"PAR1 nonsense", "bad.parquet"))


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileFormatError, match=r'pip install "preflearn\[io\]"'):
        read_items(write(tmp_path, b"PAR1", "i.parquet"))


ITEM_MISTAKES = [
    ("item,size\nann,1\nbob,tall\n", ["line 3", 'column "size"', '"tall"', "leave the column out"]),
    ("item,size\nann,1\nbob,\n", ["line 3", 'column "size"', "empty", "Fill"]),
    ("item,size\nann,NA\nbob,2\n", ["line 2", 'column "size"', '"NA"', "Fill"]),
    ("item,size\nann,1\nbob,inf\n", ["line 3", '"inf"', "finite"]),
    ("item,size\nann,1\nbob,2\nann,3\n", ["line 4", '"ann"', "line 2", "once"]),
    ("item,size\nann,1\nbob,2,3\n", ["line 3", "3 cells", "2 columns", "quotes"]),
    ('item,size\n"a\nb",1\nbob\n', ["line 4", "1 cell,"]),
    ('item,size\nann,1\n"b\nc",tall\n', ["line 3", '"tall"']),  # where the row starts
    ("item,size,size\nann,1,2\n", ["line 1", '"size"', "Rename"]),
    ("item,size\n", ["no rows"]),
    ("", ["empty"]),
    ('item,size\n"ann,1\n', ["line 2", "quotes"]),
    ("item,size\nann,1\n,2\n", ["line 3", "name", "empty"]),
    (b"item,size\nzw\xf6lf,1\n", ["line 2", "byte 12", "0xf6", "UTF-8"]),
    (b"item,size\nann\x00,1\n", ["line 2", "binary"]),
]


@pytest.mark.parametrize(("text", "words"), ITEM_MISTAKES)
def test_mistakes_in_items(tmp_path: Path, text: str | bytes, words: list[str]) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_items(write(tmp_path, text, "items.csv"))
    assert [word for word in ["items.csv", *words] if word not in str(caught.value)] == [], str(caught.value)


MATCH_MISTAKES = [
    (
        "winner,loser\nann,bob\nbobb,ann\n",
        ["line 3", '"bobb" is not in', "items.csv", "3 items", 'nearest names: "bob"'],
    ),
    ("winner,loser\nx,bob\ny,ann\n", ["line 2", "1 more such name", "add the item"]),
    ("winner,loser\nann,bob\ncy,cy\n", ["line 3", '"cy" is compared with itself', 'self_comparisons="drop"']),
    ("winner,loser\nann,\n", ["line 2", "loser", "empty"]),
    ("home,away\nann,bob\n", ['"home", "away"', "do not say who was preferred", "winner=home,loser=away"]),
    ("first,second\nann,bob\n", ["do not say who was preferred"]),
    ("first,second,outcome\nann,bob,good\n", ["line 2", "outcome", '"good"']),
    ("p,q\nann,bob\n", ['"p", "q"', "guess", "winner=p,loser=q", "add a column"]),
    ("left,right,winner\nann,bob,cy\n", ["line 2", 'winner "cy"', '"ann"', '"bob"', "tie"]),
    ("winner,loser,weight\nann,bob,-1\n", ["negative", ">= 0"]),
    ("winner,loser,judge\nann,bob,\n", ["line 2", "judge", "empty"]),
    ("winner,loser\n", ["no rows"]),
]


@pytest.mark.parametrize(("text", "words"), MATCH_MISTAKES)
def test_mistakes_in_comparisons(tmp_path: Path, text: str, words: list[str]) -> None:
    items = write(tmp_path, ITEMS, "items.csv")
    with pytest.raises(FileFormatError) as caught:
        read_comparisons(write(tmp_path, text), items)
    assert [word for word in ["matches.csv", *words] if word not in str(caught.value)] == [], str(caught.value)


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"no column 'winer' for winner.*nearest names: \"winner\""):
        read_comparisons(write(tmp_path, MATCHES), columns={"winner": "winer", "loser": "loser"})


def test_self_comparisons_can_be_dropped(tmp_path: Path) -> None:
    path = write(tmp_path, "winner,loser\nann,bob\ncy,cy\nbob,cy\n")
    with pytest.warns(DataWarning, match="Dropped: 1 of 3"):
        assert len(read_comparisons(path, self_comparisons="drop")) == 2


def test_mutants_are_read_or_named(tmp_path: Path) -> None:
    """Damaged pairs of files: accepted, or an error that names one of the files; nothing else, and soon."""
    rng = np.random.default_rng(7)
    bases = {
        "items.csv": ITEMS.encode(),
        "matches.csv": b"first,second,outcome,weight\nann,bob,1,2\ncy,ann,-1.5,1\nbob,cy,0,1\n",
    }
    letters = b'0123456789,;|\t"\n\r.-eabny\x00\xff\xef '
    accepted = refused = unnamed = 0
    for _ in range(300):
        which = "items.csv" if rng.random() < 0.4 else "matches.csv"
        for name, content in bases.items():
            text = bytearray(content)
            for _ in range(int(rng.integers(1, 4)) if name == which else 0):
                place = int(rng.integers(0, len(text)))
                action = rng.integers(0, 3)
                if action == 0:
                    text[place] = letters[rng.integers(0, len(letters))]
                elif action == 1:
                    text.insert(place, letters[rng.integers(0, len(letters))])
                else:
                    del text[place : place + int(rng.integers(1, 6))]
            (tmp_path / name).write_bytes(bytes(text))
        start = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            try:
                data = read_comparisons(tmp_path / "matches.csv", tmp_path / "items.csv")
            except DataError as error:
                unnamed += "items.csv" not in str(error) and "matches.csv" not in str(error)
                refused += 1
            else:
                assert np.isfinite(data.outcome).all()
                assert data.items is None or np.isfinite(data.items).all()
                accepted += 1
        assert time.monotonic() - start < 5
    assert unnamed == 0
    assert accepted > 15
    assert refused > 90


@pytest.mark.data
def test_real_files_have_their_published_shapes(data_dir: Path) -> None:
    folder = data_dir / "chameleons"
    data = read_comparisons(folder / "contests_bradleyterry2.csv", folder / "predictors.csv")
    assert (len(data), data.n_items, data.n_features) == (106, 35, 7)
    other = read_comparisons(folder / "matches.csv", folder / "predictors.csv", columns="winner=ID,loser=ID.1")
    np.testing.assert_array_equal(other.first, data.first)
