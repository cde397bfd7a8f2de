"""Model files: the same predictions after a round trip, whole files or none, and a clear word about any damage."""

import io
import json
import os
import pickle
import stat
import time
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Kernel,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.model_selection import GroupKFold, ShuffleSplit

from preflearn import (
    KPCR,
    KPCRCV,
    RLS,
    RLSCV,
    Comparisons,
    KPCRank,
    KPCRankCV,
    Nystroem,
    RandomFourier,
    RankRLS,
    RankRLSCV,
)
from preflearn._disk import atomic_file
from preflearn.baselines import RankBoost, RankSVM
from preflearn.exceptions import DataError, FileFormatError
from preflearn.files import FORMAT_VERSION, load, open_model, save
from preflearn.files.codec import Decoder
from preflearn.files.known_classes import KERNELS
from preflearn.kernels import KERNEL_NAMES
from preflearn.metrics import make_ranking_scorer, mean_average_precision, ndcg

RNG = np.random.RandomState(7)
X = RNG.standard_normal((40, 3))
Y = 9.0 + X @ [1.0, -0.5, 0.2] + 0.1 * RNG.standard_normal(40)
COLUMNS = np.column_stack([Y, X @ [0.3, 1.0, -2.0], np.arange(40.0) % 4])
QID = np.repeat(np.arange(8), 5)
NEW = RNG.standard_normal((11, 3))
SPARSE, SPARSE_NEW = sp.random_array((40, 30), density=0.2, rng=3, format="csr"), sp.csr_array(np.eye(11, 30))
GRAM, GRAM_NEW = X @ X.T + 1.0, NEW @ X.T + 1.0
PAIRS = (RNG.randint(0, 20, 60), RNG.randint(20, 40, 60), RNG.standard_normal(60))
NAMES = [f"item {i}" for i in range(40)]
MATCHES = Comparisons(X, *PAIRS, names=NAMES)
FEATURELESS = Comparisons(40, np.arange(39), np.arange(1, 40), 1.0 + (np.arange(39) % 3), names=NAMES)

KERNEL_OBJECTS = [
    ConstantKernel(2.0) * RBF([1.0, 2.0, 3.0]) + WhiteKernel(0.1),
    Matern(1.3, nu=1.5) + 0.5 * DotProduct(1.0),
    Matern(1.3, (1e-3, 1e3), nu=np.inf),
    RationalQuadratic(1.1, 0.7, alpha_bounds="fixed"),
    ExpSineSquared(1.2, 3.0),
    DotProduct(0.5) ** 2,
    PairwiseKernel(gamma=0.3, metric="laplacian"),
    2.0 * DotProduct(0.0) + ConstantKernel(3.0),
]


def rows(estimator, *, table=X, new=NEW, scores=Y, **fit):
    return estimator.fit(table, scores, **fit), new


