"""The runner: whatever interrupts it, what is finished is kept, and the table is the same in the end."""

import errno
import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from preflearn.exceptions import DataError, DataWarning
from preflearn.reproduce import Case, Column, Data, Experiment, Paired, Run, reproduce, writing
from preflearn.reproduce.journal import Journal
from preflearn.reproduce.outcome import Outcome

SEEN: list[int] = []


def draws(case: Case):
    SEEN.append(case.repeat)
    if case.repeat == case.settings.get("stop"):
        raise KeyboardInterrupt
    a, b = case.rng().normal(size=2)
    return [{"row": "one", "a": a, "b": b + 0.1}, {"row": "two", "a": 2 * a}, {"x": np.arange(3), "y": [a, b, a]}]


def experiment(**options):
    run = Run("draws", draws, **{"repeats": 6, "seconds": 0.1, "quick_repeats": 2, **options})
    return Experiment(
        "draws",
        "Draws",
        "nowhere",
        [run],
        [
            Column("a"),
            Column("b"),
            Column("largest", summary="max", of="a"),
            Column("spread", summary=lambda values: max(values) - min(values), of="a"),
            Column("theirs"),
        ],
        paper={"one": {"a": (0.5, 0.25), "theirs": (1.0, 0.125)}, "two": {"b": 7.0}},
        tests=[Paired("a", "b"), Paired("a", "b", "t"), Paired("a", "b", "rank sum")],
    )


@pytest.fixture(autouse=True)
def forget():
    SEEN.clear()


def test_the_table_is_the_mean_of_its_trials_beside_the_papers(tmp_path):
    found = reproduce(experiment(), tmp_path)
    values = np.array([np.random.default_rng([0, repeat]).normal(size=2) for repeat in range(6)])
    cell = found.cell("one", "a")
    assert cell.mean == pytest.approx(values[:, 0].mean())
    assert cell.deviation == pytest.approx(values[:, 0].std(ddof=1))
    assert (cell.n, cell.paper, cell.difference) == (6, 0.5, pytest.approx(cell.mean - 0.5))
    assert cell.paper_deviation == 0.25
    assert "0.500 ± 0.250" in found.table.text()
    assert "1.000 ± 0.125" in found.table.text(), "a column that is the paper's alone"
    assert "7.000" in found.table.text(), "a cell that is the paper's alone"
    assert found.cell("one", "spread").mean == pytest.approx(np.ptp(values[:, 0]))
    assert found.cell("two", "largest").mean == pytest.approx(2 * values[:, 0].max())
    assert ("two", "b") not in found.cells
    wilcoxon, t, ranks = found.tests.values()
    assert ranks == {"one": pytest.approx(stats.ranksums(values[:, 0], values[:, 1] + 0.1).pvalue)}
    assert wilcoxon == {"one": pytest.approx(stats.wilcoxon(values[:, 0], values[:, 1] + 0.1).pvalue)}
    assert t == {"one": pytest.approx(stats.ttest_rel(values[:, 0], values[:, 1] + 0.1).pvalue)}


def endless(case: Case):
    return [{"row": "one", "a": np.inf if case.repeat == 1 else 1.0, "b": 2.0}]


def test_an_infinite_number_is_shown_and_saved_as_none(tmp_path):
    one = replace(experiment(), runs=[Run("endless", endless, 3, 0.1)])
    found = reproduce(one, tmp_path)
    assert found.cell("one", "a").mean == np.inf
    assert found.cell("one", "b").deviation == 0
    saved = Outcome.from_json(json.loads((tmp_path / "draws.json").read_text()), one)
    assert np.isnan(saved.cell("one", "a").mean)
    assert saved.cell("one", "b").mean == 2


def listed(case: Case):
    a, b = case.rng().normal(size=(2, 4))
    both = {"a, queries": a, "b, queries": b}
    return [{"row": "one", "a": a.mean(), "b": b.mean(), **both}, {"row": "two", "a": a.sum(), "a, queries": a}]


