"""Files that were damaged by chance or made on purpose: one clear error, or a model that predicts; no code is run."""

import copy
import io
import json
import pickle
import warnings
import zipfile

import numpy as np
import pytest
from fitted_models import (
    DRINKS,
    LABELS,
    MATCHES,
    OF_LIKELIHOODS,
    OTHERS,
    PIPELINES,
    WIDE_COMPARISONS,
    fitted,
    quietly_fitted,
)
from sklearn.base import clone

import preflearn
from fast_share import cases
from preflearn import KPCR, Bags, Comparisons, RankRLS
from preflearn.baselines import RankBoost
from preflearn.exceptions import DataError, FileFormatError
from preflearn.files import FORMAT_VERSION
from preflearn.files.known_classes import ESTIMATORS

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.preflearn"


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def npy(array, **options):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), **options)
    return buffer.getvalue()


# --- what is asked of a model that was read: whatever it says, it says in numbers ---


def of_items(model):
    found = [model.predict_proba(model.comparisons_), model.preference_matrix().probability, model.leave_one_out()]
    return found + ([] if model.kernel_ is None else [model.predict_utility(return_std=True)])


def of_matches(model):
    return [model.predict_proba(model.comparisons_), model.predict_utility(return_std=True)]


def of_labels(model):
    return [model.preference_matrix(model._edges.X), model.predict_utility(model._edges.X)]


def of_pipeline(model):
    n = getattr(model[0], "transformer_", model[-1]).n_features_in_  # the first step may have become None
    return [model.predict_proba(Comparisons(np.arange(3.0 * n).reshape(3, n) / n, [0, 1], [1, 2]))]


def of_pairs(model):
    return [model.predict_proba(Comparisons(np.eye(2, model.n_features_in_), [0], [1]))]


def of_rows(model):
    rows = np.eye(3, model.n_features_in_)
    return [model.predict(Bags([rows]) if getattr(model, "on_bags_", False) else rows)]


def of_numbers(model):
    return [model.decision_function(Comparisons(model.n_items_, [0, 1], [1, 0]))]


def of_names(model):
    asked = None if model.item_names_ is None else Comparisons(None, model.item_names_[:1], model.item_names_[1:2])
    return [
        model.utilities_,
        model.scores_,
        *of_numbers(model),
        *([] if asked is None else [model.decision_function(asked)]),
    ]


def of_rows_of_labels(model):
    return [model.predict_utility(np.eye(3, model.n_features_in_))]


# with ties, where a likelihood can be with and without: they come last
ONE_OF_EACH_CLASS = {type(model.likelihood): name for name, (model, _) in OF_LIKELIHOODS.items()}.values()
CASES = {
    "features": (lambda: fitted("features")[0], of_items),
    "frame": (lambda: fitted("frame")[0], of_items),
    "precomputed": (lambda: fitted("precomputed")[0], of_items),
    "numbers": (lambda: fitted("numbers")[0], of_items),
    "bags": (lambda: fitted("bags")[0], of_items),
    "EP ties": (lambda: fitted("EP ties")[0], of_items),
    **{name: (lambda name=name: fitted(name)[0], of_items) for name in ONE_OF_EACH_CLASS},
    "average EP": (lambda: fitted("average EP")[0], of_items),
    "pair effects": (lambda: fitted("pair effects")[0], of_items),
    "only skew functions": (lambda: fitted("only skew functions")[0], of_items),
    "judges": (lambda: fitted("judges")[0], of_items),
    "judges with features": (lambda: fitted("judges with features")[0], of_items),
    "thresholds": (lambda: quietly_fitted(*MATCHES["thresholds"]), of_matches),
    "side and covariates": (lambda: quietly_fitted(*MATCHES["side and covariates"]), of_matches),
    "labels own kernels": (lambda: quietly_fitted(LABELS["labels own kernels"][0], DRINKS), of_labels),
    "StandardScaler": (lambda: quietly_fitted(PIPELINES["StandardScaler"][0], WIDE_COMPARISONS), of_pipeline),
    "KernelPCA": (lambda: quietly_fitted(PIPELINES["KernelPCA"][0], WIDE_COMPARISONS), of_pipeline),
    "LabelConstraintSVM": (lambda: quietly_fitted(*OTHERS["LabelConstraintSVM"]), of_rows_of_labels),
    "LabelFrequencies": (lambda: quietly_fitted(*OTHERS["LabelFrequencies"]), of_rows_of_labels),
    "PairAugmented": (lambda: quietly_fitted(*OTHERS["PairAugmented"]), of_pairs),
    "SVDRank": (lambda: quietly_fitted(*OTHERS["SVDRank"]), of_numbers),
    "PageRank": (lambda: quietly_fitted(*OTHERS["PageRank"]), of_names),
    "RankRLS": (lambda: RankRLS(kernel="rbf").fit(np.eye(6, 3), np.arange(6.0)), of_rows),
    "RankBoost": (lambda: RankBoost(5).fit(np.eye(6, 3), np.arange(6.0)), of_rows),
    "KPCR of columns": (lambda: KPCR(2, "linear").fit(np.eye(6, 3), np.eye(6, 2)), of_rows),
}

