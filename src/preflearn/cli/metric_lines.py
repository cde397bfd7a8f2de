"""How well predictions order data with a known answer: the metrics that apply, and why others do not."""

from __future__ import annotations

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
from preflearn.selection import HeldOut
from preflearn.table_format import plural

_ACCURACY = "decided comparisons whose winner is predicted; 0.5 is chance"
_TAU = "1 all as predicted, 0 chance, -1 reversed"
_LARGEST_GRADE = 30  # 2**grade, the gain of NDCG, says nothing beyond


class Line(NamedTuple):
    """One metric: its key in JSON, its name, its value and what it means."""

    key: str
    name: str
    value: float
    meaning: str


def held_out_lines(found: HeldOut, *, probable: bool = True) -> list[Line]:
    """Return the metrics of comparisons that were held out, of a model with probabilities or without."""
    return [
        Line("accuracy", "accuracy", found.accuracy, _ACCURACY),
        *(_probability_lines(found.log_loss, found.calibration_error) if probable else ()),
        Line("kendall_tau", "Kendall tau", found.tau, _TAU),
    ]


def _probability_lines(log_loss: float, calibration_error: float) -> list[Line]:
    return [
        Line("log_loss", "log loss", log_loss, "in nats, lower is better; guessing gives 0.693"),
        calibration_line(calibration_error),
    ]


class Compared(NamedTuple):
    """One metric of two models: its line, the value of the other, and the p-value over groups, where it is a mean."""

    line: Line
    other: float
    p_value: float | None

    @property
    def cells(self) -> tuple[str, ...]:
        """What a table shows."""
        p = self.p_value
        shown = "" if p is None else "< 0.0001" if p < 1e-4 else f"{p:.4f}"
        difference = self.line.value - self.other
        return self.line.name, f"{self.line.value:.4f}", f"{self.other:.4f}", f"{difference:+.4f}", shown


_Measure = tuple[str, str, Any, str, dict[str, Any]]  # key, name, function, meaning, options


def calibration_line(error: float) -> Line:
    """Return the line of the calibration error."""
    return Line("calibration_error", "calibration error", error, "mean distance of probabilities from observed shares")


def judge_rows(data: Ratings, prediction: Any, relevant: float | None = None) -> tuple[list[Line], list[str]]:
    """Return the metrics that apply to scored rows, and why others do not."""
    asked, notes = _measures(data, relevant)
    lines, left_out = _judged(data, prediction, asked)
    return lines, [*notes, *left_out, *_without_relevant(data, lines, relevant)]


def compare_rows(
    data: Ratings, prediction: Any, other: Any, lines: list[Line], relevant: float | None = None
) -> tuple[list[Compared], str]:
    """Return the metrics of a prediction, ``lines``, beside those of another for the same rows, and a note."""
    asked = [one for one in _measures(data, relevant)[0] if one[0] in {line.key for line in lines}]
    others = {line.key: line.value for line in _judged(data, other, asked)[0]}
    p_values = {
        key: _p_value(*(metric(data.score, one, qid=data.group, average=None, **how) for one in (prediction, other)))
        for key, _, metric, _, how in asked
        if metric is not concordance_index
    }
    compared = [Compared(line, others[line.key], p_values.get(line.key)) for line in lines if line.key in others]
    return compared, (
        f"p: Wilcoxon's signed rank test of the differences in {plural(data.n_groups, 'group')}, two-sided, not "
        "corrected for the number of metrics."
    )


def _p_value(one: Any, other: Any) -> float | None:
    from scipy.stats import wilcoxon

    both = np.isfinite(one) & np.isfinite(other)  # groups without a pair have no value
    difference = one[both] - other[both]
    if len(difference) < 2:
        return None
    return float(wilcoxon(difference).pvalue) if difference.any() else 1.0


