"""The prior over the functions of labels, and from its posterior to utilities of labels at new items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from preflearn.inference.blocks import BlockDesign, BlockFactor, between
from preflearn.inference.contract import Posterior
from preflearn.inference.covers import CoverFactor, cover_cost, vertex_cover
from preflearn.inference.dense import DenseSystem
from preflearn.models._label_input import Edges
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import ItemKernel, Parameters
from preflearn.terms.labels import Labels, contrasts, selection

__all__ = ["LabelPosterior", "LabelProblem", "label_prior"]

BLOCK = 2**22  # numbers held at a time


def label_prior(edges: Edges, labels: Any, kernel: Any, *, shared: bool) -> tuple[Labels, int]:
    """Return the prior over the functions of labels in its cheapest form, and the size of the largest matrix factored.

    An arrow where the edges of an item share few labels (`preflearn.inference.covers`), or one dense matrix for as few
    functions as will do: the operations decide, counted double for the arrow, whose matrices are smaller. In
    classification it wins from five labels on.
    """
    n_items, n_labels = edges.X.shape[0], len(labels)
    part = ItemKernel(edges.X, kernel, None, n_items)
    basis = selection(edges.first, edges.second, n_labels)
    seen = np.flatnonzero(basis.any(axis=1))
    dense = contrasts(edges.first, edges.second, n_labels) if shared else basis
    cover = vertex_cover(edges.item, edges.first, edges.second, n_labels, n_items)[seen]
    names = tuple(labels[seen])
    parts, rest = ((part,), None) if shared else ((part,) * len(seen), part)
    size = n_items * dense.shape[1]
    if 2 * cover_cost(cover) < size**3 / 3:
        build: Any = partial(CoverFactor.build, cover=cover)
        return Labels(parts, basis, rest, names, build), max(n_items, int(cover.sum()))
    return Labels(parts, dense, rest, names, partial(BlockFactor.build, n_blocks=dense.shape[1])), size


@dataclass(frozen=True)
class LabelProblem:
    """The one term of labels over edges, as `preflearn.inference.problem.Problem` is a sum of several."""

    labels: Labels
    design: BlockDesign
    order: int  # of the largest matrix that is factored

    @property
    def parameters(self) -> Parameters:
        """Free parameters."""
        return self.labels.parameters

    @property
    def n_cells(self) -> int:
        """Number of distinct edges."""
        return self.design.shape[0]

    @property
    def n_latents(self) -> int:
        """Number of latents."""
        return self.design.shape[1]

    @property
    def estimated(self) -> bool:
        """Whether the evidence is estimated: no."""
        return False

    def with_theta(self, theta: FloatArray) -> LabelProblem:
        """Return the same problem at other parameters."""
        return replace(self, labels=self.labels.clone_with_theta(theta))

    def system(self) -> tuple[DenseSystem, Any]:
        """Return the system of the labels, and from its sensitivity to derivatives by their parameters."""
        factor, pull = self.labels.factor()
        return DenseSystem(self.design, factor), pull


@dataclass(frozen=True)
class LabelPosterior:
    """Utilities f = H g + rest of labels, with g known up to N(mean, covariance) and the rest as it was a priori."""

    prior: Labels
    posterior: Posterior

    def mean(self, new: Any) -> FloatArray:
        """Return the expected utilities (p, L): E f_a(x) = k_a(x, X) β_a."""
        a = self.posterior.system.latents(self.posterior.g).reshape(self.prior.basis.shape[1], -1)
        Q = self.prior.cross(new)
        g = a @ Q[0].T if len(Q) == 1 else np.stack([q @ row for q, row in zip(Q, a, strict=True)])
        return np.asarray((self.prior.basis @ g).T)

    def covariance(self, new: Any) -> FloatArray:
        """Return the posterior covariance (p, L, L) of the utilities of labels at each of the new items."""
        n_new, n_labels = new.shape[0], self.prior.basis.shape[0]
        C = np.empty((n_new, n_labels, n_labels))
        factor: Any = self.posterior.system.factor
        curve: Any = self.posterior.curve
        step = max(1, BLOCK // max(1, factor.rank * self.prior.basis.shape[1]))
        for start in range(0, n_new, step):
            rows = new[start : start + step]
            g = factor.variances(curve.inner.LB, self.prior.cross(rows), self.prior.variance(rows))
            f = between(self.prior.basis, g) + self.prior.unseen(rows)
            C[start : start + step] = f.transpose(2, 0, 1)
        return C

    def differences(self, new: Any, item: IntArray, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of f_first(x) - f_second(x) of edges; swapping sides flips the sign exactly."""
        mean, C = self.mean(new), self.covariance(new)
        low, high = np.minimum(first, second), np.maximum(first, second)
        variance = C[item, low, low] + C[item, high, high] - 2 * C[item, low, high]
        return mean[item, first] - mean[item, second], np.maximum(variance, 0.0)
