"""Functions of the features whose products stand in for a kernel, K ≈ FF', with the pullback of F.

What the functions are made of (landmarks, directions) stays as it is while hyperparameters change: F is then a smooth
function of these, and the evidence has a gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from preflearn.exceptions import DataError
from preflearn.items import as_items, is_sparse
from preflearn.kernels.rules import Pull, gram, gram_and_pullback
from preflearn.linalg import FloatArray, cholesky_psd

JITTER = 1e-10  # of the mean variance of the landmarks


class Functions(Protocol):
    """Functions that stand in for a kernel at any hyperparameters."""

    @property
    def size(self) -> int:
        """How many functions there are."""

    def few(self, count: int) -> Functions:
        """Return fewer of them, which do for a rough search."""

    def state(self) -> dict[str, Any]:
        """Return what the same functions are made of again."""

    def values(self, kernel: Any, X: Any) -> FloatArray:
        """Return F (n, r): the functions at some rows."""

    def with_pullback(self, kernel: Any, X: Any) -> tuple[FloatArray, Pull]:
        """Return F and G -> <G, dF/dtheta>, which may overwrite G."""


@dataclass(frozen=True)
class Landmarks:
    """Nystroem: F = K_nm L'⁻¹ with K_mm = LL', for landmarks ``basis``."""

    basis: Any

    @property
    def size(self) -> int:
        """How many functions there are."""
        return int(self.basis.shape[0])

    def few(self, count: int) -> Landmarks:
        """Return landmarks evenly along one direction, which is the same however they are ordered."""
        means = as_items(self.basis).means()
        place = np.asarray(means @ np.random.default_rng(0).standard_normal(means.shape[1])).ravel()
        picked = np.argsort(place)[np.linspace(0, self.size - 1, count).astype(np.intp)]
        return Landmarks(self.basis[np.sort(picked)])

    def state(self) -> dict[str, Any]:
        """Return the landmarks."""
        return {"basis": self.basis}

    def _root(self, K: FloatArray) -> FloatArray:
        m = K.shape[0]
        K = K.copy()
        K.flat[:: m + 1] += JITTER * float(np.trace(K)) / m
        return cholesky_psd(K)[0]

    def values(self, kernel: Any, X: Any) -> FloatArray:
        """Return F (n, r); n r² operations."""
        L = self._root(gram(kernel, self.basis))
        return np.ascontiguousarray(solve_triangular(L, gram(kernel, X, self.basis).T, lower=True).T)

    def with_pullback(self, kernel: Any, X: Any) -> tuple[FloatArray, Pull]:
        """Return F and its pullback; n r² operations each (docs/maths.md, section 17)."""
        K, pull_basis = gram_and_pullback(kernel, self.basis)
        L = self._root(K)
        Q, pull = gram_and_pullback(kernel, X, self.basis)
        F = np.ascontiguousarray(solve_triangular(L, Q.T, lower=True, overwrite_b=True).T)
        return F, partial(self._pull, L, F, pull, pull_basis)

    @staticmethod
    def _pull(L: FloatArray, F: FloatArray, pull: Pull, pull_basis: Pull, G: FloatArray) -> FloatArray:
        # <G, dF> = <GL⁻¹, dK_nm> - <L'⁻¹ tril(G'F) L⁻¹, dK_mm>, tril with half of the diagonal
        m = L.shape[0]
        half = np.tril(G.T @ F)
        half.flat[:: m + 1] /= 2
        inner = solve_triangular(L, solve_triangular(L, half, lower=True, trans="T").T, lower=True, trans="T").T
        inner.flat[:: m + 1] += JITTER * float(np.trace(inner)) / m
        first = pull(np.ascontiguousarray(solve_triangular(L, G.T, lower=True, trans="T", overwrite_b=True).T))
        return np.asarray(first - pull_basis(np.ascontiguousarray(inner)))


@dataclass(frozen=True)
class Waves:
    """Random Fourier functions of a radial kernel: cosines and sines along directions Z / length scales."""

    directions: FloatArray  # (d, r / 2)
    shift: FloatArray  # (d,)

    @property
    def size(self) -> int:
        """How many functions there are."""
        return 2 * int(self.directions.shape[1])

    def few(self, count: int) -> Waves:
        """Return the first directions."""
        return Waves(self.directions[:, : max(1, count // 2)], self.shift)

    def state(self) -> dict[str, Any]:
        """Return the directions and the shift."""
        return {"directions": self.directions, "shift": self.shift}

    def _waves(self, kernel: Any, X: Any) -> tuple[FloatArray, Any, FloatArray]:
        from preflearn.kernels.approximate import scaled_radial

        if is_sparse(X):
            X = X.toarray()
        constant, leaf = scaled_radial(kernel)
        scale = np.broadcast_to(np.asarray(leaf.length_scale, dtype=np.float64), (X.shape[1],))
        rows = (X - self.shift) / scale
        angles = rows @ self.directions
        half = angles.shape[1]
        F = np.empty((angles.shape[0], 2 * half))
        np.cos(angles, out=F[:, :half])
        np.sin(angles, out=F[:, half:])
        F *= np.sqrt(constant / half)
        return F, leaf, rows

    def values(self, kernel: Any, X: Any) -> FloatArray:
        """Return F (n, r)."""
        return self._waves(kernel, X)[0]

    def with_pullback(self, kernel: Any, X: Any) -> tuple[FloatArray, Pull]:
        """Return F and its pullback."""
        F, leaf, rows = self._waves(kernel, X)
        half = F.shape[1] // 2

        def pull(G: FloatArray) -> FloatArray:
            found: list[FloatArray] = []
            for free in kernel.hyperparameters:
                if free.fixed:
                    continue
                if free.name.endswith("constant_value"):
                    found.append(np.array([0.5 * float(np.vdot(G, F))]))
                else:
                    # d angle / d log l_k = -row_k direction_k; d cos = -sin, d sin = cos
                    H = G[:, :half] * F[:, half:] - G[:, half:] * F[:, :half]
                    slopes = np.einsum("kj,kj->k", rows.T @ H, self.directions)
                    found.append(slopes if np.size(leaf.length_scale) > 1 else np.array([slopes.sum()]))
            return np.concatenate([np.zeros(0), *found])

        return F, pull


def check_waves(kernel: Any) -> None:
    """Raise where a free hyperparameter is no variance and no length scale."""
    for free in kernel.hyperparameters:
        if not free.fixed and not free.name.endswith(("constant_value", "length_scale")):
            raise DataError(code="fourier-shape-learned", owner="RandomFourier").says(
                f"{free.name} of the kernel is free, and directions are drawn for one value of it",
                f'Fix it ({free.name}_bounds="fixed"), or use Nystroem',
            )
