"""The example runs, in small, and keeps its own claims."""

import re

import pytest

from fast_share import cases


@pytest.mark.slow
def test_label_orders_by_expected_utility(tmp_path, example):
    picture = tmp_path / "labels.png"
    out = example("label_preferences.py", "--figure3", picture, "--trials", cases(1, 3))
    assert picture.stat().st_size > 10_000
    error, correlation = re.search(r"\| 10 \| ([\d.]+) .* \| ([\d.]+) ", out).groups()
    assert float(error) <= 0.05
    assert float(correlation) >= 0.9


@pytest.mark.slow
@pytest.mark.data
def test_classification_sets_in_small(data_dir, example):
    out = example("label_preferences.py", data_dir, "--table2", "--trials", 1, "--small")
    assert len(re.findall(r"^\| (dna|waveform|satimage|segment|usps) \|", out, flags=re.MULTILINE)) == 5