# name -> a function that returns a fitted model and what to predict
CASES = {
    "RLS": lambda: rows(RLS(0.3)),
    "RLS dual": lambda: rows(RLS(0.3, "rbf")),
    "RLS sparse": lambda: rows(RLS(), table=SPARSE, new=SPARSE_NEW),
    "RLS sparse kernel": lambda: rows(RLS(kernel="rbf"), table=SPARSE, new=SPARSE_NEW),
    "RLS old sparse": lambda: rows(RLS(kernel="rbf"), table=sp.csr_matrix(SPARSE), new=sp.csr_matrix(SPARSE_NEW)),
    "RLS of columns": lambda: rows(RLS(0.3), scores=COLUMNS),
    "RLS precomputed": lambda: rows(RLS(kernel="precomputed"), table=GRAM, new=GRAM_NEW),
    "RankRLS": lambda: rows(RankRLS(2.0, ties="exclude", weighting="groups"), qid=QID),
    "RankRLS cg": lambda: rows(RankRLS(solver="cg"), qid=QID),
    "RankRLS weighted": lambda: rows(RankRLS(kernel="rbf"), qid=QID, sample_weight=np.arange(40.0) % 3),
    "RankRLS smooth": lambda: rows(RankRLS(kernel="rbf", smoothness=0.5), scores=np.where(QID < 3, np.nan, Y), qid=QID),
    "RankRLS precomputed": lambda: rows(RankRLS(kernel="precomputed"), table=GRAM, new=GRAM_NEW, qid=QID),
    "RankRLS precomputed weighted": lambda: rows(
        RankRLS(kernel="precomputed"), table=GRAM, new=GRAM_NEW, qid=QID, sample_weight=np.arange(40.0) % 3
    ),
    "RankRLS Nystroem": lambda: rows(RankRLS(kernel="rbf", approximation=Nystroem(9, random_state=1)), qid=QID),
    "RankRLS Nystroem state": lambda: rows(
        RankRLS(kernel="rbf", approximation=Nystroem(9, random_state=np.random.RandomState(4))), qid=QID
    ),
    "RankRLS Nystroem sparse": lambda: rows(
        RankRLS(kernel="rbf", approximation=Nystroem(9, random_state=1)), table=SPARSE, new=SPARSE_NEW, qid=QID
    ),
    "RankRLS Fourier": lambda: rows(
        RankRLS(kernel="matern32", approximation=RandomFourier(8, random_state=1)), qid=QID
    ),
    "RankRLS comparisons": lambda: (RankRLS(kernel="rbf").fit(MATCHES), MATCHES),
    "RankRLS featureless": lambda: (RankRLS().fit(FEATURELESS), FEATURELESS),
    "RankRLSCV": lambda: rows(RankRLSCV(ties=("include", "exclude"), store_cv_results=True), qid=QID),
    "RankRLSCV options": lambda: rows(
        RankRLSCV(
            np.logspace(-2, 2, 5), "rbf", cv=GroupKFold(4), scoring=make_ranking_scorer(ndcg, k=3, gain="linear")
        ),
        qid=QID,
    ),
    "RankRLSCV comparisons": lambda: (RankRLSCV(kernel="rbf").fit(MATCHES), MATCHES),
    "RLSCV": lambda: rows(RLSCV(kernel="rbf", store_cv_results=True), qid=QID),
    "RankRLSCV of columns": lambda: rows(RankRLSCV(kernel="rbf", store_cv_results=True), scores=COLUMNS, qid=QID),
    "RankRLS of columns, precomputed": lambda: rows(
        RankRLS(kernel="precomputed"), table=GRAM, new=GRAM_NEW, scores=COLUMNS, sample_weight=np.arange(40.0) % 3
    ),
    "KPCR": lambda: rows(KPCR(4)),
    "KPCR of columns": lambda: rows(KPCR(4), scores=COLUMNS),
    "KPCRCV": lambda: rows(KPCRCV(4, ["linear", "rbf"]), qid=QID),
    "KPCR linear": lambda: rows(KPCR(2, "linear")),
    "KPCR all": lambda: rows(KPCR(None, "rbf"), sample_weight=1.0 + np.arange(40.0) % 3),
    "KPCRank": lambda: rows(KPCRank(6, ties="exclude"), qid=QID),
    "KPCRank weighted": lambda: rows(KPCRank(6, "linear"), qid=QID, sample_weight=np.arange(40.0) % 3),
    "KPCRank precomputed": lambda: rows(
        KPCRank(3, "precomputed"), table=GRAM, new=GRAM_NEW, qid=QID, sample_weight=np.arange(40.0) % 3
    ),
    "KPCRank of differences": lambda: rows(KPCRank(4, components_of="differences"), qid=QID),
    "KPCRank sparse": lambda: rows(KPCRank(6), table=SPARSE, new=SPARSE_NEW, qid=QID),
    "KPCRank Nystroem": lambda: rows(KPCRank(6, approximation=Nystroem(12, random_state=0)), qid=QID),
    "KPCRank Fourier": lambda: rows(KPCRank(6, approximation=RandomFourier(12, random_state=0)), qid=QID),
    "KPCRank comparisons": lambda: (KPCRank(7).fit(MATCHES), MATCHES),
    "KPCRankCV": lambda: rows(KPCRankCV(8, ["linear", RBF(0.5), "poly2"]), qid=QID),
    "KPCRankCV candidates": lambda: rows(KPCRankCV(range(1, 6), scoring="kendall_tau_b"), qid=QID),
    "KPCRankCV comparisons": lambda: (KPCRankCV(8).fit(MATCHES), MATCHES),
    "RankBoost": lambda: rows(RankBoost(9), qid=QID),
    "RankBoost comparisons": lambda: (RankBoost(9).fit(MATCHES), MATCHES),
    "RankSVM": lambda: rows(RankSVM(0.3, loss="hinge"), qid=QID),
    "RankSVM dual": lambda: (RankSVM(0.3, "rbf", tol=1e-3).fit(MATCHES), MATCHES),
}
CASES |= {f"kernel {name}": lambda name=name: rows(RankRLS(kernel=name), qid=QID) for name in KERNEL_NAMES}
CASES |= {f"kernel {kernel}": lambda kernel=kernel: rows(KPCRank(5, kernel), qid=QID) for kernel in KERNEL_OBJECTS}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.preflearn"


