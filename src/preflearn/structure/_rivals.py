"""The models that a verdict compares: a ranking, circles, and both; learned as far as the residuals hint at circles."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn.data import Comparisons
from preflearn.exceptions import DataWarning
from preflearn.models import PreferenceGP
from preflearn.structure.residuals import Sign, cyclic_residuals, functions_of_features, similarities, typical_distance

__all__ = ["Rivals", "Screen", "earned", "learn_rivals", "learned", "n_learned", "price", "without_utility"]

# Nats that a free parameter must earn. A search over parameters that the truth does not need gains more than this in
# fewer than one case of twenty; see the simulation in tests/test_structure_rankability.py.
PRICE = 1.5
MILLION = 1e6  # odds beyond which nobody counts
CLEAR, NO_SIGN = 0.01, 0.2  # p-values up to which odds stand as they are, and from which on circles have no sign
CHEAP = 120  # distinct pairs up to which EP and several starts are cheap in passing
# Where circles are only looked for after a hint: the p-value of the residuals that is one. With few pairs it is that
# from which on circles have no sign, and nothing is lost; with many, that from which on they cannot be sure, whatever
# the evidence.
FEW_PAIRS = 600
HINT = 0.04
VARIANCES = (0.35, 0.5, 0.65, 0.8, 0.95)  # that are tried first, between the bounds of its logarithm
FAR = 1e4  # ranges of a feature that are a length scale beyond all of its distances
SCALES = (0.0, 0.25, 0.5, 1.0)  # of circles that residuals are searched for, in typical distances of two items
ROUGHEST = 0.1  # at which a search for circles that items have nothing in common for starts


class Screen(NamedTuple):
    """That circles are learned only after a hint, and how far: distinct pairs with features, items without."""

    max_pairs: float
    max_items: float

    def allows(self, X: Comparisons, n_pairs: int) -> bool:
        """Return whether circles are learned where there is a hint at them."""
        return len(X.used_items()) <= self.max_items if X.items is None else n_pairs <= self.max_pairs


class Rivals(NamedTuple):
    """The models, the p-value of circles in what the ranking leaves unexplained, and the only features these follow."""

    models: dict[str, PreferenceGP]
    p_value: float
    along: tuple[int, ...] = ()


def learn_rivals(X: Comparisons, n_pairs: int, like: PreferenceGP, screen: Screen | None, random_state: Any) -> Rivals:
    """Fit "ranking", "circles" and "both"; with ``screen`` those that could change a word of the verdict."""
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
        many = X.items is not None and n_pairs > CHEAP
        sign = Sign(1.0, 0)
        along: tuple[int, ...] = ()
        if screen or many:
            functions = functions_of_features(ranking) if many and like.cyclic_kernel is None else None
            sign = cyclic_residuals(ranking, similarities(ranking, SCALES), random_state, functions)
        p_value = sign.p_value
        if screen:
            hint = p_value < (NO_SIGN if n_pairs <= FEW_PAIRS else HINT)
            if not hint or not screen.allows(X, n_pairs):
                return Rivals({"ranking": ranking}, p_value)
        cyclic = bare if like.cyclic_kernel is None else like.cyclic_kernel

        def beside(kernel: Any, circles: dict[str, float]) -> PreferenceGP:
            named = circles if isinstance(kernel, str) and kernel == bare else {}  # another kernel has other names
            return fitted(named | learned(ranking), kernel=utility, cyclic_kernel=kernel)

        if many:
            # what a ranking leaves is rougher than what it explains
            start = {"cyclic constant value": 1.0}
            start["cyclic length scale"] = max(SCALES[sign.strongest], ROUGHEST) * typical_distance(ranking)
            both = beside(cyclic, start) if not sign.along else beside(_along(ranking, sign.along), {})
            if sign.along and not _beyond_doubt(both, ranking):
                both = max(both, beside(cyclic, start), key=earned)
            along = sign.along if both.cyclic_kernel is not cyclic else ()
            # circles alone along one feature are also a ranking by it, that need not know the others
            if along or (screen and p_value <= CLEAR and _beyond_doubt(both, ranking)):
                return Rivals({"ranking": ranking, "both": both}, p_value, along)
        circles = fitted(cyclic_kernel=bare)
        if X.items is None:
            both = fitted(**_shared(ranking, circles))
        elif not many:
            both = beside(cyclic, learned(circles))
    if not screen and not sign.along:  # features that were searched for need the test that knows of the search
        kernel = None if X.items is None else circles._solution.problem.parts["circles"].gram()[0]
        p_value = cyclic_residuals(ranking, [kernel], random_state).p_value
    return Rivals({"ranking": ranking, "circles": circles, "both": both}, p_value, along)


def _along(ranking: PreferenceGP, features: tuple[int, ...]) -> Any:
    """Return a kernel of a few features, each with its own length scale; those of others are fixed, far too long."""
    X = ranking._solution.problem.parts["utility"].X
    spread, extent = X.std(axis=0), np.ptp(X, axis=0)
    scale = FAR * np.where(extent > 0, extent, 1.0)
    bounds = np.column_stack([scale, scale])
    for k in features:
        scale[k] = spread[k] * math.sqrt(2 * len(features))
        bounds[k] = 0.05 * spread[k], 20 * extent[k]
    return ConstantKernel() * RBF(scale, bounds)


def _beyond_doubt(model: PreferenceGP, ranking: PreferenceGP) -> bool:
    return earned(model) - earned(ranking) > math.log(MILLION)


def without_utility(model: PreferenceGP) -> PreferenceGP:
    """Return the model of circles alone, where a verdict did not need it."""
    bare: Any = ConstantKernel() if model.comparisons_.items is None else "rbf"
    kernel = bare if model.cyclic_kernel is None else model.cyclic_kernel
    circles = clone(model).set_params(kernel=None, cyclic_kernel=kernel, own_effect=False, n_restarts=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cast(PreferenceGP, circles.fit(model.comparisons_))


def earned(model: Any) -> float:
    """Return the log evidence less the price of the learned parameters."""
    return float(model.log_evidence_ - price(model))


def price(model: Any) -> float:
    """Return the nats that the learned parameters have to earn, and the choice of features that circles are along."""
    chosen = getattr(model, "n_features_in_", 1) if n_learned(model) < len(model.theta_) else 1
    return PRICE * n_learned(model) + math.log(chosen * (chosen + 1) / 2)


def n_learned(model: Any) -> int:
    """Return how many parameters were learned: all but those whose bounds leave them no room."""
    if not isinstance(model, PreferenceGP):
        return len(model.theta_)
    low, high = model.bounds_.T
    return int(np.count_nonzero(low < high))


def learned(model: PreferenceGP) -> dict[str, float]:
    """Return the hyperparameters by name, as ``fit(start=)`` takes them."""
    return dict(zip(model.theta_names_, np.exp(model.theta_).tolist(), strict=True))


def _first_variance(model: PreferenceGP, X: Comparisons) -> ConstantKernel:
    """Return the only variance of a model to start from: of a few, that of the highest evidence.

    The evidence may have two tops, one of them without any preferences. A look at a few values finds the higher one
    with fewer evaluations than random starts, each of which would climb to the end.
    """
    tried = clone(model).set_params(hyperparameters="fixed").fit(X)
    low, high = tried.bounds_[0]
    steps = low + (high - low) * np.array(VARIANCES)
    rest = tried.theta_[1:]
    found = [tried.log_evidence(np.append(step, rest), gradient=False) for step in steps]
    return ConstantKernel(math.exp(steps[int(np.argmax(found))]))


def _shared(ranking: PreferenceGP, circles: PreferenceGP) -> dict[str, Any]:
    """Return where to start with both parts: each has half of the variance that it has alone."""
    parts = {"kernel": ranking, "cyclic_kernel": circles}
    return {name: ConstantKernel(max(0.5 * math.exp(model.theta_[0]), 0.1)) for name, model in parts.items()}
