"""Judges who differ: what all share, and what is each one's own.

    g_a = g + h_a,        cov(g_a, g_b) = K · J(a, b),        J(a, b) = 1 + ρ [a = b] + κ(x_a, x_b),

g the preferences of the population, a term with covariance K; ρ the variance of a judge's own preferences in units of
the population's; κ a kernel between features of judges, if they have any. Without features judges are independent given
g, groups of their own latents (`Tastes`); with features the latents are what each judge was asked about, all together
(`TastesByFeatures`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from preflearn.kernels import gram, gram_and_pullback, gram_diag
from preflearn.terms import (
    POPULATION,
    UNKNOWN,
    Asked,
    Combined,
    FloatArray,
    Given,
    IntArray,
    Items,
    Own,
    Parameters,
    Products,
    Rows,
    Seen,
    Slopes,
    Term,
    Who,
    constant_parameters,
    kernel_parameters,
    scatter,
)


@dataclass(frozen=True)
class OfJudges(Term):
    """Preferences of a population, and of each judge beside them."""

    base: Term  # of the population, without groups
    share: Any  # ConstantKernel: ρ

    @property
    def learned(self) -> dict[str, Parameters]:
        """The population, then ρ."""
        return {"base": self.base.parameters, "share": constant_parameters(self.share, "judge share", "share")}

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of."""
        return {**self.base.parts, "tastes": self}

    @property
    def rho(self) -> float:
        """Variance of a judge's own preferences in units of the population's."""
        return float(self.share.constant_value)

    @property
    def similarity(self) -> float:
        """Prior variance of a judge's preferences in units of the population's, over the judges."""
        return float(self._self_similarity(Who(np.array([UNKNOWN])))[0])

    def _self_similarity(self, who: Who) -> FloatArray:
        """Return J (p,) of each of those who are asked with itself."""
        return np.where(who.number == POPULATION, 1.0, 1.0 + self.rho)

    def covariance(self, rows: Rows) -> FloatArray:
        """Return the prior covariance of rows, of the same judge or of several."""
        G = self.base.covariance(rows)
        if rows.who is None or not len(rows):
            return G
        number, place = np.unique(rows.who.number, return_inverse=True)
        J = self._between(Who(number, rows.who.X))
        return np.asarray(G * (J[0, 0] if len(number) == 1 else J[place[:, None], place]))

    def _between(self, who: Who) -> FloatArray:
        """Return J (p, p) between distinct judges; of strangers with the same number as of one person."""
        J = np.ones((len(who.number), len(who.number)))
        np.fill_diagonal(J, self._self_similarity(who))
        return J


@dataclass(frozen=True)
class Tastes(OfJudges):
    """h_a ~ N(0, ρ K) over what each judge was asked."""

    n_judges: int
    kernel: ClassVar[Any] = None  # between judges

    def seen(self, rows: Rows) -> Seen:
        """Return the same of the judge's own latents as of the population's."""
        seen = self.base.seen(rows)
        assert rows.who is not None
        return seen._replace(own=seen.shared, group=rows.who.number, family="judge", alike=False)

    def prior(self) -> Given:
        """Return K, and ρ K within each judge."""
        given, rho, free = self.base.prior(), self.rho, self.share.theta.shape[0]
        if isinstance(given.K, Products):
            return self._of_functions(given, given.K)
        given = given.in_full()
        K: Any = given.K

        def block(sets: IntArray) -> FloatArray:
            return np.asarray(rho * K[sets[:, :, None], sets[:, None, :]])

        def pull(M: FloatArray, own: list[tuple[IntArray, FloatArray]]) -> FloatArray:
            of_judges = rho * scatter(own, K.shape[0])
            return np.concatenate([given.pull(M + of_judges, []), np.full(free, float(np.sum(of_judges * K)))])

        return Given(K, block, pull)

    def _of_functions(self, given: Given, K: Products) -> Given:
        """Return the same for sums of functions, without K."""
        F, rho, free = K.F, self.rho, self.share.theta.shape[0]

        def block(sets: IntArray) -> FloatArray:
            return np.asarray(F[sets] @ np.swapaxes(F[sets], 1, 2) + K.own * np.eye(sets.shape[1]))

        def pull(of: Slopes, own: list[tuple[IntArray, FloatArray]]) -> FloatArray:
            by_F, by_own, by_share = np.zeros_like(F), 0.0, 0.0
            for what, S in own:
                for kinds, one in zip(what, S, strict=True):
                    by_F[kinds] += (one + one.T) @ F[kinds]
                by_own += float(np.einsum("gkk->", S))
            # <S, K> = ½ <dK-slopes by F, F> + own tr S
            by_share = 0.5 * float(np.vdot(by_F, F)) + K.own * by_own
            total = Slopes(of.F + rho * by_F, of.own + rho * by_own)
            return np.concatenate([given.pull(total, []), np.full(free, rho * by_share)])

        return Given(K, lambda sets: rho * block(sets), pull)

    def ask(self, rows: Rows) -> Asked:
        """Return covariances with the population's latents and with those of the judges who are asked."""
        asked = self.base.ask(rows)
        if rows.who is None or asked.shared is None:
            return asked
        number, variance = rows.who.number, asked.variance * self._self_similarity(rows.who)
        if not (number >= 0).any():
            return Asked(asked.shared, None, variance)
        cross = self.rho * asked.shared.covariances().whole
        own = Own(np.arange(len(rows)), np.where(number < self.n_judges, number, UNKNOWN), cross)
        return Asked(asked.shared, own, variance)

    def means(self, items: Items, a: FloatArray) -> FloatArray | float:
        """Return the means of the population."""
        return self.base.means(items, a)


