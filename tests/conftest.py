"""Shared fixtures."""

from __future__ import annotations

import os
import runpy
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import settings

from fast_share import cases

# A deadline would time our machine, not our code.
settings.register_profile("preflearn", deadline=None, max_examples=cases(20, 100))
settings.load_profile("preflearn")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The directory of real data sets: $PREFLEARN_DATA, or ../shared/data beside the repository."""
    here = Path(__file__).resolve().parents[1]
    path = Path(os.environ.get("PREFLEARN_DATA", here.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"real data sets not found in {path}; set PREFLEARN_DATA to their directory")
    return path


@pytest.fixture
def example(monkeypatch, capsys):
    """Return a function that runs a script of examples/ in this process and returns what it prints."""
    root = Path(__file__).resolve().parents[1]

    def run(name, *arguments):
        monkeypatch.chdir(root)
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what scripts are warned of belongs to their experiments
            runpy.run_path(str(root / "examples" / name), run_name="__main__")
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
        return capsys.readouterr().out

    return run
