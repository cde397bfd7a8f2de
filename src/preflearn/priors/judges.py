"""Gaussian processes of many judges: what all share, and what is each one's own.

    g_a = g + h_a,        cov(g_a, g_b) = K · J(a, b),        J(a, b) = 1 + ρ [a = b] + κ(x_a, x_b),

K the covariance of items or pairs, ρ the variance of a judge's own preferences in units of the population's, κ a kernel
between features of judges, if they have any. Without features judges are independent given g, and inference eliminates
them one by one; with features the latents are what each judge was asked about, all together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from preflearn.kernels import gram, gram_and_pullback, gram_diag
from preflearn.priors.items import ItemPrior
from preflearn.priors.pairs import PairPrior

__all__ = ["POPULATION", "UNKNOWN", "Asked", "JudgeKernelPrior", "JudgePrior"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

POPULATION, UNKNOWN = -1, -2  # in place of a judge's number: g itself, and g + h of a judge never heard before


class Asked(NamedTuple):
    """Who is asked: numbers of judges of training, `POPULATION`, `UNKNOWN`, or n_judges + a row of ``X``."""

    number: IntArray
    X: Any = None


@dataclass(frozen=True)
class JudgePrior:
    """Judges without features. ``theta`` are the parameters of the population's prior, then the share ρ.

    ``build`` makes a factor of the covariance of all latents from K and ρ; its sensitivity is that to K and to log ρ.
    """

    base: ItemPrior | PairPrior
    share: Any  # ConstantKernel
    n_judges: int
    build: Callable[[FloatArray, float], Any]

    @property
    def theta(self) -> FloatArray:
        """Free parameters."""
        return np.concatenate([self.base.theta, self.share.theta])

    @property
    def bounds(self) -> FloatArray:
        """Bounds of the free parameters, (n_theta, 2)."""
        return np.concatenate([self.base.bounds, np.reshape(self.share.bounds, (-1, 2))]).astype(np.float64)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        return (*self.base.names, *(("judge share",) if self.share.theta.shape[0] else ()))

    def with_theta(self, theta: FloatArray) -> JudgePrior:
        """Return the same prior at other parameters."""
        n = self.base.theta.shape[0]
        return replace(self, base=self.base.with_theta(theta[:n]), share=self.share.clone_with_theta(theta[n:]))

    def factor(self) -> tuple[Any, Callable[[tuple[FloatArray, float]], FloatArray]]:
        """Return the factor of the covariance of all latents and the pullback of its sensitivity."""
        K, pull = self.base.gram()
        free = self.share.theta.shape[0]

        def pullback(sensitivity: tuple[FloatArray, float]) -> FloatArray:
            M, of_share = sensitivity
            return np.concatenate([pull(M), np.full(free, of_share)])

        return self.build(K, float(self.share.constant_value)), pullback


@dataclass(frozen=True)
class JudgeKernelPrior:
    """Judges with features. Latents are what each judge was asked about: ``latent`` of the base, by ``judge``."""

    base: ItemPrior | PairPrior
    share: Any  # ConstantKernel
    kernel_judges: Any
    X: Any  # features of the judges, (n_judges, d)
    latent: IntArray
    judge: IntArray

    @property
    def n_judges(self) -> int:
        """Number of judges."""
        return int(self.X.shape[0])

    @property
    def theta(self) -> FloatArray:
        """Free parameters: of the population's prior, the share ρ, then those of the judges' kernel."""
        return np.concatenate([self.base.theta, self.share.theta, self.kernel_judges.theta])

    @property
    def bounds(self) -> FloatArray:
        """Bounds of the free parameters, (n_theta, 2)."""
        parts = [np.reshape(part.bounds, (-1, 2)) for part in (self.base, self.share, self.kernel_judges)]
        return np.concatenate(parts).astype(np.float64)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        features = ItemPrior(self.X, self.kernel_judges, None, self.n_judges).names
        share = ("judge share",) if self.share.theta.shape[0] else ()
        return (*self.base.names, *share, *(f"judge {name}" for name in features))

    def with_theta(self, theta: FloatArray) -> JudgeKernelPrior:
        """Return the same prior at other parameters."""
        ends = np.cumsum([self.base.theta.shape[0], self.share.theta.shape[0]])
        base, share, judges = np.split(theta, ends)
        return replace(
            self,
            base=self.base.with_theta(base),
            share=self.share.clone_with_theta(share),
            kernel_judges=self.kernel_judges.clone_with_theta(judges),
        )

    def gram(self) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Return the covariance (N, N) of the latents and its pullback N -> <N, dK/dtheta>."""
        K, pull = self.base.gram()
        J, pull_judges = gram_and_pullback(self.kernel_judges, self.X)
        own = float(self.share.constant_value)
        J += 1.0
        J.flat[:: self.n_judges + 1] += own
        wide, of_judges = K[np.ix_(self.latent, self.latent)], J[np.ix_(self.judge, self.judge)]

        def pullback(M: FloatArray) -> FloatArray:
            to_judges = _sums(M * wide, self.judge, self.n_judges)
            of_share = np.full(self.share.theta.shape[0], own * np.trace(to_judges))
            of_base = pull(_sums(M * of_judges, self.latent, K.shape[0]))
            return np.concatenate([of_base, of_share, pull_judges(to_judges)])

        return wide * of_judges, pullback

    def cross(self, Q: FloatArray, asked: Asked) -> FloatArray:
        """Return the covariance (p, N) with the latents of new values whose population part has covariance Q (p, n)."""
        return np.asarray(Q[:, self.latent] * self.similarity(asked)[:, self.judge])

    def similarity(self, asked: Asked) -> FloatArray:
        """Return J (p, n_judges) between those who are asked and the judges of training."""
        number, n = asked.number, self.n_judges
        J = np.ones((number.shape[0], n))
        known = np.flatnonzero((number >= 0) & (number < n))
        J[known] += gram(self.kernel_judges, self.X[number[known]], self.X)
        J[known, number[known]] += float(self.share.constant_value)
        new = np.flatnonzero(number >= n)
        if new.shape[0]:
            J[new] += gram(self.kernel_judges, asked.X[number[new] - n], self.X)
        return J

    def self_similarity(self, asked: Asked) -> FloatArray:
        """Return J (p,) of each of those who are asked with itself; of an unknown one as of the average judge."""
        number, n = asked.number, self.n_judges
        own, known = float(self.share.constant_value), np.asarray(gram_diag(self.kernel_judges, self.X))
        J = np.where(number == POPULATION, 1.0, 1.0 + own)
        J[number == UNKNOWN] += known.mean()
        seen = (number >= 0) & (number < n)
        J[seen] += known[number[seen]]
        new = number >= n
        if new.any():
            J[new] += np.asarray(gram_diag(self.kernel_judges, asked.X[number[new] - n]))
        return J


def _sums(M: FloatArray, place: IntArray, size: int) -> FloatArray:
    """Return the sums (size, size) of the entries of M whose rows and columns fall on the same places."""
    E = sp.csr_array((np.ones(place.shape[0]), place, np.arange(place.shape[0] + 1)), shape=(place.shape[0], size))
    return np.asarray(E.T @ (E.T @ M).T).T
