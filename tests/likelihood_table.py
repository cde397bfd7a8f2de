"""The table of likelihoods that tests walk. A likelihood without a row in both parts fails a test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preflearn.likelihoods import Davidson, Flipped, Gaussian, Logit, Probit

# One of each kind, with free parameters: inference, gradients of the evidence, what to compare next, model files.
TYPICAL = {
    "probit": Probit(),
    "probit, ties": Probit(tie=0.5),
    "logit": Logit(),
    "logit, ties": Logit(tie=0.5),
    "davidson, ties": Davidson(tie=0.5),
    "gaussian": Gaussian(2.0),
    "flips": Flipped(rate=0.1),
}
LOG_CONCAVE = [likelihood for likelihood in TYPICAL.values() if likelihood.log_concave]

# Typical and extreme parameters of log-concave likelihoods: densities, derivatives and moments into both tails.
LIKELIHOODS = [
    Probit(),
    Probit(scale=1.0),
    Probit(tie=0.3),
    Probit(scale=1.0, tie=0.01),
    Probit(scale=0.5, tie=3.0),
    Probit(tie=0.7, tie_fixed=True),
    Logit(),
    Logit(scale=3.0),
    Logit(tie=0.3),
    Logit(scale=2.0, tie=0.01),
    Logit(scale=0.5, tie=4.0),
    Logit(tie=0.7, tie_fixed=True),
    Gaussian(),
    Gaussian(precision=25.0),
    Gaussian(precision=0.04, fixed=True),
    Davidson(),
    Davidson(scale=2.0, tie=0.01),
    Davidson(scale=0.5, tie=50.0),
    Davidson(tie=0.7, tie_fixed=True),
]


def outcomes(likelihood):
    """Outcomes of every kind that the likelihood knows."""
    return np.array(likelihood.outcomes or [-2.5, 0.0, 1.0])


def drawn_outcomes(rng, likelihood, m):
    """Outcomes at random, whatever the items: margins, or wins and losses with every fourth a tie."""
    if not likelihood.outcomes:
        return rng.normal(size=m)
    y = rng.choice([-1.0, 1.0], m)
    if 0.0 in likelihood.outcomes:
        y[::4] = 0.0
    return y


def crossed(*axes):
    """All combinations, as flat arrays."""
    return tuple(x.ravel() for x in np.meshgrid(*axes, indexing="ij"))


def slope(function, x, step):
    """Central difference of eighth order of an array-valued function."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    return sum(w * (function(x + k * step) - function(x - k * step)) for k, w in enumerate(weights, 1)) / step


class Moments(NamedTuple):
    """log Z, and mean and variance of p(y | z)ᵃ N(z; mean, variance) / Z."""

    log_z: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


def moments(likelihood, y, mean, variance, power=None):
    """Moments of the tilted distribution, from what `smoothed` answers."""
    d = likelihood.smoothed(y, mean, variance, power)
    mean, variance = np.asarray(mean), np.asarray(variance)
    return Moments(d.log_z, mean + variance * d.first, variance * d.rest)


def theta_step(likelihood, reach=0.0):
    """Step in log space that moves a bend by at most a fiftieth of its length; margins bend at most at this reach."""
    place, length, _ = likelihood.bend
    place = place if likelihood.outcomes else reach
    return 0.02 * min(1.0, length / place) if place else 0.02
