"""Clusters and covariates of comparisons: checked once, turned with the sides, and carried wherever rows go."""

from __future__ import annotations

import copy
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.model_selection import GroupKFold, train_test_split

import preflearn
from preflearn import PreferenceGP
from preflearn.data import Comparisons, from_frame, from_winners
from preflearn.data.join import concatenate
from preflearn.data.pair_table import exact_repeats
from preflearn.exceptions import DataError, DataWarning, FileFormatError

FIELDS = ("first", "second", "outcome", "weight", "group", "judge", "cluster", "covariates")
SIDES = [0, 1, 2], [1, 2, 0]


@pytest.fixture
def data() -> Comparisons:
    rng = np.random.default_rng(5)
    m, n = 30, 6
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    return Comparisons(
        rng.normal(size=(n, 2)),
        first,
        second,
        rng.choice([-1, 1], m),
        cluster=rng.choice(["p1", "p2", "p3", ""], m),
        covariates=pd.DataFrame({"length": rng.integers(-2, 3, m), "rest": rng.normal(size=m)}),
    )


def same(one: Comparisons, other: Comparisons) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.covariate_names == other.covariate_names


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_columns_of_a_frame_are_named_covariates(make) -> None:
    frame = make({"length": [1, -2, 0], "home": [True, False, True]})
    data = Comparisons(3, *SIDES, covariates=frame)
    assert data.covariate_names == ("length", "home")
    assert data.covariates.dtype == np.float64
    np.testing.assert_array_equal(data.covariates, [[1, 1], [-2, 0], [0, 1]])


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ([1, -2, 0], None),
        (np.array([1, -2, 0], dtype=np.int8), None),
        ([[1.0], [-2.0], [0.0]], None),
        (sparse.csr_array([[1.0], [-2.0], [0.0]]), None),
        (pd.Series([1, -2, 0]), None),
        (pd.Series([1, -2, 0], name="length"), ("length",)),
        (pl.Series("length", [1, -2, 0]), ("length",)),
        (pd.DataFrame({7: [1, -2, 0]}), ("7",)),
    ],
)
def test_one_column_has_many_forms(given, names) -> None:
    data = Comparisons(3, *SIDES, covariates=given)
    np.testing.assert_array_equal(data.covariates, [[1.0], [-2.0], [0.0]])
    assert data.covariate_names == names


def test_they_are_read_only_and_the_given_array_stays_the_callers_own() -> None:
    given = np.ones((3, 2))
    data = Comparisons(3, *SIDES, covariates=given, cluster=["a", "a", "b"])
    given[0, 0] = 7.0
    assert data.covariates[0, 0] == 1.0
    for field in (data.covariates, data.cluster):
        with pytest.raises(ValueError, match="read-only"):
            field[0] = 0


def test_without_them_there_are_none() -> None:
    data = Comparisons(3, *SIDES)
    assert data.cluster is data.covariates is data.covariate_names is None
    assert data.swapped().covariates is None
    assert repr(data) == "Comparisons(3 comparisons of 3 items without features)"


def test_a_constant_column_is_for_models_to_judge() -> None:
    assert Comparisons(3, *SIDES, covariates=[2, 2, 2]).covariates.tolist() == [[2], [2], [2]]


MISTAKES = [
    ("rows", [[1], [2]], DataError, ["covariates has 2 values for 3 comparisons", "one value per comparison"]),
    ("no columns", np.zeros((3, 0)), DataError, ["no columns", "(3, 0)", "leave it out"]),
    ("empty frame", pl.DataFrame(), DataError, ["no columns", "leave it out"]),
    ("nan", [[1, 2], [1, np.nan], [np.inf, 1]], DataError, ["2 missing", "2 of 3", "row 1, column 1", "nan", "Impute"]),
    ("many", np.full((3, 2), np.nan), DataError, ["6 missing", "3 of 3", "row 1, column 0; ...", "drop those"]),
    ("none", [[1, None], [1, 2], [3, 4]], DataError, ["1 missing", "1 of 3", "row 0, column 1"]),
    ("masked", np.ma.array([1, 2, 3], mask=[0, 0, 1]), DataError, ["1 missing", "row 2, column 0"]),
    (
        "null in a frame",
        pl.DataFrame({"a": [1, 2, 3], "len": [1, None, 3]}),
        DataError,
        ["1 missing", 'row 1, column "len"'],
    ),
    (
        "nullable integers",
        pd.DataFrame({"len": pd.array([1, None, 3], dtype="Int64")}),
        DataError,
        ['row 1, column "len"', "nan"],
    ),
    (
        "text column",
        pd.DataFrame({"style": ["x", "y", "z"], "len": [1, 2, 3]}),
        TypeError,
        ["1 of 2 columns of covariates", '"style"', "Encode text as numbers"],
    ),
    ("text cell", [[1, 2], [1, "tall"], [1, 2]], TypeError, ["row 1, column 1", '"tall"', "drop the column"]),
    ("words", ["a", "b", "c"], TypeError, ["row 0, column 0", '"a"', "Encode"]),
    ("complex", np.array([1j, 2, 3]), TypeError, ["complex", "must be real"]),
    ("ragged", [[1], [2, 3], [4]], TypeError, ["rectangular table of numbers"]),
    (
        "same name twice",
        pd.DataFrame([[1, 2]] * 3, columns=["len", "len"]),
        DataError,
        ["covariates", '"len"', "more than once", "own name"],
    ),
    ("one number", 1.0, TypeError, ["(n_comparisons, n_covariates)", "shape ()"]),
    ("three dimensions", np.zeros((3, 1, 1)), TypeError, ["(3, 1, 1)", "one row"]),
    ("lazy frame", pl.LazyFrame({"len": [1, 2, 3]}), TypeError, ["covariates", ".collect()"]),
]


