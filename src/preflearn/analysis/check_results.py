"""What was looked for, and whether it was found: each check of an analysis in a few words, either way."""

from __future__ import annotations

import math
from dataclasses import dataclass

from preflearn.analysis.analyse import Analysis
from preflearn.analysis.ladder import Ladder
from preflearn.analysis.model_names import BESIDE
from preflearn.structure.circle_search import MILLION

__all__ = ["Check", "checks_of"]

SAID: dict[str, tuple[str, str]] = {  # what there is, and what there is no sign of
    "side": ("one side has an advantage", "an advantage of the first side"),
    "covariates": ("covariates have effects", "effects of the covariates"),
    "clusters": ("answers of one cluster have something in common", "anything in common of answers of one cluster"),
    "reliability": ("judges differ in how reliable they are", "judges who are less reliable than others"),
    "tastes": ("judges have tastes of their own", "judges with tastes of their own"),
}
CIRCLES = "circles"
JUDGES = ("reliability", "tastes")
EVEN = math.log(1.05)  # log odds below which odds are even


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes
    ----------
    term : str
        What was looked for: "circles", "side", "covariates", "clusters", "reliability", "tastes", or "judges" where
        neither of the last two was found.
    found : bool or None
        Whether it is there; None if it was not examined.
    log_odds : float or None
        Logarithm of the odds for it; None where there are none.
    text : str
        The answer in a few words.
    """

    term: str
    found: bool | None
    log_odds: float | None
    text: str

    def __str__(self) -> str:
        return self.text


def checks_of(analysis: Analysis) -> tuple[Check, ...]:
    """Return every check that an analysis made, circles first, and what it came to.

    Odds are those of the evidence: of models with and without the term where both were learned, else what the residuals
    promise. They hold if one of the models that were compared is right.
    """
    ladder = analysis.ladder
    found = [_term(ladder, term) for term in BESIDE if term != CIRCLES]
    made = [one for one in found if one is not None]
    judges = [one for one in made if one.term in JUDGES]
    if len(judges) == len(JUDGES) and all(one.found is False for one in judges):
        odds = max(one.log_odds or 0.0 for one in judges)
        agree = Check("judges", False, odds, f"judges agree{_odds(odds, 'against differences between them')}")
        made = [*(one for one in made if one.term not in JUDGES), agree]
    return (*_circles(analysis), *made)


def _circles(analysis: Analysis) -> list[Check]:
    """Return whether there are circles, in the words of the verdict."""
    verdict = analysis.rankability
    if verdict is None:
        return [Check(CIRCLES, None, None, "circles were not looked for")]
    if verdict.found:
        return [Check(CIRCLES, True, verdict.log_odds, f"preferences run in circles ({verdict.odds})")]
    if verdict.hint:
        return [Check(CIRCLES, None, None, f"a hint at circles, which were not learned ({verdict.odds})")]
    if verdict.verdict == "undecided":
        return [Check(CIRCLES, None, verdict.log_odds, f"circles are possible ({verdict.odds})")]
    sure = f" ({verdict.odds})" if verdict.odds.startswith("odds") else ""
    return [Check(CIRCLES, False, verdict.log_odds, f"no sign of circles{sure}")]


def _term(ladder: Ladder, term: str) -> Check | None:
    """Return what a ladder found out about one term; None if nothing in the data speaks of it."""
    there, sign = SAID[term]
    left_out = next((one for one in ladder.left_out if one.term == term), None)
    if left_out is not None:
        return Check(term, None, None, f"not examined: {BESIDE[term]} ({left_out.reason})")
    if term in ladder.terms:
        rest = [one.penalised_evidence for one in ladder.steps if term not in one.terms]
        odds = ladder.chosen.penalised_evidence - max(rest) if rest else None
        return Check(term, True, odds, f"{there}{'' if odds is None else _odds(odds, '')}")
    waiting = next((one for one in ladder.no_sign if one.term == term), None)
    tried = [one.penalised_evidence for one in ladder.steps if term in one.terms]
    if waiting is not None and waiting.gain is not None:
        odds = waiting.gain
    elif tried:
        odds = max(tried) - ladder.chosen.penalised_evidence
    else:
        return None
    if odds > 0:  # of a model that was asked for, or that too little speaks for
        return Check(term, None, odds, f"signs of {sign}, which the model leaves out{_odds(odds, '')}")
    return Check(term, False, odds, f"no sign of {sign}{_odds(odds, 'against')}")


def _odds(log_odds: float, what: str) -> str:
    """Return odds in brackets, with a blank before them."""
    if abs(log_odds) < EVEN:
        return " (even odds)"
    odds = math.exp(min(abs(log_odds), 50.0))
    number = "beyond a million" if odds >= MILLION else f"{odds:,.0f}" if odds >= 10 else f"{odds:.1f}"
    return f" (odds {number} to 1{' ' + what if what else ''})"
