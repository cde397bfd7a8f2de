"""Whether comparisons can be ranked at all, and if not, what is going on."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.models import PreferenceGP
from preflearn.structure._learned import said_by
from preflearn.structure._rivals import CLEAR, HINT, NO_SIGN, PRICE, Screen, earned, learn_rivals
from preflearn.structure.graph import Flow, average_clustering, cyclic_triads
from preflearn.structure.hodge import hodge
from preflearn.structure.residuals import chance
from preflearn.structure.verdict import CYCLES, SURE, Rankability, cyclic_or_partly

__all__ = ["MOST_ITEMS_LEARNED", "MOST_LEARNED", "NOISE", "rankability"]

ALL = 0.95  # share of preferences from which on a ranking explains all of them, whatever model they are from
NOISE = 3.0  # nats above chance below which there is nothing to explain
EP_UP_TO = 400  # distinct pairs for which EP is affordable several times
HEAVY = 1e4  # weight of one comparison from which on EP takes long, and is not needed
# What circles are learned from after a hint, by default: pairs of items with features, items without.
MOST_LEARNED, MOST_ITEMS_LEARNED = 2_500, 1_000


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
        minute.
    max_pairs : float, default=2500
        With ``screen``: different pairs of items with features above which circles are not learned even after a hint,
        which leaves the verdict "undecided".
    max_items : float, default=1000
        The same for compared items without features, as the cost grows with the cube of their number.
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
    tell a cyclic part from noise. With three features or more, circles may also run along one or two of them, if the
    residuals of the ranking say so more clearly than of all features; such a choice has to earn the logarithm of the
    number of pairs of features.

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
    screened = Screen(max_pairs, max_items) if screen else None
    models, p_value, along = learn_rivals(X, flow.low.shape[0], like, screened, random_state)
    evidence = {name: model.log_evidence_ for name, model in models.items()}
    evidence["chance"] = chance(X, normal=models["ranking"].likelihood_.normal)
    worth = {name: earned(model) for name, model in models.items()}
    # chance knows how frequent ties are, or how large margins, as all models do
    guessed = evidence["chance"] - PRICE * models["ranking"].likelihood_.theta.shape[0]
    if "both" in models:
        log_odds = _bounded(max(worth.get("circles", -math.inf), worth["both"]) - worth["ranking"], p_value)
    else:
        log_odds = -PRICE if p_value >= NO_SIGN else _most(p_value)
    hint = "both" not in models and p_value < HINT
    best = models["ranking" if log_odds < 0 else max(worth, key=lambda name: worth[name])]
    said = said_by(best, n_cycles, n_samples, random_state)
    explained = max(worth.values()) - guessed
    verdict = "undecided" if hint else _verdict(log_odds, explained, said.ranking_share)
    if verdict in ("rankable", "only noise"):  # circles of a model that is not believed are not told
        said, along = said._replace(cycles=[]), ()
    return Rankability(
        verdict=verdict,
        log_odds=log_odds,
        p_value=p_value,
        log_evidence=evidence,
        hodge=hodge(flow),
        triads=cyclic_triads(flow),
        clustering=average_clustering(flow),
        n_parts=1 if X.items is not None else len(np.unique(X.parts()[X.used_items()])),
        n_judges=0 if X.judge is None else len(set(X.judge.tolist()) - {""}),
        models=models,
        along=_feature_names(models["ranking"], along),
        **said._asdict(),
    )


def _feature_names(model: PreferenceGP, features: tuple[int, ...]) -> tuple[str, ...]:
    names = getattr(model, "feature_names_in_", None)
    return tuple(f"feature {k}" if names is None else str(names[k]) for k in features)


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


def _verdict(log_odds: float, explained: float, ranking_share: float) -> str:
    """Return the verdict from the odds of circles and what the best model has earned above chance."""
    if explained < NOISE - PRICE:
        return "only noise"
    if log_odds < -SURE or (log_odds < SURE and ranking_share > ALL):
        return "rankable"
    return "undecided" if log_odds < SURE else cyclic_or_partly(ranking_share)
