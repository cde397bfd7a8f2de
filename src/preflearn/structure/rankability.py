"""Whether comparisons can be ranked at all, and why not."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.data.fields import check_count
from preflearn.data.pair_table import net_preferences
from preflearn.exceptions import quiet
from preflearn.models import BradleyTerry, PreferenceGP
from preflearn.structure.circle_search import (
    FEWER,
    HINT,
    MILLION,
    NO_SIGN,
    PRICE,
    Circles,
    Screen,
    best_variance,
    chance,
    look_for_circles,
    penalised_evidence,
    without_utility,
)
from preflearn.structure.comparable_clusters import ComparableClusters
from preflearn.structure.graph import (
    FloatArray,
    Hodge,
    average_clustering,
    cyclic_triads,
    hodge,
    shares,
    smith_sets,
    strongest_cycles,
)

ALL = 0.95  # share of preferences that counts as all of them, whichever model they are from
NOISE = 3.0  # nats above chance that the best model must reach
EP_UP_TO = 400  # distinct pairs for which several fits by EP are affordable
HEAVY = 1e4  # weight of one comparison above which EP is slow and not needed
# After a hint, circles are learned from at most so many pairs of items with features, or items without.
MOST_LEARNED, MOST_ITEMS_LEARNED = 2_500, 1_000
SURE = math.log(3)  # log odds that a verdict needs
NOTHING, SOME, MOST = 0.05, 1 / 3, 0.5  # least shares of preferences that count as more than none, as some and as most
CYCLES = 5
EVIDENCE = {"ranking": "ranking", "both": "ranking and circles", "chance": "pure chance"}
MOST_DRAWN = 40  # items whose preferences are drawn jointly
QUICK = 1e9  # operations for which probabilities of all pairs are computed
MORE = 10  # times as many cycles are looked at without them


def rankability(
    X: Comparisons | PreferenceGP,
    *,
    inference: Literal["laplace", "ep", "auto"] = "auto",
    likelihood: Any = "probit",
    n_cycles: int = CYCLES,
    n_samples: int = 2000,
    screen: bool = False,
    max_pairs: float = MOST_LEARNED,
    max_items: float = MOST_ITEMS_LEARNED,
    random_state: Any = 0,
) -> Rankability:
    """Say whether comparisons can be ranked: compare a model without and with circles.

    Parameters
    ----------
    X : Comparisons, or a fitted PreferenceGP or BradleyTerry
        A model is compared with itself with, or without, a cyclic part on the comparisons it was fitted on; all other
        parts stay.
    inference : {"auto", "laplace", "ep"}, default="auto"
        "auto" is EP for up to 400 distinct pairs, Laplace's method beyond (and for weights above 10,000).
    likelihood : {"probit", "logit"} or likelihood, default="probit"
        How outcomes depend on preferences.
    n_cycles : int, default=5
        Most cycles to look for.
    n_samples : int, default=2000
        Joint draws for Condorcet winner and Smith set, among the 40 items of the highest mean preference at most.
    screen : bool, default=False
        Whether to learn circles only where the residuals of a ranking hint at them: a second instead of a minute for
        many pairs of items with features. Without a hint ``models`` has the ranking alone, and ``log_odds`` are the
        highest that the p-value allows.
    max_pairs : float, default=2500
        With ``screen``: if items have features and there are more distinct pairs, circles are not learned even after a
        hint, and the verdict is "undecided".
    max_items : float, default=1000
        The same for the number of compared items without features; the cost grows with its cube.
    random_state : int, RandomState, Generator or None, default=0
        Source of random starts and draws.

    Returns
    -------
    Rankability
        Verdict, odds and figures; printing it shows them in words.

    Notes
    -----
    One model has utilities, the other also a cyclic part (equation 4 of the paper; independent from pair to pair for
    items without features). The odds of circles are the ratio of their evidences, where each free parameter costs 1.5
    nats, but for a length scale of circles, which has no meaning without them. Without features only repeated
    comparisons, or circles, can tell a cyclic part from noise. With three features or more, circles may also follow one
    or two of them, if the residuals show this more clearly than for all features; the choice costs the logarithm of the
    number of pairs of features.

    Evidence for circles may only mean that the prior finds such a ranking unlikely, as on a ladder where only
    neighbours met. So outcomes are also simulated from the fitted ranking: circles are found only if the residuals run
    in circles more than those of simulations do (score test of the variance of the cyclic part).

    References
    ----------
    Chau, González and Sejdinovic, "Learning inconsistent preferences with Gaussian processes", 2022.
    Jiang, Lim, Yao and Ye, "Statistical ranking and combinatorial Hodge theory", 2011.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.structure import rankability
    >>> throws = Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"], weight=[9, 9, 9])
    >>> rankability(throws).verdict
    'cyclic'
    """
    model = None
    if isinstance(X, PreferenceGP | BradleyTerry):
        check_is_fitted(X)
        model, X = X, X.comparisons_
    if not isinstance(X, Comparisons):
        raise TypeError(f"rankability: give Comparisons or a fitted PreferenceGP; got {type(X).__name__}.")
    n_cycles = check_count(n_cycles, "n_cycles", "rankability", low=0)
    n_samples = check_count(n_samples, "n_samples", "rankability")
    if X.weight is not None and not np.all(X.weight):
        model, X = None, X[np.flatnonzero(X.weight)]  # rows of weight 0 have no residuals
    if inference == "auto":
        weight = X.listed_weight
        heavy = weight is not None and weight.max() > HEAVY
        inference = "ep" if len(X.pairs) <= EP_UP_TO and not heavy else "laplace"
    if model is None:
        ties = bool((X.outcome == 0).any())
        kernel: Any = ConstantKernel() if X.items is None else "rbf"
        restarts = 0 if X.items is None or screen else 2
        model = PreferenceGP(kernel, likelihood, inference, ties=ties, n_restarts=restarts, random_state=random_state)
        with quiet():
            if X.items is None:
                model.set_params(kernel=ConstantKernel(best_variance(model, X, "own effect constant value")))
            model.fit(X)
    found = look_for_circles(model, Screen(max_pairs, max_items) if screen else None, random_state)
    return verdict_on(found, n_cycles=n_cycles, n_samples=n_samples, random_state=random_state)


def verdict_on(
    found: Circles,
    answering: Any = None,
    *,
    n_cycles: int = CYCLES,
    n_samples: int = 2000,
    random_state: Any = 0,
) -> Rankability:
    """Return the verdict on a model with and without circles.

    Shares and cycles are those of the better one, or of ``answering``: the same model as it answers questions, for
    example averaged over hyperparameters.
    """
    X, log_odds, ranking = found.ranking.comparisons_, found.log_odds, found.ranking
    models = {"ranking": ranking} if found.both is None else {"ranking": ranking, "both": found.both}
    evidence = {name: float(model.log_evidence_) for name, model in models.items()}
    evidence["chance"] = chance(X, normal=ranking.likelihood_.normal)
    # all models, chance too, know how frequent ties or how large margins are
    guessed = evidence["chance"] - PRICE * ranking.likelihood_.theta.shape[0]
    explained = max(penalised_evidence(model) for model in models.values()) - guessed
    best = models["both" if log_odds >= 0 and found.both is not None else "ranking"]
    learned = learn_preferences(best if answering is None else answering, n_cycles, n_samples, random_state)
    verdict = "undecided" if found.hint else _verdict(log_odds, explained, learned.ranking_share)
    names = getattr(ranking, "feature_names_in_", None)
    along = tuple(f"feature {k}" if names is None else str(names[k]) for k in found.along)
    if verdict in ("rankable", "only noise"):  # circles of the worse model are not reported
        learned, along = learned._replace(cycles=[]), ()
    pairs, net = net_preferences(X)
    return Rankability(
        verdict=verdict,
        log_odds=log_odds,
        p_value=found.p_value,
        log_evidence=evidence,
        hodge=hodge(pairs, net),
        triads=cyclic_triads(pairs, net),
        clustering=average_clustering(X),
        n_parts=1 if X.items is not None else len(np.unique(X.parts()[X.used_items()])),
        n_judges=0 if X.judge is None else len(set(X.judge.tolist()) - {""}),
        models=models,
        along=along,
        **learned._asdict(),
    )


def _verdict(log_odds: float, explained: float, ranking_share: float) -> str:
    """Return the verdict from the odds of circles and the evidence of the best model above chance."""
    if explained < NOISE - PRICE:
        return "only noise"
    if log_odds < -SURE or (log_odds < SURE and ranking_share > ALL):
        return "rankable"
    return "undecided" if log_odds < SURE else cyclic_or_partly(ranking_share)


@dataclass(frozen=True)
class Rankability:
    """Whether comparisons can be ranked.

    Attributes
    ----------
    verdict : {"rankable", "cyclic", "partly cyclic", "undecided", "only noise"}
        "partly cyclic": a ranking explains some of the preferences (a third or more), circles the rest.
    log_odds : float
        Logarithm of the odds of circles against a single ranking.
    p_value : float
        How often simulations of the fitted ranking leave residuals that run in circles as much as those observed.
    log_evidence : dict
        Log evidence of the models and of chance: "ranking", "both" (if it was learned), "chance".
    ranking_share, cyclic_share : float
        Shares of the squares of learned preferences between all items (of the model that the odds favour) that the
        best ranking explains, and the rest.
    ordered : bool
        Whether one order of the items agrees with all learned preferences. If circles are found nevertheless, no
        utilities explain how strong preferences are.
    hodge : Hodge
        Gradient, curl and harmonic shares of the observed net preferences.
    triads : (int, int)
        Circles of three, and triples that were compared with each other.
    clustering : float
        Average clustering coefficient of the comparison graph (`average_clustering`).
    cycles : list of (float, list)
        Strongest cycles: the probability of the weakest preference, and item names, each preferred to the next.
    n_parts : int
        Groups of items that were never compared with each other, for items without features; else 1.
    n_judges : int
        Judges by name, 0 if none are named.
    models : dict
        The fitted models: "ranking", and "both" with circles, if it was learned.
    winners : Winners
        What ``condorcet`` and ``smith`` are drawn from on first use.
    along : tuple of str
        The only features that the circles depend on, one or two; empty where it is all of them.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.structure import rankability
    >>> throws = Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"], weight=[9, 9, 9])
    >>> found = rankability(throws)
    >>> found.verdict, found.cycles[0][1]
    ('cyclic', ['rock', 'scissors', 'paper'])
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
        """Whether judges have tastes of their own, so that the verdict is about the preferences that they share."""
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
        """The p-value in words: if no simulation was as cyclic, only an upper bound is known."""
        return f"{'at most ' if self.p_value <= 1 / (FEWER + 1) else ''}{self.p_value:.1%}"

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        if self.hint:
            return "The residuals of a ranking hint at circles, but circles were not learned."
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
        """The odds of circles in words, or what replaces them."""
        if self.hint:
            return f"chance would do the same in {self.chance} of cases"
        if self.log_odds == -PRICE or (self.log_odds < 0 and self.p_value >= NO_SIGN):
            return "no sign of circles"
        if self.verdict == "rankable" and self.log_odds > -SURE:
            return f"it explains {self.ranking_share:.0%} of the learned preferences"
        odds = math.exp(min(abs(self.log_odds), 50.0))
        if odds < 1.05:
            return "even odds of circles"
        number = "beyond a million" if odds >= MILLION else f"{odds:,.0f}" if odds >= 100 else f"{odds:.1f}"
        what = "more than utilities" if self.found and self.ordered else "circles"
        return f"odds {number} to 1 {'for' if self.log_odds > 0 else 'against'} {what}"

    def clusters(self, n_clusters: int | Literal["auto"] = "auto", *, random_state: Any = 0) -> ComparableClusters:
        """Learn the model of circles alone, and return groups of items that can be ranked within and not across.

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
            self.sentence,
            f"  {self.odds}",
            f"  p-value: {self.chance} of simulated rankings look as cyclic as these data",
            f"  learned preferences: a ranking explains {self.ranking_share:.0%}, circles {self.cyclic_share:.0%}",
            f"  raw outcomes: a ranking explains {self.hodge.gradient:.0%}, circles of three "
            f"{self.hodge.curl:.0%}, longer circles {self.hodge.harmonic:.0%}",
            f"  {circles} of {triples} triples of items form a circle",
            f"  average clustering: {self.clustering:.2f} (how often opponents of an item met)",
            "  log evidence: " + ", ".join(f"{EVIDENCE[name]} {one:.1f}" for name, one in self.log_evidence.items()),
        ]
        if self.shared:
            lines.append(f"  {self.n_judges} judges have tastes of their own")
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
    """Return the verdict if circles are sure, by the share of preferences that a ranking explains."""
    return "partly cyclic" if ranking_share >= SOME else "cyclic"


class LearnedPreferences(NamedTuple):
    """The preferences of a model between all items, by names."""

    ranking_share: float
    cyclic_share: float
    ordered: bool  # whether one order agrees with all preferences
    cycles: list[tuple[float, list[Any]]]
    winners: Winners


@dataclass(frozen=True)
class Winners:
    """Who wins against everybody, by joint draws that are made on first use."""

    model: PreferenceGP
    names: Any
    score: FloatArray  # how much each is preferred on average
    n_samples: int
    random_state: Any

    @cached_property
    def found(self) -> tuple[list[tuple[Any, float]], list[tuple[Any, float]]]:
        """Who beats everybody, and who is in the Smith set, with their probabilities, among those of highest score."""
        some = np.sort(np.argsort(-self.score, kind="stable")[:MOST_DRAWN])
        table = self.names[some] if self.model.item_names_ is not None else some
        beats = self.model.sample_preferences(table, self.n_samples, self.random_state) > 0
        everybody = (beats.sum(axis=2) == len(some) - 1).mean(axis=0)
        member = smith_sets(beats).mean(axis=0)

        def listed(share: FloatArray) -> list[tuple[Any, float]]:
            order = np.argsort(-share, kind="stable")
            return [(self.names[some[item]], float(share[item])) for item in order if share[item] > 0]

        return listed(everybody), listed(member)


def learn_preferences(model: PreferenceGP, n_cycles: int, n_samples: int, random_state: Any) -> LearnedPreferences:
    """Return the preferences of a fitted model between the training items."""
    around: list[tuple[float, list[int]]] = []
    if model.cyclic_kernel is None:  # utilities have no cycles
        score = np.asarray(model.predict_utility())
        parts, ordered = (float(np.any(score != score[0])), 0.0), True
    else:
        G, P = _preferences(model)
        score, around = G.sum(axis=1), _cycles(model, G, P, n_cycles)
        parts = shares(G)
        ordered = connected_components(G > 0, directed=True, connection="strong")[0] == len(G)
    names = np.arange(len(score)) if model.item_names_ is None else model.item_names_
    named = [(strength, [names[item] for item in cycle]) for strength, cycle in around]
    return LearnedPreferences(*parts, bool(ordered), named, Winners(model, names, score, n_samples, random_state))


def _preferences(model: PreferenceGP) -> tuple[FloatArray, FloatArray | None]:
    """Return learned preferences between all items, and their probabilities, or None if these would take long."""
    if model._matrix_cost() > QUICK:
        return model._mean_preferences(), None
    matrix = model.preference_matrix()
    return matrix.mean, matrix.probability


def _cycles(model: PreferenceGP, G: FloatArray, P: FloatArray | None, count: int) -> list[tuple[float, list[int]]]:
    """Return the strongest cycles of learned preferences, each with the probability of its weakest one.

    Without probabilities of all pairs, they are computed for the strongest cycles by preferences alone.
    """
    if P is not None:
        first, second = np.nonzero(P > 0.5)
        return strongest_cycles(first, second, P[first, second], count)
    first, second = np.nonzero(G > 0)
    found = [np.array(cycle) for _, cycle in strongest_cycles(first, second, G[first, second], MORE * count)]
    if not found:
        return []
    before, after = np.concatenate(found), np.concatenate([np.roll(cycle, -1) for cycle in found])
    p = np.split(model._pair_probabilities(before, after), np.cumsum([len(cycle) for cycle in found])[:-1])
    ordered = sorted(zip([float(part.min()) for part in p], found, strict=True), key=lambda one: -one[0])
    return [(strength, cycle.tolist()) for strength, cycle in ordered[:count]]
