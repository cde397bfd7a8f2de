"""Every experiment runs in small, fills its table, and declares figures of the paper for rows that it has."""

import warnings

import pytest

from fast_share import slow_except
from preflearn.reproduce import experiments, reproduce
from preflearn.reproduce.registry import seconds_of_all

EVERY = experiments()
FAST = ("kpcrank-sinc",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One directory for all, so that experiments share what they share."""
    return tmp_path_factory.mktemp("reproduced")


@pytest.mark.parametrize("name", slow_except(EVERY, *FAST))
def test_it_runs_in_small(name, folder):
    one = EVERY[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = reproduce(one, folder, quick=True, repeats=1)
    assert found.rows
    assert len(found.table) == len(found.rows)
    for row in found.rows:
        assert any((row, column.key) in found.cells for column in one.columns), row
    kinds = {".md", ".json"} | ({".svg", ".png"} if one.draw else set())
    assert {path.suffix for path in folder.glob(f"{name}.*")} == kinds


@pytest.mark.parametrize("name", EVERY)
def test_its_declaration_is_whole(name):
    one = EVERY[name]
    assert one.name == name
    keys = {column.key for column in one.columns}
    assert len(keys) == len(one.columns)
    for row, figures in one.paper.items():
        assert figures.keys() <= keys, row
        assert one.rows is None or row in one.rows
    for run in one.runs:
        assert run.quick.keys() <= run.settings.keys(), "a quick setting that the full run does not have"
        assert run.trial.__module__.startswith("preflearn.reproduce.")
        assert run.seconds > 0


def test_all_of_them_take_less_than_six_hours_on_two_cores():
    assert seconds_of_all() < 2 * 6 * 3600


def test_runs_of_one_name_are_one_run():
    runs = [run for one in EVERY.values() for run in one.runs]
    assert len({run.name for run in runs}) == len({id(run) for run in runs})
