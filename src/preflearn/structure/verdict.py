"""The verdict on whether comparisons can be ranked: its figures, and what it says in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from preflearn.structure.circle_search import HINT, MILLION, NO_SIGN, PRICE, without_utility
from preflearn.structure.comparable_clusters import ComparableClusters
from preflearn.structure.hodge import Hodge
from preflearn.structure.learned_preferences import Winners
from preflearn.structure.residuals import FEWER

__all__ = ["CYCLES", "SURE", "Rankability", "cyclic_or_partly"]

SURE = math.log(3)  # log odds from which on a verdict is given
SOME, MOST = 1 / 3, 0.5  # share of preferences from which on a ranking explains some of them, and most
NOTHING = 0.05  # and below which it explains none
CYCLES = 5  # that are looked for


@dataclass(frozen=True)
class Rankability:
    """Whether comparisons can be ranked.

    Attributes
    ----------
    verdict : {"rankable", "cyclic", "partly cyclic", "undecided", "only noise"}
        In one word; "partly cyclic": a ranking explains some of the preferences (a third or more), circles the rest.
    log_odds : float
        Logarithm of the odds of circles against a single ranking.
    p_value : float
        How often a ranking, as learned, leaves residuals that run in circles as much as those observed.
    log_evidence : dict
        Log evidence of the models and of chance: "ranking", "both" (if it was learned), "chance".
    ranking_share, cyclic_share : float
        Shares of the learned preferences between all items (by the model that the odds favour), as squares, that the
        best ranking explains, and the rest.
    ordered : bool
        Whether one order of the items agrees with all learned preferences: if circles are found nevertheless, it is how
        strong preferences are that no ranking explains, not which way they point.
    hodge : Hodge
        Gradient, curl and harmonic shares of the observed net preferences.
    triads : (int, int)
        Circles of three, and triples that were compared with each other.
    clustering : float
        Average clustering coefficient of the comparison graph.
    cycles : list of (float, list)
        Strongest cycles: the probability of the weakest preference, and items by name, each preferred to the next.
    n_parts : int
        Parts of the items that never met, where no features are known that would compare them.
    n_judges : int
        Judges whose comparisons were taken together, 0 where nobody is named.
    models : dict
        The fitted models: "ranking", and "both" with circles beside it, unless they could not change the verdict.
    winners : Winners
        What ``condorcet`` and ``smith`` are drawn from, when they are asked for.
    along : tuple of str
        The only features that the circles depend on, one or two; empty where it is all of them.
    """

    verdict: str
    log_odds: float
    p_value: float
    log_evidence: dict[str, float]
    ranking_share: float
    cyclic_share: float
    ordered: bool
    hodge: Hodge
    triads: tuple[int, int]
    clustering: float
    cycles: list[tuple[float, list[Any]]]
    n_parts: int
    n_judges: int
    models: dict[str, Any]
    winners: Winners = field(repr=False)
    along: tuple[str, ...] = ()

    @property
    def shared(self) -> bool:
        """Whether judges have tastes of their own besides, so that the verdict is about what they share."""
        return getattr(self.models["ranking"], "judge_kernel", None) is not None

    @property
    def condorcet(self) -> list[tuple[Any, float]]:
        """Items with the probability of beating every other one, the most probable first."""
        return self.winners.found[0]

    @property
    def smith(self) -> list[tuple[Any, float]]:
        """Items with the probability of belonging to the smallest set that beats everybody outside."""
        return self.winners.found[1]

    @property
    def found(self) -> bool:
        """Whether circles were found."""
        return self.verdict in ("cyclic", "partly cyclic")

    @property
    def hint(self) -> bool:
        """Whether residuals hint at circles that were not learned, since pairs or items are too many (``screen``)."""
        return "both" not in self.models and self.p_value < HINT

    @property
    def chance(self) -> str:
        """The p-value in words: simulations of which none was as cyclic say no more than that it is small."""
        return f"{'at most ' if self.p_value <= 1 / (FEWER + 1) else ''}{self.p_value:.1%}"

    @property
    def told(self) -> str:
        """The verdict in a sentence."""
        if self.hint:
            return "What a ranking leaves unexplained hints at circles, which were not learned."
        what, them = ("what all judges share", "it") if self.shared else ("these preferences", "them")
        if self.found and self.ordered:
            return f"One order agrees with {what}, but no utilities explain how strong preferences are."
        if self.verdict == "cyclic":
            run = "What all judges share runs" if self.shared else "These preferences run"
            most = "" if self.ranking_share < NOTHING else f"more than {self.ranking_share:.0%} of "
            return f"{run} in circles, and no ranking explains {most}{them}."
        if self.verdict == "partly cyclic":
            return f"A ranking explains {'most' if self.ranking_share > MOST else 'some'} of {what}, circles the rest."
        if self.verdict == "rankable" and self.n_parts > 1:
            them = "what all judges share" if self.shared else "these comparisons"
            return f"A ranking explains {them} within each of {self.n_parts} parts that never met."
        if self.shared:
            return {
                "rankable": "A single ranking explains what all judges share.",
                "undecided": "What all judges share does not decide between a ranking and circles.",
                "only noise": "All judges together do not show that items differ: their tastes cancel out.",
            }[self.verdict]
        return {
            "rankable": "A single ranking explains these comparisons.",
            "undecided": "These comparisons do not decide between a ranking and circles.",
            "only noise": "These comparisons do not show that items differ: chance could have made them.",
        }[self.verdict]

    @property
    def odds(self) -> str:
        """The odds of circles in words, or why they say little."""
        if self.hint:
            return f"chance would do the same in {self.chance} of cases"
        if self.log_odds == -PRICE or (self.log_odds < 0 and self.p_value >= NO_SIGN):
            return "no sign of circles"
        if self.verdict == "rankable" and self.log_odds > -SURE:
            return f"it explains {self.ranking_share:.0%} of what was learned"
        odds = math.exp(min(abs(self.log_odds), 50.0))
        if odds < 1.05:
            return "even odds of circles"
        number = "beyond a million" if odds >= MILLION else f"{odds:,.0f}" if odds >= 100 else f"{odds:.1f}"
        what = "more than utilities" if self.found and self.ordered else "circles"
        return f"odds {number} to 1 {'for' if self.log_odds > 0 else 'against'} {what}"

    def clusters(self, n_clusters: int | Literal["auto"] = "auto", *, random_state: Any = 0) -> ComparableClusters:
        """Return groups of items that can be ranked within and not across, by the model of circles alone.

        It is learned now.

        Parameters
        ----------
        n_clusters : int or "auto", default="auto"
            Number of groups; "auto" is the one, up to ten, with which rankings within groups explain most.
        random_state : int, RandomState or None, default=0
            Source of the starts.

        Returns
        -------
        ComparableClusters
            Fitted: ``labels_`` and ``ranks_`` of the items.
        """
        circles = without_utility(self.models.get("both") or self.models["ranking"])
        return ComparableClusters(n_clusters, random_state=random_state).fit_matrix(circles._mean_preferences())

    def __str__(self) -> str:
        """Return the verdict in words, with the figures behind it."""
        circles, triples = self.triads
        lines = [
            self.told,
            f"  {self.odds}",
            f"  {self.chance} of rankings like this one would leave residuals as cyclic",
            f"  learned preferences: a ranking explains {self.ranking_share:.0%}, circles {self.cyclic_share:.0%}",
            f"  observed ones: a ranking {self.hodge.gradient:.0%}, circles of three {self.hodge.curl:.0%}, "
            f"longer circles {self.hodge.harmonic:.0%}",
            f"  {circles} of {triples} triples run in a circle",
            "  log evidence: " + ", ".join(f"{name} {value:.1f}" for name, value in self.log_evidence.items()),
        ]
        if self.shared:
            lines.append(f"  {self.n_judges} judges have tastes of their own besides")
        if self.found and self.along:
            what = "how strong preferences are depends on" if self.ordered else "circles run along"
            lines.append(f"  {what} {' and '.join(self.along)}")
        for probability, names in self.cycles[:3]:
            lines.append(f"  cycle: {' > '.join(map(str, [*names, names[0]]))} (weakest preference {probability:.0%})")
        name, probability = self.condorcet[0] if self.condorcet else ("", 0.0)
        if probability > 0.1 and self.verdict not in ("rankable", "only noise"):  # a ranking says who is best
            lines.append(f"  beats everybody: {name} with probability {probability:.0%}")
        return "\n".join(lines)


def cyclic_or_partly(ranking_share: float) -> str:
    """Return the verdict where circles are sure, by the share of preferences that a ranking explains."""
    return "partly cyclic" if ranking_share >= SOME else "cyclic"
