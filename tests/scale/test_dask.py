"""Dask collections give what the same data give in memory, on a cluster of two processes of which one may die."""

import os
import pickle
import signal
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

from preflearn import (
    RLS,
    BradleyTerry,
    Comparisons,
    Nystroem,
    PreferenceGP,
    RandomFourier,
    RankRLS,
    Ratings,
    load,
    save,
)
from preflearn.cli.main import main
from preflearn.exceptions import DataError, FileFormatError
from preflearn.io import counted_files, opening
from preflearn.io.read_options import Options
from preflearn.io.reading import read_with

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

from dask.delayed import delayed  # noqa: E402

from preflearn.scale import DaskBradleyTerry, DaskPreferenceGP, DaskRankRLS, DaskRLS  # noqa: E402
from preflearn.scale.dask_files import count_there, counting_on  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # what a library says about its own processes is not ours


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


def table(seed, n=120, n_groups=9):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, 4)) + 10 * rng.normal(size=(n_groups, 1))[group]
    y = np.round(2 * rng.normal(size=n) + 0.3 * X[:, 0])
    return X, y, group, rng.integers(0, 4, n) / 2


def spread(parts, rows):
    return [da.from_array(part, chunks=(rows, *part.shape[1:])) for part in parts]


CASES = {
    "rls": (RLS, DaskRLS, {"alpha": 0.3}),
    "pairs": (RankRLS, DaskRankRLS, {"alpha": 0.3}),
    "no ties": (RankRLS, DaskRankRLS, {"alpha": 0.3, "ties": "exclude"}),
    "groups": (RankRLS, DaskRankRLS, {"alpha": 0.3, "weighting": "groups"}),
    "groups, no ties": (RankRLS, DaskRankRLS, {"ties": "exclude", "weighting": "groups"}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("order", ["together", "apart", "one group"])
def test_partitions_are_the_whole(name, order):
    ordinary, on_dask, parameters = CASES[name]
    X, y, group, weight = table(len(name) + len(order))
    if order == "together":
        X, y, group, weight = (part[np.argsort(group, kind="stable")] for part in (X, y, group, weight))
    labels = None if order == "one group" else np.array(list("abcdefghi"))[group]
    whole = ordinary(**parameters).fit(X, y, qid=labels, sample_weight=weight)
    given = dict(zip(("X", "y", "sample_weight", "qid"), spread([X, y, weight, group], 25), strict=True))
    if labels is None:
        del given["qid"]
    else:
        given["qid"] = spread([labels], 25)[0]
    found = on_dask(**parameters).fit(**given)
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    assert found.to_local().n_groups_ == whole.n_groups_
    np.testing.assert_allclose(found.predict(given["X"]).compute(), whole.predict(X), rtol=1e-8, atol=1e-8)


def test_features_of_kernels_are_those_of_the_whole():
    X, y, group, _ = table(3)
    X = X - X.mean(axis=1, keepdims=True)
    for approximation in (Nystroem(120, random_state=0), RandomFourier(30, random_state=0)):
        parameters = {"alpha": 0.5, "kernel": "rbf", "approximation": approximation}
        whole = RankRLS(**parameters).fit(X, y, qid=group)
        given = spread([X, y, group], 50)
        found = DaskRankRLS(**parameters).fit(given[0], given[1], qid=given[2]).to_local()
        np.testing.assert_allclose(found.predict(X), whole.predict(X), rtol=1e-6, atol=1e-6)


class Reads:
    """A table that is read partition by partition; one worker that reads it is killed, once."""

    def __init__(self, parts, marker=None):
        self.parts, self.marker = parts, marker

    def __call__(self, number, column):
        if self.marker is not None and number == 2 and column == 0:
            try:
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.parts[column][number * 30 : (number + 1) * 30]

    def collections(self):
        for column, part in enumerate(self.parts):
            shape = (30, *part.shape[1:])
            blocks = [da.from_delayed(delayed(self)(i, column), shape, part.dtype) for i in range(len(part) // 30)]
            yield da.concatenate(blocks)


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(client, tmp_path):
    X, y, group, _ = table(7)
    marker = tmp_path / "killed"
    given = list(Reads([X, y, group], str(marker)).collections())
    found = DaskRankRLS(0.3, client=client).fit(given[0], given[1], qid=given[2])
    assert marker.exists()
    assert found.client_ is client
    np.testing.assert_allclose(found.coef_, RankRLS(0.3).fit(X, y, qid=group).coef_, rtol=1e-8)
    save(found.to_local(), tmp_path / "model.prefl")
    np.testing.assert_array_equal(load(tmp_path / "model.prefl").predict(X), found.to_local().predict(X))


def test_sums_come_to_the_client_and_no_rows(monkeypatch):
    moved = []
    run = DaskRankRLS._run

    def weighed(self, task):
        found = run(self, task)
        moved.append(len(pickle.dumps(found)))
        return found

    monkeypatch.setattr(DaskRankRLS, "_run", weighed)
    X = da.random.RandomState(0).normal(size=(40_000, 5), chunks=(5_000, 5))
    DaskRankRLS(ties="exclude").fit(X, X[:, 0].round(), qid=da.arange(40_000, chunks=5_000) // 30)
    assert sum(moved) < 40_000 * 5 * 8 / 50


def votes(seed, m=400, n=8):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    names = np.array([f"item {i}" for i in range(n)])
    outcome = rng.choice([-1.0, 0.0, 1.0], m)
    return pd.DataFrame(
        {"first": names[first], "second": names[second], "outcome": outcome, "weight": rng.integers(0, 3, m) / 2}
    )


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{"ties": True, "side": True}, {"prior": 1.0, "link": "probit", "ties": True}])
def test_votes_are_counted_where_they_are(client, parameters):
    frame = votes(1)
    whole = BradleyTerry(**parameters).fit(
        Comparisons(None, frame["first"], frame["second"], frame["outcome"], weight=frame["weight"])
    )
    found = DaskBradleyTerry(**parameters, client=client).fit(dd.from_pandas(frame, npartitions=5)).to_local()
    place = [list(found.item_names_).index(name) for name in whole.item_names_]
    np.testing.assert_allclose(found.utility_[place], whole.utility_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found.log_likelihood_, whole.log_likelihood_, rtol=1e-8)
    assert len(found.comparisons_) < 170


@pytest.mark.parametrize("likelihood", ["probit", "gaussian"])
def test_preferences_with_features_are_those_in_memory(likelihood):
    frame = votes(3)
    items = pd.DataFrame({"item": [f"item {i}" for i in range(8)], "a": np.arange(8.0) % 5, "b": np.arange(8.0) % 3})
    frame["outcome"] = frame["outcome"] + (frame["outcome"] == 0) * 1.0
    parameters = {"likelihood": likelihood, "hyperparameters": "fixed", "approximation": Nystroem(6, random_state=0)}
    data = Comparisons(items, frame["first"], frame["second"], frame["outcome"], weight=frame["weight"])
    whole = PreferenceGP(**parameters).fit(data)
    found = DaskPreferenceGP(**parameters).fit(dd.from_pandas(frame, npartitions=4), items=items).to_local()
    np.testing.assert_allclose(found.predict_proba(data), whole.predict_proba(data), rtol=1e-8)
    assert found.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-8)


def test_votes_that_were_counted_are_left_out_one_by_one():
    frame = votes(4).drop(columns="weight")
    parameters = {"ties": True, "hyperparameters": "fixed"}
    found = DaskPreferenceGP(**parameters).fit(dd.from_pandas(frame, npartitions=3)).to_local()
    listed = PreferenceGP(**parameters).fit(Comparisons(None, frame["first"], frame["second"], frame["outcome"]))
    assert found.comparisons_.n_listed == len(frame)
    counted, wanted = (
        dict(zip(zip(X.names[X.first], X.names[X.second], X.outcome, strict=True), p[:, 1], strict=True))
        for X, p in ((model.comparisons_, model.leave_one_out()) for model in (found, listed))
    )
    assert counted.keys() == wanted.keys()
    np.testing.assert_allclose(list(counted.values()), [wanted[key] for key in counted], atol=1e-9)


@pytest.mark.slow
def test_model_selection_by_joblib_on_the_cluster(client):
    X, y, group, _ = table(8)
    rows = Ratings(X, y, group=group)
    search = GridSearchCV(RankRLS(), {"alpha": [0.1, 1.0, 10.0]}, cv=GroupKFold(3))
    here = clone(search).fit(rows, groups=group)
    with joblib.parallel_config("dask", client=client):
        there = clone(search).fit(rows, groups=group)
    np.testing.assert_array_equal(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])
    assert there.best_params_ == here.best_params_


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Stand in a folder that is not that of the workers, with files of votes in several forms."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(opening, "LARGE", 0)
    frame = votes(2).drop(columns="weight").assign(language=np.tile(["en", "de"], 200), note="x")
    frame.to_csv("all.csv", index=False)
    Path("parts").mkdir()
    for number in range(10):
        frame.iloc[number::10].to_parquet(f"parts/{number}.parquet")
        frame.iloc[number::10].to_csv(f"parts/{number}.csv.gz", index=False)
    return frame


QUICK = ["--model", "bradley-terry"]
RANKED = {
    "Parquet": ["rank", "parts/*.parquet", *QUICK, "--no-circles", "--out", "out.csv", "--force"],
    "text": ["rank", "parts/*.csv.gz", *QUICK, "--no-circles", "--json"],
    "by": ["rank", "parts/*.parquet", *QUICK, "--no-circles", "--by", "language", "--out", "out.csv", "--force"],
    "one file": ["rank", "all.csv", *QUICK, "--no-circles", "--columns", "judge=language", "--json"],
    "fit": ["fit", "parts/*.parquet", *QUICK, "--save", "model.prefl", "--force"],
    "fit one file": ["fit", "all.csv", *QUICK, "--save", "counted.prefl", "--force"],
    "least squares": ["fit", "parts/*.parquet", "--model", "rankrls", "--save", "model.prefl", "--force"],
}


@pytest.mark.slow
def test_the_commands_say_the_same_with_a_cluster(client, files, capsys, monkeypatch):
    for name, command in RANKED.items():
        said = []
        for further in ([], ["--scheduler", client.scheduler.address]):
            with monkeypatch.context() as patch:
                if further:
                    patch.setattr(counted_files, "count_piece", None)  # nothing is counted here
                assert main([*command, *further]) == 0, name
            written = [Path(name).read_bytes() for name in ("out.csv", "model.prefl") if name in command]
            told = capsys.readouterr().out
            said.append((told.partition("\nSaved")[0] if name == "fit one file" else told, written))  # but for its size
        assert said[0] == said[1], name


@pytest.mark.slow
def test_files_are_counted_by_workers_as_they_are_here(client, files, monkeypatch):
    for path in ("parts/*.parquet", "parts/*.csv.gz", "all.csv"):
        here = read_with(Options("read_preferences", counted=True), path)
        with monkeypatch.context() as patch:
            patch.setattr(counted_files, "count_piece", None)  # nothing is counted here
            there = read_with(Options("read_preferences", counted=True), path, counting=counting_on(client))
        assert (there.notes, there.columns, there.layout) == (here.notes, here.columns, here.layout)
        assert there.data.times.sum() == len(files) > len(there.data.times)
        for field in ("names", "first", "second", "outcome", "times"):
            np.testing.assert_array_equal(getattr(there.data, field), getattr(here.data, field))


@pytest.mark.slow
def test_a_file_that_a_worker_refuses_is_named_as_it_is_here(client, files, capsys):
    other = files[["first", "second"]].set_axis(["winner", "loser"], axis=1)
    other.to_parquet("parts/8.parquet")
    whole = Path("parts/3.csv.gz").read_bytes()
    Path("parts/3.csv.gz").write_bytes(whole[: len(whole) // 2])
    text = Path("all.csv").read_bytes()
    Path("parts/x.csv").write_bytes(text)
    Path("parts/y.csv").write_bytes(text.replace(b"item 3", b"item \xff"))
    for path, words in (
        ("parts/*.parquet", 'parts/8.parquet: this file lacks "first", "language"'),
        ("parts/*.gz", "parts/3.csv.gz: the gzip data are damaged"),
        ("parts/*.csv", "parts/y.csv, line"),
    ):
        said = []
        for further in ([], ["--scheduler", client.scheduler.address]):
            assert main(["rank", path, *QUICK, *further]) == 2
            said.append(capsys.readouterr().err)
        assert words in said[0]
        assert said[0] == said[1]


def test_a_worker_without_the_file_says_so(tmp_path):
    file = counted_files.VoteFile("votes/1.csv", 0, ("winner",), counted_files.Likeness("a", frozenset(), {}))
    with pytest.raises(FileFormatError, match=r"^votes/1\.csv: a worker of the cluster does not see this file"):
        count_there(file.seen_as(str(tmp_path / "votes/1.csv")), file.name)


@pytest.mark.slow
def test_data_frames_are_the_same(client, tmp_path):
    X, y, group, weight = table(4)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, q=group, w=weight)
    frame.iloc[:70].to_parquet(tmp_path / "0.parquet")
    frame.iloc[70:].to_parquet(tmp_path / "1.parquet")
    rows = dd.read_parquet(tmp_path / "*.parquet")
    model = DaskRankRLS(client=client).fit(rows[list("abcd")], rows["y"], qid=rows["q"], sample_weight=rows["w"])
    whole = RankRLS().fit(frame[list("abcd")], y, qid=group, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.predict(rows).compute(), whole.predict(frame[list("abcd")]), rtol=1e-8)
    np.testing.assert_array_equal(model.to_local().feature_names_in_, list("abcd"))


def test_mistakes_are_named():
    X, y = spread([np.eye(6), np.arange(6.0)], 3)
    with pytest.raises(TypeError, match="Use RankRLS for what is in memory"):
        DaskRankRLS().fit(np.eye(6), np.arange(6.0))
    with pytest.raises(TypeError, match=r"X is ndarray\. Use to_local\(\)\.predict"):
        DaskRankRLS().fit(X, y).predict(np.eye(6))
    with pytest.raises(ValueError, match="needs the scores y"):
        DaskRankRLS().fit(X)
    with pytest.raises(DataError, match="qid has shape"):
        DaskRankRLS().fit(X, y, qid=y[:3])
    with pytest.raises(DataError, match="partition 1: y"):
        DaskRankRLS().fit(X, da.where(y == 4, np.nan, y))
    with pytest.raises(DataError, match="none of the 6 groups has two rows"):
        DaskRankRLS().fit(X, y, qid=y)
    calls = iter(range(100))

    def other_groups(block):
        return block * 0 if next(calls) < 2 else block

    with pytest.raises(DataError, match="not the same each time"):
        DaskRankRLS().fit(X, y, qid=y.map_blocks(other_groups, meta=np.empty(0)))
    frame = dd.from_pandas(votes(0), npartitions=2)
    with pytest.raises(DataError, match="not known which columns hold outcome"):
        DaskBradleyTerry().fit(frame.drop(columns="outcome"))
    with pytest.raises(DataError, match='no column "outcom" \\(nearest names: "outcome"'):
        DaskBradleyTerry().fit(frame, columns={"first": "first", "second": "second", "outcome": "outcom"})
    with pytest.raises(TypeError, match="Use BradleyTerry"):
        DaskBradleyTerry().fit(votes(0))
