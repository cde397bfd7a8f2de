"""Which model ranks best: candidates fitted to the same comparisons, and the one that the evidence favours."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from preflearn.data import Comparisons
from preflearn.exceptions import DataWarning
from preflearn.models import PreferenceGP
from preflearn.ranking.candidates import (
    AROUND,
    BY_NAME,
    JUDGED,
    MODELS,
    ON_FEATURES,
    applicable,
    as_seen,
    build_model,
    check_model,
    has_judges,
    judged_items,
    judged_pairs,
)
from preflearn.ranking.pairing import for_matched_pairs
from preflearn.structure._rivals import learned, n_learned, price
from preflearn.structure.verdict import SURE

__all__ = ["Candidate", "Choice", "Utilities", "choose_model", "learn_utilities", "refined"]

# items: a second or two
MOST_BY_MOMENTS = dict.fromkeys(BY_NAME, 1_000) | dict.fromkeys(ON_FEATURES, 300) | {"both": 60}
MOST_JUDGED = 20_000  # what judges were asked about, together
MOST_PAIRS_JUDGED = 600  # different pairs up to which judges have tastes beside circles
MOST_LATENTS_AVERAGED = 1_000  # the same, or pairs in circles, up to which hyperparameters are averaged over
POINTS_OF_MANY, POINTS_BY_MOMENTS, MOST_POINTS = 16, 24, 64  # of an average: where each costs much, or little
MOST_AVERAGED, MOST_TOGETHER = 150, 5  # items and hyperparameters for which an average over these is cheap, and good
FEW, FEW_PER_ITEM = 1_000, 10  # different statements that are few, in all or for each item
HEAVY = 1e6  # weight of one of them that is too much for moments
TOGETHER = 1.0  # nats that learning all parameters again may gain on learning one beside the others
BEHIND = 20.0  # and that it cannot

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Candidate:
    """A model that was tried.

    Attributes
    ----------
    name : str
        As in ``MODELS``.
    log_evidence : float
        Log evidence of the comparisons.
    n_parameters : int
        Learned hyperparameters, each of which has to earn 1.5 nats.
    model : estimator
        Fitted.
    """

    name: str
    log_evidence: float
    n_parameters: int
    model: Any

    @property
    def earned(self) -> float:
        """Log evidence less the price of the learned parameters."""
        return self.log_evidence - price(self.model)


@dataclass(frozen=True)
class Choice:
    """The model that was chosen, what else was tried, and why.

    Attributes
    ----------
    name : str
        As in ``MODELS``.
    model : estimator
        Fitted.
    candidates : tuple of Candidate
        All that were tried, the best first.
    why : str
        The reason, in a sentence.
    left_out : tuple of str
        What was not tried although the data would have allowed it, and why.
    data : Comparisons
        What it learned from: without features if it does not look at them.
    """

    name: str
    model: Any
    candidates: tuple[Candidate, ...]
    why: str
    left_out: tuple[str, ...]
    data: Comparisons

    @property
    def judged(self) -> Any:
        """The model that tells judges apart, if the evidence favours one, whatever model was asked for; else None."""
        best = max(self.candidates, key=lambda one: one.earned)
        if best.name not in JUDGED:
            return None
        return self.model if best.name == self.name else best.model


@dataclass(frozen=True)
class Utilities:
    """Models of one ranking for all that were tried, and what was left out for its cost."""

    tried: tuple[Candidate, ...]
    left_out: tuple[str, ...]

    @property
    def on_features(self) -> Candidate | None:
        """The best that learns from features and may get a part for circles or judges beside it, if there is one."""
        fitting = [one for one in self.tried if one.name in ON_FEATURES]
        best = max(self.tried, key=lambda one: one.earned)
        return best if best in fitting else next((one for one in fitting if one.name == "gp-own"), None)


def learn_utilities(
    data: Comparisons, model: str = "auto", *, random_state: Any = 0, progress: Progress | None = None
) -> Utilities:
    """Fit the models of one ranking for all that comparisons allow, or the only model that is asked for."""
    names, left_out = applicable(data) if model == "auto" else ([check_model(data, model)], ())
    tried: list[Candidate] = []
    for name in names:
        _say(progress, name, 0.8 * len(tried) / len(names))
        tried.append(_fit(data, name, random_state, Utilities((), ())))
        if name in BY_NAME and data.items is None:
            tried[-1] = replace(tried[-1], model=_quietly(lambda: for_matched_pairs(data, tried[-1].model)))
    return Utilities(tuple(tried), left_out)


def choose_model(
    data: Comparisons,
    model: str = "auto",
    *,
    cyclic: bool = False,
    utilities: Utilities | None = None,
    both: PreferenceGP | None = None,
    random_state: Any = 0,
    progress: Progress | None = None,
) -> Choice:
    """Fit the models that these comparisons allow, and return the one that explains them best.

    Parameters
    ----------
    data : Comparisons
        With outcomes -1, 0 and 1.
    model : str, default="auto"
        A name of ``MODELS`` leaves no choice.
    cyclic : bool, default=False
        Whether preferences were found to run in circles: the utility then gets a cyclic part beside it.
    utilities : Utilities, default=None
        What `learn_utilities` returned for these comparisons and this model, if it was asked already.
    both : PreferenceGP, default=None
        The best of their utilities with a cyclic part beside it, if that was fitted already.
    random_state : int, default=0
        Seed of the random starts.
    progress : callable, default=None
        Called with what is done next and the share that is behind it.

    Returns
    -------
    Choice
        With the fitted model.

    Notes
    -----
    The evidence of a model is the probability it gave to the outcomes before having seen them. Every hyperparameter
    that was set to its best value has to earn 1.5 nats. All candidates have the same link between utilities and
    outcomes, so that only what they believe about utilities differs. Models of features that are tried leave each item
    an effect of its own, whose variance is learned: without it, items of almost equal features would be told apart
    with a certainty that only follows from the assumption that features say everything. Variances have a weak prior
    (``PreferenceGP(hyperprior=1.5)``, ``BradleyTerry(prior="auto")``), and the chosen model averages over the
    hyperparameters where few items leave them uncertain.
    """
    if utilities is None:
        utilities = learn_utilities(data, model, random_state=random_state, progress=progress)
    tried, left_out = list(utilities.tried), utilities.left_out
    best = max(tried, key=lambda one: one.earned)
    if model not in JUDGED and has_judges(data):
        if judged_items(data) > MOST_JUDGED:
            left_out += (
                f"tastes of single judges (at most {MOST_JUDGED:,} judged items; here {judged_items(data):,})",
            )
        else:
            _say(progress, "judges", 0.8)
            # said of them even if another model is asked for
            rival = -np.inf if both is None or not cyclic else _candidate("both", both).earned - BEHIND
            tried.append(_fit(data, "judges", random_state, utilities, rival))
            best = max(tried, key=lambda one: one.earned) if model == "auto" else best
    if cyclic and model == "auto":
        _say(progress, "both", 0.85)
        around = _fit(data, "both", random_state, utilities) if both is None else _candidate("both", both)
        tried.append(around)
        # where judges have no tastes beside a utility alone, they are not looked for beside circles
        shown = max((one.earned for one in tried if one.name == "judges"), default=-np.inf)
        if shown >= max(one.earned for one in utilities.tried) - TOGETHER and len(data.pairs) <= MOST_PAIRS_JUDGED:
            _say(progress, "both-judges", 0.9)
            judged = clone(around.model).set_params(judge_kernel="identity", n_restarts=0)
            tried.append(_with_tastes("both-judges", judged, data, around, around.earned))
            around = max(tried[-2:], key=lambda one: one.earned)
        if best.name != "judges" or around.earned > best.earned:  # else the circles were judges of different tastes
            if best.name == "judges" and len(data.pairs) > MOST_PAIRS_JUDGED:
                left_out += (
                    "tastes of single judges beside circles, though judges differ: intervals are too narrow (at most "
                    f"{MOST_PAIRS_JUDGED} pairs; here {len(data.pairs):,})",
                )
            best = around
    best = refined(data, best)
    ordered = sorted(tried, key=lambda one: (one.name != best.name, -one.earned))
    return Choice(
        best.name,
        best.model,
        tuple(ordered),
        _why(ordered, data, model),
        left_out,
        as_seen(data, best.name),
    )


def refined(data: Comparisons, best: Candidate) -> Candidate:
    """Return the chosen model as it is sure of its answers to the right degree.

    By expectation propagation where statements are few: Laplace's method would put utilities too close together, and
    make intervals too narrow. With its few hyperparameters averaged over, where few items leave them uncertain.
    """
    if best.name in AROUND and data.items is not None:
        return best
    used = len(data.used_items())
    better: dict[str, Any] = {}
    if used <= MOST_AVERAGED and best.n_parameters <= MOST_TOGETHER:
        better["hyperparameters"] = "average"
        if best.name in _MANY_LATENTS:
            size = _MANY_LATENTS[best.name](data)
            better["n_points"] = _points(POINTS_OF_MANY, MOST_LATENTS_AVERAGED, size)
            if size > MOST_LATENTS_AVERAGED:
                better = {}
    seen = as_seen(data, best.name)
    if used <= MOST_BY_MOMENTS.get(best.name, 0) and (said := _few_statements(data, max(FEW, FEW_PER_ITEM * used))):
        least = POINTS_OF_MANY if best.name in _MANY_LATENTS else POINTS_BY_MOMENTS
        fewer = {} if best.name in BY_NAME else {"n_points": _points(least, FEW, said)}
        by_moments = _refit(best, seen, {**better, **fewer, "inference": "ep"})
        if by_moments is not None and by_moments.model.info_.converged:
            return by_moments
    return (_refit(best, seen, better) if better else None) or best


def _points(least: int, largest: int, size: int) -> int:
    """Return the points of an average: the least that will do for a large problem, more where each costs less."""
    return int(np.clip(least * largest / size, least, MOST_POINTS))


def _refit(best: Candidate, data: Comparisons, parameters: dict[str, Any]) -> Candidate | None:
    """Fit the model with other parameters, the search starting where that of the model ended."""
    start = None
    if isinstance(best.model, PreferenceGP):
        start, parameters = learned(best.model), {**parameters, "n_restarts": 0}
    try:
        return replace(best, model=_quiet_fit(clone(best.model).set_params(**parameters), data, start))
    except np.linalg.LinAlgError:  # weights so large that the evidence has no width
        return None


def _few_statements(data: Comparisons, most: int) -> int:
    """Return how many different statements there are (pairs of items and who won), or 0 if these are not few or light.

    A million equal ones leave nothing that the moments could correct, and beyond these are hard to match.
    """
    counts = np.concatenate([data.pairs.wins, data.pairs.losses, data.pairs.ties])
    distinct = int(np.count_nonzero(counts))
    return distinct if distinct <= most and counts.max() <= HEAVY else 0


_MANY_LATENTS = {"judges": judged_items, "both": lambda data: len(data.pairs), "both-judges": judged_pairs}


def _fit(data: Comparisons, name: str, random_state: Any, utilities: Utilities, rival: float = -np.inf) -> Candidate:
    """Fit a model; one with parts beside a utility starts from the utility as it was learned alone.

    ``rival`` is what another model has earned, less what learning all parameters together may gain.
    """
    alone = utilities.on_features if utilities.tried else None
    model = build_model(data, name, like=None if alone is None else alone.name, random_state=random_state)
    if alone is None:
        return _candidate(name, _quiet_fit(model, as_seen(data, name)))
    model.set_params(n_restarts=0)
    if name == "judges":
        return _with_tastes(name, model, data, alone, max(rival, *(one.earned for one in utilities.tried)))
    return _candidate(name, _quiet_fit(model, data, learned(alone.model)))


def _with_tastes(name: str, model: Any, data: Comparisons, alone: Candidate, best: float) -> Candidate:
    """Fit tastes of judges beside what was learned without; all together only if that may be worth it."""
    judges = _candidate(name, _quiet_fit(model, data, learned(alone.model), hold=True))
    if judges.earned < best - TOGETHER:
        return judges
    return _candidate(name, _quiet_fit(model, data, learned(judges.model)))


def _say(progress: Progress | None, name: str, share: float) -> None:
    if progress is not None:
        progress(f"Learning: {MODELS[name]}", share)


def _candidate(name: str, model: Any) -> Candidate:
    return Candidate(name, float(model.log_evidence_), n_learned(model), model)


def _quiet_fit(model: Any, data: Comparisons, start: dict[str, float] | None = None, *, hold: bool = False) -> Any:
    return _quietly(lambda: model.fit(data) if start is None else model.fit(data, start=start, hold=hold))


def _quietly(work: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # said again, in other words, by the advice
        warnings.simplefilter("ignore", ConvergenceWarning)
        return work()


def _why(ordered: list[Candidate], data: Comparisons, model: str) -> str:
    best = ordered[0]
    over_all = ". Places and utilities are by how much an item is preferred to all items on average"
    if model != "auto":
        return f"{MODELS[best.name]}: as asked for{over_all if best.name in AROUND else ''}"
    if best.name in AROUND:
        return f"{MODELS[best.name]}: a ranking alone does not explain the comparisons{over_all}"
    if len(ordered) == 1:
        return f"{MODELS[best.name]}: the items have no features" if data.items is None else MODELS[best.name]
    second = ordered[1]
    ahead = best.earned - second.earned
    sure = "clearly" if ahead > 5 else "" if ahead > SURE else "narrowly"
    return (
        f"{MODELS[best.name]}: {sure + ' ' if sure else ''}the highest evidence of {len(ordered)} models, "
        f"{ahead:.1f} nats ahead of {MODELS[second.name]}"
    )
