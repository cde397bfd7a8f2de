"""SVMlight reader: what is written comes back, what is wrong is named with its line, mutants never surprise."""

from __future__ import annotations

import gzip
import io
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from preflearn.exceptions import DataError, DataWarning, FileFormatError
from preflearn.io import read_svmlight, svmlight

GOOD = b"2 qid:3 1:0.5 4:-1e-3\n0 qid:1 2:7 # note\n\n1.5 qid:3 1:2\t3:.5\n"


def write(folder: Path, content: bytes, name: str = "rank.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_a_hand_written_file(tmp_path: Path) -> None:
    data = read_svmlight(write(tmp_path, GOOD))
    np.testing.assert_array_equal(data.items, [[0.5, 0, 0, -1e-3], [0, 7, 0, 0], [2, 0, 0.5, 0]])
    np.testing.assert_array_equal(data.score, [2, 0, 1.5])
    np.testing.assert_array_equal(data.group, [3, 1, 3])  # groups need not be adjacent
    assert data.names is None


@pytest.mark.parametrize("zip_it", [False, True])
def test_equals_scikit_learn_on_random_sparse_files(tmp_path: Path, zip_it: bool) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 30), density=0.2, rng=rng, format="csr")
    buffer = io.BytesIO()
    dump_svmlight_file(X, rng.normal(size=60), buffer, zero_based=False, query_id=rng.integers(0, 9, 60))
    content = buffer.getvalue()
    expected, score, group = load_svmlight_file(io.BytesIO(content), query_id=True, n_features=30, zero_based=False)
    data = read_svmlight(
        write(tmp_path, gzip.compress(content, mtime=0) if zip_it else content), n_features=30, dense=False
    )
    np.testing.assert_array_equal(data.items.toarray(), expected.toarray())
    np.testing.assert_array_equal(data.score, score)
    np.testing.assert_array_equal(data.group, group)


def test_whole_files_and_single_lines_read_the_same() -> None:
    rng = np.random.default_rng(1)
    lines = [
        f"{rng.integers(0, 3)} qid:{rng.integers(0, 5)} "
        + " ".join(f"{i}:{rng.normal():.4g}" for i in np.flatnonzero(rng.random(20) < 0.4) + 1)
        for _ in range(50)
    ]
    content = "\r\n".join(lines).encode()
    limits = svmlight.Limits(1, None)
    fast, slow = svmlight.parse_whole(content, limits), svmlight.parse_lines(content, "f", limits)
    assert fast is not None
    np.testing.assert_array_equal(fast.label, slow.label)
    np.testing.assert_array_equal(fast.qid, slow.qid)
    np.testing.assert_array_equal(fast.features.toarray(), slow.features.toarray())


def test_dense_or_sparse_by_size_or_by_wish(tmp_path: Path) -> None:
    path = write(tmp_path, b"1 qid:1 1:1 300:2\n2 qid:1 2:1\n")
    assert sparse.issparse(read_svmlight(path).items)
    assert read_svmlight(path).items.indices.dtype == np.int32
    assert isinstance(read_svmlight(path, dense=True).items, np.ndarray)
    assert isinstance(read_svmlight(write(tmp_path, GOOD)).items, np.ndarray)
    assert read_svmlight(path, n_features=500).shape == (3, 500)


def test_zero_based_files(tmp_path: Path) -> None:
    path = write(tmp_path, b"1 qid:1 0:5 2:6\n2 qid:1 1:1\n")
    np.testing.assert_array_equal(read_svmlight(path, zero_based=True).items, [[5, 0, 6], [0, 1, 0]])


def test_docids_become_names(tmp_path: Path) -> None:
    line = "{} qid:{} 1:0.5 #docid = {}\n"
    content = line.format(1, 1, "D1") + line.format(0, 1, "D2") + line.format(0, 2, "D1")
    np.testing.assert_array_equal(read_svmlight(write(tmp_path, content.encode())).names, ["D1", "D2", "D1"])
    twice = content + line.format(2, 2, "D1")  # the same document twice in one query: no names then
    assert read_svmlight(write(tmp_path, twice.encode())).names is None


