"""Inference methods as functions of a system, outcomes and a likelihood, for tests that have no model."""

from preflearn.inference.contract import Found, Info, Warm
from preflearn.inference.ep import EP
from preflearn.inference.laplace import Laplace


def laplace(system, seen, likelihood, *, tol=1e-9):
    """Return the Gaussian at the mode, and how it was found."""
    found = Laplace(tol).solve(system, seen, likelihood)
    return found.posterior, found.info


def ep(system, seen, likelihood, *, start=None, tol=1e-9):
    """Return the posterior of EP, how it ended, and the sites (τ, ν); ``start`` are such sites."""
    warm = None if start is None else Warm(None, start)
    found = EP(tol).solve(system, seen, likelihood, warm)
    return found.posterior, found.info, (found.tau, found.nu)


def laplace_gradient(posterior, seen, likelihood):
    """Return the derivatives of the evidence of a Gaussian at the mode."""
    derivatives = likelihood.log_density(seen.y, seen.see(posterior.x))
    found = Found(posterior, Info(0, 0.0, 0.0, True), None, None, derivatives)
    return Laplace().gradient(found, seen, likelihood)


def ep_gradient(posterior, seen, likelihood, sites):
    """Return the derivatives of the evidence of EP."""
    return EP().gradient(Found(posterior, Info(0, 0.0, 0.0, True), *sites), seen, likelihood)
