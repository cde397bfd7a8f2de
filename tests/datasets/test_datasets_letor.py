"""load_letor: both layouts give the published folds; mistakes are named. scale_per_group against a plain loop."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from preflearn.data import Ratings
from preflearn.datasets import load_letor, scale_per_group
from preflearn.exceptions import DataError, FileFormatError

PART = {number: [10 * number, 10 * number + 1] for number in range(1, 6)}  # part -> its queries


def lines(queries, n_features=3):
    """Three documents per query; the last feature is the query's number, so that rows can be recognised."""
    rows = []
    for query in queries:
        rows += [f"{grade} qid:{query} 1:{grade / 2} {n_features}:{query} #docid = D{grade}" for grade in (2, 0, 1)]
    return "\n".join(rows) + "\n"


def parts_of(fold):
    """Return the published roles: the numbers of the training parts, the validation part and the test part."""
    validation = 5 if fold == 1 else fold - 1
    return [part for part in range(1, 6) if part not in (fold, validation)], validation, fold


@pytest.fixture
def parts(tmp_path):
    for number, queries in PART.items():
        (tmp_path / f"S{number}.txt").write_text(lines(queries))
    return tmp_path


@pytest.fixture(params=[("train", "vali", "test"), ("trainingset", "validationset", "testset")])
def folds(request, tmp_path):
    for fold in PART:
        folder = tmp_path / f"Fold{fold}"
        folder.mkdir()
        train, validation, test = parts_of(fold)
        for stem, members in zip(request.param, (train, [validation], [test]), strict=True):
            (folder / f"{stem}.txt").write_text("".join(lines(PART[member]) for member in members))
    return tmp_path


def check(loaded, number):
    train, validation, test = parts_of(number)
    assert loaded.number == number
    for ratings, members in ((loaded.train, train), (loaded.validation, [validation]), (loaded.test, [test])):
        queries = [query for member in members for query in PART[member]]
        np.testing.assert_array_equal(ratings.group, np.repeat(queries, 3))
        np.testing.assert_array_equal(ratings.items[:, -1], np.repeat(queries, 3))
        np.testing.assert_array_equal(ratings.score, [2, 0, 1] * len(queries))
        assert ratings.names.tolist() == ["D2", "D0", "D1"] * len(queries)


def test_parts_make_the_five_published_folds(parts):
    loaded = load_letor(parts)
    assert [fold.number for fold in loaded] == [1, 2, 3, 4, 5]
    for number, fold in enumerate(loaded, start=1):
        check(fold, number)


def test_fold_directories_are_read_as_they_are(folds):
    loaded = load_letor(str(folds))
    assert len(loaded) == 5
    for number, fold in enumerate(loaded, start=1):
        check(fold, number)


@pytest.mark.parametrize("number", [1, 4])
def test_one_fold_can_be_chosen(parts, number):
    (fold,) = load_letor(parts, fold=number)
    check(fold, number)


