"""Gram matrices of scikit-learn's kernel objects, their diagonals and their pullbacks, through BLAS, dense or sparse.

A *pullback* is ``<M, dK/dtheta>`` without an n x n x p array: the gradient of any function of a Gram matrix by the
kernel's hyperparameters is such a product, with M the function's derivative by K. scikit-learn's ``eval_gradient``
returns all of dK/dtheta instead, n^2 numbers for every hyperparameter.

A Gram matrix is kept as a `Part`, a constant or an array plus a diagonal, so that ``2.0 * RBF() + WhiteKernel()``
needs one n x n array and not five. Sums and entrywise products of parts are parts.

The table of rules says for each kernel what its Gram matrix and its pullback are. A rule has two functions.
``evaluate(kernel, space, keep)`` returns the Gram matrix as a `Part` and a function ``pull(M) -> <M, dK/dtheta>``
over the kernel's free hyperparameters, in scikit-learn's order; the second is there only if ``keep`` is True, because
it needs arrays that are otherwise overwritten. ``paired(kernel, X, Y)`` returns the values of rows paired by position,
of X with themselves if Y is None. A kernel is looked up by its exact type, so that a subclass never inherits a rule
that is not its own; kernels without a rule are asked themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Kernel,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from preflearn.exceptions import DataError
from preflearn.items import as_items, as_rows, is_sparse
from preflearn.kernels.bag_means import bag_diag, bag_gram, bag_gram_and_pullback
from preflearn.kernels.distances import (
    PROFILES,
    contract_squared_differences,
    dot,
    row_blocks,
    rq_alpha_slope,
    squared_distances,
    squared_norms,
)
from preflearn.kernels.precomputed import NAME, Precomputed
from preflearn.linalg import FloatArray, IntArray

Pull = Callable[[FloatArray], FloatArray]

GRADIENT_LIMIT = 2**30  # bytes that the n x n x p gradient of a kernel without a rule may take
PAIRED_ROWS = 1 << 14  # rows paired by position that are worked on at a time


def gram(kernel: Any, X: Any, Y: Any = None) -> FloatArray:
    """Return the Gram matrix of X, or the kernel values of the rows of X against those of Y.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Kernel object; see `resolve_kernel` for names.
    X : array-like, sparse matrix or Bags of shape (n_x, n_features)
        Rows, or bags of points; the kernel of two bags is its mean over all pairs of their points.
    Y : array-like, sparse matrix or Bags of shape (n_y, n_features), default=None
        Other rows (the items of fit, if X are new ones). With None, X against itself, including the
        ``WhiteKernel``; with Y the noise is left out, even if Y equals X, as in scikit-learn.

    Returns
    -------
    K : ndarray of shape (n_x, n_x) or (n_x, n_y)
        A new array; exactly symmetric if Y is None. The same numbers as ``kernel(X, Y)``: to 1e-10 of the largest
        entry, also if features have offsets a million times their spread, where dense rows are concerned. Sparse
        rows are not shifted (that would fill them), so there large offsets cost digits.

    Notes
    -----
    Cost: one matrix product, n_x n_y n_features multiplications, for every dot product or radial kernel in the
    expression, and a few passes over the answer in blocks. Memory: one n_x x n_y array for every such kernel.
    Kernels without a rule (see ``RULES``) are called themselves, dense rows only.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> X = np.array([[0.0], [1.0]])
    >>> gram(2.0 * RBF() + WhiteKernel(0.5), X).round(4)
    array([[2.5   , 1.2131],
           [1.2131, 2.5   ]])
    >>> gram(2.0 * RBF() + WhiteKernel(0.5), np.array([[0.0]]), X).round(4)
    array([[2.    , 1.2131]])
    """
    if not (as_items(X).one_row_each and as_items(Y).one_row_each):
        return bag_gram(partial(_evaluated, kernel), X, Y)
    return _evaluated(kernel, X, Y)[0]


def gram_diag(kernel: Any, X: Any, Y: Any = None) -> FloatArray:
    """Return the diagonal of ``gram(kernel, X, Y)`` without the rest of it: kernel values of rows paired by position.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Kernel object.
    X : array-like, sparse matrix or Bags of shape (n_items, n_features)
        Rows, or bags of points.
    Y : array-like, sparse matrix or Bags of shape (n_items, n_features), default=None
        Other rows, as many as there are in X. With None, X with itself, including the ``WhiteKernel``.

    Returns
    -------
    diagonal : ndarray of shape (n_items,)

    Notes
    -----
    Cost: n_items n_features multiplications for kernels with a rule; others are asked in small blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF, DotProduct
    >>> gram_diag(DotProduct(sigma_0=1.0) + RBF(), np.array([[0.0], [2.0]]))
    array([2., 6.])
    >>> gram_diag(RBF(), np.zeros((2, 1)), np.array([[0.0], [1.0]])).round(4)
    array([1.    , 0.6065])
    """
    if not as_items(X).one_row_each:
        return bag_diag(partial(_evaluated, kernel), X, Y)
    if Y is None:
        return _paired(kernel, Space.build(kernel, X).X, None)
    out = np.empty(X.shape[0])
    for i in range(0, X.shape[0], PAIRED_ROWS):
        rows = slice(i, i + PAIRED_ROWS)
        out[rows] = _paired(kernel, X[rows], Y[rows])
    return out


def gram_listed(kernel: Any, X: Any, first: IntArray, second: IntArray) -> FloatArray:
    """Return k(x_i, x_j) for listed pairs (i, j) of the rows of one table, without the noise of a ``WhiteKernel``.

    Where many pairs of bags are listed, the whole kernel matrix is computed, because points would be copied for each
    pair.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> gram_listed(DotProduct(0.0), np.array([[1.0], [2.0], [3.0]]), np.array([0, 1]), np.array([2, 1]))
    array([3., 4.])
    """
    if not as_items(X).one_row_each and 8 * first.shape[0] > X.shape[0] ** 2:
        return np.asarray(gram(kernel, X, X)[first, second])
    return gram_diag(kernel, X[first], X[second])


def gram_and_pullback(kernel: Any, X: Any, Y: Any = None) -> tuple[FloatArray, Pull]:
    """Return the Gram matrix of X and its pullback, ``pull(M) = sum_ij M_ij dK_ij/dtheta``, which share their parts.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Kernel object; not to be changed before the last call of ``pull``.
    X : array-like, sparse matrix or Bags of shape (n_items, n_features)
        Rows, or bags of points.
    Y : array-like or sparse matrix of shape (n_y, n_features), default=None
        Other rows, as in `gram`; bags are compared with themselves only.

    Returns
    -------
    K : ndarray of shape (n_items, n_items) or (n_items, n_y)
        A new array, as from `gram`.
    pull : callable
        Takes weights M (n_items, n_items), which need not be symmetric and are neither copied nor changed, and returns
        the gradient (n_free,) in the order of ``kernel.theta``: logarithms of hyperparameters, fixed ones left out.

    Notes
    -----
    A radial kernel with d length scales needs one product: with ``P = M o slope(D)``, row sums r and column sums c,
    ``sum_ij P_ij (x_il - x_jl)^2 = (r + c)'x_l^2 - 2 x_l'P x_l``. Sums, products and powers follow the rules of
    differentiation. Cost: O(n_items^2 n_features) time, and two n_items x n_items arrays for every radial kernel,
    whatever the number of hyperparameters. Kernels without a rule fall back to ``eval_gradient``; MemoryError if that
    would take more than 1 GiB.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0]])
    >>> kernel = 2.0 * RBF([1.0, 2.0])
    >>> M = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> gram_and_pullback(kernel, X)[1](M).round(6)
    array([1.471518, 1.471518, 1.471518])
    >>> np.einsum("ij,ijk->k", M, kernel(X, eval_gradient=True)[1]).round(6)
    array([1.471518, 1.471518, 1.471518])
    """
    if as_items(X).one_row_each:
        K, pull = _evaluated(kernel, X, Y, keep=True)
    else:
        K, pull = bag_gram_and_pullback(partial(_evaluated, kernel), X)

    def checked(M: FloatArray) -> FloatArray:
        M = np.asarray(M, dtype=np.float64)
        if M.shape != K.shape:
            raise DataError(code="pullback-shape", owner="pullback").says(
                f"M has shape {M.shape}; {K.shape} is needed, a weight for every entry of K."
            )
        return pull(M)

    return K, checked


def _evaluated(kernel: Any, X: Any, Y: Any = None, keep: bool = False) -> tuple[FloatArray, Pull]:
    space = Space.build(kernel, X, Y)
    part, pull = evaluate(kernel, space, keep)
    return part.toarray(space.shape, keep), pull


# --- what a kernel is evaluated on, and what comes out --------------------------------------------------------------


@dataclass(frozen=True)
class Space:
    """The rows a kernel is evaluated on: X against itself (Y is None) or against Y."""

    X: Any
    Y: Any = None

    @classmethod
    def build(cls, kernel: Any, X: Any, Y: Any = None) -> Space:
        """Check the rows and give them the form that the rules expect."""
        if not kernel.requires_vector_input and not is_sparse(X) and not isinstance(X, np.ndarray):
            return cls(X, Y)  # a kernel on texts, graphs, ...: asked as they are
        X = as_rows(X)
        if Y is None:
            return cls(X)
        Y = as_rows(Y, "Y")
        if X.shape[1] != Y.shape[1]:
            raise DataError(code="kernel-feature-count", owner="kernel").says(
                f"X has {X.shape[1]} features and Y has {Y.shape[1]}; they must have the same."
            )
        if is_sparse(X) != is_sparse(Y):
            X, Y = sparse.csr_array(X), sparse.csr_array(Y)
        return cls(X, Y)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the Gram matrix."""
        return _length(self.X), _length(self.X if self.Y is None else self.Y)

    def scaled(self, length_scale: Any) -> tuple[Any, Any]:
        """Return the rows divided by the length scales, dense ones shifted by the mean of Y (without Y, of X)."""
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
            raise DataError(code="length-scale-count", owner="kernel").says(
                f"there are {scale.size} length scales and X has {n_features} features; give one length scale, "
                "or one for each feature."
            )
        return np.broadcast_to(scale, (n_features,))


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