def test_companion_file_of_group_sizes(tmp_path: Path) -> None:
    path = write(tmp_path, b"1 1:1\n0 1:2\n2 1:3\n")
    sizes = write(tmp_path, b"2\n1\n", "rank.query")
    np.testing.assert_array_equal(read_svmlight(path, query_sizes=sizes).group, [0, 0, 1])
    with pytest.raises(FileFormatError, match=r"add up to 5.*3 rows"):
        read_svmlight(path, query_sizes=write(tmp_path, b"2\n3\n", "bad.query"))
    with pytest.raises(FileFormatError, match=r'bad.query, line 2: "x"'):
        read_svmlight(path, query_sizes=write(tmp_path, b"2\nx\n", "bad.query"))
    with pytest.raises(FileFormatError, match="Leave out query_sizes"):
        read_svmlight(write(tmp_path, GOOD, "qid.txt"), query_sizes=sizes)


def test_no_qid_at_all_is_one_group_with_a_warning(tmp_path: Path) -> None:
    path = write(tmp_path, b"1 1:1\n0 1:2\n")
    with pytest.warns(DataWarning, match=r"no line has a qid, so all 2 rows are one group.*query_sizes"):
        assert read_svmlight(path).group is None


def test_large_query_numbers_are_exact(tmp_path: Path) -> None:
    path = write(
        tmp_path, b"1 qid:123456789012345678 1:1\n2 qid:123456789012345679 1:1\n0 qid:123456789012345679 1:1\n"
    )
    np.testing.assert_array_equal(read_svmlight(path).group, [123456789012345678] + [123456789012345679] * 2)


MISTAKES = [
    (b"x qid:1 1:1\n", ["line 1", 'label "x"', "label qid:Q"]),
    (b"1 qid:1 1:1\nnan qid:1 1:1\n", ["line 2", '"nan"', "finite"]),
    (b"1 qid:1 1:1\n2 qid:1 1\n", ["line 2", '"1" is not index:value', "blanks"]),
    (b"1 qid:1 1:1,2:3\n", ["line 1", 'feature 1 has the value "1,2:3"', "finite"]),
    (b"1 qid:1 1:\n", ["line 1", 'value ""']),
    (b"1 qid:1 1i2:\n", ["line 1", '"1i2:"', "index:value"]),
    (b"1 qid:1 2 3:4:5\n", ["line 1", '"2" is not index:value']),
    (b"1 qid:1 2:3:4 5\n", ["line 1", 'feature 2 has the value "3:4"']),
    (b"1 qid:1 1:1\n2\n", ["line 2", "qid is missing"]),
    (b"1 qid:1 a:1\n", ["line 1", '"a:1"']),
    (b"1 qid:1 1.5:1\n", ["line 1", '"1.5:1"']),
    (b"1 qid:1 3:1 2:1\n", ["line 1", "2 comes after 3", "increase"]),
    (b"1 qid:1 3:1 3:1\n", ["line 1", "3 repeats 3", "increase"]),
    (b"1 qid:1 1:1\n1 qid:1 0:1\n", ["line 2", "index 0", "zero_based=True"]),
    (b"1 qid:1 -1:1\n", ["line 1", "index -1", "below 1"]),
    (b"1 qid:1 99999999999:1\n", ["line 1", "above 2147483647"]),
    (b"1 qid:1 1:nan\n", ["line 1", "feature 1", '"nan"', "Impute"]),
    (b"1 qid:1 1:1 2:-inf\n", ["line 1", "feature 2", '"-inf"']),
    (b"1 qid:1 1:1e999\n", ["line 1", "feature 1", "finite"]),
    (b"1 qid:1 1:1\n# note\n1 1:1\n", ["line 3", "qid is missing", "Add qid:Q"]),
    (b"1 1:1\n1 qid:1 1:1\n", ["line 1", "qid is missing"]),
    (b"1 qid:a 1:1\n", ["line 1", '"qid:a"', "whole number"]),
    (b"1 1:1 qid:1\n", ["line 1", "directly after the label"]),
    (b"1 qid:1 qid:2 1:1\n", ["line 1", "once"]),
    (b"", ["empty"]),
    (b" \n\n", ["empty"]),
    (b"# only\n# comments\n", ["comments"]),
    (b"1 qid:1\n2 qid:1\n", ["no line has features", "n_features"]),
    (b"1 qid:1 1:1\n\x00\x01\x02", ["line 2", "binary"]),
    (b"PK\x03\x04rest", ["zip", "Unpack"]),
    (gzip.compress(GOOD, mtime=0)[:-9], ["gzip", "cut off"]),
    ("1 qid:1 1:²\n".encode(), ["line 1", "feature 1"]),
    (b"\xff\xe9 qid:1 1:1\n", ["line 1", "label"]),
    (b"label,qid,f1\n1,1,0.5\n", ["line 1", "label"]),
]


