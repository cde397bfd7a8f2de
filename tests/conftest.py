"""Shared fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from fast_share import cases

# A deadline would time our machine, not our code.
settings.register_profile("preflearn", deadline=None, max_examples=cases(30, 100))
settings.load_profile("preflearn")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The directory of real data sets: $PREFLEARN_DATA, or ../shared/data beside the repository."""
    here = Path(__file__).resolve().parents[1]
    path = Path(os.environ.get("PREFLEARN_DATA", here.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"real data sets not found in {path}; set PREFLEARN_DATA to their directory")
    return path