@dataclass(frozen=True)
class Part:
    """A matrix kept as ``constant * 1 1' + diag(diagonal)``, or as ``dense + diag(diagonal)``.

    Where a method takes ``keep``, False allows it to work in the memory of the operands.
    """

    constant: float = 0.0
    diagonal: Any = 0.0  # a number or (n,)
    dense: FloatArray | None = None

    @property
    def is_constant(self) -> bool:
        """Whether all entries are the same number."""
        return self.dense is None and not np.any(self.diagonal)

    @property
    def _entries(self) -> Any:
        return self.constant if self.dense is None else self.dense

    def add(self, other: Part, keep: bool) -> Part:
        """Return the sum."""
        return self._joined(other, np.add, self.diagonal + other.diagonal, keep)

    def multiply(self, other: Part, keep: bool) -> Part:
        """Return the entrywise product."""
        # (A + diag a) o (B + diag b) = A o B + diag(a (diag B + b) + b diag A)
        diagonal = self.diagonal * (other._off() + other.diagonal) + other.diagonal * self._off()
        return self._joined(other, np.multiply, diagonal, keep)

    def weigh(self, M: FloatArray) -> FloatArray:
        """Return a new array, the entrywise product with M."""
        out: FloatArray = M * self._entries
        if np.any(self.diagonal):
            out.flat[:: out.shape[1] + 1] += self.diagonal * np.diagonal(M)
        return out

    def toarray(self, shape: tuple[int, int], keep: bool) -> FloatArray:
        """Return the matrix itself."""
        new = keep or self.dense is None
        out: FloatArray = np.broadcast_to(self._entries, shape).copy() if new else self._entries
        if np.any(self.diagonal):
            out.flat[:: shape[1] + 1] += self.diagonal
        return out

    def _joined(self, other: Part, join: Any, diagonal: Any, keep: bool) -> Part:
        """Return a part of the entries of both, joined one by one."""
        there = self.dense if self.dense is not None else other.dense
        if there is None:
            return Part(join(self.constant, other.constant), diagonal)
        return Part(0.0, diagonal, join(self._entries, other._entries, out=None if keep else there))

    def _off(self) -> Any:
        """Return the diagonal without ``diagonal``."""
        return self.constant if self.dense is None else np.diagonal(self.dense)