def test_values_inside_trials_are_compared_together(tmp_path):
    one = experiment()
    tests = [Paired("a", "b", over="queries"), Paired("a", "b")]
    found = reproduce(Experiment(**{**vars(one), "runs": [Run("listed", listed, 3, 0.1)], "tests": tests}), tmp_path)
    a, b = np.hstack([np.random.default_rng([0, repeat]).normal(size=(2, 4)) for repeat in range(3)])
    assert [*found.tests] == [f"p, a against b (Wilcoxon{over})" for over in (" over queries", "")]
    over, plain = found.tests.values()
    assert over == {"one": pytest.approx(stats.wilcoxon(a, b).pvalue)}
    means = [values.reshape(3, 4).mean(axis=1) for values in (a, b)]
    assert plain == {"one": pytest.approx(stats.wilcoxon(*means).pvalue)}


def test_the_saved_numbers_give_the_same_table(tmp_path):
    found = reproduce(experiment(), tmp_path)
    again = Outcome.from_json(json.loads((tmp_path / "draws.json").read_text()), experiment())
    assert again.table.text() == found.table.text()
    assert found.table.markdown() in (tmp_path / "draws.md").read_text()


def test_an_interrupted_run_goes_on_where_it_ended(tmp_path):
    whole = reproduce(experiment(), tmp_path / "whole")
    SEEN.clear()
    for stop in (3, 5):
        with pytest.raises(KeyboardInterrupt):
            draws_until(stop, tmp_path / "parts")
    assert SEEN == [0, 1, 2, 3, 3, 4, 5]
    SEEN.clear()
    found = draws_until(None, tmp_path / "parts")
    assert SEEN == [5]
    assert found.table.text() == whole.table.text()


def draws_until(stop, folder):
    STOP[:] = [stop]
    return reproduce(experiment_that_stops(), folder)


STOP = [None]


def stopping(case: Case):
    return draws(Case(case.repeat, case.seed, {"stop": STOP[0]}))


def experiment_that_stops():
    one = experiment()
    return Experiment(**{**vars(one), "runs": [Run("draws", stopping, 6, 0.1)]})


def test_a_torn_last_line_is_dropped_and_its_trial_run_again(tmp_path):
    whole = reproduce(experiment(), tmp_path).table.text()
    path = tmp_path / "trials" / "draws.jsonl"
    content = path.read_bytes()
    for cut in (1, 40, len(content.splitlines()[-1])):
        path.write_bytes(content[:-cut])
        SEEN.clear()
        assert reproduce(experiment(), tmp_path).table.text() == whole
        assert SEEN == [5]
        times = [json.loads(line)["repeat"] for line in path.read_text().splitlines()]
        assert times == list(range(6))


def test_two_runs_into_one_directory_keep_the_trials_of_both(tmp_path):
    path = tmp_path / "draws.jsonl"
    one, other = Journal(path, {"run": "draws"}), Journal(path, {"run": "draws"})
    for repeat, journal in enumerate([one, other, one, one, other]):
        journal.add(repeat, 0.1, [{"row": "long" * (5 - repeat)}])
    assert sorted(Journal(path, {"run": "draws"}).trials) == list(range(5))
    path.write_bytes(b"")  # by a hand
    one.add(5, 0.1, [])
    assert path.read_bytes().startswith(b'{"key"')
    assert sorted(Journal(path, {"run": "draws"}).trials) == [5]


def test_other_settings_seeds_and_quick_trials_are_not_mixed(tmp_path):
    first = reproduce(experiment(), tmp_path)
    other = reproduce(experiment(), tmp_path, seed=1)
    quick = reproduce(experiment(quick={"small": True}), tmp_path, quick=True)
    assert len(SEEN) == 6 + 6 + 2
    assert other.table.text() != first.table.text()
    assert quick.cell("one", "a").difference is None
    SEEN.clear()
    assert reproduce(experiment(), tmp_path).table.text() == first.table.text()
    assert reproduce(experiment(settings={"new": [1, (2, 3)]}), tmp_path).table.text() == first.table.text()
    assert reproduce(experiment(settings={"new": [1, (2, 3)]}), tmp_path).table.text() == first.table.text()
    assert list(range(6)) == SEEN
    assert reproduce(experiment(most_repeats=3), tmp_path).cell("one", "a").n == 3


