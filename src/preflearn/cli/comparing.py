"""``preflearn evaluate DATA`` and ``preflearn compare``: how well models predict what they have not seen."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from preflearn.analysis.analyse import analyse
from preflearn.analysis.ladder import LOPSIDED, judged_items
from preflearn.analysis.limits import LIMITS
from preflearn.analysis.prepared import prepare
from preflearn.analysis.terms import BESIDE, Terms, as_seen, build_model, has_judges, terms_of
from preflearn.cli.console import facts, progress, table
from preflearn.cli.options import ReadOptions
from preflearn.cli.sources import Read, about, comparisons_of, describe_data
from preflearn.data import Comparisons
from preflearn.exceptions import DataError, quiet
from preflearn.models import RankRLSCV
from preflearn.selection import HeldOut, held_out, outcome_probability, paired_difference

__all__ = ["run_compare", "run_evaluate"]

MOST_ASKED = 1_000  # items that judges were asked about, together, up to which a choice takes seconds and not minutes
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
            if model != "auto":
                chosen, found = None, _held_out(X, model, by, folds, seed, tell)
            else:
                chosen, found = _held_out_auto(X, by, folds, seed, tell)
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
    notes = _fewer_folds(found, folds)
    if chosen is not None and not chosen.within:
        notes.append(
            "The model was chosen by its evidence on all comparisons, those that are held out included, as choosing "
            f"it anew in each fold would take long (judges were asked about more than {MOST_ASKED:,} items, together): "
            "the figures can be a little too good. Give --model to leave no choice."
        )
    used = [terms_of(model, X)] if chosen is None else chosen.terms
    if by == "pair" and X.items is None and any("circles" in terms for terms in used):
        notes.append(
            "All comparisons of a pair are held out together, and circles between items without features are effects "
            "of single pairs: of a pair that was not seen they say nothing. For pairs that were seen, the report of "
            "preflearn rank predicts every comparison from all the others."
        )
    if as_json:
        answer = {
            **_facts(read, X, by, found),
            "model": model,
            "choice": None if chosen is None else {"from": chosen.told, "models": chosen.names},
            "metrics": {key: value for key, _, value, _ in lines},
            "notes": notes,
        }
        sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
        return
    facts([*(("Read", line) for line in read.told), ("Data", describe_data(X))])
    told = f"{used[0].words} ({model})" if chosen is None else str(chosen)
    facts([("Model", told), ("Folds", f"{found.n_folds}; held out are {_UNITS[by]}")])
    table(
        [("metric", "left"), ("value", "right"), ("meaning", "left")],
        [(word, f"{value:.4f}", meaning) for _, word, value, meaning in lines],
    )
    facts([("Note", note) for note in notes])


def run_compare(
    data: str, reading: ReadOptions, models: list[str], by: str, folds: int, as_json: bool, seed: int
) -> None:
    """Cross-validate several models on the same folds and print them side by side."""
    with progress("Reading") as tell:
        read, X = _read(data, reading, by, folds)
        names = list(dict.fromkeys(models)) or [n for n in _all(X) if by != "item" or _on_features(n, X)]
        for name in names:
            if name not in _LEAST_SQUARES:
                with about(read.source):
                    terms_of(name, X)
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
    notes = _fewer_folds(found[best], folds)
    alone = next((name for name in order if name in BESIDE), None)
    if alone is not None:
        notes.append(f"A term alone, such as {alone}, stands for {terms_of(alone, X).name}.")
    if as_json:
        whole = {**_facts(read, X, by, found[best]), "best": best, "models": answer, "notes": notes}
        sys.stdout.write(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
        return
    facts([*(("Read", line) for line in read.told), ("Data", describe_data(X))])
    facts([("Folds", f"{found[best].n_folds}, the same for all; held out are {_UNITS[by]}")])
    right = ("accuracy", "log loss", "calibration", "behind the best", "p")
    table([("model", "left"), *((name, "right") for name in right)], rows)
    units = "judges" if by == "judge" else "pairs"
    notes.append(f"behind: difference of the log losses, with its standard error; p by random signs of the {units}.")
    facts([("Note", note) for note in notes])


def _read(data: str, reading: ReadOptions, by: str, folds: int) -> tuple[Read, Comparisons]:
    """Return comparisons of which some can be held out."""
    if folds < 2:
        raise DataError(f"--folds is {folds}; it must be 2 or more.")
    read = comparisons_of(data, reading)
    X = prepare(read.data, again=read.model is not None).data
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


def _fewer_folds(found: HeldOut, asked: int) -> list[str]:
    """Return a sentence if there are fewer folds than were asked for."""
    if found.n_folds >= asked:
        return []
    units = {"pair": "different pairs of items", "item": "compared items", "judge": "judges"}[found.by]
    return [f"{found.n_folds} folds instead of {asked}: there are only {found.n_folds} {units} to hold out."]


def _all(X: Comparisons) -> list[str]:
    """Return the models that the data allow: utilities, the usual one with one term more, and least squares."""
    utilities = ["bradley-terry"] if X.items is None else ["bradley-terry", "gp-own"]
    utilities += ["gp-ard-own"] if 1 < X.n_features <= LIMITS.relevances else []
    won = np.mean(X.outcome[X.outcome != 0] > 0)
    there = {
        "side": LOPSIDED < won < 1 - LOPSIDED,
        "covariates": X.covariates is not None,
        "clusters": X.cluster is not None,
        "reliability": has_judges(X),
        "tastes": has_judges(X),
        "circles": True,
    }
    return [*utilities, *(term for term in BESIDE if there[term]), *_LEAST_SQUARES]


@dataclass(frozen=True)
class _Chosen:
    """The model of each fold, and whether it was chosen from what the fold learns from alone."""

    terms: list[Terms]
    within: bool

    @property
    def names(self) -> list[str]:
        return [terms.name for terms in self.terms]

    @property
    def told(self) -> str:
        return "each training part" if self.within else "all comparisons"

    def __str__(self) -> str:
        if len(set(self.names)) == 1:
            return f"{self.terms[0].words} ({self.names[0]}): chosen by its evidence on {self.told}"
        counts = ", ".join(f"{name} in {n} of {len(self.names)}" for name, n in Counter(self.names).most_common())
        return f"chosen by its evidence on {self.told}: {counts}"


class _Chooser:
    """A model that is chosen by evidence from what it is fitted to: what is held out has no say in it."""

    terms: Terms

    def __init__(self, by: str, seed: int) -> None:
        self.by, self.seed = by, seed

    def fit(self, X: Comparisons) -> _Chooser:
        """Choose and learn; where items are held out, among the models that can predict new ones."""
        ladder = analyse(X, again=True, random_state=self.seed).ladder
        self.terms, self.model = ladder.terms, ladder.model
        if self.by == "item" and not ladder.terms.on_features:
            able = [one for one in ladder.ordered if one.terms.on_features]
            if not able:
                raise DataError(_by_item(ladder.terms.name))
            self.terms, self.model = able[0].terms, able[0].model
        return self

    def predict_proba(self, X: Comparisons) -> Any:
        """Return the probabilities of the outcomes by the chosen model."""
        first = outcome_probability(self.model, as_seen(X, self.terms))
        return np.stack([1 - first, first], axis=1)


def _held_out_auto(X: Comparisons, by: str, folds: int, seed: int, tell: Any) -> tuple[_Chosen, HeldOut]:
    """Choose a model in each fold and predict what is held out; on all comparisons where that would take long."""
    if X.judge is not None and judged_items(X, X.judge) > MOST_ASKED:
        terms = analyse(X, again=True, random_state=seed, progress=tell).ladder.terms
        found = _held_out(X, terms.name, by, folds, seed, tell)
        return _Chosen([terms] * found.n_folds, within=False), found
    choosers: list[_Chooser] = []

    def chooser() -> _Chooser:
        choosers.append(_Chooser(by, seed))
        return choosers[-1]

    unit: Any = by
    with quiet():
        found = held_out(chooser, X, by=unit, n_folds=folds, random_state=seed, progress=tell)
    return _Chosen([one.terms for one in choosers], within=True), found


def _on_features(name: str, X: Comparisons) -> bool:
    return name in _LEAST_SQUARES or terms_of(name, X).on_features


def _by_item(name: str) -> str:
    return f"--by item needs a model of features, and {name} knows items by name alone. Use gp instead."


def _held_out(X: Comparisons, name: str, by: str, folds: int, seed: int, tell: Any) -> HeldOut:
    def model() -> Any:
        if name in _LEAST_SQUARES:
            return RankRLSCV(kernel="linear" if X.items is None else "rbf")
        return build_model(X, terms_of(name, X), random_state=seed)

    unit: Any = by
    seen = X if name in _LEAST_SQUARES else as_seen(X, terms_of(name, X))
    if by == "item" and seen.items is None:
        raise DataError(_by_item(name))
    with quiet():
        return held_out(model, seen, by=unit, n_folds=folds, random_state=seed, progress=tell)
