"""Files that are read in pieces say what they say in one piece, and what is wrong with one is said with its name."""

import gzip
import tracemalloc

import numpy as np
import pytest

from preflearn import RankRLS
from preflearn.exceptions import DataError, FileFormatError
from preflearn.io import chunk_files, read_svmlight
from preflearn.scale import Chunks, read_chunks

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
COLUMNS = {"target": "score", "group": "query", "weight": "count"}


def table(n=50):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, 3)), 3)
    return {
        "score": rng.integers(0, 4, n).astype(float),
        "a": X[:, 0],
        "query": np.array([f"q{i}" for i in rng.integers(0, 6, n)]),
        "b": X[:, 1],
        "count": rng.integers(0, 3, n),
        "c": X[:, 2],
    }


def write_csv(path, columns):
    text = "\n".join([",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))])
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode() + b"\n")


def part(columns, rows):
    return {name: values[rows] for name, values in columns.items()}


def whole(columns):
    X = np.column_stack([columns[name] for name in "abc"])
    return RankRLS().fit(X, columns["score"], qid=columns["query"], sample_weight=columns["count"]).coef_


def write(folder, ending, columns):
    for number, rows in enumerate([slice(0, 20), slice(20, 21), slice(21, None)]):
        path = folder / f"part-{number}{ending}"
        if ending == ".parquet":
            parquet.write_table(pa.table(part(columns, rows)), path, row_group_size=8)
        else:
            write_csv(path, part(columns, rows))


@pytest.mark.parametrize(
    ("ending", "plain"), [(".parquet", False), (".csv", False), (".csv.gz", False), (".csv", True), (".csv.gz", True)]
)
def test_files_are_their_table(tmp_path, monkeypatch, ending, plain):
    if plain:
        monkeypatch.setattr(
            chunk_files,
            "csv_batches",
            lambda path, wanted, rows, check: chunk_files._plain_csv(path, wanted, rows, check, ","),
        )
    columns = table()
    write(tmp_path, ending, columns)
    for paths in (tmp_path, str(tmp_path / "part-*"), sorted(tmp_path.iterdir())):
        chunks = read_chunks(paths, **COLUMNS, chunk_rows=7)
        assert chunks.feature_names == ("a", "b", "c")
        np.testing.assert_allclose(RankRLS().fit(chunks).coef_, whole(columns), rtol=1e-7)
    some = read_chunks(tmp_path, **COLUMNS, features=["c", "a"])
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in some])[:, 0], columns["c"])
    assert max(len(chunk) for chunk in chunks) <= 7
    assert {chunk.X.shape[1] for chunk in chunks.labels()} == {0}


@pytest.mark.parametrize("packed", [False, True])
def test_svmlight_files_are_their_ratings(tmp_path, packed):
    rng = np.random.default_rng(1)
    lines = [
        f"{rng.integers(0, 3)} qid:{i // 5} 1:{rng.normal():.3f} 4:{rng.normal():.3f} # docid = {i}" for i in range(60)
    ]
    whole_file = tmp_path / "all.txt"
    whole_file.write_text("\n".join(lines) + "\n")
    ratings = read_svmlight(whole_file)
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(2):
        text = "\n".join(lines[number * 33 : number * 33 + 33]) + "\n"
        path = folder / f"{number}.txt{'.gz' * packed}"
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    chunks = read_chunks(str(folder / "*"), chunk_rows=1)
    assert len(list(chunks)) > 4
    np.testing.assert_allclose(RankRLS().fit(chunks).coef_, RankRLS().fit(ratings).coef_)


