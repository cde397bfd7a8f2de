"""Files of votes that are counted in pieces say what one file that is read whole says, or are refused by name."""

from __future__ import annotations

import gzip
import pickle
import sys
from collections import Counter
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import preflearn
from fast_share import cases
from preflearn.data import Comparisons
from preflearn.exceptions import DataError, FileFormatError
from preflearn.io import opening, pieces, read_preferences
from preflearn.io.counted_files import count_in_turn
from preflearn.io.counts import add_all, add_counts
from preflearn.io.read_options import Options
from preflearn.io.reading import read_with

FIELDS = ("first", "second", "outcome", "weight", "times", "judge", "cluster", "group")


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(opening, "LARGE", 0)
    monkeypatch.setattr(pieces, "HEAD", 200)
    monkeypatch.setattr(pieces, "HEAD_ROWS", 5)
    monkeypatch.setattr(pieces, "BYTES", 64)
    monkeypatch.setattr(pieces, "ROWS", 7)
    monkeypatch.setattr(pieces, "SLOW_ROWS", 3)


def votes(rng, n_rows, kind="plain"):
    names = np.array(["ann", "bob", " cy", 'd"e', "f,g", "1"])
    first = rng.integers(0, 6, n_rows)
    second = (first + rng.integers(1, 6, n_rows)) % 6
    frame = pd.DataFrame({"model_a": names[first], "model_b": names[second]})
    if kind == "numbers":
        frame["outcome"] = rng.choice([-1, 0, 1, 2.5], n_rows)
    elif kind == "wins":
        frame["wins_a"], frame["wins_b"] = rng.integers(0, 3, n_rows), rng.integers(1, 3, n_rows)
    elif kind == "shares":
        frame["outcome"] = rng.choice([0, 0.25, 0.5, 1], n_rows)
    else:
        frame["winner"] = rng.choice(["model_a", "model_b", "tie"], n_rows)
    if kind in ("judge", "cluster", "group"):
        title = {"judge": "judge", "cluster": "prompt_id", "group": "group"}[kind]
        frame[title] = rng.choice(["u", "v"], n_rows)
    if kind == "weight":
        frame["weight"] = rng.choice([1, 2, 0.5], n_rows)
    if kind == "covariates":
        frame["length_diff"] = rng.integers(-1, 2, n_rows)
    if kind == "more":
        frame["language"] = rng.choice(["en", "de"], n_rows)
    return frame


KINDS = ("plain", "numbers", "wins", "shares", "judge", "cluster", "group", "weight", "covariates", "more")
OPTIONS = {
    "covariates": {"columns": {"covariates": ["length_diff"]}},
    "shares": {"outcomes": {"first": 1, "second": 0}},
}


def assert_same(found, listed):
    assert isinstance(found.data, Comparisons)
    assert found.data.n_listed == listed.data.n_listed
    assert found.data.names.tolist() == listed.data.names.tolist()
    rows = [rows_of(data.counted()) for data in (found.data, listed.data)]
    assert rows[0] == rows[1]
    if found.data.group is None:  # there, equal rows are listed one after the other
        assert list(rows[0]) == list(rows[1])


