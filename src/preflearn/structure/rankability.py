"""Whether comparisons can be ranked at all, and if not, what is going on."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.exceptions import quiet
from preflearn.models import BradleyTerry, PreferenceGP
from preflearn.structure.circle_search import (
    PRICE,
    Circles,
    Screen,
    best_variance,
    look_for_circles,
    penalised_evidence,
)
from preflearn.structure.graph import Flow, average_clustering, cyclic_triads
from preflearn.structure.hodge import hodge
from preflearn.structure.learned_preferences import said_by
from preflearn.structure.residuals import chance
from preflearn.structure.verdict import CYCLES, SURE, Rankability, cyclic_or_partly

__all__ = ["EP_UP_TO", "HEAVY", "MOST_ITEMS_LEARNED", "MOST_LEARNED", "NOISE", "rankability", "verdict_on"]

ALL = 0.95  # share of preferences from which a ranking explains all of them, whatever model they are from
NOISE = 3.0  # nats above chance below which there is nothing to explain
EP_UP_TO = 400  # distinct pairs for which EP is affordable several times
HEAVY = 1e4  # weight of one comparison from which EP takes long, and is not needed
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
    X : Comparisons, or a fitted PreferenceGP or BradleyTerry
        A model stands for the comparisons it was fitted on. It is compared with the same model that has, or has not, a
        cyclic part: kernel, own effects, judges, side, covariates, clusters, likelihood and inference stay.
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
    Two models are compared: one with utilities, and the same with a cyclic part (equation 4 of the paper; independent
    from pair to pair for items without features) beside them. The odds of circles are those of their evidences, each
    free parameter having to be worth 1.5 nats. Without features only repeated comparisons, or circles, can tell a
    cyclic part from noise. With three features or more, circles may also run along one or two of them, if the
    residuals of the ranking say so more clearly than of all features; such a choice has to be worth the logarithm of
    the number of pairs of features.

    Evidence for circles may only mean that the prior finds such a ranking unlikely, as that of a ladder on which
    only neighbours met. So outcomes are also simulated from the ranking that was learned: circles are found only
    if its residuals run in circles (score test of the cyclic part's variance) more than those of simulations.

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
    counts: tuple[tuple[str, Any, int], ...] = (("n_cycles", n_cycles, 0), ("n_samples", n_samples, 1))
    for name, value, least in counts:
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise ValueError(f"rankability: {name}={value!r} must be a whole number of at least {least}.")
    if X.weight is not None and not np.all(X.weight):
        model, X = None, X[np.flatnonzero(X.weight)]  # what was never seen has no residuals
    if inference == "auto":
        heavy = X.weight is not None and X.weight.max() > HEAVY
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
    said: Any = None,
    *,
    n_cycles: int = CYCLES,
    n_samples: int = 2000,
    random_state: Any = 0,
) -> Rankability:
    """Return the verdict on a model with and without circles.

    Shares and cycles are those of the better one, or of ``said``: that model as it will answer questions, for example
    averaged over hyperparameters.
    """
    X, log_odds, ranking = found.ranking.comparisons_, found.log_odds, found.ranking
    models = {"ranking": ranking} if found.both is None else {"ranking": ranking, "both": found.both}
    evidence = {name: float(model.log_evidence_) for name, model in models.items()}
    evidence["chance"] = chance(X, normal=ranking.likelihood_.normal)
    # chance knows how frequent ties are, or how large margins, as all models do
    guessed = evidence["chance"] - PRICE * ranking.likelihood_.theta.shape[0]
    explained = max(penalised_evidence(model) for model in models.values()) - guessed
    best = models["both" if log_odds >= 0 and found.both is not None else "ranking"]
    learned = said_by(best if said is None else said, n_cycles, n_samples, random_state)
    verdict = "undecided" if found.hint else _verdict(log_odds, explained, learned.ranking_share)
    along = _feature_names(ranking, found.along)
    if verdict in ("rankable", "only noise"):  # circles of a model that is not believed are not reported
        learned, along = learned._replace(cycles=[]), ()
    flow = Flow.of(X)
    return Rankability(
        verdict=verdict,
        log_odds=log_odds,
        p_value=found.p_value,
        log_evidence=evidence,
        hodge=hodge(flow),
        triads=cyclic_triads(flow),
        clustering=average_clustering(flow),
        n_parts=1 if X.items is not None else len(np.unique(X.parts()[X.used_items()])),
        n_judges=0 if X.judge is None else len(set(X.judge.tolist()) - {""}),
        models=models,
        along=along,
        **learned._asdict(),
    )


def _feature_names(model: Any, features: tuple[int, ...]) -> tuple[str, ...]:
    names = getattr(model, "feature_names_in_", None)
    return tuple(f"feature {k}" if names is None else str(names[k]) for k in features)


def _verdict(log_odds: float, explained: float, ranking_share: float) -> str:
    """Return the verdict from the odds of circles and what the best model has earned above chance."""
    if explained < NOISE - PRICE:
        return "only noise"
    if log_odds < -SURE or (log_odds < SURE and ranking_share > ALL):
        return "rankable"
    return "undecided" if log_odds < SURE else cyclic_or_partly(ranking_share)
