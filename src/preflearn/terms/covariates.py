"""Numbers of the row: differences in length, style or rest days, whose effects are learned and held equal in ranks.

x = Σ_c b_c x_c,    b_c ~ N(0, v) for columns in units of their own size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from preflearn.terms import (
    Asked,
    Direct,
    FloatArray,
    Given,
    Multiple,
    Parameters,
    Rows,
    Seen,
    Term,
    constant_parameters,
)


@dataclass(frozen=True)
class Columns(Term):
    """Effects b ~ N(0, v) of columns that rows come with; ``variance`` is a ConstantKernel."""

    variance: Any

    def columns(self, rows: Rows) -> FloatArray | None:
        """Return the columns (p, q), or None where rows ask for none."""
        raise NotImplementedError

    def seen(self, rows: Rows) -> Seen:
        """Return the columns."""
        return Seen(self.columns(rows), alike=True)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return 1

    def prior(self) -> Given:
        """Return v times the identity."""
        v, free = float(self.variance.constant_value), self.variance.theta.shape[0]
        return Given(Multiple(v, self.n_columns), None, lambda trace, own: np.full(free, v * trace))

    def ask(self, rows: Rows) -> Asked:
        """Return what rows see of the effects."""
        table = self.columns(rows)
        if table is None:
            return Asked(None, None, np.zeros(len(rows)))
        direct = Direct.of(table, self.n_columns, float(self.variance.constant_value))
        return Asked(direct, None, direct.total)

    def covariance(self, rows: Rows) -> FloatArray:
        """Return the prior covariance of rows."""
        Z = self.columns(rows)
        return super().covariance(rows) if Z is None else np.asarray(float(self.variance.constant_value) * Z @ Z.T)


@dataclass(frozen=True)
class Covariates(Columns):
    """Effects of the columns: latents are b in units of 1 / ``scale``. Rows without covariates are about equal ones."""

    name: ClassVar[str] = "covariates"
    scale: FloatArray  # (q,): size of each column in training

    @property
    def learned(self) -> dict[str, Parameters]:
        """The variance, if it is free."""
        return {"variance": constant_parameters(self.variance, "covariate variance")}

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.scale)

    def columns(self, rows: Rows) -> FloatArray | None:
        """Return the columns in units of their size."""
        return None if rows.covariates is None else rows.covariates / self.scale
