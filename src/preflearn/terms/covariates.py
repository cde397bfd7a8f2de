"""Numbers of the row: differences in length, style or rest days, whose effects are learned and held equal in ranks.

x = Σ_c b_c x_c,    b_c ~ N(0, v) for columns in units of their own size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preflearn.terms._contract import (
    Asked,
    Direct,
    FloatArray,
    Given,
    Items,
    Multiple,
    Parameters,
    Rows,
    Seen,
    constant_parameters,
)

__all__ = ["Covariates"]


@dataclass(frozen=True)
class Covariates:
    """Effects of the columns: latents are b in units of 1 / ``scale``; ``variance`` is a ConstantKernel."""

    variance: Any
    scale: FloatArray  # (q,): size of each column in training

    @property
    def parameters(self) -> Parameters:
        """The variance, if it is free."""
        return constant_parameters(self.variance, "covariate variance")

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of."""
        return {"covariates": self}

    def with_theta(self, theta: FloatArray) -> Covariates:
        """Return the same term at other parameters."""
        return replace(self, variance=self.variance.clone_with_theta(theta))

    def seen(self, rows: Rows) -> Seen:
        """Return the columns in units of their size."""
        assert rows.covariates is not None
        return Seen(rows.covariates / self.scale, alike=True)

    def prior(self) -> Given:
        """Return v times the identity."""
        v, free = float(self.variance.constant_value), len(self.parameters)
        return Given(Multiple(v, len(self.scale)), None, lambda trace, own: np.full(free, v * trace))

    def ask(self, rows: Rows) -> Asked:
        """Return covariances with the effects; rows without covariates are about equal ones."""
        if rows.covariates is None:
            return Asked(None, None, np.zeros(len(rows)))
        direct = Direct(None, rows.covariates / self.scale, None, float(self.variance.constant_value))
        return Asked(direct, None, direct.total)

    def means(self, items: Items, a: FloatArray) -> float:
        """Return nothing: the term is not about items."""
        return 0.0

    def covariance(self, rows: Rows) -> FloatArray:
        """Return the prior covariance of rows."""
        if rows.covariates is None:
            return np.zeros((len(rows), len(rows)))
        Z = rows.covariates / self.scale
        return np.asarray(float(self.variance.constant_value) * Z @ Z.T)