@pytest.fixture
def saved(path):
    save(RankRLS(kernel="rbf").fit(X, Y, qid=QID), path)
    return path


@pytest.mark.parametrize("name", CASES)
def test_predictions_are_the_same_after_a_round_trip(name, path):
    model, new = CASES[name]()
    save(model, path)
    again = load(path)
    assert type(again) is type(model)
    np.testing.assert_allclose(again.predict(new), model.predict(new), rtol=1e-12, atol=1e-12)
    if hasattr(model, "transform"):
        np.testing.assert_allclose(again.transform(new), model.transform(new), rtol=1e-12, atol=1e-12)
        assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())


@pytest.mark.parametrize("name", CASES)
def test_everything_that_fit_left_and_every_parameter_comes_back(name, path):
    model, _ = CASES[name]()
    save(model, path)
    again = load(path)
    assert sorted(vars(again)) == sorted(vars(model))
    assert str(getattr(again, "kernel_", None)) == str(getattr(model, "kernel_", None))
    for key, value in vars(model).items():
        found = getattr(again, key)
        if isinstance(value, np.ndarray):
            assert found.dtype == value.dtype
            np.testing.assert_array_equal(found, value)
        elif isinstance(value, int | float | str) or value is None:
            assert (type(found), found) == (type(value), value)
        else:
            assert type(found) in (type(value), list)


def test_the_cases_cover_every_kernel():
    assert set(KERNELS) == {type(part).__name__ for kernel in KERNEL_OBJECTS for part in parts(kernel)}


def parts(kernel):
    """Return a kernel and all kernels it is made of."""
    children = [getattr(kernel, name) for name in ("k1", "k2", "kernel") if hasattr(kernel, name)]
    return [kernel] + [part for child in children for part in parts(child)]


def test_bounds_of_hyperparameters_come_back(path):
    kernel = 2.0 * RBF([1.0, 2.0, 3.0], [(1e-1, 1e1), (1e-2, 1e2), (1e-3, 1e3)]) + WhiteKernel(0.1, "fixed")
    save(RLS(kernel=kernel).fit(X, Y), path)
    again = load(path).kernel
    assert again == kernel
    np.testing.assert_array_equal(again.bounds, kernel.bounds)


def test_a_loaded_model_can_be_fitted_and_cloned_again(saved):
    model = load(saved)
    np.testing.assert_array_equal(model.fit(X, Y, qid=QID).predict(NEW), load(saved).predict(NEW))


def test_names_of_columns_come_back(path):
    import pandas as pd

    table = pd.DataFrame(X, columns=["a", "b", "c"])
    save(RankRLS().fit(table, Y, qid=QID), path)
    assert list(load(path).feature_names_in_) == ["a", "b", "c"]


def test_notes_come_back(path):
    notes = {"item_names": ["ä", "b\n", "\ud800"], "n": 3, "nested": {"x": [1.5, None, True, float("inf")]}}
    save(RankRLS().fit(FEATURELESS), path, notes=notes)
    assert open_model(path)[1] == notes


def test_saving_the_same_model_twice_gives_the_same_arrays_and_header(saved, path):
    with zipfile.ZipFile(saved) as archive:
        before = {name: archive.read(name) for name in archive.namelist()}
    save(load(saved), path)
    with zipfile.ZipFile(path) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == before


class OwnKernel(RBF):
    pass


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RLS(kernel=OwnKernel()), "kernel"),
        (RLS(kernel=PairwiseKernel(metric=lambda x, y, gamma: x @ y)), "kernel"),
        (RankRLSCV(cv=ShuffleSplit(1, random_state=0)), r"set_params\(cv="),
        (
            RankRLSCV(scoring=make_ranking_scorer(lambda t, s: mean_average_precision(t > 0, s))),
            r"a function.*set_params\(scor",
        ),
    ],
    ids=["kernel class", "function", "splitter", "metric"],
)
def test_what_is_code_is_refused_with_a_cure_and_leaves_no_file(model, message, path):
    model.fit(X, Y)
    with pytest.raises(DataError, match=message):
        save(model, path)
    assert list(path.parent.iterdir()) == []


def test_only_fitted_estimators_of_preflearn_are_saved(path):
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import Ridge

    with pytest.raises(TypeError, match="RankRLS"):
        save(Ridge().fit(X, Y), path)
    with pytest.raises(NotFittedError):
        save(RankRLS(), path)
    assert not path.exists()