@pytest.mark.slow
def test_two_processes_give_what_one_gives(tmp_path):
    one = reproduce(experiment(), tmp_path / "one")
    counted = []
    two = reproduce(experiment(), tmp_path / "two", jobs=2, watch=lambda *state: counted.append(state))
    assert two.table.text() == one.table.text()
    assert counted == [("draws", done, 6) for done in range(7)]


def test_a_full_disk_is_said_and_what_is_finished_is_kept(tmp_path, monkeypatch):
    opened = Path.open
    wide = [4]

    def full(self, mode="r", *arguments, **options):
        stream = opened(self, mode, *arguments, **options)
        if self.suffix == ".jsonl" and mode != "rb":
            wide[0] -= 1
            if wide[0] < 0:
                stream.seek(0, 2)
                stream.write(b'{"torn')
                stream.close()
                raise OSError(errno.ENOSPC, "No space left on device")
        return stream

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(DataError, match=r"No space left.*4 finished trials are kept.*Make room"):
        reproduce(experiment(), tmp_path)
    monkeypatch.undo()
    SEEN.clear()
    assert reproduce(experiment(), tmp_path).cell("one", "a").n == 6
    assert SEEN == [4, 5]


@pytest.mark.parametrize("ending", [".json", ".md", ".svg"])
def test_results_that_cannot_be_saved_are_saved_by_the_next_run_without_a_trial(ending, tmp_path, monkeypatch):
    drawn = Experiment(**{**vars(experiment()), "draw": lambda figure, records: figure.subplots().plot([0, 1])})
    opened = writing.atomic_file

    def full(path):
        if path.suffix == ending:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return opened(path)

    monkeypatch.setattr(writing, "atomic_file", full)
    with pytest.raises(
        DataError, match=rf"draws\{ending} cannot be written \(No space left.*trials are kept.*Make room"
    ):
        reproduce(drawn, tmp_path)
    assert not (tmp_path / f"draws{ending}").exists()
    monkeypatch.undo()
    SEEN.clear()
    reproduce(drawn, tmp_path)
    assert SEEN == []
    assert (tmp_path / f"draws{ending}").exists()


DATA = Data("Leaves", "leaves", {"a.txt": 2, "b.txt.gz": 3}, "It is at leaves.org.", "a simulation")


def test_missing_data_are_said_and_the_stand_in_is_compared_with_nothing(tmp_path):
    with pytest.warns(DataWarning, match=r"Leaves is missing; a simulation.*leaves\.org.*Put a\.txt, b\.txt\.gz into"):
        found = reproduce(experiment(data=DATA), tmp_path / "out", data=tmp_path)
    cell = found.cell("one", "a")
    assert (cell.paper, cell.difference) == (0.5, None)
    assert "Leaves was not there: a simulation stands in for it, and differences are not shown." in found.remarks


def test_data_in_half_are_an_error_before_any_trial(tmp_path):
    folder = tmp_path / "leaves"
    folder.mkdir()

    def fails(words):
        with pytest.raises(DataError, match=words):
            reproduce(experiment(data=DATA), tmp_path / "out", data=tmp_path)

    (folder / "a.txt").write_text("1\n2\n")
    fails(r"lacks 1 of 2 files of Leaves.*b\.txt\.gz")
    packed = gzip.compress(b"1\n2\n3\n" * 1, mtime=0)
    (folder / "b.txt.gz").write_bytes(packed[:-9])
    fails(r"b\.txt\.gz is damaged.*again")
    (folder / "b.txt.gz").write_bytes(gzip.compress(b"1\n2\n"))
    fails(r"b\.txt\.gz has 2 lines, and Leaves has 3")
    assert SEEN == []
    (folder / "b.txt.gz").write_bytes(packed)
    assert reproduce(experiment(data=DATA), tmp_path / "out", data=tmp_path).cell("one", "a").difference is not None


