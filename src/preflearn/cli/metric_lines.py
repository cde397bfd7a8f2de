"""How well predictions order data with a known answer: the metrics that apply, and why others do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from preflearn.cli.dialect import COMMAND_LINE
from preflearn.data import Comparisons, Ratings
from preflearn.exceptions import DataError
from preflearn.metrics import (
    comparison_log_loss,
    concordance_index,
    disagreement_error,
    expected_calibration_error,
    kendall_tau_b,
    mean_average_precision,
    ndcg,
    pairwise_accuracy,
    precision_at_k,
)

__all__ = ["Line", "judge_comparisons", "judge_rows"]

_LARGEST_GRADE = 30  # 2**grade, the gain of NDCG, says nothing beyond


class Line(NamedTuple):
    """One metric: its key in JSON, its name, its value and what it means."""

    key: str
    name: str
    value: float
    meaning: str


def judge_rows(data: Ratings, prediction: Any, relevant: float | None = None) -> tuple[list[Line], list[str]]:
    """Return the metrics that apply to scored rows, and why others do not."""
    group = data.group
    qid: dict[str, Any] = {"qid": group}
    lines: list[Line] = []
    notes: list[str] = []

    def add(key: str, name: str, metric: Callable[..., Any], meaning: str, **options: Any) -> None:
        try:
            value = float(metric(data.score, prediction, **qid, **options))
        except DataError as error:
            notes.append(f"{name} is left out: {COMMAND_LINE.render(error.message)}")
        else:
            lines.append(Line(key, name, value, meaning))

    add(
        "disagreement",
        "disagreement error",
        disagreement_error,
        "pairs in the wrong order, mean of groups",
    )
    add("pairwise_accuracy", "pairwise accuracy", concordance_index, "pairs in the right order, all groups together")
    add("kendall_tau_b", "Kendall tau_b", kendall_tau_b, "1 same order, 0 unrelated, -1 reversed")
    odd = _not_a_grade(data.score)
    if odd is None or relevant is not None:
        level = 1.0 if relevant is None else relevant
        share = float(np.mean(data.score >= level))
        if share in (0.0, 1.0):
            which = "every" if share else "no"
            notes.append(f"MAP and P@k are left out: {which} score reaches {level:g}. Choose another --relevant.")
        else:
            relevance = f"relevant: score of {level:g} or more"
            add("map", "MAP", mean_average_precision, relevance, relevant=level)
            for k in (1, 5, 10):
                add(
                    f"precision@{k}",
                    f"P@{k}",
                    precision_at_k,
                    f"share of the first {k} that is relevant",
                    k=k,
                    relevant=level,
                )
    else:
        notes.append(
            f"MAP and P@k are left out: the scores are no grades 0, 1, 2, ... ({odd:g} occurs). Give --relevant to "
            "count scores from a number on as relevant."
        )
    if odd is None:
        for k in (1, 3, 5, 10):
            add(f"ndcg@{k}", f"NDCG@{k}", ndcg, f"gain in the first {k}, share of the best possible", k=k)
    else:
        notes.append(f"NDCG is left out: it needs grades 0, 1, 2, ... up to {_LARGEST_GRADE} ({odd:g} occurs).")
    return lines, notes


def judge_comparisons(data: Comparisons, prediction: Any, probability: Any = None) -> tuple[list[Line], list[str]]:
    """Return the metrics that apply to comparisons, and what was left out."""
    ties = int(np.count_nonzero(data.outcome == 0))
    if ties == len(data):
        raise DataError(code="only-ties").says(
            "all comparisons are ties, so there is no winner to predict", "Give some with a winner"
        )
    accuracy = float(pairwise_accuracy(data.outcome, prediction, sample_weight=data.weight))
    lines = [
        Line("pairwise_accuracy", "pairwise accuracy", accuracy, "comparisons whose winner is predicted"),
        Line("disagreement", "disagreement error", 1.0 - accuracy, "comparisons predicted wrongly; 0.5 is chance"),
    ]
    notes = []
    if probability is not None:
        loss = comparison_log_loss(np.sign(data.outcome), probability, sample_weight=data.weight)
        error = expected_calibration_error(np.sign(data.outcome), probability, sample_weight=data.weight)
        lines.append(Line("log_loss", "log loss", float(loss), "surprise in nats; 0.693 is a coin"))
        lines.append(
            Line("calibration_error", "calibration error", error, "distance of probabilities from what happened")
        )
    lines.append(Line("kendall_tau", "Kendall tau", 2 * accuracy - 1, "1 all as predicted, 0 chance, -1 reversed"))
    if data.group is not None:
        mean = float(
            pairwise_accuracy(data.outcome, prediction, sample_weight=data.weight, group=data.group, average="groups")
        )
        lines.insert(1, Line("pairwise_accuracy_groups", "accuracy by group", mean, "mean over the groups"))
    if ties:
        notes.append(f"{ties} of {len(data)} comparisons are ties and are left out.")
    if np.any(prediction == 0):
        equal = int(np.count_nonzero(prediction == 0))
        notes.append(f"{equal} of {len(data)} comparisons have a predicted margin of 0, which counts one half.")
    return lines, notes


def _not_a_grade(score: Any) -> float | None:
    """Return the first score that is no grade, or None."""
    bad = np.flatnonzero((score < 0) | (score > _LARGEST_GRADE) | (score != np.floor(score)))
    return float(score[bad[0]]) if len(bad) else None