def test_features_of_a_sparse_file_without_all_of_them(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 qid:1 2:1\n0 qid:1 1:1\n")
    assert next(iter(read_chunks(path, n_features=5))).X.shape == (2, 5)


def _broken(tmp_path):
    """Each: what to read, and words of the message."""
    columns = table()
    good = {**columns, "count": columns["count"] + 1}

    def folder(name, *parts, ending=".csv"):
        inside = tmp_path / name
        inside.mkdir()
        for number, one in enumerate(parts):
            if isinstance(one, bytes):
                (inside / f"{number}{ending}").write_bytes(one)
            elif ending == ".parquet":
                parquet.write_table(pa.table(one), inside / f"{number}{ending}")
            else:
                write_csv(inside / f"{number}{ending}", one)
        return inside

    without_b = {name: values for name, values in good.items() if name != "b"}
    numbered = {**good, "query": np.arange(50) // 5}
    words = {**good, "b": np.array(["x"] * 50)}
    gap = {**good, "b": np.where(np.arange(50) == 30, np.nan, good["b"])}
    cut = folder("whole", good, ending=".parquet") / "0.parquet"
    half = cut.read_bytes()[:-200]
    packed = gzip.compress(b"score,a,query,b,count,c\n" + b"1,2,q,3,1,4\n" * 5000)
    return {
        "no file": (tmp_path / "none*.csv", r"none\*\.csv: there is no such file"),
        "empty directory": (folder("empty"), "no file in this directory ends in"),
        "another column": (folder("other", good, without_b), r'1\.csv: there is no column "b"'),
        "another column, Parquet": (folder("other2", good, without_b, ending=".parquet"), 'there is no column "b"'),
        "more columns": (
            folder("more", without_b, good),
            r"1\.csv: there are columns that .*0\.csv does not have \(.b.\)",
        ),
        "more columns, Parquet": (
            folder("more2", without_b, good, ending=".parquet"),
            r"1\.parquet: there are columns",
        ),
        "numbers for words": (
            folder("kinds", good, numbered),
            r'1\.csv: column "query" holds numbers here and words in the rows before',
        ),
        "numbers for words, Parquet": (
            folder("kinds2", good, numbered, ending=".parquet"),
            r'1\.parquet: column "query" holds numbers',
        ),
        "words": (folder("words", good, words), r"""1\.csv: column "b" holds 'x' in row 1"""),
        "words, Parquet": (folder("words2", good, words, ending=".parquet"), r"""1\.parquet: column "b" holds 'x'"""),
        "gap": (folder("gap", gap), r'0\.csv: column "b" is empty or infinite in row 31'),
        "gap, Parquet": (folder("gap2", gap, ending=".parquet"), 'column "b" is empty or infinite in row 31'),
        "cut off": (
            folder("cut", good, half, ending=".parquet"),
            r"1\.parquet: the file cannot be read, or is cut off",
        ),
        "packed and cut off": (folder("cut2", packed[:-300], ending=".csv.gz"), "cannot be read, or is cut off"),
        "several kinds": ([cut, folder("one", good) / "0.csv"], "files of several kinds"),
    }


def test_what_is_wrong_with_a_file_is_said_with_its_name(tmp_path):
    for paths, message in _broken(tmp_path).values():
        with pytest.raises(FileFormatError, match=message):
            RankRLS().fit(read_chunks(paths, **COLUMNS))


def test_a_line_of_a_later_piece_is_named(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 1:1\n0 qid:1 1:2\n" * 50 + "2 qid:9 1:x\n")
    with pytest.raises(FileFormatError, match="line 101"):
        RankRLS().fit(read_chunks(path, n_features=1, chunk_rows=1))


def test_unknown_columns_have_neighbours(tmp_path):
    write(tmp_path, ".csv", table())
    with pytest.raises(FileFormatError, match='there is no column "scor" \\(nearest names: "score"'):
        read_chunks(tmp_path, target="scor")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([(np.zeros((2, 2)), [1, 2]), (np.zeros((2, 3)), [1, 2])], "piece 1: this piece has 3 features"),
        ([(np.zeros((2, 2)), [1, 2]), (np.zeros((2, 2)), [1, 2], [1, 1])], "piece 1: this piece has groups, unlike"),
        ([(np.zeros((2, 2)), [1, np.nan])], "piece 0: y"),
        ([(np.full((2, 2), np.inf), [1, 2])], "piece 0: features are missing or infinite"),
        ([(np.zeros(2), [1, 2])], "shape"),
        ([np.zeros((2, 2))], "no scores"),
        ([(np.zeros((2, 2)), [1, 2], [1, 1], [0, 0])], "no rows of positive weight"),
        ([], "no rows"),
        ([(np.zeros((2, 2)), [1, 2], [1, 2])], "none of the 2 groups has two rows"),
    ],
)
def test_mistakes_in_pieces(source, message):
    with pytest.raises(DataError, match=message):
        RankRLS().fit(Chunks(source))


def test_other_mistakes():
    with pytest.raises(TypeError, match="gone through once"):
        Chunks(iter([]))
    chunks = Chunks([(np.eye(3), [1, 2, 3])])
    with pytest.raises(TypeError, match="carry their own scores"):
        RankRLS().fit(chunks, [1, 2, 3])
    with pytest.raises(DataError, match="learned from by their features"):
        RankRLS(kernel="rbf").fit(chunks)
    from preflearn import RankRLSCV

    with pytest.raises(DataError, match="all rows are one group"):
        RankRLSCV().fit(chunks)
    with pytest.raises(DataError, match="are left out by group"):
        RankRLSCV(cv=3).fit(chunks)


@pytest.mark.parametrize("order", ["together", "apart"])
def test_memory_does_not_grow_with_rows(order):
    def pieces():
        for seed in range(60):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(2000, 20))
            group = np.arange(seed * 2000, seed * 2000 + 2000) // 20
            yield X, X[:, 0] + rng.normal(size=2000), group if order == "together" else group % 100

    tracemalloc.start()
    try:
        RankRLS().fit(Chunks(pieces))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60 * 2000 * 20 * 8 / 5  # all rows are 19 MB
