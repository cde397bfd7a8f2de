"""Whether comparisons can be ranked at all, and if not, what is going on."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal, cast

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.exceptions import DataWarning
from preflearn.models import PreferenceGP
from preflearn.structure._learned import Winners, cycles, preferences, shares
from preflearn.structure.clusters import ComparableClusters
from preflearn.structure.graph import Flow, average_clustering, cyclic_triads
from preflearn.structure.hodge import Hodge, hodge
from preflearn.structure.residuals import FEWER, chance, cyclic_residuals, similarities, typical_distance

__all__ = ["CHEAP", "CLEAR", "NOISE", "PRICE", "SURE", "Rankability", "learned", "rankability"]

# Nats that a free parameter must earn. A search over parameters that the truth does not need gains more than this in
# fewer than one case of twenty; see the simulation in tests/test_structure_rankability.py.
PRICE = 1.5
SURE = math.log(3)  # log odds from which on a verdict is given
CLEAR, NO_SIGN = 0.01, 0.2  # p-values up to which odds stand as they are, and from which on circles have no sign
ALL = 0.95  # share of preferences from which on a ranking explains all of them, whatever model they are from
MILLION = 1e6  # odds beyond which nobody counts
NOISE = 3.0  # nats above chance below which there is nothing to explain
EP_UP_TO = 400  # distinct pairs for which EP is affordable several times
CHEAP = 120  # and up to which it is in passing, as are several starts
HEAVY = 1e4  # weight of one comparison from which on EP takes long, and is not needed
# Where circles are only looked for after a hint: the p-value of the residuals that is one. With few pairs it is that
# from which on circles have no sign, and nothing is lost; with many, that from which on they cannot be sure, whatever
# the evidence. Beyond so many pairs of items with features circles are not learned even then.
FEW_PAIRS, MOST_LEARNED = 600, 2_500
HINT = 0.04
VARIANCES = (0.35, 0.5, 0.65, 0.8, 0.95)  # that are tried first, between the bounds of its logarithm
SCALES = (0.25, 0.5, 1.0)  # of circles that residuals are searched for, in typical distances of two items


@dataclass(frozen=True)
class Rankability:
    """Whether comparisons can be ranked.

    Attributes
    ----------
    verdict : {"rankable", "cyclic", "partly cyclic", "undecided", "only noise"}
        In one word; "partly cyclic": a ranking explains some, circles the rest.
    log_odds : float
        Logarithm of the odds of circles against a single ranking.
    p_value : float
        How often a ranking, as learned, leaves residuals that run in circles as much as those observed.
    log_evidence : dict
        Log evidence of the three models and of chance: "ranking", "circles", "both", "chance".
    ranking_share, cyclic_share : float
        Shares of the learned preferences between all items (by the model that the odds favour), as squares, that the
        best ranking explains, and the rest.
    hodge : Hodge
        Gradient, curl and harmonic shares of the observed net preferences.
    triads : (int, int)
        Circles of three, and triples that were compared with each other.
    clustering : float
        Average clustering coefficient of the comparison graph.
    cycles : list of (float, list)
        Strongest cycles: the probability of the weakest preference, and items by name, each preferred to the next.
    n_judges : int
        Judges whose comparisons were taken together, 0 where nobody is named.
    models : dict
        The fitted models: "ranking", "circles", "both".
    winners : Winners
        What ``condorcet`` and ``smith`` are drawn from, when they are asked for.
    shared : bool
        Whether judges have tastes of their own besides, so that this is about what they share.
    """

    verdict: str
    log_odds: float
    p_value: float
    log_evidence: dict[str, float]
    ranking_share: float
    cyclic_share: float
    hodge: Hodge
    triads: tuple[int, int]
    clustering: float
    cycles: list[tuple[float, list[Any]]]
    n_judges: int
    models: dict[str, PreferenceGP]
    winners: Winners = field(repr=False)
    shared: bool = False

    @property
    def condorcet(self) -> list[tuple[Any, float]]:
        """Items with the probability of beating every other one, the most probable first."""
        return self.winners.found[0]

    @property
    def smith(self) -> list[tuple[Any, float]]:
        """Items with the probability of belonging to the smallest set that beats everybody outside."""
        return self.winners.found[1]

    @property
    def hint(self) -> bool:
        """Whether residuals hint at circles that were not learned, since there are too many pairs (``screen``)."""
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
        if self.shared:
            return {
                "rankable": "A single ranking explains what all judges share.",
                "cyclic": "What all judges share runs in circles, and no ranking explains it.",
                "partly cyclic": "A ranking explains some of what all judges share, circles the rest.",
                "undecided": "What all judges share does not decide between a ranking and circles.",
                "only noise": "All judges together do not show that items differ: their tastes cancel out.",
            }[self.verdict]
        return {
            "rankable": "A single ranking explains these comparisons.",
            "cyclic": "These preferences run in circles, and no ranking explains them.",
            "partly cyclic": "A ranking explains some of these preferences, circles the rest.",
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
        number = f"{odds:,.1f}" if odds < MILLION else "beyond a million"
        return f"odds {number} to 1 {'for' if self.log_odds > 0 else 'against'} circles"

    def clusters(self, n_clusters: int | Literal["auto"] = "auto", *, random_state: Any = 0) -> ComparableClusters:
        """Return groups of items that can be ranked within and not across, by the model of circles alone.

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
        if "both" not in self.models:
            raise ValueError(
                "clusters: circles were not learned, as the residuals of the ranking hint at none. Use "
                "rankability(X), without screen=True."
            )
        circles = self.models.get("circles") or _without_utility(self.models["both"])
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
        if self.n_judges > 1:
            lines.append(f"  {self.n_judges} judges are taken together")
        for probability, names in self.cycles[:3]:
            lines.append(f"  cycle: {' > '.join(map(str, [*names, names[0]]))} (weakest preference {probability:.0%})")
        name, probability = self.condorcet[0] if self.condorcet else ("", 0.0)
        if probability > 0.1 and self.verdict not in ("rankable", "only noise"):  # a ranking says who is best
            lines.append(f"  beats everybody: {name} with probability {probability:.0%}")
        return "\n".join(lines)