def test_files_of_another_layout_do_as_well(tmp_path):
    folder = tmp_path / "leaves"
    data = Data("Leaves", "leaves", {"a.txt": 2}, "It is gone.", "", layouts=[{"1/b.txt": 0, "2/b.txt": 1}])
    for name in ("1", "2"):
        (folder / name).mkdir(parents=True)
    (folder / "1" / "b.txt").write_text("1\n2\n")
    with pytest.raises(DataError, match=r"lacks 1 of 2 files of Leaves \(\"2/b\.txt\"\)"):
        reproduce(experiment(data=data), tmp_path / "out", data=tmp_path)
    (folder / "2" / "b.txt").write_text("1\n2\n")
    with pytest.raises(DataError, match=r"b\.txt has 2 lines, and Leaves has 1 there"):
        reproduce(experiment(data=data), tmp_path / "out", data=tmp_path)
    (folder / "2" / "b.txt").write_text("1\n")
    assert reproduce(experiment(data=data), tmp_path / "out", data=tmp_path).runs["draws"]["data"] == "leaves"


def test_other_data_stand_in_before_a_simulation(tmp_path):
    (tmp_path / "leaves").mkdir()
    (tmp_path / "leaves" / "a.txt").write_text("1\n")
    leaves = Data("Leaves", "leaves", {"a.txt": 1}, "Nowhere.", "a simulation")
    trees = Data("Trees", "trees", {}, "It is gone.", "", otherwise=leaves)
    with pytest.warns(DataWarning, match="Trees is missing; Leaves stands in"):
        found = reproduce(experiment(data=trees), tmp_path / "out", data=tmp_path)
    assert found.runs["draws"]["data"] == "leaves"
    assert found.cell("one", "a").difference is None


def test_without_matplotlib_there_is_a_table_and_a_word(tmp_path, monkeypatch):
    import sys

    one = experiment()
    drawn = Experiment(**{**vars(one), "draw": lambda figure, records: figure.subplots().plot(records[2]["y"])})
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.warns(DataWarning, match="matplotlib"):
        reproduce(drawn, tmp_path)
    assert (tmp_path / "draws.md").exists()
    monkeypatch.undo()
    reproduce(drawn, tmp_path)
    assert {path.name for path in tmp_path.glob("draws.*")} == {
        f"draws.{kind}" for kind in ("md", "json", "svg", "png")
    }
    # a figure of the same numbers is the same file on any day
    assert "<dc:date>" not in (tmp_path / "draws.svg").read_text()


def test_two_trials_are_enough_for_a_test_and_equal_ones_do_not_differ(tmp_path):
    one = replace(experiment(), runs=[Run("draws", draws, 2, 0.1)])
    found = reproduce(one, tmp_path / "two")
    values = np.array([np.random.default_rng([0, repeat]).normal(size=2) for repeat in range(2)])
    expected = stats.wilcoxon(values[:, 0], values[:, 1] + 0.1).pvalue
    assert found.tests["p, a against b (Wilcoxon)"] == {"one": pytest.approx(expected)}
    assert not reproduce(replace(one, runs=[Run("draws", draws, 1, 0.1)]), tmp_path / "one").tests
    equal = replace(one, runs=[Run("equal", equals, 4, 0.1)])
    found = reproduce(equal, tmp_path / "equal")
    assert [*found.tests.values()] == [{"one": 1.0}] * 3


def equals(case: Case):
    value = float(case.rng().normal())
    return [{"row": "one", "a": value, "b": value}]


def test_the_time_is_that_of_all_trials(tmp_path):
    reproduce(experiment(), tmp_path)
    path = tmp_path / "trials" / "draws.jsonl"
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**one, "seconds": 1.0 + one["repeat"]}) + "\n" for one in entries))
    assert reproduce(experiment(), tmp_path).seconds == 21


def test_trials_of_one_seed_are_not_those_of_another():
    numbers = {Case(repeat, seed, {}).random_state for seed in range(20) for repeat in range(50)}
    assert len(numbers) == 1000
