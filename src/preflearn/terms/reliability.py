"""How much each judge's answers depend on the items: z = s_judge x.

A reliability of 1 is that of the judges whom the scale of utilities is made for; near 0 somebody answers by chance, and
below 0 the contrary of what others see. It multiplies the sum of all other terms. Before anybody has answered most
judges are believed to be careful, and a few careless or contrary: a mixture of normal distributions around 1, 0 and -1.
(One around 1 alone would rather have all utilities large and all reliabilities small than a few that are negative.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from preflearn.terms._contract import Asked, FloatArray, Given, IntArray, Items, Own, Parameters, Rows, Seen

__all__ = ["Reliability", "ReliabilityError"]

# Careful, careless and contrary judges: their reliability, and the share of each that is expected at first.
CENTRES, SHARES = np.array([1.0, 0.0, -1.0]), np.array([0.8, 0.1, 0.1])


@dataclass(frozen=True)
class Reliability:
    """s of every judge; outcomes of nobody in particular (judge -1) have 1."""

    judge: IntArray  # (m,): of each outcome
    value: FloatArray  # (n_judges,)
    deviation: float

    @property
    def scale(self) -> FloatArray:
        """The reliability behind every outcome."""
        return np.asarray(np.append(self.value, 1.0)[self.judge])

    def at(self, value: FloatArray) -> Reliability:
        """Return other reliabilities of the same judges."""
        return replace(self, value=value)

    def log_prior(self) -> tuple[float, FloatArray]:
        """Return the logarithm of the prior's density, but for a constant, and its gradient."""
        away = (self.value[:, None] - CENTRES) / self.deviation
        parts = np.log(SHARES) - 0.5 * away**2
        total = logsumexp(parts, axis=1)
        share = np.exp(parts - total[:, None])
        return float(total.sum()), -np.asarray((share * away).sum(axis=1)) / self.deviation

    def pull(self, by_scale: FloatArray) -> FloatArray:
        """Return derivatives by the reliabilities from those by the s of every outcome."""
        n = self.value.shape[0]
        return np.asarray(np.bincount(np.where(self.judge < 0, n, self.judge), by_scale, minlength=n + 1)[:n])


@dataclass(frozen=True)
class ReliabilityError:
    """What is not known of reliabilities, to first order: z = s x + (x at s) δ_judge, δ ~ N(0, deviation²).

    A term like others, for the posterior at learned reliabilities: what is believed of items is then as uncertain as
    their judges are.
    """

    x: FloatArray  # (m,): what each row sees at the learned reliabilities
    judge: IntArray  # (m,): -1 for nobody in particular
    deviation: float

    @property
    def parameters(self) -> Parameters:
        """None is free."""
        return Parameters.none()

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of."""
        return {"reliability": self}

    def with_theta(self, theta: FloatArray) -> ReliabilityError:
        """Return the same term."""
        return self

    def seen(self, rows: Rows) -> Seen:
        """Return x, in the row's judge."""
        known = np.where(self.judge < 0, 0.0, self.x)
        return Seen(None, sp.csr_array(known[:, None]), np.maximum(self.judge, 0), "judge")

    def prior(self) -> Given:
        """Return the variance of every judge."""
        variance = self.deviation**2
        return Given(None, lambda sets: np.full((*sets.shape, 1), variance), lambda M, own: np.zeros(0))

    def ask(self, rows: Rows) -> Asked:
        """Return nothing: answers are about judges of known reliability."""
        return Asked(None, None, np.zeros(len(rows)))

    def about(self, n_judges: int) -> Own:
        """Return the question for δ of every judge."""
        judges = np.arange(n_judges)
        return Own(judges, judges, np.full((n_judges, 1), self.deviation**2))

    def means(self, items: Items, a: FloatArray) -> float:
        """Return nothing: the term is not about items."""
        return 0.0

    def covariance(self, rows: Rows) -> FloatArray:
        """Return zero."""
        return np.zeros((len(rows), len(rows)))
