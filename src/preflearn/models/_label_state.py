"""What a Gaussian process over labels keeps of its edges and its solution, and how much of that a file needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from preflearn.data import Bags
from preflearn.data._checks import check_names, label_array
from preflearn.data._items import check_items
from preflearn.exceptions import DataError
from preflearn.inference.blocks import BlockDesign
from preflearn.likelihoods import get_likelihood
from preflearn.models._evidence import Evidence, few_threads, numbers
from preflearn.models._gp_kernel import check_kernel
from preflearn.models._gp_likelihood import check_theta
from preflearn.models._gp_state import check_optima
from preflearn.models._label_input import Edges
from preflearn.models._label_posterior import LabelPosterior, label_prior
from preflearn.operators import FloatArray

__all__ = ["evidence_of", "keep", "restore", "state_of"]


def evidence_of(
    edges: Edges, labels: Any, kernel: Any, likelihood: Any, inference: Any, *, shared: bool
) -> tuple[Evidence, int]:
    """Return the evidence of edges for a kernel to start from, and the size of the largest matrix factored."""
    prior, size = label_prior(edges, labels, kernel, shared=shared)
    design = BlockDesign(edges.item, edges.first, edges.second, prior.basis, edges.X.shape[0])
    return Evidence(prior, likelihood, design, edges.outcome, edges.weight, inference), size


def keep(model: Any, edges: Edges, labels: Any, feature_names: Any, evidence: Evidence, theta: FloatArray) -> None:
    """Set what a fitted model says about itself, from its edges, its evidence and its solution."""
    solution = model._solution
    model._evidence, model._edges = evidence, edges
    model._posterior = LabelPosterior(solution.prior, solution.posterior)
    _keep_kernels(model, solution.prior)
    model.likelihood_, model.info_ = solution.likelihood, solution.info
    model.log_evidence_ = solution.posterior.log_evidence
    model.theta_, model.bounds_, model.theta_names_ = theta, evidence.bounds, evidence.names
    model.labels_ = label_array(labels.tolist())
    model.n_features_in_, model.on_bags_ = int(edges.X.shape[1]), isinstance(edges.X, Bags)
    model.__dict__.pop("feature_names_in_", None)  # of an earlier fit
    if feature_names is not None:
        model.feature_names_in_ = np.asarray(feature_names, dtype=object)


def _keep_kernels(model: Any, prior: Any) -> None:
    model.__dict__.pop("kernel_", None)
    if prior.rest is None:
        model.kernel_ = prior.parts[0].kernel
        model.kernels_ = [model.kernel_] * prior.basis.shape[0]
        return
    own = [(prior.parts[row.argmax()] if row.any() else prior.rest) for row in prior.basis]
    model.kernels_ = [part.kernel for part in own]


def state_of(model: Any) -> dict[str, Any]:
    """Return what `restore` needs, as data: numbers, arrays, the kernel, the likelihood and the edges."""
    names = getattr(model, "feature_names_in_", None)
    return {
        "edges": tuple(model._edges),
        "labels": model.labels_,
        "feature_names": None if names is None else tuple(names),
        "unit": float(model._unit),
        "kernel": model._evidence.prior.parts[0].kernel,
        "likelihood": model._evidence.likelihood,
        "theta": model.theta_,
        "optima": model.optima_,
        "solution": model._solution.kept(),
        "warm": model._evidence.warmth(),
    }


def restore(model: Any, state: dict[str, Any]) -> None:
    """Make a model with parameters a fitted one; DataError or another error if the parts do not belong together."""
    model._validate_params()
    labels, kernel, likelihood = state["labels"], state["kernel"], get_likelihood(state["likelihood"])
    check_names(labels, len(labels), "labels")
    edges = _check_edges(Edges(*state["edges"]), len(labels))
    names = state["feature_names"]
    if names is not None and (not all(isinstance(n, str) for n in names) or len(names) != edges.X.shape[1]):
        raise DataError("the names of the features are not those of the columns")
    if not likelihood.log_concave or not isinstance(kernel, Kernel):
        raise DataError("the likelihood or the kernel is none for labels")
    check_kernel("labels", kernel, "kernel")
    likelihood.check_outcomes(edges.outcome)
    model._unit = float(numbers(state["unit"], "unit"))
    evidence, size = evidence_of(edges, labels, kernel, likelihood, model.inference, shared=model.shared)
    theta = check_theta("theta", state["theta"], evidence.names)
    with few_threads(size):
        model._solution = evidence.again(theta, state["solution"])
    evidence.warm_again(state["warm"], [model._solution])
    model.optima_ = check_optima(state["optima"], theta.shape)
    keep(model, edges, labels, names, evidence, theta)


def _check_edges(edges: Edges, n_labels: int) -> Edges:
    table = check_items(edges.X, "edges")
    if table.values is None:
        raise DataError("the items have no features")
    m = np.size(edges.item)
    for side, most in ((edges.item, table.n_items), (edges.first, n_labels), (edges.second, n_labels)):
        if np.shape(side) != (m,) or side.dtype.kind != "i" or not m or side.min() < 0 or side.max() >= most:
            raise DataError("an edge is of an item or a label that is not there")
    if np.any(edges.first >= edges.second) or np.unique(edges.item).shape[0] != table.n_items:
        raise DataError("an edge is turned, or an item has no edge")
    outcome, weight = numbers(edges.outcome, "outcome"), numbers(edges.weight, "weight")
    if outcome.shape != (m,) or weight.shape != (m,) or weight.min() <= 0:
        raise DataError("outcomes or weights are not those of the edges")
    item, first, second = (side.astype(np.intp) for side in (edges.item, edges.first, edges.second))
    return Edges(table.values, item, first, second, outcome, weight)