def rows_of(data):
    columns = [getattr(data, name) for name in FIELDS]
    columns.append(None if data.covariates is None else data.covariates[:, 0])
    return Counter(zip(*(column.tolist() for column in columns if column is not None), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_files_in_pieces_are_one_table(kind, ending, tmp_path):
    for seed in range(cases(3, 30)):
        rng = np.random.default_rng(seed)
        frame = votes(rng, int(rng.integers(20, 60)), kind)
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        cut = int(rng.integers(10, len(frame) - 5))
        for part, rows in enumerate((frame[:cut], frame[cut:])):
            write(rows, folder / f"part{part}{ending}")
        write(frame, tmp_path / f"all{seed}{ending}")
        options = OPTIONS.get(kind, {}) | {"repeated_rows": "keep" if kind == "judge" else "drop"}
        listed = read_preferences(tmp_path / f"all{seed}{ending}", **options)
        for source in (folder, f"{folder}/*{ending}"):
            found = read_preferences(source, **options)
            assert_same(found, listed)
            assert kind == "group" or len(found.data) < len(listed.data)
            assert found.notes[0].endswith(listed.notes[0].split(": ", 1)[1].replace("rows", "rows in 2 files"))
            assert found.notes[1:] == listed.notes[1:]
        alone = read_preferences(tmp_path / f"all{seed}{ending}", counted=True, **options)
        assert_same(alone, listed)
        assert alone.notes == listed.notes


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=11)
    else:
        frame.to_csv(path, index=False)


@pytest.mark.parametrize("kind", ["plain", "judge", "shares"])
def test_without_pyarrow_the_same_is_read(kind, tmp_path, monkeypatch):
    frame = votes(np.random.default_rng(1), 50, kind)
    write(frame, tmp_path / "votes.csv")
    options = OPTIONS.get(kind, {}) | {"repeated_rows": "keep"}
    with_arrow = read_preferences(tmp_path / "votes.csv", counted=True, **options)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    without = read_preferences(tmp_path / "votes.csv", counted=True, **options)
    assert_same(without, read_preferences(tmp_path / "votes.csv", **options))
    assert without.notes == with_arrow.notes


ODD = {
    "remarks": "# a remark\n# another\nmodel_a,model_b,winner\n" + "ann,bob,model_a\n" * 20,
    "remarks of old": "# a remark\rmodel_a,model_b,winner\r" + "ann,bob,model_a\r" * 20,
    "blank lines": "model_a,model_b,winner\n" + "ann,bob,model_a\n\nbob,ann,tie\n" * 20,
    "named delimiter": "sep=;\nmodel_a;model_b;winner\n" + "ann;bob;model_a\n" * 20,
    "lines within quotes": "model_a,model_b,winner\n" + 'ann,"b\no\nb",model_a\nann,cy,model_b\n' * 20,
    "long cells": "model_a,model_b,winner\n" + ('ann,"b' + "\no" * 90 + 'b",model_a\nann,cy,model_b\n') * 9,
    "quotes within cells": "model_a,model_b,winner\n" + 'ann,5" bob,model_a\nann,bob 6",tie\nann,cy,model_b\n' * 20,
    "quote of a spreadsheet": "model_a,model_b,winner\n" + "'=ann,bob,model_a\nbob,'=ann,model_b\n" * 20,
    "old line ends": "model_a,model_b,winner\r" + "ann,bob,model_a\r" * 20,
    "windows": "\ufeffmodel_a,model_b,winner\r\n" + "ann,bob,model_a\r\nbob,cy,tie\r\n" * 20,
    "blanks": "model_a , model_b,winner\n" + "ann, bob,model_a\n ann,bob ,model_a\n" * 20,
    "no last line end": "model_a,model_b,winner\n" + "ann,bob,model_a\nbob,ann,tie\n" * 20 + "bob,cy,tie",
    "odd late": "model_a,model_b,winner\n" + "ann,bob,model_a\nbob,ann,tie\n" * 20 + '\n"c\ny",bob,tie\n' * 3,
}


@pytest.mark.parametrize("name", ODD)
def test_odd_files_say_what_they_say_when_read_whole(name, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes(ODD[name].encode())
    listed = read_preferences(path, repeated_rows="keep")
    found = read_preferences(path, repeated_rows="keep", counted=True)
    assert_same(found, listed)
    assert found.notes == listed.notes


MISTAKES = {
    "ragged": ("ann,bob,model_a\n" * 30 + "ann,bob\n", "line 32"),
    "unknown word": ("ann,bob,model_a\n" * 30 + "ann,bob,perhaps\n", "line 32"),
    "empty cell": ("ann,bob,model_a\n" * 30 + "ann,,model_a\n", "line 32"),
    "itself": ("ann,bob,model_a\n" * 30 + "bob,bob,model_a\n" * 2, r"line 32: .*2 of 32 rows"),
    "open quote": ("ann,bob,model_a\n" * 30 + 'ann,"bob,model_a\n', "line 32"),
    "header again": ("ann,bob,model_a\n" * 30 + "model_a,model_b,winner\nann,bob,tie\n", "line 32"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_with_their_file_and_line(name, tmp_path):
    rows, told = MISTAKES[name]
    head = "model_a,model_b,winner\n"
    (tmp_path / "a.csv").write_text(head + "ann,bob,model_b\n")
    (tmp_path / "b.csv").write_text(head + rows)
    with pytest.raises(FileFormatError, match=rf"b\.csv, {told}".replace("32 rows", "3[23] rows")):
        read_preferences(tmp_path)
    with pytest.raises(FileFormatError) as whole:
        read_preferences(tmp_path / "b.csv")
    with pytest.raises(FileFormatError) as counted:
        read_preferences(tmp_path / "b.csv", counted=True)
    assert str(counted.value) == str(whole.value)


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path):
    for row, what in ((b"ann,b\xf6b,model_a\n", "not UTF-8"), (b"ann,b\0b,model_a\n", "binary file")):
        path = tmp_path / "votes.csv"
        path.write_bytes(b"model_a,model_b,winner\n" + b"ann,bob,model_a\n" * 30 + row)
        with pytest.raises(FileFormatError, match=rf"votes\.csv, line 32.*{what}") as counted:
            read_preferences(path, counted=True)
        with pytest.raises(FileFormatError) as whole:
            read_preferences(path)
        assert str(counted.value) == str(whole.value)


@pytest.fixture
def two(tmp_path):
    frame = votes(np.random.default_rng(0), 200)
    for part, rows in (("a", frame[:150]), ("b", frame[150:])):
        write(rows, tmp_path / f"{part}.csv")
        write(rows, tmp_path / f"{part}.parquet")
    return tmp_path


def refused(pattern, told):
    with pytest.raises(DataError, match=told):
        read_preferences(str(pattern))


def test_files_that_differ_are_refused_by_name(two):
    frame = votes(np.random.default_rng(0), 50)
    write(frame.rename(columns={"winner": "won"}), two / "b.csv")
    refused(two / "*.csv", r'b\.csv: this file lacks "winner" and has "won", unlike .*a\.csv')
    write(frame.assign(winner=1.0), two / "b.parquet")
    refused(two / "*.parquet", r'b\.parquet: column "winner" holds double, and string in .*a\.parquet')
    write(votes(np.random.default_rng(0), 50), two / "b.csv")
    refused(two, r"a\.parquet: this is a Parquet file")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_may_be_counted_by_another_process(ending, two):
    def elsewhere(files):
        sent = [pickle.loads(pickle.dumps(file.seen_as(str(Path(file.name).absolute())))) for file in files]
        return reduce(add_counts, [add_all(file.pieces()) for file in sent])

    here, there = (
        read_with(Options("read_preferences"), str(two / f"*.{ending}"), counting=counting)
        for counting in (count_in_turn, elsewhere)
    )
    assert there.notes == here.notes
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(there.data, name), getattr(here.data, name))


def test_damaged_and_empty_files_are_refused_by_name(two):
    (two / "b.csv").write_bytes(b"")
    refused(two / "*.csv", r"b\.csv: the file is empty")
    (two / "b.csv").write_text("model_a,model_b,winner\n")
    refused(two / "*.csv", r"b\.csv: there is a header but no rows below it")
    (two / "b.parquet").write_bytes((two / "a.parquet").read_bytes()[:-100])
    refused(two / "*.parquet", r"b\.parquet: not a readable Parquet file")
    (two / "b.parquet").write_bytes(b"")
    refused(two / "*.parquet", r"b\.parquet: the file is empty")
    whole = gzip.compress((two / "a.csv").read_bytes())
    (two / "a.csv.gz").write_bytes(whole)
    (two / "b.csv.gz").write_bytes(whole[: len(whole) // 2])
    refused(two / "*.gz", r"b\.csv\.gz: the gzip data are damaged or cut off")
    (two / "b.csv.gz").write_bytes(whole[:-4])
    refused(two / "*.gz", r"b\.csv\.gz: the gzip data are damaged or cut off")
    refused(two / "*.json", "there is no such file")


def test_rankings_in_several_files_are_refused(tmp_path):
    for part in "ab":
        (tmp_path / f"{part}.csv").write_text("ranking\nx > y > z\n")
    refused(tmp_path, "several files are counted where each row compares two items")


def test_where_only_whole_rows_show_copies_they_are_read(tmp_path):
    frame = votes(np.random.default_rng(2), 60).assign(judge="u", id=range(60))
    frame = pd.concat([frame, frame[:5]])
    write(frame, tmp_path / "votes.csv")
    with pytest.warns(match="5 of 65 rows are copies"):
        found = read_preferences(tmp_path / "votes.csv", counted=True)
    assert found.data.n_listed == 60
    folder = tmp_path / "several"
    folder.mkdir()
    write(frame, folder / "votes.csv")
    assert any("not looked whether rows are copies" in note for note in read_preferences(folder).notes)


def test_copies_of_rows_that_are_counted_whole_are_left_out(tmp_path):
    rng = np.random.default_rng(4)
    frame = votes(rng, 60, "judge").assign(judge=[f"judge {k}" for k in range(60)])
    write(pd.concat([frame, frame[:7]]), tmp_path / "votes.csv")
    found = []
    for counted in (False, True):
        with pytest.warns(match=r"7 of 67 rows are copies"):
            found.append(read_preferences(tmp_path / "votes.csv", counted=counted))
    assert_same(found[1], found[0])
    assert found[0].notes == found[1].notes


def test_a_table_that_was_pasted_is_noticed(tmp_path):
    frame = votes(np.random.default_rng(5), 30).drop_duplicates()
    write(pd.concat([frame] * 3), tmp_path / "votes.csv")
    for counted in (False, True):
        with pytest.warns(match="every row occurs 3 times"):
            read_preferences(tmp_path / "votes.csv", counted=counted)


def test_rank_takes_a_directory(two):
    listed = preflearn.rank(pd.concat([pd.read_csv(two / f"{part}.csv") for part in "ab"]), circles=False)
    found = preflearn.rank(two / "*.csv", circles=False)
    assert found.data.n_listed == 200
    assert len(found.data) < 100
    np.testing.assert_allclose(found.ranking.utility, listed.ranking.utility, rtol=1e-9, atol=1e-9)
    assert [one.text for one in found.warnings] == [one.text for one in listed.warnings]
