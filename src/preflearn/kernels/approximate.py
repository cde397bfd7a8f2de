"""Approximate feature maps, K ~= Z Z' with few columns: Nystroem and random Fourier features.

Both are parameter objects; ``fit_map(kernel, X)`` returns the map, which holds arrays and the kernel only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, Product, RationalQuadratic
from sklearn.utils import check_random_state

from preflearn.exceptions import DataError
from preflearn.items import as_items, as_rows, is_sparse
from preflearn.kernels.functions import Landmarks, Waves, check_waves
from preflearn.kernels.resolve import resolve_kernel
from preflearn.kernels.rules import Space, gram
from preflearn.linalg import FloatArray, eigh_full, numerical_rank


@dataclass(frozen=True)
class BasisMap:
    """Nystroem features: kernel values against the basis rows times a projection."""

    kernel: Any
    basis: Any
    projection: FloatArray

    def transform(self, X: Any) -> FloatArray:
        """Return the feature rows. Cost: n_items n_basis (n_features + r) multiplications."""
        return gram(self.kernel, X, self.basis) @ self.projection

    def n_features_out(self, n_features: int) -> int:
        """Return the number of feature columns."""
        return int(self.projection.shape[1])


class Nystroem(BaseEstimator):
    """Approximate a kernel by its values against a few rows.

    The subset method: what the kernel says about ``n_components`` basis rows decides everything else.

    Parameters
    ----------
    n_components : int, default=100
        Number of basis rows; all rows are used where there are fewer.
    method : {"random", "kmeans++", "kmeans", "leverage"}, default="random"
        How basis rows are found: picked from the data uniformly without replacement, far from each other (bags: by
        their means), or by ridge leverage scores of the kernel at the start; or the centres
        of k-means clusters.
    random_state : int, RandomState instance or None, default=None
        Seed of that choice.

    Notes
    -----
    With the basis B, ``K_BB = U diag(s) U'`` and ``Z = K_XB U s^(-1/2)``: ``Z Z' = K_XB K_BB^+ K_BX``, exact if all
    rows are in the basis. Eigenvalues below ``n_components * eps`` times the largest are dropped, so there may be
    fewer than ``n_components`` columns. The noise of a ``WhiteKernel`` is not a function of the features and is left
    out. Cost: O(n_components^3) for fitting, n_items n_components (n_features + n_components) for a transform.

    It differs from scikit-learn's transformer of the same name: it works on kernel objects and not on metric
    names, drops null directions where that one floors their eigenvalues, and fitting returns the map.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> X = np.linspace(0, 1, 50)[:, np.newaxis]
    >>> Z = Nystroem(5, random_state=0).fit_map(RBF(), X).transform(X)
    >>> Z.shape, bool(np.allclose(Z @ Z.T, RBF()(X), atol=1e-3))
    ((50, 5), True)
    """

    def __init__(self, n_components: int = 100, *, method: str = "random", random_state: Any = None) -> None:
        self.n_components = n_components
        self.method = method
        self.random_state = random_state

    def fit_map(self, kernel: Any, X: Any) -> BasisMap:
        """Pick the basis from the rows of X and return the map of the kernel (an object or a name)."""
        X = as_items(X).checked()
        kernel = resolve_kernel(kernel, X)
        basis = self._picked(kernel, X)
        # Against itself as other rows: the noise of a WhiteKernel stays out.
        s, U = eigh_full(gram(kernel, basis, basis), overwrite=True)
        rank = numerical_rank(s, basis.shape[0])
        return BasisMap(kernel, basis, np.ascontiguousarray(U[:, :rank] / np.sqrt(s[:rank])))

    def functions(self, kernel: Any, X: Any) -> Landmarks:
        """Pick the landmarks and return functions that stand in for the kernel at any hyperparameters."""
        return Landmarks(self._picked(kernel, as_items(X).checked()))

    def _picked(self, kernel: Any, X: Any) -> Any:
        n = X.shape[0]
        n_basis = min(_count(self.n_components, "Nystroem"), n)
        random = check_random_state(self.random_state)
        if self.method == "random":
            picked = random.permutation(n)[:n_basis]
        elif self.method == "kmeans++":
            from sklearn.cluster import kmeans_plusplus

            _, picked = kmeans_plusplus(as_items(X).means(), n_basis, random_state=random)
        elif self.method == "leverage":
            picked = _by_leverage(kernel, X, n_basis, random)
        elif self.method == "kmeans":
            return _centres(X, n_basis, random)
        else:
            raise ValueError(
                f'Nystroem: method is {self.method!r}; it must be "random", "kmeans++", "kmeans" or "leverage".'
            )
        return X[np.unique(picked)]


def _by_leverage(kernel: Any, X: Any, n_basis: int, random: Any) -> Any:
    """Return rows drawn by their ridge leverage scores, diag K (K + λI)⁻¹, estimated from as many uniform rows.

    λ is chosen so that the scores sum to about half of the number of rows that are drawn.
    """
    n = X.shape[0]
    if n_basis == n:
        return np.arange(n)
    F = Landmarks(X[np.sort(random.permutation(n)[:n_basis])]).values(kernel, X)
    s, V = eigh_full(F.T @ F, overwrite=True)
    s = np.maximum(s, 0.0)
    low, high = 1e-12 * s.max(), float(s.sum())
    for _ in range(60):  # the sum falls with λ
        middle = np.sqrt(low * high)
        low, high = (middle, high) if (s / (s + middle)).sum() > n_basis / 2 else (low, middle)
    rows = F @ V
    score = np.maximum((np.square(rows) / (s + high)).sum(axis=1), 1e-12)
    keys = random.uniform(size=n) ** (1.0 / score)  # weighted sampling without replacement
    return np.argpartition(-keys, n_basis - 1)[:n_basis]


def _centres(X: Any, n_basis: int, random: Any) -> Any:
    """Return the centres of k-means clusters of at most 20 rows a landmark."""
    from sklearn.cluster import KMeans

    if not as_items(X).one_row_each or is_sparse(X):
        raise DataError(code="kmeans-landmarks", owner="Nystroem").says(
            "centres of clusters are means of dense rows", 'Use method="kmeans++", which picks rows'
        )
    some = X[np.sort(random.permutation(X.shape[0])[: 20 * n_basis])]
    if n_basis == X.shape[0]:
        return X
    distinct = np.unique(some, axis=0)
    if len(distinct) <= n_basis:  # each is a centre
        return distinct
    return KMeans(n_basis, n_init=1, max_iter=20, random_state=random).fit(some).cluster_centers_


@dataclass(frozen=True)
class FourierMap:
    """Random Fourier features: cosines and sines of the rows along random frequencies."""

    kernel: Any
    frequencies: FloatArray
    shift: FloatArray
    amplitude: float

    def transform(self, X: Any) -> FloatArray:
        """Return the feature rows, of bags the means over their points.

        Cost: n_items n_features r / 2 multiplications, n_items r sines.
        """
        items = as_items(X)
        X = as_rows(items.points)
        n_features, r = self.frequencies.shape
        if X.shape[1] != n_features:
            raise DataError(code="fourier-feature-count", owner="RandomFourier").says(
                f"X has {X.shape[1]} features; the map was fitted on {n_features}."
            )
        if is_sparse(X):  # never filled in
            angles = np.asarray(X @ self.frequencies) - self.shift @ self.frequencies
        else:
            angles = (X - self.shift) @ self.frequencies
        Z = np.empty((X.shape[0], 2 * r))
        np.cos(angles, out=Z[:, :r])
        np.sin(angles, out=Z[:, r:])
        Z *= self.amplitude
        return np.asarray(items.average(Z))

    def n_features_out(self, n_features: int) -> int:
        """Return the number of feature columns."""
        return 2 * int(self.frequencies.shape[1])


class RandomFourier(BaseEstimator):
    """Approximate a stationary kernel by cosines and sines along random directions.

    Parameters
    ----------
    n_components : int, default=100
        Number of feature columns; odd numbers are rounded up, because cosines and sines come in pairs.
    random_state : int, RandomState instance or None, default=None
        Seed of the directions.

    Notes
    -----
    ``k(x, y) = c E[cos(w'(x - y))]`` with w from the kernel's spectral density: with z standard normal and l the
    length scales, w = z / l for RBF, z / (l sqrt(g)) with 2 nu g chi-square of 2 nu degrees for Matern (a Student
    t), z sqrt(g) / l with g gamma of mean 1 and shape alpha for RationalQuadratic. Each entry of Z Z' has standard
    deviation at most ``c / sqrt(n_components)``; the diagonal is exact. ``ConstantKernel`` factors are allowed.
    Cost: n_items n_features n_components / 2 multiplications; fitting looks at the means of the features only.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> X = np.array([[0.0], [1.0]])
    >>> Z = RandomFourier(2000, random_state=0).fit_map(RBF(), X).transform(X)
    >>> bool(np.allclose(Z @ Z.T, RBF()(X), atol=0.05))
    True
    """

    def __init__(self, n_components: int = 100, *, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def functions(self, kernel: Any, X: Any) -> Waves:
        """Draw the directions and return functions that stand in for the kernel at any hyperparameters."""
        check_waves(kernel)
        found = self.fit_map(kernel, X)
        leaf, X = scaled_radial(found.kernel)[1], as_rows(as_items(X).points)
        return Waves(found.frequencies * Space(X).length_scales(leaf.length_scale)[:, np.newaxis], found.shift)

    def fit_map(self, kernel: Any, X: Any) -> FourierMap:
        """Draw the frequencies for the features of X and return the map of the kernel (an object or a name)."""
        kernel = resolve_kernel(kernel, X)
        X = as_rows(as_items(X).points)
        constant, leaf = scaled_radial(kernel)
        n_frequencies = (_count(self.n_components, "RandomFourier") + 1) // 2
        random = check_random_state(self.random_state)
        W = random.standard_normal((X.shape[1], n_frequencies))
        if type(leaf) is Matern and not math.isinf(leaf.nu):
            W /= np.sqrt(random.chisquare(2.0 * leaf.nu, n_frequencies) / (2.0 * leaf.nu))
        elif type(leaf) is RationalQuadratic:
            W *= np.sqrt(random.gamma(leaf.alpha, 1.0 / leaf.alpha, n_frequencies))
        W /= Space(X).length_scales(leaf.length_scale)[:, np.newaxis]
        # cos and sin of large angles lose digits; a common shift of all rows changes no kernel value.
        shift = np.zeros(X.shape[1]) if is_sparse(X) else X.mean(axis=0)
        return FourierMap(kernel, W, shift, math.sqrt(constant / n_frequencies))


def scaled_radial(kernel: Any) -> tuple[float, Any]:
    """Return (c, k) if the kernel is c times a radial kernel k, and say what is supported if not."""
    constant, leaves, todo = 1.0, [], [kernel]
    while todo:
        part = todo.pop()
        if type(part) is Product:
            todo += [part.k1, part.k2]
        elif type(part) is ConstantKernel:
            constant *= float(part.constant_value)
        else:
            leaves.append(part)
    if len(leaves) == 1 and type(leaves[0]) in (RBF, Matern, RationalQuadratic):
        return constant, leaves[0]
    raise DataError(code="fourier-kernel-unknown", owner="RandomFourier").says(
        f"no spectral density is known for {kernel}",
        "Use RBF, Matern or RationalQuadratic, alone or times a ConstantKernel; Nystroem takes any kernel",
    )


def _count(n_components: Any, name: str) -> int:
    if isinstance(n_components, bool) or int(n_components) != n_components or n_components < 1:
        raise ValueError(f"{name}: n_components is {n_components!r}; it must be a whole number, at least 1.")
    return int(n_components)