@dataclass(frozen=True)
class TastesByFeatures(OfJudges):
    """Preferences of judges with features, all together: latents are what each judge was asked about."""

    kernel: Any  # κ
    X: Any  # features of the judges, (n_judges, d)
    latent: IntArray  # (N,): which latent of the base each one belongs to
    judge: IntArray  # (N,): and whose it is

    @property
    def n_judges(self) -> int:
        """Number of judges."""
        return int(self.X.shape[0])

    @property
    def learned(self) -> dict[str, Parameters]:
        """The population, ρ, then κ."""
        return {**super().learned, "kernel": kernel_parameters(self.kernel).named("judge ")}

    def seen(self, rows: Rows) -> Seen:
        """Return what rows see of the latents of their judges."""
        A = sp.csr_array(self.base.seen(rows).shared)
        assert rows.who is not None
        n = A.shape[1]
        row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        order = np.argsort(self.judge * n + self.latent, kind="stable")
        known = (self.judge * n + self.latent)[order]
        place = order[np.searchsorted(known, rows.who.number[row] * n + A.indices)]
        return Seen(sp.csr_array((A.data, place, A.indptr), shape=(A.shape[0], len(self.latent))), family="judge")

    def prior(self) -> Given:
        """Return K ∘ J over the latents."""
        given = self.base.prior().in_full()
        K: Any = given.K
        J, pull_judges = gram_and_pullback(self.kernel, self.X)
        rho = self.rho
        J += 1.0
        J.flat[:: self.n_judges + 1] += rho
        wide, of_judges = K[np.ix_(self.latent, self.latent)], J[np.ix_(self.judge, self.judge)]

        def pull(M: FloatArray, own: Any) -> FloatArray:
            to_judges = _sums(M * wide, self.judge, self.n_judges)
            of_share = np.full(self.share.theta.shape[0], rho * np.trace(to_judges))
            of_base = given.pull(_sums(M * of_judges, self.latent, K.shape[0]), [])
            return np.concatenate([of_base, of_share, pull_judges(to_judges)])

        return Given(wide * of_judges, None, pull)

    def ask(self, rows: Rows) -> Asked:
        """Return covariances with the latents of all judges."""
        asked = self.base.ask(rows)
        assert asked.shared is not None
        who = Who(np.full(len(rows), POPULATION)) if rows.who is None else rows.who
        Q = asked.shared.covariances().whole[:, self.latent] * self._similarities(who)[:, self.judge]
        return Asked(Combined(Q), None, asked.variance * self._self_similarity(who))

    def means(self, items: Items, a: FloatArray) -> FloatArray | float:
        """Return the means of the population, which all judges are alike to."""
        n = int(self.latent.max(initial=-1)) + 1
        return self.base.means(items, np.asarray(np.bincount(self.latent, a, minlength=n), dtype=np.float64))

    def _features(self, who: Who) -> tuple[IntArray, Any]:
        """Return which of those who are asked have features, and these."""
        known = np.flatnonzero(who.number >= 0)
        every = self.X if who.X is None else np.concatenate([self.X, who.X])
        return known, every[who.number[known]]

    def _similarities(self, who: Who) -> FloatArray:
        """Return J (p, n_judges) between those who are asked and the judges of training."""
        J = np.ones((len(who.number), self.n_judges))
        known, X = self._features(who)
        J[known] += gram(self.kernel, X, self.X)
        trained = known[who.number[known] < self.n_judges]
        J[trained, who.number[trained]] += self.rho
        return J

    def _between(self, who: Who) -> FloatArray:
        """Return J (p, p) between distinct judges, whose features are known for all but strangers."""
        J = np.ones((len(who.number), len(who.number)))
        known, X = self._features(who)
        J[np.ix_(known, known)] += gram(self.kernel, X)
        np.fill_diagonal(J, self._self_similarity(who))
        return J

    def _self_similarity(self, who: Who) -> FloatArray:
        """Return J (p,) of each of those who are asked with itself; of an unknown one as of the average judge."""
        J = super()._self_similarity(who)
        J[who.number == UNKNOWN] += np.mean(gram_diag(self.kernel, self.X))
        known, X = self._features(who)
        J[known] += np.asarray(gram_diag(self.kernel, X))
        return J


def _sums(M: FloatArray, place: IntArray, size: int) -> FloatArray:
    """Return the sums (size, size) of the entries of M whose rows and columns fall on the same places."""
    E = sp.csr_array((np.ones(place.shape[0]), place, np.arange(place.shape[0] + 1)), shape=(place.shape[0], size))
    return np.asarray(E.T @ (E.T @ M).T).T
