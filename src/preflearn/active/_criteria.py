"""Choosing a batch: the posterior of utilities on the way, and the best candidate again and again.

Outcomes of chosen comparisons are not known yet, but how far they shrink uncertainty is. A comparison of difference d,
with variance v and covariances c = cov(f, d), changes the covariance of all utilities to

    C - J c c',   J = E[(log Z_y)'²]   (`preflearn.active._outcome_information.curvature`),

the expected posterior covariance after moment matching, and that after a Gaussian observation of precision
J / (1 - v J). Expected means stay. With U the columns √J c so far, pairs need only U, never a matrix over candidates.

A batch is built greedily: each pair is the best given that those before it will be answered. The information of a pair
falls with its variance, so gains of earlier steps are bounds for later ones: only pairs whose bound is above the best
new gain are evaluated again. (With ties the gain of a very uncertain pair may rise a little when its variance falls;
the choice is then the best up to that.)

About the top k: draws f_s from the joint posterior give sets T_s, the k items of highest utility. For a pair (i, j) let
B be some items and τ the part of T inside B ∪ {i, j}. Then

    I(y; τ) = H(E[p(y | z)]) - Σ_t P(τ = t) H(E[p(y | z) | τ = t]),   z = f_i - f_j,

with expectations over the draws and p(y | z) from the likelihood, so that no outcome is drawn. As τ is a function of T
and T one of f,  I(y; τ) <= I(y; T) <= I(y; f). B holds the items whose membership is least certain, as many as leave at
least 64 draws per value of T ∩ B on average; if all items whose membership is uncertain fit in, I(y; τ) = I(y; T).

The entropy of a mean of n draws is too low by about Σ_y Var[p_y] / (2 n p_y), which is added back. For Gaussian margins
entropies given τ are those of normals with the same variance, which have the most entropy, so that I is a lower bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from preflearn.active._outcome_information import curvature, information, link_of
from preflearn.linalg import cholesky_pivoted
from preflearn.operators import FloatArray, IntArray

# Gains that differ by less than this share are equal, so that rounding does not choose; the first candidate wins.
_EQUAL = 1e-9
_DRAWS_PER_CELL = 64
# Candidates that are evaluated in full; of more, those that promise most by a cheaper measure.
_FULL = 2048
# Elements of one block of draws.
_BLOCK = 1 << 20


@dataclass
class JointPosterior:
    """Mean and covariance of utilities, candidate pairs, and how chosen pairs have shrunk their variances."""

    likelihood: Any
    mean: FloatArray
    covariance: FloatArray
    first: IntArray
    second: IntArray
    difference: FloatArray = field(init=False)
    variance: FloatArray = field(init=False)
    shrunk: list[FloatArray] = field(init=False, default_factory=list)  # columns of U

    def __post_init__(self) -> None:
        diagonal = self.covariance.diagonal()
        self.difference = self.mean[self.first] - self.mean[self.second]
        shared = self.covariance[self.first, self.second]
        self.variance = np.maximum(diagonal[self.first] + diagonal[self.second] - 2.0 * shared, 0.0)

    def information(self, rows: IntArray | slice) -> FloatArray:
        """Return what outcomes of some candidates would tell about utilities, in nats."""
        return information(self.likelihood, self.difference[rows], self.variance[rows])

    def direction(self, row: int) -> FloatArray:
        """Return the covariance (p,) of all utilities with the difference of a candidate."""
        a, b = self.first[row], self.second[row]
        c = self.covariance[:, a] - self.covariance[:, b]
        for u in self.shrunk:
            c = c - u * (u[a] - u[b])
        return np.asarray(c)

    def condition(self, row: int) -> tuple[FloatArray, float]:
        """Take a candidate as answered; return its direction c and J before that. O(p t + candidates) at step t."""
        c = self.direction(row)
        J = float(curvature(self.likelihood, self.difference[row : row + 1], self.variance[row : row + 1])[0])
        u = np.sqrt(J) * c
        self.shrunk.append(u)
        self.variance = np.maximum(self.variance - np.square(u[self.first] - u[self.second]), 0.0)
        return c, J


def highest(gain: FloatArray) -> int:
    """Return the first of the highest gains, up to rounding."""
    return int(np.flatnonzero(gain >= gain.max() * (1.0 - _EQUAL))[0])


class Criterion(ABC):
    """Gains of candidates, evaluated when they are needed."""

    block = 512

    def __init__(self, posterior: JointPosterior, gain: FloatArray) -> None:
        self.posterior = posterior
        self.gain = gain
        self.fresh = np.ones(gain.shape[0], dtype=bool)

    @abstractmethod
    def evaluate(self, rows: IntArray) -> FloatArray:
        """Return the gains of some candidates now."""

    def best(self, alive: NDArray[np.bool_]) -> tuple[int, float] | None:
        """Return the best candidate that is alive and its gain, or None where none is alive."""
        if not alive.any():
            return None
        while True:
            bound = np.where(alive, self.gain, -np.inf)
            stale = alive & ~self.fresh
            reached = np.where(self.fresh, bound, -np.inf).max()
            todo = np.flatnonzero(stale & (bound >= reached * (1.0 - _EQUAL)))
            if not todo.size:
                row = highest(bound)
                return row, float(self.gain[row])
            if todo.size > self.block:
                todo = np.sort(todo[np.argpartition(-bound[todo], self.block)[: self.block]])
            self.gain[todo] = self.evaluate(todo)
            self.fresh[todo] = True

    def condition(self, row: int) -> None:
        """Take a candidate as answered."""
        self.posterior.condition(row)
        self.fresh[:] = False


class Utilities(Criterion):
    """Information about all utilities."""

    def __init__(self, posterior: JointPosterior) -> None:
        super().__init__(posterior, posterior.information(slice(None)))

    def evaluate(self, rows: IntArray) -> FloatArray:
        """Return the gains of some candidates now."""
        return self.posterior.information(rows)


def draw_utilities(mean: FloatArray, covariance: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Return draws (n_draws, p) of a normal distribution; each comes with its mirror image in the mean."""
    L, order = cholesky_pivoted(covariance)
    noise = rng.standard_normal(((n_draws + 1) // 2, L.shape[1]))
    draws = np.empty((n_draws, mean.shape[0]))
    draws[:, order] = np.concatenate([noise, -noise])[:n_draws] @ L.T
    return np.asarray(draws + mean)


def members(f: FloatArray, k: int) -> NDArray[np.bool_]:
    """Return which items are among the k highest, for rows of utilities (s, p)."""
    inside = np.zeros(f.shape, dtype=bool)
    np.put_along_axis(inside, np.argpartition(-f, k - 1, axis=1)[:, :k], True, axis=1)
    return inside


class Draws:
    """Draws of utilities, and what outcomes tell about the top k."""

    def __init__(self, posterior: JointPosterior, k: int, n_draws: int, rng: np.random.Generator) -> None:
        self.posterior, self.k = posterior, k
        self.f = draw_utilities(posterior.mean, posterior.covariance, n_draws, rng)
        self._find_cells()

    def _find_cells(self) -> None:
        self.inside = members(self.f, self.k)
        share = self.inside.mean(axis=0)
        self.doubt = entr(share) + entr(1.0 - share)
        cell, n_cells = np.zeros(self.f.shape[0], dtype=np.int64), 1
        doubtful = np.flatnonzero(self.doubt)
        for item in doubtful[np.argsort(-self.doubt[doubtful], kind="stable")]:
            values, finer = np.unique(2 * cell + self.inside[:, item], return_inverse=True)
            if values.size * _DRAWS_PER_CELL > self.f.shape[0]:
                break
            cell, n_cells = finer, values.size
        self.cell, self.n_cells = cell, n_cells

    def information(self, rows: IntArray) -> FloatArray:
        """Return I(y; τ) of some candidates; O(draws) each."""
        step = max(1, _BLOCK // self.f.shape[0])
        parts = [self._information(rows[i : i + step]) for i in range(0, rows.shape[0], step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _information(self, rows: IntArray) -> FloatArray:
        i, j = self.posterior.first[rows], self.posterior.second[rows]
        z = (self.f[:, i] - self.f[:, j]).T
        n_codes = 4 * self.n_cells
        code = 4 * self.cell + 2 * self.inside[:, i].T + self.inside[:, j].T
        code = (code + n_codes * np.arange(rows.shape[0])[:, None]).ravel()

        def per_cell(values: FloatArray | None = None) -> FloatArray:
            total = np.bincount(code, None if values is None else values.ravel(), minlength=n_codes * rows.shape[0])
            return np.asarray(total.reshape(rows.shape[0], n_codes), dtype=np.float64)

        count = per_cell()
        likelihood = self.posterior.likelihood
        if likelihood.normal:
            return _of_margins(z, count, per_cell, likelihood.noise_deviation**2)
        gain = np.zeros(rows.shape[0])
        listed = link_of(likelihood).probabilities(z)
        for p in [*listed, 1.0 - np.sum(listed, axis=0)]:
            mean = per_cell(p) / np.maximum(count, 1.0)
            square = np.maximum(per_cell(p * p) - count * mean**2, 0.0) / np.maximum(count - 1.0, 1.0)
            # count times what the entropy of the cell's mean is low by
            missed = np.divide(square, 2.0 * mean, out=np.zeros_like(mean), where=mean > 0.0)
            gain += entr(p.mean(axis=1)) - (count * entr(mean) + missed).sum(axis=1) / z.shape[1]
        return np.maximum(gain, 0.0)

    def condition(self, row: int) -> None:
        """Take a candidate as answered: draws move towards their mean along its direction."""
        i, j = self.posterior.first[row], self.posterior.second[row]
        d, v = self.posterior.difference[row], self.posterior.variance[row]
        c, J = self.posterior.condition(row)
        # f - κ c (z - E z) has covariance C - (2κ - κ² v) c c', which is C - J c c'
        kappa = J / (1.0 + np.sqrt(max(1.0 - v * J, 0.0)))
        self.f = self.f - np.outer(self.f[:, i] - self.f[:, j] - d, kappa * c)
        self._find_cells()


def _of_margins(
    z: FloatArray, count: FloatArray, per_cell: Callable[[FloatArray], FloatArray], noise: float
) -> FloatArray:
    z = z - z.mean(axis=1, keepdims=True)
    square = np.maximum(per_cell(z * z) - per_cell(z) ** 2 / np.maximum(count, 1.0), 0.0)
    # one draw says nothing about the variance in its cell, which is then taken to be that of all
    within = np.where(count > 1, square / np.maximum(count - 1.0, 1.0), z.var(axis=1, keepdims=True))
    given = (count * np.log(within + noise)).sum(axis=1) / z.shape[1]
    return np.asarray(np.maximum(0.5 * (np.log(z.var(axis=1) + noise) - given), 0.0))


class TopK(Criterion):
    """Information about which k items have the highest utilities."""

    block = 128

    def __init__(self, draws: Draws) -> None:
        self.draws = draws
        posterior = draws.posterior
        gain = np.zeros(posterior.first.shape[0])
        rows = np.arange(gain.shape[0])
        if rows.size > _FULL:
            # No outcome tells more than it does about f, and little if the membership of both items is certain.
            doubt = draws.doubt[posterior.first] + draws.doubt[posterior.second]
            rows = np.sort(np.argpartition(-posterior.information(slice(None)) * doubt, _FULL)[:_FULL])
        gain[rows] = draws.information(rows)
        super().__init__(posterior, gain)

    def evaluate(self, rows: IntArray) -> FloatArray:
        """Return the gains of some candidates now."""
        return self.draws.information(rows)

    def condition(self, row: int) -> None:
        """Take a candidate as answered."""
        self.draws.condition(row)
        self.fresh[:] = False


class OneOfMixture(Utilities):
    """Information about all utilities and hyperparameters, by the mixture: for one choice."""

    def __init__(self, posterior: JointPosterior, evaluate_mixture: Callable[[IntArray], FloatArray]) -> None:
        super().__init__(posterior)
        self.evaluate_mixture = evaluate_mixture

    def best(self, alive: NDArray[np.bool_]) -> tuple[int, float] | None:
        """Return the best candidate that is alive and its gain, or None where none is alive."""
        if not alive.any():
            return None
        rows = np.flatnonzero(alive)
        if rows.size > _FULL:
            rows = np.sort(rows[np.argpartition(-self.gain[rows], _FULL)[:_FULL]])
        gain = self.evaluate_mixture(rows)
        place = highest(gain)
        return int(rows[place]), float(gain[place])
