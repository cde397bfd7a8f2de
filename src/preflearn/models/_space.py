"""The kernel as a fit sees it: rows of features (primal) or a Gram matrix (dual)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from preflearn.exceptions import DataError
from preflearn.inference.exact import iterate, solve
from preflearn.kernels import gram, linear_map, resolve_kernel
from preflearn.operators import (
    Edges,
    Features,
    FloatArray,
    Groups,
    IntArray,
    Operator,
    Root,
    RowIndex,
    Rows,
    project,
    scatter,
)

__all__ = ["Solver", "Space"]

Solver = Literal["auto", "primal", "dual", "cg"]

# Elements of one block of a Gram matrix at prediction: 128 MiB.
_BLOCK = 1 << 24


@dataclass(frozen=True)
class Space:
    """Training items X under a kernel, in the form that is cheapest for them.

    ``map`` turns rows into features Z with K = ZZ' (linear kernels, Nystroem, random features) or is None. ``solver``
    is the form that was chosen: "primal" (d x d), "dual" (n x n) or "cg" (products only).
    """

    X: Any
    kernel: Any
    map: Any | None
    n_features: int
    solver: Literal["primal", "dual", "cg"]

    @classmethod
    def build(
        cls,
        owner: str,
        X: Any,
        kernel: Any,
        approximation: Any = None,
        solver: Solver = "auto",
        weight: FloatArray | None = None,
    ) -> Space:
        """Resolve the kernel (named ones from the rows, weighted) and choose the form."""
        n = X.shape[0]
        if isinstance(kernel, str) and kernel == "precomputed":
            if approximation is not None or solver in ("primal", "cg"):
                raise ValueError(
                    f'{owner}: kernel="precomputed" has no features, so it cannot be combined with '
                    f'approximation={approximation!r} and solver="{solver}". Use solver="dual" and approximation=None.'
                )
            return cls(X, kernel, None, 0, "dual")
        resolved = resolve_kernel("linear" if kernel is None else kernel, X, weight)
        if approximation is not None:
            if not hasattr(approximation, "fit_map") or isinstance(approximation, type):
                raise TypeError(
                    f"{owner}: approximation must be made by preflearn.Nystroem(...) or preflearn.RandomFourier(...); "
                    f"got {approximation!r}. A transformer of scikit-learn goes in front, in a pipeline, with "
                    "kernel='linear'."
                )
            if solver == "dual":
                raise ValueError(f'{owner}: approximation gives features for the primal; use solver="auto".')
            feature_map = approximation.fit_map(resolved, X)
            size = int(feature_map.transform(X[:1]).shape[1])
            return cls(X, resolved, feature_map, size, "cg" if solver == "cg" else "primal")
        linear = linear_map(resolved)
        if linear is None:
            if solver in ("primal", "cg"):
                raise ValueError(
                    f'{owner}: solver="{solver}" needs features, and the kernel {resolved} has none that are finite. '
                    'Use solver="dual", or an approximation such as approximation=Nystroem(1000).'
                )
            _guard(owner, n, "rows", "approximation=Nystroem(1000)")
            return cls(X, resolved, None, 0, "dual")
        size = int(linear.n_features_out(X.shape[1]))
        if solver == "auto":
            solver = "primal" if size <= n else "dual"
            if 8 * min(size, n) ** 2 > _memory() // 4:
                solver = "cg"
        if solver != "cg":
            _guard(
                owner, size if solver == "primal" else n, "features" if solver == "primal" else "rows", 'solver="cg"'
            )
        return cls(X, resolved, linear, size, solver)

    def features(self, rows: RowIndex) -> Any:
        """Return the feature rows Z[rows]."""
        assert self.map is not None
        return self.map.transform(self.X[rows])

    def of(self, items: IntArray) -> Features:
        """Return the features of some of the items, as a function of their rows."""
        return lambda rows: self.features(items[rows])

    def gram(self) -> FloatArray:
        """Return the kernel matrix of the items, a new array."""
        if isinstance(self.kernel, str):
            return np.array(self.X.toarray() if hasattr(self.X, "toarray") else self.X, dtype=np.float64, order="C")
        K = np.ascontiguousarray(gram(self.kernel, self.X))
        if not np.isfinite(K).all():
            raise DataError(
                f"The kernel {self.kernel} overflows on these features. Scale them to ordinary size first, for "
                "example with sklearn.preprocessing.StandardScaler."
            )
        return K

    def primal_coefficients(self, dual: FloatArray) -> FloatArray:
        """Return w = Z'A where the kernel has features, so that prediction needs no training rows."""
        assert self.map is not None
        return np.asarray(self.map.transform(self.X).T @ dual)


def fit_least_squares(space: Space, operator: Rows | Groups | Edges, alpha: float) -> tuple[FloatArray, float]:
    """Return the coefficients, primal (d,) or dual (n,) as the space says, and the relative residual."""
    if space.solver == "cg":
        w, _, residual = iterate(operator, space.features(slice(0, operator.n_items)), alpha)
        return w, residual
    if space.solver == "primal":
        M, b = scatter(operator, space.features, space.n_features)
        return solve(M, b, alpha), 0.0
    root = dual_operator(operator)
    return root.adjoint(solve(project(root, space.gram()), root.target, alpha)), 0.0


def dual_operator(operator: Rows | Groups | Edges) -> Operator:
    """Return the operator with the smaller root: listed pairs become an n x n root where they outnumber the items."""
    if isinstance(operator, Edges) and operator.first.shape[0] >= operator.n_items:
        try:
            root: Root = operator.root
        except np.linalg.LinAlgError:  # weights so unequal that the Laplacian is singular to rounding
            return operator
        return root
    return operator


def utilities(kernel: Any, X_fit: Any, dual: FloatArray, X: Any) -> FloatArray:
    """Return K(X, X_fit) A, block by block of new rows; A may have several columns."""
    if isinstance(kernel, str):
        return np.asarray(X @ dual)
    step = max(1, _BLOCK // max(1, X_fit.shape[0]))
    blocks = [gram(kernel, X[i : i + step], X_fit) @ dual for i in range(0, X.shape[0], step)]
    return np.concatenate(blocks) if blocks else np.zeros((0, *dual.shape[1:]))


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system tells
        return 8 << 30


def _guard(owner: str, size: int, what: str, cure: str) -> None:
    needed = 8 * size * size
    if needed > _memory() // 2:
        raise DataError(
            f"{owner}: {size} {what} need a matrix of {needed / 2**30:.0f} GiB, and this machine has "
            f"{_memory() / 2**30:.0f} GiB. Use {cure}."
        )
