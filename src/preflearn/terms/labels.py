"""Gaussian processes over labels: one latent function of the item for each label, edges see differences at one item.

With one kernel k for all labels the functions are a priori exchangeable, and edges see differences only. So for an
orthonormal basis H (L, P) of contrasts (columns that sum to zero over labels that were compared, directly or through
others), the functions g = H'f are again independent with kernel k; all that edges can see is f_a - f_b = (h_a - h_b)'g,
with h_a the rows of H; and what is left over, f - Hg, stays as it was a priori. This is exact and infers P = L - 1
functions instead of L (fewer where labels fall into parts that were never compared with each other); for two labels it
is half the size.

With a kernel for each label there is no such symmetry: H selects the labels that occur in an edge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from preflearn.terms import FloatArray, IntArray, Items, Parameters
from preflearn.terms.utility import ItemKernel


def contrasts(first: IntArray, second: IntArray, n_labels: int) -> FloatArray:
    """Return an orthonormal basis (n_labels, P) of the differences of labels that edges connect.

    Examples
    --------
    >>> import numpy as np
    >>> contrasts(np.array([0]), np.array([1]), 3).round(3)
    array([[ 0.707],
           [-0.707],
           [ 0.   ]])
    """
    graph = sp.coo_array((np.ones(first.shape[0]), (first, second)), shape=(n_labels, n_labels))
    part = connected_components(graph.tocsr(), directed=False)[1]
    columns = []
    for number in np.unique(part):
        members = np.flatnonzero(part == number)
        H = np.zeros((n_labels, members.shape[0] - 1))
        H[members] = scipy.linalg.helmert(members.shape[0]).T if members.shape[0] > 1 else 0.0
        columns.append(H)
    return np.hstack(columns)


def selection(first: IntArray, second: IntArray, n_labels: int) -> FloatArray:
    """Return the columns (n_labels, P) of the identity for the labels that occur in an edge."""
    return np.ascontiguousarray(np.eye(n_labels)[:, np.unique(np.concatenate([first, second]))])


@dataclass(frozen=True)
class Labels:
    """Blocks g with f = H g + rest: one item prior for all blocks, or one for each; ``theta`` one after the other."""

    parts: tuple[ItemKernel, ...]
    basis: FloatArray  # H, (n_labels, P)
    rest: ItemKernel | None  # of labels that no edge mentions; None: as the one part
    labels: tuple[Any, ...]  # whose parts they are, for the names of parameters

    @property
    def parameters(self) -> Parameters:
        """Free parameters of the parts, one after the other."""
        if len(self.parts) == 1:
            return self.parts[0].parameters
        named = (part.parameters.named(f"{label}: ") for label, part in zip(self.labels, self.parts, strict=True))
        return Parameters.joined(named)

    def clone_with_theta(self, theta: FloatArray) -> Labels:
        """Return the same prior at other parameters."""
        pieces = np.split(theta, np.cumsum([len(part.parameters) for part in self.parts])[:-1])
        parts = tuple(part.clone_with_theta(piece) for part, piece in zip(self.parts, pieces, strict=True))
        return replace(self, parts=parts)

    def grams(self) -> tuple[list[FloatArray], Callable[[list[FloatArray]], FloatArray]]:
        """Return the covariance of each part, and the pullback of one derivative for each."""
        grams, pulls = zip(*(part.gram() for part in self.parts), strict=True)
        return list(grams), lambda sums: np.concatenate([pull(M) for pull, M in zip(pulls, sums, strict=True)])

    def cross(self, new: Any) -> list[FloatArray]:
        """Return the covariances (p, n) of each part between new items and those of training."""
        return [part.cross(_unknown(part, new)) for part in self.parts]

    def variance(self, new: Any) -> list[FloatArray]:
        """Return the prior variances (p,) of each part at new items."""
        return [part.variance(_unknown(part, new)) for part in self.parts]

    def covariance(self, new: Any) -> list[FloatArray]:
        """Return the prior covariance (p, p) of each part between new items."""
        return [part.covariance(_unknown(part, new)) for part in self.parts]

    def unseen(self, new: Any, *, joint: bool = False) -> FloatArray:
        """Return the prior covariance (n_labels, n_labels, p) at new items of what no edge can see: f - Hg.

        Of new items together with ``joint``, (n_labels p, n_labels p), label by label.
        """
        outside = np.eye(self.basis.shape[0]) - self.basis @ self.basis.T
        part = self.parts[0] if self.rest is None else self.rest
        if joint:
            return np.asarray(np.kron(outside, part.covariance(_unknown(part, new))), dtype=np.float64)
        return np.asarray(outside[:, :, None] * part.variance(_unknown(part, new)))


def _unknown(part: ItemKernel, new: Any) -> Items:
    return Items(new, np.full(new.shape[0], part.n_items))
