"""Preferences between labels: what Table 2 and Fig. 3 of the paper are made from."""

import gzip

import numpy as np
import pytest
from scipy.stats import spearmanr

from fast_share import cases
from preflearn.reproduce import Case, experiments
from preflearn.reproduce.papers.labels import load, rank_correlation

RUNS = {run.name: run for one in experiments().values() for run in one.runs}


@pytest.mark.filterwarnings("ignore")
def test_orders_of_ten_labels_are_learned_better_by_the_gp():
    run = RUNS["prefgp-fig3"]
    found = [run.trial(Case(k, 0, {**run.settings, "labels": [10]}))[0] for k in range(cases(1, 5))]
    mean = {key: np.mean([one[key] for one in found]) for key in found[0] if key not in ("row", "labels")}
    assert mean["GP error"] <= 0.05
    assert mean["GP correlation"] >= 0.9
    assert mean["GP error"] < mean["CC-SVM error"] < 0.1


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore")
def test_classification_sets_are_learned_in_small(data_dir):
    for name in ("dna", "waveform", "satimage", "segment", "usps"):
        run = RUNS[f"prefgp-table2-{name}"]
        settings = {**run.settings, "n_train": 60, "n_test": 100, "restarts": 0, "svm": run.quick["svm"]}
        (found,) = run.trial(Case(0, 0, settings, data_dir / "multiclass"))
        assert found["GP preference"] < 25, name
        assert found["CC-SVM preference"] < 25, name


def test_sets_are_scaled_over_all_their_rows(tmp_path):
    (tmp_path / "segment.csv").write_text("a,class,b\n1,x,5\n3,y,5\n2,x,5\n")
    X, y = load(tmp_path, "Segment")
    np.testing.assert_array_equal(X, [[-1, -1], [1, -1], [0, -1]])
    assert y.tolist() == ["x", "y", "x"]
    for file in ("usps_train.csv.gz", "usps_test.csv.gz"):
        with gzip.open(tmp_path / file, "wt") as stream:
            stream.write("digit,p1\n7,0.25\n")
    X, y = load(tmp_path, "USPS")
    assert X.tolist() == [[0.25], [0.25]], "as they are"
    assert y.tolist() == ["7", "7"]


def test_rank_correlation_is_spearmans():
    rng = np.random.default_rng(0)
    truth, utility = rng.normal(size=(2, 6, 5))
    expected = np.mean([spearmanr(a, b).statistic for a, b in zip(truth, utility, strict=True)])
    assert rank_correlation(truth, utility) == pytest.approx(expected)
