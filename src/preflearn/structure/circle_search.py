"""Cyclic preferences: a fitted model with and without a cyclic part, everything else in it kept."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn.data import Comparisons
from preflearn.exceptions import quiet
from preflearn.models import BradleyTerry, PreferenceGP
from preflearn.structure.residuals import cyclic_residuals, functions_of_features, similarities, typical_distance

__all__ = [
    "CLEAR",
    "HINT",
    "MILLION",
    "NO_SIGN",
    "PRICE",
    "Circles",
    "Screen",
    "as_gp",
    "best_variance",
    "learned",
    "look_for_circles",
    "n_learned",
    "penalised_evidence",
    "price",
    "without_utility",
]

# Nats that a free parameter must be worth. A search over parameters that the truth does not need gains more than this
# in fewer than one case of twenty; see the simulation in tests/structure/test_structure_rankability.py.
PRICE = 1.5
MILLION = 1e6  # odds beyond which nobody counts
CLEAR, NO_SIGN = 0.01, 0.2  # p-values up to which odds stand as they are, and from which there is no sign of circles
CHEAP = 120  # distinct pairs up to which several starts are cheap
# Where circles are learned only after a hint: the p-value of the residuals that is one. With few pairs it is the one
# from which there is no sign of circles, and nothing is lost; with many, the one from which circles cannot be sure.
FEW_PAIRS = 600
HINT = 0.04
WEAK = 1.5  # deviation of the weak prior of BradleyTerry(prior="auto")
VARIANCES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # that a search without features may start from
FAR = 1e4  # ranges of a feature that are a length scale beyond all of its distances
SCALES = (0.0, 0.25, 0.5, 1.0)  # of circles that residuals are searched for, in typical distances of two items
ROUGHEST = 0.1  # where a search starts if items that circles are about have nothing in common


class Screen(NamedTuple):
    """Learn circles only after a hint, and up to so many distinct pairs with features, or items without."""

    max_pairs: float
    max_items: float

    def allows(self, X: Comparisons) -> bool:
        """Return whether circles are learned where there is a hint at them."""
        return len(X.used_items()) <= self.max_items if X.items is None else len(X.pairs) <= self.max_pairs


class Circles(NamedTuple):
    """A model without circles, the same with them (None: not learned), and what residuals say.

    ``p_value`` is how often chance would leave residuals as cyclic, ``along`` the only features that circles follow.
    """

    ranking: Any
    both: PreferenceGP | None
    p_value: float
    along: tuple[int, ...] = ()

    @property
    def log_odds(self) -> float:
        """Log odds of circles by the two evidences, as far as the residuals of the ranking allow.

        Without any sign of circles in the residuals a cyclic part is not worth its parameter; where it was not learned,
        the odds are the most that the p-value can mean.
        """
        most = -PRICE if self.p_value >= NO_SIGN else _most(self.p_value)
        if self.both is None:
            return most
        found = penalised_evidence(self.both) - penalised_evidence(self.ranking)
        return found if self.p_value <= CLEAR else min(found, most)

    @property
    def hint(self) -> bool:
        """Whether residuals hint at circles that were not learned."""
        return self.both is None and self.p_value < HINT


def look_for_circles(ranking: Any, screen: Screen | None, random_state: Any) -> Circles:
    """Learn circles beside a fitted model; with ``screen`` only where its residuals hint at them.

    All else stays: kernel, own effects, judges, side, covariates, clusters, link and inference.
    """
    both = None
    if getattr(ranking, "cyclic_kernel", None) is not None:
        both, ranking = ranking if ranking.kernel is not None else None, _without_circles(ranking)
    X = ranking.comparisons_
    many = X.items is not None and len(X.pairs) > CHEAP
    sign = cyclic_residuals(
        ranking, similarities(ranking, SCALES), random_state, functions_of_features(ranking) if many else None
    )
    if both is not None:
        return Circles(ranking, both, sign.p_value)
    if screen:
        hint = sign.p_value < (NO_SIGN if len(X.pairs) <= FEW_PAIRS else HINT)
        if not hint or not screen.allows(X):
            return Circles(ranking, None, sign.p_value)
    model = clone(as_gp(ranking)).set_params(
        hyperparameters="maximise", n_restarts=0 if X.items is None or screen or many else 2, random_state=random_state
    )
    if X.items is None:
        with quiet():
            return Circles(ranking, _without_features(model, ranking), sign.p_value)
    # what a ranking leaves is rougher than what it explains
    scale = max(SCALES[sign.strongest], ROUGHEST) * typical_distance(ranking)
    start = learned(ranking) | {"cyclic constant value": 1.0, "cyclic length scale": scale}

    along = clone(model)
    with quiet():
        if not sign.along:
            return Circles(ranking, model.set_params(cyclic_kernel="rbf").fit(X, start=start), sign.p_value)
        both = along.set_params(cyclic_kernel=_along(ranking, sign.along)).fit(X, start=learned(ranking))
        if penalised_evidence(both) - penalised_evidence(ranking) > math.log(MILLION):
            return Circles(ranking, both, sign.p_value, sign.along)
        other = model.set_params(cyclic_kernel="rbf").fit(X, start=start)
    if penalised_evidence(other) > penalised_evidence(both):
        return Circles(ranking, other, sign.p_value)
    return Circles(ranking, both, sign.p_value, sign.along)


def _without_circles(model: PreferenceGP) -> PreferenceGP:
    """Return the same model without its cyclic part, fitted to the same comparisons."""
    X = model.comparisons_
    usual: Any = ConstantKernel() if X.items is None else "rbf"
    alone = clone(model).set_params(
        kernel=usual if model.kernel is None else model.kernel, cyclic_kernel=None, hyperparameters="maximise"
    )
    with quiet():
        return cast(PreferenceGP, alone.fit(X))


def as_gp(model: Any) -> PreferenceGP:
    """Return an unfitted PreferenceGP that is the same model; a Bradley-Terry model is one without features."""
    if isinstance(model, PreferenceGP):
        return model
    assert isinstance(model, BradleyTerry)
    given = not isinstance(model.prior, str)
    return PreferenceGP(
        ConstantKernel(model.prior_variance_, "fixed" if given else (1e-5, 1e5)),
        model.link,
        model.inference,
        hyperprior=WEAK if model.prior == "auto" else None,
        ties=model.ties,
        side=model.side,
        cluster=model.cluster,
        covariates=model.covariates,
        n_restarts=0,
    )


def _without_features(model: PreferenceGP, ranking: Any) -> PreferenceGP:
    """Fit circles that are independent from pair to pair beside a ranking, which leaves them half of its variance.

    The search for their variance starts from the best of a few values.
    """
    X = ranking.comparisons_
    known = learned(ranking)
    own = known.get("variance", known.get("own effect constant value"))
    if own is not None:
        model.set_params(kernel=ConstantKernel(max(0.5 * own, 0.1)))
    model.set_params(cyclic_kernel=ConstantKernel())
    start = best_variance(model, X, "cyclic own effect constant value")
    return cast(PreferenceGP, model.set_params(cyclic_kernel=ConstantKernel(start)).fit(X))


def best_variance(model: PreferenceGP, X: Comparisons, name: str) -> float:
    """Return the one of a few values of a variance that has the highest evidence, to start a search from.

    The evidence may have two tops, one of them without any preferences: a look at a few values finds the higher one
    with fewer evaluations than random starts, each of which would go on to the end.
    """
    tried = clone(model).set_params(hyperparameters="fixed").fit(X)
    place = tried.theta_names_.index(name)
    found = []
    for variance in VARIANCES:
        theta = tried.theta_.copy()
        theta[place] = math.log(variance)
        found.append(tried.log_evidence(theta, gradient=False))
    return VARIANCES[int(np.argmax(found))]


def _along(ranking: Any, features: tuple[int, ...]) -> Any:
    """Return a kernel of a few features, each with its own length scale; those of others are fixed, far too long."""
    X = ranking._solution.problem.parts["utility"].X
    spread, extent = X.std(axis=0), np.ptp(X, axis=0)
    scale = FAR * np.where(extent > 0, extent, 1.0)
    bounds = np.column_stack([scale, scale])
    for k in features:
        scale[k] = spread[k] * math.sqrt(2 * len(features))
        bounds[k] = 0.05 * spread[k], 20 * extent[k]
    return ConstantKernel() * RBF(scale, bounds)


def without_utility(model: Any) -> PreferenceGP:
    """Return the model of circles alone: what is comparable is found from it."""
    like = as_gp(model)
    bare: Any = ConstantKernel() if model.comparisons_.items is None else "rbf"
    kernel = bare if like.cyclic_kernel is None else like.cyclic_kernel
    circles = clone(like).set_params(
        kernel=None, cyclic_kernel=kernel, own_effect=False, n_restarts=0, hyperparameters="maximise"
    )
    with quiet():
        return cast(PreferenceGP, circles.fit(model.comparisons_))


def penalised_evidence(model: Any) -> float:
    """Return the log evidence less the price of the learned parameters."""
    return float(model.log_evidence_ - price(model))


def price(model: Any) -> float:
    """Return the nats that learned parameters must be worth, and the choice of features that circles are along."""
    n = n_learned(model)
    chosen = getattr(model, "n_features_in_", 1) if n < len(model.theta_) else 1
    return PRICE * n + math.log(chosen * (chosen + 1) / 2)


def n_learned(model: Any) -> int:
    """Return how many parameters were learned: all but those whose bounds leave them no room."""
    if not isinstance(model, PreferenceGP):
        return len(model.theta_)
    low, high = model.bounds_.T
    return int(np.count_nonzero(low < high))


def learned(model: Any) -> dict[str, float]:
    """Return the hyperparameters by name, as ``fit(start=)`` takes them."""
    return dict(zip(model.theta_names_, np.exp(model.theta_).tolist(), strict=True))


def _most(p_value: float) -> float:
    """Return the highest log odds that a p-value can mean, -log(-e p log p) (Sellke, Bayarri and Berger, 2001)."""
    return -math.log(-math.e * p_value * math.log(p_value))