@pytest.mark.parametrize(("content", "words"), MISTAKES)
def test_mistakes_name_file_and_line(tmp_path: Path, content: bytes, words: list[str]) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_svmlight(write(tmp_path, content))
    assert [word for word in ["rank.txt", *words] if word not in str(caught.value)] == [], str(caught.value)


def test_line_numbers_count_comments(tmp_path: Path) -> None:
    lines = [b"1 qid:1 1:1 # comment"] * 30
    lines[24] = b"1 qid:1 1:oops"
    with pytest.raises(FileFormatError, match="line 25:"):
        read_svmlight(write(tmp_path, b"\n".join(lines)))
    lines[24] = b"1 1:2"
    with pytest.raises(FileFormatError, match="line 25: qid is missing"):
        read_svmlight(write(tmp_path, b"\n".join(lines)))


def test_features_above_n_features_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        FileFormatError, match=r"line 1: feature index 4 is above 3\. Raise n_features, or leave it out"
    ):
        read_svmlight(write(tmp_path, GOOD), n_features=3)
    with pytest.raises(ValueError, match="whole number of at least 1"):
        read_svmlight(write(tmp_path, GOOD), n_features=0)


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    with pytest.raises(FileFormatError, match=r'rnak.txt: there is no such file \(nearest names: "rank.txt"\)'):
        read_svmlight(tmp_path / "rnak.txt")
    with pytest.raises(FileFormatError, match="directory"):
        read_svmlight(tmp_path)
    with pytest.raises(TypeError, match="path must be"):
        read_svmlight(3)
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_svmlight("a\0b")


def test_mutants_are_read_or_named(tmp_path: Path) -> None:
    """A thousand damaged files: accepted with finite data, or an error that names the file; nothing else, and soon."""
    rng = np.random.default_rng(2026)
    base = GOOD + b"0 qid:1 1:1 2:2 3:3\n1 qid:2 4:0.25 #docid = 7\n"
    letters = b"0123456789 :.#-+eEqidnaf\n\r\t\x00\xff,x_"
    path = tmp_path / "mutant.txt"
    accepted = refused = unnamed = 0
    for _ in range(1000):
        text = bytearray(base)
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(0, len(text)))
            action = rng.integers(0, 4)
            if action == 0:
                text[place] = letters[rng.integers(0, len(letters))]
            elif action == 1:
                text.insert(place, letters[rng.integers(0, len(letters))])
            elif action == 2:
                del text[place : place + int(rng.integers(1, 6))]
            else:
                text[place:place] = text[place : place + int(rng.integers(1, 12))]
        path.write_bytes(
            gzip.compress(bytes(text), mtime=0)[: int(rng.integers(20, 90))] if rng.random() < 0.02 else bytes(text)
        )
        start = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            try:
                data = read_svmlight(path, dense=False)
            except DataError as error:
                unnamed += "mutant.txt" not in str(error)
                refused += 1
            else:
                assert np.isfinite(data.items.data).all()
                assert np.isfinite(data.score).all()
                accepted += 1
                limits = svmlight.Limits(1, None)
                slow = svmlight.parse_lines(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), "f", limits)
                np.testing.assert_array_equal(slow.label, data.score)  # fast and slow parser agree
                np.testing.assert_array_equal(slow.features.data, data.items.data)
        assert time.monotonic() - start < 5
    assert unnamed == 0
    assert accepted > 100
    assert refused > 100
