"""An advantage of the first side: home, white, the left picture, the answer that is read first.

    x = β + b_judge  on the first side,  -(β + b_judge) on the second,

β one number, and if wanted one more for each judge. Answers are about neither side unless they ask for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from preflearn.terms import POPULATION, Asked, FloatArray, Given, Own, Parameters, Rows, Seen, constant_parameters
from preflearn.terms.covariates import Columns


@dataclass(frozen=True)
class Side(Columns):
    """β with variance ``variance``, and b of each judge with variance ``of_judges`` (ConstantKernels, or None)."""

    name: ClassVar[str] = "side"
    of_judges: Any = None

    @property
    def learned(self) -> dict[str, Parameters]:
        """Both variances, if they are free."""
        found = {"variance": constant_parameters(self.variance, "side variance")}
        if self.of_judges is not None:
            found["of_judges"] = constant_parameters(self.of_judges, "judge side variance")
        return found

    def columns(self, rows: Rows) -> FloatArray | None:
        """Return which side the lower item of each row stood on."""
        return None if rows.side is None else rows.side[:, None]

    def seen(self, rows: Rows) -> Seen:
        """Return the side, and the same of the judge's own."""
        if self.of_judges is None:
            return super().seen(rows)
        column = self.columns(rows)
        assert column is not None
        assert rows.who is not None
        return Seen(column, sp.csr_array(column), rows.who.number, "judge")

    def prior(self) -> Given:
        """Return the variances."""
        given = super().prior()
        if self.of_judges is None:
            return given
        w, more = float(self.of_judges.constant_value), self.of_judges.theta.shape[0]

        def pull(M: FloatArray, own: Any) -> FloatArray:
            return np.append(given.pull(M, []), np.full(more, w * sum(float(S.sum()) for _, S in own)))

        return Given(given.K, lambda sets: np.full((*sets.shape, 1), w), pull)

    def ask(self, rows: Rows) -> Asked:
        """Return covariances with β and b, for rows that ask for a side."""
        asked = super().ask(rows)
        if self.of_judges is None or rows.side is None or rows.who is None:
            return asked
        w = float(self.of_judges.constant_value)
        own = Own(np.arange(len(rows)), rows.who.number, w * rows.side[:, None])
        return Asked(asked.shared, own, asked.variance + np.where(rows.who.number == POPULATION, 0.0, w))
