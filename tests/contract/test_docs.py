"""Every example in a docstring or in the documentation runs."""

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
PAGES = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))
WITH_CODE = [page for page in PAGES if "```python" in (ROOT / page).read_text()]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


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
            for said in re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.MULTILINE):
                for figure in re.findall(r"-?\d\.\d+", said):
                    assert figure in printed, said


@each("name", sorted(set(preflearn.__all__) - {"__version__"}))
def test_public_names_are_documented(name):
    thing = getattr(preflearn, name)
    assert thing.__doc__
    assert ">>>" in thing.__doc__
    assert "Parameters\n" in thing.__doc__


@each("path", ["README.md", "CONTRIBUTING.md", *PAGES])
def test_links_and_named_files_exist(path):
    text = (ROOT / path).read_text()
    here = (ROOT / path).parent
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert (here / target).exists(), target
    for name in re.findall(r"`((?:tests|docs|examples|benchmarks|src)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name


@pytest.mark.slow
def test_the_readme_shows_what_the_command_prints():
    """The block of the README is the output of the command on the bundled data, word for word."""
    block = re.search(r"```\n\$ preflearn (rank .*?)\n(.*?)\n```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert block is not None
    done = subprocess.run(
        [sys.executable, "-m", "preflearn", *block[1].split()],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.rstrip().split("\n") == block[2].split("\n")
