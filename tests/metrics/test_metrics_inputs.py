"""What the metrics say about input they cannot use: what is wrong, where, and the cure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from preflearn.exceptions import DataError
from preflearn.metrics import (
    concordance_index,
    disagreement_error,
    kendall_tau_b,
    mean_average_precision,
    ndcg,
    pairwise_accuracy,
    precision_at_k,
    spearman,
)

ROW_METRICS = [
    disagreement_error,
    concordance_index,
    kendall_tau_b,
    spearman,
    mean_average_precision,
    ndcg,
    lambda *a, **k: precision_at_k(*a, k=2, **k),
]
WEIGHTED = [disagreement_error, concordance_index, kendall_tau_b, pairwise_accuracy]


@pytest.mark.parametrize("metric", [*ROW_METRICS, pairwise_accuracy])
@pytest.mark.parametrize(
    ("truth", "score", "message"),
    [
        ([], [], "no rows"),
        ([1, 2, 3], [1, 2], r"has 2 values for 3 rows"),
        ([1, np.nan, 3, np.inf], [1, 2, 3, 4], r"not finite for 2 of 4 rows \(rows 1, 3; values nan, inf\)"),
        ([1, 2, 3, 4], [np.nan] * 4, r"not finite for 4 of 4 rows \(rows 0, 1, 2, \.\.\.;"),
        ([[1], [2]], [1, 2], r"shape \(2, 1\)(.|\n)*ravel"),
        (1.0, 2.0, r"shape \(\)"),
        ([1, 2], ["low", "high"], r'must be real numbers(.|\n)*"low", "high"'),
        ([1, 2], [1j, 2], "must be real numbers"),
        ([1, None], [1, 2], r"not finite for 1 of 2 rows \(row 1; values nan\)"),
    ],
)
def test_unusable_rows_are_refused_with_a_reason(metric, truth, score, message):
    with pytest.raises((DataError, TypeError), match=message):
        metric(truth, score)


@pytest.mark.parametrize("metric", ROW_METRICS)
@pytest.mark.parametrize(
    ("qid", "message"),
    [
        ([0, 1], "qid has 2 values for 3 rows"),
        ([0, np.nan, 1], r"qid is missing for 1 of 3 rows \(row 1\)"),
        (["a", None, "a"], r"qid is missing for 1 of 3 rows \(row 1\)"),
        (["a", "a", float("nan")], r"missing for 1 of 3 rows \(row 2\)"),
        (pd.array([1, 2, None], dtype="Int64"), r"missing for 1 of 3 rows \(row 2\)"),
        (pd.Series(["a", "b", None]), r"missing for 1 of 3 rows \(row 2\)"),
        (np.array(["a", "b", pd.NA], dtype=object), r"missing for 1 of 3 rows \(row 2\)"),
        (np.array(["2020", "NaT", "2021"], dtype="datetime64[Y]"), r"missing for 1 of 3 rows \(row 1\)"),
        (np.array(["2020", "NaT", "2021"], dtype="datetime64[ns]"), r"missing for 1 of 3 rows \(row 1\)"),
        (np.array([[1], [2], [3]]), r"shape \(3, 1\)"),
        (np.array([{1}, {2}, {3}], dtype=object), "labels must be strings, numbers or tuples"),
    ],
)
def test_unusable_groups_are_refused_with_a_reason(metric, qid, message):
    with pytest.raises((DataError, TypeError), match=message):
        metric([1, 2, 3], [1, 2, 3], qid=qid)


@pytest.mark.parametrize("metric", WEIGHTED)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1], "sample_weight has 2 values"),
        ([1, -1, 1], r"sample_weight is negative for 1 of 3 rows \(row 1; "),
        ([0, 0, 0], "all 3 weights are zero"),
        ([1, np.nan, 1], "values nan"),
        ([1, np.inf, 1], "values inf"),
    ],
)
def test_unusable_weights_are_refused_with_a_reason(metric, weight, message):
    with pytest.raises(DataError, match=message):
        metric([1, 2, 3], [1, 2, 3], sample_weight=weight)


@pytest.mark.parametrize(
    ("metric", "arguments", "message"),
    [
        (disagreement_error, {"ties": "exlude"}, r'nearest names: "exclude"'),
        (disagreement_error, {"average": "mean"}, "'groups' or 'pairs' or None"),
        (kendall_tau_b, {"average": "pairs"}, "average must .*got 'pairs'"),
        (spearman, {"ties": "include"}, "'average' or 'formula'"),
        (spearman, {"ties": None}, "got None"),
        (pairwise_accuracy, {"average": ["pairs"]}, r"average must .*got \['pairs'\]"),
        (mean_average_precision, {"ties": "mean"}, "'worst'"),
        (mean_average_precision, {"undefined": "one"}, "'zero' or 'skip'"),
        (mean_average_precision, {"average": "pairs"}, "'groups' or None"),
        (ndcg, {"gain": "exp"}, "'exponential' or 'linear'"),
        (ndcg, {"discount": "log"}, r'nearest names: "log2"'),
        (ndcg, {"undefined": "nan"}, "'one'"),
        (ndcg, {"k": 0}, "k must be .*got 0"),
        (ndcg, {"k": 2.0}, r"k must be .*got 2\.0"),
        (precision_at_k, {"k": True}, "k must be .*got True"),
        (precision_at_k, {"k": -1}, "k must be .*got -1"),
    ],
)
def test_unknown_options_are_refused_with_the_known_ones(metric, arguments, message):
    with pytest.raises(ValueError, match=message):
        metric([1, 0, 2], [1, 2, 3], **arguments)


@pytest.mark.parametrize(
    ("metric", "truth", "score", "qid", "message"),
    [
        (disagreement_error, [1, 1], [1, 2], None, "the only group(.|\n)*different true values"),
        (disagreement_error, [1, 2], [1, 2], [0, 1], "all 2 groups(.|\n)*unique to each row"),
        (concordance_index, [1, 1], [1, 2], None, "different true values"),
        (kendall_tau_b, [1, 2], [1, 1], None, "constant"),
        (spearman, [1, 2], [1, 1], None, "constant"),
    ],
)
def test_data_without_anything_to_judge_is_refused(metric, truth, score, qid, message):
    with pytest.raises(DataError, match=message):
        metric(truth, score, qid=qid)


def test_labels_that_ndcg_cannot_use_are_refused():
    with pytest.raises(DataError, match=r"1 of 3 labels are negative \(rows 2\)"):
        ndcg([0, 1, -1], [1, 2, 3])
    with pytest.raises(DataError, match=r"overflows(.|\n)*linear"):
        ndcg([0, 1, 2000], [1, 2, 3])
    assert ndcg([0, 1, 2000], [1, 2, 3], gain="linear") == 1.0
    assert ndcg([0, 1, 1000], [1, 2, 3]) == 1.0


def test_columns_of_data_frames_are_taken():
    frame = pd.DataFrame({"y": [1, 2, 1, 2], "f": [0.1, 0.2, 0.4, 0.3], "q": ["a", "a", "b", "b"]})
    frame["c"] = frame["q"].astype("category")
    frame["i"] = pd.array([1, 1, 2, 2], dtype="Int64")
    for column in ("q", "c", "i"):
        error = disagreement_error(frame["y"], frame["f"], qid=frame[column], average=None)
        assert error.tolist() == [0, 1]


def test_inputs_are_left_as_they_were():
    truth, score, weight = np.array([3.0, 1, 2]), np.array([1.0, 3, 2]), np.array([1.0, 2, 3])
    for column in (truth, score, weight):
        column.flags.writeable = False
    disagreement_error(truth, score, sample_weight=weight)
    ndcg(truth, score)
    assert weight.tolist() == [1, 2, 3]