VALUES = [
    None, True, False, 0, 1, -1, 2, 7, 10**6, 10**15, -(10**30), 0.5, -0.5, 1e-300, 1e300, 1.7e308, "", "x", "predict",
    [], [1], {}, {"$": "tuple", "items": []}, {"$": "float", "value": "nan"}, {"$": "float", "value": "inf"},
    {"$": "dict", "items": []}, {"$": "pickle"}, {"$": "labels", "words": False, "items": [1, 2]},
    {"$": "object", "class": "WhiteKernel", "fields": {"noise_level": 1.0, "noise_level_bounds": "fixed"}},
    {"$": "object", "class": "Probit", "fields": {"scale": 1.0, "tie": None, "tie_fixed": False}},
]  # fmt: skip
NUMBERS = [0.0, 1.0, -1.0, 1e-300, 1e30, 1e154, 1.7e308, np.inf, np.nan]


def mutated(rng, whole, members):
    """Return the bytes of a file with one thing wrong: in its bytes, in its header or in an array."""
    kind = rng.integers(10)
    if kind < 2:
        content = bytearray(whole)
        place = int(rng.integers(len(content)))
        if kind == 0:
            content[place] ^= 1 << int(rng.integers(8))
        else:
            del content[place : place + int(rng.integers(1, 200))]
        return bytes(content)
    members = dict(members)
    if kind < 7:
        header = json.loads(members["header.json"])
        change_header(rng, header)
        members["header.json"] = json.dumps(header).encode()
    else:
        change_array(rng, members)
    buffer = io.BytesIO()
    write(buffer, members)
    return buffer.getvalue()


