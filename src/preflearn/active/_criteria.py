"""Choosing a batch: the posterior of utilities on the way, and the best candidate again and again.

Outcomes of chosen comparisons are not known yet, but how far they shrink uncertainty is. A comparison of difference d,
with variance v and covariances c = cov(f, d), changes the covariance of all utilities to

    C - J c c',   J = E[(log Z_y)'²]   (`preflearn.active.outcome_information.curvature`),

the expected posterior covariance after moment matching, and that after a Gaussian observation of precision
J / (1 - v J). Expected means stay. With U the columns √J c so far, pairs need only U, never a matrix over candidates.

A batch is built greedily: each pair is the best given that those before it will be answered. The information of a pair
falls with its variance, so gains of earlier steps are bounds for later ones: only pairs whose bound is above the best
new gain are evaluated again. (With ties the gain of a very uncertain pair may rise a little when its variance falls,
and that about the top k where the taste of a judge becomes known; the choice is then the best up to that.)

What is asked about may not be what is to be learned. An answer of judge a depends on z_a = d + h_a, and wanted is d,
what all share; nothing is to be learned of the effects of a judge or a cluster that was never seen before. Then

    I(y; d) = H(E[p(y | z)]) - E_d[H(E[p(y | z) | d])],   var(z | d) = v - cov(z, d)² / var(d).

It is at most cov(z, d)² / (v var(d)) times I(y; z), the share of z that d explains (d, z and y are a chain, and d and z
are normal), which is cheap and tells which candidates are worth evaluating.

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

from preflearn.active.outcome_information import curvature, information, link_of, partial_information
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
    """Mean and covariance of values, candidates, and how chosen candidates have shrunk their variances.

    Values are utilities of items, perhaps for several judges one after the other, or preferences between two items.
    A candidate asks about z = scale (value of first - value of second) + e, e ~ N(0, own) of no other candidate, and
    tells about the difference of two values, ``about``; None: the one that it asks about.
    """

    likelihood: Any
    mean: FloatArray
    covariance: FloatArray
    first: IntArray
    second: IntArray
    own: Any = 0.0  # (candidates,)
    scale: Any = 1.0  # (candidates,)
    about: tuple[IntArray, IntArray] | None = None
    difference: FloatArray = field(init=False)
    variance: FloatArray = field(init=False)
    shrunk: list[FloatArray] = field(init=False, default_factory=list)  # columns of U

    def __post_init__(self) -> None:
        n = self.first.shape[0]
        self.own, self.scale = np.broadcast_to(self.own, n), np.broadcast_to(self.scale, n)
        self.difference = self.scale * (self.mean[self.first] - self.mean[self.second])
        self.variance = self.scale**2 * self._variance(self.first, self.second) + self.own
        if self.about is not None:
            (a, b), (i, j), K = (self.first, self.second), self.about, self.covariance
            self._wanted = self._variance(i, j)
            self._shared = self.scale * (K[a, i] - K[a, j] - K[b, i] + K[b, j])

    def _variance(self, a: IntArray, b: IntArray) -> FloatArray:
        diagonal = self.covariance.diagonal()
        return np.maximum(diagonal[a] + diagonal[b] - 2.0 * self.covariance[a, b], 0.0)

    @property
    def items(self) -> tuple[IntArray, IntArray]:
        """The two items of each candidate."""
        return (self.first, self.second) if self.about is None else self.about

    @property
    def plain(self) -> bool:
        """Whether all that outcomes depend on is to be learned."""
        return self.about is None and not self.own.any()

    def residual(self) -> FloatArray:
        """Return the variance of what is asked about that is left given what is to be learned."""
        if self.about is None:
            return np.asarray(self.own)
        explained = np.square(self._shared) / np.maximum(self._wanted, np.finfo(np.float64).tiny)
        return np.asarray(np.clip(self.variance - explained, self.own, self.variance))

    def information(self, rows: IntArray | slice) -> FloatArray:
        """Return what outcomes of some candidates would tell about what is to be learned, in nats."""
        m, v = self.difference[rows], self.variance[rows]
        return partial_information(self.likelihood, m, v, self.residual()[rows])

    def bound(self) -> FloatArray:
        """Return an upper bound of the information of every candidate; the information itself of `plain` ones."""
        share = 1.0 - self.residual() / np.maximum(self.variance, np.finfo(np.float64).tiny)
        return np.asarray(share * information(self.likelihood, self.difference, self.variance))

    def probabilities(self, rows: IntArray, z: FloatArray) -> list[FloatArray]:
        """Return P(first) and, where there are ties, P(tie) of candidates given the values (candidates, draws) of z."""
        if not self.own[rows].any():
            return link_of(self.likelihood).probabilities(z)
        own: FloatArray = self.own[rows, None]
        p = self.likelihood.probability(z, own)
        return [p[..., 0], p[..., 1]] if 0.0 in self.likelihood.outcomes else [p[..., 0]]

    def direction(self, row: int) -> FloatArray:
        """Return the covariance (p,) of all values with what a candidate asks about."""
        a, b = self.first[row], self.second[row]
        c = self.covariance[:, a] - self.covariance[:, b]
        for u in self.shrunk:
            c = c - u * (u[a] - u[b])
        return np.asarray(self.scale[row] * c)

    def condition(self, row: int) -> tuple[FloatArray, float]:
        """Take a candidate as answered; return its direction c and J before that. O(p t + candidates) at step t."""
        c = self.direction(row)
        J = float(curvature(self.likelihood, self.difference[row : row + 1], self.variance[row : row + 1])[0])
        u = np.sqrt(J) * c
        self.shrunk.append(u)
        fall = self.scale * (u[self.first] - u[self.second])
        self.variance = np.maximum(self.variance - np.square(fall), self.own)
        if self.about is not None:
            of_wanted = u[self.about[0]] - u[self.about[1]]
            self._wanted = np.maximum(self._wanted - np.square(of_wanted), 0.0)
            self._shared = self._shared - fall * of_wanted
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
    """Information about all utilities, or about a part of what outcomes depend on."""

    def __init__(self, posterior: JointPosterior) -> None:
        super().__init__(posterior, posterior.bound())
        self.fresh[:] = posterior.plain

    def evaluate(self, rows: IntArray) -> FloatArray:
        """Return the gains of some candidates now."""
        return self.posterior.information(rows)

    def condition(self, row: int) -> None:
        """Take a candidate as answered."""
        super().condition(row)
        if not self.posterior.plain:  # what is learned of the rest may let gains rise
            self.gain = self.posterior.bound()


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
    """Draws of values, the first ``n_items`` of them utilities, and what outcomes tell about the top k of these."""

    def __init__(
        self, posterior: JointPosterior, k: int, n_draws: int, rng: np.random.Generator, n_items: int | None = None
    ) -> None:
        self.posterior, self.k = posterior, k
        self.n_items = posterior.mean.shape[0] if n_items is None else n_items
        self.f = draw_utilities(posterior.mean, posterior.covariance, n_draws, rng)
        self._find_cells()

    def _find_cells(self) -> None:
        self.inside = members(self.f[:, : self.n_items], self.k)
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
        posterior = self.posterior
        z = (posterior.scale[rows] * (self.f[:, posterior.first[rows]] - self.f[:, posterior.second[rows]])).T
        i, j = (side[rows] for side in posterior.items)
        n_codes = 4 * self.n_cells
        code = 4 * self.cell + 2 * self.inside[:, i].T + self.inside[:, j].T
        code = (code + n_codes * np.arange(rows.shape[0])[:, None]).ravel()

        def per_cell(values: FloatArray | None = None) -> FloatArray:
            total = np.bincount(code, None if values is None else values.ravel(), minlength=n_codes * rows.shape[0])
            return np.asarray(total.reshape(rows.shape[0], n_codes), dtype=np.float64)

        count = per_cell()
        likelihood = posterior.likelihood
        if likelihood.normal:
            return _of_margins(z, count, per_cell, likelihood.noise_deviation**2 + posterior.own[rows, None])
        gain = np.zeros(rows.shape[0])
        listed = posterior.probabilities(rows, z)
        for p in [*listed, 1.0 - np.sum(listed, axis=0)]:
            mean = per_cell(p) / np.maximum(count, 1.0)
            square = np.maximum(per_cell(p * p) - count * mean**2, 0.0) / np.maximum(count - 1.0, 1.0)
            # count times what the entropy of the cell's mean is low by
            missed = np.divide(square, 2.0 * mean, out=np.zeros_like(mean), where=mean > 0.0)
            gain += entr(p.mean(axis=1)) - (count * entr(mean) + missed).sum(axis=1) / z.shape[1]
        return np.maximum(gain, 0.0)

    def condition(self, row: int) -> None:
        """Take a candidate as answered: draws move towards their mean along its direction."""
        p = self.posterior
        z = p.scale[row] * (self.f[:, p.first[row]] - self.f[:, p.second[row]])
        d, v = p.difference[row], p.variance[row] - p.own[row]
        c, J = p.condition(row)
        # f - κ c (z - E z), z without what is its own, has covariance C - (2κ - κ² v) c c', which is C - J c c'
        kappa = J / (1.0 + np.sqrt(max(1.0 - v * J, 0.0)))
        self.f = self.f - np.outer(z - d, kappa * c)
        self._find_cells()


def _of_margins(
    z: FloatArray, count: FloatArray, per_cell: Callable[[FloatArray], FloatArray], noise: FloatArray
) -> FloatArray:
    z = z - z.mean(axis=1, keepdims=True)
    square = np.maximum(per_cell(z * z) - per_cell(z) ** 2 / np.maximum(count, 1.0), 0.0)
    # one draw says nothing about the variance in its cell, which is then taken to be that of all
    within = np.where(count > 1, square / np.maximum(count - 1.0, 1.0), z.var(axis=1, keepdims=True))
    given = (count * np.log(within + noise)).sum(axis=1) / z.shape[1]
    return np.asarray(np.maximum(0.5 * (np.log(z.var(axis=1) + noise[:, 0]) - given), 0.0))


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
            first, second = posterior.items
            doubt = draws.doubt[first] + draws.doubt[second]
            rows = np.sort(np.argpartition(-posterior.bound() * doubt, _FULL)[:_FULL])
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