@pytest.mark.parametrize(("given", "kind", "words"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_mistakes_are_explained(given, kind, words) -> None:
    with pytest.raises(kind) as caught:
        Comparisons(3, *SIDES, covariates=given)
    message = str(caught.value)
    assert message.startswith("Comparisons")
    assert [word for word in words if word not in message] == [], message
    assert message.endswith(".")


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (["a"], ["cluster has 1 values for 3 comparisons"]),
        (["a", None, "b"], ["cluster is missing for 1 of 3", "row 1"]),
    ],
)
def test_mistakes_in_clusters_are_explained(cluster, words) -> None:
    with pytest.raises(DataError) as caught:
        Comparisons(3, *SIDES, cluster=cluster)
    assert [word for word in words if word not in str(caught.value)] == []


def test_swapping_negates_covariates_and_twice_is_identity(data: Comparisons) -> None:
    mask = np.arange(len(data)) % 2 == 0
    once = data.swapped(mask)
    np.testing.assert_array_equal(once.covariates[mask], -data.covariates[mask])
    np.testing.assert_array_equal(once.covariates[~mask], data.covariates[~mask])
    np.testing.assert_array_equal(once.cluster, data.cluster)
    same(once.swapped(mask), data)
    assert not np.signbit(once.covariates[once.covariates == 0]).any()


@pytest.mark.parametrize("key", [3, slice(2, 20, 3), [5, 5, 1], [], np.arange(30) % 4 == 0])
def test_chosen_rows_keep_theirs(data: Comparisons, key) -> None:
    chosen, rows = data[key], np.atleast_1d(np.arange(30)[key])
    np.testing.assert_array_equal(chosen.cluster, data.cluster[rows])
    np.testing.assert_array_equal(chosen.covariates, data.covariates[rows])
    assert chosen.covariates.shape == (len(rows), 2)
    assert chosen.covariate_names is data.covariate_names


def test_dropped_comparisons_take_theirs_along() -> None:
    with pytest.warns(DataWarning, match="dropped"):
        data = Comparisons(3, [0, 1, 2], [1, 1, 0], cluster=list("abc"), covariates=[1, 2, 3], self_comparisons="drop")
    assert data.cluster.tolist() == ["a", "c"]
    assert data.covariates.tolist() == [[1], [3]]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_equal_and_still_frozen(data: Comparisons, duplicate) -> None:
    other = duplicate(data)
    same(data, other)
    assert not other.covariates.flags.writeable


def test_older_pickles_have_neither() -> None:
    state = Comparisons(3, *SIDES).__getstate__()
    for name in ("cluster", "covariates", "covariate_names"):
        del state[name]
    old = Comparisons.__new__(Comparisons)
    old.__setstate__(state)
    assert old.cluster is old.covariates is old.covariate_names is None
    assert old[1:].swapped().merged().covariates is None


def test_another_item_table_changes_neither(data: Comparisons) -> None:
    same(data.with_items(np.ones((6, 1))), data)


def test_merging_keeps_other_clusters_and_covariates_apart() -> None:
    data = Comparisons(
        2,
        [0, 1, 0, 0, 0],
        [1, 0, 1, 1, 1],
        [1, -1, 1, 1, 1],
        cluster=["p", "p", "q", "p", "p"],
        covariates=[2, -2, 2, -2, 2],
    )
    merged = data.merged()
    found = sorted(zip(merged.cluster, merged.covariates[:, 0], merged.weight, merged.outcome, strict=True))
    assert found == [("p", -2, 1, 1), ("p", 2, 3, 1), ("q", 2, 1, 1)]
    bare = data.merged(keep_labels=False)
    assert bare.weight.tolist() == [5]
    assert bare.cluster is bare.covariates is bare.covariate_names is None