def test_gzip_and_upper_case_are_read(parts):
    for number in (2, 5):
        path = parts / f"S{number}.txt"
        (parts / f"s{number}.TXT.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
    check(load_letor(parts)[2], 3)


def test_all_files_get_the_same_number_of_features(parts):
    (parts / "S3.txt").write_text(lines(PART[3], n_features=7))
    for fold in load_letor(parts):
        assert {part.n_features for part in (fold.train, fold.validation, fold.test)} == {7}
    assert load_letor(parts, n_features=9)[0].test.n_features == 9


def test_sparse_files_stay_sparse_and_agree(parts):
    from scipy import sparse

    (parts / "S3.txt").write_text(lines(PART[3], n_features=5000))
    (fold,) = load_letor(parts, fold=1)
    for ratings in (fold.train, fold.validation, fold.test):
        assert sparse.issparse(ratings.items)
        assert ratings.n_features == 5000
    assert fold.train.items[[6], [4999]] == [30]
    assert fold.train.items.shape == (18, 5000)


def test_a_missing_directory_and_a_file_are_told_apart(tmp_path):
    with pytest.raises(DataError, match=r"nowhere does not exist. Give the directory with Fold1"):
        load_letor(tmp_path / "nowhere")
    (tmp_path / "S1.txt").write_text("")
    with pytest.raises(DataError, match=r"S1\.txt is a file"):
        load_letor(tmp_path / "S1.txt")


def test_a_missing_part_is_named_with_what_was_found(parts):
    (parts / "S4.txt").unlink()
    with pytest.raises(DataError, match=r'has no S4.txt or S4.txt.gz; found "S1.txt", "S2.txt", "S3.txt", "S5.txt"'):
        load_letor(parts)


def test_a_missing_fold_and_a_missing_file_are_named(tmp_path):
    (tmp_path / "Fold2").mkdir()
    (tmp_path / "Fold2" / "train.txt").write_text(lines([1]))
    with pytest.raises(DataError, match=r'lacks Fold1, Fold3, Fold4, Fold5; found "Fold2". .*fold='):
        load_letor(tmp_path)
    with pytest.raises(DataError, match=r'Fold2 has no vali.txt or .*; found "train.txt"'):
        load_letor(tmp_path, fold=2)


def test_an_unrelated_directory_is_described_and_a_better_one_suggested(tmp_path):
    with pytest.raises(DataError, match=r"neither Fold1 .* it is empty"):
        load_letor(tmp_path)
    (tmp_path / "Data" / "Fold1").mkdir(parents=True)
    with pytest.raises(DataError, match=r'found "Data". Did you mean .*Data\?'):
        load_letor(tmp_path)


def test_two_files_for_one_part_are_refused(parts):
    (parts / "S1.txt.gz").write_bytes(gzip.compress(b"1 qid:1 1:1\n", mtime=0))
    with pytest.raises(DataError, match=r"both S1.txt and S1.txt.gz"):
        load_letor(parts)


def test_a_query_in_two_parts_is_refused(parts):
    (parts / "S2.txt").write_text(lines([20, 50]))
    with pytest.raises(DataError, match=r"fold 1: 1 of 2 queries of .*S5\.txt occur .*query 50 in .*S2\.txt"):
        load_letor(parts)


def test_a_file_without_queries_is_refused(parts):
    (parts / "S2.txt").write_text("1 1:0.5\n0 1:0.2\n")
    with pytest.warns(UserWarning, match="qid"), pytest.raises(FileFormatError, match=r"S2.txt: the lines have no qid"):
        load_letor(parts)


@pytest.mark.parametrize(("fold", "kind"), [(0, ValueError), (6, ValueError), ("1", TypeError)])
def test_an_impossible_fold_is_refused(parts, fold, kind):
    with pytest.raises(kind, match="fold must be"):
        load_letor(parts, fold=fold)


@pytest.mark.slow
@pytest.mark.data
def test_ohsumed_has_the_published_counts(data_dir):
    folder = data_dir / "letor_ohsumed"
    if not folder.is_dir():
        pytest.skip(f"{folder} not found")
    folds = load_letor(folder)
    tests = [fold.test for fold in folds]
    assert [part.n_items for part in tests] == [3383, 2570, 3076, 3573, 3538]
    assert sum(part.n_items for part in tests) == 16140
    assert sum(part.n_groups for part in tests) == 106
    assert len({query for part in tests for query in part.group.tolist()}) == 106
    for fold in folds:
        assert fold.train.n_items + fold.validation.n_items + fold.test.n_items == 16140
        assert fold.train.n_features == 25
        assert set(fold.train.score.tolist()) == {0.0, 1.0, 2.0}
    assert folds[0].test.group.min() == 85
    scaled = scale_per_group(folds[0].train).items
    assert (scaled.min(), scaled.max()) == (0.0, 1.0)


def scaled_by_loop(items, group):
    out = np.zeros_like(items)
    for g in set(group.tolist()):
        rows = np.flatnonzero(group == g)
        for k in range(items.shape[1]):
            x = items[rows, k]
            if x.max() > x.min():
                out[rows, k] = (x - x.min()) / (x.max() - x.min())
    return out


@pytest.mark.parametrize("seed", range(5))
def test_scaling_equals_a_plain_loop_in_any_order_of_rows(seed):
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(60, 4)) * 10.0 ** rng.integers(-8, 9, size=4)
    group = rng.integers(0, 9, size=60)
    items[group == 3, 1] = 5.0
    ratings = Ratings(items, rng.normal(size=60), group, weight=rng.random(60), names=[f"n{i}" for i in range(60)])
    scaled = scale_per_group(ratings)
    np.testing.assert_allclose(scaled.items, scaled_by_loop(items, group), rtol=1e-12)
    for name in ("score", "group", "weight", "names"):
        np.testing.assert_array_equal(getattr(scaled, name), getattr(ratings, name))


def test_scaling_ignores_shifts_and_positive_factors_of_a_group():
    rng = np.random.default_rng(0)
    items, group = rng.normal(size=(30, 3)), np.repeat([0, 1, 2], 10)
    moved = items * np.array([2.0, 30.0, 0.5])[group, None] + np.array([5.0, -1.0, 0.0])[group, None]
    a, b = (scale_per_group(Ratings(table, rng.normal(size=30), group)).items for table in (items, moved))
    np.testing.assert_allclose(a, b, atol=1e-12)


def test_scaling_keeps_feature_names_and_needs_no_group():
    import pandas as pd

    ratings = Ratings(pd.DataFrame({"length": [1.0, 3.0], "age": [2.0, 2.0]}), [0, 1])
    scaled = scale_per_group(ratings)
    assert scaled.feature_names == ("length", "age")
    np.testing.assert_array_equal(scaled.items, [[0, 0], [1, 0]])


def test_scaling_refuses_sparse_tables_and_other_objects():
    from scipy import sparse

    with pytest.raises(TypeError, match=r"sparse.*dense=True"):
        scale_per_group(Ratings(sparse.eye_array(3, format="csr"), [0, 1, 2]))
    with pytest.raises(TypeError, match="expected Ratings; got ndarray"):
        scale_per_group(np.eye(3))
