"""One analysis of comparisons, for rankings, circles, suggestions, held-out scores and reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from preflearn.analysis.advice import LOOK_FOR_CIRCLES, Advice
from preflearn.analysis.ladder import (
    Ladder,
    NotTried,
    Progress,
    Step,
    build_ladder,
    fit_step,
    judged_items,
    refined,
    step_of,
)
from preflearn.analysis.limits import LIMITS, Limits
from preflearn.analysis.model_names import BESIDE, as_seen, has_judges, is_approximated
from preflearn.analysis.pairing import is_widened
from preflearn.analysis.prepared import Record, prepare
from preflearn.data import Comparisons
from preflearn.exceptions import quiet
from preflearn.messages import PYTHON, Dialect, Setting, Text
from preflearn.structure import JudgeReport, Rankability, judge_report
from preflearn.structure.circle_search import MILLION, Circles, Screen, look_for_circles, penalised_evidence
from preflearn.structure.rankability import SURE, verdict_on


@dataclass(frozen=True)
class Analysis:
    """What was learned from comparisons, and how each part was decided.

    Attributes
    ----------
    data : Comparisons
        What the chosen model learned from: without features if it does not look at them.
    record : Record
        Wins, losses and ties of the items.
    ladder : Ladder
        The models that were fitted, the chosen one, and what was not tried.
    rankability : Rankability or None
        Whether there is a single ranking: the chosen model with and without circles. None if it was not examined.
    notes : tuple of Advice
        What should be known about the way from the data to the model.
    limits : Limits
        How far it went.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.analysis import analyse
    >>> found = analyse(Comparisons(None, ["ann", "bob"], ["bob", "cy"]))
    >>> found.ladder.terms.name
    'bradley-terry'
    """

    data: Comparisons
    record: Record
    ladder: Ladder
    rankability: Rankability | None
    notes: tuple[Advice, ...]
    limits: Limits = LIMITS

    @property
    def model(self) -> Any:
        """The chosen model, fitted."""
        return self.ladder.model

    @property
    def tells_judges_apart(self) -> bool:
        """Whether the chosen model knows judges."""
        return "tastes" in self.ladder.terms or "reliability" in self.ladder.terms

    @cached_property
    def judges(self) -> JudgeReport | None:
        """How far each judge can be trusted, by the chosen model, or by one that tells judges apart.

        None where nobody is named, or a model of judges would cost too much.
        """
        if self.tells_judges_apart:
            return _report(self.model)
        if not has_judges(self.data) or judged_items(self.data, self.data.judge) > self.limits.judged_items:
            return None
        return _report(self.data)


def _report(of: Any) -> JudgeReport:
    with quiet():
        return judge_report(of)


def analyse(
    data: Comparisons,
    model: str = "auto",
    *,
    circles: bool | None = None,
    limits: Limits = LIMITS,
    again: bool = False,
    random_state: Any = 0,
    progress: Progress | None = None,
) -> Analysis:
    """Learn from comparisons: choose the terms of a model, look for circles, and refine what was chosen.

    Parameters
    ----------
    data : Comparisons
        What to learn from.
    model : str, default="auto"
        "auto" chooses by evidence; a name such as "bradley-terry+side" leaves no choice.
    circles : bool or None, default=None
        Whether to look for circles; None: within ``limits``; True: even if it takes long.
    limits : Limits
        How far to go.
    again : bool, default=False
        Whether they were prepared before, as those of a model file were: their weights stay as they are.
    random_state : int, default=0
        Seed of random starts and draws.
    progress : callable, default=None
        Called with what is done next and the share of the work that is done.

    Returns
    -------
    Analysis
        The models, the verdict, and what was not tried.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.analysis import analyse
    >>> found = analyse(Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "cy"]))
    >>> found.model.rank().names
    array(['ann', 'bob', 'cy'], dtype=object)
    """
    tell = progress or (lambda what, share: None)
    start = prepare(data, again=again)
    data = start.data
    ladder = build_ladder(data, model, limits=limits, random_state=random_state, progress=tell)
    found = None
    notes = list(start.notes)
    wanted = bool(circles) or (circles is None and _examinable(data, limits))
    if wanted and all(is_approximated(data, one.terms, limits) for one in ladder.steps):
        reason = f"beside features at most {limits.items_on_features:,} compared items; bradley-terry allows more"
        ladder = replace(ladder, left_out=(*ladder.left_out, NotTried("circles", reason=reason)))
    elif wanted:
        tell("Looking for circles", 0.6)
        ladder, found = _with_circles(data, ladder, limits, always=bool(circles), random_state=random_state)
    elif circles is None:
        notes.append(
            Advice(
                "not examined",
                "There are too many pairs to look for circles in passing.",
                cure=LOOK_FOR_CIRCLES,
            )
        )
    if is_approximated(data, ladder.terms, limits):
        notes.append(_approximated(ladder.model))
    tell("Refining", 0.8)
    ladder = replace(ladder, chosen=refined(data, ladder.chosen, limits))
    verdict = None if found is None else _verdict(found, ladder, random_state)
    return Analysis(as_seen(data, ladder.terms), start.record, ladder, verdict, tuple(notes), limits)


def _approximated(model: Any) -> Advice:
    """Return what should be known of utilities that are sums of functions."""
    held, n = 1.0 - model.info_.lost, model.approximation.n_components
    return Advice(
        "approximated",
        f"There are too many items for the exact model of the features. Utilities are sums of {n} functions, which "
        f"hold {held:.1%} of the variance that features may explain; the rest counts as effects of the items. "
        "preflearn.scale.compare_with_exact says what that changes on some of the items.",
    )


def _examinable(data: Comparisons, limits: Limits) -> bool:
    few = data.items is None or len(data.used_items()) <= limits.items_on_features
    return len(data.pairs) <= limits.pairs_examined and few


def _with_circles(
    data: Comparisons, ladder: Ladder, limits: Limits, *, always: bool, random_state: Any
) -> tuple[Ladder, Circles]:
    """Compare the chosen model with the same that has circles beside everything else; the better one is chosen."""
    screen = Screen(math.inf, math.inf) if always else Screen(limits.pairs_learned, limits.items_learned)
    start = ladder.chosen
    if is_approximated(data, start.terms, limits):  # by name, and all else as it is: a side is no circle
        start = next(one for one in ladder.steps if not is_approximated(data, one.terms, limits))
        terms = replace(start.terms, beside=ladder.terms.beside)
        if terms != start.terms:
            start = fit_step(data, terms, start, random_state, limits)
            ladder = replace(ladder, steps=(*ladder.steps, start))
    if "tastes" in start.terms and len(data.pairs) > limits.pairs_judged:
        reason = f"beside tastes of judges at most {limits.pairs_judged} pairs; here {len(data.pairs):,}"
        ladder = replace(ladder, left_out=(*ladder.left_out, NotTried("circles", reason=reason)))
        start = next((one for one in ladder.ordered if "tastes" not in one.terms), start)
    with quiet():
        found = look_for_circles(start.model, screen, random_state)
    if ladder.asked:
        return ladder, found
    exact = data.items is not None and len(data.used_items()) <= limits.items_on_features
    if exact and not start.terms.on_features:  # circles may depend on features that utilities do not
        found, start = _of_features(ladder, found, start, screen, random_state)
    if found.both is None:
        return ladder, found
    step = step_of(start.terms.plus("circles"), found.both)
    sure = found.log_odds >= SURE and step.penalised_evidence > ladder.chosen.penalised_evidence
    ladder = replace(ladder, steps=(*ladder.steps, step), chosen=step if sure else ladder.chosen)
    if not sure and start is not ladder.chosen:  # what looks like circles are tastes of judges
        with quiet():
            found = look_for_circles(ladder.model, Screen(0, 0), random_state)
    return ladder, found


def _of_features(
    ladder: Ladder, found: Circles, start: Step, screen: Screen, random_state: Any
) -> tuple[Circles, Step]:
    """Return circles beside a utility of features, and that step, if they explain more than those beside another."""
    other = next((one for one in ladder.ordered if one.terms.on_features), None)
    if other is None:
        return found, start
    with quiet():
        featured = look_for_circles(other.model, screen, random_state)
    if featured.both is None:
        return found, start
    if found.both is not None and penalised_evidence(found.both) >= penalised_evidence(featured.both):
        return found, start
    # the odds are those against the better of the models without circles
    better = found.ranking if start.penalised_evidence > other.penalised_evidence else featured.ranking
    return featured._replace(ranking=better), other


def _verdict(found: Circles, ladder: Ladder, random_state: Any) -> Rankability:
    """Return the verdict, as the chosen model answers if it is one of the two that were compared."""
    answers = ladder.model if "circles" in ladder.terms or found.log_odds < 0 else None
    with quiet():
        verdict = verdict_on(found, answers, random_state=random_state)
    if verdict.verdict == "only noise" and is_widened(ladder.model):
        return replace(verdict, verdict="rankable")  # the prior that took it for noise is not used
    return verdict


CHECKED: dict[str, tuple[str, str]] = {  # what there is, and what there is no sign of
    "side": ("one side has an advantage", "an advantage of the first side"),
    "covariates": ("covariates have effects", "effects of the covariates"),
    "clusters": ("answers of one cluster have something in common", "anything in common of answers of one cluster"),
    "reliability": ("judges differ in how reliable they are", "judges who are less reliable than others"),
    "tastes": ("judges have tastes of their own", "judges with tastes of their own"),
}
CIRCLES = "circles"
JUDGES = ("reliability", "tastes")
SHOWN = 5  # effects of covariates in a sentence


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
    cure : str, Setting or Phrase
        How to get an answer, where there is none.

    Examples
    --------
    >>> import preflearn
    >>> result = preflearn.rank([("ann", "bob"), ("ann", "cy"), ("bob", "cy")])
    >>> [check.term for check in result.checks]
    ['circles']
    """

    term: str
    found: bool | None
    log_odds: float | None
    text: str
    cure: Text = ""

    def __str__(self) -> str:
        return self.worded()

    def worded(self, dialect: Dialect = PYTHON) -> str:
        """Return the text, with settings as these readers write them."""
        return f"{self.text} ({dialect.words(self.cure)})" if self.cure else self.text