# --- files that are not what they should be ---


def change_header(path, change):
    """Rewrite the header of a model file by a function."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    change(header)
    members["header.json"] = json.dumps(header).encode()
    rewrite(path, members)


def rewrite(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def put(*keys):
    """Return a change that sets header[keys[0]]...[keys[-2]] = keys[-1]."""

    def change(header):
        for key in keys[:-2]:
            header = header[key]
        header[keys[-2]] = keys[-1]

    return change


HEADERS = {
    "other format": (put("format", "tea"), "not a model file"),
    "newer": (lambda h: h.update(format_version=FORMAT_VERSION + 1, preflearn_version="9.9"), "9.9.*Upgrade"),
    "version as text": (put("format_version", "1"), "damaged"),
    "unknown class": (put("class", "Ridge"), "'Ridge'.*RankRLS.*Upgrade"),
    "class is a list": (lambda h: h.update({"class": "os.system"}), "unknown class"),
    "no parameters": (lambda h: h.pop("parameters"), "damaged"),
    "unknown parameter": (put("parameters", "beta", 1), "damaged.*beta"),
    "method as attribute": (put("fitted", "predict", 1), "predict"),
    "private attribute": (put("fitted", "__class__", 1), "__class__"),
    "parameter as attribute": (put("fitted", "alpha", 1), "alpha"),
    "nothing fitted": (put("fitted", {}), "damaged"),
    "unknown kernel": (put("fitted", "kernel_", {"$": "object", "class": "eval", "fields": {}}), "eval"),
    "estimator as kernel": (put("fitted", "kernel_", {"$": "object", "class": "KFold", "fields": {}}), "KFold"),
    "unknown kind": (put("fitted", "kernel_", {"$": "pickle"}), "pickle"),
    "unknown function": (put("fitted", "kernel_", {"$": "function", "name": "system"}), "system"),
    "kernel fields": (put("fitted", "kernel_", "fields", {"length_scale": 1.0}), "length_scale_bounds"),
    "length scales": (put("fitted", "kernel_", "fields", "length_scale", [1.0, 2.0]), "length scales"),
    "length scale text": (put("fitted", "kernel_", "fields", "length_scale", "x"), "damaged"),
    "features": (put("fitted", "n_features_in_", 4), "shape"),
    "features text": (put("fitted", "n_features_in_", "3"), "features"),
    "huge": (put("fitted", "n_features_in_", 10**15), "shape"),
    "dtype": (put("fitted", "dual_coef_", "dtype", "|O8"), "type"),
    "other dtype": (put("fitted", "dual_coef_", "dtype", "<i8"), "float64"),
    "number": (put("fitted", "dual_coef_", "number", 99), "missing"),
    "shape": (put("fitted", "dual_coef_", "shape", [39]), "shape"),
    "bomb": (put("fitted", "dual_coef_", "shape", [10**15]), "bytes"),
    "negative": (put("fitted", "dual_coef_", "shape", [-40]), "shape"),
    "fractional": (put("fitted", "dual_coef_", "shape", [40.0]), "shape"),
    "two columns": (
        put("fitted", "dual_coef_", {"$": "array", "number": 0, "dtype": "<f8", "shape": [40, 3]}),
        "should",
    ),
    "notes": (put("notes", [1]), "notes"),
    "deep": (put("notes", json.loads("[" * 900 + "]" * 900)), "notes|recursion"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_changed_header_is_answered_by_one_clear_error(name, saved):
    change, message = HEADERS[name]
    change_header(saved, change)
    with pytest.raises(FileFormatError, match=message) as caught:
        load(saved)
    assert str(saved) in str(caught.value)


def test_a_sparse_array_with_indices_out_of_range_is_refused(path):
    save(RLS(kernel="rbf").fit(SPARSE, Y), path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    number = json.loads(members["header.json"])["fitted"]["X_fit_"]["parts"]["indices"]["number"]
    indices = np.lib.format.read_array(io.BytesIO(members[f"{number}.npy"])).copy()
    indices[0] = 10**6
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, indices)
    rewrite(path, members | {f"{number}.npy": buffer.getvalue()})
    with pytest.raises(FileFormatError, match="damaged"):
        load(path)


def test_sparse_parts_are_checked_before_they_are_used():
    parts = {"data": np.ones(2), "indices": np.array([0, 5]), "indptr": np.array([0, 1, 2])}
    described = {name: {"$": "array", "number": name, "dtype": "", "shape": []} for name in parts}
    value = {"$": "sparse", "class": "csr_array", "shape": [2, 6], "parts": described}
    decoder = Decoder(lambda name, dtype, shape: parts[name])
    assert decoder.decode(value).toarray()[1, 5] == 1.0
    with pytest.raises(ValueError):
        decoder.decode(value | {"shape": [2, 5]})


def test_values_that_are_not_finite_are_refused(path):
    model = RankRLS().fit(X, Y)
    model.coef_[1] = np.nan
    save(model, path)
    with pytest.raises(FileFormatError, match="finite"):
        load(path)


FILES = {
    "empty": (b"", "empty"),
    "text": (b"2 qid:1 1:0.5\n", "not a model file"),
    "pickle": (pickle.dumps({"a": 1}), "not a model file"),
    "start of a zip": (b"PK\x03\x04" + b"\0" * 50, "damaged or cut off"),
}


@pytest.mark.parametrize("name", FILES)
def test_other_files_are_named_for_what_they_are(name, path):
    content, message = FILES[name]
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        load(path)


def test_other_archives_are_refused(saved):
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    rewrite(saved, members, zipfile.ZIP_DEFLATED)  # could be a bomb
    with pytest.raises(FileFormatError, match="repacked"):
        load(saved)
    rewrite(saved, {"word/document.xml": "<x/>"})
    with pytest.raises(FileFormatError, match="zip archive, but not a model"):
        load(saved)
    rewrite(saved, members | {"header.json": b"[1"})
    with pytest.raises(FileFormatError, match="damaged"):
        load(saved)
    rewrite(saved, members | {"header.json": b"[1]"})
    with pytest.raises(FileFormatError, match="not a JSON object"):
        load(saved)


def test_missing_files_and_directories_are_named(saved):
    with pytest.raises(FileFormatError, match=r"no such file.*model\.preflearn"):
        load(saved.with_name("modle.preflearn"))
    with pytest.raises(FileFormatError, match="directory"):
        load(saved.parent)


@pytest.mark.slow
def test_every_cut_and_every_flipped_byte_is_noticed_or_harmless(saved):
    whole = saved.read_bytes()
    truth = load(saved).predict(NEW)
    rng = np.random.default_rng(0)
    for cut in rng.integers(0, len(whole), 60):
        saved.write_bytes(whole[:cut])
        with pytest.raises(FileFormatError):
            load(saved)
    refused = 0
    for place in rng.integers(0, len(whole), 400):
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.integers(8)
        saved.write_bytes(changed)
        try:
            np.testing.assert_array_equal(load(saved).predict(NEW), truth)
        except FileFormatError:
            refused += 1
    assert refused > 300


# --- whole files or none ---


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError, OSError])
def test_a_failure_while_writing_leaves_what_was_there_and_nothing_else(failure, saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*_, **__):
        raise failure

    for module, name in (("numpy.lib.format", "write_array"), ("os", "fsync"), ("pathlib.Path", "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(f"{module}.{name}", fail)
            with pytest.raises(failure):
                save(RLS().fit(X, Y), saved)
        assert saved.read_bytes() == before
        assert [entry.name for entry in saved.parent.iterdir()] == [saved.name]


def test_a_new_file_has_the_permissions_of_new_files_and_a_link_stays_a_link(tmp_path, path):
    target = tmp_path / "target.preflearn"
    path.symlink_to(target)
    save(RLS().fit(X, Y), path)
    other = tmp_path / "other"
    other.touch()
    assert path.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)
    assert load(path).n_features_in_ == 3


def test_temporary_files_of_killed_processes_are_removed_when_they_are_old(path):
    old, young, foreign = (
        path.parent / f".{name}.preflearn-tmp" for name in (f"{path.name}.1", f"{path.name}.2", "x.1")
    )
    for left in (old, young, foreign):
        left.touch()
    for left in (old, foreign):
        os.utime(left, (time.time() - 7200,) * 2)
    with atomic_file(path) as stream:
        stream.write(b"x")
    assert (old.exists(), young.exists(), foreign.exists()) == (False, True, True)


def test_pipes_are_written_to_and_not_replaced(path):
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_file(path) as stream:
        stream.write(b"hello")
    assert os.read(reader, 10) == b"hello"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_the_table_of_kernels_holds_scikit_learn_kernels_only():
    assert all(issubclass(kind, Kernel) and kind.__module__.startswith("sklearn.") for kind in KERNELS.values())
