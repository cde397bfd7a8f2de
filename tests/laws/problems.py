"""Random problems shared by the laws, and the slow, obviously right versions of what is tested."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass
class RowProblem:
    X: np.ndarray
    y: np.ndarray
    code: np.ndarray
    weight: np.ndarray | None
    ties: str
    weighting: str

    @property
    def laplacian(self) -> np.ndarray:
        return pair_laplacian(self.y, self.code, self.weight, ties=self.ties, weighting=self.weighting)


def row_problem(seed: int, *, n_max: int = 24, d: int = 3, min_groups: int = 1) -> RowProblem:
    """Scores in groups: levels or real scores, unsorted groups, groups of one, weights or none; with some pair."""
    for attempt in range(100):
        p = _draw_rows(np.random.default_rng([seed, attempt]), seed, n_max, d, min_groups)
        learnable = [np.ptp(p.y[p.code == g]) > 0 for g in range(p.code.max() + 1)]
        if len(learnable) >= min_groups and sum(learnable) >= min_groups:
            return p
    raise AssertionError("no problem drawn")


def _draw_rows(rng, seed, n_max, d, min_groups) -> RowProblem:
    n = int(rng.integers(4 + 2 * min_groups, n_max))
    q = int(rng.integers(min_groups, max(min_groups + 1, n // 2)))
    code = np.unique(rng.integers(0, q, n), return_inverse=True)[1]
    if seed % 2:
        code = np.sort(code)
    y = rng.integers(0, 3, n).astype(float) if seed % 3 else rng.normal(size=n)
    weight = rng.uniform(0.2, 3.0, n) if seed % 5 > 2 else None
    X = rng.normal(size=(n, d)) + (1e3 if seed % 7 == 0 else 0.0)
    return RowProblem(
        X,
        y,
        code,
        weight,
        ties=("include", "exclude")[(seed // 2) % 2],
        weighting=("pairs", "groups")[(seed // 4) % 2],
    )


def pair_laplacian(y, code, weight=None, *, ties="include", weighting="pairs") -> np.ndarray:
    """The Laplacian by listing every pair."""
    n = len(y)
    w = np.ones(n) if weight is None else weight
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j and code[i] == code[j] and not (ties == "exclude" and y[i] == y[j]):
                W[i, j] = w[i] * w[j]
                if weighting == "groups":
                    W[i, j] /= w[code == code[i]].sum()
    return np.diag(W.sum(axis=1)) - W


@dataclass
class PairProblem:
    X: np.ndarray
    first: np.ndarray
    second: np.ndarray
    margin: np.ndarray
    weight: np.ndarray | None

    @property
    def B(self) -> np.ndarray:
        B = np.zeros((len(self.first), len(self.X)))
        B[np.arange(len(self.first)), self.first] += 1
        B[np.arange(len(self.first)), self.second] -= 1
        return B

    @property
    def v(self) -> np.ndarray:
        return np.ones(len(self.first)) if self.weight is None else self.weight

    @property
    def laplacian(self) -> np.ndarray:
        return self.B.T @ (self.v[:, None] * self.B)

    @property
    def rhs(self) -> np.ndarray:
        return self.B.T @ (self.v * self.margin)


def pair_problem(seed: int, *, n_max: int = 14, d: int = 3) -> PairProblem:
    """Listed pairs: few or many for the number of items, repeats, several connected parts, weights or none."""
    rng = np.random.default_rng(10_000 + seed)
    n = int(rng.integers(3, n_max))
    m = int(rng.integers(3, 4 * n))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    if seed % 4 == 0 and n > 5:  # two parts that never meet
        half = n // 2
        second = np.where(first < half, (first + 1) % half, half + (first - half + 1) % (n - half))
        keep = first != second
        first, second = first[keep], second[keep]
    margin = rng.normal(size=len(first)) if seed % 3 else rng.choice([-1.0, 0.0, 1.0], len(first))
    first[:2], second[:2], margin[:2] = [0, 1], [1, 2 if n > 2 else 0], [1.0, -2.0]  # two pairs that are no ties
    weight = rng.uniform(0.2, 3.0, len(first)) if seed % 5 > 2 else None
    return PairProblem(rng.normal(size=(n, d)), first, second, margin, weight)


def dense_root(operator) -> np.ndarray:
    """C, column by column."""
    return operator.apply(np.eye(operator.n_items)).T


def rank_rls(K, L, b, alpha) -> np.ndarray:
    """rankrls (8): A = (LK + λI)^-1 L y."""
    return np.linalg.solve(L @ K + alpha * np.eye(len(K)), b)


def sparse_like(X) -> sp.csr_array:
    return sp.csr_array(X)
