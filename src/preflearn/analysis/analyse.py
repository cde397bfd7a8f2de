"""One analysis of comparisons, for rankings, circles, suggestions, held-out scores and reports."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from preflearn.analysis.advice import LOOK_FOR_CIRCLES, Advice
from preflearn.analysis.ladder import Ladder, NotTried, Progress, Step, build_ladder, judged_items, refined, step_of
from preflearn.analysis.limits import LIMITS, Limits
from preflearn.analysis.model_names import as_seen, has_judges
from preflearn.analysis.pairing import is_widened
from preflearn.analysis.prepared import prepare
from preflearn.analysis.record import Record
from preflearn.data import Comparisons
from preflearn.exceptions import quiet
from preflearn.structure import JudgeReport, Rankability, judge_report
from preflearn.structure.circle_search import Circles, Screen, look_for_circles, penalised_evidence
from preflearn.structure.rankability import SURE, verdict_on

__all__ = ["Analysis", "analyse"]


@dataclass(frozen=True)
class Analysis:
    """What was learned from comparisons, and how it was decided.

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
        """How far each judge can be relied upon, by the chosen model, or by one that tells judges apart.

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
        What was said.
    model : str, default="auto"
        "auto" chooses by evidence; a name such as "bradley-terry+side" leaves no choice.
    circles : bool or None, default=None
        Whether to look for circles; None: within ``limits``; True: whatever it costs.
    limits : Limits
        How far to go.
    again : bool, default=False
        Whether a model learned from these comparisons before: their weights stay as they are.
    random_state : int, default=0
        Seed of random starts and draws.
    progress : callable, default=None
        Called with what is done next and the share of the work that is done.

    Returns
    -------
    Analysis
        The models, the verdict, and what was not tried.
    """
    tell = progress or (lambda what, share: None)
    start = prepare(data, again=again)
    data = start.data
    ladder = build_ladder(data, model, limits=limits, random_state=random_state, progress=tell)
    found = None
    notes = list(start.notes)
    if circles or (circles is None and _examinable(data, limits)):
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
    tell("Refining", 0.8)
    ladder = replace(ladder, chosen=refined(data, ladder.chosen, limits))
    verdict = None if found is None else _verdict(found, ladder, random_state)
    return Analysis(as_seen(data, ladder.terms), start.record, ladder, verdict, tuple(notes), limits)


def _examinable(data: Comparisons, limits: Limits) -> bool:
    few = data.items is None or len(data.used_items()) <= limits.items_on_features
    return len(data.pairs) <= limits.pairs_examined and few


def _with_circles(
    data: Comparisons, ladder: Ladder, limits: Limits, *, always: bool, random_state: Any
) -> tuple[Ladder, Circles]:
    """Compare the chosen model with the same that has circles beside everything else; the better one is chosen."""
    screen = Screen(math.inf, math.inf) if always else Screen(limits.pairs_learned, limits.items_learned)
    start = ladder.chosen
    if "tastes" in start.terms and len(data.pairs) > limits.pairs_judged:
        reason = f"beside tastes of judges at most {limits.pairs_judged} pairs; here {len(data.pairs):,}"
        ladder = replace(ladder, left_out=(*ladder.left_out, NotTried("circles", reason=reason)))
        start = next((one for one in ladder.ordered if "tastes" not in one.terms), start)
    with quiet():
        found = look_for_circles(start.model, screen, random_state)
    if ladder.asked:
        return ladder, found
    if data.items is not None and not start.terms.on_features:  # circles may depend on features that utilities do not
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
    said = ladder.model if "circles" in ladder.terms or found.log_odds < 0 else None
    with quiet():
        verdict = verdict_on(found, said, random_state=random_state)
    if verdict.verdict == "only noise" and is_widened(ladder.model):
        return replace(verdict, verdict="rankable")  # the prior that took it for noise is not believed
    return verdict