def rankability(
    X: Comparisons | PreferenceGP,
    *,
    inference: Literal["laplace", "ep", "auto"] = "auto",
    likelihood: Any = "probit",
    n_cycles: int = 5,
    n_samples: int = 2000,
    screen: bool = False,
    random_state: Any = 0,
) -> Rankability:
    """Say whether comparisons can be ranked, by comparing what a ranking and circles explain.

    Parameters
    ----------
    X : Comparisons, or a fitted PreferenceGP
        A model stands for the comparisons it was fitted on, and is itself the ranking or the model of both parts, with
        whatever else it assumes (kernel, own effects, likelihood, inference, prior) being what the others assume.
    inference : {"auto", "laplace", "ep"}, default="auto"
        "auto" is EP for up to 400 distinct pairs, Laplace's method beyond (and for weights above 10,000).
    likelihood : {"probit", "logit"} or likelihood, default="probit"
        How outcomes depend on preferences.
    n_cycles : int, default=5
        Most cycles to look for.
    n_samples : int, default=2000
        Joint draws for Condorcet winner and Smith set, among the 40 items of the highest mean preference at most.
    screen : bool, default=False
        Whether to learn circles only where the residuals of a ranking hint at them. Without a hint ``models`` has the
        ranking alone, and ``log_odds`` are the most that the p-value can mean; and where both parts together are
        beyond doubt, circles alone are not learned. Many pairs of items with features cost a second instead of a
        minute; above 2,500 of them a hint leaves the verdict "undecided".
    random_state : int, RandomState, Generator or None, default=0
        Source of random starts and draws.

    Returns
    -------
    Rankability
        Verdict, odds and what lies behind them; printing it says it in words.

    Notes
    -----
    Three models are fitted: a utility, a cyclic part (equation 4 of the paper; independent from pair to pair for items
    without features), and both. The odds of circles are those of the better of the last two against the first by their
    evidences, each free parameter having to earn 1.5 nats. Without features only repeated comparisons, or circles, can
    tell a cyclic part from noise.

    Evidence for circles may only mean that the prior finds such a ranking unlikely, as that of a ladder on which
    only neighbours met. So outcomes are also simulated from the ranking that was learned: circles are found only
    if its residuals run in circles (score test of the cyclic part's variance) more than those of simulations. Judges
    are taken together.

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
    like = None
    if isinstance(X, PreferenceGP):
        check_is_fitted(X)
        like, X = X, X.comparisons_
    if not isinstance(X, Comparisons):
        raise TypeError(f"rankability: give Comparisons or a fitted PreferenceGP; got {type(X).__name__}.")
    counts: tuple[tuple[str, Any, int], ...] = (("n_cycles", n_cycles, 0), ("n_samples", n_samples, 1))
    for name, value, least in counts:
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise ValueError(f"rankability: {name}={value!r} must be a whole number of at least {least}.")
    if X.weight is not None and not np.all(X.weight):
        X = X[np.flatnonzero(X.weight)]  # what was never seen has no residuals
    flow = Flow.of(X)
    if inference == "auto":
        heavy = X.weight is not None and X.weight.max() > HEAVY
        inference = "ep" if flow.low.shape[0] <= EP_UP_TO and not heavy else "laplace"
    if like is None:
        ties = bool((X.outcome == 0).any())
        like = PreferenceGP(likelihood=likelihood, inference=inference, ties=ties)
    models, p_value = _fit(X, flow.low.shape[0], like, screen, random_state)
    evidence = {name: model.log_evidence_ for name, model in models.items()}
    evidence["chance"] = chance(X, models["ranking"].likelihood_)
    earned = {name: _earned(model) for name, model in models.items()}
    # chance knows how frequent ties are, or how large margins, as all models do
    guessed = evidence["chance"] - PRICE * models["ranking"].likelihood_.theta.shape[0]
    if "both" in models:
        log_odds = _bounded(max(earned.get("circles", -math.inf), earned["both"]) - earned["ranking"], p_value)
    else:
        log_odds = -PRICE if p_value >= NO_SIGN else _most(p_value)
    hint = "both" not in models and p_value < HINT
    best = models["ranking" if log_odds < 0 else max(earned, key=lambda name: earned[name])]
    around: list[tuple[float, list[int]]] = []
    if best is models["ranking"]:  # what it prefers has no cycles, and all pairs need not be asked about
        score = np.asarray(best.predict_utility())
        ranking_share, cyclic_share = float(np.any(score != score[0])), 0.0
    else:
        believed, probability = preferences(best)
        score, around = believed.sum(axis=1), cycles(best, believed, probability, n_cycles)
        ranking_share, cyclic_share = shares(believed)
    names = np.arange(len(score)) if best.item_names_ is None else best.item_names_
    return Rankability(
        "undecided" if hint else _verdict(log_odds, earned, guessed, ranking_share),
        log_odds,
        p_value,
        evidence,
        ranking_share,
        cyclic_share,
        hodge(flow),
        cyclic_triads(flow),
        average_clustering(flow),
        [(strength, [names[item] for item in cycle]) for strength, cycle in around],
        0 if X.judge is None else len(set(X.judge.tolist()) - {""}),
        models,
        Winners(best, names, score, n_samples, random_state),
    )


def _fit(
    X: Comparisons, n_pairs: int, like: PreferenceGP, screen: bool, random_state: Any
) -> tuple[dict[str, PreferenceGP], float]:
    """Return the models, and the p-value of circles in what the ranking leaves unexplained."""
    bare: Any = ConstantKernel() if X.items is None else "rbf"
    utility = bare if like.kernel is None else like.kernel
    restarts = 0 if X.items is None or (screen and n_pairs > CHEAP) else 2
    anew = {"hyperparameters": "maximise", "judge_kernel": None, "n_restarts": restarts, "random_state": random_state}
    done = getattr(like, "comparisons_", None) is X and like.hyperparameters == "maximise" and like.judge_kernel is None

    def fitted(start: dict[str, float] | None = None, **parts: Any) -> PreferenceGP:
        wanted = {"kernel": None, "cyclic_kernel": None, **parts}
        if done and like.kernel is not None and all(getattr(like, name) is part for name, part in wanted.items()):
            return like
        model = clone(like).set_params(**anew, **wanted, own_effect=like.own_effect and wanted["kernel"] is not None)
        if X.items is None and len(parts) == 1:
            model.set_params(**{name: _first_variance(model, X) for name in parts})
        return cast(PreferenceGP, model.fit(X, start=start))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # that nothing but noise is found is a verdict here
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranking = fitted(kernel=utility)
        p_value, around = 1.0, {}
        if screen or (X.items is not None and n_pairs > CHEAP):
            p_value, strongest = cyclic_residuals(ranking, similarities(ranking, SCALES), random_state)
            if X.items is not None and n_pairs > CHEAP:  # what a ranking leaves is rougher than what it explains
                around = {"cyclic constant value": 1.0}
                around["cyclic length scale"] = SCALES[strongest] * typical_distance(ranking)
        if screen:
            hint = p_value < (NO_SIGN if n_pairs <= FEW_PAIRS else HINT)
            if not hint or (X.items is not None and n_pairs > MOST_LEARNED):
                return {"ranking": ranking}, p_value
        cyclic = bare if like.cyclic_kernel is None else like.cyclic_kernel

        def beside(circles: dict[str, float]) -> PreferenceGP:
            named = circles if isinstance(cyclic, str) and cyclic == bare else {}  # another kernel has other names
            return fitted(named | learned(ranking), kernel=utility, cyclic_kernel=cyclic)

        if around:
            both = beside(around)
            if screen and p_value <= CLEAR and _beyond_doubt(ranking, both):
                return {"ranking": ranking, "both": both}, p_value
        circles = fitted(cyclic_kernel=bare)
        if X.items is None:
            both = fitted(**_shared(ranking, circles))
        elif not around:
            both = beside(learned(circles))
    if not screen or p_value > CLEAR:  # that circles of some scale are clear does not become clearer by another test
        kernel = None if X.items is None else circles._solution.prior.cyclic.gram()[0]
        p_value = cyclic_residuals(ranking, [kernel], random_state).p_value
    return {"ranking": ranking, "circles": circles, "both": both}, p_value


def _without_utility(both: PreferenceGP) -> PreferenceGP:
    """Return the model of circles alone, where that of both was all that a verdict needed."""
    model = clone(both).set_params(kernel=None, cyclic_kernel="rbf", own_effect=False, n_restarts=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cast(PreferenceGP, model.fit(both.comparisons_))


def _beyond_doubt(ranking: PreferenceGP, both: PreferenceGP) -> bool:
    """Return whether circles without a utility could change no word of the verdict, which is "partly cyclic"."""
    return _earned(both) - _earned(ranking) > math.log(MILLION) and shares(both._mean_preferences())[0] > 0.5


def _earned(model: PreferenceGP) -> float:
    return float(model.log_evidence_ - PRICE * len(model.theta_))


def learned(model: PreferenceGP) -> dict[str, float]:
    """Return the hyperparameters by name, as ``fit(start=)`` takes them."""
    return dict(zip(model.theta_names_, np.exp(model.theta_).tolist(), strict=True))


def _first_variance(model: PreferenceGP, X: Comparisons) -> ConstantKernel:
    """Return the only variance of a model to start from: of a few, that of the highest evidence.

    The evidence may have two tops, one of them without any preferences. A look at a few values finds the higher one
    with fewer evaluations than random starts, each of which would climb to the end.
    """
    tried = clone(model).set_params(hyperparameters="fixed").fit(X)
    low, high = tried._evidence.bounds[0]
    steps = low + (high - low) * np.array(VARIANCES)
    rest = tried._evidence.theta[1:]
    found = [tried.log_evidence(np.append(step, rest), gradient=False) for step in steps]
    return ConstantKernel(math.exp(steps[int(np.argmax(found))]))


def _shared(ranking: PreferenceGP, circles: PreferenceGP) -> dict[str, Any]:
    """Return where to start with both parts: each has half of the variance that it has alone."""
    parts = {"kernel": ranking, "cyclic_kernel": circles}
    return {name: ConstantKernel(max(0.5 * math.exp(model.theta_[0]), 0.1)) for name, model in parts.items()}


def _bounded(log_odds: float, p_value: float) -> float:
    """Return log odds of circles that are not above what the residuals of the ranking allow.

    Without any sign of circles in the residuals a cyclic part has not earned its parameter.
    """
    if p_value <= CLEAR:
        return log_odds
    return min(log_odds, -PRICE if p_value >= NO_SIGN else _most(p_value))


def _most(p_value: float) -> float:
    """Return the highest log odds that a p-value can mean, -log(-e p log p) (Sellke, Bayarri and Berger, 2001)."""
    return -math.log(-math.e * p_value * math.log(p_value))


def _verdict(log_odds: float, earned: dict[str, float], chance: float, ranking_share: float) -> str:
    if max(earned.values()) - chance < NOISE - PRICE:
        return "only noise"
    if log_odds < -SURE or (log_odds < SURE and ranking_share > ALL):
        return "rankable"
    if log_odds < SURE:
        return "undecided"
    if ranking_share > 0.5 or "circles" not in earned:
        return "partly cyclic"
    return "partly cyclic" if earned["both"] > earned["circles"] + SURE else "cyclic"