def test_merged_covariates_are_seen_from_the_first_side(data: Comparisons) -> None:
    same(data.merged(), data.swapped(np.arange(30) % 3 == 0).merged())
    merged = data[[0]].swapped(np.array([data.first[0] < data.second[0]])).merged()
    sign = 1 if data.first[0] < data.second[0] else -1
    np.testing.assert_array_equal(merged.covariates, sign * data.covariates[[0]])


def test_comparisons_of_unknown_cluster_are_not_merged() -> None:
    data = Comparisons(2, [0, 0, 0, 0], [1, 1, 1, 1], cluster=["", "", "p", "p"])
    assert sorted(zip(data.merged().cluster, data.merged().weight, strict=True)) == [("", 1), ("", 1), ("p", 2)]


@pytest.mark.parametrize(
    ("cluster", "wanted"),
    [
        (None, [0, 1, 2, 3]),
        (["b", "a", "b", "a"], [1, 0, 1, 0]),
        (["b", "", "", "b"], [0, 1, 2, 0]),
        ([5, 5, "", 5], [0, 0, 1, 0]),
        ([2.0, 1.0, 1.0, 2.0], [1, 0, 0, 1]),
        ([""] * 4, [0, 1, 2, 3]),
    ],
)
def test_clusters_are_numbered_and_unknown_ones_are_their_own(cluster, wanted) -> None:
    data = Comparisons(3, [0, 1, 2, 0], [1, 2, 0, 2], cluster=cluster)
    assert data.clusters().tolist() == wanted


def test_repeats_share_items_outcome_cluster_and_covariates() -> None:
    def repeats(**labels) -> int:
        return exact_repeats(Comparisons(2, [0, 1, 0], [1, 0, 1], [1, -1, 1], **labels))

    assert repeats() == 2
    assert repeats(cluster=["p", "p", "q"]) == 1
    assert repeats(cluster=["", "", ""]) == 2
    assert repeats(covariates=[2, -2, 2]) == 2  # the second has its sides exchanged
    assert repeats(covariates=[2, 2, 2]) == 1
    assert repeats(cluster=["p", "q", "r"], covariates=[2, -2, 2]) == 0


def test_summary_and_repr_name_them(data: Comparisons) -> None:
    lines = dict(line.split(maxsplit=1) for line in data.summary().splitlines())
    unknown = data.cluster.tolist().count("")
    assert unknown
    assert lines["clusters"] == f"3 ({unknown} comparisons without one)"
    assert lines["covariates"] == '2 ("length", "rest")'
    assert repr(data) == "Comparisons(30 comparisons of 6 items with 2 features; cluster, covariates)"
    assert "covariates     1\n" in Comparisons(3, *SIDES, covariates=[1, 2, 3]).summary() + "\n"


def test_concatenation_is_concatenation_of_every_column(data: Comparisons) -> None:
    same(concatenate(data[:11], data[11:]), data)


def test_covariates_are_joined_by_name() -> None:
    old = Comparisons(3, [0], [1], covariates=pd.DataFrame({"a": [1], "b": [2]}))
    new = Comparisons(3, [1], [2], covariates=pd.DataFrame({"b": [4], "a": [3]}))
    joined = concatenate(old, new)
    assert joined.covariate_names == ("a", "b")
    assert joined.covariates.tolist() == [[1, 2], [3, 4]]
    plain = Comparisons(3, [1], [2], covariates=[[3, 4]])
    assert concatenate(old, plain).covariate_names == concatenate(plain, old).covariate_names == ("a", "b")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ([[1.0, 2.0]], None, ["old comparisons have covariates (2 without names)", "new ones have none"]),
        (None, pd.DataFrame({"len": [1]}), ["new comparisons have covariates", '"len"', "old ones have none"]),
        ([[1.0, 2.0]], [[1.0]], ["new covariates have 1 columns", "old ones 2", "same columns"]),
        (
            pd.DataFrame({"len": [1]}),
            pd.DataFrame({"len": [1], "rest": [2]}),
            ['"len", "rest"', 'old ones "len"', "same columns"],
        ),
        (pd.DataFrame({"len": [1]}), pd.DataFrame({"rest": [2]}), ['"rest"', '"len"']),
    ],
)
def test_other_covariates_are_not_joined(old, new, words) -> None:
    with pytest.raises(DataError) as caught:
        concatenate(Comparisons(3, [0], [1], covariates=old), Comparisons(3, [1], [2], covariates=new))
    message = str(caught.value)
    assert [word for word in words if word not in message] == [], message


