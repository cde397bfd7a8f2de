"""What a file needs of a Gaussian process beside what was learned: comparisons or edges, kernels, what its latents are.

Matrices are worked out again (docs/decisions/0014). Nothing that is read is trusted before it is checked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel

from preflearn.data import Comparisons, LabelPreferences
from preflearn.exceptions import DataError
from preflearn.inference.evidence import Evidence, check_theta, hyperprior_of, numbers
from preflearn.inference.search import HyperPrior
from preflearn.items import is_sparse
from preflearn.kernels.functions import Functions, Landmarks, Waves
from preflearn.kernels.precomputed import KernelRows
from preflearn.kernels.rules import is_precomputed
from preflearn.likelihoods import get_likelihood
from preflearn.models._observations import Edges, Statements, merged_edges
from preflearn.models._sum_of_terms import MANY_PAIRS, MOST_FUNCTIONS, Choice, choose
from preflearn.models.asked import OfStatements
from preflearn.operators import FloatArray, IntArray
from preflearn.terms.circles import SkewBasis
from preflearn.terms.utility import ItemKernel, check_kernel

FAR = 1e6  # times or part of the size of covariates: what updates have added cannot be further away


def choice_state(choice: Choice) -> dict[str, Any]:
    """Return a choice as data: kernels, and functions if there are any."""
    parts = {name: getattr(choice, name) for name in ("utility", "circles")}
    return {
        "latents": choice.kind,
        **{name: None if part is None else (part.kernel, part.own) for name, part in parts.items()},
        "functions": None if choice.basis is None else (choice.basis.V, *choice.basis.kept),
        "kernels": choice.kernels,
        "scale": choice.scale,
        "weighted": None if choice.weighted is None else choice.weighted.state(),
    }


def choice_again(model: OfStatements, X: Comparisons, data: Statements, state: dict[str, Any]) -> Choice:
    """Return the choice of terms that was kept, over statements; raise where it is not one of these parameters."""
    found: dict[str, Any] = {name: _item_kernel(X, data.used, state[name]) for name in ("utility", "circles")}
    no_utility = model.kernel is None and model.cyclic_kernel is not None
    if (found["utility"] is None) != no_utility or (found["circles"] is None) != (model.cyclic_kernel is None):
        raise DataError("the parts of the prior do not fit the parameters")
    start = choose(model, X, data, None)  # what the parameters ask for
    kernels = dict(state["kernels"])
    if set(kernels) != set(start.kernels):
        raise DataError("the terms do not fit the parameters")
    for name, kernel in kernels.items():
        if name == "judge_kernel":
            check_kernel("judges", kernel, name)
        else:
            _check_constant(kernel)
    scale = scale_again(state["scale"], start)
    kind = state["latents"]
    allowed = {
        "weights": model.approximation is not None,
        "items": found["circles"] is None and model.approximation is None,
        "pairs": model.judge_kernel is None or data.pairs[0].shape[0] <= MANY_PAIRS,
        "effects": found["circles"] is not None and X.items is None and model.judge_kernel is None,
        "functions": found["circles"] is not None and X.items is not None and model.judge_kernel is None,
    }
    if not allowed.get(kind, False):
        raise DataError(f"latents {kind!r} do not go with these parts")
    basis = _basis(state["functions"], data.used.shape[0]) if kind == "functions" else None
    weighted = None if start.weighted is None else _functions(state["weighted"], X.items)
    return replace(start, kind=kind, basis=basis, kernels=kernels, scale=scale, weighted=weighted, **found)


def scale_again(kept: Any, start: Choice) -> FloatArray | None:
    """Return the sizes of covariates that were kept; raise where they are not about those of the comparisons."""
    if (kept is None) != (start.scale is None):
        raise DataError("the covariates do not fit the parameters")
    if start.scale is None:
        return None
    scale, here = numbers(kept, "scale"), numbers(start.scale, "covariates")
    if scale.shape != here.shape or scale.min() <= 0 or np.abs(np.log(scale / here)).max() > np.log(FAR):
        raise DataError("the sizes of the covariates are not those of the comparisons")
    return scale


def _functions(state: Any, X: Any) -> Functions:
    """Return the functions of a `state` for rows like X; raise where they are not."""
    d = X.shape[1]
    if set(state) == {"basis"} and state["basis"].ndim == 2 and state["basis"].shape[1] == d:
        basis = state["basis"]
        if not np.isfinite(basis.data if is_sparse(basis) else basis).all():
            raise DataError("landmarks are not finite")
        return Landmarks(basis)
    if set(state) == {"directions", "shift"}:
        Z, shift = numbers(state["directions"], "directions"), numbers(state["shift"], "shift")
        if Z.ndim == 2 and Z.shape[0] == d == shift.shape[0]:
            return Waves(Z, shift)
    raise DataError("the functions are not of these features")


def _basis(functions: Any, n_items: int) -> SkewBasis:
    V, a, b = functions
    whole = all(side.dtype.kind == "i" and side.ndim == 1 and side.shape[0] <= MOST_FUNCTIONS for side in (a, b))
    if numbers(V, "functions").ndim != 2 or V.shape[0] != n_items or not whole or a.shape != b.shape:
        raise DataError("the skew functions are not of these items")
    if np.any(a < 0) or np.any(a >= b) or np.any(b >= V.shape[1]):
        raise DataError("the pairs of functions are out of range")
    return SkewBasis(V, (a.astype(np.intp), b.astype(np.intp)))


def _item_kernel(X: Comparisons, used: IntArray, kernels: Any) -> ItemKernel | None:
    if kernels is None:
        return None
    kernel, own = kernels
    if (kernel is None) != (X.items is None) or (kernel is None and own is None):
        raise DataError("the kernels do not go with these items")
    if kernel is not None:
        if not isinstance(kernel, Kernel):
            raise DataError("a kernel is not a kernel object")
        _check_between(kernel, X.items)
    if own is not None:
        _check_constant(own)
    return ItemKernel(None if X.items is None else X.items[used], kernel, own, used.shape[0])


def _check_between(kernel: Kernel, items: Any) -> None:
    """Raise unless a kernel is one between such items."""
    check_kernel("items", kernel, "kernel")
    if is_precomputed(kernel) != isinstance(items, KernelRows):
        raise DataError("the kernel is not one between these items")


def _check_constant(kernel: Any) -> None:
    if not isinstance(kernel, ConstantKernel):
        raise DataError("a variance is not a ConstantKernel")
    check_kernel("variance", kernel, "kernel")


def hyperprior_again(prior: Any, spread: float | None, evidence: Evidence) -> HyperPrior | None:
    """Return the prior of the hyperparameters that was kept; raise where it is not one of these parameters."""
    if prior is None and spread is None:
        return None
    if not isinstance(prior, HyperPrior) or spread is None:
        raise DataError("the prior of the hyperparameters does not fit the parameters")
    centre = check_theta("centre", numbers(prior.centre, "centre"), evidence.parameters.names)
    wanted = hyperprior_of(evidence, spread)
    if not np.array_equal(prior.spread, wanted.spread):
        raise DataError("the deviations of the hyperparameters' prior do not fit the parameters")
    if not np.array_equal(centre, np.clip(centre, *evidence.parameters.bounds.T)):
        raise DataError("the prior of the hyperparameters is outside their bounds")
    return prior


def edges_again(state: dict[str, Any]) -> tuple[Edges, Any, Any, Any, Any]:
    """Return edges, labels, names of features, kernel and likelihood of a file; raise where they do not go together."""
    labels, kernel, likelihood = state["labels"], state["kernel"], get_likelihood(state["likelihood"])
    X, item, first, second, outcome, weight = state["edges"]
    data = LabelPreferences(X, item, labels[first], labels[second], outcome, weight=weight, labels=labels)
    edges = merged_edges("edges", data, exact=True)
    if not all(map(np.array_equal, edges[1:], state["edges"][1:])):
        raise DataError("edges are not merged, or an item has no edge")
    names = state["feature_names"]
    if names is not None and (not all(isinstance(n, str) for n in names) or len(names) != edges.X.shape[1]):
        raise DataError("the names of the features are not those of the columns")
    if not likelihood.log_concave or not isinstance(kernel, Kernel):
        raise DataError("the likelihood or the kernel does not fit labels")
    _check_between(kernel, edges.X)
    likelihood.check_outcomes(edges.outcome)
    return edges, labels, names, kernel, likelihood
