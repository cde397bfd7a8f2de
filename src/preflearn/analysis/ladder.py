"""Which terms do the data need? Models fitted one after the other, each with one term more, chosen by evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.extmath import randomized_svd

from preflearn.analysis.limits import LIMITS, Limits
from preflearn.analysis.model_names import (
    BESIDE,
    NO_UTILITY,
    Terms,
    as_seen,
    build_model,
    has_clusters,
    has_judges,
    is_approximated,
    terms_of,
)
from preflearn.analysis.pairing import for_matched_pairs
from preflearn.data import Comparisons
from preflearn.data.fields import codes
from preflearn.exceptions import quiet
from preflearn.models import PreferenceGP
from preflearn.models.bradley_terry import utilities_by_least_squares
from preflearn.operators import FloatArray
from preflearn.structure.circle_search import PRICE, learned, n_learned, price, row_reliabilities
from preflearn.structure.rankability import SURE
from preflearn.terms import pair_operator

POINTS_OF_MANY, POINTS_BY_MOMENTS, MOST_POINTS = 16, 24, 64  # of an average: where each costs much, or little
_WHOSE = {"clusters": "clusters", "tastes": "judges"}
OTHER = {"reliability": "tastes", "tastes": "reliability"}  # what judges differ in is said in one way

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Step:
    """A model that was fitted.

    Attributes
    ----------
    terms : Terms
        What it is made of.
    model : estimator
        Fitted.
    log_evidence : float
        Log evidence of the comparisons.
    price : float
        Nats that its learned parameters must be worth, 1.5 each.

    Examples
    --------
    >>> import preflearn
    >>> result = preflearn.rank([("ann", "bob"), ("ann", "cy"), ("bob", "cy")])
    >>> step = result.ladder.steps[0]
    >>> step.terms.name, round(step.log_evidence, 2)
    ('bradley-terry', -1.94)
    """

    terms: Terms
    model: Any
    log_evidence: float
    price: float

    @property
    def name(self) -> str:
        """The name of the terms."""
        return self.terms.name

    @property
    def penalised_evidence(self) -> float:
        """Log evidence less the price of the learned parameters: what models are compared by."""
        return self.log_evidence - self.price


@dataclass(frozen=True)
class NotTried:
    """A term without a model, and why: ``gain`` nats expected, or the ``reason`` in words."""

    term: str
    gain: float | None = None
    reason: str = ""

    def __str__(self) -> str:
        if self.gain is None:
            return f"{BESIDE.get(self.term, self.term)} ({self.reason})"
        return f"{BESIDE[self.term]}: no sign of it (expected to be worth {self.gain:.1f} nats)"


@dataclass(frozen=True)
class Ladder:
    """The models that were fitted, the chosen one, and what was not tried.

    Attributes
    ----------
    steps : tuple of Step
        In the order in which they were fitted.
    chosen : Step
        The one of the highest evidence, less the price of its parameters.
    no_sign : tuple of NotTried
        Terms that were not fitted as the residuals gave no reason to, or as another model was asked for.
    left_out : tuple of NotTried
        Terms that would cost too much, or that the data cannot tell.
    asked : bool
        Whether the model was asked for, which leaves no choice.
    limits : Limits
        How far it went.

    Examples
    --------
    >>> import preflearn
    >>> result = preflearn.rank([("ann", "bob"), ("ann", "cy"), ("bob", "cy")])
    >>> len(result.ladder.steps), result.ladder.terms.name
    (1, 'bradley-terry')
    """

    steps: tuple[Step, ...]
    chosen: Step
    no_sign: tuple[NotTried, ...] = ()
    left_out: tuple[NotTried, ...] = ()
    asked: bool = False
    limits: Limits = LIMITS

    @property
    def terms(self) -> Terms:
        """What the chosen model is made of."""
        return self.chosen.terms

    @property
    def model(self) -> Any:
        """The chosen model."""
        return self.chosen.model

    @property
    def ordered(self) -> list[Step]:
        """The steps, the chosen one first, then from the highest evidence to the lowest."""
        rest = [one for one in self.steps if one.name != self.chosen.name]
        return [self.chosen, *sorted(rest, key=lambda one: -one.penalised_evidence)]

    @property
    def why(self) -> str:
        """Why this model was chosen, in a sentence."""
        chosen, *rest = self.ordered
        words = chosen.terms.words
        over_all = ""
        if "circles" in chosen.terms:
            alone = "No single ranking follows from it: places" if chosen.terms.utility == NO_UTILITY else "Places"
            over_all = f". {alone} and utilities show how much an item is preferred to the others on average"
        if self.asked:
            return f"{words}: as asked for{over_all}"
        if not rest:
            plain = not chosen.terms.beside and not chosen.terms.on_features
            return f"{words}: the items have no features" if plain else words
        ahead = chosen.penalised_evidence - rest[0].penalised_evidence
        if ahead <= -SURE and "circles" in rest[0].terms and "circles" not in chosen.terms:
            return (
                f"{words}: with circles the evidence is {-ahead:.1f} nats higher, but what this model leaves "
                "unexplained does not run in circles clearly more than chance would make it"
            )
        if ahead < 0:
            return f"{words}: {rest[0].terms.words} is {-ahead:.1f} nats ahead, too little to decide{over_all}"
        sure = "clearly " if ahead > self.limits.clearly_ahead else "" if ahead > SURE else "narrowly "
        return (
            f"{words}: {sure}the highest evidence of {len(self.steps)} models, {ahead:.1f} nats ahead of "
            f"{rest[0].terms.words}{over_all}"
        )

    def table(self) -> str:
        """Return the steps as text, the best first: log evidence, penalty, the difference, how far that is behind."""
        top = self.chosen.penalised_evidence
        lines = ["  log evidence  penalty  penalised  behind  model"]
        for one in self.ordered:
            numbers = f"{one.log_evidence:14.1f}  {one.price:7.1f}  {one.penalised_evidence:9.1f}"
            mark = " (chosen)" if one is self.chosen else ""
            lines.append(f"{numbers}  {top - one.penalised_evidence:6.1f}  {one.terms.words}{mark}")
        lines += [f"{'no sign of':>42}  {BESIDE[one.term]} ({one.gain:+.1f} nats)" for one in self.no_sign]
        lines += [f"{'not tried':>42}  {one}" for one in self.left_out]
        return "\n".join(lines)


def build_ladder(
    data: Comparisons,
    model: str = "auto",
    *,
    limits: Limits = LIMITS,
    random_state: Any = 0,
    progress: Progress | None = None,
) -> Ladder:
    """Fit the models that the data need, without circles, and choose one; the ``model`` "gp-own+side" leaves no choice.

    The evidence of a model is the probability it gave to the outcomes before having seen them. Every hyperparameter
    that was set to its best value has to be worth 1.5 nats. All models have the same link and the same inference. First
    come utilities: one of each item and, where there are features, smooth ones, which leave each item an effect of its
    own (without it, items of almost equal features would be told apart with a certainty that only follows from the
    assumption that features say everything). Then, one after the other, side, covariates, clusters and what judges
    differ in: the one that is expected to explain most of the residuals is added, and stays if the evidence
    rises. Variances have a weak prior.
    """
    tell = progress or (lambda what, share: None)
    if model != "auto":
        terms = terms_of(model, data)
        tell(f"Learning: {terms.words}", 0.0)
        only = fit_step(data, terms, None, random_state, limits)
        known = _candidates(data, terms, limits)[0]
        waiting = [] if "circles" in terms else [term for term in known if term not in terms]
        waiting = [term for term in waiting if OTHER.get(term, "") not in terms]
        worth = _expected_worth(only, waiting)
        return Ladder((only,), only, tuple(NotTried(term, worth[term]) for term in waiting), asked=True, limits=limits)
    steps, left_out = _utilities(data, limits, random_state, tell)
    chosen = max(steps, key=lambda one: one.penalised_evidence)
    waiting, more = _candidates(data, chosen.terms, limits)
    left_out += more
    no_sign: list[NotTried] = []
    while waiting:
        worth = _expected_worth(chosen, waiting)
        best = max(waiting, key=lambda term: worth[term])
        if worth[best] < limits.worth_a_fit:
            no_sign += [NotTried(term, worth[term]) for term in waiting]
            break
        beside = chosen
        # what judges differ in is said in one of two ways, and residuals hardly tell which one the evidence favours
        rivals = [term for term in waiting if term == OTHER.get(best) and worth[term] > limits.rivals * worth[best]]
        for term in (best, *rivals):
            waiting.remove(term)
            terms = beside.terms.plus(term)
            tell(f"Learning: {terms.words}", 0.2 + 0.1 * len(steps))
            steps.append(fit_step(data, terms, beside, random_state, limits))
            if steps[-1].penalised_evidence > chosen.penalised_evidence:
                chosen = steps[-1]
        if chosen is not beside:
            waiting = [term for term in waiting if term != OTHER.get(best)]
    return Ladder(tuple(steps), chosen, tuple(no_sign), tuple(left_out), limits=limits)


def _expected_worth(step: Step, terms: list[str]) -> dict[str, float]:
    """Return the nats that each term is expected to be worth beside a step, less the price of its variance."""
    gains = expected_gains(step.model, terms) if terms else {}
    return {term: gains[term] - (0.0 if term == "side" else PRICE) for term in terms}


def _utilities(
    data: Comparisons, limits: Limits, random_state: Any, tell: Progress
) -> tuple[list[Step], list[NotTried]]:
    """Fit the utilities that the data allow."""
    names, left_out = ["bradley-terry"], []
    if data.items is not None:
        names.append("gp-own")
        if 1 < data.n_features <= limits.relevances:
            names.append("gp-ard-own")
        elif data.n_features > limits.relevances:
            reason = f"at most {limits.relevances}"
            left_out.append(NotTried(f"a relevance for each of {data.n_features} features", reason=reason))
        if is_approximated(data, Terms("gp-own"), limits):
            names = [names[0], names[-1]]  # the wider of the two, as each takes long
            reason = f"{_beyond(data, limits)}, so that sums of {limits.landmarks} functions take their place"
            left_out.append(NotTried("exact models of the features", reason=reason))
    steps: list[Step] = []
    for number, name in enumerate(names):
        terms = Terms(name)
        tell(f"Learning: {terms.words}", 0.1 * number)
        steps.append(fit_step(data, terms, None, random_state, limits))
    if data.items is None:
        with quiet():
            steps[0] = replace(steps[0], model=for_matched_pairs(data, steps[0].model, limits))
    return steps, left_out


def _beyond(data: Comparisons, limits: Limits) -> str:
    return f"at most {limits.items_on_features:,} compared items; here {len(data.used_items()):,}"


def _candidates(data: Comparisons, terms: Terms, limits: Limits) -> tuple[list[str], list[NotTried]]:
    """Return the terms beside these utilities for which the data have columns, without circles."""
    found, left_out = [], []
    decided = data.outcome[data.outcome != 0]
    # else sides were written down by who won
    if len(decided) and limits.lopsided < np.mean(decided > 0) < 1 - limits.lopsided:
        if side_follows_from_items(data) > limits.side_from_items:
            reason = "who stands first mostly follows from which items were compared"
            left_out.append(NotTried("side", reason=reason))
        else:
            found.append("side")
    if data.covariates is not None:
        found.append("covariates")
    if has_clusters(data):
        found.append("clusters")
    elif data.cluster is not None:
        left_out.append(NotTried("clusters", reason="there are no two clusters, or no two comparisons in one"))
    if has_judges(data):
        found += ["reliability", "tastes"]
    elif data.judge is not None:
        left_out.append(NotTried("reliability", reason="there is one judge, or none is named"))
    for term, label, most in (
        ("clusters", data.cluster, limits.clustered_items),
        ("tastes", data.judge, limits.judged_items),
    ):
        if term in found and (cells := judged_items(data, label)) > most:
            found.remove(term)
            left_out.append(NotTried(term, reason=f"at most {most:,} items of all {_WHOSE[term]}; here {cells:,}"))
    if is_approximated(data, terms, limits):
        for term in [term for term in found if term not in ("side", "covariates")]:
            found.remove(term)
            left_out.append(NotTried(term, reason=f"beside features {_beyond(data, limits)}"))
    return found, left_out


def judged_items(data: Comparisons, label: Any) -> int:
    """Return how many items each judge, or cluster, compared, summed over them."""
    number = codes(label, len(data)) * data.n_items
    return len(np.unique(np.concatenate([number + data.first, number + data.second])))


def fit_step(data: Comparisons, terms: Terms, beside: Step | None, random_state: Any, limits: Limits) -> Step:
    """Fit a model; one with a term beside those of another step starts from what that has learned."""
    model = build_model(data, terms, limits=limits, random_state=random_state)
    seen = as_seen(data, terms)
    if _by_moments(data, limits):
        model.set_params(inference="ep")
    start = None
    if isinstance(model, PreferenceGP) and beside is not None and isinstance(beside.model, PreferenceGP):
        model.set_params(n_restarts=0)
        start = learned(beside.model)
    with quiet():
        return step_of(terms, model.fit(seen) if start is None else model.fit(seen, start=start))


def _by_moments(data: Comparisons, limits: Limits) -> bool:
    """Return whether all models are learned by expectation propagation: few pairs, none heavy, no groups of rows."""
    weight = data.listed_weight
    heavy = weight is not None and weight.max() > limits.heavy_of_all
    return len(data.pairs) <= limits.pairs_by_moments and not heavy and data.judge is None and not has_clusters(data)


def step_of(terms: Terms, model: Any) -> Step:
    """Return a fitted model as a step."""
    extra = PRICE if "reliability" in terms else 0.0  # their deviation; shares of kinds have a prior
    return Step(terms, model, float(model.log_evidence_), price(model) + extra)


def refined(data: Comparisons, best: Step, limits: Limits = LIMITS) -> Step:
    """Return the chosen model as it is sure of its answers to the right degree.

    By expectation propagation where statements are few: Laplace's method would put utilities too close together, and
    make intervals too narrow. With its few hyperparameters averaged over, where few items leave them uncertain.
    """
    terms = best.terms
    if ("circles" in terms and data.items is not None) or "reliability" in terms:
        return best
    used = len(data.used_items())
    better: dict[str, Any] = {}
    latents = _latents(data, terms)
    few = used <= limits.averaged_items and n_learned(best.model) <= limits.averaged_parameters
    if few and latents <= limits.averaged_latents:
        better["hyperparameters"] = "average"
        if latents and isinstance(best.model, PreferenceGP):
            better["n_points"] = _points(POINTS_OF_MANY, limits.averaged_latents, latents)
    most = limits.items_by_moments_on_features if terms.on_features else limits.items_by_moments
    most = 0 if "tastes" in terms else limits.items_by_moments_in_circles if "circles" in terms else most
    different = _few_statements(data, max(limits.few_statements, limits.few_per_item * used), limits.heavy)
    if used <= most and different:
        least = POINTS_OF_MANY if latents else POINTS_BY_MOMENTS
        points = {"n_points": _points(least, limits.few_statements, different)}
        fewer = points if isinstance(best.model, PreferenceGP) else {}
        by_moments = _refit(best, as_seen(data, terms), {**better, **fewer, "inference": "ep"})
        if by_moments is not None and by_moments.model.info_.converged:
            return by_moments
    return (_refit(best, as_seen(data, terms), better) if better else None) or best


def _latents(data: Comparisons, terms: Terms) -> int:
    """Return how many latents a model has beside those of the items: of judges, clusters or pairs; 0 where none."""
    if "circles" in terms:
        if "tastes" in terms:
            return len(np.unique(codes(data.judge, len(data)) * len(data.pairs) + data.pairs.row))
        return len(data.pairs)
    cells = judged_items(data, data.judge) if "tastes" in terms else 0
    return cells + (judged_items(data, data.cluster) if "clusters" in terms else 0)


def _points(least: int, largest: int, size: int) -> int:
    """Return the points of an average: the least that will do for a large problem, more where each costs less."""
    return int(np.clip(least * largest / size, least, MOST_POINTS))


def _refit(best: Step, data: Comparisons, parameters: dict[str, Any]) -> Step | None:
    """Fit the model with other parameters, the search starting where that of the model ended."""
    start = None
    if isinstance(best.model, PreferenceGP):
        start, parameters = learned(best.model), {**parameters, "n_restarts": 0}
    model = clone(best.model).set_params(**parameters)
    try:
        with quiet():
            return replace(best, model=model.fit(data) if start is None else model.fit(data, start=start))
    except np.linalg.LinAlgError:  # weights so large that the evidence has no width
        return None


def _few_statements(data: Comparisons, most: int, heavy: float) -> int:
    """Return how many different statements there are (pairs of items and who won), or 0 if these are not few or light.

    A million equal ones leave nothing that the moments could correct, and beyond these are hard to match.
    """
    counts = np.concatenate([data.pairs.wins, data.pairs.losses, data.pairs.ties])
    distinct = int(np.count_nonzero(counts))
    return distinct if distinct <= most and counts.max() <= heavy else 0


VARIANCES = np.geomspace(1e-4, 1e2, 25)
SIDE_VARIANCE = 4.0  # which is not learned
FEW = 8  # columns of B up to which utilities are taken out of their information, too; of many they are a small part


def expected_gains(model: Any, terms: list[str]) -> dict[str, float]:
    """Return the nats of evidence that each term is expected to add to a fitted model."""
    X: Comparisons = model.comparisons_
    likelihood = model.likelihood_
    weight = np.ones(len(X)) if X.weight is None else X.weight
    scale = row_reliabilities(model)
    z = model.predict_difference(X, side=bool(model.side))
    d = likelihood.log_density(X.outcome if likelihood.margins else np.sign(X.outcome), z)
    r, W = scale * weight * d.first, np.square(scale) * np.maximum(-weight * d.second, 0.0)
    if set(terms) <= {"side"}:  # rows with the same two sides are one
        _, row, same = np.unique(2 * X.pairs.row + (X.pairs.sign > 0), return_index=True, return_inverse=True)
        X, z, r, W = X[row], z[row], np.bincount(same, r), np.bincount(same, W)
    A = pair_operator(X.first, X.second, X.n_items)
    explained = utilities_by_least_squares(A, W)
    r = r - W * (A @ explained(r[:, None])[:, 0])
    gains = {}
    for term in terms:
        B = _COLUMNS[term](X, z)
        b = B.T @ r
        S = B.power(2).T @ W
        if B.shape[1] <= FEW:
            WB = W[:, None] * B.toarray()
            S = np.maximum(S - np.einsum("ij,ij->j", WB, A @ explained(WB)), 0.0)
        v = np.array([SIDE_VARIANCE])[:, None] if term == "side" else VARIANCES[:, None]
        gains[term] = _gain(b, S, v)
        if term == "reliability":
            gains[term] = max(gains[term], _gain_of_signs(X, r, W))
    return gains


def _gain(b: FloatArray, S: FloatArray, v: FloatArray) -> float:
    return float((0.5 * (v * b**2 / (1 + v * S) - np.log1p(v * S))).sum(axis=1).max())


def _gain_of_signs(X: Comparisons, r: FloatArray, W: FloatArray) -> float:
    """Return the gain of utilities that some judges see reversed, less what it costs to choose these judges.

    Where half of the judges answer the contrary of the others, utilities of all are next to nothing, and so is what
    reliabilities could change of them.
    """
    names, judge = np.unique(np.asarray(X.judge).astype(str), return_inverse=True)
    known = (names != "")[judge]
    A = pair_operator(X.first, X.second, X.n_items)
    rows = np.arange(len(X))
    G = sp.csr_array((r * known, (judge, rows)), shape=(len(names), len(X))) @ A  # what each judge says of each item
    leading = randomized_svd(G, 1, n_oversamples=5, n_iter=20, random_state=0)[0][:, 0]
    s = np.sign(leading)[judge] * known
    B = sp.diags_array(s) @ A
    return _gain(B.T @ r, B.power(2).T @ W, VARIANCES[:, None]) - len(names) * float(np.log(2))


def side_follows_from_items(X: Comparisons) -> float:
    """Return the share of 1, which a side adds to every row, that is a difference of one number of each item."""
    pairs = X.pairs
    A, count = pair_operator(pairs.low, pairs.high, X.n_items), pairs.sums(np.ones(len(X)))
    f = utilities_by_least_squares(A, count)(pairs.sums(pairs.sign)[:, None])[:, 0]
    return float(count @ np.square(A @ f) / len(X))


def _side(X: Comparisons, z: FloatArray) -> Any:
    return sp.csr_array(np.ones((len(X), 1)))


def _covariates(X: Comparisons, z: FloatArray) -> Any:
    table = np.asarray(X.covariates, dtype=np.float64)
    size = np.sqrt(np.mean(np.square(table), axis=0))
    return sp.csr_array(table / np.where(size > 0, size, 1.0))


def _reliability(X: Comparisons, z: FloatArray) -> Any:
    names, number = np.unique(np.asarray(X.judge).astype(str), return_inverse=True)
    known = (names != "")[number]
    return sp.csr_array((z * known, (np.arange(len(X)), number)), shape=(len(X), len(names)))


def _of_groups(label: Any, X: Comparisons) -> Any:
    """Return +1 and -1 in the columns of (group, first) and (group, second); rows of no group see nothing."""
    names, group = np.unique(np.asarray(label).astype(str), return_inverse=True)
    known = np.tile((names != "")[group], 2)
    ends = np.concatenate([group * X.n_items + X.first, group * X.n_items + X.second])
    cells, column = np.unique(ends, return_inverse=True)
    entries = np.repeat([1.0, -1.0], len(X)) * known
    return sp.csr_array((entries, (np.tile(np.arange(len(X)), 2), column)), shape=(len(X), len(cells)))


_COLUMNS: dict[str, Any] = {
    "side": _side,
    "covariates": _covariates,
    "clusters": lambda X, z: _of_groups(X.cluster, X),
    "tastes": lambda X, z: _of_groups(X.judge, X),
    "reliability": _reliability,
}