def test_clusters_are_joined_and_others_are_unknown() -> None:
    plain, known = Comparisons(3, [0], [1]), Comparisons(3, [1], [2], cluster=["p"])
    assert concatenate(plain, plain).cluster is None
    assert concatenate(plain, known).cluster.tolist() == ["", "p"]
    assert concatenate(known, plain).cluster.tolist() == ["p", ""]


def test_columns_of_a_table_of_comparisons() -> None:
    table = pl.DataFrame(
        {"a": ["x", "y"], "b": ["y", "z"], "won": ["x", "z"], "prompt": [4, 4], "len": [10, -3], "md": [0.5, 0.0]}
    )
    data = from_frame(table, first="a", second="b", winner="won", cluster="prompt", covariates=["len", "md"])
    assert data.cluster.tolist() == [4, 4]
    assert data.covariate_names == ("len", "md")
    assert data.covariates.tolist() == [[10, 0.5], [-3, 0]]
    assert from_frame(table, first="a", second="b", covariates="len").covariates.tolist() == [[10], [-3]]
    with pytest.raises(DataError, match=r"covariates='length' is not a column"):
        from_frame(table, first="a", second="b", covariates=["length"])
    with pytest.raises(TypeError, match=r'1 of 2 columns of covariates are not numeric \("a"'):
        from_frame(table, first="a", second="b", covariates=["len", "a"])


def test_winners_and_losers_take_them() -> None:
    data = from_winners(["x", "y"], ["y", "z"], cluster=["p", "q"], covariates=[1, 2])
    assert data.cluster.tolist() == ["p", "q"]
    assert data.covariates.tolist() == [[1], [2]]


def test_scikit_learn_splits_them(data: Comparisons) -> None:
    train, test, rows_train, rows_test = train_test_split(data, np.arange(30), test_size=8, random_state=0)
    same(train, data[rows_train])
    same(test, data[rows_test])
    for train, test in GroupKFold(3).split(data, groups=data.clusters()):
        assert not set(data[train].cluster.tolist()) & set(data[test].cluster.tolist()) - {""}


def saved(data: Comparisons, path: Path) -> Path:
    preflearn.save(PreferenceGP(hyperparameters="fixed").fit(data), path)
    return path


def test_model_files_hold_them(data: Comparisons, tmp_path: Path) -> None:
    found = preflearn.load(saved(data, tmp_path / "model")).comparisons_
    same(found, data)
    assert found.cluster.dtype == data.cluster.dtype
    assert found.covariates.dtype == np.float64


def changed(path: Path, change) -> Path:
    """Rewrite the fields of the comparisons in a model file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    change(comparisons_in(header))
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def comparisons_in(value):
    """Return the fields of the comparisons somewhere in a header."""
    if isinstance(value, dict):
        if value.get("class") == "Comparisons":
            return value["fields"]
        value = list(value.values())
    found = (comparisons_in(one) for one in value) if isinstance(value, list) else ()
    return next((fields for fields in found if fields is not None), None)


def test_files_without_them_are_written_and_read_as_before(tmp_path: Path) -> None:
    path = saved(Comparisons(3, *SIDES), tmp_path / "model")
    seen: dict = {}
    changed(path, seen.update)
    assert [seen[name] for name in ("cluster", "covariates", "covariate_names")] == [None] * 3
    assert preflearn.load(path).comparisons_.cluster is None


@pytest.mark.parametrize(
    "change",
    [
        lambda fields: fields.update(covariate_names={"$": "tuple", "items": ["length"]}),
        lambda fields: fields.update(covariate_names={"$": "tuple", "items": [1, 2]}),
        lambda fields: fields.update(covariate_names="length"),
        lambda fields: fields.pop("covariates"),
        lambda fields: fields.update(covariates=fields["outcome"] | {"number": 10**6}),
        lambda fields: fields.update(covariates=[[1, 2]]),
        lambda fields: fields.update(covariates={"$": "labels", "words": True, "items": ["a"] * 30}),
        lambda fields: fields["cluster"]["items"].pop(),
        lambda fields: fields.update(cluster=3),
    ],
)
def test_damaged_files_are_found_out(data: Comparisons, tmp_path: Path, change) -> None:
    path = saved(data, tmp_path / "model")
    with pytest.raises(FileFormatError, match="damaged"):
        preflearn.load(changed(path, change))