# --- the rules ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """How to evaluate one class of kernels: all with all, and rows paired by position."""

    evaluate: Callable[[Any, Space, bool], tuple[Part, Pull]]
    paired: Callable[[Any, Any, Any], FloatArray]


def evaluate(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    """Evaluate a kernel by its rule, or by asking it."""
    rule = RULES.get(type(kernel))
    return (_ask if rule is None else rule.evaluate)(kernel, space, keep)


def _paired(kernel: Any, X: Any, Y: Any) -> FloatArray:
    """Evaluate a kernel on rows paired by position, of X with themselves if Y is None."""
    rule = RULES.get(type(kernel))
    return (_ask_paired if rule is None else rule.paired)(kernel, X, Y)


def kernel_parts(kernel: Any) -> list[Any]:
    """Return the kernels that a kernel is made of."""
    inner = [value for value in kernel.get_params(deep=False).values() if isinstance(value, Kernel)]
    return [part for one in inner for part in kernel_parts(one)] if inner else [kernel]


def is_precomputed(kernel: Any) -> bool:
    """Return whether the kernel's values are given in place of features."""
    if isinstance(kernel, Kernel):
        return any(isinstance(part, Precomputed) for part in kernel_parts(kernel))
    return isinstance(kernel, str) and kernel == NAME


def n_free(kernel: Any) -> int:
    """Count the free hyperparameters, without the logarithms that ``kernel.theta`` takes."""
    return sum(h.n_elements for h in kernel.hyperparameters if not h.fixed)


def _free(kernel: Any, name: str) -> bool:
    return not getattr(kernel, f"hyperparameter_{name}").fixed


def _vector(*values: Any) -> FloatArray:
    return np.asarray(values, dtype=np.float64).reshape(-1)


# --- leaves ---------------------------------------------------------------------------------------------------------


def _constant(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    value = float(kernel.constant_value)

    def pull(M: FloatArray) -> FloatArray:
        return _vector(value * M.sum()) if _free(kernel, "constant_value") else _vector()

    return Part(constant=value), pull


def _white(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    noise = float(kernel.noise_level)

    def pull(M: FloatArray) -> FloatArray:
        seen = np.trace(M) if space.Y is None else 0.0
        return _vector(noise * seen) if _free(kernel, "noise_level") else _vector()

    return Part(diagonal=noise if space.Y is None else 0.0), pull


def _dot_product(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    bias = float(kernel.sigma_0) ** 2

    def pull(M: FloatArray) -> FloatArray:
        return _vector(2.0 * bias * M.sum()) if _free(kernel, "sigma_0") else _vector()

    K = dot(space.X, space.Y)
    K += bias
    return Part(dense=K), pull


def _given(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    return Part(dense=space.X.values(space.Y)), lambda M: _vector()


def _radial(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    profile = PROFILES[type(kernel)]
    U, V = space.scaled(kernel.length_scale)
    D = squared_distances(U, V)
    K = np.empty_like(D) if keep else D
    for rows in row_blocks(*D.shape):
        K[rows] = profile.value(kernel, D[rows])

    def pull(M: FloatArray) -> FloatArray:
        parts: list[Any] = []
        if type(kernel) is RationalQuadratic and _free(kernel, "alpha"):
            blocks = row_blocks(*D.shape)
            parts.append(sum(np.vdot(M[b], rq_alpha_slope(kernel.alpha, D[b], K[b])) for b in blocks))
        if _free(kernel, "length_scale"):
            # <M, dK/dlog l_k> = sum_ij P_ij (u_ik - u_jk)^2 with P = M o slope
            if np.size(kernel.length_scale) > 1:
                P = np.empty_like(D)
                for b in row_blocks(*D.shape):
                    np.multiply(M[b], profile.slope(kernel, D[b], K[b]), out=P[b])
                parts.extend(contract_squared_differences(P, U, D, V))
            else:
                blocks = row_blocks(*D.shape)
                parts.append(sum(np.vdot(M[b] * profile.slope(kernel, D[b], K[b]), D[b]) for b in blocks))
        return _vector(*parts)

    return Part(dense=K), pull


def _ask(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    """Use the kernel's own call, and for the pullback its n x n x p gradient under a memory guard."""
    _refuse_sparse(kernel, space.X)
    K = np.array(kernel(space.X, space.Y), dtype=np.float64)
    if K.shape != space.shape:
        raise TypeError(
            f"kernel: {type(kernel).__name__} returned an array of shape {K.shape} where {space.shape} was expected; "
            "it cannot be used as one kernel."
        )

    def pull(M: FloatArray) -> FloatArray:
        # kernels know the gradient of rows against themselves only, so X and Y are one set of rows
        n_x, p = K.shape[0], n_free(kernel)
        n, rows = (n_x, space.X) if space.Y is None else (sum(K.shape), np.concatenate([space.X, space.Y]))
        if p == 0:
            return _vector()
        if n * n * p * 8 > GRADIENT_LIMIT:
            raise MemoryError(
                f"pullback: {type(kernel).__name__} has no rule, and its gradient for {n} items and {p} "
                f"hyperparameters would take {n * n * p * 8 / 2**30:.1f} GiB (limit {GRADIENT_LIMIT / 2**30:.1f}).\n"
                "  Fix hyperparameters, use fewer items, or use one of "
                f"{', '.join(sorted(known.__name__ for known in RULES))}."
            )
        _, gradient = kernel(rows, eval_gradient=True)
        return np.asarray(np.einsum("ij,ijk->k", M, gradient if space.Y is None else gradient[:n_x, n_x:]))

    return Part(dense=K), pull


def _ask_paired(kernel: Any, X: Any, Y: Any) -> FloatArray:
    _refuse_sparse(kernel, X)
    if Y is None:
        return np.array(kernel.diag(X), dtype=np.float64)
    step = 64  # blocks along the diagonal
    blocks = [gram(kernel, X[i : i + step], Y[i : i + step]).diagonal() for i in range(0, X.shape[0], step)]
    return np.concatenate(blocks or [np.zeros(0)])


def _refuse_sparse(kernel: Any, X: Any) -> None:
    if is_sparse(X):
        raise TypeError(
            f"kernel: {type(kernel).__name__} has no rule for sparse rows.\n  Use one of "
            f"{', '.join(sorted(known.__name__ for known in RULES))}, or pass X.toarray()."
        )


# --- compositions ---------------------------------------------------------------------------------------------------


def _sum(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    (A, pull_a), (B, pull_b) = evaluate(kernel.k1, space, keep), evaluate(kernel.k2, space, keep)
    return A.add(B, keep), lambda M: np.concatenate([pull_a(M), pull_b(M)])


def _product(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    (A, pull_a), (B, pull_b) = evaluate(kernel.k1, space, keep), evaluate(kernel.k2, space, keep)

    # d(A o B) = dA o B + A o dB
    def pull(M: FloatArray) -> FloatArray:
        return np.concatenate([_pull_weighted(kernel.k1, pull_a, B, M), _pull_weighted(kernel.k2, pull_b, A, M)])

    return A.multiply(B, keep), pull


def _exponentiation(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    part, pull_base = evaluate(kernel.kernel, space, keep)
    p = kernel.exponent

    # d(K^p) = p K^(p-1) o dK
    def pull(M: FloatArray) -> FloatArray:
        if n_free(kernel.kernel) == 0:
            return _vector()
        if part.is_constant:
            return np.asarray(p * part.constant ** (p - 1) * pull_base(M))
        weight = _power(part.toarray(space.shape, keep=True), p - 1)
        weight *= p
        weight *= M
        return pull_base(weight)

    if part.is_constant:
        return Part(constant=part.constant**p), pull
    return Part(dense=_power(part.toarray(space.shape, keep), p)), pull


def _pull_weighted(kernel: Any, pull: Pull, other: Part, M: FloatArray) -> FloatArray:
    """Return <M o other, dK/dtheta>; a constant factor is taken out, because the pullback is linear in M."""
    if n_free(kernel) == 0:
        return _vector()
    return other.constant * pull(M) if other.is_constant else pull(other.weigh(M))


def _power(K: FloatArray, exponent: Any) -> FloatArray:
    """Raise to a power in place; small whole powers by multiplication, ten times quicker than ``pow``."""
    whole = int(exponent) if float(exponent).is_integer() and 1 <= exponent <= 8 else None
    for rows in row_blocks(*K.shape):
        block = K[rows]
        if whole is None:
            np.power(block, exponent, out=block)
        else:
            base = block.copy()
            for _ in range(whole - 1):
                block *= base
    return K


# --- the table ------------------------------------------------------------------------------------------------------


def _filled(name: str, *, noise: bool = False) -> Callable[[Any, Any, Any], FloatArray]:
    def paired(kernel: Any, X: Any, Y: Any) -> FloatArray:
        return np.full(_length(X), 0.0 if noise and Y is not None else float(getattr(kernel, name)))

    return paired


def _dot_paired(kernel: Any, X: Any, Y: Any) -> FloatArray:
    if Y is None:
        dots = squared_norms(X)
    else:
        dots = np.asarray(X.multiply(Y).sum(axis=1)).ravel() if is_sparse(X) else np.einsum("ij,ij->i", X, Y)
    return dots + float(kernel.sigma_0) ** 2


def _radial_paired(kernel: Any, X: Any, Y: Any) -> FloatArray:
    if Y is None:
        return np.ones(X.shape[0])
    D = X - Y
    D = (D.toarray() if is_sparse(D) else D) / kernel.length_scale
    return PROFILES[type(kernel)].value(kernel, np.einsum("ij,ij->i", D, D))


RULES: dict[type, Rule] = {
    ConstantKernel: Rule(_constant, _filled("constant_value")),
    WhiteKernel: Rule(_white, _filled("noise_level", noise=True)),
    DotProduct: Rule(_dot_product, _dot_paired),
    Precomputed: Rule(_given, lambda kernel, X, Y: X.paired(Y)),
    RBF: Rule(_radial, _radial_paired),
    Matern: Rule(_radial, _radial_paired),
    RationalQuadratic: Rule(_radial, _radial_paired),
    Sum: Rule(_sum, lambda kernel, X, Y: _paired(kernel.k1, X, Y) + _paired(kernel.k2, X, Y)),
    Product: Rule(_product, lambda kernel, X, Y: _paired(kernel.k1, X, Y) * _paired(kernel.k2, X, Y)),
    Exponentiation: Rule(_exponentiation, lambda kernel, X, Y: _paired(kernel.kernel, X, Y) ** kernel.exponent),
}
