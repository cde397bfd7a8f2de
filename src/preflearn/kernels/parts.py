"""What a kernel is evaluated on (`Space`) and what comes out of it (`Part`).

A Gram matrix is kept as ``constant * 1 1' + diag(diagonal) + dense``, so that ``2.0 * RBF() + WhiteKernel()`` needs
one n x n array and not five. Sums and entrywise products of parts are parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from preflearn.exceptions import DataError
from preflearn.kernels.distances import is_sparse

__all__ = ["Part", "Space", "as_rows"]

FloatArray = NDArray[np.float64]


def as_rows(X: Any, name: str = "X") -> Any:
    """Return features as a float64 array, or as a CSR matrix in canonical form if they are sparse.

    Examples
    --------
    >>> as_rows([[1, 2]])
    array([[1., 2.]])
    """
    if is_sparse(X):
        rows: Any = X.tocsr()
        if rows.dtype != np.float64:
            rows = rows.astype(np.float64)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return rows
    dense = np.asarray(X, dtype=np.float64)
    if dense.ndim != 2:
        raise DataError(f"kernel: {name} has shape {dense.shape}; rows of features, (n_items, n_features), are needed.")
    return dense


@dataclass(frozen=True)
class Space:
    """The rows a kernel is evaluated on: X against itself (Y is None) or against Y."""

    X: Any
    Y: Any = None

    @classmethod
    def build(cls, kernel: Any, X: Any, Y: Any = None) -> Space:
        """Check the rows and give them the form that the rules expect."""
        if not kernel.requires_vector_input and not is_sparse(X) and not isinstance(X, np.ndarray):
            return cls(X, Y)  # a kernel on texts, graphs, ...: its own business
        X = as_rows(X)
        if Y is None:
            return cls(X)
        Y = as_rows(Y, "Y")
        if X.shape[1] != Y.shape[1]:
            raise DataError(f"kernel: X has {X.shape[1]} features and Y has {Y.shape[1]}; they must have the same.")
        if is_sparse(X) != is_sparse(Y):
            X, Y = sparse.csr_array(X), sparse.csr_array(Y)
        return cls(X, Y)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the Gram matrix."""
        return _length(self.X), _length(self.X if self.Y is None else self.Y)

    def scaled(self, length_scale: Any) -> tuple[Any, Any]:
        """Return the rows divided by the length scales, dense ones first shifted by a common point.

        The shift (the mean of Y if there is one, else of X) changes no distance, but without it features with a
        large offset lose their digits in the matrix product. It is taken from Y, the items of fit, so that what
        a new row gets does not depend on the rows that come with it.
        """
        reference = self.X if self.Y is None else self.Y
        scale = self.length_scales(length_scale)
        if is_sparse(self.X):
            scaled = [
                rows if rows is None else rows.multiply(1.0 / scale[np.newaxis]).tocsr() for rows in (self.X, self.Y)
            ]
        else:
            shift = reference.mean(axis=0) if len(reference) else 0.0
            scaled = [rows if rows is None else (rows - shift) / scale for rows in (self.X, self.Y)]
        return scaled[0], scaled[1]

    def length_scales(self, length_scale: Any) -> FloatArray:
        """Return the length scale of every feature, having checked how many there are."""
        n_features = self.X.shape[1]
        scale = np.asarray(length_scale, dtype=np.float64).ravel()
        if scale.size not in (1, n_features):
            raise DataError(
                f"kernel: there are {scale.size} length scales and X has {n_features} features; give one length "
                "scale, or one for each feature."
            )
        return np.broadcast_to(scale, (n_features,))


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


@dataclass(frozen=True)
class Part:
    """A matrix kept as ``constant * 1 1' + diag(diagonal) + dense``.

    Where a method takes ``keep``, False allows it to work in the memory of the operands.
    """

    constant: float = 0.0
    diagonal: Any = 0.0  # a number or (n,)
    dense: FloatArray | None = None

    @property
    def is_constant(self) -> bool:
        """Whether all entries are the same number."""
        return self.dense is None and not np.any(self.diagonal)

    def add(self, other: Part, keep: bool) -> Part:
        """Return the sum."""
        dense = self.dense if other.dense is None else other.dense
        if self.dense is not None and other.dense is not None:
            dense = np.add(self.dense, other.dense, out=None if keep else self.dense)
        return Part(self.constant + other.constant, self.diagonal + other.diagonal, dense)

    def multiply(self, other: Part, keep: bool) -> Part:
        """Return the entrywise product."""
        first, second = (other, self) if self.dense is None else (self, other)
        # (A + diag a) o (B + diag b) = A o B + diag(a (diag B + b) + b diag A)
        diagonal = first.diagonal * (second._off(second.diagonal)) + second.diagonal * first._off(0.0)
        if first.dense is None:
            return Part(first.constant * second.constant, diagonal)
        if second.dense is None:
            scaled = np.multiply(first.dense, second.constant, out=None if keep else first.dense)
            return Part(first.constant * second.constant, diagonal, scaled)
        product = first._filled(keep)
        product = np.multiply(product, second._filled(keep), out=None if product is first.dense and keep else product)
        return Part(0.0, diagonal, product)

    def weigh(self, M: FloatArray) -> FloatArray:
        """Return a new array, the entrywise product with M."""
        out: FloatArray = M * self.constant if self.dense is None else M * self._filled(keep=True)
        if np.any(self.diagonal):
            out.flat[:: out.shape[1] + 1] += self.diagonal * np.diagonal(M)
        return out

    def toarray(self, shape: tuple[int, int], keep: bool) -> FloatArray:
        """Return the matrix itself."""
        if self.dense is None:
            out = np.full(shape, self.constant)
        else:
            out = self.dense.copy() if keep else self.dense
            if self.constant != 0.0:
                out += self.constant
        if np.any(self.diagonal):
            out.flat[:: shape[1] + 1] += self.diagonal
        return out

    def _filled(self, keep: bool) -> FloatArray:
        """Return constant + dense."""
        assert self.dense is not None
        if self.constant == 0.0:
            return self.dense
        return np.add(self.dense, self.constant, out=None if keep else self.dense)

    def _off(self, extra: Any) -> Any:
        """Return the diagonal of constant + dense, plus something."""
        own = self.constant if self.dense is None else self.constant + np.diagonal(self.dense)
        return own + extra
