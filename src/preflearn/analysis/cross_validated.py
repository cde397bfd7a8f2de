"""How well models, named or chosen by evidence, predict comparisons that are held out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from preflearn.analysis.analyse import analyse
from preflearn.analysis.ladder import judged_items
from preflearn.analysis.limits import LIMITS
from preflearn.analysis.model_names import (
    BESIDE,
    Terms,
    as_seen,
    build_model,
    has_clusters,
    has_judges,
    terms_of,
    without_features,
)
from preflearn.data import Comparisons
from preflearn.exceptions import DataError, Setting, quiet
from preflearn.models import KPCRankCV, RankRLSCV
from preflearn.selection import HeldOut, held_out, outcome_probability

MOST_ASKED = 1_000  # items that judges were asked about, together, up to which a choice takes seconds and not minutes
LEAST_SQUARES = {
    "rankrls": "least squares on differences, penalty by leave-one-pair-out",
    "kpcrank": "least squares on differences along kernel principal components, their number by folds of pairs",
}


@dataclass(frozen=True)
class Chosen:
    """The model of each fold, and whether it was chosen from what the fold learns from alone."""

    terms: list[Terms]
    within: bool

    @property
    def names(self) -> list[str]:
        """The models, as they are called."""
        return [terms.name for terms in self.terms]

    @property
    def source(self) -> str:
        """What they were chosen from."""
        return "each training part" if self.within else "all comparisons"

    def __str__(self) -> str:
        if len(set(self.names)) == 1:
            return f"{self.terms[0].words} ({self.names[0]}): chosen by its evidence on {self.source}"
        counts = ", ".join(f"{name} in {n} of {len(self.names)}" for name, n in Counter(self.names).most_common())
        return f"chosen by its evidence on {self.source}: {counts}"


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
                raise _by_item(ladder.terms.name)
            self.terms, self.model = able[0].terms, able[0].model
        return self

    def predict_proba(self, X: Comparisons) -> Any:
        """Return the probabilities of the outcomes by the chosen model."""
        first = outcome_probability(self.model, as_seen(X, self.terms))
        return np.stack([1 - first, first], axis=1)


def hold_out_auto(X: Comparisons, by: str, folds: int, seed: int, tell: Any) -> tuple[Chosen, HeldOut]:
    """Choose a model in each fold and predict what is held out; on all comparisons where that would take long."""
    if X.judge is not None and judged_items(X, X.judge) > MOST_ASKED:
        terms = analyse(X, again=True, random_state=seed, progress=tell).ladder.terms
        found = hold_out(X, terms.name, by, folds, seed, tell)
        return Chosen([terms] * found.n_folds, within=False), found
    choosers: list[_Chooser] = []

    def chooser() -> _Chooser:
        choosers.append(_Chooser(by, seed))
        return choosers[-1]

    unit: Any = by
    with quiet():
        found = held_out(chooser, X, by=unit, n_folds=folds, random_state=seed, progress=tell)
    return Chosen([one.terms for one in choosers], within=True), found


def _by_item(name: str) -> DataError:
    return DataError(code="by-item-without-features").says(
        Setting("by", "item") + f" needs a model of features, and {name} knows items by name alone",
        "Use " + Setting("model", "gp"),
    )


def hold_out(X: Comparisons, name: str, by: str, folds: int, seed: int, tell: Any) -> HeldOut:
    """Predict what is held out by one model."""

    def model() -> Any:
        if name == "kpcrank":
            return KPCRankCV()
        if name == "rankrls":
            return RankRLSCV(kernel="linear" if X.items is None else "rbf")
        return build_model(X, terms_of(name, X), random_state=seed)

    if name == "kpcrank" and X.items is None:
        raise without_features(name)
    unit: Any = by
    seen = X if name in LEAST_SQUARES else as_seen(X, terms_of(name, X))
    if by == "item" and seen.items is None:
        raise _by_item(name)
    with quiet():
        return held_out(model, seen, by=unit, n_folds=folds, random_state=seed, progress=tell)


def models_to_compare(X: Comparisons, by: str) -> list[str]:
    """Return the models that the data allow: utilities, the usual one with one term more, and least squares."""
    utilities = ["bradley-terry"] if X.items is None else ["bradley-terry", "gp-own"]
    utilities += ["gp-ard-own"] if 1 < X.n_features <= LIMITS.relevances else []
    won = (X.outcome[X.outcome != 0] > 0).mean()
    there = {
        "side": LIMITS.lopsided < won < 1 - LIMITS.lopsided,
        "covariates": X.covariates is not None,
        "clusters": has_clusters(X),
        "reliability": has_judges(X),
        "tastes": has_judges(X),
        "circles": True,
    }
    names = [*utilities, *(term for term in BESIDE if there[term])]
    able = [name for name in names if by != "item" or terms_of(name, X).on_features]
    return [*able, *(name for name in LEAST_SQUARES if name != "kpcrank" or X.items is not None)]
