"""An advantage of the first side: home, white, the left picture, the answer that is read first.

    x = β + b_judge  on the first side,  -(β + b_judge) on the second,

β one number, and if wanted one more for each judge. Answers are about neither side unless they ask for one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.terms._contract import (
    POPULATION,
    Asked,
    Direct,
    FloatArray,
    Given,
    Items,
    Multiple,
    Own,
    Parameters,
    Rows,
    Seen,
    constant_parameters,
)

__all__ = ["Side"]


@dataclass(frozen=True)
class Side:
    """β with variance ``variance``, and b of each judge with variance ``of_judges`` (ConstantKernels, or None)."""

    variance: Any
    of_judges: Any = None

    @property
    def parameters(self) -> Parameters:
        """Both variances, if they are free."""
        parts = [constant_parameters(self.variance, "side variance")]
        if self.of_judges is not None:
            parts.append(constant_parameters(self.of_judges, "judge side variance"))
        return Parameters.joined(parts)

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of."""
        return {"side": self}

    def with_theta(self, theta: FloatArray) -> Side:
        """Return the same term at other parameters."""
        n = self.variance.theta.shape[0]
        of_judges = None if self.of_judges is None else self.of_judges.clone_with_theta(theta[n:])
        return replace(self, variance=self.variance.clone_with_theta(theta[:n]), of_judges=of_judges)

    def seen(self, rows: Rows) -> Seen:
        """Return which side the lower item of each row stood on."""
        assert rows.side is not None
        column = rows.side[:, None]
        if self.of_judges is None:
            return Seen(column, alike=True)
        assert rows.who is not None
        return Seen(column, sp.csr_array(column), rows.who.number, "judge")

    def prior(self) -> Given:
        """Return the variances."""
        v, free = float(self.variance.constant_value), self.variance.theta.shape[0]
        if self.of_judges is None:
            return Given(Multiple(v, 1), None, lambda trace, own: np.full(free, v * trace))
        w, more = float(self.of_judges.constant_value), self.of_judges.theta.shape[0]

        def pull(M: FloatArray, own: Any) -> FloatArray:
            of_judges = w * sum(float(S.sum()) for _, S in own)
            return np.concatenate([np.full(free, v * float(M[0, 0])), np.full(more, of_judges)])

        return Given(np.full((1, 1), v), lambda sets: np.full((*sets.shape, 1), w), pull)

    def ask(self, rows: Rows) -> Asked:
        """Return covariances with β and b, for rows that ask for a side."""
        if rows.side is None:
            return Asked(None, None, np.zeros(len(rows)))
        direct = Direct(None, rows.side[:, None], None, float(self.variance.constant_value))
        if self.of_judges is None:
            return Asked(direct, None, direct.total)
        variance, own = direct.total, None
        if rows.who is not None:
            w = float(self.of_judges.constant_value)
            variance += np.where(rows.who.number == POPULATION, 0.0, w)
            own = Own(np.arange(len(rows)), rows.who.number, w * rows.side[:, None])
        return Asked(direct.in_full(), own, variance)

    def means(self, items: Items, a: FloatArray) -> float:
        """Return nothing: the term is not about items."""
        return 0.0

    def covariance(self, rows: Rows) -> FloatArray:
        """Return the prior covariance of rows of the population."""
        if rows.side is None:
            return np.zeros((len(rows), len(rows)))
        return float(self.variance.constant_value) * np.outer(rows.side, rows.side)
