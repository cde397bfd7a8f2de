"""Expectation propagation for log-concave likelihoods: parallel, damped, in a fixed order."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from preflearn.inference.design import Design
from preflearn.inference.factor import PriorFactor
from preflearn.inference.posterior import Curvature, Info, Posterior
from preflearn.operators import FloatArray

__all__ = ["ep", "ep_gradient"]


class Tiltable(Protocol):
    """What EP asks of a likelihood; see `preflearn.likelihoods`."""

    def smoothed(self, y: FloatArray, mean: FloatArray, variance: FloatArray) -> Any:
        """Return log Z of p(y | z) N(z; mean, variance) and its first two derivatives in the mean."""
        ...

    def tilted_theta(self, y: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """Return the derivatives of log Z in each free parameter, (m, n_theta)."""
        ...


def ep(
    factor: PriorFactor,
    A: Any,
    y: FloatArray,
    weight: FloatArray,
    likelihood: Tiltable,
    *,
    start: tuple[FloatArray, FloatArray] | None = None,
    tol: float = 1e-9,
    max_steps: int = 200,
) -> tuple[Posterior, Info, tuple[FloatArray, FloatArray]]:
    """Match the moments of every comparison's tilted distribution by Gaussian sites exp(ν z - τ z²/2).

    A comparison of weight w >= 1 stands for w equal sites, each matched against the posterior without one of them: for
    whole weights this is EP on repeated comparisons. (Below 1 there is no whole site to take out.) All sites are
    updated at once and damped where an update would worsen the change; log-concavity keeps τ >= 0. Returns also the
    sites (τ, ν), each per unit of weight, for a warm start. Cost per sweep: one factorisation of B and C = R B⁻¹ R'.
    """
    design = Design.of(A)
    m = y.shape[0]
    tau, nu = (np.zeros(m), np.zeros(m)) if start is None else (start[0].copy(), start[1].copy())
    damping, change, previous = 1.0, np.inf, np.inf
    steps = 0
    while True:
        curvature = Curvature.build(factor, design.laplacian(weight * tau))
        u = curvature.solve(factor.back(design.AT @ (weight * nu)))
        z = design.A @ factor.forward(u)
        variance = np.maximum(factor.covariance(curvature.LB).spread(design), 1e-300)
        cavity_mean, cavity_variance = _without(z, variance, tau, nu)
        d = likelihood.smoothed(y, cavity_mean, cavity_variance)
        # with V the cavity variance: tilted mean m + V d₁, tilted variance V + V² d₂; the site is what makes the
        # difference
        rest = np.maximum(1.0 + cavity_variance * d.second, 1e-12)
        new_tau = np.maximum(-d.second, 0.0) / rest
        new_nu = (d.first - cavity_mean * d.second) / rest
        # moments should match: compare the posterior and the tilted distribution in units of the posterior's deviation
        gap_mean = np.abs(cavity_mean + cavity_variance * d.first - z) / np.sqrt(variance)
        gap_variance = np.abs(cavity_variance * rest / variance - 1.0)
        change = float(np.max(gap_mean + gap_variance, initial=0.0))
        if change <= tol or steps >= max_steps:
            break
        damping = max(0.1, 0.7 * damping) if change > previous else min(1.0, 1.2 * damping)
        previous = change
        tau = (1 - damping) * tau + damping * new_tau
        nu = (1 - damping) * nu + damping * new_nu
        steps += 1
    # log Z = Σ w (log Ẑ_k + site normaliser) + log of the Gaussian integral
    normaliser = (
        d.log_z
        + 0.5 * np.log1p(tau * cavity_variance)
        - 0.5 * (nu**2 * cavity_variance + 2 * nu * cavity_mean - tau * cavity_mean**2) / (1.0 + tau * cavity_variance)
    )
    evidence = float(weight @ normaliser) + 0.5 * float((weight * nu) @ z) - 0.5 * curvature.log_det
    a = design.AT @ (weight * (nu - tau * z))
    return Posterior(factor, curvature, u, a, evidence), Info(steps, change, tol, change <= 100 * tol), (tau, nu)


def ep_gradient(
    posterior: Posterior,
    A: Any,
    y: FloatArray,
    weight: FloatArray,
    likelihood: Tiltable,
    sites: tuple[FloatArray, FloatArray],
) -> tuple[Any, FloatArray]:
    """Return M with d evidence = <M, dK> and the derivative in the likelihood's own parameters.

    At the fixed point the sites' own derivatives cancel: M = ½ (bb' - (Λ - ΛCΛ)) with b = A'(w (ν - τ z)).
    """
    tau, nu = sites
    design = Design.of(A)
    factor, curvature = posterior.factor, posterior.curvature
    covariance = factor.covariance(curvature.LB)
    z = design.A @ factor.forward(posterior.u)
    b = design.AT @ (weight * (nu - tau * z))
    mean, variance = _without(z, np.maximum(covariance.spread(design), 1e-300), tau, nu)
    own = weight @ likelihood.tilted_theta(y, mean, variance)
    return covariance.sensitivity(curvature.Lam, b), np.asarray(own)


def _without(z: FloatArray, variance: FloatArray, tau: FloatArray, nu: FloatArray) -> tuple[FloatArray, FloatArray]:
    # The posterior of z with one of its own sites taken out.
    rest = np.maximum(1.0 - tau * variance, 1e-12)
    cavity = variance / rest
    return (z - nu * variance) / rest, cavity
