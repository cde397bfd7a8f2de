"""What a Gaussian process over labels keeps of its edges and its solution, and how much of that a file needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from preflearn.data.checks import check_names
from preflearn.data.item_table import check_items
from preflearn.exceptions import DataError
from preflearn.inference.contract import Observed
from preflearn.inference.evidence import Evidence, get_method, numbers
from preflearn.likelihoods import get_likelihood
from preflearn.models._gp_terms import check_kernel
from preflearn.models._label_input import Edges
from preflearn.models._label_posterior import LabelProblem

__all__ = ["edges_again", "evidence_of"]


def evidence_of(edges: Edges, labels: Any, kernel: Any, likelihood: Any, inference: str, *, shared: bool) -> Evidence:
    """Return the evidence of edges for a kernel to start from."""
    problem: Any = LabelProblem.of(edges, labels, kernel, shared=shared)
    return Evidence(problem, likelihood, Observed(edges.outcome, edges.weight), get_method(inference))


def edges_again(state: dict[str, Any]) -> tuple[Edges, Any, Any, Any, Any]:
    """Return edges, labels, names of features, kernel and likelihood of a file; raise where they do not go together."""
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
    return edges, labels, names, kernel, likelihood


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
