"""``preflearn evaluate DATA`` and ``preflearn compare``: how well models predict what they have not seen."""

from __future__ import annotations

import json
import sys
from typing import Any

from preflearn.cli.console import facts, progress, table
from preflearn.cli.options import ReadOptions
from preflearn.cli.sources import Read, about, comparisons_of, describe_data
from preflearn.data import Comparisons
from preflearn.exceptions import DataError
from preflearn.models import RankRLSCV
from preflearn.ranking import MODELS
from preflearn.ranking.choice import applicable, as_seen, build_model, check_model, choose_model, has_judges
from preflearn.ranking.prepared import prepare
from preflearn.ranking.ranker import quietly
from preflearn.selection import HeldOut, held_out, paired_difference

__all__ = ["run_compare", "run_evaluate"]

_LEAST_SQUARES = {"rankrls": "least squares on differences, penalty by leave-one-pair-out"}
_UNITS = {
    "pair": "all comparisons of two items together",
    "item": "single items, in all of their comparisons",
    "judge": "single judges, with all of their answers",
}


def run_evaluate(data: str, reading: ReadOptions, model: str, by: str, folds: int, as_json: bool, seed: int) -> None:
    """Cross-validate one model and print how it did."""
    with progress("Reading") as tell:
        read, X = _read(data, reading, by, folds)
        with about(read.source):
            name = choose_model(X, random_state=seed, progress=tell).name if model == "auto" else check_model(X, model)
            found = _held_out(X, name, by, folds, seed, tell)
    lines = [
        ("accuracy", "accuracy", found.accuracy, "decided comparisons whose winner is predicted; 0.5 is chance"),
        ("log_loss", "log loss", found.log_loss, "surprise in nats; 0.693 is a coin"),
        (
            "calibration_error",
            "calibration error",
            found.calibration_error,
            "distance of probabilities from what happened",
        ),
        ("kendall_tau", "Kendall tau", found.tau, "1 all as predicted, 0 chance, -1 reversed"),
    ]
    if as_json:
        answer = {
            **_facts(read, X, by, found),
            "model": name,
            "metrics": {key: value for key, _, value, _ in lines},
        }
        sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
        return
    facts([*(("Read", line) for line in read.told), ("Data", describe_data(X))])
    facts([("Model", f"{MODELS[name]} ({name})"), ("Folds", f"{found.n_folds}; held out are {_UNITS[by]}")])
    table(
        [("metric", "left"), ("value", "right"), ("meaning", "left")],
        [(word, f"{value:.4f}", meaning) for _, word, value, meaning in lines],
    )
    if model == "auto":
        facts([("Note", "The model was chosen by its evidence on all comparisons; give --model to leave no choice.")])


def run_compare(
    data: str, reading: ReadOptions, models: list[str], by: str, folds: int, as_json: bool, seed: int
) -> None:
    """Cross-validate several models on the same folds and print them side by side."""
    with progress("Reading") as tell:
        read, X = _read(data, reading, by, folds)
        names = list(dict.fromkeys(models)) or [n for n in _all(X) if by != "item" or as_seen(X, n).items is not None]
        for name in names:
            if name not in _LEAST_SQUARES:
                with about(read.source):
                    check_model(X, name)
        if len(names) < 2:
            raise DataError(f"{read.source}: there is one model to compare ({names[0]}). Name two or more.")
        found = {}
        for k, name in enumerate(names):
            with about(read.source):
                found[name] = _held_out(
                    X,
                    name,
                    by,
                    folds,
                    seed,
                    lambda what, share, k=k, name=name: tell(f"{name}: {what}", (k + share) / len(names)),
                )
    probable = [name for name in names if name not in _LEAST_SQUARES]
    order = sorted(probable, key=lambda name: found[name].log_loss) + [n for n in names if n in _LEAST_SQUARES]
    best = order[0]
    rows, answer = [], []
    for name in order:
        one = found[name]
        entry: dict[str, Any] = {"model": name, "accuracy": one.accuracy}
        cells = [name, f"{one.accuracy:.4f}", "-", "-", "-", "-"]
        if name in probable:
            entry |= {"log_loss": one.log_loss, "calibration_error": one.calibration_error}
            cells[2:4] = [f"{one.log_loss:.4f}", f"{one.calibration_error:.4f}"]
            if name != best:
                behind = paired_difference(one, found[best], random_state=seed)
                entry |= {"behind": behind.mean, "std_error": behind.std_error, "p_value": behind.p_value}
                cells[4:] = [f"{behind.mean:.4f} ± {behind.std_error:.4f}", f"{behind.p_value:.2g}"]
        rows.append(cells)
        answer.append(entry)
    if as_json:
        whole = {**_facts(read, X, by, found[best]), "best": best, "models": answer}
        sys.stdout.write(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
        return
    facts([*(("Read", line) for line in read.told), ("Data", describe_data(X))])
    facts([("Folds", f"{found[best].n_folds}, the same for all; held out are {_UNITS[by]}")])
    right = ("accuracy", "log loss", "calibration", "behind the best", "p")
    table([("model", "left"), *((name, "right") for name in right)], rows)
    units = "judges" if by == "judge" else "pairs"
    facts(
        [("Note", f"behind: difference of the log losses, with its standard error; p by random signs of the {units}.")]
    )


def _read(data: str, reading: ReadOptions, by: str, folds: int) -> tuple[Read, Comparisons]:
    """Return comparisons of which some can be held out."""
    if folds < 2:
        raise DataError(f"--folds is {folds}; it must be 2 or more.")
    read = comparisons_of(data, reading)
    X = prepare(read.data).data
    if by == "judge" and X.judge is None:
        raise DataError(f"{read.source}: --by judge needs to know who judged. Name the column: --columns judge=COLUMN.")
    if by == "item" and X.items is None:
        raise DataError(
            f"{read.source}: --by item needs features: an item that is known by name alone cannot be predicted. "
            "Give them with --items ITEMS."
        )
    if not X.outcome.any():
        raise DataError(
            f"{read.source}: all comparisons are ties, so there is no winner to predict. Give some with one."
        )
    return read, X


def _facts(read: Read, X: Comparisons, by: str, found: HeldOut) -> dict[str, Any]:
    return {
        "data": read.source,
        "n_comparisons": len(X),
        "n_items": X.n_items,
        "held_out": by,
        "n_folds": found.n_folds,
    }


def _all(X: Comparisons) -> list[str]:
    return [*applicable(X)[0], "both", *(["judges"] if has_judges(X) else []), *_LEAST_SQUARES]


def _held_out(X: Comparisons, name: str, by: str, folds: int, seed: int, tell: Any) -> HeldOut:
    def build() -> Any:
        if name in _LEAST_SQUARES:
            return RankRLSCV(kernel="linear" if X.items is None else "rbf")
        return build_model(X, name, random_state=seed)

    unit: Any = by
    if by == "item" and as_seen(X, name).items is None:
        raise DataError(f"--by item needs a model of features, and {name} knows items by name alone. Use gp instead.")
    seen = as_seen(X, name)
    found: HeldOut = quietly(lambda: held_out(build, seen, by=unit, n_folds=folds, random_state=seed, progress=tell))
    return found
