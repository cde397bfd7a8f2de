"""The prior over the functions of labels, and from its posterior to utilities of labels at new items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from preflearn.inference.blocks import BlockDesign, BlockFactor, between, cover_cost, vertex_cover
from preflearn.inference.contract import Posterior
from preflearn.inference.dense import DenseSystem
from preflearn.models._label_input import Edges
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import ItemKernel, Parameters
from preflearn.terms.labels import Labels, contrasts, selection

__all__ = ["LabelPosterior", "LabelProblem"]

BLOCK = 2**22  # numbers held at a time


@dataclass(frozen=True)
class LabelProblem:
    """The one term of labels over edges, as `preflearn.inference.problem.Problem` is a sum of several."""

    estimated: ClassVar[bool] = False
    labels: Labels
    design: BlockDesign
    cover: Any  # (P, n): see `preflearn.inference.blocks`

    @classmethod
    def of(cls, edges: Edges, labels: Any, kernel: Any, *, shared: bool) -> LabelProblem:
        """Return the prior over the functions of labels in its cheapest form.

        With a small vertex cover where the edges of an item share few labels, or one dense matrix for as few functions
        as will do: the operations decide, counted double for the cover, whose matrices are smaller. In classification
        it wins from five labels on.
        """
        n_items, n_labels = edges.X.shape[0], len(labels)
        part = ItemKernel(edges.X, kernel, None, n_items)
        basis = selection(edges.first, edges.second, n_labels)
        seen = np.flatnonzero(basis.any(axis=1))
        cover = vertex_cover(edges.item, edges.first, edges.second, n_labels, n_items)[seen]
        dense = contrasts(edges.first, edges.second, n_labels) if shared else basis
        if 2 * cover_cost(cover) >= (n_items * dense.shape[1]) ** 3 / 3:
            basis, cover = dense, np.ones((dense.shape[1], n_items), dtype=bool)
        parts, rest = ((part,), None) if shared else ((part,) * len(seen), part)
        design = BlockDesign(edges.item, edges.first, edges.second, basis, n_items)
        return cls(Labels(parts, basis, rest, tuple(labels[seen])), design, cover)

    @property
    def parameters(self) -> Parameters:
        """Free parameters."""
        return self.labels.parameters

    @property
    def order(self) -> int:
        """Order of the largest matrix that is factored."""
        return max(int(self.cover.shape[1]), int(self.cover.sum()))

    @property
    def n_cells(self) -> int:
        """Number of distinct edges."""
        return self.design.shape[0]

    @property
    def n_latents(self) -> int:
        """Number of latents."""
        return self.design.shape[1]

    def with_theta(self, theta: FloatArray) -> LabelProblem:
        """Return the same problem at other parameters."""
        return replace(self, labels=self.labels.clone_with_theta(theta))

    def system(self) -> tuple[DenseSystem, Any]:
        """Return the system of the labels, and from its sensitivity to derivatives by their parameters."""
        grams, pull = self.labels.grams()
        return DenseSystem(self.design, BlockFactor(grams, self.cover)), pull


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
            g = factor.variances(curve.inner, self.prior.cross(rows), self.prior.variance(rows))
            f = between(self.prior.basis, g) + self.prior.unseen(rows)
            C[start : start + step] = f.transpose(2, 0, 1)
        return C

    def differences(self, new: Any, item: IntArray, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of f_first(x) - f_second(x) of edges; swapping sides flips the sign exactly."""
        mean, C = self.mean(new), self.covariance(new)
        low, high = np.minimum(first, second), np.maximum(first, second)
        variance = C[item, low, low] + C[item, high, high] - 2 * C[item, low, high]
        return mean[item, first] - mean[item, second], np.maximum(variance, 0.0)