def _measures(data: Ratings, relevant: float | None) -> tuple[list[_Measure], list[str]]:
    """Return the metrics that may apply, and why others do not."""
    asked: list[_Measure] = [
        ("disagreement", "disagreement error", disagreement_error, "pairs in the wrong order, mean of groups", {}),
        ("pairwise_accuracy", "pairwise accuracy", concordance_index, "pairs in the right order, all together", {}),
        ("kendall_tau_b", "Kendall tau_b", kendall_tau_b, "1 same order, 0 unrelated, -1 reversed", {}),
    ]
    notes: list[str] = []
    odd = _not_a_grade(data.score)
    level = 1.0 if relevant is None else relevant
    share = float(np.mean(data.score >= level))
    if odd is not None and relevant is None:
        notes.append(
            f"MAP and P@k are left out: the scores are not grades 0, 1, 2, ... ({odd:g} occurs). Use --relevant to "
            "say from which score a row is relevant."
        )
    elif share in (0.0, 1.0):
        which = "every" if share else "no"
        notes.append(f"MAP and P@k are left out: {which} score reaches {level:g}. Choose another --relevant.")
    else:
        how = {"relevant": level}
        asked.append(("map", "MAP", mean_average_precision, f"relevant: score of {level:g} or more", how))
        asked += [
            (f"precision@{k}", f"P@{k}", precision_at_k, f"share of the first {k} that is relevant", {"k": k, **how})
            for k in (1, 5, 10)
        ]
    if odd is None:
        asked += [
            (f"ndcg@{k}", f"NDCG@{k}", ndcg, f"gain in the first {k}, share of the best possible", {"k": k})
            for k in (1, 3, 5, 10)
        ]
    else:
        notes.append(f"NDCG is left out: it needs grades 0, 1, 2, ... up to {_LARGEST_GRADE} ({odd:g} occurs).")
    return asked, notes


def _judged(data: Ratings, prediction: Any, asked: list[_Measure]) -> tuple[list[Line], list[str]]:
    """Return the metrics, and why some of them have no value."""
    lines, notes = [], []
    for key, name, metric, meaning, options in asked:
        try:
            lines.append(Line(key, name, float(metric(data.score, prediction, qid=data.group, **options)), meaning))
        except DataError as error:
            notes.append(f"{name} is left out: {COMMAND_LINE.render(error.message)}")
    return lines, notes


def _without_relevant(data: Ratings, lines: list[Line], relevant: float | None) -> list[str]:
    """Return sentences about groups that count 0 whatever is predicted, and means without them."""
    known = {line.key: line for line in lines}
    level = 1.0 if relevant is None else relevant
    by_level: dict[float, list[str]] = {}
    for key, least in (("map", level), ("precision@1", level), ("ndcg@10", 1.0)):
        if key in known:
            by_level.setdefault(least, []).append(key)
    notes = []
    for least, keys in by_level.items():
        empty = data.n_groups - (1 if data.group is None else len(np.unique(data.group[data.score >= least])))
        if empty:
            words = [{"map": "MAP", "precision@1": "P@k", "ndcg@10": "NDCG"}[key] for key in keys]
            said = (
                f"{empty} of {plural(data.n_groups, 'group')} {'has' if empty == 1 else 'have'} no score of {least:g} "
                f"or more and count{'s' * (empty == 1)} 0 in {', '.join(words)}"
            )
            if empty < data.n_groups:
                share = data.n_groups / (data.n_groups - empty)
                means = ", ".join(f"{known[key].name} {share * known[key].value:.4f}" for key in keys)
                said += f". Without {'it' if empty == 1 else 'them'}: {means}"
            notes.append(f"{said}.")
    return notes


def judge_comparisons(data: Comparisons, prediction: Any, probability: Any = None) -> tuple[list[Line], list[str]]:
    """Return the metrics that apply to comparisons, and what was left out."""
    ties = int(np.count_nonzero(data.outcome == 0))
    if ties == len(data):
        raise DataError(code="only-ties").says(
            "all comparisons are ties, so there is no winner to predict", "Give some with a winner"
        )
    accuracy = float(pairwise_accuracy(data.outcome, prediction, sample_weight=data.weight))
    lines = [Line("pairwise_accuracy", "pairwise accuracy", accuracy, _ACCURACY)]
    if data.group is not None:
        mean = pairwise_accuracy(
            data.outcome, prediction, sample_weight=data.weight, group=data.group, average="groups"
        )
        lines.append(Line("pairwise_accuracy_groups", "accuracy by group", float(mean), "mean over the groups"))
    lines.append(Line("disagreement", "disagreement error", 1.0 - accuracy, "comparisons predicted wrongly"))
    notes = []
    if probability is not None:
        loss = comparison_log_loss(np.sign(data.outcome), probability, sample_weight=data.weight)
        error = expected_calibration_error(np.sign(data.outcome), probability, sample_weight=data.weight)
        lines += _probability_lines(float(loss), error)
    lines.append(Line("kendall_tau", "Kendall tau", 2 * accuracy - 1, _TAU))
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
