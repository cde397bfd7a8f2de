"""Damaged files never end in a traceback of another kind, nor in waiting."""

from pathlib import Path

import pytest
from mutate_readings import run

from fast_share import cases


def test_damaged_files_are_read_or_named(tmp_path: Path) -> None:
    counts = run(2000, 1, tmp_path)
    assert counts["unnamed"] == counts["late"] == 0
    assert counts["read"] > 200
    assert counts["refused"] > 800


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_many_damaged_files_are_read_or_named(seed: int, tmp_path: Path) -> None:
    counts = run(cases(2000, 8000), seed, tmp_path)
    assert counts["unnamed"] == counts["late"] == 0
