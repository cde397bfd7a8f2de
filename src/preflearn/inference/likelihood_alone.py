"""Maximum likelihood: no prior, and no evidence; parameters of the likelihood maximise the profile likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from preflearn.inference.contract import Found, Method, Observed, Slopes, Warm
from preflearn.inference.laplace import find_mode

__all__ = ["MaximumLikelihood"]


@dataclass(frozen=True)
class MaximumLikelihood(Method):
    """The maximum of the likelihood, with the inverse of the information there as covariance.

    For systems without a prior (`preflearn.terms.Multiple` of infinite variance). The ``log_evidence`` of what is found
    is the log likelihood at its maximum; a warm start is that maximum at nearby parameters.
    """

    name: ClassVar[str] = "maximum likelihood"
    words: ClassVar[str] = "maximum likelihood"
    log_concave_only: ClassVar[bool] = True
    exact_only: ClassVar[bool] = False
    tol: float = 1e-9

    def solve(self, system: Any, seen: Observed, likelihood: Any, warm: Warm | None = None) -> Found:
        """Find the maximum."""
        last = None if warm is None else warm.near
        start, near = (np.zeros(system.size), None) if last is None else (last.u, last.curve)
        return find_mode(system, seen, likelihood, start, near=near, tol=self.tol).found(system, seen)

    def gradient(self, found: Found, seen: Observed, likelihood: Any) -> Slopes:
        """Return the derivatives of the profile likelihood."""
        z = seen.see(found.posterior.x)
        own = [float(seen.weight @ value) for value, _, _ in likelihood.log_density_theta(seen.y, z)]
        nothing = np.zeros_like(found.posterior.u)
        return Slopes(nothing, np.array(own), np.zeros_like(z))
