"""Expectation propagation for utilities with independent priors: the same model as in `sparse_newton.py`, K = vI.

Laplace's method takes the highest point of the posterior for its mean. Where items met a few times, or differ by much
more than the noise, the posterior is skewed: its mean lies further out, and the evidence that the method sees favours
variances that are too small. Matched moments have neither fault, and cost a factor of n x n for every sweep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preflearn.inference.dense import DenseSystem
from preflearn.inference.design import Design
from preflearn.inference.ep import Sites, ep, ep_at, own_gradient
from preflearn.inference.factor import Multiple
from preflearn.inference.observed import Observed
from preflearn.inference.pair_graph import PairGraph
from preflearn.inference.pair_precision import DensePrecision
from preflearn.inference.posterior import Info
from preflearn.operators import FloatArray

__all__ = ["Moments", "find_moments", "moments_gradient"]

TOL = 1e-9  # of the moments, in units of the posterior's own


@dataclass(frozen=True)
class Moments:
    """Posterior means ``f`` and precision, the evidence, the sites that they rest on, and how the search ended."""

    graph: PairGraph
    f: FloatArray
    variance: float
    precision: DensePrecision
    log_evidence: float
    log_likelihood: float
    info: Info
    sites: Sites

    def kept(self) -> dict[str, Any]:
        """Return what `find_moments` needs to come to the same."""
        return {"tau": self.sites[0], "nu": self.sites[1], "steps": self.info.steps}


def find_moments(
    graph: PairGraph,
    design: Design,
    y: FloatArray,
    weight: FloatArray,
    likelihood: Any,
    variance: float,
    start: Sites | None = None,
    done: int | None = None,
) -> Moments:
    """Match the moments from the sites of a nearby problem, or return those of sites that took ``done`` steps."""
    factor = Multiple(variance, graph.n_items)
    system, seen = DenseSystem(design, factor), Observed(y, weight)
    if start is None or done is None:
        found, info, sites = ep(system, seen, likelihood, start=start, tol=TOL)
    else:
        found, gap = ep_at(system, seen, likelihood, start)
        info, sites = Info(done, gap, TOL, gap <= 100 * TOL), start
    f = factor.forward(found.u)
    precision = DensePrecision(graph, weight * sites[0], variance)
    likely = float(weight @ likelihood.log_density(y, graph.differences(f)).value)
    return Moments(graph, f, variance, precision, found.log_evidence, likely, info, sites)


def moments_gradient(
    found: Moments, y: FloatArray, weight: FloatArray, likelihood: Any
) -> tuple[float, FloatArray, float]:
    """Return the derivatives of the evidence in log v and in the likelihood's own parameters.

    ½ f'f/v - ½ (n - tr C/v) in log v: that of the sites cancels. The third number is as in
    `preflearn.inference.sparse_newton.evidence_gradient`.
    """
    graph, n, v = found.graph, found.graph.n_items, found.variance
    told = max(n - float(found.precision.variances.sum()) / v, 0.0)
    own = np.zeros(0)
    if likelihood.theta.shape[0]:
        variance = np.maximum(found.precision.spreads(graph.low, graph.high)[graph.row], 1e-300)
        own = own_gradient(y, weight, likelihood, found.sites, graph.differences(found.f), variance)
    return 0.5 * (float(found.f @ found.f) / v - told), own, 0.5 * told**3 / n**2
