"""Exact inference for the Gaussian case: regularised least squares seen through an operator.

Two forms of one solution, for features Z with K = ZZ' (docs/maths.md, sections 3 and 5):

    dual    (C'KC + λI) a = c,    f = K C a          r x r, one symmetric matrix
    primal  (Z'LZ + λI) w = Z'Cc, f = Z w            d x d

One eigendecomposition of either matrix serves every λ, and leaving out a block S of root-space rows is exact
(docs/maths.md, section 4):

    c_S - C_S'f₋ₛ = (I - H_SS)⁻¹ (c_S - C_S'f),       fitted C'f = H c.

Several outputs share the decomposition. With q of them, answers for A values of λ have A q columns, outputs within λ.

Functions here see arrays and operators only; they neither validate nor warn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg

from preflearn.exceptions import DataError
from preflearn.linalg import eigh_full
from preflearn.linalg.iterative import conjugate
from preflearn.operators import Edges, Features, FloatArray, Groups, IntArray, Operator, Rows

# Elements of one batch of leave-out blocks.
_BATCH = 1 << 21


def solve(M: FloatArray, b: FloatArray, alpha: float) -> FloatArray:
    """Return (M + λI)⁻¹ b for a symmetric positive semidefinite M, which is overwritten; k³/3."""
    check_finite(M, b)
    diagonal = M.diagonal().copy()
    M.flat[:: M.shape[0] + 1] += alpha
    try:
        # M.T is the same matrix in Fortran order, so LAPACK works in place, on what is M's upper triangle.
        factor = scipy.linalg.cho_factor(M.T, lower=True, overwrite_a=True, check_finite=False)
        return np.asarray(scipy.linalg.cho_solve(factor, b, check_finite=False))
    except np.linalg.LinAlgError:
        # λ below the rounding of M: M's lower triangle is intact, and eigenvalues clipped at zero always work.
        M = np.tril(M, -1)
        M += M.T
        M.flat[:: M.shape[0] + 1] = diagonal
        return decompose(M, b).solve(np.array([alpha])).reshape(b.shape)


@dataclass(frozen=True)
class Decomposition:
    """Eigendecomposition V diag(s) V' of C'KC or Z'LZ with the rotated right-hand side V'b."""

    s: FloatArray
    V: FloatArray
    rotated: FloatArray

    def solve(self, alphas: FloatArray) -> FloatArray:
        """Return (M + λI)⁻¹ b for every λ, (k, n_alphas q)."""
        return np.asarray(self.V @ self.scaled(1.0 / (self.s[:, None] + alphas)))

    def scaled(self, factor: FloatArray) -> FloatArray:
        """Return V'b times factors (k, n_alphas), (k, n_alphas q)."""
        rotated = spread(self.rotated, factor.shape[1])
        return np.repeat(factor, rotated.shape[1] // factor.shape[1], axis=1) * rotated


def spread(values: FloatArray, n_alphas: int) -> FloatArray:
    """Return columns (k,) or (k, q) repeated for every λ, (k, n_alphas q)."""
    return np.tile(np.atleast_2d(values.T).T, n_alphas)


def decompose(M: FloatArray, b: FloatArray) -> Decomposition:
    """Return the eigendecomposition that serves every λ; M may be overwritten."""
    check_finite(M, b)
    s, V = eigh_full(M, overwrite=True)
    return Decomposition(s, V, V.T @ b)


def check_finite(M: FloatArray, b: FloatArray) -> None:
    """Raise if products of features or scores overflowed."""
    if not (np.isfinite(M).all() and np.isfinite(b).all()):
        raise DataError(code="products-overflow").says(
            "The features or scores are so large or so small that their products overflow",
            "Scale them to ordinary size first, for example with sklearn.preprocessing.StandardScaler",
        )


def iterate(operator: Operator, Z: FloatArray, alpha: float) -> tuple[FloatArray, float]:
    """Return w of the primal system by conjugate gradients, and the relative residual.

    Needs products with Z, Z' and the operator only, so Z may be sparse with as many features as there are.
    """
    b = np.asarray(Z.T @ operator.adjoint(operator.target))

    def apply(w: FloatArray) -> FloatArray:
        return np.asarray(Z.T @ operator.adjoint(operator.apply(Z @ w)) + alpha * w)

    return conjugate(apply, b, np.copy, 1e-10, 10 * max(b.shape[0], 100))


@dataclass(frozen=True)
class Hat:
    """Rows P of a factor of the hat matrix in root space, and what is left of the identity.

    I - H = base + P diag(g) P' with, for λ:

    ========  ===============================  ===========  ============
    kind      P                                base         g
    ========  ===============================  ===========  ============
    dual      V, square and orthonormal        0            λ / (s + λ)
    root      V'C⁺C_k of every listed pair k   I - PP'      λ / (s + λ)
    primal    C'ZV                             I            -1 / (s + λ)
    ========  ===============================  ===========  ============

    The dual needs no cancellation. ``rows(index)`` returns the rows of P for an array of root-space rows.
    """

    kind: Literal["dual", "root", "primal"]
    s: FloatArray
    rows: Callable[[IntArray], FloatArray]

    def gain(self, alphas: FloatArray) -> FloatArray:
        """Return g, (k, n_alphas)."""
        shifted = self.s[:, None] + alphas
        return -1.0 / shifted if self.kind == "primal" else alphas / shifted


def leave_out(
    hat: Hat,
    target: FloatArray,
    residual: FloatArray,
    alphas: FloatArray,
    blocks: Iterable[IntArray],
    fitted: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the held-out C'f of every block of root-space rows for every λ, (r, n_alphas q), and its rounding error.

    ``residual`` is c - C'f of the fit on everything, (r, n_alphas q), and ``fitted`` C'f where it is known by itself
    (the primal); ``blocks`` are stacks (count, size) of rows, as `stacks` makes them. Cost Σ_S min(|S|, k)² max(|S|, k)
    per λ. Held-out values below the rounding error, that of what is subtracted times the factor by which leaving out
    enlarges residuals, are zero for all that is known.
    """
    held = np.zeros_like(residual)
    noise = np.zeros_like(residual)
    gain, n_alphas = hat.gain(alphas), alphas.shape[0]
    q = residual.shape[1] // n_alphas
    gains = np.repeat(gain, q, axis=1)
    for index in blocks:
        P = hat.rows(index)
        size, k = P.shape[1:]
        base = np.eye(size) if hat.kind == "primal" else np.zeros((size, size))
        if hat.kind == "root":
            base = np.eye(size) - P @ P.swapaxes(1, 2)
        r, c = residual[index], target[index].reshape(*index.shape, q)
        if size == 1:
            error = r / (np.maximum(base[..., 0], 0.0) + (P[:, 0] ** 2) @ gains)[:, None, :]
        else:
            error = np.empty_like(r)
            for j in range(n_alphas):
                of_one = slice(j * q, (j + 1) * q)
                error[..., of_one] = _remove(base, P, gain[:, j], r[..., of_one], hat.kind == "primal" and size > k)
        first, second = np.tile(c, n_alphas), error
        if fitted is not None:
            # fitted - H e is the same as c - e; where λ is large both parts are small, and c - e would lose them
            first, second = fitted[index], P @ (-gains * (P.swapaxes(1, 2) @ error))
        held[index] = first - second
        largest = np.abs(first).max(axis=1, keepdims=True) + np.abs(second).max(axis=1, keepdims=True)
        factor = np.abs(error).max(axis=1, keepdims=True) / np.maximum(np.abs(r).max(axis=1, keepdims=True), 1e-300)
        noise[index] = np.finfo(np.float64).eps * largest * np.maximum(factor, 1.0)
    return held, noise


def _remove(base: FloatArray, P: FloatArray, g: FloatArray, r: FloatArray, woodbury: bool) -> FloatArray:
    """Return (base + P diag(g) P')⁻¹ r for a stack of blocks, r (count, size, q)."""
    if not woodbury:
        matrix = (P * g) @ P.swapaxes(1, 2)
        matrix += base
        return np.asarray(np.linalg.solve(matrix, r))
    # primal with more rows than features: (I - QQ')⁻¹ r = r + Q (I - Q'Q)⁻¹ Q'r, Q = P diag(sqrt(-g))
    Q = P * np.sqrt(-g)
    inner = np.linalg.solve(np.eye(P.shape[2]) - Q.swapaxes(1, 2) @ Q, Q.swapaxes(1, 2) @ r)
    return np.asarray(r + Q @ inner)


def stacks(blocks: Iterable[IntArray], width: int) -> Iterator[IntArray]:
    """Yield stacks (count, size) of equally large blocks, each small enough for one batch of ``width`` columns."""
    every = [block for block in blocks if len(block)]
    rows = np.concatenate([np.zeros(0, dtype=np.intp), *every])
    for index in stretches(np.array([len(block) for block in every], dtype=np.intp), width):
        yield rows[index]


def stretches(size: IntArray, width: int) -> Iterator[IntArray]:
    """Yield the same for blocks of these sizes that lie one after the other, without a list of them."""
    start = np.cumsum(size) - size
    for n in np.unique(size[size > 0]):
        members = start[size == n]
        step = max(1, _BATCH // max(1, int(n) * width))
        for i in range(0, members.shape[0], step):
            yield members[i : i + step, None] + np.arange(n)


def leave_groups_out_primal(
    primal: Decomposition, operator: Groups | Rows, features: Features, alphas: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the held-out utilities of every group for every λ, (n, n_alphas q), up to what the operator does not see.

    Streams over the features once; see `leave_out`. The second array is the rounding error of each.
    """
    W = primal.solve(alphas)
    d = primal.s.shape[0]
    held_out = np.empty((operator.n_items, W.shape[1]))
    noise = np.empty_like(held_out)
    for rows, part in operator.chunks(max(64, (1 << 19) // d)):
        Z = features(rows)
        T = part.apply(Z if isinstance(Z, np.ndarray) else Z.toarray())
        U = T @ primal.V
        hat = Hat("primal", primal.s, U.__getitem__)
        fitted = T @ W
        blocks = stretches(part.sizes, d)
        residual = spread(part.target, alphas.shape[0]) - fitted
        held, rough = leave_out(hat, part.target, residual, alphas, blocks, fitted)
        held_out[rows] = part.recover(held, np.asarray(Z @ W))
        noise[rows] = part.recovered_noise(rough)
    return held_out, noise


def pair_hat(kind: Literal["root", "primal"], s: FloatArray, table: FloatArray, edges: Edges) -> Hat:
    """Return the hat matrix over listed pairs, whose rows are differences of two of the n rows of a table.

    In the primal these are rotated features ZV. Where pairs outnumber the items they are the coordinates of V in the
    n x r root C, of which pair k has the column C_k: V'C⁺C_k is such a difference, and nothing is m x n.
    """

    def rows(index: IntArray) -> FloatArray:
        P = table[edges.first[index]] - table[edges.second[index]]
        P *= edges.root_weight[index][..., None]
        return np.asarray(P)

    return Hat(kind, s, rows)


@dataclass(frozen=True)
class ComponentPath:
    """Minimisers of ‖c - T_p w‖² for the first p columns of T = C'Z, p = 1, ..., P, as `component_path` finds them.

    T = QR nests, so w_p = R_p⁻¹ (Q'c)_p is the running sum over l <= p of the columns of R⁻¹ diag(Q'c).
    """

    inverse: FloatArray  # R⁻¹ (P, P), zero where a component is not determined
    scores: FloatArray  # Q'c, (P,) or (P, q)

    @property
    def last(self) -> FloatArray:
        """Weights of all P components, (P,) or (P, q)."""
        return np.asarray(self.inverse @ self.scores)

    def every(self, output: int = 0) -> FloatArray:
        """Return for one output the weights on the first p components in column p - 1, zero beyond, (P, P)."""
        return np.cumsum(self.inverse * np.atleast_2d(self.scores.T)[output], axis=1)


def component_path(T: FloatArray, target: FloatArray) -> ComponentPath:
    """Return the path of least squares on 1, 2, ..., P columns of T = C'Z; r P², as for P alone.

    A component that is a combination of earlier ones for the preference graph (constant on every group, say) is not
    determined, and has weight zero. QR of T rather than Cholesky of T'T: the condition number is not squared.
    """
    P = T.shape[1]
    path = ComponentPath(np.zeros((P, P)), np.zeros((P, *target.shape[1:])))
    if P == 0:
        return path
    size = np.linalg.norm(T, axis=0)
    tol = 1e-10
    alive = size > tol * size.max(initial=0.0)
    if T.shape[0] >= P:
        Q, R = scipy.linalg.qr(T, mode="economic", check_finite=False)
        alive &= np.abs(R.diagonal()) > tol * size
    if T.shape[0] < P or not alive.all():
        Q, R, alive = _orthogonalise(T, size, tol)
    if alive.any():
        path.inverse[np.ix_(alive, alive)] = scipy.linalg.solve_triangular(R, np.eye(R.shape[0]), check_finite=False)
        path.scores[alive] = Q.T @ target
    return path


def component_weights(M: FloatArray, b: FloatArray) -> FloatArray:
    """Return the weights of all P columns from M = T'T and b = T'c alone; P³.

    As the end of `component_path`, for rows that are gone: Cholesky of M, which squares the condition number. A column
    that depends on earlier ones to rounding has weight zero.
    """
    P = M.shape[0]
    check_finite(M, b)
    R, rotated = np.zeros((P, P)), np.zeros(P)
    alive: list[int] = []
    lost = 10 * P * np.finfo(np.float64).eps
    largest = M.diagonal().max(initial=0.0)
    for l in range(P):
        k = len(alive)
        r = scipy.linalg.solve_triangular(R[:k, :k], M[alive, l], trans="T", check_finite=False)
        left = M[l, l] - r @ r
        if left <= lost * M[l, l] or M[l, l] <= lost * largest:
            continue
        R[:k, k], R[k, k] = r, np.sqrt(left)
        rotated[k] = (b[l] - r @ rotated[:k]) / R[k, k]
        alive.append(l)
    weights = np.zeros(P)
    k = len(alive)
    weights[alive] = scipy.linalg.solve_triangular(R[:k, :k], rotated[:k], check_finite=False)
    return weights


def _orthogonalise(
    T: FloatArray, size: FloatArray, tol: float
) -> tuple[FloatArray, FloatArray, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    # Gram-Schmidt, twice for accuracy, leaving out columns that depend on earlier ones.
    r, P = T.shape
    Q = np.zeros((r, min(r, P)))
    R = np.zeros((min(r, P), P))
    alive = np.zeros(P, dtype=bool)
    k = 0
    floor = tol * size.max(initial=0.0)
    for l in range(P):
        if k == Q.shape[1]:
            break
        v = T[:, l].copy()
        first = Q[:, :k].T @ v
        v -= Q[:, :k] @ first
        second = Q[:, :k].T @ v
        v -= Q[:, :k] @ second
        norm = float(np.linalg.norm(v))
        if norm <= tol * size[l] or size[l] <= floor:
            continue
        Q[:, k] = v / norm
        R[:k, l] = first + second
        R[k, l] = norm
        alive[l] = True
        k += 1
    return Q[:, :k], R[:k][:, alive], alive