def sentence_of(checks: Sequence[Check], dialect: Dialect = PYTHON) -> str:
    """Return checks in one sentence; empty if there was nothing to check."""
    text = "; ".join(one.worded(dialect) for one in checks)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


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
        alike = Check("judges", False, odds, f"no sign that judges differ{_odds(odds, analysis.limits, 'against')}")
        made = [*(one for one in made if one.term not in JUDGES), alike]
    elif any(one.found for one in judges):  # of what judges differ in, one way says it better: no word on the other
        made = [one for one in made if one.found is not False or one.term not in JUDGES]
    return (*_circles(analysis), *made)


def _circles(analysis: Analysis) -> list[Check]:
    """Return whether there are circles, in the words of the verdict."""
    verdict = analysis.rankability
    left_out = next((one for one in analysis.ladder.left_out if one.term == CIRCLES), None)
    if verdict is None and left_out is not None:
        return [Check(CIRCLES, None, None, f"circles were not looked for ({left_out.reason})")]
    if verdict is None:
        cure = Setting("circles", True) + " looks for them"
        return [Check(CIRCLES, None, None, "circles were not looked for", cure)]
    if verdict.found:
        return [Check(CIRCLES, True, verdict.log_odds, f"preferences run in circles ({verdict.odds})")]
    if verdict.hint:
        return [Check(CIRCLES, None, None, f"a hint at circles, which were not learned ({verdict.odds})")]
    if verdict.verdict == "undecided":
        return [Check(CIRCLES, None, verdict.log_odds, f"circles are possible ({verdict.odds})")]
    sure = f" ({verdict.odds})" if verdict.odds.startswith("odds") else ""
    return [Check(CIRCLES, False, verdict.log_odds, f"no sign of circles{sure}")]