def places(value, found):
    """Collect all (container, key) of a header, but for those of its format."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((value, key))
        if isinstance(item, dict | list):
            places(item, found)
    return found


def change_header(rng, header):
    every = [place for place in places(header, []) if place[1] not in ("format", "format_version")]
    holder, key = every[rng.integers(len(every))]
    what = rng.integers(6)
    if what == 0 and isinstance(holder, dict):
        del holder[key]
    elif what == 1:
        other, name = every[rng.integers(len(every))]
        holder[key] = copy.deepcopy(other[name]) if other is not holder else None
    elif what == 2 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = holder[key] + int(rng.integers(-3, 4)) if rng.integers(2) else holder[key] * 1e3
    else:
        holder[key] = VALUES[rng.integers(len(VALUES))]


def change_array(rng, members):
    names = [name for name in members if name.endswith(".npy")]
    name = names[rng.integers(len(names))]
    array = np.lib.format.read_array(io.BytesIO(members[name])).copy()
    what = rng.integers(4)
    if what == 0:
        members[name] = members[names[rng.integers(len(names))]]
        return
    if what == 1:
        array = array.astype([np.float32, np.int64, np.float64][rng.integers(3)])
    elif array.size:
        value = NUMBERS[rng.integers(len(NUMBERS))]
        if array.dtype.kind != "f":
            value = int(np.clip(np.nan_to_num(value), -5 if array.dtype.kind == "i" else 0, 10**6))
        array.ravel()[rng.integers(array.size) if what == 2 else slice(None)] = value
    members[name] = npy(array)


def try_mutations(name, count, seed, path):
    make, ask = CASES[name]
    preflearn.save(make(), path)
    whole, members = path.read_bytes(), members_of(path)
    rng, refused = np.random.default_rng(seed), 0
    for number in range(count):
        path.write_bytes(mutated(rng, whole, members))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                model = preflearn.load(path)
            except FileFormatError:
                refused += 1
                continue
            try:
                answers = ask(model)
            except Exception as error:
                raise AssertionError(f"mutation {number} of {name!r} (seed {seed}) was read, but: {error!r}") from error
        assert all(np.isfinite(answer).all() for answer in answers), (number, seed)
    assert refused > count / 3


@pytest.mark.parametrize("name", CASES)
def test_a_mutated_file_is_refused_or_read_as_a_model_that_predicts(name, path):
    try_mutations(name, 30, 0, path)


@pytest.mark.parametrize("name", CASES)
def test_thousands_of_mutated_files_are_refused_or_read_as_models_that_predict(name, path):
    try_mutations(name, cases(40, 600), 1, path)


# --- files of other versions, and files made on purpose ---


@pytest.fixture
def saved(path):
    preflearn.save(fitted("features")[0], path)
    return path


def change(path, function):
    """Change the header of a file by a function."""
    members = members_of(path)
    header = json.loads(members["header.json"])
    function(header)
    write(path, members | {"header.json": json.dumps(header).encode()})


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (1, rf"saved by preflearn 0\.0\.7 in format 1, .* reads format {FORMAT_VERSION}\. Train the model again"),
        (FORMAT_VERSION + 1, rf"in format {FORMAT_VERSION + 1}, .*Upgrade it, or train the model again"),
        (0, "damaged"),
        (-1, "damaged"),
        (True, "damaged"),
        (2.0, "damaged"),
        (None, "damaged"),
    ],
)
def test_files_of_other_versions_say_so(version, message, saved):
    change(saved, lambda header: header.update(format_version=version, preflearn_version="0.0.7"))
    with pytest.raises(FileFormatError, match=message):
        preflearn.load(saved)


def test_another_version_of_scikit_learn_is_named_where_parts_do_not_fit(saved):
    change(saved, lambda header: header.update(sklearn_version="0.1"))
    preflearn.load(saved)
    change(saved, lambda header: header["parameters"].update(shape="round"))
    with pytest.raises(FileFormatError, match=r"saved with scikit-learn 0\.1"):
        preflearn.load(saved)


def put(*keys):
    """Return a change that sets header[keys[0]]...[keys[-2]] = keys[-1]."""

    def set_value(header):
        for key in keys[:-2]:
            header = header[key]
        header[keys[-2]] = keys[-1]

    return set_value


CODE = ["os.system", "eval", "builtins.eval", "Popen", "Ridge", "Comparisons", "object", "__import__", "", None, [], {}]


@pytest.mark.parametrize("name", CODE, ids=str)
@pytest.mark.parametrize("tag", ["estimator", "object", "data", "sparse", "function", "dtype"])
def test_no_class_or_function_outside_the_tables_is_built(tag, name, saved):
    if (tag, name) == ("data", "Comparisons"):
        name = "Ratings"
    value = {
        "$": tag,
        "class": name,
        "name": name,
        "fields": {},
        "parameters": {},
        "fitted": {},
        "parts": {},
        "shape": [],
    }
    change(saved, put("parameters", "kernel", value))
    with pytest.raises(FileFormatError, match="damaged"):
        preflearn.load(saved)


@pytest.mark.parametrize("name", CODE, ids=str)
def test_no_estimator_outside_the_table_is_read(name, saved):
    change(saved, put("class", name))
    with pytest.raises(FileFormatError, match="unknown class"):
        preflearn.load(saved)


@pytest.mark.parametrize(
    "name", ["transform", "__class__", "__reduce__", "_validate_params", "__dict__", "a b", "", "x" * 9]
)
def test_a_file_cannot_put_anything_in_the_place_of_a_method(name, path):
    preflearn.save(CASES["StandardScaler"][0](), path)

    def set_attribute(header):
        inner = header["parameters"]["steps"][0]["items"][1]["fitted"]["transformer_"]["fitted"]
        inner[name] = 1

    change(path, set_attribute)
    if name == "x" * 9:  # an attribute like any other
        assert preflearn.load(path)[0].transformer_.xxxxxxxxx == 1
        return
    with pytest.raises(FileFormatError, match="not the name of something that fit leaves"):
        preflearn.load(path)


class Evil:
    """Leaves a trace where it is unpickled."""

    def __init__(self, trace):
        self.trace = str(trace)

    def __reduce__(self):
        return open, (self.trace, "w")


def test_pickles_are_never_opened(saved, tmp_path):
    trace = tmp_path / "trace"
    evil = np.array([Evil(trace)] * 5, dtype=object)
    pickle.loads(pickle.dumps(evil))[0].close()
    assert trace.exists()  # so it would be seen
    trace.unlink()
    members = members_of(saved)
    for name in [name for name in members if name.endswith(".npy")]:
        for dtype in (None, "|O", "|O8", "O"):
            write(saved, members | {name: npy(evil, allow_pickle=True)})
            if dtype is not None:
                change(saved, lambda header, n=name, d=dtype: set_dtype(header, int(n[:-4]), d))
            with pytest.raises(FileFormatError):
                preflearn.load(saved)
    for content in (pickle.dumps(evil), b"PK\x03\x04" + pickle.dumps(evil)):
        saved.write_bytes(content)
        with pytest.raises(FileFormatError):
            preflearn.load(saved)
    write(saved, members | {"header.json": pickle.dumps(evil)})
    with pytest.raises(FileFormatError):
        preflearn.load(saved)
    assert not trace.exists()


def set_dtype(value, number, dtype):
    """Say that an array is of another type and of length 5."""
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict) and item.get("$") == "array" and item["number"] == number:
            item.update(dtype=dtype, shape=[5])
        elif isinstance(item, dict | list):
            set_dtype(item, number, dtype)


def test_no_member_is_unpacked_or_left_unsaid(saved):
    members = members_of(saved)
    for name in ("../evil.npy", "/etc/evil", "x/0.npy", "evil.py", "0.npy/", "\\evil", "00.NPY"):
        write(saved, members | {name: b"x"})
        with pytest.raises(FileFormatError, match="not written by"):
            preflearn.load(saved)
    assert [entry.name for entry in saved.parent.iterdir()] == [saved.name]


def test_no_file_makes_the_reader_hold_more_than_it_has_bytes(saved):
    import tracemalloc

    members = members_of(saved)
    files = {}
    write(saved, members | {"0.npy": npy(np.zeros(10**7))}, zipfile.ZIP_DEFLATED)
    files["bomb"] = saved.read_bytes()
    write(saved, members | {"header.json": b"[" * 10**5 + b"]" * 10**5})
    files["deep"] = saved.read_bytes()
    write(saved, members)
    huge = {"$": "array", "number": 0, "dtype": "<f8", "shape": [10**8]}
    sparse = {
        "$": "sparse",
        "class": "csr_array",
        "shape": [10**9, 10**9],
        "parts": {name: dict(huge, shape=[1]) for name in ("data", "indices", "indptr")},
    }
    for name, value in {"huge": huge, "product": dict(huge, shape=[10**5, 10**5]), "sparse": sparse}.items():
        write(saved, members)
        change(saved, put("state", "items", 0, 1, "fields", "items", value))
        files[name] = saved.read_bytes()
    for content in files.values():
        saved.write_bytes(content)
        tracemalloc.start()
        with pytest.raises(FileFormatError):
            preflearn.load(saved)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3e7


def test_not_a_number_in_a_header_is_refused(saved):
    members = members_of(saved)
    write(saved, members | {"header.json": members["header.json"].replace(b'"n_points":64', b'"n_points":NaN')})
    with pytest.raises(FileFormatError, match="NaN"):
        preflearn.load(saved)


def test_parts_of_two_models_do_not_make_one(path):
    preflearn.save(fitted("features")[0], path)
    one = members_of(path)
    preflearn.save(fitted("own effects")[0], path)
    other = members_of(path)
    assert len(one) == len(other)
    write(path, one | {"header.json": other["header.json"]})
    with pytest.raises(FileFormatError, match="do not belong together"):
        preflearn.load(path)


@pytest.mark.parametrize("name", ["tau", "nu", "g"])
@pytest.mark.parametrize("case", ["features", "EP", "judges", "only skew functions", "pair effects"])
def test_numbers_of_a_posterior_that_contradict_each_other_are_refused(case, name):
    model = fitted(case)[0]
    state = model._file_state()
    state["solutions"][0][name] = 1.01 * state["solutions"][0][name]
    with pytest.raises(DataError, match="not those of the posterior"):
        clone(model)._from_file_state(state)


def test_every_estimator_of_the_table_is_refused_without_what_it_learned(path):
    for kind in ESTIMATORS:
        write(path, {"header.json": json.dumps(bare(kind.__name__)).encode()})
        with pytest.raises(FileFormatError, match="damaged"):
            preflearn.load(path)


def bare(name):
    """Return the header of an estimator that was never fitted."""
    return {
        "format": "preflearn model",
        "format_version": FORMAT_VERSION,
        "preflearn_version": preflearn.__version__,
        "class": name,
        "parameters": {},
        "fitted": {},
        "notes": {"$": "dict", "items": []},
    }
