"""GPGP as its formulas say: m x m kernels, Newton with a Cholesky factor a step, one matrix for each derivative.

The yardstick of `benchmarks.cyclic` and the oracle of `tests/models/test_cyclic_reference.py`: obviously right, slow.
Logistic noise, an RBF kernel with a variance, no utility.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit


def item_kernel(X, theta):
    """Return variance times RBF, and its derivatives in the logarithms of variance and length scale."""
    variance, length = np.exp(theta)
    D = np.square(X[:, None, :] - X[None, :, :]).sum(axis=-1) / length**2
    K = variance * np.exp(-D / 2)
    return K, [K, K * D]


def skew(K, L, first, second):
    """Return K_ik L_jl - K_il L_jk for all pairs (i, j) and (k, l)."""
    straight = K[np.ix_(first, first)] * L[np.ix_(second, second)]
    return straight - K[np.ix_(first, second)] * L[np.ix_(second, first)]


def pair_kernel(X, first, second, theta):
    K, derivatives = item_kernel(X, theta)
    return skew(K, K, first, second), [skew(D, K, first, second) + skew(K, D, first, second) for D in derivatives]


def evidence(theta, X, first, second, y):
    """Return minus the log evidence of Laplace's approximation, minus its gradient, and the mode."""
    G, derivatives = pair_kernel(X, first, second, theta)
    g, a = np.zeros(len(y)), np.zeros(len(y))
    for _ in range(100):
        p = expit(g)
        W, slope = p * (1 - p), (y + 1) / 2 - p
        root = np.sqrt(W)
        L = cholesky(np.eye(len(y)) + root[:, None] * G * root, lower=True)
        b = W * g + slope
        a = b - root * cho_solve((L, True), root * (G @ b))
        g, before = G @ a, g
        if np.abs(g - before).max() < 1e-9:
            break
    p = expit(g)
    W, slope = p * (1 - p), (y + 1) / 2 - p
    root = np.sqrt(W)
    L = cholesky(np.eye(len(y)) + root[:, None] * G * root, lower=True)
    value = -a @ g / 2 - np.log1p(np.exp(-y * g)).sum() - np.log(L.diagonal()).sum()
    R = root[:, None] * cho_solve((L, True), np.diag(root))
    C = solve_triangular(L, root[:, None] * G, lower=True)
    third = -W * (1 - 2 * p)
    s2 = 0.5 * (G.diagonal() - np.square(C).sum(axis=0)) * third
    gradient = []
    for D in derivatives:
        s1 = a @ D @ a / 2 - (R * D).sum() / 2
        b = D @ slope
        gradient.append(s1 + s2 @ (b - G @ (R @ b)))
    return -value, -np.array(gradient), g


def fit(X, first, second, y, start, bounds):
    """Return the parameters of the highest evidence, and how often it was evaluated."""
    found = minimize(
        lambda theta: evidence(theta, X, first, second, y)[:2], start, jac=True, method="L-BFGS-B", bounds=bounds
    )
    return found.x, -found.fun, found.nfev
