"""Columns that hold each different cell once are the columns; the quick ways to read a file are the slow one."""

import csv
import io
import sys

import numpy as np
import pytest

from fast_share import cases
from preflearn.exceptions import FileFormatError
from preflearn.io import columns as usual_csv
from preflearn.io.columns import Cells, Numbered, _by_arrow, _in_blocks, numbered_together, read_usual
from preflearn.io.opening import read_table
from preflearn.io.table import parse_csv


def by_arrow(text, delimiter):
    return _by_arrow(text.encode(), delimiter)


@pytest.fixture(params=range(20))
def column(request):
    rng = np.random.default_rng(request.param)
    return [str(word) for word in rng.choice(["a", "b", " a", "", "c,d", "A"], rng.integers(1, 30))]


def test_cells_are_a_sequence_of_text(column):
    cells = Cells.of(column)
    assert list(cells) == column == cells
    assert (len(cells), cells[-1], cells[1:3]) == (len(column), column[-1], column[1:3])
    assert cells.distinct == list(dict.fromkeys(column))
    for cell in ("a", "", "nowhere"):
        assert (cell in cells) == (cell in column)
        assert cells.count(cell) == column.count(cell)
    for cell in cells.distinct:
        assert cells.index(cell) == column.index(cell)
    assert [column[row] for row in cells.first_rows()] == cells.distinct
    assert cells != column[1:]


def test_cells_are_changed_taken_and_compared_as_their_rows_are(column):
    cells = Cells.of(column)
    upper = cells.changed(lambda cell: cell.strip().upper())
    assert upper == [cell.strip().upper() for cell in column]
    assert upper.distinct == list(dict.fromkeys(upper))
    rows = np.random.default_rng(0).permutation(len(column))[: len(column) // 2 + 1]
    part = cells.take(rows)
    assert part == [column[row] for row in rows]
    assert part.distinct == list(dict.fromkeys(part))
    other = Cells.of(column[::-1])
    assert cells.same(other).tolist() == [one == two for one, two in zip(column, column[::-1], strict=True)]


def test_pieces_of_a_column_are_the_column(column):
    pieces = Numbered()
    for start in range(0, len(column), 3):
        pieces.add(column[start : start + 3])
    assert pieces.cells() == column
    assert pieces.cells().distinct == Cells.of(column).distinct


def test_names_of_two_columns_are_numbered_row_by_row(column):
    one, other = Cells.of(column), Cells.of(column[::-1])
    names, first, second = numbered_together(one, other)
    assert names == list(dict.fromkeys(cell for row in zip(one, other, strict=True) for cell in row))
    assert [names[number] for number in first] == column
    assert [names[number] for number in second] == column[::-1]


def slowly(text, delimiter):
    """Return the rows by the reader of the standard library, or None where it finds the file odd."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return rows


CELLS = ["a", "bb", "", '"x,y"', '"x"', '"x""y"', '""', '""""', " ", "'", '"\n"']
ODD = [*CELLS, ",", '"', "\n", "\r\n", "\r", ";"]


def odd_text(rng):
    """Return a table of two columns, in most cases with a few pieces put in somewhere."""
    end = str(rng.choice(["\n", "\r\n"]))
    rows = [",".join(rng.choice(CELLS[:-1], 2)) for _ in range(rng.integers(1, 6))]
    text = end.join(["p,q", *rows]) + end * int(rng.integers(0, 2))
    for _ in range(rng.integers(0, 3)):
        place = int(rng.integers(0, len(text) + 1))
        text = text[:place] + str(rng.choice(ODD)) + text[place:]
    return text


def test_quick_ways_read_what_the_slow_one_reads_or_nothing(monkeypatch):
    monkeypatch.setattr(usual_csv, "BLOCK", 3)
    monkeypatch.setattr(usual_csv, "PIECE", 4)
    rng = np.random.default_rng(5)
    read = {_in_blocks: 0, by_arrow: 0}
    for _ in range(cases(4_000, 60_000)):
        text = odd_text(rng)
        for way in read:
            found = way(text, ",")
            if found is None or not found.n_rows:
                continue
            read[way] += 1
            rows = slowly(text, ",")
            assert rows is not None, (way.__name__, text)
            assert [found.titles, *map(list, zip(*found.columns, strict=True))] == rows, (way.__name__, text)
            assert all(column.distinct == list(dict.fromkeys(column)) for column in found.columns)
            lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
            assert len(lines) == len(rows), (way.__name__, text)  # so that rows can be named by their lines
    assert min(read.values()) > 100  # both read a good part of these files


@pytest.mark.parametrize("large", [True, False])
def test_large_files_are_read_as_small_ones(large, monkeypatch):
    rng = np.random.default_rng(0)
    names = ['"Jones, Ann"', "bob", "Zoë", '"the ""best"""', "  padded ", "'=1+1"]
    rows = [",".join(rng.choice(names, 3)) for _ in range(500)]
    text = "one,two,three\n" + "\n".join(rows) + "\n"
    small = parse_csv(text, "votes.csv")
    monkeypatch.setattr(usual_csv, "LARGE", 0 if large else 1 << 40)
    again = parse_csv(text, "votes.csv")
    for name in ("one", "two", "three"):
        assert again.cells(name) == small.cells(name)
        assert again.cells(name).distinct == small.cells(name).distinct
    assert set(again.cells("one").distinct) == {"Jones, Ann", "bob", "Zoë", 'the "best"', "padded", "=1+1"}
    assert list(again.line) == list(range(2, 502))


def test_large_files_are_read_without_pyarrow(monkeypatch):
    monkeypatch.setattr(usual_csv, "LARGE", 0)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert by_arrow("a,b\n1,2\n", ",") is None
    assert list(read_usual("a,b\n1,2\n", ",").columns[1]) == ["2"]


@pytest.mark.parametrize(
    ("text", "line"),
    [("a,b\n1,2\n3\n", "line 3"), ('a,b\n1,2\n"3,4\n', "line 3"), ("a,b\n1,2\n\n3,4,5\n", "line 4")],
)
def test_odd_lines_of_large_files_are_named(text, line, monkeypatch):
    monkeypatch.setattr(usual_csv, "LARGE", 0)
    with pytest.raises(FileFormatError, match=line):
        parse_csv(text, "votes.csv")


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_text_of_parquet_files_is_the_text_of_the_same_list(kind, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    words = ["bob", None, " ann ", "bob", "", "zoe", None, "Ünal"] * 3
    types = {
        "string": pa.string(),
        "large_string": pa.large_string(),
        "dictionary": pa.dictionary(pa.int8(), pa.string()),
    }
    table = pa.table({"who": pa.array(words, type=types[kind]), "n": list(range(24))})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=5)
    read = read_table(str(tmp_path / "a.parquet"))
    assert list(read.cells("who")) == [(word or "").strip() for word in words]
    assert read.cells("who").distinct == ["bob", "", "ann", "zoe", "Ünal"]
    assert list(read.cells("n"))[:3] == ["0", "1", "2"]
