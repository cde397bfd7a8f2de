"""Predictions of files in pieces are those of the rows, whole or not at all."""

import csv

import numpy as np
import pytest

from preflearn import RankRLS, save
from preflearn.cli import large_files
from preflearn.cli.main import main
from preflearn.exceptions import DataError
from preflearn.scale import Chunks, predict_to, read_chunks

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def learned(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    names = np.array([f"d{i}, nr {i}" for i in range(40)])
    columns = {"doc": names, "a": X[:, 0], "b": X[:, 1], "query": np.arange(40) // 5, "y": X[:, 0] - X[:, 1]}
    parquet.write_table(pa.table(columns), tmp_path / "in.parquet")
    chunks = read_chunks(tmp_path / "in.parquet", target="y", group="query", keep=["doc"], chunk_rows=9)
    return RankRLS().fit(chunks), chunks, X, names


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_parquet_holds_predictions_beside_what_was_kept(tmp_path, dtype):
    model, chunks, X, names = learned(tmp_path)
    assert predict_to(model, chunks, tmp_path / "out.parquet", dtype=dtype) == 40
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["group", "doc", "utility"]
    assert str(table.schema.field("utility").type) == {"float64": "double", "float32": "float"}[dtype]
    np.testing.assert_allclose(table["utility"].to_numpy(), X @ model.coef_, rtol=1e-6)
    assert table["doc"].to_pylist() == names.tolist()


def test_csv_holds_the_same_numbers(tmp_path):
    model, chunks, X, names = learned(tmp_path)
    predict_to(model, chunks, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as stream:
        head, *rows = list(csv.reader(stream))
    assert head == ["group", "doc", "utility"]
    assert [row[1] for row in rows] == names.tolist()
    np.testing.assert_allclose([float(row[2]) for row in rows], X @ model.coef_, rtol=1e-12)


def test_a_failure_in_the_middle_leaves_nothing(tmp_path):
    model, *_ = learned(tmp_path)

    def pieces():
        yield np.zeros((3, 2)), np.zeros(3)
        raise OSError(5, "the disk went away")

    for ending in (".csv", ".parquet"):
        with pytest.raises(OSError, match="went away"):
            predict_to(model, Chunks(pieces), tmp_path / f"half{ending}")
    assert {path.name for path in tmp_path.iterdir()} == {"in.parquet"}


def test_files_are_not_replaced_unasked_and_endings_are_known(tmp_path):
    model, chunks, *_ = learned(tmp_path)
    predict_to(model, chunks, tmp_path / "out.csv", overwrite=False)
    with pytest.raises(DataError, match="exists already"):
        predict_to(model, chunks, tmp_path / "out.csv", overwrite=False)
    with pytest.raises(DataError, match=r"Use \.parquet or \.csv"):
        predict_to(model, chunks, tmp_path / "out.feather")


def test_the_command_scores_large_files_in_pieces(tmp_path, monkeypatch, capsys):
    model, _, X, names = learned(tmp_path)
    save(model, tmp_path / "model.prefl")
    table = parquet.read_table(tmp_path / "in.parquet")
    (tmp_path / "parts").mkdir()
    for part in range(2):
        parquet.write_table(table.slice(20 * part, 20), tmp_path / "parts" / f"{part}.parquet")
    monkeypatch.setattr(large_files, "LARGE", 0)
    for source in ("in.parquet", "parts", "parts/*.parquet"):
        out = tmp_path / "out.parquet"
        assert (
            main(["predict", str(tmp_path / "model.prefl"), str(tmp_path / source), "--out", str(out), "--force"]) == 0
        )
        assert "40 rows, in pieces" in capsys.readouterr().out
        found = parquet.read_table(out)
        assert found.column_names == ["doc", "query", "y", "utility"]
        assert found["doc"].to_pylist() == names.tolist()
        np.testing.assert_allclose(found["utility"].to_numpy(), X @ model.coef_, rtol=1e-12)
    cut = tmp_path / "parts" / "1.parquet"
    cut.write_bytes(cut.read_bytes()[:-50])
    again = tmp_path / "again.parquet"
    assert main(["predict", str(tmp_path / "model.prefl"), str(tmp_path / "parts"), "--out", str(again)]) == 2
    assert "1.parquet: the file cannot be read" in capsys.readouterr().err
    assert not again.exists()
