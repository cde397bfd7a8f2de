"""Least squares on leading components: the whole path over their number at once (MATHS 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from preflearn.operators import FloatArray

__all__ = ["ComponentPath", "component_path"]


@dataclass(frozen=True)
class ComponentPath:
    """Solutions for p = 1..P components; ``weights[:, p - 1]`` are those on the first p (zero beyond).

    ``alive[l]`` is False where the l-th component is a combination of earlier ones for the preference graph (it is
    constant on every group, say): its coefficient is not determined and is left at zero.
    """

    weights: FloatArray
    alive: np.ndarray[tuple[int], np.dtype[np.bool_]]

    def predict(self, Z: FloatArray) -> FloatArray:
        """Return the predictions for every p, (n, P), from the components Z (n, P): running sums, n P²."""
        # column p is Σ_{l<=p} (Z R⁻¹)_l c_l; weights is the running sum of R⁻¹ diag(c).
        return np.asarray(Z @ self.weights)


def component_path(T: FloatArray, target: FloatArray) -> ComponentPath:
    """Minimise ‖c - T_p w‖² for the first p columns of T = C'Z, all p at once.

    T = QR nests: the first p columns of Q and the leading block of R are the factorisation of T_p, so
    w_p = R_p⁻¹ (Q'c)_p, the running sum over l <= p of the columns of R⁻¹ diag(Q'c). Cost r P² once, as much as the
    last p alone. QR of T rather than Cholesky of M = T'T: the condition number is not squared.
    """
    P = T.shape[1]
    if P == 0:
        return ComponentPath(np.zeros((0, 0)), np.zeros(0, dtype=bool))
    size = np.linalg.norm(T, axis=0)
    tol = 1e-10
    alive = size > tol * size.max(initial=0.0)
    if T.shape[0] >= P:
        Q, R = scipy.linalg.qr(T, mode="economic", check_finite=False)
        alive &= np.abs(R.diagonal()) > tol * size
    if T.shape[0] < P or not alive.all():
        Q, R, alive = _orthogonalise(T, size, tol)
    weights = np.zeros((P, P))
    if alive.any():
        inverse = scipy.linalg.solve_triangular(R, np.diag(Q.T @ target), check_finite=False)
        weights[np.ix_(alive, alive)] = inverse
        np.cumsum(weights, axis=1, out=weights)
    return ComponentPath(weights, alive)


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
