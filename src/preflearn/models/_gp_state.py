"""What a Gaussian process keeps of its comparisons and its solution, and how much of that a file needs.

A file holds the comparisons, the kernels, the chosen parameters and, for every solution, a few numbers for each
comparison and latent (`Solution.kept`); matrices are worked out again (docs/decisions/0014).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel

from preflearn.data import Bags, Comparisons
from preflearn.data._checks import object_array
from preflearn.exceptions import DataError
from preflearn.inference.average import HyperPosterior
from preflearn.inference.evidence import Optimum
from preflearn.inference.hyperprior import HyperPrior
from preflearn.likelihoods import Gaussian, get_likelihood
from preflearn.models._answers import base_prior
from preflearn.models._evidence import Evidence, few_threads, hyperprior_of, numbers
from preflearn.models._gp_judges import judge_names, judge_numbers, with_judges
from preflearn.models._gp_kernel import check_kernel
from preflearn.models._gp_likelihood import check_theta
from preflearn.models._gp_merge import Merged, merge
from preflearn.models._gp_prior import MANY_PAIRS, MOST_FUNCTIONS, kind_of, problem_as
from preflearn.operators import FloatArray, IntArray
from preflearn.priors import ItemPrior, SkewBasis, SkewBasisPrior

__all__ = ["check_optima", "check_points", "keep", "restore", "state_of", "take_in"]


class Taken(NamedTuple):
    """Merged comparisons, rows of the items that occur, the items of each statement among these, and its judge."""

    merged: Merged
    used: IntArray
    ends: tuple[IntArray, IntArray]
    judge: IntArray | None  # None: judges do not matter


def take_in(model: Any, X: Comparisons, likelihood: Any) -> Taken:
    """Merge comparisons and number the items, and the judges, that occur."""
    judge = None
    if model.judge_kernel is not None:
        names = judge_names(X)
        model.judges_, judge = object_array(names), judge_numbers(X, names)
    merged = merge(X, judge, exact=isinstance(likelihood, Gaussian))
    used, place = np.unique(np.concatenate([merged.first, merged.second]), return_inverse=True)
    m = merged.first.shape[0]
    ends = place[:m].astype(np.intp), place[m:].astype(np.intp)
    return Taken(merged, used, ends, None if judge is None else merged.judge)


def keep(model: Any, X: Comparisons, evidence: Evidence, theta: FloatArray) -> None:
    """Set what a fitted model says about itself, from its comparisons, its evidence and its solution."""
    solution = model._solution
    prior = base_prior(solution.prior)
    model._evidence, model.comparisons_ = evidence, X
    if model.judge_kernel is not None:
        model.judge_share_ = float(solution.prior.share.constant_value)
        model.judge_kernel_ = getattr(solution.prior, "kernel_judges", None)
    model.kernel_ = prior.own if prior.kernel is None else prior.kernel
    cyclic = getattr(prior, "cyclic", None)
    model.cyclic_kernel_ = None if cyclic is None else cyclic.own if cyclic.kernel is None else cyclic.kernel
    model.own_variance_ = None if prior.own is None else float(prior.own.constant_value)
    model.likelihood_ = solution.likelihood
    model.log_evidence_ = solution.posterior.log_evidence
    model.info_ = solution.info
    model.theta_, model.bounds_, model.theta_names_ = theta, evidence.bounds, evidence.names
    model.featureless_, model.on_bags_ = X.items is None, isinstance(X.items, Bags)
    model.n_items_, model.n_features_in_, model.item_names_ = X.n_items, X.n_features, X.names
    model.__dict__.pop("feature_names_in_", None)
    if X.feature_names is not None:
        model.feature_names_in_ = np.array(X.feature_names, dtype=object)
    model.classes_ = np.array([-1.0, 1.0])


def state_of(model: Any) -> dict[str, Any]:
    """Return what `restore` needs, as data: numbers, arrays, kernels, the likelihood and the comparisons."""
    evidence: Evidence = model._evidence
    prior = base_prior(evidence.prior)
    utility = prior if isinstance(prior, ItemPrior) else prior.utility
    points = getattr(model, "hyperposterior_", None)
    solutions = [model._solution] if points is None else [model._solution, *(s for _, s in model._mixture)]
    return {
        "comparisons": model.comparisons_,
        "unit": float(model._unit),
        "likelihood": evidence.likelihood,
        "latents": kind_of(prior),
        "utility": _kernels(utility),
        "cyclic": _kernels(getattr(prior, "cyclic", None)),
        "functions": (prior.basis.V, *prior.basis.kept) if isinstance(prior, SkewBasisPrior) else None,
        "share": getattr(evidence.prior, "share", None),
        "kernel_judges": getattr(evidence.prior, "kernel_judges", None),
        "theta": model.theta_,
        "optima": model.optima_,
        "hyperprior": model.hyperprior_,
        "hyperposterior": points,
        "solutions": [solution.kept() for solution in solutions],
        "warm": evidence.warmth(),
    }


def _kernels(part: ItemPrior | None) -> tuple[Any, Any] | None:
    return None if part is None else (part.kernel, part.own)


def restore(model: Any, state: dict[str, Any]) -> None:
    """Make a model with parameters a fitted one; DataError or another error if the parts do not belong together."""
    model._validate_params()
    X, likelihood = state["comparisons"], get_likelihood(state["likelihood"])
    if not isinstance(X, Comparisons):
        raise DataError("there are no comparisons")
    if not likelihood.log_concave and model.inference != "ep":
        raise DataError("the likelihood needs EP")
    likelihood.check_outcomes(X.outcome if isinstance(likelihood, Gaussian) else np.sign(X.outcome))
    model._unit = float(numbers(state["unit"], "unit"))
    taken = take_in(model, X, likelihood)
    model._used, model._merged, model._ends = taken.used, taken.merged, taken.ends
    prior, design = _problem(model, X, taken.judge, state)
    evidence = Evidence(prior, likelihood, design, model._merged.outcome, model._merged.weight, model.inference)
    theta = check_theta("theta", state["theta"], evidence.names)
    evidence.hyperprior = model.hyperprior_ = _check_hyperprior(state["hyperprior"], model.hyperprior, evidence)
    points = check_points(state["hyperposterior"], evidence.names)
    every = [theta] if points is None else [theta, *points.theta]
    with few_threads(design.size):
        solutions = [evidence.again(one, kept) for one, kept in zip(every, state["solutions"], strict=True)]
    model._solution, model._mixture = solutions[0], [(1.0, solutions[0])]
    if points is not None:
        model.hyperposterior_ = points
        model._mixture = [(float(w), s) for w, s in zip(points.weight, solutions[1:], strict=True)]
    evidence.warm_again(state["warm"], solutions)
    model.optima_ = check_optima(state["optima"], theta.shape)
    keep(model, X, evidence, theta)


def _problem(model: Any, X: Comparisons, judge: IntArray | None, state: dict[str, Any]) -> tuple[Any, Any]:
    parts = tuple(_part(X, model._used, state[name]) for name in ("utility", "cyclic"))
    no_utility = model.kernel is None and model.cyclic_kernel is not None
    if (parts[0] is None) != no_utility or (parts[1] is None) != (model.cyclic_kernel is None):
        raise DataError("the parts of the prior are not those that the parameters speak of")
    kind, n, ends = state["latents"], model._used.shape[0], model._ends
    basis = None
    if kind == "functions":
        V, a, b = state["functions"]
        whole = all(side.dtype.kind == "i" and side.ndim == 1 and side.shape[0] <= MOST_FUNCTIONS for side in (a, b))
        if numbers(V, "functions").ndim != 2 or V.shape[0] != n or not whole or a.shape != b.shape:
            raise DataError("the skew functions are not of these items")
        if np.any(a < 0) or np.any(a >= b) or np.any(b >= V.shape[1]):
            raise DataError("the pairs of functions are out of range")
        basis = SkewBasis(V, (a.astype(np.intp), b.astype(np.intp)))
    allowed = {
        "items": parts[0] is not None and parts[1] is None,
        "pairs": judge is None or np.unique(ends[0] * n + ends[1]).shape[0] <= MANY_PAIRS,
        "effects": parts[1] is not None and X.items is None and judge is None,
        "functions": parts[1] is not None and X.items is not None and judge is None,
    }
    if not allowed.get(kind, False):
        raise DataError(f"latents {kind!r} do not go with these parts")
    prior, design = problem_as(kind, parts, n, ends, basis)  # type: ignore[arg-type]
    if judge is None:
        return prior, design
    share, kernel_judges = state["share"], state["kernel_judges"]
    _check_constant(share)
    if kernel_judges is not None:
        check_kernel("judges", kernel_judges, "judge_kernel")
    known = SimpleNamespace(share=share, kernel_judges=kernel_judges)
    return with_judges(model, X, prior, design.A, judge, known)


def _part(X: Comparisons, used: IntArray, kernels: Any) -> ItemPrior | None:
    if kernels is None:
        return None
    kernel, own = kernels
    if (kernel is None) != (X.items is None) or (kernel is None and own is None):
        raise DataError("the kernels do not go with these items")
    if kernel is not None:
        if not isinstance(kernel, Kernel):
            raise DataError("a kernel is no kernel")
        check_kernel("items", kernel, "kernel")
    if own is not None:
        _check_constant(own)
    return ItemPrior(None if X.items is None else X.items[used], kernel, own, used.shape[0])


def _check_constant(kernel: Any) -> None:
    if not isinstance(kernel, ConstantKernel):
        raise DataError("a variance is no ConstantKernel")
    check_kernel("variance", kernel, "kernel")


def _check_hyperprior(prior: Any, spread: float | None, evidence: Evidence) -> HyperPrior | None:
    if prior is None and spread is None:
        return None
    if not isinstance(prior, HyperPrior) or spread is None:
        raise DataError("the prior of the hyperparameters is not the one that the parameters speak of")
    centre = check_theta("centre", numbers(prior.centre, "centre"), evidence.names)
    wanted = hyperprior_of(evidence, spread)
    if not np.array_equal(prior.spread, wanted.spread):
        raise DataError("the prior of the hyperparameters has not the deviations that the parameters speak of")
    if not np.array_equal(centre, np.clip(centre, *evidence.bounds.T)):
        raise DataError("the prior of the hyperparameters is outside their bounds")
    return prior


def check_points(points: Any, names: tuple[str, ...]) -> HyperPosterior | None:
    """Return the points of an average, or None where there are none; raise where they are not of these parameters."""
    if points is None:
        return None
    if not isinstance(points, HyperPosterior) or numbers(points.weight, "weights").ndim != 1:
        raise DataError("the points of the hyperparameters are no points")
    if np.shape(points.theta) != (*points.weight.shape, len(names)):
        raise DataError("there are other points than weights")
    if points.weight.min(initial=1.0) < 0 or abs(points.weight.sum() - 1.0) > 1e-6:
        raise DataError("the weights of the points do not sum to 1")
    for theta in points.theta:
        check_theta("theta", theta, names)
    return points


def check_optima(optima: Any, shape: tuple[int, ...]) -> list[Optimum]:
    """Return the optima of a search, or raise where they are not of so many parameters."""
    for one in optima:
        if not isinstance(one, Optimum) or np.shape(one.theta) != shape or np.shape(one.gradient) != shape:
            raise DataError("an optimum is not one of these parameters")
    return list(optima)
