"""How much each judge's answers depend on the items: z = s_judge x.

A reliability of 1 is that of the judges whom the scale of utilities is made for; near 0 somebody answers by chance, and
below 0 the contrary of what others see. It multiplies the sum of all other terms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from preflearn.terms.rows import FloatArray, IntArray

__all__ = ["Reliability"]


@dataclass(frozen=True)
class Reliability:
    """s of every judge, N(1, deviation²) a priori; outcomes of nobody in particular (judge -1) have 1."""

    judge: IntArray  # (m,): of each outcome
    value: FloatArray  # (n_judges,)
    deviation: float

    @property
    def scale(self) -> FloatArray:
        """s of every outcome."""
        return np.asarray(np.append(self.value, 1.0)[self.judge])

    def at(self, value: FloatArray) -> Reliability:
        """Return other reliabilities of the same judges."""
        return replace(self, value=value)

    def log_prior(self) -> tuple[float, FloatArray]:
        """Return the logarithm of the prior's density over that at 1, and its gradient."""
        away = (self.value - 1.0) / self.deviation
        return -0.5 * float(away @ away), -away / self.deviation

    def pull(self, by_scale: FloatArray) -> FloatArray:
        """Return derivatives by the reliabilities from those by the s of every outcome."""
        n = self.value.shape[0]
        return np.asarray(np.bincount(np.where(self.judge < 0, n, self.judge), by_scale, minlength=n + 1)[:n])
