"""Outcomes and what each of them sees: z = s x, x the sum of all terms at one of the distinct rows of the design."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preflearn.operators import FloatArray, IntArray

__all__ = ["Observed"]


@dataclass(frozen=True)
class Observed:
    """Outcomes y with weights. Rows that see the same of every term share a cell: z = s x[cell].

    ``cell`` is None where every outcome has a cell of its own; ``scale`` is s, the reliability of who judged, or None
    where it is 1.
    """

    y: FloatArray
    weight: FloatArray
    cell: IntArray | None = None
    n_cells: int = -1
    scale: FloatArray | None = None

    def see(self, x: FloatArray) -> FloatArray:
        """Return z of every outcome."""
        z = x if self.cell is None else x[self.cell]
        return z if self.scale is None else self.scale * z

    def sums(self, g: FloatArray) -> FloatArray:
        """Return the adjoint of `see`: Σ s g over the outcomes of each cell."""
        return self._sums(g if self.scale is None else self.scale * g)

    def squares(self, t: FloatArray) -> FloatArray:
        """Return Σ s² t over the outcomes of each cell: precisions of x from precisions of z."""
        return self._sums(t if self.scale is None else self.scale**2 * t)

    def spread(self, variance: FloatArray) -> FloatArray:
        """Return the variances of z from those of x."""
        v = variance if self.cell is None else variance[self.cell]
        return v if self.scale is None else self.scale**2 * v

    def scaled(self, scale: FloatArray | None) -> Observed:
        """Return the same outcomes with other reliabilities."""
        return replace(self, scale=scale)

    def _sums(self, x: Any) -> FloatArray:
        if self.cell is None:
            return np.asarray(x)
        return np.asarray(np.bincount(self.cell, x, minlength=self.n_cells), dtype=np.float64)
