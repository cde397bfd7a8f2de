"""Kernel principal components of weighted training items, and those of new items (kpcrank section 3 and 6.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preflearn.kernels import centre_cross, centre_gram, gram
from preflearn.linalg import eigh_full, eigh_leading, numerical_rank
from preflearn.models._least_squares import Space
from preflearn.operators import FloatArray, IntArray

__all__ = ["Components", "extract"]

# Rows whose features, or kernel values, are held at once.
_ROWS = 4096


@dataclass(frozen=True)
class Components:
    """A fitted projection onto P components; ``transform`` gives those of new items.

    Dual (map is None): z(x) = centred k(x, ·) E. Primal: z(x) = (features(x) - mean) E.
    """

    kernel: Any
    map: Any | None
    X_fit: Any
    weight: FloatArray | None
    means: FloatArray
    grand_mean: float
    E: FloatArray
    values: FloatArray
    kept: IntArray | None = None  # columns of a precomputed kernel that belong to training items, None if all

    def transform(self, X: Any) -> FloatArray:
        """Return the components of new items, (n, P), centred as the training items were."""
        out = np.empty((X.shape[0], self.E.shape[1]))
        for i in range(0, X.shape[0], _ROWS):
            out[i : i + _ROWS] = self._block(X[i : i + _ROWS])
        return out

    def _block(self, X: Any) -> FloatArray:
        if self.map is not None:
            return np.asarray(_dense(self.map.transform(X)) - self.means) @ self.E
        if not isinstance(self.kernel, str):
            return self.project(gram(self.kernel, X, self.X_fit))
        return self.project(_dense(X if self.kept is None else X[:, self.kept]))

    def project(self, K: FloatArray) -> FloatArray:
        """Return the components of new items from their kernel with the training items, (n, n_fit)."""
        return np.asarray(centre_cross(K, self.means, self.grand_mean, self.weight) @ self.E)

    def leading(self, n_components: int) -> Components:
        """Return the first components only."""
        return replace(self, E=self.E[:, :n_components], values=self.values[:n_components])

    def with_columns(self, kept: IntArray | None) -> Components:
        """Return the same, for a precomputed kernel of which only some columns belong to training items."""
        return replace(self, kept=kept) if isinstance(self.kernel, str) else self


def extract(
    space: Space, n_components: int, weight: FloatArray | None, K: FloatArray | None = None
) -> tuple[Components, FloatArray]:
    """Return the leading components and their values Z on the training items, (n, P).

    Kernel: with p = w/Σw, centred Kc = (I - 1p')K(I - p1') and diag(√w) Kc diag(√w) = V Λ V', the components are
    Z = diag(1/√w) V √Λ and E = diag(√w) V /√Λ; partial eigensolver, n² P. Features (linear kernels with few features,
    and approximations): the eigenvectors of the r x r weighted covariance, n r² and never n x n. Fewer components may
    come back than asked for: those beyond the numerical rank are noise.
    """
    if space.solver == "primal":
        return _from_features(space, n_components, weight)
    K = space.gram() if K is None else K
    K, means, grand = centre_gram(K, weight, overwrite=True)
    if weight is not None:
        h = np.sqrt(weight)
        K *= h[:, None]
        K *= h
    values, V = eigh_leading(K, min(n_components, K.shape[0]))
    Z, E = V * np.sqrt(values), V / np.sqrt(values)
    if weight is not None:
        Z, E = Z / h[:, None], E * h[:, None]
    X_fit = None if isinstance(space.kernel, str) else space.X
    return _orient(Components(space.kernel, None, X_fit, weight, means, grand, E, values), Z)


def _from_features(space: Space, n_components: int, weight: FloatArray | None) -> tuple[Components, FloatArray]:
    n = space.X.shape[0]
    w = np.ones(n) if weight is None else weight
    blocks = [slice(i, min(i + _ROWS, n)) for i in range(0, n, _ROWS)]
    mean = sum((w[b] / w.sum()) @ _dense(space.features(b)) for b in blocks)
    covariance = np.zeros((space.n_features, space.n_features))
    for b in blocks:
        T = np.sqrt(w[b])[:, None] * (_dense(space.features(b)) - mean)
        covariance += T.T @ T
    values, V = eigh_full(covariance)
    keep = min(n_components, numerical_rank(values, max(n, space.n_features)))
    parts = Components(space.kernel, space.map, None, weight, np.asarray(mean), 0.0, V[:, :keep], values[:keep])
    return _orient(parts, parts.transform(space.X))


def _orient(components: Components, Z: FloatArray) -> tuple[Components, FloatArray]:
    # Each component's largest value on the training items is positive: the same sign in the primal and the dual, and
    # for weights as for repeated rows.
    sign = np.sign(Z[np.abs(Z).argmax(axis=0), np.arange(Z.shape[1])])
    return replace(components, E=components.E * sign), Z * sign


def _dense(Z: Any) -> FloatArray:
    return np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z)
