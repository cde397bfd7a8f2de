"""docs/results.md says what the saved runs say, and these are runs of the declarations."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from preflearn.reproduce import Column, Experiment, Paired, Run, experiments, reproduce

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SAVED = sorted(path.stem for path in (DOCS / "results").glob("*.json"))
KNOWN = experiments()


def script():
    spec = importlib.util.spec_from_file_location("make_results", DOCS / "make_results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE = script()


def test_the_page_is_what_the_saved_runs_say():
    written = (DOCS / "results.md").read_text("utf-8")
    assert written == MAKE.Page().text(), "run python docs/make_results.py"


def test_every_file_of_the_page_is_used_and_small():
    template = (DOCS / "results" / "page.template").read_text("utf-8")
    asked = set(re.findall(r"\{\{experiment ([\w-]+)", template))
    earlier = {path.stem for path in (DOCS / "results" / "earlier").glob("*.txt")}
    assert asked == earlier | {*SAVED}
    assert not earlier & {*SAVED}, "rerun since: take the older figures away"
    for name in SAVED:
        assert (DOCS / "results" / f"{name}.json").stat().st_size < 25_000, name


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_run_is_one_of_its_declaration(name):
    saved = json.loads((DOCS / "results" / f"{name}.json").read_text("utf-8"))
    one = KNOWN[name]
    assert not saved["quick"]
    assert {*saved["columns"]} <= {column.key for column in one.columns}
    assert {*saved["tests"]} <= {test.title for test in one.tests}
    for run in one.runs:
        assert saved["runs"][run.name]["settings"] == json.loads(json.dumps(run.settings_of(False)))
        assert 0 < saved["repeats"][run.name] <= run.repeats


def test_numbers_of_the_text_come_from_the_saved_runs():
    """Figures with two digits or more after the point are not typed, but for those of runs that are not saved yet."""
    template = (DOCS / "results" / "page.template").read_text("utf-8")
    typed = re.findall(r"\b\d+\.\d{2,}", re.sub(r"\{\{.*?\}\}", "", template, flags=re.DOTALL))
    assert set(typed) <= TYPED


TYPED = {"0.064", "0.008", "0.012", "0.007", "0.001"}  # of runs that are not saved, and said to be


def draws(case):
    a, b = case.rng().normal(size=2)
    return [{"row": f"noise {k}", "a": a + k, "b": b + 2 * k} for k in (0, 5)]


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A page of one experiment with two columns, of which the second is larger in the second row."""
    one = Experiment(
        "draws",
        "Draws",
        "nowhere",
        [Run("draws", draws, 8, 0.1)],
        [Column("a", digits=1), Column("b", "bee", spread="error")],
        paper={"noise 0": {"a": 0.25}},
        tests=[Paired("a", "b", "t")],
    )
    reproduce(one, tmp_path / "out")
    monkeypatch.setattr(MAKE, "experiments", lambda: {"draws": one})
    assert MAKE.take(tmp_path / "out", tmp_path) == ["draws"]

    def made(template):
        (tmp_path / "page.template").write_text(template)
        return MAKE.Page(tmp_path).text().removeprefix(MAKE.HEAD).rstrip("\n")

    made.outcome = reproduce(one, tmp_path / "out")
    return made


def test_what_stands_between_braces_is_filled_in(page):
    found = page.outcome
    shown = page("{{experiment draws}}")
    assert shown.startswith("### Draws\n")
    assert found.table.markdown() in shown
    assert "± is the standard deviation over trials, and the standard error of bee." in shown
    assert "8 trials of draws; seed 0, data: simulated." in shown

    def says(asked):
        whole = page("{{" + asked + "}} {{experiment draws}}")
        return whole[: whole.index(" ###")]

    a, b = found.cell("noise 5", "a"), found.cell("noise 5", "b")
    assert says("draws | noise 5 | a") == f"{a.mean:.1f}"
    assert says("draws | noise 5 | b | spread") == f"{b.deviation / 8**0.5:.3f}"
    assert says("draws | noise 0 | a | paper") == "0.2"
    assert says("draws | noise 5 | a | n") == "8"
    assert says("draws | noise 5 | a | percent") == f"{100 * a.mean:.0f} %"
    assert says("draws | /noise .*/ | a | largest") == f"{a.mean:.1f}"
    assert says("draws | /noise .*/ | a | rows") == "2"
    assert says("draws | /noise .*/ | a | farthest") == f"{abs(found.cell('noise 0', 'a').difference):.1f}"
    assert says("draws | /noise 5/ | a | below") == "1"
    assert says("draws | /noise .*/ | a | above") == "0"
    assert says("draws | /noise .*/ | b | above") == "1"
    assert says("draws | noise 5 | p, a against b (t-test)") == "p < 0.001"
    assert page("{{claim draws | noise 5 | a < b}}\nso\n\n{{experiment draws}}").startswith("so\n\n###")
    assert "| draws | 8 |" in page("{{experiment draws}}{{runs}}")


@pytest.mark.parametrize(
    "template",
    [
        "{{claim draws | noise 5 | b < a}} {{experiment draws}}",
        "{{draws | noise 7 | a}} {{experiment draws}}",
        "{{draws | noise 5 | c}} {{experiment draws}}",
        "{{draws | /none/ | a | largest}} {{experiment draws}}",
        "{{others | noise 5 | a}} {{experiment draws}}",
        "a page that does not show the run",
    ],
)
def test_a_page_that_cannot_be_filled_in_or_says_what_is_not_so_is_an_error(page, template):
    with pytest.raises(ValueError, match=r"cannot be filled in|is not below|does not show"):
        page(template)
