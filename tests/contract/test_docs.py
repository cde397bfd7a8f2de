"""Every example in docstrings and documentation runs, and the README fits on a screen and shows what is printed."""

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import preflearn
from fast_share import each

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    m.name for m in pkgutil.walk_packages(preflearn.__path__, "preflearn.") if not m.name.endswith("__main__")
)
PACKAGES = sorted({".".join(name.split(".")[:2]) for name in MODULES})
# Written when the site is built; `make docs` checks these.
BUILT = ("docs/_build", "docs/gallery", "docs/files/layouts", "docs/reference/python/", "docs/reference/commands/")
EVERY = (str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
PAGES = sorted(path for path in EVERY if not path.startswith(BUILT))
WITH_CODE = [page for page in PAGES if "```python" in (ROOT / page).read_text("utf-8")]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
README = (ROOT / "README.md").read_text("utf-8")
MOST_WORDS, MOST_LINES = 700, 8  # of the README, and of a job in it


@pytest.mark.parametrize("package", PACKAGES)
def test_docstring_examples(package):
    for name in MODULES:
        if f"{name}.".startswith(f"{package}."):
            result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
            assert result.failed == 0, name


def test_there_are_many_examples():
    finder = doctest.DocTestFinder()
    n = sum(len(t.examples) > 0 for name in MODULES for t in finder.find(importlib.import_module(name)))
    assert n > 40


def said_by(block):
    """Return what the comments beside prints say that they print, without what is left out by dots."""
    return [
        said.partition("...")[0].strip() for said in re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
    ]


@pytest.mark.parametrize("path", [pytest.param("README.md", marks=pytest.mark.slow), *WITH_CODE])
def test_python_blocks_in_the_documentation_run(path, monkeypatch, capsys):
    """They run without warnings, and the README shows what they print."""
    monkeypatch.chdir(ROOT)
    namespace: dict[str, object] = {}
    text = (ROOT / path).read_text("utf-8")
    for block, table in re.findall(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", text, flags=re.DOTALL):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(block, path, "exec"), namespace)  # noqa: S102 - the point of the test
        printed = capsys.readouterr().out
        if path == "README.md":
            assert table in printed
            assert table or said_by(block)
            for said in said_by(block):
                assert said.rpartition(": ")[2][:6] in printed if re.search(r"\d\.\d+$", said) else said in printed


def test_the_readme_fits_on_a_screen():
    assert len(README.split()) <= MOST_WORDS
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 5
    assert max(len(block.splitlines()) for block in blocks) <= MOST_LINES


@each("name", sorted(set(preflearn.__all__) - {"__version__"}))
def test_public_names_are_documented(name):
    thing = getattr(preflearn, name)
    assert thing.__doc__
    assert ">>>" in thing.__doc__
    assert "Parameters\n" in thing.__doc__


@each("path", ["README.md", "CONTRIBUTING.md", *PAGES])
def test_links_and_named_files_exist(path):
    text = (ROOT / path).read_text("utf-8")
    here = (ROOT / path).parent
    for target in re.findall(r"\]\(([^)#\s]+)\)", text):
        built = str((here / target).resolve().relative_to(ROOT)) if "://" not in target else ""
        if "://" not in target and not built.startswith(BUILT):
            assert (here / target).exists(), target
    for name in re.findall(r"`((?:tests|docs|examples|benchmarks|src)/[\w./-]+)`", text):
        assert name.startswith(BUILT) or (ROOT / name).exists(), name


@pytest.mark.slow
def test_the_readme_shows_what_the_command_prints():
    """The block of the README is the output of the command on the bundled data, word for word, but for dots."""
    block = re.search(r"```\n\$ preflearn (rank .*?)\n(.*?)\n```", README, re.DOTALL)
    assert block is not None
    done = subprocess.run(
        [sys.executable, "-m", "preflearn", *block[1].split()],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    pieces = [piece.strip("\n") for piece in f"\n{block[2]}\n".split("\n...\n") if piece.strip()]
    assert len(pieces) > 1
    rest = done.stdout
    for piece in pieces:
        assert piece in rest, piece
        rest = rest.partition(piece)[2]