def _term(ladder: Ladder, term: str) -> Check | None:
    """Return what a ladder found out about one term; None if the data have nothing to do with it."""
    there, sign = CHECKED[term]
    left_out = next((one for one in ladder.left_out if one.term == term), None)
    if left_out is not None:
        return Check(term, None, None, f"not examined: {BESIDE[term]} ({left_out.reason})")
    if term in ladder.terms:
        rest = [one.penalised_evidence for one in ladder.steps if term not in one.terms]
        odds = ladder.chosen.penalised_evidence - max(rest) if rest else None
        sizes = _sizes(ladder.model) if term == "covariates" else ""
        return Check(term, True, odds, f"{there}{'' if odds is None else _odds(odds, ladder.limits)}{sizes}")
    waiting = next((one for one in ladder.no_sign if one.term == term), None)
    tried = [one.penalised_evidence for one in ladder.steps if term in one.terms]
    if waiting is not None and waiting.gain is not None:
        odds = waiting.gain
    elif tried:
        odds = max(tried) - ladder.chosen.penalised_evidence
    else:
        return None
    if odds > 0:  # a model that was asked for, or too little evidence
        return Check(term, None, odds, f"signs of {sign}, which the model leaves out{_odds(odds, ladder.limits)}")
    return Check(term, False, odds, f"no sign of {sign}{_odds(odds, ladder.limits, 'against')}")


def _sizes(model: Any) -> str:
    """Return the effects of covariates with their intervals, the surest first."""
    surest = sorted(model.covariate_effects_, key=lambda one: -abs(one.estimate) / (one.std or np.inf))
    more = f", and {len(surest) - SHOWN} more" if len(surest) > SHOWN else ""
    return f": by each unit of {', '.join(str(one) for one in surest[:SHOWN])}{more}"


def _odds(log_odds: float, limits: Limits, what: str = "") -> str:
    """Return odds in brackets, with a blank before them."""
    if abs(log_odds) < math.log(limits.even_odds):
        return " (even odds)"
    odds = math.exp(min(abs(log_odds), 50.0))
    number = "beyond a million" if odds >= MILLION else f"{odds:,.0f}" if odds >= 10 else f"{odds:.1f}"
    return f" (odds {number} to 1{' ' + what if what else ''})"
