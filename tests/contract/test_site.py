"""What the site is built with: its checks see what is wrong, and its generated pages name everything."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GALLERY = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))


@pytest.fixture
def tool(monkeypatch):
    """Import a module of docs/ by name."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module


@pytest.fixture
def site(tmp_path, tool):
    """Return the problems of a small site, one page of which is given."""
    check = tool("check_site")

    def found(html, other="<h1 id='there'>Other</h1>"):
        (tmp_path / "page.html").write_text(html)
        (tmp_path / "other.html").write_text(other)
        return check.problems(tmp_path)

    return found


def test_a_good_page_has_no_problems(site):
    good = (
        '<a href="other.html#there">x</a><a href="https://example.org">y</a><img src="other.html" alt="A line rises.">'
    )
    assert site(good) == []


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ('<a href="gone.html">x</a>', "leads nowhere"),
        ('<a href="other.html#gone">x</a>', "no such place"),
        ('<a href="#gone">x</a>', "no such place"),
        ('<script src="https://example.org/x.js"></script>', "loads https"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "loads //"),
        ('<img src="other.html">', "no words"),
        ('<img src="other.html" alt="plot 01 first">', "no words"),
    ],
)
def test_what_is_wrong_with_a_page_is_seen(site, html, said):
    problems = site(html)
    assert len(problems) == 1
    assert said in problems[0]


def test_every_public_name_has_a_room(tool):
    generated = tool("build_tools.generated")
    import preflearn

    names = generated.public_names()
    for name in set(preflearn.__all__) - {"__version__"}:
        assert f"preflearn.{name}" in names
    pages = generated.python_pages()
    for full, room in names.items():
        assert full in pages[f"{room.removeprefix('preflearn.')}.rst"]


def test_every_public_name_has_a_docstring_with_an_example(tool):
    missing = []
    for full in tool("build_tools.generated").public_names():
        room, _, name = full.rpartition(".")
        if ">>>" not in (getattr(importlib.import_module(room), name).__doc__ or ""):
            missing.append(full)
    assert missing == []


def test_every_command_has_a_page(tool):
    from preflearn.cli.app import COMMANDS

    pages = tool("build_tools.generated").command_pages()
    assert set(pages) == {f"{name}.md" for name in COMMANDS}
    assert "--explain" in pages["rank.md"]


def test_every_layout_has_a_page_that_says_how_it_is_read(tool):
    from preflearn.io.formats import FORMATS

    layouts = tool("build_tools.layouts")
    pages = layouts.layout_pages()
    assert len(pages) == len(layouts.COMMON) + len(FORMATS) + 2
    for one in (*layouts.COMMON, *layouts.public_layouts()):
        assert f"preflearn rank {one.file}" in pages[f"{one.place}.md"]
        assert "say how the file was read" in pages[f"{one.place}.md"]
    assert "yT1aa beats yT2bb" in pages["tournesol.md"]


def test_formulas_become_mathml_or_are_refused(tool):
    pytest.importorskip("latex2mathml")
    mathml = tool("build_tools.mathml").mathml
    assert "<mfrac>" in mathml(r"\frac{a}{b}", "inline")
    with pytest.raises(ValueError, match="cannot be shown"):
        mathml(r"\nosuchcommand{x}", "inline")


def test_docstrings_keep_names_that_end_in_an_underscore(tool):
    escaped = tool("build_tools.docstrings").escaped
    assert escaped(["of n_items_ and |S|"]) == [r"of n_items\_ and \|S\|"]
    assert escaped(["as votes/*.csv, or *this*"]) == [r"as votes/\*.csv, or *this*"]
    assert escaped(["as ``n_items_`` here"]) == ["as ``n_items_`` here"]
    assert escaped([">>> model.coef_", "array(|)", "", "coef_ x"]) == [">>> model.coef_", "array(|)", "", r"coef\_ x"]


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_examples_of_the_gallery_keep_their_shape(path):
    """A question, a picture with a title that says what is seen, and an assertion. The build of the site runs them."""
    text = path.read_text("utf-8")
    assert 30 <= len(text.splitlines()) <= 90
    assert "?" in text.split('"""')[1]
    assert "set_title(" in text
    assert re.search(r"^assert ", text, flags=re.MULTILINE)


def test_the_gallery_is_large():
    assert len(GALLERY) >= 14


def test_the_versions_agree():
    import preflearn

    version = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert version is not None
    assert version[1] == preflearn.__version__
    assert sys.version_info >= (3, 11)
