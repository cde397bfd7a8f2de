"""``preflearn evaluate``: how well a saved model orders data with a known answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from preflearn.cli.console import facts, table, working
from preflearn.cli.options import ReadOptions
from preflearn.cli.predicting import read_for
from preflearn.cli.sources import Saved, describe_data, is_model, open_saved, read_again, titled
from preflearn.cli.words import one_line
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
from preflearn.selection import outcome_probability

__all__ = ["Line", "judge_comparisons", "judge_rows", "run"]

_LARGEST_GRADE = 30  # 2**grade, the gain of NDCG, says nothing beyond


class Line(NamedTuple):
    """One metric: its key in JSON, its name, its value and what it means."""

    key: str
    name: str
    value: float
    meaning: str


def run(
    first: str,
    second: str | None,
    reading: ReadOptions,
    *,
    model: str,
    by: str,
    folds: int,
    relevant: float | None,
    as_json: bool,
    seed: int,
) -> None:
    """Judge a model file on data, or cross-validate on data alone."""
    if relevant is not None and not np.isfinite(relevant):
        raise DataError(f"--relevant is {relevant:g}; it must be a grade, such as 1.")
    if second is None:
        if is_model(first):
            raise DataError(f"{first}: this is a model, and DATA to judge it on is missing: MODEL DATA.")
        if relevant is not None:
            raise DataError(f"{first}: --relevant is for grades, and comparisons have none. Leave it out.")
        from preflearn.cli.comparing import run_evaluate

        run_evaluate(first, reading, model, by, folds, as_json, seed)
        return
    for option, given in (("--model", model != "auto"), ("--by", by != "pair"), ("--folds", folds != 5)):
        if given:
            raise DataError(
                f"{option} is for cross-validation of DATA alone, and {first} is a model already. Leave it out."
            )
    _judge(Path(first), second, reading, relevant, as_json)


def _judge(model: Path, data: str, reading: ReadOptions, relevant: float | None, as_json: bool) -> None:
    with working(f"Opening {model.name}"):
        saved = open_saved(model, data)
    with working(f"Judging on {titled(data)}"), read_again(data):
        given = read_for(saved, data, reading, outcomes=True)
        if isinstance(given, Comparisons):
            if relevant is not None:
                raise DataError(f"{titled(data)}: --relevant is for grades, and comparisons have none. Leave it out.")
            try:
                lines, notes = judge_comparisons(given, *_predictions(saved, given))
            except DataError as error:
                raise DataError(f"{titled(data)}: {error}") from None
        else:
            lines, notes = judge_rows(given, saved.estimator.predict(given), relevant)
    if saved.notes.get("trained_on") == Path(data).name:
        notes.append("The model was trained on a file of this name: figures on its own data are too good.")
    if as_json:
        _print_json(model, data, given, lines, notes)
        return
    facts(
        [("Read", f"{titled(Path(data).name)}: {describe_data(given)}"), ("Model", f"{model.name}: {_describe(saved)}")]
    )
    table(
        [("metric", "left"), ("value", "right"), ("meaning", "left")],
        [(line.name, f"{line.value:.4f}", line.meaning) for line in lines],
    )
    for note in notes:
        facts([("Note", note)])


def _predictions(saved: Saved, data: Comparisons) -> tuple[Any, Any]:
    """Return margins of comparisons, and probabilities where the model has them."""
    if not saved.probable:
        return saved.estimator.predict(data), None
    model = saved.estimator
    stands = {"side": True} if getattr(model, "side", False) else {}  # outcomes were made on sides
    return model.predict_difference(data, **stands), outcome_probability(model, data)


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
            notes.append(f"{name} is left out: {one_line(str(error)).partition(': ')[2]}")
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
        raise DataError("all comparisons are ties, so there is no winner to predict. Give some with a winner.")
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


def _describe(saved: Saved) -> str:
    kind = type(saved.estimator).__name__
    trained = saved.notes.get("trained_on")
    return f"{kind}, trained on {trained} ({saved.notes.get('data')})" if trained else kind


def _print_json(model: Path, data: str, given: Ratings | Comparisons, lines: list[Line], notes: list[str]) -> None:
    counts = (
        {"n_comparisons": len(given), "n_items": given.n_items}
        if isinstance(given, Comparisons)
        else {"n_rows": len(given), "n_groups": given.n_groups}
    )
    answer = {
        "model": model.name,
        "data": Path(data).name,
        **counts,
        "metrics": {line.key: line.value for line in lines},
        "notes": notes,
    }
    sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
