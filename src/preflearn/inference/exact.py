"""Exact inference for the Gaussian case: regularised least squares seen through an operator.

Two forms of one solution, for features Z with K = ZZ' (MATHS 3 and 5):

    dual    (C'KC + λI) a = c,    f = K C a          r x r, one symmetric matrix
    primal  (Z'LZ + λI) w = Z'Cc, f = Z w            d x d

One eigendecomposition of either matrix serves every λ, and leaving out a block S of root-space rows is exact (MATHS 4):

    c_S - C_S'f₋ₛ = (I - H_SS)⁻¹ (c_S - C_S'f),       fitted C'f = H c.

Functions here see arrays and operators only; they neither validate nor warn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from preflearn.linalg import eigh_full
from preflearn.operators import Edges, Features, FloatArray, Groups, IntArray, Operator, Root

__all__ = [
    "Decomposition",
    "decompose",
    "iterate",
    "leave_blocks_out",
    "leave_groups_out_primal",
    "leave_pairs_out",
    "leave_pairs_out_primal",
    "solve",
]

# Elements of one batch of leave-out blocks.
_BATCH = 1 << 21


def solve(M: FloatArray, b: FloatArray, alpha: float) -> FloatArray:
    """Return (M + λI)⁻¹ b for a symmetric positive semidefinite M, which is overwritten; k³/3."""
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
        return decompose(M, b).solve(np.array([alpha]))[:, 0]


@dataclass(frozen=True)
class Decomposition:
    """Eigendecomposition V diag(s) V' of C'KC or Z'LZ with the rotated right-hand side V'b."""

    s: FloatArray
    V: FloatArray
    rotated: FloatArray

    def solve(self, alphas: FloatArray) -> FloatArray:
        """Return (M + λI)⁻¹ b for every λ, (k, n_alphas)."""
        return np.asarray(self.V @ (self.rotated[:, None] / (self.s[:, None] + alphas)))


def decompose(M: FloatArray, b: FloatArray) -> Decomposition:
    """Return the eigendecomposition that serves every λ; M may be overwritten."""
    s, V = eigh_full(M, overwrite=True)
    return Decomposition(s, V, V.T @ b)


def iterate(
    operator: Operator, Z: FloatArray, alpha: float, *, tol: float = 1e-10, max_iter: int | None = None
) -> tuple[FloatArray, int, float]:
    """Return w of the primal system by conjugate gradients, with the steps and the relative residual.

    Needs products with Z, Z' and the operator only, so Z may be sparse with as many features as there are.
    """
    b = np.asarray(Z.T @ operator.adjoint(operator.target))
    w, residual = np.zeros_like(b), b.copy()
    direction, norm2 = residual.copy(), float(residual @ residual)
    goal = tol * np.sqrt(norm2)
    steps = 0
    limit = 10 * max(b.shape[0], 100) if max_iter is None else max_iter
    while np.sqrt(norm2) > goal and steps < limit:
        product = Z.T @ operator.adjoint(operator.apply(Z @ direction)) + alpha * direction
        step = norm2 / float(direction @ product)
        w += step * direction
        residual -= step * product
        previous, norm2 = norm2, float(residual @ residual)
        direction = residual + (norm2 / previous) * direction
        steps += 1
    scale = float(np.linalg.norm(b))
    return w, steps, float(np.sqrt(norm2)) / scale if scale else 0.0


def leave_blocks_out(
    dual: Decomposition, target: FloatArray, alphas: FloatArray, blocks: Sequence[IntArray]
) -> FloatArray:
    """Return the held-out C'f of every block for every λ, (r, n_alphas), from the dual decomposition.

    V is square and orthonormal, so I - H = V diag(λ/(s+λ)) V' without cancellation. Cost Σ_S |S|² r per λ.
    """
    shrink = alphas / (dual.s[:, None] + alphas)
    error = dual.V @ (shrink * dual.rotated[:, None])
    for rows in _batches(blocks, dual.s.shape[0]):
        P = dual.V[rows]
        for j in range(alphas.shape[0]):
            remainder = np.matmul(P * shrink[:, j], P.swapaxes(1, 2))
            error[rows, j] = _solve_stack(remainder, error[rows, j])
    return np.asarray(target[:, None] - error)


def leave_groups_out_primal(
    primal: Decomposition, operator: Groups, features: Features, alphas: FloatArray
) -> FloatArray:
    """Return the held-out utilities of every group for every λ, (n, n_alphas), up to a constant per group.

    Streams over the features once: I - H_SS = I - U_S diag(1/(s+λ)) U_S' with U = C'ZV, solved in whichever of the two
    sizes |S| and d is smaller (Woodbury). Cost n d² plus Σ_S min(|S|, d)² max(|S|, d) per λ.
    """
    W = primal.solve(alphas)
    d = primal.s.shape[0]
    held_out = np.empty((operator.n_items, alphas.shape[0]))
    for rows, part in operator.chunks(max(64, (1 << 19) // d)):
        Z = features(rows)
        fitted = np.asarray(Z @ W)
        T = part.apply(Z if isinstance(Z, np.ndarray) else Z.toarray())
        U = T @ primal.V
        error = part.target[:, None] - T @ W
        for index in _stretches(np.bincount(part.code), d):
            block = U[index]
            size = index.shape[1]
            for j in range(alphas.shape[0]):
                P = block * (1.0 / np.sqrt(primal.s + alphas[j]))
                e = error[index, j]
                if size <= d:
                    remainder = P @ P.swapaxes(1, 2)
                    np.subtract(np.eye(size), remainder, out=remainder)
                    error[index, j] = _solve_stack(remainder, e)
                else:
                    # (I - PP')⁻¹ e = e + P (I - P'P)⁻¹ P'e
                    inner = _solve_stack(np.eye(d) - P.swapaxes(1, 2) @ P, (P.swapaxes(1, 2) @ e[..., None])[..., 0])
                    error[index, j] = e + (P @ inner[..., None])[..., 0]
        held_out[rows] = part.recover(part.target[:, None] - error, fitted)
    return held_out


def leave_pairs_out(
    dual: Decomposition, root: Root, edges: Edges, fitted: FloatArray, alphas: FloatArray
) -> FloatArray:
    """Return the held-out sqrt(v)(f_i - f_j) of every distinct pair, (m, n_alphas), for more pairs than items.

    With C the n x r root and C_k the column of pair k, q_k = C⁺C_k gives
    1 - H_kk = (1 - ‖q_k‖²) + Σ_l (V'q_k)_l² λ/(s_l+λ).
    All V'q_k are differences of n rows, so the cost is n³ once and m n per λ. ``fitted`` is f, (n_items, n_alphas).
    """
    coordinates = root.coordinates(dual.V)
    shrink = alphas / (dual.s[:, None] + alphas)
    held_out = np.empty((edges.first.shape[0], alphas.shape[0]))
    step = max(1, _BATCH // max(1, dual.s.shape[0]))
    predicted = edges.apply(fitted)
    for i in range(0, held_out.shape[0], step):
        here = slice(i, i + step)
        P = coordinates[edges.first[here]] - coordinates[edges.second[here]]
        P *= edges.root_weight[here, None]
        P *= P
        remainder = np.maximum(0.0, 1.0 - P.sum(axis=1))[:, None] + P @ shrink
        target = edges.target[here, None]
        held_out[here] = target - (target - predicted[here]) / remainder
    return held_out


def leave_pairs_out_primal(primal: Decomposition, edges: Edges, features: Features, alphas: FloatArray) -> FloatArray:
    """Return the held-out sqrt(v)(f_i - f_j) of every distinct pair, (m, n_alphas); m d per λ."""
    Z = features(slice(0, edges.n_items))
    rotated = np.asarray(Z @ primal.V)
    predicted = edges.apply(np.asarray(Z @ primal.solve(alphas)))
    held_out = np.empty_like(predicted)
    step = max(1, _BATCH // max(1, primal.s.shape[0]))
    for i in range(0, held_out.shape[0], step):
        here = slice(i, i + step)
        U = rotated[edges.first[here]] - rotated[edges.second[here]]
        U *= edges.root_weight[here, None]
        remainder = 1.0 - (U * U) @ (1.0 / (primal.s[:, None] + alphas))
        target = edges.target[here, None]
        held_out[here] = target - (target - predicted[here]) / remainder
    return held_out


def _stretches(size: IntArray, width: int) -> Iterator[IntArray]:
    # The same for groups that lie one after the other, without a list of them.
    start = np.cumsum(size) - size
    for n in np.unique(size):
        members = start[size == n]
        step = max(1, _BATCH // max(1, int(n) * width))
        for i in range(0, members.shape[0], step):
            yield members[i : i + step, None] + np.arange(n)


def _batches(blocks: Sequence[IntArray], width: int) -> Iterator[IntArray]:
    # Stacks (count, size) of row numbers of equally large blocks, small enough for one batch.
    by_size: dict[int, list[IntArray]] = {}
    for block in blocks:
        by_size.setdefault(len(block), []).append(block)
    for size, members in by_size.items():
        step = max(1, _BATCH // max(1, size * width))
        for i in range(0, len(members), step):
            yield np.stack(members[i : i + step])


def _solve_stack(A: FloatArray, e: FloatArray) -> FloatArray:
    if A.shape[1] == 1:
        return np.asarray(e / A[:, 0])
    return np.asarray(np.linalg.solve(A, e[..., None])[..., 0])
