"""The example of active choice runs, in small, and keeps its claim."""

import re

import pytest


@pytest.mark.slow
def test_suggested_pairs_save_comparisons(tmp_path, example):
    picture = tmp_path / "which_next.png"
    out = example("which_next.py", "--small", "--plot", picture)
    saved = [int(share) for share in re.findall(r"tau 0\.8: (-?\d+)% fewer", out)]
    assert saved
    assert min(saved) >= 10
    rows = re.findall(r"^(suggested|random) .* (0\.\d+) +(0\.\d+) +(0\.\d+) +(0\.\d+)$", out, flags=re.MULTILINE)
    assert [row[0] for row in rows] == ["suggested", "random"] * 2
    tau = [float(row[1]) for row in rows]
    assert tau[0] > tau[1]
    assert tau[2] > tau[3]
    assert all(float(row[4]) < 0.1 for row in rows)
    assert picture.stat().st_size > 20_000
